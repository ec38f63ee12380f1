//! Snapshots whose stash is that of no table: the crate and the reader of the reference name the same error.

use std::collections::BTreeSet;

use coucal::{Error, Snapshot};
use coucal_reference::format::{self, Fault, HEADER, PAIR, at, forged, number, put};

use super::kinds;
use crate::common::{Item, Kind, Layout, hashes};

of_each_layout!(hostile_stashes);

/// Of an item of which something is stashed.
const MOST_COPIES: u64 = (1 << 25) - 1;

/// A snapshot with stashed entries of three items.
struct Saved {
    kind: Kind,
    bytes: Vec<u8>,
    words: u64,
    /// Where the stash begins.
    start: usize,
}

impl Saved {
    /// Where a number of an entry is.
    fn at(&self, entry: usize, number: usize) -> usize {
        self.start + PAIR * entry + 8 * number
    }

    fn number(&self, entry: usize, number: usize) -> u64 {
        format::number(&self.bytes, self.at(entry, number))
    }

    fn with(&self, entry: usize, number: usize, value: u64) -> Vec<u8> {
        forged(&self.bytes, |bytes| put(bytes, self.at(entry, number), value))
    }

    fn with_header(&self, field: usize, value: u64) -> Vec<u8> {
        forged(&self.bytes, |bytes| put(bytes, field, value))
    }

    /// The lowest bits of a slot that are not the core; none in a table of fixed size.
    fn ring(&self) -> u32 {
        let Kind { layout, grows, value_bits } = self.kind;
        if grows { layout.extra_bits(value_bits) + 1 } else { 0 }
    }

    /// With as many copies of this entry as one can have.
    fn with_most(&self, entry: usize) -> Vec<u8> {
        let held = self.number(entry, 1) >> 39;
        forged(&self.bytes, |bytes| {
            put(bytes, self.at(entry, 1), self.number(entry, 1) | MOST_COPIES << 39);
            put(bytes, at::COPIES, number(&self.bytes, at::COPIES) - held + MOST_COPIES);
        })
    }
}

const ENTRIES: usize = 3;

fn saved(kind: Kind) -> Saved {
    let subject = kind.build(1, 200);
    let geometry = subject.geometry();
    let mut used = BTreeSet::new();
    // With buckets of their own.
    let apart = hashes(51)
        .filter(|&hash| geometry.buckets(hash, subject.slots()).iter().all(|&at| used.insert(at)));
    for (hash, stashed) in apart.take(ENTRIES).zip(1..) {
        let items: Vec<Item> = vec![(hash, 0); 2 * kind.layout.slots + stashed];
        subject.insert_many(&items).expect("room");
    }
    assert_eq!(subject.stashed(), (ENTRIES, 6), "{subject:?}");
    let bytes = subject.bytes();
    let words = number(&bytes, at::WORDS);
    let start = HEADER + 8 * words as usize;
    assert_eq!(bytes.len(), start + PAIR * ENTRIES + 8);
    Saved { kind, bytes, words, start }
}

/// What the crate says of bytes is what the reference says. What is restored has the number of items that the
/// bytes state, and gives the same bytes.
fn verdict(saved: &Saved, bytes: &[u8]) -> Option<Fault> {
    match (saved.kind.restored(bytes), format::read(bytes)) {
        (Ok(restored), Ok(contents)) => {
            assert_eq!(restored.len() as u64, contents.items());
            let stashed = (contents.stashed as usize, contents.stashed_copies as usize);
            assert_eq!(restored.stashed(), stashed);
            assert!(restored.bytes() == bytes);
            None
        }
        (Err(error), Err(fault)) => {
            assert_eq!(Fault::of(&error), fault);
            let of_snapshot = Snapshot::from_bytes(bytes).expect_err("not of another kind");
            assert_eq!(Fault::of(&of_snapshot), fault);
            Some(fault)
        }
        (Ok(restored), Err(fault)) => panic!("the crate takes bytes with {fault:?}: {restored:?}"),
        (Err(error), Ok(_)) => panic!("the crate refuses bytes without a fault: {error}"),
    }
}

