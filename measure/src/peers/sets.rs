//! An exact set of keys: what programs use today where a filter would do.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use crate::by_shared;
use crate::hash::KeyHash;
use crate::subject::{Peer, Shared};

/// `RwLock<HashSet<u64>>`, both of the standard library.
pub struct LockedHashSet {
    set: RwLock<HashSet<u64, KeyHash>>,
    slots: usize,
}

impl LockedHashSet {
    /// With room for 95 % of its slots, the load that filters are filled to.
    #[must_use]
    pub fn with_slots(slots: usize) -> Self {
        let set = HashSet::with_capacity_and_hasher(slots * 19 / 20, KeyHash::default());
        Self { set: RwLock::new(set), slots }
    }
}

impl Peer for LockedHashSet {
    by_shared!();

    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.set.read().unwrap_or_else(PoisonError::into_inner).contains(&key)
    }
}

impl Shared for LockedHashSet {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.set.write().unwrap_or_else(PoisonError::into_inner).insert(key);
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.set.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}
