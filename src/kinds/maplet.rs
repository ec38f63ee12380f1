//! The public type with values: hashing in, candidates out.

mod constructors;

use core::fmt;
use std::io::Read;

use crate::error::{Error, InsertError, Stopped, check_lengths};
use crate::hasher::{ComparedHasher, DefaultHashBuilder, Item, Prehashed};
use crate::layout::{Candidates, Fp16x4};
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::{Pair, ValueBits};

pub use self::constructors::{MapletBuilder, Maplets};

/// What a [`CuckooMaplet`] and a [`GrowableCuckooMaplet`] are: a maplet with the storage `L`.
///
/// `CuckooMaplet<L, S>` is `Maplet<Fixed<L>, S>`, and `GrowableCuckooMaplet<L, S>` is `Maplet<Growable<L>, S>`. Write these
/// names, unless your code takes [both](crate::Filter).
pub struct Maplet<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, ValueBits, S>,
}

/// A table of small values that many threads share: for each key it gives all values of the key, and few
/// others. In a struct: `maplet: CuckooMaplet`, whatever the keys are
/// ([with a hasher, growing, of any layout](crate#the-type-of-a-filter)).
///
/// A maplet is a cuckoo filter with a value of some bits in each slot. One lookup says which shards,
/// segments, runs or partitions may hold a key, in place of one filter for each of them. Keys are not
/// stored: so a lookup may return values of other keys, too, the *false candidates*.
///
/// It stores *pairs* of a key and a value. A key may have several values, and a pair may be stored
/// several times: each copy is removed separately. Pairs for which the two buckets of the key have no room go to
/// the [stash](crate#what-finds-no-room).
///
/// All methods take `&self`: put the maplet into an [`Arc`](std::sync::Arc) or lend it to scoped threads.
/// Equal keys are keys with equal hashes, as in a [`CuckooFilter`](crate::CuckooFilter), and a panic of
/// your code (a [`Hash`] implementation, the hasher, an iterator) leaves the maplet valid.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]; `S` is the hasher of the keys.
///
/// # Guarantees
///
/// * **Every value of the key**: [`get`](CuckooMaplet::get) returns every value whose insert returned before the
///   call, and whose removal or replacement was not called before the return; however many values the key has.
/// * **Few others**: for an absent key `2b·load/2^f` candidates on average, with b slots per bucket and
///   fingerprints of f bits; for a key with n values, these n and as many false candidates as for an
///   absent key. [`false_positive_rate`](CuckooMaplet::false_positive_rate) gives the mean number at the present
///   load.
/// * **A replacement is atomic**: while [`replace`](CuckooMaplet::replace) runs, a lookup sees the old value or the
///   new one, and never neither; of a stashed pair, for a moment it may see both.
/// * **Lookups**: [`contains_key`](CuckooMaplet::contains_key) and [`contains`](CuckooMaplet::contains) are wait-free. [`get`](CuckooMaplet::get) waits for no writer
///   either in its first seven rounds; if pairs of its version group are moved in each of them, it takes
///   the locks of the two buckets of the key. It allocates only if values of the key are stashed.
/// * **The others** are those of filters, in the [documentation of the crate](crate#guarantees): an
///   operation that fails changes nothing; a maplet holds as many pairs as it was built for, however many
///   values a key has; growth without a pause, exact snapshots, hostile bytes are an error.
///
/// Pairs are independent of each other: no order is promised across the pairs of one key.
///
/// # What blocks
///
/// As in the [table of the crate](crate#what-blocks-on-whom-and-how-long):
///
/// | operation | waits for | holds |
/// |---|---|---|
/// | `contains_key`, `contains`, `count`, `insert`, `remove`, `insert_many` and so on | as `contains`, `insert`, `remove` and so on | the same |
/// | `replace`, and `replace_many` for each pair by itself | as `remove` | the same |
/// | `insert_if_absent`, `insert_pair_if_absent` | as `insert_if_absent` | the same |
/// | `update` | as `get`, then as `replace`; again if another thread was faster | the same; nothing while your function runs |
/// | `remove_value` | another one, a `merge` into the maplet, a `clear`, and the end of a `snapshot`; one stripe after the other; two stripes and the mutex of the shard for each stashed pair that goes; in a growable maplet once the growth mutex | one stripe at a time, for a load and a store; these two and the mutex, for some stores |
/// | `get`, `get_many` | nobody, but for the allocator if values of the key are stashed. After 7 rounds or more, in each of which a fingerprint of its version group was moved: two stripes, and if something of the group is stashed the mutex of the shard | these, for two loads and a search in the stash |
///
/// # Layouts
///
/// A value takes bits of the fingerprint. The limits of this table leave at least 5 bits, as many as a
/// maplet needs to reach its capacity. With values of the last column a maplet that [grows](crate#growth) does not end:
///
/// | layout | value bits | value bits with which growth does not end |
/// |---|---|---|
/// | [`Fp8x8`](crate::Fp8x8) | 1 to 3 | |
/// | [`Fp9x7`](crate::Fp9x7) | 1 to 4 | |
/// | [`Fp10x6`](crate::Fp10x6) | 1 to 5 | |
/// | [`Fp12x5`](crate::Fp12x5) | 1 to 6 | none |
/// | [`SemiSorted14x5`](crate::SemiSorted14x5) | 1 to 8 | |
/// | [`Fp16x4`](crate::Fp16x4) | 1 to 10 | 1 to 4 |
/// | [`SemiSorted17x4`](crate::SemiSorted17x4) | 1 to 11 | |
/// | [`Fp21x3`](crate::Fp21x3) | 1 to 14 | 1 to 9 |
/// | [`Fp32x2`](crate::Fp32x2) | 1 to 23 | 1 to 20 |
///
/// With longer values, growth ends where one in four of the slots in use is one that [splits have
/// doubled](crate#growth). So a maplet with such values is built only if it is given a
/// [capacity](crate::MapletBuilder::capacity) or a [maximum](crate::MapletBuilder::max_capacity). With a maximum it
/// begins with a table that is large enough to reach it; without one, [`max_capacity`](CuckooMaplet::max_capacity) says how far
/// it grows.
///
/// A maplet that has doubled D times returns about `2b·load·2^(1+v-w)·(1 + D)` candidates for an absent
/// key, for slots of w bits.
///
/// # Several values for a key
///
/// A capacity counts pairs: the values of all keys together. If keys have several values, some buckets fill up
/// early, and part of the pairs is [stashed](crate#what-finds-no-room), where a pair takes more memory and lookups
/// take longer. [`stats`](CuckooMaplet::stats) says how many there are.
///
/// Say how many values a key has: with [`values_per_key`](crate::Builder::values_per_key), a maplet of fixed size has more
/// slots for its capacity, and takes less memory in all. With three values per key it stashes two of 1,000 pairs in place
/// of one in nine. Or choose a layout with more slots per bucket.
///
/// A maplet that grows keeps its [target load](crate::Builder::target_load), so a larger maximum does not help. In
/// [`Fp21x3`](crate::Fp21x3) and [`Fp32x2`](crate::Fp32x2), one of which it has [by
/// default](crate::MapletBuilder::growable) for values of four bits or more, part of the pairs is stashed with two values
/// per key already. If keys have two values or more on average, name a layout with more slots per bucket
/// ([`Fp16x4`](crate::Fp16x4) stores up to 10 bits, with a [maximum](crate::MapletBuilder::max_capacity)), set a lower
/// target load, or build a maplet of fixed size with `values_per_key`, and look at `stats`.
///
/// The stashed values of a key lie side by side, and an operation on the key reads all of them (but
/// [`contains_key`](CuckooMaplet::contains_key) stops at the first). So its time rises with their number, by some nanoseconds for
/// each, and the inserts of n values take the square of n. What is stashed of some other keys lies behind them: these are
/// as slow, until the values are gone again; and so are some removals of other keys, which look for what can leave the
/// stash.
///
/// # Sources
///
/// Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom" (CoNEXT 2014),
/// section 6: "an associated value for each matched fingerprint". The term *maplet* is that of "Time To
/// Replace Your Filter: How Maplets Simplify System Design" (2025). Chucky (SIGMOD 2021) replaced the
/// Bloom filters of an LSM tree by such a table.
///
/// # Examples
///
/// ```
/// use coucal::CuckooMaplet;
///
/// // Which of 64 partitions may hold a key?
/// let maplet = CuckooMaplet::builder().capacity(10_000).value_bits(6).build()?;
/// std::thread::scope(|scope| {
///     for partition in 0..4 {
///         let maplet = &maplet;
///         scope.spawn(move || {
///             for key in 0..1000 {
///                 maplet.insert(&(partition, key), partition).expect("made for 10,000 pairs");
///             }
///         });
///     }
/// });
/// assert!(maplet.get(&(3_u32, 999)).any(|partition| partition == 3));
///
/// // Partition 3 was merged into partition 7.
/// assert!(maplet.replace(&(3_u32, 999), 3, 7)?);
/// assert!(maplet.get(&(3_u32, 999)).any(|partition| partition == 7));
/// assert!(maplet.remove(&(3_u32, 999), 7));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type CuckooMaplet<L = Fp16x4, S = DefaultHashBuilder> = Maplet<Fixed<L>, S>;

