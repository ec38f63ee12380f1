//! Builds a filter from what the user wants: items, a rate, a layout, a hasher.

use core::fmt;
use core::marker::PhantomData;

use crate::error::BuildError;
use crate::filter::CuckooFilter;
use crate::hasher::DefaultHashBuilder;
use crate::layout::Fp16x4;
use crate::storage::{AnyLayout, Storage};

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

impl Builder {
    pub(crate) fn new() -> Self {
        let hasher = Hasher::New(DefaultHashBuilder::default);
        Self { capacity: 0, rate: None, hasher, layout: PhantomData }
    }
}

impl<L: Storage, S> Builder<L, S> {
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
    /// holds its capacity. Where the layout cannot reach it, [`build`](Self::build) fails and names
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
        Self { rate: Some(rate), ..self }
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
        Builder { capacity: self.capacity, rate: self.rate, hasher, layout: PhantomData }
    }

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
    pub fn layout<M: Storage>(self) -> Builder<M, S> {
        Builder {
            capacity: self.capacity,
            rate: self.rate,
            hasher: self.hasher,
            layout: PhantomData,
        }
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
        self.layout()
    }

    /// The filter, empty.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a rate outside (0, 1), for one that the layout cannot reach, and for a
    /// capacity whose table is too large or cannot be allocated.
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
        let table = L::try_build(self.capacity, self.rate)?;
        let hasher = match self.hasher {
            Hasher::New(new) => new(),
            Hasher::Given(hasher) => hasher,
        };
        Ok(CuckooFilter::from_parts(table, hasher, self.capacity))
    }
}

impl<L: Storage, S> fmt::Debug for Builder<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("layout", &L::NAME)
            .field("capacity", &self.capacity)
            .field("false_positive_rate", &self.rate)
            .finish_non_exhaustive()
    }
}
