//! Keys with several values: the cost of each operation, in proportion to that of a maplet whose keys have one value
//! each.

use std::hint::black_box;
use std::time::Instant;

use coucal::{CuckooMaplet, Error, GrowableCuckooMaplet, Storage};
use coucal_benches::keys::{CHUNK, Keys, mix};
use coucal_benches::text::{Table, figures, power};

use crate::hash::KeyHash;
use crate::output::table;
use crate::results::{Results, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "crowds",
    slots: &[1 << 18, 1 << 22],
    subjects: || SUBJECTS.map(|subject| subject.0).to_vec(),
    measure,
    tables,
    plots: |_| Vec::new(),
};

const VALUE_BITS: u32 = 6;
/// The difference that `replace` and `update` make in a value: no key has as many values.
const CHANGE: u32 = 1 << (VALUE_BITS - 1);
/// The number of values of a hot key. One key in `OF_HOT` is hot.
const OF_HOT: u32 = 20;
const ONE_HOT_IN: u64 = 256;

/// The number of values of the keys.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    Each(u32),
    /// At least n with probability 1/n, up to 32.
    Zipf,
    /// One key in many has this number, and all others have one. The operations are those of the others.
    OfHot,
}

impl Values {
    /// Returns the number of values of the key with this index.
    fn of(self, index: u64) -> u32 {
        match self {
            Self::Each(values) => values,
            Self::Zipf => ((1 << 32) / (1 + (mix(!index) >> 32))).clamp(1, CHANGE.into()) as u32,
            Self::OfHot if Self::is_hot(index) => OF_HOT,
            Self::OfHot => 1,
        }
    }

    fn is_hot(index: u64) -> bool {
        index.is_multiple_of(ONE_HOT_IN)
    }

    /// Returns all pairs of keys from this index on, by their indices.
    fn pairs(self, from: u64) -> impl Iterator<Item = (u64, u32)> {
        (from..).flat_map(move |index| (0..self.of(index)).map(move |value| (index, value)))
    }

    /// As `pairs`, for the keys whose operations are timed.
    fn timed(self, from: u64) -> impl Iterator<Item = (u64, u32)> {
        self.pairs(from).filter(move |&(index, _)| self != Self::OfHot || !Self::is_hot(index))
    }
}

/// The way in which a maplet is built.
#[derive(Clone, Copy, PartialEq)]
enum Built {
    /// For this number of pairs.
    Fixed,
    /// For this number of pairs, and with a hint of how many values a key has.
    Hinted(u32),
    Growing,
}

/// The subjects that are measured beside the first one of their kind, which has one value per key.
const SUBJECTS: [(&str, Built, Values); 19] = [
    ("fixed, 1 per key", Built::Fixed, Values::Each(1)),
    ("fixed, 2 per key", Built::Fixed, Values::Each(2)),
    ("fixed, 3 per key", Built::Fixed, Values::Each(3)),
    ("fixed, 4 per key", Built::Fixed, Values::Each(4)),
    ("fixed, 8 per key", Built::Fixed, Values::Each(8)),
    ("fixed, Zipf", Built::Fixed, Values::Zipf),
    ("fixed, beside hot keys", Built::Fixed, Values::OfHot),
    ("`values_per_key(2)`, 2 per key", Built::Hinted(2), Values::Each(2)),
    ("`values_per_key(3)`, 3 per key", Built::Hinted(3), Values::Each(3)),
    ("`values_per_key(4)`, 4 per key", Built::Hinted(4), Values::Each(4)),
    ("`values_per_key(8)`, 8 per key", Built::Hinted(8), Values::Each(8)),
    ("`values_per_key(4)`, Zipf", Built::Hinted(4), Values::Zipf),
    ("growing, 1 per key", Built::Growing, Values::Each(1)),
    ("growing, 2 per key", Built::Growing, Values::Each(2)),
    ("growing, 3 per key", Built::Growing, Values::Each(3)),
    ("growing, 4 per key", Built::Growing, Values::Each(4)),
    ("growing, 8 per key", Built::Growing, Values::Each(8)),
    ("growing, Zipf", Built::Growing, Values::Zipf),
    ("growing, beside hot keys", Built::Growing, Values::OfHot),
];

