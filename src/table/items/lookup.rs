//! Lookups: optimistic, bounded, without a lock.
//!
//! **Invariant:** a lookup that finds no entry of its item has done one of these:
//!
//! * It has read both buckets of the item, and the stash if the version says so, while nothing of the version group was
//!   moved.
//! * It has held the stripes of both buckets.
//!
//! **Invariant:** once a `contains` has found an item, each later `contains` finds it, until the item is removed.

use crate::layout::{Candidates, Encoding};
use crate::sync::Ordering;
use crate::table::buckets::versions::ReadVersion;
use crate::table::placing::entry::{Entry, ValueBits};
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Bucket, Placing, Read};
use crate::table::{Buckets, Table};

/// The number of rounds after which a lookup gives up on a certain answer and says that the item is there.
const MAX_LOOKUP_ROUNDS: usize = 8;

/// In a maplet, `PAIR` accepts only entries with the value of the item; `KEY` accepts any value. In a filter both are
/// the same.
const PAIR: bool = true;
const KEY: bool = false;

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Returns whether the item is in the table. Wait-free: it takes no lock, and after [`MAX_LOOKUP_ROUNDS`] rounds it
    /// gives up and answers true, as a filter may. It stores nothing except the number of such answers.
    #[inline(always)]
    pub(crate) fn contains(self, key: Key) -> bool {
        self.contains_by::<KEY>(key)
    }

    /// Looks the item up as `contains` does, but in a maplet the value counts, too.
    #[inline(always)]
    pub(crate) fn contains_pair(self, key: Key) -> bool {
        self.contains_by::<PAIR>(key)
    }

    #[inline(always)]
    fn contains_by<const WITH_VALUE: bool>(self, key: Key) -> bool {
        self.turns.take(|| self.contains_by::<WITH_VALUE>(key));
        let found = self.contains_now::<WITH_VALUE>(key);
        self.turns.acquire_if(|| found);
        found
    }

    /// Looks the item up as `contains` does, or with `WITH_VALUE` as `contains_pair`, as a part of another operation.
    #[inline(always)]
    pub(in crate::table) fn contains_now<const WITH_VALUE: bool>(self, key: Key) -> bool {
        let version = self.versions().read(self.geometry().version_group(key));
        let mut found = self.in_buckets(key, WITH_VALUE);
        // One branch, which does not depend on whether the item is there.
        if !version.validate() {
            let Key { entry, first, second } = key;
            let version = version.number();
            found = self.contains_slow::<WITH_VALUE>(found, entry, first, second, version);
        }
        found
    }

    /// Continues a lookup whose first round did not validate: the version has changed, or something of the group is
    /// stashed. See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn contains_slow<const WITH_VALUE: bool>(
        self,
        found: bool,
        entry: Entry,
        first: u64,
        second: u64,
        version: u64,
    ) -> bool {
        if found {
            return true;
        }
        let key = Key { entry, first, second };
        let before = self.versions().of_stashed(self.geometry().version_group(key), version);
        // Mostly the first round ends here.
        if self.flags_lack(key) && before.validate_with_stash() {
            return false;
        }
        self.contains_flagged::<WITH_VALUE>(entry, first, second, version)
    }

    /// Continues the first round of a lookup if the flags do not tell whether something of the item is stashed.
    // Not a part of `contains_slow`, which would then save more registers.
    #[cold]
    #[inline(never)]
    fn contains_flagged<const WITH_VALUE: bool>(
        self,
        entry: Entry,
        first: u64,
        second: u64,
        version: u64,
    ) -> bool {
        let key = Key { entry, first, second };
        let before = self.versions().of_stashed(self.geometry().version_group(key), version);
        if self.marks_lack(key) && before.validate_with_stash() {
            return false;
        }
        self.contains_inconclusive::<WITH_VALUE>(key.places()[0], version)
    }

    /// Continues the first round of a lookup if the marks do not tell whether something of the item is stashed, and
    /// does all other rounds. See [`Key`] for the argument.
    #[cold]
    #[inline(never)]
    fn contains_inconclusive<const WITH_VALUE: bool>(self, place: Place, version: u64) -> bool {
        let key = self.geometry().key_of(place);
        let before = self.versions().of_stashed(self.geometry().version_group(key), version);
        // Only an unchanged version shows that the bit of the stash was set when the round began: see `end_round`.
        if before.validate_with_stash() {
            if let Some(held) = self.end_round(key, WITH_VALUE, before) {
                return held;
            }
        }
        let look = |_| self.look_once(key, WITH_VALUE);
        (1..MAX_LOOKUP_ROUNDS).find_map(look).unwrap_or_else(|| {
            // Relaxed: a number that orders nothing.
            self.shared.inconclusive.fetch_add(1, Ordering::Relaxed);
            true
        })
    }

    /// Does one round of a lookup. `None`: it found nothing, and may have missed an entry that was moved meanwhile. It
    /// reads the stash after the words: see [`stash`](crate::table::stash).
    #[inline]
    fn look_once(self, key: Key, with_value: bool) -> Option<bool> {
        let version = self.versions().read(self.geometry().version_group(key));
        if self.in_buckets(key, with_value) {
            return Some(true);
        }
        self.end_round(key, with_value, version)
    }

    /// Ends a round that has found nothing in the words. Returns `None` for the reason given at `look_once`, and also
    /// if it found an entry in the stash whose insert later lookups might not see.
    ///
    /// It looks in the stash only if the version had the bit of the stash when the round began. A removal clears this
    /// bit before it clears the cell: a lookup that finds no bit comes after the removal, and must not find the cell.
    #[inline]
    fn end_round(self, key: Key, with_value: bool, version: ReadVersion<'_>) -> Option<bool> {
        let held = version.any_stashed() && self.stash_holds(key, with_value)?;
        let is_certain =
            if held { version.is_still_stashed() } else { version.validate_with_stash() };
        is_certain.then_some(held)
    }

    /// Loads the words of these buckets.
    #[inline(always)]
    pub(in crate::table) fn words_in<const N: usize>(
        self,
        buckets: [Bucket<B::Placing>; N],
    ) -> [F; N] {
        // SeqCst: each decision by these words has its place in the one order of all SeqCst accesses. As Acquire loads
        // they pair with the stores in `table`, and keep the second load of the version behind them.
        let words = self.buckets.words_at(buckets.map(Bucket::number));
        words.map(|word| F::from_bits(word.load(Ordering::SeqCst)))
    }

    /// Returns whether either bucket holds an entry that matches. Reads each bucket once, by the present extent.
    ///
    /// If the table begins its next level meanwhile, the words are read by the old level. This can give a false
    /// positive. It cannot miss an entry: wherever it could, a version was bumped.
    #[inline(always)]
    pub(in crate::table) fn in_buckets(self, key: Key, with_value: bool) -> bool {
        self.read(key, self.locate(key.places())).holds_item(with_value)
    }

    /// Reads the words of these buckets of an item.
    #[inline(always)]
    pub(in crate::table) fn read(
        self,
        key: Key,
        buckets: [Bucket<B::Placing>; 2],
    ) -> Read<F, B::Placing> {
        Read { key, buckets, words: self.words_in(buckets) }
    }

    /// Returns the buckets of an item and their words, read by an extent that is at least as new as every entry in the
    /// words. Use this for a decision by words that are not locked. The words of [`read`](Self::read) are enough
    /// if the decision is checked again under the locks, or is an answer that a filter may give.
    ///
    /// Repeats a read that a split has overtaken: at most twice for each level that passes.
    #[inline(always)]
    pub(in crate::table) fn read_valid(self, key: Key) -> Read<F, B::Placing> {
        let (buckets, words) = self.read_valid_from(key.places(), self.locate(key.places()));
        Read { key, buckets, words }
    }

    /// Reads as `read_valid` does, for some places whose buckets were `buckets` some time ago.
    #[inline(always)]
    pub(in crate::table) fn read_valid_from<const N: usize>(
        self,
        places: [Place; N],
        mut buckets: [Bucket<B::Placing>; N],
    ) -> ([Bucket<B::Placing>; N], [F; N]) {
        loop {
            let words = self.words_in(buckets);
            // Comes after the words, which are loaded with Acquire. The thread that stored an entry of the next level
            // had seen the extent of that level, so this load sees it, too.
            let placement = self.buckets.placement();
            if buckets.iter().all(|&bucket| bucket.is_of(placement)) {
                return (buckets, words);
            }
            let now = places.map(|place| Bucket::of(placement, place));
            if (0..N).all(|at| B::Placing::read_alike(now[at], buckets[at])) {
                return (buckets, words);
            }
            buckets = now;
        }
    }

    /// Counts the copies of an item: under both stripes, unless there is certainly no copy.
    pub(crate) fn count(self, key: Key) -> usize {
        self.turns.take_locked_unless(|| Some(self.count(key)));
        if self.look_once(key, PAIR) == Some(false) {
            return 0;
        }
        // Locks both stripes. A removal in one bucket that saw no copy in the other bucket comes before later inserts
        // into that other bucket. Under one stripe a count could see the removed copy and the new one together.
        let places = key.places();
        let (_locked, buckets) = self.lock(places, self.locate(places));
        let words = self.words_in(buckets);
        let copies = |at: usize| buckets[at].copies(words[at], places[at], None);
        let count = copies(0) + copies(1) + self.count_stashed(key);
        self.turns.acquire_if(|| count > 0);
        count
    }
}

