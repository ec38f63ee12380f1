//! Maplets: the promises of `CuckooMaplet` to one thread that filters do not make.

mod promises;
mod rates;
mod values;

use crate::common::{self, Layout};

/// The lengths of values in tests of maplets of this layout.
fn widths(layout: Layout) -> Vec<u32> {
    common::widths(layout.longest_values())
}

/// The largest value of this length.
fn largest(value_bits: u32) -> u32 {
    (1 << value_bits) - 1
}
