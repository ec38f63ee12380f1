//! One thread: every filter through the same fill, lookups and removals, in turns.

use std::time::Instant;

use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::limits::Loads;
use coucal_benches::peers::{
    Atomic, BehindMutex, BehindRwLock, Bloom, Coucal, Peer, Quotient, Scalable, Sequential,
};
use coucal_benches::subject::{Operation, Subject};

use crate::results::{Results, median};
use crate::{Plan, Topic};

/// The fill stops after each twentieth of the slots, up to 95 %.
const STEPS: u64 = 19;
/// Tables up to this size are measured a whole fill at a time: they would have to be fetched into
/// the cache again at every change of turns.
const SMALL: u64 = 1 << 20;

/// The bands of a fill, in steps.
pub const BANDS: [(&str, u64, u64); 5] = [
    ("insert 0-50 %", 0, 10),
    ("insert 50-75 %", 10, 15),
    ("insert 75-90 %", 15, 18),
    ("insert 90-95 %", 18, STEPS),
    ("fill", 0, STEPS),
];

pub const LIMITS: [&str; 3] =
    [<Loads<0> as Peer>::NAME, <Loads<1> as Peer>::NAME, <Loads<2> as Peer>::NAME];

/// The figures of a step in the plots over the load factor.
pub fn step_figure(kind: &str, step: u64) -> String {
    format!("{kind} at {} %", (step + 1) * 5)
}

type Build = fn(usize) -> Box<dyn Subject>;

fn boxed<P: Peer + 'static>(slots: usize) -> Box<dyn Subject> {
    Box::new(P::build(slots))
}

/// Every filter, coucal first.
const FILTERS: [(&str, Build); 8] = [
    (Coucal::NAME, boxed::<Coucal>),
    (Atomic::NAME, boxed::<Atomic>),
    (Sequential::NAME, boxed::<Sequential>),
    (Scalable::NAME, boxed::<Scalable>),
    (Quotient::NAME, boxed::<Quotient>),
    (Bloom::NAME, boxed::<Bloom>),
    (BehindRwLock::NAME, boxed::<BehindRwLock>),
    (BehindMutex::NAME, boxed::<BehindMutex>),
];

pub fn filter_names() -> [&'static str; 8] {
    FILTERS.map(|filter| filter.0)
}

struct Entry {
    subject: Box<dyn Subject>,
    /// The limits hold nothing, and are looked at as if they held 95 %.
    filter: bool,
    /// Items 0 to here are in it.
    items: u64,
    full: bool,
}

/// Does it with the keys of the range. Only the work is timed, not the making of the keys.
/// Nanoseconds an operation, and how often the answer was yes. The time is the median of the chunks:
/// one in which the thread lost its core would drown the others.
fn timed(
    subject: &mut dyn Subject,
    operation: Operation,
    keys: Keys,
    which: Which,
    range: std::ops::Range<u64>,
) -> (f64, u64) {
    let (mut nanos, mut answers) = (Vec::new(), 0);
    let mut chunk = Vec::with_capacity(CHUNK);
    let inserts = matches!(operation, Operation::Insert | Operation::InsertMany);
    for from in range.clone().step_by(CHUNK) {
        chunk.clear();
        let to = range.end.min(from + CHUNK as u64);
        chunk.extend((from..to).map(|index| keys.pick(which, index)));
        let begun = Instant::now();
        let yes = subject.run(operation, &chunk);
        nanos.push(begun.elapsed().as_nanos() as f64 / chunk.len() as f64);
        answers += yes;
        if inserts && yes < chunk.len() as u64 {
            break;
        }
    }
    (median(&nanos).unwrap_or(f64::NAN), answers)
}

pub fn fills(plan: &Plan, slots: u64) -> usize {
    let share = if slots <= SMALL { 1 } else { 1 + (slots >> 24) as usize };
    plan.runs.div_ceil(share)
}

/// The whole comparison for one size.
pub fn run(plan: &Plan, slots: u64, results: &mut Results) {
    let fills = fills(plan, slots);
    for round in 0..fills {
        let mut race = Race {
            slots,
            keys: Keys::new(1 + round as u64),
            field: Vec::new(),
            inner: plan.runs.div_ceil(fills),
            looks: plan.lookups,
            results,
        };
        plan.say(&format!("{slots} slots, round {} of {fills}: fill", round + 1));
        race.enter(plan);
        race.fill(plan.has(Topic::Insert));
        plan.say(&format!("{slots} slots, round {} of {fills}: lookups and removals", round + 1));
        if plan.has(Topic::Lookup) {
            race.lookups();
        }
        if plan.has(Topic::Batch) {
            race.batches();
        }
        if round == 0 {
            race.figures();
        }
        if plan.has_any(&[Topic::Remove, Topic::Unique]) {
            race.removals();
        }
        if plan.has(Topic::Unique) {
            race.uniques();
        }
    }
}

