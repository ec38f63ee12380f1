//! What filters and maplets have in common.

use std::any::Any;
use std::fmt::Debug;
use std::io::Read;

use coucal::{
    AnyLayout, Builder, Candidates, CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView,
    Error, Fixed, Growable, GrowableCuckooFilter, GrowableCuckooMaplet, GrowingLayout,
    MapletBuilder, Overlap, Prehashed, Snapshot, StableHashBuilder, Storage,
};

use crate::format::{self, Contents, Geometry, Value};
use crate::layouts::Layout;

pub const HASHER: StableHashBuilder = StableHashBuilder::new(7);

pub type Filter<L = Fixed<AnyLayout>> = coucal::Filter<L, StableHashBuilder>;
pub type Maplet<L = Fixed<AnyLayout>> = coucal::Maplet<L, StableHashBuilder>;

/// A hash, and in a maplet a value; in a filter 0.
pub type Item = (u64, Value);

/// A batch of items that is ready to be inserted.
pub type Batch<'a> = Box<dyn Fn() -> Result<(), Error> + 'a>;

/// What a view says of a hash: whether it is there, its values, and how often it is there with each value that was
/// asked for.
pub type Viewed = (bool, Vec<Value>, Vec<usize>);

/// A filter or a maplet. A filter is used as a maplet in which each value is 0.
pub trait Subject: Any + Debug + Send + Sync {
    /// One of the same type, from bytes.
    fn restored(&self, bytes: &[u8]) -> Result<Box<dyn Subject>, Error>;
    /// One of the same type, from a reader.
    fn read(&self, reader: &mut dyn Read) -> Result<Box<dyn Subject>, Error>;
    /// One of the same type, from a snapshot.
    fn of_snapshot(&self, snapshot: &Snapshot) -> Result<Box<dyn Subject>, Error>;
    fn copied(&self) -> Result<Box<dyn Subject>, Error>;
    fn snapshot(&self) -> Result<Snapshot, Error>;
    fn bytes(&self) -> Vec<u8> {
        self.snapshot().expect("memory").into_bytes()
    }
    /// What its snapshot says.
    fn contents(&self) -> Contents {
        format::read(&self.bytes()).expect("a snapshot")
    }
    /// Where it places its items.
    fn geometry(&self) -> Geometry {
        self.contents().geometry
    }
    /// The other one is of the same type.
    fn merge(&self, other: &dyn Subject) -> Result<(), Error>;
    fn clear(&self);
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn slots(&self) -> usize;
    fn capacity(&self) -> usize;
    fn max_capacity(&self) -> usize {
        self.snapshot().expect("memory").max_capacity()
    }
    /// Only where it grows.
    fn reserve(&self, additional: usize) -> Result<(), Error>;
    fn load_factor(&self) -> f64;
    fn false_positive_rate(&self) -> f64;
    fn inconclusive(&self) -> u64;
    /// Entries in the stash, and their copies.
    fn stashed(&self) -> (usize, usize);
    /// All of its memory that is not a part of its value.
    fn heap_bytes(&self) -> usize;
    /// 0 of a filter.
    fn value_bits(&self) -> u32;
    fn insert(&self, item: Item) -> Result<(), Error>;
    fn batch(&self, items: &[Item]) -> Batch<'_>;
    fn insert_many(&self, items: &[Item]) -> Result<(), Error> {
        self.batch(items)()
    }
    /// From an iterator.
    fn insert_all(&self, items: &[Item]) -> Result<(), Error>;
    /// Of a maplet: unless the key has a value.
    fn insert_if_absent(&self, item: Item) -> Result<bool, Error>;
    /// Only for filters. Which items were new, up to one that failed.
    fn insert_if_absent_each(&self, _: &[Item]) -> (Vec<bool>, Option<Error>) {
        unreachable!("a maplet is a multimap")
    }
    /// Only for maplets.
    fn try_replace(&self, _: Item, _: Value) -> Result<bool, Error> {
        unreachable!("a filter has no values")
    }
    /// Only for maplets, where nothing keeps it from being done.
    fn replace(&self, item: Item, new: Value) -> bool {
        self.try_replace(item, new).expect("a value that fits, and memory")
    }
    /// Only for filters. The other one is of the same type.
    fn unmerge(&self, _: &dyn Subject) -> Result<usize, Error> {
        unreachable!("a maplet has no unmerge")
    }
    /// Only for filters. The other one is of the same type.
    fn intersect(&self, _: &dyn Subject) -> Result<usize, Error> {
        unreachable!("a maplet has no intersection")
    }
    /// Only for filters. The other one is of the same type.
    fn overlap(&self, _: &dyn Subject) -> Result<Overlap, Error> {
        unreachable!("a maplet has no overlap")
    }
    /// Only for maplets. Which items have got a new value.
    fn replace_each(&self, _: &[(Item, Value)]) -> Vec<bool> {
        unreachable!("a filter has no values")
    }
    /// Only for maplets.
    fn remove_value(&self, _: Value) -> usize {
        unreachable!("a filter has no values")
    }
    /// Only for maplets.
    fn try_update_values(&self, _: &dyn Fn(Value) -> Option<Value>) -> Result<usize, Error> {
        unreachable!("a filter has no values")
    }
    /// Only for maplets, where nothing keeps it from being done.
    fn update_values(&self, new: &dyn Fn(Value) -> Option<Value>) -> usize {
        self.try_update_values(new).expect("values that fit, and memory")
    }
    /// Only for maplets. Of one of its values the closure says which takes its place, if any.
    fn try_update(
        &self,
        _: u64,
        _: &dyn Fn(Value) -> Option<Value>,
    ) -> Result<Option<Value>, Error> {
        unreachable!("a filter has no values")
    }
    /// Only for maplets.
    fn insert_pair_if_absent(&self, _: Item) -> Result<bool, Error> {
        unreachable!("a filter has no values")
    }
    /// Only for maplets, where nothing keeps it from being done.
    fn update(&self, hash: u64, new: &dyn Fn(Value) -> Option<Value>) -> Option<Value> {
        self.try_update(hash, new).expect("a value that fits, and memory")
    }
    fn remove(&self, item: Item) -> bool;
    fn remove_each(&self, items: &[Item]) -> Vec<bool>;
    /// All in ascending order.
    fn values(&self, hash: u64) -> Vec<Value>;
    fn contains(&self, hash: u64) -> bool;
    /// How often an item is there, with its value. Other lookups of it agree.
    fn count(&self, item: Item) -> usize;
    /// How often a hash is there with each value that is asked for.
    fn counts(&self, hash: u64) -> Vec<usize> {
        asked(self.value_bits()).into_iter().map(|value| self.count((hash, value))).collect()
    }
    fn contains_each(&self, hashes: &[u64]) -> Vec<bool>;
    /// By one batch, all in ascending order; of a filter only whether there is one.
    fn values_each(&self, hashes: &[u64]) -> Vec<Vec<Value>>;
    /// What a view of these bytes, as of its snapshot, says of each hash; its values in ascending order.
    fn viewed(&self, bytes: &[u8], is_trusted: bool, hashes: &[u64]) -> Result<Vec<Viewed>, Error>;
    /// A view of these bytes, those of its snapshot, says of each hash what it says itself.
    fn assert_viewed(&self, bytes: &[u8], hashes: &[u64]) {
        for is_trusted in [false, true] {
            let viewed = self.viewed(bytes, is_trusted, hashes).expect("a snapshot");
            for (&hash, viewed) in hashes.iter().zip(viewed) {
                let own = (self.contains(hash), self.values(hash), self.counts(hash));
                assert_eq!(viewed, own, "{hash:x}");
            }
        }
    }
}

