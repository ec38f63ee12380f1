//! Entries of different lengths, and the end of a level, from which on entries are read by the next bit.
//!
//! Two relatives differ in the first bit of their positions that not every entry knows: an entry that one of them
//! got before the table had doubled is an entry of both.

use std::sync::Arc;

use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::{Item, Setup};

growing_models! {
    removal_beside_a_relative_with_a_short_entry
    removal_beside_a_relative_with_a_short_entry_in_the_first_bucket
    removal_of_the_longest_of_one_bucket
    removal_of_a_short_entry_beside_a_long_one
    removal_of_a_long_entry_that_is_kicked_to_a_short_one
    kick_of_what_is_removed_beside_a_short_entry
    short_copy_and_removal_of_the_long_one
    short_copy_and_removal_of_the_long_one_the_other_way
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
    setup.check(110, 3, move |model| {
        model.thread(move |t| assert!(t.remove(long)));
        model.thread(move |t| {
            assert!(t.contains(short));
            assert!(!t.insert_unique(short));
        });
    });
}

fn removal_beside_a_relative_with_a_short_entry<L: GrowingLayout + Layout>() {
    removal_of_the_longest::<L>(0);
}

fn removal_beside_a_relative_with_a_short_entry_in_the_first_bucket<L: GrowingLayout + Layout>() {
    removal_of_the_longest::<L>(1);
}

fn removal_of_the_longest_of_one_bucket<L: GrowingLayout + Layout>() {
    let (mut setup, [long, short]) = relatives::<L>(0, 1);
    setup.store_as_of(0, 0, &[short]).store(0, &[long]);
    setup.check(14, 3, move |model| {
        model.thread(move |t| assert!(t.remove(long)));
        model.thread(move |t| assert!(t.contains(short)));
    });
}

fn removal_of_a_short_entry_beside_a_long_one<L: GrowingLayout + Layout>() {
    let (mut setup, [long, short]) = relatives::<L>(0, 1);
    setup.store_as_of(0, 0, &[short]).store(1, &[long]);
    let swapped = long.swapped();
    setup.check(490, 3, move |model| {
        model.thread(move |t| assert!(t.remove(short)));
        model.thread(move |t| assert!(t.contains(long)));
        model.thread(move |t| assert!(t.contains(swapped)));
    });
}

/// A table that began with four buckets and has doubled once. Buckets 0 and 1 are full, and nothing in them can be
/// moved but an entry from 0 to 3.
struct Kick<L: GrowingLayout> {
    setup: Setup<Growable<L>>,
    long: Item,
    short: Item,
    new: Item,
    low: Item,
}

impl<L: GrowingLayout + Layout> Kick<L> {
    fn new() -> Self {
        let mut setup = Setup::growable(4, 8).split(4);
        let [long, new, low] = [(0, 3), (0, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
        let short = setup.variant(long, 0, 1);
        Self { setup, long, short, new, low }
    }
}

/// From 0 to 3, where the short entry of a relative is. A removal that looks meanwhile may see only that
/// one.
fn removal_of_a_long_entry_that_is_kicked_to_a_short_one<L: GrowingLayout + Layout>() {
    let Kick { mut setup, long, short, new, low } = Kick::<L>::new();
    setup.store(0, &[long]).fill(0, low).fill(1, low).store_as_of(0, 3, &[short]);
    let swapped = long.swapped();
    setup.check(5700, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.remove(swapped)));
        model.thread(move |t| assert!(t.contains(short)));
    });
}

/// The kick has planned to move the long entry, which is gone then. The short one beside it is another.
fn kick_of_what_is_removed_beside_a_short_entry<L: GrowingLayout + Layout>() {
    let Kick { mut setup, long, short, new, low } = Kick::<L>::new();
    setup.store(0, &[long]).store_as_of(0, 0, &[short]).fill(0, low).fill(1, low);
    setup.check(6400, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.remove(long)));
        model.thread(move |t| assert!(t.contains(short)));
    });
}

/// The duplicate rule: the item has a long entry in bucket 1. A short one, out of an image of a smaller
/// table, comes into bucket 0, and then the long one is removed. A lookup may have read bucket 0
/// before all this.
fn short_copy<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(2);
    let x = setup.item(0, 1);
    setup.store(1, &[x]);
    let looked_up = order(x);
    setup.check(200, 3, move |model| {
        let image = Arc::new(model.image_of(&[x]));
        model.thread(move |t| {
            assert!(t.merge(&image, 0));
            assert!(t.remove(x));
        });
        model.thread(move |t| assert!(t.contains(looked_up)));
    });
}

fn short_copy_and_removal_of_the_long_one<L: GrowingLayout + Layout>() {
    short_copy::<L>(|item| item);
}

fn short_copy_and_removal_of_the_long_one_the_other_way<L: GrowingLayout + Layout>() {
    short_copy::<L>(Item::swapped);
}

