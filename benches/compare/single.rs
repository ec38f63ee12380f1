//! One thread: every contender goes through the same fill, lookups and removals, in turn.

use std::ops::Range;
use std::time::Instant;

use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::subject::{Operation, Subject};
use coucal_measure::timing::median;

use crate::contenders::{COUCAL, ENTRANTS};
use crate::limits::{HASH_ONLY, Loads, ONE_LOAD, TWO_LOADS};
use crate::results::Results;
use crate::{Plan, Topic, allocated};

/// The fill stops after each twentieth of the slots, up to 95 %.
const STEPS: u64 = 19;
/// Tables up to this size are filled in one turn: otherwise each change of turn would begin with
/// fetching the table into the cache.
const SMALL: u64 = 1 << 20;

/// The bands of a fill, in steps.
pub const BANDS: [(&str, u64, u64); 5] = [
    ("insert 0-50 %", 0, 10),
    ("insert 50-75 %", 10, 15),
    ("insert 75-90 %", 15, 18),
    ("insert 90-95 %", 18, STEPS),
    ("fill", 0, STEPS),
];

/// The loads of the plots over the load, in percent.
pub fn loads() -> impl Iterator<Item = u64> {
    (1..=STEPS).map(|step| step * 5)
}

/// The name of a figure at a load.
pub fn load_figure(kind: &str, load: u64) -> String {
    format!("{kind} at {load} %")
}

struct Entry {
    name: &'static str,
    subject: Box<dyn Subject>,
    removes: bool,
    /// The limits store nothing, and are looked up as if they held 95 %.
    limit: bool,
    /// Items 0 to here are in it.
    items: u64,
    /// Bytes that building and filling have allocated and not freed.
    bytes: usize,
    full: bool,
}

/// What a chunk of operations took in all.
pub struct Chunk {
    pub nanos: f64,
    operations: usize,
}

/// Does the operation with the keys of the range, chunk by chunk. Only the work is timed, not the
/// generation of the keys. Also returns the number of times that the answer was yes.
pub fn chunks(
    subject: &mut dyn Subject,
    operation: Operation,
    keys: Keys,
    which: Which,
    range: Range<u64>,
) -> (Vec<Chunk>, u64) {
    let (mut chunks, mut answers) = (Vec::new(), 0);
    let mut chunk = Vec::with_capacity(CHUNK);
    let inserts = matches!(operation, Operation::Insert | Operation::InsertMany);
    for from in range.clone().step_by(CHUNK) {
        chunk.clear();
        let to = range.end.min(from + CHUNK as u64);
        chunk.extend((from..to).map(|index| keys.pick(which, index)));
        let started = Instant::now();
        let yes = subject.run(operation, &chunk);
        let nanos = started.elapsed().as_nanos() as f64;
        chunks.push(Chunk { nanos, operations: chunk.len() });
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
    let nanos: Vec<_> = chunks.iter().map(|chunk| chunk.nanos / chunk.operations as f64).collect();
    (median(&nanos).unwrap_or(f64::NAN), answers)
}

/// How many times a table of this size is filled.
fn fills(plan: &Plan, slots: u64) -> usize {
    let share = if slots <= SMALL { 1 } else { 1 + (slots >> 24) as usize };
    plan.runs.div_ceil(share)
}

/// The whole comparison for one size.
pub fn run(plan: &Plan, slots: u64, results: &mut Results) {
    let fills = fills(plan, slots);
    for round in 0..fills {
        let mut comparison = Comparison {
            plan,
            slots,
            keys: Keys::new(1 + round as u64),
            entries: Vec::new(),
            repeats: plan.runs.div_ceil(fills),
            results,
        };
        plan.say(&format!("{slots} slots, round {} of {fills}: fill", round + 1));
        comparison.enter(round);
        comparison.fill(plan.has(Topic::Insert));
        plan.say(&format!("{slots} slots, round {} of {fills}: lookups and removals", round + 1));
        if plan.has(Topic::Lookup) {
            comparison.lookups();
        }
        if plan.has(Topic::Batch) {
            comparison.batches();
        }
        if round == 0 {
            comparison.memory_and_false_positives();
        }
        if plan.has_any(&[Topic::Remove, Topic::Unique]) {
            comparison.removals();
        }
        if plan.has(Topic::Unique) {
            comparison.uniques();
        }
    }
}

struct Comparison<'a> {
    plan: &'a Plan,
    slots: u64,
    keys: Keys,
    entries: Vec<Entry>,
    /// How often the lookups and removals are repeated after one fill.
    repeats: usize,
    results: &'a mut Results,
}

