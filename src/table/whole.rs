//! The operations on a whole table.

pub(crate) mod figures;
pub(crate) mod generations;
pub(crate) mod image;
pub(in crate::table) mod merge;
pub(in crate::table) mod retire;
