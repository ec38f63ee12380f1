//! One value for each key: `insert_if_absent`, and `update`, which adds 1.
//!
//! In the comments, x is a key, and x1 is x with the value 1.

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout, Storage};
use loom_tests::model::*;

models_of_three! {
    two_updates
    two_count_a_new_key
    two_count_a_key_without_room
    update_beside_a_kick
    update_beside_the_way_back
    update_beside_a_sweep
}

growing_models! {
    update_of_what_goes
    two_count_a_key_beside_a_split
}

/// x1, and the key with all other values.
fn counted<M: Storage + 'static>(setup: &mut Setup<Maplet<M>>, x: Item) -> Item {
    let [_, x1, _] = [0, 1, 2].map(|value| setup.with_value(x, value));
    x1
}

/// Each adds 1.
fn two_updates<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    let x1 = counted(&mut setup, x);
    setup.store(0, &[x1]);
    let add = |item| increment(item, [Some(1), Some(2)]);
    let setup = setup.thread([add(x1)]).thread([add(x1.swapped())]).thread([contains_key(x)]);
    setup.by_every_schedule().check(5800, 3);
}

/// One stores the key, and the other adds 1.
fn two_count<L: Layout>(mut setup: Setup<Maplet<L>>, x: Item, floor: usize, preemptions: usize) {
    let x1 = counted(&mut setup, x);
    setup.thread([count_one(x1)]).thread([count_one(x1.swapped())]).check(floor, preemptions);
}

fn two_count_a_new_key<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    two_count(setup, x, 79, 3);
}

/// Where there is room in the stash alone.
fn two_count_a_key_without_room<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(0, 1, low);
    setup.fill(0, low).fill(1, low);
    two_count(setup, x, 62, 1);
}

/// A kick moves what is updated.
fn update_beside_a_kick<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let x = setup.item(0, 3);
    let x1 = counted(&mut setup, x);
    let [new, filler] = setup.items([(0, 1); 2]);
    setup.store(0, &[x1]).fill(0, filler).fill(1, filler);
    setup
        .thread([increment(x1, [Some(1)])])
        .thread([insert(new)])
        .thread([contains_key(x)])
        .check(19_000, 2);
}

/// What is updated goes back from the stash.
fn update_beside_the_way_back<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(0, 1, low);
    let x1 = counted(&mut setup, x);
    setup.fill(0, low).fill(1, low).stash(&[x1]);
    setup.thread([increment(x1, [Some(1)]), contains_key(x)]).thread([remove(low)]).check(8500, 2);
}

/// It leaves, or has another value before.
fn update_beside_a_sweep<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    let x1 = counted(&mut setup, x);
    setup.store(0, &[x1]);
    setup
        .thread([increment(x1, [None, Some(1)])])
        .thread([maybe(remove_value(x1, 1))])
        .check(790, 3);
}

/// Two buckets at first. x1 goes from the one that is split.
fn update_of_what_goes<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4);
    let x = setup.item(2, 1);
    let x1 = counted(&mut setup, x);
    setup.store(0, &[x1]);
    setup
        .thread([split(1)])
        .thread([increment(x1, [Some(1)])])
        .thread([contains_key(x)])
        .check(7900, 1);
}

fn two_count_a_key_beside_a_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4);
    let x = setup.item(2, 1);
    let x1 = counted(&mut setup, x);
    let setup = setup.thread([split(1)]).thread([count_one(x1)]);
    setup.thread([count_one(x1.swapped())]).check(15_000, 1);
}
