//! Values: `get`, replacements, and entries with a value that move.
//!
//! Models of all that a maplet shares with a filter are elsewhere. In the comments, x is a key, and xa is x with the
//! value a: an item of the checker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::probe::{self, Maplet, Step};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::entries::entry_of_the_next_level;
use crate::stopped::Gate;
use crate::{
    Maplets, ThereAndBack, With, adding, items, last_slot_in, one_hop, scripted, storing, usually,
    with,
};

models_of_three! {
    // One value is found at once. The other may have been moved from the bucket that is read later to the one that was
    // read before.
    get_beside_a_kick_in_its_direction: [xa, xb, new] = kick_beside_another_value::<L>(0, 3)
        => [insert(new)] || [get(xa, [xa, xb])], 240, 3;
    get_beside_a_kick_the_other_way: [xa, xb, new] = kick_beside_another_value::<L>(3, 0)
        => [insert(new)] || [get(xa, [xa, xb])], 240, 3;
    // The value that the `get` finds is removed meanwhile.
    get_beside_a_kick_and_a_removal: [xa, xb, new] = kick_beside_another_value::<L>(3, 0)
        => [insert(new)] || [remove(xb)] || [get(xa, [xa])], 13_000, 2;
    // The two inserts may want to move the same value.
    get_beside_kicks_of_both_values: [xa, xb, new, newer] = kicks_of_two_values::<L>(3, 0)
        => [insert(new)] || [insert(newer)] || [get(xa, [xa, xb])], 4900, 1;
    // The kick has planned to move one of the values, which is then gone. The other value is not that one.
    kick_of_what_is_removed_beside_another_value: [xa, xb, new, _] = kicks_of_two_values::<L>(0, 3)
        => [insert(new)] || [remove(xa)] || [get(xb, [xb])], 15_000, 2;
    // The removal must not take the other value, which may be the only one in the bucket by then.
    removal_beside_a_kick_of_another_value: [xa, xb, new] = kick_beside_another_value::<L>(0, 3)
        => [insert(new)] || [remove(xb), !remove(xb), get(xa, [xa])], 5500, 3;
    // The replacement finds the entry in one bucket, and the entry is moved to the other: the replacement must look
    // again.
    replacement_of_what_is_kicked_in_its_direction: [xa, xb, new] = kick_of_a_value::<L>(0, 3)
        => [insert(new)] || [replace(xa, xb), !replace(xa, xb), get(xa, [xb])], 9500, 3;
    replacement_of_what_is_kicked_the_other_way: [xa, xb, new] = kick_of_a_value::<L>(3, 0)
        => [insert(new)] || [replace(xa, xb), !replace(xa, xb), get(xa, [xb])], 9500, 3;
    // Another value of x is there all the time: it is not enough to find one of the two.
    get_beside_a_replacement_of_what_is_kicked: [xa, xb, new, xc] = adding(
        kick_beside_another_value::<L>(3, 0), |s, [xa, xb, new]| [xa, xb, new, s.with_value(xa, 2)],
    ) => [insert(new)]
        || [replace(xa, xc)]
        || [get_that(xa, move |found| found.has(xb) && (found.has(xa) || found.has(xc)))], 9200, 2;
    // A snapshot that has the item inserted later has the new value, in a bucket that is copied first.
    replacement_and_insert_beside_a_snapshot: [xa, xb, later] = adding(
        with(Maplets::<L>::new(4), [(0, 3), (2, 3)], |s, [xa, _]| s.store(0, &[xa])),
        |s, [xa, later]| [xa, s.with_value(xa, 1), later],
    ) => [replace(xa, xb), insert(later)] || [snapshot([])], 4600, 3;
    // Exactly one of them finds the old value, as the checker knows.
    two_replacements_of_one_pair: [xa, xb, xc] = three_values::<L>()
        => [maybe(replace(xa, xb))]
        || [maybe(replace(xa.swapped(), xc))]
        || [get(xa, [])], 1500, 3;
    // The second one replaces the value that the first one has stored, if it comes later.
    two_replacements_in_a_row: [xa, xb, xc] = three_values::<L>()
        => [replace(xa, xb)] || [maybe(replace(xb, xc))] || [get(xa, [])], 1700, 3;
    // The pairs are replaced one by one, in order, and each at once.
    batch_of_replacements_against_get: [xa, xb, xc, ya, yb] = adding(
        three_values::<L>(), |s, [xa, xb, xc]| {
            let ya = s.item(0, 1);
            s.store(0, &[ya]);
            [xa, xb, xc, ya, s.with_value(ya, 1)]
        },
    ) => [does(move |t| t.replace_many(&[(xa, xb), (ya, yb), (xb, xc)]) == [true; 3])]
        || [does(move |t| {
            let y_is_replaced = t.get(ya).has(yb);
            let found = t.get(xa);
            found.has(xb) || found.has(xc) || !y_is_replaced && found.has(xa)
        })], 130, 2;
    // One of them finds the pair.
    replacement_against_removal: [xa, xb, _] = three_values::<L>()
        => [maybe(replace(xa, xb))] || [maybe(remove(xa))] || [maybe(contains_key(xa))], 1500, 3;
    // A value is replaced, and replaced back. A `get` finds one of the two values, and so does the next one.
    there_and_back_against_get: [xa, xb, _] = three_values::<L>()
        => [replace(xa, xb), replace(xb, xa)]
        || [get_any(xa, [xa, xb]), contains_key(xa), get(xa, [])], 170, 3;
    // The duplicate rule: a copy of the pair is stored in one bucket, and then a copy in the other one gets another
    // value. The pair is there all the time.
    copy_in_and_replacement_of_the_other: [xa, xb] = two_values(Maplets::<L>::new(2))
        => [insert(xa), replace(xa, xb)] || [get(xa, [xa])], 230, 3;
    copy_in_and_replacement_of_the_other_the_other_way: [xa, xb] = two_values(Maplets::<L>::new(2))
        => [insert(xa), replace(xa, xb)] || [get(xa.swapped(), [xa])], 230, 3;
    // Both values are in one bucket.
    removal_of_one_value_against_get_of_the_other: [xa, xb] = adding(
        items(Maplets::<L>::new(2), [(0, 1)]), |s, [xa]| {
            let xb = s.with_value(xa, 1);
            s.store(0, &[xb, xa]);
            [xa, xb]
        },
    ) => [remove(xa)] || [get(xa, [xb]), contains_key(xa)], 24, 3, by_every_schedule;
    // The duplicate rule for keys: another value is stored in one bucket, and then the first one is removed from the
    // other. The key is there all the time.
    value_in_and_value_out_against_lookup: [xa, xb] = two_values(Maplets::<L>::new(2))
        => [insert(xb), remove(xa)] || [contains_key(xa.swapped())], 180, 3, by_every_schedule;
    get_overtaken_in_every_round = overtaken_get(Maplets::<L>::new(4), (3, 0), 0);
    // Another value of the key is there all the time: only that of the pair counts.
    pair_beside_a_kick_in_its_direction: [xa, xb, new] = kick_beside_another_value::<L>(0, 3)
        => [insert(new)] || [contains_pair(xa), contains_pair(xb)], 700, 3;
    pair_beside_a_kick_the_other_way: [xa, xb, new] = kick_beside_another_value::<L>(3, 0)
        => [insert(new)] || [contains_pair(xa), contains_pair(xb)], 750, 3;
    // The duplicate rule for pairs. There is a copy of xa all the time.
    copy_in_and_replacement_of_the_other_against_pair: [xa, xb] = two_values(Maplets::<L>::new(2))
        => [insert(xa), replace(xa, xb)] || [contains_pair(xa)], 160, 3;
    copy_in_and_copy_out_against_pair: [xa, _] = two_values(Maplets::<L>::new(2))
        => [insert(xa), remove(xa)] || [contains_pair(xa.swapped())], 180, 3;
    // Exactly one of the two stores it, as the checker knows; xa is not a duplicate of it.
    two_inserts_if_absent_of_one_pair: [_, xb] = two_values(Maplets::<L>::new(2))
        => [maybe(insert_pair_if_absent(xb)), contains_pair(xb)]
        || [maybe(insert_pair_if_absent(xb.swapped()))], 28, 2;
    insert_if_absent_of_a_pair_that_is_kicked: [xa, xb, new] = kick_beside_another_value::<L>(3, 0)
        => [insert(new)] || [!insert_pair_if_absent(xa), !insert_pair_if_absent(xb)], 64, 2;
    // Both buckets are full: one of the two stashes it. xa is there, too.
    two_inserts_if_absent_of_one_stashed_pair: [xa, xb] = stashed_value::<L>()
        => [maybe(insert_pair_if_absent(xb)), contains_pair(xb)]
        || [maybe(insert_pair_if_absent(xb.swapped())), contains_pair(xa)], 48, 2;
}

