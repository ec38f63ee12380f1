//! Splits against lookups, and against the operations of writers on what is split.
//!
//! The buckets of an item are those at the greatest size (see [`Setup`]): in a table that began with two buckets,
//! an item (2, 1) goes from bucket 0 to bucket 2 when 0 is split, and its other bucket is 1; an item (0, 1) stays.

use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::{Item, Setup, Signal};

use crate::fewer_if_wide;

growing_models! {
    split_against_lookups_in_its_direction
    split_against_lookups_the_other_way
    end_of_level_against_lookups_in_its_direction
    end_of_level_against_lookups_the_other_way
    split_against_two_lookups
    split_of_several_against_lookups
    run_of_two_against_lookups
    two_splits_of_one_group_against_lookup
    item_that_goes_twice_against_lookup
    split_against_batch_of_lookups
    what_is_known_to_go_is_found
    removal_of_what_goes_in_its_direction
    removal_of_what_goes_the_other_way
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
    kick_of_what_goes
    kick_of_what_stays_for_what_goes
    kick_of_what_goes_for_what_goes
    kick_into_the_bucket_that_is_split
    middle_hop_into_the_bucket_that_is_split
    middle_hop_out_of_the_bucket_that_is_split
    unique_kick_of_what_stays_for_what_goes
    two_splitters
    two_inserts_that_find_no_room
    two_inserts_above_the_target
    full_at_the_greatest_size_only
}

/// Two buckets at first. This one is split next, at the end of a level if it is bucket 1; it holds one item that
/// goes and one that stays.
struct OneSplit<L: GrowingLayout> {
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
    setup.by_every_schedule().check(3500, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.contains(goes));
            assert!(t.contains(stays));
        });
    });
}

fn split_against_lookups_in_its_direction<L: GrowingLayout + Layout>() {
    split_against_lookups::<L>(0, |item| item);
}

fn split_against_lookups_the_other_way<L: GrowingLayout + Layout>() {
    split_against_lookups::<L>(0, Item::swapped);
}

fn end_of_level_against_lookups_in_its_direction<L: GrowingLayout + Layout>() {
    split_against_lookups::<L>(1, |item| item);
}

fn end_of_level_against_lookups_the_other_way<L: GrowingLayout + Layout>() {
    split_against_lookups::<L>(1, Item::swapped);
}

fn split_against_two_lookups<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, .. } = OneSplit::<L>::new(0);
    let swapped = goes.swapped();
    setup.check(22_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(t.contains(goes)));
        model.thread(move |t| assert!(t.contains(swapped)));
    });
}

/// Two fingerprints go that have different versions.
fn split_of_several_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let items = [(2, 1); 2].map(|(a, b)| setup.item(a, b));
    setup.store(0, &items);
    setup.check(8500, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            for item in items {
                assert!(t.contains(item));
            }
        });
    });
}

/// Two buckets are split at once, to the end of the level.
fn run_of_two_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [even, odd] = [(2, 1), (3, 0)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[even]).store(1, &[odd]);
    setup.check(67_000, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(4), 2));
        model.thread(move |t| {
            assert!(t.contains(odd));
            assert!(t.contains(even));
        });
    });
}

/// Two splits, one after the other, each of which moves an item of the same version: the second may
/// overtake the second round of a lookup of what it moves.
fn two_splits_of_one_group_against_lookup<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let other = setup.item(2, 1);
    let item = setup.item_of_group(3, 2, other);
    setup.store(0, &[other]).store(1, &[item]);
    setup.check(10_000, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert_eq!(t.split(1), 1);
        });
        model.thread(move |t| assert!(t.contains(item)));
    });
}

/// From bucket 0 to 2 in the first level, from there to 6 in the second.
fn item_that_goes_twice_against_lookup<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8);
    let item = setup.item(6, 1);
    setup.store(0, &[item]);
    setup.check(390_000, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(2), 2);
            assert_eq!(t.split(3), 3);
        });
        model.thread(move |t| assert!(t.contains(item)));
    });
}

fn split_against_batch_of_lookups<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    let swapped = goes.swapped();
    setup.check(3500, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            let found = t.contains_many(&[stays, goes, swapped]);
            assert_eq!(found, [true; 3]);
        });
    });
}

/// A lookup that happens after an insert into the new bucket finds the item, and one that happens
/// after its removal does not.
fn what_is_known_to_go_is_found<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    let new = setup.item(2, 1);
    setup.by_every_schedule().check(1200, 2, move |model| {
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
    setup.check(10_000, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.remove(goes));
            assert!(!t.remove(goes));
        });
    });
}

