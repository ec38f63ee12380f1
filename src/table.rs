//! The table: its state, and the writes that change a word.
//!
//! Who may write what, and in which order, is laid down in the documentation of the crate. What
//! changes a word is in this file, or, for splits, in `grow`, and goes through `Table::put`; the
//! operations are in the files below. Each atomic access names the one it pairs with:
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
mod grow;
mod insert;
mod lookup;
mod merge;
mod mirror;
mod path;
mod remove;
mod stripes;
mod versions;

use core::marker::PhantomData;

use crossbeam_utils::CachePadded;

use self::address::Growth;
pub(crate) use self::address::{Buckets, Fixed, Growing};
pub(crate) use self::mirror::Image;
use self::mirror::Mirror;
pub(crate) use self::stripes::MAX_STRIPES;
use self::stripes::{Few, Locked, Stripes};
use self::versions::Versions;
use crate::extent::Extent;
use crate::geometry::{Fingerprint, Key, Place};
use crate::layout::Layout;
use crate::layout::sealed::Word;
use crate::sync::{self, AtomicU64, Ordering, fence};

/// Optimistic attempts of a writer before it takes all the locks that it could need.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// A table of one layout, of fixed size or one that grows.
pub struct Table<L, B = Fixed> {
    buckets: B,
    stripes: Stripes,
    versions: Versions,
    /// Lookups that gave up on a certain answer.
    ///
    /// On a line of its own: who counts here must not slow the others down. And in a box: a table
    /// without atomics of its own is known to the compiler not to change, so pointers and lengths
    /// stay in registers from one Acquire load to the next.
    inconclusive: Box<CachePadded<AtomicU64>>,
    /// In a box for the same reason.
    mirror: Box<Mirror>,
    layout: PhantomData<L>,
}

/// One fingerprint to be moved from one of its rows to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    fingerprint: Fingerprint,
    from: usize,
    to: usize,
}

impl Hop {
    /// Where the fingerprint is, and where it is to go.
    fn places(self) -> [Place; 2] {
        [self.from, self.to].map(|row| Place { row, fingerprint: self.fingerprint })
    }
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// An empty table of this number of rows, even and at least 2, with `greatest` buckets at the
    /// most; `None` if the memory cannot be had.
    pub(crate) fn try_new(rows: usize, greatest: usize) -> Option<Self> {
        Self::try_with_words(Extent::start(rows), sync::try_zeroed(greatest)?)
    }

    /// A table with these words, without their counts.
    fn try_with_words(extent: Extent, words: Box<[AtomicU64]>) -> Option<Self> {
        let greatest = words.len();
        Some(Self {
            buckets: B::new(extent, words),
            stripes: Stripes::try_new(greatest)?,
            versions: Versions::try_new(greatest)?,
            inconclusive: Box::new(CachePadded::new(AtomicU64::new(0))),
            mirror: Box::new(Mirror::new()),
            layout: PhantomData,
        })
    }

    /// The fingerprint and the rows of the item with this hash.
    #[inline]
    pub(crate) fn key(&self, hash: u64) -> Key {
        self.buckets.geometry().key(hash, L::FINGERPRINT_BITS)
    }

