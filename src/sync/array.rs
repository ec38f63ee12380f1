//! An array of words in pieces that are added one after the other and never move.
//!
//! It is the one data structure of this crate with raw pointers: made of safe parts (a `Box` in a
//! `OnceLock` for each piece), a place for a piece took 24 bytes in place of 8, and an access made three
//! tests in place of one.
//!
//! ```text
//! piece  = n >> shift
//! offset = n mod 2^shift
//! ```
//!
//! The places of the pieces are a *directory*. When it is full, one of twice the length replaces it. A
//! reader may go on in an old one, which has all words that were there when it was replaced: so old ones
//! are kept until the array is dropped, and take together no more than the newest. (`arc-swap` would keep no old
//! directory, but each of its loads writes to a slot of the thread and clears it afterwards: a lookup stores nothing
//! here.)
//!
//! A reader loads the number of pieces, and then the newest directory. It is written the other way: so the directory
//! has a place for each of these pieces, whatever comes in between.
#![allow(
    unsafe_code,
    reason = "a third of the places, and one test for an access in place of three"
)]

use core::marker::PhantomData;
use core::ptr;

use super::{AtomicPtr, AtomicU64, AtomicUsize, Mutex, Ordering, UnsafeCell, try_zeroed};
use crate::sync::memory::{NoMemory, TryBox, try_reserve, try_with_capacity};

type Piece = Box<[AtomicU64]>;

/// Where word 0 would be if the words lay in one block, and this piece in its place there: so the number of a word is
/// its distance from that. Null until there is a piece.
type Place = UnsafeCell<*mut AtomicU64>;

/// Places in the shortest directory. One in models, so that they have several directories.
const FIRST_PLACES: usize = if cfg!(coucal_model) { 1 } else { 8 };

/// Pieces of 2^`SHIFT` words each.
///
/// What the unsafe code builds on: with n in `pieces`, each directory that `newest` has had since then is a box of
/// places, no fewer than n, of which the place i < n has the pointer to the words of a box of 2^`SHIFT` words, less
/// i · 2^`SHIFT` words. The array owns these boxes. While it is shared, these places do not change: only the holder of
/// `directories` writes, to places of which `pieces` does not tell yet.
pub struct PieceArray<const SHIFT: u32> {
    /// In a box: the compiler knows that an array without atomics of its own does not change, so the
    /// other parts of a table stay in registers from one Acquire load to the next.
    shared: TryBox<Shared>,
    owned: PhantomData<Piece>,
}

struct Shared {
    pieces: AtomicUsize,
    /// The first place of the newest directory.
    newest: AtomicPtr<Place>,
    /// All of them, the newest one last. Locked by whoever adds pieces.
    directories: Mutex<Vec<*mut [Place]>>,
    /// What they take.
    bytes: AtomicUsize,
}

// SAFETY: what the pointers lead to is owned by the array, and written only as `PieceArray` says.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

/// The words that an array had at one time.
#[derive(Clone, Copy)]
pub struct View<'a, const SHIFT: u32> {
    places: *const Place,
    pieces: usize,
    array: PhantomData<&'a PieceArray<SHIFT>>,
}

impl<const SHIFT: u32> PieceArray<SHIFT> {
    /// Without words.
    pub(crate) fn try_new() -> Result<Self, NoMemory> {
        let shared = TryBox::try_new(Shared {
            pieces: AtomicUsize::new(0),
            newest: AtomicPtr::new(ptr::null_mut()),
            directories: Mutex::new(Vec::new()),
            bytes: AtomicUsize::new(0),
        })?;
        Ok(Self { shared, owned: PhantomData })
    }

