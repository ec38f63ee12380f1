//! The stash: entries for which their buckets have no room.
//!
//! Most tables have four buckets of which 0 and 1 are full, with items that no kick can move: so an insert of
//! another item (0, 1) goes to the stash, and the table as a whole is not full. Under loom the stash has one shard,
//! of two lines of two cells at first: the fourth entry doubles them.

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::{Item, Setup, Signal, Subject, Thread};

use crate::OneHop;

models_of_three! {
    insert_against_lookup
    insert_known_to_a_lookup
    insert_and_removal_against_lookup
    first_entries_of_two_threads
    removal_beside_a_copy_into_a_bucket
    copy_into_a_bucket_and_removal_of_the_stashed_one
    two_removals_of_copies_in_both_places
    removal_beside_another_item_of_the_group
    insert_beside_a_removal_of_another_item_of_the_group
    kick_in_the_group_against_lookup
    two_unique_inserts_of_one_item
    unique_insert_beside_an_insert
    two_inserts_of_one_item_and_a_count
    going_back_against_lookup
    going_back_against_removal
    going_back_against_insert
    going_back_against_unique_insert
    going_back_against_count
    two_that_make_it_go_back
    clear_against_lookup
    clear_against_insert
    snapshot_beside_an_insert
    snapshot_beside_going_back
    doubling_against_lookup
    doubling_against_removal
    cell_used_again_against_lookup
    passed_line_against_lookup
    going_back_from_a_passed_line_against_lookup
    refused_where_the_table_is_full
}

growing_models! {
    split_against_lookup
    split_against_removal
    split_beside_going_back
    split_beside_an_insert
    removal_of_a_shorter_entry_in_a_bucket
}

models_of_three! {
    get_against_insert
    get_beside_a_value_in_a_bucket
    get_against_replacement
    get_beside_going_back
    replacement_against_removal
    two_replacements
    replacement_with_a_doubling_against_lookup
}

/// Buckets 0 and 1 are full of `low`. `x` (0, 1) is not there.
struct Full<M> {
    setup: Setup<M>,
    x: Item,
    low: Item,
}

impl<M: Subject> Full<M> {
    fn new() -> Self {
        let mut setup = Setup::new(4);
        let [x, low] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
        setup.fill(0, low).fill(1, low);
        Self { setup, x, low }
    }

    /// `x` is of the group of `low`, and stashed: a removal of `low` lets it go back to a bucket.
    fn goes_back() -> Self {
        let mut setup = Setup::new(4);
        let low = setup.item(0, 1);
        let x = setup.item_of_group(0, 1, low);
        setup.fill(0, low).fill(1, low).stash(&[x]);
        Self { setup, x, low }
    }
}

fn insert_against_lookup<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.by_every_schedule().check(790, 3, move |model| {
        model.thread(move |t| assert!(t.insert(x)));
        model.thread(move |t| {
            t.contains(x);
            t.contains(x.swapped());
        });
    });
}

/// Whoever knows of the insert finds the item.
fn insert_known_to_a_lookup<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check(47, 3, move |model| {
        let sent = Signal::new();
        let received = sent.clone();
        model.thread(move |t| {
            assert!(t.insert(x));
            sent.send(t);
        });
        model.thread(move |t| {
            if received.received(t) {
                assert!(t.contains(x));
            }
        });
    });
}

fn insert_and_removal_against_lookup<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check(2900, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.remove(x));
            assert!(!t.contains(x));
        });
        model.thread(move |t| {
            t.contains(x);
            t.contains(x);
        });
    });
}

/// Both want to allocate the shards, and the first lines.
fn first_entries_of_two_threads<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    let y = setup.item(1, 0);
    setup.check(3000, 2, move |model| {
        for item in [x, y] {
            model.thread(move |t| {
                assert!(t.insert(item));
                assert!(t.contains(item));
            });
        }
    });
}

/// One free slot in bucket 0 takes a copy of the stashed item; then one copy is removed, of the two. There always is
/// one.
fn removal_beside_a_copy_into_a_bucket<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]);
    setup.check(630, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.remove(x));
        });
        model.thread(move |t| assert!(t.contains(x.swapped())));
    });
}

