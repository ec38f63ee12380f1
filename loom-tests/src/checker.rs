//! Decides whether an exact multiset could have given the results of a recorded history.
//!
//! # The order of operations
//!
//! Each operation records, for each thread, how many of its operations are *known* to have returned
//! before this one was invoked. What counts as known:
//!
//! * in a model, happens-before: the order within a thread, spawn and join, and the edges that the
//!   model makes with its own atomics. Time does not count, since loom lets a load return an
//!   outdated value, as weak hardware does, unless something orders the two;
//! * on a real machine, time: each thread increments a shared clock right before and right after
//!   each operation ([`History::from_intervals`]).
//!
//! # What is checked
//!
//! The filter promises atomic operations on each *class* (one fingerprint with one pair of buckets).
//! So each class is checked by itself: there must be one order of its operations that agrees with
//! the known order and in which a simple counter gives the same results. On a real machine, where
//! known means time, this is enough: if each class is linearizable, so is the whole (Herlihy and
//! Wing, "Linearizability", 1990). In a model it is not: the order between operations on different
//! classes needs assertions of its own.
//!
//! # Maplets
//!
//! A class of a maplet is a key with a value. A `get` is a lookup of each value of its key, and a
//! replacement removes a copy of one class and stores one of another. There is no instant at which a
//! `get` reads all values of its key; but a replacement has one, at which it does both. So, beside each
//! class, all classes of a key that replacements connect are checked as one: a copy that gets another
//! value stays one of them, and a `get` must find it. `contains_key` is a lookup of all classes of its key
//! as one.
//!
//! # Snapshots and other cases
//!
//! A snapshot reads every class at one instant, so no class can be checked by itself any more. A
//! history with a snapshot must have one more order: of the operations on all classes together, with
//! a counter for each. Where known means time, it is an order of all operations. In a model, it is
//! one of the snapshots and of the operations that change the multiset: they hold locks, and are
//! ordered by them. For all others, a snapshot counts the copies of their class.
//!
//! Two results need more than a counter:
//!
//! * A lookup may find an absent item if the filter counted an inconclusive lookup: as many such
//!   answers as it counted, and no more.
//! * "Full" depends on the other classes: see [`History::explain_full`].
//!
//! # Filters that forget
//!
//! They have ages in place of a counter: see [`expiring`].

pub mod expiring;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// The result of an operation on a class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// `insert`: `Ok`.
    Inserted,
    /// `insert`: `Full`.
    Full,
    /// `insert_unique`: `Ok(true)`.
    Unique,
    /// `insert_unique`: `Ok(false)`.
    Duplicate,
    /// `insert_unique`: `Full`.
    UniqueFull,
    /// `remove`: `true`.
    Removed,
    /// `remove`: `false`.
    NotThere,
    /// `count`.
    Counted(usize),
    /// `contains`: `true`.
    Found,
    /// `contains`: `false`.
    Missing,
    /// `clear`: an operation on every class, whatever class its event names.
    Cleared,
    /// A snapshot, with the copies of each class in it: whatever class its event names.
    Snapshot(Vec<usize>),
    /// `get`, of the key of its class, with the classes that it found.
    Got(Vec<usize>),
    /// `contains_key`, of the key of its class.
    HasKey(bool),
    /// `replace`: `true`, with the class of the new value.
    Replaced(usize),
    /// `insert` of a filter that forgets: whether the item was new. `insert_if_absent` is `Unique`, or `Duplicate`.
    Stamped(bool),
    /// `age`.
    Aged(Option<u32>),
    /// `advance`: an operation on every class, whatever class its event names.
    Advanced,
}

impl Outcome {
    /// The number of copies afterwards; `None` if this result is impossible with `count` copies.
    fn apply(&self, count: usize) -> Option<usize> {
        let (possible, after) = match *self {
            Self::Inserted => (true, count + 1),
            Self::Unique => (count == 0, 1),
            Self::Removed => (count > 0, count.saturating_sub(1)),
            Self::Full => (true, count),
            Self::Duplicate | Self::Found => (count > 0, count),
            Self::NotThere | Self::Missing | Self::UniqueFull => (count == 0, count),
            Self::Counted(counted) => (count == counted, count),
            Self::Cleared
            | Self::Snapshot(_)
            | Self::Got(_)
            | Self::HasKey(_)
            | Self::Replaced(_)
            | Self::Stamped(_)
            | Self::Aged(_)
            | Self::Advanced => unreachable!("no operation on one class of a multiset"),
        };
        possible.then_some(after)
    }

    /// Whether the multiset stays the same.
    fn is_read_only(&self) -> bool {
        let changes = self.stores() || matches!(self, Self::Removed | Self::Cleared);
        !changes && !matches!(self, Self::Replaced(_))
    }

    fn stores(&self) -> bool {
        matches!(self, Self::Inserted | Self::Unique)
    }
}

/// One operation of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Index of the class.
    pub class: usize,
    /// What it did.
    pub outcome: Outcome,
    /// For each thread, how many of its operations are known to have returned before this one was
    /// invoked.
    pub known: Vec<usize>,
}

impl Event {
    /// Whether it stores a copy of this class.
    fn stores(&self, class: usize) -> bool {
        let stores = self.class == class && self.outcome.stores();
        stores || self.outcome == Outcome::Replaced(class)
    }

    /// Whether it takes a copy of this class away, and of no other.
    fn takes(&self, class: usize) -> bool {
        self.class == class && matches!(self.outcome, Outcome::Removed | Outcome::Replaced(_))
    }
}

/// An operation with the time of its call and of its return.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Index of the class.
    pub class: usize,
    /// What it did.
    pub outcome: Outcome,
    /// The clock before the call.
    pub invoked: u64,
    /// The clock after the return.
    pub returned: u64,
}

/// The operations of all threads on a filter, with their results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// Copies of each class at the start.
    pub initial: Vec<usize>,
    /// The key of each class, which several classes of a maplet have in common.
    pub keys: Vec<usize>,
    /// The operations of each thread, in program order.
    pub threads: Vec<Vec<Event>>,
    /// Lookups that the filter counted as inconclusive: each may have found an absent item.
    pub inconclusive: usize,
    /// Whether known means time: then there is one order of all operations on all classes.
    pub timed: bool,
    /// For each class, the other classes that may have entries in common with it: see
    /// [`History::explain`]. Empty in a table of fixed size.
    pub relatives: Vec<Vec<usize>>,
}

