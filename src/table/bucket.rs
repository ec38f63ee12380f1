//! A bucket, and how its slots are read: what a table of fixed size and a growing one have in common.
//!
//! Pure: a placement says where the items of a table are at one time, and a bucket comes from it and from a position.
//! A table makes its placement from its atomics.
//!
//! In a maplet a slot holds a value, too, in its uppermost bits. An item of a maplet is a key with a value: its
//! slot has both, and so has what a removal looks for. Lookups ask for the key alone.
//!
//! What is asked of the words of the buckets of an item:
//!
//! | function | answer | the value counts |
//! |---|---|---|
//! | `either_holds` | whether one of two words has an entry of the item | no |
//! | `either_agrees` | the same, by some bits of the slots | by the mask |
//! | `holds_key` | as `either_holds`, of one word; in a filter `false` | no |
//! | `values` | the values of the item in two words | |
//! | `copies` | how many entries of the item one word has, now and however much the table grows | by the mask |
//! | `longest` | of the entries of the item in each of two words one of which the most is known | yes |
//! | `longest_again` | the same of one word that was read before | yes |
//! | `holder_of_longest` | which of two words that were read has the longer one | yes |
//!
//! **Invariant:** of one bucket, `slot` and `place` are each other's inverse: what a place becomes in a slot, read
//! again, is the place, as far as it is known.

use core::hint::select_unpredictable;

use super::entry::Values;
use super::geometry::{Geometry, Place};
use crate::layout::{Candidates, Format, Slot};

/// The sizes of a table at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// The number of buckets that it began with.
    pub(crate) initial: usize,
    pub(crate) buckets: usize,
    /// Slots in use that splits have added: one for each void entry.
    pub(crate) doubled: u64,
    /// The load that growth keeps, in thousandths; 0 in a table of fixed size.
    pub(crate) target_load: u32,
}

/// A bucket as its slots are read at one time. The places of an item are those with a position in the bucket.
pub trait Bucket: Copy + PartialEq + Send + Sync {
    /// Whether the number of buckets can grow.
    const GROWS: bool;

    /// The values in the slots.
    type Values: Values;

    /// The number of buckets, how far the table has grown, and the bits of its values: what tells where an item is.
    type Placement: Copy;

    /// In a table of these sizes.
    fn placement<F: Format>(grown: Grown, values: Self::Values) -> Self::Placement;

    /// What a hash says of an item; the same as long as the table exists.
    fn geometry<F: Format>(placement: Self::Placement) -> Geometry;

    /// The number of buckets.
    fn count(placement: Self::Placement) -> usize;

    /// The bucket with this number.
    fn at(placement: Self::Placement, number: usize) -> Self;

    /// The bucket of a place; of a place that belongs to two, one of them.
    fn of(placement: Self::Placement, place: Place) -> Self;

    fn number(self) -> usize;

    /// Whether the bucket was found by this placement: if so, the table has not grown since then.
    fn is_of(self, placement: Self::Placement) -> bool;

    /// The other bucket of what a slot of this one holds. `None`: it would belong to two.
    fn other<F: Format>(self, slot: Slot) -> Option<Self>;

    /// Whether this place is one of the bucket.
    fn has(self, place: Place) -> bool;

    /// Whether both are the same bucket, with slots that are read alike.
    fn reads_as(self, other: Self) -> bool;

    /// What a slot of the bucket holds of an entry at this place. `None`: the bucket tells more of the position than
    /// is known.
    fn slot<F: Format>(self, place: Place) -> Option<Slot>;

    /// The place of what a slot of the bucket holds.
    fn place<F: Format>(self, slot: Slot) -> Place;

    /// Whether a canonical word that comes from outside can be that of the bucket with this number.
    fn is_valid<F: Format>(placement: Self::Placement, number: usize, word: F) -> bool;

    /// Whether an entry that comes from outside, at its even position, can be in the stash.
    fn is_valid_entry<F: Format>(placement: Self::Placement, place: Place) -> bool;

    /// All bits of a slot below its value, if it has one.
    fn below(self) -> Option<u64>;

    /// Whether the words of two buckets hold an entry of an item, of which these are the places in these buckets, by
    /// the bits of the mask, if there is one.
    fn either_agrees<F: Format>(
        buckets: [Self; 2],
        words: [F; 2],
        item: [Place; 2],
        mask: Option<u64>,
    ) -> bool;

