//! What a filter says about its memory, and what it does where there is too little.

use coucal::{
    AnyCuckooFilter, CuckooFilter, Error, GrowableCuckooFilter, GrowableCuckooMaplet, Prehashed,
    Storage,
};

use super::allocator::{counted, live_bytes, with_little_memory};
use crate::common::{Filter, Layout, fill, hashes, stopped};

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
    growth_allocates_what_it_says
    where_memory_ends_nothing_is_lost
    no_memory_for_what_grows_is_an_error
    no_memory_for_snapshots_of_what_grows
}

fn the_stated_memory_is_what_is_allocated(layout: Layout) {
    for capacity in capacities() {
        let (filter, heap) = counted(|| layout.filter(capacity));
        assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap, "capacity {capacity}");
        let (stated, live) = (filter.memory_bytes(), live_bytes());
        // Only what finds no room in its buckets makes it larger.
        if capacity <= 2000 {
            let more = || {
                let more = filter.memory_bytes() - stated;
                assert_eq!(live_bytes() - live, more.cast_signed(), "{filter:?}");
                more
            };
            assert!(fill(&filter, hashes(67).take(capacity)) >= capacity);
            // By chance, something is in the stash.
            assert!(more() == 0 || filter.stats().stashed_entries > 0, "{filter:?}");
            filter.remove(&Prehashed(1));
            fill(&filter, hashes(67).skip(capacity));
            filter.clear();
            let copies = if capacity > 100 { 100 } else { 0 };
            for copy in 0..copies {
                assert_eq!(filter.insert(&Prehashed(copy / 50)), Ok(()), "copy {copy}");
                more();
            }
        }
        drop(filter);
        assert_eq!(live - live_bytes(), heap.cast_signed(), "freed, all of it");
    }
}

/// A large table has several shards.
#[test]
fn a_large_stash_allocates_what_it_says() {
    let (filter, heap) = counted(|| {
        let filter = CuckooFilter::with_capacity(1_000_000);
        for hash in hashes(67).take(1000).flat_map(|hash| [hash; 10]) {
            filter.insert(&Prehashed(hash)).expect("room");
        }
        filter
    });
    assert_eq!(filter.stats().stashed_entries, 1000);
    assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap);
}

/// The bytes of the words of a filter that are in use.
fn words_in_use<L: Storage, S>(filter: &CuckooFilter<L, S>, slots: usize) -> usize {
    filter.slots() / slots * 8
}

/// At the most, the bytes of a growing filter with so many bytes of words in use. As long as they are less than a part,
/// words are replaced by four times as many, with these first sizes. Stripes and versions take an eighth of them where
/// they are replaced.
fn most_bytes(words: usize) -> usize {
    const PART: usize = 8 << 10;
    let words = match words {
        ..2048 => words * 16 / 3,
        2048..=PART => PART * 5 / 3,
        _ => words + words / 64 + PART * 5 / 3,
    };
    words + words / 7 + 1200
}

/// At each size, what a growing filter says is what it has allocated.
fn growth_allocates_what_it_says(layout: Layout) {
    for (first, most) in
        [(0, 0), (0, 200), (100, 300), (1000, 1000), (1000, 3500), (0, 20_000), (20_000, 70_000)]
    {
        let before = live_bytes();
        let filter = layout.growing(first, most);
        let check = || {
            let allocated = (live_bytes() - before).cast_unsigned() + size_of_val(&filter);
            assert_eq!(filter.memory_bytes(), allocated, "{filter:?}");
            // By chance, an item finds no room.
            let stash = if filter.stats().stashed_entries > 0 { 16 << 10 } else { 0 };
            let most = most_bytes(words_in_use(&filter, layout.slots)) + stash;
            assert!(allocated <= most, "{allocated} bytes, not {most}: {filter:?}");
        };
        check();
        for hash in hashes(67).take(most) {
            filter.insert(&Prehashed(hash)).expect("below the greatest capacity");
            check();
        }
        assert_eq!(filter.reserve(most - filter.len()), Ok(()));
        assert_eq!(filter.slots(), layout.growing(most, most).slots());
        fill(&filter, hashes(71));
        filter.clear();
        check();
        drop(filter);
        assert_eq!(live_bytes(), before, "freed, all of it");
    }
}

