//! A simulated table for one thread with any length of fingerprint and size of bucket, for figures 2 and 3.
//!
//! The filter has no fingerprints below 8 bits, and its buckets are always words of 64 bits. This file implements its
//! keys, its alternate buckets, the choice of the emptier bucket and the breadth-first search of a kick path again, for
//! buckets of any size. A test compares them with those of the filter.

use coucal_benches::keys::Keys;

/// The digits of the golden ratio, as in `src/table/placing/entry.rs` of the crate.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The maximum number of buckets that a search opens, as in `src/table/items/path.rs` of the crate.
const BUDGET: usize = 768;

/// The parent of the two buckets that a search starts from.
const ROOT: u16 = u16::MAX;

#[derive(Clone, Copy)]
struct Node {
    bucket: usize,
    /// The slot of the parent's bucket whose fingerprint would move here.
    slot: usize,
    parent: u16,
}

/// An item, as the table sees it.
#[derive(Clone, Copy)]
struct Key {
    fingerprint: u32,
    first: usize,
    second: usize,
}

/// A table of fingerprints of up to 32 bits, 0 for a free slot; the used slots of a bucket come first.
pub struct Simulation {
    slots: Vec<u32>,
    slots_per_bucket: usize,
    buckets: usize,
    bits: u32,
    queue: Vec<Node>,
    items: usize,
}

impl Simulation {
    /// Makes an empty table, with an even number of buckets.
    pub fn new(buckets: usize, slots_per_bucket: usize, bits: u32) -> Self {
        Self {
            slots: vec![0; buckets * slots_per_bucket],
            slots_per_bucket,
            buckets,
            bits,
            queue: Vec::with_capacity(BUDGET),
            items: 0,
        }
    }

    pub fn load(&self) -> f64 {
        self.items as f64 / self.slots.len() as f64
    }

    /// Inserts one item. Returns `false` if there is no room.
    fn insert(&mut self, Key { fingerprint, first, second }: Key) -> bool {
        // Compared like the words of the filter: the topmost slots decide.
        let slots = |bucket| self.bucket(bucket).iter().rev();
        let emptier = if slots(first).gt(slots(second)) { second } else { first };
        if self.has_room(emptier) {
            self.store(emptier, fingerprint);
        } else if !self.kick(fingerprint, [first, second]) {
            return false;
        }
        self.items += 1;
        true
    }

    pub fn contains(&self, hash: u64) -> bool {
        let Key { fingerprint, first, second } = self.key(hash);
        let held = |bucket| self.bucket(bucket).contains(&fingerprint);
        held(first) || held(second)
    }

