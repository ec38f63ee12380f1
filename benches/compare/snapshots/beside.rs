//! Inserts and lookups while another thread takes one snapshot after the other.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal::{CuckooFilter, Storage};
use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{CHUNK, Which};
use coucal_measure::subject::{Operation, SharedSubject, Window};
use coucal_measure::timing::{Preempted, median};
use hdrhistogram::Histogram;

use super::{Plan, Table};
use crate::concurrent::{Writer, beside, clock_overhead, histogram};
use crate::results::Results;

pub const SCENES: [&str; 3] =
    ["no snapshots", "snapshots of another table", "snapshots of this table"];
pub const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// The longest of the inserts between the ends of two snapshots.
pub const PAUSE: &str = "longest insert of a snapshot";
pub const LONGEST: &str = "longest insert";
/// The same, with the time for which the thread had no processor.
pub const LONGEST_OF_ALL: &str = "longest insert, preempted too";
pub const INSERTS: &str = "inserts Mops/s";
pub const LOOKUP: &str = "lookup";
/// The time of a snapshot.
pub const SNAPSHOT: &str = "snapshot";

/// The name of a figure in a scene.
pub fn scene_figure(scene: &str, figure: &str) -> String {
    format!("{scene}: {figure}")
}

pub fn percentile_figure(percentile: f64) -> String {
    format!("insert {percentile}")
}

/// From here on an operation is asked for how long its thread had no processor.
const LONG_NANOS: u64 = 10_000;

/// How long a round of lookups takes at least.
const LOOKING: Duration = Duration::from_millis(400);
/// Keys of a round: their buckets do not fit in any cache.
const LOOKUPS: u64 = 1 << 20;

fn snapshot<L: Storage>(filter: &CuckooFilter<L, KeyHash>) {
    black_box(filter.snapshot().expect("memory for a snapshot"));
}

/// The times of the inserts of a writer that removes and inserts.
struct Inserts<'a> {
    histogram: Histogram<u64>,
    preempted: Preempted,
    longest_of_all: u64,
    /// Snapshots so far, of any table.
    snapshots: &'a AtomicUsize,
    seen: usize,
    /// The longest since the last snapshot ended.
    longest: u64,
    /// The longest of each snapshot.
    pauses: Vec<f64>,
}

impl<'a> Inserts<'a> {
    fn new(snapshots: &'a AtomicUsize) -> Self {
        Self {
            histogram: histogram(),
            preempted: Preempted::of_this_thread(),
            longest_of_all: 0,
            snapshots,
            seen: 0,
            longest: 0,
            pauses: Vec::new(),
        }
    }

    /// Removals are asked, too: what a thread waited in one concerns no insert.
    fn took(&mut self, operation: Operation, nanos: u64) {
        let waited = if nanos < LONG_NANOS { 0 } else { self.preempted.nanos_since() };
        if operation == Operation::Remove {
            return;
        }
        let own = nanos.saturating_sub(waited);
        self.histogram.saturating_record(own);
        self.longest_of_all = self.longest_of_all.max(nanos);
        // Relaxed: a number that orders nothing.
        let seen = self.snapshots.load(Ordering::Relaxed);
        self.longest = self.longest.max(own);
        // A snapshot that ended during this insert is the one that it waited for.
        if seen > self.seen {
            self.pauses.push(self.longest as f64);
            (self.seen, self.longest) = (seen, 0);
        }
    }
}