/// The storages of subjects.
pub trait Held: Storage + Sized + 'static {
    fn reserve_filter(_: &Filter<Self>, _: usize) -> Result<(), Error> {
        unreachable!("it is of fixed size")
    }
    fn reserve_maplet(_: &Maplet<Self>, _: usize) -> Result<(), Error> {
        unreachable!("it is of fixed size")
    }
}

impl<L: coucal::Layout> Held for Fixed<L> {}

impl<L: GrowingLayout> Held for Growable<L> {
    fn reserve_filter(filter: &Filter<Self>, additional: usize) -> Result<(), Error> {
        filter.reserve(additional)
    }
    fn reserve_maplet(maplet: &Maplet<Self>, additional: usize) -> Result<(), Error> {
        maplet.reserve(additional)
    }
}

/// What is built, as a subject. Its box is allocated before.
pub fn boxed<S: Subject>(
    build: impl FnOnce() -> Result<S, Error>,
) -> Result<Box<dyn Subject>, Error> {
    let place = Box::new_uninit();
    let subject: Box<S> = Box::write(place, build()?);
    Ok(subject)
}

fn of_type<S: Subject>(subject: &dyn Subject) -> &S {
    (subject as &dyn Any).downcast_ref().expect("one of the same type")
}

/// Methods that do as those of the same name.
macro_rules! same {
    ($($name:ident: $type:ty)*) => { $(fn $name(&self) -> $type { self.$name() })* };
}

