//! Kicks against lookups.

use loom_tests::model::*;

use crate::{by_slots, fewer_if_wide, last_slot, one_hop, two_hops};

models! {
    // One thread inserts `new`, which moves `moved`; the other looks up `moved`.
    kick_against_lookup_in_its_direction: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [contains(moved)], 170, 3, by_every_schedule;
    kick_against_lookup_the_other_way: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [contains(moved)], 170, 3, by_every_schedule;
    kick_against_two_lookups: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)]
        || [contains(moved)]
        || [contains(moved.swapped()), maybe(contains(new)), contains(moved)], 20_000, 2;
    // The lookup may read bucket 0 as the removal of `new` left it, or the second insert into the slot that it freed.
    // These stores, too, must make the kick before them visible.
    kick_removal_and_insert_against_lookup: [moved, new, filler] = one_hop::<L>(3, 0)
        => [insert(new), remove(new), insert(filler)] || [contains(moved)], 710, 3;
    two_hops_against_lookups_in_their_direction:
        [near, far, new, ..] = two_hops::<L>((0, 3), (3, 2))
        => [insert(new)] || [contains(near), contains(far)], 2500, 3;
    two_hops_against_lookups_the_other_way: [near, far, new, ..] = two_hops::<L>((3, 0), (2, 3))
        => [insert(new)] || [contains(far), contains(near)], 6200, 3;
    // One insert moves an item to its other bucket, and a second insert moves it back, during a lookup.
    there_and_back_against_lookup: [moved, new, back, ..] = last_slot::<L>(0, 3)
        => [insert(new), remove(new), insert(back)] || [contains(moved)], 500, 2;
    there_and_back_against_lookup_the_other_way: [moved, new, back, ..] = last_slot::<L>(3, 0)
        => [insert(new), remove(new), insert(back)] || [contains(moved)], 500, 2;
    // Two threads kick one item in opposite directions, if the first thread gets the free slot.
    opposite_kicks: [moved, new, back, ..] = last_slot::<L>(3, 0)
        => [does(move |t| !t.insert(new) || t.remove(new)), contains(moved)]
        || [maybe(insert(back)), contains(moved)],
        by_slots::<L>([650, 2600, 30_000, 55_000, 100_000, 45_000, 90_000]), fewer_if_wide::<L>(1);
    // A lookup that happens after the insert finds the item, and one that happens after the removal does not.
    what_is_known_is_found: [_, new, filler] = one_hop::<L>(0, 3)
        => [insert(new), send(0), remove(new), send(1), insert(filler)]
        || [receive(1), receive(0), maybe(contains(new)), maybe(contains(new))], 160, 2;
}
