//! Contention at its worst: a hot item, the smallest table, and the lock of a stripe beside a mutex that
//! parks its waiters, with more threads than cores and with a holder that is stopped.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- contention --help
//! ```

mod locks;
mod page;
mod plots;
mod tables;

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use coucal_measure::timing::{million_ops, together};
use hdrhistogram::Histogram;

use crate::concurrent::histogram;
use crate::number;
use crate::output::{Output, Page, Progress};
use crate::results::Results;

/// Million operations per second of all threads together.
pub const RATE: &str = "Mops/s";
pub const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// Operations between two looks at the clock where they are not timed.
const UNTIMED: usize = 64;
/// The longest operation of a round.
pub const LONGEST: &str = "longest";

pub fn percentile_figure(percentile: f64) -> String {
    format!("{percentile} %")
}

/// The name of a figure in a scene.
pub fn scene_figure(scene: &str, figure: &str) -> String {
    format!("{scene}: {figure}")
}

/// Measures what happens when many threads want the same bucket or the same lock.
///
/// Writes performance-contention.md (the part between two markers), performance-contention.csv and
/// plots.
#[derive(Args)]
pub struct Arguments {
    /// Few and short rounds: to check that everything works.
    #[arg(long)]
    quick: bool,
    /// The size of the table with a hot item, which is half full; powers are written as 2^18.
    #[arg(long, value_parser = number)]
    slots: Option<u64>,
    /// Rounds of each figure.
    #[arg(long)]
    rounds: Option<usize>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1,2,8,64")]
    threads: Vec<usize>,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    output: Output,
}

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// One hot item, and a table of eight slots.
    Tables,
    /// The lock of a stripe beside a mutex.
    Locks,
    /// What it takes to wait for a holder that is stopped.
    Waiting,
}

/// Measures a part with this number of threads.
type Measure = fn(&Plan, usize, &mut Results);

/// What to measure.
struct Plan {
    slots: u64,
    rounds: usize,
    threads: Vec<usize>,
    /// How long each figure is measured.
    duration: Duration,
    only: Vec<Part>,
    progress: Progress,
}

impl Plan {
    fn new(arguments: &Arguments) -> Self {
        let (rounds, millis) = if arguments.quick { (2, 400) } else { (5, 1000) };
        Self {
            slots: arguments.slots.unwrap_or(1 << 18),
            rounds: arguments.rounds.unwrap_or(rounds).max(1),
            threads: arguments.threads.clone(),
            duration: Duration::from_millis(millis),
            only: arguments.only.clone(),
            progress: Progress::new(),
        }
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn measure(&self) -> Results {
        self.progress.results(|results| {
            let parts: [(Part, Measure); 3] = [
                (Part::Tables, tables::measure),
                (Part::Locks, locks::measure),
                (Part::Waiting, locks::waiting),
            ];
            for round in 0..self.rounds {
                for &threads in &self.threads {
                    for (part, measure) in parts.iter().filter(|part| self.has(part.0)) {
                        self.progress
                            .say(&format!("round {}, {threads} threads: {part:?}", round + 1));
                        measure(self, threads, results);
                    }
                }
            }
        })
    }
}

/// What some threads did: their throughput, and the nanoseconds of each operation.
struct Record {
    operations: u64,
    rate: f64,
    histogram: Histogram<u64>,
}

impl Record {
    /// Each thread does its operation again and again: first without a look at the clock after each, then
    /// with one. `beside` runs on one more thread each time.
    fn of<F: FnMut()>(
        duration: Duration,
        threads: usize,
        beside: &(dyn Fn() + Sync),
        thread: impl Fn(usize) -> F + Sync,
    ) -> Self {
        let (elapsed, counts) = all(threads, beside, |number| {
            let mut operation = thread(number);
            let (end, mut count) = (Instant::now() + duration / 2, 0);
            while Instant::now() < end {
                (0..UNTIMED).for_each(|_| operation());
                count += UNTIMED;
            }
            count
        });
        let untimed: usize = counts.into_iter().sum();
        let (_, histograms) = all(threads, beside, |number| {
            let (mut operation, mut histogram) = (thread(number), histogram());
            let mut last = Instant::now();
            let end = last + duration / 2;
            while last < end {
                operation();
                let now = Instant::now();
                histogram.saturating_record((now - last).as_nanos() as u64);
                last = now;
            }
            histogram
        });
        let mut histogram = histogram();
        for other in histograms {
            histogram += other;
        }
        let operations = untimed as u64 + histogram.len();
        Self { operations, rate: million_ops(untimed, elapsed), histogram }
    }

    fn push(&self, place: (u64, usize), name: &str, scene: &str, results: &mut Results) {
        let mut push = |figure: &str, value: f64| {
            results.push(place, name, &scene_figure(scene, figure), value);
        };
        push(RATE, self.rate);
        for percentile in PERCENTILES {
            let nanos = self.histogram.value_at_percentile(percentile);
            push(&percentile_figure(percentile), nanos as f64);
        }
        push(LONGEST, self.histogram.max() as f64);
    }
}

/// Has some threads do the work together, and one more do something beside them.
fn all<R: Send>(
    threads: usize,
    beside: &(dyn Fn() + Sync),
    work: impl Fn(usize) -> R + Sync,
) -> (Duration, Vec<R>) {
    thread::scope(|scope| {
        scope.spawn(beside);
        together((0..threads).collect(), work)
    })
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let page = Page { name: "performance-contention", plots: plots::all, markdown: page::markdown };
    arguments.output.write(&page, || Ok(Plan::new(arguments).measure()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::COUCAL;

    #[test]
    fn a_run_makes_a_page_with_every_part() {
        let plan = Plan {
            slots: 1 << 10,
            rounds: 1,
            threads: vec![1, 3],
            duration: Duration::from_millis(5),
            only: Vec::new(),
            progress: Progress::new(),
        };
        let results = plan.measure();
        let page = page::markdown(&results, &[]);
        for scene in
            [tables::HOT, tables::SMALLEST].into_iter().chain(locks::SCENES.map(|scene| scene.name))
        {
            assert!(page.contains(&format!("### {}\n", page::title(scene))), "{scene}: {page}");
        }
        for name in locks::NAMES {
            assert!(page.contains(&format!("| {name}, 3 threads")), "{name}: {page}");
        }
        for (slots, scene) in [(1 << 10, tables::HOT), (8, tables::SMALLEST)] {
            let rate = results.at(slots, 3).median(COUCAL, &scene_figure(scene, RATE));
            assert!(rate.is_some_and(|rate| rate > 0.0), "{scene}");
        }
    }
}
