//! The operations on a whole table.

pub(crate) mod figures;
pub(crate) mod generations;
pub(crate) mod image;
pub(in crate::table) mod merge;
mod sets;
pub(in crate::table) mod sweep;
