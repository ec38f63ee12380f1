//! The exact truth: which items are in the set at which positions of the log.

use std::sync::{Mutex, PoisonError};

use crate::engine::Position;

/// The histories of all items that the log may name.
///
/// An item belongs to one producer, and only this one writes entries for it. So the entries for an
/// item are add, remove, add, remove and so on, and the producer knows the position of each.
pub struct Truth {
    /// Of each producer. Item `n` belongs to producer `n % producers`.
    histories: Vec<Mutex<Vec<History>>>,
}

#[derive(Clone, Default)]
struct History {
    /// The positions of the entries for an item: every other one, the first included, is an add.
    changes: Vec<Position>,
    /// An entry is on its way to the log, and its position is not known yet.
    pending: bool,
}

impl History {
    fn changes_until(&self, position: Position) -> usize {
        self.changes.partition_point(|&change| change <= position)
    }

    fn is_present(&self) -> bool {
        self.changes.len() % 2 == 1
    }
}

/// What is to be said of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the right one, or a false positive.
    Right,
    /// The item was present at every position that the answer may stand for, and was not found.
    Missed,
    /// The item was added or removed in between: both answers are right.
    Either,
}

impl Truth {
    pub fn new(items: u64, producers: u64) -> Self {
        let of_each = items.div_ceil(producers) as usize;
        let histories = (0..producers).map(|_| Mutex::new(vec![History::default(); of_each]));
        Self { histories: histories.collect() }
    }

    fn with<T>(&self, item: u64, then: impl FnOnce(&mut History) -> T) -> T {
        let producers = self.histories.len() as u64;
        let histories = &self.histories[(item % producers) as usize];
        let mut histories = histories.lock().unwrap_or_else(PoisonError::into_inner);
        then(&mut histories[(item / producers) as usize])
    }

    /// Before an entry for this item is sent to the log. Returns whether the item is present, or
    /// `None` if another entry for it is on its way.
    pub fn begin_change(&self, item: u64) -> Option<bool> {
        self.with(item, |history| {
            if history.pending {
                return None;
            }
            history.pending = true;
            Some(history.is_present())
        })
    }

    /// The entry is in the log.
    pub fn settle_change(&self, item: u64, position: Position) {
        self.with(item, |history| {
            history.pending = false;
            history.changes.push(position);
        });
    }

    /// Judges an answer that has arrived; `None` as long as that is not possible.
    ///
    /// A node may have applied an entry before its producer heard where it stands in the log. But it
    /// cannot have applied one that was not sent yet. So once the answer is here and no entry for the
    /// item is on its way, the history has all that the answer may depend on.
    pub fn judge(
        &self,
        item: u64,
        before: Position,
        after: Position,
        found: bool,
    ) -> Option<Verdict> {
        self.with(item, |history| {
            if history.pending {
                return None;
            }
            let changes = history.changes_until(before);
            Some(if history.changes_until(after) != changes {
                Verdict::Either
            } else if changes % 2 == 1 && !found {
                Verdict::Missed
            } else {
                Verdict::Right
            })
        })
    }

    /// The items that are present after the last entry.
    pub fn present(&self) -> Vec<u64> {
        let producers = self.histories.len() as u64;
        let mut present = Vec::new();
        for (producer, histories) in (0..).zip(&self.histories) {
            let histories = histories.lock().unwrap_or_else(PoisonError::into_inner);
            let of_this = (0..).zip(histories.iter()).filter(|(_, history)| history.is_present());
            present.extend(of_this.map(|(index, _): (u64, _)| index * producers + producer));
        }
        present
    }
}
