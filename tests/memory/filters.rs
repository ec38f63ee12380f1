//! What a filter says about its memory, and what it does where there is too little.

use coucal::{
    AnyCuckooFilter, BuildError, CuckooFilter, GrowingLayout, Layout, MergeError, RestoreError,
    SnapshotError, StableHashBuilder, Storage,
};

use crate::allocator::{counted, live_bytes, with_little_memory};
use crate::common::{fill, growing, hashes, with_capacity};

/// Every small one, and a few of each magnitude to a million.
fn capacities() -> impl Iterator<Item = usize> {
    let larger = [1000, 4999, 10_000, 31_623, 65_536, 100_000, 131_072, 316_228, 1_000_000];
    (0..300).chain((300..5000).step_by(97)).chain(larger)
}

of_each_layout! {
    the_stated_memory_is_what_is_allocated
    no_memory_is_an_error
    no_memory_for_snapshots
}

of_each_growing_layout! {
    growth_allocates_nothing
    no_memory_for_what_grows_is_an_error
    no_memory_for_snapshots_of_what_grows
}

fn the_stated_memory_is_what_is_allocated<L: Layout>() {
    for capacity in capacities() {
        let (filter, heap) = counted(|| with_capacity::<L>(capacity));
        assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap, "capacity {capacity}");
        // Nothing that is done with a filter makes it larger.
        if capacity <= 2000 {
            let (stated, live) = (filter.memory_bytes(), live_bytes());
            assert!(fill(&filter, hashes(67)) >= capacity);
            for hash in hashes(71).take(100) {
                let _ = filter.insert_unique_hash(hash);
            }
            filter.remove_hash(1);
            filter.clear();
            assert_eq!((filter.memory_bytes(), live_bytes()), (stated, live));
        }
        let before = live_bytes();
        drop(filter);
        assert_eq!(before - live_bytes(), heap.cast_signed(), "freed, all of it");
    }
}

/// All that a filter which grows asks for, it asks for at first: what it has reserved. In use is what of
/// it the table has reached.
fn growth_allocates_nothing<L: GrowingLayout + Layout>() {
    for (first, most) in
        [(0, 0), (0, 200), (100, 300), (1000, 1000), (1000, 3500), (20_000, 70_000)]
    {
        let (filter, heap) = counted(|| growing::<L>(first, most));
        let reserved = filter.reserved_bytes();
        assert_eq!(reserved, size_of_val(&filter) + heap, "{filter:?}");
        let besides = filter.memory_bytes() - filter.slots() / L::SLOTS * 8;
        let live = live_bytes();
        for hash in hashes(67).take(most) {
            filter.insert_hash(hash).expect("below the greatest capacity");
            assert_eq!(filter.memory_bytes(), filter.slots() / L::SLOTS * 8 + besides);
        }
        assert_eq!(filter.reserve(most - filter.len()), Ok(()));
        assert_eq!((filter.memory_bytes(), filter.reserved_bytes()), (reserved, reserved));
        fill(&filter, hashes(71));
        filter.clear();
        assert_eq!((filter.memory_bytes(), live_bytes()), (reserved, live));
        drop(filter);
        assert_eq!(live - live_bytes(), heap.cast_signed(), "freed, all of it");
    }
}

/// The table, which is most of the memory, cannot be had.
fn no_memory_is_an_error<L: Layout>() {
    for capacity in [1000, 100_000, 1_000_000] {
        let slots = with_capacity::<L>(capacity).slots();
        let table = slots / L::SLOTS * 8;
        let build = || CuckooFilter::builder().layout::<L>().capacity(capacity).build();
        let before = live_bytes();
        let refused = with_little_memory(table - 1, build);
        assert_eq!(refused.expect_err("too large"), BuildError::OutOfMemory { bytes: table });
        assert_eq!(live_bytes(), before, "nothing is kept");
        assert!(with_little_memory(table, build).is_ok(), "no request is larger than the table");
    }
}