/// A writer that removes and inserts, which at this load takes kicks; and a thread that takes snapshots
/// of this table, or of another one, or none.
pub fn inserts<L: Storage>(plan: &Plan, table: &Table<L>, results: &mut Results) {
    let (place, name) = ((table.slots, 2), table.name);
    let twin = table.twin();
    let keys = Table::<L>::keys();
    let mut window = Window { keys, oldest: 0, next: table.items };
    let overhead = clock_overhead();
    for round in 0..plan.rounds(table.slots) {
        plan.say(table, &format!("round {}: inserts beside snapshots", round + 1));
        let mut quiet = Duration::ZERO;
        // The first scene takes as long as the one before it has taken.
        for scene in [SCENES[1], SCENES[0], SCENES[2]] {
            let snapshots = AtomicUsize::new(0);
            let take = |filter: &CuckooFilter<L, KeyHash>| {
                let one = |_| {
                    let started = Instant::now();
                    snapshot(filter);
                    snapshots.fetch_add(1, Ordering::Relaxed);
                    started.elapsed().as_secs_f64() * 1e3
                };
                (0..Plan::snapshots(table.slots)).map(one).collect::<Vec<_>>()
            };
            let mut inserts = None;
            let writer: Writer<'_> = Box::new(|stop: &AtomicBool| {
                let inserts = inserts.insert(Inserts::new(&snapshots));
                let mut took = |operation, nanos| inserts.took(operation, nanos);
                table.subject.churn_timed(&mut window, stop, &mut took)
            });
            let started = Instant::now();
            let (millis, rate) = beside(Some(writer), || match scene {
                "no snapshots" => {
                    thread::sleep(quiet);
                    Vec::new()
                }
                "snapshots of another table" => take(&twin.0),
                _ => take(table.filter()),
            });
            quiet = started.elapsed();
            let inserts = inserts.expect("the writer ran");
            let mut push = |figure: &str, value: f64| {
                results.push(place, name, &scene_figure(scene, figure), value);
            };
            for percentile in PERCENTILES {
                let value = inserts.histogram.value_at_percentile(percentile);
                push(&percentile_figure(percentile), value.saturating_sub(overhead) as f64);
            }
            push(LONGEST, inserts.histogram.max() as f64);
            push(LONGEST_OF_ALL, inserts.longest_of_all as f64);
            push(INSERTS, rate / 1e6);
            if let Some(pause) = median(&inserts.pauses) {
                push(PAUSE, pause);
            }
            if let Some(millis) = median(&millis) {
                push(SNAPSHOT, millis);
            }
        }
    }
}

/// Lookups beside a thread that takes snapshots of this table, or of another one, or none.
pub fn lookups<L: Storage>(plan: &Plan, table: &Table<L>, results: &mut Results) {
    let twin = table.twin();
    for round in 0..plan.rounds(table.slots) as u64 {
        plan.say(table, &format!("round {}: lookups beside snapshots", round + 1));
        let range = round * LOOKUPS..(round + 1) * LOOKUPS;
        let lookups = Table::<L>::keys().collect(Which::Half { items: table.items }, range);
        for scene in SCENES {
            let filter = match scene {
                "no snapshots" => None,
                "snapshots of another table" => Some(&twin.0),
                _ => Some(table.filter()),
            };
            let snapshots = filter.map(|filter| {
                Box::new(move |stop: &AtomicBool| {
                    while !stop.load(Ordering::Relaxed) {
                        snapshot(filter);
                    }
                    0_u64
                }) as Writer<'_>
            });
            let (nanos, _) = beside(snapshots, || in_a_loop(&table.subject, &lookups));
            let figure = scene_figure(scene, LOOKUP);
            results.push((table.slots, 2), table.name, &figure, nanos);
        }
    }
}

/// Nanoseconds of a lookup, the median of the chunks.
fn in_a_loop(table: &dyn SharedSubject, lookups: &[u64]) -> f64 {
    let begun = Instant::now();
    let mut nanos = Vec::new();
    while begun.elapsed() < LOOKING {
        for chunk in lookups.chunks(CHUNK) {
            let started = Instant::now();
            black_box(table.look(chunk));
            nanos.push(started.elapsed().as_nanos() as f64 / chunk.len() as f64);
        }
    }
    median(&nanos).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_insert_belongs_to_the_snapshot_that_ends_with_it() {
        let snapshots = AtomicUsize::new(0);
        let mut inserts = Inserts::new(&snapshots);
        inserts.took(Operation::Insert, 100);
        inserts.took(Operation::Remove, 5000);
        inserts.took(Operation::Insert, 200);
        snapshots.store(1, Ordering::Relaxed);
        inserts.took(Operation::Insert, 150);
        inserts.took(Operation::Insert, 120);
        snapshots.store(2, Ordering::Relaxed);
        inserts.took(Operation::Insert, 900);
        assert_eq!(inserts.pauses, [200.0, 900.0]);
        assert_eq!((inserts.histogram.len(), inserts.longest_of_all), (5, 900));
    }
}
