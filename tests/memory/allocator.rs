//! The allocator of the system, which counts for each thread, and refuses requests if told to.

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
    /// Requests that are granted before one fails; `None` if none is to fail.
    static GRANTED: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether all requests after that one fail, too.
    static FOR_GOOD: Cell<bool> = const { Cell::new(false) };
    /// Requests that have failed.
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

/// Whether this request fails.
fn refuses(bytes: usize) -> bool {
    let its_turn = match GRANTED.get() {
        None => false,
        Some(0) => {
            GRANTED.set(FOR_GOOD.get().then_some(0));
            true
        }
        Some(more) => {
            GRANTED.set(Some(more - 1));
            false
        }
    };
    let refused = its_turn || bytes > MOST.get();
    REFUSED.set(REFUSED.get() + usize::from(refused));
    refused
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
        if refuses(memory.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc(memory) }, memory.size().cast_signed())
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        if refuses(memory.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        count(unsafe { System.alloc_zeroed(memory) }, memory.size().cast_signed())
    }

    unsafe fn realloc(&self, block: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        if refuses(size) {
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

/// What the first random number of all tests allocates is no part of what is counted, whichever test is the first.
fn begin_random_numbers() {
    coucal_reference::seed(0);
}

/// Bytes that this thread has allocated, less those that it has freed.
pub fn live_bytes() -> isize {
    begin_random_numbers();
    LIVE.get()
}

/// What is made, and the bytes that it keeps on the heap.
pub fn counted<T>(make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
    let before = LIVE.get();
    let made = make();
    let kept = LIVE.get() - before;
    (made, usize::try_from(kept).expect("nothing of before is freed"))
}

/// What is made, and the most bytes on the heap that it took meanwhile.
pub fn peak_of<T>(make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
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

/// `make` with an allocator that grants this number of requests and then refuses one, or each one from then
/// on; and how many it has refused.
pub fn with_requests<T>(granted: usize, for_good: bool, make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
    FOR_GOOD.set(for_good);
    REFUSED.set(0);
    GRANTED.set(Some(granted));
    let made = make();
    GRANTED.set(None);
    (made, REFUSED.get())
}
