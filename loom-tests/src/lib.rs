//! Models of the filter under loom, and the checker that decides whether a recorded history is
//! linearizable.
//!
//! Without `--cfg coucal_model` this crate contains only the checker with its tests, and programs. To run all models:
//!
//! ```text
//! cargo run --release -p loom-tests --bin models
//! ```
//!
//! This makes a mended loom below `target/`: the published loom leaves interleavings out (`src/mended.rs` says which).
//! With the published loom:
//!
//! ```text
//! RUSTFLAGS="--cfg loom --cfg coucal_model" cargo test --release -p loom-tests
//! ```
//!
//! Each model is one test per layout; the name of the test ends in the name of the layout. To run the models whose name
//! contains a text:
//!
//! ```text
//! cargo run --release -p loom-tests --bin models kicks::
//! ```
//!
//! `src/bin/faults/list.rs` lists deliberate faults, at least one for each rule of the protocol. This command checks
//! that the models notice each of them, and each atomic ordering that is too weak:
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults
//! ```

pub mod checker;
#[cfg(feature = "programs")]
pub mod mended;
#[cfg(coucal_model)]
pub mod model;
#[cfg(feature = "programs")]
pub mod source;

/// An environment variable. While it is set, no model asserts its floor: so a fault that only makes a model shorter
/// does not count as caught.
pub const WITHOUT_FLOORS: &str = "COUCAL_MODELS_WITHOUT_FLOORS";
