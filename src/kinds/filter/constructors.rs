//! What the builder of filters has beside what all builders have; and the constructors for those who choose little of it.
//!
//! **Invariant:** a constructor makes what the builder makes of the same choices.

use super::{AnyCuckooFilter, CuckooFilter, Filter, GrowableCuckooFilter};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Figures, built};
use crate::layout::{Fp16x4, Layout};
use crate::sizing::Request;
use crate::storage::{Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::NoValues;

/// As [`CuckooFilter::builder`].
impl Default for Builder {
    fn default() -> Self {
        Self::with_request(Request::default())
    }
}

/// Items with several copies, in a filter of fixed size.
impl<L: Layout, S> Builder<Fixed<L>, S> {
    /// How many copies an item has, for a multiset of items with several: from 1, which is the default, to four times
    /// the slots of a bucket of the [layout](crate::Layout).
    ///
    /// As [`values_per_key`](Self::values_per_key) of a maplet: the two buckets of an item must have room for all its
    /// copies, so the table gets more free slots, and the [capacity](Self::capacity), in copies, is met at a lower load.
    /// Without it, a filter for items with three copies [stashes](crate#what-finds-no-room) one copy in nine. A filter that
    /// grows goes by its [target load](Self::target_load) and not by a capacity: for it, this is an error.
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

/// What is built: a filter.
impl<L: Storage, S> Builder<L, S> {
    /// Builds an empty filter.
    ///
    /// # Errors
    ///
    /// [`Error::NoCapacity`], [`Error::InvalidRate`], [`Error::RateOutOfReach`], [`Error::TargetLoadOutOfRange`],
    /// [`Error::MaxCapacityTooLow`], [`Error::CapacityOverflow`], [`Error::BudgetTooSmall`], [`Error::NoSuchLayout`]
    /// for one that is named and cannot grow, [`Error::ValuesPerKeyOutOfRange`] for
    /// [`copies_per_item`](Self::copies_per_item), and [`Error::OutOfMemory`].
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

    /// What [`build`](Self::build) would build, when it holds this number of items. It allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except [`Error::OutOfMemory`]; and [`Error::AboveCapacity`], or
    /// [`Error::AboveMaxCapacity`] if it grows, for more items than the filter holds.
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

/// Growth of a filter.
impl<L: GrowingLayout, S> Builder<Fixed<L>, S> {
    /// A filter that [grows](crate#growth) with its items, as one that is [`growable`](Self::growable), but only
    /// up to this number of items, which is at least the [`capacity`](Self::capacity). The
    /// [rate](Self::false_positive_rate) holds at this number; with fewer items it is lower.
    ///
    /// The capacity may be left out. Then a filter begins with 128 buckets, or with what this maximum needs if that
    /// is less. A larger capacity takes fewer doublings, and so makes the rate
    /// at the maximum lower; [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at) tells it.
    ///
    /// `build` allocates the table for the first size, and growth the rest, part by part.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1000).max_capacity(1_000_000).build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000);
    /// assert!(filter.memory_bytes() < 60_000);
    ///
    /// let filter = CuckooFilter::builder().max_capacity(1_000_000_000).build()?;
    /// assert_eq!(filter.slots(), 512);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> Builder<Growable<L>, S> {
        self.with_growth(Some(items))
    }

    /// A filter that [grows](crate#growth) with its items, as far as memory goes, or to 2^44 slots.
    ///
    /// Nothing needs to be said of its size. With a [`capacity`](Self::capacity) it begins with room for this number
    /// of items, and with a [`max_capacity`](Self::max_capacity) it ends with room for that.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().growable().build()?;
    /// assert!(filter.memory_bytes() < 48 << 10);
    /// for item in 0..100_000 {
    ///     filter.insert(&item)?;
    /// }
    /// assert_eq!(filter.len(), 100_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn growable(self) -> Builder<Growable<L>, S> {
        self.with_growth(None)
    }
}

/// Constructors: for all else there is the [builder](CuckooFilter::builder).
impl CuckooFilter {
    /// An empty filter that holds `items` items, copies included, with the default layout and hasher.
    ///
    /// For another layout, use the [builder](Self::builder):
    /// `CuckooFilter::builder().layout::<Fp12x5>().capacity(items).build()`. `with_capacity` has no
    /// layout parameter: Rust could not infer it, and every call would have to name it.
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

    /// A builder, for a filter that grows, for a false-positive rate, for another layout or another hasher, and for an
    /// error in place of a panic.
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
    /// As [`with_capacity`](CuckooFilter::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](CuckooFilter::with_capacity).
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
    /// An empty filter that holds `items` items, copies included, and, when it holds them, reports at most the
    /// share `rate` (between 0 and 1) of absent items as present. It has the smallest layout that
    /// reaches this rate: see [`AnyLayout`](crate::AnyLayout).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRate`], [`Error::RateOutOfReach`] for a rate that no layout reaches,
    /// [`Error::CapacityOverflow`], and [`Error::OutOfMemory`].
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
    /// An empty filter that grows with its items, with the default layout and hasher. No size is needed.
    ///
    /// It begins with 512 slots, and takes 2 KB: see [growth](crate#growth). For a maximum or another layout, use the
    /// [builder](Self::builder).
    ///
    /// # Panics
    ///
    /// Never. It aborts, as `Vec` does, if the allocator cannot provide these first bytes:
    /// `GrowableCuckooFilter::builder().build()` returns an error instead. Where the allocator fails later,
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

    /// An empty filter that has room for `items` items before it grows, with the default layout and hasher.
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

    /// A builder of filters that grow: for a maximum, a false-positive rate, another layout or another hasher, and for an
    /// error in place of a panic.
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
        CuckooFilter::builder().growable()
    }
}

impl<S> GrowableCuckooFilter<Fp16x4, S> {
    /// As [`new`](GrowableCuckooFilter::new), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`new`](GrowableCuckooFilter::new): never, but it aborts if the allocator fails.
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

    /// As [`with_capacity`](GrowableCuckooFilter::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](GrowableCuckooFilter::with_capacity).
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

/// As [`GrowableCuckooFilter::new`], with any layout that can grow, and the default of any hasher.
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
impl<L: GrowingLayout, S: Default> Default for GrowableCuckooFilter<L, S> {
    fn default() -> Self {
        let builder = GrowableCuckooFilter::builder().layout::<L>();
        built(builder.hasher(S::default()).build())
    }
}
