//! The only place that chooses between the machine and loom's model of it.
//!
//! Every atomic, lock, yield and source of randomness of the crate comes from here. Under
//! `--cfg coucal_model` the same names stand for loom's own, so a model runs the crate's code and not a
//! copy of it. With the feature `loom`, under `--cfg loom` alone, the crate runs on the machine, and only [`turns`] are
//! loom's.

pub(crate) mod array;
mod lock;
#[cfg(coucal_model)]
mod loom;
#[cfg(not(coucal_model))]
mod machine;
pub(crate) mod memory;
mod turns;

// Of a process, and not of an execution of a model.
pub(crate) use std::sync::OnceLock;

#[cfg(not(coucal_model))]
pub(crate) use lock::{Guard, Guards, Lock};
#[cfg(coucal_model)]
pub(crate) use loom::*;
#[cfg(not(coucal_model))]
pub(crate) use machine::*;
pub(crate) use turns::Turns;

/// The hook of the models, and what has models of its own: the lock of a stripe, and the array of words.
#[cfg(coucal_model)]
pub mod probe {
    pub use super::array::PieceArray;
    pub use super::lock::{Guard, Lock};
    pub use super::loom::{Step, after_each_step, moving, set_seq_cst_is_exact};
}
