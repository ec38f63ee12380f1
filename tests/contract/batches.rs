//! Batches of every length about the prefetch distance: each answer is checked, with items so
//! arranged that the answer of a neighbour, or of an item some distance away, is wrong.

use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{panic, thread};

use coucal::{CuckooFilter, Error, Prehashed, Storage};

use crate::common::{Filter, Layout, hashes, stopped};

/// How many items a batch looks ahead: not part of the API, and so only a hint which lengths matter.
const DISTANCE: usize = 32;
const LONGEST: usize = 4 * DISTANCE + 3;

of_each_layout!(of_fixed_size);
of_each_growing_layout!(while_it_grows);

fn of_fixed_size(layout: Layout) {
    each_batch_is_right(|| layout.filter(10_000));
    a_refused_item_ends_the_batch(&layout.filter(100), layout.slots);
    a_refused_item_ends_the_batch_of_new_ones(|| layout.filter(300));
}

fn while_it_grows(layout: Layout) {
    each_batch_is_right(|| layout.growing(0, 500));
    a_refused_item_ends_the_batch(&layout.growing(100, 200), layout.slots);
    a_refused_item_ends_the_batch_of_new_ones(|| layout.growing(100, 300));
}

fn each_batch_is_right<L: Storage>(build: impl Fn() -> Filter<L>) {
    every_length_gets_the_right_answers(&build());
    every_length_is_stored(&build);
    every_length_is_stored_unless_it_is_there(&build());
    every_length_is_removed(&build());
    a_batch_removes_one_copy_for_each_item(&build());
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
fn apart<L: Storage>(filter: &Filter<L>, count: usize) -> (Vec<u64>, Vec<u64>) {
    let mut found = Vec::new();
    for hash in hashes(61) {
        if found.len() == 2 * count {
            break;
        }
        if filter.insert_unique(&Prehashed(hash)) == Ok(true) {
            found.push(hash);
        }
    }
    filter.clear();
    let absent = found.split_off(count);
    (found, absent)
}

fn every_length_gets_the_right_answers<L: Storage>(filter: &Filter<L>) {
    let (present, absent) = apart(filter, LONGEST);
    for &hash in &present {
        filter.insert(&Prehashed(hash)).expect("within the capacity");
    }
    for pattern in PATTERNS {
        for length in 0..=LONGEST {
            let expected: Vec<bool> = (0..length).map(pattern).collect();
            let choose = |at: usize| if pattern(at) { present[at] } else { absent[at] };
            let batch: Vec<u64> = (0..length).map(choose).collect();
            let single: Vec<bool> =
                batch.iter().map(|&hash| filter.contains(&Prehashed(hash))).collect();
            assert_eq!(single, expected);
            // What was there before must not matter.
            for before in [false, true] {
                let mut found = vec![before; length];
                assert_eq!(filter.contains_many(Prehashed::slice(&batch), &mut found), Ok(()));
                assert_eq!(found, expected, "a batch of {length}");
            }
        }
    }
}

fn every_length_is_stored<L: Storage>(build: impl Fn() -> Filter<L>) {
    let (items, absent) = apart(&build(), LONGEST);
    for length in 0..=LONGEST {
        let filter = build();
        let (batch, others) = items.split_at(length);
        assert_eq!(filter.insert_many(Prehashed::slice(batch)), Ok(()));
        assert_eq!(filter.len(), length);
        assert!(
            batch.iter().all(|&hash| filter.count(&Prehashed(hash)) == 1),
            "a batch of {length}"
        );
        assert!(others.iter().chain(&absent).all(|&hash| !filter.contains(&Prehashed(hash))));
        assert!(batch.iter().all(|&hash| filter.remove(&Prehashed(hash))));
        assert!(filter.is_empty());
    }
}

/// Half of the batch is there before; and then the batch names each of its items once more.
fn every_length_is_stored_unless_it_is_there<L: Storage>(filter: &Filter<L>) {
    let (present, absent) = apart(filter, LONGEST);
    for pattern in PATTERNS {
        for length in 0..=LONGEST {
            assert_eq!(filter.insert_many(Prehashed::slice(&present)), Ok(()));
            let expected: Vec<bool> =
                (0..2 * length).map(|at| at < length && !pattern(at)).collect();
            let choose = |at: usize| if pattern(at) { present[at] } else { absent[at] };
            let batch: Vec<u64> = (0..length).chain(0..length).map(choose).collect();
            // What was there before must not matter.
            let mut new: Vec<bool> = (0..batch.len()).map(|at| at % 3 == 0).collect();
            let count =
                filter.insert_unique_many(Prehashed::slice(&batch), &mut new).expect("few items");
            assert_eq!(new, expected, "a batch of {length}, twice");
            assert_eq!(count, expected.iter().filter(|&&new| new).count());
            assert_eq!(filter.len(), LONGEST + count);
            assert!(batch.iter().chain(&present).all(|&hash| filter.count(&Prehashed(hash)) == 1));
            filter.clear();
        }
    }
}

fn every_length_is_removed<L: Storage>(filter: &Filter<L>) {
    let (present, absent) = apart(filter, LONGEST);
    for pattern in PATTERNS {
        for length in 0..=LONGEST {
            assert_eq!(filter.insert_many(Prehashed::slice(&present)), Ok(()));
            let expected: Vec<bool> = (0..length).map(pattern).collect();
            let choose = |at: usize| if pattern(at) { present[at] } else { absent[at] };
            let batch: Vec<u64> = (0..length).map(choose).collect();
            // What was there before must not matter.
            let mut removed: Vec<bool> = (0..length).map(|at| at % 3 == 0).collect();
            let count = filter.remove_many(Prehashed::slice(&batch), &mut removed);
            assert_eq!(count, Ok(expected.iter().filter(|&&there| there).count()));
            assert_eq!(removed, expected, "a batch of {length}");
            for (at, &hash) in present.iter().enumerate() {
                let stays = at >= length || !pattern(at);
                assert_eq!(filter.remove(&Prehashed(hash)), stays, "{at}, a batch of {length}");
            }
            assert!(filter.is_empty());
        }
    }
}

/// An item as often as the batch names it, and not more often than it is there.
fn a_batch_removes_one_copy_for_each_item<L: Storage>(filter: &Filter<L>) {
    let (items, _) = apart(filter, 3);
    for copies in 0..=3 {
        for (&item, copies) in items.iter().zip([copies, 1, 2]) {
            (0..copies).for_each(|_| filter.insert(&Prehashed(item)).expect("few items"));
        }
        let batch = [items[0], items[1], items[0], items[2]];
        let mut removed = [false; 4];
        let count = filter.remove_many(Prehashed::slice(&batch), &mut removed);
        assert_eq!(removed, [copies > 0, true, copies > 1, true]);
        assert_eq!(count, Ok(2 + copies.min(2)));
        assert_eq!(filter.len(), copies.saturating_sub(2) + 1);
        filter.clear();
    }
}

/// With too few answers or too many nothing is removed.
#[test]
fn a_batch_of_removals_needs_as_many_answers() {
    let filter = CuckooFilter::with_capacity(100);
    filter.insert_many(&[1, 2, 3]).expect("made for a hundred");
    for answers in [0, 2, 4] {
        let mut removed = vec![false; answers];
        let error = filter.remove_many(&[1, 2, 3], &mut removed).expect_err("3 items");
        assert_eq!(error, Error::LengthMismatch { items: 3, answers });
        assert!(!removed.contains(&true));
        assert_eq!(filter.len(), 3);
    }
    let mut removed = [false; 3];
    assert_eq!(filter.remove_many(&[1, 2, 3], &mut removed), Ok(3));
    assert_eq!((removed, filter.len()), ([true; 3], 0));
}

/// With too few answers or too many nothing is stored.
#[test]
fn a_batch_of_unique_inserts_needs_as_many_answers() {
    let filter = CuckooFilter::with_capacity(100);
    for answers in [0, 2, 4] {
        let mut new = vec![false; answers];
        let error = filter.insert_unique_many(&[1, 2, 3], &mut new);
        assert_eq!(error, Err(Error::LengthMismatch { items: 3, answers }));
        assert!(!new.contains(&true) && filter.is_empty());
    }
    let mut new = [false; 3];
    assert!(matches!(filter.insert_unique_many(&[1, 2, 1], &mut new), Ok(2)));
    assert_eq!((new, filter.len()), ([true, true, false], 2));
}

/// One item of the batch cannot be stored: those before it are, it and those after it are not. The others are copies
/// of one item: of an item that is beside its buckets already, a full filter takes any number.
fn a_refused_item_ends_the_batch<L: Storage>(filter: &Filter<L>, slots: usize) {
    let item = 0;
    for _ in 0..=2 * slots {
        filter.insert(&Prehashed(item)).expect("an empty filter");
    }
    let refused =
        hashes(61).find(|&hash| filter.insert(&Prehashed(hash)).is_err()).expect("it is full");
    let (len, copies) = (filter.len(), filter.count(&Prehashed(refused)));
    let of_item = filter.count(&Prehashed(item));
    for length in [1, DISTANCE - 1, DISTANCE, DISTANCE + 1, 2 * DISTANCE, LONGEST] {
        for at in 0..length {
            let mut batch = vec![item; length];
            batch[at] = refused;
            let failed = filter.insert_many(Prehashed::slice(&batch)).expect_err("it is full");
            assert_eq!(stopped(failed), (at, at, Error::Full));
            assert_eq!((filter.len(), filter.count(&Prehashed(refused))), (len + at, copies));
            assert_eq!(filter.count(&Prehashed(item)), of_item + at, "refused at {at} of {length}");
            assert!((0..at).all(|_| filter.remove(&Prehashed(item))));
        }
    }
}

/// A filter that is too small for the batch stores what it stores of a loop, and says how far it came.
fn a_refused_item_ends_the_batch_of_new_ones<L: Storage>(build: impl Fn() -> Filter<L>) {
    let (filter, other, by_iterator) = (build(), build(), build());
    // Each of them twice.
    let batch: Vec<u64> = hashes(61).flat_map(|hash| [hash; 2]).take(2000).collect();
    let mut expected = Vec::new();
    let cause = batch.iter().find_map(|&hash| match other.insert_unique(&Prehashed(hash)) {
        Ok(new) => {
            expected.push(new);
            None
        }
        Err(error) => Some(error),
    });
    let stored = expected.iter().filter(|&&new| new).count();
    assert!(300 <= stored && stored < expected.len(), "{stored} of {}", expected.len());

    let mut new = vec![true; batch.len()];
    let failed = filter.insert_unique_many(Prehashed::slice(&batch), &mut new);
    let expected_error = (expected.len(), stored, cause.expect("it is full"));
    assert_eq!(stopped(failed.expect_err("it is full")), expected_error);
    assert_eq!(new[..expected.len()], expected);
    assert!(new[expected.len()..].iter().all(|&new| new), "the rest is as it was");
    assert_eq!(filter.len(), stored);

    let failed = by_iterator.insert_unique_all(batch.into_iter().map(Prehashed));
    assert_eq!(stopped(failed.expect_err("it is full")), expected_error);
    assert_eq!(by_iterator.len(), stored);
}

/// The same hashes in every run.
type Fixed = BuildHasherDefault<DefaultHasher>;

/// An item whose hash cannot be had, or a number.
struct Item(Option<u64>);

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Without a message: `resume_unwind` does not call the hook that would print one.
        let Some(value) = self.0 else { panic::resume_unwind(Box::new("no hash")) };
        value.hash(state);
    }
}

