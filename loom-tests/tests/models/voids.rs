//! Void entries, which know nothing beyond their bucket: a split doubles them.
//!
//! The table began with two buckets, and an entry knows one bit more than its bucket tells. So after one doubling
//! the oldest entries are void: of an item (4, 1), one in bucket 0 says as much of an item (0, 1). It has four
//! buckets and grows to eight; bucket 0 is split first.

use coucal::probe::ShortRing;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

growing_models! {
    void_entry_against_lookup_in_the_new_bucket
    void_entry_against_lookup_in_the_new_bucket_the_other_way
    void_entry_against_lookup_in_the_old_bucket
    void_entry_against_lookup_in_the_old_bucket_the_other_way
    void_entry_at_the_end_of_a_level_in_the_new_bucket
    void_entry_at_the_end_of_a_level_in_the_old_bucket
    void_entry_at_the_end_of_a_level_of_which_the_next_bit_is_set
    two_void_entries_against_lookups
    run_of_two_void_entries_against_lookups
    removal_beside_a_split_into_the_new_bucket = removal_beside_a_split(4)
    removal_beside_a_split_into_the_old_bucket = removal_beside_a_split(0)
    removal_and_lookup_beside_a_split
    insert_beside_a_split
    insert_unique_beside_a_split_into_the_new_bucket = insert_unique_beside_a_split(4)
    insert_unique_beside_a_split_into_the_old_bucket = insert_unique_beside_a_split(0)
    count_beside_a_split
    clear_beside_a_split
    snapshot_beside_a_split
    snapshot_at_the_end_of_a_level
    kick_against_lookup_in_its_direction = kick_against_lookup(|item| item)
    kick_against_lookup_the_other_way = kick_against_lookup(Item::swapped)
    kick_out_of_the_bucket_that_is_split
    kick_into_the_bucket_that_is_split
    kick_that_passes_a_void_entry_by
}

type Voids<L> = Setup<ShortRing<Growable<L>>>;

/// Four buckets.
fn four_buckets<L: GrowingLayout + Layout>() -> Voids<L> {
    Setup::growable(2, 8).split(2)
}

/// One item with a void entry, alone in bucket 0, which is split next. It belongs in the new bucket if `first` is 4,
/// and in the old one if it is 0.
fn one_void<L: GrowingLayout + Layout>(first: usize) -> (Voids<L>, Item) {
    let mut setup = four_buckets();
    let x = setup.item(first, 1);
    setup.store_void(0, &[x]);
    (setup, x)
}

/// Seven buckets. As before, in bucket 3, with whose split the level ends.
fn last_void<L: GrowingLayout + Layout>(first: usize) -> (Voids<L>, Item) {
    let mut setup = four_buckets().split(3);
    let x = setup.item(first, 0);
    setup.store_void(3, &[x]);
    (setup, x)
}

/// A split, and a lookup of the item.
fn against_lookup<L: GrowingLayout + Layout>(setup: Voids<L>, x: Item) {
    setup.thread([split(1)]).thread([contains(x)]).check(790, 3);
}

fn void_entry_against_lookup_in_the_new_bucket<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    against_lookup(setup, x);
}

fn void_entry_against_lookup_in_the_new_bucket_the_other_way<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    against_lookup(setup, x.swapped());
}

fn void_entry_against_lookup_in_the_old_bucket<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(0);
    against_lookup(setup, x);
}

fn void_entry_against_lookup_in_the_old_bucket_the_other_way<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(0);
    against_lookup(setup, x.swapped());
}

fn void_entry_at_the_end_of_a_level_in_the_new_bucket<L: GrowingLayout + Layout>() {
    let (setup, x) = last_void::<L>(7);
    against_lookup(setup, x);
}

fn void_entry_at_the_end_of_a_level_in_the_old_bucket<L: GrowingLayout + Layout>() {
    let (setup, x) = last_void::<L>(3);
    against_lookup(setup, x);
}

/// Before it is cleared, the next level would read the entry as one that knows a 0 more. The item has a 1 there.
fn void_entry_at_the_end_of_a_level_of_which_the_next_bit_is_set<L: GrowingLayout + Layout>() {
    let mut setup: Voids<L> = four_buckets().split(3);
    let absent = setup.item(3, 0);
    let x = setup.variant(absent, 4, 0);
    setup.store_void(3, &[x]);
    against_lookup(setup, x);
}

/// Of two items in one bucket, of which one belongs in the new bucket.
fn two_void_entries_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup: Voids<L> = four_buckets();
    let items = [4, 0].map(|first| setup.item(first, 1));
    setup.store_void(0, &items);
    setup.thread([split(1)]).thread(items.map(contains)).check(10_000, 3);
}

