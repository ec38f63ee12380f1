//! Filters. Those for one rate have 16-bit fingerprints, or the false-positive rate of these; the
//! exception is `cuckoofilter`, whose fingerprints always have 8 bits.

use std::hash::BuildHasher;

use coucal::{CuckooFilter, Fp16x4, Growable, GrowableCuckooFilter, Layout, Storage};
use crossbeam_utils::CachePadded;
use fastbloom_rs::{Deletable as _, Membership as _};
use parking_lot::{Mutex, RwLock};

use crate::hash::{KeyHash, KeyHasher};
use crate::keys::Keys;
use crate::machine;
use crate::subject::{BATCH, Peer, Shared, SharedSubject};

/// The false-positive rate of 16-bit fingerprints in buckets of four slots, at a load of 95 %.
const RATE: f64 = 8.0 * 0.95 / 65_536.0;
/// Bits per item of a Bloom filter that is built for a number of bytes, as in table 3 of the paper.
pub const BLOOM_BITS: usize = 13;
/// The best number of hash functions for this number of bits: 13 ln 2.
const BLOOM_HASHES: u32 = 9;
/// Bits of one counter of a counting Bloom filter.
const COUNTER_BITS: usize = 4;

/// A coucal filter of any layout, of fixed size or one that grows.
pub struct Coucal<L: Storage, S>(pub CuckooFilter<L, S>);

/// The largest capacity up to this one for which `fits` holds.
fn largest_capacity(most_items: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut too_large) = (0, 1 + most_items);
    while good + 1 < too_large {
        let capacity = good.midpoint(too_large);
        if fits(capacity) {
            good = capacity;
        } else {
            too_large = capacity;
        }
    }
    good
}

/// The largest filter for which `fits` holds, found by its capacity; its memory is touched.
fn largest<L: Layout, S: BuildHasher + Default>(
    most_items: usize,
    fits: impl Fn(&CuckooFilter<L, S>) -> bool,
) -> CuckooFilter<L, S> {
    let build = |capacity| {
        let builder = CuckooFilter::builder().layout::<L>().hasher(S::default());
        builder.capacity(capacity).build().expect("there is enough memory")
    };
    let filter = build(largest_capacity(most_items, |capacity| fits(&build(capacity))));
    filter.clear();
    filter
}

/// A filter of the default layout that grows: from this number of slots, or the nearest number
/// below, by this number of doublings.
///
/// # Panics
///
/// When there is not enough memory, or the first size is 0.
#[must_use]
pub fn coucal_growing(first_slots: usize, doublings: u32) -> GrowableCuckooFilter<Fp16x4, KeyHash> {
    let build = |first: usize, greatest: usize| {
        let builder = CuckooFilter::builder().capacity(first).hasher(KeyHash::default());
        builder.max_capacity(greatest).build()
    };
    let fits = |capacity| build(capacity, capacity).is_ok_and(|f| f.slots() <= first_slots);
    let first = largest_capacity(first_slots, fits);
    // What it holds of these slots, and so many times more, if the layout grows so far.
    let greatest = build(first, 2 * first).expect("one doubling is possible").capacity();
    let can_grow = |capacity| build(first, first.max(capacity)).is_ok();
    let greatest = largest_capacity(greatest << doublings, can_grow);
    build(first, greatest).expect("it was built before")
}

impl Coucal<Growable<Fp16x4>, KeyHash> {
    /// As [`coucal_growing`], grown without an item to its size after `grown` of its doublings.
    ///
    /// # Panics
    ///
    /// When it does not grow as far.
    #[must_use]
    pub fn grown(first_slots: usize, grown: u32, doublings: u32) -> Self {
        let filter = coucal_growing(first_slots, doublings);
        filter.reserve(filter.capacity() << grown).expect("within the greatest capacity");
        Self(filter)
    }
}

/// A filter of the default layout with this number of slots, or the nearest number below.
#[must_use]
pub fn coucal_with_slots<S: BuildHasher + Default>(slots: usize) -> CuckooFilter<Fp16x4, S> {
    largest(slots, |filter| filter.slots() <= slots)
}

/// The filter of this layout that has the most slots in this number of bytes.
#[must_use]
pub fn coucal_with_bytes<L: Layout>(bytes: usize) -> CuckooFilter<L, KeyHash> {
    // No layout has a fingerprint of less than one byte.
    largest(bytes, |filter| filter.memory_bytes() <= bytes)
}

