//! Builds a filter from a number of items, a false-positive rate, a layout and a hasher; and the constructors for those
//! who choose little of it.

use core::fmt;
use core::marker::PhantomData;

use crate::error::BuildError;
use crate::filter::{CuckooFilter, GrowableCuckooFilter};
use crate::hasher::DefaultHashBuilder;
use crate::layout::Fp16x4;
#[cfg(any(test, feature = "__internals"))]
use crate::layout::LayoutId;
use crate::maplet::CuckooMaplet;
use crate::storage::operations::Inner;
use crate::storage::{self, AnyLayout, FixedStorage, Growable, GrowingLayout, Storage};
use crate::table::sizing::{self, Request, Sizing};
use crate::table::{Buckets, State};

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
///
/// With [`Maplets`] for `T` it builds a [`CuckooMaplet`]: see [`MapletBuilder`].
#[must_use = "a builder builds nothing until `build` is called"]
pub struct Builder<L = Fp16x4, S = DefaultHashBuilder, T = Filters> {
    request: Request,
    hasher: Hasher<S>,
    layout: PhantomData<(L, T)>,
}

/// What a [`Builder`] builds: a [`CuckooFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filters {}

/// What a [`MapletBuilder`] builds: a [`CuckooMaplet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maplets {}

/// Builds a [`CuckooMaplet`] step by step; made by [`CuckooMaplet::builder`].
///
/// It is the [`Builder`] of filters, with the [length of the values](Builder::value_bits). Where the
/// documentation of a method speaks of items of a filter, these are the pairs of a key and a value; where
/// it speaks of the rate of false positives, it is the mean number of [candidates](crate::Candidates) for
/// an absent key.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooMaplet, MapletBuilder};
///
/// let builder: MapletBuilder = CuckooMaplet::builder().capacity(10_000).value_bits(6);
/// let maplet = builder.false_positive_rate(0.01).build()?;
/// assert_eq!((maplet.capacity(), maplet.value_bits()), (10_000, 6));
/// # Ok::<(), coucal::BuildError>(())
/// ```
pub type MapletBuilder<L = Fp16x4, S = DefaultHashBuilder> = Builder<L, S, Maplets>;

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
        Self { request: self.request, hasher: self.hasher.clone(), layout: PhantomData }
    }
}

impl<T> Builder<Fp16x4, DefaultHashBuilder, T> {
    fn with_values(value_bits: Option<u32>) -> Self {
        let hasher = Hasher::New(DefaultHashBuilder::default);
        let (max_capacity, rate, target_load) = (None, None, None);
        let only = None;
        let (capacity, grows) = (0, false);
        let request =
            Request { capacity, grows, max_capacity, rate, target_load, value_bits, only };
        Self { request, hasher, layout: PhantomData }
    }
}

/// As [`CuckooFilter::builder`].
impl Default for Builder {
    fn default() -> Self {
        Self::of_filters()
    }
}

/// As [`CuckooMaplet::builder`].
impl Default for MapletBuilder {
    fn default() -> Self {
        Self::of_maplets()
    }
}

impl Builder {
    pub(crate) fn of_filters() -> Self {
        Self::with_values(None)
    }
}

impl MapletBuilder {
    pub(crate) fn of_maplets() -> Self {
        // None that can be built: whoever calls the builder says how long the values are.
        Self::with_values(Some(0))
    }
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// The number of items that the filter must hold, copies included. The default is 0, the smallest table.
    ///
    /// In a filter that [grows](Self::growable), the number that it must hold before it grows. It is optional
    /// there: the default is a table of 512 buckets, or of as many as the
    /// [`max_capacity`](Self::max_capacity) needs if these are fewer.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.capacity(), 1000);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn capacity(self, items: usize) -> Self {
        Self { request: Request { capacity: items, ..self.request }, ..self }
    }

    /// The highest acceptable false-positive rate, between 0 and 1, of a filter that holds as many
    /// items as its capacity; of a growing filter, its [maximum capacity](Self::max_capacity) if it has one. (Without
    /// a maximum, the rate holds at the initial capacity, and rises with each doubling:
    /// [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at).) If the
    /// layout cannot reach this rate, [`build`](Self::build) fails and names a layout that can; with
    /// [`any_layout`](Self::any_layout), `build` chooses the smallest such layout. The default is the
    /// rate of the layout.
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
        Self { request: Request { rate: Some(rate), ..self.request }, ..self }
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
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn hasher<H>(self, hasher: H) -> Builder<L, H, T> {
        let hasher = Hasher::Given(hasher);
        Builder { request: self.request, hasher, layout: PhantomData }
    }

    /// For tests: of several layouts, choose this one.
    #[cfg(any(test, feature = "__internals"))]
    pub(crate) fn only(self, layout: LayoutId) -> Self {
        Self { request: Request { only: Some(layout), ..self.request }, ..self }
    }

    fn with_storage<M: Storage>(self) -> Builder<M, S, T> {
        Builder { request: self.request, hasher: self.hasher, layout: PhantomData }
    }

    /// The table, the hasher and the capacities of what is built.
    fn build_inner<B: Buckets>(self) -> Result<Inner<L, B, S>, BuildError> {
        let sizing = match L::ONLY {
            Some(layout) => Sizing::within(layout, self.request),
            None => Sizing::smallest(self.request),
        }?;
        let state = State::try_new(sizing).map_err(|_| sizing.out_of_memory())?;
        let hasher = match self.hasher {
            Hasher::New(new) => new(),
            Hasher::Given(hasher) => hasher,
        };
        let Sizing { max_capacity, .. } = sizing;
        let capacity = self.request.capacity;
        Ok(Inner { storage: PhantomData, state, hasher, capacity, max_capacity })
    }
}

