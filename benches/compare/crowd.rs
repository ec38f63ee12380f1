//! Several threads: throughput, and the latency of lookups beside a writer that kicks.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal_benches::keys::{CHUNK, Keys, Which, mix};
use coucal_benches::peers::{Atomic, BehindMutex, BehindRwLock, Bloom, Coucal, Peer, Shared};
use coucal_benches::subject::{Act, Crowd, Window, fill};
use hdrhistogram::Histogram;
use parking_lot::Mutex;

use crate::results::Results;
use crate::{Plan, machine};

type Build = fn(usize) -> Box<dyn Crowd>;

fn boxed<P: Shared + 'static>(slots: usize) -> Box<dyn Crowd> {
    Box::new(P::build(slots))
}

const CROWDS: [(&str, Build); 5] = [
    (Coucal::NAME, boxed::<Coucal>),
    (Atomic::NAME, boxed::<Atomic>),
    (BehindRwLock::NAME, boxed::<BehindRwLock>),
    (BehindMutex::NAME, boxed::<BehindMutex>),
    (Bloom::NAME, boxed::<Bloom>),
];

pub const TRAFFICS: [&str; 4] =
    ["lookups M/s", "inserts M/s", "mixed M/s", "lookups beside a writer M/s"];
pub const SCENES: [&str; 3] = ["no writer", "writer elsewhere", "writer here"];
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

pub fn latency_figure(scene: &str, percentile: f64) -> String {
    format!("{scene} {percentile}")
}

/// The longest that readers go on beside a writer: behind some locks they hardly get a turn.
const ENOUGH: Duration = Duration::from_secs(4);

/// 1, 2, then doubling up to the number of cores.
pub fn thread_counts() -> Vec<usize> {
    (0..=machine::cores().ilog2()).map(|power| 1 << power).collect()
}

/// Runs `work` in so many threads at once. Seconds from the first start to the last end.
fn together(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let run = |thread| {
        barrier.wait();
        let begun = Instant::now();
        work(thread);
        (begun, Instant::now())
    };
    let spans: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let spawned: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        spawned.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
    });
    let begun = spans.iter().map(|span| span.0).min().expect("there is a thread");
    let ended = spans.iter().map(|span| span.1).max().expect("there is a thread");
    ended.duration_since(begun).as_secs_f64()
}

/// 90 lookups, 9 inserts and 1 removal in a hundred; a lane removes what it has inserted itself.
fn script(keys: Keys, lane: u64, acts: u64, settled: u64) -> Vec<Act> {
    let own = (1 << 33) + lane * acts;
    let (mut oldest, mut next) = (own, own);
    let mut act = |index: u64| match mix(index ^ 0xd1ce << 40) % 100 {
        90..=98 => {
            next += 1;
            Act::Insert(keys.key(next - 1))
        }
        99 if oldest < next => {
            oldest += 1;
            Act::Remove(keys.key(oldest - 1))
        }
        _ => Act::Look(keys.pick(Which::Half { items: settled }, index)),
    };
    (lane * acts..(lane + 1) * acts).map(&mut act).collect()
}

/// The slice of a list that belongs to one of so many threads.
fn part<T>(list: &[T], thread: usize, threads: usize) -> &[T] {
    &list[list.len() * thread / threads..list.len() * (thread + 1) / threads]
}

