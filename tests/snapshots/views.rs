//! Views of the bytes of snapshots: they answer as the filter did, and no bytes make them panic.

use coucal::{CuckooFilterView, CuckooMapletView, Error, StableHashBuilder};
use coucal_reference::format::{HEADER, PAIR, ReadError, Value, at, forged, number, put};

use crate::common::{HASHER, Item, Kind, Layout, Subject, default_layout, hashes, usually, widths};

of_each_layout! {
    views
    trusted_headers
}
of_each_growing_layout!(stashed_entries_of_several_lengths);

/// Also with doubled entries.
fn views(layout: Layout) {
    for kind in Kind::all(layout, widths) {
        let sizes: &[_] = match (kind.value_bits, kind.grows) {
            (0, false) => &[(0, 0), (0, 10), (0, 3000)],
            (0, true) => &[(0, 10), (1000, 3000), (10, 10_000)],
            (_, false) => &[(0, 1000)],
            (_, true) => &[(100, 3000)],
        };
        for &(first, items) in sizes {
            is_viewed(&*kind.build(first, items), items);
        }
    }
}

/// Checks views with a third of the items, and copies of some for which their buckets have no slots, at each alignment.
fn is_viewed(subject: &dyn Subject, items: usize) {
    let top = (1_u64 << subject.value_bits()) - 1;
    let item =
        |hash: u64, at: usize| -> Item { (hash, (((hash >> 7) + at as u64) & top) as Value) };
    // Inserted items, and others.
    let hashes: Vec<u64> = hashes(17).take(items + usually(1000, 100_000)).collect();
    for (at, &hash) in hashes[..items].iter().enumerate() {
        let copies = if at % 97 == 5 { 20 } else { usize::from(at % 3 == 0) };
        for copy in 0..copies {
            // A small table may be full before all of them are inserted.
            drop(subject.insert(item(hash, copy / 2)));
        }
    }
    assert!(items < 3000 || subject.stashed().0 > 10, "{:?}", subject.stashed());
    let bytes = subject.bytes();
    for offset in 0..if items < 100 { 8 } else { 2 } {
        let moved = [&vec![0; offset][..], &bytes].concat();
        subject.assert_viewed(&moved[offset..], &hashes);
    }
    each_damage_is_looked_at(subject, &bytes, &hashes[..100]);
}

/// Filters that began with more buckets know more of their items. They are merged into one whose buckets are full of
/// copies: so the entries of each are stashed, as long as they were.
fn stashed_entries_of_several_lengths(layout: Layout) {
    for value_bits in [0, 2] {
        let kind = Kind { layout, grows: true, value_bits };
        let hot: Vec<u64> = hashes(23).take(5).collect();
        let of_parts: Vec<u64> = hashes(24).take(3).collect();
        let insert = |subject: &dyn Subject, items: &[u64], value| {
            for &hash in items {
                (0..20).for_each(|_| subject.insert((hash, value & kind.top())).expect("room"));
            }
        };
        let whole = kind.build(1, 100_000);
        insert(&*whole, &hot, 0);
        for part in 0..3 {
            let other = kind.build((28 << part) * layout.slots, 100_000);
            insert(&*other, &hot, part);
            // Some of these items have entries of one length, others of two lengths.
            insert(&*other, &of_parts[part as usize..], part);
            whole.merge(&*other).expect("room");
        }
        let bytes = whole.bytes();
        let stash = &bytes[HEADER + 8 * number(&bytes, at::WORDS) as usize..];
        let stashed = stash.chunks(PAIR).take(number(&bytes, at::STASHED) as usize);
        let mut lengths: Vec<_> = stashed.map(|entry| number(entry, 8) >> 32 & 127).collect();
        lengths.dedup();
        assert!(lengths.len() >= 4, "{lengths:?}: {whole:?}");
        // A maplet returns each stashed value once.
        let least = if value_bits > 0 { 3 } else { 80 };
        assert!(hot.iter().all(|&hash| whole.values(hash).len() >= least), "{whole:?}");
        let others: Vec<u64> = hashes(25).take(1000).collect();
        whole.assert_viewed(&bytes, &[hot, of_parts, others].concat());
    }
}

/// A trusted view of damaged words and entries gives some answer; a checked view reports the damage.
fn each_damage_is_looked_at(subject: &dyn Subject, bytes: &[u8], hashes: &[u64]) {
    for (damage, &byte) in [0xff, 1, 0x80, 0x55].iter().enumerate() {
        let mut damaged = bytes.to_vec();
        let end = bytes.len() - 8;
        for at in (HEADER + damage..end).step_by(1 + damage) {
            damaged[at] ^= byte;
        }
        let is_damaged = damaged != bytes;
        assert_eq!(subject.viewed(&damaged, false, hashes).is_err(), is_damaged);
        assert!(subject.viewed(&damaged, true, hashes).is_ok());
    }
}

