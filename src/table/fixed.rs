//! The table of fixed size: a position is a bucket, and a slot holds a whole fingerprint.
//!
//! **Invariant:** the number of buckets never changes, so each entry is in the bucket of one of its positions for ever.

use super::Buckets;
use super::bucket::{Bucket, Grown, Longest, Seen};
use super::control::Control;
use super::entry::{Entry, NoValues, Shape, Values};
use super::geometry::{Geometry, Key, Place};
use super::growing::Growing;
use super::stripes::Stripes;
use super::stripes::stripes_of;
use super::versions::Versions;
use crate::arch;
use crate::layout::{Candidates, Format, Properties, Slot, both};
use crate::sync::memory::{self, NoMemory};
use crate::sync::{self, AtomicU64};

/// As many buckets for ever.
pub struct Fixed<V = NoValues> {
    words: Box<[AtomicU64]>,
    control: Control,
    values: V,
}

impl<V: Values> Buckets for Fixed<V> {
    type Values = V;
    type Bucket = FixedBucket<V>;

    fn try_new(
        _: Grown,
        max_buckets: u64,
        _: &Properties,
        values: V,
        control: Control,
    ) -> Result<Self, NoMemory> {
        let max_buckets = memory::in_memory(max_buckets)?;
        let bytes = max_buckets * size_of::<u64>();
        let words = sync::try_zeroed(max_buckets).ok_or(NoMemory { bytes })?;
        Ok(Self { words, control, values })
    }

    #[inline]
    fn stripes(&self) -> &Stripes {
        &self.control.stripes
    }

    #[inline]
    fn versions(&self) -> &Versions {
        &self.control.versions
    }

    #[inline]
    fn values(&self) -> V {
        self.values
    }

    #[inline]
    fn geometry<F: Format>(&self) -> Geometry {
        FixedBucket::geometry::<F>(self.placement())
    }

    #[inline]
    fn placement(&self) -> FixedPlacement<V> {
        FixedPlacement { buckets: self.words.len(), values: self.values }
    }

    #[inline]
    fn max_buckets(&self) -> u64 {
        self.words.len() as u64
    }

    #[inline]
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy {
        |bucket| &self.words[bucket]
    }

    #[inline]
    fn words_at<const N: usize>(&self, buckets: [usize; N]) -> [&AtomicU64; N] {
        buckets.map(|bucket| &self.words[bucket])
    }

    #[inline]
    fn prefetch(&self, key: Key) {
        for place in key.places() {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = self.words.get(place.position as usize) {
                arch::prefetch(word);
            }
        }
    }

    fn reached(&self) -> usize {
        self.words.len()
    }

    fn heap_bytes(&self) -> usize {
        let buckets = self.max_buckets();
        Self::bytes_for(buckets, buckets, buckets) as usize
    }

    fn bytes_for(_: u64, buckets: u64, max_buckets: u64) -> u64 {
        buckets.saturating_mul(8) + Control::bytes_for(stripes_of(max_buckets), max_buckets)
    }

    #[inline]
    fn growing(&self) -> Option<&Growing<V>> {
        None
    }
}

/// Of a table of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPlacement<V> {
    buckets: usize,
    values: V,
}

/// In a table of fixed size a slot holds the fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedBucket<V> {
    number: usize,
    placement: FixedPlacement<V>,
}

impl<V: Values> FixedBucket<V> {
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

impl<V: Values> Bucket for FixedBucket<V> {
    const GROWS: bool = false;

    type Values = V;
    type Placement = FixedPlacement<V>;

    #[inline]
    fn placement<F: Format>(grown: Grown, values: V) -> FixedPlacement<V> {
        FixedPlacement { buckets: grown.buckets, values }
    }

    #[inline]
    fn geometry<F: Format>(FixedPlacement { buckets, values }: FixedPlacement<V>) -> Geometry {
        Geometry::new(buckets as u64, Shape::new(F::BITS, 0, values))
    }

    #[inline]
    fn count(placement: FixedPlacement<V>) -> usize {
        placement.buckets
    }

    #[inline]
    fn at(placement: FixedPlacement<V>, number: usize) -> Self {
        Self { number, placement }
    }

    #[inline]
    fn of(placement: FixedPlacement<V>, place: Place) -> Self {
        Self { number: place.position as usize, placement }
    }

    #[inline]
    fn number(self) -> usize {
        self.number
    }

    #[inline]
    fn is_of(self, _: FixedPlacement<V>) -> bool {
        true
    }

    #[inline]
    fn other<F: Format>(self, slot: Slot) -> Option<Self> {
        let Place { position, entry } = self.place::<F>(slot);
        let other = Self::geometry::<F>(self.placement).alternate(position, entry);
        Some(Self::at(self.placement, other as usize))
    }

    #[inline]
    fn has(self, place: Place) -> bool {
        place.position == self.number as u64
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
        Place { position: self.number as u64, entry: Entry::fingerprint(slot.bits()) }
    }

    /// Any entry may be in any bucket; it has a fingerprint.
    #[inline]
    fn is_valid<F: Format>(placement: FixedPlacement<V>, _: usize, word: F) -> bool {
        placement.values.below().is_none_or(|below| word.each_has(below))
    }

    fn is_valid_entry<F: Format>(placement: FixedPlacement<V>, place: Place) -> bool {
        place.entry.known() == 0 && place.position < placement.buckets as u64
    }

    #[inline]
    fn below(self) -> Option<u64> {
        self.placement.values.below()
    }

    #[inline]
    fn either_agrees<F: Format>(
        _: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
        mask: Option<u64>,
    ) -> bool {
        F::either_holds(words, Self::held(item), mask)
    }

    #[inline]
    fn values<F: Format>(
        [bucket, _]: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
    ) -> Candidates {
        let Some(mask) = bucket.below() else {
            return Candidates::new();
        };
        let values = F::values_of_equal(words, item.entry.bits().into(), mask);
        Candidates::of(values, bucket.placement.values.bits())
    }

    #[inline]
    fn longest<F: Format>(
        _: [Self; 2],
        words: [F; 2],
        [item, _]: [Place; 2],
    ) -> [Option<Longest>; 2] {
        both(words, |word| Self::held_by(word, item))
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
