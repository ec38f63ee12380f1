//! The table: its state, and the writes that change a word.
//!
//! Who may write what, and in which order, is laid down in the documentation of the crate. What
//! changes a word is in this file, or, for splits, in `grow`, and goes through `Table::store_word`; the
//! operations are in the files below. Each atomic access names the one it pairs with:
//!
//! * A *clear* is any store to a word that takes an entry out, a *copy* any that puts one in.
//!   A store by which an operation takes effect is `SeqCst`: that of an insert, of the last hop of a
//!   kick path, of a removal. One that only moves an entry is Release. Lookups read both with
//!   `SeqCst`, which includes Acquire. A lookup that reads a word has synchronized with the writer of
//!   that word, and through the stripe with all earlier writers of the bucket: it sees every
//!   version that they bumped before.
//! * A writer reads the words of its own stripe with Relaxed: the lock has synchronized it with
//!   their last writer.

mod address;
mod batch;
mod chunks;
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

use self::address::Words;
pub(crate) use self::address::{Buckets, Fixed, Growing, NoMemory, Pair, WithValues};
pub(crate) use self::chunks::Shape;
pub(crate) use self::mirror::Image;
use self::mirror::Mirror;
pub(crate) use self::stripes::MAX_STRIPES;
use self::stripes::{Few, Held, Locked, Stripes};
use self::versions::Versions;
use crate::entry::{Entry, Slot};
use crate::extent::{Bucket, Extent};
use crate::geometry::{Geometry, Key, Place};
use crate::layout::{Layout, Word};
use crate::reading::Reading;
use crate::sizing::Sizing;
use crate::sync::{AtomicU64, Ordering, fence};

/// Optimistic attempts of a writer before it takes all the locks that it could need.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// A table of one layout, of fixed size or growing.
pub struct Table<L, B: Buckets = Fixed> {
    buckets: B,
    stripes: Stripes,
    versions: Versions,
    /// Lookups that gave up on a certain answer.
    ///
    /// On a line of its own: a thread that counts must not slow the others down. And in a box: the
    /// compiler knows that a table without atomics of its own does not change, so pointers and lengths
    /// stay in registers from one Acquire load to the next.
    inconclusive: Box<CachePadded<AtomicU64>>,
    /// In a box for the same reason.
    mirror: Box<Mirror<B::Words>>,
    layout: PhantomData<L>,
}

/// One entry to be moved from one of its rows to the other: where it is, and where it is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    from: Place,
    to: Place,
}

impl Hop {
    /// The item that is moved.
    fn key(self) -> Key {
        Key { entry: self.from.entry, first: self.from.row, second: self.to.row }
    }
}

/// What becomes of an entry that was found under the stripe of its bucket.
trait Change: Copy {
    /// Whether its slot is free afterwards.
    const REMOVES: bool;

    /// The word with what becomes of one slot that holds this; `None` if no slot does.
    fn applied<L: Layout>(self, word: Word<L>, slot: Slot) -> Option<Word<L>>;

    /// Whether this word, that of the item's other bucket, holds what lookups find in place of the entry, in
    /// addition to other entries of the item.
    fn leaves<L: Layout, R: Reading>(reading: R, word: Word<L>, item: Entry) -> bool;
}

impl<L: Layout, B: Buckets> Table<L, B> {
    /// An empty table of this size; `None` if the allocator has no memory for it.
    pub(crate) fn try_sized(sizing: Sizing) -> Option<Self> {
        let Sizing { rows, buckets, load_thousandths, value_bits, .. } = sizing;
        let words = B::Words::try_new(buckets)?;
        words.try_reach(rows).ok()?;
        Self::try_with_words(Extent::start(rows), load_thousandths, value_bits, words)
    }

    /// For tests: an empty table of this number of rows, even and at least 2, with `max_buckets` buckets
    /// at the most, and the target load of its layout.
    #[cfg(test)]
    pub(crate) fn try_new(rows: usize, max_buckets: usize) -> Option<Self> {
        Self::try_sized(Sizing::of_table::<L>(rows, max_buckets))
    }