/// A filter that grows is small as long as it holds little, whatever it may grow to.
#[test]
fn what_has_not_grown_is_small() {
    const MOST: usize = 2 << 10;
    let (filter, heap) = counted(GrowableCuckooFilter::new);
    assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap);
    assert!(filter.memory_bytes() <= MOST, "{} bytes", filter.memory_bytes());
    let (maplet, heap) = counted(|| GrowableCuckooMaplet::new(1));
    assert_eq!(maplet.memory_bytes(), size_of_val(&maplet) + heap);
    assert!(maplet.memory_bytes() <= MOST, "{} bytes", maplet.memory_bytes());
}

/// What no memory can hold is refused before anything is done. (A system that promises more memory than it has would
/// grant less than this.)
#[test]
fn no_memory_for_what_is_reserved() {
    /// A terabyte; on 32 bits so much less that this many items need more, too.
    const MOST: usize = 1 << (usize::BITS - 24);
    let filter = GrowableCuckooFilter::new();
    let (slots, live) = (filter.slots(), live_bytes());
    let refused = with_little_memory(MOST, || filter.reserve(4 * MOST));
    assert!(matches!(refused, Err(Error::OutOfMemory { bytes }) if bytes > MOST), "{refused:?}");
    assert_eq!((filter.slots(), live_bytes()), (slots, live));
}

/// The allocator has no more memory: an insert that needs it says so, and changes nothing; others go on;
/// and growth goes on with memory.
fn where_memory_ends_nothing_is_lost(layout: Layout) {
    /// Less than a chunk, and enough for the message of a failure.
    const LITTLE: usize = 2000;
    let most = 300_000;
    let filter = layout.growing(100_000, most);
    let unsaid = || live_bytes() - filter.memory_bytes().cast_signed();
    let before = unsaid();
    let inserted = with_little_memory(LITTLE, || fill(&filter, hashes(67)));
    let slots = filter.slots();
    assert!(inserted < most && inserted as f64 > layout.target() * slots as f64, "{filter:?}");
    assert_eq!(unsaid(), before, "nothing is kept");
    let refused = hashes(67).nth(inserted).expect("no end of items");
    with_little_memory(LITTLE, || {
        assert_eq!(filter.insert(&Prehashed(refused)), Err(Error::NoMemoryToStore));
        let failed = filter.insert_many(Prehashed::slice(&[refused])).expect_err("no memory");
        assert_eq!(stopped(failed), (0, 0, Error::NoMemoryToStore));
        let error = filter.reserve(most - filter.len()).expect_err("no memory");
        assert!(matches!(error, Error::OutOfMemory { bytes } if bytes > LITTLE), "{error}");
        assert_eq!(filter.slots(), slots);
        // Lookups, removals, and inserts that find room.
        assert!(hashes(67).take(inserted).all(|item| filter.contains(&Prehashed(item))));
        for item in hashes(67).take(1000) {
            assert!(filter.remove(&Prehashed(item)));
            assert_eq!(filter.insert(&Prehashed(item)), Ok(()));
        }
    });
    assert_eq!(filter.len(), inserted);
    for item in hashes(67).take(most).skip(inserted) {
        filter.insert(&Prehashed(item)).expect("memory again");
    }
    assert!(filter.slots() > slots);
    assert!(hashes(67).take(most).all(|item| filter.remove(&Prehashed(item))));
    assert!(filter.is_empty());
}

/// The table, which is most of the memory, cannot be had.
fn no_memory_is_an_error(layout: Layout) {
    for capacity in [1000, 100_000, 1_000_000] {
        let table = words_in_use(&layout.filter(capacity), layout.slots);
        check_without_memory(table, table, || layout.filters().capacity(capacity).build());
    }
}

