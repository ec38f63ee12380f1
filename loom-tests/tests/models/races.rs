//! Writers against writers: the last slot, crossing paths, equal fingerprints, full tables.

use loom_tests::stage::Cast;

use crate::{LastSlot, OneHop};

/// The checker knows that one of the two must get it, and that both cannot.
#[test]
fn two_inserts_for_the_last_slot() {
    let mut cast = Cast::new(2);
    let [x, y, filler] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[filler; 4]).store(1, &[filler; 3]);
    cast.model(25, 3, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(y);
        });
    });
}

/// One of them has to kick for it.
#[test]
fn insert_and_kick_for_the_last_slot() {
    let mut cast = Cast::new(4);
    let [kicks, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [moved, direct, high] = [(3, 0); 3].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved, low, low, low]).store(1, &[low; 4]).store(3, &[high; 3]);
    cast.model(5000, 2, move |stage| {
        stage.actor(move |a| {
            a.insert(kicks);
        });
        stage.actor(move |a| {
            a.insert(direct);
        });
    });
}

/// Both have to, from the two buckets that they share, over different items.
#[test]
fn two_kicks_for_the_last_slot() {
    let mut cast = Cast::new(4);
    let [x, y, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [left, right, high] = [(0, 3), (2, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[left, low, low, low]).store(1, &[right, low, low, low]);
    cast.store(2, &[high; 4]).store(3, &[high; 3]);
    cast.model(3000, 2, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(y);
        });
    });
}

/// There is room for both, one hop away, and each may find its path stale.
#[test]
fn two_kicks_for_two_slots() {
    let mut cast = Cast::new(4);
    let [x, y, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [left, right, high] = [(0, 3), (2, 1), (2, 3)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[left, low, low, low]).store(1, &[right, low, low, low]);
    cast.store(2, &[high; 3]).store(3, &[high; 3]);
    cast.model(3000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(x)));
        stage.actor(move |a| assert!(a.insert(y)));
        stage.actor(move |a| assert!(a.contains(left)));
    });
}

/// The middle hop of a path fills bucket 2 and leaves 3; others write to both at the same time.
#[test]
fn two_hops_into_a_bucket_that_others_use() {
    let mut cast = Cast::new(4);
    let [new, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [near, guest] = [(3, 0), (2, 1)].map(|(a, b)| cast.item(a, b));
    let [far, high] = [(3, 2); 2].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[near, low, low, low]).store(1, &[low; 4]).store(3, &[far, high, high, high]);
    cast.model(150, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.insert(guest));
            assert!(a.remove(high));
        });
    });
}

/// A path from 0 to 3 and one from 3 to 0, at once: one thread has searched its path when the other
/// fills bucket 3, empties a slot of 0 and kicks the other way. No deadlock, and nothing is lost.
#[test]
fn crossing_paths() {
    let mut cast = Cast::new(4);
    let [x, gap, low] = [(0, 1); 3].map(|(a, b)| cast.item(a, b));
    let [y, high] = [(2, 3); 2].map(|(a, b)| cast.item(a, b));
    let [down, up, plug, mid] = [(3, 0); 4].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[down, gap, low, low]).store(1, &[low; 4]);
    cast.store(2, &[high; 4]).store(3, &[up, mid, mid]);
    cast.model(15_000, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| {
            a.insert(plug);
            assert!(a.remove(gap));
            a.insert(y);
        });
    });
}

/// Found in one bucket, moved to the other: the removal must go after it.
fn removal_of_what_is_kicked(first: usize, second: usize) {
    let OneHop { cast, moved, new, .. } = OneHop::new(first, second);
    cast.model(150, 3, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.remove(moved));
            assert!(!a.remove(moved));
        });
    });
}

#[test]
fn removal_of_what_is_kicked_in_its_direction() {
    removal_of_what_is_kicked(0, 3);
}

#[test]
fn removal_of_what_is_kicked_the_other_way() {
    removal_of_what_is_kicked(3, 0);
}

/// Another item is removed from the bucket that a kick fills.
#[test]
fn removal_beside_a_kick() {
    let LastSlot { cast, moved, new, high, .. } = LastSlot::new(0, 3);
    let high = cast.twin(high);
    cast.model(100, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| {
            assert!(a.remove(high));
            assert!(a.contains(moved));
        });
    });
}

#[test]
fn two_removals_of_one_copy() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(1, &[x]);
    let twin = cast.twin(x);
    cast.model(25, 3, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                a.remove(x);
            });
        }
    });
}

/// Each prefers the bucket that the other does not.
#[test]
fn three_removals_of_two_copies() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]).store(1, &[x]);
    let twin = cast.twin(x);
    cast.model(7000, 2, move |stage| {
        for x in [x, twin, x] {
            stage.actor(move |a| {
                a.remove(x);
            });
        }
    });
}

