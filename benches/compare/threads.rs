//! Threads: throughput by number of threads, beside what the machine does at best and beside peers that
//! several threads can write to.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin compare -- threads --help
//! ```

mod page;
mod plots;
mod work;

use std::error::Error;

use clap::Args;
use coucal_measure::machine;
use coucal_measure::peers::{
    Contender, Coucal, LockedMutex, Quotient, Sequential, ShardedRwLock, coucal_growing,
};
use coucal_measure::subject::Subject;

use self::work::Work;
use crate::concurrent::shared;
use crate::contenders::{ATOMIC, BLOOM, COUCAL, DASH_SET, ENTRANTS, MUTEX};
use crate::limits::Loads;
use crate::number;
use crate::output::{Output, Page, Progress};
use crate::results::Results;

pub const GROWING: &str = "coucal, growing";
/// Two loads for a lookup, a load and a store for a write.
pub const LIMIT: &str = "bare limit";
/// Everything that takes part, in the order of the tables.
pub const SUBJECTS: [&str; 10] = [
    LIMIT,
    COUCAL,
    GROWING,
    ATOMIC,
    BLOOM,
    MUTEX,
    "Mutex<qfilter>",
    "sharded RwLock<cuckoofilter>",
    "sharded RwLock<qfilter>",
    DASH_SET,
];

/// A table that grows, as large at first as growth is measured from: 2^10 slots, or a 512th of these.
fn growing(slots: usize) -> Box<dyn Subject> {
    let first = (slots >> 9).max(1 << 10);
    // One doubling more than these slots: it grows before it is full.
    Box::new(Coucal(coucal_growing(first, 1 + (slots / first).ilog2())))
}

/// Those that no other comparison has.
const OTHERS: [Contender<dyn Subject>; 5] = [
    Contender {
        name: LIMIT,
        what: "the hash, then two loads for a lookup, or a load and a store for a write",
        removes: true,
        shared: true,
        build: |slots| Box::new(Loads::<2>::with_slots(slots)),
    },
    Contender {
        name: GROWING,
        what: "this crate; grows from a 512th of the slots, or from 2^10",
        removes: true,
        shared: true,
        build: growing,
    },
    Contender {
        name: SUBJECTS[6],
        what: "one lock of `parking_lot` around a quotient filter for one thread",
        removes: true,
        shared: true,
        build: |slots| Box::new(LockedMutex::new(Quotient::with_slots(slots))),
    },
    Contender {
        name: SUBJECTS[7],
        what: "as many small filters as `dashmap` has shards, each behind a lock of `parking_lot`",
        removes: true,
        shared: true,
        build: |slots| Box::new(ShardedRwLock::with_slots(slots, Sequential::with_slots)),
    },
    Contender {
        name: SUBJECTS[8],
        what: "the same of quotient filters",
        removes: true,
        shared: true,
        build: |slots| Box::new(ShardedRwLock::with_slots(slots, Quotient::with_slots)),
    },
];

/// The contender of each name of [`SUBJECTS`].
pub fn contenders() -> impl Iterator<Item = &'static Contender<dyn Subject>> {
    let all = || ENTRANTS.iter().map(|entrant| &entrant.contender).chain(&OTHERS);
    SUBJECTS.iter().filter_map(move |name| all().find(|contender| contender.name == *name))
}

/// Compares the throughput of one to many threads that use one filter.
///
/// Writes performance-threads.md (the part between two markers), performance-threads.csv and plots.
#[derive(Args)]
pub struct Arguments {
    /// Small tables and few rounds: to check that everything works.
    #[arg(long)]
    quick: bool,
    /// Table sizes, from 2^12 on; powers are written as 2^24.
    #[arg(long, value_delimiter = ',', value_parser = number)]
    slots: Vec<u64>,
    /// Rounds of each figure. Tables of more than 2^20 slots have half as many.
    #[arg(long)]
    rounds: Option<usize>,
    /// Numbers of threads; one to four times the number of cores if none are given.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Only coucal and the bare limit.
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    output: Output,
}

