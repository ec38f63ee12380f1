//! Splits against lookups, and against the operations of writers on what is split.
//!
//! The buckets of an item are those at the greatest size (see [`Setup`]): in a table that began with two buckets,
//! an item (2, 1) goes from bucket 0 to bucket 2 when 0 is split, and its other bucket is 1; an item (0, 1) stays.

use coucal::probe::Subject;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::fewer_if_wide;

growing_models! {
    split_against_lookups_in_its_direction = split_against_lookups(0, |item| item)
    split_against_lookups_the_other_way = split_against_lookups(0, Item::swapped)
    end_of_level_against_lookups_in_its_direction = split_against_lookups(1, |item| item)
    end_of_level_against_lookups_the_other_way = split_against_lookups(1, Item::swapped)
    split_against_two_lookups
    split_of_several_against_lookups
    run_of_two_against_lookups
    two_splits_of_one_group_against_lookup
    item_that_goes_twice_against_lookup
    split_against_batch_of_lookups
    what_is_known_to_go_is_found
    removal_of_what_goes_in_its_direction = removal_of_what_goes(|item| item)
    removal_of_what_goes_the_other_way = removal_of_what_goes(Item::swapped)
    removal_of_what_stays
    split_and_removal_beside_an_insert
    insert_of_what_goes
    insert_into_both_buckets_of_a_split
    unique_inserts_of_what_goes
    insert_unique_of_what_is_there
    count_of_what_goes
    duplicate_that_goes_and_removal_of_the_other
    removal_beside_a_copy_into_the_new_bucket
    clear_against_split
    // Its slot is free then, and the new item needs no kick.
    kick_of_what_goes = kick_out_of_the_bucket_that_is_split(4, 0, insert)
    // The slot that it leaves is not one for the new item.
    kick_of_what_stays_for_what_goes = kick_out_of_the_bucket_that_is_split(0, 4, insert)
    kick_of_what_goes_for_what_goes = kick_out_of_the_bucket_that_is_split(4, 4, insert)
    kick_into_the_bucket_that_is_split
    middle_hop_into_the_bucket_that_is_split
    middle_hop_out_of_the_bucket_that_is_split
    unique_kick_of_what_stays_for_what_goes = kick_out_of_the_bucket_that_is_split(0, 4, insert_unique)
    two_splitters
    two_inserts_that_find_no_room
    two_inserts_above_the_target
    full_at_the_greatest_size_only
}

/// Two buckets at first. This one is split next, at the end of a level if it is bucket 1; it holds one item that
/// goes and one that stays.
struct OneSplit<L: GrowingLayout + Layout> {
    setup: Setup<Growable<L>>,
    goes: Item,
    stays: Item,
}

impl<L: GrowingLayout + Layout> OneSplit<L> {
    fn new(bucket: usize) -> Self {
        let mut setup = Setup::growable(2, 4).split(bucket);
        let goes = setup.item(bucket + 2, 1 - bucket);
        let stays = setup.item(bucket, 1 - bucket);
        setup.store(bucket, &[goes, stays]);
        Self { setup, goes, stays }
    }
}

/// Two threads: one splits a bucket, the other looks up what goes and what stays.
fn split_against_lookups<L: GrowingLayout + Layout>(bucket: usize, order: fn(Item) -> Item) {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(bucket);
    let goes = order(goes);
    setup
        .by_every_schedule()
        .thread([split(1)])
        .thread([contains(goes), contains(stays)])
        .check(3500, 3);
}

fn split_against_two_lookups<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, .. } = OneSplit::<L>::new(0);
    setup
        .thread([split(1)])
        .thread([contains(goes)])
        .thread([contains(goes.swapped())])
        .check(22_000, 2);
}

/// Two fingerprints go that have different versions.
fn split_of_several_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let items = setup.items([(2, 1); 2]);
    setup.store(0, &items);
    setup.thread([split(1)]).thread(items.map(contains)).check(8500, 3);
}

/// Two buckets are split at once, to the end of the level.
fn run_of_two_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [even, odd] = setup.items([(2, 1), (3, 0)]);
    setup.store(0, &[even]).store(1, &[odd]);
    let both = does(|t| t.split(4) == 2);
    setup.thread([both]).thread([contains(odd), contains(even)]).check(67_000, 3);
}

/// Two splits, one after the other, each of which moves an item of the same version: the second may
/// overtake the second round of a lookup of what it moves.
fn two_splits_of_one_group_against_lookup<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let other = setup.item(2, 1);
    let item = setup.item_of_group(3, 2, other);
    setup.store(0, &[other]).store(1, &[item]);
    setup.thread([split(1), split(1)]).thread([contains(item)]).check(10_000, 3);
}

