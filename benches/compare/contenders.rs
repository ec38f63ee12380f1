//! Everything that takes part.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use coucal_measure::hash::KeyHash;
use coucal_measure::peers::{
    Atomic, Bloom, Coucal, Filters, LockedHashMap, LockedHashSet, Maplet, Quotient, Sequential,
    ShardedRwLock, coucal_growing, coucal_with_slots, growing_capacity,
};
use coucal_measure::subject::{Peer, Shared, SharedSubject, Subject};
use coucal_measure::{by_shared, keys};

pub const COUCAL: &str = "coucal";
pub const GROWING: &str = "coucal, growing";
pub const GROWING_MANY: &str = "coucal, growing, `insert_many`";
pub const ATOMIC: &str = "atomic-cuckoo-filter";
pub const SEQUENTIAL: &str = "cuckoofilter";
pub const QUOTIENT: &str = "qfilter";
pub const BLOOM: &str = "fastbloom";
pub const SHARDS: &str = "sharded RwLock<cuckoofilter>";
pub const HASH_SET: &str = "RwLock<HashSet>";
pub const MAPLET: &str = "maplet";
/// A filter and a maplet that have doubled three times.
pub const GROWN_FILTER: &str = "grown filter";
pub const GROWN_MAPLET: &str = "grown maplet";
pub const FILTERS: &str = "64 filters of coucal";
pub const HASH_MAP: &str = "RwLock<HashMap<u64, u8>>";
/// What the machine does at best.
pub const LIMIT: &str = "two loads";

/// Builds the subject of this name, empty, with this number of slots.
pub fn build(name: &str, slots: usize) -> Box<dyn Subject> {
    match name {
        COUCAL => Box::new(Coucal(coucal_with_slots(slots))),
        GROWING => {
            // From a 256th of these slots, or from 2^10; one doubling more than these, so that it grows
            // before it is full.
            let [first, greatest] = [(slots >> 8).max(1 << 10), 2 * slots].map(growing_capacity);
            Box::new(Coucal(coucal_growing(first, greatest, None)))
        }
        MAPLET => Box::new(Maplet::with_slots(slots)),
        GROWN_FILTER => {
            let items = growing_capacity(slots);
            Box::new(Coucal(coucal_growing(items >> 3, items, None)))
        }
        GROWN_MAPLET => {
            let items = growing_capacity(slots);
            Box::new(Maplet::growing(items >> 3, items))
        }
        FILTERS => Box::new(Filters::with_slots(slots)),
        HASH_MAP => Box::new(LockedHashMap::with_slots(slots)),
        ATOMIC => Box::new(Atomic::with_slots(slots, 16)),
        SEQUENTIAL => Box::new(Sequential::with_slots(slots)),
        QUOTIENT => Box::new(Quotient::with_slots(slots)),
        BLOOM => Box::new(Bloom::with_slots(slots)),
        SHARDS => Box::new(ShardedRwLock::with_slots(slots, Sequential::with_slots)),
        HASH_SET => Box::new(LockedHashSet::with_slots(slots)),
        LIMIT => Box::new(Loads::with_slots(slots)),
        _ => unreachable!("{name} does not take part"),
    }
}

/// The subject, for several threads.
pub fn shared(subject: &dyn Subject) -> &dyn SharedSubject {
    subject.as_shared().expect("only subjects for several threads take part")
}

/// Whether items can be removed.
pub fn removes(name: &str) -> bool {
    name != BLOOM
}

/// The limit of the machine, with as many bytes as coucal's words have. A lookup is the hash, then two
/// random loads that depend on nothing else; a write is a load and a store.
struct Loads {
    words: Box<[AtomicU64]>,
}

impl Loads {
    fn with_slots(slots: usize) -> Self {
        Self { words: (0..slots as u64 / 4).map(|word| AtomicU64::new(keys::mix(word))).collect() }
    }

    /// Multiply-shift.
    #[inline]
    fn word(&self, hash: u64) -> &AtomicU64 {
        &self.words[((u128::from(hash) * self.words.len() as u128) >> 64) as usize]
    }
}

impl Peer for Loads {
    by_shared!();

    fn slots(&self) -> usize {
        self.words.len() * 4
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        let [one, two] = [hash, hash.rotate_left(32)].map(|hash| self.word(hash));
        (hash ^ one.load(Ordering::Relaxed) ^ two.load(Ordering::Relaxed)) & 1 == 1
    }
}

impl Shared for Loads {
    /// Another thread may overwrite the word, as nothing is kept here.
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        let word = self.word(KeyHash::default().hash_one(key));
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.insert_shared(key)
    }
}
