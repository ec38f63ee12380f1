//! Values that leave: `remove_value` beside all that moves an entry.
//!
//! In the comments, x is a key, and x1 is x with the value 1, which leaves. What has no other value has 3.

use coucal::probe::{Maplet, ShortRing};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

models_of_three! {
    kick_beside_a_sweep_in_its_direction
    kick_beside_a_sweep_the_other_way
    first_of_two_hops_beside_a_sweep
    last_of_two_hops_beside_a_sweep
    sweep_beside_a_kick_of_another
    sweep_and_another_value_against_lookups
    sweep_and_another_value_against_lookups_the_other_way
    dropped_by_a_kick_beside_another_value
    going_back_beside_a_sweep
    stashed_value_beside_a_removal_of_another
    sweep_of_the_stash_beside_another_value
    insert_of_the_value_beside_a_sweep
    replacement_beside_a_sweep
    two_sweeps
    snapshot_beside_a_sweep
    late_drop_beside_the_end_of_a_sweep
}

growing_models! {
    split_beside_a_sweep
    end_of_level_beside_a_sweep
    dropped_by_a_split_beside_another_value
    void_entry_dropped_by_a_split
    doubled_entries_are_swept
    clear_beside_a_sweep_of_doubled_entries
    snapshot_beside_a_sweep_of_doubled_entries
}

/// Four buckets. x1 is in `from`, which is full, and so is the other bucket of `new`: an insert of `new` moves x1 to
/// `to`.
pub struct OneKick<L: Layout> {
    pub setup: Setup<Maplet<L>>,
    pub x1: Item,
    pub new: Item,
}

impl<L: Layout> OneKick<L> {
    fn new(from: usize, beside: usize, to: usize) -> Self {
        let mut setup = Setup::new(4);
        let x = setup.item(from, to);
        let x1 = setup.with_value(x, 1);
        let [new, filler] = setup.items([(from, beside); 2]);
        setup.store(from, &[x1]).fill(from, filler).fill(beside, filler);
        Self { setup, x1, new }
    }

    /// From the bucket that is swept first to the last.
    pub fn up() -> Self {
        Self::new(0, 1, 3)
    }
}

/// The kick may have decided to move x1 before it is to leave: it must not get from a bucket that is not swept yet to
/// one that is.
fn kick_beside_a_sweep<L: Layout>(OneKick { setup, x1, new }: OneKick<L>) {
    setup.by_every_schedule().thread([insert(new)]).thread([remove_value(x1, 1)]).check(700, 3);
}

fn kick_beside_a_sweep_in_its_direction<L: Layout>() {
    kick_beside_a_sweep(OneKick::<L>::up());
}

fn kick_beside_a_sweep_the_other_way<L: Layout>() {
    kick_beside_a_sweep(OneKick::<L>::new(3, 2, 0));
}

/// A path of two hops, of which this one moves what leaves.
fn two_hops_beside_a_sweep<L: Layout>(first_leaves: bool) {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let [far, near] = setup.items([(3, 2), (0, 3)]);
    let x1 = setup.with_value(if first_leaves { far } else { near }, 1);
    let [far, near] = if first_leaves { [x1, near] } else { [far, x1] };
    let [new, low] = setup.items([(0, 1); 2]);
    let high = setup.item(3, 0);
    setup.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high);
    setup.thread([insert(new)]).thread([remove_value(x1, 1)]).check(300, 2);
}

fn first_of_two_hops_beside_a_sweep<L: Layout>() {
    two_hops_beside_a_sweep::<L>(true);
}

fn last_of_two_hops_beside_a_sweep<L: Layout>() {
    two_hops_beside_a_sweep::<L>(false);
}

/// What is swept and what is kicked are in one bucket.
fn sweep_beside_a_kick_of_another<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let [y, x] = setup.items([(0, 3), (0, 1)]);
    let x1 = setup.with_value(x, 1);
    let [new, filler] = setup.items([(0, 1); 2]);
    setup.store(0, &[y, x1]).fill(0, filler).fill(1, filler);
    setup
        .thread([insert(new)])
        .thread([remove_value(x1, 1)])
        .thread([contains_key(y)])
        .check(8700, 2);
}

