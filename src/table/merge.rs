//! Merging: all that another table holds, into this one.
//!
//! The other table may have another size, if both grow. Then an entry may know less of its position than the buckets
//! tell here: it is doubled, as a split would have done.

use super::buckets::{Reading, Words};
use super::geometry::Place;
use super::growing::Growing;
use super::insert::is_known_by;
use super::{Buckets, Image, Table};
use crate::entry::Entry;
use crate::error::InsertError;
use crate::layout::{Format, Word};

impl<F: Format, B: Buckets> Table<'_, F, B> {
    /// Inserts each entry of the image, all of them, or none. A table of fixed size has as many buckets as that of the
    /// image. Each entry is an insert, and each that is taken back a removal.
    pub(crate) fn merge(self, image: &Image) -> Result<(), InsertError> {
        if self.occupied() + image.occupied > self.buckets.words().max_buckets() * F::SLOTS {
            return Err(InsertError::Full);
        }
        let items = self.len() + image.occupied.saturating_sub(image.grown.doubled);
        self.grow_for(items).map_err(|_| InsertError::OutOfMemory)?;
        let mut stored = 0;
        for (at, place) in self.places_of(image).enumerate() {
            if let Err(error) = self.insert_parts(place, &mut stored) {
                self.places_of(image)
                    .take(at)
                    .for_each(|place| self.remove_parts(place, &mut stored));
                // What is less than 0, splits have doubled meanwhile.
                self.count_doubled(stored);
                return Err(error);
            }
        }
        let items = image.occupied.cast_signed() - image.grown.doubled.cast_signed();
        self.count_doubled(stored - items);
        Ok(())
    }

    fn count_doubled(self, slots: isize) {
        if let Some(growing) = self.buckets.growing() {
            growing.add_doubled(slots);
        }
    }

    /// An entry, doubled until as much is known of its parts as their buckets tell; all parts, or none. Counts them.
    fn insert_parts(self, place: Place, stored: &mut isize) -> Result<(), InsertError> {
        if self.is_known(place) && self.insert_entry(self.geometry().key_of(place))? {
            *stored += 1;
            return Ok(());
        }
        let [low, high] = halves(place);
        self.insert_parts(low, stored)?;
        self.insert_parts(high, stored).inspect_err(|_| self.remove_parts(low, stored))
    }

    /// Takes an entry back, and all parts of it. Does not count them any more.
    fn remove_parts(self, place: Place, stored: &mut isize) {
        if self.is_known(place) && self.remove(self.geometry().key_of(place)) {
            *stored -= 1;
        } else if !self.is_known(place) {
            for half in halves(place) {
                self.remove_parts(half, stored);
            }
        }
    }

    /// Whether as much is known of this entry as its buckets tell, and as all entries know.
    fn is_known(self, place: Place) -> bool {
        let places = [place, self.geometry().other_place(place)];
        let common = self.buckets.growing().map_or(0, Growing::common_bits);
        place.entry.known() >= common && is_known_by::<F, _>(places, self.locate(places))
    }

    /// The places of the entries that the image holds, in the order of its buckets.
    fn places_of(self, image: &Image) -> impl Iterator<Item = Place> {
        let buckets = image.grown.buckets;
        image.words().enumerate().flat_map(move |(number, word)| {
            let reading = self.buckets.bucket_of_size(buckets, number).reading;
            let slots = Word::<F>::from_bits(word).slots_in_use();
            slots.map(move |slot| reading.place::<F>(slot))
        })
    }
}

/// The two entries that a split makes of one that knows nothing beyond its bucket.
fn halves(Place { position, entry }: Place) -> [Place; 2] {
    let known = entry.known();
    let entry = Entry::knowing(entry.bits().into(), known + 1);
    [position, position | 1 << known].map(|position| Place { position, entry })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::growing::Growing;
    use super::*;
    use crate::layout::Packed;

    type Fp16x4 = Packed<16, 4>;

    /// All entries that a table holds, whichever of its buckets each is in.
    fn entries(table: Table<'_, Fp16x4, Growing>) -> Vec<(usize, u32, u32)> {
        let image = table.image().unwrap();
        let entry = |place: Place| {
            let other = table.geometry().other_place(place);
            let position = place.position.min(other.position);
            (position, place.entry.bits(), place.entry.known())
        };
        let mut entries: Vec<_> = table.places_of(&image).map(entry).collect();
        entries.sort_unstable();
        entries
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
        large.grow_to(max_buckets).unwrap();
        (0..3300).for_each(|hash| large.insert(large.key(hash)).unwrap());
        let before = entries(large);
        assert_eq!(large.merge(&small.image().unwrap()), Err(InsertError::Full));
        assert_eq!(entries(large), before);
        assert_eq!(large.len(), 3300);
    }
}
