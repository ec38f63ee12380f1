//! When the next generation is due, by a clock.
//!
//! **Invariant:** an item whose insert was called at time t is not removed by the timer before t + (N - 1) · period,
//! for N generations.
//!
//! Each insert looks at the clock first. One that finds a generation due advances by as many generations as have
//! passed, before it stores anything; one thread at a time. Another one that finds a single generation due meanwhile
//! goes on, and may store the stamp of the generation that has ended. It says so, and then the next generation counts
//! from the end of the advance, and not from when it was due. One that finds more of them due waits: what is removed
//! then may have the stamp that it would store.
//!
//! A copy of the filter gets its table first, and then the time at which the present generation began: so that is of
//! this generation or of a later one, and the copy forgets nothing too early. While a thread advances, the time may be
//! that of the generation before: then the copy begins now.
//!
//! Why this is enough: what has the stamp of generation s was called for before generation s + 1 began, as the timer
//! counts: either before s had lasted for a period, or beside the advance, which then began s + 1 at its end. From
//! there on N - 1 further generations begin, one for each period, before s is removed.

use core::panic::RefUnwindSafe;
use core::time::Duration;

use crate::sync::{AtomicU64, AtomicUsize, Backoff, Mutex, MutexGuard, Ordering};

/// The time since some instant, which never goes back.
pub(crate) type Now = fn() -> Duration;

/// Nobody advances.
const IDLE: usize = 0;
/// A thread advances: a bit of the phase.
const ADVANCING: usize = 1;
/// An insert has seen that, and may have gone on: a bit of the phase. It has no meaning where nobody advances.
const OVERLAPPED: usize = 2;

pub(crate) struct Timer {
    now: Now,
    /// In nanoseconds, as all times.
    period: u64,
    /// What is added to the time of the clock: a generation may have begun before that did.
    ahead: u64,
    /// When the present generation began.
    began: AtomicU64,
    /// Held by whoever advances. It is taken before the mutex of those who remove a value.
    advancing: Mutex<()>,
    /// [`ADVANCING`] and [`OVERLAPPED`].
    phase: AtomicUsize,
}

// A clock that panics gives back the mutex. If that was after an advance, the next insert advances once more: the items
// are forgotten early, and the filter is valid.
impl RefUnwindSafe for Timer {}

impl Timer {
    /// The present generation has lasted for `elapsed`. `None`: a period takes no time.
    pub(crate) fn new(period: Duration, elapsed: Duration, now: Now) -> Option<Self> {
        // Half of all times at the most: the other half is left for the clock to go on.
        let (period, ahead) = (nanoseconds(period), nanoseconds(elapsed).min(u64::MAX / 2));
        (period > 0).then(|| Self::beginning_at(nanoseconds(now()), period, ahead, now))
    }

    fn beginning_at(began: u64, period: u64, ahead: u64, now: Now) -> Self {
        Self {
            now,
            period,
            ahead,
            began: AtomicU64::new(began),
            advancing: Mutex::new(()),
            phase: AtomicUsize::new(IDLE),
        }
    }

    /// Another one with the same time, for a copy of the table that was made before.
    pub(crate) fn copy(&self) -> Self {
        let (began, _) = self.began_and_now();
        Self::beginning_at(began, self.period, self.ahead, self.now)
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// For how long the present generation has lasted, or less while a thread advances.
    pub(crate) fn elapsed(&self) -> Duration {
        let (began, now) = self.began_and_now();
        Duration::from_nanos(now.saturating_sub(began))
    }

    /// When the generation began that is present, and the time; it is now while a thread advances.
    fn began_and_now(&self) -> (u64, u64) {
        let (began, now) = (self.began(), self.now());
        // A thread that has ended this one since it began, and has not said so yet, had found it due.
        if now.saturating_sub(began) < self.period {
            return (began, now);
        }
        let idle = self.advancing.try_lock();
        (if idle.is_some() { self.began() } else { now }, now)
    }

    /// Whether a generation is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        // As `passed`, without a division.
        self.now().saturating_sub(self.began()) >= self.period
    }

