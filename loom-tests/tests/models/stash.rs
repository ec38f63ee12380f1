//! The stash: entries whose buckets have no free slot.
//!
//! Most tables have four buckets of which 0 and 1 are full, with items that no kick can move. So an insert of another
//! item (0, 1) goes to the stash, and the table as a whole is not full. Under loom the stash has one shard, of two
//! lines of two cells at first: the fourth entry doubles them.

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::entries::relatives;
use crate::{Growing, With, adding, items, one_hop, one_item, storing, usually, with};

models_of_three! {
    insert_against_lookup: [x, _] = full::<L>()
        => [insert(x)] || [maybe(contains(x)), maybe(contains(x.swapped()))],
        790, 3, by_every_schedule;
    // A thread that knows of the insert finds the item.
    insert_known_to_a_lookup: [x, _] = full::<L>()
        => [insert(x), send(0)] || [receive(0), maybe(contains(x))], 47, 3;
    insert_known_to_a_lookup_in_two_words: [x, _] = full::<L>()
        => [insert(x), send(0)] || [receive(0), maybe(contains(x))], 47, 3, cells_of_two_words;
    // The second copy makes the cell one of two words.
    second_copy_against_lookup: [x, _] = storing(full::<L>(), |s, [x, _]| s.stash(&[x]))
        => [insert(x), remove(x), contains(x)] || [contains(x)], 100, 2;
    second_copy_against_removal: [x, _] = storing(full::<L>(), |s, [x, _]| s.stash(&[x]))
        => [insert(x), contains(x)] || [remove(x)], 100, 2;
    going_back_in_two_words_against_lookup: [x, low] = goes_back::<L>()
        => [remove(low)] || [contains(x)], 500, 2, cells_of_two_words;
    insert_and_removal_against_lookup: [x, _] = full::<L>()
        => [insert(x), remove(x), !contains(x)]
        || [maybe(contains(x)), maybe(contains(x))], 500, usually(1);
    // Both threads want to allocate the shards, and the first lines.
    first_entries_of_two_threads: [x, y] = adding(full::<L>(), |s, [x, _]| [x, s.item(1, 0)])
        => [insert(x), contains(x)] || [insert(y), contains(y)], 3000, 2;
    // One free slot in bucket 0 takes a copy of the stashed item; then one copy of the two is removed. There always is
    // one.
    removal_beside_a_copy_into_a_bucket: [x, _] = room_for_one::<L>()
        => [insert(x), remove(x)] || [contains(x.swapped())], 630, 3;
    // The same with two threads.
    copy_into_a_bucket_and_removal_of_the_stashed_one: [x, _] = room_for_one::<L>()
        => [insert(x)] || [remove(x)] || [maybe(contains(x))], 3400, 2;
    two_removals_of_copies_in_both_places: [x] = storing(one_item::<L, 1>([0]), |s, x| s.stash(&x))
        => [remove(x)]
        || [remove(x.swapped())]
        || [maybe(contains(x)), maybe(contains(x))], 3100, 2;
    // Two items of one group that have no stripe in common. The bit is that of the group.
    removal_beside_another_item_of_the_group: [x, y] = adding(
        with(Setup::<L>::new(4), [(0, 1)], |s, x| s.stash(&x)), beside_another_of_the_group,
    ) => [remove(y)] || [contains(x)], 270, 3;
    insert_beside_a_removal_of_another_item_of_the_group: [x, y] = adding(
        full::<L>(), |s, [x, _]| beside_another_of_the_group(s, [x]),
    ) => [insert(x), contains(x)] || [remove(y)], 2400, 3;
    // A lookup that began before the removal does not find the other item before its insert has bumped the version: the
    // second lookup might miss it. (`stopped` has lookups that begin later.)
    insert_under_way_against_two_lookups: [x, y] = adding(
        full::<L>(), |s, [x, _]| beside_another_of_the_group(s, [x]),
    ) => [remove(y), insert(x)] || [maybe(contains(x)), maybe(contains(x))], 11_900, 2;
    // A kick bumps the version that a lookup of a stashed item compares.
    kick_in_the_group_against_lookup: [moved, new, x] = adding(
        one_hop::<L>(3, 0), |s, [moved, new, _]| {
            let x = s.item_of_group(2, 1, moved);
            s.stash(&[x]);
            [moved, new, x]
        },
    ) => [insert(new)] || [contains(x), contains(moved)], 500, 3;
    // Exactly one of the two stores it, as the checker knows.
    two_inserts_if_absent_of_one_item: [x, _] = full::<L>()
        => [maybe(insert_if_absent(x))] || [maybe(insert_if_absent(x.swapped()))], 590, 2;
    insert_if_absent_beside_an_insert: [x, _] = full::<L>()
        => [insert(x)] || [maybe(insert_if_absent(x.swapped()))], 590, 2;
    insert_if_absent_of_a_stashed_item_beside_a_free_slot: [x, low] = room_for_one::<L>()
        => [!insert_if_absent(x)] || [remove(low)], 10, 2;
    two_inserts_of_one_item_and_a_count: [x, _] = full::<L>()
        => [insert(x), maybe(count(x, 1))] || [insert(x)], 1100, 2;
    going_back_against_lookup: [x, low] = goes_back::<L>()
        => [remove(low)] || [contains(x)], 6000, 3, by_every_schedule;
    going_back_against_removal: [x, low] = goes_back::<L>()
        => [remove(low)] || [remove(x), !contains(x)], 1200, 3;
    going_back_against_insert: [x, low] = goes_back::<L>()
        => [remove(low)] || [insert(x), contains(x)], 500, usually(1);
    going_back_against_insert_if_absent: [x, low] = goes_back::<L>()
        => [remove(low)] || [!insert_if_absent(x)], 2900, 2;
    going_back_against_count: [x, low] = goes_back::<L>()
        => [remove(low)] || [count(x, 1)], 280, 2;
    // There is one copy, and two free slots.
    two_that_make_it_go_back: [x, low] = goes_back::<L>()
        => [remove(low)] || [remove(low.swapped()), contains(x)], 570, 2;
    // Another entry of their group is stashed all the time. One of them stores the item.
    insert_if_absent_by_the_marks_beside_a_stashed_insert: [x, low] = adding(full::<L>(), |s, [x, low]| {
        beside_another_of_the_group(s, [x]);
        [x, low]
    }) => [insert(x)] || [remove(low), maybe(insert_if_absent(x.swapped()))], 590, 2;
    clear_against_lookup: [x] = storing(one_item::<L, 0>([]), |s, x| s.stash(&x))
        => [clear(), !contains(x), insert(x)]
        || [maybe(contains(x)), maybe(contains(x.swapped()))], 10_000, usually(2);
    clear_against_insert: [x, _] = storing(full::<L>(), |s, [x, _]| s.stash(&[x]))
        => [clear()] || [insert(x), maybe(contains(x)), maybe(remove(x))], 5700, 2;
    // The later item is not in the snapshot if the earlier one is not.
    snapshot_beside_an_insert: [x, low] = full::<L>()
        => [insert(x), remove(low)] || [snapshot([])], 490, 2;
    // The item is in the snapshot once, wherever it is.
    snapshot_beside_going_back: [x, low] = goes_back::<L>()
        => [remove(low)] || [snapshot([x])], 460, 2;
    // The doubling moves all entries: their ways then begin in another line.
    doubling_against_lookup: [x, _, _, new] = stashed_and_new::<L>()
        => [insert(new)] || [contains(x)], 110_000, 2;
    doubling_against_removal: [x, _, _, new] = stashed_and_new::<L>()
        => [insert(new)] || [remove(x), !contains(x)], 50, usually(1);
    // Then only one entry is left, and its way begins in another line again.
    halving_against_lookup: [x, y] = stashed::<L, 2>()
        => [resize_stash(x, 4), remove(y)] || [contains(x)], 130_000, 2;
    // A lookup sees the same number of lines twice, and another one in between.
    halving_and_doubling_against_lookup: [x] = stashed::<L, 1>()
        => [resize_stash(x, 4), resize_stash(x, 2)] || [contains(x)], 50_000, 2;
    // The entry goes back to a bucket, and an entry at another position takes its cell: one of those whose way begins
    // in the same line.
    cell_used_again_against_lookup: [low, x, one, two, three] = cell_used_again::<L>()
        => [remove(low), insert(one), insert(two), insert(three)] || [contains(x)], 5000, usually(1);
    cell_of_two_words_used_again_against_lookup: [low, x, one, two, three] = cell_used_again::<L>()
        => [remove(low), insert(one), insert(two), insert(three)] || [contains(x)],
        5000, 1, cells_of_two_words;
    // The core of the new item is that of the removed one, and it gets the cell and the marks of the removed one. A
    // lookup loads the first word of the cell, or the head, before the removal, and the second word after the insert
    // has stored it. Something of the group stays stashed. What a lookup has found, the next one finds.
    words_of_two_entries_against_lookups: [x, y] = adding(
        items(Setup::<L>::new(6), [(0, 1)]), |s, [x]| {
            let (other, y) = (s.item_of_group(0, 1, x), s.item_of_core(2, x));
            s.fill_buckets_of(x).fill_buckets_of(y).stash(&[x, other]);
            [x, y]
        },
    ) => [remove(x), maybe(insert(y))] || [maybe(contains(y)), maybe(contains(y))],
        50_000, 2, cells_of_two_words;
    // The ways of entries in the second line pass the first one, and continue to do so when one of them is removed.
    passed_line_against_lookup: [.., removed, x] = stashed::<L, 6>()
        => [remove(removed)] || [contains(x)], 44, 3;
    // It is the only entry of the second line. The others are of full buckets, and are passed by.
    going_back_from_a_passed_line_against_lookup: [low, x] = adding(
        items(Setup::<L>::new(buckets_for_many::<L>()), [(0, 1), (2, 3)]),
        |s, [low, high]| {
            let others = s.items([(2, 3); 2]);
            let x = s.item_of_group(0, 1, low);
            s.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&others).stash(&[x]);
            [low, x]
        },
    ) => [remove(low), remove(low), remove(low)] || [contains(x)], 6500, usually(1);
    // All slots are in use. An item that is already stashed is not refused; a new one is, unless the removal comes
    // first.
    refused_where_the_table_is_full: [x, low, new] = with(
        Setup::<L>::new(2), [(0, 1); 3],
        |s, [x, low, _]| s.fill_but_one(0, low).fill(1, low).stash(&[x]).fill(0, low),
    ) => [insert(x), maybe(insert(new))] || [remove(low)], 480, 2;
}

