//! Lookups: optimistic, bounded, without a lock.

use core::iter;

use super::Table;
use super::address::Buckets;
use crate::candidates::Candidates;
use crate::entry::Entry;
use crate::extent::Bucket;
use crate::geometry::{Key, Place};
use crate::layout::{Layout, Word};
use crate::reading::Reading;
use crate::sync::Ordering;

/// Rounds of a lookup before it gives up on a certain answer and says that the item is there.
const MAX_LOOKUP_ROUNDS: usize = 8;

/// What a lookup saw.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Present,
    Absent,
    /// Every round found nothing, and found that the version had changed meanwhile.
    Inconclusive,
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// Whether the item is in the table. Wait-free: it neither locks nor stores, and after
    /// [`MAX_LOOKUP_ROUNDS`] rounds it answers true, as a filter may. (It counts such an answer,
    /// which is the one store that a lookup ever makes.)
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(crate) fn contains(&self, key: Key) -> bool {
        let version = self.versions.read(self.geometry().class(key));
        let found = self.either_holds(key);
        // One branch, which does not depend on whether the item is there.
        if version.validate() {
            found
        } else {
            self.contains_slow(found, key.entry, key.first, key.second)
        }
    }

    /// The rest of a lookup whose first round saw the version change. See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn contains_slow(&self, found: bool, entry: Entry, first: usize, second: usize) -> bool {
        if found {
            return true;
        }
        match self.look_up(Key { entry, first, second }, MAX_LOOKUP_ROUNDS - 1) {
            Lookup::Present => true,
            Lookup::Absent => false,
            Lookup::Inconclusive => {
                // Relaxed: a number that orders nothing.
                self.inconclusive.fetch_add(1, Ordering::Relaxed);
                true
            }
        }
    }

    /// Looks until it is sure, at most `rounds` times.
    #[inline]
    pub(super) fn look_up(&self, key: Key, rounds: usize) -> Lookup {
        for _ in 0..rounds {
            let version = self.versions.read(self.geometry().class(key));
            if self.either_holds(key) {
                return Lookup::Present;
            }
            if version.validate() {
                return Lookup::Absent;
            }
        }
        Lookup::Inconclusive
    }

    /// The words of these buckets.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(super) fn words_in(&self, buckets: [Bucket<B::Reading>; 2]) -> [Word<L>; 2] {
        // SeqCst, both: whatever is decided by them has its place in the one order of all SeqCst
        // accesses. As Acquire loads they pair with the stores in `table`, and keep the second look
        // at the version behind them.
        let load = |bucket| Word::from_bits(self.buckets.word(bucket).load(Ordering::SeqCst));
        let [first, second] = buckets.map(|bucket| bucket.number);
        [load(first), load(second)]
    }

    /// Whether either bucket holds an entry that matches, each read once, by the extent as it is now.
    ///
    /// A table that has begun its next level since is read by the old level. That can find an entry that
    /// is none of the item, as a filter may, and misses none: where it could, a version was bumped.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(super) fn either_holds(&self, key: Key) -> bool {
        let places = self.places(key);
        let buckets = self.locate(places);
        let entries = places.map(|place| place.entry);
        Reading::either_holds(buckets.map(|bucket| bucket.reading), self.words_in(buckets), entries)
    }

    /// As `either_holds`, where `true` is a decision and no hint: the words are read by the level that they
    /// have.
    #[inline]
    pub(super) fn certainly_holds(&self, key: Key) -> bool {
        loop {
            let level = self.buckets.level();
            let found = self.either_holds(key);
            // After the words, which are loaded with Acquire: an entry of the next level was stored by
            // a thread that had seen it.
            if !found || self.buckets.level() == level {
                return found;
            }
        }
    }

    /// The values of a key of a maplet, and few others. Every value that the key had all the time is
    /// among them.
    ///
    /// All matches of both words of one round in which nothing of the group was moved: one that is
    /// found does not end the round, since a kick may have moved another meanwhile. Growth must not have
    /// begun its next level either, as for `certainly_holds`.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(crate) fn get(&self, key: Key) -> Candidates {
        if let Some(candidates) = self.try_get(key) {
            return candidates;
        }
        // Not returned by the call: what a call returns is in memory, also where nothing is called.
        let mut candidates = Candidates::new();
        self.get_slow(key.entry, key.first, key.second, &mut candidates);
        candidates
    }

    /// One round. `None`: something of the group was moved meanwhile.
    #[expect(clippy::inline_always, reason = "what it returns is more than registers take")]
    #[inline(always)]
    fn try_get(&self, key: Key) -> Option<Candidates> {
        let version = self.versions.read(self.geometry().class(key));
        let level = self.buckets.level();
        let places = self.places(key);
        let buckets = self.locate(places);
        let words = self.words_in(buckets);
        (version.validate() && self.buckets.level() == level)
            .then(|| Self::candidates(places, buckets, words))
    }

    /// The rest of a `get` whose first round saw something move: some more rounds, and then both words
    /// under their stripes. See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn get_slow(&self, entry: Entry, first: usize, second: usize, found: &mut Candidates) {
        let key = Key { entry, first, second };
        let round = || self.try_get(key);
        *found =
            iter::repeat_with(round).take(MAX_LOOKUP_ROUNDS - 1).flatten().next().unwrap_or_else(
                || {
                    let places = self.places(key);
                    let (_locked, buckets) = self.lock(places, self.locate(places));
                    Self::candidates(places, buckets, self.words_in(buckets))
                },
            );
    }

    /// The values that two words hold of a key.
    #[inline]
    fn candidates(
        places: [Place; 2],
        buckets: [Bucket<B::Reading>; 2],
        words: [Word<L>; 2],
    ) -> Candidates {
        let entries = places.map(|place| place.entry);
        Reading::values(buckets.map(|bucket| bucket.reading), words, entries)
    }

    /// How many copies there are: read under both stripes, unless there are certainly none.
    pub(crate) fn count(&self, key: Key) -> usize {
        if self.look_up(key, 1) == Lookup::Absent {
            return 0;
        }
        // Both: a removal under way in one bucket, which found no copy in the other, comes before all
        // that is inserted there; a count of all those copies together would contradict it.
        let places = self.places(key);
        let (_locked, buckets) = self.lock(places, self.locate(places));
        let words = self.words_in(buckets);
        let copies = |at: usize| buckets[at].reading.copies(words[at], places[at].entry);
        copies(0) + copies(1)
    }
}
