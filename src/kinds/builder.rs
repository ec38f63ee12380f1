//! The builder: collects the options of a filter (number of items, false-positive rate, layout, hasher), and builds its
//! table. Options that only one type of filter has are beside that type, in its `constructors`.
//!
//! **Invariant:** nothing is allocated before all options are known to fit together.

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

/// Builds a [`CuckooFilter`](crate::CuckooFilter) step by step. [`CuckooFilter::builder`](crate::CuckooFilter::builder)
/// returns one. For a filter that grows, begin with
/// [`GrowableCuckooFilter::builder`](crate::GrowableCuckooFilter::builder).
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
/// [`MapletBuilder`](crate::MapletBuilder). With [`Expiring`](crate::Expiring) it builds an
/// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter): see [`ExpiringBuilder`](crate::ExpiringBuilder).
#[must_use = "a builder builds nothing until `build` is called"]
pub struct Builder<L = Fixed<Fp16x4>, S = DefaultHashBuilder, T = Filters> {
    pub(crate) request: Request,
    hasher: Hasher<S>,
    /// The options of an expiring filter.
    pub(crate) expiry: Expiry,
    layout: PhantomData<(L, T)>,
}

/// The type argument `T` of a [`Builder`] of [`CuckooFilter`](crate::CuckooFilter)s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filters {}

/// The number of generations, and the event that ends one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Expiry {
    /// 0 if the caller has not set it.
    pub(crate) generations: u32,
    pub(crate) period: Option<Duration>,
    /// The number of new items after which a generation ends.
    pub(crate) items: Option<usize>,
    /// The clock that the caller has set.
    pub(crate) now: Option<fn() -> Duration>,
    pub(crate) forgets_oldest: bool,
}

