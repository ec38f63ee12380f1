//! Growth: a table that grows beside one of fixed size, and beside peers that grow or are rebuilt.

use std::hint::black_box;
use std::ops::Range;

use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::peers::{
    Coucal, LockedHashSet, Quotient, Rebuilt, Scalable, coucal_growing, coucal_with_slots,
};
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::subject::{Operation, SharedSubject, Step, Subject};
use coucal_measure::text::power;

use crate::beside::{self, Lookups, PERCENTILES, Singles, percentile};
use crate::contenders::{ATOMIC, COUCAL, GROWING, HASH_SET, QUOTIENT, SCALABLE};
use crate::filters::{chunks, timed};
use crate::output::Table;
use crate::results::Results;
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic =
    Topic { name: "growth", slots: &[1 << 24, 1 << 27], rounds: 3, measure, tables, plots };

/// `COUCAL` has the greatest size from the start.
const SUBJECTS: [&str; 6] = [GROWING, COUCAL, QUOTIENT, SCALABLE, ATOMIC, HASH_SET];
/// A table of this size is in the inner caches.
const SMALL: u64 = 1 << 18;
/// Each doubling is measured in so many steps, equal in their ratio.
const STEPS: u32 = 8;
/// The places of the cursor in a level.
const CURSORS: u64 = 4;
const SCENES: [&str; 3] = ["no growth", "growth of another table", "growth of this table"];
/// Lookups by how far a table has grown.
const BY_EXTENT: [&str; 3] = ["miss by extent", "hit by extent", "half by extent"];
const SINGLE: &str = "insert";
const LONGEST: &str = "insert: longest";
const ALL: [&str; 2] = ["whole course", "whole course, insert_many"];

fn measure(plan: &Plan, results: &mut Results) {
    for round in 0..plan.rounds {
        course(plan, round, results);
    }
    by_extent(plan, results);
    while_growing(plan, results);
    singles(plan, results);
}

pub type Growing = Coucal<coucal::Growable<coucal::Fp16x4>, KeyHash>;

/// A table of so many slots, grown without an item from a size that is some doublings smaller.
pub fn grown(slots: u64) -> Growing {
    let doublings = slots.ilog2().saturating_sub(8).min(9);
    Coucal::grown((slots >> doublings) as usize, doublings, doublings + 1)
}

fn fixed(slots: u64) -> Coucal<coucal::Fp16x4, KeyHash> {
    Coucal(coucal_with_slots(slots as usize))
}

/// The items at which a table of so many slots begins to grow, or a little less.
pub fn items(slots: u64) -> u64 {
    (slots as f64 * 0.87) as u64
}

/// Inserts the items of the range; the nanoseconds of all of it, what the subject does to grow
/// included.
fn insert(subject: &mut dyn Subject, operation: Operation, keys: Keys, range: Range<u64>) -> f64 {
    let (chunks, stored) = chunks(subject, operation, keys, Which::InOrder, range.clone());
    assert_eq!(stored, range.end - range.start, "there is room");
    chunks.iter().map(|chunk| chunk.0).sum()
}

struct Entry {
    name: &'static str,
    subject: Box<dyn Subject>,
    /// Bytes that building and filling have allocated and not freed.
    bytes: usize,
    /// All inserts so far.
    nanos: f64,
}

