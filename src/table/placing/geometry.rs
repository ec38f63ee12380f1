//! Where an item lives: maps a 64-bit hash to an entry and two positions.
//!
//! **Invariant:** the other position of the other position is the first one. One of the two positions is even, and one
//! is odd.
//!
//! Pure functions. In a table of fixed size a position is the number of a bucket. In a growing table a position is a
//! number of 64 bits, and [`Extent`](super::Extent) says which bucket it has.
//!
//! A table of fixed size has m buckets. m is even and at least 2, and need not be a power of two. The first bucket is
//! `(x * m) >> 64`, the multiply-shift reduction of Lemire ("Fast Random Integer Generation in an Interval", 2019). The
//! second is partial-key cuckoo hashing (Fan et al., CoNEXT 2014, section 3.1) with a subtraction in place of the
//! exclusive or:
//!
//! ```text
//! alt(i, c) = (r(c) - i) mod m        r(c) odd, 0 < r(c) < m, drawn from the core
//! ```
//!
//! Applied twice, this gives i back, for every m. As m is even and r(c) is odd, i and alt(i, c) have opposite parity,
//! so the two buckets always differ.
//!
//! In a growing table the other position is the exclusive or with an odd number that is drawn from the core. So an
//! entry that knows some bits of one position also knows these bits of the other.

use super::entry::{Entry, GOLDEN, Shape, Values, high_product};
use crate::backports::select_unpredictable;

/// The number of version groups of the largest tables, as an exponent of 2.
pub(in crate::table) const GROUP_BITS: u32 = 10;

/// An item as the table sees it.
///
/// The functions that run rarely (`change_slow` and the like) take the first place of the item and compute the rest
/// again. Some of them, such as `contains_slow`, take the three parts: with a place, they or their callers would be
/// longer. None of them takes the whole key. In a call, a value of three words passes through memory: the caller would
/// write it there before it can branch, and every lookup would take some more instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub(crate) entry: Entry,
    /// The position that follows from the hash.
    pub(crate) first: u64,
    /// The other position.
    pub(crate) second: u64,
}

impl Key {
    /// Returns both places of the item.
    #[inline]
    pub(crate) fn places(self) -> [Place; 2] {
        let Self { entry, first, second } = self;
        [first, second].map(|position| Place { position, entry })
    }

    /// Returns the item at its even position.
    #[inline]
    pub(crate) fn even(self) -> Place {
        let Self { entry, first, second } = self;
        Place { position: select_unpredictable(first & 1 == 0, first, second), entry }
    }
}

/// An entry at one of the two positions of its item. A place belongs to exactly one bucket, with one exception: void
/// entries (see `placing/growing.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub(crate) position: u64,
    pub(crate) entry: Entry,
}

impl Place {
    /// Returns the first of two places, or the second. No branch: no processor could predict it.
    #[inline]
    pub(crate) fn select(in_first: bool, [a, b]: [Self; 2]) -> Self {
        Self {
            position: select_unpredictable(in_first, a.position, b.position),
            entry: select_unpredictable(in_first, a.entry, b.entry),
        }
    }
}

/// The rules by which a table places its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of buckets of a table of fixed size, even and at least 2. In a growing table, a mask of the bits of a
    /// position that all entries know.
    pub(in crate::table) size: u64,
    pub(in crate::table) shape: Shape,
}

impl Geometry {
    /// Returns the geometry of a table of fixed size with `size` buckets, or of a growing table whose entries all know
    /// the bits of the mask `size`.
    #[inline]
    pub(crate) fn new(size: u64, shape: Shape) -> Self {
        debug_assert!(shape.grows() || size >= 2 && size % 2 == 0);
        Self { size, shape }
    }

    /// Returns the key of the item with this 64-bit hash. The hash is mixed here, once.
    // Always inlined: with a constant shape, little code is left.
    #[inline(always)]
    pub(crate) fn key(self, hash: u64) -> Key {
        let product = product(hash);
        let x = fold(product);
        if self.shape.grows() {
            // The position is the mixed hash itself. The core comes from one half of the product, and the position
            // tells nothing of this half. The half is also ready earlier: the other position waits for the core, and
            // the word for the position.
            let core = self.shape.draw_core(product as u64);
            let (first, second) = (x, x ^ core.difference());
            return Key { entry: self.shape.entry(core), first, second };
        }
        let entry = self.shape.fingerprint(x);
        let first = high_product(x, self.size);
        self.key_of(Place { position: first, entry })
    }

