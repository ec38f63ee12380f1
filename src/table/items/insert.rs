//! Inserts: into a free slot, or along a path of kicks to one.
//!
//! **Invariant:** an entry is stored under the stripe of its bucket. An entry that must be the only one of its item is
//! stored under the stripes of both of its buckets, and after the item was looked for again under these stripes.

use super::path::{self, FIRST_SEARCH_BUCKETS, MAX_SEARCH_BUCKETS, Node, Search};
use crate::backports::select_unpredictable;
use crate::error::InsertError;
use crate::layout::{Encoding, both};
use crate::sync::{Backoff, Ordering};
use crate::table::buckets::stripes::{Locked, SAMPLE, Stripe, Stripes};
use crate::table::placing::entry::Entry;
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Bucket, OUT_OF_CACHE_BUCKETS, Placing, Read};
use crate::table::{Attempt, Buckets, MAX_OPTIMISTIC_ATTEMPTS, Table};

/// Searches are short if more than one entry per this number of slots is stashed: long ones would open hundreds of
/// buckets, mostly in vain.
const MUCH_STASHED: usize = 1024;
/// A table counts as not full if a sample of it has less than this share of the entries of a full table. The load of a
/// sample is mostly within a fiftieth of the load of the table.
const CLEARLY_BELOW: f64 = 0.96;

/// The behaviour of an insert whose item the table already holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::table) enum Duplicates {
    /// Store one more entry.
    Allow,
    /// Store nothing. In a maplet, an entry of the key with any value counts.
    Reject,
    /// As `Reject`, but in a maplet only an entry with the value of the item counts.
    RejectPair,
    /// As `Reject`, in a table of [generations](crate::table::whole::generations): the entry of a new item has the
    /// present stamp.
    Stamp,
}

