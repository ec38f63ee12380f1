//! Threads on the real machine: settled keys are found while others kick, insert and remove.
//!
//! On a long run of length n each test makes n times 10^8 lookups of settled keys in all, over all tables
//! and numbers of threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use coucal::{Error, Prehashed, Storage};
use rand::{Rng, RngExt};

use crate::common::{
    Filter, Growing, Layout, Random, Stopped, default_layout, hashes, random, repetitions, turn,
    usually,
};

/// Lookups of a long run.
const LONG: u64 = 100_000_000;

/// What a writer owns: nobody else inserts or removes these hashes.
struct Writer {
    random: Random,
    held: Vec<u64>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self { random: random(seed), held: Vec::new() }
    }

    /// Inserts while the load is below a mark between 93 and 97 %, removes while it is above. The
    /// load is looked at once for some operations: in a large table that takes a while.
    fn work(&mut self, filter: &Filter) {
        let most = (filter.slots() as f64 * self.random.random_range(0.93..0.97)) as usize;
        let below = filter.len() < most.max(filter.slots() / 2);
        for _ in 0..(filter.slots() / 256).clamp(1, 64) {
            if below {
                // In a full table it may be refused.
                let _ = self.insert(filter);
            } else if self.held.is_empty() {
                thread::yield_now();
            } else {
                let chosen = self.random.random_range(0..self.held.len());
                assert!(
                    filter.remove(&Prehashed(self.held.swap_remove(chosen))),
                    "a held item is lost"
                );
            }
        }
    }

    fn insert<L: Storage>(&mut self, filter: &Filter<L>) -> Result<(), Error> {
        let hash = self.random.next_u64();
        let stored = if hash.is_multiple_of(2) {
            filter.insert(&Prehashed(hash)).map(|()| true)
        } else {
            // A colliding item of another writer makes it `Ok(false)`.
            filter.insert_unique(&Prehashed(hash))
        };
        if stored == Ok(true) {
            self.held.push(hash);
            assert!(filter.contains(&Prehashed(hash)), "a writer's own insert is lost");
        }
        stored.map(|_| ())
    }
}

/// Half the table settled, half of it in motion; `threads` writers and readers in turn.
fn settled_keys_are_found_in(layout: Layout, slots: usize, threads: usize, lookups: u64) {
    let _turn = turn();
    let filter = layout.filter_of_slots(slots);
    let mut random = random((slots * threads) as u64);
    let settled: Vec<u64> = (0..slots / 2).map(|_| random.next_u64()).collect();
    let settled: Vec<u64> =
        settled.into_iter().filter(|&hash| filter.insert(&Prehashed(hash)) == Ok(())).collect();
    // Readers also write, in turn, where there is but one thread for both.
    let writers = (threads / 2).max(1);
    let readers = (threads - writers).max(1);
    let looked_up = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let start = Barrier::new(writers + readers);

    // Full from the start, as far as it goes: the last slots of a tiny table may be out of reach.
    let mut working: Vec<_> = (1..=writers as u64).map(Writer::new).collect();
    let mut missing = (slots * 93).div_ceil(100).saturating_sub(settled.len());
    for attempt in 0..slots {
        if missing > 0 {
            let writer = &mut working[attempt % writers];
            let before = writer.held.len();
            let _ = writer.insert(&filter);
            missing -= writer.held.len() - before;
        }
    }
    if slots >= 1024 * layout.slots && layout.slots >= 4 {
        assert!(filter.load_factor() >= 0.93, "{}", filter.load_factor());
    }

    let held: Vec<u64> = thread::scope(|scope| {
        let writing: Vec<_> = working
            .into_iter()
            .map(|mut writer| {
                let (filter, start, stop) = (&filter, &start, &stop);
                scope.spawn(move || {
                    start.wait();
                    while !stop.load(Ordering::Relaxed) {
                        writer.work(filter);
                    }
                    writer.held
                })
            })
            .collect();
        let reading: Vec<_> = (0..readers)
            .map(|reader| {
                let (filter, start, settled, looked_up) = (&filter, &start, &settled, &looked_up);
                scope.spawn(move || {
                    const BATCH: usize = 64;
                    let mut found = [false; BATCH];
                    start.wait();
                    let mut at = reader * settled.len() / readers;
                    while looked_up.fetch_add(BATCH as u64, Ordering::Relaxed) < lookups {
                        at = if at + BATCH > settled.len() { 0 } else { at };
                        let batch = &settled[at..settled.len().min(at + BATCH)];
                        if reader % 2 == 0 {
                            for &hash in batch.iter().cycle().take(BATCH) {
                                assert!(
                                    filter.contains(&Prehashed(hash)),
                                    "a settled item is missed"
                                );
                            }
                        } else {
                            let found = &mut found[..batch.len()];
                            filter
                                .contains_many(Prehashed::slice(batch), found)
                                .expect("equal lengths");
                            assert!(found.iter().all(|&found| found), "a settled item is missed");
                        }
                        at += BATCH;
                    }
                })
            })
            .collect();
        let results: Vec<_> = reading.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        let held =
            writing.into_iter().flat_map(|w| w.join().expect("a writer's assertion")).collect();
        for result in results {
            result.expect("a reader's assertion");
        }
        held
    });

    assert_eq!(filter.len(), settled.len() + held.len(), "{slots} slots, {threads} threads");
    for hash in settled.iter().chain(&held) {
        assert!(filter.contains(&Prehashed(*hash)));
    }
    for hash in settled.iter().chain(&held) {
        assert!(filter.remove(&Prehashed(*hash)), "each stored copy can be removed");
    }
    assert!(filter.is_empty());
}

