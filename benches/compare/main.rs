//! Compares coucal with what the machine does at best, with other filters and with exact sets.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- --help
//! ```

mod batches;
mod beside;
mod callers;
mod counters;
mod crowds;
mod expiry;
mod filters;
mod growth;
mod hash;
mod hashers;
mod keyed;
mod machine;
mod maplets;
mod output;
mod pages;
mod partitions;
mod peers;
mod pieces;
mod results;
mod sets;
mod snapshots;
mod stash;
mod subject;
mod threads;
mod views;
mod windows;

use std::alloc::System;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use cap::Cap;
use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};
use coucal_benches::plot::Plot;
use coucal_benches::text::Table;

use crate::results::Results;

/// Counts the allocated bytes, since an exact set does not tell how much memory it takes.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Returns the number of bytes that are allocated and not freed.
fn allocated() -> usize {
    ALLOCATOR.allocated()
}

/// Compares coucal with what the machine does at best, with other filters and with exact sets.
///
/// Writes performance/TOPIC.csv and plots, and prints a table for each figure. Where docs/performance.md,
/// docs/cookbook.md or README.md has a place for a table, between `<!-- table: NAME -->` and `<!-- end -->`, the table
/// is replaced if the output folder is docs.
#[derive(Parser)]
#[command(name = "compare")]
struct Arguments {
    /// filters (one thread, beside other filters and sets), batches, threads, growth, maplets, snapshots, stash, crowds
    /// (keys with several values), views, expiry (beside other ways to forget), windows (of the last n items), sets
    /// (set operations), counters, callers (a loop and a large function), hashers (the stable one beside the default
    /// one), keyed (hashers with a secret key beside the default one), or all.
    #[arg(value_parser = topics)]
    topics: &'static [Topic],
    /// Table sizes; powers are written as 2^27. Tables and plots have the last one.
    #[arg(long, value_delimiter = ',', value_parser = number)]
    slots: Vec<u64>,
    /// Rounds of each figure, one or more; otherwise three, and one above 2^24 slots, where a median of chunks of
    /// operations is enough.
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    rounds: Option<usize>,
    /// Only subjects whose names begin with NAME, which may contain a comma. Repeat the option for other subjects.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The output folder.
    #[arg(long, default_value = "target/compare")]
    out: PathBuf,
    /// Measures nothing: makes tables and plots from the CSV files in this folder.
    #[arg(long, conflicts_with_all = ["slots", "rounds", "only"])]
    from: Option<PathBuf>,
    /// Ends the names of tables and files: of a second machine.
    #[arg(long, default_value = "")]
    suffix: String,
}

/// A topic: a group of measurements.
struct Topic {
    name: &'static str,
    slots: &'static [u64],
    /// Returns the names from which `--only` selects; none if all are measured together.
    subjects: fn() -> Vec<&'static str>,
    measure: fn(&Plan, &mut Results),
    tables: fn(&Results) -> Vec<Table>,
    plots: fn(&Results) -> Vec<Plot>,
}

impl Topic {
    /// Checks that each beginning of a name selects a subject. Otherwise the file of this topic would lose its figures.
    fn check(&self, only: &[String]) -> Result<(), String> {
        let (name, subjects) = (self.name, (self.subjects)());
        if subjects.is_empty() && !only.is_empty() {
            return Err(format!("--only has no effect on the topic {name}: leave it out"));
        }
        let selects = |only: &str| subjects.iter().any(|subject| subject.starts_with(only));
        only.iter().find(|only| !selects(only)).map_or(Ok(()), |only| {
            let subjects = subjects.join("\n  ");
            Err(format!("no subject of the topic {name} begins with \"{only}\":\n  {subjects}"))
        })
    }
}

static TOPICS: [Topic; 16] = [
    filters::TOPIC,
    batches::TOPIC,
    threads::TOPIC,
    growth::TOPIC,
    maplets::TOPIC,
    snapshots::TOPIC,
    stash::TOPIC,
    crowds::TOPIC,
    views::TOPIC,
    expiry::TOPIC,
    windows::TOPIC,
    sets::TOPIC,
    counters::TOPIC,
    callers::TOPIC,
    hashers::TOPIC,
    keyed::TOPIC,
];

fn topics(name: &str) -> Result<&'static [Topic], String> {
    if name == "all" {
        return Ok(&TOPICS);
    }
    let topic = TOPICS.iter().find(|topic| topic.name == name);
    topic.map(std::slice::from_ref).ok_or_else(|| format!("there is no topic {name}"))
}

/// The plan of the measurements.
struct Plan {
    slots: Vec<u64>,
    rounds: Option<usize>,
    /// The number of operations of a short measurement; in microseconds, the duration of a measurement that ends at a
    /// certain time.
    operations: u64,
    /// Beginnings of names; all subjects if there are none.
    only: Vec<String>,
    /// Whether to measure the largest size with large pages of memory, too.
    large_pages: bool,
    started: Instant,
}

impl Plan {
    fn rounds(&self, slots: u64) -> usize {
        self.rounds.unwrap_or(if slots > 1 << 24 { 1 } else { 3 })
    }

    /// Returns the size that tables and plots show.
    fn last_slots(&self) -> u64 {
        *self.slots.last().expect("there is a size")
    }

