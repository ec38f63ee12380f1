//! The methods that only the builder of expiring filters has (they set the number of generations, and the event that
//! ends one), and constructors with few parameters.
//!
//! **Invariant:** the values of a table that is built have the number of bits that its generations need.

use core::time::Duration;

use super::quota::Quota;
use super::timer::Timer;
use super::{
    ExpiringCuckooFilter, ExpiringFilter, GrowableExpiringCuckooFilter, check_items_per_generation,
    coarse,
};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Expiry, Figures, built};
use crate::layout::{Fp16x4, Fp21x3, Layout, LayoutId};
use crate::sizing::{self, Request};
use crate::storage::{AnyLayout, Fixed, Growable, Storage};
use crate::table::placing::entry::ValueBits;
use crate::table::whole::generations::{self, COUNTS, Clock, Generations};

/// The type argument `T` of a [`Builder`] of [`ExpiringCuckooFilter`]s: see [`ExpiringBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiring {}

/// Builds an [`ExpiringCuckooFilter`] step by step. [`ExpiringCuckooFilter::builder`] returns one. For a filter that
/// grows, begin with [`GrowableExpiringCuckooFilter::builder`]: it has another default layout.
///
/// It is the [`Builder`] of filters, with two additions: the [number of generations](Builder::generations), and the
/// events that end a generation. Your calls of `advance` always do; other events are [a period](Builder::every), [a
/// number of new items](Builder::every_items), and [an insert into a full filter](Builder::forget_oldest_when_full).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use coucal::{ExpiringBuilder, ExpiringCuckooFilter};
///
/// // Remembers items for nine to ten minutes.
/// let builder: ExpiringBuilder = ExpiringCuckooFilter::builder().generations(10);
/// let seen = builder.capacity(10_000).every(Duration::from_secs(60)).build()?;
/// assert!(seen.insert("egg")?);
/// # Ok::<(), coucal::Error>(())
/// ```
pub type ExpiringBuilder<L = Fixed<Fp16x4>, S = DefaultHashBuilder> = Builder<L, S, Expiring>;

/// Returns the builder that [`ExpiringCuckooFilter::builder`] returns.
// Not written with the alias: the record of the interface would omit it.
impl Default for Builder<Fixed<Fp16x4>, DefaultHashBuilder, Expiring> {
    fn default() -> Self {
        Self::with_request(unset())
    }
}

/// Zero bits are not valid: the caller must set the number of generations.
fn unset() -> Request {
    Request { value_bits: Some(0), expires: true, ..Request::default() }
}

