//! The lock of a stripe: a thread takes it by one compare-and-swap, and releases it by one plain store.
//!
//! **Invariant:** at most one thread holds a lock at any time, from the moment it has locked it until it unlocks it. No
//! thread gets a lock that is retired.
//!
//! A stripe is held for some tens of nanoseconds, and the locked instructions of the processor take most of that time.
//! A mutex that wakes its waiters needs a second locked instruction when it is unlocked, to see whether there are
//! waiters. Here waiters look for themselves: they spin, then yield, then sleep repeatedly, for up to 0.8 ms each time.
//! So a thread that was preempted while it held the lock gets to run, whatever its priority.
//!
//! | `state` | meaning |
//! |---|---|
//! | `FREE` | no thread holds the lock |
//! | `HELD` | one thread holds it; others may be waiting |
//! | `RETIRED` | no thread holds it, now or later: another lock has replaced it, and waiters go there |

#![cfg_attr(coucal_model, allow(dead_code, reason = "only models of the lock itself use it"))]

use core::mem;

use super::machine::{AtomicU8, Backoff, Ordering};

const FREE: u8 = 0;
const HELD: u8 = 1;
const RETIRED: u8 = 2;

/// A lock that one thread holds at a time. It is not fair: other threads may overtake a waiter.
pub struct Lock {
    state: AtomicU8,
}

/// RAII guard: unlocks on drop.
pub struct Guard<'a> {
    lock: &'a Lock,
}

impl Lock {
    /// Creates an unlocked lock.
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub fn new() -> Self {
        Self { state: AtomicU8::new(FREE) }
    }

    /// Waits while another thread holds the lock, and then locks it. Returns `None` if the lock is retired.
    #[must_use]
    #[inline]
    pub fn lock(&self) -> Option<Guard<'_>> {
        if self.try_acquire() || self.lock_slow() { Some(Guard { lock: self }) } else { None }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        // Acquire: pairs with the Release in `drop`. A thread that takes the lock sees everything that was written by
        // the threads that held it before.
        self.state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self) -> bool {
        let backoff = Backoff::new();
        loop {
            // Acquire: pairs with the Release in `retire`, so that a waiter sees the lock that has replaced this one. A
            // waiter loads the state before it tries to change it, so that waiters share the cache line instead of
            // taking it from each other.
            match self.state.load(Ordering::Acquire) {
                FREE if self.try_acquire() => return true,
                RETIRED => return false,
                _ => backoff.sleep(),
            }
        }
    }
}

impl Guard<'_> {
    /// Retires the lock instead of unlocking it. Threads that wait for it, now or later, go to the lock that has
    /// replaced it, which the caller has put there before.
    pub fn retire(self) {
        // Release: pairs with the Acquire in `lock_slow`.
        self.lock.state.store(RETIRED, Ordering::Release);
        mem::forget(self);
    }
}

/// RAII guard: unlocks every lock of the slice on drop.
pub(crate) struct Guards<'a, T: AsRef<Lock>> {
    locks: &'a [T],
}

impl<'a, T: AsRef<Lock>> Guards<'a, T> {
    /// Locks one lock after the other, in the order of the slice. Allocates nothing. Returns `None` if the locks are
    /// retired.
    pub(crate) fn lock(locks: &'a [T]) -> Option<Self> {
        for lock in locks {
            // The locks are retired together: once this thread holds the first one, none of them is retired.
            mem::forget(lock.as_ref().lock()?);
        }
        Some(Self { locks })
    }

    /// Retires each of the locks.
    pub(crate) fn retire(self) {
        for lock in mem::ManuallyDrop::new(self).locks {
            Guard { lock: lock.as_ref() }.retire();
        }
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
        self.lock.state.store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};
    use std::{fs, thread};

    /// A waiter sleeps. (A waiter that only spins or yields is never seen asleep, however busy the machine is.)
    #[test]
    fn a_waiter_sleeps() {
        let lock = &Lock::new();
        let guard = lock.lock();
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            scope.spawn(move || {
                // This is a link to "PID/task/TID".
                let path = fs::read_link("/proc/thread-self").expect("procfs");
                send.send(path).expect("the receiver waits");
                let _guard = lock.lock();
            });
            let waiter = receive.recv().expect("the waiter sends its path");
            let stat = fs::canonicalize("/proc").expect("procfs").join(waiter).join("stat");
            // Only a fault of the lock takes this long.
            let end = Instant::now() + Duration::from_secs(60);
            // More than once: a page fault on the way to the lock is not enough.
            let mut asleep = 0;
            while asleep < 10 && Instant::now() < end {
                let stat = fs::read_to_string(&stat).expect("the waiter is alive");
                // The line is "TID (name) STATE ...", and the name may contain any characters.
                let state = stat.rsplit_once(") ").expect("a state").1;
                asleep += usize::from(state.starts_with('S'));
                thread::sleep(Duration::from_millis(1));
            }
            drop(guard);
            assert_eq!(asleep, 10, "the waiter never slept");
        });
    }
}
