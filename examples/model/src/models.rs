//! The guard in every order of the operations of two workers, as it is and with a mistake.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::{CuckooFilter, InsertError};
use loom::sync::atomic::AtomicU64;

use crate::Guard;

/// Gives the keys 2n and 2n + 1 one hash, so that each is a false positive of the other.
#[derive(Default)]
struct InPairs(u64);

impl Hasher for InPairs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a key is one u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key / 2;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type GuardOfPairs = Guard<BuildHasherDefault<InPairs>>;

fn new_guard() -> GuardOfPairs {
    Guard::new(BuildHasherDefault::default())
}

/// The number of executions, if all of them pass; otherwise what the first one says that fails.
fn check(model: impl Fn() + Send + Sync + 'static) -> Result<usize, String> {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    // A thread of its own: so its panic is an error here, and what loom left behind goes with it.
    let checked = std::thread::spawn(move || {
        loom::model(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            model();
        });
    });
    match checked.join() {
        Ok(()) => Ok(executions.load(Ordering::Relaxed)),
        Err(panic) => Err(panic.downcast_ref::<&str>().map_or_else(
            || panic.downcast_ref::<String>().cloned().unwrap_or_default(),
            |message| (*message).to_owned(),
        )),
    }
}

/// Runs two workers at once, and waits for both.
fn together<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    first: impl FnOnce(&T) + 'static,
    second: impl FnOnce(&T) + 'static,
) {
    let [for_first, for_second] = [Arc::clone(shared), Arc::clone(shared)];
    let first = loom::thread::spawn(move || first(&for_first));
    let second = loom::thread::spawn(move || second(&for_second));
    first.join().unwrap();
    second.join().unwrap();
}

/// The right code passes, in as many executions as the cookbook says, and this mistake is found.
fn right_and_wrong([right, wrong]: [Result<usize, String>; 2], mistake: &str, message: &str) {
    assert_eq!([right.expect("the right code passes")], *in_the_cookbook(mistake), "{mistake}");
    let found = wrong.expect_err("the mistake is found");
    assert!(found.contains(message), "{mistake}: {found}");
}

/// The numbers in a row of a table of the cookbook.
fn in_the_cookbook(row: &str) -> Vec<usize> {
    let start = format!("| {row} | ");
    let page = include_str!("../../../docs/cookbook.md");
    let cells = page.lines().find_map(|line| line.strip_prefix(&start)).expect("a row");
    cells
        .split(" | ")
        .filter_map(|cell| cell.trim_matches([' ', '|']).replace(',', "").parse().ok())
        .collect()
}

/// Two workers insert a row of one key. Each of them knows then that there is a row.
fn insert_and_get(
    insert: fn(&GuardOfPairs, u64, &str) -> Result<bool, InsertError>,
) -> Result<usize, String> {
    check(move || {
        let worker = move |guard: &GuardOfPairs| {
            insert(guard, 1, "row").unwrap();
            assert!(guard.get(1).is_some(), "a row was missed");
        };
        together(&Arc::new(new_guard()), worker, worker);
    })
}

#[test]
fn a_row_before_its_insert() {
    fn row_first(guard: &GuardOfPairs, key: u64, row: &str) -> Result<bool, InsertError> {
        let is_new = guard.store.lock().unwrap().insert(key, row.to_owned()).is_none();
        if is_new {
            guard.filter.insert(&key)?;
        }
        Ok(is_new)
    }

    let models = [Guard::insert, row_first].map(insert_and_get);
    right_and_wrong(models, "a row is stored before its insert", "a row was missed");
}

/// Two workers delete one row. The row of another key with the same hash stays.
fn delete_twice(delete: fn(&GuardOfPairs, u64) -> bool) -> Result<usize, String> {
    check(move || {
        let guard = Arc::new(new_guard());
        for key in [2, 3] {
            guard.insert(key, "row").unwrap();
        }
        let worker = move |guard: &GuardOfPairs| {
            delete(guard, 2);
            assert!(guard.get(3).is_some(), "a row was missed");
        };
        together(&guard, worker, worker);
        // Nobody writes any more, so the number is exact.
        assert_eq!(guard.filter.len(), 1);
    })
}

