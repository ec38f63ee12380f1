//! The stash: entries for which their buckets have no room.
//!
//! Most tables have four buckets of which 0 and 1 are full, with items that no kick can move: so an insert of
//! another item (0, 1) goes to the stash, and the table as a whole is not full. Under loom the stash has one shard,
//! of two lines of two cells at first: the fourth entry doubles them.

use coucal::probe::{Maplet, Subject};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{OneHop, one_item};

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
    halving_against_lookup
    halving_and_doubling_against_lookup
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
struct Full<M: Subject> {
    setup: Setup<M>,
    x: Item,
    low: Item,
}

impl<M: Subject> Full<M> {
    fn new() -> Self {
        let mut setup = Setup::new(4);
        let [x, low] = setup.items([(0, 1); 2]);
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
    setup
        .by_every_schedule()
        .thread([insert(x)])
        .thread([maybe(contains(x)), maybe(contains(x.swapped()))])
        .check(790, 3);
}

/// Whoever knows of the insert finds the item.
fn insert_known_to_a_lookup<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.check_with(47, 3, move |model| {
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
    setup
        .thread([insert(x), remove(x), !contains(x)])
        .thread([maybe(contains(x)), maybe(contains(x))])
        .check(2900, 2);
}

/// Both want to allocate the shards, and the first lines.
fn first_entries_of_two_threads<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    let y = setup.item(1, 0);
    setup.thread([insert(x), contains(x)]).thread([insert(y), contains(y)]).check(3000, 2);
}

/// One free slot in bucket 0 takes a copy of the stashed item; then one copy is removed, of the two. There always is
/// one.
fn removal_beside_a_copy_into_a_bucket<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low] = setup.items([(0, 1); 2]);
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]);
    setup.thread([insert(x), remove(x)]).thread([contains(x.swapped())]).check(630, 3);
}

/// The same of two threads.
fn copy_into_a_bucket_and_removal_of_the_stashed_one<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low] = setup.items([(0, 1); 2]);
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]);
    setup.thread([insert(x)]).thread([remove(x)]).thread([maybe(contains(x))]).check(3400, 2);
}

fn two_removals_of_copies_in_both_places<L: Layout>() {
    let (mut setup, x) = one_item::<L>(&[]);
    setup.store(0, &[x]).stash(&[x]);
    setup
        .thread([remove(x)])
        .thread([remove(x.swapped())])
        .thread([maybe(contains(x)), maybe(contains(x))])
        .check(3100, 2);
}

/// Two items of one group that have no stripe in common. The bit is that of the group.
fn removal_beside_another_item_of_the_group<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let x = setup.item(0, 1);
    let y = setup.item_of_group(2, 3, x);
    setup.stash(&[x, y]);
    setup.thread([remove(y)]).thread([contains(x)]).check(270, 3);
}

fn insert_beside_a_removal_of_another_item_of_the_group<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    let y = setup.item_of_group(2, 3, x);
    setup.stash(&[y]);
    setup.thread([insert(x), contains(x)]).thread([remove(y)]).check(2400, 3);
}

/// A kick bumps the version that a lookup of a stashed item compares.
fn kick_in_the_group_against_lookup<L: Layout>() {
    let OneHop { mut setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    let x = setup.item_of_group(2, 1, moved);
    setup.stash(&[x]);
    setup.thread([insert(new)]).thread([contains(x), contains(moved)]).check(500, 3);
}

/// One of the two stores it, and not both, as the checker knows.
fn two_unique_inserts_of_one_item<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup
        .thread([maybe(insert_unique(x))])
        .thread([maybe(insert_unique(x.swapped()))])
        .check(590, 2);
}

fn unique_insert_beside_an_insert<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.thread([insert(x)]).thread([maybe(insert_unique(x.swapped()))]).check(590, 2);
}

fn two_inserts_of_one_item_and_a_count<L: Layout>() {
    let Full { setup, x, .. } = Full::<L>::new();
    setup.thread([insert(x), maybe(count(x, 1))]).thread([insert(x)]).check(1100, 2);
}

