//! Figure 4: load factor, false-positive rate and bits per item of every layout, beside Bloom filters and
//! the lower bound of information theory.

use std::f64::consts::LN_2;

use coucal::{CuckooFilter, Layout, Prehashed};
use coucal_benches::keys::Keys;
use coucal_benches::plot::{Plot, Scale, Series, Style};
use coucal_benches::text::{Table, percent};
use rayon::prelude::*;

use crate::{ENOUGH, Figure};

/// The number of tables of each layout that are filled: their loads differ a little.
const FILLS: u64 = 5;
/// This number of false positives determines a rate to within about 1 %.
const EVENTS: f64 = 10_000.0;
/// The maximum number of lookups in each table.
const MAX_LOOKUPS: f64 = 1e8;

/// The measurements of one layout: means over its tables.
struct Point {
    name: &'static str,
    load: f64,
    bits_per_item: f64,
    /// The rate that the filters state, at these loads.
    stated: f64,
    /// `None` if it would take too many lookups.
    rate: Option<f64>,
    lookups: u64,
}

impl Point {
    fn measure<L: Layout>(capacity: usize) -> Self {
        let (mut load, mut bits_per_item, mut stated) = (0.0, 0.0, 0.0);
        let (mut found, mut lookups) = (0, 0);
        for fill in 1..=FILLS {
            let keys = Keys::new(fill);
            let builder = CuckooFilter::builder().capacity(capacity).layout::<L>().hasher(());
            let filter = builder.build().expect("small enough for any machine");
            let full =
                (0..u64::MAX).find(|index| filter.insert(&Prehashed(keys.key(*index))).is_err());
            assert!(full.is_some_and(|items| items >= capacity as u64), "what it is made for");
            load += filter.load_factor() / FILLS as f64;
            bits_per_item +=
                8.0 * filter.memory_bytes() as f64 / filter.len() as f64 / FILLS as f64;
            let rate = filter.false_positive_rate();
            stated += rate / FILLS as f64;
            if rate * MAX_LOOKUPS * FILLS as f64 >= ENOUGH {
                let each = (EVENTS / FILLS as f64 / rate).min(MAX_LOOKUPS) as u64;
                let absent = (0..each).map(|index| keys.absent(index));
                found += absent.filter(|hash| filter.contains(&Prehashed(*hash))).count();
                lookups += each;
            }
        }
        let rate = (lookups > 0).then(|| found as f64 / lookups as f64);
        Self { name: L::NAME, load, bits_per_item, stated, rate, lookups }
    }
}

/// Returns the minimum number of bits per item that any filter needs for a rate.
fn bound(rate: f64) -> f64 {
    -rate.log2()
}

/// Returns the bits per item of a Bloom filter with the best number of hash functions.
fn ideal_bloom(rate: f64) -> f64 {
    bound(rate) / LN_2
}

/// Returns the bits per item of the paper's cuckoo filter with four slots, at a load of 95 % (table 1). Semi-sorting
/// saves a bit.
fn paper(rate: f64) -> f64 {
    (bound(rate) + 3.0) / 0.95
}

fn paper_semi_sorted(rate: f64) -> f64 {
    (bound(rate) + 2.0) / 0.95
}

type Formula = fn(f64) -> f64;

/// Names, shades and formulas of bits per item.
const FORMULAS: [(&str, f64, Formula); 4] = [
    ("ideal Bloom, 1.44 log2(1/rate)", 0.0, ideal_bloom),
    ("paper: cuckoo, b = 4", 0.5, paper),
    ("paper: semi-sorted, b = 4", 0.7, paper_semi_sorted),
    ("lower bound, log2(1/rate)", 0.2, bound),
];

pub fn figure(name: &str, capacity: usize) -> Figure {
    macro_rules! each {
        ($($layout:ident)*) => { [$(Point::measure::<coucal::$layout> as fn(usize) -> Point),*] };
    }
    let each = crate::for_each_layout!(each);
    let points: Vec<_> = each.into_par_iter().map(|measure| measure(capacity)).collect();
    let head = "layout,load factor,bits per item,false positives,false positives as stated,lookups";
    let mut csv = vec![head.to_owned()];
    let columns = "layout|load factor|false positives|as stated|bits per item|ideal Bloom filter|\
                   its rate with equal bits|lower bound";
    let (mut table, mut series) = (Table::new(name, columns.split('|')), Vec::new());
    for point in points {
        let Point { name, load, bits_per_item, stated, rate, lookups } = point;
        let measured = rate.map_or_else(String::new, |rate| format!("{rate:.4e}"));
        csv.push(format!("{name},{load:.5},{bits_per_item:.3},{measured},{stated:.4e},{lookups}"));
        let best = rate.unwrap_or(stated);
        let [bits, ideal, least] =
            [bits_per_item, ideal_bloom(best), bound(best)].map(|bits| format!("{bits:.1}"));
        let load = format!("{:.1} %", 100.0 * load);
        let measured = rate.map_or_else(|| "not measured".to_owned(), percent);
        let equal = percent((-bits_per_item * LN_2).exp2());
        table.cells(name, [load, measured, percent(stated), bits, ideal, equal, least]);
        series.push(Series::new(name, vec![(best, bits_per_item)]).style(Style::Points));
    }
    series.extend(FORMULAS.map(|(name, lightness, bits)| {
        let points = [0.1, 1e-10].map(|rate| (rate, bits(rate)));
        Series::new(name, points.into()).style(Style::Formula(lightness))
    }));
    let plot = Plot {
        file: name.into(),
        title: "Bits per item over false-positive rate".into(),
        x: ("false-positive rate", Scale::Log),
        y: ("bits per item", Scale::FromZero),
        series,
    };
    Figure { csv, table, plots: vec![plot] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal::{Fp8x8, Fp32x2, SemiSorted14x5};

    #[test]
    fn rates_are_as_stated() {
        for point in [Point::measure::<Fp8x8>(20_000), Point::measure::<SemiSorted14x5>(20_000)] {
            let ratio = point.rate.unwrap() / point.stated;
            assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", point.name);
        }
        assert_eq!(Point::measure::<Fp32x2>(1000).rate, None, "too many lookups");
    }

    /// The figures of the paper for 0.1 %: 13.6 bits per item, 12.6 semi-sorted, 14.4 for Bloom filters.
    #[test]
    fn the_formulas_are_those_of_the_paper() {
        let bits = [paper, paper_semi_sorted, ideal_bloom].map(|bits| bits(0.001));
        assert_eq!(bits.map(|bits| format!("{bits:.1}")), ["13.6", "12.6", "14.4"]);
    }
}
