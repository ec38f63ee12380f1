//! From what the user wants (items, a rate) to a layout and a number of buckets. Pure functions.

use crate::error::BuildError;
use crate::layout::sealed::Sealed;
use crate::layout::{self, Fp16x4, Layout, LayoutId};
use crate::table::MAX_STRIPES;

/// The most slots of a table, just below 2^44: each stripe counts its slots in use with 32 bits, and
/// may have a bucket more than others.
const MAX_SLOTS: usize = MAX_STRIPES * (u32::MAX as usize - layout::MAX_SLOTS);

/// Of 5 million small tables filled to their capacity, at most one has a pair of buckets that is
/// crowded in the sense of [`crowds`].
const TABLES: f64 = 5e6;

/// The fewest rows of a table that grows: with fewer, the pairs of rows are too few.
const MIN_ROWS: usize = 32;
/// Bits of a fingerprint that growth must leave: they choose among the alternates of a row.
const ALTERNATE_BITS: u32 = 6;

/// What the user wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Distinct items that the filter holds, or those of a filter that grows before it does.
    pub(crate) capacity: usize,
    /// Those of a filter that grows when it has grown.
    pub(crate) max_capacity: Option<usize>,
    /// The highest rate of false positives, when the filter holds all of them.
    pub(crate) rate: Option<f64>,
}

/// What a layout needs for what is wanted, and the rate that it has then.
#[derive(Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) layout: LayoutId,
    pub(crate) rows: usize,
    /// As many as the rows, or those of a table that has grown.
    pub(crate) buckets: usize,
    /// The share of false positives when the table holds all items.
    pub(crate) rate: f64,
}

impl Fit {
    /// The fit of `L`, whatever its rate.
    fn of<L: Layout>(wanted: Wanted) -> Result<Self, BuildError> {
        let Wanted { capacity, max_capacity, .. } = wanted;
        let Some(most) = max_capacity else {
            let buckets = buckets_for::<L>(capacity, L::LOAD)?;
            return Ok(Self::new::<L>(capacity, buckets, buckets));
        };
        if most < capacity {
            return Err(BuildError::MaxCapacityTooLow { capacity, max_capacity: most });
        }
        let rows = buckets_for::<L>(capacity, L::TARGET_LOAD)?.max(MIN_ROWS);
        let buckets = buckets_for::<L>(most, L::TARGET_LOAD)?.max(rows);
        if !is_within_reach(rows, buckets, L::FINGERPRINT_BITS) {
            return Err(wanted.out_of_reach(None, None));
        }
        Ok(Self::new::<L>(most, rows, buckets))
    }

    fn new<L: Layout>(items: usize, rows: usize, buckets: usize) -> Self {
        let rate = false_positive_rate::<L>(items as f64 / rows as f64);
        Self { layout: L::ID, rows, buckets, rate }
    }

    fn reaches(self, rate: Option<f64>) -> bool {
        rate.is_none_or(|rate| self.rate <= rate)
    }

    /// The fit of `L`, if it reaches the rate.
    pub(crate) fn within<L: Layout>(wanted: Wanted) -> Result<Self, BuildError> {
        validate_rate(wanted.rate)?;
        let reached = match Self::of::<L>(wanted) {
            Ok(fit) if fit.reaches(wanted.rate) => return Ok(fit),
            Ok(fit) => fit.rate,
            Err(BuildError::GrowthOutOfReach { .. }) => f64::INFINITY,
            Err(error) => return Err(error),
        };
        let layout = match Self::smallest(wanted) {
            Ok(fit) => Some(fit.layout.name()),
            Err(error @ BuildError::CapacityOverflow { .. }) => return Err(error),
            Err(_) => None,
        };
        Err(match wanted {
            Wanted { max_capacity: None, rate: Some(rate), .. } => {
                BuildError::RateOutOfReach { rate, reached, layout }
            }
            _ => wanted.out_of_reach(layout, Self::first_capacity::<L>(wanted)),
        })
    }

