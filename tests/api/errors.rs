//! What the errors say: whole messages, nothing twice, and that what they tell to do works.

use std::error::Error as _;
use std::io;

use coucal::{
    AnyCuckooFilter, BuildError, Builder, CuckooFilter, CuckooMaplet, Error, Fp12x5, Fp16x4,
    Fp21x3, GrowableCuckooFilter, InsertError, MergeError, ReserveError, RestoreError,
    SnapshotError, StableHashBuilder,
};

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Grows = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;

/// A filter of the default layout whose hashes are the same in every run.
fn filter(capacity: usize) -> CuckooFilter<Fp16x4, StableHashBuilder> {
    CuckooFilter::with_capacity_and_hasher(capacity, HASHER)
}

fn builder() -> Builder {
    CuckooFilter::builder()
}

fn maplet(value_bits: u32) -> CuckooMaplet {
    CuckooMaplet::builder().capacity(100).value_bits(value_bits).build().unwrap()
}

/// An error of a reader, with a cause below it.
fn io_error() -> io::Error {
    #[derive(Debug)]
    struct Cable;
    impl std::fmt::Display for Cable {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the network is gone")
        }
    }
    impl std::error::Error for Cable {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&RestoreError::Truncated)
        }
    }
    io::Error::other(Cable)
}

