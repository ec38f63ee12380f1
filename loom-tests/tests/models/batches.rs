//! `count`, `clear`, `len` and the batches: what each promises and no more.

use coucal::Layout;
use loom_tests::stage::{Actor, Cast};

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
    batch_of_lookups_against_kick
}

/// Two copies of one item, one of them on the move: always two.
fn count_against_kick<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [moved, new, filler] = [(3, 0), (0, 1), (0, 1)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved]).fill(0, filler).fill(1, filler).store(3, &[moved]);
    cast.model(100, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert_eq!(a.count(moved), 2));
    });
}

fn count_of_what_is_kicked<L: Layout>() {
    let OneHop { cast, moved, new, .. } = OneHop::<L>::new(3, 0);
    cast.model(100, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert_eq!(a.count(moved), 1));
    });
}

fn count_against_insert_and_removal<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(90, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(x));
            assert!(a.remove(x));
        });
        stage.actor(move |a| {
            a.count(twin);
        });
    });
}

/// `clear` works bucket by bucket, and yet takes away each item at once.
fn clear_against_lookups<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = x.twin();
    cast.model(1500, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(x));
            a.clear();
        });
        stage.actor(move |a| {
            a.contains(twin);
            a.contains(twin);
        });
    });
}

fn clear_against_insert_and_removal<L: Layout>() {
    let mut cast = Cast::<L>::new(2);
    let [x, y] = [(0, 1), (1, 0)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[x, y]).store(1, &[x]);
    cast.model(15_000, 2, move |stage| {
        stage.actor(Actor::clear);
        stage.actor(move |a| {
            assert!(a.insert(x));
            a.contains(x);
        });
        stage.actor(move |a| {
            a.remove(y);
            a.count(x);
        });
    });
}

fn clear_against_kick<L: Layout>() {
    let LastSlot { cast, moved, new, .. } = LastSlot::<L>::new(3, 0);
    cast.model(7000, 1, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            a.clear();
            assert!(!a.contains(moved));
        });
        stage.actor(move |a| {
            a.contains(moved);
            a.contains(moved);
        });
    });
}

/// `len` takes no lock and may be off by one for each item that is on the move meanwhile: one too
/// many if it sees the copy in both buckets, one too few if in neither.
fn len_against_a_kick_of_two_hops<L: Layout>() {
    let TwoHops { cast, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    cast.model(60, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            let len = a.filter().len();
            assert!((3 * L::SLOTS).abs_diff(len) <= 1, "{len}");
        });
    });
}

/// The items go in one by one, in order: whoever sees the second sees the first.
fn batch_of_inserts_against_lookups<L: Layout>() {
    let LastSlot { mut cast, moved, new, .. } = LastSlot::<L>::new(3, 0);
    let last = cast.item(2, 1);
    cast.model(150, 3, move |stage| {
        stage.actor(move |a| {
            a.insert_many(&[new, last]);
        });
        stage.actor(move |a| {
            a.contains(last);
            assert!(a.contains(moved));
        });
    });
}

fn batch_of_inserts_in_order<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [x, y] = [(0, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.model(10, 3, move |stage| {
        stage.actor(move |a| assert_eq!(a.insert_many(&[x, y]), 2));
        stage.actor(move |a| {
            if a.contains(y) {
                assert!(a.contains(x), "the second is there, so the first is");
            }
        });
    });
}

fn batch_of_lookups_against_kick<L: Layout>() {
    let OneHop { cast, moved, new, filler } = OneHop::<L>::new(3, 0);
    cast.model(400, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            let found = a.contains_many(&[moved, new, filler]);
            assert!(found[0] && found[2]);
        });
    });
}