/// A key has a value all the time: one is stored in the bucket that the lookup may have read, and then the other
/// leaves.
fn another_value_against_lookups<L: Layout>(order: fn(Item) -> Item) {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let x = setup.item(0, 3);
    let x1 = setup.with_value(x, 1);
    setup.store(3, &[x1]);
    let looked_up = order(x);
    // Into the emptier bucket, 0.
    let setup = setup.thread([insert(x), remove_value(x1, 1)]);
    let setup = setup.thread([contains_key(looked_up), get_any(looked_up, [x, x1])]);
    setup.by_every_schedule().check(3700, 3);
}

fn sweep_and_another_value_against_lookups<L: Layout>() {
    another_value_against_lookups::<L>(|x| x);
}

fn sweep_and_another_value_against_lookups_the_other_way<L: Layout>() {
    another_value_against_lookups::<L>(Item::swapped);
}

/// The same, where a kick drops what leaves.
fn dropped_by_a_kick_beside_another_value<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let x = setup.item(3, 0);
    let x1 = setup.with_value(x, 1);
    let [new, filler] = setup.items([(0, 1); 2]);
    setup.store(0, &[x1]).fill(0, filler).fill(1, filler);
    // Into the emptier bucket, 3.
    setup
        .thread([insert(x), remove_value(x1, 1)])
        .thread([insert(new)])
        .thread([contains_key(x)])
        .check(36_000, 2);
}

/// Two full buckets, and x1 in the stash, of the group of `low`: a removal of `low` lets it go back to a bucket.
pub fn goes_back<L: Layout>() -> (Setup<Maplet<L>>, Item, Item) {
    let mut setup = Setup::new(4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(0, 1, low);
    let x1 = setup.with_value(x, 1);
    setup.fill(0, low).fill(1, low).stash(&[x1]);
    (setup, x1, low)
}

/// The buckets may be swept by then.
fn going_back_beside_a_sweep<L: Layout>() {
    let (setup, x1, low) = goes_back::<L>();
    setup.thread([remove(low)]).thread([remove_value(x1, 1)]).check(220, 2);
}

/// Of two stashed values of one key one leaves, and the other is removed.
fn stashed_value_beside_a_removal_of_another<L: Layout>() {
    let (mut setup, x1, _) = goes_back::<L>();
    let x2 = setup.with_value(x1, 2);
    setup.stash(&[x2]);
    setup.thread([remove(x2)]).thread([remove_value(x1, 1)]).check(550, 3);
}

/// Of two stashed values of one key one leaves: the key is found.
fn sweep_of_the_stash_beside_another_value<L: Layout>() {
    let (mut setup, x1, _) = goes_back::<L>();
    let x2 = setup.with_value(x1, 2);
    setup.thread([insert(x2), remove_value(x1, 1)]).thread([contains_key(x1)]).check(22_000, 3);
}

/// A pair with the value that is stored meanwhile is there afterwards, or not. After the sweep a kick moves it.
fn insert_of_the_value_beside_a_sweep<L: Layout>() {
    let OneKick { setup, x1, new } = OneKick::<L>::up();
    setup.check_with(340, 2, move |model| {
        let sent = Signal::new();
        let received = sent.clone();
        model.thread(move |t| {
            t.remove_value(x1);
            sent.send(t);
        });
        model.thread(move |t| {
            let is_after = received.received(t);
            assert!(t.insert(x1));
            assert!(t.insert(new));
            assert!(!is_after || t.contains_key(x1));
        });
    });
}

/// It leaves, or has another value before.
fn replacement_beside_a_sweep<L: Layout>() {
    let OneKick { mut setup, x1, new } = OneKick::<L>::up();
    let x2 = setup.with_value(x1, 2);
    setup
        .thread([maybe(replace(x1, x2))])
        .thread([maybe(remove_value(x1, 1))])
        .thread([insert(new)])
        .check(7600, 2);
}

/// Of two values of one key: one after the other.
fn two_sweeps<L: Layout>() {
    let OneKick { mut setup, x1, new } = OneKick::<L>::up();
    let x2 = setup.with_value(x1, 2);
    setup.store(3, &[x2]);
    setup
        .thread([remove_value(x1, 1)])
        .thread([remove_value(x2, 1)])
        .thread([insert(new)])
        .check(5500, 2);
}

/// The image is that of one instant: with x1, or without it.
fn snapshot_beside_a_sweep<L: Layout>() {
    let OneKick { setup, x1, .. } = OneKick::<L>::up();
    setup.thread([remove_value(x1, 1)]).thread([snapshot([])]).check(21, 1);
}

/// A pair gets the value while that is removed, and is kicked at the end of the sweep: it is dropped before the call
/// has returned, or stays.
fn late_drop_beside_the_end_of_a_sweep<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let x = setup.item(3, 0);
    let x1 = setup.with_value(x, 1);
    let [filler, new] = setup.items([(0, 1); 2]);
    let high = setup.item(2, 3);
    setup.fill_but_one(0, filler).fill(1, filler).fill_but_one(3, high);
    // Of two buckets with one free slot each, x1 gets into the second one.
    let setup = setup.thread([maybe(remove_value(x1, 1))]).thread([insert(x1)]);
    setup.thread([insert(new)]).check(2600, 2);
}

