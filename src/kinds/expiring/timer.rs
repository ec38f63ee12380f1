//! Decides by a clock when the next generation is due.
//!
//! **Invariant:** the timer does not remove an item whose insert was called at time t before t + (N - 1) · period, for
//! N generations.
//!
//! Each insert reads the clock first. If generations are due, it *advances* before it stores anything: it ends as many
//! generations as have passed. One thread advances at a time. Another insert that finds a generation due meanwhile
//!
//! * goes on if the advancing thread ends one generation, however long that takes. Such an insert may store the stamp
//!   of the generation that ends. It sets `OVERLAPPED`. Then the next generation counts from the end of the advance,
//!   and not from when it was due;
//! * waits if the advancing thread ends several generations: the stamp that the insert would store may be one that is
//!   being removed.
//!
//! **Rest:** the time between the end of an advance and the next advance is at least the time that the first one took,
//! or a period if that is less. So inserts make progress even if a period is shorter than a sweep. If the rest would be
//! shorter, the next generation begins later than it was due.
//!
//! A clone of the filter gets its table first, and then the time at which the present generation began. So this is the
//! time of the generation in the table, or of a later one, and the clone forgets nothing too early. While a thread
//! advances, the time may be that of the generation before: then the clone begins its period now.
//!
//! Why the invariant holds: let an item have the stamp of generation s, and let its insert have been called at time t.
//! Then generation s + 1 began at t or later, *as the timer counts*:
//!
//! (a) The insert saw that generation s, or an earlier one, had not lasted for a period; or the insert itself began
//! such a generation by an advance. Then s + 1 counts from when it is due, or from later. Both are after t.
//!
//! (b) The insert went on beside the advance that began s + 1. Then s + 1 counts from the end of this advance, which is
//! after t.
//!
//! From there on, each of the N - 1 further generations counts from one period after the one before it, or from later,
//! and the timer calls no advance earlier than that. The last of these advances removes s. So it does no harm if a
//! generation begins later than it was due, because of an overlap or of a rest.

use core::panic::RefUnwindSafe;
use core::time::Duration;

use crate::sync::{AtomicU64, AtomicUsize, Backoff, Mutex, MutexGuard, Ordering};

/// Returns the time since some fixed instant, and never goes back.
pub(crate) type Now = fn() -> Duration;

/// No thread advances.
const IDLE: usize = 0;
/// A thread ends one generation.
const ADVANCING: usize = 1;
/// A thread ends several generations.
const ADVANCING_BY_SEVERAL: usize = 2;
/// A thread has ended generations, and has not stored yet when the present one began.
const ENDING: usize = 3;
/// A bit beside these states: an insert has seen the state. With [`ADVANCING`] it says that this insert goes on. With
/// the other states it has no meaning.
const OVERLAPPED: usize = 4;

pub(crate) struct Timer {
    now: Now,
    /// The length of a generation, in nanoseconds, as all times in this module.
    period: u64,
    /// The time to add to that of the clock: the present generation may have begun before the clock's first instant.
    ahead: u64,
    /// The time at which the present generation began.
    began: AtomicU64,
    /// Held by the thread that advances. It is locked before the mutex `removing` of the table.
    advancing: Mutex<()>,
    /// Whether a thread advances, and whether an insert goes on beside it.
    phase: AtomicUsize,
    /// The duration of the longest sweep.
    longest_sweep: AtomicU64,
}

// If a clock panics, the mutex is unlocked. If it panics after an advance, the next generation counts from when it was
// due, and not from the end of the advance: an item whose insert went on beside the advance may be forgotten early.
impl RefUnwindSafe for Timer {}

