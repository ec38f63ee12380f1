//! Operations one by one and in batches, in two tables in turn.

use coucal_benches::keys::{Keys, Which};
use coucal_benches::text::{Table, power};

use crate::filters::timed;
use crate::output::table;
use crate::peers::{COUCAL, MAPLET, build};
use crate::results::Results;
use crate::subject::{Operation, Subject, fill};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "batches",
    slots: &[1 << 18, 1 << 27],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

/// The operations, in the order in which they are done: inserts go from empty to 75 % load; inserts of absent items
/// insert what was removed before.
const OPERATIONS: [(&str, Operation); 4] = [
    ("insert", Operation::Insert),
    ("contains", Operation::Contains),
    ("remove", Operation::Remove),
    ("insert_if_absent", Operation::InsertIfAbsent),
];
/// The operation that only maplets have.
const REPLACE: &str = "replace";

type Run = fn(&dyn Subject, Operation, &[u64]) -> u64;

/// Returns the figures of a loop and of its batches, and the functions that measure them.
fn pair(name: &str) -> [(String, Run); 2] {
    let batches: Run = |subject, operation, keys| subject.run_batches(operation, keys);
    [
        (format!("{name} loop"), |subject, operation, keys| subject.run(operation, keys)),
        (format!("{name}_many"), batches),
    ]
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let (keys, items) = (Keys::new(100 + round as u64), slots * 3 / 4);
        let some = 0..items.min(4 * plan.operations);
        let mut push = |name, figure: &str, nanos| results.push((slots, 1), name, figure, nanos);
        let tables = [0, 1].map(|_| build(COUCAL, slots as usize));
        for (name, operation) in OPERATIONS {
            let (which, range) = match operation {
                Operation::Insert => (Which::InOrder, 0..items),
                Operation::Contains => (Which::Half { items }, some.clone()),
                _ => (Which::InOrder, some.clone()),
            };
            for (table, (figure, run)) in tables.iter().zip(pair(name)) {
                let work = |chunk: &[u64]| run(&**table, operation, chunk);
                push(COUCAL, &figure, timed(keys, which, range.clone(), work).0);
            }
        }
        drop(tables);
        for (figure, run) in pair(REPLACE) {
            let table = build(MAPLET, slots as usize);
            fill(&*table, keys, items);
            let work = |chunk: &[u64]| run(&*table, Operation::Replace, chunk);
            let (nanos, replaced) = timed(keys, Which::InOrder, some.clone(), work);
            assert_eq!(replaced, some.end, "the maplet misses a key");
            push(MAPLET, &figure, nanos);
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let mut batches = table("batches", ["ns in a loop", "ns in batches", "times as fast"]);
    for slots in results.slots_with(&pair(OPERATIONS[0].0)[0].0) {
        let view = results.at(slots, 1);
        let names = OPERATIONS.iter().map(|operation| (COUCAL, operation.0, ""));
        for (name, operation, of) in names.chain([(MAPLET, REPLACE, " of a maplet")]) {
            let [one, many] = pair(operation).map(|one| one.0);
            let times = view.ratio((name, &one), (name, &many));
            let label = format!("`{many}`{of}, {} slots", power(slots));
            batches.row(&label, [view.median(name, &one), view.median(name, &many), times]);
        }
    }
    vec![batches]
}
