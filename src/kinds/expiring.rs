//! The public types of expiring filters: they hash items, call the table, and end generations by a clock or a count.
//!
//! **Invariant:** each item in the table was inserted in one of the generations that are remembered, or the `advance`
//! that removes it has not returned yet.

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
use crate::layout::{Fp16x4, Fp21x3};
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::sync::{AtomicU64, Ordering};
use crate::table::placing::entry::ValueBits;
use crate::table::whole::generations::{Clock, Stamping};

/// The type behind [`ExpiringCuckooFilter`] and [`GrowableExpiringCuckooFilter`]: an expiring filter with the storage
/// `L`.
///
/// `ExpiringCuckooFilter<L, S>` is `ExpiringFilter<Fixed<L>, S>`, and `GrowableExpiringCuckooFilter<L, S>` is
/// `ExpiringFilter<Growable<L>, S>`. Write these names, unless your code takes [both](crate::Filter).
pub struct ExpiringFilter<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, ValueBits, S>,
    pub(crate) timer: Option<Timer>,
    /// The number of new items after which a generation ends, if it is set, and the count of new items.
    quota: Option<Quota>,
    /// Whether an insert that finds the filter full ends generations to make room.
    forgets_oldest: bool,
    ended: Ended,
}

/// The numbers of generations that ended early to make room, by the number of new items, and by the clock.
#[derive(Default)]
struct Ended {
    early: AtomicU64,
    counted: AtomicU64,
    timed: AtomicU64,
}

