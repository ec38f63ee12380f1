//! The turns of a crate without a user's model: they do nothing.
#![expect(clippy::unused_self, reason = "as in `loom`")]

use core::marker::PhantomData;

use crate::sync::{Mutex, MutexGuard};

pub(crate) struct Turns;

pub(crate) struct Steps;

pub(crate) struct StepsToStore<'a>(PhantomData<&'a Turns>);

pub(crate) struct Storing;

pub(crate) struct Clearing;

impl Turns {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn take<A>(&self, _: impl Fn() -> A) {}

    #[inline(always)]
    pub(crate) fn take_to_change(&self) {}

    #[inline(always)]
    pub(crate) fn take_locked(&self) {}

    #[inline(always)]
    pub(crate) fn take_locked_unless<A>(&self, _: impl Fn() -> Option<A>) {}

    #[inline(always)]
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        mutex.lock()
    }

    #[inline(always)]
    pub(crate) fn steps(&self, _: impl FnOnce() -> usize) -> Steps {
        Steps
    }

    #[inline(always)]
    pub(crate) fn steps_to_store(&self, _: Storing) -> StepsToStore<'_> {
        StepsToStore(PhantomData)
    }

    #[inline(always)]
    pub(crate) fn take_to_store(&self) -> Storing {
        Storing
    }

    #[inline(always)]
    pub(crate) fn take_to_store_unless<A>(&self, _: impl Fn() -> Option<A>) -> Storing {
        Storing
    }

    #[inline(always)]
    pub(crate) fn changes(&self) -> usize {
        0
    }

    #[inline(always)]
    pub(crate) fn in_this_turn<R>(&self, step: impl FnOnce() -> R) -> R {
        step()
    }

    #[inline(always)]
    pub(crate) fn acquire_if(&self, _: impl FnOnce() -> bool) {}

    #[inline(always)]
    pub(crate) fn clearing(&self) -> Clearing {
        Clearing
    }

    #[inline(always)]
    pub(crate) fn read_each<R, A>(&self, read: R, _: impl Fn() -> R, _: impl Fn(R) -> A) -> R {
        read
    }
}

impl Steps {
    #[inline(always)]
    pub(crate) fn next_unless(&mut self, _: impl FnOnce() -> bool) {}
}

impl StepsToStore<'_> {
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Storing {
        Storing
    }
}

impl Storing {
    #[inline(always)]
    pub(crate) fn release_if(self, _: impl FnOnce() -> bool) {}
}
