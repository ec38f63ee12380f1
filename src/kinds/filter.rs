//! The public type: hashing in, answers out.

mod constructors;

use core::fmt;
use std::io::Read;

use crate::error::{Error, Stopped, check_lengths};
use crate::hasher::{ComparedHasher, DefaultHashBuilder, Item, Prehashed};
use crate::layout::Fp16x4;
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::NoValues;

/// What a [`CuckooFilter`] and a [`GrowableCuckooFilter`] are: a filter with the storage `L`.
///
/// `CuckooFilter<L, S>` is `Filter<Fixed<L>, S>`, and `GrowableCuckooFilter<L, S>` is `Filter<Growable<L>, S>`. Write these
/// names, unless your code takes both:
///
/// ```
/// use std::hash::BuildHasher;
/// use coucal::{CuckooFilter, Filter, GrowableCuckooFilter, Storage};
///
/// fn first_seen<L: Storage, S: BuildHasher>(filter: &Filter<L, S>, line: &str) -> bool {
///     filter.insert_if_absent(line).unwrap_or(true)
/// }
///
/// assert!(first_seen(&CuckooFilter::with_capacity(100), "egg"));
/// assert!(first_seen(&GrowableCuckooFilter::new(), "egg"));
/// ```
pub struct Filter<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, NoValues, S>,
}

/// A cuckoo filter that many threads share: a set of items in a few bits each, with a small rate
/// of false positives, no false negatives, and removal. In a struct: `filter: CuckooFilter`, whatever the items are
/// ([with a hasher, growing, of any layout](crate#the-type-of-a-filter)).
///
/// All methods take `&self`: put the filter into an [`Arc`](std::sync::Arc) or lend it to scoped
/// threads. The type is not generic over the items: methods take a reference to any type that
/// implements [`Hash`], and items with equal hashes are equal. So `"egg"` and `String::from("egg")`
/// are one item. Whether `7_u32` and `7_u64` are one item depends on the hasher: do not mix types.
///
/// The filter is a multiset: [`insert`](CuckooFilter::insert) adds one more copy,
/// [`insert_if_absent`](CuckooFilter::insert_if_absent) adds the first copy only, [`remove`](CuckooFilter::remove) removes
/// one. The [documentation of the crate](crate#which-insert) says which of them to use.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]; `S` is the hasher of the items. A filter of this
/// type keeps its size. Where the number of items is not known, use a [`GrowableCuckooFilter`].
///
/// The filter implements neither `Extend` nor `FromIterator`, since these cannot return an error when
/// the filter is full. Use [`insert_all`](CuckooFilter::insert_all) for an iterator, and
/// [`insert_many`](CuckooFilter::insert_many) for a slice. It does not implement `Clone` either, since a copy may find no memory:
/// [`try_clone`](CuckooFilter::try_clone) makes one.
///
/// If the [`Hash`] implementation of an item, the hasher, or an iterator panics, no lock is held, so the
/// filter stays valid and other threads go on. An [`Arc`](std::sync::Arc) of a filter can be used in
/// [`catch_unwind`](std::panic::catch_unwind).
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
pub type CuckooFilter<L = Fp16x4, S = DefaultHashBuilder> = Filter<Fixed<L>, S>;

/// A [`CuckooFilter`] whose layout is chosen at run time: see [`AnyLayout`].
/// In a struct: `filter: AnyCuckooFilter` ([with a hasher](crate#the-type-of-a-filter)).
///
/// It has the [methods](CuckooFilter#implementations) of a `CuckooFilter`.
///
/// # Examples
///
/// ```
/// use coucal::AnyCuckooFilter;
///
/// let filter = AnyCuckooFilter::with_capacity_and_rate(10_000, 0.001)?;
/// filter.insert("egg")?;
/// assert!(filter.contains("egg"));
/// assert_eq!(filter.layout_name(), "SemiSorted14x5");
/// # Ok::<(), coucal::Error>(())
/// ```
pub type AnyCuckooFilter<S = DefaultHashBuilder> = Filter<Fixed<AnyLayout>, S>;