/// Two buckets at first, of which this one is split next. x1 is there, and goes; y stays.
fn split_beside<L: GrowingLayout + Layout>(bucket: usize) {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).split(bucket);
    let [x, y] = setup.items([(bucket + 2, 1 - bucket), (bucket, 1 - bucket)]);
    let x1 = setup.with_value(x, 1);
    setup.store(bucket, &[x1, y]);
    setup.by_every_schedule().thread([split(1)]).thread([remove_value(x1, 1)]).check(1300, 3);
}

/// The new bucket is behind the last one that the sweep knows of, or before it.
fn split_beside_a_sweep<L: GrowingLayout + Layout>() {
    split_beside::<L>(0);
}

fn end_of_level_beside_a_sweep<L: GrowingLayout + Layout>() {
    split_beside::<L>(1);
}

/// There is a value all the time, in the other bucket or in the one that is split.
fn dropped_by_a_split_beside_another_value<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4);
    let x = setup.item(1, 2);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    setup
        .thread([insert(x), remove_value(x1, 1)])
        .thread([split(1)])
        .thread([contains_key(x)])
        .check(36_000, 1);
}

/// Four buckets. x (4, 1) has a void entry, in bucket 0, which is split next.
fn one_void<L: GrowingLayout + Layout>() -> (Setup<ShortRing<Growable<L>>>, Item) {
    let mut setup = Setup::growable(2, 8).split(2);
    let x = setup.item(4, 1);
    setup.store_void(0, &[x]);
    (setup, x)
}

/// A void entry leaves beside the split that doubles it. `len` stays right.
fn void_entry_dropped_by_a_split<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>();
    setup.thread([split(1)]).thread([remove_value(x, 1)]).check(4200, 3);
}

/// Both parts of what was doubled leave, and are one item.
fn doubled_entries_are_swept<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>();
    setup.thread([split(1), remove_value(x, 1)]).thread([maybe(contains(x))]).check(4200, 2);
}

/// All is taken out while what was doubled leaves. `len` is right for what comes then.
fn clear_beside_a_sweep_of_doubled_entries<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>();
    setup.thread([split(1), maybe(remove_value(x, 1)), insert(x)]).thread([clear()]).check(130, 2);
}

/// An image has both parts, or none, and counts them right.
fn snapshot_beside_a_sweep_of_doubled_entries<L: GrowingLayout + Layout>() {
    let (setup, x) = one_void::<L>();
    setup.thread([split(1), remove_value(x, 1)]).thread([snapshot([])]).check(340, 1);
}
