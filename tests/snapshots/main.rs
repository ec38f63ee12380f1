//! Snapshots and what is made of them: bytes, restored filters, merges.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod exact;
mod format;
mod hostile;
mod merge;
mod round_trip;
#[cfg(feature = "serde")]
mod serde;

use coucal::{CuckooFilter, FixedStorage, Growable, GrowingLayout, StableHashBuilder};

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Filter<L> = CuckooFilter<L, StableHashBuilder>;

fn fixed<L: FixedStorage>(items: usize) -> Filter<L> {
    let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(items);
    builder.build().expect("memory for a test")
}

fn growing<L: GrowingLayout>(first: usize, items: usize) -> Filter<Growable<L>> {
    let builder = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(first);
    builder.max_capacity(items).build().expect("memory for a test")
}
