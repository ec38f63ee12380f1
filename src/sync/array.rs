//! An array of words that becomes longer while others read it.
//!
//! **Invariant:** a reader that has seen the number of words finds each of them, in a directory that is as new as that
//! number or newer. Only the words of a *short* array, which is less than a piece, ever move: they are
//! [copied](PieceArray::lengthen) into a longer one, while nobody stores any.
//!
//! It is allocated in *slabs*, each of some *pieces* of one length, which are found in one step:
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
//! A reader loads the number of words, and then the newest directory. It is written the other way: so the directory
//! has a place for each piece of these words, whatever comes in between.
//!
//! Made of safe parts (a `Box` in a `OnceLock` for each piece), a place took 24 bytes in place of 8, and an access made
//! three tests in place of one.
#![allow(
    unsafe_code,
    reason = "a third of the places, and one test for an access in place of three"
)]

use core::marker::PhantomData;
use core::ptr;

use super::{AtomicPtr, AtomicU64, AtomicUsize, Mutex, Ordering, UnsafeCell, try_zeroed};
use crate::sync::memory::{NoMemory, try_reserve_one, try_with_capacity};

/// What is allocated at once.
type Slab = Box<[AtomicU64]>;

/// Where word 0 would be if the words lay in one block, and this piece in its place there: so the number of a word is
/// its distance from that, and the pieces of a slab have the same. Null until there is a piece.
type WordPtr = UnsafeCell<*mut AtomicU64>;

/// Pieces of 2^`SHIFT` words each. The only one of a *short* array has fewer.
///
/// What the unsafe code builds on: each directory that `newest` has had since `len` told of a word is a box of places,
/// of which that of the word's piece has the pointer to where word 0 would be if the slab with the piece began there.
/// The array owns these boxes, and those of the slabs. While it is shared, these places do not change: only the holder
/// of `owned` writes, to places of which `len` does not tell yet.
pub struct PieceArray<const SHIFT: u32> {
    /// The number of words.
    len: AtomicUsize,
    /// The first place of the newest directory.
    newest: AtomicPtr<WordPtr>,
    /// Locked by whoever adds pieces.
    owned: Mutex<Allocations>,
    /// What is allocated besides the words.
    bytes: AtomicUsize,
    /// The number of words that there is memory for.
    #[cfg(test)]
    pub(crate) memory: usize,
}

/// So many zeros.
fn try_slab(words: usize) -> Result<Slab, NoMemory> {
    let bytes = words.saturating_mul(size_of::<AtomicU64>());
    try_zeroed(words).ok_or(NoMemory { bytes })
}

/// What is freed with the array.
#[derive(Default)]
struct Allocations {
    /// In the order of their words, after those that others have replaced.
    slabs: Vec<*mut [AtomicU64]>,
    /// The number of slabs that others have replaced.
    replaced: usize,
    /// All of them, the newest one last.
    directories: Vec<*mut [WordPtr]>,
}

impl Allocations {
    /// What is allocated besides the words that are read.
    fn bytes(&self) -> usize {
        let places: usize = self.directories.iter().map(|places| places.len()).sum();
        let replaced: usize = self.slabs[..self.replaced].iter().map(|slab| slab.len()).sum();
        places * size_of::<WordPtr>()
            + replaced * size_of::<AtomicU64>()
            + self.slabs.capacity() * size_of::<*mut [AtomicU64]>()
            + self.directories.capacity() * size_of::<*mut [WordPtr]>()
    }
}

/// A slab that is to replace all others, and its directory.
pub(crate) struct Longer {
    slab: Slab,
    directory: Box<[WordPtr]>,
}

// SAFETY: what the pointers lead to is owned by the array, and written only as it says.
unsafe impl<const SHIFT: u32> Send for PieceArray<SHIFT> {}
// SAFETY: the same.
unsafe impl<const SHIFT: u32> Sync for PieceArray<SHIFT> {}

/// The words that an array had at one time.
#[derive(Clone, Copy)]
pub struct Words<'a, const SHIFT: u32> {
    places: *const WordPtr,
    len: usize,
    array: PhantomData<&'a PieceArray<SHIFT>>,
}

