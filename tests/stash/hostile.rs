//! Snapshots whose stash no table has: the crate and the reader of the reference return the same error.

use std::collections::BTreeSet;

use coucal::Error;
use coucal_reference::format::{HEADER, PAIR, ReadError, at, forged, number, put};
use coucal_reference::judged;

use super::kinds;
use crate::common::{Item, Kind, Layout, Subject, hashes};

of_each_layout!(hostile_stashes);

/// The maximum number of copies of an item with stashed copies.
const MOST_COPIES: u64 = (1 << 25) - 1;

const ENTRIES: usize = 3;

/// A snapshot with stashed entries of three items.
struct Saved {
    kind: Kind,
    bytes: Vec<u8>,
    words: u64,
    /// The offset of the stash.
    start: usize,
}

impl Saved {
    fn new(kind: Kind) -> Self {
        let subject = kind.build(1, 200);
        let geometry = subject.geometry();
        let mut used = BTreeSet::new();
        // Items with buckets of their own.
        let mut is_apart = |&hash: &u64| {
            geometry.buckets(hash, subject.slots()).iter().all(|&bucket| used.insert(bucket))
        };
        let apart = hashes(51).filter(|hash| is_apart(hash)).take(ENTRIES);
        for (hash, stashed) in apart.zip(1..) {
            let items: Vec<Item> = vec![(hash, 0); 2 * kind.layout.slots + stashed];
            subject.insert_many(&items).expect("room");
        }
        assert_eq!(subject.stashed(), (ENTRIES, 6), "{subject:?}");
        let bytes = subject.bytes();
        let words = number(&bytes, at::WORDS);
        let start = HEADER + 8 * words as usize;
        assert_eq!(bytes.len(), start + PAIR * ENTRIES + 8);
        Self { kind, bytes, words, start }
    }

    /// Returns the offsets of the numbers of an entry.
    fn at(&self, entry: usize) -> [usize; 2] {
        [0, 8].map(|number| self.start + PAIR * entry + number)
    }

    fn entry(&self, entry: usize) -> [u64; 2] {
        self.at(entry).map(|at| number(&self.bytes, at))
    }

    /// Returns the bytes with other numbers at these offsets.
    fn with(&self, numbers: &[(usize, u64)]) -> Vec<u8> {
        forged(&self.bytes, |bytes| numbers.iter().for_each(|&(at, number)| put(bytes, at, number)))
    }

    /// Returns the bytes with another entry in the place of this one.
    fn with_entry(&self, entry: usize, [position, rest]: [u64; 2]) -> Vec<u8> {
        let [at_position, at_rest] = self.at(entry);
        self.with(&[(at_position, position), (at_rest, rest)])
    }

    /// Returns the bytes with the maximum number of copies of these entries.
    fn with_most(&self, entries: &[usize]) -> Vec<u8> {
        let mut copies = number(&self.bytes, at::COPIES);
        let mut numbers = Vec::new();
        for &entry in entries {
            let rest = self.entry(entry)[1];
            copies += MOST_COPIES - (rest >> 39);
            numbers.push((self.at(entry)[1], rest | MOST_COPIES << 39));
        }
        numbers.push((at::COPIES, copies));
        self.with(&numbers)
    }

    fn restored(&self, bytes: &[u8]) -> Box<dyn Subject> {
        self.kind.restored(bytes).expect("a valid snapshot")
    }
}

/// Returns the error of the crate for these bytes, which must be that of the reference.
fn fault(bytes: &[u8]) -> Option<ReadError> {
    judged(bytes).err()
}

fn hostile_stashes(layout: Layout) {
    for saved in kinds(layout).into_iter().map(Saved::new) {
        assert_eq!(fault(&saved.bytes), None);
        entries_of_no_table(&saved);
        entries_out_of_order(&saved);
        numbers_that_do_not_agree(&saved);
        each_bit_flipped(&saved);
        if saved.kind.value_bits == 0 {
            millions_are_taken_back(&saved);
        } else {
            most_copies_of_a_pair(&saved);
        }
    }
}

/// Changes each field of an entry by itself.
fn entries_of_no_table(saved: &Saved) {
    let Kind { layout, grows, value_bits } = saved.kind;
    // The lowest bits of a slot that are not the core; none in a table of fixed size.
    let ring = if grows { layout.extra_bits(value_bits) + 1 } else { 0 };
    let core = ((1_u64 << (layout.bits - value_bits)) - 1) >> ring << ring;
    let first = number(&saved.bytes, at::FIRST);
    let least = if grows { u64::from(first.ilog2().min(5) + ring - 1) } else { 0 };
    for entry in 0..ENTRIES {
        let [position, rest] = saved.entry(entry);
        let knows = |known: u64| rest & !(127 << 32) | known << 32;
        let beyond = if grows { [0, least - 1, 45, 127] } else { [1, 63, 64, 127] };
        let more_bits = (0..ring).chain(layout.bits..32).map(|bit| rest | 1 << bit);
        let no_copies = rest & ((1 << 39) - 1);
        let no_core = (0..value_bits).map(|bit| rest & !core | 1 << (layout.bits - 1 - bit));
        let rests = [no_copies, rest & !core].into_iter().chain(no_core);
        let rests = rests.chain(beyond.map(knows)).chain(more_bits);
        let mut invalid: Vec<_> = rests.map(|rest| [position, rest]).collect();
        invalid.push([position | 1, rest]);
        if grows {
            assert_eq!(rest >> 32 & 127, 44);
            // A bit above those that are known.
            invalid.extend([least, 40, 44].map(|known| [1 << known, knows(known)]));
            // Any length that entries can have, at a position that keeps the order.
            for known in [least, 40, 44].into_iter().filter(|_| entry == 0) {
                let found = fault(&saved.with_entry(0, [2, knows(known)]));
                assert_eq!(found, None, "{known} bits are known");
            }
        } else if entry == ENTRIES - 1 {
            let beyond = saved.words.next_multiple_of(2);
            let positions = [beyond, beyond + 2, 1 << 32, 1 << 63, u64::MAX - 1];
            invalid.extend(positions.map(|position| [position, rest]));
            assert_eq!(fault(&saved.with_entry(entry, [beyond - 2, rest])), None);
        }
        for numbers in invalid {
            let found = fault(&saved.with_entry(entry, numbers));
            assert_eq!(
                found,
                Some(ReadError::InvalidEntry { entry }),
                "{numbers:x?}: {:?}",
                saved.kind
            );
        }
    }
}