/// A [`CuckooMaplet`] whose layout is chosen at run time: see [`AnyLayout`].
/// In a struct: `maplet: AnyCuckooMaplet` ([with a hasher](crate#the-type-of-a-filter)).
///
/// It has the [methods](CuckooMaplet#implementations) of a `CuckooMaplet`.
///
/// # Examples
///
/// ```
/// use coucal::{AnyCuckooMaplet, CuckooMaplet};
///
/// let builder = CuckooMaplet::builder().capacity(10_000).value_bits(6);
/// let maplet: AnyCuckooMaplet = builder.false_positive_rate(0.001).any_layout().build()?;
/// assert_eq!(maplet.layout_name(), "Fp21x3");
/// # Ok::<(), coucal::Error>(())
/// ```
pub type AnyCuckooMaplet<S = DefaultHashBuilder> = Maplet<Fixed<AnyLayout>, S>;

/// A [`CuckooMaplet`] that grows with its pairs: see [`Growable`]. In a struct: `maplet: GrowableCuckooMaplet`, with a
/// hasher `GrowableCuckooMaplet<AnyLayout, RandomState>`. Its layout is chosen at run time, [by the length of the
/// values](crate::MapletBuilder::growable), unless it is named.
///
/// It has the [methods](CuckooMaplet#implementations) of a `CuckooMaplet` and, besides,
/// [`reserve`](CuckooMaplet::reserve), [`max_capacity`](CuckooMaplet::max_capacity) and
/// [`false_positive_rate_at`](CuckooMaplet::false_positive_rate_at).
///
/// # Examples
///
/// ```
/// use coucal::{Fp32x2, GrowableCuckooMaplet};
///
/// // With a billion pairs, 47 bits for each, and a false candidate for one absent key in 500,000.
/// let builder = GrowableCuckooMaplet::builder().layout::<Fp32x2>().value_bits(6);
/// let maplet: GrowableCuckooMaplet<Fp32x2> = builder.build()?;
/// for key in 0..20_000 {
///     maplet.insert(&key, key % 64)?;
/// }
/// assert!(maplet.get(&777).any(|value| value == 777 % 64));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type GrowableCuckooMaplet<L = AnyLayout, S = DefaultHashBuilder> = Maplet<Growable<L>, S>;

