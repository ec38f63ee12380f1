//! Batches of every length about the prefetch distance: each answer is checked, with items so
//! arranged that the answer of a neighbour, or of an item some distance away, is wrong.

use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{panic, thread};

use coucal::{CuckooFilter, Error};

use crate::common::{Item, Kind, Layout, Subject, hashes, stopped};

/// How many items a batch looks ahead: not part of the API, and so only a hint which lengths matter.
const DISTANCE: usize = 32;
const LONGEST: usize = 4 * DISTANCE + 3;

of_each_layout!(batches_of_every_length);

/// Of filters, of fixed size or while they grow.
fn batches_of_every_length(layout: Layout) {
    for kind in Kind::all(layout, |_| Vec::new()) {
        let build = || if kind.grows { kind.build(0, 500) } else { kind.build(0, 10_000) };
        every_length_gets_the_right_answers(&*build());
        every_length_is_stored(build);
        every_length_is_stored_unless_it_is_there(&*build());
        every_length_is_removed(&*build());
        a_batch_removes_one_copy_for_each_item(&*build());
        let capacity = if kind.grows { 200 } else { 100 };
        a_refused_item_ends_the_batch(&*kind.build(100, capacity), layout.slots);
        a_refused_item_ends_the_batch_of_new_ones(|| kind.build(100, 300));
    }
}

/// Whether the item at this place of the batch is in the filter. Each of the first three differs at
/// places next to each other, `DISTANCE` apart, or twice the distance apart; the last has no period.
const PATTERNS: [fn(usize) -> bool; 4] = [
    |at| at.is_multiple_of(2),
    |at| (at / DISTANCE).is_multiple_of(2),
    |at| at / DISTANCE % 4 < 2,
    |at| (at * at + at / 7).is_multiple_of(3),
];

/// Items that the filter tells apart, none of them stored: the first half is to be stored, the
/// second is not.
fn apart(filter: &dyn Subject, count: usize) -> (Vec<Item>, Vec<Item>) {
    let items = hashes(61).map(|hash| (hash, 0));
    let new = items.filter(|&item| filter.insert_unique(item) == Ok(true));
    let mut found: Vec<Item> = new.take(2 * count).collect();
    filter.clear();
    let absent = found.split_off(count);
    (found, absent)
}

/// Each pattern and length, with a batch that has a present item where the pattern says so, and else an absent one.
fn each_batch(
    [present, absent]: [&[Item]; 2],
    mut then: impl FnMut(fn(usize) -> bool, usize, &[Item]),
) {
    for pattern in PATTERNS {
        for length in 0..=LONGEST {
            let choose = |at: usize| if pattern(at) { present[at] } else { absent[at] };
            then(pattern, length, &(0..length).map(choose).collect::<Vec<Item>>());
        }
    }
}

fn copies(filter: &dyn Subject, (hash, _): Item) -> usize {
    filter.values(hash).len()
}

fn every_length_gets_the_right_answers(filter: &dyn Subject) {
    let (present, absent) = apart(filter, LONGEST);
    filter.insert_many(&present).expect("within the capacity");
    each_batch([&present, &absent], |pattern, length, batch| {
        let hashes: Vec<u64> = batch.iter().map(|&(hash, _)| hash).collect();
        let expected: Vec<bool> = (0..length).map(pattern).collect();
        assert!(hashes.iter().map(|&hash| filter.contains(hash)).eq(expected.iter().copied()));
        assert_eq!(filter.contains_each(&hashes), expected, "a batch of {length}");
    });
}

fn every_length_is_stored(build: impl Fn() -> Box<dyn Subject>) {
    let (items, absent) = apart(&*build(), LONGEST);
    for length in 0..=LONGEST {
        let filter = build();
        let (batch, others) = items.split_at(length);
        assert_eq!(filter.insert_many(batch), Ok(()));
        assert_eq!(filter.len(), length);
        assert!(batch.iter().all(|&item| copies(&*filter, item) == 1), "a batch of {length}");
        assert!(others.iter().chain(&absent).all(|&(hash, _)| !filter.contains(hash)));
        assert!(batch.iter().all(|&item| filter.remove(item)) && filter.is_empty());
    }
}

