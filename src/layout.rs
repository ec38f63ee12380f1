//! How the entries of a bucket sit in a 64-bit word: pure functions.
//!
//! A word is a multiset of entries: a slot has no meaning beyond the entry in it, and no
//! caller may rely on which slot an entry takes. The word 0 is the empty bucket in every
//! layout, so a zeroed table is an empty one.
//!
//! A new layout is defined here, and named in the list of [`__for_each_layout`]; the tests, and the
//! filter whose layout is chosen at run time, follow from that list.

mod packed;
mod semi_sorted;
mod word;

use core::fmt;

use packed::Packed;
use sealed::Sealed;
use semi_sorted::SemiSorted;
pub(crate) use word::Word;

/// A way to lay out the fingerprints of a bucket in a 64-bit word.
///
/// The trait is sealed: there are no layouts outside this crate.
///
/// A longer fingerprint means fewer false positives and fewer slots in the 64 bits of a bucket; and
/// the fewer slots a bucket has, the sooner an insert fails:
///
/// | layout | slots | fingerprint bits | first failed insert | made for | false positives | bits per item |
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
/// The first insert fails at this share of the slots, on average, in a table of 2^20 slots that
/// holds distinct items. In 1,000 to 4,000 fills each of tables of 2^15 and 2^16 slots it never came
/// earlier than 0.6 % of the slots before that (1.1 % for `Fp21x3` and `Fp32x2`). A large filter is
/// made for the share in the next column: when it holds its capacity, this share of its slots is in
/// use, and the last two columns are for that load. (The locks and counters add less than 2 % to the
/// bits.) Small filters have more free slots. One item has at most twice as many copies as a bucket
/// has slots.
///
/// The layouts whose names begin with `Fp` store each fingerprint as it is. The semi-sorted ones
/// store the fingerprints of a bucket as a set (Fan et al., CoNEXT 2014, section 5.2), which makes
/// each of them one or two bits longer in the same space, for some nanoseconds per operation.
///
/// An ideal Bloom filter needs 1.44·log2(1/rate) bits per item. `SemiSorted14x5` and all below it
/// need less, those above it do not.
///
/// # Examples
///
/// ```
/// use coucal::{Fp16x4, Layout};
///
/// assert_eq!((Fp16x4::FINGERPRINT_BITS, Fp16x4::SLOTS), (16, 4));
/// ```
pub trait Layout: Sealed {
    /// The name of the layout: that of its type.
    const NAME: &'static str;
    /// Bits of a fingerprint.
    const FINGERPRINT_BITS: u32;
    /// Slots of a bucket.
    const SLOTS: usize;
}

/// The maximum number of slots of a bucket in any layout.
pub(crate) const MAX_SLOTS: usize = 8;

/// Names one of the layouts as a value.
macro_rules! define_id {
    ($($layout:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LayoutId {
            $($layout,)*
        }
    };
}

crate::__for_each_layout!(define_id);

impl LayoutId {
    /// The name of the layout's type.
    pub(crate) fn name(self) -> &'static str {
        macro_rules! names {
            ($id:ident $($layout:ident)*) => {
                match $id { $(Self::$layout => $layout::NAME,)* }
            };
        }
        let id = self;
        crate::__for_each_layout!(names id)
    }
}

impl fmt::Display for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(crate) mod sealed {
    use super::{LayoutId, MAX_SLOTS};
    use crate::candidates::Values;
    use crate::entry::{Pattern, Slot};

    /// How the entries of a bucket are written in 64 bits: the functions behind [`Word`](super::Word).
    pub trait Encoding {
        /// The number of the encoding in snapshots.
        const ID: u8;

        /// How many slots hold this.
        fn copies(word: u64, slot: Slot) -> usize;

        /// Of the slots that match, and have less in their low part than `more`, one with the most there: the
        /// most extra bits. 0 if there is none.
        fn longest(word: u64, pattern: Pattern, more: u64) -> u64 {
            let low = |slot: &u64| slot & pattern.low;
            let matching = Self::slots(word).into_iter().filter(|&slot| pattern.matches(slot));
            matching.filter(|slot| (1..more).contains(&low(slot))).max_by_key(low).unwrap_or(0)
        }

