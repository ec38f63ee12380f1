//! Sweeps: change or remove entries by their values, all at once, while other threads use the table.
//!
//! Three operations sweep: `update_values`, `remove_value`, and the end of a generation. A [`NewValues`] says for each
//! value which value replaces it, or that its entries are removed.
//!
//! **Invariant:** an entry that is in the table all the time during a sweep is changed exactly once.
//!
//! Each sweep has a *color*, 0 or 1, which is not the color of the sweep before. Each stripe has the color of the
//! latest sweep that has swept its buckets.
//!
//! **The rule:** an entry moves only while both of its stripes have the color of the latest sweep. A thread that would
//! move an entry (by a kick, by a split, or back from the stash) looks at the colors while it holds the stripes. If a
//! stripe has the other color, the thread unlocks, sweeps the buckets of this stripe itself, and starts over. So no
//! entry passes the sweep in either direction.
//!
//! A thread that begins a sweep holds the removal mutex (`removing`). So do the threads of a merge, an unmerge, an
//! intersection and a `clear`, and that of a snapshot at its instant. The thread that sweeps
//!
//! 1. stores the change;
//! 2. sweeps the stash (see below);
//! 3. stores the new color and changes the counts of doubled entries, while it holds the growth mutex. So when a later
//!    split doubles an entry, the entry has its new value;
//! 4. sweeps the stripes that have the old color, one after the other: it locks a stripe, sweeps its buckets, and gives
//!    it the new color.
//!
//! **The color is certain.** A thread that holds a stripe with the new color has synchronized with the thread that gave
//! the stripe its color, and so it sees the new color of the sweep. A thread that still sees the old one holds only
//! stripes with the old color: its move ends before these stripes are swept.
//!
//! **The stash.** No entry moves from a bucket to the stash. A sweep that only removes a value takes its entries out of
//! the stash one by one, before step 3: one that goes back to a bucket meanwhile is swept there. Any other sweep holds
//! all stripes while it does step 2 and stores the color. So from then on all stashed entries have their new values,
//! and they go back only to buckets that are swept.
//!
//! An entry that is stored, or gets another value, during a sweep is changed if its bucket is swept afterwards.

use core::ops::Range;

use crate::arch;
use crate::error::InsertError;
use crate::layout::{Encoding, Slot};
use crate::sizing::in_address_space;
use crate::sync::{MutexGuard, Ordering, fence};
use crate::table::buckets::stripes::{Locked, Stripes, UpTo};
use crate::table::placing::Bucket;
use crate::table::placing::entry::{ValueBits, Values};
use crate::table::placing::geometry::Place;
use crate::table::shared::doubled::Counts;
use crate::table::{Buckets, State, Table};

/// The number of segments of buckets that are swept before a removal unlocks their stripe. One in models.
const SEGMENTS_AT_ONCE: usize = if cfg!(coucal_model) { 1 } else { 32 };
/// How many segments ahead a sweep requests the words.
const SEGMENTS_AHEAD: usize = 4;

