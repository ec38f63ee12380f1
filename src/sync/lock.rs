//! The lock of a stripe: taken by one compare-and-swap, released by one plain store.
//!
//! A stripe is held for some tens of nanoseconds, of which the locked instructions of the processor
//! are the greater part. A mutex that wakes its waiters needs a second one when it is unlocked, to
//! see whether there are any. Here waiters look for themselves: they spin, then yield, then sleep
//! again and again, for up to 0.8 ms each time, so that a holder who was preempted gets to run
//! whatever its priority.
//!
//! | `held` | meaning |
//! |---|---|
//! | `false` | free |
//! | `true` | one thread holds it; others may be waiting |

#![cfg_attr(coucal_model, allow(dead_code, reason = "only models of the lock itself use it"))]

use core::mem;

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

/// RAII guard: unlocks every lock of the slice on drop.
pub(crate) struct Guards<'a, T: AsRef<Lock>> {
    locks: &'a [T],
}

impl<'a, T: AsRef<Lock>> Guards<'a, T> {
    /// Locks one after the other, in the order of the slice. Allocates nothing.
    pub(crate) fn lock(locks: &'a [T]) -> Self {
        for lock in locks {
            mem::forget(lock.as_ref().lock());
        }
        Self { locks }
    }
}

impl<T: AsRef<Lock>> Drop for Guards<'_, T> {
    fn drop(&mut self) {
        for lock in self.locks {
            drop(Guard { lock: lock.as_ref() });
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};
    use std::{fs, thread};

    /// A waiter that only spins or yields is never seen asleep, however busy the machine is.
    #[test]
    fn a_waiter_sleeps() {
        let lock = &Lock::new();
        let guard = lock.lock();
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            scope.spawn(move || {
                // A link to "PID/task/TID".
                let path = fs::read_link("/proc/thread-self").expect("procfs");
                send.send(path).expect("the receiver waits");
                let _guard = lock.lock();
            });
            let waiter = receive.recv().expect("the waiter sends its path");
            let stat = fs::canonicalize("/proc").expect("procfs").join(waiter).join("stat");
            // Only a fault takes so long.
            let end = Instant::now() + Duration::from_secs(60);
            // More than once: a page fault on the way to the lock is not enough.
            let mut asleep = 0;
            while asleep < 10 && Instant::now() < end {
                let stat = fs::read_to_string(&stat).expect("the waiter is alive");
                // "TID (name) STATE ...", and the name may contain anything.
                let state = stat.rsplit_once(") ").expect("a state").1;
                asleep += usize::from(state.starts_with('S'));
                thread::sleep(Duration::from_millis(1));
            }
            drop(guard);
            assert_eq!(asleep, 10, "the waiter never slept");
        });
    }
}
