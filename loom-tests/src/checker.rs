//! Decides whether an exact multiset could have given the results of a recorded history.
//!
//! # The order of operations
//!
//! Each operation records, for each thread, how many of its operations are *known* to have returned before this one was
//! invoked. An order is known:
//!
//! * in a model, by happens-before: the order within a thread, spawn and join, and the edges that the model makes with
//!   its own atomics. Time does not count, since loom lets a load return an outdated value, as weak hardware does,
//!   unless something orders the two;
//! * on a real machine, by time: each thread increments a shared clock right before and right after each operation
//!   ([`History::from_intervals`]).
//!
//! # What is checked
//!
//! The filter promises atomic operations on each *class* (one fingerprint with one pair of buckets). So each class is
//! checked by itself: there must be one order of its operations that agrees with the known order and in which a simple
//! counter gives the same results. On a real machine, where known means time, this is enough: if each class is
//! linearizable, so is the whole (Herlihy and Wing, "Linearizability", 1990). In a model it is not enough: the order
//! between operations on different classes needs assertions of its own.
//!
//! # Maplets
//!
//! A class of a maplet is a key with a value. A `get` is a lookup of each value of its key. A replacement removes a
//! copy of one class and stores one of another. There is no instant at which a `get` reads all values of its key. But
//! there is an instant at which a replacement does both. So, besides each class by itself, all classes of a key that
//! replacements connect are checked as one: a copy that gets another value remains a copy of them, and a `get` must
//! find it. `contains_key` is a lookup of all classes of its key as one.
//!
//! # Snapshots and other cases
//!
//! A snapshot reads every class at one instant, so it is not enough to check each class by itself. A history with a
//! snapshot must have one more order: of the operations on all classes together, with a counter for each. Where known
//! means time, it is an order of all operations. In a model, it is an order of the snapshots and of the operations that
//! change the multiset: these hold locks, which order them. For all other operations, a snapshot counts the copies of
//! their class.
//!
//! Two results need more than a counter:
//!
//! * A lookup may find an absent item if the filter counted an inconclusive lookup. There may be at most as many such
//!   answers as it counted.
//! * "Full" depends on the other classes: see [`History::explain_full`].
//!
//! # Expiring filters
//!
//! They have ages in place of a counter: see [`expiring`].

pub mod expiring;
mod search;

use std::collections::BTreeSet;

use search::{Search, Step};

/// The result of an operation on a class.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// `insert`: `Ok`.
    Inserted,
    /// `insert`: `Full`.
    Full,
    /// `insert_if_absent`: `Ok(true)`.
    Unique,
    /// `insert_if_absent`: `Ok(false)`.
    Duplicate,
    /// `insert_if_absent`: `Full`.
    UniqueFull,
    /// `insert_pair_if_absent`: `Ok(true)`.
    UniquePair,
    /// `insert_pair_if_absent`: `Ok(false)`.
    DuplicatePair,
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
    /// `clear`: an operation on every class; the class of its event has no meaning.
    Cleared,
    /// A snapshot, with the copies of each class in it; the class of its event has no meaning.
    Snapshot(Vec<usize>),
    /// `get`, of the key of its class, with the classes that it found.
    Got(Vec<usize>),
    /// `contains_key`, of the key of its class.
    HasKey(bool),
    /// `replace`: `true`, with the class of the new value.
    Replaced(usize),
    /// `insert` of an expiring filter: whether the item was new. `insert_if_absent` is `Unique`, or `Duplicate`.
    Stamped(bool),
    /// `age`.
    Aged(Option<u32>),
    /// `advance`: an operation on every class; the class of its event has no meaning.
    Advanced,
}

impl Outcome {
    /// Returns the state after an operation on a class with this result; `None` if the result is impossible in `state`.
    fn apply(&self, class: usize, state: &State) -> Option<State> {
        let State { mut counts, mut free } = state.clone();
        let count = counts[class];
        let is_possible = match self {
            Self::Inserted | Self::Full | Self::Cleared => true,
            Self::Removed | Self::Replaced(_) | Self::Duplicate => count > 0,
            Self::Found => count > 0 || free > 0,
            Self::Unique | Self::NotThere | Self::Missing | Self::UniqueFull => count == 0,
            Self::Counted(counted) => count == *counted,
            Self::Snapshot(image) => counts == *image,
            Self::UniquePair
            | Self::DuplicatePair
            | Self::Got(_)
            | Self::HasKey(_)
            | Self::Stamped(_)
            | Self::Aged(_)
            | Self::Advanced => {
                unreachable!("no operation on one class of a multiset")
            }
        };
        match self {
            _ if !is_possible => return None,
            Self::Inserted | Self::Unique => counts[class] += 1,
            Self::Removed => counts[class] -= 1,
            Self::Replaced(new) => {
                counts[class] -= 1;
                counts[*new] += 1;
            }
            Self::Cleared => counts.fill(0),
            Self::Found if count == 0 => free -= 1,
            _ => {}
        }
        Some(State { counts, free })
    }

