//! From empty to full and back, step by step, with all filters in turn: the measurements of figures 5
//! to 8.

use std::collections::BTreeMap;

use coucal_measure::keys::{Keys, mix};
use coucal_measure::subject::{Operation, SharedSubject};
use coucal_measure::timing::{million_ops, together};

use crate::filters::{CONTENDERS, Contender, Filter};
use crate::{Plan, Topic};

/// Shares of positive queries in figure 5, in percent.
pub const SHARES: [u32; 5] = [0, 25, 50, 75, 100];
/// Queries of figure 6: absent and present.
pub const ABSENT: u32 = 0;
pub const PRESENT: u32 = 100;

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub topic: Topic,
    pub threads: usize,
    /// Its place in [`CONTENDERS`].
    pub contender: usize,
    /// The share of positive queries in percent; 0 where nothing is looked up.
    pub positive: u32,
    /// The load in percent.
    pub load: u32,
}

/// Million operations per second, in each round.
pub type Runs = BTreeMap<Id, Vec<f64>>;

/// The loads at which all filters stop, in percent; the last one counts as full.
pub fn loads(plan: &Plan) -> Vec<u32> {
    plan.pick(vec![10, 30, 50, 70, 80, 90, 95], (1..=19).map(|step| 5 * step).collect())
}

fn updates(plan: &Plan) -> bool {
    plan.has(Topic::Fig7) || plan.has(Topic::Fig8)
}

/// Numbers of writing threads: one, and more where inserts or removals are measured.
fn writers(plan: &Plan) -> impl Iterator<Item = usize> {
    let updates = updates(plan);
    plan.threads.iter().copied().filter(move |threads| *threads == 1 || updates)
}

pub fn steps(plan: &Plan) -> usize {
    let there = plan.rounds * writers(plan).count() * loads(plan).len();
    let back = if plan.has(Topic::Fig8) { there } else { 0 };
    there + back + if plan.has(Topic::Fig5) { plan.rounds } else { 0 }
}

pub fn run(plan: &Plan) -> Runs {
    let mut runs = Runs::new();
    for round in 0..plan.rounds {
        for threads in writers(plan) {
            let name = format!("figures 5 to 8: round {}, {threads} writing", round + 1);
            let keys = Keys::new(1 + round as u64);
            let entries = Vec::new();
            Sweep { plan, keys, threads, name, runs: &mut runs, entries }.run();
        }
    }
    runs
}

struct Entry {
    index: usize,
    contender: &'static Contender,
    subject: Box<Filter>,
    /// The keys from here..
    oldest: u64,
    /// ..to here are in it.
    next: u64,
    /// An insert has failed: it is not known which keys are in it.
    failed: bool,
}

fn shared(filter: &Filter) -> &dyn SharedSubject {
    filter.as_shared().expect("filters for one writer do not take part with several")
}

impl Entry {
    fn items_at(&self, load: u32) -> u64 {
        self.subject.slots() * u64::from(load) / 100
    }
}

struct Sweep<'a> {
    plan: &'a Plan,
    keys: Keys,
    /// Threads that write.
    threads: usize,
    name: String,
    runs: &'a mut Runs,
    entries: Vec<Entry>,
}

