//! How a model is set up and run: a prepared filter or maplet, threads whose operations are recorded, and the checker's
//! verdict on the recorded history at the end of every execution.

// Models report failure by a panic.
#![allow(clippy::missing_panics_doc)]

use std::env;
use std::ops::Not;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use coucal::probe::{self, ALL, Expiring, Home, Image, Maplet};
pub use coucal::probe::{IntoStorage, Subject};
use coucal::{Error, Filter, Prehashed};
use loom::model::Builder;
use loom::sync::atomic::AtomicBool;
use loom::thread;

use crate::WITHOUT_FLOORS;
use crate::checker::{Event, History, Outcome, Shape, expiring};

/// An item of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The hash passed to the filter.
    hash: u64,
    /// A hash of the same class with the two buckets swapped.
    swapped_hash: u64,
    /// The index of its class: in a maplet, of the key with this value.
    class: usize,
    /// The class of its key with the first of its values.
    key: usize,
    /// What the table knows of it.
    home: Home,
}

impl Item {
    /// Returns an item of the same class whose first and second bucket are swapped.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { hash: self.swapped_hash, swapped_hash: self.hash, ..self }
    }
}

/// The initial state of a model: a table, its items, and what is stored before a thread starts.
///
/// A growing table is described at its maximum size, where the two buckets of an item tell where it was before. In a
/// table that begins with two buckets, an item (6, 1) is in bucket 0 until that is split, then in 2, and in 6 when that
/// is split. All higher bits of its first position are 0.
#[allow(clippy::struct_excessive_bools, reason = "each is a mode of a model")]
pub struct Setup<M: Subject> {
    /// The number of buckets with which the table begins.
    began_with: usize,
    max_buckets: usize,
    /// The number of buckets when the threads start.
    buckets: usize,
    /// One item of each class.
    classes: Vec<Item>,
    stored: Vec<Stored>,
    /// The items of which a copy is in the stash.
    stashed: Vec<Item>,
    /// The items of another table, which a thread merges.
    merged: Vec<Item>,
    /// The number of generations; 0 in a table without generations.
    generations: u32,
    /// The number of stripes and of versions, if it is not the usual one.
    stripes: Option<usize>,
    exact_seq_cst: bool,
    cells_of_two_words: bool,
    every_schedule: bool,
    threads: Vec<Vec<Step<M>>>,
    at_the_end: Vec<Step<M>>,
    judge: Judge<M>,
}

/// Checks the record of an execution. The arguments are the main thread, which knows all operations, and the record.
type Judge<M> = fn(Thread<M>, Vec<Vec<Event>>);

/// An entry that is stored before a thread starts.
#[derive(Clone, Copy)]
struct Stored {
    bucket: usize,
    item: Item,
    /// The number of bits of its position that it knows.
    known: u32,
}

impl<M: Subject> Setup<M> {
    /// Describes an empty table with this number of buckets.
    #[must_use]
    pub fn new(buckets: usize) -> Self {
        Self::growable(buckets, buckets)
    }

    /// Describes an empty table that begins with `began_with` buckets and grows to `max_buckets`.
    #[must_use]
    pub fn growable(began_with: usize, max_buckets: usize) -> Self {
        Self {
            began_with,
            max_buckets,
            buckets: began_with,
            classes: Vec::new(),
            stored: Vec::new(),
            stashed: Vec::new(),
            merged: Vec::new(),
            generations: 0,
            stripes: None,
            exact_seq_cst: false,
            cells_of_two_words: false,
            every_schedule: false,
            threads: Vec::new(),
            at_the_end: Vec::new(),
            judge: Thread::judge,
        }
    }

    /// Splits this number of buckets in advance. Must be called before anything is stored.
    #[must_use]
    pub fn split(self, splits: usize) -> Self {
        assert!(self.stored.is_empty(), "the table is grown when it is filled");
        Self { buckets: self.buckets + splits, ..self }
    }

    /// Gives the table two stripes and two versions, until a thread [widens](Thread::widen) it.
    #[must_use]
    pub fn narrow(self) -> Self {
        Self { stripes: Some(2), ..self }
    }

    /// Gives the table one stripe and one version.
    #[must_use]
    pub fn on_one_stripe(self) -> Self {
        Self { stripes: Some(1), ..self }
    }

    /// Returns a new item whose lookups read bucket `first`, then bucket `second`. Four items in a row have four
    /// different version groups, if there are such items.
    pub fn item(&mut self, first: usize, second: usize) -> Item {
        let group = |home: Home| home.group::<M>(self.max_buckets);
        let groups: Vec<_> = self.classes.iter().rev().map(|item| group(item.home)).collect();
        let unlike = |groups: &[usize]| {
            self.homes(first, second).find(|&home| !groups.contains(&group(home)))
        };
        let home = (0..=groups.len().min(3)).rev().find_map(|number| unlike(&groups[..number]));
        self.add(home.expect("an item with these buckets"))
    }

    /// Returns new items with these pairs of buckets.
    pub fn items<const N: usize>(&mut self, buckets: [(usize, usize); N]) -> [Item; N] {
        buckets.map(|(first, second)| self.item(first, second))
    }

    /// Returns a new item with these buckets, of the version group of another item.
    pub fn item_of_group(&mut self, first: usize, second: usize, other: Item) -> Item {
        let group = |home: Home| home.group::<M>(self.max_buckets);
        let same = |home: &Home| group(*home) == group(other.home);
        let home = self.homes(first, second).find(same);
        self.add(home.expect("an item with these buckets and this group"))
    }

    /// Returns a new item with the core of another item. Its positions differ from those of the other in these bits:
    /// `told` are bits that the buckets tell beyond those with which the table began, and `extra` are bits that not
    /// every entry knows.
    pub fn variant(&mut self, other: Item, told: usize, extra: usize) -> Item {
        let bits = (told * self.began_with) | (extra << probe::common_bits::<M>(self.began_with));
        self.add(other.home.differing_in(bits))
    }

    /// Returns a new item of a table of fixed size, with the core of another item and this first bucket.
    pub fn item_of_core(&mut self, first: usize, other: Item) -> Item {
        let home = Home::new::<M>(self.began_with, first, other.home.core);
        self.add(home.expect("a core that is in use"))
    }

    /// Returns an item of a maplet with the key of another item, and another value, at most 2. The first item of a key
    /// has the value 3, so if a value is lost, it reads as another one.
    pub fn with_value(&mut self, other: Item, value: u32) -> Item {
        let item = self.add(Home { value, ..other.home });
        self.classes[item.class].key = other.key;
        Item { key: other.key, ..item }
    }

