//! The page about growth, as markdown.

use std::fmt::Write as _;

use coucal_measure::text::{cell, figures, power, wrapped};
use coucal_measure::timing::ratio;

use super::course::PEERS;
use super::large::{CURSORS, LOOKUPS, PERCENTILES, SCENES, extent_figure, scene_figure};
use super::plots::bases;
use super::{FIXED, GROWING};
use crate::plots::Drawn;
use crate::report::{notes, show, table, target_table};
use crate::results::{Results, View};
use crate::targets::List;

const METHOD: &str = "\
The keys, their hash, and what a median and a ratio are: as on [the page of tables of fixed size]\
(performance.md). `coucal` is the default layout, with fingerprints of 16 bits, and grows; \
`coucal, fixed` is a table of the greatest size, filled to the same items. The peers:

- `qfilter`: its resizeable filter, which copies itself into one of twice the size.
- `scalable_cuckoo_filter`: a chain of filters; a lookup asks all of them.
- `atomic-cuckoo-filter`: cannot grow; when an insert fails it is built anew at twice its size from the items, which the program has to keep. They are not counted as its memory.
- `RwLock<HashSet>`: an exact set of 64-bit hashes; both of the standard library.

Each filter is made for the false positives that coucal has at the greatest size, or for the next \
lower rate that it offers. In coucal and in `qfilter` fewer items have proportionally fewer false \
positives. Memory is what a peer has requested from the allocator and not freed after a step, so \
what a copy takes besides while it is made is not counted. For coucal it is the part of the table \
that is in use; address space is requested for the greatest size at once.

Everything grows in turn, a doubling at a time. The time of an insert is the mean of all inserts of a \
step, an eighth of a doubling, with all that the subject does to grow. An insert is long if it takes \
10 µs. Linux counts how often a thread is given a processor; a long insert during which this number \
changed is left out. An interruption of the whole virtual machine is not counted there. So the same \
inserts are made twice, and a long one counts with the shorter of its times: what the rest of the \
machine does seldom strikes the same insert twice. The percentiles are those of the first time; those \
of the table of fixed size, too, which is filled once.";

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
    course(results, &mut text);
    averages(results, &mut text);
    by_extent(results, &mut text);
    while_growing(results, &mut text);
    two_threads(results, &mut text);
    longest(results, &mut text);
    show(plots, &mut text);
    text.trim_end().to_owned() + "\n"
}

/// Up to this size a table is in the inner caches, where growth may cost more.
const IN_CACHE: u64 = 1 << 20;

fn lookup_goal(slots: u64) -> f64 {
    if slots > IN_CACHE { 1.25 } else { 1.6 }
}

fn least(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::min)
}

fn greatest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

/// The ratios of a figure at all numbers of items.
fn ratios(results: &Results, above: &str, below: &str, figure: &str) -> Vec<f64> {
    let ratio = |items: u64| results.at(items, 1).ratio((above, figure), (below, figure));
    results.slots_with(figure).into_iter().filter_map(ratio).collect()
}

