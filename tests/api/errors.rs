//! What the errors say: whole messages, nothing twice, and that what they tell to do works.

use std::error::Error as _;
use std::io;

use coucal::{
    AnyCuckooFilter, Builder, Candidates, CuckooFilter, CuckooMaplet, Error, Fp12x5, Fp16x4,
    Fp21x3, GrowableCuckooFilter, GrowableCuckooMaplet, Snapshot, StableHashBuilder,
};

use crate::common::stopped;

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Grows = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;

/// A filter of the default layout whose hashes are the same in every run.
fn filter(capacity: usize) -> CuckooFilter<Fp16x4, StableHashBuilder> {
    CuckooFilter::with_capacity_and_hasher(capacity, HASHER)
}

fn builder() -> Builder {
    CuckooFilter::builder()
}

/// That of a reader whose error has a cause.
fn of_reader() -> Error {
    #[derive(Debug)]
    struct Cut;
    impl std::fmt::Display for Cut {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a cable was cut")
        }
    }
    impl std::error::Error for Cut {}
    #[derive(Debug)]
    struct Cable;
    impl std::fmt::Display for Cable {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the network is gone")
        }
    }
    impl std::error::Error for Cable {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&Cut)
        }
    }
    struct Reader;
    impl io::Read for Reader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other(Cable))
        }
    }
    let error = CuckooFilter::<Fp16x4, _>::restore(Reader, HASHER).unwrap_err();
    assert!(matches!(error, Error::Io { kind: io::ErrorKind::Other, .. }));
    error
}