    /// A table with these words, without their counts.
    fn try_with_words(
        extent: Extent,
        load_thousandths: u32,
        value_bits: u32,
        words: B::Words,
    ) -> Option<Self> {
        let max_buckets = words.max_buckets();
        Some(Self {
            buckets: B::new::<L>(extent, load_thousandths, value_bits, words),
            stripes: Stripes::try_new(max_buckets)?,
            versions: Versions::try_new(max_buckets)?,
            inconclusive: Box::new(CachePadded::new(AtomicU64::new(0))),
            mirror: Box::new(Mirror::new()),
            layout: PhantomData,
        })
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.buckets.geometry::<L>()
    }

    /// The entry and the rows of the item with this hash, without a value.
    #[expect(clippy::inline_always, reason = "as for `Geometry::key`")]
    #[inline(always)]
    pub(crate) fn key(&self, hash: u64) -> Key {
        self.geometry().key(hash)
    }

    /// The entry and the rows of an item.
    #[expect(clippy::inline_always, reason = "as for `Geometry::key`")]
    #[inline(always)]
    pub(crate) fn key_of(&self, item: B::Item) -> Key {
        B::key(self.geometry(), item)
    }

    /// Both places of an item.
    #[inline]
    fn places(&self, key: Key) -> [Place; 2] {
        self.geometry().places(key)
    }

