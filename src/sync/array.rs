//! An array of words that grows while other threads read it.
//!
//! **Invariant:** a reader that has seen the number of words finds each of them, in a directory that is as new as that
//! number or newer. Words never move, with one exception: those of a *short* array, which is shorter than a piece, are
//! [copied](PieceArray::lengthen) into a longer one, while no thread stores any.
//!
//! The array is allocated in *slabs*. Each slab is one or more *pieces*. All pieces have the same length, so a word `n`
//! is found in one step:
//!
//! ```text
//! piece  = n >> shift
//! offset = n mod 2^shift
//! ```
//!
//! A *directory* has the places of the pieces. When it is full, another one of twice the length replaces it. A reader
//! may still use an old directory, which has all words that were there when it was replaced. So old directories are
//! kept until the array is dropped; together they take no more memory than the newest one. (`arc-swap` would not keep
//! old directories. But each of its loads writes to a slot of the thread and clears it afterwards, while a lookup here
//! stores nothing.)
//!
//! A reader loads the number of words first, and then the newest directory. A writer stores them in the opposite order.
//! So the directory that a reader loads has a place for each piece of these words, whatever happens in between.
//!
//! In safe code (a `Box` in a `OnceLock` for each piece), a place would take 24 bytes instead of 8, and an access would
//! make three tests instead of one.
#![allow(
    unsafe_code,
    reason = "places take a third of the memory, and an access makes one test in place of three"
)]

use core::marker::PhantomData;
use core::ptr;

use super::{AtomicPtr, AtomicU64, AtomicUsize, Mutex, Ordering, UnsafeCell, try_zeroed};
use crate::sync::memory::{NoMemory, try_reserve_one, try_with_capacity};

/// The words of one allocation.
type Slab = Box<[AtomicU64]>;

/// The place of a piece: the address that word 0 would have if all words lay in one block around this piece. So word
/// `n` is at this address plus `n` words, and all pieces of a slab have the same address. Null until the piece exists.
type WordPtr = UnsafeCell<*mut AtomicU64>;

/// An array of words in pieces of 2^`SHIFT` words each. The only piece of a *short* array has fewer words.
///
/// The unsafe code relies on four facts:
/// * Each directory that `newest` has held since `len` covered a word is a box of places. The place of the word's piece
///   is the address that word 0 would have if all words lay in one block around the slab with this piece.
/// * The array owns these boxes, and those of the slabs.
/// * While the array is shared, these places do not change.
/// * Only the thread that holds the lock `owned` writes, and only to places that `len` does not cover yet.
pub struct PieceArray<const SHIFT: u32> {
    /// The number of words.
    len: AtomicUsize,
    /// The first place of the newest directory.
    newest: AtomicPtr<WordPtr>,
    /// The allocations. A thread that adds pieces holds this lock.
    owned: Mutex<Allocations>,
    /// The number of allocated bytes besides the words.
    bytes: AtomicUsize,
    /// The number of words for which a test lets the array have memory.
    #[cfg(test)]
    pub(crate) memory: usize,
}

/// Allocates `words` zeros.
fn try_slab(words: usize) -> Result<Slab, NoMemory> {
    let bytes = words.saturating_mul(size_of::<AtomicU64>());
    try_zeroed(words).ok_or(NoMemory { bytes })
}

/// The allocations that are freed with the array.
#[derive(Default)]
struct Allocations {
    /// All slabs: first those that were replaced, then the others in the order of their words.
    slabs: Vec<*mut [AtomicU64]>,
    /// The number of slabs that were replaced.
    replaced: usize,
    /// All directories, the newest one last.
    directories: Vec<*mut [WordPtr]>,
}

impl Allocations {
    /// Returns the number of allocated bytes besides the words that are read.
    fn bytes(&self) -> usize {
        let places: usize = self.directories.iter().map(|places| places.len()).sum();
        let replaced: usize = self.slabs[..self.replaced].iter().map(|slab| slab.len()).sum();
        places * size_of::<WordPtr>()
            + replaced * size_of::<AtomicU64>()
            + self.slabs.capacity() * size_of::<*mut [AtomicU64]>()
            + self.directories.capacity() * size_of::<*mut [WordPtr]>()
    }
}

/// A slab that replaces all others, and its directory.
pub(crate) struct Longer {
    slab: Slab,
    directory: Box<[WordPtr]>,
}

// SAFETY: the array owns everything that the pointers lead to, and writes to it only as its documentation says.
unsafe impl<const SHIFT: u32> Send for PieceArray<SHIFT> {}
// SAFETY: the same.
unsafe impl<const SHIFT: u32> Sync for PieceArray<SHIFT> {}

/// The words of an array at one instant.
#[derive(Clone, Copy)]
pub struct Words<'a, const SHIFT: u32> {
    places: *const WordPtr,
    len: usize,
    array: PhantomData<&'a PieceArray<SHIFT>>,
}

