//! Operations one by one and in batches, in two tables in turn.

use coucal_measure::keys::{Keys, Which};
use coucal_measure::subject::Operation;
use coucal_measure::text::power;

use crate::contenders::{COUCAL, build};
use crate::filters::timed;
use crate::output::Table;
use crate::results::Results;
use crate::{Plan, Topic};

pub const TOPIC: Topic =
    Topic { name: "batches", slots: &[1 << 18, 1 << 27], measure, tables, plots: |_| Vec::new() };

/// A loop and its batches, in the order in which they are done: inserts go from empty to 75 % load.
const PAIRS: [[(&str, Operation); 2]; 3] = [
    [("insert loop", Operation::Insert), ("insert_many", Operation::InsertMany)],
    [("contains loop", Operation::Contains), ("contains_many", Operation::ContainsMany)],
    [("remove loop", Operation::Remove), ("remove_many", Operation::RemoveMany)],
];

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        let items = slots * 3 / 4;
        for round in 0..plan.rounds(slots) {
            plan.say(&format!("{slots} slots, round {}", round + 1));
            let keys = Keys::new(100 + round as u64);
            let mut tables = [0, 1].map(|_| build(COUCAL, slots as usize));
            for pair in PAIRS {
                let (which, range) = match pair[0].1 {
                    Operation::Insert => (Which::InOrder, 0..items),
                    Operation::Contains => {
                        (Which::Half { items }, 0..items.min(4 * plan.operations))
                    }
                    _ => (Which::InOrder, 0..items.min(4 * plan.operations)),
                };
                for (table, (figure, operation)) in tables.iter_mut().zip(pair) {
                    let (nanos, _) = timed(table.as_mut(), operation, keys, which, range.clone());
                    results.push((slots, 1), COUCAL, figure, nanos);
                }
            }
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let mut table = Table::new("batches", ["ns in a loop", "ns in batches", "times as fast"]);
    for slots in results.slots_with(PAIRS[0][0].0) {
        let view = results.at(slots, 1);
        for [(one, _), (many, _)] in PAIRS {
            let times = view.ratio((COUCAL, one), (COUCAL, many));
            let label = format!("`{many}`, {} slots", power(slots));
            table.row(&label, [view.median(COUCAL, one), view.median(COUCAL, many), times]);
        }
    }
    vec![table]
}
