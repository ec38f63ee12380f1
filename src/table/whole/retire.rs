//! Removal of a value: removes all entries with this value, while other threads use the table.
//!
//! **Invariant:** while a value is *retiring*, no entry with this value gets from a bucket that was not swept yet to
//! one that was.
//!
//! A thread that removes a value holds the removal mutex (`removing`). A merge, a `clear`, and a snapshot at its
//! instant hold it, too. The thread
//!
//! 1. publishes the value as retiring,
//! 2. locks and unlocks each stripe,
//! 3. sweeps: clears the entries with this value, bucket by bucket up to the extent of that time, each bucket under its
//!    stripe, and bumps the version of each of these entries before; then takes such entries out of the stash, each
//!    under both of its stripes,
//! 4. corrects the count of doubled entries, while no split can double one with this value,
//! 5. takes the value back,
//! 6. locks and unlocks each stripe again.
//!
//! A thread that moves an entry (a kick, a split, the way back from the stash) reads the retiring value while it holds
//! all stripes of the move. If the entry has this value, the thread *drops* it: removes it in place of moving it. A
//! move that took a stripe after step 2 has read the value. All other moves have ended before step 3. A word that has
//! no such entry after step 2 gets none by a move, so the sweep first reads a bucket without a lock.
//!
//! An entry that gets the value meanwhile may stay, or a move may drop it. Step 6 waits for such a move: when the call
//! has returned, nothing more is removed because of it.

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
    /// Locks the removal mutex: one thread at a time removes a value, merges, clears the table, or ends a snapshot.
    pub(in crate::table) fn lock_removing(&self) -> MutexGuard<'_, ()> {
        self.turns.lock(&self.shared.retiring.removing)
    }

    /// Sets the value that is retiring, or clears it.
    pub(crate) fn retire(&self, value: Option<u32>) {
        let retiring = value.map_or(0, |value| u64::from(value) + 1);
        // Release: pairs with the load in `is_retiring`.
        self.shared.retiring.value.store(retiring, Ordering::Release);
    }

    /// Counts dropped entries with the retiring value. Called before the store that takes them out of a word. For the
    /// stash, called while the stripes are held for which step 6 waits.
    pub(in crate::table) fn add_dropped(&self, entries: u64) {
        // Relaxed: a thread that sees a word without these entries has synchronized with that store.
        self.shared.retiring.dropped.fetch_add(entries, Ordering::Relaxed);
    }

    /// Forgets the doubled entries with `value`, when no entry has it any more. Returns how many copies with it were
    /// not items of their own.
    fn forget_doubled(&self, value: u32) -> u64 {
        let mut splitting = self.shared.doubled.lock();
        let doubled = splitting.forget(value);
        // The counts may be stale; under all stripes they are exact.
        if splitting.all().beyond(self.counts()) != Counts::default() {
            let _locked = self.lock_all();
            splitting.limit(self.counts());
        }
        doubled.copies
    }

    /// Returns the number of entries that were dropped since the last call.
    fn take_dropped(&self) -> u64 {
        let dropped = self.shared.retiring.dropped.load(Ordering::Relaxed);
        // Other threads may add to it meanwhile.
        self.shared.retiring.dropped.fetch_add(dropped.wrapping_neg(), Ordering::Relaxed);
        dropped
    }
}

/// For threads that move an entry, while they hold all stripes of the move.
impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Returns the value in the bits of a slot or of a cell of the stash; 0 in a filter.
    #[inline]
    pub(in crate::table) fn value_in(self, bits: u64) -> u32 {
        (bits >> (F::BITS - self.value_bits())) as u32
    }

    /// Returns whether the entry with these bits, of a slot or of a cell of the stash, is to be dropped.
    #[inline]
    pub(in crate::table) fn is_retiring(self, bits: u64) -> bool {
        // Acquire: a thread that drops an entry before step 2 of the sweep passes on to lookups, with the bump, all
        // that was stored before the sweep began, as the sweep itself does.
        let retiring = || self.shared.retiring.value.load(Ordering::Acquire);
        B::Values::ANY && retiring() == u64::from(self.value_in(bits)) + 1
    }

    /// Returns whether a value is retiring. The caller is certain to see a value that was retiring when step 2 passed
    /// the stripes that it holds.
    #[inline]
    pub(in crate::table) fn is_any_retiring(self) -> bool {
        // Relaxed: the stripes order it. Before an entry is dropped, `is_retiring` asks again.
        B::Values::ANY && self.shared.retiring.value.load(Ordering::Relaxed) != 0
    }

    /// Counts a dropped entry of this version group, and bumps the version. Called before the entry is dropped, under
    /// the stripe of its bucket.
    pub(in crate::table) fn before_drop(self, group: usize) {
        self.add_dropped(1);
        // For the reason given in `store_changed` in `items/remove.rs`: the other bucket may hold another entry of the
        // key.
        self.versions().bump(group);
    }

    /// Drops the entry with `key` that was to make way for `new` in `bucket`. `rest` is the word of the bucket without
    /// this entry.
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
        // SeqCst: the removal takes effect here, and the insert of `new`.
        self.store_word(locked, bucket, with_new.unwrap_or(rest), Ordering::SeqCst);
        if with_new.is_none() {
            locked.vacate(bucket, 1);
        }
    }
}

impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Removes all entries that have this value when it is called, and no others except those that get it meanwhile.
    /// Returns how many it has removed.
    pub(crate) fn remove_value(self, value: u32) -> usize {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        let removed = self.remove_retiring(value);
        // Waits for threads that have read the value: they still drop an entry that got it meanwhile.
        self.pass_all();
        in_address_space(removed + self.take_dropped())
    }

    /// Does steps 1 to 5, and returns the number of removed items. The caller holds the removal mutex.
    pub(in crate::table) fn remove_retiring(self, value: u32) -> u64 {
        self.retire(Some(value));
        self.pass_all();
        // All buckets that such entries can be in: after step 2 no move takes one to another bucket.
        let present = self.present();
        let word = self.buckets.words();
        let retires = |slot: Slot| self.value_in(slot.bits()) == value;
        let any_retires = |&bucket: &usize| {
            // Acquire: the word comes with the number of entries that were dropped from it.
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

    /// Clears the retiring entries of a bucket, and returns how many there were.
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

    /// In the middle of a hop an entry may be counted nowhere. So the count of doubled entries is limited while all
    /// stripes are held: then nothing moves.
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
            // The call waits for the stripe.
            let waited = receive.recv_timeout(Duration::from_millis(100));
            locked.occupy(bucket, 1);
            drop(locked);
            assert!(waited.is_err());
        });
        assert_eq!((table.doubled(), table.len()), (doubled, 0));
    }
}
