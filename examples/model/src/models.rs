//! Models of the guard: two workers, whose operations run in every order, with the right code and with mistakes.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::{CuckooFilter, Error};

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

/// Returns the number of executions if all of them pass; otherwise the message of the first one that fails.
fn check(model: impl Fn() + Send + Sync + 'static) -> Result<usize, String> {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    // A thread of its own, so that its panic is an error here, and everything that loom leaves behind goes with it.
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

/// Checks that the correct code passes, in as many executions as the cookbook says, and that the mistake is found.
fn right_and_wrong([right, wrong]: [Result<usize, String>; 2], mistake: &str) {
    assert_eq!([right.expect("the right code passes")], *in_the_cookbook(mistake), "{mistake}");
    let found = wrong.expect_err("the mistake is found");
    assert!(found.contains("a row was missed"), "{mistake}: {found}");
}

/// Returns the numbers in a row of a table of the cookbook.
fn in_the_cookbook(row: &str) -> Vec<usize> {
    let (page, start) = (include_str!("../../../docs/cookbook.md"), format!("| {row} |"));
    let cells = page.lines().find_map(|line| line.strip_prefix(&start)).expect("a row");
    cells.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
}

/// Two workers insert rows, of one key or of two. Each of them knows then that there is a row.
fn insert_and_get(
    keys: [u64; 2],
    insert: fn(&GuardOfPairs, u64, &str) -> Result<bool, Error>,
) -> Result<usize, String> {
    check(move || {
        let [first, second] = keys.map(|key| {
            move |guard: &GuardOfPairs| {
                insert(guard, key, "row").unwrap();
                assert!(guard.get(key).is_some(), "a row was missed");
            }
        });
        together(&Arc::new(new_guard()), first, second);
    })
}

#[test]
fn a_row_before_its_insert() {
    fn row_first(guard: &GuardOfPairs, key: u64, row: &str) -> Result<bool, Error> {
        let is_new = guard.store.lock().unwrap().insert(key, row.to_owned()).is_none();
        if is_new {
            guard.filter.insert(&key)?;
        }
        Ok(is_new)
    }

    let models = [Guard::insert, row_first].map(|insert| insert_and_get([1, 1], insert));
    right_and_wrong(models, "a row is stored before its insert");
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
        // No worker writes any more, so the number is exact.
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
    right_and_wrong(models, "a copy is removed without its insert");
}

/// Two keys have the same hash.
#[test]
fn a_false_positive_taken_for_the_truth() {
    fn unless_found(guard: &GuardOfPairs, key: u64, row: &str) -> Result<bool, Error> {
        if guard.filter.contains(&key) {
            return Ok(false);
        }
        guard.insert(key, row)
    }

    let models = [Guard::insert, unless_found].map(|insert| insert_and_get([2, 3], insert));
    right_and_wrong(models, "a false positive is taken for the truth");
}

#[test]
fn the_number_of_executions() {
    let executions = |operations: u64| {
        check(move || {
            let worker = move |own: u64| {
                move |filter: &CuckooFilter| {
                    for n in 0..operations {
                        if n % 2 == 0 {
                            filter.insert(&(own, n)).unwrap();
                        } else {
                            let _ = filter.contains(&(1 - own, n - 1));
                        }
                    }
                }
            };
            together(&Arc::new(CuckooFilter::with_capacity(1000)), worker(0), worker(1));
        })
    };
    let counts: Result<Vec<_>, _> = (1..=4).map(executions).collect();
    assert_eq!(counts, Ok(in_the_cookbook("executions with two threads")));
}

/// The number of executions is the one in the cookbook, to the hundred.
#[test]
fn three_threads_with_two_inserts_each() {
    let executions = check(|| {
        let filter = Arc::new(CuckooFilter::with_capacity(1000));
        let insert_two = |own: u64| {
            let filter = Arc::clone(&filter);
            loom::thread::spawn(move || (0..2_u64).for_each(|n| filter.insert(&(own, n)).unwrap()))
        };
        for thread in [0, 1, 2].map(insert_two) {
            thread.join().unwrap();
        }
    });
    let hundreds = (executions.expect("it passes") + 50) / 100;
    let said = format!("about {},{}00.", hundreds / 10, hundreds % 10);
    assert!(include_str!("../../../docs/cookbook.md").contains(&said), "{said}");
}
