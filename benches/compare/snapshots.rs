//! Snapshots: what writers and lookups notice of them, their time, and that of their bytes.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- snapshots --help
//! ```

mod beside;
mod bytes;
mod page;
mod plots;

use std::error::Error;

use clap::Args;
use coucal::{CuckooFilter, Fp16x4, Growable, Storage};
use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{Keys, Which};
use coucal_measure::peers::{Coucal, coucal_with_slots};
use coucal_measure::subject::{Operation, Subject};

use crate::number;
use crate::output::{Output, Page, Progress};
use crate::results::Results;
use crate::single::chunks;

/// The tables.
pub const FIXED: &str = "coucal";
pub const GROWING: &str = "coucal, growing";
pub const TABLES: [&str; 2] = [FIXED, GROWING];

/// Doublings of a growing table before it has the size for which it is measured.
const GROWN: u32 = 9;

/// Measures how long writers wait for a snapshot, and how long a snapshot takes, is written, and is
/// restored.
///
/// Writes performance-snapshots.md (the part between two markers), performance-snapshots.csv and plots.
#[derive(Args)]
pub struct Arguments {
    /// Small tables and few rounds: to check that everything works.
    #[arg(long)]
    quick: bool,
    /// Table sizes; powers are written as 2^24.
    #[arg(long, value_delimiter = ',', value_parser = number)]
    slots: Vec<u64>,
    /// Rounds of each figure. Tables of more than 2^24 slots have half as many, and at least 3.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    output: Output,
}

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Lookups beside snapshots.
    Lookups,
    /// Inserts beside snapshots.
    Inserts,
    /// The time of a snapshot, and of its bytes.
    Bytes,
}

/// What to measure.
struct Plan {
    slots: Vec<u64>,
    rounds: usize,
    only: Vec<Part>,
    progress: Progress,
}

impl Plan {
    fn new(arguments: &Arguments) -> Self {
        let (slots, rounds) = if arguments.quick {
            (vec![1 << 16, 1 << 20], 2)
        } else {
            (vec![1 << 18, 1 << 24, 1 << 27], 7)
        };
        Self {
            slots: if arguments.slots.is_empty() { slots } else { arguments.slots.clone() },
            rounds: arguments.rounds.unwrap_or(rounds).max(1),
            only: arguments.only.clone(),
            progress: Progress::new(),
        }
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn rounds(&self, slots: u64) -> usize {
        if slots > 1 << 24 { self.rounds.min(3.max(self.rounds / 2)) } else { self.rounds }
    }

    /// Snapshots of a round, so that it takes some tenths of a second.
    fn snapshots(slots: u64) -> usize {
        (1 << 26 >> slots.ilog2()).clamp(2, 200)
    }

    fn measure(&self) -> Results {
        self.progress.results(|results| {
            for &slots in &self.slots {
                let table = Table {
                    name: FIXED,
                    slots,
                    items: (slots as f64 * 0.94) as u64,
                    subject: Coucal::<Fp16x4, _>(coucal_with_slots(slots as usize)),
                };
                self.table(table, results);
                // The load that it keeps while it grows.
                let table = Table::<Growable<Fp16x4>> {
                    name: GROWING,
                    slots,
                    items: (slots as f64 * 0.87) as u64,
                    subject: Coucal::grown((slots >> GROWN) as usize, GROWN, GROWN + 1),
                };
                self.table(table, results);
            }
        })
    }

    fn table<L: Storage>(&self, mut table: Table<L>, results: &mut Results) {
        self.say(&table, "fill");
        table.fill();
        if self.has(Part::Bytes) {
            bytes::times(self, &table, results);
        }
        if self.has(Part::Lookups) {
            beside::lookups(self, &table, results);
        }
        // Last: afterwards it holds other items.
        if self.has(Part::Inserts) {
            beside::inserts(self, &table, results);
        }
    }

    fn say<L: Storage>(&self, table: &Table<L>, what: &str) {
        self.progress.say(&format!("{}, {} slots: {what}", table.name, table.slots));
    }
}

/// A table, and the items that it holds.
struct Table<L: Storage> {
    name: &'static str,
    slots: u64,
    items: u64,
    subject: Coucal<L, KeyHash>,
}

impl<L: Storage> Table<L> {
    fn keys() -> Keys {
        Keys::new(900)
    }

    fn filter(&self) -> &CuckooFilter<L, KeyHash> {
        &self.subject.0
    }

    fn fill(&mut self) {
        let subject: &mut dyn Subject = &mut self.subject;
        let range = 0..self.items;
        let (_, stored) =
            chunks(subject, Operation::InsertMany, Self::keys(), Which::InOrder, range);
        assert_eq!(stored, self.items, "there is room");
    }

    /// A table that holds the same.
    fn twin(&self) -> Coucal<L, KeyHash> {
        let snapshot = self.filter().snapshot().expect("memory for a snapshot");
        let twin = CuckooFilter::from_snapshot(snapshot, KeyHash::default());
        Coucal(twin.expect("memory for a second table"))
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let page = Page { name: "performance-snapshots", plots: plots::all, markdown: page::markdown };
    arguments.output.write(&page, || Ok(Plan::new(arguments).measure()))
}
