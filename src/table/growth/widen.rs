//! Replaces the stripes and the versions of a small table by more of them while it grows, and a short array of words by
//! a longer one.
//!
//! **Invariant:** the old ones are kept until the table is dropped. Old stripes and versions are *retired*: no thread
//! gets the lock of a retired stripe, and no lookup validates a retired version. The fast paths need no further test
//! for this: the lock of a retired stripe is not free, so no thread takes it at once; and a retired version has
//! the bit of the stash, so no lookup ends with its first round.

use crate::layout::Encoding;
use crate::sync::memory::NoMemory;
use crate::sync::retained::Link;
use crate::table::buckets::control::Control;
use crate::table::buckets::growing::{GrowingBuckets, stripes_with};
use crate::table::{Buckets, Table};

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Replaces the stripes by `stripes` new ones, and the versions by new ones. If `words` is given, also replaces the
    /// array of words by a longer one with at least `words` words. The caller holds the growth mutex.
    ///
    /// **This thread holds all stripes meanwhile**, so nothing moves, and no other thread writes. The order is copy,
    /// publish, retire:
    ///
    /// 1. The new stripes count the slots in use of their buckets, and get the colors of the old ones. The new versions
    ///    go on where the old ones are. The words are copied.
    /// 2. The words are published, and then the versions.
    /// 3. The old versions are retired.
    /// 4. The new stripes are published, and the old ones are retired instead of unlocked.
    ///
    /// **A writer** that gets a stripe after step 4 has a new one, since no thread gets a retired one. Under it the
    /// writer sees the new words and uses the new versions. The writer gets the stripe after step 3: so lookups that
    /// see its stores also see that the old versions are retired.
    ///
    /// **A lookup** with a new version sees the new words, which were published before. A lookup with an old version
    /// that it read before step 3 may read old words and new ones. If it misses an entry, a writer moved the entry
    /// meanwhile, before step 1 or after step 4:
    ///
    /// * A writer before step 1 has bumped the old version, as in every move. The copy of the words makes no
    ///   difference, since a thread that reads a copied word has synchronized with all writers before the copy.
    /// * A writer after step 4 has synchronized with step 3. So a lookup that reads a word that this writer has cleared
    ///   sees that the version is retired.
    ///
    /// A lookup that began with a retired version does not validate it either. Its next round sees what was published.
    ///
    /// Old words do not change any more. So a lookup that reads an old word comes before step 3, and before all stores
    /// in the new words: in the order of `SeqCst` accesses, its load of the old version comes before the store that
    /// retires this version, and that store before each store under a new stripe.
    ///
    /// **A sweep** goes on where it was: the buckets of a new stripe were those of one old stripe, and the new stripe
    /// has its color.
    ///
    /// **A snapshot** sets flags in the stripes, and its mirror has a word for each word of the table. So nothing is
    /// replaced while there is a mirror. As long as the words are short, the thread that takes a snapshot holds the
    /// growth mutex. Later, new stripes wait until the snapshot [has ended](Self::widen_late).
    ///
    /// **The stash** stays. It has the groups of the largest table, and each version serves some of these groups.
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
        let longer = words.map(|words| growing.pieces().try_longer(words)).transpose()?;
        let (read, old) = (&growing.changing.read, self.versions());
        let locked = self.lock_all();
        self.count_in(&stripes.value);
        stripes.value.take_colors(self.stripes());
        let count = versions.value.len();
        versions.value.take_over(old, |version| self.any_stashed_of(version, count));
        if let Some(longer) = longer {
            growing.pieces().lengthen(longer);
        }
        read.versions.replace(versions);
        old.retire();
        read.stripes.replace(stripes);
        locked.retire();
        Ok(())
    }

    /// Replaces the stripes by more of them if the table has grown during a snapshot. Called when the snapshot has
    /// ended. The old stripes stay in two cases: (a) during another snapshot, until it has ended; (b) if there is no
    /// memory for more, until the table grows again.
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
        // While it is held, no mirror is published, and no other thread widens.
        let _splitting = self.shared.doubled.lock();
        if let Some(stripes) = missing() {
            let _ = self.try_widen(growing, stripes, None);
        }
    }
}
