//! How a 64-bit word stores the entries of a bucket: pure functions.
//!
//! A word is a multiset of entries. The number of a slot has no meaning, so no caller may rely on which slot an entry
//! takes. In every layout the word 0 is the empty bucket, so a zeroed table is an empty table.
//!
//! **Invariant:** a stored word holds exactly the entries that were added to it and not removed since: `with` adds one
//! entry, `without` removes one, and neither changes another.
//!
//! The [`Encoding`] of a layout is a type with the functions of a word. A [`LayoutId`] is a layout as a value;
//! `by_layout` maps it to its encoding.

mod candidates;
mod packed;
mod semi_sorted;
mod word;

pub use self::candidates::Candidates;
pub(crate) use self::candidates::MatchingValues;
pub(crate) use self::packed::Packed;
pub(crate) use self::semi_sorted::SemiSorted;
pub(crate) use self::word::{Matches, Only, Slot, both};
use crate::arch::Query;

/// A way to store the fingerprints of a bucket in a 64-bit word, or [`AnyLayout`](crate::AnyLayout), which chooses one
/// of these ways at run time.
///
/// The trait is sealed: all layouts are in this crate.
///
/// A longer fingerprint gives fewer false positives, but leaves room for fewer slots in the 64 bits of a bucket. The
/// fewer slots a bucket has, the lower the load at which an insert fails:
///
/// | layout | slots | fingerprint bits | load at the first failed insert | load at capacity | false positives | bits per item |
/// |---|---|---|---|---|---|---|
/// | [`Fp8x8`] | 8 | 8 | 99.7 % | 98.5 % | 6.0 % | 8.1 |
/// | [`Fp9x7`] | 7 | 9 | 99.5 % | 98.5 % | 2.7 % | 9.3 |
/// | [`Fp10x6`] | 6 | 10 | 99.2 % | 98 % | 1.1 % | 10.9 |
/// | [`Fp12x5`] | 5 | 12 | 98.6 % | 97.5 % | 0.24 % | 13.1 |
/// | [`SemiSorted14x5`] | 5 | 14 | 98.6 % | 97.5 % | 0.060 % | 13.1 |
/// | [`Fp16x4`] | 4 | 16 | 97.5 % | 96 % | 0.012 % | 16.7 |
/// | [`SemiSorted17x4`] | 4 | 17 | 97.5 % | 96 % | 0.0059 % | 16.7 |
/// | [`Fp21x3`] | 3 | 21 | 95.1 % | 93.5 % | 0.00027 % | 22.8 |
/// | [`Fp32x2`] | 2 | 32 | 88.3 % | 86.5 % | 0.000000081 % | 37.0 |
///
/// * **Load at the first failed insert**: the mean share of the slots that distinct items fill, in a table of 2^20
///   slots, before the first of them finds no free slot. From this load on, an insert may fail;
///   [stashed](crate#the-stash) entries count as slots in use.
/// * **Load at capacity**: the share of the slots in use when a large filter holds its capacity. The last two columns
///   are for this load. A small filter has more free slots.
/// * **Bits per item**: those of the buckets. The locks and counters add less than 2 %.
///
/// The layouts whose names begin with `Fp` store each fingerprint as it is. The semi-sorted layouts store the
/// fingerprints of a bucket as a set (Fan et al., CoNEXT 2014, section 5.2). This makes each fingerprint one or two
/// bits longer in the same space, and costs some nanoseconds per operation.
///
/// An ideal Bloom filter needs 1.44·log2(1/rate) bits per item. `SemiSorted14x5` and all layouts below it need less
/// than that; the layouts above it do not.
///
/// # Examples
///
/// ```
/// use coucal::{AnyLayout, CuckooFilter, Error, Fp16x4, Layout};
///
/// fn made_for_a_thousand<L: Layout>() -> Result<CuckooFilter<L>, Error> {
///     CuckooFilter::builder().layout::<L>().capacity(1000).build()
/// }
///
/// assert!(made_for_a_thousand::<Fp16x4>()?.is_empty());
/// assert_eq!(made_for_a_thousand::<AnyLayout>()?.layout_name(), Fp16x4::NAME);
/// assert_eq!((Fp16x4::FINGERPRINT_BITS, Fp16x4::SLOTS), (16, 4));
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout: the type of the items is not a parameter of a filter or a maplet",
    label = "expected a layout, or no parameter",
    note = "write `CuckooFilter` or `CuckooMaplet` without parameters: their methods take a reference to any type that \
            implements `Hash`",
    note = "the parameters are a layout and a hasher: `CuckooFilter<Fp16x4, RandomState>`, \
            `GrowableCuckooFilter<Fp16x4, RandomState>`, `GrowableCuckooMaplet<Fp21x3, RandomState>`",
    note = "in generic code: `CuckooFilter<L, S>` with `L: Layout`, or `Filter<L, S>` with `L: Storage`"
)]
pub trait Layout: Copy + Send + Sync + 'static {
    /// The name of the layout, which is the name of its type.
    const NAME: &'static str;

    /// The layout, or `None` if it is known only at run time. Code outside this crate cannot name the type `LayoutId`,
    /// so the trait is sealed.
    #[doc(hidden)]
    const ID: Option<LayoutId>;

    /// The encoding; that of the default layout if the layout is known only at run time.
    #[doc(hidden)]
    type Encoding: Encoding;
}

