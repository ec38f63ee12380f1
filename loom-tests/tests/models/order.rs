//! Order across classes, and `SeqCst`. Two threads each change one class, then look at the other. In
//! one order of all operations, at least one of the two sees the change of the other thread. The
//! checker says nothing about this, since it checks each class by itself.
//!
//! These models run with `SeqCst` as loom has it, all others with Acquire and Release in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::probe::Maplet;
use coucal::{Growable, GrowingLayout, Layout, Storage};
use loom_tests::model::*;

use crate::expiry::OneKick;
use crate::{OneHop, one_item};

models! {
    inserts_then_lookups = inserts_then(Thread::insert, Thread::contains, false)
    unique_inserts_then_lookups = inserts_then(Thread::insert_unique, Thread::contains, false)
    kick_and_insert_then_lookups
    removals_then_lookups
    insert_and_removal_then_lookups
    inserts_then_counts = inserts_then(Thread::insert, |t, item| t.count(item) > 0, false)
    // A removal that says "there is none" is a look, too.
    inserts_then_removals = inserts_then(Thread::insert, Thread::remove, false)
    removals_then_unique_inserts
    remove_then_insert_unique
    stashed_inserts_then_lookups = stashed_inserts_then(Thread::contains)
    stashed_inserts_then_counts = stashed_inserts_then(|t, item| t.count(item) > 0)
    stashed_inserts_then_removals = stashed_inserts_then(Thread::remove)
    stashed_insert_and_insert_then_lookups
    stashed_removals_then_lookups
    stashed_removals_beside_others_then_lookups
    stashed_removal_and_insert_then_lookups
}

models_of_three! {
    kick_that_drops_and_insert_then_lookups
    advance_and_insert_then_lookups
}

growing_models! {
    insert_and_split_with_insert_then_lookups = insert_and_split_with_insert_then(Thread::contains)
    insert_and_split_with_insert_then_counts = insert_and_split_with_insert_then(|t, item| t.count(item) > 0)
    insert_and_split_with_insert_then_removals = insert_and_split_with_insert_then(Thread::remove)
    removal_and_split_with_removal_then_lookups
    inserts_beside_a_split_then_lookups
    split_that_drops_and_insert_then_lookups
}

/// An operation on an item.
type Operation<M> = fn(&mut Thread<M>, Item) -> bool;

/// What one thread does: it applies its operation to its own item, then looks at the item of the
/// other thread.
struct Side<M: Storage + 'static> {
    own: Item,
    operation: Operation<M>,
    look: Operation<M>,
    /// The answer of a look that comes before the operation of the other thread.
    missed: bool,
}

fn check<M: Storage + 'static>(setup: Setup<M>, floor: usize, sides: [Side<M>; 2]) {
    check_beside(setup, floor, 3, sides, |_| {});
}

/// The same beside other threads.
fn check_beside<M: Storage + 'static>(
    setup: Setup<M>,
    floor: usize,
    preemptions: usize,
    sides: [Side<M>; 2],
    others: impl Fn(&mut Model<M>) + Send + Sync + 'static,
) {
    let sides = Arc::new(sides);
    setup.exact_seq_cst().check_with(floor, preemptions, move |model| {
        others(model);
        let missed = Arc::new(AtomicUsize::new(0));
        for (own, other) in [(0, 1), (1, 0)] {
            let (sides, missed) = (Arc::clone(&sides), Arc::clone(&missed));
            model.thread(move |t| {
                let side = &sides[own];
                assert!((side.operation)(t, side.own));
                // One of the two reads the bucket with the item first, the other reads it second.
                let item = sides[other].own;
                let answer = (side.look)(t, if own == 0 { item } else { item.swapped() });
                let before =
                    missed.fetch_add(usize::from(answer == side.missed), Ordering::Relaxed);
                assert!(
                    before == 0 || answer != side.missed,
                    "neither look saw the other operation"
                );
            });
        }
    });
}

/// Two items that share no bucket.
fn apart<L: Layout>() -> (Setup<L>, [Item; 2]) {
    let mut setup = Setup::new(4);
    let items = setup.items([(0, 1), (2, 3)]);
    (setup, items)
}

fn inserts_then<L: Layout>(insert: Operation<L>, look: Operation<L>, missed: bool) {
    let (setup, items) = apart();
    check(setup, 20, items.map(|own| Side { own, operation: insert, look, missed }));
}