    /// Returns whether the multiset stays the same.
    fn is_read_only(&self) -> bool {
        let changes = self.stores() || matches!(self, Self::Removed | Self::Cleared);
        !changes && !matches!(self, Self::Replaced(_))
    }

    /// Returns whether the operation has stored a copy.
    #[must_use]
    pub fn stores(&self) -> bool {
        matches!(self, Self::Inserted | Self::Unique | Self::UniquePair)
    }
}

/// One operation of a thread.
#[derive(Clone, Debug)]
pub struct Event {
    /// The index of the class.
    pub class: usize,
    /// The result.
    pub outcome: Outcome,
    /// For each thread, how many of its operations are known to have returned before this one was invoked.
    pub known: Vec<usize>,
}

impl Event {
    /// Returns whether it stores a copy of this class.
    fn stores(&self, class: usize) -> bool {
        let stores = self.class == class && self.outcome.stores();
        stores || self.outcome == Outcome::Replaced(class)
    }

    /// Returns whether it takes a copy of this class away, and of no other.
    fn takes(&self, class: usize) -> bool {
        self.class == class && matches!(self.outcome, Outcome::Removed | Outcome::Replaced(_))
    }
}

/// An operation with the time of its call and of its return.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The index of the class.
    pub class: usize,
    /// The result.
    pub outcome: Outcome,
    /// The clock before the call.
    pub invoked: u64,
    /// The clock after the return.
    pub returned: u64,
}

/// The operations of all threads on a filter, with their results.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The number of copies of each class at the start.
    pub initial: Vec<usize>,
    /// The key of each class. Several classes of a maplet may have the same key.
    pub keys: Vec<usize>,
    /// The operations of each thread, in program order.
    pub threads: Vec<Vec<Event>>,
    /// The number of lookups that the filter counted as inconclusive. Each of them may have found an absent item.
    pub inconclusive: usize,
    /// Whether known means time: then there is one order of all operations on all classes.
    pub timed: bool,
    /// For each class, the other classes that may have entries in common with it: see [`History::explain`]. Empty in a
    /// table of fixed size.
    pub relatives: Vec<Vec<usize>>,
}

/// The geometry of a table, for [`History::explain_full`]; of a growing table, that at its maximum size.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of buckets.
    pub buckets: usize,
    /// The number of slots per bucket.
    pub slots: usize,
    /// Whether the table had this size at the end. A growing table never gets smaller.
    pub grown: bool,
    /// The two buckets of each class.
    pub pairs: Vec<[usize; 2]>,
}

/// The reason why a history is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// No order of the operations on this class gives their results.
    NoOrder {
        /// The index of the class.
        class: usize,
    },
    /// No order of the operations on all classes gives the snapshots.
    NoInstant,
    /// More lookups found an absent item than were inconclusive.
    FoundNothing {
        /// The minimum number of these lookups.
        needed: usize,
    },
    /// An insert returned "full" although there was room during the whole call, or would have been if the table had
    /// grown.
    Room {
        /// The index of the thread.
        thread: usize,
        /// The index of its operation.
        event: usize,
    },
}

impl History {
    /// Makes a history whose operations are ordered by a clock: one operation comes before another if it returned
    /// before the other was invoked.
    #[must_use]
    pub fn from_intervals(initial: Vec<usize>, threads: &[Vec<Interval>]) -> Self {
        let event = |interval: &Interval| {
            let returned = |other: &Vec<Interval>| {
                other.partition_point(|earlier| earlier.returned < interval.invoked)
            };
            let known = threads.iter().map(returned).collect();
            Event { class: interval.class, outcome: interval.outcome.clone(), known }
        };
        Self {
            keys: (0..initial.len()).collect(),
            initial,
            threads: threads.iter().map(|thread| thread.iter().map(event).collect()).collect(),
            timed: true,
            ..Self::default()
        }
    }

    /// Returns the number of copies of each class that are left at the end.
    #[must_use]
    pub fn left(&self) -> Vec<usize> {
        let changed = |(class, &copies): (usize, &usize)| {
            let stored = self.all().filter(|(_, event)| event.stores(class)).count();
            copies + stored - self.all().filter(|(_, event)| event.takes(class)).count()
        };
        self.initial.iter().enumerate().map(changed).collect()
    }

