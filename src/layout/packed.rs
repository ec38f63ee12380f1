//! The plain layouts: each fingerprint is stored whole, in a lane of its own.

use super::candidates::MatchingValues;
use super::{Encoding, LayoutId, MAX_SLOTS, Matches, Only, Slot, both};
use crate::arch::{self, Lanes, Marks, Query, Ring};
use crate::backports::select_unpredictable;

/// The plain layout: `SLOTS` lanes of `BITS` bits, from the lowest bit up, with a fingerprint in each.
///
/// | lane | meaning |
/// |---|---|
/// | 0 | free |
/// | anything else | a fingerprint |
///
/// The lanes in use are the lowest ones, without a gap. So the last lane tells whether a lane is free; and of two
/// words, the greater one has no fewer lanes in use. Bits above the last lane are always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed<const BITS: u32, const SLOTS: usize>(u64);

impl<const BITS: u32, const SLOTS: usize> Packed<BITS, SLOTS> {
    /// Returns the word without the lane that begins at the bit `gap`. The lanes above it move down by one.
    #[inline]
    fn without_lane(word: u64, gap: u32) -> u64 {
        word ^ ((word ^ (word >> BITS)) & (u64::MAX << gap))
    }

    /// Returns the slot in the lane that is marked, if exactly one is.
    #[inline(always)]
    fn only_marked(words: [u64; 2], marks: Marks) -> Matches<Self> {
        if !marks.both.is_power_of_two() {
            return if marks.both == 0 { Matches::None } else { Matches::Several };
        }
        let in_first = marks.second == 0;
        let word = select_unpredictable(in_first, words[0], words[1]);
        let lane = marks.both.trailing_zeros() / BITS;
        let slot = Slot::new(Lanes::<BITS, SLOTS>::get(word, lane as usize));
        let without = Self(Self::without_lane(word, lane * BITS));
        Matches::One(Only { in_first, slot, without })
    }

    /// Returns the longest of the slots that `matching` marks and that [know](Slot::known) at most `most` bits: one
    /// that knows the most bits, with their number.
    // Always inlined: the result does not fit into the registers that a call can return.
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

impl<const BITS: u32, const SLOTS: usize> Encoding for Packed<BITS, SLOTS> {
    const ID: LayoutId =
        LayoutId::find(Self::ENCODING, Self::BITS, SLOTS).expect("one of the layouts");
    const BITS: u32 = BITS;
    const SLOTS: usize = SLOTS;
    const ENCODING: u8 = 0;
    const EMPTY: Self = Self(0);

    #[inline]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    fn slots(self) -> [u64; MAX_SLOTS] {
        let mut slots = [0; MAX_SLOTS];
        for (index, slot) in slots.iter_mut().enumerate().take(SLOTS) {
            *slot = Lanes::<BITS, SLOTS>::get(self.0, index);
        }
        slots
    }

    #[inline]
    fn is_canonical(self) -> bool {
        let in_use = Lanes::<BITS, SLOTS>::nonzero(self.0);
        let next_in_use = in_use >> BITS;
        next_in_use & !in_use | self.0 & Lanes::<BITS, SLOTS>::ABOVE == 0
    }

    #[inline]
    fn in_use(self) -> usize {
        Lanes::<BITS, SLOTS>::count(Lanes::<BITS, SLOTS>::nonzero(self.0))
    }

    #[inline]
    fn has_room(self) -> bool {
        self.0 >> Lanes::<BITS, SLOTS>::LAST == 0
    }

    #[inline]
    fn is_fuller(self, other: Self) -> bool {
        self.0 > other.0
    }

    /// Adds the slot below the others: this takes one shift, and no search for the first free lane.
    #[inline]
    fn with(self, slot: Slot) -> Option<Self> {
        self.has_room().then(|| Self(self.0 << BITS | slot.bits()))
    }

    #[inline]
    fn without(self, slot: Slot) -> Option<Self> {
        let gap = arch::find::<BITS, SLOTS>(self.0, slot.bits());
        gap.map(|gap| Self(Self::without_lane(self.0, gap)))
    }

    #[inline]
    fn either_holds(words: [Self; 2], slot: Slot, mask: Option<u64>) -> bool {
        let [a, b] = both(words, |Self(word)| {
            mask.map_or(word, |mask| Lanes::<BITS, SLOTS>::masked(word, mask))
        });
        arch::either_holds::<BITS, SLOTS>(a, b, slot.bits() & mask.unwrap_or(u64::MAX))
    }

    #[inline]
    fn values_of_equal(words: [Self; 2], bits: u64, mask: u64) -> MatchingValues {
        let words = both(words, Self::bits);
        MatchingValues { words, marks: arch::equal_lanes::<BITS, SLOTS>(words, bits, mask) }
    }

    #[inline]
    fn only_equal(words: [Self; 2], bits: u64, mask: u64) -> Matches<Self> {
        let words = both(words, Self::bits);
        Self::only_marked(words, arch::equal_lanes::<BITS, SLOTS>(words, bits, mask))
    }

    /// Begins with the last lane, so that free lanes add nothing. Has no branch, since no processor could predict it.
    #[inline]
    fn parted(self, bit: u32) -> [Self; 2] {
        let [mut zeros, mut ones] = [0; 2];
        let (bits, cleared) = (self.0 >> bit, self.0 & !(Lanes::<BITS, SLOTS>::LOW << bit));
        for lane in (0..SLOTS).rev() {
            let slot = Lanes::<BITS, SLOTS>::get(cleared, lane);
            let is_one = bits >> (BITS as usize * lane) & 1;
            zeros = zeros << (u64::from(BITS) * (1 - is_one)) | slot & is_one.wrapping_sub(1);
            ones = ones << (u64::from(BITS) * is_one) | slot & is_one.wrapping_neg();
        }
        [Self(zeros), Self(ones)]
    }

    #[inline]
    fn either_matches(words: [Self; 2], sought: Query) -> bool {
        arch::either_matches::<BITS, SLOTS>(both(words, Self::bits), sought)
    }

    #[inline]
    fn values_matching(words: [Self; 2], sought: Query) -> MatchingValues {
        let words = both(words, Self::bits);
        MatchingValues { words, marks: arch::matching_lanes::<BITS, SLOTS>(words, sought) }
    }

    #[inline]
    fn only(words: [Self; 2], sought: Query) -> Matches<Self> {
        let words = both(words, Self::bits);
        Self::only_marked(words, arch::matching_lanes::<BITS, SLOTS>(words, sought))
    }

    #[inline]
    fn longest(words: [Self; 2], sought: Query, most: u32) -> [Option<(Slot, u32)>; 2] {
        let words = both(words, Self::bits);
        let marks = arch::matching_lanes::<BITS, SLOTS>(words, sought);
        let longest =
            |at: usize, matching| Self::longest_of(words[at], matching, sought.ring, most);
        [longest(0, marks.first()), longest(1, marks.second)]
    }

    #[inline]
    fn each_has(self, mask: u64) -> bool {
        let has = Lanes::<BITS, SLOTS>::masked(self.0, mask);
        Lanes::<BITS, SLOTS>::nonzero(has) == Lanes::<BITS, SLOTS>::nonzero(self.0)
    }
}