    /// Returns the homes with these buckets whose core is different from those of all items so far.
    fn homes(&self, first: usize, second: usize) -> impl Iterator<Item = Home> {
        let homes = (1..).map_while(move |core| Home::new::<M>(self.began_with, first, core));
        homes.filter(move |home| {
            home.buckets::<M>(self.max_buckets) == [first, second]
                && self.classes.iter().all(|item| item.home.core != home.core)
        })
    }

    fn add(&mut self, home: Home) -> Item {
        let (hash, swapped_hash) = (home.hash::<M>(), home.swapped().hash::<M>());
        let class = self.classes.len();
        let item = Item { hash, swapped_hash, class, key: class, home };
        self.classes.push(item);
        item
    }

    /// Stores one copy of each item in this bucket.
    pub fn store(&mut self, bucket: usize, items: &[Item]) -> &mut Self {
        self.store_knowing(ALL, bucket, items)
    }

    /// Stores an entry of each item in this bucket, as an insert would have stored it when the table had doubled
    /// `level` times.
    pub fn store_as_of(&mut self, level: u32, bucket: usize, items: &[Item]) -> &mut Self {
        self.store_knowing(probe::common_bits::<M>(self.began_with) + level, bucket, items)
    }

    /// Stores an entry of each item in this bucket, which is not split in this level. The entry knows nothing beyond
    /// the bucket. The table has doubled as many times as its rings have places for bits.
    pub fn store_void(&mut self, bucket: usize, items: &[Item]) -> &mut Self {
        let level = self.buckets.ilog2();
        assert!(level >= probe::common_bits::<M>(self.began_with), "no table has such entries");
        self.store_knowing(level, bucket, items)
    }

    fn store_knowing(&mut self, known: u32, bucket: usize, items: &[Item]) -> &mut Self {
        for &item in items {
            let buckets = item.home.buckets::<M>(self.buckets);
            assert!(buckets.contains(&bucket), "{item:?} does not belong in bucket {bucket}");
            self.stored.push(Stored { bucket, item, known });
        }
        self
    }

    /// Puts one copy of each item into the stash.
    pub fn stash(&mut self, items: &[Item]) -> &mut Self {
        self.stashed.extend(items);
        self
    }

    /// Sets the filter that a thread [merges](merge): it has as many buckets as this one began with, and holds these
    /// items, each in the bucket that its lookups read first.
    pub fn merged(&mut self, items: &[Item]) -> &mut Self {
        self.merged.extend(items);
        self
    }

    /// Fills the free slots of this bucket with copies of the item.
    pub fn fill(&mut self, bucket: usize, item: Item) -> &mut Self {
        self.store(bucket, &vec![item; M::SLOTS - self.stored_in(bucket)])
    }

    /// Fills both buckets of an item of a table of fixed size with copies of a new item.
    pub fn fill_buckets_of(&mut self, item: Item) -> &mut Self {
        let Home { first, second, .. } = item.home;
        let filler = self.item(first, second);
        self.fill(first, filler).fill(second, filler)
    }

    /// Fills the free slots of this bucket with copies of the item, except one slot.
    pub fn fill_but_one(&mut self, bucket: usize, item: Item) -> &mut Self {
        self.store(bucket, &vec![item; M::SLOTS - 1 - self.stored_in(bucket)])
    }

    /// Returns the other classes that have entries in common with this item: those that agree in all bits that every
    /// entry knows.
    fn relatives(&self, item: &Item) -> Vec<usize> {
        let mask = (1 << probe::common_bits::<M>(self.began_with)) - 1;
        let known = |home: Home| [home.first, home.second].map(|position| position & mask);
        let identity = |home: Home| (home.core, home.value);
        let related = |other: &&Item| {
            mask > 0
                && other.class != item.class
                && identity(other.home) == identity(item.home)
                && known(other.home) == known(item.home)
        };
        self.classes.iter().filter(related).map(|other| other.class).collect()
    }

    /// Returns the number of items that are stored in a bucket so far.
    #[must_use]
    pub fn stored_in(&self, bucket: usize) -> usize {
        self.stored.iter().filter(|stored| stored.bucket == bucket).count()
    }

    /// Gives the table this number of generations. The one with the stamp 0 is present.
    #[must_use]
    pub fn generations(self, generations: u32) -> Self {
        Self { generations, ..self }
    }

    /// Keeps the `SeqCst` accesses of the model; in other models they become Acquire and Release. Only for models about
    /// `SeqCst`: loom makes a `SeqCst` load read the newest value at once, and so hides faults in the weaker accesses
    /// before it.
    #[must_use]
    pub fn exact_seq_cst(self) -> Self {
        Self { exact_seq_cst: true, ..self }
    }

    /// Gives each cell of the stash two words. In other models a cell is one word, which has fewer steps, unless it
    /// holds two copies or an entry that came by a merge.
    #[must_use]
    pub fn cells_of_two_words(self) -> Self {
        Self { cells_of_two_words: true, ..self }
    }

    /// Also runs the model by every schedule with two preemptions: at each point it tries each thread that can go on.
    /// So it does not rely on loom's notion of equal orders. Only with the mended loom.
    #[must_use]
    pub fn by_every_schedule(self) -> Self {
        Self { every_schedule: true, ..self }
    }

    /// As `check`, with threads that assert what they see: the record is not checked. The closure that `define` returns
    /// is called at the end, when no thread is running.
    pub fn check_asserted<F: FnOnce(&mut Thread<M>)>(
        self,
        floor: usize,
        preemptions: usize,
        define: impl Fn(&mut Model<M>) -> F + Send + Sync + 'static,
    ) {
        self.explore(floor, preemptions, move |setup| {
            let mut model = Model::new(setup);
            let at_the_end = define(&mut model);
            at_the_end(&mut model.join().0);
        });
    }

    fn explore(
        self,
        floor: usize,
        preemptions: usize,
        run: impl Fn(&Arc<Self>) + Send + Sync + 'static,
    ) {
        probe::set_seq_cst_is_exact(self.exact_seq_cst);
        probe::set_cells_of_two_words(self.cells_of_two_words);
        let every_schedule = self.every_schedule && cfg!(feature = "mended-loom");
        let setup = Arc::new(self);
        let execution: Execution = Arc::new(move || run(&setup));
        explore(floor, preemptions, &execution);
        if every_schedule {
            explore_by(true, floor, 2, &execution);
        }
    }

