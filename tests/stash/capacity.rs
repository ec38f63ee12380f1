//! A table that was made for n items holds n of any kind.

use rand::seq::SliceRandom;

use coucal::Prehashed;

use super::{build, empties, holds, items, kinds, zipf};
use crate::common::{Item, Kind, Layout, Subject, default_layout, hashes, random, usually};

of_each_layout! {
    copies_of_one_item
    a_zipf_number_of_each
    three_of_each
    nothing_is_left_after_clear
}

/// Many more than its buckets have slots, beside other items; the table does not grow for them.
fn copies_of_one_item(layout: Layout) {
    const COPIES: usize = 5000;
    let all = kinds(layout).into_iter().flat_map(|kind| [(kind, 100, 0), (kind, 20_000, 1000)]);
    for (kind, capacity, others) in all {
        let subject = kind.build(1, capacity);
        let item = (1, 1 & kind.top());
        // None that is taken for it, or has both its buckets: that one could not make way.
        let geometry = subject.geometry();
        let buckets = |hash| geometry.buckets(hash, subject.slots());
        let apart = hashes(3).filter(|&hash| geometry.class(hash) != geometry.class(1));
        let apart = apart.filter(|&hash| kind.grows || buckets(hash) != buckets(1));
        let others: Vec<Item> = apart.take(others).map(|hash| (hash, item.1)).collect();
        subject.insert_many(&others).expect("room");
        let (slots, (alone, _)) = (subject.slots(), subject.stashed());
        for copy in 0..COPIES {
            assert_eq!(subject.insert(item), Ok(()), "copy {copy}: {subject:?}");
        }
        if kind.value_bits == 0 {
            assert_eq!(subject.insert_unique(item), Ok(false));
        }
        let in_slots = subject.len() - subject.stashed().1;
        assert_eq!(subject.stashed().0, alone + 1);
        assert!(kind.grows || in_slots == others.len() - alone + 2 * layout.slots, "{subject:?}");
        assert!(subject.slots() <= slots * 21 / 20, "{slots} slots: {subject:?}");
        let contents = subject.contents();
        assert_eq!((contents.occupied as usize, contents.stashed as usize), (in_slots, alone + 1));
        holds(&*subject, &[others.clone(), vec![item; COPIES]].concat());
        for left in (0..COPIES).rev() {
            assert!(subject.remove(item), "{left} are left: {subject:?}");
            assert_eq!(subject.contains(1), left > 0);
            let seen = |count: usize| if kind.value_bits == 0 { count } else { count.min(1) };
            assert_eq!(seen(subject.values(1).len()), seen(left));
            assert_eq!(subject.len(), others.len() + left);
        }
        assert!(!subject.remove(item));
        assert!(subject.stashed().0 <= alone);
        holds(&*subject, &others);
        assert!(others.into_iter().all(|item| subject.remove(item)) && subject.is_empty());
    }
}

