//! The public types of maplets: they hash keys, call the table, and return candidates.

mod constructors;

use core::fmt;
use std::io::Read;

use crate::error::{Error, InsertError, Stopped, check_lengths};
use crate::hasher::{ComparedHasher, DefaultHashBuilder, Item, Prehashed};
use crate::layout::{Candidates, Fp16x4, Fp21x3};
use crate::snapshot::{Content, Snapshot};
use crate::storage::operations::{self, Inner, Stats, by_encoding, forward_to_inner};
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::sync::memory::try_with_capacity;
use crate::table::placing::entry::{Pair, ValueBits};

pub use self::constructors::{MapletBuilder, Maplets};

/// The type behind [`CuckooMaplet`] and [`GrowableCuckooMaplet`]: a maplet with the storage `L`.
///
/// `CuckooMaplet<L, S>` is `Maplet<Fixed<L>, S>`, and `GrowableCuckooMaplet<L, S>` is `Maplet<Growable<L>, S>`. Write
/// these names, unless your code takes [both](crate::Filter).
pub struct Maplet<L: Storage, S = DefaultHashBuilder> {
    pub(crate) inner: Inner<L, ValueBits, S>,
}

/// A table of small values that many threads share: for a key it returns all values of the key, and few others.
///
/// In a struct, write `maplet: CuckooMaplet`, for keys of any type. With another hasher or layout, [name them in the
/// type](crate#the-type-of-a-filter).
///
/// A maplet is a cuckoo filter with a value of a few bits in each slot. One lookup says which shards, segments, runs or
/// partitions may hold a key: one maplet replaces a filter for each of them. A maplet does not store the keys. So a
/// lookup may also return values of other keys, the *false candidates*.
///
/// A maplet stores *pairs* of a key and a value. A key may have several values. A pair may be stored several times, and
/// each copy is removed separately. If the two buckets of a key have no room for a pair, the pair goes to the
/// [stash](crate#the-stash).
///
/// All methods take `&self`: put the maplet into an [`Arc`](std::sync::Arc) or lend it to scoped threads. Keys with
/// equal hashes are equal, as in a [`CuckooFilter`](crate::CuckooFilter). If your code (a [`Hash`] implementation, the
/// hasher, an iterator, a closure) panics, the maplet stays valid.
///
/// `L` is the [`Layout`](crate::Layout) of the buckets, or [`AnyLayout`]; `S` is the hasher of the keys.
///
/// # Guarantees
///
/// * **Every value of the key**: [`get`](CuckooMaplet::get) returns every value of the key, however many there are.
///   (Exactly: every value whose insert returned before `get` was called, and for which neither a removal nor a
///   replacement was called before `get` returned.)
/// * **Few others**: for an absent key, `get` returns `2b·load/2^f` candidates on average: b is the number of slots per
///   bucket, and f the number of fingerprint bits of the layout minus the number of value bits. (A maplet that grows
///   returns [more](#layouts).) For a key with n values, it returns these n values, and as many false candidates as for
///   an absent key.
///   [`false_positive_rate`](CuckooMaplet::false_positive_rate) returns the mean number at the present load.
/// * **A replacement is atomic**: while [`replace`](CuckooMaplet::replace) runs, a lookup sees the old value or the new
///   one; it never misses both. If the pair is stashed, a lookup may see both for a moment.
/// * **Lookups**: [`contains_key`](CuckooMaplet::contains_key) and [`contains`](CuckooMaplet::contains) are wait-free.
///   [`get`](CuckooMaplet::get) waits for no writer in its first seven rounds. It takes the locks of the two buckets of
///   the key only if other threads disturb each of these rounds: they move or change pairs of its version group (one of
///   at most 1,024 groups of keys), or resize the stash. It allocates only if values of the key, or of a key that
///   collides with it, are stashed.
/// * **All other guarantees** are those of filters, in the [documentation of the crate](crate#guarantees): an operation
///   that fails changes nothing; a maplet holds as many pairs as it was built for, however many values a key has;
///   growth without a pause, exact snapshots, and an error for hostile bytes.
///
/// Pairs are independent of each other: a maplet promises no order across the pairs of one key. For example, one thread
/// removes the only value of a key, while another thread inserts a second value. A lookup at this time may find
/// neither value, even if the second thread still finds the first value after its insert. Or an `update_values` changes
/// one value of a key to 2, and another one from 2 to 3: a lookup at this time may miss the 2.
///
/// # What blocks
///
/// Where a cell says *as `insert`*, read the row of that operation, in this table or in the [table of all
/// operations](crate::design#what-each-operation-waits-for). The [stash](crate::design#the-stash) has 1 to 8 *shards*.
/// A thread that splits buckets holds the *growth mutex*.
///
/// | operation | waits for | holds |
/// |---|---|---|
/// | `contains_key`, `contains`, `count`, `insert`, `remove`, `insert_many` and so on | as `contains`, `count`, `insert`, `remove` and so on | the same |
/// | `replace`, and `replace_many` for each pair by itself | as `remove` | the same |
/// | `insert_if_absent`, `insert_pair_if_absent` | as `insert_if_absent` | the same |
/// | `update` | as `get`, but not for the allocator; then as `replace`; both again if another thread changed the value first | the same; nothing while your function runs |
/// | `update_or_insert` | as `update`; if the key has no value, then as `insert_if_absent`; both again if another thread inserted a value first | the same; nothing while your function runs |
/// | `remove_value` | (a) another `remove_value`, an `update_values`, a `merge` into the maplet, a `clear`, and the end of a `snapshot`; (b) the mutex of each shard; for each stashed pair that it removes, also two stripes; (c) in a growing maplet, the growth mutex; (d) one stripe after the other; (e) rarely, at the end, every stripe | in (b) the mutex, for one pass over the entries of the shard (for several if it removes pairs) and for the allocator; the two stripes and the mutex, for some stores; in (d) that stripe, for loads and stores in 512 buckets at a time |
/// | `update_values` | as `remove_value`, but for the stashed pairs all stripes at once, the mutex of each shard, and the allocator | that stripe, for loads and stores in all its buckets: from 2^19 buckets on, some 1/4096 of the table; all stripes and mutexes, while it sorts the stashed pairs and stores in each of them |
/// | during one of these two: an operation that moves a pair (an insert that kicks or splits; while something of the version group is stashed, also a removal or a replacement) | also each stripe that it needs and that is not swept yet: it sweeps that stripe itself | as these two |
/// | `get`, `get_many` | nobody, except the allocator if values of the key, or of a key that collides with it, are stashed. If other threads disturb each of at least 7 rounds: two stripes and, if something of the version group is stashed, the mutex of the shard | these, for two loads, a search in the stash, and the allocator for its values |
///
/// # Layouts
///
/// Each bit of a value takes one bit of the fingerprint. The limits in this table leave at least 5 bits for the
/// fingerprint: a maplet needs them to reach its capacity. The last column has the value bits with which a maplet that
/// [grows](crate#growth) can reach 2^44 slots. It is empty for layouts that cannot grow.
///
/// | layout | value bits | value bits with which growth does not end early |
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
/// With longer values, growth ends at the size at which [splits](crate::growth#doubled-entries) are expected to have
/// doubled one in four of the slots in use. So for such values, the builder of a growing maplet needs a
/// [capacity](crate::Builder::capacity) or a [maximum](crate::Builder::max_capacity). With a maximum, the maplet begins
/// with a table that is large enough to reach this maximum. With a capacity alone,
/// [`max_capacity`](CuckooMaplet::max_capacity) says how far the maplet grows.
///
/// After D doublings, `get` returns about `2b·load·2^(1+v-w)·(1 + D)` candidates for an absent key, with b slots of w
/// bits per bucket and values of v bits. [A table](crate::growth#false-candidates-of-maplets) has the rates of all
/// layouts.
///
/// # Several values for a key
///
/// A capacity counts pairs: the values of all keys together. If keys have several values, some buckets fill up early,
/// and part of the pairs is [stashed](crate#the-stash). A stashed pair takes more memory, and lookups take
/// longer. [`stats`](CuckooMaplet::stats) says how many pairs are stashed.
///
/// If keys have several values, say how many with [`values_per_key`](crate::Builder::values_per_key). Then a maplet of
/// fixed size has more slots for its capacity, stashes fewer pairs, and takes less memory in all. With three values per
/// key it stashes 1 of 1,000 pairs; without this call it stashes one in nine. You can also choose a layout with more
/// slots per bucket.
///
/// A growing maplet keeps its [target load](crate::Builder::target_load), so a larger maximum does not help. In its
/// [default layout](GrowableCuckooMaplet#layouts), two values per key are enough to stash part of the pairs. If keys
/// have two values or more on average, look at `stats`, and do one of these:
///
/// * name a layout with more slots per bucket: [`Fp16x4`](crate::Fp16x4) stores up to 10 bits, with a
///   [maximum](crate::Builder::max_capacity);
/// * set a lower target load;
/// * build a maplet of fixed size with `values_per_key`.
///
/// The stashed values of a key lie side by side, and an operation on the key reads all of them
/// ([`contains_key`](CuckooMaplet::contains_key) stops at the first). So the time of an operation rises by some
/// nanoseconds for each stashed value, and inserting n values takes time proportional to n². The stashed values of some
/// other keys lie behind the values of this key: operations on those keys are as slow, until the values of this key are
/// removed. Some removals of other keys are as slow, too, because they look for entries that can leave the stash.
///
/// # Sources
///
/// Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom" (CoNEXT 2014), section 6: "an
/// associated value for each matched fingerprint". The term *maplet* comes from "Time To Replace Your Filter: How
/// Maplets Simplify System Design" (2025). Chucky (SIGMOD 2021) replaced the Bloom filters of an LSM tree by such a
/// table.
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
///
/// In a struct, write `maplet: AnyCuckooMaplet`, or add [a hasher](crate#the-type-of-a-filter).
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

