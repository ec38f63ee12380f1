//! The share of absent items that are found is the stated one: in filters of fixed size, and at several sizes of
//! growing filters.

use std::iter;

use coucal_reference::format::Class;
use rustc_hash::FxHashMap;

use crate::common::{Kind, LEAST_BUCKETS, Layout, Subject, hashes, is_expected, usually};

of_each_layout!(of_fixed_size);
of_each_growing_layout!(while_it_grows);

/// A filter, and its items.
type Filled = (Box<dyn Subject>, Vec<u64>);

/// Looks up absent items in all of these filters, until about `wanted` are found. A filter cannot find an item of whose
/// class it has no item. So an item is looked up only in filters that have its class, except for some lookups that
/// check just that.
fn measure(filters: &[Filled], wanted: f64, what: &str) {
    let geometry = filters[0].0.geometry();
    let mut holders: FxHashMap<Class, Vec<usize>> = FxHashMap::default();
    for (number, (_, items)) in filters.iter().enumerate() {
        for &hash in items {
            let holders = holders.entry(geometry.class(hash)).or_default();
            if holders.last() != Some(&number) {
                holders.push(number);
            }
        }
    }
    let holders = |hash| holders.get(&geometry.class(hash)).map_or(&[][..], Vec::as_slice);
    let all_rates: f64 = filters.iter().map(|(filter, _)| filter.contents().rate()).sum();
    let found = hashes(23).take((wanted / all_rates) as usize).map(|hash| {
        holders(hash).iter().filter(|&&number| filters[number].0.contains(hash)).count()
    });
    is_expected(found.sum(), wanted, 0.01, what);
    for hash in hashes(29).take(20 + (1 << 16) / filters.len()) {
        for (number, (filter, _)) in filters.iter().enumerate() {
            let may_be_found = holders(hash).contains(&number);
            assert!(may_be_found || !filter.contains(hash), "{what}: its class is another");
        }
    }
}

/// The longer the fingerprints, the more filters are needed for the same number of false positives.
fn of_fixed_size(layout: Layout) {
    let number = 1 << layout.bits.saturating_sub(9).min(17);
    let items_of_each = (usually(1 << 14, 1 << 17) / number).max(2 * layout.slots);
    let kind = Kind { layout, grows: false, value_bits: 0 };
    let mut items = hashes(19);
    let mut filled = || {
        let (filter, held) = (kind.build(0, items_of_each), items.by_ref().take(items_of_each));
        let held: Vec<u64> = held.collect();
        for &hash in &held {
            filter.insert((hash, 0)).expect("within the capacity");
        }
        (filter, held)
    };
    let filters: Vec<Filled> = iter::repeat_with(&mut filled).take(number).collect();
    let filter = &filters[0].0;
    let (stated, exact) = (filter.false_positive_rate(), filter.contents().rate());
    assert!((stated / exact - 1.0).abs() < 1e-6, "{stated}, {exact}: {filter:?}");
    let wanted = if layout.bits > 21 { usually(200.0, 3000.0) } else { usually(3000.0, 1e5) };
    measure(&filters, wanted, &format!("{layout:?} in {number} filters"));
}

/// The filters begin with the smallest table. They grow together: the larger they are, the fewer of them.
fn while_it_grows(layout: Layout) {
    let (number, wanted, most) = match layout.bits {
        ..=16 => (1, usually(1500.0, 10_000.0), 0),
        21 => (256, usually(600.0, 3000.0), usually(60_000, 300_000)),
        // Enough to notice the loss of a bit, which doubles the rate.
        _ => (1 << 15, usually(100.0, 2500.0), usually(725_000, 2_900_000)),
    };
    let all_doublings: &[u32] =
        if layout.bits > 21 { usually(&[0, 3], &[0, 4, 9]) } else { &[0, 4, 9] };
    let kind = Kind { layout, grows: true, value_bits: 0 };
    let mut filters: Vec<Filled> =
        (0..number).map(|_| (kind.build(1, 1 << 17), Vec::new())).collect();
    for doublings in all_doublings {
        let slots = (LEAST_BUCKETS * layout.slots) << doublings;
        let items = (slots as f64 * layout.target()) as usize;
        filters.truncate((most / items).max(1));
        for (seed, (filter, held)) in (1000..).zip(&mut filters) {
            for hash in hashes(seed).skip(held.len()) {
                if filter.slots() >= slots && held.len() >= items {
                    break;
                }
                filter.insert((hash, 0)).expect("below the maximum");
                held.push(hash);
            }
        }
        measure(&filters, wanted, &format!("{layout:?}, {doublings} doublings"));
    }
}
