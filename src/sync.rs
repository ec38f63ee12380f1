//! The only place that chooses between the machine and loom's model of it.
//!
//! Every atomic, lock, yield and source of randomness of the crate comes from here. Under
//! `--cfg loom` the same names stand for loom's own, so a model runs the crate's code and not a
//! copy of it.

mod array;
mod lock;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod machine;

use std::sync::Arc;

use parking_lot::RwLock;

#[cfg(not(loom))]
pub(crate) use array::PieceArray;
#[cfg(not(loom))]
pub(crate) use lock::{Guard, Guards, Lock};
#[cfg(loom)]
pub(crate) use loom::*;
#[cfg(not(loom))]
pub(crate) use machine::*;

/// A value that exists for some time, for any thread that needs it then. loom does not see it: it is only
/// exchanged while no other thread may read it.
pub(crate) struct Published<T>(RwLock<Option<Arc<T>>>);

impl<T> Published<T> {
    pub(crate) fn none() -> Self {
        Self(RwLock::new(None))
    }

    pub(crate) fn get(&self) -> Option<Arc<T>> {
        self.0.read().clone()
    }

    /// The value that was there.
    pub(crate) fn replace(&self, value: Option<Arc<T>>) -> Option<Arc<T>> {
        std::mem::replace(&mut self.0.write(), value)
    }
}

/// The hook of the models, and what has models of its own: the lock, and the array of words.
#[cfg(loom)]
pub mod probe {
    pub use super::array::PieceArray;
    pub use super::lock::{Guard, Lock};
    pub use super::loom::{Step, after_each_step, moving, set_seq_cst_is_exact};
}