/// Half of the batch is there before; and then the batch names each of its items once more.
fn every_length_is_stored_unless_it_is_there(filter: &dyn Subject) {
    let (present, absent) = apart(filter, LONGEST);
    each_batch([&present, &absent], |pattern, length, batch| {
        assert_eq!(filter.insert_many(&present), Ok(()));
        let expected: Vec<bool> = (0..2 * length).map(|at| at < length && !pattern(at)).collect();
        let (new, failed) = filter.insert_unique_each(&[batch, batch].concat());
        assert_eq!((&new, failed), (&expected, None), "a batch of {length}, twice");
        assert_eq!(filter.len(), LONGEST + expected.iter().filter(|&&new| new).count());
        assert!(batch.iter().chain(&present).all(|&item| copies(filter, item) == 1));
        filter.clear();
    });
}

fn every_length_is_removed(filter: &dyn Subject) {
    let (present, absent) = apart(filter, LONGEST);
    each_batch([&present, &absent], |pattern, length, batch| {
        assert_eq!(filter.insert_many(&present), Ok(()));
        let expected: Vec<bool> = (0..length).map(pattern).collect();
        assert_eq!(filter.remove_each(batch), expected, "a batch of {length}");
        for (at, &item) in present.iter().enumerate() {
            let stays = at >= length || !pattern(at);
            assert_eq!(filter.remove(item), stays, "{at}, a batch of {length}");
        }
        assert!(filter.is_empty());
    });
}

/// An item as often as the batch names it, and not more often than it is there.
fn a_batch_removes_one_copy_for_each_item(filter: &dyn Subject) {
    let (items, _) = apart(filter, 3);
    for copies in 0..=3 {
        for (&item, copies) in items.iter().zip([copies, 1, 2]) {
            filter.insert_many(&vec![item; copies]).expect("few items");
        }
        let batch = [items[0], items[1], items[0], items[2]];
        assert_eq!(filter.remove_each(&batch), [copies > 0, true, copies > 1, true]);
        assert_eq!(filter.len(), copies.saturating_sub(2) + 1);
        filter.clear();
    }
}

/// With too few answers or too many nothing is done, and nothing written.
#[test]
fn a_batch_needs_as_many_answers_as_items() {
    let filter = CuckooFilter::with_capacity(100);
    filter.insert_many(&[1, 2, 3]).expect("made for a hundred");
    for answers in [0, 2, 4] {
        let mut written = vec![true; answers];
        let error = Error::LengthMismatch { items: 3, answers };
        assert_eq!(filter.contains_many(&[1, 5, 6], &mut written), Err(error.clone()));
        assert_eq!(filter.remove_many(&[1, 2, 5], &mut written), Err(error.clone()));
        assert_eq!(filter.insert_unique_many(&[1, 5, 6], &mut written), Err(error));
        assert!(!written.contains(&false) && filter.len() == 3);
    }
    let mut written = [true; 3];
    assert_eq!(filter.insert_unique_many(&[1, 5, 5], &mut written), Ok(1));
    assert_eq!(written, [false, true, false]);
}

/// One item of the batch cannot be stored: those before it are, it and those after it are not. The others are copies
/// of one item: of an item that is beside its buckets already, a full filter takes any number.
fn a_refused_item_ends_the_batch(filter: &dyn Subject, slots: usize) {
    let item = (0, 0);
    filter.insert_many(&vec![item; 2 * slots + 1]).expect("an empty filter");
    let mut items = hashes(61).map(|hash| (hash, 0));
    let refused = items.find(|&item| filter.insert(item).is_err()).expect("it is full");
    let (len, of_refused, of_item) = (filter.len(), copies(filter, refused), copies(filter, item));
    for length in [1, DISTANCE - 1, DISTANCE, DISTANCE + 1, 2 * DISTANCE, LONGEST] {
        for at in 0..length {
            let mut batch = vec![item; length];
            batch[at] = refused;
            let failed = filter.insert_many(&batch).expect_err("it is full");
            assert_eq!(stopped(failed), (at, at, Error::Full));
            assert_eq!((filter.len(), copies(filter, refused)), (len + at, of_refused));
            assert_eq!(copies(filter, item), of_item + at, "refused at {at} of {length}");
            assert!((0..at).all(|_| filter.remove(item)));
        }
    }
}

