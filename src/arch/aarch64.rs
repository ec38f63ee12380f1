//! Instructions of 64-bit ARM that the language does not offer: hints for the cache.
//!
//! Lanes are compared by the portable arithmetic on whole words. A comparison of vectors would take fewer instructions,
//! but would have to wait until the words were moved to vector registers and the answer back.

#![allow(unsafe_code, reason = "the hints of a batch")]

use core::arch::asm;

pub(crate) use super::portable::{either_holds, either_matches, equal_lanes, find, matching_lanes};

/// Prefetches the cache line of a value that is needed soon. A batch knows its addresses long before it needs the
/// words.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    // SAFETY: a prefetch has no effect that a program can see, and never faults.
    unsafe {
        asm!("prfm pldl1keep, [{}]", in(reg) value, options(nomem, nostack, preserves_flags));
    }
}

/// Permission to use the instruction that prefetches a cache line for writing, so that no other core has it. Every
/// 64-bit ARM processor has this instruction.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchForWrite(());

impl PrefetchForWrite {
    #[allow(clippy::unnecessary_wraps, reason = "other processors may have none")]
    pub(crate) fn detect() -> Option<Self> {
        Some(Self(()))
    }

    /// Prefetches the cache line of a value that is written soon.
    #[allow(clippy::unused_self, reason = "it shows that there is the instruction")]
    #[inline]
    pub(crate) fn prefetch<T>(self, value: &T) {
        // SAFETY: as for `prefetch`.
        unsafe {
            asm!("prfm pstl1keep, [{}]", in(reg) value, options(nomem, nostack, preserves_flags));
        }
    }
}