macro_rules! subject {
    ($type:ident $named:ident $reserve:ident $($own:item)*) => {
        impl<L: Held> Subject for $type<L> {
            same! {
                snapshot: Result<Snapshot, Error> clear: () len: usize is_empty: bool slots: usize
                capacity: usize load_factor: f64 false_positive_rate: f64
            }
            fn restored(&self, bytes: &[u8]) -> Result<Box<dyn Subject>, Error> {
                boxed(|| Self::from_bytes(bytes, HASHER))
            }
            fn read(&self, reader: &mut dyn Read) -> Result<Box<dyn Subject>, Error> {
                boxed(|| Self::restore(reader, HASHER))
            }
            fn of_snapshot(&self, snapshot: &Snapshot) -> Result<Box<dyn Subject>, Error> {
                boxed(|| Self::from_snapshot(snapshot, HASHER))
            }
            fn copied(&self) -> Result<Box<dyn Subject>, Error> {
                boxed(|| self.try_clone())
            }
            fn merge(&self, other: &dyn Subject) -> Result<(), Error> {
                self.merge(of_type(other))
            }
            fn reserve(&self, additional: usize) -> Result<(), Error> {
                L::$reserve(self, additional)
            }
            fn inconclusive(&self) -> u64 {
                self.stats().inconclusive_lookups
            }
            fn stashed(&self) -> (usize, usize) {
                let stats = self.stats();
                (stats.stashed_entries, stats.stashed_copies)
            }
            fn heap_bytes(&self) -> usize {
                self.memory_bytes() - size_of_val(self)
            }
            fn batch(&self, items: &[Item]) -> Batch<'_> {
                let named: Vec<_> = items.iter().map($named).collect();
                Box::new(move || self.insert_many(&named))
            }
            fn insert_all(&self, items: &[Item]) -> Result<(), Error> {
                self.insert_all(items.iter().map($named))
            }
            fn remove_each(&self, items: &[Item]) -> Vec<bool> {
                let named: Vec<_> = items.iter().map($named).collect();
                let mut removed = stale(items.len());
                let count = self.remove_many(&named, &mut removed).expect("as long");
                assert_eq!(count, removed.iter().filter(|&&removed| removed).count());
                removed
            }
            $($own)*
        }
    };
}

