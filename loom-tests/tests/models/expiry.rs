//! Sweeps: `remove_value` and `update_values` beside all operations that move an entry.
//!
//! In the comments, x is a key, and x1 is x with the value 1, which is removed, or becomes 2. (A value 2 would then be
//! removed: so no pair may be changed twice.) Pairs without another value have the value 3.

use coucal::probe::{Maplet, ShortRing};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::stash::buckets_for_many;
use crate::{Maplets, With, adding, items, storing, with};

models_of_three! {
    // The kick may have decided to move x1 before its value is being removed: x1 must not get from a bucket that is not
    // swept yet to one that is.
    kick_beside_a_sweep_in_its_direction: [x1, new] = one_kick::<L>(0, 1, 3)
        => [insert(new)] || [remove_value(x1, 1)], 700, 3, by_every_schedule;
    kick_beside_a_sweep_the_other_way: [x1, new] = one_kick::<L>(3, 2, 0)
        => [insert(new)] || [remove_value(x1, 1)], 700, 3, by_every_schedule;
    // A path of two hops. This one moves the entry of the removed value.
    first_of_two_hops_beside_a_sweep: [x1, new] = path_of_two_hops::<L>(true)
        => [insert(new)] || [remove_value(x1, 1)], 300, 2;
    last_of_two_hops_beside_a_sweep: [x1, new] = path_of_two_hops::<L>(false)
        => [insert(new)] || [remove_value(x1, 1)], 300, 2;
    // The swept entry and the kicked entry are in one bucket.
    sweep_beside_a_kick_of_another: [x1, y, new] = adding(
        items(Maplets::<L>::new(4), [(0, 3), (0, 1)]), |s, [y, x]| {
            let x1 = s.with_value(x, 1);
            let [new, filler] = s.items([(0, 1); 2]);
            s.store(0, &[y, x1]).fill(0, filler).fill(1, filler);
            [x1, y, new]
        },
    ) => [insert(new)] || [remove_value(x1, 1)] || [contains_key(y)], 8700, 2;
    // A key has a value all the time: one is stored in bucket 0, the emptier one, which the lookup may have read; and
    // then the other one is removed.
    sweep_and_another_value_against_lookups: [x, x1] = leaves(Maplets::<L>::new(4), (0, 3), 3)
        => [insert(x), remove_value(x1, 1)]
        || [contains_key(x), get_any(x, [x, x1])], 3700, 3, by_every_schedule;
    sweep_and_another_value_against_lookups_the_other_way:
        [x, x1] = leaves(Maplets::<L>::new(4), (0, 3), 3)
        => [insert(x), remove_value(x1, 1)]
        || [contains_key(x.swapped()), get_any(x.swapped(), [x, x1])], 3700, 3, by_every_schedule;
    // The same, where the thread of a kick removes the entry. The other value gets into bucket 3, the emptier one.
    removed_by_a_kick_beside_another_value: [x, x1, new] = adding(
        leaves(Maplets::<L>::new(4), (3, 0), 0), |s, [x, x1]| {
            let [new, filler] = s.items([(0, 1); 2]);
            s.fill(0, filler).fill(1, filler);
            [x, x1, new]
        },
    ) => [insert(x), remove_value(x1, 1)] || [insert(new)] || [contains_key(x)], 36_000, 2;
    // The buckets may be swept by then.
    going_back_beside_a_sweep: [x1, low] = goes_back::<L>()
        => [remove(low)] || [remove_value(x1, 1)], 180, 2;
    // The other value of the key is removed from its slot, and this one takes the slot, unless it has been removed.
    own_value_going_back_beside_a_sweep: [x1, x] = own_value_goes_back::<L>()
        => [remove(x)] || [remove_value(x1, 1)], 100, 2;
    // Of two stashed values of one key, a sweep removes one, and a removal the other.
    stashed_value_beside_a_removal_of_another: [x1, x2] = storing(
        with_another(goes_back::<L>()), |s, [_, x2]| s.stash(&[x2]),
    ) => [remove(x2)] || [remove_value(x1, 1)], 550, 3;
    // Of two stashed values of one key, one is removed: the key is found.
    sweep_of_the_stash_beside_another_value: [x1, x2] = with_another(goes_back::<L>())
        => [insert(x2), remove_value(x1, 1)] || [contains_key(x1)], 22_000, 3;
    // A pair with this value that is stored meanwhile is there afterwards, or not. After the sweep a kick moves it.
    insert_of_the_value_beside_a_sweep: [x1, new] = one_kick::<L>(0, 1, 3)
        => [maybe(remove_value(x1, 1)), send(0)]
        || [receive(0), insert(x1), insert(new), maybe(contains_key(x1))], 340, 2;
    // The entry is removed, or has another value before.
    replacement_beside_a_sweep: [x1, new, x2] = adding(
        one_kick::<L>(0, 1, 3), |s, [x1, new]| [x1, new, s.with_value(x1, 2)],
    ) => [maybe(replace(x1, x2))] || [maybe(remove_value(x1, 1))] || [insert(new)], 7600, 2;
    // Two values of one key are removed: one after the other.
    two_sweeps: [x1, new, x2] = adding(one_kick::<L>(0, 1, 3), |s, [x1, new]| {
        let x2 = s.with_value(x1, 2);
        s.store(3, &[x2]);
        [x1, new, x2]
    }) => [remove_value(x1, 1)] || [remove_value(x2, 1)] || [insert(new)], 5500, 2;
    // The image is that of one instant: with x1, or without it.
    snapshot_beside_a_sweep: [x1, _] = one_kick::<L>(0, 1, 3)
        => [remove_value(x1, 1)] || [snapshot([])], 21, 1;
    // The entry that is removed gets to a cell that the sweep has seen already.
    sweep_of_the_stash_beside_other_numbers_of_lines: [_, x, y1] = stashed::<L>()
        => [resize_stash(x, 4), resize_stash(x, 2)] || [remove_value(y1, 1)], 430, 3;
    // The entry is removed when the sweep has seen its cell, where another one is stored.
    sweep_of_the_stash_beside_a_cell_used_again: [new, _, y1] = adding(
        stashed::<L>(), |s, [_, x, y1]| [s.item(2, 3), x, y1],
    ) => [maybe(remove(y1)), insert(new)] || [maybe(remove_value(y1, 1))], 200, 2;
    // The kick moves x1 from a bucket that is swept before the other one, or after it.
    kick_beside_a_change_in_its_direction: [x1, x2, new] = ages(one_kick::<L>(0, 1, 3))
        => [insert(new)] || [age_values([[x1, x2]])], 3500, 3, by_every_schedule;
    kick_beside_a_change_the_other_way: [x1, x2, new] = ages(one_kick::<L>(3, 2, 0))
        => [insert(new)] || [age_values([[x1, x2]])], 2500, 3, by_every_schedule;
    first_of_two_hops_beside_a_change: [x1, x2, new] = ages(path_of_two_hops::<L>(true))
        => [insert(new)] || [age_values([[x1, x2]])], 550, 2;
    last_of_two_hops_beside_a_change: [x1, x2, new] = ages(path_of_two_hops::<L>(false))
        => [insert(new)] || [age_values([[x1, x2]])], 2000, 2;
    // An insert that rejects duplicates moves x1.
    insert_if_absent_beside_a_change: [x1, x2, new] = ages(one_kick::<L>(0, 1, 3))
        => [insert_if_absent(new)] || [age_values([[x1, x2]])], 550, 2;
    // The key is found all the time.
    kick_beside_a_change_against_a_lookup: [x1, x2, new] = ages(one_kick::<L>(0, 1, 3))
        => [insert(new)] || [age_values([[x1, x2]])] || [contains_key(x1)], 55_000, 2;
    // x1 goes from the stash back to a bucket. It has its new value already, and the bucket may not be swept yet.
    going_back_beside_a_change: [x1, x2, low] = ages(goes_back::<L>())
        => [remove(low)] || [age_values([[x1, x2]])], 280, 2;
    own_value_going_back_beside_a_change: [x1, x2, x] = ages(own_value_goes_back::<L>())
        => [remove(x)] || [age_values([[x1, x2]])], 280, 2;
    // The value is replaced beside the sweep: the change comes before or after that, in a bucket and in the stash.
    update_beside_a_change: [x1, x2, _] = ages(one_kick::<L>(0, 1, 3))
        => [increment(x1, [Some(1), Some(2)])] || [age_values([[x1, x2]])], 400, 2;
    update_of_a_stashed_value_beside_a_change: [x1, x2, _] = ages(goes_back::<L>())
        => [increment(x1, [Some(1), Some(2)])] || [age_values([[x1, x2]])], 4500, 2;
    // There are two equal pairs before the first of them changes. A pair that was missed is not found later.
    two_equal_pairs_beside_a_change: [x1, x2] = adding(
        leaves(Maplets::<L>::new(4), (0, 3), 0), |s, [_, x1]| [x1, s.with_value(x1, 2)],
    ) => [insert(x1), age_values([[x1, x2]; 2])]
        || [maybe(contains_pair(x1.swapped())), maybe(contains_pair(x1.swapped()))], 6000, 2;
    two_equal_pairs_of_which_one_is_stashed: [x1, x2] = adding(
        items(Maplets::<L>::new(4), [(0, 3)]), |s, [x]| {
            let x1 = s.with_value(x, 1);
            s.stash(&[x1]);
            [x1, s.with_value(x1, 2)]
        },
    ) => [insert(x1), age_values([[x1, x2]; 2])]
        || [maybe(contains_pair(x1)), maybe(contains_pair(x1))], 7000, 2;
    // In the stash x1 comes before x2, and becomes x2 before x2 becomes x0: there is an x2 all the time.
    pair_that_takes_the_place_of_another: [x1, x2, x0] = adding(
        with_another(goes_back::<L>()), |s, [x1, x2]| {
            s.stash(&[x2]);
            [x1, x2, s.with_value(x1, 0)]
        },
    ) => [shift_values([x1, x2, x0])] || [contains_pair(x2)], 600, 2;
    // Another thread doubles the number of lines, and so moves entries to other cells: before it is planned how they
    // change, or after all of them have changed.
    change_of_the_stash_beside_other_numbers_of_lines: [x, y1, y2] = adding(
        stashed::<L>(), |s, [xa, _, y1]| [xa, y1, s.with_value(y1, 2)],
    ) => [resize_stash(x, 4)] || [age_values([[y1, y2]]), contains_pair(y2), contains_pair(x)], 20_000, 1;
    // Two sweeps: one after the other.
    two_changes: [x1, x2, new] = ages(one_kick::<L>(0, 1, 3))
        => [maybe(remove_value(x2, 1)), insert(new)] || [age_values([[x1, x2]])], 160, 2;
    // The image is that of one instant.
    snapshot_beside_a_change: [x1, x2, _] = ages(one_kick::<L>(0, 1, 3))
        => [age_values([[x1, x2]])] || [snapshot([])], 45, 1;
}

