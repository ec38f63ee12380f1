//! A filter or a maplet beside its model.

use std::collections::BTreeMap;
use std::fmt::Debug;

use coucal::{Error, Snapshot};

use crate::format::{self, Contents, Entry, Value};
use crate::model::Model;
use crate::subject::{Item, Subject};

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
    /// `insert_if_absent` of a filter, `replace` of a maplet.
    InsertIfAbsentOrReplace(u16),
    Remove(u16),
    Look(u16),
    InsertMany(u16, u8),
    InsertIfAbsentOrReplaceMany(u16, u8),
    RemoveMany(u16, u8),
    LookMany(u16, u8),
    /// One time in 64; as often it becomes again what it was at first.
    Clear(u8),
    Reserve(u16),
    /// In the place of the filter a copy of it, or one that was restored.
    Restore,
    /// The other one into this one.
    Merge,
    /// The other one into this one. These keys are inserted, and then the other one is unmerged.
    MergeAndBack(u16, u8),
    /// Of this one only what may be in the other one.
    Intersect,
    /// Of this one only what may be in one that holds this share of its items, in 256ths.
    IntersectWithSome(u8),
    /// An estimate of what both have.
    Overlap,
    /// This one and the other change places.
    Swap,
    /// All pairs of a maplet with the value of this key.
    RemoveValue(u16),
    /// Another value for each value of a maplet. Which one, the key says.
    UpdateValues(u16),
    /// A pair of a maplet, unless its key has a value.
    InsertIfAbsent(u16),
    /// Another value for one of a key of a maplet.
    Update(u16),
    /// A pair of a maplet, unless it is there.
    InsertPairIfAbsent(u16),
}

impl Op {
    /// The keys that it names.
    fn keys(self) -> Vec<u16> {
        match self {
            Self::Insert(key)
            | Self::InsertIfAbsentOrReplace(key)
            | Self::Remove(key)
            | Self::Look(key)
            | Self::RemoveValue(key)
            | Self::UpdateValues(key)
            | Self::InsertIfAbsent(key)
            | Self::InsertPairIfAbsent(key)
            | Self::Update(key) => vec![key],
            Self::InsertMany(first, count)
            | Self::InsertIfAbsentOrReplaceMany(first, count)
            | Self::RemoveMany(first, count)
            | Self::MergeAndBack(first, count)
            | Self::LookMany(first, count) => keys(first, count).collect(),
            Self::Clear(_)
            | Self::Reserve(_)
            | Self::Restore
            | Self::Merge
            | Self::Intersect
            | Self::IntersectWithSome(_)
            | Self::Overlap
            | Self::Swap => Vec::new(),
        }
    }
}

/// A filter or a maplet, and what it must hold.
pub struct Modelled {
    subject: Box<dyn Subject>,
    /// The subject that was copied or restored first. The same is done to it from then on.
    original: Option<Box<dyn Subject>>,
    /// What the subject was at first.
    bytes: Vec<u8>,
    start: Contents,
    /// Whether the model knows all entries: no split doubles any.
    is_exact: bool,
    model: Model,
    /// How often each item was inserted, and not removed since.
    held: BTreeMap<Item, usize>,
    hashes: Vec<u64>,
    /// Where there are so many items, others go before some are inserted.
    fill: usize,
    /// When the model last followed the subject.
    slots_and_stashed: (usize, (usize, usize)),
}

impl Modelled {
    /// A subject of fixed size that holds anything, or one that grows to a maximum with which no split doubles an
    /// entry.
    pub fn new(subject: Box<dyn Subject>) -> Self {
        let modelled = Self::doubling(subject);
        assert!(modelled.start.is_exact(), "a split may double entries");
        Self { is_exact: true, ..modelled }
    }

    /// A subject in which splits may double entries. Only what was inserted is removed from it: what is left of a
    /// doubled entry may be that of no item.
    pub fn doubling(subject: Box<dyn Subject>) -> Self {
        let bytes = subject.bytes();
        let start = format::read(&bytes).expect("a snapshot");
        let modelled = Self {
            bytes,
            is_exact: false,
            model: Model::new(&start),
            held: BTreeMap::new(),
            hashes: Vec::new(),
            fill: usize::MAX,
            slots_and_stashed: (subject.slots(), subject.stashed()),
            start,
            subject,
            original: None,
        };
        modelled.check();
        modelled
    }

