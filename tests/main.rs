//! The tests of the library that use only what users have. They are one program, since each further program would
//! compile the whole library for each layout again.

#[macro_use]
mod common;

mod api;
mod contract;
mod maplets;
mod memory;
mod operations;
mod snapshots;
mod stash;
mod threads;
