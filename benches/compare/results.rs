//! The figures, with all runs of each, so that a ratio is taken inside each run.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::pieces::{Counted, FEWEST};

/// The columns of the file.
const HEAD: [&str; 6] = ["slots", "threads", "subject", "figure", "median", "runs"];

/// Returns the median of the finite values; `None` if there are none.
pub fn median(runs: &[f64]) -> Option<f64> {
    let mut sorted: Vec<_> = runs.iter().copied().filter(|run| run.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(f64::midpoint(sorted[(sorted.len() - 1) / 2], upper))
}

/// Returns the median of the ratios of the runs, one by one.
fn ratio(above: &[f64], below: &[f64]) -> Option<f64> {
    let ratios: Vec<_> = above.iter().zip(below).map(|(above, below)| above / below).collect();
    median(&ratios)
}

/// The number of slots and the number of threads.
pub type Place = (u64, usize);

/// The identity of a figure: slots, threads, subject and figure.
type Id = (u64, usize, String, String);

#[derive(Default)]
pub struct Results {
    figures: BTreeMap<Id, Vec<f64>>,
    /// The command and the machine, in the order in which they are printed.
    pub notes: Vec<(String, String)>,
}

impl Results {
    /// Adds one run of a figure; NaN where it could not be measured.
    pub fn push(&mut self, (slots, threads): Place, subject: &str, figure: &str, run: f64) {
        let id = (slots, threads, subject.into(), figure.into());
        self.figures.entry(id).or_default().push(run);
    }

    /// Adds one run of a throughput, and the number of its pieces.
    pub fn push_counted(&mut self, place: Place, subject: &str, figure: &str, of: Counted) {
        self.push(place, subject, figure, of.rate);
        self.push(place, subject, &pieces(figure), of.pieces as f64);
    }

    /// Adds the figures of another run, with `suffix` after their names.
    pub fn extend(&mut self, other: Self, suffix: &str) {
        for ((slots, threads, subject, figure), runs) in other.figures {
            let id = (slots, threads, subject, figure + suffix);
            self.figures.entry(id).or_default().extend(runs);
        }
    }

    /// Returns the figures of one size and number of threads.
    pub fn at(&self, slots: u64, threads: usize) -> View<'_> {
        View { results: self, slots, threads }
    }

    /// Fills in every figure, since a short run may be too short for some.
    #[cfg(test)]
    pub fn complete(&mut self) {
        for (id, runs) in &mut self.figures {
            if id.3.ends_with(&pieces("")) {
                runs.fill(100.0);
            }
            runs.iter_mut().filter(|run| run.is_nan()).for_each(|run| *run = 1.0);
        }
    }

    #[cfg(test)]
    pub fn subjects(&self) -> Vec<String> {
        distinct(self.figures.keys().map(|id| id.2.clone()))
    }

    /// Returns the sizes for which there is a figure with this name.
    pub fn slots_with(&self, figure: &str) -> Vec<u64> {
        distinct(self.figures.keys().filter(|id| id.3 == figure).map(|id| id.0))
    }

    pub fn threads_with(&self, slots: u64, figure: &str) -> Vec<usize> {
        distinct(self.figures.keys().filter(|id| id.0 == slots && id.3 == figure).map(|id| id.1))
    }

    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for (name, note) in &self.notes {
            let _ = writeln!(text, "# {name}: {note}");
        }
        // A name may contain a comma.
        let mut csv = csv::Writer::from_writer(Vec::new());
        let mut write = |record: [&str; 6]| csv.write_record(record).expect("memory takes it all");
        write(HEAD);
        for ((slots, threads, subject, figure), runs) in &self.figures {
            let median = format!("{:.6}", median(runs).unwrap_or(f64::NAN));
            let runs: Vec<_> = runs.iter().map(|run| format!("{run:.6}")).collect();
            let [slots, threads] = [slots.to_string(), threads.to_string()];
            write([&slots, &threads, subject, figure, &median, &runs.join(" ")]);
        }
        let csv = csv.into_inner().expect("memory takes it all");
        text + &String::from_utf8(csv).expect("made of strings")
    }

    /// Reads a file that [`to_csv`](Self::to_csv) made.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        Self::from_csv(&fs::read_to_string(path)?)
            .ok_or_else(|| format!("{} was not written by this program", path.display()).into())
    }

    /// Reads the output of [`to_csv`](Self::to_csv); `None` for any other text.
    fn from_csv(text: &str) -> Option<Self> {
        let mut results = Self::default();
        for note in text.lines().map_while(|line| line.strip_prefix("# ")) {
            let (name, note) = note.split_once(": ")?;
            results.notes.push((name.into(), note.into()));
        }
        let mut csv = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        for record in csv.records() {
            let record = record.ok()?;
            let fields: Vec<_> = record.iter().collect();
            let [slots, threads, subject, figure, _, runs] = fields[..] else { return None };
            let place = (slots.parse().ok()?, threads.parse().ok()?);
            for run in runs.split(' ') {
                results.push(place, subject, figure, run.parse().ok()?);
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
    pub fn threads(self) -> usize {
        self.threads
    }

    pub fn runs(self, subject: &str, figure: &str) -> &'a [f64] {
        let id = (self.slots, self.threads, subject.into(), figure.into());
        self.results.figures.get(&id).map_or(&[], Vec::as_slice)
    }

    pub fn median(self, subject: &str, figure: &str) -> Option<f64> {
        median(self.runs(subject, figure))
    }

    /// Returns the median of the ratios of the runs of two figures, one by one.
    pub fn ratio(self, above: (&str, &str), below: (&str, &str)) -> Option<f64> {
        ratio(self.runs(above.0, above.1), self.runs(below.0, below.1))
    }

    /// Returns the number of pieces of a throughput, in all runs.
    pub fn pieces(self, subject: &str, figure: &str) -> usize {
        self.runs(subject, &pieces(figure)).iter().sum::<f64>() as usize
    }

    /// Returns the ratio to the throughput of another view, or of another subject; `None` if one of them has too few
    /// pieces.
    pub fn times(self, subject: &str, below: (Self, &str), figure: &str) -> Option<f64> {
        let enough = |view: Self, subject| view.pieces(subject, figure) >= FEWEST;
        let all = enough(self, subject) && enough(below.0, below.1);
        all.then(|| ratio(self.runs(subject, figure), below.0.runs(below.1, figure))).flatten()
    }
}

/// Returns the name of the number of pieces of a throughput.
fn pieces(figure: &str) -> String {
    format!("{figure}: pieces")
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_skips_what_was_not_measured_and_a_ratio_is_taken_inside_each_run() {
        assert_eq!((median(&[]), median(&[f64::NAN])), (None, None));
        assert_eq!(median(&[3.0, f64::NAN, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(ratio(&[2.0, 20.0, 4.0], &[1.0, 5.0, 4.0]), Some(2.0));
    }

    #[test]
    fn written_results_are_read_again() {
        let mut results = Results::default();
        results.notes.push(("command".into(), "compare -- --slots 2^18,2^24".into()));
        for run in [1.5, f64::NAN, 2.5] {
            results.push((8, 2), "coucal, growing", "mixed, 10 % writes", run);
        }
        let read = Results::from_csv(&results.to_csv()).expect("it was written by this program");
        assert_eq!(read.notes, results.notes);
        let median = read.at(8, 2).median("coucal, growing", "mixed, 10 % writes");
        assert_eq!(median, Some(2.0));
        assert_eq!(read.to_csv(), results.to_csv());
        assert!(Results::from_csv("slots\n1\n").is_none());
    }
}
