//! Models of the filter under loom, and the checker that judges what they saw.
//!
//! Without `--cfg loom` only the checker is here, with its own tests. All models:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p loom-tests
//! ```
//!
//! Each model runs for every layout, under names that end in that of the layout. With its name after
//! a `--`, the models of one layout are run:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p loom-tests --test models -- Fp16x4
//! ```
//!
//! That each rule of the protocol matters is shown by breaking it: the faults are listed in
//! `src/bin/faults/list.rs`, and this command tries them:
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults
//! ```

pub mod checker;
#[cfg(loom)]
pub mod stage;
