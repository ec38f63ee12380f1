//! Figures 5 to 8: throughput of lookups, inserts and removals, out of the measurements of
//! [`sweep`].

use std::fmt::Write as _;

use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::{figures, table, threads as threads_in_words};

use crate::filters::{CONTENDERS, Contender};
use crate::report::{Csv, Section, median, ratio};
use crate::sweep::{self, ABSENT, Id, PRESENT, Runs, SHARES};
use crate::{Plan, Topic, paper};

/// One of the figures: its text and its plots.
struct Figure {
    topic: Topic,
    title: &'static str,
    paper: String,
    /// What is different here.
    notes: &'static str,
    x: &'static str,
    /// Where one filter is far above the others, the throughput is plotted on a logarithmic scale.
    scale: Scale,
    /// The plots: a suffix of the file, an addition to the title, and the share of positive queries,
    /// `None` where it is the x axis.
    views: &'static [(&'static str, &'static str, Option<u32>)],
    /// Values of the x axis that the table shows, where there are figures for them.
    shown: &'static [u32],
    /// Two values of the x axis that one sentence compares.
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
            "A lookup in a cuckoo filter always reads two buckets, so its cost does not depend on \
             the answer. A Bloom filter is fast on absent items, because it may stop at the first \
             bit that is not set, and slower the more items are present. The points of the plot are \
             not quoted; the authors' program `conext-figure5` states, in million lookups/s at 0, \
             25, 50, 75 and 100 % positive queries, {}.",
            quotes.join("; ")
        ),
        notes: "Each filter is at the highest load of figure 7 at which no insert had failed. The \
                queries are in random order, and the answers are added up.",
        x: "positive queries, %",
        scale: Scale::FromZero,
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
            "The throughput of lookups in a cuckoo filter does not depend on the load, for absent \
                and for present items. A quotient filter slows down as its runs grow, and so do \
                lookups of absent items in a Bloom filter as more bits are set."
                .into(),
        notes: "A load of 100 % means all slots of a cuckoo or quotient filter, and the number of \
                items that a Bloom filter was built for.",
        x: "load, %",
        scale: Scale::FromZero,
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
        paper: "Inserts into a cuckoo filter slow down with the load, because more of them have \
                to kick; inserts into a quotient filter slow down too. Inserts into a Bloom \
                filter do not depend on the load."
            .into(),
        notes: "The figure at a load of 90 % is for the inserts that end there. A line stops where \
                an insert failed. With more than one thread, only filters that several threads \
                can write to take part; each thread has its own keys.",
        x: "load, %",
        scale: Scale::Log,
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
        notes: "The figure at a load of 90 % is for the removals that begin there, the oldest items \
                first. Filters that could not be filled to the end are left out, and so are \
                filters that cannot remove. The counting Bloom filter looks up each item before it \
                removes it.",
        x: "load, %",
        scale: Scale::FromZero,
        views: &[("", "", Some(0))],
        shown: &[10, 50, 90, 95],
        ends: (95, 10),
    }
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let runs = sweep::run(plan);
    [figure_5(), figure_6(), figure_7(), figure_8()]
        .into_iter()
        .filter(|figure| plan.has(figure.topic))
        .map(|figure| figure.section(plan, &runs))
        .collect()
}

impl Figure {
    /// The measurements of one line: values of the x axis, and the runs of each.
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
        let x = |id: &Id| if positive.is_none() { id.positive } else { id.load };
        let line = runs.iter().filter(|run| belongs(run.0));
        line.map(|(id, runs)| (x(id), runs.as_slice())).collect()
    }

    fn section(&self, plan: &Plan, runs: &Runs) -> Section {
        let mut plots = Vec::new();
        for &threads in &plan.threads {
            for &(suffix, of, positive) in self.views {
                let line = |(index, contender): (usize, &Contender)| {
                    let points = self.line(runs, threads, index, positive).into_iter();
                    let points: Vec<_> =
                        points.map(|(x, runs)| (f64::from(x), median(runs))).collect();
                    (!points.is_empty()).then(|| Series::new(contender.name, points))
                };
                let series: Vec<_> = CONTENDERS.iter().enumerate().filter_map(line).collect();
                plots.push(Plot {
                    file: format!("{}{suffix}-{threads}", self.topic.name()),
                    title: format!("{}{of}, {}", self.title, threads_in_words(threads)),
                    x: Axis::new(self.x, Scale::FromZero),
                    y: Axis::new("million ops/s", self.scale.clone()),
                    series,
                });
            }
        }
        plots.retain(|plot| !plot.is_empty());
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
        let head = ["filter", "threads", "positive %", "load %", "million ops/s", "runs"];
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
        let mut text = format!("{} MiB for each filter. {}\n", plan.bytes >> 20, self.notes);
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
            let head: Vec<_> = [format!("million ops/s{of}")]
                .into_iter()
                .chain(shown)
                .chain(["relative to one thread".into()])
                .collect();
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            let sentence = self.sentence(runs, of, positive);
            let _ = write!(text, "\n{}\n{sentence}\n", table(&head, &rows));
        }
        text.trim_end().to_owned()
    }

    /// How much each filter changes over the x axis, on one thread.
    fn sentence(&self, runs: &Runs, of: &str, positive: Option<u32>) -> String {
        let (above, below) = self.ends;
        let change = |(index, contender): (usize, &Contender)| {
            let line = self.line(runs, 1, index, positive);
            let at = |place| line.iter().find(|point| point.0 == place).map(|point| point.1);
            let times = ratio(at(above)?, at(below)?);
            Some(format!("{} {}", contender.name, figures(times)))
        };
        let changes: Vec<_> = CONTENDERS.iter().enumerate().filter_map(change).collect();
        format!(
            "On one thread{of}, the throughput at {above} % divided by the throughput at {below} %: {}.",
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
