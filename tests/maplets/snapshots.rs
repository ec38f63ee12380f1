//! Snapshots of maplets and what is made of them. What they have in common with those of filters is tested
//! there: here is what values change.

use std::fs;
use std::path::PathBuf;

use coucal::{AnyLayout, Error, Growable, Prehashed, Snapshot, StableHashBuilder, Storage};
use coucal_reference::format::{HEADER, at, number, seal};

use super::{candidates, largest, widths, widths_that_grow};
use crate::common::{Filter, HASHER, Layout, Maplet, default_layout, hashes};

of_each_layout! {
    there_and_back
    golden_files
    the_union_of_both
    hostile_headers
    slots_without_a_fingerprint
}

of_each_growing_layout! {
    there_and_back_of_what_grows
    golden_files_of_what_grows
    the_union_of_two_that_grow
    hostile_headers_of_what_grows
    slots_without_a_core
}

fn value(hash: u64, bits: u32) -> u32 {
    (hash >> 7) as u32 & largest(bits)
}

fn fill<L: Storage>(maplet: &Maplet<L>, seed: u64, pairs: usize) {
    for hash in hashes(seed).take(pairs) {
        maplet.insert(&Prehashed(hash), value(hash, maplet.value_bits())).expect("room for a test");
    }
}

fn bytes_of<L: Storage>(maplet: &Maplet<L>) -> Vec<u8> {
    maplet.snapshot().expect("memory for a test").to_bytes()
}

/// What is restored is what was saved.
fn comes_back<L: Storage>(maplet: &Maplet<L>, pairs: usize) {
    fill(maplet, 3, pairs);
    for hash in hashes(3).take(pairs).step_by(3) {
        assert!(maplet.remove(&Prehashed(hash), value(hash, maplet.value_bits())));
    }
    let snapshot = maplet.snapshot().unwrap();
    assert_eq!((snapshot.len(), snapshot.value_bits()), (maplet.len(), Some(maplet.value_bits())));
    assert!(format!("{snapshot:?}").contains(&format!("value_bits: {}", maplet.value_bits())));
    let bytes = snapshot.to_bytes();
    let restored = Maplet::<L>::from_bytes(&bytes, HASHER).unwrap();
    let by_reader = Maplet::<L>::restore(&bytes[..], HASHER).unwrap();
    let by_snapshot = Maplet::<L>::from_snapshot(snapshot, HASHER).unwrap();
    for restored in [&restored, &by_reader, &by_snapshot] {
        assert_eq!((restored.len(), restored.value_bits()), (maplet.len(), maplet.value_bits()));
        assert_eq!(restored.capacity(), maplet.capacity());
        for hash in hashes(3).take(2 * pairs) {
            assert_eq!(candidates(restored, hash), candidates(maplet, hash));
        }
        assert_eq!(bytes_of(restored), bytes);
    }
    // What was read can be used.
    for hash in hashes(3).take(pairs).skip(1).step_by(3) {
        assert!(restored.remove(&Prehashed(hash), value(hash, maplet.value_bits())));
    }
}

fn there_and_back(layout: Layout) {
    for bits in widths(layout) {
        for pairs in [0, 10, 3000] {
            comes_back(&layout.maplet(pairs, bits), pairs);
        }
    }
}

fn there_and_back_of_what_grows(layout: Layout) {
    for bits in widths_that_grow(layout) {
        for pairs in [0, 10, 3000] {
            comes_back(&layout.growing_maplet(pairs / 2, pairs, bits), pairs);
        }
    }
}

fn golden<L: Storage>(name: &str, new: impl FnOnce() -> Maplet<L>) -> Maplet<L> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("COUCAL_WRITE_GOLDEN").is_some() {
        fs::write(&path, bytes_of(&new())).unwrap();
    }
    let bytes = fs::read(path).unwrap();
    let maplet = Maplet::<L>::from_bytes(&bytes, HASHER).unwrap();
    assert_eq!(bytes_of(&maplet), bytes);
    maplet
}

/// Every second key has two values, and one has a value more often than two buckets have slots.
fn fill_golden<L: Storage>(maplet: &Maplet<L>, keys: u64) {
    for key in 0..keys {
        maplet.insert(&key, 1).unwrap();
        if key % 2 == 0 {
            maplet.insert(&key, largest(maplet.value_bits())).unwrap();
        }
    }
    (0..COPIES).for_each(|_| maplet.insert(&keys, 1).unwrap());
}

/// Of one pair: for some of them its buckets have no room.
const COPIES: u64 = 20;

