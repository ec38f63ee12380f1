//! The types and functions of the real machine.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
pub(crate) use std::sync::OnceLock as SetOnce;
use std::sync::atomic::AtomicU32;
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence,
};
use std::time::Duration;

// Locks for operations that may take long: they park their waiters.
#[cfg(not(all(loom, feature = "loom")))]
pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};

#[cfg(all(loom, feature = "loom"))]
pub(crate) use super::turns::locks::{Mutex, MutexGuard, RwLock};

/// The number of times that a thread spins or yields before it sleeps. On an idle processor this takes about 50 µs. A
/// snapshot holds all locks for about as long, and waking from a sleep takes about as long, too.
const AWAKE: u32 = 200;
/// The time for which a thread sleeps the first time. Each further sleep takes twice as long.
const SLEEP: Duration = Duration::from_micros(50);
/// The number of times that the sleep doubles: the longest takes 0.8 ms.
const DOUBLINGS: u32 = 4;

/// Waits, longer each time.
pub(crate) struct Backoff {
    awake: crossbeam_utils::Backoff,
    turns: Cell<u32>,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { awake: crossbeam_utils::Backoff::new(), turns: Cell::new(0) }
    }

    /// Spins, then yields: for an optimistic step that lost a race.
    pub(crate) fn snooze(&self) {
        self.awake.snooze();
    }

    /// Spins, then yields, then sleeps: for waits that may take long.
    pub(crate) fn sleep(&self) {
        #[cfg(all(loom, feature = "loom"))]
        super::turns::locks::before_sleep();
        let turns = self.turns.get();
        self.turns.set(turns.saturating_add(1));
        match turns.checked_sub(AWAKE) {
            None => self.awake.snooze(),
            Some(sleeps) => std::thread::sleep(SLEEP * (1 << sleeps.min(DOUBLINGS))),
        }
    }
}

/// An `UnsafeCell` with the interface of loom's, which notices accesses that nothing orders.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Loads a word that is stored only under a mutex, which the caller holds.
#[inline]
pub(crate) fn load_locked(word: &AtomicU64) -> u64 {
    // Relaxed: the mutex orders the accesses.
    word.load(Ordering::Relaxed)
}

/// A number that orders nothing: all accesses are Relaxed.
pub(crate) struct Count(AtomicU32);

impl Count {
    pub(crate) fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the number, for uses where an old value cannot make an answer wrong. loom does not explore old values
    /// here.
    pub(crate) fn hint(&self) -> u32 {
        self.get()
    }
}

/// A flag that a lock protects: the lock orders its accesses.
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Returns 64 random bits. `RandomState` takes its keys from the operating system once per thread, and counts on from
/// there. In a user's model, returns 0, so that the hashes are the same in every execution.
pub(crate) fn random_seed() -> u64 {
    if cfg!(all(loom, feature = "loom")) { 0 } else { RandomState::new().hash_one(()) }
}

/// Allocates `len` atomics that are 0, with zeroed memory from the allocator: a large table costs no time until it is
/// used. Returns `None` if there is no memory for them.
pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    bytemuck::allocation::try_zeroed_slice_box(len).ok()
}

/// Stores 0 in this zero, so that the operating system provides the memory of its page now, and not while a lock is
/// held.
pub(crate) fn touch(zero: &AtomicU64) {
    zero.store(0, Ordering::Relaxed);
}
