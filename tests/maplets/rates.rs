//! The number of candidates per key: as few as stated.

use std::hash::BuildHasher;

use coucal::{CuckooMaplet, GrowableCuckooMaplet, Prehashed, Storage};
use coucal_reference::format::{at, number};

use super::widths;
use crate::common::{LAYOUTS, Layout, Maplet, Subject, hashes, is_expected, scatter, usually};

of_each_layout! {
    candidates_are_as_few_as_stated
    long_fingerprints_meet_as_often_as_stated
}

of_each_growing_layout! {
    candidates_are_as_few_as_stated_while_it_grows
    stashed_pairs_add_nothing_while_it_grows
}

/// The number of false candidates that a measurement counts.
const COUNTED: f64 = 1500.0;
/// The maximum number of lookups in a measurement. If false candidates are too rare for it, see
/// `long_fingerprints_meet_as_often_as_stated`.
fn lookups_at_most() -> f64 {
    usually(1e6, 1.3e7)
}

/// Compares a stated rate with the formula of the documentation. The formulas replace 2^n - 1 by 2^n, which is 3 %, and
/// the load by that with doubled entries, 4 %. In a small table, not all levels begin at the same load: 1 % is one
/// standard deviation.
fn is_by_formula(by_formula: f64, stated: f64, what: &str) {
    println!("{what}: {stated:.4e} stated, {by_formula:.4e} by the formula");
    assert!((by_formula / stated - 1.0).abs() < 0.12, "{what}: {by_formula}, {stated} stated");
}

/// The mean number of candidates of absent keys is as stated, where it can be measured.
fn measure<St: Storage>(maplet: &Maplet<St>, by_formula: f64) {
    let stated = maplet.false_positive_rate();
    let what = format!("{} with {} bits", maplet.layout_name(), maplet.value_bits());
    is_by_formula(by_formula, stated, &what);
    let lookups = COUNTED / stated;
    if lookups <= lookups_at_most() {
        let absent = hashes(5).take(lookups as usize);
        let found: usize = absent.map(|hash| maplet.get(&Prehashed(hash)).len()).sum();
        is_expected(found, COUNTED, 0.01, &what);
    }
}

/// At the capacity: `2b·load/2^f` for absent keys, and one more for present keys.
fn candidates_are_as_few_as_stated(layout: Layout) {
    for bits in widths(layout) {
        let pairs = usually(20_000, 200_000);
        let maplet = layout.maplet(pairs, bits);
        let keys = || hashes(3).take(pairs);
        for hash in keys() {
            maplet
                .insert(&Prehashed(hash), hash as u32 % (1 << bits))
                .expect("within the capacity");
        }
        let slots = 2.0 * layout.slots as f64 * maplet.load_factor();
        let by_formula = slots * 0.5_f64.powi((layout.bits - bits).cast_signed());
        measure(&maplet, by_formula);

        let found: usize = keys().map(|hash| maplet.get(&Prehashed(hash)).len()).sum();
        let false_ones = (found - pairs) as f64;
        let stated = maplet.false_positive_rate() * pairs as f64;
        println!("{false_ones} beside the values of present keys, {stated:.0} stated");
        // If two keys are alike, each is found for the other.
        assert!((false_ones - stated).abs() < 0.03 * stated + scatter(stated, 2.0));
    }
}

/// Where false candidates are too rare to be counted: fingerprints are equal as often as stated, and keys have each
/// other's values if and only if their fingerprints and rows are equal. The table has two buckets, so all keys have the
/// same rows.
fn long_fingerprints_meet_as_often_as_stated(layout: Layout) {
    for bits in widths(layout) {
        let fingerprints = f64::from(layout.bits - bits).exp2() - 1.0;
        if 2.0 * layout.slots as f64 / fingerprints * lookups_at_most() > COUNTED {
            continue;
        }
        let maplet = layout.maplet(0, bits);
        let geometry = maplet.geometry();
        assert_eq!(maplet.slots(), 2 * layout.slots);
        // Among n keys there are n^2/2 pairs.
        let keys = (2.0 * 4.0 * COUNTED * fingerprints).sqrt();
        let mut keys: Vec<(u64, u64)> =
            hashes(7).take(keys as usize).map(|hash| (geometry.class(hash).0, hash)).collect();
        keys.sort_unstable();
        let meet = keys.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len);
        let meetings: usize = meet.map(|met| met * (met - 1) / 2).sum();
        let stated = (keys.len() as f64).powi(2) / 2.0 / fingerprints;
        let what = format!("{} with {bits} bits, keys that meet", layout.name);
        is_expected(meetings, stated, 0.0, &what);
        let value = super::largest(bits);
        for pair in keys.windows(2).take(usually(2000, 20_000)) {
            let [(of_one, one), (of_other, other)] = pair else { unreachable!("two") };
            maplet.insert(&Prehashed(*one), value).expect("room for one");
            let expected = if of_one == of_other { vec![value] } else { vec![] };
            assert_eq!(maplet.values(*other), expected);
            assert!(maplet.remove(&Prehashed(*one), value));
        }
    }
}