/// For tests: the same builder, which chooses the layout of this name where it chooses one, as for `AnyLayout`.
///
/// # Panics
///
/// If no layout has the name.
#[cfg(feature = "__internals")]
pub fn of_named_layout<L: Storage, S, T>(
    builder: Builder<L, S, T>,
    name: &str,
) -> Builder<L, S, T> {
    let layout = LayoutId::ALL.iter().find(|layout| layout.name() == name);
    builder.only(*layout.unwrap_or_else(|| panic!("no layout has the name {name}")))
}

/// What is built: a filter.
impl<L: Storage, S> Builder<L, S> {
    /// Builds an empty filter.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a rate outside (0, 1), for a rate that the layout cannot reach, for a target
    /// load that it cannot have, and for a capacity whose table is too large or cannot be allocated.
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
        self.build_inner().map(CuckooFilter::from_inner)
    }
}

/// What is built: a maplet.
impl<L: Storage, S> MapletBuilder<L, S> {
    /// The bits of each value: from 1 to as many as the [layout](crate::CuckooMaplet#layouts) has room for.
    /// A maplet needs it.
    ///
    /// Each bit of a value is one bit less of the fingerprint, so it doubles the mean number of false
    /// candidates. A maplet that grows has a [limit](crate::CuckooMaplet#layouts) where values are long.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{BuildError, CuckooMaplet};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.insert("egg", 63).is_ok());
    /// assert!(maplet.insert("egg", 64).is_err());
    ///
    /// assert!(CuckooMaplet::builder().capacity(1000).build().is_err());
    /// let error = CuckooMaplet::builder().capacity(1000).value_bits(12).build().unwrap_err();
    /// assert!(matches!(error, BuildError::ValueBitsOutOfRange { other: Some("Fp21x3"), .. }));
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn value_bits(self, bits: u32) -> Self {
        Self { request: Request { value_bits: Some(bits), ..self.request }, ..self }
    }

    /// Builds an empty maplet.
    ///
    /// # Errors
    ///
    /// [`BuildError`]: as for a filter, and for [value bits](Self::value_bits) that are not given or do not
    /// fit into the layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.is_empty());
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn build(self) -> Result<CuckooMaplet<L, S>, BuildError> {
        self.build_inner().map(CuckooMaplet::from_inner)
    }
}