/// From bucket 0 to 2 in the first level, from there to 6 in the second.
fn item_that_goes_twice_against_lookup<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8);
    let item = setup.item(6, 1);
    setup.store(0, &[item]);
    setup.thread([split(2), split(3)]).thread([contains(item)]).check(390_000, 3);
}

fn split_against_batch_of_lookups<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    let batch = does(move |t| t.contains_many(&[stays, goes, goes.swapped()]) == [true; 3]);
    setup.thread([split(1)]).thread([batch]).check(3500, 2);
}

/// A lookup that happens after an insert into the new bucket finds the item, and one that happens
/// after its removal does not.
fn what_is_known_to_go_is_found<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    let new = setup.item(2, 1);
    setup.by_every_schedule().check_with(1200, 2, move |model| {
        let (inserted, removed) = (Signal::new(), Signal::new());
        let (inserted_too, removed_too) = (inserted.clone(), removed.clone());
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(new));
            inserted.send(t);
            assert!(t.remove(goes));
            removed.send(t);
        });
        model.thread(move |t| {
            if removed_too.received(t) {
                assert!(!t.contains(goes));
            } else if inserted_too.received(t) {
                assert!(t.contains(new));
            }
            t.contains(goes);
        });
    });
}

/// The removal finds the item in the old bucket, and it goes: the removal must try again. It counts
/// the slot where it frees it.
fn removal_of_what_goes<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let OneSplit { setup, goes, .. } = OneSplit::<L>::new(0);
    let goes = order(goes);
    setup.thread([split(1)]).thread([remove(goes), !remove(goes)]).check(10_000, 3);
}

fn removal_of_what_stays<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup
        .thread([split(1)])
        .thread([remove(stays), !contains(stays), contains(goes)])
        .check(21_000, 3);
}

/// The new bucket is written to as soon as the extent tells of it.
fn split_and_removal_beside_an_insert<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    let [new, low] = setup.items([(2, 1), (0, 1)]);
    setup.fill(1, low);
    setup
        .thread([split(1)])
        .thread([remove(goes), insert(new)])
        .thread([maybe(contains(new))])
        .check(130_000, 2);
}

/// Its other bucket is full: the insert sees room in the bucket that is split.
fn insert_of_what_goes<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [new, low] = setup.items([(2, 1), (0, 1)]);
    setup.fill(1, low);
    setup.thread([split(1)]).thread([insert(new), contains(new)]).check(9900, 3);
}

/// One insert into the old bucket and one into the new.
fn insert_into_both_buckets_of_a_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8);
    let [goes, stays, low] = setup.items([(2, 1), (0, 1), (0, 1)]);
    setup.fill(1, low);
    setup.thread([split(1)]).thread([insert(goes)]).thread([insert(stays)]).check(46_000, 2);
}

/// One of the two stores it.
fn unique_inserts_of_what_goes<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    setup
        .thread([split(1)])
        .thread([maybe(insert_unique(x))])
        .thread([maybe(insert_unique(x.swapped()))])
        .check(170_000, 2);
}

fn insert_unique_of_what_is_there<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup.thread([split(1)]).thread([!insert_unique(goes), !insert_unique(stays)]).check(3900, 3);
}

/// A copy in each bucket, of which one goes.
fn count_of_what_goes<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    setup.store(1, &[goes]);
    setup.thread([split(1)]).thread([count(goes, 2)]).check(1500, 3);
}

/// The duplicate rule: the item has a copy in bucket 1. A younger one is stored in bucket 0 and goes
/// from there to 2, then the older one is removed. A lookup may have read bucket 0 before all this.
fn duplicate_that_goes_and_removal_of_the_other<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    setup.store(1, &[x]);
    setup
        .thread([split(1)])
        .thread([insert(x), remove(x.swapped())])
        .thread([contains(x)])
        .check(820_000, 2);
}

/// A removal of the only copy, in bucket 1, has begun when bucket 0 is split and a second copy is stored
/// in the new bucket. Both are counted before the first is removed, so there is one at any time.
fn removal_beside_a_copy_into_the_new_bucket<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    setup.store(1, &[x]);
    setup
        .thread([remove(x.swapped())])
        .thread([split(1), insert(x), maybe(count(x, 1))])
        .thread([maybe(contains(x))])
        .check(590_000, 2);
}

