//! Relocation versions: they tell a lookup that an entry was moved meanwhile.
//!
//! **Invariant:** the version of an entry is bumped after the entry is in its new place, and before it leaves the old
//! one.
//!
//! There is one counter for each group of items. The number of the group is the same for both positions of an item
//! ([`Geometry::version_group`](crate::table::placing::geometry::Geometry::version_group)). A writer bumps the counter
//! between two stores: the copy of an entry into its other bucket, and the clear in the first one. A lookup that found
//! nothing compares the counter before and after, as in MemC3 (Fan et al., NSDI 2013). The counters stand apart from
//! the stripes. So an ordinary insert writes to only one cache line that lookups read: that of the bucket.
//!
//! The lowest bit of a counter says whether the stash holds an entry of the group. The bits above it are the version.
//! With 63 bits no version wraps within the life of a process, so an equal version means that nothing was moved.

use super::stripes::power_of_two_share;
use crate::sync::memory::NoMemory;
use crate::sync::power_of_two::PowerOfTwoSlice;
use crate::sync::{self, AtomicU64, Ordering};
use crate::table::placing::geometry::GROUP_BITS;

/// The most groups: 8 KiB of counters, for tables of 2^17 buckets and more.
const MAX_GROUPS: u64 = 1 << GROUP_BITS;
/// The number of buckets per group in smaller tables. The counters then take less than 1 % of the memory of the words.
const BUCKETS_PER_GROUP: u64 = 128;
/// The least number of groups, but there are never more groups than buckets. In a small table, the share of the
/// counters does not matter.
const MIN_GROUPS: u64 = 8;

pub struct Versions {
    pub(in crate::table) groups: PowerOfTwoSlice<AtomicU64>,
}

/// The bit that says whether the stash holds an entry of the group.
const STASHED: u64 = 1;
/// The number that is added for each move.
const ONE: u64 = 2;
/// The value of a counter that another one has replaced. No lookup validates it: each goes on to its next round.
const RETIRED: u64 = u64::MAX;

/// The version of one group, as it was before the buckets were read.
#[derive(Clone, Copy)]
pub(in crate::table) struct ReadVersion<'a> {
    counter: &'a AtomicU64,
    version: u64,
}

/// Returns the number of version groups of a table that may have `buckets` buckets: a power of two, no more than the
/// stripes that it has at that size.
pub(in crate::table) fn groups_of(buckets: u64) -> usize {
    power_of_two_share(buckets, BUCKETS_PER_GROUP, MIN_GROUPS, MAX_GROUPS)
}

impl Versions {
    /// Returns the bytes of the counters of `groups` groups.
    pub(in crate::table) fn bytes_for(groups: usize) -> u64 {
        (groups * size_of::<u64>()) as u64
    }

    /// Allocates the counters of `groups` groups, a power of two.
    pub(in crate::table) fn try_new(groups: usize) -> Result<Self, NoMemory> {
        let no_memory = NoMemory { bytes: groups * size_of::<u64>() };
        Ok(Self { groups: PowerOfTwoSlice::new(sync::try_zeroed(groups).ok_or(no_memory)?) })
    }

    /// Returns the number of counters, a power of two.
    pub(in crate::table) fn len(&self) -> usize {
        self.groups.len()
    }

    #[inline]
    pub(in crate::table) fn counter(&self, group: usize) -> &AtomicU64 {
        self.groups.at(group)
    }

