//! From what the user wants (items, a rate, a hasher) to a geometry.

use core::fmt;
use core::marker::PhantomData;

use crate::any;
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
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.capacity(), 1000);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn capacity(self, items: usize) -> Self {
        Self { capacity: items, ..self }
    }

    /// The highest share of false positives, between 0 and 1, that is acceptable when the filter
    /// holds its capacity. [`build`](Self::build) fails where the layout cannot reach it, and names
    /// one that can; [`AnyCuckooFilter`](crate::AnyCuckooFilter) chooses it by itself. The default
    /// is whatever the layout has.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{BuildError, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000);
    /// assert!(builder.clone().false_positive_rate(0.001).build().is_ok());
    /// let error = builder.false_positive_rate(0.000_01).build().unwrap_err();
    /// assert!(matches!(error, BuildError::RateOutOfReach { layout: Some("Fp21x3"), .. }));
    /// ```
    pub fn false_positive_rate(self, rate: f64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// The hasher of the items, in place of a randomly seeded fast one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1000).hasher(RandomState::new()).build()?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn hasher<H>(self, hasher: H) -> Builder<L, H> {
        Builder { capacity: self.capacity, rate: self.rate, hasher, layout: PhantomData }
    }

    /// The layout of a bucket, in place of the one it has.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp12x5};
    ///
    /// // 13 bits an item and 0.24 % false positives.
    /// let filter = CuckooFilter::builder().layout::<Fp12x5>().capacity(1000).build()?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{BuildError, CuckooFilter};
    ///
    /// assert!(CuckooFilter::builder().build().is_ok());
    /// let error = CuckooFilter::builder().false_positive_rate(1.5).build().unwrap_err();
    /// assert_eq!(error, BuildError::InvalidRate { rate: 1.5 });
    /// ```
    pub fn build(self) -> Result<CuckooFilter<L, S>, BuildError> {
        let fit = Fit::of::<L>(self.capacity)?;
        if let Some(rate) = self.rate {
            check(rate)?;
            if fit.rate > rate {
                let layout = Some(any::smallest(self.capacity, rate)?.fit.layout);
                return Err(BuildError::RateOutOfReach { rate, reached: fit.rate, layout });
            }
        }
        Ok(CuckooFilter::from_parts(table(fit.buckets)?, self.hasher, self.capacity))
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

/// What a layout needs and gives for so many items.
pub(crate) struct Fit {
    pub(crate) layout: &'static str,
    pub(crate) buckets: usize,
    /// The share of false positives when the table holds these items.
    pub(crate) rate: f64,
}

impl Fit {
    pub(crate) fn of<L: Layout>(items: usize) -> Result<Self, BuildError> {
        let buckets = buckets_for::<L>(items)?;
        let rate = false_positive_rate::<L>(load(items, buckets * L::SLOTS));
        Ok(Self { layout: L::NAME, buckets, rate })
    }
}

/// An empty table.
pub(crate) fn table<L: Layout>(buckets: usize) -> Result<Table<L>, BuildError> {
    Table::try_new(buckets).ok_or(BuildError::OutOfMemory { bytes: buckets * size_of::<u64>() })
}

/// Whether a rate is one.
pub(crate) fn check(rate: f64) -> Result<(), BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(BuildError::InvalidRate { rate }) }
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

/// Of so many tables filled to their capacity, one or fewer is crowded in the sense of
/// [`crowded`].
const TABLES: f64 = 5e6;

/// The buckets of a table that holds so many distinct items.
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
    // No allocation is larger than `isize::MAX` bytes.
    if pairs > (isize::MAX as usize / (2 * size_of::<u64>())) as f64 {
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
