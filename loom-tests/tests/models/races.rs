//! Writers against writers: the last slot, crossing paths, equal fingerprints, full tables.

use coucal::Layout;
use loom_tests::stage::Cast;

use crate::{LastSlot, OneHop, by_slots, fewer_if_wide};

models! {
    two_inserts_for_the_last_slot
    insert_and_kick_for_the_last_slot
    two_kicks_for_the_last_slot
    two_kicks_for_two_slots
    two_hops_into_a_bucket_that_others_use
    crossing_paths
    removal_of_what_is_kicked_in_its_direction
    removal_of_what_is_kicked_the_other_way
    removal_beside_a_kick
    two_removals_of_one_copy
    three_removals_of_two_copies
    copy_in_and_copy_out_against_lookup
    copy_in_counted_and_copy_out_against_lookup
    insert_removal_and_lookup_of_one_item
    two_writers_of_one_item_against_lookup
    one_copy_too_many_against_removal
    slot_freed_during_a_search
    slot_freed_deeper_in_a_search
    failed_insert_against_everything
    failed_insert_against_kick
}

/// The checker knows that one of the two must get it, and that both cannot.
fn two_inserts_for_the_last_slot<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let [x, y, filler] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    cast.fill(0, filler).fill_but_one(1, filler);
    cast.model(25, 3, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(y);
        });
    });
}

/// One of them has to kick for it.
fn insert_and_kick_for_the_last_slot<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [kicks, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [moved, direct, high] = [(3, 0); 3].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high);
    let floor = by_slots::<L>([150, 600, 5000, 12_000, 25_000, 600, 800]);
    cast.model(floor, fewer_if_wide::<L>(2), move |stage| {
        stage.actor(move |a| {
            a.insert(kicks);
        });
        stage.actor(move |a| {
            a.insert(direct);
        });
    });
}

/// Both have to, from the two buckets that they share, over different items.
fn two_kicks_for_the_last_slot<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [x, y, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [left, right, high] = [(0, 3), (2, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    cast.fill(2, high).fill_but_one(3, high);
    let floor = by_slots::<L>([800, 1700, 3000, 7000, 12_000, 600, 700]);
    cast.model(floor, fewer_if_wide::<L>(2), move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(y);
        });
    });
}

/// There is room for both, one hop away, and each may find its path stale.
fn two_kicks_for_two_slots<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [x, y, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [left, right, high] = [(0, 3), (2, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    cast.fill_but_one(2, high).fill_but_one(3, high);
    cast.model(2000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(x)));
        stage.actor(move |a| assert!(a.insert(y)));
        stage.actor(move |a| assert!(a.contains(left)));
    });
}

/// The middle hop of a path fills bucket 2 and leaves 3; others write to both at the same time.
fn two_hops_into_a_bucket_that_others_use<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [new, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [near, guest] = [(3, 0), (2, 1)].map(|(a, b)| cast.item(a, b));
    let [far, high] = [(3, 2), (3, 0)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high);
    cast.model(150, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.insert(guest));
            assert!(a.remove(high));
        });
    });
}

/// A path from 0 to 3 and one from 3 to 0, at once: one thread has searched its path when the other
/// fills bucket 3, empties a slot of 0 and kicks the other way. No deadlock, and nothing is lost.
fn crossing_paths<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [x, gap, low] = [(0, 1); 3].map(|(a, b)| cast.item(a, b));
    let [y, high] = [(2, 3); 2].map(|(a, b)| cast.item(a, b));
    let [down, up, plug, mid] = [(3, 0); 4].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[down, gap]).fill(0, low).fill(1, low);
    cast.fill(2, high).store(3, &[up]).fill_but_one(3, mid);
    let floor = by_slots::<L>([600, 2000, 15_000, 50_000, 100_000, 200_000, 350_000]);
    cast.model(floor, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(plug);
            assert!(a.remove(gap));
            a.insert(y);
        });
    });
}

/// Found in one bucket, moved to the other: the removal must go after it.
fn removal_of_what_is_kicked<L: Layout>(first: usize, second: usize) {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(first, second);
    cast.model(150, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.remove(moved));
            assert!(!a.remove(moved));
        });
    });
}

fn removal_of_what_is_kicked_in_its_direction<L: Layout>() {
    removal_of_what_is_kicked::<L>(0, 3);
}

fn removal_of_what_is_kicked_the_other_way<L: Layout>() {
    removal_of_what_is_kicked::<L>(3, 0);
}

