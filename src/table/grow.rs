//! Growth: splits, and when they happen.
//!
//! A split is a kick to a new bucket. Where the bucket of a fingerprint lies is told by the extent
//! (see [`crate::extent`]), so between the copy and the clear a split also stores the extent: a lookup
//! that reads the cleared bucket has then synchronized with the raised versions, and goes round; one
//! that begins with the raised versions sees the extent, and with it the new bucket. Writers compute
//! the buckets of an item again when they hold the stripes: a bucket whose stripe is held cannot be
//! split.
//!
//! Only one thread at a time splits. Others that would do so as well go on instead, but for those
//! whose item found no room.

use core::array;
use core::ops::Range;

use super::Table;
use super::address::{Buckets, Growth};
use crate::extent::Extent;
use crate::geometry::{Fingerprint, Key, Place};
use crate::layout::sealed::Word;
use crate::layout::{Layout, MAX_SLOTS};
use crate::sync::Ordering;

/// Buckets that are split under one set of locks: those of a cache line.
const RUN: usize = 8;
/// Items that come between two looks at the load of a large table.
const ITEMS_A_LOOK: usize = 32;
/// Slots that an insert provides at most when the load is above the target: twice as many as the
/// items that come before the next look.
const SLOTS_A_LOOK: usize = 2 * ITEMS_A_LOOK;
/// Buckets at least whose load is taken for that of the table.
const SAMPLE: usize = 2048;
/// How much fuller than its target a table may become: while it grows, it is kept below that.
const UNEVEN_MARGIN: f64 = 0.04;
/// How far the load goes beyond the target before a bucket is split: a sample is not exact.
const MARGIN: f64 = 0.01;

impl Growth {
    /// The share of slots in use from which on a short search is enough. In the middle of a level,
    /// half of the table has twice the demand of the other half, and is full sooner.
    pub(super) fn full<L: Layout>(&self) -> f64 {
        let extent = self.extent();
        let even = extent.cursor() == 0 && extent.buckets() == self.greatest;
        if even { L::FULL } else { L::GROWN + UNEVEN_MARGIN }
    }

    /// The buckets that are split next: no more than `most`, than one run, than are left in the
    /// level, and than there may be.
    fn next_run(&self, extent: Extent, most: usize) -> Range<usize> {
        let cursor = extent.cursor();
        let end_of_line = cursor - cursor % RUN + RUN;
        let end_of_level = extent.stride();
        let room = self.greatest - extent.buckets();
        cursor..end_of_line.min(end_of_level).min(cursor + room.min(most))
    }
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// After an insert of `key`, when no stripe is held: splits some buckets if the load is above the
    /// target. Nobody waits for another thread that is splitting.
    #[inline]
    pub(super) fn grow_if_loaded(&self, key: Key) {
        if let Some(growth) = self.buckets.growth() {
            let buckets = growth.extent().buckets();
            // The selectors of a fingerprint serve as random numbers.
            let turn = key.fingerprint.selectors()[1] as usize % ITEMS_A_LOOK;
            if turn * buckets < ITEMS_A_LOOK * ITEMS_A_LOOK {
                self.split_if_loaded(growth, key.fingerprint, key.first);
            }
        }
    }

    /// Apart, and its arguments one by one, as for the other functions that run rarely.
    #[cold]
    #[inline(never)]
    fn split_if_loaded(&self, growth: &Growth, fingerprint: Fingerprint, row: usize) {
        let extent = growth.extent();
        let buckets = extent.buckets();
        let bucket = extent.bucket(Place { row, fingerprint });
        let load = self.stripes.load_near(bucket, buckets, SAMPLE) / L::SLOTS as f64;
        let due = (buckets as f64 * (load / (L::GROWN + MARGIN) - 1.0)).ceil().max(0.0) as usize;
        if due > 0
            && let Some(splitting) = growth.splitting.try_lock()
        {
            self.split(growth, due.min(SLOTS_A_LOOK / L::SLOTS));
            drop(splitting);
        }
    }

    /// After a search for room in a table of the extent `searched` was in vain: lets it grow by a
    /// run. `false`: it has the greatest size already. Waits for another thread that is splitting.
    pub(super) fn make_room(&self, searched: Option<Extent>) -> bool {
        let (Some(growth), Some(searched)) = (self.buckets.growth(), searched) else {
            return false;
        };
        let _splitting = growth.splitting.lock();
        // In a small table a run would be too much.
        let share = searched.buckets() / 64;
        growth.extent() != searched || self.split(growth, share.clamp(1, RUN)) > 0
    }

    /// Grows to this number of buckets, or to the greatest. Between two runs others may split.
    pub(crate) fn grow_to(&self, buckets: usize) {
        if let Some(growth) = self.buckets.growth() {
            loop {
                let _splitting = growth.splitting.lock();
                let missing = buckets.saturating_sub(growth.extent().buckets());
                if self.split(growth, missing.min(SLOTS_A_LOOK / L::SLOTS)) == 0 {
                    return;
                }
            }
        }
    }

    /// For the models: as `split`.
    #[cfg(loom)]
    pub(crate) fn split_next(&self, most: usize) -> usize {
        self.buckets.growth().map_or(0, |growth| {
            let _splitting = growth.splitting.lock();
            self.split(growth, most)
        })
    }

    /// Splits up to `most` buckets, while it holds the mutex of those who split, and says how many.
    fn split(&self, growth: &Growth, most: usize) -> usize {
        let mut split = 0;
        while split < most {
            let extent = growth.extent();
            let run = growth.next_run(extent, most - split);
            if run.is_empty() {
                break;
            }
            split += run.len();
            self.split_run(growth, extent, run);
        }
        split
    }

