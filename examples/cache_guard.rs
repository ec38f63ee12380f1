//! A guard in front of a cache: what is asked for once is not kept, and what was asked for long ago is forgotten.
//!
//! Two filters take turns. The current one records what is asked for; the previous one remembers the last period. A key
//! is known if one of the two has it, so it is forgotten after one period at least, and two at most, in which nobody
//! asked for it. Nothing is removed, so `insert_unique` is the right insert.
//!
//! ```text
//! cargo run --release --example cache_guard
//! ```

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::mem;
use std::thread;

use coucal::{Error, GrowableCuckooFilter, Prehashed, StableHashBuilder};
use parking_lot::{Mutex, RwLock};

type Filter = GrowableCuckooFilter<coucal::Fp16x4, StableHashBuilder>;

struct Guard {
    /// The current filter, and that of the period before. They share a hasher, so a key is hashed once.
    filters: RwLock<[Filter; 2]>,
}

impl Guard {
    fn new() -> Self {
        Self { filters: RwLock::new([Self::filter(), Self::filter()]) }
    }

    /// An empty filter. It grows with the keys of its period, so there is no number of them to choose.
    fn filter() -> Filter {
        Filter::with_hasher(StableHashBuilder::new(7))
    }

    /// Whether the key was asked for before, in this period or the last one. Of threads that ask at the same time for a
    /// new key, one gets `false`.
    fn asked_before(&self, key: u64) -> Result<bool, Error> {
        let [current, previous] = &*self.filters.read();
        let hash = current.hash_of(&key);
        let is_new = current.insert_unique(&Prehashed(hash))?; // also if the previous one has it: it is in use
        Ok(!is_new || previous.contains(&Prehashed(hash)))
    }

    /// Begins a period.
    fn rotate(&self) {
        let new = Self::filter();
        let oldest = {
            let [current, previous] = &mut *self.filters.write();
            mem::replace(previous, mem::replace(current, new))
        };
        drop(oldest); // its memory is returned while nobody waits
    }
}

const THREADS: u64 = 4;
const PERIODS: u64 = 3;
/// Keys that every period asks for.
const POPULAR: u64 = 100;
/// Keys that only one period asks for, and only once.
const RARE: u64 = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let guard = Guard::new();
    let cache = Mutex::new(BTreeSet::new());
    let mut first_requests = 0;
    for period in 0..PERIODS {
        // Each thread asks for all popular keys, and for a part of the rare ones.
        let ask = |thread| {
            let first = POPULAR + (period * THREADS + thread) * RARE;
            let mut first_requests = 0;
            for key in (0..POPULAR).chain(first..first + RARE) {
                if guard.asked_before(key)? {
                    cache.lock().insert(key);
                } else {
                    first_requests += 1;
                }
            }
            Ok::<_, Error>(first_requests)
        };
        first_requests += thread::scope(|scope| {
            let start = |thread| scope.spawn(move || ask(thread));
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            let joined = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            joined.sum::<Result<u64, _>>()
        })?;
        guard.rotate();
    }
    let cache = cache.into_inner();
    let popular = cache.range(..POPULAR).count();
    let mut out = io::stdout();
    writeln!(out, "{first_requests} first requests")?;
    writeln!(out, "in the cache: {popular} popular keys, {} others", cache.len() - popular)?;

    guard.rotate(); // nobody has asked for anything in this period
    let forgotten = !guard.asked_before(0)?;
    Ok(writeln!(out, "forgotten after two periods: {forgotten}")?)
}
