//! The growing table: linear hashing (Litwin, "Linear Hashing", VLDB 1980), with entries of variable length.
//!
//! **Invariant:** at every instant, by the extent of that instant, each entry is in the bucket of one of its positions.
//! All bits of the position that its bucket and its ring give are true, with one exception: a split or a merge makes
//! two entries of a void entry, one in each bucket, and one of these buckets gives a wrong bit.
//!
//! A split takes the bucket at the *cursor* and moves some of its entries to a new bucket at the end. So there is no
//! pause in which everything is rebuilt, and the table is never half empty.
//!
//! **Buckets.** At level L there are 2^L to 2^(L+1) buckets. The number of the bucket of a position is its lowest L + 1
//! bits; if there is no such bucket yet, its lowest L bits:
//!
//! ```text
//! n = position mod 2^(L+1)
//! if n >= buckets:  n = position mod 2^L
//! ```
//!
//! A bucket *tells* the bits of a position that its number gives. A bucket that was split in this level tells the
//! lowest L + 1 bits, and so does the new bucket of its split. All other buckets tell the lowest L bits.
//!
//! The initial size may be any number of buckets. If it is 2^L + n buckets, the first n buckets count as split in level
//! L.
//!
//! **Slots.** A slot has the core, and below it a *ring* of T + 1 bits. Bit j of the position always has the place j
//! mod (T + 1) of the ring. The place of bit L is the *head* of the ring. Read around from the head, the ring holds the
//! known bits of the position from bit L on, then a 1, then zeros. In a bucket that tells bit L, too, a 0 stands in the
//! place of this bit. A new entry knows the lowest L + T bits of its position (44 at most, if it was stashed before).
//! So the longer a table grows, the more it knows of new items: the rate of false positives hardly changes. (The idea
//! is that of the Taffy cuckoo filter, 2022, of `InfiniFilter`, SIGMOD 2023, and of the Aleph filter, VLDB 2024.)
//!
//! Rotated to the right by the head, the ring is a number v below a leading 1. An item with the position p is compared
//! by u = (p XOR bucket) >> L, in which all bits that the bucket tells are 0. An entry *matches* the item (is an entry
//! of the item) if the cores are equal, and v and u agree below the leading 1 of v.
//!
//! **Splits** decide by the bit at the head. An entry with a 0 there stays and does not change. An entry with a 1 there
//! goes, and the bit becomes 0. If the 1 at the head is the only one of the ring, the entry knows nothing beyond its
//! bucket: it is a *void* entry, as `InfiniFilter` calls it. A split doubles it: afterwards it is in both buckets, with
//! the 1 in the next place of the ring. So growth has no end.
//!
//! Doubling adds no item: the table counts the entries that it has doubled. The removal of an item takes one of the two
//! entries, and the other one stays. It is a false positive like any other, and is split again at each level. So a
//! table whose rings are short must stop growing when it has too many such entries.
//!
//! A level ends in two steps. The extent becomes first (L, all buckets split), and then (L + 1, no bucket split). Both
//! extents name the same buckets, but entries are read by the level.

use super::entry::{Entry, MOST_KNOWN, Shape, Values};
use super::geometry::{Geometry, Place};
use super::{Bucket, Found, Placing, Read, Sizes};
use crate::arch::{Query, Ring};
use crate::backports::select_unpredictable;
use crate::layout::{Encoding, Matches, MatchingValues, Only, Slot, both};

/// The extent of a table: how far it has grown.
///
/// One word holds all parts, so that they are read together and compared together:
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 5 | the level |
/// | 6 to 10 | the head: the place of bit L of a position in the ring, which is L modulo the length of the ring |
/// | 11 to 63 | the number of buckets |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(u64);

impl Extent {
    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    const HEAD: u32 = 6;
    const BUCKETS: u32 = 11;

    /// Returns the extent of a table with `buckets` buckets, at least 2, and rings of `ring` bits.
    pub(crate) fn of(buckets: usize, ring: u32) -> Self {
        let level = buckets.ilog2();
        Self::new(buckets, level % ring, level)
    }

