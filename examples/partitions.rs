//! Which partitions hold a key? A store of 64 partitions, and one maplet that says which of them to read.
//!
//! A key has a row in one to three partitions, and a lookup wants all of them. The same lookups are served three ways:
//! all partitions are read; 64 filters say which; the maplet says which. Then partitions are merged while lookups go
//! on. Every answer is checked, and a single wrong one makes the program exit with status 1.
//!
//! ```text
//! cargo run --release --example partitions
//! ```
//!
//! # A merge
//!
//! 1. **Copy** the rows into the target. Now both partitions have them.
//! 2. **Replace** each pair (key, old) of the maplet by (key, target), in one store: a lookup gets one of the two, and
//!    both are right. If the target had the key before, (key, target) is there already: remove (key, old).
//! 3. **Drop** the old partition. No pair leads to it any more. A lookup that took its candidates before step 2, and
//!    finds the partition gone, takes them again.
//!
//! New rows go the other way round: first into the maplet, then into the partition. For a restart, save a snapshot of
//! the maplet with the list of partitions that it is for, as the example `lsm` does.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;
use std::{env, thread};

use coucal::{CuckooFilter, CuckooMaplet};
use parking_lot::RwLock;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How many keys the store holds: the even ones below twice this number.
const KEYS: u64 = 50_000;
const PARTITIONS: u32 = 64;
/// While lookups go on: 0 into 1, then 1 into 2, and so on.
const MERGES: u32 = 8;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The keys of its rows: in place of a file or a server.
type Partition = BTreeSet<u64>;

struct Store {
    /// By number; `None` if merged into another one.
    partitions: Vec<RwLock<Option<Partition>>>,
    maplet: CuckooMaplet,
}

/// The partitions that have a key at first: a bit for each. Odd keys have none.
fn partitions_of(key: u64) -> u64 {
    let mut random = SmallRng::seed_from_u64(key);
    let rows = if key % 2 == 1 { 0 } else { random.random_range(1..=3) };
    (0..rows).fold(0, |set, _| set | 1 << random.random_range(0..PARTITIONS))
}

fn members(set: u64) -> impl Iterator<Item = u32> {
    (0..PARTITIONS).filter(move |partition| set >> partition & 1 == 1)
}

impl Store {
    fn new(partitions: Vec<Partition>) -> Result<Self> {
        // A quarter more: else one pair in sixteen finds no room in the two buckets of its key, and is stashed.
        let capacity = partitions.iter().map(Partition::len).sum::<usize>() * 5 / 4;
        let maplet = CuckooMaplet::builder().capacity(capacity).value_bits(6).build()?;
        for (number, keys) in (0..).zip(&partitions) {
            maplet.insert_all(keys.iter().map(|&key| (key, number)))?;
        }
        let partitions = partitions.into_iter().map(|keys| RwLock::new(Some(keys))).collect();
        Ok(Self { partitions, maplet })
    }

    /// The partitions that may hold a key: a bit for each.
    fn candidates(&self, key: u64) -> u64 {
        self.maplet.get(&key).fold(0, |set, partition| set | 1 << partition)
    }

    /// The partitions that have a row of the key, among those that `choose` returns; and how many were read.
    fn look_up(&self, key: u64, choose: &dyn Fn(u64) -> u64) -> (u64, u64) {
        let mut reads = 0;
        // No pair leads to a partition that is gone, so each round sees one more that goes.
        'again: for _ in 0..PARTITIONS {
            let mut found = 0;
            for number in members(choose(key)) {
                let Some(partition) = &*self.partitions[number as usize].read() else {
                    continue 'again; // it was merged since: its rows are in another one
                };
                reads += 1;
                found |= u64::from(partition.contains(&key)) << number;
            }
            return (found, reads);
        }
        (0, reads)
    }

    /// Moves all rows of a partition into another one. One merge at a time.
    fn merge(&self, old: u32, target: u32) -> Result<()> {
        let [old_keys, target_keys] = [old, target].map(|n| &self.partitions[n as usize]);
        let keys = old_keys.read().clone().ok_or("the old partition is gone")?;
        let mut is_new = Vec::new();
        {
            let mut target_keys = target_keys.write();
            let target_keys = target_keys.as_mut().ok_or("the target is gone")?;
            is_new.extend(keys.iter().map(|&key| target_keys.insert(key)));
        }
        for (key, is_new) in keys.iter().zip(is_new) {
            if is_new {
                self.maplet.replace(key, old, target)?;
            } else {
                self.maplet.remove(key, old);
            }
        }
        *old_keys.write() = None;
        Ok(())
    }
}

