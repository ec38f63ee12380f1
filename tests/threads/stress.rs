//! Threads on the real machine: settled items are found while others insert, remove, replace, kick, and let the table
//! grow.
//!
//! In a long run of length n, each test of filters makes n times 10^8 lookups of settled keys in all, over all tables
//! and numbers of threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use coucal::{Error, Prehashed};
use coucal_reference::format::Value;
use rand::{Rng, RngExt};

use crate::common::{
    Item, Kind, Layout, Random, Stop, Stopped, Subject, default_layout, hashes, random,
    repetitions, turn, usually,
};

of_each_layout! {
    filters
    maplets
    crowds
}

of_each_growing_layout! {
    crowds_grow
    small_filters_grow
    small_maplets_grow
}

/// The number of lookups of a long run.
const LONG: u64 = 100_000_000;

/// The work of the threads.
#[derive(Clone, Copy)]
struct Plan {
    /// The number of writers, which is also that of readers.
    writers: usize,
    /// The number of keys that are there all the time.
    settle: usize,
    /// The maximum number of pairs or items.
    most: usize,
    /// The minimum number of operations of each writer.
    operations: usize,
    /// The minimum number of lookups of all readers.
    lookups: u64,
    seed: u64,
}

/// What the threads share.
struct Shared<'a> {
    kind: Kind,
    subject: &'a dyn Subject,
    plan: Plan,
    /// Each settled key has the value 0. In a maplet, those of `has_other` have another value.
    settled: Vec<u64>,
    /// The number of writers that are not done.
    writing: AtomicUsize,
    looked_up: AtomicU64,
    /// Set by a reader that ends, so that an assertion ends all of them.
    stop: AtomicBool,
}

