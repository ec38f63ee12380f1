//! Expiring filters: the memory and time of one, beside two filters in turn, two Bloom filters in turn, a filter with a
//! time to live for each item, and an exact map with times.
//!
//! Time passes in ticks. Each tick inserts the same number of new items, and each chunk of them a second time, right
//! after the first. An item must be remembered for [`WINDOW`] ticks. No insert has to tell whether its item is new.

use std::collections::HashMap;
use std::mem;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use coucal::{
    CuckooFilter, ExpiringBuilder, ExpiringCuckooFilter, Fixed, Fp12x5, Fp16x4, Fp21x3, Layout,
};
use coucal_benches::keys::{CHUNK, Keys, Which, mix};
use coucal_benches::text::Table;
use cuckoo_clock::config::{CuckooConfiguration, TtlConfig};
use fastbloom::AtomicBloomFilter;
use parking_lot::RwLock;

use crate::hash::KeyHash;
use crate::output::{all_figures, all_scaling};
use crate::pieces::{self, Counted, count};
use crate::results::{Results, median};
use crate::threads::{again, part};
use crate::views::timed;
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic = Topic {
    name: "expiry",
    slots: &[1 << 20],
    subjects: all_subjects,
    measure,
    tables,
    plots: |_| Vec::new(),
};

/// The number of ticks for which an item must be remembered.
const WINDOW: u64 = 15;
/// The number of ticks before the lookups. After them, two filters in turn have been cleared several times, and are in
/// the middle of a turn: there they have the mean number of items.
const TICKS: u64 = 5 * WINDOW + WINDOW / 2;
/// The number of the last ticks whose times count: two whole turns of two filters.
const TIMED: u64 = 2 * WINDOW;

const BITS: &str = "bits per live item";
const RATE: &str = "false positives, %";
const FORGOTTEN: &str = "forgotten in the window, %";
const REMEMBERED: &str = "remembered after it, %";
const NEW: &str = "insert, new, ns";
const HOT: &str = "insert, hot, ns";
const ABSENT: &str = "absent, ns";
const PRESENT: &str = "present, ns";
const TICK: &str = "tick, ns per live item";
const FIGURES: [&str; 9] = [BITS, RATE, FORGOTTEN, REMEMBERED, NEW, HOT, ABSENT, PRESENT, TICK];

/// The workloads of one thread and of two, in million operations per second.
const SHARED: [&str; 4] = [ABSENT_LOOKUPS, PRESENT_LOOKUPS, NEW_INSERTS, HOT_INSERTS];
const ABSENT_LOOKUPS: &str = "absent";
const PRESENT_LOOKUPS: &str = "present";
const NEW_INSERTS: &str = "insert, new";
const HOT_INSERTS: &str = "insert, hot";
/// Threads insert the new items of this number of ticks at once, so that it does not matter which thread begins first.
const BURST: u64 = 4;
/// There is one burst in this number of ticks, since a window of 16 generations has four bursts then.
const TICKS_OF_BURST: u64 = 5;
/// Two filters in turn repeat themselves after this number of bursts.
const BURSTS_OF_TURN: usize = (WINDOW / TICKS_OF_BURST) as usize;
/// The number of bursts before the measured ones. From the fifth burst on, the load before each burst is the same.
const FIRST_BURSTS: usize = 2 * BURSTS_OF_TURN;
/// The number of measured bursts.
const BURSTS: usize = 3 * BURSTS_OF_TURN;

/// The end of a generation in a large table, of 2 bytes per slot, by the number of generations: with 2 generations,
/// half of the items are forgotten.
const ADVANCES: [(&str, u32); 3] =
    [("2 generations", 2), ("16 generations", 16), ("256 generations", 256)];
const ADVANCE: [&str; 2] = ["an advance, ms", "ns per slot"];

/// A subject that forgets.
trait Forgets: Sync {
    /// Inserts a key, or renews it if it is there.
    fn insert(&self, key: u64);
    fn contains(&self, key: u64) -> bool;
    /// Called after each tick.
    fn tick(&self, tick: u64);
}