growing_models! {
    split_against_lookup: [x] = growing::<L>() => [split(1)] || [contains(x)], 700, 3;
    split_against_removal: [x] = growing::<L>()
        => [split(1)] || [remove(x), !contains(x)], 3000, 3;
    // The entry goes back to a bucket that is split, or to the new one.
    split_beside_going_back: [x, low] = going_back(Growing::<L>::growable(2, 4), 2, 1)
        => [split(1)] || [remove(low), contains(x)], 5800, 2;
    split_beside_an_insert: [x, _] = with(
        Growing::<L>::growable(2, 8).split(2), [(0, 1); 2],
        |s, [_, low]| s.fill(0, low).fill(1, low),
    ) => [split(1)] || [insert(x), contains(x)], 25_000, usually(1);
    // The longest entry, which is in the stash, is removed: the entry that is left is found as an item of its own.
    removal_of_a_shorter_entry_in_a_bucket: [long, short] = storing(
        relatives::<L>(0), |s, [long, short]| s.store_as_of(0, 0, &[short]).stash(&[long]),
    ) => [remove(long)] || [contains(short)], 57, 3;
}

models_of_three! {
    get_against_insert: [xa, xb] = storing(two_values::<L>(), |s, [_, xb]| s.stash(&[xb]))
        => [insert(xa)] || [get(xa, [xb])], 1300, 3;
    // One value is in a bucket, the other in the stash.
    get_beside_a_value_in_a_bucket: [xa, xb, xc] = adding(
        one_item::<Maplet<L>, 1>([0]), |s, [xa]| {
            let [xb, xc] = [1, 2].map(|value| s.with_value(xa, value));
            s.stash(&[xb]);
            [xa, xb, xc]
        },
    ) => [remove(xb), insert(xc)] || [get(xa, [xa]), contains_key(xa)], 480, 2;
    get_against_replacement: [xa, xb] = one_stashed::<L>()
        => [replace(xa, xb)] || [get_any(xa, [xa, xb]), contains_key(xa)], 2000, usually(1);
    get_beside_going_back: [xa, xb, low] = adding(goes_back::<Maplet<L>>(), |s, [xa, low]| {
        let xb = s.with_value(xa, 1);
        s.stash(&[xb]);
        [xa, xb, low]
    }) => [remove(low)] || [get(xa, [xa, xb])], 5000, 2;
    // Then the ways of both values begin in another line.
    get_beside_doubling: [xa, xb] = adding(stashed::<Maplet<L>, 2>(), |s, [xa, _]| {
        let xb = s.with_value(xa, 1);
        s.stash(&[xb]);
        [xa, xb]
    }) => [resize_stash(xa, 4)] || [get(xa, [xa, xb])], 2300, 1;
    // A value of the key is removed from a slot, and the stashed one takes the slot at once.
    own_value_going_back_against_get: [xa, xb] = own_goes_back::<L>()
        => [remove(xb)] || [get(xa, [xa]), contains_key(xa)], 590, 2;
    own_value_going_back_against_lookup: [xa, xb] = own_goes_back::<L>()
        => [remove(xb)] || [contains_key(xa), contains(xa)], 590, 2;
    own_value_going_back_against_insert_if_absent: [xa, xb] = own_goes_back::<L>()
        => [remove(xb)] || [!insert_if_absent(xa)], 80, 2;
    own_value_going_back_against_removal: [xa, xb] = own_goes_back::<L>()
        => [remove(xb), maybe(contains_key(xa))] || [remove(xa)], 100, 2;
    replacement_against_removal: [xa, xb] = one_stashed::<L>()
        => [maybe(replace(xa, xb))] || [maybe(remove(xa))] || [maybe(remove(xb))], 10_000, usually(1);
    two_replacements: [xa, xb, xc] = adding(
        one_stashed::<L>(), |s, [xa, xb]| [xa, xb, s.with_value(xa, 2)],
    ) => [maybe(replace(xa, xb))] || [maybe(replace(xa, xc))] || [contains_key(xa)], 15_000, usually(1);
    // The other value is the fourth entry.
    replacement_with_a_doubling_against_lookup: [xa, xb] = adding(
        stashed::<Maplet<L>, 3>(), |s, [xa, ..]| [xa, s.with_value(xa, 1)],
    ) => [replace(xa, xb)] || [contains_key(xa)], 29_000, 1;
}

