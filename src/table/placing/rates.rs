//! Estimates the false-positive rate of a table from its words.

use super::{Bucket, Placing};
use crate::layout::Encoding;
use crate::sizing;

/// The most words that [`false_positive_rate`] reads in a growing table. The oldest entries weigh most. After thirteen
/// doublings they are one entry in 2^12, about a dozen in the sample. As each doubling has the same share of the sum,
/// the estimate is then right within 3 % in two cases of three. After more doublings the sample misses most of the
/// oldest entries.
const WEIGHED: usize = 1 << 14;

/// The number of adjacent words that are read together: those of a cache line.
const BESIDE: usize = 8;

/// Returns the share of absent items that a table reports as present, if it has `entries` entries and these words.
pub(crate) fn false_positive_rate<F: Encoding, P: Placing>(
    placement: P,
    buckets: usize,
    value_bits: u32,
    entries: usize,
    word: impl Fn(usize) -> F,
) -> f64 {
    let properties = F::ID.properties();
    if !P::GROWS {
        let items_per_bucket = entries as f64 / buckets as f64;
        return sizing::false_positive_rate(properties, items_per_bucket, value_bits);
    }
    let weight = sum_over_slots::<F, _>(placement, buckets, word, power_of_half);
    sizing::false_positive_rate_of_grown(properties, weight, value_bits)
}

/// Estimates the sum of `adds` over all slots in use, from a sample of the words. `adds` gets the number of bits of the
/// position that the entry in the slot knows.
pub(in crate::table) fn sum_over_slots<F: Encoding, P: Placing>(
    placement: P,
    buckets: usize,
    word: impl Fn(usize) -> F,
    adds: impl Fn(u32) -> f64,
) -> f64 {
    // An odd number of lines apart, so that the sampled buckets differ in their lowest bits.
    let distance = BESIDE * (buckets.div_ceil(WEIGHED) | 1);
    let (mut sum, mut sampled) = (0.0, 0);
    for first in (0..buckets).step_by(distance) {
        let beside = first..buckets.min(first + BESIDE);
        sampled += beside.len();
        for at in beside {
            let bucket = Bucket::at(placement, at);
            let known = |slot| bucket.place::<F>(slot).entry.known();
            sum += word(at).slots_in_use().map(|slot| adds(known(slot))).sum::<f64>();
        }
    }
    sum * buckets as f64 / sampled as f64
}

/// Returns 2^-n for n below 1,023. `exp2` would take most of the time of an estimate.
#[inline]
pub(in crate::table) fn power_of_half(n: u32) -> f64 {
    f64::from_bits(u64::from(1023 - n) << 52)
}
