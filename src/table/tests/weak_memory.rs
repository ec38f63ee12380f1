//! Races of two or three threads on the smallest tables. Each is aimed at one rule of the protocol. `.ci/run --all`
//! runs them in miri, with many seeds: there, atomics give each value that their orderings allow, whatever the
//! processor does.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;
use crate::layout::Packed;

type Fp32x2 = Packed<32, 2>;

/// The rounds of each race. In miri each seed is another round.
const ROUNDS: u64 = if cfg!(miri) { 1 } else { 50 };

/// Calls `race` with new tables of these sizes, each with the first of the hashes that it may use.
fn rounds<B: Buckets>(first: u64, most: u64, race: impl Fn(Table<'_, Fp32x2, B>, u64)) {
    for round in 0..ROUNDS {
        let state = State::try_new(Sizing::of_table(LayoutId::Fp32x2, first, most)).unwrap();
        race(Table::new(&state), round << 32);
    }
}

/// Returns the buckets of an item; in a growing table, those that it has when there are 64 buckets.
fn buckets<B: Buckets>(table: Table<'_, Fp32x2, B>, hash: u64) -> [u64; 2] {
    table.key(hash).places().map(|place| place.position % 64)
}

/// Returns the first hash from `from` on that is wanted.
fn first(from: u64, is_wanted: impl Fn(u64) -> bool) -> u64 {
    (from..from + 100_000).find(|&hash| is_wanted(hash)).unwrap()
}

/// Returns the hash of an item with the wanted buckets.
fn item<B: Buckets>(table: Table<'_, Fp32x2, B>, from: u64, wanted: [u64; 2]) -> u64 {
    first(from, |hash| buckets(table, hash) == wanted)
}

fn insert<B: Buckets>(table: Table<'_, Fp32x2, B>, hash: u64) {
    table.insert(table.key(hash)).unwrap();
}

/// Two threads look for an item and find it all the time, while another thread calls `move_it`. If that panics, they
/// end, too.
fn is_found_beside<B: Buckets>(
    table: Table<'_, Fp32x2, B>,
    hash: u64,
    move_it: impl FnOnce() + Send,
) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Relaxed, here and below: no thread learns from it where the item is.
                let goes_on = |_: &u32| !is_done.load(Ordering::Relaxed);
                (0..100_000)
                    .take_while(goes_on)
                    .for_each(|_| assert!(table.contains(table.key(hash))));
                assert!(table.contains(table.key(hash)));
            });
        }
        scope.spawn(|| {
            move_it();
            is_done.store(true, Ordering::Relaxed);
        });
    });
}

/// The item moves to the bucket that lookups read first.
#[test]
fn an_item_that_is_kicked() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let [moved, other, beside] =
            [[4, 1], [1, 2], [4, 3]].map(|wanted| item(table, from, wanted));
        // The item goes into its second bucket, since the first is fuller.
        insert(table, beside);
        insert(table, moved);
        assert!(table.remove(table.key(beside)));
        (0..3).for_each(|_| insert(table, other));
        is_found_beside(table, moved, || insert(table, other));
        assert_eq!(table.versions().bumps(), 1);
    });
}

#[test]
fn an_item_that_goes_to_a_new_bucket() {
    rounds::<GrowingBuckets>(32, 64, |table, from| {
        // This allocates the words of more buckets, so the race is about a split alone.
        table.grow_to(33).unwrap();
        let moved = first(from, |hash| buckets(table, hash)[0] == 33);
        insert(table, moved);
        let before = table.versions().bumps();
        is_found_beside(table, moved, || table.grow_to(34).unwrap());
        assert_eq!(table.versions().bumps(), before + 1);
    });
}

#[test]
fn an_item_that_leaves_the_stash() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let other = item(table, from, [1, 2]);
        let groups = table.versions().len();
        let group = |hash: u64| table.geometry().version_group(table.key(hash)) % groups;
        let is_beside = |hash| group(hash) == group(other) && buckets(table, hash) == [1, 2];
        let moved = first(other + 1, is_beside);
        (0..4).for_each(|_| insert(table, other));
        insert(table, moved);
        assert_eq!(table.stashed_entries(), 1);
        is_found_beside(table, moved, || {
            assert!(table.remove(table.key(other)));
            // A removal that looks at stashed entries does the same.
            table.unstash(table.key(other).places()[0], 0);
        });
        assert_eq!(table.stashed_entries(), 0);
    });
}

