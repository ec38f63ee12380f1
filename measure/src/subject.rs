//! A peer, and the timed loops over it as trait objects: one dynamic call per chunk of keys, and nothing
//! but the peer inside.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::keys::{CHUNK, Keys};

/// A filter, a set, or something that stands in for one.
pub trait Peer: Sized {
    /// How many items count as a load of 100 %: the slots, or what the peer was built for.
    fn slots(&self) -> usize;
    /// What it says about its own memory; `None` if it says nothing.
    fn bytes(&self) -> Option<usize>;
    fn contains(&self, key: u64) -> bool;
    /// Stores one more copy (a set: the key); `false` if there is no room.
    fn insert(&mut self, key: u64) -> bool;

    /// `true` if the key was not there and was stored.
    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.contains(key) && self.insert(key)
    }

    /// Removes one copy; `false` if there was none, or if this peer removes nothing.
    #[inline]
    fn remove(&mut self, _key: u64) -> bool {
        false
    }

    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(*key);
        }
    }

    /// The number of keys that were stored.
    #[inline]
    fn insert_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().take_while(|key| self.insert(**key)).count()
    }

    /// The number of keys of which a copy was removed.
    #[inline]
    fn remove_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.remove(**key)).count()
    }

    /// Itself, if several threads may write to it at once.
    fn shared(&self) -> Option<&dyn SharedSubject> {
        None
    }
}

/// A peer that several threads write to.
pub trait Shared: Peer + Sync {
    fn insert_shared(&self, key: u64) -> bool;

    #[inline]
    fn remove_shared(&self, _key: u64) -> bool {
        false
    }
}

/// Keys of one call of `contains_many`, of `insert_many` and of `remove_many`.
pub const BATCH: usize = 1024;

/// What is done with each key of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Contains,
    /// `contains`, and the caller branches on the answer.
    ContainsBranch,
    /// `contains_many`, and the caller branches on each answer.
    ContainsManyBranch,
    /// `contains_many`, and the caller adds up the answers.
    ContainsMany,
    Insert,
    InsertMany,
    InsertUnique,
    Remove,
    RemoveMany,
}

/// A peer, as one thread uses it.
pub trait Subject {
    fn slots(&self) -> u64;
    /// What it says about its own memory.
    fn bytes(&self) -> Option<usize>;
    /// Does the operation with every key; the number of times that the answer was yes. Inserts stop
    /// when one fails.
    fn run(&mut self, operation: Operation, keys: &[u64]) -> u64;
    /// Inserts one key; `true` if it was stored.
    fn insert_one(&mut self, key: u64) -> bool;
    /// Inserts each key and passes on the nanoseconds that each took; the number that was stored.
    fn insert_timed(&mut self, keys: &[u64], took: &mut dyn FnMut(u64)) -> u64;
    /// The number of keys that are found.
    fn look(&self, keys: &[u64]) -> u64;
    /// Itself, if several threads may write to it at once.
    fn as_shared(&self) -> Option<&dyn SharedSubject>;
}

impl<P: Peer> Subject for P {
    fn slots(&self) -> u64 {
        Peer::slots(self) as u64
    }

    fn bytes(&self) -> Option<usize> {
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
            Operation::RemoveMany => remove_many(self, keys),
        }
    }

    fn insert_one(&mut self, key: u64) -> bool {
        self.insert(key)
    }

    fn insert_timed(&mut self, keys: &[u64], took: &mut dyn FnMut(u64)) -> u64 {
        let mut stored = 0;
        for key in keys {
            let started = Instant::now();
            stored += u64::from(self.insert(*key));
            took(started.elapsed().as_nanos() as u64);
        }
        stored
    }

    fn look(&self, keys: &[u64]) -> u64 {
        contains(self, keys)
    }

    fn as_shared(&self) -> Option<&dyn SharedSubject> {
        self.shared()
    }
}

#[inline(never)]
fn contains<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.contains(*key))).sum()
}

/// A branch that the compiler cannot turn into arithmetic.
#[inline]
fn branch(answer: bool, counts: &mut (u64, u64)) {
    if answer {
        counts.0 = black_box(counts.0 + 1);
    } else {
        counts.1 = black_box(counts.1 + 1);
    }
}

#[inline(never)]
fn contains_branch<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    let mut counts = (0, 0);
    for key in keys {
        branch(peer.contains(*key), &mut counts);
    }
    counts.0
}

