//! How often a lookup is inconclusive: it gives up and answers true. Measured in the worst workloads
//! that could be arranged.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin inconclusive
//! ```
//!
//! A lookup gives up when the version of its fingerprint's group was bumped in each of its rounds. So
//! the writers here bump versions as fast as they can, and the readers look up only absent items:
//!
//! * *one group*: two buckets, which have the smallest number of groups; both buckets hold copies of
//!   one item, so each removal bumps the version of one group;
//! * *kicks*: a table at 96 % load, where the writers remove and insert, and most inserts kick.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Parser;
use coucal::CuckooFilter;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

#[derive(Parser)]
#[command(about = "How often a lookup gives up and answers true")]
struct Options {
    /// Lookups of each reader in each workload.
    #[arg(long, default_value_t = 50_000_000)]
    lookups: u64,
}

/// Copies of one item in both buckets of the smallest table.
fn one_group(filter: &CuckooFilter, stop: &AtomicBool, _seed: u64) {
    while !stop.load(Ordering::Relaxed) {
        // With five copies or more, both buckets hold some.
        while filter.insert_hash(1).is_ok() {}
        while filter.count_hash(1) > 5 && filter.remove_hash(1) {}
    }
}

/// Each writer removes and inserts its own items in turn.
fn kicks(filter: &CuckooFilter, stop: &AtomicBool, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut own = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if filter.load_factor() < 0.96 {
            for _ in 0..16 {
                let hash = random.next_u64();
                if filter.insert_hash(hash).is_ok() {
                    own.push(hash);
                }
            }
        } else {
            for hash in own.drain(own.len().saturating_sub(16)..) {
                filter.remove_hash(hash);
            }
        }
    }
}

type Writer = fn(&CuckooFilter, &AtomicBool, u64);

/// The number of inconclusive lookups.
fn run(filter: &CuckooFilter, write: Writer, writers: u64, readers: u64, lookups: u64) -> u64 {
    let stop = AtomicBool::new(false);
    let start = Barrier::new((writers + readers) as usize);
    thread::scope(|scope| {
        for seed in 0..writers {
            let (stop, start) = (&stop, &start);
            scope.spawn(move || {
                start.wait();
                write(filter, stop, seed);
            });
        }
        let reading: Vec<_> = (0..readers)
            .map(|seed| {
                let start = &start;
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(seed ^ 0xab5e_0000);
                    start.wait();
                    (0..lookups).filter(|_| filter.contains_hash(random.next_u64())).count()
                })
            })
            .collect();
        for reader in reading {
            reader.join().expect("a reader asserts nothing");
        }
        stop.store(true, Ordering::Relaxed);
    });
    filter.stats().inconclusive_lookups
}

fn main() {
    let Options { lookups } = Options::parse();
    println!("| workload | writers | readers | lookups | inconclusive |");
    println!("|---|---|---|---|---|");
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get() as u64);
    for (writers, readers) in [(1, 1), (cores, cores), (3 * cores, cores)] {
        for (name, write, capacity) in [
            ("one group, 8 slots", one_group as Writer, 0),
            ("kicks, 10,000 items", kicks, 10_000),
            ("kicks, 1,000,000 items", kicks, 1_000_000),
        ] {
            let filter = CuckooFilter::with_capacity(capacity);
            let mut settled = SmallRng::seed_from_u64(7);
            while capacity > 0 && filter.load_factor() < 0.9 {
                filter.insert_hash(settled.next_u64()).expect("far from full");
            }
            let inconclusive = run(&filter, write, writers, readers, lookups);
            println!("| {name} | {writers} | {readers} | {} | {inconclusive} |", lookups * readers);
        }
    }
}
