//! Figure 2: the load factor over the size of the fingerprint.

use std::fmt::Write as _;

use coucal_benches::keys::Keys;

use crate::plots::{Line, Plot, Style};
use crate::report::{Csv, Section, percent, table};
use crate::simulation::{BUDGET, Simulation, fill};
use crate::timing::{median, over_cores};
use crate::{Plan, Topic, paper};

const BITS: std::ops::RangeInclusive<u32> = 1..=20;
const SLOTS: [usize; 2] = [4, 8];
/// A load this close to the best counts as the best.
const CLOSE: f64 = 0.01;

/// Of tables of so many slots, several runs take no longer than one of a large table.
const SMALL: usize = 1 << 18;

struct Point {
    power: u32,
    slots: usize,
    bits: u32,
    runs: Vec<f64>,
}

fn powers(plan: &Plan) -> Vec<u32> {
    plan.pick(vec![15, 18], vec![15, 20, 25])
}

pub fn steps(plan: &Plan) -> usize {
    powers(plan).len() * SLOTS.len() * BITS.count()
}

fn measure(plan: &Plan) -> Vec<Point> {
    let mut points = Vec::new();
    for power in powers(plan) {
        let shapes: Vec<_> =
            SLOTS.iter().flat_map(|slots| BITS.map(move |bits| (*slots, bits))).collect();
        let measured = over_cores(&shapes, |&(slots, bits)| {
            plan.step(&format!("figure 2: 2^{power} buckets of {slots}, {bits} bits"));
            let runs = if slots << power <= SMALL { 5 } else { 1 };
            let load = |run| {
                let mut simulation = Simulation::new(1 << power, slots, bits);
                fill(&mut simulation, Keys::new(run));
                simulation.load()
            };
            Point { power, slots, bits, runs: (1..=runs).map(load).collect() }
        });
        points.extend(measured);
    }
    points
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let points = measure(plan);
    let mut csv = Csv::new(&["slots", "buckets", "fingerprint bits", "load factor", "runs"]);
    for point in &points {
        let runs: Vec<_> = point.runs.iter().map(|run| format!("{run:.5}")).collect();
        csv.push(vec![
            point.slots.to_string(),
            (1_u64 << point.power).to_string(),
            point.bits.to_string(),
            format!("{:.5}", median(&point.runs)),
            runs.join(" "),
        ]);
    }
    let of = |slots: usize, power: u32| {
        let points = points.iter().filter(move |at| at.slots == slots && at.power == power);
        points.map(|at| (f64::from(at.bits), median(&at.runs))).collect::<Vec<_>>()
    };
    let (mut rows, mut lines, mut higher) = (Vec::new(), Vec::new(), true);
    for slots in SLOTS {
        for power in powers(plan) {
            let loads = of(slots, power);
            let best = loads.iter().map(|load| load.1).fold(0.0, f64::max);
            higher &= paper::load_of_slots(slots).is_some_and(|paper| best >= paper);
            let enough = loads.iter().find(|load| load.1 >= best - CLOSE);
            rows.push(vec![
                format!("{slots} slots, 2^{power} buckets"),
                paper::load_of_slots(slots).map_or_else(String::new, percent),
                percent(best),
                enough.map_or_else(String::new, |load| load.0.to_string()),
            ]);
            lines.push(Line::new(format!("b = {slots}, m = 2^{power}"), Style::Joined, loads));
        }
    }
    let mut ours = format!(
        "A plain table for one thread, with the geometry of the crate, filled until the first insert \
         fails, which is after a breadth-first search that opens {BUDGET} buckets. (The geometry is \
         the source of the crate; the search is written again for buckets of any size, and a test \
         shows that exactly the same items fit as in the filter.)\n\n"
    );
    let head = ["", "paper, at best", "ours, at best", "bits that come within a point of it"];
    ours += &table(&head, &rows);
    let verdict = if higher {
        "All best loads are higher than the paper's, as the search is for the shortest path and \
         looks at more buckets than the paper's random walk of kicks."
    } else {
        "Not all best loads are as high as the paper's."
    };
    let _ = write!(
        ours,
        "\nThe load is flat once the fingerprints are long enough, as in the paper. {verdict}"
    );
    vec![Section {
        topic: Topic::Fig2,
        title: "Figure 2: load factor over fingerprint size",
        paper: "With 4 slots a bucket the load reaches 95 %, with 8 slots 98 %, once the \
                fingerprints are long enough; the minimum grows with the table."
            .into(),
        ours,
        targets: Vec::new(),
        plots: vec![Plot {
            file: "fig2".into(),
            title: "Load factor over fingerprint size".into(),
            across: "bits of a fingerprint".into(),
            up: "load factor at the first failure".into(),
            rates: false,
            from_zero: true,
            lines,
        }],
        csv,
    }]
}
