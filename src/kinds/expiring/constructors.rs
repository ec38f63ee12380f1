//! What the builder of expiring filters has beside what all builders have: a number of generations, and when they end;
//! and the constructors for those who choose little of it.
//!
//! **Invariant:** the values of a table that is built have as many bits as its generations need.

use core::time::Duration;

use super::quota::Quota;
use super::timer::Timer;
use super::{ExpiringCuckooFilter, ExpiringFilter, GrowableExpiringCuckooFilter, coarse};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Expiry, Figures, built};
use crate::layout::Fp16x4;
use crate::sizing::Request;
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::ValueBits;
use crate::table::whole::generations::{self, COUNTS, Clock, Generations};

/// What an [`ExpiringBuilder`] builds: an [`ExpiringCuckooFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiring {}

/// Builds an [`ExpiringCuckooFilter`] step by step; made by [`ExpiringCuckooFilter::builder`].
///
/// It is the [`Builder`] of filters, with the [number of generations](Builder::generations), and with what may end one:
/// you, [time](Builder::every), or [want of room](Builder::forget_oldest_when_full).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use coucal::{ExpiringBuilder, ExpiringCuckooFilter};
///
/// // Items of the last ten minutes: of nine to ten, to be exact.
/// let builder: ExpiringBuilder = ExpiringCuckooFilter::builder().generations(10);
/// let seen = builder.capacity(10_000).every(Duration::from_secs(60)).build()?;
/// assert!(seen.insert("egg")?);
/// # Ok::<(), coucal::Error>(())
/// ```
pub type ExpiringBuilder<L = Fixed<Fp16x4>, S = DefaultHashBuilder> = Builder<L, S, Expiring>;

/// As [`ExpiringCuckooFilter::builder`].
impl Default for ExpiringBuilder {
    fn default() -> Self {
        // None that can be built: whoever calls the builder says how many generations there are.
        Self::with_request(Request { value_bits: Some(0), expires: true, ..Request::default() })
    }
}