/// A [`CuckooMaplet`] that grows with its pairs: see [`Growable`].
///
/// In a struct, write `maplet: GrowableCuckooMaplet`, or with a hasher `GrowableCuckooMaplet<Fp21x3, RandomState>`.
///
/// It has the [methods](CuckooMaplet#implementations) of a `CuckooMaplet`, and also [`reserve`](CuckooMaplet::reserve),
/// [`max_capacity`](CuckooMaplet::max_capacity) and [`false_positive_rate_at`](CuckooMaplet::false_positive_rate_at).
///
/// # Layouts
///
/// The default layout is [`Fp21x3`]. It stores values of up to 9 bits without an early end of growth, and of up to 14
/// bits with a [capacity or a maximum](CuckooMaplet#layouts). With ten million pairs, it takes 28 to 31 bits per pair.
/// These are the mean numbers of false candidates of an absent key:
///
/// | value bits | false candidates |
/// |---|---|
/// | 1 | 0.014 % |
/// | 2 | 0.028 % |
/// | 3 | 0.057 % |
/// | 4 | 0.11 % |
/// | 5 | 0.23 % |
/// | 6 | 0.46 % |
/// | 7 | 0.93 % |
/// | 8 | 1.9 % |
/// | 9 | 3.9 % |
///
/// For fewer false candidates, or for values of up to 20 bits, name [`Fp32x2`](crate::Fp32x2): 47 to 51 bits per pair,
/// and 0.0006 % or less with values of up to 8 bits. For values of 1 to 4 bits, [`Fp16x4`] needs a quarter less memory,
/// but has some forty times as many false candidates. Or call [`any_layout`](crate::Builder::any_layout), which
/// [chooses the layout](AnyLayout#growing-maplets-and-expiring-filters) by the values and by the
/// [rate](crate::Builder::false_positive_rate), if you set one.
///
/// ```
/// use coucal::{Error, Fp16x4, Fp32x2, GrowableCuckooMaplet};
///
/// let builder = GrowableCuckooMaplet::builder();
/// let [short, medium, long] = [4, 8, 20].map(|bits| builder.clone().value_bits(bits));
/// for (figures, rate, bits) in [
///     (short.figures(10_000_000)?, 0.001_1, 29.5),
///     (short.layout::<Fp16x4>().figures(10_000_000)?, 0.049, 23.5),
///     (medium.figures(10_000_000)?, 0.019, 29.5),
///     (medium.layout::<Fp32x2>().figures(10_000_000)?, 0.000_006, 47.5),
/// ] {
///     assert!((0.9 * rate..1.1 * rate).contains(&figures.false_positive_rate), "{figures:?}");
///     assert!(figures.bits_per_item < bits, "{figures:?}");
/// }
/// let error = long.clone().build().unwrap_err();
/// assert!(matches!(error, Error::ValueBitsOutOfRange { max: 9, other: Some("Fp32x2"), .. }));
/// assert!(long.layout::<Fp32x2>().figures(10_000_000)?.bits_per_item < 51.0);
/// # Ok::<(), Error>(())
/// ```
///
/// # Examples
///
/// ```
/// use coucal::GrowableCuckooMaplet;
///
/// let maplet = GrowableCuckooMaplet::new(6);
/// for key in 0..20_000 {
///     maplet.insert(&key, key % 64)?;
/// }
/// assert!(maplet.get(&777).any(|value| value == 777 % 64));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type GrowableCuckooMaplet<L = Fp21x3, S = DefaultHashBuilder> = Maplet<Growable<L>, S>;