/// Every error of the crate, with its whole message.
#[expect(clippy::too_many_lines, reason = "a table")]
fn all() -> Vec<(Error, &'static str)> {
    let small = filter(100);
    let length = small.contains_many(&["a", "b", "c"], &mut [false; 2]).unwrap_err();
    let reserve = builder().capacity(100).max_capacity(1000).build().unwrap().reserve(5000);
    vec![
        (
            InsertError::Full.into(),
            "the filter is full: remove items, or build one with a larger capacity",
        ),
        (
            InsertError::OutOfMemory.into(),
            "the allocator could not provide the memory for the item: free memory and insert the item \
             again, or remove items",
        ),
        (
            InsertError::ValueTooLarge.into(),
            "the value has more bits than this maplet stores: build one with more value bits",
        ),
        (
            maplet(6).replace("egg", 1, 64).unwrap_err().into(),
            "the value has more bits than this maplet stores: build one with more value bits",
        ),
        (length.into(), "3 items need a slice of 3 answers, and it has 2: nothing was done"),
        (
            BuildError::CapacityOverflow { capacity: 9 }.into(),
            "a filter for 9 items is too large: no table has more than 2^44 slots",
        ),
        (
            BuildError::OutOfMemory { bytes: 9 }.into(),
            "the allocator could not provide the 9 bytes of the table",
        ),
        (
            BuildError::InvalidRate { rate: 1.5 }.into(),
            "a false-positive rate lies between 0 and 1, both excluded: 1.5",
        ),
        (
            BuildError::MaxCapacityTooLow { capacity: 9, max_capacity: 8 }.into(),
            "a filter cannot grow from 9 items to 8: max_capacity must not be below capacity",
        ),
        (
            BuildError::TargetLoadOutOfRange { layout: "Fp16x4", min: 0.5, max: 0.87 }.into(),
            "the target load of a growing filter in Fp16x4 lies between 0.5 and 0.87",
        ),
        (
            BuildError::RateOutOfReach { rate: 0.01, reached: 0.03, layout: Some("Fp12x5") }.into(),
            "this layout has a false-positive rate of 3.000e-2 at that capacity, above the requested \
             1.000e-2: Fp12x5 reaches it",
        ),
        (
            BuildError::RateOutOfReach { rate: 1e-12, reached: 1e-9, layout: None }.into(),
            "no layout has a false-positive rate below 1.000e-9 at that capacity, and 1.000e-12 was \
             requested",
        ),
        (
            BuildError::ValueBitsOutOfRange {
                layout: "Fp16x4",
                value_bits: 12,
                max: 10,
                other: Some("Fp21x3"),
            }
            .into(),
            "such a maplet in Fp16x4 stores values of at most 10 bits, and 12 were requested: Fp21x3 \
             stores them",
        ),
        (
            BuildError::ValueBitsOutOfRange {
                layout: "Fp16x4",
                value_bits: 30,
                max: 10,
                other: None,
            }
            .into(),
            "such a maplet in Fp16x4 stores values of at most 10 bits, and 30 were requested, which no \
             layout stores",
        ),
        (
            BuildError::ValueBitsOutOfRange {
                layout: "Fp16x4",
                value_bits: 0,
                max: 10,
                other: None,
            }
            .into(),
            "a maplet needs the length of its values: call `value_bits`",
        ),
        (
            reserve.unwrap_err().into(),
            "the filter grows to 1000 items, and 5000 need room: build one with a larger \
             max_capacity",
        ),
        (
            SnapshotError::OutOfMemory { bytes: 9 }.into(),
            "the allocator could not provide the 9 bytes of a snapshot",
        ),
        (
            RestoreError::Io(io_error()).into(),
            "the snapshot could not be read: the network is gone",
        ),
        (
            RestoreError::Truncated.into(),
            "the bytes end before the end of the snapshot: read another copy of it",
        ),
        (
            RestoreError::NotASnapshot.into(),
            "the bytes are not a snapshot of a filter: they do not begin with the 8 bytes that \
             `write_to` writes first",
        ),
        (
            RestoreError::UnknownVersion { version: 9 }.into(),
            "the snapshot has version 9, and this release reads version 1: read it with the release \
             that wrote it, or a newer one",
        ),
        (
            RestoreError::UnknownKind { kind: 9 }.into(),
            "the snapshot is of a filter of kind 9, which this release does not have: read it with \
             a newer one",
        ),
        (
            RestoreError::UnknownLayout { encoding: 9, fingerprint_bits: 16, slots: 4 }.into(),
            "the snapshot has 4 fingerprints of 16 bits in a bucket, in encoding 9, a layout that \
             this release does not have for filters of this kind: read it with a newer one",
        ),
        (
            RestoreError::Damaged.into(),
            "the snapshot is damaged, a checksum is wrong: read another copy of it",
        ),
        (
            RestoreError::ImpossibleTable { words: 9 }.into(),
            "the header of the snapshot states 9 words, and sizes that no table has: the checksums \
             match, so it was written this way: do not trust the writer",
        ),
        (
            RestoreError::InvalidWord { bucket: 9 }.into(),
            "bucket 9 of the snapshot holds a word that no such bucket has: the checksums match, \
             so it was written this way: do not trust the writer",
        ),
        (
            RestoreError::WrongLen { stated: 9, found: 8 }.into(),
            "the snapshot holds 8 items, and its header says 9: the checksums match, so it was \
             written this way: do not trust the writer",
        ),
        (
            RestoreError::OtherKind { grows: true }.into(),
            "the snapshot is of a filter that grows: restore a GrowableCuckooFilter",
        ),
        (
            RestoreError::OtherKind { grows: false }.into(),
            "the snapshot is of a filter of fixed size: restore a CuckooFilter of its layout, or an \
             AnyCuckooFilter",
        ),
        (
            RestoreError::OtherType { is_maplet: true }.into(),
            "the snapshot is of a maplet: restore a CuckooMaplet",
        ),
        (
            RestoreError::OtherType { is_maplet: false }.into(),
            "the snapshot is of a filter: restore a CuckooFilter",
        ),
        (
            RestoreError::OtherLayout { snapshot: "Fp16x4", filter: "Fp12x5" }.into(),
            "the snapshot has the layout Fp16x4 and not Fp12x5: restore a filter of that layout, or \
             of AnyLayout",
        ),
        (
            RestoreError::OtherHasher.into(),
            "the filter of the snapshot had another hasher, or another seed: a filter to be \
             restored in another process needs a StableHashBuilder",
        ),
        (
            RestoreError::TrailingBytes { bytes: 9 }.into(),
            "9 bytes follow the snapshot: `restore` leaves them to its reader",
        ),
        (
            RestoreError::OutOfMemory { bytes: 9 }.into(),
            "the allocator could not provide 9 bytes for the table",
        ),
        (MergeError::OtherLayout.into(), "filters of two layouts cannot be merged"),
        (
            MergeError::OtherSize { slots: 9, other: 8 }.into(),
            "filters of fixed size with 9 and 8 slots cannot be merged: build both with the same \
             capacity",
        ),
        (
            MergeError::OtherHasher.into(),
            "filters with two hashers cannot be merged: build one with a clone of the other's",
        ),
        (
            MergeError::OtherValueBits { value_bits: 6, other: 7 }.into(),
            "maplets with values of 6 and of 7 bits cannot be merged: build both with the same value \
             bits",
        ),
        (MergeError::Full.into(), "this filter has no room for the items of both"),
        (
            MergeError::NoMemoryToGrow.into(),
            "the allocator could not provide the memory for this filter to grow: free memory and merge \
             again",
        ),
        (
            ReserveError::OutOfMemory { bytes: 9 }.into(),
            "the allocator could not provide 9 bytes for the filter to grow: free memory, or reserve \
             less",
        ),
        (
            MergeError::OutOfMemory { bytes: 9 }.into(),
            "the allocator could not provide the 9 bytes of a snapshot",
        ),
    ]
}

