//! The filter: each operation hashes its item and calls the table.

mod constructors;

use core::fmt;
use std::io::Read;

use crate::error::{Error, Stopped, check_lengths};
use crate::hasher::{ComparedHasher, DefaultHashBuilder, Item, Prehashed};
use crate::layout::Fp16x4;
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Overlap, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::NoValues;

/// The type behind [`CuckooFilter`] and [`GrowableCuckooFilter`]: a filter with the storage `L`.
///
/// `CuckooFilter<L, S>` is `Filter<Fixed<L>, S>`, and `GrowableCuckooFilter<L, S>` is `Filter<Growable<L>, S>`. Use
/// these two names, except in code that takes both:
///
/// ```
/// use std::hash::BuildHasher;
/// use coucal::{CuckooFilter, Error, Filter, GrowableCuckooFilter, Storage};
///
/// fn is_new<L: Storage, S: BuildHasher>(filter: &Filter<L, S>, line: &str) -> Result<bool, Error> {
///     filter.insert_if_absent(line)
/// }
///
/// assert_eq!(is_new(&CuckooFilter::with_capacity(100), "egg"), Ok(true));
/// assert_eq!(is_new(&GrowableCuckooFilter::new(), "egg"), Ok(true));
/// ```
pub struct Filter<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, NoValues, S>,
}

