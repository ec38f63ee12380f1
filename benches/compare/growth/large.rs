//! What growth costs one operation: lookups by how far a table has grown, and meanwhile; two threads;
//! the longest insert.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::peers::{Coucal, coucal_growing, coucal_with_slots};
use coucal_measure::subject::{Operation, SharedSubject, Subject};
use coucal_measure::timing::{Switches, median, million_ops, together};

use hdrhistogram::Histogram;

use super::course::Course;
use super::{FIXED, GROWING, Plan};
use crate::concurrent::{Writer, beside, clock_overhead, histogram, part, timed as timed_lookups};
use crate::results::Results;
use crate::single::{chunks, timed};

/// A table of this size is in the inner caches.
const SMALL: u64 = 1 << 18;
/// Doublings before the table has the size for which it is measured.
const GROWN: u32 = 9;
/// The places of the cursor in a level.
pub const CURSORS: u64 = 8;

pub const LOOKUPS: [&str; 3] = ["miss", "hit", "half"];
pub const SCENES: [&str; 3] = ["no growth", "growth of another table", "growth of this table"];
pub const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

pub fn extent_figure(operation: &str) -> String {
    format!("{operation} by extent")
}

/// The name of a percentile of lookups in a scene; without one, of the time in a loop.
pub fn scene_figure(scene: &str, percentile: Option<f64>) -> String {
    percentile.map_or_else(|| scene.into(), |percentile| format!("{scene} {percentile}"))
}

/// The sizes for lookups: in the inner caches, and out of them.
fn sizes(plan: &Plan) -> [u64; 2] {
    [SMALL.min(plan.slots / 2), plan.slots]
}

type Growing = Coucal<coucal::Growable<coucal::Fp16x4>, KeyHash>;

/// A table of so many slots, grown without an item from a size that many doublings smaller.
fn grown(slots: u64) -> Growing {
    Coucal::grown((slots >> GROWN) as usize, GROWN, GROWN + 1)
}

fn fixed(slots: u64) -> Coucal<coucal::Fp16x4, KeyHash> {
    Coucal(coucal_with_slots(slots as usize))
}

/// The items at which a table of so many slots begins to grow, or a little less.
fn items(slots: u64) -> u64 {
    (slots as f64 * 0.87) as u64
}

/// Inserts the items up to this number, of which there are some.
fn fill_to(subject: &mut dyn Subject, keys: Keys, from: u64, to: u64) {
    let (_, stored) = chunks(subject, Operation::InsertMany, keys, Which::InOrder, from..to);
    assert_eq!(stored, to - from, "there is room");
}

/// Lookups in a table that has grown, each time by an eighth of a level more, and in one of fixed
/// size with as many slots and items.
pub fn by_extent(plan: &Plan, results: &mut Results) {
    for base in sizes(plan) {
        let keys = Keys::new(500);
        let mut growing = grown(base);
        let mut stored = 0;
        for cursor in 0..CURSORS {
            let items = items(base + base * cursor / CURSORS);
            fill_to(&mut growing, keys, stored, items);
            stored = items;
            plan.progress.say(&format!("{} slots: lookups", Subject::slots(&growing)));
            let mut fixed = fixed(Subject::slots(&growing));
            fill_to(&mut fixed, keys, 0, items);
            // By the slots that are due, so that the name of a place has no accidents.
            let place = (base + base * cursor / CURSORS, 1);
            let pair = &mut [(GROWING, &mut growing as &mut dyn Subject), (FIXED, &mut fixed)];
            lookups(plan, keys, place, pair, items, results);
        }
    }
}

/// Lookups in some tables, in turn. Each comes into the cache first, if it can.
fn lookups(
    plan: &Plan,
    keys: Keys,
    place: (u64, usize),
    tables: &mut [(&str, &mut dyn Subject)],
    items: u64,
    results: &mut Results,
) {
    let which = [Which::Absent, Which::Present { items }, Which::Half { items }];
    for round in 0..plan.runs as u64 {
        for (operation, which) in LOOKUPS.into_iter().zip(which) {
            for (name, table) in &mut *tables {
                if place.0 <= 2 * SMALL {
                    timed(*table, Operation::Contains, keys, which, 0..place.0 / 4);
                }
                let range = (round + 1) * plan.lookups..(round + 2) * plan.lookups;
                let (nanos, _) = timed(*table, Operation::Contains, keys, which, range);
                results.push(place, name, &extent_figure(operation), nanos);
            }
        }
    }
}

