//! One thread: every subject goes through the same fill, lookups and removals, in turn. And the latency
//! of lookups beside a writer.

use std::ops::Range;
use std::time::Instant;

use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::subject::{Operation, Step, Subject, Window, fill};
use coucal_measure::text::power;
use coucal_measure::timing::median;

use crate::beside::{self, Lookups, churn};
use crate::contenders::{
    ATOMIC, BLOOM, COUCAL, HASH_SET, LIMIT, MUTEX, QUOTIENT, SEQUENTIAL, build, removes, shared,
};
use crate::output::{Table, of_size};
use crate::results::Results;
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic =
    Topic { name: "filters", slots: &[1 << 18, 1 << 24], rounds: 3, measure, tables, plots };

const SUBJECTS: [&str; 7] = [LIMIT, COUCAL, ATOMIC, SEQUENTIAL, QUOTIENT, BLOOM, HASH_SET];
/// Those that have lookups beside a writer.
const SHARED: [&str; 3] = [COUCAL, ATOMIC, MUTEX];
const SCENES: [&str; 3] = ["no writer", "writer in another table", "writer in this table"];

/// The fill stops after each twentieth of the slots, up to 95 %.
const STEPS: u64 = 19;
/// Tables up to this size are filled in one turn: otherwise each change of turn would begin with
/// fetching the table into the cache.
pub const SMALL: u64 = 1 << 20;

/// Figures and their titles, in ns.
const TIMES: [(&str, &str); 5] = [
    ("miss", "lookup, absent"),
    ("hit", "lookup, present"),
    ("fill", "insert, 0–95 %"),
    ("insert at 95 %", "insert, 90–95 %"),
    ("remove", "remove"),
];

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        for round in 0..plan.rounds {
            plan.say(&format!("{slots} slots, round {}", round + 1));
            beside_peers(plan, slots, round, results);
            batches(slots, round, results);
            full(plan, slots, round, results);
        }
    }
    // Larger than the inner caches.
    latency(plan, *plan.slots.last().expect("there is a size"), results);
}

/// Does the operation with the keys of the range, chunk by chunk. Only the work is timed, not the
/// generation of the keys. Returns the nanoseconds of each chunk, and the number of times that the answer
/// was yes.
fn chunks(
    subject: &mut dyn Subject,
    operation: Operation,
    keys: Keys,
    which: Which,
    range: Range<u64>,
) -> (Vec<(f64, usize)>, u64) {
    let (mut chunks, mut answers) = (Vec::new(), 0);
    let inserts = matches!(operation, Operation::Insert | Operation::InsertMany);
    for from in range.clone().step_by(CHUNK) {
        let chunk = keys.collect(which, from..range.end.min(from + CHUNK as u64));
        let started = Instant::now();
        let yes = subject.run(operation, &chunk);
        chunks.push((started.elapsed().as_nanos() as f64, chunk.len()));
        answers += yes;
        if inserts && yes < chunk.len() as u64 {
            break;
        }
    }
    (chunks, answers)
}

/// As `chunks`, in ns per operation: the median of the chunks, as one in which the thread was
/// preempted would dominate the others.
pub fn timed(
    subject: &mut dyn Subject,
    operation: Operation,
    keys: Keys,
    which: Which,
    range: Range<u64>,
) -> (f64, u64) {
    let (chunks, answers) = chunks(subject, operation, keys, which, range);
    let nanos: Vec<_> = chunks.iter().map(|(nanos, items)| nanos / *items as f64).collect();
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

struct Comparison<'a> {
    plan: &'a Plan,
    slots: u64,
    keys: Keys,
    entries: Vec<Entry>,
    results: &'a mut Results,
}

