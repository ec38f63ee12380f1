//! The public type of filters that forget: hashing in, answers out; and time.
//!
//! **Invariant:** what is in the table was inserted in one of the generations that are remembered, or an advance that
//! removes it has not returned yet.

mod coarse;
mod constructors;
mod quota;
pub(crate) mod timer;

use core::fmt;
use core::time::Duration;
use std::io::Read;

pub use self::constructors::{Expiring, ExpiringBuilder};
use self::quota::Quota;
use self::timer::Timer;
use crate::error::{Error, InsertError, Stopped, check_lengths};
use crate::hasher::{ComparedHasher, DefaultHashBuilder, Item, Prehashed};
use crate::layout::Fp16x4;
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::sync::{AtomicU64, Ordering};
use crate::table::placing::entry::ValueBits;
use crate::table::whole::generations::{Clock, Stamping};

/// What an [`ExpiringCuckooFilter`] and a [`GrowableExpiringCuckooFilter`] are: an expiring filter with the storage `L`.
///
/// `ExpiringCuckooFilter<L, S>` is `ExpiringFilter<Fixed<L>, S>`, and `GrowableExpiringCuckooFilter<L, S>` is
/// `ExpiringFilter<Growable<L>, S>`. Write these names, unless your code takes [both](crate::Filter).
pub struct ExpiringFilter<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, ValueBits, S>,
    pub(crate) timer: Option<Timer>,
    quota: Option<Quota>,
    /// Whether an insert makes room.
    forgets_oldest: bool,
    /// How often it did.
    early_advances: AtomicU64,
}

