//! Snapshots: how much they slow down writers and lookups, and the time of a snapshot and of its bytes.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal::Storage;
use coucal_benches::keys::Keys;
use coucal_benches::text::{Table, power};

use crate::beside::{Singles, both, percentile};
use crate::growth;
use crate::hash::KeyHash;
use crate::output::table;
use crate::peers::{COUCAL, GROWING, coucal_with_slots};
use crate::results::{Results, median};
use crate::subject::{Shared, Step, Subject as _, Window, Work, fill};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "snapshots",
    slots: &[1 << 18, 1 << 27],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

const TABLES: [&str; 2] = [COUCAL, GROWING];
/// The scenes of a writer.
const SCENES: [&str; 2] = ["no snapshots", "snapshots of this table"];
/// The longest insert between the ends of two snapshots.
const PAUSE: &str = "longest insert of a snapshot";
const INSERTS: &str = "inserts Mops/s";
/// In milliseconds: work on the bytes of a table, and a copy of as many bytes by the machine. A large copy gets new
/// pages from the system; a small one gets memory of the allocator that was in use before.
const TIMES: [&str; 3] = ["snapshot", "restore from bytes", "memory copy"];

fn figure(scene: &str, figure: &str) -> String {
    format!("{scene}: {figure}")
}

/// Returns the name of the scene of single inserts.
fn inserts_in(scene: &str) -> String {
    format!("{scene}: insert")
}

/// A table, and its items.
struct Filled<L: Storage> {
    name: &'static str,
    slots: u64,
    items: u64,
    table: Shared<coucal::Filter<L, KeyHash>>,
}

/// A round takes less than a second, whatever the size.
const ROUNDS: usize = 5;
const KEYS: u64 = 900;

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        let table = Shared(coucal_with_slots(slots as usize), slots as usize);
        Filled { name: COUCAL, slots, items: slots * 94 / 100, table }.measure(plan, results);
        let table = Shared(growth::growing(slots), slots as usize);
        Filled { name: GROWING, slots, items: growth::items(slots), table }.measure(plan, results);
    }
}

impl<L: Storage> Filled<L> {
    fn measure(self, plan: &Plan, results: &mut Results) {
        plan.say(&format!("{}, {} slots", self.name, self.slots));
        assert_eq!(fill(&self.table, Keys::new(KEYS), self.items), self.items);
        self.times(results);
        // Last: afterwards the table holds other items.
        self.inserts(plan, results);
    }

    /// Measures the time of a snapshot, and of its bytes, beside a copy of as many bytes by the machine.
    fn times(&self, results: &mut Results) {
        let filter = &self.table.0;
        let snapshot = filter.snapshot().expect("memory for a snapshot");
        let bytes = snapshot.as_bytes();
        // Small tables more often, so that the time of the clock does not matter.
        for _ in 0..ROUNDS * if self.slots <= 1 << 20 { 20 } else { 1 } {
            let millis = [
                timed(|| filter.snapshot().expect("memory for a snapshot")),
                timed(|| {
                    let restored = coucal::Filter::<L, _>::from_bytes(bytes, KeyHash::default());
                    restored.expect("a good snapshot")
                }),
                timed(|| bytes.to_vec()),
            ];
            for (figure, millis) in TIMES.iter().zip(millis) {
                results.push((self.slots, 1), self.name, figure, millis);
            }
        }
    }

