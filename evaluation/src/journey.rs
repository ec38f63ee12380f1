//! From empty to full and back, all filters step by step in turns: the measurements of figures 5 to
//! 8.

use std::collections::BTreeMap;

use coucal_benches::keys::{Keys, mix};

use crate::filters::{CONTENDERS, Contender, Subject};
use crate::timing::{rate, together};
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

/// Million operations a second, in each round.
pub type Runs = BTreeMap<Id, Vec<f64>>;

/// Where all filters stop on the way, in percent; the last is what counts as full.
pub fn loads(plan: &Plan) -> Vec<u32> {
    plan.pick(vec![10, 30, 50, 70, 80, 90, 95], (1..=19).map(|step| 5 * step).collect())
}

fn updates(plan: &Plan) -> bool {
    plan.has(Topic::Fig7) || plan.has(Topic::Fig8)
}

/// Numbers of threads that fill: one, and more where inserts or removals are asked for.
fn journeys(plan: &Plan) -> impl Iterator<Item = usize> {
    let updates = updates(plan);
    plan.threads.iter().copied().filter(move |threads| *threads == 1 || updates)
}

pub fn steps(plan: &Plan) -> usize {
    let there = plan.rounds * journeys(plan).count() * loads(plan).len();
    let back = if plan.has(Topic::Fig8) { there } else { 0 };
    there + back + if plan.has(Topic::Fig5) { plan.rounds } else { 0 }
}

pub fn run(plan: &Plan) -> Runs {
    let mut runs = Runs::new();
    for round in 0..plan.rounds {
        for threads in journeys(plan) {
            let name = format!("figures 5 to 8: round {}, {threads} writing", round + 1);
            let keys = Keys::new(1 + round as u64);
            Journey { plan, keys, threads, name, runs: &mut runs, field: Vec::new() }.go();
        }
    }
    runs
}

struct Entry {
    index: usize,
    contender: &'static Contender,
    subject: Box<dyn Subject>,
    /// The keys from here..
    oldest: u64,
    /// ..to here are in it.
    next: u64,
    /// An insert has failed.
    stuck: bool,
}

impl Entry {
    fn items_at(&self, load: u32) -> u64 {
        self.subject.full() as u64 * u64::from(load) / 100
    }
}

struct Journey<'a> {
    plan: &'a Plan,
    keys: Keys,
    /// Writers at once.
    threads: usize,
    name: String,
    runs: &'a mut Runs,
    field: Vec<Entry>,
}

impl Journey<'_> {
    fn go(mut self) {
        let takes_part = |contender: &Contender| self.threads == 1 || contender.shared;
        for (index, contender) in CONTENDERS.iter().enumerate() {
            if takes_part(contender) {
                let subject = contender.build(self.plan.bytes);
                self.field.push(Entry {
                    index,
                    contender,
                    subject,
                    oldest: 0,
                    next: 0,
                    stuck: false,
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

    /// A share of the keys for each writer.
    fn shares(&self, keys: std::ops::Range<u64>) -> Vec<Vec<u64>> {
        let share = (keys.end - keys.start).div_ceil(self.threads as u64).max(1);
        let starts = keys.clone().step_by(share as usize);
        let of = |from: u64| from..keys.end.min(from + share);
        starts.map(|from| of(from).map(|index| self.keys.key(index)).collect()).collect()
    }

    fn fill(&mut self, load: u32) {
        for place in 0..self.field.len() {
            let entry = &self.field[place];
            let range = entry.next..entry.items_at(load);
            if entry.stuck || range.is_empty() {
                continue;
            }
            let (items, shares) = ((range.end - range.start) as usize, self.shares(range.clone()));
            let entry = &mut self.field[place];
            let (elapsed, stored) = if self.threads == 1 {
                together(vec![&mut *entry], |entry| entry.subject.insert(&shares[0]))
            } else {
                let shared = entry.subject.shared().expect("it takes part");
                together(shares, |keys| shared.insert_shared(&keys))
            };
            entry.next = range.end;
            // Which of the keys are in it is not known then.
            entry.stuck = stored.into_iter().sum::<usize>() < items;
            let (contender, stuck) = (entry.index, entry.stuck);
            if !stuck {
                let id =
                    Id { topic: Topic::Fig7, threads: self.threads, contender, positive: 0, load };
                self.push(id, rate(items, elapsed));
            }
        }
    }

    fn empty(&mut self, from: u32, to: u32) {
        for place in 0..self.field.len() {
            let entry = &self.field[place];
            let items = entry.items_at(from) - entry.items_at(to);
            if entry.stuck || !entry.contender.removes || items == 0 {
                continue;
            }
            let range = entry.oldest..entry.oldest + items;
            let shares = self.shares(range.clone());
            let entry = &mut self.field[place];
            let (elapsed, removed) = if self.threads == 1 {
                together(vec![&mut *entry], |entry| entry.subject.remove(&shares[0]))
            } else {
                let shared = entry.subject.shared().expect("it takes part");
                together(shares, |keys| shared.remove_shared(&keys))
            };
            let removed = removed.into_iter().sum::<usize>() as u64;
            assert_eq!(removed, items, "{} has lost items", entry.contender.name);
            entry.oldest = range.end;
            let id = Id {
                topic: Topic::Fig8,
                threads: self.threads,
                contender: entry.index,
                positive: 0,
                load: from,
            };
            self.push(id, rate(items as usize, elapsed));
        }
    }

    fn look(&mut self, topic: Topic, load: u32, shares: &[u32]) {
        for &threads in &self.plan.threads {
            for &positive in shares {
                for place in 0..self.field.len() {
                    let entry = &self.field[place];
                    if entry.stuck {
                        continue;
                    }
                    let queries: Vec<_> = (0..threads as u64)
                        .map(|thread| self.queries(entry, positive, thread))
                        .collect();
                    let operations = queries.iter().map(Vec::len).sum();
                    let (elapsed, found) = together(queries, |keys| entry.subject.look(&keys));
                    let due = operations * positive as usize / 100;
                    let found: usize = found.into_iter().sum();
                    assert!(
                        found as f64 >= 0.95 * due as f64,
                        "{} misses items",
                        entry.contender.name
                    );
                    let id = Id { topic, threads, contender: entry.index, positive, load };
                    self.push(id, rate(operations, elapsed));
                }
            }
        }
    }

    /// Keys of which so many percent are in the filter, in no order.
    fn queries(&self, entry: &Entry, positive: u32, thread: u64) -> Vec<u64> {
        let each = self.plan.pick(1 << 18, 1 << 21);
        let query = |index: u64| {
            let dice = mix(!index);
            if dice % 100 < u64::from(positive) {
                let scaled = u128::from(mix(dice)) * u128::from(entry.next);
                self.keys.key((scaled >> 64) as u64)
            } else {
                self.keys.absent(index)
            }
        };
        (thread * each..(thread + 1) * each).map(query).collect()
    }
}
