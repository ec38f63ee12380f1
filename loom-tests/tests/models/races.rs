//! Writers against writers: the last slot, crossing paths, equal fingerprints, full tables.

use coucal::Layout;
use loom_tests::model::*;

use crate::{With, by_slots, fewer_if_wide, last_slot, one_hop, one_item, with};

models! {
    // Exactly one of the two gets it, as the checker knows.
    two_inserts_for_the_last_slot: [x, y, _] = with(
        Setup::<L>::new(2), [(0, 1), (1, 0), (0, 1)],
        |s, [_, _, filler]| s.fill(0, filler).fill_but_one(1, filler),
    ) => [maybe(insert(x))] || [maybe(insert(y))], 51, 3, by_every_schedule;
    // One of them has to kick for it.
    insert_and_kick_for_the_last_slot: [kicks, _, _, direct, _] = with(
        Setup::<L>::new(4), [(0, 1), (0, 1), (3, 0), (3, 0), (3, 0)],
        |s, [_, low, moved, _, high]| {
            s.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high)
        },
    ) => [maybe(insert(kicks))] || [maybe(insert(direct))],
        by_slots::<L>([150, 570, 2200, 18_000, 38_000, 600, 800]), fewer_if_wide::<L>(2);
    // Both have to kick, out of the two buckets that they share, and they move different items.
    two_kicks_for_the_last_slot: [x, y, ..] = two_kicks::<L>(|s, high| s.fill(2, high))
        => [maybe(insert(x))] || [maybe(insert(y))],
        by_slots::<L>([350, 700, 1000, 1500, 2300, 230, 290]), fewer_if_wide::<L>(2);
    // There is room for both after one hop each, and each may find its path stale.
    two_kicks_for_two_slots: [x, y, _, left, ..] = two_kicks::<L>(|s, high| s.fill_but_one(2, high))
        => [insert(x)] || [insert(y)] || [contains(left)], 3600, 2;
    // The middle hop of a path moves an item from bucket 3 to bucket 2. Another thread writes to both at the same time.
    two_hops_into_a_bucket_that_others_use: [new, _, _, guest, _, high] = with(
        Setup::<L>::new(4), [(0, 1), (0, 1), (3, 0), (2, 1), (3, 2), (3, 0)],
        |s, [_, low, near, _, far, high]| {
            s.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high)
        },
    ) => [insert(new)] || [insert(guest), remove(high)], 270, 2;
    // A path from 0 to 3 and one from 3 to 0 at the same time: when one thread has found its path, the other one fills
    // bucket 3, frees a slot of 0, and kicks the other way. There is no deadlock, and nothing is lost.
    crossing_paths: [x, gap, _, y, _, _, _, plug, _] = with(
        Setup::<L>::new(4),
        [(0, 1), (0, 1), (0, 1), (2, 3), (2, 3), (3, 0), (3, 0), (3, 0), (3, 0)],
        |s, [_, gap, low, _, high, down, up, _, mid]| {
            s.store(0, &[down, gap]).fill(0, low).fill(1, low);
            s.fill(2, high).store(3, &[up]).fill_but_one(3, mid)
        },
    ) => [maybe(insert(x))] || [maybe(insert(plug)), remove(gap), maybe(insert(y))],
        by_slots::<L>([570, 2000, 6200, 16_000, 35_000, 65_000, 95_000]), 1;
    // The removal finds the item in one bucket, and the item is moved to the other: the removal must try again.
    removal_of_what_is_kicked_in_its_direction: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [remove(moved), !remove(moved)], 310, 3;
    removal_of_what_is_kicked_the_other_way: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [remove(moved), !remove(moved)], 310, 3;
    // Another item is removed from the bucket that a kick fills.
    removal_beside_a_kick: [moved, new, .., high] = last_slot::<L>(0, 3)
        => [insert(new)] || [remove(high.swapped()), contains(moved)], 120, 2, by_every_schedule;
    two_removals_of_one_copy: [x] = one_item::<L, 1>([1])
        => [maybe(remove(x))] || [maybe(remove(x.swapped()))], 40, 3, by_every_schedule;
    // Each removal looks first at the bucket that the next one looks at second.
    three_removals_of_two_copies: [x] = one_item::<L, 2>([0, 1])
        => [maybe(remove(x))] || [maybe(remove(x.swapped()))] || [maybe(remove(x))], 12_000, 2;
    // The duplicate rule: a copy is stored in one bucket, then one is removed from the other. The lookup reads the two
    // buckets in the opposite order.
    copy_in_and_copy_out_against_lookup: [x] = one_item::<L, 1>([0])
        => [insert(x), remove(x)] || [contains(x.swapped())], 180, 3, by_every_schedule;
    // A removal looks at the other bucket, and clears its own. In between a copy is stored in that other bucket, and
    // both are counted. There always was one, so the lookup must find it.
    copy_in_counted_and_copy_out_against_lookup: [x] = one_item::<L, 1>([1])
        => [remove(x)] || [insert(x), maybe(count(x, 1))] || [maybe(contains(x))], 5200, 2;
    insert_removal_and_lookup_of_one_item: [x] = one_item::<L, 1>([0])
        => [insert(x)]
        || [remove(x)]
        || [maybe(contains(x.swapped())), maybe(contains(x.swapped()))], 5200, 2;
    // Two inserts and two removals of one item, in which the copies change places.
    two_writers_of_one_item_against_lookup: [x] = one_item::<L, 1>([0])
        => [insert(x), remove(x)]
        || [insert(x.swapped()), remove(x.swapped())]
        || [contains(x.swapped())], 85_000, 2;
    // One copy more than two buckets hold, unless the removal comes first.
    one_copy_too_many_against_removal: [x] = with(
        Setup::<L>::new(2), [(0, 1)], |s, [x]| s.fill(0, x).fill(1, x),
    ) => [maybe(insert(x))] || [remove(x)], 200, 3;
    // The item that a kick would move is removed after the search for a path has begun. There is room at any time:
    // first behind that item, then in its place.
    slot_freed_during_a_search: [new, _, moved, ..] = with(
        Setup::<L>::new(4), [(0, 1), (0, 1), (0, 3), (3, 0), (1, 2)],
        |s, [_, low, moved, high, rest]| {
            s.store(0, &[moved]).fill(0, low).fill_but_one(3, high).fill(1, rest).fill(2, rest)
        },
    ) => [insert(new)] || [remove(moved)], 52, 2;
    // The same one hop further away. There is a path at any time.
    slot_freed_deeper_in_a_search: [new, .., far] = with(
        Setup::<L>::new(6), [(0, 1), (0, 3), (3, 0), (1, 2), (3, 4)],
        |s, [_, near, mid, rest, far]| {
            s.fill(0, near).store(3, &[far]).fill(3, mid).fill(1, rest).fill(2, rest)
        },
    ) => [insert(new), does(|t| t.stashed() == 0)] || [remove(far)], 240, 2;
    // An insert that finds no room changes nothing that other threads see.
    failed_insert_against_everything: [x, y, outsider, new] = with(
        Setup::<L>::new(2), [(0, 1), (1, 0), (0, 1), (1, 0)],
        |s, [x, y, ..]| s.store(0, &[y]).fill(0, x).store(1, &[x]).fill(1, y),
    ) => [maybe(insert(outsider))]
        || [remove(x), maybe(insert(new))]
        || [contains(y), contains(x)],
        by_slots::<L>([2000, 4500, 9000, 20_000, 35_000, 65_000, 105_000]), 1;
    // The same while a kick takes the last slot.
    failed_insert_against_kick: [kicks, outsider, _, moved, _] = with(
        Setup::<L>::new(4), [(0, 1), (1, 0), (0, 1), (3, 0), (3, 0)],
        |s, [_, _, low, moved, high]| {
            s.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high)
        },
    ) => [maybe(insert(outsider))] || [maybe(insert(kicks))] || [contains(moved)],
        by_slots::<L>([1500, 2500, 4000, 5500, 7500, 10_000, 23_000]), 1;
}

/// Buckets 0 and 1 are full. Inserts of `x` and `y` can move `left` from 0 to 3, where there is one free slot, and
/// `right` from 1 to 2, which `fill_2` fills.
///
/// `[x, y, low, left, right, high]`.
fn two_kicks<L: Layout>(fill_2: fn(&mut Setup<L>, Item) -> &mut Setup<L>) -> With<L, 6> {
    let buckets = [(0, 1), (1, 0), (0, 1), (0, 3), (2, 1), (2, 3)];
    with(Setup::new(4), buckets, |s, [_, _, low, left, right, high]| {
        s.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
        fill_2(s, high).fill_but_one(3, high)
    })
}
