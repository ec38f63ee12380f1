//! A filter in front of a store, for several workers; checked by models, and by a stress test.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p model    # the models, with loom
//! cargo test -p model                            # the stress test
//! ```
//!
//! The models are those of the recipe "Model-check code that uses a filter" of the cookbook.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use coucal::{DefaultHashBuilder, Fp16x4, GrowableCuckooFilter, InsertError};

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
    /// In place of something slow.
    store: Mutex<HashMap<u64, String>>,
}

impl<S: BuildHasher> Guard<S> {
    /// Without rows.
    pub fn new(hasher: S) -> Self {
        Self { filter: GrowableCuckooFilter::with_hasher(hasher), store: Mutex::default() }
    }

    /// The row of a key.
    ///
    /// # Panics
    ///
    /// If another worker has panicked while it used the store.
    pub fn get(&self, key: u64) -> Option<String> {
        if !self.filter.contains(&key) {
            return None; // certain: the store is not asked
        }
        self.store.lock().unwrap().get(&key).cloned()
    }

    /// `Ok(true)`: the row is new. `Ok(false)`: there was a row already, and it stays.
    ///
    /// # Errors
    ///
    /// If there is no memory for the filter; then nothing has changed.
    ///
    /// # Panics
    ///
    /// As `get`.
    pub fn insert(&self, key: u64, row: &str) -> Result<bool, InsertError> {
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

    /// Whether there was a row.
    ///
    /// # Panics
    ///
    /// As `get`.
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
#[cfg(all(test, not(loom)))]
mod stress;
