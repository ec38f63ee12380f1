//! The table of fixed size: a position is a bucket, and a slot holds a whole fingerprint.

use core::iter;

use super::Buckets;
use super::buckets::{Bucket, Longest, Reading, Seen};
use super::entry::{Entry, NoValues, Values};
use super::geometry::{Geometry, Place};
use super::growing::{Growing, Grown};
use crate::arch;
use crate::layout::{Candidates, Format, Slot};
use crate::sync::memory::{self, NoMemory, try_push};
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

    const GROWS: bool = false;

    fn try_new(
        _: Grown,
        max_buckets: u64,
        _: u32,
        values: V,
        mut pieces: Vec<Box<[AtomicU64]>>,
    ) -> Result<Self, NoMemory> {
        let max_buckets = memory::in_memory(max_buckets)?;
        let bytes = max_buckets * size_of::<u64>();
        // All words are in one piece.
        let words = pieces.pop().or_else(|| sync::try_zeroed(max_buckets));
        Ok(Self { words: words.ok_or(NoMemory { bytes })?, values })
    }

    #[inline]
    fn values(&self) -> V {
        self.values
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
    fn max_buckets(&self) -> u64 {
        self.words.len() as u64
    }

    #[inline]
    fn bucket(&self, place: Place, (): ()) -> Bucket<Whole<V>> {
        self.bucket_at((), place.position as usize)
    }

    #[inline]
    fn bucket_at(&self, (): (), number: usize) -> Bucket<Whole<V>> {
        Bucket { number, reading: Whole { bucket: number, values: self.values } }
    }

    #[inline]
    fn is_found_by(_: Bucket<Whole<V>>, (): ()) -> bool {
        true
    }

    #[inline]
    fn other_bucket<F: Format>(&self, from: Bucket<Whole<V>>, slot: Slot, (): ()) -> Option<usize> {
        let entry = Entry::fingerprint(slot.bits());
        Some(self.geometry::<F>().alternate(from.number as u64, entry) as usize)
    }

    #[inline]
    fn bucket_of_size(&self, _: usize, number: usize) -> Bucket<Whole<V>> {
        self.bucket_at((), number)
    }

    #[inline]
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy {
        |bucket| &self.words[bucket]
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        iter::once(&self.words[..buckets])
    }

    fn try_into_pieces(self, _: usize) -> Result<Vec<Box<[AtomicU64]>>, NoMemory> {
        let mut pieces = Vec::new();
        try_push(&mut pieces, self.words)?;
        Ok(pieces)
    }

    #[inline]
    fn prefetch(&self, places: impl FnOnce() -> [Place; 2]) {
        for place in places() {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = self.words.get(place.position as usize) {
                arch::prefetch(word);
            }
        }
    }

    fn reached(&self) -> usize {
        self.words.len()
    }

    fn try_reach(&self, _: usize) -> Result<(), NoMemory> {
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    #[inline]
    fn growing(&self) -> Option<&Growing<V>> {
        None
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

    #[inline]
    fn held_by<F: Format>(word: F, item: Place) -> Option<Longest> {
        let slot = Self::held(item);
        word.holds(slot).then_some(Longest { slot, known: 0 })
    }
}

impl<V: Values> Reading for Whole<V> {
    #[inline]
    fn has(self, place: Place) -> bool {
        place.position == self.bucket as u64
    }

    #[inline]
    fn reads_as(self, other: Self) -> bool {
        self == other
    }

    #[inline]
    fn slot<F: Format>(self, place: Place) -> Option<Slot> {
        Some(Self::held(place))
    }

    #[inline]
    fn place<F: Format>(self, slot: Slot) -> Place {
        Place { position: self.bucket as u64, entry: Entry::fingerprint(slot.bits()) }
    }

    #[inline]
    fn known_bits<F: Format>(self, _: Slot) -> u32 {
        0
    }

    #[inline]
    fn either_holds<F: Format>(
        [reading, _]: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
    ) -> bool {
        F::either_holds(words, Self::held(item), reading.values.below())
    }

    #[inline]
    fn copies<F: Format>(self, word: F, item: Place) -> usize {
        word.copies(Self::held(item))
    }

    #[inline]
    fn inseparable<F: Format>(self, word: F, item: Place) -> usize {
        match self.values.below() {
            Some(mask) => word.equal_below(item.entry.bits().into(), mask),
            None => self.copies(word, item),
        }
    }

    #[inline]
    fn holds_key<F: Format>(self, word: F, item: Place) -> bool {
        V::ANY && Self::either_holds([self; 2], [word, F::EMPTY], [item; 2])
    }

    #[inline]
    fn values<F: Format>(
        [reading, _]: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
    ) -> Candidates {
        let Some(mask) = reading.values.below() else {
            return Candidates::new();
        };
        let values = F::values_of_equal(words, item.entry.bits().into(), mask);
        Candidates::of(values, reading.values.bits())
    }

    #[inline]
    fn longest<F: Format>(
        _: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
    ) -> [Option<Longest>; 2] {
        words.map(|word| Self::held_by(word, item))
    }

    /// It takes no longer than to compare with what was seen.
    #[inline]
    fn longest_again<F: Format>(self, word: F, item: Place, _: Seen<F, Self>) -> Option<Longest> {
        Self::held_by(word, item)
    }

    #[inline]
    fn holder_of_longest<F: Format>(
        [first, second]: [Seen<F, Self>; 2],
        [item, _]: [Place; 2],
    ) -> Option<bool> {
        let slot = Self::held(item);
        let words = [first.word, second.word];
        F::either_holds(words, slot, None).then(|| words[0].holds(slot))
    }
}
