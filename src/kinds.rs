//! The kinds of filters that users build, and their builders. Each kind hashes its items and calls the table.

pub(crate) mod builder;
pub(crate) mod expiring;
pub(crate) mod filter;
pub(crate) mod maplet;