growing_models! {
    split_against_get_in_its_direction: [xa, xb, xc] = one_split::<L>(0)
        => [split(1)] || [get(xa, [xa, xb, xc])], 4000, 3;
    split_against_get_the_other_way: [xa, xb, xc] = one_split::<L>(0)
        => [split(1)] || [get(xa.swapped(), [xa, xb, xc])], 4000, 3;
    end_of_level_against_get: [xa, xb, xc] = one_split::<L>(1)
        => [split(1)] || [get(xa, [xa, xb, xc])], 4000, 3;
    // The replacement finds the entry in the old bucket, and the entry goes: the replacement must look again.
    split_against_pairs: [xa, _, xc] = one_split::<L>(0)
        => [split(1)] || [contains_pair(xa), !insert_pair_if_absent(xc)], 1800, 2;
    split_against_replacement: [xa, _, _, xd] = one_split_and_new_value::<L>()
        => [split(1)] || [replace(xa, xd), !replace(xa, xd)], 66_000, 3;
    // It finds the old value or the new one, and all others.
    get_beside_a_split_and_a_replacement: [xa, xb, xc, xd] = one_split_and_new_value::<L>()
        => [split(1)]
        || [replace(xa, xd)]
        || [get_that(xa, move |found| {
            found.has(xb) && found.has(xc) && (found.has(xa) || found.has(xd))
        })], 16_000, usually(1);
    // The split stores the entries that stay once more: it must not store the old value.
    replacement_of_what_stays_against_split: [xa, xb] = adding(
        with(Maplets::<Growable<L>>::growable(2, 4), [(2, 1), (0, 1)], |s, xs| s.store(0, &xs)),
        |s, [_, xa]| [xa, s.with_value(xa, 1)],
    ) => [split(1)] || [replace(xa, xb), get(xa, [xb])], 7200, 3;
    // A relative has a short entry with the same value: the long entry gets another one.
    replacement_beside_a_relative_with_a_short_entry: [xa, xb, short] = adding(
        items(Maplets::<Growable<L>>::growable(2, 4).split(2), [(0, 1)]), |s, [xa]| {
            let short = s.variant(xa, 0, 1);
            s.store_as_of(0, 1, &[short]).store(0, &[xa]);
            [xa, s.with_value(xa, 1), short]
        },
    ) => [replace(xa, xb)] || [get(short, [short])], 77, 3;
    value_in_and_value_out_of_what_grows:
        [xa, xb] = two_values(Maplets::<Growable<L>>::growable(2, 4))
        => [insert(xb), remove(xa)] || [contains_key(xa.swapped())], 180, 3, by_every_schedule;
    // An entry of the next level, read by the level before, would look like one of a key that is not there.
    get_beside_an_entry_of_the_next_level: [absent, new] = entry_of_the_next_level(
        Maplets::<Growable<L>>::growable(2, 4).split(1),
    ) => [split(1), insert(new)] || [get_that(absent, move |found| !found.has(absent))], 1300, 3;
    removal_beside_a_value_of_the_next_level
    // Four buckets at first, of which three are split. xa is in 0 and 3 by turns, and would go from 3. When the last
    // resort of the `get` knows the buckets and has no stripe yet, 3 is split, and xa goes with it.
    get_whose_bucket_is_split =
        overtaken_get(Maplets::<Growable<L>>::growable(4, 8).split(3), (0, 7), 1);
}

