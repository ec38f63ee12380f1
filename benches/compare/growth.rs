//! Growth: a table that grows beside one of fixed size, and beside peers that grow or are rebuilt.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- growth --help
//! ```

mod course;
mod large;
mod page;
mod plots;

use std::error::Error;

use clap::Args;

use crate::number;
use crate::output::{Output, Page, Progress};
use crate::results::Results;

/// What grows, and what it is compared with.
pub const GROWING: &str = "coucal";
pub const FIXED: &str = "coucal, fixed";

/// Compares a filter that grows with one of fixed size, and with filters and sets that grow or are
/// rebuilt.
///
/// Writes performance-growth.md (the part between two markers), performance-growth.csv and plots.
#[derive(Args)]
pub struct Arguments {
    /// Small tables and few runs: to check that everything works.
    #[arg(long)]
    quick: bool,
    /// The slots that grow to --slots: a power of two.
    #[arg(long, value_parser = number)]
    first: Option<u64>,
    /// The size up to which everything grows: a power of two, up to 2^10 times --first.
    #[arg(long, value_parser = number)]
    slots: Option<u64>,
    /// The size for the longest insert: a power of two.
    #[arg(long, value_parser = number)]
    largest: Option<u64>,
    /// Runs of each figure, but for the longest insert.
    #[arg(long)]
    runs: Option<usize>,
    /// Lookups of each run.
    #[arg(long, value_parser = number)]
    lookups: Option<u64>,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Only coucal.
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    output: Output,
}

/// A part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Growing beside the peers.
    Course,
    /// Growing by `insert_many`.
    Many,
    /// Lookups by how far the table has grown.
    Lookups,
    /// Lookups while the table grows.
    Beside,
    /// Two threads that grow one table.
    Threads,
    /// The longest insert.
    Longest,
}

/// Measures a part.
type Measure = fn(&Plan, &mut Results);

/// What to measure.
struct Plan {
    first: u64,
    slots: u64,
    largest: u64,
    runs: usize,
    lookups: u64,
    peers: bool,
    only: Vec<Part>,
    progress: Progress,
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        let (first, slots, largest, runs, lookups) = if arguments.quick {
            (1 << 12, 1 << 17, 1 << 19, 2, 1 << 15)
        } else {
            (1 << 15, 1 << 24, 1 << 27, 3, 1 << 18)
        };
        let plan = Self {
            first: arguments.first.unwrap_or(first),
            slots: arguments.slots.unwrap_or(slots),
            largest: arguments.largest.unwrap_or(largest),
            runs: arguments.runs.unwrap_or(runs).max(1),
            lookups: arguments.lookups.unwrap_or(lookups),
            peers: !arguments.no_peers,
            only: arguments.only.clone(),
            progress: Progress::new(),
        };
        let powers = [plan.first, plan.slots, plan.largest].iter().all(|n| n.is_power_of_two());
        let within = plan.first >= 1 << 10
            && (plan.first << 2..=plan.first << 10).contains(&plan.slots)
            && plan.largest >= plan.slots;
        if powers && within {
            Ok(plan)
        } else {
            Err("--first, --slots and --largest are powers of two from 2^10 on; --slots 4 to 1024 \
                 times --first, --largest no less than --slots"
                .into())
        }
    }

    fn doublings(&self) -> u32 {
        (self.slots / self.first).ilog2()
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn measure(&self) -> Results {
        self.progress.results(|results| {
            let parts: [(Part, Measure); 6] = [
                (Part::Course, course::beside_peers),
                (Part::Many, course::insert_many),
                (Part::Lookups, large::by_extent),
                (Part::Beside, large::while_growing),
                (Part::Threads, large::two_threads),
                (Part::Longest, large::longest),
            ];
            for (_, measure) in parts.iter().filter(|part| self.has(part.0)) {
                measure(self, results);
            }
        })
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let page = Page { name: "performance-growth", plots: plots::all, markdown: page::markdown };
    arguments.output.write(&page, || Ok(Plan::new(arguments)?.measure()))
}
