//! Turns in a model of loom's.

use core::array;
use core::mem;
use std::panic;
use std::sync::Arc;

use loom::sync::atomic::AtomicU64;
use loom::thread::{self, ThreadId};

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// What a thread publishes: for each thread that may see it a lock, which was held meanwhile. With one lock for all of
/// them, loom would explore in which order they lock it.
type Published = [loom::sync::Mutex<()>; loom::MAX_THREADS];

pub(crate) struct Turns {
    turn: AtomicU64,
    /// The threads that have used the table, and what each of them has published last.
    threads: Mutex<Vec<(ThreadId, Option<Arc<Published>>)>>,
    /// Whether a thread holds all stripes, for a `clear`.
    clearing: AtomicBool,
}

/// What is published if something is stored.
pub(crate) struct Storing<'a> {
    turns: &'a Turns,
    published: Arc<Published>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        assert_in_model();
        let turn = AtomicU64::new(0);
        Self { turn, threads: Mutex::new(Vec::new()), clearing: AtomicBool::new(false) }
    }

    /// For what takes no lock.
    pub(crate) fn take(&self) {
        assert_in_model();
        // It fails, and so orders nothing. A load would order nothing either. But of the loads of an atomic loom
        // remembers only the last one, and would not try every order of lookups and inserts.
        let _ = self.turn.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// For what takes locks.
    pub(crate) fn take_locked(&self) {
        self.take();
        // loom runs all threads on one: whoever waited for a stripe there would wait for ever.
        while self.clearing.load(Ordering::Relaxed) {
            thread::yield_now();
            self.take();
        }
    }

    /// Locks what others hold for several turns: loom runs all threads on one, which must not wait.
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        loop {
            if let Some(locked) = mutex.try_lock() {
                return locked;
            }
            thread::yield_now();
            self.take();
        }
    }

    /// For what is cleared next, if there is something.
    pub(crate) fn take_unless(&self, is_empty: impl FnOnce() -> bool) {
        if !is_empty() {
            self.take();
        }
    }

    /// While a table is cleared, only lookups get a turn.
    pub(crate) fn set_clearing(&self, clearing: bool) {
        self.clearing.store(clearing, Ordering::Relaxed);
    }

    /// For what takes locks, and may store something: then what this thread has done by now is published.
    pub(crate) fn take_to_store(&self) -> Storing<'_> {
        // Locked before the turn, and by nobody else: so loom switches threads neither here nor where they are
        // unlocked.
        let published: Arc<Published> = Arc::new(array::from_fn(|_| loom::sync::Mutex::new(())));
        let locked = published.each_ref().map(loom::sync::Mutex::lock);
        self.take_locked();
        // Release: pairs with the lock in `acquire_if`.
        drop(locked);
        Storing { turns: self, published }
    }

    /// For what has found something, or not. If so, this thread sees all that others have published.
    pub(crate) fn acquire_if(&self, has_found: impl FnOnce() -> bool) {
        if !has_found() {
            return;
        }
        let (this, others) = {
            let mut threads = self.threads.lock();
            let this = number_of_this(&mut threads);
            let others = threads.iter().enumerate().filter(|(number, _)| *number != this);
            (this, others.filter_map(|(_, (_, published))| published.clone()).collect::<Vec<_>>())
        };
        for published in others {
            // Acquire: pairs with the unlock in `take_to_store`. Only once, and never unlocked: that would be a
            // Release.
            mem::forget(published[this].try_lock());
        }
    }

    /// What was read of two buckets; of the first, what is read `again` in a turn of its own. The second bucket comes
    /// first: of the values of a key, the first bucket gets the first, and then each by turns. So this is how a lookup
    /// misses a value, and sees a later one.
    pub(crate) fn read_each<A: Copy, B: Copy>(
        &self,
        ([_, second], [_, in_second]): ([A; 2], [B; 2]),
        again: impl FnOnce() -> ([A; 2], [B; 2]),
    ) -> ([A; 2], [B; 2]) {
        self.take();
        let ([first, _], [in_first, _]) = again();
        ([first, second], [in_first, in_second])
    }
}

impl Storing<'_> {
    pub(crate) fn release_if(self, has_stored: impl FnOnce() -> bool) {
        if has_stored() {
            let mut threads = self.turns.threads.lock();
            let this = number_of_this(&mut threads);
            threads[this].1 = Some(self.published);
        }
    }
}

fn number_of_this(threads: &mut Vec<(ThreadId, Option<Arc<Published>>)>) -> usize {
    let this = thread::current().id();
    threads.iter().position(|(thread, _)| *thread == this).unwrap_or_else(|| {
        threads.push((this, None));
        threads.len() - 1
    })
}

/// # Panics
///
/// Outside of a model.
fn assert_in_model() {
    assert!(
        panic::catch_unwind(thread::current).is_ok(),
        "with the feature `loom`, under `--cfg loom`, a filter of coucal is a part of a model: make and use it inside of \
         `loom::model`, or run this test without `--cfg loom`"
    );
}
