//! Removal: finds an entry without a lock and clears it under the stripe of its bucket. A maplet finds an entry in the
//! same way to replace its value. (`items/update.rs` finds it in another way, and changes it as here.)
//!
//! **Invariant:** a removal or a replacement changes the longest entry of the item, as it was read under the stripe of
//! its bucket.
//!
//! In a growing table the entries of an item differ in how many bits of the position they know, and one entry may match
//! several items. A removal takes the longest entry, the one that knows the most bits. A shorter one could be the only
//! entry of another item, which would then be missed. So each item keeps an entry of its own: if the longest entry is
//! that of another item, this item gets the entry of the removed one, which is not longer, and so matches both. Lengths
//! are counted from the lowest bit of the position, so they are the same in both buckets. Mostly an item has exactly
//! one entry: then no length is computed.

use super::seen::Seen;
use crate::backports::select_unpredictable;
use crate::error::InsertError;
use crate::layout::{Encoding, Only, Slot, both};
use crate::sync::Ordering;
use crate::table::buckets::stripes::Locked;
use crate::table::placing::entry::{Entry, ValueBits};
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Bucket, Found, Placing, Read};
use crate::table::shared::doubled::Counts;
use crate::table::{Buckets, MAX_OPTIMISTIC_ATTEMPTS, Table};

/// A change of an entry that was found under the stripe of its bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Free its slot.
    Remove,
    /// Give it this value. The entry stays where it is, and as long as it is: so a search that accepts any value finds
    /// it as before.
    Replace(u32),
    /// Give it the stamp of the present [generation](crate::table::whole::generations).
    Stamp,
}

