//! What a filter promises to one thread.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod batches;
mod capacity;
mod full;
mod growth;
mod promises;