fn no_memory_for_what_grows_is_an_error(layout: Layout) {
    for capacity in [1000, 1_000_000] {
        let build = || layout.filters().capacity(capacity).max_capacity(3_000_000).build();
        let filter = build().expect("memory for a test");
        let table = words_in_use(&filter, layout.slots);
        // In whole parts, if it is longer than one.
        let whole = if table < 16 << 10 { table } else { table.next_multiple_of(16 << 10) };
        check_without_memory(table, whole, build);
    }
}

/// A table of so many bytes, all of which are asked for at once with those behind it.
fn check_without_memory<T>(table: usize, whole: usize, build: impl Fn() -> Result<T, Error>) {
    let before = live_bytes();
    let refused = with_little_memory(table - 1, &build).err();
    assert_eq!(refused, Some(Error::OutOfMemory { bytes: table }));
    assert_eq!(live_bytes(), before, "nothing is kept");
    // Stripes take more in a small table.
    assert!(with_little_memory(whole.max(32 << 10), &build).is_ok(), "no request is larger");
}

fn no_memory_for_snapshots(layout: Layout) {
    for capacity in [2000, 100_000] {
        let builder = layout.filters();
        let fixed = builder.capacity(capacity).build().expect("memory for a test");
        no_memory_for_a_snapshot_is_an_error(&fixed, layout.slots);
    }
}

fn no_memory_for_snapshots_of_what_grows(layout: Layout) {
    let builder = layout.filters();
    let builder = builder.capacity(300_000).max_capacity(900_000);
    let grows = builder.build().expect("memory for a test");
    no_memory_for_a_snapshot_is_an_error(&grows, layout.slots);
}

/// A snapshot, what is restored from it, and a merge: an error where large requests fail, and the filter as
/// it was.
fn no_memory_for_a_snapshot_is_an_error<L: Storage>(filter: &Filter<L>, slots: usize) {
    let hasher = *filter.hasher();
    let most = filter.snapshot().expect("memory for a test").max_capacity();
    for hash in hashes(73).take(most / 2) {
        filter.insert(&Prehashed(hash)).expect("half of what it holds");
    }
    let table = words_in_use(filter, slots);
    // With what growth has allocated and not reached yet, or with what a snapshot has besides its words.
    let tables = table..=table + table / 64 + (16 << 10);
    let before = filter.snapshot().expect("memory for a test").into_bytes();
    // A large request may be made in several steps: in one of them, each of these fails.
    let too_little = (0..8).map(|power| (table >> power).saturating_sub(1));
    let too_little = too_little.filter(|most| *most > 1 << 10);
    let live = live_bytes();
    for most in too_little {
        let refused = with_little_memory(most, || filter.snapshot());
        let Error::OutOfMemory { bytes } = refused.expect_err("too large") else {
            panic!("another error");
        };
        assert!(tables.contains(&bytes), "{bytes} of {table}");
        let refused = with_little_memory(most, || filter.merge(filter));
        assert_eq!(refused, Err(Error::OutOfMemory { bytes }));
        let restored = with_little_memory(most, || {
            let from_bytes = Filter::<L>::from_bytes(&before, hasher);
            [from_bytes, CuckooFilter::restore(&before[..], hasher)]
        });
        for refused in restored {
            let error = refused.expect_err("too large");
            let Error::OutOfMemory { bytes } = error else { panic!("{error}") };
            let requests = most + 1..=*tables.end();
            assert!(requests.contains(&bytes), "{bytes} of {table}, {most} were there");
        }
        assert_eq!(live_bytes(), live, "nothing is kept");
        assert!(filter.snapshot().expect("memory again").into_bytes() == before);
    }
    with_little_memory(*tables.end(), || {
        let snapshot = filter.snapshot().expect("no request is larger than the table");
        Filter::<L>::from_snapshot(&snapshot, hasher).expect("neither here");
        Filter::<L>::from_bytes(&before, hasher).expect("nor here");
        Filter::<L>::restore(&before[..], hasher).expect("nor here");
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
