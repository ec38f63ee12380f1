//! Where an item lives: from a 64-bit hash to an entry and two rows.
//!
//! Pure functions. In a table of fixed size a row is a bucket. In a growing table a row has more and
//! more buckets, and [`Extent`](crate::table::Extent) says in which of them an entry lies.
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

use crate::entry::{Core, Entry, GOLDEN, Shape, Slot, Values};

/// An item as the table sees it.
///
/// The functions that run rarely (`contains_slow` and its like) take the three parts and not the
/// whole: a value of three words passes through memory in a call, so the caller would write it
/// there before it can branch, and every lookup had some instructions more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Its entry in the first row.
    pub(crate) entry: Entry,
    /// The row that the hash names.
    pub(crate) first: usize,
    /// The alternate of `first`.
    pub(crate) second: usize,
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

/// The rows of a table, an even number of at least 2, and the shape of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    rows: u64,
    shape: Shape,
}

impl Geometry {
    #[inline]
    pub(crate) fn new(rows: usize, shape: Shape) -> Self {
        debug_assert!(rows >= 2 && rows.is_multiple_of(2));
        Self { rows: rows as u64, shape }
    }

    /// That of a maplet with such values, where this is that of a filter.
    #[inline]
    pub(crate) fn with_values(self, values: impl Values) -> Self {
        Self { shape: self.shape.with_values(values), ..self }
    }

    /// The item with this 64-bit hash, mixed here once.
    #[expect(clippy::inline_always, reason = "of a constant shape, little of it is left")]
    #[inline(always)]
    pub(crate) fn key(self, hash: u64) -> Key {
        let x = mix(hash);
        let entry = self.shape.entry(x);
        self.key_of(Place { row: high_product(x, self.rows) as usize, entry })
    }

    /// An item, with its value.
    #[expect(clippy::inline_always, reason = "as for `key`")]
    #[inline(always)]
    pub(crate) fn key_of_item<V: Values>(self, item: V::Item) -> Key {
        let (hash, value) = V::parts(item);
        let key = self.key(hash);
        let entry = if V::ANY { self.shape.with_value(key.entry, value) } else { key.entry };
        Key { entry, ..key }
    }

    /// For the models.
    #[cfg(loom)]
    pub(crate) fn with_value(self, entry: Entry, value: u32) -> Entry {
        if value > 0 { self.shape.with_value(entry, value) } else { entry }
    }

    /// A number of a place that has nothing to do with its bucket.
    #[inline]
    pub(crate) fn draw(self, place: Place) -> usize {
        self.shape.draw(place.entry)
    }

    /// The item of an entry, as if its hash named the row where the entry lies.
    #[inline]
    pub(crate) fn key_of(self, Place { row, entry }: Place) -> Key {
        Key { entry, first: row, second: self.alternate(row, self.shape.core(entry)) }
    }

    /// Both places of an item.
    #[inline]
    pub(crate) fn places(self, Key { entry, first, second }: Key) -> [Place; 2] {
        let other = self.shape.in_other_row(entry);
        [Place { row: first, entry }, Place { row: second, entry: other }]
    }

    /// The other place of the item that has an entry in this one.
    #[inline]
    pub(crate) fn other_place(self, place: Place) -> Place {
        let [_, other] = self.places(self.key_of(place));
        other
    }

    /// The other row of an item with this core that lies in `row`.
    #[inline]
    pub(crate) fn alternate(self, row: usize, core: Core) -> usize {
        // Below m and odd, as m is even.
        let r = high_product(core.spread(), self.rows) | 1;
        let (difference, below_zero) = r.overflowing_sub(row as u64);
        (if below_zero { difference.wrapping_add(self.rows) } else { difference }) as usize
    }

    /// A number of an item that is the same in both of its rows, for groups of items. A core alone will
    /// do where cores have many bits.
    #[inline]
    pub(crate) fn version_group(self, Key { entry, first, second }: Key) -> usize {
        self.version_group_of(self.shape.core(entry), first.min(second))
    }

    /// As `version_group`, of the item that has what this slot holds in a bucket of this row.
    #[inline]
    pub(crate) fn version_group_in(self, row: usize, slot: Slot) -> usize {
        let core = self.shape.core_of_slot(slot);
        self.version_group_of(core, row.min(self.alternate(row, core)))
    }

    #[inline]
    fn version_group_of(self, core: Core, lower_row: usize) -> usize {
        core.bits() as usize + if self.shape.grows() { lower_row } else { 0 }
    }
}

/// One multiplication to 128 bits, folded: a weak hash (consecutive integers, say) comes out with
/// both its upper bits, which name the bucket, and its lower bits, the fingerprint, well spread.
///
/// Both factors depend on the hash. With a constant for one of them, hashes in arithmetic
/// progression gave up to 2.3 times the false positives that are due.
#[inline]
fn mix(hash: u64) -> u64 {
    // Models choose the parts of an item, and so the mixed hash.
    if cfg!(loom) {
        return hash;
    }
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

    const SHAPE: Shape = Shape::fixed(16);

    /// Even numbers of buckets of every magnitude, the extremes included.
    fn buckets() -> impl Strategy<Value = usize> {
        prop_oneof![1..100_usize, 1..1_usize << 20, 1..1_usize << 61, Just(1 << 61)]
            .prop_map(|pairs| 2 * pairs)
    }

    proptest! {
        #[test]
        fn a_key_lies_in_the_table(buckets in buckets(), hash: u64, bits in 4..=32_u32) {
            let key = Geometry::new(buckets, Shape::fixed(bits)).key(hash);
            prop_assert!(key.first < buckets && key.second < buckets);
            let f = u64::from(key.entry.whole());
            prop_assert!(f > 0 && f < 1 << bits);
        }

        #[test]
        fn the_other_place_is_its_own_inverse(buckets in buckets(), hash: u64) {
            for shape in [Shape::fixed(4), Shape::fixed(32), Shape::growing(16, 9)] {
                let geometry = Geometry::new(buckets, shape);
                let key = geometry.key(hash);
                let [first, second] = geometry.places(key);
                prop_assert_eq!(geometry.other_place(first), second);
                prop_assert_eq!(geometry.other_place(second), first);
                prop_assert_eq!((first.row + second.row) % 2, 1, "opposite parity");
                prop_assert_eq!(geometry.version_group(key), geometry.version_group(geometry.key_of(second)));
            }
        }
    }

    #[test]
    fn small_tables_by_exhaustion() {
        for buckets in (2..=66).step_by(2) {
            let (geometry, shape) = (Geometry::new(buckets, SHAPE), SHAPE);
            for core in (1..1 << 12).map(|bits| shape.core(Entry::fingerprint(bits))) {
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
            let (geometry, shape) = (Geometry::new(buckets, SHAPE), SHAPE);
            let mut drawn = vec![0_u32; buckets];
            for core in (1..1 << 16).map(|bits| shape.core(Entry::fingerprint(bits))) {
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
