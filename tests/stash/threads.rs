//! Many writers of one item, beside readers of other items.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use coucal_reference::format::Value;

use super::{empties, kinds};
use crate::common::{Item, Layout, Stopped, Subject, hashes, repetitions, turn};

of_each_layout!(beside_writers_of_a_hot_item);

const WRITERS: usize = 64;
const READERS: usize = 4;

/// Returns items that have the same two buckets, but are not false positives of each other.
fn with_the_same_buckets(subject: &dyn Subject) -> [u64; 3] {
    let geometry = subject.geometry();
    let mut alike: HashMap<[u64; 2], Vec<u64>> = HashMap::new();
    for hash in hashes(31) {
        let alike = alike.entry(geometry.buckets(hash, subject.slots())).or_default();
        if alike.iter().all(|&other| geometry.class(other) != geometry.class(hash)) {
            alike.push(hash);
        }
        if let [hot, one, other] = alike[..] {
            return [hot, one, other];
        }
    }
    unreachable!("hashes do not end")
}

/// At first one item is in a bucket, and one in the stash. Each writer inserts a copy of the hot item and removes it
/// again. These copies fill the buckets: so the stash fills, and its entries go back. In a maplet each writer has a
/// value of its own, and replaces it by another one in between.
fn beside_writers(subject: &dyn Subject) {
    let _turn = turn();
    let [hot, settled @ ..] = with_the_same_buckets(subject);
    let top = ((1_u64 << subject.value_bits()) - 1) as Value;
    let slots_of_two = 2 * subject.geometry().slots();
    subject.insert((settled[0], top)).expect("room");
    let first: Vec<Item> = (1..slots_of_two).map(|n| (hot, n as Value & top)).collect();
    subject.insert_many(&first).expect("room");
    subject.insert((settled[1], top)).expect("room");
    assert_eq!(subject.stashed(), (1, 1), "{subject:?}");
    let start = Barrier::new(WRITERS + READERS);
    let writing = AtomicUsize::new(WRITERS);
    thread::scope(|scope| {
        let (start, writing, settled, first) = (&start, &writing, &settled, &first);
        for number in 0..WRITERS {
            scope.spawn(move || {
                let _stopped = Stopped(writing);
                let mut item = (hot, number as Value & top);
                start.wait();
                for round in 0..repetitions(100, 20_000) as usize {
                    assert_eq!(subject.insert(item), Ok(()), "{subject:?}");
                    assert!(subject.contains(hot), "an own insert is missed");
                    if top > 0 && round % 2 == 0 {
                        assert!(subject.replace(item, item.1 ^ top), "an own value is lost");
                        item.1 ^= top;
                        assert!(subject.values(hot).contains(&item.1), "an own value is missed");
                    }
                    assert!(subject.remove(item), "an own insert is lost");
                    // Makes room for stashed entries.
                    if number < first.len() && round % 16 == 0 {
                        assert!(subject.remove(first[number]), "an item is lost");
                        assert_eq!(subject.insert(first[number]), Ok(()), "{subject:?}");
                    }
                }
            });
        }
        for reader in 0..READERS {
            scope.spawn(move || {
                start.wait();
                let mut hash = settled[reader % 2];
                while writing.load(Ordering::SeqCst) > 0 {
                    for _ in 0..16 {
                        assert!(subject.contains(hash), "a settled item is missed");
                        // In a maplet all values that are found are compared; a value that goes back from the stash is
                        // found twice.
                        let found = top > 0 || subject.contains_each(&[hash])[0];
                        assert!(found, "a settled item is missed");
                    }
                    assert!(subject.values(hash).contains(&top), "a settled value is missed");
                    hash = if reader < 2 { hash } else { settled[0] ^ settled[1] ^ hash };
                }
            });
        }
    });
    assert_eq!(subject.len(), first.len() + 2, "{subject:?}");
    empties(subject, &[first, settled.map(|hash| (hash, top)).to_vec()].concat());
}

fn beside_writers_of_a_hot_item(layout: Layout) {
    for kind in kinds(layout) {
        beside_writers(&*kind.build(1, 200));
    }
}