/// A cuckoo filter that many threads share: a set of items in a few bits each, with a small rate of false positives, no
/// false negatives, and removal.
///
/// In a struct, write `filter: CuckooFilter`, for items of any type. With another hasher or layout, [name them in the
/// type](crate#the-type-of-a-filter).
///
/// All methods take `&self`: put the filter into an [`Arc`](std::sync::Arc), or lend it to scoped threads. The items
/// are not a type parameter: methods take a reference to any type that implements [`Hash`]. Items with equal hashes are
/// equal, so `"egg"` and `String::from("egg")` are one item. Whether `7_u32` and `7_u64` are one item depends on the
/// hasher, so use one type.
///
/// The filter is a multiset: [`insert`](CuckooFilter::insert) adds a copy,
/// [`insert_if_absent`](CuckooFilter::insert_if_absent) adds the first copy only, and [`remove`](CuckooFilter::remove)
/// removes one copy. The [documentation of the crate](crate#which-insert) says which insert to use.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]. `S` is the hasher of the items. A filter of
/// this type has a fixed size. If you do not know the number of items, use a [`GrowableCuckooFilter`].
///
/// The filter implements neither `Extend` nor `FromIterator`, because they cannot return an error when the filter is
/// full. Use [`insert_all`](CuckooFilter::insert_all) for an iterator, and [`insert_many`](CuckooFilter::insert_many)
/// for a slice. It does not implement `Clone`, because the allocator may have no memory for a second table: use
/// [`try_clone`](CuckooFilter::try_clone).
///
/// If the [`Hash`] implementation of an item, the hasher, or an iterator panics, the filter stays valid and other
/// threads go on, because no lock is held then. An [`Arc`](std::sync::Arc) of a filter can be used in
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
///
/// In a struct, write `filter: AnyCuckooFilter`, or add [a hasher](crate#the-type-of-a-filter).
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
///
/// In a struct, write `filter: GrowableCuckooFilter`. With another hasher or layout, [name them in the
/// type](crate#the-type-of-a-filter).
///
/// [`new`](GrowableCuckooFilter::new) needs no size. [`builder`](GrowableCuckooFilter::builder) builds one with another
/// layout or a maximum. If the maximum is equal to the capacity, the filter keeps its size. So use this type if you
/// decide at run time whether a filter grows.
///
/// It has the [methods](CuckooFilter#implementations) of a `CuckooFilter`, and also [`reserve`](CuckooFilter::reserve),
/// [`max_capacity`](CuckooFilter::max_capacity) and [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at).
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
    /// Waits for other threads that write to the same stripes (groups of buckets). It holds one lock for a few
    /// instructions, or two locks for each kick if both buckets are full. If no kicks make room, the item goes to the
    /// [stash](crate#the-stash), which at times allocates memory. In a growing filter, some inserts split a
    /// few buckets, and a few of these allocate memory. The [table of what each operation waits
    /// for](crate::design#what-each-operation-waits-for) has all cases.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::NoMemoryToStore`]. Then nothing has changed.
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

    /// Adds `item` unless the filter contains it. Returns `Ok(true)` if it added the item, and `Ok(false)` if the item
    /// was present, as [`HashSet::insert`](std::collections::HashSet::insert) does.
    ///
    /// An item that collides with another item (a false positive) counts as present. If several threads insert an
    /// absent item with this method at the same time, exactly one of them gets `true`.
    ///
    /// **Do not remove from a filter that this method fills.** An item that was present may share the copy of another
    /// item, and the first [`remove`](Self::remove) of either item removes the copy of both. This holds even if you
    /// only remove items for which this method returned `true`: see [which insert](crate#which-insert). If you remove
    /// items, use [`insert`](Self::insert) and `remove` in pairs.
    ///
    /// Takes no lock if the item is in one of its buckets and no thread is moving it. Otherwise it waits for other
    /// threads that write to the stripes of its two buckets; where something is stashed, also for those that write to
    /// the stash. If it adds the item, it also waits as [`insert`](Self::insert) does: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert). Then nothing has changed.
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

    /// Returns whether `item` is in the filter. `false` is certain. `true` may be wrong, at the rate that
    /// [`false_positive_rate`](Self::false_positive_rate) returns.
    ///
    /// Wait-free: takes a bounded number of steps, whatever other threads do. It takes no lock, and executes no
    /// read-modify-write and no store, with one exception: if other threads disturb each of eight rounds, it returns
    /// `true`, and counts this for [`stats`](Self::stats).
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

    /// Removes one copy of `item`. Returns whether there was one. If another thread inserts the item during this call,
    /// the removal may come first. Then this call returns `false`, and the new copy stays.
    ///
    /// Remove only what you inserted, once for each insert. An item that was never inserted may collide with a present
    /// item. Its removal then removes the copy of the present item, and lookups miss that item from then on. For the
    /// same reason, do not remove items that you inserted with [`insert_if_absent`](Self::insert_if_absent). [A
    /// table](crate#if-a-lookup-misses-what-you-inserted) has all causes of a false negative.
    ///
    /// Waits for other threads that write to the stripe of the bucket that holds the item. Where something is stashed,
    /// it may also wait for those that write to the stash, and for the allocator: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). If the allocator has no memory, the removal still succeeds.
    /// (A thread that waits for a mutex for the first time may need memory for that, and aborts if there is none.)
    ///
    /// For an absent item it takes no lock, with two exceptions: (a) something of the item's version group (one of at
    /// most 1,024 groups of items) is [stashed](crate#the-stash), and the stash is resized during the call; (b) other
    /// threads move, remove or stash fingerprints of the group during each of 64 attempts.
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

    /// Returns the number of copies of `item`, including copies of items that collide with it.
    ///
    /// Waits for other threads that write to the stripes of the item's two buckets: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). For an absent item it takes no lock, with two exceptions: (a)
    /// something of the item's version group is [stashed](crate#the-stash), and the stash is resized during
    /// the call; (b) another thread moves, removes or stashes a fingerprint of the group during the call.
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

    /// Writes the number of copies of each item to `counts`: [`count`](Self::count) for a batch. It hides the latency
    /// of memory in a filter larger than the cache.
    ///
    /// The batch is not atomic. For each item, the call waits for other threads that write to the stripes of its two
    /// buckets: see [what blocks](crate#what-blocks-on-whom-and-how-long). It holds no lock between two items.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Writes to `found` whether each item is in the filter: [`contains`](Self::contains) for a batch. It hides the
    /// latency of memory in a filter larger than the cache.
    ///
    /// The batch is not atomic: it is one lookup for each item. It is wait-free, as `contains` is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Returns the answers of [`contains_many`](Self::contains_many) in a new vector.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the vector.
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
        // Fails only if the numbers of items and answers differ.
        let _ = self.contains_many(items, &mut found);
        found
    }

    /// Adds one more copy of each item, in order, until an insert fails. You may [remove](Self::remove) each copy, as
    /// after [`insert`](Self::insert).
    ///
    /// The batch is not atomic. For each item, the call waits for other threads that write to the same stripes, as
    /// [`insert`](Self::insert) does: see [what blocks](crate#what-blocks-on-whom-and-how-long). It holds no lock
    /// between two items.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it says how many items were stored (the first ones of the slice), and why the next item was
    /// not.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so up to 32 items
    /// before this one are not stored either. The filter stays valid.
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

    /// Adds one more copy of each item of an iterator, in order, until an insert fails:
    /// [`insert_many`](Self::insert_many) for items that are not in a slice. You may [remove](Self::remove) each copy,
    /// as after [`insert`](Self::insert).
    ///
    /// It takes up to 256 items from the iterator, hashes them, inserts them as one batch, and goes on with the next
    /// 256. It allocates only where `insert` does. It holds no lock while the iterator runs, so the iterator may use
    /// the filter.
    ///
    /// For each item, the call waits for other threads that write to the same stripes, as [`insert`](Self::insert)
    /// does: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it says how many items were stored (the first ones of the iterator), and why the next item
    /// was not. The iterator may have returned up to 255 items after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// If the iterator or the [`Hash`] implementation of an item panics. Up to 255 items that the iterator returned
    /// before are not stored either. The filter stays valid.
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

    /// Adds each item, in order, unless the filter contains it, until an insert fails:
    /// [`insert_if_absent`](Self::insert_if_absent) for a batch. Writes to `new` whether it added each item, and
    /// returns the number of items that it added. If the batch contains an item twice, only the first of the two is
    /// new.
    ///
    /// As with `insert_if_absent`, do not remove from a filter that this method fills. The batch is not atomic. For
    /// each item that is absent or that a thread is moving, the call waits for other threads that write to the stripes
    /// of its two buckets. If it adds the item, it also waits as [`insert`](Self::insert) does: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). It holds no lock between two items.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is added.
    ///
    /// [`Error::Stopped`] if an item could not be added. The items before its index are in the filter, and `new` has
    /// their answers. The rest of `new` has not changed.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so up to 32 items
    /// before this one are not added either. If `new` was all `false` before the call, it shows which items were added.
    /// The filter stays valid.
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

    /// Adds each item of an iterator, in order, unless the filter contains it, until an insert fails. Returns the
    /// number of items that it added: the number of distinct new items, without the false positives among them.
    ///
    /// It takes the items in batches, as [`insert_all`](Self::insert_all) does, and holds no lock while the iterator
    /// runs, so the iterator may use the filter. As with [`insert_if_absent`](Self::insert_if_absent), do not remove
    /// from a filter that this method fills.
    ///
    /// For each item that is absent or that a thread is moving, the call waits for other threads that write to the
    /// stripes of its two buckets. If it adds the item, it also waits as [`insert`](Self::insert) does: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it has the index of the item that could not be added. [`Error::stored`] returns the number
    /// of items that were added before it. The iterator may have returned up to 255 items after it, which are dropped.
    ///
    /// # Panics
    ///
    /// The same as [`insert_all`](Self::insert_all).
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

    /// Removes one copy of each item, in order, and writes to `removed` whether there was one. Returns the number of
    /// copies that it removed. As with [`remove`](Self::remove), remove only what you inserted.
    ///
    /// In a filter larger than the cache, it is faster than a loop of `remove`. The batch is not atomic. For each item,
    /// it waits for other threads that write to the stripe of its bucket: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). It holds no lock between two items.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is removed.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of an item panics. Items are hashed up to 32 places ahead, so up to 32 items
    /// before this one are not removed either. If `removed` was all `false` before the call, it shows which items were
    /// removed. The filter stays valid.
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

    /// Returns the 64-bit hash of `item`, for [`Prehashed`](crate::Prehashed): compute it once and use it many times.
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
    #[must_use]
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
        /// Returns the name of the layout in use: its [`Layout::NAME`](crate::Layout::NAME).
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

        /// Returns the number of stored items, each copy counted. It is exact while no thread writes. While other
        /// threads write, it may miss their operations, and each kick that is under way may add or subtract one. During
        /// a `merge`, an `unmerge` or an `intersect` of a growing filter, it may also be wrong by the number of
        /// [doubled](crate::growth#doubled-entries) copies. After an [`intersect`](Self::intersect) of a filter with
        /// doubled entries, it is an estimate.
        ///
        /// Takes no lock. It adds up one counter for each stripe (a group of buckets): at most 4,096 counters.
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

        /// Returns whether the filter stores no item. It is as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert!(filter.is_empty());
        /// ```
        pub fn is_empty(&self) -> bool;

        /// Returns the number of items that the filter was built for, or [`len`](Self::len) if it holds more.
        ///
        /// In a growing filter, this is the number of items for its present size. It is at least the initial capacity.
        /// It is at most the maximum capacity, unless the filter holds more.
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

        /// Returns the number of slots of the table. In a growing filter, this is the number at its present size.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert!(filter.slots() > 100);
        /// ```
        pub fn slots(&self) -> usize;

        /// Returns the share of slots in use, from 0 to 1. It is as exact as [`len`](Self::len).
        ///
        /// It differs from `len` in two ways: it does not count copies in the [stash](crate#the-stash), and in
        /// a growing filter it counts the additional slots of entries that splits have
        /// [doubled](crate::growth#doubled-entries).
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

        /// Returns how full the filter is: the number of its entries, divided by the number of items that it was built
        /// for. The entries are the slots in use and the [stashed entries](Stats::stashed_entries). In a growing
        /// filter, an entry that splits have [doubled](crate::growth#doubled-entries) counts once, and the divisor is
        /// the [maximum capacity](CuckooFilter::max_capacity). It is as exact as [`len`](Self::len), and takes as long.
        ///
        /// While the value is below 1, an insert returns [`Full`](Error::Full) only for an item with 2^25 - 1 copies in
        /// the stash. (A growing filter into which much smaller ones were merged may be
        /// [full sooner](crate::growth#when-it-is-full).) A filter may hold more than it was built for, so the value
        /// may be above 1. The [load factor](Self::load_factor) of a growing filter does not show how full the filter
        /// is, because growth keeps the load close to its target. If a filter was built without a maximum, watch
        /// [`memory_bytes`](Self::memory_bytes).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableCuckooFilter;
        ///
        /// let filter = GrowableCuckooFilter::builder().max_capacity(10_000).build()?;
        /// filter.insert_all(0..2500)?;
        /// assert_eq!(filter.fullness(), 0.25);
        /// assert!(filter.load_factor() > 0.75);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn fullness(&self) -> f64;

        /// Returns the share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to report as
        /// present now.
        ///
        /// If items have several copies, the true share may be lower: this method counts each copy as an item, but an
        /// absent item collides with all copies of an item or with none.
        ///
        /// In a growing filter, the rate depends on when the items were inserted. So this method estimates the rate
        /// from the words of the table: from all words in a table of up to 2^14 buckets, and from a sample of at most
        /// that size in a larger table. The estimate is right within some percent up to 13 doublings. It does not count
        /// [stashed](crate#the-stash) entries. Most of them add next to nothing to the rate, because lookups
        /// compare 44 bits of their position. (An exception is [`Fp32x2`](crate::Fp32x2) from 2^25 buckets on. There, a
        /// new entry in a bucket [knows](crate::design#entries-of-variable-length) 44 bits of its position or more: it
        /// stores them, or its bucket tells them. So a stashed entry adds as much to the rate as such an entry, or
        /// more.) A stashed entry that came by a [merge](Self::merge) adds as much as an entry in a bucket.
        ///
        /// The estimate takes no lock. It takes a fraction of a millisecond, longer than the other figures.
        /// [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at) predicts the rate for a number of items.
        /// See [growth](crate#growth).
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

        /// Returns the hasher of the items.
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

        /// Returns figures for monitoring the filter. Takes no lock.
        ///
        /// # Examples
        ///
        /// ```
        /// let filter = coucal::CuckooFilter::with_capacity(100);
        /// assert_eq!(filter.stats().inconclusive_lookups, 0);
        /// ```
        pub fn stats(&self) -> Stats;
    }

    /// Returns the memory of the filter in bytes: the value itself, and all that it has allocated (its table, locks and
    /// counters, and its [stash](crate#the-stash)). Memory that the hasher owns on the heap is not included. A
    /// growing table is allocated in [slabs](crate::growth#memory), when growth reaches them.
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
    /// Waits until it holds every lock of the filter. Other threads that write wait until it returns: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). Lookups go on. The removal is atomic for each item, but not for
    /// all items together: lookups during the call may find some items and miss others. A filter that has grown keeps
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
        /// Returns the maximum capacity: the number of items that the filter holds at its maximum size. It is the
        /// number that was passed to [`max_capacity`](crate::Builder::max_capacity) of the builder.
        ///
        /// Without such a call, it is the number of items for which a [budget](crate::Builder::memory_bytes) has room.
        /// Without a budget, it is the number that 2^44 slots hold at the [target
        /// load](crate::Builder::target_load): more than 2^43 by default. See [growth](crate#growth).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableCuckooFilter;
        ///
        /// let filter = GrowableCuckooFilter::builder().max_capacity(1000).build()?;
        /// assert_eq!(filter.max_capacity(), 1000);
        ///
        /// let filter = GrowableCuckooFilter::builder().build()?;
        /// assert!(filter.max_capacity() > 1_000_000_000);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// Returns the share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to report as
        /// present when the filter holds `items` items. Assumes that the filter has grown from its first size while
        /// these items were inserted. The formula is on the page about [growth](crate::growth#false-positives).
        ///
        /// It takes into account the [merges](Self::merge) since the filter was built or [cleared](Self::clear): items
        /// of a filter that was smaller cause more false positives. A filter that was restored from a snapshot does not
        /// know of earlier merges, so its [present rate](Self::false_positive_rate) may be higher.
        ///
        /// If the builder was given a rate, the result is at most this rate up to the [maximum
        /// capacity](crate::Builder::max_capacity), or up to 2^40 items in a filter without a maximum, also after
        /// merges. If `items` is above the maximum capacity, the result is the rate of a filter of the maximum size
        /// that holds `items` items.
        ///
        /// The [present rate](Self::false_positive_rate) may be lower: items that were inserted when the filter was
        /// larger than necessary (after others were removed, or after [`reserve`](Self::reserve)) cause fewer false
        /// positives.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableCuckooFilter;
        ///
        /// let builder = GrowableCuckooFilter::builder().capacity(1000).max_capacity(100_000);
        /// let filter = builder.false_positive_rate(0.002).build()?;
        /// let [now, then] = [1000, 100_000].map(|items| filter.false_positive_rate_at(items));
        /// assert!(now < then && then <= 0.002);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate_at(&self, items: usize) -> f64;
    }

    /// Grows until the table has room for `additional` more items. Inserts of these items then split no bucket.
    ///
    /// Waits while another thread splits buckets, and for other threads that write to the stripes of the buckets that
    /// it splits: see [what blocks](crate#what-blocks-on-whom-and-how-long). Other threads can read and write
    /// meanwhile. Before it grows, it allocates at once the memory that these items need, and in a large table up to a
    /// 64th more.
    ///
    /// # Errors
    ///
    /// * [`Error::AboveMaxCapacity`] if the filter would then hold more than [`max_capacity`](Self::max_capacity)
    ///   items. (All copies of an item in the stash count as one.) Nothing has changed.
    /// * [`Error::OutOfMemory`] if the allocator has no memory for these items. Mostly the filter has not grown then.
    ///   It may have grown in part if memory for the counts of [doubled](crate::growth#doubled-entries) entries is
    ///   missing.
    /// * [`Error::Full`] if it has grown as far as it can and still has no room for them, because merges of much
    ///   smaller filters have [doubled](crate::growth#doubled-entries) too many entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::builder().max_capacity(10_000).build()?;
    /// filter.reserve(5000)?;
    /// assert!(filter.capacity() >= 5000);
    /// assert!(filter.reserve(20_000).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.inner.reserve(additional)
    }
}

