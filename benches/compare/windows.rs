//! Windows of the last n items: an expiring filter beside a cache of n keys, and two exact sets in turn.
//!
//! Each new key is followed by a key that was new [`AGO`] windows of inserts ago. An item must be remembered until n
//! inserts of any items have come after it.

use std::collections::HashSet;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coucal::{ExpiringBuilder, ExpiringCuckooFilter, Fixed, Fp16x4};
use coucal_benches::keys::{CHUNK, Keys, Which, mix};
use coucal_benches::text::Table;
use parking_lot::Mutex;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, UnitWeighter};

use crate::hash::KeyHash;
use crate::output::{all_figures, all_scaling};
use crate::pieces::{self, Counted, count};
use crate::results::{Results, median};
use crate::threads::{again, part};
use crate::views::timed;
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic = Topic {
    name: "windows",
    slots: &[1 << 20],
    subjects: || SUBJECTS.map(|subject| subject.0).to_vec(),
    measure,
    tables,
    plots: |_| Vec::new(),
};

/// A key comes again after this share of a window.
const AGO: f64 = 0.9;
/// The windows that pass before the lookups.
const WINDOWS: u64 = 6;
/// The generations of a window, without the present one.
const GENERATIONS: u32 = 10;
const SHARDS: usize = 16;

const BYTES: &str = "bytes per item of the window";
const MISSED: &str = "forgotten in the window, %";
const LATE: &str = "remembered after two windows, %";
const RATE: &str = "new, but taken for seen, %";
const NEW: &str = "insert, new, ns";
const AGAIN: &str = "insert, again, ns";
const FIGURES: [&str; 6] = [BYTES, MISSED, LATE, RATE, NEW, AGAIN];
/// Million inserts per second of one thread, and of two.
const SHARED: [&str; 2] = ["insert, new", "insert, again"];

/// A subject that remembers the last items.
trait Remembers: Sync {
    /// Inserts a key. Returns whether it is new.
    fn insert(&self, key: u64) -> bool;
    /// Returns whether it is remembered, and changes nothing.
    fn contains(&self, key: u64) -> bool;
}

type Expiring = ExpiringCuckooFilter<Fp16x4, KeyHash>;

impl Remembers for Expiring {
    fn insert(&self, key: u64) -> bool {
        self.insert(&key).expect("it has room, or makes room")
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
}

/// Ends a generation after a number of inserts, whether new or not.
struct Counting {
    filter: Expiring,
    inserts: AtomicU64,
    of_generation: u64,
}

impl Remembers for Counting {
    fn insert(&self, key: u64) -> bool {
        // Relaxed: only a number.
        if (self.inserts.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.of_generation) {
            self.filter.advance();
        }
        Remembers::insert(&self.filter, key)
    }
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }
}

impl Remembers for Cache<u64, (), UnitWeighter, KeyHash> {
    fn insert(&self, key: u64) -> bool {
        let mut is_new = false;
        let inserted = self.get_or_insert_with(&key, || {
            is_new = true;
            Ok::<_, ()>(())
        });
        inserted.expect("the function fails never");
        is_new
    }
    fn contains(&self, key: u64) -> bool {
        self.peek(&key).is_some()
    }
}

/// Shards of two sets each: the current one, and the one before.
struct Sets {
    shards: Vec<Mutex<[HashSet<u64, KeyHash>; 2]>>,
    /// The number of keys with which a current set becomes the one before.
    of_set: usize,
}

impl Sets {
    fn new(window: usize) -> Self {
        // Some shards get more keys than others.
        let of_set = window / SHARDS * 11 / 10;
        let sets = || [0; 2].map(|_| HashSet::with_capacity_and_hasher(of_set, KeyHash::default()));
        Self { shards: (0..SHARDS).map(|_| Mutex::new(sets())).collect(), of_set }
    }

    fn shard(&self, key: u64) -> &Mutex<[HashSet<u64, KeyHash>; 2]> {
        &self.shards[mix(key) as usize % SHARDS]
    }
}

impl Remembers for Sets {
    fn insert(&self, key: u64) -> bool {
        let [current, previous] = &mut *self.shard(key).lock();
        if current.len() == self.of_set {
            mem::swap(current, previous);
            current.clear();
        }
        current.insert(key) && !previous.contains(&key)
    }
    fn contains(&self, key: u64) -> bool {
        self.shard(key).lock().iter().any(|set| set.contains(&key))
    }
}

type Make = fn(usize) -> Box<dyn Remembers>;

/// Returns the builder of a filter of the generations of a window, and of the present one.
fn expiring(capacity: usize) -> ExpiringBuilder<Fixed<Fp16x4>, KeyHash> {
    let builder = ExpiringCuckooFilter::builder().layout::<Fp16x4>().hasher(KeyHash::default());
    builder.generations(GENERATIONS + 1).capacity(capacity)
}

fn of_generation(window: usize) -> usize {
    window.div_ceil(GENERATIONS as usize)
}