/// What is built: an expiring filter.
impl<L: Storage, S> ExpiringBuilder<L, S> {
    /// How many generations are remembered, the present one among them: from 2 to 256, and as many as the layout has
    /// room for. An expiring filter needs it.
    ///
    /// Each doubling takes a bit of the fingerprint, and so doubles the rate of false positives: as each
    /// [bit of a value](crate::CuckooMaplet#layouts) does. With few generations the window is coarse: an item is remembered
    /// for N - 1 to N of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, ExpiringCuckooFilter, Fp8x8};
    ///
    /// let seen = ExpiringCuckooFilter::builder().capacity(1000).generations(16).build()?;
    /// assert_eq!(seen.generations(), 16);
    ///
    /// assert!(ExpiringCuckooFilter::builder().build().is_err());
    /// let error = ExpiringCuckooFilter::builder().layout::<Fp8x8>().generations(16).build().unwrap_err();
    /// assert!(matches!(error, Error::GenerationsOutOfRange { max: 8, other: Some("Fp9x7"), .. }));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn generations(mut self, generations: u32) -> Self {
        let value_bits = if generations < 2 { 0 } else { generations::value_bits(generations) };
        self.request.value_bits = Some(value_bits);
        self.expiry.generations = generations;
        self
    }

    /// Each generation ends after this time: an insert that finds it due [advances](ExpiringCuckooFilter::advance). So
    /// there is no thread, and nothing else to call. [`ExpiringCuckooFilter`](ExpiringCuckooFilter#time) says what it
    /// promises and costs.
    ///
    /// Let it be several times as long as a [sweep](ExpiringCuckooFilter#what-an-advance-costs) of the table, the
    /// [longest](crate::Stats::longest_sweep) of which the filter measures: some milliseconds for a million items. With a
    /// shorter period, inserts sweep for up to half of the time, and generations last longer than the period: as long as
    /// a sweep and a period together.
    ///
    /// Without it, and without [`every_items`](Self::every_items), nothing ends a generation but you.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::{Error, GrowableExpiringCuckooFilter};
    ///
    /// let builder = GrowableExpiringCuckooFilter::builder().generations(10);
    /// let seen = builder.clone().every(Duration::from_secs(60)).build()?;
    /// assert!(seen.insert("egg")?);
    /// assert_eq!(builder.every(Duration::ZERO).build().unwrap_err(), Error::NoTime);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn every(mut self, period: Duration) -> Self {
        self.expiry.period = Some(period);
        self
    }

    /// Each generation ends after this number of new items: the insert that stores the last of them
    /// [advances](ExpiringCuckooFilter::advance). So the filter remembers the last new items: all of the last N - 1
    /// generations, for N generations, or more. An insert of an item that is remembered counts for nothing, and gives it
    /// the present generation nonetheless.
    ///
    /// With [`every`](Self::every) as well, a generation ends at whichever comes first, and then both begin again. Beside
    /// other threads, a generation gets those items as well that they store while one of them advances; at most one
    /// generation ends for each `items` new items.
    ///
    /// N times `items` are remembered at the most, one thread provided. Give the filter so large a
    /// [capacity](Self::capacity), and it never is full.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// // The last 9,000 new items, and up to 12,000.
    /// let builder = ExpiringCuckooFilter::builder().capacity(12_000).generations(4);
    /// let seen = builder.every_items(3000).build()?;
    /// for item in 0..100_000 {
    ///     seen.insert(&item)?;
    ///     assert!(item < 9000 || seen.contains(&(item - 9000)));
    /// }
    /// assert!(seen.len() <= 12_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn every_items(mut self, items: usize) -> Self {
        self.expiry.items = Some(items);
        self
    }

    /// The clock by which generations [end](Self::every), in place of [that of the machine](ExpiringCuckooFilter#time):
    /// for tests, or where a look at it costs too much.
    ///
    /// It returns the time since any instant that is always the same. It must not go back. `wasm32-unknown-unknown` has
    /// no other clock: there [`every`](Self::every) needs this one, or `build` panics.
    ///
    /// It is a `fn`, so what it reads is a `static`: give each test one of its own, or a `thread_local!` if one thread
    /// uses the filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// static SECONDS: AtomicU64 = AtomicU64::new(0);
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10);
    /// let seen = builder
    ///     .every(Duration::from_secs(60))
    ///     .clock(|| Duration::from_secs(SECONDS.load(Ordering::SeqCst)))
    ///     .build()?;
    /// assert!(seen.insert("egg")?);
    /// SECONDS.store(600, Ordering::SeqCst);
    /// assert!(seen.insert("nest")?);
    /// assert!(!seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn clock(mut self, now: fn() -> Duration) -> Self {
        self.expiry.now = Some(now);
        self
    }

    /// An insert that finds the filter [full](Error::WindowFull) ends the generation early, until there is room. So none is
    /// refused for want of room, and items are remembered for less time than was wanted;
    /// [`stats`](ExpiringCuckooFilter::stats) counts how often that was.
    ///
    /// One generation goes at a time, the oldest. If all items are of the present one, all of them go, after as many
    /// sweeps as there are generations: this one insert takes as long as so many calls of
    /// [`advance`](ExpiringCuckooFilter::advance).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(1000).generations(4);
    /// let seen = builder.forget_oldest_when_full().build()?;
    /// for item in 0..10_000 {
    ///     seen.insert(&item)?;
    /// }
    /// assert!(seen.contains(&9999));
    /// assert!(seen.stats().early_advances > 0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn forget_oldest_when_full(mut self) -> Self {
        self.expiry.forgets_oldest = true;
        self
    }

    /// Builds an empty expiring filter.
    ///
    /// # Errors
    ///
    /// Those of a [filter](Builder::build), [`Error::GenerationsOutOfRange`] for a [number of
    /// generations](Self::generations) that is not given or does not fit into the layout, [`Error::NoTime`] for a
    /// generation that takes [none](Self::every), or a clock without generations that end by it, and [`Error::NoItems`]
    /// for a generation that gets [none](Self::every_items).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::builder().capacity(1000).generations(4).build()?;
    /// assert!(seen.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn build(self) -> Result<ExpiringFilter<L, S>, Error> {
        let Expiry { generations: count, forgets_oldest, .. } = self.expiry;
        let (timer, quota) = (self.timer()?, self.quota()?);
        let inner = self.build_inner(size_of::<ExpiringFilter<L, S>>());
        let mut inner = inner.map_err(|error| out_of_range(count, error))?;
        inner.state = inner.state.with_generations(Generations { count, clock: Clock::default() });
        let filter = ExpiringFilter::from_inner(inner);
        Ok(ExpiringFilter { timer, quota, forgets_oldest, ..filter })
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
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let figures = GrowableExpiringCuckooFilter::builder().generations(10).figures(1_000_000)?;
    /// assert_eq!(figures.layout_name, "Fp21x3");
    /// assert!(figures.bits_per_item < 31.0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn figures(&self, items: usize) -> Result<Figures, Error> {
        let _ = (self.timer()?, self.quota()?);
        let figures = self.figures_of::<ValueBits>(items, size_of::<ExpiringFilter<L, S>>());
        figures.map_err(|error| out_of_range(self.expiry.generations, error))
    }

    /// What ends generations; or an error of what was said of generations and time.
    fn quota(&self) -> Result<Option<Quota>, Error> {
        self.expiry.items.map(|items| Quota::new(items).ok_or(Error::NoItems)).transpose()
    }

    fn timer(&self) -> Result<Option<Timer>, Error> {
        let Expiry { generations, period, now, .. } = self.expiry;
        if !COUNTS.contains(&generations) {
            return Err(Error::GenerationsOutOfRange {
                generations,
                max: *COUNTS.end(),
                other: None,
            });
        }
        // By a clock alone, no generation would ever end.
        let period = period.or(now.map(|_| Duration::ZERO));
        let clock = |period| now.unwrap_or_else(|| coarse::clock_for(period));
        let timer = |period| Timer::new(period, Duration::ZERO, clock(period)).ok_or(Error::NoTime);
        period.map(timer).transpose()
    }
}

