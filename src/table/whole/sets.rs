//! Set operations on two tables: unmerge, intersection and overlap.
//!
//! **Invariant:** an intersection keeps each entry that may stand for an item of the other table.
//!
//! An entry of a growing table knows some of the lowest bits of its item's position. So an entry of one table and an
//! entry of the other may stand for one item if they agree in the core, and in the bits that both of them know.
//!
//! There is no difference of two tables: an entry that both have may stand for two items, of which the other table has
//! only one.

use super::image::Image;
use super::merge::halves;
use crate::layout::{Encoding, both};
use crate::sync::memory::NoMemory;
use crate::table::placing::Bucket;
use crate::table::placing::geometry::Place;
use crate::table::placing::rates::power_of_half;
use crate::table::shared::doubled::Counts;
use crate::table::stash::Copied;
use crate::table::{Buckets, Stashed, Table, prefix};

/// Returns `number * part / whole`, where a `part` above `whole` counts as `whole`.
fn share_of(number: u64, part: u64, whole: u64) -> u64 {
    let whole = whole.max(1);
    (u128::from(number) * u128::from(part.min(whole)) / u128::from(whole)) as u64
}

/// Converts `missing` of `copies` copies to a number of items; `doubled` of the copies are not items of their own.
/// Returns 0 only if `missing` is 0.
fn missing_items(missing: u64, copies: u64, doubled: u64) -> u64 {
    share_of(missing, copies.saturating_sub(doubled), copies).max(missing.min(1))
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Removes the entries of the image, which were merged before. Returns the number of copies that were not there; of
    /// copies that the other table has doubled, it counts the share that are items. Each copy is a removal of its own.
    pub(crate) fn unmerge(self, image: &Image) -> u64 {
        self.turns.take_locked();
        // Doubled entries are counted at the end, as in a merge.
        let _removing = self.lock_removing();
        let least = self.buckets.common_bits();
        let (mut removed, mut missing, mut copies) = (0, 0, 0);
        for entry in self.entries_of(image) {
            let taken = self.take_parts_back(entry, least);
            removed += taken.entries;
            copies += entry.copies as u64;
            missing += (entry.copies as u64).saturating_sub(taken.copies);
            let key = self.geometry().key_of(entry.place);
            let group = self.geometry().version_group(key);
            if taken.copies > 0 && self.versions().any_stashed(group) {
                let [left] = self.words_in(self.locate([entry.place]));
                self.unstash_at_times(key, left);
            }
        }
        let entries = image.entries().max(1);
        for &(value, doubled) in &image.doubled_of {
            let share = share_of(doubled.entries, removed, entries);
            self.shared.doubled.lock().subtract(value, Counts { entries: share, ..doubled });
        }
        self.limit_doubled();
        missing_items(missing, copies, image.doubled().copies)
    }

    /// Removes each entry that certainly stands for no item of the other table. Returns how many copies of items it has
    /// removed: doubled copies are not items of their own.
    pub(crate) fn intersect(self, other: Table<'_, F, B>) -> u64 {
        self.take_turns_with(other);
        let _removing = self.lock_removing();
        let doubled = self.doubled();
        let seen = if doubled.copies > 0 { self.doubled_seen() } else { 0.0 };
        let (mut bucket, mut removed) = (0, 0);
        // Growth may add buckets meanwhile.
        while bucket < self.present() {
            if self.places_in(bucket).any(|place| other.lacks_each(place)) {
                let locked = self.lock_stripes([bucket]);
                let kept =
                    |at: Bucket<_>, slot| (!other.lacks_each(at.place::<F>(slot))).then_some(slot);
                removed += self.sweep_bucket(&locked, bucket, kept) as u64;
            }
            bucket += 1;
        }
        removed += self.sweep_stash(|_| true, |entry| other.lacks_each(entry.place));
        if doubled.copies > 0 {
            self.keep_doubled(doubled, removed, seen, self.doubled_seen());
        }
        self.limit_doubled();
        removed.saturating_sub(doubled.copies.saturating_sub(self.doubled().copies))
    }

    /// Estimates how many entries of the buckets are doubled. Of the parts of one entry, all except one count. (Few
    /// doubled entries are in the stash.)
    fn doubled_seen(self) -> f64 {
        let places = (0..self.present()).flat_map(|bucket| self.places_in(bucket));
        places.map(|place| 1.0 - self.share_of_item(place)).sum()
    }

    /// Returns 1 divided by the number of parts of an entry that the table holds: 1 if the entry was not doubled.
    fn share_of_item(self, Place { position, entry }: Place) -> f64 {
        // The buckets of one part may be split, and those of the other not yet: then the other knows one bit less.
        let is_held = |&bit: &u32| {
            let part = Place { position: position ^ 1 << bit, entry };
            self.has_in_buckets(part, entry.known() - 1)
        };
        let bits = (self.buckets.common_bits()..entry.known()).rev().take_while(is_held);
        power_of_half(bits.count() as u32)
    }

    /// Lowers the counts of doubled entries and copies in proportion to what was seen: `seen` before `removed` copies
    /// were removed, and `now`. Lowers them by `removed` at most, so that the number of items does not rise.
    fn keep_doubled(self, counted: Counts, removed: u64, seen: f64, now: f64) {
        let share = if seen > 0.0 { (now / seen).min(1.0) } else { 1.0 };
        let left = |counted: u64| {
            ((counted as f64 * share + 0.5) as u64).max(counted.saturating_sub(removed))
        };
        let [entries, copies] = [counted.entries, counted.copies].map(left);
        let entries = entries.clamp(copies.min(1), copies);
        let mut splitting = self.shared.doubled.lock();
        // A filter has no values: all its entries have the value 0.
        splitting.subtract(0, counted.beyond(Counts { copies, entries }));
    }

    /// Returns the number of (a) all entries, (b) entries that may stand for an item of the other table, and (c)
    /// entries that would do so by chance (in a growing table: with another position). An entry that is moved meanwhile
    /// may be counted twice, or not at all.
    pub(crate) fn overlap(self, other: Table<'_, F, B>) -> Result<(u64, u64, f64), NoMemory> {
        self.take_turns_with(other);
        let mut stashed = Copied::new();
        self.copy_stash(&mut stashed)?;
        let (mut all, mut held, mut by_chance) = (0, 0, 0);
        let stashed = stashed.iter().flat_map(|(_, entries)| entries);
        let stashed = stashed.map(|&words| Stashed::of_words(words).place);
        let in_buckets = (0..self.present()).flat_map(|bucket| self.places_in(bucket));
        for place in in_buckets.chain(stashed) {
            all += 1;
            held += u64::from(!other.lacks_each(place));
            if B::GROWS {
                // An entry knows this bit: the buckets have it.
                let elsewhere = Place { position: place.position ^ 2, ..place };
                by_chance += u64::from(!other.lacks_each(elsewhere));
            }
        }
        let by_chance =
            if B::GROWS { by_chance as f64 } else { all as f64 * other.false_positive_rate() };
        Ok((all, held, by_chance))
    }

    /// Takes a turn at each of the two tables (for the models of users): the other one is only read.
    fn take_turns_with(self, other: Table<'_, F, B>) {
        other.turns.take(|| other.turns.changes());
        self.turns.take_locked();
    }

    /// Returns the entries of a bucket. Reads its word without a lock.
    fn places_in(self, bucket: usize) -> impl Iterator<Item = Place> {
        let at = Bucket::at(self.buckets.placement(), bucket);
        let [word] = self.words_in([at]);
        word.slots_in_use().map(move |slot| at.place::<F>(slot))
    }

    /// Returns whether this table certainly has no entry of any item that an entry of another table may stand for.
    /// Wait-free.
    pub(crate) fn lacks_each(self, place: Place) -> bool {
        if !B::GROWS {
            return !self.contains_now::<false>(self.geometry().key_of(place));
        }
        // The version first: a split after that either bumps it, or leaves all that is looked for where it is. The
        // group is that of all items that the entry stands for: the number of a group has only bits that every entry
        // knows.
        let version = self.versions().read(self.geometry().version_group_in(place));
        // If something of the group is stashed, the version is not valid: an entry there may agree.
        !self.has_in_buckets(place, 0) && version.validate()
    }

    /// Returns whether the buckets of this table, which grows, hold an entry of an item that an entry of another table
    /// may stand for. Only an entry that knows at least `least` bits counts.
    fn has_in_buckets(self, place: Place, least: u32) -> bool {
        if !self.is_known(place) {
            // The entry stands for items of several buckets.
            let halves = halves(Stashed { place, copies: 1 });
            return halves.into_iter().any(|half| self.has_in_buckets(half.place, least));
        }
        let key = self.geometry().key_of(place);
        let (buckets, words) = self.read_valid_from(key.places(), self.locate(key.places()));
        let agrees = |at: usize, Place { position, entry }: Place| {
            let own = key.places()[at];
            let known = entry.known().min(own.entry.known());
            entry.known() >= least
                && entry.bits() == own.entry.bits()
                && prefix(position ^ own.position, known) == 0
        };
        let holds = both([0, 1], |at: usize| {
            let mut held = words[at].slots_in_use().map(|slot| buckets[at].place::<F>(slot));
            held.any(|place| agrees(at, place))
        });
        holds != [false; 2]
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
    use crate::table::placing::entry::{Pair, ValueBits};
    use crate::table::placing::geometry;

    type Grown = Table<'static, Packed<16, 4>, GrowingBuckets>;

    /// The entries of the small table know fewer bits of their positions than the buckets of the large one tell: each
    /// of them stands for items of several of these.
    #[test]
    fn an_entry_that_knows_little_may_be_in_many_buckets() {
        let [small, large] = [0; 2].map(|_| Grown::try_new(2, 1 << 20).unwrap());
        large.grow_to(1 << 19).unwrap();
        let fill = |table: Grown, items: core::ops::Range<u64>| {
            items.map(geometry::mix).for_each(|hash| table.insert(table.key(hash)).unwrap());
        };
        fill(small, 0..300);
        fill(large, 100..400);
        let short = small
            .entries_of(&small.image().unwrap())
            .filter(|at| !large.is_known(at.place))
            .count();
        assert!(short > 100, "{short}");
        let removed = small.intersect(large);
        assert!((95..=100).contains(&removed), "{removed}");
        assert!((100..300).map(geometry::mix).all(|hash| small.contains(small.key(hash))));
        // The other way, what the entries know in common is compared.
        let removed = large.intersect(small);
        assert!((95..=100).contains(&removed), "{removed}");
        assert!((100..300).map(geometry::mix).all(|hash| large.contains(large.key(hash))));
    }

    #[test]
    fn only_if_nothing_is_missing_the_number_is_0() {
        let items = |missing| missing_items(missing, 1_000_001, 1);
        assert_eq!([0, 1, 2, 1_000_001].map(items), [0, 1, 1, 1_000_000]);
    }

    /// A table that was never merged counts no doubled entries, and has no memory to count some. An unmerge of another
    /// table that has doubled entries changes none of its counts.
    #[test]
    fn an_unmerge_of_what_was_never_merged() {
        let sizing =
            Sizing { value_bits: 10, ..Sizing::of_table(Packed::<16, 4>::ID, 32, 1 << 10) };
        let [from, into] = [0; 2]
            .map(|_| Table::<Packed<16, 4>, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap());
        let pair = |hash| Pair { hash: geometry::mix(hash), value: (hash % 3) as u32 };
        (0..20).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        from.split_buckets(&mut from.shared.doubled.lock(), 256 - from.present()).unwrap();
        assert!(from.doubled().entries > 50);
        (100..120).for_each(|hash| into.insert(into.key_of(pair(hash))).unwrap());
        assert_eq!(into.unmerge(&from.image().unwrap()), 20);
        assert_eq!((into.len(), into.doubled()), (20, Counts::default()));
    }

    /// Copies that are taken out of the stash take no entries with them.
    #[test]
    fn an_unmerge_of_copies_leaves_the_entries() {
        type F = Packed<16, 4>;

        let sizing = Sizing { value_bits: 10, ..Sizing::of_table(F::ID, 32, 1 << 10) };
        let [from, into] =
            [0; 2].map(|_| Table::<F, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap());
        let pair = |hash| Pair { hash: geometry::mix(hash), value: 7 };
        (0..20).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        for (table, buckets) in [(from, 256), (into, 1 << 10)] {
            let most = buckets - table.present();
            table.split_buckets(&mut table.shared.doubled.lock(), most).unwrap();
        }
        let image = from.image().unwrap();
        (0..40).for_each(|_| into.merge(&image, 0).unwrap());
        let before = into.entries();
        assert_eq!(into.unmerge(&image), 0);
        assert_eq!(into.entries(), before);
    }

    /// An unmerge and an intersection begin only when they have the removal mutex.
    #[test]
    fn set_operations_wait_for_the_removal_mutex() {
        type Maplet = Table<'static, Packed<16, 4>, GrowingBuckets<ValueBits>>;

        let sizing =
            Sizing { value_bits: 10, ..Sizing::of_table(Packed::<16, 4>::ID, 32, 1 << 10) };
        let [from, empty] = [0; 2].map(|_| Maplet::try_sized(sizing).unwrap());
        let pair = |hash| Pair { hash: geometry::mix(hash), value: 1 };
        (0..20).for_each(|hash| from.insert(from.key_of(pair(hash))).unwrap());
        from.split_buckets(&mut from.shared.doubled.lock(), 256 - from.present()).unwrap();
        let image = &from.image().unwrap();
        let unmerge = |table: Maplet| assert_eq!(table.unmerge(image), 0);
        let intersect = |table: Maplet| assert_eq!(table.intersect(empty), 20);
        for operation in [&unmerge as &(dyn Fn(Maplet) + Sync), &intersect] {
            let table = Maplet::try_sized(sizing).unwrap();
            table.merge(image, 0).unwrap();
            let before = (table.len(), table.doubled());
            assert!(before.0 == 20 && before.1.entries > 50);
            let (send, receive) = mpsc::channel();
            thread::scope(|scope| {
                let removing = table.lock_removing();
                scope.spawn(move || {
                    operation(table);
                    send.send(()).unwrap();
                });
                let waited = receive.recv_timeout(Duration::from_millis(100));
                let meanwhile = (table.len(), table.doubled());
                drop(removing);
                assert_eq!((waited.is_err(), meanwhile), (true, before));
            });
            assert_eq!((table.len(), table.doubled()), (0, Counts::default()));
        }
    }

    /// Of doubled entries that the image does not name, an unmerge leaves no more counted than there are entries: later
    /// items would not count.
    #[test]
    fn an_unmerge_limits_the_doubled_entries() {
        let [from, into] = [0; 2].map(|_| Grown::try_new(32, 1 << 10).unwrap());
        for table in [from, into] {
            let keys = (0..10).map(|hash| table.key(geometry::mix(hash)));
            keys.for_each(|key| table.insert(key).unwrap());
        }
        into.shared.doubled.lock().reserve(1, 0).unwrap();
        into.shared.doubled.lock().add(0, Counts::of_slots(100));
        assert_eq!(into.unmerge(&from.image().unwrap()), 0);
        assert_eq!(into.doubled().beyond(into.counts()), Counts::default());
        into.insert(into.key(geometry::mix(11))).unwrap();
        assert_eq!(into.len(), 1);
    }
}
