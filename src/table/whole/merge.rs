//! Merging: inserts all entries of another table into this one.
//!
//! **Invariant:** a merge that fails removes the entries that it has stored, and no others.
//!
//! If both tables grow, the other one may have another size. Then an entry may know fewer bits of its position than the
//! buckets here tell: it is doubled, as a split would have done.

use super::image::Image;
use crate::error::{Error, InsertError};
use crate::layout::{Encoding, both};
use crate::sizing::{self, MAX_DOUBLED};
use crate::sync::StepsToStore;
use crate::table::items::insert::is_known_by;
use crate::table::placing::entry::{Entry, MOST_KNOWN};
use crate::table::placing::geometry::Place;
use crate::table::placing::rates::power_of_half;
use crate::table::placing::{Bucket, Placing};
use crate::table::shared::doubled::{Counted, Counts};
use crate::table::{Attempt, Buckets, Stashed, Table};

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Inserts all entries of the image, or none. A table of fixed size has as many buckets as the table of the image.
    /// Each copy is an insert of its own, and each copy that is taken back is a removal.
    pub(crate) fn merge(self, image: &Image, max_capacity: u64) -> Result<(), Error> {
        let storing = self.turns.take_to_store();
        // Doubled entries are counted at the end: until then no snapshot is taken, and no value is removed.
        let _removing = self.lock_removing();
        if self.takes_too_much(image, max_capacity) {
            return Err(Error::OtherTooSmall);
        }
        let weighs_more = self.keep_promised_rate(image, max_capacity)?;
        let (entries, doubled) = (image.entries(), image.doubled().entries);
        let items = self.entries() + entries.saturating_sub(doubled) as usize;
        self.grow_for(items).map_err(|_| InsertError::NoMemoryToStore)?;
        // Each slot that this merge takes knows at least `least` bits of its position, or all that its entry knows:
        // `known_bits` does not shrink meanwhile, and an entry that comes back from the stash knows at most
        // `MOST_KNOWN`.
        let least = self.buckets.known_bits().min(MOST_KNOWN);
        self.name_doubled(&image.doubled_of)?;
        let (mut added, mut steps) = (0, self.turns.steps_to_store(storing));
        for (at, entry) in self.entries_of(image).enumerate() {
            match self.insert_parts(entry, least, &mut steps) {
                Ok(entries) => added += entries,
                Err(error) => {
                    for entry in self.entries_of(image).take(at) {
                        self.take_parts_back(entry, least);
                    }
                    return Err(error.into());
                }
            }
        }
        // The image does not tell which of its entries are doubled. So the share of the doubled entries that counts as
        // added is the share of all entries that were added.
        let share = |doubled: u64| {
            (u128::from(doubled) * u128::from(added.min(entries))) / u128::from(entries.max(1))
        };
        for &(value, Counts { copies, entries }) in &image.doubled_of {
            let entries = share(entries) as u64;
            self.shared.doubled.lock().add(value, Counts { copies, entries });
        }
        // Not less: the entries may be removed again, and would then leave a weight below that of inserts.
        self.add_merged_weight(weighs_more.max(0.0));
        Ok(())
    }

    /// Returns the weight of the entries of the image, minus the weight that as many inserts would add. Returns an
    /// error if the full table would have a higher false-positive rate than the builder was given.
    fn keep_promised_rate(self, image: &Image, max_capacity: u64) -> Result<f64, Error> {
        let sizing = self.sizing();
        let present = self.entries() as u64;
        let merged = present + image.entries().saturating_sub(image.doubled().entries);
        let (mut weighs_more, mut items) = (0.0, merged);
        if B::GROWS {
            let known = self.entries_of(image).map(|entry| entry.place.entry.known());
            let weight: f64 = known.map(power_of_half).sum();
            weighs_more = weight - (sizing.weight_at(merged) - sizing.weight_at(present));
            let most = sizing::items_of_rate(F::ID.properties(), self.max_buckets(), max_capacity);
            items = most.max(merged);
        }
        let reached = sizing.false_positive_rate_with(items, self.merged_weight() + weighs_more);
        if reached > self.promised_rate {
            return Err(Error::MergedRateTooHigh { one_in: sizing::one_in(reached) });
        }
        Ok(weighs_more)
    }

    /// Returns whether the entries of the image know so little that they would take too many slots at the maximum size
    /// of this table, since each level doubles them again. This is the case
    ///
    /// * in a table that has a maximum, if it would then have no room for `max_capacity` items;
    /// * in a table that grows without an end, if it would then not grow any more.
    fn takes_too_much(self, image: &Image, max_capacity: u64) -> bool {
        self.buckets.growing().is_some_and(|growing| {
            let known = self.entries_of(image).map(|entry| entry.place.entry.known());
            let slots = self.max_buckets() as f64 * F::SLOTS as f64;
            let most = if sizing::is_endless(F::ID.properties(), self.max_buckets()) {
                slots * growing.target_load() / (MAX_DOUBLED / 2) as f64
            } else {
                (slots * growing.full_load() - max_capacity as f64).max(0.0)
            };
            self.doubled_at_maximum(known, image.doubled().entries) > most
        })
    }

    /// Allocates memory to count doubled entries with these values. The values are in ascending order.
    fn name_doubled(self, values: &[Counted]) -> Result<(), InsertError> {
        let mut splitting = self.shared.doubled.lock();
        let reserved = splitting.reserve(values.len(), self.value_bits());
        reserved.map_err(|_| InsertError::NoMemoryToStore)?;
        splitting.name(values);
        Ok(())
    }

    /// Inserts all copies of an entry, or none. Doubles the entry until its parts know as many bits as their buckets
    /// tell. Returns how many slots and entries of the stash they take that are not counted as doubled: 0 if each part
    /// is a further copy of an entry in the stash.
    fn insert_parts(
        self,
        entry: Stashed,
        least: u32,
        steps: &mut StepsToStore<'_>,
    ) -> Result<u64, InsertError> {
        if self.is_known(entry.place) {
            if let Some(added) = self.insert_copies(entry, least, steps)? {
                return Ok(added);
            }
        }
        let value = self.value_in(entry.place.entry.bits().into());
        self.name_doubled(&[(value, Counts::default())])?;
        let [low, high] = halves(entry);
        let of_low = self.insert_parts(low, least, steps)?;
        let of_high = self.insert_parts(high, least, steps).inspect_err(|_| {
            self.take_parts_back(low, least);
        })?;
        let doubled = Counts { copies: entry.copies as u64, entries: of_low.min(of_high) };
        self.shared.doubled.lock().add(value, doubled);
        Ok(of_low.max(of_high))
    }

    /// Inserts all copies of an entry, or none: the first as every insert does, and all others into the stash. Returns
    /// how many slots and entries of the stash they take. `Ok(None)`: the entry knows fewer bits of its position than
    /// its buckets tell.
    fn insert_copies(
        self,
        entry: Stashed,
        least: u32,
        steps: &mut StepsToStore<'_>,
    ) -> Result<Option<u64>, InsertError> {
        let key = self.geometry().key_of(entry.place);
        let storing = steps.next();
        let stored = self.insert_entry(key)?;
        storing.release_if(|| stored != Attempt::KnowsTooLittle);
        let mut added = match stored {
            Attempt::KnowsTooLittle => return Ok(None),
            Attempt::Counted => 0,
            _ => 1,
        };
        if entry.copies > 1 {
            let is_new = self.stash_copies(key, entry.copies - 1).inspect_err(|_| {
                self.take_parts_back(Stashed { copies: 1, ..entry }, least);
            })?;
            added += u64::from(is_new);
        }
        Ok(Some(added))
    }

    /// Removes the copies of an entry that were stored. Returns how many of them were not counted as doubled, and how
    /// many slots and entries of the stash they took. A copy that is not there as it was stored has been doubled, by
    /// this merge or by a split: then both parts are removed.
    ///
    /// It may remove an equal entry of the table instead of a copy. If other threads have removed some copies, it
    /// removes fewer.
    pub(super) fn take_parts_back(self, entry: Stashed, least: u32) -> Counts {
        let Stashed { place, copies } = entry;
        self.turns.take_locked();
        let mut taken = self.take_back(place, copies as u64, least.min(place.entry.known()));
        let rest = copies - taken.copies as usize;
        if rest == 0 || self.is_known(place) {
            return taken;
        }
        let parts = halves(Stashed { copies: rest, ..entry });
        let [low, high] = both(parts, |part| self.take_parts_back(part, least));
        let value = self.value_in(place.entry.bits().into());
        // The number of doubled copies is that of the part with more copies left: another thread may have removed some
        // of the other part.
        let copies = low.copies.max(high.copies);
        self.shared.doubled.lock().subtract(value, Counts { copies, ..low.min(high) });
        taken += low.max(high);
        taken
    }

    /// Returns whether this entry knows as many bits as its buckets tell, and as all entries know.
    pub(super) fn is_known(self, place: Place) -> bool {
        let places = self.geometry().key_of(place).places();
        let common = self.buckets.common_bits();
        place.entry.known() >= common && is_known_by::<F, _>(places, self.locate(places))
    }

    /// Returns the entries of the image, in the order of its buckets, and then those of its stash.
    pub(super) fn entries_of(self, image: &Image) -> impl Iterator<Item = Stashed> {
        let (_, placement) = B::Placing::placed::<F>(image.sizes, self.buckets.values());
        let in_buckets = image.words().enumerate().flat_map(move |(number, word)| {
            let bucket = Bucket::at(placement, number);
            let slots = F::from_bits(word).slots_in_use();
            slots.map(move |slot| Stashed { place: bucket.place::<F>(slot), copies: 1 })
        });
        in_buckets.chain(image.stashed.iter().copied().map(Stashed::of_words))
    }
}

