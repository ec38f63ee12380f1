//! Two threads: the latency of lookups beside a writer that kicks. And what else measures several
//! threads needs.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal_measure::keys::{CHUNK, Keys, Which};
use coucal_measure::subject::{SharedSubject, Subject, Window, fill};
use hdrhistogram::Histogram;

use crate::Plan;
use crate::contenders::{BLOOM, ENTRANTS, Entrant};
use crate::results::Results;

pub const SCENES: [&str; 3] = ["no writer", "writer in another table", "writer in this table"];
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

pub fn latency_figure(scene: &str, percentile: f64) -> String {
    format!("{scene} {percentile}")
}

pub fn writer_figure(scene: &str) -> String {
    format!("{scene}: inserts Mops/s")
}

/// The longest time of one run beside a writer: behind some locks readers hardly get a turn.
pub const MAX_RUN: Duration = Duration::from_secs(4);

fn entrants(plan: &Plan) -> impl Iterator<Item = &'static Entrant> {
    let chosen = |entrant: &&Entrant| entrant.contender.shared && plan.includes(entrant.name());
    ENTRANTS.iter().filter(chosen)
}

/// Runs of an entrant: exact sets take long to build, and are measured once.
fn runs(plan: &Plan, entrant: &Entrant) -> usize {
    if entrant.exact { 1 } else { plan.runs.min(3) }
}

pub fn shared(subject: &dyn Subject) -> &dyn SharedSubject {
    subject.as_shared().expect("only shared peers take part")
}

/// The part of a list that belongs to one thread.
pub fn part<T>(list: &[T], thread: usize, threads: usize) -> &[T] {
    &list[list.len() * thread / threads..list.len() * (thread + 1) / threads]
}

pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order")
}

/// The median time of reading the clock alone.
pub fn clock_overhead() -> u64 {
    let mut histogram = histogram();
    for _ in 0..1 << 16 {
        let started = Instant::now();
        histogram.saturating_record(started.elapsed().as_nanos() as u64);
    }
    histogram.value_at_quantile(0.5)
}

/// Single lookups of items that stay, at 95 % load, while a second thread removes and inserts other
/// items: in this table, in another one of the same size, or not at all.
pub fn latency(plan: &Plan, slots: u64, results: &mut Results) {
    let settled = slots * 9 / 10;
    // A Bloom filter cannot remove what the writer has inserted.
    for entrant in entrants(plan).filter(|entrant| entrant.name() != BLOOM && !entrant.slow) {
        let name = entrant.name();
        plan.say(&format!("{slots} slots, {name}: latency"));
        let tables = [400, 401].map(|set| {
            let (mut table, keys) = ((entrant.contender.build)(slots as usize), Keys::new(set));
            fill(table.as_mut(), keys, slots * 19 / 20);
            (table, Window { keys, oldest: settled, next: slots * 19 / 20 })
        });
        let [(here, mut window_here), (elsewhere, mut window_elsewhere)] = tables;
        let (here, elsewhere) = (shared(here.as_ref()), shared(elsewhere.as_ref()));
        let keys = window_here.keys;
        for round in 0..runs(plan, entrant) as u64 {
            let range = round * plan.lookups..(round + 1) * plan.lookups;
            let lookups = keys.collect(Which::Present { items: settled }, range);
            let mut scene = |scene: &str, writer: Option<(&dyn SharedSubject, &mut Window)>| {
                let writer = writer.map(|(table, window)| {
                    Box::new(move |stop: &AtomicBool| table.churn(window, stop)) as Writer
                });
                let (histogram, inserts) = beside(writer, || timed(here, &lookups));
                let overhead = clock_overhead();
                for percentile in PERCENTILES {
                    let value = histogram.value_at_percentile(percentile).saturating_sub(overhead);
                    let figure = latency_figure(scene, percentile);
                    results.push((slots, 2), name, &figure, value as f64);
                }
                results.push((slots, 2), name, &writer_figure(scene), inserts / 1e6);
            };
            scene(SCENES[0], None);
            scene(SCENES[1], Some((elsewhere, &mut window_elsewhere)));
            scene(SCENES[2], Some((here, &mut window_here)));
        }
    }
}

/// Writes until told to stop; the number of items that it stored.
pub type Writer<'a> = Box<dyn FnOnce(&AtomicBool) -> u64 + Send + 'a>;

/// The times of single lookups.
pub fn timed(table: &dyn SharedSubject, lookups: &[u64]) -> Histogram<u64> {
    let started = Instant::now();
    let mut histogram = histogram();
    for chunk in lookups.chunks(CHUNK) {
        table.look_timed(chunk, &mut histogram);
        if started.elapsed() > MAX_RUN {
            break;
        }
    }
    histogram
}

/// Reads while the writer, if there is one, writes. Returns what was read, and the writer's inserts
/// per second.
pub fn beside<R>(writer: Option<Writer<'_>>, read: impl FnOnce() -> R) -> (R, f64) {
    let stop = AtomicBool::new(false);
    let start = Barrier::new(1 + usize::from(writer.is_some()));
    thread::scope(|scope| {
        let writing = writer.map(|write| {
            let (stop, start) = (&stop, &start);
            scope.spawn(move || {
                start.wait();
                write(stop)
            })
        });
        start.wait();
        let started = Instant::now();
        let read = read();
        let seconds = started.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let stored = writing.map_or(0, |writing| writing.join().expect("the writer ends"));
        (read, stored as f64 / seconds)
    })
}
