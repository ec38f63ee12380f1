//! Where the word of a bucket lies: in a table of fixed size, at the index that is its number.

use crate::arch;
use crate::geometry::{Geometry, Key};
use crate::sync::{self, AtomicU64};

/// The words of a table, by bucket.
pub(super) struct Buckets {
    words: Box<[AtomicU64]>,
}

impl Buckets {
    /// `count` empty buckets, even and at least 2; `None` if the memory cannot be had.
    pub(super) fn try_new(count: usize) -> Option<Self> {
        Some(Self { words: sync::try_zeroed(count)? })
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.words.len()
    }

    #[inline]
    pub(super) fn geometry(&self) -> Geometry {
        Geometry::new(self.words.len())
    }

    #[inline]
    pub(super) fn word(&self, bucket: usize) -> &AtomicU64 {
        &self.words[bucket]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &AtomicU64> {
        self.words.iter()
    }

    /// Asks for both words of an item that are needed soon.
    #[inline]
    pub(super) fn prefetch(&self, key: Key) {
        for bucket in [key.first, key.second] {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = self.words.get(bucket) {
                arch::prefetch(word);
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}