fn settled_keys_are_found(layout: Layout) {
    // The largest are beyond the cache.
    let all = [2, 4, 6, 16, 128, 1024, 1 << 14, 1 << 17, 1 << 20];
    let largest = if layout == default_layout() { 8 } else { 6 };
    let buckets = &all[..usually(largest, 9)];
    let threads = [2, 4, 8];
    let share = repetitions(250_000, LONG) / (buckets.len() * threads.len()) as u64;
    for &buckets in buckets {
        for threads in threads {
            settled_keys_are_found_in(layout, buckets * layout.slots, threads, share);
        }
    }
}

of_each_layout!(settled_keys_are_found);

of_each_growing_layout!(settled_keys_are_found_while_small_filters_grow);

/// Threads make a filter grow from its first size to `most` items. Each inserts, some by `insert_unique`,
/// and now and then removes what it has inserted, or counts a settled item; the others look settled items
/// up, which must be there at every look, whatever is split meanwhile. In the end all of it is exact.
///
/// Says how many settled items were looked up.
fn settled_keys_are_found_while_it_grows(
    layout: Layout,
    [first, most]: [usize; 2],
    threads: usize,
    seed: u64,
) -> u64 {
    let _turn = turn();
    let filter = layout.growing(first, most);
    let (slots, settle) = (filter.slots(), filter.slots() / 2);
    let settled: Vec<u64> = hashes(seed)
        .take(settle)
        .filter(|&hash| filter.insert(&Prehashed(hash)) == Ok(()))
        .collect();
    assert_eq!(filter.slots(), slots, "half full");
    let writers = (threads / 2).max(1);
    let readers = threads - writers;
    let start = Barrier::new(threads);
    let writing = AtomicUsize::new(writers);
    // Each has its share of the items, so that all of them fit.
    let share = (most - settled.len()) / writers;

    let (held, looks): (Vec<u64>, u64) = thread::scope(|scope| {
        let (filter, settled, start, writing) = (&filter, &settled, &start, &writing);
        let writers: Vec<_> = (1..=writers as u64)
            .map(|number| {
                scope.spawn(move || {
                    // However it ends, the readers must not go on for ever.
                    let _stopped = Stopped(writing);
                    let mut writer = Writer::new(seed + number);
                    start.wait();
                    grow(&mut writer, filter, settled, share);
                    writer.held
                })
            })
            .collect();
        let readers: Vec<_> = (0..readers)
            .map(|reader| {
                scope.spawn(move || {
                    start.wait();
                    look(filter, settled, reader, writing)
                })
            })
            .collect();
        let looks = readers.into_iter().map(|r| r.join().expect("a reader's assertion")).sum();
        let held = writers.into_iter().flat_map(|w| w.join().expect("a writer's assertion"));
        (held.collect(), looks)
    });

    assert!(held.len() >= writers * share * 9 / 10, "{} of {most}", held.len());
    assert_eq!(filter.len(), settled.len() + held.len(), "{filter:?}");
    for hash in settled.iter().chain(&held) {
        assert!(filter.contains(&Prehashed(*hash)), "{filter:?}");
    }
    for hash in settled.iter().chain(&held) {
        assert!(filter.remove(&Prehashed(*hash)), "each stored copy can be removed");
    }
    assert!(filter.is_empty());
    looks
}

/// Inserts until `share` items are held, and removes every eighth time.
fn grow(writer: &mut Writer, filter: &Growing, settled: &[u64], share: usize) {
    // With short fingerprints some items are refused as copies: then it ends without them.
    for _ in 0..2 * share {
        if writer.held.len() >= share {
            break;
        }
        let inserted = writer.insert(filter);
        assert_ne!(inserted, Err(Error::Full), "below the greatest capacity");
        match writer.random.random_range(0..8) {
            0 if !writer.held.is_empty() => {
                let chosen = writer.random.random_range(0..writer.held.len());
                assert!(
                    filter.remove(&Prehashed(writer.held.swap_remove(chosen))),
                    "an item is lost"
                );
            }
            1 if !settled.is_empty() => {
                let chosen = settled[writer.random.random_range(0..settled.len())];
                assert!(filter.count(&Prehashed(chosen)) > 0, "a settled item is not counted");
            }
            _ => {}
        }
    }
}