/// An expiring filter: it answers "was this seen lately?" for many threads, in one table.
///
/// In a struct, write `seen: ExpiringCuckooFilter`, for items of any type. With another hasher or layout, [name them in
/// the type](crate#the-type-of-a-filter).
///
/// Time passes in *generations*. The filter remembers N of them, the present one included; N is from 2 to 256.
/// [`advance`](ExpiringCuckooFilter::advance) forgets the oldest generation and begins the next one. Call it from a
/// thread, or from an interval of your async runtime. Or let inserts call it [as time passes](#time), or [after a
/// number of new items](#a-window-of-items). The N remembered generations are the *window*. An item belongs to the
/// generation of its last [`insert`](ExpiringCuckooFilter::insert). With
/// [`insert_if_absent`](ExpiringCuckooFilter::insert_if_absent), it belongs to the generation of its first insert
/// within the window.
///
/// All methods take `&self`: put the filter into an [`Arc`](std::sync::Arc) or lend it to scoped threads. Items with
/// equal hashes are equal, as in a [`CuckooFilter`](crate::CuckooFilter). If your code panics, the filter stays valid.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]; `S` is the hasher of the items.
///
/// # Guarantees
///
/// * **Remembered**: an item outlives the N - 1 calls of `advance` that follow its insert. (Exactly: let n calls of
///   `advance` have returned when the insert was called. Then the item is found from the return of the insert until
///   call n + N of `advance` begins. Every lookup finds it, whatever other threads do.)
/// * **Forgotten**: let N calls of `advance` begin after the last insert of an item has returned. When they have
///   returned, the item is found no more often than one that was never inserted. One exception: in a growing filter, an
///   item that was inserted when the filter was much smaller is found several times as often. Its entry has few bits,
///   so it may match another item: then the entry is remembered as long as that other item.
/// * **Few others**: an item that was not seen is found at the [rate](ExpiringCuckooFilter::false_positive_rate) of a
///   maplet. Only the items of the window determine this rate. [`insert`](ExpiringCuckooFilter::insert) makes the same
///   mistake: it takes such an item for seen. In a [growing filter](GrowableExpiringCuckooFilter#layouts) with 16
///   generations, ten million items, and defaults otherwise, the rate is one in 900.
/// * **One `true`**: if several threads insert a new item at once, exactly one of them gets `true`.
/// * **Lookups are wait-free**: [`contains`](ExpiringCuckooFilter::contains) takes a bounded number of steps, whatever
///   other threads do, even if one is stopped in the middle of an `advance`. Lookups do not know of generations: they
///   find everything that is in the table.
/// * **Linearizable**: `insert`, `insert_if_absent` and `contains` each take effect at one instant between call and
///   return. An insert belongs to the generation of that instant, or to the generation before if that one ended during
///   the call. An `advance` forgets one item after the other, and then begins the next generation at one instant.
/// * **Nothing is lost**: an insert that fails stores nothing. It forgets only generations that are due, or that end
///   because the filter is [full](crate::Builder::forget_oldest_when_full).
/// * **Memory does not rise** with time. A filter of fixed size keeps its size. A growing filter keeps the size that
///   its largest number of items at one time needed.
///
/// # What blocks
///
/// Where a cell says *as `insert_if_absent`*, read the row of that operation in the [table of all
/// operations](crate::design#what-each-operation-waits-for). The rows of `get`, `replace` and `remove_value` are in the
/// table of [maplets](crate::CuckooMaplet#what-blocks).
///
/// | operation | waits for | holds |
/// |---|---|---|
/// | `contains` | as `contains`: nobody | nothing |
/// | `age` | as `get`, but never for the allocator | the same |
/// | `insert`, item of the present generation | mostly nobody. If the item is stashed, or is moved meanwhile: as `age`. If also one of its buckets has a free slot: two stripes | nothing; or these two, for loads of their words |
/// | `insert` of any other item, `insert_if_absent` | as `insert_if_absent`; for an item of an older generation as `replace`; again if another thread changed the item first | the same |
/// | `advance` | as `remove_value` | the same |
/// | with a clock, also: an insert that finds a generation due, while no thread advances | as `advance`; after N generations as `clear` | the same |
/// | the same, while another thread advances | if that thread ends several generations: that thread; if it ends one: nobody, except for a moment at the beginning and at the end of its advance | nothing |
/// | with `every_items` or `forget_oldest_when_full`, also: an insert that ends a generation | as `advance` | the same |
///
/// # Why nothing can be removed
///
/// Items that a filter cannot tell apart share one entry, as with [`insert_if_absent`](crate#which-insert). If one of
/// them could be removed, lookups would miss the others within their window. For the same reason two expiring filters
/// cannot be merged. [`clear`](ExpiringCuckooFilter::clear) forgets all items. (If you must remove items, use a maplet
/// whose values are generations, with [one pair for each insert](crate::CuckooMaplet::insert):
/// [`remove_value`](crate::CuckooMaplet::remove_value) forgets a generation.)
///
/// # Time
///
/// With [`every`](crate::Builder::every), "remember for ten minutes" is one line. It needs no thread: each insert reads
/// the clock first. If a generation is due, the insert advances before it stores anything.
///
/// * **Remembered**: if only the clock ends generations, an item is found for at least (N - 1) periods after its insert
///   was called, by the clock.
/// * **Forgotten**: when N periods have passed since the insert of an item returned, the next insert of any item
///   forgets it first. In two cases all remembered items are forgotten later; the delay is mostly as long as one or two
///   advances take: (a) another thread inserts during the advance that ends a generation, so the next period begins
///   when that advance ends; (b) a sweep would begin too soon after another one (see below).
/// * **One thread advances**, and the others go on. An insert waits for the end of the advance only if nobody has
///   inserted for a whole period. Otherwise it waits as [every writer](#what-an-advance-costs) does during an advance.
/// * **A period shorter than a sweep** gets longer: the time between two [sweeps](#what-an-advance-costs) is at least
///   the time that the first one took, or one period if that is less. (Otherwise inserts would only sweep.) An item is
///   still remembered as long as promised, or longer. So choose a period that is several times as long as a sweep.
///   [`stats`](ExpiringCuckooFilter::stats) says how long the [longest sweep](crate::Stats::longest_sweep) was.
/// * **Lookups do not read the clock.** If nobody inserts, nothing is forgotten: call
///   [`advance_if_due`](ExpiringCuckooFilter::advance_if_due) before a lookup that matters, or from a thread of your
///   own. The first insert after a pause ends all generations that have passed. If these are N or more, it
///   [clears](ExpiringCuckooFilter::clear) the filter.
/// * **Other ends of a generation** (an `advance` by hand, [`every_items`](crate::Builder::every_items), a full filter)
///   do not begin a new period: the generation that follows ends when the present period ends. So each such end makes
///   the window up to one period shorter.
/// * **The clock** is an [`Instant`](std::time::Instant). But on Linux, for periods of one second or more, it is the
///   coarse clock of the system, which advances in steps of 1 to 10 ms: an item may be forgotten up to a step too
///   early. You can also give [a clock of your own](crate::Builder::clock).
/// * **While a machine sleeps, the default clock stands still** (on Linux and macOS), so items are remembered that much
///   longer. If this matters, give [`clock`](crate::Builder::clock) a function that counts the time asleep, for example
///   one that reads `CLOCK_BOOTTIME`.
/// * **Windows that start together end together**: one `advance` forgets all items whose windows began in the same
///   generation, and then all of them are new at once. With more generations, fewer items share a generation.
/// * **Cost**: in a table that fits into the cache, reading the coarse clock adds some 5 ns to an insert, and reading
///   an `Instant` 35 to 40 ns. Without a clock, an insert takes 10 ns (a hot item) or 100 ns (a new item). (The times
///   on this page are those of `docs/performance.md` in the repository.) The exact clock keeps a processor from reading
///   the table ahead. A [batch](ExpiringCuckooFilter::insert_many) reads the clock once for 256 items, and after the
///   end of a generation. If this costs too much, leave `every` out, and call `advance` from a thread.
/// * **After a restore**: a filter that is restored from a snapshot has no clock until you call
///   [`set_every`](ExpiringCuckooFilter::set_every) with the time that has passed.
///
/// # A window of items
///
/// With [`every_items`](crate::Builder::every_items), a generation ends after `items` new items: "remember the last ten
/// thousand" is one line, too. If one thread inserts, one by one or in batches, the filter remembers at least the last
/// (N - 1) · `items` new items, and at most N · `items` of them.
///
/// An item that is inserted again within the window moves to the present generation, and does not count as new. So with
/// such items, the filter may hold more than N · `items` items. If it may become full, let it [forget the oldest
/// generation then](crate::Builder::forget_oldest_when_full). But if nearly all items of a full filter come again
/// within one generation, they all belong to the present generation, and the next new item makes the filter forget all
/// of them at once. So build the filter with room for twice as many items as come again within a generation.
///
/// An example: a filter with room for 12,000 items got new items and old ones in turn, and each old item had been
/// inserted 9,000 inserts before. None of these was forgotten. Once the filter had been full, it always remembered at
/// least 9,544 items with four generations, and 11,544 with twelve. (The test `a_window_of_ten_thousand_items` prints
/// these figures.)
///
/// If items that come again must count, too, call [`advance`](ExpiringCuckooFilter::advance) yourself after a number of
/// inserts.
///
/// **Cost**: an insert of a new item adds to a counter that all threads share.
///
/// **After a restore**: a filter that is restored from a snapshot does not count new items until you call
/// [`set_every_items`](ExpiringCuckooFilter::set_every_items).
///
/// # What an advance costs
///
/// An advance reads the table once: this is a *sweep*. It holds one stripe (a group of buckets) at a time, for 512
/// buckets: so a writer that needs this stripe waits for some microseconds. An insert that kicks or splits may sweep
/// some stripes itself. An advance takes longest with 2 generations: then it forgets half of the items. In 2^24 slots
/// of the default layout it takes some 90 ms with 2 generations, 30 ms with 16, and 7 ms with 256. Other threads go on,
/// but an insert that advances takes this much longer. If no insert may take so long, do one of these:
///
/// * Call `advance_if_due` from a thread of your own, more often than once a period, so that this call comes before any
///   insert. (In tokio, call `spawn_blocking(move || seen.advance_if_due())` after each tick of an `interval`.)
/// * Use several filters, one for each shard of the items, and advance them one after the other. Then each sweep is
///   short.
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
///             std::thread::sleep(Duration::from_millis(1)); // in practice, a minute
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
/// The idea of keeping a few generations of items in one filter comes from Shtul, Baquero, Almeida, "Age-Partitioned
/// Bloom Filters" (2020). The table is that of a [maplet](crate::CuckooMaplet#sources) whose values are the
/// generations.
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
///
/// In a struct, write `seen: AnyExpiringCuckooFilter`, or add [a hasher](crate#the-type-of-a-filter).
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
///
/// In a struct, write `seen: GrowableExpiringCuckooFilter`. With another hasher or layout, [name them in the
/// type](crate#the-type-of-a-filter).
///
/// [`new`](GrowableExpiringCuckooFilter::new) needs no size. The type has the
/// [methods](ExpiringCuckooFilter#implementations) of an `ExpiringCuckooFilter`, and also
/// [`reserve`](ExpiringCuckooFilter::reserve), [`max_capacity`](ExpiringCuckooFilter::max_capacity) and
/// [`false_positive_rate_at`](ExpiringCuckooFilter::false_positive_rate_at).
///
/// # Layouts
///
/// The default layout is [`Fp21x3`]. It has room for every number of generations, and growth does not end early. With
/// ten million items in the window, it takes 28 to 29 bits per item, and these shares of the unseen items count as
/// seen:
///
/// | generations | false positives |
/// |---|---|
/// | 2 | 0.014 % |
/// | 3 or 4 | 0.028 % |
/// | 5 to 8 | 0.057 % |
/// | 9 to 16 | 0.11 % |
/// | 17 to 32 | 0.23 % |
/// | 33 to 64 | 0.46 % |
/// | 65 to 128 | 0.93 % |
/// | 129 to 256 | 1.9 % |
///
/// For fewer false positives, above all with more than 64 generations, name [`Fp32x2`](crate::Fp32x2): 47 bits per
/// item, and 0.0006 % or less with ten million items. Or set a [rate](crate::Builder::false_positive_rate) and call
/// [`any_layout`](crate::Builder::any_layout), which [chooses the
/// layout](AnyLayout#growing-maplets-and-expiring-filters).
///
/// [`Fp16x4`] needs a quarter less memory than `Fp21x3`, but has some forty times as many false positives: with 8
/// generations and ten million items, one unseen item in 40 counts as seen. With a
/// [capacity](crate::Builder::capacity) for the items of a whole window it is one in 400, because then the filter does
/// not double. Without a capacity and a maximum, it has room for up to 16 generations.
///
/// ```
/// use coucal::{Fp16x4, Fp32x2, GrowableExpiringCuckooFilter};
///
/// let builder = GrowableExpiringCuckooFilter::builder();
/// let [eight, all] = [8, 256].map(|generations| builder.clone().generations(generations));
/// let wide = all.clone().layout::<Fp32x2>();
/// let small = eight.clone().layout::<Fp16x4>();
/// let of_window = small.clone().capacity(10_000_000);
/// for (figures, rate, bits) in [
///     (eight.figures(10_000_000)?, 0.000_57, 29.5),
///     (all.figures(10_000_000)?, 0.019_3, 29.5),
///     (wide.figures(10_000_000)?, 0.000_006, 47.5),
///     (small.figures(10_000_000)?, 0.024_7, 23.0),
///     (of_window.figures(10_000_000)?, 0.002_48, 23.0),
/// ] {
///     assert!((0.9 * rate..1.1 * rate).contains(&figures.false_positive_rate), "{figures:?}");
///     assert!(figures.bits_per_item < bits);
/// }
/// # Ok::<(), coucal::Error>(())
/// ```
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
pub type GrowableExpiringCuckooFilter<L = Fp21x3, S = DefaultHashBuilder> =
    ExpiringFilter<Growable<L>, S>;