/// Every error of the crate, with its whole message.
#[expect(clippy::too_many_lines, reason = "a table")]
fn all() -> Vec<(Error, &'static str)> {
    let small = filter(100);
    let length = small.contains_many(&["a", "b", "c"], &mut [false; 2]).unwrap_err();
    let reserve = builder().capacity(100).max_capacity(1000).build().unwrap().reserve(5000);
    vec![
        (Error::Full, "the filter is full: remove items, or build one with a larger capacity"),
        (
            Error::NoMemoryToStore,
            "the allocator could not provide the memory for what was to be stored: free memory and try \
             again, or remove items",
        ),
        (
            Error::ValueTooLarge,
            "the value has more bits than this maplet stores: build one with more value bits",
        ),
        (length, "3 items need a slice of 3 answers, and it has 2: nothing was done"),
        (
            Error::CapacityOverflow { capacity: 9 },
            "a filter for 9 items is too large: no table has more than 2^44 slots",
        ),
        (
            Error::OutOfMemory { bytes: 9 },
            "the allocator could not provide 9 bytes: free memory, or build a smaller filter",
        ),
        (
            Error::NoCapacity,
            "a filter of fixed size needs a number of items: call `capacity`, `memory_bytes` or `growable`",
        ),
        (Error::InvalidRate, "a false-positive rate lies between 0 and 1, both excluded"),
        (
            Error::MaxCapacityTooLow { capacity: 9, max_capacity: 8 },
            "a filter cannot grow from 9 items to 8: max_capacity must not be below capacity",
        ),
        (
            Error::TargetLoadOutOfRange { layout: "Fp16x4", min: 500, max: 870 },
            "the target load of a growing filter in Fp16x4 lies between 0.500 and 0.870",
        ),
        (
            Error::RateOutOfReach { one_in: 33, other: Some("Fp12x5") },
            "this layout has a false-positive rate of 1 in 33 at that capacity, more than was requested: \
             Fp12x5 reaches the rate",
        ),
        (
            Error::RateOutOfReach { one_in: 1_000_000, other: None },
            "no layout has a lower false-positive rate than 1 in 1000000 at that capacity (2^40 items where \
             growth has no end), and a lower one was requested",
        ),
        (
            Error::ValueBitsOutOfRange {
                layout: "Fp16x4",
                value_bits: 12,
                max: 10,
                other: Some("Fp21x3"),
            },
            "such a maplet in Fp16x4 stores values of at most 10 bits, and 12 were requested: Fp21x3 \
             stores them",
        ),
        (
            Error::ValueBitsOutOfRange { layout: "Fp16x4", value_bits: 30, max: 10, other: None },
            "such a maplet in Fp16x4 stores values of at most 10 bits, and 30 were requested: no layout \
             stores them in such a maplet (where growth has no end, values are shorter)",
        ),
        (
            Error::ValueBitsOutOfRange { layout: "Fp16x4", value_bits: 0, max: 10, other: None },
            "a maplet needs the length of its values: call `value_bits`",
        ),
        (
            reserve.unwrap_err(),
            "the filter grows to 1000 items, and 5000 need room: build one with a larger \
             max_capacity",
        ),
        (of_reader(), "the snapshot could not be read: the network is gone: a cable was cut"),
        (Error::Truncated, "the bytes end before the end of the snapshot: read another copy of it"),
        (
            Error::NotASnapshot,
            "the bytes are not a snapshot of a filter: they do not begin with the 8 bytes that \
             every snapshot begins with",
        ),
        (
            Error::UnknownVersion { version: 9 },
            "the snapshot has version 9, and this release reads version 1: read it with the release \
             that wrote it, or a newer one",
        ),
        (
            Error::UnknownKind { kind: 9 },
            "the snapshot is of a filter of kind 9, which this release does not have: read it with \
             a newer one",
        ),
        (
            Error::UnknownLayout { encoding: 9, fingerprint_bits: 16, slots: 4 },
            "the snapshot has 4 fingerprints of 16 bits in a bucket, in encoding 9, a layout that \
             this release does not have for filters of this kind: read it with a newer one",
        ),
        (Error::Damaged, "the snapshot is damaged, a checksum is wrong: read another copy of it"),
        (
            Error::ImpossibleTable { words: 9 },
            "the header of the snapshot states 9 words, and sizes that no table has: the checksums \
             match, so it was written this way: do not trust the writer",
        ),
        (
            Error::InvalidWord { bucket: 9 },
            "bucket 9 of the snapshot holds a word that no such bucket has: the checksums match, \
             so it was written this way: do not trust the writer",
        ),
        (
            Error::WrongLen { stated: 9, found: 8 },
            "the header of the snapshot counts 9 slots in use, stashed copies, or doubled entries, and there are 8: the \
             checksums match, so it was written this way: do not trust the writer",
        ),
        (
            Error::OtherType { name: "GrowableCuckooMaplet" },
            "the snapshot is of another type: restore it as GrowableCuckooMaplet, of its layout or of AnyLayout",
        ),
        (
            Error::OtherLayout { other: "Fp16x4", filter: "Fp12x5" },
            "the layout is Fp16x4 and not Fp12x5: restore a filter of that layout, or of AnyLayout; and \
             merge only filters of one layout",
        ),
        (
            Error::OtherHasher,
            "the other filter had another hasher, or another seed: filters to be merged need clones of \
             one hasher, and a filter to be restored in another process a StableHashBuilder",
        ),
        (
            Error::TrailingBytes { bytes: 9 },
            "9 bytes follow the snapshot: `restore` leaves them to its reader",
        ),
        (
            Error::OtherTooSmall,
            "the other filter was built for so few items that its entries would take too many slots: build \
             filters that are to be merged with the capacity of all of them together",
        ),
        (
            Error::OtherSize { slots: 9, other: 8 },
            "filters of fixed size with 9 and 8 slots cannot be merged: build both with the same \
             capacity, or filters that grow",
        ),
        (
            Error::OtherValueBits { value_bits: 6, other: 7 },
            "maplets with values of 6 and of 7 bits cannot be merged: build both with the same value \
             bits",
        ),
        (
            Error::GenerationsOutOfRange { generations: 0, max: 256, other: None },
            "an expiring filter needs the number of its generations: call `generations`",
        ),
        (
            Error::GenerationsOutOfRange { generations: 16, max: 8, other: Some("Fp9x7") },
            "such an expiring filter has 2 to 8 generations, and 16 were requested: one in Fp9x7 has so many",
        ),
        (
            Error::GenerationsOutOfRange { generations: 2, max: 0, other: Some("Fp16x4") },
            "this layout has no room for the generations of such a filter: one in Fp16x4 has so many",
        ),
        (Error::NoTime, "a generation takes some time: call `every` with more than zero"),
        (
            Error::NoSuchLayout { grows: false },
            "no filter has a layout of this name: the names are Fp8x8, Fp9x7, Fp10x6, Fp12x5, \
             SemiSorted14x5, Fp16x4, SemiSorted17x4, Fp21x3, Fp32x2",
        ),
        (
            Error::NoSuchLayout { grows: true },
            "no growing filter has a layout of this name: the names are Fp12x5, Fp16x4, Fp21x3, Fp32x2",
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
}

#[test]
fn what_the_errors_of_inserts_tell_to_do_works() {
    let small = filter(100);
    let failed = (0..1000).find(|n| small.insert(n) == Err(Error::Full)).expect("it is small");
    assert!((0..failed / 2).all(|n| small.remove(&n)));
    assert_eq!(small.insert(&failed), Ok(()));
    let full = small.insert_many(&(1000..2000).collect::<Vec<_>>()).unwrap_err();
    let expected = format!("stored the first {} items and no more: {}", full.stored(), Error::Full);
    assert_eq!(full.to_string(), expected);
    let twice = (0..1000).flat_map(|n| [n, n]);
    let full = filter(100).insert_unique_all(twice).unwrap_err();
    let message = full.to_string();
    let (index, stored, cause) = stopped(full);
    assert!(stored < index);
    let expected = format!("stored {stored} of the first {index} items and no more: {cause}");
    assert_eq!(message, expected);
    let larger = filter(2000);
    assert!((0..1000).all(|n| larger.insert(&n).is_ok()));

    let growing = builder().capacity(100).max_capacity(1000).build().unwrap();
    let error = growing.reserve(5000).unwrap_err();
    let Error::AboveMaxCapacity { wanted, .. } = error else { panic!("{error}") };
    let larger = builder().capacity(100).max_capacity(wanted).build().unwrap();
    assert_eq!(larger.reserve(5000), Ok(()));
}

#[test]
fn what_the_errors_of_building_tell_to_do_works() {
    let error = builder().layout::<Fp16x4>().capacity(1000).false_positive_rate(1e-5).build();
    let Error::RateOutOfReach { other: layout, one_in, .. } = error.unwrap_err() else { panic!() };
    assert_eq!(layout, Some("Fp21x3"));
    assert!(builder().layout::<Fp21x3>().capacity(1000).false_positive_rate(1e-5).build().is_ok());
    assert!(builder().capacity(1000).false_positive_rate(1.0 / one_in as f64).build().is_ok());

    // At the greatest capacity of one that grows.
    let grows = || builder().capacity(1000).max_capacity(1_000_000).false_positive_rate(1e-4);
    let error = grows().layout::<Fp16x4>().build().unwrap_err();
    let Error::RateOutOfReach { other: layout, one_in, .. } = error else { panic!() };
    assert_eq!(layout, Some("Fp21x3"));
    assert!(grows().layout::<Fp21x3>().build().is_ok());
    assert!(grows().false_positive_rate(1.0 / one_in as f64).build().is_ok());

    let error = grows().layout::<Fp21x3>().target_load(0.9).build().unwrap_err();
    let Error::TargetLoadOutOfRange { layout: "Fp21x3", min, max } = error else { panic!() };
    for load in [min, max] {
        assert!(grows().layout::<Fp21x3>().target_load(f64::from(load) / 1000.0).build().is_ok());
    }
}

#[test]
fn what_the_errors_of_restoring_tell_to_do_works() {
    let filter = filter(100);
    filter.insert("egg").unwrap();
    let bytes = filter.snapshot().unwrap().into_bytes();
    let error = Grows::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, Error::OtherType { name: "CuckooFilter" }));
    let error = CuckooFilter::<Fp12x5, _>::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, Error::OtherLayout { .. }));
    let other = StableHashBuilder::new(8);
    let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, other).unwrap_err();
    assert!(matches!(error, Error::OtherHasher));
    // All three tell the same: the layout or any, of fixed size, with the hasher that it had.
    assert!(CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, HASHER).unwrap().contains("egg"));
    assert!(AnyCuckooFilter::from_bytes(&bytes, HASHER).unwrap().contains("egg"));

    let grows = builder().hasher(HASHER).capacity(100).max_capacity(1000).build().unwrap();
    grows.insert("egg").unwrap();
    let bytes = grows.snapshot().unwrap().into_bytes();
    let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, HASHER).unwrap_err();
    assert!(matches!(error, Error::OtherType { name: "GrowableCuckooFilter" }));
    assert!(Grows::from_bytes(&bytes, HASHER).unwrap().contains("egg"));

    // `restore` leaves to its reader what `from_bytes` refuses.
    let longer = [&bytes[..], b"more"].concat();
    let error = Grows::from_bytes(&longer, HASHER).unwrap_err();
    assert!(matches!(error, Error::TrailingBytes { bytes: 4 }));
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
    assert!(matches!(one.merge(&larger), Err(Error::OtherSize { .. })));
    assert_eq!(filter(1000).merge(&larger), Ok(()));

    let [one, other] = [0; 2].map(|_| CuckooFilter::with_capacity(100));
    other.insert("egg").unwrap();
    assert_eq!(one.merge(&other), Err(Error::OtherHasher));
    let clone = CuckooFilter::with_capacity_and_hasher(100, other.hasher().clone());
    assert_eq!(clone.merge(&other), Ok(()));
    assert!(clone.contains("egg"));
}

