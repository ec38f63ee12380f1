//! Kick paths: the breadth-first search for a free slot, and the way back along a path.
//!
//! **Invariant:** each hop of a path leads from a bucket to the other bucket of an entry that was read there. The last
//! hop leads to a bucket with a free slot.
//!
//! A hop is the [`Key`] of the entry that is moved: its first position is where the entry is, its second where it is to
//! go.
//!
//! After Li et al. (EuroSys 2014, section 4.3): a breadth-first search finds the shortest path, and holds no lock while
//! it looks. It reads words that other threads may be changing. The thread that applies the path checks each hop again
//! under the stripes of its two buckets.
//!
//! A search looks at the slots of a bucket from the last one down, since the newest entry is in the first slot. An
//! entry that has just come was put here because its other bucket was not emptier, so that bucket seldom has room.

use core::iter;

use crate::arch;
use crate::layout::{Encoding, MAX_SLOTS, Slot};
use crate::sync::Ordering;
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Bucket, OUT_OF_CACHE_BUCKETS, Placing};
use crate::table::{Attempt, Buckets};

/// The most buckets that a first search opens: few enough that its queue is cleared quickly, and enough for most kicks.
pub(in crate::table) const FIRST_SEARCH_BUCKETS: usize = 24;
/// The most buckets that a search opens. It looks at the other buckets of all their entries.
pub(in crate::table) const MAX_SEARCH_BUCKETS: usize = 768;

/// The number of buckets ahead in the queue at which words are requested, in tables out of cache.
const AHEAD: usize = 4;

/// The parent of the two buckets from which a search starts.
const ROOT: u16 = u16::MAX;

#[cfg(test)]
std::thread_local! {
    /// The number of buckets that the searches of this thread have opened.
    pub(in crate::table) static OPENED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// Counts buckets that a search has opened, for the tests.
#[cfg_attr(not(test), expect(unused_variables, reason = "only the tests count"))]
fn count_opened(buckets: usize) {
    #[cfg(test)]
    OPENED.set(OPENED.get() + buckets);
}

/// A bucket that the search has reached. All its slots are in use.
#[derive(Clone, Copy)]
pub(in crate::table) struct Node {
    bucket: usize,
    /// The bits of the slot of the parent's bucket whose entry would move here. No slot has more than 32 bits.
    moved: u32,
    parent: u16,
}

impl Node {
    /// One of the two buckets that a search starts from, before it is known.
    pub(in crate::table) const START: Self = Self { bucket: 0, moved: 0, parent: ROOT };
}

/// Does the first step of a search, from the buckets of both places of an item and their words: most searches need no
/// more. Returns the key of an entry that has room in its other bucket, and both of its buckets. Needs no queue.
// Always inlined: the arguments and the result are more than registers take.
#[inline(always)]
pub(in crate::table) fn first_step<F: Encoding, B: Buckets>(
    buckets: &B,
    starts: [Bucket<B::Placing>; 2],
    words: [F; 2],
) -> Option<(Key, [Bucket<B::Placing>; 2])> {
    let word = buckets.words();
    for at in 0..2 {
        let (bucket, here) = (starts[at], words[at]);
        let slots = here.slots_if_full()?;
        for slot in (0..F::SLOTS).rev().map(slots) {
            let Some(other) = B::Placing::other::<F>(buckets.geometry::<F>(), bucket, slot) else {
                continue;
            };
            // Relaxed: a hint, checked again under the stripes.
            let there = F::from_bits(word(other.number()).load(Ordering::Relaxed));
            if there.has_room() {
                count_opened(at + 1);
                let hop = buckets.geometry::<F>().key_of(bucket.place::<F>(slot));
                return Some((hop, [bucket, other]));
            }
        }
    }
    None
}

/// Requests the words that a search reads when it opens this bucket, if all its slots are in use.
#[inline]
pub(in crate::table) fn prefetch_others<F: Encoding, B: Buckets>(
    buckets: &B,
    bucket: Bucket<B::Placing>,
    word: F,
) {
    if let Some(slots) = word.slots_if_full() {
        let word = buckets.words();
        let other = |slot| B::Placing::other::<F>(buckets.geometry::<F>(), bucket, slot);
        for other in (0..F::SLOTS).map(slots).filter_map(other) {
            arch::prefetch(word(other.number()));
        }
    }
}

/// A breadth-first search over as many buckets as its queue has room for.
pub(in crate::table) struct Search<'a, B: Buckets> {
    /// The placement by which all slots are read.
    placement: B::Placing,
    /// The queue: the buckets that were reached. The slice is on the stack of the caller, and is not copied: the stack
    /// of a thread in a user's model has no room for a copy.
    nodes: &'a mut [Node],
    len: usize,
}

