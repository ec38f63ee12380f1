//! The clocks of the machine: an exact one, and one that is coarse and cheap.
//!
//! **Invariant:** a clock returns the time since one instant, always the same, and never goes back.

// Reading the exact clock keeps a processor from reading the table ahead: with this clock, an insert into a table that
// is larger than the cache takes several times as long.
#![allow(unsafe_code, reason = "the standard library has no clock that costs less than an insert")]

use core::time::Duration;
use std::time::Instant;

use super::timer::Now;
use crate::sync::OnceLock;

/// The shortest period for the coarse clock, which advances by up to 10 ms at a time.
const MIN_COARSE_PERIOD: Duration = Duration::from_secs(1);

/// Returns the clock for a period.
pub(crate) fn clock_for(period: Duration) -> Now {
    if period < MIN_COARSE_PERIOD { exact } else { coarse_clock() }
}

/// Returns the time since its first call.
fn exact() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(all(target_os = "linux", not(miri)))]
fn coarse_clock() -> Now {
    fn now() -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place for the time.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
        (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
    // The call fails if the kernel does not have this clock: then it always fails.
    if now().is_some() { || now().unwrap_or_default() } else { exact }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn coarse_clock() -> Now {
    exact
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The coarse clock mostly stands still for a millisecond or more.
    #[test]
    fn a_short_period_has_the_exact_clock() {
        let now = clock_for(Duration::from_millis(999));
        for _ in 0..100 {
            let before = now();
            thread::sleep(Duration::from_micros(1));
            assert!(now() > before);
        }
    }

    #[test]
    fn both_clocks_go_on_as_time_does() {
        for now in [exact, coarse_clock()] {
            let (before, start) = (now(), Instant::now());
            thread::sleep(Duration::from_millis(60));
            let (passed, most) = (now().saturating_sub(before), start.elapsed());
            assert!(passed >= Duration::from_millis(45), "{passed:?}");
            assert!(passed <= most + Duration::from_millis(15), "{passed:?} of {most:?}");
        }
    }
}