fn each_is_refused(saved: &Saved) {
    assert_eq!(verdict(saved, &saved.bytes), None);
    entries_of_no_table(saved);
    entries_out_of_order(saved);
    numbers_that_do_not_agree(saved);
    each_bit_flipped(saved);
}

/// Each field of an entry by itself.
fn entries_of_no_table(saved: &Saved) {
    let name = (1 << 39) - 1;
    for entry in 0..ENTRIES {
        let [position, rest] = [0, 1].map(|at| saved.number(entry, at));
        let invalid = |bytes: Vec<u8>, what: &str| {
            assert_eq!(verdict(saved, &bytes), Some(Fault::InvalidEntry(entry)), "{what}");
        };
        invalid(saved.with(entry, 0, position | 1), "an odd position");
        invalid(saved.with(entry, 1, rest & name), "no copies");
        let core = ((1_u64 << (saved.kind.layout.bits - saved.kind.value_bits)) - 1)
            >> saved.ring()
            << saved.ring();
        invalid(saved.with(entry, 1, rest & !core), "no core");
        for bit in saved.kind.layout.bits..32 {
            invalid(saved.with(entry, 1, rest | 1 << bit), "a bit above those of a slot");
        }
        for bit in 0..saved.ring() {
            invalid(saved.with(entry, 1, rest | 1 << bit), "a ring");
        }
        let knows = |known: u64| rest & !(127 << 32) | known << 32;
        let least = if saved.kind.grows {
            let first = number(&saved.bytes, at::FIRST);
            u64::from(first.ilog2().min(5) + saved.ring() - 1)
        } else {
            0
        };
        let beyond = if saved.kind.grows { [0, least - 1, 65, 127] } else { [1, 63, 64, 127] };
        for known in beyond {
            invalid(saved.with(entry, 1, knows(known)), "a length that no entry has");
        }
        if saved.kind.grows {
            assert_eq!(rest >> 32 & 127, 64);
            for known in [least, 40, 63] {
                let bytes = forged(&saved.bytes, |bytes| {
                    put(bytes, saved.at(entry, 0), 1 << known);
                    put(bytes, saved.at(entry, 1), knows(known));
                });
                invalid(bytes, "a bit above those that are known");
            }
        }
    }
    let last = ENTRIES - 1;
    if saved.kind.grows {
        // Any length that entries can have, at a position that keeps the order.
        for known in [saved.ring() + 4, 40, 63] {
            let bytes = forged(&saved.bytes, |bytes| {
                put(bytes, saved.at(0, 0), 2);
                let rest = saved.number(0, 1) & !(127 << 32) | u64::from(known) << 32;
                put(bytes, saved.at(0, 1), rest);
            });
            assert_eq!(verdict(saved, &bytes), None, "{known} bits are known");
        }
    } else {
        let beyond = saved.words.next_multiple_of(2);
        for position in [beyond, beyond + 2, 1 << 32, 1 << 63, u64::MAX - 1] {
            let fault = verdict(saved, &saved.with(last, 0, position));
            assert_eq!(fault, Some(Fault::InvalidEntry(last)), "position {position}");
        }
        assert_eq!(verdict(saved, &saved.with(last, 0, beyond - 2)), None);
    }
}

fn entries_out_of_order(saved: &Saved) {
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        let swapped = forged(&saved.bytes, |bytes| {
            for byte in 0..PAIR {
                bytes.swap(saved.at(one, 0) + byte, saved.at(other, 0) + byte);
            }
        });
        assert_eq!(verdict(saved, &swapped), Some(Fault::InvalidEntry(one + 1)));
        // Equal but for the number of copies.
        for more in 0..3 {
            let twice = forged(&saved.bytes, |bytes| {
                bytes.copy_within(saved.at(one, 0)..saved.at(one + 1, 0), saved.at(one + 1, 0));
                let rest = saved.number(one, 1) + (more << 39);
                put(bytes, saved.at(one + 1, 1), rest);
            });
            assert_eq!(verdict(saved, &twice), Some(Fault::InvalidEntry(one + 1)));
        }
    }
}

