//! The table: its state, and the functions that change its words.
//!
//! **Invariant:** at every instant, each copy of an item that is in the table has an entry of its own in one of the two
//! buckets of the item, or is counted in the stash. A word changes only under the stripe of its bucket.
//!
//! `docs/design.md` specifies which thread may write each word, and in which order. Four files change words: this one,
//! `items/remove.rs`, `growth/split.rs` and `whole/sweep.rs`. All of them call `State::store_bits`. The operations are
//! in the files below. The comment of each atomic access names the access that it pairs with:
//!
//! * A *clear* is any store to a word that takes an entry out. A *copy* is any store that puts an entry in.
//! * A store by which an operation takes effect is `SeqCst`: the store of an insert, of the last hop of a kick path, of
//!   a removal. A store that only moves an entry is Release. (The copy of a split is Relaxed: the extent publishes it.)
//! * Lookups load the words with `SeqCst`, which includes Acquire. A lookup that reads a word has synchronized with the
//!   writer of that word, and through the stripe with all earlier writers of the bucket. So the lookup sees every bump
//!   that happened before the store of that word.
//! * A writer reads the words of its own stripe with Relaxed: the lock has synchronized the writer with the last writer
//!   of these words.

mod buckets;
mod growth;
mod items;
pub(crate) mod placing;
#[cfg(coucal_model)]
#[path = "../loom-tests/inside/probe.rs"]
pub mod probe;
mod shared;
mod stash;
pub(crate) mod whole;

use core::marker::PhantomData;
use core::ops::Deref;

use crossbeam_utils::CachePadded;

pub(crate) use self::buckets::Buckets;
pub(crate) use self::buckets::fixed::FixedBuckets;
pub(crate) use self::buckets::growing::GrowingBuckets;
pub(crate) use self::buckets::stripes::SEGMENT;
use self::buckets::stripes::{All, Locked, Stripes, UpTo};
use self::buckets::versions::Versions;
pub(crate) use self::items::update::NewValue;
use self::placing::entry::Values;
pub(crate) use self::placing::geometry::{Geometry, Key, Place};
pub(crate) use self::placing::{Bucket, FixedPlacing, GrowingPlacing, Placing, Read, Sizes};
pub(crate) use self::shared::cells::{CellWords, MAX_COPIES, Stashed, prefix};
pub(crate) use self::shared::doubled::{Counted, Counts};
use self::shared::doubled::{Doubled, DoubledOf};
use self::shared::{Shared, Sweeping};
use crate::error::InsertError;
use crate::layout::{Encoding, LayoutId, Slot};
use crate::sizing::Sizing;
use crate::sync::memory::{self, NoMemory, TryBox};
use crate::sync::{Ordering, Turns, fence};

/// The number of optimistic attempts of a writer before it takes all the locks that it could need.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// The state of a table, of fixed size or growing.
pub struct State<B: Buckets> {
    layout: LayoutId,
    buckets: B,
    /// The number of generations; 0 if the values are not generations.
    generations: u32,
    /// The false-positive rate that the builder was given; infinite if it was given none. A snapshot does not store it.
    promised_rate: f64,
    /// In a box, so that the table itself contains no atomics. The compiler then knows that the table does not change,
    /// and keeps pointers and lengths in registers from one Acquire load to the next.
    shared: TryBox<CachePadded<Shared>>,
    pub(crate) turns: Turns,
}

/// A table: a state, and the encoding of its words.
pub struct Table<'a, F, B: Buckets = FixedBuckets> {
    state: &'a State<B>,
    encoding: PhantomData<F>,
}

impl<F, B: Buckets> Clone for Table<'_, F, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, B: Buckets> Copy for Table<'_, F, B> {}

impl<F, B: Buckets> Deref for Table<'_, F, B> {
    type Target = State<B>;

    #[inline]
    fn deref(&self) -> &State<B> {
        self.state
    }
}

/// How an attempt to insert ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Stored,
    /// Counted as one more copy of an entry that is in the stash.
    Counted,
    /// The table holds the item, and the insert rejects duplicates.
    Duplicate,
    /// The search found no free slot. As the result of a whole insert: there is no room in the stash, either.
    NoRoom,
    /// The stash cannot count a further copy, or there is no memory for it.
    Refused(InsertError),
    /// The key is itself an entry, not an item with a hash, and one of its buckets tells more bits of the position than
    /// the entry knows.
    KnowsTooLittle,
    /// Another writer was faster at some hop. Entries that earlier hops have moved stay where they are now.
    Stale,
}

/// The data that names an item of a table: its hash, and in a maplet also a value.
pub(crate) type ItemOf<B> = <<B as Buckets>::Values as Values>::Item;

impl<B: Buckets> State<B> {
    /// Allocates an empty table of this size.
    pub(crate) fn try_new(sizing: Sizing) -> Result<Self, NoMemory> {
        let Sizing { layout, buckets, target_load, value_bits, .. } = sizing;
        let initial = memory::in_memory(sizing.initial)?;
        let sizes = Sizes { initial, buckets: initial, target_load };
        Self::empty(layout, sizes, buckets, value_bits, DoubledOf::default())
    }

