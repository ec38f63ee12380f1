//! Functions of the standard library that this crate's minimum version of Rust does not have, under the names that they
//! have there.
//!
//! Delete a function when `rust-version` in `Cargo.toml` is at least the version in its comment.

use bytemuck::Pod;

/// Returns one of two values, in place of a branch that no processor could predict (Rust 1.88).
///
/// Both values are computed before the choice, so the compiler makes a conditional move of it: by callgrind's count,
/// the operations have as many branches as with the function of the standard library. The compiler may still make a
/// branch.
#[inline(always)]
pub(crate) fn select_unpredictable<T: Copy>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// Splits bytes into arrays of `N` bytes, and the rest (Rust 1.88).
#[inline]
pub(crate) fn as_chunks<const N: usize>(bytes: &[u8]) -> (&[[u8; N]], &[u8])
where
    [u8; N]: Pod,
{
    let (whole, rest) = bytes.split_at(bytes.len() / N * N);
    (bytemuck::cast_slice(whole), rest)
}
