//! What a table knows of an item: pure functions on a few bits.
//!
//! | name | what it is | what needs it |
//! |---|---|---|
//! | [`Core`] | what never changes about an item in the table | its other row, its version group |
//! | [`Entry`] | what a slot holds of it, never 0 | kicks, splits, removals and merges move it |
//! | [`Pattern`] | what the entries of an item have in common | a lookup compares it with the slots of a word |
//!
//! All three are the item's fingerprint: 4 to 32 bits of its hash. Whoever needs one of them asks the
//! entry for it, so that what a slot holds beside the core can change here and nowhere else.

/// A word without pattern: the digits of the golden ratio. One constant serves every use: a lookup
/// has few registers to spare.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a slot holds of an item, never 0, which marks a free slot. (The default value fills an array of
/// keys before there are any; no operation is called with it.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u64);

/// What never changes about an item in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(u64);

/// What a lookup compares with the slots of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(u64);

impl Entry {
    /// The low `bits` bits of a mixed hash, with 0 counted as 1.
    #[inline]
    pub(crate) fn of_hash(x: u64, bits: u32) -> Self {
        let low = x & ((1 << bits) - 1);
        Self(low + u64::from(low == 0))
    }

    /// The entry in a slot that is not free.
    #[inline]
    pub(crate) fn in_slot(bits: u64) -> Self {
        debug_assert!(bits != 0, "a free slot holds no entry");
        Self(bits)
    }

    /// What the slot holds, not 0.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn core(self) -> Core {
        Core(self.0)
    }

    #[inline]
    pub(crate) fn pattern(self) -> Pattern {
        Pattern(self.0)
    }

    /// The same item's entry in its other row.
    #[inline]
    pub(crate) fn in_other_row(self) -> Self {
        self
    }

    /// Two independent numbers of 32 bits or more, by which a table that grows chooses among the buckets
    /// of a row: one for rows with even numbers and one for rows with odd ones.
    ///
    /// The shift is one for which the lowest bits of the second are even over all entries, however
    /// many bits growth takes, and over those that share the lowest bits of the first. With 32 in its
    /// place, 15 bits of those of 21 would leave some buckets without any entry. And it is not
    /// less than the bits that growth takes: a bit of the product below those would be known from the
    /// first number.
    #[inline]
    pub(crate) fn selectors(self) -> [u64; 2] {
        [self.0, self.0.wrapping_mul(GOLDEN) >> 26]
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

    /// Its place among `groups`, a power of two.
    #[inline]
    pub(crate) fn group(self, groups: usize) -> usize {
        self.0 as usize & (groups - 1)
    }
}

impl Pattern {
    /// What the slot of a matching entry holds.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However far a table grows, a bucket in an odd row is that of as many entries as any other;
    /// and the entries of a bucket in an even row have alternates all over the table.
    #[test]
    fn selectors_are_even_at_every_level() {
        for bits in [8, 9, 10, 12, 14, 16, 17, 21] {
            let selectors = |bits: u64| Entry(bits).selectors().map(|s| s as usize);
            // Growth leaves 6 bits.
            for level in 1..=bits - 6 {
                let (buckets, due) = (1 << level, 1_u32 << (bits - level));
                let mut entries = vec![0; buckets];
                (1..1 << bits).for_each(|entry| entries[selectors(entry)[1] % buckets] += 1);
                let (low, high) = (due * 3 / 4, due * 5 / 4);
                assert!(
                    entries.iter().all(|n| (low..=high).contains(n)),
                    "{bits} bits, level {level}: {:?} to {:?}, {due} are due",
                    entries.iter().min(),
                    entries.iter().max(),
                );
                // Eighths of the odd rows' buckets.
                let eighths = buckets.min(8);
                for even in (0..buckets).step_by(buckets.div_ceil(256)) {
                    let mut alternates = [0_u32; 8];
                    for f in (even as u64..1 << bits).step_by(buckets).filter(|&f| f != 0) {
                        let [first, second] = selectors(f).map(|s| s % buckets);
                        assert_eq!(first, even);
                        alternates[second * eighths / buckets] += 1;
                    }
                    let due = due / eighths as u32;
                    let even =
                        alternates[..eighths].iter().all(|n| (due / 2..=2 * due).contains(n));
                    assert!(even, "{bits} bits, level {level}: {alternates:?}, {due} are due");
                }
            }
        }
    }
}