/// Operations on keys.
impl<L: Storage, S> Maplet<L, S> {
    /// Adds a pair of `key` and `value`. An equal pair that is there already stays: the new one is another copy.
    ///
    /// Waits while another thread writes to a stripe (a group of buckets) that the insert needs. If the pair goes to
    /// the [stash](crate#the-stash), or the maplet grows, the call may also wait for a mutex and for the
    /// allocator: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::Full`], [`Error::NoMemoryToStore`], and [`Error::ValueTooLarge`] for a value of more bits than
    /// [`value_bits`](Self::value_bits). Then nothing has changed.
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

    /// Returns all values of `key`, stashed ones included, and few others: see [`Candidates`].
    ///
    /// Takes no lock, with one exception: in each of at least seven rounds, other threads move or change pairs of the
    /// same version group, or resize the [stash](crate#the-stash). Then it takes the locks of the two buckets of the
    /// key, and that of the stash if something of the group is stashed. It waits while another thread writes there: see
    /// [what blocks](CuckooMaplet#what-blocks).
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the [stashed](crate#the-stash) values of the key, or of a key
    /// that collides with it. If no such value is stashed, the call needs no memory.
    /// [`contains_key`](Self::contains_key) never needs memory, nor does `update(key, |_| None)`, which returns one
    /// value of the key.
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

    /// Returns whether `key` has a value. `false` is certain. `true` may be wrong, as often as [`get`](Self::get)
    /// returns a false candidate.
    ///
    /// Wait-free: a bounded number of steps, whatever other threads do, with no lock and no store. (One exception: it
    /// counts the rare inconclusive lookups for [`stats`](Self::stats).)
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

    /// Returns whether `key` has the value `value`. `false` is certain. `true` may be wrong, as often as
    /// [`get`](Self::get) returns this value as a false candidate: that is one in 2^[`value_bits`](Self::value_bits) of
    /// the false candidates. (For a value of more bits it returns `false`, since no key has such a value.)
    ///
    /// Wait-free: a bounded number of steps, whatever other threads do, with no lock and no store. (One exception: it
    /// counts the rare inconclusive lookups for [`stats`](Self::stats).)
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

    /// Returns the number of copies of the pair of `key` and `value`, false positives of this pair included. (For a
    /// value of more bits than [`value_bits`](Self::value_bits) it returns 0.)
    ///
    /// Waits while another thread writes to the stripes of the two buckets of the key: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). For an absent pair it takes no lock, with two exceptions: (a) a
    /// pair of its version group is moved or changed during the call, or goes to the [stash](crate#the-stash); (b) the
    /// stash is resized during the call.
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

    /// Writes to `counts` the number of copies of each pair. This is [`count`](Self::count) for a batch, and hides the
    /// latency of memory in a maplet larger than the cache. The batch is not atomic: it is one call of `count` for each
    /// pair, and waits as such a call does.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Replaces the value `old` of `key` by `new`, in one store, and returns whether there was such a pair. A lookup
    /// sees the old value or the new one; it never misses both. (If the pair is in the [stash](crate#the-stash), a
    /// lookup may see both for a moment.) If there are several copies of the pair, it replaces one.
    ///
    /// Replace only pairs that were inserted. A pair that was never inserted may collide with a pair of another key:
    /// then the other key loses its value.
    ///
    /// Waits while another thread writes to the stripe (the group of buckets) of the pair. If there is no such pair, it
    /// takes no lock, except in three cases:
    ///
    /// * A pair of this key, or of a key that collides with it, is [stashed](crate#the-stash).
    /// * The stash is resized during the call.
    /// * Other threads move or change pairs of the version group of `key` during each of 64 attempts.
    ///
    /// See [what blocks](CuckooMaplet#what-blocks).
    ///
    /// # Errors
    ///
    /// [`Error::ValueTooLarge`] if `new` has more bits than [`value_bits`](Self::value_bits). Only if the pair is in
    /// the stash:
    ///
    /// * [`Error::NoMemoryToStore`] if there is no memory for the new pair;
    /// * [`Error::Full`] if the stash has 2^25 - 1 copies of the new pair already;
    /// * [`Error::Full`] if the stash needs one more entry for the new pair, holds nearly as many entries as the table
    ///   has slots, and the maplet cannot grow.
    ///
    /// Then nothing has changed. (For an `old` of more bits than `value_bits` it returns `Ok(false)`, since no key has
    /// such a value.)
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

    /// Adds the pair of `key` and `value` unless the key has a value. Returns `Ok(true)` if the pair was added. If
    /// several threads call this at once for a key without a value, exactly one of them gets `true`.
    ///
    /// Use this method and [`update`](Self::update) for a table of one value per key; for counters, call
    /// [`update_or_insert`](Self::update_or_insert). A key that collides with another key counts as present, and has
    /// the value of that other key (a false candidate). Few keys share their value with another key.
    ///
    /// **Do not [remove](Self::remove) single pairs from such a maplet.** Two keys may share one pair, and the removal
    /// for one of them removes the pair for both. This holds also if you remove only pairs for which this method
    /// returned `true`. [`remove_value`](Self::remove_value) is safe. (So is the removal of [a counter at
    /// 0](crate::cookbook#a-counter-for-each-key) in a maplet of fixed size.)
    ///
    /// Takes no lock if the key has a value in one of its buckets and this value is not being moved. Otherwise it waits
    /// while another thread writes to the stripes of the two buckets of the key. If it adds the pair, it also waits as
    /// [`insert`](Self::insert) does: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert). Then nothing has changed.
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

    /// Adds the pair of `key` and `value` unless this same pair is there; other values of the key do not matter.
    /// Returns `Ok(true)` if the pair was added. If several threads call this at once for an absent pair, exactly one
    /// of them gets `true`.
    ///
    /// A pair that collides with a pair of another key counts as present. So two keys may share one pair.
    ///
    /// **Do not [remove](Self::remove) single pairs from such a maplet**: the removal for one key removes the pair for
    /// both. This holds also if you remove only pairs for which this method returned `true`.
    /// [`remove_value`](Self::remove_value) is safe.
    ///
    /// Takes no lock if the pair is in one of the buckets of the key and is not being moved. Otherwise it waits while
    /// another thread writes to the stripes of the two buckets of the key. If it adds the pair, it also waits as
    /// [`insert`](Self::insert) does: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert). Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// // Which of 64 segments hold a word? Each pair is stored once.
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

    /// Replaces a value of `key` by `new(value)`, and returns the value that was there before. Returns `Ok(None)` if
    /// the key has no value. If `new` returns `None`, nothing changes, and `update` still returns the value. If the key
    /// has several values, `update` replaces one of them; it is not specified which one. It allocates only where
    /// [`replace`](Self::replace) does.
    ///
    /// The step from the old value to the new one is atomic, like
    /// [`AtomicU64::fetch_update`](std::sync::atomic::AtomicU64::fetch_update). If another thread changes the value
    /// first, `new` is called again. No lock is held while `new` runs, so `new` may look up in the maplet. But it must
    /// not change, replace or remove a pair of this maplet, not even of another key: a key that collides with `key`
    /// shares its pair, and `update` would call `new` again each time. Update only keys that were inserted, for the
    /// reason that [`replace`](Self::replace) gives.
    ///
    /// Reads the value as [`get`](Self::get) does, in nearly all cases without a lock. Then it waits, as `replace`
    /// does, while another thread writes to the same stripe: see [what blocks](CuckooMaplet#what-blocks).
    ///
    /// # Errors
    ///
    /// Those of [`replace`](Self::replace). Then nothing has changed.
    ///
    /// # Panics
    ///
    /// If `new` panics. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let connections = CuckooMaplet::builder().capacity(100).value_bits(4).build()?;
    /// connections.insert("client", 3)?;
    /// let before = connections.update("client", |count| count.checked_sub(1))?;
    /// assert_eq!(before, Some(3));
    /// assert!(connections.get("client").eq([2]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn update<Q: Item<S> + ?Sized>(
        &self,
        key: &Q,
        new: impl FnMut(u32) -> Option<u32>,
    ) -> Result<Option<u32>, Error> {
        self.update_hash(self.hash_of(key), None, new)
    }