impl Duplicates {
    /// Returns whether only an entry with the value of the item is a duplicate.
    fn with_value(self) -> bool {
        self == Self::RejectPair
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Inserts one more copy of the item.
    // Always inlined: in a call, the key would pass through memory.
    #[inline(always)]
    pub(crate) fn insert(self, key: Key) -> Result<(), InsertError> {
        let storing = self.turns.take_to_store();
        let inserted = self.insert_entry(key);
        storing.release_if(|| inserted.is_ok());
        inserted.map(|_| ())
    }

    /// Inserts one more entry. Returns how it was stored, or [`Attempt::KnowsTooLittle`] if the entry knows less of its
    /// position than its buckets tell. The entry of an item always knows enough.
    #[inline(always)]
    pub(in crate::table) fn insert_entry(self, key: Key) -> Result<Attempt, InsertError> {
        let places = key.places();
        let buckets = self.locate(places);
        // Requests both stripes before the words have come: the words only choose between the two.
        let all = self.stripes();
        let stripes = buckets.map(|bucket| all.stripe(bucket.number()));
        all.prefetch(stripes);
        let (in_first, emptier) = emptier(self.words_in(buckets));
        if emptier.has_room()
            && self.store(
                Place::select(in_first, places),
                select_unpredictable(in_first, buckets[0], buckets[1]),
                all,
                select_unpredictable(in_first, stripes[0], stripes[1]),
            )
        {
            self.grow_if_loaded(places);
            return Ok(Attempt::Stored);
        }
        let Key { entry, first, second } = key;
        self.insert_slow(entry, first, second, Duplicates::Allow)
    }

    /// Stores one more entry at this place, whose bucket was `bucket` a moment ago. `stripe` is the stripe of that
    /// bucket, and one of the stripes `of`. Returns `false` if the bucket is full, or if the place has another bucket
    /// or stripe by now.
    #[inline(always)]
    fn store(
        self,
        place: Place,
        mut bucket: Bucket<B::Placing>,
        of: &Stripes,
        stripe: &Stripe,
    ) -> bool {
        let Some(locked) = of.lock_one(bucket.number(), stripe) else {
            return false;
        };
        if B::GROWS {
            let [now] = self.locate([place]);
            if now.number() != bucket.number() {
                return false;
            }
            bucket = now;
        }
        self.store_in(&locked, bucket, place)
    }

    /// Requests the words that a search reads first, if an insert of `key` is going to need a search.
    pub(in crate::table) fn prefetch_search(self, key: Key) {
        let buckets = self.locate(key.places());
        let words = both(buckets, |bucket| {
            // Relaxed: a hint.
            F::from_bits(self.buckets.word(bucket.number()).load(Ordering::Relaxed))
        });
        if words.iter().all(|word| !word.has_room()) {
            self.prefetch_first_step(buckets, words);
        }
    }

    /// Requests the words that [`path::first_step`] reads. Outlined: in small tables it is not called.
    #[inline(never)]
    fn prefetch_first_step(self, buckets: [Bucket<B::Placing>; 2], words: [F; 2]) {
        for at in 0..2 {
            path::prefetch_others(&self.buckets, buckets[at], words[at]);
        }
    }

    /// Inserts the item, unless the table holds it. Returns `Ok(false)` if it does.
    #[inline]
    pub(crate) fn insert_if_absent(self, key: Key) -> Result<bool, InsertError> {
        let is_there = || self.contains(key);
        self.insert_absent_in_turn(is_there, || self.insert_absent(key, Duplicates::Reject))
    }

    /// Inserts the item, unless the table holds it with this value. Returns `Ok(false)` if it does.
    pub(crate) fn insert_pair_if_absent(self, key: Key) -> Result<bool, InsertError> {
        let is_there = || self.contains_pair(key);
        self.insert_absent_in_turn(is_there, || self.insert_absent(key, Duplicates::RejectPair))
    }

    /// Calls `insert`, the insert of an item that is absent. In a user's model this is one step, which changes nothing
    /// if the item `is_there`.
    #[inline(always)]
    pub(in crate::table) fn insert_absent_in_turn(
        self,
        is_there: impl Fn() -> bool,
        insert: impl FnOnce() -> Result<bool, InsertError>,
    ) -> Result<bool, InsertError> {
        let storing = self.turns.take_to_store_unless(|| is_there().then_some(()));
        let new = self.turns.in_this_turn(insert);
        self.turns.acquire_if(|| new == Ok(false));
        storing.release_if(|| new == Ok(true));
        new
    }

    /// Stores the item as `insert_if_absent` does, by one of the ways to reject duplicates.
    // Always inlined: the way to reject duplicates is known at compile time.
    #[inline(always)]
    pub(in crate::table) fn insert_absent(
        self,
        key: Key,
        duplicates: Duplicates,
    ) -> Result<bool, InsertError> {
        let read = self.read_valid(key);
        // The loads are SeqCst, so the answer is right without a lock. If two threads each remove one of the last two
        // copies and then look, they cannot both see the copy that the other removed.
        if read.holds_item(duplicates.with_value()) {
            return Ok(false);
        }
        self.insert_unseen(read, duplicates)
    }

    /// Inserts an item that neither of these words holds, unless the table holds it by now. Returns `Ok(false)` if it
    /// does.
    #[inline(always)]
    pub(super) fn insert_unseen(
        self,
        read: Read<F, B::Placing>,
        duplicates: Duplicates,
    ) -> Result<bool, InsertError> {
        let Key { entry, first, second } = read.key;
        if self.store_absent(read, duplicates) {
            self.grow_if_loaded(read.key.places());
            return Ok(true);
        }
        let ended = self.insert_slow(entry, first, second, duplicates)?;
        Ok(ended != Attempt::Duplicate)
    }

    /// Stores an item that neither of these words holds, in the emptier bucket. Returns `false` in these cases:
    ///
    /// * Both buckets are full.
    /// * Another thread has changed something meanwhile.
    /// * The item may be stashed.
    #[inline(always)]
    pub(in crate::table) fn store_absent(
        self,
        read: Read<F, B::Placing>,
        duplicates: Duplicates,
    ) -> bool {
        let Read { key, buckets, words } = read;
        let (in_first, emptier) = emptier(words);
        if !emptier.has_room() {
            return false;
        }
        // Locks both stripes: a thread that inserts the same item waits, or has inserted it before.
        let locked = self.lock_stripes(both(buckets, Bucket::number));
        let place = Place::select(in_first, self.stamped(key, duplicates).places());
        let placement = self.buckets.placement();
        let is_same = buckets.iter().all(|&bucket| bucket.is_of(placement))
            && (0..2).all(|at| self.locked_word(buckets[at].number()).bits() == words[at].bits());
        // The insert of an expiring filter has no register left for the more precise question.
        let may_be_stashed = || {
            if duplicates == Duplicates::Stamp {
                self.may_be_flagged(key)
            } else {
                self.may_be_stashed(key)
            }
        };
        is_same
            && !may_be_stashed()
            && self.store_in(&locked, select_unpredictable(in_first, buckets[0], buckets[1]), place)
    }

    /// Inserts an item when the insert may have to kick, or to let the table grow.
    ///
    /// Returns how the item was stored, [`Attempt::Duplicate`], or [`Attempt::KnowsTooLittle`] (see `insert_entry`).
    /// See [`Key`] for the arguments.
    #[cold]
    #[inline(never)]
    fn insert_slow(
        self,
        entry: Entry,
        first: u64,
        second: u64,
        duplicates: Duplicates,
    ) -> Result<Attempt, InsertError> {
        let key = Key { entry, first, second };
        loop {
            let searched = self.present();
            match self.insert_as_it_is(key, duplicates) {
                stored @ (Attempt::Stored | Attempt::Counted) => {
                    self.grow_if_loaded(key.places());
                    return Ok(stored);
                }
                ended @ (Attempt::Duplicate | Attempt::KnowsTooLittle) => return Ok(ended),
                Attempt::NoRoom => match self.make_room(searched) {
                    Ok(true) => {}
                    Ok(false) => return Err(InsertError::Full),
                    Err(_) => return Err(InsertError::NoMemoryToStore),
                },
                Attempt::Refused(refusal) => return Err(refusal),
                Attempt::Stale => unreachable!("an attempt under locks is never stale"),
            }
        }
    }

    /// Inserts into the table at its present size. Repeats these steps: look without a lock, decide under the stripes
    /// of both buckets, make room by kicks. An attempt fails only if another writer has succeeded meanwhile. After
    /// [`MAX_OPTIMISTIC_ATTEMPTS`] attempts it stashes the item if there is no room: no other writer can make this step
    /// fail.
    fn insert_as_it_is(self, key: Key, duplicates: Duplicates) -> Attempt {
        let backoff = Backoff::new();
        for _ in 0..MAX_OPTIMISTIC_ATTEMPTS {
            match self.try_insert(key, duplicates) {
                Attempt::Stale => backoff.snooze(),
                ended => return ended,
            }
        }
        self.insert_without_kicks(key, duplicates)
    }

    /// Makes one optimistic attempt.
    fn try_insert(self, key: Key, duplicates: Duplicates) -> Attempt {
        let buckets = self.locate(key.places());
        let words = self.words_in(buckets);
        let read = Read { key, buckets, words };
        let with_value = duplicates.with_value();
        // A hint, until both stripes are locked.
        if emptier(words).1.has_room()
            || duplicates != Duplicates::Allow && read.holds_item(with_value)
        {
            match self.try_place(key, duplicates) {
                Attempt::NoRoom => {}
                decided => return decided,
            }
        }
        // So that the cache misses of the search overlap. In a small table this would cost more than it gains.
        if self.present() >= OUT_OF_CACHE_BUCKETS {
            self.prefetch_first_step(buckets, words);
        }
        let kicked = match path::first_step(&self.buckets, buckets, words) {
            Some((hop, buckets)) => self.last_hop(hop, buckets, key, duplicates),
            // Both buckets hold only copies, which have no buckets except these two: so the first step was the whole
            // search. (Mostly the words hold no copy, and the check ends sooner.)
            None if hold_only_copies(read) => Attempt::NoRoom,
            None => self.kick(key, duplicates),
        };
        match kicked {
            Attempt::NoRoom => self.insert_without_kicks(key, duplicates),
            ended => ended,
        }
    }

    /// Inserts into a bucket or into the stash, without a kick: no other writer can make this fail. `NoRoom`: the item
    /// would be a new entry of the stash, and the table has as many entries as a full one.
    fn insert_without_kicks(self, key: Key, duplicates: Duplicates) -> Attempt {
        let places = key.places();
        let buckets = self.locate(places);
        // Before a stripe is held, because the cells may have to be replaced. Other threads may take the reserved room
        // before the stripes are held; then room is made under the stripes.
        let reserved = self.reserve_in_stash(key);
        let (locked, buckets) = self.lock(places, buckets);
        // Looks again first: the search held no lock, and others may have moved this very item meanwhile.
        match self.try_place_locked(&locked, buckets, key, duplicates) {
            Attempt::NoRoom => match reserved {
                Ok(()) => {
                    let mut writer = self.lock_cells(key);
                    // Read after the mutex is held: see `generations`.
                    let stamped = self.stamped(key, duplicates);
                    if self.fills_the_stash(&writer, stamped) {
                        return Attempt::NoRoom;
                    }
                    let stashed = self.put_in_stash(&mut writer, stamped, 1);
                    stashed.map_or_else(Attempt::Refused, |is_new| {
                        if is_new { Attempt::Stored } else { Attempt::Counted }
                    })
                }
                Err(InsertError::Full) => Attempt::NoRoom,
                Err(refusal) => Attempt::Refused(refusal),
            },
            decided => decided,
        }
    }

    /// Inserts under the stripes of both buckets, or says why not.
    fn try_place(self, key: Key, duplicates: Duplicates) -> Attempt {
        let places = key.places();
        let (locked, buckets) = self.lock(places, self.locate(places));
        self.try_place_locked(&locked, buckets, key, duplicates)
    }

    pub(in crate::table) fn try_place_locked<G>(
        self,
        locked: &Locked<'_, G>,
        buckets: [Bucket<B::Placing>; 2],
        key: Key,
        duplicates: Duplicates,
    ) -> Attempt {
        let places = key.places();
        if !is_known_by::<F, _>(places, buckets) {
            return Attempt::KnowsTooLittle;
        }
        let words = self.words_in(buckets);
        let with_value = duplicates.with_value();
        let is_there = || {
            let read = Read { key, buckets, words };
            read.holds_item(with_value) || self.is_stashed(key, with_value)
        };
        if duplicates != Duplicates::Allow && is_there() {
            return Attempt::Duplicate;
        }
        let (in_first, emptier) = emptier(words);
        if !emptier.has_room() {
            return Attempt::NoRoom;
        }
        let place = Place::select(in_first, self.stamped(key, duplicates).places());
        let bucket = select_unpredictable(in_first, buckets[0], buckets[1]);
        let stored = self.store_in(locked, bucket, place);
        debug_assert!(stored, "no other thread writes to a locked bucket");
        Attempt::Stored
    }

    /// Searches a path to a free slot and moves the entries along it. The last of them makes way for the new item.
    ///
    /// Gives up after a short search if the table has the load at which tables of its layout become full, or if it has
    /// stashed much. The answer depends on the entries of the table alone.
    fn kick(self, key: Key, duplicates: Duplicates) -> Attempt {
        match self.kick_within::<FIRST_SEARCH_BUCKETS>(key, duplicates) {
            Some(attempt) => attempt,
            None if self.stashes_much() || self.looks_full() => Attempt::NoRoom,
            None => self.kick_far(key, duplicates),
        }
    }

    /// Returns whether the table has as many entries as a full one. The answer may be wrong by what other threads do
    /// meanwhile.
    pub(in crate::table) fn looks_full(self) -> bool {
        let (full, stashed) = (self.full_entries(), self.stashed_entries() as f64);
        // Mostly a sample is enough: adding up all stripes of a large table takes as long as a hundred inserts.
        let buckets = self.present();
        let sampled = self.stripes().load_near(0, buckets, SAMPLE) * buckets as f64;
        sampled + stashed >= CLEARLY_BELOW * full
            && self.stripes().occupied_hint() as f64 + stashed >= full
    }

    /// Returns the number of entries with which the table is full at its present size.
    pub(in crate::table) fn full_entries(self) -> f64 {
        self.buckets.full(F::ID.properties().full) * self.slots() as f64
    }

    /// Returns whether more than one entry per [`MUCH_STASHED`] slots is stashed: then most long searches are in vain.
    fn stashes_much(self) -> bool {
        self.stashed_entries() > self.slots() / MUCH_STASHED
    }

    /// Searches far. Outlined, so that the common kick does not pay for the long queue.
    #[inline(never)]
    fn kick_far(self, key: Key, duplicates: Duplicates) -> Attempt {
        self.kick_within::<MAX_SEARCH_BUCKETS>(key, duplicates).unwrap_or(Attempt::NoRoom)
    }

    /// Kicks along a path that a queue of `N` buckets can find. `None`: the queue is too short to find a path.
    fn kick_within<const N: usize>(self, key: Key, duplicates: Duplicates) -> Option<Attempt> {
        let mut nodes = [Node::START; N];
        let mut search = Search::<B>::new(&mut nodes, self.buckets.placement(), key.places());
        let (mut hop, node) = match search.run::<F>(&self.buckets) {
            Ok(path) => path,
            Err(ended) => return ended,
        };
        for before in search.back::<F>(node, &self.buckets) {
            if !self.hop(hop) {
                return Some(Attempt::Stale);
            }
            hop = before;
        }
        Some(self.last_hop(hop, self.locate(hop.places()), key, duplicates))
    }

    /// Makes one hop in the middle of a path, which is complete in itself. Returns `false` if the hop is stale.
    fn hop(self, hop: Key) -> bool {
        let places = hop.places();
        let (locked, buckets) = self.lock_to_move(places, self.locate(places));
        self.relocate(&locked, hop, buckets, None)
    }

    /// Makes the hop out of a bucket of the new item, and stores the item in the slot that becomes free. This is one
    /// step, so no other thread can take the slot. `buckets` are the buckets of the hop a moment ago.
    fn last_hop(
        self,
        hop: Key,
        buckets: [Bucket<B::Placing>; 2],
        key: Key,
        duplicates: Duplicates,
    ) -> Attempt {
        let hop_places = hop.places();
        if duplicates == Duplicates::Allow {
            let (locked, buckets) = self.lock_to_move(hop_places, buckets);
            return self.last_hop_locked(&locked, hop, buckets, key, duplicates);
        }
        // The answer that there is no copy yet must be exact, so both buckets of the item are locked as well.
        let [first, second] = key.places();
        let places = [first, second, hop_places[1]];
        let (locked, [_, _, to]) = self.lock_to_move(places, self.locate(places));
        let [from, _] = self.locate(hop_places);
        self.last_hop_locked(&locked, hop, [from, to], key, duplicates)
    }

    /// Makes the last hop while the stripes are held. `from` and `to` are the buckets of the hop under them.
    fn last_hop_locked<G>(
        self,
        locked: &Locked<'_, G>,
        hop: Key,
        [from, to]: [Bucket<B::Placing>; 2],
        key: Key,
        duplicates: Duplicates,
    ) -> Attempt {
        // The place of the new item with the parity of the place that becomes free.
        let is_first = (hop.first ^ key.first) & 1 == 0;
        let newcomer = Place::select(is_first, self.stamped(key, duplicates).places());
        // After a split, the entry to move and the item to take its place may belong to different buckets.
        if B::GROWS && !from.is_of_place(newcomer) {
            return Attempt::Stale;
        }
        let Some(new) = from.slot::<F>(newcomer) else {
            return Attempt::Stale;
        };
        let with_value = duplicates.with_value();
        let is_there = || self.in_buckets(key, with_value) || self.is_stashed(key, with_value);
        if duplicates != Duplicates::Allow && is_there() {
            Attempt::Duplicate
        } else if self.relocate(locked, hop, [from, to], Some(new)) {
            Attempt::Stored
        } else {
            Attempt::Stale
        }
    }
}

/// Returns whether an entry knows as many bits as both of its buckets tell.
pub(in crate::table) fn is_known_by<F: Encoding, P: Placing>(
    places: [Place; 2],
    buckets: [Bucket<P>; 2],
) -> bool {
    (0..2).all(|at| buckets[at].slot::<F>(places[at]).is_some())
}

/// Returns whether all slots of both words hold entries that match this item however much the table grows: most likely
/// its copies. A search would only move them back and forth between these two buckets.
#[inline]
fn hold_only_copies<F: Encoding, P: Placing>(read: Read<F, P>) -> bool {
    let Read { key, buckets, words } = read;
    let places = key.places();
    read.holds_item(false)
        && (0..2)
            .all(|at| buckets[at].copies(words[at], places[at], buckets[at].below()) == F::SLOTS)
}

/// Picks the word with more free slots, and says whether it is the first. With inserts into the emptier bucket there
/// are several times fewer kicks, from half load on. No branch: no processor could predict it.
#[inline]
fn emptier<F: Encoding>([first, second]: [F; 2]) -> (bool, F) {
    let second_is_emptier = first.is_fuller(second);
    (!second_is_emptier, select_unpredictable(second_is_emptier, second, first))
}

#[cfg(test)]
mod tests {
    use super::path::OPENED;
    use super::*;
    use crate::layout::Packed;
    use crate::sizing::Sizing;
    use crate::table::MAX_COPIES;
    use crate::table::buckets::growing::GrowingBuckets;
    use crate::table::placing::entry::ValueBits;

