//! The only place that chooses between the real machine and loom's model of it.
//!
//! Every atomic, lock, yield and source of randomness of the crate comes through here. Under
//! `--cfg loom` the same names stand for loom's own, so a model runs the crate's code and not a
//! copy of it.

#[cfg(not(loom))]
mod real {
    pub(crate) use crate::lock::{Guard, Lock};
    use std::hash::{BuildHasher, RandomState};
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
    use std::time::Duration;

    /// How long a thread sleeps that waited in vain while it spun and yielded.
    const NAP: Duration = Duration::from_micros(50);

    /// Waits longer and longer, then yields: for an optimistic step that lost a race.
    pub(crate) struct Backoff(crossbeam_utils::Backoff);

    impl Backoff {
        pub(crate) fn new() -> Self {
            Self(crossbeam_utils::Backoff::new())
        }

        pub(crate) fn wait(&self) {
            self.0.snooze();
        }

        /// As `wait`; then sleeps, for what may take long.
        pub(crate) fn rest(&self) {
            if self.0.is_completed() {
                std::thread::sleep(NAP);
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

    /// `len` zeroed atomics, fresh from the allocator: a large table costs no time until it is
    /// used. `None` when the memory cannot be had.
    pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
        bytemuck::allocation::try_zeroed_slice_box(len).ok()
    }
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

    use crate::probe::{Step, stepped};

    /// The same hashes in every execution of a model.
    pub(crate) fn random_seed() -> u64 {
        0
    }

    /// loom's atomic word, which tells the probe of each access.
    #[derive(Debug)]
    pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> Self {
            Self(loom::sync::atomic::AtomicU64::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            let value = self.0.load(order);
            stepped(Step::Load);
            value
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.0.store(value, order);
            stepped(Step::Store);
        }

        pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            let before = self.0.fetch_add(value, order);
            stepped(Step::Add);
            before
        }
    }

    /// loom's mutex in place of [`crate::lock::Lock`], which has models of its own: a waiter that
    /// loom knows to wait costs a model far fewer executions than one that asks again and again.
    pub(crate) struct Lock(loom::sync::Mutex<()>);

    impl Lock {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Mutex::new(()))
        }

        pub(crate) fn lock(&self) -> Guard<'_> {
            let guard = self.0.lock().expect("no thread panics while it holds a stripe");
            stepped(Step::Lock);
            guard
        }
    }

    pub(crate) type Guard<'a> = loom::sync::MutexGuard<'a, ()>;

    /// A turn for the other threads: loom needs to hear of every wait.
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Self {
            Self
        }

        #[allow(clippy::unused_self)]
        pub(crate) fn wait(&self) {
            loom::thread::yield_now();
        }

        pub(crate) fn rest(&self) {
            self.wait();
        }
    }

    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
        Some((0..len).map(|_| AtomicU64::new(0)).collect())
    }
}

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;
