//! The semi-sorted layouts: a bucket is a set, so the order of its fingerprints need not be stored, which saves some
//! bits (Fan et al., CoNEXT 2014, section 5.2).
//!
//! The upper four bits of a fingerprint are its *nibble*, the others its *rest*. There are fewer multisets of nibbles
//! than sequences of them. So the nibbles of a bucket are sorted, and stored as the number of their multiset: 12 bits
//! instead of 16 for four nibbles, 14 instead of 20 for five. This makes each fingerprint one or two bits longer.
//!
//! Four nibbles `a <= b <= c <= d` have a number in the combinatorial number system:
//! `C(a, 1) + C(b + 1, 2) + C(c + 2, 3) + C(d + 3, 4)`. A tiny table suffices to compute it, and four zeros have the
//! number 0. Five nibbles are ordered by the fifth, the greatest, and then by the number of the lower four; so one
//! table decodes both. The numbers with the same fifth nibble are a *run*. Each of the 16 runs begins at a multiple of
//! 64, so that the upper bits of a number tell its run. (Of the 16,384 numbers, 880 are not used.)

use super::candidates::MatchingValues;
use super::{Encoding, LayoutId, MAX_SLOTS, Matches, Only, Slot, both};
use crate::arch::{Lanes, Marks};

/// The bits of a nibble.
const NIBBLE: u32 = 4;
/// The number of values of a nibble.
const NIBBLES: usize = 1 << NIBBLE;
/// The number of 12-bit numbers, including those that are not used: so no index needs a comparison with the length of a
/// table.
const QUARTETS: usize = 1 << 12;
/// Each run of numbers of five nibbles begins at a multiple of this.
const BLOCK: u16 = 64;
/// The number of blocks of numbers of five nibbles: all blocks of 14 bits.
const BLOCKS: usize = (1 << 14) / BLOCK as usize;

/// `RANKS[i][n]`: what the nibble `n` in place `i` adds to the number, C(n + i, i + 1).
const RANKS: [[u16; NIBBLES]; 4] = {
    let mut ranks = [[0; NIBBLES]; 4];
    let mut place = 0;
    while place < 4 {
        let mut nibble = 1;
        while nibble < NIBBLES {
            // Pascal's rule: each row of the triangle follows from the row before.
            let below = if place == 0 { 1 } else { ranks[place - 1][nibble] };
            ranks[place][nibble] = ranks[place][nibble - 1] + below;
            nibble += 1;
        }
        place += 1;
    }
    ranks
};

/// The start of the run of each fifth nibble.
const STARTS: [u16; NIBBLES] = {
    let mut starts = [0; NIBBLES];
    let mut fifth = 1;
    while fifth < NIBBLES {
        // The run before contains the quartets whose nibbles are all less than `fifth`: as many as there are numbers
        // below that of 0, 0, 0, `fifth`.
        starts[fifth] = starts[fifth - 1] + RANKS[3][fifth].next_multiple_of(BLOCK);
        fifth += 1;
    }
    starts
};

/// The four nibbles of each number, the smallest in the lowest bits: 8 KiB. The last 440 bytes belong to no number:
/// only a word that is not canonical leads there.
static NUMBERED: [u16; QUARTETS] = {
    let mut numbered = [0; QUARTETS];
    // The sorted quartets in ascending order: in a number, too, the highest nibble counts most.
    let (mut number, mut quartet) = (0, 0);
    while quartet < 1 << (4 * NIBBLE) {
        let [a, b] = [quartet % NIBBLES, (quartet >> NIBBLE) % NIBBLES];
        let [c, d] = [(quartet >> (2 * NIBBLE)) % NIBBLES, quartet >> (3 * NIBBLE)];
        if a <= b && b <= c && c <= d {
            numbered[number] = quartet as u16;
            number += 1;
        }
        quartet += 1;
    }
    numbered
};