    /// Returns the key of an item, with its value.
    #[inline(always)]
    pub(crate) fn key_of_item<V: Values>(self, item: V::Item) -> Key {
        let (hash, value) = V::parts(item);
        let key = self.key(hash);
        let entry = if V::ANY { self.shape.with_value(key.entry, value) } else { key.entry };
        Key { entry, ..key }
    }

    /// Returns the key of an entry, as if the hash of its item gave the position where the entry lies.
    #[inline]
    pub(crate) fn key_of(self, Place { position, entry }: Place) -> Key {
        Key { entry, first: position, second: self.alternate(position, entry) }
    }

    /// Returns the other position of an entry, as far as it is known.
    #[inline]
    pub(crate) fn alternate(self, position: u64, entry: Entry) -> u64 {
        let core = self.shape.core(entry);
        if self.shape.grows() {
            let known = u64::MAX >> ((u64::BITS - entry.known()) % u64::BITS);
            return position ^ core.difference() & known;
        }
        // Below m and odd, as m is even.
        let r = high_product(core.spread(), self.size) | 1;
        let (difference, below_zero) = r.overflowing_sub(position);
        if below_zero { difference.wrapping_add(self.size) } else { difference }
    }

    /// Returns the number of the version group of an item, which is the same for both of its positions. In a table of
    /// fixed size it is the core alone, which has many bits in most layouts. In a growing table it also contains the
    /// bits of the product of the positions that all entries know.
    ///
    /// The lowest bits of the product depend only on the lowest bits of the positions, and its lowest bit is 0. For one
    /// core, the product takes each even value as often as any other: if the positions of two items differ in bit i and
    /// in no lower bit, the products differ in bit i, because the sum of both positions is odd.
    #[inline]
    pub(crate) fn version_group(self, Key { entry, first, second }: Key) -> usize {
        // Only the lowest bits of the number count.
        if self.shape.grows() {
            self.number(Key { entry, first, second }) as usize
        } else {
            self.shape.core(entry).bits() as usize
        }
    }

    /// Returns the flag of an item among the items of its version group: one bit, the same for both of its positions,
    /// and for all values of a key.
    #[inline]
    pub(crate) fn flag(self, key: Key) -> u64 {
        // Items of one group differ in the bits above. In a model, items of one core share a flag.
        let bits = if cfg!(coucal_model) {
            self.shape.core(key.entry).bits()
        } else {
            self.number(key) >> GROUP_BITS
        };
        1_u64.wrapping_shl(bits as u32)
    }

    /// Returns the core of an item, and above it the product of its positions, as far as all entries know it.
    #[inline]
    fn number(self, Key { entry, first, second }: Key) -> u64 {
        let product = first.wrapping_mul(second);
        let known = if self.shape.grows() { product & self.size } else { product };
        // The lowest bit of the product is 0. In a model, the lowest bits of the sum tell the few groups of its table
        // apart.
        let shift = if cfg!(coucal_model) { 0 } else { self.shape.core_bits() - 1 };
        self.shape.core(entry).bits() + (known << shift)
    }

    /// Returns the version group of an entry at this place, as `version_group` does.
    #[inline]
    pub(crate) fn version_group_in(self, place: Place) -> usize {
        self.version_group(self.key_of(place))
    }
}

/// Mixes a hash: one multiplication to 128 bits, folded. Even if the hashes are weak (say, consecutive integers), the
/// upper bits of the result, which name the bucket, and the lower bits, the fingerprint, are well spread.
///
/// Both factors depend on the hash. With a constant for one of them, hashes in arithmetic progression gave up to 2.3
/// times the expected false positives.
#[inline]
pub(in crate::table) fn mix(hash: u64) -> u64 {
    fold(product(hash))
}

/// Returns the product that `mix` folds. The upper bits of the lower half depend on all bits of the hash.
#[inline]
fn product(hash: u64) -> u128 {
    // Models choose the parts of an item, and so the mixed hash.
    if cfg!(coucal_model) {
        let low = hash.wrapping_mul(GOLDEN);
        return u128::from(hash ^ low) << u64::BITS | u128::from(low);
    }
    // Rotated by 23, coprime to 64: otherwise two hashes could swap factors and give the same
    // product.
    u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN)
}

