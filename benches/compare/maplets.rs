//! Maplets: beside filters with the same number of slots, and beside other tables that tell which of 64 partitions may
//! hold a key.

use std::cell::RefCell;

use coucal_benches::keys::{Keys, Which};
use coucal_benches::plot::{Plot, Scale, Series};
use coucal_benches::text::{Table, power};

use crate::filters::{Entry, SMALL, timed};
use crate::output::table;
use crate::partitions::Filters;
use crate::peers::{
    COUCAL, FILTERS, GROWN_FILTER, GROWN_MAPLET, HASH_MAP, MAPLET, build, coucal_with_slots,
    growing_capacity,
};
use crate::results::Results;
use crate::subject::{Exclusive, Operation, Subject, fill};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "maplets",
    slots: &[1 << 18, 1 << 27],
    subjects: all_subjects,
    measure,
    tables,
    plots,
};

/// A filter and a maplet with the same number of slots.
const PAIRS: [[&str; 2]; 2] = [[COUCAL, MAPLET], [GROWN_FILTER, GROWN_MAPLET]];
/// The subjects that know the partition of a key.
const PARTITIONS: [&str; 3] = [MAPLET, FILTERS, HASH_MAP];
/// The number of all partitions, and some smaller numbers for a course.
const ALL: u64 = 64;
const SOME: [u64; 3] = [1, 4, 16];
/// Each kind of lookup takes this number of turns, so that a disturbance affects few ratios.
const TURNS: u64 = 4;

const ABSENT: &str = "miss";
const PRESENT: &str = "hit";
const BATCH: &str = "batch";
const INSERT: &str = "insert";
const REPLACE: &str = "replace";
const BITS: &str = "bits per item";
const USELESS: &str = "candidates of an absent key";

/// Figures in ns, and their titles.
const TIMES: [(&str, &str); 7] = [
    (ABSENT, "`contains`, `get`: absent"),
    (PRESENT, "`contains`, `get`: present"),
    ("half", "`contains`, `get`: half present"),
    (BATCH, "`contains_many`, `get_many`: half present"),
    (INSERT, "`insert`"),
    ("remove", "`remove`"),
    (REPLACE, "`replace`"),
];

/// Returns all subjects, each once.
fn all_subjects() -> Vec<&'static str> {
    PAIRS.as_flattened().iter().chain(&PARTITIONS[1..]).copied().collect()
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        measure_round(plan, slots, round, results);
        if slots == plan.last_slots() {
            fewer_partitions(plan, slots, round, results);
        }
    }
}

/// Measures the course over the number of partitions, with this number of slots each.
fn fewer_partitions(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(50 + round as u64);
    for partitions in SOME {
        let slots = slots / ALL * partitions;
        let filters =
            RefCell::new(Filters::new(slots as usize, partitions as usize, coucal_with_slots));
        let filters = Box::new(Exclusive(filters, slots as usize));
        let subjects: [(&str, Box<dyn Subject>); 2] =
            [(MAPLET, build(MAPLET, slots as usize)), (FILTERS, filters)];
        for (name, subject) in subjects.into_iter().filter(|(name, _)| plan.includes(name)) {
            fill(&*subject, keys, slots * 19 / 20);
            let (nanos, _) = timed(keys, Which::Absent, 0..plan.operations, |chunk| {
                subject.run(Operation::Contains, chunk)
            });
            results.push((slots, 1), name, ABSENT, nanos);
        }
    }
}