/// Checks that a generation can end after `items` new items. If `room` is given, N - 1 of the N `generations` must fit
/// into it.
fn check_items_per_generation(
    items: usize,
    generations: u32,
    room: Option<usize>,
) -> Result<(), Error> {
    let max = room.map_or(usize::MAX, |room| (room / (generations as usize - 1)).max(1));
    if !(1..=max).contains(&items) {
        return Err(Error::ItemsPerGenerationOutOfRange { items, max });
    }
    Ok(())
}

/// Operations on items.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Remembers `item` from now on, in the present generation, and returns whether it is new. `Ok(true)`: the item was
    /// not seen within the window. `Ok(false)`: the item was seen, or is a [false positive](Self::false_positive_rate).
    ///
    /// Takes no lock if (a) the item belongs to the present generation already, (b) it is in one of its buckets, and
    /// (c) no thread is moving it. Otherwise it waits while another thread writes to the stripes of the two buckets of
    /// the item. To store a new item, it may also kick entries, use the [stash](crate#the-stash) or grow the table, and
    /// wait for other threads there. An insert that ends a generation (by the [clock](crate::Builder::every), by
    /// [`every_items`](crate::Builder::every_items), or to make room) waits as [`advance`](Self::advance) does. See
    /// [what blocks](ExpiringCuckooFilter#what-blocks).
    ///
    /// # Errors
    ///
    /// [`Error::WindowFull`] and [`Error::NoMemoryToStore`]. Then nothing has changed, except that generations have
    /// ended: those that were due, or that had to make room. A filter that [forgets the oldest
    /// items](crate::Builder::forget_oldest_when_full) is never full.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 2);
    /// assert!(seen.insert("egg")?);
    /// seen.advance();
    /// assert!(!seen.insert("egg")?); // remembered from now on
    /// seen.advance();
    /// assert!(seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert<Q: Item<S> + ?Sized>(&self, item: &Q) -> Result<bool, Error> {
        Ok(self.insert_with(self.hash_of(item), Stamping::Always)?)
    }

    /// Remembers `item` unless it was seen within the window. `Ok(true)`: the item was not seen. `Ok(false)`: the item
    /// was seen, and this call does not change when it is forgotten.
    ///
    /// So an item that comes again and again is new once in N generations. With [`insert`](Self::insert) it is new only
    /// once.
    ///
    /// **A false positive is not remembered for itself.** If the filter takes a new item for another one, the answer is
    /// `Ok(false)`, and the new item is forgotten together with that other one: up to N - 1 generations too early.
    /// ([`insert`](Self::insert) remembers both for a whole window from now on.)
    ///
    /// Takes no lock if the item is in one of its buckets and is not being moved, and no generation is due. Otherwise
    /// it waits for the same threads as `insert` does: see [what blocks](ExpiringCuckooFilter#what-blocks).
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
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

    /// Returns whether `item` was seen within the window. `false` is certain. `true` may be wrong, at [the rate that
    /// the filter states](Self::false_positive_rate).
    ///
    /// Wait-free: a bounded number of steps, whatever other threads do, with no lock and no store. (One exception: it
    /// counts the rare inconclusive lookups for [`stats`](Self::stats).) It does not read a
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

    /// Returns the age of `item` in generations: from 0, if it belongs to the present generation, up to N - 1. Returns
    /// `None` if it was not seen within the window. `None` is certain; another answer may be that of a [false
    /// positive](Self::false_positive_rate). [`insert`](Self::insert) sets the age to 0.
    /// [`insert_if_absent`](Self::insert_if_absent) does so only for a new item. Like [`contains`](Self::contains),
    /// this call does not read the [clock](ExpiringCuckooFilter#time): generations that have passed since the last
    /// insert do not count.
    ///
    /// If the item shares an entry with other items, the age is that of the entry. If a generation ends during the
    /// call, the call starts over. After eight rounds it returns the age that it read in the last one.
    ///
    /// Takes no lock, except where [`get`](crate::CuckooMaplet::get) of a maplet does: see [what
    /// blocks](ExpiringCuckooFilter#what-blocks).
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

    /// Remembers each item from now on, in order, until an insert fails. Writes to `new` whether each item was not seen
    /// within the window, and returns the number of such items. This is [`insert`](Self::insert) for a batch, and hides
    /// the latency of memory in a filter larger than the cache. If the batch has an item twice, the second one is not
    /// new, unless the window of the first one has ended in between.
    ///
    /// The batch is not atomic: it is one call of `insert` for each item, and waits as such a call does.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is inserted.
    ///
    /// [`Error::Stopped`] if an item could not be stored. The items before its index are remembered, and `new` has
    /// their answers. The rest of `new` is as it was.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed in batches of 256, so up to 255 items before
    /// this one are not stored either. If `new` was all `false` before the call, it shows which items were new
    /// and stored. The filter stays valid.
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

    /// Remembers each item that was not seen within the window, in order, until an insert fails. This is
    /// [`insert_if_absent`](Self::insert_if_absent) for a batch; otherwise it works as
    /// [`insert_many`](Self::insert_many).
    ///
    /// # Errors
    ///
    /// Those of [`insert_many`](Self::insert_many).
    ///
    /// # Panics
    ///
    /// In the cases of [`insert_many`](Self::insert_many).
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

    /// Remembers each item of an iterator from now on, in order, until an insert fails. Returns how many items were not
    /// seen within the window.
    ///
    /// It takes up to 256 items from the iterator, hashes them, inserts them as one batch, and goes on with the next
    /// 256 items. No lock is held while the iterator runs, so the iterator may use the filter. For each item, the call
    /// waits as [`insert`](Self::insert) does.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it has the index of the item that could not be stored, and says how many of the items before
    /// it were [new](Error::stored). The iterator may have given up to 255 items after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// If the iterator or the [`Hash`] implementation of an item panics. Up to 255 items that the iterator gave before
    /// are not stored either. The filter stays valid.
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

    /// Remembers each item of an iterator that was not seen within the window, in order, until an insert fails. This is
    /// [`insert_if_absent`](Self::insert_if_absent) for an iterator; otherwise it works as
    /// [`insert_all`](Self::insert_all).
    ///
    /// # Errors
    ///
    /// Those of [`insert_all`](Self::insert_all).
    ///
    /// # Panics
    ///
    /// In the cases of [`insert_all`](Self::insert_all).
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

    /// Writes to `found` whether each item was seen within the window. This is [`contains`](Self::contains) for a
    /// batch, and hides the latency of memory in a filter larger than the cache. The batch is not atomic: it is one
    /// lookup for each item.
    ///
    /// Wait-free, as `contains` is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Returns the answers of [`contains_many`](Self::contains_many) in a new vector.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the vector.
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
        // This fails only if the numbers of items and of answers differ.
        let _ = self.contains_many(items, &mut found);
        found
    }

    /// Writes to `ages` the age of each item. This is [`age`](Self::age) for a batch, and hides the latency of memory
    /// in a filter larger than the cache. The batch is not atomic: it is one lookup for each item, and takes locks only
    /// in the rare case in which `age` does.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Returns the answers of [`age_many`](Self::age_many) in a new vector.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the vector.
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
        // This fails only if the numbers of items and of answers differ.
        let _ = self.age_many(items, &mut ages);
        ages
    }

    /// Returns the 64-bit hash of `item`, for [`Prehashed`](crate::Prehashed): compute it once, and use it often.
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
    #[must_use]
    pub fn hash_of<Q: Item<S> + ?Sized>(&self, item: &Q) -> u64 {
        item.hash_with(&self.inner.hasher)
    }
}

