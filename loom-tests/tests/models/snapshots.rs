//! Snapshots against writers, and merges.
//!
//! A snapshot copies the words in the order of the buckets, two at a time. The place up to which it has copied is its
//! *frontier*; a writer may change words on both sides of it at once. Every snapshot is checked against all
//! operations that change the table (see [`loom_tests::checker`]): it must be the table at one instant. When all
//! threads have ended, one more snapshot is taken.

use coucal::Layout;
use coucal::probe;
use loom_tests::model::*;

use crate::growth::{both_go, one_split};
use crate::{Growing, With, items, one_hop, two_hops, usually, with};

models! {
    // An insert moves an item from 0, which is copied first, to 3, which is copied last. It is in the snapshot once.
    kick_across_the_frontier: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [snapshot([moved])], 1300, 3;
    // From 3 to 0.
    kick_across_the_frontier_the_other_way: [moved, new, _] = with(
        Setup::<L>::new(4), [(3, 0), (2, 3), (2, 3)],
        |s, [moved, _, high]| s.store(3, &[moved]).fill(3, high).fill(2, high),
    ) => [insert(new)] || [snapshot([moved])], 1800, 3;
    // From 3 to 2, then from 0 to 3.
    two_hops_across_the_frontier: [near, far, new, ..] = two_hops::<L>((0, 3), (3, 2))
        => [insert(new)] || [snapshot([near, far])], 12_000, 3;
    // From 0 to 1, then from 3 to 0.
    two_hops_across_the_frontier_the_other_way: [near, far, new, ..] = with(
        Setup::<L>::new(4), [(3, 0), (0, 1), (2, 3), (2, 3), (3, 0)],
        |s, [near, far, _, high, low]| {
            s.store(3, &[near]).fill(3, high).fill(2, high).store(0, &[far]).fill(0, low)
        },
    ) => [insert(new)] || [snapshot([near, far])], 26_000, 3;
    insert_beside_a_snapshot: [new, low] = with(
        Setup::<L>::new(4), [(0, 3); 2], |s, [_, low]| s.store(0, &[low]),
    ) => [insert(new)] || [snapshot([low])], 400, 3, by_every_schedule;
    removal_beside_a_snapshot: [old, low] = with(
        Setup::<L>::new(4), [(3, 0); 2], |s, items| s.store(3, &items),
    ) => [remove(old)] || [snapshot([low])], 400, 3, by_every_schedule;
    insert_and_removal_beside_a_snapshot: [from, to, _] = token::<L>(0)
        => [insert(to), remove(from)] || [is_in_snapshot(from, to)], 2000, 3;
    insert_and_removal_beside_a_snapshot_the_other_way: [from, to, _] = token::<L>(3)
        => [insert(to), remove(from)] || [is_in_snapshot(from, to)], 2000, 3;
    insert_if_absent_beside_a_snapshot: [new] = items(Setup::<L>::new(4), [(3, 0)])
        => [insert_if_absent(new)] || [snapshot([])], 590, 3;
    unique_kick_across_the_frontier: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert_if_absent(new)] || [snapshot([moved])], 1700, 3;
    // All of it, or nothing.
    clear_beside_a_snapshot: [x, y] = with(
        Setup::<L>::new(4), [(0, 3); 2], |s, [x, y]| s.store(0, &[x]).store(3, &[y]),
    ) => [clear()] || [snapshot_that(move |counts| counts.of(x) == counts.of(y))], 35_000, 3;
    // Two threads write to one bucket each.
    two_writers_beside_a_snapshot: [new, old, low] = with(
        Setup::<L>::new(4), [(3, 0), (0, 3), (0, 3)], |s, [_, old, low]| s.store(0, &[old, low]),
    ) => [insert(new)] || [remove(old)] || [snapshot([low])], 10_000, 2;
    // The removal takes out the item that the kick moves.
    kick_and_removal_beside_a_snapshot: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [remove(moved)] || [snapshot([])], 21_000, 2;
    two_snapshots_beside_a_kick: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [snapshot([moved])] || [snapshot([moved])], 4800, 2;
    // One thread takes a snapshot, inserts, and takes another one; a third is taken at the end.
    snapshots_one_after_the_other: [x, y] = items(Setup::<L>::new(4), [(0, 3); 2])
        => [snapshot_that(move |counts| counts.of(x) == 0), insert(x), snapshot([x])]
        || [insert(y)], 4600, 3;
    // Operations that happen before the call are in the snapshot, and those that happen after its return are not.
    what_is_known_is_in_the_snapshot: [x, y] = items(Setup::<L>::new(4), [(0, 3); 2])
        => [insert(x), send(0), receive(1), insert(y)]
        || [receive(0), snapshot([]), send(1)], 1100, 3;
    // A snapshot that ends early leaves no mirror behind, for which a writer would look in vain.
    abandoned_snapshot_beside_a_kick: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new), remove(new)] || [does(abandon_snapshot), snapshot([moved])], 5100, 3;
    merge_beside_a_lookup_and_an_insert: [x, y, other] = with(
        Setup::<L>::new(2), [(0, 1), (1, 0), (0, 1)], |s, [x, y, _]| s.store(0, &[x]).merged(&[x, y]),
    ) => [merge(0)] || [insert(other)] || [contains(x), maybe(contains(y))], 10_000, 2;
    // Also removes a merged item.
    merge_beside_a_removal: [x, y, other] = with(
        Setup::<L>::new(2), [(0, 1), (1, 0), (0, 1)],
        |s, [x, y, other]| s.store(0, &[x, other]).merged(&[x, y]),
    ) => [merge(0)] || [remove(other), maybe(remove(y))] || [contains(x)], 25_000, 2;
    // The number of slots in use and stashed entries is one less than the maximum: the first item is stored, the second
    // is not, and the first one is taken back. Both were there before, in the other bucket, so a copy may change
    // places; no lookup misses them.
    merge_that_fails_against_lookups: [x, y, ..] = with(
        Setup::<L>::new(4), [(0, 1), (1, 0), (0, 1), (2, 3)], |s, [x, y, low, high]| {
            s.fill_but_one(0, low).store(1, &[x, y]).fill(1, low).fill(2, high);
            let stashed = [(0, 1); L::SLOTS].map(|(a, b)| s.item(a, b));
            s.stash(&stashed).merged(&[x, y])
        },
    ) => [!merge(1)]
        || [contains(x), contains(y)]
        || [contains(x.swapped()), contains(y)], 22_000, 2;
}