/// The mean of a figure over all steps, which are equal in their ratio.
fn average(results: &Results, name: &str, figure: &str) -> Option<f64> {
    let values: Vec<_> = results
        .slots_with(figure)
        .into_iter()
        .filter_map(|items| results.at(items, 1).median(name, figure))
        .collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn targets(results: &Results) -> List {
    let mut list = List::default();
    for base in bases(results) {
        for operation in LOOKUPS {
            let figure = extent_figure(operation);
            let ratio = |at: u64| {
                let view = results.at(base + base * at / CURSORS, 1);
                view.ratio((GROWING, &figure), (FIXED, &figure))
            };
            let name = format!("{operation}, worst place of the cursor, {} slots", power(base));
            list.at_most(lookup_goal(base), greatest((0..CURSORS).filter_map(ratio)), name);
        }
    }
    for slots in larger(results) {
        for operation in LOOKUPS {
            let figure = extent_figure(operation);
            let ratio = results.at(slots, 1).ratio((GROWING, &figure), (FIXED, &figure));
            list.at_most(lookup_goal(slots), ratio, format!("{operation}, {} slots", power(slots)));
        }
    }
    for slots in results.slots_with(SCENES[2]) {
        let (view, size) = (results.at(slots, 2), power(slots));
        let ratio = view.ratio((GROWING, SCENES[2]), (FIXED, SCENES[1]));
        list.at_most(lookup_goal(slots), ratio, format!("lookups while it grows, {size} slots"));
        let [quiet, here] = [SCENES[0], SCENES[2]].map(|scene| scene_figure(scene, Some(99.9)));
        let ratio = view.ratio((GROWING, &here), (GROWING, &quiet));
        let name = format!("their 99.9th percentile, against no growth, {size} slots");
        list.at_most(2.0, ratio, name);
    }
    for (figure, name) in [
        ("whole course", "an insert while growing"),
        ("whole course, insert_many", "the same by `insert_many`"),
    ] {
        for slots in results.slots_with(figure) {
            let ratio = results.at(slots, 1).ratio((GROWING, figure), (FIXED, figure));
            list.at_most(1.6, ratio, format!("{name}, up to {} slots", power(slots)));
        }
    }
    for slots in whole_fills(results) {
        let (view, size) = (results.at(slots, 1), power(slots));
        let micros = view.median(GROWING, "longest insert").map(|nanos| nanos / 1000.0);
        list.at_most_micros(100.0, micros, format!("the longest insert, {size} slots"));
        let figure = scene_figure("insert", Some(99.9));
        let ratio = view.ratio((GROWING, &figure), (FIXED, &figure));
        list.at_most(2.0, ratio, format!("99.9th percentile of an insert, {size} slots"));
    }
    for slots in results.slots_with("growing Mops/s") {
        let runs = |threads| results.at(slots, threads).runs(GROWING, "growing Mops/s");
        let name = format!("two threads that grow it, against one, up to {} slots", power(slots));
        list.at_least(1.7, ratio(runs(2), runs(1)), name);
    }
    against_peers(results, &mut list);
    list
}

fn against_peers(results: &Results, list: &mut List) {
    for peer in PEERS {
        for (figure, name, worst_of) in [
            ("doubling", "growing inserts", "worst doubling"),
            ("miss", "miss", "worst step"),
            ("hit", "hit", "worst step"),
        ] {
            let ratios = ratios(results, peer, GROWING, figure);
            if let Some(worst) = least(ratios.into_iter()) {
                list.at_least(1.0, Some(worst), format!("{name}, against {peer}, {worst_of}"));
            }
        }
        let whole = |slots: u64| {
            let figure = "whole course";
            Some((slots, results.at(slots, 1).ratio((peer, figure), (GROWING, figure))?))
        };
        for (slots, ratio) in results.slots_with("whole course").into_iter().filter_map(whole) {
            let name = format!("growing inserts, against {peer}, all up to {} slots", power(slots));
            list.at_least(1.0, Some(ratio), name);
        }
        let [ours, theirs] = [GROWING, peer].map(|name| average(results, name, "bits per item"));
        if let Some((ours, theirs)) = ours.zip(theirs) {
            let name = format!("bits per item, against {peer}, average of all sizes");
            list.at_most(1.0, Some(ours / theirs), name);
        }
    }
}

/// The names that have a figure somewhere.
fn present<'n>(results: &Results, names: &[&'n str], figure: &str) -> Vec<&'n str> {
    let sizes = results.slots_with(figure);
    let has = |name: &&&str| {
        sizes.iter().any(|items| !results.at(*items, 1).runs(name, figure).is_empty())
    };
    names.iter().filter(has).copied().collect()
}

