//! Kicks against lookups.

use loom_tests::stage::{Baton, Cast, Item};

use crate::{LastSlot, OneHop};

/// Two threads: one inserts `new`, which moves `moved`; the other looks for that.
fn kick_against_lookup(first: usize, second: usize) {
    let OneHop { cast, moved, new, .. } = OneHop::new(first, second);
    cast.model(150, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

#[test]
fn kick_against_lookup_in_its_direction() {
    kick_against_lookup(0, 3);
}

#[test]
fn kick_against_lookup_the_other_way() {
    kick_against_lookup(3, 0);
}

#[test]
fn kick_against_two_lookups() {
    let OneHop { cast, moved, new, .. } = OneHop::new(3, 0);
    let twin = cast.twin(moved);
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
#[test]
fn kick_and_removal_against_lookup() {
    let OneHop { cast, moved, new, .. } = OneHop::new(3, 0);
    cast.model(300, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

/// The same, with one more insert into the slot that the removal left.
#[test]
fn kick_removal_and_insert_against_lookup() {
    let OneHop { cast, moved, new, filler } = OneHop::new(3, 0);
    cast.model(500, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
            assert!(a.insert(filler));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

/// An insert of `new` moves `far` from 3 to 2, then `near` from 0 to 3.
fn two_hops(near: (usize, usize), far: (usize, usize)) -> (Cast, Item, Item, Item) {
    let mut cast = Cast::new(4);
    let near = cast.item(near.0, near.1);
    let far = cast.item(far.0, far.1);
    let new = cast.item(0, 1);
    let low = cast.item(0, 1);
    let high = cast.item(2, 3);
    cast.store(0, &[near, low, low, low]).store(1, &[low; 4]);
    cast.store(3, &[far, high, high, high]);
    (cast, near, far, new)
}

#[test]
fn two_hops_against_lookups_in_their_direction() {
    let (cast, near, far, new) = two_hops((0, 3), (3, 2));
    cast.model(1500, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.contains(near));
            assert!(a.contains(far));
        });
    });
}

#[test]
fn two_hops_against_lookups_the_other_way() {
    let (cast, near, far, new) = two_hops((3, 0), (2, 3));
    cast.model(4000, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.contains(far));
            assert!(a.contains(near));
        });
    });
}

#[test]
fn two_hops_against_two_lookups() {
    let (cast, near, far, new) = two_hops((3, 0), (2, 3));
    cast.model(9000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.contains(near)));
        stage.actor(move |a| assert!(a.contains(far)));
    });
}

/// One item is moved there and back, each way by an insert, against a lookup.
fn there_and_back(first: usize, second: usize) {
    let LastSlot { cast, moved, new, back, .. } = LastSlot::new(first, second);
    cast.model(500, 2, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(new));
            assert!(a.remove(new));
            assert!(a.insert(back));
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}

#[test]
fn there_and_back_against_lookup() {
    there_and_back(0, 3);
}

#[test]
fn there_and_back_against_lookup_the_other_way() {
    there_and_back(3, 0);
}

/// Two threads kick one item in opposite directions, if the first gets the free slot.
#[test]
fn opposite_kicks() {
    let LastSlot { cast, moved, new, back, .. } = LastSlot::new(3, 0);
    cast.model(15_000, 1, move |stage| {
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
#[test]
fn what_is_known_is_found() {
    let OneHop { cast, new, filler, .. } = OneHop::new(3, 0);
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
