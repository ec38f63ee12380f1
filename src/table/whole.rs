//! What is done with all that a table holds.

pub(crate) mod figures;
pub(crate) mod generations;
pub(crate) mod image;
pub(in crate::table) mod merge;
pub(in crate::table) mod retire;