/// A filter that forgets: "was this seen lately?", for many threads, in one table.
/// In a struct: `seen: ExpiringCuckooFilter`, whatever the items are
/// ([with a hasher, growing, of any layout](crate#the-type-of-a-filter)).
///
/// Time passes in *generations*. N of them are remembered, the present one among them: N is from 2 to 256.
/// [`advance`](ExpiringCuckooFilter::advance) forgets the oldest and begins the next one. Call it from a thread, from an interval of
/// your async runtime, after so many items, or let inserts call it [as time passes](#time). An item belongs to the
/// generation in which it was inserted last, or [first](ExpiringCuckooFilter::insert_if_absent).
///
/// All methods take `&self`: put the filter into an [`Arc`](std::sync::Arc) or lend it to scoped threads. Equal items
/// are items with equal hashes, as in a [`CuckooFilter`](crate::CuckooFilter), and a panic of your code leaves the
/// filter valid.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]; `S` is the hasher of the items.
///
/// # Guarantees
///
/// * **Remembered**: an item whose insert was called when n calls of `advance` had returned is found from the return of
///   the insert on, until the (n + N)-th is called; by every lookup, whatever other threads do. So it outlives N - 1
///   calls.
/// * **Forgotten**: when N calls of `advance` that were made after the insert had returned have returned, the item is
///   found no more often than one that was never inserted; unless it was inserted again. In a filter that grows, an item
///   of a time when the filter was much smaller is found several times as often: another item was taken for it, and its
///   entry is remembered as long as that item.
/// * **Few others**: an item that was not seen is found at the [rate](ExpiringCuckooFilter::false_positive_rate) of a maplet, which the
///   items of the window determine, and no others. Such an item counts as seen for [`insert`](ExpiringCuckooFilter::insert), too. In a
///   filter that grows, the rate is [higher](crate::ExpiringBuilder::growable): one in 900, with 16 generations, ten
///   million items, and no choices of yours.
/// * **One of many**: of threads that insert a new item at once, exactly one gets `true`.
/// * **Lookups are wait-free**: [`contains`](ExpiringCuckooFilter::contains) takes a bounded number of steps, whatever other threads
///   do, one that is stopped in the middle of an `advance` included. Lookups know nothing of generations: what is in
///   the table is found.
/// * **Linearizable**: `insert`, `insert_if_absent` and `contains` each take effect at one instant between call and
///   return. An insert belongs to the generation of that instant, or to the one before if that ended during the call.
///   An `advance` forgets one item after the other, and then begins the next generation at one instant.
/// * **Nothing is lost**: an insert that fails stores nothing, and forgets nothing but what is due.
/// * **Memory does not rise** with time. A filter of fixed size keeps its size. One that grows has the size that the
///   most items at once needed.
///
/// # What blocks
///
/// As in the [table of the crate](crate#what-blocks-on-whom-and-how-long):
///
/// | operation | waits for | holds |
/// |---|---|---|
/// | `contains`, `age` | as `contains`, and as `get` of a maplet | the same |
/// | `insert`, item of the present generation | nobody, unless it is moved meanwhile, or something of its version group is stashed: then as `get` of a maplet | nothing |
/// | `insert` else, `insert_if_absent` | as `insert_if_absent`; for an older item as `replace`; again if another thread was faster | the same |
/// | `advance` | as `remove_value` | the same |
/// | with a clock, also: an insert that finds a generation due | as `advance`, or as `clear` if N have passed; if another thread advances, nobody, unless it ends several generations: then that thread | the same |
///
/// # Why nothing can be removed
///
/// Items that a filter cannot tell apart share one entry, as with [`insert_if_absent`](crate#which-insert). If one of them
/// could be removed, the others would be missed within their window. (A maplet with [one pair for each
/// insert](crate::CuckooMaplet::insert) can remove pairs, and forgets by
/// [`remove_value`](crate::CuckooMaplet::remove_value).) For the same reason two filters cannot be merged.
/// [`clear`](ExpiringCuckooFilter::clear) forgets all.
///
/// # Time
///
/// With [`every`](crate::Builder::every), "remember for ten minutes" is one line. There is no thread: each insert looks
/// at the clock first, and one that finds a generation due advances, before it stores anything.
///
/// * **Remembered**: an item is found for (N - 1) periods after its insert was called, at the least; by the clock.
/// * **Forgotten**: when N periods have passed since its insert returned, the next insert, of whatever item, forgets it
///   first. If several threads insert at the end of a generation, the next one counts from the end of the advance, and
///   so all that is remembered then is forgotten that much later: mostly by the time of an advance.
/// * **One thread advances**, and the others go on. An insert waits only if nobody has inserted for a whole period.
/// * **A period shorter than a sweep** is longer than it says: between two [sweeps](#what-an-advance-costs) passes at
///   least as much time as the first one took, or a period if that is less. Else inserts would do nothing but sweep. An
///   item is remembered as long as is promised, or longer. So let a period be several times as long as a sweep;
///   [`stats`](ExpiringCuckooFilter::stats) says how long the [longest](crate::Stats::longest_sweep) was.
/// * **Lookups do not look at the clock.** Where nobody inserts, nothing is forgotten: call
///   [`advance_if_due`](ExpiringCuckooFilter::advance_if_due) before a lookup that matters, or from a thread of your own. The first
///   insert after a pause makes up for all generations that have passed. If these are N or more, it
///   [clears](ExpiringCuckooFilter::clear) the filter.
/// * **An `advance` by hand** ends a generation early, and the next one ends when this one would have: so the window is
///   up to a period shorter.
/// * **The clock** is an [`Instant`](std::time::Instant); but on Linux, for periods from one second on, the coarse
///   clock of the system, which goes on by 1 to 10 ms at a time: so much less is an item remembered. Or it is
///   [yours](crate::Builder::clock).
/// * **While a machine sleeps, the default clock stands still** (on Linux and macOS): items are remembered that much
///   longer. Where that matters, give [`clock`](crate::Builder::clock) a function that counts the time asleep, such as
///   one that reads `CLOCK_BOOTTIME`.
/// * **Windows that start together end together**: all items whose windows began in one generation are forgotten by one
///   `advance`, and then all are new at once. The more generations there are, the fewer these items are.
/// * **Cost**: in a table that the cache holds, a look at the coarse clock was measured to add some 5 ns to an insert,
///   and one at an `Instant` some 30, where it takes 9 without (a hot item) or 80 (a new one): the exact clock keeps
///   a processor from looking at the table ahead. A [batch](ExpiringCuckooFilter::insert_many) looks once for 256 items. Where that is
///   too much, leave `every` out, and call `advance` from a thread.
/// * A filter that is restored from a snapshot has no clock until it [gets one](ExpiringCuckooFilter::set_every), with the time that has
///   passed.
///
/// # What an advance costs
///
/// It reads the table once, and takes the lock of each group of buckets for a moment, and that of each bucket with
/// something to forget: so it takes the longest with 2 generations, of which half of the items are forgotten. In 2^24
/// slots of the default layout it was measured to take 84 ms with 2 generations, 21 with 16, and 11 with 256. Other
/// threads go on. An insert that advances takes as long. If no insert may take so long, call `advance_if_due` from a
/// thread of your own, more often than the period, so that it comes first (in tokio, `spawn_blocking(move ||
/// seen.advance_if_due())` after each tick of an `interval`); or use several filters, one for each shard of the items,
/// and advance them one after the other: each sweep is short then.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
/// use coucal::ExpiringCuckooFilter;
///
/// let seen = Arc::new(ExpiringCuckooFilter::with_capacity(10_000, 10));
/// let stop = Arc::new(AtomicBool::new(false));
/// let sweeper = std::thread::spawn({
///     let (seen, stop) = (Arc::clone(&seen), Arc::clone(&stop));
///     move || {
///         while !stop.load(Ordering::Relaxed) {
///             std::thread::sleep(Duration::from_millis(1)); // or of a minute
///             seen.advance();
///         }
///     }
/// });
/// seen.insert("egg")?;
/// stop.store(true, Ordering::Relaxed);
/// sweeper.join().unwrap();
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// # Sources
///
/// To keep a few generations of items in one filter is the idea of Shtul, Baquero, Almeida, "Age-Partitioned Bloom
/// Filters" (2020). The table is that of a [maplet](crate::CuckooMaplet#sources), whose values are the generations.
///
/// # Examples
///
/// ```
/// use coucal::GrowableExpiringCuckooFilter;
///
/// let seen = GrowableExpiringCuckooFilter::builder().generations(4).build()?;
/// assert!(seen.insert("egg")?); // new
/// assert!(!seen.insert("egg")?); // seen, and remembered from now on
/// for _ in 0..3 {
///     seen.advance();
///     assert!(seen.contains("egg"));
/// }
/// assert_eq!(seen.age("egg"), Some(3));
/// seen.advance();
/// assert!(!seen.contains("egg"));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type ExpiringCuckooFilter<L = Fp16x4, S = DefaultHashBuilder> = ExpiringFilter<Fixed<L>, S>;

/// An [`ExpiringCuckooFilter`] whose layout is chosen at run time: see [`AnyLayout`].
/// In a struct: `seen: AnyExpiringCuckooFilter` ([with a hasher](crate#the-type-of-a-filter)).
///
/// It has the [methods](ExpiringCuckooFilter#implementations) of an `ExpiringCuckooFilter`.
///
/// # Examples
///
/// ```
/// use coucal::{AnyExpiringCuckooFilter, ExpiringCuckooFilter};
///
/// let builder = ExpiringCuckooFilter::builder().capacity(10_000).generations(4).any_layout();
/// let seen: AnyExpiringCuckooFilter = builder.false_positive_rate(0.001).build()?;
/// assert_eq!(seen.layout_name(), "Fp16x4");
/// # Ok::<(), coucal::Error>(())
/// ```
pub type AnyExpiringCuckooFilter<S = DefaultHashBuilder> = ExpiringFilter<Fixed<AnyLayout>, S>;