#[cfg(test)]
std::thread_local! {
    /// How often sweeps of this thread have locked a stripe.
    static LOCKED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// A change of values: the value that replaces each value.
#[derive(Default)]
pub(in crate::table) enum NewValues {
    /// Each value stays.
    #[default]
    Same,
    /// The entries with this value are removed. All others stay.
    Without(u32),
    /// The new value of each value, in order; `None` if its entries are removed.
    Each(Vec<Option<u32>>),
}

impl NewValues {
    /// Returns the value that replaces this one. Returns `None` if the entry is removed.
    #[inline]
    fn of(&self, value: u32) -> Option<u32> {
        match self {
            Self::Same => Some(value),
            Self::Without(removed) => (value != *removed).then_some(value),
            Self::Each(new) => new[value as usize],
        }
    }
}

impl<B: Buckets> State<B> {
    /// Locks the removal mutex: one thread at a time sweeps, changes the table by another one, clears it, or
    /// ends a snapshot.
    pub(in crate::table) fn lock_removing(&self) -> MutexGuard<'_, ()> {
        self.turns.lock(&self.shared.sweeping.removing)
    }

    /// Returns the color of the latest sweep, as far as the caller has seen.
    #[inline]
    fn color(&self) -> u64 {
        // Relaxed: for the reason given above, under "The color is certain".
        self.shared.sweeping.latest().color.load(Ordering::Relaxed)
    }

    /// Returns one of these buckets, whose stripes are locked, that the latest sweep has not reached.
    #[inline]
    pub(in crate::table) fn not_swept<G, const N: usize>(
        &self,
        locked: &Locked<'_, G>,
        buckets: [usize; N],
    ) -> Option<usize> {
        if !B::Values::ANY {
            return None;
        }
        let color = self.color();
        buckets.into_iter().find(|&bucket| locked.color(bucket) != color)
    }

    /// Changes the color: a sweep of the buckets begins. The caller holds the removal mutex and the growth mutex.
    fn change_color(&self) {
        // Relaxed: as in `color`.
        self.shared.sweeping.latest().color.store(1 - self.color(), Ordering::Relaxed);
    }

    /// Counts no more doubled entries than there are entries.
    pub(super) fn limit_doubled(&self) {
        if !B::GROWS {
            return;
        }
        let mut splitting = self.shared.doubled.lock();
        // The counts may be stale; under all stripes they are exact.
        if splitting.all().beyond(self.counts()) != Counts::default() {
            let _locked = self.lock_all();
            splitting.limit(self.counts());
        }
    }
}

impl<'a, F: Encoding, B: Buckets> Table<'a, F, B> {
    /// Returns the value in the bits of a slot or of a cell of the stash; 0 in a filter.
    #[inline]
    pub(in crate::table) fn value_in(self, bits: u64) -> u32 {
        (bits >> (F::BITS - self.value_bits())) as u32
    }

    /// Returns the bits of a slot, or of a cell of the stash, with another value.
    #[inline]
    pub(in crate::table) fn with_value_in(self, bits: u64, value: u32) -> u64 {
        let shift = F::BITS - self.value_bits();
        bits & ((1 << shift) - 1) | u64::from(value) << shift
    }

    /// Locks the stripes of the buckets of `places`, as `lock` does, for a move of an entry: the latest sweep has
    /// reached all of them.
    #[inline(always)]
    pub(in crate::table) fn lock_to_move<const N: usize>(
        self,
        places: [Place; N],
        mut buckets: [Bucket<B::Placing>; N],
    ) -> (Locked<'a, UpTo<'a, N>>, [Bucket<B::Placing>; N]) {
        loop {
            let (locked, now) = self.state.lock(places, buckets);
            let Some(behind) = self.not_swept(&locked, now.map(Bucket::number)) else {
                return (locked, now);
            };
            drop(locked);
            self.sweep_stripe_of(behind);
            buckets = now;
        }
    }

    /// Sweeps the stripe of a bucket, for a thread that would move an entry. The caller holds no stripe.
    #[cold]
    #[inline(never)]
    pub(in crate::table) fn sweep_stripe_of(self, bucket: usize) {
        self.sweep_stripe(self.stripes().of(bucket));
    }

