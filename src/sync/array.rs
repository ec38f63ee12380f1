//! An array of words in pieces that are added one after the other and never move.
//!
//! It is the one data structure of this crate with raw pointers. A lookup in a growing table finds two
//! words in it, and makes one test for each: whether the index is below the number of words. Made of
//! safe parts (a `Box` in a `OnceLock` for each piece) it made three, and a place for a piece took 24
//! bytes in place of 8.
#![allow(
    unsafe_code,
    reason = "a fourteenth of the instructions of a lookup; a third of the places"
)]

use core::marker::PhantomData;
use core::ptr;

use super::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

type Piece = Box<[AtomicU64]>;

/// Pieces of 2^`shift` words each; the last one may be shorter.
///
/// What the unsafe code builds on: of the `len` words, those with the indices from k·2^`shift` on are the
/// words of a box, as many as there are up to (k + 1)·2^`shift` or to `len`. `pieces[k]` is the pointer
/// to them, and the array owns the box. While the array is shared, this pointer does not change, and
/// `len` does not become less.
pub struct PieceArray {
    shift: u32,
    pieces: Box<[AtomicPtr<AtomicU64>]>,
    /// In a box: the compiler knows that an array without atomics of its own does not change, so the
    /// other parts stay in registers from one Acquire load to the next.
    len: Box<AtomicUsize>,
    owned: PhantomData<Piece>,
}

#[allow(clippy::len_without_is_empty, reason = "an array is empty only while it is made")]
impl PieceArray {
    /// Without words, and with a place for this number of pieces; `None` if the allocator has no memory
    /// for it.
    #[must_use]
    pub fn try_new(shift: u32, places: usize) -> Option<Self> {
        let mut pieces = Vec::new();
        pieces.try_reserve_exact(places).ok()?;
        pieces.resize_with(places, || AtomicPtr::new(ptr::null_mut()));
        let pieces = pieces.into_boxed_slice();
        Some(Self { shift, pieces, len: Box::new(AtomicUsize::new(0)), owned: PhantomData })
    }

    /// The number of words.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        // Acquire: pairs with the Release in `push`. Whoever sees the number sees the pointers.
        self.len.load(Ordering::Acquire)
    }

    /// The number of pieces.
    #[must_use]
    pub fn count(&self) -> usize {
        self.len().div_ceil(1 << self.shift)
    }

    /// A word that is there.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.len(), "a word that is there");
        let offset = index & ((1 << self.shift) - 1);
        // SAFETY: the word is one of the `len` words, so its piece is there, and has more than `offset`
        // words, which live as long as the array.
        unsafe {
            let piece = self.pieces.get_unchecked(index >> self.shift);
            // Relaxed: `len` has made it visible.
            let words = piece.load(Ordering::Relaxed);
            // A model that loses the pointer says so.
            assert!(cfg!(not(loom)) || !words.is_null());
            &*words.add(offset)
        }
    }

    /// The words of a piece that is there.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    pub fn piece(&self, at: usize) -> &[AtomicU64] {
        let (start, len) = (at << self.shift, self.len());
        assert!(start < len, "a piece that is there");
        // Relaxed: `len` has made it visible.
        let words = self.pieces[at].load(Ordering::Relaxed);
        // SAFETY: a box of this number of words, which lives as long as the array.
        unsafe { core::slice::from_raw_parts(words, (len - start).min(1 << self.shift)) }
    }

    /// Adds a piece of 2^`shift` words, or of fewer if it is the last. Nothing happens if another thread
    /// adds one at the same time.
    ///
    /// # Panics
    ///
    /// If the piece is empty or too long, there is no place for it, or the piece before it is shorter.
    pub fn push(&self, piece: Piece) {
        let (len, added) = (self.len(), piece.len());
        assert!(len.is_multiple_of(1 << self.shift), "the last piece is shorter");
        assert!((1..=1 << self.shift).contains(&added), "{added} words");
        let place = &self.pieces[len >> self.shift];
        let words = Box::into_raw(piece);
        // Relaxed, both: the store below makes it visible.
        if place
            .compare_exchange(ptr::null_mut(), words.cast(), Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            // Only one thread comes here before `len` is more. Release: pairs with the load in `len`.
            self.len.store(len + added, Ordering::Release);
        } else {
            // SAFETY: it comes from `into_raw` above, and nobody else has it.
            drop(unsafe { Box::from_raw(words) });
        }
    }

    /// Takes the last piece out.
    pub fn pop(&mut self) -> Option<Piece> {
        // Relaxed: nobody else has the array.
        let len = self.len.load(Ordering::Relaxed);
        let at = len.checked_sub(1)? >> self.shift;
        let start = at << self.shift;
        self.len.store(start, Ordering::Relaxed);
        let words = self.pieces[at].load(Ordering::Relaxed);
        self.pieces[at].store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it comes from a box of this number of words, and is not in the array any more.
        Some(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(words, len - start)) })
    }

    /// For the models: a piece of these words.
    ///
    /// # Panics
    ///
    /// Never.
    #[cfg(loom)]
    #[must_use]
    pub fn piece_of<const N: usize>(words: [u64; N]) -> Piece {
        let piece = super::try_zeroed(N).expect("memory for a model");
        for (word, value) in piece.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        piece
    }

    /// What is allocated.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.pieces) + size_of_val(&*self.len) + self.len() * size_of::<u64>()
    }
}