    /// Adds a thread, which takes these steps.
    #[must_use]
    pub fn thread(mut self, steps: impl IntoIterator<Item = Step<M>>) -> Self {
        self.threads.push(steps.into_iter().collect());
        self
    }

    /// Makes the threads assert what they see, without a check of the record. When no thread is running any more, the
    /// main thread takes these steps.
    #[must_use]
    pub fn at_the_end(self, steps: impl IntoIterator<Item = Step<M>>) -> Self {
        let judge: Judge<M> = |mut main, _| main.take(|setup| &setup.at_the_end);
        Self { at_the_end: steps.into_iter().collect(), judge, ..self }
    }

    /// Runs the threads in every order of events that loom explores with at most `preemptions` preemptions, and asserts
    /// that there were at least `floor` executions: a model with only a few of them shows nothing.
    pub fn check(self, floor: usize, preemptions: usize) {
        self.check_with(floor, preemptions, |_| ());
    }

    /// As `check`, for threads that are more than a list of steps: `define` adds them, and is called once per
    /// execution.
    pub fn check_with(
        self,
        floor: usize,
        preemptions: usize,
        define: impl Fn(&mut Model<M>) + Send + Sync + 'static,
    ) {
        self.explore(floor, preemptions, move |setup| {
            let mut model = Model::new(setup);
            define(&mut model);
            let (main, threads) = model.join();
            (setup.judge)(main, threads);
        });
    }
}

impl<M: IntoStorage> Setup<Maplet<M>> {
    /// For a table of generations: the checker compares ages, and at the end each item has at most one entry. An item
    /// with another value is the same item with this stamp.
    #[must_use]
    pub fn by_age(self) -> Self {
        Self { judge: Thread::judge_ages, ..self }
    }
}

/// What a model does in each execution.
pub type Execution = Arc<dyn Fn() + Send + Sync>;

/// Runs a model under loom, prints the number of its executions, and asserts the floor, unless [`WITHOUT_FLOORS`] is
/// set. With the published loom it asserts none.
pub fn explore(floor: usize, preemptions: usize, execution: &Execution) {
    explore_by(false, floor, preemptions, execution);
}

fn explore_by(every_schedule: bool, floor: usize, preemptions: usize, execution: &Execution) {
    let executions = Arc::new(AtomicUsize::new(0));
    let (counter, execution) = (Arc::clone(&executions), Arc::clone(execution));
    let started = Instant::now();
    let mut builder = Builder::new();
    // The published loom does not have this mode.
    #[cfg(feature = "mended-loom")]
    {
        builder.every_schedule = every_schedule;
    }
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        execution();
    });
    let executions = executions.load(Ordering::Relaxed);
    let current = std::thread::current();
    let name = current.name().unwrap_or("without a name");
    let how = if every_schedule { " by every schedule" } else { "" };
    println!("model {name}{how}: {executions} executions, {:.1?}", started.elapsed());
    if cfg!(feature = "mended-loom") && env::var_os(WITHOUT_FLOORS).is_none() {
        assert!(executions >= floor, "{name} explored {executions} executions, fewer than {floor}");
    }
}

/// An operation of a thread, which returns its answer.
type Operation<M> = dyn Fn(&mut Thread<M>) -> bool + Send + Sync;

/// A step of a thread: an operation, and the answer that it must give.
#[must_use = "a thread takes it"]
pub struct Step<M: Subject> {
    operation: Box<Operation<M>>,
    /// `None`: any answer that the checker accepts.
    expected: Option<bool>,
}

/// `!step`: the answer must be `false`.
impl<M: Subject> Not for Step<M> {
    type Output = Self;

    fn not(self) -> Self {
        Self { expected: Some(false), ..self }
    }
}

/// Returns a step that may have any answer.
pub fn maybe<M: Subject>(step: Step<M>) -> Step<M> {
    Step { expected: None, ..step }
}

/// Returns a step with an operation of its own, which must answer `true`.
pub fn does<M: Subject>(
    operation: impl Fn(&mut Thread<M>) -> bool + Send + Sync + 'static,
) -> Step<M> {
    Step { operation: Box::new(operation), expected: Some(true) }
}

/// Returns a step with an operation of its own and no answer.
fn done<M: Subject>(operation: impl Fn(&mut Thread<M>) + Send + Sync + 'static) -> Step<M> {
    does(move |thread| {
        operation(thread);
        true
    })
}

/// Calls [`Thread::insert`].
pub fn insert<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.insert(item))
}

/// Calls [`Thread::insert_if_absent`].
pub fn insert_if_absent<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.insert_if_absent(item))
}

/// Calls [`Thread::contains`].
pub fn contains<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.contains(item))
}

/// Calls [`Thread::insert_pair_if_absent`].
pub fn insert_pair_if_absent<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.insert_pair_if_absent(item))
}

/// Calls [`Thread::contains_pair`].
pub fn contains_pair<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.contains_pair(item))
}

/// Calls [`Thread::remove`].
pub fn remove<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.remove(item))
}

/// Calls [`Thread::count`], which must return `copies`.
pub fn count<M: Subject>(item: Item, copies: usize) -> Step<M> {
    does(move |thread| thread.count(item) == copies)
}

/// Calls [`Thread::clear`].
pub fn clear<M: Subject>() -> Step<M> {
    done(Thread::clear)
}

/// Calls [`Thread::snapshot`], which must contain each of these items once.
pub fn snapshot<M: Subject, const N: usize>(once: [Item; N]) -> Step<M> {
    does(move |thread| {
        let counts = thread.snapshot();
        once.iter().all(|&item| counts.of(item) == 1)
    })
}

/// Calls [`Thread::merge`].
pub fn merge<M: Subject>(stored: usize) -> Step<M> {
    does(move |thread| thread.merge(stored))
}

/// Intersects the filter with itself: all items stay.
pub fn intersect_with_itself<M: Subject>() -> Step<M> {
    does(|thread| probe::intersect::<M>(&thread.shared, &thread.shared) == 0)
}

/// Calls [`Thread::intersect_without`], which must remove the item: so it may move only to a bucket that the
/// intersection reads later.
pub fn intersect_without<M: Subject>(item: Item) -> Step<M> {
    does(move |thread| thread.intersect_without(item))
}