    /// Returns whether the results of the operations on a class that has relatives keep the promise of
    /// [`explain`](Self::explain).
    fn keeps_promises(&self, class: usize) -> bool {
        self.all().all(|(at, event)| {
            let Some(outcome) = self.outcome_for(event, &[class]) else { return true };
            let others = || self.all().filter(|&(id, _)| id != at);
            // Counts the entries of the class that are there during the whole operation, and the entries of the class
            // and its relatives that may be there.
            let stored = others().filter(|&(id, other)| other.stores(class) && self.before(id, at));
            let taken = others().filter(|&(id, other)| other.takes(class) && !self.before(at, id));
            let at_least = (self.initial[class] + stored.count()).saturating_sub(taken.count());
            let may_be_there = |&class: &usize| {
                let stores =
                    |&(id, other): &(_, &Event)| other.stores(class) && !self.before(at, id);
                self.initial[class] + others().filter(stores).count()
            };
            let family = self.relatives[class].iter().chain([&class]);
            let at_most: usize = family.map(may_be_there).sum();
            match outcome {
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

    /// Returns the effect of an operation on some classes of one key, taken as one class, if the operation concerns
    /// them.
    fn outcome_for(&self, event: &Event, classes: &[usize]) -> Option<Outcome> {
        let key = self.keys[classes[0]];
        let of_key = self.keys[event.class] == key;
        let of_whole_key =
            of_key && self.keys.iter().filter(|&&other| other == key).count() == classes.len();
        let has = |class: &usize| classes.contains(class);
        let of_these = has(&event.class);
        let (concerns_them, outcome) = match &event.outcome {
            Outcome::Cleared => (true, Outcome::Cleared),
            Outcome::Snapshot(counts) => {
                (true, Outcome::Counted(classes.iter().map(|&class| counts[class]).sum()))
            }
            // That there is one. Not `Found`, which a lookup may answer that is inconclusive.
            Outcome::Got(found) if found.iter().any(has) => (true, Outcome::Duplicate),
            Outcome::Got(_) | Outcome::HasKey(false) => (of_key, Outcome::Missing),
            Outcome::HasKey(true) => (of_whole_key, Outcome::Found),
            Outcome::Replaced(new) if has(new) => {
                (true, if of_these { Outcome::Duplicate } else { Outcome::Inserted })
            }
            Outcome::Replaced(_) => (of_these, Outcome::Removed),
            // All values of the key are absent before it, and so are these.
            Outcome::Unique if of_key && !of_these => (true, Outcome::Missing),
            Outcome::UniqueFull => (of_key, Outcome::UniqueFull),
            // It says nothing about other values of the key.
            Outcome::UniquePair if *classes == [event.class] => (true, Outcome::Unique),
            Outcome::UniquePair => (of_these, Outcome::Inserted),
            Outcome::DuplicatePair => (of_these, Outcome::Duplicate),
            outcome @ (Outcome::Duplicate | Outcome::Full) => (of_whole_key, outcome.clone()),
            outcome @ (Outcome::Inserted | Outcome::Unique | Outcome::Removed) => {
                (of_these, outcome.clone())
            }
            outcome => (*classes == [event.class], outcome.clone()),
        };
        concerns_them.then_some(outcome)
    }

    /// Returns the groups of classes that are checked as one: each class, the classes that replacements connect, and
    /// all classes of a key. The smaller groups come first: so the error names a class if that class alone has no
    /// order.
    fn groups(&self) -> impl Iterator<Item = Vec<usize>> {
        let each: Vec<_> = (0..self.initial.len()).collect();
        let mut connected = each.clone();
        for (_, event) in self.all() {
            if let Outcome::Replaced(new) = event.outcome {
                let (old, new) = (connected[event.class], connected[new]);
                connected.iter_mut().filter(|group| **group == new).for_each(|group| *group = old);
            }
        }
        let mut groups = BTreeSet::new();
        for names in [&each, &connected, &self.keys] {
            for name in names {
                let mut group = each.clone();
                group.retain(|&class| names[class] == *name);
                groups.insert((group.len(), group));
            }
        }
        groups.into_iter().map(|(_, group)| group)
    }

    /// Checks every result except "full".
    ///
    /// In a growing table, items may have an entry in common: a short one that is a prefix of them all. A removal takes
    /// the longest entry. So the effect of an operation on such an item depends on the entries of its relatives, and
    /// less is promised: the item is there from the return of its insert to the call of its removal. (If an entry of a
    /// relative matches an absent item, it may be found, and later not.) A class that has relatives is checked for this
    /// promise.
    ///
    /// # Errors
    ///
    /// [`Unexplained`] if no order of the operations gives these results.
    pub fn explain(&self) -> Result<(), Unexplained> {
        let mut needed = 0;
        for group in self.groups() {
            let class = group[0];
            let has_relatives =
                |&class: &usize| self.relatives.get(class).is_some_and(|others| !others.is_empty());
            if group.iter().any(has_relatives) {
                if group.len() == 1 && !self.keeps_promises(class) {
                    return Err(Unexplained::NoOrder { class });
                }
                continue;
            }
            let copies = group.iter().map(|&class| self.initial[class]).sum();
            let search = Search::new(&self.threads, |event| {
                self.outcome_for(event, &group).map(|outcome| (0, outcome))
            });
            let lookups = search.steps().filter(|(_, outcome)| *outcome == Outcome::Found).count();
            let is_enough = |&free: &usize| search.has_order(vec![copies], free);
            needed += (0..=lookups).find(is_enough).ok_or(Unexplained::NoOrder { class })?;
        }
        if needed > self.inconclusive {
            return Err(Unexplained::FoundNothing { needed });
        }
        let is_snapshot = |event: &Event| matches!(event.outcome, Outcome::Snapshot(_));
        let is_ordered = |event: &Event| {
            let of_one_class = || self.outcome_for(event, &[event.class]);
            let is_timed = || self.timed && of_one_class().as_ref() == Some(&event.outcome);
            is_snapshot(event) || !event.outcome.is_read_only() || is_timed()
        };
        if self.all().any(|(_, event)| is_snapshot(event)) {
            let search = Search::new(&self.threads, |event| {
                is_ordered(event).then(|| (event.class, event.outcome.clone()))
            });
            if !search.has_order(self.initial.clone(), self.inconclusive) {
                return Err(Unexplained::NoInstant);
            }
        }
        Ok(())
    }

    /// Checks every "full": there must be no room for the item beside all copies that may have been in the table at
    /// some time during the call, at the maximum size of the table, which the table must have.
    ///
    /// These are the copies stored by an operation that is not known to come later, except for those that are known to
    /// have been removed before. A search for room holds no lock, so a copy that another thread stores or removes
    /// during the call may count. So may a slot that a concurrent `insert_if_absent` held for a moment: it makes room,
    /// finds its item, and stores nothing. A failed insert may have held a slot, too, but that does not count: of two
    /// inserts that want the last slot, one must get it.
    ///
    /// # Errors
    ///
    /// [`Unexplained::Room`] if there was room.
    ///
    /// # Panics
    ///
    /// If there is a `clear` as well: no model has both, and this function does not take away what is cleared.
    pub fn explain_full(&self, shape: &Shape) -> Result<(), Unexplained> {
        let is_full = |event: &Event| matches!(event.outcome, Outcome::Full | Outcome::UniqueFull);
        for (at, event) in self.all().filter(|(_, event)| is_full(event)) {
            let is_cleared = |(_, other): (_, &Event)| other.outcome == Outcome::Cleared;
            assert!(!self.all().any(is_cleared), "not said what \"full\" means beside a `clear`");
            let mut copies = self.most_copies(at);
            copies[self.keys[event.class]] += 1;
            let holders = self.all().filter(|&(id, other)| {
                let is_concurrent = !self.before(id, at) && !self.before(at, id);
                other.outcome == Outcome::Duplicate && is_concurrent
            });
            if !shape.grown || shape.holds(&copies, holders.count()) {
                return Err(Unexplained::Room { thread: at.0, event: at.1 });
            }
        }
        Ok(())
    }

    /// Returns the maximum number of copies of each key that may have been in the table at some time during an
    /// operation.
    fn most_copies(&self, at: (usize, usize)) -> Vec<usize> {
        let mut copies = vec![0; self.initial.len()];
        for (&key, initial) in self.keys.iter().zip(&self.initial) {
            copies[key] += initial;
        }
        for (id, event) in self.all() {
            let may_count = event.outcome.stores() && !self.before(at, id);
            copies[self.keys[event.class]] += usize::from(may_count);
        }
        for (id, event) in self.all() {
            let is_taken = event.outcome == Outcome::Removed && self.before(id, at);
            let copies = &mut copies[self.keys[event.class]];
            // Not below 0: the removed copy may have been one of a relative.
            *copies = copies.saturating_sub(is_taken.into());
        }
        copies
    }

    fn all(&self) -> impl Iterator<Item = ((usize, usize), &Event)> {
        self.threads.iter().enumerate().flat_map(|(thread, events)| {
            events.iter().enumerate().map(move |(index, event)| ((thread, index), event))
        })
    }

    /// Returns whether `a` is known to have returned before `b` was invoked.
    fn before(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        if a.0 == b.0 { a.1 < b.1 } else { self.threads[b.0][b.1].known[a.0] > a.1 }
    }
}

impl Shape {
    /// Returns whether there is room for these copies of each class at once, wherever the `holders` other slots in use
    /// are. By Hall's theorem this holds if each set of buckets has room for all copies that can be in these buckets
    /// only.
    fn holds(&self, copies: &[usize], holders: usize) -> bool {
        (1_u32..1 << self.buckets).all(|set| {
            let is_within = |pair: &[usize; 2]| pair.iter().all(|&bucket| set >> bucket & 1 == 1);
            let within = self.pairs.iter().zip(copies).filter(|(pair, _)| is_within(pair));
            let copies: usize = within.map(|(_, copies)| copies).sum();
            copies == 0 || copies + holders <= self.slots * set.count_ones() as usize
        })
    }
}

/// The copies of each class, and how many more lookups may find an absent item.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    counts: Vec<usize>,
    free: usize,
}

/// A search whose steps are operations on one class, or on all classes.
impl Search<(usize, Outcome)> {
    /// Returns whether there is an order in which at most `free` lookups find an absent item.
    fn has_order(&self, counts: Vec<usize>, free: usize) -> bool {
        self.succeeds(State { counts, free }, |state, step, _| {
            let Step { what: (class, outcome), .. } = step;
            outcome.apply(*class, state)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::*;

    type Explained = Result<(), Unexplained>;

    const NO_ORDER: Explained = no_order(0);
    const NO_INSTANT: Explained = Err(Unexplained::NoInstant);

    const fn no_order(class: usize) -> Explained {
        Err(Unexplained::NoOrder { class })
    }

    const fn found_nothing(needed: usize) -> Explained {
        Err(Unexplained::FoundNothing { needed })
    }

    const fn room(thread: usize, event: usize) -> Explained {
        Err(Unexplained::Room { thread, event })
    }

    /// Makes a history in which no order between the threads is known.
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
            ..History::default()
        }
    }

    /// Makes such a history of one class.
    pub(super) fn one(initial: usize, threads: &[&[Outcome]]) -> History {
        let ops = |ops: &&[Outcome]| ops.iter().map(|op| (0, op.clone())).collect::<Vec<_>>();
        let threads: Vec<_> = threads.iter().map(ops).collect();
        apart(&[initial], &threads.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Makes an operation, and all before it, known to a later one.
    fn knows(mut history: History, later: (usize, usize), earlier: (usize, usize)) -> History {
        for event in &mut history.threads[later.0][later.1..] {
            event.known[earlier.0] = event.known[earlier.0].max(earlier.1 + 1);
        }
        history
    }

    /// Asserts that the history of two threads is explained if nothing is known, and not if the second thread knows
    /// what the first one has done.
    #[track_caller]
    fn binds_what_knows(history: History, unexplained: Explained) {
        assert_eq!(history.explain(), Ok(()));
        let last = history.threads[0].len() - 1;
        assert_eq!(knows(history, (1, 0), (0, last)).explain(), unexplained);
    }

    #[test]
    fn one_thread_is_a_counter() {
        let all = [Missing, Inserted, Counted(1), Duplicate, Inserted, Removed, Found, Removed];
        let cases: [(usize, &[Outcome], _); _] = [
            (0, &all, Ok(())),
            (0, &[NotThere, Unique, Cleared, Missing, UniqueFull, Full], Ok(())),
            (1, &[Missing], NO_ORDER),
            (0, &[Inserted, Missing], NO_ORDER),
            (0, &[Removed], NO_ORDER),
            (1, &[NotThere], NO_ORDER),
            (1, &[Unique], NO_ORDER),
            (0, &[Duplicate], NO_ORDER),
            (1, &[UniqueFull], NO_ORDER),
            (1, &[Counted(2)], NO_ORDER),
            (0, &[Found], found_nothing(1)),
            (1, &[Removed, Found], found_nothing(1)),
            (2, &[Cleared, Found], found_nothing(1)),
        ];
        for (initial, ops, explained) in cases {
            assert_eq!(one(initial, &[ops]).explain(), explained, "{initial} {ops:?}");
        }
    }

    #[test]
    fn operations_without_an_order_may_come_either_way() {
        let cases: [(usize, &[&[Outcome]], _); _] = [
            (0, &[&[Inserted], &[Missing, Found]], Ok(())),
            (0, &[&[Inserted], &[Found, Missing]], found_nothing(1)),
            (0, &[&[Unique], &[Duplicate]], Ok(())),
            (0, &[&[Unique], &[Unique]], NO_ORDER),
            (0, &[&[Duplicate], &[Duplicate]], NO_ORDER),
            (0, &[&[Unique], &[Unique], &[Removed]], Ok(())),
            (1, &[&[Removed], &[NotThere]], Ok(())),
            (1, &[&[Removed], &[Removed]], NO_ORDER),
            (1, &[&[NotThere], &[NotThere]], NO_ORDER),
            // A lookup always finds a class that has at least one copy at all times.
            (1, &[&[Inserted, Removed], &[Missing]], NO_ORDER),
            (1, &[&[Removed, Inserted], &[Missing]], Ok(())),
        ];
        for (initial, threads, explained) in cases {
            assert_eq!(one(initial, threads).explain(), explained, "{initial} {threads:?}");
        }
    }

    #[test]
    fn known_answers_bind() {
        binds_what_knows(one(0, &[&[Inserted], &[Missing]]), NO_ORDER);
        // An operation on one class can make an operation on another class known.
        let stored = [(0, Inserted), (1, Inserted)];
        binds_what_knows(apart(&[0, 0], &[&stored, &[(1, Found), (0, Missing)]]), NO_ORDER);
        let at = |outcome, invoked, returned| Interval { class: 0, outcome, invoked, returned };
        let history =
            |look| History::from_intervals(vec![0], &[vec![at(Inserted, 0, 2)], vec![look]]);
        assert_eq!(history(at(Missing, 1, 3)).explain(), Ok(()));
        assert_eq!(history(at(Missing, 3, 4)).explain(), NO_ORDER);
        assert_eq!(history(at(Found, 3, 4)).explain(), Ok(()));
    }

    #[test]
    fn clear_concerns_every_class() {
        let looks = |first, second| {
            apart(&[1, 1], &[&[(0, Cleared)], &[(1, first), (1, second)]]).explain()
        };
        assert_eq!(looks(Found, Missing), Ok(()));
        assert_eq!(looks(Missing, Found), found_nothing(1));
    }

    #[test]
    fn inconclusive_lookups_are_counted() {
        let looks = [(0, Found), snapshot(&[0, 0]), (1, Found)];
        for ops in [&looks[..], &[(0, Found), (1, Found)], &[(0, Found), (0, Found)]] {
            let history = History { timed: true, ..apart(&[0, 0], &[ops]) };
            for (inconclusive, found) in [(1, found_nothing(2)), (2, Ok(()))] {
                assert_eq!(History { inconclusive, ..history.clone() }.explain(), found);
            }
        }
        // An inconclusive lookup explains that an absent item was found, and no other result.
        let history = History { inconclusive: 9, ..one(1, &[&[Missing]]) };
        assert_eq!(history.explain(), NO_ORDER);
    }

    fn snapshot(counts: &[usize]) -> (usize, Outcome) {
        (0, Snapshot(counts.to_vec()))
    }

    #[test]
    fn a_snapshot_counts_every_class() {
        let taken = |counts: &[usize]| {
            let before = [(0, Inserted), (1, Inserted), (1, Inserted), (0, Removed)];
            let ops = [&before[..], &[snapshot(counts), (1, Removed)]].concat();
            apart(&[1, 0, 4], &[&ops]).explain()
        };
        assert_eq!(taken(&[1, 2, 4]), Ok(()));
        for (class, wrong) in [[0, 2, 4], [1, 1, 4], [1, 2, 5]].iter().enumerate() {
            assert_eq!(taken(wrong), no_order(class));
        }
        binds_what_knows(apart(&[0, 0], &[&[(1, Inserted)], &[snapshot(&[0, 0])]]), no_order(1));
    }

    #[test]
    fn a_snapshot_is_one_instant() {
        // An item goes from one class to another, and is in both for a moment; or all is cleared.
        let there = [(1, Inserted), (0, Removed)];
        for (writes, initial, counts, explained) in [
            (&there[..], [1, 0], [1, 0], Ok(())),
            (&there, [1, 0], [1, 1], Ok(())),
            (&there, [1, 0], [0, 1], Ok(())),
            (&there, [1, 0], [0, 0], NO_INSTANT),
            (&[(0, Cleared)], [2, 1], [2, 1], Ok(())),
            (&[(0, Cleared)], [2, 1], [0, 0], Ok(())),
            (&[(0, Cleared)], [2, 1], [0, 1], NO_INSTANT),
        ] {
            let history = apart(&initial, &[writes, &[snapshot(&counts)]]);
            assert_eq!(history.explain(), explained, "{writes:?} {counts:?}");
            assert_eq!(History { timed: true, ..history }.explain(), explained, "{counts:?}");
        }
        // Two operations have an order.
        for (first, second, explained) in
            [([1, 0], [1, 1], Ok(())), ([0, 0], [0, 1], Ok(())), ([1, 0], [0, 1], NO_INSTANT)]
        {
            let taken = [snapshot(&first), snapshot(&second)];
            let writers: [&[_]; 2] = [&[(0, Inserted)], &[(1, Inserted)]];
            let history = apart(&[0, 0], &[writers[0], writers[1], &taken[..1], &taken[1..]]);
            assert_eq!(history.explain(), explained, "{first:?} {second:?}");
        }
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

    /// Makes a history of two classes that may have entries in common.
    fn relatives(initial: &[usize], threads: &[&[(usize, Outcome)]]) -> History {
        History { relatives: vec![vec![1], vec![0]], ..apart(initial, threads) }
    }

    #[test]
    fn a_relative_is_there_until_its_removal_is_called() {
        for (outcome, explained) in [
            (Found, Ok(())),
            (Duplicate, Ok(())),
            (Removed, Ok(())),
            (Missing, no_order(1)),
            (NotThere, no_order(1)),
            (Unique, no_order(1)),
            (UniqueFull, no_order(1)),
        ] {
            let beside = |removed| {
                relatives(&[1, 1], &[&[(removed, Removed)], &[(1, outcome.clone())]]).explain()
            };
            assert_eq!(beside(0), explained, "{outcome:?}");
            assert_eq!(beside(1), Ok(()), "{outcome:?}");
        }
        binds_what_knows(relatives(&[0, 0], &[&[(1, Inserted)], &[(1, Missing)]]), no_order(1));
        let both = [(0, Removed), (0, Missing), (0, Inserted), (0, Missing)];
        assert_eq!(relatives(&[1, 0], &[&both]).explain(), NO_ORDER);
        let later = relatives(&[1, 0], &[&[(0, Missing), (0, Removed)]]);
        assert_eq!(later.explain(), NO_ORDER);
    }

    /// An entry of a relative may be found, and later not.
    #[test]
    fn items_of_a_relative_may_be_found() {
        let looks = [(1, Found), (1, Missing), (1, Found), (1, Counted(1)), (1, Duplicate)];
        assert_eq!(relatives(&[1, 0], &[&looks]).explain(), Ok(()));
        assert_eq!(relatives(&[0, 0], &[&[(0, Inserted)], &looks]).explain(), Ok(()));
        assert_eq!(relatives(&[0, 0], &[&looks]).explain(), no_order(1));
        assert_eq!(relatives(&[0, 0], &[&[(1, Found), (0, Inserted)]]).explain(), no_order(1));
        binds_what_knows(relatives(&[0, 0], &[&[(1, Found)], &[(0, Inserted)]]), no_order(1));
        for (counted, explained) in [(0, NO_ORDER), (1, Ok(())), (3, Ok(())), (4, NO_ORDER)] {
            let count = relatives(&[1, 2], &[&[(0, Counted(counted))]]);
            assert_eq!(count.explain(), explained);
        }
    }

    /// Makes a history of three values of one key.
    fn values(initial: [usize; 3], threads: &[&[(usize, Outcome)]]) -> History {
        History { keys: vec![0; 3], ..apart(&initial, threads) }
    }

    fn got(classes: &[usize]) -> (usize, Outcome) {
        (0, Got(classes.to_vec()))
    }

    #[test]
    fn a_get_finds_every_value_and_no_other() {
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
        binds_what_knows(values([1, 0, 0], &[writers[0], &[got(&[])]]), no_order(1));
    }

    #[test]
    fn replacements_are_instants_of_one_copy() {
        let replaced = [(0, Replaced(1)), (1, Replaced(2))];
        for (replaced, found, explained) in [
            (&replaced[..1], &[0][..], Ok(())),
            (&replaced[..1], &[1], Ok(())),
            (&replaced[..1], &[0, 1], Ok(())),
            (&replaced[..1], &[], NO_ORDER),
            // A third value does not count as one of them.
            (&replaced[..1], &[2], no_order(2)),
            (&replaced, &[0], Ok(())),
            (&replaced, &[1], Ok(())),
            (&replaced, &[2], Ok(())),
            (&replaced, &[], NO_ORDER),
        ] {
            let history = values([1, 0, 0], &[replaced, &[got(found)]]);
            assert_eq!(history.explain(), explained, "{replaced:?} {found:?}");
        }
        let third = values([1, 0, 1], &[&replaced[..1], &[got(&[2])]]);
        assert_eq!(third.explain(), NO_ORDER);
        binds_what_knows(values([1, 0, 0], &[&replaced[..1], &[got(&[0])]]), NO_ORDER);
        let back = [(0, Replaced(1)), (1, Replaced(0)), got(&[0])];
        assert_eq!(values([1, 0, 0], &[&back]).explain(), Ok(()));
        // The value is removed at the end, so a `get` may find nothing; but not before that.
        let gone = [&replaced[..], &[(2, Removed)]].concat();
        assert_eq!(values([1, 0, 0], &[&gone, &[got(&[])]]).explain(), Ok(()));
        let early = values([1, 0, 0], &[&gone, &[got(&[]), (0, Inserted)]]);
        assert_eq!(knows(early, (0, 0), (1, 1)).explain(), NO_ORDER);
    }

    #[test]
    fn one_of_two_replacements_finds_the_pair() {
        for (first, second, explained) in [
            ((0, Replaced(1)), (0, NotThere), Ok(())),
            ((0, Replaced(1)), (0, Replaced(2)), NO_ORDER),
            ((0, Replaced(1)), (0, Removed), NO_ORDER),
            ((0, NotThere), (0, NotThere), NO_ORDER),
            // One replacement comes after the other.
            ((0, Replaced(1)), (1, Replaced(2)), Ok(())),
        ] {
            let both = values([1, 0, 0], &[&[first], &[second]]);
            assert_eq!(both.explain(), explained, "{both:?}");
        }
        assert_eq!(values([2, 0, 0], &[&[(0, Replaced(1)), got(&[0, 1])]]).explain(), Ok(()));
        assert_eq!(values([2, 0, 0], &[&[(0, Replaced(1)), got(&[1])]]).explain(), NO_ORDER);
    }

    #[test]
    fn a_key_is_there_while_it_has_a_value() {
        let changes = [(1, Inserted), (0, Removed), (1, Inserted)];
        for (writes, has, explained) in [
            (&changes[..2], false, NO_ORDER),
            (&changes[..2], true, Ok(())),
            (&changes[1..], false, Ok(())),
            (&[(0, Replaced(2))], false, NO_ORDER),
            (&[(0, Replaced(2))], true, Ok(())),
        ] {
            let history = values([1, 0, 0], &[writes, &[(1, HasKey(has))]]);
            assert_eq!(history.explain(), explained, "{writes:?} {has}");
        }
        // An `insert_if_absent` saw no value of the key, whether or not there was room. The first value is absent for a
        // moment, which is over when a `get` finds it. So the second `get` cannot miss it.
        for none in [&[(1, Unique)][..], &[(1, UniqueFull), (1, Inserted)]] {
            let looks = [none, &[got(&[0, 1]), got(&[1])]].concat();
            let history = values([1, 0, 0], &[&[(0, Removed), (0, Inserted)], &looks]);
            assert_eq!(history.explain(), NO_ORDER, "{none:?}");
        }
        let absent = values([0; 3], &[&[(2, HasKey(true))]]);
        assert_eq!(absent.explain(), found_nothing(1));
        assert_eq!(History { inconclusive: 1, ..absent }.explain(), Ok(()));
        // An inconclusive lookup explains no `get`.
        let found = History { inconclusive: 1, ..values([0; 3], &[&[got(&[1])]]) };
        assert_eq!(found.explain(), no_order(1));
    }

    #[test]
    fn a_replacement_is_one_instant_for_a_snapshot() {
        let writes = [(0, Replaced(1)), (2, Removed)];
        for (counts, explained) in [
            ([1, 0, 1], Ok(())),
            ([0, 1, 1], Ok(())),
            ([0, 1, 0], Ok(())),
            ([1, 1, 1], NO_ORDER),
            ([0, 0, 1], NO_ORDER),
            ([1, 0, 0], NO_INSTANT),
        ] {
            let history = values([1, 0, 1], &[&writes, &[snapshot(&counts)]]);
            assert_eq!(history.explain(), explained, "{counts:?}");
        }
        // "Full" says nothing about a value. A `get` reads its values one after the other.
        let full = values([4, 4, 0], &[&[(2, Full), snapshot(&[4, 4, 0])]]);
        let looks = values([1, 0, 1], &[&writes, &[got(&[1]), snapshot(&[0, 1, 0])]]);
        for history in [full, looks] {
            assert_eq!(History { timed: true, ..history }.explain(), Ok(()));
        }
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
        assert_eq!(history(&[(0, Replaced(2)), (1, Got(vec![]))]).explain(), no_order(1));
        assert_eq!(history(&[(0, Got(vec![]))]).explain(), NO_ORDER);
        assert_eq!(history(&[(0, Replaced(2)), (0, Replaced(2))]).explain(), Ok(()));
    }

    /// Explains "full" in a table of two buckets with two slots each, where all classes may be.
    fn full_means_full(history: &History) -> Explained {
        let pairs = vec![[0, 1]; history.initial.len()];
        history.explain_full(&Shape { buckets: 2, slots: 2, grown: true, pairs })
    }

    #[test]
    fn full_says_that_there_was_no_room() {
        let cases: [(_, &[&[_]], _); _] = [
            ([4, 0, 0], &[&[(1, Full)]], Ok(())),
            ([3, 0, 0], &[&[(1, Full)]], room(0, 0)),
            // One of two inserts gets the last slot.
            ([3, 0, 0], &[&[(1, Inserted)], &[(2, Full)]], Ok(())),
            ([3, 0, 0], &[&[(1, Full)], &[(2, Full)]], room(0, 0)),
            // A copy that is inserted later takes no room.
            ([3, 0, 0], &[&[(1, Full), (0, Inserted)]], room(0, 0)),
        ];
        for (initial, threads, explained) in cases {
            assert_eq!(full_means_full(&apart(&initial, threads)), explained, "{threads:?}");
        }
        // A copy that is removed meanwhile does not make room yet. A duplicate may have held a slot.
        for (initial, other) in [([4, 0], Removed), ([3, 0], Duplicate)] {
            let history = apart(&initial, &[&[(0, other)], &[(1, Full)]]);
            assert_eq!(full_means_full(&history), Ok(()));
            assert_eq!(full_means_full(&knows(history, (1, 0), (0, 0))), room(1, 0));
        }
        // A copy with another value takes as much room.
        for (initial, explained) in [([5, 0, 0], Ok(())), ([4, 0, 0], room(0, 2))] {
            let history = apart(&initial, &[&[(0, Replaced(1)), (1, Removed), (2, Full)]]);
            assert_eq!(full_means_full(&History { keys: vec![0, 0, 2], ..history }), explained);
        }
        let come_and_gone = apart(&[0, 0, 3], &[&[(1, Inserted), (1, Removed), (2, Full)]]);
        assert_eq!(full_means_full(&come_and_gone), room(0, 2));
        let of_relative = relatives(&[1, 0], &[&[(1, Removed), (1, Full)]]);
        assert_eq!(full_means_full(&of_relative), room(0, 1));
    }

    /// Three buckets; the only free slot is in a bucket that the item reaches only by a kick.
    #[test]
    fn room_is_found_by_moving_others() {
        let shape =
            Shape { buckets: 3, slots: 1, grown: true, pairs: vec![[0, 1], [1, 2], [0, 0]] };
        let history = |stored| apart(&[1, stored, 0], &[&[(1, Inserted), (2, Full)]]);
        assert_eq!(history(0).explain_full(&shape), room(0, 1));
        assert_eq!(history(1).explain_full(&shape), Ok(()));
        // Room elsewhere does not help an item with one bucket.
        let one_bucket = apart(&[0, 0, 1], &[&[(2, Full)]]);
        assert_eq!(one_bucket.explain_full(&shape), Ok(()));
        // A table that could still grow is not full, whatever it holds.
        assert_eq!(history(1).explain_full(&Shape { grown: false, ..shape }), room(0, 1));
    }
}
