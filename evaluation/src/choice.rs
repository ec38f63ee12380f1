//! What it costs to choose the layout as the program runs: `AnyCuckooFilter` beside the
//! `CuckooFilter` of the layout that it has chosen, in turns.

use std::hint::black_box;
use std::time::Instant;

use coucal::{AnyCuckooFilter, CuckooFilter, Fp16x4, Layout};
use coucal_benches::keys::{CHUNK, Keys, Which};

use crate::report::{Csv, Section, table};
use crate::timing::{median, ratio};
use crate::{Plan, Topic};

/// A rate for which the default layout is the smallest.
const RATE: f64 = 0.0005;

/// An operation, the keys that it takes, and how each filter does it for many.
struct Operation {
    name: &'static str,
    which: fn(items: u64) -> Which,
    /// How many rounds ago the other operations had these keys.
    ago: u64,
    fixed: fn(&CuckooFilter, &[u64]) -> usize,
    chosen: fn(&AnyCuckooFilter, &[u64]) -> usize,
}

/// Counts the keys for which the method says yes; the same text for both filters.
macro_rules! count {
    (|$filter:ident, $key:ident| $yes:expr) => {
        |$filter, keys| keys.iter().filter(|$key| $yes).count()
    };
}

macro_rules! operation {
    ($name:literal, $which:expr, $ago:literal, $($count:tt)*) => {
        Operation {
            name: $name,
            which: $which,
            ago: $ago,
            fixed: count!($($count)*),
            chosen: count!($($count)*),
        }
    };
}

/// What is removed is inserted again a round later, when no cache has it any more: so each round
/// finds the filters a chunk short of full.
const OPERATIONS: [Operation; 4] = [
    operation!("miss", |_| Which::Absent, 0, |filter, key| filter.contains(*key)),
    operation!("hit", |items| Which::Present { items }, 0, |filter, key| filter.contains(*key)),
    operation!("remove", |_| Which::InOrder, 0, |filter, key| filter.remove(*key)),
    operation!("insert", |_| Which::InOrder, 1, |filter, key| filter.insert(*key).is_ok()),
];

/// Chunks of keys that are timed: the filters take turns with each.
fn rounds(plan: &Plan) -> usize {
    plan.pick(40, 200)
}

/// Items for tables of 2^18 slots, in cache, and of 2^24.
fn sizes() -> [u64; 2] {
    [18, 24].map(|power| (1 << power) / 100 * 95)
}

pub fn steps(_plan: &Plan) -> usize {
    sizes().len()
}

/// Nanoseconds an operation, of the fixed layout and of the chosen one.
type Runs = [Vec<f64>; 2];

fn measure(plan: &Plan, items: u64) -> [Runs; OPERATIONS.len()] {
    plan.step(&format!("the choice of a layout: {items} items"));
    let fixed = CuckooFilter::with_capacity(items as usize);
    let chosen = AnyCuckooFilter::with_capacity_and_rate(items as usize, RATE)
        .expect("the rate is within reach");
    assert_eq!(chosen.layout_name(), Fp16x4::NAME, "of equally small layouts the plain one");
    let keys = Keys::new(1);
    for from in (0..items).step_by(CHUNK) {
        let chunk = keys.collect(Which::InOrder, from..items.min(from + CHUNK as u64));
        fixed.insert_many(&chunk).expect("it is made for so many");
        chosen.insert_many(&chunk).expect("it is made for so many");
    }
    let chunk = |which: Which, round: u64| {
        let from = round % (items / CHUNK as u64) * CHUNK as u64;
        keys.collect(which, from..from + CHUNK as u64)
    };
    for key in chunk(Which::InOrder, 0) {
        assert!(fixed.remove(&key) && chosen.remove(&key), "it is there");
    }
    let mut all = [const { [const { Vec::new() }; 2] }; OPERATIONS.len()];
    for round in 1..=rounds(plan) as u64 {
        for (operation, runs) in OPERATIONS.iter().zip(&mut all) {
            let keys = chunk((operation.which)(items), round - operation.ago);
            let mut time = |place: usize, work: &dyn Fn() -> usize| {
                let begun = Instant::now();
                black_box(work());
                runs[place].push(begun.elapsed().as_nanos() as f64 / keys.len() as f64);
            };
            let works: [&dyn Fn() -> usize; 2] =
                [&|| (operation.fixed)(&fixed, &keys), &|| (operation.chosen)(&chosen, &keys)];
            // Each goes first as often as the other.
            let first = round as usize % 2;
            time(first, works[first]);
            time(1 - first, works[1 - first]);
        }
    }
    all
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let mut csv = Csv::new(&["items", "operation", "filter", "nanoseconds", "runs"]);
    let mut rows = Vec::new();
    for items in sizes() {
        for (operation, runs) in OPERATIONS.iter().zip(measure(plan, items)) {
            for (name, runs) in ["CuckooFilter", "AnyCuckooFilter"].iter().zip(&runs) {
                let all: Vec<_> = runs.iter().map(|run| format!("{run:.2}")).collect();
                csv.push(vec![
                    items.to_string(),
                    operation.name.into(),
                    (*name).into(),
                    format!("{:.2}", median(runs)),
                    all.join(" "),
                ]);
            }
            let [fixed, chosen] = &runs;
            rows.push(vec![
                format!("{:.1} million", items as f64 / 1e6),
                operation.name.into(),
                format!("{:.1}", median(fixed)),
                format!("{:.1}", median(chosen)),
                format!("{:.2}", ratio(chosen, fixed)),
            ]);
        }
    }
    let head = ["items", "operation", "CuckooFilter, ns", "AnyCuckooFilter, ns", "times"];
    vec![Section {
        topic: Topic::Choice,
        title: "What it costs to choose the layout as the program runs",
        paper: "Not a figure of its own: the paper's program fixes the layout when it is compiled."
            .into(),
        ours: format!(
            "Two filters with the same layout, {}, and the same items, as many as they are made \
             for; one has it in its type, the other, an `AnyCuckooFilter` for a rate of {RATE}, has \
             chosen it and asks each time which it is. One thread, {CHUNK} keys each in turns; the \
             ratio is the median of the ratios of {} rounds. What is removed is inserted again \
             in the next round, kicks included.\n\n{}",
            Fp16x4::NAME,
            rounds(plan),
            table(&head, &rows)
        ),
        targets: Vec::new(),
        plots: Vec::new(),
        csv,
    }]
}
