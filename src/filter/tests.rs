//! The tables of the documentation against the code, and the run-time layout against the others.

use super::CuckooFilter;
use crate::layout::{self, Layout};
use crate::sizing::{self, Request, Sizing};
use crate::table::Table;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The cells of the lines of a documentation table that begin with `start`.
fn table_rows(source: &str, start: &str) -> Vec<Vec<String>> {
    let lines = source.lines().filter(|line| line.starts_with(start));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches(['/', ' ', '|']).split('|').map(|cell| cell.trim().into()).collect()
    };
    lines.map(cells).collect()
}

/// The share of slots in use when an insert fails for the first time, the mean of some tables.
fn first_failure<L: Layout>() -> f64 {
    const TABLES: usize = 8;
    let mut random = SmallRng::seed_from_u64(1);
    let buckets = ((1 << 16) / L::SLOTS) & !1;
    let table = Table::<L>::try_new(buckets, buckets).expect("a small table");
    let mut stored = 0;
    for _ in 0..TABLES {
        while table.insert(table.key(random.next_u64())).is_ok() {}
        stored += table.occupied();
        table.clear();
    }
    sizing::load(stored, TABLES * table.slots())
}

/// The first failure as it is stated, and as it is.
fn measured<L: Layout>() -> [f64; 2] {
    [L::FULL, first_failure::<L>()]
}

/// A row of the table in the documentation of `Layout`, without the first failure.
fn row<L: Layout>() -> [String; 6] {
    let percent = 100.0 * sizing::false_positive_rate::<L>(L::SLOTS as f64 * L::LOAD);
    let digits = (1.0 - percent.log10().floor()) as usize;
    [
        format!("[`{}`]", L::NAME),
        L::SLOTS.to_string(),
        L::FINGERPRINT_BITS.to_string(),
        format!("{} %", 100.0 * L::LOAD),
        format!("{percent:.digits$} %"),
        format!("{:.1}", 64.0 / (L::SLOTS as f64 * L::LOAD)),
    ]
}

#[test]
fn the_table_of_layouts_is_right() {
    macro_rules! rows {
        ($($layout:ident)*) => {
            [$((row::<layout::$layout>(), measured::<layout::$layout>())),*]
        };
    }
    let mut documented = table_rows(include_str!("../layout.rs"), "/// | [`").into_iter();
    for (row, [full, measured]) in crate::__for_each_layout!(rows) {
        let mut cells = documented.next().expect("a row for each layout");
        assert_eq!(cells.remove(3), format!("{:.1} %", 100.0 * full), "{row:?}");
        assert_eq!(cells, row);
        assert!((measured - full).abs() < 0.006, "{row:?}: {measured}");
    }
    assert_eq!(documented.next(), None);
}

#[test]
fn the_table_of_what_is_chosen_is_right() {
    let rows = table_rows(include_str!("../storage.rs"), "/// | 0.");
    let mut chosen = Vec::new();
    for row in rows {
        let rate = row[0].parse().expect("a rate");
        let filter = CuckooFilter::with_capacity_and_rate(1_000_000, rate).expect("reachable");
        let bits = filter.memory_bytes() as f64 * 8.0 / 1e6;
        let name = filter.layout_name();
        assert_eq!(row[1..], [format!("`{name}`"), format!("{bits:.1}")], "{row:?}");
        chosen.push(name);
    }
    macro_rules! names {
        ($($layout:ident)*) => { [$(layout::$layout::NAME),*] };
    }
    assert_eq!(chosen, crate::__for_each_layout!(names), "a row for each layout");
}

/// The filter holds the requested items at the requested rate, whatever they are.
#[test]
fn what_is_chosen_holds_its_items_at_the_rate() {
    for items in [0, 1, 4, 10, 100, 1000, 100_000] {
        for rate in (1..90).step_by(3).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
            let filter = CuckooFilter::with_capacity_rate_and_hasher(items, rate, ()).unwrap();
            let hashes: Vec<u64> = (0..items as u64).collect();
            filter.insert_many_hashes(&hashes).unwrap();
            assert!(filter.false_positive_rate() <= rate, "{items} items, {rate}");
        }
    }
}

/// The run-time layout hands every operation on: it does what a filter of the same layout does.
fn does_the_same<L: Layout>() {
    let request = Request { capacity: 1000, max_capacity: None, rate: None, target_load: None };
    let rate = Sizing::within::<L>(request).unwrap().rate;
    let any = CuckooFilter::with_capacity_rate_and_hasher(1000, rate, ()).unwrap();
    assert_eq!(any.layout_name(), L::NAME);
    let fixed = CuckooFilter::builder().layout::<L>().hasher(()).capacity(1000).build().unwrap();
    let hashes: Vec<u64> = (0..1000).collect();
    assert_eq!(any.insert_many_hashes(&hashes[..900]), fixed.insert_many_hashes(&hashes[..900]));
    for hash in 0..1100 {
        match hash % 4 {
            0 => assert_eq!(any.insert_hash(hash), fixed.insert_hash(hash)),
            1 => assert_eq!(any.insert_unique_hash(hash), fixed.insert_unique_hash(hash)),
            2 => assert_eq!(any.remove_hash(hash), fixed.remove_hash(hash)),
            _ => {}
        }
        assert_eq!(any.contains_hash(hash), fixed.contains_hash(hash));
        assert_eq!(any.count_hash(hash), fixed.count_hash(hash));
    }
    assert_eq!(any.contains_each_hash(&hashes), fixed.contains_each_hash(&hashes));
    assert_eq!(any.len(), fixed.len());
    assert_eq!(any.slots(), fixed.slots());
    assert_eq!(any.false_positive_rate().to_bits(), fixed.false_positive_rate().to_bits());
    assert_eq!(any.stats(), fixed.stats());
    assert_eq!(any.memory_bytes() - size_of_val(&any), fixed.memory_bytes() - size_of_val(&fixed));
    any.clear();
    assert!(any.is_empty());
}

#[test]
fn a_filter_of_the_same_layout_does_the_same() {
    macro_rules! each {
        ($($layout:ident)*) => {$(
            does_the_same::<layout::$layout>();
        )*};
    }
    crate::__for_each_layout!(each);
}