growing_models! {
    // The new bucket is behind the last one that the sweep knows of, or before it.
    split_beside_a_sweep: [x1] = one_split::<L>(0)
        => [split(1)] || [remove_value(x1, 1)], 1300, 3, by_every_schedule;
    end_of_level_beside_a_sweep: [x1] = one_split::<L>(1)
        => [split(1)] || [remove_value(x1, 1)], 1300, 3, by_every_schedule;
    // There is a value all the time, in the other bucket or in the one that is split.
    removed_by_a_split_beside_another_value: [x, x1] = leaves(
        Maplets::<Growable<L>>::growable(2, 4), (1, 2), 0,
    ) => [insert(x), remove_value(x1, 1)] || [split(1)] || [contains_key(x)], 36_000, 1;
    // A void entry is removed beside the split that doubles it. `len` stays right.
    void_entry_removed_beside_a_split: [x] = one_void::<L>()
        => [split(1)] || [remove_value(x, 1)], 4200, 3;
    // Both parts of a doubled entry are removed, and are one item.
    doubled_entries_are_swept: [x] = one_void::<L>()
        => [split(1), remove_value(x, 1)] || [maybe(contains(x))], 4200, 2;
    // A void entry gets the removed value, and is doubled at the end of the sweep: then it is counted, or dropped.
    doubled_at_the_end_of_a_sweep: [x, x1] = adding(
        one_void::<L>(), |s, [x]| [x, s.with_value(x, 1)],
    ) => [maybe(remove_value(x1, 1))] || [replace(x, x1), split(1)], 600, 2;
    // x1 goes to the new bucket, and gets its new value before or after that.
    split_beside_a_change: [x1, x2] = ages_alone(one_split::<L>(0))
        => [split(1)] || [age_values([[x1, x2]])], 2400, 2;
    end_of_level_beside_a_change: [x1, x2] = ages_alone(one_split::<L>(1))
        => [split(1)] || [age_values([[x1, x2]])], 1800, 2;
    // Each of two stripes has two buckets. What was swept is not swept again for the kick.
    kick_beside_a_change_of_two_stripes: [x1, x2, new] = ages(one_kick_in_growing::<L>())
        => [insert(new)] || [age_values([[x1, x2]])], 2000, 3, narrow;
    kick_beside_a_sweep_of_two_stripes: [x1, new] = one_kick_in_growing::<L>()
        => [insert(new)] || [remove_value(x1, 1)], 2400, 3, narrow;
    // The table is cleared while doubled entries are removed. `len` is right for items that come later.
    clear_beside_a_sweep_of_doubled_entries: [x] = one_void::<L>()
        => [split(1), maybe(remove_value(x, 1)), insert(x)] || [clear()], 130, 2;
    // An image has both parts, or none, and counts them right.
    snapshot_beside_a_sweep_of_doubled_entries: [x] = one_void::<L>()
        => [split(1), remove_value(x, 1)] || [snapshot([])], 340, 1;
}

