//! Turns in a user's model under loom.
//!
//! # Waiting
//!
//! loom runs all threads of the model on one thread, which must not wait. So a lock that another thread may hold for
//! several turns is only tried. A thread that does not get it lets other threads go first, and takes another turn. All
//! other locks are free when a thread has a turn ([`locks`](super::locks)).
//!
//! # What need not be explored
//!
//! For loom, any two turns at a table are a race, and it tries both orders. It does so even for two lookups, and for a
//! turn that does not get a lock and the turns of the thread that holds this lock. Two waiting threads could overtake
//! each other without end. [`loom::skip_branch`] ends the exploration of an execution that only repeats others:
//!
//! * The turn did not get its lock. In other executions the thread takes its turn later.
//! * A thread has come to its turn, another thread went first, and the turn still has the same effect: (a) because no
//!   turn was taken in between; or (b) because the turn changes nothing, now as before, and has the same answer. When a
//!   thread has come to its turn, loom first lets it go on. So what follows the turn was explored before another thread
//!   went first. (The thread was *asleep*: Godefroid, "Partial-Order Methods for the Verification of Concurrent
//!   Systems", 1996.) In the execution that was explored first, fewer operations were ordered before the turn. So
//!   whatever may be seen in the present execution could be seen in that first one.
//!
//! For this, an operation that may change nothing computes its answer twice: when its thread has come to its turn, and
//! when the thread has the turn.
//!
//! loom still records the dependencies in the rest of such an execution, and tries the other orders at a point before
//! the turn.

use core::array;
use core::mem;
use std::panic;
use std::sync::Arc;

use loom::sync::atomic::AtomicU64;
use loom::thread::{self, ThreadId};

use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering};

/// A publication by a thread: one lock for each thread that may see it. The publishing thread held the locks while it
/// took its turn. With one lock for all threads, loom would explore in which order they lock it.
type Published = [loom::sync::Mutex<()>; loom::MAX_THREADS];

/// While it lives, a table is being cleared.
pub(crate) struct Clearing<'a>(&'a AtomicBool);

impl Drop for Clearing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

pub(crate) struct Turns {
    /// `None` if the table was made while a panic unwinds.
    turn: Option<AtomicU64>,
    /// The number of times that a thread has come to its turn.
    arrivals: AtomicUsize,
    /// The number of turns, and how many of them were for operations that may change something.
    taken: AtomicUsize,
    changes: AtomicUsize,
    /// The threads that have used the table, each with its last publication.
    threads: Mutex<Vec<(ThreadId, Option<Arc<Published>>)>>,
    /// Whether a thread holds all stripes, for a `clear`.
    clearing: AtomicBool,
    /// Whether the code that runs now is a part of a step. Then it takes no turn of its own.
    in_step: AtomicBool,
    /// Whether the code that runs now only computes what an operation would answer.
    asking: AtomicBool,
}

/// The publication of an operation, for the case that it stores something.
#[derive(Clone)]
pub(crate) struct Storing<'a> {
    turns: &'a Turns,
    /// `None` while a panic unwinds.
    published: Option<Arc<Published>>,
}

/// The steps of one operation that takes two turns. Its thread has the first turn already. So other threads see some of
/// its effects and not all, and the number of executions does not depend on the number of steps.
pub(crate) struct Steps<'a> {
    turns: &'a Turns,
    /// The number of steps before the second turn.
    before_second: usize,
}