/// Generations.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Forgets the oldest generation, and begins the next one. Returns how many items were forgotten.
    ///
    /// It reads the whole table: see [what it costs](ExpiringCuckooFilter#what-an-advance-costs). Other threads go on
    /// meanwhile. It waits for another `advance`, for a [`clear`](Self::clear), and for the end of a
    /// [`snapshot`](Self::snapshot). It also waits at each stripe while another thread writes there: see [what
    /// blocks](ExpiringCuckooFilter#what-blocks).
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
        self.measured(|| {
            let removed = by_encoding!(self.inner, table => table.advance_by(1));
            self.restart_quota();
            removed
        })
    }

    /// Resets the count of new items, unless it is the count that has ended the generation.
    fn restart_quota(&self) {
        if let Some(quota) = &self.quota {
            quota.restart();
        }
    }

    /// Counts `stored` new items, and ends the generation that these items complete. `clock` was read before they were
    /// stored.
    fn count_new(&self, quota: &Quota, stored: usize, clock: Clock) {
        quota.count(stored, || {
            self.inner.state.turns.take_locked();
            self.advance_from(clock, &self.ended.counted);
        });
    }

    /// Ends the generation of `clock`, and adds one to `counter`, unless another thread has ended this generation.
    fn advance_from(&self, clock: Clock, counter: &AtomicU64) {
        self.measured(|| {
            if by_encoding!(self.inner, table => table.advance_from(clock)) {
                // Relaxed, as for all counters of `Ended`: a number that orders nothing.
                counter.fetch_add(1, Ordering::Relaxed);
                self.restart_quota();
            }
        });
    }

    /// Calls `sweep`, and notes its duration if there is a clock. The clock may panic after the sweep: `sweep` does all
    /// that must be done for a generation that has ended.
    fn measured<T>(&self, sweep: impl FnOnce() -> T) -> T {
        match &self.timer {
            Some(timer) => timer.measure(sweep),
            None => sweep(),
        }
    }

    /// Ends the generations that have passed by the [clock](crate::Builder::every), as an insert does. Returns how many
    /// items were forgotten: 0 if no generation was due, if there is no clock, or if another thread ends the
    /// generations.
    ///
    /// If this call ends generations, it waits as [`advance`](Self::advance) does. While another thread ends several,
    /// this call waits for that thread: see [what blocks](ExpiringCuckooFilter#what-blocks).
    ///
    /// # Examples
    ///
    /// For a service with few inserts and many lookups, since lookups do not read the clock:
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// static SECONDS: AtomicU64 = AtomicU64::new(0);
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10);
    /// let builder = builder.every(Duration::from_secs(60));
    /// let seen = builder.clock(|| Duration::from_secs(SECONDS.load(Ordering::SeqCst))).build()?;
    /// seen.insert("egg")?;
    /// SECONDS.store(600, Ordering::SeqCst);
    /// assert!(seen.contains("egg"));
    /// assert_eq!(seen.advance_if_due(), 1);
    /// assert!(!seen.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn advance_if_due(&self) -> usize {
        match &self.timer {
            Some(timer) if timer.is_due() => self.advance_due(timer),
            _ => 0,
        }
    }

    /// Ends the generations that are due. Outlined: this path is cold.
    #[cold]
    #[inline(never)]
    fn advance_due(&self, timer: &Timer) -> usize {
        let turns = &self.inner.state.turns;
        turns.take_to_change();
        let advance = |generations| {
            let removed = by_encoding!(self.inner, table => table.advance_by(generations));
            self.ended.timed.fetch_add(generations, Ordering::Relaxed);
            self.restart_quota();
            removed
        };
        timer.advance_due(advance, |mutex| turns.lock(mutex))
    }

    /// Returns the number of the present generation: how many generations have ended. After 2^56 of them it is 0 again.
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

    /// Returns N, the number of generations that are remembered, the present one included.
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

    /// Returns the period of a generation, or `None` if there is no [clock](crate::Builder::every).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(10);
    /// assert_eq!(builder.clone().build()?.period(), None);
    /// let seen = builder.every(Duration::from_secs(60)).build()?;
    /// assert_eq!(seen.period(), Some(Duration::from_secs(60)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn period(&self) -> Option<Duration> {
        self.timer.as_ref().map(Timer::period)
    }

    /// Returns how long the present period of the [clock](crate::Builder::every) has lasted, or `None` if there is no
    /// clock. It returns zero while another thread ends a generation whose period is over. (An `advance` by hand does
    /// not begin a period.) With this time, a restored filter can [continue](Self::set_every) the period.
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

    /// Gives the filter a clock, for example after it was restored: each generation ends after `period` by the clock of
    /// the machine, as with [`every`](crate::Builder::every) in the builder. The present generation has lasted for
    /// `elapsed` already. If `elapsed` is a period or more, the next insert or [`advance_if_due`](Self::advance_if_due)
    /// ends the generations that have passed.
    ///
    /// To continue after a restart as if there had been none, store the snapshot together with the time of day at which
    /// the present generation began. Take the snapshot first, and then compute this time: if a generation ends between
    /// these two steps, items are remembered for up to a period longer, and never for less. If somebody sets the time
    /// of day between the snapshot and this call, `elapsed` is wrong by the difference: if it was set forward, items
    /// are forgotten earlier.
    ///
    /// With [`Duration::ZERO`] for `elapsed`, a period begins now. Then each restart makes the window longer: by the
    /// time during which the filter was not in use, and by up to a period. If restarts are more frequent than the
    /// period, nothing is ever forgotten.
    ///
    /// # Errors
    ///
    /// [`Error::NoTime`] if `period` is zero. Then nothing has changed.
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

    /// Gives the filter a clock of your own, as [`clock`](crate::Builder::clock) in the builder does, under the same
    /// conditions. The time and `elapsed` together must be less than 584 years. Otherwise it works as
    /// [`set_every`](Self::set_every).
    ///
    /// # Errors
    ///
    /// Those of `set_every`.
    ///
    /// # Panics
    ///
    /// If `now` panics. Then the period is as it was.
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

    /// Makes each generation end after `items` new items, as [`every_items`](crate::Builder::every_items) in the
    /// builder does: for example after the filter was restored. The present generation ends after `items` further new
    /// items.
    ///
    /// # Errors
    ///
    /// [`Error::ItemsPerGenerationOutOfRange`]. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let mut seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.set_every_items(10)?;
    /// seen.insert_all(0..35)?;
    /// assert_eq!((seen.generation(), seen.items_per_generation()), (3, Some(10)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn set_every_items(&mut self, items: usize) -> Result<(), Error> {
        self.check_items_per_generation(items, self.forgets_oldest)?;
        self.quota = Some(Quota::new(items));
        Ok(())
    }

    /// Checks that a generation can end after `items` new items. If the filter forgets the oldest generation when it is
    /// full, N - 1 generations must have room.
    fn check_items_per_generation(&self, items: usize, forgets_oldest: bool) -> Result<(), Error> {
        let room = forgets_oldest.then(|| self.inner.max_capacity());
        check_items_per_generation(items, self.generations(), room)
    }

    /// Sets the number of new items of a generation, if the filter forgets the oldest generation when it is full, and
    /// nothing else ends generations. Otherwise one generation could fill the filter, and the filter would then forget
    /// all items at once.
    fn settle_quota(&mut self) {
        if self.forgets_oldest && self.timer.is_none() && self.quota.is_none() {
            let share = self.inner.max_capacity() / self.generations() as usize;
            self.quota = Some(Quota::new(share.max(1)));
        }
    }

    /// Returns the number of new items after which a generation [ends](crate::Builder::every_items), or `None` if no
    /// number is set. [`forget_oldest_when_full`](crate::Builder::forget_oldest_when_full) may have set it.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(1000).generations(4);
    /// assert_eq!(builder.clone().build()?.items_per_generation(), None);
    /// let seen = builder.forget_oldest_when_full().build()?;
    /// assert_eq!(seen.items_per_generation(), Some(250));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn items_per_generation(&self) -> Option<usize> {
        self.quota.as_ref().map(Quota::items)
    }

    /// Sets whether an insert that finds the filter full makes room from now on, as
    /// [`forget_oldest_when_full`](crate::Builder::forget_oldest_when_full) in the builder does. Use it for a restored
    /// filter, after `set_every` and `set_every_items`: if neither is set, `true` also sets
    /// [`items_per_generation`](Self::items_per_generation), to the maximum capacity divided by N. A later `false`
    /// keeps this number.
    ///
    /// # Errors
    ///
    /// [`Error::ItemsPerGenerationOutOfRange`] if the filter has no room for N - 1 generations of the [number of new
    /// items](Self::items_per_generation) that is set. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let mut seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// seen.set_forget_oldest_when_full(true)?;
    /// assert!(seen.insert_all(0..1000).is_ok());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn set_forget_oldest_when_full(&mut self, forgets_oldest: bool) -> Result<(), Error> {
        if let Some(items) = self.items_per_generation() {
            self.check_items_per_generation(items, forgets_oldest)?;
        }
        self.forgets_oldest = forgets_oldest;
        self.settle_quota();
        Ok(())
    }
}

