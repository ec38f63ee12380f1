//! The page about snapshots, as markdown.

use std::fmt::Write as _;

use coucal_measure::text::{cell, power, wrapped};

use super::TABLES;
use super::beside::{
    INSERTS, LONGEST, LONGEST_OF_ALL, LOOKUP, PAUSE, PERCENTILES, SCENES, SNAPSHOT,
    percentile_figure, scene_figure,
};
use super::bytes::{
    COPY, COPY_TO_NEW_PAGES, READ, READ_TO_NEW, RESTORE, RESTORE_FILE, WRITE, limit_figure,
};
use super::plots::bytes;
use crate::plots::Drawn;
use crate::report::{notes, show, table, target_table};
use crate::results::Results;
use crate::targets::List;

const METHOD: &str = "\
`coucal` is a table of fixed size in the default layout, 94 % full; `coucal, growing` one that has grown \
to this size, 87 % full, as it always is. The keys, their hash, and what a median and a ratio are: as on \
[the page of tables of fixed size](performance.md).

**Inserts.** One thread removes its oldest item and inserts a new one, again and again; at this load many \
inserts kick. A second thread takes one snapshot after the other: of this table, of another one with the \
same content, or none. To compare with snapshots of another table shows what the table itself does; to \
compare with none shows also what both threads do to each other in the caches and on the way to memory. \
There are two cores, so there is no third thread: lookups have their own runs, without a writer.

**The longest insert.** An insert that finds a stripe locked spins, then yields, then sleeps for longer and \
longer, so one that waits for a snapshot is off its processor by its own choice, and that counts. What does \
not count is the time for which the thread could run and had no processor: Linux has it in a file, which \
is read after each operation that takes 10 µs. An interruption of the whole virtual machine is not known \
there. It strikes at random, and a snapshot takes all locks each time: so the longest insert of each \
snapshot is noted, from the end of the last one to its own end, and their median is the pause. The longest \
of all inserts is in the table, too; compare it with that beside snapshots of another table, which no lock \
stops.

**Bytes**, on one thread, in turn with copies of as many bytes by the machine. `write_to` writes into a \
vector whose memory is there, `memory copy` copies into it. A snapshot and a restored filter need memory \
of their own, which the system has to provide page by page if the allocator has none left: `memory copy to \
new pages` copies into a vector that is made for it, so for a small table the allocator may give back what \
it had before. `restore from bytes` is `from_bytes`, and `restore from a file` is `restore` with a file \
that is in the page cache. `read of a file` reads that file into memory that is there. `read of a file to \
new memory` is what `std::fs::read` does, into pages that are new each time, whatever the size: the \
least that anything takes that is read and kept. All that is restored is validated.";

pub fn markdown(results: &Results, plots: &[Drawn]) -> String {
    let mut text = String::from("## Machine, command and method\n\n");
    notes(results, &mut text);
    text += &wrapped(METHOD);
    let list = targets(results);
    if !list.0.is_empty() {
        text +=
            "## Targets\n\nTimes as a ratio of two in the same run, unless there is a unit.\n\n";
        text += &target_table(&list.0);
    }
    inserts(results, &mut text);
    lookups(results, &mut text);
    times(results, &mut text);
    show(plots, &mut text);
    text.trim_end().to_owned() + "\n"
}

/// From this size on the pause has a target.
const LARGE: u64 = 1 << 27;

fn targets(results: &Results) -> List {
    let mut list = List::default();
    for name in TABLES {
        let [quiet, other, here] = SCENES.map(|scene| scene_figure(scene, LOOKUP));
        for slots in results.slots_with(&here) {
            let (view, size) = (results.at(slots, 2), power(slots));
            let ratio = view.ratio((name, &here), (name, &other));
            let what = format!("{name}: lookups, against snapshots of another table, {size} slots");
            list.at_most(1.05, ratio, what);
            let ratio = view.ratio((name, &here), (name, &quiet));
            list.at_most(
                1.05,
                ratio,
                format!("{name}: lookups, against no snapshots, {size} slots"),
            );
        }
        for slots in results.slots_with(&scene_figure(SCENES[2], PAUSE)) {
            if slots < LARGE {
                continue;
            }
            let (view, size) = (results.at(slots, 2), power(slots));
            for figure in [PAUSE, LONGEST] {
                let micros = view.median(name, &scene_figure(SCENES[2], figure));
                let what = format!("{name}: {figure}, {size} slots");
                list.at_most_micros(200.0, micros.map(|nanos| nanos / 1e3), what);
            }
        }
        for (figure, limit, goal) in [
            (WRITE, COPY, 2.0),
            (RESTORE, COPY, 3.0),
            (RESTORE, COPY_TO_NEW_PAGES, 3.0),
            (RESTORE_FILE, READ, 3.0),
            (RESTORE_FILE, READ_TO_NEW, 3.0),
        ] {
            for slots in results.slots_with(figure) {
                let ratio =
                    results.at(slots, 1).ratio((name, figure), (name, &limit_figure(limit)));
                let what = format!("{name}: {figure}, against a {limit}, {} slots", power(slots));
                list.at_most(goal, ratio, what);
            }
        }
    }
    list
}

