//! How the fingerprints of one bucket sit in one 64-bit word: pure functions on `u64`.
//!
//! A word is a multiset of fingerprints: a slot has no meaning beyond the fingerprint in it, and no
//! caller may rely on which slot a fingerprint takes. The word 0 is the empty bucket in every
//! layout, so a zeroed table is an empty one.
//!
//! A new layout is defined here, and named in the list of [`for_each_layout`]; the tests, and the
//! filter whose layout is chosen as the program runs, follow from that list.

mod packed;
mod semi_sorted;

pub use packed::Packed;
use sealed::{Sizing, Word};
pub use semi_sorted::SemiSorted;

/// A way to lay out the fingerprints of a bucket in a 64-bit word.
///
/// The trait is sealed: the layouts of this crate are the ones there are.
///
/// A longer fingerprint means fewer false positives and fewer slots in the 64 bits of a bucket; and
/// the fewer slots a bucket has, the sooner an insert fails:
///
/// | layout | slots | fingerprint bits | first failed insert | made for | false positives | bits an item |
/// |---|---|---|---|---|---|---|
/// | [`Fp8x8`] | 8 | 8 | 99.7 % | 98.5 % | 6.0 % | 8.1 |
/// | [`Fp9x7`] | 7 | 9 | 99.5 % | 98.5 % | 2.7 % | 9.3 |
/// | [`Fp10x6`] | 6 | 10 | 99.2 % | 98 % | 1.1 % | 10.9 |
/// | [`Fp12x5`] | 5 | 12 | 98.6 % | 97.5 % | 0.24 % | 13.1 |
/// | [`SemiSorted14x5`] | 5 | 14 | 98.6 % | 97.5 % | 0.059 % | 13.1 |
/// | [`Fp16x4`] | 4 | 16 | 97.5 % | 96 % | 0.012 % | 16.7 |
/// | [`SemiSorted17x4`] | 4 | 17 | 97.5 % | 96 % | 0.0059 % | 16.7 |
/// | [`Fp21x3`] | 3 | 21 | 95.1 % | 93.5 % | 0.00027 % | 22.8 |
/// | [`Fp32x2`] | 2 | 32 | 88.3 % | 86.5 % | 0.000000081 % | 37.0 |
///
/// The first insert fails at this share of the slots of a table of 2^20 slots, with random items;
/// it moves by 0.6 % of the slots or less between 2^14 and 2^24 of them. A large filter is made for
/// the share in the next column: when it holds its capacity, so many of its slots are in use, and
/// the last two columns are for that load. (The locks and counters add less than 2 % to the bits.)
/// Small filters have more room to spare. One item has at most twice as many copies as a bucket has
/// slots.
///
/// The layouts whose names begin with `Fp` store each fingerprint as it is ([`Packed`]). The
/// semi-sorted ones ([`SemiSorted`]) store the fingerprints of a bucket as a set, which makes each
/// of them one bit longer in the same space, or two, for some nanoseconds an operation.
///
/// An ideal Bloom filter needs 1.44·log2(1/rate) bits an item. `SemiSorted14x5` and all below it
/// need less, those above it do not.
///
/// # Examples
///
/// ```
/// use coucal::{Fp16x4, Layout};
///
/// assert_eq!((Fp16x4::FINGERPRINT_BITS, Fp16x4::SLOTS), (16, 4));
/// ```
pub trait Layout: Word + Sizing {
    /// The name of the layout, as its type is spelt.
    const NAME: &'static str;
    /// Bits of a fingerprint.
    const FINGERPRINT_BITS: u32;
    /// Slots of a bucket.
    const SLOTS: usize;
}

/// The most slots that any layout has.
pub(crate) const MAX_SLOTS: usize = 8;

pub(crate) mod sealed {
    use super::MAX_SLOTS;

    /// What the table asks of a word. A fingerprint here is never 0, unless it says so.
    pub trait Word: Send + Sync + 'static {
        /// How many copies of `fingerprint` the word holds; of 0, how many slots are free.
        fn copies(word: u64, fingerprint: u64) -> usize;

        /// Whether the word holds a copy of `fingerprint`.
        fn holds(word: u64, fingerprint: u64) -> bool;