/// Returns the subject of the same kind with one value per key.
fn base(built: Built) -> &'static str {
    if built == Built::Growing { "growing, 1 per key" } else { "fixed, 1 per key" }
}

/// The number of parts of a fill.
const PARTS: usize = 16;

const BITS: &str = "bits per pair";
const STASHED: &str = "stashed, %";
const INSERT: &str = "`insert`";

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Insert,
    GetAbsent,
    GetPresent,
    ContainsAbsent,
    Remove,
    Replace,
    Update,
}

use Operation::{ContainsAbsent, GetAbsent, GetPresent, Insert, Remove, Replace, Update};

/// The operations after the fill, and their figures.
const OPERATIONS: [(Operation, &str); 6] = [
    (GetAbsent, "`get`, absent"),
    (GetPresent, "`get`, present"),
    (ContainsAbsent, "`contains_key`, absent"),
    (Remove, "`remove`"),
    (Replace, "`replace`"),
    (Update, "`update`"),
];

trait Crowd {
    /// Does the operation with each pair. Returns how many were found or changed.
    fn run(&self, operation: Operation, pairs: &[(u64, u32)]) -> usize;
    fn bits_per_pair(&self) -> f64;
    /// Returns the percentage of the pairs that are stashed.
    fn stashed(&self) -> f64;
}

impl<L: Storage> Crowd for coucal::Maplet<L, KeyHash> {
    fn run(&self, operation: Operation, pairs: &[(u64, u32)]) -> usize {
        match operation {
            Insert => pairs.iter().filter(|(key, value)| self.insert(key, *value).is_ok()).count(),
            GetAbsent | GetPresent => {
                pairs.iter().filter(|(key, _)| black_box(self.get(key).count()) > 0).count()
            }
            ContainsAbsent => pairs.iter().filter(|(key, _)| self.contains_key(key)).count(),
            Remove => pairs.iter().filter(|(key, value)| self.remove(key, *value)).count(),
            Replace => {
                let replace = |&&(key, value): &&(u64, u32)| {
                    self.replace(&key, value, value ^ CHANGE).expect("a value that fits")
                };
                pairs.iter().filter(replace).count()
            }
            Update => {
                let update = |&&(key, _): &&(u64, u32)| {
                    self.update(&key, |value| Some(value ^ CHANGE))
                        .expect("a value that fits")
                        .is_some()
                };
                pairs.iter().filter(update).count()
            }
        }
    }

    fn bits_per_pair(&self) -> f64 {
        self.memory_bytes() as f64 * 8.0 / self.len() as f64
    }

    fn stashed(&self) -> f64 {
        self.stats().stashed_copies as f64 * 100.0 / self.len() as f64
    }
}

fn build(built: Built, pairs: u64) -> Result<Box<dyn Crowd>, Error> {
    let builder = CuckooMaplet::builder().hasher(KeyHash::default()).value_bits(VALUE_BITS);
    let builder = builder.capacity(pairs as usize);
    Ok(match built {
        Built::Fixed => Box::new(builder.build()?),
        Built::Hinted(values) => Box::new(builder.values_per_key(values).build()?),
        Built::Growing => {
            Box::new(GrowableCuckooMaplet::with_hasher(VALUE_BITS, KeyHash::default()))
        }
    })
}

struct Entry {
    name: &'static str,
    values: Values,
    crowd: Box<dyn Crowd>,
    /// The pairs that are not stored yet.
    rest: Box<dyn Iterator<Item = (u64, u32)>>,
    /// The index from which on keys have no value, or not all of their values.
    keys: u64,
    /// The ns per operation of each chunk.
    nanos: Vec<f64>,
}

impl Entry {
    fn new(name: &'static str, built: Built, values: Values, pairs: u64) -> Self {
        let crowd = build(built, pairs).expect("memory");
        let rest = Box::new(values.pairs(0));
        Self { name, values, crowd, rest, keys: 0, nanos: Vec::new() }
    }

    fn time(&mut self, operation: Operation, keys: Keys, pairs: &[(u64, u32)]) -> usize {
        let pairs: Vec<_> = pairs.iter().map(|&(index, value)| (keys.key(index), value)).collect();
        let started = Instant::now();
        let done = self.crowd.run(operation, &pairs);
        self.nanos.push(started.elapsed().as_nanos() as f64 / pairs.len() as f64);
        done
    }

