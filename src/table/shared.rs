//! What threads share of a table beside its buckets: counts, the stash, the mirror of a snapshot, and what retires.
//!
//! Here is what it consists of. What is done with it is in the rooms above.

pub(in crate::table) mod cells;
pub(in crate::table) mod doubled;
mod shards;

use self::doubled::Doubled;
use self::shards::Shards;
use super::buckets::growing::Chunks;
use crate::sync::memory::TryBox;
use crate::sync::{AtomicU64, Mutex, RwLock};

/// What changes beside the words and their counters. On a line of its own: a thread that counts must not slow
/// the others down.
pub(in crate::table) struct Shared {
    /// Lookups that gave up on a certain answer.
    pub(in crate::table) inconclusive: AtomicU64,
    pub(in crate::table) doubled: Doubled,
    pub(in crate::table) mirror: Mirror,
    pub(in crate::table) stash: Shards,
    pub(in crate::table) retiring: Retiring,
    /// The bits of the [`Clock`](super::whole::generations::Clock).
    pub(in crate::table) present: AtomicU64,
}

impl Shared {
    /// That of an empty table whose items are in this number of version groups.
    pub(in crate::table) fn new(doubled: Doubled, groups: usize) -> Self {
        Self {
            inconclusive: AtomicU64::new(0),
            doubled,
            mirror: Mirror::default(),
            stash: Shards::new(groups),
            retiring: Retiring::default(),
            present: AtomicU64::new(0),
        }
    }
}

/// A second place for every store of a word, while a snapshot is taken.
#[derive(Default)]
pub(in crate::table) struct Mirror {
    /// Held by the thread that takes a snapshot. It is taken before any stripe.
    pub(in crate::table) taking: Mutex<()>,
    /// Replaced only while no thread reads it: by a thread that holds the growth mutex and, except for the first time,
    /// all stripes.
    pub(in crate::table) words: RwLock<Option<TryBox<Chunks>>>,
}

/// What becomes of entries by their values.
#[derive(Default)]
pub(in crate::table) struct Retiring {
    /// The value that is retiring, plus one; 0 if there is none.
    pub(in crate::table) value: AtomicU64,
    /// Entries that were dropped in place of being moved, and not reported yet.
    pub(in crate::table) dropped: AtomicU64,
    /// The removal mutex, held by a thread that removes a value, merges, clears the table, or ends a snapshot. It is
    /// taken before the growth mutex ([`Doubled::lock`]), and before any stripe.
    pub(in crate::table) removing: Mutex<()>,
}