// Not with `Fp32x2`: its short rings leave 26 bits to a value, and `update_values` asks for each value that they can
// have.
of_layouts! {
    [Fp16x4] [] [Fp12x5 Fp21x3]
    // A void entry is doubled beside the change of its value: both parts have the new value, and are one item.
    doubled_beside_a_change: [x1, x2] = ages_alone(one_void_of_1::<L>())
        => [split(1)] || [age_values([[x1, x2]]), remove_value(x2, 1)], 1300, 1;
    doubled_entries_are_changed: [x1, x2] = ages_alone(one_void_of_1::<L>())
        => [split(1), age_values([[x1, x2]]), remove_value(x2, 1)] || [maybe(contains(x1))], 5500, 1;
}

/// Four buckets. x1 is in `from`, which is full, and so is the other bucket of `new`, `beside`: an insert of `new`
/// moves x1 to `to`. From 0, with 1 beside it, to 3: from the bucket that is swept first to the last.
///
/// `[x1, new]`.
pub fn one_kick<L: Layout>(from: usize, beside: usize, to: usize) -> With<Maplet<L>, 2> {
    kicked(Setup::new(4), from, beside, to)
}

/// As `one_kick`, in a growing table of its maximum size.
///
/// `[x1, new]`.
pub fn one_kick_in_growing<L: GrowingLayout + Layout>() -> With<Maplet<Growable<L>>, 2> {
    kicked(Setup::growable(4, 4), 0, 1, 3)
}

