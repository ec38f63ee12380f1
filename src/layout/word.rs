//! The entries that the slots of a bucket hold.

use crate::arch::Ring;

/// Calls `of` with each of two elements, such as the buckets of an item. Does the same as `pair.map(of)`, which takes
/// longer to compile, since it adds several functions at each call.
#[inline(always)]
pub fn both<T, U>([first, second]: [T; 2], mut of: impl FnMut(T) -> U) -> [U; 2] {
    let first = of(first);
    [first, of(second)]
}

/// The bits of a slot in use. They are never 0, which marks a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

/// The slots of two words that match a query.
#[derive(Clone, Copy)]
pub enum Matches<F> {
    None,
    One(Only<F>),
    Several,
}

/// The only slot of two words that matches a query.
#[derive(Clone, Copy)]
pub struct Only<F> {
    pub(crate) in_first: bool,
    pub(crate) slot: Slot,
    /// The word of the slot, without it.
    pub(crate) without: F,
}

impl Slot {
    /// Creates a slot in use with these bits.
    #[inline]
    pub(crate) fn new(bits: u64) -> Self {
        debug_assert!(bits != 0, "a free slot holds no entry");
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Returns the slot with its ring rotated, so that the head is the lowest bit.
    #[inline]
    pub(crate) fn rotated(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let rotated = held >> ring.head | held << (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | rotated & ring.mask())
    }

    /// Undoes `rotated`.
    #[inline]
    pub(crate) fn rotated_back(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let rotated = held << ring.head | held >> (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | rotated & ring.mask())
    }

    /// Returns the number of bits of the position that the slot knows from the head on: the bits below the leading 1 of
    /// its rotated ring. The ring of a slot in use has a 1; one that is read while it changes may have none, and then
    /// the answer is 0.
    #[inline]
    pub(crate) fn known(self, ring: Ring) -> u32 {
        (self.rotated(ring).bits() & ring.mask()).checked_ilog2().unwrap_or(0)
    }
}