/// Whether these are the partitions of the key. Of those that may be merged, one has the rows of another.
fn is_right(key: u64, found: u64) -> bool {
    const MERGED: u64 = (1 << (MERGES + 1)) - 1;
    let as_one = |set: u64| if set & MERGED == 0 { set } else { set | MERGED };
    as_one(found) == as_one(partitions_of(key))
}

/// Looks up random keys. Prints a row, and returns the number of wrong answers.
fn serve(label: &str, store: &Store, choose: &dyn Fn(u64) -> u64) -> io::Result<u64> {
    let (start, mut random) = (Instant::now(), SmallRng::seed_from_u64(7));
    let (mut all_reads, mut wrong) = (0, 0);
    for _ in 0..KEYS {
        let key = random.random_range(0..2 * KEYS);
        let (found, reads) = store.look_up(key, choose);
        all_reads += reads;
        wrong += u64::from(!is_right(key, found));
    }
    let per_second = KEYS as f64 / start.elapsed().as_secs_f64();
    writeln!(io::stdout(), "{label:8}{per_second:>12.0}{all_reads:>10}{wrong:>8}")?;
    Ok(wrong)
}

/// Merges partitions. A slow lookup takes its candidates before each merge, and reads after it.
fn merge(store: &Store) -> Result<u64> {
    let mut wrong = 0;
    for old in 0..MERGES {
        let key = (0..KEYS).find(|&key| partitions_of(key) >> old & 1 == 1).expect("a key of it");
        let early = Cell::new(Some(store.candidates(key)));
        store.merge(old, old + 1)?;
        let choose = |key| early.take().unwrap_or_else(|| store.candidates(key));
        wrong += u64::from(!is_right(key, store.look_up(key, &choose).0));
    }
    Ok(wrong)
}

fn main() -> Result<()> {
    if env::args().len() > 1 {
        return Err("it takes no arguments".into());
    }
    let mut partitions = vec![Partition::new(); PARTITIONS as usize];
    for key in 0..2 * KEYS {
        for number in members(partitions_of(key)) {
            partitions[number as usize].insert(key);
        }
    }
    let filters: Vec<CuckooFilter> =
        partitions.iter().map(|keys| CuckooFilter::with_capacity(keys.len())).collect();
    for (filter, keys) in filters.iter().zip(&partitions) {
        filter.insert_all(keys)?;
    }
    let store = &Store::new(partitions)?;
    let bytes: usize = filters.iter().map(CuckooFilter::memory_bytes).sum();
    let (mut out, maplet_bytes) = (io::stdout(), store.maplet.memory_bytes());
    writeln!(out, "64 filters: {bytes} bytes; one maplet: {maplet_bytes} bytes")?;
    writeln!(out, "{:8}{:>12}{:>10}{:>8}", "", "lookups/s", "reads", "wrong")?;

    let by_filters = |key| {
        let may_hold = |&number: &u32| filters[number as usize].contains(&key);
        (0..PARTITIONS).filter(may_hold).fold(0, |set, number| set | 1 << number)
    };
    let by_maplet = |key| store.candidates(key);
    let mut wrong = serve("all", store, &|_| u64::MAX)?;
    wrong += serve("filters", store, &by_filters)?;
    wrong += serve("maplet", store, &by_maplet)?;
    wrong += thread::scope(|scope| -> Result<u64> {
        let merges = scope.spawn(|| merge(store));
        let wrong = serve("merging", store, &by_maplet)?;
        Ok(wrong + merges.join().expect("no panic")?)
    })?;
    wrong += serve("merged", store, &by_maplet)?;
    if wrong > 0 { Err(format!("{wrong} wrong answers").into()) } else { Ok(()) }
}
