//! What the benchmarks of `coucal` share: the keys, the filters behind one trait, the limit of the
//! machine behind the same trait, and the loops that are timed.
//!
//! * `compare` (a program) runs the whole comparison and writes `performance.md`, a CSV and plots;
//! * `instructions` (a program) counts instructions under callgrind and compares with a record;
//! * `micro` (criterion) is for the quick look while one function is being worked on.

pub mod keys;
pub mod limits;
pub mod peers;
pub mod subject;
