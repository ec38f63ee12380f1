//! `count`, `clear`, `len` and the batches: each against what it promises.

use coucal::Layout;
use loom_tests::model::{Setup, Thread};

use crate::{LastSlot, OneHop, TwoHops};

models! {
    count_against_kick
    count_of_what_is_kicked
    count_against_insert_and_removal
    clear_against_lookups
    clear_against_insert_and_removal
    clear_against_kick
    len_against_a_kick_of_two_hops
    batch_of_inserts_against_lookups
    batch_of_inserts_in_order
    two_batches_of_the_same_new_items
    batch_of_unique_inserts_against_kick
    batch_of_lookups_against_kick
    batch_of_removals_against_kick
    batch_of_removals_in_order
}

/// Two copies of one item, one of which is kicked: the count is always two.
fn count_against_kick<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [moved, new, filler] = [(3, 0), (0, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[moved]).fill(0, filler).fill(1, filler).store(3, &[moved]);
    setup.check(180, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert_eq!(t.count(moved), 2));
    });
}

fn count_of_what_is_kicked<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup.check(180, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| assert_eq!(t.count(moved), 1));
    });
}

fn count_against_insert_and_removal<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let x = setup.item(0, 1);
    setup.store(0, &[x]);
    let swapped = x.swapped();
    setup.check(210, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            assert!(t.remove(x));
        });
        model.thread(move |t| {
            t.count(swapped);
        });
    });
}

/// `clear` stores bucket by bucket. For each item it is still one atomic step.
fn clear_against_lookups<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let x = setup.item(0, 1);
    setup.store(0, &[x]);
    let swapped = x.swapped();
    setup.check(2000, 3, move |model| {
        model.thread(move |t| {
            assert!(t.insert(x));
            t.clear();
        });
        model.thread(move |t| {
            t.contains(swapped);
            t.contains(swapped);
        });
    });
}

fn clear_against_insert_and_removal<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y] = [(0, 1), (1, 0)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[x, y]).store(1, &[x]);
    setup.check(16_000, 2, move |model| {
        model.thread(Thread::clear);
        model.thread(move |t| {
            assert!(t.insert(x));
            t.contains(x);
        });
        model.thread(move |t| {
            t.remove(y);
            t.count(x);
        });
    });
}

fn clear_against_kick<L: Layout>() {
    let LastSlot { setup, moved, new, .. } = LastSlot::<L>::new(3, 0);
    setup.check(6400, 1, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            t.clear();
            assert!(!t.contains(moved));
        });
        model.thread(move |t| {
            t.contains(moved);
            t.contains(moved);
        });
    });
}

/// `len` takes no lock and may be off by one for each item that is moved meanwhile: one too many if
/// it counts the item in both buckets, one too few if in neither.
fn len_against_a_kick_of_two_hops<L: Layout>() {
    let TwoHops { setup, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    setup.check(150, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            let len = t.filter().len();
            assert!((3 * L::SLOTS).abs_diff(len) <= 1, "{len}");
        });
    });
}

/// The items are stored one by one, in order: a thread that sees the second sees the first.
fn batch_of_inserts_against_lookups<L: Layout>() {
    let LastSlot { mut setup, moved, new, .. } = LastSlot::<L>::new(3, 0);
    let last = setup.item(2, 1);
    setup.check(270, 3, move |model| {
        model.thread(move |t| {
            t.insert_many(&[new, last]);
        });
        model.thread(move |t| {
            t.contains(last);
            assert!(t.contains(moved));
        });
    });
}

fn batch_of_inserts_in_order<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    setup.check(17, 3, move |model| {
        model.thread(move |t| assert_eq!(t.insert_many(&[x, y]), 2));
        model.thread(move |t| {
            if t.contains(y) {
                assert!(t.contains(x), "the second is stored, so the first is");
            }
        });
    });
}

/// Each item is new in one of them, as the checker knows. One of the batches names an item twice.
fn two_batches_of_the_same_new_items<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    let batches = [vec![x, y, x], vec![y.swapped(), x.swapped()]];
    setup.check(650, 3, move |model| {
        for batch in &batches {
            let batch = batch.clone();
            model.thread(move |t| {
                t.insert_unique_many(&batch);
            });
        }
    });
}

/// An item that is kicked meanwhile is not new.
fn batch_of_unique_inserts_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(0, 3);
    setup.check(87, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert_eq!(t.insert_unique_many(&[moved, filler]), [false, false]);
        });
    });
}

fn batch_of_lookups_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    setup.check(490, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            let found = t.contains_many(&[moved, new, filler]);
            assert!(found[0] && found[2]);
        });
    });
}

/// An item that is kicked meanwhile is removed all the same.
fn batch_of_removals_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    setup.check(790, 3, move |model| {
        model.thread(move |t| assert!(t.insert(new)));
        model.thread(move |t| {
            assert_eq!(t.remove_many(&[moved, filler, moved]), [true, true, false]);
        });
    });
}

/// The items are removed one by one, in order: a thread that misses the second misses the first.
fn batch_of_removals_in_order<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = [(0, 1), (2, 3)].map(|(a, b)| setup.item(a, b));
    setup.store(0, &[x]).store(2, &[y]);
    setup.check(17, 3, move |model| {
        model.thread(move |t| assert_eq!(t.remove_many(&[x, y]), [true, true]));
        model.thread(move |t| {
            if !t.contains(y) {
                assert!(!t.contains(x), "the second is removed, so the first is");
            }
        });
    });
}
