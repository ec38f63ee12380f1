//! Bytes of snapshots, valid or not: what is restored is then used.

use arbitrary::{Arbitrary, Unstructured};
use coucal::{
    AnyLayout, CuckooFilter, CuckooMaplet, Error, ExpiringCuckooFilter, Growable, GrowingLayout,
    Snapshot, StableHashBuilder, Storage,
};
use coucal_reference::format::{self, Contents, Fault, HEADER, at};
use coucal_reference::{HASHER, Held, Kind, Layout, Modelled, Subject, boxed, hash, keys};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::operations::{Setup, apply_all};

/// Buckets that a filter or maplet which is made may ever have.
const MOST_BUCKETS: u64 = 1 << 16;

/// Items that are inserted without a model.
const MOST_ITEMS: usize = 100;

/// Where a header may be changed, and how wide it is there.
const FIELDS: [(usize, usize); 17] = [
    (at::VERSION, 4),
    (at::KIND, 1),
    (at::ENCODING, 1),
    (at::BITS, 1),
    (at::SLOTS, 1),
    (at::FIRST, 8),
    (at::WORDS, 8),
    (at::MAX_BUCKETS, 8),
    (at::OCCUPIED, 8),
    (at::DOUBLED, 8),
    (at::CAPACITY, 8),
    (at::MAX_CAPACITY, 8),
    (at::VALUE_BITS, 4),
    (at::TARGET_LOAD, 4),
    (at::STASHED, 8),
    (at::COPIES, 8),
    (at::DOUBLED_VALUES, 8),
];

#[derive(Arbitrary, Debug)]
enum Mutation {
    /// Another value of a field.
    Set(u8, u64),
    /// A value near that of a field.
    Add(u8, i8),
    Double(u8),
    Word(u16, u64),
    FlipWord(u16, u8),
    SwapWords(u16, u16),
    /// A word in place of another.
    CopyWord(u16, u16),
    Byte(u16, u8),
    Truncate(u16),
    Append(u8),
    /// The numbers of slots in use, of stashed copies and of doubled slots as they are found.
    Recount,
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let words = bytes.len().saturating_sub(HEADER + 8) / 8;
        let word = |at: u16| (words > 0).then(|| HEADER + 8 * (usize::from(at) % words));
        match *self {
            Self::Set(field, value) => change(bytes, field, |_| value),
            Self::Add(field, by) => change(bytes, field, |old| old.wrapping_add_signed(by.into())),
            Self::Double(field) => change(bytes, field, |old| old.wrapping_mul(2)),
            Self::Word(at, value) => {
                if let Some(at) = word(at) {
                    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
            }
            Self::FlipWord(at, bit) => {
                if let Some(at) = word(at) {
                    bytes[at + usize::from(bit / 8 % 8)] ^= 1 << (bit % 8);
                }
            }
            Self::SwapWords(a, b) => {
                if let (Some(a), Some(b)) = (word(a), word(b)) {
                    (0..8).for_each(|byte| bytes.swap(a + byte, b + byte));
                }
            }
            Self::CopyWord(from, to) => {
                if let (Some(from), Some(to)) = (word(from), word(to)) {
                    bytes.copy_within(from..from + 8, to);
                }
            }
            Self::Byte(at, value) => {
                let len = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(usize::from(at) % len) {
                    *byte = value;
                }
            }
            Self::Truncate(by) => bytes.truncate(bytes.len().saturating_sub(by.into())),
            Self::Append(count) => bytes.resize(bytes.len() + usize::from(count), count),
            Self::Recount => {
                // The slots come first.
                for field in [at::OCCUPIED, at::COPIES, at::DOUBLED] {
                    format::seal(bytes);
                    if let Err(Fault::WrongLen { stated, found }) = format::read(bytes)
                        && format::number(bytes, field) == stated as u64
                    {
                        bytes[field..field + 8].copy_from_slice(&found.to_le_bytes());
                    }
                }
            }
        }
    }
}

