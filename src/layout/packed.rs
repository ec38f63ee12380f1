//! The plain layouts: every fingerprint whole, in a lane of its own.

use super::MAX_SLOTS;
use super::sealed::Word;

/// The plain layout: `SLOTS` lanes of `BITS` bits, from the lowest bit up, a fingerprint in each.
///
/// | lane | meaning |
/// |---|---|
/// | 0 | free |
/// | anything else | a fingerprint |
///
/// Bits above the last lane are always 0. The layouts that exist have names, such as
/// [`Fp12x5`](crate::Fp12x5).
///
/// # Examples
///
/// ```
/// use coucal::{Layout, Packed};
///
/// assert_eq!(Packed::<12, 5>::NAME, "Fp12x5");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Packed<const BITS: u32, const SLOTS: usize>;

/// Lanes by arithmetic on the whole word. All but [`lanes`](Self::lanes) heed no bit above the last
/// lane.
impl<const BITS: u32, const SLOTS: usize> Packed<BITS, SLOTS> {
    /// The lowest bit of every lane.
    const LOW: u64 = {
        assert!(BITS as usize * SLOTS <= 64 && BITS >= 4 && SLOTS >= 2 && SLOTS <= MAX_SLOTS);
        let (mut low, mut slot) = (0, 0);
        while slot < SLOTS {
            low |= 1 << (BITS as usize * slot);
            slot += 1;
        }
        low
    };
    /// The highest bit of every lane.
    pub(super) const HIGH: u64 = Self::LOW << (BITS - 1);
    /// Every bit of a lane but its highest.
    const REST: u64 = Self::HIGH - Self::LOW;
    /// One lane, at the bottom.
    pub(super) const LANE: u64 = (1 << BITS) - 1;

    /// The highest bit of each lane that is not 0; exact, since no sum crosses into the next lane.
    #[inline]
    fn used_lanes(word: u64) -> u64 {
        (((word & Self::REST) + Self::REST) | word) & Self::HIGH
    }

    /// The highest bit of each lane that equals `value`.
    #[inline]
    pub(super) fn equal_lanes(word: u64, value: u64) -> u64 {
        Self::used_lanes(word ^ Self::broadcast(value)) ^ Self::HIGH
    }

    /// The value in every lane.
    #[inline]
    fn broadcast(value: u64) -> u64 {
        value.wrapping_mul(Self::LOW)
    }

    /// How many of the highest bits are set: the product adds up all lanes in the last one.
    #[inline]
    pub(super) fn lanes(mask: u64) -> usize {
        let sum = (mask >> (BITS - 1)).wrapping_mul(Self::LOW);
        ((sum >> (BITS as usize * (SLOTS - 1))) & Self::LANE) as usize
    }

    /// The value of one lane.
    #[inline]
    pub(super) fn lane(word: u64, slot: usize) -> u64 {
        (word >> (BITS as usize * slot)) & Self::LANE
    }

    /// The lowest bit of the lane that owns the lowest set bit of `mask`.
    #[inline]
    fn lane_shift(mask: u64) -> u32 {
        mask.trailing_zeros() - (BITS - 1)
    }
}

impl<const BITS: u32, const SLOTS: usize> Word for Packed<BITS, SLOTS> {
    #[inline]
    fn copies(word: u64, fingerprint: u64) -> usize {
        Self::lanes(Self::equal_lanes(word, fingerprint))
    }

    #[inline]
    fn with(word: u64, fingerprint: u64) -> Option<u64> {
        let free = Self::equal_lanes(word, 0);
        (free != 0).then(|| word | (fingerprint << Self::lane_shift(free)))
    }

    #[inline]
    fn without(word: u64, fingerprint: u64) -> Option<u64> {
        let held = Self::equal_lanes(word, fingerprint);
        (held != 0).then(|| word ^ (fingerprint << Self::lane_shift(held)))
    }

    #[inline]
    fn fingerprints(word: u64) -> [u64; MAX_SLOTS] {
        let mut lanes = [0; MAX_SLOTS];
        for (slot, lane) in lanes.iter_mut().enumerate().take(SLOTS) {
            *lane = Self::lane(word, slot);
        }
        lanes
    }

    #[inline]
    fn either_holds(a: u64, b: u64, fingerprint: u64) -> bool {
        let sought = Self::broadcast(fingerprint);
        Self::used_lanes(a ^ sought) & Self::used_lanes(b ^ sought) != Self::HIGH
    }
}
