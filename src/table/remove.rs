//! Removal: finds a copy without a lock and clears it under the stripe of its bucket.

use core::hint::select_unpredictable;

use super::address::Buckets;
use super::{MAX_OPTIMISTIC_ATTEMPTS, Table};
use crate::entry::Entry;
use crate::geometry::{Key, Place};
use crate::layout::{Layout, Word};

/// How an attempt to remove a copy ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Removed,
    Absent,
    /// A copy was seen, and was gone when its stripe was locked; or nothing was seen, and the
    /// version changed meanwhile.
    Overtaken,
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// One copy less of the item. `false`: there is none.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(crate) fn remove(&self, key: Key) -> bool {
        // Without the version, which only the answer `false` needs: an item that was inserted is there.
        if self.remove_seen(key) == Some(true) {
            return true;
        }
        let Key { entry, first, second } = key;
        self.remove_slow(entry, first, second)
    }

    fn try_remove(&self, key: Key) -> Attempt {
        let version = self.versions.read(key.entry.core());
        match self.remove_seen(key) {
            Some(true) => Attempt::Removed,
            None if version.validate() => Attempt::Absent,
            Some(false) | None => Attempt::Overtaken,
        }
    }

    /// Looks for a copy without a lock, and removes it under the stripe of its bucket. `None`: no
    /// copy was seen. `Some(false)`: one was, and was gone when the stripe was locked.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn remove_seen(&self, key: Key) -> Option<bool> {
        let buckets = self.buckets.both(key, self.buckets.extent());
        let words = self.words_in(buckets);
        let pattern = key.entry.pattern();
        if !Word::either_holds(words, pattern) {
            return None;
        }
        let places = key.places();
        let in_first = words[0].holds(pattern);
        let place = Place::select(in_first, places);
        let other = Place::select(!in_first, places);
        let bucket = select_unpredictable(in_first, buckets[0], buckets[1]);
        let (locked, [bucket]) = self.lock([place], [bucket]);
        Some(self.remove_from(&locked, bucket, place.entry, other))
    }

    /// Each attempt that fails was overtaken by another writer's success. After
    /// [`MAX_OPTIMISTIC_ATTEMPTS`] of them it locks both stripes, and then nobody overtakes it.
    /// See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn remove_slow(&self, entry: Entry, first: usize, second: usize) -> bool {
        for _ in 0..MAX_OPTIMISTIC_ATTEMPTS {
            match self.try_remove(Key { entry, first, second }) {
                Attempt::Removed => return true,
                Attempt::Absent => return false,
                Attempt::Overtaken => {}
            }
        }
        let places = Key { entry, first, second }.places();
        let (locked, buckets) = self.lock(places, self.locate(places));
        self.remove_from(&locked, buckets[0], places[0].entry, places[1])
            || self.remove_from(&locked, buckets[1], places[1].entry, places[0])
    }
}
