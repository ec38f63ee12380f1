//! Threads that start together, and the median of several runs.

use std::iter;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Gives each input to a thread of its own, starts all of them together, and returns their results.
///
/// # Panics
///
/// When `work` panics.
pub fn together<I: Send, R: Send>(inputs: Vec<I>, work: impl Fn(I) -> R + Sync) -> Vec<R> {
    let barrier = Barrier::new(inputs.len());
    let started = |input| {
        barrier.wait();
        work(input)
    };
    thread::scope(|scope| {
        let started = &started;
        let spawn = |input| scope.spawn(move || started(input));
        let threads: Vec<_> = inputs.into_iter().map(spawn).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    })
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
    let results = together((0..threads).collect(), take_all);
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
    fn parallel_map_keeps_the_order() {
        let inputs: Vec<_> = (0..100).collect();
        let doubled: Vec<_> = inputs.iter().map(|input| 2 * input).collect();
        assert_eq!(parallel_map(3, &inputs, |input| 2 * input), doubled);
    }
}
