//! The WebAssembly module of the page: a view of a filter, and the hash of its keys.
//!
//! The page writes to the input, and then calls the function that reads it. A file consists of the seed of a
//! `StableHashBuilder`, a snapshot, and a checksum of both.

#![expect(unsafe_code, reason = "the page calls these functions by their names")]

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use coucal::{CuckooFilterView, StableHashBuilder};

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static VIEW: Mutex<Option<CuckooFilterView<Vec<u8>>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the address at which the page writes `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: usize) -> *mut u8 {
    let mut input = lock(&INPUT);
    *input = vec![0; len];
    input.as_mut_ptr()
}

/// Opens the file in the input. Returns whether it is complete, and the file of a filter.
#[unsafe(no_mangle)]
pub extern "C" fn open_filter() -> bool {
    let view = view_of(&lock(&INPUT));
    let is_open = view.is_some();
    *lock(&VIEW) = view;
    is_open
}

fn view_of(file: &[u8]) -> Option<CuckooFilterView<Vec<u8>>> {
    let (seed, _) = file.split_first_chunk()?;
    let (file, checksum) = file.split_last_chunk()?;
    let hasher = StableHashBuilder::new(u64::from_le_bytes(*seed));
    let is_whole = hasher.hash_one(file) == u64::from_le_bytes(*checksum);
    // Trusted: the checksum of all of it was checked just now.
    let view = || CuckooFilterView::from_trusted_bytes(file.get(8..)?.to_vec(), hasher).ok();
    is_whole.then(view)?
}

/// Returns whether the filter has the text in the input; `false` without a filter.
#[unsafe(no_mangle)]
pub extern "C" fn has_text() -> bool {
    let input = lock(&INPUT);
    ask(|view| str::from_utf8(&input).is_ok_and(|text| view.contains(text))).unwrap_or(false)
}

/// Returns whether the filter has the number; `false` without a filter.
#[unsafe(no_mangle)]
pub extern "C" fn has_number(number: u64) -> bool {
    ask(|view| view.contains(&number)).unwrap_or(false)
}

/// Returns the number of items; 0 without a filter.
#[unsafe(no_mangle)]
pub extern "C" fn items() -> usize {
    ask(CuckooFilterView::len).unwrap_or(0)
}

/// Returns the share of absent keys that are found; 0 without a filter.
#[unsafe(no_mangle)]
pub extern "C" fn rate() -> f64 {
    ask(CuckooFilterView::false_positive_rate).unwrap_or(0.0)
}

fn ask<T>(what: impl FnOnce(&CuckooFilterView<Vec<u8>>) -> T) -> Option<T> {
    lock(&VIEW).as_ref().map(what)
}
