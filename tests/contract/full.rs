//! At which share of the slots the first insert fails, and what copies do to `insert_unique`.

use coucal::Prehashed;

use crate::common::{Layout, fill, hashes, is_expected, usually};

of_each_layout!(the_first_insert_does_not_fail_early);

/// As the documentation of `Layout` says: not earlier than at this share. And not much later, or it would say so.
fn the_first_insert_does_not_fail_early(layout: Layout) {
    let stated = layout.full;
    let page = include_str!("../../src/layout.rs");
    let row = page.lines().find(|line| line.starts_with(&format!("/// | [`{layout:?}`] |")));
    assert!(row.is_some_and(|row| row.contains(&format!(" {stated:.1} % "))), "{row:?}");
    let tolerance = if layout.slots > 3 { 0.65 } else { 1.15 };
    // Powers of two, and some that are not.
    let sizes = [(1 << 15, 6), (1 << 16, 2), (17_000, 5), (50_000, 2), (100_000, 1)];
    for (slots, fills) in sizes.map(|(slots, fills)| (slots, usually(1, 50) * fills)) {
        let filter = layout.filter_of_slots(slots);
        let (mut sum, mut least) = (0.0, 100.0_f64);
        for seed in 0..fills {
            filter.clear();
            let load = 100.0 * fill(&filter, hashes(seed)) as f64 / filter.slots() as f64;
            sum += load;
            least = least.min(load);
        }
        let mean = sum / fills as f64;
        println!(
            "{layout:?}, {slots} slots, {fills} fills: {mean:.2} % on average, {least:.2} % at least"
        );
        assert!(least > stated - 0.01, "{least} % of {slots} slots, {stated} % stated");
        assert!((mean - stated).abs() < tolerance, "{mean} % of {slots} slots, {stated} % stated");
    }
}

/// An item that "was there" may share the copy of another, and loses it when that one is removed:
/// so `insert_unique` and `remove` together give false negatives. Of many items, the even ones are
/// removed: the share of the odd ones that are missed is about the rate of false positives.
#[test]
fn insert_unique_with_remove_misses_items() {
    const ITEMS: usize = 1_000_000;
    let filter = Layout::named("Fp12x5").filter(ITEMS);
    // (hash, whether it was stored)
    let items: Vec<(u64, bool)> = hashes(73)
        .take(ITEMS)
        .map(|hash| (hash, filter.insert_unique(&Prehashed(hash)).expect("room")))
        .collect();
    let kept = || items.iter().skip(1).step_by(2);
    let missed = || kept().filter(|(hash, _)| !filter.contains(&Prehashed(*hash))).count();
    assert_eq!(missed(), 0, "nothing is removed yet");
    let pairs = filter.false_positive_rate() * ITEMS as f64 / 2.0;
    let even = || items.iter().step_by(2);
    for (hash, _) in even().filter(|(_, stored)| *stored) {
        filter.remove(&Prehashed(*hash));
    }
    let of_stored = missed();
    for (hash, _) in even().filter(|(_, stored)| !stored) {
        filter.remove(&Prehashed(*hash));
    }
    let of_all = missed();
    // Of the pairs that share a copy, the first is even and the second odd in one of four, and the other way round.
    is_expected(of_stored, pairs / 4.0, 0.1, "missed when what was stored is removed");
    is_expected(of_all, pairs / 2.0, 0.1, "missed when all even items are removed");
}