#[inline]
fn fold(product: u128) -> u64 {
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::cases;
    use crate::table::placing::entry::NoValues;
    use proptest::prelude::*;

    /// Generates even numbers of buckets of every magnitude, including the extremes.
    fn buckets() -> impl Strategy<Value = usize> {
        const MOST: usize = 1 << (usize::BITS - 3);
        prop_oneof![1..100_usize, 1..1_usize << 20, 1..MOST, Just(MOST)].prop_map(|pairs| 2 * pairs)
    }

    fn fixed(buckets: usize, bits: u32) -> Geometry {
        Geometry::new(buckets as u64, Shape::new(bits, 0, NoValues))
    }

    /// Returns the geometry of a growing table whose entries all know the bits of this mask.
    fn growing(common: u64) -> Geometry {
        Geometry::new(common, Shape::new(16, 10, NoValues))
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        fn a_key_lies_in_the_table(buckets in buckets(), hash: u64, bits in 4..=32_u32) {
            let key = fixed(buckets, bits).key(hash);
            prop_assert!(key.first < buckets as u64 && key.second < buckets as u64);
            let f = u64::from(key.entry.bits());
            prop_assert!(f > 0 && f < 1 << bits);
        }

        #[test]
        fn the_other_place_is_its_own_inverse(buckets in buckets(), hash: u64) {
            let [short, long] = [4, 32].map(|bits| fixed(buckets, bits));
            for geometry in [short, long, growing(buckets as u64 - 1)] {
                let key = geometry.key(hash);
                let [first, second] = key.places();
                prop_assert_eq!(geometry.key_of(first), key);
                prop_assert_eq!(geometry.key_of(second).places(), [second, first]);
                prop_assert_eq!((first.position ^ second.position) % 2, 1, "opposite parity");
                let of_second = geometry.version_group_in(second);
                prop_assert_eq!(geometry.version_group(key), of_second);
                prop_assert_eq!(geometry.flag(key), geometry.flag(geometry.key_of(second)));
            }
        }
    }

    /// The bits that an entry knows give as many bits of its other position, and the version group.
    #[test]
    fn bits_known_of_one_position_are_known_of_the_other() {
        let geometry = growing((1 << 12) - 1);
        for hash in 0..1000 {
            let key = geometry.key(hash);
            for (known, place) in (12..64).flat_map(|known| key.places().map(|p| (known, p))) {
                let entry = Entry::knowing(place.entry.bits().into(), known);
                let position = place.position & ((1 << known) - 1);
                let short = Place { position, entry };
                let other = geometry.key_of(place).second & ((1 << known) - 1);
                let both = [short, Place { position: other, entry }];
                assert_eq!(geometry.key_of(short).places(), both);
                assert_eq!(geometry.version_group_in(short), geometry.version_group(key));
                assert_eq!(geometry.flag(geometry.key_of(short)), geometry.flag(key));
            }
        }
    }

    /// The items of one core are in as many groups as the common bits have even values.
    #[test]
    fn items_of_one_core_are_spread_over_the_groups_evenly() {
        let geometry = growing((1 << 10) - 1);
        for core in 1..64 {
            let entry = Entry::knowing(core << 10, u64::BITS);
            let groups = |position| geometry.version_group_in(Place { position, entry });
            let mut groups: Vec<_> = (0..1 << 10).step_by(2).map(groups).collect();
            groups.sort_unstable();
            groups.dedup();
            assert_eq!(groups.len(), 512, "core {core}");
        }
    }

    /// The items of one version group are spread over its flags, also if the core has no bits for them.
    #[test]
    fn items_of_one_group_are_spread_over_the_flags_evenly() {
        for geometry in [fixed(1 << 14, 16), fixed(1 << 14, 10), growing((1 << 14) - 1)] {
            let mut items = [0; 64];
            let keys = (0..1 << 22).map(|hash| geometry.key(mix(hash)));
            for key in keys.filter(|&key| geometry.version_group(key) % (1 << GROUP_BITS) == 77) {
                items[geometry.flag(key).trailing_zeros() as usize] += 1;
            }
            // 64 on average, with a standard deviation of 8.
            assert!(items.iter().all(|items| (24..112).contains(items)), "{items:?}");
        }
    }

    #[test]
    fn small_tables_by_exhaustion() {
        for buckets in (2..=66).step_by(2) {
            let geometry = fixed(buckets as usize, 16);
            for entry in (1..1 << 12).map(Entry::fingerprint) {
                for bucket in 0..buckets {
                    let other = geometry.alternate(bucket, entry);
                    assert!(other < buckets && other % 2 != bucket % 2);
                    assert_eq!(geometry.alternate(other, entry), bucket);
                }
            }
        }
    }

    /// A table of m buckets has m/2 odd distances; cores draw each of them about equally often.
    #[test]
    fn distances_are_drawn_evenly() {
        for buckets in [6, 10, 64, 100] {
            let geometry = fixed(buckets, 16);
            let mut drawn = vec![0_u32; buckets];
            for entry in (1..1 << 16).map(Entry::fingerprint) {
                drawn[geometry.alternate(0, entry) as usize] += 1;
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
