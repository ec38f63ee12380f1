//! Histories of tiny tables, recorded on the real machine, and checked by the checker of the models.
//!
//! With `RUSTFLAGS="--cfg coucal_short_segments"`, the buckets of such a table have different stripes; otherwise one
//! stripe.
//!
//! A short run by default; `COUCAL_STRESS_HISTORIES` sets the number of histories per layout.
#![cfg(not(loom))]

use std::cell::Cell;
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

use coucal::{Error, Snapshot};
use coucal_reference::{Item, Kind, Layout, Random, Subject, random};
use loom_tests::checker::{Event, History, Interval, Outcome};
use rand::{Rng, RngExt, SeedableRng};

/// The number of operations of each thread in one history.
const OPERATIONS: usize = 12;
/// The number of snapshots for every 100 other operations.
const SNAPSHOTS: u32 = 8;

fn histories_asked_for() -> Option<u64> {
    let asked = env::var("COUCAL_STRESS_HISTORIES").ok()?;
    Some(asked.parse().expect("COUCAL_STRESS_HISTORIES is a number of histories"))
}

/// The number of values of each key of a maplet.
const VALUES: usize = 3;

/// A filter, or a maplet. Each class has a number, which gives its hash; in a maplet, its hash and its value.
struct Table {
    subject: Box<dyn Subject>,
    hashes: Vec<u64>,
}

impl Table {
    /// Returns the number of values of a hash.
    fn values(&self) -> usize {
        if self.subject.value_bits() > 0 { VALUES } else { 1 }
    }

    /// Returns the key of each class.
    fn keys(&self) -> Vec<usize> {
        let values = self.values();
        (0..self.hashes.len() * values).map(|class| class / values * values).collect()
    }

    fn item(&self, class: usize) -> Item {
        (self.hashes[class / self.values()], (class % self.values()) as u32)
    }

    /// Returns another table with the contents of the snapshot.
    fn restored(&self, snapshot: &Snapshot) -> Self {
        let subject = self.subject.of_snapshot(snapshot).expect("what a snapshot has is valid");
        Self { subject, hashes: self.hashes.clone() }
    }

    fn snapshot(&self) -> Snapshot {
        self.subject.snapshot().expect("memory for a test")
    }

    /// Does the operation with this number below 100.
    fn operate(&self, class: usize, operation: u32) -> Outcome {
        let (subject, item @ (hash, value)) = (&self.subject, self.item(class));
        let is_maplet = self.values() > 1;
        let first = class - value as usize;
        match operation {
            0..25 => match subject.insert(item) {
                Ok(()) => Outcome::Inserted,
                Err(error) => {
                    assert_eq!(error, Error::Full);
                    Outcome::Full
                }
            },
            25..50 if is_maplet => {
                let other = (value + 1 + operation % 2) % VALUES as u32;
                match subject.try_replace(item, other) {
                    Ok(true) => Outcome::Replaced(first + other as usize),
                    Ok(false) => Outcome::NotThere,
                    Err(error) => {
                        assert_eq!(error, Error::Full);
                        Outcome::Full
                    }
                }
            }
            25..40 => match subject.insert_if_absent(item) {
                Ok(true) => Outcome::Unique,
                Ok(false) => Outcome::Duplicate,
                Err(error) => {
                    assert_eq!(error, Error::Full);
                    Outcome::UniqueFull
                }
            },
            40..65 if subject.remove(item) => Outcome::Removed,
            40..65 => Outcome::NotThere,
            65..75 if is_maplet => Outcome::HasKey(subject.contains(hash)),
            65..75 => Outcome::Counted(self.copies(class)),
            _ if is_maplet => {
                let values = subject.values(hash);
                assert!(values.iter().all(|&value| value < VALUES as u32), "{values:?}");
                Outcome::Got(values.into_iter().map(|value| first + value as usize).collect())
            }
            _ if subject.contains(hash) => Outcome::Found,
            _ => Outcome::Missing,
        }
    }

    /// Returns the number of copies; in a maplet, only while no thread writes: a `get` returns a stashed value once,
    /// whatever its number of copies.
    fn copies(&self, class: usize) -> usize {
        let item = self.item(class);
        if self.values() == 1 {
            return self.subject.values(item.0).len();
        }
        let Self { subject, .. } = self.restored(&self.snapshot());
        (0..subject.len()).take_while(|_| subject.remove(item)).count()
    }

    /// Returns all copies, while no thread writes.
    fn counts(&self) -> Vec<usize> {
        (0..self.keys().len()).map(|class| self.copies(class)).collect()
    }
}

/// Returns hashes of `count` different classes, or keys. `new` makes an empty filter, or maplet, which tells whether
/// two of them are the same.
fn classes(new: &dyn Fn() -> Box<dyn Subject>, random: &mut Random, count: usize) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::new();
    while hashes.len() < count {
        let hash = random.next_u64();
        let subject = new();
        subject.insert((hash, 0)).expect("an empty filter");
        if hashes.iter().all(|&other| !subject.contains(other)) {
            hashes.push(hash);
        }
    }
    hashes
}

/// Returns the contents of a snapshot: the copies of each class, and no others.
fn copies_in(table: &Table, snapshot: &Snapshot) -> Outcome {
    let items = snapshot.len();
    let restored = table.restored(snapshot);
    let counts = restored.counts();
    assert_eq!(counts.iter().sum::<usize>(), items);
    assert_eq!(restored.subject.len(), items);
    Outcome::Snapshot(counts)
}