fn beside_peers(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
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
            let entry = &mut self.entries[index];
            let Some(which) = which(entry) else { continue };
            if self.slots <= SMALL {
                let warm = Which::Half { items: entry.items };
                let range = self.slots..self.slots + self.slots / 4;
                timed(entry.subject.as_mut(), Operation::Contains, self.keys, warm, range);
            }
            let (nanos, _) =
                timed(entry.subject.as_mut(), operation, self.keys, which, range.clone());
            let name = entry.name;
            self.push(name, figure, nanos);
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
                self.push(name, "fill", sum / STEPS as f64);
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
        let due = range.end - range.start;
        let before = allocated();
        let subject = entry.subject.as_mut();
        let (nanos, stored) = timed(subject, Operation::Insert, self.keys, Which::InOrder, range);
        // A set may also free something when it grows.
        entry.bytes = (entry.bytes + allocated()).saturating_sub(before);
        entry.items += stored;
        entry.full = stored < due;
        let nanos = if entry.full { f64::NAN } else { nanos };
        let which = Which::Half { items: entry.items };
        let range = 0..(self.plan.operations / 8).min(slots / 8);
        let (looked, _) =
            timed(entry.subject.as_mut(), Operation::Contains, self.keys, which, range);
        self.push(name, &load_figure("insert", step), nanos);
        self.push(name, &load_figure("half", step), looked);
        nanos
    }

    fn lookups(&mut self) {
        let range = 0..self.plan.operations;
        self.turn("miss", Operation::Contains, &range, |_| Some(Which::Absent));
        self.turn("hit", Operation::Contains, &range, |entry| {
            Some(Which::Present { items: entry.items })
        });
    }

    fn memory_and_false_positives(&mut self) {
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.name == LIMIT {
                continue;
            }
            let (name, slots) = (entry.name, entry.subject.slots());
            let load = entry.items as f64 / slots as f64;
            let bits = (entry.bytes * 8) as f64 / entry.items as f64;
            let lookups = 8 * self.plan.operations;
            let range = (1 << 32)..(1 << 32) + lookups;
            let subject = entry.subject.as_mut();
            let (_, wrong) = timed(subject, Operation::Contains, self.keys, Which::Absent, range);
            self.push(name, "load", load);
            self.push(name, "bits per item", bits);
            self.push(name, "false positives", wrong as f64 / lookups as f64);
        }
    }

    /// A quarter of the items is removed, the oldest first.
    fn removals(&mut self) {
        self.turn("remove", Operation::Remove, &(0..self.slots / 4), |entry| {
            (entry.name != LIMIT && removes(entry.name)).then_some(Which::InOrder)
        });
    }
}

/// At the load that a step of the fill ends with.
fn load_figure(kind: &str, step: u64) -> String {
    format!("{kind} at {} %", (step + 1) * 5)
}

/// Operations one by one and in batches, in two tables in turn: inserts from empty to 75 % load,
/// lookups, then removals.
const BATCHES: [[(&str, Operation); 2]; 3] = [
    [("insert loop", Operation::Insert), ("insert_many", Operation::InsertMany)],
    [("contains loop", Operation::Contains), ("contains_many", Operation::ContainsMany)],
    [("remove loop", Operation::Remove), ("remove_many", Operation::RemoveMany)],
];

fn batches(slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(100 + round as u64);
    let items = slots * 3 / 4;
    let mut tables = [0, 1].map(|_| build(COUCAL, slots as usize));
    for (pair, which) in BATCHES.iter().zip([Which::InOrder, Which::Half { items }, Which::InOrder])
    {
        for (table, (figure, operation)) in tables.iter_mut().zip(pair) {
            let (nanos, _) = timed(table.as_mut(), *operation, keys, which, 0..items);
            results.push((slots, 1), COUCAL, figure, nanos);
        }
    }
}

/// Searches that fail: the time of an insert into a full filter until it returns the error.
fn full(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    const FAILURES: usize = 512;
    for name in [COUCAL, ATOMIC].into_iter().filter(|name| plan.includes(name)) {
        let keys = Keys::new(200 + round as u64);
        let mut subject = build(name, slots as usize);
        let from = slots * 9 / 10;
        fill(subject.as_mut(), keys, from);
        let (mut failures, mut stored, mut first) = (Vec::new(), from, f64::NAN);
        for index in from..2 * slots {
            let (mut done, mut nanos) = (false, 0);
            let mut took = |_, answer, time| (done, nanos) = (answer, time);
            shared(subject.as_ref()).run_timed(&[Step::Insert(keys.key(index))], &mut took);
            if done {
                stored += 1;
                continue;
            }
            if failures.is_empty() {
                first = stored as f64 / slots as f64;
            }
            failures.push(nanos as f64 / 1e3);
            if failures.len() == FAILURES {
                break;
            }
        }
        failures.sort_by(f64::total_cmp);
        let at = |percent: usize| failures.get(failures.len() * percent / 100).copied();
        let mut push = |figure, value| results.push((slots, 1), name, figure, value);
        push("first failure at", first);
        push("failed insert us", at(50).unwrap_or(f64::NAN));
        push("failed insert 99 % us", at(99).unwrap_or(f64::NAN));
    }
}