/// Clones.
impl<L: Storage, S> Filter<L, S> {
    /// Returns an exact clone of the filter as it is at one instant, with a clone of the hasher. Later changes of one
    /// filter do not affect the other. (The type is not `Clone`, because this call can fail, and can wait for other
    /// threads.)
    ///
    /// It waits for the same threads as [`snapshot`](Self::snapshot), and makes the same threads wait: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). While it runs, it takes as much memory as `snapshot`, and some
    /// 80 bytes more for each stashed entry.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The filter has not changed.
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
    /// Returns a snapshot of the filter as it is at one instant between the call and its return. Every operation on an
    /// item is in the snapshot as a whole, or not at all.
    ///
    /// Other threads go on meanwhile. Lookups never wait. A writer waits for one store at a time. Once, at the end,
    /// writers wait while every lock is taken: a fraction of a millisecond, whatever the size of the filter. They wait
    /// longer only if this thread is preempted while it holds a lock, or if a large [stash](crate#the-stash)
    /// changes while it is copied. Another call of `snapshot` waits until this one has ended. The [table of what each
    /// operation waits for](crate::design#what-each-operation-waits-for) has all cases.
    ///
    /// It takes twice as much memory as the table has in use, and 32 bytes for each stashed entry. The [`Snapshot`]
    /// keeps half of this memory. The snapshot of a large table takes twice as long as a copy of the table to new
    /// memory: 330 ms for 2^27 slots, which are 256 MiB, on the machine of `docs/performance.md`.
    ///
    /// **A filter with the default hasher cannot be restored in another process.** The snapshot does not contain the
    /// hasher, and the random seed of the default hasher is lost when the process ends: [`restore`](Self::restore) then
    /// returns [`OtherHasher`](Error::OtherHasher). If the filter must outlive its process, build it with a
    /// [`StableHashBuilder`](crate::StableHashBuilder) or a [`KeyedHashBuilder`](crate::KeyedHashBuilder), or hash the
    /// items yourself ([`NoHasher`](crate::NoHasher)).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The filter has not changed.
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

