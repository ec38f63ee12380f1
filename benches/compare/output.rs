//! What every comparison has: its progress, the notes beside its figures, and its page.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use coucal_measure::machine;
use coucal_measure::plot::Plot;
use indicatif::{ProgressBar, ProgressStyle};

use crate::plots::{self, Drawn};
use crate::report;
use crate::results::Results;

/// Where the page goes, and where its figures come from.
#[derive(Args)]
pub struct Output {
    /// The output folder.
    #[arg(long, default_value = "target/performance")]
    out: PathBuf,
    /// Measures nothing: renders the page and the plots from the CSV of an earlier run.
    #[arg(long)]
    from: Option<PathBuf>,
}

/// A page beside its CSV and its plots.
pub struct Page {
    pub name: &'static str,
    pub plots: fn(&Results) -> Vec<Plot>,
    pub markdown: fn(&Results, &[Drawn]) -> String,
}

impl Output {
    /// Writes the page, the figures and the plots; `measure` is called if the figures are not there yet.
    pub fn write(
        &self,
        page: &Page,
        measure: impl FnOnce() -> Result<Results, String>,
    ) -> Result<(), Box<dyn Error>> {
        let results = match &self.from {
            Some(csv) => Results::read(csv)?,
            None => measure()?,
        };
        let folder = self.out.join("performance");
        fs::create_dir_all(&folder)?;
        fs::write(self.out.join(format!("{}.csv", page.name)), results.to_csv())?;
        let plots = plots::draw(&folder, (page.plots)(&results))?;
        let path = self.out.join(format!("{}.md", page.name));
        let before = fs::read_to_string(&path).unwrap_or_default();
        let report = (page.markdown)(&results, &plots);
        fs::write(&path, report::renewed(&before, &report))?;
        println!("{report}\nwritten: {}", path.display());
        Ok(())
    }
}

/// Shows what is being measured: one line that changes on a terminal, separate lines elsewhere.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new() -> Self {
        Self(
            ProgressBar::no_length().with_style(
                ProgressStyle::with_template("{elapsed_precise} {spinner} {msg}")
                    .expect("the template is well formed"),
            ),
        )
    }

    pub fn say(&self, what: &str) {
        if self.0.is_hidden() {
            eprintln!("{:>6.1} s  {what}", self.0.elapsed().as_secs_f64());
        } else {
            self.0.set_message(what.to_owned());
            self.0.tick();
        }
    }

    /// What `measure` finds, with notes of the machine, the command and the time that it all took.
    pub fn results(&self, measure: impl FnOnce(&mut Results)) -> Results {
        let mut results = Results::default();
        results.notes = machine::describe();
        results.notes.push(("command".into(), command()));
        measure(&mut results);
        self.0.finish_and_clear();
        let seconds = self.0.elapsed().as_secs();
        results.notes.push(("run time".into(), format!("{seconds} s")));
        results
    }
}

fn command() -> String {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let command =
        format!("cargo run --release -p coucal-benches --bin compare -- {}", arguments.join(" "));
    command.trim_end_matches(" -- ").to_owned()
}
