//! Builds a filter from what the user wants: items, a rate, a layout, a hasher.

use core::fmt;
use core::marker::PhantomData;

use crate::error::BuildError;
use crate::filter::CuckooFilter;
use crate::hasher::DefaultHashBuilder;
use crate::layout::Fp16x4;
use crate::sizing::Wanted;
use crate::storage::sealed::Layouts;
use crate::storage::{AnyLayout, FixedStorage, Growable, LayoutsOf, Storage};

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
pub struct Builder<L = Fp16x4, S = DefaultHashBuilder> {
    wanted: Wanted,
    hasher: Hasher<S>,
    layout: PhantomData<L>,
}

/// The hasher of the filters of a builder.
#[derive(Clone)]
enum Hasher<S> {
    /// A new one for each filter: two filters from a cloned builder have different seeds.
    New(fn() -> S),
    /// The one that was given.
    Given(S),
}

// Not derived: what the filter stands on need not be `Clone`.
impl<L, S: Clone> Clone for Builder<L, S> {
    fn clone(&self) -> Self {
        Self { wanted: self.wanted, hasher: self.hasher.clone(), layout: PhantomData }
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        let hasher = Hasher::New(DefaultHashBuilder::default);
        let wanted = Wanted { capacity: 0, max_capacity: None, rate: None };
        Self { wanted, hasher, layout: PhantomData }
    }
}

impl<L: Storage, S> Builder<L, S> {
    /// How many distinct items the filter must hold, or with
    /// [`max_capacity`](Self::max_capacity) how many it holds before it grows. The default is 0, the
    /// smallest table.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.capacity(), 1000);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn capacity(self, items: usize) -> Self {
        Self { wanted: Wanted { capacity: items, ..self.wanted }, ..self }
    }

    /// The highest share of false positives, between 0 and 1, that is acceptable when the filter
    /// holds its capacity, or its [greatest](Self::max_capacity) if it grows. Where the layout cannot reach it, [`build`](Self::build) fails and names
    /// one that can; with [`any_layout`](Self::any_layout) the smallest of those is chosen. The
    /// default is the rate that the layout has.
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
        Self { wanted: Wanted { rate: Some(rate), ..self.wanted }, ..self }
    }

    /// The hasher of the items, in place of a fast one with a random seed of its own for each
    /// filter.
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
        let hasher = Hasher::Given(hasher);
        Builder { wanted: self.wanted, hasher, layout: PhantomData }
    }

    fn stand_on<M: Storage>(self) -> Builder<M, S> {
        Builder { wanted: self.wanted, hasher: self.hasher, layout: PhantomData }
    }

    /// The filter, empty.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a rate outside (0, 1), for a rate or a growth that the layout cannot reach,
    /// and for a capacity whose table is too large or cannot be allocated.
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
        let table = LayoutsOf::<L>::try_build(self.wanted)?;
        let hasher = match self.hasher {
            Hasher::New(new) => new(),
            Hasher::Given(hasher) => hasher,
        };
        let Wanted { capacity, max_capacity, .. } = self.wanted;
        Ok(CuckooFilter::from_parts(table, hasher, [capacity, max_capacity.unwrap_or(capacity)]))
    }
}

/// What the filter stands on, if it is of fixed size so far.
impl<L: FixedStorage, S> Builder<L, S> {
    /// Another [`Layout`](crate::Layout) of the buckets than [`Fp16x4`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp12x5};
    ///
    /// // 13 bits per item and 0.24 % false positives.
    /// let filter = CuckooFilter::builder().layout::<Fp12x5>().capacity(1000).build()?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn layout<M: FixedStorage>(self) -> Builder<M, S> {
        self.stand_on()
    }

    /// The smallest layout that reaches the rate, chosen by [`build`](Self::build). See
    /// [`AnyLayout`] for what it chooses and what the choice costs.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(10_000).any_layout();
    /// let filter = builder.clone().false_positive_rate(0.01).build()?;
    /// assert_eq!(filter.layout_name(), "Fp12x5");
    /// let filter = builder.false_positive_rate(0.000_01).build()?;
    /// assert_eq!(filter.layout_name(), "Fp21x3");
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn any_layout(self) -> Builder<AnyLayout, S> {
        self.stand_on()
    }

    /// A filter that grows: from room for the [`capacity`](Self::capacity) to room for this many
    /// distinct items, one or more times as many. The
    /// [rate](Self::false_positive_rate) holds at this number; with fewer items it is lower in
    /// proportion.
    ///
    /// A doubling costs a bit of each fingerprint. A layout with fingerprints of f bits doubles up
    /// to f - 6 times: ten times with the default layout, so that a filter for a million items starts
    /// with room for a thousand. Where the layout cannot, [`build`](Self::build) names one that can,
    /// and the lowest first capacity from which this one could.
    ///
    /// The address space for the greatest size is asked for at once; the operating system provides
    /// memory for what is in use. See [growth](crate#growth).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{BuildError, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000);
    /// let filter = builder.clone().max_capacity(1_000_000).build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000);
    /// assert!(filter.memory_bytes() < filter.reserved_bytes() / 10);
    ///
    /// let error = builder.max_capacity(1_000_000_000).build().unwrap_err();
    /// let BuildError::GrowthOutOfReach { layout, first_capacity, .. } = error else { panic!() };
    /// assert_eq!(layout, Some("Fp32x2"));
    /// assert!((900_000..1_000_000).contains(&first_capacity.unwrap()));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> Builder<Growable<L>, S> {
        self.stand_on::<Growable<L>>().max_capacity(items)
    }
}

/// What the filter stands on, if it grows.
impl<L: FixedStorage, S> Builder<Growable<L>, S> {
    /// As for a filter of fixed size: another layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp32x2};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000).max_capacity(1_000_000_000);
    /// let filter = builder.layout::<Fp32x2>().build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000_000);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn layout<M: FixedStorage>(self) -> Builder<Growable<M>, S> {
        self.stand_on()
    }

    /// As for a filter of fixed size: the smallest layout that grows so far, and reaches the rate
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(100_000).max_capacity(10_000_000);
    /// let filter = builder.false_positive_rate(0.001).any_layout().build()?;
    /// assert_eq!(filter.layout_name(), "Fp21x3");
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn any_layout(self) -> Builder<Growable<AnyLayout>, S> {
        self.stand_on()
    }

    /// Another greatest capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().max_capacity(1000);
    /// assert_eq!(builder.max_capacity(100).build()?.max_capacity(), 100);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> Self {
        Self { wanted: Wanted { max_capacity: Some(items), ..self.wanted }, ..self }
    }
}

impl<L: Storage, S> fmt::Debug for Builder<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("layout", &LayoutsOf::<L>::NAME)
            .field("capacity", &self.wanted.capacity)
            .field("max_capacity", &self.wanted.max_capacity)
            .field("false_positive_rate", &self.wanted.rate)
            .finish_non_exhaustive()
    }
}
