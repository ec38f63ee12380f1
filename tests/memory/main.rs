//! Memory: what a filter says of its own, and what snapshots take, by an allocator that counts; and
//! what the process has from the operating system.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod allocator;
mod filters;
mod resident;
mod snapshots;
