//! The words of a growing table: in chunks that are allocated as growth reaches them, and never move.
//!
//! All chunks of a table have as many words, a power of two. At the maximum size there are up to
//! [`CHUNKS`] of them, or more, if they have [`MAX_BUCKETS`] words: so a chunk is no larger than the
//! smallest table that grows as far, or twice that.

use super::buckets::{View, Words};
use crate::memory::NoMemory;
use crate::sync::AtomicU64;
use crate::sync::array::{self, PieceArray};

/// Chunks of a table at its maximum size, unless they would be too large.
const CHUNKS: usize = 512;
/// Buckets of the smallest chunk: 512 bytes. One under loom, so that a model's table gets chunks while it
/// grows.
const MIN_BUCKETS: usize = if cfg!(loom) { 1 } else { 64 };
/// Buckets of the largest chunk: 8 KiB. Some allocators add a page to blocks of 16 KiB and more.
const MAX_BUCKETS: usize = 1 << 10;

type Chunk = Box<[AtomicU64]>;

/// The number of buckets in a chunk of a table that may grow to this number, as a power of two.
fn shift(max_buckets: usize) -> u32 {
    let buckets = max_buckets.div_ceil(CHUNKS).next_power_of_two();
    buckets.clamp(MIN_BUCKETS, MAX_BUCKETS).ilog2()
}

/// The lengths of the chunks that hold the first `buckets` buckets of a table that may grow to
/// `max_buckets`.
pub(crate) fn chunk_lens(max_buckets: usize, buckets: usize) -> impl Iterator<Item = usize> {
    let shift = shift(max_buckets);
    core::iter::repeat_n(1 << shift, buckets.div_ceil(1 << shift))
}

/// Chunks, those of the first buckets first.
pub struct Chunks {
    max_buckets: usize,
    /// Nobody reads a chunk that is missing: it is added before the extent that reaches it is published.
    words: PieceArray,
}

impl<'a> View<'a> for array::View<'a> {
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
    /// Each of its chunks is larger than any memory.
    pub(super) fn too_large() -> Self {
        Self { max_buckets: 1 << 60, words: PieceArray::try_new(53).unwrap() }
    }
}

impl Words for Chunks {
    type View<'a> = array::View<'a>;

    fn try_new(max_buckets: usize) -> Result<Self, NoMemory> {
        Ok(Self { max_buckets, words: PieceArray::try_new(shift(max_buckets))? })
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
        self.words.try_reach(buckets)
    }

    fn reached(&self) -> usize {
        self.words.len()
    }

    fn max_buckets(&self) -> usize {
        self.max_buckets
    }

    #[inline]
    fn view(&self) -> array::View<'_> {
        self.words.view()
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        let (words, len) = (self.words.view(), self.words.piece_len());
        (0..self.words.pieces_of(buckets))
            .map(move |at| &words.piece(at)[..len.min(buckets - at * len)])
    }

    fn heap_bytes(&self) -> usize {
        self.words.heap_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The chunks of a table hold each of its buckets once; there are few of them, and they are small.
    #[test]
    fn chunks_hold_all_buckets_once() {
        for max_buckets in [2, 32, 62, 64, 66, 500, 512, 32_768, 32_770, 100_002, 1 << 22] {
            for buckets in [1, 2, max_buckets / 3 + 1, max_buckets] {
                let lens: Vec<usize> = chunk_lens(max_buckets, buckets).collect();
                let covered: usize = lens.iter().sum();
                assert!(covered >= buckets && covered - lens[0] < buckets);
                assert!(lens.len() <= CHUNKS || lens[0] == MAX_BUCKETS);
                assert!(lens[0] <= MAX_BUCKETS && lens[0] <= (2 * max_buckets / CHUNKS).max(64));
            }
        }
    }

    /// Each chunk is there from the time on when a bucket in it was reached, and its words stay where
    /// they are.
    #[test]
    fn chunks_come_when_they_are_reached() {
        let (rows, max_buckets) = (100, 10_000);
        let words = Chunks::try_new(max_buckets).unwrap();
        assert_eq!(words.reached(), 0);
        words.try_reach(rows).unwrap();
        let first: *const AtomicU64 = words.word(0);
        for buckets in rows..=max_buckets {
            words.try_reach(buckets).unwrap();
            assert!(words.view().get(buckets - 1).is_some());
            let reached = words.reached();
            assert!((buckets..buckets + 64).contains(&reached));
            assert!(words.view().get(reached).is_none());
            assert_eq!(words.pieces(buckets).map(<[_]>::len).sum::<usize>(), buckets);
        }
        assert!(core::ptr::eq(first, words.word(0)));
        // As many words as buckets, none of them twice.
        let all: std::collections::HashSet<usize> =
            (0..max_buckets).map(|bucket| core::ptr::from_ref(words.word(bucket)).addr()).collect();
        assert_eq!(all.len(), max_buckets);
    }

    /// Of an image, whose table may have run out of memory after its mirror had one chunk more.
    #[test]
    fn chunks_without_buckets_are_given_back() {
        let max_buckets = 1000;
        for buckets in [1, 64, 65, 700, max_buckets] {
            let words = Chunks::try_new(max_buckets).unwrap();
            words.try_reach(max_buckets).unwrap();
            let pieces = words.into_pieces(buckets).unwrap();
            let lens = pieces.iter().map(|piece| piece.len());
            assert!(lens.eq(chunk_lens(max_buckets, buckets)));
        }
    }
}
