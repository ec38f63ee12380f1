//! What filters and maplets have in common.

use std::fmt::Debug;

use coucal::{
    AnyLayout, Candidates, CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, Error,
    Growable, GrowingLayout, Prehashed, Snapshot, StableHashBuilder, Storage,
};

use crate::format::Value;

pub const HASHER: StableHashBuilder = StableHashBuilder::new(7);

pub type Filter<L = AnyLayout> = CuckooFilter<L, StableHashBuilder>;
pub type Maplet<L = AnyLayout> = CuckooMaplet<L, StableHashBuilder>;

/// A hash, and in a maplet a value; in a filter 0.
pub type Item = (u64, Value);

/// A filter or a maplet. A filter is used as a maplet in which each value is 0.
pub trait Subject: Debug + Sized {
    /// An item as the batches of the crate have it.
    type Named;

    fn named(item: Item) -> Self::Named;
    fn restored(bytes: &[u8]) -> Result<Self, Error>;
    fn from_reader(bytes: &[u8]) -> Result<Self, Error>;
    fn from_snapshot(snapshot: &Snapshot) -> Result<Self, Error>;
    fn snapshot(&self) -> Result<Snapshot, Error>;
    fn copied(&self) -> Result<Self, Error>;
    fn bytes(&self) -> Vec<u8> {
        self.snapshot().expect("memory").into_bytes()
    }
    fn merge(&self, other: &Self) -> Result<(), Error>;
    fn clear(&self);
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn slots(&self) -> usize;
    fn capacity(&self) -> usize;
    fn memory_bytes(&self) -> usize;
    fn false_positive_rate(&self) -> f64;
    fn inconclusive(&self) -> u64;
    /// Entries in the stash, and their copies.
    fn stashed(&self) -> (usize, usize);

    fn value_bits(&self) -> u32;
    fn insert(&self, item: Item) -> Result<(), Error>;
    fn insert_named(&self, items: &[Self::Named]) -> Result<(), Error>;
    fn insert_many(&self, items: &[Item]) -> Result<(), Error> {
        self.insert_named(&Self::all_named(items))
    }
    fn all_named(items: &[Item]) -> Vec<Self::Named> {
        items.iter().map(|&item| Self::named(item)).collect()
    }
    /// From an iterator.
    fn insert_all(&self, items: &[Item]) -> Result<(), Error>;
    /// Only for filters.
    fn insert_unique(&self, item: Item) -> Result<bool, Error>;
    /// Only for filters. Which items were new, up to one that failed.
    fn insert_unique_each(&self, items: &[Item]) -> (Vec<bool>, Option<Error>);
    /// Only for maplets.
    fn try_replace(&self, item: Item, new: Value) -> Result<bool, Error>;
    /// Only for maplets, where nothing keeps it from being done.
    fn replace(&self, item: Item, new: Value) -> bool {
        self.try_replace(item, new).expect("a value that fits, and memory")
    }
    /// Only for maplets. Which items have got a new value.
    fn replace_each(&self, items: &[(Item, Value)]) -> Vec<bool>;
    fn remove(&self, item: Item) -> bool;
    fn remove_each(&self, items: &[Item]) -> Vec<bool>;
    /// All in ascending order.
    fn values(&self, hash: u64) -> Vec<Value>;
    fn contains(&self, hash: u64) -> bool;
    fn contains_each(&self, hashes: &[u64]) -> Vec<bool>;
    /// What a view of these bytes says of each hash: whether it is there, and its values in ascending order.
    fn viewed(
        bytes: &[u8],
        is_trusted: bool,
        hashes: &[u64],
    ) -> Result<Vec<(bool, Vec<Value>)>, Error>;
    /// A view of these bytes, those of its snapshot, says of each hash what it says itself.
    fn assert_viewed(&self, bytes: &[u8], hashes: &[u64]) {
        for is_trusted in [false, true] {
            let viewed = Self::viewed(bytes, is_trusted, hashes).expect("a snapshot");
            for (&hash, viewed) in hashes.iter().zip(viewed) {
                assert_eq!(viewed, (self.contains(hash), self.values(hash)), "{hash:x}");
            }
        }
    }
}

/// Of one that grows.
pub trait Grows: Subject {
    fn max_capacity(&self) -> usize;
    fn try_reserve(&self, additional: usize) -> Result<(), Error>;
}

