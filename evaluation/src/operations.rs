//! Figures 5 to 8: throughput of lookups, inserts and removals, out of the measurements of
//! [`journey`].

use std::fmt::Write as _;

use crate::filters::CONTENDERS;
use crate::journey::{self, ABSENT, Id, PRESENT, Runs, SHARES};
use crate::plots::{Line, Plot, Style};
use crate::report::{Csv, Section, figures, table};
use crate::timing::{median, ratio};
use crate::{Plan, Topic, paper};

/// One of the figures: its words, and its lines.
struct Figure {
    topic: Topic,
    title: &'static str,
    paper: String,
    /// What is special about ours.
    notes: &'static str,
    across: &'static str,
    /// The plots: a suffix of the file, what the title adds, and the share of positive queries;
    /// `None` where that is what goes across.
    views: &'static [(&'static str, &'static str, Option<u32>)],
    /// Places across that the table shows, as far as there are figures for them.
    shown: &'static [u32],
    /// What one sentence compares: a place across above another.
    ends: (u32, u32),
}

fn figure_5() -> Figure {
    let row = |(name, rates): &(&str, [f64; 5])| {
        let rates: Vec<_> = rates.iter().map(|rate| format!("{rate:.1}")).collect();
        format!("{name}: {}", rates.join(", "))
    };
    let quotes: Vec<_> = paper::FIGURE_5_PROGRAM.iter().map(row).collect();
    Figure {
        topic: Topic::Fig5,
        title: "Figure 5: lookups over the share of positive queries",
        paper: format!(
            "A lookup of a cuckoo filter costs the same whatever it finds, since it reads two \
             buckets; a Bloom filter is fast on absent items, as it may stop at the first bit \
             that is not set, and slows down with the share of present ones. The plot is not \
             quoted point by point; the authors' program `conext-figure5` states, in million a \
             second at 0, 25, 50, 75 and 100 % positive, {}.",
            quotes.join("; ")
        ),
        notes: "Filled to the last load of figure 7. The queries are in no order, the answers are \
                added up.",
        across: "positive queries, %",
        views: &[("", "", None)],
        shown: &SHARES,
        ends: (100, 0),
    }
}

fn figure_6() -> Figure {
    Figure {
        topic: Topic::Fig6,
        title: "Figure 6: lookups over the load",
        paper:
            "Lookups of a cuckoo filter keep their speed at every load, absent or present; those \
                of a quotient filter slow down as its runs grow, and so do those of absent items \
                in a Bloom filter as its bits fill up."
                .into(),
        notes: "100 % are all slots of a cuckoo or quotient filter, and the items that a Bloom \
                filter was made for.",
        across: "load, %",
        views: &[
            ("-absent", ", of absent items", Some(ABSENT)),
            ("-present", ", of present items", Some(PRESENT)),
        ],
        shown: &[10, 50, 90, 95],
        ends: (95, 10),
    }
}

fn figure_7() -> Figure {
    Figure {
        topic: Topic::Fig7,
        title: "Figure 7: inserts over the load",
        paper: "Inserts of a cuckoo filter slow down as it fills, as more of them have to kick; \
                those of a quotient filter slow down too. A Bloom filter's do not depend on the \
                load."
            .into(),
        notes: "A load of 90 % stands for the inserts that end there. A line stops where an insert \
                failed. With more than one thread: the filters that several threads write to, \
                each thread with keys of its own.",
        across: "load, %",
        views: &[("", "", Some(0))],
        shown: &[10, 50, 90, 95],
        ends: (95, 10),
    }
}

fn figure_8() -> Figure {
    Figure {
        topic: Topic::Fig8,
        title: "Figure 8: removals over the load",
        paper: "Among the filters that remove, the cuckoo filter is the fastest.".into(),
        notes: "A load of 90 % stands for the removals that begin there, the oldest items first. \
                A filter that could not be filled to the end is left out, and so are those that \
                cannot remove. The counting Bloom filter's removal looks first whether the item is \
                there.",
        across: "load, %",
        views: &[("", "", Some(0))],
        shown: &[10, 50, 90, 95],
        ends: (95, 10),
    }
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let runs = journey::run(plan);
    [figure_5(), figure_6(), figure_7(), figure_8()]
        .into_iter()
        .filter(|figure| plan.has(figure.topic))
        .map(|figure| figure.section(plan, &runs))
        .collect()
}

