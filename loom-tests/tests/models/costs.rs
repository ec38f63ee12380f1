//! Rules on which no answer depends: they save kicks and rounds of lookups. Scripted, one execution each.

use std::cell::Cell;
use std::rc::Rc;

use coucal::Layout;
use coucal::probe::{self, Step};
use loom_tests::model::*;

use crate::{one_hop, scripted};

models! {
    // The second bucket of `guest` is crowded.
    insert_into_the_emptier_first_bucket = insert_into_the_emptier_bucket::<L>(1, 0, (0, 1));
    // The first bucket of `guest` is crowded.
    insert_into_the_emptier_second_bucket = insert_into_the_emptier_bucket::<L>(0, 1, (0, 1));
    lookup_beside_a_kick_of_another_version_group
}

/// Bucket 3 is full; one of 0 and 1 has a single free slot, and the other is empty. `guest` goes into the empty one, so
/// that `next`, whose buckets are 3 and the one with the single free slot, needs no kick.
fn insert_into_the_emptier_bucket<L: Layout>(crowded: usize, empty: usize, key: (usize, usize)) {
    let mut setup = Setup::<L>::new(4);
    let [guest, low] = setup.items([key; 2]);
    let outside = if crowded == 0 { 3 } else { 2 };
    let [high, next] = setup.items([(2, 3), (crowded, outside)]);
    setup.fill_but_one(crowded, low).fill(outside, high);
    assert_eq!(setup.stored_in(empty), 0);
    scripted(setup, move |t| {
        let kicked = Rc::new(Cell::new(false));
        let seen = Rc::clone(&kicked);
        // A kick bumps a version.
        probe::after_each_step(move |step| seen.set(seen.get() || step == Step::Add));
        assert!(t.insert(guest));
        assert!(t.insert(next));
        assert!(!kicked.get(), "an item was kicked");
    });
}

/// A lookup of an absent item takes one round, whatever is kicked meanwhile, if its version group is not that of the
/// kicked item.
fn lookup_beside_a_kick_of_another_version_group<L: Layout>() {
    let (mut setup, [moved, new, _]) = one_hop::<L>(0, 3);
    let absent = setup.item(0, 3);
    scripted(setup, move |t| {
        let mut others = t.unrecorded();
        let loads = Rc::new(Cell::new(0));
        let counter = Rc::clone(&loads);
        probe::after_each_step(move |step| {
            assert_eq!(step, Step::Load);
            counter.set(counter.get() + 1);
            // The version is loaded, the buckets are not.
            if counter.get() == 1 {
                assert!(others.insert(new));
            }
        });
        assert!(!t.contains(absent));
        assert_eq!(loads.get(), 4, "the version, two words and the version");
        probe::after_each_step(|_| {});
        assert!(t.contains(moved));
        assert!(t.unrecorded().remove(new));
    });
}