/// The lookups of a maplet.
impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Returns the values of a key of a maplet, and few others. Every value that the key has during the whole call is
    /// among them. Allocates for values that are stashed.
    ///
    /// The values are all matches in both words, of one round in which nothing of the group was moved. A match does not
    /// end the round, since a kick may have moved another value meanwhile.
    #[inline(always)]
    pub(crate) fn get(self, key: Key) -> Candidates {
        self.turns.take(|| self.get(key).collect::<Vec<_>>());
        let found = self.find_values(key);
        self.turns.acquire_if(|| found.len() > 0);
        found
    }

    // Always inlined: the result is more than registers take.
    #[inline(always)]
    fn find_values(self, key: Key) -> Candidates {
        if let Some(found) = self.try_get(key) {
            return found;
        }
        // `found` is not the result of the call: such a result would be in memory even if the call is not made.
        let mut found = Candidates::new();
        self.find_values_slow(key.places()[0], &mut found);
        found
    }

    /// Continues `find_values` after its first round. See [`Key`] for the argument.
    #[cold]
    #[inline(never)]
    fn find_values_slow(self, place: Place, found: &mut Candidates) {
        self.get_slow(place, found, |in_words| in_words, Candidates::add);
        found.sort_added();
    }

    /// Returns the least of the results of `rank` for the values of a key of a maplet. Reads as `get` does, and
    /// allocates nothing. A part of the caller's step.
    #[inline]
    pub(in crate::table) fn find_least<T: Ord>(
        self,
        key: Key,
        rank: impl Fn(u32) -> T,
    ) -> Option<T> {
        let in_words = |values: Candidates| values.map(&rank).min();
        let add = |least: &mut Option<T>, value| {
            *least = least.take().into_iter().chain([rank(value)]).min();
        };
        if let Some(values) = self.try_get(key) {
            return in_words(values);
        }
        let mut least = None;
        self.get_slow(key.places()[0], &mut least, in_words, add);
        least
    }

    /// Does one round of `get`. `None`: something of the group was moved meanwhile, or something of the key may be
    /// stashed.
    // Always inlined: the result is more than registers take.
    #[inline(always)]
    fn try_get(self, key: Key) -> Option<Candidates> {
        let version = self.versions().read(self.geometry().version_group(key));
        let places = key.places();
        let read = self.read_valid_from(places, self.locate(places));
        let again = || self.read_valid_from(places, self.locate(places));
        let answer = |(buckets, words)| Read { key, buckets, words }.values().collect::<Vec<_>>();
        let (buckets, words) = self.turns.read_each(read, again, answer);
        self.is_complete(key, version).then(|| Read { key, buckets, words }.values())
    }

    /// Continues a read of the values of a key whose first round was inconclusive: does some more rounds, and then
    /// reads both words under their stripes. Stores in `found` the result of `in_words` for the values in the words,
    /// and then calls `add` with each value in the stash. See [`Key`] for the first argument.
    #[cold]
    #[inline(never)]
    fn get_slow<T>(
        self,
        place: Place,
        found: &mut T,
        in_words: impl Fn(Candidates) -> T,
        add: impl Fn(&mut T, u32),
    ) {
        let key = self.geometry().key_of(place);
        let seen =
            (1..MAX_LOOKUP_ROUNDS).find_map(|_| self.try_get_with_stash(key, &in_words, &add));
        *found = seen.unwrap_or_else(|| {
            let places = key.places();
            let (_locked, buckets) = self.lock(places, self.locate(places));
            let mut found = in_words(self.read(key, buckets).values());
            self.each_stashed(key, |bits| add(&mut found, self.value_in(bits.into())));
            found
        });
    }

    /// Returns whether the words of an item have all of its entries: the version is unchanged, and nothing of the item
    /// is stashed. Called after the buckets were read. `false`: something of the item may be stashed.
    #[inline(always)]
    pub(in crate::table) fn is_complete(self, key: Key, version: ReadVersion<'_>) -> bool {
        let Key { entry, first, second } = key;
        version.validate()
            || (self.flags_lack(key) || self.cells_lack(entry, first, second))
                && version.validate_with_stash()
    }

    /// Does one round, as `try_get`, and looks in the stash as well.
    fn try_get_with_stash<T>(
        self,
        key: Key,
        in_words: &impl Fn(Candidates) -> T,
        add: &impl Fn(&mut T, u32),
    ) -> Option<T> {
        let version = self.versions().read(self.geometry().version_group(key));
        let mut found = in_words(self.read_valid(key).values());
        // After the words: see `stash`.
        let is_complete = !version.any_stashed()
            || self.stash_marks_lack(key)
            || self.read_stash(key, |bits| add(&mut found, self.value_in(bits.into())));
        (is_complete && version.validate_with_stash()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::FixedBuckets;
    use crate::table::placing::entry::Pair;

    type Fp16x4 = Packed<16, 4>;

    /// If something of the group is moved in each round, the last resort reads both words and the stash.
    #[test]
    fn values_while_something_is_moved_in_every_round() {
        let sizing = Sizing { value_bits: 4, ..Sizing::of_table(Fp16x4::ID, 8, 8) };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        // Of nine values the least one is stashed.
        for value in (0..9).rev() {
            table.insert(table.key_of(Pair { hash: 7, value })).unwrap();
        }
        assert_eq!((table.occupied(), table.stashed_entries()), (8, 1));
        let key = table.key(7);
        let moved = |value| {
            table.versions().bump(table.geometry().version_group(key));
            value
        };
        assert_eq!(table.find_least(key, moved), Some(0));
    }
}
