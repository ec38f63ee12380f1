//! How far a table has grown: linear hashing (Litwin, "Linear Hashing", VLDB 1980). Pure functions.
//!
//! The number of rows of a growing table never changes; the number of buckets in a row grows. At
//! level L each row has 2^L buckets, and the *cursor* says how many buckets have been split in two
//! since: a split takes the bucket at the cursor and moves some of its entries to a new bucket
//! at the end. So there is no pause in which everything is rebuilt, and the table is never half
//! empty.
//!
//! ```text
//! s = selector of the entry, by the parity of its row i
//! n = (s mod 2^L) * m + i
//! if n < cursor:  n = (s mod 2^(L+1)) * m + i
//! ```
//!
//! The two rows of an item have opposite parity, so two independent selectors choose its two buckets.
//! With one selector for both, each of its values would be a closed table of m rows; with two, kicks
//! carry load between all parts of the table, also between those split already and those not.

use core::hint::select_unpredictable;

use crate::geometry::{Key, Place};

/// The extent of a table with some number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    rows: usize,
    level: u32,
    buckets: usize,
}

impl Extent {
    /// One word holds both parts, so that they are read at once: the level in these low bits, and above
    /// them the number of buckets, which is less than 2^58.
    const LEVEL_BITS: u32 = 6;

    /// The extent of a table in which each row has one bucket.
    pub(crate) fn start(rows: usize) -> Self {
        Self { rows, level: 0, buckets: rows }
    }

    /// `None` if it has more than `max_buckets` buckets, or no table can have it.
    pub(crate) fn try_new(
        rows: usize,
        level: u32,
        cursor: usize,
        max_buckets: usize,
    ) -> Option<Self> {
        let stride = 1_usize.checked_shl(level)?.checked_mul(rows)?;
        let buckets = stride.checked_add(cursor)?;
        (cursor < stride && buckets <= max_buckets).then_some(Self { rows, level, buckets })
    }

    #[inline]
    pub(crate) fn from_bits(rows: usize, bits: u64) -> Self {
        let level = bits as u32 & ((1 << Self::LEVEL_BITS) - 1);
        Self { rows, level, buckets: (bits >> Self::LEVEL_BITS) as usize }
    }

    pub(crate) fn bits(self) -> u64 {
        u64::from(self.level) | (self.buckets as u64) << Self::LEVEL_BITS
    }

    #[inline]
    pub(crate) fn rows(self) -> usize {
        self.rows
    }

    pub(crate) fn level(self) -> u32 {
        self.level
    }

    /// The bucket that is split next.
    #[inline]
    pub(crate) fn cursor(self) -> usize {
        self.buckets - self.stride()
    }

    /// The number of buckets at the start of the level: from each bucket to the new one of its split it is
    /// this far.
    #[inline]
    pub(crate) fn stride(self) -> usize {
        self.rows << self.level
    }

    /// The number of buckets.
    #[inline]
    pub(crate) fn buckets(self) -> usize {
        self.buckets
    }

    /// The extent after this number of splits, no more than are left in the level.
    pub(crate) fn after(self, splits: usize) -> Self {
        let buckets = self.buckets + splits;
        debug_assert!(buckets <= 2 * self.stride());
        let level = self.level + u32::from(buckets == 2 * self.stride());
        Self { level, buckets, ..self }
    }

    /// Whether a split in this level moves the entry.
    #[inline]
    pub(crate) fn goes(self, place: Place) -> bool {
        place.entry.selectors()[place.row & 1] >> self.level & 1 != 0
    }

    /// Mask of the selector bits that choose this bucket: an entry belongs here if its masked selector
    /// equals the bucket's index in its row.
    #[inline]
    pub(crate) fn selecting(self, bucket: usize) -> u64 {
        let is_split = bucket < self.cursor() || bucket >= self.stride();
        (1 << (self.level + u32::from(is_split))) - 1
    }

    /// The bucket of a place.
    #[inline]
    pub(crate) fn bucket(self, place: Place) -> usize {
        let [even, odd] = place.entry.selectors();
        self.select(place.row, select_unpredictable(place.row & 1 == 0, even, odd))
    }

    /// Both buckets of an item: as `bucket` for each of its rows, which have opposite parity.
    #[inline]
    pub(crate) fn both(self, key: Key) -> [usize; 2] {
        let [even, odd] = key.entry.selectors();
        let first_is_even = key.first & 1 == 0;
        let of_first = select_unpredictable(first_is_even, even, odd);
        let of_second = select_unpredictable(first_is_even, odd, even);
        [self.select(key.first, of_first), self.select(key.second, of_second)]
    }

