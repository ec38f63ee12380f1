//! coucal and everything it is compared with, behind one trait: [`Peer`](crate::subject::Peer).
//!
//! The keys are `u64`. Every peer that takes a hasher gets [`KeyHash`](crate::hash::KeyHash), coucal
//! included.

mod filters;
mod partitions;
mod sets;

pub use filters::{
    Atomic, Bloom, Coucal, Quotient, Sequential, ShardedRwLock, coucal_growing, coucal_with_slots,
    growing_capacity,
};
pub use partitions::{Filters, LockedHashMap, Maplet};
pub use sets::LockedHashSet;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;
    use crate::subject::Peer;

    const SLOTS: usize = 1 << 12;

    /// Fills to 90 %, looks everything up, and removes it again.
    fn check(name: &str, mut peer: impl Peer, removes: bool) {
        let keys = Keys::new(1);
        let items = peer.slots() as u64 * 9 / 10;
        assert!(items >= SLOTS as u64 / 2, "{name} has {} slots", peer.slots());
        for index in 0..items {
            assert!(peer.insert(keys.key(index)), "{name} is full at {index}");
        }
        assert!((0..items).all(|index| peer.contains(keys.key(index))), "{name} misses a key");
        let wrong = (0..items).filter(|index| peer.contains(keys.absent(*index))).count();
        assert!(wrong < items as usize / 10, "{name} finds {wrong} absent keys");
        let removed = (0..items).filter(|index| peer.remove(keys.key(*index))).count();
        assert_eq!(removed, if removes { items as usize } else { 0 }, "{name}");
    }

    #[test]
    fn every_peer_stores_finds_and_removes() {
        let coucal = Coucal(coucal_with_slots(SLOTS));
        assert_eq!(coucal.slots(), SLOTS);
        check("coucal", coucal, true);
        check("atomic-cuckoo-filter", Atomic::with_slots(SLOTS, 16), true);
        check("cuckoofilter", Sequential::with_slots(SLOTS), true);
        check("qfilter", Quotient::with_slots(SLOTS), true);
        check("fastbloom", Bloom::with_slots(SLOTS), false);
        check("sharded RwLock", ShardedRwLock::with_slots(SLOTS, Sequential::with_slots), true);
        check("RwLock<HashSet>", LockedHashSet::with_slots(SLOTS), true);
        assert_eq!(Maplet::with_slots(SLOTS).slots(), SLOTS);
        check("maplet", Maplet::with_slots(SLOTS), true);
        check("64 filters of coucal", Filters::with_slots(SLOTS), true);
        check("RwLock<HashMap>", LockedHashMap::with_slots(SLOTS), true);
    }

    /// Fills to 16 times what it was made for, and looks everything up.
    #[test]
    fn every_peer_that_grows_keeps_what_it_has() {
        fn check(name: &str, mut peer: impl Peer) {
            let keys = Keys::new(1);
            let items = SLOTS as u64 * 12;
            assert!((0..items).all(|index| peer.insert(keys.key(index))), "{name} is full");
            assert!((0..items).all(|index| peer.contains(keys.key(index))), "{name} misses a key");
        }
        let first = SLOTS * 8 / 10;
        for target_load in [None, Some(0.87), Some(0.7)] {
            check("coucal", Coucal(coucal_growing(first, 16 * first, target_load)));
        }
        check("maplet", Maplet::growing(2 * first, 16 * first));
        for slots in [SLOTS, 3 * SLOTS, 16 * SLOTS] {
            let items = growing_capacity(slots);
            assert_eq!(coucal_growing(items, items, None).slots(), slots);
        }
        check("qfilter", Quotient::resizeable(first as u64, 16 * SLOTS as u64, 0.01));
        check("RwLock<HashSet>", LockedHashSet::with_slots(SLOTS));
    }

    /// A key that has moved is found, and not in its first partition.
    #[test]
    fn what_is_replaced_is_in_another_partition() {
        fn check(name: &str, mut peer: impl Peer) {
            let keys = Keys::new(1);
            assert!((0..200).all(|index| peer.insert(keys.key(index))), "{name} is full");
            assert!((0..100).all(|index| peer.replace(keys.key(index))), "{name} misses a key");
            assert!((0..200).all(|index| peer.answers(keys.key(index)) > 0), "{name} lost a key");
            // The keys and the hash are fixed: no false match is among these.
            let removed = (0..200).filter(|index| peer.remove(keys.key(*index)));
            let removed: Vec<_> = removed.collect();
            assert_eq!(removed, (100..200).collect::<Vec<_>>(), "{name}");
        }
        check("maplet", Maplet::with_slots(SLOTS));
        check("growing maplet", Maplet::growing(SLOTS, 2 * SLOTS));
        check("64 filters of coucal", Filters::with_slots(SLOTS));
        check("RwLock<HashMap>", LockedHashMap::with_slots(SLOTS));
    }

    /// The comparison of a maplet with 64 filters is one at equal rates of useless reads.
    #[test]
    fn a_maplet_and_64_filters_have_the_same_rate() {
        fn rate(mut peer: impl Peer) -> f64 {
            let (keys, items) = (Keys::new(1), peer.slots() as u64 * 19 / 20);
            assert!((0..items).all(|index| peer.insert(keys.key(index))), "it is full");
            // About 2,000 useless reads: a standard deviation is 2.3 %, and the keys are fixed.
            let lookups = 1 << 18;
            let useless: u64 = (0..lookups).map(|index| peer.answers(keys.absent(index))).sum();
            useless as f64 / lookups as f64
        }
        let slots = 1 << 18;
        let due = 8.0 * 0.95 / 1024.0;
        for rate in [rate(Maplet::with_slots(slots)), rate(Filters::with_slots(slots))] {
            assert!((0.88..1.12).contains(&(rate / due)), "{rate} instead of {due}");
        }
    }
}
