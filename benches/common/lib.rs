//! Code that the programs of this package share: [`keys`], tables and numbers in [`text`], and SVG [`plot`]s.

pub mod keys;
pub mod plot;
pub mod text;