    /// The bucket of the next level, or, if it does not exist yet, the bucket whose split will make it.
    /// This equals the formula above: the cursor is the number of buckets less the stride.
    #[inline]
    fn select(self, row: usize, selector: u64) -> usize {
        let after = (selector & ((2 << self.level) - 1)) as usize * self.rows + row;
        let stride = self.stride();
        after - select_unpredictable(after < self.buckets, 0, stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::geometry::Geometry;
    use proptest::prelude::*;

    /// All extents of a table that grows to `buckets`.
    fn extents(rows: usize, buckets: usize) -> impl Iterator<Item = Extent> {
        let start = Extent::start(rows);
        core::iter::successors(Some(start), move |extent| {
            (extent.buckets() < buckets).then(|| extent.after(1))
        })
    }

    /// A split moves what goes to the one new bucket, and nothing else moves.
    #[test]
    fn a_split_moves_from_one_bucket_to_one_new_one() {
        for rows in [2, 6, 10] {
            let geometry = Geometry::new(rows);
            for hash in 0..300 {
                let key = geometry.key(hash, 16);
                for extent in extents(rows, 20 * rows) {
                    let next = extent.after(1);
                    assert_eq!(next.buckets(), extent.buckets() + 1);
                    assert_eq!(extent.both(key), key.places().map(|p| extent.bucket(p)));
                    for place in key.places() {
                        let (before, after) = (extent.bucket(place), next.bucket(place));
                        assert!(before < extent.buckets());
                        assert_eq!(before % rows, place.row);
                        if before == extent.cursor() && extent.goes(place) {
                            assert_eq!(after, extent.buckets());
                        } else {
                            assert_eq!(after, before);
                        }
                    }
                }
            }
        }
    }

    /// The extent that a file states, of a table that grows to at most `max_buckets` buckets.
    #[test]
    fn there_are_no_more_buckets_than_the_maximum() {
        for (level, cursor, buckets) in [(0, 0, 32), (0, 31, 63), (1, 0, 64), (2, 77, 205)] {
            let of = |max_buckets| Extent::try_new(32, level, cursor, max_buckets);
            assert_eq!(of(buckets).map(Extent::buckets), Some(buckets));
            assert_eq!(of(buckets - 1), None);
        }
        assert_eq!(Extent::try_new(32, 1, 64, 1000), None, "that is the next level");
    }

    proptest! {
        /// As the documentation has it, in any table up to 2^44 slots.
        #[test]
        fn a_bucket_is_where_the_formula_says(
            pairs in 1_usize..1 << 20,
            level in 0_u32..20,
            at in 0.0..1.0,
            hash: u64,
            bits in 4_u32..=32,
        ) {
            let rows = 2 * pairs;
            let cursor = ((rows << level) as f64 * at) as usize;
            let extent = Extent::try_new(rows, level, cursor, usize::MAX).unwrap();
            prop_assert_eq!(Extent::from_bits(rows, extent.bits()), extent);
            let key = Geometry::new(rows).key(hash, bits);
            for place in key.places() {
                let s = place.entry.selectors()[place.row % 2] as usize;
                let mut n = s % (1 << level) * rows + place.row;
                if n < cursor {
                    n = s % (1 << (level + 1)) * rows + place.row;
                }
                prop_assert_eq!(extent.bucket(place), n);
                prop_assert_eq!((s as u64 & extent.selecting(n)) as usize, n / rows);
                // And in no other bucket of the row.
                for other in (place.row..extent.buckets()).step_by(rows).take(64) {
                    let share = s as u64 & extent.selecting(other);
                    prop_assert_eq!(share as usize == other / rows, other == n);
                }
            }
        }
    }

    /// Every bucket of a grown table is the bucket of about as many entries as any other.
    #[test]
    fn entries_fill_all_buckets() {
        let rows = 6;
        let extent = Extent { rows, level: 5, buckets: rows << 5 };
        let mut held = vec![0_u32; extent.buckets()];
        for entry in (1..1 << 16).map(Entry::in_slot) {
            for row in 0..rows {
                held[extent.bucket(Place { row, entry })] += 1;
            }
        }
        assert!(held.iter().all(|held| (2000..2100).contains(held)), "{held:?}");
    }
}
