//! What several tests need: a test for each layout, hashes, and filters with a given number of slots.

#![allow(dead_code, unused_macros, reason = "each test uses a part of it")]

pub mod families;

use coucal::{CuckooFilter, DefaultHashBuilder, GrowableCuckooFilter, Layout, Storage};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Makes a test for each layout of each of these functions, which are generic over it:
/// `name::Fp16x4` and so on.
macro_rules! of_each_layout {
    ([$($test:ident)*] $($layout:ident)*) => {
        of_each_layout!(@tests [$($layout)*] $($test)*);
    };
    (@tests $layouts:tt $($test:ident)*) => {
        $(of_each_layout!(@test $test $layouts);)*
    };
    (@test $test:ident [$($layout:ident)*]) => {
        #[allow(non_snake_case, reason = "named after the layouts")]
        mod $test {
            $(#[test]
            fn $layout() {
                super::$test::<coucal::$layout>();
            })*
        }
    };
    ($($test:ident)*) => {
        coucal::__for_each_layout!(of_each_layout [$($test)*]);
    };
}

pub type Filter<L> = CuckooFilter<L, DefaultHashBuilder>;
pub type Growing<L> = GrowableCuckooFilter<L, DefaultHashBuilder>;

pub fn with_capacity<L: Layout>(capacity: usize) -> Filter<L> {
    CuckooFilter::builder().layout::<L>().capacity(capacity).build().expect("memory for a test")
}

/// One that grows from the first capacity to the greatest.
pub fn growing<L: Layout>(capacity: usize, max_capacity: usize) -> Growing<L> {
    let builder = CuckooFilter::builder().capacity(capacity).max_capacity(max_capacity);
    builder.layout::<L>().build().expect("memory for a test, and growth within reach")
}

/// The share of slots in use that a filter which grows keeps, as the documentation has it.
pub fn target<L: Layout>() -> f64 {
    match L::SLOTS {
        8 => 0.91,
        7 => 0.905,
        6 => 0.90,
        5 => 0.885,
        4 => 0.87,
        3 => 0.83,
        2 => 0.75,
        slots => panic!("no layout has {slots} slots"),
    }
}

/// The rows of the smallest filter that grows.
pub const LEAST_ROWS: usize = 32;

/// The greatest capacity that a filter of this layout can have, if it is no more than `most`.
pub fn greatest<L: Layout>(capacity: usize, most: usize) -> usize {
    let builder = CuckooFilter::builder().layout::<L>().capacity(capacity);
    let reaches = |items| builder.clone().max_capacity(items).build().is_ok();
    if reaches(most) {
        return most;
    }
    let (mut within, mut beyond) = (capacity, most);
    while beyond - within > 1 {
        let items = usize::midpoint(within, beyond);
        *(if reaches(items) { &mut within } else { &mut beyond }) = items;
    }
    within
}

/// The slots of a filter with this greatest capacity when it has grown as far as it may.
pub fn greatest_slots<L: Layout>(max_capacity: usize) -> usize {
    growing::<L>(max_capacity, max_capacity).slots()
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
pub fn fill<L: Storage, S>(
    filter: &CuckooFilter<L, S>,
    hashes: impl Iterator<Item = u64>,
) -> usize {
    hashes.take_while(|&hash| filter.insert_hash(hash).is_ok()).count()
}
