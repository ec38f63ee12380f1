//! Where an item lives: from a 64-bit hash to a fingerprint and two rows.
//!
//! Pure functions. In a table of fixed size a row is a bucket. In one that grows, a row has more and
//! more buckets, and [`Extent`](crate::extent::Extent) says in which of them a fingerprint lies.
//!
//! The table has m rows, m even and at least 2, and needs no power of two: the
//! first row is `(x * m) >> 64`, the multiply-shift reduction of Lemire ("Fast Random Integer
//! Generation in an Interval", 2019). The second is partial-key cuckoo hashing (Fan et al., CoNEXT
//! 2014, section 3.1) with a subtraction in place of the exclusive or:
//!
//! ```text
//! alt(i, f) = (r(f) - i) mod m        r(f) odd, 0 < r(f) < m, drawn from the fingerprint
//! ```
//!
//! Applied twice it gives i back for every m. With m even and r(f) odd, i and alt(i, f) have
//! opposite parity, so the two rows always differ.

/// A word without pattern: the digits of the golden ratio. One constant serves every use: a lookup
/// has few registers to spare.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is stored of an item: 4 to 32 bits of its hash, never 0, which marks a free slot. (The
/// default value fills an array of keys before there are any; no operation is called with it.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The low `bits` bits of a mixed hash, with 0 counted as 1.
    #[inline]
    fn of_hash(x: u64, bits: u32) -> Self {
        let low = x & ((1 << bits) - 1);
        Self(low + u64::from(low == 0))
    }

    /// The fingerprint in a slot that is not free.
    #[inline]
    pub(crate) fn in_slot(bits: u64) -> Self {
        debug_assert!(bits != 0, "a free slot holds no fingerprint");
        Self(bits)
    }

    /// Its bits, not 0.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Two independent numbers of 32 bits or more, all that growth knows of a fingerprint: one for rows
    /// with even numbers and one for rows with odd ones.
    ///
    /// The shift is one for which the lowest bits of the second are even over all fingerprints, however
    /// many bits growth takes, and over those that share the lowest bits of the first. With 32 in its
    /// place, 15 bits of those of 21 would leave some buckets without any fingerprint. And it is not
    /// less than the bits that growth takes: a bit of the product below those would be known from the
    /// first number.
    #[inline]
    pub(crate) fn selectors(self) -> [u64; 2] {
        [self.0, self.0.wrapping_mul(GOLDEN) >> 26]
    }
}

/// An item as the table sees it.
///
/// The functions that run rarely (`contains_slow` and its like) take the three parts and not the
/// whole: a value of three words passes through memory in a call, so the caller would write it
/// there before it can branch, and every lookup had some instructions more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub(crate) fingerprint: Fingerprint,
    /// The row that the hash names.
    pub(crate) first: usize,
    /// The alternate of `first` under `fingerprint`.
    pub(crate) second: usize,
}

impl Key {
    /// Both places of the item.
    #[inline]
    pub(crate) fn places(self) -> [Place; 2] {
        [self.first, self.second].map(|row| Place { row, fingerprint: self.fingerprint })
    }
}

/// A fingerprint in one of its two rows: what has a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) row: usize,
    pub(crate) fingerprint: Fingerprint,
}

/// The shape of a table: its number of rows, even and at least 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    rows: u64,
}

impl Geometry {
    pub(crate) fn new(rows: usize) -> Self {
        debug_assert!(rows >= 2 && rows.is_multiple_of(2));
        Self { rows: rows as u64 }
    }

    /// The fingerprint of `bits` bits and both rows of a 64-bit hash, mixed here once.
    #[inline]
    pub(crate) fn key(self, hash: u64, bits: u32) -> Key {
        let x = mix(hash);
        let fingerprint = Fingerprint::of_hash(x, bits);
        let first = high_product(x, self.rows) as usize;
        Key { fingerprint, first, second: self.alternate(first, fingerprint) }
    }

    /// The other row of a fingerprint that lies in `row`.
    #[inline]
    pub(crate) fn alternate(self, row: usize, fingerprint: Fingerprint) -> usize {
        // Below m and odd, as m is even.
        let r = high_product(spread(fingerprint), self.rows) | 1;
        let (difference, below_zero) = r.overflowing_sub(row as u64);
        (if below_zero { difference.wrapping_add(self.rows) } else { difference }) as usize
    }
}

