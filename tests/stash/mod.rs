//! What finds no room in its two buckets: copies of an item, values of a key. Filters and maplets, of fixed size and
//! growing, through what they have in common.

/// Runs a check with `$new`, which builds a filter or a maplet for so many items, and with the length of its values; for
/// both of fixed size and, where the layout grows, for both from an eighth of that capacity on.
macro_rules! of_each_kind {
    ($layout:ident, $capacity:expr, |$new:ident, $bits:ident| $check:expr) => {{
        let (capacity, bits) = ($capacity, super::value_bits($layout));
        let ($new, $bits) = (|| $layout.filter(capacity), 0);
        $check;
        let ($new, $bits) = (|| $layout.maplet(capacity, bits), bits);
        $check;
        if $layout.grows() {
            let bits = super::value_bits_that_grow($layout);
            let ($new, $bits) = (|| $layout.growing(capacity / 8, capacity), 0);
            $check;
            let ($new, $bits) = (|| $layout.growing_maplet(capacity / 8, capacity, bits), bits);
            $check;
        }
    }};
}

mod capacity;
mod equal;
mod hostile;
mod merge;
mod threads;

use std::collections::BTreeMap;

use coucal_reference::format::{self, Contents, Value};
use coucal_reference::{Item, Subject};
use rand::RngExt;

use crate::common::{Layout, Random, hashes, random};

/// The longest values that the tests have, as far as they fit.
const MOST_VALUE_BITS: u32 = 8;

/// The length of the values in a maplet.
fn value_bits(layout: Layout) -> u32 {
    layout.longest_values().min(MOST_VALUE_BITS)
}

/// The same in a table that grows, with which splits double no entry before some doublings.
fn value_bits_that_grow(layout: Layout) -> u32 {
    (layout.bits - 12).clamp(1, MOST_VALUE_BITS)
}

/// A number from 1 to `most`: at least k with probability 1 / k.
fn zipf(random: &mut Random, most: usize) -> usize {
    ((1.0 / (1.0 - random.random::<f64>())) as usize).clamp(1, most)
}

/// So many items: of the first hash more than two buckets hold, of each other as many as `copies` says, each with the next
/// value.
fn items(count: usize, value_bits: u32, mut copies: impl FnMut(&mut Random) -> usize) -> Vec<Item> {
    let mut random = random(5);
    let values = 1_u64 << value_bits;
    let mut items = Vec::with_capacity(count);
    for hash in hashes(3) {
        let left = count - items.len();
        if left == 0 {
            break;
        }
        let copies = if items.is_empty() { 20 } else { copies(&mut random) }.min(left);
        items.extend(
            (0..copies).map(|n| (hash, ((hash >> 7).wrapping_add(n as u64) % values) as Value)),
        );
    }
    items
}

/// What a snapshot of it says.
fn contents(subject: &impl Subject) -> Contents {
    format::read(&subject.bytes()).expect("a snapshot")
}

/// How often each item is among them.
fn counts(items: &[Item]) -> BTreeMap<Item, usize> {
    let mut counts = BTreeMap::new();
    for &item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// Each of these items is there, with its copies and values, and no item besides.
fn holds(subject: &impl Subject, items: &[Item]) {
    assert_eq!(subject.len(), items.len(), "{subject:?}");
    let is_filter = subject.value_bits() == 0;
    let mut values: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for (item @ (hash, value), copies) in counts(items) {
        values.entry(hash).or_default().push(value);
        assert!(subject.contains(hash), "{item:?} is missed: {subject:?}");
        let count = subject.values(hash).len();
        assert!(!is_filter || count >= copies, "{count} copies of {copies}: {subject:?}");
    }
    for (&hash, due) in &values {
        let found = subject.values(hash);
        assert!(due.iter().all(|value| found.contains(value)), "{due:?}, {found:?}: {subject:?}");
    }
    let hashes: Vec<u64> = values.into_keys().collect();
    assert!(subject.contains_each(&hashes).into_iter().all(|found| found));
}
