//! How the stripes and the versions of a small table are replaced by more while it grows, and with them its words,
//! where these have to move.
//!
//! **Invariant:** old ones are kept until the end, and *retired*: nobody gets the lock of a retired stripe, and no
//! lookup validates a retired version. Where a lock is taken at once, or a lookup ends with its first round, nothing
//! more is tested for that: a lock that is not free is not taken, and a retired version says that something is stashed.

use crate::layout::Encoding;
use crate::sync::memory::NoMemory;
use crate::sync::retained::Link;
use crate::table::buckets::control::Control;
use crate::table::buckets::growing::{GrowingBuckets, stripes_with};
use crate::table::{Buckets, Table};

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Puts so many stripes in the place of the old ones, with versions; and so many words in the place of all, if
    /// there is a number. Called by the holder of the mutex of those who split.
    ///
    /// **While all stripes are held**: so nothing moves, and nobody writes. Copy, publish, retire:
    ///
    /// 1. The new stripes count the slots in use of their buckets. The new versions go on where the old ones are. Words
    ///    are copied.
    /// 2. The words are published, and then the versions.
    /// 3. The old versions are retired.
    /// 4. The stripes are published, and the old ones retired, in place of unlocking them.
    ///
    /// **A writer** that gets a stripe after that has the new one: nobody gets a retired one. Under it, it sees the new
    /// words and uses the new versions, and lookups that see what it does see that the old ones are retired: it gets
    /// the stripe after step 3.
    ///
    /// **A lookup** with a new version sees the new words, which were published before. One with an old version that it
    /// read before step 3 may read old words and new ones. What it does not find was moved meanwhile by a writer of
    /// before step 1 or of after step 4. That of before has bumped the old version, as ever: the copy of the words
    /// changes nothing, since whoever reads a copied word has synchronized with all writers of before. That of after
    /// has synchronized with step 3: a lookup that reads what it has cleared sees that the version is retired. One that
    /// began with a retired version does not validate it either, and its next round sees what was published.
    ///
    /// Old words do not change any more. So a lookup that reads one comes before step 3, and before all that is stored
    /// in the new ones: in the order of `SeqCst` accesses its load of the old version comes before the store that
    /// retires it, and that before each store under a new stripe.
    ///
    /// **A sweep** reads words without a lock, of a view that it took when each stripe had been locked: no entry that
    /// it is to remove gets to another bucket since then, so a copied word that has none is one that has none.
    ///
    /// **A snapshot** sets flags in the stripes, and has a word in the mirror for each that the table has. So nothing
    /// is replaced while there is a mirror: as long as the words are short, who takes a snapshot holds the mutex, and
    /// afterwards stripes wait until the snapshot [has ended](Self::widen_late).
    ///
    /// **The stash** stays. It has the groups of the largest table, and each version is that of some of them.
    pub(in crate::table) fn try_widen(
        self,
        growing: &GrowingBuckets<B::Values>,
        stripes: usize,
        words: Option<usize>,
    ) -> Result<(), NoMemory> {
        if self.is_recorded() {
            return Ok(());
        }
        let Control { stripes, versions } = Control::try_new(stripes, self.max_buckets())?;
        let (stripes, versions) = (Link::try_new(stripes)?, Link::try_new(versions)?);
        let longer = words.map(|words| growing.chunks().try_longer(words)).transpose()?;
        let (read, old) = (&growing.changing.read, self.versions());
        let locked = self.lock_all();
        self.count_in(&stripes.value);
        let count = versions.value.len();
        versions.value.take_over(old, |version| self.any_stashed_of(version, count));
        if let Some(longer) = longer {
            growing.chunks().lengthen(longer);
        }
        read.versions.replace(versions);
        old.retire();
        read.stripes.replace(stripes);
        locked.retire();
        Ok(())
    }

    /// Puts more stripes in the place of those that a table kept since it grew beside a snapshot, which has ended. Beside
    /// another snapshot they stay until that has ended; without memory for more, until the table grows again.
    pub(in crate::table) fn widen_late(self) {
        let Some(growing) = self.buckets.growing() else {
            return;
        };
        let missing = || {
            let stripes = stripes_with(growing.reached() as u64, self.max_buckets());
            (stripes > self.stripes().len()).then_some(stripes)
        };
        if missing().is_none() {
            return;
        }
        // No mirror comes as long as it is held, and nobody else widens.
        let _splitting = self.shared.doubled.lock();
        if let Some(stripes) = missing() {
            let _ = self.try_widen(growing, stripes, None);
        }
    }
}
