//! What finds no room in its two buckets: copies of an item, values of a key. Filters and maplets, of fixed size and
//! growing, through what they have in common.

mod capacity;
mod hostile;
mod threads;

use std::collections::BTreeMap;

use crate::common::{Item, Kind, Layout, Subject};
use coucal_reference::format::Value;

/// All kinds of a layout, with values of up to eight bits; of growing maplets with those for which splits double no
/// entry before some doublings.
fn kinds(layout: Layout) -> Vec<Kind> {
    let mut kinds = Kind::each(layout, 8);
    for kind in kinds.iter_mut().filter(|kind| kind.grows && kind.value_bits > 0) {
        kind.value_bits = (layout.bits - 12).clamp(1, 8);
    }
    kinds
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