/// A [`CuckooFilter`] that grows with its items: see [`Growable`].
/// In a struct: `filter: GrowableCuckooFilter` ([with a hasher, of any layout](crate#the-type-of-a-filter)).
///
/// [`new`](GrowableCuckooFilter::new) needs no size. With a capacity as its maximum it keeps its size: so it is the
/// type for filters of which it is decided at run time whether they grow.
/// [`builder`](GrowableCuckooFilter::builder) makes one with another layout or a maximum.
///
/// It has the [methods](CuckooFilter#implementations) of a `CuckooFilter` and, besides,
/// [`reserve`](CuckooFilter::reserve), [`max_capacity`](CuckooFilter::max_capacity) and
/// [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at).
///
/// # Examples
///
/// ```
/// use coucal::GrowableCuckooFilter;
///
/// let filter = GrowableCuckooFilter::new();
/// for item in 0..10_000 {
///     filter.insert(&item)?;
/// }
/// assert_eq!(filter.len(), 10_000);
/// assert!(filter.contains(&9999));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type GrowableCuckooFilter<L = Fp16x4, S = DefaultHashBuilder> = Filter<Growable<L>, S>;

/// Operations on items.
impl<L: Storage, S> Filter<L, S> {
    /// Adds one more copy of `item`.
    ///
    /// Blocks while another thread writes to the same group of buckets. It holds one lock for a few
    /// instructions, or two for each kick when both buckets are full. An item for which they have no room goes to the
    /// [stash](crate#what-finds-no-room), which at times allocates memory. In a growable filter, some
    /// inserts split a few buckets, and few allocate memory: see
    /// [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::NoMemoryToStore`]; then nothing has changed.
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
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert<Q: Item<S> + ?Sized>(&self, item: &Q) -> Result<(), Error> {
        let hash = self.hash_of(item);
        Ok(by_encoding!(self.inner, table => table.insert_item(hash))?)
    }

    /// Adds `item` unless the filter contains it: returns `Ok(true)` if it was inserted, and
    /// `Ok(false)` if it was present, as [`HashSet::insert`](std::collections::HashSet::insert) does.
    ///
    /// An item that collides with another item (a false positive) counts as present. If several
    /// threads insert an absent item in this way at once, exactly one of them gets `true`.
    ///
    /// **Do not remove from a filter that is filled in this way.** An item that was present may share
    /// the copy of another item, and the first [`remove`](Self::remove) of either removes it for
    /// both. This holds even if only items are removed for which this method returned `true`: see
    /// [which insert](crate#which-insert). If items are removed, use [`insert`](Self::insert) and
    /// `remove` in pairs.
    ///
    /// Takes no lock if the item is in one of its buckets and is not being moved. Otherwise it blocks while another
    /// thread writes to one of the two groups of buckets of the item.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.insert_if_absent("egg"), Ok(true));
    /// assert_eq!(filter.insert_if_absent("egg"), Ok(false));
    /// assert_eq!(filter.len(), 1);
    /// ```
    #[inline]
    pub fn insert_if_absent<Q: Item<S> + ?Sized>(&self, item: &Q) -> Result<bool, Error> {
        let hash = self.hash_of(item);
        Ok(by_encoding!(self.inner, table => table.insert_item_if_absent(hash))?)
    }

