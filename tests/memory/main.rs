//! Memory: what a filter says of its own, and what snapshots take, by an allocator that counts.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod allocator;
mod filters;
mod requests;
mod snapshots;
