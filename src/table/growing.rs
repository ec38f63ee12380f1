//! The growing table: linear hashing (Litwin, "Linear Hashing", VLDB 1980), with entries of variable length.
//!
//! The number of rows of a growing table never changes; the number of buckets in a row grows. At
//! level L each row has 2^L buckets, and the *cursor* says how many buckets have been split in two
//! since: a split takes the bucket at the cursor and moves some of its entries to a new bucket
//! at the end. So there is no pause in which everything is rebuilt, and the table is never half
//! empty.
//!
//! ```text
//! s = chain of the entry in row i
//! n = (s mod 2^L) * m + i
//! if n < cursor:  n = (s mod 2^(L+1)) * m + i
//! ```
//!
//! The chains of an item in its two rows differ. With one chain for both, each of its values would be
//! a closed table of m rows; so kicks carry load between all parts of the table, also between those
//! split already and those not.
//!
//! A level ends in two steps: (L, cursor at the end), and then (L + 1, cursor at 0). Both extents name
//! the same buckets, but entries are read by the level.

use core::hint::select_unpredictable;

use crossbeam_utils::CachePadded;

use super::buckets::{Bucket, Buckets, Reading, Words};
use super::chunks::Chunks;
use super::geometry::Place;
use crate::candidates::Candidates;
use crate::entry::{Entry, NoValues, Pattern, Slot, Values};
use crate::layout::{Format, Word};
use crate::memory::{NoMemory, TryBox};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The extent of a table with some number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    rows: usize,
    /// The buckets of a row at the start of the level: 2^level.
    shares: usize,
    buckets: usize,
}

impl Extent {
    /// One word holds both parts, so that they are read at once: the shares in these low bits, and above
    /// them the number of buckets, which is less than 2^44.
    const SHARE_BITS: u32 = 20;

    /// The extent of a table in which each row has one bucket.
    pub(crate) fn start(rows: usize) -> Self {
        Self { rows, shares: 1, buckets: rows }
    }

    /// `None` if it has more than `max_buckets` buckets, or no table can have it.
    pub(crate) fn try_new(
        rows: usize,
        level: u32,
        cursor: usize,
        max_buckets: usize,
    ) -> Option<Self> {
        let shares =
            1_usize.checked_shl(level).filter(|&shares| shares >> Self::SHARE_BITS == 0)?;
        let stride = shares.checked_mul(rows)?;
        let buckets = stride.checked_add(cursor)?;
        (cursor < stride && buckets <= max_buckets).then_some(Self { rows, shares, buckets })
    }

    #[inline]
    pub(crate) fn from_bits(rows: usize, bits: u64) -> Self {
        let shares = bits as usize & ((1 << Self::SHARE_BITS) - 1);
        Self { rows, shares, buckets: (bits >> Self::SHARE_BITS) as usize }
    }

    pub(crate) fn bits(self) -> u64 {
        self.shares as u64 | (self.buckets as u64) << Self::SHARE_BITS
    }

    #[inline]
    pub(crate) fn rows(self) -> usize {
        self.rows
    }

    pub(crate) fn level(self) -> u32 {
        self.shares.ilog2()
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
        self.rows * self.shares
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
        Self { buckets, ..self }
    }

    /// The start of the next level, if this one has ended.
    pub(crate) fn next_level(self) -> Option<Self> {
        (self.buckets == 2 * self.stride()).then_some(Self { shares: 2 * self.shares, ..self })
    }

    /// The bucket of a place.
    #[inline]
    pub(crate) fn bucket<V: Values>(self, place: Place, values: V) -> Bucket<Variable<V>> {
        let Self { rows, shares, buckets } = self;
        let (whole, stride) = (place.entry.whole() as usize, self.stride());
        // As if all buckets were split; one that is not lies a stride before its new one, which does
        // not exist yet. The chain begins at bit 1, and the number of rows is even.
        let split = (whole & (4 * shares - 2)) * (rows / 2) + place.row;
        let number = select_unpredictable(split < buckets, split, split.wrapping_sub(stride));
        Bucket { number, reading: Variable::new(shares, number >= stride, values) }
    }

