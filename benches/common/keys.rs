//! Keys: 64-bit integers, the same for every peer of a round.

use std::ops::Range;

/// Keys are generated and passed on in chunks of this size, and only the work on a chunk is timed.
pub const CHUNK: usize = 4096;

/// Keys of a set from this index on are never inserted.
const ABSENT: u64 = 1 << 40;
/// The distance between two sets.
const SET: u64 = 1 << 44;

/// The finalizer of splitmix64: distinct indices give distinct keys, in random order.
#[must_use]
pub fn mix(index: u64) -> u64 {
    let x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The keys of a set that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The keys of the range, one after the other.
    InOrder,
    /// As many keys as the range has, none of which is ever inserted.
    Absent,
    /// As many keys as the range has, drawn at random from the first `items`.
    Present { items: u64 },
    /// Absent or present with equal probability: no branch predictor learns the sequence.
    Half { items: u64 },
}

/// A set of keys, disjoint from the sets with other numbers.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    base: u64,
}

impl Keys {
    #[must_use]
    pub fn new(set: u64) -> Self {
        Self { base: set * SET }
    }

    #[must_use]
    pub fn key(self, index: u64) -> u64 {
        mix(self.base + index)
    }

    #[must_use]
    pub fn absent(self, index: u64) -> u64 {
        self.key(ABSENT + index)
    }

    /// Returns the key that `which` has at this index.
    #[must_use]
    pub fn pick(self, which: Which, index: u64) -> u64 {
        let random = || mix(!(self.base + index));
        let below =
            |items: u64, random: u64| ((u128::from(random) * u128::from(items)) >> 64) as u64;
        match which {
            Which::InOrder => self.key(index),
            Which::Absent => self.absent(index),
            Which::Present { items } => self.key(below(items, random())),
            Which::Half { items } => match random() {
                random if random % 2 == 0 => self.absent(index),
                random => self.key(below(items, random)),
            },
        }
    }

    /// Returns all keys of a range.
    #[must_use]
    pub fn collect(self, which: Which, range: Range<u64>) -> Vec<u64> {
        range.map(|index| self.pick(which, index)).collect()
    }
}
