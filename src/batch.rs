//! Batches: the operations of the table with their cache misses overlapped.
//!
//! A loop of single operations waits for memory wherever the caller branches on an answer, or where
//! a lock orders the loads. In a batch the words of an item are asked for some items before anything
//! is decided about it, so the memory is seldom idle. Each item remains an operation of its own.

use core::convert::Infallible;

use crate::error::InsertManyError;
use crate::geometry::Key;
use crate::layout::Layout;
use crate::table::Table;

/// Items in flight at once, a power of two: more than a core has misses outstanding, little to keep
/// on the stack.
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
        let mut found = found.iter_mut();
        let decided = self.in_flight(items, hash, |key| {
            if let Some(found) = found.next() {
                *found = self.contains(key);
            }
            Ok::<(), Infallible>(())
        });
        let Ok(()) = decided;
    }

    /// As `insert` for each item, in order, until one fails.
    #[inline]
    pub(crate) fn insert_many<Q>(
        &self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
    ) -> Result<(), InsertManyError> {
        let mut stored = 0;
        self.in_flight(items, hash, |key| {
            self.insert(key).map_err(|cause| InsertManyError::new(stored, cause))?;
            stored += 1;
            Ok(())
        })
    }

    /// Decides on each item in order, until that fails, and asks for the words of the item
    /// [`FLIGHT`] places ahead just before.
    #[inline]
    fn in_flight<Q, E>(
        &self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        mut decide: impl FnMut(Key) -> Result<(), E>,
    ) -> Result<(), E> {
        let ask = |item| {
            let key = self.key(hash(item));
            self.prefetch(key);
            key
        };
        let mut keys = [Key::default(); FLIGHT];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = ask(item);
        }
        for at in 0..items.len() {
            let place = &mut keys[at % FLIGHT];
            let key = *place;
            if let Some(ahead) = items.get(at + FLIGHT) {
                *place = ask(ahead);
            }
            decide(key)?;
        }
        Ok(())
    }
}
