//! Figure 3: bits per item over the false-positive rate, by slots per bucket.

use coucal_benches::keys::Keys;
use coucal_benches::plot::{Plot, Scale, Series};
use coucal_benches::text::{Table, figures, percent};
use rayon::prelude::*;

use crate::Figure;
use crate::simulation::{Simulation, fill};

const SLOTS: [usize; 3] = [2, 4, 8];
const BITS: std::ops::RangeInclusive<u32> = 5..=20;
/// This number of false positives determines a rate to within about 3 %.
const EVENTS: f64 = 1000.0;
/// The rates in the table.
const RATES: [f64; 7] = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001];

struct Point {
    slots: usize,
    bits: u32,
    load: f64,
    rate: f64,
}

impl Point {
    fn measure(buckets: usize, slots: usize, bits: u32) -> Self {
        let keys = Keys::new(1);
        let mut simulation = Simulation::new(buckets, slots, bits);
        fill(&mut simulation, keys);
        let expected = (2 * slots) as f64 / f64::from(bits).exp2();
        let lookups = (EVENTS / expected) as u64;
        let found = (0..lookups).filter(|index| simulation.contains(keys.absent(*index))).count();
        Self { slots, bits, load: simulation.load(), rate: found as f64 / lookups as f64 }
    }

    fn bits_per_item(&self) -> f64 {
        f64::from(self.bits) / self.load
    }
}

/// Returns the minimum number of bits per item for this rate or a lower one, by slots per bucket; and the number of
/// slots with the minimum of all.
fn fewest(points: &[Point], rate: f64) -> ([f64; SLOTS.len()], usize) {
    let bits = SLOTS.map(|slots| {
        let reach = points.iter().filter(|point| point.slots == slots && point.rate <= rate);
        reach.map(Point::bits_per_item).fold(f64::INFINITY, f64::min)
    });
    let best = (0..SLOTS.len()).min_by(|a, b| bits[*a].total_cmp(&bits[*b])).expect("three");
    (bits, SLOTS[best])
}

pub fn figure(name: &str, buckets: usize) -> Figure {
    let shapes: Vec<_> =
        SLOTS.iter().flat_map(|slots| BITS.map(move |bits| (*slots, bits))).collect();
    let measure = |(slots, bits)| Point::measure(buckets, slots, bits);
    let points: Vec<_> = shapes.into_par_iter().map(measure).collect();
    let head = "slots,fingerprint bits,load factor,bits per item,false positives";
    let mut csv = vec![head.to_owned()];
    for point in &points {
        let Point { slots, bits, load, rate } = *point;
        csv.push(format!("{slots},{bits},{load:.5},{:.3},{rate:.4e}", point.bits_per_item()));
    }
    let columns = ["false positives", "2 slots", "4 slots", "8 slots", "fewest with slots"];
    let mut table = Table::new(name, columns);
    for rate in RATES {
        let (bits, best) = fewest(&points, rate);
        table.cells(&percent(rate), bits.map(figures).into_iter().chain([best.to_string()]));
    }
    let line = |slots| {
        let points = points.iter().filter(|point| point.slots == slots);
        let points = points.map(|point| (point.rate, point.bits_per_item())).collect();
        Series::new(format!("b = {slots}"), points)
    };
    let plot = Plot {
        file: name.into(),
        title: "Bits per item over false-positive rate, by slots per bucket".into(),
        x: ("false-positive rate", Scale::Log),
        y: ("bits per item", Scale::FromZero),
        series: SLOTS.map(line).into(),
    };
    Figure { csv, table, plots: vec![plot] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate is that of 2b fingerprints, each of which is in use with the probability of the load.
    #[test]
    fn the_rate_is_that_of_the_slots_in_use() {
        for (slots, bits) in [(2, 8), (4, 9), (8, 10)] {
            let point = Point::measure(1 << 10, slots, bits);
            let expected = (2 * slots) as f64 * point.load / f64::from(bits).exp2();
            let ratio = point.rate / expected;
            assert!((0.85..1.15).contains(&ratio), "{slots} slots, {bits} bits: {ratio}");
        }
    }

    #[test]
    fn the_fewest_bits_are_those_of_a_rate_that_is_low_enough() {
        let point = |slots, bits, rate| Point { slots, bits, load: 0.5, rate };
        let points = [(2, 5, 0.2), (2, 6, 0.1), (4, 5, 0.1), (4, 8, 0.01), (8, 9, 0.1)];
        let points = points.map(|(slots, bits, rate)| point(slots, bits, rate));
        assert_eq!(fewest(&points, 0.1), ([12.0, 10.0, 18.0], 4));
        assert_eq!(fewest(&points, 0.05), ([f64::INFINITY, 16.0, f64::INFINITY], 4));
    }
}