/// The insert moves another item out of its way.
fn kick_and_insert_then_lookups<L: Layout>() {
    let OneHop { mut setup, new, .. } = OneHop::<L>::new(0, 3);
    let other = setup.item(2, 3);
    let side = |own| Side { own, operation: Thread::insert, look: Thread::contains, missed: false };
    check(setup, 70, [side(new), side(other)]);
}

/// What a thread does where nothing is recorded; says whether it then missed what the other thread does.
type Part<M> = fn(&mut Thread<Maplet<M>>, [Item; 2]) -> bool;

fn check_parts<M: Storage + 'static>(
    setup: Setup<Maplet<M>>,
    floor: usize,
    parts: [Part<M>; 2],
    items: [Item; 2],
) {
    setup.exact_seq_cst().check_asserted(floor, 3, move |model| {
        let missed = Arc::new(AtomicUsize::new(0));
        for part in parts {
            let missed = Arc::clone(&missed);
            model.thread(move |t| {
                missed.fetch_add(usize::from(part(t, items)), Ordering::Relaxed);
            });
        }
        move |_| assert!(missed.load(Ordering::Relaxed) < 2, "neither look saw the other operation")
    });
}

/// The insert drops a value that leaves, in place of moving it: it takes effect with the same store.
fn kick_that_drops_and_insert_then_lookups<L: Layout>() {
    let OneKick { mut setup, new, .. } = OneKick::<L>::up();
    let other = setup.item(2, 3);
    let kick: Part<L> = |t, [new, other]| {
        t.retire(1);
        t.add(new);
        !t.is_remembered(other)
    };
    let insert: Part<L> = |t, [new, other]| {
        t.add(other);
        !t.is_remembered(new.swapped())
    };
    check_parts(setup, 70, [kick, insert], [new, other]);
}

/// One thread ends a generation, and looks for what the other inserts, which looks for what was forgotten.
fn advance_and_insert_then_lookups<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let [x, other] = setup.items([(0, 1), (2, 3)]);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    let advance: Part<L> = |t, [_, other]| {
        t.advance();
        !t.is_remembered(other)
    };
    let insert: Part<L> = |t, [x1, other]| {
        t.add(other);
        t.is_remembered(x1.swapped())
    };
    check_parts(setup.generations(4), 880, [advance, insert], [x1, other]);
}

fn removals_then_lookups<L: Layout>() {
    let (mut setup, items) = apart::<L>();
    setup.store(0, &items[..1]).store(2, &items[1..]);
    let side = |own| Side { own, operation: Thread::remove, look: Thread::contains, missed: true };
    check(setup, 20, items.map(side));
}

/// One thread looks for what the other inserts, which looks for what the first removes.
fn insert_and_removal_then_lookups<L: Layout>() {
    let (mut setup, [inserted, removed]) = apart::<L>();
    setup.store(2, &[removed]);
    let look = Thread::contains;
    check(
        setup,
        20,
        [
            Side { own: inserted, operation: Thread::insert, look, missed: true },
            Side { own: removed, operation: Thread::remove, look, missed: false },
        ],
    );
}

/// An insert that says "it was there" is a look for what may have been removed.
fn removals_then_unique_inserts<L: Layout>() {
    let (mut setup, items) = apart::<L>();
    setup.store(0, &items[..1]).store(2, &items[1..]);
    let side =
        |own| Side { own, operation: Thread::remove, look: Thread::insert_unique, missed: false };
    check(setup, 40, items.map(side));
}

/// One copy in each bucket of one class. Each thread removes one, then stores the item unless it is
/// there. After both removals there is none, so one of the two stores it, as the checker knows.
fn remove_then_insert_unique<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0, 1]);
    setup
        .exact_seq_cst()
        .thread([remove(x), maybe(insert_unique(x))])
        .thread([remove(x.swapped()), maybe(insert_unique(x.swapped()))])
        .check(54, 2);
}

/// As `apart`, of two items whose buckets are full. There are six buckets, so that the table is not.
fn apart_and_full<L: Layout>() -> (Setup<L>, [Item; 2]) {
    let mut setup = Setup::new(6);
    let items = setup.items([(0, 1), (2, 3)]);
    let [low, high] = setup.items([(0, 1), (2, 3)]);
    setup.fill(0, low).fill(1, low).fill(2, high).fill(3, high);
    (setup, items)
}

fn stashed_inserts_then<L: Layout>(look: Operation<L>) {
    let (setup, items) = apart_and_full();
    let side = |own| Side { own, operation: Thread::insert, look, missed: false };
    check_beside(setup, 830, 2, items.map(side), |_| {});
}