/// Operations on keys.
impl<L: Storage, S> Maplet<L, S> {
    /// Adds one more pair of `key` and `value`.
    ///
    /// Blocks as [`CuckooFilter::insert`](crate::CuckooFilter::insert) does.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], [`Error::NoMemoryToStore`], and [`Error::ValueTooLarge`] for a value of more bits than
    /// [`value_bits`](Self::value_bits); then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Error};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// maplet.insert("egg", 9)?;
    /// assert_eq!(maplet.len(), 2);
    /// assert_eq!(maplet.insert("egg", 64), Err(Error::ValueTooLarge));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> Result<(), Error> {
        self.check(value)?;
        let pair = self.pair(key, value);
        Ok(by_encoding!(self.inner, table => table.insert_item(pair))?)
    }

    /// The values of `key`, and few others: see [`Candidates`].
    ///
    /// Takes no lock, unless pairs of the same version group are moved in each of seven rounds or more: then it
    /// takes the locks of the two buckets of the key, and of the [stash](crate#what-finds-no-room) if something of
    /// the group is there, and blocks while another thread writes there.
    ///
    /// It returns all values, also those for which the buckets have no room.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the values of the key that are
    /// [stashed](crate#what-finds-no-room). A key whose values are all in its buckets needs none. No key needs any in
    /// [`contains_key`](Self::contains_key), nor for a look at one of its values: `update(key, |_| None)`.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// for partition in maplet.get("egg") {
    ///     println!("look into partition {partition}");
    /// }
    /// assert!(maplet.get("egg").any(|partition| partition == 7));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn get<Q: Item<S> + ?Sized>(&self, key: &Q) -> Candidates {
        self.inner.get(self.hash_of(key))
    }

    /// Whether `key` has a value. `false` is certain; `true` may be wrong, as often as
    /// [`get`](Self::get) returns a false candidate.
    ///
    /// Wait-free, as [`CuckooFilter::contains`](crate::CuckooFilter::contains) is.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert!(!maplet.contains_key("egg"));
    /// maplet.insert("egg", 7)?;
    /// assert!(maplet.contains_key("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_key<Q: Item<S> + ?Sized>(&self, key: &Q) -> bool {
        self.inner.contains(self.hash_of(key))
    }

    /// Whether `key` has the value `value`. `false` is certain; `true` may be wrong, as often as
    /// [`get`](Self::get) returns this value as a false candidate: once in 2^[`value_bits`](Self::value_bits) of them.
    /// (For a value of more bits it returns `false`, since no key has such a value.)
    ///
    /// Wait-free, as [`CuckooFilter::contains`](crate::CuckooFilter::contains) is.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// assert!(maplet.contains("egg", 7) && !maplet.contains("egg", 9));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> bool {
        let pair = self.pair(key, value);
        self.fits(value)
            && by_encoding!(lookup: self.inner, table => table.contains_pair(table.key_of(pair)))
    }

    /// The number of copies of the pair of `key` and `value`, those of its false positives included. (For a value of
    /// more bits than [`value_bits`](Self::value_bits) it returns 0.)
    ///
    /// Blocks as [`CuckooFilter::count`](crate::CuckooFilter::count) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("egg", 7), ("egg", 9)])?;
    /// assert_eq!((maplet.count("egg", 7), maplet.count("egg", 8)), (2, 0));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn count<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> usize {
        if !self.fits(value) {
            return 0;
        }
        let pair = self.pair(key, value);
        by_encoding!(self.inner, table => table.count(table.key_of(pair)))
    }

    /// Writes to `counts` how many copies there are of each pair: [`count`](Self::count) for a batch, which hides the
    /// latency of memory in a maplet larger than the cache. The batch is not atomic. Blocks as `count` does, for each
    /// pair by itself.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("egg", 7)])?;
    /// let mut counts = [0; 2];
    /// maplet.count_many(&[("egg", 7), ("egg", 9)], &mut counts)?;
    /// assert_eq!(counts, [2, 0]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn count_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32)],
        counts: &mut [usize],
    ) -> Result<(), Error> {
        check_lengths(pairs.len(), counts.len())?;
        by_encoding!(self.inner, table => {
            let key = move |(key, value): &(Q, u32)| table.key_of(self.pair(key, *value));
            table.answer_each(pairs, key, counts, move |&(_, value), key| {
                if self.fits(value) { table.count(key) } else { 0 }
            });
        });
        Ok(())
    }

    /// Replaces the value `old` of `key` by `new`, in one store: a lookup sees the old value or the new one,
    /// and never neither. (Of a pair in the [stash](crate#what-finds-no-room) it may see both for a moment.) Returns
    /// whether there was such a pair. Of several copies it replaces one.
    ///
    /// Replace only what was inserted. A pair that was never inserted may collide with that of another key,
    /// which then loses its value.
    ///
    /// Blocks as [`remove`](Self::remove) does.
    ///
    /// # Errors
    ///
    /// [`Error::ValueTooLarge`] if `new` has more bits than [`value_bits`](Self::value_bits). If the pair is in the
    /// stash: [`Error::NoMemoryToStore`] if there is no memory for the new one, and [`Error::Full`] if the new one has
    /// as many copies there as can be counted, or is one entry more where there are nearly as many as slots, and
    /// the maplet does not grow any more. Then nothing has changed. (For an `old` of more bits it returns
    /// `Ok(false)`, since no key has such a value.)
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// assert_eq!(maplet.replace("egg", 7, 9), Ok(true));
    /// assert_eq!(maplet.replace("egg", 7, 9), Ok(false));
    /// assert!(maplet.get("egg").eq([9]));
    /// assert!(maplet.replace("egg", 9, 64).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn replace<Q: Item<S> + ?Sized>(&self, key: &Q, old: u32, new: u32) -> Result<bool, Error> {
        self.check(new)?;
        let pair = self.pair(key, old);
        Ok(self.fits(old) && by_encoding!(self.inner, table => table.replace_item(pair, new))?)
    }

    /// Adds the pair of `key` and `value` unless the key has a value: returns `Ok(true)` if it was added. Of threads
    /// that do this at once for a key without a value, exactly one gets `true`.
    ///
    /// A key that collides with another one (a false candidate) has the value of that one. So with
    /// [`update`](Self::update) the maplet is a table of one value for each key, in which few keys share theirs: a
    /// counter for each key, say. **Do not [remove](Self::remove) single pairs from such a maplet**, for the reason
    /// that [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) gives. [`remove_value`](Self::remove_value) is no
    /// danger.
    ///
    /// Blocks as [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) does.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert!(maplet.insert_if_absent("egg", 7)?);
    /// assert!(!maplet.insert_if_absent("egg", 9)?);
    /// assert!(maplet.get("egg").eq([7]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn insert_if_absent<Q: Item<S> + ?Sized>(
        &self,
        key: &Q,
        value: u32,
    ) -> Result<bool, Error> {
        self.check(value)?;
        let pair = self.pair(key, value);
        Ok(by_encoding!(self.inner, table => table.insert_item_if_absent(pair))?)
    }

    /// Adds the pair of `key` and `value` unless this very pair is there: returns `Ok(true)` if it was added. Other
    /// values of the key do not matter. Of threads that do this at once for a pair that is not there, exactly one gets
    /// `true`.
    ///
    /// A pair that collides with that of another key is taken for it. So two keys may share a pair: **do not
    /// [remove](Self::remove) single pairs from such a maplet**, for the reason that
    /// [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) gives. [`remove_value`](Self::remove_value) is no danger.
    ///
    /// Blocks as [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) does.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// // Which of 64 segments hold a word, each of them once?
    /// let segments = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert!(segments.insert_pair_if_absent("egg", 7)?);
    /// assert!(segments.insert_pair_if_absent("egg", 9)?);
    /// assert!(!segments.insert_pair_if_absent("egg", 7)?);
    /// assert_eq!(segments.len(), 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_pair_if_absent<Q: Item<S> + ?Sized>(
        &self,
        key: &Q,
        value: u32,
    ) -> Result<bool, Error> {
        self.check(value)?;
        let pair = self.pair(key, value);
        Ok(by_encoding!(self.inner, table => table.insert_pair_if_absent(table.key_of(pair)))?)
    }

    /// Replaces a value of `key` by what `new` makes of it, and returns the value before; `Ok(None)` if the key has
    /// none. If `new` returns `None`, nothing changes, and the value is returned all the same. Of several values one is
    /// replaced, whichever. It allocates only where [`replace`](Self::replace) does.
    ///
    /// It is to a value what [`AtomicU64::fetch_update`](std::sync::atomic::AtomicU64::fetch_update) is to a number: a
    /// step from one value to the next that no other thread comes between. If another thread is faster, `new` is called
    /// again. No lock is held meanwhile. As with [`replace`](Self::replace), update only keys that were inserted.
    ///
    /// Blocks as [`get`](Self::get) and [`replace`](Self::replace) do.
    ///
    /// # Errors
    ///
    /// Those of [`replace`](Self::replace); then nothing has changed.
    ///
    /// # Examples
    ///
    /// A counter for each key, up to 15:
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let counts = CuckooMaplet::builder().capacity(100).value_bits(4).build()?;
    /// for key in "egg nest egg egg".split(' ') {
    ///     if !counts.insert_if_absent(key, 1)? {
    ///         counts.update(key, |count| (count < 15).then_some(count + 1))?;
    ///     }
    /// }
    /// assert!(counts.get("egg").eq([3]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn update<Q: Item<S> + ?Sized>(
        &self,
        key: &Q,
        mut new: impl FnMut(u32) -> Option<u32>,
    ) -> Result<Option<u32>, Error> {
        let key = Prehashed(self.hash_of(key));
        // Without a bound: each time that it is overtaken, another thread has changed or removed the value.
        loop {
            let least = by_encoding!(lookup: self.inner, table => {
                table.least_value(table.key(key.0), |value| value)
            });
            let Some(old) = least else {
                return Ok(None);
            };
            let Some(new) = new(old) else {
                return Ok(Some(old));
            };
            if self.replace(&key, old, new)? {
                return Ok(Some(old));
            }
        }
    }

    /// Removes one pair of `key` and `value`. Returns whether there was one. (For a value of more bits
    /// than [`value_bits`](Self::value_bits) it returns `false`, since no key has such a value.)
    ///
    /// Remove only what was inserted, once for each insert. A pair that was never inserted may collide with
    /// that of another key, which then loses its value: see
    /// [the checklist](crate#if-a-lookup-misses-what-you-inserted).
    ///
    /// Blocks while another thread writes to the same group of buckets. Takes no lock if there is no such
    /// pair, unless something of its version group is [stashed](crate#what-finds-no-room), or other threads move
    /// pairs of the group during each of 64 attempts.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// assert!(!maplet.remove("egg", 9));
    /// assert!(maplet.remove("egg", 7));
    /// assert!(maplet.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn remove<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> bool {
        let pair = self.pair(key, value);
        self.fits(value) && by_encoding!(self.inner, table => table.remove_item(pair))
    }

    /// Removes all pairs with this value, and returns how many there were: of a run that a compaction has replaced,
    /// say, or of a shard that went away. (For a value of more bits than [`value_bits`](Self::value_bits) it returns
    /// 0.)
    ///
    /// Other threads go on meanwhile. Each pair that was there before the call is removed by itself, at some instant
    /// during the call. One that gets the value during the call may be removed or not; when the call has returned, it
    /// removes nothing any more.
    ///
    /// It reads the whole table, which takes some milliseconds for a million pairs. Blocks while another thread removes
    /// a value, [clears](Self::clear) the maplet, or [merges](Self::merge) another one into it, and at the end of a
    /// [`snapshot`](Self::snapshot); and while another thread writes, for each group of buckets.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("egg", 9), ("nest", 7)])?;
    /// assert_eq!(maplet.remove_value(7), 2);
    /// assert!(maplet.get("egg").eq([9]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn remove_value(&self, value: u32) -> usize {
        if !self.fits(value) {
            return 0;
        }
        by_encoding!(self.inner, table => table.remove_value(value))
    }

    /// Adds one more of each pair of a key and a value, in order, until one fails.
    ///
    /// Blocks as [`insert`](Self::insert) does, for each pair by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: how many pairs were stored (the first ones of the slice), and why the next pair
    /// was not.
    ///
    /// # Panics
    ///
    /// As [`CuckooFilter::insert_many`](crate::CuckooFilter::insert_many).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Error};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("nest", 9)])?;
    /// assert_eq!(maplet.len(), 2);
    /// let failed = maplet.insert_many(&[("owl", 1), ("owl", 64)]).unwrap_err();
    /// assert_eq!(failed, Error::Stopped { index: 1, stored: 1, cause: &Error::ValueTooLarge });
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_many<Q: Item<S>>(&self, pairs: &[(Q, u32)]) -> Result<(), Error> {
        self.insert_batch(pairs)?;
        Ok(())
    }

    /// Adds one more of each pair of an iterator, in order, until one fails. As
    /// [`CuckooFilter::insert_all`](crate::CuckooFilter::insert_all): in batches of up to 256 pairs.
    ///
    /// Blocks as [`insert`](Self::insert) does, for each pair by itself. No lock is held while the iterator
    /// runs.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: how many pairs were stored (the first ones of the iterator), and why the next
    /// pair was not. The iterator may have given up to 255 pairs after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// As `CuckooFilter::insert_all`.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_all(["egg", "nest"].into_iter().zip(0..))?;
    /// assert!(maplet.get("nest").any(|value| value == 1));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn insert_all<Q: Item<S>>(
        &self,
        pairs: impl IntoIterator<Item = (Q, u32)>,
    ) -> Result<(), Error> {
        let hashed = pairs.into_iter().map(|(key, value)| (Prehashed(self.hash_of(&key)), value));
        operations::insert_in_batches(hashed, |batch| self.insert_batch(batch))?;
        Ok(())
    }

    /// Writes to `candidates` the values of each key, and few others: [`get`](Self::get) for a batch, which
    /// hides the latency of memory in a maplet larger than the cache. The batch is not atomic: it is one
    /// lookup for each key.
    ///
    /// Blocks as `get` does, for each key by itself.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Aborts
    ///
    /// As [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Candidates, CuckooMaplet};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// let mut candidates = [const { Candidates::new() }; 2];
    /// maplet.get_many(&["egg", "nest"], &mut candidates)?;
    /// assert!(candidates[0].any(|value| value == 7));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn get_many<Q: Item<S>>(
        &self,
        keys: &[Q],
        candidates: &mut [Candidates],
    ) -> Result<(), Error> {
        check_lengths(keys.len(), candidates.len())?;
        by_encoding!(self.inner, table => {
            let key = move |key: &Q| table.key(self.hash_of(key));
            table.answer_each(keys, key, candidates, move |_, key| table.get(key));
        });
        Ok(())
    }

    /// As [`get_many`](Self::get_many), but returns the candidates in a new vector.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the vector; and as [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// let [mut of_egg, _]: [_; 2] = maplet.get_each(&["egg", "nest"]).try_into().unwrap();
    /// assert!(of_egg.any(|value| value == 7));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn get_each<Q: Item<S>>(&self, keys: &[Q]) -> Vec<Candidates> {
        let mut candidates = vec![Candidates::new(); keys.len()];
        // It fails only if there are more or fewer answers than keys.
        let _ = self.get_many(keys, &mut candidates);
        candidates
    }

    /// Writes to `found` whether each key has its value: [`contains`](Self::contains) for a batch, which hides the
    /// latency of memory in a maplet larger than the cache. The batch is not atomic: it is one lookup for each pair.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// let mut found = [false; 2];
    /// maplet.contains_many(&[("egg", 7), ("egg", 9)], &mut found)?;
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn contains_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32)],
        found: &mut [bool],
    ) -> Result<(), Error> {
        check_lengths(pairs.len(), found.len())?;
        by_encoding!(self.inner, table => {
            let key = move |(key, value): &(Q, u32)| table.key_of(self.pair(key, *value));
            table.answer_each(pairs, key, found, move |&(_, value), key| {
                self.fits(value) && table.contains_pair(key)
            });
        });
        Ok(())
    }

    /// As [`contains_many`](Self::contains_many), but returns the answers in a new vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// assert_eq!(maplet.contains_each(&[("egg", 7), ("egg", 9)]), [true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn contains_each<Q: Item<S>>(&self, pairs: &[(Q, u32)]) -> Vec<bool> {
        let mut found = vec![false; pairs.len()];
        // It fails only if there are more or fewer answers than pairs.
        let _ = self.contains_many(pairs, &mut found);
        found
    }

    /// Removes one of each pair of a key and a value, in order, and writes to `removed` whether there was
    /// one. Returns how many were removed. As with [`remove`](Self::remove), remove only what was inserted.
    ///
    /// Blocks as `remove` does, for each pair by itself: the batch is not atomic.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is removed.
    ///
    /// # Panics
    ///
    /// As [`CuckooFilter::remove_many`](crate::CuckooFilter::remove_many).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("nest", 9)])?;
    /// let mut removed = [false; 3];
    /// assert_eq!(maplet.remove_many(&[("egg", 7), ("nest", 9), ("egg", 7)], &mut removed)?, 2);
    /// assert_eq!(removed, [true, true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn remove_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32)],
        removed: &mut [bool],
    ) -> Result<usize, Error> {
        check_lengths(pairs.len(), removed.len())?;
        Ok(by_encoding!(self.inner, table => {
            let key = move |(key, value): &(Q, u32)| table.key_of(self.pair(key, *value));
            table.change_each(pairs, key, move |at, key| {
                removed[at] = self.fits(pairs[at].1) && table.remove(key);
                Ok(removed[at])
            })
        })?)
    }

    /// For each key with an old and a new value, in order, replaces the old value by the new one, and writes to
    /// `replaced` whether there was such a pair. Returns how many were replaced. As with
    /// [`replace`](Self::replace), replace only what was inserted.
    ///
    /// Each replacement is atomic, as that of `replace` is; the batch is not. In a maplet larger than the cache it is
    /// faster than a loop of `replace`. Blocks as `replace` does, for each pair by itself.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length; then nothing is done. [`Error::Stopped`] where
    /// [`replace`](Self::replace) fails; then the pairs before the index are replaced.
    ///
    /// # Panics
    ///
    /// As [`CuckooFilter::remove_many`](crate::CuckooFilter::remove_many).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert_many(&[("egg", 7), ("nest", 9)])?;
    /// let mut replaced = [false; 3];
    /// let compacted = [("egg", 7, 12), ("nest", 9, 12), ("nest", 9, 12)];
    /// assert_eq!(maplet.replace_many(&compacted, &mut replaced)?, 2);
    /// assert_eq!(replaced, [true, true, false]);
    /// assert!(maplet.get("egg").any(|value| value == 12));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn replace_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32, u32)],
        replaced: &mut [bool],
    ) -> Result<usize, Error> {
        check_lengths(pairs.len(), replaced.len())?;
        Ok(by_encoding!(self.inner, table => {
            let key = move |(key, old, _): &(Q, u32, u32)| table.key_of(self.pair(key, *old));
            table.change_each(pairs, key, move |at, key| {
                let (_, old, new) = pairs[at];
                self.check(new)?;
                replaced[at] = self.fits(old) && table.replace(key, new)?;
                Ok(replaced[at])
            })
        })?)
    }

    /// The 64-bit hash of `key`, for [`Prehashed`]: compute it once, use it often.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Prehashed};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// assert!(maplet.contains_key(&Prehashed(maplet.hash_of("egg"))));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn hash_of<Q: Item<S> + ?Sized>(&self, key: &Q) -> u64 {
        key.hash_with(&self.inner.hasher)
    }
}

