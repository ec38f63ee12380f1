//! The tables of expiring filters: their values are generations, of which the oldest is removed now and then.
//!
//! **Invariant**, for N generations: an entry that was stamped while generation n was present, and not again since
//! then, is in the table until the `advance` that begins generation n + N is called. When that call has returned, the
//! entry is gone.
//!
//! The *clock* ([`Clock`], one word, not the clock of the user) has the number of the present generation, and its
//! *stamp*: the value of the entries of this generation.
//!
//! **Insert.** A stamp is read under the stripe under which it is stored; in the stash, under the mutex of the shard as
//! well. So a writer that stops before it has the stripe, or the mutex, reads the stamp later. A writer that stops
//! while it holds the stripe stops the next `advance`, which sweeps this stripe (see [`sweep`](super::sweep)). So it
//! stores the stamp of the present generation, or of the one before. An older stamp of the item is replaced, in one
//! store under the stripe. The decision that the item has no entry is made under both stripes, as in
//! `insert_if_absent`: so an item that was seen within the window has one entry.
//!
//! An insert that finds the present stamp takes no lock. It reads the clock before the words: so it has seen the
//! removal of the entries that got the same stamp N generations ago. It reads the clock again after the words: if the
//! clock has moved on, the entry may be removed at any moment. The insert takes effect where it reads the clock last.
//!
//! **Advance.** It first removes the entries of the oldest generation, which have the stamp that comes next. Then it
//! publishes the next generation. No thread stores this stamp in between. (While nothing was ever stashed, there is no
//! mutex for the first entry. With two generations, the rules of the language then allow an old stamp: the item would
//! be remembered for too long. No processor that we know does this, since stripes are locked in between.)
//!
//! Lookups know nothing of generations: they find each entry in the table.

use core::ops::RangeInclusive;

use crate::error::InsertError;
use crate::layout::Encoding;
use crate::sizing::in_address_space;
use crate::sync::Ordering;
use crate::table::items::insert::Duplicates;
use crate::table::placing::entry::{ValueBits, Values};
use crate::table::placing::geometry::{Key, Place};
use crate::table::placing::{Placing, Read};
use crate::table::{Buckets, State, Table};

/// The numbers of generations that are allowed.
pub(crate) const COUNTS: RangeInclusive<u32> = 2..=256;

/// The rounds of `age` before it answers by the last one.
const MAX_AGE_ROUNDS: usize = 8;

/// Returns the number of bits of a value, for `count` generations.
pub(crate) const fn value_bits(count: u32) -> u32 {
    u32::BITS - (count - 1).leading_zeros()
}

/// The present generation.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 7 | its stamp: the value of its entries |
/// | 8 to 63 | its number, which wraps |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(u64);

impl Clock {
    const STAMP_BITS: u32 = 8;

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn stamp(self) -> u32 {
        self.0 as u32 & ((1 << Self::STAMP_BITS) - 1)
    }

    pub(crate) fn number(self) -> u64 {
        self.0 >> Self::STAMP_BITS
    }

    /// Returns the clock `generations` generations later, of `count` in all. The new stamp follows from the stamp and
    /// not from the number, which may wrap.
    fn after(self, generations: u64, count: u32) -> Self {
        let stamp = (u64::from(self.stamp()) + generations % u64::from(count)) % u64::from(count);
        Self(self.number().wrapping_add(generations) << Self::STAMP_BITS | stamp)
    }

    /// Returns how many generations ago the one with this stamp was present, of `count` in all.
    fn age(self, stamp: u32, count: u32) -> u32 {
        (self.stamp() + count - stamp) % count
    }
}

/// The generations of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generations {
    /// The number of generations, the present one included; 0 if the values are not generations.
    pub(crate) count: u32,
    pub(crate) clock: Clock,
}

/// The items to which an insert gives the present stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    Always,
    IfAbsent,
}

impl<B: Buckets> State<B> {
    /// Sets the generations of a table that no other thread has.
    pub(crate) fn with_generations(mut self, Generations { count, clock }: Generations) -> Self {
        self.generations = count;
        // Relaxed: no other thread has the table yet.
        self.shared.present.store(clock.bits(), Ordering::Relaxed);
        self
    }

    /// Returns the generations at this moment.
    pub(crate) fn generations(&self) -> Generations {
        Generations { count: self.generations, clock: self.clock() }
    }

    #[inline]
    pub(crate) fn clock(&self) -> Clock {
        // SeqCst: pairs with the store in `set_clock`. A thread that sees a generation sees that the entries which had
        // its stamp before were removed.
        Clock(self.shared.present.load(Ordering::SeqCst))
    }

    fn set_clock(&self, clock: Clock) {
        // SeqCst: a generation begins here. Pairs with the load in `clock`.
        self.shared.present.store(clock.bits(), Ordering::SeqCst);
    }
}

impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    /// Returns the key under which a new item is stored: in a table of generations, with the present stamp. Called
    /// while the stripe of its bucket is held, and for the stash also the mutex of the shard.
    #[inline]
    pub(in crate::table) fn stamped(self, key: Key, duplicates: Duplicates) -> Key {
        if !B::Values::ANY || duplicates != Duplicates::Stamp {
            return key;
        }
        self.with_value(key, self.clock().stamp())
    }
}