/// Checks that the filter may hold the item, by an entry that knows `known` bits of the item's position.
pub fn may_hold<M: Subject>(item: Item, known: u32) -> Step<M> {
    does(move |thread| !probe::lacks_each::<M>(&thread.shared, item.home, known))
}

/// Calls [`Thread::split`], with this number of buckets.
pub fn split<M: Subject>(buckets: usize) -> Step<M> {
    does(move |thread| thread.split(buckets) == buckets)
}

/// Sends all that this thread has done to a thread that [receives](receive) this signal. There are two signals, each of
/// which is sent once.
pub fn send<M: Subject>(signal: usize) -> Step<M> {
    does(move |thread| {
        thread.send(signal);
        true
    })
}

/// Receives a signal. If it was sent, and this thread sees it, the checker accepts from now on only answers that are
/// possible after the sender's operations.
pub fn receive<M: Subject>(signal: usize) -> Step<M> {
    maybe(does(move |thread| thread.receive(signal)))
}

/// Calls [`Thread::widen`].
pub fn widen<M: Subject>() -> Step<M> {
    done(|thread| thread.widen())
}

/// Calls [`Thread::resize_stash`].
pub fn resize_stash<M: Subject>(item: Item, lines: usize) -> Step<M> {
    done(move |thread| thread.resize_stash(item, lines))
}

/// Calls [`Thread::get`], which must find these items, and may find others.
pub fn get<M: IntoStorage, const N: usize>(key: Item, items: [Item; N]) -> Step<Maplet<M>> {
    does(move |thread| {
        let found = thread.get(key);
        items.iter().all(|&item| found.has(item))
    })
}

/// Calls [`Thread::get`], which must find one of these items.
pub fn get_any<M: IntoStorage>(key: Item, [one, other]: [Item; 2]) -> Step<Maplet<M>> {
    does(move |thread| {
        let found = thread.get(key);
        found.has(one) || found.has(other)
    })
}

/// Calls [`Thread::contains_key`].
pub fn contains_key<M: IntoStorage>(item: Item) -> Step<Maplet<M>> {
    does(move |thread| thread.contains_key(item))
}

/// Calls [`Thread::replace`].
pub fn replace<M: IntoStorage, const SHORT_RING: bool>(
    item: Item,
    with: Item,
) -> Step<Maplet<M, SHORT_RING>> {
    does(move |thread| thread.replace(item, with))
}

/// Calls [`Thread::remove_value`], which must remove this number of pairs.
pub fn remove_value<M: IntoStorage, const SHORT_RING: bool>(
    item: Item,
    removed: usize,
) -> Step<Maplet<M, SHORT_RING>> {
    does(move |thread| thread.remove_value(item) == removed)
}

/// Calls [`Thread::age_values`].
pub fn age_values<M: IntoStorage, const SHORT_RING: bool, const N: usize>(
    pairs: [[Item; 2]; N],
) -> Step<Maplet<M, SHORT_RING>> {
    done(move |thread| thread.age_values(pairs))
}

/// Calls [`Thread::shift_values`].
pub fn shift_values<M: IntoStorage>(items: [Item; 3]) -> Step<Maplet<M>> {
    done(move |thread| thread.shift_values(items))
}

/// Calls [`Thread::increment`], which must find one of these values.
pub fn increment<M: IntoStorage, const N: usize>(
    item: Item,
    from: [Option<u32>; N],
) -> Step<Maplet<M>> {
    does(move |thread| from.contains(&thread.increment(item)))
}

/// Calls [`Thread::peek`], which must return one of these.
pub fn peek<M: IntoStorage, const N: usize>(
    item: Item,
    found: [Option<u32>; N],
) -> Step<Maplet<M>> {
    does(move |thread| found.contains(&thread.peek(item)))
}

/// Calls [`Thread::count_one`].
pub fn count_one<M: IntoStorage>(item: Item) -> Step<Maplet<M>> {
    done(move |thread| thread.count_one(item))
}

/// Calls [`Thread::stamp`].
pub fn stamp<M: IntoStorage>(item: Item) -> Step<Maplet<M>> {
    does(move |thread| thread.stamp(item))
}

/// Calls [`Thread::stamp_if_absent`].
pub fn stamp_if_absent<M: IntoStorage>(item: Item) -> Step<Maplet<M>> {
    does(move |thread| thread.stamp_if_absent(item))
}

/// Calls [`Thread::age`], with any result.
pub fn age<M: IntoStorage>(item: Item) -> Step<Maplet<M>> {
    maybe(does(move |thread| thread.age(item).is_some()))
}

/// Calls [`Thread::advance`], with any result.
pub fn advance<M: IntoStorage>() -> Step<Maplet<M>> {
    maybe(does(|thread| thread.advance() > 0))
}

impl<M: Subject> Setup<M> {
    /// Returns the item with the key of another item, and this value.
    fn of_value(&self, item: Item, value: u32) -> Item {
        let is_it = |other: &&Item| other.key == item.key && other.home.value == value;
        *self.classes.iter().find(is_it).expect("a value that the key may have")
    }

    /// Returns the class of the entry in a slot of an image, if there is one.
    fn class(&self, image: &Image, bucket: usize, slot: u64) -> Option<usize> {
        self.classes.iter().position(|item| item.home.is_in::<M>(image.buckets.len(), bucket, slot))
    }

    /// Returns the classes of all entries of an image, in their order. An entry that a split has doubled may be of no
    /// item. All others must be in a bucket of their class, by the extent of the image.
    fn classes_in(&self, image: &Image) -> Vec<usize> {
        let slots = image.buckets.iter().enumerate();
        let slots = slots.flat_map(|(bucket, slots)| slots.iter().map(move |&slot| (bucket, slot)));
        let classes: Vec<_> = slots.map(|(bucket, slot)| self.class(image, bucket, slot)).collect();
        let of_none = classes.iter().filter(|class| class.is_none()).count();
        assert!(of_none as u64 <= image.doubled, "of no item: {of_none} of {:x?}", image.buckets);
        classes.into_iter().flatten().collect()
    }

    /// Returns the number of copies of each class in an image.
    fn count(&self, image: &Image) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        self.classes_in(image).into_iter().for_each(|class| counts[class] += 1);
        for (count, item) in counts.iter_mut().zip(&self.classes) {
            *count += image.stashed_of::<M>(item.home);
        }
        assert_eq!(image.items, counts.iter().sum::<usize>(), "items of an image");
        counts
    }
}

type Body<M> = Box<dyn FnOnce(&mut Thread<M>) + Send>;