/// The steps that only expiring filters have.
impl<L: Storage, S> ExpiringBuilder<L, S> {
    /// Sets N, the number of generations that are remembered, the present one included: from 2 to 256, and not more
    /// than the layout has room for. Every expiring filter needs this call.
    ///
    /// Each doubling of N takes one bit of the fingerprint, and so doubles the rate of false positives, as each [bit of
    /// a value](crate::CuckooMaplet#layouts) does: [how high it is in a growing
    /// filter](GrowableExpiringCuckooFilter#layouts). With few generations the window is coarse: an item is remembered
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
    /// assert!(matches!(error, Error::GenerationsOutOfRange { layout: "Fp8x8", max: 8, other: Some("Fp9x7"), .. }));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn generations(mut self, generations: u32) -> Self {
        let value_bits = if generations < 2 { 0 } else { generations::value_bits(generations) };
        self.request.value_bits = Some(value_bits);
        self.expiry.generations = generations;
        self
    }

    /// Sets the period of a generation: an insert that finds the period over [advances](ExpiringCuckooFilter::advance)
    /// the filter. So you need no thread, and no other call. [`ExpiringCuckooFilter`](ExpiringCuckooFilter#time) says
    /// what the clock promises and costs.
    ///
    /// Choose a period that is several times as long as a [sweep](ExpiringCuckooFilter#what-an-advance-costs) of the
    /// table, which takes some milliseconds for a million items. The filter measures its [longest
    /// sweep](crate::Stats::longest_sweep). With a period shorter than a sweep, inserts sweep for up to half of the
    /// time, and generations last as long as a sweep and a period together.
    ///
    /// If you call neither this method, nor [`every_items`](Self::every_items), nor
    /// [`forget_oldest_when_full`](Self::forget_oldest_when_full), only your calls of `advance` end generations.
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

    /// Ends each generation after `items` new items: the insert that stores the last of them
    /// [advances](ExpiringCuckooFilter::advance) the filter. So the window is a number of items: with N generations,
    /// the filter remembers at least the last (N - 1) · `items` new items, if one thread inserts. An insert of an item
    /// that the filter remembers does not count. (It still moves the item to the present generation.)
    ///
    /// If [`every`](Self::every) is also set, a generation ends after its period or after `items` new items, whichever
    /// comes first. The count begins again with each generation. The period does not: so the generation after one that
    /// ended by its count may be short.
    ///
    /// If one thread inserts only new items, the filter holds at most N · `items` items: with this
    /// [capacity](Self::capacity) it is never full.
    ///
    /// If several threads insert, at most one generation ends for each `items` new items. While one thread advances,
    /// the present generation also gets the items that other threads store. An item is counted after it was stored, so
    /// the window may be shorter by one item, or one batch, for each other thread.
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
    ///     assert!(item < 8999 || seen.contains(&(item - 8999)));
    /// }
    /// assert!(seen.len() <= 12_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn every_items(mut self, items: usize) -> Self {
        self.expiry.items = Some(items);
        self
    }

    /// Sets the clock by which generations [end](Self::every), in place of [that of the
    /// machine](ExpiringCuckooFilter#time): for tests, or if reading the clock of the machine costs too much.
    ///
    /// `now` returns the time since some instant. This instant must always be the same, and the time must not go back.
    /// (If it goes back, no generation ends until it has caught up.) The time must be less than 584 years: later, no
    /// generation ends. On `wasm32-unknown-unknown`, which has no clock of the machine, `build` and `figures` panic if
    /// [`every`](Self::every) is set without this clock.
    ///
    /// `now` must neither use the filter nor wait: at the end of an advance, other inserts wait for its result.
    ///
    /// `now` must not panic. If it panics, the filter stays valid, but some things may happen:
    ///
    /// * The call that panicked may have ended generations, also if it was an `advance`. Compare
    ///   [`generation`](ExpiringCuckooFilter::generation) before you repeat the call.
    /// * Items of an insert that panicked may be stored or not, and nobody is told whether they were new.
    /// * With [`every_items`](Self::every_items), a generation may get up to `items` new items more.
    /// * If `now` panics at the end of an advance, items that other threads have inserted during the advance may be
    ///   forgotten too early. The next sweep may then follow at once, and
    ///   [`longest_sweep`](crate::Stats::longest_sweep) may lack this one.
    ///
    /// `now` is a `fn`, so it cannot capture variables: let it read a `static`. Give each test a `static` of its own,
    /// or a `thread_local!` if only one thread uses the filter.
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

    /// Lets an insert that finds the filter [full](Error::WindowFull) end generations early, until there is room. So no
    /// insert fails because the filter is full, but items may be remembered for a shorter time than you wanted.
    /// [`stats`](ExpiringCuckooFilter::stats) counts the generations that ended early.
    ///
    /// An insert ends one generation at a time, the oldest one first. If one generation filled the whole filter, the
    /// insert would forget all items at once. So a generation must end before it fills the filter:
    ///
    /// * If neither [`every`](Self::every) nor [`every_items`](Self::every_items) is set, a generation also ends after
    ///   `capacity / N` new items, for N generations. (In a growing filter, after `max_capacity / N`.)
    /// * With `every_items`, the filter must have room for (N - 1) · `items` items, or `build` returns an error. So if
    ///   one thread inserts new items only, the filter always remembers the present generation and the N - 2 full ones
    ///   before it. (With 1 item for each generation, `build` returns no error: a filter that has room for fewer than
    ///   N - 1 items remembers as many generations as it has room for.)
    /// * With `every` alone, a burst within one period can fill the filter. The insert that then finds it full ends all
    ///   N generations, with one sweep for each, and so forgets all items, the burst included. If you expect bursts,
    ///   set `every_items` as well.
    /// * An item that is inserted again moves to the present generation, and is not counted as new. If the present
    ///   generation gets nearly all items of a full filter in this way, the next new item forgets all of them. So give
    ///   the filter more room than the items that come again within a generation take.
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
    /// assert!((9500..10_000).all(|item| seen.contains(&item)));
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
    /// * Those of a [filter](Builder::build), except [`Error::ValuesPerKeyOutOfRange`].
    /// * [`Error::GenerationsOutOfRange`] if the [number of generations](Self::generations) is not set or does not fit
    ///   into the layout.
    /// * [`Error::NoTime`] if the [period](Self::every) is zero, or if a clock is set without a period.
    /// * [`Error::ItemsPerGenerationOutOfRange`] if the [number of items](Self::every_items) is 0, or too large for a
    ///   filter that [forgets the oldest items](Self::forget_oldest_when_full).
    ///
    /// # Panics
    ///
    /// On `wasm32-unknown-unknown`, if [`every`](Self::every) is set without a [`clock`](Self::clock). And if the clock
    /// panics, since this call reads it.
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
        let Expiry { generations: count, forgets_oldest, items, .. } = self.expiry;
        let timer = self.timer()?;
        let itself = size_of::<ExpiringFilter<L, S>>();
        if let Some(items) = items {
            let sizing = self.sizing::<ValueBits>(itself);
            let (_, sizing) = sizing.map_err(|error| out_of_range(count, error))?;
            let room = forgets_oldest.then(|| sizing::in_address_space(sizing.max_capacity));
            check_items_per_generation(items, count, room)?;
        }
        let inner = self.build_inner(itself);
        let mut inner = inner.map_err(|error| out_of_range(count, error))?;
        inner.state = inner.state.with_generations(Generations { count, clock: Clock::default() });
        let filter = ExpiringFilter::from_inner(inner);
        let quota = items.map(Quota::new);
        let mut filter = ExpiringFilter { timer, quota, forgets_oldest, ..filter };
        filter.settle_quota();
        Ok(filter)
    }

    /// Returns the figures of the filter that [`build`](Self::build) would build, when it holds `items` items. It
    /// allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except [`Error::OutOfMemory`] and [`Error::ItemsPerGenerationOutOfRange`].
    /// [`Error::AboveCapacity`] if `items` is more than the filter holds, or [`Error::AboveMaxCapacity`] if the filter
    /// grows.
    ///
    /// # Panics
    ///
    /// As [`build`](Self::build).
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
        self.timer()?;
        let figures = self.figures_of::<ValueBits>(items, size_of::<ExpiringFilter<L, S>>());
        figures.map_err(|error| out_of_range(self.expiry.generations, error))
    }

    /// Returns the timer that ends generations, or `None` if there is no period. Returns an error if the number of
    /// generations or the period is invalid.
    fn timer(&self) -> Result<Option<Timer>, Error> {
        let Expiry { generations, period, now, .. } = self.expiry;
        if !COUNTS.contains(&generations) {
            let layout = self.request.only.map_or(AnyLayout::NAME, LayoutId::name);
            return Err(Error::GenerationsOutOfRange {
                layout,
                generations,
                max: *COUNTS.end(),
                other: None,
            });
        }
        // A clock without a period gets the period zero, which is an error: no generation would ever end.
        let period = period.or(now.map(|_| Duration::ZERO));
        let clock = |period| now.unwrap_or_else(|| coarse::clock_for(period));
        let timer = |period| Timer::new(period, Duration::ZERO, clock(period)).ok_or(Error::NoTime);
        period.map(timer).transpose()
    }
}

