//! What is asked of a filter (a number of items, a rate of false positives, a layout, a hasher), step by step, and the
//! table that is built for it. What a type of filters adds is beside the type, in its `constructors`.
//!
//! **Invariant:** nothing is allocated before all that is asked is known to fit together.

mod figures;

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

pub use self::figures::Figures;

use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::layout::{Fp16x4, Layout, LayoutId};
use crate::sizing::{self, Request, Sizing};
use crate::storage::operations::Inner;
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::State;
use crate::table::placing::entry::Values;

/// Builds a [`CuckooFilter`](crate::CuckooFilter) step by step; made by
/// [`CuckooFilter::builder`](crate::CuckooFilter::builder).
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
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// With [`Maplets`](crate::Maplets) for `T` it builds a [`CuckooMaplet`](crate::CuckooMaplet): see
/// [`MapletBuilder`](crate::MapletBuilder); and with [`Expiring`](crate::Expiring) an
/// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter): see [`ExpiringBuilder`](crate::ExpiringBuilder).
#[must_use = "a builder builds nothing until `build` is called"]
pub struct Builder<L = Fixed<Fp16x4>, S = DefaultHashBuilder, T = Filters> {
    pub(crate) request: Request,
    hasher: Hasher<S>,
    /// Of an expiring filter.
    pub(crate) expiry: Expiry,
    layout: PhantomData<(L, T)>,
}

/// What a [`Builder`] builds: a [`CuckooFilter`](crate::CuckooFilter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filters {}

/// What ends a generation, and how many there are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Expiry {
    /// 0 if their number was not said.
    pub(crate) generations: u32,
    pub(crate) period: Option<Duration>,
    /// How many new items a generation gets.
    pub(crate) items: Option<usize>,
    /// A clock that was given.
    pub(crate) now: Option<fn() -> Duration>,
    pub(crate) forgets_oldest: bool,
}

/// The hasher of the filters of a builder.
#[derive(Clone)]
enum Hasher<S> {
    /// A new one for each filter: two filters from a cloned builder have different seeds.
    New(fn() -> S),
    /// The one that was given.
    Given(S),
}

// Not derived: the storage need not be `Clone`.
impl<L, S: Clone, T> Clone for Builder<L, S, T> {
    fn clone(&self) -> Self {
        Self { hasher: self.hasher.clone(), ..*self }
    }
}