    /// What operations store are items with these hashes, each with one of 64 values in a maplet. Without
    /// them it is one of 65,536 items: in a maplet two values of each hash.
    pub fn with_hashes(self, hashes: Vec<u64>) -> Self {
        Self { hashes, ..self }
    }

    /// Inserts so many items, if there is room for them, and lets as many go as come from then on.
    pub fn with_fill(self, fill: usize) -> Self {
        let mut modelled = Self { fill, ..self };
        // Mostly of one hash after the other.
        let keys = (0..u16::MAX).map(|at| at.wrapping_mul(65));
        let items: Vec<Item> = keys.take(fill).map(|key| modelled.item(key)).collect();
        let _ = modelled.insert_many(&items);
        modelled
    }

    pub fn subject(&self) -> &dyn Subject {
        &*self.subject
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
        if !is_maplet {
            return (self.hashes[usize::from(key) % self.hashes.len()], 0);
        }
        // From both ends of the range, by turns.
        let step = Value::from(key % 64 / 2) & largest;
        let value = if key.is_multiple_of(2) { step } else { largest - step };
        (self.hashes[usize::from(key / 64) % self.hashes.len()], value)
    }

    fn entry(&self, (hash, value): Item) -> Entry {
        self.start.geometry.item(hash, value)
    }

    /// How many bits of its position a new entry knows.
    fn known(&self) -> u32 {
        self.start.geometry.known_at(self.subject.slots())
    }

    /// Does the same to the subject and to the model. `other` has the same layout.
    pub fn apply(&mut self, op: Op, other: &mut Self) {
        use Op::{
            Clear, Insert, InsertIfAbsent, InsertIfAbsentOrReplace, InsertIfAbsentOrReplaceMany,
            InsertMany, InsertPairIfAbsent, Intersect, IntersectWithSome, Look, LookMany, Merge,
            MergeAndBack, Overlap, Remove, RemoveMany, RemoveValue, Reserve, Restore, Swap, Update,
            UpdateValues,
        };
        let is_maplet = self.start.geometry.is_maplet();
        let keys = op.keys();
        let items: Vec<Item> = keys.iter().map(|&key| self.item(key)).collect();
        // Of each the value of another key with this hash.
        let new: Vec<Value> = keys.iter().map(|&key| self.item(key ^ 1).1).collect();
        match op {
            Insert(key) | InsertMany(key, _) => {
                self.make_way(key, items.len());
                let _ = self.insert_many(&items);
            }
            InsertIfAbsentOrReplace(_) | InsertIfAbsentOrReplaceMany(..) if is_maplet => {
                self.replace_many(&items.into_iter().zip(new).collect::<Vec<_>>());
            }
            InsertIfAbsentOrReplace(key) | InsertIfAbsentOrReplaceMany(key, _) => {
                self.make_way(key, items.len());
                self.insert_if_absent_many(&items);
            }
            Remove(_) | RemoveMany(..) => self.remove_many(&items),
            RemoveValue(_) if is_maplet => {
                let gone = items[0].1;
                let others = move |value| (value != gone).then_some(value);
                self.change_values(&others, |subject| subject.remove_value(gone));
            }
            UpdateValues(key) if is_maplet => {
                let (kind, some) = (key % 4, items[0].1);
                // Values change places, become equal, follow each other, or go.
                let new = move |value: Value| match kind {
                    0 => Some(value ^ 1),
                    1 => Some(value / 2),
                    2 => Some(if value == some { 0 } else { value }),
                    _ => (value > some / 4).then(|| value - 1),
                };
                self.change_values(&new, |subject| subject.update_values(&new));
            }
            InsertIfAbsent(key) if is_maplet => {
                self.make_way(key, 1);
                let is_absent = self.model.values(items[0].0).is_empty();
                self.insert_if_absent(items[0], is_absent, Subject::insert_if_absent);
            }
            InsertPairIfAbsent(key) if is_maplet => {
                self.make_way(key, 1);
                let is_absent = self.model.count(self.entry(items[0])) == 0;
                self.insert_if_absent(items[0], is_absent, Subject::insert_pair_if_absent);
            }
            Update(_) if is_maplet => self.update(items[0].0, new[0]),
            Look(_)
            | RemoveValue(_)
            | UpdateValues(_)
            | InsertIfAbsent(_)
            | InsertPairIfAbsent(_)
            | Update(_) => {
                self.look(items[0].0);
                assert_eq!(self.subject.count(items[0]), self.model.count(self.entry(items[0])));
            }
            LookMany(..) => {
                self.look_many(&items.iter().map(|&(hash, _)| hash).collect::<Vec<_>>());
            }
            Clear(0..4) => self.clear(),
            Clear(4..8) => self.begin_again(),
            Reserve(additional) => {
                if self.start.geometry.grows {
                    self.reserve(additional.into());
                }
                self.settle();
            }
            Restore => self.restore(),
            Merge => {
                self.merge(other);
            }
            MergeAndBack(..) if is_maplet => {
                let _ = self.insert_many(&items);
            }
            MergeAndBack(..) => self.merge_and_back(other, &items),
            Intersect if !is_maplet => self.intersect(other),
            IntersectWithSome(share) if !is_maplet => {
                let some = self.with_some(share, other);
                self.intersect(&some);
            }
            Overlap if !is_maplet => self.overlap(other),
            Clear(_) | Intersect | IntersectWithSome(_) | Overlap => {}
            Swap => std::mem::swap(self, other),
        }
        assert_eq!(self.subject.len(), self.model.len(), "{op:?}");
        assert_eq!(self.subject.is_empty(), self.model.is_empty(), "{op:?}");
        let least = self.subject.len().max(self.start.capacity as usize);
        assert!(self.subject.capacity() >= least, "{op:?}: {:?}", self.subject);
    }

