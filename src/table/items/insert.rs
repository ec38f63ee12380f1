//! Inserts: into a free slot, or by kicking along a path to one.
//!
//! **Invariant:** an entry is stored under the stripe of its bucket, and one that is to be the only one of its item
//! under the stripes of both, where the item was looked for again.

use core::hint::select_unpredictable;

use super::path::{self, FIRST_SEARCH_BUCKETS, MAX_SEARCH_BUCKETS, Node, Search};
use crate::error::InsertError;
use crate::layout::{Encoding, both};
use crate::sync::{Backoff, Ordering};
use crate::table::buckets::stripes::{Locked, SAMPLE, Stripe, Stripes};
use crate::table::placing::entry::Entry;
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Bucket, OUT_OF_CACHE_BUCKETS, Placing, Read};
use crate::table::{Attempt, Buckets, MAX_OPTIMISTIC_ATTEMPTS, Table};

/// Searches are short from one stashed entry in so many slots on: they would open hundreds of buckets, most of them in
/// vain.
const MUCH_STASHED: usize = 1024;
/// A table is taken for one that is not full if a sample of it has less than this share of what a full one has. The load
/// of a sample mostly is within a hundredth of that of the table.
const CLEARLY_BELOW: f64 = 0.96;

/// What an insert does if the table holds its item already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::table) enum Duplicates {
    /// Stores one more.
    Allow,
    /// Stores nothing. In a maplet, whatever the value is.
    Reject,
    /// As `Reject`. In a maplet the value counts, too.
    RejectPair,
    /// As `Reject`, in a table of [generations](crate::table::whole::generations): what is stored of a new item has the present
    /// stamp.
    Stamp,
}

impl Duplicates {
    /// Whether only an entry with the value of the item is a duplicate.
    fn with_value(self) -> bool {
        self == Self::RejectPair
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// One more copy of the item.
    // Always inlined: as a call, the key would pass through memory.
    #[inline(always)]
    pub(crate) fn insert(self, key: Key) -> Result<(), InsertError> {
        let storing = self.turns.take_to_store();
        let inserted = self.insert_entry(key);
        storing.release_if(|| inserted.is_ok());
        inserted.map(|_| ())
    }

    /// One more entry. Says where it is stored, or that less is known of its position than its buckets tell, as never of
    /// that of an item.
    #[inline(always)]
    pub(in crate::table) fn insert_entry(self, key: Key) -> Result<Attempt, InsertError> {
        let places = key.places();
        let buckets = self.locate(places);
        // Both stripes, before the words have come: the words only choose between them.
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

    /// One entry more at this place, whose bucket was this one a moment ago, with this stripe of those. `false`: the
    /// bucket is full, or the place has another bucket or stripe meanwhile.
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

    /// Requests the words at which a search looks first, if an insert of `key` is going to need one.
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

    /// Requests the words at which [`path::first_step`] looks. Apart: in small tables it is not called.
    #[inline(never)]
    fn prefetch_first_step(self, buckets: [Bucket<B::Placing>; 2], words: [F; 2]) {
        for at in 0..2 {
            path::prefetch_others(&self.buckets, buckets[at], words[at]);
        }
    }

    /// The item, unless it is there. `Ok(false)`: it was.
    #[inline]
    pub(crate) fn insert_if_absent(self, key: Key) -> Result<bool, InsertError> {
        let is_there = || self.contains(key);
        self.insert_absent_in_turn(is_there, || self.insert_absent(key, Duplicates::Reject))
    }

    /// The item, unless it is there with this value. `Ok(false)`: it was.
    pub(crate) fn insert_pair_if_absent(self, key: Key) -> Result<bool, InsertError> {
        let is_there = || self.contains_pair(key);
        self.insert_absent_in_turn(is_there, || self.insert_absent(key, Duplicates::RejectPair))
    }

    /// Calls an insert of what is absent: in a user's model, as one step, which changes nothing if the item `is_there`.
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

    /// As `insert_if_absent`, with duplicates that are rejected.
    // Always inlined: how duplicates are rejected is known at compile time.
    #[inline(always)]
    pub(in crate::table) fn insert_absent(
        self,
        key: Key,
        duplicates: Duplicates,
    ) -> Result<bool, InsertError> {
        let read = self.read_valid(key);
        // SeqCst loads, so the answer is right without a lock: two threads that each remove the
        // last copy but one and then look cannot both see the copy that the other removed.
        if read.holds_item(duplicates.with_value()) {
            return Ok(false);
        }
        if self.store_absent(read, duplicates) {
            self.grow_if_loaded(key.places());
            return Ok(true);
        }
        let Key { entry, first, second } = key;
        let ended = self.insert_slow(entry, first, second, duplicates)?;
        Ok(ended != Attempt::Duplicate)
    }

    /// An item that neither of these words holds, into the emptier bucket. `false`: both are full, or somebody else
    /// has changed something meanwhile, or something of its group is stashed.
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
        // Both stripes: whoever inserts the same item waits, or has done so before.
        let locked = self.lock_stripes(both(buckets, Bucket::number));
        let place = Place::select(in_first, self.stamped(key, duplicates).places());
        let placement = self.buckets.placement();
        let is_same = buckets.iter().all(|&bucket| bucket.is_of(placement))
            && (0..2).all(|at| self.locked_word(buckets[at].number()).bits() == words[at].bits());
        is_same
            && !self.versions().any_stashed(self.geometry().version_group(key))
            && self.store_in(&locked, select_unpredictable(in_first, buckets[0], buckets[1]), place)
    }

    /// An insert that may have to kick, or to let the table grow.
    ///
    /// Says where it is stored, that there was a copy, or that too little is known, as `insert_entry`. See [`Key`] for the
    /// arguments.
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

    /// Into the table as large as it is. Repeats: look without a lock, decide under the stripes of
    /// both buckets, make room by kicking. Each attempt that fails was overtaken by another writer's
    /// success. After [`MAX_OPTIMISTIC_ATTEMPTS`] of them it stashes what has no room, which nobody overtakes.
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

    /// One optimistic attempt.
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
        // So that the cache misses of the search overlap. In a small table it would cost more than it gains.
        if self.present() >= OUT_OF_CACHE_BUCKETS {
            self.prefetch_first_step(buckets, words);
        }
        let kicked = match path::first_step(&self.buckets, buckets, words) {
            Some((hop, buckets)) => self.last_hop(hop, buckets, key, duplicates),
            // The other buckets of copies are these two, so this was all that a search finds. Mostly there is none,
            // which is seen sooner.
            None if hold_only_copies(read) => Attempt::NoRoom,
            None => self.kick(key, duplicates),
        };
        match kicked {
            Attempt::NoRoom => self.insert_without_kicks(key, duplicates),
            ended => ended,
        }
    }

