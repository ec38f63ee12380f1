//! A concurrent cuckoo filter.
#![deny(missing_docs)]

mod builder;
mod error;
mod filter;
mod geometry;
mod hasher;
mod layout;
mod path;
#[cfg(loom)]
#[doc(hidden)]
pub mod probe;
mod stripes;
mod sync;
mod table;
mod versions;

pub use builder::Builder;
pub use error::{BuildError, InsertError, InsertManyError, LengthMismatch};
pub use filter::{CuckooFilter, Stats};
pub use hasher::{DefaultHashBuilder, DefaultHasher};
pub use layout::{Fp16x4, Layout, Packed};
