//! Bytes that are not a valid snapshot: each returns the right error, and none causes a panic.
//!
//! `judged` compares the crate with the reader of the reference. Where that is not enough, the error is named here as
//! well.

use std::io::{self, Read};
use std::{error, fmt};

use coucal::{Error, Snapshot, StableHashBuilder};
use coucal_reference::format::{
    HEADER, MOST_SLOTS, ROOMY, ReadError, at, forged, number, one_slot, put, size,
};
use coucal_reference::judged;

use crate::common::{Kind, LAYOUTS, Layout, default_layout, widths};

of_each_layout! {
    damage
    other_types
    other_fields
    other_entries
    other_words
}

/// Returns all kinds of a layout, with values of two bits.
fn kinds(layout: Layout) -> Vec<Kind> {
    Kind::each(layout, 2)
}

/// Returns the filters of a layout, of fixed size or growing.
fn filters(layout: Layout, grows: bool) -> Kind {
    Kind { layout, grows, value_bits: 0 }
}

/// Returns a snapshot of some six buckets, half full; of a growing table, in the middle of a level.
fn saved(kind: Kind) -> Vec<u8> {
    let slots = kind.layout.slots;
    let capacity = if kind.grows { 120 * slots } else { 16 };
    let subject = kind.build(1, capacity);
    let first = subject.slots();
    for items in kind.items(1, capacity).chunks(slots.min(5)) {
        let is_enough =
            if kind.grows { subject.slots() > first * 5 / 4 } else { subject.len() >= 10 };
        if !is_enough {
            subject.insert_many(items).expect("room");
        }
    }
    let bytes = subject.bytes();
    assert!(!kind.grows || !number(&bytes, at::WORDS).is_power_of_two(), "{subject:?}");
    bytes
}

/// Returns the bytes with one field set to a number.
fn with(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    forged(bytes, |bytes| put(bytes, at, value))
}

/// Returns the bytes with this number in four of them.
fn with_half(bytes: &[u8], at: usize, value: u32) -> Vec<u8> {
    forged(bytes, |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()))
}

fn fault(bytes: &[u8]) -> Option<ReadError> {
    judged(bytes).err()
}

/// Bytes that are cut off anywhere, have any bit changed, with or without correct checksums, or are followed by more
/// bytes.
fn damage(layout: Layout) {
    for kind in kinds(layout) {
        let bytes = saved(kind);
        assert_eq!(fault(&bytes), None);
        for len in 0..bytes.len() {
            assert_eq!(fault(&bytes[..len]), Some(ReadError::Truncated), "{kind:?}: {len} bytes");
        }
        for bit in 0..8 * bytes.len() {
            let flip = |bytes: &mut Vec<u8>| bytes[bit / 8] ^= 1 << (bit % 8);
            let mut damaged = bytes.clone();
            flip(&mut damaged);
            let expected = match bit / 8 {
                0..at::VERSION => ReadError::NotASnapshot,
                at::VERSION..at::KIND => {
                    ReadError::UnknownVersion { version: 1 ^ 1 << (bit - 8 * at::VERSION) }
                }
                _ => ReadError::Damaged,
            };
            assert_eq!(fault(&damaged), Some(expected), "{kind:?}: bit {bit}");
            drop(judged(&forged(&bytes, flip)));
        }
        let longer = [&bytes[..], b"more"].concat();
        assert_eq!(fault(&longer), Some(ReadError::TrailingBytes { bytes: 4 }));
    }
}

/// A snapshot with the kind of another type in its header is refused, and so is one with another hasher.
fn other_types(layout: Layout) {
    for kind in kinds(layout) {
        let bytes = saved(kind);
        for other in 0..=u8::MAX {
            let is_its = other == bytes[at::KIND];
            let as_other = forged(&bytes, |bytes| bytes[at::KIND] = other);
            assert_eq!(fault(&as_other).is_none(), is_its, "{kind:?} as {other}");
        }
        let other_hasher = with(&bytes, at::HASHER, number(&bytes, at::HASHER) ^ 1);
        assert_eq!(fault(&other_hasher), None);
        assert_eq!(kind.restored(&other_hasher).err(), Some(Error::OtherHasher));
    }
    let other = layout.filters().hasher(StableHashBuilder::new(8)).capacity(16).build().unwrap();
    let bytes = other.snapshot().unwrap().into_bytes();
    assert_eq!(fault(&bytes), None);
    assert_eq!(filters(layout, false).restored(&bytes).err(), Some(Error::OtherHasher));
}