struct Race<'a> {
    slots: u64,
    keys: Keys,
    field: Vec<Entry>,
    inner: usize,
    looks: u64,
    results: &'a mut Results,
}

impl Race<'_> {
    fn enter(&mut self, plan: &Plan) {
        let slots = self.slots as usize;
        for build in [boxed::<Loads<0>>, boxed::<Loads<1>>, boxed::<Loads<2>>] {
            let (subject, items) = (build(slots), self.slots * STEPS / 20);
            self.field.push(Entry { subject, filter: false, items, full: false });
        }
        for (name, build) in FILTERS {
            if plan.races(name) {
                let subject = build(slots);
                self.field.push(Entry { subject, filter: true, items: 0, full: false });
            }
        }
    }

    fn push(&mut self, peer: &str, figure: &str, value: f64) {
        self.results.push((self.slots, 1), peer, figure, value);
    }

    /// One operation by every entry that can do it, in turn, each from a cache that has seen it
    /// last.
    fn turn(
        &mut self,
        figure: &str,
        operation: Operation,
        range: std::ops::Range<u64>,
        which: impl Fn(&Entry) -> Option<Which>,
    ) {
        for index in 0..self.field.len() {
            let entry = &mut self.field[index];
            let Some(which) = which(entry) else { continue };
            if self.slots <= SMALL {
                let warm = half(entry);
                let range = self.slots..self.slots + self.slots / 4;
                timed(entry.subject.as_mut(), Operation::Contains, self.keys, warm, range);
            }
            let subject = entry.subject.as_mut();
            let (nanos, _) = timed(subject, operation, self.keys, which, range.clone());
            let name = subject.name();
            self.push(name, figure, nanos);
        }
    }

    fn fill(&mut self, record: bool) {
        let turn = if self.slots <= SMALL { STEPS } else { 1 };
        let mut nanos = vec![[f64::NAN; STEPS as usize]; self.field.len()];
        for first in (0..STEPS).step_by(turn as usize) {
            for (index, nanos) in nanos.iter_mut().enumerate() {
                for step in first..first + turn {
                    nanos[step as usize] = self.step(index, step, record);
                }
            }
        }
        for (index, nanos) in nanos.iter().enumerate() {
            let (name, filter) = (self.field[index].subject.name(), self.field[index].filter);
            if !record || !filter {
                continue;
            }
            for (figure, from, to) in BANDS {
                let band = &nanos[from as usize..to as usize];
                self.push(name, figure, band.iter().sum::<f64>() / band.len() as f64);
            }
            for step in 0..STEPS {
                self.push(name, &step_figure("insert", step), nanos[step as usize]);
            }
        }
    }

    /// Inserts a twentieth of the slots, and looks some keys up at the load that this makes.
    fn step(&mut self, index: usize, step: u64, record: bool) -> f64 {
        let entry = &mut self.field[index];
        let slots = entry.subject.slots();
        let range = slots * step / 20..slots * (step + 1) / 20;
        if !entry.filter || entry.full {
            return f64::NAN;
        }
        let subject = entry.subject.as_mut();
        let wanted = range.end - range.start;
        let (nanos, stored) = timed(subject, Operation::Insert, self.keys, Which::InOrder, range);
        entry.items += stored;
        entry.full = stored < wanted;
        if record {
            let which = Which::Half { items: entry.items };
            let range = 0..(self.looks / 8).min(slots / 8);
            let (looked, _) = timed(subject, Operation::Contains, self.keys, which, range);
            let name = subject.name();
            self.push(name, &step_figure("half", step), looked);
        }
        if self.field[index].full { f64::NAN } else { nanos }
    }

    fn lookups(&mut self) {
        for run in 0..self.inner as u64 {
            let range = run * self.looks..(run + 1) * self.looks;
            self.turn("miss", Operation::Contains, range.clone(), |_| Some(Which::Absent));
            self.turn("hit", Operation::Contains, range.clone(), |entry| {
                Some(Which::Present { items: entry.items })
            });
            self.turn("half", Operation::Contains, range.clone(), |entry| Some(half(entry)));
            // Only the second limit stores.
            self.turn("load and store", Operation::Insert, range, |entry| {
                (entry.subject.name() == LIMITS[1]).then_some(Which::Absent)
            });
        }
    }

    fn batches(&mut self) {
        let batches = |entry: &Entry| !entry.filter || entry.subject.name() == Coucal::NAME;
        for run in 0..self.inner as u64 {
            let range = run * self.looks..(run + 1) * self.looks;
            for (figure, operation) in [
                ("contains + branch", Operation::ContainsBranch),
                ("contains_many + branch", Operation::ContainsManyBranch),
                ("contains + sum", Operation::Contains),
                ("contains_many + sum", Operation::ContainsMany),
            ] {
                let which = |entry: &Entry| batches(entry).then(|| half(entry));
                self.turn(figure, operation, range.clone(), which);
            }
        }
    }

    /// What a filter costs: bits an item, and the rate of false positives.
    fn figures(&mut self) {
        for index in 0..self.field.len() {
            let entry = &mut self.field[index];
            if !entry.filter {
                continue;
            }
            let (name, slots) = (entry.subject.name(), entry.subject.slots());
            let load = entry.items as f64 / slots as f64;
            let bits = (entry.subject.bytes() * 8) as f64 / entry.items as f64;
            let looks = 8 * self.looks;
            let range = (1 << 32)..(1 << 32) + looks;
            let subject = entry.subject.as_mut();
            let (_, wrong) = timed(subject, Operation::Contains, self.keys, Which::Absent, range);
            self.push(name, "slots", slots as f64);
            self.push(name, "load", load);
            self.push(name, "bits an item", bits);
            self.push(name, "false positives", wrong as f64 / looks as f64);
        }
    }

    /// A quarter of the items, the oldest first.
    fn removals(&mut self) {
        let share = self.slots / 4 / self.inner as u64;
        for run in 0..self.inner as u64 {
            self.turn("remove", Operation::Remove, run * share..(run + 1) * share, |entry| {
                (entry.filter && entry.subject.removes()).then_some(Which::InOrder)
            });
        }
    }

    /// New items beside plain inserts of new items, and items that are there.
    fn uniques(&mut self) {
        let share = self.slots / 32 / self.inner as u64;
        let new = |entry: &Entry| (entry.filter && !entry.full).then_some(Which::InOrder);
        for run in 0..self.inner as u64 {
            let at = self.slots + 2 * run * share;
            self.turn("insert beside unique", Operation::Insert, at..at + share, new);
            let at = at + share;
            self.turn("unique new", Operation::InsertUnique, at..at + share, new);
            // The last quarter of the fill was not removed.
            let at = self.slots * 6 / 10 + run * share;
            self.turn("unique present", Operation::InsertUnique, at..at + share, new);
        }
    }
}

