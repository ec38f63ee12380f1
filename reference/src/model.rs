//! The exact multiset of entries that a filter or a maplet holds.

use std::collections::BTreeMap;

use crate::format::{Entry, Geometry, Prefix, Value, is_of, lowest};

/// No bits, and all bits, of a position.
const SHORTEST: Prefix = (0, 0);
const LONGEST: Prefix = (u32::MAX, u64::MAX);

/// All entries of a table.
///
/// An entry has the core of its item, its value, and the lowest bits of a position, the more of them the larger the
/// table was when it was inserted. It matches each item of which it is a prefix. A removal takes the longest
/// entry that matches. So one thread can tell the answers for all items, also for those that are absent.
///
/// This is exact as long as no split doubles an entry, and so only for tables whose maximum is low enough:
/// [`Contents::is_exact`](crate::format::Contents::is_exact).
#[derive(Clone)]
pub struct Model {
    geometry: Geometry,
    copies: BTreeMap<Entry, usize>,
    len: usize,
}

impl Model {
    /// The model of a table that holds these entries.
    pub(crate) fn new(geometry: Geometry, copies: BTreeMap<Entry, usize>) -> Self {
        let len = copies.values().sum();
        Self { geometry, copies, len }
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
        self.values_of(self.geometry.item(hash, 0))
    }

    /// The same of an item, whatever its own value is.
    pub(crate) fn values_of(&self, (class, _, item): Entry) -> Vec<Value> {
        let copies = self.matching((class, 0, item), Value::MAX);
        copies.flat_map(|((_, value, _), copies)| std::iter::repeat_n(value, copies)).collect()
    }

    /// How many entries have the class of this item, whatever their values are: no growth parts them.
    pub fn of_class(&self, (class, ..): Entry) -> usize {
        let all = (class, 0, SHORTEST)..=(class, Value::MAX, LONGEST);
        self.copies.range(all).map(|(_, copies)| copies).sum()
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

    /// Another value for one entry.
    pub(crate) fn replace(&mut self, item: Entry, new: Value) {
        if let Some((class, _, prefix)) = self.take_longest(item) {
            *self.copies.entry((class, new, prefix)).or_default() += 1;
            self.len += 1;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.copies.clear();
        self.len = 0;
    }

    /// The same entries, but for how much they know of their positions: that is as in `now`.
    pub(crate) fn learn(&mut self, now: BTreeMap<Entry, usize>) {
        let [read, known] = [&now, &self.copies].map(|of| sums(of, |of| (of.0, of.1)));
        assert_eq!(read, known);
        self.copies = now;
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
