//! Several threads: throughput, and the latency of lookups beside a writer that kicks.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal_measure::keys::{CHUNK, Keys, Which, mix};
use coucal_measure::machine;
use coucal_measure::subject::{SharedSubject, Step, Subject, Window, fill};
use coucal_measure::timing::{million_ops, together};
use hdrhistogram::Histogram;
use parking_lot::Mutex;

use crate::Plan;
use crate::contenders::{BLOOM, ENTRANTS, Entrant};
use crate::results::Results;

pub const WORKLOADS: [&str; 4] = ["lookups", "inserts", "mixed", "lookups beside a writer"];
pub const SCENES: [&str; 3] = ["no writer", "writer in another table", "writer in this table"];
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// The name of the throughput of a workload, in million operations per second.
pub fn throughput_figure(workload: &str) -> String {
    format!("{workload} Mops/s")
}

pub fn latency_figure(scene: &str, percentile: f64) -> String {
    format!("{scene} {percentile}")
}

pub fn writer_figure(scene: &str) -> String {
    format!("{scene}: inserts Mops/s")
}

/// The longest time of one run beside a writer: behind some locks readers hardly get a turn.
const MAX_RUN: Duration = Duration::from_secs(4);

fn entrants(plan: &Plan) -> impl Iterator<Item = &'static Entrant> {
    let chosen = |entrant: &&Entrant| entrant.contender.shared && plan.includes(entrant.name());
    ENTRANTS.iter().filter(chosen)
}

/// Runs of an entrant: exact sets take long to build, and are measured once.
fn runs(plan: &Plan, entrant: &Entrant) -> usize {
    if entrant.exact { 1 } else { plan.runs.min(3) }
}

fn shared(subject: &dyn Subject) -> &dyn SharedSubject {
    subject.as_shared().expect("only shared peers take part")
}

/// 90 lookups, 9 inserts and 1 removal in a hundred; each script removes what it has inserted itself.
fn script(keys: Keys, number: u64, steps: u64, settled: u64) -> Vec<Step> {
    let own = (1 << 33) + number * steps;
    let (mut oldest, mut next) = (own, own);
    let mut step = |index: u64| match mix(index ^ 0xd1ce << 40) % 100 {
        90..=98 => {
            next += 1;
            Step::Insert(keys.key(next - 1))
        }
        99 if oldest < next => {
            oldest += 1;
            Step::Remove(keys.key(oldest - 1))
        }
        _ => Step::Look(keys.pick(Which::Half { items: settled }, index)),
    };
    (number * steps..(number + 1) * steps).map(&mut step).collect()
}

/// The part of a list that belongs to one thread.
pub fn part<T>(list: &[T], thread: usize, threads: usize) -> &[T] {
    &list[list.len() * thread / threads..list.len() * (thread + 1) / threads]
}

/// The same work, divided among any number of threads.
struct Work {
    keys: Keys,
    slots: u64,
    lookups: Vec<u64>,
    inserts: Vec<u64>,
    scripts: Vec<Vec<Step>>,
}

impl Work {
    /// As many operations as slots.
    fn new(slots: u64, scripts: u64) -> Self {
        let keys = Keys::new(300);
        let script = |number| script(keys, number, slots / scripts, slots / 2);
        Self {
            keys,
            slots,
            lookups: keys.collect(Which::Half { items: slots * 9 / 10 }, 0..slots),
            inserts: keys.collect(Which::InOrder, 0..slots * 9 / 10),
            scripts: (0..scripts).map(script).collect(),
        }
    }

    fn window(&self) -> Mutex<Window> {
        let (oldest, next) = (self.slots * 9 / 10, self.slots * 19 / 20);
        Mutex::new(Window { keys: self.keys, oldest, next })
    }

    fn lookups(&self, settled: &dyn SharedSubject, threads: usize) -> f64 {
        let work = |thread| {
            std::hint::black_box(settled.look(part(&self.lookups, thread, threads)));
        };
        million_ops(self.lookups.len(), together((0..threads).collect(), work).0)
    }

    fn inserts(&self, fresh: &dyn SharedSubject, threads: usize) -> f64 {
        let work = |thread| {
            fresh.insert(part(&self.inserts, thread, threads));
        };
        million_ops(self.inserts.len(), together((0..threads).collect(), work).0)
    }

    fn mixed(&self, half_full: &dyn SharedSubject, threads: usize) -> f64 {
        let work = |thread| {
            for script in part(&self.scripts, thread, threads) {
                half_full.run(script);
            }
        };
        let steps = self.scripts.iter().map(Vec::len).sum();
        million_ops(steps, together((0..threads).collect(), work).0)
    }

    /// One of the threads writes, unless there is only one.
    fn beside_writer(
        &self,
        settled: &dyn SharedSubject,
        window: &Mutex<Window>,
        threads: usize,
    ) -> f64 {
        let readers = (threads - 1).max(1);
        let (stop, reading) = (AtomicBool::new(false), AtomicUsize::new(readers));
        let looked = AtomicUsize::new(0);
        let work = |thread| {
            if thread == readers {
                settled.churn(&mut window.lock(), &stop);
                return;
            }
            let started = Instant::now();
            for chunk in part(&self.lookups, thread, readers).chunks(CHUNK) {
                std::hint::black_box(settled.look(chunk));
                looked.fetch_add(chunk.len(), Ordering::Relaxed);
                if started.elapsed() > MAX_RUN {
                    break;
                }
            }
            if reading.fetch_sub(1, Ordering::Relaxed) == 1 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let (elapsed, _) = together((0..threads).collect(), work);
        million_ops(looked.into_inner(), elapsed)
    }
}

/// Throughput of lookups, inserts and a mixture, by number of threads.
pub fn throughput(plan: &Plan, slots: u64, results: &mut Results) {
    let counts = machine::thread_counts(machine::cores());
    let work = Work::new(slots, counts[counts.len() - 1] as u64);
    for entrant in entrants(plan) {
        let name = entrant.name();
        plan.say(&format!("{slots} slots, {name}: threads"));
        let build = |items: u64| {
            let mut subject = (entrant.contender.build)(slots as usize);
            fill(subject.as_mut(), work.keys, items);
            subject
        };
        let settled = build(slots * 19 / 20);
        let settled = shared(settled.as_ref());
        let window = work.window();
        for _ in 0..runs(plan, entrant) {
            for &threads in &counts {
                let mut push = |workload: &str, value: f64| {
                    results.push((slots, threads), name, &throughput_figure(workload), value);
                };
                push(WORKLOADS[0], work.lookups(settled, threads));
                push(WORKLOADS[1], work.inserts(shared(build(0).as_ref()), threads));
                if entrant.contender.removes {
                    push(WORKLOADS[2], work.mixed(shared(build(slots / 2).as_ref()), threads));
                    push(WORKLOADS[3], work.beside_writer(settled, &window, threads));
                }
            }
        }
    }
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
