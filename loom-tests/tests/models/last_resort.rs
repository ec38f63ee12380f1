//! Operations after too many optimistic attempts. Scripted: in every attempt, other operations run between two steps of
//! the operation and make the attempt fail. One execution each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::probe::{self, Maplet, Step};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{Growing, ThereAndBack, last_slot_in, scripted};

models! {
    removal_overtaken_in_every_attempt = removal(Setup::<L>::new(4), (0, 3), 0);
    // Here lookups and removals read bucket 3 first. The last resort looks first at the bucket without the item in one
    // of the two models, and at the one with it in the other.
    removal_overtaken_in_every_attempt_the_other_way = removal(Setup::<L>::new(4), (3, 0), 0);
    insert_overtaken_in_every_attempt
    insert_that_finds_room_in_the_end
    insert_if_absent_overtaken_in_every_attempt
    insert_if_absent_of_an_item_that_turns_up
}

models_of_three! {
    stamp_overtaken_in_every_attempt
}

growing_models! {
    // Four buckets at first, of which three are split, and nothing has gone. When the last resort knows the buckets of
    // the item and has no stripe yet, the fourth one is split, and the item goes with it: the last resort must compute
    // its buckets again.
    removal_whose_bucket_is_split = removal(Growing::<L>::growable(4, 8).split(3), (0, 7), 1);
    removal_whose_bucket_is_split_the_other_way =
        removal(Growing::<L>::growable(4, 8).split(3), (7, 0), 1);
    removal_of_the_longer_of_two_entries = removal_of_the_longer::<L>(|item| item);
    removal_of_the_longer_of_two_entries_the_other_way = removal_of_the_longer::<L>(Item::swapped);
    // The new bucket is empty: all other items stay.
    insert_whose_bucket_is_split = insert_beside_a_split::<L>(1, 0);
    // The new bucket is full: all other items go, and the last resort stashes the item.
    insert_whose_bucket_is_split_and_full = insert_beside_a_split::<L>(5, 1);
}

/// The number of optimistic attempts of `insert_slow` and `remove_slow`.
const MAX_OPTIMISTIC_ATTEMPTS: usize = 64;

/// What a script has seen.
#[derive(Default)]
struct Seen {
    /// The number of attempts that the script made fail.
    attempts: AtomicUsize,
    /// The number of locks that the last resort took.
    locks: AtomicUsize,
}

/// What the attempt before the slow path does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// The same as the others, except that it does not load the version: in a table of fixed size.
    AsOthers,
    /// In a growing table where the item has one entry: it loads only both words under its lock.
    ComparesWords,
    /// In a growing table where the item has several entries: it takes no lock.
    TakesNoLock,
}

/// Calls `script` in every attempt of the next removal of this thread: with `true` when the attempt has seen its item,
/// with the load of number `seen_at`; and with `false` when the next attempt begins. If that call returns `true`, it is
/// the last resort. `script` also gets the number of attempts.
fn overtake_removals(
    seen_at: isize,
    first: First,
    mut script: impl FnMut(bool, usize) -> bool + 'static,
) -> Arc<Seen> {
    let seen = Arc::new(Seen::default());
    let counts = Arc::clone(&seen);
    // Without the version.
    let mut loads = if first == First::TakesNoLock { 1 - seen_at } else { 1 };
    probe::after_each_step(move |step| match step {
        Step::Load => {
            loads += 1;
            let attempts = counts.attempts.load(Ordering::Relaxed);
            if loads == seen_at {
                script(true, attempts);
                counts.attempts.fetch_add(1, Ordering::Relaxed);
            } else if loads == 1 && script(false, attempts) {
                loads = isize::MIN;
            }
        }
        // The lock of an attempt. The attempt loads some words and the version once more, and fails.
        Step::Lock if loads >= seen_at => {
            let is_shorter =
                first == First::ComparesWords && counts.attempts.load(Ordering::Relaxed) == 1;
            loads = 1 - seen_at + isize::from(is_shorter);
        }
        // A lock without a look before it: the last resort.
        Step::Lock => {
            counts.locks.fetch_add(1, Ordering::Relaxed);
            loads = isize::MIN;
        }
        Step::Store | Step::Add | Step::Allocate => {}
    });
    seen
}

/// In every attempt, the item is seen in one bucket and moved to the other before the removal has its lock. Then the
/// removal locks both stripes. The item is now in one of the two buckets, depending on where it was at the start. So a
/// removal that looks at only one bucket fails in one of the two directions.
fn removal<M: Subject>(setup: Setup<M>, buckets: (usize, usize), splits: usize) {
    let (setup, [moved, new, back, ..]) = last_slot_in(setup, buckets);
    scripted(setup, move |t| {
        // At the start the item is in 0.
        let mut there_and_back = ThereAndBack::new(t, new, back);
        // The version and both words are loaded, and in a growing table the extent.
        let first = if splits > 0 { First::ComparesWords } else { First::AsOthers };
        let seen = overtake_removals(3 + splits.cast_signed(), first, move |is_seen, attempts| {
            let is_last = !is_seen && attempts == 1 + MAX_OPTIMISTIC_ATTEMPTS;
            if is_seen {
                there_and_back.go();
            } else if is_last {
                assert_eq!(there_and_back.others.split(splits), splits);
            }
            is_last
        });
        assert!(t.remove(moved));
        seen.assert_last_resort_of_a_removal(1 + MAX_OPTIMISTIC_ATTEMPTS, 2 + 2 * splits);
    });
}