/// From a small table to a large one: everything grows, a doubling in turn.
fn course(plan: &Plan, round: usize, results: &mut Results) {
    let slots = plan.slots[0];
    let first_slots = (slots >> 9).max(1 << 10);
    let doublings = (slots / first_slots).ilog2();
    let first = coucal_growing(first_slots as usize, doublings).capacity() as u64;
    // The items after each step.
    let after = |step: u32| (first as f64 * (f64::from(step) / f64::from(STEPS)).exp2()) as u64;
    let most = after(doublings * STEPS);
    // The share of absent keys that coucal, with fingerprints of 16 bits, finds at the end.
    let rate = 8.0 * most as f64 / first_slots as f64 / 65_536.0;
    let bits = [8, 16].into_iter().find(|bits| 8.0 / f64::from(1 << bits) <= rate).unwrap_or(32);
    let keys = Keys::new(1 + round as u64);
    let build = |name: &str| -> Box<dyn Subject> {
        let small = first_slots as usize;
        match name {
            GROWING => Box::new(Coucal(coucal_growing(small, doublings))),
            COUCAL => Box::new(fixed(slots)),
            QUOTIENT => Box::new(Quotient::resizeable(first, most, rate)),
            SCALABLE => Box::new(Scalable::with_rate(first as usize, rate)),
            ATOMIC => Box::new(Rebuilt::with_slots(small, bits, keys)),
            _ => Box::new(LockedHashSet::with_slots(small)),
        }
    };
    let entry = |name| {
        let before = allocated();
        let subject = build(name);
        Entry { name, subject, bytes: allocated() - before, nanos: 0.0 }
    };
    let names = SUBJECTS.into_iter().filter(|name| plan.includes(name));
    let mut entries: Vec<_> = names.map(entry).collect();
    for doubling in 0..=doublings {
        plan.say(&format!("round {}: growing to {} slots", round + 1, first_slots << doubling));
        // The items of the first size count as one step.
        let steps: Vec<_> = match doubling {
            0 => std::iter::once(0..first).collect(),
            _ => ((doubling - 1) * STEPS..doubling * STEPS)
                .map(|step| after(step)..after(step + 1))
                .collect(),
        };
        let (from, to) = (steps[0].start, after(doubling * STEPS));
        for entry in &mut entries {
            let before = entry.nanos;
            for range in steps.clone() {
                entry.step(plan, keys, range, results);
            }
            let per_item = (entry.nanos - before) / (to - from) as f64;
            results.push((to, 1), entry.name, "doubling", per_item);
            if ![COUCAL, HASH_SET].contains(&entry.name) {
                let range = (1 << 32)..(1 << 32) + plan.operations / 4;
                let subject = entry.subject.as_mut();
                let (_, wrong) = timed(subject, Operation::Contains, keys, Which::Absent, range);
                let rate = wrong as f64 / (plan.operations / 4) as f64;
                results.push((to, 1), entry.name, "false positives", rate);
            }
        }
    }
    for Entry { name, nanos, .. } in entries {
        results.push((slots, 1), name, ALL[0], nanos / most as f64);
    }
    for name in [GROWING, COUCAL] {
        let nanos = insert(build(name).as_mut(), Operation::InsertMany, keys, 0..most);
        results.push((slots, 1), name, ALL[1], nanos / most as f64);
    }
}

impl Entry {
    fn step(&mut self, plan: &Plan, keys: Keys, range: Range<u64>, results: &mut Results) {
        let place = (range.end, 1);
        let before = allocated();
        let nanos = insert(self.subject.as_mut(), Operation::Insert, keys, range.clone());
        self.bytes = (self.bytes + allocated()).saturating_sub(before);
        self.nanos += nanos;
        let per_item = nanos / (range.end - range.start) as f64;
        results.push(place, self.name, "growing insert", per_item);
        if self.name == COUCAL {
            return;
        }
        // coucal asks for address space, and says how much of it is in use.
        let bytes = self.subject.bytes().unwrap_or(self.bytes);
        results.push(place, self.name, "bits per item", 8.0 * bytes as f64 / range.end as f64);
        let present = Which::Present { items: range.end };
        for (figure, which) in [("miss", Which::Absent), ("hit", present)] {
            let lookups = 0..plan.operations / 32;
            let (nanos, _) =
                timed(self.subject.as_mut(), Operation::Contains, keys, which, lookups);
            results.push(place, self.name, figure, nanos);
        }
    }
}

/// Lookups in a table that has grown, each time by a quarter of a level more, and in one of fixed size
/// with as many slots and items.
fn by_extent(plan: &Plan, results: &mut Results) {
    for base in [SMALL.min(plan.slots[0] / 2), plan.slots[0]] {
        let keys = Keys::new(500);
        let mut growing = grown(base);
        let mut stored = 0;
        for cursor in 0..CURSORS {
            // By the slots that are due, so that the name of a place has no accidents.
            let slots = base + base * cursor / CURSORS;
            plan.say(&format!("{slots} slots: lookups"));
            let items = items(slots);
            insert(&mut growing, Operation::InsertMany, keys, stored..items);
            stored = items;
            let mut fixed = fixed(Subject::slots(&growing));
            insert(&mut fixed, Operation::InsertMany, keys, 0..items);
            let which = [Which::Absent, Which::Present { items }, Which::Half { items }];
            for round in 0..plan.rounds as u64 {
                for (figure, which) in BY_EXTENT.into_iter().zip(which) {
                    let pair: [(&str, &mut dyn Subject); 2] =
                        [(GROWING, &mut growing), (COUCAL, &mut fixed)];
                    for (name, table) in pair {
                        // Each comes into the cache first, if it can.
                        let warm = if slots <= 2 * SMALL { slots / 4 } else { 0 };
                        timed(table, Operation::Contains, keys, which, 0..warm);
                        let lookups = plan.operations / 4;
                        let range = (round + 1) * lookups..(round + 2) * lookups;
                        let (nanos, _) = timed(table, Operation::Contains, keys, which, range);
                        results.push((slots, 1), name, figure, nanos);
                    }
                }
            }
        }
    }
}

