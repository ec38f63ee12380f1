//! Histories of tiny tables, recorded on the real machine and checked by the checker of the models.
//!
//! A short run by default; `COUCAL_STRESS_HISTORIES` sets the number of histories of each layout.
#![cfg(not(loom))]

use std::cell::Cell;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

use coucal::{
    CuckooFilter, CuckooMaplet, Error, GrowingLayout, Layout, Prehashed, Snapshot, Storage,
};
use coucal_reference::{Random, random};
use loom_tests::checker::{Event, History, Interval, Outcome};
use rand::{Rng, RngExt, SeedableRng};

/// Operations of each thread in one history.
const OPERATIONS: usize = 12;
/// Snapshots for every 100 other operations.
const SNAPSHOTS: u32 = 8;

fn histories_asked_for() -> Option<u64> {
    let asked = env::var("COUCAL_STRESS_HISTORIES").ok()?;
    Some(asked.parse().expect("COUCAL_STRESS_HISTORIES is a number of histories"))
}

/// Values of each key of a maplet.
const VALUES: usize = 3;

/// What histories are recorded of: a filter, or a maplet. A class has a number, and with it a hash of a
/// list; in a maplet, a hash and a value.
trait Subject: Sized + Sync {
    /// The same with another list of hashes.
    fn with_hashes(self, hashes: Vec<u64>) -> Self;

    /// Another one with these contents.
    fn restored(&self, snapshot: Snapshot) -> Self;

    /// For each class, its key.
    fn keys(&self) -> Vec<usize>;

    fn insert(&self, class: usize) -> Result<(), Error>;

    /// The operation with this number below 100.
    fn operate(&self, class: usize, operation: u32) -> Outcome;

    /// How many copies there are, while no thread writes.
    fn copies(&self, class: usize) -> usize;

    fn snapshot(&self) -> Snapshot;

    fn len(&self) -> usize;

    fn slots(&self) -> usize;

    fn inconclusive(&self) -> usize;

    /// All copies, while no thread writes.
    fn counts(&self) -> Vec<usize> {
        (0..self.keys().len()).map(|class| self.copies(class)).collect()
    }
}

struct Filter<M: Storage> {
    filter: CuckooFilter<M>,
    hashes: Vec<u64>,
}

impl<M: Storage> Subject for Filter<M> {
    fn with_hashes(self, hashes: Vec<u64>) -> Self {
        Self { hashes, ..self }
    }

    fn restored(&self, snapshot: Snapshot) -> Self {
        let filter = CuckooFilter::from_snapshot(&snapshot, self.filter.hasher().clone());
        let hashes = self.hashes.clone();
        Self { filter: filter.expect("what a snapshot has is valid"), hashes }
    }

    fn keys(&self) -> Vec<usize> {
        (0..self.hashes.len()).collect()
    }

    fn insert(&self, class: usize) -> Result<(), Error> {
        self.filter.insert(&Prehashed(self.hashes[class]))
    }

    fn operate(&self, class: usize, operation: u32) -> Outcome {
        let (filter, hash) = (&self.filter, self.hashes[class]);
        match operation {
            0..25 => inserted(self.insert(class)),
            25..40 => match filter.insert_unique(&Prehashed(hash)) {
                Ok(true) => Outcome::Unique,
                Ok(false) => Outcome::Duplicate,
                Err(_) => Outcome::UniqueFull,
            },
            40..65 if filter.remove(&Prehashed(hash)) => Outcome::Removed,
            40..65 => Outcome::NotThere,
            65..75 => Outcome::Counted(self.copies(class)),
            _ if filter.contains(&Prehashed(hash)) => Outcome::Found,
            _ => Outcome::Missing,
        }
    }

    fn copies(&self, class: usize) -> usize {
        self.filter.count(&Prehashed(self.hashes[class]))
    }

    fn snapshot(&self) -> Snapshot {
        self.filter.snapshot().expect("memory for a test")
    }

    fn len(&self) -> usize {
        self.filter.len()
    }

    fn slots(&self) -> usize {
        self.filter.slots()
    }

    fn inconclusive(&self) -> usize {
        self.filter.stats().inconclusive_lookups as usize
    }
}

struct Maplet<M: Storage> {
    maplet: CuckooMaplet<M>,
    hashes: Vec<u64>,
}

impl<M: Storage> Maplet<M> {
    fn pair(&self, class: usize) -> (u64, u32) {
        (self.hashes[class / VALUES], (class % VALUES) as u32)
    }
}

impl<M: Storage> Subject for Maplet<M> {
    fn with_hashes(self, hashes: Vec<u64>) -> Self {
        Self { hashes, ..self }
    }

    fn restored(&self, snapshot: Snapshot) -> Self {
        let maplet = CuckooMaplet::from_snapshot(&snapshot, self.maplet.hasher().clone());
        let hashes = self.hashes.clone();
        Self { maplet: maplet.expect("what a snapshot has is valid"), hashes }
    }