    /// The bucket with this number.
    pub(crate) fn bucket_at<V: Values>(self, number: usize, values: V) -> Bucket<Variable<V>> {
        Bucket { number, reading: Variable::new(self.shares, number >= self.stride(), values) }
    }

    /// Whether a canonical word can be that of the bucket with this number, in a table with such values.
    #[inline]
    pub(crate) fn is_valid<F: Format>(
        self,
        number: usize,
        word: Word<F>,
        values: impl Values,
    ) -> bool {
        let is_split = number < self.cursor() || number >= self.stride();
        let told = if is_split { 2 * self.shares } else { 0 };
        self.bucket_at(number, values).reading.is_valid(word) & !word.any_has(told as u64)
    }
}

/// In a growing table a slot holds an entry of variable length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<V> {
    /// Mask of the bits that are a number below a 1: bits 0 to L at level L.
    low: u32,
    /// Mask of the core and the bits of the chain that the position of the bucket does not tell: all bits
    /// above those of `low`, but for the lowest in a bucket that is new in this level. (In an old one that is
    /// split this bit is told, too: it is 0 in the item as in the slot.)
    untold: u32,
    values: V,
}

impl<V: Values> Variable<V> {
    /// Of a bucket in a table with this number of buckets in a row at the start of the level.
    #[inline]
    pub(crate) fn new(shares: usize, is_new: bool, values: V) -> Self {
        let doubled = 2 * shares as u32;
        let untold = doubled.wrapping_neg();
        Self { low: doubled - 1, untold: select_unpredictable(is_new, untold << 1, untold), values }
    }

    /// What the slots of this bucket are compared with in a lookup.
    #[inline]
    pub(crate) fn pattern(self, item: Entry) -> Pattern {
        let bits = item.whole() & self.untold | !item.extra() & self.low;
        Pattern { bits: bits.into(), low: self.low.into() }
    }

    /// The bit of a slot that says whether the next split of the bucket moves the entry, and that is
    /// cleared then.
    #[inline]
    pub(crate) fn next_bit(self) -> u64 {
        u64::from(self.untold.wrapping_neg())
    }

    /// Whether each entry in a word of this level has a core, and says how many extra bits it has.
    #[inline]
    pub(crate) fn is_valid<F: Format>(self, word: Word<F>) -> bool {
        let value_bits = self.values.bits();
        let core = (1 << (F::BITS - value_bits)) - (2 << (F::DOUBLINGS - value_bits));
        word.each_has(core) & word.each_has(self.low.into())
    }
}

impl<V: Values> Reading for Variable<V> {
    #[inline]
    fn slot(self, entry: Entry) -> Slot {
        let (extra, upper) = (entry.extra(), self.low ^ self.low >> 1);
        let known = if extra <= self.low { extra } else { extra & !upper & self.low | upper };
        Slot::new((entry.whole() & self.untold | known).into())
    }

    #[inline]
    fn entry(self, slot: Slot, sibling: Entry) -> Entry {
        let bits = slot.bits() as u32;
        Entry::from_parts(bits & self.untold | sibling.whole() & !self.untold, bits & self.low)
    }

    #[inline]
    fn extra_bits(self, slot: Slot) -> u32 {
        // Never 0: the default is for words that are read while they change.
        (slot.bits() as u32 & self.low).checked_ilog2().unwrap_or(0)
    }

    #[inline]
    fn either_holds<F: Format>(
        [first, second]: [Self; 2],
        words: [Word<F>; 2],
        items: [Entry; 2],
    ) -> bool {
        let patterns = [first.pattern(items[0]), second.pattern(items[1])];
        Word::either_matches(words, patterns, first.values.below())
    }

    #[inline]
    fn copies<F: Format>(self, word: Word<F>, item: Entry) -> usize {
        word.matches(self.pattern(item))
    }

    #[inline]
    fn holds_key<F: Format>(self, word: Word<F>, item: Entry) -> bool {
        V::ANY && Self::either_holds([self; 2], [word, Word::EMPTY], [item; 2])
    }

