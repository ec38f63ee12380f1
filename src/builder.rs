//! Builds a filter from a number of items, a false-positive rate, a layout and a hasher; and the constructors for those
//! who choose little of it.

mod expiring;
mod figures;

use core::fmt;
use core::marker::PhantomData;

use self::expiring::Expiry;
pub use self::expiring::{Expiring, ExpiringBuilder};
pub use self::figures::Figures;

use crate::error::Error;
use crate::filter::{CuckooFilter, GrowableCuckooFilter};
use crate::hasher::DefaultHashBuilder;
use crate::layout::sizing::{self, Request, Sizing};
use crate::layout::{Fp16x4, LayoutId};
use crate::maplet::{CuckooMaplet, GrowableCuckooMaplet};
use crate::storage::operations::Inner;
use crate::storage::{self, AnyLayout, FixedStorage, Growable, GrowingLayout, Storage};
use crate::table::entry::{NoValues, ValueBits};
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
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// With [`Maplets`] for `T` it builds a [`CuckooMaplet`]: see [`MapletBuilder`]; and with [`Expiring`] an
/// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter): see [`ExpiringBuilder`].
#[must_use = "a builder builds nothing until `build` is called"]
pub struct Builder<L = Fp16x4, S = DefaultHashBuilder, T = Filters> {
    request: Request,
    hasher: Hasher<S>,
    /// Of an expiring filter.
    expiry: Expiry,
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
/// # Ok::<(), coucal::Error>(())
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
        let Self { request, expiry, .. } = *self;
        Self { request, hasher: self.hasher.clone(), expiry, layout: PhantomData }
    }
}

impl<T> Builder<Fp16x4, DefaultHashBuilder, T> {
    fn with_values(value_bits: Option<u32>) -> Self {
        let hasher = Hasher::New(DefaultHashBuilder::default);
        let request = Request { value_bits, ..Request::default() };
        Self { request, hasher, expiry: Expiry::default(), layout: PhantomData }
    }
}

/// As [`CuckooFilter::builder`].
impl Default for Builder {
    fn default() -> Self {
        Self::with_values(None)
    }
}

/// As [`CuckooMaplet::builder`].
impl Default for MapletBuilder {
    fn default() -> Self {
        // None that can be built: whoever calls the builder says how long the values are.
        Self::with_values(Some(0))
    }
}

impl<L: Storage, S, T> Builder<L, S, T> {
    /// The number of items that the filter must hold, copies included. The default is 0, the smallest table.
    ///
    /// In a filter that [grows](Self::growable), the number that it must hold before it grows. It is optional
    /// there: the default is a table of 128 buckets, or of as many as the
    /// [`max_capacity`](Self::max_capacity) needs if these are fewer.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::builder().capacity(1000).build()?;
    /// assert_eq!(filter.capacity(), 1000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn capacity(self, items: usize) -> Self {
        Self { request: Request { capacity: items as u64, ..self.request }, ..self }
    }

    /// The most memory that the filter may take, in bytes, as [`Figures::memory_bytes`] counts it.
    ///
    /// In place of a [capacity](Self::capacity): the filter is built for as many items as there is room for. One that
    /// grows gets the [maximum](Self::max_capacity) that there is room for, unless it has one. Where the number of
    /// items is given as well, it must fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Error};
    ///
    /// let filter = CuckooFilter::builder().memory_bytes(1 << 20).build()?;
    /// assert!(filter.capacity() > 480_000 && filter.memory_bytes() <= 1 << 20);
    ///
    /// // As large, but it takes the memory as it fills up.
    /// let filter = CuckooFilter::builder().growable().memory_bytes(1 << 20).build()?;
    /// assert!(filter.max_capacity() > 360_000 && filter.memory_bytes() < 64 << 10);
    ///
    /// let error = CuckooFilter::builder().capacity(1_000_000).memory_bytes(1 << 20).build().unwrap_err();
    /// assert!(matches!(error, Error::BudgetTooSmall { .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn memory_bytes(self, bytes: usize) -> Self {
        Self { request: Request { memory_bytes: Some(bytes as u64), ..self.request }, ..self }
    }

    /// The highest acceptable false-positive rate, between 0 and 1, of a filter that holds as many
    /// items as its capacity; of a growing filter, its [maximum capacity](Self::max_capacity), or 2^40 items if it has
    /// none. If the layout cannot keep this rate, [`build`](Self::build) fails and names a layout that can; with
    /// [`any_layout`](Self::any_layout), `build` chooses the smallest such layout. The default is the
    /// rate of the layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// let builder = CuckooFilter::builder().capacity(1000);
    /// assert!(builder.clone().false_positive_rate(0.001).build().is_ok());
    /// let error = builder.false_positive_rate(0.000_01).build().unwrap_err();
    /// assert!(matches!(error, Error::RateOutOfReach { layout: Some("Fp21x3"), .. }));
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

    fn with_growth<M: Storage>(self, max_capacity: Option<usize>) -> Builder<M, S, T> {
        let max_capacity = max_capacity.map(|items| items as u64);
        let request = Request { grows: true, max_capacity, ..self.request };
        self.with(request)
    }

    /// The table, the hasher and the capacities of what is built.
    /// For what takes this number of bytes itself.
    fn build_inner<B: Buckets>(self, itself: usize) -> Result<Inner<L, B, S>, Error> {
        let (request, sizing) = self.sizing::<B>(itself)?;
        let state = State::try_new(sizing).map_err(|_| sizing.out_of_memory())?;
        let hasher = match self.hasher {
            Hasher::New(new) => new(),
            Hasher::Given(hasher) => hasher,
        };
        let capacity = sizing::in_address_space(request.capacity);
        let Sizing { max_capacity, .. } = sizing;
        Ok(Inner { storage: PhantomData, state, hasher, capacity, max_capacity })
    }
}

