//! Writer locks: one stripe for each group of buckets, with the number of slots in use there.
//!
//! A group consists of *segments*, each of [`SEGMENT`] neighbouring buckets. Segment number i belongs to stripe i
//! modulo the number of stripes. So buckets that are split or swept one after the other have few stripes.
//!
//! **Invariant:** writers take locks in the order of their stripes, so no two writers wait for each other. A bucket
//! changes only under its stripe, and so does the number of its slots in use.

use core::ops::Range;
use core::ptr;

use crate::arch::PrefetchForWrite;
use crate::sizing::MAX_STRIPES;
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::power_of_two::PowerOfTwoSlice;
use crate::sync::{Count, Flag, Guard, Guards, Lock};
use crate::table::placing::OUT_OF_CACHE_BUCKETS;

/// The number of buckets of a segment: those of two cache lines. One in models, and in tests of tables of a few
/// buckets: so these buckets have different stripes.
pub(crate) const SEGMENT: usize =
    if cfg!(any(coucal_model, coucal_short_segments, all(loom, feature = "loom"))) {
        1
    } else {
        16
    };
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

    /// Returns the number of the stripe of a bucket. Different buckets may have the same stripe.
    #[inline]
    pub(in crate::table) fn of(&self, bucket: usize) -> usize {
        self.stripes.index(bucket / SEGMENT)
    }

    /// Returns the stripe of a bucket, without locking it.
    #[inline]
    pub(in crate::table) fn stripe(&self, bucket: usize) -> &Stripe {
        self.stripes.at(bucket / SEGMENT)
    }

    /// Requests the cache lines of values that are written soon, or of some of them: stripes to lock, words, or
    /// versions. Another core may have written them last. Requested here, the lines come together and not one after the
    /// other.
    ///
    /// It does so only in tables that may have many buckets: if a table fits into the cache of a core, this gains
    /// nothing.
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
            stripe.color.set(old.stripes.at(at).color.is_set());
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

    /// Returns the segments of a stripe that begin in this range of buckets, up to the end of the range.
    #[inline]
    pub(in crate::table) fn segments(
        &self,
        stripe: usize,
        buckets: Range<usize>,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let (first, end) = (Self::first_bucket(stripe), buckets.end);
        let start = first + buckets.start.saturating_sub(first).next_multiple_of(self.distance());
        let starts = (start..end).step_by(self.distance());
        starts.map(move |start| start..end.min(start + SEGMENT))
    }

    /// Returns the number of buckets from one segment of a stripe to the next.
    pub(in crate::table) fn distance(&self) -> usize {
        SEGMENT * self.len()
    }

    /// Returns the first bucket of a stripe.
    #[inline]
    pub(in crate::table) fn first_bucket(stripe: usize) -> usize {
        stripe * SEGMENT
    }

    /// Estimates the slots in use per bucket, in a table of `buckets` buckets, for a decision that is right either way.
    /// The sample consists of segments at equal distances, that of `bucket` among them. They have at least `sample`
    /// buckets, or all.
    pub(in crate::table) fn load_near(&self, bucket: usize, buckets: usize, sample: usize) -> f64 {
        let (stripes, segments) = (self.len(), buckets.div_ceil(SEGMENT));
        let most = (stripes / LEAST_SAMPLED).max(1);
        let distance = floor_power_of_two(buckets / sample).min(most);
        let start = (bucket / SEGMENT) & (distance - 1);
        // Some stripes may have no bucket yet.
        let sampled = (start..stripes.min(segments)).step_by(distance);
        let occupied: usize = sampled.map(|at| self.stripes[at].occupied.hint() as usize).sum();
        // The last segment of the table may have fewer buckets.
        let has_last = (segments - 1) & (distance - 1) == start;
        let missing = if has_last { segments * SEGMENT - buckets } else { 0 };
        occupied as f64 / ((segments - start).div_ceil(distance) * SEGMENT - missing) as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stripes(count: usize, buckets: usize) -> Stripes {
        Stripes::try_new(count, buckets as u64).unwrap()
    }

    /// Each bucket is in one segment of its stripe. A stripe that has replaced another one goes on with those segments
    /// of it that come later.
    #[test]
    fn segments_are_all_buckets() {
        for (few, many, buckets) in [(1, 8, 10), (8, 64, 100), (8, 64, 1000), (64, 512, 20_001)] {
            let [few, many] = [few, many].map(|count| stripes(count, 20_001));
            for stripe in 0..few.len() {
                for taken in 0..4 {
                    let mut segments = few.segments(stripe, 0..buckets);
                    let taken: Vec<_> = segments.by_ref().take(taken).flatten().collect();
                    assert!(taken.iter().all(|&bucket| few.of(bucket) == stripe));
                    let swept = taken.last().map_or(0, |last| last + 1);
                    assert!(few.segments(stripe, swept..buckets).eq(segments));
                    // Those of the new stripe that are not swept, and all of the others in place of this one.
                    let at = |number| if number == stripe { swept..buckets } else { 0..buckets };
                    let later = (stripe..many.len()).step_by(few.len()).flat_map(|number| {
                        many.segments(number, at(number)).flatten().map(move |at| (number, at))
                    });
                    let mut all = taken.clone();
                    for (number, bucket) in later {
                        assert_eq!(many.of(bucket), number);
                        all.push(bucket);
                    }
                    all.sort_unstable();
                    all.dedup();
                    assert!((0..buckets).filter(|&bucket| few.of(bucket) == stripe).eq(all));
                }
            }
        }
    }

    /// Each bucket keeps its color.
    #[test]
    fn more_stripes_have_the_colors_of_the_old_ones() {
        let (old, new) = (stripes(8, 1 << 12), stripes(64, 1 << 12));
        for stripe in [1, 2, 7] {
            let first = Stripes::first_bucket(stripe);
            old.lock([first]).unwrap().set_color(first, 1);
        }
        new.take_colors(&old);
        for bucket in 0..1 << 12 {
            let color = old.lock([bucket]).unwrap().color(bucket);
            assert_eq!(new.lock([bucket]).unwrap().color(bucket), color, "{bucket}");
        }
    }

    /// Where all buckets have the same load, every sample has it, too.
    #[test]
    fn samples_count_their_buckets() {
        for buckets in [1, 31, 33, 4096, 4097, 5000, 40_000, 70_001, (1 << 24) + 33] {
            let stripes = stripes(stripes_of(buckets as u64), buckets);
            (0..buckets).for_each(|bucket| stripes.count(bucket, 3));
            for bucket in (0..buckets).step_by((buckets / 10_000).max(7)) {
                let load = stripes.load_near(bucket, buckets, SAMPLE);
                assert!(load.total_cmp(&3.0).is_eq(), "{bucket} of {buckets}");
            }
        }
    }

    /// A thread changes a bucket under the stripe of another bucket.
    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "the stripe of bucket 33 is not locked")]
    fn a_change_without_the_stripe_is_noticed() {
        stripes(8, 1000).lock([0]).unwrap().occupy(33, 1);
    }

    /// The same, while another thread holds the stripe of the bucket.
    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "the stripe of bucket 33 is not locked")]
    fn a_change_under_the_stripe_of_another_thread_is_noticed() {
        let stripes = stripes(8, 1000);
        let _other = stripes.lock([33]);
        stripes.lock([0]).unwrap().occupy(33, 1);
    }
}
