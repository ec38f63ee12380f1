//! `insert_unique` against itself and against all other operations.

use coucal::{Layout, probe};
use loom_tests::model::*;

use crate::{LastSlot, OneHop, one_item};

models! {
    two_of_one_item
    two_of_one_item_that_kick
    kick_within_shared_stripes
    against_removal
    against_insert
    against_insert_and_removal
    against_kick_in_its_direction = against_kick(0, 3)
    against_kick_the_other_way = against_kick(3, 0)
    against_kick_in_a_full_table
    overtaken_in_a_full_table
}

fn two_of_one_item<L: Layout>() {
    let (setup, x) = one_item::<L>(&[]);
    setup
        .thread([maybe(insert_unique(x))])
        .thread([maybe(insert_unique(x.swapped()))])
        .check(71, 3);
}

/// Both have to kick.
fn two_of_one_item_that_kick<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, low] = setup.items([(0, 1); 2]);
    let [left, right] = setup.items([(0, 3), (2, 1)]);
    setup.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    setup
        .thread([maybe(insert_unique(x))])
        .thread([maybe(insert_unique(x.swapped()))])
        .check(67, 2);
}

/// Six buckets have four stripes: 1 and 5 share one. The last hop needs the stripes of 0, 1 and 5.
fn kick_within_shared_stripes<L: Layout>() {
    let mut setup = Setup::<L>::new(6);
    let [x, low] = setup.items([(0, 1); 2]);
    let left = setup.item(5, 0);
    setup.store(0, &[left]).fill(0, low).fill(1, low);
    setup.thread([insert_unique(x)]).thread([contains(left)]).check(80, 2);
}

fn against_removal<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup
        .by_every_schedule()
        .thread([maybe(insert_unique(x.swapped()))])
        .thread([remove(x)])
        .check(14, 3);
}

fn against_insert<L: Layout>() {
    let (setup, x) = one_item::<L>(&[]);
    setup
        .by_every_schedule()
        .thread([maybe(insert_unique(x.swapped()))])
        .thread([insert(x), does(move |t| t.count(x) > 0)])
        .check(99, 3);
}

fn against_insert_and_removal<L: Layout>() {
    let (setup, x) = one_item::<L>(&[]);
    setup
        .thread([maybe(insert_unique(x.swapped()))])
        .thread([insert(x)])
        .thread([maybe(remove(x))])
        .check(2200, 2);
}

/// The item is stored all the time, and moved meanwhile.
fn against_kick<L: Layout>(first: usize, second: usize) {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(first, second);
    setup.thread([insert(new)]).thread([!insert_unique(moved)]).check(43, 3);
}

/// The same in a full table, where both buckets look full to a thread that reads them at different
/// times.
fn against_kick_in_a_full_table<L: Layout>() {
    let LastSlot { mut setup, moved, new, high, .. } = LastSlot::<L>::new(3, 0);
    setup.store(3, &[high]);
    let high = high.swapped();
    setup.thread([remove(high), maybe(insert(new))]).thread([!insert_unique(moved)]).check(49, 2);
}

/// An `insert_unique` that is overtaken so often that it never sees its item, in a full table. It
/// must not return "full", since the item is stored all the time. Scripted, as in `stopped`: between
/// two of its loads the item is moved to the bucket that it has just read.
fn overtaken_in_a_full_table<L: Layout>() {
    let LastSlot { mut setup, moved, new, back, high } = LastSlot::<L>::new(3, 0);
    setup.store(3, &[high]);
    let high = high.swapped();
    setup.check_with(1, 2, move |model| {
        model.thread(move |t| {
            let mut others = t.unrecorded();
            let mut reads = 0;
            probe::after_each_step(move |_| {
                reads += 1;
                match reads {
                    // Bucket 3 is read: now the item is moved there.
                    1 => assert!(others.remove(high) && others.insert(new)),
                    // Bucket 0 is read: now it is moved back.
                    2 => assert!(others.remove(new) && others.insert(back)),
                    // Bucket 3 is read for the second time.
                    3 => assert!(others.remove(back) && others.insert(new)),
                    // From here on nothing changes.
                    _ => {}
                }
            });
            assert!(!t.insert_unique(moved));
            probe::after_each_step(|_| {});
            let mut others = t.unrecorded();
            assert!(others.remove(new));
            assert!(others.insert(high));
        });
    });
}
