//! Values: `get`, replacements, and what becomes of an entry with a value when it moves.
//!
//! All that a maplet shares with a filter has its models elsewhere. In the comments, x is a key, and xa
//! is x with the value a: an item of the checker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::probe::{self, Maplet, Step};
use coucal::{Growable, GrowingLayout, Layout, Storage};
use loom_tests::model::*;

use crate::stopped::Gate;
use crate::{LastSlot, OneHop, ThereAndBack, one_item};

models_of_three! {
    get_beside_a_kick_in_its_direction = get_beside_a_kick(0, 3)
    get_beside_a_kick_the_other_way = get_beside_a_kick(3, 0)
    get_beside_a_kick_and_a_removal
    get_beside_kicks_of_both_values
    kick_of_what_is_removed_beside_another_value
    removal_beside_a_kick_of_another_value
    replacement_of_what_is_kicked_in_its_direction = replacement_of_what_is_kicked(0, 3)
    replacement_of_what_is_kicked_the_other_way = replacement_of_what_is_kicked(3, 0)
    get_beside_a_replacement_of_what_is_kicked
    two_replacements_of_one_pair
    two_replacements_in_a_row
    batch_of_replacements_against_get
    batch_of_replacements_of_what_is_kicked
    replacement_against_removal
    there_and_back_against_get
    copy_in_and_replacement_of_the_other = copy_in_and_replacement(|item| item)
    copy_in_and_replacement_of_the_other_the_other_way = copy_in_and_replacement(Item::swapped)
    removal_of_one_value_against_get_of_the_other
    value_in_and_value_out_against_lookup = value_in_and_value_out(Setup::new(2), 180)
    get_overtaken_in_every_round
}

growing_models! {
    split_against_get_in_its_direction = split_against_get(0, |item| item)
    split_against_get_the_other_way = split_against_get(0, Item::swapped)
    end_of_level_against_get = split_against_get(1, |item| item)
    split_against_replacement
    get_beside_a_split_and_a_replacement
    replacement_of_what_stays_against_split
    replacement_beside_a_relative_with_a_short_entry
    value_in_and_value_out_of_what_grows
    get_beside_an_entry_of_the_next_level
    removal_beside_a_value_of_the_next_level
    get_whose_bucket_is_split
}

/// As [`OneHop`]: an insert of `new` moves xa from 0 to 3. There is a second value of x in 3.
fn kick_beside_another_value<L: Layout>(
    first: usize,
    second: usize,
) -> (Setup<Maplet<L>>, Item, Item, Item) {
    let OneHop { mut setup, moved: xa, new, .. } = OneHop::<Maplet<L>>::new(first, second);
    let xb = setup.with_value(xa, 1);
    setup.store(3, &[xb]);
    (setup, xa, xb, new)
}

/// One value is found at once. The other may have been moved from the bucket that is read later to the
/// one that was read before.
fn get_beside_a_kick<L: Layout>(first: usize, second: usize) {
    let (setup, xa, xb, new) = kick_beside_another_value::<L>(first, second);
    setup.thread([insert(new)]).thread([get(xa, [xa, xb])]).check(240, 3);
}

/// The value that the `get` finds is removed meanwhile.
fn get_beside_a_kick_and_a_removal<L: Layout>() {
    let (setup, xa, xb, new) = kick_beside_another_value::<L>(3, 0);
    setup.thread([insert(new)]).thread([remove(xb)]).thread([get(xa, [xa])]).check(13_000, 2);
}

/// Four buckets: 0 and 1 are full, 2 and 3 are empty. Two values of x in 0, which inserts of `new` and of
/// `newer` move to 3.
struct TwoValues<L: Layout> {
    setup: Setup<Maplet<L>>,
    xa: Item,
    xb: Item,
    new: Item,
    newer: Item,
}

impl<L: Layout> TwoValues<L> {
    fn new(first: usize, second: usize) -> Self {
        let mut setup = Setup::new(4);
        let xa = setup.item(first, second);
        let xb = setup.with_value(xa, 1);
        let [new, newer, filler] = setup.items([(0, 1); 3]);
        setup.store(0, &[xa, xb]).fill(0, filler).fill(1, filler);
        Self { setup, xa, xb, new, newer }
    }
}

/// The two inserts may want to move the same value.
fn get_beside_kicks_of_both_values<L: Layout>() {
    let TwoValues { setup, xa, xb, new, newer } = TwoValues::<L>::new(3, 0);
    setup.thread([insert(new)]).thread([insert(newer)]).thread([get(xa, [xa, xb])]).check(4900, 1);
}

