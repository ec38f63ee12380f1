//! The words of a growing table: in chunks that are allocated as growth reaches them, and never move.
//!
//! All chunks of a table have as many words, a power of two, but for the last one. There are up to
//! [`CHUNKS`] of them at the maximum size: so a chunk is no larger than the smallest table that grows as far,
//! or twice that. With n the number of a bucket and 2^s the words of a chunk:
//!
//! ```text
//! chunk  = n >> s
//! offset = n mod 2^s
//! ```

use core::ops::Range;

use super::address::{NoMemory, Words};
use crate::sync::{self, AtomicU64, PieceArray};

/// The most chunks of a table.
const CHUNKS: usize = 512;
/// Buckets of the smallest chunk: 512 bytes. One under loom, so that a model's table gets chunks while it
/// grows.
const MIN_BUCKETS: usize = if cfg!(loom) { 1 } else { 64 };

/// Which chunk has the word of a bucket. Pure functions.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The number of buckets in a chunk, as a power of two.
    shift: u32,
    max_buckets: usize,
}

impl Shape {
    pub(crate) fn new(max_buckets: usize) -> Self {
        let buckets = max_buckets.div_ceil(CHUNKS).next_power_of_two().max(MIN_BUCKETS);
        Self { shift: buckets.ilog2(), max_buckets }
    }

    /// The chunk of a bucket, and where in that chunk its word lies.
    #[inline]
    fn place(self, bucket: usize) -> (usize, usize) {
        (bucket >> self.shift, bucket & ((1 << self.shift) - 1))
    }

    /// The buckets of a chunk.
    fn buckets_of(self, chunk: usize) -> Range<usize> {
        let [start, end] = [chunk, chunk + 1].map(|n| (n << self.shift).min(self.max_buckets));
        start..end
    }

    /// The number of chunks that hold the first `buckets` buckets, of which there is at least one.
    fn chunks(self, buckets: usize) -> usize {
        self.place(buckets - 1).0 + 1
    }

    /// The lengths of the chunks that hold the first `buckets` buckets.
    pub(crate) fn lens(self, buckets: usize) -> impl Iterator<Item = usize> {
        (0..self.chunks(buckets)).map(move |chunk| self.buckets_of(chunk).len())
    }
}

type Chunk = Box<[AtomicU64]>;

/// Chunks, those of the first buckets first.
pub struct Chunks {
    shape: Shape,
    /// Has a place for each chunk that the table may ever have. Nobody reads one that is missing: it is
    /// added before the extent that reaches it is published.
    words: PieceArray,
}

impl Words for Chunks {
    fn try_new(max_buckets: usize) -> Option<Self> {
        Self::from_pieces(max_buckets, Vec::new())
    }

    fn from_pieces(max_buckets: usize, pieces: Vec<Chunk>) -> Option<Self> {
        let shape = Shape::new(max_buckets);
        debug_assert!(
            pieces.iter().map(|piece| piece.len()).eq(shape.lens(max_buckets).take(pieces.len()))
        );
        let words = PieceArray::try_new(shape.shift, shape.chunks(max_buckets))?;
        for piece in pieces {
            words.push(piece);
        }
        Some(Self { shape, words })
    }

    fn into_pieces(mut self, buckets: usize) -> Option<Vec<Chunk>> {
        let count = self.shape.chunks(buckets);
        while self.words.count() > count {
            self.words.pop();
        }
        let mut pieces = Vec::new();
        pieces.try_reserve_exact(count).ok()?;
        pieces.extend(core::iter::from_fn(|| self.words.pop()));
        pieces.reverse();
        Some(pieces)
    }

    fn try_reach(&self, buckets: usize) -> Result<(), NoMemory> {
        while self.reached() < buckets {
            let len = self.shape.buckets_of(self.words.count()).len();
            let chunk = sync::try_zeroed(len).ok_or(NoMemory { bytes: len * size_of::<u64>() })?;
            self.words.push(chunk);
        }
        Ok(())
    }

    fn reached(&self) -> usize {
        self.words.len()
    }

    fn max_buckets(&self) -> usize {
        self.shape.max_buckets
    }

    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.words.word(bucket)
    }

    #[inline]
    fn get(&self, bucket: usize) -> Option<&AtomicU64> {
        (bucket < self.words.len()).then(|| self.words.word(bucket))
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        (0..self.shape.chunks(buckets)).map(move |at| {
            let Range { start, end } = self.shape.buckets_of(at);
            &self.words.piece(at)[..end.min(buckets) - start]
        })
    }

    fn heap_bytes(&self) -> usize {
        self.words.heap_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the definition: for every bucket its chunk, the chunk's buckets, and the place in it.
        #[test]
        fn a_bucket_lies_where_the_definition_says(max_buckets in 2..1_usize << 44, bucket: u64) {
            let n = bucket as usize % max_buckets;
            let shape = Shape::new(max_buckets);
            let (chunk, offset) = shape.place(n);
            let buckets = shape.buckets_of(chunk);
            prop_assert!(buckets.contains(&n) && offset == n - buckets.start);
            let len = shape.buckets_of(0).len();
            prop_assert!(chunk < CHUNKS && (chunk == 0 || len.is_power_of_two()));
            prop_assert!(len <= 64 || len * CHUNKS < 2 * max_buckets + 2 * CHUNKS, "{len}");
        }
    }

    /// The chunks of a table hold each of its buckets once.
    #[test]
    fn chunks_hold_all_buckets_once() {
        for max_buckets in [2, 32, 62, 64, 66, 500, 512, 32_768, 32_770, 100_002] {
            let shape = Shape::new(max_buckets);
            let mut next = 0;
            for chunk in 0..shape.chunks(max_buckets) {
                let buckets = shape.buckets_of(chunk);
                assert!(buckets.start == next && !buckets.is_empty(), "{shape:?}");
                for (offset, bucket) in buckets.clone().enumerate() {
                    assert_eq!(shape.place(bucket), (chunk, offset));
                }
                next = buckets.end;
            }
            assert_eq!(next, max_buckets);
            assert!(shape.buckets_of(shape.chunks(max_buckets)).is_empty());
            for buckets in [1, 2, max_buckets / 3 + 1, max_buckets] {
                let lens: Vec<usize> = shape.lens(buckets).collect();
                let covered: usize = lens.iter().sum();
                assert!(covered >= buckets && covered - lens[lens.len() - 1] < buckets);
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
            assert!(words.get(buckets - 1).is_some());
            let reached = words.reached();
            assert!((buckets..buckets + 64).contains(&reached));
            assert!(words.get(reached).is_none());
            assert_eq!(words.pieces(buckets).map(<[_]>::len).sum::<usize>(), buckets);
        }
        assert_eq!(words.reached(), max_buckets);
        assert!(core::ptr::eq(first, words.word(0)));
        // As many words as buckets, none of them twice.
        let all: std::collections::HashSet<usize> =
            (0..max_buckets).map(|bucket| core::ptr::from_ref(words.word(bucket)).addr()).collect();
        assert_eq!(all.len(), max_buckets);
    }
}
