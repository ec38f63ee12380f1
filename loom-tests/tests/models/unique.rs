//! `insert_unique` against itself and everything else.

use coucal::{Layout, probe};
use loom_tests::stage::Cast;

use crate::{LastSlot, OneHop};

models! {
    two_of_one_item
    two_of_one_item_that_kick
    kick_within_shared_stripes
    against_removal
    against_insert
    against_insert_and_removal
    against_kick_in_its_direction
    against_kick_the_other_way
    against_kick_in_a_full_table
    overtaken_in_a_full_table
}

fn two_of_one_item<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    let twin = x.twin();
    cast.model(30, 3, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                a.insert_unique(x);
            });
        }
    });
}

/// Both have to kick for it.
fn two_of_one_item_that_kick<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [x, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [left, right] = [(0, 3), (2, 1)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    let twin = x.twin();
    cast.model(40, 2, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                a.insert_unique(x);
            });
        }
    });
}

/// Six buckets have four stripes: 1 and 5 share one, and the kick needs both with 0.
fn kick_within_shared_stripes<L: Layout>() {
    let mut cast = Cast::<L>::new(6);
    let [x, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let left = cast.item(5, 0);
    cast.store(0, &[left]).fill(0, low).fill(1, low);
    cast.model(80, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert_unique(x)));
        stage.actor(move |a| assert!(a.contains(left)));
    });
}

fn against_removal<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(10, 3, move |stage| {
        stage.actor(move |a| {
            a.insert_unique(twin);
        });
        stage.actor(move |a| assert!(a.remove(x)));
    });
}

fn against_insert<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    let twin = x.twin();
    cast.model(30, 3, move |stage| {
        stage.actor(move |a| {
            a.insert_unique(twin);
        });
        stage.actor(move |a| {
            assert!(a.insert(x));
            assert!(a.count(x) > 0);
        });
    });
}

fn against_insert_and_removal<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    let twin = x.twin();
    cast.model(300, 2, move |stage| {
        stage.actor(move |a| {
            a.insert_unique(twin);
        });
        stage.actor(move |a| assert!(a.insert(x)));
        stage.actor(move |a| {
            a.remove(x);
        });
    });
}

/// The item is there all the time, and on the move.
fn against_kick<L: Layout>(first: usize, second: usize) {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(first, second);
    cast.model(25, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(!a.insert_unique(moved)));
    });
}

fn against_kick_in_its_direction<L: Layout>() {
    against_kick::<L>(0, 3);
}

fn against_kick_the_other_way<L: Layout>() {
    against_kick::<L>(3, 0);
}

/// The same where both buckets look full to whoever reads them at different times.
fn against_kick_in_a_full_table<L: Layout>() {
    let LastSlot { mut cast, moved, new, high, .. } = LastSlot::<L>::new(3, 0);
    cast.store(3, &[high]);
    let high = high.twin();
    cast.model(30, 2, move |stage| {
        stage.actor(move |a| {
            assert!(a.remove(high));
            a.insert(new);
        });
        stage.actor(move |a| assert!(!a.insert_unique(moved)));
    });
}

/// Overtaken so often that it saw the item nowhere, in a table without a free slot: even then it
/// must not say "full", for the item is there. Scripted, as in `stopped`: between the reads of an
/// `insert_unique` the item is moved to the bucket that was read before.
fn overtaken_in_a_full_table<L: Layout>() {
    let LastSlot { mut cast, moved, new, back, high } = LastSlot::<L>::new(3, 0);
    cast.store(3, &[high]);
    let high = high.twin();
    cast.model(1, 2, move |stage| {
        stage.actor(move |a| {
            let mut others = a.unrecorded();
            let mut reads = 0;
            probe::after_each_step(move |_| {
                reads += 1;
                match reads {
                    // Bucket 3 was read: now the item goes there.
                    1 => {
                        assert!(others.remove(high));
                        assert!(others.insert(new));
                    }
                    // Bucket 0 was read: now it goes back.
                    2 => {
                        assert!(others.remove(new));
                        assert!(others.insert(back));
                    }
                    // Bucket 3 was read for the second time.
                    3 => {
                        assert!(others.remove(back));
                        assert!(others.insert(new));
                    }
                    // All is as it was before the next look.
                    _ => {}
                }
            });
            assert!(!a.insert_unique(moved));
            probe::after_each_step(|_| {});
            let mut others = a.unrecorded();
            assert!(others.remove(new));
            assert!(others.insert(high));
        });
    });
}