/// The geometry of a table, of one that grows at its greatest size, for [`History::explain_full`].
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of buckets.
    pub buckets: usize,
    /// Slots of a bucket.
    pub slots: usize,
    /// Whether the table had this size in the end. One that grows never gets smaller.
    pub grown: bool,
    /// The two buckets of each class.
    pub pairs: Vec<[usize; 2]>,
}

/// Why a history is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// No order of the operations on this class gives their results.
    NoOrder {
        /// Index of the class.
        class: usize,
    },
    /// An item that has relatives was not there when it had to be, or was there when it could not.
    Broken {
        /// Index of the class.
        class: usize,
    },
    /// No order of the operations on all classes gives the snapshots.
    NoInstant,
    /// More lookups found an absent item than were inconclusive.
    FoundNothing {
        /// How many at least.
        needed: usize,
    },
    /// An insert returned "full" although there was room during the whole call, or would have been
    /// if the table had grown.
    Room {
        /// Index of the thread.
        thread: usize,
        /// Index of its operation.
        event: usize,
    },
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOrder { class } => write!(f, "no order explains the results of class {class}"),
            Self::Broken { class } => write!(f, "a promise to class {class} is broken"),
            Self::NoInstant => write!(f, "no order explains the snapshots"),
            Self::FoundNothing { needed } => {
                write!(f, "at least {needed} lookups found an absent item")
            }
            Self::Room { thread, event } => {
                write!(
                    f,
                    "operation {event} of thread {thread} returned full although there was room"
                )
            }
        }
    }
}

impl std::error::Error for Unexplained {}

impl History {
    /// A history whose operations are ordered by a clock: one operation comes before another if it
    /// returned before the other was invoked.
    #[must_use]
    pub fn from_intervals(initial: Vec<usize>, threads: &[Vec<Interval>]) -> Self {
        let known = |interval: &Interval| {
            let before = |other: &Vec<Interval>| {
                other.partition_point(|earlier| earlier.returned < interval.invoked)
            };
            threads.iter().map(before).collect()
        };
        let event = |interval: &Interval| Event {
            class: interval.class,
            outcome: interval.outcome.clone(),
            known: known(interval),
        };
        Self {
            keys: (0..initial.len()).collect(),
            initial,
            threads: threads.iter().map(|thread| thread.iter().map(event).collect()).collect(),
            inconclusive: 0,
            timed: true,
            relatives: Vec::new(),
        }
    }

    /// The copies of each class that are left in the end.
    #[must_use]
    pub fn left(&self) -> Vec<usize> {
        let changed = |(class, &copies): (usize, &usize)| {
            let stored = self.all().filter(|(_, event)| event.stores(class)).count();
            copies + stored - self.all().filter(|(_, event)| event.takes(class)).count()
        };
        self.initial.iter().enumerate().map(changed).collect()
    }

    /// Whether each result of an operation on a class that has relatives keeps the promise of
    /// [`explain`](Self::explain).
    fn keeps_promises(&self, class: usize) -> bool {
        let relatives = &self.relatives[class];
        let mut outcomes =
            self.all().filter_map(|(at, event)| Some((at, self.outcome_for(event, &[class])?)));
        outcomes.all(|(at, outcome)| {
            // Entries of the class that are there during all of the operation, and entries that may
            // be there, of it and of its relatives.
            let (mut at_least, mut at_most) = (self.initial[class], self.initial[class]);
            at_most += relatives.iter().map(|&other| self.initial[other]).sum::<usize>();
            for (id, other) in self.all().filter(|&(id, _)| id != at) {
                let stores = other.stores(class);
                if stores && self.before(id, at) {
                    at_least += 1;
                }
                if other.takes(class) && !self.before(at, id) {
                    at_least = at_least.saturating_sub(1);
                }
                let stores = stores || relatives.iter().any(|&relative| other.stores(relative));
                if stores && !self.before(at, id) {
                    at_most += 1;
                }
            }
            match *outcome {
                Outcome::Unique | Outcome::NotThere | Outcome::Missing | Outcome::UniqueFull => {
                    at_least == 0
                }
                Outcome::Removed | Outcome::Duplicate | Outcome::Found => at_most > 0,
                Outcome::Counted(counted) => (at_least..=at_most).contains(&counted),
                Outcome::Inserted | Outcome::Full => true,
                _ => false,
            }
        })
    }

