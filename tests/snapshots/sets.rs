//! Set operations on two filters: unmerge, intersection, overlap. In filters of fixed size and in growing ones, also of
//! different sizes, and with a stash.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use coucal::{CuckooFilter, Error, Growable, Prehashed, StableHashBuilder, Storage};

use crate::common::{Filter, Layout, Stop, default_layout, hashes, usually};

of_each_layout! {
    an_unmerge_of_fixed_size
    an_intersection_of_fixed_size
}

of_each_growing_layout! {
    an_unmerge_of_any_sizes
    an_intersection_of_any_sizes
}

fn fill<L: Storage>(filter: &Filter<L>, items: &[Prehashed]) {
    filter.insert_all(items).expect("room for the items of a test");
}

fn bytes<L: Storage>(filter: &Filter<L>) -> Vec<u8> {
    filter.snapshot().expect("memory").into_bytes()
}

/// Returns hashes, of which some come several times: more often than two buckets have slots.
fn crowded(seed: u64, count: usize) -> Vec<Prehashed> {
    let times = |at: usize| if at % 50 == 7 { 20 } else { 1 };
    let all = hashes(seed).enumerate().flat_map(|(at, hash)| std::iter::repeat_n(hash, times(at)));
    all.take(count).map(Prehashed).collect()
}

fn fixed(layout: Layout, capacity: usize) -> Filter {
    layout.filters().capacity(capacity).build().expect("memory")
}

/// All that was merged is removed, and nothing else: each count is as before. Other stashed entries go back later or
/// stay, so words are not compared.
fn an_unmerge_of_fixed_size(layout: Layout) {
    let count = usually(2000, 50_000) as usize;
    let [ours, theirs] = [0; 2].map(|_| fixed(layout, 2 * count));
    let [own, merged] = [1, 2].map(|seed| crowded(seed, count));
    fill(&ours, &own);
    fill(&theirs, &merged);
    let all = own.iter().chain(&merged);
    let before: Vec<usize> = all.clone().map(|item| ours.count(item)).collect();
    ours.merge(&theirs).unwrap();
    assert_eq!(ours.len(), own.len() + merged.len());
    assert_eq!(ours.unmerge(&theirs), Ok(0));
    let after: Vec<usize> = all.map(|item| ours.count(item)).collect();
    assert!(before == after, "{layout:?}");
    assert_eq!(ours.len(), own.len());
    // The second time it finds only what looks like an item of the filter.
    let absent = merged.iter().filter(|item| !ours.contains(*item)).count();
    let missing = ours.unmerge(&theirs).unwrap();
    assert!(missing >= absent && missing <= merged.len(), "{layout:?}: {missing} of {absent}");
}

/// The same after more growth, by which entries of the merged filter are doubled.
fn an_unmerge_of_any_sizes(layout: Layout) {
    for (own, merged, more) in
        [(3000, 300, 0), (300, 3000, 0), (500, 500, 20_000), (2000, 90, 9000)]
    {
        let build = || layout.growing_filters().build().expect("memory");
        let [ours, theirs, without] = [(); 3].map(|()| build());
        let (items, others) = (crowded(1, own), crowded(2, merged));
        let more: Vec<_> = hashes(3).take(more).map(Prehashed).collect();
        fill(&ours, &items);
        fill(&theirs, &others);
        ours.merge(&theirs).unwrap();
        fill(&ours, &more);
        assert_eq!(ours.unmerge(&theirs), Ok(0), "{layout:?}");
        assert_eq!(ours.len(), items.len() + more.len(), "{layout:?}");
        assert!(items.iter().chain(&more).all(|item| ours.contains(item)), "{layout:?}");
        // As many absent items are found as in a filter that never had them.
        fill(&without, &items);
        fill(&without, &more);
        let found = |filter: &Filter<Growable<_>>| {
            others.iter().filter(|item| filter.contains(*item)).count()
        };
        let (left, chance) = (found(&ours), found(&without));
        assert!(left <= 2 * chance + 8, "{layout:?}: {left} are left, and {chance} by chance");
    }
}