    /// Allocates a table with these words. Its slots in use are not [counted](Table::recount) yet.
    pub(crate) fn with_words(
        layout: LayoutId,
        sizes: Sizes,
        max_buckets: u64,
        value_bits: u32,
        words: impl Iterator<Item = u64>,
        doubled_of: Vec<Counted>,
    ) -> Result<Self, NoMemory> {
        let doubled_of = DoubledOf::of(doubled_of);
        let state = Self::empty(layout, sizes, max_buckets, value_bits, doubled_of)?;
        for (word, bits) in (0..sizes.buckets).map(state.buckets.words()).zip(words) {
            // Relaxed: no other thread has the table yet.
            word.store(bits, Ordering::Relaxed);
        }
        Ok(state)
    }

    fn empty(
        layout: LayoutId,
        sizes: Sizes,
        max_buckets: u64,
        value_bits: u32,
        doubled_of: DoubledOf,
    ) -> Result<Self, NoMemory> {
        let properties = layout.properties();
        let values = B::Values::new(properties, value_bits);
        Ok(Self {
            layout,
            buckets: B::try_new(sizes, max_buckets, properties, values)?,
            generations: 0,
            promised_rate: f64::INFINITY,
            shared: TryBox::try_new(CachePadded::new(Shared::new(
                Doubled::try_new(B::GROWS, doubled_of)?,
                Sweeping::try_new(B::Values::ANY)?,
                buckets::versions::groups_of(max_buckets),
            )))?,
            turns: Turns::new(),
        })
    }

    /// Locks the stripes of the buckets of `places`. While they are locked, none of these buckets is split, so the
    /// places stay in their buckets.
    ///
    /// `buckets` are the buckets of the places a moment ago. Returns the buckets of the places under the locks: they
    /// read their slots by the extent as it is then. Blocks while another writer holds one of the stripes.
    #[inline(always)]
    fn lock<const N: usize>(
        &self,
        places: [Place; N],
        mut buckets: [Bucket<B::Placing>; N],
    ) -> (Locked<'_, UpTo<'_, N>>, [Bucket<B::Placing>; N]) {
        loop {
            let locked = self.lock_stripes(buckets.map(Bucket::number));
            let placement = self.buckets.placement();
            if buckets.iter().all(|&bucket| bucket.is_of(placement)) {
                return (locked, buckets);
            }
            let now = places.map(|place| Bucket::of(placement, place));
            if now.map(Bucket::number) == buckets.map(Bucket::number) {
                return (locked, now);
            }
            // A split has changed a bucket meanwhile: this round is lost, but another thread has made progress.
            buckets = now;
        }
    }

    /// Locks the stripes of these buckets. Blocks as [`Stripes::lock`] does.
    #[inline(always)]
    fn lock_stripes<const N: usize>(&self, buckets: [usize; N]) -> Locked<'_, UpTo<'_, N>> {
        loop {
            // `None`: these stripes are retired, and others have replaced them.
            if let Some(locked) = self.stripes().lock(buckets) {
                return locked;
            }
        }
    }

    /// Locks every stripe. Blocks as [`Stripes::lock_all`] does.
    fn lock_all(&self) -> Locked<'_, All<'_>> {
        loop {
            if let Some(locked) = self.stripes().lock_all() {
                return locked;
            }
        }
    }

    #[inline]
    fn stripes(&self) -> &Stripes {
        self.buckets.stripes()
    }

    #[inline]
    fn versions(&self) -> &Versions {
        self.buckets.versions()
    }

    /// Returns the present buckets of `places`.
    #[inline]
    fn locate<const N: usize>(&self, places: [Place; N]) -> [Bucket<B::Placing>; N] {
        let placement = self.buckets.placement();
        places.map(|place| Bucket::of(placement, place))
    }

    /// Stores the word of `bucket`, whose stripe is locked. Every change of a table passes through this function.
    #[inline(always)]
    fn store_bits<G>(&self, locked: &Locked<'_, G>, bucket: usize, bits: u64, order: Ordering) {
        self.buckets.word(bucket).store(bits, order);
        if locked.is_recorded(bucket) {
            self.copy_to_mirror(bucket);
        }
    }

    /// Empties the table, while it holds every stripe.
    ///
    /// Bumps each version first, for the reason given in `store_changed` in `items/remove.rs`: a lookup may have read
    /// one bucket before the last copy was put there.
    pub(crate) fn clear(&self) {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        self.clear_locked(|| {});
    }

