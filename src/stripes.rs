//! Writer locks, one for each group of buckets, each with the count of the slots in use there.
//!
//! Locks are always taken in the order of their stripes, so no two writers wait for each other.

use crate::sync::{AtomicU32, Guard, Lock, Ordering};

/// The most stripes, for tables of 2^19 buckets and more: 32 KiB of locks.
const MAX_STRIPES: usize = 4096;
/// Buckets for each stripe in smaller tables: the stripes take under 1 % of the words.
const BUCKETS_PER_STRIPE: usize = 128;
/// The fewest stripes, for tables too small for a share to matter.
const MIN_STRIPES: usize = 8;

/// `buckets / share` as a power of two between `least` and `most`, and no more than the buckets.
pub(crate) fn power_of_two_share(buckets: usize, share: usize, least: usize, most: usize) -> usize {
    let floor = |n: usize| 1 << n.max(1).ilog2();
    floor((buckets / share).clamp(least, most).min(buckets))
}

struct Stripe {
    lock: Lock,
    /// Slots in use in the buckets of this stripe. Written under the lock by a plain load and
    /// store; read by anyone.
    occupied: AtomicU32,
}

pub(crate) struct Stripes {
    stripes: Box<[Stripe]>,
}

impl Stripes {
    /// The number of stripes, a power of two, for a table of so many buckets.
    pub(crate) fn count_for(buckets: usize) -> usize {
        power_of_two_share(buckets, BUCKETS_PER_STRIPE, MIN_STRIPES, MAX_STRIPES)
    }

    pub(crate) fn try_new(buckets: usize) -> Option<Self> {
        let count = Self::count_for(buckets);
        let mut stripes = Vec::new();
        stripes.try_reserve_exact(count).ok()?;
        stripes.resize_with(count, || Stripe { lock: Lock::new(), occupied: AtomicU32::new(0) });
        Some(Self { stripes: stripes.into_boxed_slice() })
    }

    /// The stripe of a bucket. The two buckets of an item have opposite parity, so they share a
    /// stripe only where there is just one.
    #[inline]
    fn of(&self, bucket: usize) -> usize {
        bucket & (self.stripes.len() - 1)
    }

    /// Locks the stripes of these buckets, lowest first, each once. Blocks while another writer
    /// holds one of them.
    #[inline]
    pub(crate) fn lock<const N: usize>(&self, buckets: [usize; N]) -> Held<'_, Few<'_, N>> {
        let mut order = buckets.map(|bucket| self.of(bucket));
        order.sort_unstable();
        let mut guards = [const { None }; N];
        for at in 0..N {
            if at == 0 || order[at] != order[at - 1] {
                guards[at] = Some(self.stripes[order[at]].lock.lock());
            }
        }
        Held { stripes: self, _guards: guards }
    }

    /// Locks every stripe, lowest first: nobody else writes until the guard is dropped.
    pub(crate) fn lock_all(&self) -> Held<'_, All<'_>> {
        Held { stripes: self, _guards: self.stripes.iter().map(|s| s.lock.lock()).collect() }
    }

    /// Slots in use: exact when no writer is at work. Takes no lock.
    pub(crate) fn occupied(&self) -> usize {
        // Relaxed: a count is a figure, and orders nothing.
        self.stripes.iter().map(|s| s.occupied.load(Ordering::Relaxed) as usize).sum()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.stripes)
    }
}

/// The guards of up to N stripes: `None` where two buckets share one.
pub(crate) type Few<'a, const N: usize> = [Option<Guard<'a>>; N];

/// The guards of every stripe.
pub(crate) type All<'a> = Vec<Guard<'a>>;

/// Proof that the stripes of some buckets are locked, until it is dropped.
pub(crate) struct Held<'a, Guards> {
    stripes: &'a Stripes,
    _guards: Guards,
}

impl<Guards> Held<'_, Guards> {
    /// One slot more is in use in `bucket`, whose stripe is held.
    #[inline]
    pub(crate) fn occupy(&self, bucket: usize) {
        self.change(bucket, |occupied| occupied + 1);
    }

    /// One slot less is in use in `bucket`, whose stripe is held.
    #[inline]
    pub(crate) fn vacate(&self, bucket: usize) {
        self.change(bucket, |occupied| occupied - 1);
    }

    #[inline]
    fn change(&self, bucket: usize, to: impl FnOnce(u32) -> u32) {
        let occupied = &self.stripes.stripes[self.stripes.of(bucket)].occupied;
        // Relaxed: the lock orders the writers, and a reader only adds the counts up.
        occupied.store(to(occupied.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
}

impl Held<'_, All<'_>> {
    /// No slot is in use anywhere.
    pub(crate) fn vacate_all(&self) {
        for stripe in &self.stripes.stripes {
            // Relaxed: as in `change`.
            stripe.occupied.store(0, Ordering::Relaxed);
        }
    }
}