/// The same of two threads.
fn copy_into_a_bucket_and_removal_of_the_stashed_one<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]);
    setup.check(3400, 2, move |model| {
        model.thread(move |t| assert!(t.insert(x)));
        model.thread(move |t| assert!(t.remove(x)));
        model.thread(move |t| {
            t.contains(x);
        });
    });
}

fn two_removals_of_copies_in_both_places<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let x = setup.item(0, 1);
    setup.store(0, &[x]).stash(&[x]);
    setup.check(3100, 2, move |model| {
        model.thread(move |t| assert!(t.remove(x)));
        model.thread(move |t| assert!(t.remove(x.swapped())));
        model.thread(move |t| {
            t.contains(x);
            t.contains(x);
        });
    });
}

/// Two items of one group that have no stripe in common. The bit is that of the group.
fn removal_beside_another_item_of_the_group<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let x = setup.item(0, 1);
    let y = setup.item_of_group(2, 3, x);
    setup.stash(&[x, y]);
    setup.check(270, 3, move |model| {
        model.thread(move |t| assert!(t.remove(y)));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

fn insert_beside_a_removal_of_another_item_of_the_group<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    let y = setup.item_of_group(2, 3, x);
    setup.stash(&[y]);
    setup.check(2400, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.contains(x));
        });
        model.thread(move |t| assert!(t.remove(y)));
    });
}

/// A kick bumps the version that a lookup of a stashed item compares.
fn kick_in_the_group_against_lookup<L: Layout>() {
    let OneHop { mut setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    let x = setup.item_of_group(2, 1, moved);
    setup.stash(&[x]);
    setup.check(500, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert!(t.contains(x));
            assert!(t.contains(moved));
        });
    });
}

/// One of the two stores it, and not both, as the checker knows.
fn two_unique_inserts_of_one_item<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check(590, 2, move |model| {
        for x in [x, x.swapped()] {
            model.thread(move |t| {
                t.insert_unique(x);
            });
        }
    });
}

fn unique_insert_beside_an_insert<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check(590, 2, move |model| {
        model.thread(move |t| assert!(t.insert(x)));
        model.thread(move |t| {
            t.insert_unique(x.swapped());
        });
    });
}

fn two_inserts_of_one_item_and_a_count<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check(1100, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            t.count(x);
        });
        model.thread(move |t| assert!(t.insert(x)));
    });
}

fn going_back_against_lookup<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.by_every_schedule().check(6000, 3, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

fn going_back_against_removal<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(1200, 3, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| {
            assert!(t.remove(x));
            assert!(!t.contains(x));
        });
    });
}

fn going_back_against_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(4400, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.contains(x));
        });
    });
}

fn going_back_against_unique_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(2900, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| assert!(!t.insert_unique(x)));
    });
}

fn going_back_against_count<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(280, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| assert_eq!(t.count(x), 1));
    });
}

/// There is one copy, and two free slots.
fn two_that_make_it_go_back<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(570, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| {
            assert!(t.remove(low.swapped()));
            assert!(t.contains(x));
        });
    });
}

fn clear_against_lookup<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let x = setup.item(0, 1);
    setup.stash(&[x]);
    setup.check(87_000, 3, move |model| {
        model.thread(move |t| {
            t.clear();
            assert!(!t.contains(x));
            assert!(t.insert(x));
        });
        model.thread(move |t| {
            t.contains(x);
            t.contains(x.swapped());
        });
    });
}

fn clear_against_insert<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    setup.stash(&[x]);
    setup.check(5700, 2, move |model| {
        model.thread(Thread::clear);
        model.thread(move |t| {
            assert!(t.insert(x));
            t.contains(x);
            t.remove(x);
        });
    });
}

/// What comes later is not in the snapshot if what comes earlier is not.
fn snapshot_beside_an_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::new();
    setup.check(490, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.remove(low));
        });
        model.thread(move |t| {
            t.snapshot();
        });
    });
}