/// Buckets 0 and 1 are full of `low`. `x` (0, 1) is not there.
///
/// `[x, low]`.
fn full<M: Subject>() -> With<M, 2> {
    with(Setup::new(4), [(0, 1); 2], |s, [_, low]| s.fill(0, low).fill(1, low))
}

/// Buckets 0 and 1 are full of `low`. `x`, which has these buckets, is of the group of `low`, and stashed: a removal of
/// `low` lets it go back to a bucket.
///
/// `[x, low]`.
pub fn going_back<M: Subject>(setup: Setup<M>, first: usize, second: usize) -> With<M, 2> {
    adding(items(setup, [(0, 1)]), |s, [low]| {
        let x = s.item_of_group(first, second, low);
        s.fill(0, low).fill(1, low).stash(&[x]);
        [x, low]
    })
}

/// The same in a table of four buckets.
fn goes_back<M: Subject>() -> With<M, 2> {
    going_back(Setup::new(4), 0, 1)
}

/// Two buckets, full except for one slot. `x` is stashed.
///
/// `[x, low]`.
fn room_for_one<L: Layout>() -> With<L, 2> {
    with(Setup::new(2), [(0, 1); 2], |s, [x, low]| s.fill_but_one(0, low).fill(1, low).stash(&[x]))
}

