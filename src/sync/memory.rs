//! Allocations that may fail: an error instead of an abort.

use core::ops::Deref;

use crate::error::Error;

/// The allocator could not provide this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub(crate) bytes: usize,
}

impl From<NoMemory> for Error {
    fn from(NoMemory { bytes }: NoMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

/// Converts a number of words to `usize`. Returns an error if the words exceed what the address space can hold.
#[inline]
pub(crate) fn in_memory(words: u64) -> Result<usize, NoMemory> {
    const MOST: usize = isize::MAX as usize / size_of::<u64>();
    match usize::try_from(words) {
        Ok(words) if words <= MOST => Ok(words),
        Ok(words) => Err(NoMemory { bytes: words.saturating_mul(size_of::<u64>()) }),
        Err(_) => Err(NoMemory { bytes: usize::MAX }),
    }
}

/// A `Box` whose allocation may fail.
pub struct TryBox<T>(Box<[T; 1]>);

impl<T> TryBox<T> {
    pub(crate) fn try_new(value: T) -> Result<Self, NoMemory> {
        let mut one = Vec::new();
        try_push(&mut one, value)?;
        // The capacity is the length, so nothing is allocated again.
        let boxed = one.into_boxed_slice().try_into();
        Ok(Self(boxed.unwrap_or_else(|_| unreachable!("the slice has one value"))))
    }

    pub(crate) fn into_box(self) -> Box<[T; 1]> {
        self.0
    }
}

impl<T> Deref for TryBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        let [value] = &*self.0;
        value
    }
}

/// Creates an empty vector with capacity for exactly `len` elements.
pub(crate) fn try_with_capacity<T>(len: usize) -> Result<Vec<T>, NoMemory> {
    let mut vec = Vec::new();
    try_reserve(&mut vec, len)?;
    Ok(vec)
}

/// Reserves capacity for exactly `more` further elements.
pub(crate) fn try_reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    let bytes = vec.len().saturating_add(more).saturating_mul(size_of::<T>());
    vec.try_reserve_exact(more).map_err(|_| NoMemory { bytes })
}

/// Reserves capacity for one more element. If there is none, doubles the capacity.
pub(crate) fn try_reserve_one<T>(vec: &mut Vec<T>) -> Result<(), NoMemory> {
    if vec.len() < vec.capacity() {
        return Ok(());
    }
    let more = vec.len().max(1);
    try_reserve(vec, more)
}

/// Adds an element, and reserves capacity for it if necessary.
pub(crate) fn try_push<T>(vec: &mut Vec<T>, value: T) -> Result<(), NoMemory> {
    try_reserve_one(vec)?;
    vec.push(value);
    Ok(())
}
