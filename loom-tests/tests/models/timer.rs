//! The timer: inserts that find generations due, beside threads that end them, by the time of the model.
//!
//! The period is 10, and the first generation begins at 0. The threads themselves let the time pass, to the latest
//! time at which a rule could be broken, right before they look at it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coucal::Layout;
use coucal::probe::{self, Expiring, PERIOD, pass_until};
use loom_tests::model::{Item, Setup, Thread};

models_of_three! {
    insert_beside_an_advance = insert_beside_advances::<L>(2, 85_000, 3);
    insert_beside_advances_of_three = insert_beside_advances::<L>(3, 8700, 2);
    insert_beside_a_long_advance
    insert_beside_an_advance_as_time_passes
    insert_where_two_generations_are_due
    two_inserts_that_find_one_due = two_inserts_that_find_due::<L>(1);
    two_inserts_that_find_two_due = two_inserts_that_find_due::<L>(2);
    copy_beside_an_advance
}

/// The time of the insert of an item.
#[derive(Default)]
struct Called(AtomicU64);

impl Called {
    fn insert<L: Layout>(&self, thread: &mut Thread<Expiring<L>>, item: Item) {
        // A thread of a model reads this, and the others need not know it: the store orders nothing.
        self.0.store(probe::time(), Ordering::Relaxed);
        thread.remember(item);
    }

    /// Checks, at the end, that the item is remembered for at least one period less than there are generations.
    fn is_kept<L: Layout>(&self, thread: &Thread<Expiring<L>>, item: Item, generations: u32) {
        let (called, now) = (self.0.load(Ordering::Relaxed), probe::time());
        let is_young = now < called + u64::from(generations - 1) * PERIOD;
        assert!(!is_young || thread.is_remembered(item), "of {called}, and forgotten by {now}");
    }
}

fn one_item<L: Layout>(generations: u32) -> (Setup<Expiring<L>>, Item) {
    let mut setup = Setup::new(2);
    let x = setup.item(0, 1);
    (setup.generations(generations), x)
}

/// The insert finds a generation due late in the next period, goes on beside the thread that ends it, and may store the
/// stamp of the generation before. So the next generation begins at the end of the advance, and does not end one period
/// after it was due. The second advance is of all the other generations that would be due then.
fn insert_beside_advances<L: Layout>(generations: u32, floor: usize, preemptions: usize) {
    let (setup, x) = one_item::<L>(generations);
    setup.check_asserted(floor, preemptions, move |model| {
        let called = Arc::new(Called::default());
        pass_until(10);
        model.thread(move |t| {
            t.advance_if_due();
            pass_until(u64::from(generations) * PERIOD);
            t.advance_if_due();
        });
        let of_x = Arc::clone(&called);
        model.thread(move |t| {
            pass_until(19);
            of_x.insert(t, x);
        });
        move |t| called.is_kept(t, x, generations)
    });
}

/// The insert is called when several periods have passed since the advance has begun, and goes on all the same. The
/// next generation counts from the end of the advance; otherwise the next advance would forget the item with all
/// others.
fn insert_beside_a_long_advance<L: Layout>() {
    let (setup, x) = one_item::<L>(2);
    setup.check_asserted(30_000, 3, move |model| {
        let called = Arc::new(Called::default());
        pass_until(10);
        model.thread(|t| {
            t.advance_if_due();
            pass_until(44);
            t.advance_if_due();
        });
        let of_x = Arc::clone(&called);
        model.thread(move |t| {
            pass_until(35);
            of_x.insert(t, x);
        });
        move |t| called.is_kept(t, x, 2)
    });
}

/// The same at any time.
fn insert_beside_an_advance_as_time_passes<L: Layout>() {
    let (setup, x) = one_item::<L>(2);
    setup.check_asserted(17_000, 1, move |model| {
        let called = Arc::new(Called::default());
        pass_until(10);
        model.thread(|_| [19, 20].into_iter().for_each(pass_until));
        model.thread(|t| {
            t.advance_if_due();
            t.advance_if_due();
        });
        let of_x = Arc::clone(&called);
        model.thread(move |t| of_x.insert(t, x));
        move |t| called.is_kept(t, x, 2)
    });
}

/// For the insert one generation is due, and for the advancing thread two: the entry of the insert would be cleared.
fn insert_where_two_generations_are_due<L: Layout>() {
    let (setup, x) = one_item::<L>(2);
    setup.check_asserted(5600, 3, move |model| {
        let called = Arc::new(Called::default());
        pass_until(19);
        model.thread(|t| {
            pass_until(20);
            t.advance_if_due();
        });
        let of_x = Arc::clone(&called);
        model.thread(move |t| of_x.insert(t, x));
        move |t| {
            called.is_kept(t, x, 2);
            // If the insert ends its one generation, the other thread goes on beside it.
            assert!((1..=2).contains(&t.generation()));
        }
    });
}

/// One of the two ends the generations that are due, and no other: old items are forgotten, and young ones are not.
fn two_inserts_that_find_due<L: Layout>(due: u64) {
    let mut setup = Setup::<Expiring<L>>::new(2);
    let [x, old, young] = setup.items([(0, 1); 3]);
    // Of 4 generations, the advances forget the stamps up to this one, and leave the next one.
    let (stamped_old, stamped_young) =
        (setup.with_value(old, due as u32), setup.with_value(young, due as u32 + 1));
    setup.store(0, &[stamped_old, stamped_young]);
    setup.generations(4).by_every_schedule().check_asserted(5000, 3, move |model| {
        pass_until(due * PERIOD);
        for item in [x, x.swapped()] {
            model.thread(move |t| {
                t.remember(item);
                assert!(t.is_remembered(item));
            });
        }
        move |t| {
            assert_eq!(t.generation(), due);
            assert_eq!([x, old, young].map(|item| t.is_remembered(item)), [true, false, true]);
        }
    });
}

/// A clone has the generation that ends or the next one, and its time. With the time of the one before, it would end
/// the next one at once, and forget an item too early.
fn copy_beside_an_advance<L: Layout>() {
    let (mut setup, x) = one_item::<L>(3);
    // Inserted in the generation before the first one: the second advance would forget it.
    let stamped = setup.with_value(x, 2);
    setup.store(0, &[stamped]);
    setup.check_asserted(340, 2, move |model| {
        pass_until(10);
        model.thread(|t| t.advance_if_due());
        model.thread(move |t| assert!(t.is_remembered_by_a_copy(x)));
        |t| assert_eq!(t.generation(), 1)
    });
}