/// Looks up settled items, as long as anybody writes, and says how many.
fn look(filter: &Growing, settled: &[u64], reader: usize, writing: &AtomicUsize) -> u64 {
    let mut looks = 0;
    let mut found = [false; 64];
    while writing.load(Ordering::SeqCst) > 0 {
        for batch in settled.chunks(64) {
            if reader.is_multiple_of(2) {
                for &hash in batch {
                    assert!(filter.contains(&Prehashed(hash)), "a settled item is missed");
                }
            } else {
                let found = &mut found[..batch.len()];
                filter.contains_many(Prehashed::slice(batch), found).expect("equal lengths");
                assert!(found.iter().all(|&found| found), "a settled item is missed");
            }
            looks += batch.len() as u64;
        }
    }
    looks
}

/// So many times with each number of threads, and until one part in `share` of the lookups that were asked
/// for is made.
fn grow_often(layout: Layout, range: [usize; 2], threads: &[usize], times: u64, share: u64) {
    let asked = repetitions(0, LONG) / share / threads.len() as u64;
    for &threads in threads {
        let (mut looks, mut round) = (0, 0);
        while round < times || looks < asked {
            looks += settled_keys_are_found_while_it_grows(layout, range, threads, round);
            round += 1;
        }
        println!("{} {range:?}, {threads} threads: {looks} looks in {round} rounds", layout.name);
    }
}

/// Small filters grow, many times.
fn settled_keys_are_found_while_small_filters_grow(layout: Layout) {
    grow_often(layout, [0, usually(10_000, 20_000)], &[2, 4, 8], usually(2, 10), 54);
}

/// From 2^9 slots to 2^18, on a long run from 2^13 to 2^22.
#[test]
fn settled_keys_are_found_while_a_filter_doubles_nine_times() {
    let range = [0, 9].map(|doublings| {
        let slots = 1_u64 << (usually(9, 13) + doublings);
        (slots as f64 * (default_layout().target() - 0.04)) as usize
    });
    grow_often(default_layout(), range, &[8], 1, 6);
}

/// From the smallest table to 2^16 slots, on a long run to 2^20.
#[test]
fn settled_keys_are_found_while_the_smallest_filter_grows_far() {
    let layout = Layout::named("Fp32x2");
    let most = ((1_u64 << usually(16, 20)) as f64 * (layout.target() - 0.01)) as usize;
    grow_often(layout, [0, most], &[2, 8], 1, 6);
}

/// Many threads, one item: one `insert_unique` of them all says true, and one `remove`.
#[test]
fn one_winner() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 500;
    let _turn = turn();
    for slots in [8, 24, 4096] {
        let filter = default_layout().filter_of_slots(slots);
        // Bystanders, so that some of the inserts have to kick, and some fail.
        let bystanders = hashes(slots as u64).take(slots * 7 / 8);
        let stored = bystanders.filter(|&hash| filter.insert(&Prehashed(hash)).is_ok()).count();
        let contested: Vec<u64> =
            hashes(1).filter(|&hash| !filter.contains(&Prehashed(hash))).take(ROUNDS).collect();
        let [inserted, refused, removed] = [0; 3].map(|_| counters(ROUNDS));
        let barrier = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for (round, &hash) in contested.iter().enumerate() {
                        barrier.wait();
                        match filter.insert_unique(&Prehashed(hash)) {
                            Ok(true) => inserted[round].fetch_add(1, Ordering::Relaxed),
                            Ok(false) => 0,
                            Err(error) => {
                                assert_eq!(error, Error::Full);
                                refused[round].fetch_add(1, Ordering::Relaxed)
                            }
                        };
                        barrier.wait();
                        let won = inserted[round].load(Ordering::Relaxed);
                        assert_eq!(filter.count(&Prehashed(hash)), won);
                        barrier.wait();
                        if filter.remove(&Prehashed(hash)) {
                            removed[round].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        for round in 0..contested.len() {
            let [inserted, refused, removed] =
                [&inserted, &refused, &removed].map(|counts| counts[round].load(Ordering::Relaxed));
            assert_eq!(inserted, removed);
            assert!(inserted == 1 || inserted == 0 && refused == THREADS, "round {round}");
        }
        assert_eq!(filter.len(), stored);
    }
}

fn counters(len: usize) -> Vec<AtomicUsize> {
    (0..len).map(|_| AtomicUsize::new(0)).collect()
}
