//! Growth: splits, and when they happen. In a split some entries of a bucket *go* to a new bucket, and the others
//! *stay*.
//!
//! **Invariant:** an entry that goes is in the new bucket before the extent says so, and in the old one until then.
//! Only the holder of the growth mutex (`Doubled::lock`) changes the extent.
//!
//! A split is a kick of all entries that go, at once. The extent says which bucket an entry has (see
//! `placing/growing.rs`). So between the copy and the clear, a split also stores the extent. A lookup that reads the
//! cleared bucket has then synchronized with the bumped versions, and starts over. A lookup that begins with the bumped
//! versions sees the extent, and with it the new bucket. Writers compute the buckets of an item again when they hold
//! the stripes: a bucket whose stripe is held cannot be split.
//!
//! Only one thread at a time splits. Another thread that would split skips its split, unless its item found no room.
//! The next thread that splits makes up for the skipped splits. Otherwise, with many threads that insert, the load
//! would rise until each insert kicks and waits for room.

use core::array;
use core::ops::Range;

use crate::layout::{Encoding, MAX_SLOTS, Slot};
use crate::sizing::{self, LOAD_MARGIN, MAX_DOUBLED};
use crate::sync::Ordering;
use crate::sync::memory::{self, NoMemory};
use crate::table::buckets::growing::{GrowingBuckets, next_reach, stripes_with};
use crate::table::buckets::stripes::{Locked, SAMPLE, SEGMENT, UpTo};
use crate::table::placing::entry::Values;
use crate::table::placing::geometry::Place;
use crate::table::placing::{Bucket, Extent, GrowingPlacing};
use crate::table::shared::doubled::{Counts, Splitting};
use crate::table::{Buckets, Table};

/// Buckets that are split under one set of locks: those of a cache line.
const SPLITS_PER_LOCK: usize = 8;
/// Inserts between two checks of the load of a large table.
const INSERTS_PER_LOAD_CHECK: u64 = 32;
/// The lowest of the bits of a position that decide which inserts check the load. No bucket tells these bits.
const TURN: u32 = 48;
/// The least number of halts of growth while the number of buckets doubles. There are at most twice as many.
const HALTS: u64 = 64;
/// The most load checks for which one insert splits: its own, and those of other inserts that found the growth mutex
/// taken.
const MAX_CHECKS: usize = 16;
/// The share of slots by which the load of a table may rise above its target. While the table grows, growth keeps the
/// load below that.
const UNEVEN_MARGIN: f64 = 0.04;

/// The number of slots that a stashed entry counts for when a table decides whether to grow.
const SLOTS_OF_STASHED: f64 = 16.0;
/// The maximum number of slots that the stashed entries count for beyond one slot each, as a share of the slots in use.
/// The limit is for keys with hundreds of values: growth would not help most of their stashed entries.
const MOST_OF_STASHED: f64 = 0.35;

/// Returns the number of slots in use that decides whether a table grows: `in_use`, plus the slots that `stashed`
/// stashed entries count for.
fn slots_with_stash(in_use: f64, stashed: f64) -> f64 {
    let more = (SLOTS_OF_STASHED - 1.0) * stashed;
    in_use + stashed + more.min(MOST_OF_STASHED * in_use)
}

/// Returns whether the sample of a table of this size has all stripes.
fn is_sample_exact(buckets: u64) -> bool {
    buckets < 2 * SAMPLE as u64
}

impl<V: Values> GrowingBuckets<V> {
    /// Returns the load, stashed entries included, from which on a table is full if its size is not a whole number of
    /// levels.
    pub(in crate::table) fn full_load(&self) -> f64 {
        self.target_load() + UNEVEN_MARGIN
    }

    /// Returns the maximum number of buckets to split for one check that finds the load above the target. This is twice
    /// the number that the inserts before the next check need, rounded up to whole cache lines.
    fn most_splits(&self, slots_per_bucket: usize) -> usize {
        let slots = INSERTS_PER_LOAD_CHECK as f64 / self.target_load();
        ((2.0 * slots / slots_per_bucket as f64) as usize).next_multiple_of(SPLITS_PER_LOCK)
    }

