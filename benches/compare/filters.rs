//! One thread: every subject goes through the same fill, lookups and removals, in turn.

use std::ops::Range;
use std::time::Instant;

use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::plot::{Plot, Scale, Series};
use coucal_benches::text::{Table, power};

use crate::output::table;
use crate::peers::{ATOMIC, BLOOM, COUCAL, HASH_SET, LIMIT, QUOTIENT, SEQUENTIAL, build, removes};
use crate::results::{Results, median};
use crate::subject::{Operation, Subject};
use crate::{Plan, Topic, allocated, pages};

/// Three sizes: 0.5 MiB of `coucal`, which fit into the second-level cache of a core; 32 MiB; and 256 MiB.
pub const TOPIC: Topic = Topic {
    name: "filters",
    slots: &[1 << 18, 1 << 24, 1 << 27],
    subjects: || SUBJECTS.to_vec(),
    measure,
    tables,
    plots,
};

const SUBJECTS: [&str; 7] = [LIMIT, COUCAL, ATOMIC, SEQUENTIAL, QUOTIENT, BLOOM, HASH_SET];

/// The fill stops after each twentieth of the slots, up to 95 %.
const STEPS: u64 = 19;
/// Tables up to this size are filled in one turn: otherwise each turn would begin by fetching the table into the cache.
pub const SMALL: u64 = 1 << 20;

const MISS: &str = "miss";
const FILL: &str = "fill";
const BITS: &str = "bits per item";
const WRONG: &str = "false positives";
/// Figures and their titles, in ns.
const TIMES: [(&str, &str); 5] = [
    (MISS, "lookup, absent"),
    ("hit", "lookup, present"),
    (FILL, "insert, 0–95 %"),
    ("insert at 95 %", "insert, 90–95 %"),
    ("remove", "remove"),
];

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        measure_round(plan, slots, round, results);
    }
    if plan.large_pages {
        pages::measure(&TOPIC, plan, plan.last_slots(), results);
    }
}

/// Does some work with the keys of the range, chunk by chunk. Only the work is timed, not the generation of the keys.
/// Returns the ns per key, and the number of times that the answer was yes. The time is the median of the chunks, since
/// one in which the thread was preempted would dominate the others.
pub fn timed(
    keys: Keys,
    which: Which,
    range: Range<u64>,
    mut work: impl FnMut(&[u64]) -> u64,
) -> (f64, u64) {
    let (mut nanos, mut answers) = (Vec::new(), 0);
    for from in range.clone().step_by(CHUNK) {
        let chunk = keys.collect(which, from..range.end.min(from + CHUNK as u64));
        let started = Instant::now();
        answers += work(&chunk);
        nanos.push(started.elapsed().as_nanos() as f64 / chunk.len() as f64);
    }
    (median(&nanos).unwrap_or(f64::NAN), answers)
}

/// A subject, and its contents.
pub struct Entry {
    pub name: &'static str,
    pub subject: Box<dyn Subject>,
    /// Items 0 to `items` have been inserted.
    pub items: u64,
    /// The bytes that building and filling have allocated and not freed.
    pub bytes: usize,
    /// The ns per insert, summed over the steps of the fill.
    pub fill: f64,
}

impl Entry {
    pub fn new(name: &'static str, build: impl FnOnce() -> Box<dyn Subject>) -> Self {
        let before = allocated();
        let subject = build();
        Self { name, subject, items: 0, bytes: allocated() - before, fill: 0.0 }
    }

    /// Counts the bytes that some inserts allocate. A set may also free something when it grows.
    pub fn counted<R>(&mut self, inserts: impl FnOnce(&dyn Subject) -> R) -> R {
        let before = allocated();
        let result = inserts(&*self.subject);
        self.bytes = (self.bytes + allocated()).saturating_sub(before);
        result
    }

