//! Where a model plays: a filter arranged for it, actors whose operations are recorded, and a
//! judgement of the record at the end of every execution.

// A model that fails panics, wherever that may be.
#![allow(clippy::missing_panics_doc)]

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use coucal::probe::{self, Place};
use coucal::{CuckooFilter, InsertError, Layout};
use loom::sync::atomic::AtomicBool;
use loom::thread;

use crate::checker::{Event, History, Outcome, Shape};

/// An item of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// What the filter is given.
    hash: u64,
    /// A hash that names its buckets the other way round.
    other_hash: u64,
    /// Index of its class.
    class: usize,
    /// Where it may lie.
    place: Place,
}

impl Item {
    /// The same class under a hash that names its buckets the other way round.
    #[must_use]
    pub fn twin(self) -> Self {
        let Place { fingerprint, first, second } = self.place;
        let place = Place { fingerprint, first: second, second: first };
        Self { hash: self.other_hash, other_hash: self.hash, place, ..self }
    }
}

/// The table and the items of a model, before the first thread starts.
pub struct Cast<L> {
    buckets: usize,
    /// One item of each class.
    classes: Vec<Item>,
    stored: Vec<(usize, Item)>,
    layout: PhantomData<L>,
}

impl<L: Layout> Cast<L> {
    /// An empty table of so many buckets.
    #[must_use]
    pub fn new(buckets: usize) -> Self {
        Self { buckets, classes: Vec::new(), stored: Vec::new(), layout: PhantomData }
    }

    /// A new item, by the bucket that its lookups read first and the one they read second. Its
    /// version group is that of no item before it, until the groups of the table are used up.
    pub fn item(&mut self, first: usize, second: usize) -> Item {
        let class = self.classes.len();
        let ways = [(first, second), (second, first)];
        // Together with its twin: two hashes that share a fingerprint, even one of 32 bits, are met
        // among a million or so. The twin of a hash chosen before would be one of thousands of
        // millions.
        let mut met: HashMap<u64, [Option<u64>; 2]> = HashMap::new();
        let item = (0..u64::MAX).find_map(|hash| {
            let Place { fingerprint, first: one, second: other } =
                probe::place::<L>(self.buckets, hash);
            let way = ways.iter().position(|&way| way == (one, other))?;
            let known = self.classes.iter().any(|item| item.place.fingerprint == fingerprint);
            if known || fingerprint % 4 != class as u64 % 4 {
                return None;
            }
            let hashes = met.entry(fingerprint).or_default();
            hashes[way] = Some(hash);
            let [hash, other_hash] = [hashes[0]?, hashes[1]?];
            Some(Item { hash, other_hash, class, place: Place { fingerprint, first, second } })
        });
        let item = item.expect("there are 2^64 hashes");
        self.classes.push(item);
        item
    }

    /// One copy of each item into this bucket.
    pub fn store(&mut self, bucket: usize, items: &[Item]) -> &mut Self {
        for &item in items {
            let Place { first, second, .. } = item.place;
            assert!(bucket == first || bucket == second, "{item:?} cannot lie in {bucket}");
            self.stored.push((bucket, item));
        }
        self
    }

    /// Copies of the item into all the slots of this bucket that are left.
    pub fn fill(&mut self, bucket: usize, item: Item) -> &mut Self {
        let left = self.left(bucket);
        self.store(bucket, &vec![item; left])
    }

    /// The same for all of them but one.
    pub fn fill_but_one(&mut self, bucket: usize, item: Item) -> &mut Self {
        let left = self.left(bucket);
        self.store(bucket, &vec![item; left - 1])
    }

    fn left(&self, bucket: usize) -> usize {
        L::SLOTS - self.stored.iter().filter(|stored| stored.0 == bucket).count()
    }

