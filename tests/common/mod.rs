//! What several tests need: hashes, and filters with a given number of slots.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod families;

use coucal::{CuckooFilter, DefaultHashBuilder, Layout};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

pub type Filter<L> = CuckooFilter<L, DefaultHashBuilder>;

pub fn with_capacity<L: Layout>(capacity: usize) -> Filter<L> {
    CuckooFilter::builder().layout::<L>().capacity(capacity).build().expect("memory for a test")
}

/// The largest filter of at most `slots` slots.
pub fn with_slots<L: Layout>(slots: usize) -> Filter<L> {
    let (mut fits, mut too_many) = (0, slots + 1);
    while too_many - fits > 1 {
        let capacity = usize::midpoint(fits, too_many);
        if with_capacity::<L>(capacity).slots() <= slots {
            fits = capacity;
        } else {
            too_many = capacity;
        }
    }
    with_capacity(fits)
}

/// Random hashes, the same for the same seed.
pub fn hashes(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    std::iter::repeat_with(move || random.next_u64())
}

/// Inserts until one fails, and says how many went in.
pub fn fill<L: Layout>(filter: &Filter<L>, hashes: impl Iterator<Item = u64>) -> usize {
    hashes.take_while(|&hash| filter.insert_hash(hash).is_ok()).count()
}