impl Comparison<'_> {
    fn enter(&mut self, round: usize) {
        let slots = self.slots as usize;
        let limits: [(&str, Box<dyn Subject>); 3] = [
            (HASH_ONLY, Box::new(Loads::<0>::with_slots(slots))),
            (ONE_LOAD, Box::new(Loads::<1>::with_slots(slots))),
            (TWO_LOADS, Box::new(Loads::<2>::with_slots(slots))),
        ];
        for (name, subject) in limits {
            let items = self.slots * STEPS / 20;
            let (removes, limit, bytes, full) = (false, true, 0, false);
            self.entries.push(Entry { name, subject, removes, limit, items, bytes, full });
        }
        for entrant in &ENTRANTS {
            if self.plan.includes(entrant.name()) && entrant.takes_part(self.slots, round) {
                let before = allocated();
                let subject = (entrant.contender.build)(slots);
                self.entries.push(Entry {
                    name: entrant.name(),
                    subject,
                    removes: entrant.contender.removes,
                    limit: false,
                    items: 0,
                    bytes: allocated() - before,
                    full: false,
                });
            }
        }
    }

    fn push(&mut self, peer: &str, figure: &str, value: f64) {
        self.results.push((self.slots, 1), peer, figure, value);
    }

    /// One operation by every entry that can do it, in turn. A small table is brought into the cache
    /// first.
    fn turn(
        &mut self,
        figure: &str,
        operation: Operation,
        range: Range<u64>,
        which: impl Fn(&Entry) -> Option<Which>,
    ) {
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            let Some(which) = which(entry) else { continue };
            if self.slots <= SMALL {
                let warm = half(entry);
                let range = self.slots..self.slots + self.slots / 4;
                timed(entry.subject.as_mut(), Operation::Contains, self.keys, warm, range);
            }
            let name = entry.name;
            let (nanos, _) =
                timed(entry.subject.as_mut(), operation, self.keys, which, range.clone());
            self.push(name, figure, nanos);
        }
    }

    fn fill(&mut self, record: bool) {
        let turn = if self.slots <= SMALL { STEPS } else { 1 };
        let mut nanos = vec![[f64::NAN; STEPS as usize]; self.entries.len()];
        for first in (0..STEPS).step_by(turn as usize) {
            for (index, nanos) in nanos.iter_mut().enumerate() {
                for step in first..first + turn {
                    nanos[step as usize] = self.step(index, step, record);
                }
            }
        }
        for (index, nanos) in nanos.iter().enumerate() {
            let (name, limit) = (self.entries[index].name, self.entries[index].limit);
            if !record || limit {
                continue;
            }
            for (figure, from, to) in BANDS {
                let band = &nanos[from as usize..to as usize];
                self.push(name, figure, band.iter().sum::<f64>() / band.len() as f64);
            }
            for (load, nanos) in loads().zip(nanos) {
                self.push(name, &load_figure("insert", load), *nanos);
            }
        }
    }

    /// Inserts a twentieth of the slots, and looks up some keys at the load that this gives.
    fn step(&mut self, index: usize, step: u64, record: bool) -> f64 {
        let entry = &mut self.entries[index];
        let slots = entry.subject.slots();
        let range = slots * step / 20..slots * (step + 1) / 20;
        if entry.limit || entry.full {
            return f64::NAN;
        }
        let subject = entry.subject.as_mut();
        let wanted = range.end - range.start;
        let before = allocated();
        let (nanos, stored) = timed(subject, Operation::Insert, self.keys, Which::InOrder, range);
        // A set may also free something when it grows.
        entry.bytes = (entry.bytes + allocated()).saturating_sub(before);
        entry.items += stored;
        entry.full = stored < wanted;
        if record {
            let which = Which::Half { items: entry.items };
            let range = 0..(self.plan.lookups / 8).min(slots / 8);
            let (looked, _) = timed(subject, Operation::Contains, self.keys, which, range);
            let name = entry.name;
            self.push(name, &load_figure("half", (step + 1) * 5), looked);
        }
        if self.entries[index].full { f64::NAN } else { nanos }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let lookups = self.plan.lookups;
        (0..self.repeats as u64).map(move |repeat| repeat * lookups..(repeat + 1) * lookups)
    }

    fn lookups(&mut self) {
        for range in self.ranges() {
            self.turn("miss", Operation::Contains, range.clone(), |_| Some(Which::Absent));
            self.turn("hit", Operation::Contains, range.clone(), |entry| {
                Some(Which::Present { items: entry.items })
            });
            self.turn("half", Operation::Contains, range.clone(), |entry| Some(half(entry)));
            // Only this limit stores.
            self.turn("load and store", Operation::Insert, range, |entry| {
                (entry.name == ONE_LOAD).then_some(Which::Absent)
            });
        }
    }

    fn batches(&mut self) {
        let batches = |entry: &Entry| entry.limit || entry.name == COUCAL;
        for range in self.ranges() {
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

    fn memory_and_false_positives(&mut self) {
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.limit {
                continue;
            }
            let (name, slots) = (entry.name, entry.subject.slots());
            let load = entry.items as f64 / slots as f64;
            let bits = (entry.bytes * 8) as f64 / entry.items as f64;
            let lookups = 8 * self.plan.lookups;
            let range = (1 << 32)..(1 << 32) + lookups;
            let subject = entry.subject.as_mut();
            let (_, wrong) = timed(subject, Operation::Contains, self.keys, Which::Absent, range);
            self.push(name, "slots", slots as f64);
            self.push(name, "load", load);
            self.push(name, "bits per item", bits);
            self.push(name, "false positives", wrong as f64 / lookups as f64);
        }
    }

    /// A quarter of the items, the oldest first.
    fn removals(&mut self) {
        let share = self.slots / 4 / self.repeats as u64;
        for repeat in 0..self.repeats as u64 {
            let range = repeat * share..(repeat + 1) * share;
            self.turn("remove", Operation::Remove, range, |entry| {
                (!entry.limit && entry.removes).then_some(Which::InOrder)
            });
        }
    }

    /// New items beside plain inserts of new items, and items that are present.
    fn uniques(&mut self) {
        let share = self.slots / 32 / self.repeats as u64;
        let new = |entry: &Entry| (!entry.limit && !entry.full).then_some(Which::InOrder);
        for repeat in 0..self.repeats as u64 {
            let at = self.slots + 2 * repeat * share;
            self.turn("insert beside unique", Operation::Insert, at..at + share, new);
            let at = at + share;
            self.turn("unique new", Operation::InsertUnique, at..at + share, new);
            // These items have not been removed.
            let at = self.slots * 6 / 10 + repeat * share;
            self.turn("unique present", Operation::InsertUnique, at..at + share, new);
        }
    }
}

