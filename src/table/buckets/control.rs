//! What writers lock, and what lookups validate: the stripes and the versions of a table.
//!
//! **Invariant:** a stripe that can be locked, and a version that validates a lookup, are the newest of their buckets.
//!
//! A small table has few of them. While it grows, more of them [replace](crate::table::growth::widen) these.

use super::stripes::{Stripes, stripes_of};
use super::versions::{Versions, groups_of};
use crate::sync::memory::NoMemory;

/// The stripes that a growing table begins with.
const FIRST_STRIPES: u64 = 8;
/// When there are to be more, each is for so many buckets; then for up to eight times as many.
const BUCKETS_PER_NEW_STRIPE: u64 = 16;

pub struct Control {
    pub(in crate::table) stripes: Stripes,
    pub(in crate::table) versions: Versions,
}

impl Control {
    /// Of a table that may have so many buckets, with so many stripes.
    pub(in crate::table) fn try_new(stripes: usize, max_buckets: u64) -> Result<Self, NoMemory> {
        let versions = Versions::try_new(groups_of(max_buckets).min(stripes))?;
        Ok(Self { stripes: Stripes::try_new(stripes, max_buckets)?, versions })
    }

    /// What so many stripes take, and the versions of a table that may have so many buckets.
    pub(in crate::table) fn bytes_for(stripes: usize, max_buckets: u64) -> u64 {
        Stripes::bytes_for(stripes) + Versions::bytes_for(groups_of(max_buckets).min(stripes))
    }

    /// How many stripes a growing table has while it has memory for so many buckets: eight, or eight times as many, and
    /// so on.
    pub(in crate::table) fn stripes(buckets: u64, max_buckets: u64) -> usize {
        let share = (buckets / BUCKETS_PER_NEW_STRIPE).max(FIRST_STRIPES);
        stripes_of(max_buckets).min(1 << (share.ilog2() / 3 * 3))
    }
}
