//! The page, as markdown.

use std::fmt::Write as _;

use coucal_measure::text::{self, cell, power};

use crate::concurrent::{PERCENTILES, SCENES, latency_figure, writer_figure};
use crate::contenders::{COUCAL, DEFAULT_HASHER, ENTRANTS, names, peer_names};
use crate::limits::{LIMITS, ONE_LOAD, TWO_LOADS};
use crate::plots::Drawn;
use crate::results::{Results, View};
use crate::single::{AT_HALF, BANDS};
use crate::{summary, targets};

const BEGIN: &str = "<!-- made by `compare`: from here -->";
const END: &str = "<!-- made by `compare`: to here -->";
const LOOKUPS: [&str; 3] = ["miss", "hit", "half"];
const WRITES: [&str; 4] = ["fill", "remove", "unique new", "unique present"];

/// The page with the part of this program replaced, or a new page.
pub fn renewed(before: &str, report: &str) -> String {
    let part = format!("{BEGIN}\n\n{report}\n{END}");
    let around =
        before.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    match around {
        Some((head, tail)) => format!("{head}{part}{tail}"),
        None => format!("# Performance\n\n{part}\n"),
    }
}

pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    text::table(head, rows) + "\n"
}

pub fn markdown(results: &Results, plots: &[Drawn]) -> String {
    let mut text = summary::markdown(results);
    text += "## Machine, command and method\n\n";
    notes(results, &mut text);
    text += &method(results);
    targets(results, &mut text);
    for slots in results.slots() {
        let size = power(slots);
        let view = results.at(slots, 1);
        one_thread(view, &size, &mut text);
        batches(view, &size, &mut text);
        full(view, &size, &mut text);
    }
    latency(results, &mut text);
    show(plots, &mut text);
    text.trim_end().to_owned() + "\n"
}

/// The machine and the command.
pub fn notes(results: &Results, text: &mut String) {
    for (name, note) in results.notes.iter().filter(|note| note.0 != "command") {
        let _ = writeln!(text, "- {name}: {note}");
    }
    let _ = write!(text, "\n```text\n{}\n```\n\n", results.note("command"));
}

/// The plots, each by its title where it cannot be shown.
pub fn show(plots: &[Drawn], text: &mut String) {
    if !plots.is_empty() {
        *text += "## Plots\n\n";
    }
    for Drawn { file, title } in plots {
        let _ = writeln!(text, "![{title}](performance/{file}.svg)\n");
    }
}

fn method(results: &Results) -> String {
    let largest = results.slots().into_iter().max().unwrap_or(0);
    let limited = |exact: bool| {
        let limited = ENTRANTS.iter().filter(|e| e.most_slots < largest && e.exact == exact);
        limited.map(|entrant| format!("`{}`", entrant.name())).collect::<Vec<_>>().join(", ")
    };
    let left_out = if limited(true).is_empty() {
        String::new()
    } else {
        format!(
            " Left out above 2^24 slots: the exact sets ({}), which would take most of the memory \
             and of the time, and the filters behind a lock ({}), which are measured for their \
             behaviour with several threads.",
            limited(true),
            limited(false)
        )
    };
    text::wrapped(&format!(
        "The keys are 64-bit integers, and all peers get the same hash of them, coucal included: the \
         finalizer of MurmurHash3, a permutation of the 64-bit integers. `{DEFAULT_HASHER}` is the \
         filter as `CuckooFilter::with_capacity` makes it. All peers are built for the same number \
         of items, 95 % of the slots.{left_out}\n\n\
         Each figure is the median of several runs, in which all peers take turns. A ratio is the \
         median of the ratios inside each run. On one thread, the time of a run is the median over \
         its chunks of 4,096 operations (for a fill: over the chunks in each twentieth of the \
         slots). The latency of the exact sets is measured once; `moka` is measured once in \
         tables above 2^20 slots, and its latency is left out. `performance.csv` has every run.\n\n\
         Memory is what a peer has requested from the allocator and not freed, while it was built \
         and filled: a counting allocator measures it for all of them in the same way, and adds \
         one atomic operation to each allocation, which only `moka` makes for each insert. Padding \
         and headers of the allocator itself are not counted."
    ))
}

fn targets(results: &Results, text: &mut String) {
    let list = targets::all(results);
    if list.is_empty() {
        return;
    }
    *text += "## Targets\n\nAgainst the limit of the machine: the time of coucal divided by the time \
              of the limit. Against a peer: how\nmany times as fast coucal is.\n\n";
    *text += &target_table(&list);
}

pub fn target_table(list: &[targets::Target]) -> String {
    let row = |target: &targets::Target| {
        vec![target.figure.clone(), target.goal(), target.reached(), target.met().into()]
    };
    let rows: Vec<_> = list.iter().map(row).collect();
    table(&["figure", "target", "measured", "met"], &rows)
}

