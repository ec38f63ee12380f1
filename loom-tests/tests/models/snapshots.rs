//! Snapshots against writers, and merges.
//!
//! A snapshot copies two words after the other two, in the order of the buckets. Where its *frontier*
//! is, a writer may change words on both sides of it at once. Every snapshot is checked against all
//! operations that change the table (see [`loom_tests::checker`]): it must be the table at one
//! instant. When all threads have ended, one more is taken.

use std::sync::Arc;

use coucal::probe::{self, Subject};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{OneHop, TwoHops};

models! {
    kick_across_the_frontier
    kick_across_the_frontier_the_other_way
    two_hops_across_the_frontier
    two_hops_across_the_frontier_the_other_way
    insert_beside_a_snapshot
    removal_beside_a_snapshot
    insert_and_removal_beside_a_snapshot = token(0)
    insert_and_removal_beside_a_snapshot_the_other_way = token(3)
    insert_unique_beside_a_snapshot
    unique_kick_across_the_frontier
    clear_beside_a_snapshot
    two_writers_beside_a_snapshot
    kick_and_removal_beside_a_snapshot
    two_snapshots_beside_a_kick
    snapshots_one_after_the_other
    what_is_known_is_in_the_snapshot
    abandoned_snapshot_beside_a_kick
    merge_beside_a_lookup_and_an_insert
    merge_beside_a_removal
    merge_that_fails_against_lookups
}

growing_models! {
    split_beside_a_snapshot = split_of(0)
    end_of_level_beside_a_snapshot = split_of(1)
    run_of_two_beside_a_snapshot
    two_splits_beside_a_snapshot
    split_and_insert_beside_a_snapshot
    split_and_removal_beside_a_snapshot
    two_snapshots_beside_a_split
    two_snapshots_beside_two_splits
    snapshot_beside_splits_of_a_longer_table
    merge_into_a_filter_that_grows
}

/// An insert that moves an item from 0, which is copied first, to 3, which is copied last. It is in
/// the snapshot once.
fn kick_across_the_frontier<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(0, 3);
    setup.thread([insert(new)]).thread([snapshot([moved])]).check(1300, 3);
}

/// From 3 to 0.
fn kick_across_the_frontier_the_other_way<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [moved, new, high] = setup.items([(3, 0), (2, 3), (2, 3)]);
    setup.store(3, &[moved]).fill(3, high).fill(2, high);
    setup.thread([insert(new)]).thread([snapshot([moved])]).check(1800, 3);
}

/// From 3 to 2, then from 0 to 3.
fn two_hops_across_the_frontier<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((0, 3), (3, 2));
    setup.thread([insert(new)]).thread([snapshot([near, far])]).check(12_000, 3);
}

/// From 0 to 1, then from 3 to 0.
fn two_hops_across_the_frontier_the_other_way<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [near, far, new] = setup.items([(3, 0), (0, 1), (2, 3)]);
    let [high, low] = setup.items([(2, 3), (3, 0)]);
    setup.store(3, &[near]).fill(3, high).fill(2, high).store(0, &[far]).fill(0, low);
    setup.thread([insert(new)]).thread([snapshot([near, far])]).check(26_000, 3);
}

fn insert_beside_a_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [new, low] = setup.items([(0, 3); 2]);
    setup.store(0, &[low]);
    setup.by_every_schedule().thread([insert(new)]).thread([snapshot([low])]).check(400, 3);
}

fn removal_beside_a_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [old, low] = setup.items([(3, 0); 2]);
    setup.store(3, &[old, low]);
    setup.by_every_schedule().thread([remove(old)]).thread([snapshot([low])]).check(400, 3);
}

/// A token goes from one item to another, and is there at any time: from bucket 0 to 3, which is copied
/// last, or the other way round.
fn token<L: Layout>(first: usize) {
    let mut setup = Setup::<L>::new(4);
    let other = 3 - first;
    let [from, to, filler] = setup.items([(first, other), (other, first), (0, 3)]);
    // Inserts go into the emptier bucket.
    setup.store(first, &[from, filler]);
    let snapshot = does(move |t| {
        let snapshot = t.snapshot();
        snapshot.of(from) + snapshot.of(to) > 0
    });
    setup.thread([insert(to), remove(from)]).thread([snapshot]).check(2000, 3);
}