fn change(bytes: &mut [u8], field: u8, change: impl FnOnce(u64) -> u64) {
    let (at, width) = FIELDS[usize::from(field) % FIELDS.len()];
    if bytes.len() >= HEADER {
        let mut old = [0; 8];
        old[..width].copy_from_slice(&bytes[at..at + width]);
        let new = change(u64::from_le_bytes(old)).to_le_bytes();
        bytes[at..at + width].copy_from_slice(&new[..width]);
    }
}

/// What the bytes say becomes bytes of a snapshot.
#[derive(Arbitrary, Debug)]
enum Source {
    /// As they are.
    Raw,
    /// With the checksums made right.
    Sealed,
    /// Of a real filter or maplet, but for some changes.
    Real {
        setup: Setup,
        first: u16,
        count: u8,
        more: u8,
        changes: [Option<Mutation>; 4],
        sealed: bool,
    },
}

/// Restores, by the crate and by a reader of its own, and compares; then uses what was restored.
///
/// # Panics
///
/// If the crate is wrong.
pub fn restore(data: &[u8]) {
    let mut rest = Unstructured::new(data);
    let Ok(source) = Source::arbitrary(&mut rest) else {
        return;
    };
    let random: Vec<u8>;
    let bytes = match source {
        Source::Raw | Source::Sealed => {
            let mut bytes = rest.take_rest().to_vec();
            if matches!(source, Source::Sealed) {
                format::seal(&mut bytes);
            }
            // Nothing is left to say what is done then.
            random = (0..64).flat_map(|n| xxh3_64_with_seed(&bytes, n).to_le_bytes()).collect();
            rest = Unstructured::new(&random);
            bytes
        }
        Source::Real { setup, first, count, more, changes, sealed } => {
            let keys = keys(first, count).chain(keys(first.wrapping_add(255), more));
            let mut bytes = setup.snapshot(keys);
            changes.iter().flatten().for_each(|change| change.apply(&mut bytes));
            if sealed {
                format::seal(&mut bytes);
            }
            bytes
        }
    };
    // Whatever the bytes are: no panic.
    for of_type in types() {
        drop(of_type.viewed(&bytes, true, &looked_for()));
    }
    match (format::read(&bytes), Snapshot::from_bytes(&bytes)) {
        (Ok(contents), Ok(snapshot)) => {
            assert_eq!(snapshot.as_bytes(), bytes);
            assert_eq!(snapshot.len() as u64, contents.items());
            assert_eq!(snapshot.capacity() as u64, contents.capacity);
            assert_eq!(snapshot.max_capacity() as u64, contents.max_capacity);
            let generations = contents.generations.map(|generations| generations.count);
            assert_eq!(snapshot.generations(), generations);
            let has_pairs = contents.geometry.is_maplet() && generations.is_none();
            let value_bits = has_pairs.then_some(contents.geometry.value_bits);
            assert_eq!(snapshot.value_bits(), value_bits);
            if contents.max_buckets <= MOST_BUCKETS {
                if let Some(generations) = generations {
                    for of_type in types() {
                        let name = type_name(contents.geometry.grows, false, true);
                        assert_eq!(of_type.restored(&bytes).err(), Some(Error::OtherType { name }));
                    }
                    let grows = contents.geometry.grows;
                    forgets::<AnyLayout>(&snapshot, generations, !grows);
                    forgets::<Growable<AnyLayout>>(&snapshot, generations, grows);
                } else {
                    in_each_type(&contents, &bytes, &mut rest);
                }
            }
        }
        (Err(fault), Err(error)) => assert_eq!(Fault::of(&error), fault, "{error}"),
        (Err(fault), Ok(_)) => panic!("the crate takes bytes with {fault:?}"),
        (Ok(_), Err(error)) => panic!("the crate refuses bytes without a fault: {error}"),
    }
}