    /// Does the same to the subject and to its original: the answers are equal, and so is each byte afterwards.
    fn both<A: PartialEq + Debug>(&self, operation: impl Fn(&dyn Subject) -> A) -> A {
        let answer = operation(&*self.subject);
        if let Some(original) = &self.original {
            assert_eq!(operation(&**original), answer, "{:?}", self.subject);
            assert!(original.bytes() == self.subject.bytes(), "{original:?} {:?}", self.subject);
        }
        answer
    }

    /// Removes some of what is there, where there would be too much with `more` items. Which ones, a key tells.
    fn make_way(&mut self, key: u16, more: usize) {
        let excess = (self.model.len() + more).saturating_sub(self.fill);
        if excess == 0 {
            return;
        }
        let held = self.held.iter().flat_map(|(&item, &copies)| std::iter::repeat_n(item, copies));
        let mut held: Vec<Item> = held.collect();
        let any = (0..excess.min(held.len()) as u16).map(|at| hash(key.wrapping_add(at)) as usize);
        let items: Vec<Item> = any.map(|any| held.swap_remove(any % held.len())).collect();
        self.remove_many(&items);
    }

    fn clear(&mut self) {
        self.both(Subject::clear);
        self.model.clear();
        self.held.clear();
        self.follow();
    }

    fn begin_again(&mut self) {
        self.subject = self.subject.restored(&self.bytes).expect("what it was at first");
        self.original = None;
        self.model = Model::new(&self.start);
        self.held.clear();
        self.follow();
    }

    /// These items were added, the first of them when entries knew this number of bits.
    fn add(&mut self, items: &[Item], known: u32) {
        let have_changed = self.known() != known || self.entries_may_have_changed();
        for &item in items {
            // In the stash it knows all.
            self.model.add(self.entry(item), if have_changed { u32::MAX } else { known });
            *self.held.entry(item).or_default() += 1;
        }
        if have_changed {
            self.follow();
        }
    }

    /// One of these items less. `false`: it was not inserted.
    fn forget(&mut self, item: Item) -> bool {
        let Some(copies) = self.held.get_mut(&item) else {
            return false;
        };
        *copies -= 1;
        if *copies == 0 {
            self.held.remove(&item);
        }
        true
    }

