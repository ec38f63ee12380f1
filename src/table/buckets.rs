//! Where the word of a bucket lies, which bucket an entry has, and how the slots of a bucket are
//! read: what a table of fixed size and a growing one have in common.
//!
//! In a maplet a slot holds a value, too, in its uppermost bits. An item of a maplet is a key with a value: its
//! slot has both, and so has what a removal looks for. Lookups ask for the key alone.

use super::geometry::{Geometry, Place};
use super::growing::{Growing, Grown};
use crate::arch;
use crate::entry::{Slot, Values};
use crate::layout::{Candidates, Format, Word};
use crate::memory::NoMemory;
use crate::sync::AtomicU64;

/// A bucket, and how its slots are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket<R> {
    pub(crate) number: usize,
    pub(crate) reading: R,
}

/// How the slots of a bucket are read. The places of an item are those with a position in the bucket.
pub trait Reading: Copy + PartialEq {
    /// Whether this place is one of the bucket.
    fn has(self, place: Place) -> bool;

    /// What a slot of the bucket holds of an entry at this place. `None`: the bucket tells more of the position than
    /// is known.
    fn slot<F: Format>(self, place: Place) -> Option<Slot>;

    /// The word of the bucket as [`Buckets::other_bucket`] reads it: the same slots in the same order.
    fn turned<F: Format>(self, word: Word<F>) -> Word<F>;

    /// The place of what a slot of the bucket holds.
    fn place<F: Format>(self, slot: Slot) -> Place;

    /// How many of the lowest bits of its position are known of what a slot holds; 0 in a table of fixed size.
    fn known_bits<F: Format>(self, slot: Slot) -> u32;

    /// Whether the words of two buckets hold an entry of an item, of which these are the places in these buckets,
    /// whatever its value is: the heart of a lookup.
    fn either_holds<F: Format>(readings: [Self; 2], words: [Word<F>; 2], item: [Place; 2]) -> bool;

    /// How many entries of an item, with its value, the word of the bucket holds.
    fn copies<F: Format>(self, word: Word<F>, item: Place) -> usize;

    /// How many entries of an item the word of the bucket holds, whatever their values are. No growth parts them
    /// from the item.
    fn inseparable<F: Format>(self, word: Word<F>, item: Place) -> usize;

    /// Whether the word of the bucket of a maplet holds an entry of an item, whatever its value is; false in
    /// a filter.
    fn holds_key<F: Format>(self, word: Word<F>, item: Place) -> bool;

    /// The values of an item in the words of two buckets of a maplet.
    fn values<F: Format>(readings: [Self; 2], words: [Word<F>; 2], item: [Place; 2]) -> Candidates;

    /// Of the entries of an item, with its value, in the word of the bucket one of which the most is known.
    fn longest<F: Format>(self, word: Word<F>, item: Place) -> Option<Longest>;

    /// As `longest`, of a word that was seen before: most often it is still the same.
    #[expect(clippy::inline_always, reason = "what was seen would pass through memory")]
    #[inline(always)]
    fn longest_again<F: Format>(
        self,
        word: Word<F>,
        item: Place,
        seen: Look<F, Self>,
    ) -> Option<Longest> {
        let is_same = seen.reading == self && seen.word.bits() == word.bits();
        if is_same { seen.longest } else { self.longest_anew(word, item) }
    }

    /// Whether it is the first of two buckets that has the entry of an item, with its value, of which the most is
    /// known, or one of them. `None`: neither has one.
    #[inline]
    fn holder_of_longest<F: Format>(
        [first, second]: [Look<F, Self>; 2],
        _: [Place; 2],
    ) -> Option<bool> {
        let [first, second] = [first.known(), second.known()];
        first.max(second).map(|_| first >= second)
    }

    /// Apart, as the other functions that run rarely.
    #[cold]
    #[inline(never)]
    fn longest_anew<F: Format>(self, word: Word<F>, item: Place) -> Option<Longest> {
        self.longest(word, item)
    }
}

/// An entry in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    pub(crate) slot: Slot,
    /// As of [`Reading::known_bits`].
    pub(crate) known: u32,
}

/// What was seen of an item in a bucket.
#[derive(Clone, Copy)]
pub struct Look<F, R> {
    reading: R,
    pub(super) word: Word<F>,
    longest: Option<Longest>,
}

impl<F: Format, R: Reading> Look<F, R> {
    /// At each place of an item, in these words.
    #[expect(clippy::inline_always, reason = "as for `longest_again`")]
    #[inline(always)]
    pub(crate) fn at_each(
        buckets: [Bucket<R>; 2],
        words: [Word<F>; 2],
        item: [Place; 2],
    ) -> [Self; 2] {
        let look = |at: usize| {
            let (reading, word) = (buckets[at].reading, words[at]);
            Self { reading, word, longest: reading.longest(word, item[at]) }
        };
        [look(0), look(1)]
    }

