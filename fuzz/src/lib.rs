//! What the fuzzer runs: functions of any bytes that panic when the crate is wrong.
//!
//! `fuzz_targets/` has the binaries for cargo-fuzz, which need a nightly toolchain; `tests/` runs the
//! same functions on the committed corpus and on random inputs from a fixed seed.

mod format;
mod model;
mod operations;
mod restore;
mod subject;

pub use operations::operations;
pub use restore::restore;

/// Calls a macro with each layout that the crate has.
macro_rules! for_each_layout {
    ($then:ident) => {
        coucal::__for_each_layout!($then)
    };
}
pub(crate) use for_each_layout;
