//! Contention at its worst: the lock of a stripe beside a mutex that parks its waiters, with as many
//! threads as cores, with more, and with a holder that is stopped; and a hot item of a filter.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use coucal::internals::StripeLock;
use coucal_measure::keys::Keys;
use coucal_measure::machine;
use coucal_measure::pieces::{self, Counted, Meter, count};
use coucal_measure::subject::{Step, fill};
use coucal_measure::text::threads as threads_in_words;
use coucal_measure::timing::together;
use cpu_time::ThreadTime;
use hdrhistogram::Histogram;
use parking_lot::Mutex;

use crate::beside::{PERCENTILES, histogram, percentile};
use crate::contenders::{ATOMIC, COUCAL, SHARDS, build, shared};
use crate::results::Results;
use crate::{Plan, Topic};

/// Only its CSV has figures.
pub const TOPIC: Topic = Topic {
    name: "contention",
    slots: &[1 << 18],
    measure,
    tables: |_| Vec::new(),
    plots: |_| Vec::new(),
};

const OURS: &str = "coucal's lock";
const PARKING: &str = "parking_lot's mutex";
const FILTERS: [&str; 3] = [COUCAL, ATOMIC, SHARDS];

const HOT: &str = "one hot item";
/// Its throughput.
const RATE: &str = "one hot item: Mops/s";
const WAITING: [&str; 3] =
    ["processor time of all waiters, ms", "first has it after, µs", "last has it after, µs"];
/// How long a holder is stopped.
const STOPPED: Duration = Duration::from_millis(100);
/// Operations between two looks at the clock where they are not timed.
const UNTIMED: usize = 256;

/// One, as many as there are cores, and far more.
fn thread_counts() -> [usize; 3] {
    let cores = machine::cores().max(2);
    [1, cores, 32 * cores]
}

fn measure(plan: &Plan, results: &mut Results) {
    for round in 0..plan.rounds(plan.last_slots()) {
        for threads in thread_counts() {
            plan.say(&format!("round {}, {}", round + 1, threads_in_words(threads)));
            for (name, waited) in
                [(OURS, wait::<StripeLock>(threads)), (PARKING, wait::<Mutex<()>>(threads))]
            {
                for (figure, value) in WAITING.iter().zip(waited) {
                    results.push((1, threads), name, figure, value);
                }
            }
            hot_item(plan, threads, results);
        }
    }
}

/// Each thread does its operation again and again: first without a look at the clock after each, then
/// with one.
fn record<F: FnMut()>(
    plan: &Plan,
    threads: usize,
    thread: impl Fn(usize) -> F + Sync,
) -> (Counted, Histogram<u64>) {
    let half = Duration::from_micros(plan.operations / 2);
    let untimed = pieces::run((0..threads).collect(), |number, meter: &mut Meter| {
        let mut operation = thread(number);
        let end = Instant::now() + half;
        while Instant::now() < end {
            (0..UNTIMED).for_each(|_| operation());
            meter.add(UNTIMED);
        }
    });
    let histograms = together((0..threads).collect(), |number| {
        let (mut operation, mut histogram) = (thread(number), histogram());
        let mut last = Instant::now();
        let end = last + half;
        while last < end {
            operation();
            let now = Instant::now();
            histogram.saturating_record((now - last).as_nanos() as u64);
            last = now;
        }
        histogram
    });
    let mut histogram = histogram();
    for other in histograms {
        histogram += other;
    }
    let beyond_cores = threads > machine::cores().max(2);
    let counted =
        if beyond_cores { Counted::whole(&untimed) } else { Counted::together(&count(&untimed)) };
    (counted, histogram)
}

/// What keeps threads apart.
trait Exclusive: Default + Sync {
    fn with<R>(&self, work: impl FnOnce() -> R) -> R;
}

impl Exclusive for StripeLock {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        Self::with(self, work)
    }
}

impl Exclusive for Mutex<()> {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let _guard = self.lock();
        work()
    }
}

/// One thread holds the lock and sleeps, and all others wait for it: the milliseconds that they had a
/// processor in all, and the microseconds from the end of the sleep until the first of them and the last
/// has the lock.
fn wait<L: Exclusive>(waiters: usize) -> [f64; 3] {
    let lock = L::default();
    let waiter = || {
        let before = ThreadTime::now();
        let acquired = lock.with(|| black_box(Instant::now()));
        (acquired, before.elapsed())
    };
    let (released, waited) = thread::scope(|scope| {
        let (released, threads) = lock.with(|| {
            let threads: Vec<_> = (0..waiters).map(|_| scope.spawn(waiter)).collect();
            thread::sleep(STOPPED);
            (Instant::now(), threads)
        });
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        (released, threads.into_iter().map(join).collect::<Vec<(Instant, Duration)>>())
    });
    let micros = |acquired: &Instant| (*acquired - released).as_secs_f64() * 1e6;
    let acquired: Vec<_> = waited.iter().map(|waiter| micros(&waiter.0)).collect();
    let processor: Duration = waited.iter().map(|waiter| waiter.1).sum();
    let first = acquired.iter().copied().fold(f64::INFINITY, f64::min);
    let last = acquired.iter().copied().fold(0.0, f64::max);
    [processor.as_secs_f64() * 1e3, first, last]
}

/// All threads insert one item and remove it, in turn, in a table that is half full.
fn hot_item(plan: &Plan, threads: usize, results: &mut Results) {
    let slots = plan.last_slots();
    for name in FILTERS.into_iter().filter(|name| plan.includes(name)) {
        let mut table = build(name, slots as usize);
        let keys = Keys::new(1000);
        fill(table.as_mut(), keys, slots / 2);
        let (table, key) = (shared(table.as_ref()), keys.key(slots / 2));
        let (counted, histogram) = record(plan, threads, |_| {
            let mut inserts = false;
            move || {
                inserts = !inserts;
                // Other threads may have filled both buckets with copies.
                table.run(&[if inserts { Step::Insert(key) } else { Step::Remove(key) }]);
            }
        });
        let place = (slots, threads);
        results.push_counted(place, name, RATE, counted);
        for percent in PERCENTILES {
            let nanos = histogram.value_at_percentile(percent) as f64;
            results.push(place, name, &percentile(HOT, percent), nanos);
        }
    }
}
