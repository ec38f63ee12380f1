//! Bytes that are no valid snapshot: each is an error that says which and what to do, and none a panic.

use std::io::{self, Read};

use coucal::{AnyLayout, Error, Growable, Snapshot, StableHashBuilder, Storage};
use coucal_reference::format::{HEADER, at, forged, number, one_slot, put};
use coucal_reference::{LAYOUTS, Subject};

use crate::common::{
    Filter, Growing, GrowingMaplet, HASHER, Layout, Maplet, default_layout, hashes, widths,
};

of_each_layout! {
    damage
    other_types
    other_lengths_of_values
    slots_without_a_fingerprint
}

of_each_growing_layout! {
    other_fields
    other_words
    impossible_entries
    layouts_that_do_not_grow
    other_kinds
}

/// Six buckets or so, half full.
fn fixed(layout: Layout) -> Vec<u8> {
    let filter = layout.filters().capacity(16).build().unwrap();
    snapshot(&filter, 12)
}

/// In the middle of a level, from 32 buckets on.
fn grown(layout: Layout) -> Vec<u8> {
    let builder = layout.filters().capacity(1).max_capacity(60 * layout.slots);
    let bytes = snapshot(&builder.build().unwrap(), 34 * layout.slots as u64);
    assert_eq!(number(&bytes, at::FIRST), 32);
    assert!((33..64).contains(&number(&bytes, at::WORDS)));
    bytes
}

/// The same of maplets.
fn fixed_maplet(layout: Layout) -> Vec<u8> {
    of_pairs(&layout.maplet(16, 2), 10)
}

fn grown_maplet(layout: Layout) -> Vec<u8> {
    of_pairs(&layout.growing_maplet(1, 60 * layout.slots, 2), 34 * layout.slots)
}

fn of_pairs(maplet: &impl Subject, pairs: usize) -> Vec<u8> {
    let top = (1 << maplet.value_bits().min(2)) - 1;
    let pairs: Vec<_> = hashes(1).take(pairs).map(|hash| (hash, hash as u32 & top)).collect();
    maplet.insert_many(&pairs).expect("room");
    maplet.bytes()
}

fn snapshot<L: Storage>(filter: &Filter<L>, items: u64) -> Vec<u8> {
    (0..items).for_each(|item| filter.insert(&item).unwrap());
    filter.snapshot().unwrap().into_bytes()
}

/// One field set to a number.
fn with(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    forged(bytes, |bytes| put(bytes, at, value))
}

/// What reading says, by each way of reading: all say the same.
fn error<S: Subject>(bytes: &[u8]) -> Error {
    let error = S::restored(bytes).unwrap_err();
    let of_snapshot = Snapshot::from_bytes(bytes).unwrap_err();
    assert_eq!(format!("{of_snapshot:?}"), format!("{error:?}"));
    let by_bytes = Snapshot::read_from(OneByOne(bytes)).map(drop);
    for read in [by_bytes, S::from_reader(bytes).map(drop)] {
        match &error {
            Error::TrailingBytes { .. } => assert!(read.is_ok()),
            _ => assert_eq!(format!("{:?}", read.unwrap_err()), format!("{error:?}")),
        }
    }
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
    fn check<S: Subject>(mut bytes: Vec<u8>) {
        for len in 0..bytes.len() {
            assert_error!(error::<S>(&bytes[..len]), Error::Truncated, ANOTHER_COPY);
        }
        for bit in 0..8 * bytes.len() {
            let at = bit / 8;
            bytes[at] ^= 1 << (bit % 8);
            let error = S::restored(&bytes).unwrap_err();
            let expected = match at {
                0..at::VERSION => matches!(error, Error::NotASnapshot),
                at::VERSION..at::KIND => {
                    let flipped = 1 ^ 1 << (bit - 8 * at::VERSION);
                    matches!(error, Error::UnknownVersion { version } if version == flipped)
                }
                _ => matches!(error, Error::Damaged),
            };
            assert!(expected, "bit {bit}: {error:?}");
            bytes[at] ^= 1 << (bit % 8);
        }
        let unknown = forged(&bytes, |bytes| bytes[at::KIND] |= 4);
        assert_error!(error::<S>(&unknown), Error::UnknownKind { kind: 4.. }, NEWER);
        bytes.extend(b"more");
        let trailing = ": `restore` leaves them to its reader";
        assert_error!(error::<S>(&bytes), Error::TrailingBytes { bytes: 4 }, trailing);
    }
    check::<Filter>(fixed(layout));
    check::<Maplet>(fixed_maplet(layout));
    if layout.grows() {
        check::<Growing>(grown(layout));
        check::<GrowingMaplet>(grown_maplet(layout));
    }
}