#[test]
fn a_removal_without_its_insert() {
    fn always_remove(guard: &GuardOfPairs, key: u64) -> bool {
        let is_deleted = guard.store.lock().unwrap().remove(&key).is_some();
        guard.filter.remove(&key);
        is_deleted
    }

    let models = [Guard::delete, always_remove].map(delete_twice);
    right_and_wrong(models, "a copy is removed without its insert", "a row was missed");
}

/// Two workers insert rows of two keys with the same hash.
fn insert_two(
    insert: fn(&GuardOfPairs, u64, &str) -> Result<bool, InsertError>,
) -> Result<usize, String> {
    check(move || {
        let worker = move |key| {
            move |guard: &GuardOfPairs| {
                insert(guard, key, "row").unwrap();
                assert!(guard.get(key).is_some(), "a row was missed");
            }
        };
        together(&Arc::new(new_guard()), worker(2), worker(3));
    })
}

#[test]
fn a_false_positive_taken_for_the_truth() {
    fn unless_found(guard: &GuardOfPairs, key: u64, row: &str) -> Result<bool, InsertError> {
        if guard.filter.contains(&key) {
            return Ok(false);
        }
        guard.insert(key, row)
    }

    let models = [Guard::insert, unless_found].map(insert_two);
    right_and_wrong(models, "a false positive is taken for the truth", "a row was missed");
}

/// A filter and memory that only the filter orders.
struct HandedOver {
    filter: CuckooFilter,
    row: AtomicU64,
}

/// One worker stores a row, and another one reads it if it finds the key.
fn hand_over(store: fn(&HandedOver)) -> Result<usize, String> {
    check(move || {
        let filter = CuckooFilter::with_capacity(100);
        let shared = Arc::new(HandedOver { filter, row: AtomicU64::new(0) });
        together(&shared, store, |shared| {
            if shared.filter.contains("key") {
                assert_eq!(shared.row.load(Ordering::Relaxed), 7, "a row was not seen");
            }
        });
    })
}

#[test]
fn a_row_after_its_insert() {
    fn row_first(shared: &HandedOver) {
        shared.row.store(7, Ordering::Relaxed);
        shared.filter.insert("key").unwrap();
    }
    fn insert_first(shared: &HandedOver) {
        shared.filter.insert("key").unwrap();
        shared.row.store(7, Ordering::Relaxed);
    }

    let models = [row_first, insert_first].map(hand_over);
    right_and_wrong(
        models,
        "a row that only the filter hands over is stored after its insert",
        "a row was not seen",
    );
}

/// Threads with this number of operations each.
fn threads(threads: u64, operations: u64, preemptions: Option<usize>) -> usize {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let filter = Arc::new(CuckooFilter::with_capacity(1000));
        let start = |thread: u64| {
            let filter = Arc::clone(&filter);
            loom::thread::spawn(move || {
                for operation in 0..operations {
                    if operation % 2 == 0 {
                        filter.insert(&(thread, operation)).unwrap();
                    } else {
                        let _ = filter.contains(&((thread + 1) % threads, operation - 1));
                    }
                }
            })
        };
        let started: Vec<_> = (0..threads).map(start).collect();
        for thread in started {
            thread.join().unwrap();
        }
    });
    executions.load(Ordering::Relaxed)
}

#[test]
fn the_number_of_executions() {
    for (row, number, most, preemptions) in [
        ("executions with two threads", 2, 4, None),
        ("executions with three threads", 3, 2, None),
        ("executions with three threads, `preemption_bound` 2", 3, 4, Some(2)),
    ] {
        let counts: Vec<_> =
            (1..=most).map(|operations| threads(number, operations, preemptions)).collect();
        assert_eq!(counts, in_the_cookbook(row), "{row}");
    }
}
