//! Models of the filter under loom, and the checker that decides whether a recorded history is
//! linearizable.
//!
//! Without `--cfg coucal_model` this crate contains only the checker and its tests. To run all models:
//!
//! ```text
//! RUSTFLAGS="--cfg loom --cfg coucal_model" cargo test --release -p loom-tests
//! ```
//!
//! Each model is one test per layout; the name of the test ends in the name of the layout. To run
//! the models of one layout:
//!
//! ```text
//! RUSTFLAGS="--cfg loom --cfg coucal_model" cargo test --release -p loom-tests --test models -- Fp16x4
//! ```
//!
//! `src/bin/faults/list.rs` lists deliberate faults, at least one for each rule of the protocol. This
//! command checks that the models notice each of them, and each atomic ordering that is too weak:
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults
//! ```

pub mod checker;
#[cfg(coucal_model)]
pub mod model;

/// An environment variable. While it is set, no model asserts its floor: a fault that only makes a
/// model shorter does not count as caught.
pub const WITHOUT_FLOORS: &str = "COUCAL_MODELS_WITHOUT_FLOORS";
