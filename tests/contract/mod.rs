//! What a filter promises to one thread.

mod batches;
mod capacity;
mod full;
mod growth;
mod promises;
mod rates;
