//! All subjects. Filters have 16-bit fingerprints, or the false-positive rate of these; the exception is
//! `cuckoofilter`, whose fingerprints always have 8 bits. Keys are `u64`, and a subject that takes a hasher gets
//! [`KeyHash`].

use std::cell::RefCell;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use coucal::{
    CuckooFilter, CuckooMaplet, Fp16x4, GrowableCuckooFilter, GrowableCuckooMaplet, Prehashed,
    Storage,
};
use coucal_benches::keys;
use crossbeam_utils::CachePadded;
use scalable_cuckoo_filter::ScalableCuckooFilter;

use crate::hash::{KeyHash, KeyHasher};
use crate::machine;
use crate::partitions::{BITS, Filters, Maplet, partitions};
use crate::subject::{BATCH, Exclusive, Operation, Peer, Shared, Subject};

pub const COUCAL: &str = "coucal";
pub const GROWING: &str = "coucal, growing";
pub const GROWING_MANY: &str = "coucal, growing, `insert_many`";
pub const ATOMIC: &str = "atomic-cuckoo-filter";
pub const SEQUENTIAL: &str = "cuckoofilter";
pub const QUOTIENT: &str = "qfilter";
pub const SCALABLE: &str = "scalable_cuckoo_filter";
pub const BLOOM: &str = "fastbloom";
pub const SHARDS: &str = "sharded RwLock<cuckoofilter>";
pub const HASH_SET: &str = "RwLock<HashSet>";
pub const MAPLET: &str = "maplet";
/// A filter and a maplet that have doubled three times.
pub const GROWN_FILTER: &str = "grown filter";
pub const GROWN_MAPLET: &str = "grown maplet";
pub const FILTERS: &str = "64 filters of coucal";
pub const HASH_MAP: &str = "RwLock<HashMap<u64, u8>>";
/// The limit of the machine.
pub const LIMIT: &str = "two loads";

/// The false-positive rate of 16-bit fingerprints in buckets of four slots, at a load of 95 %.
pub const RATE: f64 = 8.0 * 0.95 / 65_536.0;

/// Builds the subject with this name, empty, with this number of slots, and touches its memory.
pub fn build(name: &str, slots: usize) -> Box<dyn Subject> {
    fn exclusive(peer: impl Peer + 'static, slots: usize) -> Box<dyn Subject> {
        Box::new(Exclusive(RefCell::new(peer), slots))
    }
    // Most others are filled to 95 %.
    let items = slots * 19 / 20;
    match name {
        MAPLET => {
            let capacity = coucal_with_slots(slots).capacity();
            let builder = CuckooMaplet::builder().capacity(capacity).value_bits(BITS);
            exclusive(Maplet::new(builder.hasher(KeyHash::default()).build().expect(MEMORY)), slots)
        }
        GROWN_MAPLET => {
            let most = growing_capacity(slots);
            let builder = GrowableCuckooMaplet::builder().capacity(most >> 3).max_capacity(most);
            let builder = builder.value_bits(BITS).hasher(KeyHash::default());
            exclusive(Maplet::new(builder.build().expect(MEMORY)), slots)
        }
        FILTERS => exclusive(Filters::new(slots, 64, coucal_with_slots), slots),
        HASH_MAP => exclusive(
            RwLock::new(HashMap::<u64, u8, KeyHash>::with_capacity_and_hasher(
                items,
                KeyHash::default(),
            )),
            slots,
        ),
        SEQUENTIAL => {
            let filter = Sequential::with_capacity(slots);
            // A fingerprint takes one byte.
            let slots = filter.memory_usage() - size_of_val(&filter);
            exclusive(filter, slots)
        }
        QUOTIENT => {
            // With remainders of 13 bits.
            let (rate, hasher) = (1.0 / 8192.0, KeyHash::default());
            let filter = qfilter::Filter::new_with_hasher(items as u64, rate, hasher);
            let mut filter = filter.expect("the size is within its limits");
            filter.clear();
            let slots = (filter.capacity() * 20 / 19) as usize;
            exclusive(filter, slots)
        }
        _ => shared(name, slots),
    }
}

