//! What the models of `loom-tests` may see and do that a user may not. Exists under `--cfg loom`.

use crate::filter::CuckooFilter;
use crate::geometry::{Fingerprint, Geometry};
use crate::hasher::DefaultHashBuilder;
use crate::layout::Layout;
pub use crate::sync::probe::{Guard, Lock, Step, after_each_step, set_seq_cst_is_exact};
use crate::table::Table;

/// Where an item lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// What is stored of it.
    pub fingerprint: u64,
    /// The bucket that a lookup reads first.
    pub first: usize,
    /// The bucket that a lookup reads second.
    pub second: usize,
}

/// Where a table with this number of buckets keeps the item with this hash.
#[must_use]
pub fn place<L: Layout>(buckets: usize, hash: u64) -> Place {
    let key = Geometry::new(buckets).key(hash, L::FINGERPRINT_BITS);
    Place { fingerprint: key.fingerprint.bits(), first: key.first, second: key.second }
}

/// An empty filter with this number of buckets: small tables that no capacity asks for, too.
#[must_use]
pub fn filter<L: Layout>(buckets: usize) -> CuckooFilter<L> {
    let table = Table::try_new(buckets, buckets).expect("a small table");
    table.store_zeros();
    CuckooFilter::from_parts(table, DefaultHashBuilder::default(), [0, 0])
}

/// Stores a fingerprint, which is not 0, in a bucket, as inserts and kicks could have done.
/// `false`: the bucket is full.
#[must_use]
pub fn put<L: Layout>(filter: &CuckooFilter<L>, bucket: usize, fingerprint: u64) -> bool {
    filter.table().put(bucket, Fingerprint::in_slot(fingerprint))
}
