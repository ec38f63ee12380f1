//! A slice that is indexed by the lowest bits of a number.
#![allow(
    unsafe_code,
    reason = "a lookup has three instructions less, of some 60, and an insert five"
)]

use core::ops::Deref;

/// A slice whose length is a power of two.
pub(crate) struct PowerOfTwoSlice<T> {
    slice: Box<[T]>,
    /// One less than the length.
    mask: usize,
}

impl<T> PowerOfTwoSlice<T> {
    /// Takes a slice whose length is a power of two.
    ///
    /// # Panics
    ///
    /// If the length is not a power of two.
    pub(crate) fn new(slice: Box<[T]>) -> Self {
        assert!(slice.len().is_power_of_two());
        Self { mask: slice.len() - 1, slice }
    }

    /// Returns the index that the lowest bits of a number give.
    #[inline]
    pub(crate) fn index(&self, number: usize) -> usize {
        number & self.mask
    }

    /// Returns the element whose index the lowest bits of a number give.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> &T {
        // SAFETY: the slice has the length that it had in `new`, and the mask is one less than that.
        unsafe { self.slice.get_unchecked(self.index(number)) }
    }
}

impl<T> Deref for PowerOfTwoSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.slice
    }
}
