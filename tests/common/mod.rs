//! What several tests need: a test for each layout, hashes, and filters with a given number of slots.

#![allow(dead_code, unused_macros, reason = "each test uses a part of it")]

pub mod families;
pub mod prefixes;

use coucal::{
    CuckooFilter, DefaultHashBuilder, GrowableCuckooFilter, GrowingLayout, Layout, Storage,
};
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

/// As `of_each_layout`, for the layouts of filters that grow.
macro_rules! of_each_growing_layout {
    ($($test:ident)*) => {
        coucal::__for_each_growing_layout!(of_each_layout [$($test)*]);
    };
}

pub type Filter<L> = CuckooFilter<L, DefaultHashBuilder>;
pub type Growing<L> = GrowableCuckooFilter<L, DefaultHashBuilder>;

pub fn with_capacity<L: Layout>(capacity: usize) -> Filter<L> {
    CuckooFilter::builder().layout::<L>().capacity(capacity).build().expect("memory for a test")
}

/// One that grows from the first capacity to the greatest.
pub fn growing<L: GrowingLayout>(capacity: usize, max_capacity: usize) -> Growing<L> {
    let builder = CuckooFilter::builder().capacity(capacity).max_capacity(max_capacity);
    builder.layout::<L>().build().expect("memory for a test")
}

/// The share of slots in use that a filter which grows keeps, as the documentation has it.
pub fn target<L: Layout>() -> f64 {
    match L::SLOTS {
        5 => 0.815,
        4 => 0.80,
        3 => 0.76,
        2 => 0.69,
        slots => panic!("no layout that grows has {slots} slots"),
    }
}

/// The rows of the smallest filter that grows.
pub const LEAST_ROWS: usize = 32;

/// How often a table of this layout can double, as the documentation has it.
pub fn doublings<L: Layout>() -> u32 {
    match L::SLOTS {
        5 => 5,
        4 => 9,
        3 => 12,
        2 => 19,
        slots => panic!("no layout that grows has {slots} slots"),
    }
}

/// The slots of a filter with this greatest capacity when it has grown as far as it may.
pub fn greatest_slots<L: GrowingLayout + Layout>(max_capacity: usize) -> usize {
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

/// A snapshot is as docs/format.md shows it: each line after this mark has an offset, bytes, and two spaces
/// before what they mean. Bytes that are on no line are 0.
pub fn is_on_the_page(mark: &str, written: &[u8]) {
    let page = include_str!("../../docs/format.md");
    let (_, from) = page.split_once(mark).expect("the start of the example");
    let (example, _) = from.split_once("<!-- end of example -->").expect("its end");
    let mut bytes = vec![0; written.len()];
    for line in example.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let (offset, line) = line.split_once(' ').unwrap();
        let offset: usize = offset.parse().expect("an offset");
        let (hex, _) = line.trim_start().split_once("  ").expect("what they mean");
        for (byte, hex) in bytes[offset..].iter_mut().zip(hex.split(' ')) {
            *byte = u8::from_str_radix(hex, 16).unwrap();
        }
    }
    let right = || {
        let lines = written.chunks(8).enumerate().filter(|(_, bytes)| **bytes != [0; 8]);
        lines.map(|(line, bytes)| format!("{:<4}{bytes:02x?}", 8 * line)).collect::<Vec<_>>()
    };
    assert!(bytes == written, "docs/format.md shows other bytes; these are right: {:#?}", right());
}
