//! Stripes, versions and words that are replaced, against lookups and against writers.
//!
//! A table has two stripes and two versions at first, and then one for each bucket; its words move.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom_tests::model::*;

use crate::OneHop;

growing_models! {
    split_after_widening_against_lookup_in_its_direction = split_after_widening(|item| item)
    split_after_widening_against_lookup_the_other_way = split_after_widening(Item::swapped)
    kick_after_widening_against_lookup_in_its_direction = kick_after_widening(0, 3)
    kick_after_widening_against_lookup_the_other_way = kick_after_widening(3, 0)
    kick_beside_widening_against_lookup
    split_before_widening_against_lookup
    inserts_into_one_bucket
    insert_then_lookup
    unique_inserts_of_one_item
    removal_beside_widening
    clear_beside_widening
    lookup_of_what_is_stashed
    insert_into_the_stash
    going_back_after_widening_against_lookup
    snapshot_beside_widening
    sweep_beside_widening_and_a_split
    sweep_beside_widening_and_a_removal
    lookup_that_a_flag_orders
}

/// An empty table of two buckets, which become four, and these items.
fn two_buckets<L: GrowingLayout + Layout, const N: usize>(
    buckets: [(usize, usize); N],
) -> (Setup<Growable<L>>, [Item; N]) {
    let mut setup = Setup::growable(2, 4).narrow();
    let items = setup.items(buckets);
    (setup, items)
}

/// Buckets 0 and 1 of four are full, and `x` (0, 1) is of the group of what they hold.
fn full<L: GrowingLayout + Layout>() -> (Setup<Growable<L>>, Item, Item) {
    let mut setup = Setup::growable(4, 4).narrow();
    let low = setup.item(0, 1);
    let x = setup.item_of_group(0, 1, low);
    setup.fill(0, low).fill(1, low);
    (setup, x, low)
}

/// A lookup that began with an old version may read what moved under a new one.
fn split_after_widening<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let (mut setup, [goes]) = two_buckets::<L, 1>([(2, 1)]);
    setup.store(0, &[goes]);
    setup
        .by_every_schedule()
        .thread([widen(), split(1)])
        .thread([contains(order(goes))])
        .check(2600, 2);
}

/// An insert of `new` moves `moved` from bucket 0 to 3.
fn kick_after_widening<L: GrowingLayout + Layout>(first: usize, second: usize) {
    let OneHop { setup, moved, new, .. } = OneHop::<Growable<L>>::new(first, second);
    setup.narrow().thread([widen(), insert(new)]).thread([contains(moved)]).check(1000, 2);
}

/// A writer may get a new stripe as soon as there is one, and a lookup may have begun before.
fn kick_beside_widening_against_lookup<L: GrowingLayout + Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<Growable<L>>::new(3, 0);
    setup.narrow().check_with(290_000, 3, move |model| {
        // loom runs one thread at a time. What begins too early or too late would be explored for nothing.
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

/// What moved under an old version is copied as it is.
fn split_before_widening_against_lookup<L: GrowingLayout + Layout>() {
    let (mut setup, [goes]) = two_buckets::<L, 1>([(2, 1)]);
    setup.store(0, &[goes]);
    setup.thread([split(1), widen()]).thread([contains(goes.swapped())]).check(16_000, 2);
}

/// One of the two may wait for a stripe that is retired. Both are counted.
fn inserts_into_one_bucket<L: GrowingLayout + Layout>() {
    let (mut setup, [x, y, low]) = two_buckets::<L, 3>([(0, 1); 3]);
    setup.fill(1, low);
    setup.thread([widen(), insert(x)]).thread([insert(y)]).check(780, 2);
}

/// A thread finds what it has inserted, wherever the words are.
fn insert_then_lookup<L: GrowingLayout + Layout>() {
    let (setup, [x, y]) = two_buckets::<L, 2>([(0, 1); 2]);
    let setup = setup.thread([widen()]);
    let threads = [x, y].map(|item| [insert(item), contains(item.swapped())]);
    threads.into_iter().fold(setup, Setup::thread).check(110_000, 2);
}

fn unique_inserts_of_one_item<L: GrowingLayout + Layout>() {
    let (setup, [x]) = two_buckets::<L, 1>([(0, 1)]);
    setup
        .thread([widen(), maybe(insert_unique(x))])
        .thread([maybe(insert_unique(x.swapped()))])
        .check(750, 2);
}

fn removal_beside_widening<L: GrowingLayout + Layout>() {
    let (mut setup, [x, y]) = two_buckets::<L, 2>([(0, 1); 2]);
    setup.store(0, &[x, y]);
    setup.thread([widen(), contains(y)]).thread([remove(x), !contains(x)]).check(870, 2);
}

fn clear_beside_widening<L: GrowingLayout + Layout>() {
    let (mut setup, [x, y]) = two_buckets::<L, 2>([(0, 1); 2]);
    setup.store(0, &[x]).store(1, &[y]);
    setup.thread([widen()]).thread([clear(), !contains(x), !contains(y)]).check(2200, 2);
}

/// The new versions know of what is stashed.
fn lookup_of_what_is_stashed<L: GrowingLayout + Layout>() {
    let (mut setup, x, _) = full::<L>();
    setup.stash(&[x]);
    setup.thread([widen()]).thread([contains(x)]).check(2000, 2);
}

fn insert_into_the_stash<L: GrowingLayout + Layout>() {
    let (setup, x, _) = full::<L>();
    setup.thread([widen()]).thread([insert(x), contains(x)]).check(8800, 2);
}

/// A slot is freed, and what is stashed goes there.
fn going_back_after_widening_against_lookup<L: GrowingLayout + Layout>() {
    let (mut setup, x, low) = full::<L>();
    setup.stash(&[x]);
    setup.thread([widen(), remove(low)]).thread([contains(x)]).check(31_000, 2);
}

/// The words stay where they are while a snapshot copies them, and the stripes with their flags.
fn snapshot_beside_widening<L: GrowingLayout + Layout>() {
    let (mut setup, [x, y]) = two_buckets::<L, 2>([(0, 1); 2]);
    setup.store(1, &[x]);
    setup.thread([widen(), insert(y)]).thread([snapshot([x])]).check(1100, 2);
}

/// x1 leaves: it is in a word that is copied, and then split.
fn sweep_beside_widening_and_a_split<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).narrow();
    let x = setup.item(2, 1);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    setup
        .thread([widen(), split(1)])
        .thread([remove_value(x1, 1), !contains_key(x1)])
        .check(9700, 2);
}

/// Either takes x1 out of the table, and the other finds it gone.
fn sweep_beside_widening_and_a_removal<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(2, 4).narrow();
    let x = setup.item(0, 1);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    let sweep = maybe(remove_value(x1, 1));
    setup.thread([widen(), maybe(remove(x1))]).thread([sweep, !contains_key(x1)]).check(1100, 2);
}

/// A lookup that begins after an insert in the order of `SeqCst` accesses finds the item, though nothing else orders
/// them.
fn lookup_that_a_flag_orders<L: GrowingLayout + Layout>() {
    let (setup, [x]) = two_buckets::<L, 1>([(0, 1)]);
    setup.exact_seq_cst().check_with(2300, 3, move |model| {
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
            // loom runs one thread at a time: what the other has seen by now.
            assert!(found || !is_late.load(Relaxed), "the insert was over");
        });
    });
}