    /// Returns the smallest size, from `buckets` on, at which growth halts. At a halt, growth goes on only when the
    /// load of the whole table is above the target. At any other size, the load of a sample is enough, and a sample may
    /// be fuller than the table: so [`Table::grow_for`] makes room up to a halt. The halts follow from sizes alone, so
    /// copies of a table grow alike.
    ///
    /// In a table whose sample [is exact](is_sample_exact), growth halts nowhere: then this returns `buckets`.
    fn next_halt(&self, buckets: u64) -> u64 {
        if is_sample_exact(buckets) || buckets == self.sizes.initial as u64 {
            return buckets;
        }
        buckets.next_multiple_of(1 << (buckets / HALTS).ilog2())
    }

    /// Returns the buckets that are split next. The run ends at the end of its cache line, at the end of the level,
    /// after `most` buckets, or at the maximum size of the table, whichever comes first.
    fn next_run(&self, extent: Extent, most: usize) -> Range<usize> {
        let cursor = extent.cursor();
        let end_of_line = cursor - cursor % SPLITS_PER_LOCK + SPLITS_PER_LOCK;
        let end_of_level = extent.stride();
        let room = self.max_buckets() - extent.buckets() as u64;
        cursor..end_of_line.min(end_of_level).min(cursor + room.min(most as u64) as usize)
    }
}

impl<'a, F: Encoding, B: Buckets> Table<'a, F, B> {
    /// Splits some buckets if the load is above the target. Called after an insert at these places, when no stripe is
    /// held. Does not wait for another thread that is splitting.
    #[inline]
    pub(in crate::table) fn grow_if_loaded(self, [near, _]: [Place; 2]) {
        if let Some(growing) = self.buckets.growing() {
            let buckets = growing.extent().buckets();
            // One insert in `INSERTS_PER_LOAD_CHECK` checks the load: those with turn 0. In a small table more inserts
            // do, in proportion, so that the table does not double unnoticed. The turn comes from bits of the position
            // that no bucket tells. (Entries of a merge do not know these bits: each of them has turn 0.)
            let turn = (near.position >> TURN) % INSERTS_PER_LOAD_CHECK;
            if turn * (buckets as u64) < INSERTS_PER_LOAD_CHECK * INSERTS_PER_LOAD_CHECK {
                self.split_if_loaded(growing, near);
            }
        }
    }

    /// Checks the load, and splits some buckets if it is above the target. Outlined: this path is cold.
    #[cold]
    #[inline(never)]
    fn split_if_loaded(self, growing: &GrowingBuckets<B::Values>, near: Place) {
        let extent = growing.extent();
        let buckets = extent.buckets();
        let in_use = self.stripes().load_near(extent.bucket(near.position), buckets, SAMPLE);
        let stashed = self.stashed_entries() as f64 / buckets as f64;
        let load = slots_with_stash(in_use, stashed) / F::SLOTS as f64;
        let due = buckets as f64 * (load / (growing.target_load() + LOAD_MARGIN) - 1.0);
        let due = due.ceil().max(0.0) as usize;
        if due == 0 {
            return;
        }
        let Some(mut splitting) = self.shared.doubled.try_lock() else {
            return growing.miss();
        };
        let checks = (1 + growing.take_missed()).min(MAX_CHECKS);
        let most = due.min(self.splits_to_the_next_halt(growing, checks));
        // Without memory the load rises: the item of this insert has its room already.
        let _ = self.split(&mut splitting, most);
    }

    /// Returns the buckets that one insert may split for `checks` load checks, while it holds the growth mutex.
    fn splits_to_the_next_halt(self, growing: &GrowingBuckets<B::Values>, checks: usize) -> usize {
        let buckets = growing.extent().buckets() as u64;
        let most = checks * growing.most_splits(F::SLOTS);
        if is_sample_exact(buckets) {
            return most;
        }
        // Ends at the end of a cache line.
        let most = (buckets as usize + most) / SPLITS_PER_LOCK * SPLITS_PER_LOCK - buckets as usize;
        let halts = growing.next_halt(buckets) == buckets;
        let slots = || {
            let (in_use, stashed) = (self.stripes().occupied_hint(), self.stashed_entries());
            slots_with_stash(in_use as f64, stashed as f64)
        };
        if halts && slots() <= self.target_items() as f64 {
            return 0;
        }
        most.min((growing.next_halt(buckets + 1) - buckets) as usize)
    }