/// The storage of a filter of fixed size.
impl<L: FixedStorage, S, T> Builder<L, S, T> {
    /// The [`Layout`](crate::Layout) of the buckets, [`Fp16x4`] by default.
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
    pub fn layout<M: FixedStorage>(self) -> Builder<M, S, T> {
        self.with_storage()
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
    pub fn any_layout(self) -> Builder<AnyLayout, S, T> {
        self.with_storage()
    }

    /// A filter that [grows](crate#growth) with its items, as one that is [`growable`](Self::growable), but only
    /// up to this number of items, which is at least the [`capacity`](Self::capacity). The
    /// [rate](Self::false_positive_rate) holds at this number; with fewer items it is lower.
    ///
    /// The capacity may be left out. Then a filter begins with 512 buckets, or with what this maximum needs if that
    /// is less. (Where a layout doubles [a limited number of times](Growable), it begins with as many as it needs
    /// to reach the maximum.) A larger capacity takes fewer doublings, and so makes the rate
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
    /// assert_eq!(filter.slots(), 2048);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> Builder<Growable<L>, S, T>
    where
        L: GrowingLayout,
    {
        self.growable().max_capacity(items)
    }

    /// A filter that [grows](crate#growth) with its items, as far as memory goes.
    ///
    /// Nothing needs to be said of its size. With a [`capacity`](Self::capacity) it begins with room for this number
    /// of items, and with a [`max_capacity`](Builder::max_capacity) it ends with room for that.
    ///
    /// No table has more than 2^44 slots. With [`Fp12x5`](crate::Fp12x5), and in maplets with
    /// [long values](crate::CuckooMaplet#layouts), a table doubles a limited number of times.
    /// [`max_capacity()`](CuckooFilter::max_capacity) of the filter is the number of items that it can reach. For
    /// more, say a larger `capacity` or `max_capacity`.
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
    pub fn growable(self) -> Builder<Growable<L>, S, T>
    where
        L: GrowingLayout,
    {
        let request = Request { grows: true, ..self.request };
        Self { request, ..self }.with_storage()
    }
}

/// The storage of a growing filter.
impl<L: GrowingLayout, S, T> Builder<Growable<L>, S, T> {
    /// The layout of the buckets, one of those that [can grow](GrowingLayout).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp32x2};
    ///
    /// let filter = CuckooFilter::builder().growable().layout::<Fp32x2>().build()?;
    /// assert_eq!(filter.layout_name(), "Fp32x2");
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn layout<M: GrowingLayout>(self) -> Builder<Growable<M>, S, T> {
        self.with_storage()
    }

    /// The smallest layout that reaches the rate at the maximum capacity (without a maximum, at the initial
    /// capacity), chosen by [`build`](Self::build) among those that [can grow](GrowingLayout).
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
    pub fn any_layout(self) -> Builder<Growable<AnyLayout>, S, T> {
        self.with_storage()
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
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> Self {
        Self { request: Request { max_capacity: Some(items), ..self.request }, ..self }
    }

    /// The share of slots in use that the filter keeps while it grows: from 0.5 to the highest of the
    /// [layout](Growable), to the nearest thousandth. The default is the one of the layout.
    ///
    /// A higher load takes less memory. A lower load makes inserts faster, since fewer of them must kick,
    /// and the false-positive rate lower, in proportion. In the default layout:
    ///
    /// | target load | bits per item | false positives at the first size | after nine doublings | time of an insert |
    /// |---|---|---|---|---|
    /// | 0.87, the highest | 18.4 | 0.022 % | 0.22 % | 1.7 |
    /// | 0.80 | 20.0 | 0.020 % | 0.20 % | 1 |
    /// | 0.75, the default | 21.3 | 0.019 % | 0.19 % | 0.78 |
    /// | 0.70 | 22.9 | 0.017 % | 0.18 % | 0.67 |
    ///
    /// (The last column was measured from 2^15 to 2^24 slots: `docs/performance/growth.csv` in the
    /// repository.)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{BuildError, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(10_000).growable();
    /// let [dense, fast] = [0.87, 0.7].map(|load| builder.clone().target_load(load).build());
    /// assert!(dense?.slots() < fast?.slots());
    ///
    /// let error = builder.target_load(0.95).build().unwrap_err();
    /// assert!(matches!(error, BuildError::TargetLoadOutOfRange { max: 0.87, .. }));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn target_load(self, share: f64) -> Self {
        let target_load = Some(sizing::thousandths(share));
        Self { request: Request { target_load, ..self.request }, ..self }
    }
}

impl<L: Storage, S, T> fmt::Debug for Builder<L, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = f.debug_struct("Builder");
        if let Some(value_bits) = self.request.value_bits {
            printed.field("value_bits", &value_bits);
        }
        printed
            .field("layout", &storage::name_of::<L>())
            .field("capacity", &self.request.capacity)
            .field("max_capacity", &self.request.max_capacity)
            .field("false_positive_rate", &self.request.rate)
            .field("target_load", &self.request.target_load.map(sizing::share))
            .finish_non_exhaustive()
    }
}

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
    /// [`try_with_capacity`](Self::try_with_capacity) returns an error instead.
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
    pub fn with_capacity(items: usize) -> Self {
        Self::with_capacity_and_hasher(items, DefaultHashBuilder::default())
    }

    /// As [`with_capacity`](Self::with_capacity), but returns an error instead of panicking or
    /// aborting.
    ///
    /// # Errors
    ///
    /// [`BuildError::CapacityOverflow`] and [`BuildError::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// assert!(CuckooFilter::try_with_capacity(1000).is_ok());
    /// assert!(CuckooFilter::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(items: usize) -> Result<Self, BuildError> {
        Self::builder().capacity(items).build()
    }

    /// A builder, for a false-positive rate, another layout or another hasher.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.len(), 0);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::of_filters()
    }
}

