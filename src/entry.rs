//! What a table knows of an item: pure functions on a few bits.
//!
//! | name | what it is | what needs it |
//! |---|---|---|
//! | [`Core`] | what never changes about an item in the table | its other row, its version group |
//! | [`Entry`] | all that a table knows of an item in a row | kicks, splits and merges move it |
//! | [`Slot`] | what a slot holds of an entry, never 0 | the words |
//! | [`Pattern`] | what a slot of one bucket holds of an item at the most | lookups in growing tables |
//!
//! In a table of fixed size all three are the item's fingerprint: 4 to 32 bits of its hash. In a growing
//! table an entry has these parts, of which [`Shape`] knows the lengths:
//!
//! * the core, k bits, never 0;
//! * the chain, T bits: the lowest of them are the number of the bucket in its row, one more with each
//!   doubling of the table. The chains of an item in its two rows differ by a number that the core gives;
//! * up to T extra bits, as many as the table had doubled when the item was inserted.
//!
//! A slot has k + T + 1 bits. It leaves out the chain bits that the position of the bucket tells, and has
//! the extra bits in their place, below a 1 that says how many there are. So the longer a table grows,
//! the more it knows of new items: the rate of false positives hardly changes. (It is the idea of the
//! Taffy cuckoo filter, 2022, of `InfiniFilter`, SIGMOD 2023, and of the Aleph filter, VLDB 2024.) With a extra bits, in a
//! bucket whose position tells l bits of the chain:
//!
//! ```text
//! bits T+1 and above   the core
//! bits l+1 to T        bit j of the chain at bit j, counted from 1
//! bits a+1 to l        0
//! bit  a               1
//! bits 0 to a-1        the extra bits
//! ```
//!
//! In a [maplet](crate::CuckooMaplet) the uppermost v bits of a slot hold a value, in tables of both
//! kinds. It is part of the entry, and so kicks, splits and merges move it; but the core, and all that
//! follows from it, does not depend on the value. The fingerprint is v bits shorter then. In a growing
//! table it is the chain that is, so the table doubles v times less.
//!
//! What a slot holds is read by the level of the table alone: bits 0 to L are a number below a 1. When a
//! bucket is split, the entries whose next bit of the chain is 1 go to the new bucket, and this bit is
//! cleared in them: it is told there. What stays has a 0 there already, so its word is the same, whether
//! it is read as that of a bucket that is split or not.

use core::num::NonZeroU32;

/// A word without pattern: the digits of the golden ratio. One constant serves every use: a lookup
/// has few registers to spare.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// All that a table knows of an item in a row: core and chain, as a slot would hold them if no bit of
/// the chain were told by an address, in the lower half; above them the extra bits below a 1. In a
/// table of fixed size the fingerprint. (The default value fills an array of keys before there are any;
/// no operation is called with it.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u64);

/// What never changes about an item in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(u64);

/// What a slot in use holds: never 0, which marks a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

/// The lengths of the parts of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a slot.
    bits: u32,
    /// Bits of the chain; 0 in a table of fixed size.
    chain: u32,
    /// Bits of the value, above all others; 0 in a filter.
    value: u32,
    /// All bits of a slot below its value.
    below: u64,
}

/// The values in the slots of a table: none in that of a filter, and some bits in that of a maplet.
pub trait Values: Copy + PartialEq + Send + Sync + 'static {
    /// Whether there are values.
    const ANY: bool;

    /// What names an item: its hash; in a maplet the hash of a key, and a value.
    type Item: Copy;

    /// In slots of `slot` bits, `bits` of them for the value: 0 if there are none.
    fn new(slot: u32, bits: u32) -> Self;

    /// The hash of an item, and its value, 0 if it has none.
    fn parts(item: Self::Item) -> (u64, u32);

    /// Bits of a value; 0 if there are none.
    fn bits(self) -> u32;

    /// All bits of a slot below its value, if it has one.
    fn below(self) -> Option<u64>;
}

/// No values: the table of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValues;

impl Values for NoValues {
    const ANY: bool = false;

    type Item = u64;

    fn new(_: u32, _: u32) -> Self {
        Self
    }

    #[inline]
    fn parts(hash: u64) -> (u64, u32) {
        (hash, 0)
    }

    #[inline]
    fn bits(self) -> u32 {
        0
    }

    #[inline]
    fn below(self) -> Option<u64> {
        None
    }
}

