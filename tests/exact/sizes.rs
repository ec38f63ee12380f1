//! Equal operations, at every size, on a filter, and on a clone or a restored filter that takes its place. A filter
//! that has grown may have memory for more buckets than its clone, and so more stripes and versions.

use std::ops::RangeInclusive;

use coucal_reference::{Item, Modelled, Random, Subject, random};
use rand::RngExt;

use super::machine::New;

/// The maximum number of items of a growing filter: enough for the maximum number of groups of versions.
const MOST: usize = 600_000;

/// Returns each of these numbers, or one in `distance` from a random start on.
fn numbers(all: RangeInclusive<usize>, distance: usize, random: &mut Random) -> Vec<usize> {
    let distance = if std::env::var_os("COUCAL_LONG").is_some() { 1 } else { distance };
    let (start, end) = all.into_inner();
    (start + random.random_range(0..distance)..=end).step_by(distance).collect()
}

/// Tests tables of fixed size. A few of the larger sizes suffice: the numbers of stripes and versions follow from the
/// size alone.
pub fn fixed(new: New<'_>) {
    let random = &mut random(5);
    for buckets in numbers(8..=200, 20, random).into_iter().chain([2000]) {
        let slots = buckets * super::layout().slots;
        let mut subject = Modelled::new(new(slots, slots * 9 / 10, 1).expect("memory for a test"));
        let crowd = stash_a_crowd(16, &mut subject, random);
        assert!(change(subject, &crowd, random), "nothing goes back to {buckets} buckets");
    }
}

/// Tests growing tables, from the smallest size on, and at larger sizes at which the two differ in the number of
/// versions.
pub fn growing(new: New<'_>) {
    let random = &mut random(3);
    for buckets in numbers(32..=2000, 40, random).into_iter().chain([7500, 65_000]) {
        let mut subject = Modelled::doubling(new(1, MOST, 1).expect("memory for a test"));
        let mut all = stash_a_crowd(60, &mut subject, random);
        // In a larger table there are free slots for them, so each removal may take one of them back from the stash.
        grow_to(buckets * super::layout().slots, subject.subject());
        for item in items(40, &subject, |_| true, random) {
            assert_eq!(subject.insert(item), Ok(()));
            all.push(item);
        }
        assert!(change(subject, &all, random), "nothing goes back to {buckets} buckets");
    }
}

/// Inserts items of two buckets, which do not have slots for all.
fn stash_a_crowd(count: usize, modelled: &mut Modelled, random: &mut Random) -> Vec<Item> {
    let (geometry, slots) = (modelled.model().geometry(), modelled.subject().slots());
    let pair = geometry.buckets(random.random(), slots);
    let crowd = items(count, modelled, |hash| geometry.buckets(hash, slots) == pair, random);
    for &item in &crowd {
        assert_eq!(modelled.insert(item), Ok(()));
    }
    assert!(modelled.subject().stashed().1 >= count - 2 * geometry.slots());
    crowd
}

/// Returns `count` items with such hashes.
fn items(
    count: usize,
    modelled: &Modelled,
    is_wanted: impl Fn(u64) -> bool,
    random: &mut Random,
) -> Vec<Item> {
    let top = u32::from(modelled.model().geometry().is_maplet());
    let hashes = random.random_iter::<u64>().filter(|&hash| is_wanted(hash)).take(count);
    hashes.map(|hash| (hash, hash as u32 & top)).collect()
}

/// Grows as inserts do: bucket by bucket as long as the table is small.
fn grow_to(slots: usize, subject: &dyn Subject) {
    while subject.slots() < slots {
        let missing = subject.capacity() + 1 - subject.len();
        assert_eq!(subject.reserve(missing), Ok(()));
    }
}

/// Does twice: replaces the subject by a clone or a restored one, removes some of these items, and inserts one. Returns
/// whether an entry has left the stash.
fn change(mut modelled: Modelled, items: &[Item], random: &mut Random) -> bool {
    let stashed = modelled.subject().stashed();
    for _ in 0..2 {
        // Cloned or restored: which of the two depends on the number of items.
        modelled.restore();
        for _ in 0..9 {
            modelled.remove(items[random.random_range(0..items.len())]);
        }
        let _ = modelled.insert(items[random.random_range(0..items.len())]);
    }
    modelled.subject().stashed() < stashed
}
