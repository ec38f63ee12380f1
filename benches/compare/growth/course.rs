//! From a small table to a large one, one thread: time of an insert, lookups, memory and false
//! positives on the way.

use std::ops::Range;

use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{Keys, Which};
use coucal_measure::peers::{
    Chain, Coucal, LockedHashSet, Quotient, Rebuilt, coucal_growing, coucal_with_slots,
};
use coucal_measure::subject::{Operation, Subject};

use super::{FIXED, GROWING, Plan};
use crate::allocated;
use crate::contenders::{ATOMIC, QUOTIENT, SCALABLE};
use crate::results::Results;
use crate::single::{chunks, timed};

pub const SET: &str = "RwLock<HashSet>";
pub const PEERS: [&str; 4] = [QUOTIENT, SCALABLE, ATOMIC, SET];

/// Each doubling is measured in so many steps, equal in their ratio.
const STEPS: u32 = 8;

/// From which number of items to which.
pub struct Course {
    pub first: u64,
    pub doublings: u32,
}

impl Course {
    pub fn new(plan: &Plan) -> Self {
        let doublings = plan.doublings();
        let first = coucal_growing(plan.first as usize, doublings).capacity() as u64;
        Self { first, doublings }
    }

    fn items(&self, step: u32) -> u64 {
        (self.first as f64 * (f64::from(step) / f64::from(STEPS)).exp2()) as u64
    }

    /// The items before and after a doubling; those of the first size count as one.
    fn doubling(&self, number: u32) -> (u64, u64) {
        let from = if number == 0 { 0 } else { self.items((number - 1) * STEPS) };
        (from, self.items(number * STEPS))
    }

    /// All steps, from the first items on.
    pub fn steps(&self) -> impl Iterator<Item = Range<u64>> {
        (0..self.doublings * STEPS).map(|step| self.items(step)..self.items(step + 1))
    }

    fn greatest(&self) -> u64 {
        self.items(self.doublings * STEPS)
    }

    /// The share of absent keys that coucal, with fingerprints of 16 bits, finds at the end.
    fn rate(&self, plan: &Plan) -> f64 {
        8.0 * self.first as f64 / plan.first as f64 / 65_536.0 * f64::from(1 << self.doublings)
    }
}

struct Entry {
    name: &'static str,
    subject: Box<dyn Subject>,
    /// Bytes that building and filling have allocated and not freed.
    bytes: usize,
    /// All inserts so far.
    nanos: f64,
}

fn entry(name: &'static str, build: impl FnOnce() -> Box<dyn Subject>) -> Entry {
    let before = allocated();
    let subject = build();
    Entry { name, subject, bytes: allocated() - before, nanos: 0.0 }
}

fn coucal(plan: &Plan, course: &Course) -> Vec<Entry> {
    let (first, slots) = (plan.first as usize, plan.slots as usize);
    vec![
        entry(GROWING, || Box::new(Coucal(coucal_growing(first, course.doublings)))),
        entry(FIXED, || Box::new(Coucal(coucal_with_slots::<KeyHash>(slots)))),
    ]
}

fn entries(plan: &Plan, course: &Course, keys: Keys) -> Vec<Entry> {
    let (slots, first) = (plan.first as usize, course.first);
    let mut entries = coucal(plan, course);
    if plan.peers {
        let (rate, greatest) = (course.rate(plan), course.greatest());
        // 4, 8, 16 or 32 bits, and 2 · 4 slots to look at.
        let bits =
            [8, 16].into_iter().find(|bits| 8.0 / f64::from(1 << bits) <= rate).unwrap_or(32);
        entries.extend([
            entry(QUOTIENT, || Box::new(Quotient::resizeable(first, greatest, rate))),
            entry(SCALABLE, || Box::new(Chain::with_rate(first as usize, rate))),
            entry(ATOMIC, || Box::new(Rebuilt::with_slots(slots, bits, keys))),
            entry(SET, || Box::new(LockedHashSet::with_slots(slots))),
        ]);
    }
    entries
}