        /// How many slots are free.
        fn free(word: u64) -> usize;

        /// Whether a slot holds this.
        fn holds(word: u64, slot: Slot) -> bool;

        /// Whether a slot of one word or the other holds this.
        fn either_holds(a: u64, b: u64, slot: Slot) -> bool;

        /// Whether a slot of one word matches its pattern, or a slot of the other word the other pattern.
        /// The two patterns are of one level, that of the table.
        fn either_matches(words: [u64; 2], patterns: [Pattern; 2]) -> bool {
            words.into_iter().zip(patterns).any(|(word, pattern)| Self::matches(word, pattern) > 0)
        }

        /// How many slots match.
        fn matches(word: u64, pattern: Pattern) -> usize {
            Self::slots(word).into_iter().filter(|&slot| pattern.matches(slot)).count()
        }

        /// Whether each slot in use has a 1 among the bits of the mask.
        fn each_has(word: u64, mask: u64) -> bool {
            Self::slots(word).into_iter().all(|slot| slot == 0 || slot & mask != 0)
        }

        /// Whether a slot has a 1 among the bits of the mask.
        fn any_has(word: u64, mask: u64) -> bool {
            Self::slots(word).into_iter().any(|slot| slot & mask != 0)
        }

        /// How many slots in use hold what `bits` has among the bits of the mask.
        fn alike(word: u64, bits: u64, mask: u64) -> usize {
            let slots = Self::slots(word).into_iter();
            slots.filter(|&slot| slot != 0 && (slot ^ bits) & mask == 0).count()
        }

        /// Whether a slot in use, of one word or the other, holds what `bits` has among the bits of the
        /// mask.
        fn either_alike([a, b]: [u64; 2], bits: u64, mask: u64) -> bool {
            Self::alike(a, bits, mask) + Self::alike(b, bits, mask) > 0
        }

        /// As `either_matches`, by the bits of the mask alone; the core is among them.
        fn either_matches_in(words: [u64; 2], patterns: [Pattern; 2], mask: u64) -> bool {
            words.into_iter().zip(patterns).any(|(word, pattern)| {
                let pattern = Pattern { bits: pattern.bits & mask, ..pattern };
                Self::slots(word).into_iter().any(|slot| pattern.matches(slot & mask))
            })
        }

        /// The values of the slots in use of each word that hold what `bits` has among the bits of the
        /// mask: all bits below a value.
        fn values_alike(words: [u64; 2], bits: u64, mask: u64) -> Values;

        /// The values of the slots of each word that match its pattern by the bits of the mask: all bits
        /// below a value.
        fn values_matching(words: [u64; 2], patterns: [Pattern; 2], mask: u64) -> Values;

        /// Whether a slot is free.
        fn has_room(word: u64) -> bool;

        /// Whether `a` has fewer free slots than `b`. If both have the same number, either answer is right.
        #[inline]
        fn fuller(a: u64, b: u64) -> bool {
            Self::free(a) < Self::free(b)
        }

        /// The word with this in one slot more, or `None` if no slot is free.
        fn with(word: u64, slot: Slot) -> Option<u64>;

        /// The word with this in one slot less, or `None` if no slot holds it.
        fn without(word: u64, slot: Slot) -> Option<u64>;

        /// What each slot holds, 0 for a free one; the first `SLOTS` count.
        fn slots(word: u64) -> [u64; MAX_SLOTS];

        /// Whether the other functions can return this word. They are called only with such words.
        fn is_canonical(word: u64) -> bool;
    }

    /// The properties of a layout that are not public.
    pub trait Sealed: Copy + Send + Sync + 'static {
        /// The layout as a value.
        const ID: LayoutId;
        /// The share of slots in use that a large table reaches with some reserve.
        const LOAD: f64;
        /// Slots beyond that for each square root of an item: the scatter of small tables.
        const SCATTER: f64;
        /// The share of slots in use from which on a short search decides that the table is full:
        /// that at which the first insert fails in a table of 2^20 slots.
        const FULL: f64;
        /// The share of slots in use that a growing table keeps unless its builder says otherwise; 0 for
        /// a layout whose tables do not grow. While a level is split, half of the table has twice the
        /// demand of the other half, and the nearer the load comes to the most that kicks can even out,
        /// the longer searches become.
        const TARGET_LOAD: f64;
        /// The highest load that a builder may request: three percentage points more would double the
        /// time of an insert.
        const MAX_TARGET_LOAD: f64;
        /// How often a growing table can double: one bit of the chain of each entry chooses among twice
        /// as many buckets. 0 for a layout whose tables do not grow.
        const MAX_LEVEL: u32;
        /// How its entries are written in a word.
        type Encoding: Encoding;
    }
}