/// One execution of a model: the filter, and the threads that will use it.
pub struct Model<M: Subject> {
    main: Thread<M>,
    bodies: Vec<Body<M>>,
}

impl<M: Subject> Model<M> {
    fn new(setup: &Arc<Setup<M>>) -> Self {
        let Setup { began_with, max_buckets, generations, .. } = **setup;
        let shared = Arc::new(probe::empty::<M>(began_with, max_buckets, generations));
        if let Some(stripes) = setup.stripes {
            probe::narrow::<M>(&shared, stripes);
        }
        let splits = setup.buckets - setup.began_with;
        assert_eq!(probe::split::<M>(&shared, splits), splits);
        for &Stored { bucket, item, known } in &setup.stored {
            let stored = probe::put::<M>(&shared, bucket, item.home, known);
            assert!(stored, "bucket {bucket} is full");
        }
        for item in &setup.stashed {
            probe::stash::<M>(&shared, item.hash, item.home);
        }
        let merged = (!setup.merged.is_empty()).then(|| {
            let other = probe::empty::<M>(began_with, began_with, 0);
            for item in &setup.merged {
                let [first, _] = item.home.buckets::<M>(began_with);
                assert!(probe::put::<M>(&other, first, item.home, ALL));
            }
            Arc::new(probe::image::<M>(&other))
        });
        let setup = Arc::clone(setup);
        let (signals, known) = (Arc::default(), Vec::new());
        let main = Thread { shared, setup, merged, index: 0, signals, known, events: Vec::new() };
        let mut model = Self { main, bodies: Vec::new() };
        for at in 0..model.main.setup.threads.len() {
            model.thread(move |thread| thread.take(|setup| &setup.threads[at]));
        }
        model
    }

    /// Adds a thread. The main thread takes no part in a model: otherwise loom would explore too few executions.
    pub fn thread(&mut self, body: impl FnOnce(&mut Thread<M>) + Send + 'static) {
        self.bodies.push(Box::new(body));
    }

    /// Runs all threads. Returns the main thread, which knows all that they did, and the record, which begins with that
    /// of the main thread.
    fn join(self) -> (Thread<M>, Vec<Vec<Event>>) {
        let Self { mut main, bodies } = self;
        main.known = vec![0; bodies.len() + 1];
        let handles: Vec<_> = bodies
            .into_iter()
            .enumerate()
            .map(|(index, body)| {
                let mut thread = Thread { index: index + 1, ..main.unrecorded() };
                thread::spawn(move || {
                    body(&mut thread);
                    thread.events
                })
            })
            .collect();
        let mut all = vec![Vec::new()];
        for handle in handles {
            all.push(handle.join().expect("a thread panicked"));
        }
        main.known = all.iter().map(Vec::len).collect();
        assert!(!probe::has_mirror::<M>(&main.shared), "a mirror is left");
        (main, all)
    }
}

/// A thread of a model: each operation is applied to the filter, or maplet, and recorded.
pub struct Thread<M: Subject> {
    shared: Arc<M::Shared>,
    setup: Arc<Setup<M>>,
    index: usize,
    merged: Option<Arc<Image>>,
    signals: Arc<[Signal; 2]>,
    /// For each thread, how many of its operations happen before the next one of this thread.
    known: Vec<usize>,
    events: Vec<Event>,
}

impl<M: Subject> Thread<M> {
    /// Takes these steps.
    fn take(&mut self, steps: impl FnOnce(&Setup<M>) -> &[Step<M>]) {
        let setup = Arc::clone(&self.setup);
        for (at, Step { operation, expected }) in steps(&setup).iter().enumerate() {
            let answer = operation(self);
            let is_right = expected.is_none_or(|expected| answer == expected);
            assert!(is_right, "step {at} of thread {} answers {answer}", self.index);
        }
    }

    /// Checks the record of all threads, and the final contents of the table.
    fn judge(mut self, mut all: Vec<Vec<Event>>) {
        let setup = Arc::clone(&self.setup);
        let classes = || setup.classes.iter();
        let relatives: Vec<_> = classes().map(|item| setup.relatives(item)).collect();
        let any_related = !relatives.iter().all(Vec::is_empty);
        let stored: usize = classes().map(|&item| self.count(item)).sum();
        let len = probe::len::<M>(&self.shared);
        assert!(any_related || len == stored, "`len` when no thread is running");
        let snapshot = |event: &Event| matches!(event.outcome, Outcome::Snapshot(_));
        if all.iter().flatten().any(snapshot) {
            // One more snapshot is of the final table.
            self.snapshot();
        }
        all[0].clone_from(&self.events);
        let mut initial = vec![0; setup.classes.len()];
        for item in setup.stored.iter().map(|stored| &stored.item).chain(&setup.stashed) {
            initial[item.class] += 1;
        }
        let history = History {
            initial,
            keys: classes().map(|item| item.key).collect(),
            threads: all,
            inconclusive: probe::inconclusive::<M>(&self.shared),
            timed: false,
            relatives,
        };
        let shape = Shape {
            buckets: setup.max_buckets,
            slots: M::SLOTS,
            grown: probe::slots::<M>(&self.shared) == setup.max_buckets * M::SLOTS,
            pairs: classes().map(|item| item.home.buckets::<M>(setup.max_buckets)).collect(),
        };
        if let Err(reason) = history.explain().and_then(|()| history.explain_full(&shape)) {
            panic!("{reason:?}: {history:#?}");
        }
        if any_related {
            let left = history.left();
            assert_eq!(len, left.iter().sum::<usize>());
            for (&item, &copies) in classes().zip(&left) {
                assert!((0..copies).all(|_| self.remove(item)), "{item:?} was lost: {history:#?}");
            }
            assert_eq!(probe::len::<M>(&self.shared), 0);
        }
    }

    /// Records whether the answer is yes, and returns it.
    fn answer(&mut self, class: usize, is_yes: bool, [yes, no]: [Outcome; 2]) -> bool {
        self.record(class, if is_yes { yes } else { no });
        is_yes
    }

    fn record(&mut self, class: usize, outcome: Outcome) {
        self.events.push(Event { class, outcome, known: self.known.clone() });
        self.known[self.index] += 1;
    }

    /// Returns the number of entries in the stash.
    #[must_use]
    pub fn stashed(&self) -> usize {
        probe::stashed::<M>(&self.shared)
    }

