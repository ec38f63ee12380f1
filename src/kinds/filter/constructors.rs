//! The part of the builder that only filters have, and the constructors, which set one or two of its options.
//!
//! **Invariant:** a constructor builds the same filter as the builder with the same options.

use super::{AnyCuckooFilter, CuckooFilter, Filter, GrowableCuckooFilter};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Figures, built};
use crate::layout::{Fp16x4, Layout};
use crate::sizing::Request;
use crate::storage::{Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::NoValues;

/// The same as [`CuckooFilter::builder`].
impl Default for Builder {
    fn default() -> Self {
        Self::with_request(Request::default())
    }
}

/// Items with several copies, in a filter of fixed size.
impl<L: Layout, S> Builder<Fixed<L>, S> {
    /// Sets the number of copies that each item has, for a multiset: from 1, the default, to four times the slots of a
    /// bucket of the [layout](crate::Layout).
    ///
    /// The two buckets of an item must have room for all its copies. So the table gets more free slots: it holds its
    /// [capacity](Self::capacity), counted in copies, at a lower load. Without this call, a filter of items with three
    /// copies each [stashes](crate#the-stash) one copy in nine. (This call does the same as
    /// [`values_per_key`](Self::values_per_key) of a maplet.)
    ///
    /// A growing filter has no such setting: its number of free slots follows from its [target
    /// load](Builder::target_load), not from a capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(30_000).copies_per_item(3).build()?;
    /// for item in 0..10_000 {
    ///     filter.insert_all([item; 3])?;
    /// }
    /// assert_eq!(filter.count(&7), 3);
    /// assert!(filter.stats().stashed_copies < 300);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn copies_per_item(mut self, copies: u32) -> Self {
        self.request.values_per_key = Some(copies);
        self
    }
}

/// Building a filter.
impl<L: Storage, S> Builder<L, S> {
    /// Builds an empty filter.
    ///
    /// # Errors
    ///
    /// [`Error::NoCapacity`], [`Error::InvalidRate`], [`Error::RateOutOfReach`], [`Error::TargetLoadOutOfRange`],
    /// [`Error::MaxCapacityTooLow`], [`Error::CapacityOverflow`], [`Error::BudgetTooSmall`],
    /// [`Error::ValuesPerKeyOutOfRange`] for [`copies_per_item`](Builder::copies_per_item), and [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// assert!(CuckooFilter::builder().capacity(1000).build().is_ok());
    /// assert_eq!(CuckooFilter::builder().build().unwrap_err(), Error::NoCapacity);
    /// let error = CuckooFilter::builder().false_positive_rate(1.5).build().unwrap_err();
    /// assert_eq!(error, Error::InvalidRate);
    /// ```
    pub fn build(self) -> Result<Filter<L, S>, Error> {
        self.build_inner(size_of::<Filter<L, S>>()).map(|inner| Filter { inner })
    }

    /// Returns the figures of the filter that [`build`](Self::build) would build, when it holds `items` items. It
    /// allocates nothing.
    ///
    /// # Errors
    ///
    /// The errors of [`build`](Self::build), except [`Error::OutOfMemory`]. If `items` is more than the filter holds:
    /// [`Error::AboveCapacity`], or [`Error::AboveMaxCapacity`] for a growing filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let builder = GrowableCuckooFilter::builder();
    /// let [few, many] = [1_000_000, 1_000_000_000].map(|items| builder.figures(items));
    /// assert!(many?.memory_bytes > 2_600_000_000);
    /// assert!(few?.false_positive_rate < 0.0025);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn figures(&self, items: usize) -> Result<Figures, Error> {
        self.figures_of::<NoValues>(items, size_of::<Filter<L, S>>())
    }
}

/// Constructors. For all other options use the [builder](CuckooFilter::builder).
impl CuckooFilter {
    /// Builds an empty filter that holds `items` items, copies included, with the default layout and hasher.
    ///
    /// For another layout, use the [builder](Self::builder):
    /// `CuckooFilter::builder().layout::<Fp12x5>().capacity(items).build()`. `with_capacity` has no layout parameter,
    /// because Rust could not infer it, and every call would have to name it.
    ///
    /// # Panics
    ///
    /// If the items need more than 2^44 slots. It aborts, as `Vec` does, if the allocator fails.
    /// `CuckooFilter::builder().capacity(items).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1000);
    /// assert_eq!(filter.capacity(), 1000);
    /// assert!(filter.is_empty());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(items: usize) -> Self {
        Self::with_capacity_and_hasher(items, DefaultHashBuilder::default())
    }

    /// Returns a builder, for all other options: a false-positive rate, another layout or hasher, and an error in place
    /// of a panic. For a filter that grows, begin with [`GrowableCuckooFilter::builder`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.len(), 0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl<S> CuckooFilter<Fp16x4, S> {
    /// Builds a filter as [`with_capacity`](CuckooFilter::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// The same as [`with_capacity`](CuckooFilter::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, RandomState::new());
    /// assert!(filter.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(items: usize, hasher: S) -> Self {
        built(CuckooFilter::builder().capacity(items).hasher(hasher).build())
    }
}

