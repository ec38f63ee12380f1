//! Random operations on two filters, or on two maplets, of each layout.

use coucal_reference::{Modelled, Op};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

use super::machine::{apply_all, fixed, growing, ops};
use super::twins;
use crate::common::{LEAST_BUCKETS, Layout, Random, cases, usually, widths};

of_each_layout! {
    filters
    maplets
}

of_each_growing_layout! {
    growing_filters
    growing_maplets
    filters_with_twins
    maplets_with_twins
}

fn filters(layout: Layout) {
    fixed(50, layout, 1, |capacity, _| layout.filter(capacity));
}

fn maplets(layout: Layout) {
    fixed(50, layout, layout.longest_values(), |capacity, bits| layout.maplet(capacity, bits));
}

fn growing_filters(layout: Layout) {
    growing(50, 1, |first, most, _| layout.growing(first, most));
}

fn growing_maplets(layout: Layout) {
    let longest = layout.longest_values();
    growing(50, longest, |first, most, bits| layout.growing_maplet(first, most, bits));
}

fn config(count: u32) -> ProptestConfig {
    ProptestConfig { cases: usually(count, 10 * count), ..cases() }
}

/// Hashes that are not alike, and few of them, so that they meet again.
fn few(seed: u64, distinct: usize) -> Vec<u64> {
    Random::seed_from_u64(seed).random_iter().take(distinct).collect()
}

/// Half of them are of the class of another.
fn with_twins(twins: &[[u64; 2]], seed: u64, distinct: usize) -> Vec<u64> {
    let siblings = twins.iter().take(distinct).copied().collect::<Vec<_>>();
    [siblings.as_flattened(), &few(seed, 2 * distinct)].concat()
}

/// From the smallest table.
fn filters_with_twins(layout: Layout) {
    let most = layout.greatest_exact(1, 3000);
    assert_eq!(layout.growing(1, most).slots(), LEAST_BUCKETS * layout.slots);
    let twins = twins(layout, 0, 30);
    proptest!(config(50), |(seed: u64, distinct in 1..60_usize, ops in ops(300, 10))| {
        let new = || Modelled::growing(layout.growing(1, most));
        apply_all(
            [new(), new()].map(|new| new.with_hashes(with_twins(&twins, seed, distinct))),
            &ops,
        );
    });
}

/// From the smallest table.
fn maplets_with_twins(layout: Layout) {
    for bits in widths(layout.longest_values()) {
        let most = layout.greatest_exact_maplet(1, 3000, bits);
        let twins = twins(layout, bits, 30);
        proptest!(config(15), |(seed: u64, distinct in 1..30_usize, ops in ops(300, 10))| {
            let new = || Modelled::growing(layout.growing_maplet(1, most, bits));
            apply_all(
                [new(), new()].map(|new| new.with_hashes(with_twins(&twins, seed, distinct))),
                &ops,
            );
        });
    }
}

/// A sequence that once failed: keys that many entries match, at the end of a level.
#[test]
fn reserve_after_refusals() {
    let layout = Layout::named("Fp32x2");
    let bits = layout.longest_values();
    let new = || {
        let maplet = layout.growing_maplet(1, layout.greatest_exact_maplet(1, 3000, bits), bits);
        Modelled::growing(maplet).with_hashes(few(4_462_170_888_211_199_145, 12))
    };
    let keys = [0, 129, 64, 124, 0, 778, 0, 322, 0, 226, 697, 39, 289, 111, 771, 399, 256, 653];
    let more = [38, 380, 126, 548, 414, 20, 800, 0, 54, 429, 71, 0, 292, 201, 266, 407, 233];
    let inserts = keys.into_iter().chain(more).map(|key| Op::Insert(64 * key));
    apply_all([new(), new()], &inserts.chain([Op::Reserve(244)]).collect::<Vec<_>>());
}
