//! Growth: how buckets are split, and how what guards them is replaced by more.

pub(in crate::table) mod split;
pub(in crate::table) mod widen;
