//! A peer, and the timed loops over it as trait objects: one dynamic call per chunk of keys, and nothing
//! but the peer inside.

use std::time::Instant;

use crate::keys::{CHUNK, Keys, Which};

/// A filter, a set, or something that stands in for one.
pub trait Peer: Sized {
    /// How many items count as a load of 100 %: the slots, or what the peer was built for.
    fn slots(&self) -> usize;
    fn contains(&self, key: u64) -> bool;

    /// For a peer that says where a key may be: the number of places.
    #[inline]
    fn answers(&self, key: u64) -> u64 {
        self.contains(key).into()
    }

    /// Stores one more copy (a set: the key); `false` if there is no room.
    fn insert(&mut self, key: u64) -> bool;

    /// Stores the key unless it is there; `false` if it is, or if there is no room.
    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.contains(key) && self.insert(key)
    }

    /// Removes one copy; `false` if there was none, or if this peer removes nothing.
    #[inline]
    fn remove(&mut self, _key: u64) -> bool {
        false
    }

    /// Moves a key to another place; `false` if it was not in the first one, or if this peer has no places.
    #[inline]
    fn replace(&mut self, _key: u64) -> bool {
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

    /// The number of keys that were new.
    #[inline]
    fn insert_unique_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.insert_unique(**key)).count()
    }

    /// The number of keys of which a copy was removed.
    #[inline]
    fn remove_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.remove(**key)).count()
    }

    /// The number of keys that were moved to another place.
    #[inline]
    fn replace_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.replace(**key)).count()
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

/// What a [`Peer`] that is [`Shared`] does as one thread, by its shared methods.
#[macro_export]
macro_rules! by_shared {
    () => {
        #[inline]
        fn insert(&mut self, key: u64) -> bool {
            self.insert_shared(key)
        }

        #[inline]
        fn remove(&mut self, key: u64) -> bool {
            self.remove_shared(key)
        }

        fn shared(&self) -> Option<&dyn $crate::subject::SharedSubject> {
            Some(self)
        }
    };
}

/// Keys of one batch.
pub const BATCH: usize = 1024;

/// What is done with each key of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Contains,
    ContainsMany,
    Insert,
    InsertMany,
    InsertUnique,
    InsertUniqueMany,
    Remove,
    RemoveMany,
    Replace,
    ReplaceMany,
}

/// A peer, as one thread uses it.
pub trait Subject {
    fn slots(&self) -> u64;
    /// Does the operation with every key; the number of times that the answer was yes. Inserts stop
    /// when one fails.
    fn run(&mut self, operation: Operation, keys: &[u64]) -> u64;
    /// Itself, if several threads may write to it at once.
    fn as_shared(&self) -> Option<&dyn SharedSubject>;
}

impl<P: Peer> Subject for P {
    fn slots(&self) -> u64 {
        Peer::slots(self) as u64
    }

    fn run(&mut self, operation: Operation, keys: &[u64]) -> u64 {
        match operation {
            Operation::Contains => contains(self, keys),
            Operation::ContainsMany => contains_many(self, keys),
            Operation::Insert => insert(self, keys),
            Operation::InsertMany => insert_many(self, keys),
            Operation::InsertUnique => insert_unique(self, keys),
            Operation::InsertUniqueMany => insert_unique_many(self, keys),
            Operation::Remove => remove(self, keys),
            Operation::RemoveMany => remove_many(self, keys),
            Operation::Replace => replace(self, keys),
            Operation::ReplaceMany => replace_many(self, keys),
        }
    }

    fn as_shared(&self) -> Option<&dyn SharedSubject> {
        self.shared()
    }
}

#[inline(never)]
fn contains<P: Peer>(peer: &P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| peer.answers(*key)).sum()
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
fn insert_unique_many<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.chunks(BATCH).map(|keys| peer.insert_unique_many(keys) as u64).sum()
}

#[inline(never)]
fn remove<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.remove(*key))).sum()
}

#[inline(never)]
fn remove_many<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.chunks(BATCH).map(|keys| peer.remove_many(keys) as u64).sum()
}

#[inline(never)]
fn replace<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().map(|key| u64::from(peer.replace(*key))).sum()
}

#[inline(never)]
fn replace_many<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.chunks(BATCH).map(|keys| peer.replace_many(keys) as u64).sum()
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

impl Window {
    /// Moves by some items: the steps of the removals and of the inserts.
    pub fn moves(&mut self, items: u64) -> Vec<Step> {
        let Self { keys, oldest, next } = *self;
        (self.oldest, self.next) = (oldest + items, next + items);
        let pair =
            |item| [Step::Remove(keys.key(oldest + item)), Step::Insert(keys.key(next + item))];
        (0..items).flat_map(pair).collect()
    }
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
    /// Does every step, and passes on each with its answer and the nanoseconds that it took.
    fn run_timed(&self, steps: &[Step], took: &mut dyn FnMut(Step, bool, u64));
}

#[inline]
fn step<P: Shared>(peer: &P, step: Step) -> bool {
    match step {
        Step::Look(key) => peer.contains(key),
        Step::Insert(key) => peer.insert_shared(key),
        Step::Remove(key) => peer.remove_shared(key),
    }
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
        steps.iter().map(|one| u64::from(step(self, *one))).sum()
    }

    fn run_timed(&self, steps: &[Step], took: &mut dyn FnMut(Step, bool, u64)) {
        for one in steps {
            let started = Instant::now();
            let answer = step(self, *one);
            took(*one, answer, started.elapsed().as_nanos() as u64);
        }
    }
}

/// Inserts the first `items` keys in batches, without a list of all of them; the number that was stored.
pub fn fill(subject: &mut dyn Subject, keys: Keys, items: u64) -> u64 {
    let range = |from: u64| from..items.min(from + CHUNK as u64);
    let mut insert = |keys: &[u64]| subject.run(Operation::InsertMany, keys);
    let chunks = (0..items).step_by(CHUNK).map(|from| keys.collect(Which::InOrder, range(from)));
    chunks.map(|chunk| insert(&chunk)).sum()
}
