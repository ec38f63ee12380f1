//! An intersection beside kicks and splits: what both filters hold stays, and what goes is removed once.

use loom_tests::model::*;

use crate::growth::one_split;
use crate::one_hop;

models_of_three! {
    // The intersection sees the entry in both buckets, in either, or in the stash.
    intersection_beside_a_kick: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [intersect_with_itself(), contains(moved)], 100, 2;
    intersection_beside_a_kick_the_other_way: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [intersect_with_itself(), contains(moved)], 100, 2;
    intersection_beside_a_removal: [moved, new, filler] = one_hop::<L>(0, 3)
        => [insert(new), remove(filler)] || [may_hold(moved, 0), may_hold(moved, 0)], 100, 2;
    // The other filter lacks the item that is moved: it is removed from one of its buckets. It moves to a higher
    // bucket, which the intersection reads later.
    intersection_removes_what_is_kicked: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [intersect_without(moved), maybe(contains(moved))], 200, 2;
    intersection_removes_what_is_kicked_the_other_way: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [intersect_without(moved), maybe(contains(moved))], 200, 2;
}

mod growing {
    use coucal::Growable;

    use super::*;

    growing_models! {
        // The entry is in one of the two buckets, or in both.
        entry_that_is_kicked: [moved, new, _] = one_hop::<Growable<L>>(0, 3)
            => [insert(new)] || [may_hold(moved, 64)], 10, 2;
        entry_that_is_kicked_the_other_way: [moved, new, _] = one_hop::<Growable<L>>(3, 0)
            => [insert(new)] || [may_hold(moved, 64)], 10, 2;
        // An entry of another filter knows one bit, which tells its bucket before the split and not after it.
        part_of_what_stays: [_, stays] = one_split::<L>(0)
            => [split(1)] || [may_hold(stays, 1)], 500, 2;
        // The entry knows two bits, and is looked for in one bucket: it goes there from another.
        part_of_what_goes: [goes, _] = one_split::<L>(0) => [split(1)] || [may_hold(goes, 2)], 500, 2;
        intersection_beside_a_split: [goes, stays] = one_split::<L>(0)
            => [split(1)] || [intersect_with_itself(), contains(goes), contains(stays)], 100, 2;
        intersection_removes_what_is_split: [goes, stays] = one_split::<L>(0)
            => [split(1)] || [intersect_without(goes), maybe(contains(goes)), contains(stays)], 2700, 2;
    }
}