    /// Restores a filter from the bytes of a snapshot ([`Snapshot::as_bytes`]). The filter gives the same answers as
    /// the saved one, and can be changed like any other. The call reads no byte beyond the end of the snapshot.
    ///
    /// Every byte is validated: bytes that are not a valid snapshot are an error. But the checksum is not a signature:
    /// an attacker who can change the bytes can make a valid filter of other items.
    ///
    /// # Errors
    ///
    /// * [`Error::Io`] if the reader fails.
    /// * If the bytes are not a valid snapshot: [`Error::NotASnapshot`], [`Error::UnknownVersion`],
    ///   [`Error::UnknownKind`], [`Error::UnknownLayout`], [`Error::Truncated`], [`Error::Damaged`],
    ///   [`Error::ImpossibleTable`], [`Error::InvalidWord`], [`Error::InvalidEntry`] and [`Error::WrongLen`].
    /// * If the snapshot is valid, but of another type, layout or hasher: [`Error::OtherType`], [`Error::OtherLayout`]
    ///   and [`Error::OtherHasher`].
    /// * [`Error::OutOfMemory`].
    ///
    /// Until it has read the snapshot to its end, it allocates at most twice the number of bytes that it has read, and
    /// 8 KiB.
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

    /// Restores a filter from a slice that contains one snapshot and nothing else. Otherwise it is the same as
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// The same as [`restore`](Self::restore) (except [`Error::Io`]), and [`Error::TrailingBytes`] for bytes after the
    /// snapshot.
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