    fn key(&self, hash: u64) -> Key {
        let product = u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN);
        let mixed = product as u64 ^ (product >> 64) as u64;
        let fingerprint = (mixed % (1 << self.bits)).max(1) as u32;
        let first = self.share(mixed);
        Key { fingerprint, first, second: self.alternate(first, fingerprint) }
    }

    fn alternate(&self, bucket: usize, fingerprint: u32) -> usize {
        let core = u64::from(fingerprint);
        let sum = self.share(core.wrapping_mul(GOLDEN).wrapping_mul(core)) | 1;
        if bucket <= sum { sum - bucket } else { sum + self.buckets - bucket }
    }

    /// Returns this fraction of 2^64 of the number of buckets.
    fn share(&self, of: u64) -> usize {
        ((u128::from(of) * self.buckets as u128) >> 64) as usize
    }

    fn bucket(&self, bucket: usize) -> &[u32] {
        &self.slots[bucket * self.slots_per_bucket..][..self.slots_per_bucket]
    }

    fn bucket_mut(&mut self, bucket: usize) -> &mut [u32] {
        &mut self.slots[bucket * self.slots_per_bucket..][..self.slots_per_bucket]
    }

    fn has_room(&self, bucket: usize) -> bool {
        self.bucket(bucket).last() == Some(&0)
    }

    fn store(&mut self, bucket: usize, fingerprint: u32) {
        // The topmost slot, which is free, becomes the lowest.
        let slots = self.bucket_mut(bucket);
        slots.rotate_right(1);
        slots[0] = fingerprint;
    }

    fn on_path(&self, mut node: u16, bucket: usize) -> bool {
        while node != ROOT {
            let Node { bucket: passed, parent, .. } = self.queue[usize::from(node)];
            if passed == bucket {
                return true;
            }
            node = parent;
        }
        false
    }

    /// Searches for the shortest path to a free slot, and moves the fingerprints along it.
    fn kick(&mut self, fingerprint: u32, roots: [usize; 2]) -> bool {
        self.queue.clear();
        self.queue.extend(roots.map(|bucket| Node { bucket, slot: 0, parent: ROOT }));
        let mut next = 0;
        while next < self.queue.len() {
            let (node, from) = (next as u16, self.queue[next].bucket);
            for slot in (0..self.slots_per_bucket).rev() {
                let to = self.alternate(from, self.bucket(from)[slot]);
                if self.has_room(to) && !self.on_path(node, to) {
                    self.apply(Node { bucket: to, slot, parent: node }, fingerprint);
                    return true;
                }
            }
            for slot in (0..self.slots_per_bucket).rev() {
                let to = self.alternate(from, self.bucket(from)[slot]);
                if self.queue.len() < BUDGET && !self.on_path(node, to) {
                    self.queue.push(Node { bucket: to, slot, parent: node });
                }
            }
            next += 1;
        }
        false
    }

    /// Follows the path back from the free slot; the new fingerprint takes the slot at its start.
    fn apply(&mut self, last: Node, fingerprint: u32) {
        let mut hop = last;
        let parent = |node: &Self, hop: Node| node.queue[usize::from(hop.parent)];
        let mut from = parent(self, hop);
        self.store(hop.bucket, self.bucket(from.bucket)[hop.slot]);
        while from.parent != ROOT {
            let before = parent(self, from);
            let moved = self.bucket(before.bucket)[from.slot];
            self.replace(from.bucket, hop.slot, moved);
            (hop, from) = (from, before);
        }
        self.replace(from.bucket, hop.slot, fingerprint);
    }

    /// Replaces the fingerprint in `slot` of a full bucket: the fingerprints below its first copy move up by one, and
    /// the new one takes the lowest slot.
    fn replace(&mut self, bucket: usize, slot: usize, fingerprint: u32) {
        let slots = self.bucket_mut(bucket);
        let gap = slots.iter().position(|held| *held == slots[slot]).expect("it is there");
        slots[gap] = fingerprint;
        slots[..=gap].rotate_right(1);
    }
}

/// Inserts keys until one fails.
pub fn fill(simulation: &mut Simulation, keys: Keys) {
    while simulation.insert(simulation.key(keys.key(simulation.items as u64))) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal::{CuckooFilter, Fp16x4, Prehashed};

    /// Kicks lose nothing.
    #[test]
    fn inserted_items_are_found() {
        let keys = Keys::new(1);
        for (slots, bits) in [(2, 20), (4, 12), (8, 8)] {
            let mut simulation = Simulation::new(1 << 10, slots, bits);
            fill(&mut simulation, keys);
            let items = simulation.items as u64;
            assert!((0..items).all(|index| simulation.contains(keys.key(index))));
            assert_eq!(simulation.slots.iter().filter(|slot| **slot != 0).count(), items as usize);
        }
    }

    /// The simulation is exact. If it fails below the share of slots from which on the filter searches less far, the
    /// item without a slot is the first one that the filter stashes.
    #[test]
    fn the_first_failure_is_the_first_item_that_the_filter_stashes() {
        const FULL: f64 = 0.975;
        let filter: CuckooFilter<Fp16x4> = CuckooFilter::with_capacity(60_000);
        let mut below = 0;
        for seed in 0..120 {
            let keys = Keys::new(seed);
            let mut simulation = Simulation::new(filter.slots() / 4, 4, 16);
            fill(&mut simulation, keys);
            if simulation.load() >= FULL {
                continue;
            }
            below += 1;
            filter.clear();
            let stored = simulation.items as u64;
            filter.insert_all((0..stored).map(|index| Prehashed(keys.key(index)))).unwrap();
            assert_eq!(filter.stats().stashed_entries, 0, "seed {seed}");
            filter.insert(&Prehashed(keys.key(stored))).unwrap();
            assert_eq!(filter.stats().stashed_entries, 1, "seed {seed}");
        }
        assert!(below > 2, "{below} tables failed below the share");
    }
}