impl<L: Layout> Forgets for ExpiringCuckooFilter<L, KeyHash> {
    fn insert(&self, key: u64) {
        self.insert(&key).expect("what it was made for");
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn tick(&self, _: u64) {
        self.advance();
    }
}

/// A filter that is cleared as a whole.
trait Clears: Send + Sync {
    fn insert(&self, key: u64);
    fn contains(&self, key: u64) -> bool;
    fn clear(&mut self);
}

impl<L: Layout> Clears for CuckooFilter<L, KeyHash> {
    fn insert(&self, key: u64) {
        self.insert_if_absent(&key).expect("what it was made for");
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn clear(&mut self) {
        Self::clear(self);
    }
}

impl Clears for AtomicBloomFilter<KeyHash> {
    fn insert(&self, key: u64) {
        self.insert(&key);
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn clear(&mut self) {
        Self::clear(self);
    }
}

/// The current filter, and the one before.
struct InTurn<T>(RwLock<[T; 2]>);

impl<T: Clears> Forgets for InTurn<T> {
    fn insert(&self, key: u64) {
        self.0.read()[0].insert(key);
    }
    fn contains(&self, key: u64) -> bool {
        let [current, previous] = &*self.0.read();
        current.contains(key) || previous.contains(key)
    }
    fn tick(&self, tick: u64) {
        if (tick + 1).is_multiple_of(WINDOW) {
            let [current, previous] = &mut *self.0.write();
            mem::swap(current, previous);
            current.clear();
        }
    }
}

impl Forgets for cuckoo_clock::CuckooFilter<KeyHash> {
    fn insert(&self, key: u64) {
        self.insert_if_not_present(&key);
    }
    fn contains(&self, key: u64) -> bool {
        self.contains(&key)
    }
    fn tick(&self, _: u64) {
        self.scan_and_update_ttl();
    }
}

/// The tick of each key.
#[derive(Default)]
struct Exact {
    seen: RwLock<HashMap<u64, u32, KeyHash>>,
    now: AtomicU32,
}

impl Forgets for Exact {
    fn insert(&self, key: u64) {
        let now = self.now.load(Ordering::Relaxed);
        self.seen.write().insert(key, now);
    }
    fn contains(&self, key: u64) -> bool {
        self.seen.read().contains_key(&key)
    }
    fn tick(&self, _: u64) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.seen.write().retain(|_, seen| now - *seen <= WINDOW as u32);
    }
}

type Make = fn(usize) -> Box<dyn Forgets>;

type Builder<L> = ExpiringBuilder<Fixed<L>, KeyHash>;

fn builder<L: Layout>(live: usize) -> Builder<L> {
    let builder = ExpiringCuckooFilter::builder().layout::<L>().hasher(KeyHash::default());
    // One more for the present generation.
    builder.generations(WINDOW as u32 + 1).capacity(live + live / WINDOW as usize)
}

fn built<L: Layout + 'static>(builder: Builder<L>) -> Box<dyn Forgets> {
    Box::new(builder.build().expect("memory"))
}

/// Makes inserts look at a clock, by which no generation ends.
fn timed_by<L: Layout>(live: usize) -> Builder<L> {
    builder(live).every(Duration::from_secs(1 << 20))
}

fn instant() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

fn in_turn<L: Layout + 'static>(live: usize) -> Box<dyn Forgets> {
    let builder = CuckooFilter::builder().layout::<L>().hasher(KeyHash::default()).capacity(live);
    Box::new(InTurn(RwLock::new([0; 2].map(|_| builder.clone().build().expect("memory")))))
}

const SUBJECTS: [(&str, Make); 10] = [
    ("coucal, expiring, 16 bits", |live| built(builder::<Fp16x4>(live))),
    ("the same with the coarse clock", |live| built(timed_by::<Fp16x4>(live))),
    ("the same with an `Instant`", |live| built(timed_by::<Fp16x4>(live).clock(instant))),
    ("coucal, expiring, 21 bits", |live| built(builder::<Fp21x3>(live))),
    ("two coucal filters, 12 bits", in_turn::<Fp12x5>),
    ("two coucal filters, 16 bits", in_turn::<Fp16x4>),
    ("two Bloom filters (fastbloom), 0.1 %", |live| {
        let filter = || {
            let builder = AtomicBloomFilter::with_false_pos(0.001).hasher(KeyHash::default());
            builder.expected_items(live)
        };
        Box::new(InTurn(RwLock::new([filter(), filter()])))
    }),
    ("cuckoo-clock, 12 bits and 5 of time", |live| clock(live, 12)),
    ("cuckoo-clock, 16 bits and 5 of time", |live| clock(live, 16)),
    ("exact map with times", |_| Box::new(Exact::default())),
];

fn clock(live: usize, bits: usize) -> Box<dyn Forgets> {
    let ttl = NonZeroU32::new(WINDOW as u32 + 1).expect("above 0");
    let configuration = CuckooConfiguration::builder((live + live / WINDOW as usize) * 20 / 19)
        .fingerprint_bits(bits.try_into().expect("above 0"))
        .with_ttl(TtlConfig { ttl, ttl_bits: 5.try_into().expect("above 0") })
        .build();
    Box::new(cuckoo_clock::CuckooFilter::new(configuration.expect("sizes"), KeyHash::default()))
}

