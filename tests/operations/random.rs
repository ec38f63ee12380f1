//! Random operations on two filters, or on two maplets, of each layout.

use coucal_reference::{Modelled, Op};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

use super::machine::{apply_all, check, fixed, growing, ops};
use super::twins;
use crate::common::{Kind, LEAST_BUCKETS, Layout, Random, widths};

of_each_layout! {
    of_fixed_size
    replicas_agree
}

of_each_growing_layout! {
    that_grow
    with_twins
}

/// Filters first, and then maplets.
fn of_fixed_size(layout: Layout) {
    for longest in [0, layout.longest_values()] {
        fixed(20, layout, longest, &|_, capacity, value_bits| {
            Kind { layout, grows: false, value_bits }.try_build(0, capacity)
        });
    }
}

fn that_grow(layout: Layout) {
    for longest in [0, layout.longest_values()] {
        growing(20, longest, &|first, most, value_bits| {
            Kind { layout, grows: true, value_bits }.try_build(first, most)
        });
    }
}

/// Returns a few hashes that are not alike, so that they occur repeatedly.
fn few(seed: u64, distinct: usize) -> Vec<u64> {
    Random::seed_from_u64(seed).random_iter().take(distinct).collect()
}

/// Half of the hashes are of the class of another. From the smallest table on.
fn with_twins(layout: Layout) {
    for kind in Kind::all(layout, widths).into_iter().filter(|kind| kind.grows) {
        let most = kind.greatest_exact(1, 3000);
        assert_eq!(kind.build(1, most).slots(), LEAST_BUCKETS * layout.slots);
        let twins = twins(layout, kind.value_bits, 30);
        let (count, most_twins) = if kind.value_bits == 0 { (20, 60_usize) } else { (8, 30) };
        check(count, (any::<u64>(), 1..most_twins, ops(300, 10)), |(seed, distinct, ops)| {
            let siblings = twins.iter().take(distinct).copied().collect::<Vec<_>>();
            let hashes = [siblings.as_flattened(), &few(seed, 2 * distinct)].concat();
            let new = || Modelled::new(kind.build(1, most)).with_hashes(hashes.clone());
            apply_all([new(), new()], &ops);
        });
    }
}

/// Equal operations give equal filters, also if one of two was restored in between, and if many entries are stashed. So
/// replicas that apply one log agree on every byte.
fn replicas_agree(layout: Layout) {
    for kind in Kind::each(layout, 3) {
        check(5, (any::<u64>(), ops(200, 2)), |(seed, ops)| {
            let [mut one, mut beside_one, mut other, mut beside_other] = [0; 4].map(|_| {
                let subject = kind.build(10, 300);
                let new =
                    if kind.grows { Modelled::doubling(subject) } else { Modelled::new(subject) };
                new.with_hashes(few(seed, 10)).with_fill(250)
            });
            assert!(one.subject().stashed().0 > 0);
            for op in ops {
                one.apply(op, &mut beside_one);
                other.apply(Op::Restore, &mut beside_other);
                other.apply(op, &mut beside_other);
                assert!(one.subject().bytes() == other.subject().bytes(), "{op:?}");
            }
        });
    }
}

/// A sequence that once failed: keys that many entries match, at the end of a level.
#[test]
fn reserve_after_refusals() {
    let layout = Layout::named("Fp32x2");
    let kind = Kind { layout, grows: true, value_bits: layout.longest_values() };
    let most = kind.greatest_exact(1, 3000);
    let hashes = few(4_462_170_888_211_199_145, 12);
    let new = || Modelled::new(kind.build(1, most)).with_hashes(hashes.clone());
    let keys = [0, 129, 64, 124, 0, 778, 0, 322, 0, 226, 697, 39, 289, 111, 771, 399, 256, 653];
    let more = [38, 380, 126, 548, 414, 20, 800, 0, 54, 429, 71, 0, 292, 201, 266, 407, 233];
    let inserts = keys.into_iter().chain(more).map(|key| Op::Insert(64 * key));
    apply_all([new(), new()], &inserts.chain([Op::Reserve(244)]).collect::<Vec<_>>());
}