    /// Splits up to `most` buckets; neighbours are split at once. Not recorded, since a split changes no answer.
    #[must_use]
    pub fn split(&self, most: usize) -> usize {
        probe::split::<M>(&self.shared, most)
    }

    /// Returns whether one more copy was stored.
    pub fn insert(&mut self, item: Item) -> bool {
        let result = probe::insert::<M>(&self.shared, item.hash, item.home);
        assert!(matches!(result, Ok(()) | Err(Error::Full)), "{result:?}");
        self.answer(item.class, result.is_ok(), [Outcome::Inserted, Outcome::Full])
    }

    /// Returns whether it stored the first copy; in a maplet, the first value of the key.
    pub fn insert_if_absent(&mut self, item: Item) -> bool {
        let result = probe::insert_if_absent::<M>(&self.shared, item.hash, item.home);
        assert!(matches!(result, Ok(_) | Err(Error::Full)), "{result:?}");
        let if_not = if result.is_ok() { Outcome::Duplicate } else { Outcome::UniqueFull };
        self.answer(item.class, result == Ok(true), [Outcome::Unique, if_not])
    }

    /// Returns whether the item was found. In a maplet, its key must have no other value.
    pub fn contains(&mut self, item: Item) -> bool {
        let found = probe::contains::<M>(&self.shared, item.hash);
        self.answer(item.class, found, [Outcome::Found, Outcome::Missing])
    }

    /// Returns whether it stored the first copy; in a maplet, the first one with its value.
    pub fn insert_pair_if_absent(&mut self, item: Item) -> bool {
        let result = probe::insert_pair_if_absent::<M>(&self.shared, item.hash, item.home);
        let new = result.expect("there is room");
        self.answer(item.class, new, [Outcome::UniquePair, Outcome::DuplicatePair])
    }

    /// Returns whether the item was found; in a maplet, with its value.
    pub fn contains_pair(&mut self, item: Item) -> bool {
        let found = probe::contains_pair::<M>(&self.shared, item.hash, item.home);
        self.answer(item.class, found, [Outcome::Found, Outcome::Missing])
    }

    /// Returns whether a copy was removed.
    pub fn remove(&mut self, item: Item) -> bool {
        let removed = probe::remove::<M>(&self.shared, item.hash, item.home);
        self.answer(item.class, removed, [Outcome::Removed, Outcome::NotThere])
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        probe::clear::<M>(&self.shared);
        self.record(0, Outcome::Cleared);
    }

    /// Returns the number of copies.
    pub fn count(&mut self, item: Item) -> usize {
        let count = probe::copies::<M>(&self.shared, item.hash, item.home);
        self.record(item.class, Outcome::Counted(count));
        count
    }

    /// Returns the copies of each class at one instant, from a snapshot.
    pub fn snapshot(&mut self) -> Counts {
        let counts = self.setup.count(&probe::image::<M>(&self.shared));
        self.record(0, Outcome::Snapshot(counts.clone()));
        Counts(counts)
    }

    /// Gives the table all its stripes and versions, and moves its words. Not recorded.
    pub fn widen(&self) {
        probe::widen::<M>(&self.shared);
    }

    /// Gives the stash, which holds this item, another number of lines. Not recorded.
    pub fn resize_stash(&self, item: Item, lines: usize) {
        probe::resize_stash::<M>(&self.shared, item.hash, item.home, lines);
    }

    /// Returns a handle to the same filter, or maplet, whose operations are not recorded.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            setup: Arc::clone(&self.setup),
            merged: self.merged.clone(),
            index: self.index,
            signals: Arc::clone(&self.signals),
            known: self.known.clone(),
            events: Vec::new(),
        }
    }

    /// Intersects the filter with one that has an item of each class, except this one. Returns whether the item was
    /// removed. If not, it was absent, or it was moved meanwhile.
    pub fn intersect_without(&mut self, item: Item) -> bool {
        let setup = self.setup.clone();
        let other = probe::empty::<M>(setup.began_with, setup.max_buckets, 0);
        for kept in setup.classes.iter().filter(|kept| kept.class != item.class) {
            probe::insert::<M>(&other, kept.hash, kept.home).expect("room for one item");
        }
        let removed = probe::intersect::<M>(&self.shared, &other);
        assert!(removed <= 1, "only this item is removed");
        if removed == 1 {
            self.record(item.class, Outcome::Removed);
        }
        removed == 1
    }

    /// Returns whether all items of the [merged](Setup::merged) filter were stored. If not, `stored` of them had been,
    /// and were taken back.
    pub fn merge(&mut self, stored: usize) -> bool {
        let image = self.merged.as_ref().expect("what is merged");
        let classes = self.setup.classes_in(image).into_iter();
        let merged = probe::merge::<M>(&self.shared, image);
        for class in classes.clone().take(if merged.is_ok() { usize::MAX } else { stored }) {
            self.record(class, Outcome::Inserted);
        }
        if merged.is_err() {
            let refused = classes.clone().nth(stored).expect("not all were stored");
            self.record(refused, Outcome::Full);
            for class in classes.take(stored) {
                self.record(class, Outcome::Removed);
            }
        }
        merged.is_ok()
    }

    /// Publishes everything that this thread has done, by one of two signals, each of which is sent once.
    fn send(&self, signal: usize) {
        let signal = &self.signals[signal];
        signal.known.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.known);
        // Release: pairs with the Acquire in `receive`.
        signal.sent.store(true, Ordering::Release);
    }

    /// Returns whether the signal was seen.
    fn receive(&mut self, signal: usize) -> bool {
        let signal = &self.signals[signal];
        // Acquire: pairs with the Release in `send`.
        let sent = signal.sent.load(Ordering::Acquire);
        if sent {
            let known = signal.known.lock().unwrap_or_else(PoisonError::into_inner);
            for (mine, theirs) in self.known.iter_mut().zip(&*known) {
                *mine = (*mine).max(*theirs);
            }
        }
        sent
    }
}

impl<M: IntoStorage> Thread<M> {
    /// Returns how many of the items were stored, in order.
    pub fn insert_many(&mut self, items: &[Item]) -> usize {
        let hashes: Vec<_> = items.iter().map(|item| Prehashed(item.hash)).collect();
        let failed = self.shared.insert_many(&hashes).err();
        let stored = failed.as_ref().map_or(items.len(), Error::stored);
        for &item in &items[..stored] {
            self.record(item.class, Outcome::Inserted);
        }
        if let Some(error) = failed {
            assert_eq!(error, Error::Stopped { index: stored, stored, cause: &Error::Full });
            self.record(items[stored].class, Outcome::Full);
        }
        stored
    }