/// An [`ExpiringCuckooFilter`] that grows with the items of its window: see [`Growable`].
/// In a struct: `seen: GrowableExpiringCuckooFilter` ([with a hasher, of a layout](crate#the-type-of-a-filter)).
///
/// [`new`](GrowableExpiringCuckooFilter::new) needs no size. It has the [methods](ExpiringCuckooFilter#implementations)
/// of an `ExpiringCuckooFilter` and, besides, [`reserve`](ExpiringCuckooFilter::reserve),
/// [`max_capacity`](ExpiringCuckooFilter::max_capacity) and
/// [`false_positive_rate_at`](ExpiringCuckooFilter::false_positive_rate_at).
///
/// # Examples
///
/// ```
/// use coucal::GrowableExpiringCuckooFilter;
///
/// let seen = GrowableExpiringCuckooFilter::new(4);
/// for item in 0..10_000 {
///     seen.insert(&item)?;
/// }
/// assert!(seen.contains(&9999));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type GrowableExpiringCuckooFilter<L = AnyLayout, S = DefaultHashBuilder> =
    ExpiringFilter<Growable<L>, S>;

/// Operations on items.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Remembers `item` from now on. `Ok(true)`: it was not seen within the window. `Ok(false)`: it was, or is a [false
    /// positive](Self::false_positive_rate), and belongs to the present generation now.
    ///
    /// Takes no lock if the item is of the present generation already, in one of its buckets, and is not being moved. Otherwise it blocks as
    /// [`CuckooFilter::insert_if_absent`](crate::CuckooFilter::insert_if_absent) does; and with a
    /// [clock](crate::Builder::every) as [`advance`](Self::advance) does, if a generation is due.
    ///
    /// # Errors
    ///
    /// [`Error::WindowFull`] and [`Error::NoMemoryToStore`]; then nothing has changed, but that a generation that was due has
    /// ended. A filter that [forgets the oldest items](crate::Builder::forget_oldest_when_full) is never full.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// assert!(seen.insert("egg")?);
    /// seen.advance();
    /// assert!(!seen.insert("egg")?); // from now on
    /// seen.advance();
    /// assert!(seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert<Q: Item<S> + ?Sized>(&self, item: &Q) -> Result<bool, Error> {
        Ok(self.insert_with(self.hash_of(item), Stamping::Always)?)
    }

    /// Remembers `item` unless it was seen within the window: then it is forgotten when it would have been anyway.
    /// `Ok(true)`: it was not seen.
    ///
    /// So an item that comes again and again is new once in N generations, and with [`insert`](Self::insert) it is new
    /// once.
    ///
    /// **A false positive is not remembered for itself.** If the filter takes a new item for another one, the answer is
    /// `Ok(false)`, and the item is forgotten together with that other one: up to N - 1 generations too early.
    /// ([`insert`](Self::insert) remembers both for a whole window from now on.)
    ///
    /// Takes no lock if the item is in one of its buckets and is not being moved. Otherwise it blocks as `insert` does.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// assert!(seen.insert_if_absent("egg")?);
    /// seen.advance();
    /// assert!(!seen.insert_if_absent("egg")?); // as old as before
    /// seen.advance();
    /// assert!(!seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert_if_absent<Q: Item<S> + ?Sized>(&self, item: &Q) -> Result<bool, Error> {
        Ok(self.insert_with(self.hash_of(item), Stamping::IfAbsent)?)
    }

    /// Whether `item` was seen within the window. `false` is certain; `true` may be wrong, at
    /// [the rate the filter states](Self::false_positive_rate).
    ///
    /// Wait-free, as [`CuckooFilter::contains`](crate::CuckooFilter::contains) is. It does not look at a
    /// [clock](crate::Builder::every).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// assert!(seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Item<S> + ?Sized>(&self, item: &Q) -> bool {
        self.inner.contains(self.hash_of(item))
    }

    /// How many generations ago `item` was inserted last: 0 in the present one, and N - 1 at the most. `None`: not
    /// within the window. As [`contains`](Self::contains), it does not look at the [clock](ExpiringCuckooFilter#time): what has passed
    /// since the last insert is not in it.
    ///
    /// Of an item that shares the entry of others it is the age of that. Blocks as
    /// [`CuckooMaplet::get`](crate::CuckooMaplet::get) does. It starts over where a generation ends meanwhile; after
    /// eight of them it answers as it was in the last one.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.age("egg"), None);
    /// seen.insert("egg")?;
    /// assert_eq!(seen.age("egg"), Some(0));
    /// seen.advance();
    /// assert_eq!(seen.age("egg"), Some(1));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn age<Q: Item<S> + ?Sized>(&self, item: &Q) -> Option<u32> {
        let hash = self.hash_of(item);
        by_encoding!(self.inner, table => table.age(table.key(hash)))
    }

    /// Remembers each item from now on, in order, until an insert fails. Writes to `new` whether it was not seen within
    /// the window, and returns how many were not: [`insert`](Self::insert) for a batch, which hides the latency of
    /// memory in a filter larger than the cache. Of an item that the batch names twice, the second is not new.
    ///
    /// Blocks as `insert` does, for each item by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is inserted.
    ///
    /// [`Error::Stopped`] if an item could not be stored. Those before its index are remembered, and `new` has their
    /// answers; the rest of `new` is as it was.
    ///
    /// # Panics
    ///
    /// As [`CuckooFilter::insert_many`](crate::CuckooFilter::insert_many).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// let mut new = [false; 3];
    /// assert_eq!(seen.insert_many(&["egg", "nest", "egg"], &mut new)?, 2);
    /// assert_eq!(new, [true, true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_many<Q: Item<S>>(&self, items: &[Q], new: &mut [bool]) -> Result<usize, Error> {
        check_lengths(items.len(), new.len())?;
        Ok(self.insert_many_with(items, Stamping::Always, new)?)
    }

    /// As [`insert_many`](Self::insert_many), of items that were not seen within the window: as
    /// [`insert_if_absent`](Self::insert_if_absent).
    ///
    /// # Errors
    ///
    /// As [`insert_many`](Self::insert_many).
    ///
    /// # Panics
    ///
    /// As [`CuckooFilter::insert_many`](crate::CuckooFilter::insert_many).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// seen.insert("egg")?;
    /// seen.advance();
    /// let mut new = [false; 2];
    /// assert_eq!(seen.insert_if_absent_many(&["egg", "nest"], &mut new)?, 1);
    /// assert_eq!(seen.age("egg"), Some(1));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_if_absent_many<Q: Item<S>>(
        &self,
        items: &[Q],
        new: &mut [bool],
    ) -> Result<usize, Error> {
        check_lengths(items.len(), new.len())?;
        Ok(self.insert_many_with(items, Stamping::IfAbsent, new)?)
    }

    /// Remembers each item of an iterator from now on, in order, until an insert fails. Returns how many were not seen
    /// within the window.
    ///
    /// As [`CuckooFilter::insert_all`](crate::CuckooFilter::insert_all): in batches of up to 256 items. No lock is held
    /// while the iterator runs.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: the index of the item that could not be stored, and how many of those before it were
    /// [new](Error::stored). The iterator may have given up to 255 items after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// As `CuckooFilter::insert_all`.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.insert_all("egg nest egg owl".split(' '))?, 3);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_all<I>(&self, items: I) -> Result<usize, Error>
    where
        I: IntoIterator<Item: Item<S>>,
    {
        self.insert_all_with(items, Stamping::Always)
    }

    /// As [`insert_all`](Self::insert_all), of items that were not seen within the window: as
    /// [`insert_if_absent`](Self::insert_if_absent).
    ///
    /// # Errors
    ///
    /// As [`insert_all`](Self::insert_all).
    ///
    /// # Panics
    ///
    /// As [`insert_all`](Self::insert_all).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.insert_if_absent_all(["egg", "nest", "egg"])?, 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_if_absent_all<I>(&self, items: I) -> Result<usize, Error>
    where
        I: IntoIterator<Item: Item<S>>,
    {
        self.insert_all_with(items, Stamping::IfAbsent)
    }

    /// Writes to `found` whether each item was seen within the window: [`contains`](Self::contains) for a batch, which
    /// hides the latency of memory in a filter larger than the cache. The batch is not atomic: it is one lookup for
    /// each item.
    ///
    /// Wait-free, as `contains` is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// let mut found = [false; 2];
    /// seen.contains_many(&["egg", "nest"], &mut found)?;
    /// assert_eq!(found, [true, seen.contains("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn contains_many<Q: Item<S>>(&self, items: &[Q], found: &mut [bool]) -> Result<(), Error> {
        check_lengths(items.len(), found.len())?;
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.answer_each(items, key, found, move |_, key| table.contains(key));
        });
        Ok(())
    }

    /// As [`contains_many`](Self::contains_many), but returns the answers in a new vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// assert_eq!(seen.contains_each(&["egg", "nest"]), [true, seen.contains("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn contains_each<Q: Item<S>>(&self, items: &[Q]) -> Vec<bool> {
        let mut found = vec![false; items.len()];
        // It fails only if there are more or fewer answers than items.
        let _ = self.contains_many(items, &mut found);
        found
    }

    /// Writes to `ages` the [age](Self::age) of each item: a batch, as [`contains_many`](Self::contains_many) is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// let mut ages = [None; 2];
    /// seen.age_many(&["egg", "nest"], &mut ages)?;
    /// assert_eq!(ages, [Some(0), seen.age("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn age_many<Q: Item<S>>(&self, items: &[Q], ages: &mut [Option<u32>]) -> Result<(), Error> {
        check_lengths(items.len(), ages.len())?;
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.answer_each(items, key, ages, move |_, key| table.age(key));
        });
        Ok(())
    }

    /// As [`age_many`](Self::age_many), but returns the ages in a new vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// assert_eq!(seen.age_each(&["egg", "nest"]), [Some(0), seen.age("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn age_each<Q: Item<S>>(&self, items: &[Q]) -> Vec<Option<u32>> {
        let mut ages = vec![None; items.len()];
        // It fails only if there are more or fewer answers than items.
        let _ = self.age_many(items, &mut ages);
        ages
    }

    /// The 64-bit hash of `item`, for [`Prehashed`](crate::Prehashed): compute it once, use it often.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{ExpiringCuckooFilter, Prehashed};
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// assert!(seen.contains(&Prehashed(seen.hash_of("egg"))));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn hash_of<Q: Item<S> + ?Sized>(&self, item: &Q) -> u64 {
        item.hash_with(&self.inner.hasher)
    }
}