impl<const SHIFT: u32> PieceArray<SHIFT> {
    /// Creates an array without words.
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

    /// Returns the words of the array at this instant.
    #[must_use]
    #[inline]
    pub fn view(&self) -> Words<'_, SHIFT> {
        // Acquire: pairs with the Release in `try_add`. A thread that sees the number of words sees the pointers to
        // them, and their directory or a newer one.
        let len = self.len.load(Ordering::Acquire);
        // SeqCst: pairs with the store in `lengthen`. A thread that begins after a store into the longer array reads
        // the longer array. As an Acquire load it pairs with the Release in `try_add_directory`: the directory may be
        // newer than `len`, which may not cover it yet.
        let places = self.newest.load(Ordering::SeqCst);
        Words { places, len, array: PhantomData }
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.view().len()
    }

    /// Returns whether the array is shorter than a piece. Then it grows only if a longer slab replaces its words.
    pub(crate) fn is_short(&self) -> bool {
        self.len() < Self::PIECE_LEN
    }

    /// The number of words in a piece.
    pub(crate) const PIECE_LEN: usize = 1 << SHIFT;

    /// Returns the number of pieces that hold the first `words` words.
    fn pieces_of(words: usize) -> usize {
        words.div_ceil(Self::PIECE_LEN)
    }

    /// Returns the number of words of the shortest array that has at least `words` words.
    pub(crate) fn len_for(words: u64) -> u64 {
        let piece = Self::PIECE_LEN as u64;
        if words < piece { words } else { words.next_multiple_of(piece) }
    }

    /// Adds zeros until there are at least `words` words: all that are missing, in one slab. Blocks while another
    /// thread adds some.
    ///
    /// # Errors
    ///
    /// If the allocator has no memory for them; then nothing is added.
    ///
    /// # Panics
    ///
    /// If words are missing, and those of the array are not whole pieces.
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

    /// Calls `slab` with the number of words, and adds the slab that it returns, if any.
    pub(crate) fn add(
        &self,
        slab: impl FnOnce(usize) -> Option<Result<Slab, NoMemory>>,
    ) -> Result<(), NoMemory> {
        let mut owned = self.owned.lock();
        // Relaxed: every store happens under the mutex, which this thread holds.
        let len = self.len.load(Ordering::Relaxed);
        let added = slab(len).map_or(Ok(()), |slab| self.try_add(&mut owned, len, slab?));
        // Relaxed: a number that orders nothing.
        self.bytes.store(owned.bytes(), Ordering::Relaxed);
        added
    }

    /// Adds a slab to the `len` words of the array, which are whole pieces.
    fn try_add(&self, owned: &mut Allocations, len: usize, slab: Slab) -> Result<(), NoMemory> {
        assert!(len % Self::PIECE_LEN == 0);
        let longer = len + slab.len();
        let places = Self::pieces_of(longer);
        try_reserve_one(&mut owned.slabs)?;
        if owned.directories.last().is_none_or(|newest| places > newest.len()) {
            self.try_add_directory(&mut owned.directories, places)?;
        }
        let slab = Box::into_raw(slab);
        owned.slabs.push(slab);
        // Relaxed: every store happens under the mutex, which this thread holds.
        let newest = self.newest.load(Ordering::Relaxed);
        for piece in Self::pieces_of(len)..places {
            // SAFETY: the directory has this place, which `len` does not cover yet.
            let place = unsafe { &*newest.add(piece) };
            // SAFETY: this thread holds the mutex, and no reader knows of this place yet.
            place.with_mut(|place| unsafe {
                *place = slab.cast::<AtomicU64>().wrapping_sub(len);
            });
        }
        // Release: pairs with the load in `view`.
        self.len.store(longer, Ordering::Release);
        Ok(())
    }

    /// Replaces the directory, which is too short, by one of at least `places` places.
    fn try_add_directory(
        &self,
        directories: &mut Vec<*mut [WordPtr]>,
        places: usize,
    ) -> Result<(), NoMemory> {
        let view = self.view();
        let double = directories.last().map_or(0, |newest| 2 * newest.len());
        let mut directory = try_with_capacity(places.max(double))?;
        // SAFETY: these pieces exist.
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

    /// Allocates a slab of at least `words` words, to replace all others, and its directory.
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

    /// Copies all words into `longer`, which replaces them; zeros follow the copies. No thread may store a word
    /// meanwhile. Readers may still use the old words, which are kept.
    ///
    /// # Panics
    ///
    /// If the array has more words than `longer`.
    pub(crate) fn lengthen(&self, longer: Longer) {
        let Longer { slab, mut directory } = longer;
        let mut owned = self.owned.lock();
        let view = self.view();
        assert!(view.len <= slab.len());
        for (at, new) in slab[..view.len].iter().enumerate() {
            // Relaxed, both: the caller has synchronized with all writers, and the copies are published below.
            new.store(view.word(at).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let len = slab.len();
        owned.replaced = owned.slabs.len();
        // `try_longer` has reserved memory in both lists.
        let slab = Box::into_raw(slab);
        owned.slabs.push(slab);
        directory.fill_with(|| WordPtr::new(slab.cast()));
        let directory = Box::into_raw(directory);
        owned.directories.push(directory);
        // SeqCst: pairs with the load in `view`. That load comes after this store, or before all that is stored in the
        // copies.
        self.newest.store(directory.cast(), Ordering::SeqCst);
        // Release: pairs with the load in `view`.
        self.len.store(len, Ordering::Release);
        // Relaxed: a number that orders nothing.
        self.bytes.store(owned.bytes(), Ordering::Relaxed);
    }

    /// Returns the slabs that hold the first `words` words, which must be there.
    pub(crate) fn try_into_slabs(self, words: usize) -> Result<Vec<Slab>, NoMemory> {
        let mut owned = self.owned.lock();
        let mut slabs = try_with_capacity(owned.slabs.len())?;
        let (replaced, mut held) = (owned.replaced, 0);
        for (at, slab) in owned.slabs.drain(..).enumerate() {
            // SAFETY: it comes from a box, and no other thread has the array, which this function consumes.
            let slab = unsafe { Box::from_raw(slab) };
            if at >= replaced && held < words {
                held += slab.len();
                slabs.push(slab);
            }
        }
        Ok(slabs)
    }

    /// Returns the maximum number of bytes that are allocated besides `words` words in `slabs` slabs.
    pub(crate) fn bytes_beside(words: u64, slabs: u64) -> u64 {
        let places = words.div_ceil(Self::PIECE_LEN as u64) * size_of::<WordPtr>() as u64;
        let of_lists = slabs * (size_of::<*mut [AtomicU64]>() + size_of::<*mut [WordPtr]>()) as u64;
        // A directory has up to twice as many places as pieces, and all directories before it have together as many
        // again. A list has capacity for up to twice its length.
        4 * places + 2 * of_lists
    }

    /// Returns the number of allocated bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        // Relaxed: a number that orders nothing.
        self.bytes.load(Ordering::Relaxed) + self.len() * size_of::<AtomicU64>()
    }
}

impl<const SHIFT: u32> Drop for PieceArray<SHIFT> {
    fn drop(&mut self) {
        let mut owned = self.owned.lock();
        for slab in owned.slabs.drain(..) {
            // SAFETY: it comes from a box, and no other thread has the array.
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
    /// Returns the number of words.
    #[must_use]
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns the address from which the words of a piece are counted.
    ///
    /// # Safety
    ///
    /// The piece must exist.
    #[inline]
    unsafe fn start(self, piece: usize) -> *mut AtomicU64 {
        // SAFETY: the directory has a place for each piece that exists, and this place does not change.
        unsafe { (*self.places.add(piece)).with(|words| *words) }
    }

    /// Returns the word `index`.
    ///
    /// # Panics
    ///
    /// If there is no such word.
    #[must_use]
    #[inline]
    pub fn word(self, index: usize) -> &'a AtomicU64 {
        self.get(index).unwrap_or_else(|| missing())
    }

    /// Returns the word `index`, or `None` if there is no such word.
    #[inline]
    pub(crate) fn get(self, index: usize) -> Option<&'a AtomicU64> {
        // SAFETY: the word exists, in this piece, and lives as long as the array.
        (index < self.len).then(|| unsafe { &*self.start(index >> SHIFT).wrapping_add(index) })
    }

    /// Returns several words.
    ///
    /// # Panics
    ///
    /// If one of them does not exist.
    #[inline]
    pub(crate) fn words<const N: usize>(self, indices: [usize; N]) -> [&'a AtomicU64; N] {
        if indices.iter().any(|&index| index >= self.len) {
            missing();
        }
        // SAFETY: as in `word`.
        indices.map(|index| unsafe { &*self.start(index >> SHIFT).wrapping_add(index) })
    }
}

/// Panics. Outlined and shared by all checks, so that the checks of two words take one branch each.
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

    /// A short array has as many words as it needs. When it grows, its words are copied, and threads that read the old
    /// words can continue.
    #[test]
    fn a_short_array_is_replaced() {
        let array = array(3);
        let three = array.view();
        store_numbers(&array, 0..3);
        let first = array.heap_bytes();
        for (words, len) in [(5, 5), (8, 8), (20, 24)] {
            // The last array of this test is a whole piece already, and not short.
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
    fn a_word_that_is_not_there_is_refused() {
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

    /// Two threads add pieces, up to the same lengths and to different ones, while two other threads read all words: no
    /// word moves, and none is lost when the directory is replaced.
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