    /// Updates a value of the key with this hash, or inserts `first`, if given.
    #[inline]
    fn update_hash(
        &self,
        hash: u64,
        first: Option<u32>,
        mut new: impl FnMut(u32) -> Option<u32>,
    ) -> Result<Option<u32>, Error> {
        let mut checked = |value| new(value).map(|new| self.check(new).map(|()| new)).transpose();
        Ok(by_encoding!(self.inner, table => table.update_item(hash, first, &mut checked))?)
    }

    /// Replaces a value of `key` by `new(value)`, as [`update`](Self::update) does, or inserts the value `first` if the
    /// key has none. Returns the value that was there before, or `Ok(None)` if the key had no value. To count keys,
    /// call it once for each. As in `update`, `new` must not change the maplet, and may be called several times.
    ///
    /// The step is atomic, like `update` and [`insert_if_absent`](Self::insert_if_absent): if several threads count one
    /// key at the same time, exactly one of them inserts `first`, and no count is lost.
    ///
    /// If the key collides with a key that has a value, `new` changes the value of that key: so a count may be too
    /// high, but is never too low, except as a [merge](Self::merge) says. The cookbook has [the rules for
    /// counters](crate::cookbook#a-counter-for-each-key).
    ///
    /// Waits as [`update`](Self::update) does if the key has a value, and as
    /// [`insert_if_absent`](Self::insert_if_absent) does otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`insert_if_absent`](Self::insert_if_absent), and those of `update`. Then nothing has changed.
    ///
    /// # Panics
    ///
    /// If `new` panics. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// A counter for each key, up to 15:
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let counts = CuckooMaplet::builder().capacity(100).value_bits(4).build()?;
    /// let count = |key| counts.update_or_insert(key, 1, |n| (n < 15).then_some(n + 1));
    /// assert_eq!(count("egg")?, None);
    /// assert_eq!(count("egg")?, Some(1));
    /// assert!(counts.get("egg").eq([2]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn update_or_insert<Q: Item<S> + ?Sized>(
        &self,
        key: &Q,
        first: u32,
        new: impl FnMut(u32) -> Option<u32>,
    ) -> Result<Option<u32>, Error> {
        self.check(first)?;
        self.update_hash(self.hash_of(key), Some(first), new)
    }

    /// Removes one copy of the pair of `key` and `value`. Returns whether there was one. (For a value of more bits than
    /// [`value_bits`](Self::value_bits) it returns `false`, since no key has such a value.)
    ///
    /// Remove only pairs that were inserted, once for each insert. A pair that was never inserted may collide with a
    /// pair of another key: then the other key loses its value. [A table](crate#if-a-lookup-misses-what-you-inserted)
    /// has all causes of a false negative.
    ///
    /// Waits while another thread writes to the stripe (the group of buckets) of the pair. If there is no such pair, it
    /// takes no lock, except in three cases:
    ///
    /// * A pair of this key, or of a key that collides with it, is [stashed](crate#the-stash).
    /// * The stash is resized during the call.
    /// * Other threads move or change pairs of the version group of `key` during each of 64 attempts.
    ///
    /// See [what blocks](crate#what-blocks-on-whom-and-how-long).
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

    /// Removes all pairs with this value, for example those of a run that a compaction has replaced, or of a shard that
    /// went away. Returns how many there were. (For a value of more bits than [`value_bits`](Self::value_bits) it
    /// returns 0.) In a growing maplet, the number may be wrong by one for each earlier call that removed or changed [a
    /// leftover entry](crate::growth#removals) in place of the entry of a pair.
    ///
    /// Other threads may use the maplet meanwhile. Each pair that had the value before the call is removed by itself,
    /// at some instant during the call. A pair that gets the value during the call may or may not be removed. When the
    /// call has returned, it removes nothing more.
    ///
    /// This call is safe in a maplet that [`insert_if_absent`](Self::insert_if_absent) or
    /// [`update_or_insert`](Self::update_or_insert) fills. So `remove_value(0)` removes the
    /// [counters](crate::cookbook#a-counter-for-each-key) that are back at zero.
    ///
    /// It reads the whole table, which takes some milliseconds for a million pairs. It waits for another
    /// `remove_value`, an [`update_values`](Self::update_values), a [`clear`](Self::clear), a [`merge`](Self::merge)
    /// into this maplet, and the end of a [`snapshot`](Self::snapshot). It also waits at each stripe while another
    /// thread writes there: see [what blocks](CuckooMaplet#what-blocks).
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

    /// Replaces every value v by `new(v)`, and removes the pairs for which `new` returns `None`. Returns how many pairs
    /// it has removed. So one call ages all [counters](crate::cookbook#a-counter-for-each-key), or removes all values
    /// below a limit.
    ///
    /// `new` is called once for each value that [`value_bits`](Self::value_bits) allows, in ascending order, before
    /// anything changes and while no lock is held. The results take 8 bytes each until the call returns.
    ///
    /// Other threads may use the maplet meanwhile. Each pair is changed by itself, in one step, at some instant during
    /// the call:
    ///
    /// - A pair that is in the maplet during the whole call is changed exactly once, also if other inserts move it.
    /// - A pair that another thread inserts during the call is changed once, or not at all.
    /// - A value that another thread replaces during the call, with [`update`](Self::update) for example, is changed
    ///   once: before the replacement or after it. The same holds for a [stashed](crate#the-stash) pair.
    ///
    /// If two values of a key become equal, the key has two equal pairs, as after two calls of
    /// [`insert`](Self::insert).
    ///
    /// A million pairs take 7 to 13 ms on the machine of `docs/performance.md`. The call waits as
    /// [`remove_value`](Self::remove_value) does. While it changes the stashed pairs, every operation that takes a lock
    /// waits. Lookups do not wait, except rarely [`get`](CuckooMaplet#what-blocks).
    ///
    /// # Errors
    ///
    /// After an error nothing has changed.
    ///
    /// - [`Error::ValueTooLarge`]: `new` returns a value with too many bits, even if only for a value that no pair has.
    /// - [`Error::NoMemoryToStore`]: there is no memory for the results of `new`, or for some 32 bytes for each stashed
    ///   pair during the call.
    /// - [`Error::Full`]: values of a key become equal, and the stash would hold 2^25 copies or more of that pair.
    ///
    /// # Panics
    ///
    /// If `new` panics. Then nothing has changed, either.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let counts = CuckooMaplet::builder().capacity(100).value_bits(4).build()?;
    /// counts.insert_many(&[("egg", 12), ("nest", 1)])?;
    /// // Halves all counts, and removes those that are 0 then.
    /// let removed = counts.update_values(|count| Some(count / 2).filter(|&half| half > 0))?;
    /// assert_eq!(removed, 1);
    /// assert!(counts.get("egg").eq([6]));
    /// assert!(!counts.contains_key("nest"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn update_values(&self, mut new: impl FnMut(u32) -> Option<u32>) -> Result<usize, Error> {
        let values = 1 << self.value_bits();
        let all = try_with_capacity(values as usize);
        let mut all = all.map_err(|_| InsertError::NoMemoryToStore)?;
        for value in 0..values {
            let new = new(value);
            new.map_or(Ok(()), |new| self.check(new))?;
            all.push(new);
        }
        Ok(by_encoding!(self.inner, table => table.update_values(all))?)
    }

    /// Adds each pair of a key and a value, in order, until one fails. An equal pair that is there already stays, as
    /// with [`insert`](Self::insert).
    ///
    /// The batch is not atomic: it is one call of `insert` for each pair, and waits as such a call does. (There are no
    /// batches of `contains_key`, `insert_if_absent`, `insert_pair_if_absent`, `update` and `update_or_insert`: call
    /// them in a loop.)
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it says how many pairs were stored (the first ones of the slice), and why the next pair was
    /// not.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of a key panics. Keys are hashed up to 32 places ahead, so up to 32 pairs before
    /// this one are not stored either. The maplet stays valid.
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

    /// Adds each pair of an iterator, in order, until one fails: [`insert_many`](Self::insert_many) for pairs that are
    /// not in a slice. It takes up to 256 pairs from the iterator, hashes their keys, inserts them as one batch, and
    /// goes on with the next 256 pairs.
    ///
    /// No lock is held while the iterator runs, so the iterator may use the maplet. The call waits as
    /// [`insert`](Self::insert) does, for each pair by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`]: it says how many pairs were stored (the first ones of the iterator), and why the next pair
    /// was not. The iterator may have given up to 255 pairs after that one, which are dropped.
    ///
    /// # Panics
    ///
    /// If the iterator or the [`Hash`] implementation of a key panics. Up to 255 pairs that the iterator gave before
    /// are not stored either. The maplet stays valid.
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
    pub fn insert_all<I, Q>(&self, pairs: I) -> Result<(), Error>
    where
        I: IntoIterator<Item = (Q, u32)>,
        Q: Item<S>,
    {
        let hashed = pairs.into_iter().map(|(key, value)| (Prehashed(self.hash_of(&key)), value));
        operations::insert_in_batches(hashed, |batch| self.insert_batch(batch))?;
        Ok(())
    }

    /// Writes to `candidates` the values of each key, and few others. This is [`get`](Self::get) for a batch, and hides
    /// the latency of memory in a maplet larger than the cache. The batch is not atomic: it is one lookup for each key.
    ///
    /// It takes locks only in the rare case in which `get` does, for each key by itself.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Returns the answers of [`get_many`](Self::get_many) in a new vector.
    ///
    /// # Aborts
    ///
    /// In the cases of [`get`](Self::get), and, as `Vec` does, if the allocator has no memory for the vector.
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
        // This fails only if the numbers of keys and of answers differ.
        let _ = self.get_many(keys, &mut candidates);
        candidates
    }

    /// Writes to `found` whether each key has its value. This is [`contains`](Self::contains) for a batch, and hides
    /// the latency of memory in a maplet larger than the cache. The batch is not atomic: it is one lookup for each
    /// pair. It is wait-free, as `contains` is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is written.
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

    /// Returns the answers of [`contains_many`](Self::contains_many) in a new vector.
    ///
    /// # Aborts
    ///
    /// As `Vec` does, if the allocator has no memory for the vector.
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
        // This fails only if the numbers of pairs and of answers differ.
        let _ = self.contains_many(pairs, &mut found);
        found
    }

    /// Removes one copy of each pair of a key and a value, in order, and writes to `removed` whether there was one.
    /// Returns how many were removed. Remove only what was inserted, for the reason that [`remove`](Self::remove)
    /// gives.
    ///
    /// The batch is not atomic: it is one call of `remove` for each pair, and waits as such a call does.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is removed.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of a key panics. Keys are hashed up to 32 places ahead, so up to 32 pairs before
    /// this one are not removed either. If `removed` was all `false` before the call, it shows which pairs were
    /// removed. The maplet stays valid.
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

    /// Replaces the old value of each key by the new one, in order: [`replace`](Self::replace) for a batch of keys,
    /// each with an old and a new value. Writes to `replaced` whether there was such a pair, and returns how many were
    /// replaced. Replace only what was inserted, for the reason that `replace` gives.
    ///
    /// Each replacement is atomic, but the batch is not: it is one call of `replace` for each pair, and waits as such a
    /// call does. In a maplet larger than the cache it is faster than a loop of `replace`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices differ in length. Then nothing is replaced.
    ///
    /// [`Error::Stopped`] if [`replace`](Self::replace) fails for a pair. The pairs before its index are done, and
    /// `replaced` has their answers. The rest of `replaced` is as it was.
    ///
    /// # Panics
    ///
    /// If the [`Hash`] implementation of a key panics. Keys are hashed up to 32 places ahead, so up to 32 pairs before
    /// this one are not replaced either. If `replaced` was all `false` before the call, it shows which pairs were
    /// replaced. The maplet stays valid.
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

    /// Returns the 64-bit hash of `key`, for [`Prehashed`]: compute it once, and use it often.
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
    #[must_use]
    pub fn hash_of<Q: Item<S> + ?Sized>(&self, key: &Q) -> u64 {
        key.hash_with(&self.inner.hasher)
    }
}

