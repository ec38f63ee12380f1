//! Merging: all that another table holds, into this one.

use super::buckets::{Reading, Words};
use super::geometry::{Key, Place};
use super::{Buckets, Image, Table};
use crate::entry::Entry;
use crate::error::InsertError;
use crate::layout::{Format, Word};

impl<F: Format, B: Buckets> Table<'_, F, B> {
    /// Inserts each entry of the image, which is that of a table with as many rows; all
    /// of them, or none. Each of them is an insert, and each that is taken back a removal.
    pub(crate) fn merge(self, image: &Image) -> Result<(), InsertError> {
        if self.occupied() + image.items > self.buckets.words().max_buckets() * F::SLOTS {
            return Err(InsertError::Full);
        }
        for (stored, key) in self.keys_of(image).enumerate() {
            if let Err(error) = self.insert(key) {
                for key in self.keys_of(image).take(stored) {
                    self.remove(key);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// The items of the entries that the image holds, in the order of its buckets.
    fn keys_of(self, image: &Image) -> impl Iterator<Item = Key> {
        let extent = &image.extent;
        debug_assert_eq!(extent.rows(), self.rows());
        let geometry = self.geometry();
        // A bucket lies in the row with its number modulo the rows.
        let rows = (0..).flat_map(|share| (0..extent.rows()).map(move |row| (share, row)));
        rows.zip(image.words()).enumerate().flat_map(move |(bucket, ((share, row), word))| {
            let reading = B::reading(*extent, bucket, self.buckets.values());
            let sibling = Entry::in_share(share);
            let slots = Word::<F>::from_bits(word).slots_in_use();
            slots.map(move |slot| {
                geometry.key_of(Place { row, entry: reading.entry(slot, sibling) })
            })
        })
    }
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
        let entry = |key| {
            let [a, b] = table.places(key);
            let Place { row, entry } = if a.row < b.row { a } else { b };
            (row, entry.whole(), entry.extra())
        };
        let mut entries: Vec<_> = table.keys_of(&image).map(entry).collect();
        entries.sort_unstable();
        entries
    }

    /// The image has short entries of items of which the table has long ones: what is taken back is what was
    /// stored.
    #[test]
    fn a_merge_that_fails_takes_no_longer_entry_back() {
        let (rows, max_buckets) = (256, 1024);
        let [small, large] =
            [0; 2].map(|_| Table::<Fp16x4, Growing>::try_new(rows, max_buckets).unwrap());
        (0..700).for_each(|hash| small.insert(small.key(hash)).unwrap());
        assert_eq!(small.present(), rows);
        large.grow_to(max_buckets).unwrap();
        (0..3300).for_each(|hash| large.insert(large.key(hash)).unwrap());
        let before = entries(large);
        assert_eq!(large.merge(&small.image().unwrap()), Err(InsertError::Full));
        assert_eq!(entries(large), before);
    }
}