    /// What an operation does to some classes of one key as if they were one, if it concerns them.
    fn outcome_for<'a>(&self, event: &'a Event, classes: &[usize]) -> Option<Cow<'a, Outcome>> {
        let key = self.keys[classes[0]];
        let all = || self.keys.iter().filter(|&&other| other == key).count() == classes.len();
        let ours = self.keys[event.class] == key;
        let whole_key = || ours && all();
        let has = |class| classes.contains(class);
        let outcome = match &event.outcome {
            Outcome::Cleared => Outcome::Cleared,
            Outcome::Snapshot(counts) => {
                Outcome::Counted(classes.iter().map(|&class| counts[class]).sum())
            }
            // That there is one, and not as in `Found` by a lookup that may be inconclusive.
            Outcome::Got(found) if found.iter().any(has) => Outcome::Duplicate,
            Outcome::Got(_) | Outcome::HasKey(false) => ours.then_some(Outcome::Missing)?,
            Outcome::HasKey(true) => whole_key().then_some(Outcome::Found)?,
            Outcome::Replaced(new) => match (has(&event.class), has(new)) {
                (true, true) => Outcome::Duplicate,
                (true, false) => Outcome::Removed,
                (false, true) => Outcome::Inserted,
                (false, false) => return None,
            },
            Outcome::Inserted | Outcome::Removed => {
                return has(&event.class).then_some(Cow::Borrowed(&event.outcome));
            }
            // All values of the key, and so these, are absent before.
            Outcome::Unique if ours && !has(&event.class) => Outcome::Missing,
            Outcome::Unique => has(&event.class).then_some(Outcome::Unique)?,
            Outcome::UniqueFull => ours.then_some(Outcome::UniqueFull)?,
            Outcome::Duplicate | Outcome::Full => {
                return whole_key().then_some(Cow::Borrowed(&event.outcome));
            }
            outcome => return (*classes == [event.class]).then_some(Cow::Borrowed(outcome)),
        };
        Some(Cow::Owned(outcome))
    }

    /// What is checked as one: each class, the classes that replacements connect, and all of a key.
    fn groups(&self) -> Vec<Vec<usize>> {
        let classes = 0..self.initial.len();
        let each: Vec<_> = classes.clone().collect();
        let mut connected = each.clone();
        for (_, event) in self.all() {
            if let Outcome::Replaced(new) = event.outcome {
                let (old, new) = (connected[event.class], connected[new]);
                connected.iter_mut().filter(|group| **group == new).for_each(|group| *group = old);
            }
        }
        let mut groups: Vec<Vec<_>> = [&each, &connected, &self.keys]
            .into_iter()
            .flat_map(|names| {
                let of = |&name| classes.clone().filter(|&class| names[class] == name).collect();
                names.iter().map(of).collect::<Vec<_>>()
            })
            .collect();
        groups.sort_unstable();
        groups.dedup();
        // The reason why there is no order names a class, if one by itself is reason enough.
        groups.sort_by_key(Vec::len);
        groups
    }

    /// Checks every result except "full".
    ///
    /// In a growing table items may have an entry in common: a short one that is a prefix of them all.
    /// Removal takes the longest. So what an operation on such an item does depends on the entries of
    /// its relatives, and less is promised: the item is there from the return of its insert to the
    /// call of its removal. (An absent one that an entry of a relative matches may be found, and then
    /// not.) A class that has relatives is checked for this.
    ///
    /// # Errors
    ///
    /// [`Unexplained`] if no order of the operations gives these results.
    pub fn explain(&self) -> Result<(), Unexplained> {
        let mut needed = 0;
        for group in self.groups() {
            let class = group[0];
            let relatives =
                |&class: &usize| self.relatives.get(class).map_or(&[][..], Vec::as_slice);
            if group.iter().any(|class| !relatives(class).is_empty()) {
                if group.len() == 1 && !self.keeps_promises(class) {
                    return Err(Unexplained::Broken { class });
                }
                continue;
            }
            let search = Search::of_classes(self, &group);
            let lookups = search.lookups_that_found();
            // The smallest number that works, since the other classes may need the rest.
            let left = (self.inconclusive - needed.min(self.inconclusive)).min(lookups);
            match (0..=left).find(|&free| search.succeeds(free)) {
                Some(free) => needed += free,
                None if search.succeeds(lookups) => {
                    return Err(Unexplained::FoundNothing { needed: needed + left + 1 });
                }
                None => return Err(Unexplained::NoOrder { class }),
            }
        }
        let snapshot = |event: &Event| matches!(event.outcome, Outcome::Snapshot(_));
        if self.all().any(|(_, event)| snapshot(event)) {
            let of_one_class = |event: &Event| {
                let outcome = self.outcome_for(event, &[event.class]);
                outcome.as_deref() == Some(&event.outcome)
            };
            let ordered =
                |event: &Event| !event.outcome.is_read_only() || self.timed && of_one_class(event);
            let search = Search::new(self, self.initial.clone(), |event| {
                (snapshot(event) || ordered(event))
                    .then_some((event.class, Cow::Borrowed(&event.outcome)))
            });
            if !search.succeeds(self.inconclusive) {
                return Err(Unexplained::NoInstant);
            }
        }
        Ok(())
    }

    /// Checks every "full": the item must have no room beside all copies that may have been in the
    /// table at some time during the call, at the greatest size of the table, which it must have.
    ///
    /// These are the copies stored by an operation that is not known to come later, except for those
    /// known to have been removed before. A search for room holds no lock, so a copy that another
    /// thread stores or removes during the call may count. So may a slot that a concurrent
    /// `insert_unique` held for a moment: it makes room, finds its item, and stores nothing. A
    /// failed insert may have held a slot, too, but does not count: of two inserts that want the
    /// last slot, one must get it.
    ///
    /// # Errors
    ///
    /// [`Unexplained::Room`] if there was room.
    pub fn explain_full(&self, shape: &Shape) -> Result<(), Unexplained> {
        for (thread, events) in self.threads.iter().enumerate() {
            for (event, Event { class, outcome, .. }) in events.iter().enumerate() {
                if matches!(outcome, Outcome::Full | Outcome::UniqueFull) {
                    let at = (thread, event);
                    let (mut copies, holders) = self.most_copies(at);
                    copies[self.keys[*class]] += 1;
                    if !shape.grown || shape.holds(&copies, holders) {
                        return Err(Unexplained::Room { thread, event });
                    }
                }
            }
        }
        Ok(())
    }

    /// The greatest number of copies of each key that may have been in the table at some time
    /// during an operation, and how many other slots may have been in use.
    fn most_copies(&self, at: (usize, usize)) -> (Vec<usize>, usize) {
        let mut copies = vec![0; self.initial.len()];
        for (&key, initial) in self.keys.iter().zip(&self.initial) {
            copies[key] += initial;
        }
        let mut taken = vec![0; copies.len()];
        let mut holders = 0;
        let clears: Vec<_> = self
            .all()
            .filter(|&(id, event)| event.outcome == Outcome::Cleared && !self.before(at, id))
            .map(|(id, _)| id)
            .collect();
        if clears.iter().any(|&clear| self.before(clear, at)) {
            copies.fill(0);
        }
        for (id, event) in self.all().filter(|&(id, _)| id != at) {
            let cleared =
                clears.iter().any(|&clear| self.before(id, clear) && self.before(clear, at));
            if event.outcome.stores() && !cleared && !self.before(at, id) {
                copies[self.keys[event.class]] += 1;
            }
            // A removal that may come before a clear frees no more than the clear does.
            let after_clears = clears.iter().all(|&clear| self.before(clear, id));
            if event.outcome == Outcome::Removed && after_clears && self.before(id, at) {
                taken[self.keys[event.class]] += 1;
            }
            let concurrent = !self.before(id, at) && !self.before(at, id);
            holders += usize::from(event.outcome == Outcome::Duplicate && concurrent);
        }
        let left = copies.iter().zip(&taken).map(|(all, taken)| all.saturating_sub(*taken));
        (left.collect(), holders)
    }

    fn all(&self) -> impl Iterator<Item = ((usize, usize), &Event)> {
        self.threads.iter().enumerate().flat_map(|(thread, events)| {
            events.iter().enumerate().map(move |(index, event)| ((thread, index), event))
        })
    }

    /// Whether `a` is known to have returned before `b` was invoked.
    fn before(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        if a.0 == b.0 { a.1 < b.1 } else { self.threads[b.0][b.1].known[a.0] > a.1 }
    }
}

impl Shape {
    /// Whether there is room for these copies of each class at once, wherever the `holders` other
    /// slots in use are.
    fn holds(&self, copies: &[usize], holders: usize) -> bool {
        let mut room = vec![self.slots; self.buckets];
        self.holds_within(copies, holders, &mut room)
    }

