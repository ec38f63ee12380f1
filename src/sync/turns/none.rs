//! Without a model of a user, nothing is left of turns.
#![expect(clippy::unused_self, reason = "as in `loom`")]

pub(crate) struct Turns;

impl Turns {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn take(&self) {}

    #[inline(always)]
    pub(crate) fn take_locked(&self) {}

    #[inline(always)]
    pub(crate) fn take_unless(&self, _: impl FnOnce() -> bool) {}

    #[inline(always)]
    pub(super) fn acquire(&self) {}

    #[inline(always)]
    pub(super) fn store<A>(&self, store: impl FnOnce() -> A, _: impl Fn(&A) -> bool) -> A {
        store()
    }

    #[inline(always)]
    pub(crate) fn set_clearing(&self, _: bool) {}

    #[inline(always)]
    pub(crate) fn read_each<A, B>(&self, read: impl Fn() -> ([A; 2], [B; 2])) -> ([A; 2], [B; 2]) {
        read()
    }
}
