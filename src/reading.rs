//! How the slots of a bucket are read: whole fingerprints in a table of fixed size, entries of variable
//! length in a growing one. Pure functions.

use core::hint::select_unpredictable;

use crate::candidates::{Candidates, Values};
use crate::entry::{Entry, Pattern, Slot, ValueBits};
use crate::layout::{Layout, Word};

/// How the slots of a bucket are read.
pub trait Reading: Copy {
    /// What a slot of the bucket holds of an entry.
    fn slot(self, entry: Entry) -> Slot;

    /// The entry in a slot of the bucket, in which `sibling` is or could be, too.
    fn entry(self, slot: Slot, sibling: Entry) -> Entry;

    /// How many extra bits a slot has; 0 in a table of fixed size.
    fn extra_bits(self, slot: Slot) -> u32;

    /// Whether the words of two buckets hold an entry of an item, of which these are the entries in
    /// the rows of these buckets: the heart of a lookup.
    fn either_holds<L: Layout>(readings: [Self; 2], words: [Word<L>; 2], items: [Entry; 2])
    -> bool;

    /// How many entries of an item the word of the bucket holds.
    fn copies<L: Layout>(self, word: Word<L>, item: Entry) -> usize;

    /// Whether the word of the bucket of a maplet holds an entry of an item, whatever its value is.
    fn holds_key<L: Layout>(self, _: Word<L>, _: Entry) -> bool {
        false
    }

    /// The values of an item in the words of two buckets of a maplet.
    fn values<L: Layout>(_: [Self; 2], _: [Word<L>; 2], _: [Entry; 2]) -> Candidates {
        Candidates::new()
    }

    /// How many entries in the word of the bucket have the same core and the same chain as those of an item:
    /// no growth parts them.
    fn of_class<L: Layout>(self, word: Word<L>, item: Entry) -> usize;

    /// Of the entries of an item in the word of the bucket one with the most extra bits.
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot>;

    /// Whether it is the first of two words that holds the longest entry of an item, or one of the
    /// longest. `None`: no word holds one.
    fn holder_of_longest<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> Option<bool>;
}

/// A reading that can leave a part of each slot out.
pub trait Masked: Reading {
    /// As `either_holds`, by the bits of the mask alone; the core is among them.
    fn either_holds_in<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
        mask: u64,
    ) -> bool;

    /// As `of_class`, by the bits of the mask alone.
    fn of_class_in<L: Layout>(self, word: Word<L>, item: Entry, mask: u64) -> usize;

    /// The values of the slots of each word that hold an entry of the item below their values.
    fn values_in<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
        values: ValueBits,
    ) -> Values;
}

/// In a table of fixed size a slot holds the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole;

impl Reading for Whole {
    #[inline]
    fn slot(self, entry: Entry) -> Slot {
        Slot::new(entry.whole().into())
    }

    #[inline]
    fn entry(self, slot: Slot, _: Entry) -> Entry {
        Entry::fingerprint(slot.bits())
    }

    #[inline]
    fn extra_bits(self, _: Slot) -> u32 {
        0
    }

    #[inline]
    fn either_holds<L: Layout>(_: [Self; 2], words: [Word<L>; 2], [item, _]: [Entry; 2]) -> bool {
        Word::either_holds(words, Self.slot(item))
    }

    #[inline]
    fn copies<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        word.copies(self.slot(item))
    }

    #[inline]
    fn of_class<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        self.copies(word, item)
    }

    #[inline]
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot> {
        let slot = self.slot(item);
        word.holds(slot).then_some(slot)
    }

    #[inline]
    fn holder_of_longest<L: Layout>(
        _: [Self; 2],
        words: [Word<L>; 2],
        [item, _]: [Entry; 2],
    ) -> Option<bool> {
        let slot = Self.slot(item);
        Word::either_holds(words, slot).then(|| words[0].holds(slot))
    }
}

impl Masked for Whole {
    #[inline]
    fn either_holds_in<L: Layout>(
        _: [Self; 2],
        words: [Word<L>; 2],
        [item, _]: [Entry; 2],
        mask: u64,
    ) -> bool {
        Word::either_alike(words, item.whole().into(), mask)
    }

    #[inline]
    fn of_class_in<L: Layout>(self, word: Word<L>, item: Entry, mask: u64) -> usize {
        word.alike(item.whole().into(), mask)
    }

    #[inline]
    fn values_in<L: Layout>(
        _: [Self; 2],
        words: [Word<L>; 2],
        [item, _]: [Entry; 2],
        values: ValueBits,
    ) -> Values {
        Word::values_alike(words, item.whole().into(), values)
    }
}

