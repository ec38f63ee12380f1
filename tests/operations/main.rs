//! Operations of one thread against an exact model: random sequences down to the tiniest table, and growth
//! over all doublings.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod growth;
mod random;

use coucal_reference::format::Geometry;

use common::{Layout, hashes};

/// The lengths of values that the tests have, as far as they fit, and the longest.
fn widths(longest: u32) -> Vec<u32> {
    [1, 4, 8, 16].into_iter().filter(|&bits| bits < longest).chain([longest]).collect()
}

/// Pairs of hashes of one class in a growing table with the fewest rows, which differ in their extra bits.
fn twins(layout: Layout, value_bits: u32, pairs: usize) -> Vec<[u64; 2]> {
    let geometry = layout.growing_geometry(common::LEAST_ROWS, value_bits);
    let Geometry { rows, .. } = geometry;
    let classes = (rows / 2 * geometry.cores()) << geometry.doublings();
    // Among n items there are n^2/2 pairs.
    let candidates = 1.5 * (2.0 * pairs as f64 * classes as f64).sqrt();
    let mut items: Vec<(u64, u64)> = hashes(97)
        .take(candidates as usize)
        .map(|hash| {
            let (core, row, _, chain) = geometry.class(hash);
            ((core * rows + row) << geometry.doublings() | chain, hash)
        })
        .collect();
    items.sort_unstable();
    let of_one_class = items.chunk_by(|one, other| one.0 == other.0);
    let twins = of_one_class.filter(|items| items.len() > 1).map(|items| [items[0].1, items[1].1]);
    let mut twins: Vec<[u64; 2]> = twins.collect();
    assert!(twins.len() >= pairs, "{} of {pairs}", twins.len());
    // In no order of classes.
    twins.sort_unstable();
    twins.truncate(pairs);
    twins
}
