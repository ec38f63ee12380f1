//! Equal operations on a filter, and on a copy or a restored one that takes its place, at every size. One that has grown
//! may have memory for more buckets than its copy, and so more stripes and versions.

use std::ops::RangeInclusive;

use coucal_reference::{Item, Modelled, Random, Subject, random};
use rand::RngExt;

use super::machine::New;

/// The greatest number of items of one that grows: so it has as many version groups as there are.
const MOST: usize = 600_000;

/// Each of these numbers, or with a random start one in `distance`.
fn numbers(all: RangeInclusive<usize>, distance: usize, random: &mut Random) -> Vec<usize> {
    let distance = if std::env::var_os("COUCAL_LONG").is_some() { 1 } else { distance };
    let (start, end) = all.into_inner();
    (start + random.random_range(0..distance)..=end).step_by(distance).collect()
}

/// Of fixed size. Few of the larger sizes: how many stripes and versions there are follows from the size alone.
pub fn fixed(new: New<'_>) {
    let random = &mut random(5);
    for buckets in numbers(8..=200, 20, random).into_iter().chain([2000]) {
        let slots = buckets * super::layout().slots;
        let mut subject = Modelled::new(new(slots, slots * 9 / 10, 1).expect("memory for a test"));
        let crowd = stash_a_crowd(16, &mut subject, random);
        assert!(change(subject, &crowd, random), "nothing goes back to {buckets} buckets");
    }
}

/// From the smallest of these that grow on, and at larger sizes where the two differ in the number of versions.
pub fn growing(new: New<'_>) {
    let random = &mut random(3);
    for buckets in numbers(32..=2000, 40, random).into_iter().chain([7500, 65_000]) {
        let mut subject = Modelled::doubling(new(1, MOST, 1).expect("memory for a test"));
        let mut all = stash_a_crowd(60, &mut subject, random);
        // There is room for them in a larger table, and so each removal may take one of them back.
        grow_to(buckets * super::layout().slots, subject.subject());
        for item in items(40, &subject, |_| true, random) {
            assert_eq!(subject.insert(item), Ok(()));
            all.push(item);
        }
        assert!(change(subject, &all, random), "nothing goes back to {buckets} buckets");
    }
}

/// Inserts items of two buckets, which have no room for all.
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

/// So many items with such hashes.
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

/// Grows as with inserts: bucket by bucket as long as it is small.
fn grow_to(slots: usize, subject: &dyn Subject) {
    while subject.slots() < slots {
        let missing = subject.capacity() + 1 - subject.len();
        assert_eq!(subject.reserve(missing), Ok(()));
    }
}

/// Removes some of these items, and inserts one, twice from a copy on. Says whether something has left the stash.
fn change(mut modelled: Modelled, items: &[Item], random: &mut Random) -> bool {
    let stashed = modelled.subject().stashed();
    for _ in 0..2 {
        // Copied, or restored: that depends on the number of items.
        modelled.restore();
        for _ in 0..9 {
            modelled.remove(items[random.random_range(0..items.len())]);
        }
        let _ = modelled.insert(items[random.random_range(0..items.len())]);
    }
    modelled.subject().stashed() < stashed
}
