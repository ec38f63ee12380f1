//! Batches: the operations of the table with their cache misses overlapped.
//!
//! **Invariant:** the answers are those of the single operations, one after the other.
//!
//! A loop of single operations waits for memory wherever the caller branches on an answer, or where
//! a lock orders the loads. In a batch the words of an item are requested some items before anything
//! is decided about it, so the memory is seldom idle. A batch is not atomic: each item is an
//! operation of its own.

use core::convert::Infallible;

use super::bucket::OUT_OF_CACHE_BUCKETS;
use super::entry::{Pair, ValueBits};
use super::generations::Stamping;
use super::geometry::Key;
use super::{Buckets, ItemOf, Table};
use crate::error::{Refusal, Stopped};
use crate::layout::{Candidates, Format};

/// How many items ahead the words are requested, a power of two: more than a core has misses
/// outstanding, little to keep on the stack.
const PREFETCH_DISTANCE: usize = 32;

/// How many items ahead the words are requested at which a search for room looks first: when the
/// words of the item itself have come, most likely.
const SEARCH_DISTANCE: usize = 8;

/// The load from which on the words of searches are requested.
const SEARCHES_FROM: f64 = 0.75;
/// Buckets at least whose load is taken for that of the table: cheap beside a batch.
const SAMPLE: usize = 2048;

impl<F: Format, B: Buckets> Table<'_, F, B> {
    /// As `contains` for each item.
    #[inline]
    pub(crate) fn contains_many<Q>(
        self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        found: &mut [bool],
    ) {
        let key = |named: &Q| self.key(hash(named));
        self.answer_each(items, key, found, |_, key| self.contains(key));
    }

    /// As `insert` for each item, in order, until one fails, or until the value of one does not fit. Returns how many
    /// were inserted.
    #[inline]
    pub(crate) fn insert_many<Q>(
        self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        fits: impl Fn(&Q) -> bool,
    ) -> Result<usize, Stopped> {
        self.insert_each(items, item, |at, key| {
            if !fits(&items[at]) {
                return Err(Refusal::ValueTooLarge);
            }
            self.insert(key).map(|()| true)
        })
    }

    /// As `insert_unique` for each item, in order, until one fails. Returns how many were new.
    #[inline]
    pub(crate) fn insert_unique_many<Q>(
        self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        self.insert_each(items, item, |at, key| {
            new[at] = self.insert_unique(key)?;
            Ok(new[at])
        })
    }

    /// Calls `insert` for each item, in order, until that fails. Returns how many were stored.
    #[inline]
    fn insert_each<Q>(
        self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        insert: impl FnMut(usize, Key) -> Result<bool, Refusal>,
    ) -> Result<usize, Stopped> {
        // A growing table is always so full that many inserts have to search, one of fixed size from some load on. In
        // a small table it would cost more than it gains.
        let buckets = self.present();
        let searches = buckets >= OUT_OF_CACHE_BUCKETS
            && (B::GROWS
                || self.stripes().load_near(0, buckets, SAMPLE) > SEARCHES_FROM * F::SLOTS as f64);
        let prepare = |key| {
            if searches {
                self.prefetch_search(key);
            }
        };
        self.change_each(items, item, prepare, insert)
    }

    /// Calls `change` for each item, in order, until that fails. Returns how often it was true.
    #[inline]
    fn change_each<Q>(
        self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        prepare: impl Fn(Key),
        mut change: impl FnMut(usize, Key) -> Result<bool, Refusal>,
    ) -> Result<usize, Stopped> {
        let mut changed = 0;
        let key = |named: &Q| self.key_of(item(named));
        self.for_each_prefetched(items, key, prepare, |at, key| {
            let is_changed =
                change(at, key).map_err(|cause| Stopped { index: at, stored: changed, cause })?;
            changed += usize::from(is_changed);
            Ok(())
        })?;
        Ok(changed)
    }

    /// As `remove` for each item, in order, but those whose values do not fit: there are none. Returns how many were
    /// removed.
    #[inline]
    pub(crate) fn remove_many<Q>(
        self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        fits: impl Fn(&Q) -> bool,
        removed: &mut [bool],
    ) -> usize {
        let mut count = 0;
        let key = |named: &Q| self.key_of(item(named));
        self.answer_each(items, key, removed, |at, key| {
            let removed = fits(&items[at]) && self.remove(key);
            count += usize::from(removed);
            removed
        });
        count
    }

    /// Writes to `answers` what `operation` returns for each item, in order.
    #[inline]
    fn answer_each<Q, A>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        answers: &mut [A],
        mut operation: impl FnMut(usize, Key) -> A,
    ) {
        let Ok(()) = self.for_each_prefetched(
            items,
            key,
            |_| {},
            |at, key| {
                answers[at] = operation(at, key);
                Ok::<(), Infallible>(())
            },
        );
    }

    /// Calls `operation` with the index and the key of each item, in order, until that fails. Just before, it requests
    /// the words of the item [`PREFETCH_DISTANCE`] places ahead, and calls `prepare` for the one
    /// [`SEARCH_DISTANCE`] places ahead.
    #[inline]
    fn for_each_prefetched<Q, E>(
        self,
        items: &[Q],
        key: impl Fn(&Q) -> Key,
        prepare: impl Fn(Key),
        mut operation: impl FnMut(usize, Key) -> Result<(), E>,
    ) -> Result<(), E> {
        let prefetched = |item| {
            let key = key(item);
            self.buckets.prefetch(|| key.places());
            key
        };
        let mut keys = [Key::default(); PREFETCH_DISTANCE];
        for (key, item) in keys.iter_mut().zip(items) {
            *key = prefetched(item);
        }
        for at in 0..items.len() {
            let place = &mut keys[at % PREFETCH_DISTANCE];
            let key = *place;
            if let Some(ahead) = items.get(at + PREFETCH_DISTANCE) {
                *place = prefetched(ahead);
            }
            if at + SEARCH_DISTANCE < items.len() {
                prepare(keys[(at + SEARCH_DISTANCE) % PREFETCH_DISTANCE]);
            }
            operation(at, key)?;
        }
        Ok(())
    }
}