/// One multiplication to 128 bits, folded: a weak hash (consecutive integers, say) comes out with
/// both its upper bits, which name the bucket, and its lower bits, the fingerprint, well spread.
///
/// Both factors depend on the hash. With a constant for one of them, hashes in arithmetic
/// progression gave up to 2.3 times the false positives that are due.
#[inline]
fn mix(hash: u64) -> u64 {
    // Rotated by 23, coprime to 64: otherwise two hashes could swap factors and give the same
    // product.
    fold(u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN))
}

#[inline]
fn fold(product: u128) -> u64 {
    (product as u64) ^ ((product >> 64) as u64)
}

/// A fingerprint as a fraction of 2^64, in no order. Multiples of one number would not do: the r(f)
/// would form a lattice modulo m, on which kick paths come back to the same few buckets. Squares do
/// not lie on a lattice.
#[inline]
fn spread(Fingerprint(bits): Fingerprint) -> u64 {
    bits.wrapping_mul(GOLDEN).wrapping_mul(bits)
}

/// The upper half of the 128-bit product: `x`, a fraction of 2^64, scaled to `0..bound`.
#[inline]
fn high_product(x: u64, bound: u64) -> u64 {
    ((u128::from(x) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Even numbers of buckets of every magnitude, the extremes included.
    fn buckets() -> impl Strategy<Value = usize> {
        prop_oneof![1..100_usize, 1..1_usize << 20, 1..1_usize << 61, Just(1 << 61)]
            .prop_map(|pairs| 2 * pairs)
    }

    proptest! {
        #[test]
        fn a_key_lies_in_the_table(buckets in buckets(), hash: u64, bits in 4..=32_u32) {
            let key = Geometry::new(buckets).key(hash, bits);
            prop_assert!(key.first < buckets && key.second < buckets);
            let f = key.fingerprint.bits();
            prop_assert!(f > 0 && f < 1 << bits);
        }

        #[test]
        fn the_alternate_is_its_own_inverse(buckets in buckets(), at: u64, f in 1..=u32::MAX) {
            let geometry = Geometry::new(buckets);
            let f = Fingerprint(f.into());
            let bucket = high_product(at, buckets as u64) as usize;
            let other = geometry.alternate(bucket, f);
            prop_assert_eq!(geometry.alternate(other, f), bucket);
            prop_assert_eq!((bucket + other) % 2, 1, "opposite parity");
        }
    }

    #[test]
    fn small_tables_by_exhaustion() {
        for buckets in (2..=66).step_by(2) {
            let geometry = Geometry::new(buckets);
            for f in (1..1 << 12).map(Fingerprint) {
                for bucket in 0..buckets {
                    let other = geometry.alternate(bucket, f);
                    assert!(other < buckets && other % 2 != bucket % 2);
                    assert_eq!(geometry.alternate(other, f), bucket);
                }
            }
        }
    }

    /// However far a table grows, a bucket in an odd row is that of as many fingerprints as any other;
    /// and the fingerprints of a bucket in an even row have alternates all over the table.
    #[test]
    fn selectors_are_even_at_every_level() {
        for bits in [8, 9, 10, 12, 14, 16, 17, 21] {
            let selectors = |f: u64| Fingerprint(f).selectors().map(|s| s as usize);
            // Growth leaves 6 bits.
            for level in 1..=bits - 6 {
                let (buckets, due) = (1 << level, 1_u32 << (bits - level));
                let mut fingerprints = vec![0; buckets];
                (1..1 << bits).for_each(|f| fingerprints[selectors(f)[1] % buckets] += 1);
                let (low, high) = (due * 3 / 4, due * 5 / 4);
                assert!(
                    fingerprints.iter().all(|n| (low..=high).contains(n)),
                    "{bits} bits, level {level}: {:?} to {:?}, {due} are due",
                    fingerprints.iter().min(),
                    fingerprints.iter().max(),
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

    /// A table of m buckets has m/2 odd distances; fingerprints draw them all alike.
    #[test]
    fn distances_are_drawn_evenly() {
        for buckets in [6, 10, 64, 100] {
            let geometry = Geometry::new(buckets);
            let mut drawn = vec![0_u32; buckets];
            for f in (1..1 << 16).map(Fingerprint) {
                drawn[geometry.alternate(0, f)] += 1;
            }
            let due = 65_535.0 / (buckets as f64 / 2.0);
            for (distance, &n) in drawn.iter().enumerate() {
                if distance % 2 == 1 {
                    assert!((f64::from(n) / due - 1.0).abs() < 0.1, "{distance}: {n} of {due}");
                } else {
                    assert_eq!(n, 0, "an even distance");
                }
            }
        }
    }
}