/// As [`build`], for subjects to which several threads can write.
pub fn shared(name: &str, slots: usize) -> Box<dyn Subject + Sync> {
    let items = slots * 19 / 20;
    match name {
        COUCAL => {
            let filter = coucal_with_slots(slots);
            let slots = filter.slots();
            Box::new(Shared(filter, slots))
        }
        GROWING => {
            // From a 256th of these slots, or from 2^10, to twice these slots, so that it grows before it is full.
            let [first, greatest] = [(slots >> 8).max(1 << 10), 2 * slots].map(growing_capacity);
            Box::new(Shared(coucal_growing(first, greatest, None), slots))
        }
        GROWN_FILTER => {
            let items = growing_capacity(slots);
            Box::new(Shared(coucal_growing(items >> 3, items, None), slots))
        }
        ATOMIC => {
            let builder = atomic_cuckoo_filter::CuckooFilterBuilder::<KeyHasher>::default();
            let filter = builder.capacity(slots).fingerprint_size(16).build();
            let filter = filter.expect("it has such fingerprints");
            let slots = filter.capacity();
            Box::new(Shared(filter, slots))
        }
        BLOOM => {
            let builder = fastbloom::AtomicBloomFilter::with_false_pos(RATE);
            let filter = builder.hasher(KeyHash::default()).expected_items(items);
            filter.clear();
            Box::new(Shared(filter, slots))
        }
        SHARDS => Box::new(Shared(Sharded::new(slots), slots)),
        HASH_SET => {
            let set = HashSet::with_capacity_and_hasher(items, KeyHash::default());
            Box::new(Shared(RwLock::<HashSet<u64, KeyHash>>::new(set), slots))
        }
        LIMIT => Box::new(Shared(Loads::new(slots), slots)),
        _ => unreachable!("{name} does not take part"),
    }
}

/// Returns whether the subject can remove items.
pub fn removes(name: &str) -> bool {
    name != BLOOM
}

const MEMORY: &str = "there is enough memory";

/// Returns a capacity for which `slots_of` returns this number of slots, or the nearest number below.
fn capacity_for(slots: usize, slots_of: impl Fn(usize) -> usize) -> usize {
    let (mut good, mut too_large, mut guess) = (0, 1 + slots, slots);
    while good + 1 < too_large {
        let found = slots_of(guess);
        match found.cmp(&slots) {
            Less => good = guess,
            Equal => return guess,
            Greater => too_large = guess,
        }
        // The two are nearly proportional, so a large table is built only a few times.
        guess = (guess * slots / found).min(too_large - 1).max(good + 1);
    }
    good
}

/// Makes a filter of the default layout with this number of slots, or the nearest number below, and touches its memory.
pub fn coucal_with_slots(slots: usize) -> CuckooFilter<Fp16x4, KeyHash> {
    let build = |capacity| CuckooFilter::with_capacity_and_hasher(capacity, KeyHash::default());
    let filter = build(capacity_for(slots, |capacity| build(capacity).slots()));
    filter.clear();
    filter
}

/// Makes a growing filter of the default layout: from this number of items to the maximum, with this target load or
/// that of the layout.
pub fn coucal_growing(
    first: usize,
    greatest: usize,
    target_load: Option<f64>,
) -> GrowableCuckooFilter<Fp16x4, KeyHash> {
    let mut builder = GrowableCuckooFilter::builder().capacity(first).max_capacity(greatest);
    if let Some(load) = target_load {
        builder = builder.target_load(load);
    }
    builder.hasher(KeyHash::default()).build().expect(MEMORY)
}

/// Returns the number of items for which a growing filter is made when it has this number of slots.
pub fn growing_capacity(slots: usize) -> usize {
    capacity_for(slots, |items| coucal_growing(items, items, None).slots())
}