    /// Whether `item` is in the filter. `false` is certain; `true` may be wrong, at
    /// [the rate the filter states](Self::false_positive_rate).
    ///
    /// Wait-free: a bounded number of steps, whatever other threads do; no lock, no
    /// read-modify-write, no store. (One exception: it counts the rare inconclusive lookups for
    /// [`stats`](Self::stats).)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert!(filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Item<S> + ?Sized>(&self, item: &Q) -> bool {
        self.inner.contains(self.hash_of(item))
    }

    /// Removes one copy of `item`. Returns whether there was a copy.
    ///
    /// Remove only what was inserted, once for each insert. An item that was never inserted may
    /// collide with a present item; its removal then removes the copy of the other item, which is
    /// missed from then on. For the same reason do not remove items that you inserted with
    /// [`insert_if_absent`](Self::insert_if_absent). [A checklist](crate#if-a-lookup-misses-what-you-inserted) has all causes
    /// of a false negative.
    ///
    /// Blocks while another thread writes to the same group of buckets. Takes no lock if the item is
    /// absent, unless something of its version group is [stashed](crate#what-finds-no-room), or other threads move
    /// fingerprints of the group during each of 64 attempts.
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
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn remove<Q: Item<S> + ?Sized>(&self, item: &Q) -> bool {
        let hash = self.hash_of(item);
        by_encoding!(self.inner, table => table.remove_item(hash))
    }

    /// The number of copies of `item`, including copies of items that collide with it.
    ///
    /// Blocks while another thread writes to one of the two groups of buckets of the item. Takes no lock
    /// if the item is absent, unless a fingerprint of its version group is being moved.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.count("egg"), 0);
    /// filter.insert("egg")?;
    /// filter.insert("egg")?;
    /// assert_eq!(filter.count("egg"), 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn count<Q: Item<S> + ?Sized>(&self, item: &Q) -> usize {
        let hash = self.hash_of(item);
        by_encoding!(self.inner, table => table.count(table.key(hash)))
    }

    /// Writes to `counts` how many copies there are of each item: [`count`](Self::count) for a batch, which hides the
    /// latency of memory in a filter larger than the cache. The batch is not atomic. Blocks as `count` does, for each
    /// item by itself.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "egg"])?;
    /// let mut counts = [0; 2];
    /// filter.count_many(&["egg", "nest"], &mut counts)?;
    /// assert_eq!(counts, [2, filter.count("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn count_many<Q: Item<S>>(&self, items: &[Q], counts: &mut [usize]) -> Result<(), Error> {
        check_lengths(items.len(), counts.len())?;
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.answer_each(items, key, counts, move |_, key| table.count(key));
        });
        Ok(())
    }

    /// Writes to `found` whether each item is in the filter: [`contains`](Self::contains) for a
    /// batch, which hides the latency of memory in a filter larger than the cache. The batch is not
    /// atomic: it is one lookup for each item.
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
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let mut found = [false; 2];
    /// filter.contains_many(&["egg", "nest"], &mut found)?;
    /// assert_eq!(found, [true, filter.contains("nest")]);
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
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert_eq!(filter.contains_each(&["egg", "nest"]), [true, filter.contains("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn contains_each<Q: Item<S>>(&self, items: &[Q]) -> Vec<bool> {
        let mut found = vec![false; items.len()];
        // It fails only if there are more or fewer answers than items.
        let _ = self.contains_many(items, &mut found);
        found
    }

    /// Adds one more copy of each item, in order, until one fails.
    ///
    /// Blocks as [`insert`](Self::insert) does, for each item by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: how many items were stored (the first ones of the slice), and why the
    /// next item was not.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so
    /// up to 32 items before this one are not stored either. The filter stays valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "nest"])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_many<Q: Item<S>>(&self, items: &[Q]) -> Result<(), Error> {
        self.insert_batch(items)?;
        Ok(())
    }

    /// Adds one more copy of each item of an iterator, in order, until one fails:
    /// [`insert_many`](Self::insert_many) for items that are not in a slice.
    ///
    /// It takes up to 256 items from the iterator, hashes them, inserts them as one batch, and goes on
    /// with the next 256. It allocates only where `insert` does. Blocks as [`insert`](Self::insert) does, for each item
    /// by itself. No lock is held while the iterator runs, so the iterator may use the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: how many items were stored (the first ones of the iterator), and why the next
    /// item was not. The iterator may have given up to 255 items after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// If the iterator or the [`Hash`] implementation of an item panics. Up to 255 items that the
    /// iterator gave before are not stored either. The filter stays valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_all("egg nest owl".split(' '))?;
    /// assert_eq!(filter.len(), 3);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_all<I>(&self, items: I) -> Result<(), Error>
    where
        I: IntoIterator<Item: Item<S>>,
    {
        let hashed = items.into_iter().map(|item| Prehashed(self.hash_of(&item)));
        operations::insert_in_batches(hashed, |batch| self.insert_batch(batch))?;
        Ok(())
    }

    /// Adds each item, in order, unless the filter contains it, until an insert fails. Writes to `new` whether it was
    /// added, and returns how many were: [`insert_if_absent`](Self::insert_if_absent) for a batch. Of an item that
    /// the batch names twice, the second is not new.
    ///
    /// As with `insert_if_absent`, do not remove from a filter that is filled in this way. Blocks as `insert_if_absent`
    /// does, for each item by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is added.
    ///
    /// [`Error::Stopped`] if an item could not be added. Those before its
    /// index are in the filter, and `new` has their answers; the rest of `new` is as it was.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so
    /// up to 32 items before this one are not added either. If `new` was all `false` before the
    /// call, it shows which items were added. The filter stays valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let mut new = [false; 3];
    /// assert_eq!(filter.insert_if_absent_many(&["egg", "egg", "nest"], &mut new)?, 2);
    /// assert_eq!(new, [true, false, true]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_if_absent_many<Q: Item<S>>(
        &self,
        items: &[Q],
        new: &mut [bool],
    ) -> Result<usize, Error> {
        check_lengths(items.len(), new.len())?;
        Ok(self.insert_if_absent_batch(items, new)?)
    }

    /// Adds each item of an iterator, in order, unless the filter contains it, until an insert fails. Returns how many
    /// were added: the number of distinct items that were new to the filter.
    ///
    /// It takes the items in batches, as [`insert_all`](Self::insert_all) does. As with
    /// [`insert_if_absent`](Self::insert_if_absent), do not remove from a filter that is filled in this way. Blocks as
    /// `insert_if_absent` does, for each item by itself. No lock is held while the iterator runs, so the iterator may use
    /// the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: the index of the item that could not be added, and how many of
    /// those before it [were](Error::stored). The iterator may have given up to 255 items after that one,
    /// which are dropped.
    ///
    /// # Panics
    ///
    /// As [`insert_all`](Self::insert_all).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert_eq!(filter.insert_if_absent_all("egg nest egg owl".split(' '))?, 3);
    /// assert_eq!(filter.len(), 3);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_if_absent_all<I>(&self, items: I) -> Result<usize, Error>
    where
        I: IntoIterator<Item: Item<S>>,
    {
        let hashed = items.into_iter().map(|item| Prehashed(self.hash_of(&item)));
        let inserted = operations::insert_in_batches(hashed, |batch| {
            self.insert_if_absent_batch(batch, &mut [false; operations::BATCH])
        });
        Ok(inserted?)
    }

    /// Removes one copy of each item, in order, and writes to `removed` whether there was a copy.
    /// Returns how many were removed. As with [`remove`](Self::remove), remove only what was
    /// inserted.
    ///
    /// In a filter larger than the cache it is faster than a loop of `remove`. Blocks as `remove`
    /// does, for each item by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is removed.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so
    /// up to 32 items before this one are not removed either. If `removed` was all `false` before the
    /// call, it shows which items were removed. The filter stays valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "nest"])?;
    /// let mut removed = [false; 3];
    /// assert_eq!(filter.remove_many(&["egg", "nest", "egg"], &mut removed)?, 2);
    /// assert_eq!(removed, [true, true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn remove_many<Q: Item<S>>(
        &self,
        items: &[Q],
        removed: &mut [bool],
    ) -> Result<usize, Error> {
        check_lengths(items.len(), removed.len())?;
        Ok(by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.change_each(items, key, move |at, key| {
                removed[at] = table.remove(key);
                Ok(removed[at])
            })
        })?)
    }

    /// The 64-bit hash of `item`, for [`Prehashed`](crate::Prehashed): compute it once, use it often.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Prehashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// assert!(filter.contains(&Prehashed(filter.hash_of("egg"))));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn hash_of<Q: Item<S> + ?Sized>(&self, item: &Q) -> u64 {
        item.hash_with(&self.inner.hasher)
    }
}