    /// Reads the version of a group. Called before the buckets are read.
    #[inline]
    pub(in crate::table) fn read(&self, group: usize) -> ReadVersion<'_> {
        let counter = self.counter(group);
        // SeqCst: pairs with `stashed`, as the load of a word pairs with the store of a word. Two threads that each
        // stash an item and then look for the other's item cannot both miss it. As an Acquire load it pairs with the
        // Release of `bump`: a lookup that reads a bumped version also sees the copy that was stored before the bump.
        ReadVersion { counter, version: counter.load(Ordering::SeqCst) }
    }

    /// Returns the version that [`read`](Self::read) returned to a lookup, from its [number](ReadVersion::number),
    /// which a call takes in a register, if the bit of the stash was set then. If the bit was not set, this version
    /// does not validate: each operation that sets the bit also changes the number.
    #[inline]
    pub(in crate::table) fn of_stashed(&self, group: usize, number: u64) -> ReadVersion<'_> {
        ReadVersion { counter: self.counter(group), version: number | STASHED }
    }

    /// Returns whether the stash holds an entry of the group, as far as the caller has seen. A caller that holds one of
    /// the stripes of a stashed item of the group is certain to see it.
    #[inline]
    pub(in crate::table) fn any_stashed(&self, group: usize) -> bool {
        // Relaxed: the stripes order it.
        self.counter(group).load(Ordering::Relaxed) & STASHED != 0
    }

    /// Bumps the version of a group. Called before an entry is cleared or changed, under the stripe of its bucket. If
    /// the entry moves, it was copied before.
    #[inline]
    pub(in crate::table) fn bump(&self, group: usize) {
        // Release: pairs with the Acquire of `read`.
        self.counter(group).fetch_add(ONE, Ordering::Release);
    }

    /// Bumps the version of a group after a copy of one of its entries was put into the stash. `is_first` says whether
    /// it is the first of the group there: then the bit of the stash is set.
    pub(in crate::table) fn stashed(&self, group: usize, is_first: bool) {
        // SeqCst: the insert takes effect here, unless a lookup has found the cell before. Pairs with `read`.
        self.counter(group).fetch_add(ONE + u64::from(is_first), Ordering::SeqCst);
    }

    /// Bumps the version of a group before a copy of one of its entries is taken out of the stash. `is_last` says
    /// whether it is the last of the group there: then the bit of the stash is cleared.
    pub(in crate::table) fn unstash(&self, group: usize, is_last: bool) {
        // SeqCst: for lookups that no longer look in the stash, the removal takes effect here. Pairs with `read`. For
        // the last entry, adding 1 clears the lowest bit and carries into the version: this is the bump.
        self.counter(group).fetch_add(ONE - u64::from(is_last), Ordering::SeqCst);
    }

    /// Bumps the version of every group, and clears its bit of the stash. The caller holds all stripes, and empties the
    /// stash afterwards.
    pub(in crate::table) fn bump_all(&self) {
        for group in &*self.groups {
            // Relaxed: the caller holds all stripes.
            let stashed = group.load(Ordering::Relaxed) & STASHED;
            // Release: as in `bump`.
            group.fetch_add(ONE - stashed, Ordering::Release);
        }
    }

    /// Copies to each counter the version of the counter in `old` that served the same groups. `any_stashed` says for
    /// which counters the stash holds an entry. No other thread has the counters of `self` yet.
    pub(in crate::table) fn take_over(&self, old: &Self, any_stashed: impl Fn(usize) -> bool) {
        for (group, counter) in self.groups.iter().enumerate() {
            // Relaxed, both: the caller holds all stripes, and publishes the counter.
            let version = old.counter(group).load(Ordering::Relaxed) & !STASHED;
            counter.store(version | u64::from(any_stashed(group)), Ordering::Relaxed);
        }
    }

    /// Retires these counters. Called when others have been published in their place, while all stripes are held.
    pub(in crate::table) fn retire(&self) {
        for group in &*self.groups {
            // SeqCst: pairs with `read`. A lookup that begins with an older value comes before all inserts from now on.
            // As a Release store it publishes the new counters to a lookup that begins with this value. A lookup that
            // has read a word changed since then finds this value at its second load of the version.
            group.store(RETIRED, Ordering::SeqCst);
        }
    }
}

impl ReadVersion<'_> {
    /// Returns whether the stash held an entry of the group. A counter that was retired does not say this.
    #[inline]
    pub(in crate::table) fn any_stashed(self) -> bool {
        self.version & STASHED != 0 && self.version != RETIRED
    }

    /// Returns the version without the bit of the stash.
    #[inline]
    pub(in crate::table) fn number(self) -> u64 {
        self.version & !STASHED
    }

    /// Returns whether the version is unchanged, and nothing of the group is stashed. Then nothing of the group was
    /// moved while the buckets were read, and all of the group is in the buckets. Called after the buckets were read.
    #[inline]
    pub(in crate::table) fn validate(self) -> bool {
        // Relaxed: the Acquire loads of the buckets keep this load behind them. If one of them read a clear, it has
        // synchronized with the clear, and so with the bump before it.
        self.counter.load(Ordering::Relaxed) == self.number()
    }

    /// Returns whether the version is unchanged, for a lookup that has also read the stash. Called after that.
    #[inline]
    pub(in crate::table) fn validate_with_stash(self) -> bool {
        // Relaxed: as in `validate`. The same holds for the loads of the cells.
        self.version != RETIRED && self.counter.load(Ordering::Relaxed) == self.version
    }

    /// Returns whether something of the group is stashed now. Called after an entry was found in the stash, since its
    /// insert may not have bumped the version yet. `true`: each later lookup looks in the stash, until the entry is
    /// taken out.
    #[inline]
    pub(in crate::table) fn is_still_stashed(self) -> bool {
        // SeqCst: pairs with `read` of later lookups.
        let now = self.counter.load(Ordering::SeqCst);
        now & STASHED != 0 && now != RETIRED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Packed;
    use crate::table::Table;

    type Fp16x4 = Packed<16, 4>;

    impl Versions {
        /// Returns the number of bumps: in a table without removals, the number of kicks.
        pub(in crate::table) fn bumps(&self) -> u64 {
            self.groups.iter().map(|group| group.load(Ordering::Relaxed) / ONE).sum()
        }
    }

    /// Groups have equally many numbers: a kick in one group must not send the lookups of all others into another
    /// round.
    #[test]
    fn groups_share_the_numbers_evenly() {
        for (buckets, groups) in [(2, 2), (100, 8), (1 << 12, 32), (1 << 17, 1024), (1 << 20, 1024)]
        {
            let versions = Versions::try_new(groups_of(buckets)).unwrap();
            assert_eq!(versions.groups.len(), groups, "{buckets} buckets");
            (1..=4096).for_each(|group| versions.bump(group));
            let due = 4096 / groups as u64;
            assert!(versions.groups.iter().all(|group| group.load(Ordering::Relaxed) == due * ONE));
        }
    }

    #[test]
    fn clear_bumps_each_version_once() {
        let table = Table::<Fp16x4>::try_new(1000, 1000).unwrap();
        table.clear();
        let groups = &table.versions().groups;
        assert!(groups.iter().all(|group| group.load(Ordering::Relaxed) == ONE));
    }
}
