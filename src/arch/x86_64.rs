//! Instructions of the processor that the language does not offer: those on the lanes of vectors, and hints for the
//! cache.
//!
//! None of them can do harm: they take plain values or live references. The instructions on lanes belong to SSE2, which
//! every x86-64 processor has; the others are hints. (In later releases of Rust, a function with `#[target_feature]`
//! calls the instructions on lanes without `unsafe`.)

#![allow(clippy::cast_possible_wrap, reason = "lanes have no sign")]
#![allow(unsafe_code, reason = "a third off the time of a batch and a sixth off that of a lookup")]

use core::arch::asm;
use core::arch::x86_64::{
    __cpuid, __m128i, _MM_HINT_T0, _mm_add_epi16, _mm_add_epi32, _mm_and_si128, _mm_andnot_si128,
    _mm_cmpeq_epi8, _mm_cmpeq_epi16, _mm_cmpeq_epi32, _mm_cvtsi32_si128, _mm_cvtsi128_si64,
    _mm_movemask_epi8, _mm_or_si128, _mm_prefetch, _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi16,
    _mm_set1_epi32, _mm_sll_epi16, _mm_sll_epi32, _mm_srl_epi16, _mm_srl_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi64, _mm_xor_si128,
};

use super::Query;
use super::lanes::{Lanes, Marks};
use super::portable;

/// Returns whether SSE2 can compare lanes of this width. Every layout with such lanes fills its word with them, so
/// there are no bits above the last lane to compare.
const fn has_comparison(bits: u32) -> bool {
    matches!(bits, 8 | 16 | 32)
}

/// Returns whether one of the lanes of `a` or of `b` equals `value`.
///
/// In a table that is larger than the cache, lookups overlap more if each has fewer instructions, and if fewer of these
/// wait for its words. In a table of 2^24 slots a lookup took 48 ns with SSE2, and 57 ns with arithmetic on the words.
#[inline]
pub(crate) fn either_holds<const BITS: u32, const SLOTS: usize>(
    a: u64,
    b: u64,
    value: u64,
) -> bool {
    if const { has_comparison(BITS) } {
        equal_bytes::<BITS>([a, b], value) != 0
    } else {
        portable::either_holds::<BITS, SLOTS>(a, b, value)
    }
}

/// Returns the lowest bit of the first lane that equals `value`, which must not be 0.
#[inline]
pub(crate) fn find<const BITS: u32, const SLOTS: usize>(word: u64, value: u64) -> Option<u32> {
    if const { has_comparison(BITS) } {
        let bytes = equal_bytes::<BITS>([word, 0], value);
        (bytes != 0).then(|| bytes.trailing_zeros() * 8)
    } else {
        portable::find::<BITS, SLOTS>(word, value)
    }
}

/// Marks the lanes that agree with `value` in the bits of the mask. The mask must not contain the highest bit of a
/// lane.
///
/// In a table of 2^24 slots a `get` that found a value took 50 ns with SSE2, and 64 ns with arithmetic on the words,
/// which also needs more registers than there are.
#[inline]
pub(crate) fn equal_lanes<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    value: u64,
    mask: u64,
) -> Marks {
    if const { has_comparison(BITS) } {
        // SAFETY: SSE2 is part of x86-64.
        let below = unsafe { _mm_and_si128(vector(words), broadcast::<BITS>(mask)) };
        marks(equal::<BITS>(below, value & mask), Lanes::<BITS, SLOTS>::HIGH)
    } else {
        portable::equal_lanes::<BITS, SLOTS>(words, value, mask)
    }
}

/// Returns whether a lane of either word matches `sought`.
#[inline]
pub(crate) fn either_matches<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    sought: Query,
) -> bool {
    if const { has_comparison(BITS) && BITS > 8 } {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_movemask_epi8(matching_in_vector::<BITS>(words, sought)) != 0 }
    } else {
        portable::either_matches::<BITS, SLOTS>(words, sought)
    }
}

/// Marks the lanes that match `sought`.
#[inline]
pub(crate) fn matching_lanes<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    sought: Query,
) -> Marks {
    if const { has_comparison(BITS) && BITS > 8 } {
        marks(matching_in_vector::<BITS>(words, sought), Lanes::<BITS, SLOTS>::HIGH)
    } else {
        portable::matching_lanes::<BITS, SLOTS>(words, sought)
    }
}