/// Checks an intersection: all common items stay with their copies, and of the others few do. Each item comes up to
/// `times` times.
fn intersect<L: Storage>(
    ours: &Filter<L>,
    theirs: &Filter<L>,
    [own, common, foreign]: [&[Prehashed]; 3],
    times: usize,
) {
    fill(ours, own);
    fill(ours, common);
    fill(theirs, common);
    fill(theirs, foreign);
    let copies: Vec<usize> = common.iter().map(|item| ours.count(item)).collect();
    let (len, overlap) = (ours.len(), ours.overlap(theirs).unwrap());
    let stashed = ours.stats().stashed_copies;
    let removed = ours.intersect(theirs).unwrap();
    assert!(ours.len() + removed == len, "{} and {removed} of {len}", ours.len());
    for (item, copies) in common.iter().zip(copies) {
        assert_eq!(ours.count(item), copies);
    }
    let chance = theirs.false_positive_rate() * own.len() as f64;
    let left = ours.len() - common.len();
    let stashes = theirs.stats().stashed_entries > 0;
    // A growing filter keeps each item whose group has a stashed entry in the other filter.
    let is_blind = stashes && times == 1;
    let times = times as f64;
    assert!(
        is_blind || (left as f64) < 2.0 * chance + 6.0 * (times * chance).sqrt() + 8.0 + times,
        "{left} of {} are left, {chance:.1} by chance",
        own.len()
    );
    if stashed == 0 && !stashes {
        let error = (overlap.items - common.len() as f64).abs();
        assert!(error < 6.0 * overlap.standard_error + 1.0, "{overlap:?} of {}", common.len());
    }
    // Again, nothing goes.
    assert_eq!(ours.intersect(theirs), Ok(0));
}

fn an_intersection_of_fixed_size(layout: Layout) {
    let count = usually(1000, 30_000) as usize;
    for is_crowded in [false, true] {
        let [ours, theirs] = [0; 2].map(|_| fixed(layout, 3 * count));
        let items = |seed: u64| -> Vec<Prehashed> {
            if is_crowded {
                crowded(seed, count)
            } else {
                hashes(seed).take(count).map(Prehashed).collect()
            }
        };
        let [own, common, foreign] = [1, 2, 3].map(items);
        intersect(&ours, &theirs, [&own, &common, &foreign], if is_crowded { 20 } else { 1 });
    }
}

fn an_intersection_of_any_sizes(layout: Layout) {
    let sizes =
        [(3000, 200, 100), (100, 200, 3000), (1000, 1000, 1000), (20_000, 50, 0), (0, 50, 20_000)];
    for (own, common, foreign) in sizes {
        let build = || layout.growing_filters().build().expect("memory");
        let items =
            |(seed, count)| -> Vec<Prehashed> { hashes(seed).take(count).map(Prehashed).collect() };
        let [own, common, foreign] = [(1, own), (2, common), (3, foreign)].map(items);
        intersect(&build(), &build(), [&own, &common, &foreign], 1);
    }
}

/// Entries of a small filter that was merged into a large one are doubled many times. After an intersection each copy
/// of an item is still counted once, within 2 %, whether the other filter tells the parts of an entry apart or not. It
/// is within 40 % if the large filter was merged into a smaller one, whose buckets do not tell parts from copies.
#[test]
fn the_length_after_an_intersection_of_doubled_entries() {
    let new = || default_layout().growing_filters().build().expect("memory");
    let all: Vec<Prehashed> = hashes(1).take(3000).map(Prehashed).collect();
    // More copies than two buckets have slots for; and most copies are of one item.
    let crowd = |at: usize| match at {
        1150 => 2000,
        _ if at % 100 == 50 => 30,
        _ => 1,
    };
    let items = |range: Range<usize>| -> Vec<Prehashed> {
        range.flat_map(|at| std::iter::repeat_n(all[at], crowd(at))).collect()
    };
    for (capacity_of_other, is_merged) in
        [(0, false), (3000, false), (1_000_000, false), (0, true), (1_000_000, true)]
    {
        for kept in [0..1000, 500..1100, 1000..1300, 0..1300, 1051..1300, 2000..2000] {
            let [ours, theirs, small] = [(); 3].map(|()| new());
            let (own, merged) = (items(0..1000), items(1000..1300));
            fill(&ours, &own);
            fill(&small, &merged);
            ours.reserve(1_000_000).unwrap();
            ours.merge(&small).unwrap();
            let ours = if is_merged {
                let smaller = new();
                smaller.merge(&ours).unwrap();
                smaller
            } else {
                ours
            };
            theirs.reserve(capacity_of_other).unwrap();
            fill(&theirs, &all[kept.clone()]);
            let (before, left) = (own.len() + merged.len(), items(kept.clone()).len());
            assert_eq!(ours.len(), before);
            let removed = ours.intersect(&theirs).unwrap();
            assert!(all[kept.clone()].iter().all(|item| ours.contains(item)));
            println!("{capacity_of_other} {is_merged}: {} of {left} items are left", ours.len());
            let error = if is_merged { left * 2 / 5 } else { left / 50 };
            assert!(ours.len().abs_diff(left) <= error, "{} of {left}", ours.len());
            assert_eq!(ours.len() + removed, before);
        }
    }
}

