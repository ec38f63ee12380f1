//! The rate of false positives, by how full a table is and what its entries know. Pure functions.

use crate::layout::Properties;

/// The false-positive rate of a table of fixed size with this number of items per bucket: a lookup
/// compares the fingerprints of two buckets (Fan et al., CoNEXT 2014, section 5.1). That is the share of absent items
/// for which there is a match; in a maplet the mean number of matches, each of which is a candidate.
///
/// Two fingerprints are equal by chance with probability (2^f + 2) / 4^f: since 0 is counted as 1,
/// the value 1 is twice as frequent as each of the 2^f - 2 others. In a maplet all values but 0 are as
/// frequent.
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
    // Not -0.
    0.0 - (compared * (-equal).ln_1p()).exp_m1()
}

/// The false-positive rate of a growing table. `weight` is the sum of 2^-n over all entries, where n is how many bits
/// of its position an entry knows.
///
/// An absent item has two positions, and matches an entry if one of them has these n bits, and the cores are equal,
/// one of 2^k - 1 values that are all as frequent.
pub(crate) fn false_positive_rate_of_grown(
    layout: &Properties,
    weight: f64,
    value_bits: u32,
) -> f64 {
    let cores = f64::from(layout.core_bits(value_bits)).exp2() - 1.0;
    // Not -0, which is the sum of nothing.
    let matches = 0.0 + 2.0 * weight / cores;
    if value_bits > 0 { matches } else { 0.0 - (-matches).exp_m1() }
}

/// The sum of 2^-n over all entries of a table that grew from `initial` buckets to this number with the
/// same load all the time, where n is how many bits of its position an entry knows.
///
/// An entry that is inserted at level L knows L + T bits. Of b buckets with i items each, those of the initial size, at
/// level l, weigh i·2^-T·b/2^l together; a level doubles the items, and the new ones weigh i·2^-T together. A doubled
/// entry weighs as much as the one that it was.
pub(super) fn weight(items: f64, initial: u64, buckets: f64, extra_bits: u32) -> f64 {
    let (level, begun) = ((buckets as u64).ilog2(), initial.ilog2());
    let levels = f64::from(level - begun) + buckets * (-f64::from(level)).exp2();
    items / buckets * levels * (-f64::from(extra_bits)).exp2()
}
