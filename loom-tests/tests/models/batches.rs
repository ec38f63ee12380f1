//! `count`, `clear`, `len` and the batches: what each promises and no more.

use loom_tests::stage::{Actor, Cast};

use crate::{LastSlot, OneHop};

/// Two copies of one item, one of them on the move: always two.
#[test]
fn count_against_kick() {
    let mut cast = Cast::new(4);
    let [moved, new, filler] = [(3, 0), (0, 1), (0, 1)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved, filler, filler, filler]).store(1, &[filler; 4]).store(3, &[moved]);
    cast.model(100, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert_eq!(a.count(moved), 2));
    });
}

#[test]
fn count_of_what_is_kicked() {
    let OneHop { cast, moved, new, .. } = OneHop::new(3, 0);
    cast.model(100, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert_eq!(a.count(moved), 1));
    });
}

#[test]
fn count_against_insert_and_removal() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = cast.twin(x);
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
#[test]
fn clear_against_lookups() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = cast.twin(x);
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

#[test]
fn clear_against_insert_and_removal() {
    let mut cast = Cast::new(2);
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

#[test]
fn clear_against_kick() {
    let LastSlot { cast, moved, new, .. } = LastSlot::new(3, 0);
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
#[test]
fn len_against_a_kick_of_two_hops() {
    let mut cast = Cast::new(4);
    let [near, far, new] = [(3, 0), (2, 3), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [low, high] = [(0, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[near, low, low, low]).store(1, &[low; 4]);
    cast.store(3, &[far, high, high, high]);
    cast.model(60, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            let len = a.filter().len();
            assert!((11..=13).contains(&len), "{len}");
        });
    });
}

/// The items go in one by one, in order: whoever sees the second sees the first.
#[test]
fn batch_of_inserts_against_lookups() {
    let LastSlot { mut cast, moved, new, .. } = LastSlot::new(3, 0);
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

#[test]
fn batch_of_inserts_in_order() {
    let mut cast = Cast::new(4);
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

#[test]
fn batch_of_lookups_against_kick() {
    let OneHop { cast, moved, new, filler } = OneHop::new(3, 0);
    cast.model(400, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            let found = a.contains_many(&[moved, new, filler]);
            assert!(found[0] && found[2]);
        });
    });
}
