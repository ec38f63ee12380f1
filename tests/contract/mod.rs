//! The promises of a filter that is used by one thread.

mod batches;
mod capacity;
mod crowds;
mod full;
mod growth;
mod promises;
mod rates;