    /// Stores the next pairs.
    fn insert(&mut self, keys: Keys, count: usize) {
        let pairs: Vec<_> = self.rest.by_ref().take(count).collect();
        self.keys = pairs.last().expect("some").0;
        assert_eq!(self.time(Insert, keys, &pairs), count, "{} has room for its pairs", self.name);
    }
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        measure_round(plan, slots, round, results);
    }
}

/// Measures all subjects by turns, chunk by chunk.
fn measure_round(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(1 + round as u64);
    let pairs = slots * 19 / 20;
    let included = SUBJECTS.into_iter().filter(|(name, ..)| plan.includes(name));
    let mut entries: Vec<_> =
        included.map(|(name, built, values)| Entry::new(name, built, values, pairs)).collect();
    let mut push = |name, figure, run| results.push((slots, 1), name, figure, run);
    let mut stored = 0;
    while stored < pairs {
        let count = (pairs - stored).min(CHUNK as u64);
        for entry in &mut entries {
            entry.insert(keys, count as usize);
        }
        stored += count;
    }
    for entry in &mut entries {
        // An insert takes longer when the maplet is fuller. So there is one median for each part of the fill.
        let nanos = std::mem::take(&mut entry.nanos);
        let parts = nanos.chunks(nanos.len().div_ceil(PARTS)).filter_map(median);
        push(entry.name, INSERT, parts.clone().sum::<f64>() / parts.count() as f64);
        push(entry.name, BITS, entry.crowd.bits_per_pair());
        push(entry.name, STASHED, entry.crowd.stashed());
    }
    // Each operation that changes pairs has other pairs.
    let quarter = (pairs / 4).min(plan.operations);
    let mut first = vec![0; entries.len()];
    for (operation, figure) in OPERATIONS {
        for from in (0..quarter).step_by(CHUNK) {
            let count = (quarter - from).min(CHUNK as u64);
            for (entry, first) in entries.iter_mut().zip(&mut first) {
                let (values, present) = (entry.values, entry.keys);
                let drawn = |at: u64| ((u128::from(mix(at)) * u128::from(present)) >> 64) as u64;
                let chunk: Vec<(u64, u32)> = match operation {
                    GetAbsent | ContainsAbsent => {
                        (from..from + count).map(|at| ((1 << 40) + at, 0)).collect()
                    }
                    GetPresent => (from..from + count)
                        .map(|at| values.timed(drawn(at)).next().expect("endless"))
                        .collect(),
                    _ => {
                        // All values of each key.
                        let all = values.timed(*first);
                        let chunk: Vec<_> = all.take(count as usize).collect();
                        let last = chunk.last().expect("some").0;
                        *first = last + 1;
                        chunk
                    }
                };
                let done = entry.time(operation, keys, &chunk);
                let is_absent = matches!(operation, GetAbsent | ContainsAbsent);
                assert!(is_absent || done == chunk.len(), "{} misses a pair", entry.name);
            }
        }
        for entry in &mut entries {
            let nanos = std::mem::take(&mut entry.nanos);
            push(entry.name, figure, median(&nanos).unwrap_or(f64::NAN));
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let times = || [INSERT].into_iter().chain(OPERATIONS.map(|(_, figure)| figure));
    let mut crowds = table("crowds", [BITS, STASHED].into_iter().chain(times()));
    for slots in results.slots_with(INSERT) {
        let view = results.at(slots, 1);
        for (name, built, _) in SUBJECTS {
            let Some(bits) = view.median(name, BITS) else { continue };
            let stashed = view.median(name, STASHED).unwrap_or(f64::NAN);
            let base = base(built);
            let cell = |figure| {
                let found = if name == base {
                    view.median(name, figure).map(|nanos| format!("{} ns", figures(nanos)))
                } else {
                    view.ratio((name, figure), (base, figure)).map(figures)
                };
                found.unwrap_or_else(|| "–".into())
            };
            let cells = [bits, stashed].map(figures).into_iter().chain(times().map(cell));
            crowds.cells(&format!("{name}, {} slots", power(slots)), cells);
        }
    }
    vec![crowds]
}
