//! Litmus tests on the machine: two threads, each of which changes one item and then looks up the other thread's item.
//! In no order of these four operations do both threads get the forbidden answer. They would get it if a store still
//! waited in the buffer of a processor when its operation returns.
//!
//! The models `order::*` of `loom-tests` show the same under the rules of the memory model; these tests show it on a
//! real processor.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;

use coucal::{CuckooFilter, Fp16x4, Prehashed, StableHashBuilder};
use coucal_reference::format::Geometry;

use crate::common::{HASHER, Stop, default_layout, hashes, repetitions, turn};

/// The type of the default layout, so that as few instructions as possible are between two operations.
type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;

/// Returns the filter with the most slots, of those with at most `slots`.
fn of_slots(slots: usize) -> Filter {
    let capacity = default_layout().filter_of_slots(slots).capacity();
    CuckooFilter::with_capacity_and_hasher(capacity, HASHER)
}

/// Lets two threads go on within some nanoseconds of each other.
struct Gate {
    arrived: AtomicU64,
}

impl Gate {
    /// Waits until both threads have come here `time` times.
    fn meet(&self, time: u64) {
        // AcqRel and Acquire: each thread sees afterwards what the other one did before.
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) < 2 * time {
            spins += 1;
            if spins % 500 == 0 {
                thread::yield_now(); // The other may need this core.
            } else {
                spin_loop();
            }
        }
    }
}

/// Runs rounds: `prepare` in one thread, then `act(0)` and `act(1)` at once, then `check` of the answers, which must be
/// true in every round.
fn litmus(
    prepare: impl Fn(u64) + Sync,
    act: impl Fn(usize, u64) -> usize + Sync,
    check: impl Fn([usize; 2]) -> bool + Sync,
) {
    let _turn = turn();
    let rounds = repetitions(20_000, 1_000_000);
    let gate = Gate { arrived: AtomicU64::new(0) };
    let answers = [const { AtomicUsize::new(0) }; 2];
    let run = |thread: usize| {
        let mut bad = 0_u64;
        for round in 0..rounds {
            if thread == 0 {
                prepare(round);
            }
            gate.meet(2 * round + 1);
            // One of the threads starts later by up to some dozen cycles, in all combinations.
            let late = if thread == 0 { round % 8 } else { round / 8 % 8 };
            (0..late * 4).for_each(|_| std::hint::black_box(()));
            // Relaxed, here and below: the gate orders it.
            answers[thread].store(act(thread, round), Ordering::Relaxed);
            gate.meet(2 * round + 2);
            if thread == 0 {
                let answers = [0, 1].map(|of| answers[of].load(Ordering::Relaxed));
                bad += u64::from(!check(answers));
            }
        }
        bad
    };
    let bad = thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        let result = run(0);
        other.join().expect("a panic in one of the two threads");
        result
    });
    assert_eq!(bad, 0, "forbidden answers in {bad} of {rounds} rounds");
}

/// Two items that are apart, in an otherwise empty filter, and the operations of the two threads.
struct Pair {
    filter: Filter,
    items: [u64; 2],
}

impl Pair {
    fn new() -> Self {
        let filter = of_slots(1 << 12);
        let mut hashes = hashes(43);
        let first = hashes.next().expect("endless");
        filter.insert(&Prehashed(first)).expect("an empty filter");
        let second = hashes.find(|&hash| !filter.contains(&Prehashed(hash))).expect("endless");
        filter.clear();
        Self { filter, items: [first, second] }
    }

    /// Starts each round with both items in the filter, once each, or with neither. Then calls `act` with the filter,
    /// the item of the thread and that of the other thread. It is forbidden that both threads answer `forbidden`.
    fn never_both(
        &self,
        present: bool,
        forbidden: bool,
        act: impl Fn(&Filter, u64, u64) -> bool + Sync,
    ) {
        let Self { filter, items } = self;
        let prepare = |_| {
            for &item in items {
                while filter.remove(&Prehashed(item)) {}
                if present {
                    filter.insert(&Prehashed(item)).expect("two items at the most");
                }
            }
        };
        let act = |of: usize, _| usize::from(act(filter, items[of], items[1 - of]) == forbidden);
        litmus(prepare, act, |both| both != [1, 1]);
        assert_eq!(filter.stats().inconclusive_lookups, 0);
    }
}