impl Shared<'_> {
    /// Returns whether a settled key has another value, which is replaced all the time: the largest value, or 1.
    fn has_other(&self, hash: u64) -> bool {
        self.kind.value_bits > 0 && hash.is_multiple_of(4)
    }

    fn is_looked_up(&self) -> bool {
        self.looked_up.load(Ordering::Relaxed) >= self.plan.lookups
    }

    /// Checks that each settled key has its value, and that those with another value have that or the one that replaces
    /// it.
    fn look(&self, reader: usize) {
        let _stop = Stop(&self.stop);
        let (last, first) = self.settled.split_at(reader * self.settled.len() / self.plan.writers);
        let batches = first.chunks(64).chain(last.chunks(64)).cycle();
        for (n, batch) in batches.enumerate() {
            let found: Vec<Vec<Value>> = match (n + reader) % 8 {
                // A filter counts under locks, so this is done rarely.
                0 => batch.iter().map(|&hash| self.subject.values(hash)).collect(),
                1 | 2 => self.subject.values_each(batch),
                _ => {
                    let is_there = |&hash: &u64| self.subject.contains(hash);
                    assert!(batch.iter().all(is_there), "a settled key is missed");
                    Vec::new()
                }
            };
            for (&hash, values) in batch.iter().zip(found) {
                assert!(values.contains(&0), "a settled value is missed: {values:?}");
                let has_other = values.contains(&self.kind.top()) || values.contains(&1);
                assert!(has_other || !self.has_other(hash), "neither old nor new: {values:?}");
            }
            self.looked_up.fetch_add(batch.len() as u64, Ordering::Relaxed);
            let is_done = self.writing.load(Ordering::SeqCst) == 0 && self.is_looked_up();
            if is_done || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
}

/// The items of a writer: no other thread inserts, replaces or removes them.
struct Writer<'a> {
    shared: &'a Shared<'a>,
    random: Random,
    /// The number of items that it may have.
    share: usize,
    held: Vec<Item>,
    /// Settled keys, and which of their values is next.
    changing: Vec<(u64, [Value; 2])>,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared<'a>, number: usize) -> Self {
        let of_others = shared.settled.iter().filter(|&&hash| shared.has_other(hash));
        let own = of_others.clone().skip(number).step_by(shared.plan.writers);
        let room = shared.plan.most.saturating_sub(shared.settled.len() + of_others.count());
        Self {
            shared,
            random: random(shared.plan.seed + number as u64 + 1),
            // In a small table of fixed size, more than there is room for.
            share: (room / shared.plan.writers).max(usize::from(!shared.kind.grows)),
            held: Vec::new(),
            changing: own.map(|&hash| (hash, [shared.kind.top(), 1])).collect(),
        }
    }

    fn insert(&mut self) {
        let Shared { kind, subject, .. } = *self.shared;
        let item = (self.random.next_u64(), self.random.random_range(0..=kind.top()));
        let stored = if kind.value_bits > 0 || item.0.is_multiple_of(2) {
            subject.insert(item).map(|()| true)
        } else {
            // A colliding item of another writer makes it `Ok(false)`.
            subject.insert_if_absent(item)
        };
        match stored {
            Ok(false) => {}
            Ok(true) => {
                self.held.push(item);
                assert!(subject.contains(item.0), "a writer's own insert is lost");
                assert!(subject.values(item.0).contains(&item.1), "an own value is missed");
            }
            // In a small table, the last inserts may not reach some free slots.
            Err(error) => assert!(error == Error::Full && !kind.grows, "{error}: {subject:?}"),
        }
    }

    fn step(&mut self) {
        let Shared { kind, subject, .. } = *self.shared;
        let most = self.share - self.random.random_range(0..=self.share / 16);
        match self.random.random_range(0..8) {
            0..6 if self.held.len() < most => self.insert(),
            6 if !self.changing.is_empty() && self.random.random() => {
                let at = self.random.random_range(0..self.changing.len());
                let (hash, values) = &mut self.changing[at];
                assert!(subject.replace((*hash, values[0]), values[1]), "a pair is lost");
                values.swap(0, 1);
            }
            6 if kind.value_bits > 0 && !self.held.is_empty() => {
                let at = self.random.random_range(0..self.held.len());
                let new = self.random.random_range(0..=kind.top());
                assert!(subject.replace(self.held[at], new), "a pair is lost");
                self.held[at].1 = new;
            }
            _ if !self.held.is_empty() => {
                let item = self.held.swap_remove(self.random.random_range(0..self.held.len()));
                assert!(subject.remove(item), "a held item is lost");
            }
            _ => thread::yield_now(),
        }
    }

    /// Runs the writer, and returns the items that it has at the end.
    fn work(mut self) -> Vec<Item> {
        let Shared { plan, writing, stop, .. } = self.shared;
        let _stopped = Stopped(writing);
        let is_done = |steps| steps >= plan.operations && self.shared.is_looked_up();
        for steps in 0.. {
            if is_done(steps) || stop.load(Ordering::Relaxed) {
                break;
            }
            self.step();
        }
        let changing = self.changing.into_iter().map(|(hash, [now, _])| (hash, now));
        self.held.into_iter().chain(changing).collect()
    }
}

