//! Void entries, which know nothing beyond their bucket: a split doubles them.
//!
//! The table began with two buckets, and an entry knows one bit more than its bucket tells. So after one doubling the
//! oldest entries are void: one of an item (4, 1) in bucket 0 is also one of an item (0, 1). The table has four buckets
//! and grows to eight; bucket 0 is split first.

use coucal::probe::ShortRing;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{With, adding, items, storing, usually, with};

growing_models! {
    void_entry_against_lookup_in_the_new_bucket: [x] = one_void::<L>(4)
        => [split(1)] || [contains(x)], 790, 3;
    void_entry_against_lookup_in_the_new_bucket_the_other_way: [x] = one_void::<L>(4)
        => [split(1)] || [contains(x.swapped())], 790, 3;
    void_entry_against_lookup_in_the_old_bucket: [x] = one_void::<L>(0)
        => [split(1)] || [contains(x)], 790, 3;
    void_entry_against_lookup_in_the_old_bucket_the_other_way: [x] = one_void::<L>(0)
        => [split(1)] || [contains(x.swapped())], 790, 3;
    void_entry_at_the_end_of_a_level_in_the_new_bucket: [x] = last_void::<L>(7)
        => [split(1)] || [contains(x)], 790, 3;
    void_entry_at_the_end_of_a_level_in_the_old_bucket: [x] = last_void::<L>(3)
        => [split(1)] || [contains(x)], 790, 3;
    // Before the bucket is cleared, the next level would read the entry as one that knows a 0 more. The item has a 1
    // there.
    void_entry_at_the_end_of_a_level_of_which_the_next_bit_is_set: [x] = adding(
        items(four_buckets::<L>().split(3), [(3, 0)]),
        |s, [absent]| {
            let x = s.variant(absent, 4, 0);
            s.store_void(3, &[x]);
            [x]
        },
    ) => [split(1)] || [contains(x)], 790, 3;
    // Two items in one bucket, of which one goes into the new bucket.
    two_void_entries_against_lookups: [x, y] = with(
        four_buckets::<L>(), [(4, 1), (0, 1)], |s, items| s.store_void(0, &items),
    ) => [split(1)] || [contains(x), contains(y)], 10_000, 3;
    // Two buckets are split at once.
    run_of_two_void_entries_against_lookups: [even, odd] = with(
        four_buckets::<L>(), [(4, 1), (1, 2)],
        |s, [even, odd]| s.store_void(0, &[even]).store_void(1, &[odd]),
    ) => [split(2)] || [contains(odd), contains(even)], 35_000, 3;
    // The entry that is left in the other bucket is not an item.
    removal_beside_a_split_into_the_new_bucket: [x] = one_void::<L>(4)
        => [split(1)] || [remove(x), !remove(x)], 10_000, 3;
    removal_beside_a_split_into_the_old_bucket: [x] = one_void::<L>(0)
        => [split(1)] || [remove(x), !remove(x)], 10_000, 3;
    // The item has a copy in bucket 1, too, which is the longer one: it is removed, and the void entry answers.
    removal_and_lookup_beside_a_split: [x] = storing(
        one_void::<L>(4), |s, items| s.store(1, &items),
    ) => [split(1)] || [remove(x)] || [contains(x.swapped())], 10_000, usually(1);
    // One more copy, which knows more, and then as many removals.
    insert_beside_a_split: [x] = one_void::<L>(4)
        => [split(1)] || [insert(x), remove(x), contains(x)], 15_000, 2;
    insert_if_absent_beside_a_split_into_the_new_bucket: [x] = one_void::<L>(4)
        => [split(1)] || [!insert_if_absent(x)], 580, 3;
    insert_if_absent_beside_a_split_into_the_old_bucket: [x] = one_void::<L>(0)
        => [split(1)] || [!insert_if_absent(x)], 580, 3;
    count_beside_a_split: [x] = one_void::<L>(4) => [split(1)] || [count(x, 1)], 1500, 3;
    // Nothing is left, and nothing counts as doubled.
    clear_beside_a_split: [x] = one_void::<L>(4) => [split(1)] || [clear(), insert(x)], 3800, 3;
    // The snapshot has one item, whether its entry is doubled or not.
    snapshot_beside_a_split: [x] = one_void::<L>(4) => [split(1)] || [snapshot([x])], 730, 2;
    snapshot_at_the_end_of_a_level: [x] = last_void::<L>(7)
        => [split(1)] || [snapshot([x])], 730, 2;
    // The merge has found that the entry knows enough; after the split it does not: the merge doubles the entry.
    merge_beside_a_split: [x] = merged::<L>(0) => [merge(0), contains(x)] || [split(1)], 8500, 2;
    // The entries that the merge doubles are counted at the end.
    merge_beside_a_snapshot: [_] = merged::<L>(1) => [merge(0)] || [snapshot([])], 970, 2;
    merge_beside_a_sweep: [x] = merged::<L>(1) => [merge(0)] || [maybe(remove_value(x, 1))], 30, 2;
    merge_beside_a_clear: [x] = merged::<L>(1)
        => [merge(0), maybe(contains(x))] || [clear(), insert(x)], 330, 2;
    kick_against_lookup_in_its_direction: [moved, new, _] = kick::<L>()
        => [insert(new)] || [contains(moved)], 170, 3;
    kick_against_lookup_the_other_way: [moved, new, _] = kick::<L>()
        => [insert(new)] || [contains(moved.swapped())], 170, 3;
    // Either the entry is moved as a void one, or it is doubled first.
    kick_out_of_the_bucket_that_is_split: [moved, new, _] = kick::<L>()
        => [split(1)] || [insert(new), contains(moved)], 2900, 2;
    kick_into_the_bucket_that_is_split: [moved, new, ..] = passed_by::<L>(0)
        => [split(1)] || [insert(new), contains(moved)], 5000, 2;
    kick_that_passes_a_void_entry_by: [moved, new, ..] = passed_by::<L>(1)
        => [insert(new)] || [contains(moved)], 18, 3;
}