/// If two threads each insert an item and then look for the other's item, at least one of them finds it.
#[test]
fn two_inserts_and_two_lookups() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let items = [[1, 2], [4, 3]].map(|wanted| item(table, from, wanted));
        for _ in 0..4 {
            let found = thread::scope(|scope| {
                let both = [items, [items[1], items[0]]].map(|[own, other]| {
                    scope.spawn(move || {
                        insert(table, own);
                        table.contains(table.key(other))
                    })
                });
                both.map(|thread| thread.join().unwrap())
            });
            assert!(found[0] || found[1]);
            assert!(items.iter().all(|&hash| table.remove(table.key(hash))));
        }
    });
}

#[test]
fn two_inserts_into_one_bucket() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let one = item(table, from, [1, 2]);
        let items = [one, item(table, one + 1, [1, 2])];
        for _ in 0..10 {
            thread::scope(|scope| {
                items.map(|hash| scope.spawn(move || insert(table, hash))).map(drop)
            });
            assert_eq!(table.len(), 2);
            assert!(items.iter().all(|&hash| table.remove(table.key(hash))));
        }
    });
}

/// A thread that finds an item sees what was written before its insert.
#[test]
fn an_insert_publishes() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let (hash, written) = (item(table, from, [1, 2]), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                // Relaxed, both: the insert publishes it.
                written.store(true, Ordering::Relaxed);
                insert(table, hash);
            });
            scope.spawn(|| {
                // After a failed insert nothing is found: then the loop ends, too.
                if (0..1_000_000).any(|_| table.contains(table.key(hash))) {
                    assert!(written.load(Ordering::Relaxed));
                }
            });
        });
    });
}

/// One thread clears a table and then looks in another one. The other thread inserts there and then looks in the first.
#[test]
fn a_clear_and_an_insert() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        let state = State::try_new(Sizing::of_table(LayoutId::Fp32x2, 6, 6)).unwrap();
        let other = Table::new(&state);
        let hash = item(table, from, [1, 2]);
        let finds = |table: Table<'_, Fp32x2>| table.contains(table.key(hash));
        // A clear takes much longer than an insert, which so begins at a different step of the clear each time.
        for delay in 0..8 {
            insert(table, hash);
            let [cleared, inserted] = thread::scope(|scope| {
                let clearing = scope.spawn(|| {
                    table.clear();
                    finds(other)
                });
                (0..4 * delay).for_each(|_| assert!(!finds(other)));
                insert(other, hash);
                [!finds(table), clearing.join().unwrap()]
            });
            assert!(cleared || inserted);
            other.clear();
        }
    });
}

/// Each item is in the new words, and the new stripes count it.
#[test]
fn inserts_while_words_are_replaced() {
    rounds::<GrowingBuckets>(32, 64, |table, from| {
        let items = from..from + 10;
        thread::scope(|scope| {
            let _inserting = scope.spawn(|| items.clone().for_each(|hash| insert(table, hash)));
            table.grow_to(33).unwrap();
        });
        assert_eq!((table.len(), table.stripes().occupied()), (10, 10));
        assert!(items.clone().all(|hash| table.remove(table.key(hash))));
    });
}

/// The words of a snapshot are those of the instant at which it counts.
#[test]
fn a_snapshot_beside_inserts() {
    rounds::<FixedBuckets>(6, 6, |table, from| {
        for _ in 0..6 {
            thread::scope(|scope| {
                scope.spawn(|| (from..from + 8).for_each(|hash| insert(table, hash)));
                let image = table.image().unwrap();
                let in_use = image.words().map(|word| Fp32x2::from_bits(word).in_use());
                assert_eq!(in_use.sum::<usize>(), image.occupied);
            });
            table.clear();
        }
    });
}
