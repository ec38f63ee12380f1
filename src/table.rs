//! The table: its state, and the writes that change a word.
//!
//! Who may write what, and in which order, is laid down in the documentation of the crate. Every
//! store of a word is in this file; the operations are in the files below. Each atomic access names
//! the one it pairs with:
//!
//! * A *clear* is any store to a word that takes a fingerprint out, a *copy* any that puts one in.
//!   A store by which an operation takes effect is `SeqCst`: that of an insert, of the last hop of a
//!   kick path, of a removal. One that only moves a fingerprint is Release. Lookups read both with
//!   `SeqCst`, which includes Acquire. A lookup that reads a word has synchronized with the writer of
//!   that word, and through the stripe with all earlier writers of the bucket: it sees every
//!   version that they bumped before.
//! * A writer reads the words of its own stripe with Relaxed: the lock has synchronized it with
//!   their last writer.

mod address;
mod batch;
mod insert;
mod lookup;
mod path;
mod remove;
mod stripes;
mod versions;

use core::marker::PhantomData;

use crossbeam_utils::CachePadded;

use self::address::Buckets;
pub(crate) use self::stripes::MAX_STRIPES;
use self::stripes::{Locked, Stripes};
use self::versions::Versions;
use crate::geometry::{Fingerprint, Key};
use crate::layout::Layout;
use crate::layout::sealed::Word;
use crate::sync::{AtomicU64, Ordering, fence};

/// Optimistic attempts of a writer before it takes all the locks that it could need.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// A table of one layout.
pub struct Table<L> {
    buckets: Buckets,
    stripes: Stripes,
    versions: Versions,
    /// Lookups that gave up on a certain answer.
    ///
    /// On a line of its own: who counts here must not slow the others down. And in a box: a table
    /// without atomics of its own is known to the compiler not to change, so pointers and lengths
    /// stay in registers from one Acquire load to the next.
    inconclusive: Box<CachePadded<AtomicU64>>,
    layout: PhantomData<L>,
}

/// One fingerprint to be moved from one of its buckets to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    fingerprint: Fingerprint,
    from: usize,
    to: usize,
}

impl<L: Layout> Table<L> {
    /// An empty table of `buckets`, an even number and at least 2; `None` if the memory cannot be
    /// had.
    pub(crate) fn try_new(buckets: usize) -> Option<Self> {
        Some(Self {
            buckets: Buckets::try_new(buckets)?,
            stripes: Stripes::try_new(buckets)?,
            versions: Versions::try_new(buckets)?,
            inconclusive: Box::new(CachePadded::new(AtomicU64::new(0))),
            layout: PhantomData,
        })
    }

    /// The fingerprint and the buckets of the item with this hash.
    #[inline]
    pub(crate) fn key(&self, hash: u64) -> Key {
        self.buckets.geometry().key(hash, L::FINGERPRINT_BITS)
    }

    /// One more copy into `bucket`, whose stripe is locked. `false`: it is full.
    #[inline]
    fn store_in<G>(&self, locked: &Locked<'_, G>, bucket: usize, fingerprint: Fingerprint) -> bool {
        let word = self.buckets.word(bucket);
        let Some(copied) = L::Word::with(word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        // SeqCst: an insert takes effect here. Pairs with the loads of lookups.
        word.store(copied, Ordering::SeqCst);
        locked.occupy(bucket);
        true
    }

    /// Moves a fingerprint to its other bucket, and a new one into its place. `false`: it is not
    /// there any more, or there is no room for it; then nothing has changed.
    ///
    /// Copy, bump, clear: in this order, a lookup that sees neither the copy nor what was cleared
    /// sees two different versions. A writer that is stopped in between leaves the fingerprint in
    /// both buckets, where lookups find it.
    fn relocate<G>(&self, locked: &Locked<'_, G>, hop: Hop, new: Option<Fingerprint>) -> bool {
        let Hop { fingerprint, from, to } = hop;
        let (from_word, to_word) = (self.buckets.word(from), self.buckets.word(to));
        let Some(cleared) = L::Word::without(from_word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        let Some(copied) = L::Word::with(to_word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        // Release, here and below: pairs with the loads of lookups.
        to_word.store(copied, Ordering::Release);
        self.versions.bump(fingerprint);
        locked.occupy(to);
        if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {
            // SeqCst: the insert of the new one takes effect here.
            from_word.store(replaced, Ordering::SeqCst);
        } else {
            from_word.store(cleared, Ordering::Release);
            locked.vacate(from);
        }
        true
    }

    /// One copy less out of `bucket`, whose stripe is locked. `false`: it holds none.
    #[inline]
    fn remove_from<G>(
        &self,
        locked: &Locked<'_, G>,
        bucket: usize,
        other: usize,
        fingerprint: Fingerprint,
    ) -> bool {
        let word = self.buckets.word(bucket);
        let Some(cleared) = L::Word::without(word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        // A copy in the other bucket may be younger than a lookup's read of that bucket, and this
        // clear older than its read of this one: it would miss an item that never was absent.
        // Relaxed: a lookup that begins with the bumped version comes after this load, and so reads
        // what this load read or something later (coherence).
        if L::Word::holds(self.buckets.word(other).load(Ordering::Relaxed), fingerprint) {
            self.versions.bump(fingerprint);
        }
        // SeqCst: the removal takes effect here. Pairs with the loads of lookups.
        word.store(cleared, Ordering::SeqCst);
        locked.vacate(bucket);
        true
    }

    /// Empties the table, while it holds every stripe.
    ///
    /// Each version is bumped first, for the reason given in `remove_from`: a lookup may have read
    /// one bucket before the last copy was put there.
    pub(crate) fn clear(&self) {
        let locked = self.stripes.lock_all();
        self.versions.bump_all();
        for word in self.buckets.iter() {
            // Release: pairs with the loads of lookups.
            word.store(0, Ordering::Release);
        }
        locked.vacate_all();
        // Whoever clears and then looks is ordered with all who insert and then look, as by SeqCst
        // stores, which would take several times as long for a whole table.
        fence(Ordering::SeqCst);
    }

    /// For the models: a copy into this bucket and no other.
    #[cfg(loom)]
    pub(crate) fn put(&self, bucket: usize, fingerprint: Fingerprint) -> bool {
        self.store_in(&self.stripes.lock([bucket]), bucket, fingerprint)
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> usize {
        self.stripes.occupied()
    }

    /// Slots in all.
    pub(crate) fn slots(&self) -> usize {
        self.buckets.count() * L::SLOTS
    }

    /// Lookups that gave up on a certain answer.
    pub(crate) fn inconclusive(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.inconclusive.load(Ordering::Relaxed)
    }

    /// What the table owns on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.buckets.memory_bytes()
            + self.stripes.memory_bytes()
            + self.versions.memory_bytes()
            + size_of_val(&*self.inconclusive)
    }
}