/// Inserts by hash.
impl<L: Storage, S> ExpiringFilter<L, S> {
    #[inline]
    fn insert_with(&self, hash: u64, stamping: Stamping) -> Result<bool, InsertError> {
        if self.timer.is_some() || self.quota.is_some() {
            return self.insert_and_advance(hash, stamping);
        }
        // Without a timer and a quota, the filter does not forget the oldest items: otherwise `settle_quota` would have
        // set a quota.
        by_encoding!(self.inner, table => table.insert_stamped_item(hash, stamping))
            .map_err(InsertError::of_window)
    }

    /// Inserts one item into a filter that ends generations by itself. Outlined: an insert into any other filter saves
    /// no registers for it.
    #[inline(never)]
    fn insert_and_advance(&self, hash: u64, stamping: Stamping) -> Result<bool, InsertError> {
        if self.quota.is_some() {
            return self.insert_as_batch(hash, stamping);
        }
        self.advance_if_due();
        match by_encoding!(self.inner, table => table.insert_stamped_item(hash, stamping)) {
            Err(InsertError::Full) if self.forgets_oldest => self.insert_as_batch(hash, stamping),
            ended => ended.map_err(InsertError::of_window),
        }
    }

    /// Inserts one item as a batch of one: `insert_hashed` counts new items and makes room.
    #[cold]
    #[inline(never)]
    fn insert_as_batch(&self, hash: u64, stamping: Stamping) -> Result<bool, InsertError> {
        let stored = self.insert_hashed(&[Prehashed(hash)], stamping, &mut [false]);
        stored.map(|stored| stored > 0).map_err(|stopped| stopped.cause)
    }

