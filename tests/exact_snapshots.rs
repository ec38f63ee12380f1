//! Snapshots on the real machine, beside threads that insert, remove, kick and let the filter grow.
//!
//! Each writer owns a row of keys, numbered from 0. It inserts the next one or removes the first one
//! that is left, so at every instant it has the keys from `first` to `last` and no others. A writer
//! inserts a key only after the writer before it has inserted its own key of that number, so at every
//! instant the `last` of each writer is at most that of the writer before it. A snapshot must show
//! such an instant, one between its call and its return, and its `len` must be exact.
//!
//! A bounded run by default. `COUCAL_STRESS_SNAPSHOTS` is the number of snapshots of each filter.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{env, thread};

use coucal::{
    CuckooFilter, FixedStorage, Fp16x4, Fp32x2, Growable, Layout, SemiSorted14x5,
    StableHashBuilder, Storage,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// More than there are cores on most machines that run tests.
const WRITERS: usize = 6;

/// Inserts and removals from one snapshot to the next, at least.
const OPERATIONS_BETWEEN: u64 = 20;

/// Snapshots of each filter.
fn snapshots_asked_for() -> usize {
    let asked = env::var("COUCAL_STRESS_SNAPSHOTS").ok();
    asked.map_or(500, |n| n.parse().expect("COUCAL_STRESS_SNAPSHOTS is a number of snapshots"))
}

type Filter<L> = CuckooFilter<L, StableHashBuilder>;

/// The keys that a writer has are those from `removed` to `inserted`, the latter excluded; one of
/// the numbers may be too low by one while an operation is under way.
#[derive(Default)]
struct Writer {
    inserted: AtomicU64,
    removed: AtomicU64,
}

impl Writer {
    /// What is certain now: keys below these numbers have been inserted, and removed.
    fn progress(&self) -> [u64; 2] {
        // Acquire: pairs with the Release stores below. Operations that returned before come before
        // those that begin now.
        [&self.inserted, &self.removed].map(|n| n.load(Ordering::Acquire))
    }
}

/// The inserts and removals of all writers so far.
fn moves(writers: &[Writer]) -> u64 {
    writers.iter().flat_map(Writer::progress).sum()
}

/// Tells the writers to stop when it is dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn key(writer: usize, number: u64) -> (usize, u64) {
    (writer, number)
}

/// Inserts and removes until it is told to stop, and keeps about `wanted` keys.
fn write<L: Storage>(
    filter: &Filter<L>,
    writers: &[Writer],
    me: usize,
    wanted: impl Fn() -> u64,
    stop: &AtomicBool,
) {
    let mut random = SmallRng::seed_from_u64(me as u64);
    let Writer { inserted, removed } = &writers[me];
    while !stop.load(Ordering::Relaxed) {
        let [next, first] = writers[me].progress();
        let has = next - first;
        let may_insert = me == 0 || writers[me - 1].progress()[0] > next;
        // No writer runs away from the one that follows it.
        let followed = me + 1 == WRITERS || writers[me + 1].progress()[0] + 64 > next;
        if may_insert && followed && (has < wanted() || random.random_bool(0.5)) && has <= wanted()
        {
            filter.insert(&key(me, next)).expect("there is room");
            inserted.store(next + 1, Ordering::Release);
        } else if has > 0 && has + 1 > wanted() {
            assert!(filter.remove(&key(me, first)), "a key is lost");
            removed.store(first + 1, Ordering::Release);
        } else {
            thread::yield_now();
        }
    }
}