    fn holds_within(&self, copies: &[usize], holders: usize, room: &mut Vec<usize>) -> bool {
        if holders == 0 {
            return self.matches(copies, room);
        }
        (0..self.buckets).all(|bucket| {
            if room[bucket] == 0 {
                return true;
            }
            room[bucket] -= 1;
            let holds = self.holds_within(copies, holders - 1, room);
            room[bucket] += 1;
            holds
        })
    }

    /// Matches copies to slots, by one augmenting path for each copy.
    fn matches(&self, copies: &[usize], room: &[usize]) -> bool {
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); self.buckets];
        copies.iter().enumerate().all(|(class, &copies)| {
            (0..copies).all(|_| self.place(class, room, &mut held, &mut vec![false; self.buckets]))
        })
    }

    fn place(
        &self,
        class: usize,
        room: &[usize],
        held: &mut [Vec<usize>],
        visited: &mut [bool],
    ) -> bool {
        for bucket in self.pairs[class] {
            if visited[bucket] {
                continue;
            }
            visited[bucket] = true;
            if held[bucket].len() < room[bucket] {
                held[bucket].push(class);
                return true;
            }
            for slot in 0..held[bucket].len() {
                if self.place(held[bucket][slot], room, held, visited) {
                    held[bucket][slot] = class;
                    return true;
                }
            }
        }
        false
    }
}

/// A search for an order of some operations: of those on one class, on several as one, or on all.
struct Search<'a> {
    threads: Vec<Vec<Step<'a>>>,
    initial: Vec<usize>,
}

/// One of these operations.
struct Step<'a> {
    class: usize,
    outcome: Cow<'a, Outcome>,
    /// For each thread, how many of its steps come before this one.
    after: Vec<usize>,
}

/// How many steps of each thread are done, the copies of each class, and how many more lookups may
/// find an absent item.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: Vec<usize>,
    counts: Vec<usize>,
    free: usize,
}

impl<'a> Search<'a> {
    /// For the operations that `concerned` names, with the class and the outcome that it gives them.
    fn new(
        history: &'a History,
        initial: Vec<usize>,
        concerned: impl Fn(&'a Event) -> Option<(usize, Cow<'a, Outcome>)>,
    ) -> Self {
        let threads = history.threads.iter();
        let mut concerned: Vec<Vec<_>> =
            threads.map(|events| events.iter().map(&concerned).collect()).collect();
        // At index i, how many of the first i events of the thread are concerned.
        let ranks: Vec<Vec<usize>> = concerned
            .iter()
            .map(|events| {
                let mut rank = 0;
                let mut ranks = vec![0];
                ranks.extend(events.iter().map(|event| {
                    rank += usize::from(event.is_some());
                    rank
                }));
                ranks
            })
            .collect();
        let step = |(event, concerned): (&Event, &mut Option<_>)| {
            let (class, outcome) = concerned.take()?;
            let after = ranks.iter().zip(&event.known).map(|(ranks, &known)| ranks[known]);
            Some(Step { class, outcome, after: after.collect() })
        };
        let threads = history.threads.iter().zip(&mut concerned);
        let threads = threads
            .map(|(events, concerned)| events.iter().zip(concerned).filter_map(step).collect());
        Self { threads: threads.collect(), initial }
    }

    /// For the operations on some classes of one key, as if they were one.
    fn of_classes(history: &'a History, classes: &[usize]) -> Self {
        let initial = classes.iter().map(|&class| history.initial[class]).sum();
        Self::new(history, vec![initial], |event| Some((0, history.outcome_for(event, classes)?)))
    }

    fn lookups_that_found(&self) -> usize {
        self.threads.iter().flatten().filter(|step| *step.outcome == Outcome::Found).count()
    }

    /// Depth-first search that visits each state once. `free` lookups may find an absent item.
    fn succeeds(&self, free: usize) -> bool {
        let start = State { done: vec![0; self.threads.len()], counts: self.initial.clone(), free };
        let mut seen = HashSet::new();
        let mut open = vec![start];
        while let Some(mut state) = open.pop() {
            self.take_reads(&mut state);
            if state.done.iter().zip(&self.threads).all(|(&done, steps)| done == steps.len()) {
                return true;
            }
            if !seen.insert(state.clone()) {
                continue;
            }
            for thread in 0..self.threads.len() {
                let Some(step) = self.next(&state, thread) else { continue };
                let mut next = state.clone();
                next.done[thread] += 1;
                if step.apply(&mut next.counts) {
                    open.push(next);
                } else if *step.outcome == Outcome::Found && state.free > 0 {
                    next.free -= 1;
                    open.push(next);
                }
            }
        }
        false
    }

    /// Takes every read-only step that is possible in this state: taking it later has no advantage.
    fn take_reads(&self, state: &mut State) {
        let possible = |state: &mut State, thread| {
            self.next(state, thread)
                .is_some_and(|step| step.outcome.is_read_only() && step.apply(&mut state.counts))
        };
        while let Some(thread) = (0..self.threads.len()).find(|&thread| possible(state, thread)) {
            state.done[thread] += 1;
        }
    }

    /// The next step of a thread, if all steps before it are done.
    fn next(&self, state: &State, thread: usize) -> Option<&Step<'a>> {
        let step = self.threads[thread].get(state.done[thread])?;
        let ready = step
            .after
            .iter()
            .zip(&state.done)
            .enumerate()
            .all(|(other, (after, done))| other == thread || after <= done);
        ready.then_some(step)
    }
}