growing_models! {
    // The item that goes and the one that stays are in the snapshot once, in their buckets by the extent of the
    // snapshot. The bucket that is split may be copied already or not.
    split_beside_a_snapshot: [goes, stays] = one_split::<L>(0)
        => [split(1)] || [snapshot([goes, stays])], 5800, 3;
    end_of_level_beside_a_snapshot: [goes, stays] = one_split::<L>(1)
        => [split(1)] || [snapshot([goes, stays])], 5800, 3;
    run_of_two_beside_a_snapshot: [x, y] = both_go::<L>()
        => [split(2)] || [snapshot([x, y])], 60_000, 3;
    two_splits_beside_a_snapshot: [x, y] = both_go::<L>()
        => [split(1), split(1)] || [snapshot([x, y])], 12_000, usually(2);
    // The new item goes into the new bucket: its other one is full.
    split_and_insert_beside_a_snapshot: [goes, new, _] = with(
        Growing::<L>::growable(2, 4), [(2, 1), (2, 1), (0, 1)],
        |s, [goes, _, low]| s.store(0, &[goes]).fill(1, low),
    ) => [split(1)] || [insert(new)] || [snapshot([goes])], 150_000, 2;
    split_and_removal_beside_a_snapshot: [goes, stays] = one_split::<L>(0)
        => [split(1), remove(goes)] || [snapshot([stays])], 21_000, 3;
    two_snapshots_beside_a_split: [x, y] = both_go::<L>()
        => [split(1)] || [snapshot([x, y])] || [snapshot([x, y])], 49_000, 2;
    // One thread splits twice, and another takes two snapshots. Each piece is one bucket: where a snapshot begins, it
    // adds the pieces that the table has to its mirror, while the splitting thread adds the next.
    two_snapshots_beside_two_splits: [x, y] = both_go::<L>()
        => [split(1), split(1)] || [snapshot([x, y]), snapshot([x, y])], 10_000, 2;
    // The mirror gets six pieces and three more; its directory is replaced several times, by either thread.
    snapshot_beside_splits_of_a_longer_table: [goes, stays] = with(
        Growing::<L>::growable(4, 16).split(2), [(6, 3), (2, 1)], |s, items| s.store(2, &items),
    ) => [split(2), split(1)] || [snapshot([goes, stays])], 8500, 2;
    // There is room for the merged item when the table has grown.
    merge_into_a_filter_that_grows: [new, goes, _] = with(
        Growing::<L>::growable(2, 4), [(2, 1), (2, 1), (0, 1)], |s, [new, goes, low]| {
            s.store(0, &[goes]).fill(0, low).fill(1, low).merged(&[new])
        },
    ) => [merge(0)] || [contains(goes), maybe(contains(new))], 9000, 2;
}

/// A token goes from one item to another, and is there at any time: from bucket 0 to 3, which is copied last, or the
/// other way round.
///
/// `[from, to, filler]`.
fn token<L: Layout>(first: usize) -> With<L, 3> {
    let other = 3 - first;
    let buckets = [(first, other), (other, first), (0, 3)];
    // Inserts go into the emptier bucket.
    with(Setup::new(4), buckets, |s, [from, _, filler]| s.store(first, &[from, filler]))
}

fn is_in_snapshot<L: Layout>(from: Item, to: Item) -> Step<L> {
    snapshot_that(move |counts| counts.of(from) + counts.of(to) > 0)
}

fn snapshot_that<L: Layout>(is_right: impl Fn(Counts) -> bool + Send + Sync + 'static) -> Step<L> {
    does(move |t| is_right(t.snapshot()))
}

fn abandon_snapshot<L: Layout>(thread: &mut Thread<L>) -> bool {
    probe::abandon_image::<L>(thread.filter());
    !probe::has_mirror::<L>(thread.filter())
}
