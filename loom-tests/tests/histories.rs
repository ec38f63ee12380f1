//! Histories of tiny tables, recorded on the real machine and checked by the checker of the models.
//!
//! A short run by default; `COUCAL_STRESS_HISTORIES` sets the number of histories of each layout.
#![cfg(not(loom))]

use std::cell::Cell;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

use coucal::{CuckooFilter, GrowingLayout, InsertError, Layout, Snapshot, Storage};
use loom_tests::checker::{Event, History, Interval, Outcome};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

/// Operations of each thread in one history.
const OPERATIONS: usize = 12;
/// Snapshots for every 100 other operations.
const SNAPSHOTS: u32 = 8;

fn histories_asked_for() -> Option<u64> {
    let asked = env::var("COUCAL_STRESS_HISTORIES").ok()?;
    Some(asked.parse().expect("COUCAL_STRESS_HISTORIES is a number of histories"))
}

/// Hashes of `count` different classes; the filter itself tells whether two are the same.
fn classes<M: Storage>(filter: &CuckooFilter<M>, random: &mut SmallRng, count: usize) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::new();
    while hashes.len() < count {
        let hash = random.next_u64();
        filter.insert_hash(hash).expect("an empty filter");
        if !hashes.iter().any(|&known| filter.contains_hash(known)) {
            hashes.push(hash);
        }
        assert!(filter.remove_hash(hash));
    }
    hashes
}

fn operate<M: Storage>(filter: &CuckooFilter<M>, hash: u64, operation: u32) -> Outcome {
    match operation {
        0..25 => match filter.insert_hash(hash) {
            Ok(()) => Outcome::Inserted,
            Err(InsertError::TooManyCopies) => Outcome::TooManyCopies,
            Err(_) => Outcome::Full,
        },
        25..40 => match filter.insert_unique_hash(hash) {
            Ok(true) => Outcome::Unique,
            Ok(false) => Outcome::Duplicate,
            Err(_) => Outcome::UniqueFull,
        },
        40..65 if filter.remove_hash(hash) => Outcome::Removed,
        40..65 => Outcome::NotThere,
        65..75 => Outcome::Counted(filter.count_hash(hash)),
        _ if filter.contains_hash(hash) => Outcome::Found,
        _ => Outcome::Missing,
    }
}

/// What a snapshot holds: the copies of each class, and no others.
fn copies_in<M: Storage>(filter: &CuckooFilter<M>, snapshot: Snapshot, hashes: &[u64]) -> Outcome {
    let items = snapshot.len();
    let restored = CuckooFilter::<M>::from_snapshot(snapshot, filter.hasher().clone())
        .expect("what a snapshot has is valid");
    let counts: Vec<_> = hashes.iter().map(|&hash| restored.count_hash(hash)).collect();
    assert_eq!(counts.iter().sum::<usize>(), items);
    assert_eq!(restored.len(), items);
    Outcome::Snapshot(counts)
}

/// What a history starts with, but for the filter.
struct Start {
    hashes: Vec<u64>,
    /// Copies that are stored, or that are tried to be, before the threads start.
    stored: Range<usize>,
    /// Copies that a class has room for.
    most: usize,
}

/// Records one history of an empty table.
fn record<M: Storage>(
    filter: &CuckooFilter<M>,
    start: &Start,
    threads: usize,
    seed: u64,
) -> History {
    let hashes = &*start.hashes;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut initial = vec![0; hashes.len()];
    for _ in 0..random.random_range(start.stored.clone()) {
        let class = random.random_range(0..hashes.len());
        initial[class] += usize::from(filter.insert_hash(hashes[class]).is_ok());
    }
    let inconclusive = filter.stats().inconclusive_lookups;
    let clock = AtomicU64::new(0);
    let barrier = Barrier::new(threads);
    let recorded: Vec<Vec<Interval>> = thread::scope(|scope| {
        let recording: Vec<_> = (0..threads)
            .map(|_| {
                let mut random = SmallRng::seed_from_u64(random.next_u64());
                let (clock, barrier) = (&clock, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let one = || {
                        let class = random.random_range(0..hashes.len());
                        let operation = random.random_range(0..100 + SNAPSHOTS);
                        // AcqRel: an operation that returned earlier by the clock happens before
                        // this one.
                        let invoked = clock.fetch_add(1, Ordering::AcqRel);
                        let snapshot = (operation < SNAPSHOTS).then(|| filter.snapshot());
                        let outcome = match snapshot {
                            None => Ok(operate(filter, hashes[class], operation - SNAPSHOTS)),
                            Some(snapshot) => Err(snapshot.expect("memory for a test")),
                        };
                        let returned = clock.fetch_add(1, Ordering::AcqRel);
                        let outcome =
                            outcome.unwrap_or_else(|snapshot| copies_in(filter, snapshot, hashes));
                        Interval { class, outcome, invoked, returned }
                    };
                    std::iter::repeat_with(one).take(OPERATIONS).collect()
                })
            })
            .collect();
        recording.into_iter().map(|thread| thread.join().expect("no assertion")).collect()
    });
    let mut recorded = recorded;
    // The final state, as one more thread that counts after all the others.
    let end = clock.load(Ordering::Relaxed);
    let counted = hashes.iter().enumerate().map(|(class, &hash)| {
        let outcome = Outcome::Counted(filter.count_hash(hash));
        let at = end + 2 * class as u64;
        Interval { class, outcome, invoked: at, returned: at + 1 }
    });
    recorded.push(counted.collect());
    let mut history = History::from_intervals(initial, start.most, &recorded);
    history.inconclusive = (filter.stats().inconclusive_lookups - inconclusive) as usize;
    history
}

