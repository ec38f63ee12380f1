//! Entries of different lengths, and the end of a level, from which on entries are read by the next bit.
//!
//! Two relatives differ in the first bit of their positions that not every entry knows: an entry that one of them
//! got before the table had doubled is an entry of both.

use std::sync::Arc;

use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

growing_models! {
    removal_beside_a_relative_with_a_short_entry = removal_of_the_longest(0)
    removal_beside_a_relative_with_a_short_entry_in_the_first_bucket = removal_of_the_longest(1)
    removal_of_the_longest_of_one_bucket
    removal_of_a_short_entry_beside_a_long_one
    removal_of_a_long_entry_that_is_kicked_to_a_short_one
    kick_of_what_is_removed_beside_a_short_entry
    short_copy_and_removal_of_the_long_one = short_copy(|item| item)
    short_copy_and_removal_of_the_long_one_the_other_way = short_copy(Item::swapped)
    unique_inserts_at_the_end_of_a_level
    insert_unique_of_what_goes_at_the_end_of_a_level
    insert_unique_beside_what_goes_at_the_end_of_a_level
    insert_unique_beside_an_entry_of_the_next_level
    removal_beside_an_entry_of_the_next_level
    kick_and_split_of_what_is_removed
    removal_of_what_is_kicked_at_the_end_of_a_level
    run_that_splits_entries_of_two_levels
    clear_beside_a_split_of_entries_of_two_levels
    snapshot_beside_an_entry_of_the_next_level
    batch_of_removals_beside_a_relative
}

/// A table that began with two buckets and has doubled once, and two relatives with these buckets.
fn relatives<L: GrowingLayout + Layout>(
    first: usize,
    second: usize,
) -> (Setup<Growable<L>>, [Item; 2]) {
    let mut setup = Setup::growable(2, 4).split(2);
    let long = setup.item(first, second);
    let short = setup.variant(long, 0, 1);
    (setup, [long, short])
}

/// The removal sees both entries, and takes the long one.
fn removal_of_the_longest<L: GrowingLayout + Layout>(first: usize) {
    let (mut setup, [long, short]) = relatives::<L>(first, 1 - first);
    setup.store_as_of(0, 1, &[short]).store(0, &[long]);
    setup.thread([remove(long)]).thread([contains(short), !insert_unique(short)]).check(110, 3);
}

fn removal_of_the_longest_of_one_bucket<L: GrowingLayout + Layout>() {
    let (mut setup, [long, short]) = relatives::<L>(0, 1);
    setup.store_as_of(0, 0, &[short]).store(0, &[long]);
    setup.thread([remove(long)]).thread([contains(short)]).check(14, 3);
}

fn removal_of_a_short_entry_beside_a_long_one<L: GrowingLayout + Layout>() {
    let (mut setup, [long, short]) = relatives::<L>(0, 1);
    setup.store_as_of(0, 0, &[short]).store(1, &[long]);
    setup
        .thread([remove(short)])
        .thread([contains(long)])
        .thread([contains(long.swapped())])
        .check(490, 3);
}

/// A table that began with four buckets and has doubled once. Buckets 0 and 1 are full, and nothing in them can be
/// moved but an entry from 0 to 3.
struct Kick<L: GrowingLayout + Layout> {
    setup: Setup<Growable<L>>,
    long: Item,
    short: Item,
    new: Item,
    low: Item,
}

impl<L: GrowingLayout + Layout> Kick<L> {
    fn new() -> Self {
        let mut setup = Setup::growable(4, 8).split(4);
        let [long, new, low] = setup.items([(0, 3), (0, 1), (0, 1)]);
        let short = setup.variant(long, 0, 1);
        Self { setup, long, short, new, low }
    }
}

/// From 0 to 3, where the short entry of a relative is. A removal that looks meanwhile may see only that
/// one.
fn removal_of_a_long_entry_that_is_kicked_to_a_short_one<L: GrowingLayout + Layout>() {
    let Kick { mut setup, long, short, new, low } = Kick::<L>::new();
    setup.store(0, &[long]).fill(0, low).fill(1, low).store_as_of(0, 3, &[short]);
    setup
        .thread([insert(new)])
        .thread([remove(long.swapped())])
        .thread([contains(short)])
        .check(5700, 2);
}

/// The kick has planned to move the long entry, which is gone then. The short one beside it is another.
fn kick_of_what_is_removed_beside_a_short_entry<L: GrowingLayout + Layout>() {
    let Kick { mut setup, long, short, new, low } = Kick::<L>::new();
    setup.store(0, &[long]).store_as_of(0, 0, &[short]).fill(0, low).fill(1, low);
    setup.thread([insert(new)]).thread([remove(long)]).thread([contains(short)]).check(6400, 2);
}

