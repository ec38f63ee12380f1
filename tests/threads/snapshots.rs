//! Snapshots on the real machine, beside threads that insert, remove, kick and let the filter grow.
//!
//! Each writer owns a row of items, numbered from 0. It inserts the next item or removes the first one that is left. So
//! at every instant it has the items from `first` to `last` and no others. A writer inserts an item only after the
//! writer before it has inserted its own item of that number. So at every instant the `last` of each writer is at most
//! that of the writer before it. A snapshot must show such an instant, one between its call and its return, and its
//! `len` must be exact.
//!
//! No two items share a class, so the filter tells them apart in every layout. A writer has [`ROW`] items, and begins
//! again after the last. It is stopped before it can come to the same item twice during one snapshot.
//!
//! In a long run of length n each test takes n times 500 snapshots. It goes on until writers have inserted or removed
//! during a tenth of that number.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use coucal::{Prehashed, Storage};
use coucal_reference::format::Class;
use rand::RngExt;

use crate::common::{
    Filter, HASHER, Layout, Stop, Subject, default_layout, hashes, random, repetitions, turn,
};

/// The number of writers: more than most machines that run tests have cores.
const WRITERS: usize = 6;

/// The minimum number of inserts and removals from one snapshot to the next: more than a filter that must grow still
/// needs then, however slow the writers are.
const OPERATIONS_BETWEEN: u64 = 60;

/// The maximum number of inserts of a writer from one snapshot to the next.
const INSERTS_BETWEEN: u64 = 500;

/// The number of items of a writer.
const ROW: usize = 2048;

/// The minimum number of snapshots of each filter.
fn snapshots_of_each() -> usize {
    repetitions(100, 500) as usize
}

/// Returns hashes of which no two share a class, so that a filter tells them apart.
fn distinct(class: impl Fn(u64) -> Class, count: usize) -> Vec<u64> {
    let mut classes = HashSet::new();
    hashes(1).filter(|&hash| classes.insert(class(hash))).take(count).collect()
}

/// What the threads of a test share.
struct Shared<'a, L: Storage> {
    filter: &'a Filter<L>,
    /// The items of each writer.
    rows: Vec<&'a [u64]>,
    writers: Vec<Writer>,
    /// No writer inserts an item with this number or a higher one.
    limit: AtomicU64,
    stop: AtomicBool,
}

impl<L: Storage> Shared<'_, L> {
    fn item(&self, writer: usize, number: u64) -> u64 {
        self.rows[writer][number as usize % ROW]
    }

    fn progress(&self) -> Vec<[u64; 2]> {
        self.writers.iter().map(Writer::progress).collect()
    }

    /// Returns the number of inserts and removals of all writers so far.
    fn moves(&self) -> u64 {
        self.progress().as_flattened().iter().sum()
    }

    /// Inserts and removes until the thread is told to stop, and keeps about `wanted` items.
    fn write(&self, me: usize, wanted: impl Fn() -> u64) {
        let mut random = random(me as u64);
        let Writer { inserted, removed } = &self.writers[me];
        while !self.stop.load(Ordering::Relaxed) {
            let [next, first] = self.writers[me].progress();
            let has = next - first;
            let may_insert = next < self.limit.load(Ordering::Relaxed)
                && (me == 0 || self.writers[me - 1].progress()[0] > next);
            // No writer gets far ahead of the one that follows it.
            let followed = me + 1 == WRITERS || self.writers[me + 1].progress()[0] + 64 > next;
            let wants = has < wanted() || has == wanted() && random.random_bool(0.5);
            if may_insert && followed && wants {
                self.filter.insert(&Prehashed(self.item(me, next))).expect("there is room");
                inserted.store(next + 1, Ordering::Release);
            } else if has > 0 && has >= wanted() {
                assert!(self.filter.remove(&Prehashed(self.item(me, first))), "an item is lost");
                removed.store(first + 1, Ordering::Release);
            } else {
                thread::yield_now();
            }
        }
    }
}

/// A writer has the items from `removed` to `inserted`, without the latter. While an operation is under way, one of
/// these numbers may be too low by one.
#[derive(Default)]
struct Writer {
    inserted: AtomicU64,
    removed: AtomicU64,
}

impl Writer {
    /// Returns two certain bounds: the items below these numbers have been inserted, and removed.
    fn progress(&self) -> [u64; 2] {
        // Acquire: pairs with the Release stores of `write`. Operations that have returned come before those that begin
        // now.
        [&self.inserted, &self.removed].map(|n| n.load(Ordering::Acquire))
    }
}