    fn includes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only))
    }

    /// Prints what is being measured, and since when.
    fn say(&self, what: &str) {
        eprintln!("{:>6.1} s  {what}", self.started.elapsed().as_secs_f64());
    }

    /// Returns each size with its rounds.
    fn runs(&self) -> impl Iterator<Item = (u64, usize)> {
        let rounds = |&slots: &u64| (0..self.rounds(slots)).map(move |round| (slots, round));
        self.slots.iter().flat_map(rounds).inspect(|(slots, round)| {
            self.say(&format!("{slots} slots, round {}", round + 1));
        })
    }

    /// Returns the figures of a topic, with notes of the machine, the command and the total time.
    fn results(&self, topic: &Topic) -> Results {
        let mut results = Results::default();
        results.notes = machine::describe();
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        let command = "cargo run --release -p coucal-benches --bin compare --";
        results.notes.push(("command".into(), format!("{command} {}", arguments.join(" "))));
        (topic.measure)(self, &mut results);
        results.notes.push(("run time".into(), format!("{} s", self.started.elapsed().as_secs())));
        results
    }
}

/// Parses `2^24` or digits.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.split_once('^') {
        Some((base, power)) => base.parse::<u64>().ok().zip(power.parse().ok()),
        None => text.parse().ok().zip(Some(1)),
    };
    let value = parsed.and_then(|(base, power)| base.checked_pow(power));
    // Smaller tables are filled before there is anything to measure.
    value.filter(|value| *value >= 1 << 12).ok_or_else(|| format!("{text} is not 2^12 or more"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { topics, slots, rounds, only, out, from, suffix } = Arguments::parse();
    for topic in topics {
        if let Err(why) = topic.check(&only) {
            Arguments::command().error(ErrorKind::ValueValidation, why).exit();
        }
    }
    for topic in topics {
        let results = if let Some(folder) = &from {
            Results::read(&output::csv(folder, topic, &suffix))?
        } else {
            let plan = Plan {
                slots: if slots.is_empty() { topic.slots.to_vec() } else { slots.clone() },
                rounds,
                operations: 1 << 20,
                only: only.clone(),
                large_pages: !pages::are_large(),
                started: Instant::now(),
            };
            plan.results(topic)
        };
        output::write(topic, &results, &out, &suffix)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a small run of everything, no table or plot needs a figure that is not measured, and each measured subject is
    /// in a table, except for target loads, of which the documentation of the crate has a table.
    #[test]
    fn a_run_of_each_topic_fills_its_tables_and_plots() {
        const DUE: [[usize; 2]; TOPICS.len()] = [
            [3, 2],
            [1, 0],
            [3, 1],
            [3, 1],
            [2, 1],
            [1, 0],
            [1, 0],
            [1, 0],
            [2, 0],
            [3, 0],
            [2, 0],
            [1, 0],
            [1, 0],
            [1, 0],
            [1, 0],
            [1, 0],
        ];
        for (topic, [tables_due, plots_due]) in TOPICS.iter().zip(DUE) {
            let mut results = Results::default();
            (topic.measure)(&small_plan(Vec::new()), &mut results);
            results.complete();
            let tables: Vec<_> = (topic.tables)(&results).iter().map(Table::markdown).collect();
            assert_eq!(tables.len(), tables_due, "{}", topic.name);
            for table in &tables {
                let rows = table.lines().skip(2).map(|row| row.split('|').map(str::trim).collect());
                let rows: Vec<Vec<_>> = rows.collect();
                assert!(!rows.is_empty(), "{table}");
                for column in 2..rows[0].len() - 1 {
                    assert!(rows.iter().any(|row| row[column] != "–"), "column {column}: {table}");
                }
            }
            let text = tables.concat().replace("\\<", "<");
            for name in results.subjects() {
                let shown = name == peers::COUCAL || text.contains(&name);
                assert!(shown || name.starts_with("target load"), "{name} is in no table");
            }
            let plots = (topic.plots)(&results);
            assert_eq!(plots.iter().filter(|plot| !plot.is_empty()).count(), plots_due);
        }
    }

    fn small_plan(only: Vec<String>) -> Plan {
        Plan {
            slots: vec![1 << 12],
            rounds: Some(1),
            operations: 1 << 12,
            only,
            // This would need the program, and not its tests.
            large_pages: false,
            started: Instant::now(),
        }
    }

    #[test]
    fn only_selects_the_subjects_whose_names_begin_so() {
        for topic in &TOPICS {
            let Some(&last) = (topic.subjects)().last() else {
                assert!(topic.check(&["coucal".into()]).is_err(), "{}", topic.name);
                continue;
            };
            let mut results = Results::default();
            (topic.measure)(&small_plan(vec![last.into()]), &mut results);
            assert_eq!(results.subjects(), [last], "{}", topic.name);
            for (only, is_good) in [(vec![], true), (vec![last], true), (vec![last, "x"], false)] {
                let only: Vec<_> = only.into_iter().map(String::from).collect();
                assert_eq!(topic.check(&only).is_ok(), is_good, "{}: {only:?}", topic.name);
            }
        }
    }

    #[test]
    fn a_command_measures_something() {
        let parsed = |arguments: &str| {
            let arguments = ["compare"].into_iter().chain(arguments.split(' '));
            Arguments::try_parse_from(arguments)
        };
        let only = parsed("growth --only coucal,x --only q").map(|arguments| arguments.only);
        assert_eq!(only.ok(), Some(vec!["coucal,x".into(), "q".into()]));
        let bad = ["growth --rounds 0", "growth --from docs --only coucal", "growths"];
        assert!(bad.iter().all(|arguments| parsed(arguments).is_err()));
    }

    #[test]
    fn sizes_are_powers_or_digits() {
        assert_eq!([number("2^24"), number("4096")], [Ok(1 << 24), Ok(4096)]);
        assert!(["2^", "x", "2^99", "100"].iter().all(|text| number(text).is_err()));
    }
}
