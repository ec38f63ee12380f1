//! Lanes of a word: several small numbers side by side in 64 bits. Pure functions, and arithmetic
//! on the whole word at once.

/// `SLOTS` lanes of `BITS` bits, from the lowest bit up. All functions but [`count`](Self::count)
/// ignore the bits above the last lane.
pub(crate) struct Lanes<const BITS: u32, const SLOTS: usize>;

impl<const BITS: u32, const SLOTS: usize> Lanes<BITS, SLOTS> {
    /// The lowest bit of every lane.
    pub(crate) const LOW: u64 = {
        assert!(BITS as usize * SLOTS <= 64 && BITS >= 4 && SLOTS >= 2 && SLOTS <= 8);
        let (mut low, mut slot) = (0, 0);
        while slot < SLOTS {
            low |= 1 << (BITS as usize * slot);
            slot += 1;
        }
        low
    };
    /// The highest bit of every lane.
    pub(crate) const HIGH: u64 = Self::LOW << (BITS - 1);
    /// The lowest bit of the last lane.
    pub(crate) const LAST: usize = BITS as usize * (SLOTS - 1);
    /// Every bit of a lane but its highest.
    const REST: u64 = Self::HIGH - Self::LOW;
    /// Every bit above the last lane.
    pub(crate) const ABOVE: u64 = !(Self::HIGH | Self::REST);
    /// One lane, at the bottom.
    pub(crate) const LANE: u64 = (1 << BITS) - 1;

    /// The value of one lane.
    #[inline]
    pub(crate) fn get(word: u64, slot: usize) -> u64 {
        (word >> (BITS as usize * slot)) & Self::LANE
    }

    /// The highest bit of each lane that is not 0; exact, since no sum carries into the next lane.
    #[inline]
    pub(crate) fn nonzero(word: u64) -> u64 {
        (((word & Self::REST) + Self::REST) | word) & Self::HIGH
    }

    /// The highest bit of each lane that is 0, where the highest bit of every lane is.
    #[inline]
    pub(crate) fn zeros_below_the_highest_bit(word: u64) -> u64 {
        debug_assert_eq!(word & Self::HIGH, 0);
        !(word + Self::REST) & Self::HIGH
    }

    /// The highest bit of each lane that equals `value`.
    #[inline]
    pub(crate) fn equal(word: u64, value: u64) -> u64 {
        let broadcast = value.wrapping_mul(Self::LOW);
        Self::nonzero(word ^ broadcast) ^ Self::HIGH
    }

    /// The bits of each lane that are in `mask`.
    #[inline]
    pub(crate) fn masked(word: u64, mask: u64) -> u64 {
        word & mask.wrapping_mul(Self::LOW)
    }

    /// The ring of each lane turned: its head is the lowest bit then.
    #[inline]
    pub(crate) fn rotated(word: u64, ring: Ring) -> u64 {
        let below_head = (1 << ring.head) - 1;
        let (upper, lower) =
            (Self::masked(word, ring.mask() & !below_head), Self::masked(word, below_head));
        let besides = Self::masked(word, Self::LANE & !ring.mask());
        besides | upper >> ring.head | lower << (ring.bits - ring.head)
    }

    /// 0 in each lane of `word`, with its ring turned, that matches; something else in the others: see
    /// [`Query::pattern`]. `low` is the mask of the ring.
    #[inline]
    pub(crate) fn mismatches(word: u64, pattern: u64, low: u64) -> u64 {
        let low = low.wrapping_mul(Self::LOW);
        let difference = word ^ pattern.wrapping_mul(Self::LOW);
        let agreeing = difference & low;
        // All bits above the lowest that disagrees. `agreeing ^ (agreeing + LOW)` has the others, up to that one; its
        // complement is the same with `!(agreeing + LOW)`, which is `!LOW - agreeing`. No lane carries into the next.
        let above = agreeing ^ (!Self::LOW).wrapping_sub(agreeing);
        // The leading 1 of a ring that matches lies no higher than that.
        word & low & above | difference ^ agreeing
    }

    /// Whether some lane is 0; which one, it does not say.
    #[inline]
    pub(crate) fn any_zero(word: u64) -> bool {
        word.wrapping_sub(Self::LOW) & !word & Self::HIGH != 0
    }

    /// How many of the highest bits are set: the product adds up all lanes in the last one.
    #[inline]
    pub(crate) fn count(mask: u64) -> usize {
        let sum = (mask >> (BITS - 1)).wrapping_mul(Self::LOW);
        ((sum >> Self::LAST) & Self::LANE) as usize
    }
}

/// A mark for each lane of two words that matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// The highest bit of the lane, and for a lane of the first word the bit below it: so no two marks are
    /// in the same place.
    pub(crate) both: u64,
    /// Those of the second word.
    pub(crate) second: u64,
}

impl Marks {
    /// Of the highest bits of the lanes of each word.
    #[inline]
    pub(crate) fn of_highest_bits([first, second]: [u64; 2]) -> Self {
        Self { both: first >> 1 | second, second }
    }

    /// Those of the first word.
    #[inline]
    pub(crate) fn first(self) -> u64 {
        self.both ^ self.second
    }
}

/// The lowest bits of each slot of a growing table, and the place among them from which they are read around: the
/// head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    pub(crate) bits: u32,
    /// Less than the number of bits.
    pub(crate) head: u32,
}

impl Ring {
    /// The bits of a slot that belong to it.
    #[inline]
    pub(crate) fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// What a lookup in a growing table looks for in the words of the two buckets of an item: a slot with its core, of
/// which no more is known when its ring is turned than agrees with what the bucket does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub(crate) ring: Ring,
    pub(crate) core: u64,
    /// What each bucket does not tell of the position. Only the bits of a ring count.
    pub(crate) untold: [u64; 2],
    /// The bits of a slot that count, if not all do: all bits below a value.
    pub(crate) mask: Option<u64>,
}

impl Query {
    /// The core, and below it the bits of the position that one of the buckets does not tell, inverted: those in which
    /// a slot, with its ring turned, differs from these agree.
    #[inline]
    pub(crate) fn pattern(self, bucket: usize) -> u64 {
        self.core | !self.untold[bucket] & self.ring.mask()
    }
}
