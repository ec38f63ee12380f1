//! The stash: the entries that find no room in their two buckets (Kirsch, Mitzenmacher, Wieder, "More Robust Hashing:
//! Cuckoo Hashing with a Stash", ESA 2008).
//!
//! Two buckets hold 2b copies of an item, or 2b values of a key, and no more. Further entries go to hash tables beside
//! the buckets, which map an entry to the number of its copies. They are allocated when the first entry is stashed. A
//! stashed entry is named by its core, its value and the known bits of its even position.
//!
//! **Shards.** The stash has one or more *shards*. Each shard is one hash table ([`Cells`]), for the entries of some
//! version groups.
//!
//! **Invariant:** the stashed entries of an item change only under the stripes of both of its buckets and the mutex of
//! the shard. The stripes are locked first. (One exception: an entry that came by a merge may know fewer bits than the
//! buckets tell. Such an entry matches items of several pairs of buckets, and changes under the stripes of one pair.)
//!
//! * In: store the cell; then bump the version, and set its bit, which says that an entry of the group is stashed.
//! * Out: if the entry goes back to a bucket, store it there; then bump the version, and clear the bit if no entry of
//!   the group is left; then clear the cell. The order is copy, bump, clear, as in a kick.
//!
//! **Flags.** Each version group has 64 *flags*, in one word. An item has one of them, by its core and its positions
//! ([`Geometry::flag`](super::placing::geometry::Geometry::flag)). The flag is set before an entry of the item is
//! stored in a cell. All flags of a group are cleared when its last entry leaves. So a flag may stay set although no
//! entry of its items is left: then an operation on such an item also reads the marks.
//!
//! **Lookups.** In the first round, the second load of the version must return the version of the first load with its
//! lowest bit cleared. So if the bit is set, the first round does not validate. A lookup that has found nothing in the
//! buckets then goes on, and reads in this order until it has proved that nothing of the item is stashed: the flag of
//! the item, the *marks*, and the cells. Mostly the flag is enough, and otherwise mostly the marks. Then the lookup
//! compares the version with the one that was loaded before the words. If it has found the item in the cells, it only
//! looks whether the bit is set: the insert stores the cell before it sets the bit.
//!
//! A lookup reads words before flags, marks and cells: if it reads a word as it is after a removal, it also sees all
//! flags, marks and cells that were there before the removal. An entry that leaves the stash leaves the cells, and then
//! the marks and flags, only after the version was bumped.
//!
//! **Under one stripe, "not stashed" is certain.** The stashed entries of an item change only under both of its
//! stripes. So a thread that holds one of these stripes can read flags, marks and cells without the mutex: if they show
//! that nothing of the item is stashed, this is certain. An operation on an item that is not stashed mostly takes no
//! additional lock, even if other items are stashed. (For the entries of the exception above this holds, too, except
//! while another thread gives such an entry a new value: `docs/proofs.md` has the cases.)
//!
//! **Back to the buckets.** If a removal frees a slot and the same key has another value in the stash, this value goes
//! back at once. Of the other removals of items whose group has a stashed entry, one in [`REMOVALS_PER_LOOK`] looks at
//! up to [`ENTRIES_PER_LOOK`] entries of the shard, and puts a copy of each into a bucket if there is room. So the
//! stash of a table that was full for a while empties itself. (In an expiring filter, an entry goes back when it gets a
//! new stamp.)
//!
//! The item, the word of one of its buckets after the removal, and the contents of the shard determine whether a
//! removal looks, and at which entries. So equal operations give equal tables, even if one of the tables was restored
//! in between. A growing table that was restored may have fewer versions, so that other groups share a version. No
//! stored data depends on this: the decisions depend on the group alone.

use super::buckets::stripes::Locked;
use super::items::insert::Duplicates;
use super::placing::entry::{Entry, GOLDEN, MOST_KNOWN, Values};
use super::placing::geometry::{self, Key, Place};
use super::shared::cells::packing::Packing;
use super::shared::cells::{CellWords, Cells, Match, Progress, StashQuery, Stashed, Writer};
use super::shared::doubled::Counts;
use super::{Attempt, Buckets, State, Table, prefix};
use crate::error::InsertError;
use crate::layout::Encoding;
use crate::sync::memory::{NoMemory, try_push, try_reserve, try_with_capacity};

/// One in this number of removals looks at stashed entries of other items. In models each removal does.
const REMOVALS_PER_LOOK: u64 = 64;
/// The most entries of other items at which such a removal looks. One in models.
const ENTRIES_PER_LOOK: usize = if cfg!(coucal_model) { 1 } else { 16 };

impl<B: Buckets> State<B> {
    /// Returns a mask of the bits of an entry that are not its value.
    #[inline]
    fn key_bits(&self) -> u32 {
        self.buckets.values().below().map_or(u32::MAX, |below| below as u32)
    }

    /// Returns the number of entries in the stash. Exact while all stripes are held; otherwise it may be stale.
    pub(crate) fn stashed_entries(&self) -> usize {
        self.shared.stash.shards().iter().map(Cells::entries).sum()
    }

    /// Returns the number of copies in the stash. It is exact if no thread writes.
    pub(crate) fn stashed_copies(&self) -> u64 {
        self.shared.stash.shards().iter().map(Cells::copies).sum()
    }

    /// Returns whether the stash has nearly as many entries as the table has slots. A snapshot cannot hold more stashed
    /// entries than slots.
    pub(super) fn is_stash_full(&self) -> bool {
        8 * self.stashed_entries() as u64 >= 7 * self.slots() as u64
    }

    /// Returns the number of bytes that the stash uses on the heap.
    pub(super) fn stash_bytes(&self) -> usize {
        let shards = self.shared.stash.shards();
        let groups = self.shared.stash.groups / shards.len().max(1);
        self.shared.stash.bytes_beside_cells()
            + shards.iter().map(|shard| shard.heap_bytes(groups)).sum::<usize>()
    }

    /// Empties the stash. The caller holds all stripes, and has bumped every version.
    pub(super) fn clear_stash(&self) {
        self.shared.stash.shards().iter().for_each(|shard| shard.lock().clear());
        self.shared.stash.clear_all_flags();
    }
}