    /// Plays a model in every order that loom knows of, with so many preemptions at the most, and
    /// asserts that these were `floor` executions or more: a model that explores a handful shows
    /// nothing. `scene` sets the actors out; it runs once in each execution.
    pub fn model(
        self,
        floor: usize,
        preemptions: usize,
        scene: impl Fn(&mut Stage<L>) + Send + Sync + 'static,
    ) {
        let execution = move || {
            let mut stage = Stage::new(&self);
            scene(&mut stage);
            stage.play(&self);
        };
        explore(floor, preemptions, Box::new(execution));
    }
}

/// Runs a model and counts its executions.
pub fn explore(floor: usize, preemptions: usize, execution: Box<dyn Fn() + Send + Sync>) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    let started = Instant::now();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        execution();
    });
    let executions = executions.load(Ordering::Relaxed);
    let current = std::thread::current();
    let name = current.name().unwrap_or("a model");
    println!("model {name}: {executions} executions, {:.1?}", started.elapsed());
    assert!(executions >= floor, "{name} explored {executions} executions, fewer than {floor}");
}

type Part<L> = Box<dyn FnOnce(&mut Actor<L>) + Send>;

/// One execution.
pub struct Stage<L> {
    main: Actor<L>,
    parts: Vec<Part<L>>,
}

impl<L: Layout> Stage<L> {
    fn new(cast: &Cast<L>) -> Self {
        let filter = Arc::new(probe::filter(cast.buckets));
        for &(bucket, item) in &cast.stored {
            assert!(probe::put(&filter, bucket, item.place.fingerprint), "{bucket} is full");
        }
        let main = Actor { filter, thread: 0, known: Vec::new(), events: Vec::new() };
        Self { main, parts: Vec::new() }
    }

    /// One more thread. The main thread plays no part: where it does, loom explores too little.
    pub fn actor(&mut self, part: impl FnOnce(&mut Actor<L>) + Send + 'static) {
        self.parts.push(Box::new(part));
    }

    /// Runs all parts, then judges what they recorded together with the quiet state.
    fn play(self, cast: &Cast<L>) {
        let Self { mut main, parts } = self;
        let threads = parts.len() + 1;
        main.known = vec![0; threads];
        let handles: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| {
                let mut actor = Actor {
                    filter: Arc::clone(&main.filter),
                    thread: index + 1,
                    known: main.known.clone(),
                    events: Vec::new(),
                };
                thread::spawn(move || {
                    part(&mut actor);
                    actor.events
                })
            })
            .collect();
        let mut all = vec![Vec::new()];
        for handle in handles {
            all.push(handle.join().expect("an actor panicked"));
        }
        main.known = all.iter().map(Vec::len).collect();
        let stored = cast.classes.iter().map(|&item| main.count(item)).sum::<usize>();
        assert_eq!(main.filter.len(), stored, "the count of the quiet table");
        all[0] = main.events;
        let mut initial = vec![0; cast.classes.len()];
        for (_, item) in &cast.stored {
            initial[item.class] += 1;
        }
        let inconclusive = main.filter.stats().inconclusive_lookups as usize;
        let history = History { initial, threads: all, most: 2 * L::SLOTS, inconclusive };
        let shape = Shape {
            buckets: cast.buckets,
            slots: L::SLOTS,
            pairs: cast.classes.iter().map(|item| [item.place.first, item.place.second]).collect(),
        };
        if let Err(reason) = history.explain().and_then(|()| history.explain_full(&shape)) {
            panic!("{reason}: {history:#?}");
        }
    }
}

/// A thread of a model: each operation goes to the filter and into the record.
pub struct Actor<L> {
    filter: Arc<CuckooFilter<L>>,
    thread: usize,
    /// How many operations of each thread come before the next one of this thread.
    known: Vec<usize>,
    events: Vec<Event>,
}

impl<L: Layout> Actor<L> {
    fn record(&mut self, item: Item, outcome: Outcome) {
        self.events.push(Event { class: item.class, outcome, known: self.known.clone() });
        self.known[self.thread] += 1;
    }

