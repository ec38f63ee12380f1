//! A snapshot that promises more than it has costs no memory: by an allocator that counts.

#![expect(unsafe_code, reason = "a global allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::io::{self, Read};

use coucal::{
    AnyLayout, CuckooFilter, Growable, RestoreError, Snapshot, StableHashBuilder, Storage,
};

/// The allocator of the system, with an account for each thread.
struct Counting;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The most that it ever had.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

/// # Safety
///
/// All work is the system's allocator's, which is given what came in.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count(memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(memory) }
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        count(memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(memory) }
    }

    unsafe fn realloc(&self, block: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        count(size.cast_signed() - memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, memory, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, memory: Memory) {
        count(-memory.size().cast_signed());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is made, and the most memory that it took meanwhile.
fn peak_of<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let made = make();
    (made, (PEAK.get() - before).cast_unsigned())
}

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

/// What is asked for before it is read, and some bytes for what is not said to be exact.
const BUFFER: usize = (16 << 10) + 256;

/// Where the fields of a header begin, as docs/format.md has it.
const ROWS: usize = 16;
const GREATEST: usize = 40;
const WORDS: usize = 48;
const CHECKSUM: usize = 88;

/// The header of an empty filter, with other numbers in it and the checksum that it has then.
fn header<L: Storage>(
    filter: &CuckooFilter<L, StableHashBuilder>,
    sizes: &[(usize, u64)],
) -> Vec<u8> {
    let mut bytes = filter.snapshot().unwrap().to_bytes();
    for &(at, size) in sizes {
        bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
    }
    let checksum = StableHashBuilder::new(0).hash_bytes(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..CHECKSUM + 8].copy_from_slice(&checksum.to_le_bytes());
    bytes.truncate(CHECKSUM + 8);
    bytes
}

/// A header that promises terabytes, and then so many bytes.
#[test]
fn memory_follows_what_is_read() {
    let filter = CuckooFilter::with_capacity_and_hasher(0, HASHER);
    let words = 1 << 41;
    let header =
        header::<coucal::Fp16x4>(&filter, &[(ROWS, words), (GREATEST, words), (WORDS, words)]);
    for more in
        [0, 1, 8, 1000, 16_383, 16_384, 16_385, 65_536, 131_072, 1_000_000, 10_000_000, 40_000_001]
    {
        let restore = || {
            let reader = (&header[..]).chain(io::repeat(0).take(more));
            CuckooFilter::<AnyLayout, _>::restore(reader, HASHER).map(drop)
        };
        let (restored, peak) = peak_of(restore);
        assert!(matches!(restored, Err(RestoreError::Truncated)), "{restored:?}");
        let read = header.len() + more as usize;
        assert!(peak <= 2 * read + BUFFER, "{peak} bytes for {read} that were read");
        if more > 1_000_000 {
            assert!(peak > read / 2, "{peak} bytes: nothing is counted");
        }
    }
}

/// A valid word and then one that is not: nothing is kept from there on.
#[test]
fn what_cannot_be_used_is_not_kept() {
    let filter = CuckooFilter::with_capacity_and_hasher(0, HASHER);
    let words = 1 << 41;
    let header =
        header::<coucal::Fp16x4>(&filter, &[(ROWS, words), (GREATEST, words), (WORDS, words)]);
    let restore = || {
        // The highest lane is in use, and no other.
        let reader = (&header[..]).chain(&[0, 0, 0, 0, 0, 0, 0, 1][..]);
        let reader = reader.chain(io::repeat(0).take(40_000_000));
        CuckooFilter::<AnyLayout, _>::restore(reader, HASHER).map(drop)
    };
    let (restored, peak) = peak_of(restore);
    assert!(matches!(restored, Err(RestoreError::Truncated)), "{restored:?}");
    assert!(peak <= 2 * BUFFER, "{peak} bytes");
}

/// Sizes that are those of no table cost nothing at all, and neither does what a table may grow to.
#[test]
fn no_memory_for_promises() {
    let filter = CuckooFilter::with_capacity_and_hasher(0, HASHER);
    let words = 1 << 60;
    let impossible =
        header::<coucal::Fp16x4>(&filter, &[(ROWS, words), (GREATEST, words), (WORDS, words)]);
    let restore = || CuckooFilter::<AnyLayout, _>::from_bytes(&impossible, HASHER).map(drop);
    let (restored, peak) = peak_of(restore);
    assert!(
        matches!(restored, Err(RestoreError::ImpossibleTable { words: 0x1000_0000_0000_0000 })),
        "{restored:?}"
    );
    assert!(peak <= 512, "{peak} bytes, for the state of checksums");

    // It may grow to 16 GiB; but the words that it has now do not come.
    let builder = CuckooFilter::builder().layout::<coucal::Fp32x2>().hasher(HASHER);
    let filter = builder.max_capacity(10).build().unwrap();
    let greatest = 32 << 26;
    let grows = header::<Growable<coucal::Fp32x2>>(&filter, &[(GREATEST, greatest)]);
    for bytes in [grows.clone(), [&grows[..], &[0; 32 * 8]].concat()] {
        let restore =
            || CuckooFilter::<Growable<AnyLayout>, _>::from_bytes(&bytes, HASHER).map(drop);
        let (restored, peak) = peak_of(restore);
        assert!(matches!(restored, Err(RestoreError::Truncated)), "{restored:?}");
        assert!(peak <= 4096, "{peak} bytes");
    }
    // A snapshot by itself needs no more than its words.
    let whole = [&grows[..], &[0; 32 * 8]].concat();
    let checksum = StableHashBuilder::new(0).hash_bytes(&whole);
    let whole = [&whole[..], &checksum.to_le_bytes()].concat();
    let (snapshot, peak) = peak_of(|| Snapshot::from_bytes(&whole).unwrap());
    assert!(snapshot.is_empty());
    assert!(peak <= 4096, "{peak} bytes");
}