/// The kick has planned to move one of the values, which is gone then. The other is not that one.
fn kick_of_what_is_removed_beside_another_value<L: Layout>() {
    let TwoValues { setup, xa, xb, new, .. } = TwoValues::<L>::new(0, 3);
    setup.thread([insert(new)]).thread([remove(xa)]).thread([get(xb, [xb])]).check(15_000, 2);
}

/// The removal must not take the other value, which may be the only one in the bucket by then.
fn removal_beside_a_kick_of_another_value<L: Layout>() {
    let (setup, xa, xb, new) = kick_beside_another_value::<L>(0, 3);
    setup.thread([insert(new)]).thread([remove(xb), !remove(xb), get(xa, [xa])]).check(5500, 3);
}

/// The replacement finds the entry in one bucket, and it is moved to the other: it must look again.
fn replacement_of_what_is_kicked<L: Layout>(first: usize, second: usize) {
    let OneHop { mut setup, moved: xa, new, .. } = OneHop::<Maplet<L>>::new(first, second);
    let xb = setup.with_value(xa, 1);
    let replacements = [replace(xa, xb), !replace(xa, xb), get(xa, [xb])];
    setup.thread([insert(new)]).thread(replacements).check(9500, 3);
}

/// Another value of x is there all the time: that one of the two is found is not enough.
fn get_beside_a_replacement_of_what_is_kicked<L: Layout>() {
    let (mut setup, xa, xb, new) = kick_beside_another_value::<L>(3, 0);
    let xc = setup.with_value(xa, 2);
    let get = does(move |t| {
        let found = t.get(xa);
        found.has(xb) && (found.has(xa) || found.has(xc))
    });
    setup.thread([insert(new)]).thread([replace(xa, xc)]).thread([get]).check(9200, 2);
}

/// Two buckets; xa is in the second, and two more values of x are nowhere.
fn three_values<L: Layout>() -> (Setup<Maplet<L>>, [Item; 3]) {
    let mut setup = Setup::new(2);
    let xa = setup.item(0, 1);
    let [xb, xc] = [1, 2].map(|value| setup.with_value(xa, value));
    setup.store(1, &[xa]);
    (setup, [xa, xb, xc])
}

/// Exactly one of them finds the old value, as the checker knows.
fn two_replacements_of_one_pair<L: Layout>() {
    let (setup, [xa, xb, xc]) = three_values::<L>();
    setup
        .thread([maybe(replace(xa, xb))])
        .thread([maybe(replace(xa.swapped(), xc))])
        .thread([get(xa, [])])
        .check(1500, 3);
}

/// The second replaces what the first has stored, if it comes later.
fn two_replacements_in_a_row<L: Layout>() {
    let (setup, [xa, xb, xc]) = three_values::<L>();
    setup
        .thread([replace(xa, xb)])
        .thread([maybe(replace(xb, xc))])
        .thread([get(xa, [])])
        .check(1700, 3);
}

/// The pairs are replaced one by one, in order, and each at once.
fn batch_of_replacements_against_get<L: Layout>() {
    let (mut setup, [xa, xb, xc]) = three_values::<L>();
    let ya = setup.item(0, 1);
    let yb = setup.with_value(ya, 1);
    setup.store(0, &[ya]);
    let batch = does(move |t| t.replace_many(&[(xa, xb), (ya, yb), (xb, xc)]) == [true; 3]);
    let gets = does(move |t| {
        let y_is_replaced = t.get(ya).has(yb);
        let found = t.get(xa);
        found.has(xb) || found.has(xc) || !y_is_replaced && found.has(xa)
    });
    setup.thread([batch]).thread([gets]).check(130, 2);
}

/// A pair that is kicked meanwhile is replaced all the same.
fn batch_of_replacements_of_what_is_kicked<L: Layout>() {
    let OneHop { mut setup, moved: xa, new, .. } = OneHop::<Maplet<L>>::new(3, 0);
    let xb = setup.with_value(xa, 1);
    let batch = does(move |t| t.replace_many(&[(xa, xb), (xa, xb)]) == [true, false]);
    setup.thread([insert(new)]).thread([batch]).check(3100, 3);
}

/// One of them finds the pair.
fn replacement_against_removal<L: Layout>() {
    let (setup, [xa, xb, _]) = three_values::<L>();
    setup
        .thread([maybe(replace(xa, xb))])
        .thread([maybe(remove(xa))])
        .thread([maybe(contains_key(xa))])
        .check(1500, 3);
}

/// A value is replaced, and replaced back. A `get` finds one of the two, and so does the next.
fn there_and_back_against_get<L: Layout>() {
    let (setup, [xa, xb, _]) = three_values::<L>();
    setup
        .thread([replace(xa, xb), replace(xb, xa)])
        .thread([get_any(xa, [xa, xb]), contains_key(xa), get(xa, [])])
        .check(170, 3);
}

