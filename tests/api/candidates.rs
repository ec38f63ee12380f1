//! The tables of false candidates by the length of values, in `docs/growth.md`.

use crate::common::LAYOUTS;

const LENGTHS: [u32; 7] = [1, 2, 4, 6, 8, 10, 12];

/// Returns a share in percent with two digits.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = (1.0 - percent.log10().floor()).clamp(0.0, 8.0) as usize;
    format!("{percent:.digits$}")
}

/// Returns a row: for each length of values the share of absent keys for which `get` returns something, or a dash where
/// there is no such maplet.
fn row(name: &str, shares: impl Fn(u32) -> Option<f64>) -> String {
    let cells = LENGTHS.map(|bits| shares(bits).map_or("–".to_owned(), percent));
    format!("| `{name}` | {} |", cells.join(" | "))
}

#[test]
fn false_candidates_by_the_length_of_values() {
    let page = include_str!("../../docs/growth.md");
    let mut missing = Vec::new();
    let mut check = |row: String| {
        if !page.contains(&row) {
            missing.push(row);
        }
    };
    for layout in LAYOUTS {
        check(row(layout.name, |bits| {
            let figures = layout.maplets(bits).capacity(1_000_000).figures(1_000_000);
            figures.ok().map(|figures| figures.false_positive_rate)
        }));
        for doublings in [5, 10] {
            if layout.grows() {
                let first = 1_000;
                let name = format!("{}, {doublings} doublings", layout.name);
                check(row(&name, |bits| {
                    let builder = layout.growing_maplets(bits).capacity(first);
                    let figures = builder.max_capacity(first << 10).figures(first << doublings);
                    figures.ok().map(|figures| figures.false_positive_rate)
                }));
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/growth.md:\n{}", missing.join("\n"));
}
