//! The toolbox that the programs of this repository share for measurements.
//!
//! * [`keys`]: distinct keys, absent and present ones; [`hash`]: one hash for every peer;
//! * [`peers`]: coucal and everything it is compared with, behind one trait; [`subject`]: the timed
//!   loops over such a peer, as trait objects;
//! * [`timing`]: threads that start together, medians and ratios; [`pieces`]: what counts of a run of
//!   several threads; [`machine`]: a description of the machine;
//! * [`text`]: tables and numbers in markdown; [`plot`]: SVG plots, where every subject keeps its
//!   [colour](palette).

pub mod hash;
pub mod keys;
pub mod machine;
pub mod palette;
pub mod peers;
pub mod pieces;
pub mod plot;
pub mod subject;
pub mod text;
pub mod timing;
