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

/// The right code passes, in this number of executions or more; the mistake is found.
fn right_and_wrong(
    name: &str,
    floor: usize,
    right: Result<usize, String>,
    wrong: Result<usize, String>,
    message: &str,
) {
    let executions = right.expect("the right code passes");
    println!("{name}: {executions} executions");
    assert!(executions >= floor, "{name}: only {executions} executions");
    let found = wrong.expect_err("the mistake is found");
    assert!(found.contains(message), "{name}: {found}");
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

    let [right, wrong] = [Guard::insert, row_first].map(insert_and_get);
    right_and_wrong("a row before its insert", 350, right, wrong, "a row was missed");
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

    let [right, wrong] = [Guard::delete, always_remove].map(delete_twice);
    right_and_wrong("a removal without its insert", 150, right, wrong, "a row was missed");
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

    let [right, wrong] = [Guard::insert, unless_found].map(insert_two);
    right_and_wrong("a false positive taken for the truth", 300, right, wrong, "a row was missed");
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

    let [right, wrong] = [row_first, insert_first].map(hand_over);
    right_and_wrong("a row after its insert", 8, right, wrong, "a row was not seen");
}