fn insert(filter: &Filter, item: u64) {
    filter.insert(&Prehashed(item)).expect("a few items at the most");
}

fn remove(filter: &Filter, item: u64) {
    assert!(filter.remove(&Prehashed(item)), "a present item is lost");
}

/// Defines tests of a pair: whether both items are there at first, the forbidden answer, and the operations of each
/// thread.
macro_rules! never_both {
    ($($test:ident: $present:literal, $forbidden:literal, $act:expr;)*) => {
        $(#[test]
        fn $test() {
            Pair::new().never_both($present, $forbidden, $act);
        })*
    };
}

never_both! {
    insert_then_contains: false, false, |filter, own, other| {
        insert(filter, own);
        filter.contains(&Prehashed(other))
    };
    insert_if_absent_then_contains: false, false, |filter, own, other| {
        assert_eq!(filter.insert_if_absent(&Prehashed(own)), Ok(true));
        filter.contains(&Prehashed(other))
    };
    insert_then_contains_in_batches: false, false, |filter, own, other| {
        filter.insert_many(Prehashed::slice(&[own])).expect("two items at the most");
        filter.contains_each(Prehashed::slice(&[other]))[0]
    };
    insert_then_count: false, false, |filter, own, other| {
        insert(filter, own);
        filter.count(&Prehashed(other)) > 0
    };
    insert_then_remove_of_the_other: false, false, |filter, own, other| {
        insert(filter, own);
        filter.remove(&Prehashed(other))
    };
    // Forbidden: both threads are told that the other's item was absent.
    insert_then_insert_if_absent_of_the_other: false, true, |filter, own, other| {
        insert(filter, own);
        filter.insert_if_absent(&Prehashed(other)) == Ok(true)
    };
    remove_then_contains: true, true, |filter, own, other| {
        remove(filter, own);
        filter.contains(&Prehashed(other))
    };
    remove_then_count: true, true, |filter, own, other| {
        remove(filter, own);
        filter.count(&Prehashed(other)) > 0
    };
    // Forbidden: both threads are told that the other's item was there.
    remove_then_insert_if_absent_of_the_other: true, false, |filter, own, other| {
        remove(filter, own);
        filter.insert_if_absent(&Prehashed(other)) == Ok(true)
    };
}

/// One thread inserts and the other removes. Forbidden: the removed item is still seen after the insert, and the
/// inserted item is not seen after the removal.
#[test]
fn insert_against_remove() {
    let Pair { filter, items: [inserted, removed] } = &Pair::new();
    let prepare = |_| {
        filter.remove(&Prehashed(*inserted));
        if !filter.contains(&Prehashed(*removed)) {
            insert(filter, *removed);
        }
    };
    let act = |thread: usize, _| {
        if thread == 0 {
            insert(filter, *inserted);
            usize::from(filter.contains(&Prehashed(*removed)))
        } else {
            remove(filter, *removed);
            usize::from(!filter.contains(&Prehashed(*inserted)))
        }
    };
    litmus(prepare, act, |both| both != [1, 1]);
}

/// Two filters: a thread clears the first one and then looks into the second one, into which the other thread inserts.
/// Forbidden: the inserted item is not seen, and then the cleared item is seen.
#[test]
fn clear_then_contains_in_another_filter() {
    let [cleared, other] = [0; 2].map(|_| of_slots(256));
    // In buckets that are cleared first, and last.
    let geometry = Geometry { grows: false, layout: default_layout(), value_bits: 0, first: 64 };
    let in_bucket = |wanted: Range<u64>| {
        let lies_there = |&hash: &u64| wanted.contains(&geometry.placed(hash).1);
        hashes(61).find(lies_there).expect("endless")
    };
    let (early, late) = (in_bucket(0..8), in_bucket(56..64));
    let prepare = |_| {
        insert(&cleared, early);
        insert(&cleared, late);
        other.remove(&Prehashed(late));
    };
    let act = |thread: usize, round: u64| {
        if thread == 0 {
            cleared.clear();
            usize::from(!other.contains(&Prehashed(late)))
        } else {
            // The clear is under way, and has to wait for the cache line of the late item.
            while cleared.contains(&Prehashed(late)) && cleared.contains(&Prehashed(early)) {
                spin_loop();
            }
            (0..round % 512).for_each(|_| std::hint::black_box(()));
            insert(&other, late);
            usize::from(cleared.contains(&Prehashed(late)))
        }
    };
    litmus(prepare, act, |both| both != [1, 1]);
}