impl CuckooFilter<AnyLayout> {
    /// An empty filter that holds `items` items, copies included, and, when it holds them, reports at most the
    /// share `rate` (between 0 and 1) of absent items as present. It has the smallest layout that
    /// reaches this rate: see [`AnyLayout`].
    ///
    /// # Errors
    ///
    /// [`BuildError`]: for a rate outside (0, 1), or lower than the rate of every layout; and for a
    /// capacity whose table is too large or cannot be allocated.
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
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn with_capacity_and_rate(items: usize, rate: f64) -> Result<Self, BuildError> {
        CuckooFilter::builder().capacity(items).false_positive_rate(rate).any_layout().build()
    }
}

impl<S> CuckooFilter<AnyLayout, S> {
    /// As [`with_capacity_and_rate`](CuckooFilter::with_capacity_and_rate), with this hasher.
    ///
    /// # Errors
    ///
    /// As [`with_capacity_and_rate`](CuckooFilter::with_capacity_and_rate).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::CuckooFilter;
    ///
    /// let hasher = RandomState::new();
    /// let filter = CuckooFilter::with_capacity_rate_and_hasher(10_000, 0.01, hasher)?;
    /// assert!(filter.insert("egg").is_ok());
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn with_capacity_rate_and_hasher(
        items: usize,
        rate: f64,
        hasher: S,
    ) -> Result<Self, BuildError> {
        let builder = CuckooFilter::builder().capacity(items).false_positive_rate(rate);
        builder.any_layout().hasher(hasher).build()
    }
}

impl<S> CuckooFilter<Fp16x4, S> {
    /// An empty filter that holds `items` items, copies included, with the default layout and this hasher.
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
    pub fn with_capacity_and_hasher(items: usize, hasher: S) -> Self {
        built(Self::try_with_capacity_and_hasher(items, hasher))
    }

    /// As [`with_capacity_and_hasher`](Self::with_capacity_and_hasher), but returns an error instead of
    /// panicking or aborting.
    ///
    /// # Errors
    ///
    /// [`BuildError::CapacityOverflow`] and [`BuildError::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::try_with_capacity_and_hasher(1000, RandomState::new())?;
    /// assert!(filter.insert("egg").is_ok());
    /// assert!(CuckooFilter::try_with_capacity_and_hasher(usize::MAX, RandomState::new()).is_err());
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn try_with_capacity_and_hasher(items: usize, hasher: S) -> Result<Self, BuildError> {
        CuckooFilter::builder().capacity(items).hasher(hasher).build()
    }
}

impl GrowableCuckooFilter {
    /// An empty filter that grows with its items, with the default layout and hasher. No size is needed.
    ///
    /// It begins with 2,048 slots, which take 4 KiB, and some locks and counters: see
    /// [growth](crate#growth). For an initial capacity, a maximum or another layout, use
    /// [`builder().growable()`](crate::Builder::growable).
    ///
    /// # Panics
    ///
    /// Never. It aborts, as `Vec` does, if the allocator cannot provide these first bytes:
    /// `CuckooFilter::builder().growable().build()` returns an error instead. Where the allocator fails later,
    /// [`insert`](Self::insert) returns [`InsertError::OutOfMemory`](crate::InsertError::OutOfMemory).
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
    /// # Ok::<(), coucal::InsertManyError>(())
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::with_hasher(DefaultHashBuilder::default())
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
    pub fn with_hasher(hasher: S) -> Self {
        built(CuckooFilter::builder().growable().hasher(hasher).build())
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
        let builder = CuckooFilter::builder().growable().layout::<L>();
        built(builder.hasher(S::default()).build())
    }
}

/// What was built, where no error is returned.
fn built<L: Storage, S>(filter: Result<CuckooFilter<L, S>, BuildError>) -> CuckooFilter<L, S> {
    match filter {
        Ok(filter) => filter,
        Err(BuildError::OutOfMemory { bytes }) => {
            let layout = std::alloc::Layout::array::<u8>(bytes).expect("checked by the builder");
            std::alloc::handle_alloc_error(layout)
        }
        Err(error) => panic!("{error}"),
    }
}

impl CuckooMaplet {
    /// A builder, which needs the [length of the values](MapletBuilder::value_bits).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert_eq!(maplet.len(), 0);
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn builder() -> MapletBuilder {
        MapletBuilder::of_maplets()
    }
}