/// It is in the snapshot once, wherever it is.
fn snapshot_beside_going_back<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.check(460, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| assert_eq!(t.snapshot().of(x), 1));
    });
}

/// Some entries are in the stash, in this order, all on one way: two in each line. Of the fourth, the way is another one when
/// the lines are doubled.
fn stashed<M: Subject, const N: usize>() -> (Setup<M>, [Item; N], Item) {
    // Room for all of them, in a layout of two slots, too.
    let mut setup = Setup::new(if M::SLOTS < 4 { 10 } else { 6 });
    let low = setup.item(2, 3);
    let stashed = [(); N].map(|()| setup.item_of_group(2, 3, low));
    setup.fill(2, low).fill(3, low).stash(&stashed);
    (setup, stashed, low)
}

/// Of all entries the way begins in another line then.
fn doubling_against_lookup<L: Layout>() {
    let (mut setup, [x, ..], _) = stashed::<L, 3>();
    let new = setup.item(2, 3);
    setup.check(110_000, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

fn doubling_against_removal<L: Layout>() {
    let (mut setup, [x, ..], _) = stashed::<L, 3>();
    let new = setup.item(2, 3);
    setup.check(66, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert!(t.remove(x));
            assert!(!t.contains(x));
        });
    });
}

/// It goes back to a bucket, and an entry at another position takes its cell: one of those of which the way begins in
/// the same line.
fn cell_used_again_against_lookup<L: Layout>() {
    let mut setup = Setup::<L>::new(6);
    let [low, high] = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    let x = setup.item_of_group(0, 1, low);
    let others = [(); 3].map(|()| setup.item(2, 3));
    setup.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&[x]);
    setup.check(140_000, 2, move |model| {
        model.thread(move |t| {
            assert!(t.remove(low));
            assert!(others.into_iter().all(|item| t.insert(item)));
        });
        model.thread(move |t| assert!(t.contains(x)));
    });
}

/// The ways of entries in the second line pass the first one, and go on doing so when one of them is removed.
fn passed_line_against_lookup<L: Layout>() {
    let (setup, [.., removed, x], _) = stashed::<L, 6>();
    setup.check(44, 3, move |model| {
        model.thread(move |t| assert!(t.remove(removed)));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

/// The only entry of the second line. The others are of full buckets, and are passed by.
fn going_back_from_a_passed_line_against_lookup<L: Layout>() {
    let mut setup = Setup::<L>::new(if L::SLOTS < 4 { 10 } else { 6 });
    let [low, high] = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    let others = [(); 2].map(|()| setup.item(2, 3));
    let x = setup.item_of_group(0, 1, low);
    setup.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&others).stash(&[x]);
    setup.check(54_000, 2, move |model| {
        model.thread(move |t| (0..3).for_each(|_| assert!(t.remove(low))));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

/// All slots are in use. What is stashed already is refused no more than before, and what is new is, unless the
/// removal comes first.
fn refused_where_the_table_is_full<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low, new] = [(0, 1); 3].map(|(a, b)| setup.item(a, b));
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]).fill(0, low);
    setup.check(480, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            t.insert(new);
        });
        model.thread(move |t| assert!(t.remove(low)));
    });
}

/// Two buckets of a table that grows to four, and an item in the stash: it belongs in bucket 0 or, after the split,
/// in 2.
fn growing<L: GrowingLayout + Layout>() -> (Setup<Growable<L>>, Item) {
    let mut setup = Setup::growable(2, 4);
    let x = setup.item(2, 1);
    setup.stash(&[x]);
    (setup, x)
}

fn split_against_lookup<L: GrowingLayout + Layout>() {
    let (setup, x) = growing::<L>();
    setup.check(1500, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| assert!(t.contains(x)));
    });
}

fn split_against_removal<L: GrowingLayout + Layout>() {
    let (setup, x) = growing::<L>();
    setup.check(3000, 3, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.remove(x));
            assert!(!t.contains(x));
        });
    });
}