/// Four full buckets, except for one slot of 3, and two that stay empty: the table is not full. An insert of `new`
/// (1, 2) moves `moved` from 2 to 3. The other threads fill the last slot, with one more `high`, when the insert has
/// found this path and locks its first stripe, which is not that of bucket 3. They free the slot again when the attempt
/// has failed.
struct Overtaken<M: Subject> {
    setup: Setup<M>,
    new: Item,
    /// All other entries in 1 and 2.
    rest: Item,
    /// All items in 3.
    high: Item,
}

impl<M: Subject> Overtaken<M> {
    fn new() -> Self {
        let mut setup = Setup::new(6);
        let [new, rest] = setup.items([(1, 2); 2]);
        let moved = setup.item(2, 3);
        let [high, low] = setup.items([(3, 0), (0, 1)]);
        setup.fill(0, low).fill(1, rest).store(2, &[moved]).fill(2, rest);
        setup.fill_but_one(3, high);
        Self { setup, new, rest, high }
    }
}

/// Makes every optimistic attempt of the next insert of this thread fail. A failed attempt has loaded `loads` words
/// under its locks. Then the last resort loads the extent in a growing filter, and looks for room in the stash in other
/// filters. It has no stripe yet. At that point the slot is free again, and `last` runs.
fn overtake_inserts<M: Subject + 'static>(
    thread: &Thread<M>,
    high: Item,
    loads: usize,
    mut last: impl FnMut(&mut Thread<M>) + 'static,
) -> Arc<Seen> {
    let mut others = thread.unrecorded();
    let seen = Arc::new(Seen::default());
    let script = Arc::clone(&seen);
    let (mut since_lock, mut filled, mut last_resort) = (0, false, false);
    probe::after_each_step(move |step| match step {
        Step::Load => {
            since_lock += 1;
            // One load more than under the locks: the next attempt has begun.
            if filled && since_lock > loads {
                assert!(others.remove(high));
                filled = false;
                if script.attempts.load(Ordering::Relaxed) == MAX_OPTIMISTIC_ATTEMPTS {
                    last(&mut others);
                    last_resort = true;
                }
            }
        }
        Step::Lock => {
            if last_resort {
                script.locks.fetch_add(1, Ordering::Relaxed);
            } else if since_lock > 0 && !filled {
                assert!(others.insert(high));
                filled = true;
                script.attempts.fetch_add(1, Ordering::Relaxed);
            }
            since_lock = 0;
        }
        Step::Store | Step::Add | Step::Allocate => {}
    });
    seen
}

impl Seen {
    /// After this number of attempts under a lock, both stripes are locked, and not one alone; if one of the buckets is
    /// split, those of both as they were, and of both as they are.
    fn assert_last_resort_of_a_removal(&self, attempts: usize, locks: usize) {
        assert_eq!(self.attempts.load(Ordering::Relaxed), attempts);
        assert_eq!(self.locks.load(Ordering::Relaxed), locks);
    }

    /// There are as many attempts as allowed, and then this number of locks of stripes.
    fn assert_last_resort_of_an_insert(&self, locks: usize) {
        assert_eq!(self.attempts.load(Ordering::Relaxed), MAX_OPTIMISTIC_ATTEMPTS);
        assert_eq!(self.locks.load(Ordering::Relaxed), locks, "both stripes, and each once");
    }
}

/// The item is stored once: the checker counts it at the end. It is in the stash: the last resort does not kick.
fn insert_overtaken_in_every_attempt<L: Layout>() {
    let Overtaken { setup, new, high, .. } = Overtaken::<L>::new();
    scripted(setup, move |t| {
        // A hop loads the two words that it would change.
        let seen = overtake_inserts(t, high, 2, |_| {});
        assert!(t.insert(new));
        seen.assert_last_resort_of_an_insert(2);
        assert_eq!(t.stashed(), 1);
        probe::after_each_step(|_| {});
        assert!(t.contains(new));
    });
}

/// A slot of bucket 2 is freed when the last resort has no stripe yet: there is room in the end, and nothing is
/// stashed.
fn insert_that_finds_room_in_the_end<L: Layout>() {
    let Overtaken { setup, new, rest, high } = Overtaken::<L>::new();
    scripted(setup, move |t| {
        let last = move |others: &mut Thread<L>| assert!(others.remove(rest.swapped()));
        let seen = overtake_inserts(t, high, 2, last);
        assert!(t.insert(new));
        seen.assert_last_resort_of_an_insert(2);
        assert_eq!(t.stashed(), 0);
        probe::after_each_step(|_| {});
        let mut others = t.unrecorded();
        assert_eq!(others.count(new), 1);
        assert!(others.insert(rest));
    });
}

