//! From what the user wants (items, a rate) to a layout and a number of buckets. Pure functions.

use crate::error::BuildError;
use crate::layout::{self, Layout, LayoutId};
use crate::table::MAX_STRIPES;

/// The most slots of a table, just below 2^44: each stripe counts its slots in use with 32 bits, and
/// may have a bucket more than others.
const MAX_SLOTS: usize = MAX_STRIPES * (u32::MAX as usize - layout::MAX_SLOTS);

/// Of 5 million small tables filled to their capacity, one or fewer is crowded in the sense of
/// [`crowded`].
const TABLES: f64 = 5e6;

/// What a layout needs for some number of items, and the rate that it has then.
#[derive(Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) layout: LayoutId,
    pub(crate) buckets: usize,
    /// The share of false positives when the table holds these items.
    pub(crate) rate: f64,
}

impl Fit {
    pub(crate) fn of<L: Layout>(items: usize) -> Result<Self, BuildError> {
        let buckets = buckets_for::<L>(items)?;
        let rate = false_positive_rate::<L>(load(items, buckets * L::SLOTS));
        Ok(Self { layout: L::ID, buckets, rate })
    }

    /// The fit of `L`, if it reaches the rate.
    pub(crate) fn within<L: Layout>(items: usize, rate: Option<f64>) -> Result<Self, BuildError> {
        let Some(rate) = rate else { return Self::of::<L>(items) };
        validate_rate(rate)?;
        let fit = Self::of::<L>(items)?;
        if fit.rate <= rate {
            return Ok(fit);
        }
        let layout = Some(Self::smallest(items, rate)?.layout.name());
        Err(BuildError::RateOutOfReach { rate, reached: fit.rate, layout })
    }

    /// That of the smallest layout that reaches `rate`. Of equally small ones it is the one with the
    /// shortest fingerprints: the others are no faster.
    pub(crate) fn smallest(items: usize, rate: f64) -> Result<Self, BuildError> {
        validate_rate(rate)?;
        let fits = || Self::of_each_layout(items).into_iter().flatten();
        if let Some(fit) = fits().filter(|fit| fit.rate <= rate).min_by_key(|fit| fit.buckets) {
            return Ok(fit);
        }
        // A layout whose table is too large might have reached the rate.
        for fit in Self::of_each_layout(items) {
            fit?;
        }
        let reached = fits().map(|fit| fit.rate).fold(f64::INFINITY, f64::min);
        Err(BuildError::RateOutOfReach { rate, reached, layout: None })
    }

    /// The allocator could not provide the words of the table.
    pub(crate) fn out_of_memory(self) -> BuildError {
        BuildError::OutOfMemory { bytes: self.buckets * size_of::<u64>() }
    }

    /// From the layout with the shortest fingerprints to that with the longest.
    fn of_each_layout(items: usize) -> impl IntoIterator<Item = Result<Self, BuildError>> {
        macro_rules! fits {
            ($items:ident $($layout:ident)*) => {
                [$(Self::of::<layout::$layout>($items)),*]
            };
        }
        crate::__for_each_layout!(fits items)
    }
}

/// A rate lies between 0 and 1, both excluded.
fn validate_rate(rate: f64) -> Result<(), BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(BuildError::InvalidRate { rate }) }
}

/// The share of slots in use.
pub(crate) fn load(items: usize, slots: usize) -> f64 {
    items as f64 / slots as f64
}

/// The share of absent items that a table of this load reports as present: a lookup compares
/// 2b·load fingerprints (Fan et al., CoNEXT 2014, section 5.1).
///
/// Two fingerprints are equal by chance with probability (2^f + 2) / 4^f: since 0 is counted as 1,
/// the value 1 is twice as frequent as each of the 2^f - 2 others.
pub(crate) fn false_positive_rate<L: Layout>(load: f64) -> f64 {
    let values = f64::from(L::FINGERPRINT_BITS).exp2();
    let equal = (values + 2.0) / (values * values);
    let compared = (2 * L::SLOTS) as f64 * load;
    -(compared * (-equal).ln_1p()).exp_m1()
}

/// The buckets of a table that holds `items` distinct items.
///
/// Two buckets hold any items that they have slots for. In larger tables the first failed insert
/// comes at a load that scatters around a mean, the more so the smaller the table: so a table gets a
/// fixed share of slack, and a share that falls with its root. In small ones another thing comes
/// first: one pair of buckets may be crowded.
fn buckets_for<L: Layout>(items: usize) -> Result<usize, BuildError> {
    let pair = 2 * L::SLOTS;
    if items <= pair {
        return Ok(2);
    }
    let n = items as f64;
    let loaded = (n / L::LOAD + L::SCATTER * n.sqrt()) / L::SLOTS as f64;
    let pairs = (loaded.max(crowded(n, pair)) / 2.0).ceil();
    // Exact: far below 2^53.
    if pairs > (MAX_SLOTS / pair) as f64 {
        return Err(BuildError::CapacityOverflow { capacity: items });
    }
    Ok(2 * pairs as usize)
}