fn holds_golden<L: Storage>(maplet: &Maplet<L>, keys: u64) {
    assert_eq!(maplet.len() as u64, keys + keys.div_ceil(2) + COPIES);
    assert!((0..COPIES).all(|_| maplet.remove(&keys, 1)));
    for key in 0..keys {
        assert!(maplet.remove(&key, 1));
        assert!(key % 2 == 1 || maplet.remove(&key, largest(maplet.value_bits())));
    }
    assert!(maplet.is_empty());
}

fn golden_files(layout: Layout) {
    let maplet = golden(&format!("{}-maplet.coucal", layout.name), || {
        let maplet = layout.maplet(60, 3);
        fill_golden(&maplet, 20);
        maplet
    });
    assert_eq!((maplet.value_bits(), maplet.capacity()), (3, 60));
    holds_golden(&maplet, 20);
}

/// In the second level.
fn golden_files_of_what_grows(layout: Layout) {
    let keys = 24 * layout.slots as u64;
    let maplet =
        golden::<Growable<AnyLayout>>(&format!("{}-maplet-grown.coucal", layout.name), || {
            let maplet = layout.growing_maplet(1, 90 * layout.slots, 2);
            fill_golden(&maplet, keys);
            maplet
        });
    assert_eq!((maplet.value_bits(), maplet.max_capacity()), (2, 90 * layout.slots));
    assert!((32 * layout.slots + 1..64 * layout.slots).contains(&maplet.slots()), "{maplet:?}");
    holds_golden(&maplet, keys);
}

/// In a table whose splits have doubled entries: more often doubled than entries had further bits at first.
#[test]
fn a_golden_file_with_doubled_entries() {
    let layout = Layout::named("Fp12x5");
    let keys = 500 * layout.slots as u64;
    let maplet = golden::<Growable<AnyLayout>>("Fp12x5-maplet-doubled.coucal", || {
        let maplet = layout.growing_maplet(1, 600 * layout.slots, 2);
        for key in 0..keys {
            maplet.insert(&key, key as u32 % 4).unwrap();
        }
        maplet
    });
    let bytes = bytes_of(&maplet);
    assert!(number(&bytes, at::DOUBLED) > 0);
    assert_eq!(number(&bytes, at::OCCUPIED) - number(&bytes, at::DOUBLED), keys);
    assert_eq!(maplet.len() as u64, keys);
    for key in 0..keys {
        assert!(maplet.get(&key).any(|value| value == key as u32 % 4));
    }
    for key in 0..keys {
        assert!(maplet.remove(&key, key as u32 % 4));
    }
    assert!(maplet.is_empty());
}

/// The example of docs/format.md, which is made by these lines.
#[test]
fn the_example_of_the_page() {
    let maplet = default_layout().maplet(9, 6);
    maplet.insert("egg", 7).unwrap();
    maplet.insert("nest", 7).unwrap();
    maplet.insert("nest", 9).unwrap();
    crate::common::is_on_the_page("<!-- maplet example -->", &bytes_of(&maplet));
}

fn check_union<L: Storage>(one: &Maplet<L>, other: &Maplet<L>, pairs: usize) {
    fill(one, 1, pairs / 3);
    fill(other, 2, pairs / 3);
    fill(other, 1, pairs / 10);
    let all = |maplet: &Maplet<L>, hash| candidates(maplet, hash);
    let keys = || hashes(1).take(pairs).chain(hashes(2).take(pairs));
    let expected: Vec<Vec<u32>> = keys()
        .map(|hash| {
            let mut values = [all(one, hash), all(other, hash)].concat();
            values.sort_unstable();
            values
        })
        .collect();
    let len = one.len() + other.len();
    one.merge(other).unwrap();
    assert_eq!(one.len(), len);
    assert!(keys().map(|hash| all(one, hash)).eq(expected));
}

fn the_union_of_both(layout: Layout) {
    for bits in widths(layout) {
        let [one, other] = [0; 2].map(|_| layout.maplet(2000, bits));
        check_union(&one, &other, 2000);
        // All of it, or nothing.
        let [one, other] = [0; 2].map(|_| layout.maplet(0, bits));
        fill(&one, 1, layout.slots + 1);
        fill(&other, 2, layout.slots);
        let before = bytes_of(&one);
        assert_eq!(one.merge(&other), Err(Error::Full));
        assert_eq!(bytes_of(&one), before);
    }
    let [one, other] = [1, 2].map(|bits| layout.maplet(100, bits));
    let error = Error::OtherValueBits { value_bits: 1, other: 2 };
    assert_eq!(one.merge(&other), Err(error));
    assert_eq!(other.merge(&layout.maplet(100, 2)), Ok(()));
}

/// The one grows while it takes in the other, which has grown further.
fn the_union_of_two_that_grow(layout: Layout) {
    for bits in widths_that_grow(layout) {
        let [one, other] = [0; 2].map(|_| layout.growing_maplet(400, 2000, bits));
        check_union(&one, &other, 2000);
    }
}