/// As [`one_hop`], with xa. xb is not stored.
///
/// `[xa, xb, new]`.
fn kick_of_a_value<L: Layout>(first: usize, second: usize) -> With<Maplet<L>, 3> {
    adding(one_hop(first, second), |s, [xa, new, _]| [xa, s.with_value(xa, 1), new])
}

/// The same with xb in 3.
fn kick_beside_another_value<L: Layout>(first: usize, second: usize) -> With<Maplet<L>, 3> {
    storing(kick_of_a_value(first, second), |s, [_, xb, _]| s.store(3, &[xb]))
}

/// Four buckets: 0 and 1 are full, 2 and 3 are empty. Two values of x are in 0; inserts of `new` and of `newer` move
/// them to 3.
///
/// `[xa, xb, new, newer]`.
fn kicks_of_two_values<L: Layout>(first: usize, second: usize) -> With<Maplet<L>, 4> {
    adding(items(Setup::new(4), [(first, second)]), |s, [xa]| {
        let xb = s.with_value(xa, 1);
        let [new, newer, filler] = s.items([(0, 1); 3]);
        s.store(0, &[xa, xb]).fill(0, filler).fill(1, filler);
        [xa, xb, new, newer]
    })
}

/// xa is in bucket 0, and another value of x is not stored.
///
/// `[xa, xb]`.
fn two_values<M: IntoStorage>(setup: Setup<Maplet<M>>) -> With<Maplet<M>, 2> {
    adding(with(setup, [(0, 1)], |s, items| s.store(0, &items)), |s, [xa]| {
        [xa, s.with_value(xa, 1)]
    })
}