/// How many buckets keep items from crowding into one pair of them that has slots for `pair`: in m
/// buckets there are m²/4 pairs, and any `pair + 1` of n items share one with probability
/// C(n, pair + 1)·(4/m²)^pair or less.
fn crowded(n: f64, pair: usize) -> f64 {
    let sets = (0..=pair).map(|k| (n - k as f64) / (k + 1) as f64).product::<f64>();
    2.0 * (sets * TABLES).powf(0.5 / pair as f64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::layout::{Fp8x8, Fp16x4, Fp32x2, SemiSorted17x4};

    /// Whatever is asked for, the fit reaches it, and no smaller one does.
    #[test]
    fn the_smallest_that_reaches_the_rate() {
        for items in [0, 1, 4, 10, 100, 1000, 100_000] {
            for rate in (1..90).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
                let fit = Fit::smallest(items, rate).unwrap();
                assert!(fit.rate <= rate);
                for other in Fit::of_each_layout(items).into_iter().flatten() {
                    let smaller = other.buckets < fit.buckets;
                    assert!(!smaller || other.rate > rate, "{} for {items}, {rate}", other.layout);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_an_error() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = Fit::smallest(100, rate).err().unwrap();
            assert!(matches!(error, BuildError::InvalidRate { .. }), "{rate}: {error:?}");
        }
        for (items, rate) in [(usize::MAX, 0.01), (1 << 62, 1e-7)] {
            let error = Fit::smallest(items, rate).err();
            assert_eq!(error, Some(BuildError::CapacityOverflow { capacity: items }));
        }
        let error = Fit::smallest(1 << 20, 1e-12).err();
        let reached = Fit::of::<Fp32x2>(1 << 20).unwrap().rate;
        let expected = BuildError::RateOutOfReach { rate: 1e-12, reached, layout: None };
        assert_eq!(error, Some(expected));
    }

    /// A fixed layout that cannot reach the rate names the smallest that can.
    #[test]
    fn an_error_names_the_layout_that_does() {
        let error = Fit::within::<Fp8x8>(10_000, Some(0.0001)).err().unwrap();
        let reached = Fit::of::<Fp8x8>(10_000).unwrap().rate;
        let layout = Some("SemiSorted17x4");
        assert_eq!(error, BuildError::RateOutOfReach { rate: 0.0001, reached, layout });
        assert!(error.to_string().ends_with(": SemiSorted17x4 reaches it"), "{error}");
        assert!(Fit::within::<SemiSorted17x4>(10_000, Some(0.0001)).is_ok());

        let error = Fit::within::<Fp16x4>(10_000, Some(1e-12)).err().unwrap();
        assert!(matches!(error, BuildError::RateOutOfReach { layout: None, .. }), "{error:?}");
    }

    /// The largest table has nearly 2^44 slots, whatever its layout.
    #[test]
    fn no_table_is_larger_than_its_counters_count() {
        fn check<L: Layout>() {
            let (mut fits, mut too_many) = (0, usize::MAX);
            while too_many - fits > 1 {
                let items = usize::midpoint(fits, too_many);
                match buckets_for::<L>(items) {
                    Ok(buckets) => {
                        assert!(buckets * L::SLOTS >= items && buckets * L::SLOTS <= MAX_SLOTS);
                        fits = items;
                    }
                    Err(error) => {
                        assert_eq!(error, BuildError::CapacityOverflow { capacity: items });
                        too_many = items;
                    }
                }
            }
            let share = fits as f64 / MAX_SLOTS as f64;
            assert!((share - L::LOAD).abs() < 0.001, "{}: {share}", L::NAME);
        }
        macro_rules! each {
            ($($layout:ident)*) => { $(check::<layout::$layout>();)* };
        }
        crate::__for_each_layout!(each);
    }

    /// Against the sum over all values of a fingerprint.
    #[test]
    fn fingerprints_are_equal_by_chance_as_often_as_predicted() {
        // 254 values of one in 256 each, and one of two in 256.
        let equal = 254.0 / 256_f64.powi(2) + (2.0 / 256_f64).powi(2);
        let predicted = 1.0 - (1.0 - equal).powf(16.0 * 0.5);
        let stated = false_positive_rate::<Fp8x8>(0.5);
        assert!((stated / predicted - 1.0).abs() < 1e-9, "{stated}, {predicted}");
    }
}
