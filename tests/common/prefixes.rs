//! What a filter that grows must hold, item by item and bit by bit: a reference that shares no code with
//! the crate.
//!
//! An entry has the class of its item and the first of its extra bits, as many as the table had doubled
//! when it was inserted. It matches each item of which it is a prefix. A removal takes the longest entry
//! that matches. So one thread can tell the answers for all items, also for those that are absent.

use coucal::{GrowingLayout, InsertError, Layout};
use rustc_hash::FxHashMap;

use super::{Growing, doublings, hashes};

pub const K: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upper half of a product of 128 bits.
pub fn hi(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// The lengths of the parts of an item, and the number of rows.
#[derive(Clone, Copy)]
pub struct Shape {
    rows: u64,
    core_bits: u32,
    chain_bits: u32,
}

/// What an item can have in a table.
pub struct Item {
    /// Core, lower row, and chain in that row: equal in both rows.
    pub class: u64,
    pub extra: u32,
    /// The rows, and the chain in each.
    places: [(u64, u64); 2],
}

impl Shape {
    pub fn new<L: Layout>(rows: usize) -> Self {
        let chain_bits = doublings::<L>();
        Self { rows: rows as u64, core_bits: L::FINGERPRINT_BITS - chain_bits - 1, chain_bits }
    }

    /// Of a maplet: the bits of a value are taken from the chain.
    pub fn with_values<L: Layout>(rows: usize, value_bits: u32) -> Self {
        let shape = Self::new::<L>(rows);
        Self { chain_bits: shape.chain_bits - value_bits, ..shape }
    }

    pub fn rows(self) -> u64 {
        self.rows
    }

    /// Values of a core.
    pub fn cores(self) -> u64 {
        (1 << self.core_bits) - 1
    }

    pub fn item(self, hash: u64) -> Item {
        let Self { rows, chain_bits, .. } = self;
        let product = u128::from(hash ^ K) * u128::from(hash.rotate_left(23) ^ K);
        let x = product as u64 ^ (product >> 64) as u64;
        let first = hi(x, rows);
        let chain = (x >> 1) % (1 << chain_bits);
        let core = 1 + ((((x >> (chain_bits + 1)) % (1 << 16)) * self.cores()) >> 16);
        let extra = x.wrapping_mul(K) >> (64 - chain_bits);
        let spread = core.wrapping_mul(K).wrapping_mul(core);
        let distance = hi(spread, rows) | 1;
        let second = if distance < first { distance + rows - first } else { distance - first };
        let chain_in_second = chain ^ ((spread >> 20) % (1 << chain_bits));
        let places = [(first, chain), (second, chain_in_second)];
        let (row, chain_in_row) = if first < second { places[0] } else { places[1] };
        let class = (row << self.core_bits | core) << chain_bits | chain_in_row;
        Item { class, extra: extra as u32, places }
    }

    /// How often a table of this number of buckets has doubled.
    pub fn level(self, buckets: usize) -> u32 {
        (buckets as u64 / self.rows).ilog2()
    }

    /// The lower and the upper bucket of an item in a table of this number of buckets.
    fn buckets(self, hash: u64, buckets: usize) -> [u64; 2] {
        let level = self.level(buckets);
        let cursor = buckets as u64 - (self.rows << level);
        let mut both = self.item(hash).places.map(|(row, chain)| {
            let bucket = chain % (1 << level) * self.rows + row;
            let is_split = bucket < cursor;
            if is_split { chain % (2 << level) * self.rows + row } else { bucket }
        });
        both.sort_unstable();
        both
    }
}

/// Pairs of items of one class, which differ in their extra bits, in a table of this number of rows.
pub fn twins<L: Layout>(rows: usize, pairs: usize) -> Vec<[u64; 2]> {
    twins_of(Shape::new::<L>(rows), pairs)
}

/// The same in a table of this shape.
pub fn twins_of(shape: Shape, pairs: usize) -> Vec<[u64; 2]> {
    let classes = (shape.rows / 2 * shape.cores()) << shape.chain_bits;
    // Among n items there are n^2/2 pairs.
    let candidates = 1.3 * (2.0 * pairs as f64 * classes as f64).sqrt();
    let mut items: Vec<(u64, u64)> =
        hashes(97).take(candidates as usize).map(|hash| (shape.item(hash).class, hash)).collect();
    items.sort_unstable();
    let of_one_class = items.chunk_by(|one, other| one.0 == other.0);
    let mut twins: Vec<[u64; 2]> = of_one_class
        .filter(|items| items.len() > 1)
        .map(|items| [items[0].1, items[1].1])
        .collect();
    assert!(twins.len() >= pairs, "{} of {pairs}", twins.len());
    // In no order of classes.
    twins.sort_unstable();
    twins.truncate(pairs);
    twins
}

/// All entries of a filter.
pub struct Prefixes {
    shape: Shape,
    slots_of_bucket: usize,
    /// Of each class the extra bits that an entry has, below a 1.
    first: FxHashMap<u64, u32>,
    /// Those of further entries.
    more: FxHashMap<u64, Vec<u32>>,
    len: usize,
}

impl Prefixes {
    /// Those of a filter that is empty and has not grown yet.
    pub fn of<L: GrowingLayout + Layout>(filter: &Growing<L>) -> Self {
        assert!(filter.is_empty());
        Self {
            shape: Shape::new::<L>(filter.slots() / L::SLOTS),
            slots_of_bucket: L::SLOTS,
            first: FxHashMap::default(),
            more: FxHashMap::default(),
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The entries that match an item.
    fn matching(&self, item: &Item) -> impl Iterator<Item = u32> {
        let first = self.first.get(&item.class).into_iter();
        let more = self.more.get(&item.class).into_iter().flatten();
        first.chain(more).copied().filter(|&entry| {
            // All that the entry knows, the item has.
            (entry ^ item.extra).is_multiple_of(1 << entry.ilog2())
        })
    }

    /// How many entries have the core and the chain of an item.
    pub fn of_class(&self, hash: u64) -> usize {
        let class = self.shape.item(hash).class;
        let more = self.more.get(&class).map_or(0, Vec::len);
        usize::from(self.first.contains_key(&class)) + more
    }

    /// How many entries match an item.
    pub fn count(&self, hash: u64) -> usize {
        self.matching(&self.shape.item(hash)).count()
    }

    /// The level of the filter whose entries these are.
    pub fn level<L: GrowingLayout>(&self, filter: &Growing<L>) -> u32 {
        self.shape.level(filter.slots() / self.slots_of_bucket)
    }

    /// The buckets of an item in the filter as it is.
    pub fn buckets<L: GrowingLayout>(&self, filter: &Growing<L>, hash: u64) -> [u64; 2] {
        self.shape.buckets(hash, filter.slots() / self.slots_of_bucket)
    }

    /// One entry more, of an item that was inserted at this level.
    pub fn add(&mut self, hash: u64, level: u32) {
        let item = self.shape.item(hash);
        let entry = (item.extra % (1 << level)) | (1 << level);
        if let Some(others) = self.first.insert(item.class, entry) {
            self.more.entry(item.class).or_default().push(others);
        }
        self.len += 1;
    }

    /// One entry less, the longest that matches. `false`: none matches.
    pub fn remove(&mut self, hash: u64) -> bool {
        let item = self.shape.item(hash);
        let Some(longest) = self.matching(&item).max() else { return false };
        // Another entry of the class takes its place.
        match self.more.get_mut(&item.class).and_then(|more| Some((more.pop()?, more))) {
            Some((last, more)) => {
                if let Some(place) = more.iter_mut().find(|entry| **entry == longest) {
                    *place = last;
                } else if last != longest {
                    self.first.insert(item.class, last);
                }
            }
            None => {
                self.first.remove(&item.class);
            }
        }
        self.len -= 1;
        true
    }

    pub fn clear(&mut self) {
        self.first.clear();
        self.more.clear();
        self.len = 0;
    }

    /// Inserts the item into the filter and here.
    pub fn insert<L: GrowingLayout>(
        &mut self,
        filter: &Growing<L>,
        hash: u64,
    ) -> Result<(), InsertError> {
        let level = self.level(filter);
        filter.insert_hash(hash)?;
        self.stored(filter, level, &[hash]);
        Ok(())
    }

    /// Items have been inserted into the filter, whose level was this before the first of them.
    ///
    /// Which of them came before the end of the level, if it has ended meanwhile, does not show. So they
    /// are removed, which leaves the others as they were, and inserted again.
    pub fn stored<L: GrowingLayout>(&mut self, filter: &Growing<L>, level: u32, hashes: &[u64]) {
        if self.level(filter) == level {
            for &hash in hashes {
                self.add(hash, level);
            }
            return;
        }
        for &hash in hashes {
            assert!(filter.remove_hash(hash), "an item is lost at the end of a level");
        }
        for &hash in hashes {
            self.insert(filter, hash).expect("there was room");
        }
    }
}