/// Batches.
impl<L: Storage, S> Filter<L, S> {
    fn insert_batch<Q: Item<S>>(&self, items: &[Q]) -> Result<usize, Stopped> {
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.insert_each(items, key, move |_, key| table.insert(key).map(|()| true))
        })
    }

    fn insert_if_absent_batch<Q: Item<S>>(
        &self,
        items: &[Q],
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        by_encoding!(self.inner, table => {
            let key = move |item: &Q| table.key(self.hash_of(item));
            table.insert_each(items, key, move |at, key| {
                new[at] = table.insert_if_absent(key)?;
                Ok(new[at])
            })
        })
    }
}

/// Figures.
impl<L: Storage, S> Filter<L, S> {
    forward_to_inner! {
        /// The name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the one that is in use.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooFilter;
        ///
        /// assert_eq!(CuckooFilter::with_capacity(100).layout_name(), "Fp16x4");
        /// assert_eq!(CuckooFilter::with_capacity_and_rate(100, 0.02)?.layout_name(), "Fp9x7");
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn layout_name(&self) -> &'static str;

        /// The number of stored items, each copy counted. Exact while no thread writes. While other
        /// threads write, it may miss their operations, and each kick under way may add or subtract one.
        ///
        /// Takes no lock. Adds up one counter for each group of buckets: at most 4,096 counters.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// filter.insert_many(&["egg", "egg", "nest"])?;
        /// assert_eq!(filter.len(), 3);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn len(&self) -> usize;

        /// Whether no item is stored; as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert!(filter.is_empty());
        /// ```
        pub fn is_empty(&self) -> bool;

        /// The number of items that the filter was built for, or [`len`](Self::len) if it holds more. In a growable
        /// filter, the number of items for its present size: at least the initial capacity, and at most the maximum
        /// capacity unless the filter holds more.
        ///
        /// Takes no lock. It is as exact as `len`, and takes as long.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert_eq!(filter.capacity(), 100);
        /// ```
        pub fn capacity(&self) -> usize;

        /// The number of slots of the table; in a growable filter, at its present size.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert!(filter.slots() > 100);
        /// ```
        pub fn slots(&self) -> usize;

        /// The share of slots in use, from 0 to 1; as exact as [`len`](Self::len), which also counts copies in the
        /// [stash](crate#what-finds-no-room). In a growable filter, slots whose entries splits have
        /// [doubled](crate#growth) are in use as well, and are not counted by `len`.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(0);
        /// filter.insert("egg")?;
        /// assert_eq!(filter.load_factor(), 1.0 / filter.slots() as f64);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn load_factor(&self) -> f64;

        /// How full the filter is: its entries (slots in use and [stashed entries](Stats::stashed_entries)), in
        /// proportion to the number of items that it was built for; of a growable filter, to its [maximum
        /// capacity](CuckooFilter::max_capacity). As exact as [`len`](Self::len), and takes as long.
        ///
        /// Below 1, no insert returns [`Full`](Error::Full), but for one item with 2^25 copies. A filter may hold
        /// more than it was built for, so it may be above 1. The [load factor](Self::load_factor) of a growable filter
        /// says nothing of this: growth keeps it close to its target. For a filter that was built without a maximum,
        /// [`memory_bytes`](Self::memory_bytes) is the figure to watch.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooFilter;
        ///
        /// let filter = CuckooFilter::builder().max_capacity(10_000).build()?;
        /// filter.insert_all(0..2500)?;
        /// assert_eq!(filter.fullness(), 0.25);
        /// assert!(filter.load_factor() > 0.75);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn fullness(&self) -> f64;

        /// The share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to
        /// report as present now.
        ///
        /// Where items have copies, it is at the most this share: the copies of an item count here as different items, but an
        /// absent item collides with all of them or with none.
        ///
        /// In a growable filter it depends on when the items were inserted, and is estimated from the words of the
        /// table: from all of them in a table of up to 2^14 buckets, and from a sample of that size at most in a larger
        /// one, within some percent up to 13 doublings. What is [stashed](crate#what-finds-no-room) there is not counted:
        /// an item adds next to nothing, since its whole position is compared; an entry that a [merge](Self::merge) has
        /// brought adds as much as in a bucket. This takes a fraction of a millisecond, longer than the other figures,
        /// but no lock. [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at) predicts the rate for a number
        /// of items. See [growth](crate#growth).
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert_eq!(filter.false_positive_rate(), 0.0);
        /// filter.insert("egg")?;
        /// assert!(filter.false_positive_rate() < 0.000_122);
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
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert_eq!(filter.hasher().hash_one("egg"), filter.hash_of("egg"));
        /// ```
        pub fn hasher(&self) -> &S;

        /// Figures for watching the filter. Takes no lock.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert_eq!(filter.stats().inconclusive_lookups, 0);
        /// ```
        pub fn stats(&self) -> Stats;
    }

