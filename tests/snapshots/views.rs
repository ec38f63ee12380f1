//! Views of the bytes of snapshots: they say what the filter said, and no bytes make them panic.

use coucal::{CuckooFilterView, CuckooMapletView, Error, StableHashBuilder};
use coucal_reference::format::{HEADER, Value};

use crate::common::{HASHER, Item, Kind, Layout, Subject, default_layout, hashes, usually, widths};

of_each_layout!(views);

/// Also with entries of several lengths in the stash, and with doubled ones.
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

/// With a third of the items, and copies of some that find no room in their buckets, at each alignment.
fn is_viewed(subject: &dyn Subject, items: usize) {
    let top = (1_u64 << subject.value_bits()) - 1;
    let item =
        |hash: u64, at: usize| -> Item { (hash, (((hash >> 7) + at as u64) & top) as Value) };
    // Those that are inserted, and others.
    let hashes: Vec<u64> = hashes(17).take(items + usually(1000, 100_000)).collect();
    for (at, &hash) in hashes[..items].iter().enumerate() {
        let copies = if at % 97 == 5 { 20 } else { usize::from(at % 3 == 0) };
        for copy in 0..copies {
            // In a small table there may be no room for all of them.
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

/// A trusted view of damaged words and entries gives some answer; one that is checked says that they are.
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

/// What is said of itself.
#[test]
fn figures() {
    let filter = default_layout().growing(0, 10_000);
    (0..5000).for_each(|item| filter.insert(&item).unwrap());
    let view = CuckooFilterView::from_bytes(filter.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.is_empty(), view.layout_name()), (5000, false, "Fp16x4"));
    assert!((view.false_positive_rate() / filter.false_positive_rate() - 1.0).abs() < 1e-9);
    let printed = format!("{view:?}");
    assert!(printed.contains("layout: \"Fp16x4\", len: 5000"), "{printed}");
    let bytes = view.as_bytes().to_vec();
    assert_eq!(view.clone().into_inner().as_bytes(), bytes);

    let maplet = default_layout().maplet(100, 6);
    maplet.insert("egg", 7).unwrap();
    let view = CuckooMapletView::from_bytes(maplet.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((view.len(), view.value_bits()), (1, 6));
    assert!((view.false_positive_rate() / maplet.false_positive_rate() - 1.0).abs() < 1e-9);
}

/// What a view refuses, also one that trusts the bytes; `hostile` has more for one that does not.
#[test]
fn what_is_no_view() {
    let [filter, maplet] = [0, 3].map(|value_bits| {
        Kind { layout: default_layout(), grows: false, value_bits }.build(0, 1000)
    });
    let (bytes, of_maplet) = (filter.bytes(), maplet.bytes());
    let other = StableHashBuilder::new(8);
    for is_trusted in [false, true] {
        let error = |bytes: &[u8]| filter.viewed(bytes, is_trusted, &[]).err();
        assert_eq!(error(&bytes), None);
        let other = Error::OtherView { name: "CuckooMaplet", view: "CuckooMapletView" };
        assert_eq!(error(&of_maplet), Some(other));
        let other = Error::OtherView { name: "CuckooFilter", view: "CuckooFilterView" };
        assert_eq!(maplet.viewed(&bytes, is_trusted, &[]).err(), Some(other));
        assert_eq!(error(&[&bytes[..], &[0; 3]].concat()), Some(Error::TrailingBytes { bytes: 3 }));
        assert_eq!(error(b"something else"), Some(Error::NotASnapshot));
        for len in [8, HEADER - 1, HEADER, bytes.len() - 1] {
            assert_eq!(error(&bytes[..len]), Some(Error::Truncated), "{len} bytes");
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