    /// Inserts the items up to this one. Returns the ns per item, or NaN if not all of them have room.
    pub fn insert(&mut self, keys: Keys, to: u64) -> f64 {
        let range = self.items..to;
        let mut full = false;
        let (nanos, stored) = self.counted(|subject| {
            timed(keys, Which::InOrder, range, |chunk| {
                let stored = if full { 0 } else { subject.run(Operation::Insert, chunk) };
                full |= stored < chunk.len() as u64;
                stored
            })
        });
        self.items += stored;
        if full { f64::NAN } else { nanos }
    }

    /// Runs an operation that is not an insert. Returns the ns per operation, and the number of answers that were yes.
    pub fn run(
        &self,
        operation: Operation,
        keys: Keys,
        which: Which,
        range: Range<u64>,
    ) -> (f64, u64) {
        timed(keys, which, range, |chunk| self.subject.run(operation, chunk))
    }

    pub fn bits_per_item(&self) -> f64 {
        8.0 * self.bytes as f64 / self.items as f64
    }
}

fn measure_round(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(1 + round as u64);
    let mut push = |name: &str, figure: &str, value| results.push((slots, 1), name, figure, value);
    let entry = |name| {
        let mut entry = Entry::new(name, || build(name, slots as usize));
        // The limit stores nothing; lookups in it are as if it held 95 %.
        entry.items = if name == LIMIT { slots * STEPS / 20 } else { 0 };
        entry
    };
    let mut entries: Vec<_> =
        SUBJECTS.into_iter().filter(|name| plan.includes(name)).map(entry).collect();
    // From empty to 95 %, with some lookups at each twentieth.
    let steps = if slots <= SMALL { STEPS } else { 1 };
    for first in (0..STEPS).step_by(steps as usize) {
        for entry in entries.iter_mut().filter(|entry| entry.name != LIMIT) {
            for step in first..first + steps {
                let slots = entry.subject.slots();
                // Otherwise it has been full before.
                if entry.items == slots * step / 20 {
                    let nanos = entry.insert(keys, slots * (step + 1) / 20);
                    entry.fill += nanos / STEPS as f64;
                    let range = 0..(plan.operations / 8).min(slots / 8);
                    let which = Which::Half { items: entry.items };
                    let (looked, _) = entry.run(Operation::Contains, keys, which, range);
                    push(entry.name, &load_figure("insert", step), nanos);
                    push(entry.name, &load_figure("half", step), looked);
                }
            }
        }
    }
    for entry in entries.iter().filter(|entry| entry.name != LIMIT) {
        push(entry.name, FILL, entry.fill);
    }
    if let Some(share) = pages::share() {
        push("all", pages::SHARE, share);
    }
    // At most as many removals as a quarter of the slots, the oldest items first.
    let removals = (4 * plan.operations).min(slots / 4);
    for (figure, operation, count) in [
        (MISS, Operation::Contains, plan.operations),
        ("hit", Operation::Contains, plan.operations),
        (WRONG, Operation::Contains, 8 * plan.operations),
        ("remove", Operation::Remove, removals),
    ] {
        for entry in &entries {
            let (name, items) = (entry.name, entry.items);
            let (which, range) = match figure {
                MISS => (Which::Absent, 0..count),
                "hit" => (Which::Present { items }, 0..count),
                WRONG if name == LIMIT || round > 0 => continue,
                WRONG => (Which::Absent, 1 << 32..(1 << 32) + count),
                _ if name == LIMIT || !removes(name) => continue,
                _ => (Which::InOrder, 0..count),
            };
            // A small table is brought into the cache first.
            if slots <= SMALL {
                let warm = Which::Half { items };
                entry.run(Operation::Contains, keys, warm, slots..slots + slots / 4);
            }
            let (nanos, yes) = entry.run(operation, keys, which, range);
            if figure == WRONG {
                push(name, "load", items as f64 / entry.subject.slots() as f64);
                push(name, BITS, entry.bits_per_item());
                push(name, WRONG, yes as f64 / count as f64);
            } else {
                push(name, figure, nanos);
            }
        }
    }
}