/// The first items and those of each doubling: where false positives are measured.
fn course(results: &Results, text: &mut String) {
    let items = results.slots_with("false positives");
    if items.is_empty() {
        return;
    }
    *text += "## From a small table to a large one\n\n";
    let parts = [
        (FIXED, "doubling", "Inserts in the doubling that ends with so many items, ns:", 1.0),
        ("", "miss", "Lookups of absent keys, ns:", 1.0),
        ("", "hit", "Lookups of present keys, ns:", 1.0),
        ("", "bits per item", "Bits per item:", 1.0),
        ("", "false positives", "False positives, %:", 100.0),
    ];
    for (fixed, figure, title, unit) in parts {
        let names: Vec<_> = [GROWING, fixed].into_iter().chain(PEERS).collect();
        let names = present(results, &names, figure);
        let row = |items: &u64| {
            let view = results.at(*items, 1);
            let value = |name: &&str| view.median(name, figure).map(|value| value * unit);
            let show = |name| value(name).map_or_else(|| "–".into(), figures);
            [items.to_string()].into_iter().chain(names.iter().map(show)).collect()
        };
        let rows: Vec<_> = items.iter().map(row).collect();
        let head: Vec<_> = ["items"].into_iter().chain(names.iter().copied()).collect();
        let _ = write!(text, "{title}\n\n{}", table(&head, &rows));
    }
}

fn averages(results: &Results, text: &mut String) {
    let names: Vec<_> = [GROWING].into_iter().chain(PEERS).collect();
    let names = present(results, &names, "bits per item");
    if names.is_empty() {
        return;
    }
    *text += "Over all steps, each an eighth of a doubling. Bits of the rate: how many bits the false \
              positives are worth, log2\nof one in how many; what is beyond them is the price of the \
              structure and of its growth. The last two columns are\nmeans of all inserts.\n\n";
    let row = |name: &&str| {
        let bits: Vec<_> = results
            .slots_with("bits per item")
            .into_iter()
            .filter_map(|items| results.at(items, 1).median(name, "bits per item"))
            .collect();
        let whole = |figure: &str| {
            let slots = results.slots_with(figure).into_iter().max()?;
            results.at(slots, 1).median(name, figure)
        };
        vec![
            (*name).to_owned(),
            cell(average(results, name, "bits per item"), 1),
            cell(least(bits.iter().copied()), 1),
            cell(greatest(bits.iter().copied()), 1),
            cell(bits_of_the_rate(results, name), 1),
            cell(whole("whole course"), 1),
            cell(whole("whole course, insert_many"), 1),
        ]
    };
    let mut rows: Vec<_> = names.iter().map(row).collect();
    rows.insert(1, row(&FIXED));
    let head = [
        "",
        "bits per item, average",
        "least",
        "most",
        "bits of the rate, average",
        "ns per insert",
        "by `insert_many`",
    ];
    *text += &table(&head, &rows);
}

fn bits_of_the_rate(results: &Results, name: &str) -> Option<f64> {
    let bits = |items: u64| {
        let rate = results.at(items, 1).median(name, "false positives")?;
        (rate > 0.0).then(|| -rate.log2())
    };
    let bits: Vec<_> = results.slots_with("false positives").into_iter().filter_map(bits).collect();
    (!bits.is_empty()).then(|| bits.iter().sum::<f64>() / bits.len() as f64)
}

/// Sizes at which lookups are measured at one place of the cursor only.
fn larger(results: &Results) -> Vec<u64> {
    let bases = bases(results);
    let mut sizes = results.slots_with(&extent_figure(LOOKUPS[0]));
    sizes.retain(|slots| !bases.iter().any(|base| (*base..2 * base).contains(slots)));
    sizes
}

fn by_extent(results: &Results, text: &mut String) {
    let sizes = results.slots_with(&extent_figure(LOOKUPS[0]));
    if sizes.is_empty() {
        return;
    }
    *text += "## Lookups by how far the table has grown\n\nIn a table that grows and in one of fixed \
              size with as many slots and the same items, ns; and the ratio.\n\n";
    let row = |slots: &u64| {
        let view = results.at(*slots, 1);
        let start = bases(results).into_iter().rfind(|base| base <= slots);
        let start = start.filter(|base| *slots < 2 * base).unwrap_or(*slots);
        let mut row = vec![format!("{} and {} %", power(start), 100 * (slots - start) / start)];
        for operation in LOOKUPS {
            let figure = extent_figure(operation);
            row.push(cell(view.median(GROWING, &figure), 1));
            row.push(cell(view.median(FIXED, &figure), 1));
            row.push(cell(view.ratio((GROWING, &figure), (FIXED, &figure)), 2));
        }
        row
    };
    let rows: Vec<_> = sizes.iter().map(row).collect();
    let head =
        ["slots", "miss", "fixed", "ratio", "hit", "fixed", "ratio", "half", "fixed", "ratio"];
    *text += &table(&head, &rows);
}

