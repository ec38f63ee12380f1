//! Tables that tell which of 64 partitions may hold a key: maplets, and a filter for each partition.

use std::hint::black_box;

use coucal::{Candidates, CuckooFilter, Fp16x4, Storage};

use crate::hash::KeyHash;
use crate::subject::{BATCH, Operation, Peer};

/// The number of bits of the number of a partition.
pub const BITS: u32 = 6;
const PARTITIONS: u32 = 1 << BITS;

/// Returns the first partition of a key, and the one to which it moves. The keys are random, and the tables hash them:
/// so this part of the key says nothing about its place in a table.
#[inline]
pub fn partitions(key: u64) -> [u32; 2] {
    let first = key as u32 % PARTITIONS;
    [first, (first + 1) % PARTITIONS]
}

/// A maplet, fixed or growing; the candidates of its batches are kept from one to the next.
pub struct Maplet<L: Storage>(coucal::Maplet<L, KeyHash>, Vec<Candidates>);

impl<L: Storage> Maplet<L> {
    /// Wraps a maplet, and touches its memory.
    pub fn new(maplet: coucal::Maplet<L, KeyHash>) -> Self {
        maplet.clear();
        Self(maplet, Vec::new())
    }
}

impl<L: Storage> Peer for Maplet<L> {
    /// Reads every value, as a user does.
    #[inline]
    fn answers(&self, key: u64) -> u64 {
        self.0.get(&key).map(|value| u64::from(value < PARTITIONS)).sum()
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert(&key, partitions(key)[0]).is_ok()
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(&key, partitions(key)[0])
    }

    #[inline]
    fn replace(&mut self, key: u64) -> bool {
        let [old, new] = partitions(key);
        self.0.replace(&key, old, new) == Ok(true)
    }

    fn batch(&mut self, operation: Operation, keys: &[u64]) -> u64 {
        let Self(maplet, candidates) = self;
        let yes = match operation {
            Operation::Contains => {
                candidates.resize(keys.len(), Candidates::new());
                maplet.get_many(keys, candidates).expect("as many answers as keys");
                candidates
                    .iter_mut()
                    .map(|of_key| usize::from(of_key.map(black_box).count() > 0))
                    .sum()
            }
            Operation::Insert => {
                let pairs: Vec<_> = keys.iter().map(|&key| (key, partitions(key)[0])).collect();
                maplet.insert_many(&pairs).map_or_else(|error| error.stored(), |()| keys.len())
            }
            Operation::Replace => {
                let pair = |&key: &u64| (key, partitions(key)[0], partitions(key)[1]);
                let pairs: Vec<_> = keys.iter().map(pair).collect();
                let replaced = &mut [false; BATCH][..keys.len()];
                maplet.replace_many(&pairs, replaced).expect("values that fit")
            }
            Operation::InsertIfAbsent | Operation::Remove => 0,
        };
        yes as u64
    }
}

/// A filter for each partition.
pub struct Filters(pub Vec<CuckooFilter<Fp16x4, KeyHash>>);

impl Filters {
    /// Makes as many filters as there are partitions, with these slots in all. The number of partitions must divide 64.
    /// The 6 bits that a maplet uses for the partition are a part of the fingerprints here, so that each filter has a
    /// 64th of the maplet's rate.
    ///
    /// `with_slots` makes a filter.
    pub fn new(
        slots: usize,
        partitions: usize,
        with_slots: impl Fn(usize) -> CuckooFilter<Fp16x4, KeyHash>,
    ) -> Self {
        // The number of keys of a partition is random: room for four standard deviations.
        let mean = slots / partitions;
        Self((0..partitions).map(|_| with_slots(mean + 4 * mean.isqrt())).collect())
    }

    /// Returns the filters of the first partition of a key, and of the one to which it moves.
    #[inline]
    pub fn of(&self, key: u64) -> [&CuckooFilter<Fp16x4, KeyHash>; 2] {
        partitions(key).map(|number| &self.0[number as usize % self.0.len()])
    }
}
