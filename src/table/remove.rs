//! Removal: finds an entry without a lock and clears it under the stripe of its bucket. In a maplet, an
//! entry is also found in this way to replace its value.
//!
//! In a growing table the entries of an item differ in how many bits of the position are known, and an entry may
//! be one of several items. The longest is removed, of which the most is known: an item for which a short one was
//! stored has no other, but an item with a longer one would be missed if its short relative stayed and was removed
//! later. Lengths are counted from the lowest bit of the position, and so are the same in both buckets.

use core::hint::select_unpredictable;

use super::buckets::{Bucket, Longest, Look, Reading};
use super::geometry::{Key, Place};
use super::stash::InStash;
use super::stripes::{Held, Locked};
use super::{Buckets, MAX_OPTIMISTIC_ATTEMPTS, Table};
use crate::entry::{Entry, Slot, ValueBits};
use crate::layout::{Format, Word};
use crate::sync::Ordering;

/// What becomes of an entry that was found under the stripe of its bucket.
trait Change: Copy {
    /// Whether its slot is free afterwards.
    const REMOVES: bool;

    /// The word with what becomes of one slot that holds this; `None` if no slot does.
    fn applied<F: Format>(self, word: Word<F>, slot: Slot) -> Option<Word<F>>;

    /// What becomes of it in the stash, while both stripes of the item are held.
    fn apply_in_stash<F: Format, B: Buckets>(
        self,
        table: Table<'_, F, B>,
        key: Key,
        stashed: InStash<'_>,
    );

    /// Whether this word, that of the item's other bucket, holds what lookups find in place of the entry, in
    /// addition to other entries of the item.
    fn keeps_key<F: Format, R: Reading>(reading: R, word: Word<F>, item: Place) -> bool;
}

/// The slot of an entry becomes free.
#[derive(Clone, Copy)]
struct Removal;

impl Change for Removal {
    const REMOVES: bool = true;

    #[inline]
    fn applied<F: Format>(self, word: Word<F>, slot: Slot) -> Option<Word<F>> {
        word.without(slot)
    }

    fn apply_in_stash<F: Format, B: Buckets>(
        self,
        table: Table<'_, F, B>,
        key: Key,
        stashed: InStash<'_>,
    ) {
        table.take_from_stash(key, stashed);
    }

    /// An entry with another value: `contains` finds either.
    #[inline]
    fn keeps_key<F: Format, R: Reading>(reading: R, word: Word<F>, item: Place) -> bool {
        reading.holds_key(word, item)
    }
}

/// An entry gets another value. It stays where it is and as long as it is: so whatever found it, whatever
/// its value is, goes on to find it.
#[derive(Clone, Copy)]
struct Replacement {
    value_bits: u32,
    value: u32,
}

impl Change for Replacement {
    const REMOVES: bool = false;

    /// One word, so a lookup sees the old value or the new one.
    #[inline]
    fn applied<F: Format>(self, word: Word<F>, slot: Slot) -> Option<Word<F>> {
        let shift = F::BITS - self.value_bits;
        let kept = slot.bits() & ((1 << shift) - 1);
        word.without(slot)?.with(Slot::new(kept | u64::from(self.value) << shift))
    }

    fn apply_in_stash<F: Format, B: Buckets>(
        self,
        table: Table<'_, F, B>,
        key: Key,
        stashed: InStash<'_>,
    ) {
        let shift = F::BITS - self.value_bits;
        let bits = stashed.bits() & ((1 << shift) - 1) | self.value << shift;
        table.replace_in_stash(key, stashed, bits);
    }

    /// Nothing: with its other value the entry is found as before by whoever asks for the key alone.
    #[inline]
    fn keeps_key<F: Format, R: Reading>(_: R, _: Word<F>, _: Place) -> bool {
        false
    }
}

/// What a bucket holds of an item beside the bucket in which an entry is changed.
struct InOther {
    /// One of which the most is known.
    longest: Option<Longest>,
    /// See [`Change::keeps_key`].
    keeps_key: bool,
}

impl InOther {
    /// Whether a lookup that reads the other bucket too early could miss what is there: an entry of the item,
    /// or what is found in its place.
    #[inline]
    fn may_be_missed(&self) -> bool {
        self.longest.is_some() || self.keeps_key
    }
}

/// How an attempt to change a copy ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Changed,
    Absent,
    /// A copy was seen, and was gone when its stripe was locked; or nothing was seen, and the
    /// version changed meanwhile.
    Overtaken,
}

