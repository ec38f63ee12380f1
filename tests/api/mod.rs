//! The public interface: types, constructors, errors, hashers, and figures of the cookbook.

mod builders;
mod candidates;
mod collection;
mod cookbook;
mod errors;
mod families;
mod hasher;
mod types;