    type Fp16x4 = Packed<16, 4>;

    fn words(table: Table<'_, Fp16x4>) -> Vec<u64> {
        let words = (0..table.present()).map(table.buckets.words());
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// A fixed fill makes the recorded number of kicks, and its searches open the recorded number of buckets. Inserts
    /// that did not take the emptier bucket would kick more.
    #[test]
    fn the_work_of_a_fixed_fill() {
        let table = Table::<Fp16x4>::try_new(1 << 14, 1 << 14).unwrap();
        let mut hashes = 0..;
        let mut fill_to = |percent| {
            OPENED.set(0);
            while table.occupied() * 100 < table.slots() * percent {
                table.insert(table.key(hashes.next().unwrap())).unwrap();
            }
            (table.versions().bumps(), OPENED.get())
        };
        let counted = [(2, 2), (372, 372), (3461, 3963), (8669, 25_973)];
        assert_eq!([50, 75, 90, 97].map(&mut fill_to), counted);
    }

    /// Each quarter of a level of growth takes the recorded number of inserts, and their searches open the recorded
    /// number of buckets. They open the most in the second quarter, when most buckets are full and not split yet.
    #[test]
    #[cfg_attr(coucal_short_segments, ignore = "a sample of the load has other buckets there")]
    fn the_work_of_growth() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(1 << 13, 1 << 16).unwrap();
        let mut hashes = 0_u64..;
        let mut grow_to = |buckets| {
            OPENED.set(0);
            let before = hashes.start;
            while table.present() < buckets {
                table.insert(table.key(hashes.next().unwrap())).unwrap();
            }
            (hashes.start - before, OPENED.get())
        };
        grow_to(1 << 15);
        let quarters = [5, 6, 7, 8].map(|quarters| grow_to(quarters << 13));
        let counted = [(24_835, 8146), (25_124, 12_667), (24_608, 10_557), (25_056, 7134)];
        assert_eq!(quarters, counted);
    }