    #[inline]
    fn values<F: Format>(
        [first, second]: [Self; 2],
        words: [Word<F>; 2],
        items: [Entry; 2],
    ) -> Candidates {
        let Some(mask) = first.values.below() else {
            return Candidates::new();
        };
        let patterns = [first.pattern(items[0]), second.pattern(items[1])];
        let values = Word::values_matching(words, patterns, mask);
        Candidates::of(values, first.values.bits())
    }

    #[inline]
    fn inseparable<F: Format>(self, word: Word<F>, item: Entry) -> usize {
        // What the position tells of the chain is the same in all slots of the bucket.
        let mask = u64::from(self.untold) & self.values.below().unwrap_or(u64::MAX);
        word.equal_below(item.whole().into(), mask)
    }

    /// An item that is itself an entry with few extra bits has no entries with more.
    #[inline]
    fn longest<F: Format>(self, word: Word<F>, item: Entry) -> Option<Slot> {
        let more = 2_u64 << item.extra().ilog2();
        word.longest(self.pattern(item), more)
    }

    #[inline]
    fn holder_of_longest<F: Format>(
        readings: [Self; 2],
        words: [Word<F>; 2],
        items: [Entry; 2],
    ) -> Option<bool> {
        let length = |at: usize| {
            let longest = readings[at].longest(words[at], items[at]);
            longest.map(|slot| slot.bits() as u32 & readings[at].low)
        };
        let [first, second] = [length(0), length(1)];
        first.max(second).map(|_| first >= second)
    }
}

/// Buckets that can become more.
pub struct Growing<V = NoValues> {
    words: Chunks,
    rows: usize,
    load_thousandths: u32,
    values: V,
    /// In a box as the count of inconclusive lookups is.
    changing: TryBox<Changing>,
}

/// What growth changes.
struct Changing {
    /// On a line of its own.
    extent: CachePadded<AtomicU64>,
    /// Held by whoever splits. It is taken before any stripe.
    splitting: Mutex<()>,
}

impl<V> Growing<V> {
    /// The number of buckets at the end of growth.
    pub(super) fn max_buckets(&self) -> usize {
        self.words.max_buckets()
    }

    /// The load that growth keeps, in thousandths.
    pub(super) fn target_load(&self) -> u32 {
        self.load_thousandths
    }

    /// Lets lookups and writers see the buckets of this extent, whose words are stored.
    pub(super) fn publish(&self, extent: Extent) {
        // SeqCst: pairs with the load in `extent`, for which it publishes the words.
        self.changing.extent.store(extent.bits(), Ordering::SeqCst);
    }

    /// The mutex of those who split.
    pub(super) fn splitting(&self) -> &Mutex<()> {
        &self.changing.splitting
    }

    /// What it has besides the words.
    pub(super) fn bytes_besides(&self) -> usize {
        size_of_val(&*self.changing)
    }
}

impl<V: Values> Buckets for Growing<V> {
    type Values = V;
    type Extent = Extent;
    type Reading = Variable<V>;
    type Entry = Entry;
    type Words = Chunks;

    const GROWS: bool = true;

    fn new(
        extent: Extent,
        load_thousandths: u32,
        values: V,
        words: Chunks,
    ) -> Result<Self, NoMemory> {
        let rows = extent.rows();
        let changing = TryBox::try_new(Changing {
            extent: CachePadded::new(AtomicU64::new(extent.bits())),
            splitting: Mutex::new(()),
        })?;
        Ok(Self { words, rows, load_thousandths, values, changing })
    }

    #[inline]
    fn values(&self) -> V {
        self.values
    }

    #[inline]
    fn words(&self) -> &Chunks {
        &self.words
    }

    #[inline]
    fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    fn extent(&self) -> Extent {
        // SeqCst: pairs with the store in `publish`. Whoever reads an old extent comes before all
        // that was inserted by a newer one. As an Acquire load it makes the copies of the splits
        // visible.
        Extent::from_bits(self.rows, self.changing.extent.load(Ordering::SeqCst))
    }

    #[inline]
    fn count(&self, extent: Extent) -> usize {
        extent.buckets()
    }

    #[inline]
    fn bucket(&self, place: Place, extent: Extent) -> Bucket<Variable<V>> {
        extent.bucket(place, self.values)
    }