    /// The memory of the filter in bytes: itself, and all that it has allocated, which is its table, its locks, its
    /// counters and its [stash](crate#what-finds-no-room). It does not include memory that the hasher owns on the heap.
    /// A table that grows is allocated in [parts](crate#growth), as growth reaches them.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// assert!(filter.memory_bytes() < 1024);
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.inner.figures().heap_bytes()
    }

    /// Removes all items that were inserted before the call.
    ///
    /// Blocks until it holds every lock of the filter; until it returns, other threads that write
    /// wait for it. Lookups go on. The removal is atomic for each item, but not for all of them
    /// together: lookups meanwhile may find some items and miss others. A filter that has grown keeps
    /// its size, and the memory of the stash stays allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn clear(&self) {
        self.inner.state.clear();
    }
}

/// Growth.
impl<L: GrowingLayout, S> Filter<Growable<L>, S> {
    forward_to_inner! {
        /// The maximum capacity: the number of items that the filter holds at its maximum size. It is what
        /// the builder was [given](crate::Builder::max_capacity).
        ///
        /// Of a filter that was built without a maximum, it is what 2^44 slots hold: more than 2^43 items. See
        /// [growth](crate#growth).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::{CuckooFilter, GrowableCuckooFilter};
        ///
        /// let filter = CuckooFilter::builder().max_capacity(1000).build()?;
        /// assert_eq!(filter.max_capacity(), 1000);
        ///
        /// let filter = GrowableCuckooFilter::builder().build()?;
        /// assert!(filter.max_capacity() > 1 << 43);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// The share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to report as
        /// present when the filter holds this number of items, if it grew from its first size with them. The
        /// formula is in the section about [growth](crate#growth).
        ///
        /// It knows what [merges](Self::merge) have added since the filter was built or [cleared](Self::clear): the items
        /// of a filter that was smaller cause more false positives. What was restored from a snapshot does not know it;
        /// there the [present rate](Self::false_positive_rate) may be higher.
        ///
        /// If the builder was given a rate, it is at most this rate up to the
        /// [maximum capacity](crate::Builder::max_capacity), or up to 2^40 items in a filter without a
        /// maximum, also after merges. With more items than the maximum size is for, it is the rate of a filter of that size that holds
        /// them.
        ///
        /// The [present rate](Self::false_positive_rate) may be lower: items that were inserted when the
        /// filter was larger than they needed (after others were removed, or after
        /// [`reserve`](Self::reserve)) cause fewer false positives.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooFilter;
        ///
        /// let builder = CuckooFilter::builder().capacity(1000).max_capacity(100_000);
        /// let filter = builder.false_positive_rate(0.002).build()?;
        /// let [now, then] = [1000, 100_000].map(|items| filter.false_positive_rate_at(items));
        /// assert!(now < then && then <= 0.002);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate_at(&self, items: usize) -> f64;
    }