impl<'a, F: Encoding, B: Buckets> Table<'a, F, B> {
    /// Returns the shards. Allocates them if they are not there.
    fn try_shards(self) -> Result<&'a [Cells], NoMemory> {
        let packing = if B::GROWS {
            Packing::growing(F::BITS, self.geometry().shape.ring)
        } else {
            Packing::fixed(F::BITS, self.buckets.max_buckets())
        };
        self.state.shared.stash.try_shards(self.key_bits(), packing)
    }

    #[inline]
    fn group_of(self, key: Key) -> usize {
        self.geometry().version_group(key) & (self.state.shared.stash.groups - 1)
    }

    /// Returns the cells of a group; `None` if nothing was ever stashed.
    #[inline]
    fn cells_of(self, group: usize) -> Option<&'a Cells> {
        self.state.shared.stash.of_group(group)
    }

    /// Returns the number of a group within its shard.
    fn in_shard(self, group: usize) -> usize {
        group >> self.state.shared.stash.shards().len().trailing_zeros()
    }

    /// Returns whether the stash holds an entry of a group that has version number `version` in a table of `versions`
    /// versions.
    pub(super) fn any_stashed_of(self, version: usize, versions: usize) -> bool {
        let beside =
            |cells: &Cells| cells.lock().beside(self.in_shard(version), self.in_shard(versions));
        self.cells_of(version).is_some_and(|cells| beside(cells) > 0)
    }

    /// Returns the number of stashed entries of all groups that share the version of this one. The shard is locked.
    fn stashed_beside(self, writer: &Writer<'_>, group: usize) -> u32 {
        writer.beside(self.in_shard(group), self.in_shard(self.versions().len()))
    }

    /// Locks the cells of the item's group. The shards are allocated already.
    pub(super) fn lock_cells(self, key: Key) -> Writer<'a> {
        self.cells_of(self.group_of(key)).expect("a stashed entry has a shard").lock()
    }

    /// Returns the query for the entries of an item: those with its value, or those with any value.
    #[inline]
    fn query(self, key: Key, with_value: bool) -> StashQuery {
        let mask = if with_value { u32::MAX } else { self.key_bits() };
        StashQuery { item: Self::even(key), mask }
    }

    /// Returns an item at its even position, without its value.
    #[inline(always)]
    fn key_at_even(self, key: Key) -> Place {
        let Place { position, entry } = Self::even(key);
        let bits = entry.bits() & self.key_bits();
        Place { position, entry: Entry::knowing(bits.into(), entry.known()) }
    }

    /// Returns an item at its even position.
    #[inline(always)]
    fn even(key: Key) -> Place {
        let Place { position, mut entry } = key.even();
        if !B::GROWS {
            // Changes nothing, but now the compiler knows that 0 bits are known.
            entry = Entry::knowing(entry.bits().into(), 0);
        }
        Place { position, entry }
    }

    /// Returns an item as the stash holds it: at its even position, of which an entry of a growing table knows
    /// [`MOST_KNOWN`] bits at most.
    #[inline]
    fn in_stash(key: Key) -> Place {
        let Place { position, entry } = key.even();
        let known = entry.known().min(MOST_KNOWN);
        Place { position, entry: Entry::knowing(entry.bits().into(), known) }
    }

    /// Returns `true` only where `stash_lacks` does, but reads only the flags of the group, which are one word. Takes
    /// no lock.
    #[inline(always)]
    pub(super) fn flags_lack(self, key: Key) -> bool {
        let geometry = self.geometry();
        self.state.shared.stash.lack(geometry.version_group(key), geometry.flag(key))
    }

    /// Returns `true` if the cells of the stash certainly hold no entry of the item, whatever its value is. Returns
    /// `false` if they hold one, if there are no cells, and rarely if they hold none. Takes no lock.
    #[inline(always)]
    pub(super) fn stash_lacks(self, key: Key) -> bool {
        let Key { entry, first, second } = key;
        self.flags_lack(key) || self.cells_lack(entry, first, second)
    }

    /// Returns `true` only where `stash_lacks` does, but does not read the flags. [`Key`] says why it takes three
    /// arguments.
    #[cold]
    #[inline(never)]
    pub(super) fn cells_lack(self, entry: Entry, first: u64, second: u64) -> bool {
        let key = Key { entry, first, second };
        let cells = self.cells_of(self.group_of(key));
        cells.is_some_and(|cells| cells.lacks(self.key_at_even(key)))
    }

    /// Returns `true` only where `stash_lacks` does, but reads only the flags and the marks. If nothing of the item is
    /// stashed, they mostly prove it.
    #[inline(always)]
    pub(super) fn stash_marks_lack(self, key: Key) -> bool {
        self.flags_lack(key) || self.marks_lack(key)
    }

    /// Returns `true` only where `stash_lacks` does, but reads only the marks.
    #[inline(always)]
    pub(super) fn marks_lack(self, key: Key) -> bool {
        let cells = self.cells_of(self.geometry().version_group(key));
        cells.is_some_and(|cells| cells.marks_lack(self.key_at_even(key)))
    }

    /// Returns whether an entry of the item, with any value, may be stashed. `false` is certain. The caller holds one
    /// of the item's stripes. Takes no lock.
    #[inline]
    pub(super) fn may_be_stashed(self, key: Key) -> bool {
        let Key { entry, first, second } = key;
        self.versions().any_stashed(self.geometry().version_group(key))
            && self.may_be_in_cells(entry, first, second)
    }

    /// Returns what `may_be_stashed` does, but more often `true`: asks only the flags.
    #[inline(always)]
    pub(super) fn may_be_flagged(self, key: Key) -> bool {
        let Key { entry, first, second } = key;
        self.versions().any_stashed(self.geometry().version_group(key))
            && self.is_flagged(entry, first, second)
    }

    /// Continues `may_be_flagged` for an item whose group has a stashed entry. [`Key`] says why it takes three
    /// arguments.
    #[cold]
    #[inline(never)]
    fn is_flagged(self, entry: Entry, first: u64, second: u64) -> bool {
        !self.flags_lack(Key { entry, first, second })
    }

    /// Continues `may_be_stashed` for an item whose group has a stashed entry. Changes under one stripe ask this, too.
    /// [`Key`] says why it takes three arguments.
    #[cold]
    #[inline(never)]
    pub(super) fn may_be_in_cells(self, entry: Entry, first: u64, second: u64) -> bool {
        !self.stash_lacks(Key { entry, first, second })
    }

    /// Returns whether the stash holds an entry of the item, with its value or with any value. `None`: it may have
    /// missed one. Takes no lock.
    #[inline]
    pub(super) fn stash_holds(self, key: Key, with_value: bool) -> Option<bool> {
        if self.flags_lack(key) {
            return Some(false);
        }
        let query = self.query(key, with_value);
        self.cells_of(self.group_of(key)).map_or(Some(false), |cells| cells.holds(query))
    }

    /// Calls `found` with the bits of each stashed entry of the item, with any value. Returns `false` if it may have
    /// missed some. Takes no lock.
    #[inline]
    pub(super) fn read_stash(self, key: Key, mut found: impl FnMut(u32)) -> bool {
        let query = self.query(key, false);
        let cells = self.cells_of(self.group_of(key));
        cells.is_none_or(|cells| cells.read(query, |each| found(each.entry.bits())))
    }

    /// Locks the cells of the item's group if something of the group is stashed, unless the marks prove that nothing of
    /// the item is. The caller holds the stripes of both buckets of the item.
    fn lock_stash(self, key: Key) -> Option<Writer<'a>> {
        let any_stashed = self.versions().any_stashed(self.geometry().version_group(key));
        if !any_stashed || self.stash_marks_lack(key) {
            return None;
        }
        // `None`: the first entry that was ever stashed belongs to another item of the group, and this thread does not
        // see the shards yet. If an entry of this item were stashed, this thread would see the shards: the stripes of
        // the item order that.
        self.cells_of(self.group_of(key)).map(Cells::lock)
    }
}

/// For each shard: the number of its changes at the time of the copy, and a copy of its entries.
pub(super) type Copied = Vec<(u64, Vec<CellWords>)>;

