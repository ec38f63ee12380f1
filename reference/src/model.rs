//! The exact multiset of entries that a filter or a maplet holds.

use std::collections::BTreeMap;

use crate::format::{Class, Contents, Entry, Geometry, Prefix, Value, is_of, lowest, may_be_one};

/// No bits, and all bits, of a position.
const SHORTEST: Prefix = (0, 0);
const LONGEST: Prefix = (u32::MAX, u64::MAX);

/// All entries of a table.
///
/// An entry has the core of its item, its value, and the lowest bits of a position, the more of them the larger the
/// table was when it was inserted. It matches each item of which it is a prefix. A removal takes the longest
/// entry that matches. So one thread can tell the answers for all items, also for those that are absent.
///
/// What else changes entries depends on where they are: splits double those that know nothing beyond their bucket,
/// and what comes out of the stash into a bucket knows less from then on. There the model follows the table, if nothing
/// is lost by it (`follow`).
#[derive(Clone)]
pub struct Model {
    geometry: Geometry,
    copies: BTreeMap<Entry, usize>,
    /// Items: entries, but for what splits have added.
    len: usize,
}

impl Model {
    /// The model of a table that holds this.
    pub(crate) fn new(contents: &Contents) -> Self {
        let len = contents.items() as usize;
        Self { geometry: contents.geometry, copies: contents.copies.clone(), len }
    }

    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn copies(&self) -> &BTreeMap<Entry, usize> {
        &self.copies
    }

    /// The entries that match an item and whose values are from its own to `last`; the longest of each
    /// value last.
    fn matching(
        &self,
        (class, value, item): Entry,
        last: Value,
    ) -> impl Iterator<Item = (Entry, usize)> {
        let all = (class, value, SHORTEST)..=(class, last, LONGEST);
        let of_class = self.copies.range(all).map(|(&entry, &copies)| (entry, copies));
        of_class.filter(move |&((.., known), _)| is_of(known, item))
    }

    /// How many entries match an item and have its value.
    pub fn count(&self, item: Entry) -> usize {
        self.matching(item, item.1).map(|(_, copies)| copies).sum()
    }

    /// The values of all entries that match the item with this hash, in ascending order.
    pub fn values(&self, hash: u64) -> Vec<Value> {
        let copies = self.matching(self.geometry.item(hash, 0), Value::MAX);
        copies.flat_map(|((_, value, _), copies)| std::iter::repeat_n(value, copies)).collect()
    }

    /// One entry more, of an item that was inserted when entries knew this number of bits of their positions.
    pub(crate) fn add(&mut self, (class, value, (known, position)): Entry, most: u32) {
        let known = known.min(most);
        let prefix = (known, lowest(position, known));
        *self.copies.entry((class, value, prefix)).or_default() += 1;
        self.len += 1;
    }

    /// Of the entries that match an item and have its value the longest, which is in the model no more.
    pub(crate) fn take_longest(&mut self, item: Entry) -> Option<Entry> {
        let (longest, copies) = self.matching(item, item.1).last()?;
        if copies > 1 {
            self.copies.insert(longest, copies - 1);
        } else {
            self.copies.remove(&longest);
        }
        self.len -= 1;
        Some(longest)
    }

    /// Changes the values of all entries, and takes out those for which `new` returns `None`. Returns how many it has
    /// taken out.
    pub(crate) fn change_values(&mut self, new: &dyn Fn(Value) -> Option<Value>) -> usize {
        let mut removed = 0;
        for ((class, value, prefix), copies) in std::mem::take(&mut self.copies) {
            match new(value) {
                Some(new) => *self.copies.entry((class, new, prefix)).or_default() += copies,
                None => removed += copies,
            }
        }
        removed
    }

    /// So many items less: some entries that were taken out were none of their own.
    pub(crate) fn forget(&mut self, items: usize) {
        self.len -= items;
    }

    /// Another value for one entry.
    pub(crate) fn replace(&mut self, item: Entry, new: Value) {
        if let Some((class, _, prefix)) = self.take_longest(item) {
            *self.copies.entry((class, new, prefix)).or_default() += 1;
            self.len += 1;
        }
    }

