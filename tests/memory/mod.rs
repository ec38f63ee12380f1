//! Memory: the bytes that a filter states, and the bytes that snapshots take, measured by an allocator that counts.

mod allocator;
mod filters;
mod requests;
mod snapshots;
