//! What a filter says about its memory, against an allocator that counts.

#![expect(unsafe_code, reason = "a global allocator cannot be written without")]

mod common;

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

use coucal::{
    AnyCuckooFilter, BuildError, CuckooFilter, Layout, MergeError, RestoreError, SnapshotError,
    StableHashBuilder, Storage,
};

use common::{fill, growing, hashes, with_capacity};

/// The allocator of the system, with an account for each thread: the tests run beside each other.
struct Counting;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Requests for more bytes than this fail.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts what an allocation has changed, unless it failed.
fn count(block: *mut u8, bytes: isize) -> *mut u8 {
    if !block.is_null() {
        LIVE.set(LIVE.get() + bytes);
    }
    block
}

/// # Safety
///
/// All work is the system's allocator's, which is given what came in; or null is returned, which
/// says that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        if memory.size() > MOST.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc(memory) }, memory.size().cast_signed())
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        if memory.size() > MOST.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc_zeroed(memory) }, memory.size().cast_signed())
    }

    unsafe fn realloc(&self, block: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        if size > MOST.get() {
            return std::ptr::null_mut();
        }
        let change = size.cast_signed() - memory.size().cast_signed();
        // SAFETY: the caller's promise.
        count(unsafe { System.realloc(block, memory, size) }, change)
    }

    unsafe fn dealloc(&self, block: *mut u8, memory: Memory) {
        LIVE.set(LIVE.get() - memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is made, and the bytes that it keeps on the heap.
fn counted<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    let made = make();
    let kept = LIVE.get() - before;
    (made, usize::try_from(kept).expect("nothing of before is freed"))
}

/// `make` with an allocator that has no more than `most` bytes for a request.
fn with_little_memory<T>(most: usize, make: impl FnOnce() -> T) -> T {
    MOST.set(most);
    let made = make();
    MOST.set(usize::MAX);
    made
}

/// Every small one, and a few of each magnitude to a million.
fn capacities() -> impl Iterator<Item = usize> {
    let larger = [1000, 4999, 10_000, 31_623, 65_536, 100_000, 131_072, 316_228, 1_000_000];
    (0..300).chain((300..5000).step_by(97)).chain(larger)
}

/// Each test for each layout.
macro_rules! memory {
    ($($layout:ident)*) => {
        $(#[allow(non_snake_case)]
        mod $layout {
            #[test]
            fn the_stated_memory_is_what_is_allocated() {
                super::the_stated_memory_is_what_is_allocated::<coucal::$layout>();
            }

            #[test]
            fn growth_allocates_nothing() {
                super::growth_allocates_nothing::<coucal::$layout>();
            }

            #[test]
            fn no_memory_is_an_error() {
                super::no_memory_is_an_error::<coucal::$layout>();
            }

            #[test]
            fn no_memory_for_a_snapshot_is_an_error() {
                super::no_memory_for_snapshots::<coucal::$layout>();
            }
        })*
    };
}

coucal::__for_each_layout!(memory);

fn the_stated_memory_is_what_is_allocated<L: Layout>() {
    for capacity in capacities() {
        let (filter, heap) = counted(|| with_capacity::<L>(capacity));
        assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap, "capacity {capacity}");
        // Nothing that is done with a filter makes it larger.
        if capacity <= 2000 {
            let (stated, live) = (filter.memory_bytes(), LIVE.get());
            assert!(fill(&filter, hashes(67)) >= capacity);
            for hash in hashes(71).take(100) {
                let _ = filter.insert_unique_hash(hash);
            }
            filter.remove_hash(1);
            filter.clear();
            assert_eq!((filter.memory_bytes(), LIVE.get()), (stated, live));
        }
        let before = LIVE.get();
        drop(filter);
        assert_eq!(before - LIVE.get(), heap.cast_signed(), "freed, all of it");
    }
}

/// All that a filter which grows asks for, it asks for at first: what it has reserved. In use is what of
/// it the table has reached.
fn growth_allocates_nothing<L: Layout>() {
    for (first, most) in
        [(0, 0), (0, 200), (100, 300), (1000, 1000), (1000, 3500), (20_000, 70_000)]
    {
        let (filter, heap) = counted(|| growing::<L>(first, most));
        let reserved = filter.reserved_bytes();
        assert_eq!(reserved, size_of_val(&filter) + heap, "{filter:?}");
        let besides = filter.memory_bytes() - filter.slots() / L::SLOTS * 8;
        let live = LIVE.get();
        for hash in hashes(67).take(most) {
            filter.insert_hash(hash).expect("below the greatest capacity");
            assert_eq!(filter.memory_bytes(), filter.slots() / L::SLOTS * 8 + besides);
        }
        assert_eq!(filter.reserve(most - filter.len()), Ok(()));
        assert_eq!((filter.memory_bytes(), filter.reserved_bytes()), (reserved, reserved));
        fill(&filter, hashes(71));
        filter.clear();
        assert_eq!((filter.memory_bytes(), LIVE.get()), (reserved, live));
        drop(filter);
        assert_eq!(live - LIVE.get(), heap.cast_signed(), "freed, all of it");
    }
}

/// The table, which is most of the memory, cannot be had.
fn no_memory_is_an_error<L: Layout>() {
    for capacity in [1000, 100_000, 1_000_000] {
        let slots = with_capacity::<L>(capacity).slots();
        let table = slots / L::SLOTS * 8;
        let build = || CuckooFilter::builder().layout::<L>().capacity(capacity).build();
        let before = LIVE.get();
        let refused = with_little_memory(table - 1, build);
        assert_eq!(refused.expect_err("too large"), BuildError::OutOfMemory { bytes: table });
        assert_eq!(LIVE.get(), before, "nothing is kept");
        assert!(with_little_memory(table, build).is_ok(), "no request is larger than the table");
    }
    // One that grows has its greatest table from the first.
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
        let fixed = builder.clone().capacity(capacity).build().expect("memory for a test");
        no_memory_for_a_snapshot_is_an_error(&fixed, fixed.slots() / L::SLOTS * 8);
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
    let live = LIVE.get();
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
        assert_eq!(LIVE.get(), live, "nothing is kept");
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