/// Generations.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Forgets the oldest generation, and begins the next one. Returns how many items were forgotten.
    ///
    /// [What it costs](ExpiringCuckooFilter#what-an-advance-costs): it reads the whole table. Other threads go on meanwhile. Blocks as
    /// [`CuckooMaplet::remove_value`](crate::CuckooMaplet::remove_value) does: while another thread advances or
    /// [clears](Self::clear) the filter, at the end of a [`snapshot`](Self::snapshot), and while another thread writes,
    /// for each group of buckets.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// seen.insert_all(["egg", "nest"])?;
    /// assert_eq!(seen.advance(), 0);
    /// seen.insert("egg")?;
    /// assert_eq!(seen.advance(), 1);
    /// assert!(seen.contains("egg") && !seen.contains("nest"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn advance(&self) -> usize {
        self.inner.state.turns.take_locked();
        let removed = self.measured(|| by_encoding!(self.inner, table => table.advance_by(1)));
        self.restart_quota();
        removed
    }

    /// A generation has ended, and not by the number of its items.
    fn restart_quota(&self) {
        if let Some(quota) = &self.quota {
            quota.restart();
        }
    }

    /// Counts new items, and ends the generation that has as many as it gets. `clock` is that of before they were stored.
    fn count_new(&self, quota: &Quota, stored: usize, mut clock: Clock) {
        quota.count(stored, || {
            self.measured(|| by_encoding!(self.inner, table => table.advance_from(clock)));
            clock = self.inner.state.clock();
        });
    }

    /// Calls what sweeps the table, and measures it if there is a clock.
    fn measured<T>(&self, sweep: impl FnOnce() -> T) -> T {
        match &self.timer {
            Some(timer) => timer.measure(sweep),
            None => sweep(),
        }
    }

    /// Advances by as many generations as have passed by the [clock](crate::Builder::every), as an insert does. Returns
    /// how many items were forgotten; 0 if no generation was due, if there is no clock, or if another thread ends them.
    ///
    /// # Examples
    ///
    /// In a service that inserts rarely, and asks often:
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// seen.insert("egg")?;
    /// seen.advance_if_due();
    /// assert!(seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn advance_if_due(&self) -> usize {
        let turns = &self.inner.state.turns;
        match &self.timer {
            Some(timer) if timer.is_due() => {
                turns.take_to_change();
                timer.advance_due(
                    |generations| {
                        let removed =
                            by_encoding!(self.inner, table => table.advance_by(generations));
                        self.restart_quota();
                        removed
                    },
                    |mutex| turns.lock(mutex),
                )
            }
            _ => 0,
        }
    }

    /// The number of the present generation: how many have ended. After 2^56 of them it is 0 again.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.advance();
    /// assert_eq!(seen.generation(), 1);
    /// ```
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.inner.figures().clock().number()
    }

    /// How many generations are remembered, the present one among them: N.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.generations(), 4);
    /// ```
    #[must_use]
    pub fn generations(&self) -> u32 {
        self.inner.state.generations().count
    }

    /// After which time a generation [ends](crate::Builder::every), if by time.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.period(), None);
    /// ```
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.timer.as_ref().map(Timer::period)
    }

    /// For how long the present period of the [clock](crate::Builder::every) has lasted, if there is one; zero while
    /// another thread ends a generation. (An `advance` by hand begins no period.) So a restored filter can [go on](Self::set_every) in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10);
    /// assert_eq!(builder.clone().build()?.elapsed(), None);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// assert!(seen.elapsed() < Some(Duration::from_secs(60)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn elapsed(&self) -> Option<Duration> {
        self.timer.as_ref().map(Timer::elapsed)
    }

    /// Each generation ends after this time, by the clock of the machine, as with [`every`](crate::Builder::every) in the
    /// builder: for a filter that was restored. The present generation has lasted for `elapsed` already. If that is a
    /// period or more, the next insert ends as many generations as have passed, or
    /// [`advance_if_due`](Self::advance_if_due).
    ///
    /// If the time of day at which the generation began is kept beside the snapshot, a filter goes on after a restart as
    /// if there had been none. Ask for it after the snapshot: if a generation ends between the two, items are remembered
    /// for up to a period longer, and not for less. With [`Duration::ZERO`] a period begins now: then each restart makes
    /// the window longer, by the time that nobody had the filter and by up to a period; and if restarts are more
    /// frequent than the period, nothing is ever forgotten.
    ///
    /// # Errors
    ///
    /// [`Error::NoTime`]; then nothing has changed.
    ///
    /// # Panics
    ///
    /// On `wasm32-unknown-unknown`, which has no clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use coucal::{ExpiringCuckooFilter, Fp16x4, StableHashBuilder};
    ///
    /// let (minute, hasher) = (Duration::from_secs(60), StableHashBuilder::new(7));
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10).hasher(hasher);
    /// let seen = builder.every(minute).build()?;
    /// seen.insert("egg")?;
    ///
    /// // To be kept:
    /// let bytes = seen.snapshot()?.into_bytes();
    /// let began = SystemTime::now() - seen.elapsed().unwrap_or_default();
    ///
    /// // In another process:
    /// let mut seen: ExpiringCuckooFilter<Fp16x4, _> = ExpiringCuckooFilter::from_bytes(&bytes, hasher)?;
    /// seen.set_every(minute, began.elapsed().unwrap_or_default())?;
    /// assert!(seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn set_every(&mut self, period: Duration, elapsed: Duration) -> Result<(), Error> {
        self.set_every_by(period, elapsed, coarse::clock_for(period))
    }

    /// As [`set_every`](Self::set_every), by a clock of yours, as [`clock`](crate::Builder::clock) in the builder.
    ///
    /// # Errors
    ///
    /// Those of `set_every`.
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
    /// let mut seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// let now = || Duration::from_secs(SECONDS.load(Ordering::SeqCst));
    /// seen.set_every_by(Duration::from_secs(60), Duration::from_secs(50), now)?;
    /// SECONDS.store(10, Ordering::SeqCst);
    /// seen.advance_if_due();
    /// assert_eq!(seen.generation(), 1);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn set_every_by(
        &mut self,
        period: Duration,
        elapsed: Duration,
        now: fn() -> Duration,
    ) -> Result<(), Error> {
        self.timer = Some(Timer::new(period, elapsed, now).ok_or(Error::NoTime)?);
        Ok(())
    }

    /// Each generation ends after this number of new items, as with [`every_items`](crate::Builder::every_items) in the
    /// builder: for a filter that was restored. The present generation gets that number of items from now on.
    ///
    /// # Errors
    ///
    /// [`Error::NoItems`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let mut seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.set_every_items(10)?;
    /// seen.insert_all(0..30)?;
    /// assert_eq!((seen.generation(), seen.items_per_generation()), (3, Some(10)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn set_every_items(&mut self, items: usize) -> Result<(), Error> {
        self.quota = Some(Quota::new(items).ok_or(Error::NoItems)?);
        Ok(())
    }

    /// How many new items a generation gets, if it [ends by their number](crate::Builder::every_items).
    #[must_use]
    pub fn items_per_generation(&self) -> Option<usize> {
        self.quota.as_ref().map(Quota::items)
    }

    /// Whether an insert that finds the filter full makes room from now on: for a filter that was restored. As
    /// [`forget_oldest_when_full`](crate::Builder::forget_oldest_when_full) in the builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let mut seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.set_forget_oldest_when_full(true);
    /// assert!(seen.insert_all(0..1000).is_ok());
    /// ```
    pub fn set_forget_oldest_when_full(&mut self, forgets_oldest: bool) {
        self.forgets_oldest = forgets_oldest;
    }
}

