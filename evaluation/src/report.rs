//! The page, its plots and its CSVs.
//!
//! Each section stands between two marks, so that a run of some of them leaves the others as they
//! are.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::plots::Plot;
use crate::{Topic, machine};

/// Where the page breaks its lines.
const COLUMNS: usize = 100;

/// One table or figure.
pub struct Section {
    pub topic: Topic,
    pub title: &'static str,
    /// What the paper shows.
    pub paper: String,
    /// What we get: tables and sentences.
    pub ours: String,
    /// What was to be reached.
    pub targets: Vec<Target>,
    pub plots: Vec<Plot>,
    pub csv: Csv,
}

/// Something to be reached, and whether it was.
pub struct Target {
    pub what: String,
    pub goal: String,
    pub measured: String,
    /// `None` where the run cannot tell.
    pub met: Option<bool>,
}

/// Rows of cells, the first of them the names of the columns.
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

/// How a section came about.
pub struct How {
    pub command: String,
    pub quick: bool,
    pub seconds: u64,
}

pub struct Page {
    path: PathBuf,
    folder: PathBuf,
    /// The text of each section there is, between its marks.
    sections: Vec<(Topic, String)>,
}

fn marks(topic: Topic) -> (String, String) {
    (format!("<!-- {} -->", topic.name()), format!("<!-- end of {} -->", topic.name()))
}

impl Page {
    /// The page beside a folder, with the sections that it has.
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

    /// Draws the plots of a section, writes its CSV, and puts it in the place of what was there.
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
        let mut text = String::from("# The evaluation of the cuckoo filter paper, done again\n\n");
        text += &wrapped(
            "Fan, Andersen, Kaminsky, Mitzenmacher, \"Cuckoo Filter: Practically Better Than \
             Bloom\" (CoNEXT 2014), on this code. The whole page is written by the package \
             `evaluation`; below each section stands the command that made it. Throughputs are \
             medians of several runs that took turns with those of the other filters. What \
             the paper shows as a plot is told in words. Its numbers are another machine's: ratios \
             compare, throughputs do not.",
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
        text += &wrapped(&format!("**The paper.** {paper}\n\n**Ours.** {ours}\n\n"));
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
            "[{csv}]({folder}/{csv}); {size} run, {} s together with what it shares its \
             measurements with: `{}`",
            how.seconds, how.command
        );
        text
    }
}

/// The text with its paragraphs broken at a hundred columns, and its tables as they are.
fn wrapped(text: &str) -> String {
    let mut wrapped = String::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        if paragraph.trim_start().starts_with('|') {
            wrapped += paragraph.trim();
        } else {
            let mut column = 0;
            for word in paragraph.split_whitespace() {
                let length = word.chars().count();
                if column > 0 && column + 1 + length > COLUMNS {
                    wrapped.push('\n');
                    column = 0;
                } else if column > 0 {
                    wrapped.push(' ');
                    column += 1;
                }
                wrapped += word;
                column += length;
            }
        }
        wrapped += "\n\n";
    }
    wrapped
}

/// A table with the first column to the left and the others to the right.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::from("|");
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, " {cell:<width$} |"),
                _ => write!(line, " {cell:>width$} |"),
            };
        }
        line + "\n"
    };
    let rule = |(column, width): (usize, &usize)| match column {
        0 => "-".repeat(*width),
        _ => "-".repeat(width - 1) + ":",
    };
    let names: Vec<_> = head.iter().map(|&name| name.to_owned()).collect();
    let rules: Vec<_> = widths.iter().enumerate().map(rule).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&names) + &line(&rules) + &rows
}

/// A share as percent, with three figures that count.
pub fn percent(share: f64) -> String {
    format!("{} %", figures(100.0 * share))
}

/// Three figures that count.
pub fn figures(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if magnitude < -4 {
        return format!("{value:.1e}");
    }
    let decimals = (2 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}