/// The maximum number of slots of a bucket in any layout.
pub(crate) const MAX_SLOTS: usize = 8;

/// The fixed properties of a layout, besides its encoding.
pub struct Properties {
    pub(crate) name: &'static str,
    /// Bits of a fingerprint.
    pub(crate) bits: u32,
    /// Slots of a bucket.
    pub(crate) slots: usize,
    /// The number of the encoding in snapshots.
    pub(crate) encoding: u8,
    /// The share of slots in use of a large table that holds its capacity. It is below `full`, which leaves a reserve.
    pub(crate) load: f64,
    /// The number of further slots of a table, divided by the square root of the number of its items: small tables vary
    /// more.
    pub(crate) scatter: f64,
    /// The share of slots in use from which a short search is enough to decide that the table is full: the share at
    /// which the first insert fails in a table of 2^20 slots.
    pub(crate) full: f64,
    /// The properties of its growing tables; `None` if its tables cannot grow.
    pub(crate) growth: Option<Growth>,
}

/// The fixed properties of the growing tables of a layout.
#[derive(Clone, Copy)]
pub struct Growth {
    /// The share of slots in use that a table keeps unless its builder sets another. While a level is being split, the
    /// buckets that are not split yet get twice as many entries as the others. Kicks even this out up to some load. The
    /// nearer the table comes to that load, the longer the searches are.
    pub(crate) target_load: f64,
    /// The highest load that a builder may request. Three percentage points more would double the time of an insert.
    pub(crate) max_target_load: f64,
    /// The maximum number of bits of the core of a slot.
    pub(crate) max_core_bits: u32,
}

/// The minimum number of bits of the core of a slot in a growing table. The core alone decides how the two buckets of
/// an entry differ: with seven cores, kicks would reach only 128 buckets; with fifteen, they reach 2^15.
const MIN_CORE_BITS: u32 = 4;

/// A number of ring bits that is always enough: no table with such rings becomes full because of the entries that
/// splits have doubled. (One bit less would also be enough.)
const ENOUGH_RING_BITS: u32 = 9;

impl Properties {
    /// Returns the number of bits of the core of a slot in a growing table, beside a value of `value_bits` bits: the
    /// bits that a ring of `ENOUGH_RING_BITS` leaves, but at least `MIN_CORE_BITS` and at most `max_core_bits`.
    pub(crate) const fn core_bits(&self, value_bits: u32) -> u32 {
        let beside_ring = (self.bits - value_bits).saturating_sub(ENOUGH_RING_BITS);
        match self.growth {
            Some(growth) if beside_ring > growth.max_core_bits => growth.max_core_bits,
            _ if beside_ring < MIN_CORE_BITS => MIN_CORE_BITS,
            _ => beside_ring,
        }
    }

    /// Returns the number of bits of the ring of such a slot.
    #[inline]
    pub(crate) const fn ring_bits(&self, value_bits: u32) -> u32 {
        self.bits - value_bits - self.core_bits(value_bits)
    }

    /// Returns how many bits of its position a new entry of a growing table knows besides those that its bucket tells.
    pub(crate) const fn extra_bits(&self, value_bits: u32) -> u32 {
        self.ring_bits(value_bits) - 1
    }
}