impl<L: Storage, T> Builder<L, DefaultHashBuilder, T> {
    pub(crate) fn with_request(request: Request) -> Self {
        let hasher = Hasher::New(DefaultHashBuilder::default);
        Self { request, hasher, expiry: Expiry::default(), layout: PhantomData }
    }
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// The number of items that the filter must hold, copies included. One of fixed size needs it, or
    /// [`memory_bytes`](Self::memory_bytes) or [`snapshot_bytes`](Self::snapshot_bytes) in its place.
    ///
    /// In a filter that [grows](Self::growable), the number that it must hold before it grows. Without it, or with 0, the
    /// table begins with 128 buckets, or with as many as the [`max_capacity`](Self::max_capacity) needs if these are
    /// fewer.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.capacity(), 1000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn capacity(mut self, items: usize) -> Self {
        self.request.capacity = Some(items as u64);
        self
    }

    /// The most memory that the table of the filter may take, in bytes, as [`Figures::memory_bytes`] counts it. Not in it
    /// are the [stash](crate#what-finds-no-room), which may take more than the table where many items have several copies,
    /// or keys several values, and the builder was [not told](Self::values_per_key); and a snapshot, which takes twice what the table does while
    /// it is made.
    ///
    /// In place of a [capacity](Self::capacity): the filter is built for as many items as there is room for. One that
    /// grows gets the [maximum](Self::max_capacity) that there is room for, unless it has one. Where the number of
    /// items is given as well, it must fit. With a [rate](Self::false_positive_rate) it may be built for fewer items
    /// than the memory has room for at this rate, in small tables most of all.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Error, GrowableCuckooFilter};
    ///
    /// let filter = CuckooFilter::builder().memory_bytes(1 << 20).build()?;
    /// assert!(filter.capacity() > 480_000 && filter.memory_bytes() <= 1 << 20);
    ///
    /// // As large, but it takes the memory as it fills up.
    /// let filter = GrowableCuckooFilter::builder().memory_bytes(1 << 20).build()?;
    /// assert!(filter.max_capacity() > 360_000 && filter.memory_bytes() < 64 << 10);
    ///
    /// let error = CuckooFilter::builder().capacity(1_000_000).memory_bytes(1 << 20).build().unwrap_err();
    /// assert!(matches!(error, Error::BudgetTooSmall { .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.request.memory_bytes = Some(bytes as u64);
        self
    }

    /// The most bytes that a [snapshot](crate#snapshots) of the filter may have, as [`Figures::snapshot_bytes`] counts
    /// them: of the packet, block or page in which it has to fit. Not in it are stashed items, of which each takes 16
    /// bytes: a filter of fixed size with distinct items has none, or very few.
    ///
    /// It takes the place of a [capacity](Self::capacity), as [`memory_bytes`](Self::memory_bytes) does, and the filter
    /// keeps both bounds if both are given.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().snapshot_bytes(1232).build()?; // of a UDP packet
    /// filter.insert_all(0..filter.capacity())?;
    /// assert!(filter.capacity() > 440);
    /// assert!(filter.snapshot()?.as_bytes().len() <= 1232);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn snapshot_bytes(mut self, bytes: usize) -> Self {
        self.request.snapshot_bytes = Some(bytes as u64);
        self
    }

    /// The highest acceptable false-positive rate, between 0 and 1, of a filter that holds as many
    /// items as its capacity; of a growing filter, its [maximum capacity](Self::max_capacity), or 2^40 items if it has
    /// none. If the layout cannot keep this rate, [`build`](Self::build) fails and names a layout that can; with
    /// [`any_layout`](Self::any_layout), `build` chooses the smallest such layout. The default is the
    /// rate of the layout.
    ///
    /// It is a promise that [merges](crate::CuckooFilter::merge) keep, too: one that would break it is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000);
    /// assert!(builder.clone().false_positive_rate(0.001).build().is_ok());
    /// let error = builder.false_positive_rate(0.000_01).build().unwrap_err();
    /// assert!(matches!(error, Error::RateOutOfReach { other: Some("Fp21x3"), .. }));
    /// ```
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.request.rate = Some(rate);
        self
    }

    /// The hasher of the items. By default, each filter has a fast hasher with its own random seed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1000).hasher(RandomState::new()).build()?;
    /// assert_eq!(filter.insert_if_absent("egg"), Ok(true));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn hasher<H>(self, hasher: H) -> Builder<L, H, T> {
        let hasher = Hasher::Given(hasher);
        Builder { request: self.request, hasher, expiry: self.expiry, layout: PhantomData }
    }

    fn with<M: Storage>(self, request: Request) -> Builder<M, S, T> {
        Builder { request, hasher: self.hasher, expiry: self.expiry, layout: PhantomData }
    }

    /// The layout of this type, in place of any that was named.
    fn with_layout<M: Storage>(self) -> Builder<M, S, T> {
        let request = Request { only: M::ONLY, ..self.request };
        self.with(request)
    }

    /// The layout with this name, chosen at run time.
    fn with_layout_named<M: Storage>(self, name: &str) -> Result<Builder<M, S, T>, Error> {
        let only = Some(sizing::layout_named(M::GROWS, name)?);
        let request = Request { only, ..self.request };
        Ok(self.with(request))
    }

    pub(crate) fn with_growth<M: Storage>(self, max_capacity: Option<usize>) -> Builder<M, S, T> {
        let max_capacity = max_capacity.map(|items| items as u64);
        let request = Request { grows: true, max_capacity, ..self.request };
        self.with(request)
    }

    /// The table, the hasher and the capacities of what is built.
    /// For what takes this number of bytes itself.
    pub(crate) fn build_inner<V: Values>(self, itself: usize) -> Result<Inner<L, V, S>, Error> {
        let (request, sizing) = self.sizing::<V>(itself)?;
        // Those of the first words.
        let bytes = sizing::in_address_space(sizing.initial.saturating_mul(8));
        let state = State::try_new(sizing).map_err(|_| Error::OutOfMemory { bytes })?;
        let state = state.with_promised_rate(request.rate);
        let hasher = match self.hasher {
            Hasher::New(new) => new(),
            Hasher::Given(hasher) => hasher,
        };
        let capacity = sizing::in_address_space(request.items());
        let Sizing { max_capacity, .. } = sizing;
        Ok(Inner { state, hasher, capacity, max_capacity })
    }
}

