//! From what the user wants (items, a rate, a hasher) to a geometry.

use core::fmt;
use core::marker::PhantomData;

use crate::error::BuildError;
use crate::filter::CuckooFilter;
use crate::hasher::DefaultHashBuilder;
use crate::layout::{Fp16x4, Layout};
use crate::table::Table;

/// Builds a [`CuckooFilter`] step by step; made by [`CuckooFilter::builder`].
///
/// # Examples
///
/// ```
/// use std::hash::RandomState;
/// use coucal::CuckooFilter;
///
/// let filter = CuckooFilter::builder()
///     .capacity(10_000)
///     .false_positive_rate(0.001)
///     .hasher(RandomState::new())
///     .build()?;
/// assert_eq!(filter.capacity(), 10_000);
/// assert!(filter.insert(&7_u64).is_ok());
/// # Ok::<(), coucal::BuildError>(())
/// ```
#[must_use = "a builder builds nothing until `build` is called"]
#[derive(Clone)]
pub struct Builder<L = Fp16x4, S = DefaultHashBuilder> {
    capacity: usize,
    rate: Option<f64>,
    hasher: S,
    layout: PhantomData<L>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { capacity: 0, rate: None, hasher: DefaultHashBuilder::default(), layout: PhantomData }
    }
}

impl<L: Layout, S> Builder<L, S> {
    /// How many distinct items the filter must hold. The default is 0, the smallest table.
    pub fn capacity(self, items: usize) -> Self {
        Self { capacity: items, ..self }
    }

    /// The highest share of false positives, between 0 and 1, that is acceptable when the filter
    /// holds its capacity. [`build`](Self::build) fails where the layout cannot reach it. The
    /// default is whatever the layout has.
    pub fn false_positive_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// The hasher of the items, in place of a randomly seeded fast one.
    pub fn hasher<H>(self, hasher: H) -> Builder<L, H> {
        Builder { capacity: self.capacity, rate: self.rate, hasher, layout: PhantomData }
    }

    /// The layout of a bucket, in place of the one it has.
    pub fn layout<M: Layout>(self) -> Builder<M, S> {
        Builder {
            capacity: self.capacity,
            rate: self.rate,
            hasher: self.hasher,
            layout: PhantomData,
        }
    }

    /// The filter, empty.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a rate that is none or that the layout cannot reach, and for a capacity
    /// whose table cannot be addressed or allocated.
    pub fn build(self) -> Result<CuckooFilter<L, S>, BuildError> {
        let buckets = buckets_for::<L>(self.capacity)?;
        if let Some(rate) = self.rate {
            if !(rate > 0.0 && rate < 1.0) {
                return Err(BuildError::InvalidRate { rate });
            }
            let reached = false_positive_rate::<L>(load(self.capacity, buckets * L::SLOTS));
            if reached > rate {
                return Err(BuildError::RateOutOfReach { rate, reached });
            }
        }
        let table = Table::try_new(buckets)
            .ok_or(BuildError::OutOfMemory { bytes: buckets * size_of::<u64>() })?;
        Ok(CuckooFilter::from_parts(table, self.hasher, self.capacity))
    }
}

impl<L: Layout, S> fmt::Debug for Builder<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("layout", &L::NAME)
            .field("capacity", &self.capacity)
            .field("false_positive_rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// The share of slots in use.
pub(crate) fn load(items: usize, slots: usize) -> f64 {
    items as f64 / slots as f64
}

/// The share of absent items that a table of this load reports as present: a lookup compares
/// 2b·load fingerprints, each equal by chance once in 2^f (Fan et al., CoNEXT 2014, section 5.1).
pub(crate) fn false_positive_rate<L: Layout>(load: f64) -> f64 {
    let equal = (-f64::from(L::FINGERPRINT_BITS)).exp2();
    let compared = (2 * L::SLOTS) as f64 * load;
    -(compared * (-equal).ln_1p()).exp_m1()
}

/// The buckets of a table that holds so many distinct items.
///
/// Two buckets hold any items that they have slots for. In larger tables the first failed insert
/// comes at a load that scatters around a mean, the more so the smaller the table: a few items too
/// many may share one pair of buckets. So a table gets a fixed share of slack, and a share that
/// falls with its root.
fn buckets_for<L: Layout>(items: usize) -> Result<usize, BuildError> {
    let pair = 2 * L::SLOTS;
    if items <= pair {
        return Ok(2);
    }
    let n = items as f64;
    let pairs = ((n / L::LOAD + L::SCATTER * n.sqrt()) / pair as f64).ceil();
    // No allocation is larger than `isize::MAX` bytes.
    if pairs > (isize::MAX as usize / (2 * size_of::<u64>())) as f64 {
        return Err(BuildError::CapacityOverflow { capacity: items });
    }
    Ok(2 * pairs as usize)
}
