//! Growth: a growing table beside one of fixed size, and beside growing peers.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Instant;

use coucal::{Fp16x4, GrowableCuckooFilter};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::plot::{Plot, Scale, Series};
use coucal_benches::text::{Table, power};
use qfilter::Filter;
use scalable_cuckoo_filter::ScalableCuckooFilterBuilder;

use crate::beside::{self, Lookups, Singles, percentile};
use crate::filters::{Entry, timed};
use crate::hash::{KeyHash, KeyHasher};
use crate::output::table;
use crate::peers::{
    COUCAL, GROWING, GROWING_MANY, HASH_SET, QUOTIENT, SCALABLE, Scalable, build, coucal_growing,
    growing_capacity, shared,
};
use crate::results::Results;
use crate::subject::{Exclusive, Operation, Shared, Subject};
use crate::{Plan, Topic};

pub const TOPIC: Topic =
    Topic { name: "growth", slots: &[1 << 27], subjects: all_subjects, measure, tables, plots };

/// `COUCAL` has the maximum size from the start.
const SUBJECTS: [&str; 6] = [GROWING, GROWING_MANY, COUCAL, QUOTIENT, SCALABLE, HASH_SET];
/// `GROWING` with other target loads than its own, up to an eighth of the size: only the CSV has these figures.
const TARGET_LOADS: [(&str, f64); 4] = [
    ("target load 0.87", 0.87),
    ("target load 0.80", 0.80),
    ("target load 0.75", 0.75),
    ("target load 0.70", 0.70),
];
/// A table of this size is in the inner caches.
const SMALL: u64 = 1 << 18;
/// The number of times that memory and lookups are measured in each doubling, at equal ratios.
const STEPS: u32 = 8;
/// The number of places of the cursor in a level.
const CURSORS: u64 = 2;
const SCENES: [&str; 2] = ["no growth", "growth of this table"];
/// Lookups, by how far a table has grown.
const BY_EXTENT: &str = "half by extent";
/// Inserts in one doubling, and in all; and the longest of all chunks, in ms.
const DOUBLING: &str = "doubling";
const COURSE: &str = "whole course";
const LONGEST: &str = "longest chunk";
const BITS: &str = "bits per item";
const RATE: &str = "false positives";
const STATED: &str = "false positives, stated";

/// Returns all subjects, and target loads, that can be measured alone.
fn all_subjects() -> Vec<&'static str> {
    SUBJECTS.into_iter().chain(TARGET_LOADS.map(|load| load.0)).collect()
}

fn measure(plan: &Plan, results: &mut Results) {
    let slots = plan.last_slots();
    for round in 0..plan.rounds(slots) {
        course(plan, &SUBJECTS, slots, round, results);
        course(plan, &TARGET_LOADS.map(|load| load.0), slots / 8, round, results);
    }
    for base in [SMALL.min(slots / 2), slots] {
        for round in 0..plan.rounds(base) {
            by_extent(plan, base, round, results);
        }
    }
}

/// Makes an empty filter that becomes one of this number of slots, and grows on to twice as many.
pub fn growing(slots: u64) -> GrowableCuckooFilter<Fp16x4, KeyHash> {
    let first = slots >> slots.ilog2().saturating_sub(8).min(8);
    coucal_growing(items(first) as usize, items(2 * slots) as usize, None)
}

/// Returns the number of items of a growing table when it has this number of slots.
pub fn items(slots: u64) -> u64 {
    growing_capacity(slots as usize) as u64
}

/// Inserts the items of the range. Returns the nanoseconds of all of it and of the longest chunk. They include what the
/// subject does to grow, but not the time that the thread waited for a processor.
fn insert(subject: &dyn Subject, many: bool, keys: Keys, range: Range<u64>) -> (u64, u64) {
    let (mut singles, mut nanos, mut longest) = (Singles::of_this_thread(), 0, 0);
    for from in range.clone().step_by(CHUNK) {
        let chunk = keys.collect(Which::InOrder, from..range.end.min(from + CHUNK as u64));
        singles.begin();
        let started = Instant::now();
        let stored = if many {
            subject.run_batches(Operation::Insert, &chunk)
        } else {
            subject.run(Operation::Insert, &chunk)
        };
        let own = singles.took(started.elapsed().as_nanos() as u64);
        (nanos, longest) = (nanos + own, longest.max(own));
        assert_eq!(stored, chunk.len() as u64, "there is room");
    }
    (nanos, longest)
}

/// The course of an entry.
struct Course {
    entry: Entry,
    /// The nanoseconds of all inserts so far, and of the longest chunk of them.
    nanos: u64,
    longest: u64,
}