#[test]
fn each_error_has_its_message() {
    for (error, message) in all() {
        assert_eq!(error.to_string(), message, "{error:?}");
    }
}

#[test]
fn an_error_and_its_sources_say_nothing_twice() {
    for (error, _) in all() {
        let mut chain = vec![error.to_string()];
        let mut source = error.source();
        while let Some(error) = source {
            chain.push(error.to_string());
            source = error.source();
        }
        let chain = chain.join(": ");
        let mut said: Vec<&str> = chain.split(": ").collect();
        said.sort_unstable();
        assert!(said.windows(2).all(|pair| pair[0] != pair[1]), "{chain}");
    }
    // What is below the error of a reader is not lost.
    let error = Error::from(RestoreError::Io(io_error()));
    assert_eq!(error.source().map(ToString::to_string), Some(RestoreError::Truncated.to_string()));
}

#[test]
fn what_the_errors_of_inserts_tell_to_do_works() {
    let small = filter(100);
    let failed =
        (0..1000).find(|n| small.insert(n) == Err(InsertError::Full)).expect("it is small");
    assert!((0..failed / 2).all(|n| small.remove(&n)));
    assert_eq!(small.insert(&failed), Ok(()));
    let full = small.insert_many(&(1000..2000).collect::<Vec<_>>()).unwrap_err();
    let expected =
        format!("stored the first {} items and no more: {}", full.stored(), full.cause());
    assert_eq!((full.to_string(), full.cause()), (expected, InsertError::Full));
    let twice = (0..1000).flat_map(|n| [n, n]);
    let full = filter(100).insert_unique_all(twice).unwrap_err();
    assert!(full.stored() < full.index());
    let expected = format!(
        "stored the {} new ones of the first {} items and no more: {}",
        full.stored(),
        full.index(),
        full.cause()
    );
    assert_eq!(full.to_string(), expected);
    let larger = filter(2000);
    assert!((0..1000).all(|n| larger.insert(&n).is_ok()));

    let growing = builder().capacity(100).max_capacity(1000).build().unwrap();
    let error = growing.reserve(5000).unwrap_err();
    let ReserveError::AboveMaxCapacity { wanted, .. } = error else { panic!("{error}") };
    let larger = builder().capacity(100).max_capacity(wanted).build().unwrap();
    assert_eq!(larger.reserve(5000), Ok(()));
}

