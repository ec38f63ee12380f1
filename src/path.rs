//! Kick paths: breadth-first search for a free slot, and how a path is walked back.
//!
//! After Li et al. (EuroSys 2014, section 4.3): a breadth-first search finds the shortest path, and
//! holds no lock while it looks. It reads plain words, which others may be changing; whoever applies
//! the path checks each hop again under the stripes of its two buckets.

use core::iter;

use crate::geometry::{Geometry, Key};
use crate::layout::{Layout, MAX_SLOTS};
use crate::sync::{AtomicU64, Ordering};

/// Buckets that a first search opens: little to clear, and enough for most kicks.
pub(crate) const FIRST_SEARCH_BUCKETS: usize = 24;
/// Buckets that a search opens at the most; it looks at the alternates of all their entries.
pub(crate) const MAX_SEARCH_BUCKETS: usize = 768;

/// The parent of the two buckets that the search starts from.
const ROOT: u16 = u16::MAX;

/// One fingerprint to be moved from one of its buckets to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) fingerprint: u64,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A bucket that the search has reached, all its slots in use.
#[derive(Clone, Copy)]
struct Node {
    bucket: usize,
    /// What would move from the parent's bucket to this one. No layout has more than 32 bits.
    fingerprint: u32,
    parent: u16,
}

/// How a search ended.
pub(crate) enum Found {
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
pub(crate) struct Search<const N: usize> {
    nodes: [Node; N],
    len: usize,
}

impl<const N: usize> Search<N> {
    /// A search from both buckets of `key`.
    #[inline]
    pub(crate) fn new(key: Key) -> Self {
        let root = |bucket| Node { bucket, fingerprint: 0, parent: ROOT };
        let mut nodes = [root(key.first); N];
        nodes[1] = root(key.second);
        Self { nodes, len: 2 }
    }

    /// Looks for the shortest path; deterministic for a table that nobody changes.
    pub(crate) fn run<L: Layout>(&mut self, words: &[AtomicU64], geometry: Geometry) -> Found {
        let mut queue_full = false;
        let mut next = 0;
        while next < self.len {
            let node = next as u16;
            let from = self.nodes[next].bucket;
            // Relaxed, here and below: a hint, checked again under the stripes.
            let word = words[from].load(Ordering::Relaxed);
            if L::has_room(word) {
                return Found::Freed;
            }
            let fingerprints = L::fingerprints(word);
            // The alternates and their words together, so that their cache misses overlap.
            let mut alternates = [0; MAX_SLOTS];
            let mut free = [false; MAX_SLOTS];
            for slot in 0..L::SLOTS {
                alternates[slot] = geometry.alternate(from, fingerprints[slot]);
                free[slot] = L::has_room(words[alternates[slot]].load(Ordering::Relaxed));
            }
            for slot in 0..L::SLOTS {
                let (fingerprint, to) = (fingerprints[slot], alternates[slot]);
                if free[slot] && !self.on_path(node, to) {
                    return Found::Path { last: Hop { fingerprint, from, to }, node };
                }
            }
            for slot in 0..L::SLOTS {
                let (fingerprint, to) = (fingerprints[slot], alternates[slot]);
                if self.len == N {
                    queue_full = true;
                } else if !self.on_path(node, to) {
                    let fingerprint = fingerprint as u32;
                    self.nodes[self.len] = Node { bucket: to, fingerprint, parent: node };
                    self.len += 1;
                }
            }
            next += 1;
        }
        if queue_full { Found::QueueFull } else { Found::Nothing }
    }

    /// The hops that lead from a bucket of the new item to `node`, the last of them first.
    pub(crate) fn back(&self, node: u16) -> impl Iterator<Item = Hop> {
        let mut reached = node;
        iter::from_fn(move || {
            let Node { bucket: to, fingerprint, parent } = self.nodes[usize::from(reached)];
            reached = parent;
            let from = self.nodes.get(usize::from(parent))?.bucket;
            Some(Hop { fingerprint: fingerprint.into(), from, to })
        })
    }

    /// Whether the way from the start to `node` passes through `bucket`: such a path could never
    /// be applied.
    fn on_path(&self, mut node: u16, bucket: usize) -> bool {
        while node != ROOT {
            let Node { bucket: passed, parent, .. } = self.nodes[usize::from(node)];
            if passed == bucket {
                return true;
            }
            node = parent;
        }
        false
    }
}