/// What an error of values means for so many generations.
fn out_of_range(generations: u32, error: Error) -> Error {
    match error {
        Error::ValueBitsOutOfRange { max, other, .. } => {
            let max = if max == 0 { 0 } else { (1 << max).min(*COUNTS.end()) };
            Error::GenerationsOutOfRange { generations, max, other }
        }
        error => error,
    }
}

/// Growth of an expiring filter.
impl<L: GrowingLayout, S> ExpiringBuilder<Fixed<L>, S> {
    /// A filter that [grows](crate#growth) with its items, as one that is [`growable`](Self::growable), but only up to
    /// this number of items at once.
    ///
    /// The maximum stays with the filter: one that is restored from a snapshot has it, too, and a larger one needs a new
    /// filter. A larger maximum takes no memory before so many items come.
    ///
    /// A layout that is named before is kept, and chosen at run time; with `layout::<Fp21x3>()` after this call, it is in
    /// the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::builder().max_capacity(1_000_000).generations(4).build()?;
    /// assert_eq!(seen.max_capacity(), 1_000_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(self, items: usize) -> ExpiringBuilder<Growable<AnyLayout>, S> {
        self.with_growth(Some(items))
    }

    /// A filter that [grows](crate#growth) with the items of its window, as far as memory goes. No size is needed.
    ///
    /// If no layout was named, `build` chooses the smallest in which growth does not end, and in which at most 0.4 % of
    /// the items that were not seen are taken for seen when the filter has doubled ten times (or when it is as large as
    /// its [`max_capacity`](Self::max_capacity); or at most the [rate](Self::false_positive_rate) that it is given). Up to
    /// 64 generations that is [`Fp21x3`](crate::Fp21x3), with more [`Fp32x2`](crate::Fp32x2).
    ///
    /// [`Fp16x4`] takes a quarter less memory than `Fp21x3`, and takes some forty times as many items for seen: with 8
    /// generations and ten million items one in forty. With a [capacity](Self::capacity) for the items of a whole window
    /// it is one in 400, since the filter need not double.
    ///
    /// ```
    /// use coucal::{Fp16x4, GrowableExpiringCuckooFilter};
    ///
    /// let builder = GrowableExpiringCuckooFilter::builder();
    /// let [eight, sixteen] = [8, 16].map(|generations| builder.clone().generations(generations));
    /// for (builder, rate, bits) in [(eight.clone(), 0.000_57, 31.0), (sixteen, 0.001_13, 31.0)] {
    ///     let figures = builder.figures(10_000_000)?;
    ///     assert_eq!(figures.layout_name, "Fp21x3");
    ///     assert!((0.98 * rate..1.02 * rate).contains(&figures.false_positive_rate));
    ///     assert!(figures.bits_per_item < bits);
    /// }
    ///
    /// let small = eight.layout::<Fp16x4>();
    /// let of_window = small.clone().capacity(10_000_000);
    /// for (builder, rate) in [(small, 0.024_7), (of_window, 0.002_48)] {
    ///     let figures = builder.figures(10_000_000)?;
    ///     assert!((0.98 * rate..1.02 * rate).contains(&figures.false_positive_rate), "{figures:?}");
    ///     assert!(figures.bits_per_item < 23.0);
    /// }
    /// # Ok::<(), coucal::Error>(())
    /// ```
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{ExpiringCuckooFilter, GrowableExpiringCuckooFilter};
    ///
    /// let builder = ExpiringCuckooFilter::builder().growable().generations(4);
    /// let seen: GrowableExpiringCuckooFilter = builder.build()?;
    /// for item in 0..100_000 {
    ///     seen.insert(&item)?;
    /// }
    /// // Few of them cannot be told apart.
    /// assert!(seen.len() > 99_900 && seen.layout_name() == "Fp21x3");
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn growable(self) -> ExpiringBuilder<Growable<AnyLayout>, S> {
        self.with_growth(None)
    }
}