    /// That of the smallest layout that reaches the rate; without a rate, one with fingerprints no
    /// shorter than the default layout's. Of equally small ones it is the one with the shortest
    /// fingerprints: the others are no faster.
    pub(crate) fn smallest(wanted: Wanted) -> Result<Self, BuildError> {
        validate_rate(wanted.rate)?;
        let fits = || Self::of_each_layout(wanted).into_iter().flatten();
        let reach = |fit: &Self| match wanted.rate {
            Some(rate) => fit.rate <= rate,
            None => fit.layout as u8 >= Fp16x4::ID as u8,
        };
        if let Some(fit) = fits().filter(reach).min_by_key(|fit| fit.buckets) {
            return Ok(fit);
        }
        // A layout whose table is too large might have reached the rate.
        for fit in Self::of_each_layout(wanted) {
            match fit {
                Ok(_) | Err(BuildError::GrowthOutOfReach { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(match wanted {
            Wanted { max_capacity: None, rate: Some(rate), .. } => {
                let reached = fits().map(|fit| fit.rate).fold(f64::INFINITY, f64::min);
                BuildError::RateOutOfReach { rate, reached, layout: None }
            }
            _ => wanted.out_of_reach(None, Self::first_capacity_of_any_layout(wanted)),
        })
    }

    /// The allocator could not provide the words of the table.
    pub(crate) fn out_of_memory(self) -> BuildError {
        BuildError::OutOfMemory { bytes: self.buckets * size_of::<u64>() }
    }

    /// The fit of a layout, whatever its rate.
    pub(crate) fn of_layout(layout: LayoutId, wanted: Wanted) -> Result<Self, BuildError> {
        macro_rules! dispatch {
            ($($layout:ident)*) => {
                match layout {
                    $(LayoutId::$layout => Self::of::<layout::$layout>(wanted),)*
                }
            };
        }
        crate::__for_each_layout!(dispatch)
    }

    /// From the layout with the shortest fingerprints to that with the longest.
    fn of_each_layout(wanted: Wanted) -> impl IntoIterator<Item = Result<Self, BuildError>> {
        macro_rules! fits {
            ($wanted:ident $($layout:ident)*) => {
                [$(Self::of::<layout::$layout>($wanted)),*]
            };
        }
        crate::__for_each_layout!(fits wanted)
    }

    fn first_capacity_of_any_layout(wanted: Wanted) -> Option<usize> {
        macro_rules! firsts {
            ($wanted:ident $($layout:ident)*) => {
                [$(Self::first_capacity::<layout::$layout>($wanted)),*]
            };
        }
        crate::__for_each_layout!(firsts wanted).into_iter().flatten().min()
    }

    /// The lowest first capacity from which `L` grows as wanted.
    fn first_capacity<L: Layout>(wanted: Wanted) -> Option<usize> {
        let most = wanted.max_capacity?;
        let reaches = |capacity| {
            Self::of::<L>(Wanted { capacity, ..wanted }).is_ok_and(|fit| fit.reaches(wanted.rate))
        };
        let (mut too_few, mut enough) = (wanted.capacity, reaches(most).then_some(most)?);
        while enough - too_few > 1 {
            let capacity = usize::midpoint(too_few, enough);
            *(if reaches(capacity) { &mut enough } else { &mut too_few }) = capacity;
        }
        Some(enough)
    }
}

impl Wanted {
    fn out_of_reach(
        self,
        layout: Option<&'static str>,
        first_capacity: Option<usize>,
    ) -> BuildError {
        let Self { capacity, max_capacity, rate } = self;
        let max_capacity = max_capacity.unwrap_or(capacity);
        BuildError::GrowthOutOfReach { capacity, max_capacity, rate, layout, first_capacity }
    }
}

/// Whether fingerprints of `bits` bits let a table grow from `rows` buckets to `max_buckets`.
fn is_within_reach(rows: usize, max_buckets: usize, bits: u32) -> bool {
    max_buckets.div_ceil(rows) <= 1 << (bits - ALTERNATE_BITS)
}

/// A rate lies between 0 and 1, both excluded.
fn validate_rate(rate: Option<f64>) -> Result<(), BuildError> {
    match rate {
        Some(rate) if !(rate > 0.0 && rate < 1.0) => Err(BuildError::InvalidRate { rate }),
        _ => Ok(()),
    }
}

/// The share of slots in use.
pub(crate) fn load(items: usize, slots: usize) -> f64 {
    items as f64 / slots as f64
}

/// The share of absent items that a table with so many items for each of its rows reports as
/// present: a lookup compares the fingerprints of two rows (Fan et al., CoNEXT 2014, section 5.1).
/// In a table that has grown it reads one bucket of each row, and all that could be equal are there.
///
/// Two fingerprints are equal by chance with probability (2^f + 2) / 4^f: since 0 is counted as 1,
/// the value 1 is twice as frequent as each of the 2^f - 2 others.
pub(crate) fn false_positive_rate<L: Layout>(items_per_row: f64) -> f64 {
    let values = f64::from(L::FINGERPRINT_BITS).exp2();
    let equal = (values + 2.0) / (values * values);
    -(2.0 * items_per_row * (-equal).ln_1p()).exp_m1()
}

/// The number of buckets of a table that holds `items` distinct items at this load.
///
/// Two buckets hold any items that they have slots for. In larger tables, the load at which the first
/// insert fails scatters around a mean, and the smaller the table, the wider: so a table has spare
/// slots, in proportion to the items and to their square root. In a small table, one pair of buckets
/// is crowded before that.
///
/// A snapshot is restored only if its sizes are those of this function, so the result must be the same
/// on every machine: all operations here are exactly rounded (IEEE 754), which `powf` and `ln` are not.
pub(crate) fn buckets_for<L: Layout>(items: usize, load: f64) -> Result<usize, BuildError> {
    let pair = 2 * L::SLOTS;
    if items <= pair {
        return Ok(2);
    }
    let n = items as f64;
    let loaded = (n / load + L::SCATTER * n.sqrt()) / L::SLOTS as f64;
    // Exact: far below 2^53. More than fits is `usize::MAX`.
    let mut pairs = (loaded / 2.0).ceil() as usize;
    if pairs > MAX_SLOTS / pair {
        return Err(BuildError::CapacityOverflow { capacity: items });
    }
    let crowds = TABLES * crowds(n, pair);
    while power(pairs as f64, 2 * pair) < crowds {
        pairs += 1;
    }
    Ok(2 * pairs)
}

/// The number of ways to choose `pair + 1` of `n` items, which are more than a pair of buckets has
/// slots for. In a table of p pairs of buckets an item has one of p² pairs, so the probability that any
/// pair is crowded is at most this number divided by p^(2·pair).
fn crowds(n: f64, pair: usize) -> f64 {
    (0..=pair).map(|k| (n - k as f64) / (k + 1) as f64).product()
}

/// By multiplications, one after the other: `powi` may compute it in another order.
fn power(base: f64, exponent: usize) -> f64 {
    core::iter::repeat_n(base, exponent).product()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::layout::{Fp8x8, Fp16x4, Fp32x2, SemiSorted17x4};

    fn fixed(capacity: usize, rate: Option<f64>) -> Wanted {
        Wanted { capacity, max_capacity: None, rate }
    }

    /// Whatever is asked for, the fit reaches it, and no smaller one does.
    #[test]
    fn the_smallest_that_reaches_the_rate() {
        for items in [0, 1, 4, 10, 100, 1000, 100_000] {
            for rate in (1..90).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
                let fit = Fit::smallest(fixed(items, Some(rate))).unwrap();
                assert!(fit.rate <= rate);
                for other in Fit::of_each_layout(fixed(items, None)).into_iter().flatten() {
                    let smaller = other.buckets < fit.buckets;
                    assert!(!smaller || other.rate > rate, "{} for {items}, {rate}", other.layout);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_an_error() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = Fit::smallest(fixed(100, Some(rate))).err().unwrap();
            assert!(matches!(error, BuildError::InvalidRate { .. }), "{rate}: {error:?}");
        }
        for (items, rate) in [(usize::MAX, 0.01), (1 << 62, 1e-7)] {
            let error = Fit::smallest(fixed(items, Some(rate))).err();
            assert_eq!(error, Some(BuildError::CapacityOverflow { capacity: items }));
        }
        let error = Fit::smallest(fixed(1 << 20, Some(1e-12))).err();
        let reached = Fit::of::<Fp32x2>(fixed(1 << 20, None)).unwrap().rate;
        let expected = BuildError::RateOutOfReach { rate: 1e-12, reached, layout: None };
        assert_eq!(error, Some(expected));
    }

    /// A fixed layout that cannot reach the rate names the smallest that can.
    #[test]
    fn an_error_names_the_layout_that_does() {
        let error = Fit::within::<Fp8x8>(fixed(10_000, Some(0.0001))).err().unwrap();
        let reached = Fit::of::<Fp8x8>(fixed(10_000, None)).unwrap().rate;
        let layout = Some("SemiSorted17x4");
        assert_eq!(error, BuildError::RateOutOfReach { rate: 0.0001, reached, layout });
        assert!(error.to_string().ends_with(": SemiSorted17x4 reaches it"), "{error}");
        assert!(Fit::within::<SemiSorted17x4>(fixed(10_000, Some(0.0001))).is_ok());

        let error = Fit::within::<Fp16x4>(fixed(10_000, Some(1e-12))).err().unwrap();
        assert!(matches!(error, BuildError::RateOutOfReach { layout: None, .. }), "{error:?}");
    }

    /// The largest table has nearly 2^44 slots, whatever its layout.
    #[test]
    fn no_table_is_larger_than_its_counters_count() {
        fn check<L: Layout>() {
            let (mut fits, mut too_many) = (0, usize::MAX);
            while too_many - fits > 1 {
                let items = usize::midpoint(fits, too_many);
                match buckets_for::<L>(items, L::LOAD) {
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
        let stated = false_positive_rate::<Fp8x8>(8.0 * 0.5);
        assert!((stated / predicted - 1.0).abs() < 1e-9, "{stated}, {predicted}");
    }
}
