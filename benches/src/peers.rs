//! Every filter of the comparison behind one trait.
//!
//! The items are `u64`. Filters that take a `BuildHasher` get coucal's own. Those that want
//! `Hasher + Default` get the same algorithm with its default seed. All have 16-bit fingerprints or
//! the rate of such, except `cuckoofilter`, which has 8 bits and no choice.

use std::hash::Hasher;

use coucal::{CuckooFilter, DefaultHashBuilder};
use parking_lot::{Mutex, RwLock};

/// What a full table of 16-bit fingerprints in buckets of four has at a load of 95 %.
pub const RATE: f64 = 8.0 * 0.95 / 65_536.0;

/// One filter, or something that stands in for one.
pub trait Peer: Sized {
    const NAME: &'static str;
    const REMOVES: bool = true;

    /// Empty, with so many slots, its memory touched.
    fn build(slots: usize) -> Self;
    /// How many there are.
    fn slots(&self) -> usize;
    fn bytes(&self) -> usize;
    fn contains(&self, key: u64) -> bool;
    /// One more copy; `false` if there is no room.
    fn insert(&mut self, key: u64) -> bool;

    /// `true` if it was not there.
    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.contains(key) && self.insert(key)
    }

    /// One copy less; `false` if there was none, or if this filter removes nothing.
    #[inline]
    fn remove(&mut self, _key: u64) -> bool {
        false
    }

    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(*key);
        }
    }

    /// How many were stored.
    #[inline]
    fn insert_many(&mut self, keys: &[u64]) -> usize {
        keys.iter().take_while(|key| self.insert(**key)).count()
    }
}

/// A filter that several threads write to.
pub trait Shared: Peer + Sync {
    fn insert_shared(&self, key: u64) -> bool;

    #[inline]
    fn remove_shared(&self, _key: u64) -> bool {
        false
    }
}

/// The default hasher's algorithm, for filters that make a hasher out of nothing.
#[derive(Clone, Default)]
pub struct FixedHasher(rapidhash::fast::RapidHasher<'static>);

impl Hasher for FixedHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.0.write_u8(value);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0.write_u64(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.0.write_usize(value);
    }
}

/// The subject of it all.
pub struct Coucal(pub CuckooFilter);

/// A filter with exactly so many slots, or the nearest number below.
#[must_use]
pub fn coucal_of(slots: usize) -> CuckooFilter {
    let (mut fits, mut too_large) = (0, slots + 1);
    while fits + 1 < too_large {
        let capacity = fits.midpoint(too_large);
        if CuckooFilter::with_capacity(capacity).slots() <= slots {
            fits = capacity;
        } else {
            too_large = capacity;
        }
    }
    CuckooFilter::with_capacity(fits)
}

impl Peer for Coucal {
    const NAME: &'static str = "coucal";

    fn build(slots: usize) -> Self {
        let filter = coucal_of(slots);
        filter.clear();
        Self(filter)
    }

    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert_unique(&key) == Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }

    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        self.0.contains_many(keys, found).expect("as many answers as keys");
    }

    #[inline]
    fn insert_many(&mut self, keys: &[u64]) -> usize {
        self.0.insert_many(keys).map_or_else(|error| error.stored(), |()| keys.len())
    }
}

impl Shared for Coucal {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.0.insert(&key).is_ok()
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.0.remove(&key)
    }
}

/// Concurrent, by optimistic reads under one version of the whole table.
pub struct Atomic(atomic_cuckoo_filter::CuckooFilter<FixedHasher>);

impl Peer for Atomic {
    const NAME: &'static str = "atomic-cuckoo-filter";

    fn build(slots: usize) -> Self {
        let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default().capacity(slots);
        Self(builder.build().expect("a number of slots is all there is to check"))
    }

    fn slots(&self) -> usize {
        self.0.capacity()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.0) + 2 * self.0.capacity()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert_unique(&key) == Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.remove_shared(key)
    }
}

impl Shared for Atomic {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.0.insert(&key).is_ok()
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.0.remove(&key)
    }
}

/// Sequential. An insert that fails loses an item.
pub struct Sequential(cuckoofilter::CuckooFilter<FixedHasher>);

impl Peer for Sequential {
    const NAME: &'static str = "cuckoofilter";

    fn build(slots: usize) -> Self {
        Self(cuckoofilter::CuckooFilter::with_capacity(slots))
    }