/// The word of a bucket: a multiset of entries in 64 bits.
pub trait Encoding: Copy + Send + Sync + 'static {
    /// The layout.
    const ID: LayoutId;

    /// Bits per slot.
    const BITS: u32;

    /// Slots per bucket.
    const SLOTS: usize;

    /// The number of the encoding in snapshots.
    const ENCODING: u8;

    /// Bits of the ring of a slot in a growing filter.
    const RING_BITS: u32 = LAYOUTS[Self::ID as usize].ring_bits(0);

    /// Whether tables of this layout can grow.
    const GROWS: bool = LAYOUTS[Self::ID as usize].growth.is_some();

    /// The empty bucket: all zeros.
    const EMPTY: Self;

    fn from_bits(bits: u64) -> Self;

    fn bits(self) -> u64;

    /// Returns the bits of each slot, 0 for a free one. The first `SLOTS` elements are the slots; the others are 0.
    fn slots(self) -> [u64; MAX_SLOTS];

    /// Returns the slots in use. Their order has no meaning.
    #[inline]
    fn slots_in_use(self) -> impl DoubleEndedIterator<Item = Slot> {
        let slots = self.slots();
        (0..Self::SLOTS).map(move |slot| slots[slot]).filter(|&bits| bits != 0).map(Slot::new)
    }

    /// Returns a function from the number of a slot to the slot if the word is full, or `None` if a slot is free.
    #[inline]
    fn slots_if_full(self) -> Option<impl Fn(usize) -> Slot> {
        let slots = (!self.has_room()).then(|| self.slots())?;
        Some(move |slot| Slot::new(slots[slot]))
    }

    /// Returns whether the other functions can return this word. They are called only with such words.
    fn is_canonical(self) -> bool;

    /// Returns the number of slots in use.
    fn in_use(self) -> usize;

    /// Returns whether a slot is free.
    fn has_room(self) -> bool;

    /// Returns whether this word has fewer free slots than `other`. If both have the same number, either answer is
    /// right.
    #[inline]
    fn is_fuller(self, other: Self) -> bool {
        self.in_use() > other.in_use()
    }

    /// Returns the word with one more slot in use, which holds `slot`; or `None` if no slot is free.
    fn with(self, slot: Slot) -> Option<Self>;

    /// Returns the word without one slot that holds `slot`, or `None` if no slot holds it.
    fn without(self, slot: Slot) -> Option<Self>;

    /// Returns whether a slot holds `slot`.
    #[inline]
    fn holds(self, slot: Slot) -> bool {
        Self::either_holds([self, Self::EMPTY], slot, None)
    }

    /// Returns whether a slot in use, of either word, equals `slot`. If there is a mask, only its bits are compared. If
    /// `slot` has none of these bits, the answer may be `true` for a free slot.
    fn either_holds(words: [Self; 2], slot: Slot, mask: Option<u64>) -> bool;

    /// Returns the values of those slots in use of each word that agree with `bits` in the bits of the mask, which has
    /// all bits below a value.
    fn values_of_equal(words: [Self; 2], bits: u64, mask: u64) -> MatchingValues;

    /// Returns the slot that agrees with `bits` in the bits of the mask, if exactly one slot in use of both words does.
    fn only_equal(words: [Self; 2], bits: u64, mask: u64) -> Matches<Self>;

    /// Parts the slots by one bit: returns those in which it is 0, and those in which it was 1 and is now cleared. Both
    /// keep the order of the slots. Only layouts whose tables grow implement this function and the four below.
    fn parted(self, _bit: u32) -> [Self; 2] {
        unreachable!("no table of this layout grows")
    }

    /// Returns whether a slot of either word matches the query.
    fn either_matches(_: [Self; 2], _: Query) -> bool {
        unreachable!("no table of this layout grows")
    }

    /// Returns the values of the slots of each word that match the query, in a maplet.
    fn values_matching(_: [Self; 2], _: Query) -> MatchingValues {
        unreachable!("no table of this layout grows")
    }

    /// Returns the slot that matches the query, if exactly one slot of both words does.
    fn only(_: [Self; 2], _: Query) -> Matches<Self> {
        unreachable!("no table of this layout grows")
    }

    /// Returns, for each word, the longest of the slots that match the query and [know](Slot::known) at most `most`
    /// bits: one that knows the most bits, with their number.
    fn longest(_: [Self; 2], _: Query, _most: u32) -> [Option<(Slot, u32)>; 2] {
        unreachable!("no table of this layout grows")
    }

    /// Returns whether each slot in use has a 1 among the bits of the mask.
    fn each_has(self, mask: u64) -> bool {
        self.slots_in_use().all(|slot| slot.bits() & mask != 0)
    }
}

