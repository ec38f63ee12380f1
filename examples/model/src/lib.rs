//! A filter in front of a store, for several workers; checked by models, and by a stress test.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p model    # the models, with loom
//! cargo test -p model                            # the stress test
//! ```
//!
//! The models are those of the recipe "Model-check code that uses a filter" of the cookbook.

#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc)] // an example

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use coucal::{DefaultHashBuilder, Error, Fp16x4, GrowableCuckooFilter};

use sync::Mutex;

/// Where the code takes its locks and atomics from.
mod sync {
    #[cfg(all(test, loom))]
    pub use loom::sync::Mutex;
    #[cfg(not(all(test, loom)))]
    pub use std::sync::Mutex;
}

/// A store of rows, which is asked only for keys that the filter may contain.
///
/// At every moment, each row of the store has a copy of its own in the filter.
pub struct Guard<S = DefaultHashBuilder> {
    filter: GrowableCuckooFilter<Fp16x4, S>,
    /// Stands for something slow.
    store: Mutex<HashMap<u64, String>>,
}

impl<S: BuildHasher> Guard<S> {
    /// Makes a guard without rows.
    pub fn new(hasher: S) -> Self {
        Self { filter: GrowableCuckooFilter::with_hasher(hasher), store: Mutex::default() }
    }

    /// Returns the row of a key.
    pub fn get(&self, key: u64) -> Option<String> {
        if !self.filter.contains(&key) {
            return None; // certain: the store is not asked
        }
        self.store.lock().unwrap().get(&key).cloned()
    }

    /// Inserts a row. Returns `Ok(true)` if the row is new, and `Ok(false)` if there was a row already, which stays.
    /// Returns an error if there is no memory for the filter; then nothing has changed.
    pub fn insert(&self, key: u64, row: &str) -> Result<bool, Error> {
        self.filter.insert(&key)?;
        let is_new = match self.store.lock().unwrap().entry(key) {
            Entry::Vacant(place) => {
                place.insert(row.to_owned());
                true
            }
            Entry::Occupied(_) => false,
        };
        if !is_new {
            self.filter.remove(&key); // the copy that this call inserted
        }
        Ok(is_new)
    }

    /// Deletes a row. Returns whether there was one.
    pub fn delete(&self, key: u64) -> bool {
        let is_deleted = self.store.lock().unwrap().remove(&key).is_some();
        if is_deleted {
            self.filter.remove(&key); // only for a row that this call deleted
        }
        is_deleted
    }
}

#[cfg(all(test, loom))]
mod models;

/// The guard on a real machine.
#[cfg(all(test, not(loom)))]
#[test]
fn workers_beside_each_other() {
    const KEYS: u64 = 500;
    let guard = &Guard::new(coucal::StableHashBuilder::default());
    std::thread::scope(|scope| {
        for worker in 1..=4 {
            scope.spawn(move || {
                for n in 0..20 * KEYS {
                    // A key of all workers: any of them may delete it.
                    let (shared, own) = (n % KEYS, worker * KEYS + n % KEYS);
                    guard.insert(shared, "shared").unwrap();
                    // A key of this worker: no other worker deletes it, so it is found whatever others do.
                    assert_eq!(guard.insert(own, "own"), Ok(true));
                    assert_eq!(guard.get(own).as_deref(), Some("own"));
                    assert!(guard.delete(own));
                    guard.delete(shared);
                }
            });
        }
    });
    // No worker writes any more, so the numbers are exact.
    assert_eq!((guard.store.lock().unwrap().len(), guard.filter.len()), (0, 0));
}
