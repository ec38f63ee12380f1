//! The shards of the stash. They are allocated when something is stashed.
//!
//! **Invariant:** once the shards are there, their number does not change.

use super::cells::Cells;
use super::cells::packing::Packing;
use crate::sync::SetOnce;
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::power_of_two::PowerOfTwoSlice;

/// Version groups for each shard in larger tables. So no table has more shards than it has versions at first, and
/// groups that share a version are in one shard.
const GROUPS_PER_SHARD: usize = if cfg!(coucal_model) { 1 << 30 } else { 128 };

/// The shards of the stash.
pub(in crate::table) struct Shards {
    /// The shards. Their number is a power of two.
    shards: SetOnce<PowerOfTwoSlice<Cells>>,
    /// The number of version groups of the items, a power of two. A growing table may have fewer versions by now.
    pub(in crate::table) groups: usize,
}

impl Shards {
    /// Prepares the shards of a table whose items are in `groups` version groups. Allocates nothing.
    pub(in crate::table) fn new(groups: usize) -> Self {
        Self { shards: SetOnce::new(), groups }
    }

    /// Returns the shards; none if nothing was ever stashed.
    #[inline]
    pub(in crate::table) fn shards(&self) -> &[Cells] {
        self.shards.get().map_or(&[], |shards| shards)
    }

    /// Returns the shard of the items of this group; `None` if nothing was ever stashed.
    #[inline]
    pub(in crate::table) fn of_group(&self, group: usize) -> Option<&Cells> {
        Some(self.shards.get()?.at(group))
    }

    /// Returns the shards. Allocates them if they are not there. `key` is the mask of an entry without its
    /// value.
    pub(in crate::table) fn try_shards(
        &self,
        key: u32,
        packing: Packing,
    ) -> Result<&[Cells], NoMemory> {
        if self.shards.get().is_none() {
            let count = (self.groups / GROUPS_PER_SHARD).max(1);
            let mut shards = try_with_capacity(count)?;
            for _ in 0..count {
                shards.push(Cells::try_new(self.groups / count, key, packing)?);
            }
            // Another thread may have been faster.
            drop(self.shards.set(PowerOfTwoSlice::new(shards.into_boxed_slice())));
        }
        Ok(self.shards())
    }
}