/// One that grows has its greatest table from the first.
fn no_memory_for_what_grows_is_an_error<L: GrowingLayout + Layout>() {
    let build = || {
        let builder = CuckooFilter::builder().layout::<L>().capacity(10_000);
        builder.max_capacity(30_000).build()
    };
    let filter = build().expect("memory for a test");
    filter.reserve(30_000).expect("the greatest capacity");
    let table = filter.slots() / L::SLOTS * 8;
    let refused = with_little_memory(table - 1, build);
    assert_eq!(refused.expect_err("too large"), BuildError::OutOfMemory { bytes: table });
    assert!(with_little_memory(table, build).is_ok(), "no request is larger than the table");
}

fn no_memory_for_snapshots<L: Layout>() {
    for capacity in [2000, 100_000] {
        let builder = CuckooFilter::builder().layout::<L>().hasher(StableHashBuilder::new(7));
        let fixed = builder.capacity(capacity).build().expect("memory for a test");
        no_memory_for_a_snapshot_is_an_error(&fixed, fixed.slots() / L::SLOTS * 8);
    }
}

fn no_memory_for_snapshots_of_what_grows<L: GrowingLayout + Layout>() {
    for capacity in [2000, 100_000] {
        let builder = CuckooFilter::builder().hasher(StableHashBuilder::new(7)).layout::<L>();
        let builder = builder.capacity(capacity / 3).max_capacity(capacity);
        let grows = builder.build().expect("memory for a test");
        let table = grows.reserved_bytes() - grows.memory_bytes() + grows.slots() / L::SLOTS * 8;
        no_memory_for_a_snapshot_is_an_error(&grows, table);
    }
}

/// A snapshot, what is restored from it, and a merge: an error for any request that fails, and the
/// filter as it was.
fn no_memory_for_a_snapshot_is_an_error<L: Storage>(
    filter: &CuckooFilter<L, StableHashBuilder>,
    table: usize,
) {
    let hasher = *filter.hasher();
    let most = filter.snapshot().expect("memory for a test").max_capacity();
    for hash in hashes(73).take(most / 2) {
        filter.insert_hash(hash).expect("half of what it holds");
    }
    let before = filter.snapshot().expect("memory for a test").to_bytes();
    // A large request may be made in several steps: in one of them, each of these fails.
    let too_little = (0..8).map(|power| (table >> power) - 1).filter(|most| *most > 1 << 10);
    let live = live_bytes();
    for most in too_little {
        let refused = with_little_memory(most, || filter.snapshot());
        let error = SnapshotError::OutOfMemory { bytes: table };
        assert_eq!(refused.expect_err("too large"), error);
        let refused = with_little_memory(most, || filter.merge(filter));
        assert_eq!(refused, Err(MergeError::OutOfMemory { bytes: table }));
        let restored = with_little_memory(most, || {
            let from_bytes = CuckooFilter::<L, _>::from_bytes(&before, hasher);
            [from_bytes, CuckooFilter::restore(&before[..], hasher)]
        });
        for refused in restored {
            let error = refused.expect_err("too large");
            let RestoreError::OutOfMemory { bytes } = error else { panic!("{error}") };
            assert!((most + 1..=table).contains(&bytes), "{bytes} of {table}, {most} were there");
        }
        assert_eq!(live_bytes(), live, "nothing is kept");
        assert!(filter.snapshot().expect("memory again").to_bytes() == before);
    }
    with_little_memory(table, || {
        let snapshot = filter.snapshot().expect("no request is larger than the table");
        CuckooFilter::<L, _>::from_snapshot(snapshot, hasher).expect("neither here");
        CuckooFilter::<L, _>::from_bytes(&before, hasher).expect("nor here");
        CuckooFilter::<L, _>::restore(&before[..], hasher).expect("nor here");
    });
}

#[test]
fn the_stated_memory_of_any_layout() {
    for rate in [0.1, 0.03, 0.02, 0.01, 0.001, 0.0005, 0.0001, 0.00001, 0.000_001] {
        for capacity in [0, 10, 1000, 100_000, 1_000_000] {
            let (filter, heap) = counted(|| {
                AnyCuckooFilter::with_capacity_and_rate(capacity, rate).expect("memory for a test")
            });
            let name = filter.layout_name();
            assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap, "{name}, {capacity}");
        }
    }
}