/// The storage of a filter of fixed size.
impl<L: Layout, S, T> Builder<Fixed<L>, S, T> {
    /// The [`Layout`](crate::Layout) of the buckets, [`Fp16x4`] by default.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp12x5};
    ///
    /// // 13 bits per item and 0.24 % false positives.
    /// let filter = CuckooFilter::builder().layout::<Fp12x5>().capacity(1000).build()?;
    /// assert_eq!(filter.insert_if_absent("egg"), Ok(true));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn layout<M: Layout>(self) -> Builder<Fixed<M>, S, T> {
        self.with_layout()
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
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn any_layout(self) -> Builder<Fixed<AnyLayout>, S, T> {
        self.with_layout()
    }

    /// The layout with this name, for one that is known at run time only: from a configuration, say.
    ///
    /// [`AnyLayout::NAMES`] has the names. They are those of the types in the table of [layouts](crate::Layout).
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchLayout`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{AnyCuckooFilter, CuckooFilter, Error};
    ///
    /// let builder = CuckooFilter::builder().layout_named("Fp12x5")?;
    /// let filter: AnyCuckooFilter = builder.capacity(10_000).build()?;
    /// assert_eq!(filter.layout_name(), "Fp12x5");
    /// let error = CuckooFilter::builder().layout_named("Fp7x9").unwrap_err();
    /// assert!(matches!(error, Error::NoSuchLayout { grows: false, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn layout_named(self, name: &str) -> Result<Builder<Fixed<AnyLayout>, S, T>, Error> {
        self.with_layout_named(name)
    }
}

/// The storage of a growing filter.
impl<L: GrowingLayout, S, T> Builder<Growable<L>, S, T> {
    /// The layout of the buckets, one of those that [can grow](GrowingLayout).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Fp32x2, GrowableCuckooFilter};
    ///
    /// let filter = GrowableCuckooFilter::builder().layout::<Fp32x2>().build()?;
    /// assert_eq!(filter.layout_name(), "Fp32x2");
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn layout<M: GrowingLayout>(self) -> Builder<Growable<M>, S, T> {
        self.with_layout()
    }

    /// The smallest layout that keeps the [rate](Self::false_positive_rate), chosen by [`build`](Self::build) among
    /// those that [can grow](GrowingLayout).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().capacity(100_000).max_capacity(10_000_000);
    /// let filter = builder.false_positive_rate(0.001).any_layout().build()?;
    /// assert_eq!(filter.layout_name(), "Fp21x3");
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn any_layout(self) -> Builder<Growable<AnyLayout>, S, T> {
        self.with_layout()
    }

    /// The layout with this name, one of those that [can grow](GrowingLayout), for one that is known at run time only:
    /// from a configuration, say.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchLayout`], also for the name of a layout that cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{AnyLayout, Error, GrowableCuckooFilter};
    ///
    /// let builder = GrowableCuckooFilter::builder().layout_named("Fp21x3")?;
    /// let filter: GrowableCuckooFilter<AnyLayout> = builder.build()?;
    /// assert_eq!(filter.layout_name(), "Fp21x3");
    /// let error = GrowableCuckooFilter::builder().layout_named("Fp8x8").unwrap_err();
    /// assert!(matches!(error, Error::NoSuchLayout { grows: true, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn layout_named(self, name: &str) -> Result<Builder<Growable<AnyLayout>, S, T>, Error> {
        self.with_layout_named(name)
    }

    /// Sets the maximum capacity, or replaces it.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().max_capacity(1000);
    /// assert_eq!(builder.max_capacity(100).build()?.max_capacity(), 100);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(mut self, items: usize) -> Self {
        self.request.max_capacity = Some(items as u64);
        self
    }

    /// Changes nothing: what has a [maximum capacity](Self::max_capacity) grows already.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().max_capacity(1000).growable().build()?;
    /// assert_eq!(filter.max_capacity(), 1000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn growable(self) -> Self {
        self
    }

    /// The share of slots in use that the filter keeps while it grows: from 0.5 to the highest of the
    /// [layout](Growable), a hundredth less in a maplet, to the nearest thousandth. The default is the one of the
    /// layout.
    ///
    /// A higher load takes less memory. A lower load makes inserts faster, since fewer of them must kick,
    /// and the false-positive rate lower, in proportion. In the default layout:
    ///
    /// | target load | bits per item | false positives at the first size | after nine doublings | time of an insert |
    /// |---|---|---|---|---|
    /// | 0.87, the highest | 18.4 | 0.022 % | 0.22 % | 1.7 |
    /// | 0.80 | 20.0 | 0.020 % | 0.20 % | 1 |
    /// | 0.75, the default | 21.3 | 0.019 % | 0.19 % | 0.82 |
    /// | 0.70 | 22.9 | 0.017 % | 0.18 % | 0.74 |
    ///
    /// (The last column was measured from 2^15 to 2^24 slots: `docs/performance/growth.csv` in the
    /// repository.)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(10_000).growable();
    /// let [dense, fast] = [0.87, 0.7].map(|load| builder.clone().target_load(load).build());
    /// assert!(dense?.slots() < fast?.slots());
    ///
    /// let error = builder.target_load(0.95).build().unwrap_err();
    /// assert!(matches!(error, Error::TargetLoadOutOfRange { max: 870, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn target_load(mut self, share: f64) -> Self {
        self.request.target_load = Some(sizing::thousandths(share));
        self
    }
}