impl<L: Storage, S: BuildHasher + Send + Sync> Peer for Coucal<L, S> {
    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert_unique(&key) == Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        self.0.contains_many(keys, found).expect("as many answers as keys");
    }

    #[inline]
    fn insert_many(&mut self, keys: &[u64]) -> usize {
        self.0.insert_many(keys).map_or_else(|error| error.stored(), |()| keys.len())
    }

    #[inline]
    fn remove_many(&mut self, keys: &[u64]) -> usize {
        let mut removed = [false; BATCH];
        let removed = removed.get_mut(..keys.len()).expect("no more than a batch");
        self.0.remove_many(keys, removed).expect("as many answers as keys")
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl<L: Storage, S: BuildHasher + Send + Sync> Shared for Coucal<L, S> {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.0.insert(&key).is_ok()
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.0.remove(&key)
    }
}

/// `atomic-cuckoo-filter`: concurrent, by optimistic reads under one version of the whole table.
pub struct Atomic(atomic_cuckoo_filter::CuckooFilter<KeyHasher>);

impl Atomic {
    /// With this number of slots, or the next power of two.
    ///
    /// # Panics
    ///
    /// Never: all other settings have their defaults, which are valid.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default().capacity(slots);
        Self(builder.build().expect("the defaults are valid"))
    }

    /// As `with_slots`, with fingerprints of this many bits: 4, 8, 16 or 32.
    fn with_fingerprints(slots: usize, bits: usize) -> Self {
        let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default().capacity(slots);
        Self(builder.fingerprint_size(bits).build().expect("the crate has such fingerprints"))
    }

    /// A slot takes two bytes, and there is a power of two of them.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        Self::with_slots(1 << (bytes / 2).ilog2())
    }
}

/// `atomic-cuckoo-filter`, which cannot grow: built anew at twice its size, from the items, when an
/// insert fails. It takes the keys of a set in their order, so it can name those that it holds.
pub struct Rebuilt {
    filter: Atomic,
    bits: usize,
    keys: Keys,
    stored: u64,
}

impl Rebuilt {
    /// For the items of `keys`, with fingerprints of this many bits: 4, 8, 16 or 32.
    #[must_use]
    pub fn with_slots(slots: usize, bits: usize, keys: Keys) -> Self {
        Self { filter: Atomic::with_fingerprints(slots, bits), bits, keys, stored: 0 }
    }

    #[cold]
    fn rebuild(&mut self) {
        let mut slots = 2 * self.filter.slots();
        loop {
            self.filter = Atomic::with_fingerprints(slots, self.bits);
            let mut indices = 0..self.stored;
            if indices.all(|index| self.filter.insert_shared(self.keys.key(index))) {
                return;
            }
            slots *= 2;
        }
    }
}

impl Peer for Rebuilt {
    fn slots(&self) -> usize {
        self.filter.slots()
    }

    fn bytes(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        debug_assert_eq!(key, self.keys.key(self.stored), "the keys come in order");
        while !self.filter.insert_shared(key) {
            self.rebuild();
        }
        self.stored += 1;
        true
    }
}

impl Peer for Atomic {
    fn slots(&self) -> usize {
        self.0.capacity()
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(&self.0) + 2 * self.0.capacity())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert_unique(&key) == Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl Shared for Atomic {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.0.insert(&key).is_ok()
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.0.remove(&key)
    }
}

/// `cuckoofilter`: for one thread, 8-bit fingerprints. An insert that fails loses an item.
pub struct Sequential(cuckoofilter::CuckooFilter<KeyHasher>);

impl Sequential {
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        Self(cuckoofilter::CuckooFilter::with_capacity(slots))
    }
}

impl Peer for Sequential {
    fn slots(&self) -> usize {
        // A fingerprint takes one byte.
        self.0.memory_usage() - size_of_val(&self.0)
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.0.memory_usage())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.add(&key).is_ok()
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.test_and_add(&key).is_ok_and(|added| added)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.delete(&key)
    }
}

/// `scalable_cuckoo_filter`: for one thread. When it is full it adds a second table, which counts as
/// a failed insert here.
pub struct Scalable {
    filter: scalable_cuckoo_filter::ScalableCuckooFilter<u64, KeyHasher>,
    slots: usize,
}

impl Scalable {
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let filter = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
            .initial_capacity(slots)
            // Its first table is made for half of this, which takes 16 bits.
            .false_positive_probability(1.0 / 4096.0)
            .hasher(KeyHasher::default())
            .finish();
        let slots = filter.capacity();
        Self { filter, slots }
    }
}

