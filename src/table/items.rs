//! The operations on one item, or on several.

pub(in crate::table) mod batch;
pub(in crate::table) mod insert;
pub(in crate::table) mod lookup;
pub(in crate::table) mod path;
pub(in crate::table) mod remove;
mod seen;
pub(in crate::table) mod update;
