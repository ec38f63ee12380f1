//! Kicks against lookups.

use coucal::Layout;
use loom_tests::model::Signal;

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

/// Two threads: one inserts `new`, which moves `moved`; the other looks up `moved`.
fn kick_against_lookup<L: Layout>(first: usize, second: usize) {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(first, second);
    setup.by_every_schedule().check(170, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.contains(moved)));
    });
}

fn kick_against_lookup_in_its_direction<L: Layout>() {
    kick_against_lookup::<L>(0, 3);
}

fn kick_against_lookup_the_other_way<L: Layout>() {
    kick_against_lookup::<L>(3, 0);
}

fn kick_against_two_lookups<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    let swapped = moved.swapped();
    setup.check(20_000, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.contains(moved)));
        model.thread(move |t| {
            assert!(t.contains(swapped));
            t.contains(new);
            assert!(t.contains(moved));
        });
    });
}

/// The lookup may read bucket 0 as the removal of `new` left it. This store, too, must make the kick
/// before it visible.
fn kick_and_removal_against_lookup<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup.check(390, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.remove(new));
        });
        model.thread(move |t| assert!(t.contains(moved)));
    });
}

/// The same, with one more insert into the slot that the removal freed.
fn kick_removal_and_insert_against_lookup<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    setup.check(710, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.remove(new));
            assert!(t.insert(filler));
        });
        model.thread(move |t| assert!(t.contains(moved)));
    });
}

fn two_hops_against_lookups_in_their_direction<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((0, 3), (3, 2));
    setup.check(2500, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert!(t.contains(near));
            assert!(t.contains(far));
        });
    });
}

fn two_hops_against_lookups_the_other_way<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    setup.check(6200, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert!(t.contains(far));
            assert!(t.contains(near));
        });
    });
}

fn two_hops_against_two_lookups<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    setup.check(15_000, 2, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert!(t.contains(near)));
        model.thread(move |t| assert!(t.contains(far)));
    });
}

/// One insert moves an item to its other bucket, a second insert moves it back, during a lookup.
fn there_and_back<L: Layout>(first: usize, second: usize) {
    let LastSlot { setup, moved, new, back, .. } = LastSlot::<L>::new(first, second);
    setup.check(500, 2, move |model| {
        model.thread(move |t| {
            assert!(t.insert(new));
            assert!(t.remove(new));
            assert!(t.insert(back));
        });
        model.thread(move |t| assert!(t.contains(moved)));
    });
}

fn there_and_back_against_lookup<L: Layout>() {
    there_and_back::<L>(0, 3);
}

fn there_and_back_against_lookup_the_other_way<L: Layout>() {
    there_and_back::<L>(3, 0);
}

/// Two threads kick one item in opposite directions, if the first thread gets the free slot.
fn opposite_kicks<L: Layout>() {
    let LastSlot { setup, moved, new, back, .. } = LastSlot::<L>::new(3, 0);
    let floor = by_slots::<L>([650, 2600, 30_000, 55_000, 100_000, 45_000, 90_000]);
    setup.check(floor, fewer_if_wide::<L>(1), move |model| {
        model.thread(move |t| {
            if t.insert(new) {
                assert!(t.remove(new));
            }
            assert!(t.contains(moved));
        });
        model.thread(move |t| {
            t.insert(back);
            assert!(t.contains(moved));
        });
    });
}

/// A lookup that happens after an insert finds the item, and one that happens after a removal does
/// not.
fn what_is_known_is_found<L: Layout>() {
    let OneHop { setup, new, filler, .. } = OneHop::<L>::new(3, 0);
    setup.check(160, 2, move |model| {
        let (inserted, removed) = (Signal::new(), Signal::new());
        let (inserted_too, removed_too) = (inserted.clone(), removed.clone());
        model.thread(move |t| {
            assert!(t.insert(new));
            inserted.send(t);
            assert!(t.remove(new));
            removed.send(t);
            assert!(t.insert(filler));
        });
        model.thread(move |t| {
            if removed_too.received(t) {
                assert!(!t.contains(new));
            } else if inserted_too.received(t) {
                t.contains(new);
            }
            t.contains(new);
        });
    });
}