    /// Does the work of `clear`, while the caller holds the removal mutex. Calls `also` before any other thread can
    /// store again.
    fn clear_locked(&self, also: impl FnOnce()) {
        let _clearing = self.turns.clearing();
        let mut splitting = self.shared.doubled.lock();
        let locked = self.lock_all();
        self.versions().bump_all();
        let is_empty = |bucket| self.buckets.word(bucket).load(Ordering::Relaxed) == 0;
        let in_use = || (0..self.present()).filter(|&bucket| !is_empty(bucket)).count();
        let mut steps = self.turns.steps(in_use);
        for bucket in 0..self.present() {
            steps.next_unless(|| is_empty(bucket));
            // Release: pairs with the loads of lookups.
            self.store_bits(&locked, bucket, 0, Ordering::Release);
        }
        locked.vacate_all();
        self.clear_stash();
        also();
        splitting.clear();
        drop(splitting);
        self.clear_merged_weight();
        // SeqCst: the fence orders a thread that clears the table and then looks for an item with the threads that
        // insert an item and then look for another. SeqCst stores would do so, too, but take several times as long for
        // a whole table.
        fence(Ordering::SeqCst);
    }
}

impl<'a, F: Encoding, B: Buckets> Table<'a, F, B> {
    pub(crate) fn new(state: &'a State<B>) -> Self {
        debug_assert_eq!(state.layout, F::ID);
        Self { state, encoding: PhantomData }
    }

    #[inline]
    fn geometry(self) -> Geometry {
        self.buckets.geometry::<F>()
    }

    /// Returns the entry and both positions of the item with this hash, without a value.
    #[inline(always)]
    pub(crate) fn key(self, hash: u64) -> Key {
        self.geometry().key(hash)
    }

    /// Returns the entry, with its value, and both positions of an item.
    #[inline(always)]
    pub(crate) fn key_of(self, item: ItemOf<B>) -> Key {
        self.geometry().key_of_item::<B::Values>(item)
    }

    /// Returns the key of an item without a value, with this value.
    #[inline]
    fn with_value(self, key: Key, value: u32) -> Key {
        Key { entry: self.geometry().shape.with_value(key.entry, value), ..key }
    }

    /// Returns the word of a bucket whose stripe is locked.
    #[inline]
    fn locked_word(self, bucket: usize) -> F {
        F::from_bits(self.buckets.word(bucket).load(Ordering::Relaxed))
    }

    /// Stores the word of a bucket whose stripe is locked, as `store_bits` does.
    #[inline(always)]
    fn store_word<G>(self, locked: &Locked<'_, G>, bucket: usize, word: F, order: Ordering) {
        self.store_bits(locked, bucket, word.bits(), order);
    }

    /// Stores one more entry in `bucket`, whose stripe is locked. Returns `false` if the bucket is full, or if its
    /// number tells more bits of the position than the entry knows.
    #[inline(always)]
    fn store_in<G>(self, locked: &Locked<'_, G>, bucket: Bucket<B::Placing>, place: Place) -> bool {
        let (number, slot) = (bucket.number(), bucket.slot::<F>(place));
        let Some(copied) = slot.and_then(|slot| self.locked_word(number).with(slot)) else {
            return false;
        };
        // SeqCst: an insert takes effect here. Pairs with the loads of lookups.
        self.store_word(locked, number, copied, Ordering::SeqCst);
        locked.occupy(number, 1);
        true
    }

    /// Moves an entry from one of its buckets to the other, and stores `new`, if any, in its place. `hop` is the key of
    /// the entry: its first place is where the entry is, its second place is where it goes.
    ///
    /// Returns `false`, and changes nothing, in these cases:
    ///
    /// * The entry is no longer there.
    /// * There is no room for it.
    /// * It belongs to two buckets by now.
    ///
    /// The order is copy, bump, clear. So a lookup that sees neither the copy nor the entry that was cleared sees two
    /// different versions. A writer that is stopped in between leaves the entry in both buckets, where lookups find it.
    ///
    /// In a growing table the entry is encoded for the extent as it is under the locks. The path may have been planned
    /// with an older extent.
    // Always inlined: the arguments are more than registers take.
    #[inline(always)]
    fn relocate<G>(
        self,
        locked: &Locked<'_, G>,
        hop: Key,
        [from, to]: [Bucket<B::Placing>; 2],
        new: Option<Slot>,
    ) -> bool {
        let [leaves, arrives] = hop.places();
        let [Some(planned), Some(copy)] = [from.slot::<F>(leaves), to.slot::<F>(arrives)] else {
            return false;
        };
        let Some(cleared) = self.locked_word(from.number()).without(planned) else {
            return false;
        };
        let Some(copied) = self.locked_word(to.number()).with(copy) else {
            return false;
        };
        // Release, here and below: pairs with the loads of lookups.
        self.store_word(locked, to.number(), copied, Ordering::Release);
        self.versions().bump(self.geometry().version_group(hop));
        locked.occupy(to.number(), 1);
        if let Some(replaced) = new.and_then(|new| cleared.with(new)) {
            // SeqCst: the insert of `new` takes effect here.
            self.store_word(locked, from.number(), replaced, Ordering::SeqCst);
        } else {
            self.store_word(locked, from.number(), cleared, Ordering::Release);
            locked.vacate(from.number(), 1);
        }
        true
    }
}

#[cfg(test)]
mod tests;
