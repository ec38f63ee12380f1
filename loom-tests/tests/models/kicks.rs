//! Kicks against lookups.

use coucal::Layout;
use loom_tests::stage::Baton;

use crate::{LastSlot, OneHop, TwoHops, by_slots, fewer_if_wide};

models! {
    kick_against_lookup_in_its_direction
    kick_against_lookup_the_other_way
    kick_against_two_lookups
    kick_and_removal_against_lookup
    kick_removal_and_insert_against_lookup
    two_hops_against_lookups_in_their_direction
    two_hops_against_lookups_the_other_way
    two_hops_against_two_lookups
    there_and_back_against_lookup
    there_and_back_against_lookup_the_other_way
    opposite_kicks
    what_is_known_is_found
}

/// Two threads: one inserts `new`, which moves `moved`; the other looks for that.
fn kick_against_lookup<L: Layout>(first: usize, second: usize) {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(first, second);
    cast.model(150, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

fn kick_against_lookup_in_its_direction<L: Layout>() {
    kick_against_lookup::<L>(0, 3);
}

fn kick_against_lookup_the_other_way<L: Layout>() {
    kick_against_lookup::<L>(3, 0);
}

fn kick_against_two_lookups<L: Layout>() {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(3, 0);
    let twin = moved.twin();
    cast.model(10_000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.contains(moved)));
        stage.actor(move |a| {
            assert!(a.contains(twin));
            a.contains(new);
            assert!(a.contains(moved));
        });
    });
}

/// The lookup reads bucket 0 after the newcomer was removed from it again: that store must tell of
/// the kick before it.
fn kick_and_removal_against_lookup<L: Layout>() {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(3, 0);
    cast.model(300, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

/// The same, with one more insert into the slot that the removal left.
fn kick_removal_and_insert_against_lookup<L: Layout>() {
    let OneHop { cast, moved, new, filler } = OneHop::<L>::new(3, 0);
    cast.model(500, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
            assert!(a.insert(filler));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

fn two_hops_against_lookups_in_their_direction<L: Layout>() {
    let TwoHops { cast, near, far, new, .. } = TwoHops::<L>::new((0, 3), (3, 2));
    cast.model(1500, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.contains(near));
            assert!(a.contains(far));
        });
    });
}

fn two_hops_against_lookups_the_other_way<L: Layout>() {
    let TwoHops { cast, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    cast.model(4000, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.contains(far));
            assert!(a.contains(near));
        });
    });
}

fn two_hops_against_two_lookups<L: Layout>() {
    let TwoHops { cast, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    cast.model(9000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.contains(near)));
        stage.actor(move |a| assert!(a.contains(far)));
    });
}

/// One item is moved there and back, each way by an insert, against a lookup.
fn there_and_back<L: Layout>(first: usize, second: usize) {
    let LastSlot { cast, moved, new, back, .. } = LastSlot::<L>::new(first, second);
    cast.model(500, 2, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
            assert!(a.insert(back));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

fn there_and_back_against_lookup<L: Layout>() {
    there_and_back::<L>(0, 3);
}

fn there_and_back_against_lookup_the_other_way<L: Layout>() {
    there_and_back::<L>(3, 0);
}

/// Two threads kick one item in opposite directions, if the first gets the free slot.
fn opposite_kicks<L: Layout>() {
    let LastSlot { cast, moved, new, back, .. } = LastSlot::<L>::new(3, 0);
    let floor = by_slots::<L>([700, 9000, 15_000, 35_000, 90_000, 45_000, 90_000]);
    cast.model(floor, fewer_if_wide::<L>(1), move |stage| {
        stage.actor(move |a| {
            if a.insert(new) {
                assert!(a.remove(new));
            }
            assert!(a.contains(moved));
        });
        stage.actor(move |a| {
            a.insert(back);
            assert!(a.contains(moved));
        });
    });
}

/// A lookup that knows of an insert finds the item, and one that knows of a removal does not.
fn what_is_known_is_found<L: Layout>() {
    let OneHop { cast, new, filler, .. } = OneHop::<L>::new(3, 0);
    cast.model(150, 2, move |stage| {
        let (inserted, removed) = (Baton::new(), Baton::new());
        let (inserted_too, removed_too) = (inserted.clone(), removed.clone());
        stage.actor(move |a| {
            assert!(a.insert(new));
            inserted.pass(a);
            assert!(a.remove(new));
            removed.pass(a);
            assert!(a.insert(filler));
        });
        stage.actor(move |a| {
            if removed_too.seen(a) {
                assert!(!a.contains(new));
            } else if inserted_too.seen(a) {
                a.contains(new);
            }
            a.contains(new);
        });
    });
}