fn kicked<M: IntoStorage>(
    setup: Setup<Maplet<M>>,
    from: usize,
    beside: usize,
    to: usize,
) -> With<Maplet<M>, 2> {
    adding(leaves(setup, (from, to), from), |s, [_, x1]| {
        let [new, filler] = s.items([(from, beside); 2]);
        s.fill(from, filler).fill(beside, filler);
        [x1, new]
    })
}

/// A key with these buckets. x1 is in bucket `stored`, and x is not there.
///
/// `[x, x1]`.
pub fn leaves<M: IntoStorage>(
    setup: Setup<Maplet<M>>,
    buckets: (usize, usize),
    stored: usize,
) -> With<Maplet<M>, 2> {
    adding(items(setup, [buckets]), |s, [x]| {
        let x1 = s.with_value(x, 1);
        s.store(stored, &[x1]);
        [x, x1]
    })
}

/// An insert of `new` moves an item from 3 to 2, and then one from 0 to 3. The argument says which of the two has the
/// removed value.
///
/// `[x1, new]`.
fn path_of_two_hops<L: Layout>(first_leaves: bool) -> With<Maplet<L>, 2> {
    adding(items(Setup::new(4), [(3, 2), (0, 3)]), |s, [far, near]| {
        let x1 = s.with_value(if first_leaves { far } else { near }, 1);
        let [far, near] = if first_leaves { [x1, near] } else { [far, x1] };
        let [new, low, high] = s.items([(0, 1), (0, 1), (3, 0)]);
        s.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high);
        [x1, new]
    })
}

