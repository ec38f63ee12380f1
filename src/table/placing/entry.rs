//! The data that a table keeps of an item: pure functions on a few bits.
//!
//! | name | meaning | needed for |
//! |---|---|---|
//! | [`Core`] | the part of an item that never changes in the table | its other position, its version group |
//! | [`Entry`] | all that a table knows of an item, except its position | kicks, splits and merges, which move it |
//! | [`Slot`](crate::layout::Slot) | an entry as a slot holds it, never 0 | the words |
//! | [`Query`](crate::arch::Query) | the bits of an item with which the slots of both buckets are compared | lookups in growing tables |
//!
//! In a table of fixed size core, entry and slot are the fingerprint of the item: 4 to 32 bits of its hash. In a
//! growing table an entry has a core of k bits, which is never 0, and knows a number of the lowest bits of the item's
//! position. A slot has k + T + 1 bits: the core above, and below it a ring of T + 1 bits, which `placing/growing.rs`
//! describes.
//!
//! In a [maplet](crate::CuckooMaplet) the uppermost v bits of a slot hold a value, in tables of both kinds. The value
//! is part of the entry, so kicks, splits and merges move it. The core, and all that follows from the core, does not
//! depend on the value. Because of the value the fingerprint is v bits shorter. In a growing table core and ring
//! together are v bits shorter.

use crate::layout::Properties;
use crate::sizing::MAX_SLOTS;

/// The digits of the golden ratio: a word without pattern. One constant serves every use, since a lookup has few free
/// registers.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The most bits of its position that a stashed entry of a growing table knows: one more than the buckets of the
/// largest table tell. So the stashed entry of an item always knows its buckets, also when it is back in one of them;
/// and mostly a cell of one word holds it.
pub(crate) const MOST_KNOWN: u32 = 44;
// A bucket that was split in the last level tells one bit more than the level. No bucket has fewer than two slots.
const _: () = assert!(MAX_SLOTS / 2 < 1 << (MOST_KNOWN - 1));

/// All that a table knows of an item, except its position. In a table of fixed size: the fingerprint. In a growing
/// table: in the lower half, the value and the core as a slot holds them; in the upper half, how many of the lowest
/// bits of the position are known. (The default value fills an array of keys before the keys are computed; no operation
/// is called with it.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u64);

/// The part of an item that never changes in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(u64);

/// The lengths of the parts of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a slot.
    bits: u32,
    /// Bits of the ring; 0 in a table of fixed size.
    pub(in crate::table) ring: u32,
    /// Bits of the value, above all others; 0 in a filter.
    value: u32,
    /// Mask of all bits of a slot below its value.
    below: u64,
    /// Whether there is a ring, and whether there is a value. The compiler knows both in the functions of a table, but
    /// not the lengths.
    grows: bool,
    has_values: bool,
}

/// The values in the slots of a table: none in a filter, and some bits of each slot in a maplet.
pub trait Values: Copy + PartialEq + Send + Sync + 'static {
    /// Whether there are values.
    const ANY: bool;

    /// The data that names an item: its hash; in a maplet the hash of a key, and a value.
    type Item: Copy;

    /// Returns the values of slots of this layout, with `bits` bits each; 0 if there are none.
    fn new(layout: &Properties, bits: u32) -> Self;

    /// Returns the hash of an item, and its value; 0 if it has none.
    fn parts(item: Self::Item) -> (u64, u32);

    /// Returns the number of bits of a value; 0 if there are none.
    fn bits(self) -> u32;

    /// Returns a mask of all bits of a slot below its value; `None` if there are no values.
    fn below(self) -> Option<u64>;

    /// Returns the number of bits of the ring of a slot in a growing table. `without` is their number without values.
    fn ring_bits(self, without: u32) -> u32;
}

/// No values: the table of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValues;

impl Values for NoValues {
    const ANY: bool = false;

    type Item = u64;