/// Returns the two entries that a split makes of an entry that knows nothing beyond its bucket.
pub(super) fn halves(
    Stashed { place: Place { position, entry }, copies }: Stashed,
) -> [Stashed; 2] {
    let known = entry.known();
    let entry = Entry::knowing(entry.bits().into(), known + 1);
    [position, position | 1 << known]
        .map(|position| Stashed { place: Place { position, entry }, copies })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Packed;
    use crate::sizing::{LOAD_MARGIN, Sizing};
    use crate::table::buckets::growing::GrowingBuckets;
    use crate::table::placing::entry::{Pair, ValueBits};
    use crate::table::placing::geometry::{self, Key};

    type Fp16x4 = Packed<16, 4>;

    fn parts_in<B: Buckets>(
        table: Table<'_, Fp16x4, B>,
        entry: Stashed,
        least: u32,
    ) -> Result<u64, InsertError> {
        let mut steps = table.turns.steps_to_store(table.turns.take_to_store());
        table.insert_parts(entry, least, &mut steps)
    }

    /// Returns all entries of a table, whichever of its buckets each is in.
    fn entries(table: Table<'_, Fp16x4, GrowingBuckets>) -> Vec<(u64, u32, u32)> {
        let image = table.image().unwrap();
        let entry = |place: Place| {
            let Key { first, second, .. } = table.geometry().key_of(place);
            (first.min(second), place.entry.bits(), place.entry.known())
        };
        let mut entries: Vec<_> =
            table.entries_of(&image).map(|found| entry(found.place)).collect();
        entries.sort_unstable();
        entries
    }

    /// One of three copies is in a bucket, and a split has doubled it; two are in the stash. A longer entry that is
    /// equal to a part stays.
    #[test]
    fn no_more_parts_are_taken_back_than_were_doubled() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(32, 1 << 16).unwrap();
        let level = table.buckets.common_bits();
        table.grow_to(1 << level).unwrap();
        let entry = Entry::knowing(table.key(1).entry.bits().into(), level);
        let short = Stashed { place: Place { position: 6, entry }, copies: 3 };
        let [low, _] = halves(Stashed { copies: 1, ..short });
        let mut steps = table.turns.steps_to_store(table.turns.take_to_store());
        for entry in [short, low] {
            table.insert_parts(entry, 0, &mut steps).unwrap();
        }
        assert_eq!((table.len(), table.stashed_copies()), (4, 2));
        table.grow_to(2 << level).unwrap();
        assert_eq!(table.take_parts_back(short, level).copies, 3);
        assert_eq!((table.len(), table.stashed_copies()), (1, 0));
        let place = Place { entry: table.geometry().key_of(low.place).entry, ..low.place };
        assert_eq!(entries(table), [(place.position, place.entry.bits(), level + 1)]);
    }

    /// The table makes room for the entries of both tables, and not for more.
    #[test]
    fn a_merge_grows_as_far_as_inserts() {
        let [one, other, both] =
            [0; 3].map(|_| Table::<Fp16x4, GrowingBuckets>::try_new(32, 1 << 20).unwrap());
        (0..3000).for_each(|hash| one.insert(one.key(hash)).unwrap());
        (3000..5000).for_each(|hash| other.insert(other.key(hash)).unwrap());
        (0..5000).for_each(|hash| both.insert(both.key(hash)).unwrap());
        one.merge(&other.image().unwrap(), 0).unwrap();
        assert_eq!(one.len(), 5000);
        let (merged, inserted) = (one.present(), both.present());
        assert!(merged.abs_diff(inserted) < inserted / 8, "{merged} buckets, and {inserted}");
    }

    /// The image has short entries of items of which the table has long ones: the merge takes back the entries that it
    /// has stored.
    #[test]
    fn a_merge_that_fails_takes_no_longer_entry_back() {
        let (first, max_buckets) = (256, 1024);
        let [small, large] =
            [0; 2].map(|_| Table::<Fp16x4, GrowingBuckets>::try_new(first, max_buckets).unwrap());
        (0..700).for_each(|hash| small.insert(small.key(hash)).unwrap());
        assert_eq!(small.present(), first);
        large.grow_to(max_buckets as u64).unwrap();
        (0..3300).for_each(|hash| large.insert(large.key(hash)).unwrap());
        let before = (entries(large), large.doubled());
        assert_eq!(large.merge(&small.image().unwrap(), 0), Err(Error::Full));
        assert_eq!((entries(large), large.doubled()), before);
        assert_eq!(large.len(), 3300);
    }

    /// Another thread removes one of two parts before both are taken back: then neither is counted any more.
    #[test]
    fn doubled_entries_that_others_remove_are_not_counted() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(32, 1 << 16).unwrap();
        let level = table.buckets.common_bits();
        table.grow_to(2 << level).unwrap();
        (100..110).for_each(|hash| table.insert(table.key(hash)).unwrap());
        let entry = Entry::knowing(table.key(1).entry.bits().into(), level);
        let short = Stashed { place: Place { position: 6, entry }, copies: 1 };
        parts_in(table, short, 0).unwrap();
        assert_eq!((table.len(), table.doubled().copies), (11, 1));
        let [low, _] = halves(short);
        assert!(table.remove(table.geometry().key_of(low.place)));
        table.take_parts_back(short, 0);
        assert_eq!((table.len(), table.doubled()), (10, Counts::default()));
    }

    /// The first copy finds room, and then the table is full. The merge takes this copy back, and no copy that was
    /// there before.
    #[test]
    fn no_more_copies_are_taken_back_than_were_stored() {
        let table = Table::<Fp16x4>::try_new(64, 64).unwrap();
        let key = table.key(0);
        (0..2).for_each(|_| table.insert(key).unwrap());
        let others = (1..).map(|hash| table.key(geometry::mix(hash)));
        let is_near = || (table.entries() + 1) as f64 >= table.full_entries();
        others.take_while(|_| !is_near()).for_each(|key| table.insert(key).unwrap());
        let len = table.len();
        let copies = Stashed { place: key.even(), copies: 3 };
        assert_eq!(parts_in(table, copies, 0), Err(InsertError::Full));
        assert_eq!((table.count(key), table.len()), (2, len));
    }

    /// A table that began with fewer buckets has entries that know fewer bits than all entries must know here. They are
    /// doubled until they know as many.
    #[test]
    fn merged_entries_know_as_much_as_all_entries() {
        let [from, into] = [2, 32].map(|first| {
            let sizing = Sizing { value_bits: 10, ..Sizing::of_table(Fp16x4::ID, first, 1 << 10) };
            Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap()
        });
        let pair = |hash| Pair { hash: geometry::mix(hash), value: 7 };
        (0..5).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        let least = |table: Table<'_, Fp16x4, GrowingBuckets<ValueBits>>| {
            let image = table.image().unwrap();
            table.entries_of(&image).map(|entry| entry.place.entry.known()).min().unwrap()
        };
        let common = into.buckets.common_bits();
        assert!(least(from) < common);
        into.merge(&from.image().unwrap(), 0).unwrap();
        assert!(least(into) >= common, "{} of {common} bits", least(into));
        assert_eq!(into.len(), 5);
        assert!((0..5).all(|hash| into.contains_pair(into.key_of(pair(hash)))));
    }

    /// Growth beside a merge begins another level, at which a new slot knows more bits. The merge takes back the slots
    /// from before that.
    #[test]
    fn entries_that_know_as_much_as_slots_did_are_taken_back() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(64, 1 << 10).unwrap();
        let least = table.buckets.known_bits();
        let items = (1..50).map(|hash| table.key(geometry::mix(hash)).even());
        let items: Vec<_> = items.map(|place| Stashed { place, copies: 3 }).collect();
        for &entry in &items {
            parts_in(table, entry, least).unwrap();
        }
        table.grow_to(1 << 9).unwrap();
        assert!(table.buckets.known_bits() > least && table.len() == 3 * items.len());
        for &entry in &items {
            table.take_parts_back(entry, least);
        }
        assert_eq!((table.len(), table.occupied(), table.stashed_copies()), (0, 0, 0));
    }

    /// An image with doubled entries is merged again and again. Each time all of its copies are counted, and those of
    /// its entries that found a place of their own. A copy that is taken back is not counted.
    #[test]
    fn a_merge_adds_to_doubled_entries() {
        // A new entry knows one bit beyond its bucket.
        let sizing = Sizing { value_bits: 10, ..Sizing::of_table(Fp16x4::ID, 32, 1 << 10) };
        let [from, others, into] =
            [0; 3].map(|_| Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap());
        let pair = |hash| Pair { hash: geometry::mix(hash), value: (hash % 3) as u32 };
        (0..20).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        (100..140).for_each(|hash| others.insert(others.key_of(pair(hash))).unwrap());
        for (table, buckets) in [(from, 256), (others, 128), (into, 1 << 10)] {
            let most = buckets - table.present();
            table.split_buckets(&mut table.shared.doubled.lock(), most).unwrap();
        }
        let image = from.image().unwrap();
        let Counts { copies, entries } = image.doubled();
        assert!(entries == copies && entries > 50, "{entries}");
        for merges in 1..=60 {
            into.merge(&image, 0).unwrap();
            assert_eq!(into.len(), 20 * merges);
            // Each pair has 16 entries, each in up to eight slots and in the stash.
            let (all, own) = (into.counts().entries, into.entries());
            assert!((20 * merges.min(4)..=20 * 9).contains(&own), "{own} of {all}");
            assert!((16 * own as u64).abs_diff(all) <= all / 8, "{own} of {all}");
        }
        let (counts, doubled) = (into.counts(), into.doubled());
        assert!(counts.copies > 5 * counts.entries, "{counts:?}");
        // A copy that is taken back is no longer counted: here, some copies of other items have parts for which there
        // is room.
        let other = |hash| into.key_of(Pair { hash: geometry::mix(hash), value: 1 });
        let stored = (1000..10_000).map(other).take_while(|&key| into.insert(key).is_ok());
        assert!((1000..9000).contains(&stored.count()), "it is full now");
        assert!((1000..1300).map(other).all(|key| into.remove(key)));
        let before = (into.counts(), into.doubled());
        assert_eq!(into.merge(&others.image().unwrap(), 0), Err(Error::Full));
        assert_eq!((into.counts(), into.doubled()), before);
        // The removal of a value also removes all that was counted for it.
        for value in 0..3 {
            into.remove_value(value);
        }
        assert_eq!(
            (into.counts(), into.doubled()),
            (Counts::default(), Counts::default()),
            "{doubled:?}"
        );
    }

    /// For the rate, doubled entries of the other table are not items of their own.
    #[test]
    fn doubled_entries_are_not_items_for_the_rate() {
        let sizing = Sizing { value_bits: 10, ..Sizing::of_table(Fp16x4::ID, 32, 1 << 10) };
        let [from, into] =
            [0; 2].map(|_| Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap());
        let pair = |hash| Pair { hash: geometry::mix(hash), value: 1 };
        (0..20).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        from.split_buckets(&mut from.shared.doubled.lock(), 256 - from.present()).unwrap();
        let image = from.image().unwrap();
        assert!(image.doubled().entries > 50);
        let known = from.entries_of(&image).map(|entry| entry.place.entry.known());
        let weight: f64 = known.map(power_of_half).sum();
        let expected = weight - into.sizing().weight_at(20);
        let found = into.keep_promised_rate(&image, 0).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
    }

    /// A merge makes room for the items of the image before it stores the entries. Doubled entries are no items. Here
    /// they take the load beyond the target, but not so far that an insert splits.
    #[test]
    fn no_room_is_made_for_doubled_entries() {
        let [from, into, other] = [64, 1 << 10, 1 << 10].map(|first| {
            let sizing = Sizing { value_bits: 10, ..Sizing::of_table(Fp16x4::ID, first, 1 << 11) };
            Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap()
        });
        let mut keys = (0..).map(|hash| from.key_of(Pair { hash: geometry::mix(hash), value: 1 }));
        keys.by_ref().take(340).for_each(|key| from.insert(key).unwrap());
        from.split_buckets(&mut from.shared.doubled.lock(), (1 << 10) - from.present()).unwrap();
        let most = into.target_items() as u64 + (LOAD_MARGIN / 2.0 * into.slots() as f64) as u64;
        while from.counts().entries < most {
            from.insert(keys.next().unwrap()).unwrap();
        }
        let (image, items) = (from.image().unwrap(), from.len());
        assert!(image.entries() == most && image.doubled().entries > most / 2);
        into.merge(&image, 0).unwrap();
        other.grow_for(items).unwrap();
        assert_eq!((into.len(), into.present()), (items, other.present()));
    }
}
