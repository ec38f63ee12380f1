//! What a table asks of its buckets.
//!
//! **Invariant:** the word of each bucket that a placement names is allocated.

pub(in crate::table) mod control;
pub(in crate::table) mod fixed;
pub(in crate::table) mod growing;
pub(in crate::table) mod stripes;
pub(in crate::table) mod versions;

use self::growing::GrowingBuckets;
use self::stripes::Stripes;
use self::versions::Versions;
use super::placing::entry::Values;
use super::placing::geometry::{Geometry, Key};
use super::placing::{Placing, Sizes};
use crate::layout::{Encoding, Properties};
use crate::sync::AtomicU64;
use crate::sync::memory::NoMemory;

/// The buckets of a table, of fixed size or growing: where their words lie, and what guards them. How far they have
/// grown by now is their [`Placing`].
pub trait Buckets: Sized + Send + Sync {
    /// Whether the number of buckets can grow.
    const GROWS: bool = Self::Placing::GROWS;

    /// The values in their slots.
    type Values: Values;

    /// Where items are, and how slots are read.
    type Placing: Placing<Values = Self::Values>;

    /// Buckets of these sizes, all of them empty.
    fn try_new(
        sizes: Sizes,
        max_buckets: u64,
        layout: &Properties,
        values: Self::Values,
    ) -> Result<Self, NoMemory>;

    /// The stripes. Who holds one of them has the newest, and sees the newest versions.
    fn stripes(&self) -> &Stripes;

    fn versions(&self) -> &Versions;

    fn values(&self) -> Self::Values;

    /// Where the items of a table with this format are.
    fn geometry<F: Encoding>(&self) -> Geometry;

    /// Where the items are by now.
    fn placement(&self) -> Self::Placing;

    /// The number of buckets by this placement.
    fn count(&self, placement: Self::Placing) -> usize;

    /// The number of buckets that there may ever be.
    fn max_buckets(&self) -> u64;

    /// The words that are allocated by now, each named by its bucket.
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy;

    fn words_at<const N: usize>(&self, buckets: [usize; N]) -> [&AtomicU64; N];

    /// The word of a bucket, which is allocated.
    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.words()(bucket)
    }

    /// Requests both words of an item that are needed soon.
    fn prefetch(&self, key: Key);

    /// The number of buckets whose words are allocated.
    fn reached(&self) -> usize;

    /// What is allocated.
    fn heap_bytes(&self) -> usize;

    /// What is allocated at most when there are so many buckets, of at first `initial` and at last `max_buckets`.
    fn bytes_for(initial: u64, buckets: u64, max_buckets: u64) -> u64;

    /// The sizes with which they were made.
    fn begun(&self) -> Sizes;

    /// The share of slots in use from which on a short search is enough, where it is `full` in a table of fixed size.
    fn full(&self, full: f64) -> f64 {
        full
    }

    /// How many of the lowest bits of its position every entry knows.
    fn common_bits(&self) -> u32 {
        0
    }

    /// How many of the lowest bits of its position a new entry knows now.
    fn known_bits(&self) -> u32 {
        0
    }

    /// Whether longer words may replace those that there are.
    fn is_short(&self) -> bool {
        false
    }

    /// The buckets themselves, if they can grow: for [`growth`](crate::table::growth) alone.
    fn growing(&self) -> Option<&GrowingBuckets<Self::Values>>;
}
