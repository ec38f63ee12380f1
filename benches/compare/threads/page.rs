//! The page about threads, as markdown.

use std::fmt::Write as _;

use coucal_measure::text::{self, figures, power, wrapped};
use coucal_measure::timing::ratio;

use super::work::{
    FEW_WRITES, LOOKUPS, MANY_WRITES, REMOVALS, TO_HALF, TO_MOST, WORKLOADS, Workload,
};
use super::{GROWING, LIMIT, SUBJECTS, contenders};
use crate::contenders::COUCAL;
use crate::plots::Drawn;
use crate::report::{notes, show, table, target_table};
use crate::results::Results;
use crate::targets::List;

const METHOD: &str = "\
All threads use one filter. The keys, their hash, and for how many items the peers are built: as on [the \
page of tables of fixed size](performance.md). `coucal, growing` gets as many items as the others, and \
its inserts include all growth. It is always about 87 % full, so it takes less memory than the others where \
they are half full, and many of its inserts kick.

In each round all subjects take turns, with each number of threads, and each time with new tables. Their \
work is divided among the threads, which start together; the time is that from the first start to the \
last end. All workloads follow one another in the same table, in the order of this page. A small table is \
filled quickly, so inserts and removals go through several tables: each thread does its part of one and then \
goes on to the next.

A figure is the median of the rounds. A ratio is the median of the ratios inside each round.";

const LIMIT_METHOD: &str = "\
The bare limit is what the machine does with as many bytes when nothing has to be right: each operation \
hashes its key; a lookup loads two words at random, and an insert or a removal loads and stores one, \
without a lock and without an atomic operation that other cores would have to wait for.";

pub fn markdown(results: &Results, plots: &[Drawn]) -> String {
    let mut text = String::from("## Machine, command and method\n\n");
    notes(results, &mut text);
    text += &wrapped(METHOD);
    text += &wrapped(LIMIT_METHOD);
    subjects(results, &mut text);
    let list = targets(results);
    if !list.0.is_empty() {
        text += "## Targets\n\nThe ratio of two throughputs in the same round, in tables out of a core's own cache.\n\n";
        text += &target_table(&list.0);
    }
    ahead(results, &mut text);
    let mut sizes: Vec<_> =
        WORKLOADS.iter().flat_map(|workload| results.slots_with(&workload.figure())).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for slots in sizes {
        let _ = write!(
            text,
            "## {} slots\n\nMillion ops/s of all threads together. In brackets: how many times that of \
             one thread, and the share of the bare\nlimit with as many threads. A dash: it cannot do \
             this, or an operation failed for want of room.\n\n",
            power(slots)
        );
        for workload in WORKLOADS {
            throughput(results, slots, workload, &mut text);
        }
    }
    show(plots, &mut text);
    text.trim_end().to_owned() + "\n"
}

/// The subjects for which there are figures of a workload in tables of this size.
fn present(results: &Results, slots: u64, workload: Workload) -> Vec<&'static str> {
    let figure = workload.figure();
    let counts = results.threads_with(slots, &figure);
    let has =
        |name: &&str| counts.iter().any(|n| !results.at(slots, *n).runs(name, &figure).is_empty());
    SUBJECTS.into_iter().filter(has).collect()
}

fn present_anywhere(results: &Results, slots: u64) -> Vec<&'static str> {
    let with = WORKLOADS.map(|workload| present(results, slots, workload));
    SUBJECTS.into_iter().filter(|name| with.iter().any(|names| names.contains(name))).collect()
}

fn subjects(results: &Results, text: &mut String) {
    for contender in contenders() {
        let takes_part = |slots: u64| present_anywhere(results, slots).contains(&contender.name);
        if results.slots().into_iter().any(takes_part) {
            let _ = writeln!(text, "- `{}`: {}.", contender.name, contender.what);
        }
    }
    text.push('\n');
}

/// The smallest table that is out of a core's own cache. In smaller ones two cores share every word, and
/// the bare limit itself may be below that of one.
const OUT_OF_CACHE: u64 = 1 << 20;

fn targets(results: &Results) -> List {
    let mut list = List::default();
    for (subject, workload, goal) in [
        (COUCAL, LOOKUPS, 1.9),
        (COUCAL, TO_HALF, 1.8),
        (COUCAL, TO_MOST, 1.8),
        (COUCAL, REMOVALS, 1.8),
        (COUCAL, FEW_WRITES, 1.9),
        (COUCAL, MANY_WRITES, 1.9),
        (GROWING, TO_HALF, 1.7),
        (GROWING, TO_MOST, 1.7),
    ] {
        let figure = workload.figure();
        let sizes = results.slots_with(&figure).into_iter();
        for slots in sizes.filter(|slots| *slots >= OUT_OF_CACHE) {
            let runs = |threads| results.at(slots, threads).runs(subject, &figure);
            let (name, size) = (workload.name, power(slots));
            let what = format!("{subject}: {name}, two threads against one, {size} slots");
            list.at_least(goal, ratio(runs(2), runs(1)), what);
        }
    }
    list
}

