//! The promises that hold for one thread, each for every layout to which it applies.

use std::hash::BuildHasher;

use coucal::{Prehashed, Storage};
use rustc_hash::FxBuildHasher;

use crate::common::{Filter, Kind, Layout, default_layout, fill, hashes, usually};

of_each_layout! {
    holds_the_items_it_was_made_for
    figures_are_exact
}

/// Also with the longest values, beside which fingerprints are short.
fn holds_the_items_it_was_made_for(layout: Layout) {
    let small = (0..200).map(|n| (n, usually(10, 200)));
    let large = [(500, 4), (1000, 4), (2000, 4), (5000, 4), (10_000, 2), (20_000, 1), (100_000, 1)];
    let large = large.into_iter().map(|(n, seeds)| (n, usually(1, 10) * seeds));
    let largest = usually(None, Some((1_000_000, 2)));
    let all = small.chain(large).chain(largest);
    for (n, seed) in all.flat_map(|(n, seeds)| (0..seeds).map(move |seed| (n, seed))) {
        for kind in Kind::each(layout, u32::MAX).into_iter().filter(|kind| !kind.grows) {
            let (subject, items) = (kind.build(0, n), kind.items(seed ^ (n as u64) << 20, n));
            for &item in &items {
                assert_eq!(subject.insert(item), Ok(()), "seed {seed}: {subject:?}");
            }
            assert_eq!((subject.len(), subject.capacity()), (n, n));
            assert!(items.iter().all(|&(hash, _)| subject.contains(hash)));
            assert!(items.iter().all(|&item| subject.remove(item)));
            assert!(subject.is_empty());
        }
    }
}

fn figures_are_exact(layout: Layout) {
    for kind in Kind::each(layout, 1).into_iter().filter(|kind| !kind.grows) {
        for capacity in [0, 1, 50, 10_000] {
            let subject = kind.build(0, capacity);
            assert_eq!((subject.capacity(), subject.value_bits()), (capacity, kind.value_bits));
            assert_eq!(subject.insert_many(&kind.items(11, capacity)), Ok(()));
            // By chance, something is stashed.
            let in_slots = (subject.len() - subject.stashed().1) as f64;
            let load = in_slots / subject.slots() as f64;
            assert_eq!(subject.load_factor().to_bits(), load.to_bits());
            let bits = if kind.value_bits > 0 { "value_bits: 1, " } else { "" };
            let printed = format!("layout: \"{}\", {bits}len: {capacity}, ", layout.name);
            assert!(format!("{subject:?}").contains(&printed), "{subject:?}");
        }
        let subject = kind.build(0, 100_000);
        let words = subject.slots() / layout.slots * 8;
        let beside = subject.heap_bytes() - words;
        assert!(beside as f64 <= 0.02 * words as f64, "{beside} of {words}");
    }
}

#[test]
fn small_in_memory() {
    assert!(default_layout().filter(100).memory_bytes() < 1024);
    for capacity in [100_000, 131_072, 250_000, 999_999, 1_000_000, 10_000_000] {
        let filter = default_layout().filter(capacity);
        let bits = filter.memory_bytes() as f64 * 8.0 / capacity as f64;
        assert!(bits <= 17.2, "{bits} bits per item at {capacity}");
    }
}

/// `fullness` is the share of what the filter was built for, and no insert is refused before it is 1.
#[test]
fn fullness_says_how_near_the_first_refusal_is() {
    fn check<L: Storage>(filter: &Filter<L>, built_for: f64) {
        assert_eq!(filter.fullness().to_bits(), 0.0_f64.to_bits());
        for hash in hashes(31) {
            let before = filter.fullness();
            if filter.insert(&Prehashed(hash)).is_err() {
                let every_slot = filter.slots() as f64 / built_for;
                assert!((1.0..=every_slot).contains(&before), "refused at {before}: {filter:?}");
                break;
            }
            let expected = filter.len() as f64 / built_for;
            assert_eq!(filter.fullness().to_bits(), expected.to_bits(), "{filter:?}");
        }
        // Copies of one item are one entry.
        filter.clear();
        let slots = default_layout().slots;
        (0..1000).for_each(|_| filter.insert(&Prehashed(1)).expect("any number of copies"));
        assert!(filter.fullness() * built_for < 2.0 * slots as f64 + 1.5, "{filter:?}");
    }

    let layout = default_layout();
    // A table for 0 items has room for some.
    assert_eq!(layout.filter(0).fullness().to_bits(), 0.0_f64.to_bits());
    check(&layout.filter(1000), 1000.0);
    check(&layout.growing(0, 1000), 1000.0);
    check(&layout.growing(500, 2000), 2000.0);
}

/// Integers in arithmetic progression reach the stated load and rate, both as their own hashes and with `FxHasher`.
#[test]
fn a_weak_hash_is_hash_enough() {
    type Hash = fn(u64) -> u64;
    let identity = [1, 16, 64, 1000, 1 << 16, 1 << 32, u64::MAX];
    let identity = identity.map(|stride| (stride, (|integer| integer) as Hash));
    let fx = [1, 64, 1 << 20];
    let fx = fx.map(|stride| (stride, (|integer| FxBuildHasher.hash_one(integer)) as Hash));
    for (stride, hash) in identity.into_iter().chain(fx) {
        let filter = default_layout().filter(1 << 17);
        let lookups = usually(1 << 22, 1 << 25);
        let items = || (0..).map(|i: u64| hash(i.wrapping_mul(stride)));
        let stored = fill(&filter, items());
        let load = stored as f64 / filter.slots() as f64;
        assert!(load >= 0.97, "first failure at {load}, stride {stride:#x}");
        let absent = items().skip(stored + 1).take(lookups);
        let reported = absent.filter(|&hash| filter.contains(&Prehashed(hash))).count();
        let ratio = reported as f64 / lookups as f64 / filter.false_positive_rate();
        assert!(
            (ratio - 1.0).abs() < usually(0.15, 0.1),
            "{ratio} of the stated rate, stride {stride:#x}"
        );
    }
}