fn one_thread(view: View, size: &str, text: &mut String) {
    let entries = view.present(&names(), "load");
    if entries.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "## {size} slots, one thread\n\nns per operation. Lookups at 95 % load: of absent keys \
         (miss), of present keys (hit), or of both in random\norder (half). Fill: inserts from empty \
         to 95 % load. Unique: `insert_unique` of new or of present keys.\n\n"
    );
    let mut head = vec!["", "miss", "hit", "half"];
    if !view.runs(COUCAL, "miss").is_empty() {
        head.push("half ÷ two loads");
    }
    head.extend(WRITES);
    let row = |name: &&str| {
        let mut row = vec![(*name).to_owned()];
        for column in &head[1..] {
            row.push(match *column {
                "half ÷ two loads" => cell(view.ratio((name, "half"), (TWO_LOADS, "half")), 2),
                column => cell(view.median(name, column), 1),
            });
        }
        row
    };
    let rows: Vec<_> = LIMITS.iter().chain(&entries).map(row).collect();
    *text += &table(&head, &rows);
    if let Some(store) = view.median(ONE_LOAD, "load and store") {
        let _ = write!(text, "One random load and a store to the same word: {store:.1} ns.\n\n");
    }
    inserts(view, &entries, text);
    against(view, text);
    *text += "Memory, and false positives among absent keys:\n\n";
    let row = |name: &&str| {
        vec![
            (*name).to_owned(),
            cell(view.median(name, "slots"), 0),
            cell(view.median(name, "load").map(|load| load * 100.0), 1),
            cell(view.median(name, "bits per item"), 2),
            cell(view.median(name, "false positives").map(|rate| rate * 100.0), 4),
        ]
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    let head = ["", "slots", "load reached, %", "bits per item", "false positives, %"];
    *text += &table(&head, &rows);
}

fn inserts(view: View, entries: &[&str], text: &mut String) {
    if view.runs(COUCAL, "fill").is_empty() {
        return;
    }
    *text += "Inserts by band of load, ns per operation:\n\n";
    let row = |name: &&str| {
        let figures = BANDS.iter().map(|band| cell(view.median(name, band.0), 1));
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    let head: Vec<_> = [""].into_iter().chain(BANDS.iter().map(|band| band.0)).collect();
    *text += &table(&head, &rows);
}

fn against(view: View, text: &mut String) {
    let peers: Vec<_> = peer_names().collect();
    let peers = view.present(&peers, "load");
    if peers.is_empty() {
        return;
    }
    *text += "How many times as fast as the peer coucal is:\n\n";
    let columns: Vec<_> = LOOKUPS.iter().chain(&WRITES).copied().chain([BANDS[3].0]).collect();
    let row = |name: &&str| {
        let figures =
            columns.iter().map(|column| cell(view.ratio((name, column), (COUCAL, column)), 2));
        [(*name).to_owned()].into_iter().chain(figures).collect()
    };
    let rows: Vec<_> = peers.iter().map(row).collect();
    let head: Vec<_> = [""].into_iter().chain(columns.iter().copied()).collect();
    *text += &table(&head, &rows);
}

fn batches(view: View, size: &str, text: &mut String) {
    let [[(insert, _), (remove, _)], [(insert_many, _), (remove_many, _)]] = AT_HALF;
    let pairs = [
        (COUCAL, "contains + branch", "contains_many + branch"),
        (COUCAL, "contains + sum", "contains_many + sum"),
        (ONE_LOAD, "contains + sum", "contains_many + sum"),
        (TWO_LOADS, "contains + sum", "contains_many + sum"),
        (COUCAL, "insert loop", "insert_many"),
        (COUCAL, insert, insert_many),
        (COUCAL, remove, remove_many),
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
            "## {size} slots, batches\n\nns per item. Lookups: half of the keys present; the caller \
             branches on each answer, or adds up the answers.\nInserts: from empty to 75 % load; and at \
             half load, a sixteenth of the slots in turn with the removal of as many.\n\n"
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
    let rows: Vec<_> = view.present(&names(), "first failure at").iter().map(row).collect();
    if !rows.is_empty() {
        let _ = write!(
            text,
            "## {size} slots, inserts into a full filter\n\nThe load at the first failure, and the \
             time of the first 512 failed inserts.\n\n"
        );
        let head = ["", "first failure at, %", "median, µs", "99th percentile, µs"];
        *text += &table(&head, &rows);
    }
}

fn latency(results: &Results, text: &mut String) {
    let quiet = latency_figure(SCENES[0], 99.9);
    for slots in results.slots_with(&quiet) {
        let view = results.at(slots, 2);
        let _ = write!(
            text,
            "## {} slots, latency of a lookup beside a writer\n\nns of single lookups of items that \
             stay, at 95 % load; the median time of reading the clock is subtracted. The\nwriter \
             removes its oldest item and inserts a new one: in another table of the same size (which \
             shows what\nscheduling and memory do to the lookups), or in the same table. The last \
             column is the writer's throughput.\n\n",
            power(slots)
        );
        let mut rows = Vec::new();
        for name in view.present(&names(), &quiet) {
            for scene in SCENES {
                let mut row = vec![format!("{name}, {scene}")];
                for percentile in PERCENTILES {
                    row.push(cell(view.median(name, &latency_figure(scene, percentile)), 0));
                }
                row.push(cell(view.median(name, &writer_figure(scene)), 2));
                rows.push(row);
            }
        }
        let head =
            ["", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "maximum", "inserts, million ops/s"];
        *text += &table(&head, &rows);
    }
}
