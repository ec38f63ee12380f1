//! What a filter of one thread promises.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod batches;
mod capacity;
mod model;
mod promises;