/// Constructors: for all else there is the [builder](ExpiringCuckooFilter::builder).
impl ExpiringCuckooFilter {
    /// An empty filter that holds `items` items of this number of generations, with the default layout and hasher. You
    /// [advance](Self::advance) it.
    ///
    /// # Panics
    ///
    /// If `generations` is not between 2 and 256, or the items need more than 2^44 slots. It aborts, as `Vec` does, if
    /// the allocator fails. `ExpiringCuckooFilter::builder().capacity(items).generations(generations).build()` returns
    /// an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(1000, 4);
    /// assert!(seen.insert("egg")?);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(items: usize, generations: u32) -> Self {
        Self::with_capacity_and_hasher(items, generations, DefaultHashBuilder::default())
    }

    /// A builder, which needs the [number of generations](ExpiringBuilder::generations).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let builder = GrowableExpiringCuckooFilter::builder().generations(10);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// assert!(seen.insert("egg")?);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> ExpiringBuilder {
        ExpiringBuilder::default()
    }
}

impl<S> ExpiringCuckooFilter<Fp16x4, S> {
    /// As [`with_capacity`](ExpiringCuckooFilter::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](ExpiringCuckooFilter::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{ExpiringCuckooFilter, StableHashBuilder};
    ///
    /// let hasher = StableHashBuilder::new(7);
    /// let seen = ExpiringCuckooFilter::with_capacity_and_hasher(1000, 4, hasher);
    /// assert!(seen.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(items: usize, generations: u32, hasher: S) -> Self {
        let builder = ExpiringCuckooFilter::builder().capacity(items).generations(generations);
        built(builder.hasher(hasher).build())
    }
}

impl GrowableExpiringCuckooFilter {
    /// An empty filter that grows with the items of this number of generations, with the default hasher. No size is
    /// needed, and no layout: [`growable`](ExpiringBuilder::growable) says which one it has. You
    /// [advance](Self::advance) it.
    ///
    /// # Panics
    ///
    /// If `generations` is not between 2 and 256. It aborts, as `Vec` does, if the allocator fails.
    /// `GrowableExpiringCuckooFilter::builder().generations(generations).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let seen = GrowableExpiringCuckooFilter::new(4);
    /// assert!(seen.insert_all(0..10_000)? > 9_980); // few of them are false positives
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(generations: u32) -> Self {
        Self::with_hasher(generations, DefaultHashBuilder::default())
    }

    /// An empty filter of this number of generations that has room for `items` items before it grows, with the default hasher.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new), and if the items need more than 2^44 slots.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let seen = GrowableExpiringCuckooFilter::with_capacity(10_000, 4);
    /// let slots = seen.slots();
    /// seen.insert_all(0..10_000)?;
    /// assert_eq!(seen.slots(), slots);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(items: usize, generations: u32) -> Self {
        Self::with_capacity_and_hasher(items, generations, DefaultHashBuilder::default())
    }

    /// A builder of expiring filters that grow: for a maximum, a false-positive rate, another layout or another hasher, and for an
    /// error in place of a panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let builder = GrowableExpiringCuckooFilter::builder().generations(10);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// assert!(seen.insert("egg")?);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> ExpiringBuilder<Growable<AnyLayout>> {
        ExpiringCuckooFilter::builder().growable()
    }
}

impl<S> GrowableExpiringCuckooFilter<AnyLayout, S> {
    /// As [`new`](GrowableExpiringCuckooFilter::new), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`new`](GrowableExpiringCuckooFilter::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableExpiringCuckooFilter, StableHashBuilder};
    ///
    /// let seen = GrowableExpiringCuckooFilter::with_hasher(4, StableHashBuilder::new(7));
    /// assert!(seen.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_hasher(generations: u32, hasher: S) -> Self {
        let builder = GrowableExpiringCuckooFilter::builder().generations(generations);
        built(builder.hasher(hasher).build())
    }

    /// As [`with_capacity`](GrowableExpiringCuckooFilter::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](GrowableExpiringCuckooFilter::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableExpiringCuckooFilter, StableHashBuilder};
    ///
    /// let hasher = StableHashBuilder::new(7);
    /// let seen = GrowableExpiringCuckooFilter::with_capacity_and_hasher(1000, 4, hasher);
    /// assert!(seen.insert("egg").is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(items: usize, generations: u32, hasher: S) -> Self {
        let builder =
            GrowableExpiringCuckooFilter::builder().capacity(items).generations(generations);
        built(builder.hasher(hasher).build())
    }
}
