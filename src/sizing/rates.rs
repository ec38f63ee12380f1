//! The false-positive rate that follows from the load of a table and from what its entries know. Pure functions.

use crate::layout::Properties;

/// Returns the false-positive rate of a table of fixed size with this number of items per bucket. A lookup compares the
/// fingerprints of two buckets (Fan et al., CoNEXT 2014, section 5.1). The rate is the share of absent items for which
/// there is a match. In a maplet, it is the mean number of matches, each of which is a candidate.
///
/// In a filter, two fingerprints are equal by chance with probability (2^f + 2) / 4^f: since 0 is stored as 1, the
/// value 1 is twice as frequent as each of the 2^f - 2 others. In a maplet, all values except 0 are equally frequent.
pub(crate) fn false_positive_rate(
    layout: &Properties,
    items_per_bucket: f64,
    value_bits: u32,
) -> f64 {
    let compared = 2.0 * items_per_bucket;
    let values = f64::from(layout.bits - value_bits).exp2();
    if value_bits > 0 {
        return compared * (1.0 / (values - 1.0));
    }
    let equal = (values + 2.0) / (values * values);
    // Added to 0.0, so that the result is never -0.
    0.0 - (compared * (-equal).ln_1p()).exp_m1()
}

/// Returns the false-positive rate of a growing table. `weight` is the sum of 2^-n over all entries, where an entry
/// knows n bits of its position.
///
/// An absent item has two positions. It matches an entry if one of them has these n bits, and if the cores are equal. A
/// core is one of 2^k - 1 values, all equally frequent.
pub(crate) fn false_positive_rate_of_grown(
    layout: &Properties,
    weight: f64,
    value_bits: u32,
) -> f64 {
    let cores = f64::from(layout.core_bits(value_bits)).exp2() - 1.0;
    // Added to 0.0, because the sum of no entries is -0.
    let matches = 0.0 + 2.0 * weight / cores;
    if value_bits > 0 { matches } else { 0.0 - (-matches).exp_m1() }
}

/// Returns the sum of 2^-n over all entries of a table that grew from `initial` to `buckets` buckets at a constant
/// load, where an entry knows n bits of its position.
///
/// An entry that is inserted at level L knows L + T bits. For b buckets with i items each: at level l, the items of the
/// initial size together weigh i·2^-T·b/2^l. Each level doubles the number of items, and its new items together weigh
/// i·2^-T. The parts of a doubled entry together weigh as much as the entry.
pub(super) fn weight(items: f64, initial: u64, buckets: f64, extra_bits: u32) -> f64 {
    let (level, begun) = ((buckets as u64).ilog2(), initial.ilog2());
    let levels = f64::from(level - begun) + buckets * (-f64::from(level)).exp2();
    items / buckets * levels * (-f64::from(extra_bits)).exp2()
}