/// Lookups while another thread inserts, so that this table grows or another one. Only out of cache: a
/// smaller table has grown before there are enough pieces.
fn while_growing(plan: &Plan, results: &mut Results) {
    let slots = plan.slots[0];
    let items = items(slots);
    let [here, elsewhere] = [600, 601].map(Keys::new);
    for round in 0..plan.rounds as u64 {
        plan.say(&format!("{slots} slots, round {}: lookups while it grows", round + 1));
        // New tables each time, so that the growth is the same.
        let (mut growing, mut other, mut fixed) = (grown(slots), grown(slots), fixed(slots));
        let tables: [(&mut dyn Subject, _); 3] =
            [(&mut growing, here), (&mut other, elsewhere), (&mut fixed, here)];
        for (table, keys) in tables {
            insert(table, Operation::InsertMany, keys, 0..items);
        }
        let range = round * plan.operations..(round + 1) * plan.operations;
        let lookups = here.collect(Which::Half { items }, range);
        let of = |name, table| Lookups { place: (slots, 2), name, table, keys: &lookups };
        let mut grow_other = grow(&other, elsewhere, items);
        for (name, table) in
            [(COUCAL, &fixed as &dyn SharedSubject), (GROWING, &growing as &dyn SharedSubject)]
        {
            of(name, table).measure(plan, SCENES[0], None, results);
            of(name, table).measure(plan, SCENES[1], Some(&mut grow_other), results);
        }
        let mut grow_here = grow(&growing, here, items);
        of(GROWING, &growing).measure(plan, SCENES[2], Some(&mut grow_here), results);
    }
}

/// Inserts the keys from this index on, some at a time.
fn grow(table: &Growing, keys: Keys, mut next: u64) -> impl FnMut() -> u64 + Send {
    move || {
        let new = keys.collect(Which::InOrder, next..next + 64);
        let stored = SharedSubject::insert(table, &new);
        next += stored;
        stored
    }
}

/// The times of single inserts: in the last doubling of a table that grows, and in the whole fill of one
/// of fixed size.
fn singles(plan: &Plan, results: &mut Results) {
    let slots = *plan.slots.last().expect("there is a size");
    let keys = Keys::new(800);
    plan.say(&format!("{slots} slots: single inserts"));
    // The first time that a page is written, a virtual machine may have to ask its host for it, which
    // takes as long as thousands of inserts.
    black_box(vec![1_u8; slots as usize * size_of::<u16>()]);
    let mut growing = grown(slots / 2);
    insert(&mut growing, Operation::InsertMany, keys, 0..items(slots / 2));
    single_inserts((GROWING, &growing), keys, slots, items(slots / 2), results);
    drop(growing);
    single_inserts((COUCAL, &fixed(slots)), keys, slots, 0, results);
}

fn single_inserts(
    (name, table): (&str, &dyn SharedSubject),
    keys: Keys,
    slots: u64,
    from: u64,
    results: &mut Results,
) {
    let mut singles = Singles::of_this_thread();
    for start in (from..items(slots)).step_by(CHUNK) {
        let range = start..items(slots).min(start + CHUNK as u64);
        let steps: Vec<_> = range.map(|index| Step::Insert(keys.key(index))).collect();
        singles.begin();
        table.run_timed(&steps, &mut |_, stored, nanos| {
            assert!(stored, "there is room");
            let own = singles.took(nanos);
            singles.histogram.saturating_record(own);
        });
    }
    singles.push_percentiles((slots, 1), name, SINGLE, results);
    results.push((slots, 1), name, LONGEST, singles.histogram.max() as f64);
}