/// The start of the run that contains each block; the lowest bits, which are 0 in a start, hold the fifth nibble of the
/// run. 512 bytes.
static RUNS: [u16; BLOCKS] = {
    let mut runs = [0; BLOCKS];
    let (mut block, mut fifth) = (0, 0);
    while block < BLOCKS {
        while fifth + 1 < NIBBLES && STARTS[fifth + 1] <= block as u16 * BLOCK {
            fifth += 1;
        }
        runs[block] = STARTS[fifth] | fifth as u16;
        block += 1;
    }
    runs
};

/// The semi-sorted layout: `SLOTS` fingerprints of `REST + 4` bits. Their rests are in lanes; the bits above the lanes
/// hold the number of the multiset of their upper four bits.
///
/// | bits | meaning |
/// |---|---|
/// | lane i, `REST` bits, lane 0 lowest | the rest of the i-th fingerprint, in ascending order |
/// | the 12 bits above (14 for five slots) | the number of the multiset of the nibbles |
///
/// A free slot holds the fingerprint 0; the free slots come first. So each multiset of fingerprints has exactly one
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemiSorted<const REST: u32, const SLOTS: usize>(u64);

impl<const REST: u32, const SLOTS: usize> SemiSorted<REST, SLOTS> {
    /// The lowest bit of the number of the multiset.
    const NUMBER: u32 = {
        assert!(SLOTS == 4 || SLOTS == 5);
        let number = REST * SLOTS as u32;
        assert!(number + if SLOTS == 4 { 12 } else { 14 } == 64);
        number
    };
    /// A factor that moves the highest bit of each lane of nibbles to the highest bit of the same lane of rests. The
    /// other products of bits land beside those.
    const WIDEN: u64 = {
        let (mut widen, mut slot) = (0, 0);
        while slot < SLOTS {
            widen |= 1 << ((REST - NIBBLE) as usize * (slot + 1));
            slot += 1;
        }
        widen
    };

    /// Decodes the nibbles of a word into lanes of four bits.
    #[inline]
    fn nibbles(word: u64) -> u64 {
        let number = (word >> Self::NUMBER) as usize;
        if SLOTS == 4 {
            return NUMBERED[number].into();
        }
        let run = usize::from(RUNS[number / usize::from(BLOCK)]);
        let fifth = run % NIBBLES;
        // `fifth` is less than a block, so this is the distance from the start of the run.
        let quartet = NUMBERED[(number - (run - fifth)) % QUARTETS];
        u64::from(quartet) | ((fifth as u64) << (4 * NIBBLE))
    }

    /// Encodes fingerprints in ascending order as a word.
    #[inline]
    fn encode(sorted: [u64; MAX_SLOTS]) -> u64 {
        let (mut number, mut rests) = (0, 0);
        for (slot, fingerprint) in sorted.into_iter().enumerate().take(SLOTS) {
            let nibble = (fingerprint >> REST) as usize % NIBBLES;
            number += RANKS.get(slot).unwrap_or(&STARTS)[nibble];
            rests |= (fingerprint & Lanes::<REST, SLOTS>::LANE) << (REST as usize * slot);
        }
        u64::from(number) << Self::NUMBER | rests
    }

    /// Returns the highest bit of each lane of rests that equals the rest of `bits`, a fingerprint or 0.
    #[inline]
    fn equal_rests(word: u64, bits: u64) -> u64 {
        Lanes::<REST, SLOTS>::equal(word, bits & Lanes::<REST, SLOTS>::LANE)
    }

    /// Returns the highest bit of each lane of rests whose nibble equals that of `bits`, and other bits beside them.
    #[inline]
    fn equal_nibbles(word: u64, bits: u64) -> u64 {
        let equal = Lanes::<NIBBLE, SLOTS>::equal(Self::nibbles(word), bits >> REST);
        equal.wrapping_mul(Self::WIDEN)
    }
}