fn removal_of_what_goes_in_its_direction<L: GrowingLayout + Layout>() {
    removal_of_what_goes::<L>(|item| item);
}

fn removal_of_what_goes_the_other_way<L: GrowingLayout + Layout>() {
    removal_of_what_goes::<L>(Item::swapped);
}

fn removal_of_what_stays<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup.check(21_000, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.remove(stays));
            assert!(!t.contains(stays));
            assert!(t.contains(goes));
        });
    });
}

/// The new bucket is written to as soon as the extent tells of it.
fn split_and_removal_beside_an_insert<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    let [new, low] = [(2, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.fill(1, low);
    setup.check(130_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.remove(goes));
            assert!(t.insert(new));
        });
        model.thread(move |t| {
            t.contains(new);
        });
    });
}

/// Its other bucket is full: the insert sees room in the bucket that is split.
fn insert_of_what_goes<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [new, low] = [(2, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.fill(1, low);
    setup.check(9900, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.contains(new));
        });
    });
}

/// One insert into the old bucket and one into the new.
fn insert_into_both_buckets_of_a_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8);
    let [goes, stays, low] = [(2, 1), (0, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.fill(1, low);
    setup.check(46_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(t.insert(goes)));
        model.thread(move |t| assert!(t.insert(stays)));
    });
}

/// One of the two stores it.
fn unique_inserts_of_what_goes<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    let swapped = x.swapped();
    setup.check(170_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        for x in [x, swapped] {
            model.thread(move |t| {
                t.insert_unique(x);
            });
        }
    });
}

fn insert_unique_of_what_is_there<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup.check(3900, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(!t.insert_unique(goes));
            assert!(!t.insert_unique(stays));
        });
    });
}

/// A copy in each bucket, of which one goes.
fn count_of_what_goes<L: GrowingLayout + Layout>() {
    let OneSplit { mut setup, goes, .. } = OneSplit::<L>::new(0);
    setup.store(1, &[goes]);
    setup.check(1500, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert_eq!(t.count(goes), 2));
    });
}

/// The duplicate rule: the item has a copy in bucket 1. A younger one is stored in bucket 0 and goes
/// from there to 2, then the older one is removed. A lookup may have read bucket 0 before all this.
fn duplicate_that_goes_and_removal_of_the_other<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    setup.store(1, &[x]);
    let swapped = x.swapped();
    setup.check(820_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.remove(swapped));
        });
        model.thread(move |t| assert!(t.contains(x)));
    });
}

/// A removal of the only copy, in bucket 1, has begun when bucket 0 is split and a second copy is stored
/// in the new bucket. Both are counted before the first is removed, so there is one at any time.
fn removal_beside_a_copy_into_the_new_bucket<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let x = setup.item(2, 1);
    setup.store(1, &[x]);
    let swapped = x.swapped();
    setup.check(590_000, 2, move |model| {
        model.thread(move |t| assert!(t.remove(swapped)));
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(x));
            t.count(x);
        });
        model.thread(move |t| {
            t.contains(x);
        });
    });
}

/// What goes while the table is emptied is not forgotten in its new bucket.
fn clear_against_split<L: GrowingLayout + Layout>() {
    let OneSplit { setup, goes, stays } = OneSplit::<L>::new(0);
    setup.check(9600, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            t.clear();
            assert!(!t.contains(goes));
            assert!(!t.contains(stays));
        });
    });
}

/// Four buckets at first: 0 and 1 are full, 2 and 3 are empty. An insert of `new` moves `moved` from 0 to
/// 3, while 0 is split. Each of the two goes or stays.
fn kick_out_of_the_bucket_that_is_split<L: GrowingLayout + Layout>(
    moved: usize,
    new: usize,
    unique: bool,
) {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [moved, new, low] = [(moved, 3), (new, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[moved]).fill(0, low).fill(1, low);
    setup.check(5300, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(if unique { t.insert_unique(new) } else { t.insert(new) });
            assert!(t.contains(new));
            assert!(t.contains(moved));
        });
    });
}

/// Its slot is free then, and the new item needs no kick.
fn kick_of_what_goes<L: GrowingLayout + Layout>() {
    kick_out_of_the_bucket_that_is_split::<L>(4, 0, false);
}

/// The slot that it leaves is not one for the new item.
fn kick_of_what_stays_for_what_goes<L: GrowingLayout + Layout>() {
    kick_out_of_the_bucket_that_is_split::<L>(0, 4, false);
}

