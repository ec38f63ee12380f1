//! From what the user wants (items, a rate) to a layout and a number of buckets. Pure functions.

use crate::error::BuildError;
use crate::layout::sealed::Sealed;
use crate::layout::{self, Fp16x4, Layout, LayoutId};
use crate::table::MAX_STRIPES;

/// The maximum number of slots of a table, just below 2^44: each stripe counts its slots in use with 32
/// bits, and some stripes have one bucket more than the others.
const MAX_SLOTS: usize = MAX_STRIPES * (u32::MAX as usize - layout::MAX_SLOTS);

/// Of 5 million small tables filled to their capacity, at most one has a pair of buckets that is
/// crowded in the sense of [`crowds`].
const TABLES: f64 = 5e6;

/// The minimum number of rows of a growing table: fewer rows have too few pairs.
const MIN_ROWS: usize = 32;
/// Bits of a fingerprint that growth does not use: they choose among the alternates of a row.
const ALTERNATE_BITS: u32 = 6;

/// What the user wants.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The number of distinct items that the filter holds; for a growing filter, before it grows.
    pub(crate) capacity: usize,
    /// The number of distinct items that a growing filter holds at its maximum size.
    pub(crate) max_capacity: Option<usize>,
    /// The highest acceptable false-positive rate of a filter that holds all these items.
    pub(crate) rate: Option<f64>,
}

/// The table that a layout needs for a request, and its false-positive rate.
#[derive(Clone, Copy)]
pub(crate) struct Sizing {
    pub(crate) layout: LayoutId,
    pub(crate) rows: usize,
    /// The maximum number of buckets; that of the rows in a table of fixed size.
    pub(crate) buckets: usize,
    /// The false-positive rate of a table that holds all items of the request.
    pub(crate) rate: f64,
}

