//! Snapshots take the memory of one table. A snapshot that promises more bytes than it has takes none.

use std::collections::BTreeSet;
use std::io::{self, Read};

use coucal::{AnyLayout, Error, Fixed, Growable, Prehashed, Snapshot, Storage};
use coucal_reference::format::{HEADER, PAIR, at, number, put, seal, size};

use super::allocator::{counted, peak_of};
use crate::common::{Filter, HASHER, Kind, LEAST_BUCKETS, Layout, default_layout, hashes, usually};

of_each_layout!(a_snapshot_takes_the_memory_of_one_table);
of_each_growing_layout!(a_restored_filter_takes_the_memory_of_the_bytes_read);

/// While a snapshot is taken, it needs twice as many bytes as the words in use. A filter that is restored from it, or
/// from bytes, needs that many once.
fn a_snapshot_takes_the_memory_of_one_table(layout: Layout) {
    /// The guards of all stripes, and counts while they are restored.
    const LITTLE: usize = 128 << 10;

    for kind in Kind::all(layout, |_| Vec::new()) {
        // A table of 2 MB or more: the other memory of a snapshot is little in comparison.
        let capacity = usually(50_000, 200_000) * layout.slots;
        let subject = kind.build(capacity / 2, capacity);
        if kind.grows {
            subject.reserve(capacity * 2 / 3).expect("memory for a test");
        }
        subject.insert_many(&kind.items(79, 1000)).expect("few items");
        let words = subject.slots() / layout.slots * 8;
        let besides = subject.heap_bytes() + size_of_val(&*subject) - words + LITTLE;
        let (snapshot, peak) = peak_of(|| subject.snapshot().expect("memory for a test"));
        let most = 2 * words + besides;
        assert!((2 * words..most).contains(&peak), "{peak} bytes for {words} of words");

        let bytes = snapshot.as_bytes();
        let ways: [(&dyn Fn() -> _, usize); 3] = [
            (&|| subject.of_snapshot(&snapshot), words),
            (&|| subject.restored(bytes), words),
            (&|| subject.read(&mut &*bytes), 2 * bytes.len()),
        ];
        for (restore, most) in ways {
            let (restored, peak) = peak_of(restore);
            assert!(peak <= most + besides, "{peak} bytes, not {most}: {subject:?}");
            assert_eq!(restored.expect("memory").len(), 1000);
        }
    }
}

/// A filter may be allowed to grow to any size: a filter that is restored from its snapshot, and restoring it, take
/// what SECURITY.md says.
fn a_restored_filter_takes_the_memory_of_the_bytes_read(layout: Layout) {
    for buckets in [LEAST_BUCKETS, 100, 2000, 4098, 1 << 17] {
        let slots = buckets * layout.slots;
        let first = (slots as f64 * 0.9 * layout.target()) as usize;
        let filter = layout.growing_filters().capacity(first).build().expect("memory for a test");
        let max_capacity = filter.max_capacity();
        assert!(max_capacity > 20 * slots, "{max_capacity} for {slots}");
        let items: Vec<u64> = hashes(83).take(buckets / 2).collect();
        filter.insert_many(Prehashed::slice(&items)).expect("few items");
        let bytes = filter.snapshot().expect("memory for a test").into_bytes();
        drop(filter);

        let read = bytes.len();
        let check = |what, restore: &dyn Fn() -> Filter<Growable<AnyLayout>>| {
            let ((restored, kept), peak) = peak_of(|| counted(restore));
            let most = read + read / 16 + (56 << 10);
            assert!(kept <= most, "{what}: {kept} bytes are kept, not {most}, of {read}");
            assert_eq!(restored.memory_bytes(), size_of_val(&restored) + kept);
            let most = most + if what == "from_bytes" { 0 } else { read } + (32 << 10);
            assert!(peak <= most, "{what}: a peak of {peak} bytes, not {most}, of {read}");
            assert!(items.iter().all(|&item| restored.contains(&Prehashed(item))));
            assert_eq!((restored.len(), restored.max_capacity()), (items.len(), max_capacity));
        };
        check("from_bytes", &|| Filter::from_bytes(&bytes, HASHER).expect("memory"));
        check("restore", &|| Filter::restore(&bytes[..], HASHER).expect("memory"));
        let snapshot = || Snapshot::read_from(&bytes[..]).expect("memory");
        check("from_snapshot", &|| Filter::from_snapshot(&snapshot(), HASHER).expect("memory"));
    }
}

/// Lists double their memory: one entry more than a power of two takes the most for each.
#[test]
fn a_restored_stash_takes_the_memory_that_is_said() {
    const ENTRIES: usize = (1 << 14) + 1;
    const COPIES: u32 = 39;

    let filter = default_layout().filter(60_000);
    let mut bytes = filter.snapshot().expect("memory for a test").into_bytes();
    let start = bytes.len() - 8;
    let mut entries = BTreeSet::new();
    let mut items = hashes(89).map(Prehashed);
    while entries.len() < ENTRIES {
        filter.clear();
        for item in items.by_ref().take(500) {
            (0..9).for_each(|_| filter.insert(&item).expect("room"));
        }
        let stashing = filter.snapshot().expect("memory for a test").into_bytes();
        for entry in stashing[start..stashing.len() - 8].chunks_exact(PAIR) {
            let rest = number(entry, 8) & ((1 << COPIES) - 1) | 1 << COPIES;
            entries.insert([number(entry, 0), rest]);
        }
    }
    bytes.truncate(start);
    let numbers = entries.iter().take(ENTRIES).flatten();
    bytes.extend(numbers.flat_map(|number| number.to_le_bytes()));
    bytes.extend([0; 8]);
    for at in [at::STASHED, at::COPIES] {
        put(&mut bytes, at, ENTRIES as u64);
    }
    seal(&mut bytes);

    let restore = || Filter::<Fixed<AnyLayout>>::from_bytes(&bytes, HASHER).expect("a snapshot");
    let ((restored, kept), peak) = peak_of(|| counted(restore));
    assert_eq!(restored.len(), ENTRIES);
    let table = start - HEADER;
    let most = |of_entry| table + table / 16 + (56 << 10) + of_entry * ENTRIES + (32 << 10);
    assert!(kept <= most(42), "{kept} bytes are kept, not {}", most(42));
    assert!(peak <= most(42 + 40), "a peak of {peak} bytes, not {}", most(42 + 40));
}

