//! The tables and figures of the cuckoo filter paper (Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT
//! 2014), done again on this code.
//!
//! ```text
//! cargo run --release -p evaluation -- --help
//! ```

mod choice;
mod construction;
mod filters;
mod journey;
mod layouts;
mod machine;
mod occupancy;
mod operations;
mod paper;
mod plots;
mod report;
mod semi_sorting;
mod simulation;
mod space;
mod timing;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Section;

/// Redoes the tables and figures of the cuckoo filter paper: a plot and a CSV each, and a page that
/// gathers them.
///
/// The page lies beside the folder and has its name. The parts that this run does not make stay as
/// they are.
#[derive(Parser)]
struct Arguments {
    /// Small tables and few runs: some minutes in all.
    #[arg(long)]
    quick: bool,
    /// Only these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Topic>,
    /// Where the plots and the CSVs go.
    #[arg(long, default_value = "docs/evaluation")]
    out: PathBuf,
    /// Megabytes (2^20 bytes) of each filter of table 3 and figures 5 to 8.
    #[arg(long)]
    megabytes: Option<usize>,
    /// Runs of each timed figure.
    #[arg(long)]
    rounds: Option<usize>,
}

/// A table or figure of the paper, or what is asked beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Topic {
    Fig2,
    Fig3,
    Fig4,
    Table3,
    Fig5,
    Fig6,
    Fig7,
    Fig8,
    Semi,
    Choice,
}

impl Topic {
    fn name(self) -> &'static str {
        match self {
            Self::Fig2 => "fig2",
            Self::Fig3 => "fig3",
            Self::Fig4 => "fig4",
            Self::Table3 => "table3",
            Self::Fig5 => "fig5",
            Self::Fig6 => "fig6",
            Self::Fig7 => "fig7",
            Self::Fig8 => "fig8",
            Self::Semi => "semi",
            Self::Choice => "choice",
        }
    }
}

/// What is to be measured, and how far it is.
struct Plan {
    quick: bool,
    only: Vec<Topic>,
    /// Bytes of a filter in table 3 and figures 5 to 8.
    bytes: usize,
    /// Runs of each timed figure.
    rounds: usize,
    /// Numbers of threads: one, and doublings up to the cores, at least two.
    threads: Vec<usize>,
    progress: ProgressBar,
}

impl Plan {
    fn new(arguments: &Arguments) -> Self {
        let quick = arguments.quick;
        let doublings = |threads: &usize| Some(2 * threads);
        let cores = machine::cores().max(2);
        let style = ProgressStyle::with_template("{elapsed_precise} {wide_bar} {pos}/{len} {msg}");
        Self {
            quick,
            only: arguments.only.clone(),
            bytes: arguments.megabytes.unwrap_or(if quick { 12 } else { 192 }).max(1) << 20,
            rounds: arguments.rounds.unwrap_or(if quick { 2 } else { 3 }).max(1),
            threads: std::iter::successors(Some(1), doublings)
                .take_while(|threads| *threads <= cores)
                .collect(),
            progress: ProgressBar::new(0).with_style(style.expect("the template is well formed")),
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.only.is_empty() || self.only.contains(&topic)
    }

    /// One or the other, quick or full.
    fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// One step further, and what comes now: a bar on a terminal, lines elsewhere.
    fn step(&self, what: &str) {
        self.progress.inc(1);
        if self.progress.is_hidden() {
            let (step, steps) = (self.progress.position(), self.progress.length().unwrap_or(0));
            let seconds = self.progress.elapsed().as_secs_f64();
            eprintln!("{seconds:>7.1} s  {step:>4} of {steps}  {what}");
        } else {
            self.progress.set_message(what.to_owned());
        }
    }
}

/// A part of the evaluation: what it makes, how many steps it takes, and how.
struct Part {
    topics: &'static [Topic],
    steps: fn(&Plan) -> usize,
    run: fn(&Plan) -> Vec<Section>,
}

const PARTS: [Part; 7] = [
    Part { topics: &[Topic::Fig2], steps: occupancy::steps, run: occupancy::run },
    Part { topics: &[Topic::Fig3], steps: space::steps, run: space::run },
    Part { topics: &[Topic::Fig4], steps: layouts::steps, run: layouts::run },
    Part { topics: &[Topic::Table3], steps: construction::steps, run: construction::run },
    Part {
        topics: &[Topic::Fig5, Topic::Fig6, Topic::Fig7, Topic::Fig8],
        steps: journey::steps,
        run: operations::run,
    },
    Part { topics: &[Topic::Semi], steps: semi_sorting::steps, run: semi_sorting::run },
    Part { topics: &[Topic::Choice], steps: choice::steps, run: choice::run },
];

fn command() -> String {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let command = format!("cargo run --release -p evaluation -- {}", arguments.join(" "));
    command.trim_end_matches(" -- ").to_owned()
}

fn run(plan: &Plan, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let parts = || PARTS.iter().filter(|part| part.topics.iter().any(|topic| plan.has(*topic)));
    plan.progress.set_length(parts().map(|part| (part.steps)(plan) as u64).sum());
    let mut page = report::Page::open(out)?;
    for part in parts() {
        let begun = Instant::now();
        let sections = (part.run)(plan);
        let how = report::How {
            command: command(),
            quick: plan.quick,
            seconds: begun.elapsed().as_secs(),
        };
        for section in sections {
            page.renew(&section, &how)?;
        }
        // After each part: a long run that is stopped leaves what it has.
        page.write()?;
    }
    plan.progress.finish_and_clear();
    Ok(page.path().to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let page = run(&Plan::new(&arguments), &arguments.out)?;
    println!("written: {}", page.display());
    Ok(())
}
