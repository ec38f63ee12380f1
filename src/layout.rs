//! How the fingerprints of one bucket sit in one 64-bit word: pure functions on `u64`.
//!
//! A word is a multiset of fingerprints: a slot has no meaning beyond the fingerprint in it, and no
//! caller may rely on which slot a fingerprint takes. The word 0 is the empty bucket in every
//! layout, so a zeroed table is an empty one.

use sealed::Word;

/// A way to lay out the fingerprints of a bucket in a 64-bit word.
///
/// The trait is sealed: the layouts of this crate are the ones there are.
///
/// # Examples
///
/// ```
/// use coucal::{Fp16x4, Layout};
///
/// assert_eq!((Fp16x4::FINGERPRINT_BITS, Fp16x4::SLOTS), (16, 4));
/// ```
pub trait Layout: Word {
    /// The name of the layout, as its type is spelt.
    const NAME: &'static str;
    /// Bits of a fingerprint.
    const FINGERPRINT_BITS: u32;
    /// Slots of a bucket.
    const SLOTS: usize;
}

/// The default layout: four fingerprints of 16 bits. 0.0122 % false positives at full load.
pub type Fp16x4 = Packed<16, 4>;

/// The most slots that any layout has.
pub(crate) const MAX_SLOTS: usize = 8;

pub(crate) mod sealed {
    use super::MAX_SLOTS;

    /// What the table asks of a word. A fingerprint here is never 0.
    pub trait Word: Send + Sync + 'static {
        /// The share of slots in use that a large table reaches with some reserve.
        const LOAD: f64;
        /// Slots beyond that for each square root of an item: the scatter of small tables.
        const SCATTER: f64;

        /// How many copies of `fingerprint` the word holds.
        fn copies(word: u64, fingerprint: u64) -> usize;

        /// How many slots are free.
        fn free(word: u64) -> usize;

        /// The word with one more copy, or `None` if no slot is free.
        fn with(word: u64, fingerprint: u64) -> Option<u64>;

        /// The word with one copy less, or `None` if it holds none.
        fn without(word: u64, fingerprint: u64) -> Option<u64>;

        /// The fingerprints of the word, 0 for a free slot; the first `SLOTS` places count.
        fn fingerprints(word: u64) -> [u64; MAX_SLOTS];

        /// Whether one word or the other holds `fingerprint`: the heart of a lookup.
        #[inline]
        fn either_holds(a: u64, b: u64, fingerprint: u64) -> bool {
            (Self::copies(a, fingerprint) | Self::copies(b, fingerprint)) != 0
        }
    }
}

/// `SLOTS` lanes of `BITS` bits, from the lowest bit up.
///
/// | lane | meaning |
/// |---|---|
/// | 0 | free |
/// | anything else | a fingerprint |
///
/// Bits above the last lane are always 0.
#[derive(Clone, Copy, Debug)]
pub struct Packed<const BITS: u32, const SLOTS: usize>;

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
    const HIGH: u64 = Self::LOW << (BITS - 1);
    /// Every bit of a lane but its highest.
    const REST: u64 = Self::HIGH - Self::LOW;
    /// One lane, at the bottom.
    const LANE: u64 = (1 << BITS) - 1;

    /// The highest bit of each lane that is not 0; exact, since no sum crosses into the next lane.
    #[inline]
    fn used_lanes(word: u64) -> u64 {
        (((word & Self::REST) + Self::REST) | word) & Self::HIGH
    }

    /// The highest bit of each lane that is 0.
    #[inline]
    fn free_lanes(word: u64) -> u64 {
        Self::used_lanes(word) ^ Self::HIGH
    }

    /// The fingerprint in every lane.
    #[inline]
    fn broadcast(fingerprint: u64) -> u64 {
        fingerprint.wrapping_mul(Self::LOW)
    }

    /// How many of the highest bits are set: the product adds up all lanes in the last one.
    #[inline]
    fn lanes(mask: u64) -> usize {
        let sum = (mask >> (BITS - 1)).wrapping_mul(Self::LOW);
        ((sum >> (BITS as usize * (SLOTS - 1))) & Self::LANE) as usize
    }

    /// The lowest bit of the lane that owns the lowest set bit of `mask`.
    #[inline]
    fn lane_shift(mask: u64) -> u32 {
        mask.trailing_zeros() - (BITS - 1)
    }
}

impl<const BITS: u32, const SLOTS: usize> Word for Packed<BITS, SLOTS> {
    const LOAD: f64 = 0.96;
    const SCATTER: f64 = 5.0;

    #[inline]
    fn copies(word: u64, fingerprint: u64) -> usize {
        Self::lanes(Self::free_lanes(word ^ Self::broadcast(fingerprint)))
    }

    #[inline]
    fn free(word: u64) -> usize {
        Self::lanes(Self::free_lanes(word))
    }

    #[inline]
    fn with(word: u64, fingerprint: u64) -> Option<u64> {
        let free = Self::free_lanes(word);
        (free != 0).then(|| word | (fingerprint << Self::lane_shift(free)))
    }

    #[inline]
    fn without(word: u64, fingerprint: u64) -> Option<u64> {
        let held = Self::free_lanes(word ^ Self::broadcast(fingerprint));
        (held != 0).then(|| word ^ (fingerprint << Self::lane_shift(held)))
    }

    #[inline]
    fn fingerprints(word: u64) -> [u64; MAX_SLOTS] {
        let mut lanes = [0; MAX_SLOTS];
        for (slot, lane) in lanes.iter_mut().enumerate().take(SLOTS) {
            *lane = (word >> (BITS as usize * slot)) & Self::LANE;
        }
        lanes
    }

    #[inline]
    fn either_holds(a: u64, b: u64, fingerprint: u64) -> bool {
        let sought = Self::broadcast(fingerprint);
        Self::used_lanes(a ^ sought) & Self::used_lanes(b ^ sought) != Self::HIGH
    }
}

impl Layout for Fp16x4 {
    const NAME: &'static str = "Fp16x4";
    const FINGERPRINT_BITS: u32 = 16;
    const SLOTS: usize = 4;
}