    /// Whether one more copy went in.
    pub fn insert(&mut self, item: Item) -> bool {
        let outcome = match self.filter.insert_hash(item.hash) {
            Ok(()) => Outcome::Inserted,
            Err(InsertError::TooManyCopies) => Outcome::TooManyCopies,
            Err(_) => Outcome::Full,
        };
        self.record(item, outcome);
        outcome == Outcome::Inserted
    }

    /// Whether the first copy went in.
    pub fn insert_unique(&mut self, item: Item) -> bool {
        let outcome = match self.filter.insert_unique_hash(item.hash) {
            Ok(true) => Outcome::Unique,
            Ok(false) => Outcome::Duplicate,
            Err(_) => Outcome::UniqueFull,
        };
        self.record(item, outcome);
        outcome == Outcome::Unique
    }

    /// Whether a copy was taken away.
    pub fn remove(&mut self, item: Item) -> bool {
        let removed = self.filter.remove_hash(item.hash);
        self.record(item, if removed { Outcome::Removed } else { Outcome::NotThere });
        removed
    }

    /// Whether the item was found.
    pub fn contains(&mut self, item: Item) -> bool {
        let found = self.filter.contains_hash(item.hash);
        self.record(item, if found { Outcome::Found } else { Outcome::Missing });
        found
    }

    /// How many copies there were.
    pub fn count(&mut self, item: Item) -> usize {
        let count = self.filter.count_hash(item.hash);
        self.record(item, Outcome::Counted(count));
        count
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        self.filter.clear();
        self.events.push(Event { class: 0, outcome: Outcome::Cleared, known: self.known.clone() });
        self.known[self.thread] += 1;
    }

    /// How many of the items went in, in order.
    pub fn insert_many(&mut self, items: &[Item]) -> usize {
        let hashes: Vec<_> = items.iter().map(|item| item.hash).collect();
        let (stored, cause) = match self.filter.insert_many_hashes(&hashes) {
            Ok(()) => (items.len(), None),
            Err(error) => (error.stored(), Some(error.cause())),
        };
        for &item in &items[..stored] {
            self.record(item, Outcome::Inserted);
        }
        if let Some(cause) = cause {
            let full = cause == InsertError::Full;
            let outcome = if full { Outcome::Full } else { Outcome::TooManyCopies };
            self.record(items[stored], outcome);
        }
        stored
    }

    /// Which of the items were found.
    pub fn contains_many(&mut self, items: &[Item]) -> Vec<bool> {
        let hashes: Vec<_> = items.iter().map(|item| item.hash).collect();
        let mut found = vec![false; items.len()];
        self.filter.contains_many_hashes(&hashes, &mut found).expect("as many answers as items");
        for (&item, &found) in items.iter().zip(&found) {
            self.record(item, if found { Outcome::Found } else { Outcome::Missing });
        }
        found
    }

    /// An actor whose record is kept by nobody.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        let filter = Arc::clone(&self.filter);
        Self { filter, thread: self.thread, known: self.known.clone(), events: Vec::new() }
    }

    /// The filter, for what is not recorded.
    #[must_use]
    pub fn filter(&self) -> &CuckooFilter<L> {
        &self.filter
    }
}

/// An edge of a model's own between two actors: what one did before it passed the baton is known to
/// whoever has seen that it was passed.
#[derive(Default)]
pub struct Baton {
    passed: AtomicBool,
    /// What the passer knew. Never contended: loom's threads take turns.
    known: Mutex<Vec<usize>>,
}

impl Baton {
    /// To be passed once.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Lets all that this actor has done be known.
    pub fn pass<L>(&self, actor: &Actor<L>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&actor.known);
        self.passed.store(true, Ordering::Release);
    }

    /// Whether the baton was seen to be passed.
    pub fn seen<L>(&self, actor: &mut Actor<L>) -> bool {
        let seen = self.passed.load(Ordering::Acquire);
        if seen {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for (mine, theirs) in actor.known.iter_mut().zip(&*known) {
                *mine = (*mine).max(*theirs);
            }
        }
        seen
    }
}
