//! Tables that say which of 64 partitions may hold a key: maplets, a filter for each partition, and exact
//! maps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::{PoisonError, RwLock};

use coucal::{
    Candidates, CuckooFilter, CuckooMaplet, Fp16x4, Growable, GrowableCuckooMaplet, Storage,
};
use dashmap::DashMap;

use super::filters::{Bloom, coucal_with_slots};
use crate::hash::KeyHash;
use crate::subject::Peer;

/// Partitions have numbers of this many bits.
const BITS: u32 = 6;
const PARTITIONS: u8 = 1 << BITS;

/// The first partition of a key, and the one that it moves to. The keys are random, and the tables hash
/// them: this part of the key says nothing of its place in a table.
#[inline]
fn partitions(key: u64) -> [u8; 2] {
    let first = key as u8 % PARTITIONS;
    [first, (first + 1) % PARTITIONS]
}

/// A maplet, fixed or growing; the candidates of its batches are kept from one to the next. They are in a
/// box: beside a `RefCell` the compiler would take the fields of the maplet for changing ones, and load them
/// again for each lookup.
pub struct Maplet<L: Storage>(pub CuckooMaplet<L, KeyHash>, Box<RefCell<Vec<Candidates>>>);

impl<L: Storage> Maplet<L> {
    fn new(maplet: CuckooMaplet<L, KeyHash>) -> Self {
        // Its memory is touched.
        maplet.clear();
        Self(maplet, Box::default())
    }
}

impl Maplet<Fp16x4> {
    /// For as many pairs as a filter of this number of slots has items.
    ///
    /// # Panics
    ///
    /// When there is not enough memory.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let capacity = coucal_with_slots::<KeyHash>(slots).capacity();
        let builder = CuckooMaplet::builder().capacity(capacity).value_bits(BITS);
        Self::new(builder.hasher(KeyHash::default()).build().expect("there is enough memory"))
    }
}

impl Maplet<Growable<Fp16x4>> {
    /// From this number of pairs to the greatest number.
    ///
    /// # Panics
    ///
    /// When there is not enough memory.
    #[must_use]
    pub fn growing(first: usize, greatest: usize) -> Self {
        let builder = CuckooMaplet::builder().capacity(first).max_capacity(greatest);
        let builder = builder.value_bits(BITS).hasher(KeyHash::default());
        let maplet: GrowableCuckooMaplet<Fp16x4, _> = builder.build().expect("enough memory");
        Self::new(maplet)
    }
}

impl<L: Storage> Peer for Maplet<L> {
    fn slots(&self) -> usize {
        self.0.slots()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.answers(key) > 0
    }

    /// Takes every value, as a user does.
    #[inline]
    fn answers(&self, key: u64) -> u64 {
        self.0.get(&key).map(|value| u64::from(value < u32::from(PARTITIONS))).sum()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert(&key, partitions(key)[0].into()).is_ok()
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(&key, partitions(key)[0].into())
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let [old, new] = partitions(key).map(u32::from);
        self.0.replace(&key, old, new) == Ok(true)
    }

    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        let mut candidates = self.1.borrow_mut();
        candidates.resize(keys.len(), Candidates::new());
        self.0.get_many(keys, &mut candidates).expect("as many answers as keys");
        for (candidates, found) in candidates.iter_mut().zip(found) {
            *found = candidates.map(black_box).count() > 0;
        }
    }
}

/// A filter of one partition, asked by a hash that is computed once for all partitions.
trait Filter: Sized {
    fn contains_hash(&self, hash: u64) -> bool;
    fn insert_hash(&self, hash: u64) -> bool;

    /// `false` if this filter removes nothing.
    #[inline]
    fn remove_hash(&self, _hash: u64) -> bool {
        false
    }
}

impl Filter for CuckooFilter<Fp16x4, KeyHash> {
    #[inline]
    fn contains_hash(&self, hash: u64) -> bool {
        self.contains_hash(hash)
    }

    #[inline]
    fn insert_hash(&self, hash: u64) -> bool {
        self.insert_hash(hash).is_ok()
    }

    #[inline]
    fn remove_hash(&self, hash: u64) -> bool {
        self.remove_hash(hash)
    }
}

impl Filter for Bloom {
    #[inline]
    fn contains_hash(&self, hash: u64) -> bool {
        self.filter.contains_hash(hash)
    }