    /// Measures a writer that removes and inserts, which takes kicks at this load, beside a thread that takes
    /// snapshots, or none.
    fn inserts(&self, plan: &Plan, results: &mut Results) {
        let (place, name) = ((self.slots, 2), self.name);
        let mut window = Window { keys: Keys::new(KEYS), oldest: 0, next: self.items };
        // So that a round takes some tenths of a second.
        let count = (plan.operations << 6 >> self.slots.ilog2()).clamp(2, 200);
        for _ in 0..ROUNDS {
            let mut quiet = Duration::ZERO;
            // The second scene takes as long as the first one.
            for scene in [SCENES[1], SCENES[0]] {
                // The number of snapshots so far, and whether the writer has waited for one.
                let (snapshots, waited) = (AtomicU64::new(0), AtomicBool::new(false));
                let mut inserts = None;
                let mut writer = || {
                    let inserts: &mut Inserts = inserts.get_or_insert_with(Inserts::of_this_thread);
                    let steps = window.moves(64);
                    inserts.singles.begin();
                    self.table.work(Work::Timed(&steps, &mut |step, _, nanos| {
                        // Relaxed: a number that orders nothing.
                        inserts.took(step, nanos, snapshots.load(Ordering::Relaxed));
                    }));
                    waited.store(!inserts.pauses.is_empty(), Ordering::Relaxed);
                    64
                };
                let started = Instant::now();
                both(
                    |_| {
                        if scene == SCENES[0] {
                            return thread::sleep(quiet);
                        }
                        while snapshots.load(Ordering::Relaxed) < count
                            || !waited.load(Ordering::Relaxed)
                        {
                            black_box(self.table.0.snapshot().expect("memory for a snapshot"));
                            snapshots.fetch_add(1, Ordering::Relaxed);
                        }
                    },
                    Some(&mut writer),
                );
                quiet = started.elapsed();
                let Some(inserts) = inserts else { continue };
                inserts.singles.push_percentiles(place, name, &inserts_in(scene), results);
                let histogram = &inserts.singles.histogram;
                let mut push = |what: &str, value: f64| {
                    results.push(place, name, &figure(scene, what), value);
                };
                push(INSERTS, histogram.len() as f64 / quiet.as_secs_f64() / 1e6);
                if let Some(pause) = median(&inserts.pauses) {
                    push(PAUSE, pause);
                }
            }
        }
    }
}

/// Returns the milliseconds of the work. Its result is dropped afterwards.
fn timed<R>(work: impl FnOnce() -> R) -> f64 {
    let started = Instant::now();
    let result = black_box(work());
    let millis = started.elapsed().as_secs_f64() * 1e3;
    drop(result);
    millis
}

/// The times of the inserts of a writer that removes and inserts.
struct Inserts {
    singles: Singles,
    /// The number of snapshots so far.
    seen: u64,
    /// The longest insert since the last snapshot ended.
    longest: u64,
    /// The longest insert during each snapshot.
    pauses: Vec<f64>,
}

impl Inserts {
    fn of_this_thread() -> Self {
        Self { singles: Singles::of_this_thread(), seen: 0, longest: 0, pauses: Vec::new() }
    }

    /// Adds a step. Up to now, `snapshots` have ended.
    fn took(&mut self, step: Step, nanos: u64, snapshots: u64) {
        let own = self.singles.took(nanos);
        if !matches!(step, Step::Insert(_)) {
            return;
        }
        self.singles.histogram.saturating_record(own);
        self.longest = self.longest.max(own);
        // The insert waited for a snapshot that ended during it.
        if snapshots > self.seen {
            self.pauses.push(self.longest as f64);
            (self.seen, self.longest) = (snapshots, 0);
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let speeds = TIMES.map(|name| format!("{name}, GB/s"));
    let columns = ["snapshot, ms".to_owned()].into_iter().chain(speeds);
    let inserts = ["99.9 % of inserts, µs", "meanwhile", "longest of a snapshot, µs"];
    let mut times = table("snapshots", columns.chain(inserts.into_iter().map(str::to_owned)));
    for slots in results.slots_with(TIMES[0]) {
        for name in TABLES {
            let millis = |figure: &str| results.at(slots, 1).median(name, figure);
            let speeds = TIMES.map(|figure| millis(figure).map(|millis| speed(slots, millis)));
            let view = results.at(slots, 2);
            let [slowest, meanwhile] =
                SCENES.map(|scene| view.median(name, &percentile(&inserts_in(scene), 99.9)));
            let longest = view.median(name, &figure(SCENES[1], PAUSE));
            let micros = [slowest, meanwhile, longest].map(|nanos| nanos.map(|nanos| nanos / 1e3));
            let row = [millis(TIMES[0])].into_iter().chain(speeds).chain(micros);
            times.row(&format!("{name}, {} slots", power(slots)), row);
        }
    }
    vec![times]
}

/// Returns the GB/s of the words of a table, without the header of the snapshot.
fn speed(slots: u64, millis: f64) -> f64 {
    slots as f64 * 2.0 / millis / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_insert_belongs_to_the_snapshot_that_ends_with_it() {
        let mut inserts = Inserts::of_this_thread();
        inserts.took(Step::Insert(1), 100, 0);
        inserts.took(Step::Remove(1), 5000, 0);
        inserts.took(Step::Insert(1), 200, 0);
        inserts.took(Step::Insert(1), 150, 1);
        inserts.took(Step::Insert(1), 120, 1);
        inserts.took(Step::Insert(1), 900, 2);
        assert_eq!(inserts.pauses, [200.0, 900.0]);
        assert_eq!((inserts.singles.histogram.len(), inserts.singles.histogram.max()), (5, 900));
    }
}