type Voids<L> = Setup<ShortRing<Growable<L>>>;
type VoidsWith<L, const N: usize> = With<ShortRing<Growable<L>>, N>;

fn four_buckets<L: GrowingLayout + Layout>() -> Voids<L> {
    Setup::growable(2, 8).split(2)
}

/// One item with a void entry, alone in bucket 0, which is split next. It goes into the new bucket if `first` is 4, and
/// stays in the old one if it is 0.
fn one_void<L: GrowingLayout + Layout>(first: usize) -> VoidsWith<L, 1> {
    with(four_buckets(), [(first, 1)], |s, items| s.store_void(0, &items))
}

/// An item is merged from a table of two buckets: its entry is void in bucket 0 of this table, and must be doubled when
/// that bucket is split.
fn merged<L: GrowingLayout + Layout>(splits: usize) -> VoidsWith<L, 1> {
    with(four_buckets().split(splits), [(4, 1)], |s, items| s.merged(&items))
}

/// As `one_void`, with seven buckets, and the entry in bucket 3: its split ends the level.
fn last_void<L: GrowingLayout + Layout>(first: usize) -> VoidsWith<L, 1> {
    with(four_buckets().split(3), [(first, 0)], |s, items| s.store_void(3, &items))
}

/// Buckets 0 and 1 are full. An insert of `new` moves the void entry of `moved` from 0 to 3: nothing else can be moved.
///
/// `[moved, new, low]`.
fn kick<L: GrowingLayout + Layout>() -> VoidsWith<L, 3> {
    with(four_buckets(), [(4, 3), (0, 1), (0, 1)], |s, [moved, _, low]| {
        s.store_void(0, &[moved]).fill(0, low).fill(1, low)
    })
}

/// Buckets 1 and 2 are full. An insert of `new` moves the void entry of `moved` from 1 to 0. When 0 is split, it does
/// not, since the entry would be in 0 and in 4: then the new item goes to the stash.
///
/// `[moved, new, goes, stays]`.
fn passed_by<L: GrowingLayout + Layout>(splits: usize) -> VoidsWith<L, 4> {
    let buckets = [(1, 4), (1, 2), (5, 2), (1, 2)];
    with(four_buckets().split(splits), buckets, |s, [moved, _, goes, stays]| {
        s.store_void(1, &[moved]).fill(1, goes).fill(2, stays)
    })
}
