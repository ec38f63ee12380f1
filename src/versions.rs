//! Relocation versions: how a lookup learns that a fingerprint was on the move.
//!
//! One counter for each group of fingerprints. A writer raises it between the copy of a
//! fingerprint into its other bucket and the clear of the first; a lookup that found nothing
//! compares it before and after, as in MemC3 (Fan et al., NSDI 2013). The counters stand apart from
//! the stripes, so that an ordinary insert dirties no line that a lookup reads but the bucket.
//!
//! The counters have 64 bits: none wraps within the life of a process, so equal means unmoved.

use crate::sync::{self, AtomicU64, Ordering};

/// The most groups, for tables of 2^17 buckets and more: 8 KiB of counters.
const MAX_GROUPS: usize = 1024;
/// Buckets for each group in smaller tables: the counters take under 1 % of the words.
const BUCKETS_PER_GROUP: usize = 128;
/// The fewest groups, for tables too small for a share to matter.
const MIN_GROUPS: usize = 8;

#[derive(Debug)]
pub(crate) struct Versions {
    groups: Box<[AtomicU64]>,
}

/// The version of one group as a lookup found it on entry.
#[derive(Clone, Copy)]
pub(crate) struct Opened<'a> {
    group: &'a AtomicU64,
    version: u64,
}

impl Versions {
    /// The number of groups, a power of two, for a table of so many buckets.
    pub(crate) fn groups_for(buckets: usize) -> usize {
        super::stripes::power_of_two_share(buckets, BUCKETS_PER_GROUP, MIN_GROUPS, MAX_GROUPS)
    }

    pub(crate) fn try_new(buckets: usize) -> Option<Self> {
        Some(Self { groups: sync::try_zeroed(Self::groups_for(buckets))? })
    }

    #[inline]
    fn group(&self, fingerprint: u64) -> &AtomicU64 {
        &self.groups[fingerprint as usize & (self.groups.len() - 1)]
    }

    /// Called before the buckets are read.
    #[inline]
    pub(crate) fn open(&self, fingerprint: u64) -> Opened<'_> {
        let group = self.group(fingerprint);
        // Acquire: pairs with the Release of `raise`. A lookup that sees a version raised also sees
        // the copy that was stored before it.
        Opened { group, version: group.load(Ordering::Acquire) }
    }

    /// Called after the fingerprint was copied and before it is cleared where it was, under the
    /// stripe of the bucket that is cleared.
    #[inline]
    pub(crate) fn raise(&self, fingerprint: u64) {
        // Release: pairs with the Acquire of `open`.
        self.group(fingerprint).fetch_add(1, Ordering::Release);
    }

    /// Raises every group, as `raise` does one.
    pub(crate) fn raise_all(&self) {
        for group in &self.groups {
            group.fetch_add(1, Ordering::Release);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.groups)
    }
}

impl Opened<'_> {
    /// Whether the group is as it was: then what was read in between was not on the move. Called
    /// after the buckets were read.
    #[inline]
    pub(crate) fn unmoved(self) -> bool {
        // Relaxed: the Acquire loads of the buckets keep this load behind them, and one of them
        // that read a clear has synchronized with it and so with the raise before it.
        self.group.load(Ordering::Relaxed) == self.version
    }
}
