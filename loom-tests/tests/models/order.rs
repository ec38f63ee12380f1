//! Order across classes, and `SeqCst`. Two threads each change one class, and then look at the other one. In one order
//! of all operations, at least one of the two threads sees the change of the other. The checker says nothing about
//! this, since it checks each class by itself.
//!
//! These models, and those of flags in `widening`, run with `SeqCst` as loom has it; all others run with Acquire and
//! Release in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{Maplets, With, adding, items, one_hop, one_item, storing};

models! {
    inserts_then_lookups =
        check(apart::<L>(), 20, 3, [(Thread::insert, Thread::contains, false); 2]);
    inserts_if_absent_then_lookups =
        check(apart::<L>(), 20, 3, [(Thread::insert_if_absent, Thread::contains, false); 2]);
    // The insert moves another item out of its way.
    kick_and_insert_then_lookups = check(
        adding(one_hop::<L>(0, 3), |s, [_, new, _]| [new, s.item(2, 3)]),
        70, 3, [(Thread::insert, Thread::contains, false); 2],
    );
    removals_then_lookups =
        check(apart_and_there::<L>(), 20, 3, [(Thread::remove, Thread::contains, true); 2]);
    // One thread looks for the item that the other inserts; the other looks for the item that the first one removes.
    insert_and_removal_then_lookups = check(
        storing(apart::<L>(), |s, [_, removed]| s.store(2, &[removed])),
        20, 3,
        [(Thread::insert, Thread::contains, true), (Thread::remove, Thread::contains, false)],
    );
    inserts_then_counts =
        check(apart::<L>(), 20, 3, [(Thread::insert, counts, false); 2]);
    // A removal that answers "there is none" is a look, too.
    inserts_then_removals =
        check(apart::<L>(), 20, 3, [(Thread::insert, Thread::remove, false); 2]);
    // An insert that answers "it was there" is a look for an item that may have been removed.
    removals_then_inserts_if_absent =
        check(apart_and_there::<L>(), 40, 3, [(Thread::remove, Thread::insert_if_absent, false); 2]);
    // There is one copy in each bucket of one class. Each thread removes one, then stores the item unless it is there.
    // After both removals there is none, so one of the two stores it, as the checker knows.
    remove_then_insert_if_absent: [x] = one_item::<L, 2>([0, 1])
        => [remove(x), maybe(insert_if_absent(x))]
        || [remove(x.swapped()), maybe(insert_if_absent(x.swapped()))], 54, 2, exact_seq_cst;
    stashed_inserts_then_lookups =
        check(apart_and_full::<L>(), 830, 2, [(Thread::insert, Thread::contains, false); 2]);
    stashed_inserts_then_counts =
        check(apart_and_full::<L>(), 830, 2, [(Thread::insert, counts, false); 2]);
    stashed_inserts_then_removals =
        check(apart_and_full::<L>(), 830, 2, [(Thread::insert, Thread::remove, false); 2]);
    // One item goes to a bucket, the other to the stash.
    stashed_insert_and_insert_then_lookups =
        check(apart_and_one_full::<L>(), 50, 2, [(Thread::insert, Thread::contains, false); 2]);
    stashed_removals_then_lookups =
        check(apart_and_stashed::<L>(), 70, 2, [(Thread::remove, Thread::contains, true); 2]);
    // Something else of each group stays in the stash, so lookups continue to look there.
    stashed_removals_beside_others_then_lookups = check(
        adding(apart_and_stashed::<L>(), |s, items| {
            let others = [s.item_of_group(0, 1, items[0]), s.item_of_group(2, 3, items[1])];
            s.stash(&others);
            items
        }),
        110, 2, [(Thread::remove, Thread::contains, true); 2],
    );
    // One thread looks for the item that the other inserts; the other looks for the item that the first one takes out
    // of the stash.
    stashed_removal_and_insert_then_lookups = check(
        storing(apart::<L>(), |s, [_, removed]| s.stash(&[removed])),
        30, 2,
        [(Thread::insert, Thread::contains, true), (Thread::remove, Thread::contains, false)],
    );
    // Something else of the group stays in the stash.
    stashed_removal_beside_another_and_insert_then_lookups = check(
        adding(apart::<L>(), |s, [inserted, removed]| {
            let other = s.item_of_group(2, 3, removed);
            s.stash(&[removed, other]);
            [inserted, removed]
        }),
        30, 2,
        [(Thread::insert, Thread::contains, true), (Thread::remove, Thread::contains, false)],
    );
    // One item goes to the stash. A thread that finds it there misses the other item. The thread that inserts the other
    // item looks for the stashed one after that, and finds it. Something of the group is in the stash before, so
    // lookups that begin before the insert look there, too. First it is an item with another flag.
    flag_that_a_lookup_has_seen = check_found_in_the_stash(
        adding(apart_and_one_full::<L>(), |s, items| {
            let other = s.item_of_group(2, 3, items[0]);
            s.stash(&[other]);
            items
        }),
        880,
    );
    // An item with the same flag and other marks.
    marks_that_a_lookup_has_seen = check_found_in_the_stash(
        adding(apart_and_one_full::<L>(), |s, items| {
            let other = s.item_of_core(2, items[0]);
            s.stash(&[other]);
            items
        }),
        950,
    );
    // The insert doubles the lines.
    lines_that_a_lookup_has_seen = check_found_in_the_stash(
        adding(apart_and_one_full::<L>(), |s, items| {
            let others = [(); 2].map(|()| s.item_of_group(2, 3, items[0]));
            let of_core = s.item_of_core(2, items[0]);
            s.stash(&others).stash(&[of_core]);
            items
        }),
        950,
    );
}

