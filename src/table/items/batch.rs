//! Batches: operations of the table on many items, whose cache misses overlap.
//!
//! **Invariant:** the answers are those of the single operations, one after the other.
//!
//! A loop of single operations waits for memory wherever the caller branches on an answer, or where a lock orders the
//! loads. A batch requests the words of an item some items before it decides anything about this item, so the memory is
//! seldom idle. A batch is not atomic: each item is an operation of its own.
//!
//! A caller's closure takes its [`Table`], which is only a reference, by value. If the closure borrowed it, the table
//! would be loaded anew for each item.

use crate::error::{InsertError, Stopped};
use crate::layout::Encoding;
use crate::table::buckets::stripes::SAMPLE;
use crate::table::placing::OUT_OF_CACHE_BUCKETS;
use crate::table::placing::geometry::Key;
use crate::table::{Buckets, Table};

/// The number of items ahead at which words are requested, a power of two: more than the cache misses that a core has
/// outstanding, and few enough to keep on the stack.
const PREFETCH_DISTANCE: usize = 32;

/// The number of items ahead at which the words are requested that a search for room reads first. By then the words of
/// the item itself have most likely come.
const SEARCH_DISTANCE: usize = 8;

/// The load from which on the words of searches are requested.
const SEARCHES_FROM: f64 = 0.75;

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Calls `operation` with each item and its key, in order, and writes the results to `answers`.
    #[inline]
    pub(crate) fn answer_each<Q, A>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        answers: &mut [A],
        operation: impl Fn(&Q, Key) -> A,
    ) {
        // The operation never fails.
        let _ = self.change_each(items, key, |at, key| {
            answers[at] = operation(&items[at], key);
            Ok(true)
        });
    }

    /// Calls `insert` with the index and the key of each item, in order, until a call fails. Returns how often it was
    /// true: the number of items stored.
    #[inline]
    pub(crate) fn insert_each<Q>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        insert: impl FnMut(usize, Key) -> Result<bool, InsertError>,
    ) -> Result<usize, Stopped> {
        // A growing table is always so full that many inserts have to search; a table of fixed size is so from some
        // load on. In a small table the requests would cost more than they gain.
        let buckets = self.present();
        let searches = buckets >= OUT_OF_CACHE_BUCKETS
            && (B::GROWS
                || self.stripes().load_near(0, buckets, SAMPLE) > SEARCHES_FROM * F::SLOTS as f64);
        let prepare = |key| {
            if searches {
                self.prefetch_search(key);
            }
        };
        self.change_each_prepared(items, key, prepare, insert)
    }

    /// Calls `change` with the index and the key of each item, in order, until a call fails. Returns how often it was
    /// true.
    #[inline]
    pub(crate) fn change_each<Q>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        change: impl FnMut(usize, Key) -> Result<bool, InsertError>,
    ) -> Result<usize, Stopped> {
        self.change_each_prepared(items, key, |_| {}, change)
    }

    /// Calls `change` as `change_each` does. Before each call, requests the words of the item [`PREFETCH_DISTANCE`]
    /// places ahead, and calls `prepare` for the item [`SEARCH_DISTANCE`] places ahead.
    #[inline]
    fn change_each_prepared<Q>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        prepare: impl Fn(Key),
        mut change: impl FnMut(usize, Key) -> Result<bool, InsertError>,
    ) -> Result<usize, Stopped> {
        let prefetched = |item| {
            let key = key(item);
            self.buckets.prefetch(key);
            key
        };
        let mut keys = [Key::default(); PREFETCH_DISTANCE];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = prefetched(item);
        }
        let mut changed = 0;
        for index in 0..items.len() {
            let place = &mut keys[index % PREFETCH_DISTANCE];
            let key = *place;
            if let Some(ahead) = items.get(index + PREFETCH_DISTANCE) {
                *place = prefetched(ahead);
            }
            if index + SEARCH_DISTANCE < items.len() {
                prepare(keys[(index + SEARCH_DISTANCE) % PREFETCH_DISTANCE]);
            }
            let is_changed =
                change(index, key).map_err(|cause| Stopped { index, stored: changed, cause })?;
            changed += usize::from(is_changed);
        }
        Ok(changed)
    }
}