/// The duplicate rule: a copy of the pair is stored in one bucket, then the value of one in the other is
/// replaced. The pair is there all the time.
fn copy_in_and_replacement<L: Layout>(order: fn(Item) -> Item) {
    let (mut setup, xa) = one_item::<Maplet<L>>(&[]);
    let xb = setup.with_value(xa, 1);
    setup.store(0, &[xa]);
    let looked_up = order(xa);
    setup.thread([insert(xa), replace(xa, xb)]).thread([get(looked_up, [xa])]).check(230, 3);
}

/// Both values are in one bucket.
fn removal_of_one_value_against_get_of_the_other<L: Layout>() {
    let (mut setup, xa) = one_item::<Maplet<L>>(&[]);
    let xb = setup.with_value(xa, 1);
    setup.store(0, &[xb, xa]);
    setup
        .by_every_schedule()
        .thread([remove(xa)])
        .thread([get(xa, [xb]), contains_key(xa)])
        .check(24, 3);
}

/// The duplicate rule for keys: another value is stored in one bucket, then the first is removed from the
/// other. The key is there all the time.
fn value_in_and_value_out<M: Storage + 'static>(mut setup: Setup<Maplet<M>>, floor: usize) {
    let xa = setup.item(0, 1);
    let xb = setup.with_value(xa, 1);
    setup.store(0, &[xa]);
    setup
        .by_every_schedule()
        .thread([insert(xb), remove(xa)])
        .thread([contains_key(xa.swapped())])
        .check(floor, 3);
}

fn value_in_and_value_out_of_what_grows<L: GrowingLayout + Layout>() {
    value_in_and_value_out::<Growable<L>>(Setup::growable(2, 4), 180);
}

/// Rounds of a `get` before it locks its stripes.
const ROUNDS: usize = 8;

/// A value is moved in each round, so that no round is valid. Then the `get` locks both stripes. Scripted:
/// the other operations run between two steps of the `get`.
fn get_overtaken_in_every_round<L: Layout>() {
    let LastSlot { mut setup, moved: xa, new, back, .. } = LastSlot::<Maplet<L>>::new(3, 0);
    let xb = setup.with_value(xa, 1);
    setup.check_with(1, 2, move |model| {
        model.thread(move |t| {
            let mut moved = ThereAndBack::new(t, new, back);
            let [rounds, locks] = [0; 2].map(|_| Arc::new(AtomicUsize::new(0)));
            let (round, lock) = (Arc::clone(&rounds), Arc::clone(&locks));
            let mut loads = 0;
            probe::after_each_step(move |step| match step {
                // The version and one word are loaded. The last load is that of the version again.
                Step::Load if round.load(Ordering::Relaxed) < ROUNDS || loads > 0 => {
                    loads = (loads + 1) % 4;
                    if loads == 2 {
                        moved.go();
                        round.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Step::Lock => {
                    lock.fetch_add(1, Ordering::Relaxed);
                }
                Step::Load | Step::Store | Step::Add | Step::Allocate => {}
            });
            let found = t.get(xa);
            assert!(found.has(xa) && !found.has(xb));
            assert_eq!(rounds.load(Ordering::Relaxed), ROUNDS);
            assert_eq!(locks.load(Ordering::Relaxed), 2, "both stripes, and not one alone");
        });
    });
}

/// Two buckets at first. This one is split next, at the end of a level if it is bucket 1. It holds two
/// values of a key that goes; its other bucket holds a third.
fn one_split<L: GrowingLayout + Layout>(bucket: usize) -> (Setup<Maplet<Growable<L>>>, [Item; 3]) {
    let mut setup = Setup::growable(2, 4).split(bucket);
    let xa = setup.item(bucket + 2, 1 - bucket);
    let [xb, xc] = [1, 2].map(|value| setup.with_value(xa, value));
    setup.store(bucket, &[xa, xb]).store(1 - bucket, &[xc]);
    (setup, [xa, xb, xc])
}

fn split_against_get<L: GrowingLayout + Layout>(bucket: usize, order: fn(Item) -> Item) {
    let (setup, items) = one_split::<L>(bucket);
    setup.thread([split(1)]).thread([get(order(items[0]), items)]).check(4000, 3);
}

/// The replacement finds the entry in the old bucket, and it goes: the replacement must look again.
fn split_against_replacement<L: GrowingLayout + Layout>() {
    let (mut setup, [xa, ..]) = one_split::<L>(0);
    let xd = setup.with_value(xa, 0);
    setup.thread([split(1)]).thread([replace(xa, xd), !replace(xa, xd)]).check(66_000, 3);
}

/// The old value or the new one, and all others.
fn get_beside_a_split_and_a_replacement<L: GrowingLayout + Layout>() {
    let (mut setup, [xa, xb, xc]) = one_split::<L>(0);
    let xd = setup.with_value(xa, 0);
    let get = does(move |t| {
        let found = t.get(xa);
        found.has(xb) && found.has(xc) && (found.has(xa) || found.has(xd))
    });
    setup.thread([split(1)]).thread([replace(xa, xd)]).thread([get]).check(140_000, 2);
}

/// The split stores what stays once more: it must not be the old value.
fn replacement_of_what_stays_against_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4);
    let [goes, xa] = setup.items([(2, 1), (0, 1)]);
    let xb = setup.with_value(xa, 1);
    setup.store(0, &[goes, xa]);
    setup.thread([split(1)]).thread([replace(xa, xb), get(xa, [xb])]).check(7200, 3);
}