    /// Splits a run of buckets, of which the first is the one at the cursor.
    ///
    /// For each bucket: copy, store the extent, raise the versions, clear; in this order. The words
    /// of all of them are stored before the extent, which is stored once.
    fn split_run(&self, growth: &Growth, extent: Extent, run: Range<usize>) {
        let stride = extent.stride();
        // A short run names its last buckets several times.
        let old = |at: usize| run.start + at.min(run.len() - 1);
        let both = array::from_fn(|at| if at < RUN { old(at) } else { old(at - RUN) + stride });
        let locked = self.stripes.lock::<{ 2 * RUN }>(both);

        let mut partitions = [Partition::NONE; RUN];
        for (partition, old) in partitions.iter_mut().zip(run.clone()) {
            *partition = self.partition(extent, old);
            // Release: not needed by itself, the store of the extent publishes it. A lookup reads it
            // only by the new extent.
            self.put(&locked, old + stride, partition.goes, Ordering::Release);
        }
        // SeqCst: pairs with the loads of the extent, for whom it publishes the copies.
        let after = extent.after(run.len());
        growth.extent.store(after.bits(), Ordering::SeqCst);
        for (partition, old) in partitions.iter().zip(run.clone()) {
            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {
                self.versions.bump(Fingerprint::in_slot(fingerprint));
            }
            let moved = L::SLOTS - L::Word::free(partition.goes);
            locked.transfer(old, old + stride, moved);
        }
        for (partition, old) in partitions.iter().zip(run) {
            // Release: pairs with the loads of lookups, for whom it publishes the raised versions.
            self.put(&locked, old, partition.stays, Ordering::Release);
        }
    }

    /// The items that a table which grows is to hold at its present size; 0 for any other.
    pub(crate) fn grown_for(&self) -> usize {
        let grows = self.buckets.growth().is_some();
        if grows { (self.slots() as f64 * L::GROWN) as usize } else { 0 }
    }

    /// What a split does with the fingerprints of a bucket whose stripe is locked.
    fn partition(&self, extent: Extent, bucket: usize) -> Partition {
        let word = self.buckets.word(bucket).load(Ordering::Relaxed);
        let slots: [u64; MAX_SLOTS] = L::Word::slots(word);
        let mut partition = Partition::NONE;
        for fingerprint in slots.into_iter().filter(|&bits| bits != 0).map(Fingerprint::in_slot) {
            // The row of a bucket has its parity.
            let goes = extent.goes(Place { row: bucket, fingerprint });
            let part = if goes { &mut partition.goes } else { &mut partition.stays };
            *part = L::Word::with(*part, fingerprint).expect("a part of a bucket fits");
        }
        partition
    }
}

/// The two words that a split makes of one.
#[derive(Clone, Copy)]
struct Partition {
    stays: u64,
    goes: u64,
}

impl Partition {
    const NONE: Self = Self { stays: 0, goes: 0 };
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

    fn table(rows: usize, greatest: usize) -> Table<Fp16x4, Growing> {
        Table::try_new(rows, greatest).unwrap()
    }

    /// The runs of a level cover it, and each ends at the end of a cache line, of the level, of the
    /// room or of what was wanted.
    #[test]
    fn a_run_stays_in_a_cache_line() {
        let (rows, greatest) = (38, 150);
        let table = table(rows, greatest);
        let growth = table.buckets.growth().unwrap();
        for most in 1..2 * RUN {
            let mut extent = Extent::start(rows);
            while extent.buckets() < greatest {
                let run = growth.next_run(extent, most);
                assert_eq!(run.start, extent.cursor());
                assert_eq!(run.start / RUN, (run.end - 1) / RUN, "{run:?}");
                let ends = run.end.is_multiple_of(RUN)
                    || run.end == extent.stride()
                    || run.len() == most
                    || extent.buckets() + run.len() == greatest;
                assert!(ends, "{run:?} of {extent:?}, {most} at the most");
                extent = extent.after(run.len());
            }
            assert!(growth.next_run(extent, most).is_empty());
        }
    }

    /// Another thread splits, and does not come to an end: inserts go on above the target load.
    #[test]
    fn no_insert_waits_for_a_thread_that_splits() {
        let table = &table(1 << 10, 1 << 12);
        let slots = table.slots();
        let splitting = table.buckets.growth().unwrap().splitting.lock();
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

    /// In the middle of a level, a table of the greatest size says that it is full after a short search
    /// from a load on that it would never have while it grows.
    #[test]
    fn an_unevenly_loaded_table_says_that_it_is_full_after_a_short_search() {
        let table = table(1 << 12, 3 << 11);
        let mut hashes = 0..;
        let mut insert = || {
            OPENED.set(0);
            let stored = table.insert(table.key(hashes.next().unwrap())).is_ok();
            (stored, OPENED.get())
        };
        let full = Fp16x4::GROWN + UNEVEN_MARGIN;
        while (table.occupied() as f64) < full * table.slots() as f64 {
            assert!(insert().0, "below the share from which on a table is full");
        }
        assert_eq!(table.present().len(), 3 << 11);
        let mut refused = 0;
        for _ in 0..3000 {
            let (stored, opened) = insert();
            assert!(opened <= FIRST_SEARCH_BUCKETS, "{opened}");
            refused += usize::from(!stored);
        }
        assert!((100..3000).contains(&refused), "{refused}");
    }
}
