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

/// In the second-level cache of a core; as large as the last-level cache; far larger.
pub const TOPIC: Topic =
    Topic { name: "filters", slots: &[1 << 18, 1 << 24, 1 << 27], measure, tables, plots };

const SUBJECTS: [&str; 7] = [LIMIT, COUCAL, ATOMIC, SEQUENTIAL, QUOTIENT, BLOOM, HASH_SET];

/// The fill stops after each twentieth of the slots, up to 95 %.
const STEPS: u64 = 19;
/// Tables up to this size are filled in one turn: otherwise each change of turn would begin with
/// fetching the table into the cache.
pub const SMALL: u64 = 1 << 20;

const MISS: &str = "miss";
const FILL: &str = "fill";
/// Figures and their titles, in ns.
const TIMES: [(&str, &str); 5] = [
    (MISS, "lookup, absent"),
    ("hit", "lookup, present"),
    (FILL, "insert, 0–95 %"),
    ("insert at 95 %", "insert, 90–95 %"),
    ("remove", "remove"),
];

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        for round in plan.each_round(slots) {
            measure_round(plan, slots, round, results);
        }
    }
    if plan.large_pages {
        pages::measure(plan, plan.last_slots(), results);
    }
}

/// Does some work with the keys of the range, chunk by chunk. Only the work is timed, not the generation of the
/// keys. Returns the ns per key, and the number of times that the answer was yes. The time is the median of the
/// chunks, as one in which the thread was preempted would dominate the others.
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

/// A subject, and what it holds.
struct Entry {
    name: &'static str,
    subject: Box<dyn Subject>,
    /// Items 0 to here.
    items: u64,
    /// Bytes that building and filling have allocated and not freed.
    bytes: usize,
    full: bool,
}

impl Entry {
    /// The ns per lookup, and how many found something.
    fn looked_up(&self, keys: Keys, which: Which, range: Range<u64>) -> (f64, u64) {
        timed(keys, which, range, |chunk| self.subject.run(Operation::Contains, chunk))
    }
}

struct Comparison<'a> {
    plan: &'a Plan,
    slots: u64,
    keys: Keys,
    entries: Vec<Entry>,
    results: &'a mut Results,
}

fn measure_round(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let names = SUBJECTS.into_iter().filter(|name| plan.includes(name));
    let entry = |name| {
        let before = allocated();
        let subject = build(name, slots as usize);
        // The limit keeps nothing, and is looked up as if it held 95 %.
        let items = if name == LIMIT { slots * STEPS / 20 } else { 0 };
        Entry { name, subject, items, bytes: allocated() - before, full: name == LIMIT }
    };
    let entries = names.map(entry).collect();
    let keys = Keys::new(1 + round as u64);
    let mut comparison = Comparison { plan, slots, keys, entries, results };
    comparison.fill();
    pages::push_share((slots, 1), comparison.results);
    comparison.lookups();
    if round == 0 {
        comparison.memory_and_false_positives();
    }
    comparison.removals();
}

impl Comparison<'_> {
    fn push(&mut self, peer: &str, figure: &str, value: f64) {
        self.results.push((self.slots, 1), peer, figure, value);
    }

    /// One operation by every entry that can do it, in turn. A small table is brought into the cache
    /// first.
    fn turn(
        &mut self,
        figure: &str,
        operation: Operation,
        range: &Range<u64>,
        which: impl Fn(&Entry) -> Option<Which>,
    ) {
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            let Some(which) = which(entry) else { continue };
            if self.slots <= SMALL {
                let warm = Which::Half { items: entry.items };
                entry.looked_up(self.keys, warm, self.slots..self.slots + self.slots / 4);
            }
            let work = |chunk: &[u64]| entry.subject.run(operation, chunk);
            let (nanos, _) = timed(self.keys, which, range.clone(), work);
            self.push(entry.name, figure, nanos);
        }
    }

    /// From empty to 95 %, with some lookups at each twentieth.
    fn fill(&mut self) {
        let turn = if self.slots <= SMALL { STEPS } else { 1 };
        let mut sums = vec![0.0; self.entries.len()];
        for first in (0..STEPS).step_by(turn as usize) {
            for (index, sum) in sums.iter_mut().enumerate() {
                for step in first..first + turn {
                    *sum += self.step(index, step);
                }
            }
        }
        for (index, sum) in sums.into_iter().enumerate() {
            let name = self.entries[index].name;
            if name != LIMIT {
                self.push(name, FILL, sum / STEPS as f64);
            }
        }
    }

    fn step(&mut self, index: usize, step: u64) -> f64 {
        let entry = &mut self.entries[index];
        if entry.full {
            return f64::NAN;
        }
        let (name, slots) = (entry.name, entry.subject.slots());
        let range = slots * step / 20..slots * (step + 1) / 20;
        let before = allocated();
        let Entry { subject, full, .. } = entry;
        let (nanos, stored) = timed(self.keys, Which::InOrder, range, |chunk| {
            // Nothing more after an insert that has failed.
            let stored = if *full { 0 } else { subject.run(Operation::Insert, chunk) };
            *full |= stored < chunk.len() as u64;
            stored
        });
        // A set may also free something when it grows.
        entry.bytes = (entry.bytes + allocated()).saturating_sub(before);
        entry.items += stored;
        let nanos = if entry.full { f64::NAN } else { nanos };
        let range = 0..(self.plan.operations / 8).min(slots / 8);
        let (looked, _) = entry.looked_up(self.keys, Which::Half { items: entry.items }, range);
        self.push(name, &load_figure("insert", step), nanos);
        self.push(name, &load_figure("half", step), looked);
        nanos
    }

    fn lookups(&mut self) {
        let range = 0..self.plan.operations;
        self.turn(MISS, Operation::Contains, &range, |_| Some(Which::Absent));
        self.turn("hit", Operation::Contains, &range, |entry| {
            Some(Which::Present { items: entry.items })
        });
    }

    fn memory_and_false_positives(&mut self) {
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if entry.name == LIMIT {
                continue;
            }
            let (name, slots) = (entry.name, entry.subject.slots());
            let load = entry.items as f64 / slots as f64;
            let bits = (entry.bytes * 8) as f64 / entry.items as f64;
            let lookups = 8 * self.plan.operations;
            let range = (1 << 32)..(1 << 32) + lookups;
            let (_, wrong) = entry.looked_up(self.keys, Which::Absent, range);
            self.push(name, "load", load);
            self.push(name, "bits per item", bits);
            self.push(name, "false positives", wrong as f64 / lookups as f64);
        }
    }

    /// The oldest first, no more than a quarter of the slots.
    fn removals(&mut self) {
        let range = 0..(4 * self.plan.operations).min(self.slots / 4);
        self.turn("remove", Operation::Remove, &range, |entry| {
            (entry.name != LIMIT && removes(entry.name)).then_some(Which::InOrder)
        });
    }
}

/// At the load that a step of the fill ends with.
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
        let [bits, wrong] = [median("bits per item"), median("false positives").map(|r| 100.0 * r)];
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