/// Another item is removed from the bucket that a kick fills.
fn removal_beside_a_kick<L: Layout>() {
    let LastSlot { cast, moved, new, high, .. } = LastSlot::<L>::new(0, 3);
    let high = high.twin();
    cast.model(100, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.remove(high));
            assert!(a.contains(moved));
        });
    });
}

fn two_removals_of_one_copy<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(1, &[x]);
    let twin = x.twin();
    cast.model(25, 3, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                a.remove(x);
            });
        }
    });
}

/// Each prefers the bucket that the other does not.
fn three_removals_of_two_copies<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]).store(1, &[x]);
    let twin = x.twin();
    cast.model(7000, 2, move |stage| {
        for x in [x, twin, x] {
            stage.actor(move |a| {
                a.remove(x);
            });
        }
    });
}

/// The duplicate rule: a copy is put into one bucket, then one is taken from the other. The lookup
/// reads them the other way round.
fn copy_in_and_copy_out_against_lookup<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(90, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(x));
            assert!(a.remove(x));
        });
        stage.actor(move |a| assert!(a.contains(twin)));
    });
}

/// A removal looks at the other bucket, and clears its own; in between a copy is put into that other
/// bucket and both are counted. There always was one, so the lookup must find it.
fn copy_in_counted_and_copy_out_against_lookup<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(1, &[x]);
    cast.model(1000, 2, move |stage| {
        stage.actor(move |a| assert!(a.remove(x)));
        stage.actor(move |a| {
            assert!(a.insert(x));
            a.count(x);
        });
        stage.actor(move |a| {
            a.contains(x);
        });
    });
}

fn insert_removal_and_lookup_of_one_item<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(1000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(x)));
        stage.actor(move |a| assert!(a.remove(x)));
        stage.actor(move |a| {
            a.contains(twin);
            a.contains(twin);
        });
    });
}

/// Two inserts and two removals of one item, in which the copies change places.
fn two_writers_of_one_item_against_lookup<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(25_000, 2, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                assert!(a.insert(x));
                assert!(a.remove(x));
            });
        }
        stage.actor(move |a| assert!(a.contains(twin)));
    });
}

/// One copy more than two buckets hold; with a removal at the same time it may not be.
fn one_copy_too_many_against_removal<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.fill(0, x).fill(1, x);
    cast.model(30, 3, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| assert!(a.remove(x)));
    });
}

/// What a kick would have moved is removed after the search for a path began. There was room all
/// the time: first behind what was removed, then in its place.
fn slot_freed_during_a_search<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [new, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [moved, high, rest] = [(0, 3), (3, 0), (1, 2)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved]).fill(0, low).fill_but_one(3, high);
    cast.fill(1, rest).fill(2, rest);
    cast.model(80, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.remove(moved)));
    });
}

/// The same one hop further away.
fn slot_freed_deeper_in_a_search<L: Layout>() {
    let mut cast = Cast::<L>::new(6);
    let [new, near, mid] = [(0, 1), (0, 3), (3, 0)].map(|(a, b)| cast.item(a, b));
    let [rest, far] = [(1, 2), (3, 4)].map(|(a, b)| cast.item(a, b));
    cast.fill(0, near).store(3, &[far]).fill(3, mid);
    cast.fill(1, rest).fill(2, rest);
    cast.model(150, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.remove(far)));
    });
}

/// An insert that finds no room changes nothing for anyone.
fn failed_insert_against_everything<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let [x, y, outsider, new] = [(0, 1), (1, 0), (0, 1), (1, 0)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[y]).fill(0, x).store(1, &[x]).fill(1, y);
    let floor = by_slots::<L>([2000, 4500, 9000, 20_000, 35_000, 130_000, 200_000]);
    cast.model(floor, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(outsider);
        });
        stage.actor(move |a| {
            assert!(a.remove(x));
            a.insert(new);
        });
        stage.actor(move |a| {
            assert!(a.contains(y));
            assert!(a.contains(x));
        });
    });
}

/// The same where a kick takes the last slot at the same time.
fn failed_insert_against_kick<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [kicks, outsider, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [moved, high] = [(3, 0); 2].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high);
    let floor = by_slots::<L>([1500, 2500, 4000, 10_000, 13_000, 16_000, 20_000]);
    cast.model(floor, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(outsider);
        });
        stage.actor(move |a| {
            a.insert(kicks);
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}