/// Returns the words of all entries, sorted.
pub(super) fn sorted(copied: Copied) -> Result<Vec<CellWords>, NoMemory> {
    let mut all = try_with_capacity(copied.iter().map(|(_, entries)| entries.len()).sum())?;
    all.extend(copied.into_iter().flat_map(|(_, entries)| entries));
    all.sort_unstable_by_key(|&words| Stashed::order(words));
    Ok(all)
}

/// Snapshots.
impl<B: Buckets> State<B> {
    /// Copies the entries of each shard that has changed since it was copied.
    pub(super) fn copy_stash(&self, copied: &mut Copied) -> Result<(), NoMemory> {
        for (at, cells) in self.shared.stash.shards().iter().enumerate() {
            if at == copied.len() {
                try_push(copied, (0, Vec::new()))?;
            }
            let (changes, entries) = &mut copied[at];
            let writer = cells.lock();
            if *changes != writer.changes() {
                *changes = writer.changes();
                entries.clear();
                try_reserve(entries, writer.len())?;
                entries.extend(writer.entries().map(Stashed::words));
            }
        }
        Ok(())
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Stores the entries with these words in the stash. No other thread has the table yet.
    pub(crate) fn restore_stash(self, entries: &[CellWords]) -> Result<(), NoMemory> {
        if entries.is_empty() {
            return Ok(());
        }
        let shards = self.try_shards()?;
        let key_of = |words| self.geometry().key_of(Stashed::of_words(words).place);
        let group_of = |words| self.group_of(key_of(words));
        for (at, shard) in shards.iter().enumerate() {
            let its = || entries.iter().filter(|&&words| group_of(words) % shards.len() == at);
            let mut of_shard = try_with_capacity(its().count())?;
            for &words in its() {
                let group = group_of(words);
                self.versions().stashed(group, !self.versions().any_stashed(group));
                self.state.shared.stash.set_flag(group, self.geometry().flag(key_of(words)));
                of_shard.push((self.in_shard(group), words));
            }
            shard.lock().fill(&mut of_shard)?;
        }
        Ok(())
    }
}

/// Inserts.
impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Puts copies of an entry into the stash. Returns whether the entry is new there.
    pub(super) fn stash_copies(self, key: Key, copies: usize) -> Result<bool, InsertError> {
        self.reserve_in_stash(key)?;
        let places = key.places();
        let _locked = self.lock(places, self.locate(places));
        let mut writer = self.lock_cells(key);
        if self.fills_the_stash(&writer, key) {
            return Err(InsertError::Full);
        }
        self.put_in_stash(&mut writer, key, copies)
    }

    /// Returns whether an entry would be new in the stash, and the stash has about as many entries as the table has
    /// slots: a snapshot can hold no more. Asked once more after [`reserve_in_stash`](Self::reserve_in_stash), because
    /// any number of threads may have found room there before one of them takes it.
    pub(super) fn fills_the_stash(self, writer: &Writer<'_>, key: Key) -> bool {
        // In each of the other shards, another thread may be adding an entry.
        let shards = self.state.shared.stash.shards().len();
        self.stashed_entries() + shards > self.slots() && writer.copies_of(Self::in_stash(key)) == 0
    }

    /// Makes room in the stash for an entry. Other threads may take the room. Returns `Full` if the entry would be new
    /// in the stash and the table is full.
    pub(super) fn reserve_in_stash(self, key: Key) -> Result<(), InsertError> {
        if let Some(cells) = self.cells_of(self.group_of(key)) {
            let writer = cells.lock();
            // The way of a key with many values is long: the pair is sought only if it matters whether it is new.
            let has_room = B::Values::ANY && writer.has_room(1) && !self.looks_full();
            if has_room || writer.copies_of(Self::in_stash(key)) > 0 {
                return Ok(());
            }
        }
        if self.looks_full() {
            return Err(InsertError::Full);
        }
        let shards = self.try_shards();
        let reserved = shards.and_then(|_| self.lock_cells(key).reserve(1));
        reserved.map_err(|_| InsertError::NoMemoryToStore)
    }

    /// Puts copies of an entry into the stash. The caller holds the stripes of both of its buckets. Returns whether the
    /// entry is new there. An error leaves the stash unchanged.
    pub(super) fn put_in_stash(
        self,
        writer: &mut Writer<'_>,
        key: Key,
        copies: usize,
    ) -> Result<bool, InsertError> {
        let group = self.group_of(key);
        self.state.shared.stash.set_flag(group, self.geometry().flag(key));
        let is_new =
            writer.add(self.in_shard(group), Stashed { place: Self::in_stash(key), copies })?;
        // After the cell: a lookup that sees the bumped version also sees the cell.
        self.versions().stashed(group, is_new && self.stashed_beside(writer, group) == 1);
        Ok(is_new)
    }

    /// Returns whether the stash holds an entry of the item, with its value or with any value. The caller holds both
    /// stripes of the item.
    pub(super) fn is_stashed(self, key: Key, with_value: bool) -> bool {
        let writer = self.lock_stash(key);
        writer.is_some_and(|writer| writer.longest(self.query(key, with_value)).is_some())
    }

    /// Calls `found` with the bits of each stashed entry of the item, with any value. The caller holds both stripes of
    /// the item.
    pub(super) fn each_stashed(self, key: Key, mut found: impl FnMut(u32)) {
        if let Some(writer) = self.lock_stash(key) {
            writer.each(self.query(key, false), |each| found(each.entry.bits()));
        }
    }

    /// Returns the number of copies of the item in the stash. The caller holds both stripes of the item.
    pub(super) fn count_stashed(self, key: Key) -> usize {
        let mut copies = 0;
        if let Some(writer) = self.lock_stash(key) {
            writer.each(self.query(key, true), |found| copies += found.copies);
        }
        copies
    }
}

/// Removals.
impl<'a, F: Encoding, B: Buckets> Table<'a, F, B> {
    /// Locks the shard, and returns the longest stashed entry of the item. The caller holds both stripes of the item.
    pub(super) fn longest_stashed(self, key: Key) -> Option<(Writer<'a>, Match)> {
        let writer = self.lock_stash(key)?;
        let found = writer.longest(self.query(key, true))?;
        Some((writer, found))
    }

    /// Takes up to `most` copies of this entry, [as the stash holds it](Self::in_stash), and not of a shorter one, out
    /// of the stash. Returns the number of copies that it has taken, and 1 entry if no copy is left. The caller holds
    /// both stripes of the item.
    pub(super) fn take_exact_from_stash(self, key: Key, most: usize) -> Counts {
        let stashed = self.longest_stashed(key);
        let known = Self::in_stash(key).entry.known();
        let is_exact = |(_, found): &(_, Match)| found.entry.known == known;
        let Some((mut writer, found)) = stashed.filter(is_exact) else {
            return Counts::default();
        };
        let copies = found.copies.min(most);
        self.take_from_stash(key, &mut writer, found, copies);
        Counts { copies: copies as u64, entries: u64::from(found.copies == copies) }
    }

