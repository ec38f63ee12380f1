//! Any bytes: what the crate makes of them is what the reader of `format` says, and nothing panics.

use std::io::{self, Read};

use coucal::{
    AnyLayout, Error, ExpiringFilter, Fixed, Growable, Snapshot, StableHashBuilder, Storage,
};

use crate::format::{self, Contents, ROOMY, ReadError, at};
use crate::modelled::{hash, keys};
use crate::subject::{HASHER, Subject};
use crate::{Kind, Layout};

/// Larger tables are not built.
const MOST_BUCKETS: u64 = 1 << 16;

/// The types, by the number of their kind in a snapshot.
const TYPES: [&str; 6] = [
    "CuckooFilter",
    "GrowableCuckooFilter",
    "CuckooMaplet",
    "GrowableCuckooMaplet",
    "ExpiringCuckooFilter",
    "GrowableExpiringCuckooFilter",
];

/// What the reader says of these bytes. The crate says the same, in each way of reading: as a snapshot, as each type,
/// and as a view. What is restored, if it is small, is as the bytes say.
pub fn judged(bytes: &[u8]) -> Result<Contents, ReadError> {
    let read = format::read(bytes);
    let valid = read.as_ref().map(drop).map_err(Clone::clone);
    let snapshot = Snapshot::from_bytes(bytes);
    assert_eq!(snapshot.as_ref().map(drop).map_err(read_error), valid);
    let slowly = Snapshot::read_from(Slow { bytes, is_ready: false });
    is_alike(&slowly.map(drop).map_err(ReadError::from), &valid);

    let kinds = Kind::each(Layout::named("Fp16x4"), 1);
    let [filter, maplet, growing, growing_maplet] = &*kinds else { panic!("four kinds") };
    let of_types = [filter, growing, maplet, growing_maplet].map(|kind| kind.build(0, 0));
    let its_kind = bytes.get(at::KIND).map_or(0, |kind| usize::from(kind % ROOMY));
    let its_kind = its_kind.min(TYPES.len() - 1);
    let hasher = at::HASHER..at::STASHED;
    let has_hasher = bytes.get(hasher.clone()) == of_types[0].bytes().get(hasher);
    // The type and the hasher are looked at before what follows the header.
    let is_as_expected = |found: Result<(), Error>, is_its: bool| match found {
        Err(Error::OtherType { name, .. }) => assert!(!is_its && name == TYPES[its_kind]),
        Err(Error::OtherView { name, view, .. }) => {
            let its_view = ["CuckooFilterView", "CuckooMapletView"][usize::from(its_kind >= 2)];
            assert!(!is_its && (name, view) == (TYPES[its_kind], its_view));
        }
        Err(Error::OtherHasher) => assert!(is_its && !has_hasher),
        found => {
            assert_eq!(found.as_ref().copied().map_err(read_error), valid);
            assert!(found.is_err() || is_its && has_hasher, "{}", TYPES[its_kind]);
        }
    };
    let looked_for: Vec<u64> = keys(0, 40).map(hash).collect();
    for (number, of_type) in of_types.iter().enumerate().step_by(2) {
        let is_its = (number >= 2) == (its_kind >= 2);
        is_as_expected(of_type.viewed(bytes, false, &[]).map(drop), is_its);
        // It is not known to be valid: any answer will do.
        drop(of_type.viewed(bytes, true, &looked_for));
    }
    if read.as_ref().is_ok_and(|contents| contents.max_buckets > MOST_BUCKETS) {
        return read;
    }
    for (number, of_type) in of_types.iter().enumerate() {
        let restored = of_type.restored(bytes);
        let found = restored.as_ref().map(drop).map_err(Clone::clone);
        let by_reader = of_type.read(&mut &*bytes).map(drop);
        is_alike(&by_reader.map_err(ReadError::from), &found.clone().map_err(ReadError::from));
        if let (Ok(snapshot), Ok(contents)) = (&snapshot, &read) {
            assert_eq!(of_type.of_snapshot(snapshot).map(drop), found);
            if let Ok(subject) = restored {
                is_restored(&*subject, contents, snapshot);
                subject.assert_viewed(bytes, &looked_for);
            }
        }
        is_as_expected(found, number == its_kind);
    }
    is_as_expected(forgets::<Fixed<AnyLayout>>(bytes), its_kind == 4);
    is_as_expected(forgets::<Growable<AnyLayout>>(bytes), its_kind == 5);
    if let (Ok(snapshot), Ok(contents)) = (&snapshot, &read) {
        let generations = contents.generations.map(|generations| generations.count);
        let has_pairs = contents.geometry.is_maplet() && generations.is_none();
        assert_eq!(snapshot.generations(), generations);
        assert_eq!(snapshot.value_bits(), has_pairs.then_some(contents.geometry.value_bits));
        assert_eq!((snapshot.len() as u64, snapshot.as_bytes()), (contents.items(), bytes));
        let capacities = [snapshot.initial_capacity(), snapshot.max_capacity()].map(|n| n as u64);
        assert_eq!(capacities, [contents.capacity, contents.max_capacity]);
    }
    read
}

