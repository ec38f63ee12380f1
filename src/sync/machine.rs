//! The real machine.

use std::hash::{BuildHasher, RandomState};
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// How long a thread sleeps at a time after it has spun and yielded in vain.
const SLEEP: Duration = Duration::from_micros(50);

/// Waits longer and longer.
pub(crate) struct Backoff(crossbeam_utils::Backoff);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(crossbeam_utils::Backoff::new())
    }

    /// Spins, then yields: for an optimistic step that lost a race.
    pub(crate) fn snooze(&self) {
        self.0.snooze();
    }

    /// Spins, then yields, then sleeps: for what may take long.
    pub(crate) fn sleep(&self) {
        if self.0.is_completed() {
            std::thread::sleep(SLEEP);
        } else {
            self.0.snooze();
        }
    }
}

/// 64 random bits: `RandomState` takes its keys from the operating system once for each thread,
/// and counts on from there.
pub(crate) fn random_seed() -> u64 {
    RandomState::new().hash_one(())
}

/// `len` zeroed atomics, fresh from the allocator: a large table costs no time until it is used.
/// `None` when the memory cannot be had.
pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    bytemuck::allocation::try_zeroed_slice_box(len).ok()
}
