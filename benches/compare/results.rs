//! The figures: all runs of each, so that a ratio is taken inside each run.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use coucal_measure::timing::{median, ratio};

/// What a figure measures.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    slots: u64,
    threads: usize,
    peer: String,
    operation: String,
}

#[derive(Default)]
pub struct Results {
    figures: BTreeMap<Id, Vec<f64>>,
    /// What was run and where, in the order in which it is printed.
    pub notes: Vec<(String, String)>,
}

impl Results {
    /// Adds one run of a figure; NaN where it could not be measured.
    pub fn push(&mut self, (slots, threads): (u64, usize), peer: &str, operation: &str, run: f64) {
        let id = Id { slots, threads, peer: peer.into(), operation: operation.into() };
        self.figures.entry(id).or_default().push(run);
    }

    /// The figures of one size and number of threads.
    pub fn at(&self, slots: u64, threads: usize) -> View<'_> {
        View { results: self, slots, threads }
    }

    pub fn slots(&self) -> Vec<u64> {
        distinct(self.figures.keys().map(|id| id.slots))
    }

    /// The sizes for which there is a figure of this name.
    pub fn slots_with(&self, operation: &str) -> Vec<u64> {
        distinct(self.figures.keys().filter(|id| id.operation == operation).map(|id| id.slots))
    }

    pub fn threads_with(&self, slots: u64, operation: &str) -> Vec<usize> {
        let with = |id: &&Id| id.slots == slots && id.operation == operation;
        distinct(self.figures.keys().filter(with).map(|id| id.threads))
    }

    pub fn note(&self, name: &str) -> &str {
        self.notes.iter().find(|note| note.0 == name).map_or("", |note| &note.1)
    }

    pub fn to_csv(&self) -> String {
        let mut csv = String::new();
        for (name, text) in &self.notes {
            let _ = writeln!(csv, "# {name}: {text}");
        }
        csv.push_str("slots,threads,subject,figure,median,runs\n");
        for (Id { slots, threads, peer, operation }, runs) in &self.figures {
            let median = median(runs).unwrap_or(f64::NAN);
            let runs: Vec<_> = runs.iter().map(|run| format!("{run:.6}")).collect();
            let runs = runs.join(" ");
            let _ = writeln!(csv, "{slots},{threads},{peer},{operation},{median:.6},{runs}");
        }
        csv
    }

    /// Reads a file that [`to_csv`](Self::to_csv) made.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        Self::from_csv(&fs::read_to_string(path)?)
            .ok_or_else(|| format!("{} was not written by this program", path.display()).into())
    }

    /// Reads what [`to_csv`](Self::to_csv) wrote; `None` for any other text.
    fn from_csv(csv: &str) -> Option<Self> {
        let mut results = Self::default();
        for line in csv.lines() {
            if let Some(note) = line.strip_prefix("# ") {
                let (name, text) = note.split_once(": ")?;
                results.notes.push((name.into(), text.into()));
            } else if !line.starts_with("slots,") {
                let fields: Vec<_> = line.split(',').collect();
                let [slots, threads, peer, operation, _, runs] = fields[..] else { return None };
                let place = (slots.parse().ok()?, threads.parse().ok()?);
                for run in runs.split(' ') {
                    results.push(place, peer, operation, run.parse().ok()?);
                }
            }
        }
        Some(results)
    }
}

/// The figures of one size and number of threads.
#[derive(Clone, Copy)]
pub struct View<'a> {
    results: &'a Results,
    slots: u64,
    threads: usize,
}

impl<'a> View<'a> {
    pub fn runs(self, peer: &str, operation: &str) -> &'a [f64] {
        let Self { results, slots, threads } = self;
        let id = Id { slots, threads, peer: peer.into(), operation: operation.into() };
        results.figures.get(&id).map_or(&[], Vec::as_slice)
    }

    pub fn median(self, peer: &str, operation: &str) -> Option<f64> {
        median(self.runs(peer, operation))
    }

    /// The median of the ratios of the runs of two figures, one by one.
    pub fn ratio(self, above: (&str, &str), below: (&str, &str)) -> Option<f64> {
        ratio(self.runs(above.0, above.1), self.runs(below.0, below.1))
    }

    /// The names that have this figure here.
    pub fn present<'n>(self, names: &[&'n str], operation: &str) -> Vec<&'n str> {
        names.iter().copied().filter(|name| !self.runs(name, operation).is_empty()).collect()
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}