/// Four full buckets. `x` is stashed, and goes back when `low` is removed. The other three are not there yet.
///
/// `[low, x, one, two, three]`.
fn cell_used_again<L: Layout>() -> With<L, 5> {
    adding(items(Setup::new(6), [(0, 1), (2, 3)]), |s, [low, high]| {
        let x = s.item_of_group(0, 1, low);
        let [one, two, three] = s.items([(2, 3); 3]);
        s.fill(0, low).fill(1, low).fill(2, high).fill(3, high).stash(&[x]);
        [low, x, one, two, three]
    })
}

/// Adds `x` and another item of its group, which is stashed.
fn beside_another_of_the_group<L: Layout>(setup: &mut Setup<L>, [x]: [Item; 1]) -> [Item; 2] {
    let y = setup.item_of_group(2, 3, x);
    setup.stash(&[y]);
    [x, y]
}

/// Returns a number of buckets with which the stash can hold seven entries, also in a layout of two slots.
pub fn buckets_for_many<M: Subject>() -> usize {
    if M::SLOTS < 4 { 10 } else { 6 }
}

/// Some entries are in the stash, in this order, all on one way: two in each line. When the lines are doubled, the way
/// of the fourth entry is another one.
fn stashed<M: Subject, const N: usize>() -> With<M, N> {
    adding(items(Setup::new(buckets_for_many::<M>()), [(2, 3)]), |s, [low]| {
        let stashed = [(); N].map(|()| s.item_of_group(2, 3, low));
        s.fill(2, low).fill(3, low).stash(&stashed);
        stashed
    })
}