/// What is built: a filter.
impl<L: Storage, S> Builder<L, S> {
    /// Builds an empty filter.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRate`], [`Error::RateOutOfReach`], [`Error::TargetLoadOutOfRange`],
    /// [`Error::MaxCapacityTooLow`], [`Error::CapacityOverflow`], [`Error::BudgetTooSmall`], [`Error::NoSuchLayout`]
    /// for one that is named and cannot grow, and [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooFilter};
    ///
    /// assert!(CuckooFilter::builder().build().is_ok());
    /// let error = CuckooFilter::builder().false_positive_rate(1.5).build().unwrap_err();
    /// assert_eq!(error, Error::InvalidRate);
    /// ```
    pub fn build(self) -> Result<CuckooFilter<L, S>, Error> {
        self.build_inner(size_of::<CuckooFilter<L, S>>()).map(CuckooFilter::from_inner)
    }

    /// What [`build`](Self::build) would build, when it holds this number of items. It allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), but [`Error::OutOfMemory`]; and [`Error::AboveMaxCapacity`] for more items than
    /// the filter holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let builder = CuckooFilter::builder().growable();
    /// let [few, many] = [1_000_000, 1_000_000_000].map(|items| builder.figures(items));
    /// assert!(many?.memory_bytes > 2_600_000_000);
    /// assert!(few?.false_positive_rate < 0.0025);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn figures(&self, items: usize) -> Result<Figures, Error> {
        self.figures_of::<L::Buckets<NoValues>>(items, size_of::<CuckooFilter<L, S>>())
    }
}