    fn new(buckets: usize, head: u32, level: u32) -> Self {
        Self((buckets as u64) << Self::BUCKETS | u64::from(head << Self::HEAD | level))
    }

    #[inline]
    pub(crate) fn level(self) -> u32 {
        self.0 as u32 & ((1 << Self::HEAD) - 1)
    }

    #[inline]
    fn head(self) -> u32 {
        self.0 as u32 >> Self::HEAD & ((1 << (Self::BUCKETS - Self::HEAD)) - 1)
    }

    /// Returns the number of the bucket that is split next.
    #[inline]
    pub(crate) fn cursor(self) -> usize {
        self.buckets() - self.stride()
    }

    /// Returns the number of buckets at the start of the level. It is also the distance from each bucket to the new
    /// bucket of its split.
    #[inline]
    pub(crate) fn stride(self) -> usize {
        1 << self.level()
    }

    /// Returns the number of buckets.
    #[inline]
    pub(crate) fn buckets(self) -> usize {
        (self.0 >> Self::BUCKETS) as usize
    }

    /// Returns the extent after this number of splits, no more than are left in the level.
    pub(crate) fn after(self, splits: usize) -> Self {
        let buckets = self.buckets() + splits;
        debug_assert!(buckets <= 2 * self.stride());
        Self::new(buckets, self.head(), self.level())
    }

    /// Returns the start of the next level, if this level has ended.
    pub(crate) fn next_level(self, ring: u32) -> Option<Self> {
        let buckets = self.buckets();
        (buckets == 2 * self.stride()).then(|| Self::of(buckets, ring))
    }

    /// Returns whether the bucket tells one bit more: it was split in this level, or it is new.
    #[inline]
    fn is_split(self, bucket: usize) -> bool {
        bucket < self.cursor() || bucket >= self.stride()
    }

    /// Returns the number of the bucket of a position.
    #[inline]
    pub(crate) fn bucket(self, position: u64) -> usize {
        let stride = self.stride();
        let split = position as usize & (2 * stride - 1);
        // If there is no bucket `split`, the uppermost of these bits is a 1: the subtraction clears it.
        select_unpredictable(split < self.buckets(), split, split.wrapping_sub(stride))
    }
}

/// The buckets of a growing table: their slots hold entries of variable length.
impl<V: Values> Bucket<GrowingPlacing<V>> {
    #[inline]
    fn level(self) -> u32 {
        self.placement.extent.level()
    }

    /// Returns whether the bucket tells bit L of a position.
    #[inline]
    fn is_split(self) -> bool {
        self.placement.extent.is_split(self.number)
    }

    #[inline]
    fn ring<F: Encoding>(self) -> Ring {
        let bits = self.placement.values.ring_bits(F::RING_BITS);
        Ring { bits, head: self.placement.extent.head() }
    }

    /// Returns the bits of a position of this bucket from bit L on, with 0 for each bit that the bucket tells.
    #[inline]
    fn untold(self, position: u64) -> u64 {
        (position ^ self.number as u64) >> self.level()
    }

    /// Returns the query for the entries of an item in two words. The query compares only the bits of `mask`, if there
    /// is one.
    #[inline]
    fn sought<F: Encoding>(read: Read<F, GrowingPlacing<V>>, mask: Option<u64>) -> Query {
        let Read { key, buckets: [first, second], .. } = read;
        Query {
            ring: first.ring::<F>(),
            core: key.entry.bits().into(),
            untold: [first.untold(key.first), second.untold(key.second)],
            mask,
        }
    }

    /// Returns the bits of the position that a slot knows from bit L on, below a leading 1: its ring, rotated. Not 0
    /// for a slot of the table.
    #[inline]
    fn beyond<F: Encoding>(self, slot: Slot) -> u64 {
        let ring = self.ring::<F>();
        slot.rotated(ring).bits() & ring.mask()
    }

    /// Returns the number of bits of a position that the bucket tells.
    #[inline]
    fn told_bits(self) -> u32 {
        self.level() + u32::from(self.is_split())
    }