/// Returns the properties of a layout whose tables grow.
const fn grows(target_load: f64, max_target_load: f64, max_core_bits: u32) -> Growth {
    Growth { target_load, max_target_load, max_core_bits }
}

/// Defines the layouts: for each its type, its encoding, and its properties.
macro_rules! layouts {
    ($dollar:tt; $($(#[$doc:meta])*
        $name:ident: $encoding:ident<$lane:literal, $slots:literal>,
            $bits:literal, $load:literal, $scatter:literal, $full:literal, $growth:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $name {}

            impl $name {
                /// Bits of a fingerprint.
                pub const FINGERPRINT_BITS: u32 = $bits;
                /// Slots of a bucket.
                pub const SLOTS: usize = $slots;
            }

            impl Layout for $name {
                const NAME: &'static str = stringify!($name);
                const ID: Option<LayoutId> = Some(LayoutId::$name);
                type Encoding = $encoding<$lane, $slots>;
            }
        )*

        /// A layout as a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LayoutId {
            $($name,)*
        }

        /// The properties of all layouts, from the shortest fingerprint to the longest. `LAYOUTS[n]` are those of the
        /// layout with the number n.
        pub(crate) static LAYOUTS: [Properties; LayoutId::ALL.len()] = [$(Properties {
            name: stringify!($name),
            bits: $bits,
            slots: $slots,
            encoding: $encoding::<$lane, $slots>::ENCODING,
            load: $load,
            scatter: $scatter,
            full: $full,
            growth: $growth,
        }),*];

        impl LayoutId {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
        }

        /// Evaluates `$result`, in which `$F` is the encoding of the layout that `$layout` names.
        macro_rules! by_layout {
            ($dollar layout:expr, $dollar F:ident => $dollar result:expr) => {
                match $dollar layout {
                    $($crate::layout::LayoutId::$name => {
                        type $dollar F = <$crate::layout::$name as $crate::layout::Layout>::Encoding;
                        $dollar result
                    })*
                }
            };
        }
    };
}

layouts! { $;
    /// Eight fingerprints of 8 bits.
    Fp8x8: Packed<8, 8>, 8, 0.985, 2.5, 0.997, None;
    /// Seven fingerprints of 9 bits.
    Fp9x7: Packed<9, 7>, 9, 0.985, 2.5, 0.995, None;
    /// Six fingerprints of 10 bits.
    Fp10x6: Packed<10, 6>, 10, 0.98, 2.5, 0.992, None;
    /// Five fingerprints of 12 bits.
    Fp12x5: Packed<12, 5>, 12, 0.975, 2.5, 0.986, Some(grows(0.815, 0.885, 6));
    /// Five fingerprints of 14 bits, semi-sorted.
    SemiSorted14x5: SemiSorted<10, 5>, 14, 0.975, 2.5, 0.986, None;
    /// The default layout: four fingerprints of 16 bits.
    Fp16x4: Packed<16, 4>, 16, 0.96, 2.5, 0.975, Some(grows(0.75, 0.87, 6));
    /// Four fingerprints of 17 bits, semi-sorted.
    SemiSorted17x4: SemiSorted<13, 4>, 17, 0.96, 2.5, 0.975, None;
    /// Three fingerprints of 21 bits.
    Fp21x3: Packed<21, 3>, 21, 0.935, 2.5, 0.951, Some(grows(0.76, 0.83, 8));
    /// Two fingerprints of 32 bits.
    Fp32x2: Packed<32, 2>, 32, 0.865, 3.0, 0.883, Some(grows(0.69, 0.75, 12));
}

#[expect(clippy::single_component_path_imports, reason = "a macro has no path otherwise")]
pub(crate) use by_layout;

/// `BY_BITS[n]` is the layout with n bits per slot. No two layouts have the same number.
static BY_BITS: [Option<LayoutId>; 33] = {
    let mut found = [None; 33];
    let mut at = 0;
    while at < LAYOUTS.len() {
        let bits = LAYOUTS[at].bits as usize;
        assert!(found[bits].is_none());
        found[bits] = Some(LayoutId::ALL[at]);
        at += 1;
    }
    found
};