impl Figure {
    /// The measurements of one line: places across, and the runs of each.
    fn line<'a>(
        &self,
        runs: &'a Runs,
        threads: usize,
        contender: usize,
        positive: Option<u32>,
    ) -> Vec<(u32, &'a [f64])> {
        let belongs = |id: &Id| {
            id.topic == self.topic
                && (id.threads, id.contender) == (threads, contender)
                && positive.is_none_or(|positive| id.positive == positive)
        };
        let across = |id: &Id| if positive.is_none() { id.positive } else { id.load };
        let line = runs.iter().filter(|run| belongs(run.0));
        line.map(|(id, runs)| (across(id), runs.as_slice())).collect()
    }

    fn section(&self, plan: &Plan, runs: &Runs) -> Section {
        let mut plots = Vec::new();
        for &threads in &plan.threads {
            for &(suffix, of, positive) in self.views {
                let line = |(index, contender): (usize, &crate::filters::Contender)| {
                    let points = self.line(runs, threads, index, positive).into_iter();
                    let points: Vec<_> =
                        points.map(|(x, runs)| (f64::from(x), median(runs))).collect();
                    (!points.is_empty()).then(|| Line::new(contender.name, Style::Joined, points))
                };
                let lines: Vec<_> = CONTENDERS.iter().enumerate().filter_map(line).collect();
                plots.push(Plot {
                    file: format!("{}{suffix}-{threads}", self.topic.name()),
                    title: format!("{}{of}, {}", self.title, threads_in_words(threads)),
                    across: self.across.into(),
                    up: "million a second".into(),
                    rates: false,
                    from_zero: true,
                    lines,
                });
            }
        }
        plots.retain(|plot| !plot.lines.is_empty());
        Section {
            topic: self.topic,
            title: self.title,
            paper: self.paper.clone(),
            ours: self.ours(plan, runs),
            targets: Vec::new(),
            plots,
            csv: self.csv(runs),
        }
    }

    fn csv(&self, runs: &Runs) -> Csv {
        let head = ["filter", "threads", "positive %", "load %", "million a second", "runs"];
        let mut csv = Csv::new(&head);
        for (id, runs) in runs.iter().filter(|run| run.0.topic == self.topic) {
            let all: Vec<_> = runs.iter().map(|run| format!("{run:.4}")).collect();
            csv.push(vec![
                CONTENDERS[id.contender].name.into(),
                id.threads.to_string(),
                id.positive.to_string(),
                id.load.to_string(),
                format!("{:.4}", median(runs)),
                all.join(" "),
            ]);
        }
        csv
    }

    fn ours(&self, plan: &Plan, runs: &Runs) -> String {
        let mut text = format!("{} MB for each filter. {}\n", plan.bytes >> 20, self.notes);
        for &(_, of, positive) in self.views {
            let mut rows = Vec::new();
            for (index, contender) in CONTENDERS.iter().enumerate() {
                for &threads in &plan.threads {
                    let line = self.line(runs, threads, index, positive);
                    if line.is_empty() {
                        continue;
                    }
                    let mut row =
                        vec![format!("{}, {}", contender.name, threads_in_words(threads))];
                    row.extend(self.shown.iter().map(|place| cell(&line, *place)));
                    row.push(gain(&line, &self.line(runs, 1, index, positive)));
                    rows.push(row);
                }
            }
            let shown = self.shown.iter().map(|place| format!("{place} %"));
            let head: Vec<_> = [format!("million a second{of}")]
                .into_iter()
                .chain(shown)
                .chain(["times one thread's".into()])
                .collect();
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            let sentence = self.sentence(runs, of, positive);
            let _ = write!(text, "\n{}\n{sentence}\n", table(&head, &rows));
        }
        text.trim_end().to_owned()
    }

    /// How far each filter is from level, on one thread.
    fn sentence(&self, runs: &Runs, of: &str, positive: Option<u32>) -> String {
        let (above, below) = self.ends;
        let change = |(index, contender): (usize, &crate::filters::Contender)| {
            let line = self.line(runs, 1, index, positive);
            let at = |place| line.iter().find(|point| point.0 == place).map(|point| point.1);
            let times = ratio(at(above)?, at(below)?);
            Some(format!("{} {}", contender.name, figures(times)))
        };
        let changes: Vec<_> = CONTENDERS.iter().enumerate().filter_map(change).collect();
        format!(
            "On one thread{of}, at {above} % and as a share of what it is at {below} %: {}.",
            changes.join(", ")
        )
    }
}

fn cell(line: &[(u32, &[f64])], place: u32) -> String {
    let runs = line.iter().find(|point| point.0 == place);
    runs.map_or_else(|| "–".into(), |point| figures(median(point.1)))
}

/// The throughput against that of one thread, the median over all places.
fn gain(line: &[(u32, &[f64])], one: &[(u32, &[f64])]) -> String {
    let gain = |(place, runs): &(u32, &[f64])| {
        let alone = one.iter().find(|point| point.0 == *place)?;
        Some(ratio(runs, alone.1))
    };
    figures(median(&line.iter().filter_map(gain).collect::<Vec<_>>()))
}

fn threads_in_words(threads: usize) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}