    /// Grows until the table has room for `additional` more items. Inserting them then splits
    /// nothing.
    ///
    /// Blocks while another thread splits buckets, and as [`insert`](Self::insert) does. Other threads can read and
    /// write meanwhile. It allocates the memory that these items need, and in a large table up to a 64th more, at once,
    /// before it grows.
    ///
    /// # Errors
    ///
    /// [`Error::AboveMaxCapacity`] if the filter would then hold more than
    /// [`max_capacity`](Self::max_capacity) items; nothing has changed. [`Error::OutOfMemory`], before it grows,
    /// if the allocator has no memory for these items. [`Error::Full`] if it has grown as far as it can and has no room
    /// for them: merges of much smaller filters have [doubled](crate#growth) too many entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().max_capacity(10_000).build()?;
    /// filter.reserve(5000)?;
    /// assert!(filter.capacity() >= 5000);
    /// assert!(filter.reserve(20_000).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.inner.reserve(additional)
    }
}

/// Copies.
impl<L: Storage, S> Filter<L, S> {
    /// An exact copy of the filter as it is at one instant, with a clone of the hasher: changes of one do not reach the
    /// other. (Not `Clone`: it may fail, and it waits.)
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
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let copy = filter.try_clone()?;
    /// assert!(copy.remove("egg") && filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, Error>
    where
        S: Clone,
    {
        self.inner.try_clone().map(|inner| Self { inner })
    }
}

