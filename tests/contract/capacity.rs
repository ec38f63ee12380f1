//! The number of slots of a filter with some capacity, and the capacities that are refused.
//!
//! The reference computes them from the documentation of the layouts. So a table for one item less, or 1 % smaller,
//! fails the test.

use coucal::Error;
use coucal_reference::format;

use crate::common::Layout;

of_each_layout! {
    every_capacity_has_the_slots_it_needs
    too_many_slots_are_refused
}

fn every_capacity_has_the_slots_it_needs(layout: Layout) {
    let slots = |capacity| layout.filter(capacity).slots();
    let expected_slots =
        |items| format::size(items as u64, layout).expect("few items") as usize * layout.slots;
    for capacity in (0..2000).chain((2000..50_000).step_by(41)) {
        assert_eq!(slots(capacity), expected_slots(capacity), "capacity {capacity}");
    }
    // Finds the last capacity of one table and the first of the next one.
    for near in [1000, 12_345, 100_000, 1_000_000, 5_000_000] {
        let table = expected_slots(near);
        let next = (near..near + 100)
            .find(|&items| expected_slots(items) > table)
            .expect("one more pair of buckets has no more than 16 slots");
        assert_eq!(slots(next - 1), table, "capacity {}", next - 1);
        assert_eq!(slots(next), table + 2 * layout.slots, "capacity {next}");
    }
}

/// A stripe counts its slots in 32 bits, and there are up to 2^12 stripes. So a table of more than 2^44 slots is
/// refused, whether or not there is memory for it. At one of these capacities the bound was once computed wrongly, in
/// floating point.
fn too_many_slots_are_refused(layout: Layout) {
    let build = |capacity| layout.filters().capacity(capacity).build();
    let odd = 4_427_218_572_640_462_081;
    let capacities: [u64; 8] =
        [1 << 44, (1 << 44) + 1, 1 << 45, 1 << 50, 1 << 56, odd, 1 << 62, u64::MAX];
    for capacity in capacities.into_iter().filter_map(|items| usize::try_from(items).ok()) {
        let error = build(capacity).err();
        let is_named = matches!(error, Some(Error::CapacityOverflow { capacity: asked, .. }) if asked == capacity);
        assert!(is_named, "{error:?}");
    }
    // A table of fewer slots may be refused for lack of memory, and for no other reason.
    let capacity = usize::try_from((1_u64 << 44) / 4 * 3).unwrap_or(usize::MAX);
    let error = build(capacity).err();
    assert!(matches!(error, None | Some(Error::OutOfMemory { .. })), "{error:?}");
}
