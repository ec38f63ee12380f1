//! Bytes that are no valid snapshot: each is an error that says which and what to do, and none a panic.

use std::io::{self, Read};

use coucal::{AnyLayout, Growable, RestoreError, Snapshot, StableHashBuilder, Storage};
use coucal_reference::LAYOUTS;
use coucal_reference::format::{HEADER, at, number, seal};

use crate::common::{Filter, HASHER, Layout, default_layout};

of_each_growing_layout! {
    truncated
    a_bit_flipped
    other_fields
    other_words
    impossible_entries
    other_versions
    other_target_loads
    other_kinds
}

/// Six buckets or so, half full.
fn fixed(layout: Layout) -> Vec<u8> {
    let filter = layout.filters().capacity(16).build().unwrap();
    snapshot(&filter, 12)
}

/// In the middle of the first level.
fn grown(layout: Layout) -> Vec<u8> {
    let most = 60 * layout.slots;
    let builder = layout.filters().max_capacity(most);
    let bytes = snapshot(&builder.build().unwrap(), 34 * layout.slots as u64);
    assert_eq!((number(&bytes, at::ROWS), bytes[at::LEVEL]), (32, 0));
    assert!(number(&bytes, at::CURSOR) > 0);
    bytes
}

fn snapshot<L: Storage>(filter: &Filter<L>, items: u64) -> Vec<u8> {
    (0..items).for_each(|item| filter.insert(&item).unwrap());
    filter.snapshot().unwrap().to_bytes()
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// These bytes with a change, and with both checksums as they should be then.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    seal(&mut bytes);
    bytes
}

/// One field set to a number.
fn with(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    forged(bytes, |bytes| put(bytes, at, value))
}

