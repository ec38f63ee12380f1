//! How the slots of a bucket are read: whole fingerprints in a table of fixed size, entries of variable
//! length in a growing one. Pure functions.

use crate::entry::{Entry, Pattern, Slot};
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

    /// Of the entries of an item in the word of the bucket one with the most extra bits.
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot>;

    /// Of two words of which at least one holds an entry of an item: whether the first holds the longest.
    fn first_is_longest<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> bool;
}

/// In a table of fixed size a slot holds the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole;

impl Reading for Whole {
    #[inline]
    fn slot(self, entry: Entry) -> Slot {
        Slot::new(entry.bits())
    }

    #[inline]
    fn entry(self, slot: Slot, _: Entry) -> Entry {
        Entry::from_bits(slot.bits())
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
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot> {
        let slot = self.slot(item);
        word.holds(slot).then_some(slot)
    }

    #[inline]
    fn first_is_longest<L: Layout>(
        _: [Self; 2],
        [first, _]: [Word<L>; 2],
        [item, _]: [Entry; 2],
    ) -> bool {
        first.holds(Self.slot(item))
    }
}

/// In a growing table a slot holds an entry of variable length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// How often the table has doubled.
    level: u32,
    /// How many bits of the chain the position of the bucket tells: the level, and one more if the bucket
    /// is split in this level already.
    told: u32,
}

impl Variable {
    #[inline]
    pub(crate) fn new(level: u32, is_split: bool) -> Self {
        Self { level, told: level + u32::from(is_split) }
    }

    /// The bits of the chain that are not told, and the core.
    #[inline]
    fn untold(self) -> u32 {
        u32::MAX << (self.told + 1)
    }

    /// What the slots of this bucket are compared with in a lookup.
    #[inline]
    pub(crate) fn pattern(self, item: Entry) -> Pattern {
        let extra = item.extra() & ((2 << self.level) - 1);
        let bits = u64::from(item.whole() & self.untold() | extra);
        Pattern { bits, level: self.level }
    }

    /// The bit of a slot that says whether the next split of the bucket moves the entry, and that is
    /// cleared then.
    #[inline]
    pub(crate) fn next_bit(self) -> u64 {
        2 << self.told
    }

    /// Whether a slot of this bucket can hold this: it says how many extra bits it has, and what the
    /// position tells is left out.
    pub(crate) fn is_valid(self, slot: Slot) -> bool {
        let told = (2 << self.told) - (2 << self.level);
        slot.bits() & ((2 << self.level) - 1) != 0 && slot.bits() & told == 0
    }

    /// Whether the entry in a slot is one of this item: all that it knows, the item has.
    ///
    /// An item that is itself an entry with few extra bits has no entries with more.
    #[inline]
    pub(crate) fn is_of(self, slot: Slot, item: Entry) -> bool {
        self.pattern(item).matches(slot.bits()) && self.extra_bits(slot) <= item.extra().ilog2()
    }
}

impl Reading for Variable {
    #[inline]
    fn slot(self, entry: Entry) -> Slot {
        let (most, extra) = (1 << self.level, entry.extra());
        let known = if extra < 2 * most { extra } else { extra & (most - 1) | most };
        Slot::new(u64::from(entry.whole() & self.untold() | known))
    }

    #[inline]
    fn entry(self, slot: Slot, sibling: Entry) -> Entry {
        let bits = slot.bits() as u32;
        let whole = bits & self.untold() | sibling.whole() & !self.untold();
        let extra = bits & ((2 << self.level) - 1);
        Entry::from_parts(whole, extra)
    }

    #[inline]
    fn extra_bits(self, slot: Slot) -> u32 {
        // Never 0: the default is for words that are read while they change.
        (slot.bits() as u32 & ((2 << self.level) - 1)).checked_ilog2().unwrap_or(0)
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
    fn longest<L: Layout>(self, word: Word<L>, item: Entry) -> Option<Slot> {
        let slots = word.slots_in_use().filter(|&slot| self.is_of(slot, item));
        slots.max_by_key(|&slot| self.extra_bits(slot))
    }

    #[inline]
    fn first_is_longest<L: Layout>(
        readings: [Self; 2],
        words: [Word<L>; 2],
        items: [Entry; 2],
    ) -> bool {
        let length = |at: usize| {
            let longest = readings[at].longest(words[at], items[at]);
            longest.map(|slot| readings[at].extra_bits(slot))
        };
        length(0) >= length(1)
    }
}
