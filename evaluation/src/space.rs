//! Figure 3: bits per item over the false-positive rate, by slots per bucket.

use coucal_measure::keys::Keys;
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::{figures, percent, table};
use coucal_measure::timing::parallel_map;

use crate::report::{Csv, Section};
use crate::simulation::{Simulation, fill};
use crate::{Plan, Topic, paper};

const SLOTS: [usize; 3] = [2, 4, 8];
const BITS: std::ops::RangeInclusive<u32> = 5..=20;
const BUCKETS: usize = 1 << 15;
/// This many false positives determine a rate to within about 3 %.
const EVENTS: f64 = 1000.0;

struct Point {
    slots: usize,
    bits: u32,
    load: f64,
    rate: f64,
}

pub fn steps(_plan: &Plan) -> usize {
    SLOTS.len() * BITS.count()
}

fn measure(plan: &Plan) -> Vec<Point> {
    let shapes: Vec<_> =
        SLOTS.iter().flat_map(|slots| BITS.map(move |bits| (*slots, bits))).collect();
    let most = plan.pick(1e7, 2e8);
    parallel_map(Plan::workers(), &shapes, |&(slots, bits)| {
        plan.step(&format!("figure 3: buckets of {slots}, {bits} bits"));
        let keys = Keys::new(1);
        let mut simulation = Simulation::new(BUCKETS, slots, bits);
        fill(&mut simulation, keys);
        let due = (2 * slots) as f64 / f64::from(bits).exp2();
        let lookups = (EVENTS / due).min(most) as u64;
        let yes = (0..lookups).filter(|index| simulation.contains(keys.absent(*index))).count();
        Point { slots, bits, load: simulation.load(), rate: yes as f64 / lookups as f64 }
    })
}

impl Point {
    fn bits_per_item(&self) -> f64 {
        f64::from(self.bits) / self.load
    }
}

/// The fewest bits for a rate, by slots per bucket.
fn best(points: &[Point], rate: f64) -> Vec<(usize, f64)> {
    let fewest = |slots| {
        let reach = points.iter().filter(|at| at.slots == slots && at.rate <= rate);
        (slots, reach.map(Point::bits_per_item).fold(f64::INFINITY, f64::min))
    };
    SLOTS.map(fewest).to_vec()
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let points = measure(plan);
    let mut csv =
        Csv::new(&["slots", "fingerprint bits", "load factor", "bits per item", "false positives"]);
    for point in &points {
        csv.push(vec![
            point.slots.to_string(),
            point.bits.to_string(),
            format!("{:.5}", point.load),
            format!("{:.3}", point.bits_per_item()),
            format!("{:e}", point.rate),
        ]);
    }
    let line = |slots| {
        let points = points.iter().filter(|at| at.slots == slots && at.rate > 0.0);
        let points = points.map(|at| (at.rate, at.bits_per_item())).collect();
        Series::new(format!("b = {slots}"), points)
    };
    let row = |rate: f64| {
        let bits = best(&points, rate);
        let fewest = bits.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let mut row = vec![percent(rate)];
        row.extend(bits.iter().map(|bits| figures(bits.1)));
        row.push(fewest.map_or_else(String::new, |fewest| fewest.0.to_string()));
        row
    };
    let rows: Vec<_> = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001].map(row).to_vec();
    let loads: Vec<_> = SLOTS
        .iter()
        .map(|slots| {
            let load = points.iter().filter(|at| at.slots == *slots).map(|at| at.load);
            let paper = paper::load_of_slots(*slots).map_or_else(String::new, percent);
            format!("{slots} slots {} (paper {paper})", percent(load.fold(0.0, f64::max)))
        })
        .collect();
    let ours = format!(
        "The simulated table of figure 2, with 2^15 buckets. Best loads: {}. The fewest bits per item for \
         a rate or a lower one; a fingerprint has a whole number of bits:\n\n{}\n\
         Figure 4 shows the space of the filter itself, whose buckets are words of 64 bits.",
        loads.join(", "),
        table(&["false positives", "b = 2", "b = 4", "b = 8", "fewest at b ="], &rows)
    );
    vec![Section {
        topic: Topic::Fig3,
        title: "Figure 3: bits per item over false-positive rate, by slots per bucket",
        paper:
            "For rates above 0.2 % two slots per bucket are slightly better; from 0.2 % down to \
                0.001 % four are best. (A lookup compares with 2b fingerprints, so each doubling \
                of b costs one bit, and raises the load.)"
                .into(),
        ours,
        targets: Vec::new(),
        plots: vec![Plot {
            file: "fig3".into(),
            title: "Bits per item over false-positive rate, by slots per bucket".into(),
            x: Axis::new("false-positive rate", Scale::Log),
            y: Axis::new("bits per item", Scale::FromZero),
            series: SLOTS.map(line).into(),
        }],
        csv,
    }]
}