/// Takes snapshots of a filter that tells the classes of items apart, and in which each writer keeps about
/// `items_of_each` items.
fn snapshots_are_exact<F: Storage>(
    filter: &Filter<F>,
    class: impl Fn(u64) -> Class,
    settled: usize,
    items_of_each: impl Fn(usize) -> u64 + Sync,
) {
    let _turn = turn();
    let snapshots = snapshots_of_each();
    let items = distinct(class, settled + WRITERS * ROW);
    let (settled, rows) = items.split_at(settled);
    filter.insert_many(Prehashed::slice(settled)).expect("there is room");
    let shared = Shared {
        filter,
        rows: rows.chunks(ROW).collect(),
        writers: (0..WRITERS).map(|_| Writer::default()).collect(),
        limit: AtomicU64::new(INSERTS_BETWEEN),
        stop: AtomicBool::new(false),
    };
    let taken = AtomicU64::new(0);
    let wanted = || items_of_each(taken.load(Ordering::Relaxed) as usize);
    thread::scope(|scope| {
        for me in 0..WRITERS {
            let (shared, wanted) = (&shared, &wanted);
            scope.spawn(move || shared.write(me, wanted));
        }
        // Stops the writers also if a check fails.
        let _stop = Stop(&shared.stop);
        let (mut snapshot, mut beside) = (0, 0);
        while snapshot < snapshots as u64 || 10 * beside < snapshots {
            // Each snapshot is of another state, however the threads take turns.
            while shared.moves() < OPERATIONS_BETWEEN * snapshot {
                thread::yield_now();
            }
            let before = shared.progress();
            let furthest = before.iter().map(|[inserted, _]| inserted).max().expect("writers");
            shared.limit.store(furthest + INSERTS_BETWEEN, Ordering::Relaxed);
            let image = filter.snapshot().expect("memory");
            let after = shared.progress();
            taken.fetch_add(1, Ordering::Relaxed);
            snapshot += 1;
            beside += usize::from(before != after);

            let len = image.len();
            let restored = Filter::<F>::from_snapshot(&image, HASHER).expect("valid");
            let is_held = |&item: &u64| restored.contains(&Prehashed(item));
            assert!(settled.iter().all(is_held), "a settled item is missed");
            let mut found = settled.len();
            let mut last_of_the_one_before = u64::MAX;
            for (me, ([inserted, removed], [inserted_after, removed_after])) in
                before.iter().zip(&after).enumerate()
            {
                let numbers = *removed..=*inserted_after;
                assert!(numbers.clone().count() <= ROW, "{numbers:?} name an item twice");
                let held: Vec<u64> =
                    numbers.filter(|&number| is_held(&shared.item(me, number))).collect();
                let contiguous = held.windows(2).all(|two| two[1] == two[0] + 1);
                assert!(contiguous, "{me}: {held:?} at no instant");
                // Another removal may be under way.
                let certain = removed_after + 1..*inserted;
                assert!(
                    certain.clone().all(|number| held.binary_search(&number).is_ok()),
                    "{me}: {held:?} without some of {certain:?}"
                );
                if let Some(&last) = held.last() {
                    assert!(
                        last <= last_of_the_one_before,
                        "{me} is at {last}, and the one before at {last_of_the_one_before}"
                    );
                    last_of_the_one_before = last;
                }
                found += held.len();
            }
            assert_eq!(len, found, "`len` of the snapshot");
            assert_eq!(restored.len(), len);
        }
        println!("{snapshot} snapshots, {beside} of them beside inserts and removals");
    });
    // Nothing is left of the mirrors.
    let last = filter.snapshot().expect("memory");
    assert_eq!(last.len(), filter.len());
    println!("{} inserts and removals", shared.moves());
}

/// A filter of fixed size, at such a load that most inserts kick.
fn of_fixed_size(layout: Layout, load: f64) {
    let filter = layout.filter(4000);
    let items = (filter.slots() as f64 * load) as usize;
    let each = (items / 2 / WRITERS) as u64;
    let geometry = filter.geometry();
    snapshots_are_exact(&filter, |hash| geometry.class(hash), items / 2, |_| each);
}

/// A filter that grows meanwhile, from its first size to its maximum.
fn that_grows(layout: Layout) {
    let filter = layout.growing(50, 6000);
    let snapshots = snapshots_of_each();
    let each = |taken: usize| 20 + (900 * taken.min(snapshots) / snapshots) as u64;
    let geometry = filter.geometry();
    snapshots_are_exact(&filter, |hash| geometry.class(hash), 50, each);
    assert!(filter.len() > 500, "it has not grown: {filter:?}");
}

#[test]
fn of_filters_of_fixed_size() {
    for (name, load) in [("Fp32x2", 0.82), ("Fp16x4", 0.94), ("SemiSorted14x5", 0.95)] {
        of_fixed_size(Layout::named(name), load);
    }
}

#[test]
fn of_filters_that_grow() {
    that_grows(Layout::named("Fp32x2"));
    that_grows(default_layout());
}