/// Inserts by hash.
impl<L: Storage, S> ExpiringFilter<L, S> {
    #[inline]
    fn insert_with(&self, hash: u64, stamping: Stamping) -> Result<bool, InsertError> {
        self.advance_if_due();
        // Before the item is stored.
        let quota = self.quota.as_ref().map(|quota| (quota, self.inner.state.clock()));
        match by_encoding!(self.inner, table => table.insert_stamped_item(hash, stamping)) {
            Err(InsertError::Full) if self.forgets_oldest => self.insert_in_full(hash, stamping),
            ended => {
                if let (Ok(true), Some((quota, clock))) = (&ended, quota) {
                    self.count_new(quota, 1, clock);
                }
                ended.map_err(InsertError::of_window)
            }
        }
    }

    /// As a batch of one, which makes room.
    #[cold]
    #[inline(never)]
    fn insert_in_full(&self, hash: u64, stamping: Stamping) -> Result<bool, InsertError> {
        let stored = self.insert_many_with(&[Prehashed(hash)], stamping, &mut [false]);
        stored.map(|stored| stored > 0).map_err(|stopped| stopped.cause)
    }

    fn insert_batch<Q: Item<S>>(
        &self,
        items: &[Q],
        stamping: Stamping,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.insert_each(items, key, move |at, key| {
                new[at] = table.insert_with(key, stamping)?;
                Ok(new[at])
            })
        })
    }

    /// A filter that forgets the oldest items ends generations until there is room. Without a bound: as soon as N have
    /// ended, what has no room was inserted by other threads meanwhile.
    fn insert_many_with<Q: Item<S>>(
        &self,
        items: &[Q],
        stamping: Stamping,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        // So a generation gets no more from one batch than it gets in all.
        let most = self.items_per_generation().unwrap_or(usize::MAX).min(operations::BATCH);
        let (mut index, mut stored) = (0, 0);
        while index < items.len() {
            self.advance_if_due();
            // Before the table is looked at: where another thread has made room since then, this one makes no more.
            let clock = self.inner.state.clock();
            let end = items.len().min(index + most);
            let ended = self.insert_batch(&items[index..end], stamping, &mut new[index..end]);
            if let Some(quota) = &self.quota {
                let of_batch =
                    ended.as_ref().map_or_else(|stopped| stopped.stored, |&stored| stored);
                self.count_new(quota, of_batch, clock);
            }
            match ended {
                Ok(of_batch) => {
                    index = end;
                    stored += of_batch;
                }
                Err(stopped) if self.forgets_oldest && stopped.cause == InsertError::Full => {
                    index += stopped.index;
                    stored += stopped.stored;
                    if self
                        .measured(|| by_encoding!(self.inner, table => table.advance_from(clock)))
                    {
                        // Relaxed: a number that orders nothing.
                        self.early_advances.fetch_add(1, Ordering::Relaxed);
                        self.restart_quota();
                    }
                }
                Err(stopped) => {
                    let cause = stopped.cause.of_window();
                    return Err(Stopped { cause, ..stopped }.after(index, stored));
                }
            }
        }
        Ok(stored)
    }

    fn insert_all_with<I>(&self, items: I, stamping: Stamping) -> Result<usize, Error>
    where
        I: IntoIterator<Item: Item<S>>,
    {
        let hashed = items.into_iter().map(|item| Prehashed(self.hash_of(&item)));
        let inserted = operations::insert_in_batches(hashed, |batch| {
            self.insert_many_with(batch, stamping, &mut [false; operations::BATCH])
        });
        Ok(inserted?)
    }
}