/// The medians of a figure at all numbers of items.
fn medians(results: &Results, name: &str, figure: &str) -> Vec<(u64, f64)> {
    let at = |items: u64| Some((items, results.at(items, 1).median(name, figure)?));
    results.slots_with(figure).into_iter().filter_map(at).collect()
}

fn tables(results: &Results) -> Vec<Table> {
    let mut course = Table::new(
        "growth-course",
        [
            "ns per insert",
            "in the slowest doubling",
            "by `insert_many`",
            "ns per lookup at the end, absent",
            "present",
            "bits per item, average",
            "at the end",
            "false positives at the end, %",
        ],
    );
    for name in SUBJECTS {
        let values = |figure| medians(results, name, figure).into_iter().map(|median| median.1);
        let last = |figure| values(figure).next_back();
        let bits: Vec<_> = values("bits per item").collect();
        let mean = bits.iter().sum::<f64>() / bits.len() as f64;
        course.row(
            name,
            [
                last(ALL[0]),
                // Without the first size, which is filled from empty.
                values("doubling").skip(1).reduce(f64::max),
                last(ALL[1]),
                last("miss"),
                last("hit"),
                Some(mean).filter(|mean| mean.is_finite()),
                last("bits per item"),
                last("false positives").map(|rate| 100.0 * rate),
            ],
        );
    }
    let columns = ["growing, ns", "fixed, ns", "ratio, half present", "absent", "present"];
    let mut lookups = Table::new("growth-lookups", columns);
    for slots in results.slots_with(BY_EXTENT[2]) {
        let base = 1 << slots.ilog2();
        let view = results.at(slots, 1);
        let [miss, hit, half] =
            BY_EXTENT.map(|figure| view.ratio((GROWING, figure), (COUCAL, figure)));
        let nanos = [GROWING, COUCAL].map(|name| view.median(name, BY_EXTENT[2]));
        let label = format!("{} slots and {} %", power(base), 100 * (slots - base) / base);
        lookups.row(&label, nanos.into_iter().chain([half, miss, hit]));
    }
    let mut beside = Table::new("growth-beside", beside::COLUMNS);
    for slots in results.slots_with(&percentile(SCENES[0], 50.0)) {
        for (name, scene) in [COUCAL, GROWING].into_iter().flat_map(|n| SCENES.map(|s| (n, s))) {
            let label = format!("{name}, {scene}");
            beside.row(&label, beside::values(results.at(slots, 2), name, scene));
        }
    }
    let columns = ["50 %, ns", "99 %, ns", "99.9 %, ns", "longest, µs"];
    let mut singles = Table::new("growth-singles", columns);
    for slots in results.slots_with(LONGEST) {
        for (name, what) in [(GROWING, "last doubling"), (COUCAL, "whole fill")] {
            let view = results.at(slots, 1);
            let percentiles = PERCENTILES.map(|p| view.median(name, &percentile(SINGLE, p)));
            let longest = view.median(name, LONGEST).map(|nanos| nanos / 1e3);
            let label = format!("{name}, {} slots, {what}", power(slots));
            singles.row(&label, percentiles.into_iter().chain([longest]));
        }
    }
    vec![course, lookups, beside, singles]
}

fn plots(results: &Results) -> Vec<Plot> {
    let plot = |(file, what, unit, figure, factor): (&str, &str, &str, &str, f64)| {
        let line = |name| {
            let medians = medians(results, name, figure);
            // Zero has no place on these axes.
            let points = medians.into_iter().filter(|point| point.1 > 0.0);
            let points = points.map(|(items, value)| (items as f64, factor * value));
            let line = Series::new(name, points.collect());
            if name == COUCAL { line.label("coucal, fixed").dashed() } else { line }
        };
        Plot {
            file: format!("growth-{file}"),
            title: format!("{what} over the items, growing"),
            x: Axis::new("items", Scale::Log),
            y: Axis::new(unit, Scale::Log),
            series: SUBJECTS.map(line).into(),
        }
    };
    let plots = [
        ("bits-per-item", "Memory", "bits per item", "bits per item", 1.0),
        ("false-positives", "False positives", "false positives, %", "false positives", 100.0),
        ("inserts", "Time of an insert", "ns per insert", "growing insert", 1.0),
        ("lookups", "Time of a lookup of an absent key", "ns per lookup", "miss", 1.0),
    ];
    plots.map(plot).into()
}
