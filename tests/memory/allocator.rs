//! The allocator of the system, which counts for each thread, and refuses large requests if told to.

#![expect(unsafe_code, reason = "a global allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

/// The allocator of the system, with an account for each thread: the tests run beside each other.
struct Counting;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The most that they ever were.
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Requests for more bytes than this fail.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts what an allocation has changed, unless it failed.
fn count(block: *mut u8, bytes: isize) -> *mut u8 {
    if !block.is_null() {
        LIVE.set(LIVE.get() + bytes);
        PEAK.set(PEAK.get().max(LIVE.get()));
    }
    block
}

/// # Safety
///
/// All work is the system's allocator's, which is given what came in; or null is returned, which
/// says that there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        if memory.size() > MOST.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc(memory) }, memory.size().cast_signed())
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        if memory.size() > MOST.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc_zeroed(memory) }, memory.size().cast_signed())
    }

    unsafe fn realloc(&self, block: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        if size > MOST.get() {
            return std::ptr::null_mut();
        }
        let change = size.cast_signed() - memory.size().cast_signed();
        // SAFETY: the caller's promise.
        count(unsafe { System.realloc(block, memory, size) }, change)
    }

    unsafe fn dealloc(&self, block: *mut u8, memory: Memory) {
        LIVE.set(LIVE.get() - memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that this thread has allocated, less those that it has freed.
pub fn live_bytes() -> isize {
    LIVE.get()
}

/// What is made, and the bytes that it keeps on the heap.
pub fn counted<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    let made = make();
    let kept = LIVE.get() - before;
    (made, usize::try_from(kept).expect("nothing of before is freed"))
}

/// What is made, and the most bytes on the heap that it took meanwhile.
pub fn peak_of<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let made = make();
    (made, (PEAK.get() - before).cast_unsigned())
}

/// `make` with an allocator that has no more than `most` bytes for a request.
pub fn with_little_memory<T>(most: usize, make: impl FnOnce() -> T) -> T {
    MOST.set(most);
    let made = make();
    MOST.set(usize::MAX);
    made
}