    /// Inserts items, in order, until one is refused or `most` of them were new, at least 1. Returns how many it has
    /// inserted, how many of these were new, and why it has refused the next one.
    fn insert_part(
        &self,
        items: &[Prehashed],
        stamping: Stamping,
        new: &mut [bool],
        most: usize,
    ) -> (usize, usize, Option<InsertError>) {
        let mut left = most;
        let rest = &mut left;
        let inserted = by_encoding!(self.inner, table => {
            table.insert_each(items, |item| table.key(item.0), move |at, key| {
                if *rest == 0 {
                    return Err(InsertError::Full); // ends the part
                }
                new[at] = table.insert_with(key, stamping)?;
                *rest -= usize::from(new[at]);
                Ok(new[at])
            })
        });
        match inserted {
            Ok(stored) => (items.len(), stored, None),
            Err(Stopped { index, stored, cause }) => (index, stored, (left > 0).then_some(cause)),
        }
    }

    /// Inserts the items in batches. Hashes all items of a batch first: if the user's code panics, every item that is
    /// stored has been counted.
    fn insert_many_with<Q: Item<S>>(
        &self,
        items: &[Q],
        stamping: Stamping,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        let mut hashed = [Prehashed::default(); operations::BATCH];
        let (mut index, mut stored) = (0, 0);
        for (items, new) in items.chunks(operations::BATCH).zip(new.chunks_mut(operations::BATCH)) {
            let hashed = &mut hashed[..items.len()];
            for (hashed, item) in hashed.iter_mut().zip(items) {
                *hashed = Prehashed(self.hash_of(item));
            }
            let of_batch = self.insert_hashed(hashed, stamping, new);
            stored += of_batch.map_err(|stopped| stopped.after(index, stored))?;
            index += items.len();
        }
        Ok(stored)
    }