    #[inline]
    fn reading(extent: Extent, bucket: usize, values: V) -> Variable<V> {
        extent.bucket_at(bucket, values).reading
    }

    #[inline]
    fn growing(&self) -> Option<&Growing<V>> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Geometry;
    use super::*;
    use crate::entry::{Entry, NoValues, Shape, Slot};
    use crate::layout::sealed::Sealed;
    use crate::layout::{self, Format};
    use proptest::prelude::*;

    type FormatOf<L> = <L as Sealed>::Format;

    fn is_of(bucket: Bucket<Variable<NoValues>>, slot: Slot, item: Entry) -> bool {
        bucket.reading.pattern(item).matches(slot.bits())
    }

    /// All extents of a table that grows to `buckets`, the two at the end of a level included.
    fn extents(rows: usize, buckets: usize) -> impl Iterator<Item = Extent> {
        let start = Extent::start(rows);
        core::iter::successors(Some(start), move |extent| {
            (extent.buckets() < buckets)
                .then(|| extent.next_level().unwrap_or_else(|| extent.after(1)))
        })
    }

    /// A split moves what goes to the one new bucket, and nothing else moves; what stays is the same in
    /// a slot, and what goes but for one bit.
    #[test]
    fn a_split_moves_from_one_bucket_to_one_new_one() {
        for rows in [2, 6, 10] {
            let geometry = Geometry::new(rows, Shape::growing(16, 9));
            for place in (0..300).flat_map(|hash| geometry.places(geometry.key(hash))) {
                for extent in extents(rows, 20 * rows).filter(|e| e.next_level().is_none()) {
                    let next = extent.after(1);
                    let (before, after) =
                        (extent.bucket(place, NoValues), next.bucket(place, NoValues));
                    let slot = before.reading.slot(place.entry);
                    assert!(before.number < extent.buckets());
                    assert_eq!(before.number % rows, place.row);
                    assert_eq!(before, extent.bucket_at(before.number, NoValues));
                    let goes = before.number == extent.cursor()
                        && slot.bits() & before.reading.next_bit() != 0;
                    let cleared = if goes { before.reading.next_bit() } else { 0 };
                    let number = if goes { extent.buckets() } else { before.number };
                    assert_eq!(after.number, number);
                    assert_eq!(after.reading.slot(place.entry).bits(), slot.bits() & !cleared);
                }
            }
        }
    }