const SUBJECTS: [(&str, Make); 4] = [
    ("coucal, `every_items`", |window| {
        let new = of_generation(window);
        let builder = expiring(window + new).every_items(new).forget_oldest_when_full();
        Box::new(builder.build().expect("memory"))
    }),
    ("coucal, `advance` after a number of inserts", |window| {
        let new = of_generation(window);
        Box::new(Counting {
            // While one thread advances, the present generation also gets the items of others.
            filter: expiring(window + 2 * new).build().expect("memory"),
            inserts: AtomicU64::new(0),
            of_generation: new as u64,
        })
    }),
    ("quick_cache", |window| {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(window).weight_capacity(window as u64);
        let options = options.build().expect("sizes");
        let hasher = KeyHash::default();
        let cache = Cache::with_options(options, UnitWeighter, hasher, DefaultLifecycle::default());
        Box::new(cache)
    }),
    ("two sets in each of 16 shards", |window| Box::new(Sets::new(window))),
];

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let keys = Keys::new(1 + round as u64);
        for (name, make) in SUBJECTS {
            if plan.includes(name) {
                let (subject, figures) = one(keys, slots * 3 / 4, make);
                for (figure, value) in FIGURES.into_iter().zip(figures) {
                    results.push((slots, 1), name, figure, value);
                }
                for threads in [1, 2] {
                    let counted = shared(plan, Keys::new(100 + threads as u64), &*subject, threads);
                    for (workload, counted) in SHARED.into_iter().zip(counted) {
                        results.push_counted((slots, threads), name, workload, counted);
                    }
                }
            }
        }
    }
}

/// Measures with one thread. Returns the subject afterwards.
fn one(keys: Keys, window: u64, make: Make) -> (Box<dyn Remembers>, [f64; FIGURES.len()]) {
    // Two inserts for each new key.
    let ago = (AGO * window as f64 / 2.0) as u64;
    let all = WINDOWS * window / 2;
    // A small part of a window, so that a key comes again at its time.
    let step = (window / 64).min(CHUNK as u64);
    // These lists allocate nothing later: otherwise their bytes would be counted as those of the subject.
    let chunks = all.div_ceil(step) as usize;
    let [mut new, mut repeated] = [(); 2].map(|()| Vec::with_capacity(chunks));
    let before = allocated();
    let subject = make(window as usize);
    let [mut missed, mut checked, mut wrong, mut asked, mut most] = [0; 5];
    for from in (0..all).step_by(step as usize) {
        let fresh = keys.collect(Which::InOrder, from..from + step);
        let (nanos, count) = timed(&fresh, |&key| subject.insert(key));
        let is_late = from > all / 2;
        if is_late {
            new.push(nanos);
            asked += fresh.len();
            wrong += fresh.len() - count;
        }
        if from >= ago {
            let old = keys.collect(Which::InOrder, from - ago..from - ago + step);
            let (nanos, count) = timed(&old, |&key| subject.insert(key));
            if is_late {
                repeated.push(nanos);
                checked += old.len();
                missed += count;
            }
        }
        if is_late {
            most = most.max(allocated() - before - size_of_val(&*fresh));
        }
    }
    // The latest insert of each of these keys was two to three windows ago.
    let end = (all - ago).saturating_sub(window);
    let late = keys.collect(Which::InOrder, end.saturating_sub(window / 2)..end);
    let remembered = late.iter().filter(|&&key| subject.contains(key)).count();
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    let figures = [
        most as f64 / window as f64,
        percent(missed, checked),
        percent(remembered, late.len()),
        percent(wrong, asked),
        median(&new).unwrap_or(f64::NAN),
        median(&repeated).unwrap_or(f64::NAN),
    ];
    (subject, figures)
}

/// Measures the throughput of this number of threads together, for each workload.
fn shared(
    plan: &Plan,
    keys: Keys,
    subject: &dyn Remembers,
    threads: usize,
) -> [Counted; SHARED.len()] {
    let insert = |keys: &[u64]| timed(keys, |&key| subject.insert(key)).1 as u64;
    let fresh = keys.collect(Which::InOrder, 0..8 * plan.operations);
    let pieces = pieces::run((0..threads).collect(), |thread, meter| {
        for chunk in part(&fresh, thread, threads).chunks(CHUNK) {
            insert(chunk);
            meter.add(chunk.len());
        }
    });
    let new = Counted::together(&count(&pieces));
    let newest = &fresh[fresh.len() - plan.operations as usize / 4..];
    let duration = Duration::from_micros(plan.operations / 5);
    let chunks = |thread| part(newest, thread, threads).chunks(CHUNK);
    [new, again(duration, threads, chunks, insert)]
}

fn tables(results: &Results) -> Vec<Table> {
    let subjects = SUBJECTS.map(|(name, _)| name);
    let threads = all_scaling("windows-threads", results, &subjects, &SHARED);
    vec![all_figures("windows", results, &subjects, &FIGURES), threads]
}