/// Some keys are settled. Each look finds them, whatever is written, kicked and split meanwhile. In the end all is
/// exact. Returns how many settled keys were looked up.
fn settled_keys_are_found(kind: Kind, subject: &dyn Subject, plan: Plan) -> u64 {
    let _turn = turn();
    let slots = subject.slots();
    let settled = hashes(plan.seed).take(plan.settle);
    let settled = settled.filter(|&hash| subject.insert((hash, 0)).is_ok()).collect();
    let (writing, looked_up) = (AtomicUsize::new(plan.writers), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let shared = Shared { kind, subject, plan, settled, writing, looked_up, stop };
    for &hash in shared.settled.iter().filter(|&&hash| shared.has_other(hash)) {
        subject.insert((hash, kind.top())).expect("half full");
    }
    assert_eq!(subject.slots(), slots, "half full");
    let mut writers: Vec<_> =
        (0..plan.writers).map(|number| Writer::new(&shared, number)).collect();
    if !kind.grows {
        // The table is full from the start, so that inserts kick.
        for writer in &mut writers {
            for _ in 0..2 * writer.share {
                if writer.held.len() < writer.share {
                    writer.insert();
                }
            }
        }
        let is_large = slots >= 1024 * kind.layout.slots && kind.layout.slots >= 4;
        assert!(!is_large || subject.load_factor() >= 0.93, "{subject:?}");
    }
    let start = &Barrier::new(2 * plan.writers);
    let held: Vec<Item> = thread::scope(|scope| {
        let shared = &shared;
        for reader in 0..plan.writers {
            scope.spawn(move || {
                start.wait();
                shared.look(reader);
            });
        }
        let writers = writers.into_iter().map(|writer| {
            scope.spawn(move || {
                start.wait();
                writer.work()
            })
        });
        let writers: Vec<_> = writers.collect();
        writers
            .into_iter()
            .flat_map(|writer| writer.join().expect("a writer's assertion"))
            .collect()
    });
    let all: Vec<Item> = shared.settled.iter().map(|&hash| (hash, 0)).chain(held).collect();
    // Writers keep up to a sixteenth less, and each may have removed a few more.
    let least = (plan.most - plan.most / 16).saturating_sub(4 * plan.writers);
    assert!(!kind.grows || all.len() >= least, "{} of {}", all.len(), plan.most);
    assert_eq!(subject.len(), all.len(), "{subject:?}");
    for &(hash, value) in &all {
        assert!(subject.values(hash).contains(&value), "{subject:?}");
    }
    assert!(all.into_iter().all(|item| subject.remove(item)), "each can be removed: {subject:?}");
    assert!(subject.is_empty());
    shared.looked_up.into_inner()
}

/// Half of the table is settled, and half of it in motion, at so high a load that most inserts kick.
fn filters(layout: Layout) {
    // The largest are beyond the cache.
    let all = [2, 4, 6, 16, 128, 1024, 1 << 14, 1 << 17, 1 << 20];
    let largest = if layout == default_layout() { 8 } else { 6 };
    let buckets = &all[..usually(largest, 9)];
    let threads = [2, 4, 8];
    let lookups = repetitions(250_000, LONG) / (buckets.len() * threads.len()) as u64;
    for (&buckets, threads) in buckets.iter().flat_map(|of| threads.map(|threads| (of, threads))) {
        let filter = layout.filter_of_slots(buckets * layout.slots);
        let (slots, writers, settle) = (filter.slots(), threads / 2, filter.slots() / 2);
        let (most, seed) = ((slots as f64 * 0.95) as usize, (slots * threads) as u64);
        let plan = Plan { writers, settle, most, operations: 0, lookups, seed };
        settled_keys_are_found(Kind { layout, grows: false, value_bits: 0 }, &filter, plan);
    }
}

/// Nearly full maplets.
fn maplets(layout: Layout) {
    for (most, value_bits, operations) in [(20, 1, 30_000), (500, 3, 30_000), (20_000, 2, 60_000)] {
        let kind = Kind { layout, grows: false, value_bits };
        let (settle, operations) = (most / 4, operations / usually(5, 1));
        let plan = Plan { writers: 4, settle, most, operations, lookups: 0, seed: 1 };
        settled_keys_are_found(kind, &*kind.build(0, most), plan);
    }
}

/// The maximum number of values per settled key of a crowd, or of copies per settled item.
const CROWD: usize = 12;

/// Settled keys have 1 to [`CROWD`] values each; in a filter the items have as many copies. Many of these are stashed.
/// Writers insert and remove further values of the same keys, and other keys, so that entries go to the stash and come
/// back. Each look finds all settled values.
fn settled_crowds_are_found(kind: Kind, keys: usize, lookups: u64) {
    const THREADS: usize = 4;
    let _turn = turn();
    let top = kind.top() as usize;
    // The lower half of the values is settled.
    let most = if top > 0 { CROWD.min(top.div_ceil(2)) } else { CROWD };
    let value = |n: usize| if top > 0 { n as Value } else { 0 };
    let settled: Vec<(u64, usize)> =
        hashes(1).take(keys).enumerate().map(|(at, hash)| (hash, 1 + at % most)).collect();
    let pairs = || settled.iter().flat_map(|&(hash, of)| (0..of).map(move |n| (hash, value(n))));
    let subject = &*kind.build(0, 2 * pairs().count());
    pairs().for_each(|pair| subject.insert(pair).expect("room"));
    assert!(subject.stashed().0 > 0 || most <= 2 * kind.layout.slots, "{subject:?}");
    let slots = subject.slots();
    // Where it grows, most steps of the writers make it larger at first.
    let (held_by_each, inserts, least_steps) =
        if kind.grows { (keys, 0.75, 5000) } else { (keys / THREADS, 0.5, 20_000) };
    let (writing, looked_up) = (&AtomicUsize::new(THREADS), &AtomicU64::new(0));
    let (stop, start) = (&AtomicBool::new(false), &Barrier::new(2 * THREADS));
    let look = |reader: usize| {
        let _stop = Stop(stop);
        let (last, first) = settled.split_at(reader * keys / THREADS);
        for (n, &(hash, of)) in first.iter().chain(last).cycle().enumerate() {
            assert!(subject.contains(hash), "a settled key is missed: {subject:?}");
            // A filter counts under locks, so this is done rarely.
            if top > 0 || n % 64 == 0 {
                let found = subject.values(hash);
                let copies = found.iter().filter(|&&found| found == 0).count();
                let is_there = |n| found.contains(&value(n));
                assert!((0..of).all(is_there) && (top > 0 || copies >= of), "{found:?} of {of}");
            }
            looked_up.fetch_add(1, Ordering::Relaxed);
            let is_done = writing.load(Ordering::SeqCst) == 0;
            if is_done || stop.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    let work = |number: usize| {
        let _stopped = Stopped(writing);
        let mut random = random(number as u64);
        let mut held = Vec::new();
        for steps in 0.. {
            let is_done = steps >= least_steps && looked_up.load(Ordering::Relaxed) >= lookups;
            if is_done || stop.load(Ordering::Relaxed) {
                break;
            }
            if held.len() < held_by_each && random.random_bool(inserts) {
                let hash = if random.random() {
                    settled[random.random_range(0..keys)].0
                } else {
                    random.next_u64()
                };
                let own = top.div_ceil(2)..=top;
                let item = (hash, random.random_range(own) as Value);
                match subject.insert(item) {
                    Ok(()) => held.push(item),
                    Err(error) => assert_eq!(error, Error::Full),
                }
            } else if !held.is_empty() {
                let item = held.swap_remove(random.random_range(0..held.len()));
                assert!(subject.remove(item), "a held item is lost");
            }
        }
        held
    };
    let (look, work) = (&look, &work);
    let held: Vec<Item> = thread::scope(|scope| {
        for reader in 0..THREADS {
            scope.spawn(move || {
                start.wait();
                look(reader);
            });
        }
        let writers = [0, 1, 2, 3].map(|number| {
            scope.spawn(move || {
                start.wait();
                work(number)
            })
        });
        writers
            .into_iter()
            .flat_map(|writer| writer.join().expect("a writer's assertion"))
            .collect()
    });
    assert!(!kind.grows || subject.slots() > slots, "{subject:?}");
    let all: Vec<Item> = pairs().chain(held).collect();
    assert_eq!(subject.len(), all.len(), "{subject:?}");
    assert!(all.into_iter().all(|item| subject.remove(item)), "each can be removed: {subject:?}");
    assert!(subject.is_empty());
}

fn crowds(layout: Layout) {
    crowds_of(layout, false);
}

fn crowds_grow(layout: Layout) {
    crowds_of(layout, true);
}

/// Crowds in a filter and in a maplet; several ones if they grow, since each soon has its last size.
fn crowds_of(layout: Layout, grows: bool) {
    let rounds = if grows { usually(4, 20) } else { 1 };
    for value_bits in [0, layout.longest_values().min(5)] {
        let kind = Kind { layout, grows, value_bits };
        for _ in 0..rounds {
            settled_crowds_are_found(kind, 300, repetitions(20_000, LONG / 2) / rounds);
        }
    }
}

/// From the smallest table to twice its size.
fn small_maplets_grow(layout: Layout) {
    for round in 0..usually(3, 10) {
        let kind = Kind { layout, grows: true, value_bits: 1 + round % 3 };
        let slots = kind.build(1, 1).slots();
        let most = ((2 * slots) as f64 * layout.target()) as usize;
        let maplet = kind.build(1, most);
        let (settle, operations, seed) = (slots / 8, 10_000, round.into());
        let plan = Plan { writers: 4, settle, most, operations, lookups: 0, seed };
        settled_keys_are_found(kind, &*maplet, plan);
        assert!(maplet.slots() > slots, "{maplet:?}");
    }
}

/// Grows repeatedly with each number of threads, from the first size to the last, and until one part in `share` of the
/// lookups of a long run is made.
fn grow_often(
    layout: Layout,
    [first, most]: [usize; 2],
    threads: &[usize],
    times: u64,
    share: u64,
) {
    let kind = Kind { layout, grows: true, value_bits: 0 };
    let asked = repetitions(0, LONG) / share / threads.len() as u64;
    for &threads in threads {
        let (mut looks, mut round) = (0, 0);
        while round < times || looks < asked {
            let filter = kind.build(first, most);
            let (writers, settle) = (threads / 2, filter.slots() / 2);
            // One of two steps makes it larger: so it is as large as it gets for some time.
            let operations = 3 * (most - settle) / writers;
            let plan = Plan { writers, settle, most, operations, lookups: 0, seed: round };
            looks += settled_keys_are_found(kind, &*filter, plan);
            round += 1;
        }
        println!("{} to {most}, {threads} threads: {looks} looks in {round} rounds", layout.name);
    }
}

fn small_filters_grow(layout: Layout) {
    grow_often(layout, [0, usually(10_000, 20_000)], &[2, 4, 8], usually(2, 10), 54);
}

/// From 2^9 slots to 2^18; in a long run from 2^13 to 2^22.
#[test]
fn filters_grow_nine_doublings() {
    let range = [0, 9].map(|doublings| {
        let slots = 1_u64 << (usually(9, 13) + doublings);
        (slots as f64 * (default_layout().target() - 0.04)) as usize
    });
    grow_often(default_layout(), range, &[8], 1, 6);
}

/// From the smallest table to 2^16 slots; in a long run to 2^20.
#[test]
fn filters_grow_from_the_smallest() {
    let layout = Layout::named("Fp32x2");
    let most = ((1_u64 << usually(16, 20)) as f64 * (layout.target() - 0.01)) as usize;
    grow_often(layout, [0, most], &[2, 8], 1, 6);
}

/// Many threads, one item: exactly one `insert_if_absent` of all threads returns true, and exactly one `remove`.
#[test]
fn one_winner() {
    const THREADS: usize = 8;
    let _turn = turn();
    for slots in [8, 24, 4096] {
        let filter = default_layout().filter_of_slots(slots);
        // Bystanders, so that some of the inserts have to kick, and some fail.
        let bystanders = hashes(slots as u64).take(slots * 7 / 8);
        let stored = bystanders.filter(|&hash| filter.insert(&Prehashed(hash)).is_ok()).count();
        let contested = hashes(1).filter(|&hash| !filter.contains(&Prehashed(hash)));
        let contested: Vec<Prehashed> = contested.take(500).map(Prehashed).collect();
        let barrier = Barrier::new(THREADS);
        let contest = |item| {
            barrier.wait();
            let inserted = filter.insert_if_absent(item);
            barrier.wait();
            let copies = filter.count(item);
            barrier.wait();
            (inserted, copies, filter.remove(item))
        };
        let outcomes: Vec<Vec<_>> = thread::scope(|scope| {
            let run = || contested.iter().map(contest).collect();
            let threads = [(); THREADS].map(|()| scope.spawn(run));
            threads.map(|thread| thread.join().expect("no panic")).into()
        });
        for at in 0..contested.len() {
            let each = || outcomes.iter().map(|of_thread| &of_thread[at]);
            let [won, lost, refused] = [Ok(true), Ok(false), Err(Error::Full)]
                .map(|answer| each().filter(|(inserted, ..)| *inserted == answer).count());
            assert_eq!(won + lost + refused, THREADS);
            assert!(won == 1 || won == 0 && lost == 0, "{won} won, {lost} lost");
            assert!(each().all(|&(_, copies, _)| copies == won));
            assert_eq!(each().filter(|&&(.., is_removed)| is_removed).count(), won);
        }
        assert_eq!(filter.len(), stored);
    }
}
