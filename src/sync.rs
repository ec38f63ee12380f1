//! The only module that chooses between the machine and loom's model of it, which is in `loom-tests`.
//!
//! All atomics, locks, yields and random numbers of the crate come from here. Under `--cfg coucal_model` the same names
//! stand for loom's types, so a model runs the code of the crate and not a copy of it. With the feature `loom`, under
//! `--cfg loom` alone, the crate runs on the machine, and only [`turns`] use loom.

pub(crate) mod array;
pub(crate) mod lock;
#[cfg_attr(coucal_model, path = "../loom-tests/inside/machine.rs")]
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod power_of_two;
pub(crate) mod retained;
mod turns;

// Its value belongs to the process, not to one execution of a model.
pub(crate) use std::sync::OnceLock;

#[cfg(not(coucal_model))]
pub(crate) use lock::{Guard, Guards, Lock};
pub(crate) use machine::*;
pub(crate) use turns::{StepsToStore, Turns};