/// Two buckets are split at once.
fn run_of_two_void_entries_against_lookups<L: GrowingLayout + Layout>() {
    let mut setup: Voids<L> = four_buckets();
    let [even, odd] = setup.items([(4, 1), (1, 2)]);
    setup.store_void(0, &[even]).store_void(1, &[odd]);
    setup.thread([split(2)]).thread([contains(odd), contains(even)]).check(35_000, 3);
}

/// What is left in the other bucket is no item.
fn removal_beside_a_split<L: GrowingLayout + Layout>(first: usize) {
    let (setup, x) = one_void::<L>(first);
    setup.thread([split(1)]).thread([remove(x), !remove(x)]).check(10_000, 3);
}

/// The item has a copy in bucket 1, too, which is the longer one: it is removed, and the void entry answers.
fn removal_and_lookup_beside_a_split<L: GrowingLayout + Layout>() {
    let (mut setup, x) = one_void::<L>(4);
    setup.store(1, &[x]);
    setup.thread([split(1)]).thread([remove(x)]).thread([contains(x.swapped())]).check(490_000, 2);
}

/// One more copy, which knows more, and then as many removals.
fn insert_beside_a_split<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    setup.thread([split(1)]).thread([insert(x), remove(x), contains(x)]).check(15_000, 2);
}

fn insert_unique_beside_a_split<L: GrowingLayout + Layout>(first: usize) {
    let (setup, x) = one_void::<L>(first);
    setup.thread([split(1)]).thread([!insert_unique(x)]).check(580, 3);
}

fn count_beside_a_split<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    setup.thread([split(1)]).thread([count(x, 1)]).check(1500, 3);
}

/// Nothing is left, and nothing counts as doubled.
fn clear_beside_a_split<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    setup.thread([split(1)]).thread([clear(), insert(x)]).check(3800, 3);
}

/// It has one item, whether it is doubled or not.
fn against_snapshot<L: GrowingLayout + Layout>(setup: Voids<L>, x: Item) {
    setup.thread([split(1)]).thread([snapshot([x])]).check(730, 2);
}

fn snapshot_beside_a_split<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>(4);
    against_snapshot(setup, x);
}

fn snapshot_at_the_end_of_a_level<L: GrowingLayout + Layout>() {
    let (setup, x) = last_void::<L>(7);
    against_snapshot(setup, x);
}

/// Buckets 0 and 1 are full. An insert of `new` moves the void entry of `moved` from 0 to 3: nothing else can be
/// moved.
fn kick<L: GrowingLayout + Layout>() -> (Voids<L>, [Item; 2]) {
    let mut setup = four_buckets();
    let [moved, new, low] = setup.items([(4, 3), (0, 1), (0, 1)]);
    setup.store_void(0, &[moved]).fill(0, low).fill(1, low);
    (setup, [moved, new])
}

fn kick_against_lookup<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let (setup, [moved, new]) = kick::<L>();
    let looked_up = order(moved);
    setup.thread([insert(new)]).thread([contains(looked_up)]).check(170, 3);
}

/// Either it is moved as a void entry, or it is doubled first.
fn kick_out_of_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let (setup, [moved, new]) = kick::<L>();
    setup.thread([split(1)]).thread([insert(new), contains(moved)]).check(2900, 2);
}

/// Buckets 1 and 2 are full. An insert of `new` moves the void entry of `moved` from 1 to 0, but not when 0 is
/// split: it would belong in 0 and in 4. The new item goes to the stash.
fn passed_by<L: GrowingLayout + Layout>(splits: usize) -> (Voids<L>, [Item; 2]) {
    let mut setup = four_buckets().split(splits);
    let [moved, new] = setup.items([(1, 4), (1, 2)]);
    let [goes, stays] = setup.items([(5, 2), (1, 2)]);
    setup.store_void(1, &[moved]).fill(1, goes).fill(2, stays);
    (setup, [moved, new])
}

fn kick_into_the_bucket_that_is_split<L: GrowingLayout + Layout>() {
    let (setup, [moved, new]) = passed_by::<L>(0);
    setup.thread([split(1)]).thread([insert(new), contains(moved)]).check(5000, 2);
}

fn kick_that_passes_a_void_entry_by<L: GrowingLayout + Layout>() {
    let (setup, [moved, new]) = passed_by::<L>(1);
    setup.thread([insert(new)]).thread([contains(moved)]).check(18, 3);
}
