//! Snapshots: what is restored is what was saved, in every layout.

use coucal::{AnyLayout, CuckooFilter, GrowingLayout, Layout, Storage};

use crate::{Filter, HASHER, fixed, growing};

of_each_layout!(there_and_back);

of_each_growing_layout!(there_and_back_of_what_grows);

/// The most items are more than the counts of 4,096 stripes are restored from at once, in every layout.
fn there_and_back<L: Layout>() {
    for items in [0, 10, 1000, 50_000] {
        comes_back(&fixed::<L>(items), items, items as u64);
    }
}

fn there_and_back_of_what_grows<L: GrowingLayout>() {
    for items in [0, 10, 1000, 50_000] {
        let grows = growing::<L>(items / 3, items);
        comes_back(&grows, items / 3, items as u64);
    }
}

/// `first` is the capacity that the filter was made with.
fn comes_back<L: Storage>(filter: &Filter<L>, first: usize, items: u64) {
    for item in 0..items {
        filter.insert(&item).unwrap();
    }
    for item in (0..items).step_by(3) {
        assert!(filter.remove(&item));
    }
    let snapshot = filter.snapshot().unwrap();
    let bytes = snapshot.to_bytes();
    assert_eq!(snapshot.encoded_len(), bytes.len());
    assert_eq!((snapshot.len(), snapshot.is_empty()), (filter.len(), filter.is_empty()));
    assert_eq!((snapshot.capacity(), snapshot.max_capacity()), (first, items as usize));
    assert_eq!(snapshot.layout_name(), filter.layout_name());
    let printed = format!("{snapshot:?}");
    assert!(printed.contains(&format!("len: {}, capacity: {first}", filter.len())), "{printed}");
    let restored = CuckooFilter::<L, _>::from_bytes(&bytes, HASHER).unwrap();
    assert_eq!(restored.len(), filter.len());
    assert_eq!(restored.capacity(), filter.capacity());
    for item in 0..2 * items {
        assert_eq!(restored.count(&item), filter.count(&item));
    }
    assert_eq!(restored.snapshot().unwrap().to_bytes(), bytes);
}

#[test]
fn of_layouts_chosen_at_run_time() {
    comes_back(&fixed::<AnyLayout>(1000), 1000, 1000);
    comes_back(&growing::<AnyLayout>(333, 1000), 333, 1000);
}