/// Snapshots.
impl<L: Storage, S: ComparedHasher> Filter<L, S> {
    /// The filter as it is at one instant between the call and its return: every operation on an item
    /// is in it as a whole, or not at all.
    ///
    /// Other threads go on meanwhile. Lookups never wait. A writer waits for one store at a time, and
    /// once, at the end, while every lock is taken: for a fraction of a millisecond, whatever the size;
    /// longer only if this thread is preempted while it holds a lock, or if a large
    /// [stash](crate#what-finds-no-room) changes while it is copied. Another call of `snapshot` waits
    /// until this one has ended.
    ///
    /// It takes twice as much memory as the table has in use, and 32 bytes for each stashed entry; half of it stays
    /// with the [`Snapshot`]. A large table takes two to three times as long as a copy of it to new memory: 240 ms for
    /// 2^27 slots, which are 256 MiB, on the machine of `docs/performance.md`.
    ///
    /// **A filter with the default hasher cannot be restored in another process.** The snapshot does not
    /// contain the hasher, and the random seed of the default hasher is lost when the process ends:
    /// [`restore`](Self::restore) then returns [`OtherHasher`](Error::OtherHasher). If the filter
    /// must outlive its process, build it with a [`StableHashBuilder`](crate::StableHashBuilder) or a
    /// [`KeyedHashBuilder`](crate::KeyedHashBuilder); or hash the items yourself ([`NoHasher`](crate::NoHasher)).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the filter is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
    /// filter.insert("egg")?;
    /// let bytes = filter.snapshot()?.into_bytes();
    ///
    /// // In another process:
    /// let filter: CuckooFilter<Fp16x4, _> =
    ///     CuckooFilter::from_bytes(&bytes, StableHashBuilder::new(7))?;
    /// assert!(filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.inner.snapshot()
    }

    /// Restores the filter of a snapshot that [`Snapshot::as_bytes`] gave: it gives the same answers as the saved
    /// filter, and can be changed like any other. Reads the snapshot in steps of 8 KiB, and not a byte more.
    ///
    /// Every byte is validated: a filter that is restored is one that this crate could have made. But
    /// the checksum is no signature: whoever can change the bytes can make a valid filter of other
    /// items.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] of the reader. For bytes that are no valid snapshot: [`Error::NotASnapshot`],
    /// [`Error::UnknownVersion`], [`Error::UnknownKind`], [`Error::UnknownLayout`], [`Error::Truncated`],
    /// [`Error::Damaged`], [`Error::ImpossibleTable`], [`Error::InvalidWord`], [`Error::InvalidEntry`] and
    /// [`Error::WrongLen`]. For a valid one of something else: [`Error::OtherType`],
    /// [`Error::OtherLayout`] and [`Error::OtherHasher`]. [`Error::OutOfMemory`].
    ///
    /// Until the snapshot is read to its end, it takes no more memory than twice the bytes that were read, and 8 KiB.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::fs::File;
    /// use coucal::{AnyCuckooFilter, CuckooFilter, StableHashBuilder};
    ///
    /// let file = File::open("seen.coucal")?;
    /// let filter: AnyCuckooFilter<_> = CuckooFilter::restore(file, StableHashBuilder::new(7))?;
    /// println!("{} items", filter.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(reader: impl Read, hasher: S) -> Result<Self, Error> {
        Inner::restore(reader, hasher, Content::Items).map(|inner| Self { inner })
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
    /// use coucal::{CuckooFilter, Error};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let mut bytes = filter.snapshot()?.into_bytes();
    /// bytes[20] ^= 1;
    /// let restored = CuckooFilter::<coucal::Fp16x4, _>::from_bytes(&bytes, filter.hasher().clone());
    /// assert!(matches!(restored, Err(Error::Damaged)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, Error> {
        Inner::from_bytes(bytes, hasher, Content::Items).map(|inner| Self { inner })
    }

    /// The filter of a snapshot, whose bytes are not validated again.
    ///
    /// # Errors
    ///
    /// [`Error::OtherType`], [`Error::OtherLayout`] and [`Error::OtherHasher`] for the snapshot of
    /// something else; and [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let snapshot = filter.snapshot()?;
    /// if snapshot.max_capacity() < 1_000_000 {
    ///     let restored: CuckooFilter =
    ///         CuckooFilter::from_snapshot(&snapshot, filter.hasher().clone())?;
    ///     assert!(restored.is_empty());
    /// }
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_snapshot(snapshot: &Snapshot, hasher: S) -> Result<Self, Error> {
        Inner::from_snapshot(snapshot, hasher, Content::Items).map(|inner| Self { inner })
    }

    /// Adds all that `other` holds, copy by copy: afterwards the filter answers for both. All of it is
    /// added, or nothing.
    ///
    /// Both must have the same layout, and hashers that give the same hashes. Filters of fixed size must also have
    /// the same number of slots, as those have that are built for the same capacity. Filters that grow may have
    /// any sizes: this one grows to hold both.
    ///
    /// **Parts of a whole:** a filter that grows knows the less of an item the smaller it was when it stored it. In a filter
    /// that is some hundred times as large, each such item takes several slots, and twice as many after each doubling.
    /// Before they take too many, a merge is refused: if this filter would have no room for its [maximum
    /// capacity](Self::max_capacity) any more, or, without a maximum, could not go on growing. Of filters of one size
    /// that grew from the smallest one, some twenty can be merged into a new one. So build filters that are to be merged
    /// with the [capacity](crate::Builder::capacity) of all of them together: of these, any number.
    ///
    /// **Rates add up:** what `other` reports of absent items, this filter reports, too. The less a filter knows of its
    /// items, the more that is: 16 filters that grew to 50,000 items each have 2.4 % false positives in one, where one
    /// filter that grew to all these items has 0.23 %. A [rate](crate::Builder::false_positive_rate) that the builder of
    /// this filter was given is a promise: a merge that would break it, at the capacity for which it was given, is an
    /// error. (What was restored from a snapshot has no such promise: the format has no field for it. A
    /// [clone](Self::try_clone) has.) What was merged counts until a [`clear`](Self::clear), also if it is removed again.
    ///
    /// Other threads may use both filters meanwhile. What is added is a [`snapshot`](Self::snapshot) of
    /// `other`; it is added by one insert after the other, so other threads see some of its items
    /// earlier than others, in no order. If one of them finds no room, those that were added are
    /// removed again: until `merge` has returned, do not remove items of `other` from this filter; and
    /// where a merge may fail, do not rely on an [`insert_if_absent`](Self::insert_if_absent) beside it that
    /// returned `Ok(false)`: it may have seen an item that is removed again.
    ///
    /// Blocks as `snapshot` and [`insert`](Self::insert) do, and, if an insert fails, as
    /// [`remove`](Self::remove) does.
    ///
    /// # Errors
    ///
    /// [`Error::OtherLayout`], [`Error::OtherSize`], [`Error::OtherTooSmall`] and [`Error::OtherHasher`], where the filters
    /// do not fit together; [`Error::MergedRateTooHigh`]; [`Error::Full`], [`Error::NoMemoryToStore`], and [`Error::OutOfMemory`] for the snapshot. Then
    /// the filter holds what it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let today = CuckooFilter::with_capacity(100);
    /// let hasher = today.hasher().clone();
    /// let yesterday = CuckooFilter::with_capacity_and_hasher(100, hasher);
    /// today.insert("egg")?;
    /// yesterday.insert("nest")?;
    /// today.merge(&yesterday)?;
    /// assert!(today.contains("egg") && today.contains("nest"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn merge(&self, other: &Self) -> Result<(), Error> {
        self.inner.merge(&other.inner)
    }
}

#[cfg(feature = "serde")]
crate::snapshot::serde::by_snapshot! { Filter {} }

impl<L: Storage, S> fmt::Debug for Filter<L, S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.print("CuckooFilter", self.memory_bytes(), f)
    }
}

#[cfg(test)]
mod tests;