/// Pairs of a hash and a value.
impl<L: Storage, S> Maplet<L, S> {
    /// Whether a value has no more bits than are stored.
    #[inline]
    fn fits(&self, value: u32) -> bool {
        value >> self.value_bits() == 0
    }

    /// That a value that is to be stored does.
    #[inline]
    fn check(&self, value: u32) -> Result<(), InsertError> {
        if self.fits(value) { Ok(()) } else { Err(InsertError::ValueTooLarge) }
    }

    /// A pair. If its value has too many bits, it only serves to ask for words.
    #[inline]
    fn pair<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> Pair {
        Pair { hash: self.hash_of(key), value }
    }

    fn insert_batch<Q: Item<S>>(&self, pairs: &[(Q, u32)]) -> Result<usize, Stopped> {
        by_encoding!(self.inner, table => {
            let key = move |(key, value): &(Q, u32)| table.key_of(self.pair(key, *value));
            table.insert_each(pairs, key, move |at, key| {
                self.check(pairs[at].1)?;
                table.insert(key).map(|()| true)
            })
        })
    }
}

/// Figures.
impl<L: Storage, S> Maplet<L, S> {
    /// The bits of each value: values are from 0 to 2^bits - 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert_eq!(maplet.value_bits(), 6);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.inner.state.value_bits()
    }

    forward_to_inner! {
        /// The name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the one that is in use.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert_eq!(maplet.layout_name(), "Fp16x4");
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn layout_name(&self) -> &'static str;

        /// The number of stored pairs, each copy counted; as exact as
        /// [`CuckooFilter::len`](crate::CuckooFilter::len), and takes no lock.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// maplet.insert_many(&[("egg", 7), ("egg", 7), ("egg", 9)])?;
        /// assert_eq!(maplet.len(), 3);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn len(&self) -> usize;

        /// Whether no pair is stored; as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert!(maplet.is_empty());
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn is_empty(&self) -> bool;

        /// The number of pairs that the maplet was built for, or [`len`](Self::len) if it holds more. In a growable
        /// maplet: for its present size, as [`CuckooFilter::capacity`](crate::CuckooFilter::capacity).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert_eq!(maplet.capacity(), 100);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn capacity(&self) -> usize;

        /// The number of slots of the table; in a growable maplet, at its present size.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert!(maplet.slots() > 100);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn slots(&self) -> usize;

        /// The share of slots in use, from 0 to 1; as exact as [`len`](Self::len).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::with_capacity(100, 6);
        /// maplet.insert("egg", 7)?;
        /// assert_eq!(maplet.load_factor(), 1.0 / maplet.slots() as f64);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn load_factor(&self) -> f64;

        /// How full the maplet is: its entries in proportion to the number of pairs that it was built for, or to its
        /// [maximum capacity](CuckooMaplet::max_capacity). As
        /// [`CuckooFilter::fullness`](crate::CuckooFilter::fullness).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// maplet.insert("egg", 7)?;
        /// assert_eq!(maplet.fullness(), 0.01);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn fullness(&self) -> f64;

        /// The mean number of candidates that [`get`](Self::get) is expected to return for an absent key now,
        /// and beside its values for a present one. It may be above 1 where fingerprints are short.
        /// [`contains_key`](Self::contains_key) is true for at most this share of absent keys.
        ///
        /// In a growable maplet it is an estimate, as
        /// [`CuckooFilter::false_positive_rate`](crate::CuckooFilter::false_positive_rate).
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert_eq!(maplet.false_positive_rate(), 0.0);
        /// maplet.insert("egg", 7)?;
        /// assert!(maplet.false_positive_rate() < 0.000_1);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate(&self) -> f64;

        /// The hasher of the keys.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::hash::BuildHasher;
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert_eq!(maplet.hasher().hash_one("egg"), maplet.hash_of("egg"));
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn hasher(&self) -> &S;

        /// Figures for watching the maplet. Takes no lock. Only calls of
        /// [`contains_key`](Self::contains_key) count as inconclusive lookups: [`get`](Self::get) always ends
        /// with a certain answer.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
        /// assert_eq!(maplet.stats().inconclusive_lookups, 0);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn stats(&self) -> Stats;
    }

    /// The memory of the maplet in bytes: itself, and all that it has allocated, without what the hasher
    /// owns on the heap.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert!(maplet.memory_bytes() < 1024);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.inner.figures().heap_bytes()
    }

    /// Removes all pairs that were inserted before the call.
    ///
    /// Blocks as [`CuckooFilter::clear`](crate::CuckooFilter::clear) does; lookups go on.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// maplet.clear();
    /// assert!(maplet.is_empty() && !maplet.contains_key("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn clear(&self) {
        self.inner.state.clear();
    }
}