impl<L: Storage, S: BuildHasher> Peer for &coucal::Filter<L, S> {
    #[inline]
    fn contains(&self, key: u64) -> bool {
        coucal::Filter::contains(self, &key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        coucal::Filter::insert(self, &key).is_ok()
    }

    #[inline]
    fn insert_if_absent(&mut self, key: u64) -> bool {
        coucal::Filter::insert_if_absent(self, &key) == Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        coucal::Filter::remove(self, &key)
    }

    fn batch(&mut self, operation: Operation, keys: &[u64]) -> u64 {
        const AS_MANY: &str = "as many answers as keys";
        let mut answers = [false; BATCH];
        let answers = &mut answers[..keys.len()];
        let yes = match operation {
            Operation::Contains => {
                self.contains_many(keys, answers).expect(AS_MANY);
                answers.iter().filter(|answer| **answer).count()
            }
            Operation::Insert => {
                self.insert_many(keys).map_or_else(|error| error.stored(), |()| keys.len())
            }
            Operation::InsertIfAbsent => {
                self.insert_if_absent_many(keys, answers).expect("there is room")
            }
            Operation::Remove => self.remove_many(keys, answers).expect(AS_MANY),
            Operation::Replace => 0,
        };
        yes as u64
    }
}

type Atomic = atomic_cuckoo_filter::CuckooFilter<KeyHasher>;
type Sequential = cuckoofilter::CuckooFilter<KeyHasher>;
type Quotient = qfilter::Filter<Box<[u8]>, KeyHash>;
pub type Scalable = ScalableCuckooFilter<u64, KeyHasher>;
type Bloom = fastbloom::AtomicBloomFilter<KeyHash>;

/// Implements [`Peer`] by the named operations.
macro_rules! peers {
    ($(
        $(#[$doc:meta])*
        $type:ty, |$peer:ident, $key:ident| {
            $look:ident -> $answer:ty: $lookup:expr,
            $($change:ident: $changed:expr,)+
        }
    )*) => {
        $($(#[$doc])*
        impl Peer for $type {
            #[inline]
            fn $look(&self, $key: u64) -> $answer {
                let $peer = self;
                $lookup
            }

            $(#[inline]
            fn $change(&mut self, $key: u64) -> bool {
                let $peer = self;
                $changed
            })+
        })*
    };
}

peers! {
    /// Concurrent, by optimistic reads under one version of the whole table.
    &Atomic, |filter, key| {
        contains -> bool: Atomic::contains(filter, &key),
        insert: Atomic::insert(filter, &key).is_ok(),
        remove: Atomic::remove(filter, &key),
    }
    /// 8-bit fingerprints. An insert that fails loses an item.
    Sequential, |filter, key| {
        contains -> bool: Sequential::contains(filter, &key),
        insert: filter.add(&key).is_ok(),
        remove: filter.delete(&key),
    }
    &Sharded, |shards, key| {
        contains -> bool: shards.of(key).read().contains(&key),
        insert: shards.of(key).write().add(&key).is_ok(),
        remove: shards.of(key).write().delete(&key),
    }
    /// A quotient filter.
    Quotient, |filter, key| {
        contains -> bool: Quotient::contains(filter, key),
        insert: filter.insert_duplicated(key).is_ok(),
        remove: Quotient::remove(filter, key),
    }
    /// A list of cuckoo filters, each larger than the one before: a lookup asks all of them.
    Scalable, |filter, key| {
        contains -> bool: Scalable::contains(filter, &key),
        insert: {
            Scalable::insert(filter, &key);
            true
        },
        remove: Scalable::remove(filter, &key),
    }
    &Bloom, |filter, key| {
        contains -> bool: Bloom::contains(filter, &key),
        insert: {
            Bloom::insert(filter, &key);
            true
        },
    }
    /// An exact set of keys: many programs use it where a filter would be enough.
    &RwLock<HashSet<u64, KeyHash>>, |set, key| {
        contains -> bool: set.read().expect(NO_PANIC).contains(&key),
        insert: {
            set.write().expect(NO_PANIC).insert(key);
            true
        },
        remove: set.write().expect(NO_PANIC).remove(&key),
    }
    /// A filter for each partition. A lookup asks all of them with one hash, since a key may be in several.
    Filters, |filters, key| {
        answers -> u64: {
            let hash = KeyHash::default().hash_one(key);
            filters.0.iter().map(|filter| u64::from(filter.contains(&Prehashed(hash)))).sum()
        },
        insert: filters.of(key)[0].insert(&key).is_ok(),
        remove: filters.of(key)[0].remove(&key),
        replace: {
            let (hash, [old, new]) = (KeyHash::default().hash_one(key), filters.of(key));
            old.remove(&Prehashed(hash)) && new.insert(&Prehashed(hash)).is_ok()
        },
    }
    RwLock<HashMap<u64, u8, KeyHash>>, |map, key| {
        contains -> bool: map.read().expect(NO_PANIC).get(&key).copied().map(black_box).is_some(),
        insert: {
            map.write().expect(NO_PANIC).insert(key, partitions(key)[0] as u8);
            true
        },
        remove: map.write().expect(NO_PANIC).remove(&key) == Some(partitions(key)[0] as u8),
        replace: {
            let [old, new] = partitions(key).map(|number| number as u8);
            map.write().expect(NO_PANIC).insert(key, new) == Some(old)
        },
    }
    &Loads, |words, key| {
        contains -> bool: words.look(key),
        insert: words.store(key),
        remove: words.store(key),
    }
}

type Shard = CachePadded<parking_lot::RwLock<Sequential>>;

/// Many small filters for one thread, each behind a `RwLock` of its own. The key selects one.
struct Sharded(Box<[Shard]>);

impl Sharded {
    /// Makes as many shards as the first power of two that is at least four times the number of cores.
    fn new(slots: usize) -> Self {
        let shards = (4 * machine::cores()).next_power_of_two();
        let filter = || Sequential::with_capacity(slots / shards);
        Self((0..shards).map(|_| CachePadded::new(parking_lot::RwLock::new(filter()))).collect())
    }

    /// Selects a shard. Not by the hash that the filters use: all items of a shard would have a part of it in common.
    #[inline]
    fn of(&self, key: u64) -> &Shard {
        one_of(&self.0, key.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// Selects an element by multiply-shift.
#[inline]
fn one_of<T>(list: &[T], hash: u64) -> &T {
    &list[((u128::from(hash) * list.len() as u128) >> 64) as usize]
}

const NO_PANIC: &str = "nothing panics with the lock held";

/// The limit of the machine, with as many bytes as coucal's words have. A lookup is the hash, then two
/// random loads that depend on nothing else; a write is a load and a store.
struct Loads(Box<[AtomicU64]>);

impl Loads {
    fn new(slots: usize) -> Self {
        Self((0..slots as u64 / 4).map(|word| AtomicU64::new(keys::mix(word))).collect())
    }

    #[inline]
    fn look(&self, key: u64) -> bool {
        let hash = KeyHash::default().hash_one(key);
        let [one, two] = [hash, hash.rotate_left(32)].map(|hash| one_of(&self.0, hash));
        (hash ^ one.load(Ordering::Relaxed) ^ two.load(Ordering::Relaxed)) & 1 == 1
    }

    /// Another thread may overwrite the word; the value has no meaning here.
    #[inline]
    fn store(&self, key: u64) -> bool {
        let word = one_of(&self.0, KeyHash::default().hash_one(key));
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal_benches::keys::{Keys, Which};
    use std::ops::Range;

    const SLOTS: usize = 1 << 12;

    fn run(subject: &dyn Subject, operation: Operation, which: Which, range: Range<u64>) -> u64 {
        subject.run(operation, &Keys::new(1).collect(which, range))
    }

    /// Fills to 75 %, looks everything up, and removes it again.
    #[test]
    fn every_subject_stores_finds_and_removes() {
        let filters = [COUCAL, GROWING, ATOMIC, SEQUENTIAL, QUOTIENT, BLOOM, SHARDS, HASH_SET];
        let maps = [MAPLET, GROWN_FILTER, GROWN_MAPLET, FILTERS, HASH_MAP];
        for name in filters.into_iter().chain(maps) {
            let subject = build(name, SLOTS);
            let items = subject.slots() * 3 / 4;
            assert!(items >= SLOTS as u64 / 2, "{name} has {} slots", subject.slots());
            let run = |operation, which| run(&*subject, operation, which, 0..items);
            assert_eq!(run(Operation::Insert, Which::InOrder), items, "{name} is full");
            assert!(run(Operation::Contains, Which::InOrder) >= items, "{name} misses a key");
            assert!(run(Operation::Contains, Which::Absent) < items / 10, "{name} is often wrong");
            let removed = if removes(name) { items } else { 0 };
            assert_eq!(run(Operation::Remove, Which::InOrder), removed, "{name}");
        }
        for slots in [SLOTS, 3 * SLOTS, 16 * SLOTS] {
            assert_eq!(coucal_with_slots(slots).slots(), slots);
            let items = growing_capacity(slots);
            assert_eq!(coucal_growing(items, items, None).slots(), slots);
        }
    }

    /// A key that has moved is found, and not in its first partition.
    #[test]
    fn a_replaced_key_is_in_another_partition() {
        for name in [MAPLET, GROWN_MAPLET, FILTERS, HASH_MAP] {
            let subject = build(name, SLOTS);
            let run = |operation, range| run(&*subject, operation, Which::InOrder, range);
            assert_eq!(run(Operation::Insert, 0..200), 200, "{name} is full");
            assert_eq!(run(Operation::Replace, 0..100), 100, "{name} misses a key");
            assert!(run(Operation::Contains, 0..200) >= 200, "{name} lost a key");
            // The keys and the hash are fixed: these keys have no false match.
            assert_eq!([0..100, 100..200].map(|range| run(Operation::Remove, range)), [0, 100]);
        }
    }

    /// The comparison of a maplet with 64 filters is one at equal rates of useless reads.
    #[test]
    fn a_maplet_and_64_filters_have_the_same_rate() {
        let (slots, lookups) = (1 << 18, 1 << 18);
        for name in [MAPLET, FILTERS] {
            let (subject, items) = (build(name, slots), slots as u64 * 19 / 20);
            let stored = run(&*subject, Operation::Insert, Which::InOrder, 0..items);
            assert_eq!(stored, items, "it is full");
            // About 2,000 useless reads: a standard deviation is 2.3 %, and the keys are fixed.
            let useless = run(&*subject, Operation::Contains, Which::Absent, 0..lookups);
            let (rate, due) = (useless as f64 / lookups as f64, 8.0 * 0.95 / 1024.0);
            assert!((0.88..1.12).contains(&(rate / due)), "{name}: {rate} instead of {due}");
        }
    }
}