/// The duplicate rule: the item has a long entry in bucket 1. A short one, out of an image of a smaller
/// table, comes into bucket 0, and then the long one is removed. A lookup may have read bucket 0
/// before all this.
fn short_copy<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(2);
    let x = setup.item(0, 1);
    setup.store(1, &[x]);
    let looked_up = order(x);
    setup.check_with(200, 3, move |model| {
        let image = Arc::new(model.image_of(&[x]));
        model.thread(move |t| {
            assert!(t.merge(&image, 0));
            assert!(t.remove(x));
        });
        model.thread(move |t| assert!(t.contains(looked_up)));
    });
}

/// Bucket 1 is split, the last of its level. Then the item is stored by the next level; another
/// `insert_unique` has seen the last level only.
fn unique_inserts_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let x = setup.item(1, 0);
    setup
        .thread([split(1), maybe(insert_unique(x.swapped()))])
        .thread([maybe(insert_unique(x))])
        .check(10_000, 3);
}

fn insert_unique_of_what_goes_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let goes = setup.item(3, 0);
    setup.store(1, &[goes]);
    setup.thread([split(1)]).thread([!insert_unique(goes)]).check(840, 3);
}

/// What goes, read by the next level before it is cleared, would be an entry of an item that is not
/// there.
fn insert_unique_beside_what_goes_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let goes = setup.item(3, 0);
    let absent = setup.variant(goes, 1, 1);
    setup.store(1, &[goes]);
    setup.thread([split(1)]).thread([insert_unique(absent)]).check(3400, 3);
}

/// An entry of the next level, read by the level before, would be an entry of an item that is not there.
fn insert_unique_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let absent = setup.item(3, 0);
    let new = setup.variant(absent, 1, 1);
    // The new item has more room in bucket 1.
    let other = setup.item(2, 1);
    setup.store(2, &[other]);
    setup.thread([split(1), insert(new)]).thread([insert_unique(absent)]).check(3500, 3);
}

/// The item has an entry; another one is stored by the next level, and both are counted before one is
/// removed.
fn removal_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let x = setup.item(0, 1);
    setup.store(0, &[x]);
    setup
        .thread([remove(x)])
        .thread([split(1), insert(x), maybe(count(x, 1))])
        .thread([maybe(contains(x.swapped()))])
        .check(54_000, 1);
}

/// A table that began with four buckets and has doubled once. An insert kicks an entry from 3 to 0, which is split,
/// so it may be in 8 at once. A removal that has seen the long entry in 3 finds the short one there, and must find
/// the long one where it is.
fn kick_and_split_of_what_is_removed<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 16).split(4);
    let [long, new, high] = setup.items([(8, 3), (6, 3), (6, 3)]);
    let short = setup.variant(long, 0, 1);
    setup.store(3, &[long]).store_as_of(0, 3, &[short]).fill(3, high).fill(6, high);
    // One: two take over a minute.
    setup.thread([split(1)]).thread([insert(new)]).thread([remove(long)]).check(140_000, 1);
}

/// An insert kicks the long entry from 0 to 5, and the level ends. A removal that has seen it in 0 finds the short
/// one there. The long one is longer by any level, and it is the one that goes.
fn removal_of_what_is_kicked_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(5);
    let [long, new, low] = setup.items([(0, 5), (0, 1), (0, 1)]);
    let short = setup.variant(long, 0, 1);
    setup.store(0, &[long]).store_as_of(0, 0, &[short]).fill(0, low).fill(1, low);
    setup.thread([insert(new), split(1)]).thread([remove(long)]).check(6000, 2);
}

/// The second level: two buckets are split at once, with an entry of each level that goes.
fn run_that_splits_entries_of_two_levels<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(2);
    let [even, odd, stays] = setup.items([(4, 1), (5, 0), (0, 1)]);
    setup.store_as_of(0, 0, &[even]).store(0, &[stays]).store(1, &[odd]);
    setup
        .thread([split(2)])
        .thread([contains(odd), contains(even), remove(stays)])
        .check(250_000, 3);
}

fn clear_beside_a_split_of_entries_of_two_levels<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(3);
    let [long, short] = setup.items([(5, 0), (5, 0)]);
    let new = setup.item(1, 0);
    setup.store(1, &[long]).store_as_of(0, 1, &[short]);
    setup
        .thread([split(1), insert(new)])
        .thread([clear(), !contains(long), !contains(short)])
        .check(10_000, 3);
}

/// The last bucket of a level is split and an item stored by the next one, beside a snapshot.
fn snapshot_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let [goes, new] = setup.items([(3, 0), (1, 0)]);
    setup.store(1, &[goes]);
    setup.thread([split(1), insert(new)]).thread([snapshot([goes])]).check(11_000, 3);
}

fn batch_of_removals_beside_a_relative<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let long = setup.item(1, 0);
    let short = setup.variant(long, 0, 1);
    setup.store(1, &[short]);
    let batches = does(move |t| t.insert_many(&[long]) == 1 && t.remove_many(&[long]) == [true]);
    setup.thread([split(1)]).thread([batches, contains(short)]).check(5100, 2);
}
