//! Operations on the lanes of words, and those for which some processors have an instruction: comparing all lanes of
//! two words at once, and prefetching a cache line.
//!
//! Each function of the second kind exists in [`portable`] for every processor, and in `x86_64` and `aarch64` for these
//! processors. The choice is made at compile time. With `--cfg coucal_portable` the portable functions are used
//! everywhere.

#[cfg(all(target_arch = "aarch64", not(miri), not(coucal_portable)))]
mod aarch64;
mod lanes;
#[allow(dead_code, reason = "the functions that have a twin")]
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri), not(coucal_portable)))]
mod x86_64;

pub(crate) use lanes::{Lanes, Marks, Query, Ring};

#[cfg(all(target_arch = "aarch64", not(miri), not(coucal_portable)))]
use aarch64 as chosen;
#[cfg(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri, coucal_portable))]
use portable as chosen;
#[cfg(all(target_arch = "x86_64", not(miri), not(coucal_portable)))]
use x86_64 as chosen;

pub(crate) use chosen::{
    PrefetchForWrite, either_holds, either_matches, equal_lanes, find, matching_lanes, prefetch,
};

#[cfg(test)]
#[allow(unused_qualifications, reason = "a processor may have the portable function itself")]
mod tests {
    use rand::{Rng, RngExt};

    use super::*;
    use crate::random::{Random, random};

    /// Generates a word whose lanes often equal `values[0]`, or differ from `values[1]` in one bit.
    fn words<const BITS: u32, const SLOTS: usize>(random: &mut Random, values: [u64; 2]) -> u64 {
        (0..SLOTS).fold(0, |word, _| {
            let lane = match random.random_range(0..16) {
                0 => 0,
                1 => values[0],
                2..6 => values[1] ^ 1 << random.random_range(0..BITS),
                _ => random.next_u64(),
            };
            word << BITS | lane & Lanes::<BITS, SLOTS>::LANE
        })
    }

    fn agrees_with_its_twin<const BITS: u32, const SLOTS: usize>() {
        let lane = Lanes::<BITS, SLOTS>::LANE;
        let mut random = random(BITS.into());
        let mut matched = [0; 3];
        for _ in 0..100_000 {
            // The mask does not contain the highest bit of a lane, since the mark is there.
            let value = random.next_u64() & lane;
            let mask = lane >> random.random_range(1..=BITS / 2);
            let value = if value == 0 { 1 } else { value };
            let ring_bits = random.random_range(2..BITS);
            let ring = Ring { bits: ring_bits, head: random.random_range(0..ring_bits) };
            let untold = [(); 2].map(|()| random.next_u64());
            // The ring of a slot that has this core, and knows all bits of one of the buckets: rotated or not.
            let core = value & !ring.mask();
            let [a, b] = [(); 2].map(|()| {
                words::<BITS, SLOTS>(&mut random, [value, core | untold[0] & ring.mask()])
            });

            let found = either_holds::<BITS, SLOTS>(a, b, value);
            assert_eq!(found, portable::either_holds::<BITS, SLOTS>(a, b, value));
            assert_eq!(find::<BITS, SLOTS>(a, value), portable::find::<BITS, SLOTS>(a, value));
            let marks = equal_lanes::<BITS, SLOTS>([a, b], value, mask);
            let expected = portable::equal_lanes::<BITS, SLOTS>([a, b], value, mask);
            assert_eq!((marks.both, marks.second), (expected.both, expected.second));
            // All bits below a value. The ring is among them.
            let below = lane >> random.random_range(0..=BITS - ring_bits);
            let below = random.random_bool(0.5).then_some(below);
            let sought = Query { ring, core, untold, mask: below };
            let matches = either_matches::<BITS, SLOTS>([a, b], sought);
            assert_eq!(
                matches,
                portable::either_matches::<BITS, SLOTS>([a, b], sought),
                "{sought:?}"
            );
            let marks = matching_lanes::<BITS, SLOTS>([a, b], sought);
            let expected = portable::matching_lanes::<BITS, SLOTS>([a, b], sought);
            assert_eq!((marks.both, marks.second), (expected.both, expected.second));
            for (matched, more) in matched.iter_mut().zip([found, marks.both != 0, matches]) {
                *matched += usize::from(more);
            }
        }
        assert!(matched.iter().all(|matched| (1000..99_000).contains(matched)), "{matched:?}");
    }

    #[test]
    fn instructions_of_the_processor_do_what_the_portable_code_does() {
        agrees_with_its_twin::<8, 8>();
        agrees_with_its_twin::<16, 4>();
        agrees_with_its_twin::<32, 2>();
    }
}