    /// Locks the stripes of the buckets of some places: while they are locked, none of these buckets is
    /// split, and so the places stay where they are. `buckets` is where they were a moment ago; what is
    /// returned is where they are, and how they are read by the extent as it is under the locks. Blocks as [`Stripes::lock`] does.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn lock<const N: usize>(
        &self,
        places: [Place; N],
        mut buckets: [Bucket<B::Reading>; N],
    ) -> (Locked<'_, Few<'_, N>>, [Bucket<B::Reading>; N]) {
        loop {
            let locked = self.stripes.lock(buckets.map(|bucket| bucket.number));
            // In a table of fixed size nothing moves: without this test the compiler would compare.
            if !B::GROWS {
                return (locked, buckets);
            }
            let now = self.locate(places);
            if now.map(|bucket| bucket.number) == buckets.map(|bucket| bucket.number) {
                return (locked, now);
            }
            // Overtaken by a split, which is the success of another thread.
            buckets = now;
        }
    }

    /// The buckets of some places as they are now.
    #[inline]
    fn locate<const N: usize>(&self, places: [Place; N]) -> [Bucket<B::Reading>; N] {
        let extent = self.buckets.extent();
        places.map(|place| self.buckets.bucket(place, extent))
    }

    /// The word of a bucket whose stripe is locked.
    #[inline]
    fn locked_word(&self, bucket: usize) -> Word<L> {
        Word::from_bits(self.buckets.word(bucket).load(Ordering::Relaxed))
    }

    /// Stores the word of a bucket whose stripe is locked: every change of a table passes here.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    fn store_word<H: Held>(
        &self,
        locked: &Locked<'_, H>,
        bucket: usize,
        word: Word<L>,
        order: Ordering,
    ) {
        self.buckets.word(bucket).store(word.bits(), order);
        if locked.is_recorded(bucket) {
            self.copy_to_mirror(bucket);
        }
    }

    /// One more entry into `bucket`, whose stripe is locked. `false`: it is full.
    #[inline]
    fn store_in<H: Held>(
        &self,
        locked: &Locked<'_, H>,
        Bucket { number, reading }: Bucket<B::Reading>,
        entry: Entry,
    ) -> bool {
        let Some(copied) = self.locked_word(number).with(reading.slot(entry)) else {
            return false;
        };
        // SeqCst: an insert takes effect here. Pairs with the loads of lookups.
        self.store_word(locked, number, copied, Ordering::SeqCst);
        locked.occupy(number);
        true
    }

    /// Moves an entry from one of its buckets to the other, and a new one into its place.
    /// `false`: it is not there any more, or there is no room for it; then nothing has changed.
    ///
    /// Copy, bump, clear: in this order, a lookup that sees neither the copy nor what was cleared
    /// sees two different versions. A writer that is stopped in between leaves the entry in
    /// both buckets, where lookups find it.
    ///
    /// In a growing table the entry is written as the bucket that it goes to is read, by the extent as
    /// it is under the locks: it may have been planned by an older one.
    fn relocate<H: Held>(
        &self,
        locked: &Locked<'_, H>,
        hop: Hop,
        [from, to]: [Bucket<B::Reading>; 2],
        new: Option<Entry>,
    ) -> bool {
        let Some(cleared) =
            self.locked_word(from.number).without(from.reading.slot(hop.from.entry))
        else {
            return false;
        };
        let Some(copied) = self.locked_word(to.number).with(to.reading.slot(hop.to.entry)) else {
            return false;
        };
        // Release, here and below: pairs with the loads of lookups.
        self.store_word(locked, to.number, copied, Ordering::Release);
        self.versions.bump(self.geometry().class(hop.key()));
        locked.occupy(to.number);
        if let Some(replaced) = new.and_then(|new| cleared.with(from.reading.slot(new))) {
            // SeqCst: the insert of the new one takes effect here.
            self.store_word(locked, from.number, replaced, Ordering::SeqCst);
        } else {
            self.store_word(locked, from.number, cleared, Ordering::Release);
            locked.vacate(from.number);
        }
        true
    }

    /// Takes what a slot holds out of `bucket`, whose stripe is locked, or replaces it: what `change`
    /// says. `in_other`: whether the item's other bucket holds an entry of the item, too. `false`: the
    /// bucket does not hold it.
    #[inline]
    fn change_in<H: Held, C: Change>(
        &self,
        locked: &Locked<'_, H>,
        bucket: usize,
        slot: Slot,
        key: Key,
        change: C,
        in_other: impl FnOnce() -> bool,
    ) -> bool {
        let Some(changed) = change.applied(self.locked_word(bucket), slot) else {
            return false;
        };
        // A copy in the other bucket may be younger than a lookup's read of that bucket, and this
        // clear older than its read of this one: it would miss an item that never was absent. A
        // lookup that begins with the bumped version comes after the load of the other bucket's word,
        // and so reads what that load read or something later (coherence).
        if in_other() {
            self.versions.bump(self.geometry().class(key));
        }
        // SeqCst: the removal, or the replacement, takes effect here. Pairs with the loads of lookups.
        self.store_word(locked, bucket, changed, Ordering::SeqCst);
        if C::REMOVES {
            locked.vacate(bucket);
        }
        true
    }

    /// Empties the table, while it holds every stripe.
    ///
    /// Each version is bumped first, for the reason given in `change_in`: a lookup may have read
    /// one bucket before the last copy was put there.
    pub(crate) fn clear(&self) {
        let locked = self.stripes.lock_all();
        self.versions.bump_all();
        for bucket in 0..self.present() {
            // Release: pairs with the loads of lookups.
            self.store_word(&locked, bucket, Word::EMPTY, Ordering::Release);
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
        let words = self.buckets.words();
        for word in words.pieces(words.reached()).flatten() {
            word.store(0, Ordering::SeqCst);
        }
        if let Some(growing) = self.buckets.growing() {
            growing.publish(Extent::start(self.rows()));
        }
    }

    /// For the models: an entry into this bucket and no other.
    #[cfg(loom)]
    pub(crate) fn put(&self, place: Place) -> bool {
        let buckets = self.locate([place]);
        let (locked, [bucket]) = self.lock([place], buckets);
        self.store_in(&locked, bucket, place.entry)
    }

    /// The number of buckets.
    fn present(&self) -> usize {
        self.buckets.count(self.buckets.extent())
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> usize {
        self.stripes.occupied()
    }

    /// Slots in all.
    pub(crate) fn slots(&self) -> usize {
        self.present() * L::SLOTS
    }

    /// The buckets that each row had at first: one.
    pub(crate) fn rows(&self) -> usize {
        self.buckets.rows()
    }

    /// The maximum number of buckets.
    pub(crate) fn max_buckets(&self) -> usize {
        self.buckets.words().max_buckets()
    }

    /// Bits of the value in each slot; 0 in a filter.
    pub(crate) fn value_bits(&self) -> u32 {
        self.buckets.value_bits()
    }

    /// The target load of a growing table, in thousandths; 0 for a table of fixed size.
    pub(crate) fn target_load(&self) -> u32 {
        self.buckets.growing().map_or(0, Growing::target_load)
    }

    /// Lookups that gave up on a certain answer.
    pub(crate) fn inconclusive(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.inconclusive.load(Ordering::Relaxed)
    }

    /// What the table uses on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.buckets.words().heap_bytes()
            + self.stripes.memory_bytes()
            + self.versions.memory_bytes()
            + size_of_val(&*self.inconclusive)
            + size_of_val(&*self.mirror)
            + self.buckets.growing().map_or(0, Growing::bytes_besides)
    }
}
