//! A filter or a maplet beside its model.

use coucal::{InsertError, InsertManyError, MergeError, ReserveError, Snapshot};

use crate::format::{self, Contents, Entry, Value};
use crate::model::Model;
use crate::subject::{Grows, Item, Subject};

/// The hash of a key: a bijection, so different keys have different hashes.
pub fn hash(key: u16) -> u64 {
    let mut hash = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// Keys from one on, around the end of a range in which keys come again often.
pub fn keys(first: u16, count: u8) -> impl Iterator<Item = u16> + Clone {
    (0..u16::from(count)).map(move |at| first.wrapping_add(at) % 1024)
}

/// An operation. A number names what is stored: see [`Modelled::with_hashes`].
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Insert(u16),
    /// What only one of the types has: `insert_unique` of a filter, `replace` of a maplet.
    InsertUniqueOrReplace(u16),
    Remove(u16),
    Look(u16),
    InsertMany(u16, u8),
    InsertUniqueOrReplaceMany(u16, u8),
    RemoveMany(u16, u8),
    LookMany(u16, u8),
    /// One time in 32.
    Clear(u8),
    Reserve(u16),
    /// In the place of the filter one that was restored.
    Restore,
    /// The other one into this one.
    Merge,
    /// This one and the other change places.
    Swap,
}

/// A filter or a maplet, and what it must hold.
pub struct Modelled<S> {
    subject: S,
    /// More room, if the subject can grow.
    reserve: fn(&S, usize),
    /// For the sizes, not for what was in the subject at first.
    start: Contents,
    model: Model,
    hashes: Vec<u64>,
    /// When the model last agreed with the snapshot on what entries know.
    slots_and_stashed: (usize, (usize, usize)),
}

impl<S: Subject> Modelled<S> {
    /// A subject of fixed size that holds anything.
    pub fn new(subject: S) -> Self {
        Self::with_reserve(subject, |_, _| {})
    }

    /// A subject that grows, to a maximum with which no split doubles an entry: the model would not know of it.
    pub fn growing(subject: S) -> Self
    where
        S: Grows,
    {
        Self::with_reserve(subject, reserve)
    }

    fn with_reserve(subject: S, reserve: fn(&S, usize)) -> Self {
        let start = format::read(&subject.bytes()).expect("a snapshot");
        assert!(start.is_exact(), "a split may double entries");
        let model = Model::new(start.geometry, start.copies.clone());
        let slots_and_stashed = (subject.slots(), subject.stashed());
        let hashes = Vec::new();
        let modelled = Self { subject, reserve, start, model, hashes, slots_and_stashed };
        modelled.check();
        modelled
    }

    /// What operations store are items with these hashes, each with one of four values in a maplet. Without
    /// them it is one of 65,536 items: in a maplet two values of each hash.
    pub fn with_hashes(self, hashes: Vec<u64>) -> Self {
        Self { hashes, ..self }
    }

