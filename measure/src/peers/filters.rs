//! Filters. Those for one rate have 16-bit fingerprints, or the false-positive rate of these; the
//! exception is `cuckoofilter`, whose fingerprints always have 8 bits.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use coucal::{CuckooFilter, Fp16x4, GrowableCuckooFilter, Storage};
use crossbeam_utils::CachePadded;
use parking_lot::RwLock;

use crate::hash::{KeyHash, KeyHasher};
use crate::subject::{BATCH, Peer, Shared};
use crate::{by_shared, machine};

/// The false-positive rate of 16-bit fingerprints in buckets of four slots, at a load of 95 %.
const RATE: f64 = 8.0 * 0.95 / 65_536.0;

/// A coucal filter of any layout, of fixed size or one that grows.
pub struct Coucal<L: Storage, S>(pub CuckooFilter<L, S>);

/// A capacity for which `slots_of` is this number of slots, or the nearest number below.
fn capacity_for(slots: usize, slots_of: impl Fn(usize) -> usize) -> usize {
    let (mut good, mut too_large, mut guess) = (0, 1 + slots, slots);
    while good + 1 < too_large {
        let found = slots_of(guess);
        match found.cmp(&slots) {
            Ordering::Less => good = guess,
            Ordering::Equal => return guess,
            Ordering::Greater => too_large = guess,
        }
        // Nearly proportional: a large table is not built more than some times.
        guess = (guess * slots / found).min(too_large - 1).max(good + 1);
    }
    good
}

/// A filter of the default layout that grows: from this number of items to the greatest number, with this
/// target load or that of the layout.
///
/// # Panics
///
/// When there is not enough memory.
#[must_use]
pub fn coucal_growing(
    first: usize,
    greatest: usize,
    target_load: Option<f64>,
) -> GrowableCuckooFilter<Fp16x4, KeyHash> {
    let builder = CuckooFilter::builder().capacity(first).max_capacity(greatest);
    let builder = match target_load {
        Some(load) => builder.target_load(load),
        None => builder,
    };
    builder.hasher(KeyHash::default()).build().expect("there is enough memory")
}

/// The items for which a filter that grows is made when it has this number of slots.
#[must_use]
pub fn growing_capacity(slots: usize) -> usize {
    capacity_for(slots, |items| coucal_growing(items, items, None).slots())
}

/// A filter of the default layout with this number of slots, or the nearest number below; its memory
/// is touched.
///
/// # Panics
///
/// When there is not enough memory.
#[must_use]
pub fn coucal_with_slots(slots: usize) -> CuckooFilter<Fp16x4, KeyHash> {
    let build = |capacity| {
        let builder = CuckooFilter::builder().layout::<Fp16x4>().hasher(KeyHash::default());
        builder.capacity(capacity).build().expect("there is enough memory")
    };
    let filter = build(capacity_for(slots, |capacity| build(capacity).slots()));
    filter.clear();
    filter
}

impl<L: Storage, S: BuildHasher + Send + Sync> Peer for Coucal<L, S> {
    by_shared!();

    fn slots(&self) -> usize {
        self.0.slots()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
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
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert_unique(&key) == Ok(true)
    }

    #[inline]
    fn insert_unique_many(&mut self, keys: &[u64]) -> usize {
        let mut new = [false; BATCH];
        let new = new.get_mut(..keys.len()).expect("no more than a batch");
        self.0.insert_unique_many(keys, new).expect("room, and as many answers as keys")
    }

    #[inline]
    fn remove_many(&mut self, keys: &[u64]) -> usize {
        let mut removed = [false; BATCH];
        let removed = removed.get_mut(..keys.len()).expect("no more than a batch");
        self.0.remove_many(keys, removed).expect("as many answers as keys")
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
    /// With this number of slots, or the next power of two, and fingerprints of 4, 8, 16 or 32 bits.
    ///
    /// # Panics
    ///
    /// With another length of fingerprints.
    #[must_use]
    pub fn with_slots(slots: usize, bits: usize) -> Self {
        let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default().capacity(slots);
        Self(builder.fingerprint_size(bits).build().expect("the crate has such fingerprints"))
    }
}

impl Peer for Atomic {
    by_shared!();

    fn slots(&self) -> usize {
        self.0.capacity()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
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

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.add(&key).is_ok()
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.delete(&key)
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
}

impl Peer for Quotient {
    fn slots(&self) -> usize {
        // It stores items up to 95 % of its slots.
        (self.0.capacity() * 20 / 19) as usize
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
        let filter = fastbloom::AtomicBloomFilter::with_false_pos(RATE)
            .hasher(KeyHash::default())
            .expected_items(slots * 19 / 20);
        filter.clear();
        Self { filter, slots }
    }
}

impl Peer for Bloom {
    by_shared!();

    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }
}

impl Shared for Bloom {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.filter.insert(&key);
        true
    }
}

/// Many small filters for one thread, each behind a `RwLock` of its own: the key says which.
pub struct ShardedRwLock<P>(Box<[CachePadded<RwLock<P>>]>);

impl<P: Peer + Send + Sync> ShardedRwLock<P> {
    /// The number of shards is the first power of two that is no less than four times the cores. `build`
    /// makes a filter of so many slots.
    #[must_use]
    pub fn with_slots(slots: usize, build: fn(usize) -> P) -> Self {
        let shards = (4 * machine::cores()).next_power_of_two();
        let shard = |_| CachePadded::new(RwLock::new(build(slots / shards)));
        Self((0..shards).map(shard).collect())
    }

    /// Not by the hash that the filters use: all items of a shard would have a part of it in common.
    #[inline]
    fn shard(&self, key: u64) -> &RwLock<P> {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[((u128::from(mixed) * self.0.len() as u128) >> 64) as usize]
    }
}

impl<P: Peer + Send + Sync> Peer for ShardedRwLock<P> {
    by_shared!();

    fn slots(&self) -> usize {
        self.0.iter().map(|shard| shard.read().slots()).sum()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.shard(key).read().contains(key)
    }
}

impl<P: Peer + Send + Sync> Shared for ShardedRwLock<P> {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.shard(key).write().insert(key)
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.shard(key).write().remove(key)
    }
}
