//! The protocol: lookup, insert, remove and count on words, stripes and versions.
//!
//! Who may write what, and in which order, is laid down in the documentation of the crate. Each
//! atomic access here names the one it pairs with:
//!
//! * A *clear* is any store to a word that takes a fingerprint out, a *copy* any that puts one in.
//!   Both are Release and are read by lookups with Acquire. A lookup that reads a word has
//!   synchronized with the writer of that word, and through the stripe with all earlier writers
//!   of the bucket: it sees every version that they raised before.
//! * A writer reads the words of its own stripe with Relaxed: the lock has synchronized it with
//!   their last writer.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use crossbeam_utils::CachePadded;

use crate::error::InsertError;
use crate::geometry::{Geometry, Key};
use crate::layout::Layout;
use crate::path::{FIRST_SEARCH_BUCKETS, Found, Hop, MAX_SEARCH_BUCKETS, Search};
use crate::processor::prefetch;
use crate::stripes::{All, Held, Stripes};
use crate::sync::{self, AtomicU64, Backoff, Ordering, fence};
use crate::versions::Versions;

/// Rounds of a lookup before it gives up on a certain answer. See [`Table::contains`].
const ROUNDS: usize = 8;
/// Optimistic attempts of a writer before it takes all the locks there are to take.
const PATIENCE: usize = 64;

pub(crate) struct Table<L> {
    words: Box<[AtomicU64]>,
    stripes: Stripes,
    versions: Versions,
    /// On a line of its own: who counts here must not slow the others down. And in a box: a table
    /// without atomics of its own is known to the compiler not to change, so pointers and lengths
    /// stay in registers from one Acquire load to the next.
    counts: Box<CachePadded<Counts>>,
    layout: PhantomData<L>,
}

/// What seldom happens. All accesses are Relaxed: figures and hints, which order nothing.
struct Counts {
    /// Lookups that gave up on a certain answer.
    inconclusive: AtomicU64,
}

/// What a lookup saw.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Present,
    Absent,
    /// Every round found nothing, and found the version raised in between.
    Unsure,
}

/// Which copies of an item an insert puts up with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    Any,
    /// Stores nothing where there is one already.
    One,
}

/// What two words mean for an insert.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// There is a copy, and the insert wants none beside it.
    Present,
    /// The bucket with more free slots.
    Room { bucket: usize },
    /// Nothing but copies of this fingerprint.
    TooManyCopies,
    /// Both buckets are full.
    Full,
}

/// How an attempt to make room by kicking ended.
enum Kick {
    /// Whether the item was stored; if not, there was a copy already.
    Done(bool),
    /// Nothing within reach is free.
    NoPath,
    /// Another writer was faster on some hop; what was moved before stays moved.
    Stale,
}

impl<L: Layout> Table<L> {
    /// An empty table of so many buckets, even and at least 2; `None` if the memory cannot be had.
    pub(crate) fn try_new(buckets: usize) -> Option<Self> {
        Some(Self {
            words: sync::try_zeroed(buckets)?,
            stripes: Stripes::try_new(buckets)?,
            versions: Versions::try_new(buckets)?,
            counts: Box::new(CachePadded::new(Counts { inconclusive: AtomicU64::new(0) })),
            layout: PhantomData,
        })
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        Geometry::new(self.words.len())
    }

    #[inline]
    pub(crate) fn key(&self, hash: u64) -> Key {
        self.geometry().key(hash, L::FINGERPRINT_BITS)
    }

    /// Whether the item is in the table. Wait-free: it neither locks nor stores, and after
    /// [`ROUNDS`] rounds it answers true, as a filter may. (It counts such an answer, which is the
    /// one store that a lookup ever makes.)
    #[inline]
    pub(crate) fn contains(&self, key: Key) -> bool {
        let opened = self.versions.open(key.fingerprint);
        let found = self.read_both(key);
        // One branch, which does not depend on whether the item is there. The parts of the key and
        // not the key: passed whole, it would live in memory, and the loads above would wait for it.
        if opened.unmoved() {
            found
        } else {
            self.contains_again(found, key.fingerprint, key.first, key.second)
        }
    }

