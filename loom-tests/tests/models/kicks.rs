//! Kicks against lookups.

use coucal::Layout;
use loom_tests::model::*;

use crate::{LastSlot, OneHop, TwoHops, by_slots, fewer_if_wide};

models! {
    kick_against_lookup_in_its_direction = kick_against_lookup(0, 3)
    kick_against_lookup_the_other_way = kick_against_lookup(3, 0)
    kick_against_two_lookups
    kick_and_removal_against_lookup
    kick_removal_and_insert_against_lookup
    two_hops_against_lookups_in_their_direction
    two_hops_against_lookups_the_other_way
    two_hops_against_two_lookups
    there_and_back_against_lookup = there_and_back(0, 3)
    there_and_back_against_lookup_the_other_way = there_and_back(3, 0)
    opposite_kicks
    what_is_known_is_found
}

/// Two threads: one inserts `new`, which moves `moved`; the other looks up `moved`.
fn kick_against_lookup<L: Layout>(first: usize, second: usize) {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(first, second);
    setup.by_every_schedule().thread([insert(new)]).thread([contains(moved)]).check(170, 3);
}

fn kick_against_two_lookups<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup
        .thread([insert(new)])
        .thread([contains(moved)])
        .thread([contains(moved.swapped()), maybe(contains(new)), contains(moved)])
        .check(20_000, 2);
}

/// The lookup may read bucket 0 as the removal of `new` left it. This store, too, must make the kick
/// before it visible.
fn kick_and_removal_against_lookup<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup.thread([insert(new), remove(new)]).thread([contains(moved)]).check(390, 3);
}

/// The same, with one more insert into the slot that the removal freed.
fn kick_removal_and_insert_against_lookup<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    setup
        .thread([insert(new), remove(new), insert(filler)])
        .thread([contains(moved)])
        .check(710, 3);
}

fn two_hops_against_lookups_in_their_direction<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((0, 3), (3, 2));
    setup.thread([insert(new)]).thread([contains(near), contains(far)]).check(2500, 3);
}

fn two_hops_against_lookups_the_other_way<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    setup.thread([insert(new)]).thread([contains(far), contains(near)]).check(6200, 3);
}

fn two_hops_against_two_lookups<L: Layout>() {
    let TwoHops { setup, near, far, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    setup.thread([insert(new)]).thread([contains(near)]).thread([contains(far)]).check(15_000, 2);
}

/// One insert moves an item to its other bucket, a second insert moves it back, during a lookup.
fn there_and_back<L: Layout>(first: usize, second: usize) {
    let LastSlot { setup, moved, new, back, .. } = LastSlot::<L>::new(first, second);
    setup.thread([insert(new), remove(new), insert(back)]).thread([contains(moved)]).check(500, 2);
}

/// Two threads kick one item in opposite directions, if the first thread gets the free slot.
fn opposite_kicks<L: Layout>() {
    let LastSlot { setup, moved, new, back, .. } = LastSlot::<L>::new(3, 0);
    let floor = by_slots::<L>([650, 2600, 30_000, 55_000, 100_000, 45_000, 90_000]);
    setup
        .thread([does(move |t| !t.insert(new) || t.remove(new)), contains(moved)])
        .thread([maybe(insert(back)), contains(moved)])
        .check(floor, fewer_if_wide::<L>(1));
}

/// A lookup that happens after an insert finds the item, and one that happens after a removal does
/// not.
fn what_is_known_is_found<L: Layout>() {
    let OneHop { setup, new, filler, .. } = OneHop::<L>::new(3, 0);
    setup.check_with(160, 2, move |model| {
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
