//! The messages of errors into which numbers and names are inserted, and the advice in the errors of restoring: it
//! works. (Constant messages are in `src/error.rs` alone. Errors of building are tested in `src/sizing.rs`, those of
//! merging in `tests/snapshots/merge.rs`.)

use std::error::Error as _;
use std::{error, fmt, io};

use coucal::{
    AnyCuckooFilter, CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, Error,
    ExpiringCuckooFilter, Fixed, Fp12x5, Fp16x4, Growable, GrowableCuckooFilter, Snapshot,
    StableHashBuilder, Storage,
};

use crate::common::{Filter, HASHER};

type Grows = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;

/// An error of a reader, and its cause.
#[derive(Debug)]
struct Cause(&'static str, Option<&'static Cause>);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl error::Error for Cause {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.1.map(|cause| cause as _)
    }
}

/// A reader that fails with this error.
impl io::Read for &'static Cause {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(*self))
    }
}

#[test]
fn messages_contain_their_numbers_and_names() {
    static FULL: Error = Error::Full;
    static GONE: Cause = Cause("the network is gone", Some(&Cause("a cable was cut", None)));
    let read = Snapshot::read_from(&GONE);
    let other = Some("Fp21x3");
    let bits = |value_bits, other| Error::ValueBitsOutOfRange {
        layout: "Fp16x4",
        value_bits,
        max: 10,
        max_with_end: 10,
        other,
    };
    let generations =
        |generations, max, other| Error::GenerationsOutOfRange { generations, max, other };
    let per_key = |values_per_key, max, other| {
        let layout = "Fp32x2";
        Error::ValuesPerKeyOutOfRange { layout, values_per_key, max, other }
    };
    let all = [
        (Error::Stopped { index: 9, stored: 9, cause: &FULL }, "the first 9 items and no more: "),
        (Error::Stopped { index: 9, stored: 8, cause: &FULL }, "at index 9, after 8 of the items"),
        (
            Error::Stopped { index: 9, stored: 8, cause: &FULL },
            "before it were stored: the filter is full",
        ),
        (Error::LengthMismatch { items: 3, answers: 2 }, "a slice of 3 answers, but it has 2:"),
        (Error::MaxCapacityTooLow { capacity: 9, max_capacity: 8 }, "from 9 items to 8:"),
        (
            Error::TargetLoadOutOfRange { layout: "Fp16x4", min: 90, max: 870 },
            "in Fp16x4 must lie between 0.090 and 0.870",
        ),
        (Error::RateOutOfReach { one_in: 33, other }, "1 in 33 when the filter is full, more than"),
        (
            Error::RateOutOfReach { one_in: 33, other },
            ": Fp21x3 reaches the rate, so call `layout::<Fp21x3>` or",
        ),
        (Error::RateOutOfReach { one_in: 33, other: None }, "no layout has a lower"),
        (bits(12, other), "in Fp16x4 stores values of at most 10 bits, and 12 were requested: Fp2"),
        (bits(30, None), "10 bits, and 30 were requested: no layout stores them"),
        (
            Error::ValueBitsOutOfRange {
                layout: "Fp32x2",
                value_bits: 21,
                max: 20,
                max_with_end: 23,
                other: None,
            },
            "without an end in Fp32x2 stores values of at most 20 bits, and 21 were requested: with a \
             `capacity` or a `max_capacity`, Fp32x2 stores up to 23",
        ),
        (
            Error::BudgetTooSmall { bytes: 9, needed: 99 },
            "of 9 bytes is too small: this filter needs 99",
        ),
        (bits(0, None), "a maplet needs the length of its values"),
        (per_key(9, 8, other), "in Fp32x2 has room for 1 to 8 values per key"),
        (per_key(9, 8, other), "and 9 were requested: Fp21x3 has room for them, so call"),
        (per_key(3, 1, None), "that grows is not built for 3 values per key"),
        (generations(0, 256, None), "needs the number of its generations"),
        (generations(16, 8, Some("Fp9x7")), "2 to 8 generations, and 16 were requested: Fp9x7 has"),
        (generations(2, 0, Some("Fp16x4")), "no room for generations: Fp16x4 has"),
        (
            Error::AboveMaxCapacity { wanted: 9, max_capacity: 8 },
            "grows to 8 items, and room for 9",
        ),
        (Error::AboveCapacity { wanted: 9, capacity: 8 }, "for 8 items has no figures for 9:"),
        (
            Error::UnknownLayout { encoding: 9, fingerprint_bits: 16, slots: 4 },
            "4 fingerprints of 16 bits in a bucket, in encoding 9",
        ),
        (Error::WrongLen { stated: 9, found: 8 }, "doubled entries) is 9"),
        (Error::WrongLen { stated: 9, found: 8 }, "8 were found: the checksums match"),
        (Error::OtherLayout { layout: "Fp12x5", other: "Fp16x4" }, "is Fp16x4 and not Fp12x5"),
        (Error::OtherSize { slots: 9, other: 8 }, "fixed size with 9 and 8 slots"),
        (Error::MergedRateTooHigh { one_in: 33 }, "would be 1 in 33 when the filter is full"),
        (
            Error::OtherView { name: "CuckooMaplet", view: "CuckooMapletView" },
            "is of type CuckooMaplet: open it with a CuckooMapletView",
        ),
        (Error::OtherValueBits { value_bits: 6, other: 7 }, "values of 6 and of 7 bits"),
        (
            CuckooFilter::builder().layout_named("Fp").err().unwrap(),
            "no filter has a layout of this name: the names are Fp8x8, Fp9x7, Fp10x6, Fp12x5, \
             SemiSorted14x5, Fp16x4, SemiSorted17x4, Fp21x3, Fp32x2",
        ),
        (
            CuckooFilter::builder().growable().layout_named("Fp8x8").err().unwrap(),
            "no growing filter has a layout of this name: the names are Fp12x5, Fp16x4, Fp21x3, Fp32x2",
        ),
        (read.unwrap_err(), "could not be read: the network is gone: a cable was cut"),
    ];
    for (error, part) in all {
        assert!(error.to_string().contains(part), "{error}, without {part:?}");
        // The message contains the cause, so a program that prints an error and its sources prints nothing twice.
        assert!(error.source().is_none(), "{error:?}");
    }
}