    /// Splits a slot of the bucket: returns the slot that stays, and the slot that goes. Returns both for a void entry.
    pub(crate) fn split<F: Encoding>(self, slot: Slot) -> [Option<Slot>; 2] {
        let ring = self.ring::<F>();
        let [at_head, next] = [1 << ring.head, 1 << ((ring.head + 1) % ring.bits)];
        let bits = slot.bits();
        if bits & ring.mask() == at_head {
            [Some(Slot::new(bits ^ at_head | next)); 2]
        } else if bits & at_head == 0 {
            [Some(slot), None]
        } else {
            [None, Some(Slot::new(bits ^ at_head))]
        }
    }

    /// Splits a word of the bucket without a void entry: returns the word of the entries that stay, and of those that
    /// go.
    pub(crate) fn split_known<F: Encoding>(self, word: F) -> [F; 2] {
        word.parted(self.placement.extent.head())
    }

    /// Returns whether the word of the bucket holds a void entry: one that knows nothing beyond the bucket.
    pub(crate) fn has_void<F: Encoding>(self, word: F) -> bool {
        let ring = self.ring::<F>();
        F::either_holds([word, F::EMPTY], Slot::new(1 << ring.head), Some(ring.mask()))
    }

    /// Returns whether a slot can be in this bucket, in a table whose entries know at least `least` bits of their
    /// positions.
    fn is_valid_slot<F: Encoding>(self, slot: Slot, least: u32) -> bool {
        let below = self.below().unwrap_or(u64::MAX);
        let (core, beyond) =
            (slot.bits() & below & !self.ring::<F>().mask(), self.beyond::<F>(slot));
        let told = self.told_bits();
        core != 0
            && beyond != 0
            && (!self.is_split() || beyond & 1 == 0)
            && self.place::<F>(slot).entry.known() >= told.max(least)
    }
}

/// The placement of a growing table by one extent.
#[derive(Clone, Copy, Debug)]
pub struct GrowingPlacing<V> {
    pub(in crate::table) extent: Extent,
    pub(in crate::table) values: V,
}

impl<V: Values> Placing for GrowingPlacing<V> {
    const GROWS: bool = true;

    type Values = V;

    #[inline]
    fn values(self) -> V {
        self.values
    }

    #[inline]
    fn is_same(self, other: Self) -> bool {
        self.extent == other.extent
    }

    #[inline]
    fn placed<F: Encoding>(sizes: Sizes, values: V) -> (Geometry, Self) {
        let shape = Shape::new(F::BITS, F::RING_BITS, values);
        let extent = Extent::of(sizes.buckets, shape.ring);
        let common = common_mask(sizes.initial, shape.ring);
        (Geometry::new(common, shape), Self { extent, values })
    }

    #[inline]
    fn bucket_of(self, position: u64) -> usize {
        self.extent.bucket(position)
    }

    #[inline]
    fn other<F: Encoding>(
        geometry: Geometry,
        bucket: Bucket<Self>,
        slot: Slot,
    ) -> Option<Bucket<Self>> {
        let Bucket { number, placement } = bucket;
        let (ring, extent) = (bucket.ring::<F>(), placement.extent);
        let difference = geometry.shape.core(Entry::fingerprint(slot.bits())).difference();
        // Bits 0 to L of a position name its bucket. If this bucket is split, it tells all of them, and a 0 stands at
        // the head of the ring. If not, it tells all except bit L, which is at the head of the ring.
        let head = slot.bits() >> ring.head & 1;
        let position = number as u64 | head << extent.level();
        if slot.bits() & ring.mask() == 1 << ring.head {
            // A void entry does not know bit L. It has one other bucket, unless that bucket is split already.
            let other = (number ^ difference as usize) & (extent.stride() - 1);
            return (!extent.is_split(other)).then_some(Bucket::at(placement, other));
        }
        Some(Bucket::at(placement, extent.bucket(position ^ difference)))
    }

    /// Compares two extents: in one level, the slots of a bucket are read alike if the bucket tells as many bits by
    /// both.
    #[inline]
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool {
        let read = |by: Bucket<Self>| (by.number, by.level(), by.told_bits());
        read(a) == read(b)
    }

