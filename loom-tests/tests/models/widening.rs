//! Replacing stripes, versions and words, beside lookups and writers.
//!
//! A table has two stripes and two versions at first, and then one for each bucket; its words move.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom_tests::model::*;

use crate::expiry::leaves;
use crate::stash::going_back;
use crate::{Growing, Maplets, With, adding, items, one_hop, with};

growing_models! {
    // A lookup that began with an old version may read an entry that moved under a new one.
    split_after_widening_against_lookup_in_its_direction: [goes] = one_goes::<L>()
        => [widen(), split(1)] || [contains(goes)], 2600, 2, by_every_schedule;
    split_after_widening_against_lookup_the_other_way: [goes] = one_goes::<L>()
        => [widen(), split(1)] || [contains(goes.swapped())], 2600, 2, by_every_schedule;
    // An insert of `new` moves `moved` from bucket 0 to 3.
    kick_after_widening_against_lookup_in_its_direction:
        [moved, new, _] = one_hop::<Growable<L>>(0, 3)
        => [widen(), insert(new)] || [contains(moved)], 1000, 2, narrow;
    kick_after_widening_against_lookup_the_other_way: [moved, new, _] = one_hop::<Growable<L>>(3, 0)
        => [widen(), insert(new)] || [contains(moved)], 1000, 2, narrow;
    // The lookup looks for `moved` in the stash as well, where another item of its group is: it has the number of an
    // old version, and compares it with that of a new one.
    kick_after_widening_with_something_stashed: [moved, new] = adding(
        one_hop::<Growable<L>>(3, 0),
        |s, [moved, new, _]| {
            let stashed = s.item_of_group(0, 3, moved);
            s.stash(&[stashed]);
            [moved, new]
        },
    ) => [widen(), insert(new)] || [contains(moved)], 560, 2, narrow;
    // Each round of the lookup looks in the stash: a later one may have the retired version.
    kick_after_widening_with_something_stashed_against_get: [moved, new] = adding(
        one_hop::<Maplet<Growable<L>>>(3, 0),
        |s, [moved, new, _]| {
            let stashed = s.item_of_group(0, 3, moved);
            s.stash(&[stashed]);
            [moved, new]
        },
    ) => [widen(), insert(new)] || [get(moved, [moved])], 560, 2, narrow;
    kick_beside_widening_against_lookup
    // An entry that moved under an old version is copied as it is.
    split_before_widening_against_lookup: [goes] = one_goes::<L>()
        => [split(1), widen()] || [contains(goes.swapped())], 16_000, 2;
    // One of the two may wait for a stripe that is retired. Both are counted.
    inserts_into_one_bucket: [x, y, _] = with(
        two_buckets::<L>(), [(0, 1); 3], |s, [.., low]| s.fill(1, low),
    ) => [widen(), insert(x)] || [insert(y)], 780, 2;
    // A thread finds the items that it has inserted, wherever the words are.
    insert_then_lookup: [x, y] = items(two_buckets::<L>(), [(0, 1); 2])
        => [widen()]
        || [insert(x), contains(x.swapped())]
        || [insert(y), contains(y.swapped())], 110_000, 2;
    inserts_if_absent_of_one_item: [x] = items(two_buckets::<L>(), [(0, 1)])
        => [widen(), maybe(insert_if_absent(x))] || [maybe(insert_if_absent(x.swapped()))], 750, 2;
    removal_beside_widening: [x, y] = with(
        two_buckets::<L>(), [(0, 1); 2], |s, items| s.store(0, &items),
    ) => [widen(), contains(y)] || [remove(x), !contains(x)], 870, 2;
    clear_beside_widening: [x, y] = with(
        two_buckets::<L>(), [(0, 1); 2], |s, [x, y]| s.store(0, &[x]).store(1, &[y]),
    ) => [widen()] || [clear(), !contains(x), !contains(y)], 2200, 2;
    // The new versions know of the stashed entries.
    lookup_of_what_is_stashed: [x, _] = going_back(four_buckets::<L>(), 0, 1)
        => [widen()] || [contains(x)], 1000, 2;
    insert_into_the_stash: [x] = no_room::<L>() => [widen()] || [insert(x), contains(x)], 5600, 2;
    // A slot is freed, and the stashed entry goes there.
    going_back_after_widening_against_lookup: [x, low] = going_back(four_buckets::<L>(), 0, 1)
        => [widen(), remove(low)] || [contains(x)], 2400, 2;
    // The words stay where they are while a snapshot copies them, and so do the stripes with their flags.
    snapshot_beside_widening: [x, y] = with(
        two_buckets::<L>(), [(0, 1); 2], |s, [x, _]| s.store(1, &[x]),
    ) => [widen(), insert(y)] || [snapshot([x])], 1100, 2;
    // A snapshot has kept the stripes from being replaced: it replaces them at its end, but not beside another
    // snapshot.
    widening_at_the_end_of_a_snapshot: [x, y] = with(
        two_buckets::<L>(), [(0, 1); 2], |s, [x, _]| s.store(1, &[x]),
    ) => [snapshot([x]), insert(y)] || [snapshot([x])], 210, 2;
    widening_at_the_end_of_a_snapshot_against_writers: [x, y] = with(
        two_buckets::<L>(), [(0, 1); 2], |s, [x, _]| s.store(1, &[x]),
    ) => [snapshot([])] || [insert(y), contains(y), remove(x), !contains(x)], 1700, 2;
    // x1 is removed: it is in a word that is copied, and then split.
    sweep_beside_widening_and_a_split: [_, x1] = leaves(
        Maplets::<Growable<L>>::growable(2, 4), (2, 1), 0,
    ) => [widen(), split(1)] || [remove_value(x1, 1), !contains_key(x1)], 9700, 2, narrow;
    // One of the two takes x1 out of the table, and the other finds it gone.
    sweep_beside_widening_and_a_removal: [_, x1] = leaves(
        Maplets::<Growable<L>>::growable(2, 4), (0, 1), 0,
    ) => [widen(), maybe(remove(x1))]
        || [maybe(remove_value(x1, 1)), !contains_key(x1)], 1100, 2, narrow;
    // Of two pairs in buckets of one old stripe, each is changed once: before the stripes are replaced, or under a new
    // one.
    change_beside_widening: [x1, x2, y1, y2] = adding(
        items(Maplets::<Growable<L>>::growable(4, 4), [(0, 1), (2, 3)]), |s, [x, y]| {
            let [x1, y1] = [x, y].map(|item| s.with_value(item, 1));
            s.store(0, &[x1]).store(2, &[y1]);
            [x1, s.with_value(x1, 2), y1, s.with_value(y1, 2)]
        },
    ) => [widen()] || [age_values([[x1, x2], [y1, y2]])], 1200, 3, narrow;
    lookup_that_a_flag_orders = ordered_by_a_flag::<L>(items(two_buckets::<L>(), [(0, 1)]), 650, 3);
    // The lookup has the newest words. It must not take an old version for one of a group without stashed entries.
    lookup_of_what_is_stashed_that_a_flag_orders = ordered_by_a_flag::<L>(no_room::<L>(), 1200, 2);
}