/// As [`Steps`], where each step may store something.
pub(crate) struct StepsToStore<'a> {
    steps: Steps<'a>,
    /// The publication of the turn that the thread has.
    storing: Storing<'a>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        assert_in_model();
        Self {
            turn: (!is_unwinding()).then(|| AtomicU64::new(0)),
            arrivals: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            clearing: AtomicBool::new(false),
            in_step: AtomicBool::new(false),
            asking: AtomicBool::new(false),
        }
    }

    /// Takes a turn for an operation that changes nothing and does not wait. `answer` returns what the operation
    /// answers if it runs now.
    pub(crate) fn take<A: PartialEq>(&self, answer: impl Fn() -> A) {
        self.take_for(|| Some(answer()));
    }

    /// Takes a turn for an operation that changes something and does not wait.
    pub(crate) fn take_to_change(&self) {
        self.take_for(|| None::<()>);
    }

    /// Takes a turn for an operation that takes locks: waits for a thread that holds all of them.
    pub(crate) fn take_locked(&self) {
        self.take_locked_unless(|| None::<()>);
    }

    /// Takes a turn as `take_locked` does. `unchanged` returns the answer of the operation if it changes nothing now,
    /// else `None`.
    pub(crate) fn take_locked_unless<A: PartialEq>(&self, unchanged: impl Fn() -> Option<A>) {
        self.take_for(|| if self.clearing.load(Ordering::Relaxed) { None } else { unchanged() });
        self.wait_for(|| Some(()));
    }

    /// Takes a turn. `unchanged` returns the answer of the operation if it changes nothing now, else `None`.
    fn take_for<A: PartialEq>(&self, unchanged: impl Fn() -> Option<A>) {
        assert_in_model();
        let is_part = self.in_step.load(Ordering::Relaxed);
        let Some(turn) = self.turn.as_ref().filter(|_| !is_part && !is_unwinding()) else {
            return;
        };
        self.arrivals.fetch_add(1, Ordering::Relaxed);
        let now = || {
            self.asking.store(true, Ordering::Relaxed);
            let unchanged = self.in_this_turn(&unchanged);
            self.asking.store(false, Ordering::Relaxed);
            (self.arrivals.load(Ordering::Relaxed), self.taken.load(Ordering::Relaxed), unchanged)
        };
        let before = now();
        // The exchange fails, and so orders nothing. A load would not order anything either. But loom remembers only
        // the last of the loads of an atomic, and would not try every order of lookups and inserts.
        let _ = turn.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed);
        let after = now();
        let is_alone = before.1 == after.1;
        if before.0 != after.0 && (is_alone || after.2.is_some() && before.2 == after.2) {
            loom::skip_branch();
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(usize::from(after.2.is_none()), Ordering::Relaxed);
    }

    /// Locks a mutex that other threads hold for several turns.
    pub(crate) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        self.wait_for(|| mutex.try_lock())
    }

    /// Returns the result of `attempt`, called while no thread holds all stripes: in the turn that this thread has, or
    /// in a later one.
    fn wait_for<R>(&self, mut attempt: impl FnMut() -> Option<R>) -> R {
        loop {
            if !self.clearing.load(Ordering::Relaxed) {
                if let Some(done) = attempt() {
                    return done;
                }
            }
            assert!(
                !is_unwinding(),
                "a panic unwinds, and a thread that has stopped holds the lock of a filter"
            );
            loom::skip_branch();
            thread::yield_now();
            self.take_to_change();
        }
    }

    /// Returns the steps of an operation that takes entries away in `count` steps. The last step has a turn of its own:
    /// so between the turns at least one entry is left, and not all are.
    pub(crate) fn steps(&self, count: impl FnOnce() -> usize) -> Steps<'_> {
        Steps { turns: self, before_second: count().saturating_sub(1).max(1) }
    }

    /// Returns the steps of an operation that adds entries. The first step has a turn of its own, which is that of
    /// `storing`.
    pub(crate) fn steps_to_store<'a>(&'a self, storing: Storing<'a>) -> StepsToStore<'a> {
        StepsToStore { steps: Steps { turns: self, before_second: 1 }, storing }
    }

    /// Says that a table is being cleared, until the guard is dropped, also by a panic. Meanwhile only lookups get a
    /// turn.
    pub(crate) fn clearing(&self) -> Clearing<'_> {
        self.clearing.store(true, Ordering::Relaxed);
        Clearing(&self.clearing)
    }

    /// Takes a turn for an operation that takes locks and may store something. If it does, what this thread has done up
    /// to now is published.
    pub(crate) fn take_to_store(&self) -> Storing<'_> {
        self.take_to_store_unless(|| None::<()>)
    }

    /// Takes a turn as `take_to_store` does. `unchanged` returns the answer of the operation if it changes nothing now,
    /// else `None`.
    pub(crate) fn take_to_store_unless<A: PartialEq>(
        &self,
        unchanged: impl Fn() -> Option<A>,
    ) -> Storing<'_> {
        if is_unwinding() {
            self.take_locked();
            return Storing { turns: self, published: None };
        }
        // Locked before the turn, and by no other thread. So loom does not switch threads here, nor where the locks are
        // unlocked.
        let published: Arc<Published> = Arc::new(array::from_fn(|_| loom::sync::Mutex::new(())));
        let locked = published.each_ref().map(loom::sync::Mutex::lock);
        self.take_locked_unless(unchanged);
        // Release: pairs with the lock in `acquire_if`.
        drop(locked);
        Storing { turns: self, published: Some(published) }
    }

    /// Calls `step`, a part of an operation that has a turn already, such as the lookup of an insert: nothing that it
    /// calls takes a turn.
    pub(crate) fn in_this_turn<R>(&self, step: impl FnOnce() -> R) -> R {
        let is_part = self.in_step.swap(true, Ordering::Relaxed);
        let result = step();
        self.in_step.store(is_part, Ordering::Relaxed);
        result
    }

    /// Returns the number of turns of operations that may have changed something.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }

    /// Makes this thread see everything that others have published, if `has_found` returns true.
    pub(crate) fn acquire_if(&self, has_found: impl FnOnce() -> bool) {
        if is_unwinding() || self.asking.load(Ordering::Relaxed) || !has_found() {
            return;
        }
        let (this, others) = {
            let mut threads = self.threads.lock();
            let this = number_of_this(&mut threads);
            let others = threads.iter().enumerate().filter(|(number, _)| *number != this);
            (this, others.filter_map(|(_, (_, published))| published.clone()).collect::<Vec<_>>())
        };
        for published in others {
            // Acquire: pairs with the unlock in `take_to_store_unless`. Only once, and never unlocked: an unlock would
            // be a Release.
            mem::forget(published[this].try_lock());
        }
    }

    /// Returns what was read of the second of two buckets, and what `again` reads of the first one in a turn of its
    /// own. The second bucket is read first, because the first value of a key goes into the first bucket, and the
    /// following values alternate: so in this order a lookup can miss a value and see a later one.
    ///
    /// `answer` returns what the operation makes of both.
    pub(crate) fn read_each<A: Copy, B: Copy, R: PartialEq>(
        &self,
        ([_, second], [_, in_second]): ([A; 2], [B; 2]),
        again: impl Fn() -> ([A; 2], [B; 2]),
        answer: impl Fn(([A; 2], [B; 2])) -> R,
    ) -> ([A; 2], [B; 2]) {
        let read = || {
            let ([first, _], [in_first, _]) = again();
            ([first, second], [in_first, in_second])
        };
        self.take(|| answer(read()));
        read()
    }
}

