//! Splits against lookups, and against the operations of writers on the buckets that are split. An item that a split
//! moves *goes*; the others *stay*.
//!
//! The buckets of an item are those at the maximum size (see [`Setup`]). In a table that began with two buckets, an
//! item (2, 1) goes from bucket 0 to bucket 2 when 0 is split, and its other bucket is 1; an item (0, 1) stays.

use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{Growing, With, adding, fewer_if_wide, items, storing, usually, with};

growing_models! {
    // One thread splits a bucket, the other looks up the item that goes and the one that stays.
    split_against_lookups_in_its_direction: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [contains(goes), contains(stays)], 3500, 3, by_every_schedule;
    split_against_lookups_the_other_way: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [contains(goes.swapped()), contains(stays)], 3500, 3, by_every_schedule;
    end_of_level_against_lookups_in_its_direction: [goes, stays] = one_split::<L>(1)
        => [split(1)] || [contains(goes), contains(stays)], 3500, 3, by_every_schedule;
    end_of_level_against_lookups_the_other_way: [goes, stays] = one_split::<L>(1)
        => [split(1)] || [contains(goes.swapped()), contains(stays)], 3500, 3, by_every_schedule;
    // Two fingerprints go that have different versions.
    split_of_several_against_lookups: [x, y] = with(
        Growing::<L>::growable(2, 4), [(2, 1); 2], |s, items| s.store(0, &items),
    ) => [split(1)] || [contains(x), contains(y)], 8500, 3;
    // Two buckets are split at once, to the end of the level.
    run_of_two_against_lookups: [even, odd] = both_go::<L>()
        => [does(|t| t.split(4) == 2)] || [contains(odd), contains(even)], 67_000, 3;
    // Two splits, one after the other, each of which moves an item of the same version: the second one may overtake the
    // second round of a lookup of the item that it moves.
    two_splits_of_one_group_against_lookup: [item] = adding(
        with(Growing::<L>::growable(2, 4), [(2, 1)], |s, items| s.store(0, &items)), |s, [other]| {
            let item = s.item_of_group(3, 2, other);
            s.store(1, &[item]);
            [item]
        },
    ) => [split(1), split(1)] || [contains(item)], 10_000, 3;
    // From bucket 0 to 2 in the first level, from there to 6 in the second.
    item_that_goes_twice_against_lookup: [item] = with(
        Growing::<L>::growable(2, 8), [(6, 1)], |s, items| s.store(0, &items),
    ) => [split(2), split(3)] || [contains(item)], 40_000, usually(2);
    // A lookup that happens after an insert into the new bucket finds the item.
    insert_into_the_new_bucket_known_to_a_lookup: [new] = adding(
        one_split::<L>(0), |s, _| [s.item(2, 1)],
    ) => [split(1), insert(new), send(0)] || [receive(0), maybe(contains(new))],
        600, 2, by_every_schedule;
    // A lookup that happens after the removal of the item that has gone does not find it.
    removal_of_what_has_gone_known_to_a_lookup: [goes, _] = one_split::<L>(0)
        => [split(1), remove(goes), send(0)] || [receive(0), maybe(contains(goes))],
        800, 2, by_every_schedule;
    // The removal finds the item in the old bucket, and the item goes: the removal must try again. It counts the slot
    // where it frees it.
    removal_of_what_goes_in_its_direction: [goes, _] = one_split::<L>(0)
        => [split(1)] || [remove(goes), !remove(goes)], 10_000, 3;
    removal_of_what_goes_the_other_way: [goes, _] = one_split::<L>(0)
        => [split(1)] || [remove(goes.swapped()), !remove(goes.swapped())], 10_000, 3;
    removal_of_what_stays: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [remove(stays), !contains(stays), contains(goes)], 21_000, 3;
    // A writer writes to the new bucket as soon as the extent includes it.
    split_and_removal_beside_an_insert: [goes, new] = adding(one_split::<L>(0), |s, [goes, _]| {
        let [new, low] = s.items([(2, 1), (0, 1)]);
        s.fill(1, low);
        [goes, new]
    }) => [split(1)] || [remove(goes), insert(new)] || [maybe(contains(new))], 7000, usually(1);
    // Its other bucket is full: the insert sees room in the bucket that is split.
    insert_of_what_goes: [new, _] = with(
        Growing::<L>::growable(2, 4), [(2, 1), (0, 1)], |s, [_, low]| s.fill(1, low),
    ) => [split(1)] || [insert(new), contains(new)], 9900, 3;
    // One insert goes into the old bucket and one into the new one.
    insert_into_both_buckets_of_a_split: [goes, stays, _] = with(
        Growing::<L>::growable(2, 8), [(2, 1), (0, 1), (0, 1)], |s, [.., low]| s.fill(1, low),
    ) => [split(1)] || [insert(goes)] || [insert(stays)], 46_000, 2;
    // One of the two stores the item.
    inserts_if_absent_of_what_goes: [x] = items(Growing::<L>::growable(2, 4), [(2, 1)])
        => [split(1)]
        || [maybe(insert_if_absent(x))]
        || [maybe(insert_if_absent(x.swapped()))], 13_000, usually(1);
    insert_if_absent_of_what_is_there: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [!insert_if_absent(goes), !insert_if_absent(stays)], 3900, 3;
    // There is a copy in each bucket, of which one goes.
    count_of_what_goes: [goes, _] = storing(
        one_split::<L>(0), |s, [goes, _]| s.store(1, &[goes]),
    ) => [split(1)] || [count(goes, 2)], 1500, 3;
    // The duplicate rule: the item has a copy in bucket 1. A younger one is stored in bucket 0 and goes from there to
    // 2; then the older one is removed. A lookup may have read bucket 0 before all this.
    duplicate_that_goes_and_removal_of_the_other: [x] = with(
        Growing::<L>::growable(2, 4), [(2, 1)], |s, [x]| s.store(1, &[x]),
    ) => [split(1)] || [insert(x), remove(x.swapped())] || [contains(x)], 10_000, usually(1);
    // A removal of the only copy, in bucket 1, has begun when bucket 0 is split and a second copy is stored in the new
    // bucket. Both are counted before the first one is removed, so there is one at any time.
    removal_beside_a_copy_into_the_new_bucket: [x] = with(
        Growing::<L>::growable(2, 4), [(2, 1)], |s, [x]| s.store(1, &[x]),
    ) => [remove(x.swapped())]
        || [split(1), insert(x), maybe(count(x, 1))]
        || [maybe(contains(x))], 10_000, usually(1);
    // An item that goes while the table is cleared is not forgotten in its new bucket.
    clear_against_split: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [clear(), !contains(goes), !contains(stays)], 9600, 3;
    // Its slot is free then, and the new item needs no kick.
    kick_of_what_goes: [moved, new, _] = kick_out_of::<L>(4, 0)
        => [split(1)] || [insert(new), contains(new), contains(moved)], 5300, 2;
    // The slot of the item that goes is not a slot for the new item.
    kick_of_what_stays_for_what_goes: [moved, new, _] = kick_out_of::<L>(0, 4)
        => [split(1)] || [insert(new), contains(new), contains(moved)], 5300, 2;
    kick_of_what_goes_for_what_goes: [moved, new, _] = kick_out_of::<L>(4, 4)
        => [split(1)] || [insert(new), contains(new), contains(moved)], 5300, 2;
    unique_kick_of_what_stays_for_what_goes: [moved, new, _] = kick_out_of::<L>(0, 4)
        => [split(1)] || [insert_if_absent(new), contains(new), contains(moved)], 5300, 2;
    // The path ends in bucket 0; when that is split, in bucket 4.
    kick_into_the_bucket_that_is_split: [moved, new, _] = with(
        Growing::<L>::growable(4, 8), [(4, 3), (2, 3), (2, 3)],
        |s, [moved, _, high]| s.store(3, &[moved]).fill(3, high).fill(2, high),
    ) => [split(1)] || [insert(new), contains(moved)], 4700, 2;
    // An insert moves `far` from 1 to 0, or to 4 when that is split, and then `near` from 2 to 1.
    middle_hop_into_the_bucket_that_is_split: [far, _, new, ..] = with(
        Growing::<L>::growable(4, 8), [(4, 1), (2, 1), (2, 3), (2, 3), (2, 1)],
        |s, [far, near, _, high, low]| {
            s.store(1, &[far]).fill(1, low).store(2, &[near]).fill(2, high).fill(3, high)
        },
    ) => [split(1)] || [insert(new), contains(far)], 28_000, 2;
    // An insert moves `far` from 0, or from 4 when that is split, to 1, and then `near` from 3 to 0.
    middle_hop_out_of_the_bucket_that_is_split: [far, _, new, ..] = with(
        Growing::<L>::growable(4, 8), [(4, 1), (0, 3), (2, 3), (2, 3), (0, 3)],
        |s, [far, near, _, high, low]| {
            s.store(0, &[far]).fill(0, low).store(3, &[near]).fill(3, high).fill(2, high)
        },
    ) => [split(1)] || [insert(new), contains(far)], 21_000, 2;
    // Two threads each split a bucket, and do not split one twice.
    two_splitters: [even, odd] = both_go::<L>()
        => [split(1)] || [split(1)] || [contains(even), contains(odd)], 18_000, usually(1);
    // Both buckets are full, and half of their items go. The table grows for both inserts. One preemption takes half a
    // minute with four slots, and more with fewer or more.
    two_inserts_that_find_no_room: [x, y, ..] = with(
        Growing::<L>::growable(2, 4), [(2, 1), (0, 3), (2, 1), (0, 3)], |s, [_, _, even, odd]| {
            s.store(0, &[even]).fill(0, odd).store(1, &[odd]).fill(1, even)
        },
    ) => [insert(x)] || [insert(y)],
        if L::SLOTS == 4 { 110_000 } else { 200 }, usize::from(L::SLOTS == 4);
    // Each of two inserts may leave the load above the target. One of them splits; the other may find it doing so, and
    // goes on. Two free slots: one insert is enough to exceed the target of any layout.
    two_inserts_above_the_target: [x, y, goes, ..] = with(
        Growing::<L>::growable(4, 8), [(4, 1), (0, 3), (4, 1), (0, 3), (1, 2)],
        |s, [_, _, goes, stays, rest]| {
            s.store(0, &[goes]).fill_but_one(0, stays).fill_but_one(3, stays);
            s.fill(1, rest).fill(2, rest)
        },
    ) => [insert(x), contains(goes)] || [insert(y), contains(goes)], 50, fewer_if_wide::<L>(2);
    // An item is refused although the table grows as far as it can: the slots in use and the stashed entries together
    // are as many as the slots of a table of four buckets. Another thread splits the last bucket and inserts an item
    // for which there is room.
    full_at_the_greatest_size_only: [outsider, guest, ..] = with(
        Growing::<L>::growable(2, 4).split(1), [(0, 1), (0, 3), (0, 1), (2, 1)],
        |s, [_, _, low, high]| {
            s.fill(0, low).fill(1, low).fill(2, high);
            let stashed = [(0, 1); L::SLOTS].map(|(a, b)| s.item(a, b));
            s.stash(&stashed)
        },
    ) => [!insert(outsider)] || [does(|t| t.split(1) < 2), insert(guest)], 16_000, 1;
}