impl AnyCuckooFilter {
    /// Builds an empty filter that holds `items` items, copies included, with the smallest layout that reaches the
    /// false-positive rate `rate` (between 0 and 1): when the filter holds these items, it reports at most this share
    /// of absent items as present. See [`AnyLayout`](crate::AnyLayout).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRate`], [`Error::RateOutOfReach`] if no layout reaches the rate, [`Error::CapacityOverflow`],
    /// and [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{AnyCuckooFilter, CuckooFilter};
    ///
    /// let filter: AnyCuckooFilter = CuckooFilter::with_capacity_and_rate(10_000, 0.01)?;
    /// assert_eq!(filter.capacity(), 10_000);
    /// assert!(filter.false_positive_rate() <= 0.01);
    /// assert!(CuckooFilter::with_capacity_and_rate(10_000, 1e-12).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn with_capacity_and_rate(items: usize, rate: f64) -> Result<Self, Error> {
        CuckooFilter::builder().capacity(items).false_positive_rate(rate).any_layout().build()
    }
}

impl GrowableCuckooFilter {
    /// Builds an empty filter that grows with its items, with the default layout and hasher. No size is needed.
    ///
    /// It begins with 512 slots, and takes 2 KB: see [growth](crate#growth). For a maximum or another layout, use the
    /// [builder](Self::builder).
    ///
    /// # Panics
    ///
    /// Never. It aborts, as `Vec` does, if the allocator cannot provide these 2 KB.
    /// `GrowableCuckooFilter::builder().build()` returns an error instead. If the allocator fails later,
    /// [`insert`](Self::insert) returns [`Error::NoMemoryToStore`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::new();
    /// filter.insert_all(0..100_000)?;
    /// assert_eq!(filter.len(), 100_000);
    /// assert!(filter.load_factor() > 0.73);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self::with_hasher(DefaultHashBuilder::default())
    }

    /// Builds an empty filter that has room for `items` items before it grows, with the default layout and hasher.
    ///
    /// # Panics
    ///
    /// If the items need more than 2^44 slots. It aborts, as `Vec` does, if the allocator fails.
    /// `GrowableCuckooFilter::builder().capacity(items).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::with_capacity(10_000);
    /// let slots = filter.slots();
    /// filter.insert_all(0..10_000)?;
    /// assert_eq!(filter.slots(), slots);
    /// filter.insert_all(0..10_000)?;
    /// assert!(filter.slots() > slots);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(items: usize) -> Self {
        Self::with_capacity_and_hasher(items, DefaultHashBuilder::default())
    }

    /// Returns a builder of growing filters, for all other options: a maximum, a false-positive rate, another layout or
    /// hasher, and an error in place of a panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::builder().max_capacity(1_000_000).build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> Builder<Growable<Fp16x4>> {
        Builder::with_request(Request::default())
    }
}

impl<S> GrowableCuckooFilter<Fp16x4, S> {
    /// Builds a filter as [`new`](GrowableCuckooFilter::new) does, with this hasher.
    ///
    /// # Panics
    ///
    /// Never, as [`new`](GrowableCuckooFilter::new). It aborts if the allocator fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::with_hasher(RandomState::new());
    /// assert!(filter.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_hasher(hasher: S) -> Self {
        built(GrowableCuckooFilter::builder().hasher(hasher).build())
    }

    /// Builds a filter as [`with_capacity`](GrowableCuckooFilter::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// The same as [`with_capacity`](GrowableCuckooFilter::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::with_capacity_and_hasher(1000, RandomState::new());
    /// assert!(filter.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(items: usize, hasher: S) -> Self {
        built(GrowableCuckooFilter::builder().capacity(items).hasher(hasher).build())
    }
}

/// The same as [`GrowableCuckooFilter::new`], with any layout that can grow, and with the default value of any hasher.
///
/// # Examples
///
/// ```
/// use std::hash::RandomState;
/// use coucal::{Fp21x3, GrowableCuckooFilter};
///
/// let filter: GrowableCuckooFilter<Fp21x3, RandomState> = Default::default();
/// assert!(filter.is_empty());
/// ```
// Not written with the alias: the record of the interface would omit it.
impl<L: GrowingLayout, S: Default> Default for Filter<Growable<L>, S> {
    fn default() -> Self {
        let builder = GrowableCuckooFilter::builder().layout::<L>();
        built(builder.hasher(S::default()).build())
    }
}
