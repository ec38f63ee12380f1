//! The only place that chooses between the machine and loom's model of it, which is in `loom-tests`.
//!
//! Every atomic, lock, yield and source of randomness of the crate comes from here. Under
//! `--cfg coucal_model` the same names stand for loom's own, so a model runs the crate's code and not a
//! copy of it. With the feature `loom`, under `--cfg loom` alone, the crate runs on the machine, and only [`turns`] are
//! loom's.

pub(crate) mod array;
pub(crate) mod lock;
#[cfg_attr(coucal_model, path = "../loom-tests/inside/machine.rs")]
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod power_of_two;
pub(crate) mod retained;
mod turns;

// Of a process, and not of an execution of a model.
pub(crate) use std::sync::OnceLock;

#[cfg(not(coucal_model))]
pub(crate) use lock::{Guard, Guards, Lock};
pub(crate) use machine::*;
pub(crate) use turns::{StepsToStore, Turns};
