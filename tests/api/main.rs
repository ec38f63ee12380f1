//! The public interface: types, constructors, errors, hashers, and figures of the cookbook.

#[path = "../common/mod.rs"]
#[macro_use]
mod common;

mod collection;
mod cookbook;
mod errors;
mod families;
mod hasher;
mod types;
