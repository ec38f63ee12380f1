//! Ends generations by the number of their new items.
//!
//! **Invariant:** each `items` new items that are counted end at most one generation.
//!
//! An insert adds the number of its new items to the count. The insert that raises the count to `items` or above ends
//! the generation. Then it stores how many of its own items are left: those are the first of the next generation. While
//! a thread ends a generation, the count stays at `items` or above. So no other thread ends a generation by the count,
//! or resets the count. Items that other threads count meanwhile belong to the generation that ends.
//!
//! If a generation ends for another reason (its time, a full table, a call), the count is reset, unless it has just
//! reached `items`. In that case, the thread that raised it finds that the generation of its items has ended already,
//! and does not end another one.

use crate::sync::{AtomicU64, Ordering};

pub(crate) struct Quota {
    /// The number of new items after which a generation ends: 1 or more.
    items: u64,
    /// The count: the number of new items of the present generation. It is `items` or more only while a thread ends the
    /// generation.
    new: AtomicU64,
}

impl Quota {
    /// Returns a quota that ends a generation after `items` new items, at least 1.
    pub(crate) fn new(items: usize) -> Self {
        Self { items: items as u64, new: AtomicU64::new(0) }
    }

    /// Returns a quota with the same count; with 0 while a thread ends the generation.
    pub(crate) fn copy(&self) -> Self {
        // Relaxed, here and below: a number that orders nothing. Locks order the end of a generation.
        let new = self.new.load(Ordering::Relaxed);
        Self { items: self.items, new: AtomicU64::new(if new < self.items { new } else { 0 }) }
    }

    /// Returns the number of new items after which a generation ends.
    pub(crate) fn items(&self) -> usize {
        // Lossless: `new` got it as a `usize`.
        self.items as usize
    }

    /// Returns how many new items end the generation, at least 1: those of a whole generation while a thread ends one.
    pub(crate) fn left(&self) -> usize {
        let new = self.new.load(Ordering::Relaxed);
        // Lossless: at most the `usize` that `new` got.
        (if new < self.items { self.items - new } else { self.items }) as usize
    }

    /// Counts `stored` new items, at most `items`. Calls `end` if the generation has all its items.
    #[inline]
    pub(crate) fn count(&self, stored: usize, end: impl FnOnce()) {
        // The insert of an item that is remembered writes nothing that all threads share.
        if stored == 0 {
            return;
        }
        let before = self.new.fetch_add(stored as u64, Ordering::Relaxed);
        let now = before + stored as u64;
        if before < self.items && now >= self.items {
            let _left = Left { count: &self.new, items: now - self.items };
            end();
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

/// Stores on drop how many items are left for the next generation: also if `end` panics, as the clock of a user may.
struct Left<'a> {
    count: &'a AtomicU64,
    items: u64,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        // Not a store: loom orders a swap among the additions, but not a store.
        self.count.swap(self.items, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    /// A copy that is made while a generation ends begins with the next one.
    #[test]
    fn a_copy_while_a_generation_ends() {
        let quota = Quota::new(3);
        let mut ended = false;
        quota.count(3, || {
            assert_eq!(quota.copy().new.load(Ordering::Relaxed), 0);
            ended = true;
        });
        assert!(ended);
    }

    #[test]
    fn one_end_for_each_number_of_items() {
        for items in 1..10 {
            let quota = Quota::new(items);
            let (mut stored, mut ended) = (0, 0);
            for batch in (0..200).map(|n| n % 4).filter(|&batch| batch <= items) {
                quota.count(batch, || ended += 1);
                stored += batch;
                assert_eq!(ended, stored / items, "{items}");
            }
            assert_eq!(quota.copy().new.load(Ordering::Relaxed), (stored % items) as u64);
        }
    }

    #[test]
    fn counts_end_with_their_generation() {
        let quota = Quota::new(3);
        let mut ended = 0;
        quota.count(2, || ended += 1);
        quota.restart();
        quota.count(2, || ended += 1);
        assert_eq!(ended, 0);
        quota.count(1, || ended += 1);
        assert_eq!(ended, 1);
        // While a thread ends a generation, nothing resets the count. Items that others count belong to the generation
        // that ends, and its own items that are left to the next one.
        quota.count(2, || ended += 1);
        quota.count(2, || {
            quota.restart();
            quota.count(3, || unreachable!("another thread does"));
            ended += 1;
        });
        assert_eq!((ended, quota.new.load(Ordering::Relaxed)), (2, 1));
    }

    /// If the end of a generation panics, the next items end the next one.
    #[test]
    fn items_are_counted_after_a_panic() {
        let quota = Quota::new(3);
        quota.count(2, || unreachable!());
        let ending = AssertUnwindSafe(|| quota.count(2, || resume_unwind(Box::new(()))));
        assert!(catch_unwind(ending).is_err());
        let mut ended = 0;
        quota.count(1, || unreachable!());
        quota.count(1, || ended += 1);
        assert_eq!(ended, 1);
    }

    #[test]
    fn threads_end_no_more_than_their_items_are_for() {
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
            let ended = ended.load(Ordering::Relaxed);
            assert!((1..=4 * EACH / items).contains(&ended), "{ended}");
        }
    }
}
