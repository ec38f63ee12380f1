//! Set operations: filters that are merged, taken out again, and intersected, beside Bloom filters and exact sets.
//!
//! Two sets have the same number of items, and half of their items in common.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Instant;

use coucal::{CuckooFilter, Fp16x4, GrowableCuckooFilter};
use coucal_benches::keys::{Keys, Which};
use coucal_benches::text::Table;
use fastbloom::BloomFilter;

use crate::hash::KeyHash;
use crate::output::all_figures;
use crate::results::Results;
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic = Topic {
    name: "sets",
    slots: &[1 << 20, 1 << 24],
    subjects: || SUBJECTS.map(|subject| subject.0).to_vec(),
    measure,
    tables,
    plots: |_| Vec::new(),
};

const BYTES: &str = "merged, bytes per item of both";
const MERGE: &str = "merge, ns per item";
const UNMERGE: &str = "unmerge, ns per item";
const INTERSECT: &str = "intersect, ns per item";
const RATE: &str = "merged, false positives, %";
const LEFT: &str = "intersection, of one set only, %";
const FIGURES: [&str; 6] = [BYTES, MERGE, UNMERGE, INTERSECT, RATE, LEFT];

/// The operations of a set with another one.
trait Set {
    fn insert(&mut self, key: u64);
    fn contains(&self, key: u64) -> bool;
    fn merge(&mut self, other: &Self);
    /// Takes the items of a set out that was merged before. Returns `false` if there is no such operation.
    fn unmerge(&mut self, other: &Self) -> bool;
    fn intersect(&mut self, other: &Self);
}

macro_rules! implement {
    ($($filter:ty)*) => {$(
        impl Set for $filter {
            fn insert(&mut self, key: u64) {
                Self::insert(self, &key).expect("there is room");
            }
            fn contains(&self, key: u64) -> bool {
                self.contains(&key)
            }
            fn merge(&mut self, other: &Self) {
                Self::merge(self, other).expect("there is room");
            }
            fn unmerge(&mut self, other: &Self) -> bool {
                Self::unmerge(self, other).expect("equal filters");
                true
            }
            fn intersect(&mut self, other: &Self) {
                Self::intersect(self, other).expect("equal filters");
            }
        }
    )*};
}

implement!(CuckooFilter<Fp16x4, KeyHash> GrowableCuckooFilter<Fp16x4, KeyHash>);

impl Set for BloomFilter<KeyHash> {
    fn insert(&mut self, key: u64) {
        Self::insert(self, &key);
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn merge(&mut self, other: &Self) {
        self.union(other);
    }
    fn unmerge(&mut self, _: &Self) -> bool {
        false
    }
    fn intersect(&mut self, other: &Self) {
        Self::intersect(self, other);
    }
}

impl Set for HashSet<u64, KeyHash> {
    fn insert(&mut self, key: u64) {
        Self::insert(self, key);
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn merge(&mut self, other: &Self) {
        self.extend(other);
    }
    fn unmerge(&mut self, other: &Self) -> bool {
        // What both sets had goes, too: a set does not count.
        for key in other {
            self.remove(key);
        }
        true
    }
    fn intersect(&mut self, other: &Self) {
        self.retain(|key| other.contains(key));
    }
}

type Measured = [Option<f64>; FIGURES.len()];
type Measure = fn(Keys, u64) -> Measured;

const SUBJECTS: [(&str, Measure); 4] = [
    ("coucal", |keys, items| {
        one(keys, items, |most| {
            let builder = CuckooFilter::builder().layout::<Fp16x4>().hasher(KeyHash::default());
            builder.capacity(most).build().expect("memory")
        })
    }),
    ("coucal, growing", |keys, items| {
        one(keys, items, |_| {
            let builder = GrowableCuckooFilter::builder().layout::<Fp16x4>();
            builder.hasher(KeyHash::default()).build().expect("memory")
        })
    }),
    ("fastbloom, 17 bits per item", |keys, items| {
        one(keys, items, |most| {
            let builder = BloomFilter::with_num_bits(17 * most).hasher(KeyHash::default());
            builder.expected_items(most)
        })
    }),
    ("HashSet", |keys, items| one(keys, items, |_| HashSet::<u64, KeyHash>::default())),
];

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        for (name, measure) in SUBJECTS.into_iter().filter(|(name, _)| plan.includes(name)) {
            // Both sets together fill a table.
            let figures = measure(Keys::new(1 + round as u64), slots * 9 / 20);
            for (figure, value) in FIGURES.into_iter().zip(figures) {
                if let Some(value) = value {
                    results.push((slots, 1), name, figure, value);
                }
            }
        }
    }
}

/// Measures sets that `make` makes for a number of items.
fn one<S: Set>(keys: Keys, items: u64, make: impl Fn(usize) -> S) -> Measured {
    let set = |range: Range<u64>| {
        let mut set = make(2 * items as usize);
        keys.collect(Which::InOrder, range).into_iter().for_each(|key| set.insert(key));
        set
    };
    let timed = |operation: &mut dyn FnMut()| {
        let started = Instant::now();
        operation();
        started.elapsed().as_nanos() as f64 / items as f64
    };
    let count = |set: &S, range: Range<u64>| range.filter(|&at| set.contains(keys.key(at))).count();
    let second = set(items / 2..items / 2 + items);
    let before = allocated();
    let mut first = set(0..items);
    let merge = timed(&mut || first.merge(&second));
    let bytes = allocated() - before;
    assert_eq!(count(&first, 0..items / 2 + items), (items / 2 + items) as usize);
    let absent = keys.collect(Which::Absent, 0..items);
    let found = absent.iter().filter(|&&key| first.contains(key)).count();
    let mut has_unmerge = false;
    let unmerge = timed(&mut || has_unmerge = first.unmerge(&second));
    // The first set again, however it was left.
    let mut first = set(0..items);
    let intersect = timed(&mut || first.intersect(&second));
    assert_eq!(count(&first, items / 2..items), (items - items / 2) as usize);
    let left = count(&first, 0..items / 2);
    [
        Some(bytes as f64 / (2 * items) as f64),
        Some(merge),
        has_unmerge.then_some(unmerge),
        Some(intersect),
        Some(100.0 * found as f64 / items as f64),
        Some(100.0 * left as f64 / (items / 2) as f64),
    ]
}

fn tables(results: &Results) -> Vec<Table> {
    let subjects = SUBJECTS.map(|(name, _)| name);
    vec![all_figures("sets", results, &subjects, &FIGURES)]
}
