//! Exact sets of keys: what programs use today where a filter would do.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use dashmap::DashSet;

use crate::by_shared;
use crate::hash::KeyHash;
use crate::subject::{Peer, Shared};

/// `RwLock<HashSet<u64>>`, both of the standard library.
pub struct LockedHashSet {
    set: RwLock<HashSet<u64, KeyHash>>,
    slots: usize,
}

/// `DashSet<u64>` of the crate dashmap: shards, each behind a lock.
pub struct Sharded {
    set: DashSet<u64, KeyHash>,
    slots: usize,
}

/// A set with room for 95 % of its slots, the load that filters are filled to.
macro_rules! set {
    ($type:ident, $build:expr, $self:ident, $read:expr, $write:expr, $removed:expr) => {
        impl $type {
            #[must_use]
            pub fn with_slots(slots: usize) -> Self {
                Self { set: $build(slots * 19 / 20), slots }
            }
        }

        impl Peer for $type {
            by_shared!();

            fn slots(&self) -> usize {
                self.slots
            }

            #[inline]
            fn contains(&$self, key: u64) -> bool {
                $read.contains(&key)
            }
        }

        impl Shared for $type {
            #[inline]
            fn insert_shared(&$self, key: u64) -> bool {
                $write.insert(key);
                true
            }

            #[inline]
            fn remove_shared(&$self, key: u64) -> bool {
                $removed($write.remove(&key))
            }
        }
    };
}

set!(
    LockedHashSet,
    |items| RwLock::new(HashSet::with_capacity_and_hasher(items, KeyHash::default())),
    self,
    self.set.read().unwrap_or_else(PoisonError::into_inner),
    self.set.write().unwrap_or_else(PoisonError::into_inner),
    |removed| removed
);

set!(
    Sharded,
    |items| DashSet::with_capacity_and_hasher(items, KeyHash::default()),
    self,
    self.set,
    self.set,
    |removed: Option<u64>| removed.is_some()
);
