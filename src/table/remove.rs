//! Removal: finds a copy without a lock and clears it under the stripe of its bucket.

use core::hint::select_unpredictable;

use super::address::Buckets;
use super::{MAX_OPTIMISTIC_ATTEMPTS, Table};
use crate::geometry::{Fingerprint, Key, Place};
use crate::layout::Layout;
use crate::layout::sealed::Word;

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
        let Key { fingerprint, first, second } = key;
        self.remove_slow(fingerprint, first, second)
    }

    fn try_remove(&self, key: Key) -> Attempt {
        let version = self.versions.read(key.fingerprint);
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
        let Key { fingerprint, first, second } = key;
        let words = self.words(key);
        if !L::Word::either_holds(words[0], words[1], fingerprint) {
            return None;
        }
        // No branch: no processor could predict it.
        let in_first = L::Word::holds(words[0], fingerprint);
        let row = select_unpredictable(in_first, first, second);
        let other = select_unpredictable(in_first, second, first);
        let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);
        Some(self.remove_from(&locked, bucket, Place { row: other, fingerprint }))
    }

    /// Each attempt that fails was overtaken by another writer's success. After
    /// [`MAX_OPTIMISTIC_ATTEMPTS`] of them it locks both stripes, and then nobody overtakes it.
    /// See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn remove_slow(&self, fingerprint: Fingerprint, first: usize, second: usize) -> bool {
        for _ in 0..MAX_OPTIMISTIC_ATTEMPTS {
            match self.try_remove(Key { fingerprint, first, second }) {
                Attempt::Removed => return true,
                Attempt::Absent => return false,
                Attempt::Overtaken => {}
            }
        }
        let places = Key { fingerprint, first, second }.places();
        let (locked, buckets) = self.lock(places);
        self.remove_from(&locked, buckets[0], places[1])
            || self.remove_from(&locked, buckets[1], places[0])
    }
}
