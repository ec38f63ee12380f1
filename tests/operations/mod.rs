//! Operations of one thread against an exact model: random sequences down to the tiniest table, and growth over all
//! doublings.

mod growth;
#[path = "../exact/machine.rs"]
mod machine;
mod random;

use coucal_reference::format::Geometry;

use crate::common::{LEAST_BUCKETS, Layout, hashes};

/// Returns pairs of hashes that have one class in the smallest growing table, and differ in further bits of their
/// positions.
fn twins(layout: Layout, value_bits: u32, pairs: usize) -> Vec<[u64; 2]> {
    let geometry = Geometry { grows: true, layout, value_bits, first: LEAST_BUCKETS as u64 };
    let classes = geometry.cores() << (geometry.common_bits() - 1);
    // Among n items there are n^2/2 pairs. With four times the wanted number, the odds that these are too few are less
    // than 10^-14.
    let candidates = 2.0 * (2.0 * pairs as f64 * classes as f64).sqrt();
    let items = hashes(97).take(candidates as usize).map(|hash| (geometry.class(hash), hash));
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    let of_one_class = items.chunk_by(|one, other| one.0 == other.0);
    let twins = of_one_class.filter(|items| items.len() > 1).map(|items| [items[0].1, items[1].1]);
    let mut twins: Vec<[u64; 2]> = twins.collect();
    assert!(twins.len() >= pairs, "{} of {pairs}", twins.len());
    // In an order that does not depend on the classes.
    twins.sort_unstable();
    twins.truncate(pairs);
    twins
}
