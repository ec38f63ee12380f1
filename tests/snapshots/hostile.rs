//! Bytes that are no valid snapshot: each is an error that says which and what to do, and none a panic.

use std::io::{self, Read};

use coucal::{Error, Snapshot, StableHashBuilder};
use coucal_reference::format::{HEADER, at, forged, number, one_slot, put};

use crate::common::{Kind, LAYOUTS, Layout, Subject, default_layout, widths};

of_each_layout! {
    damage
    other_types
    other_lengths_of_values
    slots_without_a_fingerprint
    buckets_follow_from_the_capacity
    the_capacity_fits_the_table
}

of_each_growing_layout! {
    other_fields
    other_words
    impossible_entries
    layouts_that_do_not_grow
}

/// All kinds of a layout, with values of two bits.
fn kinds(layout: Layout) -> Vec<Kind> {
    Kind::each(layout, 2)
}

/// The filters of a layout, of fixed size or growing.
fn filters(layout: Layout, grows: bool) -> Kind {
    Kind { layout, grows, value_bits: 0 }
}

/// A snapshot of six buckets or so, half full; or, where it grows, in the middle of a level, from 32 buckets on.
fn saved(kind: Kind) -> Vec<u8> {
    let slots = kind.layout.slots;
    let (capacity, items) = if kind.grows { (60 * slots, 34 * slots) } else { (16, 10) };
    let subject = kind.build(1, capacity);
    subject.insert_many(&kind.items(1, items)).expect("room");
    let bytes = subject.bytes();
    if kind.grows {
        assert_eq!(number(&bytes, at::FIRST), 32);
        assert!((33..64).contains(&number(&bytes, at::WORDS)));
    }
    bytes
}

/// One field set to a number.
fn with(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    forged(bytes, |bytes| put(bytes, at, value))
}

/// What reading says, by each way of reading: all say the same.
fn error(kind: Kind, bytes: &[u8]) -> Error {
    let empty = kind.build(0, 0);
    let error = empty.restored(bytes).unwrap_err();
    assert_eq!(Snapshot::from_bytes(bytes).unwrap_err(), error);
    let by_bytes = Snapshot::read_from(OneByOne(bytes)).map(drop);
    for read in [by_bytes, empty.read(&mut &*bytes).map(drop)] {
        match &error {
            Error::TrailingBytes { .. } => assert!(read.is_ok()),
            _ => assert_eq!(read.unwrap_err(), error),
        }
    }
    error
}

/// What a type says of a snapshot that is valid, and not for it.
fn refused(kind: Kind, bytes: &[u8]) -> Error {
    let error = kind.restored(bytes).unwrap_err();
    let snapshot = Snapshot::from_bytes(bytes).unwrap();
    assert_eq!(kind.of_snapshot(&snapshot).unwrap_err(), error);
    error
}

/// Asserts which error it is, and what its message ends with.
macro_rules! assert_error {
    ($error:expr, $pattern:pat $(if $guard:expr)?, $message:expr) => {
        let error = $error;
        assert!(matches!(error, $pattern $(if $guard)?), "{error:?}");
        assert!(error.to_string().ends_with($message), "{error}");
    };
}

const ANOTHER_COPY: &str = ": read another copy of it";
const DO_NOT_TRUST: &str =
    ": the checksums match, so it was written this way: do not trust the writer";
const NEWER: &str = ": read it with a newer one";

/// Cut off anywhere, with any bit changed, and with more bytes.
fn damage(layout: Layout) {
    for kind in kinds(layout) {
        let (empty, mut bytes) = (kind.build(0, 0), saved(kind));
        for len in 0..bytes.len() {
            assert_error!(error(kind, &bytes[..len]), Error::Truncated, ANOTHER_COPY);
        }
        for bit in 0..8 * bytes.len() {
            let at = bit / 8;
            bytes[at] ^= 1 << (bit % 8);
            let error = empty.restored(&bytes).unwrap_err();
            let expected = match at {
                0..at::VERSION => Error::NotASnapshot,
                at::VERSION..at::KIND => {
                    Error::UnknownVersion { version: 1 ^ 1 << (bit - 8 * at::VERSION) }
                }
                _ => Error::Damaged,
            };
            assert_eq!(error, expected, "bit {bit}");
            bytes[at] ^= 1 << (bit % 8);
        }
        let unknown = forged(&bytes, |bytes| bytes[at::KIND] |= 8);
        assert_error!(error(kind, &unknown), Error::UnknownKind { kind: 8.. }, NEWER);
        bytes.extend(b"more");
        let trailing = ": `restore` leaves them to its reader";
        assert_error!(error(kind, &bytes), Error::TrailingBytes { bytes: 4 }, trailing);
    }
}