/// Growth.
impl<L: GrowingLayout, S> Maplet<Growable<L>, S> {
    forward_to_inner! {
        /// The maximum capacity: the number of pairs that the maplet holds at its maximum size. It is what the builder
        /// was [given](crate::Builder::max_capacity), or else what a maplet with such [values](CuckooMaplet#layouts) can reach.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::{CuckooMaplet, GrowableCuckooMaplet};
        ///
        /// let maplet = CuckooMaplet::builder().max_capacity(1000).value_bits(6).build()?;
        /// assert_eq!(maplet.max_capacity(), 1000);
        ///
        /// let maplet = GrowableCuckooMaplet::builder().value_bits(6).build()?;
        /// assert!(maplet.max_capacity() > 1_000_000_000);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// The mean number of candidates that [`get`](Self::get) is expected to return for an absent key when the
        /// maplet holds this number of pairs, if it grew from its first size with them. If the builder was given a
        /// rate, it is at most this rate up to the [maximum capacity](crate::Builder::max_capacity), or up to 2^40
        /// pairs in a maplet without a maximum.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::CuckooMaplet;
        ///
        /// let builder = CuckooMaplet::builder().capacity(1000).max_capacity(8000).value_bits(6);
        /// let maplet = builder.false_positive_rate(0.001).build()?;
        /// let [now, then] = [1000, 8000].map(|pairs| maplet.false_positive_rate_at(pairs));
        /// assert!(now < then && then <= 0.001);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate_at(&self, pairs: usize) -> f64;
    }