    /// The rest of a lookup whose first round saw the version raised.
    #[cold]
    #[inline(never)]
    fn contains_again(&self, found: bool, fingerprint: u64, first: usize, second: usize) -> bool {
        if found {
            return true;
        }
        match self.look(Key { fingerprint, first, second }, ROUNDS - 1) {
            Seen::Present => true,
            Seen::Absent => false,
            Seen::Unsure => {
                self.counts.inconclusive.fetch_add(1, Ordering::Relaxed);
                true
            }
        }
    }

    /// Looks until it is sure, at most so many rounds.
    #[inline]
    fn look(&self, key: Key, rounds: usize) -> Seen {
        for _ in 0..rounds {
            let opened = self.versions.open(key.fingerprint);
            if self.read_both(key) {
                return Seen::Present;
            }
            if opened.unmoved() {
                return Seen::Absent;
            }
        }
        Seen::Unsure
    }

    /// Whether either bucket holds the fingerprint, each read once.
    #[inline]
    fn read_both(&self, key: Key) -> bool {
        // SeqCst, both: pairs with the Release of every move and the SeqCst of every other write. It
        // also keeps the second look at the version behind these loads.
        let first = self.words[key.first].load(Ordering::SeqCst);
        let second = self.words[key.second].load(Ordering::SeqCst);
        L::either_holds(first, second, key.fingerprint)
    }

    /// Asks for both words of an item that will be needed soon.
    #[inline]
    pub(crate) fn prefetch(&self, key: Key) {
        prefetch(&self.words, key.first);
        prefetch(&self.words, key.second);
    }

    /// One more copy of the item.
    #[expect(clippy::inline_always, reason = "as a call, the key would pass through memory")]
    #[inline(always)]
    pub(crate) fn insert(&self, key: Key) -> Result<(), InsertError> {
        if let Verdict::Room { bucket } = self.verdict(key, Copies::Any) {
            let held = self.stripes.lock([bucket]);
            if self.copy(&held, bucket, key.fingerprint) {
                return Ok(());
            }
        }
        let Key { fingerprint, first, second } = key;
        self.insert_persistently(fingerprint, first, second, Copies::Any).map(|_| ())
    }

    /// The item, unless it is there. `Ok(false)`: it was.
    #[inline]
    pub(crate) fn insert_unique(&self, key: Key) -> Result<bool, InsertError> {
        if self.read_both(key) {
            return Ok(false);
        }
        let Key { fingerprint, first, second } = key;
        self.insert_persistently(fingerprint, first, second, Copies::One)
    }

    /// Repeats: look without a lock, decide under the stripes of both buckets, make room by
    /// kicking. Each attempt that fails was overtaken by another writer's success. After
    /// [`PATIENCE`] of them it takes every stripe, and then nobody overtakes it.
    #[cold]
    #[inline(never)]
    fn insert_persistently(
        &self,
        fingerprint: u64,
        first: usize,
        second: usize,
        copies: Copies,
    ) -> Result<bool, InsertError> {
        let key = Key { fingerprint, first, second };
        let backoff = Backoff::new();
        for _ in 0..PATIENCE {
            if self.verdict(key, copies) != Verdict::Full {
                let held = self.stripes.lock([key.first, key.second]);
                if let Some(decided) = self.decide(&held, key, copies) {
                    return decided;
                }
            }
            match self.kick(key, copies, None) {
                Kick::Done(stored) => return Ok(stored),
                Kick::Stale => backoff.wait(),
                // The search held no lock, and others may have moved this very item meanwhile.
                Kick::NoPath => {
                    let held = self.stripes.lock([key.first, key.second]);
                    return self.decide(&held, key, copies).unwrap_or(Err(InsertError::Full));
                }
            }
        }
        self.insert_alone(key, copies)
    }

    /// An insert that nobody can overtake, and that keeps everybody else from writing.
    fn insert_alone(&self, key: Key, copies: Copies) -> Result<bool, InsertError> {
        let all = self.stripes.lock_all();
        if let Some(decided) = self.decide(&all, key, copies) {
            return decided;
        }
        match self.kick(key, copies, Some(&all)) {
            Kick::Done(stored) => Ok(stored),
            Kick::NoPath => Err(InsertError::Full),
            Kick::Stale => unreachable!("nobody else writes while all stripes are held"),
        }
    }