/// Takes snapshots of a filter in which writers keep so many keys each.
fn snapshots_are_exact<L: Storage>(
    filter: &Filter<L>,
    settled: u64,
    keys_of_each: impl Fn(usize) -> u64 + Sync,
    certain: bool,
) {
    let snapshots = snapshots_asked_for();
    for item in 0..settled {
        filter.insert(&item).expect("there is room");
    }
    let writers: Vec<Writer> = (0..WRITERS).map(|_| Writer::default()).collect();
    let taken = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let wanted = || keys_of_each(taken.load(Ordering::Relaxed) as usize);
    thread::scope(|scope| {
        for me in 0..WRITERS {
            let (writers, wanted, stop) = (&writers, &wanted, &stop);
            scope.spawn(move || write(filter, writers, me, wanted, stop));
        }
        // Stops the writers when a check fails, too.
        let _stop = Stop(&stop);
        for snapshot in 0..snapshots as u64 {
            // Each of them of another state, however the threads take turns.
            while moves(&writers) < OPERATIONS_BETWEEN * snapshot {
                thread::yield_now();
            }
            let before: Vec<_> = writers.iter().map(Writer::progress).collect();
            let snapshot = filter.snapshot().expect("memory");
            let after: Vec<_> = writers.iter().map(Writer::progress).collect();
            taken.fetch_add(1, Ordering::Relaxed);

            let len = snapshot.len();
            let restored = Filter::<L>::from_snapshot(snapshot, *filter.hasher()).expect("valid");
            assert!((0..settled).all(|item| restored.contains(&item)), "a settled item is missed");
            let mut found = settled;
            let mut last_of_the_one_before = u64::MAX;
            for (me, ([inserted, removed], [inserted_after, removed_after])) in
                before.iter().zip(&after).enumerate()
            {
                for number in removed_after + 1..*inserted {
                    assert!(restored.contains(&key(me, number)), "{me}: {number} is missed");
                }
                if certain {
                    let held: Vec<u64> = (*removed..=*inserted_after)
                        .filter(|&number| restored.contains(&key(me, number)))
                        .collect();
                    let contiguous = held.windows(2).all(|two| two[1] == two[0] + 1);
                    assert!(contiguous, "{me}: {held:?} at no instant");
                    let last = held.last().copied().unwrap_or(0);
                    assert!(
                        last <= last_of_the_one_before,
                        "{me} is at {last}, and the one before at {last_of_the_one_before}"
                    );
                    last_of_the_one_before = last;
                    found += held.len() as u64;
                }
            }
            if certain {
                assert_eq!(len as u64, found, "`len` of the snapshot");
            }
            assert_eq!(restored.len(), len);
        }
    });
    // Nothing is left of the mirrors.
    let last = filter.snapshot().expect("memory");
    assert_eq!(last.len(), filter.len());
    println!("{snapshots} snapshots beside {} inserts and removals", moves(&writers));
}

/// A filter of fixed size at such a load that most inserts kick.
fn fixed<L: Layout>(load: f64) {
    let hasher = StableHashBuilder::new(1);
    let filter =
        CuckooFilter::builder().layout::<L>().capacity(4000).hasher(hasher).build().unwrap();
    let items = (filter.slots() as f64 * load) as u64;
    let each = items / 2 / WRITERS as u64;
    snapshots_are_exact(&filter, items / 2, |_| each, L::FINGERPRINT_BITS == 32);
}

/// A filter that grows meanwhile, from its first size to its greatest.
fn growing<L: FixedStorage + Layout>() {
    let hasher = StableHashBuilder::new(1);
    let builder = CuckooFilter::builder().layout::<L>().hasher(hasher);
    let filter: CuckooFilter<Growable<L>, _> =
        builder.capacity(50).max_capacity(6000).build().unwrap();
    let snapshots = snapshots_asked_for();
    let each = |taken| 20 + (900 * taken / snapshots) as u64;
    snapshots_are_exact(&filter, 50, each, L::FINGERPRINT_BITS == 32);
    assert!(filter.len() > 500, "it has not grown: {filter:?}");
}

#[test]
fn of_two_fingerprints_of_32_bits() {
    fixed::<Fp32x2>(0.82);
}

#[test]
fn of_the_default_layout() {
    fixed::<Fp16x4>(0.94);
}

#[test]
fn of_a_semi_sorted_layout() {
    fixed::<SemiSorted14x5>(0.95);
}

#[test]
fn of_a_filter_that_grows() {
    growing::<Fp32x2>();
}

#[test]
fn of_a_filter_of_the_default_layout_that_grows() {
    growing::<Fp16x4>();
}
