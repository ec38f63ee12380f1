//! The lock of a stripe: taken by one compare-and-swap, given back by one plain store.
//!
//! A stripe is held for some tens of nanoseconds, of which the locked instructions of the processor
//! are the greater part. A mutex that wakes its waiters needs a second one when it is unlocked, to
//! see whether there are any. Here waiters look for themselves: they spin, then yield, then sleep
//! for a little while again and again, so that a holder who was preempted gets to run whatever its
//! priority. In cache that halves the time of an insert.

use crate::sync::{AtomicBool, Backoff, Ordering};

/// What one thread holds at a time.
pub struct Lock {
    held: AtomicBool,
}

/// The right of one thread, until it is dropped.
pub struct Guard<'a> {
    lock: &'a Lock,
}

impl Lock {
    /// Nobody holds it.
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub fn new() -> Self {
        Self { held: AtomicBool::new(false) }
    }

    /// Waits while another thread holds the lock.
    #[must_use]
    #[inline]
    pub fn lock(&self) -> Guard<'_> {
        if !self.try_take() {
            self.wait();
        }
        Guard { lock: self }
    }

    #[inline]
    fn try_take(&self) -> bool {
        // Acquire: pairs with the Release in `drop`. Whoever takes the lock sees all that was
        // written by those who held it before.
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let backoff = Backoff::new();
        loop {
            backoff.rest();
            // Relaxed: a hint, so that waiters share the line instead of tearing at it.
            if !self.held.load(Ordering::Relaxed) && self.try_take() {
                return;
            }
        }
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `try_take`.
        self.lock.held.store(false, Ordering::Release);
    }
}