/// What goes while the table is emptied is not forgotten in its new bucket.
fn clear_against_split<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup.thread([split(1)]).thread([clear(), !contains(goes), !contains(stays)]).check(9600, 3);
}

/// Four buckets at first: 0 and 1 are full, 2 and 3 are empty. An insert of `new` moves `moved` from 0 to
/// 3, while 0 is split. Each of the two goes or stays.
fn kick_out_of_the_bucket_that_is_split<L: GrowingLayout + Layout>(
    moved: usize,
    new: usize,
    insert: fn(Item) -> Step<Growable<L>>,
) {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [moved, new, low] = setup.items([(moved, 3), (new, 1), (0, 1)]);
    setup.store(0, &[moved]).fill(0, low).fill(1, low);
    setup.thread([split(1)]).thread([insert(new), contains(new), contains(moved)]).check(5300, 2);
}

/// The path ends in bucket 0; when that is split, in bucket 4.
fn kick_into_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [moved, new, high] = setup.items([(4, 3), (2, 3), (2, 3)]);
    setup.store(3, &[moved]).fill(3, high).fill(2, high);
    setup.thread([split(1)]).thread([insert(new), contains(moved)]).check(4700, 2);
}

/// An insert moves `far` from 1 to 0, or to 4 when that is split, and then `near` from 2 to 1.
fn middle_hop_into_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [far, near] = setup.items([(4, 1), (2, 1)]);
    let [new, high, low] = setup.items([(2, 3), (2, 3), (2, 1)]);
    setup.store(1, &[far]).fill(1, low).store(2, &[near]).fill(2, high).fill(3, high);
    setup.thread([split(1)]).thread([insert(new), contains(far)]).check(28_000, 2);
}

/// An insert moves `far` from 0, or from 4 when that is split, to 1, and then `near` from 3 to 0.
fn middle_hop_out_of_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [far, near] = setup.items([(4, 1), (0, 3)]);
    let [new, high, low] = setup.items([(2, 3), (2, 3), (0, 3)]);
    setup.store(0, &[far]).fill(0, low).store(3, &[near]).fill(3, high).fill(2, high);
    setup.thread([split(1)]).thread([insert(new), contains(far)]).check(21_000, 2);
}

/// Two threads that each split a bucket, and do not split one twice.
fn two_splitters<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [even, odd] = setup.items([(2, 1), (3, 0)]);
    setup.store(0, &[even]).store(1, &[odd]);
    let looks = [contains(even), contains(odd)];
    setup.thread([split(1)]).thread([split(1)]).thread(looks).check(170_000, 2);
}

/// Both buckets are full, and half of what they hold goes. The table grows for both inserts.
fn two_inserts_that_find_no_room<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [x, y] = setup.items([(2, 1), (0, 3)]);
    let [even, odd] = setup.items([(2, 1), (0, 3)]);
    setup.store(0, &[even]).fill(0, odd).store(1, &[odd]).fill(1, even);
    // One takes half a minute with four slots, and more with fewer or more.
    let (floor, preemptions) = if L::SLOTS == 4 { (110_000, 1) } else { (200, 0) };
    setup.thread([insert(x)]).thread([insert(y)]).check(floor, preemptions);
}

/// Each of two inserts may leave the load above the target. One of them splits; the other may find it
/// doing so, and goes on.
fn two_inserts_above_the_target<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [x, y] = setup.items([(4, 1), (0, 3)]);
    let [goes, stays, rest] = setup.items([(4, 1), (0, 3), (1, 2)]);
    // Two free slots: one insert is enough to come above the target of any layout.
    setup.store(0, &[goes]).fill_but_one(0, stays).fill_but_one(3, stays);
    setup.fill(1, rest).fill(2, rest);
    setup
        .thread([insert(x), contains(goes)])
        .thread([insert(y), contains(goes)])
        .check(50, fewer_if_wide::<L>(2));
}

/// An item has no room, though the table grows as far as it can: slots in use and stashed entries are as many as a
/// table of four buckets has slots. Another thread splits the last bucket and inserts an item that has room.
fn full_at_the_greatest_size_only<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let [outsider, guest, low] = setup.items([(0, 1), (0, 3), (0, 1)]);
    let high = setup.item(2, 1);
    setup.fill(0, low).fill(1, low).fill(2, high);
    for _ in 0..L::SLOTS {
        let stashed = setup.item(0, 1);
        setup.stash(&[stashed]);
    }
    setup
        .thread([!insert(outsider)])
        .thread([does(|t| t.split(1) < 2), insert(guest)])
        .check(16_000, 1);
}