/// The value in each slot of a maplet: its uppermost bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueBits {
    bits: NonZeroU32,
    /// All bits of a slot below its value. Not computed where it is used: every lookup needs it.
    below: u64,
}

/// The hash of a key, and one of its values.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub(crate) hash: u64,
    pub(crate) value: u32,
}

impl Values for ValueBits {
    const ANY: bool = true;

    type Item = Pair;

    fn new(slot: u32, bits: u32) -> Self {
        let bits = NonZeroU32::new(bits).expect("a maplet has values");
        Self { bits, below: (1 << (slot - bits.get())) - 1 }
    }

    #[inline]
    fn parts(Pair { hash, value }: Pair) -> (u64, u32) {
        (hash, value)
    }

    #[inline]
    fn bits(self) -> u32 {
        self.bits.get()
    }

    #[inline]
    fn below(self) -> Option<u64> {
        Some(self.below)
    }
}

/// Bits of the hash that choose a core: many more than it has, so that all cores are drawn alike.
pub(crate) const CORE_SOURCE_BITS: u32 = 16;
/// How many bits more than it has choose the fingerprint of a maplet.
pub(crate) const SPARE_SOURCE_BITS: u32 = 8;
/// Where the distance between the chains of an item begins in the spread of its core. The uppermost bits
/// choose the other row.
const CHAIN_DISTANCE: u32 = 20;

impl Shape {
    /// Fingerprints of this many bits.
    #[inline]
    pub(crate) const fn fixed(bits: u32) -> Self {
        Self { bits, chain: 0, value: 0, below: (1 << bits) - 1 }
    }

    /// Slots of `bits` bits in a table that doubles at most `doublings` times, at least once.
    #[inline]
    pub(crate) const fn growing(bits: u32, doublings: u32) -> Self {
        debug_assert!(doublings + 2 < bits && bits <= 32);
        Self { bits, chain: doublings, value: 0, below: (1 << bits) - 1 }
    }

    /// The same slots with a value in each of them.
    #[inline]
    pub(crate) fn with_values(self, values: impl Values) -> Self {
        let Some(below) = values.below() else {
            return self;
        };
        let value = values.bits();
        debug_assert!(self.value == 0 && below == (1 << (self.bits - value)) - 1);
        let chain = if self.grows() { self.chain - value } else { 0 };
        Self { chain, value, below, ..self }
    }

    #[inline]
    pub(crate) const fn grows(self) -> bool {
        self.chain > 0
    }

    /// The entry in the first row of an item with this mixed hash, with all its extra bits.
    #[expect(clippy::inline_always, reason = "of constant lengths, little of it is left")]
    #[inline(always)]
    pub(crate) fn entry(self, x: u64) -> Entry {
        if !self.grows() {
            if self.value > 0 {
                // All values alike, and not one of them twice as often: that would show in short
                // fingerprints. Drawn with eight bits more.
                let above = u64::BITS - SPARE_SOURCE_BITS - self.bits + self.value;
                let source = u128::from(x << above);
                return Entry::fingerprint(
                    1 + ((source * u128::from(self.cores())) >> u64::BITS) as u64,
                );
            }
            // With 0 counted as 1.
            let low = x & self.cores();
            return Entry::fingerprint(low + u64::from(low == 0));
        }
        let chain = x & self.chain_mask();
        let source = (x >> (self.chain + 1)) & ((1 << CORE_SOURCE_BITS) - 1);
        let core = 1 + ((source * self.cores()) >> CORE_SOURCE_BITS);
        // The upper bits of a product depend on all bits of the hash, also where row, chain and core
        // leave few.
        let extra = x.wrapping_mul(GOLDEN) >> (u64::BITS - self.chain) | 1 << self.chain;
        Entry(core << (self.chain + 1) | chain | extra << 32)
    }

    #[expect(clippy::inline_always, reason = "of constant lengths, little of it is left")]
    #[inline(always)]
    pub(crate) fn core(self, entry: Entry) -> Core {
        let core =
            if self.grows() { u64::from(entry.whole() >> (self.chain + 1)) } else { entry.0 };
        Core(if self.value > 0 { core & self.cores() } else { core })
    }

    /// All bits of a core, and so the number of cores, as there is no core 0.
    #[inline]
    const fn cores(self) -> u64 {
        if self.grows() { self.below >> (self.chain + 1) } else { self.below }
    }

