//! When the next generation is due, by a clock.
//!
//! **Invariant:** an item whose insert was called at time t is not removed by the timer before t + (N - 1) · period, for N
//! generations.
//!
//! Each insert looks at the clock first. One that finds a generation due advances by as many generations as have passed, before
//! it stores anything; one thread at a time. Another one that finds a single generation due meanwhile goes on, and may store
//! the stamp of the generation that has ended. It says so, and then the next generation counts from the end of the advance, and
//! not from when it was due. One that finds more of them due waits: what is removed then may have the stamp that it would
//! store.
//!
//! Why this is enough: what has the stamp of generation s was called for before generation s + 1 began, as the timer counts:
//! either before s had lasted for a period, or beside the advance, which then began s + 1 at its end. From there on N - 1
//! further generations begin, one for each period, before s is removed.

use core::time::Duration;
use std::time::Instant;

use crate::sync::{AtomicU64, AtomicUsize, Backoff, Mutex, MutexGuard, OnceLock, Ordering};

/// The time since some instant, which never goes back.
pub(crate) type Now = fn() -> Duration;

/// The time of the machine, since this was asked first.
pub(crate) fn machine_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Nobody advances.
const IDLE: usize = 0;
/// A thread advances.
const ADVANCING: usize = 1;
/// A thread advances, and an insert has gone on meanwhile.
const OVERLAPPED: usize = 2;

pub(crate) struct Timer {
    now: Now,
    /// In nanoseconds, as all times.
    period: u64,
    /// When the present generation began.
    began: AtomicU64,
    /// Held by whoever advances. It is taken before the mutex of those who remove a value.
    advancing: Mutex<()>,
    /// [`IDLE`], [`ADVANCING`] or [`OVERLAPPED`].
    phase: AtomicUsize,
}

impl Timer {
    /// A generation begins now. `None`: it would take no time.
    pub(crate) fn new(period: Duration, now: Now) -> Option<Self> {
        (!period.is_zero())
            .then(|| Self::beginning_at(nanoseconds(now()), nanoseconds(period), now))
    }

    fn beginning_at(began: u64, period: u64, now: Now) -> Self {
        Self {
            now,
            period,
            began: AtomicU64::new(began),
            advancing: Mutex::new(()),
            phase: AtomicUsize::new(IDLE),
        }
    }

    /// Another one with the same time.
    pub(crate) fn copy(&self) -> Self {
        Self::beginning_at(self.began(), self.period, self.now)
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// Whether a generation is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        // As `passed`, without a division.
        self.now().saturating_sub(self.began()) >= self.period
    }

    /// Calls `advance` with the number of generations that are due, unless another thread does. Returns what that returns, or
    /// 0. `lock` is how to wait for the mutex.
    #[cold]
    #[inline(never)]
    pub(crate) fn advance_due<'a>(
        &'a self,
        advance: impl FnOnce(u64) -> usize,
        lock: impl Fn(&'a Mutex<()>) -> MutexGuard<'a, ()>,
    ) -> usize {
        let backoff = Backoff::new();
        loop {
            // Before the lock: whoever fails to get it looks at the time after this.
            let (began, now) = (self.began(), self.now());
            let due = passed(began, now, self.period);
            if due == 0 {
                return 0;
            }
            let Some(_advancing) = self.advancing.try_lock() else {
                if due > 1 {
                    drop(lock(&self.advancing));
                } else if self.may_go_on() {
                    return 0;
                } else {
                    // It begins to advance, or has ended.
                    backoff.snooze();
                }
                continue;
            };
            if self.began() != began {
                // Another thread has advanced.
                continue;
            }
            // SeqCst, here and below: pairs with the exchange in `may_go_on`.
            self.phase.store(ADVANCING, Ordering::SeqCst);
            let result = advance(due);
            // After the next generation is published: an insert that has not said that it goes on sees it.
            let was_alone = self.phase.swap(IDLE, Ordering::SeqCst) == ADVANCING;
            let next = if was_alone { began + due * self.period } else { self.now() };
            // SeqCst: pairs with the load in `began`. Whoever sees it sees the generation.
            self.began.store(next, Ordering::SeqCst);
            return result;
        }
    }

    /// Whether an insert that has found a generation due may go on beside the thread that advances.
    fn may_go_on(&self) -> bool {
        // SeqCst: before the clock of the table is read. If that is still the old one, the thread that advances sees this.
        let marked =
            self.phase.compare_exchange(ADVANCING, OVERLAPPED, Ordering::SeqCst, Ordering::SeqCst);
        // Afterwards: if several generations were due for the thread that advances, they are due by now.
        matches!(marked, Ok(_) | Err(OVERLAPPED))
            && passed(self.began(), self.now(), self.period) < 2
    }

    fn began(&self) -> u64 {
        // SeqCst: pairs with the store in `advance_due`.
        self.began.load(Ordering::SeqCst)
    }

    #[inline]
    fn now(&self) -> u64 {
        nanoseconds((self.now)())
    }
}

/// In 584 years it ends.
#[inline]
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How many periods have passed.
#[inline]
fn passed(began: u64, now: u64, period: u64) -> u64 {
    now.saturating_sub(began) / period
}
