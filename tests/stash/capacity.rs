//! A table that was made for n items holds n of any kind.

use coucal_reference::{Item, Subject};
use rand::seq::SliceRandom;

use coucal::Prehashed;

use super::{contents, holds, items, value_bits, value_bits_that_grow, zipf};
use crate::common::{Layout, default_layout, hashes, random, usually};

of_each_layout! {
    copies_of_one_item
    a_zipf_number_of_each
    three_of_each
    nothing_is_left_after_clear
}

of_each_growing_layout!(copies_of_one_item_while_it_grows);

/// Many more than its buckets have slots, beside other items; the table does not grow for them.
fn come_and_go(subject: &impl Subject, others: usize) {
    const COPIES: usize = 5000;
    let item = (1, 1 & ((1 << subject.value_bits()) - 1));
    // None that is taken for it.
    let geometry = contents(subject).geometry;
    let apart = hashes(3).filter(|&hash| geometry.class(hash) != geometry.class(item.0));
    let others: Vec<Item> = apart.take(others).map(|hash| (hash, item.1)).collect();
    for &other in &others {
        subject.insert(other).expect("room");
    }
    let (slots, (alone, _)) = (subject.slots(), subject.stashed());
    for copy in 0..COPIES {
        assert_eq!(subject.insert(item), Ok(()), "copy {copy}: {subject:?}");
    }
    let in_slots = subject.len() - subject.stashed().1;
    assert_eq!(subject.stashed().0, alone + 1);
    assert!(subject.slots() <= slots * 21 / 20, "{slots} slots: {subject:?}");
    let contents = contents(subject);
    assert_eq!((contents.occupied as usize, contents.stashed as usize), (in_slots, alone + 1));
    let all = [others.clone(), vec![item; COPIES]].concat();
    holds(subject, &all);
    for left in (0..COPIES).rev() {
        assert!(subject.remove(item), "{left} are left: {subject:?}");
        assert_eq!(subject.contains(item.0), left > 0);
        let count = subject.values(item.0).len();
        assert_eq!(
            if item.1 == 0 { count } else { count.min(1) },
            if item.1 == 0 { left } else { left.min(1) }
        );
        assert_eq!(subject.len(), others.len() + left);
    }
    assert!(!subject.remove(item));
    assert!(subject.stashed().0 <= alone);
    holds(subject, &others);
}

fn copies_of_one_item(layout: Layout) {
    for (capacity, others) in [(100, 0), (10_000, 1000)] {
        come_and_go(&layout.maplet(capacity, value_bits(layout)), others);
    }
}

fn copies_of_one_item_while_it_grows(layout: Layout) {
    for (most, others) in [(100, 0), (20_000, 1000)] {
        come_and_go(&layout.growing(1, most), others);
        come_and_go(&layout.growing_maplet(1, most, value_bits_that_grow(layout)), others);
    }
}

/// As many items as it was made for; half of them removed, values replaced, all the others removed. In between
/// it is restored.
fn fills_and_empties<S: Subject>(subject: S, mut held: Vec<Item>) {
    let mut random = random(11);
    // Not one hash after the other.
    held.shuffle(&mut random);
    for (stored, &item) in held.iter().enumerate() {
        assert_eq!(subject.insert(item), Ok(()), "{stored} of {}: {subject:?}", held.len());
    }
    holds(&subject, &held);
    assert!(subject.stashed().0 > 0, "{subject:?}");
    let subject = restored(subject);
    holds(&subject, &held);
    held.shuffle(&mut random);
    for item in held.split_off(held.len() / 2) {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    holds(&subject, &held);
    let subject = restored(subject);
    if subject.value_bits() > 0 {
        let top = (1 << subject.value_bits()) - 1;
        for (hash, value) in held.iter_mut().step_by(2) {
            assert!(
                subject.replace((*hash, *value), *value ^ top),
                "{hash:#x} is lost: {subject:?}"
            );
            *value ^= top;
        }
        holds(&subject, &held);
    }
    for item in held {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    assert!(subject.is_empty());
    assert_eq!(subject.stashed(), (0, 0));
    assert!(contents(&subject).copies.is_empty());
}

/// What is restored from its snapshot, with the same entries.
#[expect(clippy::needless_pass_by_value, reason = "what was restored takes its place")]
fn restored<S: Subject>(subject: S) -> S {
    let restored = S::restored(&subject.bytes()).expect("what was just written");
    assert_eq!(restored.stashed(), subject.stashed());
    assert!(restored.bytes() == subject.bytes());
    restored
}

fn capacities() -> impl Iterator<Item = usize> {
    [100, 5000].into_iter().chain(usually(None, Some(200_000)))
}

/// Of copies, or of values of each key.
fn a_zipf_number_of_each(layout: Layout) {
    for capacity in capacities() {
        of_each_kind!(layout, capacity, |new, bits| {
            let most = if bits > 0 { 32 } else { 2000 };
            fills_and_empties(new(), items(capacity, bits, |random| zipf(random, most)));
        });
    }
}

fn three_of_each(layout: Layout) {
    for capacity in [5000, usually(10_000, 200_000)] {
        of_each_kind!(layout, capacity, |new, bits| {
            fills_and_empties(new(), items(capacity, bits, |_| 3));
        });
    }
}

/// Nothing is found of what was stashed, and as much has room again.
fn is_cleared(subject: &impl Subject, held: &[Item]) {
    for round in 0..3 {
        subject.insert_many(held).expect("what it was made for");
        assert!(subject.stashed().1 > 0, "round {round}: {subject:?}");
        holds(subject, held);
        subject.clear();
        assert_eq!((subject.len(), subject.stashed()), (0, (0, 0)));
        assert!(
            held.iter()
                .all(|&(hash, _)| !subject.contains(hash) && subject.values(hash).is_empty())
        );
        assert!(held.iter().all(|&item| !subject.remove(item)));
        assert!(contents(subject).copies.is_empty());
    }
}

fn nothing_is_left_after_clear(layout: Layout) {
    of_each_kind!(layout, 3000, |new, bits| {
        is_cleared(&new(), &items(3000, bits, |random| zipf(random, 100)));
    });
}

/// A store keeps in a maplet which of its partitions have a version of a key, and each key is written again in one partition
/// after the other. Then it compacts them: all versions but the newest go.
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

/// What the documentation of the crate and SECURITY.md say. Nearly all pairs are stashed: of a key two buckets hold few.
#[test]
fn an_entry_takes_no_more_memory_than_is_said() {
    let maplet = default_layout().maplet(300_000, 8);
    let empty = maplet.memory_bytes();
    let mut first = None;
    for hash in hashes(97).take(200) {
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
    assert!(maplet.stats().stashed_entries > 45_000);
    assert!(first.is_some_and(|first| first <= 15_500), "{first:?} bytes for the first entry");
}