/// It goes back to a bucket that is split, or to the new one.
fn split_beside_going_back<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(2, 1, low);
    setup.fill(0, low).fill(1, low).stash(&[x]);
    setup.check(7500, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.remove(low));
            assert!(t.contains(x));
        });
    });
}

fn split_beside_an_insert<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(2);
    let [x, low] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
    setup.fill(0, low).fill(1, low);
    setup.check(69_000, 2, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.contains(x));
        });
    });
}

/// The longest entry is removed, which is in the stash: what is left is found as an item of its own.
fn removal_of_a_shorter_entry_in_a_bucket<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(2);
    let long = setup.item(0, 1);
    let short = setup.variant(long, 0, 1);
    setup.store_as_of(0, 0, &[short]).stash(&[long]);
    setup.check(57, 3, move |model| {
        model.thread(move |t| assert!(t.remove(long)));
        model.thread(move |t| {
            assert!(t.contains(short));
        });
    });
}

/// Two values of a key whose buckets are full.
fn two_values<L: Layout>() -> (Setup<Maplet<L>>, Item, Item) {
    let Full { mut setup, x: xa, .. } = Full::<Maplet<L>>::new();
    let xb = setup.with_value(xa, 1);
    (setup, xa, xb)
}

fn get_against_insert<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    setup.stash(&[xb]);
    setup.check(1300, 3, move |model| {
        model.thread(move |t| assert!(t.insert(xa)));
        model.thread(move |t| assert!(t.get(xa).has(xb)));
    });
}

/// One value is in a bucket, the other in the stash.
fn get_beside_a_value_in_a_bucket<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let xa = setup.item(0, 1);
    let [xb, xc] = [1, 2].map(|value| setup.with_value(xa, value));
    setup.store(0, &[xa]).stash(&[xb]);
    setup.check(480, 2, move |model| {
        model.thread(move |t| {
            assert!(t.remove(xb));
            assert!(t.insert(xc));
        });
        model.thread(move |t| {
            assert!(t.get(xa).has(xa));
            assert!(t.contains_key(xa));
        });
    });
}

fn get_against_replacement<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    setup.stash(&[xa]);
    setup.check(87_000, 3, move |model| {
        model.thread(move |t| assert!(t.replace(xa, xb)));
        model.thread(move |t| {
            let found = t.get(xa);
            assert!(found.has(xa) || found.has(xb));
            assert!(t.contains_key(xa));
        });
    });
}

fn get_beside_going_back<L: Layout>() {
    let Full { mut setup, x: xa, low } = Full::<Maplet<L>>::goes_back();
    let xb = setup.with_value(xa, 1);
    setup.stash(&[xb]);
    setup.check(5000, 2, move |model| {
        model.thread(move |t| assert!(t.remove(low)));
        model.thread(move |t| {
            let found = t.get(xa);
            assert!(found.has(xa) && found.has(xb));
        });
    });
}

fn replacement_against_removal<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    setup.stash(&[xa]);
    setup.check(20_000, 3, move |model| {
        model.thread(move |t| {
            t.replace(xa, xb);
        });
        model.thread(move |t| {
            t.remove(xa);
        });
        model.thread(move |t| {
            t.remove(xb);
        });
    });
}

fn two_replacements<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    let xc = setup.with_value(xa, 2);
    setup.stash(&[xa]);
    setup.check(64_000, 2, move |model| {
        model.thread(move |t| {
            t.replace(xa, xb);
        });
        model.thread(move |t| {
            t.replace(xa, xc);
        });
        model.thread(move |t| assert!(t.contains_key(xa)));
    });
}

/// The other value is the fourth entry.
fn replacement_with_a_doubling_against_lookup<L: Layout>() {
    let (mut setup, [xa, ..], _) = stashed::<Maplet<L>, 3>();
    let xb = setup.with_value(xa, 1);
    setup.check(29_000, 1, move |model| {
        model.thread(move |t| assert!(t.replace(xa, xb)));
        model.thread(move |t| assert!(t.contains_key(xa)));
    });
}
