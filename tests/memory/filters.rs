//! What a filter states about its memory, and what it does if there is too little.

use std::time::Duration;

use coucal::{
    AnyLayout, CuckooFilter, Error, ExpiringCuckooFilter, GrowableCuckooFilter,
    GrowableCuckooMaplet, Prehashed,
};

use super::allocator::{counted, live_bytes, peak_of, with_little_memory};
use crate::common::{Kind, Layout, default_layout, fill, hashes};

/// Returns every small capacity, and a few of each magnitude up to a million.
fn capacities() -> impl Iterator<Item = usize> {
    let larger = [1000, 4999, 10_000, 31_623, 65_536, 100_000, 131_072, 316_228, 1_000_000];
    (0..300).chain((300..5000).step_by(97)).chain(larger)
}

of_each_layout!(the_stated_memory_is_what_is_allocated);

of_each_growing_layout!(growth_allocates_what_it_says);

fn the_stated_memory_is_what_is_allocated(layout: Layout) {
    for capacity in capacities() {
        let (filter, heap) = counted(|| layout.filter(capacity));
        assert_eq!(filter.memory_bytes(), size_of_val(&filter) + heap, "capacity {capacity}");
        let (stated, live) = (filter.memory_bytes(), live_bytes());
        // Only entries in the stash make it larger.
        let more = || {
            let more = filter.memory_bytes() - stated;
            assert_eq!(live_bytes() - live, more.cast_signed(), "{filter:?}");
            more
        };
        if capacity <= 2000 {
            assert!(fill(&filter, hashes(67).take(capacity)) >= capacity);
            // By chance, something is stashed.
            assert!(more() == 0 || filter.stats().stashed_entries > 0, "{filter:?}");
            filter.remove(&Prehashed(1));
            fill(&filter, hashes(67).skip(capacity));
            filter.clear();
            let copies = if capacity > 100 { 100 } else { 0 };
            for copy in 0..copies {
                assert_eq!(filter.insert(&Prehashed(copy / 50)), Ok(()), "copy {copy}");
                more();
            }
        } else if capacity == 1_000_000 {
            // Its stash has several shards.
            for hash in hashes(67).take(1000) {
                let copies = [Prehashed(hash); 20];
                filter.insert_many(&copies).expect("room");
            }
            assert!(filter.stats().stashed_entries > 900);
            more();
        }
        drop(filter);
        assert_eq!(live - live_bytes(), heap.cast_signed(), "freed, all of it");
    }
}

/// Also where they are an error that lists the names of layouts.
#[test]
fn figures_allocate_nothing() {
    let builder = CuckooFilter::builder().layout_named("Fp8x8").unwrap();
    assert!(matches!(peak_of(|| builder.figures(1)), (Err(Error::NoCapacity), 0)));
    let (figures, peak) = peak_of(|| builder.clone().capacity(1000).figures(1000));
    assert!(figures.is_ok() && peak == 0, "{peak} bytes");
    let (error, peak) = peak_of(|| GrowableCuckooFilter::builder().layout_named("Fp8x8").err());
    let Some(Error::NoSuchLayout { names, .. }) = error else { panic!("{error:?}") };
    assert_eq!((names, peak), (AnyLayout::GROWING_NAMES, 0));
}

#[test]
fn an_expiring_filter_states_its_memory() {
    for capacity in [10, 1000, 100_000] {
        let builder = ExpiringCuckooFilter::builder().capacity(capacity).generations(4);
        let builder = builder.every(Duration::from_secs(60)).every_items(10);
        let stated = builder.figures(0).expect("figures").memory_bytes;
        let (seen, heap) = counted(|| builder.build().expect("memory for a test"));
        assert_eq!(seen.memory_bytes(), size_of_val(&seen) + heap, "capacity {capacity}");
        assert_eq!(seen.memory_bytes(), stated, "capacity {capacity}");
    }
}

/// Returns the maximum number of bytes of a growing filter with `words` bytes of words in use. As long as these are
/// less than a piece, four times as many replace them, with these first sizes. Stripes and versions take an eighth of
/// them when they are replaced.
fn most_bytes(words: usize) -> usize {
    const PIECE: usize = 8 << 10;
    let words = match words {
        ..2048 => words * 16 / 3,
        2048..=PIECE => PIECE * 5 / 3,
        _ => words + words / 64 + PIECE * 5 / 3,
    };
    words + words / 7 + 1200
}

