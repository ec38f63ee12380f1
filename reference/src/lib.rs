//! What filters and maplets must do, for the tests and the fuzz targets.
//!
//! * [`Layout`]: what the documentation says of each layout, and filters and maplets of it. Their type is
//!   that of `AnyLayout`, so that a test is compiled for one type and runs for each layout.
//! * [`Subject`]: a filter or a maplet of any type as a value, so that a test is compiled once for all kinds; and
//!   [`Kind`], which builds it.
//! * [`mod@format`]: a reader of snapshots, and where an item belongs in a table: docs/format.md, written down
//!   again. It shares no code with the crate.
//! * [`judged`]: what the crate makes of any bytes is what this reader makes of them.
//! * [`Model`]: the exact multiset of entries that a filter or a maplet holds.
//! * [`Modelled`]: a filter or a maplet beside its model. Each operation is done to both, and its answer
//!   must be the model's. [`Op`] names the operations.
//! * [`random()`], [`hashes`] and [`cases`]: random numbers that follow from `COUCAL_SEED`.

#![allow(
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "for tests: all of it panics where the crate is wrong"
)]

#[path = "../../src/tests/for_each_layout.rs"]
mod for_each_layout;
pub mod format;
mod judged;
mod kind;
mod layouts;
mod model;
mod modelled;
#[path = "../../src/tests/random.rs"]
mod random;
mod subject;

pub use judged::judged;
pub use kind::Kind;
pub use layouts::{LAYOUTS, LEAST_BUCKETS, Layout};
pub use model::Model;
pub use modelled::{Modelled, Op, hash, keys};
pub use random::{Random, cases, hashes, random, run_cases, seed};
pub use subject::{
    Batch, Filter, HASHER, Held, Item, Maplet, Subject, ascending, boxed, prehashed,
};
