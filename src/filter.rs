//! The public type: hashing in, answers out.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::builder::{self, Builder};
use crate::error::{BuildError, InsertError, InsertManyError, LengthMismatch};
use crate::hasher::DefaultHashBuilder;
use crate::layout::{Fp16x4, Layout};
use crate::table::Table;

/// A cuckoo filter that many threads share: a set of items in a few bits each, with a small rate
/// of false positives, no false negatives, and removal.
///
/// All methods take `&self`: put the filter into an [`Arc`](std::sync::Arc) or lend it to scoped
/// threads. It is not generic over the items: anything that implements [`Hash`] goes in, by
/// reference, and equal hashes are equal items. So `"egg"` and `String::from("egg")` are one item,
/// and `7_u32` and `7_u64` are two.
///
/// The filter is a multiset: [`insert`](Self::insert) adds one more copy,
/// [`insert_unique`](Self::insert_unique) only the first, [`remove`](Self::remove) takes one away.
///
/// `L` is the [`Layout`] of a bucket, `S` the hasher of the items.
///
/// There is no `Extend` and no `FromIterator`: they cannot say that the filter is full.
/// [`insert_many`](Self::insert_many) can.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use coucal::CuckooFilter;
///
/// let filter = CuckooFilter::with_capacity(10_000);
/// thread::scope(|scope| {
///     for worker in 0..4_u64 {
///         let filter = &filter;
///         scope.spawn(move || {
///             for key in 0..1000 {
///                 filter.insert(&(worker, key)).expect("made for 10,000 items");
///             }
///         });
///     }
/// });
/// assert_eq!(filter.len(), 4000);
/// assert!(filter.contains(&(3_u64, 999)));
/// assert!(filter.remove(&(3_u64, 999)));
/// ```
pub struct CuckooFilter<L = Fp16x4, S = DefaultHashBuilder> {
    table: Table<L>,
    hasher: S,
    capacity: usize,
}

/// Figures of a filter's life so far; made by [`CuckooFilter::stats`].
///
/// # Examples
///
/// ```
/// let filter = coucal::CuckooFilter::with_capacity(100);
/// let coucal::Stats { inconclusive_lookups, .. } = filter.stats();
/// assert_eq!(inconclusive_lookups, 0);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of [`contains`](CuckooFilter::contains) and its kin that answered `true` because the
    /// fingerprint's group was moved in every round of the lookup, not because it was seen.
    pub inconclusive_lookups: u64,
}

impl CuckooFilter {
    /// An empty filter that holds `items` distinct items, with the default layout and hasher.
    ///
    /// Where an item may lie is a matter of chance, so this is a promise of overwhelming odds: of the
    /// small filters, of up to some hundred items, one in millions refuses an item before its capacity.
    ///
    /// # Panics
    ///
    /// Where `Vec::with_capacity` would: if the table is larger than the address space. It aborts,
    /// as `Vec` does, if the allocator fails. [`try_with_capacity`](Self::try_with_capacity)
    /// returns an error instead.
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

    /// As [`with_capacity`](Self::with_capacity), with an error where that panics or aborts.
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
        Builder::new()
    }
}

impl<S> CuckooFilter<Fp16x4, S> {
    /// An empty filter that holds `items` distinct items, each hashed by `hasher`.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](CuckooFilter::with_capacity) does.
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
        match CuckooFilter::builder().capacity(items).hasher(hasher).build() {
            Ok(filter) => filter,
            Err(BuildError::OutOfMemory { bytes }) => {
                let layout =
                    std::alloc::Layout::array::<u8>(bytes).expect("checked by the builder");
                std::alloc::handle_alloc_error(layout)
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Operations on items.
impl<L: Layout, S: BuildHasher> CuckooFilter<L, S> {
    /// Adds one more copy of `item`.
    ///
    /// Blocks while another thread writes to the same group of buckets; it holds one lock for a few
    /// instructions, or two for each step of a kick when both buckets are full.
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] and [`InsertError::TooManyCopies`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// filter.insert("egg")?;
    /// assert_eq!(filter.count("egg"), 2);
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    pub fn insert<Q: Hash + ?Sized>(&self, item: &Q) -> Result<(), InsertError> {
        self.insert_hash(self.hash_of(item))
    }

    /// Adds `item` unless it is there: `Ok(true)` if it was inserted, `Ok(false)` if it was there,
    /// as [`HashSet::insert`](std::collections::HashSet::insert) has it.
    ///
    /// An item that collides with another (a false positive) counts as being there. Of several
    /// threads that insert an absent item this way at once, exactly one is told `true`.
    ///
    /// Takes no lock if the item is there. Otherwise it blocks while another thread writes to one
    /// of the two groups of buckets of the item.
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// assert_eq!(filter.insert_unique("egg"), Ok(false));
    /// assert_eq!(filter.len(), 1);
    /// ```
    #[inline]
    pub fn insert_unique<Q: Hash + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hash_of(item))
    }

    /// Whether `item` is in the filter. `false` is certain; `true` may be wrong, at
    /// [the rate the filter states](Self::false_positive_rate).
    ///
    /// Wait-free: a bounded number of steps, whatever other threads do; no lock, no
    /// read-modify-write, no store. (The one exception: in the rare case that
    /// [`stats`](Self::stats) counts, it is counted.)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert!(filter.contains("egg"));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.contains_hash(self.hash_of(item))
    }

