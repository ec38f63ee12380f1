//! Load factor, false-positive rate and bits per item of every growing layout, while a table grows.

use coucal::{GrowableCuckooFilter, GrowingLayout, Prehashed};
use coucal_benches::keys::Keys;
use coucal_benches::plot::{Plot, Scale, Series, Style};
use coucal_benches::text::{Table, percent};
use rayon::prelude::*;

use crate::{ENOUGH, Figure};

/// This number of false positives determines a rate to within about 2 %.
const EVENTS: f64 = 2500.0;
/// The maximum number of lookups at one size.
const MAX_LOOKUPS: f64 = 2e7;

/// A table that has doubled its items once more.
struct Point {
    name: &'static str,
    items: usize,
    slots: usize,
    /// The mean and the lowest load factor after each insert of this doubling, from the first split on.
    loads: Option<[f64; 2]>,
    bits_per_item: f64,
    stated: f64,
    /// `None` if it would take too many lookups.
    rate: Option<f64>,
}

/// Makes a filter for the largest number of doublings up to `doublings` that its layout allows: with more doublings it
/// would start with a larger table.
fn growing<L: GrowingLayout>(first: usize, doublings: u32) -> (GrowableCuckooFilter<L, ()>, u32) {
    let build = |doublings| {
        let builder =
            GrowableCuckooFilter::builder().capacity(first).max_capacity(first << doublings);
        builder.layout::<L>().hasher(()).build().expect("memory for a table")
    };
    let least = build(0).slots();
    let grows = |doublings: &u32| build(*doublings).slots() == least;
    let doublings = (1..=doublings).rev().find(grows).expect("each layout doubles at least once");
    (build(doublings), doublings)
}

fn measure<L: GrowingLayout>(first: usize, doublings: u32) -> Vec<Point> {
    let (filter, doublings) = growing::<L>(first, doublings);
    let (keys, first_slots) = (Keys::new(1), filter.slots());
    let mut points = Vec::new();
    for items in (0..=doublings).map(|doubling| first << doubling) {
        let mut loads = Vec::new();
        for index in filter.len()..items {
            filter.insert(&Prehashed(keys.key(index as u64))).expect("it grows up to here");
            if filter.slots() > first_slots {
                loads.push((index + 1) as f64 / filter.slots() as f64);
            }
        }
        let stated = filter.false_positive_rate();
        let lookups = (EVENTS / stated).min(MAX_LOOKUPS) as u64;
        let rate = (stated * lookups as f64 >= ENOUGH).then(|| {
            let absent = (0..lookups).map(|index| keys.absent(index));
            absent.filter(|hash| filter.contains(&Prehashed(*hash))).count() as f64 / lookups as f64
        });
        points.push(Point {
            name: L::NAME,
            items,
            slots: filter.slots(),
            loads: (!loads.is_empty()).then(|| {
                let mean = loads.iter().sum::<f64>() / loads.len() as f64;
                [mean, loads.iter().copied().fold(1.0, f64::min)]
            }),
            bits_per_item: 8.0 * filter.memory_bytes() as f64 / items as f64,
            stated,
            rate,
        });
    }
    points
}

/// Measures layouts that begin with room for `first` items and double at most `doublings` times.
pub fn figure(name: &str, first: usize, doublings: u32) -> Figure {
    macro_rules! each {
        ($($layout:ident)*) => { [$(measure::<coucal::$layout> as fn(usize, u32) -> Vec<Point>),*] };
    }
    let each = crate::for_each_layout!(that grows: each);
    // Each layout is a job of its own, since the one that doubles most often has the longest run.
    let layouts = each.into_par_iter().with_max_len(1).map(|measure| measure(first, doublings));
    let layouts: Vec<_> = layouts.collect();
    let head = "layout,items,slots,mean load factor,lowest load factor,bits per item,\
                   false positives,false positives as stated";
    let mut csv = vec![head.to_owned()];
    let columns = "layout|doublings|mean load factor|lowest|false positives at first, as stated|\
                   at the end, as stated|at the end, measured|bits per item at the end";
    let mut table = Table::new(name, columns.split('|'));
    for points in &layouts {
        for point in points {
            let Point { name, items, slots, bits_per_item, stated, rate, .. } = point;
            let number = |load: f64| format!("{load:.5}");
            let [mean, lowest] =
                point.loads.map_or_else(Default::default, |loads| loads.map(number));
            let rate = rate.map_or_else(String::new, |rate| format!("{rate:.4e}"));
            let loads = format!("{name},{items},{slots},{mean},{lowest}");
            csv.push(format!("{loads},{bits_per_item:.3},{rate},{stated:.4e}"));
        }
        let (start, grown) = points.split_first().expect("each layout has the first size");
        let end = grown.last().expect("each layout doubles at least once");
        let loads = || grown.iter().filter_map(|point| point.loads);
        let mean = loads().map(|loads| loads[0]).sum::<f64>() / grown.len() as f64;
        let lowest = loads().map(|loads| loads[1]).fold(1.0, f64::min);
        let [mean, lowest, at_first, at_end] =
            [mean, lowest, start.stated, end.stated].map(percent);
        let measured = end.rate.map_or_else(|| "not measured".to_owned(), percent);
        let (doublings, bits) = (grown.len().to_string(), format!("{:.1}", end.bits_per_item));
        table.cells(end.name, [doublings, mean, lowest, at_first, at_end, measured, bits]);
    }
    let series = |value: fn(&Point) -> Option<f64>| {
        layouts.iter().map(move |points| {
            let place = |at: &Point| Some((at.items as f64, value(at)?));
            Series::new(points[0].name, points.iter().filter_map(place).collect())
        })
    };
    let stated = series(|at| Some(at.stated)).zip(&layouts).map(|(line, points)| Series {
        label: format!("{}, stated", points[0].name),
        style: Style::Dashed,
        ..line
    });
    let plot = |file, title: &str, y, series| {
        let x = ("items", Scale::Powers);
        Plot { file: format!("{name}-{file}"), title: title.into(), x, y, series }
    };
    let rates = series(|at| at.rate).chain(stated).collect();
    let rates = plot(
        "rate",
        "False positives while a table grows",
        ("false-positive rate", Scale::Log),
        rates,
    );
    let bits = series(|at| Some(at.bits_per_item)).collect();
    let bits =
        plot("bits", "Bits per item while a table grows", ("bits per item", Scale::FromZero), bits);
    Figure { csv, table, plots: vec![rates, bits] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal::Fp12x5;

    #[test]
    fn a_table_keeps_its_load_and_states_its_rate() {
        let points = measure::<Fp12x5>(1000, 3);
        assert_eq!(points.iter().map(|at| at.items).collect::<Vec<_>>(), [1000, 2000, 4000, 8000]);
        assert!(points[0].loads.is_none(), "it has not grown yet");
        for at in &points[1..] {
            let [mean, lowest] = at.loads.unwrap();
            assert!((0.80..0.86).contains(&lowest), "{lowest} with {} items", at.items);
            assert!((lowest..0.86).contains(&mean));
            let ratio = at.rate.unwrap() / at.stated;
            assert!((0.9..1.1).contains(&ratio), "{ratio} times the stated rate");
        }
    }
}
