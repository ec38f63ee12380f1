//! How often a lookup gives up and answers true, in the worst workloads that could be arranged.
//!
//! A lookup gives up if the version of its fingerprint's group was bumped in each of its rounds. So the writers here
//! bump versions as fast as they can, and the readers look up only absent items.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rand::Rng;

use coucal::Prehashed;

use crate::common::{Filter, default_layout, hashes, random, repetitions, turn, usually};

/// The number of lookups of each reader.
fn lookups() -> u64 {
    repetitions(200_000, 5_000_000)
}

/// Copies of one item in both buckets of the smallest table: each removal bumps the same version.
fn one_group(filter: &Filter, stop: &AtomicBool, _seed: u64) {
    while !stop.load(Ordering::Relaxed) {
        // With five copies or more, both buckets hold some. More copies than slots might go to the stash, by the
        // million.
        while filter.len() < filter.slots() && filter.insert(&Prehashed(1)).is_ok() {}
        while filter.count(&Prehashed(1)) > 5 && filter.remove(&Prehashed(1)) {}
    }
}

/// At 96 % load each writer removes and inserts its own items, and most inserts kick.
fn kicks(filter: &Filter, stop: &AtomicBool, seed: u64) {
    let mut random = random(seed);
    let mut own = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if filter.load_factor() < 0.96 {
            let new = (0..16).map(|_| random.next_u64());
            own.extend(new.filter(|hash| filter.insert(&Prehashed(*hash)).is_ok()));
        } else {
            for hash in own.drain(own.len().saturating_sub(16)..) {
                filter.remove(&Prehashed(hash));
            }
        }
    }
}

/// Copies of some items whose buckets have no free slots: each of them changes the stash.
fn stashing(filter: &Filter, stop: &AtomicBool, seed: u64) {
    let hot: Vec<u64> = hashes(seed + 100).take(1 + filter.slots() / 200).collect();
    let slots_of_two = 2 * default_layout().slots;
    // From time to time, no copy of every second item is stashed.
    for (at, &hash) in hot.iter().enumerate() {
        let copies = vec![hash; slots_of_two + at % 2];
        filter.insert_many(Prehashed::slice(&copies)).expect("room");
    }
    for &hash in hot.iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
        assert_eq!(filter.insert(&Prehashed(hash)), Ok(()));
        assert!(filter.remove(&Prehashed(hash)));
    }
}

type Writer = fn(&Filter, &AtomicBool, u64);

fn inconclusive(filter: &Filter, write: Writer, writers: u64, readers: u64) -> u64 {
    let stop = AtomicBool::new(false);
    let start = Barrier::new((writers + readers) as usize);
    thread::scope(|scope| {
        let (stop, start) = (&stop, &start);
        for seed in 0..writers {
            scope.spawn(move || {
                start.wait();
                write(filter, stop, seed);
            });
        }
        let look = |seed: u64| {
            let mut random = random(seed ^ 0xab5e_0000);
            start.wait();
            (0..lookups()).filter(|_| filter.contains(&Prehashed(random.next_u64()))).count()
        };
        let reading: Vec<_> = (0..readers).map(|seed| scope.spawn(move || look(seed))).collect();
        for reader in reading {
            reader.join().expect("a reader asserts nothing");
        }
        stop.store(true, Ordering::Relaxed);
    });
    filter.stats().inconclusive_lookups
}

/// A lookup gives up once in some million lookups, or less often; with one round instead of eight, once in 200 to
/// 10,000.
#[test]
fn a_lookup_hardly_ever_gives_up() {
    let _turn = turn();
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get() as u64);
    println!("| mix | writers | readers | lookups | inconclusive |\n|---|---|---|---|---|");
    for (writers, readers) in [(1, 1), (cores, cores), (3 * cores, cores)] {
        for (name, write, capacity, load) in [
            ("one group, 8 slots", one_group as Writer, 0, 0.0),
            ("kicks, 10,000 items", kicks, 10_000, 0.9),
            ("kicks, out of cache", kicks, usually(100_000, 1_000_000), 0.9),
            ("stash, 100 items", stashing, 100, 0.4),
            ("stash, 20,000 items", stashing, 20_000, 0.6),
            ("stash, out of cache", stashing, usually(200_000, 1_000_000), 0.6),
        ] {
            let filter = default_layout().filter(capacity);
            let mut settled = random(7);
            while filter.load_factor() < load {
                filter.insert(&Prehashed(settled.next_u64())).expect("far from full");
            }
            let (lookups, count) =
                (lookups() * readers, inconclusive(&filter, write, writers, readers));
            println!("| {name} | {writers} | {readers} | {lookups} | {count} |");
            assert!(count <= lookups / 100_000, "{name}: {count} of {lookups} lookups");
        }
    }
}