fn numbers_that_do_not_agree(saved: &Saved) {
    let is_impossible = |bytes: &[u8]| {
        assert_eq!(verdict(saved, bytes), Some(Fault::ImpossibleTable(saved.words)));
    };
    let slots = saved.words * saved.kind.layout.slots as u64;
    let copies = number(&saved.bytes, at::COPIES);
    for entries in [slots + 1, copies + 1, 1 << 60, u64::MAX / 16, u64::MAX] {
        is_impossible(&saved.with_header(at::STASHED, entries));
        // With a number of copies that would be right for it.
        let bytes = forged(&saved.bytes, |bytes| {
            put(bytes, at::STASHED, entries);
            put(bytes, at::COPIES, entries);
        });
        if entries > slots {
            is_impossible(&bytes);
        } else {
            assert_eq!(verdict(saved, &bytes), Some(Fault::Truncated));
        }
    }
    for copies in [0, ENTRIES as u64 - 1, MOST_COPIES * ENTRIES as u64 + 1, 1 << 63, u64::MAX] {
        is_impossible(&saved.with_header(at::COPIES, copies));
    }
    is_impossible(&saved.with_header(at::STASHED, 0));
    // Fewer entries than there are: the checksum is elsewhere.
    assert_eq!(verdict(saved, &saved.with_header(at::STASHED, 2)), Some(Fault::Damaged));
    for stated in [copies - 1, copies + 1, MOST_COPIES] {
        let wrong = Some(Fault::WrongLen { stated: stated as usize, found: copies as usize });
        assert_eq!(verdict(saved, &saved.with_header(at::COPIES, stated)), wrong);
    }
    for entry in 0..ENTRIES {
        let more = saved.with(entry, 1, saved.number(entry, 1) + (1 << 39));
        let wrong = Fault::WrongLen { stated: copies as usize, found: copies as usize + 1 };
        assert_eq!(verdict(saved, &more), Some(wrong));
        // As many as an entry can have, which are in the header.
        assert_eq!(verdict(saved, &saved.with_most(entry)), None);
    }
}

/// A pair that has as many copies as the stash counts gets no more, and nothing is lost.
fn most_copies_of_a_pair(saved: &Saved) {
    let hash = hashes(51).next().expect("endless");
    let of_most = |entry| saved.kind.restored(&saved.with_most(entry)).expect("a valid snapshot");
    let mut subjects = (0..ENTRIES).map(of_most);
    let subject = subjects.find(|subject| subject.insert((hash, 0)).is_err()).expect("its entry");
    assert_eq!(subject.insert((hash, 0)), Err(Error::Full));
    assert_eq!(subject.insert((hash, 1)), Ok(()));
    let before = subject.bytes();
    assert_eq!(subject.try_replace((hash, 1), 0), Err(Error::Full));
    assert!(subject.bytes() == before && subject.values(hash).contains(&1));
    assert_eq!(subject.try_replace((hash, 0), 1), Ok(true));
    assert_eq!(subject.try_replace((hash, 1), 0), Ok(true));
}

/// A merge is refused for one item that has too many copies then, after millions of copies of others were stored: all
/// of them are taken back, those of an entry at once.
fn millions_are_taken_back(saved: &Saved) {
    let bytes = forged(&saved.bytes, |bytes| {
        for entry in 0..ENTRIES {
            put(bytes, saved.at(entry, 1), saved.number(entry, 1) | MOST_COPIES << 39);
        }
        put(bytes, at::COPIES, ENTRIES as u64 * MOST_COPIES);
    });
    let other = saved.kind.restored(&bytes).expect("a valid snapshot");
    // Some of them are the items of the other.
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

/// Of each entry and of both numbers in the header.
fn each_bit_flipped(saved: &Saved) {
    let mut taken = 0;
    let fields = (saved.start..saved.start + PAIR * ENTRIES).chain(at::STASHED..at::CHECKSUM);
    for bit in fields.flat_map(|byte| 8 * byte..8 * byte + 8) {
        let bytes = forged(&saved.bytes, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        taken += usize::from(verdict(saved, &bytes).is_none());
    }
    assert!(taken > 0, "some bits of a core");
}

fn hostile_stashes(layout: Layout) {
    for saved in kinds(layout).into_iter().map(saved) {
        each_is_refused(&saved);
        if saved.kind.value_bits == 0 {
            millions_are_taken_back(&saved);
        } else {
            most_copies_of_a_pair(&saved);
        }
    }
}