impl LayoutId {
    /// Returns the layout with this encoding, these bits per slot and these slots per bucket, if there is one.
    #[inline]
    pub(crate) const fn find(encoding: u8, bits: u32, slots: usize) -> Option<Self> {
        if bits as usize >= BY_BITS.len() {
            return None;
        }
        let Some(found) = BY_BITS[bits as usize] else {
            return None;
        };
        let layout = &LAYOUTS[found as usize];
        if layout.encoding == encoding && layout.slots == slots { Some(found) } else { None }
    }

    /// The names of the layouts whose tables can grow.
    pub(crate) const GROWING_NAMES: &[&str] = &Self::growing_names::<{ Self::growing_count() }>();

    /// Returns the number of layouts whose tables can grow.
    const fn growing_count() -> usize {
        let (mut count, mut n) = (0, 0);
        while n < LAYOUTS.len() {
            count += LAYOUTS[n].growth.is_some() as usize;
            n += 1;
        }
        count
    }

    /// Returns the names of the `COUNT` layouts whose tables can grow.
    const fn growing_names<const COUNT: usize>() -> [&'static str; COUNT] {
        let mut names = [""; COUNT];
        let (mut found, mut n) = (0, 0);
        while n < LAYOUTS.len() {
            if LAYOUTS[n].growth.is_some() {
                names[found] = LAYOUTS[n].name;
                found += 1;
            }
            n += 1;
        }
        names
    }

    /// Returns all layouts, or only those whose tables can grow.
    pub(crate) fn of_tables(grow: bool) -> impl Iterator<Item = Self> {
        let suits = move |layout: &Self| !grow || layout.properties().growth.is_some();
        Self::ALL.iter().copied().filter(suits)
    }

