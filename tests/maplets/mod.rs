//! Maplets: what `CuckooMaplet` promises to one thread.

mod promises;
mod rates;

use coucal::{Prehashed, Storage};
use coucal_reference::ascending;

use crate::common::{self, Layout, Maplet};

/// The lengths of values in maplets of this layout.
fn widths(layout: Layout) -> Vec<u32> {
    common::widths(layout.longest_values())
}

/// The largest value of this length.
fn largest(value_bits: u32) -> u32 {
    (1 << value_bits) - 1
}

/// The candidates of a key, in ascending order.
fn candidates<L: Storage>(maplet: &Maplet<L>, hash: u64) -> Vec<u32> {
    ascending(maplet.get(&Prehashed(hash)))
}
