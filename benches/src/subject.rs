//! The loops that are timed, behind a trait that can be an object: one dynamic call a chunk, and
//! nothing but the filter inside.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::keys::{CHUNK, Keys};
use crate::peers::{Peer, Shared};

/// Keys of one batch of `contains_many` and of `insert_many`.
pub const BATCH: usize = 1024;

/// What is done with each key of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Contains,
    /// `contains`, and the caller branches on the answer.
    ContainsBranch,
    /// `contains_many`, and the caller branches on each answer.
    ContainsManyBranch,
    /// `contains_many`, and the caller adds the answers up.
    ContainsMany,
    Insert,
    InsertMany,
    InsertUnique,
    Remove,
}

/// A filter, for one thread.
pub trait Subject {
    fn name(&self) -> &'static str;
    fn removes(&self) -> bool;
    fn slots(&self) -> u64;
    fn bytes(&self) -> usize;
    /// Does it with every key and says how often the answer was yes. Inserts stop when one fails.
    fn run(&mut self, operation: Operation, keys: &[u64]) -> u64;
    /// One insert, and whether it was stored.
    fn insert_one(&mut self, key: u64) -> bool;
}

impl<P: Peer> Subject for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn removes(&self) -> bool {
        P::REMOVES
    }

    fn slots(&self) -> u64 {
        Peer::slots(self) as u64
    }

    fn bytes(&self) -> usize {
        Peer::bytes(self)
    }

    fn run(&mut self, operation: Operation, keys: &[u64]) -> u64 {
        match operation {
            Operation::Contains => contains(self, keys),
            Operation::ContainsBranch => contains_branch(self, keys),
            Operation::ContainsManyBranch => contains_many_branch(self, keys),
            Operation::ContainsMany => contains_many(self, keys),
            Operation::Insert => insert(self, keys),
            Operation::InsertMany => insert_many(self, keys),
            Operation::InsertUnique => insert_unique(self, keys),
            Operation::Remove => remove(self, keys),
        }
    }

    fn insert_one(&mut self, key: u64) -> bool {
        self.insert(key)
    }
}

#[inline(never)]
fn contains<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.contains(*key))).sum()
}

/// A branch that the compiler cannot turn into arithmetic.
#[inline]
fn branch(answer: bool, tally: &mut (u64, u64)) {
    if answer {
        tally.0 = black_box(tally.0 + 1);
    } else {
        tally.1 = black_box(tally.1 + 1);
    }
}

#[inline(never)]
fn contains_branch<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    let mut tally = (0, 0);
    for key in keys {
        branch(peer.contains(*key), &mut tally);
    }
    tally.0
}

#[inline(never)]
fn contains_many_branch<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    let (mut tally, mut found) = ((0, 0), [false; BATCH]);
    for keys in keys.chunks(BATCH) {
        let found = &mut found[..keys.len()];
        peer.contains_many(keys, found);
        for answer in found {
            branch(*answer, &mut tally);
        }
    }
    tally.0
}

#[inline(never)]
fn contains_many<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    let (mut sum, mut found) = (0, [false; BATCH]);
    for keys in keys.chunks(BATCH) {
        let found = &mut found[..keys.len()];
        peer.contains_many(keys, found);
        sum += found.iter().map(|answer| u64::from(*answer)).sum::<u64>();
    }
    sum
}

#[inline(never)]
fn insert<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().take_while(|key| peer.insert(**key)).count() as u64
}

#[inline(never)]
fn insert_many<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.chunks(BATCH).map(|keys| peer.insert_many(keys) as u64).sum()
}

#[inline(never)]
fn insert_unique<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.insert_unique(*key))).sum()
}

#[inline(never)]
fn remove<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.remove(*key))).sum()
}

/// One line of a script for a thread.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Look(u64),
    Insert(u64),
    Remove(u64),
}

/// Where a writer is that takes its oldest item out and puts a new one in.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub keys: Keys,
    pub oldest: u64,
    pub next: u64,
}

/// A filter, for several threads.
pub trait Crowd: Sync {
    fn name(&self) -> &'static str;
    fn slots(&self) -> u64;
    fn removes(&self) -> bool;
    fn look(&self, keys: &[u64]) -> u64;
    fn fill(&self, keys: &[u64]) -> u64;
    fn act(&self, script: &[Act]) -> u64;
    /// Moves the window along until told to stop, and says how many inserts were stored.
    fn churn(&self, window: &mut Window, stop: &AtomicBool) -> u64;
    /// Looks each key up and records the nanoseconds that it took by the clock.
    fn look_by_the_clock(&self, keys: &[u64], histogram: &mut Histogram<u64>);
}

impl<P: Shared> Crowd for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn slots(&self) -> u64 {
        Peer::slots(self) as u64
    }

    fn removes(&self) -> bool {
        P::REMOVES
    }

    fn look(&self, keys: &[u64]) -> u64 {
        contains(self, keys)
    }

    fn fill(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.insert_shared(*key))).sum()
    }

    fn act(&self, script: &[Act]) -> u64 {
        let one = |act: &Act| match *act {
            Act::Look(key) => self.contains(key),
            Act::Insert(key) => self.insert_shared(key),
            Act::Remove(key) => self.remove_shared(key),
        };
        script.iter().map(|act| u64::from(one(act))).sum()
    }

    fn churn(&self, window: &mut Window, stop: &AtomicBool) -> u64 {
        let mut stored = 0;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..16 {
                self.remove_shared(window.keys.key(window.oldest));
                stored += u64::from(self.insert_shared(window.keys.key(window.next)));
                window.oldest += 1;
                window.next += 1;
            }
        }
        stored
    }

    fn look_by_the_clock(&self, keys: &[u64], histogram: &mut Histogram<u64>) {
        for key in keys {
            let begun = Instant::now();
            black_box(self.contains(*key));
            histogram.saturating_record(begun.elapsed().as_nanos() as u64);
        }
    }
}

/// Fills without a list of all keys. Says how many were stored.
pub fn fill(crowd: &dyn Crowd, keys: Keys, items: u64) -> u64 {
    let mut stored = 0;
    let mut chunk = Vec::with_capacity(CHUNK);
    for from in (0..items).step_by(CHUNK) {
        chunk.clear();
        chunk.extend((from..items.min(from + CHUNK as u64)).map(|index| keys.key(index)));
        stored += crowd.fill(&chunk);
    }
    stored
}