/// An empty table of two buckets, which become four.
fn two_buckets<L: GrowingLayout + Layout>() -> Growing<L> {
    Setup::growable(2, 4).narrow()
}

/// The same with an item in bucket 0, which goes.
fn one_goes<L: GrowingLayout + Layout>() -> With<Growable<L>, 1> {
    with(two_buckets(), [(2, 1)], |s, items| s.store(0, &items))
}

/// An empty table of four buckets, its maximum size.
fn four_buckets<L: GrowingLayout + Layout>() -> Growing<L> {
    Setup::growable(4, 4).narrow()
}

/// An item whose two buckets are full.
fn no_room<L: GrowingLayout + Layout>() -> With<Growable<L>, 1> {
    let full = with(four_buckets::<L>(), [(0, 1)], |s, [low]| s.fill(0, low).fill(1, low));
    adding(full, |s, [low]| [s.item_of_group(0, 1, low)])
}

/// A writer may get a new stripe as soon as there is one, and a lookup may have begun before.
fn kick_beside_widening_against_lookup<L: GrowingLayout + Layout>() {
    let (setup, [moved, new, _]) = one_hop::<Growable<L>>(3, 0);
    setup.narrow().check_with(290_000, 3, move |model| {
        // loom runs one thread at a time. Threads that begin too early or too late would be explored for nothing.
        let phase = Arc::new(AtomicUsize::new(0));
        let (kick_phase, lookup_phase) = (Arc::clone(&phase), Arc::clone(&phase));
        model.thread(move |t| {
            if lookup_phase.load(Relaxed) == 0 {
                assert!(t.contains(moved));
            }
        });
        model.thread(move |t| {
            phase.store(1, Relaxed);
            t.widen();
            phase.store(2, Relaxed);
        });
        model.thread(move |t| {
            if kick_phase.load(Relaxed) == 1 {
                assert!(t.insert(new));
            }
        });
    });
}

/// A lookup that begins after an insert, in the order of `SeqCst` accesses, finds the item, though nothing else orders
/// them.
fn ordered_by_a_flag<L: GrowingLayout + Layout>(
    (setup, [x]): With<Growable<L>, 1>,
    floor: usize,
    preemptions: usize,
) {
    setup.exact_seq_cst().check_with(floor, preemptions, move |model| {
        let flags = Arc::new((AtomicBool::new(false), std::sync::atomic::AtomicBool::new(false)));
        // loom lets a `SeqCst` load read a value that was not stored, whatever was stored since.
        flags.0.store(false, Ordering::SeqCst);
        let set = Arc::clone(&flags);
        model.thread(move |t| {
            t.widen();
            assert!(t.insert(x));
            let (flag, is_late) = &*flags;
            is_late.store(!flag.load(Ordering::SeqCst), Relaxed);
        });
        model.thread(move |t| {
            let (flag, is_late) = &*set;
            flag.store(true, Ordering::SeqCst);
            let found = t.contains(x);
            // An atomic of the standard library, since loom runs one thread at a time: what the other thread has seen
            // by now.
            assert!(found || !is_late.load(Relaxed), "the insert was over");
        });
    });
}