        /// Whether one word or the other holds `fingerprint`: the heart of a lookup.
        #[inline]
        fn either_holds(a: u64, b: u64, fingerprint: u64) -> bool {
            Self::holds(a, fingerprint) | Self::holds(b, fingerprint)
        }

        /// Whether a slot is free.
        fn has_room(word: u64) -> bool;

        /// Whether `a` has fewer free slots than `b`. Of two that have as many, any answer is right.
        #[inline]
        fn fuller(a: u64, b: u64) -> bool {
            Self::copies(a, 0) < Self::copies(b, 0)
        }

        /// The word with one more copy, or `None` if no slot is free.
        fn with(word: u64, fingerprint: u64) -> Option<u64>;

        /// The word with one copy less, or `None` if it holds none.
        fn without(word: u64, fingerprint: u64) -> Option<u64>;

        /// The fingerprints of the word, 0 for a free slot; the first `SLOTS` places count.
        fn fingerprints(word: u64) -> [u64; MAX_SLOTS];
    }

    /// What a table of the layout holds, as measured.
    pub trait Sizing {
        /// The share of slots in use that a large table reaches with some reserve.
        const LOAD: f64;
        /// Slots beyond that for each square root of an item: the scatter of small tables.
        const SCATTER: f64;
        /// The share of slots in use from which on a short search decides that the table is full.
        const FULL: f64;
    }
}

