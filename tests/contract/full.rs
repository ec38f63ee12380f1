//! The share of the slots at which the first insert fails.

use crate::common::{Layout, fill, hashes, usually};

of_each_layout!(the_first_insert_does_not_fail_early);

/// The first insert fails at the share that the documentation of `Layout` states: not earlier, and not much later.
fn the_first_insert_does_not_fail_early(layout: Layout) {
    let stated = layout.full;
    let page = include_str!("../../src/layout.rs");
    let row = page.lines().find(|line| line.starts_with(&format!("/// | [`{layout:?}`] |")));
    assert!(row.is_some_and(|row| row.contains(&format!(" {stated:.1} % "))), "{row:?}");
    let tolerance = if layout.slots > 3 { 0.65 } else { 1.15 };
    // Powers of two, and some other numbers.
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