/// Of a batch in which the hash of one item panics, the items before it are stored but for the last
/// few, which were to be stored after their hashes and those ahead of them were taken. Nothing else
/// has changed: no lock is held, and the other items can be stored.
#[test]
fn a_panic_in_a_batch_of_inserts() {
    for length in [1, DISTANCE, DISTANCE + 1, LONGEST] {
        for at in 0..length {
            let filter = CuckooFilter::with_capacity_and_hasher(1000, Fixed::default());
            filter.insert(&Item(Some(u64::MAX))).expect("made for a thousand");
            let item = |place| Item((place != at).then_some(place as u64));
            let batch: Vec<Item> = (0..length).map(item).collect();
            let inserted = catch_unwind(AssertUnwindSafe(|| filter.insert_many(&batch)));
            assert!(inserted.is_err(), "a panic goes on to the caller");

            let stored = filter.len() - 1;
            assert!(at.saturating_sub(DISTANCE) <= stored && stored <= at, "{stored} of {at}");
            assert!(batch[..stored].iter().all(|item| filter.contains(item)));
            // From another thread, which would wait for a lock that was left.
            thread::scope(|scope| {
                scope.spawn(|| {
                    let rest = (stored..1000 - 1).map(|place| Item(Some(place as u64)));
                    rest.for_each(|item| filter.insert(&item).expect("made for a thousand"));
                    assert_eq!(filter.len(), 1000);
                    for place in 0..1000 - 1 {
                        assert!(filter.remove(&Item(Some(place))), "{place}");
                    }
                    assert!(filter.remove(&Item(Some(u64::MAX))));
                    assert!(filter.is_empty());
                    filter.clear();
                });
            });
        }
    }
}

