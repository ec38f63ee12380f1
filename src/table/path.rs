//! Kick paths: breadth-first search for a free slot, and how a path is walked back.
//!
//! After Li et al. (EuroSys 2014, section 4.3): a breadth-first search finds the shortest path, and
//! holds no lock while it looks. It reads plain words, which others may be changing; whoever applies
//! the path checks each hop again under the stripes of its two buckets.

use core::iter;

use super::Hop;
use super::address::Buckets;
use crate::geometry::{Fingerprint, Key, Place};
use crate::layout::sealed::Word;
use crate::layout::{Layout, MAX_SLOTS};
use crate::sync::Ordering;

/// Buckets that a first search opens: little to clear, and enough for most kicks.
pub(super) const FIRST_SEARCH_BUCKETS: usize = 24;
/// Buckets that a search opens at the most; it looks at the alternates of all their entries.
pub(super) const MAX_SEARCH_BUCKETS: usize = 768;

/// The parent of the two buckets that the search starts from.
const ROOT: u16 = u16::MAX;

#[cfg(all(test, not(loom)))]
std::thread_local! {
    /// Buckets that the searches of this thread have opened.
    pub(super) static OPENED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// A bucket that the search has reached, all its slots in use: that of a fingerprint in a row.
#[derive(Clone, Copy)]
struct Node {
    row: usize,
    /// What would move from the parent's bucket to this one, or the new item's. No layout has more
    /// than 32 bits.
    fingerprint: u32,
    parent: u16,
}

impl Node {
    fn place(self) -> Place {
        Place { row: self.row, fingerprint: Fingerprint::in_slot(self.fingerprint.into()) }
    }
}

/// How a search ended.
pub(super) enum Found {
    /// A free slot, and the node from whose bucket the last hop leads there.
    Path { last: Hop, node: u16 },
    /// A slot that was in use when its bucket was reached is free now: look again.
    Freed,
    /// The queue was too short for all that was reached.
    QueueFull,
    /// There is no path: everything within reach was looked at.
    Nothing,
}

/// The queue of a breadth-first search over up to `N` buckets, on the stack.
pub(super) struct Search<const N: usize> {
    nodes: [Node; N],
    len: usize,
}

impl<const N: usize> Search<N> {
    /// A search from both buckets of `key`.
    #[inline]
    pub(super) fn new(key: Key) -> Self {
        let root = |row| Node { row, fingerprint: key.fingerprint.bits() as u32, parent: ROOT };
        let mut nodes = [root(key.first); N];
        nodes[1] = root(key.second);
        Self { nodes, len: 2 }
    }

    /// Looks for the shortest path; deterministic for a table that nobody changes.
    pub(super) fn run<L: Layout, B: Buckets>(&mut self, buckets: &B) -> Found {
        let geometry = buckets.geometry();
        let extent = buckets.extent();
        // Relaxed: a hint, checked again under the stripes.
        let word = |place| buckets.word(buckets.bucket(place, extent)).load(Ordering::Relaxed);
        let mut queue_full = false;
        let mut next = 0;
        while next < self.len {
            #[cfg(all(test, not(loom)))]
            OPENED.set(OPENED.get() + 1);
            let node = next as u16;
            let from = self.nodes[next].row;
            let full = word(self.nodes[next].place());
            if L::Word::has_room(full) {
                return Found::Freed;
            }
            let fingerprints = L::Word::slots(full);
            // The alternates and their words together, so that their cache misses overlap.
            let mut alternates = [0; MAX_SLOTS];
            let mut free = [false; MAX_SLOTS];
            for slot in 0..L::SLOTS {
                let fingerprint = Fingerprint::in_slot(fingerprints[slot]);
                alternates[slot] = geometry.alternate(from, fingerprint);
                free[slot] = L::Word::has_room(word(Place { row: alternates[slot], fingerprint }));
            }
            for slot in 0..L::SLOTS {
                let to = alternates[slot];
                let fingerprint = Fingerprint::in_slot(fingerprints[slot]);
                if free[slot] && !self.on_path(node, to) {
                    return Found::Path { last: Hop { fingerprint, from, to }, node };
                }
            }
            for slot in 0..L::SLOTS {
                let row = alternates[slot];
                if self.len == N {
                    queue_full = true;
                } else if !self.on_path(node, row) {
                    let fingerprint = fingerprints[slot] as u32;
                    self.nodes[self.len] = Node { row, fingerprint, parent: node };
                    self.len += 1;
                }
            }
            next += 1;
        }
        if queue_full { Found::QueueFull } else { Found::Nothing }
    }

    /// The hops that lead from a bucket of the new item to `node`, the last of them first.
    pub(super) fn back(&self, node: u16) -> impl Iterator<Item = Hop> {
        let mut reached = node;
        iter::from_fn(move || {
            let Node { row: to, fingerprint, parent } = self.nodes[usize::from(reached)];
            reached = parent;
            let from = self.nodes.get(usize::from(parent))?.row;
            Some(Hop { fingerprint: Fingerprint::in_slot(fingerprint.into()), from, to })
        })
    }

    /// Whether the path from the start to `node` passes through this row: a path that passes through
    /// a bucket twice could never be applied.
    fn on_path(&self, mut node: u16, row: usize) -> bool {
        while node != ROOT {
            let Node { row: passed, parent, .. } = self.nodes[usize::from(node)];
            if passed == row {
                return true;
            }
            node = parent;
        }
        false
    }
}