    /// Grows until the table has room for `additional` more pairs. Inserting them then splits nothing.
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
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().max_capacity(10_000).value_bits(6).build()?;
    /// maplet.reserve(5000)?;
    /// assert!(maplet.capacity() >= 5000);
    /// assert!(maplet.reserve(20_000).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.inner.reserve(additional)
    }
}

/// Copies.
impl<L: Storage, S> Maplet<L, S> {
    /// An exact copy of the maplet as it is at one instant, with a clone of the hasher: changes of one do not reach the
    /// other. (Not `Clone`: it may fail, and it waits.)
    ///
    /// What is in it, what it blocks, and what it takes meanwhile is the same as for [`snapshot`](Self::snapshot), and some
    /// 80 bytes more for each stashed entry.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the maplet is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let copy = maplet.try_clone()?;
    /// assert!(copy.remove("egg", 7) && maplet.contains_key("egg"));
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
impl<L: Storage, S: ComparedHasher> Maplet<L, S> {
    /// The maplet as it is at one instant between the call and its return: every operation on a pair is in
    /// it as a whole, or not at all.
    ///
    /// What it takes, and who waits for it, is the same as for
    /// [`CuckooFilter::snapshot`](crate::CuckooFilter::snapshot). The hasher is not in it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the maplet is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Fp16x4, StableHashBuilder};
    ///
    /// let builder = CuckooMaplet::builder().capacity(100).value_bits(6);
    /// let maplet = builder.hasher(StableHashBuilder::new(7)).build()?;
    /// maplet.insert("egg", 7)?;
    /// let bytes = maplet.snapshot()?.into_bytes();
    ///
    /// // In another process:
    /// let maplet: CuckooMaplet<Fp16x4, _> =
    ///     CuckooMaplet::from_bytes(&bytes, StableHashBuilder::new(7))?;
    /// assert!(maplet.get("egg").eq([7]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.inner.snapshot()
    }

