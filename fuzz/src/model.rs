//! A filter or a maplet beside an exact multiset of entries.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use arbitrary::Arbitrary;
use coucal::{InsertError, InsertManyError, MergeError, Snapshot};

use crate::format::{self, Contents, Entry, Extra, Value, is_of};
use crate::subject::{Item, Subject};

/// The hash of a key: a bijection, so different keys have different hashes.
pub fn hash(key: u16) -> u64 {
    let mut hash = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// What is stored for a key: its hash, or in a maplet a value and a hash that two keys share.
pub fn item(key: u16, value_bits: u32) -> Item {
    let value = hash(key) >> 32 & ((1 << value_bits) - 1);
    (hash(if value_bits > 0 { key / 2 } else { key }), value as Value)
}

/// Keys from one on, around the end of a range in which keys come again often.
pub fn keys(first: u16, count: u8) -> impl Iterator<Item = u16> + Clone {
    (0..u16::from(count)).map(move |at| first.wrapping_add(at) % 1024)
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Op {
    Insert(u16),
    /// What only one of the types has: `insert_unique` of a filter, `replace` of a maplet.
    InsertUniqueOrReplace(u16),
    Remove(u16),
    Look(u16),
    InsertMany(u16, u8),
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
    /// For the geometry, not for what was in the subject at first.
    start: Contents,
    copies: BTreeMap<Entry, usize>,
    len: usize,
}

impl<S: Subject> Modelled<S> {
    /// A subject that holds anything.
    pub fn new(subject: S, reserve: fn(&S, usize)) -> Self {
        let start = format::read(&subject.bytes()).expect("a snapshot");
        let copies = start.copies.clone();
        let len = start.items as usize;
        let modelled = Self { subject, reserve, start, copies, len };
        modelled.check();
        modelled
    }

    /// The bytes of the subject with the items of these keys, or with those that it has room for.
    pub fn filled(self, keys: impl Iterator<Item = u16>) -> Vec<u8> {
        let items: Vec<Item> = keys.map(|key| self.stored_for(key)).collect();
        let _ = self.subject.insert_many(&items);
        self.subject.bytes()
    }

    /// Does the same to the subject and to the model. `other` has as many rows, and the same layout.
    pub fn apply(&mut self, op: Op, other: &mut Self) {
        match op {
            Op::Insert(key) => self.insert(key),
            Op::InsertUniqueOrReplace(key) if self.start.is_maplet() => self.replace(key),
            Op::InsertUniqueOrReplace(key) => self.insert_unique(key),
            Op::Remove(key) => self.remove(key),
            Op::Look(key) => self.look(key),
            Op::InsertMany(first, count) => self.insert_many(first, count),
            Op::RemoveMany(first, count) => keys(first, count).for_each(|key| self.remove(key)),
            Op::LookMany(first, count) => self.look_many(first, count),
            Op::Clear(chance) => {
                if chance < 8 {
                    self.subject.clear();
                    self.copies.clear();
                    self.len = 0;
                }
            }
            Op::Reserve(additional) => (self.reserve)(&self.subject, additional.into()),
            Op::Restore => self.restore(),
            Op::Merge => self.merge(other),
            Op::Swap => std::mem::swap(self, other),
        }
        assert_eq!(self.subject.len(), self.len, "{op:?}");
    }

    fn most_copies(&self) -> usize {
        2 * self.start.slots()
    }

    fn stored_for(&self, key: u16) -> Item {
        item(key, self.start.value_bits)
    }

    /// The item of a key, its entry, and how many entries are of this item.
    fn held(&self, key: u16) -> (Item, Entry, usize) {
        let item = self.stored_for(key);
        let entry = self.start.item(item.0, item.1);
        (item, entry, self.entries_of(entry, entry.1..=entry.1).map(|(_, copies)| copies).sum())
    }

    /// The entries of an item that have one of these values, the longest of each value last.
    fn entries_of(
        &self,
        (class, _, extra): Entry,
        values: RangeInclusive<Value>,
    ) -> impl Iterator<Item = (Entry, usize)> {
        let all = (class, *values.start(), 0)..=(class, *values.end(), Extra::MAX);
        let of_class = self.copies.range(all).map(|(&entry, &copies)| (entry, copies));
        of_class.filter(move |&((.., known), _)| is_of(known, extra))
    }

    /// How many entries there are that no growth parts from one of this item, whatever their values are.
    fn of_class(&self, (class, ..): Entry) -> usize {
        let all = (class, 0, 0)..=(class, Value::MAX, Extra::MAX);
        self.copies.range(all).map(|(_, copies)| copies).sum()
    }

    fn level(&self) -> u32 {
        let buckets = self.subject.slots() / self.start.slots();
        (buckets / self.start.rows as usize).ilog2()
    }

    /// These items were added, the first of them at this level. If the level has changed since, the
    /// snapshot says at which of the two each of them was.
    fn add(&mut self, items: &[Entry], level: u32) {
        for &(class, value, extra) in items {
            let known = extra.ilog2().min(level);
            let extra = extra & ((1 << known) - 1) | 1 << known;
            *self.copies.entry((class, value, extra)).or_default() += 1;
        }
        self.len += items.len();
        if self.level() != level {
            let now = format::read(&self.subject.bytes()).expect("a snapshot").copies;
            let [read, known] = [&now, &self.copies].map(|of| sums(of, |of| (of.0, of.1)));
            assert_eq!(read, known);
            self.copies = now;
        }
    }

    /// An insert of this item has failed.
    fn check_error(&self, item: Entry, error: InsertError) {
        let alike = self.of_class(item);
        assert_eq!(error == InsertError::TooManyCopies, alike == self.most_copies());
        if alike < self.most_copies() {
            assert_eq!(error, InsertError::Full);
            self.must_be_full();
        }
    }

    /// An insert has failed with "full".
    fn must_be_full(&self) {
        // Both buckets of the item are.
        assert!(self.len >= self.most_copies());
        if self.start.grows {
            assert_eq!(self.subject.slots(), self.start.max_buckets as usize * self.start.slots());
        }
    }

    fn insert(&mut self, key: u16) {
        let (item, entry, _) = self.held(key);
        let level = self.level();
        match self.subject.insert(item) {
            Ok(()) => {
                assert!(self.of_class(entry) < self.most_copies());
                self.add(&[entry], level);
            }
            Err(error) => self.check_error(entry, error),
        }
    }

    fn insert_unique(&mut self, key: u16) {
        let (item, entry, held) = self.held(key);
        let level = self.level();
        match self.subject.insert_unique(item) {
            Ok(inserted) => {
                assert_eq!(inserted, held == 0);
                if inserted {
                    self.add(&[entry], level);
                }
            }
            Err(error) => {
                assert_eq!(held, 0);
                self.check_error(entry, error);
            }
        }
    }

    fn remove(&mut self, key: u16) {
        let (item, entry, held) = self.held(key);
        assert_eq!(self.subject.remove(item), held > 0);
        self.take_longest(entry);
        self.len -= held.min(1);
    }

    /// By the value of the other key with this hash.
    fn replace(&mut self, key: u16) {
        let (item, entry, held) = self.held(key);
        let (_, new) = self.stored_for(key ^ 1);
        assert_eq!(self.subject.replace(item, new), held > 0);
        if let Some((class, _, extra)) = self.take_longest(entry) {
            *self.copies.entry((class, new, extra)).or_default() += 1;
        }
    }

    /// Of the entries of an item with its value the longest, which the model holds no more.
    fn take_longest(&mut self, item: Entry) -> Option<Entry> {
        let (longest, copies) = self.entries_of(item, item.1..=item.1).last()?;
        if copies > 1 {
            self.copies.insert(longest, copies - 1);
        } else {
            self.copies.remove(&longest);
        }
        Some(longest)
    }

    fn look(&self, key: u16) {
        let ((hash, _), entry, _) = self.held(key);
        let candidates = self.entries_of(entry, 0..=Value::MAX);
        let values: Vec<Value> = candidates
            .flat_map(|((_, value, _), copies)| std::iter::repeat_n(value, copies))
            .collect();
        assert_eq!(self.subject.contains(hash), !values.is_empty());
        assert_eq!(self.subject.values(hash), values);
    }

    fn insert_many(&mut self, first: u16, count: u8) {
        let items: Vec<Item> = keys(first, count).map(|key| self.stored_for(key)).collect();
        let entries: Vec<Entry> =
            items.iter().map(|&(hash, value)| self.start.item(hash, value)).collect();
        let level = self.level();
        let failed = self.subject.insert_many(&items).err();
        let stored = failed.as_ref().map_or(items.len(), InsertManyError::stored);
        self.add(&entries[..stored], level);
        if let Some(error) = failed {
            self.check_error(entries[stored], error.cause());
        }
    }

    fn look_many(&self, first: u16, count: u8) {
        let hashes: Vec<u64> = keys(first, count).map(|key| self.stored_for(key).0).collect();
        let found = self.subject.contains_each(&hashes);
        for (hash, found) in hashes.into_iter().zip(found) {
            let held = self.entries_of(self.start.item(hash, 0), 0..=Value::MAX).next().is_some();
            assert_eq!(found, held);
        }
    }

    fn restore(&mut self) {
        let bytes = self.subject.bytes();
        self.subject = S::restored(&bytes).expect("what was just written");
        assert_eq!(self.subject.bytes(), bytes);
    }

    fn merge(&mut self, other: &Self) {
        let [ours, theirs] = [&*self, other].map(|of| sums(&of.copies, |&(class, ..)| class));
        let too_many = theirs.iter().any(|(class, copies)| {
            copies + ours.get(class).copied().unwrap_or(0) > self.most_copies()
        });
        let level = self.level();
        match self.subject.merge(&other.subject) {
            Ok(()) => {
                assert!(!too_many);
                let copies = |(&item, &n): (&_, &_)| std::iter::repeat_n(item, n);
                let items: Vec<_> = other.copies.iter().flat_map(copies).collect();
                self.add(&items, level);
            }
            Err(MergeError::TooManyCopies) => assert!(too_many),
            Err(MergeError::Full) => {
                let most = self.start.max_buckets as usize * self.start.slots();
                assert!(self.len + other.len >= self.most_copies());
                let at_maximum = self.subject.slots() == most;
                assert!(!self.start.grows || at_maximum || self.len + other.len > most);
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// What the subject holds, as its snapshot says, is what the model holds; and so is what it says.
    pub fn check(&self) {
        let bytes = self.subject.bytes();
        assert!(Snapshot::from_bytes(&bytes).is_ok());
        let contents = format::read(&bytes).expect("a snapshot");
        assert_eq!(contents.copies, self.copies);
        assert_eq!(contents.words as usize * contents.slots(), self.subject.slots());
        for key in (0..1024).step_by(31) {
            self.look(key);
        }
        assert_eq!(self.subject.inconclusive(), 0, "one thread");
    }
}

/// How many entries there are of each class, or of whatever else a part of an entry names.
fn sums<K: Ord>(copies: &BTreeMap<Entry, usize>, of: fn(&Entry) -> K) -> BTreeMap<K, usize> {
    let mut sums = BTreeMap::new();
    for (entry, &copies) in copies {
        *sums.entry(of(entry)).or_default() += copies;
    }
    sums
}
