//! Batches: the operations of the table in stages, so that cache misses overlap.
//!
//! A loop of single operations waits for memory wherever the caller branches on an answer, or where
//! a lock orders the loads. In a batch all keys are computed first, and their words asked for; only
//! then is anything decided. Each item remains an operation of its own.

use crate::error::InsertManyError;
use crate::geometry::Key;
use crate::layout::Layout;
use crate::table::Table;

/// Items in flight at once: more than a core has misses outstanding, little to keep on the stack.
const FLIGHT: usize = 32;

impl<L: Layout> Table<L> {
    /// As `contains` for each item.
    #[inline]
    pub(crate) fn contains_many<Q>(
        &self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        found: &mut [bool],
    ) {
        for (items, found) in items.chunks(FLIGHT).zip(found.chunks_mut(FLIGHT)) {
            let keys = self.keys(items, &hash);
            for (key, found) in keys.into_iter().zip(found) {
                *found = self.contains(key);
            }
        }
    }

    /// As `insert` for each item, in order, until one fails.
    #[inline]
    pub(crate) fn insert_many<Q>(
        &self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
    ) -> Result<(), InsertManyError> {
        let mut stored = 0;
        for items in items.chunks(FLIGHT) {
            let keys = self.keys(items, &hash);
            for key in keys.into_iter().take(items.len()) {
                self.insert(key).map_err(|cause| InsertManyError::new(stored, cause))?;
                stored += 1;
            }
        }
        Ok(())
    }

    /// The keys of up to [`FLIGHT`] items, their words on the way; the places beyond mean nothing.
    #[inline]
    fn keys<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64) -> [Key; FLIGHT] {
        let mut keys = [Key::default(); FLIGHT];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = self.key(hash(item));
            self.prefetch(*key);
        }
        keys
    }
}
