//! Without a model of a user, nothing is left of turns.
#![expect(clippy::unused_self, reason = "as in `loom`")]

use crate::sync::{Mutex, MutexGuard};

pub(crate) struct Turns;

pub(crate) struct Steps;

pub(crate) struct Storing;

impl Turns {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn take(&self) {}

    #[inline(always)]
    pub(crate) fn take_to_change(&self) {}

    #[inline(always)]
    pub(crate) fn take_locked(&self) {}

    #[inline(always)]
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        mutex.lock()
    }

    #[inline(always)]
    pub(crate) fn steps(&self) -> Steps {
        Steps
    }

    #[inline(always)]
    pub(crate) fn take_to_store(&self) -> Storing {
        Storing
    }

    #[inline(always)]
    pub(crate) fn in_this_turn<R>(&self, step: impl FnOnce() -> R) -> R {
        step()
    }

    #[inline(always)]
    pub(crate) fn acquire_if(&self, _: impl FnOnce() -> bool) {}

    #[inline(always)]
    pub(crate) fn set_clearing(&self, _: bool) {}

    #[inline(always)]
    pub(crate) fn read_each<R>(&self, read: R, _: impl FnOnce() -> R) -> R {
        read
    }
}

impl Steps {
    #[inline(always)]
    pub(crate) fn next(&mut self) {}

    #[inline(always)]
    pub(crate) fn next_unless(&mut self, _: impl FnOnce() -> bool) {}
}

impl Storing {
    #[inline(always)]
    pub(crate) fn release_if(self, _: impl FnOnce() -> bool) {}
}