models_of_three! {
    // One thread ends a generation, and looks for the item that the other inserts; the other looks for the item that
    // was forgotten.
    advance_and_insert_then_lookups = check_unrecorded(
        leaves_and_other(Maplets::<L>::new(4).generations(4)), 480,
        [(|t, _| t.advance() == 1, Thread::contains, false),
            (Thread::insert, Thread::contains, true)],
    );
}

growing_models! {
    // One thread splits bucket 0 and inserts an item that goes into the new bucket. If the other thread looks into the
    // old one, its look comes first, and so does its insert.
    insert_and_split_with_insert_then_lookups =
        insert_and_split_with_insert_then::<L>(Thread::contains);
    insert_and_split_with_insert_then_counts = insert_and_split_with_insert_then::<L>(counts);
    insert_and_split_with_insert_then_removals =
        insert_and_split_with_insert_then::<L>(Thread::remove);
    // It removes an item from the new bucket.
    removal_and_split_with_removal_then_lookups = check(
        storing(apart_in_growing::<L>(), |s, [x, y]| s.store(2, &[x]).store(0, &[y])), 5400, 3,
        [(Thread::remove, Thread::contains, true),
            (|t, item| t.split(1) == 1 && t.remove(item), Thread::contains, true)],
    );
    // A third thread splits the bucket.
    inserts_beside_a_split_then_lookups = check_beside(
        apart_in_growing::<L>(), 44_000, 2, [(Thread::insert, Thread::contains, false); 2],
        |model| model.thread(|t| assert_eq!(t.split(1), 1)),
    );
    // The removal is over before the insert begins, by the flag alone, and the words have been replaced meanwhile.
    removal_beside_widening_then_insert_if_absent
}

/// An operation on an item.
type Operation<M> = fn(&mut Thread<M>, Item) -> bool;

/// The work of one thread: its operation on its own item, its look at the item of the other thread, and the answer of a
/// look that comes before the operation of the other thread.
type Side<M> = (Operation<M>, Operation<M>, bool);

/// Checks the order of two threads. The sides are those of the first item and of the second.
fn check<M: Subject>(prepared: With<M, 2>, floor: usize, preemptions: usize, sides: [Side<M>; 2]) {
    check_beside(prepared, floor, preemptions, sides, |_| {});
}

/// The same beside other threads.
fn check_beside<M: Subject>(
    (setup, items): With<M, 2>,
    floor: usize,
    preemptions: usize,
    sides: [Side<M>; 2],
    others: fn(&mut Model<M>),
) {
    setup.exact_seq_cst().check_with(floor, preemptions, move |model| {
        others(model);
        add_sides(model, items, sides);
    });
}

/// The same for operations that are not recorded.
fn check_unrecorded<M: IntoStorage>(
    (setup, items): With<Maplet<M>, 2>,
    floor: usize,
    sides: [Side<Maplet<M>>; 2],
) {
    setup.exact_seq_cst().check_asserted(floor, 3, move |model| {
        add_sides(model, items, sides);
        |_| ()
    });
}

fn add_sides<M: Subject>(model: &mut Model<M>, [x, y]: [Item; 2], sides: [Side<M>; 2]) {
    let missed = Arc::new(AtomicUsize::new(0));
    // One of the two threads reads the bucket with the item first, the other one reads it second.
    for ((own, other), (operation, look, of_missed)) in
        [(x, y), (y, x.swapped())].into_iter().zip(sides)
    {
        let missed = Arc::clone(&missed);
        model.thread(move |t| {
            assert!(operation(t, own));
            let has_missed = look(t, other) == of_missed;
            let before = missed.fetch_add(has_missed.into(), Ordering::Relaxed);
            assert!(before == 0 || !has_missed, "neither look saw the other operation");
        });
    }
}

