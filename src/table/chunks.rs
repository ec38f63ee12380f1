//! The words of a growing table: in chunks that are allocated as growth reaches them, and never move.

use super::buckets::{View, Words};
use crate::memory::NoMemory;
use crate::sync::AtomicU64;
use crate::sync::array::{self, PieceArray};

/// Buckets of a chunk, as a power of two: 4 KiB. One bucket under loom, so that a model's table gets chunks while
/// it grows.
const SHIFT: u32 = if cfg!(loom) { 0 } else { 9 };

type Chunk = Box<[AtomicU64]>;

/// The lengths of the chunks that hold the first `buckets` buckets.
pub(crate) fn chunk_lens(buckets: usize) -> impl Iterator<Item = usize> {
    core::iter::repeat_n(1 << SHIFT, buckets.div_ceil(1 << SHIFT))
}

/// Chunks, those of the first buckets first.
pub struct Chunks {
    max_buckets: usize,
    /// Nobody reads a chunk that is missing: it is added before the extent that reaches it is published.
    words: PieceArray<SHIFT>,
    /// The buckets that there is memory for.
    #[cfg(all(test, not(loom)))]
    memory: usize,
}

impl<'a> View<'a> for array::View<'a, SHIFT> {
    #[inline]
    fn word(self, bucket: usize) -> &'a AtomicU64 {
        self.word(bucket)
    }

    #[inline]
    fn get(self, bucket: usize) -> Option<&'a AtomicU64> {
        (bucket < self.len()).then(|| self.word(bucket))
    }
}

#[cfg(all(test, not(loom)))]
impl Chunks {
    /// For which there is no memory.
    pub(super) fn without_memory() -> Self {
        Self { memory: 0, ..Self::try_new(1 << 20).unwrap() }
    }
}

impl Words for Chunks {
    type View<'a> = array::View<'a, SHIFT>;

    fn try_new(max_buckets: usize) -> Result<Self, NoMemory> {
        Ok(Self {
            max_buckets,
            words: PieceArray::try_new()?,
            #[cfg(all(test, not(loom)))]
            memory: usize::MAX,
        })
    }

    fn from_pieces(max_buckets: usize, pieces: Vec<Chunk>) -> Result<Self, NoMemory> {
        let chunks = Self::try_new(max_buckets)?;
        chunks.words.try_extend(pieces)?;
        Ok(chunks)
    }

    fn into_pieces(self, buckets: usize) -> Result<Vec<Chunk>, NoMemory> {
        self.words.try_into_pieces(buckets)
    }

    fn try_reach(&self, buckets: usize) -> Result<(), NoMemory> {
        #[cfg(all(test, not(loom)))]
        if buckets > self.memory {
            return Err(NoMemory { bytes: buckets * size_of::<u64>() });
        }
        self.words.try_reach(buckets)
    }

    fn reached(&self) -> usize {
        self.words.len()
    }

    fn max_buckets(&self) -> usize {
        self.max_buckets
    }

    #[inline]
    fn view(&self) -> array::View<'_, SHIFT> {
        self.words.view()
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        let (words, len) = (self.words.view(), 1 << SHIFT);
        (0..PieceArray::<SHIFT>::pieces_of(buckets))
            .map(move |at| &words.piece(at)[..len.min(buckets - at * len)])
    }

    fn heap_bytes(&self) -> usize {
        self.words.heap_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Each chunk is there from the time on when a bucket in it was reached, and its words stay where
    /// they are.
    #[test]
    fn chunks_come_when_they_are_reached() {
        let (first, max_buckets) = (100, 10_000);
        let words = Chunks::try_new(max_buckets).unwrap();
        assert_eq!(words.reached(), 0);
        words.try_reach(first).unwrap();
        let word: *const AtomicU64 = words.word(0);
        for buckets in first..=max_buckets {
            words.try_reach(buckets).unwrap();
            assert!(words.view().get(buckets - 1).is_some());
            let reached = words.reached();
            assert!((buckets..buckets + (1 << SHIFT)).contains(&reached));
            assert!(words.view().get(reached).is_none());
            assert_eq!(words.pieces(buckets).map(<[_]>::len).sum::<usize>(), buckets);
        }
        assert!(core::ptr::eq(word, words.word(0)));
        // As many words as buckets, none of them twice.
        let all: std::collections::HashSet<usize> =
            (0..max_buckets).map(|bucket| core::ptr::from_ref(words.word(bucket)).addr()).collect();
        assert_eq!(all.len(), max_buckets);
    }

    /// Of an image, whose table may have run out of memory after its mirror had one chunk more.
    #[test]
    fn chunks_without_buckets_are_given_back() {
        let max_buckets = 1000;
        for buckets in [1, 512, 513, 700, max_buckets] {
            let words = Chunks::try_new(max_buckets).unwrap();
            words.try_reach(max_buckets).unwrap();
            let pieces = words.into_pieces(buckets).unwrap();
            let lens = pieces.iter().map(|piece| piece.len());
            assert!(lens.eq(chunk_lens(buckets)));
        }
    }
}
