//! The words of a table of fixed size, and the stripes and versions that guard them.
//!
//! **Invariant:** all words are there from the beginning, and their number never changes.

use super::control::Control;
use super::growing::GrowingBuckets;
use super::stripes::Stripes;
use super::stripes::stripes_of;
use super::versions::Versions;
use crate::arch;
use crate::layout::{Encoding, Properties};
use crate::sync::memory::{self, NoMemory};
use crate::sync::{self, AtomicU64};
use crate::table::buckets::Buckets;
use crate::table::placing::entry::{NoValues, Shape, Values};
use crate::table::placing::geometry::{Geometry, Key};
use crate::table::placing::{FixedPlacing, Sizes};

/// Buckets whose number never changes.
pub struct FixedBuckets<V = NoValues> {
    words: Box<[AtomicU64]>,
    control: Control,
    values: V,
}

impl<V: Values> Buckets for FixedBuckets<V> {
    type Values = V;
    type Placing = FixedPlacing<V>;

    fn try_new(_: Sizes, max_buckets: u64, _: &Properties, values: V) -> Result<Self, NoMemory> {
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
    fn geometry<F: Encoding>(&self) -> Geometry {
        Geometry::new(self.max_buckets(), Shape::new(F::BITS, 0, self.values))
    }

    #[inline]
    fn placement(&self) -> FixedPlacing<V> {
        FixedPlacing { values: self.values }
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
            // Always `Some`. A check that cannot panic leaves a batch more registers.
            if let Some(word) = self.words.get(place.position as usize) {
                arch::prefetch(word);
            }
        }
    }

    #[inline]
    fn count(&self, _: FixedPlacing<V>) -> usize {
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

    fn begun(&self) -> Sizes {
        let buckets = self.words.len();
        Sizes { initial: buckets, buckets, target_load: 0 }
    }

    #[inline]
    fn growing(&self) -> Option<&GrowingBuckets<V>> {
        None
    }
}
