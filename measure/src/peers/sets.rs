//! Exact sets of keys: what programs use today where a filter would do.

use std::collections::HashSet;
use std::sync::RwLock;

use dashmap::DashSet;
use moka::sync::Cache;

use crate::hash::KeyHash;
use crate::subject::{Peer, Shared, SharedSubject};

/// Items that a peer for this number of slots is built for: the load that filters are filled to.
fn items(slots: usize) -> usize {
    slots * 19 / 20
}

/// `RwLock<HashSet<u64>>`, both of the standard library.
pub struct LockedHashSet {
    set: RwLock<HashSet<u64, KeyHash>>,
    slots: usize,
}

impl LockedHashSet {
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let set = HashSet::with_capacity_and_hasher(items(slots), KeyHash::default());
        Self { set: RwLock::new(set), slots }
    }
}

const NOT_POISONED: &str = "no thread panics with the lock";

impl Peer for LockedHashSet {
    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.set.read().expect(NOT_POISONED).contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.set.write().expect(NOT_POISONED).insert(key)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl Shared for LockedHashSet {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.set.write().expect(NOT_POISONED).insert(key);
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.set.write().expect(NOT_POISONED).remove(&key)
    }
}

/// `DashSet<u64>` of the crate dashmap: shards, each behind a lock.
pub struct Sharded {
    set: DashSet<u64, KeyHash>,
    slots: usize,
}

impl Sharded {
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let set = DashSet::with_capacity_and_hasher(items(slots), KeyHash::default());
        Self { set, slots }
    }
}

impl Peer for Sharded {
    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.set.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.set.insert(key)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl Shared for Sharded {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.set.insert(key);
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.set.remove(&key).is_some()
    }
}

/// `moka::sync::Cache<u64, ()>`, with room for all items: it evicts nothing here.
pub struct Moka {
    cache: Cache<u64, (), KeyHash>,
    slots: usize,
}

impl Moka {
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let cache = Cache::builder()
            .max_capacity(slots as u64)
            .initial_capacity(items(slots))
            .build_with_hasher(KeyHash::default());
        Self { cache, slots }
    }
}

impl Peer for Moka {
    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.cache.contains_key(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.cache.entry(key).or_insert(()).is_fresh()
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl Shared for Moka {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.cache.insert(key, ());
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.cache.remove(&key).is_some()
    }
}