/// Headers with a correct checksum: some numbers belong to no table, and the others are near those, or far from them.
fn other_fields(layout: Layout) {
    let fields = [at::FIRST, at::WORDS, at::MAX_BUCKETS, at::OCCUPIED, at::CAPACITY];
    for kind in kinds(layout) {
        let bytes = &saved(kind);
        let impossible = |bytes: &[u8], what: &str| {
            let expected = ReadError::ImpossibleTable { words: number(bytes, at::WORDS) };
            assert_eq!(fault(bytes), Some(expected), "{kind:?}: {what}");
        };
        // Numbers whose products and sums overflow, in each field by itself and in all at once.
        for value in [1 << 43, 1 << 60, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX] {
            for field in fields.into_iter().chain([at::DOUBLED]) {
                impossible(&with(bytes, field, value), &format!("{value} at {field}"));
            }
            let all = |bytes: &mut Vec<u8>| fields.into_iter().for_each(|at| put(bytes, at, value));
            impossible(&forged(bytes, all), &format!("{value} in all"));
        }
        for bits in [layout.longest_values() + 1, 64, 1 << 16, u32::MAX, 1 - kind.top().min(1)] {
            impossible(&with_half(bytes, at::VALUE_BITS, bits), &format!("{bits} value bits"));
        }
        let mut loads = vec![1, 499, 1000, u32::MAX];
        if kind.grows {
            loads.extend([0, layout.highest_target(kind.value_bits > 0) + 1]);
        }
        for load in loads {
            impossible(&with_half(bytes, at::TARGET_LOAD, load), &format!("a load of {load}"));
        }
        // Some of these are one more or one less than is possible. A table of fixed size has exactly one size.
        for field in (at::FIRST..at::HASHER).step_by(8).chain([at::STASHED, at::COPIES]) {
            let old = number(bytes, field);
            let near = (0..20).flat_map(|by| [old.wrapping_add(by), old.wrapping_sub(by)]);
            let far =
                (0..64).flat_map(|bit| [1 << bit, u64::MAX >> bit, u64::MAX << bit, old << bit]);
            for value in near.chain(far) {
                drop(judged(&with(bytes, field, value)));
            }
        }
        // The maximum number of items that a table is for.
        if kind.grows {
            for (capacity, buckets) in
                [(at::CAPACITY, at::FIRST), (at::MAX_CAPACITY, at::MAX_BUCKETS)]
            {
                let slots = number(bytes, buckets) * layout.slots as u64;
                let most = (slots as f64 * layout.target()) as u64;
                let bytes = with(bytes, at::MAX_CAPACITY, most);
                assert_eq!(fault(&with(&bytes, capacity, most)), None);
                impossible(&with(&bytes, capacity, most + 1), "an item too many");
            }
            let most = MOST_SLOTS / layout.slots as u64;
            assert_eq!(fault(&with(bytes, at::MAX_BUCKETS, most)), None);
            impossible(&with(bytes, at::MAX_BUCKETS, most + 1), "a bucket too many");
            // There are no more doubled entries than entries, and no more values of them than doubled entries.
            let entries = number(bytes, at::OCCUPIED) + number(bytes, at::COPIES);
            let stated = ReadError::WrongLen { stated: entries as usize, found: 0 };
            assert_eq!(fault(&with(bytes, at::DOUBLED, entries)), Some(stated));
            impossible(&with(bytes, at::DOUBLED, entries + 1), "an entry too many is doubled");
            let values = u64::from(kind.top()) + 1;
            let doubled = |doubled: u64, values: u64| {
                with(&with(bytes, at::DOUBLED, doubled), at::DOUBLED_VALUES, values)
            };
            assert_eq!(fault(&doubled(values, values)), Some(ReadError::Truncated));
            impossible(&doubled(values + 1, values + 1), "a value too many is doubled");
            impossible(&doubled(values - 1, values), "fewer are doubled than values");
        } else {
            for capacity in (0..6 * layout.slots).chain([1000, 4321]) {
                let built = kind.build(0, capacity).bytes();
                assert_eq!(fault(&built), None, "{kind:?} for {capacity}");
            }
            let bytes = kind.build(0, 100 * layout.slots).bytes();
            one_size(&bytes, &[at::FIRST, at::WORDS, at::MAX_BUCKETS], 1..=1);
            one_size(&bytes, &[at::CAPACITY, at::MAX_CAPACITY], 1..=2 * layout.slots);
        }
        for byte in 0..=u8::MAX {
            for field in [at::ENCODING, at::BITS, at::SLOTS] {
                drop(judged(&forged(bytes, |bytes| bytes[field] = byte)));
            }
        }
        // The words of this layout under the header of another one: they are valid for that layout, or an error.
        let all = LAYOUTS.map(|of| (of.encoding, of.bits, of.slots, !kind.grows || of.grows()));
        let unknown = [(1, 16, 4, false), (2, 16, 4, false)];
        for (encoding, bits, slots, is_known) in all.into_iter().chain(unknown) {
            let shape @ [encoding, fingerprint_bits, slots] = [encoding, bits as u8, slots as u8];
            let other =
                forged(bytes, |bytes| bytes[at::ENCODING..at::FIRST].copy_from_slice(&shape));
            let unknown = ReadError::UnknownLayout { encoding, fingerprint_bits, slots };
            assert_eq!(fault(&other) == Some(unknown), !is_known, "{kind:?} as {shape:?}");
        }
        let occupied = number(bytes, at::OCCUPIED);
        for stated in [0, occupied - 1, occupied + 1] {
            let [stated, found] = [stated, occupied].map(|n| n as usize);
            let wrong = ReadError::WrongLen { stated, found };
            assert_eq!(fault(&with(bytes, at::OCCUPIED, stated as u64)), Some(wrong));
        }
    }
}