    fn slots(&self) -> usize {
        // A fingerprint takes one byte.
        self.0.memory_usage() - size_of_val(&self.0)
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.add(&key).is_ok()
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.test_and_add(&key).is_ok_and(|added| added)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.delete(&key)
    }
}

/// Sequential. Grows by a second table when full, which counts as full here.
pub struct Scalable {
    filter: scalable_cuckoo_filter::ScalableCuckooFilter<u64, FixedHasher>,
    slots: usize,
}

impl Peer for Scalable {
    const NAME: &'static str = "scalable_cuckoo_filter";

    fn build(slots: usize) -> Self {
        let filter = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new()
            .initial_capacity(slots)
            // Its first table is made for half of this, which takes 16 bits.
            .false_positive_probability(1.0 / 4096.0)
            .hasher(FixedHasher::default())
            .finish();
        let slots = filter.capacity();
        Self { filter, slots }
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + (self.filter.bits() / 8) as usize
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.filter.insert(&key);
        self.filter.capacity() < 2 * self.slots
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.filter.insert_if_not_contained(&key)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.filter.remove(&key)
    }
}

/// Sequential, a quotient filter with remainders of 13 bits.
pub struct Quotient(qfilter::Filter<Box<[u8]>, DefaultHashBuilder>);

impl Peer for Quotient {
    const NAME: &'static str = "qfilter";

    fn build(slots: usize) -> Self {
        // It holds 95 % of its slots, and the rate is that of this many.
        let (items, rate) = (slots as u64 * 19 / 20, 1.0 / 8192.0);
        let mut filter =
            qfilter::Filter::new_with_hasher(items, rate, DefaultHashBuilder::default())
                .expect("the size is within its limits");
        filter.clear();
        Self(filter)
    }

    fn slots(&self) -> usize {
        (self.0.capacity() * 20 / 19) as usize
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.0.memory_usage()
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.0.contains(key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.0.insert_duplicated(key).is_ok()
    }

    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        self.0.insert(key).is_ok_and(|added| added)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> bool {
        self.0.remove(key)
    }
}

/// A Bloom filter, concurrent, for 95 % of the slots at the rate of the others.
pub struct Bloom {
    filter: fastbloom::AtomicBloomFilter<DefaultHashBuilder>,
    slots: usize,
}

impl Peer for Bloom {
    const NAME: &'static str = "fastbloom";
    const REMOVES: bool = false;

    fn build(slots: usize) -> Self {
        let filter = fastbloom::AtomicBloomFilter::with_false_pos(RATE)
            .hasher(DefaultHashBuilder::default())
            .expected_items(slots * 19 / 20);
        Self { filter, slots }
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.filter.num_bits() / 8
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    /// Its insert says whether all bits were set before.
    #[inline]
    fn insert_unique(&mut self, key: u64) -> bool {
        !self.filter.insert(&key)
    }
}

impl Shared for Bloom {
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        self.filter.insert(&key);
        true
    }
}

/// `cuckoofilter` behind one lock of either kind.
macro_rules! locked {
    ($($type:ident $name:literal $lock:ident $read:ident $write:ident;)*) => {$(
        #[doc = concat!("`", $name, "`.")]
        pub struct $type($lock<Sequential>);

        impl Peer for $type {
            const NAME: &'static str = $name;

            fn build(slots: usize) -> Self {
                Self($lock::new(Sequential::build(slots)))
            }

            fn slots(&self) -> usize {
                self.0.$read().slots()
            }

            fn bytes(&self) -> usize {
                self.0.$read().bytes()
            }

            #[inline]
            fn contains(&self, key: u64) -> bool {
                self.0.$read().contains(key)
            }

            #[inline]
            fn insert(&mut self, key: u64) -> bool {
                self.insert_shared(key)
            }

            #[inline]
            fn insert_unique(&mut self, key: u64) -> bool {
                self.0.$write().insert_unique(key)
            }

            #[inline]
            fn remove(&mut self, key: u64) -> bool {
                self.remove_shared(key)
            }
        }

        impl Shared for $type {
            #[inline]
            fn insert_shared(&self, key: u64) -> bool {
                self.0.$write().insert(key)
            }

            #[inline]
            fn remove_shared(&self, key: u64) -> bool {
                self.0.$write().remove(key)
            }
        }
    )*};
}

locked! {
    BehindRwLock "RwLock<cuckoofilter>" RwLock read write;
    BehindMutex "Mutex<cuckoofilter>" Mutex lock lock;
}
