//! The table: its state, and the writes that change a word.
//!
//! **Invariant:** at every instant each copy of an item that is in the table has an entry of its own in one of its two
//! buckets, or is counted in the stash; and a word changes only under the stripe of its bucket.
//!
//! Who may write what, and in which order, is laid down in `docs/design.md`. Words are changed here, in
//! `items/remove.rs`, `growth/split.rs` and `whole/retire.rs`, and always by `State::store_bits`; the operations are in
//! the files below. Each atomic access names the one it pairs with:
//!
//! * A *clear* is any store to a word that takes an entry out, a *copy* any that puts one in.
//!   A store by which an operation takes effect is `SeqCst`: that of an insert, of the last hop of a
//!   kick path, of a removal. One that only moves an entry is Release. Lookups read both with
//!   `SeqCst`, which includes Acquire. A lookup that reads a word has synchronized with the writer of
//!   that word, and through the stripe with all earlier writers of the bucket: it sees every bump
//!   that happened before that store.
//! * A writer reads the words of its own stripe with Relaxed: the lock has synchronized it with
//!   their last writer.

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
use self::buckets::stripes::{All, Locked, Stripes, UpTo};
use self::buckets::versions::Versions;
use self::placing::entry::Values;
pub(crate) use self::placing::geometry::{Geometry, Key, Place};
pub(crate) use self::placing::{Bucket, FixedPlacing, GrowingPlacing, Placing, Read, Sizes};
use self::shared::Shared;
pub(crate) use self::shared::cells::{CellWords, MAX_COPIES, Stashed, prefix};
pub(crate) use self::shared::doubled::{Counted, Counts};
use self::shared::doubled::{Doubled, DoubledOf};
use crate::error::InsertError;
use crate::layout::{Encoding, LayoutId, Slot};
use crate::sizing::Sizing;
use crate::sync::memory::{self, NoMemory, TryBox};
use crate::sync::{Ordering, Turns, fence};

/// Optimistic attempts of a writer before it takes all the locks that it could need.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// The state of a table, of fixed size or growing.
pub struct State<B: Buckets> {
    layout: LayoutId,
    buckets: B,
    /// How many generations there are; 0 if the values are none.
    generations: u32,
    /// The rate that the builder was given; infinite without one. A snapshot does not have it.
    promised_rate: f64,
    /// In a box: the compiler knows that a table without atomics of its own does not change, so pointers
    /// and lengths stay in registers from one Acquire load to the next.
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
    /// As one more copy of an entry that is in the stash.
    Counted,
    /// There was a copy, and the insert rejects duplicates.
    Duplicate,
    /// There is no free slot within reach; at the end of an insert, and none in the stash.
    NoRoom,
    /// The stash cannot count one copy more, or there is no memory for it.
    Refused(InsertError),
    /// What is to be inserted is itself an entry, and one of its buckets tells more of the position than is known.
    KnowsTooLittle,
    /// Another writer was faster on some hop; what was moved before stays moved.
    Stale,
}

/// What names an item of a table.
pub(crate) type ItemOf<B> = <<B as Buckets>::Values as Values>::Item;

impl<B: Buckets> State<B> {
    /// That of an empty table of this size.
    pub(crate) fn try_new(sizing: Sizing) -> Result<Self, NoMemory> {
        let Sizing { layout, buckets, target_load, value_bits, .. } = sizing;
        let initial = memory::in_memory(sizing.initial)?;
        let sizes = Sizes { initial, buckets: initial, target_load };
        Self::empty(layout, sizes, buckets, value_bits, DoubledOf::default())
    }