/// A snapshot of a maplet is for no filter, and one of a filter for no maplet; nor is it with the other kind in its header.
fn other_types(layout: Layout) {
    fn check<F: Subject, M: Subject>(of_filter: &[u8], of_maplet: &[u8]) {
        assert!(F::restored(of_filter).is_ok() && M::restored(of_maplet).is_ok());
        for error in [
            F::restored(of_maplet).unwrap_err(),
            F::from_snapshot(&Snapshot::from_bytes(of_maplet).unwrap()).unwrap_err(),
        ] {
            assert!(matches!(error, Error::OtherType { is_maplet: true }), "{error:?}");
        }
        let error = M::restored(of_filter).unwrap_err();
        assert!(matches!(error, Error::OtherType { is_maplet: false }), "{error:?}");
        let as_filter = forged(of_maplet, |bytes| bytes[at::KIND] &= 1);
        assert_error!(self::error::<M>(&as_filter), Error::ImpossibleTable { .. }, DO_NOT_TRUST);
    }
    let (of_fixed, maplet) = (fixed(layout), fixed_maplet(layout));
    check::<Filter, Maplet>(&of_fixed, &maplet);
    let error = GrowingMaplet::restored(&maplet).unwrap_err();
    assert!(matches!(error, Error::OtherKind { grows: false }), "{error:?}");
    let error = Maplet::<AnyLayout>::from_bytes(&maplet, StableHashBuilder::new(8)).unwrap_err();
    assert!(matches!(error, Error::OtherHasher), "{error:?}");
    if layout.grows() {
        let maplet = grown_maplet(layout);
        check::<Growing, GrowingMaplet>(&grown(layout), &maplet);
        let error = Maplet::<AnyLayout>::restored(&maplet).unwrap_err();
        assert!(matches!(error, Error::OtherKind { grows: true }), "{error:?}");
    }
}

/// Those that no maplet of the layout stores.
fn other_lengths_of_values(layout: Layout) {
    fn check<M: Subject>(bytes: &[u8], longest: u32) {
        for bits in [0, longest + 1, 64, 1 << 16, u32::MAX] {
            let error = error::<M>(&with_half(bytes, at::VALUE_BITS, bits));
            assert_error!(error, Error::ImpossibleTable { .. }, DO_NOT_TRUST);
        }
    }
    let longest = layout.longest_values();
    check::<Maplet>(&fixed_maplet(layout), longest);
    if layout.grows() {
        check::<GrowingMaplet>(&grown_maplet(layout), longest);
    }
}

/// With a value alone, a slot in use has nothing by which a key could be found.
fn slots_without_a_fingerprint(layout: Layout) {
    for bits in widths(layout.longest_values()) {
        let bytes = layout.maplet(16, bits).bytes();
        let with_slot = |slot| {
            forged(&bytes, |bytes| {
                put(bytes, HEADER, one_slot(slot, layout));
                put(bytes, at::OCCUPIED, 1);
            })
        };
        let shift = layout.bits - bits;
        for value in [1, (1_u64 << bits) - 1] {
            let alone = error::<Maplet>(&with_slot(value << shift));
            assert_error!(alone, Error::InvalidWord { bucket: 0 }, DO_NOT_TRUST);
            let with_fingerprint = Maplet::<AnyLayout>::restored(&with_slot(value << shift | 1));
            assert_eq!(with_fingerprint.unwrap().len(), 1);
        }
        assert!(Maplet::<AnyLayout>::restored(&with_slot(1)).is_ok(), "the value 0");
    }
}