    /// Lets the table grow by a run, after a search for room in a table of `searched` buckets was in vain. Returns
    /// `false` if the table does not grow any more. Waits for another thread that is splitting.
    pub(in crate::table) fn make_room(self, searched: usize) -> Result<bool, NoMemory> {
        if !B::GROWS {
            return Ok(false);
        }
        let mut splitting = self.shared.doubled.lock();
        // In a small table a whole run would be too much.
        let most = (searched / 64).clamp(1, SPLITS_PER_LOCK);
        Ok(self.present() != searched || self.split(&mut splitting, most)? > 0)
    }

    /// Grows until the table has room for `items` items, or as far as it can. Inserts up to `items` then split nothing.
    /// Returns whether the table has room. A table that does not grow any more has room up to the load at which inserts
    /// fail.
    pub(crate) fn grow_for(self, items: usize) -> Result<bool, NoMemory> {
        let Some(growing) = self.buckets.growing() else {
            return Ok(true);
        };
        loop {
            let present = self.present();
            // Growth may double more entries, and takes some out of the stash.
            let entries = (items as u64).saturating_add(self.shared.doubled.all().entries);
            let stashed = (self.stashed_entries() as u64).min(entries);
            let slots = slots_with_stash((entries - stashed) as f64, stashed as f64);
            let (layout, load) = (F::ID.properties(), growing.target_load());
            let needed = sizing::buckets_for(layout, slots.ceil() as u64, load);
            let needed = needed.unwrap_or(growing.max_buckets()).max(present as u64);
            self.grow_to(growing.next_halt(needed))?;
            if self.present() == present {
                return Ok(entries as f64 <= self.full_entries());
            }
        }
    }

    /// Grows to this number of buckets, to the maximum, or until too many entries are doubled. Allocates all memory
    /// first: if there is too little, nothing has changed. Between two runs, other threads may split.
    pub(crate) fn grow_to(self, buckets: u64) -> Result<(), NoMemory> {
        let Some(growing) = self.buckets.growing() else {
            return Ok(());
        };
        let buckets = memory::in_memory(buckets.min(growing.max_buckets()))?;
        let splitting = self.shared.doubled.lock();
        self.try_reach(growing, buckets)?;
        drop(splitting);
        loop {
            let mut splitting = self.shared.doubled.lock();
            let missing = buckets.saturating_sub(growing.extent().buckets());
            let most = missing.min(growing.most_splits(F::SLOTS));
            if self.split(&mut splitting, most)? == 0 {
                return Ok(());
            }
        }
    }

    /// Splits up to `most` buckets, while the caller holds the growth mutex, and returns how many. If memory ends,
    /// splits as many as there is memory for, and returns the error only if it can split none. If too many entries are
    /// doubled, splits none: each of them would be doubled again at the next level, and soon the table would hold
    /// nothing else.
    pub(in crate::table) fn split(
        self,
        splitting: &mut Splitting<'_>,
        most: usize,
    ) -> Result<usize, NoMemory> {
        // Twice as many as are expected at the maximum: chance must not keep a table from the size that it was built
        // for.
        if splitting.all().entries * (MAX_DOUBLED / 2) > self.target_items() as u64 {
            return Ok(0);
        }
        self.split_buckets(splitting, most)
    }

    /// Splits as `split` does, however many entries are doubled.
    pub(in crate::table) fn split_buckets(
        self,
        splitting: &mut Splitting<'_>,
        most: usize,
    ) -> Result<usize, NoMemory> {
        let Some(growing) = self.buckets.growing() else {
            return Ok(0);
        };
        let mut split = 0;
        while split < most {
            let extent = growing.extent();
            let run = growing.next_run(extent, most - split);
            if run.is_empty() {
                break;
            }
            // At lower levels no entry is void.
            let any_void = extent.stride() >> growing.common_bits() > 0;
            let values = if any_void { run.len() * F::SLOTS } else { 0 };
            let reserved = self
                .try_reach(growing, extent.buckets() + run.len())
                .and_then(|()| splitting.reserve(values, self.value_bits()));
            match reserved {
                Err(error) if split == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => {}
            }
            split += run.len();
            self.split_run(growing, extent, run, |doubled| {
                splitting.add(self.value_in(doubled.bits()), Counts::of_slots(1));
            });
        }
        Ok(split)
    }

