//! A table of fixed size: a position is the number of a bucket, and a slot holds a whole fingerprint.
//!
//! **Invariant:** the number of buckets never changes, so each entry is always in the bucket of one of its positions.

use super::entry::{Entry, Shape, Values};
use super::geometry::{Geometry, Place};
use super::{Bucket, Found, Placing, Read, Sizes};
use crate::layout::{Encoding, Matches, MatchingValues, Slot, both};

#[derive(Clone, Copy, Debug)]
pub struct FixedPlacing<V> {
    pub(in crate::table) values: V,
}

impl<V: Values> Placing for FixedPlacing<V> {
    const GROWS: bool = false;

    type Values = V;

    #[inline]
    fn values(self) -> V {
        self.values
    }

    #[inline]
    fn is_same(self, _: Self) -> bool {
        true
    }

    #[inline]
    fn placed<F: Encoding>(sizes: Sizes, values: V) -> (Geometry, Self) {
        let geometry = Geometry::new(sizes.buckets as u64, Shape::new(F::BITS, 0, values));
        (geometry, Self { values })
    }

    #[inline]
    fn bucket_of(self, position: u64) -> usize {
        position as usize
    }

    #[inline]
    fn other<F: Encoding>(
        geometry: Geometry,
        bucket: Bucket<Self>,
        slot: Slot,
    ) -> Option<Bucket<Self>> {
        let Place { position, entry } = Self::place::<F>(bucket, slot);
        let other = geometry.alternate(position, entry);
        Some(Bucket::at(bucket.placement, other as usize))
    }

    #[inline]
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool {
        a.number == b.number
    }

    #[inline]
    fn slot<F: Encoding>(_: Bucket<Self>, place: Place) -> Option<Slot> {
        Some(held(place.entry))
    }

    #[inline]
    fn place<F: Encoding>(bucket: Bucket<Self>, slot: Slot) -> Place {
        Place { position: bucket.number as u64, entry: Entry::fingerprint(slot.bits()) }
    }

    /// Accepts every entry in every bucket. In a maplet, each slot in use must have a fingerprint below its value.
    #[inline]
    fn is_valid<F: Encoding>(_: Geometry, bucket: Bucket<Self>, word: F) -> bool {
        bucket.below().is_none_or(|below| word.each_has(below))
    }

    fn is_valid_entry(geometry: Geometry, place: Place) -> bool {
        place.entry.known() == 0 && place.position < geometry.size
    }

    #[inline]
    fn either_agrees<F: Encoding>(read: Read<F, Self>, mask: Option<u64>) -> bool {
        F::either_holds(read.words, held(read.key.entry), mask)
    }

    #[inline]
    fn values_matching<F: Encoding>(read: Read<F, Self>, mask: u64) -> MatchingValues {
        F::values_of_equal(read.words, read.key.entry.bits().into(), mask)
    }

    #[inline]
    fn only_of_key<F: Encoding>(read: Read<F, Self>, below: u64) -> Matches<F> {
        F::only_equal(read.words, read.key.entry.bits().into(), below)
    }

    #[inline]
    fn longest<F: Encoding>(read: Read<F, Self>) -> [Option<Found>; 2] {
        let slot = held(read.key.entry);
        both(read.words, |word| word.holds(slot).then_some(Found { slot, known: 0 }))
    }
}

/// Returns the slot of an entry: its fingerprint.
#[inline]
fn held(entry: Entry) -> Slot {
    Slot::new(entry.bits().into())
}
