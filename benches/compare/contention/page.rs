//! The page about contention, as markdown.

use std::fmt::Write as _;

use coucal_measure::text::{cell, figures, threads, wrapped};

use super::locks::{FIRST, LAST, MUTEX, NAMES, NONE, OURS, PROCESSOR, SCENES};
use super::tables::{FAILED, HOT, SMALLEST, SUBJECTS};
use super::{LONGEST, PERCENTILES, RATE, percentile_figure, scene_figure};
use crate::plots::Drawn;
use crate::report::{notes, show, table};
use crate::results::Results;

const METHOD: &str = "\
Each thread does the same operation again and again. The throughput is that of half a second in which \
single operations are not timed. In another half second they are: one look at the clock ends an operation \
and begins the next, so each is in the percentiles, with the time of the clock. With more threads than cores \
a thread is off its processor for many milliseconds, now and then in the middle of an operation: the longest \
operation shows that even where there is no lock. All subjects take turns in each round; a figure is the \
median of the rounds, the longest operation too.";

const WAITING: &str = "\
A waiter tries again and again, longer and longer apart: it spins 1, 2, 4, ... up to 64 times, then gives up \
its turn on the processor nearly two hundred times, which takes about 50 µs if nobody else wants it, and then \
sleeps for 50 µs, for 100 µs, and so on up to 0.8 ms at a time. So whoever waits for a holder that runs has \
the lock soon after it is free. Whoever waits for one that is off its processor leaves the processor to it, \
whatever the priority of the two. No waiter is woken up by the holder, which has nothing to do but one store \
when it unlocks, and need not know whether there are any.

What this costs: a waiter that sleeps finds the lock free late, by up to the time that it sleeps; and it takes \
some processor time while it waits, as it is woken up about a thousand times a second, where a waiter \
that is parked takes none. There is no queue: a thread that has had the lock may take it again before any \
waiter does. The tables say how much that is, beside the mutex of `parking_lot`, which parks its waiters after \
it has spun, and now and then gives the lock to the one that has waited longest.";

const TABLES: &str = "\
Each thread inserts its item and removes it, in turn, whatever the answers. There may be several copies, \
and where there is no room for one more an insert fails. `Mutex<cuckoofilter>` has one lock of `parking_lot` \
around the whole filter.";

const LOCKS: &str = "\
The lock of a stripe alone, and in its place the mutex of `parking_lot`, or no lock at all, which shows what \
the scheduler and the caches do. As in a table, each lock has a count beside it, and stripes lie \
beside each other in memory. An operation takes the lock of a bucket drawn at random, loads and stores its \
word, adds one to the count, and unlocks.";

const STOPPED: &str = "\
One thread holds the lock and sleeps for 100 ms; meanwhile all other threads wait for it. The processor time \
is that of all waiters together, as Linux counts it. Then, how long it takes from the end of the sleep until \
the first of them has the lock, and until the last one has had it.";

/// With a capital letter.
pub fn title(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

pub fn markdown(results: &Results, plots: &[Drawn]) -> String {
    let mut text = String::from("## Machine, command and method\n\n");
    notes(results, &mut text);
    text += &wrapped(METHOD);
    text += "## How a writer waits for a stripe\n\n";
    text += &wrapped(WAITING);
    waiting(results, &mut text);
    let has = |slots: &u64, scene: &str| {
        !results.threads_with(*slots, &scene_figure(scene, RATE)).is_empty()
    };
    let sizes: Vec<_> = results.slots();
    let size = |scene: &str| sizes.iter().copied().find(|slots| has(slots, scene));
    if SCENES.iter().any(|scene| size(scene.name).is_some()) {
        text += "## The lock of a stripe\n\n";
        text += &wrapped(LOCKS);
    }
    for scene in SCENES {
        if let Some(stripes) = size(scene.name) {
            let _ = write!(text, "### {}\n\n{}", title(scene.name), wrapped(scene.what));
            operations(results, (stripes, scene.name), &NAMES, Extra::Times, &mut text);
        }
    }
    if let Some(slots) = size(HOT) {
        text += "## The filter\n\n";
        text += &wrapped(TABLES);
        let what =
            format!("All threads use the same item, in a table of {slots} slots, half full.");
        let _ = write!(text, "### {}\n\n{}", title(HOT), wrapped(&what));
        operations(results, (slots, HOT), &SUBJECTS, Extra::Failed, &mut text);
    }
    if let Some(slots) = size(SMALLEST) {
        let what = "The smallest there is. The threads use four items, so that many use the same.";
        let _ = write!(text, "### {}\n\n{}", title(SMALLEST), wrapped(what));
        operations(results, (slots, SMALLEST), &SUBJECTS, Extra::Failed, &mut text);
    }
    show(plots, &mut text);
    text.trim_end().to_owned() + "\n"
}

/// The last column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    /// How many times the throughput of the mutex.
    Times,
    Failed,
}

fn operations(
    results: &Results,
    (slots, scene): (u64, &str),
    names: &[&str],
    extra: Extra,
    text: &mut String,
) {
    let figure = |figure: &str| scene_figure(scene, figure);
    let rate = figure(RATE);
    let mut rows = Vec::new();
    for count in results.threads_with(slots, &rate) {
        let view = results.at(slots, count);
        for name in view.present(names, &rate) {
            let significant = |value: Option<f64>| value.map_or_else(|| "–".into(), figures);
            let mut row = vec![format!("{name}, {}", threads(count))];
            row.push(significant(view.median(name, &rate)));
            row.extend(PERCENTILES.map(|percentile| {
                let nanos = view.median(name, &figure(&percentile_figure(percentile)));
                significant(nanos.map(|nanos| nanos / 1e3))
            }));
            row.push(significant(view.median(name, &figure(LONGEST)).map(|nanos| nanos / 1e6)));
            row.push(match extra {
                Extra::Times if name == NONE => String::new(),
                Extra::Times => cell(view.ratio((name, &rate), (MUTEX, &rate)), 2),
                Extra::Failed => cell(view.median(name, &figure(FAILED)), 1),
            });
            rows.push(row);
        }
    }
    let last = if extra == Extra::Failed { FAILED } else { "times the mutex" };
    let head = ["", "million ops/s", "50 %, µs", "99 %, µs", "99.9 %, µs", "longest, ms", last];
    *text += &table(&head, &rows);
}

fn waiting(results: &Results, text: &mut String) {
    let counts = results.threads_with(1, PROCESSOR);
    if counts.is_empty() {
        return;
    }
    *text += "### A holder that is stopped\n\n";
    *text += &wrapped(STOPPED);
    let mut rows = Vec::new();
    for (count, name) in counts.into_iter().flat_map(|count| [(count, OURS), (count, MUTEX)]) {
        let view = results.at(1, count);
        let mut row = vec![format!("{name}, {} waiting", threads(count))];
        row.push(cell(view.median(name, PROCESSOR), 2));
        row.extend([FIRST, LAST].map(|figure| cell(view.median(name, figure), 0)));
        rows.push(row);
    }
    let head = ["", "processor time of all waiters, ms", "first after, µs", "last after, µs"];
    *text += &table(&head, &rows);
}
