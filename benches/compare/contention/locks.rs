//! The lock of a stripe, and in the same place a mutex that parks its waiters, or nothing.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal::internals::StripeLock;
use coucal_measure::keys::mix;
use coucal_measure::timing::with_processor_nanos;
use parking_lot::Mutex;

use super::{Plan, Record};
use crate::results::Results;

pub const OURS: &str = "coucal's lock";
pub const MUTEX: &str = "parking_lot's mutex";
pub const NONE: &str = "no lock";
pub const NAMES: [&str; 3] = [OURS, MUTEX, NONE];

/// How long a holder is stopped.
const STOPPED: Duration = Duration::from_millis(100);

/// As many stripes as a table of 2^21 slots has, and each larger one.
const MANY: u64 = 4096;

/// Some stripes, one of which each operation takes at random.
#[derive(Clone, Copy)]
pub struct Scene {
    pub name: &'static str,
    pub what: &'static str,
    pub stripes: u64,
    /// One more thread holds a stripe for 100 ms.
    stopped: bool,
}

pub const ONE: Scene = Scene {
    name: "one stripe",
    what: "All threads want the same lock, as for one hot item.",
    stripes: 1,
    stopped: false,
};
pub const SCENES: [Scene; 4] = [
    ONE,
    Scene {
        name: "eight stripes",
        what: "A table has fewer only if it has fewer than eight buckets. All are in one cache line.",
        stripes: 8,
        stopped: false,
    },
    Scene {
        name: "4096 stripes",
        what: "As many as a large table has: two threads seldom want the same one.",
        stripes: MANY,
        stopped: false,
    },
    Scene {
        name: "4096 stripes, a stopped holder",
        what: "The same, and one more thread takes one of the locks and sleeps for 100 ms while it holds \
               it, once in each half second. Whoever comes to this stripe waits until it goes on.",
        stripes: MANY,
        stopped: true,
    },
];

/// The processor time of all waiters together, in ms.
pub const PROCESSOR: &str = "processor time of all waiters, ms";
/// From the end of the holder's work to the first waiter's lock, and to the last one's, in µs.
pub const FIRST: &str = "until the first has it, us";
pub const LAST: &str = "until the last has it, us";

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

/// Keeps nobody apart: shows what the scheduler and the caches do.
#[derive(Default)]
struct NoLock;

impl Exclusive for NoLock {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

/// As in a table: the lock, and beside it the number of slots in use.
#[derive(Default)]
struct Stripe<L> {
    lock: L,
    occupied: AtomicU32,
}

pub fn measure(plan: &Plan, threads: usize, results: &mut Results) {
    for scene in SCENES {
        let mut push = |name: &str, record: Record| {
            record.push((scene.stripes, threads), name, scene.name, results);
        };
        push(OURS, contend::<StripeLock>(plan, threads, scene));
        push(MUTEX, contend::<Mutex<()>>(plan, threads, scene));
        push(NONE, contend::<NoLock>(plan, threads, scene));
    }
}

/// Each operation locks a stripe, loads and stores a word of a bucket, counts, and unlocks.
fn contend<L: Exclusive>(plan: &Plan, threads: usize, scene: Scene) -> Record {
    /// Buckets of each stripe.
    const BUCKETS: u64 = 8;
    let stripes: Vec<Stripe<L>> = (0..scene.stripes).map(|_| Stripe::default()).collect();
    let words: Vec<_> = (0..scene.stripes * BUCKETS).map(AtomicU64::new).collect();
    let stop = || {
        if scene.stopped {
            // After the others have begun.
            thread::sleep(plan.duration / 8);
            stripes[0].lock.with(|| thread::sleep(STOPPED));
        }
    };
    Record::of(plan.duration, threads, &stop, |thread| {
        let mut random = (thread as u64) << 40;
        let (stripes, words) = (&stripes, &words);
        move || {
            random += 1;
            let bucket = mix(random) as usize % words.len();
            let Stripe { lock, occupied } = &stripes[bucket % stripes.len()];
            lock.with(|| {
                let word = words[bucket].load(Ordering::Relaxed);
                words[bucket].store(word.rotate_left(16) ^ random, Ordering::Relaxed);
                let count = occupied.load(Ordering::Relaxed);
                occupied.store(count.wrapping_add(1), Ordering::Relaxed);
            });
        }
    })
}

pub fn waiting(_: &Plan, threads: usize, results: &mut Results) {
    for (name, [processor, first, last]) in
        [(OURS, wait::<StripeLock>(threads)), (MUTEX, wait::<Mutex<()>>(threads))]
    {
        let mut push = |figure: &str, value: f64| results.push((1, threads), name, figure, value);
        push(PROCESSOR, processor * 1e3);
        push(FIRST, first * 1e6);
        push(LAST, last * 1e6);
    }
}

/// One thread holds the lock and sleeps, and all others wait for it: the seconds that they had a
/// processor in all, and from the end of the sleep until the first of them and the last has the lock.
fn wait<L: Exclusive>(waiters: usize) -> [f64; 3] {
    let lock = L::default();
    let waiter = || {
        let (acquired, nanos) = with_processor_nanos(|| lock.with(|| black_box(Instant::now())));
        (acquired, nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e9))
    };
    let (released, waited) = thread::scope(|scope| {
        let (released, threads) = lock.with(|| {
            let threads: Vec<_> = (0..waiters).map(|_| scope.spawn(waiter)).collect();
            thread::sleep(STOPPED);
            (Instant::now(), threads)
        });
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        (released, threads.into_iter().map(join).collect::<Vec<(Instant, f64)>>())
    });
    let since = |acquired: Option<Instant>| {
        acquired.map_or(f64::NAN, |acquired| (acquired - released).as_secs_f64())
    };
    let acquired = || waited.iter().map(|waiter| waiter.0);
    let processor = waited.iter().map(|waiter| waiter.1).sum();
    [processor, since(acquired().min()), since(acquired().max())]
}