fn measure_round(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(1 + round as u64);
    let mut push = |name, figure, run| results.push((slots, 1), name, figure, run);
    let mut entries = Vec::new();
    for name in all_subjects().into_iter().filter(|name| plan.includes(name)) {
        entries.push(Entry::new(name, || build(name, slots as usize)));
    }
    let most = |name| match name {
        GROWN_FILTER | GROWN_MAPLET => growing_capacity(slots as usize) as u64,
        _ => slots * 19 / 20,
    };
    // A small table stays in the cache during all of its fill.
    let steps = if slots <= SMALL { 1 } else { 16 };
    for step in 1..=steps {
        for entry in &mut entries {
            let nanos = entry.insert(keys, most(entry.name) * step / steps);
            assert!(!nanos.is_nan(), "{} has room for its items", entry.name);
            entry.fill += nanos / steps as f64;
        }
    }
    for entry in &entries {
        push(entry.name, INSERT, entry.fill);
        push(entry.name, BITS, entry.bits_per_item());
    }
    for turn in 0..TURNS {
        let lookups = plan.operations / TURNS;
        let range = turn * lookups..(turn + 1) * lookups;
        for figure in [ABSENT, PRESENT, "half", BATCH] {
            for entry in &entries {
                let (name, items) = (entry.name, entry.items);
                let which = match figure {
                    ABSENT => Which::Absent,
                    PRESENT => Which::Present { items },
                    _ => Which::Half { items },
                };
                let paired = PAIRS.as_flattened().contains(&name);
                if !paired && !matches!(figure, ABSENT | PRESENT) {
                    continue;
                }
                let (nanos, found) = timed(keys, which, range.clone(), |chunk| match figure {
                    BATCH => entry.subject.run_batches(Operation::Contains, chunk),
                    _ => entry.subject.run(Operation::Contains, chunk),
                });
                push(name, figure, nanos);
                if figure == ABSENT {
                    push(name, USELESS, found as f64 / lookups as f64);
                }
                assert!(figure != PRESENT || found >= lookups, "{name} misses a key");
            }
        }
    }
    // Other keys, so that each of them is in its first partition.
    let quarter = (slots / 4).min(4 * plan.operations);
    for (figure, operation, range) in [
        ("remove", Operation::Remove, 0..quarter),
        (REPLACE, Operation::Replace, quarter..2 * quarter),
    ] {
        for entry in &entries {
            let name = entry.name;
            let (nanos, changed) = entry.run(operation, keys, Which::InOrder, range.clone());
            // Filters have no partition to replace.
            if changed > 0 {
                assert_eq!(changed, quarter, "{name} misses a key");
                push(name, figure, nanos);
            }
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let columns = PAIRS.map(|[filter, maplet]| {
        let filter = if filter == COUCAL { "filter" } else { filter };
        [format!("{filter}, ns"), format!("{maplet}, ns"), "times".into()]
    });
    let mut beside_filters = table("maplets", columns.into_iter().flatten());
    let columns = "lookup, absent, ns|lookup, present, ns|`insert`, ns|another partition, ns|bits per item|\
                   useless reads per 1,000 absent keys";
    let mut partitions = table("partitions", columns.split('|'));
    let view = results.at(results.slots_with(INSERT).pop().unwrap_or(0), 1);
    for (figure, title) in TIMES {
        let values = PAIRS.map(|[filter, maplet]| {
            let times = view.ratio((maplet, figure), (filter, figure));
            [view.median(filter, figure), view.median(maplet, figure), times]
        });
        beside_filters.row(title, values.into_iter().flatten());
    }
    for name in PARTITIONS {
        let [absent, present, insert, replace, bits, useless] =
            [ABSENT, PRESENT, INSERT, REPLACE, BITS, USELESS].map(|f| view.median(name, f));
        let useless = useless.map(|candidates| 1e3 * candidates);
        partitions.row(name, [absent, present, insert, replace, bits, useless]);
    }
    vec![beside_filters, partitions]
}

fn plots(results: &Results) -> Vec<Plot> {
    let Some(slots) = results.slots_with(INSERT).pop() else { return Vec::new() };
    let each = slots / ALL;
    let line = |name, label: &str| {
        let nanos = |partitions: u64| {
            Some((partitions as f64, results.at(each * partitions, 1).median(name, ABSENT)?))
        };
        let points = SOME.into_iter().chain([ALL]).filter_map(nanos).collect();
        Series { label: label.into(), ..Series::new(name, points) }
    };
    vec![Plot {
        file: "maplets".into(),
        title: format!("Lookups of absent keys over the partitions, {} slots in each", power(each)),
        x: ("partitions", Scale::Powers),
        y: ("ns per lookup", Scale::Log),
        series: vec![line(MAPLET, "one maplet"), line(FILTERS, "a filter for each")],
    }]
}