    /// Inserts the items in batches. A filter that forgets the oldest items ends generations until there is room. The
    /// loop needs no bound: when N generations have ended, the room is taken only by items that other threads have
    /// inserted meanwhile.
    fn insert_hashed(
        &self,
        items: &[Prehashed],
        stamping: Stamping,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        let (mut index, mut stored) = (0, 0);
        while index < items.len() {
            self.advance_if_due();
            // The new items of a part do not exceed those of the generation, which ends after the last of them.
            let most = self.quota.as_ref().map_or(usize::MAX, Quota::left);
            // Read before the table: if another thread has made room since then, this thread ends no generation.
            let clock = self.inner.state.clock();
            let (inserted, of_part, refused) =
                self.insert_part(&items[index..], stamping, &mut new[index..], most);
            if let Some(quota) = &self.quota {
                self.count_new(quota, of_part, clock);
            }
            index += inserted;
            stored += of_part;
            match refused {
                None => {}
                Some(InsertError::Full) if self.forgets_oldest => {
                    self.advance_from(clock, &self.ended.early);
                }
                Some(cause) => return Err(Stopped { cause: cause.of_window(), index, stored }),
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
            self.insert_hashed(batch, stamping, &mut [false; operations::BATCH])
        });
        Ok(inserted?)
    }
}

/// Figures.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Returns whether the filter has settings that end generations: a snapshot does not contain them.
    #[cfg(feature = "serde")]
    pub(crate) fn forgets_by_itself(&self) -> bool {
        self.timer.is_some() || self.quota.is_some() || self.forgets_oldest
    }

    pub(crate) fn from_inner(inner: Inner<L, ValueBits, S>) -> Self {
        Self { inner, timer: None, quota: None, forgets_oldest: false, ended: Ended::default() }
    }

    forward_to_inner! {
        /// Returns the name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the layout in use.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.layout_name(), "Fp16x4");
        /// ```
        pub fn layout_name(&self) -> &'static str;

        /// Returns the number of items that are remembered. Items that the filter cannot tell apart count as one. It
        /// takes no lock. It is exact while no thread writes. While other threads write, it may miss their operations,
        /// and each kick that is under way may add or subtract one. In a growing filter, an item may count twice for N
        /// generations if a split [doubled](crate::growth#doubled-entries) its entry and the item was inserted again
        /// since then. During an `advance`, the result may also be wrong by the number of doubled entries.
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

        /// Returns whether no item is remembered. It is as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert!(seen.is_empty());
        /// ```
        pub fn is_empty(&self) -> bool;

        /// Returns the number of items, of all generations together, that the filter was built for, or
        /// [`len`](Self::len) if it holds more. In a growing filter, it is the number of items for the present size: at
        /// least the initial capacity, and at most the maximum capacity unless the filter holds more.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert_eq!(seen.capacity(), 100);
        /// ```
        pub fn capacity(&self) -> usize;

        /// Returns the number of slots of the table; in a growing filter, at its present size.
        ///
        /// # Examples
        ///
        /// ```
        /// let seen = coucal::ExpiringCuckooFilter::with_capacity(100, 4);
        /// assert!(seen.slots() > 100);
        /// ```
        pub fn slots(&self) -> usize;

        /// Returns the share of slots in use, from 0 to 1. It is as exact as [`len`](Self::len).
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

        /// Returns how full the filter is: its entries divided by the number of items that it was built for, or in a
        /// growing filter by its [maximum capacity](ExpiringCuckooFilter::max_capacity).
        /// [`CuckooFilter::fullness`](crate::CuckooFilter::fullness) says how to use it.
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

        /// Returns the mean number of entries that match an item which was not seen within the window.
        /// [`contains`](Self::contains) is expected to find at most this share of such items now.
        ///
        /// In a growing filter it is an estimate from the words of the table, as in
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

        /// Returns the hasher of the items.
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

    /// Returns the memory of the filter in bytes: the struct itself and all that it has allocated, without memory that
    /// the hasher owns on the heap. While another thread splits, takes a snapshot or advances, the result may lack
    /// the counts of [doubled](crate::growth#doubled-entries) entries.
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

    /// Forgets all items that were inserted before the call. These stay as they are: the generation, its period and its
    /// count of new items, the size of a filter that has grown, and the memory of the stash.
    ///
    /// Waits until it holds every lock of the filter. Until it returns, other threads that write wait for it, and
    /// lookups go on: see [what blocks](crate#what-blocks-on-whom-and-how-long). A lookup during the call may find some
    /// items and miss others.
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

    /// Returns figures for monitoring the filter. It takes no lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::ExpiringCuckooFilter;
    ///
    /// let builder = ExpiringCuckooFilter::builder().capacity(100).generations(4);
    /// let seen = builder.every_items(10).build()?;
    /// seen.insert_all(0..35)?;
    /// assert_eq!(seen.stats().counted_advances, 3);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            early_advances: self.ended.early.load(Ordering::Relaxed),
            counted_advances: self.ended.counted.load(Ordering::Relaxed),
            timed_advances: self.ended.timed.load(Ordering::Relaxed),
            longest_sweep: self.timer.as_ref().map(Timer::longest_sweep).unwrap_or_default(),
            ..self.inner.stats()
        }
    }
}