    /// Restores the filter of a snapshot without validating its bytes again.
    ///
    /// # Errors
    ///
    /// [`Error::OtherType`], [`Error::OtherLayout`] and [`Error::OtherHasher`] if the snapshot is of another type,
    /// layout or hasher, and [`Error::OutOfMemory`].
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

    /// Adds all items of `other`, with all their copies: afterwards this filter contains the items of both. It adds all
    /// of them, or nothing.
    ///
    /// Both filters must have the same layout, and hashers that give the same hashes. Filters of fixed size must also
    /// have the same number of slots, as filters built for the same capacity have. Growing filters may have any sizes:
    /// this one grows to hold both.
    ///
    /// **If you want to merge growing filters, build each of them with the [capacity](crate::Builder::capacity) of all
    /// of them together.** Then you can merge any number of them. The smaller a growing filter is when it stores an
    /// item, the fewer bits of the item's hash it stores. In a filter some hundred times as large, such an item takes
    /// several slots, and each doubling doubles their number. A merge returns an error if these slots would leave too
    /// little room for the [maximum capacity](Self::max_capacity), or without a maximum for further growth. If filters
    /// of one size grew from the smallest size, some twenty of them can be merged into a new one (default layout).
    ///
    /// **The rates add up:** this filter also reports the absent items that `other` reports as present. The fewer
    /// bits a filter stores of its items, the higher the rate: if 16 filters that grew to 50,000 items each are merged
    /// into one, it has 16 · 0.15 = 2.4 % false positives; a filter that grew to all these items has 0.23 %. If the
    /// builder of this filter was given a [rate](crate::Builder::false_positive_rate), the filter keeps this rate: a
    /// merge returns an error if the filter would exceed the rate when it is full. (A filter that was restored from a
    /// snapshot has no such rate, because the format has no field for it. A [clone](Self::try_clone) has it.) In a
    /// growing filter, merged items count towards the rate until a [`clear`](Self::clear), also if they are removed
    /// again.
    ///
    /// Other threads may use both filters meanwhile. The merge takes a [`snapshot`](Self::snapshot) of `other`, and
    /// inserts the items one after the other, in no particular order. So other threads see some of these items earlier
    /// than others. If one of these inserts fails, the merge removes the items that it has added. Therefore:
    ///
    /// * Until `merge` has returned, do not remove items of `other` from this filter.
    /// * If the merge may fail, do not rely on an [`insert_if_absent`](Self::insert_if_absent) that returned
    ///   `Ok(false)` meanwhile: it may have seen an item that the merge then removed.
    ///
    /// It waits for the same threads as a `snapshot` of `other`. Then it waits for another `merge` into this filter,
    /// for a `clear` of it, and for the end of a `snapshot` of it (in a small growing filter, for the whole
    /// `snapshot`). Then, for each item, it waits for other threads that write to the same stripes: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// * If the filters do not fit together: [`Error::OtherLayout`], [`Error::OtherSize`], [`Error::OtherTooSmall`] and
    ///   [`Error::OtherHasher`].
    /// * [`Error::MergedRateTooHigh`] if the rate would exceed the one that the builder was given.
    /// * [`Error::Full`] and [`Error::NoMemoryToStore`] if an insert fails.
    /// * [`Error::OutOfMemory`] if there is no memory for the snapshot of `other`.
    ///
    /// Then the filter holds what it held before.
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