    /// Allocates the missing words of the first `buckets` buckets, in the mirror, too, and the stripes and versions for
    /// a table of that size. Called while no stripe is held: an allocation may take long.
    fn try_reach(
        self,
        growing: &GrowingBuckets<B::Values>,
        buckets: usize,
    ) -> Result<(), NoMemory> {
        if growing.reached() >= buckets {
            return Ok(());
        }
        let most = self.max_buckets();
        let reach = next_reach(growing.reached() as u64, buckets as u64, most) as usize;
        let stripes = stripes_with(reach as u64, most);
        if growing.pieces().is_short() {
            return self.try_widen(growing, stripes, Some(reach));
        }
        if stripes > self.stripes().len() {
            self.try_widen(growing, stripes, None)?;
        }
        // A mirror has each piece that the table has.
        self.reach_in_mirror(reach)?;
        growing.pieces().try_reach(reach)
    }

    /// Splits a run of buckets, of which the first is the one at the cursor. Calls `count_doubled` with each entry that
    /// is in both buckets of a split now.
    ///
    /// The order for each bucket is copy, publish, bump, clear. The extent is stored once for all of them. The extent
    /// of the next level, by which entries are read differently, follows the clears. An entry that goes has lost a bit,
    /// and a doubled entry has gained a known bit: both are read by the old level until no lookup can miss them.
    fn split_run(
        self,
        growing: &GrowingBuckets<B::Values>,
        extent: Extent,
        run: Range<usize>,
        mut count_doubled: impl FnMut(Slot),
    ) {
        for next in [run.start, run.end] {
            self.prefetch_run(growing, extent, next);
        }
        let locked = self.lock_run(extent, &run);
        let splits = self.partition(growing, extent, &run);
        let groups = self.groups_of_what_goes(growing, extent, &splits);
        self.copy_what_goes(&locked, &splits);
        let extent = extent.after(run.len());
        growing.publish(extent);
        self.bump_what_goes(&groups);
        self.clear_what_goes(&locked, &splits);
        if let Some(next_level) = extent.next_level(growing.ring) {
            growing.publish(next_level);
        }
        for split in splits.iter().flatten().filter(|split| split.doubled.bits() != 0) {
            split.doubled.slots_in_use().for_each(&mut count_doubled);
        }
    }

    /// Requests the words and the stripe that a run from this bucket on will write first.
    fn prefetch_run(self, growing: &GrowingBuckets<B::Values>, extent: Extent, first: usize) {
        let words = growing.pieces().view();
        let both = [first, first + extent.stride()].into_iter();
        self.stripes().prefetch([self.stripes().stripe(first)]);
        self.stripes().prefetch(both.filter(|&at| at < words.len()).map(|at| words.word(at)));
    }

    /// Locks the stripes of a run of buckets and of their new buckets. The latest sweep has reached all of them.
    fn lock_run(
        self,
        extent: Extent,
        run: &Range<usize>,
    ) -> Locked<'a, UpTo<'a, STRIPES_PER_LOCK>> {
        let buckets = array::from_fn(|at| {
            // In most tables, this order is the order of the stripes: there, both buckets of a split have one stripe.
            let (at, is_new) = (at / 2 * SEGMENT, at % 2 == 1);
            // A short run names its last bucket several times.
            let old = run.start + at.min(run.len() - 1);
            old + if is_new { extent.stride() } else { 0 }
        });
        loop {
            let locked = self.state.lock_stripes(buckets);
            let Some(behind) = self.not_swept(&locked, buckets) else {
                return locked;
            };
            drop(locked);
            self.sweep_stripe_of(behind);
        }
    }