    /// With these words, whose slots in use are not [counted](Table::recount) yet.
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
            // Relaxed: no other thread has it yet.
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
                buckets::versions::groups_of(max_buckets),
            )))?,
            turns: Turns::new(),
        })
    }

    /// Locks the stripes of the buckets of some places: while they are locked, none of these buckets is split, and so
    /// the places stay where they are. `buckets` is where they were a moment ago; what is returned is where they are,
    /// and how they are read by the extent as it is under the locks. Blocks as [`Stripes::lock`] does.
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
            // Overtaken by a split, which is the success of another thread.
            buckets = now;
        }
    }

    /// Locks the stripes of these buckets. Blocks as [`Stripes::lock`] does.
    #[inline(always)]
    fn lock_stripes<const N: usize>(&self, buckets: [usize; N]) -> Locked<'_, UpTo<'_, N>> {
        loop {
            // Retired: then there are others.
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

    /// Locks and unlocks each stripe. Blocks as [`Stripes::pass_all`] does.
    fn pass_all(&self) {
        while self.stripes().pass_all().is_none() {}
    }

    #[inline]
    fn stripes(&self) -> &Stripes {
        self.buckets.stripes()
    }

    #[inline]
    fn versions(&self) -> &Versions {
        self.buckets.versions()
    }

    /// The buckets of some places as they are now.
    #[inline]
    fn locate<const N: usize>(&self, places: [Place; N]) -> [Bucket<B::Placing>; N] {
        let placement = self.buckets.placement();
        places.map(|place| Bucket::of(placement, place))
    }

    /// Stores the word of a bucket whose stripe is locked: every change of a table passes here.
    #[inline(always)]
    fn store_bits<G>(&self, locked: &Locked<'_, G>, bucket: usize, bits: u64, order: Ordering) {
        self.buckets.word(bucket).store(bits, order);
        if locked.is_recorded(bucket) {
            self.copy_to_mirror(bucket);
        }
    }

    /// Empties the table, while it holds every stripe.
    ///
    /// Each version is bumped first, for the reason given in `store_changed` in `remove`: a lookup may have read
    /// one bucket before the last copy was put there.
    pub(crate) fn clear(&self) {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        self.clear_locked(|| {});
    }

    /// As `clear`, while the mutex of those who remove a value is held. Calls `also` before anybody stores again.
    fn clear_locked(&self, also: impl FnOnce()) {
        self.turns.set_clearing(true);
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
        // The fence orders a thread that clears and then looks with those that insert and then look.
        // SeqCst stores would do so, too, and take several times as long for a whole table.
        fence(Ordering::SeqCst);
        self.turns.set_clearing(false);
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

    /// The entry and the positions of the item with this hash, without a value.
    #[inline(always)]
    pub(crate) fn key(self, hash: u64) -> Key {
        self.geometry().key(hash)
    }

    /// The entry and the positions of an item.
    #[inline(always)]
    pub(crate) fn key_of(self, item: ItemOf<B>) -> Key {
        self.geometry().key_of_item::<B::Values>(item)
    }

    /// The word of a bucket whose stripe is locked.
    #[inline]
    fn locked_word(self, bucket: usize) -> F {
        F::from_bits(self.buckets.word(bucket).load(Ordering::Relaxed))
    }

    /// Stores the word of a bucket whose stripe is locked: every change of a table passes here.
    #[inline(always)]
    fn store_word<G>(self, locked: &Locked<'_, G>, bucket: usize, word: F, order: Ordering) {
        self.store_bits(locked, bucket, word.bits(), order);
    }

    /// Stores one more entry in `bucket`, whose stripe is locked. `false`: the bucket is full, or its number fixes more
    /// bits of the position than the entry knows.
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

    /// Moves an entry from one of its buckets to the other, and a new one into its place. One whose value is
    /// [retiring](whole::retire) is dropped. `hop` is the key of that entry: its first place is where it is, its second
    /// where it is to go.
    /// `false`: it is not there any more, or there is no room for it, or it belongs to two buckets meanwhile; then
    /// nothing has changed.
    ///
    /// Copy, bump, clear: in this order, a lookup that sees neither the copy nor what was cleared
    /// sees two different versions. A writer that is stopped in between leaves the entry in
    /// both buckets, where lookups find it.
    ///
    /// In a growing table the entry is encoded for the extent as it is under the locks. The path may have been
    /// planned with an older one.
    // Always inlined: what it is given is more than registers take.
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
        if self.is_retiring(planned.bits()) {
            self.drop_retiring(locked, from.number(), cleared, new, hop);
            return true;
        }
        let Some(copied) = self.locked_word(to.number()).with(copy) else {
            return false;
        };
        // Release, here and below: pairs with the loads of lookups.
        self.store_word(locked, to.number(), copied, Ordering::Release);
        self.versions().bump(self.geometry().version_group(hop));
        locked.occupy(to.number(), 1);
        if let Some(replaced) = new.and_then(|new| cleared.with(new)) {
            // SeqCst: the insert of the new one takes effect here.
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