/// At each size, a growing filter states the number of bytes that it has allocated.
fn growth_allocates_what_it_says(layout: Layout) {
    for (first, most) in
        [(0, 0), (0, 200), (100, 300), (1000, 1000), (1000, 3500), (0, 20_000), (20_000, 70_000)]
    {
        let before = live_bytes();
        let filter = layout.growing(first, most);
        let check = || {
            let allocated = (live_bytes() - before).cast_unsigned() + size_of_val(&filter);
            assert_eq!(filter.memory_bytes(), allocated, "{filter:?}");
            // By chance, an item is stashed.
            let stash = if filter.stats().stashed_entries > 0 { 16 << 10 } else { 0 };
            let most = most_bytes(filter.slots() / layout.slots * 8) + stash;
            assert!(allocated <= most, "{allocated} bytes, not {most}: {filter:?}");
        };
        check();
        for hash in hashes(67).take(most) {
            filter.insert(&Prehashed(hash)).expect("below the maximum capacity");
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

/// A growing filter is small as long as it holds little, whatever its maximum is.
#[test]
fn a_filter_that_has_not_grown_is_small() {
    const MOST: usize = 2 << 10;
    let filter = GrowableCuckooFilter::new();
    assert!(filter.memory_bytes() <= MOST, "{} bytes", filter.memory_bytes());
    let (maplet, heap) = counted(|| GrowableCuckooMaplet::new(1));
    assert_eq!(maplet.memory_bytes(), size_of_val(&maplet) + heap);
    assert!(maplet.memory_bytes() <= MOST, "{} bytes", maplet.memory_bytes());
    for most in [0, 100, 1000, 10_000] {
        let filter = default_layout().growing(0, most);
        assert!(filter.memory_bytes() <= MOST, "{most}: {}", filter.memory_bytes());
    }
}

/// A size that no memory can hold is refused before anything is done. (A system that promises more memory than it has
/// would grant less than this.)
#[test]
fn no_memory_for_what_is_reserved() {
    /// A terabyte. On 32 bits it is reduced so far that this many items need more than there is, too.
    const MOST: usize = 1 << (usize::BITS - 24);
    let filter = GrowableCuckooFilter::new();
    let (slots, live) = (filter.slots(), live_bytes());
    let refused = with_little_memory(MOST, || filter.reserve(4 * MOST));
    assert!(
        matches!(refused, Err(Error::OutOfMemory { bytes, .. }) if bytes > MOST),
        "{refused:?}"
    );
    assert_eq!((filter.slots(), live_bytes()), (slots, live));
}

/// An error names the memory of the table for which there is none: all of it is requested at once, with what follows
/// it. Nothing of what was allocated is kept.
#[test]
fn the_memory_that_is_missing_is_named() {
    for (kind, capacity) in Kind::all(default_layout(), |_| Vec::new())
        .into_iter()
        .flat_map(|kind| [1000, 100_000, 1_000_000].map(|capacity| (kind, capacity)))
    {
        let build = || kind.try_build(capacity, 3 * capacity / if kind.grows { 1 } else { 3 });
        let subject = build().expect("memory for a test");
        let table = subject.slots() / kind.layout.slots * 8;
        // Including what growth has allocated and not reached yet, or what a snapshot has besides its words.
        let tables = table..=table + table / 64 + (16 << 10);
        let (bytes, live) = (subject.bytes(), live_bytes());
        let make = || [build(), subject.restored(&bytes), subject.read(&mut &bytes[..])];
        // Assertions are outside of this, where there is memory for their messages.
        let ([built, restored, read], taken, merged) = with_little_memory(table - 1, || {
            (make().map(Result::err), subject.snapshot().err(), subject.merge(&*subject).err())
        });
        let is_table = matches!(built, Some(Error::OutOfMemory { bytes, .. }) if bytes == table);
        assert!(is_table, "{built:?}");
        for refused in [restored, read, taken, merged] {
            let Some(Error::OutOfMemory { bytes, .. }) = refused else { panic!("{refused:?}") };
            assert!(tables.contains(&bytes), "{bytes}, not {tables:?}: {subject:?}");
        }
        assert_eq!(live_bytes(), live, "nothing is kept");
        // In a small table, the stripes are the largest request.
        let most = (*tables.end()).max(32 << 10);
        let (made, taken) = with_little_memory(most, || (make(), subject.snapshot()));
        assert!(made.iter().all(Result::is_ok) && taken.is_ok(), "no request is larger");
    }
}

/// An update of values keeps no memory, whatever it does with the values.
#[test]
fn an_update_of_values_keeps_no_memory() {
    let maplets = Kind::each(default_layout(), 8).into_iter().filter(|kind| kind.value_bits > 0);
    for subject in maplets.map(|kind| (kind.items(1, 400), kind.build(500, 1000))) {
        let (items, subject) = subject;
        subject.insert_many(&items).unwrap();
        let besides = || live_bytes() - subject.heap_bytes().cast_signed();
        let before = besides();
        let others: [&dyn Fn(u32) -> Option<u32>; 3] =
            [&|value| Some(value ^ 1), &|_| Some(256), &|_| None];
        let updated = others.map(|other| {
            let updated = subject.try_update_values(other);
            assert_eq!(besides(), before, "{subject:?}");
            updated
        });
        assert_eq!(updated, [Ok(0), Err(Error::ValueTooLarge), Ok(400)]);
    }
}
