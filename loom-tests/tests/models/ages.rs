//! Filters that forget, with what the threads do recorded and checked: which insert is new, and how old items are.
//!
//! In the comments, x is an item, and x1 is x with the stamp 1. The generation with the stamp 0 is present at first.

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::Setup;

use crate::expiring::one_old;

models_of_three! {
    two_inserts_of_what_is_swept
    insert_of_what_is_swept_against_lookups
    insert_beside_two_advances
    two_inserts_beside_an_advance
}

growing_models! {
    split_and_insert_beside_an_advance
}

/// One of them may be new, or none.
fn two_inserts_of_what_is_swept<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(1);
    setup.generations(2).check_ages(115_000, 1, move |model| {
        for item in [x, x.swapped()] {
            model.thread(move |t| _ = t.stamp(item));
        }
        model.thread(|t| _ = t.advance());
    });
}

/// What is missing was forgotten, and then comes back.
fn insert_of_what_is_swept_against_lookups<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(1);
    setup.generations(2).check_ages(32_000, 1, move |model| {
        model.thread(move |t| {
            t.stamp(x);
            t.age(x);
        });
        model.thread(move |t| {
            t.is_remembered(x.swapped());
            t.is_remembered(x);
        });
        model.thread(|t| _ = t.advance());
    });
}

/// The insert may take effect in the generation that an `advance` has begun, with the stamp of the one before: the
/// lookup finds nothing, and the item is as old as if it had been there. But what a lookup behind the second one misses
/// has not the stamp of before the first one.
fn insert_beside_two_advances<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    setup.generations(3).check_ages(2900, 3, move |model| {
        model.thread(move |t| _ = t.stamp(x));
        model.thread(move |t| {
            t.advance();
            t.is_remembered(x);
            t.advance();
            t.is_remembered(x);
        });
    });
}

/// Of two kinds, of a new item.
fn two_inserts_beside_an_advance<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    setup.generations(3).check_ages(22_000, 2, move |model| {
        model.thread(move |t| _ = t.stamp(x));
        model.thread(move |t| {
            t.stamp_if_absent(x.swapped());
            t.age(x);
        });
        model.thread(|t| _ = t.advance());
    });
}

/// The item goes to the new bucket, and was inserted in the oldest generation.
fn split_and_insert_beside_an_advance<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4);
    let x = setup.item(2, 1);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    setup.generations(2).check_ages(280_000, 1, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(|t| _ = t.advance());
        model.thread(move |t| _ = t.stamp(x));
    });
}