    /// Takes copies of an entry of the item out of the stash. The caller holds both stripes of the item.
    pub(super) fn take_from_stash(
        self,
        key: Key,
        writer: &mut Writer<'_>,
        found: Match,
        copies: usize,
    ) {
        self.take_but_its_way(key, writer, found, copies);
        if found.copies == copies {
            writer.forget_way(found);
        }
    }

    /// Takes copies out as `take_from_stash` does, but does not update the heads of the lines: they still name the way
    /// of an entry that is gone.
    fn take_but_its_way(self, key: Key, writer: &mut Writer<'_>, found: Match, copies: usize) {
        let group = self.group_of(key);
        // Before the cell: a lookup may have read the words before a copy of the item was put into one of them.
        let is_last = found.copies == copies && self.stashed_beside(writer, group) == 1;
        self.versions().unstash(group, is_last);
        writer.take(self.in_shard(group), found, copies);
        if writer.of_group(self.in_shard(group)) == 0 {
            self.state.shared.stash.clear_flags(group);
        }
    }

    /// Takes out of the stash all entries that are there at the call and that both functions accept. Returns the number
    /// of their copies.
    ///
    /// * `wanted` gets the bits of the entry, under the mutex of the shard.
    /// * `goes` gets the entry, first without a lock. If it accepts the entry, it is called again under the locks of
    ///   the removal.
    ///
    /// Takes time in proportion to the size of the stash, even if all entries have the same way.
    pub(super) fn sweep_stash(
        self,
        wanted: impl Fn(u32) -> bool + Copy,
        goes: impl Fn(Stashed) -> bool,
    ) -> u64 {
        let mut taken = 0;
        for cells in self.state.shared.stash.shards() {
            let (mut seen, before) = (Progress::default(), taken);
            // Unlocks the mutex after each entry: the stripes are locked before it.
            let mut next = || cells.lock().next(&mut seen, wanted);
            while let Some((at, entry)) = next() {
                if !goes(entry) {
                    continue;
                }
                let place = entry.place;
                self.turns.take_locked();
                let key = self.geometry().key_of(place);
                let places = key.places();
                let _locked = self.lock(places, self.locate(places));
                let mut writer = cells.lock();
                // The cell may have got more copies meanwhile, of an item that stays.
                if let Some(found) = writer.held_at(at, place).filter(|_| goes(entry)) {
                    self.take_but_its_way(key, &mut writer, found, found.copies);
                    taken += found.copies as u64;
                }
            }
            if taken > before {
                cells.lock().forget_ways();
            }
        }
        taken
    }

    /// Replaces the bits of each stashed entry by those that `changed` returns, which differ only in the value. If
    /// `changed` returns `None`, takes the entry out. Returns the number of copies that were taken out. An error leaves
    /// the stash unchanged. The caller holds every stripe.
    pub(super) fn change_stashed(
        self,
        changed: impl Fn(u32) -> Option<u32> + Copy,
    ) -> Result<u64, InsertError> {
        let shards = self.state.shared.stash.shards();
        let mut planned =
            try_with_capacity(shards.len()).map_err(|_| InsertError::NoMemoryToStore)?;
        for cells in shards {
            let writer = cells.lock();
            let changes = writer.plan_changes(changed)?;
            // The shards stay locked: a thread that holds no stripe may give a shard another number of lines (see
            // `reserve_in_stash`), and then the entries are in other cells.
            planned.push((writer, changes));
        }
        let mut taken = 0;
        for (mut writer, changes) in planned {
            let (mut seen, before) = (Progress::default(), writer.len());
            let mut changes = changes.into_iter().peekable();
            while let Some((at, Stashed { place, .. })) = writer.next(&mut seen, |_| true) {
                let key = self.geometry().key_of(place);
                if let Some(change) = changes.next_if(|change| change.at == at) {
                    // Before each store, for the reason given in `store_changed` in `items/remove.rs`: a bucket may
                    // hold an equal entry, or the store before this one may have put one into a cell that a lookup had
                    // read already.
                    let bump = || self.versions().bump(self.geometry().version_group(key));
                    writer.change(&change, bump);
                    continue;
                }
                // It has no new value, or its copies are counted in the cell of an equal entry by now.
                let found = writer.held_at(at, place).expect("the shard is locked");
                if changed(place.entry.bits()).is_none() {
                    taken += found.copies as u64;
                }
                self.take_but_its_way(key, &mut writer, found, found.copies);
            }
            if writer.len() < before {
                writer.forget_ways();
            }
        }
        Ok(taken)
    }