impl<'a, B: Buckets> Search<'a, B> {
    /// Begins a search from the buckets of both places of an item.
    #[inline]
    pub(in crate::table) fn new(
        nodes: &'a mut [Node],
        placement: B::Placing,
        places: [Place; 2],
    ) -> Self {
        for (node, place) in nodes.iter_mut().zip(places) {
            node.bucket = placement.bucket_of(place.position);
        }
        Self { placement, nodes, len: 2 }
    }

    /// Finds the shortest path. Returns its last hop, which leads to a free slot, and the node from whose bucket this
    /// hop leads. Without a path, the error says how the insert ends; `None`: the queue was too short for all buckets
    /// that were reached. The search is deterministic if no thread changes the table.
    pub(in crate::table) fn run<F: Encoding>(
        &mut self,
        buckets: &B,
    ) -> Result<(Key, u16), Option<Attempt>> {
        let placement = self.placement;
        let words = buckets.words();
        // Relaxed: a hint, checked again under the stripes.
        let word = |bucket| F::from_bits(words(bucket).load(Ordering::Relaxed));
        let is_out_of_cache = buckets.count(placement) >= OUT_OF_CACHE_BUCKETS;
        let mut requested = 0;
        let mut queue_full = false;
        let mut next = 0;
        while next < self.len {
            count_opened(1);
            while is_out_of_cache && requested < self.len.min(next + AHEAD) {
                let bucket = Bucket::at(placement, self.nodes[requested].bucket);
                prefetch_others(buckets, bucket, word(bucket.number()));
                requested += 1;
            }
            let node = next as u16;
            let bucket = Bucket::at(placement, self.nodes[next].bucket);
            let Some(slots) = word(bucket.number()).slots_if_full() else {
                // A slot has become free since the bucket was reached: look again.
                return Err(Some(Attempt::Stale));
            };
            // Finds the other buckets and reads their words together, so that their cache misses overlap.
            let mut others = [None; MAX_SLOTS];
            let mut free = [false; MAX_SLOTS];
            for slot in 0..F::SLOTS {
                let other = B::Placing::other::<F>(buckets.geometry::<F>(), bucket, slots(slot));
                others[slot] = other.map(Bucket::number);
                free[slot] = others[slot].is_some_and(|other| word(other).has_room());
            }
            // A path through one bucket twice could not be applied.
            let next_of = |slot: usize| others[slot].filter(|&other| !self.on_path(node, other));
            if let Some(slot) =
                (0..F::SLOTS).rev().find(|&slot| free[slot] && next_of(slot).is_some())
            {
                let last = buckets.geometry::<F>().key_of(bucket.place::<F>(slots(slot)));
                return Ok((last, node));
            }
            for (slot, other) in others.into_iter().enumerate().take(F::SLOTS).rev() {
                if self.len == self.nodes.len() {
                    queue_full = true;
                } else if let Some(other) = other.filter(|&other| !self.on_path(node, other)) {
                    let moved = slots(slot).bits() as u32;
                    self.nodes[self.len] = Node { bucket: other, moved, parent: node };
                    self.len += 1;
                }
            }
            next += 1;
        }
        Err(if queue_full { None } else { Some(Attempt::NoRoom) })
    }

    /// Returns the hops that lead from a bucket of the new item to `node`, the last hop first.
    pub(in crate::table) fn back<F: Encoding>(
        &self,
        node: u16,
        buckets: &B,
    ) -> impl Iterator<Item = Key> {
        let mut reached = node;
        iter::from_fn(move || {
            let Node { moved, parent, .. } = self.nodes[usize::from(reached)];
            reached = parent;
            let bucket = self.nodes.get(usize::from(parent))?.bucket;
            let bucket = Bucket::at(self.placement, bucket);
            let from = bucket.place::<F>(Slot::new(moved.into()));
            Some(buckets.geometry::<F>().key_of(from))
        })
    }

    /// Returns whether the path from the start to `node` passes through this bucket.
    fn on_path(&self, mut node: u16, bucket: usize) -> bool {
        while node != ROOT {
            let passed = self.nodes[usize::from(node)];
            if passed.bucket == bucket {
                return true;
            }
            node = passed.parent;
        }
        false
    }
}