/// The error of a program has the error of each method in one step, as `#[from] coucal::Error` of `thiserror` makes it.
#[test]
fn the_error_of_a_program_takes_that_of_every_method() {
    #[derive(Debug)]
    #[expect(dead_code, reason = "only made")]
    struct OfProgram(Error);

    impl From<Error> for OfProgram {
        fn from(error: Error) -> Self {
            Self(error)
        }
    }

    // For one layout: what takes a batch is compiled for each layout that there may be.
    fn program() -> Result<(), OfProgram> {
        let builder = builder().layout_named("Fp16x4")?.layout::<Fp16x4>();
        let filter = builder.max_capacity(1000).hasher(HASHER).build()?;
        filter.reserve(10)?;
        filter.insert("egg")?;
        filter.insert_unique("egg")?;
        filter.insert_many(&["egg"])?;
        filter.insert_all(["egg"])?;
        filter.insert_unique_many(&["egg"], &mut [true])?;
        filter.insert_unique_all(["egg"])?;
        filter.contains_many(&["egg"], &mut [true])?;
        filter.remove_many(&["egg"], &mut [true])?;
        let bytes = filter.snapshot()?.into_bytes();
        filter.merge(&GrowableCuckooFilter::restore(&bytes[..], HASHER)?)?;
        filter.merge(&GrowableCuckooFilter::from_bytes(&bytes, HASHER)?)?;
        filter
            .merge(&GrowableCuckooFilter::from_snapshot(&Snapshot::from_bytes(&bytes)?, HASHER)?)?;
        Snapshot::read_from(&bytes[..])?;

        let builder = CuckooMaplet::builder().value_bits(6).max_capacity(1000).layout::<Fp16x4>();
        let maplet = builder.hasher(HASHER).build()?;
        maplet.reserve(10)?;
        maplet.insert("egg", 7)?;
        maplet.replace("egg", 7, 9)?;
        maplet.insert_many(&[("egg", 7)])?;
        maplet.insert_all([("egg", 7)])?;
        maplet.get_many(&["egg"], &mut [Candidates::new()])?;
        maplet.replace_many(&[("egg", 7, 9)], &mut [true])?;
        maplet.remove_many(&[("egg", 9)], &mut [true])?;
        let bytes = maplet.snapshot()?.into_bytes();
        maplet.merge(&GrowableCuckooMaplet::restore(&bytes[..], HASHER)?)?;
        maplet.merge(&GrowableCuckooMaplet::from_bytes(&bytes, HASHER)?)?;
        maplet
            .merge(&GrowableCuckooMaplet::from_snapshot(&Snapshot::from_bytes(&bytes)?, HASHER)?)?;
        AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
        Ok(())
    }
    program().expect("room and memory");
}
