//! What the fuzzer runs: functions of any bytes that panic when the crate is wrong.
//!
//! `fuzz_targets/` has the binaries for cargo-fuzz, which need a nightly toolchain; `tests/` runs the
//! same functions on the committed corpus and on random inputs.

mod operations;
mod restore;

pub use operations::operations;
pub use restore::restore;