/// A part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    Inserts,
    /// Lookups, alone and beside a writer.
    Lookups,
    Removals,
    Mixed,
}

/// What to measure.
struct Plan {
    slots: Vec<u64>,
    rounds: usize,
    threads: Vec<usize>,
    /// Lookups and mixed operations of each run; also the least number of slots that are filled.
    operations: u64,
    only: Vec<Part>,
    peers: bool,
    progress: Progress,
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        let (slots, rounds, operations) = if arguments.quick {
            (vec![1 << 14, 1 << 20], 2, 1 << 18)
        } else {
            (vec![1 << 18, 1 << 24], 5, 1 << 22)
        };
        let plan = Self {
            slots: if arguments.slots.is_empty() { slots } else { arguments.slots.clone() },
            rounds: arguments.rounds.unwrap_or(rounds).max(1),
            threads: if arguments.threads.is_empty() {
                machine::thread_counts_beyond(machine::cores())
            } else {
                arguments.threads.clone()
            },
            operations,
            only: arguments.only.clone(),
            peers: !arguments.no_peers,
            progress: Progress::new(),
        };
        if plan.slots.iter().any(|slots| *slots < 1 << 12) || plan.threads.contains(&0) {
            return Err("--slots are 2^12 or more, --threads 1 or more".into());
        }
        Ok(plan)
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn rounds(&self, slots: u64) -> usize {
        if slots > 1 << 20 { self.rounds.div_ceil(2) } else { self.rounds }
    }

    fn includes(&self, name: &str) -> bool {
        self.peers || name == LIMIT || name.starts_with(COUCAL)
    }

    fn measure(&self) -> Results {
        self.progress.results(|results| {
            for &slots in &self.slots {
                self.size(slots, results);
            }
        })
    }

    /// All subjects take turns, with each number of threads.
    fn size(&self, slots: u64, results: &mut Results) {
        let most = self.threads.iter().copied().max().unwrap_or(1);
        let work = Work::new(slots, self.operations, most);
        let tables = (self.operations / slots).max(1);
        for round in 0..self.rounds(slots) {
            for &threads in &self.threads {
                for contender in contenders().filter(|contender| self.includes(contender.name)) {
                    let name = contender.name;
                    self.progress.say(&format!(
                        "{slots} slots, round {}, {threads} threads: {name}",
                        round + 1
                    ));
                    let tables: Vec<_> =
                        (0..tables).map(|_| (contender.build)(slots as usize)).collect();
                    let tables: Vec<_> = tables.iter().map(|table| shared(&**table)).collect();
                    work.run(&tables, contender.removes, threads, &mut |workload, rate| {
                        if self.has(workload.part) {
                            results.push((slots, threads), name, &workload.figure(), rate);
                        }
                    });
                }
            }
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let page = Page { name: "performance-threads", plots: plots::all, markdown: page::markdown };
    arguments.output.write(&page, || Ok(Plan::new(arguments)?.measure()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::work::WORKLOADS;

    #[test]
    fn a_run_makes_a_page_with_every_subject_and_workload() {
        assert_eq!(contenders().count(), SUBJECTS.len());
        let plan = Plan {
            slots: vec![1 << 12],
            rounds: 1,
            threads: vec![1, 2],
            operations: 1 << 13,
            only: Vec::new(),
            peers: true,
            progress: Progress::new(),
        };
        let results = plan.measure();
        let page = page::markdown(&results, &[]);
        for name in SUBJECTS {
            assert!(page.contains(&format!("| {name} ")), "{name}: {page}");
        }
        for workload in WORKLOADS {
            assert!(page.contains(&format!("### {}\n", workload.title())), "{page}");
            for threads in [1, 2] {
                let rate = results.at(1 << 12, threads).median(COUCAL, &workload.figure());
                assert!(rate.is_some_and(|rate| rate > 0.0), "{} {threads}", workload.name);
            }
        }
    }
}
