//! A table that was made for n items holds n items of any kind.

use rand::RngExt;
use rand::seq::SliceRandom;

use coucal::{Prehashed, Storage};
use coucal_reference::{Filter, Maplet};

use super::{empties, holds, kinds};
use crate::common::{
    Item, Kind, Layout, Random, check_merge, default_layout, hashes, random, usually,
};

of_each_layout! {
    copies_of_one_item
    copies_or_values_of_many
}

/// Many more copies than the two buckets have slots, in a maplet with two values: the table does not grow for them, and
/// after a merge with another such maplet all of them are there.
fn copies_of_one_item(layout: Layout) {
    for (kind, capacity) in kinds(layout).into_iter().flat_map(|kind| [(kind, 100), (kind, 20_000)])
    {
        let copies: Vec<Item> = (0..5000).map(|n| (1, n & 1 & kind.top())).collect();
        let [one, other] = [0; 2].map(|_| {
            let subject = kind.build(1, capacity);
            let slots = subject.slots();
            assert_eq!(subject.insert_many(&copies), Ok(()), "{subject:?}");
            let entries = 1 + kind.top().min(1) as usize;
            assert_eq!(subject.stashed(), (entries, copies.len() - 2 * layout.slots));
            assert_eq!(subject.slots(), slots);
            subject
        });
        if kind.value_bits == 0 {
            assert_eq!(one.insert_if_absent(copies[0]), Ok(false));
        }
        holds(&*one, &copies);
        check_merge(&*one, &*other);
        empties(&*one, &copies.repeat(2));
    }
}

/// Returns `count` items: of the first hash more than two buckets hold, of each other hash as many as `copies` returns.
/// Each has the next value. They are not sorted by hash.
fn items(count: usize, kind: Kind, copies: impl Fn(&mut Random) -> usize) -> Vec<Item> {
    let mut random = random(5);
    let mut items = Vec::with_capacity(count);
    for hash in hashes(3) {
        let left = count - items.len();
        if left == 0 {
            break;
        }
        let copies = if items.is_empty() { 20 } else { copies(&mut random) }.min(left);
        items.extend(
            (0..copies as u64).map(|n| (hash, (hash >> 7).wrapping_add(n) as u32 & kind.top())),
        );
    }
    items.shuffle(&mut random);
    items
}

/// As many items as the table was made for, three of each hash or a random number: half of them are removed, values are
/// replaced, and all others are removed. In between the table is restored.
fn copies_or_values_of_many(layout: Layout) {
    for kind in kinds(layout) {
        let most = if kind.value_bits > 0 { 32 } else { 2000 };
        // At least k with probability 1 / k.
        let zipf =
            |random: &mut Random| ((1.0 / (1.0 - random.random::<f64>())) as usize).clamp(1, most);
        let larger = usually(10_000, 200_000);
        fills_and_empties(kind, items(100, kind, zipf));
        fills_and_empties(kind, items(5000, kind, zipf));
        fills_and_empties(kind, items(larger, kind, |_| 3));
        fills_and_empties(kind, items(usually(20_000, 200_000), kind, zipf));
    }
}

fn fills_and_empties(kind: Kind, mut held: Vec<Item>) {
    // A growing table starts with an eighth of the capacity.
    let subject = kind.build(held.len() / 8, held.len());
    for (stored, &item) in held.iter().enumerate() {
        assert_eq!(subject.insert(item), Ok(()), "{stored} of {}: {subject:?}", held.len());
    }
    holds(&*subject, &held);
    assert!(subject.stashed().0 > 0, "{subject:?}");
    let bytes = subject.bytes();
    let subject = subject.restored(&bytes).expect("what was just written");
    assert!(subject.bytes() == bytes);
    holds(&*subject, &held);
    held.shuffle(&mut random(11));
    for item in held.split_off(held.len() / 2) {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    holds(&*subject, &held);
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

/// An entry takes as much memory as the documentation of the crate and SECURITY.md say: one word of a cell, or two if
/// its value is too long for one. Nearly all pairs are stashed, since two buckets hold few pairs of a key.
#[test]
fn an_entry_takes_no_more_memory_than_is_said() {
    let fixed = default_layout().maplet(300_000, 8);
    takes(&fixed, 11..=23, 15_744);
    for (name, bytes, first) in [("Fp21x3", 11..=23, 15_744), ("Fp32x2", 20..=42, 16_296)] {
        let growing = Layout::named(name).growing_maplets(8).build().expect("memory");
        growing.reserve(300_000).expect("memory");
        takes(&growing, bytes, first);
    }
}

/// What the page about the design says of the first entry, with 64 bits. With 32 bits it takes less.
#[test]
fn the_first_entry_takes_the_memory_that_is_said() {
    let filters = || default_layout().filters();
    let [small, large] = if usize::BITS == 64 { [1144, 15_744] } else { [936, 14_528] };
    let built = |filter: Result<Filter, _>| first_entry(&filter.expect("memory"));
    assert_eq!(
        [100, 10_000_000].map(|items| built(filters().capacity(items).build())),
        [small, large]
    );
    let growing = default_layout().growing_filters().build().expect("memory");
    assert_eq!(first_entry(&growing), large);
}

/// Returns the bytes that the first entry takes: of copies of one item.
fn first_entry<L: Storage>(filter: &Filter<L>) -> usize {
    loop {
        let before = filter.memory_bytes();
        filter.insert(&Prehashed(1)).expect("room");
        if filter.stats().stashed_entries == 1 {
            break filter.memory_bytes() - before;
        }
    }
}

/// Checks the bytes of the first entry, and those of an entry beside it.
fn takes<L: Storage>(maplet: &Maplet<L>, bytes: std::ops::RangeInclusive<usize>, of_first: usize) {
    let empty = maplet.memory_bytes();
    let mut first = None;
    for hash in hashes(97).take(100) {
        for value in 0..256 {
            maplet.insert(&Prehashed(hash), value).expect("room");
            let (entries, more) = (maplet.stats().stashed_entries, maplet.memory_bytes() - empty);
            if entries == 1 {
                first = first.or(Some(more));
            }
            let most = bytes.end() * entries + (32 << 10);
            assert!(more <= most, "{more} bytes for {entries} entries");
            let is_more = entries < 20_000 || more >= bytes.start() * entries;
            assert!(is_more, "{more} bytes for {entries} entries");
        }
    }
    assert!(maplet.stats().stashed_entries > 22_500);
    assert!(first.is_some_and(|first| first <= of_first), "{first:?} bytes for the first entry");
}