/// One goes to a bucket, the other to the stash.
fn stashed_insert_and_insert_then_lookups<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y, low] = setup.items([(0, 1), (2, 3), (0, 1)]);
    setup.fill(0, low).fill(1, low);
    let side = |own| Side { own, operation: Thread::insert, look: Thread::contains, missed: false };
    check_beside(setup, 50, 2, [x, y].map(side), |_| {});
}

fn stashed_removals_then_lookups<L: Layout>() {
    let (mut setup, items) = apart::<L>();
    setup.stash(&items);
    let side = |own| Side { own, operation: Thread::remove, look: Thread::contains, missed: true };
    check_beside(setup, 70, 2, items.map(side), |_| {});
}

/// Something else of each group stays in the stash: so lookups go on to look there.
fn stashed_removals_beside_others_then_lookups<L: Layout>() {
    let (mut setup, items) = apart::<L>();
    let others = [setup.item_of_group(0, 1, items[0]), setup.item_of_group(2, 3, items[1])];
    setup.stash(&items).stash(&others);
    let side = |own| Side { own, operation: Thread::remove, look: Thread::contains, missed: true };
    check_beside(setup, 110, 2, items.map(side), |_| {});
}

/// One thread looks for what the other inserts, which looks for what the first takes out of the stash.
fn stashed_removal_and_insert_then_lookups<L: Layout>() {
    let (mut setup, [inserted, removed]) = apart::<L>();
    setup.stash(&[removed]);
    let look = Thread::contains;
    let sides = [
        Side { own: inserted, operation: Thread::insert, look, missed: true },
        Side { own: removed, operation: Thread::remove, look, missed: false },
    ];
    check_beside(setup, 30, 2, sides, |_| {});
}

/// Four buckets at first; the first item stays in 2, the second goes from 0 to 4.
fn apart_in_growing<L: GrowingLayout + Layout>() -> (Setup<Growable<L>>, [Item; 2]) {
    let mut setup = Setup::growable(4, 8);
    let items = setup.items([(2, 3), (4, 1)]);
    (setup, items)
}

/// One thread splits bucket 0 and inserts an item that goes into the new bucket. If the other thread looks into the old
/// one, its look comes first, and so does its insert.
fn insert_and_split_with_insert_then<L: GrowingLayout + Layout>(look: Operation<Growable<L>>) {
    let (setup, items) = apart_in_growing::<L>();
    let insert = Thread::insert;
    let split_and_insert: Operation<Growable<L>> = |t, item| {
        assert_eq!(t.split(1), 1);
        t.insert(item)
    };
    check(
        setup,
        2000,
        [
            Side { own: items[0], operation: insert, look, missed: false },
            Side { own: items[1], operation: split_and_insert, look, missed: false },
        ],
    );
}

/// It removes an item from the new bucket.
fn removal_and_split_with_removal_then_lookups<L: GrowingLayout + Layout>() {
    let (mut setup, items) = apart_in_growing::<L>();
    setup.store(2, &items[..1]).store(0, &items[1..]);
    let split_and_remove: Operation<Growable<L>> = |t, item| {
        assert_eq!(t.split(1), 1);
        t.remove(item)
    };
    let look = Thread::contains;
    check(
        setup,
        5400,
        [
            Side { own: items[0], operation: Thread::remove, look, missed: true },
            Side { own: items[1], operation: split_and_remove, look, missed: true },
        ],
    );
}

/// A third thread splits the bucket.
fn inserts_beside_a_split_then_lookups<L: GrowingLayout + Layout>() {
    let (setup, items) = apart_in_growing::<L>();
    let (insert, look) = (Thread::insert, Thread::contains);
    let sides = items.map(|own| Side { own, operation: insert, look, missed: false });
    check_beside(setup, 44_000, 2, sides, |model| {
        model.thread(|t| assert_eq!(t.split(1), 1));
    });
}

/// The split drops a value that leaves.
fn split_that_drops_and_insert_then_lookups<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Maplet<Growable<L>>>::growable(4, 8);
    let [x, other] = setup.items([(0, 1), (2, 3)]);
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1]);
    let split: Part<Growable<L>> = |t, [_, other]| {
        t.retire(1);
        assert_eq!(t.split(1), 1);
        !t.is_remembered(other)
    };
    let insert: Part<Growable<L>> = |t, [x1, other]| {
        t.add(other);
        t.is_remembered(x1.swapped())
    };
    check_parts(setup, 8600, [split, insert], [x1, other]);
}