impl<L: Storage, S, T> fmt::Debug for Builder<L, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = f.debug_struct("Builder");
        let Expiry { generations, period, items, .. } = self.expiry;
        if generations > 0 {
            printed
                .field("generations", &generations)
                .field("period", &period)
                .field("items", &items);
        } else if let Some(value_bits) = self.request.value_bits {
            printed.field("value_bits", &value_bits);
        }
        printed
            .field("layout", &self.request.only.map_or(L::Layout::NAME, LayoutId::name))
            .field("capacity", &self.request.capacity)
            .field("max_capacity", &self.request.max_capacity)
            .field("memory_bytes", &self.request.memory_bytes)
            .field("snapshot_bytes", &self.request.snapshot_bytes)
            .field("values_per_key", &self.request.values_per_key)
            .field("false_positive_rate", &self.request.rate)
            .field("target_load", &self.request.target_load.map(sizing::share))
            .finish_non_exhaustive()
    }
}

/// Returns what was built, where the caller returns no error: panics, in the line of the user's call.
#[track_caller]
pub(crate) fn built<T>(built: Result<T, Error>) -> T {
    // Not `unwrap_or_else`: the panic would be in the line of its closure.
    match built {
        Ok(built) => built,
        Err(error) => {
            if let Error::OutOfMemory { bytes } = error
                && let Ok(layout) = std::alloc::Layout::array::<u8>(bytes)
            {
                std::alloc::handle_alloc_error(layout);
            }
            panic!("{error}")
        }
    }
}