/// After each doubling, from n = 2^l + c buckets to 2^L + d: `2b·load·2^(1+v-w)·(L - l + 1 + d/2^L)`.
fn candidates_are_as_few_as_stated_while_it_grows(layout: Layout) {
    for bits in widths(layout) {
        // As often as it can double, except for the largest tables.
        let doublings = layout.extra_bits(bits).min(usually(4, 7));
        let items_at = |slots: usize| (slots as f64 * layout.target() * 0.98) as usize;
        let least = layout.growing_maplet(1000, 1000, bits).slots();
        let most = items_at(least << doublings);
        let maplet = layout.growing_maplet(1000, most, bits);
        let first_slots = maplet.slots();
        let mut new = hashes(3);
        for doubled in 0..=doublings {
            let wanted = items_at(first_slots << doubled).min(most);
            for hash in new.by_ref().take(wanted - maplet.len()) {
                maplet
                    .insert(&Prehashed(hash), hash as u32 % (1 << bits))
                    .expect("within the maximum");
            }
            let before = maplet.false_positive_rate_at(maplet.len());
            let slots = 2.0 * layout.slots as f64 * maplet.load_factor();
            let unit = 0.5_f64.powi((layout.bits - bits - 1).cast_signed());
            let [begun, now] = [first_slots, maplet.slots()].map(|slots| slots / layout.slots);
            let levels = f64::from(now.ilog2() - begun.ilog2());
            let split = now as f64 / f64::from(now.ilog2()).exp2();
            measure(&maplet, slots * unit * (levels + split));
            let what = format!("{} with {bits} bits, as stated before", layout.name);
            is_by_formula(before, maplet.false_positive_rate(), &what);
        }
    }
}

/// Keys with many values leave pairs in the stash. 44 bits of their position are compared, so they add next to no false
/// candidates.
fn stashed_pairs_add_nothing_while_it_grows(layout: Layout) {
    let pairs = 100 * layout.slots;
    let maplet = layout.growing_maplet(100, pairs, 3);
    for (hash, value) in
        hashes(3).flat_map(|hash| (0..8).map(move |value| (hash, value))).take(pairs)
    {
        maplet.insert(&Prehashed(hash), value).expect("within the maximum");
    }
    assert!(maplet.stats().stashed_entries > pairs / 10, "{maplet:?}");
    let (stated, exact) = (maplet.false_positive_rate(), maplet.contents().rate());
    assert!((stated / exact - 1.0).abs() < 1e-5, "{stated}, {exact}: {maplet:?}");
}

/// At the capacity the builder's rate holds, and the layout that the builder chooses is the smallest for it.
#[test]
fn the_rate_that_was_asked_for() {
    for bits in [1, 4, 8, 12] {
        for rate in [0.5, 0.1, 0.01, 0.001, 0.000_1] {
            let builder = || CuckooMaplet::builder().value_bits(bits).false_positive_rate(rate);
            let any = builder().capacity(10_000).any_layout().build().expect("a layout for it");
            hashes(1)
                .take(10_000)
                .for_each(|hash| any.insert(&Prehashed(hash), 1).expect("capacity"));
            assert!(any.false_positive_rate() <= rate, "{any:?}");
            for layout in LAYOUTS.into_iter().filter(|layout| layout.longest_values() >= bits) {
                let other = layout.maplets(bits).capacity(10_000).false_positive_rate(rate).build();
                if let Ok(other) = other {
                    assert!(other.slots() / layout.slots >= buckets(&any));
                }
            }

            let builder =
                GrowableCuckooMaplet::builder().value_bits(bits).false_positive_rate(rate);
            let any = builder
                .capacity(1000)
                .max_capacity(8000)
                .any_layout()
                .build()
                .expect("a layout for it");
            assert!(any.false_positive_rate_at(8000) <= rate, "{any:?}");
        }
    }
}

/// The number of words of a maplet.
fn buckets<St: Storage, S: BuildHasher>(maplet: &coucal::Maplet<St, S>) -> usize {
    let snapshot = maplet.snapshot().expect("memory for a test");
    number(snapshot.as_bytes(), at::WORDS) as usize
}
