//! Where the word of a bucket lies, and which bucket a fingerprint in a row has.
//!
//! In a table of fixed size a row is a bucket, and all of this costs nothing. In one that grows, the
//! bucket depends on the extent, which each operation reads anew.

use crossbeam_utils::CachePadded;

use crate::arch;
use crate::extent::Extent;
use crate::geometry::{Geometry, Key, Place};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Buckets from which on a table does not fit well into a core's own cache: 1 MiB of words.
pub(super) const LARGE: usize = 1 << 17;

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

    /// Asks for both words of an item that are needed soon. Not in small tables that grow: to find the
    /// buckets twice would cost more than it gains.
    #[inline]
    fn prefetch(&self, key: Key) {
        let extent = self.extent();
        if self.growth().is_some() && self.count(extent) < LARGE {
            return;
        }
        for bucket in self.both(key, extent) {
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

/// Buckets that can become more.
pub struct Growing {
    words: Box<[AtomicU64]>,
    growth: Growth,
}

/// What a table that grows has besides its words.
pub struct Growth {
    pub(super) rows: usize,
    pub(super) greatest: usize,
    /// On a line of its own, and in a box as the count of inconclusive lookups is.
    pub(super) extent: Box<CachePadded<AtomicU64>>,
    /// Held by whoever splits. It is taken before any stripe. In a box for the same reason.
    pub(super) splitting: Box<Mutex>,
}

impl Growth {
    #[inline]
    pub(super) fn extent(&self) -> Extent {
        // SeqCst: pairs with the store in `split_run`. Whoever reads an old extent comes before all
        // that was inserted by a newer one. As an Acquire load it makes the copies of the splits
        // visible.
        Extent::from_bits(self.rows, self.extent.load(Ordering::SeqCst))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.extent) + size_of_val(&*self.splitting)
    }
}

impl Buckets for Growing {
    type Extent = Extent;

    fn new(extent: Extent, words: Box<[AtomicU64]>) -> Self {
        let rows = extent.rows();
        let extent = Box::new(CachePadded::new(AtomicU64::new(extent.bits())));
        let growth =
            Growth { rows, greatest: words.len(), extent, splitting: Box::new(Mutex::new()) };
        Self { words, growth }
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    #[inline]
    fn rows(&self) -> usize {
        self.growth.rows
    }

    #[inline]
    fn extent(&self) -> Extent {
        self.growth.extent()
    }

    #[inline]
    fn count(&self, extent: Extent) -> usize {
        extent.buckets()
    }

    #[inline]
    fn bucket(&self, place: Place, extent: Extent) -> usize {
        extent.bucket(place)
    }

    #[inline]
    fn both(&self, key: Key, extent: Extent) -> [usize; 2] {
        extent.both(key)
    }

    #[inline]
    fn growth(&self) -> Option<&Growth> {
        Some(&self.growth)
    }
}