fn going_back_against_lookup<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.by_every_schedule().thread([remove(low)]).thread([contains(x)]).check(6000, 3);
}

fn going_back_against_removal<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([remove(x), !contains(x)]).check(1200, 3);
}

fn going_back_against_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([insert(x), contains(x)]).check(4400, 2);
}

fn going_back_against_unique_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([!insert_unique(x)]).check(2900, 2);
}

fn going_back_against_count<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([count(x, 1)]).check(280, 2);
}

/// There is one copy, and two free slots.
fn two_that_make_it_go_back<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([remove(low.swapped()), contains(x)]).check(570, 2);
}

fn clear_against_lookup<L: Layout>() {
    let (mut setup, x) = one_item::<L>(&[]);
    setup.stash(&[x]);
    setup
        .thread([clear(), !contains(x), insert(x)])
        .thread([maybe(contains(x)), maybe(contains(x.swapped()))])
        .check(87_000, 3);
}

fn clear_against_insert<L: Layout>() {
    let Full { mut setup, x, .. } = Full::<L>::new();
    setup.stash(&[x]);
    setup
        .thread([clear()])
        .thread([insert(x), maybe(contains(x)), maybe(remove(x))])
        .check(5700, 2);
}

/// What comes later is not in the snapshot if what comes earlier is not.
fn snapshot_beside_an_insert<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::new();
    setup.thread([insert(x), remove(low)]).thread([snapshot([])]).check(490, 2);
}

/// It is in the snapshot once, wherever it is.
fn snapshot_beside_going_back<L: Layout>() {
    let Full { setup, x, low } = Full::<L>::goes_back();
    setup.thread([remove(low)]).thread([snapshot([x])]).check(460, 2);
}

/// Some entries are in the stash, in this order, all on one way: two in each line. Of the fourth, the way is another
/// one when the lines are doubled.
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
    setup.thread([insert(new)]).thread([contains(x)]).check(110_000, 2);
}

fn doubling_against_removal<L: Layout>() {
    let (mut setup, [x, ..], _) = stashed::<L, 3>();
    let new = setup.item(2, 3);
    setup.thread([insert(new)]).thread([remove(x), !contains(x)]).check(66, 2);
}

/// Only one entry is left then, and its way begins in another line again.
fn halving_against_lookup<L: Layout>() {
    let (setup, [x, y], _) = stashed::<L, 2>();
    setup.thread([resize_stash(x, 4), remove(y)]).thread([contains(x)]).check(130_000, 2);
}

/// A lookup sees the same number of lines twice, and another one in between.
fn halving_and_doubling_against_lookup<L: Layout>() {
    let (setup, [x], _) = stashed::<L, 1>();
    setup.thread([4, 2].map(|lines| resize_stash(x, lines))).thread([contains(x)]).check(50_000, 2);
}

/// It goes back to a bucket, and an entry at another position takes its cell: one of those of which the way begins in
/// the same line.
fn cell_used_again_against_lookup<L: Layout>() {
    let mut setup = Setup::<L>::new(6);
    let [low, high] = setup.items([(0, 1), (2, 3)]);
    let x = setup.item_of_group(0, 1, low);
    let others = [(); 3].map(|()| setup.item(2, 3));
    setup.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&[x]);
    let [one, two, three] = others.map(insert);
    setup.thread([remove(low), one, two, three]).thread([contains(x)]).check(140_000, 2);
}

/// The ways of entries in the second line pass the first one, and go on doing so when one of them is removed.
fn passed_line_against_lookup<L: Layout>() {
    let (setup, [.., removed, x], _) = stashed::<L, 6>();
    setup.thread([remove(removed)]).thread([contains(x)]).check(44, 3);
}

/// The only entry of the second line. The others are of full buckets, and are passed by.
fn going_back_from_a_passed_line_against_lookup<L: Layout>() {
    let mut setup = Setup::<L>::new(if L::SLOTS < 4 { 10 } else { 6 });
    let [low, high] = setup.items([(0, 1), (2, 3)]);
    let others = [(); 2].map(|()| setup.item(2, 3));
    let x = setup.item_of_group(0, 1, low);
    setup.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&others).stash(&[x]);
    setup.thread([low; 3].map(remove)).thread([contains(x)]).check(54_000, 2);
}

