//! The table of fixed size: a position is a bucket, and a slot holds a whole fingerprint.

use core::iter;

use super::buckets::{Bucket, Buckets, Longest, Look, Reading, View, Words};
use super::geometry::{Geometry, Place};
use super::growing::{Growing, Grown};
use crate::entry::{Entry, NoValues, Slot, Values};
use crate::layout::{Candidates, Format, Word};
use crate::memory::{NoMemory, try_push};
use crate::sync::{self, AtomicU64};

/// As many buckets for ever.
pub struct Fixed<V = NoValues> {
    words: Box<[AtomicU64]>,
    values: V,
}

impl<V: Values> Buckets for Fixed<V> {
    type Values = V;
    type Extent = ();
    type Reading = Whole<V>;
    type Words = Box<[AtomicU64]>;

    const GROWS: bool = false;

    fn new(_: Grown, _: u32, values: V, words: Box<[AtomicU64]>) -> Result<Self, NoMemory> {
        Ok(Self { words, values })
    }

    #[inline]
    fn values(&self) -> V {
        self.values
    }

    #[inline]
    fn words(&self) -> &Box<[AtomicU64]> {
        &self.words
    }

    #[inline]
    fn geometry<F: Format>(&self) -> Geometry {
        Geometry::fixed(self.words.len(), F::BITS).with_values(self.values)
    }

    #[inline]
    fn extent(&self) {}

    #[inline]
    fn count(&self, (): ()) -> usize {
        self.words.len()
    }

    #[inline]
    fn bucket(&self, place: Place, (): ()) -> Bucket<Whole<V>> {
        self.bucket_at((), place.position)
    }

    #[inline]
    fn bucket_at(&self, (): (), number: usize) -> Bucket<Whole<V>> {
        Bucket { number, reading: Whole { bucket: number, values: self.values } }
    }

    #[inline]
    fn other_bucket<F: Format>(&self, from: Bucket<Whole<V>>, slot: Slot, (): ()) -> Option<usize> {
        let entry = Entry::fingerprint(slot.bits());
        Some(self.geometry::<F>().alternate(from.number, entry))
    }

    #[inline]
    fn bucket_of_size(&self, _: usize, number: usize) -> Bucket<Whole<V>> {
        self.bucket_at((), number)
    }

    #[inline]
    fn growing(&self) -> Option<&Growing<V>> {
        None
    }
}

impl<'a> View<'a> for &'a [AtomicU64] {
    #[inline]
    fn word(self, bucket: usize) -> &'a AtomicU64 {
        &self[bucket]
    }

    #[expect(clippy::inline_always, reason = "a batch has few registers to spare")]
    #[inline(always)]
    fn get(self, bucket: usize) -> Option<&'a AtomicU64> {
        <[AtomicU64]>::get(self, bucket)
    }
}

impl Words for Box<[AtomicU64]> {
    type View<'a> = &'a [AtomicU64];

    fn try_new(max_buckets: usize) -> Result<Self, NoMemory> {
        let bytes = max_buckets * size_of::<u64>();
        sync::try_zeroed(max_buckets).ok_or(NoMemory { bytes })
    }

    fn from_pieces(_: usize, pieces: Vec<Self>) -> Result<Self, NoMemory> {
        debug_assert_eq!(pieces.len(), 1);
        Ok(pieces.into_iter().next().expect("one piece"))
    }

    fn into_pieces(self, _: usize) -> Result<Vec<Self>, NoMemory> {
        let mut pieces = Vec::new();
        try_push(&mut pieces, self)?;
        Ok(pieces)
    }

    fn try_reach(&self, _: usize) -> Result<(), NoMemory> {
        Ok(())
    }

    fn reached(&self) -> usize {
        self.len()
    }

    #[inline]
    fn max_buckets(&self) -> usize {
        self.len()
    }

    #[inline]
    fn view(&self) -> &[AtomicU64] {
        self
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        iter::once(&self[..buckets])
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

/// In a table of fixed size a slot holds the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<V> {
    bucket: usize,
    values: V,
}

impl<V: Values> Whole<V> {
    /// What a slot holds of an item.
    #[inline]
    fn held(item: Place) -> Slot {
        Slot::new(item.entry.bits().into())
    }
}

impl<V: Values> Reading for Whole<V> {
    #[inline]
    fn has(self, place: Place) -> bool {
        place.position == self.bucket
    }

    #[inline]
    fn slot<F: Format>(self, place: Place) -> Option<Slot> {
        Some(Self::held(place))
    }

    #[inline]
    fn turned<F: Format>(self, word: Word<F>) -> Word<F> {
        word
    }

    #[inline]
    fn place<F: Format>(self, slot: Slot) -> Place {
        Place { position: self.bucket, entry: Entry::fingerprint(slot.bits()) }
    }

    #[inline]
    fn known_bits<F: Format>(self, _: Slot) -> u32 {
        0
    }

    #[inline]
    fn either_holds<F: Format>(
        [reading, _]: [Self; 2],
        words: [Word<F>; 2],
        [item, _]: [Place; 2],
    ) -> bool {
        Word::either_holds(words, Self::held(item), reading.values.below())
    }

    #[inline]
    fn copies<F: Format>(self, word: Word<F>, item: Place) -> usize {
        word.copies(Self::held(item))
    }

    #[inline]
    fn inseparable<F: Format>(self, word: Word<F>, item: Place) -> usize {
        match self.values.below() {
            Some(mask) => word.equal_below(item.entry.bits().into(), mask),
            None => self.copies(word, item),
        }
    }

    #[inline]
    fn holds_key<F: Format>(self, word: Word<F>, item: Place) -> bool {
        V::ANY && Self::either_holds([self; 2], [word, Word::EMPTY], [item; 2])
    }

    #[inline]
    fn values<F: Format>(
        [reading, _]: [Self; 2],
        words: [Word<F>; 2],
        [item, _]: [Place; 2],
    ) -> Candidates {
        let Some(mask) = reading.values.below() else {
            return Candidates::new();
        };
        let values = Word::values_of_equal(words, item.entry.bits().into(), mask);
        Candidates::of(values, reading.values.bits())
    }

    #[inline]
    fn longest<F: Format>(self, word: Word<F>, item: Place) -> Option<Longest> {
        let slot = Self::held(item);
        word.holds(slot).then_some(Longest { slot, known: 0 })
    }

    /// It takes no longer than to compare with what was seen.
    #[inline]
    fn longest_again<F: Format>(
        self,
        word: Word<F>,
        item: Place,
        _: Look<F, Self>,
    ) -> Option<Longest> {
        self.longest(word, item)
    }

    #[inline]
    fn holder_of_longest<F: Format>(
        [first, second]: [Look<F, Self>; 2],
        [item, _]: [Place; 2],
    ) -> Option<bool> {
        let slot = Self::held(item);
        let words = [first.word, second.word];
        Word::either_holds(words, slot, None).then(|| words[0].holds(slot))
    }
}
