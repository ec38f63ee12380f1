//! The plain layouts: every fingerprint whole, in a lane of its own.

use super::candidates::MatchingValues;
use super::{Format, LayoutId, MAX_SLOTS, Slot};
use crate::arch::{self, Lanes, Pattern, Ring, Sought};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed<const BITS: u32, const SLOTS: usize>;

impl<const BITS: u32, const SLOTS: usize> Packed<BITS, SLOTS> {
    /// The bits of each lane that are in the mask, if there is one.
    #[inline]
    fn masked(word: u64, mask: Option<u64>) -> u64 {
        mask.map_or(word, |mask| Lanes::<BITS, SLOTS>::masked(word, mask))
    }

    /// Of the lanes in which a bit is set in `matching`, one whose slot [knows](Slot::known) the most, but no more than
    /// `most`, and how much that is.
    #[expect(clippy::inline_always, reason = "what it returns is more than registers take")]
    #[inline(always)]
    fn longest_of(word: u64, mut matching: u64, ring: Ring, most: u32) -> Option<(Slot, u32)> {
        let mut longest: Option<(Slot, u32)> = None;
        while matching != 0 {
            let lane = matching.trailing_zeros() / BITS;
            let slot = Slot::new(Lanes::<BITS, SLOTS>::get(word, lane as usize));
            let known = slot.known(ring);
            if known <= most && longest.is_none_or(|(_, longest)| longest < known) {
                longest = Some((slot, known));
            }
            matching &= matching - 1;
        }
        longest
    }
}

impl<const BITS: u32, const SLOTS: usize> Format for Packed<BITS, SLOTS> {
    const ID: LayoutId =
        LayoutId::find(Self::ENCODING, Self::BITS, SLOTS).expect("one of the layouts");
    const BITS: u32 = BITS;
    const SLOTS: usize = SLOTS;
    const ENCODING: u8 = 0;

    #[inline]
    fn copies(word: u64, slot: Slot) -> usize {
        Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::equal(word, slot.bits()))
    }

    #[inline]
    fn free(word: u64) -> usize {
        SLOTS - Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::nonzero(word))
    }

    #[inline]
    fn either_holds(words: [u64; 2], slot: Slot, mask: Option<u64>) -> bool {
        let [a, b] = words.map(|word| Self::masked(word, mask));
        arch::either_holds::<BITS, SLOTS>(a, b, slot.bits() & mask.unwrap_or(u64::MAX))
    }

    #[inline]
    fn either_matches(words: [u64; 2], sought: Sought) -> bool {
        arch::either_matches::<BITS, SLOTS>(words, sought)
    }

    #[inline]
    fn matches(word: u64, pattern: Pattern) -> usize {
        let mismatches = Lanes::<BITS, SLOTS>::mismatches(word, pattern.bits, pattern.low);
        SLOTS - Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::nonzero(mismatches))
    }

    #[inline]
    fn longest(words: [u64; 2], sought: Sought, most: u32) -> [Option<(Slot, u32)>; 2] {
        let marks = arch::matching_lanes::<BITS, SLOTS>(words, sought);
        let longest =
            |at: usize, matching| Self::longest_of(words[at], matching, sought.ring, most);
        [longest(0, marks.first()), longest(1, marks.second)]
    }

    #[inline]
    fn each_has(word: u64, mask: u64) -> bool {
        let has = Lanes::<BITS, SLOTS>::masked(word, mask);
        Lanes::<BITS, SLOTS>::nonzero(has) == Lanes::<BITS, SLOTS>::nonzero(word)
    }

    #[inline]
    fn turned(word: u64, ring: Ring) -> u64 {
        Lanes::<BITS, SLOTS>::turned(word, ring)
    }

    /// In a word whose slots in use have a 1 among the bits of the mask.
    #[inline]
    fn equal_below(word: u64, bits: u64, mask: u64) -> usize {
        let difference = word ^ bits.wrapping_mul(Lanes::<BITS, SLOTS>::LOW);
        let different = Lanes::<BITS, SLOTS>::masked(difference, mask & Lanes::<BITS, SLOTS>::LANE);
        SLOTS - Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::nonzero(different))
    }

    #[inline]
    fn values_of_equal(words: [u64; 2], bits: u64, mask: u64) -> MatchingValues {
        MatchingValues { words, marks: arch::equal_lanes::<BITS, SLOTS>(words, bits, mask) }
    }

    #[inline]
    fn values_matching(words: [u64; 2], sought: Sought) -> MatchingValues {
        MatchingValues { words, marks: arch::matching_lanes::<BITS, SLOTS>(words, sought) }
    }

    #[inline]
    fn has_room(word: u64) -> bool {
        word >> Lanes::<BITS, SLOTS>::LAST == 0
    }

    #[inline]
    fn is_fuller(a: u64, b: u64) -> bool {
        a > b
    }

    /// Below the others: one shift, and no search for the first free lane.
    #[inline]
    fn with(word: u64, slot: Slot) -> Option<u64> {
        Self::has_room(word).then(|| word << BITS | slot.bits())
    }

    /// The lanes above the gap move down by one.
    #[inline]
    fn without(word: u64, slot: Slot) -> Option<u64> {
        arch::find::<BITS, SLOTS>(word, slot.bits())
            .map(|gap| word ^ ((word ^ (word >> BITS)) & (u64::MAX << gap)))
    }

    #[inline]
    fn unpack(word: u64) -> [u64; MAX_SLOTS] {
        let mut slots = [0; MAX_SLOTS];
        for (index, slot) in slots.iter_mut().enumerate().take(SLOTS) {
            *slot = Lanes::<BITS, SLOTS>::get(word, index);
        }
        slots
    }

    #[inline]
    fn is_canonical(word: u64) -> bool {
        let in_use = Lanes::<BITS, SLOTS>::nonzero(word);
        let next_in_use = in_use >> BITS;
        next_in_use & !in_use | word & Lanes::<BITS, SLOTS>::ABOVE == 0
    }
}