/// Lookups while another thread inserts, so that this table grows or another one.
pub fn while_growing(plan: &Plan, results: &mut Results) {
    for slots in sizes(plan) {
        plan.progress.say(&format!("{slots} slots: lookups while it grows"));
        let items = items(slots);
        let [here, elsewhere] = [600, 601].map(Keys::new);
        for round in 0..plan.runs as u64 {
            // New tables each time, so that the growth is the same.
            let mut growing = grown(slots);
            let mut other = grown(slots);
            let mut fixed = fixed(slots);
            fill_to(&mut growing, here, 0, items);
            fill_to(&mut other, elsewhere, 0, items);
            fill_to(&mut fixed, here, 0, items);
            let range = round * plan.lookups..(round + 1) * plan.lookups;
            let lookups = here.collect(Which::Half { items }, range);
            let (growing, fixed): (&dyn SharedSubject, &dyn SharedSubject) = (&growing, &fixed);
            // What each writer has stored already.
            let next = [AtomicU64::new(items), AtomicU64::new(items)];
            let mut scene = |name: &str, table: &dyn SharedSubject, scene: &str| {
                let writer = || -> Option<Writer<'_>> {
                    let (table, keys, next): (&dyn SharedSubject, _, _) = match scene {
                        "growth of another table" => (&other, elsewhere, &next[1]),
                        "growth of this table" => (table, here, &next[0]),
                        _ => return None,
                    };
                    Some(Box::new(move |stop: &AtomicBool| {
                        let stored = table.insert_until(keys, next.load(Ordering::Relaxed), stop);
                        next.fetch_add(stored, Ordering::Relaxed);
                        stored
                    }))
                };
                let (nanos, _) = beside(writer(), || in_a_loop(table, &lookups));
                let (histogram, inserts) = beside(writer(), || timed_lookups(table, &lookups));
                let overhead = clock_overhead();
                let mut push = |figure: &str, value: f64| {
                    results.push((slots, 2), name, figure, value);
                };
                push(&scene_figure(scene, None), nanos);
                for percentile in PERCENTILES {
                    let value = histogram.value_at_percentile(percentile).saturating_sub(overhead);
                    push(&scene_figure(scene, Some(percentile)), value as f64);
                }
                push(&format!("{scene}: inserts Mops/s"), inserts / 1e6);
            };
            scene(FIXED, fixed, SCENES[0]);
            scene(GROWING, growing, SCENES[0]);
            scene(FIXED, fixed, SCENES[1]);
            scene(GROWING, growing, SCENES[1]);
            scene(GROWING, growing, SCENES[2]);
        }
    }
}

/// Nanoseconds of a lookup, the median of the chunks.
fn in_a_loop(table: &dyn SharedSubject, lookups: &[u64]) -> f64 {
    let one = |chunk: &[u64]| {
        let started = Instant::now();
        black_box(table.look(chunk));
        started.elapsed().as_nanos() as f64 / chunk.len() as f64
    };
    let nanos: Vec<_> = lookups.chunks(CHUNK).map(one).collect();
    median(&nanos).unwrap_or(f64::NAN)
}

/// One thread that makes a table grow, and two.
pub fn two_threads(plan: &Plan, results: &mut Results) {
    // A quarter of the greatest size, which takes a quarter of the time.
    let slots = plan.slots / 4;
    let doublings = (slots / plan.first).ilog2();
    for round in 0..plan.runs {
        plan.progress.say(&format!("{slots} slots, round {}: threads that grow it", round + 1));
        let keys = Keys::new(700 + round as u64).collect(Which::InOrder, 0..items(slots));
        for threads in [1, 2] {
            let table = Coucal(coucal_growing(plan.first as usize, doublings));
            let work = |thread| {
                let keys = part(&keys, thread, threads);
                assert_eq!(SharedSubject::insert(&table, keys), keys.len() as u64, "it grows");
            };
            let (elapsed, _) = together((0..threads).collect(), work);
            let rate = million_ops(keys.len(), elapsed);
            results.push((slots, threads), GROWING, "growing Mops/s", rate);
        }
    }
}

/// From here on an insert is asked for whether its thread was switched meanwhile.
const LONG_NANOS: u64 = 10_000;
/// An insert is to take no longer.
const TOO_LONG_NANOS: u64 = 100_000;
/// How often the same inserts are made.
const PASSES: usize = 2;

/// The times of single inserts.
struct Singles {
    histogram: Histogram<u64>,
    /// The nanoseconds of the long ones: `u64::MAX` if the thread was switched meanwhile. Those are
    /// not in the histogram.
    long: BTreeMap<u64, u64>,
    longest: u64,
}