impl<const REST: u32, const SLOTS: usize> Encoding for SemiSorted<REST, SLOTS> {
    const ID: LayoutId =
        LayoutId::find(Self::ENCODING, Self::BITS, SLOTS).expect("one of the layouts");
    const BITS: u32 = REST + NIBBLE;
    const SLOTS: usize = SLOTS;
    const ENCODING: u8 = 1;
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
        let nibbles = Self::nibbles(self.0);
        let mut sorted = [0; MAX_SLOTS];
        for (slot, bits) in sorted.iter_mut().enumerate().take(SLOTS) {
            *bits = Lanes::<NIBBLE, SLOTS>::get(nibbles, slot) << REST
                | Lanes::<REST, SLOTS>::get(self.0, slot);
        }
        sorted
    }

    #[inline]
    fn is_canonical(self) -> bool {
        let sorted = self.slots();
        sorted[..SLOTS].is_sorted() && Self::encode(sorted) == self.0
    }

    #[inline]
    fn in_use(self) -> usize {
        let free = Self::equal_rests(self.0, 0) & Self::equal_nibbles(self.0, 0);
        SLOTS - Lanes::<REST, SLOTS>::count(free)
    }

    #[inline]
    fn has_room(self) -> bool {
        Lanes::<REST, SLOTS>::get(self.0, 0) == 0 && Self::nibbles(self.0) % NIBBLES as u64 == 0
    }

    #[inline]
    fn with(self, slot: Slot) -> Option<Self> {
        let mut sorted = self.slots();
        if sorted[0] != 0 {
            return None;
        }
        // The new fingerprint moves up to its place.
        sorted[0] = slot.bits();
        for slot in 1..SLOTS {
            let (low, high) = (sorted[slot - 1], sorted[slot]);
            (sorted[slot - 1], sorted[slot]) = (low.min(high), low.max(high));
        }
        Some(Self(Self::encode(sorted)))
    }

    #[inline]
    fn without(self, slot: Slot) -> Option<Self> {
        let mut sorted = self.slots();
        let at = sorted[..SLOTS].iter().position(|&held| held == slot.bits())?;
        sorted.copy_within(..at, 1);
        sorted[0] = 0;
        Some(Self(Self::encode(sorted)))
    }

    /// Compares the rests first: that of an absent item seldom matches, and then nothing needs to be decoded.
    #[inline]
    fn either_holds(words: [Self; 2], slot: Slot, mask: Option<u64>) -> bool {
        let (bits, [a, b]) = (slot.bits(), both(words, Self::bits));
        let Some(mask) = mask else {
            let (in_a, in_b) = (Self::equal_rests(a, bits), Self::equal_rests(b, bits));
            // One test for both words: a caller that branches on the answer pays for one of the two branches only,
            // since both go the same way.
            return in_a | in_b != 0
                && in_a & Self::equal_nibbles(a, bits) | in_b & Self::equal_nibbles(b, bits) != 0;
        };
        let mask_of_rest = mask & Lanes::<REST, SLOTS>::LANE;
        let [in_a, in_b] = both([a, b], |word| {
            let rests = Lanes::<REST, SLOTS>::masked(word, mask_of_rest);
            Lanes::<REST, SLOTS>::equal(rests, bits & mask_of_rest)
        });
        let is_equal = |slot: Slot| (slot.bits() ^ bits) & mask == 0;
        in_a | in_b != 0 && words.into_iter().flat_map(Self::slots_in_use).any(is_equal)
    }

    /// Puts the values into lanes of their own, for which they are short enough. (The slots have no lanes here.)
    #[inline]
    fn values_of_equal(words: [Self; 2], bits: u64, mask: u64) -> MatchingValues {
        if !Self::either_holds(words, Slot::new(bits), Some(mask)) {
            return MatchingValues::default();
        }
        let lane = u64::BITS / SLOTS as u32;
        let value_bits = REST + NIBBLE - mask.count_ones();
        debug_assert!(value_bits < lane);
        let (mut values, mut marks) = ([0; 2], [0; 2]);
        for at in 0..2 {
            for slot in words[at].slots_in_use().map(Slot::bits) {
                let is_equal = (slot ^ bits) & mask == 0;
                let value = slot >> mask.count_ones();
                values[at] = values[at] << lane | value << (lane - value_bits);
                marks[at] = marks[at] << lane | u64::from(is_equal) << (lane - 1);
            }
        }
        MatchingValues { words: values, marks: Marks::of_highest_bits(marks) }
    }

    fn only_equal(words: [Self; 2], bits: u64, mask: u64) -> Matches<Self> {
        if !Self::either_holds(words, Slot::new(bits), Some(mask)) {
            return Matches::None;
        }
        let is_equal = |slot: &Slot| (slot.bits() ^ bits) & mask == 0;
        let [first, second] = words.map(|word| word.slots_in_use().filter(is_equal));
        let mut slots = first.map(|slot| (true, slot)).chain(second.map(|slot| (false, slot)));
        match (slots.next(), slots.next()) {
            (None, _) => Matches::None,
            (Some((in_first, slot)), None) => {
                let without = words[usize::from(!in_first)].without(slot);
                let only = |without| Matches::One(Only { in_first, slot, without });
                without.map_or(Matches::Several, only)
            }
            _ => Matches::Several,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every ascending sequence of `slots` nibbles.
    fn multisets(slots: usize) -> Vec<Vec<u64>> {
        (0..slots).fold(vec![vec![]], |all, _| {
            let grow = |set: Vec<u64>| {
                let from = set.last().copied().unwrap_or(0);
                (from..NIBBLES as u64).map(move |next| [&set[..], &[next]].concat())
            };
            all.into_iter().flat_map(grow).collect()
        })
    }

    /// Checks that each multiset of nibbles has a number of its own, that encoding and decoding agree, and that the
    /// zeros have the number 0. Returns the numbers.
    fn numbers<const REST: u32, const SLOTS: usize>(count: usize) -> Vec<usize> {
        let mut numbers = Vec::new();
        for set in multisets(SLOTS) {
            let mut sorted = [0; MAX_SLOTS];
            let mut lanes = 0;
            for (slot, &nibble) in set.iter().enumerate() {
                sorted[slot] = nibble << REST;
                lanes |= nibble << (NIBBLE as usize * slot);
            }
            let word = SemiSorted::<REST, SLOTS>::encode(sorted);
            assert_eq!(SemiSorted::<REST, SLOTS>::nibbles(word), lanes, "{set:?}");
            assert_eq!(word == 0, lanes == 0);
            numbers.push((word >> SemiSorted::<REST, SLOTS>::NUMBER) as usize);
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        numbers
    }

    #[test]
    fn every_multiset_of_four_nibbles() {
        assert!(numbers::<13, 4>(3_876).into_iter().eq(0..3_876), "no gaps");
    }

    #[test]
    fn every_multiset_of_five_nibbles() {
        assert!(numbers::<10, 5>(15_504).pop() < Some(1 << 14), "fits");
    }

    #[test]
    fn the_starts_are_those_of_the_page() {
        let row = format!("| start(n) | {} |", STARTS.map(|start| start.to_string()).join(" | "));
        assert!(include_str!("../../docs/format.md").contains(&row), "{row}");
    }

    /// Checks that the bits of nibbles that match land at those of the rests, whichever nibbles match.
    fn widened<const REST: u32, const SLOTS: usize>() {
        for matches in 0..1_u32 << SLOTS {
            let spaced = |bits: u32| {
                (0..SLOTS)
                    .filter(|slot| matches >> slot & 1 == 1)
                    .map(|slot| 1_u64 << (bits as usize * (slot + 1) - 1))
                    .sum::<u64>()
            };
            let widened = spaced(NIBBLE).wrapping_mul(SemiSorted::<REST, SLOTS>::WIDEN);
            assert_eq!(widened & Lanes::<REST, SLOTS>::HIGH, spaced(REST), "{matches:b}");
        }
    }

    #[test]
    fn matches_are_widened_without_carries() {
        widened::<13, 4>();
        widened::<10, 5>();
    }
}
