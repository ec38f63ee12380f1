//! Random sequences of operations on two filters, or on two maplets.

use coucal_reference::{Modelled, Op, Subject};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

use super::{twins, widths};
use crate::common::{LEAST_BUCKETS, Layout, Random, cases, usually};

of_each_layout! {
    filters
    maplets
}

of_each_growing_layout! {
    growing_filters
    growing_maplets
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = || 0..1000_u16;
    let keys = || (key(), 0..40_u8);
    let op = prop_oneof![
        14 => key().prop_map(Op::Insert),
        6 => key().prop_map(Op::InsertUniqueOrReplace),
        6 => key().prop_map(Op::Remove),
        5 => key().prop_map(Op::Look),
        1 => keys().prop_map(|(first, count)| Op::InsertMany(first, count)),
        1 => keys().prop_map(|(first, count)| Op::InsertUniqueOrReplaceMany(first, count)),
        1 => keys().prop_map(|(first, count)| Op::RemoveMany(first, count)),
        1 => keys().prop_map(|(first, count)| Op::LookMany(first, count)),
        1 => Just(Op::Clear(0)),
        1 => (0..300_u16).prop_map(Op::Reserve),
        1 => prop_oneof![Just(Op::Restore), Just(Op::Merge), Just(Op::Swap)],
    ];
    prop::collection::vec(op, 1..300)
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: usually(50, 500), ..cases() }
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

fn apply_all<S: Subject>([mut this, mut other]: [Modelled<S>; 2], ops: &[Op]) {
    for &op in ops {
        this.apply(op, &mut other);
    }
    this.check();
    other.check();
}

fn buckets() -> impl Strategy<Value = usize> {
    prop_oneof![Just(2), Just(4), Just(6), (4..40_usize).prop_map(|n| 2 * n)]
}

fn filters(layout: Layout) {
    proptest!(config(), |(n in buckets(), seed: u64, distinct in 1..120_usize, ops in ops())| {
        let new = || Modelled::new(layout.filter_of_slots(n * layout.slots));
        apply_all([new(), new()].map(|new| new.with_hashes(few(seed, distinct))), &ops);
    });
}

fn maplets(layout: Layout) {
    let widths = prop::sample::select(widths(layout.longest_values()));
    proptest!(config(), |(
        n in buckets(), bits in widths, seed: u64, distinct in 1..60_usize, ops in ops()
    )| {
        let new = || Modelled::new(layout.maplet_of_slots(n * layout.slots, bits));
        apply_all([new(), new()].map(|new| new.with_hashes(few(seed, distinct))), &ops);
    });
}

/// From the smallest table.
fn growing_filters(layout: Layout) {
    let most = layout.greatest_exact(1, 3000);
    assert_eq!(layout.growing(1, most).slots(), LEAST_BUCKETS * layout.slots);
    let twins = twins(layout, 0, 30);
    proptest!(config(), |(seed: u64, distinct in 1..60_usize, ops in ops())| {
        let new = || Modelled::growing(layout.growing(1, most));
        apply_all(
            [new(), new()].map(|new| new.with_hashes(with_twins(&twins, seed, distinct))),
            &ops,
        );
    });
}

/// From the smallest table.
fn growing_maplets(layout: Layout) {
    for bits in widths(layout.longest_values_that_grow()) {
        let most = layout.greatest_exact_maplet(1, 3000, bits);
        let twins = twins(layout, bits, 30);
        let config = ProptestConfig { cases: usually(15, 150), ..config() };
        proptest!(config, |(seed: u64, distinct in 1..30_usize, ops in ops())| {
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
    let bits = layout.longest_values_that_grow();
    let new = || {
        let maplet = layout.growing_maplet(1, layout.greatest_exact_maplet(1, 3000, bits), bits);
        Modelled::growing(maplet).with_hashes(few(4_462_170_888_211_199_145, 12))
    };
    let keys = [0, 129, 64, 124, 0, 778, 0, 322, 0, 226, 697, 39, 289, 111, 771, 399, 256, 653];
    let more = [38, 380, 126, 548, 414, 20, 800, 0, 54, 429, 71, 0, 292, 201, 266, 407, 233];
    let inserts = keys.into_iter().chain(more).map(|key| Op::Insert(4 * key));
    apply_all([new(), new()], &inserts.chain([Op::Reserve(244)]).collect::<Vec<_>>());
}