/// The value, or 0 where none is given.
macro_rules! or_zero {
    () => {
        0 as _
    };
    ($value:literal) => {
        $value
    };
}

/// Names layouts and says what their tables hold (`LOAD`, `SCATTER`, `FULL`), and of those that grow how
/// full they are kept (`TARGET_LOAD`, `MAX_TARGET_LOAD`) and how often they double (`MAX_LEVEL`).
macro_rules! define {
    ($($(#[$doc:meta])*
        $name:ident = $encoding:ident<$lane:literal, $slots:literal>,
            $bits:literal bits, $load:literal, $scatter:literal, $full:literal
            $(, grows at $target:literal to $max_target:literal, $level:literal times)?;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}

        impl Sealed for $name {
            const ID: LayoutId = LayoutId::$name;
            const LOAD: f64 = $load;
            const SCATTER: f64 = $scatter;
            const FULL: f64 = $full;
            const TARGET_LOAD: f64 = or_zero!($($target)?);
            const MAX_TARGET_LOAD: f64 = or_zero!($($max_target)?);
            const MAX_LEVEL: u32 = or_zero!($($level)?);
            type Encoding = $encoding<$lane, $slots>;
        }

        impl Layout for $name {
            const NAME: &'static str = stringify!($name);
            const FINGERPRINT_BITS: u32 = $bits;
            const SLOTS: usize = $slots;
        }
    )*};
}

define! {
    /// Eight fingerprints of 8 bits.
    Fp8x8 = Packed<8, 8>, 8 bits, 0.985, 2.5, 0.997;
    /// Seven fingerprints of 9 bits.
    Fp9x7 = Packed<9, 7>, 9 bits, 0.985, 2.5, 0.995;
    /// Six fingerprints of 10 bits.
    Fp10x6 = Packed<10, 6>, 10 bits, 0.98, 2.5, 0.992;
    /// Five fingerprints of 12 bits.
    Fp12x5 = Packed<12, 5>, 12 bits, 0.975, 2.5, 0.986, grows at 0.815 to 0.885, 5 times;
    /// Five fingerprints of 14 bits, semi-sorted.
    SemiSorted14x5 = SemiSorted<10, 5>, 14 bits, 0.975, 2.5, 0.986;
    /// The default layout: four fingerprints of 16 bits.
    Fp16x4 = Packed<16, 4>, 16 bits, 0.96, 2.5, 0.975, grows at 0.80 to 0.87, 9 times;
    /// Four fingerprints of 17 bits, semi-sorted.
    SemiSorted17x4 = SemiSorted<13, 4>, 17 bits, 0.96, 2.5, 0.975;
    /// Three fingerprints of 21 bits.
    Fp21x3 = Packed<21, 3>, 21 bits, 0.935, 2.5, 0.951, grows at 0.76 to 0.83, 12 times;
    /// Two fingerprints of 32 bits.
    Fp32x2 = Packed<32, 2>, 32 bits, 0.865, 3.0, 0.883, grows at 0.69 to 0.75, 19 times;
}

/// Calls a macro with the names of all layouts, from the shortest fingerprint to the longest; what
/// else is given goes before them.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_layout {
    ($then:ident $($with:tt)*) => {
        $then! {
            $($with)*
            Fp8x8 Fp9x7 Fp10x6 Fp12x5 SemiSorted14x5 Fp16x4 SemiSorted17x4 Fp21x3 Fp32x2
        }
    };
}

/// As [`__for_each_layout`], for the layouts of filters that grow.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_growing_layout {
    ($then:ident $($with:tt)*) => {
        $then! {
            $($with)*
            Fp12x5 Fp16x4 Fp21x3 Fp32x2
        }
    };
}