/// What a message says about the call that failed is true; and if it mentions other calls, it says so.
#[test]
fn messages_speak_of_the_type_at_hand() {
    let fixed = CuckooFilter::builder().capacity(100).hasher(HASHER);
    let grows = CuckooFilter::builder().max_capacity(100).hasher(HASHER);
    let maplets = CuckooMaplet::builder().capacity(100).hasher(HASHER).value_bits(24);
    let expiring = ExpiringCuckooFilter::builder().capacity(100).hasher(HASHER).generations(4);
    let snapshot = fixed.clone().build().unwrap().snapshot().unwrap();
    let bytes = snapshot.as_bytes();
    let other = StableHashBuilder::new(8);
    let messages: [(Error, &[&str]); 9] = [
        (fixed.figures(101).unwrap_err(), &["grow", "max_capacity"]),
        (maplets.clone().value_bits(3).figures(101).unwrap_err(), &["grow", "max_capacity"]),
        (expiring.figures(101).unwrap_err(), &["grow", "max_capacity"]),
        (grows.figures(101).unwrap_err(), &["fixed"]),
        (maplets.build().unwrap_err(), &["grow", "max_capacity"]),
        (fixed.false_positive_rate(1e-15).build().unwrap_err(), &["grow", "2^40"]),
        (CuckooFilterView::from_bytes(bytes, other).unwrap_err(), &["merge", "restore"]),
        (CuckooMapletView::from_bytes(bytes, HASHER).unwrap_err(), &["restore", "Layout"]),
        (Error::NoMemoryToStore, &["remove"]),
    ];
    let misleads = |(error, untrue): &(Error, &[&str])| {
        let message = error.to_string();
        untrue.iter().any(|&word| message.contains(word)).then_some(message)
    };
    let misleading: Vec<String> = messages.iter().filter_map(misleads).collect();
    assert!(misleading.is_empty(), "{misleading:#?}");
}

/// Returns the error of restoring as a filter of another type than that of the snapshot, by each way.
fn refused<L: Storage>(bytes: &[u8]) -> Error {
    let error = Filter::<L>::from_bytes(bytes, HASHER).unwrap_err();
    let snapshot = Snapshot::from_bytes(bytes).unwrap();
    assert_eq!(Filter::<L>::from_snapshot(&snapshot, HASHER).unwrap_err(), error);
    assert_eq!(Filter::<L>::restore(bytes, HASHER).unwrap_err(), error);
    error
}

#[test]
fn the_advice_of_errors_of_restoring_works() {
    let filter: Filter<Fixed<Fp16x4>> = CuckooFilter::with_capacity_and_hasher(100, HASHER);
    let grows = CuckooFilter::builder().hasher(HASHER).max_capacity(1000).build().unwrap();
    filter.insert("egg").unwrap();
    grows.insert("egg").unwrap();
    let [fixed, grown] = [filter.snapshot(), grows.snapshot()].map(|taken| taken.unwrap());
    let [fixed, grown] = [fixed.as_bytes(), grown.as_bytes()];
    assert_eq!(refused::<Growable<Fp16x4>>(fixed), Error::OtherType { name: "CuckooFilter" });
    assert_eq!(refused::<Fixed<Fp16x4>>(grown), Error::OtherType { name: "GrowableCuckooFilter" });
    let other_layout = Error::OtherLayout { layout: "Fp12x5", other: "Fp16x4" };
    assert_eq!(refused::<Fixed<Fp12x5>>(fixed), other_layout);
    assert_eq!(refused::<Growable<Fp12x5>>(grown), other_layout);
    let other = StableHashBuilder::new(8);
    let error = Filter::<Fixed<Fp16x4>>::from_bytes(fixed, other).unwrap_err();
    assert_eq!(error, Error::OtherHasher);
    // The type, and the layout or any layout, with the hasher of the snapshot.
    assert!(Filter::<Fixed<Fp16x4>>::from_bytes(fixed, HASHER).unwrap().contains("egg"));
    assert!(AnyCuckooFilter::from_bytes(fixed, HASHER).unwrap().contains("egg"));
    assert!(Grows::from_bytes(grown, HASHER).unwrap().contains("egg"));

    // `restore` leaves to its reader the bytes that make `from_bytes` fail.
    let longer = [grown, b"more"].concat();
    let error = Grows::from_bytes(&longer, HASHER).unwrap_err();
    assert_eq!(error, Error::TrailingBytes { bytes: 4 });
    let mut reader = &longer[..];
    assert!(Grows::restore(&mut reader, HASHER).unwrap().contains("egg"));
    assert_eq!(reader, b"more");
}