/// A snapshot is for its own type: of filters or of maplets, of fixed size or growing. Nor is it for another with the
/// kind of that in its header, nor with another hasher.
fn other_types(layout: Layout) {
    for kind in kinds(layout) {
        let bytes = saved(kind);
        assert!(kind.restored(&bytes).is_ok());
        let Kind { grows, value_bits, .. } = kind;
        let is_maplet = value_bits > 0;
        let other_type = Kind { value_bits: if is_maplet { 0 } else { 2 }, ..kind };
        let name = match (is_maplet, grows) {
            (false, false) => "CuckooFilter",
            (false, true) => "GrowableCuckooFilter",
            (true, false) => "CuckooMaplet",
            (true, true) => "GrowableCuckooMaplet",
        };
        assert_eq!(refused(other_type, &bytes), Error::OtherType { name });
        let as_other = forged(&bytes, |bytes| bytes[at::KIND] ^= 2);
        assert_error!(error(other_type, &as_other), Error::ImpossibleTable { .. }, DO_NOT_TRUST);
        if layout.grows() {
            let other_kind = Kind { grows: !grows, ..kind };
            assert_eq!(refused(other_kind, &bytes), Error::OtherType { name });
        }
        let needs = ", and a filter to be restored in another process a StableHashBuilder";
        let other_hasher = with(&bytes, at::HASHER, number(&bytes, at::HASHER) ^ 1);
        assert_error!(refused(kind, &other_hasher), Error::OtherHasher, needs);
        // Changed in the file, it is damage and not another hasher.
        let mut damaged = bytes;
        damaged[at::HASHER] ^= 1;
        assert_error!(error(kind, &damaged), Error::Damaged, ANOTHER_COPY);
    }
    let other = StableHashBuilder::new(8);
    let filter = layout.filters().hasher(other).capacity(16).build().unwrap();
    let bytes = filter.snapshot().unwrap().into_bytes();
    assert_eq!(refused(filters(layout, false), &bytes), Error::OtherHasher);
}

/// Those that no maplet of the layout stores, and those of filters.
fn other_lengths_of_values(layout: Layout) {
    for kind in kinds(layout) {
        let bytes = saved(kind);
        let others =
            if kind.value_bits > 0 { [0, kind.layout.longest_values() + 1] } else { [1, 2] };
        for bits in others.into_iter().chain([64, 1 << 16, u32::MAX]) {
            let error = error(kind, &with_half(&bytes, at::VALUE_BITS, bits));
            assert_error!(error, Error::ImpossibleTable { .. }, DO_NOT_TRUST);
        }
    }
}

/// With a value alone, a slot in use has nothing by which a key could be found.
fn slots_without_a_fingerprint(layout: Layout) {
    for bits in widths(layout.longest_values()) {
        let kind = Kind { layout, grows: false, value_bits: bits };
        let bytes = kind.build(0, 16).bytes();
        let with_slot = |slot| {
            forged(&bytes, |bytes| {
                put(bytes, HEADER, one_slot(slot, layout));
                put(bytes, at::OCCUPIED, 1);
            })
        };
        let shift = layout.bits - bits;
        for value in [1, (1_u64 << bits) - 1] {
            let alone = error(kind, &with_slot(value << shift));
            assert_error!(alone, Error::InvalidWord { bucket: 0 }, DO_NOT_TRUST);
            let with_fingerprint = kind.restored(&with_slot(value << shift | 1));
            assert_eq!(with_fingerprint.unwrap().len(), 1);
        }
        assert!(kind.restored(&with_slot(1)).is_ok(), "the value 0");
    }
}

fn impossible(kind: Kind, bytes: &[u8]) {
    let promised = number(bytes, at::WORDS);
    assert_error!(error(kind, bytes), Error::ImpossibleTable { words } if words == promised, DO_NOT_TRUST);
}

/// With this number in four bytes.
fn with_half(bytes: &[u8], at: usize, value: u32) -> Vec<u8> {
    forged(bytes, |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()))
}