/// What is built: a maplet.
impl<L: Storage, S> MapletBuilder<L, S> {
    /// The bits of each value: from 1 to as many as the [layout](crate::CuckooMaplet#layouts) has room for.
    /// A maplet needs it.
    ///
    /// Each bit of a value is one bit less of the fingerprint, so it doubles the mean number of false
    /// candidates.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooMaplet};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.insert("egg", 63).is_ok());
    /// assert!(maplet.insert("egg", 64).is_err());
    ///
    /// assert!(CuckooMaplet::builder().capacity(1000).build().is_err());
    /// let error = CuckooMaplet::builder().capacity(1000).value_bits(12).build().unwrap_err();
    /// assert!(matches!(error, Error::ValueBitsOutOfRange { other: Some("Fp21x3"), .. }));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn value_bits(self, bits: u32) -> Self {
        Self { request: Request { value_bits: Some(bits), ..self.request }, ..self }
    }

    /// Builds an empty maplet.
    ///
    /// # Errors
    ///
    /// Those of a [filter](Builder::build), and [`Error::ValueBitsOutOfRange`] for [value bits](Self::value_bits) that
    /// are not given or do not fit into the layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn build(self) -> Result<CuckooMaplet<L, S>, Error> {
        self.build_inner(size_of::<CuckooMaplet<L, S>>()).map(CuckooMaplet::from_inner)
    }

    /// What [`build`](Self::build) would build, when it holds this number of pairs. It allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), but [`Error::OutOfMemory`]; and [`Error::AboveMaxCapacity`] for more pairs than
    /// the maplet holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let builder = CuckooMaplet::builder().growable().value_bits(6);
    /// let figures = builder.figures(1_000_000)?;
    /// assert_eq!(figures.layout_name, "Fp21x3");
    /// assert!(figures.bits_per_item < 31.0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn figures(&self, pairs: usize) -> Result<Figures, Error> {
        self.figures_of::<L::Buckets<ValueBits>>(pairs, size_of::<CuckooMaplet<L, S>>())
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
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn layout<M: FixedStorage>(self) -> Builder<M, S, T> {
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
    pub fn any_layout(self) -> Builder<AnyLayout, S, T> {
        self.with_layout()
    }

    /// The layout with this name, for one that is known at run time only: from a configuration, say.
    ///
    /// The names are those of the types in the table of [layouts](crate::Layout):
    /// [`Layout::NAME`](crate::Layout::NAME).
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
    /// assert_eq!(CuckooFilter::builder().layout_named("Fp7x9").unwrap_err(), Error::NoSuchLayout);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn layout_named(self, name: &str) -> Result<Builder<AnyLayout, S, T>, Error> {
        let only = Some(LayoutId::named(name).ok_or(Error::NoSuchLayout)?);
        let request = Request { only, ..self.request };
        Ok(self.with(request))
    }
}

/// Growth of a filter.
impl<L: GrowingLayout, S> Builder<L, S> {
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

/// Growth of a maplet.
impl<L: GrowingLayout, S> MapletBuilder<L, S> {
    /// A maplet that [grows](crate#growth) with its pairs, as one that is [`growable`](Self::growable), but only
    /// up to this number of pairs, which is at least the [`capacity`](Self::capacity).
    ///
    /// The capacity may be left out. Then a maplet begins with 128 buckets, or with what this maximum needs if that
    /// is less; or, with [long values](crate::CuckooMaplet#layouts), with what it needs to reach the maximum.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().max_capacity(1_000_000).value_bits(6).build()?;
    /// assert_eq!(maplet.max_capacity(), 1_000_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(self, pairs: usize) -> MapletBuilder<Growable<AnyLayout>, S> {
        self.with_growth(Some(pairs))
    }