/// Pairs of a hash and a value.
impl<L: Storage, S> Maplet<L, S> {
    /// Returns whether `value` fits into the value bits.
    #[inline]
    fn fits(&self, value: u32) -> bool {
        value >> self.value_bits() == 0
    }

    /// Returns an error if `value` does not fit.
    #[inline]
    fn check(&self, value: u32) -> Result<(), InsertError> {
        if self.fits(value) { Ok(()) } else { Err(InsertError::ValueTooLarge) }
    }

    /// Joins the hash of `key` with `value`. A pair whose value has too many bits only serves to find the words of the
    /// key.
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
    /// Returns the number of bits of each value. Values are from 0 to 2^bits - 1.
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
        /// Returns the name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the layout in use.
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

        /// Returns the number of stored pairs, with each copy counted. It takes no lock. It is exact while no thread
        /// writes. While other threads write, it may miss their operations, and each kick under way may add or subtract
        /// one. During a `merge`, a `remove_value` or an `update_values` of a growing maplet, it may also be wrong by
        /// the number of [doubled](crate::growth#doubled-entries) copies.
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

        /// Returns whether no pair is stored. It is as exact as [`len`](Self::len).
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

        /// Returns the number of pairs that the maplet was built for, or [`len`](Self::len) if it holds more. In a
        /// growing maplet, it is the number of pairs for the present size: at least the initial capacity, and at most
        /// the maximum capacity unless the maplet holds more.
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