    /// A slot and its bucket tell the entry: all of the chain and the core, and the extra bits that the
    /// level had when it was inserted.
    #[test]
    fn a_slot_and_its_bucket_tell_the_entry() {
        let (rows, shape) = (6, Shape::growing(16, 9));
        let geometry = Geometry::new(rows, shape);
        for hash in 0..100 {
            let [place, _] = geometry.places(geometry.key(hash));
            for (from, inserted) in extents(rows, 20 * rows).enumerate().step_by(7) {
                let first = inserted.bucket(place, NoValues);
                let stored = first.reading.slot(place.entry);
                let entry = first.reading.entry(stored, place.entry);
                assert_eq!(entry.whole(), place.entry.whole());
                let level = inserted.level();
                assert_eq!(first.reading.extra_bits(stored), level);
                assert_eq!(entry.extra(), place.entry.extra() & ((1 << level) - 1) | 1 << level);
                for extent in extents(rows, 20 * rows).skip(from) {
                    let bucket = extent.bucket(place, NoValues);
                    let slot = bucket.reading.slot(entry);
                    let sibling = Entry::in_share(bucket.number / rows);
                    assert_eq!(bucket.reading.entry(slot, sibling), entry);
                    assert!(is_of(bucket, slot, place.entry));
                    // And it is of no other item that differs in what is known.
                    for bit in 1..16 {
                        let whole = entry.whole() ^ 1 << bit;
                        let other =
                            Place { entry: Entry::from_parts(whole, place.entry.extra()), ..place };
                        let there = extent.bucket(other, NoValues);
                        assert!(there.number != bucket.number || !is_of(there, slot, other.entry));
                    }
                    for bit in 0..level {
                        let other =
                            Entry::from_parts(entry.whole(), place.entry.extra() ^ 1 << bit);
                        assert!(!is_of(bucket, slot, other));
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
            level in 0_u32..19,
            at in 0.0..1.0,
            hash: u64,
        ) {
            let rows = 2 * pairs;
            let cursor = ((rows << level) as f64 * at) as usize;
            let extent = Extent::try_new(rows, level, cursor, usize::MAX).unwrap();
            prop_assert_eq!(Extent::from_bits(rows, extent.bits()), extent);
            let geometry = Geometry::new(rows, Shape::growing(32, 19));
            for place in geometry.places(geometry.key(hash)) {
                let s = place.entry.whole() as usize >> 1;
                let mut n = s % (1 << level) * rows + place.row;
                if n < cursor {
                    n = s % (1 << (level + 1)) * rows + place.row;
                }
                prop_assert_eq!(extent.bucket(place, NoValues).number, n);
                prop_assert_eq!(extent.bucket(place, NoValues), extent.bucket_at(n, NoValues));
            }
        }
    }

    /// As docs/format.md has it, slot by slot.
    fn check_validity<L: Format>(level: u32, at: f64, random: [u64; 3]) {
        let (rows, chain, bits) = (6, L::DOUBLINGS, L::BITS);
        let level = level % (chain + 1);
        let stride = rows << level;
        // No bucket is split at the last level.
        let cursor = if level == chain { 0 } else { (stride as f64 * at) as usize };
        let extent = Extent::try_new(rows, level, cursor, usize::MAX).unwrap();
        let [number, random, zeros] = random;
        let number = number as usize % extent.buckets();
        let is_split = number < cursor || number >= stride;
        // Any slots, and slots with zeros in one of their parts.
        let lane = (1_u64 << bits) - 1;
        let low = (2_u64 << level) - 1;
        let told = if is_split { 2_u64 << level } else { 0 };
        let slots = (0..L::SLOTS as u64).map(|slot| {
            let any = random.rotate_left(13 * slot as u32) & lane;
            match zeros >> (4 * slot) & 15 {
                0 => any & low,
                1 => any & !low,
                2 => any | 1,
                3 => any & !told & ((2 << chain) - 1),
                _ => any & !told,
            }
        });
        let slots: Vec<u64> = slots.filter(|&slot| slot != 0).collect();
        let word =
            slots.iter().fold(Word::<L>::EMPTY, |word, &bits| word.with(Slot::new(bits)).unwrap());
        let is_valid = |slot: u64| {
            let has_core = slot >> (chain + 1) != 0;
            let has_length = (0..=level).any(|bit| slot >> bit & 1 == 1);
            has_core && has_length && (!is_split || slot >> (level + 1) & 1 == 0)
        };
        let expected = slots.iter().all(|&slot| is_valid(slot));
        let found = extent.is_valid(number, word, NoValues);
        assert_eq!(found, expected, "{slots:x?}, level {level}, split: {is_split}");
    }

    proptest! {
        #[test]
        fn words_are_valid_or_not(level in 0..20_u32, at in 0.0..1.0, random: [u64; 3]) {
            check_validity::<FormatOf<layout::Fp12x5>>(level, at, random);
            check_validity::<FormatOf<layout::Fp16x4>>(level, at, random);
            check_validity::<FormatOf<layout::Fp21x3>>(level, at, random);
            check_validity::<FormatOf<layout::Fp32x2>>(level, at, random);
        }
    }

    /// Every bucket of a grown table is the bucket of about as many items as any other.
    #[test]
    fn entries_fill_all_buckets() {
        let rows = 6;
        let extent = Extent { rows, shares: 1 << 5, buckets: rows << 5 };
        let mut held = vec![0_u32; extent.buckets()];
        let geometry = Geometry::new(rows, Shape::growing(16, 9));
        for hash in 0..200_000 {
            for place in geometry.places(geometry.key(hash)) {
                held[extent.bucket(place, NoValues).number] += 1;
            }
        }
        assert!(held.iter().all(|held| (1850..2320).contains(held)), "{held:?}");
    }
}