    /// Calls `advance` with the number of generations that are due, unless another thread does. Returns what that
    /// returns, or 0. `lock` is how to wait for the mutex.
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
                    backoff.sleep();
                }
                continue;
            };
            if self.began() != began {
                // Another thread has advanced.
                continue;
            }
            // Release: pairs with the Acquire in `may_go_on`. Whoever sees it knows the time that this thread has read.
            self.phase.store(ADVANCING, Ordering::Release);
            let result = advance(due);
            // Acquire: pairs with the Release in `may_go_on`. The time that is read below is not before that of an
            // insert that went on. One that comes after this swap does not go on.
            let was_alone = self.phase.swap(IDLE, Ordering::Acquire) & OVERLAPPED == 0;
            let next = if was_alone { began + due * self.period } else { self.now() };
            // Release: pairs with the Acquire in `began`. Whoever sees it sees the generation.
            self.began.store(next, Ordering::Release);
            return result;
        }
    }

    /// Whether an insert that has found a generation due may go on beside the thread that advances.
    fn may_go_on(&self) -> bool {
        // AcqRel: pairs with the Release before the advance, and with the Acquire behind it. If this thread sees that
        // another one advances, that one sees this.
        let is_advancing = self.phase.fetch_or(OVERLAPPED, Ordering::AcqRel) & ADVANCING != 0;
        // Afterwards: if several generations were due for the thread that advances, they are due by now.
        is_advancing && passed(self.began(), self.now(), self.period) < 2
    }

    fn began(&self) -> u64 {
        // Acquire: pairs with the Release in `advance_due`.
        self.began.load(Ordering::Acquire)
    }

    #[inline]
    fn now(&self) -> u64 {
        nanoseconds((self.now)()).saturating_add(self.ahead)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64 as Atomic;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    const PERIOD: Duration = Duration::from_nanos(10);

    /// A clock of its own for each test.
    macro_rules! clock {
        ($now:ident) => {
            static $now: Atomic = Atomic::new(0);
            fn now() -> Duration {
                Duration::from_nanos($now.load(Ordering::SeqCst))
            }
        };
    }

    fn advance(timer: &Timer, advance: impl FnOnce(u64) -> usize) -> usize {
        timer.advance_due(advance, Mutex::lock)
    }

    #[test]
    fn each_period_is_due_once() {
        clock!(NOW);
        let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
        let mut ended = 0;
        for time in 0..100 {
            NOW.store(time, Ordering::SeqCst);
            assert_eq!(timer.is_due(), time / 10 > ended);
            if time % 7 == 0 {
                advance(&timer, |due| {
                    ended += due;
                    0
                });
                assert_eq!(ended, time / 10);
            }
        }
        assert!(Timer::new(Duration::ZERO, PERIOD, now).is_none());
    }

    /// An insert that finds one generation due while another thread advances goes on; then the next one counts from the
    /// end of the advance, and else from when it was due.
    #[test]
    fn an_insert_that_goes_on_moves_the_next_generation() {
        clock!(NOW);
        for goes_on in [true, false] {
            NOW.store(0, Ordering::SeqCst);
            let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
            NOW.store(15, Ordering::SeqCst);
            let removed = advance(&timer, |due| {
                assert_eq!(due, 1);
                NOW.store(17, Ordering::SeqCst);
                if goes_on {
                    assert_eq!(advance(&timer, |_| unreachable!("another thread does")), 0);
                }
                NOW.store(18, Ordering::SeqCst);
                3
            });
            assert_eq!((removed, timer.began()), (3, if goes_on { 18 } else { 10 }));
            // It is forgotten.
            NOW.store(38, Ordering::SeqCst);
            advance(&timer, |_| 0);
            assert_eq!(timer.began(), if goes_on { 38 } else { 30 });
        }
    }

    /// One that finds two generations due waits until they have ended.
    #[test]
    fn an_insert_waits_where_two_generations_are_due() {
        clock!(NOW);
        let timer = &Timer::new(PERIOD, Duration::ZERO, now).unwrap();
        let (send, receive) = mpsc::channel();
        NOW.store(25, Ordering::SeqCst);
        thread::scope(|scope| {
            advance(timer, |due| {
                assert_eq!(due, 2);
                scope.spawn(move || {
                    assert_eq!(advance(timer, |_| unreachable!("they have ended")), 0);
                    send.send(()).unwrap();
                });
                let early = receive.recv_timeout(Duration::from_millis(50));
                early.expect_err("it has not waited");
                0
            });
            receive.recv_timeout(Duration::from_secs(60)).expect("it waits for ever");
        });
        assert_eq!(timer.began(), 20);
    }
}