    /// Returns which of the items were new. There is room for all.
    pub fn insert_if_absent_many(&mut self, items: &[Item]) -> Vec<bool> {
        self.answer_many(items, &[Outcome::Unique, Outcome::Duplicate], |filter, items, new| {
            filter.insert_if_absent_many(items, new).expect("room")
        })
    }

    /// Returns which of the items were removed.
    pub fn remove_many(&mut self, items: &[Item]) -> Vec<bool> {
        self.answer_many(items, &[Outcome::Removed, Outcome::NotThere], |filter, items, removed| {
            filter.remove_many(items, removed).expect("as many answers as items")
        })
    }

    /// Returns which of the items were found.
    pub fn contains_many(&mut self, items: &[Item]) -> Vec<bool> {
        self.answer_many(items, &[Outcome::Found, Outcome::Missing], |filter, items, found| {
            filter.contains_many(items, found).expect("as many answers as items");
            found.iter().filter(|&&found| found).count()
        })
    }

    /// Records the answers of a batch, which returns how many of them are yes.
    fn answer_many(
        &mut self,
        items: &[Item],
        outcomes: &[Outcome; 2],
        batch: impl Fn(&Filter<M::Storage>, &[Prehashed], &mut [bool]) -> usize,
    ) -> Vec<bool> {
        let hashes: Vec<_> = items.iter().map(|item| Prehashed(item.hash)).collect();
        let mut answers = vec![false; items.len()];
        let count = batch(&self.shared, &hashes, &mut answers);
        assert_eq!(count, answers.iter().filter(|&&answer| answer).count());
        for (&item, &answer) in items.iter().zip(&answers) {
            self.answer(item.class, answer, outcomes.clone());
        }
        answers
    }

    /// Returns the filter itself, for calls that are not recorded.
    #[must_use]
    pub fn filter(&self) -> &Filter<M::Storage> {
        &self.shared
    }
}

impl<M: IntoStorage> Thread<Maplet<M>> {
    /// As `judge`, for ages.
    fn judge_ages(mut self, mut threads: Vec<Vec<Event>>) {
        let setup = Arc::clone(&self.setup);
        for &item in setup.classes.iter().filter(|item| item.class == item.key) {
            let entries = usize::from(self.age(item).is_some());
            assert_eq!(self.stamps(item).len(), entries, "entries of {item:?}");
        }
        threads[0].clone_from(&self.events);
        let mut initial = vec![None; setup.classes.len()];
        for stored in &setup.stored {
            let age = (setup.generations - stored.item.home.value) % setup.generations;
            initial[stored.item.key] = Some(age);
        }
        let history = expiring::History { generations: setup.generations, initial, threads };
        if let Err(reason) = history.explain() {
            panic!("{reason:?}: {history:#?}");
        }
    }

    /// Returns which items of the key of this item were found: those whose values were found.
    pub fn get(&mut self, item: Item) -> Found {
        let values = self.shared.get(&Prehashed(item.hash));
        let found: Vec<_> = values.map(|value| self.setup.of_value(item, value).class).collect();
        self.record(item.class, Outcome::Got(found.clone()));
        Found(found)
    }

    /// Returns whether the key of this item was found, with any value.
    pub fn contains_key(&mut self, item: Item) -> bool {
        let found = self.shared.contains_key(&Prehashed(item.hash));
        self.record(item.class, Outcome::HasKey(found));
        found
    }

    /// Returns, for each item, whether a copy of it has got the value of another item of its key.
    pub fn replace_many(&mut self, items: &[(Item, Item)]) -> Vec<bool> {
        let pair = |&(item, with): &(Item, Item)| {
            let (hash, old, new) = replacement(item, with);
            (Prehashed(hash), old, new)
        };
        let pairs: Vec<_> = items.iter().map(pair).collect();
        let mut replaced = vec![false; items.len()];
        let count = self.shared.replace_many(&pairs, &mut replaced).expect("values that fit");
        assert_eq!(count, replaced.iter().filter(|&&replaced| replaced).count());
        for (&(item, with), &replaced) in items.iter().zip(&replaced) {
            self.answer(item.class, replaced, [Outcome::Replaced(with.class), Outcome::NotThere]);
        }
        replaced
    }

    /// Adds 1 to a value of the key of this item, all values of which are items. Returns the value before.
    pub fn increment(&mut self, item: Item) -> Option<u32> {
        let before = self.shared.update(&Prehashed(item.hash), |value| Some(value + 1));
        let before = before.expect("a value that fits");
        if let Some(value) = before {
            let [old, new] = [value, value + 1].map(|value| self.setup.of_value(item, value));
            self.record(old.class, Outcome::Replaced(new.class));
        } else {
            self.record(item.class, Outcome::HasKey(false));
        }
        before
    }

    /// Updates the key of this item with a function that changes nothing. Returns the value that it was called with.
    pub fn peek(&mut self, item: Item) -> Option<u32> {
        let found = self.shared.update(&Prehashed(item.hash), |_| None);
        let found = found.expect("nothing is stored");
        self.record(item.class, Outcome::HasKey(found.is_some()));
        found
    }

    /// Counts the key of this item, with the value 1: stores it, or adds 1.
    pub fn count_one(&mut self, item: Item) {
        let key = Prehashed(item.hash);
        let before = self.shared.update_or_insert(&key, 1, |value| Some(value + 1));
        if let Some(value) = before.expect("there is room") {
            let [old, new] = [value, value + 1].map(|value| self.setup.of_value(item, value));
            self.record(old.class, Outcome::Replaced(new.class));
        } else {
            self.record(item.class, Outcome::Unique);
        }
    }
}

impl<M: IntoStorage, const SHORT_RING: bool> Thread<Maplet<M, SHORT_RING>> {
    /// Returns whether a copy of the item has got the value of another item of its key.
    pub fn replace(&mut self, item: Item, with: Item) -> bool {
        let (hash, old, new) = replacement(item, with);
        let replaced = self.shared.replace(&Prehashed(hash), old, new).expect("a value that fits");
        self.answer(item.class, replaced, [Outcome::Replaced(with.class), Outcome::NotThere])
    }

