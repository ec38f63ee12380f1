//! Bytes of snapshots, valid or not: what is restored is then used.

use arbitrary::{Arbitrary, Unstructured};
use coucal_reference::format::{self, HEADER, ReadError, at, number, put};
use coucal_reference::{Kind, Modelled, Subject, hash, judged, keys};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::operations::{Setup, apply_all};

/// Buckets that a filter or maplet which is made may ever have.
const MOST_BUCKETS: u64 = 1 << 16;

/// Items that are inserted without a model.
const MOST_ITEMS: usize = 100;

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
        let word = |at: u16| HEADER + 8 * (usize::from(at) % words);
        match *self {
            Self::Set(field, value) => change(bytes, field, |_| value),
            Self::Add(field, by) => change(bytes, field, |old| old.wrapping_add_signed(by.into())),
            Self::Double(field) => change(bytes, field, |old| old.wrapping_mul(2)),
            Self::Truncate(by) => bytes.truncate(bytes.len().saturating_sub(by.into())),
            Self::Append(count) => bytes.resize(bytes.len() + usize::from(count), count),
            Self::Recount => {
                // The slots come first.
                for field in [at::OCCUPIED, at::COPIES, at::DOUBLED] {
                    format::seal(bytes);
                    if let Err(ReadError::WrongLen { stated, found }) = format::read(bytes)
                        && number(bytes, field) == stated as u64
                    {
                        put(bytes, field, found as u64);
                    }
                }
            }
            // The others change words.
            _ if words == 0 => {}
            Self::Word(at, value) => put(bytes, word(at), value),
            Self::FlipWord(at, bit) => {
                let flipped = number(bytes, word(at)) ^ 1 << (bit % 64);
                put(bytes, word(at), flipped);
            }
            Self::SwapWords(a, b) => {
                let [first, second] = [a, b].map(|at| number(bytes, word(at)));
                put(bytes, word(a), second);
                put(bytes, word(b), first);
            }
            Self::CopyWord(from, to) => bytes.copy_within(word(from)..word(from) + 8, word(to)),
            Self::Byte(at, value) => {
                let at = usize::from(at) % bytes.len();
                bytes[at] = value;
            }
        }
    }
}

fn change(bytes: &mut [u8], field: u8, change: impl FnOnce(u64) -> u64) {
    let small = [at::VERSION].into_iter().chain(at::KIND..at::FIRST);
    let sizes = (at::FIRST..at::VALUE_BITS).step_by(8).chain([at::VALUE_BITS, at::TARGET_LOAD]);
    let fields: Vec<_> = small.chain(sizes).chain((at::STASHED..at::CHECKSUM).step_by(8)).collect();
    let at = fields[usize::from(field) % fields.len()];
    let width = match at {
        at::KIND..at::FIRST => 1,
        at::VERSION | at::VALUE_BITS | at::TARGET_LOAD => 4,
        _ => 8,
    };
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

/// Restores, by the crate and by the reader of the reference, and compares; then uses what was restored.
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
    let Ok(contents) = judged(&bytes) else { return };
    // Not of an expiring filter, of another hasher, or too large.
    if contents.generations.is_some() || contents.max_buckets > MOST_BUCKETS {
        return;
    }
    let Ok(subject) = Kind::of(&contents).restored(&bytes) else { return };
    if contents.is_exact() {
        let other = subject.copied().expect("memory");
        other.clear();
        apply_all(Modelled::new(subject), Modelled::new(other), &mut rest);
    } else {
        use_without_model(&*subject, &mut rest);
    }
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
