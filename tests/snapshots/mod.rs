//! Snapshots and their use: bytes, restored filters, merges.

mod format;
mod hostile;
mod merge;
mod round_trip;
#[cfg(feature = "serde")]
mod serde;
mod views;