/// Headers of growing tables with loads that no builder takes, and with more items than the first size holds, or the
/// last one.
fn other_loads(kind: Kind, grown: &[u8]) {
    let layout = kind.layout;
    let highest = layout.highest_target(kind.value_bits > 0);
    for load in [0, 1, 499, highest + 1, 1000, u32::MAX] {
        impossible(kind, &with_half(grown, at::TARGET_LOAD, load));
    }
    // Others are those of a table, if it holds what it is for.
    let small = with(grown, at::MAX_CAPACITY, 1);
    for load in [500, highest] {
        assert!(kind.restored(&with_half(&small, at::TARGET_LOAD, load)).is_ok());
    }
    for (capacity, buckets) in [(at::CAPACITY, at::FIRST), (at::MAX_CAPACITY, at::MAX_BUCKETS)] {
        let slots = number(grown, buckets) * layout.slots as u64;
        let most = (slots as f64 * layout.target()) as u64;
        let with_most =
            |more: u64| with(&with(grown, at::MAX_CAPACITY, most), capacity, most + more);
        assert!(kind.restored(&with_most(0)).is_ok());
        impossible(kind, &with_most(1));
    }
}

/// Headers with the right checksum that are those of no table.
fn other_fields(layout: Layout) {
    let fields = [at::FIRST, at::WORDS, at::MAX_BUCKETS, at::OCCUPIED, at::CAPACITY];
    for grows in [false, true] {
        let kind = filters(layout, grows);
        let bytes = &saved(kind);
        let set = |field, value| impossible(kind, &with(bytes, field, value));
        // Numbers whose products and sums overflow, each field by itself and all at once.
        for value in [1 << 43, 1 << 60, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX] {
            for field in fields.into_iter().chain([at::DOUBLED]) {
                set(field, value);
            }
            let all = |bytes: &mut Vec<u8>| fields.into_iter().for_each(|at| put(bytes, at, value));
            impossible(kind, &forged(bytes, all));
        }
        let of = |at| number(bytes, at);
        // Zeros, and one more or less than there can be.
        for (field, value) in [
            (at::FIRST, 0),
            (at::FIRST, 1),
            (at::FIRST, of(at::WORDS) + 1),
            (at::WORDS, 0),
            (at::WORDS, of(at::FIRST) - 1),
            (at::WORDS, of(at::MAX_BUCKETS) + 1),
            (at::MAX_BUCKETS, 0),
            (at::MAX_BUCKETS, of(at::WORDS) - 1),
            (at::MAX_BUCKETS, (1 << 44) / layout.slots as u64),
            (at::OCCUPIED, of(at::WORDS) * layout.slots as u64 + 1),
            (at::DOUBLED, of(at::OCCUPIED) + of(at::COPIES) + 1),
            (at::CAPACITY, of(at::MAX_CAPACITY) + 1),
            (at::MAX_CAPACITY, of(at::CAPACITY).wrapping_sub(1)),
        ] {
            if (grows, field, value) != (true, at::MAX_CAPACITY, u64::MAX) {
                set(field, value);
            }
        }
        if grows {
            other_loads(kind, bytes);
            continue;
        }
        // A table of fixed size has one size, one capacity, and nothing that belongs to growth.
        for (field, by) in [
            (at::FIRST, -2),
            (at::WORDS, 2),
            (at::MAX_BUCKETS, 2),
            (at::DOUBLED, 1),
            (at::MAX_CAPACITY, 1),
        ] {
            set(field, of(field).wrapping_add_signed(by));
        }
        impossible(kind, &with_half(bytes, at::TARGET_LOAD, layout.target));
        let byte = |at: usize, value| error(kind, &forged(bytes, |bytes| bytes[at] = value));
        for kind in [6, 255] {
            assert_error!(byte(at::KIND, kind), Error::UnknownKind { kind: k } if k == kind, NEWER);
        }
        // And one of another encoding that no layout has with these bits.
        let encoding = bytes[at::ENCODING] ^ 1;
        for (at, value) in [
            (at::ENCODING, 2),
            (at::ENCODING, 255),
            (at::ENCODING, encoding),
            (at::BITS, 0),
            (at::BITS, 33),
            (at::SLOTS, 0),
        ] {
            assert_error!(byte(at, value), Error::UnknownLayout { .. }, NEWER);
        }
    }
}