/// An entry that the last resort stashes has the stamp of the present generation, like all stored entries.
fn stamp_overtaken_in_every_attempt<L: Layout>() {
    let Overtaken { setup, new, high, .. } = Overtaken::<Maplet<L>>::new();
    setup.generations(4).check_asserted(1, 2, move |model| {
        model.thread(move |t| {
            assert_eq!(t.advance(), 0);
            // As for `insert_if_absent`; and the value that is being removed, and the clock, for the hop.
            let seen = overtake_inserts(t, high, 7, |_| {});
            assert!(t.stamp(new));
            seen.assert_last_resort_of_an_insert(2);
            probe::after_each_step(|_| {});
            assert_eq!((t.stashed(), t.stamps(new)), (1, vec![1]));
        });
        |_| ()
    });
}

fn insert_if_absent_overtaken_in_every_attempt<L: Layout>() {
    let Overtaken { setup, new, high, .. } = Overtaken::<L>::new();
    scripted(setup, move |t| {
        // And before that the two words of the item, and the version, for the stash.
        let seen = overtake_inserts(t, high, 5, |_| {});
        assert!(t.insert_if_absent(new));
        seen.assert_last_resort_of_an_insert(2);
        assert_eq!(t.stashed(), 1);
    });
}

/// Another thread stores the item when the last resort has no stripe yet. A third one frees a slot of bucket 2: there
/// is room for a second copy, which must not be stored.
fn insert_if_absent_of_an_item_that_turns_up<L: Layout>() {
    let Overtaken { setup, new, rest, high } = Overtaken::<L>::new();
    scripted(setup, move |t| {
        let stored = Arc::new(AtomicBool::new(false));
        let script = Arc::clone(&stored);
        let seen = overtake_inserts(t, high, 5, move |others| {
            assert!(others.insert(new));
            assert!(others.remove(rest.swapped()));
            script.store(true, Ordering::Relaxed);
        });
        // Not recorded, like the insert of the other thread.
        let mut unrecorded = t.unrecorded();
        assert!(!unrecorded.insert_if_absent(new), "the item is there");
        assert!(stored.load(Ordering::Relaxed));
        seen.assert_last_resort_of_an_insert(2);
        probe::after_each_step(|_| {});
        assert_eq!(unrecorded.count(new), 1);
        assert!(unrecorded.remove(new));
        assert!(unrecorded.insert(rest));
    });
}

/// A short entry of a relative is in bucket 0, and the long one that is to be removed in 1. In every attempt the long
/// one is seen, is gone when its stripe is locked, and is back before the next attempt. The last resort sees both, and
/// must take the long one.
fn removal_of_the_longer<L: GrowingLayout + Layout>(order: fn(Item) -> Item) {
    let mut setup = Setup::<Growable<L>>::growable(2, 4).split(2);
    let long = setup.item(0, 1);
    let short = setup.variant(long, 0, 1);
    setup.store_as_of(0, 0, &[short]).store(1, &[long]);
    scripted(setup, move |t| {
        let mut others = t.unrecorded();
        let mut is_gone = false;
        // The version, the extent and both words.
        let seen = overtake_removals(4, First::TakesNoLock, move |is_seen, _| {
            if is_seen {
                is_gone = others.remove(long);
                assert!(is_gone);
            } else if is_gone {
                // Into the emptier bucket, where it was.
                assert!(others.insert(long));
                is_gone = false;
            }
            false
        });
        assert!(t.remove(order(long)));
        seen.assert_last_resort_of_a_removal(MAX_OPTIMISTIC_ATTEMPTS, 2);
        probe::after_each_step(|_| {});
        assert!(t.contains(short));
    });
}

/// As `Overtaken`, in a growing filter: four buckets at first, of which one is split. When the last resort knows its
/// buckets and has no stripe yet, bucket 1 is split, and the item has another bucket then. All other entries in 1 have
/// the first bucket `rest` at the maximum size.
fn insert_beside_a_split<L: GrowingLayout + Layout>(rest: usize, stashed: usize) {
    let mut setup = Setup::<Growable<L>>::growable(4, 8).split(1);
    let [new, rest] = setup.items([(5, 2), (rest, 2)]);
    let [moved, high] = setup.items([(2, 3), (3, 2)]);
    setup.fill(1, rest).store(2, &[moved]).fill(2, rest).fill_but_one(3, high);
    scripted(setup, move |t| {
        // The extent, and the two words of the hop.
        let seen = overtake_inserts(t, high, 3, |others| assert_eq!(others.split(1), 1));
        assert!(t.insert(new));
        // Both buckets as they were, and both as they are.
        seen.assert_last_resort_of_an_insert(4);
        assert_eq!(t.stashed(), stashed);
        probe::after_each_step(|_| {});
        assert!(t.contains(new));
    });
}