/// Sets the sizes of a table of fixed size in a snapshot.
fn with_sizes(bytes: &mut [u8], capacity: u64, words: u64) {
    for at in [at::FIRST, at::WORDS, at::MAX_BUCKETS] {
        put(bytes, at, words);
    }
    for at in [at::CAPACITY, at::MAX_CAPACITY] {
        put(bytes, at, capacity);
    }
}

/// If each entry of a stash has as many copies as possible, their number may have more than 64 bits.
#[test]
fn the_largest_number_of_copies() {
    let capacity = 1 << 40;
    let words = size(capacity, default_layout()).unwrap();
    let bytes = saved(filters(default_layout(), false));
    let impossible = ReadError::ImpossibleTable { words };
    for (copies, expected) in [
        (capacity - 1, impossible),
        (capacity, ReadError::Truncated),
        (u64::MAX, ReadError::Truncated),
    ] {
        let largest = forged(&bytes, |bytes| {
            with_sizes(bytes, capacity, words);
            for (at, number) in [(at::OCCUPIED, 0), (at::STASHED, capacity), (at::COPIES, copies)] {
                put(bytes, at, number);
            }
        });
        assert_eq!(fault(&largest), Some(expected), "{copies} copies");
    }
}

/// A table that has more buckets than follow from its capacity has no more slots than any other.
#[test]
fn the_largest_table_with_room() {
    for kind in kinds(default_layout()).into_iter().filter(|kind| !kind.grows) {
        let bytes = saved(kind);
        let most = MOST_SLOTS / kind.layout.slots as u64;
        for (words, expected) in [
            (most, ReadError::Truncated),
            (most + 2, ReadError::ImpossibleTable { words: most + 2 }),
        ] {
            let largest = forged(&bytes, |bytes| {
                with_sizes(bytes, 1 << 43, words);
                bytes[at::KIND] |= ROOMY;
            });
            assert_eq!(fault(&largest), Some(expected), "{kind:?}");
        }
    }
}

/// Each value of a growing maplet has doubled copies: the maplet counts those of each value.
#[test]
fn doubled_copies_of_each_value() {
    let kind = Kind { layout: Layout::named("Fp32x2"), grows: true, value_bits: 14 };
    let maplet = kind.build(1, 100);
    (0..20).for_each(|_| maplet.insert((42, 7)).expect("room"));
    let (bytes, values) = (maplet.bytes(), 1 << kind.value_bits);
    assert_eq!(number(&bytes, at::STASHED), 1);
    let end = bytes.len() - 8;
    let doubled = forged(&bytes, |bytes| {
        let [at, shift] = [end - 8, 39];
        let entry = number(bytes, at) & ((1 << shift) - 1);
        put(bytes, at, entry | values << shift);
        for at in [at::COPIES, at::DOUBLED, at::DOUBLED_VALUES] {
            put(bytes, at, values);
        }
        let counts = (0..values).flat_map(|value| [value, 1, 0]);
        bytes.splice(end..end, counts.flat_map(u64::to_le_bytes));
    });
    assert_eq!(fault(&doubled), None);
}