fn half(entry: &Entry) -> Which {
    Which::Half { items: entry.items }
}

/// `insert_many` against the loop of `insert`, in two tables side by side, up to 75 % load.
pub fn insert_many(plan: &Plan, slots: u64, results: &mut Results) {
    for round in 0..plan.runs.min(fills(plan, slots) + 1) {
        plan.say(&format!("{slots} slots, round {}: insert_many", round + 1));
        let keys = Keys::new(100 + round as u64);
        let mut pair = [Operation::Insert, Operation::InsertMany]
            .map(|operation| (operation, boxed::<Coucal>(slots as usize), 0.0));
        let turn = if slots <= SMALL { 15 } else { 1 };
        for first in (0..15).step_by(turn) {
            for (operation, subject, nanos) in &mut pair {
                for step in first..first + turn as u64 {
                    let range = slots * step / 20..slots * (step + 1) / 20;
                    *nanos += timed(subject.as_mut(), *operation, keys, Which::InOrder, range).0;
                }
            }
        }
        for (figure, (_, _, nanos)) in ["insert loop", "insert_many"].iter().zip(pair) {
            results.push((slots, 1), Coucal::NAME, figure, nanos / 15.0);
        }
    }
}

/// Searches that fail: what an insert into a full filter costs before it says so.
pub fn full(plan: &Plan, slots: u64, results: &mut Results) {
    const FAILURES: usize = 512;
    for round in 0..fills(plan, slots) {
        plan.say(&format!("{slots} slots, round {}: a full filter", round + 1));
        for (name, build) in &FILTERS[..2] {
            if !plan.races(name) || (*name != Coucal::NAME && slots > 1 << 24) {
                continue;
            }
            let keys = Keys::new(200 + round as u64);
            let mut subject = build(slots as usize);
            let from = slots * 9 / 10;
            timed(subject.as_mut(), Operation::Insert, keys, Which::InOrder, 0..from);
            let (mut failures, mut stored, mut first) = (Vec::new(), from, f64::NAN);
            for index in from..2 * slots {
                let begun = Instant::now();
                let done = subject.insert_one(keys.key(index));
                let micros = begun.elapsed().as_nanos() as f64 / 1000.0;
                if done {
                    stored += 1;
                    continue;
                }
                if failures.is_empty() {
                    first = stored as f64 / slots as f64;
                }
                failures.push(micros);
                if failures.len() == FAILURES {
                    break;
                }
            }
            failures.sort_by(f64::total_cmp);
            let at = |share: usize| failures.get(failures.len() * share / 100).copied();
            let place = (slots, 1);
            results.push(place, name, "first failure at", first);
            results.push(place, name, "failed insert us", at(50).unwrap_or(f64::NAN));
            results.push(place, name, "failed insert 99 % us", at(99).unwrap_or(f64::NAN));
        }
    }
}