    #[inline]
    fn slot<F: Encoding>(bucket: Bucket<Self>, Place { position, entry }: Place) -> Option<Slot> {
        let known = entry.known();
        if known < bucket.told_bits() {
            return None;
        }
        let ring = bucket.ring::<F>();
        let beyond = (known - bucket.level()).min(ring.bits - 1);
        let rotated = bucket.untold(position) & ((1 << beyond) - 1) | 1 << beyond;
        Some(Slot::new(u64::from(entry.bits()) | rotated).rotated_back(ring))
    }

    #[inline]
    fn place<F: Encoding>(bucket: Bucket<Self>, slot: Slot) -> Place {
        // `beyond` is never 0 in the table. The default is for words that are read while they change.
        let beyond = bucket.beyond::<F>(slot);
        let known = beyond.checked_ilog2().unwrap_or(0);
        let untold = (beyond & !(1 << known)) << bucket.level();
        let core = slot.bits() & !bucket.ring::<F>().mask();
        Place {
            position: bucket.number as u64 ^ untold,
            entry: Entry::knowing(core, bucket.level() + known),
        }
    }

    fn is_valid<F: Encoding>(geometry: Geometry, bucket: Bucket<Self>, word: F) -> bool {
        let least = geometry.size.count_ones();
        word.slots_in_use().all(|slot| bucket.is_valid_slot::<F>(slot, least))
    }

    fn is_valid_entry(geometry: Geometry, place: Place) -> bool {
        let ring = (1 << geometry.shape.ring) - 1;
        let known = geometry.size.count_ones()..=MOST_KNOWN;
        u64::from(place.entry.bits()) & ring == 0 && known.contains(&place.entry.known())
    }

    #[inline]
    fn either_agrees<F: Encoding>(read: Read<F, Self>, mask: Option<u64>) -> bool {
        F::either_matches(read.words, Bucket::sought(read, mask))
    }

    #[inline]
    fn values_matching<F: Encoding>(read: Read<F, Self>, mask: u64) -> MatchingValues {
        F::values_matching(read.words, Bucket::sought(read, Some(mask)))
    }

    #[inline]
    fn only<F: Encoding>(read: Read<F, Self>) -> Option<Only<F>> {
        // If the item is itself an entry, then an entry that knows more bits does not match it.
        if read.key.entry.known() < u64::BITS {
            return None;
        }
        match F::only(read.words, Bucket::sought(read, None)) {
            Matches::One(only) => Some(only),
            Matches::None | Matches::Several => None,
        }
    }

    #[inline]
    fn only_of_key<F: Encoding>(read: Read<F, Self>, below: u64) -> Matches<F> {
        F::only(read.words, Bucket::sought(read, Some(below)))
    }

    /// Finds the longest entry in each word. (If the item is itself an entry, then an entry that knows more bits does
    /// not match it.)
    #[inline]
    fn longest<F: Encoding>(read: Read<F, Self>) -> [Option<Found>; 2] {
        let level = read.buckets[0].level();
        let most = read.key.entry.known().saturating_sub(level);
        let longest = F::longest(read.words, Bucket::sought(read, None), most);
        both(longest, |found| found.map(|(slot, known)| Found { slot, known: level + known }))
    }
}

/// The highest level of the initial size that [`common_mask`] takes into account. With this level, the bits that all
/// entries know are enough to tell the version groups apart. A higher level would make merges costly: a merge doubles
/// an entry until it knows these bits, and all its doubles are in the same two buckets as long as no bucket tells them
/// apart.
const COMMON_LEVEL: u32 = 5;

