//! Threads that start together, and the median of several runs.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{iter, mem};

/// Gives each input to a thread of its own, starts all of them together, and returns the time from
/// the first start to the last end.
///
/// # Panics
///
/// When `work` panics.
pub fn together<I: Send, R: Send>(
    inputs: Vec<I>,
    work: impl Fn(I) -> R + Sync,
) -> (Duration, Vec<R>) {
    let barrier = Barrier::new(inputs.len());
    let timed = |input| {
        barrier.wait();
        let started = Instant::now();
        let result = work(input);
        (started, Instant::now(), result)
    };
    let runs: Vec<_> = thread::scope(|scope| {
        let timed = &timed;
        let threads: Vec<_> =
            inputs.into_iter().map(|input| scope.spawn(move || timed(input))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    let started = runs.iter().map(|run| run.0).min();
    let ended = runs.iter().map(|run| run.1).max();
    let elapsed = started.zip(ended).map_or(Duration::ZERO, |(started, ended)| ended - started);
    (elapsed, runs.into_iter().map(|run| run.2).collect())
}

/// Million operations per second.
#[must_use]
pub fn million_ops(operations: usize, elapsed: Duration) -> f64 {
    operations as f64 / elapsed.as_secs_f64() / 1e6
}

/// What the kernel knows about the turns of this thread on a processor: Linux has it in a file. An
/// interruption of the whole machine, as by another virtual one, is not known there.
struct Turns(Option<File>);

impl Turns {
    /// For the thread that calls this.
    fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// The nanoseconds that it had a processor, those that it waited for one while it could run, and how
    /// often it was given one. `None` where the system does not tell.
    fn read(&mut self) -> Option<[u64; 3]> {
        let file = self.0.as_mut()?;
        file.rewind().ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let mut fields = text.split_whitespace().map(str::parse);
        Some([fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?])
    }
}

/// Tells whether this thread was taken off its processor: by the number of times that the kernel
/// gave it one.
pub struct Switches {
    turns: Turns,
    seen: u64,
}

impl Switches {
    /// For the thread that calls this.
    #[must_use]
    pub fn of_this_thread() -> Self {
        let mut switches = Self { turns: Turns::of_this_thread(), seen: 0 };
        switches.any_since();
        switches
    }

    /// Whether the thread was switched since the last call; `false` where the system does not tell.
    pub fn any_since(&mut self) -> bool {
        let count = self.turns.read().map_or(0, |[_, _, count]| count);
        mem::replace(&mut self.seen, count) != count
    }
}

/// Tells how long this thread could have run and had no processor. Time that it slept is not in it: a
/// thread that waits for a lock may sleep.
pub struct Preempted {
    turns: Turns,
    seen: u64,
}

impl Preempted {
    /// For the thread that calls this.
    #[must_use]
    pub fn of_this_thread() -> Self {
        let mut preempted = Self { turns: Turns::of_this_thread(), seen: 0 };
        preempted.nanos_since();
        preempted
    }

    /// Nanoseconds without a processor since the last call; 0 where the system does not tell.
    pub fn nanos_since(&mut self) -> u64 {
        let nanos = self.turns.read().map_or(0, |[_, nanos, _]| nanos);
        nanos - mem::replace(&mut self.seen, nanos)
    }
}

/// Does the work; also the nanoseconds of it that this thread had a processor. `None` where the system
/// does not tell. The kernel counts them when the thread gives its processor away, and else some hundred
/// times a second.
pub fn with_processor_nanos<R>(work: impl FnOnce() -> R) -> (R, Option<u64>) {
    let mut turns = Turns::of_this_thread();
    let before = turns.read();
    let result = work();
    let after = turns.read();
    (result, before.zip(after).map(|([before, ..], [after, ..])| after - before))
}

/// Distributes independent pieces of work over `threads` threads, and keeps the order of the
/// results. Each thread takes the next piece that no other has taken.
///
/// # Panics
///
/// When `work` panics.
pub fn parallel_map<I: Sync, R: Send>(
    threads: usize,
    inputs: &[I],
    work: impl Fn(&I) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_all = |_thread| {
        let take = || {
            // Relaxed: a counter that orders nothing.
            let index = next.fetch_add(1, Ordering::Relaxed);
            Some((index, inputs.get(index)?))
        };
        let taken = iter::from_fn(take);
        taken.map(|(index, input)| (index, work(input))).collect::<Vec<_>>()
    };
    let (_, results) = together((0..threads).collect(), take_all);
    let mut results: Vec<_> = results.into_iter().flatten().collect();
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

/// The median of the finite values; `None` if there are none.
#[must_use]
pub fn median(runs: &[f64]) -> Option<f64> {
    let mut sorted: Vec<_> = runs.iter().copied().filter(|run| run.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// The median of the ratios of the runs, one by one.
#[must_use]
pub fn ratio(above: &[f64], below: &[f64]) -> Option<f64> {
    let ratios: Vec<_> = above.iter().zip(below).map(|(above, below)| above / below).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_skips_what_was_not_measured() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(median(&[3.0, f64::NAN, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn a_ratio_is_taken_inside_each_run() {
        assert_eq!(ratio(&[2.0, 20.0, 4.0], &[1.0, 5.0, 4.0]), Some(2.0));
    }

    #[test]
    fn a_thread_that_sleeps_is_switched_and_not_preempted_so_long() {
        let (mut switches, mut preempted) =
            (Switches::of_this_thread(), Preempted::of_this_thread());
        let told = switches.turns.read().is_some();
        thread::sleep(Duration::from_millis(300));
        assert_eq!(switches.any_since(), told);
        // Some of it, where others use the processor when it wakes up.
        assert!(preempted.nanos_since() < 200_000_000);
    }

    #[test]
    fn a_thread_that_sleeps_has_no_processor() {
        let asleep = Duration::from_millis(300);
        let ((), nanos) = with_processor_nanos(|| thread::sleep(asleep));
        assert!(nanos.is_none_or(|nanos| u128::from(nanos) < asleep.as_nanos() / 2));
    }

    #[test]
    fn parallel_map_keeps_the_order() {
        let inputs: Vec<_> = (0..100).collect();
        let doubled: Vec<_> = inputs.iter().map(|input| 2 * input).collect();
        assert_eq!(parallel_map(3, &inputs, |input| 2 * input), doubled);
    }
}