    /// An insert that nobody can overtake: into a bucket, or the stash, and without a kick. `NoRoom`: it would be a new
    /// entry of the stash, and there are as many entries as a full table has.
    fn insert_without_kicks(self, key: Key, duplicates: Duplicates) -> Attempt {
        let places = key.places();
        let buckets = self.locate(places);
        // While no stripe is held: the cells may have to be replaced. Others may take the room before the stripes are
        // held; then it is made under them.
        let reserved = self.reserve_in_stash(key);
        let (locked, buckets) = self.lock(places, buckets);
        // First it looks again: the search held no lock, and others may have moved this very item meanwhile.
        match self.try_place_locked(&locked, buckets, key, duplicates) {
            Attempt::NoRoom => match reserved {
                Ok(()) => {
                    let stamped = self.stamped(key, duplicates);
                    let stashed = self.put_in_stash(&mut self.lock_cells(key), stamped, 1);
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

    /// Inserts, or says why not, under the stripes of both buckets.
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

    /// Searches a path to a free slot and moves the entries along it, the last of them to
    /// make way for the new item.
    ///
    /// A table at the load where tables of its layout become full gives up after a short search, and so does one that
    /// has stashed much. The answer depends on its entries alone.
    fn kick(self, key: Key, duplicates: Duplicates) -> Attempt {
        match self.kick_within::<FIRST_SEARCH_BUCKETS>(key, duplicates) {
            Some(attempt) => attempt,
            None if self.stashes_much() || self.looks_full() => Attempt::NoRoom,
            None => self.kick_far(key, duplicates),
        }
    }

    /// Whether there are as many entries as in a table that is full. Beside other threads it
    /// may be wrong by what they do meanwhile.
    pub(in crate::table) fn looks_full(self) -> bool {
        let (full, stashed) = (self.full_entries(), self.stashed_entries() as f64);
        // Mostly a sample tells: to add up all stripes of a large table takes as long as a hundred inserts.
        let buckets = self.present();
        let sampled = self.stripes().load_near(0, buckets, SAMPLE) * buckets as f64;
        sampled + stashed >= CLEARLY_BELOW * full
            && self.stripes().occupied_hint() as f64 + stashed >= full
    }

    /// The entries with which the table is full, as large as it is.
    pub(in crate::table) fn full_entries(self) -> f64 {
        self.buckets.full(F::ID.properties().full) * self.slots() as f64
    }

    /// Whether so many entries found no room that most long searches are in vain.
    fn stashes_much(self) -> bool {
        self.stashed_entries() * MUCH_STASHED > self.slots()
    }

    /// Apart, so that the common kick does not pay for the large queue.
    #[inline(never)]
    fn kick_far(self, key: Key, duplicates: Duplicates) -> Attempt {
        self.kick_within::<MAX_SEARCH_BUCKETS>(key, duplicates).unwrap_or(Attempt::NoRoom)
    }

    /// `None`: a queue of `N` buckets is too short to find a path.
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

    /// One hop in the middle of a path, complete in itself. `false`: it is stale.
    fn hop(self, hop: Key) -> bool {
        let places = hop.places();
        let (locked, buckets) = self.lock(places, self.locate(places));
        self.relocate(&locked, hop, buckets, None)
    }

    /// The hop out of a bucket of the new item, and the item into the slot that it leaves, in one
    /// step: nobody can steal the slot. `buckets` is where the hop led a moment ago.
    fn last_hop(
        self,
        hop: Key,
        buckets: [Bucket<B::Placing>; 2],
        key: Key,
        duplicates: Duplicates,
    ) -> Attempt {
        let hop_places = hop.places();
        if duplicates == Duplicates::Allow {
            let (locked, buckets) = self.lock(hop_places, buckets);
            return self.last_hop_locked(&locked, hop, buckets, key, duplicates);
        }
        // That there is no copy yet must be exact: both buckets of the item are locked as well.
        let [first, second] = key.places();
        let places = [first, second, hop_places[1]];
        let (locked, [_, _, to]) = self.lock(places, self.locate(places));
        let [from, _] = self.locate(hop_places);
        self.last_hop_locked(&locked, hop, [from, to], key, duplicates)
    }

    /// With the buckets of the hop as they are while the stripes are held.
    fn last_hop_locked<G>(
        self,
        locked: &Locked<'_, G>,
        hop: Key,
        [from, to]: [Bucket<B::Placing>; 2],
        key: Key,
        duplicates: Duplicates,
    ) -> Attempt {
        // The place with the parity of the one that becomes free.
        let is_first = (hop.first ^ key.first) & 1 == 0;
        let newcomer = Place::select(is_first, self.stamped(key, duplicates).places());
        // After a split, what was to move and what was to take its place may be in different buckets.
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

/// Whether as much is known of an entry as both of its buckets tell.
pub(in crate::table) fn is_known_by<F: Encoding, P: Placing>(
    places: [Place; 2],
    buckets: [Bucket<P>; 2],
) -> bool {
    (0..2).all(|at| buckets[at].slot::<F>(places[at]).is_some())
}

/// Whether both words hold nothing but items that no growth parts from this one, most likely copies of it: a search
/// would move them to and fro.
#[inline]
fn hold_only_copies<F: Encoding, P: Placing>(read: Read<F, P>) -> bool {
    let Read { key, buckets, words } = read;
    let places = key.places();
    read.holds_item(false)
        && (0..2)
            .all(|at| buckets[at].copies(words[at], places[at], buckets[at].below()) == F::SLOTS)
}

/// Whether the first of two words is the one with more free slots, and that word. An insert into the emptier bucket
/// makes for several times fewer kicks from half load on. No branch: no processor could predict it.
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
    use crate::table::buckets::growing::GrowingBuckets;
    use crate::table::placing::entry::ValueBits;

    type Fp16x4 = Packed<16, 4>;

    fn words(table: Table<'_, Fp16x4>) -> Vec<u64> {
        let words = (0..table.present()).map(table.buckets.words());
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// The kicks of a fixed fill and the buckets that its searches open, as they were counted: an
    /// insert that did not take the emptier bucket would kick more.
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

    /// The inserts of each quarter of a level of growth and the buckets that their searches open, as they
    /// were counted: most in the second quarter, when most buckets are not split yet and full.
    #[test]
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
        let counted = [(25_181, 8406), (24_794, 12_686), (24_699, 10_574), (25_220, 7086)];
        assert_eq!(quarters, counted);
    }

    /// The buckets that fixed searches of small tables open, as they were counted: a search that
    /// queued the buckets of its own path again would open more.
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

    /// A table that is as full as tables become says so after opening a few buckets for each insert;
    /// one that is less full searches on.
    #[test]
    fn a_full_table_says_so_after_a_short_search() {
        let table = Table::<Fp16x4>::try_new(1 << 14, 1 << 14).unwrap();
        let mut hashes = 0..;
        // Whether it was stored, and how many buckets were opened.
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

    /// The answer to an insert depends on the words alone: not on inserts that failed before.
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

    /// Entries that know less of their position, or have another value, are not copies of an item, but no growth parts
    /// them from it: a growing table does not grow for one more of them.
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

    /// A table that has refused many items takes as much as a new one, once there is room again.
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
}