    /// The words that are there.
    #[must_use]
    #[inline]
    pub fn view(&self) -> View<'_, SHIFT> {
        // Acquire: pairs with the Release in `try_add`. Whoever sees the number sees the pointers, and their
        // directory or a newer one.
        let pieces = self.shared.pieces.load(Ordering::Acquire);
        // Acquire: pairs with the Release in `try_add_directory`. A newer one than that may not be told of yet.
        let places = self.shared.newest.load(Ordering::Acquire);
        View { places, pieces, array: PhantomData }
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.view().len()
    }

    /// The first `words` words, which are there, piece by piece.
    pub(crate) fn pieces(&self, words: usize) -> impl Iterator<Item = &[AtomicU64]> {
        let view = self.view();
        (0..Self::pieces_of(words)).map(move |at| {
            let rest = words - at * Self::PIECE_LEN;
            &view.piece(at)[..rest.min(Self::PIECE_LEN)]
        })
    }

    /// The number of words in a piece.
    pub(crate) const PIECE_LEN: usize = 1 << SHIFT;

    /// The number of pieces that hold the first `words` words.
    pub(crate) fn pieces_of(words: usize) -> usize {
        words.div_ceil(Self::PIECE_LEN)
    }

    /// Adds pieces of zeros until there are `words` words, or more. Blocks while another thread adds some.
    ///
    /// # Errors
    ///
    /// If the allocator has no memory for a piece or for a directory; the pieces before it are added.
    pub(crate) fn try_reach(&self, words: usize) -> Result<(), NoMemory> {
        self.try_add(Self::pieces_of(words), || {
            let len = Self::PIECE_LEN;
            try_zeroed(len).ok_or(NoMemory { bytes: len * size_of::<u64>() })
        })
    }

    /// Adds pieces until there are `count`, or more.
    pub(crate) fn try_add(
        &self,
        count: usize,
        mut next: impl FnMut() -> Result<Piece, NoMemory>,
    ) -> Result<(), NoMemory> {
        let mut directories = self.shared.directories.lock();
        loop {
            // Relaxed: written under the mutex.
            let at = self.shared.pieces.load(Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            if directories.last().is_none_or(|newest| at == newest.len()) {
                self.try_add_directory(&mut directories, count)?;
            }
            let piece = next()?;
            assert_eq!(piece.len(), Self::PIECE_LEN);
            // Relaxed: written under the mutex.
            let newest = self.shared.newest.load(Ordering::Relaxed);
            // SAFETY: the directory has this place, of which `pieces` does not tell yet.
            let place = unsafe { &*newest.add(at) };
            // SAFETY: the mutex is held, and no reader has been told of it.
            place.with_mut(|place| unsafe {
                *place = Box::into_raw(piece).cast::<AtomicU64>().wrapping_sub(at << SHIFT);
            });
            // Release: pairs with the load in `view`.
            self.shared.pieces.store(at + 1, Ordering::Release);
        }
    }

    /// A directory for `count` pieces or more, in place of one that has no place free.
    fn try_add_directory(
        &self,
        directories: &mut Vec<*mut [Place]>,
        count: usize,
    ) -> Result<(), NoMemory> {
        let view = self.view();
        let len = count.next_power_of_two().max(FIRST_PLACES);
        let mut places = try_with_capacity(len)?;
        places.extend((0..view.pieces).map(|at| Place::new(view.start(at))));
        places.resize_with(len, || Place::new(ptr::null_mut()));
        try_reserve(directories, 1)?;
        let places = Box::into_raw(places.into_boxed_slice());
        directories.push(places);
        // Release: pairs with the load in `view`.
        self.shared.newest.store(places.cast(), Ordering::Release);
        let bytes: usize = directories.iter().map(|places| places.len() * size_of::<Place>()).sum();
        let of_list = directories.capacity() * size_of::<*mut [Place]>();
        // Relaxed: a number that orders nothing.
        self.shared.bytes.store(bytes + of_list, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the last piece out.
    fn pop(&mut self) -> Option<Piece> {
        // Relaxed: nobody else has the array.
        let at = self.shared.pieces.load(Ordering::Relaxed).checked_sub(1)?;
        let words = self.view().start(at).wrapping_add(at << SHIFT);
        self.shared.pieces.store(at, Ordering::Relaxed);
        // SAFETY: it comes from a box of this number of words, and is not in the array any more.
        Some(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(words, Self::PIECE_LEN)) })
    }

    /// The pieces that hold the first `words` words, which are there.
    pub(crate) fn try_into_pieces(mut self, words: usize) -> Result<Vec<Piece>, NoMemory> {
        let count = Self::pieces_of(words);
        let mut pieces = try_with_capacity(count)?;
        while self.view().pieces > count {
            self.pop();
        }
        pieces.extend(core::iter::from_fn(|| self.pop()));
        pieces.reverse();
        Ok(pieces)
    }

    /// What is allocated at most for so many words.
    pub(crate) fn bytes_for(words: u64) -> u64 {
        let pieces = words.div_ceil(Self::PIECE_LEN as u64);
        // All together take no more than the newest, and have no more than this number.
        let places = pieces.max(FIRST_PLACES as u64).next_power_of_two();
        let of_list = u64::from(places.ilog2()) * size_of::<*mut [Place]>() as u64;
        let of_directories = 2 * places * size_of::<Place>() as u64 + of_list;
        (size_of::<Shared>() as u64 + of_directories)
            .saturating_add((pieces << SHIFT).saturating_mul(8))
    }

    /// What is allocated.
    pub(crate) fn heap_bytes(&self) -> usize {
        // Relaxed: a number that orders nothing.
        let of_directories = self.shared.bytes.load(Ordering::Relaxed);
        size_of_val(&*self.shared) + of_directories + self.len() * size_of::<AtomicU64>()
    }
}