impl<const SHIFT: u32> PieceArray<SHIFT> {
    /// Without words.
    pub(crate) fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            newest: AtomicPtr::new(ptr::null_mut()),
            owned: Mutex::new(Allocations::default()),
            bytes: AtomicUsize::new(0),
            #[cfg(test)]
            memory: usize::MAX,
        }
    }

    /// The words that are there.
    #[must_use]
    #[inline]
    pub fn view(&self) -> Words<'_, SHIFT> {
        // Acquire: pairs with the Release in `try_add`. Whoever sees the number sees the pointers, and their
        // directory or a newer one.
        let len = self.len.load(Ordering::Acquire);
        // SeqCst: pairs with the store in `lengthen`. Whoever begins after something was stored in the words that have
        // replaced others reads it there. As an Acquire load it pairs with the Release in `try_add_directory`. A newer
        // directory than that of the number may not be told of yet.
        let places = self.newest.load(Ordering::SeqCst);
        Words { places, len, array: PhantomData }
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether it is shorter than a piece: then more words have to replace them.
    pub(crate) fn is_short(&self) -> bool {
        self.len() < Self::PIECE_LEN
    }

    /// The number of words in a piece.
    pub(crate) const PIECE_LEN: usize = 1 << SHIFT;

    /// The number of pieces that hold the first `words` words.
    fn pieces_of(words: usize) -> usize {
        words.div_ceil(Self::PIECE_LEN)
    }

    /// The number of words of the shortest array that has `words`.
    pub(crate) fn len_for(words: u64) -> u64 {
        let piece = Self::PIECE_LEN as u64;
        if words < piece { words } else { words.next_multiple_of(piece) }
    }

    /// Adds zeros until there are `words` words, or more: all that are missing in one slab. Blocks while another thread
    /// adds some.
    ///
    /// # Errors
    ///
    /// If the allocator has no memory for it; then nothing is added.
    pub(crate) fn try_reach(&self, words: usize) -> Result<(), NoMemory> {
        #[cfg(test)]
        if words > self.memory {
            return Err(NoMemory { bytes: words * size_of::<u64>() });
        }
        self.add(|len| {
            let missing = (Self::len_for(words as u64) as usize).saturating_sub(len);
            (missing > 0).then(|| try_slab(missing))
        })
    }

    /// Adds a slab, if there is one for the words that are there already.
    pub(crate) fn add(
        &self,
        slab: impl FnOnce(usize) -> Option<Result<Slab, NoMemory>>,
    ) -> Result<(), NoMemory> {
        let mut owned = self.owned.lock();
        // Relaxed: written under the mutex.
        let len = self.len.load(Ordering::Relaxed);
        let added = slab(len).map_or(Ok(()), |slab| self.try_add(&mut owned, len, slab?));
        // Relaxed: a number that orders nothing.
        self.bytes.store(owned.bytes(), Ordering::Relaxed);
        added
    }

    /// Adds a slab to the words that are there, which are whole pieces.
    fn try_add(&self, owned: &mut Allocations, len: usize, slab: Slab) -> Result<(), NoMemory> {
        assert!(len.is_multiple_of(Self::PIECE_LEN));
        let longer = len + slab.len();
        let places = Self::pieces_of(longer);
        try_reserve_one(&mut owned.slabs)?;
        if owned.directories.last().is_none_or(|newest| places > newest.len()) {
            self.try_add_directory(&mut owned.directories, places)?;
        }
        let slab = Box::into_raw(slab);
        owned.slabs.push(slab);
        // Relaxed: written under the mutex.
        let newest = self.newest.load(Ordering::Relaxed);
        for piece in Self::pieces_of(len)..places {
            // SAFETY: the directory has this place, of which `len` does not tell yet.
            let place = unsafe { &*newest.add(piece) };
            // SAFETY: the mutex is held, and no reader has been told of it.
            place.with_mut(|place| unsafe {
                *place = slab.cast::<AtomicU64>().wrapping_sub(len);
            });
        }
        // Release: pairs with the load in `view`.
        self.len.store(longer, Ordering::Release);
        Ok(())
    }

    /// A directory with this number of places or more, in place of one that is too short.
    fn try_add_directory(
        &self,
        directories: &mut Vec<*mut [WordPtr]>,
        places: usize,
    ) -> Result<(), NoMemory> {
        let view = self.view();
        let double = directories.last().map_or(0, |newest| 2 * newest.len());
        let mut directory = try_with_capacity(places.max(double))?;
        // SAFETY: the piece is there.
        directory.extend(
            (0..Self::pieces_of(view.len)).map(|at| WordPtr::new(unsafe { view.start(at) })),
        );
        directory.resize_with(places.max(double), || WordPtr::new(ptr::null_mut()));
        try_reserve_one(directories)?;
        let directory = Box::into_raw(directory.into_boxed_slice());
        directories.push(directory);
        // Release: pairs with the load in `view`.
        self.newest.store(directory.cast(), Ordering::Release);
        Ok(())
    }

    /// What it takes to put this number of words in the place of all.
    pub(crate) fn try_longer(&self, words: usize) -> Result<Longer, NoMemory> {
        let len = Self::len_for(words as u64) as usize;
        let slab = try_slab(len)?;
        let mut directory = try_with_capacity(Self::pieces_of(len))?;
        directory.resize_with(Self::pieces_of(len), || WordPtr::new(ptr::null_mut()));
        let mut owned = self.owned.lock();
        let room = try_reserve_one(&mut owned.slabs);
        let room = room.and_then(|()| try_reserve_one(&mut owned.directories));
        // Relaxed: a number that orders nothing.
        self.bytes.store(owned.bytes(), Ordering::Relaxed);
        room?;
        Ok(Longer { slab, directory: directory.into_boxed_slice() })
    }

    /// Copies all words, which nobody stores meanwhile, and puts the copies in their place, and zeros behind them.
    /// Readers may go on in the old ones, which are kept, too.
    ///
    /// # Panics
    ///
    /// If there are more words than in `longer`.
    pub(crate) fn lengthen(&self, longer: Longer) {
        let Longer { slab, mut directory } = longer;
        let mut owned = self.owned.lock();
        let view = self.view();
        assert!(view.len <= slab.len());
        for (at, new) in slab[..view.len].iter().enumerate() {
            // Relaxed, both: who calls this has synchronized with all writers, and the copies are published below.
            new.store(view.word(at).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let len = slab.len();
        owned.replaced = owned.slabs.len();
        // There is room in both lists.
        let slab = Box::into_raw(slab);
        owned.slabs.push(slab);
        directory.fill_with(|| WordPtr::new(slab.cast()));
        let directory = Box::into_raw(directory);
        owned.directories.push(directory);
        // SeqCst: pairs with the load in `view`, which comes after this, or before all that is stored in the copies.
        self.newest.store(directory.cast(), Ordering::SeqCst);
        // Release: pairs with the load in `view`.
        self.len.store(len, Ordering::Release);
        // Relaxed: a number that orders nothing.
        self.bytes.store(owned.bytes(), Ordering::Relaxed);
    }

    /// The slabs that hold the first `words` words, which are there.
    pub(crate) fn try_into_slabs(self, words: usize) -> Result<Vec<Slab>, NoMemory> {
        let mut owned = self.owned.lock();
        let mut slabs = try_with_capacity(owned.slabs.len())?;
        let (replaced, mut held) = (owned.replaced, 0);
        for (at, slab) in owned.slabs.drain(..).enumerate() {
            // SAFETY: it comes from a box, and nobody else has the array, which is no more.
            let slab = unsafe { Box::from_raw(slab) };
            if at >= replaced && held < words {
                held += slab.len();
                slabs.push(slab);
            }
        }
        Ok(slabs)
    }

    /// What is allocated at most besides so many words, which came in so many slabs.
    pub(crate) fn bytes_beside(words: u64, slabs: u64) -> u64 {
        let places = words.div_ceil(Self::PIECE_LEN as u64) * size_of::<WordPtr>() as u64;
        let of_lists = slabs * (size_of::<*mut [AtomicU64]>() + size_of::<*mut [WordPtr]>()) as u64;
        // A directory has up to twice as many places, and those before it together as many again; lists have room for twice
        // as much.
        4 * places + 2 * of_lists
    }

    /// What is allocated.
    pub(crate) fn heap_bytes(&self) -> usize {
        // Relaxed: a number that orders nothing.
        self.bytes.load(Ordering::Relaxed) + self.len() * size_of::<AtomicU64>()
    }
}

impl<const SHIFT: u32> Drop for PieceArray<SHIFT> {
    fn drop(&mut self) {
        let mut owned = self.owned.lock();
        for slab in owned.slabs.drain(..) {
            // SAFETY: it comes from a box, and nobody else has the array.
            drop(unsafe { Box::from_raw(slab) });
        }
        for directory in owned.directories.drain(..) {
            // SAFETY: the same.
            drop(unsafe { Box::from_raw(directory) });
        }
    }
}

#[allow(clippy::len_without_is_empty, reason = "an array is empty only while it is made")]
impl<'a, const SHIFT: u32> Words<'a, SHIFT> {
    /// The number of words.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// From where the words of a piece are counted.
    ///
    /// # Safety
    ///
    /// The piece is there.
    #[inline]
    unsafe fn start(self, piece: usize) -> *mut AtomicU64 {
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
        if index >= self.len {
            missing();
        }
        // SAFETY: the word is there, in this piece, and lives as long as the array.
        unsafe { &*self.start(index >> SHIFT).wrapping_add(index) }
    }

    /// Some words that are there.
    ///
    /// # Panics
    ///
    /// If one is not there.
    #[inline]
    pub(crate) fn words<const N: usize>(self, indices: [usize; N]) -> [&'a AtomicU64; N] {
        if indices.iter().any(|&index| index >= self.len) {
            missing();
        }
        // SAFETY: as in `word`.
        indices.map(|index| unsafe { &*self.start(index >> SHIFT).wrapping_add(index) })
    }
}

/// One place for all: the tests of two words have one branch each.
#[cold]
#[inline(never)]
fn missing() -> ! {
    panic!("no word has this index");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    const SHIFT: u32 = 3;

    fn array(words: usize) -> PieceArray<SHIFT> {
        let array = PieceArray::new();
        array.try_reach(words).unwrap();
        array
    }

    fn store_numbers(array: &PieceArray<SHIFT>, indices: Range<usize>) {
        for index in indices {
            array.view().word(index).store(index as u64, Ordering::Relaxed);
        }
    }

    fn numbers(array: &PieceArray<SHIFT>, words: usize) -> Vec<u64> {
        (0..words).map(|at| array.view().word(at).load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn a_word_is_where_it_was_stored() {
        let array = PieceArray::<SHIFT>::new();
        assert_eq!(array.len(), 0);
        for words in [8, 9, 20, 100, 50] {
            array.try_reach(words).unwrap();
        }
        assert_eq!(array.len(), 104);
        store_numbers(&array, 0..104);
        for first in [0, 1, 8, 25, 104] {
            assert!(numbers(&array, first).into_iter().eq(0..first as u64));
        }
        let slabs = array.try_into_slabs(17).unwrap();
        assert_eq!(slabs.len(), 3, "those that are not needed are freed");
        let words = slabs.iter().flatten().map(|word| word.load(Ordering::Relaxed));
        assert!(words.eq(0..24));
    }

    /// A short array takes what it needs. Its words are copied when there are to be more, and those who read them go
    /// on.
    #[test]
    fn a_short_array_is_replaced() {
        let array = array(3);
        let three = array.view();
        store_numbers(&array, 0..3);
        let first = array.heap_bytes();
        for (words, len) in [(5, 5), (8, 8), (20, 24)] {
            // The last one is whole already.
            if array.is_short() {
                array.lengthen(array.try_longer(words).unwrap());
            } else {
                array.try_reach(words).unwrap();
            }
            let before = three.len();
            assert_eq!((array.len(), before), (len, 3));
            assert!(numbers(&array, 3).into_iter().eq(0..3));
            let there = |words: Words<'_, SHIFT>| words.word(2).load(Ordering::Relaxed);
            array.view().word(2).store(7, Ordering::Relaxed);
            assert_eq!((there(array.view()), there(three)), (7, 2));
            array.view().word(2).store(2, Ordering::Relaxed);
        }
        assert!(array.heap_bytes() >= first + (5 + 8 + 16) * 8, "what was replaced is kept");
        let slabs = array.try_into_slabs(24).unwrap();
        assert_eq!(slabs.iter().map(|slab| slab.len()).collect::<Vec<_>>(), [8, 16]);
    }

    #[test]
    #[should_panic(expected = "view.len <= slab.len()")]
    fn an_array_does_not_become_shorter() {
        let array = array(8);
        array.lengthen(array.try_longer(7).unwrap());
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for words in [3, 8] {
            let refuses = |read: fn(Words<'_, SHIFT>, usize), at: usize| {
                std::panic::catch_unwind(|| read(array(words).view(), at)).is_err()
            };
            for index in [words, 15, 16, usize::MAX] {
                assert!(refuses(|view, at| _ = view.word(at), index));
                assert!(refuses(|view, at| _ = view.words([0, at]), index));
            }
        }
    }

    /// Two threads add pieces, to the same ends and to different ones, while two read all words that are
    /// there: no word moves, and none is lost when the directory is replaced.
    #[test]
    fn two_threads_read_while_two_add() {
        const WORDS: usize = if cfg!(miri) { 200 } else { 40_000 };
        let array = array(8);
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
