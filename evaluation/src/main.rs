//! Counts what a cuckoo filter stores and how often it errs: figures 2 to 4 of the cuckoo filter paper (Fan,
//! Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014), and the same for a table that grows.
//!
//! ```text
//! cargo run --release -p evaluation
//! ```
//!
//! Nothing here is timed, and all keys are fixed: the figures do not depend on the machine.

mod growth;
mod layouts;
mod occupancy;
mod output;
mod simulation;
mod space;

use std::error::Error;
use std::path::Path;
use std::thread;
use std::time::Instant;

use clap::{Parser, ValueEnum};

use crate::output::Figure;

/// Makes the figures of `docs/evaluation.md`: for each of them a CSV file and plots in `docs/evaluation/`,
/// and its table in the page. The rest of the page is left as it is.
#[derive(Parser)]
struct Arguments {
    /// Only these figures.
    figures: Vec<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Load factor over fingerprint length.
    Fig2,
    /// Bits per item over false-positive rate, by slots per bucket.
    Fig3,
    /// Load factor, false-positive rate and bits per item of each layout.
    Fig4,
    /// The same while a table grows.
    Growth,
}

impl Name {
    fn make(self) -> Figure {
        match self {
            Self::Fig2 => occupancy::figure([10, 15, 20]),
            Self::Fig3 => space::figure(1 << 15),
            Self::Fig4 => layouts::figure(1_000_000),
            Self::Growth => growth::figure(1 << 12, 10),
        }
    }
}

/// Threads for independent work.
fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = Arguments::parse().figures;
    if names.is_empty() {
        names = Name::value_variants().to_vec();
    }
    for name in names {
        let begun = Instant::now();
        let figure = name.make();
        figure.write(Path::new(output::DOCS))?;
        println!("{}: {:.0} s", figure.name, begun.elapsed().as_secs_f64());
    }
    Ok(())
}
