//! Maplets: what `CuckooMaplet` promises.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod growth;
mod model;
mod promises;
mod rates;
mod reference;
mod snapshots;
mod stress;

use coucal::{
    CuckooMaplet, FixedStorage, Growable, GrowingLayout, Layout, StableHashBuilder, Storage,
};

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Maplet<L> = CuckooMaplet<L, StableHashBuilder>;

fn fixed<L: FixedStorage>(pairs: usize, value_bits: u32) -> Maplet<L> {
    let builder = CuckooMaplet::builder().layout::<L>().hasher(HASHER).capacity(pairs);
    builder.value_bits(value_bits).build().expect("memory for a test")
}

/// One that grows from the first capacity to the greatest.
fn growing<L: GrowingLayout>(first: usize, most: usize, value_bits: u32) -> Maplet<Growable<L>> {
    let builder = CuckooMaplet::builder().layout::<L>().hasher(HASHER).capacity(first);
    builder.max_capacity(most).value_bits(value_bits).build().expect("memory for a test")
}

/// The largest maplet of at most `slots` slots.
fn with_slots<L: Layout>(slots: usize, value_bits: u32) -> Maplet<L> {
    let (mut fits, mut too_many) = (0, slots + 1);
    while too_many - fits > 1 {
        let capacity = usize::midpoint(fits, too_many);
        if fixed::<L>(capacity, value_bits).slots() <= slots {
            fits = capacity;
        } else {
            too_many = capacity;
        }
    }
    fixed(fits, value_bits)
}

/// The greatest capacity of a maplet that grows from the fewest rows, if that is no more than `most`.
fn from_the_fewest_rows<L: GrowingLayout + Layout>(most: usize, value_bits: u32) -> usize {
    let is_within =
        |pairs| growing::<L>(0, pairs, value_bits).slots() == common::LEAST_ROWS * L::SLOTS;
    let (mut within, mut beyond) = (0, most + 1);
    while beyond - within > 1 {
        let pairs = usize::midpoint(within, beyond);
        *(if is_within(pairs) { &mut within } else { &mut beyond }) = pairs;
    }
    within
}

/// The longest values of a maplet of fixed size, as the documentation has it.
fn longest_values<L: Layout>() -> u32 {
    let shortest_fingerprint = match L::SLOTS {
        2 => 9,
        3 => 7,
        4 | 5 => 6,
        _ => 5,
    };
    L::FINGERPRINT_BITS - shortest_fingerprint
}

/// The lengths of values that the tests have, as far as they fit, and the longest.
fn widths<L: Layout>() -> Vec<u32> {
    widths_up_to(longest_values::<L>())
}

/// The same of maplets that grow.
fn widths_that_grow<L: Layout>() -> Vec<u32> {
    widths_up_to(common::doublings::<L>() - 1)
}

fn widths_up_to(longest: u32) -> Vec<u32> {
    [1, 4, 8, 16].into_iter().filter(|&bits| bits < longest).chain([longest]).collect()
}

/// The largest value of this length.
fn largest(value_bits: u32) -> u32 {
    (1 << value_bits) - 1
}

/// The candidates of a key, in ascending order.
fn candidates<L: Storage, S>(maplet: &CuckooMaplet<L, S>, hash: u64) -> Vec<u32> {
    let mut candidates: Vec<u32> = maplet.get_hash(hash).collect();
    candidates.sort_unstable();
    candidates
}
