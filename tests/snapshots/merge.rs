//! One filter into another: the union of multisets, or nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use coucal::{
    AnyCuckooFilter, CuckooFilter, DefaultHashBuilder, Error, StableHashBuilder, Storage,
};

use coucal_reference::format::Value;
use coucal_reference::{Item, Subject};

use crate::common::{
    Filter, Growing, HASHER, Layout, default_layout, entries, hashes, prehashed, widths,
};

of_each_layout! {
    the_union_of_both
    to_the_last_slot
}

of_each_growing_layout! {
    the_union_of_two_that_grow
    the_union_of_any_sizes
}

fn fill<L: Storage>(filter: &Filter<L>, items: impl Iterator<Item = u64>) {
    items.for_each(|item| filter.insert(&item).expect("room for the items of a test"));
}

fn hashes_of<L: Storage>(filter: &Filter<L>, items: u64) -> Vec<u64> {
    (0..items).map(|item| filter.hash_of(&item)).collect()
}

/// Every class has as many copies of each value as both together had, in the snapshot and by lookups.
fn check_union<S: Subject>(one: &S, other: &S, hashes: &[u64]) {
    let values = |of: &S, hash| of.values(hash);
    let mut expected = entries(one);
    for (entry, copies) in entries(other) {
        *expected.entry(entry).or_default() += copies;
    }
    let found: Vec<Vec<Value>> = hashes
        .iter()
        .map(|&hash| {
            let mut both = [values(one, hash), values(other, hash)].concat();
            both.sort_unstable();
            both
        })
        .collect();
    let (before, len) = (other.bytes(), one.len() + other.len());
    assert_eq!(one.merge(other), Ok(()), "{one:?}, {other:?}");
    assert_eq!(one.len(), len);
    assert!(other.bytes() == before, "the other is as it was");
    assert_eq!(entries(one), expected);
    assert!(hashes.iter().map(|&hash| values(one, hash)).eq(found), "{one:?}");
}

fn of_value_1(seed: u64, pairs: usize) -> Vec<Item> {
    hashes(seed).take(pairs).map(|hash| (hash, 1)).collect()
}

/// Some of the pairs are in both.
fn check_union_of_maplets<S: Subject>(one: &S, other: &S, pairs: usize) {
    let top = (1_u64 << one.value_bits()) - 1;
    let some = |seed, count| -> Vec<Item> {
        hashes(seed).take(count).map(|hash| (hash, (hash >> 7 & top) as Value)).collect()
    };
    one.insert_many(&some(1, pairs / 3)).expect("room");
    other.insert_many(&some(2, pairs / 3)).expect("room");
    other.insert_many(&some(1, pairs / 10)).expect("room");
    let all: Vec<u64> = hashes(1).take(pairs).chain(hashes(2).take(pairs)).collect();
    check_union(one, other, &all);
}

fn the_union_of_both(layout: Layout) {
    for items in [4, 100, 5000_u64] {
        // Some items are in both.
        let [one, other] = [0; 2].map(|_| layout.filter(2 * items as usize));
        fill(&one, 0..items / 2);
        fill(&other, items / 3..items * 3 / 4);
        check_union(&one, &other, &hashes_of(&one, 2 * items));
    }
    for bits in widths(layout.longest_values()) {
        let [one, other] = [0; 2].map(|_| layout.maplet(2000, bits));
        check_union_of_maplets(&one, &other, 2000);
        // All of it, or nothing.
        let [one, other] = [0; 2].map(|_| layout.maplet(0, bits));
        one.insert_many(&prehashed(&of_value_1(1, layout.slots + 1))).unwrap();
        other.insert_many(&prehashed(&of_value_1(2, layout.slots))).unwrap();
        let before = one.bytes();
        assert_eq!(one.merge(&other), Err(Error::Full));
        assert_eq!(one.bytes(), before);
    }
    let [one, other] = [1, 2].map(|bits| layout.maplet(100, bits));
    let error = Error::OtherValueBits { value_bits: 1, other: 2 };
    assert_eq!(one.merge(&other), Err(error));
    assert_eq!(other.merge(&layout.maplet(100, 2)), Ok(()));
}