/// Figures.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Whether it does more than a snapshot has.
    #[cfg(feature = "serde")]
    pub(crate) fn forgets_by_itself(&self) -> bool {
        self.timer.is_some() || self.quota.is_some() || self.forgets_oldest
    }

    pub(crate) fn from_inner(inner: Inner<L, ValueBits, S>) -> Self {
        let early_advances = AtomicU64::new(0);
        Self { inner, timer: None, quota: None, forgets_oldest: false, early_advances }
    }

    forward_to_inner! {
        /// The name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the one that is in use.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.layout_name(), "Fp16x4");
        /// ```
        pub fn layout_name(&self) -> &'static str;

        /// The number of items that are remembered. Those that the filter cannot tell apart count as one. As exact as
        /// [`CuckooFilter::len`](crate::CuckooFilter::len), and takes no lock; in a filter that grows, an item that was
        /// stored before a split [doubled](crate#growth) its entry, and was inserted again since, may count twice for N
        /// generations.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// seen.insert_all(["egg", "egg", "nest"])?;
        /// assert_eq!(seen.len(), 2);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn len(&self) -> usize;

        /// Whether no item is remembered; as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert!(seen.is_empty());
        /// ```
        pub fn is_empty(&self) -> bool;

        /// The number of items, of all generations together, that the filter was built for, or [`len`](Self::len) if it
        /// holds more. In a growable filter: for its present size, as
        /// [`CuckooFilter::capacity`](crate::CuckooFilter::capacity).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.capacity(), 100);
        /// ```
        pub fn capacity(&self) -> usize;

        /// The number of slots of the table; in a growable filter, at its present size.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert!(seen.slots() > 100);
        /// ```
        pub fn slots(&self) -> usize;

        /// The share of slots in use, from 0 to 1; as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// seen.insert("egg")?;
        /// assert_eq!(seen.load_factor(), 1.0 / seen.slots() as f64);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn load_factor(&self) -> f64;

        /// How full the filter is: its entries in proportion to the number of items that it was built for, or to its
        /// [maximum capacity](ExpiringCuckooFilter::max_capacity). As
        /// [`CuckooFilter::fullness`](crate::CuckooFilter::fullness).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// seen.insert("egg")?;
        /// assert_eq!(seen.fullness(), 0.01);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn fullness(&self) -> f64;

        /// The share of items not seen within the window that [`contains`](Self::contains) is expected to find now, at
        /// the most: the mean number of entries that match such an item.
        ///
        /// In a growable filter it is an estimate, as
        /// [`CuckooFilter::false_positive_rate`](crate::CuckooFilter::false_positive_rate).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.false_positive_rate(), 0.0);
        /// seen.insert("egg")?;
        /// assert!(seen.false_positive_rate() < 0.000_1);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate(&self) -> f64;

        /// The hasher of the items.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::hash::BuildHasher;
        ///
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.hasher().hash_one("egg"), seen.hash_of("egg"));
        /// ```
        pub fn hasher(&self) -> &S;
    }

    /// The memory of the filter in bytes: itself, and all that it has allocated, without what the hasher owns on the
    /// heap.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert!(seen.memory_bytes() < 1024);
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.inner.figures().heap_bytes()
    }

    /// Forgets all items that were inserted before the call. The generation stays the same.
    ///
    /// Blocks as [`CuckooFilter::clear`](crate::CuckooFilter::clear) does; lookups go on.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// seen.clear();
    /// assert!(seen.is_empty() && !seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn clear(&self) {
        self.inner.state.clear();
    }

    /// Figures for watching the filter. Takes no lock.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.stats().early_advances, 0);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        // Relaxed: a number that orders nothing.
        let early_advances = self.early_advances.load(Ordering::Relaxed);
        let longest_sweep = self.timer.as_ref().map(Timer::longest_sweep).unwrap_or_default();
        Stats { early_advances, longest_sweep, ..self.inner.stats() }
    }
}

