//! Operations one by one and in batches, in two tables in turn.

use coucal_measure::keys::{Keys, Which};
use coucal_measure::subject::Operation;
use coucal_measure::text::power;

use crate::contenders::{COUCAL, MAPLET, build};
use crate::filters::timed;
use crate::output::Table;
use crate::results::Results;
use crate::{Plan, Topic};

pub const TOPIC: Topic =
    Topic { name: "batches", slots: &[1 << 18, 1 << 27], measure, tables, plots: |_| Vec::new() };

/// A loop and its batches, in the order in which they are done: inserts go from empty to 75 % load, and what is
/// removed is new to the inserts of unique items.
const PAIRS: [[(&str, Operation); 2]; 4] = [
    [("insert loop", Operation::Insert), ("insert_many", Operation::InsertMany)],
    [("contains loop", Operation::Contains), ("contains_many", Operation::ContainsMany)],
    [("remove loop", Operation::Remove), ("remove_many", Operation::RemoveMany)],
    [
        ("insert_unique loop", Operation::InsertUnique),
        ("insert_unique_many", Operation::InsertUniqueMany),
    ],
];

/// The same of a maplet.
const REPLACE: [(&str, Operation); 2] =
    [("replace loop", Operation::Replace), ("replace_many", Operation::ReplaceMany)];

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        let items = slots * 3 / 4;
        for round in 0..plan.rounds(slots) {
            plan.say(&format!("{slots} slots, round {}", round + 1));
            let keys = Keys::new(100 + round as u64);
            let some = 0..items.min(4 * plan.operations);
            let mut push = |name, figure, nanos| results.push((slots, 1), name, figure, nanos);
            let mut tables = [0, 1].map(|_| build(COUCAL, slots as usize));
            for pair in PAIRS {
                let (which, range) = match pair[0].1 {
                    Operation::Insert => (Which::InOrder, 0..items),
                    Operation::Contains => (Which::Half { items }, some.clone()),
                    _ => (Which::InOrder, some.clone()),
                };
                for (table, (figure, operation)) in tables.iter_mut().zip(pair) {
                    let (nanos, _) = timed(table.as_mut(), operation, keys, which, range.clone());
                    push(COUCAL, figure, nanos);
                }
            }
            drop(tables);
            for (figure, operation) in REPLACE {
                let mut table = build(MAPLET, slots as usize);
                let mut run = |operation, range| {
                    timed(table.as_mut(), operation, keys, Which::InOrder, range)
                };
                run(Operation::InsertMany, 0..items);
                let (nanos, replaced) = run(operation, some.clone());
                assert_eq!(replaced, some.end, "the maplet misses a key");
                push(MAPLET, figure, nanos);
            }
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let mut table = Table::new("batches", ["ns in a loop", "ns in batches", "times as fast"]);
    for slots in results.slots_with(PAIRS[0][0].0) {
        let view = results.at(slots, 1);
        let pairs = PAIRS.iter().map(|pair| (COUCAL, pair)).chain([(MAPLET, &REPLACE)]);
        for (name, [(one, _), (many, _)]) in pairs {
            let times = view.ratio((name, one), (name, many));
            let of = if name == COUCAL { "" } else { " of a maplet" };
            let label = format!("`{many}`{of}, {} slots", power(slots));
            table.row(&label, [view.median(name, one), view.median(name, many), times]);
        }
    }
    vec![table]
}