    /// Removes the items of another filter: the inverse of [`merge`](Self::merge). Returns how many copies of items of
    /// `other` this filter did not hold: 0 if all of them were merged before. (If `other` has
    /// [doubled](crate::growth#doubled-entries) entries and this filter holds some of its items, the number is an
    /// estimate.)
    ///
    /// The rule of [`remove`](Self::remove) applies. If you break it, lookups may miss other items:
    ///
    /// * Unmerge only a filter that you have merged, once for each merge. (In a filter of fixed size, you may also
    ///   unmerge items that you inserted one by one. In a growing filter you may not: an entry of `other` may know so
    ///   few bits of its item that it also matches the entry of another item in this filter.)
    /// * Between the two calls, do not change `other`. (A `reserve`, or a `merge` into it that fails, may change it,
    ///   too.) If `other` may change, unmerge a [clone](Self::try_clone) that you took before the merge.
    /// * Between the two calls, remove none of the items of `other` from this filter.
    ///
    /// Other threads may use both filters meanwhile. The call takes a [`snapshot`](Self::snapshot) of `other`, and
    /// removes its items one after the other, so other threads see some of them go earlier than others. It waits as
    /// `merge` does: see [what blocks](crate#what-blocks-on-whom-and-how-long). In a growing filter, the rate that
    /// merged items have added [stays](Self::merge) until a `clear`.
    ///
    /// # Errors
    ///
    /// [`Error::OtherLayout`], [`Error::OtherSize`] and [`Error::OtherHasher`] if the filters do not fit together, and
    /// [`Error::OutOfMemory`] if there is no memory for the snapshot of `other`. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableCuckooFilter, StableHashBuilder};
    ///
    /// let new = || GrowableCuckooFilter::with_hasher(StableHashBuilder::default());
    /// let [all, shard] = [new(), new()];
    /// all.insert("egg")?;
    /// shard.insert("nest")?;
    /// all.merge(&shard)?;
    /// assert_eq!(all.unmerge(&shard)?, 0);
    /// assert!(all.contains("egg") && !all.contains("nest"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn unmerge(&self, other: &Self) -> Result<usize, Error> {
        self.inner.unmerge(&other.inner)
    }

    /// Keeps the intersection with another filter. Removes an entry only if `other` certainly holds no item that
    /// matches this entry. Returns the number of removed copies.
    ///
    /// An item that both filters hold during the whole call stays, with all its copies in this filter. An item that
    /// `other` does not hold stays if `other` reports it as present, at the [rate](Self::false_positive_rate) of
    /// `other`. In growing filters more items stay, for two reasons: an entry may know fewer bits than its item has;
    /// and if `other` has [stashed](crate#the-stash) something of a version group, all entries of this group
    /// stay.
    ///
    /// If this filter has [doubled](crate::growth#doubled-entries) entries, the returned number and [`len`](Self::len)
    /// are estimates from then on.
    ///
    /// Afterwards you may [remove](Self::remove) an item only if it was inserted into this filter, and is in `other`.
    ///
    /// There is no method for the difference of two filters, because lookups would then miss items. Such a method would
    /// have to remove each entry that matches an item of `other`. The entry may also be that of an item that has to
    /// stay and is a false positive of `other`. To remove the items of a filter that was merged, call
    /// [`unmerge`](Self::unmerge).
    ///
    /// Other threads may use both filters meanwhile: an item that another thread inserts or moves during the call may
    /// stay. The call takes the lock of each stripe with something to remove, and no snapshot. It waits as a
    /// [`clear`](Self::clear) does for other operations on the whole filter: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::OtherLayout`], [`Error::OtherSize`] and [`Error::OtherHasher`] if the filters do not fit together. Then
    /// nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, StableHashBuilder};
    ///
    /// let new = || CuckooFilter::with_capacity_and_hasher(100, StableHashBuilder::default());
    /// let [ours, theirs] = [new(), new()];
    /// ours.insert_all(["egg", "nest"])?;
    /// theirs.insert_all(["nest", "tree"])?;
    /// assert_eq!(ours.intersect(&theirs)?, 1);
    /// assert!(ours.contains("nest") && !ours.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn intersect(&self, other: &Self) -> Result<usize, Error> {
        self.inner.intersect(&other.inner)
    }

    /// Estimates how many entries of this filter stand for items of another filter. Returns the estimate and its error.
    /// Changes nothing.
    ///
    /// It looks up each entry of this filter in `other`, and corrects the number for false positives. (In growing
    /// filters these are more frequent than the rate of `other` says, because an entry knows fewer bits than an item.
    /// So the call also looks up each entry at another position, where every match is a false positive.)
    ///
    /// Equal copies in the [stash](crate#the-stash) count once, and each part of a
    /// [doubled](crate::growth#doubled-entries) entry counts. Other threads may use both filters meanwhile: an item
    /// that is moved during the call may be counted twice, or not at all. In growing filters, if `other` has stashed
    /// something of a version group, an entry of this group tells nothing. The call waits only for writers in the stash
    /// of this filter.
    ///
    /// # Errors
    ///
    /// Those of [`intersect`](Self::intersect), and [`Error::OutOfMemory`] if there is no memory for a copy of the
    /// stash.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, StableHashBuilder};
    ///
    /// let new = || CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::default());
    /// let [ours, theirs] = [new(), new()];
    /// ours.insert_all(0..1000)?;
    /// theirs.insert_all(700..1700)?;
    /// let overlap = ours.overlap(&theirs)?;
    /// assert!((overlap.items - 300.0).abs() <= 5.0 * overlap.standard_error);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn overlap(&self, other: &Self) -> Result<Overlap, Error> {
        self.inner.overlap(&other.inner)
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