    /// All items of another table.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&entry, &copies) in &other.copies {
            *self.copies.entry(entry).or_default() += copies;
        }
        self.len += other.len;
    }

    /// Counts the copies of all entries: items, and what splits have added.
    pub(crate) fn entries(&self) -> usize {
        self.copies.values().sum()
    }

    /// Whether some entry here may stand for the same item as this entry of another table.
    fn may_share(&self, (class, value, known): Entry) -> bool {
        let mut of_class = self.copies.range((class, value, SHORTEST)..=(class, value, LONGEST));
        of_class.any(|(&(.., own), _)| may_be_one(own, known))
    }

    /// Keeps only the entries that may stand for items of another table.
    pub(crate) fn intersect(&mut self, other: &Self) {
        self.copies.retain(|&entry, _| other.may_share(entry));
    }

    /// Counts the copies that may stand for items of another table, and those that would with another position.
    pub(crate) fn overlap(&self, other: &Self) -> [usize; 2] {
        let elsewhere = |(class, value, (known, position)): Entry| {
            let ((core, even), position) = (class, position ^ 2);
            ((core, even ^ 2), value, (known, position))
        };
        let held = |of: &dyn Fn(Entry) -> Entry| {
            let held = self.copies.iter().filter(|&(&entry, _)| other.may_share(of(entry)));
            held.map(|(_, copies)| copies).sum()
        };
        [held(&|entry| entry), held(&elsewhere)]
    }

    /// Takes over the number of items, which the table has estimated.
    pub(crate) fn set_len(&mut self, items: usize) {
        self.len = items;
    }

    pub(crate) fn clear(&mut self) {
        self.copies.clear();
        self.len = 0;
    }

    /// From now on the entries are those of a table that may have doubled some, and may have made some shorter. None
    /// may be lost by that: each item has no fewer than before.
    pub(crate) fn follow(&mut self, table: Contents) {
        type Prefixes = Vec<(Prefix, usize)>;
        assert_eq!(table.items() as usize, self.len);
        // Of each class and value what is gone, and what is new.
        let mut changes: BTreeMap<(Class, Value), [Prefixes; 2]> = BTreeMap::new();
        let both = [&self.copies, &table.copies];
        for (at, [of, others]) in [both, [both[1], both[0]]].into_iter().enumerate() {
            for (entry @ &(class, value, prefix), &copies) in of {
                let more = copies.saturating_sub(*others.get(entry).unwrap_or(&0));
                if more > 0 {
                    changes.entry((class, value)).or_default()[at].push((prefix, more));
                }
            }
        }
        for (of, [gone, new]) in changes {
            let [entries_gone, entries_new] =
                [&gone, &new].map(|of| of.iter().map(|&(_, copies)| copies).sum::<usize>());
            assert!(
                entries_new >= entries_gone && covers(&new, &gone, 0, 0),
                "lost of {of:x?}: {gone:x?} is gone, {new:x?} is new"
            );
        }
        self.copies = table.copies;
    }
}

/// Whether each position has as many prefixes among the first as among the others, or more. All of them know at least
/// `known` bits, and agree in these; `spare` is by how many there are more of those that know fewer.
fn covers(of: &[(Prefix, usize)], others: &[(Prefix, usize)], known: u32, spare: isize) -> bool {
    let ending = |of: &[(Prefix, usize)]| -> isize {
        let ends = of.iter().filter(|((bits, _), _)| *bits == known);
        ends.map(|&(_, copies)| copies.cast_signed()).sum()
    };
    let going_on = |of: &[(Prefix, usize)], bit| -> Vec<(Prefix, usize)> {
        let go_on =
            of.iter().filter(|((bits, position), _)| *bits > known && position >> known & 1 == bit);
        go_on.copied().collect()
    };
    let spare = spare + ending(of) - ending(others);
    (0..2).all(|bit| {
        let (of, others) = (going_on(of, bit), going_on(others, bit));
        if of.is_empty() && others.is_empty() {
            spare >= 0
        } else {
            covers(&of, &others, known + 1, spare)
        }
    })
}