    /// Returns the split of each bucket of a run. Their stripes are locked.
    fn partition(
        self,
        growing: &GrowingBuckets<B::Values>,
        extent: Extent,
        run: &Range<usize>,
    ) -> Splits<F> {
        let placement = growing.placement_by(extent);
        let mut splits = [None; SPLITS_PER_LOCK];
        for (split, old) in splits.iter_mut().zip(run.clone()) {
            let (bucket, new) = (Bucket::at(placement, old), old + extent.stride());
            let word = self.locked_word(old);
            *split = Some(if bucket.has_void(word) {
                Split::by_slot(bucket, word, new)
            } else {
                let [stays, goes] = bucket.split_known(word);
                Split { stays, goes, ..Split::empty(old, new) }
            });
        }
        splits
    }

    /// Returns the version groups of all entries that go, and requests their versions.
    fn groups_of_what_goes(
        self,
        growing: &GrowingBuckets<B::Values>,
        extent: Extent,
        splits: &Splits<F>,
    ) -> Groups {
        let placement = growing.placement_by(extent);
        let mut groups = Groups { numbers: [0; SPLITS_PER_LOCK * MAX_SLOTS], len: 0 };
        for split in splits.iter().flatten() {
            let new = Bucket::at(placement, split.new);
            for slot in split.goes.slots_in_use() {
                let group = self.geometry().version_group_in(new.place::<F>(slot));
                self.stripes().prefetch([self.versions().counter(group)]);
                groups.numbers[groups.len] = group as u32;
                groups.len += 1;
            }
        }
        groups
    }

    /// Stores the entries that go in the new buckets.
    fn copy_what_goes(self, locked: &Locked<'_, UpTo<'_, STRIPES_PER_LOCK>>, splits: &Splits<F>) {
        for split in splits.iter().flatten() {
            // Relaxed: `publish` publishes the word. A lookup reads it only by the new extent.
            self.store_word(locked, split.new, split.goes, Ordering::Relaxed);
            let goes = split.goes.in_use();
            locked.vacate(split.old, goes - split.doubled.in_use());
            locked.occupy(split.new, goes);
        }
    }

    /// Bumps the versions of all entries in the new buckets: of those that go, and of those that are doubled.
    fn bump_what_goes(self, groups: &Groups) {
        for &group in &groups.numbers[..groups.len] {
            self.versions().bump(group as usize);
        }
    }

    /// Stores the entries that stay in the old buckets.
    fn clear_what_goes(self, locked: &Locked<'_, UpTo<'_, STRIPES_PER_LOCK>>, splits: &Splits<F>) {
        for split in splits.iter().flatten() {
            // Release: pairs with the loads of lookups, for which it publishes the bumped versions.
            self.store_word(locked, split.old, split.stays, Ordering::Release);
        }
    }
}

/// Returns a part of a bucket with one more entry.
#[inline]
fn with<F: Encoding>(part: F, slot: Option<Slot>) -> F {
    slot.map_or(part, |slot| part.with(slot).expect("a part of a bucket has room"))
}

/// The most stripes of a run and of its new buckets: a run is in one segment, or a segment is one bucket.
const STRIPES_PER_LOCK: usize = 2 * SPLITS_PER_LOCK.div_ceil(SEGMENT);

/// The splits of a run.
type Splits<F> = [Option<Split<F>>; SPLITS_PER_LOCK];

/// The split of a bucket: the words of the old and of the new one after it.
#[derive(Clone, Copy)]
struct Split<F> {
    old: usize,
    new: usize,
    stays: F,
    goes: F,
    /// The entries that are in both, as they were before.
    doubled: F,
}

impl<F: Encoding> Split<F> {
    /// Returns the split of an empty bucket.
    fn empty(old: usize, new: usize) -> Self {
        Self { old, new, stays: F::EMPTY, goes: F::EMPTY, doubled: F::EMPTY }
    }