fn counts<M: Subject>(thread: &mut Thread<M>, item: Item) -> bool {
    thread.count(item) > 0
}

/// Two items that share no bucket.
fn apart<L: Layout>() -> With<L, 2> {
    items(Setup::new(4), [(0, 1), (2, 3)])
}

fn apart_and_there<L: Layout>() -> With<L, 2> {
    storing(apart(), |s, [x, y]| s.store(0, &[x]).store(2, &[y]))
}

fn apart_and_stashed<L: Layout>() -> With<L, 2> {
    storing(apart(), |s, items| s.stash(&items))
}

/// As `apart`, and the buckets of the first item are full.
fn apart_and_one_full<L: Layout>() -> With<L, 2> {
    adding(apart(), |s, items| {
        let low = s.item(0, 1);
        s.fill(0, low).fill(1, low);
        items
    })
}

/// As `apart`, with two items whose buckets are full. There are six buckets, so that the table is not full.
fn apart_and_full<L: Layout>() -> With<L, 2> {
    adding(items(Setup::new(6), [(0, 1), (2, 3)]), |s, items| {
        let [low, high] = s.items([(0, 1), (2, 3)]);
        s.fill(0, low).fill(1, low).fill(2, high).fill(3, high);
        items
    })
}

/// x1 (2, 3), whose value is removed, and an item that is not there. The sweep has left the stripes of this item when
/// it removes x1: so no stripe orders the two.
fn leaves_and_other<M: IntoStorage>(setup: Setup<Maplet<M>>) -> With<Maplet<M>, 2> {
    adding(items(setup, [(2, 3), (0, 1)]), |s, [x, other]| {
        let x1 = s.with_value(x, 1);
        s.store(2, &[x1]);
        [x1, other]
    })
}

/// Four buckets at first. The first item stays in 2, and the second goes from 0 to 4.
fn apart_in_growing<L: GrowingLayout + Layout>() -> With<Growable<L>, 2> {
    items(Setup::growable(4, 8), [(2, 3), (4, 1)])
}

fn insert_and_split_with_insert_then<L: GrowingLayout + Layout>(look: Operation<Growable<L>>) {
    let split_and_insert: Operation<Growable<L>> = |t, item| t.split(1) == 1 && t.insert(item);
    let sides = [(Thread::insert as Operation<_>, look, false), (split_and_insert, look, false)];
    check(apart_in_growing::<L>(), 2000, 3, sides);
}

/// Checks that the lookup of an item which goes to the stash comes after what another thread has found and missed.
fn check_found_in_the_stash<M: Subject>((setup, [x, y]): With<M, 2>, floor: usize) {
    setup.exact_seq_cst().check_with(floor, 1, move |model| {
        let orders = Arc::new(AtomicUsize::new(0));
        let others = Arc::clone(&orders);
        let see = |orders: &AtomicUsize, is_first: bool| {
            let before = orders.fetch_add(is_first.into(), Ordering::Relaxed);
            assert!(before == 0 || !is_first, "each insert came before the other one");
        };
        model.thread(move |t| assert!(t.insert(x)));
        model.thread(move |t| see(&orders, t.contains(x) && !t.contains(y)));
        model.thread(move |t| {
            assert!(t.insert(y));
            see(&others, !t.contains(x));
        });
    });
}

/// An `insert_if_absent` that answers "it was there" has looked at the words alone, without a version: they must be the
/// newest.
fn removal_beside_widening_then_insert_if_absent<L: GrowingLayout + Layout>() {
    let setup = Setup::<Growable<L>>::growable(2, 4).narrow();
    let (setup, [x]) = storing(items(setup, [(0, 1)]), |s, items| s.store(0, &items));
    setup.exact_seq_cst().check_with(190, 3, move |model| {
        let flag = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        // loom lets a `SeqCst` load read a value that was not stored, whatever was stored since.
        flag.store(false, Ordering::SeqCst);
        // An atomic of the standard library, not of loom, which runs one thread at a time.
        let is_over = Arc::new(AtomicBool::new(false));
        let (set, was_over) = (Arc::clone(&flag), Arc::clone(&is_over));
        model.thread(move |t| {
            t.widen();
            assert!(t.remove(x));
            is_over.store(!flag.load(Ordering::SeqCst), Ordering::Relaxed);
        });
        model.thread(move |t| {
            set.store(true, Ordering::SeqCst);
            let is_new = t.insert_if_absent(x);
            assert!(is_new || !was_over.load(Ordering::Relaxed), "the removal was over");
        });
    });
}