fn half(entry: &Entry) -> Which {
    Which::Half { items: entry.items }
}

fn coucal(slots: u64) -> Box<dyn Subject> {
    (ENTRANTS[0].contender.build)(slots as usize)
}

/// `insert_many` against the loop of `insert`, in two tables side by side, up to 75 % load.
pub fn insert_many(plan: &Plan, slots: u64, results: &mut Results) {
    for round in 0..plan.runs.min(fills(plan, slots) + 1) {
        plan.say(&format!("{slots} slots, round {}: insert_many", round + 1));
        let keys = Keys::new(100 + round as u64);
        let mut pair = [Operation::Insert, Operation::InsertMany]
            .map(|operation| (operation, coucal(slots), 0.0));
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
            results.push((slots, 1), COUCAL, figure, nanos / 15.0);
        }
    }
}

/// Inserts beside removals, one by one and in batches.
pub const AT_HALF: [[(&str, Operation); 2]; 2] = [
    [("insert at half load", Operation::Insert), ("remove at half load", Operation::Remove)],
    [
        ("insert_many at half load", Operation::InsertMany),
        ("remove_many at half load", Operation::RemoveMany),
    ],
];

/// At half load, again and again: a sixteenth of the slots is inserted, then as many of the oldest items
/// are removed.
pub fn at_half_load(plan: &Plan, slots: u64, results: &mut Results) {
    const TURNS: u64 = 4;
    let share = slots / 16;
    for round in 0..plan.runs.min(fills(plan, slots) + 1) {
        plan.say(&format!("{slots} slots, round {}: inserts and removals at half load", round + 1));
        let keys = Keys::new(300 + round as u64);
        let mut tables = AT_HALF.map(|pair| {
            let mut subject = coucal(slots);
            chunks(subject.as_mut(), Operation::InsertMany, keys, Which::InOrder, 0..slots / 2);
            (pair, subject, [0.0; 2])
        });
        for turn in 0..TURNS {
            for (pair, subject, nanos) in &mut tables {
                for ((from, (_, operation)), nanos) in [slots / 2, 0].iter().zip(*pair).zip(nanos) {
                    let range = from + turn * share..from + (turn + 1) * share;
                    let (took, done) =
                        timed(subject.as_mut(), operation, keys, Which::InOrder, range);
                    assert_eq!(done, share, "there is room, and the items are there");
                    *nanos += took / TURNS as f64;
                }
            }
        }
        for (pair, _, nanos) in tables {
            for ((figure, _), nanos) in pair.iter().zip(nanos) {
                results.push((slots, 1), COUCAL, figure, nanos);
            }
        }
    }
}

/// Searches that fail: the time of an insert into a full filter until it returns the error.
pub fn full(plan: &Plan, slots: u64, results: &mut Results) {
    const FAILURES: usize = 512;
    /// Larger tables of the peer take minutes.
    const LARGEST_PEER: u64 = 1 << 24;
    let concurrent = [&ENTRANTS[0], &ENTRANTS[2]];
    for round in 0..fills(plan, slots) {
        plan.say(&format!("{slots} slots, round {}: a full filter", round + 1));
        for entrant in concurrent {
            let name = entrant.name();
            if !plan.includes(name) || (name != COUCAL && slots > LARGEST_PEER) {
                continue;
            }
            let keys = Keys::new(200 + round as u64);
            let mut subject = (entrant.contender.build)(slots as usize);
            let from = slots * 9 / 10;
            timed(subject.as_mut(), Operation::Insert, keys, Which::InOrder, 0..from);
            let (mut failures, mut stored, mut first) = (Vec::new(), from, f64::NAN);
            for index in from..2 * slots {
                let started = Instant::now();
                let done = subject.insert_one(keys.key(index));
                let micros = started.elapsed().as_nanos() as f64 / 1000.0;
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
