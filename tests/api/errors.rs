//! The messages of errors that a test of an operation makes, and the advice in the errors of restoring: it works.
//! (Messages of errors that only the crate can make are tested in `src/error.rs`, and constant messages are in it alone.
//! Errors of building are tested in `src/sizing.rs`, those of merging in `tests/snapshots/merge.rs`.)

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
    let all = [
        (Error::Stopped { index: 9, stored: 9, cause: &FULL }, "the first 9 items and no more: "),
        (Error::Stopped { index: 9, stored: 8, cause: &FULL }, "at index 9, after 8 of the items"),
        (
            Error::Stopped { index: 9, stored: 8, cause: &FULL },
            "before it were stored: the filter is full",
        ),
        (Error::LengthMismatch { items: 3, answers: 2 }, "a slice of 3 answers, but it has 2:"),
        (
            CuckooFilter::builder().layout_named("Fp").err().unwrap(),
            "no filter has a layout of this name: the names are Fp8x8, Fp9x7, Fp10x6, Fp12x5, \
             SemiSorted14x5, Fp16x4, SemiSorted17x4, Fp21x3, Fp32x2",
        ),
        (
            GrowableCuckooFilter::builder().layout_named("Fp8x8").err().unwrap(),
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
    let grows = GrowableCuckooFilter::builder().max_capacity(100).hasher(HASHER);
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
    let grows = GrowableCuckooFilter::builder().hasher(HASHER).max_capacity(1000).build().unwrap();
    filter.insert("egg").unwrap();
    grows.insert("egg").unwrap();
    let [fixed, grown] = [filter.snapshot(), grows.snapshot()].map(|taken| taken.unwrap());
    let [fixed, grown] = [fixed.as_bytes(), grown.as_bytes()];
    let of_type = |error| match error {
        Error::OtherType { name, .. } => name,
        error => panic!("{error:?}"),
    };
    assert_eq!(of_type(refused::<Growable<Fp16x4>>(fixed)), "CuckooFilter");
    assert_eq!(of_type(refused::<Fixed<Fp16x4>>(grown)), "GrowableCuckooFilter");
    let layouts = |error| match error {
        Error::OtherLayout { layout, other, .. } => (layout, other),
        error => panic!("{error:?}"),
    };
    assert_eq!(layouts(refused::<Fixed<Fp12x5>>(fixed)), ("Fp12x5", "Fp16x4"));
    assert_eq!(layouts(refused::<Growable<Fp12x5>>(grown)), ("Fp12x5", "Fp16x4"));
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
    assert!(matches!(error, Error::TrailingBytes { bytes: 4, .. }), "{error:?}");
    let mut reader = &longer[..];
    assert!(Grows::restore(&mut reader, HASHER).unwrap().contains("egg"));
    assert_eq!(reader, b"more");
}