fn entries_out_of_order(saved: &Saved) {
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        let swapped = forged(&saved.bytes, |bytes| {
            let (a, b) = bytes.split_at_mut(saved.at(other)[0]);
            a[saved.at(one)[0]..][..PAIR].swap_with_slice(&mut b[..PAIR]);
        });
        assert_eq!(fault(&swapped), Some(ReadError::InvalidEntry { entry: one + 1 }));
        // Equal except for the number of copies.
        for more in 0..3 {
            let [position, rest] = saved.entry(one);
            let twice = saved.with_entry(one + 1, [position, rest + (more << 39)]);
            assert_eq!(fault(&twice), Some(ReadError::InvalidEntry { entry: one + 1 }));
        }
    }
}

fn numbers_that_do_not_agree(saved: &Saved) {
    let says = |numbers: &[(usize, u64)], expected| {
        assert_eq!(fault(&saved.with(numbers)), Some(expected), "{numbers:?}");
    };
    let impossible = || ReadError::ImpossibleTable { words: saved.words };
    let slots = saved.words * saved.kind.layout.slots as u64;
    let copies = number(&saved.bytes, at::COPIES);
    for entries in [slots + 1, copies + 1, 1 << 60, u64::MAX / 16, u64::MAX] {
        says(&[(at::STASHED, entries)], impossible());
        // With a number of copies that would be right for it.
        let expected = if entries > slots { impossible() } else { ReadError::Truncated };
        says(&[(at::STASHED, entries), (at::COPIES, entries)], expected);
    }
    for copies in [0, ENTRIES as u64 - 1, MOST_COPIES * ENTRIES as u64 + 1, 1 << 63, u64::MAX] {
        says(&[(at::COPIES, copies)], impossible());
    }
    says(&[(at::STASHED, 0)], impossible());
    // Fewer entries than there are: the checksum is elsewhere.
    says(&[(at::STASHED, 2)], ReadError::Damaged);
    let wrong = |stated: u64, found: u64| ReadError::WrongLen {
        stated: stated as usize,
        found: found as usize,
    };
    for stated in [copies - 1, copies + 1, MOST_COPIES] {
        says(&[(at::COPIES, stated)], wrong(stated, copies));
    }
    for entry in 0..ENTRIES {
        let [_, rest] = saved.entry(entry);
        says(&[(saved.at(entry)[1], rest + (1 << 39))], wrong(copies, copies + 1));
        // As many copies as an entry can have, with that number in the header.
        assert_eq!(fault(&saved.with_most(&[entry])), None);
    }
}

/// Flips each bit of each entry, and of both numbers in the header.
fn each_bit_flipped(saved: &Saved) {
    let fields = (saved.start..saved.start + PAIR * ENTRIES).chain(at::STASHED..at::CHECKSUM);
    let flipped = fields.flat_map(|byte| 8 * byte..8 * byte + 8).map(|bit| {
        let bytes = forged(&saved.bytes, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        fault(&bytes)
    });
    assert!(flipped.filter(Option::is_none).count() > 0, "some bits of a core");
}

/// A pair with the maximum number of copies that the stash counts gets no more, and nothing is lost.
fn most_copies_of_a_pair(saved: &Saved) {
    let hash = hashes(51).next().expect("endless");
    let mut subjects = (0..ENTRIES).map(|entry| saved.restored(&saved.with_most(&[entry])));
    let subject = subjects.find(|subject| subject.insert((hash, 0)).is_err()).expect("its entry");
    assert_eq!(subject.insert((hash, 0)), Err(Error::Full));
    assert_eq!(subject.insert((hash, 1)), Ok(()));
    let before = subject.bytes();
    assert_eq!(subject.try_replace((hash, 1), 0), Err(Error::Full));
    assert!(subject.bytes() == before && subject.values(hash).contains(&1));
    assert_eq!(subject.try_replace((hash, 0), 1), Ok(true));
    assert_eq!(subject.try_replace((hash, 1), 0), Ok(true));
}

/// A merge is refused for one item, which would then have too many copies, after millions of copies of others were
/// stored: all of them are taken back, those of an entry at once.
fn millions_are_taken_back(saved: &Saved) {
    let other = saved.restored(&saved.with_most(&[0, 1, 2]));
    // Some of them are the items of the other filter.
    for hash in hashes(51).take(2 * ENTRIES).filter(|&hash| other.contains(hash)) {
        let one = saved.kind.build(1, 200);
        let copies = 2 * saved.kind.layout.slots + 1;
        one.insert_many(&vec![(hash, 0); copies]).expect("room");
        let before = one.contents().copies;
        assert_eq!(one.merge(&*other), Err(Error::Full));
        assert_eq!(one.contents().copies, before);
        assert_eq!(one.len(), copies);
    }
    let one = saved.kind.build(1, 200);
    assert_eq!(one.merge(&*other), Ok(()));
    assert_eq!(one.len(), other.len());
}
