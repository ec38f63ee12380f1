//! Snapshots: in every layout, the restored filter is the saved one.

use coucal::GrowableCuckooFilter;

use crate::common::{HASHER, Item, Kind, Layout, hashes, usually, widths};

of_each_layout!(there_and_back);

of_each_growing_layout!(long_use_of_what_is_restored);

/// The largest number of items is more than the counts of 4,096 stripes are restored from at once, in every layout.
fn there_and_back(layout: Layout) {
    for kind in Kind::all(layout, widths) {
        for items in [0, 10, 1000, if kind.value_bits == 0 { 20_000 } else { 3000 }] {
            comes_back(kind, if kind.grows { items / 3 } else { items }, items);
        }
    }
}

/// Saves and restores a subject of this kind. `first` is the capacity that it was made with.
fn comes_back(kind: Kind, first: usize, items: usize) {
    let subject = kind.build(first, items);
    let all: Vec<Item> =
        hashes(3).take(items).map(|hash| (hash, (hash >> 7) as u32 & kind.top())).collect();
    subject.insert_many(&all).expect("what it was made for");
    assert!(all.iter().step_by(3).all(|&item| subject.remove(item)));
    let snapshot = subject.snapshot().unwrap();
    let bytes = snapshot.as_bytes();
    assert_eq!((snapshot.len(), snapshot.is_empty()), (subject.len(), subject.is_empty()));
    assert_eq!((snapshot.initial_capacity(), snapshot.max_capacity()), (first, items));
    assert_eq!(snapshot.grows(), kind.grows);
    let value_bits = (kind.value_bits > 0).then_some(kind.value_bits);
    assert_eq!((snapshot.layout_name(), snapshot.value_bits()), (kind.layout.name, value_bits));
    let printed = format!("{snapshot:?}");
    assert!(
        printed.contains(&format!("len: {}, initial_capacity: {first}", subject.len())),
        "{printed}"
    );
    let bits = format!("value_bits: {}", kind.value_bits);
    assert_eq!(printed.contains(&bits), value_bits.is_some(), "{printed}");
    let [by_bytes, by_reader] = [subject.restored(bytes), subject.read(&mut &*bytes)];
    for restored in [by_bytes, by_reader, subject.of_snapshot(&snapshot), subject.copied()] {
        let restored = restored.expect("what was just written");
        assert_eq!((restored.len(), restored.capacity()), (subject.len(), subject.capacity()));
        assert_eq!(restored.value_bits(), kind.value_bits);
        for hash in hashes(3).take(2 * items) {
            assert_eq!(restored.values(hash), subject.values(hash));
        }
        assert!(restored.bytes() == bytes, "{restored:?}");
        // The restored filter can be used.
        assert!(all.iter().skip(1).step_by(3).all(|&item| restored.remove(item)));
    }
}

/// Tables of more than 2^14 buckets: filled, emptied in part, saved and restored repeatedly. Each restored table
/// continues where the last one was, keeps its load, and is empty in the end.
fn long_use_of_what_is_restored(layout: Layout) {
    let mut filter = layout.growing(10_000, 2_000_000);
    let mut held = 0..0_u64;
    for _ in 0..usually(2, 5) {
        for item in held.end..held.end + 80_000 {
            filter.insert(&item).unwrap();
        }
        held.end += 80_000;
        assert!(filter.slots() > layout.slots << 14);
        assert!(filter.load_factor() < layout.target() + 0.02, "{filter:?}");
        for item in held.by_ref().take(50_000) {
            assert!(filter.remove(&item), "{item} was lost: {filter:?}");
        }
        let bytes = filter.snapshot().unwrap().into_bytes();
        filter = GrowableCuckooFilter::from_bytes(&bytes, HASHER).unwrap();
        assert!(filter.snapshot().unwrap().into_bytes() == bytes);
        assert_eq!(filter.len() as u64, held.end - held.start);
        assert!(held.clone().all(|item| filter.contains(&item)));
    }
    for item in held {
        assert!(filter.remove(&item), "{item} was lost: {filter:?}");
    }
    assert!(filter.is_empty());
    assert!(filter.snapshot().unwrap().is_empty());
}