    /// Replaces one copy of a stashed entry by an entry with another value. The new entry goes in before the old one
    /// goes out. An error leaves the stash unchanged. The caller holds both stripes of the item.
    pub(super) fn replace_in_stash(
        self,
        key: Key,
        (mut writer, found): (Writer<'_>, Match),
        bits: u32,
    ) -> Result<(), InsertError> {
        if bits == found.entry.bits() {
            return Ok(());
        }
        let entry = Entry::knowing(bits.into(), found.entry.known);
        let new = Key { entry, ..key };
        // If another copy of the old entry stays and the new entry is not there yet, the stash gets one more entry. It
        // is refused if the stash has about as many entries as the table has slots.
        let is_more = found.copies > 1 && writer.copies_of(Self::in_stash(new)) == 0;
        if is_more && self.is_stash_full() {
            return Err(InsertError::Full);
        }
        self.put_in_stash(&mut writer, new, 1)?;
        // Finds the old entry again: its cell may have changed.
        let found =
            writer.longest(self.query(key, true)).expect("the entry stays while the mutex is held");
        self.take_from_stash(key, &mut writer, found, 1);
        Ok(())
    }

    /// Puts a copy of a stashed entry of the item, with any value, back into a bucket, after a removal of the item has
    /// freed a slot. Returns `false` if no entry of the item is stashed. The caller holds both stripes of the item,
    /// and the latest sweep has reached them.
    pub(super) fn unstash_own<G>(self, locked: &Locked<'_, G>, removed: Key) -> bool {
        let Some(mut writer) = self.lock_stash(removed) else {
            return false;
        };
        // The longest entry, and of equally long ones the least: the choice does not depend on the cells.
        let mut chosen: Option<Match> = None;
        let rank = |found: Match| (found.entry.known, !found.entry.bits());
        writer.each(self.query(removed, false), |found| {
            chosen = chosen.into_iter().chain([found]).max_by_key(|&found| rank(found));
        });
        let Some(found) = chosen else {
            return false;
        };
        self.put_in_bucket(locked, removed, &mut writer, found, found.entry.bits());
        true
    }

    /// Puts a copy of a stashed entry of the item into a bucket with these bits, and takes it out of the stash, if
    /// there is room. Returns whether there was. The caller holds both stripes of the item, and the latest sweep has
    /// reached them.
    pub(super) fn put_in_bucket<G>(
        self,
        locked: &Locked<'_, G>,
        item: Key,
        writer: &mut Writer<'_>,
        found: Match,
        bits: u32,
    ) -> bool {
        let entry = Entry::knowing(bits.into(), found.entry.known);
        let position = prefix(item.even().position, entry.known());
        let key = self.geometry().key_of(Place { position, entry });
        let buckets = self.locate(key.places());
        let is_stored =
            self.try_place_locked(locked, buckets, key, Duplicates::Allow) == Attempt::Stored;
        if is_stored {
            self.take_from_stash(key, writer, found, 1);
        }
        is_stored
    }

    /// Looks at stashed entries of other items in one of [`REMOVALS_PER_LOOK`] calls, after a removal has freed a slot.
    /// `left` is the word of one of the item's buckets after that. Does nothing if the item's group has no stashed
    /// entry. The caller holds no stripe.
    #[inline(always)]
    pub(super) fn unstash_at_times(self, removed: Key, left: F) {
        let number = if cfg!(coucal_model) {
            let Place { position, entry } = removed.even();
            position ^ u64::from(entry.bits()) << 32
        } else {
            let of_item = removed.first ^ u64::from(removed.entry.bits()) << 32;
            (of_item ^ left.bits()).wrapping_mul(GOLDEN)
        };
        if cfg!(coucal_model) || number <= u64::MAX / REMOVALS_PER_LOOK {
            self.unstash(removed.places()[0], number);
        }
    }

    /// Looks at some entries of the shard of an item that was removed, and puts a copy of each into a bucket if there
    /// is room.
    #[cold]
    #[inline(never)]
    pub(super) fn unstash(self, removed: Place, number: u64) {
        let removed = self.geometry().key_of(removed);
        for place in self.choose_stashed(removed, number).into_iter().flatten() {
            self.put_back(place);
        }
    }

    /// Puts a copy of this entry back into a bucket if there is room, and if the entry is still in the stash. Decides
    /// under the stripes of both of its buckets.
    fn put_back(self, place: Place) {
        let key = self.geometry().key_of(place);
        let places = key.places();
        let (locked, _) = self.lock_to_move(places, self.locate(places));
        if let Some((mut writer, found)) = self.longest_stashed(key) {
            if found.entry.known == place.entry.known() {
                self.put_in_bucket(&locked, key, &mut writer, found, found.entry.bits());
            }
        }
    }

    /// Chooses entries for which a bucket has room now, from the shard of the removed item. Chooses none if the item's
    /// own group has no stashed entry. The choice depends on `number` and on the number of copies in the shard.
    fn choose_stashed(self, removed: Key, number: u64) -> [Option<Place>; ENTRIES_PER_LOOK] {
        let group = self.group_of(removed);
        let nothing = [None; ENTRIES_PER_LOOK];
        let Some(cells) = self.cells_of(group) else {
            return nothing;
        };
        let writer = cells.lock();
        if writer.of_group(self.in_shard(group)) == 0 {
            return nothing;
        }
        let has_room = |place| {
            let places = self.geometry().key_of(place).places();
            self.words_in(self.locate(places)).into_iter().any(F::has_room)
        };
        writer.choose(geometry::mix(number ^ cells.copies().rotate_left(48)), has_room)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::MAX_COPIES;
    use crate::table::placing::Bucket;
    use crate::table::placing::entry::{NoValues, Pair, ValueBits};
    use crate::table::whole::generations::{Clock, Generations, Stamping};
    use crate::table::{FixedBuckets, GrowingBuckets};

    type Fp16x4 = Packed<16, 4>;

    fn table(buckets: usize) -> Table<'static, Fp16x4> {
        Table::try_new(buckets, buckets).expect("memory")
    }

    /// Returns hashes of different items that share both buckets and the version group.
    fn of_one_pair(table: Table<'_, Fp16x4>, count: usize) -> Vec<u64> {
        let pair = |hash| {
            let key @ Key { first, second, .. } = table.key(hash);
            [first.min(second), first.max(second), table.group_of(key) as u64]
        };
        let mut hashes: Vec<u64> = Vec::new();
        for hash in (0..).map(geometry::mix).filter(|&hash| pair(hash) == pair(geometry::mix(0))) {
            if hashes.iter().all(|&other| table.key(other).entry != table.key(hash).entry) {
                hashes.push(hash);
            }
            if hashes.len() == count {
                break;
            }
        }
        hashes
    }

    /// Another thread inserts the item after it was decided that the entry goes: then the decision is made again.
    #[test]
    fn a_sweep_of_the_stash_decides_again_under_the_locks() {
        let table = table(8);
        let insert = || table.insert(table.key(1)).unwrap();
        (0..9).for_each(|_| insert());
        assert_eq!(table.stashed_copies(), 1);
        let decisions = Cell::new(0);
        let goes = |_: Stashed| {
            decisions.set(decisions.get() + 1);
            if decisions.get() == 1 {
                insert();
            }
            decisions.get() == 1
        };
        assert_eq!(table.sweep_stash(|_| true, goes), 0);
        assert_eq!((decisions.get(), table.stashed_copies()), (2, 2));
    }

    /// After a sweep of all entries, the marks of the lines name nothing. (The flags are cleared before: so the cells
    /// themselves are asked.)
    #[test]
    fn a_swept_stash_has_no_marks() {
        type Maplet = Table<'static, Fp16x4, FixedBuckets<ValueBits>>;

        let sweeps: [fn(Maplet) -> usize; 2] =
            [|table| table.remove_value(1), |table| table.update_values(vec![None; 4]).unwrap()];
        for sweep in sweeps {
            let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 1 << 12, 1 << 12) };
            let table = Maplet::try_sized(sizing).expect("memory");
            let key = |hash| table.key_of(Pair { hash: geometry::mix(hash), value: 1 });
            let words = |hash| Stashed { place: Maplet::in_stash(key(hash)), copies: 1 }.words();
            let mut entries: Vec<_> = (0..5000).map(words).collect();
            entries.sort_unstable();
            entries.dedup();
            table.restore_stash(&entries).expect("memory");
            let lack = |hash| [table.flags_lack(key(hash)), table.marks_lack(key(hash))];
            assert!((0..5000).all(|hash| lack(hash) == [false; 2]));
            assert_eq!(sweep(table), entries.len());
            assert!((0..5000).all(|hash| lack(hash) == [true; 2]));
        }
    }

    /// The flag of an item is set while an entry of the item is stashed. The last entry of a group clears the flags of
    /// the group, and a `clear` those of all groups.
    #[test]
    fn flags_of_stashed_items() {
        let of = |table: Table<'static, Fp16x4>, hash| table.key(geometry::mix(hash));
        let lacking = |table: Table<'static, Fp16x4>| {
            (1000..11_000).filter(|&hash| table.flags_lack(of(table, hash))).count()
        };
        let (one, restored) = (table(1 << 10), table(1 << 10));
        for hash in 0..100 {
            assert_eq!(one.stash_copies(of(one, hash), 2), Ok(true));
        }
        let writer = one.lock_cells(of(one, 0));
        let entries: Vec<CellWords> = writer.entries().map(Stashed::words).collect();
        drop(writer);
        restored.restore_stash(&entries).expect("memory");
        for table in [one, restored] {
            assert_eq!(table.versions().len(), 8);
            assert!((0..100).all(|hash| !table.flags_lack(of(table, hash))));
            // 100 items have 90 of the 8 * 64 flags.
            assert!((7_900..8_500).contains(&lacking(table)), "{}", lacking(table));
            for hash in 0..100 {
                assert!((0..2).all(|_| table.remove(of(table, hash))));
                let mut left = (hash + 1..100).map(|hash| of(table, hash));
                assert!(left.all(|key| !table.flags_lack(key)));
            }
            assert_eq!((table.stashed_entries(), lacking(table)), (0, 10_000));
            assert_eq!(table.stash_copies(of(table, 7), 1), Ok(true));
            assert!(!table.flags_lack(of(table, 7)) && lacking(table) < 10_000);
            table.clear();
            assert_eq!(lacking(table), 10_000);
        }
    }

    /// The item is stashed while its buckets are full. It stays there while they are, and goes back with a new stamp as
    /// soon as there is room.
    #[test]
    fn a_new_stamp_puts_an_entry_back() {
        let sizing = Sizing { value_bits: 1, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let state = State::try_new(sizing).expect("memory");
        let state = state.with_generations(Generations { count: 2, clock: Clock::default() });
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::new(Box::leak(Box::new(state)));
        let insert = |hash| table.insert_with(table.key(hash), Stamping::Always);
        let pair = |hash| {
            let Key { first, second, .. } = table.key(hash);
            [first.min(second), first.max(second)]
        };
        let mut of_pair = (0..).map(geometry::mix).filter(|&hash| pair(hash) == pair(0));
        let stashed = of_pair.find(|&hash| insert(hash).is_ok() && table.stashed_entries() == 1);
        let stashed = stashed.expect("the two buckets fill up");
        table.advance_by(1);
        assert_eq!(insert(stashed), Ok(false));
        assert_eq!((table.occupied(), table.stashed_entries()), (8, 1));
        table.advance_by(1);
        assert_eq!((table.occupied(), table.stashed_entries()), (0, 1));
        assert_eq!(insert(stashed), Ok(false));
        assert_eq!((table.occupied(), table.stashed_entries()), (1, 0));
        assert_eq!(table.age(table.key(stashed)), Some(0));
    }

    /// The chosen entry is gone, and only a shorter one matches. The shorter entry stays: if it went back in the form
    /// of the longer one, lookups would miss other items of the shorter entry.
    #[test]
    fn no_shorter_entry_goes_back_than_was_chosen() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(32, 1 << 10).expect("memory");
        let chosen = table.key(1).even();
        let known = table.buckets.known_bits();
        let entry = Entry::knowing(chosen.entry.bits().into(), known);
        let short = Place { position: prefix(chosen.position, known), entry };
        let geometry = table.geometry();
        assert_eq!(table.stash_copies(geometry.key_of(short), 1), Ok(true));
        table.put_back(chosen);
        assert_eq!((table.occupied(), table.stashed_entries()), (0, 1));
        table.put_back(short);
        assert_eq!((table.occupied(), table.stashed_entries()), (1, 0));
    }

    /// There is one shard per 128 groups. A small table has 8 groups, a large one 1,024.
    #[test]
    fn shards_by_size() {
        for (buckets, shards) in [(8, 1), (1 << 12, 1), (1 << 20, 8)] {
            let table = table(buckets);
            (0..9).for_each(|_| table.insert(table.key(1)).unwrap());
            let cells = table.state.shared.stash.shards();
            assert_eq!(cells.len(), shards, "{buckets} buckets, {} groups", table.versions().len());
            assert_eq!(table.stashed_entries(), 1);
            let groups = table.versions().len() / shards;
            let of_shards: usize = cells.iter().map(|cells| cells.heap_bytes(groups)).sum();
            assert_eq!(
                table.stash_bytes() - table.state.shared.stash.bytes_beside_cells(),
                of_shards
            );
            assert!(of_shards > 512 + 4 * table.versions().len());
        }
    }

    /// For each slot that is freed, a copy of the only stashed entry of the group goes back when a removal of another
    /// item looks.
    #[test]
    fn a_copy_goes_back_for_each_slot_that_is_freed() {
        let table = table(64);
        let hashes = of_one_pair(table, 9);
        let (&stashed, low) = hashes.split_last().unwrap();
        for &hash in low {
            table.insert(table.key(hash)).unwrap();
        }
        let stashed = table.key(stashed);
        (0..5).for_each(|_| table.insert(stashed).unwrap());
        let is_beside = |&key: &Key| {
            table.group_of(key) == table.group_of(stashed)
                && [key.first, key.second]
                    .iter()
                    .all(|&p| p != stashed.first && p != stashed.second)
        };
        let mut others = (1 << 40..1 << 41).map(|hash| table.key(geometry::mix(hash)));
        let mut removals = 0;
        for (freed, &hash) in low.iter().enumerate() {
            let left = 5_u64.saturating_sub(freed as u64);
            assert_eq!(table.stashed_copies(), left);
            assert!(table.remove(table.key(hash)));
            while left > 0 && table.stashed_copies() == left {
                removals += 1;
                assert!(removals < 20 * REMOVALS_PER_LOOK, "one of {REMOVALS_PER_LOOK} looks");
                let other = others.by_ref().find(is_beside).unwrap();
                table.insert(other).unwrap();
                assert!(table.remove(other));
            }
            assert_eq!(table.count(stashed), 5);
        }
        assert_eq!((table.stashed_entries(), table.stashed_copies()), (0, 0));
        assert!((0..5).all(|_| table.remove(stashed)));
        assert_eq!(table.len(), 0);
    }

    /// When a value of a key leaves a slot, the least stashed value of the key takes the slot at once.
    #[test]
    fn a_value_goes_back_for_each_one_of_its_key_that_is_removed() {
        fn check<B: Buckets + 'static>() {
            let sizing = Sizing { value_bits: 4, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
            let table = Table::<Fp16x4, B>::try_sized(sizing).unwrap();
            let of = |value| table.geometry().key_of_item::<ValueBits>(Pair { hash: 1, value });
            (0..16).for_each(|value| table.insert(of(value)).unwrap());
            let mut left: Vec<u32> = (0..16).collect();
            for value in [3, 15, 0, 8, 1, 7, 2, 4] {
                assert_eq!(table.stashed_entries(), left.len() - 8);
                assert!(table.remove(of(value)));
                left.retain(|&other| other != value);
                assert!(left.iter().all(|&value| table.count(of(value)) == 1));
            }
            assert_eq!(table.stashed_entries(), 0);
        }
        check::<FixedBuckets<ValueBits>>();
        check::<GrowingBuckets<ValueBits>>();
    }

    #[test]
    fn removals_find_every_stashed_entry_in_time() {
        fn check<B: Buckets<Values = NoValues> + 'static>() {
            // Each crowd has a pair of buckets of its own, so that each stashed entry has to be chosen.
            let table = Table::<Fp16x4, B>::try_new(256, 256).expect("memory");
            let mut crowds: Vec<[u64; 9]> = Vec::new();
            let mut by_pair = std::collections::BTreeMap::<_, Vec<u64>>::new();
            let mut used = std::collections::BTreeSet::new();
            for hash in (0..).map(geometry::mix) {
                let mut pair = table.locate(table.key(hash).places()).map(Bucket::number);
                pair.sort_unstable();
                let of_pair = by_pair.entry(pair).or_default();
                of_pair.push(hash);
                if let Ok(crowd) = <[u64; 9]>::try_from(&of_pair[..]) {
                    if pair.iter().all(|bucket| !used.contains(bucket)) {
                        used.extend(pair);
                        crowds.push(crowd);
                    }
                }
                if crowds.len() == 40 {
                    break;
                }
            }
            for &hash in crowds.as_flattened() {
                table.insert(table.key(hash)).unwrap();
            }
            // No pair has room for the ninth item, and none of the eight can be kicked elsewhere.
            let stashed = crowds.len();
            assert_eq!(table.stashed_entries(), stashed);
            // Frees one slot in the buckets of each crowd. Then inserts and removes other items.
            for crowd in &crowds {
                assert!(table.remove(table.key(crowd[0])));
            }
            let mut turns = 0;
            while table.stashed_entries() > 0 {
                let other = table.key(geometry::mix(1 << 40 | turns));
                table.insert(other).unwrap();
                assert!(table.remove(other));
                turns += 1;
                // A few times the average.
                let most = 16.0 * stashed as f64 * (stashed as f64).ln();
                assert!((turns as f64) < most, "{} stay stashed", table.stashed_entries());
            }
            for crowd in &crowds {
                assert!(crowd[1..].iter().all(|&hash| table.contains(table.key(hash))));
            }
        }
        check::<FixedBuckets>();
        check::<GrowingBuckets>();
    }

    /// Each restored entry is in the shard of its group, and the version of the group has its bit.
    #[test]
    fn entries_of_all_shards_are_restored() {
        let [one, other] = [0; 2].map(|_| table(1 << 17));
        let keys: Vec<Key> = (0..300).map(|hash| one.key(geometry::mix(hash))).collect();
        for (copies, &key) in keys.iter().enumerate() {
            (0..9 + copies % 3).for_each(|_| one.insert(key).unwrap());
        }
        let shards = one.state.shared.stash.shards();
        assert!(shards.len() == 8 && shards.iter().all(|shard| shard.entries() > 0));
        let words: Vec<CellWords> = shards
            .iter()
            .flat_map(|shard| shard.lock().entries().map(Stashed::words).collect::<Vec<_>>())
            .collect();
        // A few entries, which are in few shards.
        for at in 0..words.len() {
            let few = [at, 7 * at + 1, 13 * at + 5].map(|at| words[at % words.len()]);
            if few[0] == few[1] || few[1] == few[2] || few[0] == few[2] {
                continue;
            }
            let other = table(1 << 17);
            other.restore_stash(&few).unwrap();
            for place in few.map(|words| Stashed::of_words(words).place) {
                let key = other.geometry().key_of(place);
                assert_eq!(other.count_stashed(key), one.count_stashed(key));
            }
        }
        other.restore_stash(&words).unwrap();
        assert_eq!(other.stashed_copies(), one.stashed_copies());
        for &key in &keys {
            let group = other.group_of(key);
            assert!(other.versions().any_stashed(group));
            assert_eq!(other.count_stashed(key), one.count_stashed(key));
            // Its copies can be removed. The last entry of a group clears the bit of the group.
            (0..one.count_stashed(key)).for_each(|_| assert!(other.remove(key)));
        }
        assert_eq!((other.stashed_entries(), other.stashed_copies()), (0, 0));
        assert!((0..other.versions().len()).all(|group| !other.versions().any_stashed(group)));
    }

    /// A change of values makes stashed entries equal: one entry has their copies, unless these are too many. Then
    /// nothing changes.
    #[test]
    fn stashed_values_become_equal() {
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let table = &Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |value| table.key_of(Pair { hash: geometry::mix(1), value });
        let copies = |value| table.count_stashed(key(value));
        let most = [1, MAX_COPIES / 2, MAX_COPIES / 2 + 1];
        for (value, copies) in (0..).zip(most) {
            assert_eq!(table.stash_copies(key(value), copies), Ok(true));
        }
        let all_to = |value| vec![Some(value); 4];
        assert_eq!(table.update_values(all_to(3)), Err(InsertError::Full));
        assert_eq!([0, 1, 2, 3].map(copies), [most[0], most[1], most[2], 0]);
        // Values change places. (As many copies need a second word.)
        assert_eq!(table.update_values(vec![None, Some(2), Some(1), Some(3)]), Ok(1));
        assert_eq!([0, 1, 2, 3].map(copies), [0, most[2], most[1], 0]);
        assert_eq!(table.stashed_entries(), 2);
        assert_eq!(table.update_values(all_to(0)), Ok(0));
        assert_eq!([0, 1, 2, 3].map(copies), [MAX_COPIES, 0, 0, 0]);
        assert_eq!((table.stashed_entries(), table.stashed_copies()), (1, MAX_COPIES as u64));
        assert_eq!(table.update_values(vec![None; 4]), Ok(MAX_COPIES));
        assert_eq!((table.stashed_entries(), table.stashed_copies()), (0, 0));
        assert!((0..table.versions().len()).all(|group| !table.versions().any_stashed(group)));
    }

    /// A full table refuses new entries, but counts more copies of stashed ones, up to the most that a cell counts.
    #[test]
    fn a_full_table_takes_more_copies() {
        fn check<B: Buckets + 'static>() {
            let table =
                Table::<Fp16x4, B>::try_sized(Sizing::of_table(Fp16x4::ID, 16, 16)).unwrap();
            let mut keys =
                (0..).map(|hash| table.geometry().key_of_item::<NoValues>(geometry::mix(hash)));
            let first = keys.next().unwrap();
            (0..9).for_each(|_| table.insert(first).unwrap());
            while table.insert(keys.next().unwrap()).is_ok() {}
            assert!(table.looks_full());
            let before = table.count(first);
            assert_eq!((before, table.count_stashed(first)), (9, 1));
            assert_eq!(table.insert(first), Ok(()));
            assert_eq!(table.count(first), before + 1);
            let rest = MAX_COPIES - 2;
            assert_eq!(table.stash_copies(first, rest + 1), Err(InsertError::Full));
            assert_eq!(table.count(first), before + 1);
            assert_eq!(table.stash_copies(first, rest), Ok(false));
            assert_eq!(table.insert(first), Err(InsertError::Full));
            assert_eq!(table.count(first), before + 1 + rest);
        }
        check::<FixedBuckets>();
        check::<GrowingBuckets>();
    }

    /// Many threads find room in the stash before one of them takes it. Then it has room for all of them, or some get
    /// an error: a snapshot can hold no more stashed entries than slots.
    #[test]
    fn many_threads_that_wait_do_not_overfill_the_stash() {
        let sizing = Sizing { value_bits: 8, ..Sizing::of_table(Fp16x4::ID, 4, 4) };
        let table = &Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let of = |value| table.key_of(Pair { hash: 1, value });
        (0..9).for_each(|value| table.insert(of(value)).unwrap());
        let places = of(0).places();
        let stored = std::thread::scope(|scope| {
            let locked = table.lock(places, table.locate(places));
            let threads = (9..60).map(|value| scope.spawn(move || table.insert(of(value)).is_ok()));
            let threads: Vec<_> = threads.collect();
            // Mostly, all threads have found room by then.
            std::thread::sleep(std::time::Duration::from_millis(200));
            drop(locked);
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .filter(|&stored| stored)
                .count()
        });
        assert_eq!(table.stashed_entries(), stored + 1);
        assert!(table.stashed_entries() <= table.slots(), "{} entries", table.stashed_entries());
    }

    /// A full stash refuses a replacement that needs one more entry, and takes each other one.
    #[test]
    fn a_full_stash_takes_no_further_value() {
        fn check<B: Buckets<Values = ValueBits> + 'static>() {
            let sizing = Sizing { value_bits: 4, ..Sizing::of_table(Fp16x4::ID, 16, 16) };
            let table = Table::<Fp16x4, B>::try_sized(sizing).unwrap();
            let of = |hash, value| {
                table.geometry().key_of_item::<ValueBits>(Pair { hash: geometry::mix(hash), value })
            };
            let copies = || [0, 1, 2].map(|value| table.count_stashed(of(0, value)));
            table.stash_copies(of(0, 0), 2).unwrap();
            table.stash_copies(of(0, 1), 1).unwrap();
            for hash in 1.. {
                if table.state.is_stash_full() {
                    break;
                }
                table.stash_copies(of(hash, 0), 1).unwrap();
            }
            assert_eq!(table.replace(of(0, 0), 2), Err(InsertError::Full));
            assert_eq!(copies(), [2, 1, 0]);
            assert_eq!(table.replace(of(0, 0), 1), Ok(true));
            assert_eq!(copies(), [1, 2, 0]);
            assert_eq!(table.replace(of(0, 0), 2), Ok(true));
            assert_eq!(copies(), [0, 2, 1]);
        }
        check::<FixedBuckets<ValueBits>>();
        check::<GrowingBuckets<ValueBits>>();
    }

    /// A snapshot that has copied a shard copies it again after a change of values.
    #[test]
    fn a_copy_of_the_stash_sees_a_change_of_values() {
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |value| table.key_of(Pair { hash: geometry::mix(1), value });
        table.stash_copies(key(1), 1).unwrap();
        let mut copied = Copied::new();
        table.copy_stash(&mut copied).unwrap();
        assert_eq!(table.update_values(vec![Some(0), Some(2), Some(2), Some(3)]), Ok(0));
        table.copy_stash(&mut copied).unwrap();
        let place = Table::<Fp16x4, FixedBuckets<ValueBits>>::in_stash(key(2));
        assert_eq!(sorted(copied).unwrap(), [Stashed { place, copies: 1 }.words()]);
    }

    /// The removals of an unmerge put stashed entries back, too.
    #[test]
    fn an_unmerge_puts_entries_back() {
        let into = table(64);
        let stashed = into.key(geometry::mix(0));
        assert_eq!(into.stash_copies(stashed, 1), Ok(true));
        let is_beside =
            |key: &Key| into.group_of(*key) == into.group_of(stashed) && key.entry != stashed.entry;
        let mut others = (1..).map(|hash| into.key(geometry::mix(hash))).filter(is_beside);
        // One in 64 of 2,000 removals looks.
        for _ in 0..20 {
            let other = table(64);
            others.by_ref().take(100).for_each(|key| other.insert(key).unwrap());
            let image = other.image().unwrap();
            into.merge(&image, 0).unwrap();
            assert_eq!(into.unmerge(&image), 0);
        }
        assert_eq!((into.occupied(), into.stashed_entries()), (1, 0));
    }

    /// One word counts up to 4,095 copies: equal values may need a second word.
    #[test]
    fn equal_values_may_need_a_second_word() {
        let sizing = Sizing { value_bits: 2, ..Sizing::of_table(Fp16x4::ID, 64, 64) };
        let table = Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |value| table.key_of(Pair { hash: geometry::mix(1), value });
        for value in [1, 2] {
            assert_eq!(table.stash_copies(key(value), 3000), Ok(true));
        }
        assert_eq!(table.update_values(vec![Some(0), Some(3), Some(3), Some(3)]), Ok(0));
        assert_eq!(table.count_stashed(key(3)), 6000);
    }

    /// A change and a removal of values reach the entries of each shard, and a clear leaves none.
    #[test]
    fn sweeps_reach_all_shards() {
        let sizing = Sizing { value_bits: 4, ..Sizing::of_table(Fp16x4::ID, 1 << 17, 1 << 17) };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |hash, value| table.key_of(Pair { hash: geometry::mix(hash), value });
        let items = || (0..300).flat_map(|hash| (0..12).map(move |value| (hash, value)));
        let check = |held: core::ops::Range<u32>| {
            let (mut stashed, of_key) = (0, held.len());
            for hash in 0..300 {
                let counts = (0..16).map(|value| table.count(key(hash, value)));
                let expected = (0..16).map(|value| usize::from(held.contains(&value)));
                assert!(counts.eq(expected), "key {hash}");
                stashed +=
                    (0..16).map(|value| table.count_stashed(key(hash, value))).sum::<usize>();
            }
            assert_eq!(
                (table.stashed_entries(), table.stashed_copies()),
                (stashed, stashed as u64)
            );
            assert_eq!(table.len(), 300 * of_key);
        };
        let is_unmarked =
            || (0..table.versions().len()).all(|group| !table.versions().any_stashed(group));
        items().for_each(|(hash, value)| table.insert(key(hash, value)).unwrap());
        let shards = table.state.shared.stash.shards();
        assert!(shards.len() == 8 && shards.iter().all(|shard| shard.entries() > 0));
        check(0..12);
        let moved = |value: u32| (value > 0).then_some((value + 3) % 16);
        assert_eq!(table.update_values((0..16).map(moved).collect()), Ok(300));
        check(4..15);
        assert_eq!(table.remove_value(14), 300);
        check(4..14);
        (4..14).for_each(|value| assert_eq!(table.remove_value(value), 300));
        check(0..0);
        assert!(is_unmarked());
        items().for_each(|(hash, value)| table.insert(key(hash, value)).unwrap());
        check(0..12);
        assert!(shards.iter().all(|shard| shard.entries() > 0));
        table.clear();
        check(0..0);
        assert!(is_unmarked());
    }

    /// A full table refuses a new entry although the cells of its shard have room.
    #[test]
    fn a_full_table_stashes_no_value_in_free_cells() {
        let sizing = Sizing { value_bits: 4, ..Sizing::of_table(Fp16x4::ID, 16, 16) };
        let table = Table::<Fp16x4, FixedBuckets<ValueBits>>::try_sized(sizing).unwrap();
        let key = |hash| table.key_of(Pair { hash: geometry::mix(hash), value: 1 });
        assert_eq!(table.stash_copies(key(0), 1), Ok(true));
        let mut keys = (1..).map(key);
        while !table.looks_full() {
            table.insert(keys.next().unwrap()).unwrap();
        }
        let stashed = table.stashed_entries();
        let refused = keys.take(30).filter(|&key| table.insert(key) == Err(InsertError::Full));
        assert!(refused.count() > 20);
        assert_eq!(table.stashed_entries(), stashed);
        assert!(table.lock_cells(key(0)).has_room(1));
    }
}