fn impossible(bytes: &[u8], grows: bool) {
    let promised = number(bytes, at::WORDS);
    let error = if grows { error::<Growing>(bytes) } else { error::<Filter>(bytes) };
    assert_error!(
        error,
        Error::ImpossibleTable { words } if words == promised,
        DO_NOT_TRUST
    );
}

/// With this number in four bytes.
fn with_half(bytes: &[u8], at: usize, value: u32) -> Vec<u8> {
    forged(bytes, |bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()))
}

/// Headers of growing tables with loads that no builder takes, and with more items than the first size holds, or the
/// last one.
fn other_loads(layout: Layout, grown: &[u8]) {
    for load in [0, 1, 499, layout.highest_target + 1, 1000, u32::MAX] {
        impossible(&with_half(grown, at::TARGET_LOAD, load), true);
    }
    let most = layout.highest_target(true);
    let maplet = layout.maplets(1).max_capacity(20).target_load(f64::from(most) / 1000.0);
    let maplet = maplet.build().expect("memory for a test").bytes();
    assert!(GrowingMaplet::restored(&maplet).is_ok());
    let error = error::<GrowingMaplet>(&with_half(&maplet, at::TARGET_LOAD, most + 1));
    assert_error!(error, Error::ImpossibleTable { .. }, DO_NOT_TRUST);
    // Others are those of a table, if it holds what it is for.
    let small = forged(grown, |bytes| put(bytes, at::MAX_CAPACITY, 1));
    for load in [500, layout.highest_target] {
        let bytes = with_half(&small, at::TARGET_LOAD, load);
        assert!(Growing::from_bytes(&bytes, HASHER).is_ok());
    }
    for (capacity, buckets) in [(at::CAPACITY, at::FIRST), (at::MAX_CAPACITY, at::MAX_BUCKETS)] {
        let slots = number(grown, buckets) * layout.slots as u64;
        let most = (slots as f64 * layout.target()) as u64;
        let with_most = |more: u64| {
            forged(grown, |bytes| {
                put(bytes, at::MAX_CAPACITY, most);
                put(bytes, capacity, most + more);
            })
        };
        assert!(Growing::from_bytes(&with_most(0), HASHER).is_ok());
        impossible(&with_most(1), true);
    }
}

/// Headers with the right checksum that are those of no table.
fn other_fields(layout: Layout) {
    let (fixed, grown) = (fixed(layout), grown(layout));
    let fields = [at::FIRST, at::WORDS, at::MAX_BUCKETS, at::OCCUPIED, at::CAPACITY];
    for (bytes, grows) in [(&fixed, false), (&grown, true)] {
        // Numbers whose products and sums overflow, each field by itself and all at once.
        for value in [1 << 43, 1 << 60, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX] {
            for field in fields.into_iter().chain([at::DOUBLED]) {
                impossible(&with(bytes, field, value), grows);
            }
            let all = |bytes: &mut Vec<u8>| fields.into_iter().for_each(|at| put(bytes, at, value));
            impossible(&forged(bytes, all), grows);
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
                impossible(&with(bytes, field, value), grows);
            }
        }
    }
    // A table of fixed size has one size, one capacity, and nothing that belongs to growth.
    for (field, by) in [
        (at::FIRST, -2),
        (at::WORDS, 2),
        (at::MAX_BUCKETS, 2),
        (at::DOUBLED, 1),
        (at::MAX_CAPACITY, 1),
    ] {
        let value = number(&fixed, field).wrapping_add_signed(by);
        impossible(&with(&fixed, field, value), false);
    }
    other_loads(layout, &grown);
    impossible(&with_half(&fixed, at::TARGET_LOAD, layout.target), false);
    for bits in [1, 1 << 16, u32::MAX] {
        impossible(&with_half(&fixed, at::VALUE_BITS, bits), false);
        impossible(&with_half(&grown, at::VALUE_BITS, bits), true);
    }

    let byte = |at: usize, value: u8| error::<Filter>(&forged(&fixed, |bytes| bytes[at] = value));
    for kind in [4, 255] {
        assert_error!(
            byte(at::KIND, kind),
            Error::UnknownKind { kind: found } if found == kind,
            NEWER
        );
    }
    for (at, value) in
        [(at::ENCODING, 2), (at::ENCODING, 255), (at::BITS, 0), (at::BITS, 33), (at::SLOTS, 0)]
    {
        assert_error!(byte(at, value), Error::UnknownLayout { .. }, NEWER);
    }
    // One of another encoding that no layout has with these bits.
    let encoding = fixed[at::ENCODING] ^ 1;
    let error = byte(at::ENCODING, encoding);
    assert_error!(error, Error::UnknownLayout { encoding: found, .. } if found == encoding, NEWER);
}

