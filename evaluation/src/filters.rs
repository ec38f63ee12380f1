//! The filters of table 3 and figures 5 to 8 behind one trait, each made for so many bytes.
//!
//! Items are `u64`. All that take a `BuildHasher` get coucal's own.

use coucal::{
    CuckooFilter, DefaultHashBuilder, Fp12x5, Fp16x4, Layout, SemiSorted14x5, SemiSorted17x4,
};
use coucal_benches::peers::FixedHasher;
use fastbloom_rs::{Deletable, Membership};
use std::hash::BuildHasher;

/// Bits that a Bloom filter gets for each item, as in table 3 of the paper.
pub const BLOOM_BITS: usize = 13;
/// The hash functions that are best for so many bits: 13 ln 2.
const BLOOM_HASHES: u32 = 9;
/// Bits of a counter of a counting Bloom filter.
const COUNTER_BITS: usize = 4;

/// A filter as one thread sees it; lookups are for several.
pub trait Subject: Send + Sync {
    fn bytes(&self) -> usize;
    /// How many items count as a load of 100 %: the slots, or what a Bloom filter was made for.
    fn full(&self) -> usize;
    /// How many of the keys are said to be there.
    fn look(&self, keys: &[u64]) -> usize;
    /// Inserts until one fails, and says how many were stored.
    fn insert(&mut self, keys: &[u64]) -> usize;
    /// How many of the keys were there, and are not any more.
    fn remove(&mut self, keys: &[u64]) -> usize;
    /// For several writers, if the filter is.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

/// A filter as several writers see it.
pub trait Shared: Sync {
    fn insert_shared(&self, keys: &[u64]) -> usize;
    fn remove_shared(&self, keys: &[u64]) -> usize;
}

/// Runs an insert for each key until one says no.
fn until_refused(keys: &[u64], mut insert: impl FnMut(u64) -> bool) -> usize {
    keys.iter().take_while(|key| insert(**key)).count()
}

fn count(keys: &[u64], mut yes: impl FnMut(u64) -> bool) -> usize {
    keys.iter().filter(|key| yes(**key)).count()
}

/// A filter that takes part.
pub struct Contender {
    pub name: &'static str,
    pub what: &'static str,
    pub removes: bool,
    pub shared: bool,
    build: fn(usize) -> Box<dyn Subject>,
}

impl Contender {
    /// Empty, in so many bytes or a few less, its memory touched.
    pub fn build(&self, bytes: usize) -> Box<dyn Subject> {
        (self.build)(bytes)
    }
}

/// Everything that takes part, coucal first.
pub const CONTENDERS: [Contender; 9] = [
    Contender {
        name: "Fp12x5",
        what: "coucal, the nearest to the paper's cuckoo filter",
        removes: true,
        shared: true,
        build: boxed_coucal::<Fp12x5>,
    },
    Contender {
        name: "SemiSorted14x5",
        what: "coucal, semi-sorted",
        removes: true,
        shared: true,
        build: boxed_coucal::<SemiSorted14x5>,
    },
    Contender {
        name: "Fp16x4",
        what: "coucal, the default layout",
        removes: true,
        shared: true,
        build: boxed_coucal::<Fp16x4>,
    },
    Contender {
        name: "SemiSorted17x4",
        what: "coucal, semi-sorted",
        removes: true,
        shared: true,
        build: boxed_coucal::<SemiSorted17x4>,
    },
    Contender {
        name: "Bloom",
        what: "fastbloom's atomic one, 13 bits an item, the hash functions that it chooses",
        removes: false,
        shared: true,
        build: |bytes| Box::new(Bloom::new(bytes)),
    },
    Contender {
        name: "blocked Bloom",
        what: "sbbf-rs-safe, a split block of 256 bits for each item, 13 bits an item",
        removes: false,
        shared: false,
        build: |bytes| Box::new(Blocked::new(bytes)),
    },
    Contender {
        name: "counting Bloom",
        what: "fastbloom-rs, 13 counters of 4 bits an item, 9 hash functions",
        removes: true,
        shared: false,
        build: |bytes| Box::new(Counting::new(bytes)),
    },
    Contender {
        name: "quotient",
        what: "qfilter, 9 bits of remainder, a power of two of slots",
        removes: true,
        shared: false,
        build: |bytes| Box::new(Quotient::new(bytes)),
    },
    Contender {
        name: "atomic-cuckoo-filter",
        what: "16 bits, 4 slots, a power of two of slots",
        removes: true,
        shared: true,
        build: |bytes| Box::new(Atomic::new(bytes)),
    },
];

/// The filter of this layout that has the most slots in so many bytes.
pub fn coucal_of<L: Layout>(bytes: usize) -> CuckooFilter<L> {
    let build = |capacity| {
        let builder = CuckooFilter::builder().layout::<L>().capacity(capacity);
        builder.build().expect("the bytes are there")
    };
    let (mut fits, mut too_large) = (0, 1 + bytes / size_of::<u64>() * L::SLOTS);
    while fits + 1 < too_large {
        let capacity = fits.midpoint(too_large);
        if build(capacity).memory_bytes() <= bytes {
            fits = capacity;
        } else {
            too_large = capacity;
        }
    }
    let filter = build(fits);
    // Touches the memory.
    filter.clear();
    filter
}

fn boxed_coucal<L: Layout>(bytes: usize) -> Box<dyn Subject> {
    Box::new(coucal_of::<L>(bytes))
}

impl<L: Layout> Subject for CuckooFilter<L> {
    fn bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn full(&self) -> usize {
        self.slots()
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.contains(&key))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        self.insert_shared(keys)
    }

