//! A filter beside an exact multiset of classes.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use coucal::{CuckooFilter, InsertError, MergeError, Snapshot, StableHashBuilder, Storage};

use crate::format::{self, Class, Contents, Extra, is_of};

pub const HASHER: StableHashBuilder = StableHashBuilder::new(7);

pub type Filter<L> = CuckooFilter<L, StableHashBuilder>;

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

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Op {
    Insert(u16),
    InsertUnique(u16),
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

/// A filter, and what it must hold.
pub struct Modelled<L: Storage> {
    filter: Filter<L>,
    /// More room, if the filter can grow.
    reserve: fn(&Filter<L>, usize),
    /// For the geometry, not for what was in the filter at first.
    start: Contents,
    copies: BTreeMap<(Class, Extra), usize>,
    len: usize,
}

impl<L: Storage> Modelled<L> {
    /// A filter that holds anything.
    pub fn new(filter: Filter<L>, reserve: fn(&Filter<L>, usize)) -> Self {
        let bytes = filter.snapshot().expect("memory").to_bytes();
        let start = format::read(&bytes).expect("a snapshot");
        let copies = start.copies.clone();
        let len = start.items as usize;
        let modelled = Self { filter, reserve, start, copies, len };
        modelled.check();
        modelled
    }

    /// Does the same to the filter and to the model. `other` has as many rows, and the same layout.
    pub fn apply(&mut self, op: Op, other: &mut Self) {
        match op {
            Op::Insert(key) => self.insert(key),
            Op::InsertUnique(key) => self.insert_unique(key),
            Op::Remove(key) => self.remove(key),
            Op::Look(key) => self.look(key),
            Op::InsertMany(first, count) => self.insert_many(first, count),
            Op::RemoveMany(first, count) => keys(first, count).for_each(|key| self.remove(key)),
            Op::LookMany(first, count) => self.look_many(first, count),
            Op::Clear(chance) => {
                if chance < 8 {
                    self.filter.clear();
                    self.copies.clear();
                    self.len = 0;
                }
            }
            Op::Reserve(additional) => (self.reserve)(&self.filter, additional.into()),
            Op::Restore => self.restore(),
            Op::Merge => self.merge(other),
            Op::Swap => std::mem::swap(self, other),
        }
        assert_eq!(self.filter.len(), self.len, "{op:?}");
    }

    fn most_copies(&self) -> usize {
        2 * self.start.slots()
    }

    /// The hash of a key, the item of this hash, and how many entries are of this item.
    fn held(&self, key: u16) -> (u64, (Class, Extra), usize) {
        let hash = hash(key);
        let item = self.start.item(hash);
        (hash, item, self.copies_of(item))
    }

    /// The entries of an item, the longest last.
    fn entries_of(&self, (class, extra): (Class, Extra)) -> impl Iterator<Item = (Extra, usize)> {
        let of_class = self.copies.range((class, 0)..=(class, Extra::MAX));
        of_class
            .map(|(&(_, entry), &copies)| (entry, copies))
            .filter(move |&(entry, _)| is_of(entry, extra))
    }

    fn copies_of(&self, item: (Class, Extra)) -> usize {
        self.entries_of(item).map(|(_, copies)| copies).sum()
    }

    fn level(&self) -> u32 {
        let buckets = self.filter.slots() / self.start.slots();
        (buckets / self.start.rows as usize).ilog2()
    }

    /// These items were added, the first of them at this level. If the level has changed since, the
    /// snapshot says at which of the two each of them was.
    fn add(&mut self, items: &[(Class, Extra)], level: u32) {
        for &(class, extra) in items {
            let known = extra.ilog2().min(level);
            let entry = extra & ((1 << known) - 1) | 1 << known;
            *self.copies.entry((class, entry)).or_default() += 1;
        }
        self.len += items.len();
        if self.level() != level {
            let bytes = self.filter.snapshot().expect("memory").to_bytes();
            let now = format::read(&bytes).expect("a snapshot").copies;
            assert_eq!(by_class(&now), by_class(&self.copies));
            self.copies = now;
        }
    }

    /// An insert has failed with "full".
    fn must_be_full(&self) {
        // Both buckets of the item are.
        assert!(self.len >= self.most_copies());
        if self.start.grows {
            assert_eq!(self.filter.slots(), self.start.max_buckets as usize * self.start.slots());
        }
    }

    fn insert(&mut self, key: u16) {
        let (hash, item, held) = self.held(key);
        let level = self.level();
        match self.filter.insert_hash(hash) {
            Ok(()) => {
                assert!(held < self.most_copies());
                self.add(&[item], level);
            }
            Err(InsertError::TooManyCopies) => assert_eq!(held, self.most_copies()),
            Err(_) => {
                assert!(held < self.most_copies());
                self.must_be_full();
            }
        }
    }

    fn insert_unique(&mut self, key: u16) {
        let (hash, item, held) = self.held(key);
        let level = self.level();
        match self.filter.insert_unique_hash(hash) {
            Ok(inserted) => {
                assert_eq!(inserted, held == 0);
                if inserted {
                    self.add(&[item], level);
                }
            }
            Err(error) => {
                assert_eq!((error, held), (InsertError::Full, 0));
                self.must_be_full();
            }
        }
    }

    fn remove(&mut self, key: u16) {
        let (hash, item, held) = self.held(key);
        assert_eq!(self.filter.remove_hash(hash), held > 0);
        let longest = self.entries_of(item).last();
        if let Some((longest, copies)) = longest {
            let entry = (item.0, longest);
            if copies > 1 {
                self.copies.insert(entry, copies - 1);
            } else {
                self.copies.remove(&entry);
            }
        }
        self.len -= held.min(1);
    }

    fn look(&self, key: u16) {
        let (hash, _, held) = self.held(key);
        assert_eq!(self.filter.contains_hash(hash), held > 0);
        assert_eq!(self.filter.count_hash(hash), held);
    }

    fn insert_many(&mut self, first: u16, count: u8) {
        let hashes: Vec<u64> = keys(first, count).map(hash).collect();
        let level = self.level();
        let stored = match self.filter.insert_hash_many(&hashes) {
            Ok(()) => hashes.len(),
            Err(error) => error.stored(),
        };
        let items: Vec<_> = hashes[..stored].iter().map(|&hash| self.start.item(hash)).collect();
        self.add(&items, level);
        if let Some(&failed) = hashes.get(stored) {
            let held = self.copies_of(self.start.item(failed));
            if held < self.most_copies() {
                self.must_be_full();
            }
        }
    }

    fn look_many(&self, first: u16, count: u8) {
        let hashes: Vec<u64> = keys(first, count).map(hash).collect();
        let found = self.filter.contains_hash_each(&hashes);
        for (key, found) in keys(first, count).zip(found) {
            assert_eq!(found, self.held(key).2 > 0);
        }
    }

    fn restore(&mut self) {
        let bytes = self.filter.snapshot().expect("memory").to_bytes();
        self.filter = Filter::<L>::from_bytes(&bytes, HASHER).expect("what was just written");
        assert_eq!(self.filter.snapshot().expect("memory").to_bytes(), bytes);
    }

    fn merge(&mut self, other: &Self) {
        let [ours, theirs] = [&*self, other].map(|of| by_class(&of.copies));
        let too_many = theirs.iter().any(|(class, copies)| {
            copies + ours.get(class).copied().unwrap_or(0) > self.most_copies()
        });
        let level = self.level();
        match self.filter.merge(&other.filter) {
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
                let at_maximum = self.filter.slots() == most;
                assert!(!self.start.grows || at_maximum || self.len + other.len > most);
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// What the filter holds, as its snapshot says, is what the model holds; and so is what it says.
    pub fn check(&self) {
        let bytes = self.filter.snapshot().expect("memory").to_bytes();
        assert!(Snapshot::from_bytes(&bytes).is_ok());
        let contents = format::read(&bytes).expect("a snapshot");
        assert_eq!(contents.copies, self.copies);
        assert_eq!(contents.words as usize * contents.slots(), self.filter.slots());
        for key in (0..1024).step_by(31) {
            self.look(key);
        }
        assert_eq!(self.filter.stats().inconclusive_lookups, 0, "one thread");
    }
}

/// How many entries there are of each class.
fn by_class(copies: &BTreeMap<(Class, Extra), usize>) -> BTreeMap<Class, usize> {
    let mut of_class = BTreeMap::new();
    for (&(class, _), &copies) in copies {
        *of_class.entry(class).or_default() += copies;
    }
    of_class
}
