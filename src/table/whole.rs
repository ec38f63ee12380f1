//! What is done with all that a table holds.

pub(crate) mod figures;
pub(crate) mod generations;
pub(in crate::table) mod image;
pub(in crate::table) mod merge;
pub(in crate::table) mod retire;
