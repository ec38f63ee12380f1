//! A bucket, and how its slots are read, in tables of fixed size and in growing ones. Where the two differ, this file
//! asks their [`Placing`].
//!
//! Pure functions: a *placement* says where the items of a table are at one time, and a bucket follows from a placement
//! and a position. A table makes its placement from its atomics.
//!
//! In a maplet a slot also holds a value, in its uppermost bits. An item of a maplet is a key with a value: its slot
//! holds both, and a removal looks for both. Lookups look for the key alone.
//!
//! These functions read the words of the buckets of an item, both words together (as [`Read`]) or one of them:
//!
//! | function | answer | does the value count? |
//! |---|---|---|
//! | `holds_item` | whether one of two words has an entry of the item | as the caller says |
//! | `either_agrees` | whether one of two words has an entry that agrees with the item in the bits of the mask, or in all bits if there is no mask | by the mask |
//! | `holds_key` | whether one word has an entry with the key of the item; always `false` in a filter | no |
//! | `values` | the values of the item in two words | |
//! | `copies` | the number of entries of the item in one word (they stay its entries however much the table grows) | by the mask |
//! | `only` | the entry of the item, if the two words of a growing table hold exactly one | yes |
//! | `only_of_key` | in a maplet, of fixed size or growing: the only entry of the key, or whether there is none or several | no |
//! | `longest` | in each of two words, the *longest* entry of the item: the one that knows the most bits of its position | yes |
//!
//! **Invariant:** in each bucket, `slot` and `place` are inverse to each other. A place that is stored in a slot and
//! read again is the same place, as far as it is known.

pub(crate) mod entry;
mod fixed;
pub(crate) mod geometry;
mod growing;
pub(crate) mod rates;

use self::entry::Values;
pub(crate) use self::fixed::FixedPlacing;
use self::geometry::{Geometry, Key, Place};
pub(crate) use self::growing::{Extent, GrowingPlacing, common_mask};
use crate::layout::{Candidates, Encoding, Matches, MatchingValues, Only, Slot};

/// The sizes of a table at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of buckets at the beginning.
    pub(crate) initial: usize,
    pub(crate) buckets: usize,
    /// The load that growth keeps, in thousandths; 0 in a table of fixed size.
    pub(crate) target_load: u32,
}

/// The placement of a table, of fixed size or growing: it says which bucket each position has at one time, and how the
/// slots of the buckets are read.
pub trait Placing: Copy + Send + Sync {
    /// Whether the number of buckets can grow.
    const GROWS: bool;

    /// The values in the slots.
    type Values: Values;

    fn values(self) -> Self::Values;

    /// Returns whether the table has not grown between the two placements.
    fn is_same(self, other: Self) -> bool;

    /// Returns the geometry and the placement of a table of these sizes.
    fn placed<F: Encoding>(sizes: Sizes, values: Self::Values) -> (Geometry, Self);

    /// Returns the number of the bucket of a position.
    fn bucket_of(self, position: u64) -> usize;

    /// Returns the other bucket of the entry in `slot` of `bucket`. `None`: the entry would belong to two other
    /// buckets.
    fn other<F: Encoding>(
        geometry: Geometry,
        bucket: Bucket<Self>,
        slot: Slot,
    ) -> Option<Bucket<Self>>;

    /// Returns whether both are the same bucket and read their slots alike.
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool;

    /// Encodes the entry at `place` as a slot of `bucket`. `None`, only in a growing table: the bucket tells more bits
    /// of the position than the entry knows.
    fn slot<F: Encoding>(bucket: Bucket<Self>, place: Place) -> Option<Slot>;

    /// Decodes a slot of `bucket`: returns the place of the entry in it.
    fn place<F: Encoding>(bucket: Bucket<Self>, slot: Slot) -> Place;

    /// Returns whether a canonical word that comes from outside can be the word of `bucket`.
    fn is_valid<F: Encoding>(geometry: Geometry, bucket: Bucket<Self>, word: F) -> bool;

    /// Returns whether an entry that comes from outside, at its even position, can be in the stash.
    fn is_valid_entry(geometry: Geometry, place: Place) -> bool;

    /// Returns whether either word holds an entry of the item. Compares only the bits of `mask`, if there is one.
    fn either_agrees<F: Encoding>(read: Read<F, Self>, mask: Option<u64>) -> bool;

    /// Returns the values of the entries in the words of a maplet that agree with the item in the bits of `mask`.
    fn values_matching<F: Encoding>(read: Read<F, Self>, mask: u64) -> MatchingValues;

    /// Returns the entry of an item, with its value, if the two words of a growing table hold exactly one. `None` also
    /// if the position of the item is not known as a whole, and in a table of fixed size.
    fn only<F: Encoding>(_: Read<F, Self>) -> Option<Only<F>> {
        None
    }

    /// Returns the entry of a key in the words of a maplet, if there is exactly one, with any value. `below` is a mask
    /// of all bits of a slot below its value.
    fn only_of_key<F: Encoding>(read: Read<F, Self>, below: u64) -> Matches<F>;

