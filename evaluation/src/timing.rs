//! Several threads at once, and the median of several runs.

use std::iter;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine;

/// Pieces of independent work at once: the largest of them take 1 GiB each.
const MOST_AT_ONCE: usize = 4;

/// Hands each input to a thread of its own, lets all begin at once, and says how long it was from
/// the first beginning to the last end.
pub fn together<I: Send, R: Send>(
    inputs: Vec<I>,
    work: impl Fn(I) -> R + Sync,
) -> (Duration, Vec<R>) {
    let barrier = Barrier::new(inputs.len());
    let timed = |input| {
        barrier.wait();
        let begun = Instant::now();
        let result = work(input);
        (begun, Instant::now(), result)
    };
    let runs: Vec<_> = thread::scope(|scope| {
        let timed = &timed;
        let threads: Vec<_> =
            inputs.into_iter().map(|input| scope.spawn(move || timed(input))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    let begun = runs.iter().map(|run| run.0).min();
    let ended = runs.iter().map(|run| run.1).max();
    let elapsed = begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun);
    (elapsed, runs.into_iter().map(|run| run.2).collect())
}

/// Million a second.
pub fn rate(operations: usize, elapsed: Duration) -> f64 {
    operations as f64 / elapsed.as_secs_f64() / 1e6
}

/// Spreads independent work over the cores, and keeps the order of the results. Each core takes the
/// next piece that nobody has.
pub fn over_cores<I: Sync, R: Send>(inputs: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = |_core| {
        let take = || {
            // Relaxed: a ticket, and orders nothing.
            let index = next.fetch_add(1, Ordering::Relaxed);
            Some((index, inputs.get(index)?))
        };
        let mine = iter::from_fn(take);
        mine.map(|(index, input)| (index, work(input))).collect::<Vec<_>>()
    };
    let (_, shares) = together((0..machine::cores().min(MOST_AT_ONCE)).collect(), take);
    let mut results: Vec<_> = shares.into_iter().flatten().collect();
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

/// Not a number where there are no runs.
pub fn median(runs: &[f64]) -> f64 {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        runs => f64::midpoint(sorted[(runs - 1) / 2], sorted[runs / 2]),
    }
}

/// The median of the ratios that the runs have one by one.
pub fn ratio(above: &[f64], below: &[f64]) -> f64 {
    let ratios: Vec<_> = above.iter().zip(below).map(|(above, below)| above / below).collect();
    median(&ratios)
}