impl Steps<'_> {
    /// Begins the next step, unless `is_done` returns true.
    pub(crate) fn next_unless(&mut self, is_done: impl FnOnce() -> bool) {
        if !is_done() && self.begins_a_turn() {
            self.turns.take_to_change();
        }
    }

    /// Returns whether the next step is the first one of the second turn.
    fn begins_a_turn(&mut self) -> bool {
        let left = self.before_second.checked_sub(1);
        self.before_second = left.unwrap_or(usize::MAX);
        left.is_none()
    }
}

impl<'a> StepsToStore<'a> {
    /// Begins the next step.
    pub(crate) fn next(&mut self) -> Storing<'a> {
        if self.steps.begins_a_turn() {
            self.storing = self.steps.turns.take_to_store();
        }
        self.storing.clone()
    }
}

impl Storing<'_> {
    pub(crate) fn release_if(self, has_stored: impl FnOnce() -> bool) {
        if has_stored() && self.published.is_some() {
            let mut threads = self.turns.threads.lock();
            let this = number_of_this(&mut threads);
            threads[this].1 = self.published;
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

/// Returns whether a panic unwinds. A `Drop` of the user's may then still use a filter, even after loom has ended. So
/// no operation is a step any more. (Another panic would hide the first one.)
fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// Checks that the calling thread runs in a model.
///
/// # Panics
///
/// Outside of a model.
fn assert_in_model() {
    assert!(
        is_unwinding() || panic::catch_unwind(thread::current).is_ok(),
        "with the feature `loom` and `--cfg loom`, a filter of coucal is a part of a model: create and use it inside \
         `loom::model`, or run this test without `--cfg loom`"
    );
}