    /// The buckets of some places, with their stripes locked: while they are, none of these buckets
    /// is split, and so the places stay where they are. Blocks as [`Stripes::lock`] does.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn lock<const N: usize>(&self, places: [Place; N]) -> (Locked<'_, Few<'_, N>>, [usize; N]) {
        loop {
            let buckets = self.locate(places);
            let locked = self.stripes.lock(buckets);
            // A split may have been faster; then it was somebody's success.
            if self.lie_in(places, buckets) {
                return (locked, buckets);
            }
        }
    }

    /// The buckets of some places as they are now.
    #[inline]
    fn locate<const N: usize>(&self, places: [Place; N]) -> [usize; N] {
        let extent = self.buckets.extent();
        places.map(|place| self.buckets.bucket(place, extent))
    }

    /// Whether these are the buckets of some places.
    #[inline]
    fn lie_in<const N: usize>(&self, places: [Place; N], buckets: [usize; N]) -> bool {
        // In a table of fixed size they always are: the compiler would compare them all the same.
        self.buckets.growth().is_none() || self.locate(places) == buckets
    }

    /// Stores the word of a bucket whose stripe is locked: every change of a table passes here.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn put<G>(&self, locked: &Locked<'_, G>, bucket: usize, word: u64, order: Ordering) {
        self.buckets.word(bucket).store(word, order);
        if locked.is_mirrored(bucket) {
            self.mirror(bucket);
        }
    }

    /// One more copy into the bucket of this place. `false`: it is full.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn store(&self, place: Place) -> bool {
        let (locked, [bucket]) = self.lock([place]);
        self.store_in(&locked, bucket, place.fingerprint)
    }

    /// One more copy into `bucket`, whose stripe is locked. `false`: it is full.
    #[inline]
    fn store_in<G>(&self, locked: &Locked<'_, G>, bucket: usize, fingerprint: Fingerprint) -> bool {
        let word = self.buckets.word(bucket).load(Ordering::Relaxed);
        let Some(copied) = L::Word::with(word, fingerprint) else {
            return false;
        };
        // SeqCst: an insert takes effect here. Pairs with the loads of lookups.
        self.put(locked, bucket, copied, Ordering::SeqCst);
        locked.occupy(bucket);
        true
    }

    /// Moves a fingerprint from one of its buckets to the other, and a new one into its place.
    /// `false`: it is not there any more, or there is no room for it; then nothing has changed.
    ///
    /// Copy, bump, clear: in this order, a lookup that sees neither the copy nor what was cleared
    /// sees two different versions. A writer that is stopped in between leaves the fingerprint in
    /// both buckets, where lookups find it.
    fn relocate<G>(
        &self,
        locked: &Locked<'_, G>,
        fingerprint: Fingerprint,
        [from, to]: [usize; 2],
        new: Option<Fingerprint>,
    ) -> bool {
        let [in_from, in_to] = [from, to].map(|bucket| {
            let word = self.buckets.word(bucket);
            word.load(Ordering::Relaxed)
        });
        let Some(cleared) = L::Word::without(in_from, fingerprint) else {
            return false;
        };
        let Some(copied) = L::Word::with(in_to, fingerprint) else {
            return false;
        };
        // Release, here and below: pairs with the loads of lookups.
        self.put(locked, to, copied, Ordering::Release);
        self.versions.bump(fingerprint);
        locked.occupy(to);
        if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {
            // SeqCst: the insert of the new one takes effect here.
            self.put(locked, from, replaced, Ordering::SeqCst);
        } else {
            self.put(locked, from, cleared, Ordering::Release);
            locked.vacate(from);
        }
        true
    }

    /// One copy less out of `bucket`, whose stripe is locked, of a fingerprint that has another
    /// place. `false`: the bucket holds none.
    #[inline]
    fn remove_from<G>(&self, locked: &Locked<'_, G>, bucket: usize, other: Place) -> bool {
        let fingerprint = other.fingerprint;
        let word = self.buckets.word(bucket).load(Ordering::Relaxed);
        let Some(cleared) = L::Word::without(word, fingerprint) else {
            return false;
        };
        // A copy in the other bucket may be younger than a lookup's read of that bucket, and this
        // clear older than its read of this one: it would miss an item that never was absent. A
        // lookup that begins with the bumped version comes after this load, and so reads what this
        // load read or something later (coherence).
        // Acquire: pairs with the clear of a split. Where that has taken the copy away, nothing is
        // bumped here, and this clear passes on what the split bumped. `locate` reads the extent
        // under the lock for the same reason.
        let [in_other] = self.locate([other]);
        if L::Word::holds(self.buckets.word(in_other).load(Ordering::Acquire), fingerprint) {
            self.versions.bump(fingerprint);
        }
        // SeqCst: the removal takes effect here. Pairs with the loads of lookups.
        self.put(locked, bucket, cleared, Ordering::SeqCst);
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
        for bucket in 0..self.present().len() {
            // Release: pairs with the loads of lookups.
            self.put(&locked, bucket, 0, Ordering::Release);
        }
        locked.vacate_all();
        // Whoever clears and then looks is ordered with all who insert and then look, as by SeqCst
        // stores, which would take several times as long for a whole table.
        fence(Ordering::SeqCst);
    }

    /// For the models: a store of each word, and of the extent. loom keeps a `SeqCst` load from reading an old value only
    /// where that value was stored `SeqCst`, and an initial value was not stored at all.
    #[cfg(loom)]
    pub(crate) fn store_zeros(&self) {
        for word in self.buckets.words() {
            word.store(0, Ordering::SeqCst);
        }
        if let Some(growth) = self.buckets.growth() {
            growth.extent.store(Extent::start(self.rows()).bits(), Ordering::SeqCst);
        }
    }

    /// For the models: a copy into this bucket and no other.
    #[cfg(loom)]
    pub(crate) fn put_copy(&self, bucket: usize, fingerprint: Fingerprint) -> bool {
        self.store_in(&self.stripes.lock([bucket]), bucket, fingerprint)
    }

    /// The words of the buckets that there are.
    fn present(&self) -> &[AtomicU64] {
        &self.buckets.words()[..self.buckets.count(self.buckets.extent())]
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> usize {
        self.stripes.occupied()
    }

    /// Slots in all.
    pub(crate) fn slots(&self) -> usize {
        self.present().len() * L::SLOTS
    }

    /// The buckets that each row had at first: one.
    pub(crate) fn rows(&self) -> usize {
        self.buckets.rows()
    }

    /// Lookups that gave up on a certain answer.
    pub(crate) fn inconclusive(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.inconclusive.load(Ordering::Relaxed)
    }

    /// What the table uses on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.present()) + self.bytes_besides()
    }

    /// What the table has asked for, the buckets included that it has no use for yet.
    pub(crate) fn reserved_bytes(&self) -> usize {
        size_of_val(self.buckets.words()) + self.bytes_besides()
    }

    fn bytes_besides(&self) -> usize {
        self.stripes.memory_bytes()
            + self.versions.memory_bytes()
            + size_of_val(&*self.inconclusive)
            + size_of_val(&*self.mirror)
            + self.buckets.growth().map_or(0, Growth::memory_bytes)
    }
}