/// Four buckets: 0 and 1 are full, with items that no kick can move. xa is stashed, and another value of x is not
/// stored.
///
/// `[xa, xb]`.
fn stashed_value<L: Layout>() -> With<Maplet<L>, 2> {
    adding(items(Setup::new(4), [(0, 1); 2]), |s, [xa, low]| {
        s.fill(0, low).fill(1, low).stash(&[xa]);
        [xa, s.with_value(xa, 1)]
    })
}

/// Two buckets; xa is in the second one, and two more values of x are not stored.
fn three_values<L: Layout>() -> With<Maplet<L>, 3> {
    adding(with(Setup::new(2), [(0, 1)], |s, items| s.store(1, &items)), |s, [xa]| {
        [xa, s.with_value(xa, 1), s.with_value(xa, 2)]
    })
}

/// Two buckets at first. This one is split next, at the end of a level if it is bucket 1. It holds two values of a key
/// that goes; its other bucket holds a third value.
///
/// `[xa, xb, xc]`.
fn one_split<L: GrowingLayout + Layout>(bucket: usize) -> With<Maplet<Growable<L>>, 3> {
    let setup = Setup::growable(2, 4).split(bucket);
    adding(items(setup, [(bucket + 2, 1 - bucket)]), |s, [xa]| {
        let [xb, xc] = [1, 2].map(|value| s.with_value(xa, value));
        s.store(bucket, &[xa, xb]).store(1 - bucket, &[xc]);
        [xa, xb, xc]
    })
}

/// The same for bucket 0, with a value that is not stored.
///
/// `[xa, xb, xc, xd]`.
fn one_split_and_new_value<L: GrowingLayout + Layout>() -> With<Maplet<Growable<L>>, 4> {
    adding(one_split(0), |s, [xa, xb, xc]| [xa, xb, xc, s.with_value(xa, 0)])
}

/// A `get` whose result must satisfy `is_right`.
fn get_that<M: IntoStorage>(
    key: Item,
    is_right: impl Fn(Found) -> bool + Send + Sync + 'static,
) -> loom_tests::model::Step<Maplet<M>> {
    does(move |t| is_right(t.get(key)))
}

