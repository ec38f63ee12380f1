//! Instructions that 64-bit ARM has and the language does not: on the lanes of a vector, and for the cache.
//!
//! None can do harm: they take plain values or live references. Those on lanes belong to NEON, which every target
//! of this architecture that has the standard library has; the others are hints.

#![allow(
    unsafe_code,
    reason = "a fifth of the instructions of a growing lookup, and the hints of a batch"
)]

use core::arch::aarch64::{
    uint16x8_t, uint32x4_t, vaddq_u16, vaddq_u32, vandq_u32, vbicq_u32, vceqzq_u16, vceqzq_u32,
    vcombine_u16, vcombine_u32, vcombine_u64, vcreate_u64, vdup_n_u16, vdup_n_u32, vdupq_n_s16,
    vdupq_n_s32, vdupq_n_u16, vdupq_n_u32, veorq_u32, vmaxvq_u32, vorrq_u32, vreinterpretq_u16_u32,
    vreinterpretq_u32_u16, vreinterpretq_u32_u64, vshlq_u16, vshlq_u32,
};
use core::arch::asm;

use super::lanes::Query;
pub(crate) use super::portable::{either_holds, equal_lanes, find, matching_lanes};

/// Whether a lane of one word or the other holds what is sought.
///
/// With this, a lookup in a growing table takes a fifth fewer instructions than with arithmetic on the words.
#[inline]
pub(crate) fn either_matches<const BITS: u32, const SLOTS: usize>(
    words: [u64; 2],
    sought: Query,
) -> bool {
    if const { matches!(BITS, 16 | 32) } {
        // SAFETY: see the top of the file.
        unsafe { either_matches_in_vector::<BITS>(words, sought) }
    } else {
        super::portable::either_matches::<BITS, SLOTS>(words, sought)
    }
}

/// As `Lanes::turned` and `Lanes::mismatches` do it.
#[target_feature(enable = "neon")]
#[inline]
fn either_matches_in_vector<const BITS: u32>(words: [u64; 2], sought: Query) -> bool {
    let Query { ring, core, untold, mask } = sought;
    let words = vector(words);
    let rings = broadcast::<BITS>(ring.mask());
    let held = vandq_u32(words, rings);
    let up = (ring.bits - ring.head).cast_signed();
    let [upper, lower] = [-ring.head.cast_signed(), up].map(|by| shifted_left::<BITS>(held, by));
    let known = vandq_u32(vorrq_u32(upper, lower), rings);
    let difference = veorq_u32(known, broadcast_each::<BITS>(untold));
    let less = one_less::<BITS>(difference);
    // Beyond the lowest bit that differs: the leading 1 of a ring that matches lies no higher than that.
    let known_beyond = vbicq_u32(known, veorq_u32(difference, less));
    let mut besides = vbicq_u32(veorq_u32(words, broadcast::<BITS>(core)), rings);
    if let Some(mask) = mask {
        besides = vandq_u32(besides, broadcast::<BITS>(mask));
    }
    vmaxvq_u32(zeros::<BITS>(vorrq_u32(known_beyond, besides))) != 0
}

#[target_feature(enable = "neon")]
#[inline]
fn vector([first, second]: [u64; 2]) -> uint32x4_t {
    vreinterpretq_u32_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)))
}

#[target_feature(enable = "neon")]
#[inline]
fn broadcast<const BITS: u32>(value: u64) -> uint32x4_t {
    match BITS {
        16 => of_16(vdupq_n_u16(value as u16)),
        _ => vdupq_n_u32(value as u32),
    }
}

/// The first value in the lanes of the first word, the second in those of the second.
#[target_feature(enable = "neon")]
#[inline]
fn broadcast_each<const BITS: u32>([first, second]: [u64; 2]) -> uint32x4_t {
    match BITS {
        16 => of_16(vcombine_u16(vdup_n_u16(first as u16), vdup_n_u16(second as u16))),
        _ => vcombine_u32(vdup_n_u32(first as u32), vdup_n_u32(second as u32)),
    }
}

/// The lanes shifted to the left, to the right if the number is negative.
#[target_feature(enable = "neon")]
#[inline]
fn shifted_left<const BITS: u32>(lanes: uint32x4_t, by: i32) -> uint32x4_t {
    match BITS {
        16 => of_16(vshlq_u16(to_16(lanes), vdupq_n_s16(by as i16))),
        _ => vshlq_u32(lanes, vdupq_n_s32(by)),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn one_less<const BITS: u32>(lanes: uint32x4_t) -> uint32x4_t {
    match BITS {
        16 => of_16(vaddq_u16(to_16(lanes), vdupq_n_u16(u16::MAX))),
        _ => vaddq_u32(lanes, vdupq_n_u32(u32::MAX)),
    }
}

/// All ones in the lanes that are 0, 0 in the others.
#[target_feature(enable = "neon")]
#[inline]
fn zeros<const BITS: u32>(lanes: uint32x4_t) -> uint32x4_t {
    match BITS {
        16 => of_16(vceqzq_u16(to_16(lanes))),
        _ => vceqzq_u32(lanes),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn of_16(lanes: uint16x8_t) -> uint32x4_t {
    vreinterpretq_u32_u16(lanes)
}

#[target_feature(enable = "neon")]
#[inline]
fn to_16(lanes: uint32x4_t) -> uint16x8_t {
    vreinterpretq_u16_u32(lanes)
}

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
