//! The whole comparison in one program: tables, plots and a machine-readable file.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- --help
//! ```

mod concurrent;
mod contenders;
mod contention;
mod growth;
mod limits;
mod output;
mod plots;
mod report;
mod results;
mod single;
mod snapshots;
mod summary;
mod targets;
mod threads;

use std::alloc::System;
use std::error::Error;

use cap::Cap;
use clap::{Parser, Subcommand, ValueEnum};

use crate::contenders::COUCAL;
use crate::output::{Output, Page, Progress};
use crate::results::Results;

/// Counts the bytes that are allocated: an exact set does not say how much memory it takes.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that are allocated and not freed.
fn allocated() -> usize {
    ALLOCATOR.allocated()
}

/// Compares coucal with the limit of the machine, with other filters and with exact sets.
///
/// Writes performance.md (the part between two markers; the text around them stays), performance.csv
/// and plots in performance/. The recorded run takes about 25 minutes on two cores.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// Small tables and few runs: to check that everything works.
    #[arg(long)]
    quick: bool,
    /// Table sizes; powers are written as 2^24.
    #[arg(long, value_delimiter = ',', value_parser = number)]
    slots: Vec<u64>,
    /// Runs of each figure. Tables of 2^24 slots are filled half as often, of 2^27 a ninth as often.
    #[arg(long)]
    runs: Option<usize>,
    /// Lookups of each run.
    #[arg(long, value_parser = number)]
    lookups: Option<u64>,
    /// Only these topics.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Topic>,
    /// Only peers whose names begin with one of these.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Only coucal and the limit of the machine.
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    #[command(flatten)]
    output: Output,
}

/// Another comparison, on a page of its own.
#[derive(Subcommand)]
enum Other {
    Contention(contention::Arguments),
    Growth(growth::Arguments),
    Snapshots(snapshots::Arguments),
    Threads(threads::Arguments),
}

/// A topic of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    Lookup,
    Insert,
    Remove,
    Unique,
    Batch,
    Full,
    Latency,
}

/// `2^24` or digits.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.split_once('^') {
        Some((base, power)) => base.parse::<u64>().ok().zip(power.parse().ok()),
        None => text.parse().ok().zip(Some(1)),
    };
    let value = parsed.and_then(|(base, power)| base.checked_pow(power));
    value.filter(|value| *value > 0).ok_or_else(|| format!("{text} is not a number like 2^24"))
}

/// What to measure.
struct Plan {
    slots: Vec<u64>,
    runs: usize,
    lookups: u64,
    only: Vec<Topic>,
    /// Prefixes of names; `None` for all peers.
    peers: Option<Vec<String>>,
    progress: Progress,
}

impl Plan {
    fn new(arguments: &Arguments) -> Self {
        let (slots, runs, lookups) = if arguments.quick {
            (vec![1 << 16, 1 << 20], 2, 1 << 17)
        } else {
            (vec![1 << 18, 1 << 24, 1 << 27], 5, 1 << 20)
        };
        let mut slots = if arguments.slots.is_empty() { slots } else { arguments.slots.clone() };
        slots.sort_unstable();
        Self {
            slots,
            runs: arguments.runs.unwrap_or(runs).max(1),
            lookups: arguments.lookups.unwrap_or(lookups),
            only: arguments.only.clone(),
            peers: match arguments.no_peers {
                true => Some(Vec::new()),
                false if arguments.peers.is_empty() => None,
                false => Some(arguments.peers.clone()),
            },
            progress: Progress::new(),
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.only.is_empty() || self.only.contains(&topic)
    }

    fn has_any(&self, topics: &[Topic]) -> bool {
        topics.iter().any(|topic| self.has(*topic))
    }

    /// Whether the contender of this name takes part.
    fn includes(&self, name: &str) -> bool {
        let chosen = |peers: &Vec<String>| peers.iter().any(|peer| name.starts_with(peer));
        name.starts_with(COUCAL) || self.peers.as_ref().is_none_or(chosen)
    }

    fn say(&self, what: &str) {
        self.progress.say(what);
    }

    fn measure(&self) -> Results {
        use Topic::{Batch, Full, Insert, Latency, Lookup, Remove, Unique};
        self.progress.results(|results| {
            for &slots in &self.slots {
                if self.has_any(&[Lookup, Insert, Remove, Unique, Batch]) {
                    single::run(self, slots, results);
                }
                if self.has(Batch) {
                    single::insert_many(self, slots, results);
                    single::at_half_load(self, slots, results);
                }
                if self.has(Full) {
                    single::full(self, slots, results);
                }
            }
            // One size for the latency: larger than the inner caches, and filled quickly.
            let middle = self.slots.iter().rfind(|slots| **slots <= 1 << 24);
            if let Some(&slots) = middle.or(self.slots.first())
                && self.has(Latency)
            {
                concurrent::latency(self, slots, results);
            }
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    match &arguments.other {
        Some(Other::Contention(arguments)) => return contention::run(arguments),
        Some(Other::Growth(arguments)) => return growth::run(arguments),
        Some(Other::Snapshots(arguments)) => return snapshots::run(arguments),
        Some(Other::Threads(arguments)) => return threads::run(arguments),
        None => {}
    }
    let page = Page { name: "performance", plots: plots::all, markdown: report::markdown };
    arguments.output.write(&page, || Ok(Plan::new(&arguments).measure()))
}
