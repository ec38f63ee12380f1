//! The locks of the machine, in a user's model under loom: no thread may have to wait for one.
//!
//! loom runs all threads of the model on one thread, so if a thread waited, the model would never end. A thread that
//! has a turn finds every lock free, except those that are held for several turns; [`Turns::lock`](super::Turns::lock)
//! waits for these.

pub(crate) use parking_lot::MutexGuard;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

const FREE: &str =
    "a bug in coucal: in a model, this thread would wait for ever for a thread that has no turn";

#[derive(Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.try_lock().expect(FREE)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }
}

#[derive(Default)]
pub(crate) struct RwLock<T>(parking_lot::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.try_read().expect(FREE)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.try_write().expect(FREE)
    }
}

/// Panics before a thread sleeps until another thread unlocks a lock: in a model that sleep would never end.
///
/// # Panics
///
/// Always.
pub(crate) fn before_sleep() {
    panic!("{FREE}");
}