#[test]
fn filters_that_do_not_fit_together() {
    let new = |capacity: usize, seed: u64| {
        let builder = CuckooFilter::builder().capacity(capacity).any_layout();
        builder.hasher(StableHashBuilder::new(seed)).build().unwrap()
    };
    let ours = new(1000, 1);
    fill_one(&ours);
    let before = bytes(&ours);
    let longer = CuckooFilter::builder().capacity(1000).layout_named("Fp32x2").unwrap();
    let longer = longer.hasher(StableHashBuilder::new(1)).build().unwrap();
    for other in [new(9000, 1), new(1000, 2), longer] {
        let error = ours.merge(&other).unwrap_err();
        assert!(matches!(
            error,
            Error::OtherSize { .. } | Error::OtherHasher | Error::OtherLayout { .. }
        ));
        assert_eq!(ours.unmerge(&other), Err(error.clone()));
        assert_eq!(ours.intersect(&other), Err(error.clone()));
        assert_eq!(ours.overlap(&other), Err(error));
    }
    assert!(bytes(&ours) == before);
}

fn fill_one<L: Storage>(filter: &coucal::Filter<L, StableHashBuilder>) {
    filter.insert(&1).unwrap();
}

/// Common items are found all the time, while other threads insert into both filters and remove, so that entries are
/// kicked and split. Some intersections run beside each of these threads.
#[test]
fn common_items_are_found_during_an_intersection() {
    for _ in 0..usually(5, 100) {
        // Most entries of a small filter are kicked soon.
        common_items_are_found(4000, 5);
        common_items_are_found(30, 2000);
    }
}

/// Checks `count` common items during `least` intersections or more.
fn common_items_are_found(count: usize, least: usize) {
    let filters = &[0; 2].map(|_| default_layout().growing(0, 2 * count));
    let [ours, theirs] = filters;
    let items =
        |seed, count| -> Vec<Prehashed> { hashes(seed).take(count).map(Prehashed).collect() };
    let (own, common) = (items(1, count), &items(2, count));
    // As many as make the filters nearly full when they have grown.
    let full = default_layout().growing(2 * count, 2 * count).slots() * 94 / 100;
    let others = [3, 4].map(|seed| items(seed, full - count));
    fill(ours, &own);
    fill(ours, common);
    fill(theirs, common);
    let stop = &AtomicBool::new(false);
    // The number of operations of each of the other threads.
    let operations = &[const { AtomicUsize::new(0) }; 3];
    let counts = || operations.each_ref().map(|of| of.load(Ordering::Relaxed));
    thread::scope(|scope| {
        let _stop = Stop(stop);
        for ((filter, others), operations) in filters.iter().zip(&others).zip(operations) {
            scope.spawn(move || {
                let _stop = Stop(stop);
                let counted = |is_done: bool| {
                    operations.fetch_add(1, Ordering::Relaxed);
                    is_done
                };
                while !stop.load(Ordering::Relaxed) {
                    // Some find no room in our filter until an intersection has removed its other items.
                    let insert = |item: &&Prehashed| counted(filter.insert(*item).is_ok());
                    let held: Vec<&Prehashed> = others.iter().filter(insert).collect();
                    for item in held {
                        // The intersection may have been faster.
                        assert!(counted(filter.remove(item)) || std::ptr::eq(filter, ours));
                    }
                }
            });
        }
        scope.spawn(move || {
            let _stop = Stop(stop);
            for item in common.iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                assert!(ours.contains(item) && theirs.contains(item), "an item is missed");
                operations[2].fetch_add(1, Ordering::Relaxed);
            }
        });
        let (mut calls, mut overlaps) = (0, [0; 3]);
        while (calls < least || overlaps.iter().any(|&overlaps| overlaps < 5))
            && !stop.load(Ordering::Relaxed)
        {
            calls += 1;
            assert!(calls < 1_000_000, "the other threads wait for an intersection: {overlaps:?}");
            let before = counts();
            ours.intersect(theirs).unwrap();
            // The first of two operations may have begun before the intersection.
            for (overlaps, (before, after)) in overlaps.iter_mut().zip(before.iter().zip(counts()))
            {
                *overlaps += usize::from(after >= before + 2);
            }
        }
        println!("{count} items: {calls} intersections, beside the others {overlaps:?}");
    });
    assert!(common.iter().all(|item| ours.contains(item)));
}

/// Stashed entries count, and equal copies count once.
#[test]
fn an_overlap_counts_stashed_entries() {
    let [ours, theirs] = [0; 2].map(|_| fixed(default_layout(), 100));
    let hot = [Prehashed(7); 30];
    fill(&ours, &hot);
    fill(&theirs, &hot[..1]);
    assert_eq!(ours.stats().stashed_entries, 1);
    // Eight slots, and one entry.
    let overlap = ours.overlap(&theirs).unwrap();
    assert!((overlap.items - 9.0).abs() < 0.01, "{overlap:?}");
}