    /// An entry of an item of a filter, with a value.
    #[inline]
    pub(crate) fn with_value(self, entry: Entry, value: u32) -> Entry {
        Entry(entry.0 | u64::from(value) << (self.bits - self.value))
    }

    /// A number that has nothing to do with the bucket: five bits or more in a growing table.
    #[inline]
    pub(crate) fn draw(self, entry: Entry) -> usize {
        // Beside values there may be few extra bits. A core is not 0.
        if self.value > 0 { self.core(entry).0 as usize - 1 } else { entry.extra() as usize }
    }

    /// The core of the entry in a slot.
    #[inline]
    pub(crate) fn core_of_slot(self, slot: Slot) -> Core {
        self.core(Entry::fingerprint(slot.0))
    }

    /// The entry of the same item in its other row.
    #[inline]
    pub(crate) fn in_other_row(self, entry: Entry) -> Entry {
        if !self.grows() {
            return entry;
        }
        let distance = self.core(entry).spread() >> CHAIN_DISTANCE << 1 & self.chain_mask();
        Entry(entry.0 ^ distance)
    }

    /// The bits of the chain, bit j of it at bit j.
    #[inline]
    const fn chain_mask(self) -> u64 {
        (2 << self.chain) - 2
    }
}

impl Entry {
    /// What a table of fixed size knows of an item.
    #[inline]
    pub(crate) fn fingerprint(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn from_parts(whole: u32, extra: u32) -> Self {
        Self(u64::from(whole) | u64::from(extra) << 32)
    }

    /// An entry of the bucket with this number in its row, of which nothing else is known.
    #[inline]
    pub(crate) fn in_share(share: usize) -> Self {
        Self((share as u64) << 1)
    }

    /// Core and chain: bit j of the chain at bit j, counted from 1, and above them the core.
    #[inline]
    pub(crate) fn whole(self) -> u32 {
        self.0 as u32
    }

    /// The extra bits below a 1.
    #[inline]
    pub(crate) fn extra(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Slot {
    /// What a slot in use holds.
    #[inline]
    pub(crate) fn new(bits: u64) -> Self {
        debug_assert!(bits != 0, "a free slot holds no entry");
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

impl Core {
    /// As a fraction of 2^64, in no order. Multiples of one number would not do: the distances between
    /// the rows of an item would form a lattice, on which kick paths come back to the same few buckets.
    /// Squares do not lie on a lattice.
    #[inline]
    pub(crate) fn spread(self) -> u64 {
        self.0.wrapping_mul(GOLDEN).wrapping_mul(self.0)
    }

    /// For the models.
    #[cfg(loom)]
    pub(crate) fn new(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// What a slot of one bucket holds of an item, if it holds all extra bits that this level has.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Core and chain without what is told, and below them the extra bits, inverted: those in which a
    /// slot differs from these agree. The bit above the extra bits has no meaning.
    pub(crate) bits: u64,
    /// Mask of the extra bits and the 1 above them: bits 0 to L at level L.
    pub(crate) low: u64,
}

impl Pattern {
    /// Whether a slot matches; a free one does not. The definition of what the layouts compute for all
    /// slots of a word at once.
    pub(crate) fn matches(self, slot: u64) -> bool {
        let Self { bits, low } = self;
        let difference = slot ^ bits;
        let extra = (1 << (slot & low).checked_ilog2().unwrap_or(0)) - 1;
        slot != 0 && difference & !low == 0 && difference & extra == extra
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    const SHAPES: [Shape; 4] = [
        Shape::growing(12, 5),
        Shape::growing(16, 9),
        Shape::growing(21, 12),
        Shape::growing(32, 19),
    ];

    /// All of these, and some with values.
    fn shapes() -> Vec<Shape> {
        let [_, of_16, _, of_32] = SHAPES;
        let with_values = [(of_16, 4), (of_32, 11)].map(|(shape, value)| with_values(shape, value));
        SHAPES.into_iter().chain(with_values).collect()
    }

    fn with_values(shape: Shape, value: u32) -> Shape {
        shape.with_values(ValueBits::new(shape.bits, value))
    }

    fn hashes(n: u64) -> impl Iterator<Item = u64> {
        let mut random = SmallRng::seed_from_u64(43);
        (0..n).map(move |_| random.random())
    }

    #[test]
    fn the_other_row_is_its_own_inverse() {
        for shape in shapes() {
            for entry in hashes(1000).map(|x| shape.entry(x)) {
                let other = shape.in_other_row(entry);
                assert_eq!(shape.core(other), shape.core(entry));
                assert_eq!(other.extra(), entry.extra());
                assert_eq!(shape.in_other_row(other), entry);
            }
        }
    }

    /// Every core but 0 is drawn as often as any other, and all bits of chain and extra are even.
    #[test]
    fn the_parts_are_drawn_evenly() {
        for shape in shapes() {
            let cores = shape.cores() as usize;
            let n = cores as u64 * 400;
            let mut drawn = vec![0_u32; cores + 1];
            let (mut chains, mut extras) = ([0_u64; 32], [0_u64; 32]);
            for entry in hashes(n).map(|x| shape.entry(x)) {
                drawn[shape.core(entry).bits() as usize] += 1;
                for bit in 0..32 {
                    chains[bit] += u64::from(entry.whole() >> bit & 1);
                    extras[bit] += u64::from(entry.extra() >> bit & 1);
                }
            }
            assert_eq!(drawn[0], 0);
            assert!(drawn[1..].iter().all(|n| (290..=510).contains(n)), "{shape:?}");
            let chain = shape.chain as usize;
            let even = |ones: &u64| (0.45..0.55).contains(&(*ones as f64 / n as f64));
            assert!(chains[1..=chain].iter().all(even) && chains[0] == 0, "{chains:?}");
            assert!(extras[..chain].iter().all(even) && extras[chain] == n, "{extras:?}");
        }
    }

    /// The entries of one bucket have their other buckets all over the table.
    #[test]
    fn distances_between_chains_are_even() {
        for shape in shapes() {
            let cores = 1..=shape.cores() as u32;
            let distances = cores.map(|core| {
                let entry = Entry::from_parts(core << (shape.chain + 1), 1);
                shape.in_other_row(entry).whole() as usize >> 1
            });
            let mut eighths = [0_u32; 8];
            let mut bits = vec![0_u32; shape.chain as usize];
            let mut n = 0;
            for distance in distances.map(|d| d & ((1 << shape.chain) - 1)) {
                n += 1;
                eighths[distance >> (shape.chain - 3)] += 1;
                bits.iter_mut()
                    .enumerate()
                    .for_each(|(i, ones)| *ones += (distance >> i & 1) as u32);
            }
            assert!(eighths.iter().all(|held| *held * 16 >= n && *held * 4 <= n), "{eighths:?}");
            assert!(bits.iter().all(|ones| ones * 3 >= n && ones * 3 <= 2 * n), "{bits:?} of {n}");
        }
    }

    /// Each fingerprint beside a value, but 0, is drawn as often as any other.
    #[test]
    fn fingerprints_beside_values_are_drawn_evenly() {
        for (bits, value) in [(8, 3), (12, 6), (16, 8)] {
            let shape = with_values(Shape::fixed(bits), value);
            let fingerprints = (1_usize << (bits - value)) - 1;
            let mut drawn = vec![0_u32; fingerprints + 1];
            for x in hashes(fingerprints as u64 * 400) {
                drawn[shape.entry(x).whole() as usize] += 1;
            }
            assert_eq!(drawn[0], 0);
            assert!(drawn[1..].iter().all(|n| (290..=510).contains(n)), "{shape:?}");
        }
    }

    /// A value is in the bits above the core, and changes nothing of what follows from it.
    #[test]
    fn a_value_is_no_part_of_the_core() {
        let fixed = [(8, 3), (16, 1), (32, 23)].map(|(bits, v)| with_values(Shape::fixed(bits), v));
        for shape in shapes().into_iter().filter(|shape| shape.value > 0).chain(fixed) {
            for x in hashes(1000) {
                let entry = shape.entry(x);
                let value = (x >> 11) as u32 & ((1 << shape.value) - 1);
                let valued = shape.with_value(entry, value);
                assert_eq!(
                    u64::from(valued.whole()) >> (shape.bits - shape.value),
                    u64::from(value)
                );
                assert!(u64::from(valued.whole()) >> shape.bits == 0);
                assert_eq!(shape.core(valued), shape.core(entry));
                assert_eq!(shape.draw(valued), shape.draw(entry));
                let [other, of_valued] = [entry, valued].map(|entry| shape.in_other_row(entry));
                assert_eq!(of_valued, shape.with_value(other, value));
            }
        }
    }
}
