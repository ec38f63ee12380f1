//! The shared state of a table besides its buckets: counts, the stash, the mirror of a snapshot, and the latest sweep.
//!
//! This module has the data. The operations on it are in the modules beside it.

pub(in crate::table) mod cells;
pub(in crate::table) mod doubled;
mod shards;

use self::doubled::Doubled;
use self::shards::Shards;
use super::buckets::growing::Pieces;
use super::whole::sweep::NewValues;
use crate::sync::memory::{NoMemory, TryBox};
use crate::sync::{AtomicU64, Mutex, RwLock};

/// The shared state besides the words and their counters. It has cache lines of its own: a thread that counts must not
/// slow the others down.
pub(in crate::table) struct Shared {
    /// The number of inconclusive lookups: those that gave up on a certain answer.
    pub(in crate::table) inconclusive: AtomicU64,
    pub(in crate::table) doubled: Doubled,
    pub(in crate::table) mirror: Mirror,
    pub(in crate::table) stash: Shards,
    pub(in crate::table) sweeping: Sweeping,
    /// The bits of the [`Clock`](super::whole::generations::Clock).
    pub(in crate::table) present: AtomicU64,
}

impl Shared {
    /// Returns the shared state of an empty table whose items are in `groups` version groups.
    pub(in crate::table) fn new(doubled: Doubled, sweeping: Sweeping, groups: usize) -> Self {
        Self {
            inconclusive: AtomicU64::new(0),
            doubled,
            mirror: Mirror::default(),
            stash: Shards::new(groups),
            sweeping,
            present: AtomicU64::new(0),
        }
    }
}

/// A second place for every store of a word, while a snapshot is taken.
#[derive(Default)]
pub(in crate::table) struct Mirror {
    /// The snapshot mutex. The thread that takes a snapshot holds it, and locks it before any stripe.
    pub(in crate::table) taking: Mutex<()>,
    /// The mirror, if there is one. It is replaced only while no thread reads it: by a thread that holds the growth
    /// mutex and, except the first time, all stripes.
    pub(in crate::table) words: RwLock<Option<TryBox<Pieces>>>,
}

/// The removal mutex, and the latest [sweep](super::whole::sweep).
pub(in crate::table) struct Sweeping {
    /// The removal mutex. The thread that sweeps, changes the table by another one (as a merge does), clears it, or
    /// ends a snapshot holds it. It is locked before the growth mutex, and before any stripe.
    pub(in crate::table) removing: Mutex<()>,
    /// `None` in a table without values. In a box of its own: the cache line of [`Shared`] is full.
    latest: Option<TryBox<Sweep>>,
}

/// The latest sweep of a table.
#[derive(Default)]
pub(in crate::table) struct Sweep {
    /// The change of the values. A thread does not wait for it while it holds a stripe.
    pub(in crate::table) change: RwLock<NewValues>,
    /// The color of the sweep: 0 or 1.
    pub(in crate::table) color: AtomicU64,
    /// The number of entries that were removed from buckets.
    pub(in crate::table) removed: AtomicU64,
}

impl Sweeping {
    /// Allocates what a sweep needs if the table has values.
    pub(in crate::table) fn try_new(has_values: bool) -> Result<Self, NoMemory> {
        let latest = has_values.then(|| TryBox::try_new(Sweep::default())).transpose()?;
        Ok(Self { removing: Mutex::new(()), latest })
    }

    /// Returns the latest sweep. The table has values.
    #[inline]
    pub(in crate::table) fn latest(&self) -> &Sweep {
        self.latest.as_deref().expect("a table with values")
    }

    /// Returns the bytes on the heap.
    pub(in crate::table) fn bytes_for(has_values: bool) -> usize {
        if has_values { size_of::<Sweep>() } else { 0 }
    }
}