    /// A maplet that [grows](crate#growth) with its pairs, as far as memory goes, or to 2^44 slots.
    ///
    /// Neither a size nor a layout needs to be said. [`build`](Builder::build) chooses the layout by the
    /// [`value_bits`](Builder::value_bits): the smallest in which growth does not end, and in which at most 2 % of
    /// absent keys have a candidate when the maplet has doubled ten times (or when it is as large as its
    /// [`max_capacity`](Self::max_capacity); or at most the [rate](Self::false_positive_rate) that it is given). With 1
    /// to 3 bits that is [`Fp16x4`], with 4 to 8 [`Fp21x3`](crate::Fp21x3), with more [`Fp32x2`](crate::Fp32x2).
    ///
    /// A layout that is named before is kept, and chosen at run time. To have it in the type, name it after this call:
    /// `.growable().layout::<Fp21x3>()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, GrowableCuckooMaplet};
    ///
    /// let maplet: GrowableCuckooMaplet = CuckooMaplet::builder().growable().value_bits(6).build()?;
    /// for key in 0..100_000 {
    ///     maplet.insert(&key, key % 64)?;
    /// }
    /// assert_eq!((maplet.len(), maplet.layout_name()), (100_000, "Fp21x3"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn growable(self) -> MapletBuilder<Growable<AnyLayout>, S> {
        self.with_growth(None)
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
    pub fn max_capacity(self, items: usize) -> Self {
        Self { request: Request { max_capacity: Some(items as u64), ..self.request }, ..self }
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
    /// | 0.75, the default | 21.3 | 0.019 % | 0.19 % | 0.78 |
    /// | 0.70 | 22.9 | 0.017 % | 0.18 % | 0.67 |
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
            .field("memory_bytes", &self.request.memory_bytes)
            .field("false_positive_rate", &self.request.rate)
            .field("target_load", &self.request.target_load.map(sizing::share))
            .finish_non_exhaustive()
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

impl CuckooFilter<AnyLayout> {
    /// An empty filter that holds `items` items, copies included, and, when it holds them, reports at most the
    /// share `rate` (between 0 and 1) of absent items as present. It has the smallest layout that
    /// reaches this rate: see [`AnyLayout`].
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
    /// It begins with 512 slots, and takes 2 KB: see [growth](crate#growth). For an initial capacity, a maximum or
    /// another layout, use [`CuckooFilter::builder().growable()`](crate::Builder::growable). (It is the builder of all
    /// filters: the compiler could not tell two functions of that name apart.)
    ///
    /// # Panics
    ///
    /// Never. It aborts, as `Vec` does, if the allocator cannot provide these first bytes:
    /// `CuckooFilter::builder().growable().build()` returns an error instead. Where the allocator fails later,
    /// [`insert`](Self::insert) returns [`Error::NoMemoryToGrow`].
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

/// Constructors: for all else there is the [builder](CuckooMaplet::builder).
impl CuckooMaplet {
    /// An empty maplet that holds `pairs` pairs of a key and a value of this many bits, copies included, with the
    /// default layout and hasher.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 10, or the pairs need more than 2^44 slots. It aborts, as `Vec` does, if
    /// the allocator fails. `CuckooMaplet::builder().capacity(pairs).value_bits(bits).build()` returns an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::with_capacity(1000, 6);
    /// maplet.insert("egg", 63)?;
    /// assert!(maplet.get("egg").any(|value| value == 63));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(pairs: usize, value_bits: u32) -> Self {
        Self::with_capacity_and_hasher(pairs, value_bits, DefaultHashBuilder::default())
    }

    /// A builder, which needs the [length of the values](MapletBuilder::value_bits).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert_eq!(maplet.len(), 0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> MapletBuilder {
        MapletBuilder::default()
    }
}

impl<S> CuckooMaplet<Fp16x4, S> {
    /// As [`with_capacity`](CuckooMaplet::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](CuckooMaplet::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, StableHashBuilder};
    ///
    /// let maplet = CuckooMaplet::with_capacity_and_hasher(1000, 6, StableHashBuilder::new(7));
    /// assert!(maplet.insert("egg", 63).is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(pairs: usize, value_bits: u32, hasher: S) -> Self {
        built(CuckooMaplet::builder().capacity(pairs).value_bits(value_bits).hasher(hasher).build())
    }
}

impl GrowableCuckooMaplet {
    /// An empty maplet that grows with its pairs of a key and a value of this many bits, with the default hasher. No
    /// size is needed, and no layout: [`growable`](MapletBuilder::growable) says which one it has.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 20. It aborts, as `Vec` does, if the allocator fails.
    /// `CuckooMaplet::builder().growable().value_bits(bits).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let maplet = GrowableCuckooMaplet::new(1);
    /// maplet.insert_all((0..10_000).map(|key| (key, u32::from(key % 2 == 0))))?;
    /// assert!(maplet.get(&7).any(|is_even| is_even == 0));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(value_bits: u32) -> Self {
        Self::with_hasher(value_bits, DefaultHashBuilder::default())
    }
}

impl<S> GrowableCuckooMaplet<AnyLayout, S> {
    /// As [`new`](GrowableCuckooMaplet::new), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`new`](GrowableCuckooMaplet::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableCuckooMaplet, StableHashBuilder};
    ///
    /// let maplet = GrowableCuckooMaplet::with_hasher(1, StableHashBuilder::new(7));
    /// assert!(maplet.insert("egg", 1).is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_hasher(value_bits: u32, hasher: S) -> Self {
        built(CuckooMaplet::builder().growable().value_bits(value_bits).hasher(hasher).build())
    }
}

/// What was built, where no error is returned.
#[track_caller]
fn built<T>(built: Result<T, Error>) -> T {
    built.unwrap_or_else(|error| {
        if let Error::OutOfMemory { bytes } = error
            && let Ok(layout) = std::alloc::Layout::array::<u8>(bytes)
        {
            std::alloc::handle_alloc_error(layout);
        }
        panic!("{error}")
    })
}
