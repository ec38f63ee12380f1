//! An allocator that counts for each thread, and refuses requests if told to. It calls that of the system.

#![expect(unsafe_code, reason = "a global allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

/// The allocator of the system, with an account for each thread, since tests run at the same time.
struct Counting;

thread_local! {
    /// Bytes that this thread has allocated, minus those that it has freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The maximum of `LIVE` so far.
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Requests for more bytes than this fail.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The number of requests that are granted before one fails; `None` if none is to fail.
    static GRANTED: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether all requests after that one fail, too.
    static FOR_GOOD: Cell<bool> = const { Cell::new(false) };
    /// The number of requests that have failed.
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether this request fails.
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
/// The allocator of the system does all work, with the arguments of the caller; or null is returned, which says that
/// there is no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        if refuses(memory.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller promises what `System` needs.
        count(unsafe { System.alloc(memory) }, memory.size().cast_signed())
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        if refuses(memory.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller promises what `System` needs.
        count(unsafe { System.alloc_zeroed(memory) }, memory.size().cast_signed())
    }

    unsafe fn realloc(&self, block: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        if refuses(size) {
            return std::ptr::null_mut();
        }
        let change = size.cast_signed() - memory.size().cast_signed();
        // SAFETY: the caller promises what `System` needs.
        count(unsafe { System.realloc(block, memory, size) }, change)
    }

    unsafe fn dealloc(&self, block: *mut u8, memory: Memory) {
        LIVE.set(LIVE.get() - memory.size().cast_signed());
        // SAFETY: the caller promises what `System` needs.
        unsafe { System.dealloc(block, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocates what the first random number of all tests needs, so that no test counts it, whichever runs first.
fn begin_random_numbers() {
    coucal_reference::seed(0);
}

/// Returns the bytes that this thread has allocated, minus those that it has freed.
pub fn live_bytes() -> isize {
    begin_random_numbers();
    LIVE.get()
}

/// Returns the result of `make`, and the bytes that it keeps on the heap.
pub fn counted<T>(make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
    let before = LIVE.get();
    let made = make();
    let kept = LIVE.get() - before;
    (made, usize::try_from(kept).expect("nothing of before is freed"))
}

/// Returns the result of `make`, and the maximum number of bytes on the heap meanwhile.
pub fn peak_of<T>(make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
    let before = LIVE.get();
    PEAK.set(before);
    let made = make();
    (made, (PEAK.get() - before).cast_unsigned())
}

/// Calls `make` with an allocator that refuses requests for more than `most` bytes.
pub fn with_little_memory<T>(most: usize, make: impl FnOnce() -> T) -> T {
    MOST.set(most);
    let made = make();
    MOST.set(usize::MAX);
    made
}

/// Calls `make` with an allocator that grants `granted` requests and then refuses one, or all later ones. Also returns
/// the number of refused requests.
pub fn with_requests<T>(granted: usize, for_good: bool, make: impl FnOnce() -> T) -> (T, usize) {
    begin_random_numbers();
    FOR_GOOD.set(for_good);
    REFUSED.set(0);
    GRANTED.set(Some(granted));
    let made = make();
    GRANTED.set(None);
    (made, REFUSED.get())
}
