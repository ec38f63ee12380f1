//! Where the crate would put an item, for the evaluation in this repository; and filters of a layout that
//! is named at run time, for its tests.
//!
//! Not part of the public API: no stability, no support, and it may go away in any release. The
//! evaluation simulates tables with bucket and fingerprint sizes that the crate does not have, and
//! must place items exactly as the crate does.

use crate::builder::Builder;
use crate::entry::Entry;
use crate::layout::LayoutId;
use crate::storage::Storage;
use crate::table::Geometry;

/// The fingerprint of `bits` bits (never 0) and the two buckets of a 64-bit hash, in a table of
/// `buckets` buckets. `buckets` is even and at least 2.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn key(buckets: usize, hash: u64, bits: u32) -> (u64, usize, usize) {
    let key = Geometry::fixed(buckets, bits).key(hash);
    (key.entry.bits().into(), key.first, key.second)
}

/// The other bucket of a fingerprint, which is not 0, that is stored in `bucket`.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn alternate(buckets: usize, bucket: usize, fingerprint: u64) -> usize {
    Geometry::fixed(buckets, u32::BITS).alternate(bucket, Entry::fingerprint(fingerprint))
}

/// The same builder, which chooses the layout of this name where it chooses one: for `AnyLayout`.
///
/// # Panics
///
/// If no layout has the name.
#[doc(hidden)]
pub fn of_named_layout<L: Storage, S, T>(
    builder: Builder<L, S, T>,
    name: &str,
) -> Builder<L, S, T> {
    let layout = LayoutId::ALL.iter().find(|layout| layout.name() == name);
    builder.only(*layout.unwrap_or_else(|| panic!("no layout has the name {name}")))
}