    /// Whether nobody else's entry is changed if an entry of this item is.
    fn may_change(&self, item: Item) -> bool {
        self.is_exact || self.held.contains_key(&item) || self.model.count(self.entry(item)) == 0
    }

    /// An insert has failed with this.
    fn check_error(&self, error: &Error) {
        assert!(matches!(error, Error::Full | Error::Stopped { cause: Error::Full, .. }));
        let contents = self.subject.contents();
        if !self.is_exact && contents.words < contents.max_buckets {
            // One in four, and half of that is expected.
            let items = (self.subject.slots() as f64 * contents.target_load()) as u64;
            assert!(4 * contents.doubled_entries() > items, "it may grow: {:?}", self.subject);
            return;
        }
        // As many entries as it was made for, copies of one counted once.
        assert_eq!(contents.words, contents.max_buckets);
        let entries = contents.occupied + contents.stashed;
        let of_two_buckets = 2 * self.start.geometry.slots() as u64;
        assert!(entries >= contents.max_capacity.max(of_two_buckets), "{:?}", self.subject);
    }

    /// Whether entries are not those that the model knows.
    fn entries_may_have_changed(&self) -> bool {
        let (now, before) =
            ((self.subject.slots(), self.subject.stashed()), self.slots_and_stashed);
        let any_stashed = before.1.1 > 0 || now.1.1 > 0;
        self.start.geometry.grows && now != before && (any_stashed || !self.is_exact)
    }

    /// After an operation that may have doubled entries, or taken some out of the stash: an entry there knows all of
    /// its position, and in a bucket only a part.
    fn settle(&mut self) {
        if self.entries_may_have_changed() {
            self.follow();
        }
    }

    fn follow(&mut self) {
        self.slots_and_stashed = (self.subject.slots(), self.subject.stashed());
        self.model.follow(self.subject.contents());
    }

    /// Inserts an item.
    pub fn insert(&mut self, item: Item) -> Result<(), Error> {
        self.insert_many(&[item])
    }

    /// Removes an item, and says whether there was one.
    pub fn remove(&mut self, item: Item) -> bool {
        let before = self.model.len();
        self.remove_many(&[item]);
        self.model.len() < before
    }

    /// Gives an item another value.
    pub fn replace(&mut self, item: Item, new: Value) {
        self.replace_many(&[(item, new)]);
    }

    /// Looks a hash up, and says how many entries match it.
    pub fn look(&self, hash: u64) -> usize {
        let values = self.model.values(hash);
        assert_eq!(self.subject.contains(hash), !values.is_empty(), "{:?}", self.subject);
        let (mut found, mut expected) = (self.subject.values(hash), values.clone());
        if self.start.geometry.is_maplet() && self.subject.stashed().1 > 0 {
            // Of those, each value comes once.
            found.dedup();
            expected.dedup();
        }
        assert_eq!(found, expected, "{:?}", self.subject);
        values.len()
    }

    /// How many of these items are changed as one batch.
    fn at_once(&self, items: usize) -> usize {
        // What goes back to a bucket from the stash knows less from then on: the next item may match it.
        let is_known = self.is_exact && self.subject.stashed().1 == 0;
        if self.start.geometry.grows && !is_known { 1 } else { items.max(1) }
    }

    fn insert_many(&mut self, items: &[Item]) -> Result<(), Error> {
        let known = self.known();
        let inserted = match items {
            &[item] => self.both(|subject| subject.insert(item)),
            _ => self.both(|subject| subject.insert_many(items)),
        };
        let stored = inserted.as_ref().err().map_or(items.len(), Error::stored);
        self.add(&items[..stored], known);
        inserted.inspect_err(|error| self.check_error(error))
    }

    fn insert_if_absent_many(&mut self, items: &[Item]) {
        // In a table that grows, the first items of a batch may know less than the last ones.
        let at_once = if self.start.geometry.grows { 1 } else { items.len().max(1) };
        for items in items.chunks(at_once) {
            let known = self.known();
            let (answers, failed) = self.insert_if_absent_each(items);
            for (&item, &new) in items.iter().zip(&answers) {
                assert_eq!(new, self.model.count(self.entry(item)) == 0, "{:?}", self.subject);
                if new {
                    self.add(&[item], known);
                }
            }
            if let Some(error) = failed {
                assert_eq!(self.model.count(self.entry(items[answers.len()])), 0);
                self.check_error(&error);
            }
        }
    }

