//! The tables, as markdown.

use std::fmt::Write as _;

use coucal_benches::peers::Coucal;
use coucal_benches::peers::Peer;

use crate::crowd::{PERCENTILES, SCENES, TRAFFICS, latency_figure};
use crate::race::{self, BANDS, LIMITS};
use crate::results::{Results, View, ratio};
use crate::targets::{self, power};

const BEGIN: &str = "<!-- made by `compare`: from here -->";
const END: &str = "<!-- made by `compare`: to here -->";
const OURS: &str = Coucal::NAME;
const LOOKUPS: [&str; 3] = ["miss", "hit", "half"];
const WRITES: [&str; 4] = ["fill", "remove", "unique new", "unique present"];

/// The page with its made part replaced, or a new page.
pub fn renewed(before: &str, report: &str) -> String {
    let made = format!("{BEGIN}\n\n{report}\n{END}");
    let around =
        before.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    match around {
        Some((head, tail)) => format!("{head}{made}{tail}"),
        None => format!("# Performance\n\n{made}\n"),
    }
}

/// A table with aligned columns: the first to the left, figures to the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut line = String::from("|");
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, " {cell:<width$} |"),
                _ => write!(line, " {cell:>width$} |"),
            };
        }
        line + "\n"
    };
    let rules: Vec<_> = widths.iter().map(|width| "-".repeat(width - 1)).collect();
    let rules: Vec<_> = rules
        .iter()
        .enumerate()
        .map(|(column, rule)| if column == 0 { format!("-{rule}") } else { format!("{rule}:") })
        .collect();
    let mut text = line(head.to_vec()) + &line(rules.iter().map(String::as_str).collect());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text + "\n"
}

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
}

pub fn markdown(results: &Results, plots: &[String]) -> String {
    let mut text = String::from("## Machine and command\n\n");
    for (name, note) in results.notes.iter().filter(|note| note.0 != "command") {
        let _ = writeln!(text, "- {name}: {note}");
    }
    let _ = write!(text, "\n```text\n{}\n```\n\n", results.note("command"));
    text += "Each figure is the median of several runs that take turns with those of the others. A \
             ratio is\nthe median of the ratios inside each run. On one thread, the time of a run is \
             the median of its\nchunks of 4,096 operations (for a fill, of those in each twentieth \
             of the slots). `performance.csv`\nhas every run.\n\n";
    targets(results, &mut text);
    for slots in results.slots() {
        let size = power(slots);
        let view = results.at(slots, 1);
        one_thread(view, &size, &mut text);
        batches(view, &size, &mut text);
        full(view, &size, &mut text);
    }
    threads(results, &mut text);
    latency(results, &mut text);
    if !plots.is_empty() {
        text += "## Plots\n\n";
    }
    for plot in plots {
        let _ = writeln!(text, "![{}](performance/{plot}.svg)\n", plot.replace('-', " "));
    }
    text
}

fn targets(results: &Results, text: &mut String) {
    let list = targets::all(results);
    if list.is_empty() {
        return;
    }
    let row = |target: &targets::Target| {
        vec![target.figure.clone(), target.goal(), target.reached(), target.met().into()]
    };
    let rows: Vec<_> = list.iter().map(row).collect();
    *text += "## Targets\n\nThe time of coucal over that of the limit, and how many times as fast as \
              a peer it is.\n\n";
    *text += &table(&["figure", "target", "measured", "met"], &rows);
}