/// Throughput of lookups, inserts and a mixture, by number of threads.
pub fn throughput(plan: &Plan, slots: u64, results: &mut Results) {
    let counts = thread_counts();
    let lanes = counts[counts.len() - 1] as u64;
    let keys = Keys::new(300);
    // As many operations as slots, whatever the number of threads: the same work, divided.
    let looks = keys.collect(Which::Half { items: slots * 9 / 10 }, 0..slots);
    let inserts = keys.collect(Which::InOrder, 0..slots * 9 / 10);
    let scripts: Vec<Vec<Act>> =
        (0..lanes).map(|lane| script(keys, lane, slots / lanes, slots / 2)).collect();
    for (name, build) in CROWDS.iter().filter(|crowd| plan.races(crowd.0)) {
        plan.say(&format!("{slots} slots, {name}: threads"));
        let settled = build(slots as usize);
        fill(settled.as_ref(), keys, slots * 19 / 20);
        let window = Window { keys, oldest: slots * 9 / 10, next: slots * 19 / 20 };
        let window = Mutex::new(window);
        for _ in 0..plan.runs.min(3) {
            for &threads in &counts {
                let mut push = |figure: &str, operations: usize, seconds: f64| {
                    let rate = operations as f64 / seconds / 1e6;
                    results.push((slots, threads), name, figure, rate);
                };
                let look = |thread| {
                    std::hint::black_box(settled.look(part(&looks, thread, threads)));
                };
                push(TRAFFICS[0], looks.len(), together(threads, look));

                let fresh = build(slots as usize);
                let insert = |thread| {
                    fresh.fill(part(&inserts, thread, threads));
                };
                push(TRAFFICS[1], inserts.len(), together(threads, insert));
                drop(fresh);

                if settled.removes() {
                    let fresh = build(slots as usize);
                    fill(fresh.as_ref(), keys, slots / 2);
                    let mix = |thread| {
                        for script in part(&scripts, thread, threads) {
                            fresh.act(script);
                        }
                    };
                    let acts = scripts.iter().map(Vec::len).sum();
                    push(TRAFFICS[2], acts, together(threads, mix));

                    let readers = (threads - 1).max(1);
                    let (stop, reading) = (AtomicBool::new(false), AtomicUsize::new(readers));
                    let looked = AtomicUsize::new(0);
                    let work = |thread| {
                        if thread == readers {
                            settled.churn(&mut window.lock(), &stop);
                            return;
                        }
                        let begun = Instant::now();
                        for chunk in part(&looks, thread, readers).chunks(CHUNK) {
                            std::hint::black_box(settled.look(chunk));
                            looked.fetch_add(chunk.len(), Ordering::Relaxed);
                            if begun.elapsed() > ENOUGH {
                                break;
                            }
                        }
                        if reading.fetch_sub(1, Ordering::Relaxed) == 1 {
                            stop.store(true, Ordering::Relaxed);
                        }
                    };
                    let seconds = together(threads, work);
                    push(TRAFFICS[3], looked.into_inner(), seconds);
                }
            }
        }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order")
}

/// The median of what the clock itself takes.
fn clock() -> u64 {
    let mut histogram = histogram();
    for _ in 0..1 << 16 {
        let begun = Instant::now();
        histogram.saturating_record(begun.elapsed().as_nanos() as u64);
    }
    histogram.value_at_quantile(0.5)
}

/// Single lookups of items that stay, at 95 % load, while a second thread removes and inserts
/// others: in this table, in another one as large, or not at all.
pub fn latency(plan: &Plan, slots: u64, results: &mut Results) {
    let settled = slots * 9 / 10;
    let of_peers = CROWDS.iter().filter(|crowd| plan.races(crowd.0) && crowd.0 != Bloom::NAME);
    for (name, build) in of_peers {
        plan.say(&format!("{slots} slots, {name}: latency"));
        let tables = [400, 401].map(|set| {
            let (table, keys) = (build(slots as usize), Keys::new(set));
            fill(table.as_ref(), keys, slots * 19 / 20);
            (table, Window { keys, oldest: settled, next: slots * 19 / 20 })
        });
        let [(here, mut window_here), (elsewhere, mut window_elsewhere)] = tables;
        let keys = window_here.keys;
        for round in 0..plan.runs as u64 {
            let range = round * plan.lookups..(round + 1) * plan.lookups;
            let looks = keys.collect(Which::Present { items: settled }, range);
            let mut scene = |name_of_scene: &str, writer: Option<(&dyn Crowd, &mut Window)>| {
                let (histogram, stored) = beside(here.as_ref(), &looks, writer);
                let own = clock();
                for percentile in PERCENTILES {
                    let value = histogram.value_at_percentile(percentile).saturating_sub(own);
                    let figure = latency_figure(name_of_scene, percentile);
                    results.push((slots, 2), name, &figure, value as f64);
                }
                let figure = format!("{name_of_scene}: inserts M/s");
                results.push((slots, 2), name, &figure, stored / 1e6);
            };
            scene(SCENES[0], None);
            scene(SCENES[1], Some((elsewhere.as_ref(), &mut window_elsewhere)));
            scene(SCENES[2], Some((here.as_ref(), &mut window_here)));
        }
    }
}

/// Looks keys up by the clock while the writer, if there is one, writes. The times, and how many
/// inserts the writer made in a second.
fn beside(
    table: &dyn Crowd,
    looks: &[u64],
    writer: Option<(&dyn Crowd, &mut Window)>,
) -> (Histogram<u64>, f64) {
    let stop = AtomicBool::new(false);
    let begin = Barrier::new(1 + usize::from(writer.is_some()));
    thread::scope(|scope| {
        let writing = writer.map(|(table, window)| {
            let (stop, begin) = (&stop, &begin);
            scope.spawn(move || {
                begin.wait();
                table.churn(window, stop)
            })
        });
        begin.wait();
        let begun = Instant::now();
        let mut histogram = histogram();
        for chunk in looks.chunks(CHUNK) {
            table.look_by_the_clock(chunk, &mut histogram);
            if begun.elapsed() > ENOUGH {
                break;
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let stored = writing.map_or(0, |writing| writing.join().expect("the writer ends"));
        (histogram, stored as f64 / seconds)
    })
}
