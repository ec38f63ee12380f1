//! Lanes of a word: several small numbers side by side in 64 bits. Pure functions, which compute on the whole word at
//! once.

/// `SLOTS` lanes of `BITS` bits, from the lowest bit up. All functions except [`count`](Self::count) ignore the bits
/// above the last lane.
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
    /// Every bit of a lane except its highest.
    const REST: u64 = Self::HIGH - Self::LOW;
    /// Every bit above the last lane.
    pub(crate) const ABOVE: u64 = !(Self::HIGH | Self::REST);
    /// The mask of one lane, shifted to the lowest bits.
    pub(crate) const LANE: u64 = (1 << BITS) - 1;

    /// Returns the value of one lane.
    #[inline]
    pub(crate) fn get(word: u64, slot: usize) -> u64 {
        (word >> (BITS as usize * slot)) & Self::LANE
    }

    /// Returns a mask: the highest bit of each lane that is not 0. This is exact, since no sum carries into the next
    /// lane.
    #[inline]
    pub(crate) fn nonzero(word: u64) -> u64 {
        (((word & Self::REST) + Self::REST) | word) & Self::HIGH
    }

    /// Returns the highest bit of each lane that is 0. The highest bit of every lane must be 0.
    #[inline]
    pub(crate) fn zeros_below_the_highest_bit(word: u64) -> u64 {
        debug_assert_eq!(word & Self::HIGH, 0);
        !(word + Self::REST) & Self::HIGH
    }

    /// Returns the highest bit of each lane that equals `value`.
    #[inline]
    pub(crate) fn equal(word: u64, value: u64) -> u64 {
        let broadcast = value.wrapping_mul(Self::LOW);
        Self::nonzero(word ^ broadcast) ^ Self::HIGH
    }

    /// Returns the bits of each lane that are in `mask`.
    #[inline]
    pub(crate) fn masked(word: u64, mask: u64) -> u64 {
        word & mask.wrapping_mul(Self::LOW)
    }

    /// Rotates the ring of each lane, so that its head is the lowest bit.
    #[inline]
    pub(crate) fn rotated(word: u64, ring: Ring) -> u64 {
        let below_head = (1 << ring.head) - 1;
        let (upper, lower) =
            (Self::masked(word, ring.mask() & !below_head), Self::masked(word, below_head));
        let besides = Self::masked(word, Self::LANE & !ring.mask());
        besides | upper >> ring.head | lower << (ring.bits - ring.head)
    }

    /// Returns 0 in each lane that matches, and another number in the other lanes. `word` has its rings rotated,
    /// `pattern` is [`Query::pattern`], and `low` is the mask of the ring.
    #[inline]
    pub(crate) fn mismatches(word: u64, pattern: u64, low: u64) -> u64 {
        let low = low.wrapping_mul(Self::LOW);
        let difference = word ^ pattern.wrapping_mul(Self::LOW);
        let agreeing = difference & low;
        // All bits above the lowest that disagrees. `agreeing ^ (agreeing + LOW)` has the other bits, up to that one.
        // Its complement is `agreeing ^ !(agreeing + LOW)`, and `!(agreeing + LOW)` is `!LOW - agreeing`. No lane
        // carries into the next.
        let above = agreeing ^ (!Self::LOW).wrapping_sub(agreeing);
        // In a ring that matches, the leading 1 is no higher than the lowest bit that disagrees.
        word & low & above | difference ^ agreeing
    }

    /// Returns whether some lane is 0. (The bits do not say which one.)
    #[inline]
    pub(crate) fn any_zero(word: u64) -> bool {
        word.wrapping_sub(Self::LOW) & !word & Self::HIGH != 0
    }

    /// Counts the highest bits that are set in `mask`: the product adds up all lanes in the last one.
    #[inline]
    pub(crate) fn count(mask: u64) -> usize {
        let sum = (mask >> (BITS - 1)).wrapping_mul(Self::LOW);
        ((sum >> Self::LAST) & Self::LANE) as usize
    }
}

/// Marks the lanes of two words that match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// The marks of both words: the highest bit of a lane of the second word, and the bit below the highest for a lane
    /// of the first word, so that no two marks are in the same place.
    pub(crate) both: u64,
    /// The marks of the second word.
    pub(crate) second: u64,
}

impl Marks {
    /// Creates the marks from the highest bits of the lanes that match in each word.
    #[inline]
    pub(crate) fn of_highest_bits([first, second]: [u64; 2]) -> Self {
        Self { both: first >> 1 | second, second }
    }

    /// Returns the marks of the first word.
    #[inline]
    pub(crate) fn first(self) -> u64 {
        self.both ^ self.second
    }
}

/// The ring of a slot of a growing table: its lowest bits, which are read around from the *head* of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    pub(crate) bits: u32,
    /// The number of the bit that is the head, less than `bits`.
    pub(crate) head: u32,
}

impl Ring {
    /// Returns the mask of the bits of a slot that belong to the ring.
    #[inline]
    pub(crate) fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// A query: what a lookup in a growing table compares with the slots of the two buckets of an item. A slot matches if
/// it has this core, and if the bits of a position that its rotated ring knows agree with the bits that its bucket does
/// not tell.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub(crate) ring: Ring,
    pub(crate) core: u64,
    /// For each bucket, the bits of the position that it does not tell. Only as many bits as a ring has are used.
    pub(crate) untold: [u64; 2],
    /// The bits of a slot that are compared: all bits below a value. `None` if all bits are compared.
    pub(crate) mask: Option<u64>,
}

impl Query {
    /// Returns the core, and below it the inverted bits of the position that the bucket does not tell. A rotated ring
    /// agrees with the position where it differs from the pattern.
    #[inline]
    pub(crate) fn pattern(self, bucket: usize) -> u64 {
        self.core | !self.untold[bucket] & self.ring.mask()
    }
}