impl<const SHIFT: u32> Drop for PieceArray<SHIFT> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        for places in self.shared.directories.lock().drain(..) {
            // SAFETY: it comes from a box, and nobody else has the array.
            drop(unsafe { Box::from_raw(places) });
        }
    }
}

#[allow(clippy::len_without_is_empty, reason = "an array is empty only while it is made")]
impl<'a, const SHIFT: u32> View<'a, SHIFT> {
    /// The number of words.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.pieces << SHIFT
    }

    /// From where the words of a piece are counted.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[inline]
    fn start(self, piece: usize) -> *mut AtomicU64 {
        assert!(piece < self.pieces, "a piece that is there");
        // SAFETY: the directory has a place for each piece that is there, and does not change in it.
        unsafe { (*self.places.add(piece)).with(|words| *words) }
    }

    /// A word that is there.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    #[inline]
    pub fn word(self, index: usize) -> &'a AtomicU64 {
        // SAFETY: the piece has the word with this number, and lives as long as the array.
        unsafe { &*self.start(index >> SHIFT).wrapping_add(index) }
    }

    /// The words of a piece that is there.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    pub fn piece(self, at: usize) -> &'a [AtomicU64] {
        // SAFETY: a box of this number of words, which lives as long as the array.
        unsafe { core::slice::from_raw_parts(self.start(at).wrapping_add(at << SHIFT), 1 << SHIFT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    const SHIFT: u32 = 3;

    #[test]
    fn a_word_is_where_it_was_stored() {
        let array = PieceArray::<SHIFT>::try_new().unwrap();
        assert_eq!(array.len(), 0);
        for words in [1, 8, 9, 20, 100, 50] {
            array.try_reach(words).unwrap();
        }
        assert_eq!(array.len(), 104);
        for index in 0..104 {
            array.view().word(index).store(index as u64, Ordering::Relaxed);
        }
        let words = |piece: &[AtomicU64]| -> Vec<u64> {
            piece.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        assert_eq!(words(array.view().piece(2)), (16..24).collect::<Vec<_>>());
        for first in [0, 1, 8, 25, 104] {
            assert!(array.pieces(first).flat_map(words).eq(0..first as u64));
        }
        let pieces = array.try_into_pieces(25).unwrap();
        assert_eq!(pieces.len(), 4, "those that are not needed are freed");
        assert!(pieces.iter().flat_map(|piece| words(piece)).eq(0..32));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let array = || {
            let array = PieceArray::<SHIFT>::try_new().unwrap();
            array.try_reach(8).unwrap();
            array
        };
        assert!(std::panic::catch_unwind(|| array().view().piece(1).len()).is_err());
        for index in [8, 15, 16, usize::MAX] {
            assert!(std::panic::catch_unwind(|| array().view().word(index).as_ptr()).is_err());
        }
    }

    /// Two threads add pieces, to the same ends and to different ones, while two read all words that are
    /// there: no word moves, and none is lost when the directory is replaced.
    #[test]
    fn two_threads_read_while_two_add() {
        const WORDS: usize = if cfg!(miri) { 200 } else { 40_000 };
        let array = PieceArray::<SHIFT>::try_new().unwrap();
        array.try_reach(1).unwrap();
        let done = AtomicBool::new(false);
        let add = |step: usize| {
            for words in (0..WORDS).step_by(step) {
                array.try_reach(words).unwrap();
                if words > 0 {
                    array.view().word(words - 1).store(1, Ordering::Relaxed);
                }
            }
        };
        let read = || {
            let first = ptr::from_ref(array.view().word(0));
            while !done.load(Ordering::Relaxed) {
                let len = array.len();
                let last: Vec<_> = (0..len).rev().take(20).collect();
                assert!(last.iter().all(|&at| array.view().word(at).load(Ordering::Relaxed) <= 1));
                assert!(ptr::eq(first, array.view().word(0)));
            }
        };
        thread::scope(|scope| {
            let adders = [7, 3].map(|step| scope.spawn(move || add(step)));
            (0..2).for_each(|_| drop(scope.spawn(read)));
            for adder in adders {
                adder.join().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let stored = |at: usize| array.view().word(at).load(Ordering::Relaxed) == 1;
        assert!((1..WORDS).all(|words| stored(words - 1) == (words % 7 == 0 || words % 3 == 0)));
    }
}
