//! A counter for each key: `update_or_insert`, which stores 1 or adds 1, and `update`, which adds 1.
//!
//! In the comments, x is a key, and x1 is x with the value 1.

use coucal::probe::Maplet;
use coucal::{Growable, Layout};
use loom_tests::model::*;

use crate::entries::entry_of_the_next_level;
use crate::{Maplets, With, adding, items, storing};

models_of_three! {
    // Each thread adds 1.
    two_updates: [x, x1] = storing(counted(Maplets::<L>::new(2), 0, 1), in_0)
        => [increment(x1, [Some(1), Some(2)])]
        || [increment(x1.swapped(), [Some(1), Some(2)])]
        || [contains_key(x)], 3000, 3, by_every_schedule;
    // One thread stores the key, and the other adds 1.
    two_count_a_new_key: [_, x1] = counted(Maplets::<L>::new(2), 0, 1)
        => [count_one(x1)] || [count_one(x1.swapped())], 79, 3;
    // The same where only the stash has room.
    two_count_a_key_without_room: [_, x1, _] = without_room::<L>()
        => [count_one(x1)] || [count_one(x1.swapped())], 62, 1;
    // A counter that is back at 0 is removed beside threads that count: no count is lost.
    removal_of_zero_beside_a_count: [x0, x1] = at_zero::<L>()
        => [maybe(remove(x0))] || [count_one(x1.swapped()), get(x1, [x1])], 50, 3;
    removal_of_zero_beside_two_counts: [x0, x1] = at_zero::<L>()
        => [maybe(remove(x0))] || [count_one(x1)] || [count_one(x1.swapped())], 2400, 2;
    two_removals_of_zero_beside_a_count: [x0, x1] = at_zero::<L>()
        => [maybe(remove(x0))]
        || [maybe(remove(x0.swapped()))]
        || [count_one(x1), get(x1, [x1])], 1400, 2;
    // A kick moves the entry that is updated.
    update_beside_a_kick: [x, x1, new] = adding(counted(Maplets::<L>::new(4), 0, 3), |s, [x, x1]| {
        let [new, filler] = s.items([(0, 1); 2]);
        s.store(0, &[x1]).fill(0, filler).fill(1, filler);
        [x, x1, new]
    }) => [increment(x1, [Some(1)])] || [insert(new)] || [contains_key(x)], 24_000, 2;
    // The entry that is updated goes back from the stash.
    update_beside_the_way_back: [x, x1, low] = storing(
        without_room::<L>(), |s, [_, x1, _]| s.stash(&[x1]),
    ) => [increment(x1, [Some(1)]), contains_key(x)] || [remove(low)], 26_000, 2;
    // The entry is removed, or has another value before.
    update_beside_a_sweep: [_, x1] = storing(counted(Maplets::<L>::new(2), 0, 1), in_0)
        => [increment(x1, [None, Some(1)])] || [maybe(remove_value(x1, 1))], 610, 3;
}

growing_models! {
    // Two buckets at first. x1 goes from the one that is split.
    update_of_what_goes: [x, x1] = storing(
        counted(Maplets::<Growable<L>>::growable(2, 4), 2, 1), in_0,
    ) => [split(1)] || [increment(x1, [Some(1)])] || [contains_key(x)], 4500, 1;
    // An entry of the next level, read by the level before, would look like one of a key that is not there.
    update_beside_an_entry_of_the_next_level: [absent, new] = entry_of_the_next_level(
        Maplets::<Growable<L>>::growable(2, 4).split(1),
    ) => [split(1), insert(new)] || [peek(absent, [None])], 1300, 3;
    two_count_a_key_beside_a_split: [_, x1] = counted(Maplets::<Growable<L>>::growable(2, 4), 2, 1)
        => [split(1)] || [count_one(x1)] || [count_one(x1.swapped())], 9500, 1;
}

/// A key with these buckets, and with all values that it may get.
///
/// `[x, x1]`.
fn counted<M: IntoStorage>(
    setup: Setup<Maplet<M>>,
    first: usize,
    second: usize,
) -> With<Maplet<M>, 2> {
    adding(items(setup, [(first, second)]), |s, [x]| [x, values(s, x)])
}

/// The counter of x is at 0.
///
/// `[x0, x1]`.
fn at_zero<L: Layout>() -> With<Maplet<L>, 2> {
    adding(items(Maplets::<L>::new(2), [(0, 1)]), |s, [x]| {
        let [x0, x1, _] = [0, 1, 2].map(|value| s.with_value(x, value));
        s.store(0, &[x0]);
        [x0, x1]
    })
}

/// Adds all values that the key may get. Returns x1.
fn values<M: IntoStorage>(setup: &mut Setup<Maplet<M>>, x: Item) -> Item {
    let [_, x1, _] = [0, 1, 2].map(|value| setup.with_value(x, value));
    x1
}

/// Stores x1 in bucket 0.
fn in_0<M: IntoStorage>(setup: &mut Setup<Maplet<M>>, [_, x1]: [Item; 2]) -> &mut Setup<Maplet<M>> {
    setup.store(0, &[x1])
}

/// Buckets 0 and 1 are full of `low`; x is of the same group.
///
/// `[x, x1, low]`.
fn without_room<L: Layout>() -> With<Maplet<L>, 3> {
    adding(items(Setup::new(4), [(0, 1)]), |s, [low]| {
        let x = s.item_of_group(0, 1, low);
        s.fill(0, low).fill(1, low);
        [x, values(s, x), low]
    })
}
