//! Order across classes, and `SeqCst`. Two threads each change one class, then look at the other. In
//! one order of all operations, at least one of the two sees the change of the other thread. The
//! checker says nothing about this, since it checks each class by itself.
//!
//! These models run with `SeqCst` as loom has it, all others with Acquire and Release in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coucal::Layout;
use loom_tests::model::{Item, Setup, Thread};

use crate::OneHop;

models! {
    inserts_then_lookups
    unique_inserts_then_lookups
    kick_and_insert_then_lookups
    removals_then_lookups
    insert_and_removal_then_lookups
    inserts_then_counts
    inserts_then_removals
    removals_then_unique_inserts
    remove_then_insert_unique
}

/// An operation on an item.
type Operation<L> = fn(&mut Thread<L>, Item) -> bool;

/// What one thread does: it applies its operation to its own item, then looks at the item of the
/// other thread.
struct Side<L: Layout> {
    own: Item,
    operation: Operation<L>,
    look: Operation<L>,
    /// The answer of a look that comes before the operation of the other thread.
    missed: bool,
}

fn check<L: Layout>(setup: Setup<L>, floor: usize, sides: [Side<L>; 2]) {
    let sides = Arc::new(sides);
    setup.exact_seq_cst().check(floor, 3, move |model| {
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
    let items = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    (setup, items)
}

fn inserts_then<L: Layout>(insert: Operation<L>, look: Operation<L>, missed: bool) {
    let (setup, items) = apart();
    check(setup, 10, items.map(|own| Side { own, operation: insert, look, missed }));
}

fn inserts_then_lookups<L: Layout>() {
    inserts_then::<L>(Thread::insert, Thread::contains, false);
}

fn unique_inserts_then_lookups<L: Layout>() {
    inserts_then::<L>(Thread::insert_unique, Thread::contains, false);
}

fn inserts_then_counts<L: Layout>() {
    inserts_then::<L>(Thread::insert, |t, item| t.count(item) > 0, false);
}

/// A removal that says "there is none" is a look, too.
fn inserts_then_removals<L: Layout>() {
    inserts_then::<L>(Thread::insert, Thread::remove, false);
}

/// The insert moves another item out of its way.
fn kick_and_insert_then_lookups<L: Layout>() {
    let OneHop { mut setup, new, .. } = OneHop::<L>::new(0, 3);
    let other = setup.item(2, 3);
    let side = |own| Side { own, operation: Thread::insert, look: Thread::contains, missed: false };
    check(setup, 10, [side(new), side(other)]);
}

fn removals_then_lookups<L: Layout>() {
    let (mut setup, items) = apart::<L>();
    setup.store(0, &items[..1]).store(2, &items[1..]);
    let side = |own| Side { own, operation: Thread::remove, look: Thread::contains, missed: true };
    check(setup, 10, items.map(side));
}

/// One thread looks for what the other inserts, which looks for what the first removes.
fn insert_and_removal_then_lookups<L: Layout>() {
    let (mut setup, [inserted, removed]) = apart::<L>();
    setup.store(2, &[removed]);
    let look = Thread::contains;
    check(
        setup,
        10,
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
    check(setup, 10, items.map(side));
}

/// One copy in each bucket of one class. Each thread removes one, then stores the item unless it is
/// there. After both removals there is none, so one of the two stores it, as the checker knows.
fn remove_then_insert_unique<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let x = setup.item(0, 1);
    setup.store(0, &[x]).store(1, &[x]);
    setup.exact_seq_cst().check(40, 2, move |model| {
        for x in [x, x.swapped()] {
            model.thread(move |t| {
                assert!(t.remove(x));
                t.insert_unique(x);
            });
        }
    });
}
