//! The whole comparison in one program: tables, plots and a machine-readable file.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- --help
//! ```

mod crowd;
mod machine;
mod plots;
mod race;
mod report;
mod results;
mod targets;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::results::Results;

/// Compares coucal with the limit of the machine and with its peers.
///
/// Writes performance.md (its part between two markers; text around them stays), performance.csv
/// and plots in performance/. The whole takes some 20 minutes on two cores.
#[derive(Parser)]
struct Arguments {
    /// Small tables and few runs: a look whether everything works.
    #[arg(long)]
    quick: bool,
    /// The sizes of the tables, powers written as 2^24.
    #[arg(long, value_delimiter = ',', value_parser = number)]
    slots: Vec<u64>,
    /// Runs of each figure. Fills of 2^24 slots get half as many, of 2^27 a ninth.
    #[arg(long)]
    runs: Option<usize>,
    /// Lookups of a run.
    #[arg(long, value_parser = number)]
    lookups: Option<u64>,
    /// Only these subjects.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Topic>,
    /// Only these peers, by the beginning of their name.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Nothing but coucal and the limit.
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    /// Where the files go.
    #[arg(long, default_value = "target/performance")]
    out: PathBuf,
    /// Measures nothing: writes the tables and plots of an earlier CSV again.
    #[arg(long)]
    from: Option<PathBuf>,
}

/// A subject of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Topic {
    Lookup,
    Insert,
    Remove,
    Unique,
    Batch,
    Full,
    Threads,
    Latency,
}

/// `2^24` or plain digits.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.split_once('^') {
        Some((base, power)) => base.parse::<u64>().ok().zip(power.parse().ok()),
        None => text.parse().ok().zip(Some(1)),
    };
    let value = parsed.and_then(|(base, power)| base.checked_pow(power));
    value.filter(|value| *value > 0).ok_or_else(|| format!("{text} is not a number like 2^24"))
}

/// What is to be measured.
struct Plan {
    slots: Vec<u64>,
    runs: usize,
    lookups: u64,
    only: Vec<Topic>,
    /// Beginnings of names; `None` for all.
    peers: Option<Vec<String>>,
    progress: ProgressBar,
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
        let progress = ProgressBar::no_length().with_style(
            ProgressStyle::with_template("{elapsed_precise} {spinner} {msg}")
                .expect("the template is well formed"),
        );
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
            progress,
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.only.is_empty() || self.only.contains(&topic)
    }

    fn has_any(&self, topics: &[Topic]) -> bool {
        topics.iter().any(|topic| self.has(*topic))
    }

    /// Whether the filter of this name takes part.
    fn races(&self, name: &str) -> bool {
        let chosen = |peers: &Vec<String>| peers.iter().any(|peer| name.starts_with(peer));
        name == "coucal" || self.peers.as_ref().is_none_or(chosen)
    }

    /// Tells what is going on: a line that changes on a terminal, lines elsewhere.
    fn say(&self, what: &str) {
        if self.progress.is_hidden() {
            eprintln!("{:>6.1} s  {what}", self.progress.elapsed().as_secs_f64());
        } else {
            self.progress.set_message(what.to_owned());
            self.progress.tick();
        }
    }

    fn measure(&self) -> Results {
        use Topic::{Batch, Full, Insert, Latency, Lookup, Remove, Threads, Unique};
        let mut results = Results::default();
        results.notes = machine::describe();
        results.notes.push(("command".into(), command()));
        for &slots in &self.slots {
            if self.has_any(&[Lookup, Insert, Remove, Unique, Batch]) {
                race::run(self, slots, &mut results);
            }
            if self.has(Batch) {
                race::insert_many(self, slots, &mut results);
            }
            if self.has(Full) {
                race::full(self, slots, &mut results);
            }
        }
        // One size for the threads: out of the inner caches, and quickly filled.
        let middle = self.slots.iter().rfind(|slots| **slots <= 1 << 24);
        if let Some(&slots) = middle.or(self.slots.first()) {
            if self.has(Threads) {
                crowd::throughput(self, slots, &mut results);
            }
            if self.has(Latency) {
                crowd::latency(self, slots, &mut results);
            }
        }
        results.notes.push(("seconds".into(), self.progress.elapsed().as_secs().to_string()));
        self.progress.finish_and_clear();
        results
    }
}

fn command() -> String {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let command =
        format!("cargo run --release -p coucal-benches --bin compare -- {}", arguments.join(" "));
    command.trim_end_matches(" -- ").to_owned()
}

fn write(out: &Path, results: &Results) -> Result<(), Box<dyn Error>> {
    let folder = out.join("performance");
    fs::create_dir_all(&folder)?;
    fs::write(out.join("performance.csv"), results.to_csv())?;
    let plots = plots::draw(&folder, results)?;
    let page = out.join("performance.md");
    let before = fs::read_to_string(&page).unwrap_or_default();
    let report = report::markdown(results, &plots);
    fs::write(&page, report::renewed(&before, &report))?;
    println!("{report}\nwritten: {}", page.display());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let results = match &arguments.from {
        Some(csv) => Results::from_csv(&fs::read_to_string(csv)?)
            .ok_or_else(|| format!("{} is not a file of this program", csv.display()))?,
        None => Plan::new(&arguments).measure(),
    };
    write(&arguments.out, &results)
}
