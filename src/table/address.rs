//! Where the word of a bucket lies, and which bucket a fingerprint in a row has.
//!
//! In a table of fixed size a row is a bucket, and all of this costs nothing. In one that grows, the
//! bucket depends on the extent, which each operation reads anew.

use super::grow::Growth;
use crate::arch;
use crate::extent::Extent;
use crate::geometry::{Geometry, Key, Place};
use crate::sync::AtomicU64;

/// The words of a table, by bucket.
pub trait Buckets: Sized + Send + Sync {
    /// What a row's buckets depend on.
    type Extent: Copy;

    /// Buckets with these words, of which there are as many as there may ever be. The rows are an even
    /// number and at least 2.
    fn new(extent: Extent, words: Box<[AtomicU64]>) -> Self;

    /// The words that there are and those that there may be.
    fn words(&self) -> &[AtomicU64];

    fn rows(&self) -> usize;

    /// How far the table has grown by now.
    fn extent(&self) -> Self::Extent;

    /// The buckets that there are.
    fn count(&self, extent: Self::Extent) -> usize;

    /// The bucket of a fingerprint in a row.
    fn bucket(&self, place: Place, extent: Self::Extent) -> usize;

    /// Both buckets of an item.
    fn both(&self, key: Key, extent: Self::Extent) -> [usize; 2];

    /// What a table that grows has besides.
    fn growth(&self) -> Option<&Growth>;

    #[inline]
    fn geometry(&self) -> Geometry {
        Geometry::new(self.rows())
    }

    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        &self.words()[bucket]
    }

    /// Asks for both words of an item that are needed soon.
    #[inline]
    fn prefetch(&self, key: Key) {
        for bucket in self.both(key, self.extent()) {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = self.words().get(bucket) {
                arch::prefetch(word);
            }
        }
    }
}

/// As many buckets as rows, for ever.
pub struct Fixed {
    words: Box<[AtomicU64]>,
}

impl Buckets for Fixed {
    type Extent = ();

    fn new(extent: Extent, words: Box<[AtomicU64]>) -> Self {
        debug_assert_eq!(extent, Extent::start(words.len()));
        Self { words }
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    #[inline]
    fn rows(&self) -> usize {
        self.words.len()
    }

    #[inline]
    fn extent(&self) {}

    #[inline]
    fn count(&self, (): ()) -> usize {
        self.words.len()
    }

    #[inline]
    fn bucket(&self, place: Place, (): ()) -> usize {
        place.row
    }

    #[inline]
    fn both(&self, key: Key, (): ()) -> [usize; 2] {
        [key.first, key.second]
    }

    #[inline]
    fn growth(&self) -> Option<&Growth> {
        None
    }
}