/// Answers before the panic may be written; the filter is as it was.
#[test]
fn a_panic_in_a_batch_of_lookups() {
    let filter = CuckooFilter::with_capacity_and_hasher(1000, Fixed::default());
    for place in 0..200_u64 {
        filter.insert(&Item(Some(place))).expect("made for a thousand");
    }
    for at in 0..LONGEST {
        let item = |place| Item((place != at).then_some(place as u64));
        let batch: Vec<Item> = (0..LONGEST).map(item).collect();
        let mut found = vec![false; LONGEST];
        let looked_up = catch_unwind(AssertUnwindSafe(|| filter.contains_many(&batch, &mut found)));
        assert!(looked_up.is_err(), "a panic goes on to the caller");
        assert!(found[at..].iter().all(|&found| !found), "answers beyond the panic");
        assert!(found[..at.saturating_sub(DISTANCE)].iter().all(|&found| found));
        assert_eq!(filter.len(), 200);
    }
}

/// The answers say what was stored before the panic; the rest of the batch is new.
#[test]
fn a_panic_in_a_batch_of_unique_inserts() {
    for at in 0..LONGEST {
        let filter = CuckooFilter::with_capacity_and_hasher(1000, Fixed::default());
        let item = |place| Item((place != at).then_some(place as u64));
        let batch: Vec<Item> = (0..LONGEST).map(item).collect();
        let mut new = vec![false; LONGEST];
        let result =
            catch_unwind(AssertUnwindSafe(|| filter.insert_unique_many(&batch, &mut new).is_ok()));
        assert!(result.is_err(), "a panic goes on to the caller");
        let count = filter.len();
        assert!(at.saturating_sub(DISTANCE) <= count && count <= at, "{count} of {at}");
        assert!(new.iter().copied().eq((0..LONGEST).map(|place| place < count)));
        for place in 0..LONGEST {
            let is_new = filter.insert_unique(&Item(Some(place as u64)));
            assert_eq!(is_new, Ok(place >= count), "{place}");
        }
    }
}

/// The answers say what was removed before the panic, the rest of the batch is there.
#[test]
fn a_panic_in_a_batch_of_removals() {
    for at in 0..LONGEST {
        let filter = CuckooFilter::with_capacity_and_hasher(1000, Fixed::default());
        for place in 0..LONGEST as u64 {
            filter.insert(&Item(Some(place))).expect("made for a thousand");
        }
        let item = |place| Item((place != at).then_some(place as u64));
        let batch: Vec<Item> = (0..LONGEST).map(item).collect();
        let mut removed = vec![false; LONGEST];
        let result = catch_unwind(AssertUnwindSafe(|| filter.remove_many(&batch, &mut removed)));
        assert!(result.is_err(), "a panic goes on to the caller");
        let count = LONGEST - filter.len();
        assert!(at.saturating_sub(DISTANCE) <= count && count <= at, "{count} of {at}");
        let expected = (0..LONGEST).map(|place| place < count);
        assert!(removed.iter().copied().eq(expected));
        for place in count..LONGEST {
            assert!(filter.remove(&Item(Some(place as u64))), "{place}");
        }
    }
}
