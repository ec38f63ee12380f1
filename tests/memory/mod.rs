//! Memory: what a filter says of its own, and what snapshots take, by an allocator that counts.

mod allocator;
mod filters;
mod requests;
mod snapshots;
