//! Removal of a value: all entries that have it, while other threads use the table.
//!
//! **Invariant:** while a value is *retiring*, no entry that has it gets from a bucket that was not swept yet to one
//! that was.
//!
//! Whoever removes a value holds the mutex `removing` (and so do a merge, a `clear`, and a snapshot at its instant),
//! and
//!
//! 1. publishes the value as retiring,
//! 2. locks and unlocks each stripe,
//! 3. sweeps: clears the entries with this value, bucket by bucket up to the extent as it is by now, each bucket under
//!    its stripe, and bumps the version of each of them before; then takes those out of the stash, each under both of
//!    its stripes,
//! 4. corrects the count of doubled entries, while no split can double one with this value,
//! 5. takes the value back,
//! 6. locks and unlocks each stripe again.
//!
//! Whoever moves an entry (a kick, a split, the way back from the stash) reads which value is retiring while it holds
//! all stripes of the move. If it is that of the entry, the entry is *dropped*: removed in place of being moved. A move
//! that took a stripe after step 2 has read the value; all others have ended before step 3. And a word that has no such
//! entry after step 2 gets none by a move: so a bucket is read without a lock first.
//!
//! An entry that gets the value meanwhile may stay, or be dropped by a move. Step 6 waits for such a move: when the
//! call has returned, it removes nothing any more.

use crate::layout::{Encoding, Slot};
use crate::sizing::in_address_space;
use crate::sync::{MutexGuard, Ordering};
use crate::table::buckets::stripes::Locked;
use crate::table::placing::Bucket;
use crate::table::placing::entry::{ValueBits, Values};
use crate::table::placing::geometry::Key;
use crate::table::shared::doubled::Counts;
use crate::table::{Buckets, State, Table};

impl<B: Buckets> State<B> {
    /// The mutex of those who remove a value, merge, clear the table, or end a snapshot.
    pub(in crate::table) fn lock_removing(&self) -> MutexGuard<'_, ()> {
        self.turns.lock(&self.shared.retiring.removing)
    }

    /// From now on this value retires, or none.
    pub(crate) fn retire(&self, value: Option<u32>) {
        let retiring = value.map_or(0, |value| u64::from(value) + 1);
        // Release: pairs with the load in `is_retiring`.
        self.shared.retiring.value.store(retiring, Ordering::Release);
    }

    /// Some entries with the value that is retiring are dropped. Called before the store that takes them out of a word,
    /// or, of the stash, while the stripes are held for which step 6 waits.
    pub(in crate::table) fn add_dropped(&self, entries: u64) {
        // Relaxed: whoever sees a word without them has synchronized with that store.
        self.shared.retiring.dropped.fetch_add(entries, Ordering::Relaxed);
    }

    /// No entry has this value any more. Says how many copies of those that had it are no items of their own.
    fn forget_doubled(&self, value: u32) -> u64 {
        let mut splitting = self.shared.doubled.lock();
        let doubled = splitting.forget(value);
        // As it looks: it is exact while all stripes are held.
        if splitting.all().beyond(self.counts()) != Counts::default() {
            let _locked = self.lock_all();
            splitting.limit(self.counts());
        }
        doubled.copies
    }

    /// How many entries were dropped since it was asked last.
    fn take_dropped(&self) -> u64 {
        let dropped = self.shared.retiring.dropped.load(Ordering::Relaxed);
        // Others may add to it meanwhile.
        self.shared.retiring.dropped.fetch_add(dropped.wrapping_neg(), Ordering::Relaxed);
        dropped
    }
}

