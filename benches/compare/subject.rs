//! The measured subjects, and the loops over them as trait objects: one dynamic call per chunk of keys, and only the
//! filter, set or map inside.

use std::cell::RefCell;
use std::time::Instant;

use coucal_benches::keys::{CHUNK, Keys, Which};

/// The number of keys of one batch.
pub const BATCH: usize = 1024;

/// The operation that is done with each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Contains,
    Insert,
    InsertIfAbsent,
    Remove,
    Replace,
}

/// A filter, a set, or something that stands in for one: it has `contains` or `answers`. A subject to which several
/// threads write is implemented for references.
pub trait Peer: Sized {
    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.answers(key) > 0
    }

    /// For a subject that tells where a key may be: returns the number of places.
    #[inline]
    fn answers(&self, key: u64) -> u64 {
        self.contains(key).into()
    }

    /// Stores one more copy (a set: the key). Returns `false` if there is no room.
    fn insert(&mut self, key: u64) -> bool;

    /// Stores the key unless it is there. Returns `false` if it is, or if there is no room.
    #[inline]
    fn insert_if_absent(&mut self, key: u64) -> bool {
        !self.contains(key) && self.insert(key)
    }

    /// Removes one copy. Returns `false` if there was none, or if the subject cannot remove.
    #[inline]
    fn remove(&mut self, _key: u64) -> bool {
        false
    }

    /// Moves a key to another place. Returns `false` if it was not in the first place, or if the subject has no places.
    #[inline]
    fn replace(&mut self, _key: u64) -> bool {
        false
    }

    /// Does the operation with one batch of keys. Returns the number of times that the answer was yes.
    fn batch(&mut self, operation: Operation, keys: &[u64]) -> u64 {
        one_by_one(self, operation, keys)
    }
}

/// One step of a mixed workload.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Look(u64),
    Insert(u64),
    Remove(u64),
}

/// The work of one call.
pub enum Work<'a> {
    OneByOne(Operation, &'a [u64]),
    Batches(Operation, &'a [u64]),
    Steps(&'a [Step]),
    /// Passes on each step with its answer and the nanoseconds that it took.
    Timed(&'a [Step], &'a mut dyn FnMut(Step, bool, u64)),
}

/// A [`Peer`], as the programs use it.
pub trait Subject {
    /// Returns the number of items that count as a load of 100 %: the slots, or the number that it was built for.
    fn slots(&self) -> u64;
    /// Does some work. Returns the number of times that the answer was yes. Single inserts stop when one fails.
    fn work(&self, work: Work) -> u64;

    fn run(&self, operation: Operation, keys: &[u64]) -> u64 {
        self.work(Work::OneByOne(operation, keys))
    }

    fn run_batches(&self, operation: Operation, keys: &[u64]) -> u64 {
        self.work(Work::Batches(operation, keys))
    }
}

/// A subject for one thread, and its slots.
pub struct Exclusive<P>(pub RefCell<P>, pub usize);

impl<P: Peer> Subject for Exclusive<P> {
    fn slots(&self) -> u64 {
        self.1 as u64
    }

    fn work(&self, work: Work) -> u64 {
        run(&mut *self.0.borrow_mut(), work)
    }
}

/// A subject for several threads, and its slots.
pub struct Shared<P>(pub P, pub usize);

impl<P> Subject for Shared<P>
where
    for<'a> &'a P: Peer,
{
    fn slots(&self) -> u64 {
        self.1 as u64
    }

    fn work(&self, work: Work) -> u64 {
        run(&mut &self.0, work)
    }
}

fn run<P: Peer>(peer: &mut P, work: Work) -> u64 {
    match work {
        Work::OneByOne(operation, keys) => one_by_one(peer, operation, keys),
        Work::Batches(operation, keys) => {
            keys.chunks(BATCH).map(|keys| peer.batch(operation, keys)).sum()
        }
        Work::Steps(steps) => each(peer, steps, |peer, one| step(peer, *one).into()),
        Work::Timed(steps, took) => each(peer, steps, |peer, one| {
            let started = Instant::now();
            let answer = step(peer, *one);
            took(*one, answer, started.elapsed().as_nanos() as u64);
            answer.into()
        }),
    }
}

/// Runs a loop that is a function of its own, for each kind of work.
#[inline(never)]
fn each<P, T>(peer: &mut P, list: &[T], mut work: impl FnMut(&mut P, &T) -> u64) -> u64 {
    list.iter().map(|one| work(peer, one)).sum()
}

fn one_by_one<P: Peer>(peer: &mut P, operation: Operation, keys: &[u64]) -> u64 {
    match operation {
        Operation::Contains => each(peer, keys, |peer, key| peer.answers(*key)),
        Operation::Insert => inserts(peer, keys),
        Operation::InsertIfAbsent => {
            each(peer, keys, |peer, key| peer.insert_if_absent(*key).into())
        }
        Operation::Remove => each(peer, keys, |peer, key| peer.remove(*key).into()),
        Operation::Replace => each(peer, keys, |peer, key| peer.replace(*key).into()),
    }
}

#[inline(never)]
fn inserts<P: Peer>(peer: &mut P, keys: &[u64]) -> u64 {
    keys.iter().take_while(|key| peer.insert(**key)).count() as u64
}

#[inline]
fn step<P: Peer>(peer: &mut P, step: Step) -> bool {
    match step {
        Step::Look(key) => peer.contains(key),
        Step::Insert(key) => peer.insert(key),
        Step::Remove(key) => peer.remove(key),
    }
}

/// The items of a writer that repeatedly removes its oldest item and inserts a new one.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub keys: Keys,
    pub oldest: u64,
    pub next: u64,
}

impl Window {
    /// Moves by some items. Returns the steps of the removals and of the inserts.
    pub fn moves(&mut self, items: u64) -> Vec<Step> {
        let Self { keys, oldest, next } = *self;
        (self.oldest, self.next) = (oldest + items, next + items);
        let pair =
            |item| [Step::Remove(keys.key(oldest + item)), Step::Insert(keys.key(next + item))];
        (0..items).flat_map(pair).collect()
    }
}

/// Inserts the first `items` keys in batches, without a list of all of them. Returns the number of stored items.
pub fn fill(subject: &dyn Subject, keys: Keys, items: u64) -> u64 {
    let chunk = |from| keys.collect(Which::InOrder, from..items.min(from + CHUNK as u64));
    let insert = |from| subject.run_batches(Operation::Insert, &chunk(from));
    (0..items).step_by(CHUNK).map(insert).sum()
}