impl Timer {
    /// Makes a timer whose present generation has lasted for `elapsed` already. Returns `None` if `period` is zero.
    pub(crate) fn new(period: Duration, elapsed: Duration, now: Now) -> Option<Self> {
        // `ahead` is at most half of all times: the other half is left for the clock to advance.
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
            longest_sweep: AtomicU64::new(0),
        }
    }

    /// Returns a timer with the same times, for a clone of the table that was made before this call.
    pub(crate) fn copy(&self) -> Self {
        let (began, _) = self.began_and_now();
        Self::beginning_at(began, self.period, self.ahead, self.now)
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// Returns how long the present generation has lasted, or less while a thread advances.
    pub(crate) fn elapsed(&self) -> Duration {
        let (began, now) = self.began_and_now();
        Duration::from_nanos(now.saturating_sub(began))
    }

    /// Returns the time at which the present generation began, and the time now. While a thread advances, both are now.
    fn began_and_now(&self) -> (u64, u64) {
        let (began, now) = (self.began(), self.now());
        // By the clock, a generation is ended only by a thread that has found a whole period over. So until then, no
        // thread is between the end of this generation and the store of the next `began`.
        if now.saturating_sub(began) < self.period {
            return (began, now);
        }
        // Acquire: pairs with the Release at the end of `advance_due`. A thread that has seen the generation after an
        // advance, and sees `IDLE`, sees when this generation began.
        let phase = self.phase.load(Ordering::Acquire) & !OVERLAPPED;
        (if phase == IDLE { self.began() } else { now }, now)
    }

    /// Returns whether a generation is due.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        // The same as `passed(..) > 0`, without a division.
        self.now().saturating_sub(self.began()) >= self.period
    }

    /// Calls `advance` with the number of generations that are due, unless another thread does. Returns the result of
    /// `advance`, or 0. `lock` waits for the mutex.
    #[cold]
    #[inline(never)]
    pub(crate) fn advance_due<'a>(
        &'a self,
        advance: impl FnOnce(u64) -> usize,
        lock: impl Fn(&'a Mutex<()>) -> MutexGuard<'a, ()>,
    ) -> usize {
        let backoff = Backoff::new();
        loop {
            let (began, start) = (self.began(), self.now());
            let due = passed(began, start, self.period);
            if due == 0 {
                return 0;
            }
            let Some(_advancing) = self.advancing.try_lock() else {
                // AcqRel: pairs with the Release before the advance, and with the Acquire behind it. If this thread
                // goes on, the advancing thread sees that.
                match self.phase.fetch_or(OVERLAPPED, Ordering::AcqRel) & !OVERLAPPED {
                    ADVANCING => return 0,
                    ADVANCING_BY_SEVERAL => drop(lock(&self.advancing)),
                    // The other thread is about to advance, or has ended. In a user's model, the clock may be a step of
                    // its own: so the other thread may have no turn yet.
                    _ if cfg!(all(loom, feature = "loom", not(coucal_model))) => {
                        drop(lock(&self.advancing));
                    }
                    _ => backoff.sleep(),
                }
                continue;
            };
            if self.began() != began {
                // Another thread has advanced.
                continue;
            }
            let advancing = if due > 1 { ADVANCING_BY_SEVERAL } else { ADVANCING };
            // Release: pairs with the Acquire of an insert that goes on. So this insert knows the generation that ends
            // here, and stores no older stamp.
            self.phase.store(advancing, Ordering::Release);
            let result = advance(due);
            // Acquire: pairs with the Release of an insert that goes on. So the time that is read below is not before
            // that of the insert. An insert that comes after this swap does not go on.
            let phase = self.phase.swap(ENDING, Ordering::Acquire);
            let mut ending = Ending { timer: self, began: began + due * self.period };
            let end = self.now();
            let rest = self.note_sweep(start, end).min(self.period);
            // If an insert went on, the rest is a whole period.
            let rest = if phase == ADVANCING | OVERLAPPED { self.period } else { rest };
            ending.began = ending.began.max(end.saturating_sub(self.period - rest));
            drop(ending);
            return result;
        }
    }

    /// Calls `sweep`, which sweeps the table outside of `advance_due`, and notes its duration.
    pub(crate) fn measure<T>(&self, sweep: impl FnOnce() -> T) -> T {
        let start = self.now();
        let swept = sweep();
        self.note_sweep(start, self.now());
        swept
    }

    /// Returns the duration of a sweep between these times, and notes the longest one.
    fn note_sweep(&self, start: u64, end: u64) -> u64 {
        let sweep = end.saturating_sub(start);
        // Relaxed: a number that orders nothing.
        self.longest_sweep.fetch_max(sweep, Ordering::Relaxed);
        sweep
    }

    pub(crate) fn longest_sweep(&self) -> Duration {
        // Relaxed: a number that orders nothing.
        Duration::from_nanos(self.longest_sweep.load(Ordering::Relaxed))
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

/// Stores on drop when the present generation began, and that no thread advances: also if the clock panics. (Otherwise
/// the generations that have ended would be due once more.)
struct Ending<'a> {
    timer: &'a Timer,
    /// The time at which the generation was due, or the later time from which it counts.
    began: u64,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Timer::began`. A thread that sees this time sees the generation.
        self.timer.began.store(self.began, Ordering::Release);
        // Release: pairs with the Acquire in `began_and_now`.
        self.timer.phase.store(IDLE, Ordering::Release);
    }
}

/// Returns the time in nanoseconds, which has room for 584 years.
#[inline]
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the number of periods between `began` and `now`.
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

    /// Gives each test a clock of its own.
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

    /// An insert that finds one generation due while another thread advances goes on. Then the next generation counts
    /// from the end of the advance, and otherwise from when it was due.
    #[test]
    fn an_insert_that_goes_on_moves_the_next_generation() {
        clock!(NOW);
        for goes_on in [true, false] {
            NOW.store(0, Ordering::SeqCst);
            let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
            NOW.store(11, Ordering::SeqCst);
            let removed = advance(&timer, |due| {
                assert_eq!(due, 1);
                NOW.store(12, Ordering::SeqCst);
                if goes_on {
                    assert_eq!(advance(&timer, |_| unreachable!("another thread does")), 0);
                }
                NOW.store(13, Ordering::SeqCst);
                3
            });
            assert_eq!((removed, timer.began()), (3, if goes_on { 13 } else { 10 }));
            // The next advance does not know of the overlap.
            NOW.store(33, Ordering::SeqCst);
            advance(&timer, |_| 0);
            assert_eq!(timer.began(), if goes_on { 33 } else { 30 });
        }
    }

    /// However long the sweep of one generation takes, no insert waits for it.
    #[test]
    fn inserts_go_on_beside_a_long_sweep() {
        clock!(NOW);
        let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
        NOW.store(19, Ordering::SeqCst);
        advance(&timer, |_| {
            NOW.store(95, Ordering::SeqCst);
            let of_other = |_| unreachable!("another thread does");
            timer.advance_due(of_other, |_| unreachable!("it waits"))
        });
        assert_eq!((timer.began(), timer.longest_sweep()), (95, Duration::from_nanos(76)));
    }

    #[test]
    fn the_longest_sweep_is_kept() {
        clock!(NOW);
        let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
        for (sweep, longest) in [(5, 5), (2, 5), (7, 7)] {
            timer.measure(|| NOW.fetch_add(sweep, Ordering::SeqCst));
            assert_eq!(timer.longest_sweep(), Duration::from_nanos(longest));
        }
    }

    /// After a sweep, at least the time that it took passes without a sweep, up to a period. This holds however late
    /// the sweep began, and however many generations it ended.
    #[test]
    fn sweeps_take_half_of_the_time_at_the_most() {
        clock!(NOW);
        for (start, sweep) in (10..50).flat_map(|start| (0..50).map(move |sweep| (start, sweep))) {
            NOW.store(0, Ordering::SeqCst);
            let timer = Timer::new(PERIOD, Duration::ZERO, now).unwrap();
            NOW.store(start, Ordering::SeqCst);
            let end = start + sweep;
            advance(&timer, |due| {
                assert_eq!(due, start / 10);
                NOW.store(end, Ordering::SeqCst);
                0
            });
            assert_eq!(timer.longest_sweep(), Duration::from_nanos(sweep));
            let next = (0..200).find(|&time| {
                NOW.store(time, Ordering::SeqCst);
                timer.is_due()
            });
            let scheduled = start / 10 * 10 + 10;
            assert_eq!(next, Some(scheduled.max(end + sweep.min(10))), "{start}, {sweep}");
        }
    }

    /// An insert that finds two generations due waits until they have ended.
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
