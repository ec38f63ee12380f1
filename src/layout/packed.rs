//! The plain layouts: every fingerprint whole, in a lane of its own.

use super::MAX_SLOTS;
use super::sealed::Encoding;
use crate::arch;
use crate::entry::{Entry, Pattern};
use crate::lanes::Lanes;

/// The plain layout: `SLOTS` lanes of `BITS` bits, from the lowest bit up, a fingerprint in each.
///
/// | lane | meaning |
/// |---|---|
/// | 0 | free |
/// | anything else | a fingerprint |
///
/// The lanes in use are the lowest ones, without a gap: so the last lane tells whether there is a
/// free one, and of two words the greater has no fewer lanes in use. Bits above the last lane are
/// always 0.
pub struct Packed<const BITS: u32, const SLOTS: usize>;

impl<const BITS: u32, const SLOTS: usize> Packed<BITS, SLOTS> {
    /// The lowest bit of the first free lane of a word that has one.
    #[inline]
    fn first_free(word: u64) -> u32 {
        let bits_in_use = (word << 1 | 1).ilog2();
        bits_in_use.div_ceil(BITS) * BITS
    }
}

impl<const BITS: u32, const SLOTS: usize> Encoding for Packed<BITS, SLOTS> {
    const ID: u8 = 0;

    #[inline]
    fn copies(word: u64, pattern: Pattern) -> usize {
        Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::equal(word, pattern.bits()))
    }

    #[inline]
    fn free(word: u64) -> usize {
        SLOTS - Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::nonzero(word))
    }

    #[inline]
    fn holds(word: u64, pattern: Pattern) -> bool {
        Self::either_holds(word, 0, pattern)
    }

    #[inline]
    fn either_holds(a: u64, b: u64, pattern: Pattern) -> bool {
        arch::either_holds::<BITS, SLOTS>(a, b, pattern.bits())
    }

    #[inline]
    fn has_room(word: u64) -> bool {
        word >> Lanes::<BITS, SLOTS>::LAST == 0
    }

    #[inline]
    fn fuller(a: u64, b: u64) -> bool {
        a > b
    }

    #[inline]
    fn with(word: u64, entry: Entry) -> Option<u64> {
        Self::has_room(word).then(|| word | (entry.bits() << Self::first_free(word)))
    }

    /// The lanes above the gap move down by one.
    #[inline]
    fn without(word: u64, entry: Entry) -> Option<u64> {
        arch::find::<BITS, SLOTS>(word, entry.bits())
            .map(|gap| word ^ ((word ^ (word >> BITS)) & (u64::MAX << gap)))
    }

    #[inline]
    fn slots(word: u64) -> [u64; MAX_SLOTS] {
        let mut slots = [0; MAX_SLOTS];
        for (index, slot) in slots.iter_mut().enumerate().take(SLOTS) {
            *slot = Lanes::<BITS, SLOTS>::get(word, index);
        }
        slots
    }

    #[inline]
    fn any_differs(word: u64, value: u64, mask: u64) -> bool {
        Lanes::<BITS, SLOTS>::differ(word, value, mask) & Lanes::<BITS, SLOTS>::nonzero(word) != 0
    }

    #[inline]
    fn is_canonical(word: u64) -> bool {
        let in_use = Lanes::<BITS, SLOTS>::nonzero(word);
        let next_in_use = in_use >> BITS;
        next_in_use & !in_use | word & Lanes::<BITS, SLOTS>::ABOVE == 0
    }
}