impl Singles {
    fn of(table: &mut dyn Subject, keys: Keys, range: Range<u64>) -> Self {
        let mut singles = Self { histogram: histogram(), long: BTreeMap::new(), longest: 0 };
        let mut switches = Switches::of_this_thread();
        for from in range.clone().step_by(CHUNK) {
            let chunk = keys.collect(Which::InOrder, from..range.end.min(from + CHUNK as u64));
            // What happened between two chunks concerns no insert.
            switches.any_since();
            let mut index = from;
            let mut took = |nanos| {
                let switched = nanos >= LONG_NANOS && switches.any_since();
                if nanos >= LONG_NANOS {
                    singles.long.insert(index, if switched { u64::MAX } else { nanos });
                }
                if !switched {
                    singles.histogram.saturating_record(nanos);
                }
                singles.longest = singles.longest.max(nanos);
                index += 1;
            };
            let stored = table.insert_timed(&chunk, &mut took);
            assert_eq!(stored, chunk.len() as u64, "there is room");
        }
        singles
    }

    /// Of the same inserts, made once more: each is as long as the shorter of its times.
    fn or_shorter(mut self, other: &Self) -> Self {
        self.long.retain(|index, nanos| {
            other.long.get(index).inspect(|other| *nanos = (*nanos).min(**other)).is_some()
        });
        self
    }

    /// Long inserts during which the thread was not switched.
    fn known(&self) -> impl Iterator<Item = u64> {
        self.long.values().copied().filter(|nanos| *nanos < u64::MAX)
    }

    fn record(&self, place: (u64, usize), name: &str, results: &mut Results) {
        let mut push = |figure: &str, value: f64| results.push(place, name, figure, value);
        let overhead = clock_overhead();
        for percentile in PERCENTILES {
            let value = self.histogram.value_at_percentile(percentile).saturating_sub(overhead);
            push(&scene_figure("insert", Some(percentile)), value as f64);
        }
        let usual = self.histogram.max().min(LONG_NANOS);
        push("longest insert", self.known().max().unwrap_or(usual) as f64);
        push("longest insert, switches too", self.longest as f64);
        let too_long = self.known().filter(|nanos| *nanos > TOO_LONG_NANOS).count();
        push("inserts over 100 us", too_long as f64);
    }
}

/// Writes to some memory and gives it back: the first time that a page is written, a virtual machine
/// may have to ask its host for it, which takes as long as thousands of inserts.
fn touch(bytes: usize) {
    black_box(vec![1_u8; bytes]);
}

/// The longest insert of each step on the way to the greatest size of the comparison; and in the last
/// doubling of a larger table, beside those of a whole fill of a table of fixed size.
pub fn longest(plan: &Plan, results: &mut Results) {
    let keys = Keys::new(800);
    let course = Course::new(plan);
    let pass = |pass: usize| {
        plan.progress.say(&format!("{} slots, pass {}: the longest insert", plan.slots, pass + 1));
        let mut table = Coucal(coucal_growing(plan.first as usize, course.doublings));
        fill_to(&mut table, keys, 0, course.first);
        let step = |range| Singles::of(&mut table, keys, range);
        course.steps().map(step).collect::<Vec<_>>()
    };
    let mut passes = (0..PASSES).map(pass);
    let first = passes.next().expect("there are some");
    let shortest = passes.fold(first, |shortest, other| {
        shortest.into_iter().zip(&other).map(|(one, other)| one.or_shorter(other)).collect()
    });
    for (range, singles) in course.steps().zip(shortest) {
        singles.record((range.end, 1), GROWING, results);
    }

    let slots = plan.largest;
    let mut grown = None;
    let mut pass = |pass: usize| {
        let pass = pass + 1;
        plan.progress.say(&format!("{slots} slots, growing, pass {pass}: the longest insert"));
        // The memory of the last table is free before there is another one.
        grown = None;
        touch(slots as usize * size_of::<u16>());
        let mut growing = Coucal::grown((slots >> GROWN) as usize, GROWN - 1, GROWN);
        fill_to(&mut growing, keys, 0, items(slots / 2));
        let singles = Singles::of(&mut growing, keys, items(slots / 2)..items(slots));
        grown = Some(growing);
        singles
    };
    let first = pass(0);
    (1..PASSES).map(&mut pass).fold(first, |first, other| first.or_shorter(&other)).record(
        (slots, 1),
        GROWING,
        results,
    );
    let mut growing = grown.expect("there was a pass");
    plan.progress.say(&format!("{slots} slots, fixed: the longest insert"));
    let mut fixed = fixed(slots);
    Singles::of(&mut fixed, keys, 0..items(slots)).record((slots, 1), FIXED, results);
    if slots > plan.slots {
        let pair = &mut [(GROWING, &mut growing as &mut dyn Subject), (FIXED, &mut fixed)];
        lookups(plan, keys, (slots, 1), pair, items(slots), results);
    }
}