fn one_thread(view: View, size: &str, text: &mut String) {
    let names = race::filter_names();
    let entries = view.present(&names, "load");
    if entries.is_empty() {
        return;
    }
    let _ = write!(text, "## {size} slots, one thread\n\nNanoseconds an operation.\n\n");
    let mut head = vec!["", "miss", "hit", "half"];
    if !view.runs(OURS, "miss").is_empty() {
        head.push("half ÷ two loads");
    }
    head.extend(WRITES);
    let row = |name: &&str| {
        let mut row = vec![(*name).to_owned()];
        for column in &head[1..] {
            row.push(match *column {
                "half ÷ two loads" => cell(view.ratio((name, "half"), (LIMITS[2], "half")), 2),
                column => cell(view.median(name, column), 1),
            });
        }
        row
    };
    let rows: Vec<_> = LIMITS.iter().chain(&entries).map(row).collect();
    *text += &table(&head, &rows);
    if let Some(store) = view.median(LIMITS[1], "load and store") {
        let _ = write!(text, "One random load and store to the same word: {store:.1} ns.\n\n");
    }
    inserts(view, &entries, text);
    against(view, &entries[1..], text);
    *text += "What a filter takes, and what it says of items that it does not hold:\n\n";
    let row = |name: &&str| {
        vec![
            (*name).to_owned(),
            cell(view.median(name, "slots"), 0),
            cell(view.median(name, "load").map(|load| load * 100.0), 1),
            cell(view.median(name, "bits an item"), 2),
            cell(view.median(name, "false positives").map(|rate| rate * 100.0), 4),
        ]
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    let head = ["", "slots", "load reached, %", "bits an item", "false positives, %"];
    *text += &table(&head, &rows);
}

fn inserts(view: View, entries: &[&str], text: &mut String) {
    if view.runs(OURS, "fill").is_empty() {
        return;
    }
    *text += "Inserts by band of load:\n\n";
    let row = |name: &&str| {
        let figures = BANDS.iter().map(|band| cell(view.median(name, band.0), 1));
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    let head: Vec<_> = [""].into_iter().chain(BANDS.iter().map(|band| band.0)).collect();
    *text += &table(&head, &rows);
}

fn against(view: View, peers: &[&str], text: &mut String) {
    if peers.is_empty() {
        return;
    }
    *text += "How many times as fast coucal is:\n\n";
    let columns: Vec<_> = LOOKUPS.iter().chain(&WRITES).copied().chain([BANDS[3].0]).collect();
    let row = |name: &&str| {
        let figures =
            columns.iter().map(|column| cell(view.ratio((name, column), (OURS, column)), 2));
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    let rows: Vec<_> = peers.iter().map(row).collect();
    let head: Vec<_> = [""].into_iter().chain(columns.iter().copied()).collect();
    *text += &table(&head, &rows);
}

fn batches(view: View, size: &str, text: &mut String) {
    let pairs = [
        (OURS, "contains + branch", "contains_many + branch"),
        (OURS, "contains + sum", "contains_many + sum"),
        (LIMITS[1], "contains + sum", "contains_many + sum"),
        (LIMITS[2], "contains + sum", "contains_many + sum"),
        (OURS, "insert loop", "insert_many"),
    ];
    let row = |(name, one, many): &(&str, &str, &str)| {
        let runs = (view.median(name, one), view.median(name, many));
        runs.0.is_some().then(|| {
            let ratio = view.ratio((name, one), (name, many));
            let label = format!("{name}: {many}");
            vec![label, cell(runs.0, 1), cell(runs.1, 1), cell(ratio, 2)]
        })
    };
    let rows: Vec<_> = pairs.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let _ = write!(
            text,
            "## {size} slots, batches\n\nNanoseconds an item: lookups half and half, the caller \
             branching on each answer or adding them up;\ninserts from empty to 75 % load.\n\n"
        );
        *text += &table(&["", "loop", "batch", "times as fast"], &rows);
    }
}

fn full(view: View, size: &str, text: &mut String) {
    let row = |name: &&str| {
        vec![
            (*name).to_owned(),
            cell(view.median(name, "first failure at").map(|load| load * 100.0), 2),
            cell(view.median(name, "failed insert us"), 2),
            cell(view.median(name, "failed insert 99 % us"), 2),
        ]
    };
    let names = race::filter_names();
    let rows: Vec<_> = view.present(&names, "first failure at").iter().map(row).collect();
    if !rows.is_empty() {
        let _ = write!(text, "## {size} slots, inserts into a full filter\n\n");
        let head = ["", "first failure at, %", "failed insert, µs", "99th percentile, µs"];
        *text += &table(&head, &rows);
    }
}

fn threads(results: &Results, text: &mut String) {
    for slots in results.slots_with(TRAFFICS[0]) {
        let counts = results.threads_with(slots, TRAFFICS[0]);
        let _ = write!(
            text,
            "## {} slots, threads\n\nMillion operations a second, and in brackets how many times \
             one thread's. Lookups: half and half\nat 95 % load. Inserts: from empty to 90 %. \
             Mixed: 90 % lookups, 9 % inserts, 1 % removals from half\nload on. Beside a writer: \
             one of the threads kicks and the others look up; one thread has no writer.\n\n",
            power(slots)
        );
        let mut rows = Vec::new();
        for traffic in TRAFFICS {
            for name in results.at(slots, 1).present(&race::filter_names(), traffic) {
                let mut row = vec![format!("{name}: {}", traffic.trim_end_matches(" M/s"))];
                for &threads in &counts {
                    let runs = |threads| results.at(slots, threads).runs(name, traffic);
                    let rate = cell(results.at(slots, threads).median(name, traffic), 1);
                    row.push(format!("{rate} ({})", cell(ratio(runs(threads), runs(1)), 2)));
                }
                rows.push(row);
            }
        }
        let head: Vec<_> = counts
            .iter()
            .map(|threads| match threads {
                1 => "1 thread".into(),
                _ => format!("{threads} threads"),
            })
            .collect();
        let head: Vec<_> = [""].into_iter().chain(head.iter().map(String::as_str)).collect();
        *text += &table(&head, &rows);
    }
}

fn latency(results: &Results, text: &mut String) {
    let [quiet, ..] = SCENES.map(|scene| latency_figure(scene, 99.9));
    for slots in results.slots_with(&quiet) {
        let view = results.at(slots, 2);
        let _ = write!(
            text,
            "## {} slots, latency of a lookup beside a writer\n\nNanoseconds of single lookups of \
             items that stay, at 95 % load, less the median of the clock alone.\nThe writer takes \
             its oldest item out and puts a new one in: in another table as large (what the\n\
             machine's scheduling and memory do to the lookup), or in the same. The last column is \
             what the\nwriter does meanwhile.\n\n",
            power(slots)
        );
        let mut rows = Vec::new();
        for name in view.present(&race::filter_names(), &quiet) {
            for scene in SCENES {
                let mut row = vec![format!("{name}, {scene}")];
                for percentile in PERCENTILES {
                    row.push(cell(view.median(name, &latency_figure(scene, percentile)), 0));
                }
                row.push(cell(view.median(name, &format!("{scene}: inserts M/s")), 2));
                rows.push(row);
            }
        }
        let head = ["", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "most", "inserts M/s"];
        *text += &table(&head, &rows);
    }
}