fn read_error(error: &Error) -> ReadError {
    error.clone().into()
}

/// A reader has said the same, but that it leaves what follows a snapshot.
fn is_alike(read: &Result<(), ReadError>, expected: &Result<(), ReadError>) {
    let leaves_more = matches!(expected, Err(ReadError::TrailingBytes { .. }));
    assert_eq!(read, if leaves_more { &Ok(()) } else { expected });
}

/// Its bytes are those of the snapshot, and what it says of itself follows from the capacities and the items.
fn is_restored(subject: &dyn Subject, contents: &Contents, snapshot: &Snapshot) {
    assert!(subject.bytes() == snapshot.as_bytes(), "{subject:?}");
    let slots = contents.words as usize * contents.geometry.slots();
    assert_eq!((subject.len() as u64, subject.slots()), (contents.items(), slots));
    let stashed = (contents.stashed as usize, contents.stashed_copies as usize);
    assert_eq!(subject.stashed(), stashed);
    assert_eq!(subject.value_bits(), contents.geometry.value_bits);
    // What splits have doubled takes slots, too.
    let target = (slots as f64 * contents.target_load()) as u64;
    let target = target.saturating_sub(contents.doubled_entries());
    let capacity = if contents.geometry.grows { target.min(contents.max_capacity) } else { 0 };
    assert_eq!(subject.capacity() as u64, capacity.max(contents.capacity).max(contents.items()));
    assert!(subject.capacity() <= slots.max(subject.len()));
    // As SECURITY.md says.
    let words = 8 * contents.words as usize;
    let besides = subject.heap_bytes() - words;
    let counts = 24 * contents.doubled_values as usize;
    let most = if contents.geometry.grows { words / 16 + (56 << 10) + counts } else { 48 << 10 };
    assert!(besides <= most, "{besides} bytes besides the words");
    let (rate, expected) = (subject.false_positive_rate(), contents.rate());
    assert!(rate <= expected * (1.0 + 1e-5), "{rate}, {expected}");
    // One that grows does not count what is stashed: an entry of which 44 bits are known adds next to nothing.
    let is_counted = contents.stashed == 0 || !contents.geometry.grows;
    assert!(!is_counted || rate >= expected * (1.0 - 1e-5), "{rate}, {expected}");
    // One for keys with several values may have been built for any number of them.
    let size = format::size(contents.capacity, contents.geometry.layout);
    if !contents.geometry.grows && size == Some(contents.words) {
        let built = Kind::of(contents).build(0, contents.capacity as usize);
        let emptied = subject.copied().expect("memory for a test");
        emptied.clear();
        assert!(emptied.bytes() == built.bytes(), "{emptied:?}, {built:?}");
    }
}

/// What is restored has nothing left after as many advances as there are generations, whatever was stored.
fn forgets<L: Storage>(bytes: &[u8]) -> Result<(), Error> {
    let seen = ExpiringFilter::<L, StableHashBuilder>::from_bytes(bytes, HASHER)?;
    assert!(seen.snapshot().expect("memory").as_bytes() == bytes, "{seen:?}");
    drop(seen.insert(&1));
    for _ in 0..seen.generations() {
        seen.advance();
    }
    assert_eq!((seen.len(), seen.load_factor()), (0, 0.0), "{seen:?}");
    Ok(())
}

/// Some bytes at a time, and interrupted before each.
struct Slow<'a> {
    bytes: &'a [u8],
    is_ready: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_ready = !self.is_ready;
        if self.is_ready {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let some = buffer.len().min(7);
        self.bytes.read(&mut buffer[..some])
    }
}
