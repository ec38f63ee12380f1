//! Lanes of words, and what some processors have an instruction for: comparing all lanes of two words at
//! once, and asking for a cache line early.
//!
//! Each function of the second kind exists twice, in [`portable`] for every processor and in `x86_64` for that one;
//! the choice is made at compile time. `--cfg coucal_portable` takes the portable ones everywhere.

mod lanes;
#[cfg_attr(
    all(target_arch = "x86_64", not(miri), not(coucal_portable)),
    expect(dead_code, reason = "the functions that have a twin")
)]
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri), not(coucal_portable)))]
mod x86_64;

pub(crate) use lanes::{Lanes, Marks, Pattern, Ring, Sought};
#[cfg(not(all(target_arch = "x86_64", not(miri), not(coucal_portable))))]
pub(crate) use portable::{
    PrefetchForWrite, either_holds, either_matches, equal_lanes, find, matching_lanes, prefetch,
};
#[cfg(all(target_arch = "x86_64", not(miri), not(coucal_portable)))]
pub(crate) use x86_64::{
    PrefetchForWrite, either_holds, either_matches, equal_lanes, find, matching_lanes, prefetch,
};