    /// Whether they hold an entry of the item, whatever its value is: the heart of a lookup.
    #[inline]
    fn either_holds<F: Format>(buckets: [Self; 2], words: [F; 2], item: [Place; 2]) -> bool {
        Self::either_agrees(buckets, words, item, buckets[0].below())
    }

    /// How many entries of an item the word of the bucket holds, by the bits of the mask, if there is one. No growth
    /// parts them from the item.
    fn copies<F: Format>(self, word: F, item: Place, mask: Option<u64>) -> usize {
        // Each slot as a lookup would see it alone.
        let alone = |slot| [F::EMPTY.with(slot).expect("an empty word has room"), F::EMPTY];
        let is_its = |&slot: &Slot| Self::either_agrees([self; 2], alone(slot), [item; 2], mask);
        word.slots_in_use().filter(is_its).count()
    }

    /// Whether the word of the bucket of a maplet holds an entry of an item, whatever its value is; false in
    /// a filter.
    #[inline]
    fn holds_key<F: Format>(self, word: F, item: Place) -> bool {
        Self::Values::ANY && Self::either_holds([self; 2], [word, F::EMPTY], [item; 2])
    }

    /// The values of an item in the words of two buckets of a maplet.
    fn values<F: Format>(buckets: [Self; 2], words: [F; 2], item: [Place; 2]) -> Candidates;

    /// Of the entries of an item, with its value, in the word of each bucket one of which the most is known.
    fn longest<F: Format>(
        buckets: [Self; 2],
        words: [F; 2],
        item: [Place; 2],
    ) -> [Option<Longest>; 2];

    /// As `longest`, of a word that was seen before: most often it is still the same.
    // Always inlined: what was seen would pass through memory.
    #[inline(always)]
    fn longest_again<F: Format>(
        self,
        word: F,
        item: Place,
        seen: Seen<F, Self>,
    ) -> Option<Longest> {
        let is_same = seen.bucket == self && seen.word.bits() == word.bits();
        if is_same { seen.longest } else { self.longest_anew(word, item) }
    }

    /// Whether it is the first of two buckets that has the entry of an item, with its value, of which the most is
    /// known, or one of them. `None`: neither has one.
    #[inline]
    fn holder_of_longest<F: Format>(
        [first, second]: [Seen<F, Self>; 2],
        _: [Place; 2],
    ) -> Option<bool> {
        let [first, second] = [first.known(), second.known()];
        first.max(second).map(|_| first >= second)
    }

    /// Apart, as the other functions that run rarely.
    #[cold]
    #[inline(never)]
    fn longest_anew<F: Format>(self, word: F, item: Place) -> Option<Longest> {
        let [longest, _] = Self::longest([self; 2], [word, F::EMPTY], [item; 2]);
        longest
    }
}

/// An entry in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    pub(crate) slot: Slot,
    /// As of its [`Entry`](super::entry::Entry).
    pub(crate) known: u32,
}

/// What was seen of an item in a bucket.
#[derive(Clone, Copy)]
pub struct Seen<F, B> {
    pub(super) bucket: B,
    pub(super) word: F,
    longest: Option<Longest>,
}

impl<F: Format, B: Bucket> Seen<F, B> {
    /// At each place of an item, in these words.
    #[inline(always)]
    pub(crate) fn at_each(buckets: [B; 2], words: [F; 2], item: [Place; 2]) -> [Self; 2] {
        let longest = B::longest(buckets, words, item);
        let look = |at: usize| Self { bucket: buckets[at], word: words[at], longest: longest[at] };
        [look(0), look(1)]
    }

    /// The first of two, or the second, which is of this bucket. No branch: no processor could predict it.
    #[inline]
    pub(super) fn select(in_first: bool, a: Self, b: Self, bucket: B) -> Self {
        // Number by number: what is larger would be selected in memory.
        let word = select_unpredictable(in_first, a.word.bits(), b.word.bits());
        let slot = select_unpredictable(in_first, a.slot(), b.slot());
        let known = select_unpredictable(in_first, a.known(), b.known());
        let longest = known.map(|known| Longest { slot: Slot::new(slot), known });
        Self { bucket, word: F::from_bits(word), longest }
    }

    #[inline]
    fn slot(self) -> u64 {
        self.longest.map_or(0, |longest| longest.slot.bits())
    }

    #[inline]
    pub(super) fn known(self) -> Option<u32> {
        self.longest.map(|longest| longest.known)
    }
}

/// Buckets from which on a table does not fit well into a core's own cache: 1 MiB of words.
pub(super) const OUT_OF_CACHE_BUCKETS: usize = 1 << 17;
