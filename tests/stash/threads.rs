//! Many writers of one item, and readers of others beside them.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use coucal_reference::format::Value;

use coucal::Prehashed;

use super::{empties, kinds};
use crate::common::{
    Filter, Item, Layout, Stopped, Subject, default_layout, fill, hashes, repetitions, turn,
};

of_each_layout!(beside_writers_of_a_hot_item);

const WRITERS: usize = 64;
const READERS: usize = 4;

/// Items with the same two buckets, that cannot be taken for each other.
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

/// One item is in a bucket at first, and one in the stash. Writers insert a copy of the hot item each, which fill the
/// buckets, and remove it again: so the stash fills, and what is in it goes back. In a maplet each writer has a value
/// of its own, and gives it another one in between.
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
                    // Room for what is in the stash.
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
                        // In a maplet it compares all values that are found, and one that goes back is found twice.
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

/// What is looked up is the same before and beside the writers, and none of it is inserted: writers insert and remove
/// copies of items that are there throughout. So an answer can differ only if a lookup gives up.
fn lookups_beside_stashing(stashed_items: usize, filter: &Filter) {
    const LOOKERS: u64 = 8;
    const STASHERS: usize = 2;
    let _turn = turn();
    let slots_of_two = 2 * default_layout().slots;
    let hot: Vec<u64> = hashes(41).take(stashed_items).collect();
    // Of every second one nothing is in the stash, from time to time.
    for (at, &hash) in hot.iter().enumerate() {
        filter.insert_many(Prehashed::slice(&vec![hash; slots_of_two + at % 2])).expect("room");
    }
    let room = filter.capacity() - filter.len();
    fill(filter, hashes(43).take(room * 9 / 10));
    let lookups = repetitions(150_000, 10_000_000) as usize;
    let reported = |seed: u64| -> Vec<bool> {
        hashes(seed + 100).take(lookups).map(|hash| filter.contains(&Prehashed(hash))).collect()
    };
    let quiet: Vec<Vec<bool>> = (0..LOOKERS).map(reported).collect();
    let start = Barrier::new(LOOKERS as usize + STASHERS);
    let looking = AtomicUsize::new(LOOKERS as usize);
    let beside: Vec<Vec<bool>> = thread::scope(|scope| {
        let (start, looking, hot) = (&start, &looking, &hot);
        for number in 0..STASHERS {
            scope.spawn(move || {
                start.wait();
                for &hash in hot.iter().skip(number).step_by(STASHERS).cycle() {
                    if looking.load(Ordering::SeqCst) == 0 {
                        break;
                    }
                    assert_eq!(filter.insert(&Prehashed(hash)), Ok(()));
                    assert!(filter.remove(&Prehashed(hash)));
                }
            });
        }
        let look = |seed| {
            let _stopped = Stopped(looking);
            start.wait();
            reported(seed)
        };
        let lookers: Vec<_> = (0..LOOKERS).map(|seed| scope.spawn(move || look(seed))).collect();
        lookers.into_iter().map(|each| each.join().expect("a reader")).collect()
    });
    let pairs = || quiet.iter().flatten().zip(beside.iter().flatten());
    let missed = pairs().filter(|&(&quiet, &beside)| quiet && !beside).count();
    let more = pairs().filter(|&(&quiet, &beside)| !quiet && beside).count();
    let before = quiet.iter().flatten().filter(|&&found| found).count();
    println!("{before} found before, {more} more beside writers: {:?}", filter.stats());
    assert_eq!(missed, 0, "found before, and not beside the writers");
    assert!(more as u64 <= filter.stats().inconclusive_lookups);
    assert!(more as f64 <= 10.0 + 0.3 * before as f64, "{more} answers more than {before}");
}

#[test]
fn the_rate_stays_beside_writers_of_stashed_items() {
    for (stashed_items, capacity) in [(3, 100), (200, 20_000), (4000, 200_000)] {
        lookups_beside_stashing(stashed_items, &default_layout().filter(capacity));
    }
}