/// As many items as it was made for; half of them removed, values replaced, all the others removed. In between
/// it is restored.
fn fills_and_empties(kind: Kind, mut held: Vec<Item>) {
    let subject = build(kind, held.len());
    let mut random = random(11);
    // Not one hash after the other.
    held.shuffle(&mut random);
    for (stored, &item) in held.iter().enumerate() {
        assert_eq!(subject.insert(item), Ok(()), "{stored} of {}: {subject:?}", held.len());
    }
    holds(&*subject, &held);
    assert!(subject.stashed().0 > 0, "{subject:?}");
    let subject = restored(&*subject);
    holds(&*subject, &held);
    held.shuffle(&mut random);
    for item in held.split_off(held.len() / 2) {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    holds(&*subject, &held);
    let subject = restored(&*subject);
    if kind.top() > 0 {
        for (hash, value) in held.iter_mut().step_by(2) {
            let replaced = subject.replace((*hash, *value), *value ^ kind.top());
            assert!(replaced, "{hash:#x} is lost: {subject:?}");
            *value ^= kind.top();
        }
        holds(&*subject, &held);
    }
    empties(&*subject, &held);
}

/// What is restored from its snapshot, with the same entries.
fn restored(subject: &dyn Subject) -> Box<dyn Subject> {
    let restored = subject.restored(&subject.bytes()).expect("what was just written");
    assert_eq!(restored.stashed(), subject.stashed());
    assert!(restored.bytes() == subject.bytes());
    restored
}

/// Of copies, or of values of each key.
fn a_zipf_number_of_each(layout: Layout) {
    let capacities = || [100, 5000].into_iter().chain(usually(None, Some(200_000)));
    for (kind, capacity) in
        kinds(layout).into_iter().flat_map(|kind| capacities().map(move |n| (kind, n)))
    {
        let most = if kind.value_bits > 0 { 32 } else { 2000 };
        fills_and_empties(kind, items(capacity, kind, |random| zipf(random, most)));
    }
}

fn three_of_each(layout: Layout) {
    for kind in kinds(layout) {
        for capacity in [5000, usually(10_000, 200_000)] {
            fills_and_empties(kind, items(capacity, kind, |_| 3));
        }
    }
}

/// Nothing is found of what was stashed, and as much has room again.
fn nothing_is_left_after_clear(layout: Layout) {
    for kind in kinds(layout) {
        let held = items(3000, kind, |random| zipf(random, 100));
        let subject = build(kind, held.len());
        for round in 0..3 {
            subject.insert_many(&held).expect("what it was made for");
            assert!(subject.stashed().1 > 0, "round {round}: {subject:?}");
            holds(&*subject, &held);
            subject.clear();
            let is_found = |hash| subject.contains(hash) || !subject.values(hash).is_empty();
            assert!(!held.iter().any(|&(hash, _)| is_found(hash)));
            assert!(!held.iter().any(|&item| subject.remove(item)));
            empties(&*subject, &[]);
        }
    }
}

/// A store keeps in a maplet which of its partitions have a version of a key, and each key is written again in one
/// partition after the other. Then it compacts them: all versions but the newest go.
#[test]
fn a_store_of_keys_that_are_written_again_in_each_partition() {
    const KEYS: usize = 8000;
    const PARTITIONS: u32 = 8;
    let keys = || hashes(5).take(KEYS);
    let all = KEYS * PARTITIONS as usize;
    let maplet = default_layout().growing_maplet(1, all, 5);
    for partition in 0..PARTITIONS {
        for key in keys() {
            maplet.insert(&Prehashed(key), partition).expect("what it was made for");
        }
    }
    let bits = 8.0 * maplet.memory_bytes() as f64 / all as f64;
    println!("{bits:.1} bits for a pair, {:?}", maplet.stats());
    assert!(bits <= 100.0, "{bits} bits for a pair: {maplet:?}");
    assert!(maplet.stats().stashed_entries > all / 5, "as a key has no more than eight slots");
    for key in keys() {
        let found: Vec<u32> = maplet.get(&Prehashed(key)).collect();
        assert!((0..PARTITIONS).all(|partition| found.contains(&partition)), "{found:?}");
    }
    for partition in 0..PARTITIONS - 1 {
        for key in keys() {
            assert!(
                maplet.remove(&Prehashed(key), partition),
                "{partition} of {key:#x}: {maplet:?}"
            );
        }
    }
    assert_eq!(maplet.len(), KEYS);
    assert!(keys().all(|key| maplet.get(&Prehashed(key)).any(|found| found == PARTITIONS - 1)));
}

/// What the documentation of the crate and SECURITY.md say. Nearly all pairs are stashed: of a key two buckets hold
/// few.
#[test]
fn an_entry_takes_no_more_memory_than_is_said() {
    let maplet = default_layout().maplet(300_000, 8);
    let empty = maplet.memory_bytes();
    let mut first = None;
    for hash in hashes(97).take(100) {
        for value in 0..256 {
            maplet.insert(&Prehashed(hash), value).expect("room");
            let (entries, more) = (maplet.stats().stashed_entries, maplet.memory_bytes() - empty);
            if entries == 1 {
                first = first.or(Some(more));
            }
            assert!(more <= 40 * entries + (32 << 10), "{more} bytes for {entries} entries");
            assert!(entries < 20_000 || more >= 20 * entries, "{more} bytes for {entries} entries");
        }
    }
    assert!(maplet.stats().stashed_entries > 22_500);
    assert!(first.is_some_and(|first| first <= 15_500), "{first:?} bytes for the first entry");
}