    /// Fixed searches of small tables open the recorded number of buckets. A search that queued the buckets of its own
    /// path again would open more.
    #[test]
    fn searches_do_not_go_in_circles() {
        let opened_by_fills_of = |buckets| {
            OPENED.set(0);
            for seed in 0..100 {
                let table = Table::<Fp16x4>::try_new(buckets, buckets).unwrap();
                let mut hashes = seed << 32..;
                while table.insert(table.key(hashes.next().unwrap())).is_ok() {}
            }
            OPENED.get()
        };
        assert_eq!([4, 6, 8, 16].map(opened_by_fills_of), [2461, 3127, 3943, 21_424]);
    }

    /// If a table is as full as tables become, an insert says so after opening a few buckets. In a less full table it
    /// searches on.
    #[test]
    fn a_full_table_says_so_after_a_short_search() {
        let table = Table::<Fp16x4>::try_new(1 << 14, 1 << 14).unwrap();
        let mut hashes = 0..;
        // Returns whether the item was stored, and how many buckets were opened.
        let mut insert = || {
            OPENED.set(0);
            let stored = table.insert(table.key(hashes.next().unwrap())).is_ok();
            (stored, OPENED.get())
        };
        let mut longest = 0;
        while (table.occupied() as f64)
            < Packed::<16, 4>::ID.properties().full * table.slots() as f64
        {
            let (stored, opened) = insert();
            assert!(stored, "below the share from which on a table is full");
            longest = longest.max(opened);
        }
        assert!(longest > FIRST_SEARCH_BUCKETS, "{longest}");
        let mut refused = 0;
        for _ in 0..10_000 {
            let (stored, opened) = insert();
            assert!(opened <= FIRST_SEARCH_BUCKETS, "{opened}");
            refused += usize::from(!stored);
        }
        assert!((1000..10_000).contains(&refused), "{refused}");
    }

