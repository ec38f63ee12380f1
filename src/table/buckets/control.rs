//! The stripes, which writers lock, and the versions, which lookups validate.
//!
//! **Invariant:** a stripe that can be locked, and a version that validates a lookup, are the newest of their buckets.
//!
//! A small table has few of them. While it grows, larger sets [replace](crate::table::growth::widen) them.

use super::stripes::{SEGMENT, Stripes, stripes_of};
use super::versions::{Versions, groups_of};
use crate::sync::memory::NoMemory;

/// The number of stripes that a growing table begins with.
const FIRST_STRIPES: u64 = 8;
/// The number of buckets per stripe just after a growing table has got more stripes: a segment. The table gets more
/// stripes again before this number is more than eight times as large.
const BUCKETS_PER_NEW_STRIPE: u64 = 16;

const _: () = assert!(SEGMENT <= BUCKETS_PER_NEW_STRIPE as usize);

pub struct Control {
    pub(in crate::table) stripes: Stripes,
    pub(in crate::table) versions: Versions,
}

impl Control {
    /// Allocates `stripes` stripes, and the versions, of a table of at most `max_buckets` buckets.
    pub(in crate::table) fn try_new(stripes: usize, max_buckets: u64) -> Result<Self, NoMemory> {
        let versions = Versions::try_new(groups_of(max_buckets).min(stripes))?;
        Ok(Self { stripes: Stripes::try_new(stripes, max_buckets)?, versions })
    }

    /// Returns the bytes of `stripes` stripes, and of the versions, of a table of at most `max_buckets` buckets.
    pub(in crate::table) fn bytes_for(stripes: usize, max_buckets: u64) -> u64 {
        Stripes::bytes_for(stripes) + Versions::bytes_for(groups_of(max_buckets).min(stripes))
    }

    /// Returns the number of stripes of a growing table that has memory for `buckets` buckets: 8, 64, 512 and so on,
    /// but no more than a table of `max_buckets` buckets has.
    pub(in crate::table) fn stripes(buckets: u64, max_buckets: u64) -> usize {
        let share = (buckets / BUCKETS_PER_NEW_STRIPE).max(FIRST_STRIPES);
        stripes_of(max_buckets).min(1 << (share.ilog2() / 3 * 3))
    }
}
