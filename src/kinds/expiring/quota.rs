//! Ends generations by the number of their new items.
//!
//! **Invariant:** each `items` new items that are counted end at most one generation.
//!
//! An insert adds the number of its new items to the count. The insert that raises the count to `items` or above ends
//! the generation, and then subtracts `items` from the count. If `items` or more remain, it ends another generation.
//! Inserts of other threads only add meanwhile. So while a thread ends generations, the count stays at `items` or
//! above, and no other thread subtracts from it or resets it.
//!
//! If a generation ends for another reason (its time, a full table, a call), the count is reset, unless it has just
//! reached `items`. In that case, the thread that raised it finds that the generation of its items has ended already,
//! and does not end another one.

use crate::sync::{AtomicU64, Ordering};

pub(crate) struct Quota {
    /// The number of new items after which a generation ends: 1 or more.
    items: u64,
    /// The count: the number of new items of the present generation. It is `items` or more only while a thread ends
    /// generations.
    new: AtomicU64,
}

impl Quota {
    /// Returns a quota that ends a generation after `items` new items, at least 1.
    pub(crate) fn new(items: usize) -> Self {
        Self { items: items as u64, new: AtomicU64::new(0) }
    }

    /// Returns a quota with the same count, for a copy of the table.
    pub(crate) fn copy(&self) -> Self {
        // Relaxed, here and below: a number that orders nothing. Locks order the end of a generation.
        let new = self.new.load(Ordering::Relaxed);
        Self { items: self.items, new: AtomicU64::new(new % self.items) }
    }

    /// Returns the number of new items after which a generation ends.
    pub(crate) fn items(&self) -> usize {
        // Lossless: `new` got it as a `usize`.
        self.items as usize
    }

    /// Counts `stored` new items. Calls `end` for each generation that has all its items.
    #[inline]
    pub(crate) fn count(&self, stored: usize, end: impl FnMut()) {
        let before = self.new.fetch_add(stored as u64, Ordering::Relaxed);
        if before < self.items && before + stored as u64 >= self.items {
            self.end_each(end);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_each(&self, mut end: impl FnMut()) {
        loop {
            end();
            let before = self.new.fetch_sub(self.items, Ordering::Relaxed);
            if before < 2 * self.items {
                return;
            }
        }
    }

    /// Resets the count, after a generation has ended for another reason.
    pub(crate) fn restart(&self) {
        let mut new = self.new.load(Ordering::Relaxed);
        while new < self.items {
            match self.new.compare_exchange(new, 0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(changed) => new = changed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn one_end_for_each_number_of_items() {
        for items in 1..10 {
            let quota = Quota::new(items);
            let (mut stored, mut ended) = (0, 0);
            for batch in (0..200).map(|n| n % 4) {
                quota.count(batch, || ended += 1);
                stored += batch;
                assert_eq!(ended, stored / items, "{items}");
            }
            assert_eq!(quota.copy().new.load(Ordering::Relaxed), (stored % items) as u64);
        }
    }

    #[test]
    fn what_was_counted_ends_with_its_generation() {
        let quota = Quota::new(3);
        let mut ended = 0;
        quota.count(2, || ended += 1);
        quota.restart();
        quota.count(2, || ended += 1);
        assert_eq!(ended, 0);
        quota.count(1, || ended += 1);
        assert_eq!(ended, 1);
        // While a thread ends a generation, nothing resets the count. Items that others count belong to the next one.
        quota.count(3, || {
            quota.restart();
            if ended == 1 {
                quota.count(4, || unreachable!("another thread does"));
            }
            ended += 1;
        });
        assert_eq!((ended, quota.new.load(Ordering::Relaxed)), (3, 1));
    }

    #[test]
    fn threads_end_as_many_as_their_items_are_for() {
        const EACH: usize = 10_000;
        for items in [1, 7, 100] {
            let (quota, ended) = (&Quota::new(items), &AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..EACH {
                            quota.count(1, || _ = ended.fetch_add(1, Ordering::Relaxed));
                        }
                    });
                }
            });
            assert_eq!(ended.load(Ordering::Relaxed), 4 * EACH / items);
        }
    }
}