        /// Returns the number of slots of the table; in a growing maplet, at its present size.
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

        /// Returns the share of slots in use, from 0 to 1. It is as exact as [`len`](Self::len).
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

        /// Returns how full the maplet is: its entries divided by the number of pairs that it was built for, or in a
        /// growing maplet by its [maximum capacity](CuckooMaplet::max_capacity).
        /// [`CuckooFilter::fullness`](crate::CuckooFilter::fullness) says how to use it.
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

        /// Returns the mean number of false candidates of an absent key, which is not a probability: it may be above 1.
        ///
        /// These are the values that [`get`](Self::get) is expected to return now for an absent key. For a present key,
        /// it returns as many in addition to its values. The number is above 1 if fingerprints are short.
        /// [`contains_key`](Self::contains_key) is true for at most this share of absent keys.
        ///
        /// In a growing maplet it is an estimate from the words of the table, as in
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

        /// Returns the hasher of the keys.
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

        /// Returns figures for monitoring the maplet. It takes no lock. [`contains_key`](Self::contains_key),
        /// [`contains`](Self::contains) and [`contains_many`](Self::contains_many) count their inconclusive lookups;
        /// [`get`](Self::get) has none.
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

    /// Returns the memory of the maplet in bytes: the struct itself and all that it has allocated, without memory that
    /// the hasher owns on the heap. While another thread splits, takes a snapshot or changes the whole maplet, the
    /// result may lack the counts of [doubled](crate::growth#doubled-entries) entries.
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