    /// Returns the split of a bucket in which an entry may be void.
    #[cold]
    #[inline(never)]
    fn by_slot<V: Values>(bucket: Bucket<GrowingPlacing<V>>, word: F, new: usize) -> Self {
        let mut split = Self::empty(bucket.number(), new);
        // From the last slot down, as in `parted`: both give the slots in the same order.
        for slot in word.slots_in_use().rev() {
            let [stay, go] = bucket.split::<F>(slot);
            if stay.is_some() & go.is_some() {
                split.doubled = with(split.doubled, Some(slot));
            }
            split.stays = with(split.stays, stay);
            split.goes = with(split.goes, go);
        }
        split
    }
}

/// The version groups of all entries of a run that go.
struct Groups {
    /// The lowest 32 bits of the number of each group: more than choose the version.
    numbers: [u32; SPLITS_PER_LOCK * MAX_SLOTS],
    len: usize,
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::State;
    use crate::table::buckets::control::Control;
    use crate::table::buckets::growing::GrowingBuckets;
    use crate::table::items::path::{FIRST_SEARCH_BUCKETS, OPENED};
    use crate::table::placing::entry::{Pair, ValueBits};
    use crate::table::placing::geometry::mix;
    use crate::table::shared::doubled::LOCKED;
    use crate::table::whole::generations::{Clock, Generations, Stamping};

    type Fp16x4 = Packed<16, 4>;

