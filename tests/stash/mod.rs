//! Entries that are stashed, because their two buckets have no free slot: copies of an item, values of a key. Tests
//! filters and maplets, of fixed size and growing, through their common interface.

mod capacity;
mod hostile;
mod threads;

use std::collections::BTreeMap;

use crate::common::{Item, Kind, Layout, Subject};
use coucal_reference::format::Value;

/// Returns all kinds of a layout, with values of up to eight bits; growing maplets with values for which splits double
/// no entry before some doublings.
fn kinds(layout: Layout) -> Vec<Kind> {
    let mut kinds = Kind::each(layout, 8);
    for kind in kinds.iter_mut().filter(|kind| kind.grows && kind.value_bits > 0) {
        kind.value_bits = (layout.bits - 12).clamp(1, 8);
    }
    kinds
}

/// Checks that each of these items is there, with its copies and values, and no other item.
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
        // A maplet returns a stashed value once, whatever its number of copies.
        let is_counted = subject.value_bits() > 0 || found.len() >= due.len();
        assert!(is_counted, "{} copies of {}: {subject:?}", found.len(), due.len());
    }
    let hashes: Vec<u64> = values.into_keys().collect();
    assert!(subject.contains_each(&hashes).into_iter().all(|found| found));
}

/// Checks that all of these items can be removed, and that nothing is left then.
fn empties(subject: &dyn Subject, items: &[Item]) {
    for &item in items {
        assert!(subject.remove(item), "{item:?} is lost: {subject:?}");
    }
    assert!(subject.is_empty());
    assert_eq!(subject.stashed(), (0, 0));
    assert!(subject.contents().copies.is_empty());
}