    /// What the two words of an item mean for an insert: a hint, or the truth where both stripes
    /// are held.
    #[inline]
    fn verdict(&self, key: Key, copies: Copies) -> Verdict {
        // SeqCst: under both stripes it decides. As a hint it needs no order.
        let first = self.words[key.first].load(Ordering::SeqCst);
        let second = self.words[key.second].load(Ordering::SeqCst);
        if copies == Copies::One && L::either_holds(first, second, key.fingerprint) {
            return Verdict::Present;
        }
        // The emptier bucket: several times fewer kicks from half load on. No branch: no processor
        // could predict it.
        let other = L::fuller(first, second);
        let bucket = select_unpredictable(other, key.second, key.first);
        if L::has_room(select_unpredictable(other, second, first)) {
            Verdict::Room { bucket }
        } else if L::copies(first, key.fingerprint) + L::copies(second, key.fingerprint)
            == 2 * L::SLOTS
        {
            Verdict::TooManyCopies
        } else {
            Verdict::Full
        }
    }

    /// Inserts, or says why not, under the stripes of both buckets. `None`: both are full.
    fn decide<G>(
        &self,
        held: &Held<'_, G>,
        key: Key,
        copies: Copies,
    ) -> Option<Result<bool, InsertError>> {
        match self.verdict(key, copies) {
            Verdict::Present => Some(Ok(false)),
            Verdict::Room { bucket } => Some(Ok(self.copy(held, bucket, key.fingerprint))),
            Verdict::TooManyCopies => Some(Err(InsertError::TooManyCopies)),
            Verdict::Full => None,
        }
    }

    /// Searches a path to a free slot and moves the fingerprints along it, the last of them to
    /// make way for the new item. `all`: the guard of every stripe, if it is held already.
    ///
    /// A table that is as full as tables of its layout become says so after a short search. The
    /// answer depends on nothing but the words: on what they hold, and on how much of it there is.
    fn kick(&self, key: Key, copies: Copies, all: Option<&Held<'_, All<'_>>>) -> Kick {
        if let Some(kick) = self.kick_within::<FIRST_SEARCH_BUCKETS>(key, copies, all) {
            kick
        } else if self.occupied() as f64 >= L::FULL * self.slots() as f64 {
            Kick::NoPath
        } else {
            self.kick_far(key, copies, all)
        }
    }

    /// Apart, so that the common kick does not pay for the large queue.
    #[inline(never)]
    fn kick_far(&self, key: Key, copies: Copies, all: Option<&Held<'_, All<'_>>>) -> Kick {
        self.kick_within::<MAX_SEARCH_BUCKETS>(key, copies, all).unwrap_or(Kick::NoPath)
    }

    /// `None`: a queue of `N` buckets is too short to find a path.
    fn kick_within<const N: usize>(
        &self,
        key: Key,
        copies: Copies,
        all: Option<&Held<'_, All<'_>>>,
    ) -> Option<Kick> {
        let mut search = Search::<N>::new(key);
        let (last, node) = match search.run::<L>(&self.words, self.geometry()) {
            Found::Path { last, node } => (last, node),
            Found::Freed => return Some(Kick::Stale),
            Found::Nothing => return Some(Kick::NoPath),
            Found::QueueFull => return None,
        };
        let mut hop = last;
        for before in search.back(node) {
            if !self.hop(hop, all) {
                return Some(Kick::Stale);
            }
            hop = before;
        }
        Some(self.last_hop(hop, key, copies, all).map_or(Kick::Stale, Kick::Done))
    }

