//! The lock of a stripe: taken by one compare-and-swap, released by one plain store.
//!
//! A stripe is held for some tens of nanoseconds, of which the locked instructions of the processor
//! are the greater part. A mutex that wakes its waiters needs a second one when it is unlocked, to
//! see whether there are any. Here waiters look for themselves: they spin, then yield, then sleep
//! for a short while again and again, so that a holder who was preempted gets to run whatever its
//! priority. In cache that halves the time of an insert.
//!
//! | `held` | meaning |
//! |---|---|
//! | `false` | free |
//! | `true` | one thread holds it; others may be waiting |

#[cfg(loom)]
use super::loom::{AtomicBool, Backoff, Ordering};
#[cfg(not(loom))]
use super::machine::{AtomicBool, Backoff, Ordering};

/// A lock that one thread holds at a time. It is not fair: a waiter may be overtaken.
pub struct Lock {
    held: AtomicBool,
}

/// RAII guard: unlocks on drop.
pub struct Guard<'a> {
    lock: &'a Lock,
}

impl Lock {
    /// An unlocked lock.
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub fn new() -> Self {
        Self { held: AtomicBool::new(false) }
    }

    /// Waits while another thread holds the lock.
    #[must_use]
    #[inline]
    pub fn lock(&self) -> Guard<'_> {
        if !self.try_acquire() {
            self.lock_slow();
        }
        Guard { lock: self }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        // Acquire: pairs with the Release in `drop`. Whoever takes the lock sees all that was
        // written by those who held it before.
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self) {
        let backoff = Backoff::new();
        loop {
            backoff.sleep();
            // Relaxed: a hint, so that waiters share the cache line instead of taking it from each
            // other.
            if !self.held.load(Ordering::Relaxed) && self.try_acquire() {
                return;
            }
        }
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `try_acquire`.
        self.lock.held.store(false, Ordering::Release);
    }
}