impl Step<'_> {
    /// Changes the copies of each class as this step does. `false`: its result is impossible, and
    /// nothing has changed.
    fn apply(&self, counts: &mut [usize]) -> bool {
        match &*self.outcome {
            Outcome::Snapshot(image) => counts == image,
            Outcome::Cleared => {
                counts.fill(0);
                true
            }
            Outcome::Replaced(new) => {
                let replaced = counts[self.class] > 0;
                if replaced {
                    counts[self.class] -= 1;
                    counts[*new] += 1;
                }
                replaced
            }
            outcome => match outcome.apply(counts[self.class]) {
                Some(count) => {
                    counts[self.class] = count;
                    true
                }
                None => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::*;

    /// A history in which no order between the threads is known.
    fn apart(initial: &[usize], threads: &[&[(usize, Outcome)]]) -> History {
        let event = |thread: usize, index: usize, (class, outcome): (usize, Outcome)| {
            let mut known = vec![0; threads.len()];
            known[thread] = index;
            Event { class, outcome, known }
        };
        let events = |(thread, ops): (usize, &&[(usize, Outcome)])| {
            ops.iter().enumerate().map(|(index, op)| event(thread, index, op.clone())).collect()
        };
        History {
            initial: initial.to_vec(),
            keys: (0..initial.len()).collect(),
            threads: threads.iter().enumerate().map(events).collect(),
            inconclusive: 0,
            timed: false,
            relatives: Vec::new(),
        }
    }

    /// The same for one class.
    fn one(initial: usize, threads: &[&[Outcome]]) -> History {
        let threads: Vec<Vec<_>> =
            threads.iter().map(|ops| ops.iter().map(|op| (0, op.clone())).collect()).collect();
        apart(&[initial], &threads.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Makes an operation, and all before it, known to a later one.
    fn knows(mut history: History, later: (usize, usize), earlier: (usize, usize)) -> History {
        for event in &mut history.threads[later.0][later.1..] {
            event.known[earlier.0] = event.known[earlier.0].max(earlier.1 + 1);
        }
        history
    }

    const NO_ORDER: Result<(), Unexplained> = Err(Unexplained::NoOrder { class: 0 });

    #[test]
    fn nothing_happened() {
        assert_eq!(one(0, &[]).explain(), Ok(()));
    }

    #[test]
    fn one_thread_is_a_counter() {
        let ops = [Missing, Inserted, Counted(1), Duplicate, Inserted, Removed, Found, Removed];
        assert_eq!(one(0, &[&ops]).explain(), Ok(()));
        let after = [NotThere, Unique, Cleared, Missing, UniqueFull, Full];
        assert_eq!(one(0, &[&ops, &[]]).explain(), Ok(()));
        assert_eq!(one(0, &[&after]).explain(), Ok(()));
    }

    #[test]
    fn wrong_in_one_thread() {
        for (initial, ops) in [
            (0, &[Found][..]),
            (1, &[Missing]),
            (0, &[Inserted, Missing]),
            (1, &[Removed, Found]),
            (0, &[Removed]),
            (1, &[NotThere]),
            (1, &[Unique]),
            (0, &[Duplicate]),
            (1, &[UniqueFull]),
            (1, &[Counted(2)]),
            (2, &[Cleared, Found]),
        ] {
            assert!(one(initial, &[ops]).explain().is_err(), "{initial} {ops:?}");
        }
    }

    #[test]
    fn what_is_not_ordered_may_be_either_way() {
        let history = one(0, &[&[Inserted], &[Missing, Found]]);
        assert_eq!(history.explain(), Ok(()));
        let history = one(0, &[&[Inserted], &[Found, Missing]]);
        assert_eq!(history.explain(), Err(Unexplained::FoundNothing { needed: 1 }));
    }

    #[test]
    fn what_is_known_binds() {
        let stale = one(0, &[&[Inserted], &[Missing]]);
        assert_eq!(stale.explain(), Ok(()));
        assert_eq!(knows(stale, (1, 0), (0, 0)).explain(), NO_ORDER);
    }

    /// An operation on one class can make an operation on another known.
    #[test]
    fn knowledge_crosses_classes() {
        let history =
            apart(&[0, 0], &[&[(0, Inserted), (1, Inserted)], &[(1, Found), (0, Missing)]]);
        assert_eq!(history.explain(), Ok(()));
        assert_eq!(knows(history, (1, 0), (0, 1)).explain(), NO_ORDER);
    }

    #[test]
    fn two_uniques() {
        assert_eq!(one(0, &[&[Unique], &[Duplicate]]).explain(), Ok(()));
        assert_eq!(one(0, &[&[Unique], &[Unique]]).explain(), NO_ORDER);
        assert_eq!(one(0, &[&[Duplicate], &[Duplicate]]).explain(), NO_ORDER);
        assert_eq!(one(0, &[&[Unique], &[Unique], &[Removed]]).explain(), Ok(()));
    }

    #[test]
    fn two_removals_of_one_copy() {
        assert_eq!(one(1, &[&[Removed], &[NotThere]]).explain(), Ok(()));
        assert_eq!(one(1, &[&[Removed], &[Removed]]).explain(), NO_ORDER);
        assert_eq!(one(1, &[&[NotThere], &[NotThere]]).explain(), NO_ORDER);
    }

    /// A class that has at least one copy at all times is always found.
    #[test]
    fn copies_that_change_places() {
        let history = one(1, &[&[Inserted, Removed], &[Missing]]);
        assert_eq!(history.explain(), NO_ORDER);
        let history = one(1, &[&[Removed, Inserted], &[Missing]]);
        assert_eq!(history.explain(), Ok(()));
    }

    #[test]
    fn clear_concerns_every_class() {
        let history = apart(&[1, 1], &[&[(0, Cleared)], &[(1, Missing), (1, Found)]]);
        assert_eq!(history.explain(), Err(Unexplained::FoundNothing { needed: 1 }));
        let history = apart(&[1, 1], &[&[(0, Cleared)], &[(1, Found), (1, Missing)]]);
        assert_eq!(history.explain(), Ok(()));
    }

    #[test]
    fn inconclusive_lookups_are_counted() {
        let history = apart(&[0, 0], &[&[(0, Found), (1, Found)]]);
        for (inconclusive, found) in
            [(1, Err(Unexplained::FoundNothing { needed: 2 })), (2, Ok(()))]
        {
            assert_eq!(History { inconclusive, ..history.clone() }.explain(), found);
        }
        // It explains a lookup that found an absent item, and no other result.
        let history = History { inconclusive: 9, ..one(1, &[&[Missing]]) };
        assert_eq!(history.explain(), NO_ORDER);
    }

    #[test]
    fn time_orders_intervals() {
        let at = |outcome, invoked, returned| Interval { class: 0, outcome, invoked, returned };
        let history =
            |missed| History::from_intervals(vec![0], &[vec![at(Inserted, 0, 2)], vec![missed]]);
        assert_eq!(history(at(Missing, 1, 3)).explain(), Ok(()));
        assert_eq!(history(at(Missing, 3, 4)).explain(), NO_ORDER);
        assert_eq!(history(at(Found, 3, 4)).explain(), Ok(()));
    }

    fn snapshot(counts: &[usize]) -> (usize, Outcome) {
        (0, Snapshot(counts.to_vec()))
    }

    const NO_INSTANT: Result<(), Unexplained> = Err(Unexplained::NoInstant);

    #[test]
    fn a_snapshot_counts_every_class() {
        let taken = |counts: &[usize]| {
            let before = [(0, Inserted), (1, Inserted), (1, Inserted), (0, Removed)];
            let ops = [&before[..], &[snapshot(counts), (1, Removed)]].concat();
            apart(&[1, 0, 4], &[&ops]).explain()
        };
        assert_eq!(taken(&[1, 2, 4]), Ok(()));
        for (class, wrong) in [[0, 2, 4], [1, 1, 4], [1, 2, 5]].iter().enumerate() {
            assert_eq!(taken(wrong), Err(Unexplained::NoOrder { class }));
        }
    }

    #[test]
    fn a_snapshot_is_one_instant() {
        // An item goes from one class to another, and is in both for a moment.
        let there = [(1, Inserted), (0, Removed)];
        for (counts, explained) in
            [([1, 0], Ok(())), ([1, 1], Ok(())), ([0, 1], Ok(())), ([0, 0], NO_INSTANT)]
        {
            let history = apart(&[1, 0], &[&there, &[snapshot(&counts)]]);
            assert_eq!(history.explain(), explained, "{counts:?}");
            assert_eq!(History { timed: true, ..history }.explain(), explained, "{counts:?}");
        }
    }

    #[test]
    fn two_snapshots_have_an_order() {
        let writers: [&[_]; 2] = [&[(0, Inserted)], &[(1, Inserted)]];
        for (first, second, explained) in
            [([1, 0], [1, 1], Ok(())), ([0, 0], [0, 1], Ok(())), ([1, 0], [0, 1], NO_INSTANT)]
        {
            let taken = [snapshot(&first), snapshot(&second)];
            let history = apart(&[0, 0], &[writers[0], writers[1], &taken[..1], &taken[1..]]);
            assert_eq!(history.explain(), explained, "{first:?} {second:?}");
        }
    }

    #[test]
    fn what_is_known_is_in_a_snapshot() {
        let history = apart(&[0, 0], &[&[(1, Inserted)], &[snapshot(&[0, 0])]]);
        assert_eq!(history.explain(), Ok(()));
        let missed = Err(Unexplained::NoOrder { class: 1 });
        assert_eq!(knows(history, (1, 0), (0, 0)).explain(), missed);
    }

    /// Lookups of two classes have one order where known means time, and none in a model.
    #[test]
    fn a_snapshot_orders_lookups_where_there_is_time() {
        let looks: [&[_]; 2] =
            [&[(0, Inserted), (1, Missing)], &[(1, Inserted), (0, Missing), snapshot(&[1, 1])]];
        let history = apart(&[0, 0], &looks);
        assert_eq!(history.explain(), Ok(()));
        assert_eq!(History { timed: true, ..history }.explain(), NO_INSTANT);
    }

    #[test]
    fn a_clear_is_one_instant_for_a_snapshot() {
        for (counts, explained) in [([2, 1], Ok(())), ([0, 0], Ok(())), ([0, 1], NO_INSTANT)] {
            let history = apart(&[2, 1], &[&[(0, Cleared)], &[snapshot(&counts)]]);
            assert_eq!(history.explain(), explained, "{counts:?}");
        }
    }

    #[test]
    fn inconclusive_lookups_beside_a_snapshot() {
        let history = apart(&[0, 0], &[&[(0, Found), snapshot(&[0, 0]), (1, Found)]]);
        let history = History { timed: true, ..history };
        assert!(history.explain().is_err());
        assert_eq!(History { inconclusive: 2, ..history }.explain(), Ok(()));
    }

    /// Many operations and only one order that works: the search must still end.
    #[test]
    fn long_histories_end() {
        let looks = vec![Found; 2000];
        let writes: Vec<_> = [Inserted, Removed].into_iter().cycle().take(2000).collect();
        let history = one(1, &[&writes, &writes, &looks]);
        assert_eq!(history.explain(), Ok(()));
        let writes = writes.iter().map(|write| (0, write.clone())).collect::<Vec<_>>();
        let one_or_two = [snapshot(&[1, 0]), snapshot(&[2, 0])];
        let taken: Vec<_> = one_or_two.into_iter().cycle().take(2000).collect();
        assert_eq!(apart(&[1, 0], &[&writes, &taken]).explain(), Ok(()));
    }

    /// Two classes that may have entries in common.
    fn relatives(initial: &[usize], threads: &[&[(usize, Outcome)]]) -> History {
        History { relatives: vec![vec![1], vec![0]], ..apart(initial, threads) }
    }

    fn broken(class: usize) -> Result<(), Unexplained> {
        Err(Unexplained::Broken { class })
    }

    #[test]
    fn a_relative_is_there_until_its_removal_is_called() {
        for (outcome, explained) in [
            (Found, Ok(())),
            (Duplicate, Ok(())),
            (Removed, Ok(())),
            (Missing, broken(1)),
            (NotThere, broken(1)),
            (Unique, broken(1)),
            (UniqueFull, broken(1)),
        ] {
            let there = relatives(&[1, 1], &[&[(0, Removed)], &[(1, outcome.clone())]]);
            assert_eq!(there.explain(), explained, "{outcome:?}");
            let removed = relatives(&[1, 1], &[&[(1, Removed)], &[(1, outcome.clone())]]);
            assert_eq!(removed.explain(), Ok(()), "{outcome:?}");
        }
        let inserted = relatives(&[0, 0], &[&[(1, Inserted)], &[(1, Missing)]]);
        assert_eq!(inserted.explain(), Ok(()));
        assert_eq!(knows(inserted, (1, 0), (0, 0)).explain(), broken(1));
        let both =
            relatives(&[1, 0], &[&[(0, Removed), (0, Missing), (0, Inserted), (0, Missing)]]);
        assert_eq!(both.explain(), broken(0));
    }

    /// An entry of a relative may be found, and then not.
    #[test]
    fn what_a_relative_may_have_stored_may_be_found() {
        let looks = [(1, Found), (1, Missing), (1, Found), (1, Counted(1)), (1, Duplicate)];
        assert_eq!(relatives(&[1, 0], &[&looks]).explain(), Ok(()));
        assert_eq!(relatives(&[0, 0], &[&[(0, Inserted)], &looks]).explain(), Ok(()));
        assert_eq!(relatives(&[0, 0], &[&looks]).explain(), broken(1));
        assert_eq!(relatives(&[0, 0], &[&[(1, Found), (0, Inserted)]]).explain(), broken(1));
        let known = knows(relatives(&[0, 0], &[&[(1, Found)], &[(0, Inserted)]]), (1, 0), (0, 0));
        assert_eq!(known.explain(), broken(1));
        for (counted, explained) in [(0, broken(0)), (1, Ok(())), (3, Ok(())), (4, broken(0))] {
            let count = relatives(&[1, 2], &[&[(0, Counted(counted))]]);
            assert_eq!(count.explain(), explained);
        }
    }

    #[test]
    fn what_is_left_of_each_class() {
        let ops = [(0, Inserted), (1, Unique), (0, Removed), (0, Removed), (1, Duplicate)];
        assert_eq!(apart(&[1, 0], &[&ops[2..], &ops[..2]]).left(), [0, 1]);
    }

    /// Three values of one key.
    fn values(initial: [usize; 3], threads: &[&[(usize, Outcome)]]) -> History {
        History { keys: vec![0; 3], ..apart(&initial, threads) }
    }

    fn got(classes: &[usize]) -> (usize, Outcome) {
        (0, Got(classes.to_vec()))
    }

    #[test]
    fn a_get_finds_every_value_and_no_other() {
        let no_order = |class| Err(Unexplained::NoOrder { class });
        for (found, explained) in [
            (&[0, 1][..], Ok(())),
            (&[1, 0], Ok(())),
            (&[0], no_order(1)),
            (&[1], NO_ORDER),
            (&[], NO_ORDER),
            (&[0, 1, 2], no_order(2)),
        ] {
            assert_eq!(values([1, 2, 0], &[&[got(found)]]).explain(), explained, "{found:?}");
        }
        // Another key has nothing to do with it.
        let other = History { keys: vec![0, 1, 1], ..values([1, 1, 0], &[&[got(&[0])]]) };
        assert_eq!(other.explain(), Ok(()));
    }

    /// No order is promised across the values of a key.
    #[test]
    fn each_value_may_come_and_go() {
        let writers: [&[_]; 2] = [&[(0, Removed), (1, Inserted)], &[(2, Inserted)]];
        for found in [&[][..], &[0], &[1], &[0, 1], &[0, 1, 2]] {
            let history = values([1, 0, 0], &[writers[0], writers[1], &[got(found)]]);
            assert_eq!(history.explain(), Ok(()), "{found:?}");
        }
        let history = values([1, 0, 0], &[writers[0], &[got(&[])]]);
        assert_eq!(
            knows(history, (1, 0), (0, 1)).explain(),
            Err(Unexplained::NoOrder { class: 1 })
        );
    }

    #[test]
    fn a_replacement_is_one_instant() {
        let replaced = [(0, Replaced(1))];
        for (found, explained) in
            [(&[0][..], Ok(())), (&[1], Ok(())), (&[0, 1], Ok(())), (&[], NO_ORDER)]
        {
            let history = values([1, 0, 0], &[&replaced, &[got(found)]]);
            assert_eq!(history.explain(), explained, "{found:?}");
            // A third value does not stand for them.
            let found = [found, &[2]].concat();
            let history = values([1, 0, 1], &[&replaced, &[got(&found)]]);
            assert_eq!(history.explain(), explained, "{found:?}");
        }
        let known = |found| knows(values([1, 0, 0], &[&replaced, &[got(found)]]), (1, 0), (0, 0));
        assert_eq!(known(&[1]).explain(), Ok(()));
        assert_eq!(known(&[0]).explain(), NO_ORDER);
    }

    #[test]
    fn replacements_in_a_row_are_one_copy() {
        let there_and_on = [(0, Replaced(1)), (1, Replaced(2))];
        for (found, explained) in
            [(&[0][..], Ok(())), (&[1], Ok(())), (&[2], Ok(())), (&[], NO_ORDER)]
        {
            let history = values([1, 0, 0], &[&there_and_on, &[got(found)]]);
            assert_eq!(history.explain(), explained, "{found:?}");
        }
        let back = [(0, Replaced(1)), (1, Replaced(0)), got(&[0])];
        assert_eq!(values([1, 0, 0], &[&back]).explain(), Ok(()));
        // It is removed in the end, so a `get` may find nothing; but not before that.
        let gone = [&there_and_on[..], &[(2, Removed)]].concat();
        let history = values([1, 0, 0], &[&gone, &[got(&[])]]);
        assert_eq!(history.explain(), Ok(()));
        let early = [got(&[]), (0, Inserted)];
        let history = values([1, 0, 0], &[&gone, &early]);
        assert_eq!(knows(history, (0, 0), (1, 1)).explain(), NO_ORDER);
    }

    #[test]
    fn one_of_two_replacements_finds_the_pair() {
        let both = |first, second| values([1, 0, 0], &[&[(0, first)], &[(0, second)]]).explain();
        assert_eq!(both(Replaced(1), NotThere), Ok(()));
        assert_eq!(both(Replaced(1), Replaced(2)), NO_ORDER);
        assert_eq!(both(Replaced(1), Removed), NO_ORDER);
        assert_eq!(both(NotThere, NotThere), NO_ORDER);
        // One comes after the other.
        let in_a_row = values([1, 0, 0], &[&[(0, Replaced(1))], &[(1, Replaced(2))]]);
        assert_eq!(in_a_row.explain(), Ok(()));
        assert_eq!(values([2, 0, 0], &[&[(0, Replaced(1)), got(&[0, 1])]]).explain(), Ok(()));
        assert_eq!(values([2, 0, 0], &[&[(0, Replaced(1)), got(&[1])]]).explain(), NO_ORDER);
    }

    #[test]
    fn a_key_is_there_while_it_has_a_value() {
        let has = |writes: &[_], has| values([1, 0, 0], &[writes, &[(1, HasKey(has))]]).explain();
        let (out, of) = ((0, Removed), (1, Inserted));
        assert_eq!(has(&[of.clone(), out.clone()], false), NO_ORDER);
        assert_eq!(has(&[of.clone(), out.clone()], true), Ok(()));
        assert_eq!(has(&[out.clone(), of], false), Ok(()));
        assert_eq!(has(&[(0, Replaced(2))], false), NO_ORDER);
        assert_eq!(has(&[(0, Replaced(2))], true), Ok(()));
        let absent = values([0; 3], &[&[(2, HasKey(true))]]);
        assert_eq!(absent.explain(), Err(Unexplained::FoundNothing { needed: 1 }));
        assert_eq!(History { inconclusive: 1, ..absent }.explain(), Ok(()));
        // It explains no `get`.
        let found = History { inconclusive: 1, ..values([0; 3], &[&[got(&[1])]]) };
        assert_eq!(found.explain(), Err(Unexplained::NoOrder { class: 1 }));
    }

    #[test]
    fn what_has_another_value_takes_as_much_room() {
        let full = |stored| {
            let history = apart(&[stored, 0, 0], &[&[(0, Replaced(1)), (1, Removed), (2, Full)]]);
            History { keys: vec![0, 0, 2], ..history }.explain_full(&shape(3))
        };
        assert_eq!(full(5), Ok(()));
        assert_eq!(full(4), room(0, 2));
        let come_and_gone = [(1, Inserted), (1, Removed), (2, Full)];
        let history = History { keys: vec![0, 0, 2], ..apart(&[0, 0, 3], &[&come_and_gone]) };
        assert_eq!(history.explain_full(&shape(3)), room(0, 2));
    }

    #[test]
    fn a_replacement_is_one_instant_for_a_snapshot() {
        let taken = |counts: &[usize]| {
            let ops = [(0, Replaced(1)), (2, Removed)];
            values([1, 0, 1], &[&ops, &[snapshot(counts)]]).explain()
        };
        for counts in [[1, 0, 1], [0, 1, 1], [0, 1, 0]] {
            assert_eq!(taken(&counts), Ok(()), "{counts:?}");
        }
        assert_eq!(taken(&[1, 1, 1]), NO_ORDER);
        assert_eq!(taken(&[0, 0, 1]), NO_ORDER);
        assert_eq!(taken(&[1, 0, 0]), NO_INSTANT);
        // That there is no room says nothing of a value.
        let full = values([4, 4, 0], &[&[(2, Full), snapshot(&[4, 4, 0])]]);
        assert_eq!(History { timed: true, ..full }.explain(), Ok(()));
        // A `get` reads its values one after the other.
        let history = values(
            [1, 0, 1],
            &[&[(0, Replaced(1)), (2, Removed)], &[got(&[1]), snapshot(&[0, 1, 0])]],
        );
        assert_eq!(History { timed: true, ..history }.explain(), Ok(()));
    }

    #[test]
    fn a_replacement_beside_a_relative() {
        let history = |ops: &[_]| History {
            keys: vec![0, 1, 0],
            relatives: vec![vec![1], vec![0], vec![]],
            ..apart(&[1, 1, 0], &[ops])
        };
        let replaced = [(0, Replaced(2)), (1, Got(vec![1]))];
        assert_eq!(history(&replaced).explain(), Ok(()));
        assert_eq!(history(&replaced).left(), [0, 1, 1]);
        assert_eq!(history(&[(0, Replaced(2)), (1, Got(vec![]))]).explain(), broken(1));
        assert_eq!(history(&[(0, Got(vec![]))]).explain(), broken(0));
        let twice = [(0, Replaced(2)), (0, Replaced(2)), (0, Replaced(2))];
        assert_eq!(history(&twice[..2]).explain(), Ok(()));
    }

    /// Two buckets of two slots; one class with this pair.
    fn shape(classes: usize) -> Shape {
        Shape { buckets: 2, slots: 2, grown: true, pairs: vec![[0, 1]; classes] }
    }

    fn room(thread: usize, event: usize) -> Result<(), Unexplained> {
        Err(Unexplained::Room { thread, event })
    }

    #[test]
    fn full_means_full() {
        let full = |stored| apart(&[stored, 0], &[&[(1, Full)]]);
        assert_eq!(full(4).explain_full(&shape(2)), Ok(()));
        assert_eq!(full(3).explain_full(&shape(2)), room(0, 0));
    }

    /// A table that could still grow is not full, whatever it holds.
    #[test]
    fn full_means_grown() {
        let history = apart(&[4, 0], &[&[(1, Full)]]);
        assert_eq!(history.explain_full(&shape(2)), Ok(()));
        assert_eq!(history.explain_full(&Shape { grown: false, ..shape(2) }), room(0, 0));
    }

    /// Three buckets; the only free slot is in a bucket that the item reaches only by a kick.
    #[test]
    fn room_is_found_by_moving_others() {
        let shape =
            Shape { buckets: 3, slots: 1, grown: true, pairs: vec![[0, 1], [1, 2], [0, 0]] };
        let history = apart(&[1, 0, 0], &[&[(1, Inserted), (2, Full)]]);
        assert_eq!(history.explain_full(&shape), room(0, 1));
        let history = apart(&[1, 1, 0], &[&[(1, Inserted), (2, Full)]]);
        assert_eq!(history.explain_full(&shape), Ok(()));
    }

    #[test]
    fn one_of_two_gets_the_last_slot() {
        let history = apart(&[3, 0, 0], &[&[(1, Inserted)], &[(2, Full)]]);
        assert_eq!(history.explain_full(&shape(3)), Ok(()));
        let history = apart(&[3, 0, 0], &[&[(1, Full)], &[(2, Full)]]);
        assert_eq!(history.explain_full(&shape(3)), room(0, 0));
    }

    #[test]
    fn what_is_removed_meanwhile_is_no_room_yet() {
        let history = apart(&[4, 0], &[&[(0, Removed)], &[(1, Full)]]);
        assert_eq!(history.explain_full(&shape(2)), Ok(()));
        assert_eq!(knows(history, (1, 0), (0, 0)).explain_full(&shape(2)), room(1, 0));
    }

    #[test]
    fn what_is_inserted_later_takes_no_room() {
        let history = apart(&[3, 0], &[&[(1, Full), (0, Inserted)]]);
        assert_eq!(history.explain_full(&shape(2)), room(0, 0));
    }

    #[test]
    fn a_duplicate_may_have_held_a_slot() {
        let history = apart(&[3, 0], &[&[(0, Duplicate)], &[(1, Full)]]);
        assert_eq!(history.explain_full(&shape(2)), Ok(()));
        assert_eq!(knows(history, (1, 0), (0, 0)).explain_full(&shape(2)), room(1, 0));
    }

    #[test]
    fn a_clear_makes_room() {
        let history = apart(&[4, 0], &[&[(0, Cleared)], &[(1, Full)]]);
        assert_eq!(history.explain_full(&shape(2)), Ok(()));
        assert_eq!(knows(history, (1, 0), (0, 0)).explain_full(&shape(2)), room(1, 0));
        let history =
            apart(&[0, 0], &[&[(0, Cleared); 1], &[const { (0, Inserted) }; 4], &[(1, Full)]]);
        assert_eq!(history.explain_full(&shape(2)), Ok(()));
    }
}