    #[inline]
    fn insert_hash(&self, hash: u64) -> bool {
        self.filter.insert_hash(hash);
        true
    }
}

/// A filter for each partition. A lookup asks all of them, as a key may be in several.
pub struct Filters<F> {
    filters: Vec<F>,
    slots: usize,
}

impl<F> Filters<F> {
    fn new(slots: usize, filter: impl Fn(usize) -> F) -> Self {
        let filters = (0..PARTITIONS).map(|_| filter(slots / usize::from(PARTITIONS))).collect();
        Self { filters, slots }
    }
}

impl Filters<CuckooFilter<Fp16x4, KeyHash>> {
    /// The 6 bits that a maplet has for the partition belong to the fingerprints here, so that each filter
    /// has a 64th of the maplet's rate.
    #[must_use]
    pub fn coucal(slots: usize) -> Self {
        // The keys of a partition are a random number of keys: room for four standard deviations.
        Self::new(slots, |mean| coucal_with_slots(mean + 4 * mean.isqrt()))
    }
}

impl Filters<Bloom> {
    /// Bloom filters have the rate of 16-bit fingerprints, too.
    #[must_use]
    pub fn bloom(slots: usize) -> Self {
        Self::new(slots, Bloom::with_slots)
    }
}

impl<F: Filter> Peer for Filters<F> {
    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.answers(key) > 0
    }

    #[inline]
    fn answers(&self, key: u64) -> u64 {
        let hash = KeyHash::default().hash_one(key);
        self.filters.iter().map(|filter| u64::from(filter.contains_hash(hash))).sum()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        self.filters[usize::from(partitions(key)[0])].insert_hash(hash)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        self.filters[usize::from(partitions(key)[0])].remove_hash(hash)
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        let [old, new] = partitions(key).map(|number| &self.filters[usize::from(number)]);
        old.remove_hash(hash) && new.insert_hash(hash)
    }
}

/// An exact map from keys to partitions.
trait Map {
    fn with_capacity(items: usize) -> Self;
    fn value(&self, key: u64) -> Option<u8>;
    /// Returns the value before.
    fn insert(&self, key: u64, value: u8) -> Option<u8>;
    fn remove(&self, key: u64) -> Option<u8>;
}

impl Map for RwLock<HashMap<u64, u8, KeyHash>> {
    fn with_capacity(items: usize) -> Self {
        Self::new(HashMap::with_capacity_and_hasher(items, KeyHash::default()))
    }

    #[inline]
    fn value(&self, key: u64) -> Option<u8> {
        self.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }

    #[inline]
    fn insert(&self, key: u64, value: u8) -> Option<u8> {
        self.write().unwrap_or_else(PoisonError::into_inner).insert(key, value)
    }

    #[inline]
    fn remove(&self, key: u64) -> Option<u8> {
        self.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}

impl Map for DashMap<u64, u8, KeyHash> {
    fn with_capacity(items: usize) -> Self {
        Self::with_capacity_and_hasher(items, KeyHash::default())
    }

    #[inline]
    fn value(&self, key: u64) -> Option<u8> {
        self.get(&key).map(|value| *value)
    }

    #[inline]
    fn insert(&self, key: u64, value: u8) -> Option<u8> {
        self.insert(key, value)
    }

    #[inline]
    fn remove(&self, key: u64) -> Option<u8> {
        self.remove(&key).map(|pair| pair.1)
    }
}

/// An exact map, of one partition for each key.
pub struct Exact<M> {
    map: M,
    slots: usize,
}

/// `RwLock<HashMap<u64, u8>>`, both of the standard library.
pub type LockedHashMap = Exact<RwLock<HashMap<u64, u8, KeyHash>>>;
/// `DashMap<u64, u8>` of the crate dashmap.
pub type ShardedMap = Exact<DashMap<u64, u8, KeyHash>>;

#[expect(private_bounds, reason = "two maps")]
impl<M: Map> Exact<M> {
    /// With room for 95 % of the slots.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        Self { map: M::with_capacity(slots * 19 / 20), slots }
    }
}

impl<M: Map> Peer for Exact<M> {
    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.map.value(key).map(black_box).is_some()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.map.insert(key, partitions(key)[0]);
        true
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.map.remove(key) == Some(partitions(key)[0])
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let [old, new] = partitions(key);
        self.map.insert(key, new) == Some(old)
    }
}