/// A smaller advantage than this is within the noise.
const NOISE: f64 = 0.02;

/// Where a peer has more throughput than coucal.
fn ahead(results: &Results, text: &mut String) {
    let mut lines = String::new();
    for workload in WORKLOADS {
        let figure = workload.figure();
        for slots in results.slots_with(&figure) {
            for name in present(results, slots, workload) {
                if name == LIMIT || name.starts_with(COUCAL) {
                    continue;
                }
                let factor = |threads: usize| {
                    let view = results.at(slots, threads);
                    let factor = view.ratio((name, &figure), (COUCAL, &figure))?;
                    (factor > 1.0 + NOISE)
                        .then(|| format!("{} ({factor:.2} times)", text::threads(threads)))
                };
                let counts = results.threads_with(slots, &figure);
                let factors: Vec<_> = counts.into_iter().filter_map(factor).collect();
                if !factors.is_empty() {
                    let (size, factors) = (power(slots), factors.join(", "));
                    let _ = writeln!(
                        lines,
                        "- {}, {size} slots: `{name}` with {factors}",
                        workload.name
                    );
                }
            }
        }
    }
    if !lines.is_empty() {
        let _ = write!(
            text,
            "## Where a peer is ahead\n\nBy more than {:.0} %, with how many times the throughput of \
             coucal.\n\n{lines}\n",
            100.0 * NOISE
        );
    }
}

fn throughput(results: &Results, slots: u64, workload: Workload, text: &mut String) {
    let figure = workload.figure();
    let counts = results.threads_with(slots, &figure);
    if counts.is_empty() {
        return;
    }
    let _ = write!(text, "### {}\n\n{}", workload.title(), wrapped(workload.what));
    let entry = |name: &str, threads: usize| {
        let view = results.at(slots, threads);
        let Some(rate) = view.median(name, &figure) else { return "–".to_owned() };
        let one = results.at(slots, 1).runs(name, &figure);
        let times = ratio(view.runs(name, &figure), one);
        let share =
            (name != LIMIT).then(|| view.ratio((name, &figure), (LIMIT, &figure))).flatten();
        let compared: Vec<_> = [
            times.map(|times| format!("{times:.2}")),
            share.map(|share| format!("{:.0} %", 100.0 * share)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if compared.is_empty() {
            figures(rate)
        } else {
            format!("{} ({})", figures(rate), compared.join("; "))
        }
    };
    let row = |name: &&'static str| {
        let entries = counts.iter().map(|threads| entry(name, *threads));
        [(*name).to_owned()].into_iter().chain(entries).collect()
    };
    let rows: Vec<_> = present_anywhere(results, slots).iter().map(row).collect();
    let head: Vec<_> = counts.iter().map(|threads| text::threads(*threads)).collect();
    let head: Vec<_> = [""].into_iter().chain(head.iter().map(String::as_str)).collect();
    *text += &table(&head, &rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::{ATOMIC, BLOOM};

    #[test]
    fn ratios_losses_and_what_cannot_be_done() {
        let mut results = Results::default();
        for (name, one, two) in [(LIMIT, 100.0, 200.0), (COUCAL, 50.0, 80.0), (ATOMIC, 60.0, 70.0)]
        {
            results.push((1 << 24, 1), name, &FEW_WRITES.figure(), one);
            results.push((1 << 24, 2), name, &FEW_WRITES.figure(), two);
        }
        results.push((1 << 24, 1), BLOOM, &LOOKUPS.figure(), 10.0);
        let page = markdown(&results, &[]);
        assert!(page.contains("80.0 (1.60; 40 %)"), "{page}");
        assert!(page.contains("200 (2.00)"), "{page}");
        let ahead = "- mixed, a tenth writes, 2^24 slots: `atomic-cuckoo-filter` with 1 thread (1.20 times)\n";
        assert!(page.contains(ahead), "{page}");
        let mixed = page.split("### Mixed").nth(1).expect("a table");
        let row = mixed.lines().find(|line| line.contains(BLOOM)).expect("a row");
        assert_eq!(row.matches('–').count(), 2, "{row}");
        assert!(page.contains("| at least 1.9 |         1.60 | **no** |"), "{page}");
    }
}
