//! Growth: splits of buckets, and the replacement of stripes, versions and short words.

pub(in crate::table) mod split;
pub(in crate::table) mod widen;