/// How an optimistic change ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    Changed,
    /// No copy was seen.
    NotSeen,
    /// A copy was seen, and was gone or no longer the longest when the stripe was locked.
    Unsure,
    /// A copy was seen, and the stash may hold a longer one. Without `ASKS_STASH`: something of the group is stashed.
    MayBeStashed,
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Removes one copy of the item. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn remove(self, key: Key) -> bool {
        self.turns.take_locked_unless(|| (!self.contains_pair(key)).then_some(()));
        // A removal never fails: only a new value may need memory, in the stash.
        let removed = self.change(key, Change::Remove) == Ok(true);
        self.turns.acquire_if(|| removed);
        removed
    }

    #[inline(always)]
    fn change(self, key: Key, change: Change) -> Result<bool, InsertError> {
        // A hint: the question is asked again under the stripe. Models do not use it: both branches are right, and loom
        // would explore each old value of the version.
        const IN_MODEL: bool = cfg!(coucal_model);
        let is_changed = (IN_MODEL
            || !self.versions().any_stashed(self.geometry().version_group(key)))
            && self.change_at_once::<IN_MODEL>(key, change);
        if is_changed { Ok(true) } else { self.change_slow(key.places()[0], change) }
    }

    /// Makes a change by one look without a lock, and under one stripe. Returns `false` if it has changed nothing. If
    /// something of the group is stashed, it makes the change only with `ASKS_STASH`, and only if the stash certainly
    /// holds nothing of the item.
    #[inline(always)]
    fn change_at_once<const ASKS_STASH: bool>(self, key: Key, change: Change) -> bool {
        // Does not validate the version, which only the answer `false` needs: an item that was inserted is there.
        if B::GROWS {
            self.change_only::<ASKS_STASH>(key, change)
        } else {
            self.change_seen::<ASKS_STASH>(key, change) == Tried::Changed
        }
    }

    /// Changes the entry of the item in a growing table, if its buckets hold exactly one: so no length is compared.
    /// Returns `false` if they hold none or several, and where [`change_unchanged`](Self::change_unchanged) does.
    #[inline(always)]
    fn change_only<const ASKS_STASH: bool>(self, key: Key, change: Change) -> bool {
        let placement = self.buckets.placement();
        let read = self.read(key, both(key.places(), |place| Bucket::of(placement, place)));
        let change = |only| self.change_unchanged::<ASKS_STASH>(read, only, change);
        B::Placing::only(read).is_some_and(change)
    }

    /// Changes the entry of the item in the words that were read, if it is still the only one there. Returns `false`,
    /// and changes nothing, in these cases:
    ///
    /// * Another thread has changed something there.
    /// * The stash may hold an entry of the item. Without `ASKS_STASH`: something of the group is stashed.
    #[inline(always)]
    pub(super) fn change_unchanged<const ASKS_STASH: bool>(
        self,
        read: Read<F, B::Placing>,
        only: Only<F>,
        change: Change,
    ) -> bool {
        let Read { key, buckets, words } = read;
        let Key { entry, first, second } = key;
        let (places, placement) = (key.places(), buckets[0].placement);
        let Only { in_first, slot, without } = only;
        let [at, other] = both([in_first, !in_first], |in_first| {
            let [a, b] = both(buckets, Bucket::number);
            Bucket::at(placement, select_unpredictable(in_first, a, b))
        });
        let locked = self.lock_stripes([at.number()]);
        // If both words are unchanged, and are read in the same way, the entry is still the only one. As in `in_other`,
        // the other bucket is read under this lock. As in `read_valid_from`, the extent is read after the words.
        let now = self.words_in(buckets);
        let is_same =
            both(now, F::bits) == both(words, F::bits) && at.is_of(self.buckets.placement());
        if !is_same {
            return false;
        }
        // As in `change_seen`.
        let any_stashed = self.versions().any_stashed(self.geometry().version_group(key));
        if any_stashed && (!ASKS_STASH || self.may_be_in_cells(entry, first, second)) {
            return false;
        }
        let Some(changed) = self.changed_to(without, slot, change) else {
            return false;
        };
        let keeps_key = change == Change::Remove && {
            let word = select_unpredictable(in_first, now[1].bits(), now[0].bits());
            other.holds_key(F::from_bits(word), Place::select(!in_first, places))
        };
        self.store_changed(&locked, at.number(), changed, key, change, keeps_key);
        drop(locked);
        if ASKS_STASH && any_stashed && change == Change::Remove {
            self.unstash_at_times(key, changed);
        }
        true
    }

    /// Looks for a copy without a lock, and changes it under the stripe of its bucket. If something of the group is
    /// stashed, it changes the copy only with `ASKS_STASH`, and only if the stash certainly holds nothing of the item.
    #[inline(always)]
    fn change_seen<const ASKS_STASH: bool>(self, key: Key, change: Change) -> Tried {
        let places = key.places();
        let placement = self.buckets.placement();
        let buckets = both(places, |place| Bucket::of(placement, place));
        let looks = Seen::in_each(self.read(key, buckets));
        let Some(in_first) = Bucket::holder_of_longest(looks, places) else {
            return Tried::NotSeen;
        };
        let [place, other] = [Place::select(in_first, places), Place::select(!in_first, places)];
        let [a, b] = looks;
        let [seen, seen_in_other] = [Seen::select(in_first, a, b), Seen::select(in_first, b, a)];
        let (locked, [bucket]) = self.lock([place], [seen.bucket]);
        // A thread that stashes an entry of the item has done so before this lock, or waits for it. So an entry in the
        // stash is seen here. It may know more bits than the copy.
        let any_stashed = self.versions().any_stashed(self.geometry().version_group(key));
        if any_stashed && !(ASKS_STASH && self.stash_lacks(key)) {
            return Tried::MayBeStashed;
        }
        let seen = [seen, seen_in_other];
        let Some(left) = self.change_longest(&locked, bucket, [place, other], seen, key, change)
        else {
            return Tried::Unsure;
        };
        drop(locked);
        if ASKS_STASH && any_stashed && change == Change::Remove {
            self.unstash_at_times(key, left);
        }
        Tried::Changed
    }

    /// Changes the longest entry of the item in `bucket`, the bucket of `place`, whose stripe is locked. Returns the
    /// new word, or `None` if there is no entry, or if the other bucket holds a longer one. `seen` and `seen_in_other`
    /// save the search in words that are still the same.
    #[inline(always)]
    fn change_longest<G>(
        self,
        locked: &Locked<'_, G>,
        bucket: Bucket<B::Placing>,
        [place, other]: [Place; 2],
        [seen, seen_in_other]: [Seen<F, B::Placing>; 2],
        key: Key,
        change: Change,
    ) -> Option<F> {
        let word = self.locked_word(bucket.number());
        let longest = if B::GROWS {
            bucket.longest_again(word, place, seen)
        } else {
            // All entries have the same length. `changed` below checks whether this one is there.
            bucket.slot::<F>(place).map(|slot| Found { slot, known: 0 })
        };
        let longest = longest?;
        let changed = self.changed(word, longest.slot, change)?;
        let (longest_in_other, may_be_missed) = self.in_other(other, seen_in_other, change);
        if longest_in_other.is_some_and(|other| other.known > longest.known) {
            return None;
        }
        self.store_changed(locked, bucket.number(), changed, key, change, may_be_missed);
        Some(changed)
    }

    /// Stores `changed`, the word of `bucket` after the change of an entry of the item. The stripe of the bucket is
    /// locked. [`in_other`](Self::in_other) says whether a lookup could miss an entry in the other bucket
    /// (`may_be_missed`).
    #[inline]
    fn store_changed<G>(
        self,
        locked: &Locked<'_, G>,
        bucket: usize,
        changed: F,
        key: Key,
        change: Change,
        may_be_missed: bool,
    ) {
        // A lookup may have read the other bucket before the copy was put there, and may read this bucket after this
        // store. Without the bump it would miss an item that was never absent. A lookup that begins with the bumped
        // version comes after this thread's load of the other bucket's word, so it reads the word of that load or a
        // later one (coherence).
        if may_be_missed {
            self.versions().bump(self.geometry().version_group(key));
        }
        // SeqCst: the removal, or the replacement, takes effect here. Pairs with the loads of lookups.
        self.store_word(locked, bucket, changed, Ordering::SeqCst);
        if change == Change::Remove {
            locked.vacate(bucket, 1);
        }
    }

    /// Reads the bucket of `place`, whose stripe is not locked. Returns
    ///
    /// * the longest entry of the item there;
    /// * whether a lookup that reads this bucket too early could miss an entry there: an entry of the item, or for a
    ///   removal an entry of the key with another value, since `contains` finds either.
    ///
    /// Called under the stripe of the item's other bucket: so no kick moves an entry from one of the two buckets to the
    /// other during this read. A split can move an entry from this bucket to a new one: then the bucket is read again.
    // Always inlined: `seen` would pass through memory.
    #[inline(always)]
    fn in_other(
        self,
        place: Place,
        seen: Seen<F, B::Placing>,
        change: Change,
    ) -> (Option<Found>, bool) {
        let ([bucket], [word]) = self.read_valid_from([place], [seen.bucket]);
        let longest = bucket.longest_again(word, place, seen);
        let keeps_key = change == Change::Remove && bucket.holds_key(word, place);
        (longest, longest.is_some() || keeps_key)
    }

    /// Continues `change`. If something of the group is stashed, first makes an attempt that asks whether anything of
    /// the item is: mostly nothing is, and this attempt is enough. See [`Key`] for the argument.
    #[cold]
    #[inline(never)]
    pub(super) fn change_slow(self, place: Place, change: Change) -> Result<bool, InsertError> {
        let key = self.geometry().key_of(place);
        let is_changed = !cfg!(coucal_model)
            && self.versions().any_stashed(self.geometry().version_group(key))
            && self.change_at_once::<true>(key, change);
        if is_changed { Ok(true) } else { self.change_or_make_room(place, change) }
    }

    /// Makes a change in any case. If the stash is too full for a new value, this function makes room as an insert
    /// does, one run of splits after the other.
    #[cold]
    #[inline(never)]
    fn change_or_make_room(self, place: Place, change: Change) -> Result<bool, InsertError> {
        loop {
            match self.try_change_slow(place, change) {
                Err(InsertError::Full) if self.is_stash_full() => {
                    let sizes = self.make_room(self.present());
                    if !sizes.map_err(|_| InsertError::NoMemoryToStore)? {
                        return Err(InsertError::Full);
                    }
                }
                changed => return changed,
            }
        }
    }

    /// Makes a change that `change` could not make at once. An attempt fails only if another writer has succeeded
    /// meanwhile. After [`MAX_OPTIMISTIC_ATTEMPTS`] attempts, or as soon as the stash may hold an entry of the item,
    /// this function locks both stripes, and then no other writer can make it fail. `Full`: the stash has no room for
    /// a new value beside the other copies of the entry.
    fn try_change_slow(self, place: Place, change: Change) -> Result<bool, InsertError> {
        let key = self.geometry().key_of(place);
        let group = self.geometry().version_group(key);
        for _ in 0..MAX_OPTIMISTIC_ATTEMPTS {
            let version = self.versions().read(group);
            match self.change_seen::<true>(key, change) {
                Tried::Changed => return Ok(true),
                Tried::MayBeStashed => break,
                // Words before cells, as in a lookup.
                Tried::NotSeen if version.any_stashed() && !self.stash_lacks(key) => break,
                Tried::NotSeen if version.validate_with_stash() => return Ok(false),
                // Another writer has overtaken this attempt.
                Tried::NotSeen | Tried::Unsure => {}
            }
        }
        let places = key.places();
        let (locked, buckets) = self.lock_to_move(places, self.locate(places));
        let seen = Seen::in_each(self.read(key, buckets));
        let stashed = self.longest_stashed(key).filter(|(_, found)| {
            seen.iter().all(|look| look.known().is_none_or(|known| known <= found.entry.known))
        });
        if let Some((mut writer, found)) = stashed {
            match change {
                Change::Remove => self.take_from_stash(key, &mut writer, found, 1),
                Change::Replace(_) | Change::Stamp => {
                    let bits = self.replaced(found.entry.slot.bits(), change) as u32;
                    // No removal takes the entries of an expiring filter back: a new stamp does.
                    let is_back = change == Change::Stamp
                        && self.put_in_bucket(&locked, key, &mut writer, found, bits);
                    if !is_back {
                        self.replace_in_stash(key, (writer, found), bits)?;
                    }
                }
            }
            return Ok(true);
        }
        let changed = Bucket::holder_of_longest(seen, places).and_then(|in_first| {
            let (at, other) = if in_first { (0, 1) } else { (1, 0) };
            let (places, seen) = ([places[at], places[other]], [seen[at], seen[other]]);
            self.change_longest(&locked, buckets[at], places, seen, key, change)
        });
        let removed = changed.filter(|_| change == Change::Remove);
        let has_own_back = removed.is_some() && self.unstash_own(&locked, key);
        drop(locked);
        if let Some(left) = removed.filter(|_| !has_own_back) {
            self.unstash_at_times(key, left);
        }
        Ok(changed.is_some())
    }

    /// Removes up to `copies` copies that a merge has stored for this entry: first from the stash, then from slots
    /// whose entries know at least `least` bits of their positions. Returns the number of removed copies, and the
    /// number of slots and entries of the stash that they took.
    pub(in crate::table) fn take_back(self, place: Place, copies: u64, least: u32) -> Counts {
        let key = self.geometry().key_of(place);
        let places = key.places();
        let (locked, buckets) = self.lock(places, self.locate(places));
        let mut taken = self.take_exact_from_stash(key, copies as usize);
        for known in (least..=place.entry.known()).rev() {
            let entry = Entry::knowing(place.entry.bits().into(), known);
            for (Place { position, .. }, bucket) in places.into_iter().zip(buckets) {
                let slot = bucket.slot::<F>(Place { position, entry });
                while taken.copies < copies {
                    let number = bucket.number();
                    let without = slot.and_then(|slot| self.locked_word(number).without(slot));
                    let Some(without) = without else {
                        break;
                    };
                    self.store_changed(&locked, number, without, key, Change::Remove, true);
                    taken += Counts::of_slots(1);
                }
            }
        }
        taken
    }

    /// Returns `word` with the change made to one slot that holds `slot`; `None` if no slot does.
    #[inline]
    fn changed(self, word: F, slot: Slot, change: Change) -> Option<F> {
        self.changed_to(word.without(slot)?, slot, change)
    }

    /// Returns the word after the change of a slot that held `slot`; `without` is the word without it.
    #[inline]
    fn changed_to(self, without: F, slot: Slot, change: Change) -> Option<F> {
        match change {
            Change::Remove => Some(without),
            // One word, so a lookup sees the old value or the new one.
            _ => without.with(Slot::new(self.replaced(slot.bits(), change))),
        }
    }

    /// Returns the bits of a slot, or of a cell of the stash, with the value that the change gives them. Called while
    /// the stripe is held.
    #[inline]
    fn replaced(self, bits: u64, change: Change) -> u64 {
        let value = match change {
            Change::Remove => return bits,
            Change::Replace(value) => value,
            Change::Stamp => self.clock().stamp(),
        };
        self.with_value_in(bits, value)
    }
}

