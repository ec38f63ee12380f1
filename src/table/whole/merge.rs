//! Merging: all that another table holds, into this one.
//!
//! **Invariant:** a merge that fails takes out again what it has stored, and nothing else.
//!
//! The other table may have another size, if both grow. Then an entry may know less of its position than the buckets
//! tell here: it is doubled, as a split would have done.

use crate::error::{Error, Refusal};
use crate::layout::{Format, both};
use crate::sizing::{self, MAX_DOUBLED, Promise};
use crate::table::doubled::Counted;
use crate::table::entry::Entry;
use crate::table::geometry::Place;
use crate::table::items::insert::is_known_by;
use crate::table::placing::rates::power_of_half;
use crate::table::placing::{Bucket, Placing};
use crate::table::{Buckets, Image, Stashed, Table};

impl<F: Format, B: Buckets> Table<'_, F, B> {
    /// Inserts each entry of the image, all of them, or none. A table of fixed size has as many buckets as that of the
    /// image. Each copy is an insert, and each that is taken back a removal.
    pub(crate) fn merge(self, image: &Image, max_capacity: u64) -> Result<(), Error> {
        // What is doubled is counted at the end: until then no snapshot is taken, and no value is removed.
        let _removing = self.lock_removing();
        if self.takes_too_much(image, max_capacity) {
            return Err(Error::OtherTooSmall);
        }
        let weighs_more = self.keep_promise(image)?;
        let entries = (image.occupied + image.stashed.len()) as u64;
        let items = self.entries() + entries.saturating_sub(image.grown.doubled) as usize;
        self.grow_for(items).map_err(|_| Refusal::NoMemoryToStore)?;
        // How much slots can know of a position: as long as the merge takes, no less.
        let least = self.buckets.known_bits();
        self.name_doubled(&image.doubled_of)?;
        for (at, entry) in self.entries_of(image).enumerate() {
            if let Err(error) = self.insert_parts(entry, least) {
                for entry in self.entries_of(image).take(at) {
                    self.take_parts_back(entry, least);
                }
                return Err(error.into());
            }
        }
        for &(value, doubled) in &image.doubled_of {
            self.count_doubled(value, doubled.cast_signed());
        }
        self.add_merged_weight(weighs_more);
        Ok(())
    }

    /// Returns how much more the entries of the image weigh than those of as many inserts would; or an error if the
    /// rate that was given to the builder would be broken.
    fn keep_promise(self, image: &Image) -> Result<f64, Error> {
        let entries = (image.occupied + image.stashed.len()) as u64;
        let present = self.entries() as u64;
        let merged = present + entries.saturating_sub(image.grown.doubled);
        let weighs_more = if B::GROWS {
            let known = self.entries_of(image).map(|entry| entry.place.entry.known());
            let weight: f64 = known.map(power_of_half).sum();
            weight - (self.sizing().weight_at(merged) - self.sizing().weight_at(present))
        } else {
            0.0
        };
        match self.promise {
            Some(Promise { rate, items }) => {
                let more = self.merged_weight() + weighs_more;
                let reached = self.sizing().false_positive_rate_with(items.max(merged), more);
                let one_in = sizing::one_in(reached);
                if reached > rate {
                    Err(Error::MergedRateTooHigh { one_in })
                } else {
                    Ok(weighs_more)
                }
            }
            None => Ok(weighs_more),
        }
    }

    /// Whether so little is known of the entries of the image that they would take too many slots at the maximum size of
    /// this table, since each level doubles them again: so many that it had no room for `max_capacity` items; or if it
    /// grows without an end, that it did not grow any more.
    fn takes_too_much(self, image: &Image, max_capacity: u64) -> bool {
        self.buckets.growing().is_some_and(|growing| {
            let known = self.entries_of(image).map(|entry| entry.place.entry.known());
            let slots = self.max_buckets() as f64 * F::SLOTS as f64;
            let most = if sizing::is_endless(F::ID.properties(), self.max_buckets()) {
                slots * growing.target_load() / (MAX_DOUBLED / 2) as f64
            } else {
                (slots * growing.full_load() - max_capacity as f64).max(0.0)
            };
            self.doubled_at_maximum(known) > most
        })
    }

    /// Memory to count slots with these values that are no items of their own. The values are in ascending order.
    fn name_doubled(self, values: &[Counted]) -> Result<(), Refusal> {
        let mut splitting = self.changing.doubled.lock();
        let reserved = splitting.reserve(values.len(), self.value_bits());
        reserved.map_err(|_| Refusal::NoMemoryToStore)?;
        splitting.name(values);
        Ok(())
    }

    /// Some slots more with a value that is named are in use that are no items of their own, or less.
    fn count_doubled(self, value: u32, slots: i64) {
        self.changing.doubled.lock().add(value, slots);
    }

    /// The copies of an entry, doubled until as much is known of its parts as their buckets tell; all parts, or none.
    fn insert_parts(self, entry: Stashed, least: u32) -> Result<(), Refusal> {
        if self.is_known(entry.place) && self.insert_copies(entry, least)? {
            return Ok(());
        }
        let value = self.value_in(entry.place.entry.bits().into());
        self.name_doubled(&[(value, 0)])?;
        let [low, high] = halves(entry);
        self.insert_parts(low, least)?;
        if let Err(error) = self.insert_parts(high, least) {
            self.take_parts_back(low, least);
            return Err(error);
        }
        self.count_doubled(value, (entry.copies as u64).cast_signed());
        Ok(())
    }

    /// All copies of an entry, or none: one as every insert, and all others into the stash. `Ok(false)`: less is known
    /// of its position than its buckets tell.
    fn insert_copies(self, entry: Stashed, least: u32) -> Result<bool, Refusal> {
        let key = self.geometry().key_of(entry.place);
        let storing = self.turns.take_to_store();
        let stored = self.insert_entry(key)?;
        storing.release_if(|| stored);
        if stored && entry.copies > 1 {
            self.stash_copies(key, entry.copies - 1).inspect_err(|_| {
                self.take_parts_back(Stashed { copies: 1, ..entry }, least);
            })?;
        }
        Ok(stored)
    }

    /// Takes the copies of an entry back that were stored, and says how many there were. What is not there as it was
    /// stored has been doubled, by this merge or by a split: then both parts are taken back.
    ///
    /// An entry of the table that is equal to one of these may go in its place. Other threads may have removed some:
    /// then there are fewer.
    fn take_parts_back(self, entry: Stashed, least: u32) -> usize {
        let Stashed { place, copies } = entry;
        self.turns.take_locked();
        let taken = self.take_back(place, copies, least.min(place.entry.known()));
        let rest = copies - taken;
        if rest == 0 || self.is_known(place) {
            return taken;
        }
        let parts = halves(Stashed { copies: rest, ..entry });
        let [low, high] = both(parts, |part| self.take_parts_back(part, least));
        let value = self.value_in(place.entry.bits().into());
        self.count_doubled(value, -(low.min(high) as u64).cast_signed());
        taken + low.max(high)
    }

    /// Whether as much is known of this entry as its buckets tell, and as all entries know.
    fn is_known(self, place: Place) -> bool {
        let places = self.geometry().key_of(place).places();
        let common = self.buckets.common_bits();
        place.entry.known() >= common && is_known_by::<F, _>(places, self.locate(places))
    }

    /// The entries that the image holds, in the order of its buckets, and those of its stash.
    fn entries_of(self, image: &Image) -> impl Iterator<Item = Stashed> {
        let (_, placement) = B::Placing::placed::<F>(image.grown, self.buckets.values());
        let in_buckets = image.words().enumerate().flat_map(move |(number, word)| {
            let bucket = Bucket::at(placement, number);
            let slots = F::from_bits(word).slots_in_use();
            slots.map(move |slot| Stashed { place: bucket.place::<F>(slot), copies: 1 })
        });
        in_buckets.chain(image.stashed.iter().copied().map(Stashed::of_words))
    }
}