/// Two full buckets, and x1 in the stash, of the group of `low`: a removal of `low` lets x1 go back to a bucket.
///
/// `[x1, low]`.
pub fn goes_back<L: Layout>() -> With<Maplet<L>, 2> {
    adding(items(Setup::new(4), [(0, 1)]), |s, [low]| {
        let x = s.item_of_group(0, 1, low);
        let x1 = s.with_value(x, 1);
        s.fill(0, low).fill(1, low).stash(&[x1]);
        [x1, low]
    })
}

/// x and x1 have full buckets. x1 is in the stash, and goes to the slot of x when x is removed.
///
/// `[x1, x]`.
fn own_value_goes_back<L: Layout>() -> With<Maplet<L>, 2> {
    adding(
        with(Setup::<Maplet<L>>::new(4), [(0, 1); 2], |s, [_, low]| {
            s.fill_but_one(0, low).fill(1, low)
        }),
        |s, [x, _]| {
            let x1 = s.with_value(x, 1);
            s.store(0, &[x]).stash(&[x1]);
            [x1, x]
        },
    )
}

/// Adds the value that x1 gets.
///
/// `[x1, x2, other]`.
pub fn ages<M: IntoStorage>(with: With<Maplet<M>, 2>) -> With<Maplet<M>, 3> {
    adding(with, |s, [x1, other]| [x1, s.with_value(x1, 2), other])
}

/// The same without another pair.
///
/// `[x1, x2]`.
fn ages_alone<M: IntoStorage, const SHORT_RING: bool>(
    with: With<Maplet<M, SHORT_RING>, 1>,
) -> With<Maplet<M, SHORT_RING>, 2> {
    adding(with, |s, [x1]| [x1, s.with_value(x1, 2)])
}

/// The same with another value of the key.
///
/// `[x1, x2]`.
fn with_another<L: Layout>(goes_back: With<Maplet<L>, 2>) -> With<Maplet<L>, 2> {
    adding(goes_back, |s, [x1, _]| [x1, s.with_value(x1, 2)])
}

/// Buckets 2 and 3 are full. In the stash are two values of x, and y1 of another key between them.
///
/// `[xa, xb, y1]`.
fn stashed<L: Layout>() -> With<Maplet<L>, 3> {
    adding(items(Setup::new(buckets_for_many::<Maplet<L>>()), [(2, 3)]), |s, [low]| {
        let [xa, y] = [(); 2].map(|()| s.item_of_group(2, 3, low));
        let (xb, y1) = (s.with_value(xa, 0), s.with_value(y, 1));
        s.fill(2, low).fill(3, low).stash(&[xa, y1, xb]);
        [xa, xb, y1]
    })
}

/// Two buckets at first, of which this one is split next. x1 is there, and goes, beside an item that stays.
fn one_split<L: GrowingLayout + Layout>(bucket: usize) -> With<Maplet<Growable<L>>, 1> {
    let buckets = [(bucket + 2, 1 - bucket), (bucket, 1 - bucket)];
    adding(items(Setup::growable(2, 4).split(bucket), buckets), |s, [x, y]| {
        let x1 = s.with_value(x, 1);
        s.store(bucket, &[x1, y]);
        [x1]
    })
}

/// As `one_void`, with the value 1.
fn one_void_of_1<L: GrowingLayout + Layout>() -> With<ShortRing<Growable<L>>, 1> {
    adding(items(Setup::growable(2, 8).split(2), [(4, 1)]), |s, [x]| {
        let x1 = s.with_value(x, 1);
        s.store_void(0, &[x1]);
        [x1]
    })
}

/// Four buckets. x (4, 1) has a void entry, in bucket 0, which is split next.
fn one_void<L: GrowingLayout + Layout>() -> With<ShortRing<Growable<L>>, 1> {
    with(Setup::growable(2, 8).split(2), [(4, 1)], |s, items| s.store_void(0, &items))
}