/// The bytes that are requested before they are read, and some bytes for all that is not promised exactly.
const BUFFER: usize = (8 << 10) + 256;

/// A list that is deserialized takes the memory of a reader, whatever length it states.
#[cfg(feature = "serde")]
#[test]
fn a_list_takes_the_memory_of_what_was_read() {
    // The head of a list of 2^63 - 1 elements, and one of them.
    let endless = [0x9b, 0x7f, 255, 255, 255, 255, 255, 255, 255, 7];
    let read = || ciborium::from_reader::<Snapshot, _>(&endless[..]).is_err();
    let (is_error, peak) = peak_of(read);
    assert!(is_error && peak <= BUFFER, "{peak} bytes");
}

/// Returns the header of an empty filter, with some numbers replaced, and a correct checksum.
fn header<L: Storage>(filter: &Filter<L>, sizes: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = filter.snapshot().unwrap().into_bytes();
    for &(at, size) in sizes {
        bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
    }
    bytes.truncate(HEADER);
    seal(&mut bytes);
    bytes
}

/// Returns the header of a filter of fixed size that has 17 terabytes of words.
fn terabytes() -> Vec<u8> {
    let filter = default_layout().filter(0);
    let items = 1_u64 << 43;
    let words = size(items, default_layout()).expect("fewer than the most");
    let sizes = [at::FIRST, at::MAX_BUCKETS, at::WORDS].map(|at| (at, words));
    let capacities = [at::CAPACITY, at::MAX_CAPACITY].map(|at| (at, items));
    header(&filter, &[&sizes[..], &capacities].concat())
}

/// A header that promises terabytes, followed by a few bytes.
#[test]
fn memory_follows_what_is_read() {
    if usize::BITS < 64 {
        return; // not on 32 bits, where sizes are others
    }
    let header = terabytes();
    for more in
        [0, 1, 8, 1000, 16_383, 16_384, 16_385, 65_536, 131_072, 1_000_000, 10_000_000, 40_000_001]
    {
        let restore = || {
            let reader = (&header[..]).chain(io::repeat(0).take(more));
            Filter::<Fixed<AnyLayout>>::restore(reader, HASHER).map(drop)
        };
        let (restored, peak) = peak_of(restore);
        assert!(matches!(restored, Err(Error::Truncated)), "{restored:?}");
        let read = header.len() + more as usize;
        assert!(peak <= 2 * read + BUFFER, "{peak} bytes for {read} that were read");
        if more > 1_000_000 {
            assert!(peak > read / 2, "{peak} bytes: nothing is counted");
        }
    }
}

/// Sizes that no table has cost nothing, and neither does the size to which a table may grow.
#[test]
fn no_memory_for_promises() {
    let filter = default_layout().filter(0);
    let words = 1 << 60;
    let impossible =
        header(&filter, &[(at::FIRST, words), (at::MAX_BUCKETS, words), (at::WORDS, words)]);
    let restore = || Filter::<Fixed<AnyLayout>>::from_bytes(&impossible, HASHER).map(drop);
    let (restored, peak) = peak_of(restore);
    assert!(
        matches!(restored, Err(Error::ImpossibleTable { words: 0x1000_0000_0000_0000, .. })),
        "{restored:?}"
    );
    assert!(peak <= 512, "{peak} bytes, for the state of checksums");

    // It may grow to 128 TB; but the words that it has now do not arrive.
    let builder = Layout::named("Fp32x2").growing_filters();
    let filter = builder.capacity(1).max_capacity(10).build().unwrap();
    let sizes = [(at::MAX_BUCKETS, (1 << 43) - (1 << 20)), (at::MAX_CAPACITY, 1 << 42)];
    let grows = header(&filter, &sizes);
    for bytes in [grows.clone(), [&grows[..], &[0; 32 * 8]].concat()] {
        let restore = || Filter::<Growable<AnyLayout>>::from_bytes(&bytes, HASHER).map(drop);
        let (restored, peak) = peak_of(restore);
        assert!(matches!(restored, Err(Error::Truncated)), "{restored:?}");
        assert!(peak <= 4096 + 512, "{peak} bytes");
    }
    // A snapshot that is not restored needs no more than its words, in pieces of 4 KiB.
    let mut whole = [&grows[..], &[0; 33 * 8]].concat();
    seal(&mut whole);
    let (snapshot, peak) = peak_of(|| Snapshot::from_bytes(&whole).unwrap());
    assert!(snapshot.is_empty());
    assert!(peak <= 4096 + 512, "{peak} bytes");
}