    /// One hop in the middle of a path, complete in itself. `false`: it is stale.
    fn hop(&self, hop: Hop, all: Option<&Held<'_, All<'_>>>) -> bool {
        match all {
            Some(held) => self.relocate(held, hop, None),
            None => self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, None),
        }
    }

    /// The hop out of a bucket of the new item, and the item into the slot that it leaves, in one
    /// step: nobody can steal the slot. `None`: it is stale.
    fn last_hop(
        &self,
        hop: Hop,
        key: Key,
        copies: Copies,
        all: Option<&Held<'_, All<'_>>>,
    ) -> Option<bool> {
        let new = Some(key.fingerprint);
        match (copies, all) {
            (Copies::Any, None) => {
                self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, new).then_some(true)
            }
            (Copies::Any, Some(held)) => self.relocate(held, hop, new).then_some(true),
            // That there is no copy yet must be exact: both buckets of the item are held as well.
            (Copies::One, None) => {
                let held = self.stripes.lock([key.first, key.second, hop.to]);
                self.relocate_if_absent(&held, hop, key)
            }
            (Copies::One, Some(held)) => self.relocate_if_absent(held, hop, key),
        }
    }

    fn relocate_if_absent<G>(&self, held: &Held<'_, G>, hop: Hop, key: Key) -> Option<bool> {
        if self.verdict(key, Copies::One) == Verdict::Present {
            return Some(false);
        }
        self.relocate(held, hop, Some(key.fingerprint)).then_some(true)
    }

    /// Moves a fingerprint to its other bucket, and a new one into its place. `false`: it is not
    /// there any more, or there is no room for it; then nothing has changed.
    ///
    /// Copy, raise, clear: in this order, a lookup that sees neither the copy nor what was cleared
    /// sees two different versions. A writer that is stopped in between leaves the fingerprint in
    /// both buckets, where lookups find it.
    fn relocate<G>(&self, held: &Held<'_, G>, hop: Hop, new: Option<u64>) -> bool {
        let Hop { fingerprint, from, to } = hop;
        let (from_word, to_word) = (&self.words[from], &self.words[to]);
        let Some(cleared) = L::without(from_word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        let Some(copied) = L::with(to_word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        let replaced = new.and_then(|new| L::with(cleared, new));
        to_word.store(copied, Ordering::Release);
        self.versions.raise(fingerprint);
        match replaced {
            // SeqCst: the insert of the new one takes effect here.
            Some(replaced) => from_word.store(replaced, Ordering::SeqCst),
            None => from_word.store(cleared, Ordering::Release),
        }
        held.occupy(to);
        if replaced.is_none() {
            held.vacate(from);
        }
        true
    }

    /// One more copy into `bucket`, whose stripe is held. `false`: it is full.
    #[inline]
    fn copy<G>(&self, held: &Held<'_, G>, bucket: usize, fingerprint: u64) -> bool {
        let word = &self.words[bucket];
        let Some(copied) = L::with(word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        word.store(copied, Ordering::SeqCst);
        held.occupy(bucket);
        true
    }

    /// One copy less out of `bucket`, whose stripe is held. `false`: it holds none.
    #[inline]
    fn clear_one<G>(
        &self,
        held: &Held<'_, G>,
        bucket: usize,
        other: usize,
        fingerprint: u64,
    ) -> bool {
        let word = &self.words[bucket];
        let Some(cleared) = L::without(word.load(Ordering::Relaxed), fingerprint) else {
            return false;
        };
        // A copy in the other bucket may be younger than a lookup's read of that bucket, and this
        // clear older than its read of this one: it would miss an item that never was absent.
        // Relaxed: a lookup that opens on the raised version comes after this load, and so reads
        // what this load read or something later (coherence).
        if L::holds(self.words[other].load(Ordering::Relaxed), fingerprint) {
            self.versions.raise(fingerprint);
        }
        word.store(cleared, Ordering::SeqCst);
        held.vacate(bucket);
        true
    }

    /// One copy less of the item. `false`: there is none.
    ///
    /// Finds the copy without a lock and clears it under the stripe of its bucket.
    #[expect(clippy::inline_always, reason = "as for `insert`")]
    #[inline(always)]
    pub(crate) fn remove(&self, key: Key) -> bool {
        let Key { fingerprint, first, second } = key;
        match self.remove_once(key) {
            Some(removed) => removed,
            None => self.remove_persistently(fingerprint, first, second),
        }
    }

    /// `None`: a copy was seen, and was gone when its stripe was locked; or nothing was seen, and
    /// the version was raised meanwhile.
    #[inline]
    fn remove_once(&self, Key { fingerprint, first, second }: Key) -> Option<bool> {
        let opened = self.versions.open(fingerprint);
        // SeqCst: as in `read_both`, for the sake of a negative answer.
        let in_first = L::holds(self.words[first].load(Ordering::SeqCst), fingerprint);
        let in_second = L::holds(self.words[second].load(Ordering::SeqCst), fingerprint);
        if in_first | in_second {
            // No branch: no processor could predict it.
            let bucket = select_unpredictable(in_first, first, second);
            let other = select_unpredictable(in_first, second, first);
            self.clear_one(&self.stripes.lock([bucket]), bucket, other, fingerprint).then_some(true)
        } else {
            opened.unmoved().then_some(false)
        }
    }

    /// Each attempt that fails was overtaken by another writer's success. After [`PATIENCE`] of
    /// them it takes both stripes, and then nobody overtakes it.
    #[cold]
    #[inline(never)]
    fn remove_persistently(&self, fingerprint: u64, first: usize, second: usize) -> bool {
        for _ in 0..PATIENCE {
            if let Some(removed) = self.remove_once(Key { fingerprint, first, second }) {
                return removed;
            }
        }
        let held = self.stripes.lock([first, second]);
        self.clear_one(&held, first, second, fingerprint)
            || self.clear_one(&held, second, first, fingerprint)
    }

    /// How many copies there are: read under both stripes, unless there are certainly none.
    pub(crate) fn count(&self, key: Key) -> usize {
        if self.look(key, 1) == Seen::Absent {
            return 0;
        }
        // Both: a removal under way in one bucket, which found no copy in the other, comes before all
        // that is inserted there; who counted those copies together would know better.
        let _held = self.stripes.lock([key.first, key.second]);
        [key.first, key.second]
            .map(|bucket| L::copies(self.words[bucket].load(Ordering::SeqCst), key.fingerprint))
            .iter()
            .sum()
    }

    /// Empties the table, while it holds every stripe.
    ///
    /// Each version is raised first, for the reason given in `clear_one`: a lookup may have read
    /// one bucket before the last copy was put there.
    pub(crate) fn clear(&self) {
        let held = self.stripes.lock_all();
        self.versions.raise_all();
        for word in &self.words {
            word.store(0, Ordering::Release);
        }
        held.vacate_all();
        // In place of SeqCst stores, which would take several times as long.
        fence(Ordering::SeqCst);
    }

    /// For the probe: a copy into this bucket and no other.
    #[cfg(loom)]
    pub(crate) fn put(&self, bucket: usize, fingerprint: u64) -> bool {
        self.copy(&self.stripes.lock([bucket]), bucket, fingerprint)
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> usize {
        self.stripes.occupied()
    }

    /// Slots in all.
    pub(crate) fn slots(&self) -> usize {
        self.words.len() * L::SLOTS
    }

    /// Lookups that gave up on a certain answer.
    pub(crate) fn inconclusive(&self) -> u64 {
        self.counts.inconclusive.load(Ordering::Relaxed)
    }

    /// What the table owns on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
            + size_of_val(&*self.counts)
            + self.stripes.memory_bytes()
            + self.versions.memory_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::layout::Fp16x4;

    /// The way out after too many attempts stores and refuses exactly what the usual way does.
    #[test]
    fn alone_as_in_company() {
        for buckets in [2, 4, 6, 100, 1000] {
            let [usual, alone] = [0; 2].map(|_| Table::<Fp16x4>::try_new(buckets).unwrap());
            for hash in 0..5 * buckets as u64 {
                let key = usual.key(hash);
                if hash % 2 == 0 {
                    let stored = alone.insert_alone(key, Copies::Any).map(|_| ());
                    assert_eq!(usual.insert(key), stored);
                } else {
                    assert_eq!(usual.insert_unique(key), alone.insert_alone(key, Copies::One));
                }
            }
            let words = |table: &Table<Fp16x4>| -> Vec<u64> {
                table.words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
            };
            assert_eq!(words(&usual), words(&alone));
            assert_eq!(usual.occupied(), alone.occupied());
            assert!(usual.occupied() * 10 > usual.slots() * 9, "kicks were needed");
        }
    }

    /// A table that has refused many items takes as much as a new one, once there is room again.
    #[test]
    fn refusals_are_forgiven() {
        let table = Table::<Fp16x4>::try_new(1 << 12).unwrap();
        let mut hashes = 0..;
        let mut insert = || {
            let hash = hashes.next().unwrap();
            table.insert(table.key(hash)).map(|()| hash)
        };
        let mut fill = || {
            let stored: Vec<_> = core::iter::from_fn(|| insert().ok()).collect();
            let used = table.occupied();
            assert!(used * 100 >= table.slots() * 97, "refused with {used} slots in use");
            let refused = (0..10_000).filter(|_| insert().is_err()).count();
            assert!(refused > 9000, "of 10,000 only {refused}");
            stored
        };
        let stored = fill();
        assert!(stored.iter().skip(1000).all(|hash| table.remove(table.key(*hash))));
        fill();
        table.clear();
        fill();
    }
}