impl Sweep<'_> {
    fn run(mut self) {
        let takes_part = |contender: &Contender| self.threads == 1 || contender.shared;
        for (index, contender) in CONTENDERS.iter().enumerate() {
            if takes_part(contender) {
                let subject = (contender.build)(self.plan.bytes);
                self.entries.push(Entry {
                    index,
                    contender,
                    subject,
                    oldest: 0,
                    next: 0,
                    failed: false,
                });
            }
        }
        let loads = loads(self.plan);
        for &load in &loads {
            self.plan.step(&format!("{}, up to {load} %", self.name));
            self.fill(load);
            if self.threads == 1 && self.plan.has(Topic::Fig6) {
                self.look(Topic::Fig6, load, &[ABSENT, PRESENT]);
            }
        }
        let full = *loads.last().expect("there are loads");
        if self.threads == 1 && self.plan.has(Topic::Fig5) {
            self.plan.step(&format!("{}, lookups", self.name));
            self.look(Topic::Fig5, full, &SHARES);
        }
        if self.plan.has(Topic::Fig8) {
            let below = [0].iter().chain(&loads).rev().skip(1);
            for (&from, &to) in loads.iter().rev().zip(below) {
                self.plan.step(&format!("{}, down to {to} %", self.name));
                self.empty(from, to);
            }
        }
    }

    fn push(&mut self, id: Id, value: f64) {
        if self.plan.has(id.topic) {
            self.runs.entry(id).or_default().push(value);
        }
    }

    /// The keys, divided among the writers.
    fn shares(&self, keys: std::ops::Range<u64>) -> Vec<Vec<u64>> {
        let share = (keys.end - keys.start).div_ceil(self.threads as u64).max(1);
        let starts = keys.clone().step_by(share as usize);
        let of = |from: u64| from..keys.end.min(from + share);
        starts.map(|from| of(from).map(|index| self.keys.key(index)).collect()).collect()
    }

    fn fill(&mut self, load: u32) {
        for place in 0..self.entries.len() {
            let entry = &self.entries[place];
            let range = entry.next..entry.items_at(load);
            if entry.failed || range.is_empty() {
                continue;
            }
            let (items, shares) = ((range.end - range.start) as usize, self.shares(range.clone()));
            let entry = &mut self.entries[place];
            let (elapsed, stored) = if self.threads == 1 {
                together(vec![&mut *entry], |entry| {
                    entry.subject.run(Operation::Insert, &shares[0])
                })
            } else {
                let shared = shared(&*entry.subject);
                together(shares, |keys| shared.insert(&keys))
            };
            entry.next = range.end;
            entry.failed = (stored.into_iter().sum::<u64>() as usize) < items;
            let (contender, failed) = (entry.index, entry.failed);
            if !failed {
                let id =
                    Id { topic: Topic::Fig7, threads: self.threads, contender, positive: 0, load };
                self.push(id, million_ops(items, elapsed));
            }
        }
    }

    fn empty(&mut self, from: u32, to: u32) {
        for place in 0..self.entries.len() {
            let entry = &self.entries[place];
            let items = entry.items_at(from) - entry.items_at(to);
            if entry.failed || !entry.contender.removes || items == 0 {
                continue;
            }
            let range = entry.oldest..entry.oldest + items;
            let shares = self.shares(range.clone());
            let entry = &mut self.entries[place];
            let (elapsed, removed) = if self.threads == 1 {
                together(vec![&mut *entry], |entry| {
                    entry.subject.run(Operation::Remove, &shares[0])
                })
            } else {
                let shared = shared(&*entry.subject);
                together(shares, |keys| shared.remove(&keys))
            };
            let removed = removed.into_iter().sum::<u64>();
            assert_eq!(removed, items, "{} has lost items", entry.contender.name);
            entry.oldest = range.end;
            let id = Id {
                topic: Topic::Fig8,
                threads: self.threads,
                contender: entry.index,
                positive: 0,
                load: from,
            };
            self.push(id, million_ops(items as usize, elapsed));
        }
    }

    fn look(&mut self, topic: Topic, load: u32, shares: &[u32]) {
        for &threads in &self.plan.threads {
            for &positive in shares {
                for place in 0..self.entries.len() {
                    let entry = &self.entries[place];
                    if entry.failed {
                        continue;
                    }
                    let queries: Vec<_> = (0..threads as u64)
                        .map(|thread| self.queries(entry, positive, thread))
                        .collect();
                    let operations = queries.iter().map(Vec::len).sum();
                    let (elapsed, found) = together(queries, |keys| entry.subject.look(&keys));
                    let due = operations * positive as usize / 100;
                    let found: u64 = found.into_iter().sum();
                    assert!(
                        found as f64 >= 0.95 * due as f64,
                        "{} misses items",
                        entry.contender.name
                    );
                    let id = Id { topic, threads, contender: entry.index, positive, load };
                    self.push(id, million_ops(operations, elapsed));
                }
            }
        }
    }

    /// Keys in random order, of which `positive` percent are in the filter.
    fn queries(&self, entry: &Entry, positive: u32, thread: u64) -> Vec<u64> {
        let each = self.plan.pick(1 << 17, 1 << 21);
        let query = |index: u64| {
            let random = mix(!index);
            if random % 100 < u64::from(positive) {
                let scaled = u128::from(mix(random)) * u128::from(entry.next);
                self.keys.key((scaled >> 64) as u64)
            } else {
                self.keys.absent(index)
            }
        };
        (thread * each..(thread + 1) * each).map(query).collect()
    }
}
