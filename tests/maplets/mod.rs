//! Maplets: what `CuckooMaplet` promises to one thread.

mod promises;
mod rates;
mod snapshots;

use coucal::{Prehashed, Storage};
use coucal_reference::ascending;

use crate::common::{Layout, Maplet};

/// The lengths of values that the tests have, as far as they fit, and the longest.
fn widths(layout: Layout) -> Vec<u32> {
    widths_up_to(layout.longest_values())
}

/// The same of maplets that grow.
fn widths_that_grow(layout: Layout) -> Vec<u32> {
    widths_up_to(layout.longest_values_that_grow())
}

fn widths_up_to(longest: u32) -> Vec<u32> {
    [1, 4, 8, 16].into_iter().filter(|&bits| bits < longest).chain([longest]).collect()
}

/// The largest value of this length.
fn largest(value_bits: u32) -> u32 {
    (1 << value_bits) - 1
}

/// The candidates of a key, in ascending order.
fn candidates<L: Storage>(maplet: &Maplet<L>, hash: u64) -> Vec<u32> {
    ascending(maplet.get(&Prehashed(hash)))
}