/// Two buckets at first. This one is split next, at the end of a level if it is bucket 1; it holds one item that goes
/// and one that stays.
///
/// `[goes, stays]`.
pub fn one_split<L: GrowingLayout + Layout>(bucket: usize) -> With<Growable<L>, 2> {
    let buckets = [(bucket + 2, 1 - bucket), (bucket, 1 - bucket)];
    with(Setup::growable(2, 4).split(bucket), buckets, |s, items| s.store(bucket, &items))
}

/// Two buckets at first, with one item in each that goes.
pub fn both_go<L: GrowingLayout + Layout>() -> With<Growable<L>, 2> {
    with(Setup::growable(2, 4), [(2, 1), (3, 0)], |s, [even, odd]| {
        s.store(0, &[even]).store(1, &[odd])
    })
}

/// Four buckets at first: 0 and 1 are full, 2 and 3 are empty. An insert of `new` moves `moved` from 0 to 3, while 0 is
/// split. Each of the two goes or stays.
///
/// `[moved, new, low]`.
fn kick_out_of<L: GrowingLayout + Layout>(moved: usize, new: usize) -> With<Growable<L>, 3> {
    with(Setup::growable(4, 8), [(moved, 3), (new, 1), (0, 1)], |s, [moved, _, low]| {
        s.store(0, &[moved]).fill(0, low).fill(1, low)
    })
}