    /// Takes one copy of `item` away: `true` if there was one.
    ///
    /// Remove only what was inserted. An item that never was may collide with one that is there,
    /// and would take that one's copy: a false negative from then on.
    ///
    /// Blocks while another thread writes to the same group of buckets; takes no lock if the item
    /// is not there.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert!(filter.remove("egg"));
    /// assert!(!filter.remove("egg"));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    pub fn remove<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.remove_hash(self.hash_of(item))
    }

    /// How many copies of `item` there are: 0 to 8 in the default layout (two buckets of four), and
    /// those of items that collide with it among them.
    ///
    /// Blocks while another thread writes to one of the two groups of buckets of the item; takes no
    /// lock if the item is not there.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert_eq!((filter.count("egg"), filter.count("nest")), (1, 0));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[must_use]
    pub fn count<Q: Hash + ?Sized>(&self, item: &Q) -> usize {
        self.count_hash(self.hash_of(item))
    }

    /// For each item, whether it is in the filter: [`contains`](Self::contains) for a batch, which
    /// hides the latency of the memory in a filter larger than the cache. Each answer is one of its
    /// own: the batch is no snapshot.
    ///
    /// Wait-free, as `contains` is.
    ///
    /// # Errors
    ///
    /// [`LengthMismatch`] if there are not as many answers as items; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let mut found = [false; 2];
    /// filter.contains_many(&["egg", "nest"], &mut found)?;
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_many<Q: Hash>(
        &self,
        items: &[Q],
        found: &mut [bool],
    ) -> Result<(), LengthMismatch> {
        LengthMismatch::check(items.len(), found.len())?;
        self.table.contains_many(items, |item| self.hash_of(item), found);
        Ok(())
    }

    /// Adds one more copy of each item, in order, until one fails.
    ///
    /// Blocks as [`insert`](Self::insert) does, for each item by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`InsertManyError`], which says how many items were stored (the first so many), and why the
    /// next one was not.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "nest"])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), coucal::InsertManyError>(())
    /// ```
    pub fn insert_many<Q: Hash>(&self, items: &[Q]) -> Result<(), InsertManyError> {
        self.table.insert_many(items, |item| self.hash_of(item))
    }

    /// The 64-bit hash of `item`, for the methods that take one: hash once, use it often.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert!(filter.contains_hash(filter.hash_of("egg")));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    pub fn hash_of<Q: Hash + ?Sized>(&self, item: &Q) -> u64 {
        self.hasher.hash_one(item)
    }
}

