//! Where an item lives: from a 64-bit hash to a fingerprint and two buckets.
//!
//! Pure functions. The table has m buckets, m even and at least 2, and needs no power of two: the
//! first bucket is `(x * m) >> 64`, the multiply-shift reduction of Lemire ("Fast Random Integer
//! Generation in an Interval", 2019). The second is partial-key cuckoo hashing (Fan et al., CoNEXT
//! 2014, section 3.1) with a subtraction in place of the exclusive or:
//!
//! ```text
//! alt(i, f) = (r(f) - i) mod m        r(f) odd, 0 < r(f) < m, drawn from the fingerprint
//! ```
//!
//! Applied twice it gives i back for every m. With m even and r(f) odd, i and alt(i, f) have
//! opposite parity, so the two buckets always differ.

/// Multiplies the hash on entry. The digits of the square root of 2, made odd.
const MIX: u64 = 0x6a09_e667_f3bc_c909;
/// Added before, so that no simple hash (0, say) is a fixed point. The digits of the root of 3.
const SALT: u64 = 0xbb67_ae85_84ca_a73b;
/// Spreads a fingerprint over 64 bits. The digits of the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An item as the table sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// What is stored: never 0, which marks a free slot.
    pub(crate) fingerprint: u64,
    /// The bucket that the hash names.
    pub(crate) first: usize,
    /// The alternate of `first` under `fingerprint`.
    pub(crate) second: usize,
}

/// The shape of a table: its number of buckets, even and at least 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    buckets: u64,
}

impl Geometry {
    pub(crate) fn new(buckets: usize) -> Self {
        debug_assert!(buckets >= 2 && buckets.is_multiple_of(2));
        Self { buckets: buckets as u64 }
    }

    /// The fingerprint of `bits` bits and both buckets of a 64-bit hash, mixed here once.
    #[inline]
    pub(crate) fn key(self, hash: u64, bits: u32) -> Key {
        let x = mix(hash);
        let fingerprint = fingerprint(x, bits);
        let first = high_product(x, self.buckets) as usize;
        Key { fingerprint, first, second: self.alternate(first, fingerprint) }
    }

    /// The other bucket of a fingerprint that lies in `bucket`.
    #[inline]
    pub(crate) fn alternate(self, bucket: usize, fingerprint: u64) -> usize {
        let r = 2 * high_product(spread(fingerprint), self.buckets / 2) + 1;
        let (difference, below_zero) = r.overflowing_sub(bucket as u64);
        (if below_zero { difference.wrapping_add(self.buckets) } else { difference }) as usize
    }
}

/// One multiplication to 128 bits, folded: a weak hash (consecutive integers, say) comes out with
/// both its upper bits, which name the bucket, and its lower bits, the fingerprint, well spread.
#[inline]
fn mix(hash: u64) -> u64 {
    let product = u128::from(hash ^ SALT) * u128::from(MIX);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The low `bits` bits, with 0 counted to 1.
#[inline]
fn fingerprint(x: u64, bits: u32) -> u64 {
    let low = x & ((1 << bits) - 1);
    low + u64::from(low == 0)
}

/// A multiplication alone would leave the r(f) on a lattice (the multiples of one number, modulo
/// m), on which kick paths reach few buckets; the folded upper half breaks it.
#[inline]
fn spread(fingerprint: u64) -> u64 {
    let product = fingerprint.wrapping_mul(SPREAD);
    product ^ (product << 32)
}

/// The upper half of the 128-bit product: `x`, a fraction of 2^64, scaled to `0..bound`.
#[inline]
fn high_product(x: u64, bound: u64) -> u64 {
    ((u128::from(x) * u128::from(bound)) >> 64) as u64
}