/// Sets these fields to all values near theirs, and to some far from them, in an empty snapshot of a table of fixed
/// size. The number of valid results is within `right`.
fn one_size(bytes: &[u8], fields: &[usize], right: std::ops::RangeInclusive<usize>) {
    let old = number(bytes, fields[0]);
    let near = old.saturating_sub(20)..=old + 20;
    let far = (1..10).flat_map(|bits| [old << bits, old >> bits]);
    let is_right = |&value: &u64| {
        let bytes = forged(bytes, |bytes| {
            for &at in fields {
                put(bytes, at, value);
            }
            bytes.resize(HEADER + 8 * number(bytes, at::WORDS) as usize + 8, 0);
        });
        judged(&bytes).is_ok()
    };
    let found = near.chain(far).filter(is_right).count();
    assert!(right.contains(&found), "{found} of {fields:?}");
}

/// Words that the layout does not have.
fn other_words(layout: Layout) {
    let bits = layout.bits;
    let lane = |slot: u32, value: u64| value << (bits * slot);
    let words = match (bits, layout.slots) {
        // A number of no multiset, with and without fingerprints; rests that are not in ascending order.
        (14, 5) => vec![u64::MAX, 0b11_1111_1111_1111 << 50, 2 << 10 | 3, 1 << 40 | 2 << 30],
        (17, 4) => vec![u64::MAX, 0xfff << 52, 3876 << 52, 2 << 13 | 3, 1],
        // A free lane below a lane in use; and a bit above the lanes, if there is any.
        (_, slots) => {
            let mut words = vec![lane(1, 1), lane(slots as u32 - 1, 1)];
            if bits * (slots as u32) < 64 {
                let full = (0..slots as u32).map(|slot| lane(slot, 1)).sum::<u64>();
                words.extend([1 << 63, full | 1 << 63, full | 1 << (bits * slots as u32)]);
            }
            words
        }
    };
    for kind in kinds(layout).into_iter().filter(|kind| kind.value_bits == 0) {
        let bytes = &saved(kind);
        let buckets = number(bytes, at::WORDS) as usize;
        for (&word, bucket) in
            words.iter().flat_map(|word| [0, buckets / 2, buckets - 1].map(|bucket| (word, bucket)))
        {
            // Of two errors the first one is returned.
            let mut two = forged(bytes, |bytes| {
                put(bytes, HEADER + 8 * bucket, word);
                put(bytes, HEADER + 8 * (buckets - 1), word);
            });
            assert_eq!(fault(&two), Some(ReadError::InvalidWord { bucket }), "{kind:?}: {word:x}");
            // Damage comes first: it is what a user can repair.
            *two.last_mut().unwrap() ^= 1;
            assert_eq!(fault(&two), Some(ReadError::Damaged));
        }
    }
}

/// An invalid slot, alone in its bucket: in a maplet of fixed size, one with a value and no fingerprint; in a growing
/// table, one without a core, without a 1 above the known bits, with a bit that the bucket tells, or with fewer bits
/// than every entry knows.
fn other_entries(layout: Layout) {
    for kind in Kind::all(layout, widths) {
        let bytes = &saved(kind);
        let words = number(bytes, at::WORDS);
        // Buckets that are split, and others.
        let split = words - (1 << words.ilog2());
        let buckets = [0, split.max(1) - 1, split, words / 2, words - split.max(1), words - 1];
        let invalid = other_entries_of(kind, bytes, &buckets);
        assert_eq!(invalid > 0, kind.grows || kind.value_bits > 0, "{kind:?}");
    }
    if layout.grows() {
        // With a small first size, entries may know no more than their buckets tell, except where these are split. With
        // a large first size, they may know no more than in a table that began with 32 buckets.
        let kind = filters(layout, true);
        for (first, words, buckets) in
            [(2, 266, [0, 9, 10, 255, 256, 265]), (64, 70, [0, 5, 6, 63, 64, 69])]
        {
            let bytes = forged(&saved(kind), |bytes| {
                bytes.resize(HEADER + 8 * words as usize + 8, 0);
                bytes[HEADER..].fill(0);
                let fields =
                    [at::FIRST, at::WORDS, at::MAX_BUCKETS, at::OCCUPIED, at::STASHED, at::COPIES];
                for (at, value) in fields.into_iter().zip([first, words, 1000, 0, 0, 0]) {
                    put(bytes, at, value);
                }
            });
            assert!(other_entries_of(kind, &bytes, &buckets) > 0);
        }
    }
}