/// Operations on 64-bit hashes: the twins of those on items.
///
/// Any hash that tells items apart will do, consecutive integers included: the filter mixes it.
impl<L: Layout, S> CuckooFilter<L, S> {
    /// Adds one more copy of the item with this hash. See [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] and [`InsertError::TooManyCopies`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_hash(42)?;
    /// assert!(filter.contains_hash(42));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        self.table.insert(self.table.key(hash))
    }

    /// Adds the item with this hash unless it is there. See
    /// [`insert_unique`](Self::insert_unique).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.insert_unique_hash(42), Ok(true));
    /// assert_eq!(filter.insert_unique_hash(42), Ok(false));
    /// ```
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.table.insert_unique(self.table.key(hash))
    }

    /// Whether the item with this hash is in the filter. See [`contains`](Self::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert!(!filter.contains_hash(42));
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.table.contains(self.table.key(hash))
    }

    /// Takes one copy of the item with this hash away. See [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_hash(42)?;
    /// assert!(filter.remove_hash(42));
    /// assert!(!filter.remove_hash(42));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        self.table.remove(self.table.key(hash))
    }

    /// How many copies there are of the item with this hash. See [`count`](Self::count).
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_hash(42)?;
    /// assert_eq!(filter.count_hash(42), 1);
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        self.table.count(self.table.key(hash))
    }

    /// For each hash, whether its item is in the filter. See
    /// [`contains_many`](Self::contains_many).
    ///
    /// # Errors
    ///
    /// [`LengthMismatch`] if there are not as many answers as hashes; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_hash(42)?;
    /// let mut found = [false; 2];
    /// filter.contains_many_hashes(&[42, 43], &mut found)?;
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_many_hashes(
        &self,
        hashes: &[u64],
        found: &mut [bool],
    ) -> Result<(), LengthMismatch> {
        LengthMismatch::check(hashes.len(), found.len())?;
        self.table.contains_many(hashes, |&hash| hash, found);
        Ok(())
    }

    /// Adds one more copy of the item of each hash, in order, until one fails. See
    /// [`insert_many`](Self::insert_many).
    ///
    /// # Errors
    ///
    /// [`InsertManyError`], which says how many were stored (the first so many), and why the next
    /// one was not.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_many_hashes(&[42, 43])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), coucal::InsertManyError>(())
    /// ```
    pub fn insert_many_hashes(&self, hashes: &[u64]) -> Result<(), InsertManyError> {
        self.table.insert_many(hashes, |&hash| hash)
    }
}

/// Figures.
impl<L: Layout, S> CuckooFilter<L, S> {
    pub(crate) fn from_parts(table: Table<L>, hasher: S, capacity: usize) -> Self {
        Self { table, hasher, capacity }
    }

    #[cfg(loom)]
    pub(crate) fn table(&self) -> &Table<L> {
        &self.table
    }

    /// How many items are stored, copies counted one by one. Exact when no thread writes; each step
    /// of a kick under way may make it one too many or too few for the moment.
    ///
    /// Takes no lock. Adds up one counter for each group of buckets: at most 4,096 of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "egg", "nest"])?;
    /// assert_eq!(filter.len(), 3);
    /// # Ok::<(), coucal::InsertManyError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.occupied()
    }

    /// Whether no item is stored; as exact as [`len`](Self::len).
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert!(filter.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct items the filter was made for. It has some [`slots`](Self::slots) more.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.capacity(), 100);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many slots the table has.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert!(filter.slots() > 100);
    /// ```
    #[must_use]
    pub fn slots(&self) -> usize {
        self.table.slots()
    }

    /// The share of slots in use, from 0 to 1; as exact as [`len`](Self::len).
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(0);
    /// filter.insert("egg")?;
    /// assert_eq!(filter.load_factor(), 1.0 / filter.slots() as f64);
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        builder::load(self.len(), self.slots())
    }

    /// The memory of the filter in bytes: itself, its table, its locks, its counters. What the
    /// hasher may own on the heap is not in it.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert!(filter.memory_bytes() < 1024);
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.table.heap_bytes()
    }

    /// The share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to
    /// report as present at the present load.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.false_positive_rate(), 0.0);
    /// filter.insert("egg")?;
    /// assert!(filter.false_positive_rate() < 0.000_122);
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        builder::false_positive_rate::<L>(self.load_factor())
    }

    /// Removes everything. What was inserted before the call began is gone when it returns.
    ///
    /// Blocks until it holds every lock of the filter, and until it returns every other thread that
    /// wants to write waits for it. Lookups go on; while it works they may find some items gone and
    /// others not.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("egg"));
    /// # Ok::<(), coucal::InsertError>(())
    /// ```
    pub fn clear(&self) {
        self.table.clear();
    }

    /// The hasher of the items.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::BuildHasher;
    ///
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.hasher().hash_one("egg"), filter.hash_of("egg"));
    /// ```
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Figures of the filter's life so far. Takes no lock.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.stats().inconclusive_lookups, 0);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { inconclusive_lookups: self.table.inconclusive() }
    }
}

impl<L: Layout, S> fmt::Debug for CuckooFilter<L, S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuckooFilter")
            .field("layout", &L::NAME)
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("slots", &self.slots())
            .field("load_factor", &self.load_factor())
            .field("false_positive_rate", &self.false_positive_rate())
            .field("memory_bytes", &self.memory_bytes())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared_between_threads<T: Send + Sync>() {}
    shared_between_threads::<CuckooFilter>();
};