/// A filter that is too small for the batch stores what it stores of a loop, and says how far it came.
fn a_refused_item_ends_the_batch_of_new_ones(build: impl Fn() -> Box<dyn Subject>) {
    let (filter, other) = (build(), build());
    // Each of them twice.
    let batch: Vec<Item> = hashes(61).flat_map(|hash| [(hash, 0); 2]).take(2000).collect();
    let mut expected = Vec::new();
    let cause = batch.iter().find_map(|&item| match other.insert_unique(item) {
        Ok(new) => {
            expected.push(new);
            None
        }
        Err(error) => Some(error),
    });
    let stored = expected.iter().filter(|&&new| new).count();
    assert!(300 <= stored && stored < expected.len(), "{stored} of {}", expected.len());
    assert_eq!(filter.insert_unique_each(&batch), (expected, cause));
    assert_eq!(filter.len(), stored);
}

/// The same hashes in every run.
type Fixed = BuildHasherDefault<DefaultHasher>;

/// An item whose hash cannot be had, or a number.
struct Key(Option<u64>);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Without a message: `resume_unwind` does not call the hook that would print one.
        let Some(value) = self.0 else { panic::resume_unwind(Box::new("no hash")) };
        value.hash(state);
    }
}

/// Of a batch in which the hash of one item panics, the items before it are done but for the last few, which were to be
/// done after their hashes and those ahead of them were taken. The answers say which. Nothing else has changed: no lock
/// is held, and all goes on.
#[test]
fn a_panic_in_a_batch() {
    type Filter = CuckooFilter<coucal::Fp16x4, Fixed>;
    type Batch = fn(&Filter, &[Key], &mut [bool]) -> Result<(), Error>;

    let key = |place: usize| Key(Some(place as u64));
    let batches: [(Batch, bool, bool); 4] = [
        (|filter, batch, _| filter.insert_many(batch), false, true),
        (|filter, batch, new| filter.insert_unique_many(batch, new).map(drop), false, true),
        (|filter, batch, removed| filter.remove_many(batch, removed).map(drop), true, false),
        (|filter, batch, found| filter.contains_many(batch, found), true, true),
    ];
    for (number, (batch, are_there, are_there_then)) in batches.into_iter().enumerate() {
        for (at, length) in
            (0..LONGEST).map(|at| (at, LONGEST)).chain([(0, 1), (DISTANCE, DISTANCE + 1)])
        {
            let filter = CuckooFilter::with_capacity_and_hasher(1000, Fixed::default());
            let first = if are_there { length } else { 0 };
            (0..first).for_each(|place| filter.insert(&key(place)).expect("made for more"));
            let keys: Vec<Key> =
                (0..length).map(|place| if place == at { Key(None) } else { key(place) }).collect();
            let mut answers = vec![false; length];
            let panicked = catch_unwind(AssertUnwindSafe(|| batch(&filter, &keys, &mut answers)));
            assert!(panicked.is_err(), "a panic goes on to the caller");

            let done = if are_there == are_there_then {
                answers.iter().filter(|&&answer| answer).count()
            } else {
                filter.len().abs_diff(first)
            };
            assert!(at.saturating_sub(DISTANCE) <= done && done <= at, "{done} of {at}");
            let expected = (0..length).map(|place| place < done && number > 0);
            assert!(answers.into_iter().eq(expected));
            // From another thread, which would wait for a lock that was left.
            thread::scope(|scope| {
                scope.spawn(|| {
                    for place in 0..length {
                        let is_there = if place < done { are_there_then } else { are_there };
                        assert_eq!(filter.remove(&key(place)), is_there, "{place}, batch {number}");
                    }
                    assert!(filter.is_empty());
                    (0..1000).for_each(|place| filter.insert(&key(place)).expect("made for it"));
                    filter.clear();
                });
            });
        }
    }
}