/// Returns how many of these entries no table has.
fn other_entries_of(kind: Kind, bytes: &[u8], buckets: &[u64]) -> usize {
    let Kind { layout, grows, value_bits } = kind;
    let ring = if grows { layout.extra_bits(value_bits) + 1 } else { 0 };
    // The highest bit that is set ends the known bits.
    let of_two = (0..ring).flat_map(|high| (0..=high).map(move |low| 1_u64 << high | 1 << low));
    let rings: Vec<u64> = of_two.chain([0, (1 << ring) - 1]).collect();
    let mut counts = [0; 2];
    for (&bucket, ring_bits) in buckets.iter().flat_map(|at| rings.iter().map(move |of| (at, of))) {
        for (core, value) in [(0, 0), (0, kind.top()), (1, 0), (1, 1 & kind.top()), (1, kind.top())]
        {
            let at = HEADER + 8 * bucket as usize;
            let slot = u64::from(value) << (layout.bits - value_bits) | core << ring | ring_bits;
            let with_slots = |occupied| {
                forged(bytes, |bytes| {
                    put(bytes, at, if slot == 0 { 0 } else { one_slot(slot, layout) });
                    put(bytes, at::OCCUPIED, occupied);
                })
            };
            let found = match judged(&with_slots(0)) {
                Err(ReadError::WrongLen { stated: 0, found }) => judged(&with_slots(found as u64)),
                found => found,
            };
            let is_its = |error| error == ReadError::InvalidWord { bucket: bucket as usize };
            counts[usize::from(found.is_err_and(is_its))] += 1;
        }
    }
    assert!(counts[0] > 0, "{kind:?}");
    counts[1]
}

#[test]
fn other_formats() {
    let text = "some other file, which is longer than the header of a snapshot is: 96 bytes, so \
                that there is a whole header to look at";
    let bytes = saved(filters(default_layout(), false));
    let mut in_text_mode = bytes.clone();
    in_text_mode.insert(7, b'\r');
    // However few bytes there are. (`damage` tests the beginnings of snapshots.)
    let almost = &in_text_mode[..112];
    let few = [&b"0"[..], b"ten bytes.", b"\x89PNG\r\n\x1a\n", &almost[..8], almost];
    for other in few.into_iter().chain([text.as_bytes(), &[0; 200], &in_text_mode]) {
        assert_eq!(fault(other), Some(ReadError::NotASnapshot));
    }
    for version in [0, 2, 3, u32::MAX] {
        let bytes = with_half(&bytes, at::VERSION, version);
        // The header of another version may be shorter than ours.
        for bytes in [&bytes[..], &bytes[..at::KIND]] {
            assert_eq!(fault(bytes), Some(ReadError::UnknownVersion { version }));
        }
    }
}

/// A reader that fails with an error of its own, after each number of bytes.
#[test]
fn readers_that_fail() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::ConnectionReset, "the cable is cut"))
        }
    }
    let empty = filters(default_layout(), false).build(0, 0);
    let bytes = saved(filters(default_layout(), false));
    for len in 0..bytes.len() {
        let error = empty.read(&mut bytes[..len].chain(Fails)).unwrap_err();
        assert!(matches!(error, Error::Io { kind: io::ErrorKind::ConnectionReset, .. }), "{len}");
        assert_eq!(error.to_string(), "the snapshot could not be read: the cable is cut");
    }
    // A complete snapshot needs nothing more of the reader.
    assert!(empty.read(&mut bytes.chain(Fails)).is_ok());
}

/// Two errors, each of which is the cause of the other.
#[derive(Debug)]
struct Circular(usize);

static CIRCULAR: [Circular; 2] = [Circular(1), Circular(0)];

impl fmt::Display for Circular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "see {}", self.0)
    }
}

impl error::Error for Circular {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&CIRCULAR[self.0])
    }
}

/// A reader whose error has causes without an end: the error states some of them.
#[test]
fn an_error_without_a_first_cause() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other(Circular(0)))
        }
    }
    let error = Snapshot::read_from(Fails).unwrap_err().to_string();
    assert!(error.ends_with("see 0: see 1: see 0"), "{error}");
    assert!((4..30).contains(&error.matches("see").count()), "{error}");
}