    fn table(first: usize, max_buckets: usize) -> Table<'static, Fp16x4, GrowingBuckets> {
        Table::try_new(first, max_buckets).unwrap()
    }

    /// With two values per key, growth leaves few of them in the stash. However many values of one key are stashed, the
    /// slots of a table are bounded: by the slots in use, a bounded share more, and the stashed entries.
    #[test]
    fn growth_heeds_what_is_stashed_within_a_bound() {
        type Fp21x3 = Packed<21, 3>;
        let sizing = Sizing { value_bits: 10, ..Sizing::of_table(Fp21x3::ID, 1 << 10, 1 << 15) };
        let table = Table::<Fp21x3, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let insert = |hash, value| {
            table.insert(table.key_of(Pair { hash: mix(hash), value })).unwrap();
        };
        (0..10_000).for_each(|key| [0, 1].into_iter().for_each(|value| insert(key, value)));
        assert!(table.stashed_entries() * 40 < 20_000, "{}", table.stashed_entries());
        (2..1000).for_each(|value| insert(0, value));
        // Only an insert that finds room checks the load.
        (10_000..18_000).for_each(|key| insert(key, 0));
        let (in_use, stashed) = (table.occupied() as f64, table.stashed_entries() as f64);
        assert!(stashed > 900.0);
        let most = (1.35 * in_use + stashed) / 0.74;
        assert!((table.slots() as f64) < most, "{most}, and there are {}", table.slots());
    }

    /// Another thread has let the table grow to its maximum since the search: there is room that the search did not
    /// see.
    #[test]
    fn a_search_that_growth_has_overtaken_is_repeated() {
        let table = table(32, 64);
        table.grow_to(64).unwrap();
        assert_eq!([32, 64].map(|searched| table.make_room(searched).unwrap()), [true, false]);
    }

    /// The runs of a level cover it. Each run ends at the end of a cache line, of the level, of the room, or of `most`.
    #[test]
    fn a_run_stays_in_a_cache_line() {
        let (first, max_buckets) = (38, 150);
        let table = table(first, max_buckets);
        let growing = table.buckets.growing().unwrap();
        for most in 1..2 * SPLITS_PER_LOCK {
            let mut extent = growing.extent();
            while extent.buckets() < max_buckets {
                let run = growing.next_run(extent, most);
                assert_eq!(run.start, extent.cursor());
                assert_eq!(run.start / SPLITS_PER_LOCK, (run.end - 1) / SPLITS_PER_LOCK, "{run:?}");
                let ends = run.end % SPLITS_PER_LOCK == 0
                    || run.end == extent.stride()
                    || run.len() == most
                    || extent.buckets() + run.len() == max_buckets;
                assert!(ends, "{run:?} of {extent:?}, {most} at the most");
                extent = extent.after(run.len());
                extent = extent.next_level(growing.ring).unwrap_or(extent);
            }
            assert!(growing.next_run(extent, most).is_empty());
        }
    }

    /// Growth halts at the first size, and 64 to 128 times until the number of buckets has doubled. In a small table it
    /// halts nowhere, and `next_halt` returns the size itself.
    #[test]
    fn growth_halts() {
        let table = table(5000, 1 << 15);
        let growing = table.buckets.growing().unwrap();
        let halts = [4095, 5000, 5001, 8191, 8192, 8193].map(|buckets| growing.next_halt(buckets));
        assert_eq!(halts, [4095, 5000, 5056, 8192, 8192, 8320]);
    }

    /// A table may have more stripes than its buckets call for; once it is restored, it does not. Both split alike.
    #[test]
    fn a_sample_does_not_depend_on_the_number_of_stripes() {
        const MOST: u64 = 1 << 20;
        for buckets in [3000, 4096, 5000, 8191, 30_000, 40_000, 65_535] {
            let stripes = [buckets, 8 * buckets].map(|reached| {
                let count = Control::stripes(reached, MOST);
                let stripes = Control::try_new(count, MOST).unwrap().stripes;
                (0..buckets as usize).for_each(|at| stripes.count(at, mix(at as u64) as usize % 5));
                stripes
            });
            assert!(stripes[0].len() < stripes[1].len());
            for bucket in (0..buckets as usize).step_by(97) {
                let [load, with_more] =
                    stripes.each_ref().map(|s| s.load_near(bucket, buckets as usize, SAMPLE));
                assert!(load.total_cmp(&with_more).is_eq(), "{bucket} of {buckets}");
            }
        }
    }

    /// If more than twice as many entries are doubled as are expected at the maximum, no split doubles more.
    #[test]
    fn no_split_where_too_many_entries_are_doubled() {
        let table = table(64, 1 << 12);
        let most = table.target_items() as u64 / (MAX_DOUBLED / 2);
        let mut guard = table.shared.doubled.lock();
        let splitting = &mut guard;
        splitting.reserve(1, 0).unwrap();
        splitting.add(0, Counts::of_slots(most));
        assert_eq!(table.split(splitting, 1), Ok(1));
        // Copies of few entries do not stop it.
        splitting.add(0, Counts { copies: 10 * most, entries: 0 });
        let most = table.target_items() as u64 / (MAX_DOUBLED / 2);
        let more = most - table.shared.doubled.all().entries;
        splitting.add(0, Counts::of_slots(more));
        assert_eq!(table.split(splitting, 1), Ok(1));
        let more = table.target_items() as u64 / (MAX_DOUBLED / 2) + 1
            - table.shared.doubled.all().entries;
        splitting.add(0, Counts::of_slots(more));
        assert_eq!(table.split(splitting, 1), Ok(0));
        assert_eq!(table.present(), 66);
        drop(guard);
        // The table is then filled above its target, and not further.
        let room = table.full_entries() as usize - table.doubled().entries as usize;
        assert_eq!([room, room + 1].map(|items| table.grow_for(items)), [Ok(true), Ok(false)]);
        assert_eq!(table.present(), 66);
    }

    /// Another thread splits without an end: inserts go on above the target load.
    #[test]
    fn no_insert_waits_for_a_thread_that_splits() {
        let table = &table(1 << 10, 1 << 12);
        let slots = table.slots();
        let splitting = table.shared.doubled.lock();
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
        // One of the next inserts makes up for it.
        (0..100).for_each(|hash| table.insert(table.key(hash << 32)).unwrap());
        assert!(table.slots() > slots);
    }

    /// The first insert that checks the load splits for many that found the growth mutex taken, the next one for
    /// itself.
    #[test]
    fn a_check_makes_up_for_those_in_vain() {
        let table = table(1 << 15, 1 << 20);
        let growing = table.buckets.growing().unwrap();
        let mut hashes = 0..;
        let mut insert = || table.insert(table.key(hashes.next().unwrap())).unwrap();
        let splitting = table.shared.doubled.lock();
        while (table.occupied() as f64) < 0.93 * table.slots() as f64 {
            insert();
        }
        drop(splitting);
        let most = growing.most_splits(Fp16x4::SLOTS);
        for splits in [MAX_CHECKS * most, most, most] {
            let present = table.present();
            while table.present() == present {
                insert();
            }
            assert_eq!(table.present() - present, splits);
        }
    }

    /// In the middle of a level, a table of the maximum size gives up after a short search from a certain load on.
    /// While it grows, it never has that load.
    #[test]
    fn an_unevenly_loaded_table_says_that_it_is_full_after_a_short_search() {
        let table = table(1 << 12, 3 << 11);
        let mut hashes = 0..;
        let mut insert = || {
            OPENED.set(0);
            let stored = table.insert(table.key(hashes.next().unwrap())).is_ok();
            (stored, OPENED.get())
        };
        let full = Packed::<16, 4>::ID.properties().target_load() + UNEVEN_MARGIN;
        while (table.occupied() as f64) < full * table.slots() as f64 {
            assert!(insert().0, "below the share from which on a table is full");
        }
        assert_eq!(table.present(), 3 << 11);
        let mut refused = 0;
        for _ in 0..6000 {
            let (stored, opened) = insert();
            assert!(opened <= FIRST_SEARCH_BUCKETS, "{opened}");
            refused += usize::from(!stored);
        }
        assert!((100..6000).contains(&refused), "{refused}");
    }

    /// If all of its buckets are split equally often, a table searches on until it is as full as a table of fixed size.
    #[test]
    fn an_evenly_loaded_table_is_filled_like_one_of_fixed_size() {
        let table = table(1 << 12, 1 << 13);
        table.grow_to(1 << 13).unwrap();
        let hashes = 0..table.slots() as u64;
        let stored = hashes.take_while(|&hash| table.insert(table.key(hash)).is_ok()).count();
        let load = stored as f64 / table.slots() as f64;
        assert!(load > Packed::<16, 4>::ID.properties().full - 0.01, "{load}");
    }

    /// Inserts that reject duplicates look at the load, as all others do: no other insert has to let the table grow.
    #[test]
    fn inserts_of_absent_items_keep_the_load() {
        /// Returns the highest load of a table of 10,000 items or more.
        fn highest<B: Buckets>(table: Table<'_, Fp16x4, B>, insert: impl Fn(u64) -> bool) -> f64 {
            let loads = (0..20_000).map(|number| {
                insert(mix(number));
                table.occupied() as f64 / table.slots() as f64
            });
            loads.skip(10_000).fold(0.0, f64::max)
        }
        let of_bits =
            |value_bits| Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, 1 << 11, 1 << 14) };
        let filter = table(64, 1 << 20);
        let [pairs, counts] = [0; 2]
            .map(|_| Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(of_bits(2)).unwrap());
        let state = State::try_new(of_bits(2)).unwrap();
        let state = state.with_generations(Generations { count: 4, clock: Clock::default() });
        let seen = Table::<Fp16x4, GrowingBuckets<ValueBits>>::new(Box::leak(Box::new(state)));
        let loads = [
            highest(filter, |hash| filter.insert_if_absent(filter.key(hash)).unwrap()),
            highest(pairs, |hash| {
                pairs.insert_pair_if_absent(pairs.key_of(Pair { hash, value: 1 })).unwrap()
            }),
            highest(counts, |hash| {
                let found = counts.update(counts.key(hash), Some(1), &mut |_| Ok(None));
                found.unwrap().is_none()
            }),
            highest(seen, |hash| seen.insert_with(seen.key(hash), Stamping::IfAbsent).unwrap()),
        ];
        let most = Fp16x4::ID.properties().target_load() + 0.05;
        assert!(loads.iter().all(|&load| load < most), "{loads:?}, and {most} at the most");
    }

    /// Growth to a size unlocks the growth mutex again and again: the inserts of other threads may split in between.
    #[test]
    fn growth_to_a_size_unlocks_in_between() {
        let table = table(64, 1 << 12);
        let most = table.buckets.growing().unwrap().most_splits(Fp16x4::SLOTS);
        LOCKED.set(0);
        table.grow_to(1 << 12).unwrap();
        assert_eq!(table.present(), 1 << 12);
        assert!(LOCKED.get() >= (table.present() - 64) / most, "{} times", LOCKED.get());
    }
}
