//! Arithmetic on whole words, for processors without instructions for these operations.

use super::lanes::{Lanes, Marks};
use super::{Query, Ring};

/// Returns whether one of the lanes of `a` or of `b` equals `value`.
#[inline]
pub(crate) fn either_holds<const BITS: u32, const SLOTS: usize>(
    a: u64,
    b: u64,
    value: u64,
) -> bool {
    Lanes::<BITS, SLOTS>::equal(a, value) | Lanes::<BITS, SLOTS>::equal(b, value) != 0
}

/// Returns whether a lane of either word matches `sought`.
#[inline]
pub(crate) fn either_matches<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    sought: Query,
) -> bool {
    let [first, second] = mismatches::<BITS, SLOTS>(words, sought);
    Lanes::<BITS, SLOTS>::any_zero(first) | Lanes::<BITS, SLOTS>::any_zero(second)
}

/// Marks the lanes that match `sought`.
#[inline]
pub(crate) fn matching_lanes<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    sought: Query,
) -> Marks {
    let mismatches = mismatches::<BITS, SLOTS>(words, sought);
    Marks::of_highest_bits(
        mismatches.map(|mismatches| {
            Lanes::<BITS, SLOTS>::nonzero(mismatches) ^ Lanes::<BITS, SLOTS>::HIGH
        }),
    )
}

/// Returns 0 in each lane that matches `sought`, and another number in the other lanes.
#[inline(always)]
fn mismatches<const BITS: u32, const SLOTS: usize>(words: [u64; 2], sought: Query) -> [u64; 2] {
    // No closure for both words: it would not be inlined, and would compute twice what both need.
    let [first, second] = words;
    [
        mismatches_in::<BITS, SLOTS>(first, sought.ring, sought.pattern(0), sought.mask),
        mismatches_in::<BITS, SLOTS>(second, sought.ring, sought.pattern(1), sought.mask),
    ]
}

/// Does the same for one word.
#[inline(always)]
fn mismatches_in<const BITS: u32, const SLOTS: usize>(
    word: u64,
    ring: Ring,
    pattern: u64,
    mask: Option<u64>,
) -> u64 {
    let rotated = Lanes::<BITS, SLOTS>::rotated(word, ring);
    let mismatches = Lanes::<BITS, SLOTS>::mismatches(rotated, pattern, ring.mask());
    mask.map_or(mismatches, |mask| Lanes::<BITS, SLOTS>::masked(mismatches, mask))
}

/// Returns the lowest bit of the first lane that equals `value`.
#[inline]
pub(crate) fn find<const BITS: u32, const SLOTS: usize>(word: u64, value: u64) -> Option<u32> {
    let equal = Lanes::<BITS, SLOTS>::equal(word, value);
    (equal != 0).then(|| equal.trailing_zeros() - (BITS - 1))
}

/// Marks the lanes that agree with `value` in the bits of the mask. The mask must not contain the highest bit of a
/// lane.
#[inline]
pub(crate) fn equal_lanes<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    value: u64,
    mask: u64,
) -> Marks {
    let broadcast = value.wrapping_mul(Lanes::<BITS, SLOTS>::LOW);
    Marks::of_highest_bits(words.map(|word| {
        let different = Lanes::<BITS, SLOTS>::masked(word ^ broadcast, mask);
        Lanes::<BITS, SLOTS>::zeros_below_the_highest_bit(different)
    }))
}

/// Does nothing. On other processors it prefetches the cache line of a value that is needed soon.
#[inline]
pub(crate) fn prefetch<T>(_: &T) {}

/// Has no value, since there is no portable instruction that prefetches a cache line for writing.
#[derive(Clone, Copy)]
pub(crate) enum PrefetchForWrite {}

impl PrefetchForWrite {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    #[inline]
    pub(crate) fn prefetch<T>(self, _: &T) {
        match self {}
    }
}