    fn keys(&self) -> Vec<usize> {
        (0..self.hashes.len() * VALUES).map(|class| class / VALUES * VALUES).collect()
    }

    fn insert(&self, class: usize) -> Result<(), Error> {
        let (hash, value) = self.pair(class);
        self.maplet.insert(&Prehashed(hash), value)
    }

    fn operate(&self, class: usize, operation: u32) -> Outcome {
        let (maplet, (hash, value)) = (&self.maplet, self.pair(class));
        let first = class - value as usize;
        match operation {
            0..25 => inserted(self.insert(class)),
            25..50 => {
                let other = (value + 1 + operation % 2) % VALUES as u32;
                let replaced =
                    maplet.replace(&Prehashed(hash), value, other).expect("a value that fits");
                if replaced { Outcome::Replaced(first + other as usize) } else { Outcome::NotThere }
            }
            50..65 if maplet.remove(&Prehashed(hash), value) => Outcome::Removed,
            50..65 => Outcome::NotThere,
            65..75 => Outcome::HasKey(maplet.contains_key(&Prehashed(hash))),
            _ => {
                let values: Vec<_> =
                    maplet.get(&Prehashed(hash)).map(|value| value as usize).collect();
                assert!(values.iter().all(|&value| value < VALUES), "{values:?}");
                Outcome::Got(values.iter().map(|value| first + value).collect())
            }
        }
    }

    /// A `get` returns a value that is stashed once, however many copies there are.
    fn copies(&self, class: usize) -> usize {
        let (hash, value) = self.pair(class);
        let Maplet { maplet, .. } = self.restored(self.snapshot());
        (0..maplet.len()).take_while(|_| maplet.remove(&Prehashed(hash), value)).count()
    }

    fn snapshot(&self) -> Snapshot {
        self.maplet.snapshot().expect("memory for a test")
    }

    fn len(&self) -> usize {
        self.maplet.len()
    }

    fn slots(&self) -> usize {
        self.maplet.slots()
    }

    fn inconclusive(&self) -> usize {
        self.maplet.stats().inconclusive_lookups as usize
    }
}

fn inserted(stored: Result<(), Error>) -> Outcome {
    match stored {
        Ok(()) => Outcome::Inserted,
        Err(error) => {
            assert_eq!(error, Error::Full);
            Outcome::Full
        }
    }
}

/// Hashes of `count` different classes, or keys; `new` makes an empty filter, or maplet, of one hash, which
/// itself tells whether two are the same.
fn classes<S: Subject>(new: impl Fn(Vec<u64>) -> S, random: &mut Random, count: usize) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::new();
    while hashes.len() < count {
        let hash = random.next_u64();
        let one = new(vec![hash]);
        one.insert(0).expect("an empty filter");
        let known = one.with_hashes(hashes.clone());
        if known.counts().iter().all(|&copies| copies == 0) {
            hashes.push(hash);
        }
    }
    hashes
}

/// What a snapshot holds: the copies of each class, and no others.
fn copies_in(subject: &impl Subject, snapshot: Snapshot) -> Outcome {
    let items = snapshot.len();
    let restored = subject.restored(snapshot);
    let counts = restored.counts();
    assert_eq!(counts.iter().sum::<usize>(), items);
    assert_eq!(restored.len(), items);
    Outcome::Snapshot(counts)
}