impl Drop for PieceArray {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::try_zeroed;

    const SHIFT: u32 = 3;

    fn array(places: usize, lens: &[usize]) -> PieceArray {
        let array = PieceArray::try_new(SHIFT, places).unwrap();
        for &len in lens {
            array.push(try_zeroed(len).unwrap());
        }
        array
    }

    #[test]
    fn a_word_is_where_it_was_stored() {
        let mut array = array(4, &[8, 8, 5]);
        assert_eq!((array.len(), array.count()), (21, 3));
        for index in 0..21 {
            array.word(index).store(index as u64 + 1, Ordering::Relaxed);
        }

        let words = |piece: &[AtomicU64]| -> Vec<u64> {
            piece.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        assert_eq!(words(array.piece(0)), (1..=8).collect::<Vec<_>>());
        assert_eq!(words(array.piece(2)), (17..=21).collect::<Vec<_>>());
        assert_eq!(words(&array.pop().unwrap()), (17..=21).collect::<Vec<_>>());
        assert_eq!(array.len(), 16);
        array.push(try_zeroed(8).unwrap());
        assert_eq!((array.len(), array.count()), (24, 3));
        assert_eq!((array.pop().map(|piece| piece.len()), array.len()), (Some(8), 16));
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        for (lens, piece) in [(&[8, 5][..], 8), (&[8, 8], 8), (&[8], 0), (&[8], 9)] {
            let array = array(2, lens);
            let words = try_zeroed(piece).unwrap();
            let pushed =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| array.push(words)));
            assert!(pushed.is_err(), "{lens:?}, and {piece}");
            assert_eq!(array.len(), lens.iter().sum::<usize>());
        }
        assert!(std::panic::catch_unwind(|| array(2, &[8]).piece(1).len()).is_err());
        for index in [8, 15, 16, usize::MAX] {
            assert!(std::panic::catch_unwind(|| array(2, &[8]).word(index).as_ptr()).is_err());
        }
    }

    /// Pieces that several threads add at the same time, while another one reads all words that are
    /// there: each place gets one piece, and no word moves.
    #[test]
    fn one_thread_reads_while_others_add() {
        const PIECES: usize = if cfg!(miri) { 8 } else { 1000 };
        let array = array(PIECES, &[8]);
        let add = || {
            while array.count() < PIECES {
                let words = try_zeroed(8).unwrap();
                words[7].store(8, Ordering::Relaxed);
                // Another thread may have added the last piece.
                let _ =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| array.push(words)));
            }
        };
        let read = || {
            let first = ptr::from_ref(array.word(0));
            loop {
                let len = array.len();
                let sum: u64 = (0..len).map(|at| array.word(at).load(Ordering::Relaxed)).sum();
                assert_eq!(sum, len as u64 - 8);
                assert!(ptr::eq(first, array.word(0)));
                if len == 8 * PIECES {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(add);
            scope.spawn(add);
            scope.spawn(read);
        });
        assert_eq!(array.len(), 8 * PIECES);
    }
}
