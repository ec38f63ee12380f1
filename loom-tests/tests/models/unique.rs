//! `insert_if_absent` against itself and against all other operations.

use coucal::{Layout, probe};
use loom_tests::model::*;

use crate::{With, adding, last_slot, one_hop, one_item, scripted, with};

models! {
    two_of_one_item: [x] = one_item::<L, 0>([])
        => [maybe(insert_if_absent(x))] || [maybe(insert_if_absent(x.swapped()))], 71, 3;
    // Both have to kick.
    two_of_one_item_that_kick: [x, ..] = with(
        Setup::<L>::new(4), [(0, 1), (0, 1), (0, 3), (2, 1)],
        |s, [_, low, left, right]| {
            s.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low)
        },
    ) => [maybe(insert_if_absent(x))] || [maybe(insert_if_absent(x.swapped()))], 67, 2;
    // Six buckets have four stripes: 1 and 5 share one. The last hop needs the stripes of 0, 1 and 5.
    kick_within_shared_stripes: [x, _, left] = with(
        Setup::<L>::new(6), [(0, 1), (0, 1), (5, 0)],
        |s, [_, low, left]| s.store(0, &[left]).fill(0, low).fill(1, low),
    ) => [insert_if_absent(x)] || [contains(left)], 80, 2;
    against_removal: [x] = one_item::<L, 1>([0])
        => [maybe(insert_if_absent(x.swapped()))] || [remove(x)], 14, 3, by_every_schedule;
    against_insert: [x] = one_item::<L, 0>([])
        => [maybe(insert_if_absent(x.swapped()))]
        || [insert(x), does(move |t| t.count(x) > 0)], 99, 3, by_every_schedule;
    against_insert_and_removal: [x] = one_item::<L, 0>([])
        => [maybe(insert_if_absent(x.swapped()))] || [insert(x)] || [maybe(remove(x))], 2200, 2;
    // The item is stored all the time, and moved meanwhile.
    against_kick_in_its_direction: [moved, new, _] = one_hop::<L>(0, 3)
        => [insert(new)] || [!insert_if_absent(moved)], 43, 3;
    against_kick_the_other_way: [moved, new, _] = one_hop::<L>(3, 0)
        => [insert(new)] || [!insert_if_absent(moved)], 43, 3;
    // The same in a full table, where both buckets look full to a thread that reads them at different times.
    against_kick_in_a_full_table: [moved, new, _, high] = full_table::<L>()
        => [remove(high), maybe(insert(new))] || [!insert_if_absent(moved)], 49, 2;
    overtaken_in_a_full_table
}

/// As [`last_slot`], without a free slot.
///
/// `[moved, new, back, high]`.
fn full_table<L: Layout>() -> With<L, 4> {
    adding(last_slot(3, 0), |s, [moved, new, back, _, high]| {
        s.store(3, &[high]);
        [moved, new, back, high.swapped()]
    })
}

/// An `insert_if_absent` that is overtaken so often that it never sees its item, in a full table. It must not return
/// "full", since the item is stored all the time. Scripted, as in `stopped`: between two of its loads the item is moved
/// to the bucket that it has just read.
fn overtaken_in_a_full_table<L: Layout>() {
    let (setup, [moved, new, back, high]) = full_table::<L>();
    scripted(setup, move |t| {
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
                // From now on nothing changes.
                _ => {}
            }
        });
        assert!(!t.insert_if_absent(moved));
        probe::after_each_step(|_| {});
        let mut others = t.unrecorded();
        assert!(others.remove(new));
        assert!(others.insert(high));
    });
}