fn while_growing(results: &Results, text: &mut String) {
    for slots in results.slots_with(SCENES[2]) {
        let _ = write!(
            text,
            "## Lookups while it grows, {} slots\n\nns; half of the keys present. In a loop, and \
             percentiles of single lookups, less the time of reading the clock. The last\ncolumn is \
             the rate of the other thread, which inserts.\n\n",
            power(slots)
        );
        let view = results.at(slots, 2);
        let row = |(name, scene): (&str, &str)| {
            let mut row = vec![format!("{name}, {scene}"), cell(view.median(name, scene), 1)];
            row.extend(PERCENTILES.map(|percentile| {
                cell(view.median(name, &scene_figure(scene, Some(percentile))), 0)
            }));
            let inserts = view.median(name, &format!("{scene}: inserts Mops/s"));
            row.push(cell(inserts, 2));
            row
        };
        let scenes =
            [FIXED, GROWING].into_iter().flat_map(|name| SCENES.map(|scene| (name, scene)));
        let scenes = scenes.filter(|(name, scene)| !view.runs(name, scene).is_empty());
        let rows: Vec<_> = scenes.map(row).collect();
        *text += &table(
            &["", "in a loop", "50 %", "99 %", "99.9 %", "99.99 %", "inserts, million ops/s"],
            &rows,
        );
    }
}

fn two_threads(results: &Results, text: &mut String) {
    for slots in results.slots_with("growing Mops/s") {
        let rate = |threads| results.at(slots, threads).median(GROWING, "growing Mops/s");
        let _ = write!(
            text,
            "## Threads that grow a table\n\nAll inserts up to {} slots: {} million ops/s by one \
             thread, {} by two.\n\n",
            power(slots),
            cell(rate(1), 2),
            cell(rate(2), 2)
        );
    }
}

/// Sizes at which single inserts of a table of fixed size are timed, too.
fn whole_fills(results: &Results) -> Vec<u64> {
    let mut sizes = results.slots_with("longest insert");
    sizes.retain(|slots| !results.at(*slots, 1).runs(FIXED, "longest insert").is_empty());
    sizes
}

fn longest(results: &Results, text: &mut String) {
    let columns = |view: View, name: &str| {
        let mut row: Vec<_> = PERCENTILES
            .map(|percentile| cell(view.median(name, &scene_figure("insert", Some(percentile))), 0))
            .into();
        for (figure, unit) in [
            ("longest insert", 1000.0),
            ("longest insert, switches too", 1000.0),
            ("inserts over 100 us", 1.0),
        ] {
            let decimals = usize::from(unit > 1.0);
            row.push(cell(view.median(name, figure).map(|value| value / unit), decimals));
        }
        row
    };
    let mut rows = Vec::new();
    let fills = whole_fills(results);
    for items in results.slots_with("false positives").into_iter().skip(1) {
        rows.push(
            [vec![format!("up to {items} items")], columns(results.at(items, 1), GROWING)].concat(),
        );
    }
    for slots in fills {
        for (name, what) in [(GROWING, "last doubling"), (FIXED, "whole fill")] {
            let label = format!("{name}, {} slots, {what}", power(slots));
            rows.push([vec![label], columns(results.at(slots, 1), name)].concat());
        }
    }
    if results.slots_with("longest insert").is_empty() {
        return;
    }
    *text += "## Single inserts\n\nPercentiles in ns, less the time of reading the clock; the longest \
              in µs, 10.0 where none took longer. Up to a\nnumber of items: the last eighth of a \
              doubling. Where the thread was switched, an insert counts only in the column\nthat says \
              so, which is of one pass.\n\n";
    let head = ["", "50 %", "99 %", "99.9 %", "99.99 %", "longest", "with switches", "over 100 µs"];
    *text += &table(&head, &rows);
}
