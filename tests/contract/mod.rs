//! What a filter promises to one thread.

mod batches;
mod capacity;
mod crowds;
mod full;
mod growth;
mod promises;
mod rates;
