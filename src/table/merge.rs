//! Merging: all that another table holds, into this one.

use super::address::Words;
use super::{Buckets, Image, Table};
use crate::entry::Entry;
use crate::error::InsertError;
use crate::geometry::{Key, Place};
use crate::layout::{Layout, Word};
use crate::reading::Reading;

impl<L: Layout, B: Buckets> Table<L, B> {
    /// Inserts each entry of the image, which is that of a table with as many rows; all
    /// of them, or none. Each of them is an insert, and each that is taken back a removal.
    pub(crate) fn merge(&self, image: &Image) -> Result<(), InsertError> {
        if self.occupied() + image.items > self.buckets.words().max_buckets() * L::SLOTS {
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
    fn keys_of(&self, image: &Image) -> impl Iterator<Item = Key> {
        let Image { extent, value_bits, .. } = image;
        debug_assert_eq!(extent.rows(), self.rows());
        let geometry = self.geometry();
        // A bucket lies in the row with its number modulo the rows.
        let rows = (0..).flat_map(|share| (0..extent.rows()).map(move |row| (share, row)));
        rows.zip(image.words()).enumerate().flat_map(move |(bucket, ((share, row), word))| {
            let reading = B::reading::<L>(*extent, bucket, *value_bits);
            let sibling = Entry::in_share(share);
            let slots = Word::<L>::from_bits(word).slots_in_use();
            slots.map(move |slot| {
                geometry.key_of(Place { row, entry: reading.entry(slot, sibling) })
            })
        })
    }
}