/// Growth.
impl<L: GrowingLayout, S> ExpiringFilter<Growable<L>, S> {
    forward_to_inner! {
        /// The maximum capacity: the number of items, of all generations together, that the filter holds at its maximum
        /// size. As [`CuckooMaplet::max_capacity`](crate::CuckooMaplet::max_capacity).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::ExpiringCuckooFilter;
        ///
        /// let seen = ExpiringCuckooFilter::builder().max_capacity(1000).generations(4).build()?;
        /// assert_eq!(seen.max_capacity(), 1000);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// The [rate](Self::false_positive_rate) that is expected when the filter holds this number of items, if it
        /// grew from its first size with them. A filter in which items were forgotten since it grew has a lower one. As
        /// [`CuckooFilter::false_positive_rate_at`](crate::CuckooFilter::false_positive_rate_at).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableExpiringCuckooFilter;
        ///
        /// let seen = GrowableExpiringCuckooFilter::new(4);
        /// let [now, then] = [1000, 1_000_000].map(|items| seen.false_positive_rate_at(items));
        /// assert!(now < then && then < 0.02);
        /// ```
        pub fn false_positive_rate_at(&self, items: usize) -> f64;
    }

    /// Grows until the table has room for `additional` more items. Inserting them then splits nothing.
    ///
    /// Blocks as [`CuckooFilter::reserve`](crate::CuckooFilter::reserve) does.
    ///
    /// # Errors
    ///
    /// [`Error::AboveMaxCapacity`], [`Error::OutOfMemory`] and [`Error::Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableExpiringCuckooFilter;
    ///
    /// let seen = GrowableExpiringCuckooFilter::new(4);
    /// seen.reserve(5000)?;
    /// assert!(seen.capacity() >= 5000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.inner.reserve(additional)
    }
}