/// Returns the name of a figure at the load with which a step of the fill ends.
fn load_figure(kind: &str, step: u64) -> String {
    format!("{kind} at {} %", (step + 1) * 5)
}

fn tables(results: &Results) -> Vec<Table> {
    let sizes = results.slots_with(FILL);
    let Some(&slots) = sizes.last() else { return Vec::new() };
    let view = results.at(slots, 1);
    let columns = TIMES.map(|time| time.1).into_iter();
    let columns = columns.chain(["bits per item", "false positives, %"]);
    let mut peers = table("filters", columns);
    let columns = ["lookup, absent", "insert", "remove", "bits per item", "false positives, %"];
    let mut summary = table("summary", columns);
    let by_size = [(MISS, "lookup, absent"), (FILL, "insert")]
        .map(|(_, title)| sizes.iter().map(move |slots| format!("{title}, {}", power(*slots))));
    let mut course = table("sizes", by_size.into_iter().flatten());
    let columns = TIMES[..3].iter().flat_map(|time| [time.1.to_owned(), "large pages".into()]);
    let mut large = table("pages", columns);
    for name in SUBJECTS {
        let median = |figure: &str| view.median(name, figure);
        let [bits, wrong] = [median(BITS), median(WRONG).map(|rate| 100.0 * rate)];
        peers.row(name, TIMES.map(|time| median(time.0)).into_iter().chain([bits, wrong]));
        if name != LIMIT {
            let times = [MISS, FILL, "remove"].map(median).into_iter();
            summary.row(name, times.chain([bits, wrong]));
        }
        let by_size = [MISS, FILL].map(|figure| {
            sizes.iter().map(move |slots| results.at(*slots, 1).median(name, figure))
        });
        course.row(name, by_size.into_iter().flatten());
        if median(&(MISS.to_owned() + pages::SUFFIX)).is_some() {
            let both =
                |figure: &str| [median(figure), median(&(figure.to_owned() + pages::SUFFIX))];
            large.row(name, TIMES[..3].iter().flat_map(|time| both(time.0)));
        }
    }
    let tables = [peers, summary, course, large];
    tables.into_iter().filter(|table| !table.rows().is_empty()).collect()
}

fn plots(results: &Results) -> Vec<Plot> {
    let Some(slots) = results.slots_with(FILL).pop() else { return Vec::new() };
    let plot = |(file, kind, what): (&str, &str, &str)| {
        let points = |name: &str| {
            let point = |step: u64| {
                let nanos = results.at(slots, 1).median(name, &load_figure(kind, step))?;
                Some(((step + 1) as f64 * 5.0, 1e3 / nanos))
            };
            (0..STEPS).filter_map(point).collect()
        };
        Plot {
            file: format!("filters-{file}"),
            title: format!("{what} over the load, {} slots, one thread", power(slots)),
            x: ("load, % of the slots", Scale::FromZero),
            y: ("million ops/s", Scale::Log),
            series: SUBJECTS.map(|name| Series::new(name, points(name))).into(),
        }
    };
    let plots = [
        ("lookups", "half", "Lookups, half of the keys present,"),
        ("inserts", "insert", "Inserts"),
    ];
    plots.map(plot).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_large_pages_are_beside_those_of_small_ones() {
        let run = |nanos| {
            let mut results = Results::default();
            for figure in [MISS, FILL] {
                results.push((1 << 27, 1), COUCAL, figure, nanos);
            }
            results
        };
        let mut results = run(2.0);
        assert_eq!(tables(&results).len(), 3, "no table without large pages");
        results.extend(run(1.0), pages::SUFFIX);
        let table = tables(&results)[3].markdown();
        assert!(table.contains("|           2.00 |        1.00 |"), "{table}");
    }
}
