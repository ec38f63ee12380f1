//! The plain layouts: every fingerprint whole, in a lane of its own.

use super::MAX_SLOTS;
use super::sealed::Word;
use crate::processor;

/// The plain layout: `SLOTS` lanes of `BITS` bits, from the lowest bit up, a fingerprint in each.
///
/// | lane | meaning |
/// |---|---|
/// | 0 | free |
/// | anything else | a fingerprint |
///
/// The lanes in use are the lowest ones, without a gap: so the last lane tells whether there is a
/// free one, and of two words the greater has no fewer lanes in use. Bits above the last lane are
/// always 0. The layouts that exist have names, such as
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
    /// The lowest bit of the last lane.
    const LAST: usize = BITS as usize * (SLOTS - 1);
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
        ((sum >> Self::LAST) & Self::LANE) as usize
    }

    /// The value of one lane.
    #[inline]
    pub(super) fn lane(word: u64, slot: usize) -> u64 {
        (word >> (BITS as usize * slot)) & Self::LANE
    }

    /// The lowest bit of the first lane that equals `value`, which is not 0.
    #[inline]
    fn find(word: u64, value: u64) -> Option<u32> {
        if let Some(bytes) = processor::equal_lanes::<BITS>(word, 0, value) {
            return (bytes != 0).then(|| bytes.trailing_zeros() * 8);
        }
        let equal = Self::equal_lanes(word, value);
        (equal != 0).then(|| equal.trailing_zeros() - (BITS - 1))
    }

    /// The lowest bit of the first free lane of a word that has one.
    #[inline]
    fn first_free(word: u64) -> u32 {
        let bits_in_use = (word << 1 | 1).ilog2();
        bits_in_use.div_ceil(BITS) * BITS
    }

    /// The lowest bit of the last lane in use of a word that is not 0.
    #[inline]
    fn last_used(word: u64) -> u32 {
        (word | 1).ilog2() / BITS * BITS
    }
}

impl<const BITS: u32, const SLOTS: usize> Word for Packed<BITS, SLOTS> {
    #[inline]
    fn copies(word: u64, fingerprint: u64) -> usize {
        Self::lanes(Self::equal_lanes(word, fingerprint))
    }

    #[inline]
    fn holds(word: u64, fingerprint: u64) -> bool {
        Self::either_holds(word, 0, fingerprint)
    }

    #[inline]
    fn either_holds(a: u64, b: u64, fingerprint: u64) -> bool {
        match processor::equal_lanes::<BITS>(a, b, fingerprint) {
            Some(bytes) => bytes != 0,
            None => Self::equal_lanes(a, fingerprint) | Self::equal_lanes(b, fingerprint) != 0,
        }
    }

    #[inline]
    fn has_room(word: u64) -> bool {
        word >> Self::LAST == 0
    }

    #[inline]
    fn fuller(a: u64, b: u64) -> bool {
        a > b
    }

    #[inline]
    fn with(word: u64, fingerprint: u64) -> Option<u64> {
        Self::has_room(word).then(|| word | (fingerprint << Self::first_free(word)))
    }

    /// The topmost fingerprint moves into the gap.
    #[inline]
    fn without(word: u64, fingerprint: u64) -> Option<u64> {
        Self::find(word, fingerprint).map(|gap| {
            let last = Self::last_used(word);
            let moved = word >> last;
            word ^ ((fingerprint ^ moved) << gap) ^ (moved << last)
        })
    }

    #[inline]
    fn fingerprints(word: u64) -> [u64; MAX_SLOTS] {
        let mut lanes = [0; MAX_SLOTS];
        for (slot, lane) in lanes.iter_mut().enumerate().take(SLOTS) {
            *lane = Self::lane(word, slot);
        }
        lanes
    }
}
