//! What the slots of a bucket hold.

use crate::arch::Ring;

/// The same of each of two, such as the buckets of an item. As `pair.map(of)`, which takes longer to compile: it is several
/// functions at each call.
#[inline(always)]
pub fn both<T, U>([first, second]: [T; 2], mut of: impl FnMut(T) -> U) -> [U; 2] {
    let first = of(first);
    [first, of(second)]
}

/// What a slot in use holds: never 0, which marks a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

/// The only slot of two words that holds what is sought.
pub struct Only<F> {
    pub(crate) in_first: bool,
    pub(crate) slot: Slot,
    /// The word of the slot, without it.
    pub(crate) without: F,
}

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
    pub(crate) fn rotated(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let rotated = held >> ring.head | held << (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | rotated & ring.mask())
    }

    /// What `turned` has turned, as it was.
    #[inline]
    pub(crate) fn rotated_back(self, ring: Ring) -> Self {
        let held = self.0 & ring.mask();
        let rotated = held << ring.head | held >> (ring.bits - ring.head);
        Self(self.0 & !ring.mask() | rotated & ring.mask())
    }

    /// How many bits of a position it knows from the head on: those below the leading 1 of its ring, when it is
    /// turned. The ring of a slot in use has a 1; one that is read while it changes may have none.
    #[inline]
    pub(crate) fn known(self, ring: Ring) -> u32 {
        (self.rotated(ring).bits() & ring.mask()).checked_ilog2().unwrap_or(0)
    }
}