    fn remove(&mut self, keys: &[u64]) -> usize {
        self.remove_shared(keys)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl<L: Layout> Shared for CuckooFilter<L> {
    fn insert_shared(&self, keys: &[u64]) -> usize {
        until_refused(keys, |key| CuckooFilter::insert(self, &key).is_ok())
    }

    fn remove_shared(&self, keys: &[u64]) -> usize {
        count(keys, |key| CuckooFilter::remove(self, &key))
    }
}

struct Bloom(fastbloom::AtomicBloomFilter<DefaultHashBuilder>);

impl Bloom {
    fn new(bytes: usize) -> Self {
        let bits = 8 * bytes;
        let filter = fastbloom::AtomicBloomFilter::with_num_bits(bits)
            .hasher(DefaultHashBuilder::default())
            .expected_items(bits / BLOOM_BITS);
        filter.clear();
        Self(filter)
    }
}

impl Subject for Bloom {
    fn bytes(&self) -> usize {
        size_of_val(self) + self.0.num_bits() / 8
    }

    fn full(&self) -> usize {
        self.0.num_bits() / BLOOM_BITS
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.0.contains(&key))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        self.insert_shared(keys)
    }

    fn remove(&mut self, _keys: &[u64]) -> usize {
        0
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for Bloom {
    fn insert_shared(&self, keys: &[u64]) -> usize {
        until_refused(keys, |key| {
            self.0.insert(&key);
            true
        })
    }

    fn remove_shared(&self, _keys: &[u64]) -> usize {
        0
    }
}

struct Blocked {
    filter: sbbf_rs_safe::Filter,
    hasher: DefaultHashBuilder,
}

impl Blocked {
    fn new(bytes: usize) -> Self {
        let mut filter = sbbf_rs_safe::Filter::new(8, bytes);
        filter.reset();
        Self { filter, hasher: DefaultHashBuilder::default() }
    }
}

impl Subject for Blocked {
    fn bytes(&self) -> usize {
        size_of_val(self) + self.filter.as_bytes().len()
    }

    fn full(&self) -> usize {
        8 * self.filter.as_bytes().len() / BLOOM_BITS
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.filter.contains_hash(self.hasher.hash_one(key)))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        until_refused(keys, |key| {
            self.filter.insert_hash(self.hasher.hash_one(key));
            true
        })
    }

    fn remove(&mut self, _keys: &[u64]) -> usize {
        0
    }
}

struct Counting {
    filter: fastbloom_rs::CountingBloomFilter,
    counters: usize,
}

impl Counting {
    fn new(bytes: usize) -> Self {
        let counters = 8 * bytes / COUNTER_BITS;
        let mut builder =
            fastbloom_rs::FilterBuilder::from_size_and_hashes(counters as u64, BLOOM_HASHES);
        Self { filter: builder.build_counting_bloom_filter(), counters }
    }
}

impl Subject for Counting {
    fn bytes(&self) -> usize {
        size_of_val(self) + self.counters * COUNTER_BITS / 8
    }

    fn full(&self) -> usize {
        self.counters / BLOOM_BITS
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.filter.contains(&key.to_le_bytes()))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        until_refused(keys, |key| {
            self.filter.add(&key.to_le_bytes());
            true
        })
    }

    /// Its removal does not say whether the item was there.
    fn remove(&mut self, keys: &[u64]) -> usize {
        for key in keys {
            self.filter.remove(&key.to_le_bytes());
        }
        keys.len()
    }
}

struct Quotient(qfilter::Filter<Box<[u8]>, DefaultHashBuilder>);

impl Quotient {
    /// A power of two of slots; of those that fit, the most.
    fn new(bytes: usize) -> Self {
        // A load of 95 %, and remainders of 9 bits.
        let build = |slots: u64| {
            let (items, hasher) = (slots * 9 / 10, DefaultHashBuilder::default());
            qfilter::Filter::new_with_hasher(items, 1.0 / 512.0, hasher)
                .expect("the size is within its limits")
        };
        let mut slots = 64;
        while build(2 * slots).memory_usage() <= bytes {
            slots *= 2;
        }
        let mut filter = build(slots);
        filter.clear();
        Self(filter)
    }
}

impl Subject for Quotient {
    fn bytes(&self) -> usize {
        size_of_val(self) + self.0.memory_usage()
    }

    fn full(&self) -> usize {
        // It takes items up to 95 % of its slots.
        (self.0.capacity() * 20 / 19) as usize
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.0.contains(key))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        until_refused(keys, |key| self.0.insert_duplicated(key).is_ok())
    }

    fn remove(&mut self, keys: &[u64]) -> usize {
        count(keys, |key| self.0.remove(key))
    }
}

struct Atomic(atomic_cuckoo_filter::CuckooFilter<FixedHasher>);

impl Atomic {
    fn new(bytes: usize) -> Self {
        // Two bytes a slot.
        let slots = 1 << (bytes / 2).ilog2();
        let builder = atomic_cuckoo_filter::CuckooFilterBuilder::default().capacity(slots);
        Self(builder.build().expect("a number of slots is all there is to check"))
    }
}

impl Subject for Atomic {
    fn bytes(&self) -> usize {
        size_of_val(self) + 2 * self.0.capacity()
    }

    fn full(&self) -> usize {
        self.0.capacity()
    }

    fn look(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.0.contains(&key))
    }

    fn insert(&mut self, keys: &[u64]) -> usize {
        self.insert_shared(keys)
    }

    fn remove(&mut self, keys: &[u64]) -> usize {
        self.remove_shared(keys)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for Atomic {
    fn insert_shared(&self, keys: &[u64]) -> usize {
        until_refused(keys, |key| self.0.insert(&key).is_ok())
    }

    fn remove_shared(&self, keys: &[u64]) -> usize {
        count(keys, |key| self.0.remove(&key))
    }
}