    fn new(_: &Properties, _: u32) -> Self {
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

    #[inline]
    fn ring_bits(self, without: u32) -> u32 {
        without
    }
}

/// The value in each slot of a maplet: its uppermost bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueBits {
    bits: u32,
    /// Bits of the ring of a slot in a growing table. Stored, and not computed at each use, because every lookup needs
    /// it.
    ring: u32,
    /// Mask of all bits of a slot below its value. Stored for the same reason.
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

    fn new(layout: &Properties, value: u32) -> Self {
        Self { bits: value, ring: layout.ring_bits(value), below: (1 << (layout.bits - value)) - 1 }
    }

    #[inline]
    fn parts(Pair { hash, value }: Pair) -> (u64, u32) {
        (hash, value)
    }

    #[inline]
    fn bits(self) -> u32 {
        self.bits
    }

    #[inline]
    fn below(self) -> Option<u64> {
        Some(self.below)
    }

    #[inline]
    fn ring_bits(self, _: u32) -> u32 {
        self.ring
    }
}

/// The number of bits by which the source of a fingerprint of a maplet is longer than the fingerprint.
pub(crate) const SPARE_SOURCE_BITS: u32 = 8;

impl Shape {
    /// Returns the shape of slots of `bits` bits with these values. `ring` is the length of the rings that a growing
    /// table has without values; 0 in a table of fixed size.
    #[inline]
    pub(crate) fn new<V: Values>(bits: u32, ring: u32, values: V) -> Self {
        let (grows, has_values) = (ring > 0, V::ANY);
        let below = values.below().unwrap_or((1 << bits) - 1);
        let value = values.bits();
        let ring = if grows { values.ring_bits(ring) } else { 0 };
        debug_assert_eq!(value > 0, has_values);
        debug_assert!(ring != 1 && ring + value + 1 < bits && bits <= 32);
        debug_assert_eq!(below, (1 << (bits - value)) - 1);
        Self { bits, ring, value, below, grows, has_values }
    }

    #[inline]
    pub(crate) const fn grows(self) -> bool {
        self.grows
    }

    /// Returns the entry of the item with the mixed hash `x` in a table of fixed size.
    // Always inlined: with constant lengths, little code is left.
    #[inline(always)]
    pub(crate) fn fingerprint(self, x: u64) -> Entry {
        if self.has_values {
            // The source has eight bits more than the fingerprint.
            let above = u64::BITS - SPARE_SOURCE_BITS - self.bits + self.value;
            return Entry::fingerprint(self.drawn(x << above));
        }
        // A fingerprint is never 0: 1 takes the place of 0.
        let low = x & self.cores();
        Entry::fingerprint(low + u64::from(low == 0))
    }

    /// Draws one of the cores by `source`, a fraction of 2^64: each core as often as any other. If cores are short, one
    /// that is drawn twice as often would be noticeable.
    #[inline]
    fn drawn(self, source: u64) -> u64 {
        1 + high_product(source, self.cores())
    }

    /// Draws the core of an item in a growing table by `source`, a fraction of 2^64 that says nothing of its position.
    #[inline]
    pub(crate) fn draw_core(self, source: u64) -> Core {
        Core(self.drawn(source))
    }

    /// Returns the entry of an item with this core in a growing table. The entry knows the whole position.
    #[inline]
    pub(crate) fn entry(self, core: Core) -> Entry {
        Entry::knowing(core.0 << self.ring, u64::BITS)
    }

    // Always inlined: with constant lengths, little code is left.
    #[inline(always)]
    pub(crate) fn core(self, entry: Entry) -> Core {
        let core = if self.grows() { u64::from(entry.bits() >> self.ring) } else { entry.0 };
        Core(if self.has_values { core & self.cores() } else { core })
    }

    /// Returns a mask of all bits of a core. This is also the number of cores, as there is no core 0.
    #[inline]
    pub(crate) const fn cores(self) -> u64 {
        self.below >> self.ring
    }

    /// Returns the number of bits of a core.
    #[inline]
    pub(crate) const fn core_bits(self) -> u32 {
        self.bits - self.value - self.ring
    }

    /// Returns the entry of an item without a value, with `value` added.
    #[inline]
    pub(crate) fn with_value(self, entry: Entry, value: u32) -> Entry {
        Entry(entry.0 | u64::from(value) << (self.bits - self.value))
    }
}