    #[inline]
    pub(super) fn known(self) -> Option<u32> {
        self.longest.map(|longest| longest.known)
    }
}

/// Buckets from which on a table does not fit well into a core's own cache: 1 MiB of words.
pub(super) const OUT_OF_CACHE_BUCKETS: usize = 1 << 17;

/// The words of a table, or of a second place for each of them: in one piece, or in chunks.
pub trait Words: Sized + Send + Sync {
    /// Zeros for at most this number of buckets, as far as they do not wait for `try_reach`.
    fn try_new(max_buckets: usize) -> Result<Self, NoMemory>;

    /// Words of which the first are in these pieces.
    fn from_pieces(max_buckets: usize, pieces: Vec<Box<[AtomicU64]>>) -> Result<Self, NoMemory>;

    /// The pieces that hold the words of the first `buckets` buckets.
    fn into_pieces(self, buckets: usize) -> Result<Vec<Box<[AtomicU64]>>, NoMemory>;

    /// Allocates what is missing of the words of the first `buckets` buckets.
    fn try_reach(&self, buckets: usize) -> Result<(), NoMemory>;

    /// The number of buckets whose words are allocated.
    fn reached(&self) -> usize;

    /// The number of buckets that there may ever be.
    fn max_buckets(&self) -> usize;

    /// The words that are allocated, as an operation uses them.
    type View<'a>: View<'a>
    where
        Self: 'a;

    fn view(&self) -> Self::View<'_>;

    /// The word of a bucket, which is allocated.
    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.view().word(bucket)
    }

    /// The words of the first `buckets` buckets, which are allocated, piece by piece.
    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]>;

    /// What is allocated.
    fn heap_bytes(&self) -> usize;
}

/// The words of a table at one time.
pub trait View<'a>: Copy {
    /// The word of a bucket, which is allocated.
    fn word(self, bucket: usize) -> &'a AtomicU64;

    /// The word of a bucket, if it is allocated.
    fn get(self, bucket: usize) -> Option<&'a AtomicU64>;
}

/// The buckets of a table.
pub trait Buckets: Sized + Send + Sync {
    /// The values in their slots.
    type Values: Values;

    /// How far they have grown.
    type Extent: Copy;

    /// How the slots of a bucket are read.
    type Reading: Reading + Copy;

    /// How the words are stored.
    type Words: Words;

    /// Whether the number of buckets can grow.
    const GROWS: bool;

    /// Buckets with these words, of which those of now are allocated. `extra_bits` is how many bits of its position a
    /// new entry knows besides those that its bucket tells.
    fn new(
        grown: Grown,
        extra_bits: u32,
        values: Self::Values,
        words: Self::Words,
    ) -> Result<Self, NoMemory>;

    fn values(&self) -> Self::Values;

    /// The words of the buckets of now, and then those of later ones.
    fn words(&self) -> &Self::Words;

    /// Where the items of a table with this format are.
    fn geometry<F: Format>(&self) -> Geometry;

    /// How far the table has grown by now.
    fn extent(&self) -> Self::Extent;

    /// The number of buckets.
    fn count(&self, extent: Self::Extent) -> usize;

    /// The bucket of a place; of a place that belongs to two, one of them.
    fn bucket(&self, place: Place, extent: Self::Extent) -> Bucket<Self::Reading>;

    /// The bucket with this number.
    fn bucket_at(&self, extent: Self::Extent, number: usize) -> Bucket<Self::Reading>;

    /// The other bucket of what a slot of this bucket holds, by its [turned](Reading::turned) word. `None`: it would
    /// belong to two.
    fn other_bucket<F: Format>(
        &self,
        bucket: Bucket<Self::Reading>,
        turned: Slot,
        extent: Self::Extent,
    ) -> Option<usize>;

    /// The bucket with this number, if there were so many buckets.
    fn bucket_of_size(&self, buckets: usize, number: usize) -> Bucket<Self::Reading>;

    /// The buckets themselves, if they can grow.
    fn growing(&self) -> Option<&Growing<Self::Values>>;

    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.words().word(bucket)
    }

    /// Requests both words of an item that are needed soon. Not in small growing tables: to find the
    /// buckets twice would cost more than it gains.
    #[inline]
    fn prefetch(&self, places: impl FnOnce() -> [Place; 2]) {
        let extent = self.extent();
        if Self::GROWS && self.count(extent) < OUT_OF_CACHE_BUCKETS {
            return;
        }
        let words = self.words().view();
        for bucket in places().map(|place| self.bucket(place, extent).number) {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = words.get(bucket) {
                arch::prefetch(word);
            }
        }
    }
}