    /// Removes all pairs that were inserted before the call. A maplet that has grown keeps its size, and the memory of
    /// the stash stays allocated.
    ///
    /// Waits until it holds every lock of the maplet. Until it returns, other threads that write wait for it, and
    /// lookups go on: see [what blocks](crate#what-blocks-on-whom-and-how-long). A lookup during the call may find some
    /// pairs and miss others.
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
        /// Returns the maximum capacity: the number of pairs that the maplet holds at its maximum size. It is the
        /// [maximum](crate::Builder::max_capacity) of the builder. Without one, it is the number for which a
        /// [budget](crate::Builder::memory_bytes) has room; without a budget, the number that a maplet with such
        /// [values](CuckooMaplet#layouts) can reach.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableCuckooMaplet;
        ///
        /// let builder = GrowableCuckooMaplet::builder().value_bits(6);
        /// let maplet = builder.clone().max_capacity(1000).build()?;
        /// assert_eq!(maplet.max_capacity(), 1000);
        ///
        /// let maplet = builder.build()?;
        /// assert!(maplet.max_capacity() > 1_000_000_000);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn max_capacity(&self) -> usize;

        /// Returns the mean number of false candidates of an absent key when the maplet holds `pairs` pairs, which is
        /// not a probability: it may be above 1.
        ///
        /// This is what [`false_positive_rate`](Self::false_positive_rate) is expected to return. It assumes that
        /// the maplet has grown from its first size while these pairs were inserted. If the builder was given a rate,
        /// the result is at most this rate up to the [maximum capacity](crate::Builder::max_capacity), or up to 2^40
        /// pairs in a maplet without a maximum.
        ///
        /// # Examples
        ///
        /// ```
        /// use coucal::GrowableCuckooMaplet;
        ///
        /// let builder = GrowableCuckooMaplet::builder().capacity(1000).max_capacity(8000).value_bits(6);
        /// let maplet = builder.false_positive_rate(0.001).any_layout().build()?;
        /// let [now, then] = [1000, 8000].map(|pairs| maplet.false_positive_rate_at(pairs));
        /// assert!(now < then && then <= 0.001);
        /// # Ok::<(), coucal::Error>(())
        /// ```
        pub fn false_positive_rate_at(&self, pairs: usize) -> f64;
    }

    /// Grows until the table has room for `additional` more pairs. Inserting them then splits nothing.
    ///
    /// Waits while another thread splits buckets, and for other threads that write to the stripes of the buckets that
    /// this call splits. Other threads can read and write meanwhile: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// [`Error::AboveMaxCapacity`], [`Error::OutOfMemory`] and [`Error::Full`], in the cases that
    /// [`CuckooFilter::reserve`](crate::CuckooFilter::reserve) lists.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let maplet = GrowableCuckooMaplet::builder().max_capacity(10_000).value_bits(6).build()?;
    /// maplet.reserve(5000)?;
    /// assert!(maplet.capacity() >= 5000);
    /// assert!(maplet.reserve(20_000).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.inner.reserve(additional)
    }
}