fn looked_for() -> Vec<u64> {
    keys(0, 40).map(hash).collect()
}

/// A filter and a maplet of fixed size, and then the same of those that grow.
fn types() -> Vec<Box<dyn Subject>> {
    let kinds = Kind::each(Layout::named("Fp16x4"), 1);
    kinds.into_iter().map(|kind| kind.build(0, 0)).collect()
}

/// The type that is restored from a snapshot.
fn type_name(grows: bool, is_maplet: bool, expires: bool) -> &'static str {
    match (is_maplet, expires, grows) {
        (false, false, false) => "CuckooFilter",
        (false, false, true) => "GrowableCuckooFilter",
        (true, _, false) => "CuckooMaplet",
        (true, _, true) => "GrowableCuckooMaplet",
        (_, true, false) => "ExpiringCuckooFilter",
        (_, true, true) => "GrowableExpiringCuckooFilter",
    }
}

/// Only the type of its kind, with a hasher that hashes alike, takes a snapshot.
fn in_each_type(contents: &Contents, bytes: &[u8], rest: &mut Unstructured<'_>) {
    let types = types();
    let has_hasher = bytes[at::HASHER..at::STASHED] == types[0].bytes()[at::HASHER..at::STASHED];
    let (is_maplet, grows) = (contents.geometry.is_maplet(), contents.geometry.grows);
    for (number, of_type) in types.iter().enumerate() {
        let restored = of_type.restored(bytes);
        if (number % 2 == 1, number >= 2) != (is_maplet, grows) {
            let name = type_name(grows, is_maplet, false);
            assert_eq!(restored.err(), Some(Error::OtherType { name }));
        } else if has_hasher {
            let subject = restored.expect("what the reader takes");
            subject.assert_viewed(bytes, &looked_for());
            check_figures(&*subject, contents);
            if contents.is_exact() {
                let other = subject.restored(bytes).expect("restored above");
                other.clear();
                apply_all(Modelled::new(subject), Modelled::new(other), rest);
            } else {
                use_without_model(&*subject, rest);
            }
        } else {
            assert_eq!(restored.err(), Some(Error::OtherHasher));
        }
    }
    named_layout(contents, bytes);
}

/// Whether this is the type of the expiring filter is as the reader says. What is restored has nothing left after as
/// many advances as there are generations.
fn forgets<L: Storage>(snapshot: &Snapshot, generations: u32, is_its: bool) {
    match ExpiringCuckooFilter::<L, StableHashBuilder>::from_snapshot(snapshot, HASHER) {
        Ok(seen) => {
            assert!(is_its);
            assert_eq!((seen.generations(), seen.len()), (generations, snapshot.len()));
            drop(seen.insert(&1));
            for _ in 0..generations {
                seen.advance();
            }
            assert_eq!((seen.len(), seen.load_factor()), (0, 0.0));
        }
        Err(Error::OtherType { .. }) => assert!(!is_its),
        Err(error) => assert_eq!(error, Error::OtherHasher),
    }
}

/// What is restored says of itself what follows from the capacities and the items.
fn check_figures(subject: &dyn Subject, contents: &Contents) {
    let slots = contents.words as usize * contents.geometry.slots();
    assert_eq!((subject.len() as u64, subject.slots()), (contents.items(), slots));
    assert_eq!(subject.value_bits(), contents.geometry.value_bits);
    assert_eq!(subject.max_capacity() as u64, contents.max_capacity);
    // What splits have doubled takes slots, too.
    let target = (slots as f64 * contents.target_load()) as u64;
    let target = target.saturating_sub(contents.doubled);
    let capacity = if contents.geometry.grows { target.min(contents.max_capacity) } else { 0 };
    assert_eq!(subject.capacity() as u64, capacity.max(contents.capacity).max(contents.items()));
    assert!(subject.capacity() <= slots.max(subject.len()));
    // As SECURITY.md says.
    let words = 8 * contents.words as usize;
    let besides = subject.heap_bytes() - words;
    let most = if contents.geometry.grows { words / 16 + (56 << 10) } else { 48 << 10 };
    assert!(besides <= most, "{besides} bytes besides the words");

    let (rate, expected) = (subject.false_positive_rate(), contents.rate());
    assert!((rate - expected).abs() <= expected * 1e-5, "{rate}, {expected}");
}

