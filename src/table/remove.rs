//! Removal: finds an entry without a lock and clears it under the stripe of its bucket.
//!
//! In a growing table the entries of an item differ in length, and an entry may be one of several items.
//! The longest is removed: an item for which a short one was stored has no other, but an item with a
//! longer one would be missed if its short relative stayed and was removed later.

use core::hint::select_unpredictable;

use super::address::Buckets;
use super::stripes::{Held, Locked};
use super::{MAX_OPTIMISTIC_ATTEMPTS, Table};
use crate::entry::Entry;
use crate::extent::Bucket;
use crate::geometry::{Key, Place};
use crate::layout::{Layout, Word};
use crate::reading::Reading;
use crate::sync::Ordering;

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
        let version = self.versions.read(self.geometry().class(key));
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
        let places = self.places(key);
        let buckets = self.locate(places);
        let words = self.words_in(buckets);
        let entries = places.map(|place| place.entry);
        let readings = buckets.map(|bucket| bucket.reading);
        let first = Reading::holder_of_longest(readings, words, entries)?;
        let place = Place::select(first, places);
        let other = Place::select(!first, places);
        let bucket = select_unpredictable(first, buckets[0], buckets[1]);
        let (locked, [bucket]) = self.lock([place], [bucket]);
        Some(self.remove_longest(&locked, bucket, [place, other], key))
    }

    /// Removes the longest entry of the item in `bucket`, that of the first place, whose stripe is locked.
    /// `false`: there is none, or there is a longer one in the other bucket.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn remove_longest<H: Held>(
        &self,
        locked: &Locked<'_, H>,
        bucket: Bucket<B::Reading>,
        [place, other]: [Place; 2],
        key: Key,
    ) -> bool {
        let reading = bucket.reading;
        if !B::GROWS {
            let slot = reading.slot(place.entry);
            let in_other = || self.longest_elsewhere(other).is_some();
            return self.remove_from(locked, bucket.number, slot, key, in_other);
        }
        let Some(slot) = reading.longest(self.locked_word(bucket.number), place.entry) else {
            return false;
        };
        let elsewhere = self.longest_elsewhere(other);
        if elsewhere.is_some_and(|extra_bits| extra_bits > reading.extra_bits(slot)) {
            return false;
        }
        self.remove_from(locked, bucket.number, slot, key, || elsewhere.is_some())
    }

    /// The length of the longest entry of an item in a bucket whose stripe is not locked: its extra bits.
    ///
    /// Read under the lock of the item's other bucket: so no kick takes one from there to here and
    /// past this look. A split can take one from the bucket to a new one, once in each level.
    #[inline]
    fn longest_elsewhere(&self, place: Place) -> Option<u32> {
        let [mut bucket] = self.locate([place]);
        loop {
            // Acquire: pairs with the stores of kicks, and with the clear of a split. Whoever reads that
            // has synchronized with the bumped versions, and sees the new extent below.
            let word = self.buckets.word(bucket.number).load(Ordering::Acquire);
            let longest = bucket.reading.longest(Word::<L>::from_bits(word), place.entry);
            let [now] = self.locate([place]);
            if now.number == bucket.number {
                return longest.map(|slot| bucket.reading.extra_bits(slot));
            }
            bucket = now;
        }
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
        let key = Key { entry, first, second };
        let places = self.places(key);
        let (locked, buckets) = self.lock(places, self.locate(places));
        let entries = places.map(|place| place.entry);
        let readings = buckets.map(|bucket| bucket.reading);
        let [a, b] = places;
        let first = || self.remove_longest(&locked, buckets[0], [a, b], key);
        let second = || self.remove_longest(&locked, buckets[1], [b, a], key);
        match Reading::holder_of_longest(readings, self.words_in(buckets), entries) {
            Some(true) => first(),
            Some(false) => second(),
            None => false,
        }
    }
}