/// Lookups of items that stay, at 95 % load, while a second thread removes and inserts other items: in
/// this table, in another one of the same size, or not at all.
fn latency(plan: &Plan, slots: u64, results: &mut Results) {
    let settled = slots * 9 / 10;
    for name in SHARED.into_iter().filter(|name| plan.includes(name)) {
        plan.say(&format!("{slots} slots, {name}: latency"));
        let [(here, mut window), (elsewhere, mut window_elsewhere)] = [400, 401].map(|set| {
            let (mut table, keys) = (build(name, slots as usize), Keys::new(set));
            fill(table.as_mut(), keys, slots * 19 / 20);
            (table, Window { keys, oldest: settled, next: slots * 19 / 20 })
        });
        let (here, elsewhere) = (shared(here.as_ref()), shared(elsewhere.as_ref()));
        for round in 0..plan.rounds as u64 {
            let range = round * plan.operations..(round + 1) * plan.operations;
            let keys = window.keys.collect(Which::Present { items: settled }, range);
            let lookups = Lookups { place: (slots, 2), name, table: here, keys: &keys };
            lookups.measure(plan, SCENES[0], None, results);
            for (scene, table, window) in
                [(SCENES[1], elsewhere, &mut window_elsewhere), (SCENES[2], here, &mut window)]
            {
                lookups.measure(plan, scene, Some(&mut churn(table, window)), results);
            }
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    let sizes = results.slots_with("fill");
    for &slots in &sizes {
        let view = results.at(slots, 1);
        let columns = TIMES.map(|time| time.1).into_iter();
        let columns = columns.chain(["bits per item", "false positives, %"]);
        let mut table = Table::new(&of_size("filters", slots), columns);
        for name in SUBJECTS {
            let median = |figure| view.median(name, figure);
            let wrong = median("false positives").map(|rate| 100.0 * rate);
            let times = TIMES.map(|time| median(time.0)).into_iter();
            table.row(name, times.chain([median("bits per item"), wrong]));
        }
        tables.push(table);
    }
    let mut batches =
        Table::new("filters-batches", ["ns in a loop", "ns in batches", "times as fast"]);
    let mut full = Table::new(
        "filters-full",
        ["first refused at, % of the slots", "refused after, µs: median", "99th percentile"],
    );
    let mut latency = Table::new("filters-latency", beside::COLUMNS);
    for slots in sizes {
        let view = results.at(slots, 1);
        for [(one, _), (many, _)] in BATCHES {
            let times = view.ratio((COUCAL, one), (COUCAL, many));
            let label = format!("`{many}`, {} slots", power(slots));
            batches.row(&label, [view.median(COUCAL, one), view.median(COUCAL, many), times]);
        }
        for name in [COUCAL, ATOMIC] {
            let first = view.median(name, "first failure at").map(|load| 100.0 * load);
            let label = format!("{name}, {} slots", power(slots));
            let [half, most] =
                ["failed insert us", "failed insert 99 % us"].map(|f| view.median(name, f));
            full.row(&label, [first, half, most]);
        }
        for (name, scene) in SHARED.into_iter().flat_map(|name| SCENES.map(|scene| (name, scene))) {
            let label = format!("{name}, {scene}");
            latency.row(&label, beside::values(results.at(slots, 2), name, scene));
        }
    }
    tables.extend([batches, full, latency]);
    tables
}

fn plots(results: &Results) -> Vec<Plot> {
    let mut plots = Vec::new();
    // In cache the lines are those of memory, only higher.
    if let Some(slots) = results.slots_with("fill").pop() {
        for (kind, what) in [("insert", "Inserts"), ("half", "Lookups, half of the keys present,")]
        {
            let points = |name: &str| {
                let point = |step: u64| {
                    let nanos = results.at(slots, 1).median(name, &load_figure(kind, step))?;
                    Some(((step + 1) as f64 * 5.0, 1e3 / nanos))
                };
                (0..STEPS).filter_map(point).collect()
            };
            plots.push(Plot {
                file: of_size(&format!("filters-{kind}-over-load"), slots),
                title: format!("{what} over the load, {} slots, one thread", power(slots)),
                x: Axis::new("load, % of the slots", Scale::FromZero),
                y: Axis::new("million ops/s", Scale::Log),
                series: SUBJECTS.map(|name| Series::new(name, points(name))).into(),
            });
        }
    }
    plots
}
