//! A bucket, and how its slots are read: what a table of fixed size and a growing one have in common. What differs is
//! asked of their [`Placing`].
//!
//! Pure: a placement says where the items of a table are at one time, and a bucket comes from it and from a position.
//! A table makes its placement from its atomics.
//!
//! In a maplet a slot holds a value, too, in its uppermost bits. An item of a maplet is a key with a value: its
//! slot has both, and so has what a removal looks for. Lookups ask for the key alone.
//!
//! What is asked of the words of the buckets of an item, of both together (as [`Read`]) or of one:
//!
//! | function | answer | the value counts |
//! |---|---|---|
//! | `holds_item` | whether one of two words has an entry of the item | as asked |
//! | `either_agrees` | the same, by some bits of the slots | by the mask |
//! | `holds_key` | as `holds_item`, of one word; in a filter `false` | no |
//! | `values` | the values of the item in two words | |
//! | `copies` | how many entries of the item one word has, now and however much the table grows | by the mask |
//! | `only` | the entry of the item, if the two words of a growing table hold only one | yes |
//! | `longest` | of the entries of the item in each of two words one of which the most is known | yes |
//!
//! **Invariant:** of one bucket, `slot` and `place` are each other's inverse: what a place becomes in a slot, read
//! again, is the place, as far as it is known.

pub(crate) mod entry;
mod fixed;
pub(crate) mod geometry;
mod growing;
pub(crate) mod rates;

use self::entry::Values;
pub(crate) use self::fixed::FixedPlacing;
use self::geometry::{Geometry, Key, Place};
pub(crate) use self::growing::{Extent, GrowingPlacing, common_mask};
use crate::layout::{Candidates, Encoding, MatchingValues, Only, Slot};

/// The sizes of a table at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of buckets that it began with.
    pub(crate) initial: usize,
    pub(crate) buckets: usize,
    /// The load that growth keeps, in thousandths; 0 in a table of fixed size.
    pub(crate) target_load: u32,
}

/// Where the items of a table are at one time, and how the slots of its buckets are read: of a table of fixed size or
/// of a growing one.
pub trait Placing: Copy + Send + Sync {
    /// Whether the number of buckets can grow.
    const GROWS: bool;

    /// The values in the slots.
    type Values: Values;

    fn values(self) -> Self::Values;

    /// Whether the table has not grown between the two.
    fn is_same(self, other: Self) -> bool;

    /// The geometry and the placement of a table of these sizes.
    fn placed<F: Encoding>(sizes: Sizes, values: Self::Values) -> (Geometry, Self);

    /// The number of the bucket of a position.
    fn bucket_of(self, position: u64) -> usize;

    /// The other bucket of what a slot of this one holds. `None`: it would belong to two.
    fn other<F: Encoding>(
        geometry: Geometry,
        bucket: Bucket<Self>,
        slot: Slot,
    ) -> Option<Bucket<Self>>;

    /// Whether both are the same bucket, with slots that are read alike.
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool;

    /// What a slot of the bucket holds of an entry at this place. `None`: the bucket tells more of the position than
    /// is known.
    fn slot<F: Encoding>(bucket: Bucket<Self>, place: Place) -> Option<Slot>;

    /// The place of what a slot of the bucket holds.
    fn place<F: Encoding>(bucket: Bucket<Self>, slot: Slot) -> Place;

    /// Whether a canonical word that comes from outside can be that of the bucket.
    fn is_valid<F: Encoding>(geometry: Geometry, bucket: Bucket<Self>, word: F) -> bool;

    /// Whether an entry that comes from outside, at its even position, can be in the stash.
    fn is_valid_entry(geometry: Geometry, place: Place) -> bool;

    /// Whether either word holds an entry of the item, by the bits of the mask, if there is one.
    fn either_agrees<F: Encoding>(read: Read<F, Self>, mask: Option<u64>) -> bool;

    /// The values of the entries that agree, of a maplet.
    fn values_matching<F: Encoding>(read: Read<F, Self>, mask: u64) -> MatchingValues;

    /// Returns the entry of an item of whose position all is known, with its value, if the two words of a growing table hold
    /// exactly one. In a table of fixed size: `None`.
    fn only<F: Encoding>(_: Read<F, Self>) -> Option<Only<F>> {
        None
    }

    /// Of the entries of the item, with its value, in each word one of which the most is known.
    fn longest<F: Encoding>(read: Read<F, Self>) -> [Option<Found>; 2];
}

