//! One fixed colour for each subject, in every plot of the repository.

use plotters::style::RGBColor;

/// The colours by the beginning of the subject's name.
const COLOURS: [(&str, (u8, u8, u8)); 21] = [
    ("coucal", (214, 39, 40)),
    ("atomic-cuckoo-filter", (31, 119, 180)),
    ("cuckoofilter", (44, 160, 44)),
    ("qfilter", (148, 103, 189)),
    ("fastbloom", (127, 127, 127)),
    ("RwLock<HashSet>", (140, 86, 75)),
    ("two loads", (60, 60, 60)),
    ("sharded RwLock<cuckoofilter>", (44, 160, 44)),
    ("maplet", (214, 39, 40)),
    ("Fp8x8", (0, 90, 40)),
    ("Fp9x7", (44, 160, 44)),
    ("Fp10x6", (23, 190, 207)),
    ("Fp12x5", (31, 119, 250)),
    ("SemiSorted14x5", (120, 180, 255)),
    // The default layout has the colour of coucal.
    ("Fp16x4", (214, 39, 40)),
    ("SemiSorted17x4", (255, 152, 150)),
    ("Fp21x3", (230, 160, 0)),
    ("Fp32x2", (140, 86, 75)),
    // Slots per bucket, in simulated tables.
    ("b = 2", (44, 160, 44)),
    ("b = 4", (214, 39, 40)),
    ("b = 8", (31, 119, 180)),
];

/// The colour of a subject; dark blue for a name without one of its own.
#[must_use]
pub fn colour(subject: &str) -> RGBColor {
    let fit = COLOURS.iter().find(|colour| subject.starts_with(colour.0));
    let (r, g, b) = fit.map_or((20, 40, 120), |fit| fit.1);
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_colour_of_its_beginning() {
        assert_eq!(colour("coucal, no writer"), colour("coucal"));
        assert_eq!(colour("Fp16x4"), colour("coucal"));
        assert_ne!(colour("formula"), colour("coucal"));
    }

    #[test]
    fn no_name_begins_with_another() {
        for (at, (name, _)) in COLOURS.iter().enumerate() {
            let begins = |other: &(&str, _)| name.starts_with(other.0);
            assert_eq!(COLOURS.iter().position(begins), Some(at), "{name}");
        }
    }
}
