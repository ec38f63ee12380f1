//! The page, its plots and its CSVs.
//!
//! Each section stands between two marks, so that a run of some topics keeps the other sections.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use coucal_measure::machine;
use coucal_measure::plot::Plot;
use coucal_measure::text::{table, wrapped};
use coucal_measure::timing;

use crate::Topic;

/// The median; NaN where there are no runs.
pub fn median(runs: &[f64]) -> f64 {
    timing::median(runs).unwrap_or(f64::NAN)
}

/// The median of the ratios of the runs, one by one; NaN where there are no runs.
pub fn ratio(above: &[f64], below: &[f64]) -> f64 {
    timing::ratio(above, below).unwrap_or(f64::NAN)
}

/// One table or figure.
pub struct Section {
    pub topic: Topic,
    pub title: &'static str,
    /// What the paper reports.
    pub paper: String,
    /// What was measured here: tables and text.
    pub ours: String,
    /// The targets of this section.
    pub targets: Vec<Target>,
    pub plots: Vec<Plot>,
    pub csv: Csv,
}

/// A target, and whether it was met.
pub struct Target {
    pub what: String,
    pub goal: String,
    pub measured: String,
    /// `None` where the run cannot tell.
    pub met: Option<bool>,
}

/// Rows of cells; the first row has the names of the columns.
pub struct Csv(Vec<Vec<String>>);

impl Csv {
    pub fn new(head: &[&str]) -> Self {
        Self(vec![head.iter().map(|&name| name.to_owned()).collect()])
    }

    pub fn push(&mut self, row: Vec<String>) {
        self.0.push(row);
    }

    fn text(&self) -> String {
        self.0.iter().map(|row| row.join(",") + "\n").collect()
    }
}

/// How a section was measured.
pub struct How {
    pub command: String,
    pub quick: bool,
    pub seconds: u64,
}

pub struct Page {
    path: PathBuf,
    folder: PathBuf,
    /// The text of each section that exists, between its marks.
    sections: Vec<(Topic, String)>,
}

fn marks(topic: Topic) -> (String, String) {
    (format!("<!-- {} -->", topic.name()), format!("<!-- end of {} -->", topic.name()))
}

impl Page {
    /// The page beside a folder, with its sections.
    pub fn open(folder: &Path) -> Result<Self, Box<dyn Error>> {
        fs::create_dir_all(folder)?;
        let path = folder.with_extension("md");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let section = |&topic: &Topic| {
            let (begin, end) = marks(topic);
            let (_, rest) = text.split_once(&begin)?;
            Some((topic, rest.split_once(&end)?.0.trim().to_owned()))
        };
        let sections = Topic::value_variants().iter().filter_map(section).collect();
        Ok(Self { path, folder: folder.to_owned(), sections })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Draws the plots of a section, writes its CSV, and replaces its text.
    pub fn renew(&mut self, section: &Section, how: &How) -> Result<(), Box<dyn Error>> {
        for plot in &section.plots {
            plot.draw(&self.folder)?;
        }
        let csv = format!("{}.csv", section.topic.name());
        fs::write(self.folder.join(&csv), section.csv.text())?;
        let text = self.markdown(section, how, &csv);
        self.sections.retain(|held| held.0 != section.topic);
        self.sections.push((section.topic, text));
        self.sections.sort_by_key(|held| held.0);
        Ok(())
    }

    pub fn write(&self) -> Result<(), Box<dyn Error>> {
        let mut text = String::from("# Reproducing the evaluation of the cuckoo filter paper\n\n");
        text += &wrapped(
            "The tables and figures of Fan, Andersen, Kaminsky, Mitzenmacher, \"Cuckoo Filter: \
             Practically Better Than Bloom\" (CoNEXT 2014), measured with this code. The package \
             `evaluation` writes the whole page; each section ends with the command that \
             produced it.\n\n\
             Throughputs are medians of several runs, in which all filters take turns. All \
             filters store the same 64-bit integers and get the same hash of them; only the \
             counting Bloom filter has a hasher of its own. Plots of the paper are \
             described in words. The paper used another machine: compare ratios, not throughputs.",
        );
        text += "## Machine\n\nOf the latest run:\n\n";
        for (name, note) in machine::describe() {
            let _ = writeln!(text, "- {name}: {note}");
        }
        for (topic, section) in &self.sections {
            let (begin, end) = marks(*topic);
            let _ = write!(text, "\n{begin}\n\n{section}\n\n{end}\n");
        }
        Ok(fs::write(&self.path, text)?)
    }

    fn markdown(&self, section: &Section, how: &How, csv: &str) -> String {
        let folder = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let mut text = format!("## {}\n\n", section.title);
        let (paper, ours) = (&section.paper, &section.ours);
        text += &wrapped(&format!("**The paper.** {paper}\n\n**This crate.** {ours}\n\n"));
        if !section.targets.is_empty() {
            let met = |met: Option<bool>| match met {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "cannot tell",
            };
            let row = |target: &Target| {
                let Target { what, goal, measured, .. } = target;
                vec![what.clone(), goal.clone(), measured.clone(), met(target.met).to_owned()]
            };
            let rows: Vec<_> = section.targets.iter().map(row).collect();
            text += &table(&["target", "goal", "measured", "met"], &rows);
            text += "\n";
        }
        for plot in &section.plots {
            let _ = write!(text, "![{}]({folder}/{}.svg)\n\n", plot.title, plot.file);
        }
        let size = if how.quick { "quick" } else { "full" };
        let _ = write!(
            text,
            "[{csv}]({folder}/{csv}); {size} run, {} s including the topics measured together with it: \
             `{}`",
            how.seconds, how.command
        );
        text
    }
}
