//! Writer locks: one stripe for each group of buckets, with the number of slots in use there.
//!
//! **Invariant:** writers take locks in the order of their stripes, so no two writers wait for each other. A bucket
//! changes only under its stripe, and so does the number of its slots in use.

use core::ptr;

use crate::arch::PrefetchForWrite;
use crate::sizing::MAX_STRIPES;
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::power_of_two::PowerOfTwoSlice;
use crate::sync::{Count, Flag, Guard, Guards, Lock};
use crate::table::placing::OUT_OF_CACHE_BUCKETS;

/// The number of buckets per stripe in smaller tables. The stripes then take less than 1 % of the memory of the words.
const BUCKETS_PER_STRIPE: u64 = 128;
/// The least number of buckets in a sample whose load is taken as the load of the table.
pub(in crate::table) const SAMPLE: usize = 2048;
/// The least number of stripes. In a small table, their share of the memory does not matter.
const MIN_STRIPES: u64 = 8;
/// Stripes in a cache line.
const STRIPES_PER_LINE: usize = 64 / size_of::<Stripe>();
/// The least number of stripes in a sample.
const LEAST_SAMPLED: usize = 8;

/// Returns `buckets / share`, rounded down to a power of two, between `least` and `most`, and at most `buckets`.
pub(in crate::table) fn power_of_two_share(
    buckets: u64,
    share: u64,
    least: u64,
    most: u64,
) -> usize {
    floor_power_of_two((buckets / share).clamp(least, most).min(buckets) as usize)
}

fn floor_power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

pub(in crate::table) struct Stripe {
    lock: Lock,
    /// The number of slots in use in the buckets of this stripe. Written under the lock, which orders the writers; any
    /// thread may read it. No table is so large that it wraps: see `sizing::MAX_SLOTS`.
    occupied: Count,
    /// Whether stores in these buckets go to the mirror of a snapshot as well. The lock protects this flag, and is
    /// beside it: a thread that locks the stripe has this line anyway.
    recording: Flag,
    /// The color of the latest [sweep](crate::table::whole::sweep) of these buckets, 0 or 1. The lock protects it.
    color: Flag,
}

impl AsRef<Lock> for Stripe {
    fn as_ref(&self) -> &Lock {
        &self.lock
    }
}

pub struct Stripes {
    stripes: PowerOfTwoSlice<Stripe>,
    /// The way to request the line of a stripe early, in tables where that pays: see `prefetch`.
    write_prefetch: Option<PrefetchForWrite>,
}

/// Returns the number of stripes, a power of two, of a table of at most `buckets` buckets.
pub(in crate::table) fn stripes_of(buckets: u64) -> usize {
    power_of_two_share(buckets, BUCKETS_PER_STRIPE, MIN_STRIPES, MAX_STRIPES as u64)
}

impl Stripes {
    /// Returns the bytes of `count` stripes.
    pub(in crate::table) fn bytes_for(count: usize) -> u64 {
        (count * size_of::<Stripe>()) as u64
    }

    /// Allocates `count` stripes, a power of two, for a table of at most `buckets` buckets.
    pub(in crate::table) fn try_new(count: usize, buckets: u64) -> Result<Self, NoMemory> {
        let mut stripes = try_with_capacity(count)?;
        stripes.resize_with(count, || Stripe {
            lock: Lock::new(),
            occupied: Count::new(0),
            recording: Flag::new(),
            color: Flag::new(),
        });
        let write_prefetch =
            (buckets >= OUT_OF_CACHE_BUCKETS as u64).then(PrefetchForWrite::detect).flatten();
        Ok(Self { stripes: PowerOfTwoSlice::new(stripes.into_boxed_slice()), write_prefetch })
    }

    /// Returns the number of stripes.
    pub(in crate::table) fn len(&self) -> usize {
        self.stripes.len()
    }

    /// Returns the number of the stripe of a bucket. The two buckets of an item have opposite parity, so they share a
    /// stripe only if there is just one.
    #[inline]
    pub(in crate::table) fn of(&self, bucket: usize) -> usize {
        self.stripes.index(bucket)
    }

    /// Returns the stripe of a bucket, without locking it.
    #[inline]
    pub(in crate::table) fn stripe(&self, bucket: usize) -> &Stripe {
        self.stripes.at(bucket)
    }