    /// Sweeps the buckets of a stripe, unless the latest sweep has reached it.
    fn sweep_stripe(self, stripe: usize) {
        // Before the stripe is locked: the change is not replaced while this thread may use it.
        let change = self.shared.sweeping.latest().change.read();
        // A removal unlocks the stripe in between: no entry can be removed twice. No entry moves into the swept part
        // meanwhile: a thread that would move an entry sees the old color of the stripe, and sweeps the stripe first.
        let at_once =
            if let NewValues::Without(_) = *change { SEGMENTS_AT_ONCE } else { usize::MAX };
        let first = Stripes::first_bucket(stripe);
        let mut swept = 0;
        loop {
            let locked = self.lock_stripes([first]);
            #[cfg(test)]
            LOCKED.set(LOCKED.get() + 1);
            if self.not_swept(&locked, [first]).is_none() {
                return;
            }
            // While the stripe is locked, no split adds a bucket to it.
            let mut segments = self.stripes().segments(stripe, swept..self.present());
            for segment in segments.by_ref().take(at_once) {
                swept = segment.end;
                self.sweep_segment(&locked, segment, &change);
            }
            if segments.next().is_none() {
                locked.set_color(first, self.color());
                return;
            }
        }
    }

    /// Sweeps a segment of buckets, whose stripe is locked.
    fn sweep_segment<G>(self, locked: &Locked<'_, G>, segment: Range<usize>, change: &NewValues) {
        let word = self.buckets.words();
        // The segments of a stripe are far from each other: the processor does not foresee their lines. The requested
        // one is of the same stripe, so no thread splits a bucket into it meanwhile.
        let ahead = segment.start + SEGMENTS_AHEAD * self.stripes().distance();
        if ahead < self.present() {
            arch::prefetch(word(ahead));
        }
        // Most buckets have no entry of a value that is removed: they need less.
        let stays = |&bucket: &usize| {
            let NewValues::Without(removed) = *change else { return false };
            let word = F::from_bits(word(bucket).load(Ordering::Relaxed));
            !self.has_value(word, removed)
        };
        let changed = |_, slot: Slot| self.changed_by(change, slot.bits()).map(Slot::new);
        let goes = segment.filter(|bucket| !stays(bucket));
        let removed: usize = goes.map(|bucket| self.sweep_bucket(locked, bucket, changed)).sum();
        if removed > 0 {
            // Relaxed: the thread that reads it has locked the stripes afterwards.
            self.shared.sweeping.latest().removed.fetch_add(removed as u64, Ordering::Relaxed);
        }
    }

    /// Returns whether a word has an entry with this value.
    #[inline]
    fn has_value(self, word: F, value: u32) -> bool {
        let mask = self.with_value_in(0, (1 << self.value_bits()) - 1);
        // Only the bits of the value are compared. The 1 below them makes it a slot in use.
        let slot = Slot::new(self.with_value_in(1, value));
        // Free slots look like an entry with the value 0.
        F::either_holds([word, F::EMPTY], slot, Some(mask))
            && (value != 0 || word.slots_in_use().any(|slot| self.value_in(slot.bits()) == 0))
    }

    /// Returns the bits of a slot, or of a cell of the stash, after the change. Returns `None` if the entry is removed.
    #[inline]
    fn changed_by(self, change: &NewValues, bits: u64) -> Option<u64> {
        change.of(self.value_in(bits)).map(|value| self.with_value_in(bits, value))
    }

    /// Replaces each entry of a bucket, whose stripe is locked, by the one that `changed` returns, or removes it if
    /// `changed` returns `None`. Returns the number of removed entries.
    #[inline]
    pub(super) fn sweep_bucket<G>(
        self,
        locked: &Locked<'_, G>,
        bucket: usize,
        changed: impl Fn(Bucket<B::Placing>, Slot) -> Option<Slot>,
    ) -> usize {
        let at = Bucket::at(self.buckets.placement(), bucket);
        let word = self.locked_word(bucket);
        let (mut swept, mut removed) = (F::EMPTY, 0);
        // From the last slot down: so the slots stay in their order.
        for slot in word.slots_in_use().rev() {
            let new = changed(at, slot);
            if new != Some(slot) {
                // For the reason given in `store_changed` in `items/remove.rs`: the other bucket may hold an equal
                // entry, or another entry of the key.
                self.versions().bump(self.geometry().version_group_in(at.place::<F>(slot)));
            }
            if let Some(new) = new {
                swept = swept.with(new).expect("as many entries as before");
            } else {
                removed += 1;
            }
        }
        if swept.bits() != word.bits() {
            // SeqCst: the changes take effect here. Pairs with the loads of lookups.
            self.store_word(locked, bucket, swept, Ordering::SeqCst);
            locked.vacate(bucket, removed);
        }
        removed
    }
}

impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Removes all entries that have this value when it is called, and no others except those that get it meanwhile.
    /// Returns how many it has removed.
    pub(crate) fn remove_value(self, value: u32) -> usize {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        in_address_space(self.remove_value_locked(value))
    }

    /// Does the work of `remove_value`, while the caller holds the removal mutex.
    pub(in crate::table) fn remove_value_locked(self, value: u32) -> u64 {
        *self.shared.sweeping.latest().change.write() = NewValues::Without(value);
        let others = |other: u32| (other != value).then_some(other);
        let stashed = self.sweep_stash(|bits| self.value_in(bits.into()) == value, |_| true);
        let mut splitting = self.shared.doubled.lock();
        self.change_color();
        let doubled = splitting.change_values(others).copies;
        drop(splitting);
        self.sweep_all(stashed, doubled)
    }

    /// Gives each entry with the value v the value `new[v]`, or removes it if that is `None`. Returns how many it has
    /// removed. An error changes nothing.
    pub(crate) fn update_values(self, new: Vec<Option<u32>>) -> Result<usize, InsertError> {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        *self.shared.sweeping.latest().change.write() = NewValues::Each(new);
        let begun = self.begin_update();
        let removed = begun.map(|[stashed, doubled]| self.sweep_all(stashed, doubled));
        *self.shared.sweeping.latest().change.write() = NewValues::Same;
        removed.map(in_address_space)
    }

    /// Changes the values of all stashed entries, and begins the sweep of the buckets. Returns how many copies it has
    /// removed, and how many doubled copies are removed.
    fn begin_update(self) -> Result<[u64; 2], InsertError> {
        // No other thread waits for the write lock of the change. So this read lock does not wait for a thread that
        // waits for a stripe.
        let change = self.shared.sweeping.latest().change.read();
        let mut splitting = self.shared.doubled.lock();
        let locked = self.lock_all();
        let changed = |bits: u32| self.changed_by(&change, bits.into()).map(|bits| bits as u32);
        let stashed = self.change_stashed(changed)?;
        // SeqCst: as in `clear`. New values are stored in the cells with Release only.
        fence(Ordering::SeqCst);
        self.change_color();
        drop(locked);
        Ok([stashed, splitting.change_values(|value| change.of(value)).copies])
    }

    /// Sweeps all buckets, and returns the number of removed items: `stashed` copies were removed from the stash, and
    /// `doubled` copies are not items of their own.
    fn sweep_all(self, stashed: u64, doubled: u64) -> u64 {
        let changes = |stripe: &usize| {
            let change = self.shared.sweeping.latest().change.read();
            let buckets = self.stripes().segments(*stripe, 0..self.present()).flatten();
            let slots = buckets.flat_map(|bucket| self.word_now(bucket).slots_in_use());
            let mut bits = slots.map(Slot::bits);
            bits.any(|bits| self.changed_by(&change, bits) != Some(bits))
        };
        let all = || 0..self.stripes().len();
        let mut steps = self.turns.steps(|| all().filter(changes).count());
        let mut swept = 0;
        // Other stripes may replace these meanwhile. Each of them has the color of the one that it replaces.
        while swept != self.stripes().len() {
            swept = self.stripes().len();
            for stripe in all() {
                steps.next_unless(|| !changes(&stripe));
                self.sweep_stripe(stripe);
            }
        }
        // Other threads add to it only while they sweep.
        let removed = self.shared.sweeping.latest().removed.swap(0, Ordering::Relaxed);
        self.limit_doubled();
        (stashed + removed).saturating_sub(doubled)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::layout::Packed;
    use crate::sizing::{MAX_STRIPES, Sizing};
    use crate::table::placing::entry::Pair;
    use crate::table::placing::geometry;
    use crate::table::{FixedBuckets, GrowingBuckets, MAX_COPIES, SEGMENT};

    type Fp16x4 = Packed<16, 4>;

    /// A stripe of so many segments that a removal unlocks it in between: it goes on where it was. Any other sweep does
    /// not unlock it.
    #[test]
    fn a_removal_goes_on_after_it_has_unlocked() {
        let buckets = 3 * SEGMENTS_AT_ONCE * SEGMENT * MAX_STRIPES;
        let sizing = Sizing {
            value_bits: 2,
            ..Sizing::of_table(Fp16x4::ID, buckets as u64, buckets as u64)
        };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        assert!(table.stripes().segments(0, 0..table.present()).count() > 2 * SEGMENTS_AT_ONCE);
        for hash in (0..40_000).map(geometry::mix) {
            let value = (hash % 2) as u32;
            table.insert(table.key_of(Pair { hash, value })).unwrap();
        }
        let ones = (0..40_000).map(geometry::mix).filter(|hash| hash % 2 == 1).count();
        let stripes = table.stripes().len();
        LOCKED.set(0);
        assert_eq!(table.update_values((0..4).map(Some).collect()), Ok(0));
        assert_eq!(LOCKED.get(), stripes);
        LOCKED.set(0);
        assert_eq!(table.remove_value(1), ones);
        assert!(LOCKED.get() >= 3 * stripes, "{} for {stripes} stripes", LOCKED.get());
        assert_eq!(table.len(), 40_000 - ones);
        // What has moved or was counted twice would be seen here.
        assert_eq!(table.remove_value(0), 40_000 - ones);
        assert_eq!(table.len(), 0);
    }

    /// While an entry moves, it may be counted twice or nowhere. So the count of doubled entries is limited while all
    /// stripes are held: then nothing moves.
    #[test]
    fn doubled_entries_are_limited_between_two_moves() {
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let table = &Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
        for hash in (0..100).map(geometry::mix) {
            table.insert(table.key_of(Pair { hash, value: 1 })).unwrap();
        }
        let doubled = Counts::of_slots(100);
        table.shared.doubled.lock().reserve(1, 2).unwrap();
        table.shared.doubled.lock().add(1, doubled);
        let bucket = (0..64).find(|&bucket| table.word_now(bucket).in_use() > 0).unwrap();
        let (send, receive) = mpsc::channel();
        thread::scope(|scope| {
            let locked = table.lock_stripes([bucket]);
            locked.vacate(bucket, 1);
            scope.spawn(move || {
                table.limit_doubled();
                send.send(()).unwrap();
            });
            // The call waits for the stripe.
            let waited = receive.recv_timeout(Duration::from_millis(100));
            locked.occupy(bucket, 1);
            drop(locked);
            assert!(waited.is_err());
        });
        assert_eq!((table.doubled(), table.len()), (doubled, 0));
    }

    /// The new values are freed when the update has ended, also where it fails or removes all entries.
    #[test]
    fn an_update_frees_its_new_values() {
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |value| table.key_of(Pair { hash: geometry::mix(1), value });
        for (value, copies) in [(0, MAX_COPIES), (1, 1)] {
            assert_eq!(table.stash_copies(key(value), copies), Ok(true));
        }
        let are_freed = || matches!(*table.shared.sweeping.latest().change.read(), NewValues::Same);
        assert_eq!(table.update_values(vec![Some(1), Some(0), Some(2), Some(3)]), Ok(0));
        assert!(are_freed());
        assert_eq!(table.update_values(vec![Some(1); 4]), Err(InsertError::Full));
        assert!(are_freed());
        assert_eq!(table.update_values(vec![None; 4]), Ok(MAX_COPIES + 1));
        assert!(are_freed());
    }
}