/// Growth.
impl<L: GrowingLayout, S> ExpiringFilter<Growable<L>, S> {
    forward_to_inner! {
        /// Returns the maximum capacity: the number of items, of all generations together, that the filter holds at its
        /// maximum size. It is the [maximum](crate::Builder::max_capacity) of the builder. Without one, it is the
        /// number for which a [budget](crate::Builder::memory_bytes) has room; without a budget, the number that a
        /// filter with this number of generations can reach.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableExpiringCuckooFilter;
        ///
        /// let builder = GrowableExpiringCuckooFilter::builder().generations(4);
        /// let seen = builder.max_capacity(1000).build()?;
        /// assert_eq!(seen.max_capacity(), 1000);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// Returns the [rate](Self::false_positive_rate) that is expected when the filter holds `items` items. Assumes
        /// that the filter has grown from its first size while these items were inserted. If the filter has forgotten
        /// items since it grew, its rate is lower.
        /// [`CuckooFilter::false_positive_rate_at`](crate::CuckooFilter::false_positive_rate_at) says more.
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
    /// Waits while another thread splits buckets, and for other threads that write to the stripes of the buckets that
    /// this call splits. Other threads can read and write meanwhile: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::AboveMaxCapacity`] and [`Error::OutOfMemory`], in the cases that
    /// [`CuckooFilter::reserve`](crate::CuckooFilter::reserve) lists. [`Error::WindowFull`] if the filter has grown as
    /// far as it can and has no room for these items.
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
        self.inner.reserve(additional).map_err(|error| match error {
            Error::Full => Error::WindowFull,
            error => error,
        })
    }
}

/// Clones.
impl<L: Storage, S> ExpiringFilter<L, S> {
    /// Returns an exact clone of the filter as it is at one instant, with a clone of the hasher, and with the same
    /// [clock](crate::Builder::every) and other settings. Changes of one do not affect the other. (The type is not
    /// `Clone`, since this call can fail, and can wait for other threads.)
    ///
    /// The clone has the contents of a [`snapshot`](Self::snapshot) at this instant. The call waits for the same
    /// threads as `snapshot` does, makes the same threads wait, and takes the memory of a snapshot and some 80 bytes
    /// more for each stashed entry.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Then the filter is as it was.
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
        // Before the image: so the clone does not count items that it does not have.
        let (generation, quota) = (self.generation(), self.quota.as_ref().map(Quota::copy));
        let inner = self.inner.try_clone()?;
        let timer = self.timer.as_ref().map(Timer::copy);
        // If a generation has ended meanwhile, the count may be that of the generation before.
        let is_current = inner.figures().clock().number() == generation;
        let quota = quota.map(|quota| if is_current { quota } else { Quota::new(quota.items()) });
        Ok(Self { timer, quota, forgets_oldest: self.forgets_oldest, ..Self::from_inner(inner) })
    }
}

/// Snapshots.
impl<L: Storage, S: ComparedHasher> ExpiringFilter<L, S> {
    /// Returns a snapshot of the filter as it is at one instant between the call and its return, with the number of the
    /// present generation and the number of generations. It contains neither the hasher nor the settings that end
    /// generations: [`every`](crate::Builder::every), [`every_items`](crate::Builder::every_items) and
    /// [`forget_oldest_when_full`](crate::Builder::forget_oldest_when_full).
    ///
    /// Other threads go on meanwhile. [`contains`](Self::contains) never waits, and [`age`](Self::age) rarely. A writer
    /// waits for one store at a time. Once, at the end, writers wait while every lock is taken.
    ///
    /// This call waits for another `snapshot` of the same filter, and at the end for an [`advance`](Self::advance) or a
    /// `clear`: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    /// [`CuckooFilter::snapshot`](crate::CuckooFilter::snapshot) says how long writers wait, how much memory and time a
    /// snapshot takes, and with which hashers it can be restored in another process.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Then the filter is as it was.
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

    /// Restores a filter from the bytes of a snapshot ([`Snapshot::as_bytes`]). Reads no byte beyond the end of the
    /// snapshot, and validates every byte.
    ///
    /// The restored filter goes on in the generation of the snapshot, but nothing ends its generations. Call
    /// [`set_every`](Self::set_every) with the time that has passed, or [`set_every_items`](Self::set_every_items), or
    /// [`advance`](Self::advance) as often as generations have passed. When the filter is full, inserts fail, unless
    /// you call [`set_forget_oldest_when_full`](Self::set_forget_oldest_when_full).
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::restore`](crate::CuckooFilter::restore): for example [`Error::OtherType`] for the
    /// snapshot of a filter or a maplet.
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

    /// Restores a filter from `bytes`, which are a snapshot and nothing else. Otherwise it works as
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Those of [`restore`](Self::restore) (except [`Error::Io`]), and [`Error::TrailingBytes`].
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
    /// assert!(matches!(other, Err(Error::OtherType { name: "ExpiringCuckooFilter", .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, Error> {
        Inner::from_bytes(bytes, hasher, Content::Stamped).map(Self::from_inner)
    }

    /// Restores the filter of a snapshot without validating its bytes again. Otherwise it works as
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot): for example [`Error::OtherType`]
    /// for the snapshot of a filter or a maplet.
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
    /// The call also fails if the filter has a setting that ends generations ([`every`](crate::Builder::every),
    /// [`every_items`](crate::Builder::every_items) or
    /// [`forget_oldest_when_full`](crate::Builder::forget_oldest_when_full)), because a snapshot does not contain it.
    /// Serialize the `snapshot` instead, and call [`set_every`](Self::set_every),
    /// [`set_every_items`](Self::set_every_items) or [`set_forget_oldest_when_full`](Self::set_forget_oldest_when_full)
    /// of the restored filter.
    unless forgets_by_itself: "the settings that end generations would be lost: serialize the `snapshot()` of this \
        filter, and call `set_every`, `set_every_items` or `set_forget_oldest_when_full` of the restored filter"
    }
}

impl<L: Storage, S> fmt::Debug for ExpiringFilter<L, S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.print("ExpiringCuckooFilter", self.memory_bytes(), f)
    }
}