    pub fn subject(&self) -> &S {
        &self.subject
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The bytes of the subject with the items of these keys, or with those that it has room for.
    pub fn filled(self, keys: impl Iterator<Item = u16>) -> Vec<u8> {
        let items: Vec<Item> = keys.map(|key| self.item(key)).collect();
        let _ = self.subject.insert_many(&items);
        self.subject.bytes()
    }

    /// What is stored for a key.
    fn item(&self, key: u16) -> Item {
        let value_bits = self.start.geometry.value_bits;
        let largest = ((1_u64 << value_bits) - 1) as Value;
        let is_maplet = value_bits > 0;
        if self.hashes.is_empty() {
            let value = (hash(key) >> 32) as Value & largest;
            return (hash(if is_maplet { key / 2 } else { key }), value);
        }
        let number = usize::from(if is_maplet { key / 4 } else { key });
        // Both ends of the range, and what is beside them.
        let value = if is_maplet { [0, largest, 1, largest - 1][usize::from(key % 4)] } else { 0 };
        (self.hashes[number % self.hashes.len()], value)
    }

    fn items(&self, first: u16, count: u8) -> Vec<Item> {
        keys(first, count).map(|key| self.item(key)).collect()
    }

    fn entry(&self, (hash, value): Item) -> Entry {
        self.start.geometry.item(hash, value)
    }

    /// How many bits of its position a new entry knows.
    fn known(&self) -> u32 {
        self.start.geometry.known_at(self.subject.slots())
    }

    fn most_copies(&self) -> usize {
        2 * self.start.geometry.slots()
    }

    /// Does the same to the subject and to the model. `other` has the same layout, and began with as many buckets.
    pub fn apply(&mut self, op: Op, other: &mut Self) {
        match op {
            Op::Insert(key) => drop(self.insert(self.item(key))),
            Op::InsertUniqueOrReplace(key) if self.start.geometry.is_maplet() => {
                // By the value of another key with this hash.
                let (_, new) = self.item(key ^ 1);
                self.replace(self.item(key), new);
            }
            Op::InsertUniqueOrReplace(key) => drop(self.insert_unique(self.item(key))),
            Op::Remove(key) => drop(self.remove(self.item(key))),
            Op::Look(key) => drop(self.look(self.item(key).0)),
            Op::InsertMany(first, count) => self.insert_many(&self.items(first, count)),
            Op::InsertUniqueOrReplaceMany(first, count) if self.start.geometry.is_maplet() => {
                let with_new = |key| (self.item(key), self.item(key ^ 1).1);
                self.replace_many(&keys(first, count).map(with_new).collect::<Vec<_>>());
            }
            Op::InsertUniqueOrReplaceMany(first, count) => {
                self.insert_unique_many(&self.items(first, count));
            }
            Op::RemoveMany(first, count) => self.remove_many(&self.items(first, count)),
            Op::LookMany(first, count) => {
                let hashes = self.items(first, count).into_iter().map(|(hash, _)| hash);
                self.look_many(&hashes.collect::<Vec<_>>());
            }
            Op::Clear(chance) => {
                if chance < 8 {
                    self.subject.clear();
                    self.model.clear();
                    self.stash_has_changed();
                }
            }
            Op::Reserve(additional) => (self.reserve)(&self.subject, additional.into()),
            Op::Restore => self.restore(),
            Op::Merge => self.merge(other),
            Op::Swap => std::mem::swap(self, other),
        }
        assert_eq!(self.subject.len(), self.model.len(), "{op:?}");
    }

    /// These items were added, the first of them when entries knew this number of bits. If it has changed since, or
    /// some are in the stash and know all, the snapshot says of each of them how many it is.
    fn add(&mut self, items: &[Entry], known: u32) {
        for &item in items {
            self.model.add(item, known);
        }
        if self.stash_has_changed() || self.known() != known {
            self.model.learn(format::read(&self.subject.bytes()).expect("a snapshot").copies);
        }
    }

    /// An insert has failed with this.
    fn check_error(&self, error: InsertError) {
        assert_eq!(error, InsertError::Full);
        self.must_be_full();
    }

    /// The subject has as many entries as it was made for, copies of one counted once.
    fn must_be_full(&self) {
        let contents = format::read(&self.subject.bytes()).expect("a snapshot");
        assert!(contents.occupied + contents.stashed >= contents.max_capacity);
        assert!(self.model.len() >= self.most_copies());
        assert_eq!(contents.words, contents.max_buckets);
    }

    /// After an operation that may have taken something out of the stash: an entry there knows all of its
    /// position, and in a bucket only a part.
    fn settle(&mut self) {
        if self.stash_has_changed() {
            self.model.learn(format::read(&self.subject.bytes()).expect("a snapshot").copies);
        }
    }

    /// Whether a table that grows may have taken entries into the stash or out of it since this was last asked: a split
    /// may do both at once.
    fn stash_has_changed(&mut self) -> bool {
        if !self.start.geometry.grows {
            return false;
        }
        let now = (self.subject.slots(), self.subject.stashed());
        let before = std::mem::replace(&mut self.slots_and_stashed, now);
        let any_stashed = before.1.1 > 0 || now.1.1 > 0;
        any_stashed && before != now
    }

    /// Inserts an item.
    pub fn insert(&mut self, item: Item) -> Result<(), InsertError> {
        let (entry, known) = (self.entry(item), self.known());
        let inserted = self.subject.insert(item);
        match inserted {
            Ok(()) => {
                self.add(&[entry], known);
            }
            Err(error) => self.check_error(error),
        }
        inserted
    }

    fn insert_unique(&mut self, item: Item) -> Result<bool, InsertError> {
        let (entry, known) = (self.entry(item), self.known());
        let held = self.model.count(entry);
        let inserted = self.subject.insert_unique(item);
        match inserted {
            Ok(inserted) => {
                assert_eq!(inserted, held == 0);
                if inserted {
                    self.add(&[entry], known);
                }
            }
            Err(error) => {
                assert_eq!(held, 0);
                self.check_error(error);
            }
        }
        inserted
    }

    /// Removes an item, and says whether there was one.
    pub fn remove(&mut self, item: Item) -> bool {
        let expected = self.model.take_longest(self.entry(item)).is_some();
        assert_eq!(self.subject.remove(item), expected, "{:?}", self.subject);
        self.settle();
        expected
    }

    /// Gives an item another value.
    pub fn replace(&mut self, item: Item, new: Value) {
        let entry = self.entry(item);
        assert_eq!(self.subject.replace(item, new), self.model.count(entry) > 0);
        self.model.replace(entry, new);
        self.settle();
    }

    /// Looks a hash up, and says how many entries match it.
    pub fn look(&self, hash: u64) -> usize {
        let values = self.model.values(hash);
        assert_eq!(self.subject.contains(hash), !values.is_empty(), "{:?}", self.subject);
        let (mut found, mut expected) = (self.subject.values(hash), values.clone());
        if self.subject.stashed().1 > 0 {
            // Of those, each value comes once.
            found.dedup();
            expected.dedup();
        }
        assert_eq!(found, expected, "{:?}", self.subject);
        values.len()
    }

    fn insert_many(&mut self, items: &[Item]) {
        let entries: Vec<Entry> = items.iter().map(|&item| self.entry(item)).collect();
        let known = self.known();
        let failed = self.subject.insert_many(items).err();
        let stored = failed.as_ref().map_or(items.len(), InsertManyError::stored);
        self.add(&entries[..stored], known);
        if let Some(error) = failed {
            self.check_error(error.cause());
        }
    }

    fn insert_unique_many(&mut self, items: &[Item]) {
        // In a table that grows, the first items of a batch may know less than the last ones.
        let at_once = if self.start.geometry.grows { 1 } else { items.len().max(1) };
        for items in items.chunks(at_once) {
            let known = self.known();
            let (answers, failed) = self.subject.insert_unique_each(items);
            for (&item, &new) in items.iter().zip(&answers) {
                let entry = self.entry(item);
                assert_eq!(new, self.model.count(entry) == 0, "{:?}", self.subject);
                if new {
                    self.add(&[entry], known);
                }
            }
            if let Some(error) = failed {
                assert_eq!(self.model.count(self.entry(items[answers.len()])), 0);
                self.check_error(error);
            }
        }
    }

    /// Gives each item another value.
    fn replace_many(&mut self, items: &[(Item, Value)]) {
        let stashed = self.subject.stashed().1;
        // As for `remove_many`.
        let at_once = if self.start.geometry.grows && stashed > 0 { 1 } else { items.len().max(1) };
        for items in items.chunks(at_once) {
            let mut expected = Vec::new();
            for &(item, new) in items {
                let entry = self.entry(item);
                expected.push(self.model.count(entry) > 0);
                self.model.replace(entry, new);
            }
            assert_eq!(self.subject.replace_each(items), expected, "{:?}", self.subject);
            self.settle();
        }
    }

    fn remove_many(&mut self, items: &[Item]) {
        let stashed = self.subject.stashed().1;
        // One that goes back to a bucket knows less from then on: the next item may match it.
        let at_once = if self.start.geometry.grows && stashed > 0 { 1 } else { items.len().max(1) };
        for items in items.chunks(at_once) {
            let entries: Vec<Entry> = items.iter().map(|&item| self.entry(item)).collect();
            let expected = entries.into_iter().map(|item| self.model.take_longest(item).is_some());
            let expected: Vec<bool> = expected.collect();
            assert_eq!(self.subject.remove_each(items), expected, "{:?}", self.subject);
            self.settle();
        }
    }

    fn look_many(&self, hashes: &[u64]) {
        let expected = hashes.iter().map(|&hash| !self.model.values(hash).is_empty());
        assert_eq!(self.subject.contains_each(hashes), expected.collect::<Vec<_>>());
    }

    fn restore(&mut self) {
        let bytes = self.subject.bytes();
        self.subject = S::restored(&bytes).expect("what was just written");
        assert_eq!(self.subject.bytes(), bytes);
    }

    fn merge(&mut self, other: &Self) {
        let known = self.known();
        match self.subject.merge(&other.subject) {
            Ok(()) => {
                let copies = |(&item, &n): (&_, &_)| std::iter::repeat_n(item, n);
                let items: Vec<_> = other.model.copies().iter().flat_map(copies).collect();
                // As many may have gone into the stash as have come out of it.
                self.slots_and_stashed = (0, (0, 0));
                self.add(&items, known);
            }
            Err(error) => {
                match error {
                    MergeError::Full => {
                        let most = self.start.max_buckets as usize * self.start.geometry.slots();
                        let entries = |of: &Self| {
                            let contents = format::read(&of.subject.bytes()).expect("a snapshot");
                            (contents.occupied + contents.stashed) as usize
                        };
                        let together = entries(self) + entries(other);
                        assert!(together >= self.start.max_capacity as usize);
                        let at_maximum = self.subject.slots() == most;
                        assert!(!self.start.geometry.grows || at_maximum || together > most);
                    }
                    error => panic!("{error}"),
                }
                // What is taken back is the longest entry that matches: of those in the stash, too.
                self.stash_has_changed();
                self.model.learn(format::read(&self.subject.bytes()).expect("a snapshot").copies);
            }
        }
    }

    /// What the subject holds, as its snapshot says, is what the model holds; and so is what it says.
    pub fn check(&self) {
        let bytes = self.subject.bytes();
        assert!(Snapshot::from_bytes(&bytes).is_ok());
        let contents = format::read(&bytes).expect("a snapshot");
        assert_eq!(contents.copies, *self.model.copies());
        assert_eq!(contents.words as usize * contents.geometry.slots(), self.subject.slots());
        for key in (0..1024).step_by(31) {
            self.look(self.item(key).0);
        }
        assert_eq!(self.subject.inconclusive(), 0, "one thread");
    }
}

/// Room for this number of items more, or the error that says that there is none.
fn reserve<S: Grows>(subject: &S, additional: usize) {
    let (stashed, copies) = subject.stashed();
    let wanted = subject.len() - copies + stashed + additional;
    let max_capacity = subject.max_capacity();
    let slots = subject.slots();
    match subject.try_reserve(additional) {
        Ok(()) => assert!(wanted <= max_capacity && subject.capacity() >= wanted),
        Err(error) => {
            assert_eq!(error, ReserveError::AboveMaxCapacity { wanted, max_capacity });
            assert!(wanted > max_capacity);
        }
    }
    assert!(subject.slots() >= slots);
}
