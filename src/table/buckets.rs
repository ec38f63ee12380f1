//! The interface between a table and its buckets.
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

/// The buckets of a table, of fixed size or growing: their words, and the stripes and versions that guard them. How far
/// they have grown by now is their [`Placing`].
pub trait Buckets: Sized + Send + Sync {
    /// Whether the number of buckets can grow.
    const GROWS: bool = Self::Placing::GROWS;

    /// The values in the slots of the buckets.
    type Values: Values;

    /// The placement of the items, by which slots are read.
    type Placing: Placing<Values = Self::Values>;

    /// Allocates empty buckets of these sizes.
    fn try_new(
        sizes: Sizes,
        max_buckets: u64,
        layout: &Properties,
        values: Self::Values,
    ) -> Result<Self, NoMemory>;

    /// Returns the stripes. A thread that holds a stripe holds one of the newest, and sees the newest versions.
    fn stripes(&self) -> &Stripes;

    fn versions(&self) -> &Versions;

    fn values(&self) -> Self::Values;

    /// Returns the geometry of a table with this encoding.
    fn geometry<F: Encoding>(&self) -> Geometry;

    /// Returns the present placement.
    fn placement(&self) -> Self::Placing;

    /// Returns the number of buckets by this placement.
    fn count(&self, placement: Self::Placing) -> usize;

    /// Returns the maximum number of buckets.
    fn max_buckets(&self) -> u64;

    /// Returns a function from the number of a bucket to its word, for the words that are allocated by now.
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy;

    fn words_at<const N: usize>(&self, buckets: [usize; N]) -> [&AtomicU64; N];

    /// Returns the word of a bucket. The word is allocated.
    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.words()(bucket)
    }

    /// Requests both words of an item, which are needed soon.
    fn prefetch(&self, key: Key);

    /// Returns the number of buckets whose words are allocated.
    fn reached(&self) -> usize;

    /// Returns the number of allocated bytes.
    fn heap_bytes(&self) -> usize;

    /// Returns the most bytes that are allocated when there are `buckets` buckets, of a table that begins with
    /// `initial` and ends with `max_buckets`.
    fn bytes_for(initial: u64, buckets: u64, max_buckets: u64) -> u64;

    /// Returns the sizes with which the buckets were made.
    fn begun(&self) -> Sizes;

    /// Returns the share of slots in use from which on a short search is enough. `full` is this share in a table of
    /// fixed size.
    fn full(&self, full: f64) -> f64 {
        full
    }

    /// Returns how many of the lowest bits of its position every entry knows.
    fn common_bits(&self) -> u32 {
        0
    }

    /// Returns how many of the lowest bits of its position a new entry knows now.
    fn known_bits(&self) -> u32 {
        0
    }

    /// Returns whether the array of words is short, so that a longer one replaces it when the table grows.
    fn is_short(&self) -> bool {
        false
    }

    /// Returns the buckets themselves, if they can grow: for [`growth`](crate::table::growth), and for figures and
    /// merges of growing tables.
    fn growing(&self) -> Option<&GrowingBuckets<Self::Values>>;
}
