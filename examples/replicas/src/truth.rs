//! The exact truth: which items are in the set at which positions of the log.

use parking_lot::Mutex;

use crate::engine::Position;

/// The histories of all items that the log may name, by item.
///
/// Only one producer writes entries for an item. So these are add, remove, add, remove and so on, and
/// the producer knows the position of each.
pub struct Truth(Mutex<Vec<History>>);

#[derive(Clone, Default)]
struct History {
    /// The positions of the entries for an item: every other one, the first included, is an add.
    changes: Vec<Position>,
    /// An entry is on its way to the log, and its position is not known yet.
    pending: bool,
}

impl Truth {
    pub fn new(items: u64) -> Self {
        Self(Mutex::new(vec![History::default(); items as usize]))
    }

    /// Before an entry for this item is sent to the log. Returns whether the item is present, or
    /// `None` if another entry for it is on its way.
    pub fn begin_change(&self, item: u64) -> Option<bool> {
        let history = &mut self.0.lock()[item as usize];
        let present = (!history.pending).then_some(history.changes.len() % 2 == 1);
        history.pending = true;
        present
    }

    /// The entries are in the log.
    pub fn settle_changes(&self, items: &[u64], positions: &[Position]) {
        let mut histories = self.0.lock();
        for (&item, &position) in items.iter().zip(positions) {
            histories[item as usize].pending = false;
            histories[item as usize].changes.push(position);
        }
    }

    /// Whether the item was present at every position from the first to the second; `None` as long
    /// as an entry for it is on its way.
    ///
    /// A node may have applied an entry before its producer heard where it stands in the log. But it
    /// cannot have applied one that was not sent yet. So for an answer that has arrived, the history
    /// has all that the answer may depend on once no entry for the item is on its way.
    pub fn was_present(&self, item: u64, before: Position, after: Position) -> Option<bool> {
        let history = &self.0.lock()[item as usize];
        let until = |position| history.changes.partition_point(|&change| change <= position);
        let (first, last) = (until(before), until(after));
        (!history.pending).then_some(first == last && first % 2 == 1)
    }

    /// The items that are present after the last entry.
    pub fn present(&self) -> Vec<u64> {
        let histories = self.0.lock();
        let present = histories.iter().enumerate().filter(|(_, item)| item.changes.len() % 2 == 1);
        present.map(|(item, _)| item as u64).collect()
    }
}
