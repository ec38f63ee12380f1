//! Where an item lives: from a 64-bit hash to an entry and two rows.
//!
//! Pure functions. In a table of fixed size a row is a bucket. In a growing table a row has more and
//! more buckets, and [`Extent`](crate::extent::Extent) says in which of them an entry lies.
//!
//! The table has m rows, m even and at least 2, and needs no power of two: the
//! first row is `(x * m) >> 64`, the multiply-shift reduction of Lemire ("Fast Random Integer
//! Generation in an Interval", 2019). The second is partial-key cuckoo hashing (Fan et al., CoNEXT
//! 2014, section 3.1) with a subtraction in place of the exclusive or:
//!
//! ```text
//! alt(i, c) = (r(c) - i) mod m        r(c) odd, 0 < r(c) < m, drawn from the core
//! ```
//!
//! Applied twice it gives i back for every m. With m even and r(c) odd, i and alt(i, c) have
//! opposite parity, so the two rows always differ.

use core::hint::select_unpredictable;

use crate::entry::{Core, Entry, GOLDEN};

/// An item as the table sees it.
///
/// The functions that run rarely (`contains_slow` and its like) take the three parts and not the
/// whole: a value of three words passes through memory in a call, so the caller would write it
/// there before it can branch, and every lookup had some instructions more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// What a slot in the first row would hold of it.
    pub(crate) entry: Entry,
    /// The row that the hash names.
    pub(crate) first: usize,
    /// The alternate of `first`.
    pub(crate) second: usize,
}

impl Key {
    /// Both places of the item.
    #[inline]
    pub(crate) fn places(self) -> [Place; 2] {
        [
            Place { row: self.first, entry: self.entry },
            Place { row: self.second, entry: self.entry.in_other_row() },
        ]
    }
}

/// An entry in one of the two rows of its item. A place belongs to exactly one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub(crate) row: usize,
    pub(crate) entry: Entry,
}

impl Place {
    /// The first of two, or the second. No branch: no processor could predict it.
    #[inline]
    pub(crate) fn select(first: bool, [a, b]: [Self; 2]) -> Self {
        Self {
            row: select_unpredictable(first, a.row, b.row),
            entry: select_unpredictable(first, a.entry, b.entry),
        }
    }
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

    /// The entry of `bits` bits and both rows of a 64-bit hash, mixed here once.
    #[inline]
    pub(crate) fn key(self, hash: u64, bits: u32) -> Key {
        let x = mix(hash);
        let entry = Entry::of_hash(x, bits);
        self.key_of(Place { row: high_product(x, self.rows) as usize, entry })
    }

    /// The item of an entry, as if its hash named the row where the entry lies.
    #[inline]
    pub(crate) fn key_of(self, Place { row, entry }: Place) -> Key {
        Key { entry, first: row, second: self.alternate(row, entry.core()) }
    }

    /// Where the entry lies when it is kicked.
    #[inline]
    pub(crate) fn other_place(self, Place { row, entry }: Place) -> Place {
        Place { row: self.alternate(row, entry.core()), entry: entry.in_other_row() }
    }

    /// The other row of an item with this core that lies in `row`.
    #[inline]
    pub(crate) fn alternate(self, row: usize, core: Core) -> usize {
        // Below m and odd, as m is even.
        let r = high_product(core.spread(), self.rows) | 1;
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
            let f = key.entry.bits();
            prop_assert!(f > 0 && f < 1 << bits);
        }

        #[test]
        fn the_alternate_is_its_own_inverse(buckets in buckets(), at: u64, f in 1..=u32::MAX) {
            let geometry = Geometry::new(buckets);
            let core = Entry::in_slot(f.into()).core();
            let bucket = high_product(at, buckets as u64) as usize;
            let other = geometry.alternate(bucket, core);
            prop_assert_eq!(geometry.alternate(other, core), bucket);
            prop_assert_eq!((bucket + other) % 2, 1, "opposite parity");
        }
    }

    #[test]
    fn small_tables_by_exhaustion() {
        for buckets in (2..=66).step_by(2) {
            let geometry = Geometry::new(buckets);
            for core in (1..1 << 12).map(|bits| Entry::in_slot(bits).core()) {
                for bucket in 0..buckets {
                    let other = geometry.alternate(bucket, core);
                    assert!(other < buckets && other % 2 != bucket % 2);
                    assert_eq!(geometry.alternate(other, core), bucket);
                }
            }
        }
    }

    /// A table of m buckets has m/2 odd distances; cores draw them all alike.
    #[test]
    fn distances_are_drawn_evenly() {
        for buckets in [6, 10, 64, 100] {
            let geometry = Geometry::new(buckets);
            let mut drawn = vec![0_u32; buckets];
            for core in (1..1 << 16).map(|bits| Entry::in_slot(bits).core()) {
                drawn[geometry.alternate(0, core)] += 1;
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