    /// Requests the cache lines of values that are written soon, or of some of them: stripes to lock, words, or
    /// versions. Another core may have written them last. Requested here, the lines come together and not one after the
    /// other.
    ///
    /// It does so only in large tables: if a table fits into the cache of a core, this gains nothing.
    #[inline]
    pub(in crate::table) fn prefetch<'s, T: 's>(&self, written: impl IntoIterator<Item = &'s T>) {
        if let Some(write_prefetch) = self.write_prefetch {
            for value in written {
                write_prefetch.prefetch(value);
            }
        }
    }

    /// Locks `stripe`, which is the stripe of `bucket`. Blocks while another writer holds it. `None`, here and below:
    /// these stripes are retired.
    #[inline]
    pub(in crate::table) fn lock_one<'a>(
        &'a self,
        bucket: usize,
        stripe: &'a Stripe,
    ) -> Option<Locked<'a, UpTo<'a, 1>>> {
        debug_assert!(ptr::eq(stripe, self.stripe(bucket)), "not the stripe of bucket {bucket}");
        Some(self.up_to([self.of(bucket)], [Some(stripe.lock.lock()?)]))
    }

    /// Locks the stripes of these buckets, lowest first, each stripe once. Blocks while another writer holds one of
    /// them.
    #[inline]
    pub(in crate::table) fn lock<const N: usize>(
        &self,
        buckets: [usize; N],
    ) -> Option<Locked<'_, UpTo<'_, N>>> {
        let mut order = buckets.map(|bucket| self.of(bucket));
        order.sort_unstable();
        let mut guards = [const { None }; N];
        for at in 0..N {
            if at == 0 || order[at] != order[at - 1] {
                guards[at] = Some(self.stripes.at(order[at]).lock.lock()?);
            }
        }
        Some(self.up_to(order, guards))
    }

    /// Returns the proof that these stripes are locked.
    #[inline]
    fn up_to<'a, const N: usize>(
        &'a self,
        order: [usize; N],
        guards: [Option<Guard<'a>>; N],
    ) -> Locked<'a, UpTo<'a, N>> {
        let held = UpTo { order, _guards: guards };
        Locked { stripes: self, held, includes: |held, stripe| held.order.contains(&stripe) }
    }

    /// Locks every stripe, lowest first. No other thread writes until the guard is dropped. Blocks while another writer
    /// holds one of the stripes.
    pub(in crate::table) fn lock_all(&self) -> Option<Locked<'_, All<'_>>> {
        // Requests all their lines together, and not one after the other while some stripes are locked already.
        self.prefetch(self.stripes.iter().step_by(STRIPES_PER_LINE));
        let held = Guards::lock(&self.stripes)?;
        Some(Locked { stripes: self, held, includes: |_, _| true })
    }

    /// Sets the flag `recording` of each stripe under its lock, one stripe after the other: from then on, stores in any
    /// bucket go to the mirror as well. There is a mirror, so no thread retires the stripes.
    pub(in crate::table) fn start_recording(&self) {
        for stripe in &*self.stripes {
            let _locked = stripe.lock.lock().expect("no thread retires these stripes");
            stripe.recording.set(true);
        }
    }

    /// Gives each stripe the color of the stripe in `old` that had its buckets. No other thread has these stripes yet;
    /// those in `old` are locked.
    pub(in crate::table) fn take_colors(&self, old: &Self) {
        for (at, stripe) in self.stripes.iter().enumerate() {
            stripe.color.set(old.stripe(at).color.is_set());
        }
    }

    /// Adds `slots` to the slots in use of the stripe of `bucket`. No other thread has these stripes yet.
    pub(in crate::table) fn count(&self, bucket: usize, slots: usize) {
        let occupied = &self.stripe(bucket).occupied;
        occupied.set(occupied.get() + slots as u32);
    }

    /// Returns the number of slots in use: exact when no thread writes. Takes no lock.
    pub(in crate::table) fn occupied(&self) -> usize {
        self.stripes.iter().map(|s| s.occupied.get() as usize).sum()
    }

    /// Returns the number of slots in use. May be stale: only for decisions that are right either way.
    pub(in crate::table) fn occupied_hint(&self) -> usize {
        self.stripes.iter().map(|s| s.occupied.hint() as usize).sum()
    }

    /// Estimates the slots in use per bucket, in a table of `buckets` buckets, for a decision that is right either way.
    /// The sample consists of buckets at equal distances, `bucket` among them: at least `sample` buckets, or all.
    pub(in crate::table) fn load_near(&self, bucket: usize, buckets: usize, sample: usize) -> f64 {
        let stripes = self.stripes.len();
        let most = (stripes / LEAST_SAMPLED).max(1);
        let distance = floor_power_of_two(buckets / sample).min(most);
        let start = bucket & (distance - 1);
        // Some stripes may have no bucket yet.
        let sampled = (start..stripes.min(buckets)).step_by(distance);
        let occupied: usize = sampled.map(|at| self.stripes[at].occupied.hint() as usize).sum();
        occupied as f64 / (buckets - start).div_ceil(distance) as f64
    }

    /// Returns the number of slots in use in the buckets of each stripe.
    #[cfg(test)]
    pub(in crate::table) fn counts(&self) -> impl Iterator<Item = u32> {
        self.stripes.iter().map(|stripe| stripe.occupied.get())
    }
}