/// `scalable_cuckoo_filter` as it is meant to be used: when it is full, it adds a table of twice the
/// size of the last one, with fingerprints that are a bit longer. A lookup asks all tables.
pub struct Chain(Scalable);

impl Chain {
    /// At first for this number of items; with a rate of false positives that stays below this one.
    #[must_use]
    pub fn with_rate(items: usize, rate: f64) -> Self {
        let filter = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
            .initial_capacity(items)
            .false_positive_probability(rate)
            .hasher(KeyHasher::default())
            .finish();
        Self(Scalable { filter, slots: items })
    }
}

impl Peer for Chain {
    fn slots(&self) -> usize {
        self.0.filter.capacity()
    }

    fn bytes(&self) -> Option<usize> {
        Peer::bytes(&self.0)
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.filter.insert(&key);
        true
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key)
    }
}

impl Peer for Scalable {
    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(self) + (self.filter.bits() / 8) as usize)
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.filter.insert(&key);
        self.filter.capacity() < 2 * self.slots
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.filter.insert_if_not_contained(&key)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.filter.remove(&key)
    }
}

/// `qfilter`, a quotient filter: for one thread.
pub struct Quotient(qfilter::Filter<Box<[u8]>, KeyHash>);

impl Quotient {
    fn filter(items: u64, rate: f64) -> qfilter::Filter<Box<[u8]>, KeyHash> {
        qfilter::Filter::new_with_hasher(items, rate, KeyHash::default())
            .expect("the size is within its limits")
    }

    /// With remainders of 13 bits.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        // It holds 95 % of its slots, and the rate is for this many items.
        let mut filter = Self::filter(slots as u64 * 19 / 20, 1.0 / 8192.0);
        filter.clear();
        Self(filter)
    }

    /// From this number of items to the greatest number, with this rate then.
    ///
    /// # Panics
    ///
    /// When no quotient filter is so large.
    #[must_use]
    pub fn resizeable(items: u64, greatest: u64, rate: f64) -> Self {
        let hasher = KeyHash::default();
        let filter = qfilter::Filter::new_resizeable_with_hasher(items, greatest, rate, hasher);
        Self(filter.expect("the size is within its limits"))
    }

    /// With remainders of 9 bits, and the largest power of two of slots that fits.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        let build = |slots: u64| Self::filter(slots * 9 / 10, 1.0 / 512.0);
        let mut slots = 64;
        while build(2 * slots).memory_usage() <= bytes {
            slots *= 2;
        }
        let mut filter = build(slots);
        filter.clear();
        Self(filter)
    }
}

impl Peer for Quotient {
    fn slots(&self) -> usize {
        // It stores items up to 95 % of its slots.
        (self.0.capacity() * 20 / 19) as usize
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(self) + self.0.memory_usage())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert_duplicated(key).is_ok()
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert(key).is_ok_and(|added| added)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key)
    }
}

/// `fastbloom`, the concurrent one of its two Bloom filters.
pub struct Bloom {
    filter: fastbloom::AtomicBloomFilter<KeyHash>,
    slots: usize,
}

impl Bloom {
    /// For 95 % of the slots at the rate of 16-bit fingerprints.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        Self { slots, ..Self::with_rate(slots * 19 / 20, RATE) }
    }

    /// For this number of items at this false-positive rate.
    #[must_use]
    pub fn with_rate(items: usize, rate: f64) -> Self {
        let filter = fastbloom::AtomicBloomFilter::with_false_pos(rate)
            .hasher(KeyHash::default())
            .expected_items(items);
        filter.clear();
        Self { filter, slots: items }
    }

    /// For 13 bits per item.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        let bits = 8 * bytes;
        let filter = fastbloom::AtomicBloomFilter::with_num_bits(bits)
            .hasher(KeyHash::default())
            .expected_items(bits / BLOOM_BITS);
        filter.clear();
        Self { slots: filter.num_bits() / BLOOM_BITS, filter }
    }
}

impl Peer for Bloom {
    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(self) + self.filter.num_bits() / 8)
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    /// Its insert says whether all bits were set before.
    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.filter.insert(&key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl Shared for Bloom {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.filter.insert(&key);
        true
    }
}

/// `sbbf-rs-safe`, a blocked Bloom filter: for one writer.
pub struct Blocked {
    filter: sbbf_rs_safe::Filter,
    hasher: KeyHash,
}

impl Blocked {
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        let mut filter = sbbf_rs_safe::Filter::new(8, bytes);
        filter.reset();
        Self { filter, hasher: KeyHash::default() }
    }
}

