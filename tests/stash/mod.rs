//! What finds no room in its two buckets: copies of an item, values of a key. Filters and maplets, of fixed size and
//! growing, through what they have in common.

mod capacity;
mod equal;
mod hostile;
mod merge;
mod threads;

use std::collections::BTreeMap;

use coucal_reference::format::Value;
use rand::RngExt;

use crate::common::{Item, Kind, Layout, Random, Subject, hashes, random};

/// All kinds of a layout, with values of up to eight bits; of growing maplets with those for which splits double no
/// entry before some doublings.
fn kinds(layout: Layout) -> Vec<Kind> {
    let mut kinds = Kind::each(layout, 8);
    for kind in kinds.iter_mut().filter(|kind| kind.grows && kind.value_bits > 0) {
        kind.value_bits = (layout.bits - 12).clamp(1, 8);
    }
    kinds
}

/// One for this number of items; where it grows, from an eighth of it on.
fn build(kind: Kind, capacity: usize) -> Box<dyn Subject> {
    kind.build(capacity / 8, capacity)
}

/// A number from 1 to `most`: at least k with probability 1 / k.
fn zipf(random: &mut Random, most: usize) -> usize {
    ((1.0 / (1.0 - random.random::<f64>())) as usize).clamp(1, most)
}

/// So many items: of the first hash more than two buckets hold, of each other as many as `copies` says, each with the
/// next value.
fn items(count: usize, kind: Kind, mut copies: impl FnMut(&mut Random) -> usize) -> Vec<Item> {
    let mut random = random(5);
    let mut items = Vec::with_capacity(count);
    for hash in hashes(3) {
        let left = count - items.len();
        if left == 0 {
            break;
        }
        let copies = if items.is_empty() { 20 } else { copies(&mut random) }.min(left);
        items.extend(
            (0..copies as u64).map(|n| (hash, (hash >> 7).wrapping_add(n) as Value & kind.top())),
        );
    }
    items
}

/// Each of these items is there, with its copies and values, and no item besides.
fn holds(subject: &dyn Subject, items: &[Item]) {
    assert_eq!(subject.len(), items.len(), "{subject:?}");
    let mut values: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for &(hash, value) in items {
        values.entry(hash).or_default().push(value);
    }
    for (&hash, due) in &values {
        assert!(subject.contains(hash), "{hash:x} is missed: {subject:?}");
        let found = subject.values(hash);
        assert!(due.iter().all(|value| found.contains(value)), "{due:?}, {found:?}: {subject:?}");
        // A maplet returns a stashed value once, however many copies there are.
        let is_counted = subject.value_bits() > 0 || found.len() >= due.len();
        assert!(is_counted, "{} copies of {}: {subject:?}", found.len(), due.len());
    }
    let hashes: Vec<u64> = values.into_keys().collect();
    assert!(subject.contains_each(&hashes).into_iter().all(|found| found));
}

/// All of these can be removed, and then nothing is left.
fn empties(subject: &dyn Subject, items: &[Item]) {
    for &item in items {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    assert!(subject.is_empty());
    assert_eq!(subject.stashed(), (0, 0));
    assert!(subject.contents().copies.is_empty());
}
