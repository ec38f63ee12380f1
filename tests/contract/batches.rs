//! Batches that end by a panic, or that get a wrong number of answers. (The operations of `tests/exact` and
//! `tests/operations` show all else, including batches that end at an item for which there is no free slot.)

use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::thread;

use coucal::{
    Candidates, CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, Error,
    ExpiringCuckooFilter,
};

use crate::common::HASHER;

/// The number of items that a batch looks ahead. It is not a part of the API, and so only a hint at the lengths that
/// matter.
const DISTANCE: usize = 32;
const LONGEST: usize = 4 * DISTANCE + 3;

/// With too few or too many answers, a batch does nothing and writes nothing.
#[test]
fn a_batch_needs_as_many_answers_as_items() {
    let filter = CuckooFilter::with_capacity_and_hasher(100, HASHER);
    filter.insert_many(&[1, 2, 3]).expect("made for a hundred");
    let maplet = CuckooMaplet::with_capacity_and_hasher(100, 4, HASHER);
    maplet.insert_many(&[(1, 0), (2, 0), (3, 0)]).expect("made for a hundred");
    let seen = ExpiringCuckooFilter::with_capacity_and_hasher(100, 4, HASHER);
    seen.insert_all([1, 2, 3]).expect("made for a hundred");
    seen.advance();
    let view = CuckooFilterView::from_bytes(filter.snapshot().unwrap(), HASHER).unwrap();
    let maplet_view = CuckooMapletView::from_bytes(maplet.snapshot().unwrap(), HASHER).unwrap();
    for answers in [0, 2, 4] {
        let (mut written, mut values) = (vec![true; answers], vec![Candidates::new(); answers]);
        let (mut counts, mut ages) = (vec![7; answers], vec![Some(7); answers]);
        let results = [
            filter.contains_many(&[1, 5, 6], &mut written),
            filter.count_many(&[1, 5, 6], &mut counts),
            filter.remove_many(&[1, 2, 5], &mut written).map(drop),
            filter.insert_if_absent_many(&[1, 5, 6], &mut written).map(drop),
            maplet.get_many(&[1, 5, 6], &mut values),
            maplet.contains_many(&[(1, 0), (2, 0), (5, 0)], &mut written),
            maplet.count_many(&[(1, 0), (2, 0), (5, 0)], &mut counts),
            maplet.remove_many(&[(1, 0), (2, 0), (5, 0)], &mut written).map(drop),
            maplet.replace_many(&[(1, 0, 1), (2, 0, 1), (5, 0, 1)], &mut written).map(drop),
            seen.insert_many(&[1, 5, 6], &mut written).map(drop),
            seen.insert_if_absent_many(&[1, 5, 6], &mut written).map(drop),
            seen.contains_many(&[1, 5, 6], &mut written),
            seen.age_many(&[1, 5, 6], &mut ages),
            view.contains_many(&[1, 5, 6], &mut written),
            view.count_many(&[1, 5, 6], &mut counts),
            maplet_view.get_many(&[1, 5, 6], &mut values),
            maplet_view.contains_many(&[(1, 0), (2, 0), (5, 0)], &mut written),
            maplet_view.count_many(&[(1, 0), (2, 0), (5, 0)], &mut counts),
        ];
        let error = Error::LengthMismatch { items: 3, answers };
        assert!(results.iter().all(|result| *result == Err(error.clone())), "{results:?}");
        assert!(!written.contains(&false) && values.iter().all(|of| of.len() == 0));
        assert!(counts.iter().all(|&count| count == 7) && ages.iter().all(|&age| age == Some(7)));
        assert!(filter.len() == 3 && (1..=3).all(|key| maplet.get(&key).any(|value| value == 0)));
        assert!(seen.len() == 3 && seen.age(&1) == Some(1));
    }
}

/// A number, or an item whose hash panics.
struct Key(Option<usize>);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Without a message: `resume_unwind` does not call the hook that would print one.
        let Some(value) = self.0 else { panic::resume_unwind(Box::new("no hash")) };
        value.hash(state);
    }
}

/// Its hashes are the same in every run.
type Filter = CuckooFilter<coucal::Fp16x4, BuildHasherDefault<DefaultHasher>>;

/// If the hash of one item of a batch panics, the items before it are done, except the last few, which the batch would
/// have done after hashing that item and those ahead of them. The answers tell which. Nothing else has changed: no lock
/// is held, and all operations still work.
#[test]
fn a_panic_in_a_batch() {
    type Batch = fn(&Filter, &[Key], &mut [bool]) -> Result<(), Error>;

    let key = |place| Key(Some(place));
    // Whether the batch writes answers, and whether the items are there before it and after it.
    let batches: [(Batch, bool, [bool; 2]); 4] = [
        (|filter, batch, _| filter.insert_many(batch), false, [false, true]),
        (
            |filter, batch, new| filter.insert_if_absent_many(batch, new).map(drop),
            true,
            [false, true],
        ),
        (
            |filter, batch, removed| filter.remove_many(batch, removed).map(drop),
            true,
            [true, false],
        ),
        (|filter, batch, found| filter.contains_many(batch, found), true, [true, true]),
    ];
    let all = (0..LONGEST).map(|at| (at, LONGEST)).chain([(0, 1), (DISTANCE, DISTANCE + 1)]);
    for ((at, length), (batch, answering, [before, after])) in
        all.flat_map(|places| batches.map(|batch| (places, batch)))
    {
        let filter = Filter::with_capacity_and_hasher(1000, BuildHasherDefault::default());
        let first = if before { length } else { 0 };
        (0..first).for_each(|place| filter.insert(&key(place)).expect("made for more"));
        let keys: Vec<Key> = (0..length).map(|place| Key((place != at).then_some(place))).collect();
        let mut answers = vec![false; length];
        let panicked = catch_unwind(AssertUnwindSafe(|| batch(&filter, &keys, &mut answers)));
        assert!(panicked.is_err(), "a panic goes on to the caller");

        let answered = answers.iter().filter(|&&answer| answer).count();
        let done = if before == after { answered } else { filter.len().abs_diff(first) };
        assert!(at.saturating_sub(DISTANCE) <= done && done <= at, "{done} of {at}");
        assert!(answers.into_iter().eq((0..length).map(|place| answering && place < done)));
        // Called from another thread, which would wait for a lock that is still held.
        thread::scope(|scope| {
            scope.spawn(|| {
                for place in 0..length {
                    let is_there = if place < done { after } else { before };
                    assert_eq!(filter.remove(&key(place)), is_there, "{place}, {done} of {at}");
                }
                assert!(filter.is_empty());
                (0..1000).for_each(|place| filter.insert(&key(place)).expect("made for it"));
                filter.clear();
            });
        });
    }
}