/// Bucket 1 is split, the last of its level. Then the item is stored by the next level; another
/// `insert_unique` has seen the last level only.
fn unique_inserts_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let x = setup.item(1, 0);
    let swapped = x.swapped();
    setup.check(10_000, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            t.insert_unique(swapped);
        });
        model.thread(move |t| {
            t.insert_unique(x);
        });
    });
}

fn insert_unique_of_what_goes_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let goes = setup.item(3, 0);
    setup.store(1, &[goes]);
    setup.check(840, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(!t.insert_unique(goes)));
    });
}

/// What goes, read by the next level before it is cleared, would be an entry of an item that is not
/// there.
fn insert_unique_beside_what_goes_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let goes = setup.item(3, 0);
    let absent = setup.variant(goes, 1, 1);
    setup.store(1, &[goes]);
    setup.check(3400, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(t.insert_unique(absent)));
    });
}

/// An entry of the next level, read by the level before, would be an entry of an item that is not there.
fn insert_unique_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let absent = setup.item(3, 0);
    let new = setup.variant(absent, 1, 1);
    // The new item has more room in bucket 1.
    let other = setup.item(2, 1);
    setup.store(2, &[other]);
    setup.check(3500, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(new));
        });
        model.thread(move |t| assert!(t.insert_unique(absent)));
    });
}

/// The item has an entry; another one is stored by the next level, and both are counted before one is
/// removed.
fn removal_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let x = setup.item(0, 1);
    setup.store(0, &[x]);
    let swapped = x.swapped();
    setup.check(54_000, 1, move |model| {
        model.thread(move |t| assert!(t.remove(x)));
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(x));
            t.count(x);
        });
        model.thread(move |t| {
            t.contains(swapped);
        });
    });
}

/// A table that began with four buckets and has doubled once. An insert kicks an entry from 3 to 0, which is split,
/// so it may be in 8 at once. A removal that has seen the long entry in 3 finds the short one there, and must find
/// the long one where it is.
fn kick_and_split_of_what_is_removed<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 16).split(4);
    let [long, new, high] = [(8, 3), (2, 3), (2, 3)].map(|(a, b)| setup.item(a, b));
    let short = setup.variant(long, 0, 1);
    setup.store(3, &[long]).store_as_of(0, 3, &[short]).fill(3, high).fill(2, high);
    // One: two take over a minute.
    setup.check(140_000, 1, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.remove(long)));
    });
}

/// An insert kicks the long entry from 0 to 5, and the level ends. A removal that has seen it in 0 finds the short
/// one there. The long one is longer by any level, and it is the one that goes.
fn removal_of_what_is_kicked_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(5);
    let [long, new, low] = [(0, 5), (0, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    let short = setup.variant(long, 0, 1);
    setup.store(0, &[long]).store_as_of(0, 0, &[short]).fill(0, low).fill(1, low);
    setup.check(6000, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(new));
            assert_eq!(t.split(1), 1);
        });
        model.thread(move |t| assert!(t.remove(long)));
    });
}

/// The second level: two buckets are split at once, with an entry of each level that goes.
fn run_that_splits_entries_of_two_levels<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(2);
    let [even, odd, stays] = [(4, 1), (5, 0), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.store_as_of(0, 0, &[even]).store(0, &[stays]).store(1, &[odd]);
    setup.check(250_000, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(2), 2));
        model.thread(move |t| {
            assert!(t.contains(odd));
            assert!(t.contains(even));
            assert!(t.remove(stays));
        });
    });
}

fn clear_beside_a_split_of_entries_of_two_levels<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(3);
    let [long, short] = [(5, 0), (5, 0)].map(|(a, b)| setup.item(a, b));
    let new = setup.item(1, 0);
    setup.store(1, &[long]).store_as_of(0, 1, &[short]);
    setup.check(10_000, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(new));
        });
        model.thread(move |t| {
            t.clear();
            assert!(!t.contains(long));
            assert!(!t.contains(short));
        });
    });
}

/// The last bucket of a level is split and an item stored by the next one, beside a snapshot.
fn snapshot_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let [goes, new] = [(3, 0), (1, 0)].map(|(a, b)| setup.item(a, b));
    setup.store(1, &[goes]);
    setup.check(11_000, 3, move |model| {
        model.thread(move |t| {
            assert_eq!(t.split(1), 1);
            assert!(t.insert(new));
        });
        model.thread(move |t| assert_eq!(t.snapshot().of(goes), 1));
    });
}

fn batch_of_removals_beside_a_relative<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(1);
    let long = setup.item(1, 0);
    let short = setup.variant(long, 0, 1);
    setup.store(1, &[short]);
    setup.check(5100, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert_eq!(t.insert_many(&[long]), 1);
            assert_eq!(t.remove_many(&[long]), [true]);
            assert!(t.contains(short));
        });
    });
}