#[test]
fn what_the_errors_of_building_tell_to_do_works() {
    let error = builder().layout::<Fp16x4>().capacity(1000).false_positive_rate(1e-5).build();
    let BuildError::RateOutOfReach { layout, reached, .. } = error.unwrap_err() else { panic!() };
    assert_eq!(layout, Some("Fp21x3"));
    assert!(builder().layout::<Fp21x3>().capacity(1000).false_positive_rate(1e-5).build().is_ok());
    assert!(builder().capacity(1000).false_positive_rate(reached * 1.001).build().is_ok());

    // At the greatest capacity of one that grows.
    let grows = || builder().capacity(1000).max_capacity(1_000_000).false_positive_rate(1e-4);
    let error = grows().layout::<Fp16x4>().build().unwrap_err();
    let BuildError::RateOutOfReach { layout, reached, .. } = error else { panic!() };
    assert_eq!(layout, Some("Fp21x3"));
    assert!(grows().layout::<Fp21x3>().build().is_ok());
    assert!(grows().false_positive_rate(reached * 1.001).build().is_ok());

    let error = grows().layout::<Fp21x3>().target_load(0.9).build().unwrap_err();
    let BuildError::TargetLoadOutOfRange { layout: "Fp21x3", min, max } = error else { panic!() };
    for load in [min, max] {
        assert!(grows().layout::<Fp21x3>().target_load(load).build().is_ok());
    }
}

#[test]
fn what_the_errors_of_restoring_tell_to_do_works() {
    let filter = filter(100);
    filter.insert("egg").unwrap();
    let bytes = filter.snapshot().unwrap().to_bytes();
    let error = Grows::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, RestoreError::OtherKind { grows: false }));
    let error = CuckooFilter::<Fp12x5, _>::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, RestoreError::OtherLayout { .. }));
    let other = StableHashBuilder::new(8);
    let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, other).unwrap_err();
    assert!(matches!(error, RestoreError::OtherHasher));
    // All three tell the same: the layout or any, of fixed size, with the hasher that it had.
    assert!(CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, HASHER).unwrap().contains("egg"));
    assert!(AnyCuckooFilter::from_bytes(&bytes, HASHER).unwrap().contains("egg"));

    let grows = builder().hasher(HASHER).capacity(100).max_capacity(1000).build().unwrap();
    grows.insert("egg").unwrap();
    let bytes = grows.snapshot().unwrap().to_bytes();
    let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, RestoreError::OtherKind { grows: true }));
    assert!(Grows::from_bytes(&bytes, HASHER).unwrap().contains("egg"));

    // `restore` leaves to its reader what `from_bytes` refuses.
    let longer = [&bytes[..], b"more"].concat();
    let error = Grows::from_bytes(&longer, HASHER).unwrap_err();
    assert!(matches!(error, RestoreError::TrailingBytes { bytes: 4 }));
    let mut reader = &longer[..];
    assert!(Grows::restore(&mut reader, HASHER).unwrap().contains("egg"));
    assert_eq!(reader, b"more");
}

#[test]
fn what_the_errors_of_merging_tell_to_do_works() {
    let grows = |max| builder().hasher(HASHER).max_capacity(max).build().unwrap();
    assert_eq!(grows(1_000_000).merge(&grows(2)), Ok(()));
    assert_eq!(grows(2).merge(&grows(1_000_000)), Ok(()));
    let (one, larger) = (filter(100), filter(1000));
    larger.insert("egg").unwrap();
    assert!(matches!(one.merge(&larger), Err(MergeError::OtherSize { .. })));
    assert_eq!(filter(1000).merge(&larger), Ok(()));

    let [one, other] = [0; 2].map(|_| CuckooFilter::with_capacity(100));
    other.insert("egg").unwrap();
    assert_eq!(one.merge(&other), Err(MergeError::OtherHasher));
    let clone = CuckooFilter::with_capacity_and_hasher(100, other.hasher().clone());
    assert_eq!(clone.merge(&other), Ok(()));
    assert!(clone.contains("egg"));
}