/// What reading says, by each way of reading: all say the same.
fn error<L: Storage>(bytes: &[u8]) -> RestoreError {
    let error = Filter::<L>::from_bytes(bytes, HASHER).unwrap_err();
    let of_snapshot = Snapshot::from_bytes(bytes).unwrap_err();
    assert_eq!(format!("{of_snapshot:?}"), format!("{error:?}"));
    let by_bytes = Filter::<L>::restore(OneByOne(bytes), HASHER);
    match &error {
        RestoreError::TrailingBytes { .. } => assert!(by_bytes.is_ok()),
        _ => assert_eq!(format!("{:?}", by_bytes.unwrap_err()), format!("{error:?}")),
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

fn truncated(layout: Layout) {
    for len in 0..fixed(layout).len() {
        assert_error!(
            error::<AnyLayout>(&fixed(layout)[..len]),
            RestoreError::Truncated,
            ANOTHER_COPY
        );
    }
    let bytes = grown(layout);
    for len in 0..bytes.len() {
        let error = error::<Growable<AnyLayout>>(&bytes[..len]);
        assert!(matches!(error, RestoreError::Truncated), "{len}: {error:?}");
    }
}

fn a_bit_flipped(layout: Layout) {
    fn check<St: Storage>(mut bytes: Vec<u8>) {
        let version = u32::from(bytes[at::VERSION]);
        for bit in 0..8 * bytes.len() {
            let at = bit / 8;
            bytes[at] ^= 1 << (bit % 8);
            let error = Filter::<St>::from_bytes(&bytes, HASHER).unwrap_err();
            let expected = match at {
                0..at::VERSION => matches!(error, RestoreError::NotASnapshot),
                at::VERSION..at::KIND => match version ^ 1 << (bit - 8 * at::VERSION) {
                    // That of maplets, and the header is not one of them.
                    3 => matches!(error, RestoreError::Damaged),
                    flipped => {
                        matches!(error, RestoreError::UnknownVersion { version } if version == flipped)
                    }
                },
                _ => matches!(error, RestoreError::Damaged),
            };
            assert!(expected, "bit {bit}: {error:?}");
            bytes[at] ^= 1 << (bit % 8);
        }
    }
    check::<AnyLayout>(fixed(layout));
    check::<Growable<AnyLayout>>(grown(layout));
}

/// Headers with the right checksum that are those of no table.
fn other_fields(layout: Layout) {
    let (fixed, grown) = (fixed(layout), grown(layout));
    let impossible = |bytes: &[u8], grows: bool| {
        let promised = number(bytes, at::WORDS);
        let error =
            if grows { error::<Growable<AnyLayout>>(bytes) } else { error::<AnyLayout>(bytes) };
        assert_error!(
            error,
            RestoreError::ImpossibleTable { words } if words == promised,
            DO_NOT_TRUST
        );
    };
    let fields = [at::ROWS, at::MAX_BUCKETS, at::WORDS, at::ITEMS, at::CAPACITY, at::MAX_CAPACITY];
    for (bytes, grows) in [(&fixed, false), (&grown, true)] {
        // Numbers whose products and sums overflow, each field by itself and all at once.
        for value in [1 << 43, 1 << 60, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX] {
            for field in fields.into_iter().chain([at::LEVEL, at::CURSOR]) {
                impossible(&with(bytes, field, value), grows);
            }
            let all = |bytes: &mut Vec<u8>| fields.into_iter().for_each(|at| put(bytes, at, value));
            impossible(&forged(bytes, all), grows);
        }
        let of = |at| number(bytes, at);
        let slots = layout.slots as u64;
        // Zeros, odd rows, and one more or less than there can be.
        for (field, value) in [
            (at::ROWS, 0),
            (at::ROWS, 1),
            (at::ROWS, of(at::ROWS) + 1),
            (at::ROWS, of(at::ROWS) + 2),
            (at::MAX_BUCKETS, 0),
            (at::MAX_BUCKETS, of(at::MAX_BUCKETS) + 1),
            (at::MAX_BUCKETS, of(at::WORDS) - 1),
            (at::WORDS, 0),
            (at::WORDS, of(at::WORDS) + 1),
            (at::WORDS, of(at::WORDS) - 1),
            (at::LEVEL, of(at::LEVEL) + 1),
            (at::LEVEL, 64),
            (at::LEVEL, 1 << 32),
            (at::CURSOR, of(at::CURSOR) + 1),
            (at::CURSOR, of(at::ROWS)),
            (at::ITEMS, of(at::WORDS) * slots + 1),
            (at::CAPACITY, of(at::ROWS) * slots + 1),
            (at::CAPACITY, of(at::MAX_CAPACITY) + 1),
            (at::MAX_CAPACITY, of(at::MAX_BUCKETS) * slots + 1),
        ] {
            impossible(&with(bytes, field, value), grows);
        }
    }
    // More buckets than it may ever have, those of a table that is never to grow.
    let too_grown = forged(&grown, |bytes| {
        put(bytes, at::MAX_BUCKETS, number(&grown, at::ROWS));
        put(bytes, at::MAX_CAPACITY, number(&grown, at::CAPACITY));
    });
    impossible(&too_grown, true);
    // A table of fixed size has one capacity.
    impossible(&with(&fixed, at::CAPACITY, number(&fixed, at::CAPACITY) - 1), false);
    // More often doubled than its entries have bits for, or from too few rows.
    let too_far = (32 << layout.doublings) + 2;
    impossible(&with(&grown, at::MAX_BUCKETS, too_far), true);
    let few_rows = forged(&grown, |bytes| {
        for (field, value) in [
            (at::ROWS, 30),
            (at::LEVEL, 0),
            (at::CURSOR, 0),
            (at::WORDS, 30),
            (at::ITEMS, 0),
            (at::CAPACITY, 0),
        ] {
            put(bytes, field, value);
        }
    });
    impossible(&few_rows, true);

    let byte =
        |at: usize, value: u8| error::<AnyLayout>(&forged(&fixed, |bytes| bytes[at] = value));
    for kind in [4, 255] {
        assert_error!(
            byte(at::KIND, kind),
            RestoreError::UnknownKind { kind: found } if found == kind,
            NEWER
        );
    }
    for (at, value) in
        [(at::ENCODING, 2), (at::ENCODING, 255), (at::BITS, 0), (at::BITS, 33), (at::SLOTS, 0)]
    {
        assert_error!(byte(at, value), RestoreError::UnknownLayout { .. }, NEWER);
    }
    // One of another encoding that no layout has with these bits.
    let encoding = fixed[at::ENCODING] ^ 1;
    let (bits, slots) = (layout.bits as u8, layout.slots as u8);
    let error = byte(at::ENCODING, encoding);
    let expected = format!(
        "the snapshot has {slots} fingerprints of {bits} bits in a bucket, in encoding {encoding}, \
         a layout that this release does not have for filters of this kind: read it with a newer one"
    );
    assert_eq!(error.to_string(), expected);
    assert!(
        matches!(error, RestoreError::UnknownLayout { encoding: found, .. } if found == encoding)
    );
}

/// Words that are none of the layout, and numbers of items that are not theirs.
fn other_words(layout: Layout) {
    fn check<St: Storage>(bytes: &[u8], words: &[u64]) {
        let buckets = number(bytes, at::WORDS) as usize;
        for &word in words {
            for bucket in [0, buckets / 2, buckets - 1] {
                let at = HEADER + 8 * bucket;
                assert_error!(
                    error::<St>(&with(bytes, at, word)),
                    RestoreError::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Of two the first.
                let two = forged(bytes, |bytes| {
                    put(bytes, at, word);
                    put(bytes, HEADER + 8 * (buckets - 1), word);
                });
                assert_error!(
                    error::<St>(&two),
                    RestoreError::InvalidWord { bucket: found } if found == bucket,
                    DO_NOT_TRUST
                );
                // Damage comes first: it is what a user can mend.
                let mut damaged = two;
                *damaged.last_mut().unwrap() ^= 1;
                assert_error!(error::<St>(&damaged), RestoreError::Damaged, ANOTHER_COPY);
            }
        }
        let found = number(bytes, at::ITEMS);
        for stated in [0, found - 1, found + 1] {
            assert_error!(
                error::<St>(&with(bytes, at::ITEMS, stated)),
                RestoreError::WrongLen { stated: a, found: b }
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
    check::<AnyLayout>(&fixed(layout), &words);
    check::<Growable<AnyLayout>>(&grown(layout), &words);
}

/// Entries of a table that grows: without a core, without the 1 above their extra bits, and with a bit
/// that the position of the bucket tells.
fn impossible_entries(layout: Layout) {
    let bytes = grown(layout);
    let (rows, cursor) = (number(&bytes, at::ROWS), number(&bytes, at::CURSOR));
    let upper = 1 << (layout.doublings + 1);
    let with_word = |bucket: u64, word: u64| {
        // At level 0, so bit 0 is the 1.
        let at = HEADER + 8 * bucket as usize;
        (at, with(&bytes, at, word))
    };
    let mut told = 0;
    for bucket in 0..number(&bytes, at::WORDS) {
        let is_split = bucket < cursor || bucket >= rows;
        let mut invalid = vec![1, upper, upper - 1, upper << 1, 3, (upper | 1) << layout.bits];
        let told_bit = upper | 0b11;
        if is_split {
            invalid.push(told_bit);
            told += 1;
        } else {
            let (at, possible) = with_word(bucket, told_bit);
            let held = |word: u64| {
                (0..layout.slots as u32).filter(|slot| word >> (slot * layout.bits) != 0).count()
            };
            let items = number(&bytes, at::ITEMS) as usize + 1 - held(number(&bytes, at));
            let possible = with(&possible, at::ITEMS, items as u64);
            assert!(Filter::<Growable<AnyLayout>>::from_bytes(&possible, HASHER).is_ok());
        }
        for word in invalid {
            assert_error!(
                error::<Growable<AnyLayout>>(&with_word(bucket, word).1),
                RestoreError::InvalidWord { bucket: found } if found as u64 == bucket,
                DO_NOT_TRUST
            );
        }
    }
    assert!(told > 0 && told < number(&bytes, at::WORDS));
}

/// Kinds under the version of the other, and layouts that do not grow.
fn other_versions(layout: Layout) {
    let (fixed, grown) = (fixed(layout), grown(layout));
    for of_version_1 in [
        forged(&fixed, |bytes| bytes[at::KIND] = 1),
        forged(&grown, |bytes| bytes[at::VERSION] = 1),
    ] {
        assert_error!(
            error::<Growable<AnyLayout>>(&of_version_1),
            RestoreError::OldGrowable,
            ": build the filter from its items again"
        );
    }
    for (bytes, version) in [
        (forged(&fixed, |bytes| bytes[at::VERSION] = 2), 2),
        (forged(&grown, |bytes| bytes[at::KIND] = 0), 2),
        // Those of maplets.
        (forged(&fixed, |bytes| bytes[at::VERSION] = 3), 3),
        (forged(&grown, |bytes| bytes[at::VERSION] = 3), 3),
        (forged(&fixed, |bytes| bytes[at::KIND] = 2), 1),
        (forged(&grown, |bytes| bytes[at::KIND] = 3), 2),
    ] {
        let error = error::<AnyLayout>(&bytes);
        assert!(
            matches!(error, RestoreError::UnknownVersion { version: found } if found == version),
            "{error:?}"
        );
    }
    for [encoding, bits, slots] in [[0, 8, 8], [0, 9, 7], [0, 10, 6], [1, 14, 5], [1, 17, 4]] {
        let bytes = forged(&grown, |bytes| {
            bytes[at::ENCODING..at::ROWS].copy_from_slice(&[encoding, bits, slots]);
        });
        assert_error!(
            error::<Growable<AnyLayout>>(&bytes),
            RestoreError::UnknownLayout { fingerprint_bits, .. } if fingerprint_bits == bits,
            NEWER
        );
    }
}

/// Target loads that no builder takes, and one that these sizes do not follow from.
fn other_target_loads(layout: Layout) {
    let [_, grown] = empty(layout);
    let with_load = |load: u32| {
        forged(&grown, |bytes| {
            bytes[at::TARGET_LOAD..at::CURSOR].copy_from_slice(&load.to_le_bytes());
        })
    };
    let highest = layout.highest_target;
    for load in [0, 1, 499, 500, highest, highest + 1, 1000, u32::MAX] {
        let error = error::<Growable<AnyLayout>>(&with_load(load));
        assert!(matches!(error, RestoreError::ImpossibleTable { .. }), "{load}: {error:?}");
    }
    let same = (layout.target() * 1000.0).round() as u32;
    assert!(with_load(same) == grown);
}

/// A valid snapshot, and a kind or a hasher that it is not for.
fn other_kinds(layout: Layout) {
    fn refused<L: Storage>(bytes: &[u8], hasher: StableHashBuilder) -> RestoreError {
        let error = Filter::<L>::from_bytes(bytes, hasher).unwrap_err();
        let snapshot = Snapshot::from_bytes(bytes).unwrap();
        let of_snapshot = Filter::<L>::from_snapshot(snapshot, hasher).unwrap_err();
        assert_eq!(format!("{of_snapshot:?}"), format!("{error:?}"));
        error
    }
    let (fixed, grown) = (fixed(layout), grown(layout));
    assert_error!(
        refused::<AnyLayout>(&grown, HASHER),
        RestoreError::OtherKind { grows: true },
        ": restore a GrowableCuckooFilter"
    );
    assert_error!(
        refused::<Growable<AnyLayout>>(&fixed, HASHER),
        RestoreError::OtherKind { grows: false },
        ", or an AnyCuckooFilter"
    );
    let needs = ": a filter to be restored in another process needs a StableHashBuilder";
    let other = StableHashBuilder::new(8);
    assert_error!(refused::<AnyLayout>(&fixed, other), RestoreError::OtherHasher, needs);
    let forged = with(&fixed, at::HASHER, number(&fixed, at::HASHER) ^ 1);
    assert_error!(refused::<AnyLayout>(&forged, HASHER), RestoreError::OtherHasher, needs);
    // Changed in the file, it is damage and not another hasher.
    let mut damaged = fixed.clone();
    damaged[at::HASHER] ^= 1;
    assert_error!(error::<AnyLayout>(&damaged), RestoreError::Damaged, ANOTHER_COPY);
}

/// They are valid for it, or an error.
#[test]
fn words_under_the_header_of_another_layout() {
    let mut taken = 0;
    let all = LAYOUTS.map(fixed);
    for from in &all {
        for to in &all {
            let bytes = forged(from, |bytes| {
                bytes[at::ENCODING..at::ROWS].copy_from_slice(&to[at::ENCODING..at::ROWS]);
            });
            match Filter::<AnyLayout>::from_bytes(&bytes, HASHER) {
                Ok(filter) => {
                    assert_eq!(filter.len() as u64, number(&bytes, at::ITEMS));
                    taken += 1;
                }
                Err(error) => assert!(
                    matches!(
                        error,
                        RestoreError::InvalidWord { .. }
                            | RestoreError::WrongLen { .. }
                            | RestoreError::ImpossibleTable { .. }
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
    let magic = ": they do not begin with the 8 bytes that `write_to` writes first";
    assert_error!(error::<AnyLayout>(text.as_bytes()), RestoreError::NotASnapshot, magic);
    assert_error!(error::<AnyLayout>(&[0; 200]), RestoreError::NotASnapshot, magic);
    // As one that was written in text mode.
    let mut bytes = fixed(default_layout());
    bytes.insert(7, b'\r');
    assert_error!(error::<AnyLayout>(&bytes), RestoreError::NotASnapshot, magic);

    for version in [0, 2, 3, u32::MAX] {
        let bytes = forged(&fixed(default_layout()), |bytes| {
            bytes[at::VERSION..at::KIND].copy_from_slice(&version.to_le_bytes());
        });
        let error = error::<AnyLayout>(&bytes);
        assert!(matches!(error, RestoreError::UnknownVersion { version: v } if v == version));
        let expected = format!(
            "the snapshot has version {version}, and this release reads version 1 of filters of fixed \
             size, version 2 of filters that grow and version 3 of maplets: read it with the release that \
             wrote it, or a newer one"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn trailing_bytes() {
    for more in [1, 8, 1000] {
        let mut bytes = fixed(default_layout());
        bytes.resize(bytes.len() + more, 0);
        assert_error!(
            error::<AnyLayout>(&bytes),
            RestoreError::TrailingBytes { bytes } if bytes == more,
            ": `restore` leaves them to its reader"
        );
    }
    // Two snapshots in one stream.
    let stream = [fixed(default_layout()), grown(Layout::named("Fp12x5"))].concat();
    let mut reader = &stream[..];
    let first = Filter::<AnyLayout>::restore(&mut reader, HASHER).unwrap();
    let second = Filter::<Growable<AnyLayout>>::restore(&mut reader, HASHER).unwrap();
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
    assert_eq!(restored.snapshot().unwrap().to_bytes(), bytes);
    let interrupted = Interrupted { bytes: &bytes, ready: false };
    let restored = Restored::restore(interrupted, HASHER).unwrap();
    assert_eq!(restored.snapshot().unwrap().to_bytes(), bytes);
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
        let RestoreError::Io(cause) = &error else { panic!("{len}: {error:?}") };
        assert_eq!(cause.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(error.to_string(), "the snapshot could not be read: the cable is cut");
    }
    // What is complete needs nothing more of it.
    assert!(Filter::<AnyLayout>::restore(bytes.chain(Fails), HASHER).is_ok());
}

/// Sets these fields to all values near theirs, and to some far from them, in an empty snapshot that has
/// no other fault. What is restored is what is built for its capacities; says how many snapshots were
/// restored, and how many refused.
fn restored_and_refused(layout: Layout, bytes: &[u8], fields: &[usize]) -> [usize; 2] {
    fn is_as_built<St: Storage>(bytes: &[u8], build: impl FnOnce() -> Filter<St>) -> bool {
        let Ok(restored) = Filter::<St>::from_bytes(bytes, HASHER) else { return false };
        let built = build();
        assert!(snapshot(&restored, 0) == snapshot(&built, 0), "{restored:?}, {built:?}");
        let bytes = |filter: &Filter<St>| (filter.memory_bytes(), filter.capacity());
        assert_eq!(bytes(&restored), bytes(&built));
        true
    }
    let old = number(bytes, fields[0]);
    let near = old.saturating_sub(20)..=old + 20;
    let far = (1..10).flat_map(|bits| [old << bits, old >> bits]);
    let mut counts = [0; 2];
    for value in near.chain(far) {
        let rows = if fields.contains(&at::ROWS) { value } else { number(bytes, at::ROWS) };
        let bytes = forged(bytes, |bytes| {
            for &at in fields {
                put(bytes, at, value);
            }
            // As many words as rows: it has not grown yet.
            put(bytes, at::WORDS, rows);
            bytes.resize(HEADER + 8 * rows as usize + 8, 0);
        });
        let builder = layout.filters();
        let builder = builder.capacity(number(&bytes, at::CAPACITY) as usize);
        let restored = if bytes[at::KIND] == 0 {
            is_as_built::<AnyLayout>(&bytes, || builder.build().unwrap())
        } else {
            let most = number(&bytes, at::MAX_CAPACITY) as usize;
            is_as_built(&bytes, || builder.max_capacity(most).build().unwrap())
        };
        counts[usize::from(!restored)] += 1;
    }
    counts
}

of_each_growing_layout! {
    rows_follow_from_the_capacity
    the_maximum_follows_from_the_maximum_capacity
    the_capacity_fits_the_table
    the_maximum_capacity_fits_the_table
}

/// Empty snapshots of a filter of fixed size, and of one that grows from more than the fewest rows.
fn empty(layout: Layout) -> [Vec<u8>; 2] {
    let builder = layout.filters().capacity(100 * layout.slots);
    let growing = builder.clone().max_capacity(300 * layout.slots).build().unwrap();
    [snapshot(&builder.build().unwrap(), 0), snapshot(&growing, 0)]
}

/// One value is left: the table's own.
fn rows_follow_from_the_capacity(layout: Layout) {
    let [fixed, growing] = empty(layout);
    let [restored, refused] = restored_and_refused(layout, &fixed, &[at::ROWS, at::MAX_BUCKETS]);
    assert!(restored == 1 && refused > 50, "{restored}, {refused}");
    let [restored, refused] = restored_and_refused(layout, &growing, &[at::ROWS]);
    assert!(restored == 1 && refused > 50, "{restored}, {refused}");
}

fn the_maximum_follows_from_the_maximum_capacity(layout: Layout) {
    let [_, growing] = empty(layout);
    let [restored, refused] = restored_and_refused(layout, &growing, &[at::MAX_BUCKETS]);
    assert!(restored == 1 && refused > 50, "{restored}, {refused}");
}

/// The items for which a table is made are those of one pair of buckets more or less.
fn the_capacity_fits_the_table(layout: Layout) {
    let [fixed, growing] = empty(layout);
    for (bytes, fields) in
        [(fixed, &[at::CAPACITY, at::MAX_CAPACITY][..]), (growing, &[at::CAPACITY])]
    {
        let [restored, refused] = restored_and_refused(layout, &bytes, fields);
        assert!(
            (1..=2 * layout.slots).contains(&restored) && refused > 20,
            "{restored}, {refused}"
        );
    }
}

fn the_maximum_capacity_fits_the_table(layout: Layout) {
    let [_, growing] = empty(layout);
    let [restored, refused] = restored_and_refused(layout, &growing, &[at::MAX_CAPACITY]);
    assert!((1..=2 * layout.slots).contains(&restored) && refused > 20, "{restored}, {refused}");
}

/// 360 bytes ask for no 17 GB of address space for a filter that says it is for 10 items.
#[test]
fn a_maximum_far_beyond_the_maximum_capacity() {
    let builder = Layout::named("Fp32x2").filters();
    let bytes = snapshot(&builder.max_capacity(10).build().unwrap(), 0);
    let bytes = with(&bytes, at::MAX_BUCKETS, 1 << 31);
    assert_eq!(bytes.len(), 360);
    assert_error!(
        error::<Growable<AnyLayout>>(&bytes),
        RestoreError::ImpossibleTable { words: 32 },
        DO_NOT_TRUST
    );
}