/// These bytes with a change, and with both checksums as they should be then.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    seal(&mut bytes);
    bytes
}

/// What reading says, by each way of reading: all say the same.
fn error<L: Storage>(bytes: &[u8]) -> Error {
    let error = Maplet::<L>::from_bytes(bytes, HASHER).unwrap_err();
    let by_reader = Maplet::<L>::restore(bytes, HASHER).unwrap_err();
    assert_eq!(format!("{by_reader:?}"), format!("{error:?}"));
    error
}

macro_rules! assert_error {
    ($error:expr, $pattern:pat) => {
        let error = $error;
        assert!(matches!(error, $pattern), "{error:?}");
    };
}

/// Cut off anywhere, with any bit changed, with value bits that the layout does not store, under other versions, and
/// as a filter.
fn check_header<L: Storage>(bytes: &[u8], longest: u32) {
    for len in 0..bytes.len() {
        assert_error!(error::<L>(&bytes[..len]), Error::Truncated);
    }
    let mut damaged = bytes.to_vec();
    for bit in 8 * at::KIND..8 * bytes.len() {
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_error!(error::<L>(&damaged), Error::Damaged);
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
    for bits in [0, longest + 1, 64, 1 << 16, u32::MAX] {
        let other = forged(bytes, |bytes| {
            bytes[at::VALUE_BITS..at::TARGET_LOAD].copy_from_slice(&bits.to_le_bytes());
        });
        assert_error!(error::<L>(&other), Error::ImpossibleTable { .. });
    }
    for version in [0, 2, 3] {
        let other = forged(bytes, |bytes| bytes[at::VERSION] = version);
        let error = error::<L>(&other);
        assert!(
            matches!(error, Error::UnknownVersion { version: found } if found == u32::from(version))
        );
    }
    let as_filter = forged(bytes, |bytes| bytes[at::KIND] &= 1);
    assert_error!(error::<L>(&as_filter), Error::ImpossibleTable { .. });
    let unknown = forged(bytes, |bytes| bytes[at::KIND] += 2);
    assert_error!(error::<L>(&unknown), Error::UnknownKind { kind: 4 | 5 });
    let more = [bytes, b"more"].concat();
    let trailing = Maplet::<L>::from_bytes(&more, HASHER).unwrap_err();
    assert_error!(trailing, Error::TrailingBytes { bytes: 4 });
    let other = Maplet::<L>::from_bytes(bytes, StableHashBuilder::new(8)).unwrap_err();
    assert_error!(other, Error::OtherHasher);
}

/// A snapshot of a maplet is for no filter, and one of a filter for no maplet.
fn check_types<L: Storage>(of_maplet: &[u8], of_filter: &[u8]) {
    assert!(Snapshot::from_bytes(of_maplet).is_ok() && Snapshot::from_bytes(of_filter).is_ok());
    let error = Filter::<L>::from_bytes(of_maplet, HASHER).unwrap_err();
    assert_error!(error, Error::OtherType { is_maplet: true });
    let snapshot = Snapshot::from_bytes(of_maplet).unwrap();
    let error = Filter::<L>::from_snapshot(snapshot, HASHER).unwrap_err();
    assert_error!(error, Error::OtherType { is_maplet: true });
    let error = Maplet::<L>::from_bytes(of_filter, HASHER).unwrap_err();
    assert_error!(error, Error::OtherType { is_maplet: false });
    assert!(Filter::<L>::from_bytes(of_filter, HASHER).is_ok());
    assert!(Maplet::<L>::from_bytes(of_maplet, HASHER).is_ok());
}

fn hostile_headers(layout: Layout) {
    let maplet = layout.maplet(16, 2);
    fill(&maplet, 1, 10);
    let bytes = bytes_of(&maplet);
    check_header::<AnyLayout>(&bytes, layout.longest_values());
    check_types::<AnyLayout>(&bytes, &layout.filter(20).snapshot().unwrap().to_bytes());
    assert_error!(error::<Growable<AnyLayout>>(&bytes), Error::OtherKind { grows: false });
}

fn hostile_headers_of_what_grows(layout: Layout) {
    let maplet = layout.growing_maplet(1, 60 * layout.slots, 2);
    fill(&maplet, 1, 34 * layout.slots);
    let bytes = bytes_of(&maplet);
    check_header::<Growable<AnyLayout>>(&bytes, layout.longest_values_that_grow());
    let builder = layout.filters().max_capacity(100).hasher(HASHER);
    let of_filter = builder.build().unwrap().snapshot().unwrap().to_bytes();
    check_types::<Growable<AnyLayout>>(&bytes, &of_filter);
    assert_error!(error::<AnyLayout>(&bytes), Error::OtherKind { grows: true });
}

/// With a value alone, a slot in use has nothing by which a key could be found.
fn slots_without_a_fingerprint(layout: Layout) {
    for bits in widths(layout) {
        let maplet = layout.maplet(16, bits);
        fill(&maplet, 1, 10);
        let bytes = bytes_of(&maplet);
        let with_slot = |slot: u64, items: u64| {
            // In the first bucket the only one.
            let held = number(&bytes, at::OCCUPIED);
            let first = held_in_first(&bytes);
            let word = one_slot(layout, slot);
            forged(&bytes, |bytes| {
                bytes[HEADER..HEADER + 8].copy_from_slice(&word.to_le_bytes());
                let items = held - first + items;
                bytes[at::OCCUPIED..at::OCCUPIED + 8].copy_from_slice(&items.to_le_bytes());
            })
        };
        let shift = layout.bits - bits;
        for value in [1, u64::from(largest(bits))] {
            let alone = with_slot(value << shift, 1);
            assert_error!(error::<AnyLayout>(&alone), Error::InvalidWord { bucket: 0 });
            let with_fingerprint = with_slot(value << shift | 1, 1);
            assert!(Maplet::<AnyLayout>::from_bytes(&with_fingerprint, HASHER).is_ok());
        }
        assert!(Maplet::<AnyLayout>::from_bytes(&with_slot(1, 1), HASHER).is_ok(), "the value 0");
    }
}

/// Slots in use of the first bucket.
fn held_in_first(bytes: &[u8]) -> u64 {
    // Without that word, the number in the header is the number of the others and of these.
    let without = forged(bytes, |bytes| bytes[HEADER..HEADER + 8].fill(0));
    match Maplet::<AnyLayout>::from_bytes(&without, HASHER) {
        Ok(_) => 0,
        Err(Error::WrongLen { stated, found }) => (stated - found) as u64,
        Err(error) => panic!("{error}"),
    }
}

/// The word of a bucket with one slot in use.
fn one_slot(layout: Layout, slot: u64) -> u64 {
    let (slots, nibble) = (layout.slots as u64, slot >> (layout.bits - 4));
    let rest = layout.bits - 4;
    let choose = |n: u64, k: u64| (0..k).map(|i| n - i).product::<u64>() / (1..=k).product::<u64>();
    match layout.bits {
        // The nibbles of a semi-sorted bucket, of which the others are 0, have a number: the highest is
        // that of the last slot.
        14 => {
            let start = (1..=nibble).map(|n| choose(n + 3, 4).next_multiple_of(64)).sum::<u64>();
            start << (rest * 5) | (slot & ((1 << rest) - 1)) << (rest * 4)
        }
        17 => {
            choose(nibble + 3, 4) << (rest * 4)
                | (slot & ((1 << rest) - 1)) << (rest * (slots as u32 - 1))
        }
        _ => slot,
    }
}

/// Of a table that grows: without a core, and without the 1 above the bits that are known.
fn slots_without_a_core(layout: Layout) {
    for bits in widths_that_grow(layout) {
        let maplet = layout.growing_maplet(1, 20, bits);
        let bytes = bytes_of(&maplet);
        assert_eq!((number(&bytes, at::FIRST), number(&bytes, at::WORDS)), (32, 32));
        // Level 5.
        let ring = layout.extra_bits - bits + 1;
        let slot = |value: u32, core: u64, known: u64| {
            let turned = known << (5 % ring);
            let held = (turned % (1 << ring)) | (turned >> ring);
            u64::from(value) << (layout.bits - bits) | core << ring | held
        };
        let with_slot = |slot: u64| {
            forged(&bytes, |bytes| {
                bytes[HEADER..HEADER + 8].copy_from_slice(&slot.to_le_bytes());
                bytes[at::OCCUPIED] = 1;
            })
        };
        let (value, longest) = (largest(bits), 1 << (ring - 1));
        for invalid in [
            slot(value, 0, 0),
            slot(value, 0, longest),
            slot(0, 0, longest),
            slot(value, 1, 0),
            slot(0, 1, 0),
            slot(value, 1, longest >> 1),
        ] {
            assert_error!(
                error::<Growable<AnyLayout>>(&with_slot(invalid)),
                Error::InvalidWord { bucket: 0 }
            );
        }
        for valid in [slot(value, 1, longest), slot(0, 1, longest), slot(value, 2, 2 * longest - 1)]
        {
            let restored = Maplet::<Growable<AnyLayout>>::from_bytes(&with_slot(valid), HASHER);
            assert_eq!(restored.unwrap().len(), 1);
        }
    }
}