/// The one grows while it takes in the other, which has grown further.
fn the_union_of_two_that_grow(layout: Layout) {
    for items in [4, 100, 5000_u64] {
        let first = items as usize / 3;
        let [one, other] = [0; 2].map(|_| layout.growing(first, items as usize));
        fill(&one, 0..items / 8);
        fill(&other, items / 8..items * 3 / 4);
        check_union(&one, &other, &hashes_of(&one, 2 * items));
    }
    for bits in widths(layout.longest_values()) {
        let [one, other] = [0; 2].map(|_| layout.growing_maplet(400, 2000, bits));
        check_union_of_maplets(&one, &other, 2000);
    }
}

/// Filters that grow: one began larger than the other, or has grown further, or has no maximum.
fn the_union_of_any_sizes(layout: Layout) {
    let unbounded = || layout.filters().growable().build().unwrap();
    let sizes: [&dyn Fn() -> Growing; 4] =
        [&|| layout.growing(1, 10_000), &|| layout.growing(300, 20_000), &unbounded, &|| {
            layout.growing(3000, 3000)
        }];
    for one in sizes {
        for other in sizes {
            for (of_one, of_other) in [(10, 2000), (2000, 10), (900, 1100)] {
                let (one, other) = (one(), other());
                fill(&one, 0..of_one);
                fill(&other, of_one..of_one + of_other);
                one.merge(&other).unwrap();
                let items = of_one + of_other;
                assert_eq!(one.len() as u64, items);
                for item in 0..items {
                    assert!(one.contains(&item), "{item}: {one:?}");
                }
                let found = (10_000..20_000_u64).filter(|item| one.contains(item)).count() as f64;
                let stated = 10_000.0 * one.false_positive_rate();
                assert!((found - stated).abs() < 10.0 + 0.3 * stated, "{found}, {stated}");
                // What is restored from it is the same, and all of it can be removed.
                let bytes = one.snapshot().unwrap().into_bytes();
                let restored = Growing::from_bytes(&bytes, HASHER).unwrap();
                assert_eq!(restored.len(), one.len());
                assert!((0..items).all(|item| restored.remove(&item)));
                assert!(restored.is_empty());
            }
        }
    }
}

/// Two buckets hold any items that they have slots for, and not one more.
fn to_the_last_slot(layout: Layout) {
    let slots = layout.slots as u64;
    let [one, other] = [0; 2].map(|_| layout.filter(0));
    fill(&one, 0..slots);
    fill(&other, slots..2 * slots);
    check_union(&one, &other, &hashes_of(&one, 4 * slots));
    assert_eq!(one.len(), one.slots());

    other.clear();
    fill(&other, 0..1);
    assert_eq!(one.merge(&other), Err(Error::Full));
    assert_eq!((one.len(), other.len()), (one.slots(), 1));
}

#[test]
fn into_itself() {
    let filter = default_layout().filter(1000);
    fill(&filter, 0..300);
    filter.merge(&filter).unwrap();
    assert!((0..300_u64).all(|item| filter.count(&item) >= 2));
    assert_eq!(filter.len(), 600);
}