subject! {
    Filter of_filter reserve_filter
    fn value_bits(&self) -> u32 {
        0
    }
    fn insert(&self, (hash, _): Item) -> Result<(), Error> {
        self.insert(&Prehashed(hash))
    }
    fn insert_if_absent(&self, (hash, _): Item) -> Result<bool, Error> {
        self.insert_if_absent(&Prehashed(hash))
    }
    fn insert_if_absent_each(&self, items: &[Item]) -> (Vec<bool>, Option<Error>) {
        let mut new = stale(items.len());
        let named: Vec<_> = items.iter().map(of_filter).collect();
        let (count, failed) = match self.insert_if_absent_many(&named, &mut new) {
            Ok(count) => (count, None),
            Err(Error::Stopped { index, stored, cause }) => {
                assert_eq!(new[index..], stale(items.len())[index..], "the rest is as it was");
                new.truncate(index);
                (stored, Some(cause.clone()))
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(count, new.iter().filter(|&&new| new).count());
        (new, failed)
    }
    fn remove(&self, (hash, _): Item) -> bool {
        self.remove(&Prehashed(hash))
    }
    fn unmerge(&self, other: &dyn Subject) -> Result<usize, Error> {
        self.unmerge(of_type(other))
    }
    fn intersect(&self, other: &dyn Subject) -> Result<usize, Error> {
        self.intersect(of_type(other))
    }
    fn overlap(&self, other: &dyn Subject) -> Result<Overlap, Error> {
        self.overlap(of_type(other))
    }
    fn count(&self, (hash, _): Item) -> usize {
        let (item, mut counts) = (Prehashed(hash), [usize::MAX; 2]);
        self.count_many(&[item; 2], &mut counts).expect("as long");
        assert_eq!(counts, [self.count(&item); 2]);
        counts[0]
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
    fn values_each(&self, hashes: &[u64]) -> Vec<Vec<Value>> {
        let found = self.contains_each(Prehashed::slice(hashes));
        found.into_iter().map(|found| vec![0; found.into()]).collect()
    }
    fn viewed(&self, bytes: &[u8], is_trusted: bool, hashes: &[u64]) -> Result<Vec<Viewed>, Error> {
        let trusting = CuckooFilterView::from_trusted_bytes;
        let open = if is_trusted { trusting } else { CuckooFilterView::from_bytes };
        let view = open(bytes, HASHER)?;
        let mut found = stale(hashes.len());
        view.contains_many(Prehashed::slice(hashes), &mut found).expect("as long");
        let of_each = |(&hash, found)| {
            let (hash, mut counts) = (Prehashed(hash), [usize::MAX]);
            assert_eq!(view.contains(&hash), found);
            view.count_many(&[hash], &mut counts).expect("as long");
            (found, vec![0; view.count(&hash)], counts.to_vec())
        };
        Ok(hashes.iter().zip(found).map(of_each).collect())
    }
}

subject! {
    Maplet of_maplet reserve_maplet
    fn value_bits(&self) -> u32 {
        self.value_bits()
    }
    fn insert(&self, (hash, value): Item) -> Result<(), Error> {
        self.insert(&Prehashed(hash), value)
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
    fn remove_value(&self, value: Value) -> usize {
        self.remove_value(value)
    }
    fn try_update_values(&self, new: &dyn Fn(Value) -> Option<Value>) -> Result<usize, Error> {
        self.update_values(new)
    }
    fn insert_if_absent(&self, (hash, value): Item) -> Result<bool, Error> {
        self.insert_if_absent(&Prehashed(hash), value)
    }
    fn insert_pair_if_absent(&self, (hash, value): Item) -> Result<bool, Error> {
        self.insert_pair_if_absent(&Prehashed(hash), value)
    }
    fn count(&self, (hash, value): Item) -> usize {
        let (key, count) = (Prehashed(hash), self.count(&Prehashed(hash), value));
        assert_eq!(self.contains(&key, value), count > 0);
        assert_eq!(self.contains_each(&[(key, value); 2]), [count > 0; 2]);
        let mut counts = [usize::MAX; 2];
        self.count_many(&[(key, value); 2], &mut counts).expect("as long");
        assert_eq!(counts, [count; 2]);
        count
    }
    fn try_update(
        &self,
        hash: u64,
        new: &dyn Fn(Value) -> Option<Value>,
    ) -> Result<Option<Value>, Error> {
        self.update(&Prehashed(hash), new)
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
        let found: Vec<_> = found.into_iter().map(ascending).collect();
        assert_eq!(found, self.values_each(hashes));
        assert!(hashes.iter().map(|&hash| self.values(hash)).eq(found.iter().cloned()));
        found.iter().map(|values| !values.is_empty()).collect()
    }
    fn values_each(&self, hashes: &[u64]) -> Vec<Vec<Value>> {
        self.get_each(Prehashed::slice(hashes)).into_iter().map(ascending).collect()
    }
    fn viewed(&self, bytes: &[u8], is_trusted: bool, hashes: &[u64]) -> Result<Vec<Viewed>, Error> {
        let trusting = CuckooMapletView::from_trusted_bytes;
        let open = if is_trusted { trusting } else { CuckooMapletView::from_bytes };
        let view = open(bytes, HASHER)?;
        let mut found = vec![Candidates::new(); hashes.len()];
        view.get_many(Prehashed::slice(hashes), &mut found).expect("as long");
        let of_each = |(&hash, found)| {
            let (key, values) = (Prehashed(hash), ascending(found));
            assert_eq!(ascending(view.get(&key)), values);
            let count = |value| {
                let (pairs, mut found, mut counts) = ([(key, value)], [false], [usize::MAX]);
                view.contains_many(&pairs, &mut found).expect("as long");
                view.count_many(&pairs, &mut counts).expect("as long");
                assert_eq!(counts, [view.count(&key, value)]);
                assert_eq!(found, [view.contains(&key, value)]);
                assert_eq!(found, [counts[0] > 0]);
                counts[0]
            };
            (view.contains_key(&key), values, asked(view.value_bits()).into_iter().map(count).collect())
        };
        Ok(hashes.iter().zip(found).map(of_each).collect())
    }
}

/// The values that a hash is asked for: the first ones, the last, and one that is too large; of a filter 0.
fn asked(value_bits: u32) -> Vec<Value> {
    let end = 1 << value_bits;
    if end == 1 { vec![0] } else { (0..end.min(4)).chain([end - 1, end]).collect() }
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

fn of_filter(&(hash, _): &Item) -> Prehashed {
    Prehashed(hash)
}

fn of_maplet(&(hash, value): &Item) -> (Prehashed, Value) {
    (Prehashed(hash), value)
}

/// Pairs with the hash of a key as the key.
pub fn prehashed(items: &[Item]) -> Vec<(Prehashed, Value)> {
    items.iter().map(of_maplet).collect()
}

/// What has a layout.
impl Layout {
    /// Builds filters of this layout.
    pub fn filters(self) -> Builder<Fixed<AnyLayout>, StableHashBuilder> {
        let builder = CuckooFilter::builder().layout_named(self.name).expect("its name");
        builder.hasher(HASHER)
    }

    /// Builds maplets of this layout.
    pub fn maplets(self, value_bits: u32) -> MapletBuilder<Fixed<AnyLayout>, StableHashBuilder> {
        let builder = CuckooMaplet::builder().layout_named(self.name).expect("its name");
        builder.hasher(HASHER).value_bits(value_bits)
    }

    /// Builds filters of this layout that grow.
    pub fn growing_filters(self) -> Builder<Growable<AnyLayout>, StableHashBuilder> {
        let builder = GrowableCuckooFilter::builder().layout_named(self.name).expect("it can grow");
        builder.hasher(HASHER)
    }

    /// Builds maplets of this layout that grow.
    pub fn growing_maplets(
        self,
        value_bits: u32,
    ) -> MapletBuilder<Growable<AnyLayout>, StableHashBuilder> {
        let builder = GrowableCuckooMaplet::builder().layout_named(self.name).expect("it can grow");
        builder.hasher(HASHER).value_bits(value_bits)
    }

    /// A filter for this number of items.
    pub fn filter(self, capacity: usize) -> Filter {
        self.filters().capacity(capacity).build().expect("memory for a test")
    }

    /// A filter that grows from the first capacity to the greatest.
    pub fn growing(self, first: usize, most: usize) -> Filter<Growable<AnyLayout>> {
        let builder = self.growing_filters().capacity(first).max_capacity(most);
        builder.build().expect("memory for a test")
    }

    /// A maplet for this number of pairs.
    pub fn maplet(self, pairs: usize, value_bits: u32) -> Maplet {
        self.maplets(value_bits).capacity(pairs).build().expect("memory for a test")
    }

    /// A maplet that grows from the first capacity to the greatest.
    pub fn growing_maplet(
        self,
        first: usize,
        most: usize,
        value_bits: u32,
    ) -> Maplet<Growable<AnyLayout>> {
        let builder = self.growing_maplets(value_bits).capacity(first).max_capacity(most);
        builder.build().expect("memory for a test")
    }

    /// The filter with the most slots, of those with at most `slots`.
    pub fn filter_of_slots(self, slots: usize) -> Filter {
        self.filter(greatest(slots + 1, |capacity| self.filter(capacity).slots() <= slots))
    }
}

/// The greatest number below the bound for which `is_within` says yes; it does so for 0.
pub(crate) fn greatest(bound: usize, is_within: impl Fn(usize) -> bool) -> usize {
    let (mut within, mut beyond) = (0, bound);
    while beyond - within > 1 {
        let middle = usize::midpoint(within, beyond);
        *(if is_within(middle) { &mut within } else { &mut beyond }) = middle;
    }
    within
}
