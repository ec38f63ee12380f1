//! The time of the machine: exact, or coarse and cheap.
//!
//! **Invariant:** of each clock the times are those since one instant, and never go back.

// A look at the exact clock keeps a processor from looking at the table ahead: with it, an insert in a table that is
// larger than the cache takes several times as long.
#![allow(unsafe_code, reason = "the standard library has no clock that costs less than an insert")]

use core::time::Duration;
use std::time::Instant;

use super::timer::Now;
use crate::sync::OnceLock;

/// For shorter periods the coarse clock, which goes on by up to 10 ms at a time, is too coarse.
const MIN_COARSE_PERIOD: Duration = Duration::from_secs(1);

/// The clock for a period.
pub(crate) fn clock_for(period: Duration) -> Now {
    if period < MIN_COARSE_PERIOD { exact } else { coarse_clock() }
}

/// Since this was asked first.
fn exact() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(all(target_os = "linux", not(miri)))]
fn coarse_clock() -> Now {
    fn now() -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a valid place for the time.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
        (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
    // It fails where the kernel has none: then always.
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