/// The source of the hasher of a built filter.
#[derive(Clone)]
enum Hasher<S> {
    /// A new hasher for each filter: two filters from a cloned builder have different seeds.
    New(fn() -> S),
    /// The hasher that the caller passed.
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
        let request = Request { grows: L::GROWS, only: L::ONLY, ..request };
        let hasher = Hasher::New(DefaultHashBuilder::default);
        Self { request, hasher, expiry: Expiry::default(), layout: PhantomData }
    }
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// Sets the number of items that the filter must hold, copies included. A filter of fixed size needs it, or
    /// [`memory_bytes`](Self::memory_bytes) or [`snapshot_bytes`](Self::snapshot_bytes) in its place.
    ///
    /// In a [growing](crate::GrowableCuckooFilter) filter, it is the number of items that the filter must hold before
    /// it grows. Without it, or with 0, the table begins with 128 buckets, or with fewer (at least 32) if the
    /// [`max_capacity`](Self::max_capacity) needs fewer. With [long values](crate::CuckooMaplet#layouts), it begins
    /// with a larger number of buckets, from which it can reach this maximum.
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

    /// Sets the maximum memory of the table of the filter, in bytes, as [`Figures::memory_bytes`] counts it. This
    /// maximum does not include:
    ///
    /// * The [stash](crate#the-stash). It may take more memory than the table if many items have several
    ///   copies, or keys have several values, and the builder was [not told](Self::values_per_key).
    /// * In a growing maplet or expiring filter, the counts of [doubled](crate::growth#doubled-entries) entries: up to
    ///   48 bytes for each value that has such an entry (72 after merges), and a few KB.
    /// * A snapshot. While it is taken, it needs twice the memory of the table.
    ///
    /// This call takes the place of a [capacity](Self::capacity): the filter is built for as many items as the memory
    /// has room for. A growing filter without a [maximum](Self::max_capacity) gets the maximum that the memory has room
    /// for. If you also give the number of items, the memory must have room for them. With a
    /// [rate](Self::false_positive_rate), the filter may be built for fewer items than the memory has room for at this
    /// rate, mostly in small tables.
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
    /// assert!(matches!(error, Error::BudgetTooSmall { budget: "memory_bytes", .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.request.memory_bytes = Some(bytes as u64);
        self
    }

    /// Sets the maximum number of bytes of a [snapshot](crate#snapshots) of the filter, as [`Figures::snapshot_bytes`]
    /// counts them: the size of the packet, block or page that must hold the snapshot. This maximum does not include:
    ///
    /// * Stashed items: 16 bytes each. A filter of fixed size with distinct items has none, or very few.
    /// * The counts of [doubled](crate::growth#doubled-entries) entries: up to 24 bytes in a growing filter. In a
    ///   growing maplet or expiring filter, 24 bytes for each value or generation that has such an entry.
    ///
    /// This call takes the place of a [capacity](Self::capacity), as [`memory_bytes`](Self::memory_bytes) does. If both
    /// are given, the filter keeps both bounds.
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

    /// Sets the highest acceptable false-positive rate, above 0 and below 1. A filter of fixed size keeps this rate up
    /// to its capacity. A growing filter keeps it up to its [maximum capacity](Self::max_capacity), or up to 2^40 items
    /// without a maximum. A [merge](crate::CuckooFilter::merge) that would exceed the rate returns an error.
    ///
    /// If the layout cannot keep this rate, [`build`](Self::build) returns [`Error::RateOutOfReach`], which names the
    /// smallest layout that can, if there is one. With [`any_layout`](Self::any_layout), `build` chooses this layout.
    /// The default is the rate of the layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000);
    /// assert!(builder.clone().false_positive_rate(0.001).build().is_ok());
    /// let error = builder.false_positive_rate(0.000_01).build().unwrap_err();
    /// assert!(matches!(error, Error::RateOutOfReach { layout: "Fp16x4", other: Some("Fp21x3"), .. }));
    /// ```
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.request.rate = Some(rate);
        self
    }

    /// Sets the hasher of the items. By default, each filter has a fast hasher with its own random seed.
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

    /// Selects this layout, that of the type `M` or one that is chosen at run time.
    fn with_layout<M: Storage>(self, only: Option<LayoutId>) -> Builder<M, S, T> {
        let request = Request { only, ..self.request };
        Builder { request, hasher: self.hasher, expiry: self.expiry, layout: PhantomData }
    }

    /// Selects the layout with this name, chosen at run time.
    fn with_layout_named<M: Storage>(self, name: &str) -> Result<Builder<M, S, T>, Error> {
        sizing::layout_named(M::GROWS, name).map(|only| self.with_layout(Some(only)))
    }

    /// Builds the table, and returns it with the hasher and the capacities. `itself` is the size of the built value, in
    /// bytes.
    pub(crate) fn build_inner<V: Values>(self, itself: usize) -> Result<Inner<L, V, S>, Error> {
        let (request, sizing) = self.sizing::<V>(itself)?;
        // The size of the first words.
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
    /// Sets the [`Layout`](crate::Layout) of the buckets. The default is [`Fp16x4`].
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
        self.with_layout(M::ID)
    }

    /// Lets [`build`](Self::build) choose the smallest layout that reaches the rate. [`AnyLayout`] says which layout it
    /// chooses, and what the choice costs.
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
        self.with_layout(None)
    }

    /// Sets the layout by its name, if you know the name only at run time: from a configuration, for example.
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
    /// Sets the layout of the buckets, one of those that [can grow](GrowingLayout).
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
        self.with_layout(M::ID)
    }

    /// Lets [`build`](Self::build) choose the smallest layout that keeps the [rate](Self::false_positive_rate), among
    /// those that [can grow](GrowingLayout). [`AnyLayout`] says which layout it chooses, also without a rate.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let builder = GrowableCuckooFilter::builder().capacity(100_000).max_capacity(10_000_000);
    /// let filter = builder.false_positive_rate(0.001).any_layout().build()?;
    /// assert_eq!(filter.layout_name(), "Fp21x3");
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn any_layout(self) -> Builder<Growable<AnyLayout>, S, T> {
        self.with_layout(None)
    }

    /// Sets the layout by its name, if you know the name only at run time: from a configuration, for example.
    ///
    /// [`AnyLayout::GROWING_NAMES`] has the names, those of the layouts that [can grow](GrowingLayout).
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

    /// Sets the maximum capacity: the number of items up to which the filter [grows](crate#growth). Without a maximum,
    /// it grows until memory ends, or up to 2^44 slots.
    ///
    /// The maximum must not be below the [`capacity`](Self::capacity): otherwise `build` returns
    /// [`Error::MaxCapacityTooLow`]. It stays with the filter, also if the filter is restored from a snapshot. The
    /// [rate](Self::false_positive_rate) holds at the maximum; with fewer items it is lower. A larger capacity means
    /// fewer doublings, and so a lower rate at the maximum.
    ///
    /// `build` allocates the table for the first size. Growth allocates the rest, part by part.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let builder = GrowableCuckooFilter::builder().max_capacity(1_000_000);
    /// let filter = builder.clone().capacity(1000).build()?;
    /// assert_eq!(filter.max_capacity(), 1_000_000);
    /// assert!(filter.memory_bytes() < 60_000);
    ///
    /// assert_eq!(builder.build()?.slots(), 512);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(mut self, items: usize) -> Self {
        self.request.max_capacity = Some(items as u64);
        self
    }

    /// Sets the target load: the share of slots in use that the filter keeps while it grows, rounded to the nearest
    /// thousandth. The lowest target load is 0.5. The highest depends on the [layout](Growable); in a maplet or an
    /// expiring filter it is 0.01 less. For any other number, `build` returns [`Error::TargetLoadOutOfRange`]. The
    /// default is the target load of the layout.
    ///
    /// A higher load takes less memory. A lower load makes inserts faster, because fewer of them must kick, and makes
    /// the false-positive rate lower, in proportion to the load. In the default layout:
    ///
    /// | target load | bits per item | false positives at the first size | after nine doublings | time of an insert, relative to 0.80 |
    /// |---|---|---|---|---|
    /// | 0.87, the highest | 18.4 | 0.022 % | 0.22 % | 1.7 |
    /// | 0.80 | 20.0 | 0.020 % | 0.20 % | 1 |
    /// | 0.75, the default | 21.3 | 0.019 % | 0.19 % | 0.80 |
    /// | 0.70 | 22.9 | 0.017 % | 0.18 % | 0.72 |
    ///
    /// (The last column was measured from 2^15 to 2^24 slots: `docs/performance/growth.csv` in the repository.)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, GrowableCuckooFilter};
    ///
    /// let builder = GrowableCuckooFilter::builder().capacity(10_000);
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
        if self.request.expires {
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

/// Returns the built value. If building failed, it panics in the line of the user's call, or aborts if memory ended:
/// for constructors that do not return an error.
#[track_caller]
pub(crate) fn built<T>(built: Result<T, Error>) -> T {
    // Not `unwrap_or_else`: its closure would be the location of the panic.
    match built {
        Ok(built) => built,
        Err(error) => {
            if let Error::OutOfMemory { bytes } = error {
                if let Ok(layout) = std::alloc::Layout::array::<u8>(bytes) {
                    std::alloc::handle_alloc_error(layout);
                }
            }
            panic!("{error}")
        }
    }
}
