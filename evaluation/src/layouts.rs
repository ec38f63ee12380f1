//! Figure 4: load factor, false-positive rate and bits per item of every layout, beside Bloom filters and
//! the lower bound of information theory.

use coucal::{CuckooFilter, Layout};
use coucal_measure::keys::Keys;
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::percent;
use coucal_measure::timing::parallel_map;

use crate::output::{Figure, Rows};
use crate::workers;

/// Tables of each layout that are filled: their loads differ a little.
const FILLS: u64 = 5;
/// This many false positives determine a rate to within about 1 %.
const EVENTS: f64 = 10_000.0;
/// The most lookups in each table.
const MAX_LOOKUPS: f64 = 1e8;
/// Fewer false positives than this do not determine a rate to within 10 %.
const ENOUGH: f64 = 400.0;

/// The measurements of one layout: means over its tables.
struct Point {
    name: &'static str,
    load: f64,
    bits_per_item: f64,
    /// As the filters state it, at these loads.
    stated: f64,
    /// `None` where it would take too many lookups.
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
            let full = (0..u64::MAX).find(|index| filter.insert_hash(keys.key(*index)).is_err());
            assert!(full.is_some_and(|items| items >= capacity as u64), "what it is made for");
            load += filter.load_factor() / FILLS as f64;
            bits_per_item +=
                8.0 * filter.memory_bytes() as f64 / filter.len() as f64 / FILLS as f64;
            let rate = filter.false_positive_rate();
            stated += rate / FILLS as f64;
            if rate * MAX_LOOKUPS * FILLS as f64 >= ENOUGH {
                let each = (EVENTS / FILLS as f64 / rate).min(MAX_LOOKUPS) as u64;
                let absent = (0..each).map(|index| keys.absent(index));
                found += absent.filter(|hash| filter.contains_hash(*hash)).count();
                lookups += each;
            }
        }
        let rate = (lookups > 0).then(|| found as f64 / lookups as f64);
        Self { name: L::NAME, load, bits_per_item, stated, rate, lookups }
    }

    /// As measured, or as stated where it was not.
    fn best_rate(&self) -> f64 {
        self.rate.unwrap_or(self.stated)
    }
}

/// Bits per item for a rate.
type Formula = fn(f64) -> f64;

/// Of a Bloom filter with the best number of hash functions.
fn ideal_bloom(rate: f64) -> f64 {
    bound(rate) / std::f64::consts::LN_2
}

/// The least that any filter needs.
fn bound(rate: f64) -> f64 {
    -rate.log2()
}

/// Of the paper's cuckoo filter with four slots, at a load of 95 % (table 1). Semi-sorting saves a bit.
fn paper(rate: f64) -> f64 {
    (bound(rate) + 3.0) / 0.95
}

fn paper_semi_sorted(rate: f64) -> f64 {
    (bound(rate) + 2.0) / 0.95
}

pub fn figure(capacity: usize) -> Figure {
    macro_rules! each {
        ($($layout:ident)*) => { [$(Point::measure::<coucal::$layout> as fn(usize) -> Point),*] };
    }
    let each = coucal::__for_each_layout!(each);
    let points = parallel_map(workers(), &each, |measure| measure(capacity));
    let rate = |point: &Point| point.rate.map_or_else(String::new, |rate| format!("{rate:.4e}"));
    let row = |point: &Point| {
        vec![
            point.name.to_owned(),
            format!("{:.5}", point.load),
            format!("{:.3}", point.bits_per_item),
            rate(point),
            format!("{:.4e}", point.stated),
            point.lookups.to_string(),
        ]
    };
    let summary = |point: &Point| {
        vec![
            point.name.to_owned(),
            format!("{:.1} %", 100.0 * point.load),
            point.rate.map_or_else(|| "not measured".to_owned(), percent),
            percent(point.stated),
            format!("{:.1}", point.bits_per_item),
            format!("{:.1}", ideal_bloom(point.best_rate())),
            percent((-point.bits_per_item * std::f64::consts::LN_2).exp2()),
            format!("{:.1}", bound(point.best_rate())),
        ]
    };
    let point = |point: &Point| {
        let place = (point.best_rate(), point.bits_per_item);
        Series::new(point.name, vec![place]).points_only()
    };
    let formula = |(name, lightness, bits): (&str, f64, Formula)| {
        let points = [-1, -10].map(|power| 10_f64.powi(power)).map(|rate| (rate, bits(rate)));
        Series::new(name, points.into()).formula(lightness)
    };
    let formulas: [(&str, f64, Formula); 4] = [
        ("ideal Bloom, 1.44 log2(1/rate)", 0.0, ideal_bloom),
        ("paper: cuckoo, b = 4", 0.5, paper),
        ("paper: semi-sorted, b = 4", 0.7, paper_semi_sorted),
        ("lower bound, log2(1/rate)", 0.2, bound),
    ];
    Figure {
        name: "fig4",
        csv: Rows {
            head: &[
                "layout",
                "load factor",
                "bits per item",
                "false positives",
                "false positives as stated",
                "lookups",
            ],
            rows: points.iter().map(row).collect(),
        },
        table: Rows {
            head: &[
                "layout",
                "load factor",
                "false positives",
                "as stated",
                "bits per item",
                "ideal Bloom filter",
                "its rate with equal bits",
                "lower bound",
            ],
            rows: points.iter().map(summary).collect(),
        },
        plots: vec![Plot {
            file: "fig4".into(),
            title: "Bits per item over false-positive rate".into(),
            x: Axis::new("false-positive rate", Scale::Log),
            y: Axis::new("bits per item", Scale::FromZero),
            series: points.iter().map(point).chain(formulas.map(formula)).collect(),
        }],
    }
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