impl<F: Format, B: Buckets> Table<'_, F, B> {
    /// One copy less of the item. `false`: there is none.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(crate) fn remove(self, key: Key) -> bool {
        self.change(key, Removal)
    }

    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn change<C: Change>(self, key: Key, change: C) -> bool {
        // Without the version, which only the answer `false` needs: an item that was inserted is there.
        if self.change_seen(key, change) == Some(true) {
            return true;
        }
        let Key { entry, first, second } = key;
        self.change_slow(entry, first, second, change)
    }

    fn try_change<C: Change>(self, key: Key, change: C) -> Outcome {
        let version = self.versions.read(self.geometry().version_group(key));
        match self.change_seen(key, change) {
            Some(true) => Outcome::Changed,
            None if version.validate() => Outcome::Absent,
            Some(false) | None => Outcome::Overtaken,
        }
    }

    /// Looks for a copy without a lock, and changes it under the stripe of its bucket. `None`: no
    /// copy was seen. `Some(false)`: one was, and was gone when the stripe was locked.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn change_seen<C: Change>(self, key: Key, change: C) -> Option<bool> {
        let places = key.places();
        let buckets = self.locate(places);
        let words = self.words_in(buckets);
        let [a, b] = Look::at_each(buckets, words, places);
        let first = Reading::holder_of_longest([a, b], places)?;
        let place = Place::select(first, places);
        let other = Place::select(!first, places);
        let bucket = select_unpredictable(first, buckets[0], buckets[1]);
        let seen = select_unpredictable(first, [a, b], [b, a]);
        let (locked, [bucket]) = self.lock([place], [bucket]);
        // What is stashed of the item is there since before the lock, or waits for it. It may know more.
        if self.versions.any_stashed(self.geometry().version_group(key)) {
            return Some(false);
        }
        Some(self.change_longest(&locked, bucket, [place, other], seen, key, change))
    }

    /// Changes the longest entry of the item in `bucket`, that of the first place, whose stripe is locked.
    /// `false`: there is none, or there is a longer one in the other bucket. What was seen of both spares the search
    /// in words that are still the same.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn change_longest<H: Held, C: Change>(
        self,
        locked: &Locked<'_, H>,
        bucket: Bucket<B::Reading>,
        [place, other]: [Place; 2],
        [seen, seen_in_other]: [Look<F, B::Reading>; 2],
        key: Key,
        change: C,
    ) -> bool {
        let reading = bucket.reading;
        if !B::GROWS {
            let Some(slot) = reading.slot::<F>(place) else {
                return false;
            };
            let in_other = || self.in_other::<C>(other, seen_in_other).may_be_missed();
            return self.change_in(locked, bucket.number, slot, key, change, in_other);
        }
        let word = self.locked_word(bucket.number);
        let Some(longest) = reading.longest_again(word, place, seen) else {
            return false;
        };
        let in_other = self.in_other::<C>(other, seen_in_other);
        if in_other.longest.is_some_and(|other| other.known > longest.known) {
            return false;
        }
        let in_other = || in_other.may_be_missed();
        self.change_in(locked, bucket.number, longest.slot, key, change, in_other)
    }

    /// Takes what a slot holds out of `bucket`, whose stripe is locked, or replaces it: what `change`
    /// says. `in_other`: whether the item's other bucket holds an entry of the item, too. `false`: the
    /// bucket does not hold it.
    #[inline]
    fn change_in<H: Held, C: Change>(
        self,
        locked: &Locked<'_, H>,
        bucket: usize,
        slot: Slot,
        key: Key,
        change: C,
        in_other: impl FnOnce() -> bool,
    ) -> bool {
        let Some(changed) = change.applied(self.locked_word(bucket), slot) else {
            return false;
        };
        // A copy in the other bucket may be younger than a lookup's read of that bucket, and this
        // clear older than its read of this one: it would miss an item that never was absent. A
        // lookup that begins with the bumped version comes after the load of the other bucket's word,
        // and so reads what that load read or something later (coherence).
        if in_other() {
            self.versions.bump(self.geometry().version_group(key));
        }
        // SeqCst: the removal, or the replacement, takes effect here. Pairs with the loads of lookups.
        self.store_word(locked, bucket, changed, Ordering::SeqCst);
        if C::REMOVES {
            locked.vacate(bucket);
        }
        true
    }

    /// What a bucket holds of an item whose stripe is not locked.
    ///
    /// Read under the lock of the item's other bucket: so no kick takes an entry from there to here and
    /// past this look. A split can take one from the bucket to a new one: then it is read again.
    #[inline]
    fn in_other<C: Change>(self, place: Place, seen: Look<F, B::Reading>) -> InOther {
        let ([Bucket { reading, .. }], [word]) = self.read_valid([place]);
        let longest = reading.longest_again(word, place, seen);
        InOther { longest, keeps_key: C::keeps_key(reading, word, place) }
    }

    /// Each attempt that fails was overtaken by another writer's success. After
    /// [`MAX_OPTIMISTIC_ATTEMPTS`] of them it locks both stripes, and then nobody overtakes it.
    /// See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn change_slow<C: Change>(self, entry: Entry, first: usize, second: usize, change: C) -> bool {
        let key = Key { entry, first, second };
        let group = self.geometry().version_group(key);
        for _ in 0..MAX_OPTIMISTIC_ATTEMPTS {
            if self.versions.any_stashed(group) {
                break;
            }
            match self.try_change(key, change) {
                Outcome::Changed => return true,
                Outcome::Absent => return false,
                Outcome::Overtaken => {}
            }
        }
        let places = key.places();
        let (locked, buckets) = self.lock(places, self.locate(places));
        let [a, b] = places;
        let seen = Look::at_each(buckets, self.words_in(buckets), places);
        if let Some(stashed) = self.longest_stashed(key)
            && seen.iter().all(|look| look.known().is_none_or(|known| known <= stashed.known()))
        {
            change.apply_in_stash(self, key, stashed);
            return true;
        }
        let in_reverse = [seen[1], seen[0]];
        let changed = match Reading::holder_of_longest(seen, places) {
            Some(true) => self.change_longest(&locked, buckets[0], [a, b], seen, key, change),
            Some(false) => {
                self.change_longest(&locked, buckets[1], [b, a], in_reverse, key, change)
            }
            None => false,
        };
        drop(locked);
        if changed && C::REMOVES {
            self.unstash_one(group);
        }
        changed
    }
}

/// In a maplet.
impl<F: Format, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Another value for one copy of the item of a maplet, in one store. `false`: there is none.
    #[inline]
    pub(crate) fn replace(self, key: Key, value: u32) -> bool {
        self.change(key, Replacement { value_bits: self.value_bits(), value })
    }
}