/// Snapshots.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// An exact copy of the filter as it is at one instant, with a clone of the hasher, and with the same
    /// [clock](crate::Builder::every): changes of one do not reach the other. (Not `Clone`: it may fail, and it waits.)
    ///
    /// What is in it, what it blocks, and what it takes meanwhile is the same as for [`snapshot`](Self::snapshot), and some
    /// 80 bytes more for each stashed entry.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the filter is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 2);
    /// seen.insert("egg")?;
    /// let copy = seen.try_clone()?;
    /// copy.clear();
    /// assert!(seen.contains("egg") && !copy.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, Error>
    where
        S: Clone,
    {
        let inner = self.inner.try_clone()?;
        let timer = self.timer.as_ref().map(Timer::copy);
        let quota = self.quota.as_ref().map(Quota::copy);
        Ok(Self { timer, quota, forgets_oldest: self.forgets_oldest, ..Self::from_inner(inner) })
    }
}

/// Snapshots.
impl<L: Storage, S: ComparedHasher> ExpiringFilter<L, S> {
    /// The filter as it is at one instant between the call and its return, with the present generation and their
    /// number. The [clock](crate::Builder::every) of the machine is not in it, and neither is the hasher.
    ///
    /// What it takes, and who waits for it, is the same as for
    /// [`CuckooFilter::snapshot`](crate::CuckooFilter::snapshot). At its end it waits for an
    /// [`advance`](Self::advance).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the filter is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{ExpiringCuckooFilter, Fp16x4, StableHashBuilder};
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity_and_hasher(100, 4, StableHashBuilder::new(7));
    /// seen.insert("egg")?;
    /// seen.advance();
    /// let bytes = seen.snapshot()?.into_bytes();
    ///
    /// // In another process:
    /// let seen: ExpiringCuckooFilter<Fp16x4, _> =
    ///     ExpiringCuckooFilter::from_bytes(&bytes, StableHashBuilder::new(7))?;
    /// assert_eq!((seen.generation(), seen.age("egg")), (1, Some(1)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.inner.snapshot()
    }

    /// Restores the filter of a snapshot that [`Snapshot::as_bytes`] gave. Reads the snapshot in steps of 8 KiB, and
    /// not a byte more, and validates every byte.
    ///
    /// It goes on in the generation of the snapshot, without a clock: [`set_every`](Self::set_every) gives it one, with the
    /// time that has passed; or [advance](Self::advance) it as often as generations have. It is
    /// [full](Self::set_forget_oldest_when_full) when it is full.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::restore`](crate::CuckooFilter::restore); [`Error::OtherType`] for the snapshot of a
    /// filter or a maplet.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::fs::File;
    /// use coucal::{AnyExpiringCuckooFilter, ExpiringCuckooFilter, StableHashBuilder};
    ///
    /// let file = File::open("seen.coucal")?;
    /// let seen: AnyExpiringCuckooFilter<_> =
    ///     ExpiringCuckooFilter::restore(file, StableHashBuilder::new(7))?;
    /// println!("{} items", seen.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(reader: impl Read, hasher: S) -> Result<Self, Error> {
        Inner::restore(reader, hasher, Content::Stamped).map(Self::from_inner)
    }

    /// As [`restore`](Self::restore), from bytes that are a snapshot and nothing else.
    ///
    /// # Errors
    ///
    /// The same, and [`Error::TrailingBytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Error, ExpiringCuckooFilter, Fp16x4, StableHashBuilder};
    ///
    /// let hasher = StableHashBuilder::new(7);
    /// let bytes = ExpiringCuckooFilter::with_capacity_and_hasher(100, 4, hasher).snapshot()?.into_bytes();
    /// assert!(ExpiringCuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher).is_ok());
    /// let other = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher);
    /// assert_eq!(other.unwrap_err(), Error::OtherType { name: "ExpiringCuckooFilter" });
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, Error> {
        Inner::from_bytes(bytes, hasher, Content::Stamped).map(Self::from_inner)
    }

    /// The filter of a snapshot, as [`restore`](Self::restore) makes it.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot); [`Error::OtherType`] for the
    /// snapshot of a filter or a maplet.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.insert("egg")?;
    /// let hasher = seen.hasher().clone();
    /// let copy: ExpiringCuckooFilter = ExpiringCuckooFilter::from_snapshot(&seen.snapshot()?, hasher)?;
    /// assert!(copy.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_snapshot(snapshot: &Snapshot, hasher: S) -> Result<Self, Error> {
        Inner::from_snapshot(snapshot, hasher, Content::Stamped).map(Self::from_inner)
    }
}

#[cfg(feature = "serde")]
crate::snapshot::serde::by_snapshot! {
    ExpiringFilter {
    ///
    /// If it has a [clock](crate::Builder::every), or [forgets the oldest items](crate::Builder::forget_oldest_when_full):
    /// neither is in a snapshot. Serialize the `snapshot`, and give the restored filter its clock by
    /// [`set_every`](Self::set_every), and the other by
    /// [`set_forget_oldest_when_full`](Self::set_forget_oldest_when_full).
    unless forgets_by_itself: "this filter forgets by a clock or when it is full, and that would be lost: \
        serialize its `snapshot()`, and call `set_every` or `set_forget_oldest_when_full` of the restored filter"
    }
}

impl<L: Storage, S> fmt::Debug for ExpiringFilter<L, S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.print("ExpiringCuckooFilter", self.memory_bytes(), f)
    }
}