/// A bucket as its slots are read at one time. The places of an item are those with a position in the bucket.
#[derive(Clone, Copy)]
pub struct Bucket<P> {
    pub(super) number: usize,
    pub(super) placement: P,
}

impl<P: Placing> Bucket<P> {
    /// The bucket with this number.
    #[inline]
    pub(crate) fn at(placement: P, number: usize) -> Self {
        Self { number, placement }
    }

    /// The bucket of a place; of a place that belongs to two, one of them.
    #[inline]
    pub(crate) fn of(placement: P, place: Place) -> Self {
        Self::at(placement, placement.bucket_of(place.position))
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.number
    }

    /// What a slot of it holds of an entry at this place, as [`Placing::slot`].
    #[inline]
    pub(super) fn slot<F: Encoding>(self, place: Place) -> Option<Slot> {
        P::slot::<F>(self, place)
    }

    /// The place of what a slot of it holds.
    #[inline]
    pub(super) fn place<F: Encoding>(self, slot: Slot) -> Place {
        P::place::<F>(self, slot)
    }

    /// Whether the bucket was found by this placement: if so, the table has not grown since then.
    #[inline]
    pub(super) fn is_of(self, placement: P) -> bool {
        self.placement.is_same(placement)
    }

    /// Whether it is the bucket of a place, or the one of two that [`of`](Self::of) gives.
    #[inline]
    pub(super) fn is_of_place(self, place: Place) -> bool {
        self.placement.bucket_of(place.position) == self.number
    }

    /// All bits of a slot below its value, if it has one.
    #[inline]
    pub(super) fn below(self) -> Option<u64> {
        self.placement.values().below()
    }

    /// The word of one bucket alone, and the place of an item there.
    #[inline]
    pub(super) fn alone<F: Encoding>(
        self,
        word: F,
        Place { position, entry }: Place,
    ) -> Read<F, P> {
        let key = Key { entry, first: position, second: position };
        Read { key, buckets: [self; 2], words: [word, F::EMPTY] }
    }

    /// How many entries of an item the word of the bucket holds, by the bits of the mask, if there is one. No growth
    /// parts them from the item.
    pub(crate) fn copies<F: Encoding>(self, word: F, item: Place, mask: Option<u64>) -> usize {
        // Each slot as a lookup would see it alone.
        let word_of = |slot| F::EMPTY.with(slot).expect("an empty word has room");
        let is_its = |&slot: &Slot| P::either_agrees(self.alone(word_of(slot), item), mask);
        word.slots_in_use().filter(is_its).count()
    }

    /// Whether the word of the bucket of a maplet holds an entry of an item, whatever its value is; false in
    /// a filter.
    #[inline]
    pub(super) fn holds_key<F: Encoding>(self, word: F, item: Place) -> bool {
        P::Values::ANY && self.alone(word, item).holds_item(false)
    }
}

/// What was read of an item: the words of its buckets, which were found by one placement.
#[derive(Clone, Copy)]
pub struct Read<F, P> {
    pub(crate) key: Key,
    /// Those of its places, in this order.
    pub(crate) buckets: [Bucket<P>; 2],
    pub(crate) words: [F; 2],
}

impl<F: Encoding, P: Placing> Read<F, P> {
    /// Whether either word holds an entry of the item: the heart of a lookup. Where it is not `with_value`, an entry
    /// with another value counts, too.
    #[inline]
    pub(crate) fn holds_item(self, with_value: bool) -> bool {
        let mask = if with_value { None } else { self.buckets[0].below() };
        P::either_agrees(self, mask)
    }

    /// The values of the item in the words of a maplet.
    #[inline]
    pub(crate) fn values(self) -> Candidates {
        let Some(mask) = self.buckets[0].below() else {
            return Candidates::new();
        };
        let values = P::values_matching(self, mask);
        Candidates::of(values, self.buckets[0].placement.values().bits())
    }
}

/// An entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub(crate) slot: Slot,
    /// As of its [`Entry`](entry::Entry).
    pub(crate) known: u32,
}

impl Found {
    /// No slot has more than 32 bits.
    #[inline]
    pub(super) fn bits(self) -> u32 {
        self.slot.bits() as u32
    }
}

/// Buckets from which on a table does not fit well into a core's own cache: 1 MiB of words.
pub(super) const OUT_OF_CACHE_BUCKETS: usize = 1 << 17;
