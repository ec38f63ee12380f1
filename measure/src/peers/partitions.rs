//! Tables that say which of 64 partitions may hold a key: maplets, a filter for each partition, and an
//! exact map.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use coucal::{
    Candidates, CuckooFilter, CuckooMaplet, Fp16x4, Growable, GrowableCuckooMaplet, Prehashed,
    Storage,
};

use super::filters::coucal_with_slots;
use crate::hash::KeyHash;
use crate::subject::{BATCH, Peer};

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
        let capacity = coucal_with_slots(slots).capacity();
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
    fn insert_many(&mut self, keys: &[u64]) -> usize {
        let pairs: Vec<_> = keys.iter().map(|&key| (key, partitions(key)[0].into())).collect();
        self.0.insert_many(&pairs).map_or_else(|error| error.stored(), |()| keys.len())
    }

    #[inline]
    fn replace_many(&mut self, keys: &[u64]) -> usize {
        let pair = |&key| {
            let [old, new] = partitions(key).map(u32::from);
            (key, old, new)
        };
        let pairs: Vec<_> = keys.iter().map(pair).collect();
        let mut replaced = [false; BATCH];
        let replaced = replaced.get_mut(..keys.len()).expect("no more than a batch");
        self.0.replace_many(&pairs, replaced).expect("values that fit, and as many answers as keys")
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

/// A filter for each partition. A lookup asks all of them by one hash, as a key may be in several.
pub struct Filters {
    filters: Vec<CuckooFilter<Fp16x4, KeyHash>>,
    slots: usize,
}

impl Filters {
    /// With these slots in 64 partitions.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        Self::with_partitions(slots, PARTITIONS)
    }

    /// With these slots in as many partitions, which divide 64. The 6 bits that a maplet has for the partition
    /// belong to the fingerprints here, so that each filter has a 64th of the maplet's rate.
    #[must_use]
    pub fn with_partitions(slots: usize, partitions: u8) -> Self {
        // The keys of a partition are a random number of keys: room for four standard deviations.
        let mean = slots / usize::from(partitions);
        let filter = |_| coucal_with_slots(mean + 4 * mean.isqrt());
        Self { filters: (0..partitions).map(filter).collect(), slots }
    }

    /// The filters of the first partition of a key, and of the one that it moves to.
    #[inline]
    fn of(&self, key: u64) -> [&CuckooFilter<Fp16x4, KeyHash>; 2] {
        partitions(key).map(|number| &self.filters[usize::from(number) % self.filters.len()])
    }
}

impl Peer for Filters {
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
        self.filters.iter().map(|filter| u64::from(filter.contains(&Prehashed(hash)))).sum()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        self.of(key)[0].insert(&Prehashed(hash)).is_ok()
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        self.of(key)[0].remove(&Prehashed(hash))
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        let [old, new] = self.of(key);
        old.remove(&Prehashed(hash)) && new.insert(&Prehashed(hash)).is_ok()
    }
}

/// `RwLock<HashMap<u64, u8>>`, both of the standard library.
pub struct LockedHashMap {
    map: RwLock<HashMap<u64, u8, KeyHash>>,
    slots: usize,
}

impl LockedHashMap {
    /// With room for 95 % of the slots.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let map = HashMap::with_capacity_and_hasher(slots * 19 / 20, KeyHash::default());
        Self { map: RwLock::new(map), slots }
    }

    #[inline]
    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, u8, KeyHash>> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer for LockedHashMap {
    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.get(&key).copied().map(black_box).is_some()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.write().insert(key, partitions(key)[0]);
        true
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.write().remove(&key) == Some(partitions(key)[0])
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let [old, new] = partitions(key);
        self.write().insert(key, new) == Some(old)
    }
}
