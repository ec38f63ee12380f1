//! What is done with one item, or with some.

pub(in crate::table) mod batch;
pub(in crate::table) mod insert;
pub(in crate::table) mod lookup;
pub(in crate::table) mod path;
pub(in crate::table) mod remove;
mod seen;