/// The duplicate rule: a copy is put into one bucket, then one is taken from the other. The lookup
/// reads them the other way round.
#[test]
fn copy_in_and_copy_out_against_lookup() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = cast.twin(x);
    cast.model(90, 3, move |stage| {
        stage.actor(move |a| {
            assert!(a.insert(x));
            assert!(a.remove(x));
        });
        stage.actor(move |a| assert!(a.contains(twin)));
    });
}

/// A removal looks at the other bucket, and clears its own; in between a copy is put into that other
/// bucket and both are counted. There always was one, so the lookup must find it.
#[test]
fn copy_in_counted_and_copy_out_against_lookup() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(1, &[x]);
    cast.model(1000, 2, move |stage| {
        stage.actor(move |a| assert!(a.remove(x)));
        stage.actor(move |a| {
            assert!(a.insert(x));
            a.count(x);
        });
        stage.actor(move |a| {
            a.contains(x);
        });
    });
}

#[test]
fn insert_removal_and_lookup_of_one_item() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = cast.twin(x);
    cast.model(1000, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(x)));
        stage.actor(move |a| assert!(a.remove(x)));
        stage.actor(move |a| {
            a.contains(twin);
            a.contains(twin);
        });
    });
}

/// Two inserts and two removals of one item, in which the copies change places.
#[test]
fn two_writers_of_one_item_against_lookup() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x]);
    let twin = cast.twin(x);
    cast.model(25_000, 2, move |stage| {
        for x in [x, twin] {
            stage.actor(move |a| {
                assert!(a.insert(x));
                assert!(a.remove(x));
            });
        }
        stage.actor(move |a| assert!(a.contains(twin)));
    });
}

/// The ninth copy is one too many; with a removal at the same time it may not be.
#[test]
fn ninth_copy_against_removal() {
    let mut cast = Cast::new(2);
    let x = cast.item(0, 1);
    cast.store(0, &[x; 4]).store(1, &[x; 4]);
    cast.model(30, 3, move |stage| {
        stage.actor(move |a| {
            a.insert(x);
        });
        stage.actor(move |a| assert!(a.remove(x)));
    });
}

/// What a kick would have moved is removed after the search for a path began. There was room all
/// the time: first behind what was removed, then in its place.
#[test]
fn slot_freed_during_a_search() {
    let mut cast = Cast::new(4);
    let [new, low] = [(0, 1); 2].map(|(a, b)| cast.item(a, b));
    let [moved, high, rest] = [(0, 3), (3, 0), (1, 2)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved, low, low, low]).store(3, &[high; 3]);
    cast.store(1, &[rest; 4]).store(2, &[rest; 4]);
    cast.model(80, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.remove(moved)));
    });
}

/// The same one hop further away.
#[test]
fn slot_freed_deeper_in_a_search() {
    let mut cast = Cast::new(6);
    let [new, near, mid] = [(0, 1), (0, 3), (3, 0)].map(|(a, b)| cast.item(a, b));
    let [rest, far] = [(1, 2), (3, 4)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[near; 4]).store(3, &[far, mid, mid, mid]);
    cast.store(1, &[rest; 4]).store(2, &[rest; 4]);
    cast.model(150, 2, move |stage| {
        stage.actor(move |a| assert!(a.insert(new)));
        stage.actor(move |a| assert!(a.remove(far)));
    });
}

/// An insert that finds no room changes nothing for anyone.
#[test]
fn failed_insert_against_everything() {
    let mut cast = Cast::new(2);
    let [x, y, outsider, new] = [(0, 1), (1, 0), (0, 1), (1, 0)].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[x, x, x, y]).store(1, &[x, x, y, y]);
    cast.model(9000, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(outsider);
        });
        stage.actor(move |a| {
            assert!(a.remove(x));
            a.insert(new);
        });
        stage.actor(move |a| {
            assert!(a.contains(y));
            assert!(a.contains(x));
        });
    });
}

/// The same where a kick takes the last slot at the same time.
#[test]
fn failed_insert_against_kick() {
    let mut cast = Cast::new(4);
    let [kicks, outsider, low] = [(0, 1), (1, 0), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [moved, high] = [(3, 0); 2].map(|(a, b)| cast.item(a, b));
    cast.store(0, &[moved, low, low, low]).store(1, &[low; 4]).store(3, &[high; 3]);
    cast.model(4000, 1, move |stage| {
        stage.actor(move |a| {
            a.insert(outsider);
        });
        stage.actor(move |a| {
            a.insert(kicks);
        });
        stage.actor(move |a| assert!(a.contains(moved)));
    });
}