/// The operations on the items of a table of generations. Their keys have no value.
impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Gives the item the present stamp. Returns `Ok(true)` if the item was not there.
    #[inline]
    fn insert_stamped(self, key: Key) -> Result<bool, InsertError> {
        // Read before the words.
        let clock = self.clock();
        let read = self.read_valid(key);
        if read.holds_item(false) {
            let key = self.with_value(key, clock.stamp());
            if B::Placing::either_agrees(Read { key, ..read }, None) && self.clock() == clock {
                return Ok(false);
            }
        } else if self.store_absent(read, Duplicates::Stamp) {
            self.grow_if_loaded(key.places());
            return Ok(true);
        }
        self.insert_stamped_slow(key.places()[0])
    }

    /// Gives the item the present stamp, if (a) it has an older stamp, (b) it is stashed, or (c) its insert must kick.
    /// Starts over if another thread has changed the entry meanwhile. See [`Key`] for the argument.
    #[inline(never)]
    fn insert_stamped_slow(self, place: Place) -> Result<bool, InsertError> {
        let key = self.geometry().key_of(place);
        loop {
            // Read before the words, as in `insert_stamped`.
            let clock = self.clock();
            match self.youngest(key, clock) {
                Some((0, _)) => {
                    if self.clock() == clock {
                        return Ok(false);
                    }
                }
                Some((_, older)) => {
                    if self.restamp(self.with_value(key, older))? {
                        return Ok(false);
                    }
                }
                None => {
                    if self.insert_absent(key, Duplicates::Stamp)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Returns the age of the youngest stamp of the item, in generations before the one of `clock`, and the stamp.
    #[inline]
    fn youngest(self, key: Key, clock: Clock) -> Option<(u32, u32)> {
        self.find_least(key, |stamp| (clock.age(stamp, self.generations), stamp))
    }

    /// Inserts the item with the present stamp. Returns `Ok(false)` if it was there.
    #[inline]
    pub(crate) fn insert_with(self, key: Key, stamping: Stamping) -> Result<bool, InsertError> {
        let is_there = || match stamping {
            Stamping::Always => self.age(key) == Some(0),
            Stamping::IfAbsent => self.contains(key),
        };
        self.insert_absent_in_turn(is_there, || match stamping {
            Stamping::Always => self.insert_stamped(key),
            Stamping::IfAbsent => self.insert_absent(key, Duplicates::Stamp),
        })
    }

    /// Returns how many generations ago the item got its stamp.
    pub(crate) fn age(self, key: Key) -> Option<u32> {
        self.turns.take(|| self.age(key));
        let mut age = None;
        for _ in 0..MAX_AGE_ROUNDS {
            // Read before the words and after them: the age is counted from a generation that was present all the time.
            let clock = self.clock();
            let youngest = self.turns.in_this_turn(|| self.youngest(key, clock));
            age = youngest.map(|(age, _)| age);
            if self.clock() == clock {
                break;
            }
        }
        self.turns.acquire_if(|| age.is_some());
        age
    }

    /// Advances by one generation, unless the clock is no longer `clock`. Returns whether it has advanced.
    pub(crate) fn advance_from(self, clock: Clock) -> bool {
        self.turns.take_locked();
        let _removing = self.lock_removing();
        let is_present = self.clock() == clock;
        if is_present {
            self.advance_locked();
        }
        is_present
    }

    /// Begins `generations` further generations, and removes all entries whose generations end with that. If no entry
    /// stays, it empties the table in one pass: the number is then an estimate if other threads write. Returns the
    /// number of removed entries. In a user's model, the caller has a turn.
    pub(crate) fn advance_by(self, generations: u64) -> usize {
        let _removing = self.lock_removing();
        if generations < self.generations.into() {
            let advance = |generation| {
                if generation > 0 {
                    self.turns.take_to_change();
                }
                self.advance_locked()
            };
            return in_address_space((0..generations).map(advance).sum());
        }
        let removed = self.len();
        // An entry that is stored from then on has the stamp of the generation that is present then.
        self.clear_locked(|| self.set_clock(self.clock().after(generations, self.generations)));
        removed
    }

    /// Advances by one generation. The caller holds the removal mutex.
    fn advance_locked(self) -> u64 {
        let next = self.clock().after(1, self.generations);
        let removed = self.remove_value_locked(next.stamp());
        self.set_clock(next);
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_a_number_of_generations_needs() {
        let expected = [(2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (17, 5), (129, 8), (256, 8)];
        for (count, bits) in expected {
            assert_eq!(value_bits(count), bits, "{count}");
        }
    }

    /// Each step gives the next stamp, also if the number wraps. Several steps at once are as one after the other.
    #[test]
    fn a_clock_goes_on_by_its_stamp() {
        for count in COUNTS {
            for number in [0, u64::MAX >> Clock::STAMP_BITS] {
                let start = Clock(number << Clock::STAMP_BITS | u64::from(count - 1));
                let mut clock = start;
                for steps in 1..=2 * u64::from(count) {
                    let last = clock;
                    clock = clock.after(1, count);
                    assert_eq!(clock, start.after(steps, count));
                    assert_eq!(clock.stamp(), (last.stamp() + 1) % count);
                    let wrapped = (last.number() + 1) & (u64::MAX >> Clock::STAMP_BITS);
                    assert_eq!(clock.number(), wrapped);
                    assert_eq!(clock.age(last.stamp(), count), 1);
                    assert_eq!(clock.age(clock.stamp(), count), 0);
                    let oldest = clock.after(1, count).stamp();
                    assert_eq!(clock.age(oldest, count), count - 1);
                }
            }
        }
    }
}