    /// Restores the maplet of a snapshot that [`Snapshot::as_bytes`] gave. Reads the snapshot in steps
    /// of 8 KiB, and not a byte more, and validates every byte.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::restore`](crate::CuckooFilter::restore); [`Error::OtherType`] for the snapshot of a
    /// filter.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::fs::File;
    /// use coucal::{AnyCuckooMaplet, CuckooMaplet, StableHashBuilder};
    ///
    /// let file = File::open("partitions.coucal")?;
    /// let maplet: AnyCuckooMaplet<_> = CuckooMaplet::restore(file, StableHashBuilder::new(7))?;
    /// println!("{} pairs", maplet.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(reader: impl Read, hasher: S) -> Result<Self, Error> {
        Inner::restore(reader, hasher, Content::Pairs).map(|inner| Self { inner })
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
    /// use coucal::{CuckooFilter, CuckooMaplet, Fp16x4, Error, StableHashBuilder};
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(100, StableHashBuilder::new(7));
    /// let bytes = filter.snapshot()?.into_bytes();
    /// let restored = CuckooMaplet::<Fp16x4, _>::from_bytes(&bytes, StableHashBuilder::new(7));
    /// assert!(matches!(restored, Err(Error::OtherType { name: "CuckooFilter" })));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, Error> {
        Inner::from_bytes(bytes, hasher, Content::Pairs).map(|inner| Self { inner })
    }

    /// The maplet of a snapshot.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot); [`Error::OtherType`] for the
    /// snapshot of a filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// maplet.insert("egg", 7)?;
    /// let hasher = maplet.hasher().clone();
    /// let copy: CuckooMaplet = CuckooMaplet::from_snapshot(&maplet.snapshot()?, hasher)?;
    /// assert!(copy.remove("egg", 7) && maplet.contains_key("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_snapshot(snapshot: &Snapshot, hasher: S) -> Result<Self, Error> {
        Inner::from_snapshot(snapshot, hasher, Content::Pairs).map(|inner| Self { inner })
    }

    /// Adds all pairs that `other` holds, copy by copy: all of them, or nothing.
    ///
    /// What must be the same in both is what [`CuckooFilter::merge`](crate::CuckooFilter::merge) says, and the number of
    /// value bits. What other threads see meanwhile, and what they must not do, is the same as there; and where a
    /// merge may fail, do not replace values of keys of `other` meanwhile.
    ///
    /// Blocks as [`snapshot`](Self::snapshot) and [`insert`](Self::insert) do, and, if an insert fails, as
    /// [`remove`](Self::remove) does.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::merge`](crate::CuckooFilter::merge), and [`Error::OtherValueBits`]; then the maplet
    /// holds what it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let builder = CuckooMaplet::builder().capacity(100).value_bits(6);
    /// let today = builder.clone().build()?;
    /// let yesterday = builder.hasher(today.hasher().clone()).build()?;
    /// today.insert("egg", 7)?;
    /// yesterday.insert("nest", 9)?;
    /// today.merge(&yesterday)?;
    /// assert!(today.get("nest").any(|value| value == 9));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn merge(&self, other: &Self) -> Result<(), Error> {
        self.inner.merge(&other.inner)
    }
}

#[cfg(feature = "serde")]
crate::snapshot::serde::by_snapshot! { Maplet {} }

impl<L: Storage, S> fmt::Debug for Maplet<L, S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.print("CuckooMaplet", self.memory_bytes(), f)
    }
}
