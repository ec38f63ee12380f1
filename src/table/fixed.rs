//! The table of fixed size: a position is a bucket, and a slot holds a whole fingerprint.
//!
//! **Invariant:** the number of buckets never changes, so each entry is in the bucket of one of its positions for ever.

use super::Buckets;
use super::bucket::{Bucket, Grown, Longest, Placement, Read};
use super::control::Control;
use super::entry::{Entry, NoValues, Shape, Values};
use super::geometry::{Geometry, Key, Place};
use super::growing::Growing;
use super::stripes::Stripes;
use super::stripes::stripes_of;
use super::versions::Versions;
use crate::arch;
use crate::layout::{Format, MatchingValues, Properties, Slot, both};
use crate::sync::memory::{self, NoMemory};
use crate::sync::{self, AtomicU64};

/// As many buckets for ever.
pub struct Fixed<V = NoValues> {
    words: Box<[AtomicU64]>,
    control: Control,
    values: V,
}

impl<V: Values> Buckets for Fixed<V> {
    const GROWS: bool = false;

    type Values = V;
    type Extent = ();

    fn try_new(_: Grown, max_buckets: u64, _: &Properties, values: V) -> Result<Self, NoMemory> {
        let control = Control::try_new(stripes_of(max_buckets), max_buckets)?;
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
        Geometry::new(self.max_buckets(), Shape::new(F::BITS, 0, self.values))
    }

    #[inline]
    fn placement(&self) -> Placement<(), V> {
        Placement { extent: (), values: self.values }
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

    #[inline]
    fn count(&self, (): ()) -> usize {
        self.words.len()
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

    #[inline]
    fn placed<F: Format>(grown: Grown, values: V) -> (Geometry, Placement<(), V>) {
        let geometry = Geometry::new(grown.buckets as u64, Shape::new(F::BITS, 0, values));
        (geometry, Placement { extent: (), values })
    }

    #[inline]
    fn bucket_of((): (), position: u64) -> usize {
        position as usize
    }

    #[inline]
    fn other<F: Format>(&self, bucket: Bucket<Self>, slot: Slot) -> Option<Bucket<Self>> {
        let Place { position, entry } = Self::place::<F>(bucket, slot);
        let other = self.geometry::<F>().alternate(position, entry);
        Some(Bucket::at(bucket.placement, other as usize))
    }

    #[inline]
    fn has(bucket: Bucket<Self>, place: Place) -> bool {
        place.position == bucket.number as u64
    }

    #[inline]
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool {
        a.number == b.number
    }

    #[inline]
    fn slot<F: Format>(_: Bucket<Self>, place: Place) -> Option<Slot> {
        Some(held(place.entry))
    }

    #[inline]
    fn place<F: Format>(bucket: Bucket<Self>, slot: Slot) -> Place {
        Place { position: bucket.number as u64, entry: Entry::fingerprint(slot.bits()) }
    }

    /// Any entry may be in any bucket; it has a fingerprint.
    #[inline]
    fn is_valid<F: Format>(_: Geometry, bucket: Bucket<Self>, word: F) -> bool {
        bucket.below().is_none_or(|below| word.each_has(below))
    }

    fn is_valid_entry(geometry: Geometry, place: Place) -> bool {
        place.entry.known() == 0 && place.position < geometry.size
    }

    #[inline]
    fn either_agrees<F: Format>(read: Read<F, Bucket<Self>>, mask: Option<u64>) -> bool {
        F::either_holds(read.words, held(read.key.entry), mask)
    }

    #[inline]
    fn values_matching<F: Format>(read: Read<F, Bucket<Self>>, mask: u64) -> MatchingValues {
        F::values_of_equal(read.words, read.key.entry.bits().into(), mask)
    }

    #[inline]
    fn longest<F: Format>(read: Read<F, Bucket<Self>>) -> [Option<Longest>; 2] {
        let slot = held(read.key.entry);
        both(read.words, |word| word.holds(slot).then_some(Longest { slot, known: 0 }))
    }
}

/// What a slot holds of an item: its fingerprint.
#[inline]
fn held(entry: Entry) -> Slot {
    Slot::new(entry.bits().into())
}
