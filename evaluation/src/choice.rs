//! The cost of choosing the layout at run time: `AnyCuckooFilter` beside the `CuckooFilter` of the
//! layout that it has chosen, in turn.

use std::hint::black_box;
use std::time::Instant;

use coucal::{AnyCuckooFilter, CuckooFilter, Fp16x4, Layout};
use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::text::table;

use crate::report::{Csv, Section, median, ratio};
use crate::{Plan, Topic};

/// A rate for which the default layout is the smallest.
const RATE: f64 = 0.0005;

/// An operation, its keys, and the loop over many keys for each filter.
struct Operation {
    name: &'static str,
    which: fn(items: u64) -> Which,
    /// It gets the keys of this many rounds ago.
    ago: u64,
    fixed: fn(&CuckooFilter, &[u64]) -> usize,
    chosen: fn(&AnyCuckooFilter, &[u64]) -> usize,
}

/// Counts the keys for which the method returns true; the same code for both filters.
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

/// Removed keys are inserted again one round later, when they are in no cache any more: so in each
/// round the filters lack one chunk of being full.
const OPERATIONS: [Operation; 4] = [
    operation!("miss", |_| Which::Absent, 0, |filter, key| filter.contains(*key)),
    operation!("hit", |items| Which::Present { items }, 0, |filter, key| filter.contains(*key)),
    operation!("remove", |_| Which::InOrder, 0, |filter, key| filter.remove(*key)),
    operation!("insert", |_| Which::InOrder, 1, |filter, key| filter.insert(*key).is_ok()),
];

/// Rounds of one chunk of keys; the filters take turns in each.
fn rounds(plan: &Plan) -> usize {
    plan.pick(40, 200)
}

/// Items for a table of 2^18 slots, which fits in the cache, and for a larger one.
fn sizes(plan: &Plan) -> [u64; 2] {
    [18, plan.pick(22, 24)].map(|power| (1 << power) / 100 * 95)
}

pub fn steps(plan: &Plan) -> usize {
    sizes(plan).len()
}

/// ns per operation, of the fixed layout and of the chosen one.
type Runs = [Vec<f64>; 2];

fn measure(plan: &Plan, items: u64) -> [Runs; OPERATIONS.len()] {
    plan.step(&format!("the choice of a layout: {items} items"));
    let fixed = CuckooFilter::with_capacity(items as usize);
    let chosen = AnyCuckooFilter::with_capacity_and_rate(items as usize, RATE)
        .expect("some layout has this rate");
    assert_eq!(chosen.layout_name(), Fp16x4::NAME, "the plain layout of two of the same size");
    let keys = Keys::new(1);
    for from in (0..items).step_by(CHUNK) {
        let chunk = keys.collect(Which::InOrder, from..items.min(from + CHUNK as u64));
        fixed.insert_many(&chunk).expect("it has room for all");
        chosen.insert_many(&chunk).expect("it has room for all");
    }
    let chunk = |which: Which, round: u64| {
        let from = round % (items / CHUNK as u64) * CHUNK as u64;
        keys.collect(which, from..from + CHUNK as u64)
    };
    for key in chunk(Which::InOrder, 0) {
        assert!(fixed.remove(&key) && chosen.remove(&key), "it is present");
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
            // Each filter goes first in half of the rounds.
            let first = round as usize % 2;
            time(first, works[first]);
            time(1 - first, works[1 - first]);
        }
    }
    all
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let mut csv = Csv::new(&["items", "operation", "filter", "ns per operation", "runs"]);
    let mut rows = Vec::new();
    for items in sizes(plan) {
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
    let head = ["items", "operation", "CuckooFilter, ns", "AnyCuckooFilter, ns", "ratio"];
    vec![Section {
        topic: Topic::Choice,
        title: "The cost of choosing the layout at run time",
        paper: "No such figure: the paper's program fixes the layout at compile time.".into(),
        ours: format!(
            "Two filters with the same layout, {}, filled to their capacity with the same items. One \
             has the layout in its type. The other is an `AnyCuckooFilter` for a rate of {RATE}, \
             which has chosen this layout and dispatches on it in each operation. One thread; the \
             filters take turns with chunks of {CHUNK} keys. The ratio is the median of the ratios \
             of {} rounds. The keys that one round removes, the next round inserts again, at the \
             highest load, with kicks.\n\n{}",
            Fp16x4::NAME,
            rounds(plan),
            table(&head, &rows)
        ),
        targets: Vec::new(),
        plots: Vec::new(),
        csv,
    }]
}