/// A relative has a short entry with the same value: the long entry gets another one.
fn replacement_beside_a_relative_with_a_short_entry<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).split(2);
    let xa = setup.item(0, 1);
    let short = setup.variant(xa, 0, 1);
    let xb = setup.with_value(xa, 1);
    setup.store_as_of(0, 1, &[short]).store(0, &[xa]);
    setup.thread([replace(xa, xb)]).thread([get(short, [short])]).check(77, 3);
}

/// An entry of the next level, read by the level before, would be one of a key that is not there.
fn get_beside_an_entry_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).split(1);
    let absent = setup.item(3, 0);
    let new = setup.variant(absent, 1, 1);
    // The new item has more room in bucket 1.
    let other = setup.item(2, 1);
    setup.store(2, &[other]);
    let get = does(move |t| !t.get(absent).has(absent));
    setup.thread([split(1), insert(new)]).thread([get]).check(1300, 3);
}

/// A removal of xa in 0 is about to read its other bucket, 1, when that is split, the last one of its level,
/// and xb is stored there by the next level. By the level before it would be no entry of x. There is a value
/// all the time; a lookup may have read bucket 1 before.
fn removal_beside_a_value_of_the_next_level<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).split(1);
    let low = setup.item(1, 0);
    // With a bit above, so that an entry of the next level does not look like one of which nothing is known.
    let xa = setup.variant(low, 0, 1);
    let xb = setup.with_value(xa, 1);
    setup.store(0, &[xa]);
    setup.check_with(7400, 2, move |model| {
        let [reached, stored] = [0; 2].map(|_| Gate::new());
        let (reads, has_stored) = (Arc::clone(&reached), Arc::clone(&stored));
        model.thread(move |t| {
            let mut since_lock = None;
            probe::after_each_step(move |step| match (step, &mut since_lock) {
                (Step::Lock, None) => since_lock = Some(0),
                (Step::Load, Some(loads)) => {
                    *loads += 1;
                    // The extent under the lock, the version, the word of bucket 0, and the extent for the other.
                    if *loads == 4 {
                        reads.open();
                        has_stored.wait();
                    }
                }
                _ => {}
            });
            assert!(t.remove(xa));
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

/// Four buckets at first, of which three are split. xa is in 0 and 3 by turns, and would go from 3. When
/// the last resort of a `get` knows the buckets and has no stripe yet, 3 is split, and xa goes with it.
fn get_whose_bucket_is_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(4, 8).split(3);
    let [xa, new, low] = setup.items([(0, 7), (0, 1), (0, 1)]);
    let [back, high] = setup.items([(2, 3); 2]);
    setup.store(0, &[xa]).fill(0, low).fill(1, low);
    setup.fill(2, high).fill_but_one(3, high);
    setup.check_with(1, 2, move |model| {
        model.thread(move |t| {
            let mut moved = ThereAndBack::new(t, new, back);
            let locks = Arc::new(AtomicUsize::new(0));
            let lock = Arc::clone(&locks);
            let (mut loads, mut rounds) = (0, 0);
            probe::after_each_step(move |step| match step {
                Step::Load => {
                    loads += 1;
                    // The version, the extent twice and one word are loaded; the other word and the
                    // version again come next.
                    if rounds < ROUNDS && loads == 4 {
                        moved.go();
                        rounds += 1;
                    } else if loads == 6 && rounds < ROUNDS {
                        loads = 0;
                    } else if loads == 7 {
                        // The last resort has loaded the extent.
                        if moved.is_at_first() {
                            moved.go();
                        }
                        assert_eq!(moved.others.split(1), 1);
                    }
                }
                Step::Lock => {
                    lock.fetch_add(1, Ordering::Relaxed);
                }
                Step::Store | Step::Add | Step::Allocate => {}
            });
            assert!(t.get(xa).has(xa));
            let locks = locks.load(Ordering::Relaxed);
            assert_eq!(locks, 4, "both stripes as they were, and both as they are");
        });
    });
}
