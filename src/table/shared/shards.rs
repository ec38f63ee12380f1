//! The shards of the stash, and the flags of the items that may be there. They are allocated when something is stashed.
//!
//! **Invariant:** once the shards are there, their number does not change.
//!
//! **Invariant:** while an entry is in the stash, the flag of its items is set.

use super::cells::Cells;
use super::cells::packing::Packing;
use crate::sync::memory::{NoMemory, TryBox, try_with_capacity};
use crate::sync::power_of_two::PowerOfTwoSlice;
use crate::sync::{self, AtomicU64, Ordering, SetOnce, load_locked};

/// Version groups for each shard in larger tables. So no table has more shards than it has versions at first, and
/// groups that share a version are in one shard.
const GROUPS_PER_SHARD: usize = if cfg!(coucal_model) { 1 << 30 } else { 128 };

/// The shards of the stash.
pub(in crate::table) struct Shards {
    allocated: SetOnce<TryBox<Allocated>>,
    /// The number of version groups of the items, a power of two. A growing table may have fewer versions by now.
    pub(in crate::table) groups: usize,
}

struct Allocated {
    /// The shards. Their number is a power of two.
    shards: PowerOfTwoSlice<Cells>,
    /// For each version group, the flags of the items that may be stashed. They change under the mutex of the shard.
    flags: PowerOfTwoSlice<AtomicU64>,
}

impl Shards {
    /// Prepares the shards of a table whose items are in `groups` version groups. Allocates nothing.
    pub(in crate::table) fn new(groups: usize) -> Self {
        Self { allocated: SetOnce::new(), groups }
    }

    /// Returns the shards; none if nothing was ever stashed.
    #[inline]
    pub(in crate::table) fn shards(&self) -> &[Cells] {
        self.allocated.get().map_or(&[], |allocated| &allocated.shards)
    }

    /// Returns the shard of the items of this group; `None` if nothing was ever stashed.
    #[inline]
    pub(in crate::table) fn of_group(&self, group: usize) -> Option<&Cells> {
        Some(self.allocated.get()?.shards.at(group))
    }

    /// Returns whether no item of this group with this flag is stashed. `false`: one may be, or nothing was ever
    /// stashed.
    #[inline]
    pub(in crate::table) fn lack(&self, group: usize, flag: u64) -> bool {
        // SeqCst: as the loads of heads and cells. As an Acquire load it pairs with the stores of `set_flag` and
        // `clear_flags`.
        let flags = self.allocated.get().map(|allocated| allocated.flags.at(group));
        flags.is_some_and(|flags| flags.load(Ordering::SeqCst) & flag == 0)
    }

    /// Sets a flag of this group, before an entry of an item with this flag is stored. The caller holds the mutex of
    /// the shard.
    pub(in crate::table) fn set_flag(&self, group: usize, flag: u64) {
        let flags = self.flags_of(group);
        let before = load_locked(flags);
        if before & flag == 0 {
            // Release: as in `clear_flags`. A lookup may read this store instead of that of a clear before it.
            flags.store(before | flag, Ordering::Release);
        }
    }

    /// Clears the flags of this group, after its last entry was taken out. The caller holds the mutex of the shard.
    pub(in crate::table) fn clear_flags(&self, group: usize) {
        // Release: pairs with the load in `lack`. A lookup that misses a flag because it was cleared also sees the
        // version that was bumped before.
        self.flags_of(group).store(0, Ordering::Release);
    }

    /// Clears all flags. The caller holds all stripes, and has emptied the shards.
    pub(in crate::table) fn clear_all_flags(&self) {
        let groups = self.allocated.get().map_or(0, |allocated| allocated.flags.len());
        (0..groups).for_each(|group| self.clear_flags(group));
    }

    /// Returns the bytes on the heap, without those of the cells.
    pub(in crate::table) fn bytes_beside_cells(&self) -> usize {
        self.allocated.get().map_or(0, |allocated| {
            let Allocated { shards, flags } = &**allocated;
            size_of_val(&**allocated) + size_of_val(&**shards) + size_of_val(&**flags)
        })
    }

    fn flags_of(&self, group: usize) -> &AtomicU64 {
        self.allocated.get().expect("a stashed entry has a shard").flags.at(group)
    }

    /// Returns the shards. Allocates them if they are not there. `key` is the mask of an entry without its
    /// value.
    pub(in crate::table) fn try_shards(
        &self,
        key: u32,
        packing: Packing,
    ) -> Result<&[Cells], NoMemory> {
        if self.allocated.get().is_none() {
            let count = (self.groups / GROUPS_PER_SHARD).max(1);
            let mut shards = try_with_capacity(count)?;
            for _ in 0..count {
                shards.push(Cells::try_new(self.groups / count, key, packing)?);
            }
            let no_memory = NoMemory { bytes: self.groups * size_of::<u64>() };
            let flags = sync::try_zeroed(self.groups).ok_or(no_memory)?;
            let allocated = TryBox::try_new(Allocated {
                shards: PowerOfTwoSlice::new(shards.into_boxed_slice()),
                flags: PowerOfTwoSlice::new(flags),
            })?;
            // Another thread may have been faster.
            drop(self.allocated.set(allocated));
        }
        Ok(self.shards())
    }
}