/// Inserts the items of the range; the nanoseconds of all of it, what the subject does to grow
/// included.
fn insert(subject: &mut dyn Subject, operation: Operation, keys: Keys, range: Range<u64>) -> f64 {
    let (chunks, stored) = chunks(subject, operation, keys, Which::InOrder, range.clone());
    assert_eq!(stored, range.end - range.start, "what grows is never full");
    chunks.iter().map(|chunk| chunk.nanos).sum()
}

/// Everything grows, a doubling in turn.
pub fn beside_peers(plan: &Plan, results: &mut Results) {
    let course = Course::new(plan);
    for round in 0..plan.runs {
        let keys = Keys::new(1 + round as u64);
        let mut entries = entries(plan, &course, keys);
        for doubling in 0..=course.doublings {
            let slots = plan.first << doubling;
            plan.progress.say(&format!("round {}: growing to {slots} slots", round + 1));
            for entry in &mut entries {
                let before = entry.nanos;
                // The items of the first size, then the steps of each doubling.
                for step in doubling.saturating_sub(1) * STEPS + 1..=doubling * STEPS {
                    entry.step(plan, keys, course.items(step - 1)..course.items(step), results);
                }
                if doubling == 0 {
                    entry.step(plan, keys, 0..course.first, results);
                }
                let (from, to) = course.doubling(doubling);
                let per_item = (entry.nanos - before) / (to - from) as f64;
                results.push((to, 1), entry.name, "doubling", per_item);
                entry.false_positives(plan, keys, to, results);
            }
        }
        for entry in &entries {
            let per_item = entry.nanos / course.greatest() as f64;
            results.push((plan.slots, 1), entry.name, "whole course", per_item);
        }
    }
}

impl Entry {
    fn step(&mut self, plan: &Plan, keys: Keys, range: Range<u64>, results: &mut Results) {
        let place = (range.end, 1);
        let before = allocated();
        let items = (range.end - range.start) as f64;
        let nanos = insert(self.subject.as_mut(), Operation::Insert, keys, range.clone());
        self.bytes = (self.bytes + allocated()).saturating_sub(before);
        self.nanos += nanos;
        results.push(place, self.name, "growing insert", nanos / items);
        if self.name == FIXED {
            return;
        }
        // coucal asks for address space, and says how much of it is in use.
        let bytes = match self.name {
            GROWING => self.subject.bytes().expect("coucal knows"),
            _ => self.bytes,
        };
        results.push(place, self.name, "bits per item", 8.0 * bytes as f64 / range.end as f64);
        let present = Which::Present { items: range.end };
        for (figure, which) in [("miss", Which::Absent), ("hit", present)] {
            let lookups = 0..plan.lookups / 8;
            let (nanos, _) =
                timed(self.subject.as_mut(), Operation::Contains, keys, which, lookups);
            results.push(place, self.name, figure, nanos);
        }
    }

    fn false_positives(&mut self, plan: &Plan, keys: Keys, items: u64, results: &mut Results) {
        // An exact set has none.
        if [FIXED, SET].contains(&self.name) {
            return;
        }
        let range = (1 << 32)..(1 << 32) + plan.lookups;
        let subject = self.subject.as_mut();
        let (_, wrong) = timed(subject, Operation::Contains, keys, Which::Absent, range);
        let rate = wrong as f64 / plan.lookups as f64;
        results.push((items, 1), self.name, "false positives", rate);
    }
}

/// A fill by `insert_many`, of a table that grows and of one that does not.
pub fn insert_many(plan: &Plan, results: &mut Results) {
    let course = Course::new(plan);
    for round in 0..plan.runs {
        plan.progress.say(&format!("round {}: growing by insert_many", round + 1));
        let keys = Keys::new(100 + round as u64);
        let mut entries = coucal(plan, &course);
        for doubling in 0..=course.doublings {
            let (from, to) = course.doubling(doubling);
            for Entry { subject, nanos, .. } in &mut entries {
                *nanos += insert(subject.as_mut(), Operation::InsertMany, keys, from..to);
            }
        }
        for entry in &entries {
            let per_item = entry.nanos / course.greatest() as f64;
            results.push((plan.slots, 1), entry.name, "whole course, insert_many", per_item);
        }
    }
}