/// Words that are none of the layout, and numbers of items that are not theirs.
fn other_words(layout: Layout) {
    fn check<S: Subject>(bytes: &[u8], words: &[u64]) {
        let buckets = number(bytes, at::WORDS) as usize;
        for &word in words {
            for bucket in [0, buckets / 2, buckets - 1] {
                let at = HEADER + 8 * bucket;
                assert_error!(
                    error::<S>(&with(bytes, at, word)),
                    Error::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Of two the first.
                let two = forged(bytes, |bytes| {
                    put(bytes, at, word);
                    put(bytes, HEADER + 8 * (buckets - 1), word);
                });
                assert_error!(
                    error::<S>(&two),
                    Error::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Damage comes first: it is what a user can mend.
                let mut damaged = two;
                *damaged.last_mut().unwrap() ^= 1;
                assert_error!(error::<S>(&damaged), Error::Damaged, ANOTHER_COPY);
            }
        }
        let found = number(bytes, at::OCCUPIED);
        for stated in [0, found - 1, found + 1] {
            assert_error!(
                error::<S>(&with(bytes, at::OCCUPIED, stated)),
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
    check::<Filter>(&fixed(layout), &words);
    check::<Growing>(&grown(layout), &words);
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
    impossible_entries_of::<Growing>(layout, 0, &grown(layout));
    for bits in widths(layout.longest_values()) {
        let bytes = layout.growing_maplet(1, 20, bits).bytes();
        assert_eq!((number(&bytes, at::FIRST), number(&bytes, at::WORDS)), (32, 32));
        impossible_entries_of::<GrowingMaplet>(layout, bits, &bytes);
    }
}

fn impossible_entries_of<S: Subject>(layout: Layout, value_bits: u32, bytes: &[u8]) {
    let (words, occupied) = (number(bytes, at::WORDS), number(bytes, at::OCCUPIED));
    let level = words.ilog2();
    let longest = 1 << layout.extra_bits(value_bits);
    let top = ((1_u64 << value_bits) - 1) as u32;
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
        for value in [0, top] {
            for &(core, ring) in &invalid {
                assert_error!(
                    error::<S>(&with_entry(core, ring, value)),
                    Error::InvalidWord { bucket: found } if found as u64 == bucket,
                    DO_NOT_TRUST
                );
            }
            for &(core, ring) in &valid {
                let restored = S::restored(&with_entry(core, ring, value)).unwrap();
                assert_eq!(restored.len() as u64, slots + number(bytes, at::COPIES));
            }
        }
        if top > 0 {
            let alone = error::<S>(&with_entry(0, 0, top));
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
    // 2^level buckets, as many as there are words for, and two buckets at first: entries know 1 + 7 bits or more.
    let bytes = |words: u64, bucket: usize, known: u32| {
        let ring = 1 << (known - words.ilog2());
        let word = Entry { layout, value_bits: 0, value: 0, core: 1, ring }.word(words);
        forged(&grown(layout), |bytes| {
            bytes.resize(HEADER + 8 * words as usize + 8, 0);
            bytes[HEADER..].fill(0);
            put(bytes, HEADER + 8 * bucket, word);
            put(bytes, at::FIRST, 2);
            put(bytes, at::WORDS, words);
            put(bytes, at::MAX_BUCKETS, 1000);
            put(bytes, at::OCCUPIED, 1);
        })
    };
    let restored = |bytes: &[u8]| Growing::from_bytes(bytes, HASHER);
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
    let grown = grown(layout);
    for [encoding, bits, slots] in [[0, 8, 8], [0, 9, 7], [0, 10, 6], [1, 14, 5], [1, 17, 4]] {
        let bytes = forged(&grown, |bytes| {
            bytes[at::ENCODING..at::FIRST].copy_from_slice(&[encoding, bits, slots]);
        });
        assert_error!(
            error::<Growing>(&bytes),
            Error::UnknownLayout { fingerprint_bits, .. } if fingerprint_bits == bits,
            NEWER
        );
    }
}

/// A valid snapshot, and a kind or a hasher that it is not for.
fn other_kinds(layout: Layout) {
    fn refused<L: Storage>(bytes: &[u8], hasher: StableHashBuilder) -> Error {
        let error = Filter::<L>::from_bytes(bytes, hasher).unwrap_err();
        let snapshot = Snapshot::from_bytes(bytes).unwrap();
        let of_snapshot = Filter::<L>::from_snapshot(&snapshot, hasher).unwrap_err();
        assert_eq!(format!("{of_snapshot:?}"), format!("{error:?}"));
        error
    }
    let (fixed, grown) = (fixed(layout), grown(layout));
    assert_error!(
        refused::<AnyLayout>(&grown, HASHER),
        Error::OtherKind { grows: true },
        ": restore a GrowableCuckooFilter"
    );
    assert_error!(
        refused::<Growable<AnyLayout>>(&fixed, HASHER),
        Error::OtherKind { grows: false },
        ", or an AnyCuckooFilter"
    );
    let needs = ", and a filter to be restored in another process a StableHashBuilder";
    let other = StableHashBuilder::new(8);
    assert_error!(refused::<AnyLayout>(&fixed, other), Error::OtherHasher, needs);
    let forged = with(&fixed, at::HASHER, number(&fixed, at::HASHER) ^ 1);
    assert_error!(refused::<AnyLayout>(&forged, HASHER), Error::OtherHasher, needs);
    // Changed in the file, it is damage and not another hasher.
    let mut damaged = fixed.clone();
    damaged[at::HASHER] ^= 1;
    assert_error!(error::<Filter>(&damaged), Error::Damaged, ANOTHER_COPY);
}

/// They are valid for it, or an error.
#[test]
fn words_under_the_header_of_another_layout() {
    let mut taken = 0;
    let all = LAYOUTS.map(fixed);
    for from in &all {
        for to in &all {
            let bytes = forged(from, |bytes| {
                bytes[at::ENCODING..at::FIRST].copy_from_slice(&to[at::ENCODING..at::FIRST]);
            });
            match Filter::<AnyLayout>::from_bytes(&bytes, HASHER) {
                Ok(filter) => {
                    assert_eq!(filter.len() as u64, number(&bytes, at::OCCUPIED));
                    taken += 1;
                }
                Err(error) => assert!(
                    matches!(
                        error,
                        Error::InvalidWord { .. }
                            | Error::WrongLen { .. }
                            | Error::ImpossibleTable { .. }
                    ),
                    "{error:?}"
                ),
            }
        }
    }
    assert!(taken >= 9, "each under its own");
}

#[test]
fn other_formats() {
    let text = "some other file, which is longer than the header of a snapshot is: 96 bytes, so \
                that there is a whole header to look at";
    let magic = ": they do not begin with the 8 bytes that every snapshot begins with";
    assert_error!(error::<Filter>(text.as_bytes()), Error::NotASnapshot, magic);
    assert_error!(error::<Filter>(&[0; 200]), Error::NotASnapshot, magic);
    // However few bytes there are: `truncated` has those that are the beginning of a snapshot.
    let mut almost = fixed(default_layout());
    almost[7] = b'\r';
    for few in [b"0", &b"ten bytes."[..], b"\x89PNG\r\n\x1a\n", &almost[..8], &almost[..111]] {
        assert_error!(error::<Filter>(few), Error::NotASnapshot, magic);
        assert_error!(error::<Growing>(few), Error::NotASnapshot, magic);
    }
    // As one that was written in text mode.
    let mut bytes = fixed(default_layout());
    bytes.insert(7, b'\r');
    assert_error!(error::<Filter>(&bytes), Error::NotASnapshot, magic);

    for version in [0, 2, 3, u32::MAX] {
        let bytes = forged(&fixed(default_layout()), |bytes| {
            bytes[at::VERSION..at::KIND].copy_from_slice(&version.to_le_bytes());
        });
        let newer = ": read it with the release that wrote it, or a newer one";
        assert_error!(error::<Filter>(&bytes), Error::UnknownVersion { version: v } if v == version, newer);
    }
}

#[test]
fn two_snapshots_in_one_stream() {
    let stream = [fixed(default_layout()), grown(Layout::named("Fp12x5"))].concat();
    let mut reader = &stream[..];
    let first = Filter::<AnyLayout>::restore(&mut reader, HASHER).unwrap();
    let second = Growing::restore(&mut reader, HASHER).unwrap();
    assert_eq!((first.layout_name(), second.layout_name()), ("Fp16x4", "Fp12x5"));
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
    type Restored = Filter<Growable<AnyLayout>>;

    let bytes = grown(default_layout());
    let restored = Restored::restore(OneByOne(&bytes), HASHER).unwrap();
    assert_eq!(restored.snapshot().unwrap().into_bytes(), bytes);
    let interrupted = Interrupted { bytes: &bytes, ready: false };
    let restored = Restored::restore(interrupted, HASHER).unwrap();
    assert_eq!(restored.snapshot().unwrap().into_bytes(), bytes);
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
    let bytes = fixed(default_layout());
    for len in 0..bytes.len() {
        let reader = bytes[..len].chain(Fails);
        let error = Filter::<AnyLayout>::restore(reader, HASHER).unwrap_err();
        let Error::Io { kind, .. } = error else { panic!("{len}: {error:?}") };
        assert_eq!(kind, io::ErrorKind::ConnectionReset);
        assert_eq!(error.to_string(), "the snapshot could not be read: the cable is cut");
    }
    // What is complete needs nothing more of it.
    assert!(Filter::<AnyLayout>::restore(bytes.chain(Fails), HASHER).is_ok());
}

/// Sets these fields to all values near theirs, and to some far from them, in an empty snapshot of a filter of fixed
/// size that has no other fault. What is restored is what is built for its capacity; says how many snapshots were
/// restored, and how many refused.
fn restored_and_refused(layout: Layout, fields: &[usize]) -> [usize; 2] {
    let bytes = snapshot(&layout.filter(100 * layout.slots), 0);
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
        let restored = Filter::<AnyLayout>::from_bytes(&bytes, HASHER);
        counts[usize::from(restored.is_err())] += 1;
        if let Ok(restored) = restored {
            let built = layout.filter(number(&bytes, at::CAPACITY) as usize);
            assert!(snapshot(&restored, 0) == snapshot(&built, 0), "{restored:?}, {built:?}");
            let figures = |filter: &Filter| (filter.memory_bytes(), filter.capacity());
            assert_eq!(figures(&restored), figures(&built));
        }
    }
    counts
}

of_each_layout! {
    buckets_follow_from_the_capacity
    the_capacity_fits_the_table
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
