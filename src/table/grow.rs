//! Growth: splits, and when they happen.
//!
//! A split is a kick to a new bucket. Where the bucket of an entry lies is told by the extent
//! (see [`crate::extent`]), so between the copy and the clear a split also stores the extent: a lookup
//! that reads the cleared bucket has then synchronized with the bumped versions, and starts over; one
//! that begins with the bumped versions sees the extent, and with it the new bucket. Writers compute
//! the buckets of an item again when they hold the stripes: a bucket whose stripe is held cannot be
//! split.
//!
//! Only one thread at a time splits. Others that would do so as well go on instead, but for those
//! whose item found no room.

use core::array;
use core::ops::Range;

use super::Table;
use super::address::{Buckets, Growing, NoMemory, Words};
use super::stripes::{Few, Locked};
use crate::extent::Extent;
use crate::geometry::{Key, Place};
use crate::layout::{Layout, Word};
use crate::sync::Ordering;

/// Buckets that are split under one set of locks: those of a cache line.
const SPLITS_PER_LOCK: usize = 8;
/// Inserts between two checks of the load of a large table.
const INSERTS_PER_LOAD_CHECK: usize = 32;
/// Slots that an insert provides at most when the load is above the target: twice as many as the
/// inserts before the next check.
const SLOTS_PER_LOAD_CHECK: usize = 2 * INSERTS_PER_LOAD_CHECK;
/// Buckets at least whose load is taken for that of the table.
const SAMPLE: usize = 2048;
/// How much fuller than its target a table may become: while it grows, it is kept below that.
const UNEVEN_MARGIN: f64 = 0.04;
/// How far the load goes beyond the target before a bucket is split: a sample is not exact.
const MARGIN: f64 = 0.01;

impl Growing {
    /// The share of slots in use from which on a short search is enough. In the middle of a level,
    /// half of the table has twice the demand of the other half, and is full sooner.
    pub(super) fn full<L: Layout>(&self) -> f64 {
        let extent = self.extent();
        let even = extent.cursor() == 0 && extent.buckets() == self.max_buckets();
        if even { L::FULL } else { L::TARGET_LOAD + UNEVEN_MARGIN }
    }

    /// The buckets that are split next: no more than `most`, than the rest of a cache line, than the rest
    /// of the level, and than the table may still get.
    fn next_run(&self, extent: Extent, most: usize) -> Range<usize> {
        let cursor = extent.cursor();
        let end_of_line = cursor - cursor % SPLITS_PER_LOCK + SPLITS_PER_LOCK;
        let end_of_level = extent.stride();
        let room = self.max_buckets() - extent.buckets();
        cursor..end_of_line.min(end_of_level).min(cursor + room.min(most))
    }
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// After an insert of `key`, when no stripe is held: splits some buckets if the load is above the
    /// target. Nobody waits for another thread that is splitting.
    #[inline]
    pub(super) fn grow_if_loaded(&self, key: Key) {
        if let Some(growing) = self.buckets.growing() {
            let buckets = growing.extent().buckets();
            // The selectors of an entry serve as random numbers.
            let turn = key.entry.selectors()[1] as usize % INSERTS_PER_LOAD_CHECK;
            if turn * buckets < INSERTS_PER_LOAD_CHECK * INSERTS_PER_LOAD_CHECK {
                self.split_if_loaded(growing, Place { row: key.first, entry: key.entry });
            }
        }
    }

    /// Apart, as the other functions that run rarely.
    #[cold]
    #[inline(never)]
    fn split_if_loaded(&self, growing: &Growing, near: Place) {
        let extent = growing.extent();
        let buckets = extent.buckets();
        let load = self.stripes.load_near(extent.bucket(near), buckets, SAMPLE) / L::SLOTS as f64;
        let due = buckets as f64 * (load / (L::TARGET_LOAD + MARGIN) - 1.0);
        let due = due.ceil().max(0.0) as usize;
        if due > 0
            && let Some(splitting) = growing.splitting.try_lock()
        {
            // Without memory for it the load rises: this insert has its room.
            let _ = self.split(growing, due.min(SLOTS_PER_LOAD_CHECK / L::SLOTS));
            drop(splitting);
        }
    }

    /// After a search for room in a table of the extent `searched` was in vain: lets it grow by a
    /// run. `false`: it has its maximum size already. Waits for another thread that is splitting.
    pub(super) fn make_room(&self, searched: B::Extent) -> Result<bool, NoMemory> {
        let Some(growing) = self.buckets.growing() else {
            return Ok(false);
        };
        let _splitting = growing.splitting.lock();
        // In a small table a run would be too much.
        let share = self.buckets.count(searched) / 64;
        Ok(self.buckets.count(self.buckets.extent()) != self.buckets.count(searched)
            || self.split(growing, share.clamp(1, SPLITS_PER_LOCK))? > 0)
    }