/// Runs histories of new filters and checks each; `check` says what holds besides.
fn run<M: Storage>(
    histories: u64,
    classes_in_all: usize,
    copies: usize,
    stored: impl Fn(usize) -> Range<usize>,
    new: impl Fn() -> CuckooFilter<M>,
    check: impl Fn(&CuckooFilter<M>, &History),
) {
    for threads in [2, 3, 5] {
        let mut random = SmallRng::seed_from_u64(threads as u64);
        let hashes = classes(&new(), &mut random, classes_in_all);
        let start = Start { hashes, stored: stored(new().slots()), most: copies };
        for seed in 0..histories {
            let filter = new();
            let history = record(&filter, &start, threads, seed);
            let stored: usize = start.hashes.iter().map(|&hash| filter.count_hash(hash)).sum();
            assert_eq!(filter.len(), stored);
            if let Err(reason) = history.explain() {
                panic!("{reason}: {history:#?}");
            }
            check(&filter, &history);
        }
    }
}

fn recorded_histories_have_an_explanation<L: Layout>() {
    // Capacities for buckets of four slots, and numbers of classes.
    let shapes = [(0, 1), (0, 3), (9, 3), (9, 8), (20, 6)];
    let histories = histories_asked_for().unwrap_or(450) / (shapes.len() as u64 * 3);
    for (capacity, classes) in shapes {
        let capacity = (capacity * L::SLOTS).div_ceil(4);
        let builder = CuckooFilter::builder().layout::<L>().capacity(capacity);
        let new = || builder.clone().build().expect("memory for a test");
        run(histories, classes, 2 * L::SLOTS, |slots| 0..slots, new, |_, _| {});
    }
}

/// The same for filters that start near the load at which they grow. None says that it is full before
/// it has its greatest size, which is a few buckets more, or twice as many.
fn histories_of_growth_have_an_explanation<L: GrowingLayout + Layout>() {
    let first = CuckooFilter::builder().layout::<L>().max_capacity(0);
    let first_slots = first.clone().build().expect("memory for a test").slots();
    let histories = histories_asked_for().unwrap_or(90) / 6;
    let grown = Cell::new(0);
    for greatest in [first_slots, 2 * first_slots] {
        let builder = first.clone().max_capacity(greatest);
        let largest = builder.clone().capacity(greatest).build().expect("memory for a test");
        let greatest_slots = largest.slots();
        let new = || builder.clone().build().expect("memory for a test");
        let stored = |slots| slots * 7 / 10..slots;
        run(histories, 40, 2 * L::SLOTS, stored, new, |filter, history| {
            let full = |event: &Event| matches!(event.outcome, Outcome::Full | Outcome::UniqueFull);
            let refused = history.threads.iter().flatten().any(full);
            let slots = filter.slots();
            assert!(!refused || slots == greatest_slots, "full with {slots} slots");
            grown.set(grown.get() + u64::from(filter.slots() > first_slots));
        });
    }
    assert!(grown.get() > 2 * histories, "of {} filters {} grew", 6 * histories, grown.get());
}

/// A test of this function for each layout.
macro_rules! of_each_layout {
    ($histories:ident $($layout:ident)*) => {
        $(#[test]
        #[allow(non_snake_case)]
        fn $layout() {
            super::$histories::<coucal::$layout>();
        }
        )*
    };
}

mod fixed {
    coucal::__for_each_layout!(of_each_layout recorded_histories_have_an_explanation);
}

mod growing {
    coucal::__for_each_growing_layout!(of_each_layout histories_of_growth_have_an_explanation);
}