/// Returns all ones in the lanes that match, and 0 in the others: computes the same as `Lanes::rotated` and
/// `Lanes::mismatches`.
#[inline]
fn matching_in_vector<const BITS: u32>(words: [u64; 2], sought: Query) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let Query { ring, core, untold, mask } = sought;
        let words = vector(words);
        let rings = broadcast::<BITS>(ring.mask());
        let held = _mm_and_si128(words, rings);
        let [down, up] = [ring.head, ring.bits - ring.head].map(|by| _mm_cvtsi32_si128(by as i32));
        let (upper, lower) = match BITS {
            16 => (_mm_srl_epi16(held, down), _mm_sll_epi16(held, up)),
            _ => (_mm_srl_epi32(held, down), _mm_sll_epi32(held, up)),
        };
        let rotated = _mm_or_si128(upper, lower);
        // Above the ring, `rotated` and `untold` have bits without meaning. They do no harm: where the lowest bit that
        // differs is one of them, the whole ring agrees.
        let known = _mm_and_si128(rotated, rings);
        let [first, second] = untold.map(broadcast::<BITS>);
        let difference = _mm_xor_si128(rotated, _mm_unpacklo_epi64(first, second));
        let ones = _mm_set1_epi8(-1);
        let less = match BITS {
            16 => _mm_add_epi16(difference, ones),
            _ => _mm_add_epi32(difference, ones),
        };
        // The bits beyond the lowest bit that differs. In a ring that matches, the leading 1 is no higher than that
        // bit.
        let known_beyond = _mm_andnot_si128(_mm_xor_si128(difference, less), known);
        let mut besides = _mm_andnot_si128(rings, _mm_xor_si128(words, broadcast::<BITS>(core)));
        if let Some(mask) = mask {
            besides = _mm_and_si128(besides, broadcast::<BITS>(mask));
        }
        equal::<BITS>(_mm_or_si128(known_beyond, besides), 0)
    }
}

/// Returns a mark for each lane that is all ones; all other lanes must be 0.
#[inline]
fn marks(lanes: __m128i, high: u64) -> Marks {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let marks = _mm_and_si128(lanes, vector([high >> 1, high]));
        let second = _mm_unpackhi_epi64(marks, marks);
        let [both, second] = [_mm_or_si128(marks, second), second].map(|v| _mm_cvtsi128_si64(v));
        Marks { both: both as u64, second: second as u64 }
    }
}

/// Compares lanes of `BITS` bits with `value`. Returns one bit per byte of the lanes that are equal: eight bits for the
/// first word, and above them eight for the second.
#[inline]
fn equal_bytes<const BITS: u32>(words: [u64; 2], value: u64) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_movemask_epi8(equal::<BITS>(vector(words), value)) as u32 }
}

/// Returns all ones in the lanes that equal `value`, and 0 in the others.
#[inline]
fn equal<const BITS: u32>(words: __m128i, value: u64) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let value = broadcast::<BITS>(value);
        match BITS {
            8 => _mm_cmpeq_epi8(words, value),
            16 => _mm_cmpeq_epi16(words, value),
            32 => _mm_cmpeq_epi32(words, value),
            _ => unreachable!("see `has_comparison`"),
        }
    }
}

#[inline]
fn broadcast<const BITS: u32>(value: u64) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        match BITS {
            8 => _mm_set1_epi8(value as i8),
            16 => _mm_set1_epi16(value as i16),
            32 => _mm_set1_epi32(value as i32),
            _ => unreachable!("see `has_comparison`"),
        }
    }
}

#[inline]
fn vector([first, second]: [u64; 2]) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_set_epi64x(second as i64, first as i64) }
}

/// Prefetches the cache line of a value that is needed soon.
///
/// A batch knows its addresses long before it needs the words. A plain early load would do, too. But the processor does
/// not retire a load until its word has come, so it has fewer misses under way: in a table of 2^24 slots a batched
/// lookup took 54 ns with plain loads, and 35 ns with the hint.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    // SAFETY: a prefetch has no effect that a program can see, and never faults; and the address is that of a live
    // value anyway. The instruction belongs to SSE, which is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast()) };
}

/// Permission to use the instruction that prefetches a cache line for writing, so that no other core has it. Only
/// exists on a processor with that instruction.
///
/// `_MM_HINT_ET0` would be the hint for this. But it becomes `prefetcht0`, which leaves the line shared, unless the
/// crate is compiled for a processor that is known to have `prefetchw`.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchForWrite(());

impl PrefetchForWrite {
    /// Returns `None` if this processor has no such instruction.
    pub(crate) fn detect() -> Option<Self> {
        /// The leaf of `cpuid` that says so, in bit 8 of `ecx`.
        const EXTENDED: u32 = 0x8000_0001;
        if cfg!(target_env = "sgx") {
            return None;
        }
        // SAFETY: every x86-64 processor has `cpuid`, except in an enclave. (In later releases of Rust it is safe.)
        #[allow(unused_unsafe)]
        let features =
            unsafe { (__cpuid(0x8000_0000).eax >= EXTENDED).then(|| __cpuid(EXTENDED).ecx) };
        (features? >> 8 & 1 != 0).then_some(Self(()))
    }

    /// Prefetches the cache line of a value that is written soon.
    #[expect(clippy::unused_self, reason = "it shows that there is the instruction")]
    #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read or written")]
    #[inline]
    pub(crate) fn prefetch<T>(self, value: &T) {
        // SAFETY: as for `prefetch`; and a value of this type exists only if the processor has the instruction.
        unsafe {
            asm!("prefetchw [{}]", in(reg) value, options(nomem, nostack, preserves_flags));
        }
    }
}
