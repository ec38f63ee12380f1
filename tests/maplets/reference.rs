//! What a maplet must hold, pair by pair and bit by bit: a reference that shares no code with the crate.
//!
//! An entry has the class of its key, some of its extra bits in a maplet that grows, and a value. It is a
//! candidate for each key of which it is a prefix. `remove` and `replace` take the longest of these that has
//! the value. So one thread can tell all candidates of each key, also of those that are absent.

use coucal::{InsertError, Layout, Storage};
use rustc_hash::FxHashMap;

use crate::Maplet;
use crate::common::prefixes::{self, K, hi};

/// How a key has its class and its extra bits.
#[derive(Clone, Copy)]
enum Shape {
    /// In a table of fixed size: the number of rows, and bits of a fingerprint.
    Fixed {
        rows: u64,
        bits: u32,
    },
    Growing(prefixes::Shape),
}

impl Shape {
    /// The class of a key, and its extra bits.
    fn of(self, hash: u64) -> (u64, u32) {
        match self {
            Self::Fixed { rows, bits } => {
                let product = u128::from(hash ^ K) * u128::from(hash.rotate_left(23) ^ K);
                let x = product as u64 ^ (product >> 64) as u64;
                let source = u128::from(x % (1 << (bits + 8)));
                let fingerprint = 1 + ((source * ((1 << bits) - 1)) >> (bits + 8)) as u64;
                let first = hi(x, rows);
                let distance = hi(fingerprint.wrapping_mul(K).wrapping_mul(fingerprint), rows) | 1;
                let second = (distance + rows - first) % rows;
                (first.min(second) << bits | fingerprint, 0)
            }
            Self::Growing(shape) => {
                let item = shape.item(hash);
                (item.class, item.extra)
            }
        }
    }
}

/// All entries of a maplet.
pub struct Reference {
    shape: Shape,
    slots_of_bucket: usize,
    /// Of each class what the entries know of the extra bits, below a 1, and their values.
    classes: FxHashMap<u64, Vec<(u32, u32)>>,
    len: usize,
}

impl Reference {
    /// That of a maplet that is empty and has not grown yet.
    pub fn of<L: Layout, St: Storage>(maplet: &Maplet<St>, grows: bool) -> Self {
        assert!(maplet.is_empty());
        let (rows, value_bits) = (maplet.slots() / L::SLOTS, maplet.value_bits());
        let shape = if grows {
            Shape::Growing(prefixes::Shape::with_values::<L>(rows, value_bits))
        } else {
            Shape::Fixed { rows: rows as u64, bits: L::FINGERPRINT_BITS - value_bits }
        };
        Self { shape, slots_of_bucket: L::SLOTS, classes: FxHashMap::default(), len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// How often the maplet has doubled.
    pub fn level<St: Storage>(&self, maplet: &Maplet<St>) -> u32 {
        match self.shape {
            Shape::Fixed { .. } => 0,
            Shape::Growing(shape) => shape.level(maplet.slots() / self.slots_of_bucket),
        }
    }

    /// The values of all entries that match a key, in ascending order.
    pub fn values(&self, hash: u64) -> Vec<u32> {
        let (class, extra) = self.shape.of(hash);
        let entries = self.classes.get(&class).into_iter().flatten();
        let mut values: Vec<u32> = entries
            .filter(|(known, _)| (known ^ extra).is_multiple_of(1 << known.ilog2()))
            .map(|&(_, value)| value)
            .collect();
        values.sort_unstable();
        values
    }

    /// How many entries no growth parts from those of a key.
    pub fn of_class(&self, hash: u64) -> usize {
        self.classes.get(&self.shape.of(hash).0).map_or(0, Vec::len)
    }

    /// The class of a key: keys of one class cannot be told apart but for their extra bits.
    pub fn class(&self, hash: u64) -> u64 {
        self.shape.of(hash).0
    }

    /// One entry more, of a pair that was inserted at this level.
    pub fn add(&mut self, hash: u64, value: u32, level: u32) {
        let (class, extra) = self.shape.of(hash);
        let known = (extra % (1 << level)) | (1 << level);
        self.classes.entry(class).or_default().push((known, value));
        self.len += 1;
    }

    /// The longest entry that matches the key and has the value.
    fn longest(&mut self, hash: u64, value: u32) -> Option<(u64, usize)> {
        let (class, extra) = self.shape.of(hash);
        let entries = self.classes.get(&class).into_iter().flatten().enumerate();
        let matching = entries.filter(|(_, (known, its))| {
            *its == value && (known ^ extra).is_multiple_of(1 << known.ilog2())
        });
        matching.max_by_key(|(_, (known, _))| *known).map(|(at, _)| (class, at))
    }

    /// One entry less. `false`: none matches.
    pub fn remove(&mut self, hash: u64, value: u32) -> bool {
        let Some((class, at)) = self.longest(hash, value) else { return false };
        self.classes.get_mut(&class).expect("its class").swap_remove(at);
        self.len -= 1;
        true
    }

    /// Another value for one entry. `false`: none matches.
    pub fn replace(&mut self, hash: u64, old: u32, new: u32) -> bool {
        let Some((class, at)) = self.longest(hash, old) else { return false };
        self.classes.get_mut(&class).expect("its class")[at].1 = new;
        true
    }

    pub fn clear(&mut self) {
        self.classes.clear();
        self.len = 0;
    }

    /// Inserts the pair into the maplet and here.
    pub fn insert<St: Storage>(
        &mut self,
        maplet: &Maplet<St>,
        hash: u64,
        value: u32,
    ) -> Result<(), InsertError> {
        let level = self.level(maplet);
        maplet.insert_hash(hash, value)?;
        self.stored(maplet, level, &[(hash, value)]);
        Ok(())
    }

    /// Pairs have been inserted into the maplet, whose level was this before the first of them.
    ///
    /// Which of them came before the end of the level, if it has ended meanwhile, does not show. So they
    /// are removed, which leaves the others as they were, and inserted again.
    pub fn stored<St: Storage>(&mut self, maplet: &Maplet<St>, level: u32, pairs: &[(u64, u32)]) {
        if self.level(maplet) == level {
            for &(hash, value) in pairs {
                self.add(hash, value, level);
            }
            return;
        }
        for &(hash, value) in pairs {
            assert!(maplet.remove_hash(hash, value), "a pair is lost at the end of a level");
        }
        for &(hash, value) in pairs {
            self.insert(maplet, hash, value).expect("there was room");
        }
    }

    /// The candidates of a key, in ascending order, which are as many as there must be.
    pub fn agrees_on<St: Storage>(&self, maplet: &Maplet<St>, hash: u64) -> Vec<u32> {
        let values = self.values(hash);
        let mut candidates: Vec<u32> = maplet.get_hash(hash).collect();
        candidates.sort_unstable();
        assert_eq!(candidates, values, "{maplet:?}");
        assert_eq!(maplet.contains_key_hash(hash), !values.is_empty(), "{maplet:?}");
        values
    }
}