/// The same with three entries, and a new item whose buckets are full.
fn stashed_and_new<L: Layout>() -> With<L, 4> {
    adding(stashed(), |s, [x, y, z]| [x, y, z, s.item(2, 3)])
}

/// A table of two buckets that grows to four, and an item in the stash: its bucket is 0, and after the split it is 2.
fn growing<L: GrowingLayout + Layout>() -> With<Growable<L>, 1> {
    with(Setup::growable(2, 4), [(2, 1)], |s, x| s.stash(&x))
}

/// Two values of a key whose buckets are full.
///
/// `[xa, xb]`.
fn two_values<L: Layout>() -> With<Maplet<L>, 2> {
    adding(full(), |s, [xa, _]| [xa, s.with_value(xa, 1)])
}

/// Buckets 0 and 1 are full, one slot with `xb`; `xa` is in the stash.
///
/// `[xa, xb]`.
fn own_goes_back<L: Layout>() -> With<Maplet<L>, 2> {
    adding(
        with(Setup::new(4), [(0, 1); 2], |s, [_, low]| s.fill_but_one(0, low).fill(1, low)),
        |s, [xa, _]| {
            let xb = s.with_value(xa, 1);
            s.store(0, &[xb]).stash(&[xa]);
            [xa, xb]
        },
    )
}

/// As `two_values`, with xa in the stash.
///
/// `[xa, xb]`.
fn one_stashed<L: Layout>() -> With<Maplet<L>, 2> {
    storing(two_values(), |s, [xa, _]| s.stash(&[xa]))
}