fn insert_unique_beside_a_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let new = setup.item(3, 0);
    setup.thread([insert_unique(new)]).thread([snapshot([])]).check(590, 3);
}

fn unique_kick_across_the_frontier<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(0, 3);
    setup.thread([insert_unique(new)]).thread([snapshot([moved])]).check(1700, 3);
}

/// All of it, or nothing.
fn clear_beside_a_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 3); 2]);
    setup.store(0, &[x]).store(3, &[y]);
    let snapshot = does(move |t| {
        let snapshot = t.snapshot();
        snapshot.of(x) == snapshot.of(y)
    });
    setup.thread([clear()]).thread([snapshot]).check(35_000, 3);
}

/// Two buckets at first. This one is split, which is copied already or not; what goes and what stays
/// is in the snapshot once, in its bucket by the extent of the snapshot.
fn split_of<L: GrowingLayout + Layout>(bucket: usize) {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(bucket);
    let [goes, stays] = setup.items([(bucket + 2, 1 - bucket), (bucket, 1 - bucket)]);
    setup.store(bucket, &[goes, stays]);
    setup.thread([split(1)]).thread([snapshot([goes, stays])]).check(5800, 3);
}

/// Two buckets at first, with one item in each that goes.
fn both_go<L: GrowingLayout + Layout>() -> (Setup<Growable<L>>, [Item; 2]) {
    let mut setup = Setup::growable(2, 4);
    let [even, odd] = setup.items([(2, 1), (3, 0)]);
    setup.store(0, &[even]).store(1, &[odd]);
    (setup, [even, odd])
}

fn run_of_two_beside_a_snapshot<L: GrowingLayout + Layout>() {
    let (setup, items) = both_go::<L>();
    setup.thread([split(2)]).thread([snapshot(items)]).check(60_000, 3);
}

fn two_splits_beside_a_snapshot<L: GrowingLayout + Layout>() {
    let (setup, items) = both_go::<L>();
    setup.thread([split(1), split(1)]).thread([snapshot(items)]).check(93_000, 3);
}

/// The new item goes into the new bucket: its other one is full.
fn split_and_insert_beside_a_snapshot<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [goes, new, low] = setup.items([(2, 1), (2, 1), (0, 1)]);
    setup.store(0, &[goes]).fill(1, low);
    setup.thread([split(1)]).thread([insert(new)]).thread([snapshot([goes])]).check(150_000, 2);
}

fn split_and_removal_beside_a_snapshot<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [goes, stays] = setup.items([(2, 1), (0, 1)]);
    setup.store(0, &[goes, stays]);
    setup.thread([split(1), remove(goes)]).thread([snapshot([stays])]).check(21_000, 3);
}

/// Two threads write to a bucket each.
fn two_writers_beside_a_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [new, old, low] = setup.items([(3, 0), (0, 3), (0, 3)]);
    setup.store(0, &[old, low]);
    setup.thread([insert(new)]).thread([remove(old)]).thread([snapshot([low])]).check(10_000, 2);
}

/// The removal takes out what the kick moves.
fn kick_and_removal_beside_a_snapshot<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup.thread([insert(new)]).thread([remove(moved)]).thread([snapshot([])]).check(21_000, 2);
}

fn two_snapshots_beside_a_kick<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(0, 3);
    let [one, other] = [[moved]; 2].map(snapshot);
    setup.thread([insert(new)]).thread([one]).thread([other]).check(4800, 2);
}

fn two_snapshots_beside_a_split<L: GrowingLayout + Layout>() {
    let (setup, items) = both_go::<L>();
    let [one, other] = [items; 2].map(snapshot);
    setup.thread([split(1)]).thread([one]).thread([other]).check(49_000, 2);
}

/// One thread splits twice, and another takes two snapshots. Each chunk is one bucket: where a snapshot
/// begins, it adds the chunks that the table has to its mirror, while the splitter adds the next.
fn two_snapshots_beside_two_splits<L: GrowingLayout + Layout>() {
    let (setup, items) = both_go::<L>();
    setup.thread([split(1), split(1)]).thread([items; 2].map(snapshot)).check(10_000, 2);
}