/// Returns all subjects, and the numbers of generations of an advance, that can be measured alone.
fn all_subjects() -> Vec<&'static str> {
    let advances = ADVANCES.map(|(name, _)| name);
    SUBJECTS.iter().map(|subject| subject.0).chain(advances).collect()
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let keys = Keys::new(1 + round as u64);
        for (name, generations) in ADVANCES.into_iter().filter(|(name, _)| plan.includes(name)) {
            let slots = 16 * slots;
            let nanos = advance(slots, generations, keys);
            results.push((slots, 1), name, ADVANCE[0], nanos / 1e6);
            results.push((slots, 1), name, ADVANCE[1], nanos / slots as f64);
        }
        // The number of items that a tick inserts.
        let of_tick = slots * 9 / 10 / (WINDOW + 1);
        for (name, make) in SUBJECTS {
            if plan.includes(name) {
                let (subject, figures) = one(plan, keys, of_tick, make);
                for (figure, value) in FIGURES.into_iter().zip(figures) {
                    results.push((slots, 1), name, figure, value);
                }
                let mut tick = TICKS;
                for threads in [1, 2] {
                    let counted = shared(plan, keys, of_tick, &*subject, threads, &mut tick);
                    for (workload, counted) in SHARED.into_iter().zip(counted) {
                        results.push_counted((slots, threads), name, workload, counted);
                    }
                }
            }
        }
    }
}

/// Measures the nanoseconds of an advance in a table that is as full as it will be.
fn advance(slots: u64, generations: u32, keys: Keys) -> f64 {
    let items = slots * 9 / 10;
    let builder =
        ExpiringCuckooFilter::builder().generations(generations).hasher(KeyHash::default());
    let filter = builder.capacity(items as usize).build().expect("memory");
    let new = items / u64::from(generations);
    let mut nanos = Vec::new();
    for generation in 0..u64::from(generations) + 4 {
        for key in keys_of(keys, generation, new) {
            filter.insert(&key).expect("there is room");
        }
        let started = Instant::now();
        let forgotten = filter.advance();
        if forgotten > 0 {
            nanos.push(started.elapsed().as_nanos() as f64);
        }
    }
    median(&nanos).expect("some generations have ended")
}

/// Returns the keys that are new in a tick.
fn keys_of(keys: Keys, tick: u64, of_tick: u64) -> Vec<u64> {
    keys.collect(Which::InOrder, tick * of_tick..(tick + 1) * of_tick)
}

/// Inserts all keys. Returns the nanoseconds of each insert.
fn insert_all(subject: &dyn Forgets, keys: &[u64]) -> f64 {
    let started = Instant::now();
    for &key in keys {
        subject.insert(key);
    }
    started.elapsed().as_nanos() as f64 / keys.len() as f64
}

/// Draws a number below `count`, always the same for an index.
fn drawn(index: u64, count: u64) -> u64 {
    ((u128::from(mix(!index)) * u128::from(count)) >> 64) as u64
}