impl Peer for Blocked {
    fn slots(&self) -> usize {
        8 * self.filter.as_bytes().len() / BLOOM_BITS
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(self) + self.filter.as_bytes().len())
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains_hash(self.hasher.hash_one(key))
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.filter.insert_hash(self.hasher.hash_one(key));
        true
    }
}

/// `fastbloom-rs`, a counting Bloom filter: for one writer, with a hasher of its own.
pub struct Counting {
    filter: fastbloom_rs::CountingBloomFilter,
    counters: usize,
}

impl Counting {
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        let counters = 8 * bytes / COUNTER_BITS;
        let mut builder =
            fastbloom_rs::FilterBuilder::from_size_and_hashes(counters as u64, BLOOM_HASHES);
        Self { filter: builder.build_counting_bloom_filter(), counters }
    }
}

impl Peer for Counting {
    fn slots(&self) -> usize {
        self.counters / BLOOM_BITS
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(self) + self.counters * COUNTER_BITS / 8)
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key.to_le_bytes())
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.filter.add(&key.to_le_bytes());
        true
    }

    /// Its removal does not say whether the key was there.
    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.filter.remove(&key.to_le_bytes());
        true
    }
}

/// A filter for one thread behind a lock of either kind, of the crate `parking_lot`.
macro_rules! locked {
    ($($type:ident $name:literal $lock:ident $read:ident $write:ident;)*) => {$(
        #[doc = concat!("`", $name, "` of a filter for one thread.")]
        pub struct $type<P>($lock<P>);

        impl<P: Peer> $type<P> {
            #[must_use]
            pub fn new(filter: P) -> Self {
                Self($lock::new(filter))
            }
        }

        impl<P: Peer + Send + Sync> Peer for $type<P> {
            fn slots(&self) -> usize {
                self.0.$read().slots()
            }

            fn bytes(&self) -> Option<usize> {
                self.0.$read().bytes()
            }

            #[inline]
            fn contains(&self, key: u64) -> bool {
                self.0.$read().contains(key)
            }

            #[inline]
            fn insert(&mut self, key: u64) -> bool {
                self.insert_shared(key)
            }

            #[inline]
            fn insert_unique(&mut self, key: u64) -> bool {
                self.0.$write().insert_unique(key)
            }

            #[inline]
            fn remove(&mut self, key: u64) -> bool {
                self.remove_shared(key)
            }

            fn shared(&self) -> Option<&dyn SharedSubject> {
                Some(self)
            }
        }

        impl<P: Peer + Send + Sync> Shared for $type<P> {
            #[inline]
            fn insert_shared(&self, key: u64) -> bool {
                self.0.$write().insert(key)
            }

            #[inline]
            fn remove_shared(&self, key: u64) -> bool {
                self.0.$write().remove(key)
            }
        }
    )*};
}

locked! {
    LockedRwLock "RwLock" RwLock read write;
    LockedMutex "Mutex" Mutex lock lock;
}

/// Many small filters for one thread, each behind a `RwLock` of its own: the key says which.
pub struct ShardedRwLock<P>(Box<[CachePadded<LockedRwLock<P>>]>);

impl<P: Peer + Send + Sync> ShardedRwLock<P> {
    /// As many shards as `dashmap` has: the first power of two that is no less than four times the
    /// cores. `build` makes a filter of so many slots.
    #[must_use]
    pub fn with_slots(slots: usize, build: fn(usize) -> P) -> Self {
        let shards = (4 * machine::cores()).next_power_of_two();
        let shard = |_| CachePadded::new(LockedRwLock::new(build(slots / shards)));
        Self((0..shards).map(shard).collect())
    }

    /// Not by the hash that the filters use: all items of a shard would have a part of it in common.
    #[inline]
    fn shard(&self, key: u64) -> &LockedRwLock<P> {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[((u128::from(mixed) * self.0.len() as u128) >> 64) as usize]
    }
}

impl<P: Peer + Send + Sync> Peer for ShardedRwLock<P> {
    fn slots(&self) -> usize {
        self.0.iter().map(|shard| shard.slots()).sum()
    }

    fn bytes(&self) -> Option<usize> {
        self.0.iter().map(|shard| shard.bytes()).sum()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.shard(key).contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl<P: Peer + Send + Sync> Shared for ShardedRwLock<P> {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.shard(key).insert_shared(key)
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.shard(key).remove_shared(key)
    }
}