impl Sizing {
    /// The sizing of `L`, whatever its rate.
    fn of<L: Layout>(request: Request) -> Result<Self, BuildError> {
        let Request { capacity, max_capacity, .. } = request;
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
            return Err(request.out_of_reach(None, None));
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

    /// The sizing of `L`, or an error if its rate is too high.
    pub(crate) fn within<L: Layout>(request: Request) -> Result<Self, BuildError> {
        validate_rate(request.rate)?;
        let reached = match Self::of::<L>(request) {
            Ok(sizing) if sizing.reaches(request.rate) => return Ok(sizing),
            Ok(sizing) => sizing.rate,
            Err(BuildError::GrowthOutOfReach { .. }) => f64::INFINITY,
            Err(error) => return Err(error),
        };
        let layout = match Self::smallest(request) {
            Ok(sizing) => Some(sizing.layout.name()),
            Err(error @ BuildError::CapacityOverflow { .. }) => return Err(error),
            Err(_) => None,
        };
        Err(match request {
            Request { max_capacity: None, rate: Some(rate), .. } => {
                BuildError::RateOutOfReach { rate, reached, layout }
            }
            _ => request.out_of_reach(layout, Self::first_capacity::<L>(request)),
        })
    }

    /// The sizing of the layout with the smallest table that reaches the rate; without a rate, among
    /// the layouts whose fingerprints are no shorter than the default layout's. If two tables have the
    /// same size, the layout with the shorter fingerprints is chosen: the other is no faster.
    pub(crate) fn smallest(request: Request) -> Result<Self, BuildError> {
        validate_rate(request.rate)?;
        let sizings = || Self::of_each_layout(request).into_iter().flatten();
        let reach = |sizing: &Self| match request.rate {
            Some(rate) => sizing.rate <= rate,
            None => sizing.layout as u8 >= Fp16x4::ID as u8,
        };
        if let Some(sizing) = sizings().filter(reach).min_by_key(|sizing| sizing.buckets) {
            return Ok(sizing);
        }
        // A layout whose table is too large might have reached the rate.
        for sizing in Self::of_each_layout(request) {
            match sizing {
                Ok(_) | Err(BuildError::GrowthOutOfReach { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(match request {
            Request { max_capacity: None, rate: Some(rate), .. } => {
                let reached = sizings().map(|sizing| sizing.rate).fold(f64::INFINITY, f64::min);
                BuildError::RateOutOfReach { rate, reached, layout: None }
            }
            _ => request.out_of_reach(None, Self::first_capacity_of_any_layout(request)),
        })
    }

    /// The allocator could not provide the first words of the table.
    pub(crate) fn out_of_memory(self) -> BuildError {
        BuildError::OutOfMemory { bytes: self.rows * size_of::<u64>() }
    }

    /// The sizing of a layout, whatever its rate.
    pub(crate) fn of_layout(layout: LayoutId, request: Request) -> Result<Self, BuildError> {
        macro_rules! dispatch {
            ($($layout:ident)*) => {
                match layout {
                    $(LayoutId::$layout => Self::of::<layout::$layout>(request),)*
                }
            };
        }
        crate::__for_each_layout!(dispatch)
    }

    /// The sizing of each layout, in ascending order of fingerprint length.
    fn of_each_layout(request: Request) -> impl IntoIterator<Item = Result<Self, BuildError>> {
        macro_rules! sizings {
            ($request:ident $($layout:ident)*) => {
                [$(Self::of::<layout::$layout>($request)),*]
            };
        }
        crate::__for_each_layout!(sizings request)
    }

    fn first_capacity_of_any_layout(request: Request) -> Option<usize> {
        macro_rules! firsts {
            ($request:ident $($layout:ident)*) => {
                [$(Self::first_capacity::<layout::$layout>($request)),*]
            };
        }
        crate::__for_each_layout!(firsts request).into_iter().flatten().min()
    }

    /// The lowest initial capacity from which `L` grows to the requested maximum, at the requested rate.
    fn first_capacity<L: Layout>(request: Request) -> Option<usize> {
        let most = request.max_capacity?;
        let reaches = |capacity| {
            Self::of::<L>(Request { capacity, ..request })
                .is_ok_and(|sizing| sizing.reaches(request.rate))
        };
        let (mut too_few, mut enough) = (request.capacity, reaches(most).then_some(most)?);
        while enough - too_few > 1 {
            let capacity = usize::midpoint(too_few, enough);
            *(if reaches(capacity) { &mut enough } else { &mut too_few }) = capacity;
        }
        Some(enough)
    }
}

impl Request {
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

/// The false-positive rate of a table with this number of items per row: a lookup compares the
/// fingerprints of two rows (Fan et al., CoNEXT 2014, section 5.1). In a grown table, it reads one
/// bucket of each row, and all fingerprints of the row that could be equal are in this bucket.
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

    fn fixed(capacity: usize, rate: Option<f64>) -> Request {
        Request { capacity, max_capacity: None, rate }
    }

    /// The sizing reaches any rate, and no layout with a smaller table does.
    #[test]
    fn the_smallest_that_reaches_the_rate() {
        for items in [0, 1, 4, 10, 100, 1000, 100_000] {
            for rate in (1..90).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
                let sizing = Sizing::smallest(fixed(items, Some(rate))).unwrap();
                assert!(sizing.rate <= rate);
                for other in Sizing::of_each_layout(fixed(items, None)).into_iter().flatten() {
                    let smaller = other.buckets < sizing.buckets;
                    assert!(!smaller || other.rate > rate, "{} for {items}, {rate}", other.layout);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_an_error() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = Sizing::smallest(fixed(100, Some(rate))).err().unwrap();
            assert!(matches!(error, BuildError::InvalidRate { .. }), "{rate}: {error:?}");
        }
        for (items, rate) in [(usize::MAX, 0.01), (1 << 62, 1e-7)] {
            let error = Sizing::smallest(fixed(items, Some(rate))).err();
            assert_eq!(error, Some(BuildError::CapacityOverflow { capacity: items }));
        }
        let error = Sizing::smallest(fixed(1 << 20, Some(1e-12))).err();
        let reached = Sizing::of::<Fp32x2>(fixed(1 << 20, None)).unwrap().rate;
        let expected = BuildError::RateOutOfReach { rate: 1e-12, reached, layout: None };
        assert_eq!(error, Some(expected));
    }

    /// A fixed layout that cannot reach the rate names the smallest that can.
    #[test]
    fn an_error_names_the_layout_that_does() {
        let error = Sizing::within::<Fp8x8>(fixed(10_000, Some(0.0001))).err().unwrap();
        let reached = Sizing::of::<Fp8x8>(fixed(10_000, None)).unwrap().rate;
        let layout = Some("SemiSorted17x4");
        assert_eq!(error, BuildError::RateOutOfReach { rate: 0.0001, reached, layout });
        assert!(error.to_string().ends_with(": SemiSorted17x4 reaches it"), "{error}");
        assert!(Sizing::within::<SemiSorted17x4>(fixed(10_000, Some(0.0001))).is_ok());

        let error = Sizing::within::<Fp16x4>(fixed(10_000, Some(1e-12))).err().unwrap();
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