/// Splits may double entries, of which the model knows nothing: but what is inserted is found, and can be removed.
fn use_without_model(subject: &dyn Subject, rest: &mut Unstructured<'_>) {
    let largest = ((1_u64 << subject.value_bits()) - 1) as u32;
    let mut held = Vec::new();
    while let Ok(number) = u16::arbitrary(rest)
        && !rest.is_empty()
        && held.len() < MOST_ITEMS
    {
        let item = (hash(number), u32::from(number) & largest);
        if subject.insert(item).is_err() {
            break;
        }
        held.push(item);
    }
    let is_there = |subject: &dyn Subject, (hash, value): (u64, u32)| {
        subject.contains(hash) && subject.values(hash).contains(&value)
    };
    assert!(held.iter().all(|&item| is_there(subject, item)));
    let bytes = subject.bytes();
    assert!(format::read(&bytes).is_ok());
    let restored = subject.restored(&bytes).expect("what was just written");
    assert_eq!(restored.len(), subject.len());
    for (at, &item) in held.iter().enumerate() {
        assert!(held[at..].iter().all(|&item| is_there(&*restored, item)));
        assert!(restored.remove(item), "an item is lost");
    }
}

/// Only the layout of the snapshot, where the type names one. One of fixed size is then as one that is built.
fn named_layout(contents: &Contents, bytes: &[u8]) {
    type Built = Result<Box<dyn Subject>, Error>;

    fn is_other(bytes: &[u8], build: impl Fn(usize, u32) -> Built, contents: &Contents) -> bool {
        let restored = build(0, 1).expect("a small one").restored(bytes);
        if let Ok(restored) = &restored
            && !contents.geometry.grows
        {
            let built = build(contents.capacity as usize, contents.geometry.value_bits);
            restored.clear();
            assert_eq!(restored.bytes(), built.expect("as restored").bytes());
        }
        matches!(restored, Err(Error::OtherLayout { .. }))
    }
    fn fixed<L: Held + coucal::Layout>(contents: &Contents, bytes: &[u8]) -> bool {
        let build = |capacity, bits| {
            if contents.geometry.is_maplet() {
                let maplets = CuckooMaplet::builder().layout::<L>().hasher(HASHER);
                boxed(|| maplets.capacity(capacity).value_bits(bits).build())
            } else {
                let filters = CuckooFilter::builder().layout::<L>().hasher(HASHER);
                boxed(|| filters.capacity(capacity).build())
            }
        };
        is_other(bytes, build, contents)
    }
    fn growing<L: GrowingLayout + 'static>(contents: &Contents, bytes: &[u8]) -> bool {
        let build = |_, bits| {
            if contents.geometry.is_maplet() {
                let maplets = CuckooMaplet::builder().growable().layout::<L>().hasher(HASHER);
                boxed(|| maplets.capacity(1).value_bits(bits).build())
            } else {
                boxed(|| CuckooFilter::builder().growable().layout::<L>().hasher(HASHER).build())
            }
        };
        is_other(bytes, build, contents)
    }
    macro_rules! count {
        ($is_other:ident $($layout:ident)*) => {
            [$($is_other::<coucal::$layout>(contents, bytes)),*]
                .iter()
                .filter(|&&other| other)
                .count()
        };
    }
    if contents.geometry.grows {
        assert_eq!(coucal_reference::for_each_layout!(that grows: count growing), 3);
    } else {
        assert_eq!(coucal_reference::for_each_layout!(count fixed), 8);
    }
}