/// Records one history of an empty table. `stored` copies are stored, or tried to be, before the threads start.
fn record(subject: &impl Subject, stored: Range<usize>, threads: usize, seed: u64) -> History {
    let keys = subject.keys();
    let classes = keys.len();
    let mut random = random(seed);
    let mut initial = vec![0; classes];
    for _ in 0..random.random_range(stored) {
        let class = random.random_range(0..classes);
        initial[class] += usize::from(subject.insert(class).is_ok());
    }
    let inconclusive = subject.inconclusive();
    let clock = AtomicU64::new(0);
    let barrier = Barrier::new(threads);
    let recorded: Vec<Vec<Interval>> = thread::scope(|scope| {
        let recording: Vec<_> = (0..threads)
            .map(|_| {
                let mut random = Random::seed_from_u64(random.next_u64());
                let (clock, barrier) = (&clock, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let one = || {
                        let class = random.random_range(0..classes);
                        let operation = random.random_range(0..100 + SNAPSHOTS);
                        // AcqRel: an operation that returned earlier by the clock happens before
                        // this one.
                        let invoked = clock.fetch_add(1, Ordering::AcqRel);
                        let snapshot = (operation < SNAPSHOTS).then(|| subject.snapshot());
                        let outcome = match snapshot {
                            None => Ok(subject.operate(class, operation - SNAPSHOTS)),
                            Some(snapshot) => Err(snapshot),
                        };
                        let returned = clock.fetch_add(1, Ordering::AcqRel);
                        let outcome =
                            outcome.unwrap_or_else(|snapshot| copies_in(subject, snapshot));
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
    let counted = subject.counts().into_iter().enumerate().map(|(class, count)| {
        let outcome = Outcome::Counted(count);
        let at = end + 2 * class as u64;
        Interval { class, outcome, invoked: at, returned: at + 1 }
    });
    recorded.push(counted.collect());
    let inconclusive = subject.inconclusive() - inconclusive;
    History { keys, inconclusive, ..History::from_intervals(initial, &recorded) }
}

/// Runs histories of `count` classes, or keys, and checks each; `new` makes an empty filter, or maplet, of
/// these hashes, and `check` says what holds besides.
fn run<S: Subject>(
    histories: u64,
    count: usize,
    stored: impl Fn(usize) -> Range<usize>,
    new: impl Fn(Vec<u64>) -> S,
    check: impl Fn(&S, &History),
) {
    for threads in [2, 3, 5] {
        let mut random = random(threads as u64);
        let hashes = classes(&new, &mut random, count);
        for seed in 0..histories {
            let subject = new(hashes.clone());
            let stored = stored(subject.slots());
            let history = record(&subject, stored, threads, seed);
            assert_eq!(subject.len(), subject.counts().iter().sum::<usize>());
            if let Err(reason) = history.explain() {
                panic!("{reason}: {history:#?}");
            }
            check(&subject, &history);
        }
    }
}

/// Capacities for buckets of four slots, and numbers of classes.
const SHAPES: [(usize, usize); 5] = [(0, 1), (0, 3), (9, 3), (9, 8), (20, 6)];

fn recorded_histories_have_an_explanation<L: Layout>() {
    let histories = histories_asked_for().unwrap_or(450) / (SHAPES.len() as u64 * 3);
    for (capacity, classes) in SHAPES {
        let capacity = (capacity * L::SLOTS).div_ceil(4);
        let builder = CuckooFilter::builder().layout::<L>().capacity(capacity);
        let new = |hashes| Filter { filter: builder.clone().build().expect("memory"), hashes };
        run(histories, classes, |slots| 0..slots, new, |_, _| {});
    }
}

fn histories_of_maplets_have_an_explanation<L: Layout>() {
    let histories = histories_asked_for().unwrap_or(300) / (SHAPES.len() as u64 * 3);
    for (capacity, keys) in SHAPES {
        let capacity = (capacity * L::SLOTS).div_ceil(4);
        let builder = CuckooMaplet::builder().value_bits(2).layout::<L>().capacity(capacity);
        let new = |hashes| Maplet { maplet: builder.clone().build().expect("memory"), hashes };
        run(histories, keys, |slots| 0..slots, new, |_, _| {});
    }
}

/// The same of subjects that start near the load at which they grow: `new` makes one with this initial
/// and this maximum capacity. None says that it is full before it has its greatest size, which is a few
/// buckets more, or twice as many.
fn histories_of_growth<S: Subject>(
    histories: u64,
    count: usize,
    new: impl Fn(usize, usize, Vec<u64>) -> S,
) {
    let first_slots = new(0, 0, Vec::new()).slots();
    let grown = Cell::new(0);
    for greatest in [first_slots, 2 * first_slots] {
        let greatest_slots = new(greatest, greatest, Vec::new()).slots();
        let new = |hashes| new(0, greatest, hashes);
        let stored = |slots| slots * 7 / 10..slots;
        run(histories, count, stored, new, |subject, history| {
            let full = |event: &Event| matches!(event.outcome, Outcome::Full | Outcome::UniqueFull);
            let refused = history.threads.iter().flatten().any(full);
            let slots = subject.slots();
            assert!(!refused || slots == greatest_slots, "full with {slots} slots");
            grown.set(grown.get() + u64::from(slots > first_slots));
        });
    }
    assert!(grown.get() > 2 * histories, "of {} {} grew", 6 * histories, grown.get());
}

fn histories_of_growth_have_an_explanation<L: GrowingLayout + Layout>() {
    let histories = histories_asked_for().unwrap_or(90) / 6;
    histories_of_growth(histories, 40, |capacity, max_capacity, hashes| {
        let builder = CuckooFilter::builder().layout::<L>().capacity(capacity);
        let built = builder.max_capacity(max_capacity).build();
        Filter { filter: built.expect("memory for a test"), hashes }
    });
}

fn histories_of_growing_maplets_have_an_explanation<L: GrowingLayout + Layout>() {
    let histories = histories_asked_for().unwrap_or(90) / 6;
    histories_of_growth(histories, 13, |capacity, max_capacity, hashes| {
        let builder = CuckooMaplet::builder().value_bits(2).layout::<L>().capacity(capacity);
        let built = builder.max_capacity(max_capacity).build();
        Maplet { maplet: built.expect("memory for a test"), hashes }
    });
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

mod maplets {
    coucal::__for_each_layout!(of_each_layout histories_of_maplets_have_an_explanation);
}

mod growing_maplets {
    coucal::__for_each_layout!(that grows:
        of_each_layout histories_of_growing_maplets_have_an_explanation
    );
}

mod growing {
    coucal::__for_each_layout!(that grows: of_each_layout histories_of_growth_have_an_explanation);
}