/// The number of rounds of a `get` before it locks its stripes.
const ROUNDS: usize = 8;

/// A value is moved in each round, so that no round is valid. Then the `get` locks both stripes; and if a bucket is
/// split before it has them, those of both as they were, and of both as they are. Scripted: the other operations run
/// between two steps of the `get`.
fn overtaken_get<M: IntoStorage>(setup: Setup<Maplet<M>>, buckets: (usize, usize), splits: usize) {
    let (mut setup, [xa, new, back, ..]) = last_slot_in(setup, buckets);
    let xb = setup.with_value(xa, 1);
    scripted(setup, move |t| {
        let mut moved = ThereAndBack::new(t, new, back);
        let [rounds, locks] = [0; 2].map(|_| Arc::new(AtomicUsize::new(0)));
        let (round, lock) = (Arc::clone(&rounds), Arc::clone(&locks));
        // The version, two words, and the version again; in a growing table also the extent before each word.
        let loads_of_a_round = 4 + 2 * splits;
        let mut loads = 0;
        probe::after_each_step(move |step| match step {
            Step::Load => {
                loads += 1;
                let is_last = round.load(Ordering::Relaxed) == ROUNDS;
                if !is_last && loads == loads_of_a_round - 2 {
                    // The first word is loaded.
                    moved.go();
                    round.fetch_add(1, Ordering::Relaxed);
                } else if !is_last && loads == loads_of_a_round {
                    loads = 0;
                } else if splits > 0 && loads == loads_of_a_round + 1 {
                    // The last resort has loaded the extent.
                    if moved.is_at_first() {
                        moved.go();
                    }
                    assert_eq!(moved.others.split(splits), splits);
                }
            }
            Step::Lock => {
                lock.fetch_add(1, Ordering::Relaxed);
            }
            Step::Store | Step::Add | Step::Allocate => {}
        });
        let found = t.get(xa);
        assert!(found.has(xa) && !found.has(xb));
        assert_eq!(rounds.load(Ordering::Relaxed), ROUNDS);
        assert_eq!(
            locks.load(Ordering::Relaxed),
            2 + 2 * splits,
            "both stripes, and not one alone"
        );
    });
}

/// A removal of xa in 0 is about to read its other bucket, 1. Then 1 is split, the last one of its level, and xb is
/// stored there by the next level. By the level before it would not be an entry of x. There is a value all the time; a
/// lookup may have read bucket 1 before. The first attempt of the removal fails, since it compares both words: another
/// item is removed from bucket 1 when it has its lock.
fn removal_beside_a_value_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).split(1);
    let low = setup.item(1, 0);
    // With a bit above, so that an entry of the next level does not look like one that knows nothing.
    let xa = setup.variant(low, 0, 1);
    let xb = setup.with_value(xa, 1);
    let other = setup.item(1, 2);
    setup.store(0, &[xa]).store(1, &[other]);
    setup.check_with(7400, 2, move |model| {
        let [reached, stored] = [0; 2].map(|_| Gate::new());
        let (reads, has_stored) = (Arc::clone(&reached), Arc::clone(&stored));
        model.thread(move |t| {
            let mut others = t.unrecorded();
            let (mut fails, mut since_lock) = (true, None);
            probe::after_each_step(move |step| match (step, &mut since_lock) {
                (Step::Lock, None) if fails => {
                    fails = false;
                    assert!(others.remove(other));
                }
                (Step::Lock, None) => since_lock = Some(0),
                (Step::Load, Some(loads)) => {
                    *loads += 1;
                    // The extent under the lock, the version, the word of bucket 0, and the extent for the other one.
                    if *loads == 4 {
                        reads.open();
                        has_stored.wait();
                    }
                }
                _ => {}
            });
            assert!(t.remove(xa));
            probe::after_each_step(|_| {});
            assert!(t.unrecorded().insert(other));
        });
        model.thread(move |t| {
            reached.wait();
            assert_eq!(t.split(1), 1);
            assert!(t.insert(xb));
            stored.open();
        });
        model.thread(move |t| assert!(t.contains_key(xa)));
    });
}
