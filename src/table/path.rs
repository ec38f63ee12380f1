//! Kick paths: breadth-first search for a free slot, and how a path is walked back.
//!
//! After Li et al. (EuroSys 2014, section 4.3): a breadth-first search finds the shortest path, and
//! holds no lock while it looks. It reads plain words, which others may be changing; whoever applies
//! the path checks each hop again under the stripes of its two buckets.

use core::iter;

use super::Hop;
use super::buckets::{Buckets, Reading, View, Words};
use super::geometry::{Geometry, Place};
use crate::entry::Entry;
use crate::layout::{Format, MAX_SLOTS, Word};
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

/// For the tests: a search has opened some more buckets.
#[cfg_attr(not(all(test, not(loom))), expect(unused_variables, reason = "only the tests count"))]
fn count_opened(buckets: usize) {
    #[cfg(all(test, not(loom)))]
    OPENED.set(OPENED.get() + buckets);
}

/// An entry in a queue, in as little room as it needs.
pub trait Queued: Copy {
    fn of(entry: Entry) -> Self;
    fn entry(self) -> Entry;
}

/// No fingerprint has more than 32 bits.
impl Queued for u32 {
    #[inline]
    fn of(entry: Entry) -> Self {
        entry.whole()
    }

    #[inline]
    fn entry(self) -> Entry {
        Entry::from_parts(self, 0)
    }
}

impl Queued for Entry {
    #[inline]
    fn of(entry: Entry) -> Self {
        entry
    }

    #[inline]
    fn entry(self) -> Entry {
        self
    }
}

/// A bucket that the search has reached, all its slots in use: that of an entry in a row.
#[derive(Clone, Copy)]
struct Node<E> {
    row: usize,
    /// What would move from the parent's bucket to this one, as it would be here; or the new item's.
    entry: E,
    parent: u16,
}

impl<E: Queued> Node<E> {
    fn new(Place { row, entry }: Place, parent: u16) -> Self {
        Self { row, entry: E::of(entry), parent }
    }

    fn place(self) -> Place {
        Place { row: self.row, entry: self.entry.entry() }
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

/// The first step of a search, from the buckets of both places of an item, which is most of the searches:
/// an entry that has room in its other bucket. It needs no queue. `QueueFull`: there is none.
pub(super) fn first_step<F: Format, B: Buckets>(buckets: &B, places: [Place; 2]) -> Found {
    let geometry = buckets.geometry::<F>();
    let extent = buckets.extent();
    // Relaxed: a hint, checked again under the stripes.
    let view = buckets.words().view();
    let word = |bucket| Word::<F>::from_bits(view.word(bucket).load(Ordering::Relaxed));
    for (at, place) in places.into_iter().enumerate() {
        let bucket = buckets.bucket(place, extent);
        let Some(slots) = word(bucket.number).slots_if_full() else {
            return Found::Freed;
        };
        for slot in 0..F::SLOTS {
            let entry = bucket.reading.entry(slots(slot), place.entry);
            let from = Place { entry, ..place };
            let to = geometry.other_place(from);
            if word(buckets.bucket(to, extent).number).has_room() {
                count_opened(at + 1);
                return Found::Path { last: Hop { from, to }, node: ROOT };
            }
        }
    }
    Found::QueueFull
}

/// The queue of a breadth-first search over up to `N` buckets, on the stack.
pub(super) struct Search<const N: usize, E> {
    nodes: [Node<E>; N],
    len: usize,
}

impl<const N: usize, E: Queued> Search<N, E> {
    /// A search from the buckets of both places of an item.
    #[inline]
    pub(super) fn new(places: [Place; 2]) -> Self {
        let [first, second] = places.map(|place| Node::new(place, ROOT));
        let mut nodes = [first; N];
        nodes[1] = second;
        Self { nodes, len: 2 }
    }

    /// Looks for the shortest path; deterministic for a table that nobody changes.
    pub(super) fn run<F: Format, B: Buckets>(&mut self, buckets: &B) -> Found {
        let geometry = buckets.geometry::<F>();
        let extent = buckets.extent();
        let view = buckets.words().view();
        // Relaxed: a hint, checked again under the stripes.
        let word = |place| {
            let bucket = buckets.bucket(place, extent);
            let word = view.word(bucket.number).load(Ordering::Relaxed);
            (bucket.reading, Word::<F>::from_bits(word))
        };
        let bucket_of = |place| buckets.bucket(place, extent).number;
        let mut queue_full = false;
        let mut next = 0;
        while next < self.len {
            count_opened(1);
            let node = next as u16;
            let place = self.nodes[next].place();
            let (reading, here) = word(place);
            let Some(slots) = here.slots_if_full() else {
                return Found::Freed;
            };
            let entry =
                |slot| Place { row: place.row, entry: reading.entry(slots(slot), place.entry) };
            // The alternates and their words together, so that their cache misses overlap.
            let mut alternates = [Place::default(); MAX_SLOTS];
            let mut free = [false; MAX_SLOTS];
            for slot in 0..F::SLOTS {
                alternates[slot] = geometry.other_place(entry(slot));
                free[slot] = word(alternates[slot]).1.has_room();
            }
            for slot in 0..F::SLOTS {
                let to = alternates[slot];
                if free[slot] && !self.on_path(node, to, bucket_of) {
                    return Found::Path { last: Hop { from: entry(slot), to }, node };
                }
            }
            for &alternate in &alternates[..F::SLOTS] {
                if self.len == N {
                    queue_full = true;
                } else if !self.on_path(node, alternate, bucket_of) {
                    self.nodes[self.len] = Node::new(alternate, node);
                    self.len += 1;
                }
            }
            next += 1;
        }
        if queue_full { Found::QueueFull } else { Found::Nothing }
    }

    /// The hops that lead from a bucket of the new item to `node`, the last of them first.
    pub(super) fn back(&self, node: u16, geometry: Geometry) -> impl Iterator<Item = Hop> {
        let mut reached = node;
        iter::from_fn(move || {
            let node = self.nodes[usize::from(reached)];
            reached = node.parent;
            self.nodes.get(usize::from(node.parent))?;
            let to = node.place();
            Some(Hop { from: geometry.other_place(to), to })
        })
    }

    /// Whether the path from the start to `node` passes through the bucket of this place: a path that passes
    /// through a bucket twice could never be applied.
    fn on_path(&self, mut node: u16, place: Place, bucket_of: impl Fn(Place) -> usize) -> bool {
        while node != ROOT {
            let passed = self.nodes[usize::from(node)];
            // A row has one bucket in a table of fixed size, but many in a growing one.
            if passed.row == place.row && bucket_of(passed.place()) == bucket_of(place) {
                return true;
            }
            node = passed.parent;
        }
        false
    }
}