/// The two entries that a split makes of one that knows nothing beyond its bucket.
fn halves(Stashed { place: Place { position, entry }, copies }: Stashed) -> [Stashed; 2] {
    let known = entry.known();
    let entry = Entry::knowing(entry.bits().into(), known + 1);
    [position, position | 1 << known]
        .map(|position| Stashed { place: Place { position, entry }, copies })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Packed;
    use crate::table::buckets::growing::Growing;
    use crate::table::geometry::Key;

    type Fp16x4 = Packed<16, 4>;

    /// All entries that a table holds, whichever of its buckets each is in.
    fn entries(table: Table<'_, Fp16x4, Growing>) -> Vec<(u64, u32, u32)> {
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

    /// Of three copies one is in a bucket, which a split has doubled, and two are in the stash. A longer entry that is
    /// equal to a part stays.
    #[test]
    fn no_more_parts_are_taken_back_than_were_doubled() {
        let table = Table::<Fp16x4, Growing>::try_new(32, 1 << 16).unwrap();
        let level = table.buckets.common_bits();
        table.grow_to(1 << level).unwrap();
        let entry = Entry::knowing(table.key(1).entry.bits().into(), level);
        let short = Stashed { place: Place { position: 6, entry }, copies: 3 };
        let [low, _] = halves(Stashed { copies: 1, ..short });
        for entry in [short, low] {
            table.insert_parts(entry, 0).unwrap();
        }
        assert_eq!((table.len(), table.stashed_copies()), (4, 2));
        table.grow_to(2 << level).unwrap();
        assert_eq!(table.take_parts_back(short, level), 3);
        assert_eq!((table.len(), table.stashed_copies()), (1, 0));
        let place = Place { entry: table.geometry().key_of(low.place).entry, ..low.place };
        assert_eq!(entries(table), [(place.position, place.entry.bits(), level + 1)]);
    }

    /// The table makes room for the entries of both, and not for more.
    #[test]
    fn a_merge_grows_as_far_as_inserts() {
        let [one, other, both] =
            [0; 3].map(|_| Table::<Fp16x4, Growing>::try_new(32, 1 << 20).unwrap());
        (0..3000).for_each(|hash| one.insert(one.key(hash)).unwrap());
        (3000..5000).for_each(|hash| other.insert(other.key(hash)).unwrap());
        (0..5000).for_each(|hash| both.insert(both.key(hash)).unwrap());
        one.merge(&other.image().unwrap(), 0).unwrap();
        assert_eq!(one.len(), 5000);
        let (merged, inserted) = (one.present(), both.present());
        assert!(merged.abs_diff(inserted) < inserted / 8, "{merged} buckets, and {inserted}");
    }

    /// The image has short entries of items of which the table has long ones: what is taken back is what was
    /// stored.
    #[test]
    fn a_merge_that_fails_takes_no_longer_entry_back() {
        let (first, max_buckets) = (256, 1024);
        let [small, large] =
            [0; 2].map(|_| Table::<Fp16x4, Growing>::try_new(first, max_buckets).unwrap());
        (0..700).for_each(|hash| small.insert(small.key(hash)).unwrap());
        assert_eq!(small.present(), first);
        large.grow_to(max_buckets as u64).unwrap();
        (0..3300).for_each(|hash| large.insert(large.key(hash)).unwrap());
        let before = entries(large);
        assert_eq!(large.merge(&small.image().unwrap(), 0), Err(Error::Full));
        assert_eq!(entries(large), before);
        assert_eq!(large.len(), 3300);
    }
}