/// Names layouts and says what their tables hold: `LOAD`, `SCATTER`.
macro_rules! define {
    ($($(#[$doc:meta])*
        $name:ident = $word:ident<$lane:literal, $slots:literal>,
            $bits:literal bits, $load:literal, $scatter:literal, $full:literal;
    )*) => {$(
        $(#[$doc])*
        pub type $name = $word<$lane, $slots>;

        impl Sizing for $name {
            const LOAD: f64 = $load;
            const SCATTER: f64 = $scatter;
            const FULL: f64 = $full;
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
    Fp12x5 = Packed<12, 5>, 12 bits, 0.975, 2.5, 0.986;
    /// Five fingerprints of 14 bits, semi-sorted.
    SemiSorted14x5 = SemiSorted<10, 5>, 14 bits, 0.975, 2.5, 0.986;
    /// The default layout: four fingerprints of 16 bits.
    Fp16x4 = Packed<16, 4>, 16 bits, 0.96, 2.5, 0.975;
    /// Four fingerprints of 17 bits, semi-sorted.
    SemiSorted17x4 = SemiSorted<13, 4>, 17 bits, 0.96, 2.5, 0.975;
    /// Three fingerprints of 21 bits.
    Fp21x3 = Packed<21, 3>, 21 bits, 0.935, 2.5, 0.951;
    /// Two fingerprints of 32 bits.
    Fp32x2 = Packed<32, 2>, 32 bits, 0.865, 3.0, 0.883;
}

/// Calls a macro with the names of all layouts, from the shortest fingerprint to the longest; what
/// else is given goes before them.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_layout {
    ($then:ident $($with:tt)*) => {
        $then! {
            $($with)*
            Fp8x8 Fp9x7 Fp10x6 Fp12x5 SemiSorted14x5 Fp16x4 SemiSorted17x4 Fp21x3 Fp32x2
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder;
    use crate::table::Table;
    use proptest::prelude::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// The multiset that a word should be: fingerprints, in any order.
    type Model = Vec<u64>;

    fn copies(model: &Model, fingerprint: u64) -> usize {
        model.iter().filter(|&&held| held == fingerprint).count()
    }

    fn word_of<L: Layout>(model: &Model) -> u64 {
        model.iter().fold(0, |word, &f| L::with(word, f).expect("room for the model"))
    }

    fn sorted(mut model: Model) -> Model {
        model.sort_unstable();
        model
    }

    /// What the word holds, read as a whole.
    fn contents<L: Layout>(word: u64) -> Model {
        let fingerprints = L::fingerprints(word);
        assert!(fingerprints[L::SLOTS..].iter().all(|&f| f == 0), "beyond the slots");
        sorted(fingerprints.into_iter().filter(|&f| f != 0).collect())
    }

    /// Every method on the word of `model`, and one step on from there, with `fingerprint`.
    fn check<L: Layout>(model: &Model, fingerprint: u64) {
        let word = word_of::<L>(model);
        assert_eq!(word == 0, model.is_empty());
        assert_eq!(contents::<L>(word), sorted(model.clone()));
        assert_eq!(L::copies(word, 0), L::SLOTS - model.len());
        assert_eq!(L::has_room(word), model.len() < L::SLOTS);
        let held = copies(model, fingerprint);
        assert_eq!(L::copies(word, fingerprint), held, "{model:x?} {fingerprint:x}");
        assert_eq!(L::holds(word, fingerprint), held > 0, "{model:x?} {fingerprint:x}");

        match L::with(word, fingerprint) {
            None => assert_eq!(model.len(), L::SLOTS),
            Some(more) => {
                let model = [&model[..], &[fingerprint]].concat();
                assert_eq!(contents::<L>(more), sorted(model), "{word:x} with {fingerprint:x}");
            }
        }
        match L::without(word, fingerprint) {
            None => assert_eq!(held, 0),
            Some(less) => {
                let mut model = model.clone();
                let at = model.iter().position(|&held| held == fingerprint).expect("one is held");
                model.remove(at);
                assert_eq!(contents::<L>(less), sorted(model), "{word:x} less {fingerprint:x}");
            }
        }
    }

    /// Two words in one lookup.
    fn check_both<L: Layout>(a: &Model, b: &Model, fingerprint: u64) {
        let held = copies(a, fingerprint) + copies(b, fingerprint) > 0;
        let used = a.len().cmp(&b.len());
        let (a, b) = (word_of::<L>(a), word_of::<L>(b));
        assert_eq!(L::either_holds(a, b, fingerprint), held, "{a:x} {b:x} {fingerprint:x}");
        if used.is_ne() {
            assert_eq!(L::fuller(a, b), used.is_gt(), "{a:x} {b:x}");
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
            fn small_multisets_by_exhaustion() {
                $(exhaust::<super::$layout>();)*
            }

            #[test]
            fn every_fingerprint() {
                $(sweep::<super::$layout>();)*
            }
        };
    }

    for_each_layout!(of_each_layout);

    /// The share of slots in use when an insert fails for the first time, the mean of some tables.
    fn first_failure<L: Layout>() -> f64 {
        const TABLES: usize = 8;
        let mut random = SmallRng::seed_from_u64(1);
        let table = Table::<L>::try_new(((1 << 16) / L::SLOTS) & !1).expect("a small table");
        let mut stored = 0;
        for _ in 0..TABLES {
            while table.insert(table.key(random.next_u64())).is_ok() {}
            stored += table.occupied();
            table.clear();
        }
        builder::load(stored, TABLES * table.slots())
    }

    /// A row of the table in the documentation of `Layout`, as the code has it: all but the first
    /// failure.
    fn row<L: Layout>() -> [String; 6] {
        let percent = 100.0 * builder::false_positive_rate::<L>(L::LOAD);
        let digits = (1.0 - percent.log10().floor()) as usize;
        [
            format!("[`{}`]", L::NAME),
            L::SLOTS.to_string(),
            L::FINGERPRINT_BITS.to_string(),
            format!("{} %", 100.0 * L::LOAD),
            format!("{percent:.digits$} %"),
            format!("{:.1}", 64.0 / (L::SLOTS as f64 * L::LOAD)),
        ]
    }

    macro_rules! rows {
        ($($layout:ident)*) => {
            [$((row::<super::$layout>(), first_failure::<super::$layout>())),*]
        };
    }

    #[test]
    fn the_table_in_the_documentation_is_right() {
        let mut lines =
            include_str!("layout.rs").lines().filter(|line| line.starts_with("/// | [`"));
        for (row, measured) in for_each_layout!(rows) {
            let line = lines.next().expect("a line for each layout");
            let mut cells: Vec<_> =
                line.trim_matches(['/', ' ', '|']).split('|').map(str::trim).collect();
            let first_failure = cells.remove(3).trim_end_matches(" %").parse::<f64>().unwrap();
            assert_eq!(cells, row);
            assert!((100.0 * measured - first_failure).abs() < 0.6, "{line}: {measured}");
        }
        assert_eq!(lines.next(), None);
    }
}