    #[inline]
    pub(crate) fn properties(self) -> &'static Properties {
        &LAYOUTS[self as usize]
    }

    /// Returns the name of the layout, which is that of its type.
    pub(crate) fn name(self) -> &'static str {
        self.properties().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Ring;
    use crate::random::{cases, run_cases};
    use proptest::prelude::*;

    type EncodingOf<L> = <L as Layout>::Encoding;

    /// The fingerprints that a word should hold, in any order.
    type Model = Vec<u64>;

    fn copies(model: &Model, fingerprint: u64) -> usize {
        model.iter().filter(|&&held| held == fingerprint).count()
    }

    fn word_of<F: Encoding>(model: &Model) -> F {
        model.iter().fold(F::EMPTY, |word, &f| word.with(Slot::new(f)).expect("room for the model"))
    }

    fn sorted(mut model: Model) -> Model {
        model.sort_unstable();
        model
    }

    /// Returns the values of the slots of a model, if a value begins at the bit `at`.
    fn values_of(model: &Model, at: u32) -> Model {
        sorted(model.iter().map(|slot| slot >> at).collect())
    }

    fn values(found: Candidates) -> Model {
        sorted(found.map(u64::from).collect())
    }

    /// Returns the word as that of one bucket, of the other, and of both, with what a lookup should find in each case,
    /// if it finds `found` in one word.
    fn in_either_and_both<F: Encoding>(word: F, found: &Model) -> [([F; 2], Model); 3] {
        [
            ([word, F::EMPTY], found.clone()),
            ([F::EMPTY, word], found.clone()),
            ([word, word], [found.clone(), found.clone()].concat()),
        ]
    }

    /// Returns the slots in use, and checks that nothing is beyond the slots.
    fn contents<F: Encoding>(word: F) -> Model {
        let beyond = &word.slots()[F::SLOTS..];
        assert!(beyond.iter().all(|&bits| bits == 0), "beyond the slots");
        sorted(word.slots_in_use().map(Slot::bits).collect())
    }

    /// Checks the functions that tables of fixed size need, on the word of `model`, and on that word with and without
    /// `fingerprint`.
    fn check_contents<F: Encoding>(model: &Model, fingerprint: u64) {
        let word = word_of::<F>(model);
        assert_eq!(word.bits() == 0, model.is_empty());
        assert_eq!(contents(word), sorted(model.clone()));
        assert!(word.is_canonical(), "{:x}", word.bits());
        assert_eq!(word.in_use(), model.len());
        assert_eq!(word.has_room(), model.len() < F::SLOTS);
        let full = word.slots_if_full().map(|slot| (0..F::SLOTS).map(slot).collect::<Vec<_>>());
        assert_eq!(full, (!word.has_room()).then(|| word.slots_in_use().collect()));
        let held = copies(model, fingerprint);
        let slot = Slot::new(fingerprint);
        assert_eq!(word.holds(slot), held > 0, "{model:x?} {fingerprint:x}");
        match word.with(slot) {
            None => assert_eq!(model.len(), F::SLOTS),
            Some(more) => {
                let model = [&model[..], &[fingerprint]].concat();
                assert_eq!(contents(more), sorted(model), "with {fingerprint:x}");
            }
        }
        match word.without(slot) {
            None => assert_eq!(held, 0),
            Some(less) => {
                let mut model = model.clone();
                let at = model.iter().position(|&held| held == fingerprint).expect("one is held");
                model.remove(at);
                assert_eq!(contents(less), sorted(model), "without {fingerprint:x}");
            }
        }
    }

    /// Checks every function on the word of `model`, and on that word with and without `fingerprint`.
    fn check<F: Encoding>(model: &Model, fingerprint: u64) {
        check_contents::<F>(model, fingerprint);
        let (word, slot) = (word_of::<F>(model), Slot::new(fingerprint));
        let bit = 1 << (F::BITS / 2);
        for mask in [bit, bit - 1, fingerprint, !fingerprint & (bit - 1)] {
            let has = |held: &u64| held & mask != 0;
            assert_eq!(word.each_has(mask), model.iter().all(has), "{model:x?} {mask:x}");
        }
        // With values: each slot has a bit that is set below its value.
        for value_bits in [1, 3, F::BITS - 5] {
            let mask = (1 << (F::BITS - value_bits)) - 1;
            // The bits of the value alone.
            let value = ((1 << F::BITS) - 1) ^ mask;
            let has_value = model.iter().any(|held| (held ^ fingerprint) & value == 0);
            let found = F::either_holds([word, F::EMPTY], slot, Some(value));
            assert!(found == has_value || found && fingerprint & value == 0, "{model:x?}");
            if model.iter().chain([&fingerprint]).any(|held| held & mask == 0) {
                continue;
            }
            let is_alike = |held: &&u64| (**held ^ fingerprint) & mask == 0;
            let expected: Model = model.iter().filter(is_alike).copied().collect();
            let at = F::BITS - value_bits;
            for (words, expected) in in_either_and_both(word, &expected) {
                let found =
                    Candidates::of(F::values_of_equal(words, fingerprint, mask), value_bits);
                assert_eq!(values(found), values_of(&expected, at), "{model:x?} {fingerprint:x}");
                check_only(F::only_equal(words, fingerprint, mask), words, &expected);
            }
            let either = [[word, F::EMPTY], [F::EMPTY, word]]
                .map(|words| F::either_holds(words, slot, Some(mask)));
            assert_eq!(either, [!expected.is_empty(); 2], "{model:x?} {fingerprint:x}");
        }
        if F::GROWS {
            check_growing(word, model, fingerprint);
        }
    }

    /// Checks the functions that growing tables need, on the word of `model`.
    fn check_growing<F: Encoding>(word: F, model: &Model, fingerprint: u64) {
        // For each length of ring that leaves a core, which is not 0.
        for level in 0..fingerprint.ilog2() {
            let ring = Ring { bits: level + 1, head: 0 };
            // Slots that differ from the fingerprint in each bit of the ring that they know.
            let (core, untold) = (fingerprint & !ring.mask(), [!fingerprint; 2]);
            let sought = Query { ring, core, untold, mask: None };
            let is_matched = model.iter().any(|&held| is_sought(held, sought));
            let either =
                [[word, F::EMPTY], [F::EMPTY, word]].map(|words| F::either_matches(words, sought));
            assert_eq!(either, [is_matched; 2], "{model:x?} {sought:x?}");

            let mask = (1 << (F::BITS - 3)) - 1;
            if core & mask == 0 {
                continue;
            }
            for head in [0, level / 2, level] {
                let ring = Ring { bits: level + 1, head };
                check_sought(word, model, Query { ring, mask: Some(mask), ..sought });
            }
        }
    }

    /// Returns whether a slot of the first bucket matches `sought`: the definition, which the layouts compute for all
    /// slots at once.
    fn is_sought(held: u64, Query { ring, core, untold, mask }: Query) -> bool {
        let slot = Slot::new(held);
        let known = (1 << slot.known(ring)) - 1;
        (held ^ core) & !ring.mask() & mask.unwrap_or(u64::MAX) == 0
            && (slot.rotated(ring).bits() ^ untold[0]) & known == 0
    }

    /// Checks a search for the only slot of two words that matches, where the slots `matching` match.
    fn check_only<F: Encoding>(found: Matches<F>, words: [F; 2], matching: &Model) {
        let bits = words.map(F::bits);
        match found {
            Matches::None => assert_eq!(matching.len(), 0, "{bits:x?}"),
            Matches::Several => assert!(matching.len() > 1, "{bits:x?} {matching:x?}"),
            Matches::One(Only { in_first, slot, without }) => {
                assert_eq!(*matching, [slot.bits()], "{bits:x?}");
                let mut rest = contents(words[usize::from(!in_first)]);
                rest.retain(|&held| held != slot.bits());
                assert_eq!(contents(without), rest, "{bits:x?} {matching:x?}");
            }
        }
    }

    /// Checks lookups in the word of `model` beside an empty word, with slots that have values of three bits.
    fn check_sought<F: Encoding>(word: F, model: &Model, sought: Query) {
        let ring = sought.ring;
        let matching: Model =
            model.iter().copied().filter(|&held| is_sought(held, sought)).collect();
        for (words, matching) in in_either_and_both(word, &matching) {
            let found = values(Candidates::of(F::values_matching(words, sought), 3));
            assert_eq!(found, values_of(&matching, F::BITS - 3), "{model:x?} {sought:x?}");
            check_only(F::only(words, sought), words, &matching);
            if let Matches::One(Only { in_first, slot, .. }) = F::only(words, sought) {
                let longest = F::longest(words, sought, u32::MAX)[usize::from(!in_first)];
                assert_eq!(longest.map(|(slot, _)| slot), Some(slot), "{model:x?} {sought:x?}");
            }
        }
        let most = ring.bits / 2;
        let lengths = matching.iter().map(|&held| Slot::new(held).known(ring));
        let longest = lengths.filter(|&known| known <= most).max();
        for (at, words) in [[word, F::EMPTY], [F::EMPTY, word]].into_iter().enumerate() {
            let is_matched = F::either_matches(words, sought);
            assert_eq!(is_matched, !matching.is_empty(), "{model:x?} {sought:x?}");
            let found = F::longest(words, sought, most);
            let known = found[at].map(|(_, known)| known);
            assert_eq!((known, found[1 - at]), (longest, None), "{model:x?} {sought:x?}");
            if let Some((slot, known)) = found[at] {
                assert!(matching.contains(&slot.bits()));
                assert_eq!(slot.known(ring), known);
            }
        }
    }

    /// Checks lookups in two words at once.
    fn check_both<F: Encoding>(a: &Model, b: &Model, fingerprint: u64) {
        let held = copies(a, fingerprint) + copies(b, fingerprint) > 0;
        let slot = Slot::new(fingerprint);
        let words = [a, b].map(word_of::<F>);
        assert_eq!(F::either_holds(words, slot, None), held, "{a:x?} {b:x?} {fingerprint:x}");
        if a.len() != b.len() {
            assert_eq!(words[0].is_fuller(words[1]), a.len() > b.len(), "{a:x?} {b:x?}");
        }
    }

    /// Generates fingerprints that are often equal or nearly equal: one bit apart, at the ends of the range, and any.
    fn fingerprints(bits: u32) -> impl Strategy<Value = u64> {
        let end = (1 << bits) - 1;
        prop_oneof![
            1..=3_u64,
            end - 2..=end,
            (0..bits).prop_map(|bit| 1 << bit),
            (0..bits).prop_map(move |bit| end ^ (1 << bit)),
            1..=end,
        ]
    }

    fn models(bits: u32, slots: usize) -> impl Strategy<Value = Model> {
        prop::collection::vec(fingerprints(bits), 0..=slots)
    }

    /// Generates two models, and a fingerprint that is from one of them, or any.
    fn pairs(bits: u32, slots: usize) -> impl Strategy<Value = (Model, Model, u64)> {
        let [a, b] = [0; 2].map(|_| models(bits, slots));
        (a, b, fingerprints(bits), any::<prop::sample::Index>()).prop_map(|(a, b, other, index)| {
            let all = [&a[..], &b, &[other]].concat();
            let fingerprint = *index.get(&all);
            (a, b, fingerprint)
        })
    }

    /// Checks any word: it is canonical if its fingerprints, added to an empty word, the last one first, give it again.
    fn check_any<F: Encoding>(bits: u64) {
        let word = F::from_bits(bits);
        let slots: Vec<_> = word.slots_in_use().collect();
        let put = |word: F, &slot: &Slot| word.with(slot).expect("as many slots");
        let again = slots.iter().rev().fold(F::EMPTY, put);
        assert_eq!(word.is_canonical(), again.bits() == bits, "{bits:x}, again {:x}", again.bits());
    }

    /// Generates words, many of them nearly canonical: any word, a canonical word with one bit changed, or with a run
    /// of zeros in it. `word` makes the word of a model.
    fn words(bits: u32, slots: usize, word: fn(Model) -> u64) -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            (models(bits, slots), 0..64_u32).prop_map(move |(model, bit)| word(model) ^ 1 << bit),
            (models(bits, slots), 0..64_u32, 0..=64_u32).prop_map(move |(model, from, bits)| {
                let zeros = u64::MAX.checked_shr(64 - bits).unwrap_or(0) << from;
                word(model) & !zeros
            }),
        ]
    }

    /// Checks all multisets of up to `SLOTS` of those fingerprints that are most likely to be mixed up.
    fn exhaust<F: Encoding>() {
        let end = (1 << F::BITS) - 1;
        let upper = 1 << (F::BITS - 4);
        let values = [1, upper, upper + 1, end - 1, end];
        let mut models: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..=F::SLOTS {
            for model in &models {
                let model: Model = model.iter().map(|&i| values[i]).collect();
                for fingerprint in values {
                    check::<F>(&model, fingerprint);
                    check_both::<F>(&model, &vec![], fingerprint);
                    check_both::<F>(&vec![], &model, fingerprint);
                }
            }
            let grow = |model: &Vec<usize>| {
                let from = model.last().copied().unwrap_or(0);
                let grown = |next| [&model[..], &[next]].concat();
                (from..values.len()).map(grown).collect::<Vec<_>>()
            };
            models = models.iter().flat_map(grow).collect();
        }
    }

    /// Checks copies of every fingerprint, or of 16,384 that are spread over all of them, beside a neighbour.
    fn sweep<F: Encoding>() {
        // Odd, so that the fingerprints also differ in their lowest bits.
        let step = 1_usize << F::BITS.saturating_sub(14) | 1;
        for (number, fingerprint) in (1..1 << F::BITS).step_by(step).enumerate() {
            let neighbour = fingerprint ^ 1;
            let neighbour = if neighbour == 0 { 2 } else { neighbour };
            // One fingerprint in 16 runs every check. The others skip those whose functions compare bits alone.
            let check = if number % 16 == 0 { check::<F> } else { check_contents::<F> };
            check(&vec![fingerprint], fingerprint);
            check(&vec![fingerprint], neighbour);
            check(&vec![neighbour, fingerprint], fingerprint);
            check_both::<F>(&vec![neighbour], &vec![fingerprint], fingerprint);
            check_both::<F>(&vec![neighbour], &vec![neighbour], fingerprint);
        }
    }

    macro_rules! of_each_layout {
        ($($layout:ident)*) => {
            $(#[test]
            #[expect(non_snake_case, reason = "named after the layout")]
            fn $layout() {
                type F = EncodingOf<super::$layout>;
                run_cases(cases(), &pairs(F::BITS, F::SLOTS), &|(a, b, fingerprint)| {
                    check::<F>(&a, fingerprint);
                    check_both::<F>(&a, &b, fingerprint);
                });
            })*

            #[test]
            fn words_are_canonical_or_not() {
                $({
                    type F = EncodingOf<super::$layout>;
                    let words = words(F::BITS, F::SLOTS, |model| word_of::<F>(&model).bits());
                    run_cases(cases(), &words, &check_any::<F>);
                })*
            }

            #[test]
            fn small_multisets_by_exhaustion() {
                $(exhaust::<EncodingOf<super::$layout>>();)*
            }

            #[expect(non_snake_case, reason = "named after the layouts")]
            mod each_fingerprint {
                $(#[test]
                fn $layout() {
                    super::sweep::<super::EncodingOf<crate::$layout>>();
                })*
            }
        };
    }

    crate::for_each_layout!(of_each_layout);
}