    /// Returns how many pairs with the value of this item were removed. No other item has this value.
    pub fn remove_value(&mut self, item: Item) -> usize {
        let of_others =
            |other: &Item| other.class != item.class && other.home.value == item.home.value;
        assert!(!self.setup.classes.iter().any(of_others), "a record names one item");
        let removed = self.shared.remove_value(item.home.value);
        if removed == 0 {
            self.record(item.class, Outcome::NotThere);
        }
        (0..removed).for_each(|_| self.record(item.class, Outcome::Removed));
        removed
    }

    /// Changes all values at once: each value 1 becomes 2, and each value 2 is removed. `pairs` are all pairs that have
    /// the value 1, each with the pair that it becomes. If there is only one, it may have the value 2 by now.
    pub fn age_values<const N: usize>(&mut self, pairs: [[Item; 2]; N]) {
        let removed = self.shared.update_values(|value| match value {
            1 => Some(2),
            2 => None,
            other => Some(other),
        });
        let removed = removed.expect("values that fit");
        assert!(removed <= usize::from(N == 1), "no pair is changed twice");
        for [before, after] in pairs {
            if removed > 0 {
                self.record(after.class, Outcome::Removed);
            } else {
                self.record(before.class, Outcome::Replaced(after.class));
            }
        }
    }

    /// Changes all values at once: each value 1 becomes 2, and each value 2 becomes 0. `items` are the only pairs with
    /// the values 1 and 2, and the pair that the second one becomes.
    pub fn shift_values(&mut self, [one, two, zero]: [Item; 3]) {
        let shifted = self.shared.update_values(|value| match value {
            1 => Some(2),
            2 => Some(0),
            other => Some(other),
        });
        assert_eq!(shifted, Ok(0));
        self.record(one.class, Outcome::Replaced(two.class));
        self.record(two.class, Outcome::Replaced(zero.class));
    }
}

/// Operations of a table of generations.
impl<M: IntoStorage, const SHORT_RING: bool> Thread<Maplet<M, SHORT_RING>> {
    /// Gives the item the present stamp. Returns whether it was not there.
    pub fn stamp(&mut self, item: Item) -> bool {
        let is_new = Maplet::<M, SHORT_RING>::stamp(&self.shared, item.hash, true);
        self.record(item.key, Outcome::Stamped(is_new));
        is_new
    }

    /// Gives the item the present stamp, unless it is there. Returns whether it was not.
    pub fn stamp_if_absent(&mut self, item: Item) -> bool {
        let is_new = Maplet::<M, SHORT_RING>::stamp(&self.shared, item.hash, false);
        self.answer(item.key, is_new, [Outcome::Unique, Outcome::Duplicate])
    }

    /// Returns how many generations ago the item got its stamp.
    pub fn age(&mut self, item: Item) -> Option<u32> {
        let age = Maplet::<M, SHORT_RING>::age(&self.shared, item.hash);
        self.record(item.key, Outcome::Aged(age));
        age
    }

    /// Ends a generation. Returns the number of removed entries.
    pub fn advance(&mut self) -> usize {
        self.advance_by(1)
    }

    /// Ends this number of generations: one after the other in the record, and at once for other threads. Returns the
    /// number of removed entries.
    pub fn advance_by(&mut self, generations: u64) -> usize {
        let removed = Maplet::<M, SHORT_RING>::advance_by(&self.shared, generations);
        (0..generations).for_each(|_| self.record(0, Outcome::Advanced));
        removed
    }

    /// Ends the first generation, if that is the present one, and returns whether it was. Not recorded, like all
    /// functions that follow.
    pub fn advance_from_first(&mut self) -> bool {
        Maplet::<M, SHORT_RING>::advance_from_first(&self.shared)
    }

    /// Returns the stamps of the item.
    #[must_use]
    pub fn stamps(&self, item: Item) -> Vec<u32> {
        self.shared.get(&Prehashed(item.hash)).collect()
    }

    /// Returns the number of the present generation.
    #[must_use]
    pub fn generation(&self) -> u64 {
        Maplet::<M, SHORT_RING>::generation(&self.shared)
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        probe::len::<Maplet<M, SHORT_RING>>(&self.shared)
    }

    /// Returns the number of the present generation at one instant, and how many items there were.
    #[must_use]
    pub fn image(&self) -> (u64, usize) {
        let image = probe::image::<Maplet<M, SHORT_RING>>(&self.shared);
        (image.generation, image.items)
    }
}

/// Operations of an expiring filter that advances by the time of the model: not recorded.
impl<M: IntoStorage, const ITEMS: usize> Thread<Expiring<M, ITEMS>> {
    /// Returns whether the item was new.
    pub fn remember(&mut self, item: Item) -> bool {
        self.shared.insert(&Prehashed(item.hash)).expect("room")
    }

    /// Returns whether the item is found.
    #[must_use]
    pub fn is_remembered(&self, item: Item) -> bool {
        self.shared.contains(&Prehashed(item.hash))
    }

    /// Returns whether a clone of the filter remembers the item. The clone is made now, and ends the generations that
    /// are due.
    #[must_use]
    pub fn is_remembered_by_a_copy(&self, item: Item) -> bool {
        let copy = self.shared.try_clone().expect("memory");
        copy.advance_if_due();
        copy.contains(&Prehashed(item.hash))
    }

    /// Ends the generations that are due by the time of the model.
    pub fn advance_if_due(&self) {
        self.shared.advance_if_due();
    }

    /// Ends a generation.
    pub fn end_generation(&self) {
        self.shared.advance();
    }

    /// Returns the number of generations that have ended.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }
}

/// Returns the hash of a key, with the values of two of its items.
fn replacement(item: Item, with: Item) -> (u64, u32, u32) {
    assert_eq!(item.key, with.key);
    (item.hash, item.home.value, with.home.value)
}

/// The values that a `get` has found.
pub struct Found(Vec<usize>);

impl Found {
    /// Returns whether the value of this item is among them.
    #[must_use]
    pub fn has(&self, item: Item) -> bool {
        self.0.contains(&item.class)
    }
}

/// The number of copies of each class in a snapshot.
pub struct Counts(Vec<usize>);

impl Counts {
    /// Returns the number of copies of an item.
    #[must_use]
    pub fn of(&self, item: Item) -> usize {
        self.0[item.class]
    }
}

/// A happens-before edge between two threads of a model. A thread that has received the signal knows every operation
/// that its sender had done.
#[derive(Default)]
struct Signal {
    sent: AtomicBool,
    /// What the sender knew. Never contended, since loom runs one thread at a time.
    known: Mutex<Vec<usize>>,
}