/// All slots are in use. What is stashed already is refused no more than before, and what is new is, unless the
/// removal comes first.
fn refused_where_the_table_is_full<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, low, new] = setup.items([(0, 1); 3]);
    setup.fill_but_one(0, low).fill(1, low).stash(&[x]).fill(0, low);
    setup.thread([insert(x), maybe(insert(new))]).thread([remove(low)]).check(480, 2);
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
    setup.thread([split(1)]).thread([contains(x)]).check(1500, 3);
}

fn split_against_removal<L: GrowingLayout + Layout>() {
    let (setup, x) = growing::<L>();
    setup.thread([split(1)]).thread([remove(x), !contains(x)]).check(3000, 3);
}

/// It goes back to a bucket that is split, or to the new one.
fn split_beside_going_back<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(2, 1, low);
    setup.fill(0, low).fill(1, low).stash(&[x]);
    setup.thread([split(1)]).thread([remove(low), contains(x)]).check(7500, 2);
}

fn split_beside_an_insert<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8).split(2);
    let [x, low] = setup.items([(0, 1); 2]);
    setup.fill(0, low).fill(1, low);
    setup.thread([split(1)]).thread([insert(x), contains(x)]).check(69_000, 2);
}

/// The longest entry is removed, which is in the stash: what is left is found as an item of its own.
fn removal_of_a_shorter_entry_in_a_bucket<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(2);
    let long = setup.item(0, 1);
    let short = setup.variant(long, 0, 1);
    setup.store_as_of(0, 0, &[short]).stash(&[long]);
    setup.thread([remove(long)]).thread([contains(short)]).check(57, 3);
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
    setup.thread([insert(xa)]).thread([get(xa, [xb])]).check(1300, 3);
}

/// One value is in a bucket, the other in the stash.
fn get_beside_a_value_in_a_bucket<L: Layout>() {
    let (mut setup, xa) = one_item::<Maplet<L>>(&[]);
    let [xb, xc] = [1, 2].map(|value| setup.with_value(xa, value));
    setup.store(0, &[xa]).stash(&[xb]);
    setup.thread([remove(xb), insert(xc)]).thread([get(xa, [xa]), contains_key(xa)]).check(480, 2);
}

fn get_against_replacement<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    setup.stash(&[xa]);
    let either = get_any(xa, [xa, xb]);
    setup.thread([replace(xa, xb)]).thread([either, contains_key(xa)]).check(87_000, 3);
}

fn get_beside_going_back<L: Layout>() {
    let Full { mut setup, x: xa, low } = Full::<Maplet<L>>::goes_back();
    let xb = setup.with_value(xa, 1);
    setup.stash(&[xb]);
    setup.thread([remove(low)]).thread([get(xa, [xa, xb])]).check(5000, 2);
}

fn replacement_against_removal<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    setup.stash(&[xa]);
    setup
        .thread([maybe(replace(xa, xb))])
        .thread([maybe(remove(xa))])
        .thread([maybe(remove(xb))])
        .check(20_000, 3);
}

fn two_replacements<L: Layout>() {
    let (mut setup, xa, xb) = two_values::<L>();
    let xc = setup.with_value(xa, 2);
    setup.stash(&[xa]);
    setup
        .thread([maybe(replace(xa, xb))])
        .thread([maybe(replace(xa, xc))])
        .thread([contains_key(xa)])
        .check(64_000, 2);
}

/// The other value is the fourth entry.
fn replacement_with_a_doubling_against_lookup<L: Layout>() {
    let (mut setup, [xa, ..], _) = stashed::<Maplet<L>, 3>();
    let xb = setup.with_value(xa, 1);
    setup.thread([replace(xa, xb)]).thread([contains_key(xa)]).check(29_000, 1);
}