    fn insert_if_absent_each(&self, items: &[Item]) -> (Vec<bool>, Option<Error>) {
        let &[item] = items else {
            return self.both(|subject| subject.insert_if_absent_each(items));
        };
        match self.both(|subject| subject.insert_if_absent(item)) {
            Ok(new) => (vec![new], None),
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    /// Whether so many replacements may be refused: nearly as many entries are stashed as there may be slots.
    fn may_refuse(&self, replacements: usize) -> bool {
        let slots = self.start.max_buckets as usize * self.start.geometry.slots();
        8 * (self.subject.stashed().0 + replacements) >= 7 * slots
    }

    /// Gives each item another value.
    fn replace_many(&mut self, items: &[(Item, Value)]) {
        for items in items.chunks(self.at_once(items.len())) {
            if !items.iter().all(|&(item, _)| self.may_change(item)) || self.may_refuse(items.len())
            {
                continue;
            }
            let mut expected = Vec::new();
            for &(item, new) in items {
                let entry = self.entry(item);
                expected.push(self.model.count(entry) > 0);
                self.model.replace(entry, new);
                if self.forget(item) {
                    *self.held.entry((item.0, new)).or_default() += 1;
                }
            }
            let replaced = match items {
                &[(item, new)] => vec![self.both(|subject| subject.replace(item, new))],
                _ => self.both(|subject| subject.replace_each(items)),
            };
            assert_eq!(replaced, expected, "{:?}", self.subject);
            self.settle();
        }
    }

    fn remove_many(&mut self, items: &[Item]) {
        if !self.is_exact {
            self.remove_held(items);
            return;
        }
        for items in items.chunks(self.at_once(items.len())) {
            let mut expected = Vec::new();
            for &item in items {
                expected.push(self.model.take_longest(self.entry(item)).is_some());
                self.forget(item);
            }
            assert_eq!(self.removed(items), expected, "{:?}", self.subject);
            self.settle();
        }
    }

    /// Removes those of these items that are there. What each of them takes may be another entry of it than in the
    /// model: for those that are left that makes no difference.
    fn remove_held(&mut self, items: &[Item]) {
        let held: Vec<Item> = items.iter().copied().filter(|&item| self.forget(item)).collect();
        for &item in &held {
            assert!(self.model.take_longest(self.entry(item)).is_some(), "{:?}", self.subject);
        }
        assert_eq!(self.removed(&held), vec![true; held.len()], "{:?}", self.subject);
        self.settle();
        for &item in items {
            if self.model.count(self.entry(item)) == 0 {
                assert!(!self.both(|subject| subject.remove(item)), "{:?}", self.subject);
            }
        }
    }

    /// Changes the values of all items by `change`, which does what `new` says and returns how many it has removed.
    fn change_values(
        &mut self,
        new: &dyn Fn(Value) -> Option<Value>,
        change: impl Fn(&dyn Subject) -> usize,
    ) {
        let entries = self.model.change_values(new);
        let mut held = 0;
        for ((hash, value), copies) in std::mem::take(&mut self.held) {
            match new(value) {
                Some(new) => *self.held.entry((hash, new)).or_default() += copies,
                None => held += copies,
            }
        }
        // Where nothing is doubled, each entry is that of an item, also of one that the subject held at first.
        let items = if self.is_exact { entries } else { held };
        self.model.forget(items);
        assert_eq!(self.both(change), items, "{:?}", self.subject);
        self.settle();
    }

    fn insert_if_absent(
        &mut self,
        item: Item,
        is_absent: bool,
        insert: fn(&dyn Subject, Item) -> Result<bool, Error>,
    ) {
        let known = self.known();
        match self.both(|subject| insert(subject, item)) {
            Ok(new) => {
                assert_eq!(new, is_absent, "{:?}", self.subject);
                if new {
                    self.add(&[item], known);
                }
            }
            Err(error) => {
                assert!(is_absent);
                self.check_error(&error);
            }
        }
    }

    /// Gives one value of a key the place of another.
    fn update(&mut self, hash: u64, new: Value) {
        if self.may_refuse(1) {
            return;
        }
        // Nothing but what was inserted, if it may be that of another item.
        let may_change = |old| self.is_exact || self.held.contains_key(&(hash, old));
        let old = self.both(|subject| subject.update(hash, &|old| may_change(old).then_some(new)));
        let values = self.model.values(hash);
        assert!(old.map_or(values.is_empty(), |old| values.contains(&old)), "{:?}", self.subject);
        if let Some(old) = old.filter(|&old| may_change(old)) {
            self.model.replace(self.entry((hash, old)), new);
            if self.forget((hash, old)) {
                *self.held.entry((hash, new)).or_default() += 1;
            }
            self.settle();
        }
    }

    fn removed(&self, items: &[Item]) -> Vec<bool> {
        match items {
            &[item] => vec![self.both(|subject| subject.remove(item))],
            _ => self.both(|subject| subject.remove_each(items)),
        }
    }

    fn look_many(&self, hashes: &[u64]) {
        let expected = hashes.iter().map(|&hash| !self.model.values(hash).is_empty());
        assert_eq!(self.subject.contains_each(hashes), expected.collect::<Vec<_>>());
    }

    /// Room for this number of items more, or the error that says that there is none.
    fn reserve(&self, additional: usize) {
        let subject = self.subject();
        let wanted = entries(subject) + additional;
        let (slots, max_capacity) = (subject.slots(), subject.max_capacity());
        match self.both(|subject| subject.reserve(additional)) {
            Ok(()) => {
                let doubled = subject.contents().doubled_entries();
                assert!(wanted <= max_capacity && (subject.capacity() >= wanted || doubled > 0));
            }
            // Only where what is doubled takes the room, and it does not grow any more.
            Err(Error::Full) => {
                let contents = subject.contents();
                let target = subject.slots() as f64 * contents.target_load();
                assert!((wanted as u64 + contents.doubled_entries()) as f64 > target);
                assert!(contents.doubled_entries() > 0 && wanted <= max_capacity);
            }
            Err(error) => {
                let Error::AboveMaxCapacity { wanted: all, max_capacity: most, .. } = error else {
                    panic!("{error:?}")
                };
                assert_eq!((all, most), (wanted, max_capacity));
                assert!(wanted > max_capacity);
            }
        }
        assert!(subject.slots() >= slots);
    }

    /// Goes on with a copy, or one that was restored, in the place of the subject.
    pub fn restore(&mut self) {
        let bytes = self.subject.bytes();
        let restored = if self.subject.len().is_multiple_of(2) {
            self.subject.restored(&bytes).expect("what was just written")
        } else {
            self.subject.copied().expect("memory")
        };
        assert_eq!(restored.bytes(), bytes);
        let before = std::mem::replace(&mut self.subject, restored);
        self.original.get_or_insert(before);
    }

    /// Says whether the other one was merged.
    fn merge(&mut self, other: &Self) -> bool {
        assert!(!self.is_exact || self.start.geometry.first == other.start.geometry.first);
        let merged = self.both(|subject| subject.merge(other.subject()));
        let is_merged = merged.is_ok();
        match merged {
            Ok(()) => {
                self.model.merge(&other.model);
                for (&item, &copies) in &other.held {
                    *self.held.entry(item).or_default() += copies;
                }
            }
            Err(Error::Full) if self.is_exact => {
                let most = self.start.max_buckets as usize * self.start.geometry.slots();
                let together = entries(self.subject()) + entries(other.subject());
                assert!(together >= self.start.max_capacity as usize);
                let at_maximum = self.subject.slots() == most;
                assert!(!self.start.geometry.grows || at_maximum || together > most);
            }
            // It may be refused for the entries that it doubles.
            Err(Error::Full | Error::OtherTooSmall) if !self.is_exact => {}
            Err(error) => panic!("{error}"),
        }
        self.follow();
        is_merged
    }

    /// Merges the other one, inserts these items, and unmerges the other one: only these items are more.
    fn merge_and_back(&mut self, other: &Self, items: &[Item]) {
        let (model, held) = (self.model.clone(), self.held.clone());
        if !self.merge(other) {
            return;
        }
        let with_others = self.model.len();
        let _ = self.insert_many(items);
        let stored = self.model.len() - with_others;
        assert_eq!(self.both(|subject| subject.unmerge(other.subject())), Ok(0));
        (self.model, self.held) = (model, held);
        for &item in &items[..stored] {
            // `follow` replaces them by the shorter entries of the table.
            self.model.add(self.entry(item), u32::MAX);
            *self.held.entry(item).or_default() += 1;
        }
        self.follow();
    }

    /// Whether the other one may keep entries that it does not have: those of groups of which something is stashed.
    fn is_blind(other: &Self) -> bool {
        other.start.geometry.grows && other.subject.stashed().0 > 0
    }

    /// What the other one was at first, with this share of the items of `self`.
    fn with_some(&self, share: u8, other: &Self) -> Self {
        let subject = other.subject.restored(&other.bytes).expect("what it was at first");
        let mut some = Self::doubling(subject);
        let items = self.held.iter().filter(|&(item, _)| item.0 as u8 <= share);
        let items = items.flat_map(|(&item, &copies)| std::iter::repeat_n(item, copies));
        let _ = some.insert_many(&items.collect::<Vec<_>>());
        some
    }

    fn intersect(&mut self, other: &Self) {
        let all = self.model.entries();
        let removed = self.both(|subject| subject.intersect(other.subject())).expect("alike");
        self.model.intersect(&other.model);
        let contents = self.subject.contents();
        let left: usize = contents.copies.values().sum();
        let least = self.model.entries();
        assert!(if Self::is_blind(other) { (least..=all).contains(&left) } else { left == least });
        // Of doubled entries it is estimated how many are left.
        let items = if self.is_exact { left } else { contents.items() as usize };
        assert_eq!(items + removed, self.model.len());
        self.model.set_len(items);
        let may_share = |item| other.model.count(other.entry(item)) > 0;
        self.held.retain(|&item, _| may_share(item));
        // An entry that many items share is less than theirs, so fewer may be removed than were inserted.
        while !self.is_exact && self.held.values().sum::<usize>() > items {
            self.held.pop_last();
        }
        self.follow();
    }

    fn overlap(&self, other: &Self) {
        let found = self.both(|subject| subject.overlap(other.subject())).expect("alike");
        if self.subject.stashed().0 > 0 || Self::is_blind(other) {
            return;
        }
        let all = self.model.entries() as f64;
        let [held, by_chance] = self.model.overlap(&other.model).map(|copies| copies as f64);
        let grows = self.start.geometry.grows;
        let rate =
            if grows { by_chance / all.max(1.0) } else { other.subject.false_positive_rate() };
        // All that is held by chance says nothing.
        let items = if rate < 1.0 { ((held - all * rate) / (1.0 - rate)).max(0.0) } else { 0.0 };
        assert!((found.items - items).abs() <= 1e-6 * all, "{found:?}, {items} of {all}");
    }

    /// All that is there is found, and counted.
    pub fn finds_all(&self) {
        let mut last = None;
        for (&item, &copies) in &self.held {
            if last != Some(item.0) {
                self.look(item.0);
                last = Some(item.0);
            }
            assert!(self.is_exact || self.model.count(self.entry(item)) >= copies, "{item:?}");
        }
    }

    /// What the subject holds, as its snapshot says, is what the model holds; and so is what it says.
    pub fn check(&self) {
        let bytes = self.subject.bytes();
        assert!(Snapshot::from_bytes(&bytes).is_ok());
        let contents = format::read(&bytes).expect("a snapshot");
        assert_eq!(contents.copies, *self.model.copies());
        assert_eq!(contents.words as usize * contents.geometry.slots(), self.subject.slots());
        self.finds_all();
        for key in (0..1024).step_by(31) {
            self.look(self.item(key).0);
        }
        assert_eq!(self.subject.inconclusive(), 0, "one thread");
    }
}

/// Entries, of which copies in the stash are one, but for doubled ones.
fn entries(subject: &dyn Subject) -> usize {
    let contents = subject.contents();
    (contents.occupied + contents.stashed - contents.doubled_entries()) as usize
}