fn kick_of_what_goes_for_what_goes<L: GrowingLayout + Layout>() {
    kick_out_of_the_bucket_that_is_split::<L>(4, 4, false);
}

fn unique_kick_of_what_stays_for_what_goes<L: GrowingLayout + Layout>() {
    kick_out_of_the_bucket_that_is_split::<L>(0, 4, true);
}

/// The path ends in bucket 0; when that is split, in bucket 4.
fn kick_into_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [moved, new, high] = [(4, 3), (2, 3), (2, 3)].map(|(a, b)| setup.item(a, b));
    setup.store(3, &[moved]).fill(3, high).fill(2, high);
    setup.check(4700, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.contains(moved));
        });
    });
}

/// An insert moves `far` from 1 to 0, or to 4 when that is split, and then `near` from 2 to 1.
fn middle_hop_into_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [far, near] = [(4, 1), (2, 1)].map(|(a, b)| setup.item(a, b));
    let [new, high, low] = [(2, 3), (2, 3), (2, 1)].map(|(a, b)| setup.item(a, b));
    setup.store(1, &[far]).fill(1, low).store(2, &[near]).fill(2, high).fill(3, high);
    setup.check(28_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.contains(far));
        });
    });
}

/// An insert moves `far` from 0, or from 4 when that is split, to 1, and then `near` from 3 to 0.
fn middle_hop_out_of_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [far, near] = [(4, 1), (0, 3)].map(|(a, b)| setup.item(a, b));
    let [new, high, low] = [(2, 3), (2, 3), (0, 3)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[far]).fill(0, low).store(3, &[near]).fill(3, high).fill(2, high);
    setup.check(21_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.contains(far));
        });
    });
}

/// Two threads that each split a bucket, and do not split one twice.
fn two_splitters<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [even, odd] = [(2, 1), (3, 0)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[even]).store(1, &[odd]);
    setup.check(170_000, 2, move |model| {
        for _ in 0..2 {
            model.thread(move |t| assert_eq!(t.split(1), 1));
        }
        model.thread(move |t| {
            assert!(t.contains(even));
            assert!(t.contains(odd));
        });
    });
}

/// Both buckets are full, and half of what they hold goes. The table grows for both inserts.
fn two_inserts_that_find_no_room<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [x, y] = [(2, 1), (0, 3)].map(|(a, b)| setup.item(a, b));
    let [even, odd] = [(2, 1), (0, 3)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[even]).fill(0, odd).store(1, &[odd]).fill(1, even);
    // One takes half a minute with four slots, and more with fewer or more.
    let (floor, preemptions) = if L::SLOTS == 4 { (110_000, 1) } else { (200, 0) };
    setup.check(floor, preemptions, move |model| {
        for item in [x, y] {
            model.thread(move |t| assert!(t.insert(item)));
        }
    });
}

/// Each of two inserts may leave the load above the target. One of them splits; the other may find it
/// doing so, and goes on.
fn two_inserts_above_the_target<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 8);
    let [x, y] = [(4, 1), (0, 3)].map(|(a, b)| setup.item(a, b));
    let [goes, stays, rest] = [(4, 1), (0, 3), (1, 2)].map(|(a, b)| setup.item(a, b));
    // Two free slots: one insert is enough to come above the target of any layout.
    setup.store(0, &[goes]).fill_but_one(0, stays).fill_but_one(3, stays);
    setup.fill(1, rest).fill(2, rest);
    setup.check(50, fewer_if_wide::<L>(2), move |model| {
        for item in [x, y] {
            model.thread(move |t| {
                assert!(t.insert(item));
                assert!(t.contains(goes));
            });
        }
    });
}

/// An item has no room, though the table grows as far as it can: slots in use and stashed entries are as many as a
/// table of four buckets has slots. Another thread splits the last bucket and inserts an item that has room.
fn full_at_the_greatest_size_only<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let [outsider, guest, low] = [(0, 1), (0, 3), (0, 1)].map(|(a, b)| setup.item(a, b));
    let high = setup.item(2, 1);
    setup.fill(0, low).fill(1, low).fill(2, high);
    for _ in 0..L::SLOTS {
        let stashed = setup.item(0, 1);
        setup.stash(&[stashed]);
    }
    setup.check(16_000, 1, move |model| {
        model.thread(move |t| assert!(!t.insert(outsider)));
        model.thread(move |t| {
            assert!(t.split(1) < 2);
            assert!(t.insert(guest));
        });
    });
}