    /// The answer to an insert depends on the words alone, and not on inserts that failed before.
    #[test]
    fn failed_inserts_leave_no_trace() {
        for buckets in [6, 64, 1 << 12] {
            let [once, often] = [0; 2].map(|_| Table::<Fp16x4>::try_new(buckets, buckets).unwrap());
            for hash in 0..6 * buckets as u64 {
                let key = once.key(hash);
                if often.insert(key).is_ok() {
                    assert_eq!(once.insert(key), Ok(()));
                }
            }
            assert_eq!(words(once), words(often));
        }
    }

    /// Entries that know less of their position, or have another value, are not copies of an item. But no growth
    /// separates them from it, so a growing table does not grow for one more of them.
    #[test]
    fn relatives_leave_no_room_for_copies() {
        fn check<B: Buckets + 'static>(value_bits: u32) {
            let sizing = Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, 64, 1 << 10) };
            let table = Table::<Fp16x4, B>::try_sized(sizing).unwrap();
            table.grow_to(256).unwrap();
            let Key { entry, first, second } = table.key(1);
            let relative = |n: u32| {
                let value = (n % (1 << value_bits)) << (Fp16x4::BITS - value_bits);
                let known = 15 + n / 2;
                let entry = Entry::knowing((entry.bits() | value).into(), known);
                let [first, second] = [first, second].map(|position| position & ((1 << known) - 1));
                Key { entry, first, second }
            };
            for n in 0..2 * Fp16x4::SLOTS as u32 {
                assert_eq!(table.insert(relative(n)), Ok(()));
            }
            assert_eq!(table.insert(table.key(1)), Ok(()));
            assert_eq!(table.stashed_entries(), 1);
            assert_eq!(table.present(), 256);
        }
        check::<GrowingBuckets>(0);
        check::<GrowingBuckets<ValueBits>>(1);
    }

    /// A table that has refused many items takes as many as a new one, once there is room again.
    #[test]
    fn failed_inserts_are_forgotten() {
        let table = Table::<Fp16x4>::try_new(1 << 13, 1 << 13).unwrap();
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

    /// The stash counts no more copies of an item: growth would make no room for it, so the insert fails at once.
    #[test]
    fn no_growth_for_a_copy_too_many() {
        let table = Table::<Fp16x4, GrowingBuckets>::try_new(64, 1 << 20).unwrap();
        let key = table.key(1);
        (0..2 * Fp16x4::SLOTS).for_each(|_| table.insert(key).unwrap());
        assert_eq!(table.stash_copies(key, MAX_COPIES), Ok(true));
        let present = table.present();
        assert_eq!(table.insert(key), Err(InsertError::Full));
        assert_eq!((table.present(), table.count(key)), (present, 2 * Fp16x4::SLOTS + MAX_COPIES));
    }
}