#[test]
fn what_is_not_alike_is_an_error() {
    let filter = default_layout().filter(1000);
    fill(&filter, 0..10);
    let error = filter.merge(&default_layout().filter(2000)).unwrap_err();
    assert!(matches!(error, Error::OtherSize { slots, other } if slots < other), "{error}");
    assert!(error.to_string().contains("build both with the same capacity"), "{error}");

    let other_seed = CuckooFilter::builder().any_layout().capacity(1000);
    let other_seed = other_seed.hasher(StableHashBuilder::new(8)).build().unwrap();
    let error = filter.merge(&other_seed).unwrap_err();
    assert_eq!(error, Error::OtherHasher);
    assert!(error.to_string().contains("clones of"), "{error}");
    let [one, other] =
        [0; 2].map(|_| CuckooFilter::with_capacity_and_hasher(1000, DefaultHashBuilder::default()));
    assert_eq!(one.merge(&other), Err(Error::OtherHasher));

    let any = |rate| -> AnyCuckooFilter<_> {
        CuckooFilter::builder()
            .capacity(1000)
            .false_positive_rate(rate)
            .any_layout()
            .hasher(HASHER)
            .build()
            .unwrap()
    };
    let error = any(0.01).merge(&any(0.0001)).unwrap_err();
    assert_eq!(error, Error::OtherLayout { other: "SemiSorted17x4", filter: "Fp12x5" });
    assert_eq!(filter.len(), 10);
}

/// A union that does not fit, by its number and by chance, leaves everything as it was.
#[test]
fn what_does_not_fit_changes_nothing() {
    for share in [99, 60] {
        let [one, other] = [0; 2].map(|_| default_layout().filter(1000));
        let slots = one.slots() as u64;
        fill(&one, 0..slots / 2);
        fill(&other, 1000..1000 + slots * share / 100 - slots / 10);
        let counts = || (0..3000_u64).map(|item| one.count(&item)).collect::<Vec<_>>();
        let (before, len) = (counts(), one.len());
        assert_eq!(one.merge(&other), Err(Error::Full));
        assert_eq!((counts(), one.len()), (before, len));
    }
}

/// While other threads use both: what was in the one is found throughout, what comes and goes
/// meanwhile is exact, and what was settled in the other is there afterwards.
///
/// A short merge may be over before another thread gets to run: it is repeated until each of the
/// others has begun and ended an operation during ten merges.
#[test]
fn while_others_use_both() {
    let mut overlaps = [0; 3];
    let mut rounds = 0;
    while overlaps.iter().any(|&merges| merges < 10) {
        rounds += 1;
        assert!(rounds < 2000, "the other threads wait for a merge: {overlaps:?}");
        let [one, other] = [0; 2].map(|_| default_layout().growing(1000, 40_000));
        fill(&one, 0..10_000);
        fill(&other, 10_000..20_000);
        let stop = AtomicBool::new(false);
        // Operations of each of the other threads.
        let operations = [const { AtomicUsize::new(0) }; 3];
        let count = || operations.each_ref().map(|of| of.load(Ordering::Relaxed));
        thread::scope(|scope| {
            for (filter, operations) in [&one, &other].into_iter().zip(&operations) {
                let stop = &stop;
                scope.spawn(move || {
                    let counted = || operations.fetch_add(1, Ordering::Relaxed);
                    let coming_and_going = 30_000..31_000_u64;
                    while !stop.load(Ordering::Relaxed) {
                        for item in coming_and_going.clone() {
                            filter.insert(&item).expect("there is room");
                            counted();
                        }
                        assert!(coming_and_going.clone().all(|item| filter.contains(&item)));
                        for item in coming_and_going.clone() {
                            assert!(filter.remove(&item), "{item} is lost");
                            counted();
                        }
                    }
                });
            }
            scope.spawn(|| {
                for item in (0..10_000_u64).cycle() {
                    assert!(one.contains(&item), "a settled item is missed");
                    operations[2].fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            while count().contains(&0) {
                thread::yield_now();
            }
            let before = count();
            one.merge(&other).unwrap();
            let after = count();
            stop.store(true, Ordering::Relaxed);
            // The first of two may have begun before.
            for (overlaps, (before, after)) in overlaps.iter_mut().zip(before.iter().zip(after)) {
                *overlaps += usize::from(after >= before + 2);
            }
        });
        assert!((0..20_000_u64).all(|item| one.contains(&item)));
        // The image of the other filter may have had any of the items that came and went.
        assert!((20_000..=21_000).contains(&one.len()), "{}", one.len());
        assert_eq!(other.len(), 10_000);
    }
    println!("{rounds} merges, beside the others {overlaps:?}");
}
