//! Instructions that 64-bit ARM has and the language does not: hints for the cache.
//!
//! Lanes are compared by arithmetic on whole words, as with any other processor: a comparison in a vector has fewer
//! instructions, but waits for its words to be moved there and for the answer to be moved back.

#![allow(unsafe_code, reason = "the hints of a batch")]

use core::arch::asm;

pub(crate) use super::portable::{either_holds, either_matches, equal_lanes, find, matching_lanes};

/// Asks for the cache line of a value that is needed soon: a batch knows its addresses long before it needs the words.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    // SAFETY: a prefetch has no effect that a program can see and never faults.
    unsafe {
        asm!("prfm pldl1keep, [{}]", in(reg) value, options(nomem, nostack, preserves_flags));
    }
}

/// The instruction that asks for a cache line as the only core that has it: every such processor has one.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchForWrite(());

impl PrefetchForWrite {
    #[allow(clippy::unnecessary_wraps, reason = "other processors may have none")]
    pub(crate) fn detect() -> Option<Self> {
        Some(Self(()))
    }

    /// Asks for the cache line of a value that is written soon.
    #[allow(clippy::unused_self, reason = "it shows that there is the instruction")]
    #[inline]
    pub(crate) fn prefetch<T>(self, value: &T) {
        // SAFETY: as for `prefetch`.
        unsafe {
            asm!("prfm pstl1keep, [{}]", in(reg) value, options(nomem, nostack, preserves_flags));
        }
    }
}