/// Returns a mask of the lowest bits of a position that all entries know, in a table that began with `initial` buckets.
#[inline]
pub(crate) fn common_mask(initial: usize, ring: u32) -> u64 {
    (1 << (initial.ilog2().min(COMMON_LEVEL) + ring - 1)) - 1
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::layout::{Encoding, LayoutId, Packed, by_layout};
    use crate::random::random;
    use crate::table::placing::entry::{NoValues, ValueBits};

    type Fp16x4 = Packed<16, 4>;

    /// Returns the number of value bits with which a new entry knows `extra_bits` bits beyond its bucket, and no more:
    /// the core is the shortest.
    fn value_bits(extra_bits: u32) -> u32 {
        let value_bits = Fp16x4::BITS - 5 - extra_bits;
        assert_eq!(Fp16x4::ID.properties().extra_bits(value_bits), extra_bits);
        value_bits
    }

    /// Returns a bucket of a maplet with values so long that rings have `ring` bits.
    fn bucket_by(extent: Extent, number: usize, ring: u32) -> Bucket<GrowingPlacing<ValueBits>> {
        let values = ValueBits::new(Fp16x4::ID.properties(), value_bits(ring - 1));
        Bucket::at(GrowingPlacing { extent, values }, number)
    }

    /// Returns all extents of tables with up to `buckets` buckets, with both extents at the end of each level.
    fn extents(buckets: usize, ring: u32) -> impl Iterator<Item = Extent> {
        let first = Extent::of(2, ring);
        core::iter::successors(Some(first), move |extent| {
            (extent.buckets() < buckets)
                .then(|| extent.next_level(ring).unwrap_or_else(|| extent.after(1)))
        })
    }

    /// Returns slots with the core 1 and each ring that a slot of the bucket can have.
    fn slots(bucket: Bucket<GrowingPlacing<ValueBits>>) -> impl Iterator<Item = Slot> {
        let core = 1 << bucket.ring::<Fp16x4>().bits;
        let slots = (1..core).map(move |ring| Slot::new(core | ring));
        slots.filter(move |&slot| bucket.is_valid_slot::<Fp16x4>(slot, 0))
    }

    fn matches(bucket: Bucket<GrowingPlacing<ValueBits>>, slot: Slot, position: u64) -> bool {
        let ring = bucket.ring::<Fp16x4>();
        let entry = Entry::knowing(1 << ring.bits, u64::BITS);
        let word = Fp16x4::EMPTY.with(slot).unwrap();
        let item = Place { position, entry };
        let copies = bucket.copies(word, item, None);
        assert_eq!(bucket.holds_key(word, item), copies == 1);
        copies == 1
    }

    /// For every slot of every bucket of tables up to 40 buckets: it matches the items whose positions have its known
    /// bits, and no others; and its place, encoded again, is the same slot.
    #[test]
    fn a_slot_and_its_bucket_tell_the_place() {
        for ring in 2..=5 {
            for extent in extents(40, ring) {
                assert_eq!(extent.head(), extent.level() % ring);
                for number in 0..extent.buckets() {
                    let bucket = bucket_by(extent, number, ring);
                    for slot in slots(bucket) {
                        let place = bucket.place::<Fp16x4>(slot);
                        let known = place.entry.known();
                        assert!((bucket.told_bits()..=extent.level() + ring - 1).contains(&known));
                        assert_eq!(extent.bucket(place.position), number);
                        assert_eq!(bucket.slot::<Fp16x4>(place), Some(slot));
                        for position in 0..1 << (extent.level() + ring + 1) {
                            let is_here = extent.bucket(position) == number;
                            if !is_here {
                                continue;
                            }
                            let is_known = (position ^ place.position) & ((1 << known) - 1) == 0;
                            assert_eq!(matches(bucket, slot, position), is_known);
                        }
                    }
                }
            }
        }
    }

    /// For each slot: every item that the entry matched finds it in its bucket after the split, and no other item does,
    /// in either bucket. At the end of a level, both extents read the words alike.
    #[test]
    fn a_split_loses_no_item() {
        for ring in 2..=5 {
            for extent in extents(40, ring).filter(|extent| extent.next_level(ring).is_none()) {
                let (old, new) = (extent.cursor(), extent.buckets());
                let before = bucket_by(extent, old, ring);
                let after = extent.after(1);
                for slot in slots(before) {
                    let parts = before.split::<Fp16x4>(slot);
                    let is_void = before.place::<Fp16x4>(slot).entry.known() == extent.level();
                    assert_eq!(parts.iter().flatten().count(), if is_void { 2 } else { 1 });
                    let positions = 0..1 << (extent.level() + ring + 1);
                    for position in positions.filter(|&at| extent.bucket(at) == old) {
                        let found = matches(before, slot, position);
                        let at = usize::from(after.bucket(position) == new);
                        let bucket = bucket_by(after, [old, new][at], ring);
                        let held = parts[at].is_some_and(|part| matches(bucket, part, position));
                        assert_eq!(held, found, "{extent:?} {slot:?} {position}");
                        // The entry before it is cleared in the old bucket.
                        let held = found && at == 0;
                        assert!(!held || matches(bucket_by(after, old, ring), slot, position));
                        if let (Some(next), Some(part)) = (after.next_level(ring), parts[at]) {
                            let next = bucket_by(next, bucket.number, ring);
                            assert_eq!(next.place::<Fp16x4>(part), bucket.place::<Fp16x4>(part));
                            assert!(
                                next.is_valid_slot::<Fp16x4>(part, 0)
                                    && bucket.is_valid_slot::<Fp16x4>(part, 0)
                            );
                        }
                    }
                }
            }
        }
    }

    /// For words of a layout with any slots that their bucket can have: `has_void` says whether an entry is void, and
    /// if none is, `split_known` gives the same as `split` of each slot. Both parts keep the order of the slots.
    fn a_split_of_a_word_is_that_of_its_slots<F: Encoding>(values: impl Values) {
        let mut random = random(F::BITS.into());
        // 2^40 buckets; on 32 bits 2^24.
        let most = usize::MAX >> (usize::BITS / 2 - 8);
        let mut with_void = 0;
        for _ in 0..20_000 {
            let extent = Extent::of(random.random_range(2..most), values.ring_bits(F::RING_BITS));
            let number =
                extent.cursor() + random.random_range(0..extent.stride() - extent.cursor());
            let bucket = Bucket::at(GrowingPlacing { extent, values }, number);
            let ring = bucket.ring::<F>();
            let slots = random.random_range(0..=F::SLOTS);
            let mut slot = || {
                // Each number of known bits beyond the bucket is as frequent as any other.
                let known = random.random_range(0..ring.bits);
                let beyond = random.random::<u64>() & ((1 << known) - 1) | 1 << known;
                let core = random.random_range(1..1 << (F::BITS - ring.bits)) << ring.bits;
                Slot::new(core | beyond).rotated_back(ring)
            };
            let word =
                (0..slots).fold(F::EMPTY, |word, _| word.with(slot()).expect("there is room"));
            let parts: Vec<_> = word.slots_in_use().map(|slot| bucket.split::<F>(slot)).collect();
            let has_void = parts.iter().any(|[stays, goes]| stays.is_some() && goes.is_some());
            assert_eq!(bucket.has_void(word), has_void, "{:x}", word.bits());
            if has_void {
                with_void += 1;
                continue;
            }
            let split = bucket.split_known(word);
            for (at, part) in split.into_iter().enumerate() {
                assert!(part.is_canonical());
                let expected = parts.iter().filter_map(|parts| parts[at]);
                assert!(part.slots_in_use().eq(expected), "{:x}", word.bits());
            }
        }
        assert!((500..19_500).contains(&with_void), "{with_void}");
    }

    #[test]
    fn a_split_of_a_word_without_branches() {
        fn check<F: Encoding>() {
            a_split_of_a_word_is_that_of_its_slots::<F>(NoValues);
            a_split_of_a_word_is_that_of_its_slots::<F>(ValueBits::new(F::ID.properties(), 3));
        }
        for layout in LayoutId::of_tables(true) {
            by_layout!(layout, F => check::<F>());
        }
    }

    /// Buckets that are split have about equally many positions, and buckets that are not split twice as many.
    #[test]
    fn positions_fill_all_buckets() {
        let geometry = Geometry::new(u64::MAX, Shape::new(16, 9, NoValues));
        let extent = Extent::of(192, 10);
        let mut held = vec![0_u32; 256];
        for hash in 0..200_000 {
            for place in geometry.key(hash).places() {
                held[extent.bucket(place.position)] += 1;
            }
        }
        // Of 128 buckets 64 are split.
        for (bucket, &held) in held.iter().enumerate() {
            let due = match bucket {
                0..64 | 128..192 => 1562,
                64..128 => 3125,
                _ => 0,
            };
            assert!(held.abs_diff(due) <= due / 8, "bucket {bucket}: {held} of {due}");
        }
    }
}