macro_rules! subject {
    ($type:ident $($own:item)*) => {
        impl<L: Storage> Subject for $type<L> {
            fn restored(bytes: &[u8]) -> Result<Self, Error> {
                Self::from_bytes(bytes, HASHER)
            }
            fn from_reader(bytes: &[u8]) -> Result<Self, Error> {
                Self::restore(bytes, HASHER)
            }
            fn from_snapshot(snapshot: &Snapshot) -> Result<Self, Error> {
                Self::from_snapshot(snapshot, HASHER)
            }
            fn snapshot(&self) -> Result<Snapshot, Error> {
                self.snapshot()
            }
            fn copied(&self) -> Result<Self, Error> {
                self.try_clone()
            }
            fn insert_named(&self, items: &[Self::Named]) -> Result<(), Error> {
                self.insert_many(items)
            }
            fn remove_each(&self, items: &[Item]) -> Vec<bool> {
                let mut removed = stale(items.len());
                let count = self.remove_many(&Self::all_named(items), &mut removed).expect("as long");
                assert_eq!(count, removed.iter().filter(|&&removed| removed).count());
                removed
            }
            fn merge(&self, other: &Self) -> Result<(), Error> {
                self.merge(other)
            }
            fn clear(&self) {
                self.clear();
            }
            fn len(&self) -> usize {
                self.len()
            }
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
            fn slots(&self) -> usize {
                self.slots()
            }
            fn capacity(&self) -> usize {
                self.capacity()
            }
            fn memory_bytes(&self) -> usize {
                self.memory_bytes()
            }
            fn false_positive_rate(&self) -> f64 {
                self.false_positive_rate()
            }
            fn inconclusive(&self) -> u64 {
                self.stats().inconclusive_lookups
            }
            fn stashed(&self) -> (usize, usize) {
                let stats = self.stats();
                (stats.stashed_entries, stats.stashed_copies)
            }
            $($own)*
        }

        impl<L: GrowingLayout> Grows for $type<Growable<L>> {
            fn max_capacity(&self) -> usize {
                self.max_capacity()
            }
            fn try_reserve(&self, additional: usize) -> Result<(), Error> {
                self.reserve(additional)
            }
        }
    };
}