fn inserts(results: &Results, text: &mut String) {
    let sizes = results.slots_with(&scene_figure(SCENES[2], PAUSE));
    if sizes.is_empty() {
        return;
    }
    *text += "## Inserts beside snapshots\n\nPercentiles in ns, less the time of reading the clock; the \
              longest in µs: the median of the snapshots, the median of\nthe rounds, and the same with the \
              time for which the thread had no processor.\n\n";
    let mut rows = Vec::new();
    for slots in sizes {
        let view = results.at(slots, 2);
        for (name, scene) in TABLES.into_iter().flat_map(|name| SCENES.map(|scene| (name, scene))) {
            let median = |figure: &str| view.median(name, &scene_figure(scene, figure));
            let mut row = vec![format!("{name}, {}, {scene}", power(slots))];
            row.extend(
                PERCENTILES.map(|percentile| cell(median(&percentile_figure(percentile)), 0)),
            );
            row.extend(
                [PAUSE, LONGEST, LONGEST_OF_ALL]
                    .map(|figure| cell(median(figure).map(|nanos| nanos / 1e3), 1)),
            );
            row.push(cell(median(INSERTS), 2));
            rows.push(row);
        }
    }
    let head = [
        "",
        "50 %",
        "99 %",
        "99.9 %",
        "99.99 %",
        "longest of a snapshot",
        "of a round",
        "preempted too",
        "inserts, million ops/s",
    ];
    *text += &table(&head, &rows);
}

fn lookups(results: &Results, text: &mut String) {
    let sizes = results.slots_with(&scene_figure(SCENES[2], LOOKUP));
    if sizes.is_empty() {
        return;
    }
    *text += "## Lookups beside snapshots\n\nns per lookup, half of the keys present; one thread looks up, \
              one takes snapshots.\n\n";
    let mut rows = Vec::new();
    for (slots, name) in sizes.into_iter().flat_map(|slots| TABLES.map(|name| (slots, name))) {
        let figure = |scene| results.at(slots, 2).median(name, &scene_figure(scene, LOOKUP));
        let mut row = vec![format!("{name}, {} slots", power(slots))];
        row.extend(SCENES.map(|scene| cell(figure(scene), 1)));
        rows.push(row);
    }
    let head: Vec<_> = [""].into_iter().chain(SCENES).collect();
    *text += &table(&head, &rows);
}

fn times(results: &Results, text: &mut String) {
    let sizes = results.slots_with(WRITE);
    if sizes.is_empty() {
        return;
    }
    *text += "## Time of a snapshot, and of its bytes\n\nMilliseconds.\n\n";
    let [new_pages, copy, read, read_to_new] =
        [COPY_TO_NEW_PAGES, COPY, READ, READ_TO_NEW].map(limit_figure);
    let figures = [SNAPSHOT, &new_pages, WRITE, &copy, RESTORE, RESTORE_FILE, &read, &read_to_new];
    let mut rows = Vec::new();
    let mut speeds = Vec::new();
    for (slots, name) in sizes.into_iter().flat_map(|slots| TABLES.map(|name| (slots, name))) {
        let view = results.at(slots, 1);
        let size = format!("{name}, {} slots", power(slots));
        let decimals = if slots > 1 << 20 { 1 } else { 3 };
        let mut row = vec![size.clone()];
        let beside = scene_figure(SCENES[2], SNAPSHOT);
        row.push(cell(results.at(slots, 2).median(name, &beside), decimals));
        row.extend(figures.map(|figure| cell(view.median(name, figure), decimals)));
        rows.push(row);
        let gigabytes =
            |figure| view.median(name, figure).map(|millis| bytes(slots) / millis / 1e6);
        speeds.push([vec![size], figures.map(|figure| cell(gigabytes(figure), 1)).into()].concat());
    }
    let head = [SNAPSHOT, COPY_TO_NEW_PAGES, WRITE, COPY, RESTORE, RESTORE_FILE, READ, READ_TO_NEW];
    let times: Vec<_> = ["", "snapshot beside a writer"].into_iter().chain(head).collect();
    *text += &table(&times, &rows);
    let _ = write!(text, "The same in GB/s:\n\n");
    let speeds_head: Vec<_> = [""].into_iter().chain(head).collect();
    *text += &table(&speeds_head, &speeds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_ratio_of_two_times_of_a_run() {
        let mut results = Results::default();
        for round in [1.0, 2.0, 3.0] {
            results.push((1 << 18, 1), TABLES[0], WRITE, 3.0 * round);
            results.push((1 << 18, 1), TABLES[0], &limit_figure(COPY), 2.0 * round);
            let figure = scene_figure(SCENES[2], PAUSE);
            results.push((LARGE, 2), TABLES[0], &figure, 250_000.0);
        }
        let list = targets(&results).0;
        let met = |what: &str| {
            let target = list.iter().find(|target| target.figure.contains(what)).expect(what);
            (target.reached(), target.met())
        };
        assert_eq!(met("write_to"), ("1.50".into(), "yes"));
        assert_eq!(met("longest insert of a snapshot"), ("250.00 µs".into(), "**no**"));
        let page = markdown(&results, &[]);
        assert!(page.contains("## Targets") && page.contains("## Inserts beside snapshots"));
    }
}