impl Entry {
    /// Returns the entry of a table of fixed size with this fingerprint.
    #[inline]
    pub(crate) fn fingerprint(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the entry of a growing table with these bits, the value and the core as a slot holds them, that knows
    /// `known` bits of the position.
    #[inline]
    pub(crate) fn knowing(bits: u64, known: u32) -> Self {
        Self(bits | u64::from(known) << 32)
    }

    /// Returns all bits that a slot holds of the entry; in a growing table without the ring.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Returns how many of the lowest bits of the position are known; 0 in a table of fixed size.
    #[inline]
    pub(crate) fn known(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Core {
    /// Returns the core as a fraction of 2^64, in no order. Multiples of one number would not do: the distances between
    /// the buckets of an item would form a lattice, and kick paths on a lattice come back to the same few buckets.
    /// Squares do not lie on a lattice.
    #[inline]
    pub(crate) fn spread(self) -> u64 {
        self.0.wrapping_mul(GOLDEN).wrapping_mul(self.0)
    }

    /// Returns the difference of the two positions of an item of a growing table. It is odd, so the two buckets have
    /// opposite parity. The upper half of a product depends on all bits of the core, so it becomes the lower half.
    #[inline]
    pub(crate) fn difference(self) -> u64 {
        self.0.wrapping_mul(GOLDEN).rotate_left(u32::BITS) | 1
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// Returns the upper half of the 128-bit product: scales `x`, a fraction of 2^64, to `0..bound`.
#[inline]
pub(crate) fn high_product(x: u64, bound: u64) -> u64 {
    ((u128::from(x) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use core::iter;
    use core::ops::RangeInclusive;

    use super::*;
    use crate::arch::Ring;
    use crate::layout::{LAYOUTS, Slot};
    use crate::random;

    /// Returns shapes of growing tables: with and without values, and with cores of every length from 4 to 12 bits.
    fn shapes() -> impl Iterator<Item = Shape> {
        LAYOUTS.iter().filter(|layout| layout.growth.is_some()).flat_map(|layout| {
            let bits = layout.bits;
            let with = move |value| {
                Shape::new(bits, layout.ring_bits(value), ValueBits::new(layout, value))
            };
            let values = if bits == 32 { 1..=19 } else { 1..=bits - 6 };
            let without = Shape::new(bits, layout.ring_bits(0), NoValues);
            iter::once(without).chain(values.map(with))
        })
    }

    /// Returns a shape of a table of fixed size.
    fn fixed((bits, value): (u32, u32)) -> Shape {
        let layout = LAYOUTS.iter().find(|layout| layout.bits == bits).expect("bits of a layout");
        Shape::new(bits, 0, ValueBits::new(layout, value))
    }

    fn hashes(n: u64) -> impl Iterator<Item = u64> {
        random::hashes(43).take(n as usize)
    }

    /// The bounds for a count that is 400 on average. Of 10^4 such counts, one is outside by chance once in 10^12 runs.
    /// (Bernstein's inequality: a count is more than 400 + t, or less than 400 - t, with odds of exp(-t^2 / (800 +
    /// 2t/3)) at most.)
    const ABOUT_400: RangeInclusive<u32> = 210..=590;

    /// Every core except 0 is drawn as often as any other.
    #[test]
    fn cores_are_drawn_evenly() {
        for shape in shapes() {
            let cores = shape.cores() as usize;
            let mut drawn = vec![0_u32; cores + 1];
            for core in hashes(cores as u64 * 400).map(|x| shape.draw_core(x)) {
                drawn[core.bits() as usize] += 1;
                let entry = shape.entry(core);
                assert_eq!(shape.core(entry), core);
                assert_eq!(u64::from(entry.bits()) & ((1 << shape.ring) - 1), 0);
            }
            assert_eq!(drawn[0], 0);
            assert!(drawn[1..].iter().all(|n| ABOUT_400.contains(n)), "{shape:?}");
        }
    }

    /// The entries of one bucket have their other buckets all over the table, whatever its size. From there, kicks lead
    /// to all buckets of a table of 2^13 buckets, and to 2^15 buckets of a larger one.
    #[test]
    fn differences_of_positions_are_even() {
        for shape in shapes() {
            let differences: Vec<_> =
                (1..=shape.cores()).map(|core| Core(core).difference()).collect();
            assert!(differences.iter().all(|difference| difference % 2 == 1));
            for (level, reached) in [(5, 5), (13, 13), (20, 15)] {
                assert!(rank(&differences, (1 << level) - 1) >= reached, "{shape:?}, 2^{level}");
            }
            if shape.core_bits() < 6 {
                // There are too few cores to count.
                continue;
            }
            for bit in 1..40 {
                let ones = differences.iter().filter(|&&d| d >> bit & 1 == 1).count();
                let n = differences.len();
                assert!(ones * 3 >= n && ones * 3 <= 2 * n, "bit {bit}: {ones} of {n}");
            }
            // For a table of 16 buckets, and for one of 2^20.
            for (low, bits) in [(1, 3), (17, 3)] {
                let mut eighths = [0; 8];
                for difference in &differences {
                    eighths[(difference >> low) as usize % (1 << bits)] += 1;
                }
                let n = differences.len();
                assert!(eighths.iter().all(|&n_of| n_of * 16 >= n && n_of * 4 <= n), "{eighths:?}");
            }
        }
    }

    /// Returns the logarithm of the number of sums of `numbers`, without carries, in the bits of the mask.
    fn rank(numbers: &[u64], mask: u64) -> usize {
        let mut basis: Vec<u64> = Vec::new();
        for number in numbers {
            let rest = basis.iter().fold(number & mask, |rest, base| rest.min(rest ^ base));
            if rest != 0 {
                basis.push(rest);
            }
        }
        basis.len()
    }

    /// A rotation by several places is as many rotations by one place, and can be rotated back.
    #[test]
    fn rings_turn() {
        for bits in 2..20 {
            for slot in hashes(100).map(|bits| Slot::new(bits >> 32 | 1)) {
                for head in 0..bits {
                    let one = Ring { bits, head: 1 };
                    let rotated = (0..head).fold(slot, |slot, _| slot.rotated(one));
                    assert_eq!(rotated, slot.rotated(Ring { bits, head }));
                    assert_eq!(rotated.rotated_back(Ring { bits, head }), slot);
                }
            }
        }
    }

    /// Each fingerprint beside a value, except 0, is drawn as often as any other.
    #[test]
    fn fingerprints_beside_values_are_drawn_evenly() {
        for (bits, value) in [(8, 3), (12, 6), (16, 8)] {
            let shape = fixed((bits, value));
            let fingerprints = (1_usize << (bits - value)) - 1;
            let mut drawn = vec![0_u32; fingerprints + 1];
            for x in hashes(fingerprints as u64 * 400) {
                drawn[shape.fingerprint(x).bits() as usize] += 1;
            }
            assert_eq!(drawn[0], 0);
            assert!(drawn[1..].iter().all(|n| ABOUT_400.contains(n)), "{shape:?}");
        }
    }

    /// A value is in the bits above the core, and changes nothing that follows from the core.
    #[test]
    fn a_value_is_no_part_of_the_core() {
        let fixed = [(8, 3), (16, 1), (32, 23)].map(fixed);
        for shape in shapes().filter(|shape| shape.value > 0).chain(fixed) {
            for x in hashes(1000) {
                let entry = if shape.grows() {
                    shape.entry(shape.draw_core(x))
                } else {
                    shape.fingerprint(x)
                };
                let value = (x >> 11) as u32 & ((1 << shape.value) - 1);
                let valued = shape.with_value(entry, value);
                assert_eq!(
                    u64::from(valued.bits()) >> (shape.bits - shape.value),
                    u64::from(value)
                );
                assert!(u64::from(valued.bits()) >> shape.bits == 0);
                assert_eq!(shape.core(valued), shape.core(entry));
                assert_eq!(valued.known(), entry.known());
            }
        }
    }
}
