//! coucal and everything it is compared with, behind one trait: [`Peer`](crate::subject::Peer).
//!
//! The keys are `u64`. Every peer that takes a hasher gets [`KeyHash`](crate::hash::KeyHash), coucal
//! included.

mod filters;
mod sets;

pub use filters::{
    Atomic, Bloom, Coucal, LockedMutex, Quotient, Rebuilt, Scalable, Sequential, ShardedRwLock,
    coucal_growing, coucal_with_slots, growing_capacity,
};
pub use sets::{LockedHashSet, Sharded};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::KeyHash;
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
        let coucal = Coucal(coucal_with_slots::<KeyHash>(SLOTS));
        assert_eq!(coucal.slots(), SLOTS);
        check("coucal", coucal, true);
        check("atomic-cuckoo-filter", Atomic::with_slots(SLOTS, 16), true);
        check("cuckoofilter", Sequential::with_slots(SLOTS), true);
        check("scalable_cuckoo_filter", Scalable::with_slots(SLOTS), true);
        check("qfilter", Quotient::with_slots(SLOTS), true);
        check("fastbloom", Bloom::with_slots(SLOTS), false);
        check("Mutex<qfilter>", LockedMutex::new(Quotient::with_slots(SLOTS)), true);
        check("sharded RwLock", ShardedRwLock::with_slots(SLOTS, Sequential::with_slots), true);
        check("RwLock<HashSet>", LockedHashSet::with_slots(SLOTS), true);
        check("DashSet", Sharded::with_slots(SLOTS), true);
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
        let items = growing_capacity(16 * SLOTS);
        assert_eq!(coucal_growing(items, items, None).slots(), 16 * SLOTS);
        check("coucal, rebuilt", Rebuilt::with_rate(first, 0.01, Keys::new(1)));
        check("scalable_cuckoo_filter", Scalable::with_rate(first, 0.01));
        check("qfilter", Quotient::resizeable(first as u64, 16 * SLOTS as u64, 0.01));
        check("RwLock<HashSet>", LockedHashSet::with_slots(SLOTS));
    }
}