subject! {
    Filter
    type Named = Prehashed;
    fn named((hash, _): Item) -> Prehashed {
        Prehashed(hash)
    }
    fn value_bits(&self) -> u32 {
        0
    }
    fn insert(&self, (hash, _): Item) -> Result<(), Error> {
        self.insert(&Prehashed(hash))
    }
    fn insert_all(&self, items: &[Item]) -> Result<(), Error> {
        self.insert_all(items.iter().map(|&(hash, _)| Prehashed(hash)))
    }
    fn insert_unique(&self, (hash, _): Item) -> Result<bool, Error> {
        self.insert_unique(&Prehashed(hash))
    }
    fn insert_unique_each(&self, items: &[Item]) -> (Vec<bool>, Option<Error>) {
        let mut new = stale(items.len());
        let (count, failed) = match self.insert_unique_many(&Self::all_named(items), &mut new) {
            Ok(count) => (count, None),
            Err(Error::Stopped { index, stored, cause }) => {
                new.truncate(index);
                (stored, Some(cause.clone()))
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(count, new.iter().filter(|&&new| new).count());
        (new, failed)
    }
    fn try_replace(&self, _: Item, _: Value) -> Result<bool, Error> {
        unreachable!("a filter has no values")
    }
    fn replace_each(&self, _: &[(Item, Value)]) -> Vec<bool> {
        unreachable!("a filter has no values")
    }
    fn remove(&self, (hash, _): Item) -> bool {
        self.remove(&Prehashed(hash))
    }
    fn values(&self, hash: u64) -> Vec<Value> {
        vec![0; self.count(&Prehashed(hash))]
    }
    fn contains(&self, hash: u64) -> bool {
        self.contains(&Prehashed(hash))
    }
    fn contains_each(&self, hashes: &[u64]) -> Vec<bool> {
        let mut found = stale(hashes.len());
        self.contains_many(Prehashed::slice(hashes), &mut found).expect("as long");
        assert_eq!(found, self.contains_each(Prehashed::slice(hashes)));
        found
    }
    fn viewed(
        bytes: &[u8],
        is_trusted: bool,
        hashes: &[u64],
    ) -> Result<Vec<(bool, Vec<Value>)>, Error> {
        let open = if is_trusted {
            CuckooFilterView::from_trusted_bytes
        } else {
            CuckooFilterView::from_bytes
        };
        let view = open(bytes, HASHER)?;
        let mut found = stale(hashes.len());
        view.contains_many(Prehashed::slice(hashes), &mut found).expect("as long");
        let of_each = |(&hash, found)| {
            let hash = Prehashed(hash);
            assert_eq!(view.contains(&hash), found);
            (found, vec![0; view.count(&hash)])
        };
        Ok(hashes.iter().zip(found).map(of_each).collect())
    }
}

/// Pairs with the hash of a key as the key.
pub fn prehashed(items: &[Item]) -> Vec<(Prehashed, Value)> {
    items.iter().map(|&(hash, value)| (Prehashed(hash), value)).collect()
}

subject! {
    Maplet
    type Named = (Prehashed, Value);
    fn named((hash, value): Item) -> (Prehashed, Value) {
        (Prehashed(hash), value)
    }
    fn value_bits(&self) -> u32 {
        self.value_bits()
    }
    fn insert(&self, (hash, value): Item) -> Result<(), Error> {
        self.insert(&Prehashed(hash), value)
    }
    fn insert_all(&self, items: &[Item]) -> Result<(), Error> {
        self.insert_all(items.iter().map(|&item| Self::named(item)))
    }
    fn insert_unique(&self, _: Item) -> Result<bool, Error> {
        unreachable!("a maplet is a multimap")
    }
    fn insert_unique_each(&self, _: &[Item]) -> (Vec<bool>, Option<Error>) {
        unreachable!("a maplet is a multimap")
    }
    fn try_replace(&self, (hash, old): Item, new: Value) -> Result<bool, Error> {
        self.replace(&Prehashed(hash), old, new)
    }
    fn replace_each(&self, items: &[(Item, Value)]) -> Vec<bool> {
        let pairs: Vec<_> = items.iter().map(|&((hash, old), new)| (Prehashed(hash), old, new)).collect();
        let mut replaced = stale(items.len());
        let count = self.replace_many(&pairs, &mut replaced).expect("values that fit");
        assert_eq!(count, replaced.iter().filter(|&&replaced| replaced).count());
        replaced
    }
    fn remove(&self, (hash, value): Item) -> bool {
        self.remove(&Prehashed(hash), value)
    }
    fn values(&self, hash: u64) -> Vec<Value> {
        ascending(self.get(&Prehashed(hash)))
    }
    fn contains(&self, hash: u64) -> bool {
        self.contains_key(&Prehashed(hash))
    }
    fn contains_each(&self, hashes: &[u64]) -> Vec<bool> {
        let first = hashes.first().map_or(Candidates::new(), |&hash| self.get(&Prehashed(hash)));
        let mut found = vec![first; hashes.len()];
        self.get_many(Prehashed::slice(hashes), &mut found).expect("as long");
        let each = hashes.iter().zip(found).zip(self.get_each(Prehashed::slice(hashes)));
        each.map(|((&hash, found), again)| {
            let values = self.values(hash);
            assert_eq!([ascending(found), ascending(again)], [&values[..]; 2]);
            !values.is_empty()
        })
        .collect()
    }
    fn viewed(
        bytes: &[u8],
        is_trusted: bool,
        hashes: &[u64],
    ) -> Result<Vec<(bool, Vec<Value>)>, Error> {
        let open = if is_trusted {
            CuckooMapletView::from_trusted_bytes
        } else {
            CuckooMapletView::from_bytes
        };
        let view = open(bytes, HASHER)?;
        let mut found = vec![Candidates::new(); hashes.len()];
        view.get_many(Prehashed::slice(hashes), &mut found).expect("as long");
        let of_each = |(&hash, found)| {
            let (key, values) = (Prehashed(hash), ascending(found));
            assert_eq!(ascending(view.get(&key)), values);
            (view.contains_key(&key), values)
        };
        Ok(hashes.iter().zip(found).map(of_each).collect())
    }
}

/// Answers of some batch before: what a slice held must not matter.
fn stale(len: usize) -> Vec<bool> {
    (0..len).map(|at| at % 3 == 0).collect()
}

/// The values of a key, in ascending order.
pub fn ascending(candidates: Candidates) -> Vec<Value> {
    let mut values: Vec<Value> = candidates.collect();
    values.sort_unstable();
    values
}