#[cfg(test)]
mod tests {
    use super::sealed::Encoding;
    use super::*;
    use crate::candidates::Candidates;
    use crate::entry::ValueBits;
    use crate::entry::{Pattern, Slot};
    use proptest::prelude::*;

    /// The multiset that a word should be: fingerprints, in any order.
    type Model = Vec<u64>;

    fn copies(model: &Model, fingerprint: u64) -> usize {
        model.iter().filter(|&&held| held == fingerprint).count()
    }

    fn word_of<L: Layout>(model: &Model) -> Word<L> {
        model
            .iter()
            .fold(Word::EMPTY, |word, &f| word.with(Slot::new(f)).expect("room for the model"))
    }

    fn sorted(mut model: Model) -> Model {
        model.sort_unstable();
        model
    }

    /// The values of the slots of a model, which begin at this bit.
    fn values_of(model: &Model, at: u32) -> Model {
        sorted(model.iter().map(|slot| slot >> at).collect())
    }

    fn values(found: Candidates) -> Model {
        sorted(found.map(u64::from).collect())
    }

    /// The word in one bucket, in the other, and in both; and what is found then of what is found in one.
    fn in_either_and_both<L: Layout>(word: Word<L>, found: &Model) -> [([Word<L>; 2], Model); 3] {
        [
            ([word, Word::EMPTY], found.clone()),
            ([Word::EMPTY, word], found.clone()),
            ([word, word], [found.clone(), found.clone()].concat()),
        ]
    }

    /// What the word holds, read as a whole.
    fn contents<L: Layout>(word: Word<L>) -> Model {
        let beyond = &L::Encoding::slots(word.bits())[L::SLOTS..];
        assert!(beyond.iter().all(|&bits| bits == 0), "beyond the slots");
        sorted(word.slots_in_use().map(Slot::bits).collect())
    }

