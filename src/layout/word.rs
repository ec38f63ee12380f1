//! The word of a bucket, and what its slots hold.

use core::marker::PhantomData;

use super::candidates::MatchingValues;
use super::{Format, MAX_SLOTS};
use crate::arch::{Pattern, Ring, Sought};

/// What a slot in use holds: never 0, which marks a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

impl Slot {
    /// What a slot in use holds.
    #[inline]
    pub(crate) fn new(bits: u64) -> Self {
        debug_assert!(bits != 0, "a free slot holds no entry");
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// With its ring turned: the head is the lowest bit then.
    #[inline]
    pub(crate) fn turned(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let turned = held >> ring.head | held << (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | turned & ring.mask())
    }

    /// What `turned` has turned, as it was.
    #[inline]
    pub(crate) fn turned_back(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let turned = held << ring.head | held >> (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | turned & ring.mask())
    }

    /// How many bits of a position it knows from the head on: those below the leading 1 of its ring, when it is
    /// turned. The ring of a slot in use has a 1; one that is read while it changes may have none.
    #[inline]
    pub(crate) fn known(self, ring: Ring) -> u32 {
        (self.turned(ring).bits() & ring.mask()).checked_ilog2().unwrap_or(0)
    }
}

/// Whether a slot of one of two buckets holds what is sought; a free one does not. The definition of what the layouts
/// compute for all slots at once.
pub(super) fn is_sought(slot: u64, sought: Sought, bucket: usize) -> bool {
    let mask = sought.mask.unwrap_or(u64::MAX);
    let turned = || Slot::new(slot).turned(sought.ring).bits();
    slot != 0 && sought.pattern(bucket).masked(mask).matches(turned() & mask)
}

/// The 64 bits of a bucket: a multiset of entries, as a format encodes it. All zeros are the empty
/// bucket.
#[derive(Clone, Copy)]
pub struct Word<F> {
    bits: u64,
    format: PhantomData<F>,
}

impl<F: Format> Word<F> {
    pub(crate) const EMPTY: Self = Self::from_bits(0);

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self { bits, format: PhantomData }
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.bits
    }

    /// What each slot holds, 0 for a free one; those of the layout come first.
    #[inline]
    fn slots(self) -> [u64; MAX_SLOTS] {
        F::unpack(self.bits)
    }

    /// The slots in use, in no order that has a meaning.
    #[inline]
    pub(crate) fn slots_in_use(self) -> impl Iterator<Item = Slot> {
        let slots = self.slots();
        (0..F::SLOTS).map(move |slot| slots[slot]).filter(|&bits| bits != 0).map(Slot::new)
    }

    /// The slots of a full word, or `None` if a slot is free.
    #[inline]
    pub(crate) fn slots_if_full(self) -> Option<impl Fn(usize) -> Slot> {
        let slots = (!self.has_room()).then(|| self.slots())?;
        Some(move |slot| Slot::new(slots[slot]))
    }

    /// How many slots are in use.
    #[inline]
    pub(crate) fn in_use(self) -> usize {
        F::SLOTS - F::free(self.bits)
    }

    /// Whether a slot is free.
    #[inline]
    pub(crate) fn has_room(self) -> bool {
        F::has_room(self.bits)
    }

    /// Whether it has fewer free slots than `other`. If they have as many, any answer is right.
    #[inline]
    pub(crate) fn is_fuller(self, other: Self) -> bool {
        F::is_fuller(self.bits, other.bits)
    }

    /// Whether a slot holds this.
    #[inline]
    pub(crate) fn holds(self, slot: Slot) -> bool {
        F::either_holds([self.bits, 0], slot, None)
    }

    /// Whether a slot of one word or the other holds this; by the bits of the mask, if there is one: all bits
    /// below a value.
    #[inline]
    pub(crate) fn either_holds(words: [Self; 2], slot: Slot, mask: Option<u64>) -> bool {
        F::either_holds(words.map(Self::bits), slot, mask)
    }

    /// How many slots hold this.
    #[inline]
    pub(crate) fn copies(self, slot: Slot) -> usize {
        F::copies(self.bits, slot)
    }

    /// Whether a slot of one word or the other holds what is sought.
    #[inline]
    pub(crate) fn either_matches(words: [Self; 2], sought: Sought) -> bool {
        F::either_matches(words.map(Self::bits), sought)
    }

    /// How many slots match.
    #[inline]
    pub(crate) fn matches(self, pattern: Pattern) -> usize {
        F::matches(self.bits, pattern)
    }

    /// How many slots in use hold what `bits` has among the bits of the mask, one of which is a 1.
    #[inline]
    pub(crate) fn equal_below(self, bits: u64, mask: u64) -> usize {
        F::equal_below(self.bits, bits, mask)
    }

    /// The values of the slots in use of each word that hold what `bits` has among the bits of the mask: all
    /// bits below a value.
    #[inline]
    pub(crate) fn values_of_equal(words: [Self; 2], bits: u64, mask: u64) -> MatchingValues {
        F::values_of_equal(words.map(Self::bits), bits, mask)
    }

    /// The values of the slots of each word that hold what is sought.
    #[inline]
    pub(crate) fn values_matching(words: [Self; 2], sought: Sought) -> MatchingValues {
        F::values_matching(words.map(Self::bits), sought)
    }

    /// With the ring of each slot turned: its head is the lowest bit then.
    #[inline]
    pub(crate) fn turned(self, ring: Ring) -> Self {
        Self { bits: F::turned(self.bits, ring), ..self }
    }

    /// Of the slots of each word that hold what is sought, and [know](Slot::known) no more than `most`, one that knows
    /// the most, and how much that is.
    #[inline]
    pub(crate) fn longest(words: [Self; 2], sought: Sought, most: u32) -> [Option<(Slot, u32)>; 2] {
        F::longest(words.map(Self::bits), sought, most)
    }

    /// Whether each slot in use has a 1 among the bits of the mask.
    #[inline]
    pub(crate) fn each_has(self, mask: u64) -> bool {
        F::each_has(self.bits, mask)
    }

    /// With this in one slot more, or `None` if no slot is free.
    #[inline]
    pub(crate) fn with(self, slot: Slot) -> Option<Self> {
        F::with(self.bits, slot).map(|bits| Self { bits, ..self })
    }

    /// Without this in one slot, or `None` if no slot holds it.
    #[inline]
    pub(crate) fn without(self, slot: Slot) -> Option<Self> {
        F::without(self.bits, slot).map(|bits| Self { bits, ..self })
    }

    /// Whether the words that are made from an empty one by `with` and `without` include this
    /// one.
    #[inline]
    pub(crate) fn is_canonical(self) -> bool {
        F::is_canonical(self.bits)
    }
}
