//! Reproduces the tables and figures of the cuckoo filter paper (Fan, Andersen, Kaminsky,
//! Mitzenmacher, CoNEXT 2014) with this code.
//!
//! ```text
//! cargo run --release -p evaluation -- --help
//! ```

mod choice;
mod construction;
mod filters;
mod growth;
mod layouts;
mod occupancy;
mod operations;
mod paper;
mod report;
mod semi_sorting;
mod simulation;
mod space;
mod sweep;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Parser, ValueEnum};
use coucal_measure::machine;
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Section;

/// Reproduces the tables and figures of the cuckoo filter paper: plots and a CSV for each, and one page
/// with all of them.
///
/// The page is written beside the output folder, with the name of the folder. Sections that a run does
/// not measure keep their text.
#[derive(Parser)]
struct Arguments {
    /// Small tables and few runs: less than five minutes in all, on two cores.
    #[arg(long)]
    quick: bool,
    /// Only these tables and figures.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Topic>,
    /// The output folder [default: docs/evaluation; with --quick, target/evaluation-quick/evaluation].
    #[arg(long)]
    out: Option<PathBuf>,
    /// MiB of each filter in table 3 and figures 5 to 8.
    #[arg(long)]
    megabytes: Option<usize>,
    /// Runs of each timed figure.
    #[arg(long)]
    rounds: Option<usize>,
}

impl Arguments {
    /// A quick run never overwrites the pages of the full one.
    fn out(&self) -> &Path {
        let default =
            if self.quick { "target/evaluation-quick/evaluation" } else { "docs/evaluation" };
        self.out.as_deref().unwrap_or(Path::new(default))
    }
}

/// A table or figure of the paper, or a question beside them.
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
    Growth,
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
            Self::Growth => "growth",
        }
    }
}

/// What to measure, and the progress.
struct Plan {
    quick: bool,
    only: Vec<Topic>,
    /// Bytes of a filter in table 3 and figures 5 to 8.
    bytes: usize,
    /// Runs of each timed figure.
    rounds: usize,
    /// Numbers of threads: powers of two up to the number of cores, and at least up to two.
    threads: Vec<usize>,
    progress: ProgressBar,
}

impl Plan {
    fn new(arguments: &Arguments) -> Self {
        let quick = arguments.quick;
        let style = ProgressStyle::with_template("{elapsed_precise} {wide_bar} {pos}/{len} {msg}");
        Self {
            quick,
            only: arguments.only.clone(),
            bytes: arguments.megabytes.unwrap_or(if quick { 8 } else { 192 }).max(1) << 20,
            rounds: arguments.rounds.unwrap_or(if quick { 1 } else { 3 }).max(1),
            threads: machine::thread_counts(machine::cores().max(2)),
            progress: ProgressBar::new(0).with_style(style.expect("the template is well formed")),
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.only.is_empty() || self.only.contains(&topic)
    }

    /// The first value for a quick run, the second for a full one.
    fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Threads for independent work: the largest simulated tables take 1 GiB each.
    fn workers() -> usize {
        machine::cores().min(4)
    }

    /// Shows the progress and the next step: a bar on a terminal, separate lines elsewhere.
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

/// A part of the evaluation: the topics that are measured together, and the number of steps.
struct Part {
    topics: &'static [Topic],
    steps: fn(&Plan) -> usize,
    run: fn(&Plan) -> Vec<Section>,
}

const PARTS: [Part; 8] = [
    Part { topics: &[Topic::Fig2], steps: occupancy::steps, run: occupancy::run },
    Part { topics: &[Topic::Fig3], steps: space::steps, run: space::run },
    Part { topics: &[Topic::Fig4], steps: layouts::steps, run: layouts::run },
    Part { topics: &[Topic::Table3], steps: construction::steps, run: construction::run },
    Part {
        topics: &[Topic::Fig5, Topic::Fig6, Topic::Fig7, Topic::Fig8],
        steps: sweep::steps,
        run: operations::run,
    },
    Part { topics: &[Topic::Semi], steps: semi_sorting::steps, run: semi_sorting::run },
    Part { topics: &[Topic::Choice], steps: choice::steps, run: choice::run },
    Part { topics: &[Topic::Growth], steps: growth::steps, run: growth::run },
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
        // After each part, so that a long run that is stopped keeps its finished parts.
        page.write()?;
    }
    plan.progress.finish_and_clear();
    Ok(page.path().to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let page = run(&Plan::new(&arguments), arguments.out())?;
    println!("written: {}", page.display());
    Ok(())
}
