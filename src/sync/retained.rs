//! A value that is replaced while other threads read it. All replaced values are kept until the end, since a reader may
//! still use one.
#![allow(
    unsafe_code,
    reason = "a load for each access, where `OnceLock` and `arc-swap` take several steps"
)]

use core::{iter, ptr};

use super::{AtomicPtr, Ordering};
use crate::sync::memory::{NoMemory, TryBox};

/// A value, and the value that it has replaced. No thread writes to it while it is shared.
pub(crate) struct Link<T> {
    pub(crate) value: T,
    older: *mut Link<T>,
}

impl<T> Link<T> {
    /// Allocates a value that is going to replace another one.
    pub(crate) fn try_new(value: T) -> Result<TryBox<Self>, NoMemory> {
        TryBox::try_new(Self { value, older: ptr::null_mut() })
    }
}

/// A value that can be replaced.
///
/// The unsafe code relies on this: `newest` and each `older` point to a box that nothing else owns. At the end of the
/// list, `older` is null.
pub(crate) struct Retained<T> {
    newest: AtomicPtr<Link<T>>,
}

// SAFETY: it owns the values, gives references to them to all threads, and drops them when it is dropped.
unsafe impl<T: Send + Sync> Send for Retained<T> {}
// SAFETY: the same.
unsafe impl<T: Send + Sync> Sync for Retained<T> {}

impl<T> Retained<T> {
    /// The number of bytes per value, without the memory that the value has allocated.
    pub(crate) const LINK_BYTES: usize = size_of::<Link<T>>();

    pub(crate) fn new(first: TryBox<Link<T>>) -> Self {
        Self { newest: AtomicPtr::new(Box::into_raw(first.into_box()).cast()) }
    }

    #[inline]
    fn newest(&self) -> &Link<T> {
        // Acquire: pairs with the Release in `replace`.
        let newest = self.newest.load(Ordering::Acquire);
        // SAFETY: the value is kept as long as `self`, and no thread writes to it.
        unsafe { &*newest }
    }

    /// Returns the newest value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        &self.newest().value
    }

    /// Replaces the newest value. Only one thread may call this at a time: otherwise one of two values would be lost,
    /// and never dropped.
    pub(crate) fn replace(&self, next: TryBox<Link<T>>) {
        let mut next = next.into_box();
        // Relaxed: the pointer was stored by this thread, or by one with which it has synchronized.
        next[0].older = self.newest.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `newest`.
        self.newest.store(Box::into_raw(next).cast(), Ordering::Release);
    }

    /// Returns the number of allocated bytes, if each value has allocated as many as `of` returns.
    pub(crate) fn heap_bytes(&self, of: impl Fn(&T) -> usize) -> usize {
        // SAFETY: as in `newest`.
        let older = |node: &&Link<T>| unsafe { node.older.as_ref() };
        let nodes = iter::successors(Some(self.newest()), older);
        nodes.map(|node| size_of_val(node) + of(&node.value)).sum()
    }
}

impl<T> Drop for Retained<T> {
    fn drop(&mut self) {
        // Relaxed: no other thread has it.
        let mut next = self.newest.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: it comes from a box of this type, which nothing else owns.
            let [node] = *unsafe { Box::from_raw(next.cast::<[Link<T>; 1]>()) };
            next = node.older;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn replaced_values_stay_until_the_end() {
        let values: Vec<Arc<u32>> = (0..4).map(Arc::new).collect();
        let next = |at: usize| Link::try_new(Arc::clone(&values[at])).unwrap();
        let kept = Retained::new(next(0));
        let mut seen = vec![kept.get()];
        for at in 1..4 {
            kept.replace(next(at));
            seen.push(kept.get());
        }
        assert_eq!(seen, values.iter().collect::<Vec<_>>());
        assert_eq!(kept.heap_bytes(|_| 100), 4 * (100 + Retained::<Arc<u32>>::LINK_BYTES));
        drop(kept);
        assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
    }
}
