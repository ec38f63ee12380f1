//! Figure 2: the load factor at the first failed insert over the length of the fingerprint.

use coucal_measure::keys::Keys;
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::percent;
use coucal_measure::timing::parallel_map;

use crate::output::{Figure, Rows};
use crate::simulation::{Simulation, fill};
use crate::workers;

const BITS: std::ops::RangeInclusive<u32> = 1..=20;
/// Slots per bucket, and the load that the paper reaches with long fingerprints (section 5.1).
const SLOTS: [(usize, f64); 2] = [(4, 0.95), (8, 0.98)];
/// A load this close to the best counts as the best.
const CLOSE: f64 = 0.01;
/// Tables up to this number of slots are filled several times: the loads of small tables vary.
const SMALL: usize = 1 << 18;

/// For tables of 2^`power` buckets.
pub fn figure(powers: [u32; 3]) -> Figure {
    let mut figure = Figure {
        name: "fig2",
        csv: Rows {
            head: &["slots", "buckets", "fingerprint bits", "load factor", "fills"],
            rows: Vec::new(),
        },
        table: Rows {
            head: &["", "best, paper", "best, here", "fewest bits within 1 % of the best"],
            rows: Vec::new(),
        },
        plots: vec![Plot {
            file: "fig2".into(),
            title: "Load factor over fingerprint length".into(),
            x: Axis::new("bits of a fingerprint", Scale::FromZero),
            y: Axis::new("load factor at the first failed insert", Scale::FromZero),
            series: Vec::new(),
        }],
    };
    let tables = SLOTS
        .into_iter()
        .flat_map(|slots| powers.into_iter().enumerate().map(move |power| (slots, power)));
    for ((slots, paper), (place, power)) in tables {
        let fills = if slots << power <= SMALL { 10 } else { 1 };
        let loads = parallel_map(workers(), &BITS.collect::<Vec<_>>(), |bits| {
            let load = |set| {
                let mut simulation = Simulation::new(1 << power, slots, *bits);
                fill(&mut simulation, Keys::new(set));
                simulation.load()
            };
            (*bits, (1..=fills).map(load).sum::<f64>() / fills as f64)
        });
        let best = loads.iter().map(|load| load.1).fold(0.0, f64::max);
        let enough = loads.iter().find(|load| load.1 >= best - CLOSE).expect("the best itself");
        figure.table.rows.push(vec![
            format!("{slots} slots, 2^{power} buckets"),
            percent(paper),
            percent(best),
            enough.0.to_string(),
        ]);
        figure.csv.rows.extend(loads.iter().map(|(bits, load)| {
            let numbers = [slots, 1 << power, *bits as usize].map(|number| number.to_string());
            [&numbers[..], &[format!("{load:.5}"), fills.to_string()]].concat()
        }));
        // The larger the table, the darker.
        let opacity = [0.35, 0.65, 1.0][place];
        let points = loads.into_iter().map(|(bits, load)| (bits.into(), load)).collect();
        let series = Series::new(format!("b = {slots}, m = 2^{power}"), points).opacity(opacity);
        figure.plots[0].series.push(series);
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short fingerprints have few pairs of buckets, and more slots per bucket make up for that.
    #[test]
    fn long_fingerprints_fill_the_table() {
        let figure = figure([7, 8, 9]);
        for ((slots, _), rows) in SLOTS.iter().zip(figure.csv.rows.chunks(3 * 20)) {
            let load = |row: &Vec<String>| row[3].parse::<f64>().unwrap();
            assert!(rows.iter().all(|row| row[0] == slots.to_string()));
            for of_size in rows.chunks(20) {
                assert!(load(&of_size[0]) < 0.9, "with one bit, {slots} slots");
                assert!(load(&of_size[19]) > 0.96, "with 20 bits, {slots} slots");
            }
        }
        assert_eq!(figure.table.rows.len(), 6);
        let bits = |row: usize| figure.table.rows[row][3].parse::<u32>().unwrap();
        assert!((2..8).contains(&bits(2)), "{} bits for 4 slots", bits(2));
        assert!(bits(5) <= bits(2));
    }
}