    /// Every method on the word of `model`, and one step on from there, with `fingerprint`.
    fn check<L: Layout>(model: &Model, fingerprint: u64) {
        let word = word_of::<L>(model);
        assert_eq!(word.bits() == 0, model.is_empty());
        assert_eq!(contents(word), sorted(model.clone()));
        assert!(word.is_canonical(), "{:x}", word.bits());
        assert_eq!(word.in_use(), model.len());
        assert_eq!(word.has_room(), model.len() < L::SLOTS);
        let full = word.slots_if_full().map(|slot| (0..L::SLOTS).map(slot).collect::<Vec<_>>());
        assert_eq!(full, (!word.has_room()).then(|| word.slots_in_use().collect()));
        let held = copies(model, fingerprint);
        let slot = Slot::new(fingerprint);
        assert_eq!(word.copies(slot), held, "{model:x?} {fingerprint:x}");
        assert_eq!(word.holds(slot), held > 0, "{model:x?} {fingerprint:x}");
        let bit = 1 << (L::FINGERPRINT_BITS / 2);
        if model.iter().all(|&held| held != bit) {
            let [stay, go] = word.partition(bit).map(contents);
            let [zeros, ones]: [Vec<u64>; 2] = [0, bit].map(|value| {
                model.iter().filter(|&held| held & bit == value).map(|held| held & !bit).collect()
            });
            assert_eq!([stay, go], [sorted(zeros), sorted(ones)]);
        }
        for mask in [bit, bit - 1, fingerprint, !fingerprint & (bit - 1)] {
            let has = |held: &u64| held & mask != 0;
            assert_eq!(word.each_has(mask), model.iter().all(has), "{model:x?} {mask:x}");
            assert_eq!(word.any_has(mask), model.iter().any(has), "{model:x?} {mask:x}");
            // A free slot is told by a 0 there.
            if fingerprint & mask != 0 {
                let alike = model.iter().filter(|&&held| (held ^ fingerprint) & mask == 0).count();
                for above in [0, u64::MAX << L::FINGERPRINT_BITS] {
                    let counted = word.alike(fingerprint, mask | above);
                    assert_eq!(counted, alike, "{model:x?} {mask:x}");
                }
            }
        }
        // Beside values: each slot has something below its value.
        for value_bits in [1, 3, L::FINGERPRINT_BITS - 5] {
            let mask = (1 << (L::FINGERPRINT_BITS - value_bits)) - 1;
            if model.iter().chain([&fingerprint]).any(|held| held & mask == 0) {
                continue;
            }
            let is_alike = |held: &&u64| (**held ^ fingerprint) & mask == 0;
            let expected: Model = model.iter().filter(is_alike).copied().collect();
            let at = L::FINGERPRINT_BITS - value_bits;
            let bits = ValueBits::new(L::FINGERPRINT_BITS, value_bits);
            for (words, expected) in in_either_and_both(word, &expected) {
                let found =
                    Candidates::of(Word::values_alike(words, fingerprint, bits), value_bits);
                assert_eq!(values(found), values_of(&expected, at), "{model:x?} {fingerprint:x}");
            }
            let either = [[word, Word::EMPTY], [Word::EMPTY, word]]
                .map(|words| Word::either_alike(words, fingerprint, mask));
            assert_eq!(either, [!expected.is_empty(); 2], "{model:x?} {fingerprint:x}");
        }
        // A pattern has a core, which is not 0.
        for level in 0..fingerprint.ilog2() {
            let pattern = Pattern { bits: fingerprint, low: (2 << level) - 1 };
            let matching = model.iter().filter(|&&held| pattern.matches(held)).count();
            assert_eq!(word.matches(pattern), matching, "{model:x?} {pattern:x?}");
            let more = 2 << (level / 2);
            let low = |slot: u64| slot & pattern.low;
            let lengths =
                model.iter().filter(|&&held| pattern.matches(held)).map(|&held| low(held));
            let longest = lengths.filter(|&low| low < more && low > 0).max();
            let found = word.longest(pattern, more).map(|slot| low(slot.bits()));
            assert_eq!(found, longest, "{model:x?} {pattern:x?}");
            let either = [[word, Word::EMPTY], [Word::EMPTY, word]]
                .map(|words| Word::either_matches(words, [pattern; 2]));
            assert_eq!(either, [matching > 0; 2], "{model:x?} {pattern:x?}");

            let mask = (1 << (L::FINGERPRINT_BITS - 3)) - 1;
            if fingerprint & mask & !pattern.low == 0 {
                continue;
            }
            let masked = Pattern { bits: fingerprint & mask, ..pattern };
            let matching: Model =
                model.iter().copied().filter(|held| masked.matches(held & mask)).collect();
            let (at, bits) = (L::FINGERPRINT_BITS - 3, ValueBits::new(L::FINGERPRINT_BITS, 3));
            for (words, matching) in in_either_and_both(word, &matching) {
                let found = Candidates::of(Word::values_matching(words, [pattern; 2], bits), 3);
                assert_eq!(values(found), values_of(&matching, at), "{model:x?} {pattern:x?}");
            }
            let either = [[word, Word::EMPTY], [Word::EMPTY, word]]
                .map(|words| Word::either_matches_in(words, [pattern; 2], mask));
            assert_eq!(either, [!matching.is_empty(); 2], "{model:x?} {pattern:x?}");
        }

        match word.with(slot) {
            None => assert_eq!(model.len(), L::SLOTS),
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

    /// Two words in one lookup.
    fn check_both<L: Layout>(a: &Model, b: &Model, fingerprint: u64) {
        let held = copies(a, fingerprint) + copies(b, fingerprint) > 0;
        let slot = Slot::new(fingerprint);
        let words = [a, b].map(word_of::<L>);
        assert_eq!(Word::either_holds(words, slot), held, "{a:x?} {b:x?} {fingerprint:x}");
        if a.len() != b.len() {
            assert_eq!(words[0].is_fuller(words[1]), a.len() > b.len(), "{a:x?} {b:x?}");
        }
    }

    /// Fingerprints that meet often: one bit apart, at the ends, and any.
    fn fingerprints<L: Layout>() -> impl Strategy<Value = u64> {
        let end = (1 << L::FINGERPRINT_BITS) - 1;
        prop_oneof![
            1..=3_u64,
            end - 2..=end,
            (0..L::FINGERPRINT_BITS).prop_map(|bit| 1 << bit),
            (0..L::FINGERPRINT_BITS).prop_map(move |bit| end ^ (1 << bit)),
            1..=end,
        ]
    }

    fn models<L: Layout>() -> impl Strategy<Value = Model> {
        prop::collection::vec(fingerprints::<L>(), 0..=L::SLOTS)
    }

    /// A fingerprint from one of the words, or any.
    fn pairs<L: Layout>() -> impl Strategy<Value = (Model, Model, u64)> {
        (models::<L>(), models::<L>(), fingerprints::<L>(), any::<prop::sample::Index>()).prop_map(
            |(a, b, other, index)| {
                let all = [&a[..], &b, &[other]].concat();
                let fingerprint = *index.get(&all);
                (a, b, fingerprint)
            },
        )
    }

    /// Any word: it is canonical if its fingerprints, put into an empty one, give it again.
    fn check_any<L: Layout>(bits: u64) {
        let word = Word::<L>::from_bits(bits);
        let [again, _] = word.partition(0);
        assert_eq!(word.is_canonical(), again.bits() == bits, "{bits:x}, again {:x}", again.bits());
    }

    /// Words that are nearly right: any, one bit beside those of a model, and with lanes of zeros.
    fn words<L: Layout>() -> impl Strategy<Value = u64> {
        let near = |model: Model| word_of::<L>(&model).bits();
        prop_oneof![
            any::<u64>(),
            (models::<L>(), 0..64_u32).prop_map(move |(model, bit)| near(model) ^ 1 << bit),
            (models::<L>(), 0..64_u32, 0..=64_u32).prop_map(move |(model, from, bits)| {
                let zeros = u64::MAX.checked_shr(64 - bits).unwrap_or(0) << from;
                near(model) & !zeros
            }),
        ]
    }

    /// All multisets of up to `SLOTS` of the fingerprints most likely to be mixed up.
    fn exhaust<L: Layout>() {
        let end = (1 << L::FINGERPRINT_BITS) - 1;
        let upper = 1 << (L::FINGERPRINT_BITS - 4);
        let values = [1, upper, upper + 1, end - 1, end];
        let mut models: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..=L::SLOTS {
            for model in &models {
                let model: Model = model.iter().map(|&i| values[i]).collect();
                for fingerprint in values {
                    check::<L>(&model, fingerprint);
                    check_both::<L>(&model, &vec![], fingerprint);
                    check_both::<L>(&vec![], &model, fingerprint);
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

    /// Copies of every fingerprint there is (or of 65,536 spread over them all) with a neighbour.
    fn sweep<L: Layout>() {
        let step = 1_usize << L::FINGERPRINT_BITS.saturating_sub(16);
        for fingerprint in (1..1 << L::FINGERPRINT_BITS).step_by(step) {
            let neighbour = fingerprint ^ 1;
            let neighbour = if neighbour == 0 { 2 } else { neighbour };
            check::<L>(&vec![fingerprint], fingerprint);
            check::<L>(&vec![fingerprint], neighbour);
            check::<L>(&vec![neighbour, fingerprint], fingerprint);
            check_both::<L>(&vec![neighbour], &vec![fingerprint], fingerprint);
            check_both::<L>(&vec![neighbour], &vec![neighbour], fingerprint);
        }
    }

    macro_rules! of_each_layout {
        ($($layout:ident)*) => {
            proptest! {
                $(#[test]
                #[expect(non_snake_case, reason = "named after the layout")]
                fn $layout((a, b, fingerprint) in pairs::<super::$layout>()) {
                    check::<super::$layout>(&a, fingerprint);
                    check_both::<super::$layout>(&a, &b, fingerprint);
                })*
            }

            #[test]
            fn words_are_canonical_or_not() {
                $(proptest!(|(word in words::<super::$layout>())| check_any::<super::$layout>(word));)*
            }

            #[test]
            fn small_multisets_by_exhaustion() {
                $(exhaust::<super::$layout>();)*
            }

            #[test]
            fn every_fingerprint() {
                $(sweep::<super::$layout>();)*
            }
        };
    }

    crate::__for_each_layout!(of_each_layout);
}