/// Turns an error about the bits of a value into one about `generations`.
fn out_of_range(generations: u32, error: Error) -> Error {
    match error {
        Error::ValueBitsOutOfRange { layout, max, other, .. } => {
            let max = if max == 0 { 0 } else { (1 << max).min(*COUNTS.end()) };
            Error::GenerationsOutOfRange { layout, generations, max, other }
        }
        error => error,
    }
}

/// Constructors. For all other choices, use the [builder](ExpiringCuckooFilter::builder).
impl ExpiringCuckooFilter {
    /// Returns an empty filter that holds `items` items, those of all generations together, with `generations`
    /// generations and the default layout and hasher. Your calls of [`advance`](Self::advance) end the generations.
    ///
    /// # Panics
    ///
    /// If `generations` is not between 2 and 256, or if the items need more than 2^44 slots. It aborts, as `Vec` does,
    /// if the allocator fails. `ExpiringCuckooFilter::builder().capacity(items).generations(generations).build()`
    /// returns an error instead.
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

    /// Returns a builder. It needs the [number of generations](ExpiringBuilder::generations).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(10_000).generations(10);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// assert!(seen.insert("egg")?);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> ExpiringBuilder {
        ExpiringBuilder::default()
    }
}

impl<S> ExpiringCuckooFilter<Fp16x4, S> {
    /// Builds a filter as [`with_capacity`](ExpiringCuckooFilter::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`with_capacity`](ExpiringCuckooFilter::with_capacity).
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
    /// Returns an empty filter that grows with the items of its `generations` generations, with the default layout and
    /// hasher. It needs no size. Your calls of [`advance`](Self::advance) end the generations.
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

    /// Returns an empty filter with `generations` generations that has room for `items` items before it grows. It has
    /// the default hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`new`](Self::new), and if the items need more than 2^44 slots.
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

    /// Returns a builder of growing expiring filters: use it to set a maximum, a false-positive rate, another layout or
    /// another hasher, or to get an error in place of a panic.
    ///
    /// The layout is [`Fp21x3`], unless you name another one. If it cannot keep the
    /// [rate](ExpiringBuilder::false_positive_rate) that you set, `build` returns [`Error::RateOutOfReach`]: call
    /// [`any_layout`](ExpiringBuilder::any_layout) as well.
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
    ///
    /// let seen = builder.clone().max_capacity(1_000_000).build()?;
    /// assert_eq!(seen.max_capacity(), 1_000_000);
    ///
    /// let builder = builder.false_positive_rate(0.000_01);
    /// let error = builder.clone().build().unwrap_err();
    /// assert!(matches!(error, Error::RateOutOfReach { layout: "Fp21x3", other: Some("Fp32x2"), .. }));
    /// assert_eq!(builder.any_layout().build()?.layout_name(), "Fp32x2");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn builder() -> ExpiringBuilder<Growable<Fp21x3>> {
        ExpiringBuilder::with_request(unset())
    }
}

impl<S> GrowableExpiringCuckooFilter<Fp21x3, S> {
    /// Builds a filter as [`new`](GrowableExpiringCuckooFilter::new) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`new`](GrowableExpiringCuckooFilter::new).
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

    /// Builds a filter as [`with_capacity`](GrowableExpiringCuckooFilter::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`with_capacity`](GrowableExpiringCuckooFilter::with_capacity).
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