/// Up to N locked stripes.
pub(in crate::table) struct UpTo<'a, const N: usize> {
    /// The numbers of the stripes. If buckets share a stripe, its number is repeated.
    order: [usize; N],
    /// The locks; `None` for each repeated number.
    _guards: [Option<Guard<'a>>; N],
}

/// Every stripe, locked.
pub(in crate::table) type All<'a> = Guards<'a, Stripe>;

/// Proof that the stripes of some buckets are locked. RAII guard: unlocks them on drop.
pub(in crate::table) struct Locked<'a, G> {
    stripes: &'a Stripes,
    held: G,
    /// Whether `held` includes the stripe with this number: debug builds check it.
    includes: fn(&G, usize) -> bool,
}

impl<G> Locked<'_, G> {
    /// Returns the stripe of `bucket`, which is locked.
    #[inline]
    fn stripe(&self, bucket: usize) -> &Stripe {
        debug_assert!(
            (self.includes)(&self.held, self.stripes.of(bucket)),
            "the stripe of bucket {bucket} is not locked"
        );
        self.stripes.stripe(bucket)
    }

    /// Returns whether stores in `bucket` go to the mirror as well.
    #[inline]
    pub(in crate::table) fn is_recorded(&self, bucket: usize) -> bool {
        self.stripe(bucket).recording.is_set()
    }

    /// Returns the color of the stripe of `bucket`.
    #[inline]
    pub(in crate::table) fn color(&self, bucket: usize) -> u64 {
        self.stripe(bucket).color.is_set().into()
    }

    pub(in crate::table) fn set_color(&self, bucket: usize, color: u64) {
        self.stripe(bucket).color.set(color != 0);
    }

    /// Adds `slots` to the slots in use of the stripe of `bucket`, which is locked.
    #[inline]
    pub(in crate::table) fn occupy(&self, bucket: usize, slots: usize) {
        let occupied = &self.stripe(bucket).occupied;
        occupied.set(occupied.get() + slots as u32);
    }

    /// Subtracts `slots` from the slots in use of the stripe of `bucket`, which is locked.
    #[inline]
    pub(in crate::table) fn vacate(&self, bucket: usize, slots: usize) {
        let occupied = &self.stripe(bucket).occupied;
        occupied.set(occupied.get() - slots as u32);
    }
}

impl Locked<'_, All<'_>> {
    /// Sets the slots in use of every stripe to 0.
    pub(in crate::table) fn vacate_all(&self) {
        for stripe in &*self.stripes.stripes {
            stripe.occupied.set(0);
        }
    }

    /// Retires the stripes instead of unlocking them: a thread that waits for one of them goes to the stripes that
    /// have replaced them.
    pub(in crate::table) fn retire(self) {
        self.held.retire();
    }

    /// Clears the flag `recording` of every stripe: from now on, no store goes to the mirror.
    pub(in crate::table) fn stop_recording(&self) {
        for stripe in &*self.stripes.stripes {
            stripe.recording.set(false);
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    /// A thread changes a bucket under the stripe of another bucket.
    #[test]
    #[should_panic(expected = "the stripe of bucket 1 is not locked")]
    fn a_change_without_the_stripe_is_noticed() {
        let stripes = Stripes::try_new(8, 100).unwrap();
        stripes.lock([0]).unwrap().occupy(1, 1);
    }

    /// The same, while another thread holds the stripe of the bucket.
    #[test]
    #[should_panic(expected = "the stripe of bucket 1 is not locked")]
    fn a_change_under_the_stripe_of_another_thread_is_noticed() {
        let stripes = Stripes::try_new(8, 100).unwrap();
        let _other = stripes.lock([1]);
        stripes.lock([0]).unwrap().occupy(1, 1);
    }
}
