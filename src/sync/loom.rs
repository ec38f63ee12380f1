//! loom's model of a machine, with a hook after each step.

use core::cell::RefCell;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// An access to shared memory, or a lock taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A word or a version was read.
    Load,
    /// A word was written.
    Store,
    /// A version was bumped, or an inconclusive lookup counted.
    Add,
    /// A stripe was locked.
    Lock,
}

type Hook = Box<dyn FnMut(Step)>;

loom::thread_local! {
    static HOOK: RefCell<Option<Hook>> = RefCell::new(None);
}

/// Calls `hook` after each step of the calling thread, but for the steps of the hook itself.
pub fn after_each_step(hook: impl FnMut(Step) + 'static) {
    HOOK.with(|slot| *slot.borrow_mut() = Some(Box::new(hook)));
}

fn stepped(step: Step) {
    let hook = HOOK.with(|slot| slot.borrow_mut().take());
    if let Some(mut hook) = hook {
        hook(step);
        HOOK.with(|slot| *slot.borrow_mut() = Some(hook));
    }
}

/// loom's atomic word, which calls the hook after each access.
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

/// loom's mutex in place of the lock of this crate, which has models of its own: a waiter that loom
/// knows to wait costs a model far fewer executions than one that tries again and again.
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

/// A turn for the other threads: loom has to be told of every wait.
pub(crate) struct Backoff;

impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    #[allow(clippy::unused_self)]
    pub(crate) fn snooze(&self) {
        loom::thread::yield_now();
    }

    pub(crate) fn sleep(&self) {
        self.snooze();
    }
}

/// The same hashes in every execution of a model.
pub(crate) fn random_seed() -> u64 {
    0
}

#[allow(clippy::unnecessary_wraps)]
pub(crate) fn try_zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    Some((0..len).map(|_| AtomicU64::new(0)).collect())
}