/// Clones.
impl<L: Storage, S> Maplet<L, S> {
    /// Returns an exact clone of the maplet as it is at one instant, with a clone of the hasher. Changes of one do not
    /// affect the other. (The type is not `Clone`, since this call can fail, and can wait for other threads.)
    ///
    /// The clone has the contents of a [`snapshot`](Self::snapshot) at this instant. The call waits for the same
    /// threads as `snapshot` does, makes the same threads wait, and takes the memory of a snapshot and some 80 bytes
    /// more for each stashed entry.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Then the maplet is as it was.
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
    /// Returns a snapshot of the maplet as it is at one instant between the call and its return. Every operation on a
    /// pair is in the snapshot as a whole, or not at all. The hasher is not in it.
    ///
    /// Other threads go on meanwhile. Lookups do not wait, except rarely [`get`](CuckooMaplet#what-blocks). A writer
    /// waits for one store at a time. Once, at the end, writers wait while every lock is taken.
    ///
    /// This call waits for another `snapshot` of the same maplet, and at the end for a `clear`, a
    /// [`merge`](Self::merge) into it, a [`remove_value`](Self::remove_value) and an `update_values`: see [what
    /// blocks](crate#what-blocks-on-whom-and-how-long). [`CuckooFilter::snapshot`](crate::CuckooFilter::snapshot) says
    /// how long writers wait, how much memory and time a snapshot takes, and with which hashers it can be restored in
    /// another process.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. Then the maplet is as it was.
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

    /// Restores a maplet from the bytes of a snapshot ([`Snapshot::as_bytes`]). Reads no byte beyond the end of the
    /// snapshot, and validates every byte.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::restore`](crate::CuckooFilter::restore): for example [`Error::OtherType`] for the
    /// snapshot of a filter.
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

    /// Restores a maplet from `bytes`, which are a snapshot and nothing else. Otherwise it works as
    /// [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Those of [`restore`](Self::restore) (except [`Error::Io`]), and [`Error::TrailingBytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooMaplet, Fp16x4, Error, StableHashBuilder};
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(100, StableHashBuilder::new(7));
    /// let bytes = filter.snapshot()?.into_bytes();
    /// let restored = CuckooMaplet::<Fp16x4, _>::from_bytes(&bytes, StableHashBuilder::new(7));
    /// assert!(matches!(restored, Err(Error::OtherType { name: "CuckooFilter", .. })));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, Error> {
        Inner::from_bytes(bytes, hasher, Content::Pairs).map(|inner| Self { inner })
    }

    /// Restores the maplet of a snapshot without validating its bytes again.
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot): for example [`Error::OtherType`]
    /// for the snapshot of a filter.
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

    /// Adds all pairs of `other` to this maplet, with all their copies. It adds all of them, or nothing.
    ///
    /// Both maplets must have the same number of value bits. [`CuckooFilter::merge`](crate::CuckooFilter::merge) says
    /// what else must be the same, what other threads see meanwhile, and what they must not do. One more rule holds for
    /// maplets, if a merge may fail: meanwhile, change no value, and rely on no answer of
    /// [`insert_if_absent`](Self::insert_if_absent), [`insert_pair_if_absent`](Self::insert_pair_if_absent),
    /// [`update`](Self::update) or [`update_or_insert`](Self::update_or_insert) that a pair was there. The merge may
    /// have added this pair, and then removes it.
    ///
    /// In a growing maplet, two keys may share an entry that a merge has [stashed](crate#the-stash). While a thread
    /// changes the value of one key, an `insert_if_absent` or `update_or_insert` of the other key may find no value,
    /// and add one.
    ///
    /// A key of both maplets has the values of both afterwards: a merge does not combine values. After a merge of two
    /// maplets of counters, the count of a key is the sum of its different values, each times its
    /// [`count`](Self::count). ([`get`](Self::get) returns equal values only once if they are
    /// [stashed](crate#the-stash).)
    ///
    /// Takes a [`snapshot`](Self::snapshot) of `other`, and waits as that call does. Then it waits for another `merge`
    /// into this maplet, a [`clear`](Self::clear), a [`remove_value`](Self::remove_value), an `update_values`, and the
    /// end of a `snapshot` of this maplet. Then, for each pair, it waits while another thread writes to the same
    /// stripe: see [what blocks](crate#what-blocks-on-whom-and-how-long).
    ///
    /// # Errors
    ///
    /// Those of [`CuckooFilter::merge`](crate::CuckooFilter::merge), and [`Error::OtherValueBits`]. Then the maplet
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