/// In a maplet.
impl<F: Format, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// As `get` for each key.
    #[inline]
    pub(crate) fn get_many<Q>(
        self,
        keys: &[Q],
        hash: impl Fn(&Q) -> u64,
        found: &mut [Candidates],
    ) {
        let key = |named: &Q| self.key(hash(named));
        self.answer_each(keys, key, found, |_, key| {
            self.turns.take();
            let found = self.get(key);
            self.turns.acquire_if(|| found.len() > 0);
            found
        });
    }

    /// As `insert_with` for each item, in order, until one fails. Returns how many were new.
    #[inline]
    pub(crate) fn insert_stamped_many<Q>(
        self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        stamping: Stamping,
        new: &mut [bool],
    ) -> Result<usize, Stopped> {
        // The value is another one when it is stored.
        let item = |named: &Q| Pair { hash: hash(named), value: 0 };
        self.insert_each(items, item, |at, key| {
            new[at] = self.insert_with(key, stamping)?;
            Ok(new[at])
        })
    }

    /// As `age` for each item.
    pub(crate) fn age_many<Q>(
        self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        ages: &mut [Option<u32>],
    ) {
        let key = |named: &Q| self.key(hash(named));
        self.answer_each(items, key, ages, |_, key| self.age(key));
    }

    /// As `replace` for each pair, in order, until one fails, but those whose values do not fit: there are none.
    /// Returns how many were replaced.
    #[inline]
    pub(crate) fn replace_many<Q>(
        self,
        pairs: &[Q],
        pair: impl Fn(&Q) -> Pair,
        fits: impl Fn(&Q) -> bool,
        new: impl Fn(&Q) -> u32,
        replaced: &mut [bool],
    ) -> Result<usize, Stopped> {
        self.change_each(
            pairs,
            pair,
            |_| {},
            |at, key| {
                replaced[at] = fits(&pairs[at]) && self.replace(key, new(&pairs[at]))?;
                Ok(replaced[at])
            },
        )
    }
}
