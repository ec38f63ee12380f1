//! How often a small table that is kept at its capacity refuses an item: with few pairs of buckets, chance
//! gives one of them more items than it has slots for.

use coucal::{CuckooFilter, CuckooMaplet, Fp16x4};
use coucal_measure::keys::Keys;
use coucal_measure::timing::parallel_map;

use crate::output::{Figure, Rows};
use crate::workers;

/// Two buckets hold any eight items. Capacities from here on are measured.
const FIRST: usize = 9;
/// Bits of a slot of the default layout.
const SLOT_BITS: u32 = 16;
/// The bits of a value, 0 for a filter, and the share of the replacements: the shorter the fingerprints are,
/// the more items are refused.
const KINDS: [(u32, u64); 3] = [(0, 1), (6, 1), (10, 5)];
/// Refusals are counted per this number of replacements.
const UNIT: f64 = 1e8;

/// The tables that are measured: a number of slots, and the largest capacity that has it.
fn tables(last: usize) -> Vec<(usize, usize)> {
    let slots = |capacity| CuckooFilter::with_capacity(capacity).slots();
    let largest = (FIRST..=last).filter(|capacity| slots(*capacity) < slots(capacity + 1));
    largest.map(|capacity| (slots(capacity), capacity)).collect()
}

/// Fills a table to its capacity, then takes out one item after the other and puts in a new one: how many of
/// the new ones are refused before the table has taken this number of them.
fn refused(
    capacity: usize,
    replacements: u64,
    insert: impl Fn(u64) -> bool,
    remove: impl Fn(u64) -> bool,
) -> u64 {
    let keys = Keys::new(capacity as u64);
    let (mut next, mut refused) = (0, 0);
    let mut put_in = || loop {
        let key = keys.key(next);
        next += 1;
        if insert(key) {
            return key;
        }
        refused += 1;
    };
    let mut held: Vec<u64> = (0..capacity).map(|_| put_in()).collect();
    for index in 0..replacements {
        let place = &mut held[index as usize % capacity];
        assert!(remove(*place), "what was put in is found");
        *place = put_in();
    }
    refused
}

fn refused_by_filter(capacity: usize, replacements: u64) -> u64 {
    let filter = CuckooFilter::<Fp16x4, ()>::with_capacity_and_hasher(capacity, ());
    let insert = |key| filter.insert_hash(key).is_ok();
    refused(capacity, replacements, insert, |key| filter.remove_hash(key))
}

fn refused_by_maplet(capacity: usize, value_bits: u32, replacements: u64) -> u64 {
    let builder = CuckooMaplet::builder().capacity(capacity).value_bits(value_bits).hasher(());
    let maplet: CuckooMaplet<Fp16x4, ()> = builder.build().expect("a small table");
    let value = |key: u64| (key >> 29) as u32 % (1 << value_bits);
    let insert = |key| maplet.insert_hash(key, value(key)).is_ok();
    refused(capacity, replacements, insert, |key| maplet.remove_hash(key, value(key)))
}

/// A table of one kind, and what it refused.
struct Point {
    slots: usize,
    capacity: usize,
    value_bits: u32,
    replacements: u64,
    refused: u64,
}

impl Point {
    fn measure((slots, capacity): (usize, usize), value_bits: u32, replacements: u64) -> Self {
        let refused = match value_bits {
            0 => refused_by_filter(capacity, replacements),
            _ => refused_by_maplet(capacity, value_bits, replacements),
        };
        Self { slots, capacity, value_bits, replacements, refused }
    }

    fn per_unit(&self) -> String {
        format!("{:.1}", self.refused as f64 / self.replacements as f64 * UNIT)
    }
}

/// Tables with capacities up to `last`, with this number of replacements at most.
pub fn figure(last: usize, replacements: u64) -> Figure {
    let kinds = |table| KINDS.map(|(value_bits, share)| (table, value_bits, replacements / share));
    let runs: Vec<_> = tables(last).into_iter().flat_map(kinds).collect();
    let measure = |&(table, value_bits, replacements): &((usize, usize), u32, u64)| {
        Point::measure(table, value_bits, replacements)
    };
    let points = parallel_map(workers(), &runs, measure);
    let row = |point: &Point| {
        let &Point { slots, capacity, value_bits, replacements, refused } = point;
        let bits = u64::from(SLOT_BITS - value_bits);
        let numbers = [slots as u64, capacity as u64, bits, replacements, refused];
        numbers.map(|number| number.to_string()).into()
    };
    let summary = |points: &[Point]| {
        let table = [points[0].capacity, points[0].slots].map(|number| number.to_string());
        table.into_iter().chain(points.iter().map(Point::per_unit)).collect()
    };
    Figure {
        name: "small",
        csv: Rows {
            head: &["slots", "items", "fingerprint bits", "new items", "refused"],
            rows: points.iter().map(row).collect(),
        },
        table: Rows {
            head: &["items", "slots", "refused of 10^8: filter", "10-bit maplet", "6-bit maplet"],
            rows: points.chunks(KINDS.len()).map(summary).collect(),
        },
        plots: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each size of table once, with the most items that it is made for.
    #[test]
    fn each_size_of_table_is_as_full_as_it_can_be() {
        let tables = tables(100);
        assert!(tables.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1) && tables.len() > 5);
        for (slots, capacity) in tables {
            let filter: CuckooFilter = CuckooFilter::with_capacity(capacity);
            assert_eq!((filter.slots(), filter.capacity()), (slots, capacity));
            assert!(CuckooFilter::with_capacity(capacity + 1).slots() > slots);
        }
    }

    /// What is refused is counted, and another item takes its place.
    #[test]
    fn refusals_are_counted() {
        let calls = std::cell::Cell::new(0);
        let every_third = |_| {
            calls.set(calls.get() + 1);
            calls.get() % 3 != 0
        };
        assert_eq!(refused(10, 90, every_third, |_| true), 49);
        assert_eq!(refused_by_filter(20, 1000) + refused_by_maplet(20, 6, 1000), 0);
    }
}