#[inline(never)]
fn contains_many_branch<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    let (mut counts, mut found) = ((0, 0), [false; BATCH]);
    for keys in keys.chunks(BATCH) {
        let found = &mut found[..keys.len()];
        peer.contains_many(keys, found);
        for answer in found {
            branch(*answer, &mut counts);
        }
    }
    counts.0
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

#[inline(never)]
fn remove_many<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.chunks(BATCH).map(|keys| peer.remove_many(keys) as u64).sum()
}

/// One step of a mixed workload.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Look(u64),
    Insert(u64),
    Remove(u64),
}

/// The items of a writer that removes its oldest item and inserts a new one, again and again.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub keys: Keys,
    pub oldest: u64,
    pub next: u64,
}

/// A peer that several threads use at once.
pub trait SharedSubject: Sync {
    /// The number of keys that are found.
    fn look(&self, keys: &[u64]) -> u64;
    /// Inserts until one fails; the number of keys that were stored.
    fn insert(&self, keys: &[u64]) -> u64;
    /// The number of keys that were removed.
    fn remove(&self, keys: &[u64]) -> u64;
    /// Does every step; the number of times that the answer was yes.
    fn run(&self, steps: &[Step]) -> u64;
    /// Moves the window until told to stop; the number of keys that were inserted.
    fn churn(&self, window: &mut Window, stop: &AtomicBool) -> u64;
    /// Moves the window until told to stop, and passes on each operation and the nanoseconds that it
    /// took; the number of keys that were inserted.
    fn churn_timed(
        &self,
        window: &mut Window,
        stop: &AtomicBool,
        took: &mut dyn FnMut(Operation, u64),
    ) -> u64;
    /// Inserts the keys from this index on until told to stop; the number of keys that were stored.
    fn insert_until(&self, keys: Keys, from: u64, stop: &AtomicBool) -> u64;
    /// Looks up each key by itself and records the nanoseconds that it took.
    fn look_timed(&self, keys: &[u64], histogram: &mut Histogram<u64>);
}

impl<P: Shared> SharedSubject for P {
    fn look(&self, keys: &[u64]) -> u64 {
        contains(self, keys)
    }

    fn insert(&self, keys: &[u64]) -> u64 {
        keys.iter().take_while(|key| self.insert_shared(**key)).count() as u64
    }

    fn remove(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(self.remove_shared(*key))).sum()
    }

    fn run(&self, steps: &[Step]) -> u64 {
        let one = |step: &Step| match *step {
            Step::Look(key) => self.contains(key),
            Step::Insert(key) => self.insert_shared(key),
            Step::Remove(key) => self.remove_shared(key),
        };
        steps.iter().map(|step| u64::from(one(step))).sum()
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

    fn churn_timed(
        &self,
        window: &mut Window,
        stop: &AtomicBool,
        took: &mut dyn FnMut(Operation, u64),
    ) -> u64 {
        let mut stored = 0;
        while !stop.load(Ordering::Relaxed) {
            let (oldest, next) = (window.keys.key(window.oldest), window.keys.key(window.next));
            let started = Instant::now();
            self.remove_shared(oldest);
            took(Operation::Remove, started.elapsed().as_nanos() as u64);
            let started = Instant::now();
            stored += u64::from(self.insert_shared(next));
            took(Operation::Insert, started.elapsed().as_nanos() as u64);
            window.oldest += 1;
            window.next += 1;
        }
        stored
    }

    fn insert_until(&self, keys: Keys, from: u64, stop: &AtomicBool) -> u64 {
        let mut stored = 0;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..16 {
                stored += u64::from(self.insert_shared(keys.key(from + stored)));
            }
        }
        stored
    }

    fn look_timed(&self, keys: &[u64], histogram: &mut Histogram<u64>) {
        for key in keys {
            let started = Instant::now();
            black_box(self.contains(*key));
            histogram.saturating_record(started.elapsed().as_nanos() as u64);
        }
    }
}

/// Inserts the first `items` keys without a list of all of them; the number that was stored.
pub fn fill(subject: &mut dyn Subject, keys: Keys, items: u64) -> u64 {
    let mut stored = 0;
    let mut chunk = Vec::with_capacity(CHUNK);
    for from in (0..items).step_by(CHUNK) {
        chunk.clear();
        chunk.extend((from..items.min(from + CHUNK as u64)).map(|index| keys.key(index)));
        stored += subject.run(Operation::Insert, &chunk);
    }
    stored
}