/// Words that are none of the layout, and numbers of items that are not theirs.
fn other_words(layout: Layout) {
    fn check(kind: Kind, words: &[u64]) {
        let bytes = &saved(kind);
        let buckets = number(bytes, at::WORDS) as usize;
        for &word in words {
            for bucket in [0, buckets / 2, buckets - 1] {
                let at = HEADER + 8 * bucket;
                assert_error!(
                    error(kind, &with(bytes, at, word)),
                    Error::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Of two the first.
                let two = forged(bytes, |bytes| {
                    put(bytes, at, word);
                    put(bytes, HEADER + 8 * (buckets - 1), word);
                });
                assert_error!(
                    error(kind, &two),
                    Error::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Damage comes first: it is what a user can mend.
                let mut damaged = two;
                *damaged.last_mut().unwrap() ^= 1;
                assert_error!(error(kind, &damaged), Error::Damaged, ANOTHER_COPY);
            }
        }
        let found = number(bytes, at::OCCUPIED);
        for stated in [0, found - 1, found + 1] {
            assert_error!(
                error(kind, &with(bytes, at::OCCUPIED, stated)),
                Error::WrongLen { stated: a, found: b }
                    if (a as u64, b as u64) == (stated, found),
                DO_NOT_TRUST
            );
        }
    }
    let bits = layout.bits;
    let lane = |slot: u32, value: u64| value << (bits * slot);
    let words = match (bits, layout.slots) {
        // A number of no multiset, with and without fingerprints; rests that do not ascend.
        (14, 5) => vec![u64::MAX, 0b11_1111_1111_1111 << 50, 2 << 10 | 3, 1 << 40 | 2 << 30],
        (17, 4) => vec![u64::MAX, 0xfff << 52, 3876 << 52, 2 << 13 | 3, 1],
        // A free lane below one in use; and a bit above the lanes, if there are any.
        (_, slots) => {
            let mut words = vec![lane(1, 1), lane(slots as u32 - 1, 1)];
            if bits * (slots as u32) < 64 {
                let full = (0..slots as u32).map(|slot| lane(slot, 1)).sum::<u64>();
                words.extend([1 << 63, full | 1 << 63, full | 1 << (bits * slots as u32)]);
            }
            words
        }
    };
    check(filters(layout, false), &words);
    check(filters(layout, true), &words);
}

/// What a slot holds in a growing table.
struct Entry {
    layout: Layout,
    value_bits: u32,
    value: u32,
    core: u64,
    /// The bits of the ring from that of bit L on, the first the lowest.
    ring: u64,
}

impl Entry {
    /// The word of a bucket with nothing else.
    fn word(&self, words: u64) -> u64 {
        let ring = self.layout.extra_bits(self.value_bits) + 1;
        let turned = self.ring << (words.ilog2() % ring);
        let value = u64::from(self.value) << (self.layout.bits - self.value_bits);
        value | (self.core << ring) | (turned % (1 << ring)) | (turned >> ring)
    }
}

/// Entries of a table that grows: without a core, without the 1 above what is known, with a bit that the
/// bucket tells, and with fewer bits than every entry knows.
fn impossible_entries(layout: Layout) {
    impossible_entries_of(filters(layout, true), &saved(filters(layout, true)));
    for value_bits in widths(layout.longest_values()) {
        let kind = Kind { layout, grows: true, value_bits };
        let bytes = kind.build(1, 20).bytes();
        assert_eq!((number(&bytes, at::FIRST), number(&bytes, at::WORDS)), (32, 32));
        impossible_entries_of(kind, &bytes);
    }
}

fn impossible_entries_of(kind: Kind, bytes: &[u8]) {
    let Kind { layout, value_bits, .. } = kind;
    let (words, occupied) = (number(bytes, at::WORDS), number(bytes, at::OCCUPIED));
    let level = words.ilog2();
    let longest = 1 << layout.extra_bits(value_bits);
    let mut told = 0;
    for bucket in 0..words {
        let at = HEADER + 8 * bucket as usize;
        let held = (0..layout.slots as u32).filter(|slot| {
            number(bytes, at) >> (slot * layout.bits) & ((1 << layout.bits) - 1) != 0
        });
        let slots = occupied + 1 - held.count() as u64;
        let with_entry = |core: u64, ring: u64, value: u32| {
            let word = Entry { layout, value_bits, value, core, ring }.word(words);
            forged(bytes, |bytes| {
                put(bytes, at, word);
                put(bytes, at::OCCUPIED, slots);
            })
        };
        let is_split = bucket + (1 << level) < words || bucket >= 1 << level;
        // No core, no 1, and one bit too few.
        let mut invalid =
            vec![(0, longest), (1, 0), (1, longest >> 1), (1, longest >> 1 | 1), (1, 1)];
        let mut valid = vec![(1, longest), (2, longest | longest >> 1 & !1), (1, 2 * longest - 2)];
        if is_split {
            invalid.push((1, longest | 1));
            told += 1;
        } else {
            valid.push((1, longest | 1));
        }
        for value in [0, kind.top()] {
            for &(core, ring) in &invalid {
                assert_error!(
                    error(kind, &with_entry(core, ring, value)),
                    Error::InvalidWord { bucket: found } if found as u64 == bucket,
                    DO_NOT_TRUST
                );
            }
            for &(core, ring) in &valid {
                let restored = kind.restored(&with_entry(core, ring, value)).unwrap();
                assert_eq!(restored.len() as u64, slots + number(bytes, at::COPIES));
            }
        }
        if kind.top() > 0 {
            let alone = error(kind, &with_entry(0, 0, kind.top()));
            assert!(matches!(alone, Error::InvalidWord { .. }), "{alone:?}");
        }
    }
    assert!(told < words && (told > 0) == (words > 32));
}

/// Where the first size says that entries know no more than their buckets tell, they may be void: but not where
/// their bucket is split in this level.
#[test]
fn void_entries_in_split_buckets() {
    let layout = Layout::named("Fp12x5");
    let (kind, grown) = (filters(layout, true), saved(filters(layout, true)));
    // 2^level buckets, as many as there are words for, and two buckets at first: entries know 1 + 7 bits or more.
    let bytes = |words: u64, bucket: usize, known: u32| {
        let ring = 1 << (known - words.ilog2());
        let word = Entry { layout, value_bits: 0, value: 0, core: 1, ring }.word(words);
        forged(&grown, |bytes| {
            bytes.resize(HEADER + 8 * words as usize + 8, 0);
            bytes[HEADER..].fill(0);
            put(bytes, HEADER + 8 * bucket, word);
            put(bytes, at::FIRST, 2);
            put(bytes, at::WORDS, words);
            put(bytes, at::MAX_BUCKETS, 1000);
            put(bytes, at::OCCUPIED, 1);
        })
    };
    let restored = |bytes: &[u8]| kind.restored(bytes);
    for known in 8..12 {
        assert_eq!(restored(&bytes(256, 7, known)).unwrap().len(), 1);
    }
    for (bucket, is_void) in
        [(0, true), (9, true), (10, false), (255, false), (256, true), (265, true)]
    {
        let restored = restored(&bytes(266, bucket, 8));
        if is_void {
            let error = restored.unwrap_err();
            assert!(matches!(error, Error::InvalidWord { bucket: found } if found == bucket));
        } else {
            assert_eq!(restored.unwrap().len(), 1);
        }
    }
    assert!(matches!(restored(&bytes(128, 7, 7)), Err(Error::InvalidWord { bucket: 7 })));
}

fn layouts_that_do_not_grow(layout: Layout) {
    let kind = filters(layout, true);
    let grown = saved(kind);
    for [encoding, bits, slots] in [[0, 8, 8], [0, 9, 7], [0, 10, 6], [1, 14, 5], [1, 17, 4]] {
        let bytes = forged(&grown, |bytes| {
            bytes[at::ENCODING..at::FIRST].copy_from_slice(&[encoding, bits, slots]);
        });
        assert_error!(
            error(kind, &bytes),
            Error::UnknownLayout { fingerprint_bits, .. } if fingerprint_bits == bits,
            NEWER
        );
    }
}

/// They are valid for it, or an error.
#[test]
fn words_under_the_header_of_another_layout() {
    let mut taken = 0;
    let kind = filters(default_layout(), false);
    let all = LAYOUTS.map(|layout| saved(filters(layout, false)));
    for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
        let bytes = forged(from, |bytes| {
            bytes[at::ENCODING..at::FIRST].copy_from_slice(&to[at::ENCODING..at::FIRST]);
        });
        match kind.restored(&bytes) {
            Ok(filter) => {
                assert_eq!(filter.len() as u64, number(&bytes, at::OCCUPIED));
                taken += 1;
            }
            Err(
                Error::InvalidWord { .. } | Error::WrongLen { .. } | Error::ImpossibleTable { .. },
            ) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(taken >= 9, "each under its own");
}

#[test]
fn other_formats() {
    let text = "some other file, which is longer than the header of a snapshot is: 96 bytes, so \
                that there is a whole header to look at";
    let bytes = saved(filters(default_layout(), false));
    let mut in_text_mode = bytes.clone();
    in_text_mode.insert(7, b'\r');
    // However few bytes there are: `truncated` has those that are the beginning of a snapshot.
    let almost = &in_text_mode[..112];
    let few = [&b"0"[..], b"ten bytes.", b"\x89PNG\r\n\x1a\n", &almost[..8], almost];
    for other in few.into_iter().chain([text.as_bytes(), &[0; 200], &in_text_mode]) {
        let magic = ": they do not begin with the 8 bytes that every snapshot begins with";
        for grows in [false, true] {
            let error = error(filters(default_layout(), grows), other);
            assert_error!(error, Error::NotASnapshot, magic);
        }
    }
    for version in [0, 2, 3, u32::MAX] {
        let bytes = forged(&bytes, |bytes| {
            bytes[at::VERSION..at::KIND].copy_from_slice(&version.to_le_bytes());
        });
        let newer = ": read it with the release that wrote it, or a newer one";
        // Its header may be shorter than ours.
        for bytes in [&bytes[..], &bytes[..at::KIND]] {
            let error = error(filters(default_layout(), false), bytes);
            assert_error!(error, Error::UnknownVersion { version: v } if v == version, newer);
        }
    }
}

#[test]
fn two_snapshots_in_one_stream() {
    let kinds = [filters(default_layout(), false), filters(Layout::named("Fp12x5"), true)];
    let stream = kinds.map(saved).concat();
    let mut reader = &stream[..];
    for kind in kinds {
        let restored = kind.build(0, 0).read(&mut reader).unwrap();
        assert!(format!("{restored:?}").contains(kind.layout.name), "{restored:?}");
    }
    assert!(reader.is_empty());
}

/// A byte at a time.
struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

/// Interrupted before every read.
struct Interrupted<'a> {
    bytes: &'a [u8],
    ready: bool,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready = !self.ready;
        if self.ready {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let some = buffer.len().min(7);
        self.bytes.read(&mut buffer[..some])
    }
}

#[test]
fn slow_readers() {
    let kind = filters(default_layout(), true);
    let bytes = saved(kind);
    let readers: [&mut dyn Read; 2] =
        [&mut OneByOne(&bytes), &mut Interrupted { bytes: &bytes, ready: false }];
    for reader in readers {
        assert_eq!(kind.build(0, 0).read(reader).unwrap().bytes(), bytes);
    }
}

/// A reader with an error of its own, after each number of bytes.
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
    // What is complete needs nothing more of it.
    assert!(empty.read(&mut bytes.chain(Fails)).is_ok());
}

/// Sets these fields to all values near theirs, and to some far from them, in an empty snapshot of a filter of fixed
/// size that has no other fault. What is restored is what is built for its capacity; says how many snapshots were
/// restored, and how many refused.
fn restored_and_refused(layout: Layout, fields: &[usize]) -> [usize; 2] {
    let kind = filters(layout, false);
    let bytes = kind.build(0, 100 * layout.slots).bytes();
    let old = number(&bytes, fields[0]);
    let near = old.saturating_sub(20)..=old + 20;
    let far = (1..10).flat_map(|bits| [old << bits, old >> bits]);
    let mut counts = [0; 2];
    for value in near.chain(far) {
        let bytes = forged(&bytes, |bytes| {
            for &at in fields {
                put(bytes, at, value);
            }
            bytes.resize(HEADER + 8 * number(bytes, at::WORDS) as usize + 8, 0);
        });
        let restored = kind.restored(&bytes);
        counts[usize::from(restored.is_err())] += 1;
        if let Ok(restored) = restored {
            let built = kind.build(0, number(&bytes, at::CAPACITY) as usize);
            assert!(restored.bytes() == built.bytes(), "{restored:?}, {built:?}");
            let figures = |filter: &dyn Subject| (filter.heap_bytes(), filter.capacity());
            assert_eq!(figures(&*restored), figures(&*built));
        }
    }
    counts
}

/// One value is left: the table's own.
fn buckets_follow_from_the_capacity(layout: Layout) {
    let fields = [at::FIRST, at::WORDS, at::MAX_BUCKETS];
    let [restored, refused] = restored_and_refused(layout, &fields);
    assert!(restored == 1 && refused > 50, "{restored}, {refused}");
}

/// The items for which a table is made are those of one pair of buckets more or less.
fn the_capacity_fits_the_table(layout: Layout) {
    let fields = [at::CAPACITY, at::MAX_CAPACITY];
    let [restored, refused] = restored_and_refused(layout, &fields);
    assert!((1..=2 * layout.slots).contains(&restored) && refused > 20, "{restored}, {refused}");
}
