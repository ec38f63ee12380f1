//! Recorded histories of tiny tables on the real machine, judged by the checker of the models.
//!
//! A bounded run by default; `COUCAL_STRESS_HISTORIES` asks for so many histories of each layout.
#![cfg(not(loom))]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

use coucal::{CuckooFilter, InsertError, Layout};
use loom_tests::checker::{History, Interval, Outcome};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

/// Operations of each thread in one history.
const OPERATIONS: usize = 12;

fn histories_asked_for() -> Option<u64> {
    let asked = env::var("COUCAL_STRESS_HISTORIES").ok()?;
    Some(asked.parse().expect("COUCAL_STRESS_HISTORIES is a number of histories"))
}

/// Hashes of as many classes, told apart by the filter itself.
fn classes<L: Layout>(filter: &CuckooFilter<L>, random: &mut SmallRng, count: usize) -> Vec<u64> {
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

fn operate<L: Layout>(filter: &CuckooFilter<L>, hash: u64, operation: u32) -> Outcome {
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

/// One history: most threads work on the first few classes, which fill the table now and then.
fn record<L: Layout>(
    filter: &CuckooFilter<L>,
    hashes: &[u64],
    threads: usize,
    seed: u64,
) -> History {
    let mut random = SmallRng::seed_from_u64(seed);
    filter.clear();
    let mut initial = vec![0; hashes.len()];
    for _ in 0..random.random_range(0..filter.slots()) {
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
                        let operation = random.random_range(0..100);
                        // AcqRel: what returned before a call by the clock happened before it.
                        let invoked = clock.fetch_add(1, Ordering::AcqRel);
                        let outcome = operate(filter, hashes[class], operation);
                        let returned = clock.fetch_add(1, Ordering::AcqRel);
                        Interval { class, outcome, invoked, returned }
                    };
                    std::iter::repeat_with(one).take(OPERATIONS).collect()
                })
            })
            .collect();
        recording.into_iter().map(|thread| thread.join().expect("no assertion")).collect()
    });
    let mut recorded = recorded;
    // The quiet state, as one more thread that counts after all the others.
    let end = clock.load(Ordering::Relaxed);
    let counted = hashes.iter().enumerate().map(|(class, &hash)| {
        let outcome = Outcome::Counted(filter.count_hash(hash));
        let at = end + 2 * class as u64;
        Interval { class, outcome, invoked: at, returned: at + 1 }
    });
    recorded.push(counted.collect());
    let mut history = History::from_intervals(initial, 2 * L::SLOTS, &recorded);
    history.inconclusive = (filter.stats().inconclusive_lookups - inconclusive) as usize;
    history
}

fn recorded_histories_have_an_explanation<L: Layout>() {
    // Capacities, for buckets of four slots, and numbers of classes.
    let shapes = [(0, 1), (0, 3), (9, 3), (9, 8), (20, 6)];
    let histories = histories_asked_for().unwrap_or(450) / (shapes.len() as u64 * 3);
    for (capacity, count) in shapes {
        let capacity = (capacity * L::SLOTS).div_ceil(4);
        for threads in [2, 3, 5] {
            let filter = CuckooFilter::builder().layout::<L>().capacity(capacity);
            let filter = filter.build().expect("memory for a test");
            let mut random = SmallRng::seed_from_u64(threads as u64);
            let hashes = classes(&filter, &mut random, count);
            for seed in 0..histories {
                let history = record(&filter, &hashes, threads, seed);
                let stored: usize = hashes.iter().map(|&hash| filter.count_hash(hash)).sum();
                assert_eq!(filter.len(), stored);
                if let Err(reason) = history.explain() {
                    panic!("{reason}: {history:#?}");
                }
            }
        }
    }
}

/// The same for each layout.
macro_rules! of_each_layout {
    ($($layout:ident)*) => {
        $(#[test]
        #[allow(non_snake_case)]
        fn $layout() {
            recorded_histories_have_an_explanation::<coucal::$layout>();
        }
        )*
    };
}

coucal::__for_each_layout!(of_each_layout);
