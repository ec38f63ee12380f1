//! Figure 2: the load factor at the first failed insert over the length of the fingerprint.

use coucal_benches::keys::Keys;
use coucal_benches::plot::{Plot, Scale, Series};
use coucal_benches::text::{Table, percent};
use rayon::prelude::*;

use crate::Figure;
use crate::simulation::{Simulation, fill};

const BITS: std::ops::RangeInclusive<u32> = 1..=20;
/// Slots per bucket, and the load that the paper reaches with long fingerprints (section 5.1).
const SLOTS: [(usize, f64); 2] = [(4, 0.95), (8, 0.98)];
/// A load this close to the best counts as the best.
const CLOSE: f64 = 0.01;
/// Tables up to this number of slots are filled several times: the loads of small tables vary.
const SMALL: usize = 1 << 18;

/// Makes the figure for tables of 2^`power` buckets.
pub fn figure(name: &str, powers: [u32; 3]) -> Figure {
    let mut csv = vec!["slots,buckets,fingerprint bits,load factor,fills".to_owned()];
    let columns = ["", "best, paper", "best, here", "fewest bits within 1 % of the best"];
    let (mut table, mut lines) = (Table::new(name, columns), Vec::new());
    for (slots, paper) in SLOTS {
        // The larger the table, the darker its colour.
        for (power, opacity) in powers.into_iter().zip([0.35, 0.65, 1.0]) {
            let fills = if slots << power <= SMALL { 10 } else { 1 };
            let load = |bits: u32| {
                let load = |set| {
                    let mut simulation = Simulation::new(1 << power, slots, bits);
                    fill(&mut simulation, Keys::new(set));
                    simulation.load()
                };
                (bits, (1..=fills).map(load).sum::<f64>() / fills as f64)
            };
            let loads: Vec<_> = BITS.into_par_iter().map(load).collect();
            let best = loads.iter().map(|load| load.1).fold(0.0, f64::max);
            let enough = loads.iter().find(|load| load.1 >= best - CLOSE).expect("the best itself");
            let label = format!("{slots} slots, 2^{power} buckets");
            table.cells(&label, [percent(paper), percent(best), enough.0.to_string()]);
            for (bits, load) in &loads {
                csv.push(format!("{slots},{},{bits},{load:.5},{fills}", 1 << power));
            }
            let points = loads.into_iter().map(|(bits, load)| (bits.into(), load)).collect();
            let line = Series::new(format!("b = {slots}, m = 2^{power}"), points);
            lines.push(Series { opacity, ..line });
        }
    }
    let plot = Plot {
        file: name.into(),
        title: "Load factor over fingerprint length".into(),
        x: ("bits of a fingerprint", Scale::FromZero),
        y: ("load factor at the first failed insert", Scale::FromZero),
        series: lines,
    };
    Figure { csv, table, plots: vec![plot] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short fingerprints have few pairs of buckets; more slots per bucket compensate for that.
    #[test]
    fn long_fingerprints_fill_the_table() {
        let figure = figure("fig2", [7, 8, 9]);
        for line in &figure.plots[0].series {
            assert!(line.points[0].1 < 0.9, "with one bit, {}", line.label);
            assert!(line.points[19].1 > 0.96, "with 20 bits, {}", line.label);
        }
        let bits = figure.table.rows().iter().map(|row| row[3].parse::<u32>().unwrap());
        let bits: Vec<_> = bits.collect();
        assert_eq!((bits.len(), figure.csv.len()), (6, 1 + 6 * 20));
        assert!((2..8).contains(&bits[2]), "{} bits for 4 slots", bits[2]);
        assert!(bits[5] <= bits[2]);
    }
}