/// For those who move an entry, while they hold all stripes of the move.
impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// The value in what a slot or a cell of the stash holds; 0 in a filter.
    #[inline]
    pub(in crate::table) fn value_in(self, bits: u64) -> u32 {
        (bits >> (F::BITS - self.value_bits())) as u32
    }

    /// Whether what a slot or a cell of the stash holds is to be dropped.
    #[inline]
    pub(in crate::table) fn is_retiring(self, bits: u64) -> bool {
        // Acquire: whoever drops an entry before step 2 of the sweep passes on to lookups, with the bump, what was
        // stored before the sweep began, as the sweep itself does.
        let retiring = || self.shared.retiring.value.load(Ordering::Acquire);
        B::Values::ANY && retiring() == u64::from(self.value_in(bits)) + 1
    }

    /// Says whether a value is retiring, if it was so when the stripes that the caller holds were passed in step 2.
    #[inline]
    pub(in crate::table) fn is_any_retiring(self) -> bool {
        // Relaxed: the stripes order it. Before an entry is dropped, `is_retiring` asks again.
        B::Values::ANY && self.shared.retiring.value.load(Ordering::Relaxed) != 0
    }

    /// Called before an entry of this version group is dropped, under the stripe of its bucket.
    pub(in crate::table) fn before_drop(self, group: usize) {
        self.add_dropped(1);
        // For the reason given in `store_changed` in `remove`: the other bucket may hold another entry of the key.
        self.versions().bump(group);
    }

    /// Drops the entry of an item that was to leave `bucket` for a new one: what else is there is in `rest`.
    #[cold]
    #[inline(never)]
    pub(in crate::table) fn drop_retiring<G>(
        self,
        locked: &Locked<'_, G>,
        bucket: usize,
        rest: F,
        new: Option<Slot>,
        key: Key,
    ) {
        self.before_drop(self.geometry().version_group(key));
        let with_new = new.and_then(|new| rest.with(new));
        // SeqCst: the removal takes effect here, and the insert of the new one.
        self.store_word(locked, bucket, with_new.unwrap_or(rest), Ordering::SeqCst);
        if with_new.is_none() {
            locked.vacate(bucket, 1);
        }
    }
}

impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Removes all entries that have this value when it is called, and no others but those that get it meanwhile.
    /// Returns how many.
    pub(crate) fn remove_value(self, value: u32) -> usize {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        let removed = self.remove_retiring(value);
        // Whoever has read the value still drops an entry that got it meanwhile.
        self.pass_all();
        in_address_space(removed + self.take_dropped())
    }

    /// Steps 1 to 5, while the mutex is held.
    pub(in crate::table) fn remove_retiring(self, value: u32) -> u64 {
        self.retire(Some(value));
        self.pass_all();
        // Where entries were moved before: no move takes one any further.
        let present = self.present();
        let word = self.buckets.words();
        let retires = |slot: Slot| self.value_in(slot.bits()) == value;
        let any_retires = |&bucket: &usize| {
            // Acquire: with the word comes the number of entries that were dropped from it.
            let word = F::from_bits(word(bucket).load(Ordering::Acquire));
            word.slots_in_use().any(retires)
        };
        let mut steps = self.turns.steps(|| (0..present).filter(any_retires).count());
        let mut removed = 0;
        for bucket in 0..present {
            if any_retires(&bucket) {
                steps.next();
                removed += self.sweep(bucket, retires) as u64;
            }
        }
        removed += self.sweep_stash(value) + self.take_dropped();
        let doubled = self.forget_doubled(value);
        self.retire(None);
        removed.saturating_sub(doubled)
    }

    /// Clears the entries in a bucket that retire, and says how many there were.
    fn sweep(self, bucket: usize, retires: impl Fn(Slot) -> bool) -> usize {
        let locked = self.lock_stripes([bucket]);
        let read = Bucket::at(self.buckets.placement(), bucket);
        let word = self.locked_word(bucket);
        let (mut kept, mut removed) = (word, 0);
        for slot in word.slots_in_use().filter(|&slot| retires(slot)) {
            // As in `before_drop`.
            self.versions().bump(self.geometry().version_group_in(read.place::<F>(slot)));
            kept = kept.without(slot).expect("the slot is in use");
            removed += 1;
        }
        if removed > 0 {
            // SeqCst: the removals take effect here. Pairs with the loads of lookups.
            self.store_word(&locked, bucket, kept, Ordering::SeqCst);
            locked.vacate(bucket, removed);
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::GrowingBuckets;
    use crate::table::placing::entry::Pair;
    use crate::table::placing::geometry;

    type Fp16x4 = Packed<16, 4>;

    /// In the middle of a hop an entry may be counted nowhere. What is doubled is limited when all stripes are held:
    /// then nothing moves.
    #[test]
    fn what_is_doubled_is_limited_between_two_moves() {
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
                table.forget_doubled(3);
                send.send(()).unwrap();
            });
            // It waits for the stripe.
            let waited = receive.recv_timeout(Duration::from_millis(100));
            locked.occupy(bucket, 1);
            drop(locked);
            assert!(waited.is_err());
        });
        assert_eq!((table.doubled(), table.len()), (doubled, 0));
    }
}