    /// Grows to this number of buckets, or to its maximum. Between two runs others may split.
    pub(crate) fn grow_to(&self, buckets: usize) -> Result<(), NoMemory> {
        if let Some(growing) = self.buckets.growing() {
            loop {
                let _splitting = growing.splitting.lock();
                let missing = buckets.saturating_sub(growing.extent().buckets());
                if self.split(growing, missing.min(SLOTS_PER_LOAD_CHECK / L::SLOTS))? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// For the models: as `split`.
    #[cfg(loom)]
    pub(crate) fn split_next(&self, most: usize) -> usize {
        self.buckets.growing().map_or(0, |growing| {
            let _splitting = growing.splitting.lock();
            self.split(growing, most).expect("memory for a model")
        })
    }

    /// Splits up to `most` buckets, while it holds the mutex of those who split, and says how many.
    /// Where memory ends, it splits as many as there is memory for, and returns the error if that is
    /// none.
    fn split(&self, growing: &Growing, most: usize) -> Result<usize, NoMemory> {
        let mut split = 0;
        while split < most {
            let extent = growing.extent();
            let run = growing.next_run(extent, most - split);
            if run.is_empty() {
                break;
            }
            match self.try_reach(growing, extent.buckets() + run.len()) {
                Err(error) if split == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => {}
            }
            split += run.len();
            self.split_run(growing, extent, run);
        }
        Ok(split)
    }

    /// Allocates what is missing of the words of the first `buckets` buckets, in the mirror, too. While
    /// no stripe is held: an allocation may take long.
    fn try_reach(&self, growing: &Growing, buckets: usize) -> Result<(), NoMemory> {
        let words = growing.words();
        if words.get(buckets - 1).is_none() {
            // A mirror has each chunk that the table has.
            self.reach_in_mirror(buckets)?;
            words.try_reach(buckets)?;
        }
        Ok(())
    }

    /// Splits a run of buckets, of which the first is the one at the cursor.
    ///
    /// Each bucket in this order: copy, publish, bump, clear. The extent is stored once for all of them.
    fn split_run(&self, growing: &Growing, extent: Extent, run: Range<usize>) {
        let locked = self.lock_run(extent, &run);
        let splits = self.partition(extent, &run);
        self.copy_what_goes(&locked, &splits);
        growing.publish(extent.after(run.len()));
        self.bump_what_goes(&splits);
        self.clear_what_goes(&locked, &splits);
    }

    /// Locks the stripes of a run of buckets and of their new ones.
    fn lock_run(&self, extent: Extent, run: &Range<usize>) -> Locked<'_, Few<'_, TWO_RUNS>> {
        // A short run names its last bucket several times.
        let old = |at: usize| run.start + at.min(run.len() - 1);
        self.stripes.lock(array::from_fn(|at| {
            let (at, is_new) = (at % SPLITS_PER_LOCK, at >= SPLITS_PER_LOCK);
            old(at) + if is_new { extent.stride() } else { 0 }
        }))
    }

    /// What a split makes of each bucket of a run whose stripes are locked.
    fn partition(&self, extent: Extent, run: &Range<usize>) -> Splits<L> {
        let mut splits = [None; SPLITS_PER_LOCK];
        for (split, old) in splits.iter_mut().zip(run.clone()) {
            // The row of a bucket has its parity.
            let goes = |entry| extent.goes(Place { row: old, entry });
            let [stays, goes] = self.locked_word(old).partition(goes);
            *split = Some(Split { old, new: old + extent.stride(), stays, goes });
        }
        splits
    }

    /// Stores what goes into the new buckets.
    fn copy_what_goes(&self, locked: &Locked<'_, Few<'_, TWO_RUNS>>, splits: &Splits<L>) {
        for split in splits.iter().flatten() {
            // Release: not needed by itself, `publish` publishes it. A lookup reads it only by the new
            // extent.
            self.store_word(locked, split.new, split.goes, Ordering::Release);
            locked.transfer(split.old, split.new, split.goes.in_use());
        }
    }

    /// Bumps the versions of what goes.
    fn bump_what_goes(&self, splits: &Splits<L>) {
        for entry in splits.iter().flatten().flat_map(|split| split.goes.entries()) {
            self.versions.bump(entry.core());
        }
    }

    /// Stores what stays into the old buckets.
    fn clear_what_goes(&self, locked: &Locked<'_, Few<'_, TWO_RUNS>>, splits: &Splits<L>) {
        for split in splits.iter().flatten() {
            // Release: pairs with the loads of lookups, for whom it publishes the bumped versions.
            self.store_word(locked, split.old, split.stays, Ordering::Release);
        }
    }

    /// The items that the present size of a growing table is for; 0 for a table of fixed size.
    pub(crate) fn target_items(&self) -> usize {
        if B::GROWS { (self.slots() as f64 * L::TARGET_LOAD) as usize } else { 0 }
    }
}

/// The buckets of a run, and as many new ones.
const TWO_RUNS: usize = 2 * SPLITS_PER_LOCK;

/// The splits of a run.
type Splits<L> = [Option<Split<L>>; SPLITS_PER_LOCK];

/// What a split makes of a bucket.
#[derive(Clone, Copy)]
struct Split<L> {
    old: usize,
    new: usize,
    stays: Word<L>,
    goes: Word<L>,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::super::address::Growing;
    use super::super::path::{FIRST_SEARCH_BUCKETS, OPENED};
    use super::*;
    use crate::layout::Fp16x4;
    use crate::layout::sealed::Sealed;

    fn table(rows: usize, max_buckets: usize) -> Table<Fp16x4, Growing> {
        Table::try_new(rows, max_buckets).unwrap()
    }

    /// The runs of a level cover it, and each ends at the end of a cache line, of the level, of the
    /// room or of what was wanted.
    #[test]
    fn a_run_stays_in_a_cache_line() {
        let (rows, max_buckets) = (38, 150);
        let table = table(rows, max_buckets);
        let growing = table.buckets.growing().unwrap();
        for most in 1..2 * SPLITS_PER_LOCK {
            let mut extent = Extent::start(rows);
            while extent.buckets() < max_buckets {
                let run = growing.next_run(extent, most);
                assert_eq!(run.start, extent.cursor());
                assert_eq!(run.start / SPLITS_PER_LOCK, (run.end - 1) / SPLITS_PER_LOCK, "{run:?}");
                let ends = run.end.is_multiple_of(SPLITS_PER_LOCK)
                    || run.end == extent.stride()
                    || run.len() == most
                    || extent.buckets() + run.len() == max_buckets;
                assert!(ends, "{run:?} of {extent:?}, {most} at the most");
                extent = extent.after(run.len());
            }
            assert!(growing.next_run(extent, most).is_empty());
        }
    }

    /// Another thread splits, and does not come to an end: inserts go on above the target load.
    #[test]
    fn no_insert_waits_for_a_thread_that_splits() {
        let table = &table(1 << 10, 1 << 12);
        let slots = table.slots();
        let splitting = table.buckets.growing().unwrap().splitting.lock();
        let (send, receive) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut hashes = 0..;
                while (table.occupied() as f64) < 0.9 * slots as f64 {
                    table.insert(table.key(hashes.next().unwrap())).unwrap();
                }
                send.send(()).unwrap();
            });
            // Only a fault takes so long.
            let went_on = receive.recv_timeout(Duration::from_secs(60));
            assert_eq!(table.slots(), slots);
            drop(splitting);
            went_on.expect("an insert waits for a thread that splits");
        });
        // It makes up for it.
        (0..100).for_each(|hash| table.insert(table.key(hash << 32)).unwrap());
        assert!(table.slots() > slots);
    }

    /// In the middle of a level, a table of the maximum size gives up after a short search from a load on
    /// that it never has while it grows.
    #[test]
    fn an_unevenly_loaded_table_says_that_it_is_full_after_a_short_search() {
        let table = table(1 << 12, 3 << 11);
        let mut hashes = 0..;
        let mut insert = || {
            OPENED.set(0);
            let stored = table.insert(table.key(hashes.next().unwrap())).is_ok();
            (stored, OPENED.get())
        };
        let full = Fp16x4::TARGET_LOAD + UNEVEN_MARGIN;
        while (table.occupied() as f64) < full * table.slots() as f64 {
            assert!(insert().0, "below the share from which on a table is full");
        }
        assert_eq!(table.present(), 3 << 11);
        let mut refused = 0;
        for _ in 0..3000 {
            let (stored, opened) = insert();
            assert!(opened <= FIRST_SEARCH_BUCKETS, "{opened}");
            refused += usize::from(!stored);
        }
        assert!((100..3000).contains(&refused), "{refused}");
    }
}