/// The changes of values in a maplet.
impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Replaces the value of one copy of the item of a maplet, in one store. Returns `false` if there is no copy. After
    /// an error nothing has changed.
    #[inline]
    pub(crate) fn replace(self, key: Key, value: u32) -> Result<bool, InsertError> {
        self.replace_in_turn(key, || self.change(key, Change::Replace(value)))
    }

    /// Calls `replace`, the replacement of the value of an item. In a user's model this is one step, which changes
    /// nothing if the item is not there.
    #[inline(always)]
    pub(super) fn replace_in_turn(
        self,
        key: Key,
        replace: impl FnOnce() -> Result<bool, InsertError>,
    ) -> Result<bool, InsertError> {
        let unless = || (!self.contains_pair(key)).then_some(());
        let storing = self.turns.take_to_store_unless(unless);
        let replaced = replace();
        self.turns.acquire_if(|| replaced == Ok(true));
        storing.release_if(|| replaced == Ok(true));
        replaced
    }

    /// Gives one copy of the item the stamp of the [generation](crate::table::whole::generations) that is present when
    /// the stripe is held. A stashed entry goes back to a bucket if there is room. The rest is as in `replace`.
    #[inline]
    pub(in crate::table) fn restamp(self, key: Key) -> Result<bool, InsertError> {
        self.change(key, Change::Stamp)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::GrowingBuckets;
    use crate::table::placing::entry::{MOST_KNOWN, Pair};
    use crate::table::placing::geometry;
    use crate::table::{Stashed, prefix};

    type Fp16x4 = Packed<16, 4>;

    /// The stash is so full that a replacement needs hundreds of runs of splits. It makes them on a short call stack.
    #[test]
    fn a_full_stash_makes_room_without_recursion() {
        const BUCKETS: u64 = 1 << 14;
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, BUCKETS, 1 << 20) };
        let table = Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = move |hash: u64, value| table.key_of(Pair { hash: geometry::mix(hash), value });
        // As from a forged snapshot: a stash with as many entries as the table has slots.
        let stashed = |hash, copies| {
            let Place { position, entry } = key(hash, 0).even();
            let entry = Entry::knowing(entry.bits().into(), entry.known().min(MOST_KNOWN));
            Stashed { place: Place { position: prefix(position, entry.known()), entry }, copies }
        };
        let slots = table.slots() as u64;
        let mut entries: Vec<_> = (1..slots).map(|hash| stashed(hash, 1).words()).collect();
        entries.push(stashed(0, 2).words());
        table.restore_stash(&entries).unwrap();
        assert!(table.is_stash_full());
        let thread = thread::Builder::new().stack_size(256 << 10);
        let replace = move || table.replace(key(0, 0), 1);
        assert_eq!(thread.spawn(replace).unwrap().join().unwrap(), Ok(true));
        assert!(!table.is_stash_full());
        assert!(table.present() > BUCKETS as usize + 1000, "{}", table.present());
        assert!(table.contains_pair(key(0, 0)) && table.contains_pair(key(0, 1)));
    }

    /// The item is in the new bucket of a split. The word of the new bucket is equal to the word of the old bucket,
    /// which holds a relative that stays.
    #[test]
    fn an_equal_word_of_another_bucket_is_searched_again() {
        const FIRST: u64 = 32;
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(FIRST as usize, 1 << 10).unwrap();
        let store = |place: Place| {
            let (locked, [bucket]) = table.lock([place], table.locate([place]));
            assert!(table.store_in(&locked, bucket, place));
        };
        // The item goes from any bucket except the last one, which is not split.
        let goes = |key: &Key| key.first & FIRST != 0 && key.first % FIRST != FIRST - 1;
        let key = (0..1000).map(|hash| table.key(hash)).find(goes).expect("a hash");
        let [place, _] = key.places();
        store(Place { position: place.position ^ FIRST, ..place });
        let [seen, _] = Seen::in_each(table.read(key, table.locate(key.places())));
        assert!(seen.known().is_none() && seen.word.in_use() == 1);
        table.grow_to(2 * FIRST - 1).unwrap();
        store(place);
        assert_eq!(table.word_now(table.locate([place])[0].number()).bits(), seen.word.bits());
        let (found, may_be_missed) = table.in_other(place, seen, Change::Remove);
        assert!(found.is_some() && may_be_missed);
    }
}
