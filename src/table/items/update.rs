//! Updates of a value: a read, the user's function without a lock, and a store.
//!
//! **Invariant:** a new value is stored under a stripe, where the old value is found again. A first value is inserted
//! under both stripes of its key, where the key is found to have no value.
//!
//! Mostly a key has one value or none, and its buckets are searched once: the result still holds if both words are the
//! same under the stripe. So a new value takes the path of the removal of the only entry of an item
//! ([`change_unchanged`](Table::change_unchanged)), and a first value takes the path of `insert_if_absent`.

use super::insert::Duplicates;
use super::remove::Change;
use crate::error::InsertError;
use crate::layout::{Encoding, Matches};
use crate::table::placing::Read;
use crate::table::placing::entry::ValueBits;
use crate::table::placing::geometry::{Key, Place};
use crate::table::{Buckets, Table};

/// The user's function: returns the new value in place of a value, `None` to leave it, or the error of a new value that
/// does not fit.
///
/// A reference, so that updates are compiled once, and not for each function.
pub(crate) type NewValue<'a> = &'a mut dyn FnMut(u32) -> Result<Option<u32>, InsertError>;

impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    /// Replaces a value of a key of a maplet by `new(value)`. If the key has no value, inserts `first`, if given.
    /// Returns the value that was there before. After an error nothing has changed.
    #[inline(always)]
    pub(crate) fn update(
        self,
        key: Key,
        first: Option<u32>,
        new: NewValue<'_>,
    ) -> Result<Option<u32>, InsertError> {
        self.turns.take(|| self.find_least(key, |value| value));
        let version = self.versions().read(self.geometry().version_group(key));
        let read = self.read_valid(key);
        let matches = read.only_of_key();
        // Only the answer that the key has no value needs this check. In the other cases it saves a lock: if it fails,
        // mostly something of the key is stashed, and `change_unchanged` would change nothing.
        let is_overtaken = match matches {
            _ if !self.is_complete(key, version) => false,
            Matches::One(only) => {
                let old = self.value_in(only.slot.bits());
                self.turns.acquire_if(|| true);
                let Some(value) = new(old)? else {
                    return Ok(Some(old));
                };
                let pair = self.with_value(key, old);
                let change = Change::Replace(value);
                let is_replaced = self.replace_in_turn(pair, || {
                    if self.change_unchanged::<true>(Read { key: pair, ..read }, only, change) {
                        return Ok(true);
                    }
                    self.change_slow(pair.places()[0], change)
                })?;
                if is_replaced {
                    return Ok(Some(old));
                }
                true
            }
            Matches::None => {
                let Some(first) = first else {
                    return Ok(None);
                };
                let read = Read { key: self.with_value(key, first), ..read };
                let insert = || self.insert_unseen(read, Duplicates::Reject);
                if self.insert_absent_in_turn(|| self.contains(key), insert)? {
                    return Ok(None);
                }
                true
            }
            Matches::Several => false,
        };
        self.update_slow(key.places()[0], first, new, is_overtaken)
    }

    /// Continues an update that did not end at once: another thread has overtaken it, the key has several values,
    /// something of its group was moved, or something of the key may be stashed. Searches twice: for the least value of
    /// the key, and for the pair of this value. An update that was not overtaken has a turn already. See [`Key`] for
    /// the first argument.
    #[cold]
    #[inline(never)]
    fn update_slow(
        self,
        place: Place,
        first: Option<u32>,
        new: NewValue<'_>,
        mut is_overtaken: bool,
    ) -> Result<Option<u32>, InsertError> {
        let key = self.geometry().key_of(place);
        // No bound is needed: each time that this thread is overtaken, another thread, or `new` itself, has inserted,
        // changed or removed a value of the key.
        loop {
            let least = || self.find_least(key, |value| value);
            if is_overtaken {
                self.turns.take(least);
            }
            is_overtaken = true;
            let least = self.turns.in_this_turn(least);
            self.turns.acquire_if(|| least.is_some());
            let Some(old) = least else {
                let Some(first) = first else {
                    return Ok(None);
                };
                if self.insert_if_absent(self.with_value(key, first))? {
                    return Ok(None);
                }
                continue;
            };
            let Some(value) = new(old)? else {
                return Ok(Some(old));
            };
            if self.replace(self.with_value(key, old), value)? {
                return Ok(Some(old));
            }
        }
    }
}