/// The mirror gets six chunks and three more, its directory is replaced several times, by either thread.
fn snapshot_beside_splits_of_a_longer_table<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(4, 16).split(2);
    let [goes, stays] = setup.items([(6, 3), (2, 1)]);
    setup.store(2, &[goes, stays]);
    setup.thread([split(2), split(1)]).thread([snapshot([goes, stays])]).check(8500, 2);
}

/// One thread takes a snapshot, inserts, and takes another; a third is taken in the end.
fn snapshots_one_after_the_other<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 3); 2]);
    let before = does(move |t| t.snapshot().of(x) == 0);
    setup.thread([before, insert(x), snapshot([x])]).thread([insert(y)]).check(4600, 3);
}

/// What happens before the call is in the snapshot, and what happens after its return is not.
fn what_is_known_is_in_the_snapshot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 3); 2]);
    setup.check_with(1100, 3, move |model| {
        let (inserted, taken) = (Signal::new(), Signal::new());
        let (inserted_too, taken_too) = (inserted.clone(), taken.clone());
        model.thread(move |t| {
            assert!(t.insert(x));
            inserted.send(t);
            if taken_too.received(t) {
                assert!(t.insert(y));
            }
        });
        model.thread(move |t| {
            let known = inserted_too.received(t);
            let snapshot = t.snapshot();
            taken.send(t);
            assert!(!known || snapshot.of(x) == 1);
            assert_eq!(snapshot.of(y), 0);
        });
    });
}

/// A snapshot that ends early leaves no mirror behind, for which a writer would look in vain.
fn abandoned_snapshot_beside_a_kick<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(0, 3);
    let abandon = does(|t| {
        probe::abandon_image::<L>(t.filter());
        !probe::has_mirror::<L>(t.filter())
    });
    let snapshots = [abandon, snapshot([moved])];
    setup.thread([insert(new), remove(new)]).thread(snapshots).check(5100, 3);
}

fn merge_beside_a_lookup_and_an_insert<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y, other] = setup.items([(0, 1), (1, 0), (0, 1)]);
    setup.store(0, &[x]);
    setup.check_with(10_000, 2, move |model| {
        let image = model.image_of(&[x, y]);
        model.thread(move |t| assert!(t.merge(&image, 0)));
        model.thread(move |t| assert!(t.insert(other)));
        model.thread(move |t| {
            assert!(t.contains(x));
            t.contains(y);
        });
    });
}

/// Of what is merged, too.
fn merge_beside_a_removal<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y, other] = setup.items([(0, 1), (1, 0), (0, 1)]);
    setup.store(0, &[x, other]);
    setup.check_with(25_000, 2, move |model| {
        let image = model.image_of(&[x, y]);
        model.thread(move |t| assert!(t.merge(&image, 0)));
        model.thread(move |t| {
            assert!(t.remove(other));
            t.remove(y);
        });
        model.thread(move |t| assert!(t.contains(x)));
    });
}

/// Beside the stashed entries there is one slot in use less than there may be: the first item is
/// stored, the second is not, and the first is taken back. Both were there before, in the other
/// bucket, so a copy may change places; no lookup misses them.
fn merge_that_fails_against_lookups<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y, low] = setup.items([(0, 1), (1, 0), (0, 1)]);
    let high = setup.item(2, 3);
    setup.fill_but_one(0, low).store(1, &[x, y]).fill(1, low).fill(2, high);
    for _ in 0..L::SLOTS {
        let stashed = setup.item(0, 1);
        setup.stash(&[stashed]);
    }
    let swapped = x.swapped();
    setup.check_with(22_000, 2, move |model| {
        let image = Arc::new(model.image_of(&[x, y]));
        model.thread(move |t| assert!(!t.merge(&image, 1)));
        for item in [x, swapped] {
            model.thread(move |t| {
                assert!(t.contains(item));
                assert!(t.contains(y));
            });
        }
    });
}

/// The item that is merged has room when the table has grown.
fn merge_into_a_filter_that_grows<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let [new, goes, low] = setup.items([(2, 1), (2, 1), (0, 1)]);
    setup.store(0, &[goes]).fill(0, low).fill(1, low);
    setup.check_with(9000, 2, move |model| {
        let image = model.image_of(&[new]);
        model.thread(move |t| assert!(t.merge(&image, 0)));
        model.thread(move |t| {
            assert!(t.contains(goes));
            t.contains(new);
        });
    });
}