/// New items into a filter that is so full that most inserts have to kick: the last step of a kick path is where such
/// an insert takes effect.
#[test]
fn insert_by_kicks_then_contains() {
    const FRESH: usize = 1 << 12;
    let filter = of_slots(1 << 12);
    let full = filter.slots() * 95 / 100;
    for hash in hashes(47).take(full) {
        insert(&filter, hash);
    }
    let fresh: Vec<u64> =
        hashes(53).filter(|&hash| !filter.contains(&Prehashed(hash))).take(2 * FRESH).collect();
    // Neighbours in a cycle, so that a round finds other items than those that the round before removed.
    let item = |of: usize, round: u64| fresh[2 * (round as usize % FRESH) + of];
    let prepare = |round: u64| {
        if let Some(before) = round.checked_sub(1) {
            (0..2).for_each(|of| remove(&filter, item(of, before)));
        }
        assert_eq!(filter.len(), full);
    };
    let act = |of: usize, round| {
        insert(&filter, item(of, round));
        usize::from(!filter.contains(&Prehashed(item(1 - of, round))))
    };
    litmus(prepare, act, |both| both != [1, 1]);
}

/// Returns hashes of one class, which the filter cannot tell apart. Half of them name the buckets in reverse order;
/// nothing shows which half.
fn one_class(filter: &Filter, count: usize) -> Vec<u64> {
    let mut hashes = hashes(59);
    let first = hashes.next().expect("endless");
    filter.insert(&Prehashed(first)).expect("an empty filter");
    let same = hashes.filter(|&hash| filter.contains(&Prehashed(hash))).take(count - 1);
    let class = std::iter::once(first).chain(same).collect();
    assert!(filter.remove(&Prehashed(first)) && filter.is_empty());
    class
}

/// There is a copy in each bucket of a class. Each thread removes one and then inserts one unless there is one: exactly
/// one of the threads has to be told that there was none, whatever the order. The threads look at the two buckets in
/// the same order or, with some of the hashes, in reverse.
#[test]
fn remove_then_insert_if_absent_of_one_class() {
    const CLASS: usize = 8;
    let filter = of_slots(128);
    let class = one_class(&filter, CLASS);
    let prepare = |_| {
        while filter.remove(&Prehashed(class[0])) {}
        // The second copy goes to the emptier bucket, where the first one is not.
        insert(&filter, class[0]);
        insert(&filter, class[0]);
    };
    let act = |of: usize, round: u64| {
        let hash = class[(round as usize / 64 % CLASS) * of];
        remove(&filter, hash);
        usize::from(filter.insert_if_absent(&Prehashed(hash)).expect("two copies at the most"))
    };
    let check =
        |told: [usize; 2]| told[0] + told[1] == 1 && filter.count(&Prehashed(class[0])) == 1;
    litmus(prepare, act, check);
}

/// A third thread lets a table grow, bucket by bucket, and a new table when it cannot grow further. The items that two
/// threads insert in each round may be anywhere, also in buckets that are split at that time.
#[test]
fn insert_then_contains_while_a_filter_grows() {
    const MOST: usize = 10_000;
    let filter = RwLock::new(default_layout().growing(1, MOST));
    let read = || filter.read().unwrap_or_else(PoisonError::into_inner);
    // SeqCst: this test is not about this ordering.
    let stop = AtomicBool::new(false);
    let item = |of: usize, round: u64| (2 * round + of as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let prepare = |_| {
        let is_largest = read().capacity() == MOST;
        if is_largest {
            *filter.write().unwrap_or_else(PoisonError::into_inner) =
                default_layout().growing(1, MOST);
        }
    };
    let act = |of: usize, round| {
        let filter = read();
        filter.insert(&Prehashed(item(of, round))).expect("below the maximum capacity");
        usize::from(!filter.contains(&Prehashed(item(1 - of, round))))
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let filter = read();
                let more = (filter.capacity() + 1).saturating_sub(filter.len());
                // It may be fuller than its target.
                let more = more.max(1);
                if filter.reserve(more).is_err() {
                    drop(filter);
                    thread::yield_now();
                }
            }
        });
        let _stop = Stop(&stop);
        litmus(prepare, act, |both| both != [1, 1]);
    });
}