/// Records one history of an empty table. Before the threads start, it inserts a random number of copies, in the range
/// `stored`, as far as possible.
fn record(table: &Table, stored: Range<usize>, threads: usize, seed: u64) -> History {
    let keys = table.keys();
    let classes = keys.len();
    let mut random = random(seed);
    let mut initial = vec![0; classes];
    for _ in 0..random.random_range(stored) {
        let class = random.random_range(0..classes);
        initial[class] += usize::from(table.subject.insert(table.item(class)).is_ok());
    }
    let inconclusive = table.subject.inconclusive();
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
                        // AcqRel: an operation that returned earlier by the clock happens before this one.
                        let invoked = clock.fetch_add(1, Ordering::AcqRel);
                        let snapshot = (operation < SNAPSHOTS).then(|| table.snapshot());
                        let outcome = match snapshot {
                            None => Ok(table.operate(class, operation - SNAPSHOTS)),
                            Some(snapshot) => Err(snapshot),
                        };
                        let returned = clock.fetch_add(1, Ordering::AcqRel);
                        let outcome =
                            outcome.unwrap_or_else(|snapshot| copies_in(table, &snapshot));
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
    let counted = table.counts().into_iter().enumerate().map(|(class, count)| {
        let outcome = Outcome::Counted(count);
        let at = end + 2 * class as u64;
        Interval { class, outcome, invoked: at, returned: at + 1 }
    });
    recorded.push(counted.collect());
    let inconclusive = (table.subject.inconclusive() - inconclusive) as usize;
    History { keys, inconclusive, ..History::from_intervals(initial, &recorded) }
}

/// Runs histories of `count` classes, or keys, and checks each. `new` makes an empty filter, or maplet, and `check`
/// checks what else must hold.
fn run(
    histories: u64,
    count: usize,
    stored: &dyn Fn(usize) -> Range<usize>,
    new: &dyn Fn() -> Box<dyn Subject>,
    check: &dyn Fn(&dyn Subject, &History),
) {
    for threads in [2, 3, 5] {
        let mut random = random(threads as u64);
        let hashes = classes(new, &mut random, count);
        for seed in 0..histories {
            let table = Table { subject: new(), hashes: hashes.clone() };
            let stored = stored(table.subject.slots());
            let history = record(&table, stored, threads, seed);
            assert_eq!(table.subject.len(), table.counts().iter().sum::<usize>());
            if let Err(reason) = history.explain() {
                panic!("{reason:?}: {history:#?}");
            }
            check(&*table.subject, &history);
        }
    }
}

/// Capacities for buckets of four slots, and numbers of classes.
const SHAPES: [(usize, usize); 5] = [(0, 1), (0, 3), (9, 3), (9, 8), (20, 6)];

fn is_refused(event: &Event) -> bool {
    matches!(event.outcome, Outcome::Full | Outcome::UniqueFull)
}

/// Runs this number of histories, unless the environment sets another one. An insert is refused only if the table may
/// have been full.
fn histories_of_fixed_size(kind: Kind, histories: u64) {
    let histories = histories_asked_for().unwrap_or(histories) / (SHAPES.len() as u64 * 3);
    for (capacity, classes) in SHAPES {
        let capacity = (capacity * kind.layout.slots).div_ceil(4);
        run(
            histories,
            classes,
            &|slots| 0..slots,
            &|| kind.build(0, capacity),
            &|subject, history| {
                let all = || history.threads.iter().flatten();
                if all().any(is_refused) {
                    let stored = all().filter(|event| event.outcome.stores()).count();
                    let most = history.initial.iter().sum::<usize>() + stored;
                    let slots = subject.slots();
                    assert!(most * 10 >= slots * 9, "full with {most} items in {slots} slots");
                }
            },
        );
    }
}

/// The same for subjects that start near the load at which they grow. None is full before it has its maximum size,
/// which is a few buckets more, or twice as many.
fn histories_of_growth(kind: Kind, count: usize) {
    let histories = histories_asked_for().unwrap_or(90) / 6;
    let first_slots = kind.build(0, 0).slots();
    let grown = Cell::new(0);
    for max_capacity in [first_slots, 2 * first_slots] {
        let max_slots = kind.build(max_capacity, max_capacity).slots();
        let stored = |slots| slots * 7 / 10..slots;
        run(histories, count, &stored, &|| kind.build(0, max_capacity), &|subject, history| {
            let refused = history.threads.iter().flatten().any(is_refused);
            let slots = subject.slots();
            assert!(!refused || slots == max_slots, "full with {slots} slots");
            grown.set(grown.get() + u64::from(slots > first_slots));
        });
    }
    assert!(grown.get() > 2 * histories, "of {} {} grew", 6 * histories, grown.get());
}

fn fixed(layout: Layout) {
    histories_of_fixed_size(Kind { layout, grows: false, value_bits: 0 }, 450);
}

fn maplets(layout: Layout) {
    histories_of_fixed_size(Kind { layout, grows: false, value_bits: 2 }, 300);
}

fn growing(layout: Layout) {
    histories_of_growth(Kind { layout, grows: true, value_bits: 0 }, 40);
}

fn growing_maplets(layout: Layout) {
    histories_of_growth(Kind { layout, grows: true, value_bits: 2 }, 13);
}

/// Makes a test of this function for each layout.
macro_rules! of_each_layout {
    ($histories:ident $($layout:ident)*) => {
        mod $histories {
            $(#[test]
            #[allow(non_snake_case)]
            fn $layout() {
                super::$histories(super::Layout::named(stringify!($layout)));
            }
            )*
        }
    };
}

coucal_reference::for_each_layout!(of_each_layout fixed);
coucal_reference::for_each_layout!(of_each_layout maplets);
coucal_reference::for_each_layout!(that grows: of_each_layout growing);
coucal_reference::for_each_layout!(that grows: of_each_layout growing_maplets);