/// Measures from a small table to a large one: all subjects grow by one doubling in turn.
fn course(plan: &Plan, names: &[&'static str], slots: u64, round: usize, results: &mut Results) {
    let first_slots = (slots >> 9).max(1 << 10).min(slots / 2) as usize;
    let doublings = (slots as usize / first_slots).ilog2();
    // All have the rate that this one has with its maximum number of items.
    let [first, most] = [first_slots, slots as usize].map(growing_capacity);
    let growing = coucal_growing(first, most, None);
    let rate = growing.false_positive_rate_at(most);
    // The number of items after each step.
    let after = |step: u32| {
        let share = f64::from(step) / f64::from(doublings * STEPS);
        (first as f64 * (most as f64 / first as f64).powf(share)).round() as u64
    };
    let keys = Keys::new(1 + round as u64);
    let build = |name: &str| -> Box<dyn Subject> {
        match name {
            COUCAL => build(name, slots as usize),
            QUOTIENT => {
                let (first, most, hasher) = (first as u64, most as u64, KeyHash::default());
                let filter = Filter::new_resizeable_with_hasher(first, most, rate, hasher);
                let filter = filter.expect("the size is within its limits");
                Box::new(Exclusive(RefCell::new(filter), first_slots))
            }
            SCALABLE => {
                let builder = ScalableCuckooFilterBuilder::new().initial_capacity(first);
                let filter: Scalable =
                    builder.false_positive_probability(rate).hasher(KeyHasher::default()).finish();
                Box::new(Exclusive(RefCell::new(filter), first_slots))
            }
            HASH_SET => build(name, first_slots),
            _ => {
                let load = TARGET_LOADS.iter().find(|load| load.0 == name).map(|load| load.1);
                Box::new(Shared(coucal_growing(first, most, load), first_slots))
            }
        }
    };
    let course = |name| Course { entry: Entry::new(name, || build(name)), nanos: 0, longest: 0 };
    let names = names.iter().copied().filter(|name| plan.includes(name));
    let mut courses: Vec<_> = names.map(course).collect();
    for doubling in 0..=doublings {
        plan.say(&format!("round {}: growing to {} slots", round + 1, first_slots << doubling));
        // The items of the first size count as one step.
        let steps: Vec<_> = match doubling {
            0 => std::iter::once(0..after(0)).collect(),
            _ => ((doubling - 1) * STEPS..doubling * STEPS)
                .map(|step| after(step)..after(step + 1))
                .collect(),
        };
        let (from, to) = (steps[0].start, after(doubling * STEPS));
        for course in &mut courses {
            let before = course.nanos;
            for range in steps.clone() {
                course.step(plan, keys, range, results);
            }
            let (name, per_item) =
                (course.entry.name, (course.nanos - before) as f64 / (to - from) as f64);
            results.push((to, 1), name, DOUBLING, per_item);
            if name == GROWING {
                let stated = growing.false_positive_rate_at(to as usize);
                results.push((to, 1), GROWING, STATED, stated);
            }
            if ![GROWING_MANY, COUCAL, HASH_SET].contains(&name) {
                let range = (1 << 32)..(1 << 32) + plan.operations;
                let (_, wrong) = course.entry.run(Operation::Contains, keys, Which::Absent, range);
                results.push((to, 1), name, RATE, wrong as f64 / plan.operations as f64);
            }
        }
    }
    for Course { entry, nanos, longest } in courses {
        results.push((slots, 1), entry.name, COURSE, nanos as f64 / most as f64);
        results.push((slots, 1), entry.name, LONGEST, longest as f64 / 1e6);
    }
}

impl Course {
    fn step(&mut self, plan: &Plan, keys: Keys, range: Range<u64>, results: &mut Results) {
        let (place, entry) = ((range.end, 1), &mut self.entry);
        let name = entry.name;
        let many = name == GROWING_MANY;
        let inserts = |subject: &dyn Subject| insert(subject, many, keys, range.clone());
        let (nanos, longest) = entry.counted(inserts);
        (entry.items, self.nanos) = (range.end, self.nanos + nanos);
        self.longest = self.longest.max(longest);
        if many {
            return;
        }
        if name != COUCAL {
            results.push(place, name, BITS, entry.bits_per_item());
        }
        let present = Which::Present { items: range.end };
        for (figure, which) in [("miss", Which::Absent), ("hit", present)] {
            let lookups = 0..plan.operations / 32;
            results.push(
                place,
                name,
                figure,
                entry.run(Operation::Contains, keys, which, lookups).0,
            );
        }
    }
}

/// Measures lookups in a table that has grown, by a further part of a level each time, and in one of fixed size with as
/// many slots and items. Also beside another thread that makes the table grow: only out of cache, since a smaller table
/// has grown before there are enough pieces.
fn by_extent(plan: &Plan, base: u64, round: usize, results: &mut Results) {
    if ![GROWING, COUCAL].iter().any(|name| plan.includes(name)) {
        return;
    }
    let keys = Keys::new(500 + round as u64);
    let growing = Shared(growing(base), base as usize);
    let mut stored = 0;
    for cursor in 0..CURSORS {
        // Named by the planned number of slots, which is always the same.
        let slots = base + base * cursor / CURSORS;
        plan.say(&format!("{slots} slots, round {}: lookups", round + 1));
        let items = items(slots);
        insert(&growing, true, keys, stored..items);
        stored = items;
        let fixed = shared(COUCAL, growing.0.slots());
        insert(&*fixed, true, keys, 0..items);
        let which = Which::Half { items };
        let pair: [(&str, &(dyn Subject + Sync)); 2] = [(GROWING, &growing), (COUCAL, &*fixed)];
        for (name, table) in pair.into_iter().filter(|(name, _)| plan.includes(name)) {
            // Each table comes into the cache first, if it can.
            let warm = if slots <= 2 * SMALL { slots / 4 } else { 0 };
            let lookups =
                |range| timed(keys, which, range, |chunk| table.run(Operation::Contains, chunk));
            lookups(0..warm);
            let (nanos, _) = lookups(plan.operations..2 * plan.operations);
            results.push((slots, 1), name, BY_EXTENT, nanos);
        }
        if base == plan.last_slots() && cursor == CURSORS - 1 {
            let lookups = keys.collect(which, 0..plan.operations);
            let of = |name, table| Lookups { place: (slots, 2), name, table, keys: &lookups };
            if plan.includes(COUCAL) {
                of(COUCAL, &*fixed).measure(plan, SCENES[0], None, results);
            }
            if !plan.includes(GROWING) {
                continue;
            }
            of(GROWING, &growing).measure(plan, SCENES[0], None, results);
            let mut grow = || {
                let new = keys.collect(Which::InOrder, stored..stored + 64);
                let inserted = growing.run(Operation::Insert, &new);
                stored += inserted;
                inserted
            };
            of(GROWING, &growing).measure(plan, SCENES[1], Some(&mut grow), results);
        }
    }
}

/// Returns the medians of a figure at all numbers of items.
fn medians(results: &Results, name: &str, figure: &str) -> Vec<(u64, f64)> {
    let at = |items: u64| Some((items, results.at(items, 1).median(name, figure)?));
    results.slots_with(figure).into_iter().filter_map(at).collect()
}

/// Makes the table of each subject with its times, memory and rate.
fn course_table(results: &Results) -> Table {
    let columns = "ns per insert|in the slowest doubling|longest 4,096 inserts, ms|lookup at the end, absent, ns|\
                   present, ns|bits per item, average|at the end|false positives at the end, %|stated, %";
    let mut course = table("growth", columns.split('|'));
    for name in SUBJECTS {
        let values = |figure| medians(results, name, figure).into_iter().map(|median| median.1);
        let last = |figure| values(figure).next_back();
        let bits: Vec<_> = values(BITS).collect();
        let mean = bits.iter().sum::<f64>() / bits.len() as f64;
        let percent = |figure| last(figure).map(|rate| 100.0 * rate);
        // Without the first size, which is filled from empty.
        let slowest = values(DOUBLING).skip(1).reduce(f64::max);
        let mean = Some(mean).filter(|mean| mean.is_finite());
        let bits = [mean, last(BITS), percent(RATE), percent(STATED)];
        let times = [last(COURSE), slowest, last(LONGEST), last("miss"), last("hit")];
        course.row(name, times.into_iter().chain(bits));
    }
    course
}

fn tables(results: &Results) -> Vec<Table> {
    let mut lookups = table("growth-lookups", ["growing, ns", "fixed, ns", "ratio"]);
    for slots in results.slots_with(BY_EXTENT) {
        let base = 1 << slots.ilog2();
        let view = results.at(slots, 1);
        let [growing, fixed] = [GROWING, COUCAL].map(|name| view.median(name, BY_EXTENT));
        let ratio = view.ratio((GROWING, BY_EXTENT), (COUCAL, BY_EXTENT));
        let label = format!("{} slots and {} %", power(base), 100 * (slots - base) / base);
        lookups.row(&label, [growing, fixed, ratio]);
    }
    let mut beside = table("growth-beside", beside::COLUMNS);
    for slots in results.slots_with(&percentile(SCENES[0], 50.0)) {
        for (name, scene) in [COUCAL, GROWING].into_iter().flat_map(|n| SCENES.map(|s| (n, s))) {
            let label = format!("{name}, {scene}");
            beside.row(&label, beside::values(results.at(slots, 2), name, scene));
        }
    }
    vec![course_table(results), lookups, beside]
}

fn plots(results: &Results) -> Vec<Plot> {
    let points = |name| {
        let medians = medians(results, name, BITS).into_iter();
        medians.map(|(items, bits)| (items as f64, bits)).collect()
    };
    vec![Plot {
        file: "growth".into(),
        title: "Memory over the items, growing".into(),
        x: ("items", Scale::Log),
        y: ("bits per item", Scale::Log),
        series: [GROWING, QUOTIENT, SCALABLE, HASH_SET]
            .map(|name| Series::new(name, points(name)))
            .into(),
    }]
}