/// Measures with one thread. Returns the subject after all ticks.
fn one(
    plan: &Plan,
    keys: Keys,
    of_tick: u64,
    make: Make,
) -> (Box<dyn Forgets>, [f64; FIGURES.len()]) {
    let live = (WINDOW * of_tick) as usize;
    // These lists allocate nothing later: otherwise their bytes would be counted as those of the subject.
    let chunks = TIMED as usize * (of_tick as usize).div_ceil(CHUNK);
    let [mut new, mut hot, mut ticks] = [(); 3].map(|()| Vec::with_capacity(chunks));
    let before = allocated();
    let subject = make(live);
    let [mut forgotten, mut late, mut most] = [0, 0, 0];
    for tick in 0..TICKS {
        let fresh = keys_of(keys, tick, of_tick);
        let is_timed = tick >= TICKS - TIMED;
        for chunk in fresh.chunks(CHUNK) {
            let nanos = [(); 2].map(|()| insert_all(&*subject, chunk));
            if is_timed {
                new.push(nanos[0]);
                hot.push(nanos[1]);
            }
        }
        most = most.max(allocated() - before - size_of_val(&*fresh));
        if tick >= TICKS - WINDOW {
            // An item that was inserted `WINDOW` ticks ago is still remembered; an older one must not be.
            let seen =
                |ago| timed(&keys_of(keys, tick - ago, of_tick), |&key| subject.contains(key)).1;
            forgotten += fresh.len() - seen(WINDOW - 1);
            late += (WINDOW + 1..=2 * WINDOW).map(seen).sum::<usize>();
        }
        let started = Instant::now();
        subject.tick(tick);
        if is_timed {
            ticks.push(started.elapsed().as_nanos() as f64 / live as f64);
        }
    }
    let mut lookups = [const { Vec::new() }; 2];
    let mut found = 0;
    let looked_up = plan.operations.max(CHUNK as u64);
    for from in (0..looked_up).step_by(CHUNK) {
        let chunk = from..from + CHUNK as u64;
        let absent = timed(&keys.collect(Which::Absent, chunk), |&key| subject.contains(key));
        found += absent.1;
        // Items of the whole window, since two filters in turn find the new ones first.
        let oldest = (TICKS - WINDOW) * of_tick;
        let present: Vec<_> = (from..from + CHUNK as u64)
            .map(|at| keys.key(oldest + drawn(at, WINDOW * of_tick)))
            .collect();
        let present = timed(&present, |&key| subject.contains(key));
        lookups[0].push(absent.0);
        lookups[1].push(present.0);
    }
    let checked = (WINDOW * of_tick) as f64;
    let [new, hot] = [new, hot].map(|nanos| median(&nanos).unwrap_or(f64::NAN));
    let [absent, present] = lookups.map(|nanos| median(&nanos).unwrap_or(f64::NAN));
    let figures = [
        most as f64 * 8.0 / live as f64,
        100.0 * found as f64 / looked_up as f64,
        100.0 * forgotten as f64 / checked,
        100.0 * late as f64 / (checked * WINDOW as f64),
        new,
        hot,
        absent,
        present,
        ticks.iter().sum::<f64>() / ticks.len() as f64,
    ];
    (subject, figures)
}

/// Measures the throughput of this number of threads together, for each workload; `tick` is the next one. All calls
/// begin and end at the same place in a turn of two filters.
fn shared(
    plan: &Plan,
    keys: Keys,
    of_tick: u64,
    subject: &dyn Forgets,
    threads: usize,
    tick: &mut u64,
) -> [Counted; SHARED.len()] {
    let mut bursts = Vec::new();
    let mut inserted = Vec::new();
    for burst in 0..FIRST_BURSTS + BURSTS {
        let newest = keys.collect(Which::InOrder, *tick * of_tick..(*tick + BURST) * of_tick);
        for _ in 0..TICKS_OF_BURST {
            subject.tick(*tick);
            *tick += 1;
        }
        let pieces = pieces::run((0..threads).collect(), |thread, meter| {
            for chunk in part(&newest, thread, threads).chunks(CHUNK) {
                insert_all(subject, chunk);
                meter.add(chunk.len());
            }
        });
        inserted.push(newest);
        if burst >= FIRST_BURSTS {
            bursts.push(Counted::together(&count(&pieces)));
        }
    }
    let rates: Vec<_> = bursts.iter().map(|burst| burst.rate).collect();
    let new = Counted {
        rate: median(&rates).unwrap_or(f64::NAN),
        pieces: bursts.iter().map(|burst| burst.pieces).sum(),
    };
    let absent = keys.collect(Which::Absent, 0..plan.operations);
    let newest = &inserted[inserted.len() - 1];
    // Items of all bursts of the window.
    let of_window = inserted[inserted.len() - BURSTS_OF_TURN..].concat();
    let one_of_window = |at| of_window[drawn(at, of_window.len() as u64) as usize];
    let present: Vec<_> = (0..plan.operations).map(one_of_window).collect();
    // In three rounds about 60 pieces of each thread.
    let duration = Duration::from_micros(plan.operations / 5);
    let contains = |keys: &[u64]| timed(keys, |&key| subject.contains(key)).1 as u64;
    let insert = |keys: &[u64]| {
        insert_all(subject, keys);
        0
    };
    [
        again(duration, threads, |thread| part(&absent, thread, threads).chunks(CHUNK), contains),
        again(duration, threads, |thread| part(&present, thread, threads).chunks(CHUNK), contains),
        new,
        again(duration, threads, |thread| part(newest, thread, threads).chunks(CHUNK), insert),
    ]
}

fn tables(results: &Results) -> Vec<Table> {
    let subjects = SUBJECTS.map(|(name, _)| name);
    let threads = all_scaling("expiry-threads", results, &subjects, &SHARED);
    let advances = ADVANCES.map(|(name, _)| name);
    let advances = all_figures("expiry-advance", results, &advances, &ADVANCE);
    vec![all_figures("expiry", results, &subjects, &FIGURES), threads, advances]
}