/// A trusted view of a header with a correct checksum gives some answer, or an error that there is no such table: for
/// sizes in which nothing could be looked up, and for more doubled copies than there are copies.
fn trusted_headers(layout: Layout) {
    for kind in Kind::each(layout, 2) {
        let subject = kind.build(10, 100);
        let hashes: Vec<u64> = hashes(29).take(40).collect();
        for &hash in &hashes[..10] {
            subject.insert((hash, 0)).expect("room");
        }
        (0..20).for_each(|_| subject.insert((hashes[0], 0)).expect("room"));
        let bytes = subject.bytes();
        let viewed = |field: usize, value: u64| {
            let changed = forged(&bytes, |bytes| put(bytes, field, value));
            subject.viewed(&changed, true, &hashes).err().map(ReadError::from)
        };
        let impossible = |words| Some(ReadError::ImpossibleTable { words });
        let words = number(&bytes, at::WORDS);
        let fields = (at::FIRST..at::HASHER).step_by(8);
        for field in fields.chain([at::STASHED, at::COPIES, at::DOUBLED_VALUES]) {
            let old = number(&bytes, field);
            let near = (0..4).flat_map(|by| [old.wrapping_add(by), old.wrapping_sub(by)]);
            for value in near.chain((0..64).flat_map(|bit| [1 << bit, u64::MAX >> bit])) {
                drop(viewed(field, value));
            }
        }
        for size in [0, 1] {
            assert_eq!(viewed(at::FIRST, size), impossible(words), "{kind:?}");
            assert_eq!(viewed(at::WORDS, size), impossible(size), "{kind:?}");
        }
        let entries = number(&bytes, at::OCCUPIED) + number(&bytes, at::COPIES);
        assert_eq!(viewed(at::DOUBLED, entries), None, "{kind:?}");
        assert_eq!(viewed(at::DOUBLED, entries + 1), impossible(words), "{kind:?}");
    }
}

/// The figures of a view.
#[test]
fn figures() {
    let filter = default_layout().growing(0, 10_000);
    let view = CuckooFilterView::from_bytes(filter.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.is_empty()), (0, true));
    (0..5000).for_each(|item| filter.insert(&item).unwrap());
    let view = CuckooFilterView::from_bytes(filter.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.is_empty(), view.layout_name()), (5000, false, "Fp16x4"));
    assert!((view.false_positive_rate() / filter.false_positive_rate() - 1.0).abs() < 1e-9);
    let printed = format!("{view:?}");
    assert!(printed.contains("layout: \"Fp16x4\", len: 5000"), "{printed}");
    let bytes = filter.snapshot().unwrap().into_bytes();
    assert_eq!(view.as_bytes(), bytes);
    assert_eq!(view.clone().into_inner().as_bytes(), bytes);

    let maplet = Layout::named("Fp21x3").maplet(100, 6);
    let view = CuckooMapletView::from_bytes(maplet.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.is_empty()), (0, true));
    maplet.insert("egg", 7).unwrap();
    let view = CuckooMapletView::from_bytes(maplet.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.is_empty(), view.value_bits()), (1, false, 6));
    assert!((view.false_positive_rate() / maplet.false_positive_rate() - 1.0).abs() < 1e-9);
    let printed = format!("{view:?}");
    assert!(printed.contains("layout: \"Fp21x3\", len: 1"), "{printed}");
    let bytes = maplet.snapshot().unwrap().into_bytes();
    assert_eq!((view.layout_name(), view.as_bytes()), ("Fp21x3", &bytes[..]));
    assert_eq!(view.into_inner().as_bytes(), bytes);
    // In a table of fixed size, the rate follows from the number of entries, including those in the stash.
    (0..32).for_each(|value| maplet.insert("egg", value).unwrap());
    assert!(maplet.stats().stashed_entries > 20, "{:?}", maplet.stats());
    let view = CuckooMapletView::from_bytes(maplet.snapshot().unwrap(), HASHER).unwrap();
    assert!((view.false_positive_rate() / maplet.false_positive_rate() - 1.0).abs() < 1e-9);
}

/// Bytes that a view refuses, also one that trusts them; `hostile` has more for one that does not.
#[test]
fn bytes_that_are_not_a_view_are_an_error() {
    let [filter, maplet] = [0, 3].map(|value_bits| {
        Kind { layout: default_layout(), grows: false, value_bits }.build(0, 1000)
    });
    let (bytes, of_maplet) = (filter.bytes(), maplet.bytes());
    let other = StableHashBuilder::new(8);
    for is_trusted in [false, true] {
        let viewed =
            |subject: &dyn Subject, bytes: &[u8]| subject.viewed(bytes, is_trusted, &[]).err();
        let error = |bytes: &[u8]| viewed(&*filter, bytes).map(ReadError::from);
        assert_eq!(error(&bytes), None);
        let other_view = |subject: &dyn Subject, bytes: &[u8]| match viewed(subject, bytes) {
            Some(Error::OtherView { name, view, .. }) => (name, view),
            other => panic!("{other:?}"),
        };
        assert_eq!(other_view(&*filter, &of_maplet), ("CuckooMaplet", "CuckooMapletView"));
        assert_eq!(other_view(&*maplet, &bytes), ("CuckooFilter", "CuckooFilterView"));
        assert_eq!(
            error(&[&bytes[..], &[0; 3]].concat()),
            Some(ReadError::TrailingBytes { bytes: 3 })
        );
        assert_eq!(error(b"something else"), Some(ReadError::NotASnapshot));
        for len in [8, HEADER - 1, HEADER, bytes.len() - 1] {
            assert_eq!(error(&bytes[..len]), Some(ReadError::Truncated), "{len} bytes");
        }
        for at in 0..HEADER {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(error(&damaged).is_some(), "byte {at}");
        }
    }
    let trusted = CuckooFilterView::from_trusted_bytes(&bytes[..], other);
    assert_eq!(trusted.unwrap_err(), Error::OtherHasher);
}