/// In a growing table a slot holds an entry of variable length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Mask of the bits that are a number below a 1: bits 0 to L at level L.
    low: u32,
    /// Mask of the core and the bits of the chain that the position of the bucket does not tell: all bits
    /// above those of `low`, but for the lowest in a bucket that is new in this level. (In an old one that is
    /// split this bit is told, too: it is 0 in the item as in the slot.)
    untold: u32,
}

impl Variable {
    /// Of a bucket in a table with this number of buckets in a row at the start of the level.
    #[inline]
    pub(crate) fn new(shares: usize, is_new: bool) -> Self {
        let doubled = 2 * shares as u32;
        let untold = doubled.wrapping_neg();
        Self { low: doubled - 1, untold: select_unpredictable(is_new, untold << 1, untold) }
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
    pub(crate) fn is_valid<L: Layout>(self, word: Word<L>, value_bits: u32) -> bool {
        let core = (1 << (L::FINGERPRINT_BITS - value_bits)) - (2 << (L::MAX_LEVEL - value_bits));
        word.each_has(core) & word.each_has(self.low.into())
    }
}

impl Reading for Variable {
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
    fn either_holds<L: Layout>(
        [first, second]: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> bool {
        Word::either_matches(words, [first.pattern(items[0]), second.pattern(items[1])])
    }

    #[inline]
    fn copies<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        word.matches(self.pattern(item))
    }

    #[inline]
    fn of_class<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        // What the position tells of the chain is the same in all slots of the bucket.
        word.alike(item.whole().into(), self.untold.into())
    }

    /// An item that is itself an entry with few extra bits has no entries with more.
    #[inline]
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot> {
        let more = 2_u64 << item.extra().ilog2();
        word.longest(self.pattern(item), more)
    }

    #[inline]
    fn holder_of_longest<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
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

impl Masked for Variable {
    #[inline]
    fn either_holds_in<L: Layout>(
        [first, second]: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
        mask: u64,
    ) -> bool {
        let patterns = [first.pattern(items[0]), second.pattern(items[1])];
        Word::either_matches_in(words, patterns, mask)
    }

    #[inline]
    fn of_class_in<L: Layout>(self, word: Word<L>, item: Entry, mask: u64) -> usize {
        word.alike(item.whole().into(), u64::from(self.untold) & mask)
    }

    #[inline]
    fn values_in<L: Layout>(
        [first, second]: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
        values: ValueBits,
    ) -> Values {
        let patterns = [first.pattern(items[0]), second.pattern(items[1])];
        Word::values_matching(words, patterns, values)
    }
}

/// In a maplet a slot holds a value, too, in its uppermost bits. An item of a maplet is a key with a
/// value: its slot has both, and so has what a removal looks for. Lookups ask for the key alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valued<R> {
    pub(crate) reading: R,
    pub(crate) values: ValueBits,
}

impl<R: Masked> Reading for Valued<R> {
    #[inline]
    fn slot(self, entry: Entry) -> Slot {
        self.reading.slot(entry)
    }

    #[inline]
    fn entry(self, slot: Slot, sibling: Entry) -> Entry {
        self.reading.entry(slot, sibling)
    }

    #[inline]
    fn extra_bits(self, slot: Slot) -> u32 {
        self.reading.extra_bits(slot)
    }

    /// Whatever their values are.
    #[inline]
    fn either_holds<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> bool {
        let mask = readings[0].values.below();
        R::either_holds_in(readings.map(|valued| valued.reading), words, items, mask)
    }

    /// With its value.
    #[inline]
    fn copies<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        self.reading.copies(word, item)
    }

    #[inline]
    fn holds_key<L: Layout>(self, word: Word<L>, item: Entry) -> bool {
        Self::either_holds([self; 2], [word, Word::EMPTY], [item; 2])
    }

    #[inline]
    fn values<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> Candidates {
        let values = readings[0].values;
        let readings = readings.map(|valued| valued.reading);
        Candidates::of(R::values_in(readings, words, items, values), values.bits())
    }

    /// Whatever their values are: the entries of a key are in its two buckets.
    #[inline]
    fn of_class<L: Layout>(self, word: Word<L>, item: Entry) -> usize {
        self.reading.of_class_in(word, item, self.values.below())
    }

    /// With its value.
    #[inline]
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot> {
        self.reading.longest(word, item)
    }

    /// With its value.
    #[inline]
    fn holder_of_longest<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> Option<bool> {
        R::holder_of_longest(readings.map(|valued| valued.reading), words, items)
    }
}