    /// Returns the longest entry of the item, with its value, in each word: the entry that knows the most bits of its
    /// position.
    fn longest<F: Encoding>(read: Read<F, Self>) -> [Option<Found>; 2];
}

/// A bucket, and the placement by which its slots are read. Its functions take the place of an item whose position is
/// in this bucket.
#[derive(Clone, Copy)]
pub struct Bucket<P> {
    pub(super) number: usize,
    pub(super) placement: P,
}

impl<P: Placing> Bucket<P> {
    /// Returns the bucket with this number.
    #[inline]
    pub(crate) fn at(placement: P, number: usize) -> Self {
        Self { number, placement }
    }

    /// Returns the bucket of `place`; one of them, if the place belongs to two.
    #[inline]
    pub(crate) fn of(placement: P, place: Place) -> Self {
        Self::at(placement, placement.bucket_of(place.position))
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.number
    }

    /// Encodes the entry at `place` as a slot of this bucket, as [`Placing::slot`] does.
    #[inline]
    pub(super) fn slot<F: Encoding>(self, place: Place) -> Option<Slot> {
        P::slot::<F>(self, place)
    }

    /// Decodes a slot of this bucket: returns the place of the entry in it.
    #[inline]
    pub(super) fn place<F: Encoding>(self, slot: Slot) -> Place {
        P::place::<F>(self, slot)
    }

    /// Returns whether `placement` found this bucket. If so, the table has not grown since then.
    #[inline]
    pub(super) fn is_of(self, placement: P) -> bool {
        self.placement.is_same(placement)
    }

    /// Returns whether this is the bucket of `place`. If the place belongs to two buckets, only the one that
    /// [`of`](Self::of) returns counts.
    #[inline]
    pub(super) fn is_of_place(self, place: Place) -> bool {
        self.placement.bucket_of(place.position) == self.number
    }

    /// Returns a mask of all bits of a slot below its value; `None` if slots have no values.
    #[inline]
    pub(super) fn below(self) -> Option<u64> {
        self.placement.values().below()
    }

    /// Returns the word of this bucket alone, with the place of an item in it.
    #[inline]
    pub(super) fn alone<F: Encoding>(
        self,
        word: F,
        Place { position, entry }: Place,
    ) -> Read<F, P> {
        let key = Key { entry, first: position, second: position };
        Read { key, buckets: [self; 2], words: [word, F::EMPTY] }
    }

    /// Counts the entries of an item in the word of this bucket. Compares only the bits of `mask`, if there is one.
    /// However much the table grows, these entries stay entries of the item.
    pub(crate) fn copies<F: Encoding>(self, word: F, item: Place, mask: Option<u64>) -> usize {
        // Looks at each slot alone, as a lookup would.
        let word_of = |slot| F::EMPTY.with(slot).expect("an empty word has room");
        let is_its = |&slot: &Slot| P::either_agrees(self.alone(word_of(slot), item), mask);
        word.slots_in_use().filter(is_its).count()
    }

    /// Returns whether the word of this bucket of a maplet holds an entry with the key of an item, whatever its value
    /// is. Always `false` in a filter.
    #[inline]
    pub(super) fn holds_key<F: Encoding>(self, word: F, item: Place) -> bool {
        P::Values::ANY && self.alone(word, item).holds_item(false)
    }
}

/// An item, and the words of its buckets as they were read. One placement found both buckets.
#[derive(Clone, Copy)]
pub struct Read<F, P> {
    pub(crate) key: Key,
    /// The buckets of the item's places, in the same order.
    pub(crate) buckets: [Bucket<P>; 2],
    pub(crate) words: [F; 2],
}

impl<F: Encoding, P: Placing> Read<F, P> {
    /// Returns whether either word holds an entry of the item: the heart of a lookup. Without `with_value`, an entry
    /// with another value counts, too.
    #[inline]
    pub(crate) fn holds_item(self, with_value: bool) -> bool {
        let mask = if with_value { None } else { self.buckets[0].below() };
        P::either_agrees(self, mask)
    }

    /// Returns the values of the item in the words of a maplet.
    #[inline]
    pub(crate) fn values(self) -> Candidates {
        let Some(mask) = self.buckets[0].below() else {
            return Candidates::new();
        };
        let values = P::values_matching(self, mask);
        Candidates::of(values, self.buckets[0].placement.values().bits())
    }

    /// Returns the entry of the key in the words of a maplet, if there is exactly one.
    #[inline]
    pub(crate) fn only_of_key(self) -> Matches<F> {
        self.buckets[0].below().map_or(Matches::None, |below| P::only_of_key(self, below))
    }
}

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub(crate) slot: Slot,
    /// The number of bits of the position that the [`Entry`](entry::Entry) knows.
    pub(crate) known: u32,
}

impl Found {
    /// Returns the bits of the slot: no slot has more than 32.
    #[inline]
    pub(super) fn bits(self) -> u32 {
        self.slot.bits() as u32
    }
}

/// The number of buckets from which on a table does not fit well into the cache of a core: 1 MiB of words.
pub(super) const OUT_OF_CACHE_BUCKETS: usize = 1 << 17;
