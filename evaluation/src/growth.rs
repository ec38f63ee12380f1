//! Growth: load, false positives and space from the first size to the greatest, for every layout, beside
//! an independent simulation of linear hashing.
//!
//! The simulation takes only the fingerprint and the rows of a key from the crate. Its buckets are
//! vectors, the number of a bucket follows Litwin's definition (hash with the coarse function, and with
//! the fine one if that bucket is split already), and its selectors are ideal ones: bits of a random
//! function of the fingerprint and the parity of the row. So it shows what the scheme can do, and the
//! comparison whether the filter, with its cheap selectors, does it.

use coucal::{GrowableCuckooFilter, Layout, internals};
use coucal_measure::keys::{Keys, mix};
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::{figures, percent, table};
use coucal_measure::timing::parallel_map;

use crate::report::{Csv, Section, Target};
use crate::{Plan, Topic};

/// Slots of each table at first, or a few less.
const FIRST: usize = 1 << 12;
/// Bits of a fingerprint that growth leaves.
const ALTERNATE_BITS: u32 = 6;
/// Buckets that a search opens, and those that it opens where the load is below the target.
const SEARCH: [usize; 2] = [24, 768];
/// How far the load goes beyond the target before a bucket is split.
const MARGIN: f64 = 0.01;
/// This many false positives determine a rate to within about 3 %.
const EVENTS: f64 = 1000.0;
/// Fewer than this do not determine it to within 10 %.
const ENOUGH: f64 = 400.0;

/// What is measured in one doubling: of a filter, or of the simulation.
#[derive(Clone, Copy, Default)]
struct Loads {
    least: f64,
    sum: f64,
    inserts: usize,
}

impl Loads {
    fn new() -> Self {
        Self { least: 1.0, ..Self::default() }
    }

    fn add(&mut self, items: usize, slots: usize) {
        let load = items as f64 / slots as f64;
        self.least = self.least.min(load);
        self.sum += load;
        self.inserts += 1;
    }

    fn mean(&self) -> f64 {
        self.sum / self.inserts as f64
    }
}

/// One layout at the end of one doubling.
struct Point {
    name: &'static str,
    doubling: u32,
    slots: usize,
    items: usize,
    filter: Loads,
    simulated: Loads,
    /// By the formula.
    formula: f64,
    /// Stated by the filter.
    stated: f64,
    /// Measured, in the filter and in the simulation; `None` where it would take too many lookups.
    rate: Option<f64>,
    simulated_rate: Option<f64>,
    bits_per_item: f64,
}

/// The share of slots in use that a filter which grows keeps, by the documentation of the crate.
fn target(slots: usize) -> f64 {
    match slots {
        8 => 0.91,
        7 => 0.905,
        6 => 0.90,
        5 => 0.885,
        4 => 0.87,
        3 => 0.83,
        _ => 0.75,
    }
}

struct Simulation {
    rows: usize,
    bits: u32,
    slots: usize,
    level: u32,
    /// Buckets of this level that are split.
    split: usize,
    buckets: Vec<Vec<u32>>,
    items: usize,
    greatest: usize,
}

/// A bucket that a search has reached.
struct Node {
    bucket: usize,
    row: usize,
    /// The node and the slot whose fingerprint would move here.
    from: Option<(usize, usize)>,
}

impl Simulation {
    fn new<L: Layout>(rows: usize, greatest: usize) -> Self {
        Self {
            rows,
            bits: L::FINGERPRINT_BITS,
            slots: L::SLOTS,
            level: 0,
            split: 0,
            buckets: vec![Vec::new(); rows],
            items: 0,
            greatest,
        }
    }

    /// A random function of the fingerprint and the parity of the row.
    fn selector(fingerprint: u32, row: usize) -> usize {
        mix(u64::from(fingerprint) << 1 | row as u64 & 1) as usize
    }

    /// Litwin's address: by the coarse function, or by the fine one in what is split.
    fn address(&self, fingerprint: u32, row: usize) -> usize {
        let selector = Self::selector(fingerprint, row);
        let coarse = selector % (1 << self.level) * self.rows + row;
        if coarse < self.split {
            selector % (1 << (self.level + 1)) * self.rows + row
        } else {
            coarse
        }
    }

    fn key(&self, hash: u64) -> (u32, [usize; 2]) {
        let (fingerprint, first, second) = internals::key(self.rows, hash, self.bits);
        (fingerprint as u32, [first, second])
    }

    fn load(&self) -> f64 {
        self.items as f64 / (self.buckets.len() * self.slots) as f64
    }

    fn split_next(&mut self) {
        let held = std::mem::take(&mut self.buckets[self.split]);
        let (old, row) = (self.split, self.split % self.rows);
        self.buckets.push(Vec::new());
        self.split += 1;
        for fingerprint in held {
            let to = self.address(fingerprint, row);
            debug_assert!(to == old || to == self.buckets.len() - 1);
            self.buckets[to].push(fingerprint);
        }
        if self.split == self.rows << self.level {
            self.level += 1;
            self.split = 0;
        }
    }

    fn insert(&mut self, hash: u64) {
        let (fingerprint, rows) = self.key(hash);
        while !self.place(fingerprint, rows) {
            assert!(self.buckets.len() < self.greatest, "full before its time");
            self.split_next();
        }
        self.items += 1;
        let due = target(self.slots) + MARGIN;
        while self.load() > due && self.buckets.len() < self.greatest {
            self.split_next();
        }
    }

    /// Breadth first, for the shortest path to a bucket that has room.
    fn place(&mut self, fingerprint: u32, rows: [usize; 2]) -> bool {
        let mut nodes: Vec<Node> = Vec::new();
        let mut roots = rows.map(|row| (self.address(fingerprint, row), row));
        roots.sort_by_key(|(bucket, _)| self.buckets[*bucket].len());
        for (bucket, row) in roots {
            nodes.push(Node { bucket, row, from: None });
        }
        let most = SEARCH[usize::from(self.load() < target(self.slots))];
        let mut at = 0;
        while at < nodes.len() {
            if self.buckets[nodes[at].bucket].len() < self.slots {
                self.move_along(&nodes, at, fingerprint);
                return true;
            }
            for slot in 0..self.slots {
                let (moved, row) = (self.buckets[nodes[at].bucket][slot], nodes[at].row);
                let row = internals::alternate(self.rows, row, moved.into());
                let bucket = self.address(moved, row);
                let known = nodes.iter().any(|node| node.bucket == bucket);
                if nodes.len() < most && !known {
                    nodes.push(Node { bucket, row, from: Some((at, slot)) });
                }
            }
            at += 1;
        }
        false
    }

    fn move_along(&mut self, nodes: &[Node], last: usize, fingerprint: u32) {
        let mut node = &nodes[last];
        while let Some((from, slot)) = node.from {
            let moved = self.buckets[nodes[from].bucket].swap_remove(slot);
            self.buckets[node.bucket].push(moved);
            node = &nodes[from];
        }
        self.buckets[node.bucket].push(fingerprint);
    }

    fn contains(&self, hash: u64) -> bool {
        let (fingerprint, rows) = self.key(hash);
        rows.iter().any(|&row| self.buckets[self.address(fingerprint, row)].contains(&fingerprint))
    }
}

fn doublings(plan: &Plan, bits: u32) -> u32 {
    (bits - ALTERNATE_BITS).min(plan.pick(5, 10))
}

pub fn steps(_plan: &Plan) -> usize {
    macro_rules! count {
        ($($layout:ident)*) => { [$(stringify!($layout)),*].len() };
    }
    coucal::__for_each_layout!(count)
}

/// The filter and the simulation with the same keys, doubling by doubling.
fn measure<L: Layout>(plan: &Plan) -> Vec<Point> {
    plan.step(&format!("growth: {}", L::NAME));
    // Some slack, as the crate has it for the scatter of small tables.
    let load = target(L::SLOTS) - 0.045;
    let items = |slots: usize| (slots as f64 * load) as usize;
    let doublings = doublings(plan, L::FINGERPRINT_BITS);
    let first = items(FIRST);
    let builder = coucal::CuckooFilter::builder().capacity(first);
    // Exactly as many doublings as the fingerprints have bits to spare.
    let greatest = (0..100).rev().find_map(|part| {
        let most = items(FIRST << doublings) * (100 + part) / 150;
        builder.clone().max_capacity(most).layout::<L>().hasher(()).build().ok()
    });
    let filter: GrowableCuckooFilter<L, ()> = greatest.expect("fewer doublings are in reach");
    let rows = filter.slots() / L::SLOTS;
    let words = filter.reserved_bytes() - filter.memory_bytes();
    let greatest = words / size_of::<u64>() + rows;
    let mut simulation = Simulation::new::<L>(rows, greatest);
    let keys = Keys::new(11);
    let values = f64::from(L::FINGERPRINT_BITS).exp2();
    let most = plan.pick(1e6, 1e7);

    let mut points = Vec::new();
    let mut stored = 0;
    for doubling in 1..=doublings {
        let end = (rows << doubling) * L::SLOTS;
        let end = end.min(greatest * L::SLOTS);
        let (mut of_filter, mut simulated) = (Loads::new(), Loads::new());
        // Up to the size in whose middle the next doubling would begin.
        while filter.slots() < end && stored < filter.max_capacity() {
            let hash = keys.key(stored as u64);
            filter.insert_hash(hash).expect("below the greatest capacity");
            simulation.insert(hash);
            stored += 1;
            if filter.slots() > rows * L::SLOTS && simulation.buckets.len() > rows {
                of_filter.add(stored, filter.slots());
                simulated.add(stored, simulation.buckets.len() * L::SLOTS);
            }
        }
        let per_class = 2.0 * stored as f64 / rows as f64;
        let formula = 1.0 - (1.0 - 1.0 / values).powf(per_class);
        let lookups = (EVENTS / formula).min(most);
        let share = |found: &dyn Fn(u64) -> bool| {
            (lookups * formula >= ENOUGH).then(|| {
                let found = (0..lookups as u64).filter(|index| found(keys.absent(*index)));
                found.count() as f64 / lookups.floor()
            })
        };
        points.push(Point {
            name: L::NAME,
            doubling,
            slots: filter.slots(),
            items: stored,
            filter: of_filter,
            simulated,
            formula,
            stated: filter.false_positive_rate(),
            rate: share(&|hash| filter.contains_hash(hash)),
            simulated_rate: share(&|hash| simulation.contains(hash)),
            bits_per_item: filter.memory_bytes() as f64 * 8.0 / stored as f64,
        });
    }
    points
}

fn measure_all(plan: &Plan) -> Vec<Vec<Point>> {
    macro_rules! each {
        ($($layout:ident)*) => {
            // The layouts with the longest way first.
            [$(measure::<coucal::$layout> as fn(&Plan) -> Vec<Point>),*].into_iter().rev().collect()
        };
    }
    let each: Vec<_> = coucal::__for_each_layout!(each);
    let mut measured = parallel_map(Plan::workers(), &each, |measure| measure(plan));
    measured.reverse();
    measured
}

fn csv(layouts: &[Vec<Point>]) -> Csv {
    let mut csv = Csv::new(&[
        "layout",
        "doubling",
        "slots",
        "items",
        "mean load",
        "least load",
        "mean load, simulated",
        "least load, simulated",
        "false positives",
        "false positives, simulated",
        "false positives, formula",
        "false positives, stated",
        "bits per item",
    ]);
    let rate = |rate: Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:e}"));
    for point in layouts.iter().flatten() {
        csv.push(vec![
            point.name.into(),
            point.doubling.to_string(),
            point.slots.to_string(),
            point.items.to_string(),
            format!("{:.5}", point.filter.mean()),
            format!("{:.5}", point.filter.least),
            format!("{:.5}", point.simulated.mean()),
            format!("{:.5}", point.simulated.least),
            rate(point.rate),
            rate(point.simulated_rate),
            format!("{:e}", point.formula),
            format!("{:e}", point.stated),
            format!("{:.3}", point.bits_per_item),
        ]);
    }
    csv
}

/// How far a value is from what it should be, at worst.
fn farthest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

fn targets(points: &[Point]) -> Vec<Target> {
    let name = points[0].name;
    let difference = |at: &Point| at.filter.mean() - at.simulated.mean();
    let load = points.iter().map(difference).fold(f64::INFINITY, f64::min);
    let off = |at: &Point| Some(at.rate? / at.formula - 1.0);
    let rate = farthest(points.iter().filter_map(off));
    vec![
        Target {
            what: format!("{name}: mean load of each doubling against the simulation"),
            goal: "no lower".into(),
            measured: format!("{:+.2} points at worst", 100.0 * load),
            met: Some(load >= 0.0),
        },
        Target {
            what: format!("{name}: false positives at each size against the formula"),
            goal: "within 10 %".into(),
            measured: rate.map_or_else(
                || "too rare to count".into(),
                |rate| format!("{:+.1} % at worst", 100.0 * rate),
            ),
            met: rate.map(|rate| rate.abs() <= 0.1),
        },
    ]
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let layouts = measure_all(plan);
    let line = |value: fn(&Point) -> Option<f64>| {
        move |points: &Vec<Point>| {
            let place = |at: &Point| Some((at.items as f64, value(at)?));
            Series::new(points[0].name, points.iter().filter_map(place).collect())
        }
    };
    let formula = |points: &Vec<Point>| {
        line(|at| Some(at.formula))(points).label(format!("{}, formula", points[0].name)).dashed()
    };
    let simulated = |points: &Vec<Point>| {
        line(|at| Some(at.simulated.mean()))(points)
            .label(format!("{}, simulated", points[0].name))
            .dashed()
    };
    let row = |points: &Vec<Point>| {
        let last = points.last().expect("each layout doubles twice or more");
        let least = |loads: fn(&Point) -> f64| points.iter().map(loads).fold(1.0, f64::min);
        let mean =
            |loads: fn(&Point) -> f64| points.iter().map(loads).sum::<f64>() / points.len() as f64;
        let rate = |rate: Option<f64>| rate.map_or_else(|| "–".into(), percent);
        vec![
            last.name.to_owned(),
            points.len().to_string(),
            percent(mean(|at| at.filter.mean())),
            percent(mean(|at| at.simulated.mean())),
            percent(least(|at| at.filter.least)),
            percent(least(|at| at.simulated.least)),
            rate(last.rate),
            percent(last.formula),
            figures(last.bits_per_item),
        ]
    };
    let rows: Vec<_> = layouts.iter().map(row).collect();
    let head = [
        "layout",
        "doublings",
        "mean load",
        "simulated",
        "least load",
        "simulated",
        "false positives at the end",
        "formula",
        "bits per item at the end",
    ];
    let ours = format!(
        "A filter of each layout begins with some 2^12 slots and doubles ten times, or as often as its \
         fingerprints allow. Beside it grows a simulation with the same keys: linear hashing after \
         Litwin (\"Linear Hashing\", VLDB 1980), one bucket split at a time, with ideal selectors in \
         place of the filter's two multiplicative ones. The loads are those after each insert from the \
         first growth on: those of the filter are higher, since it looks at its load at one \
         insert of 32 and the simulation at each. With n items and m rows (the buckets of the first size) the \
         share of false positives is about 2n/(m 2^f), and exactly 1 - (1 - 2^-f)^(2n/m), the formula \
         of the table: in proportion to the items. All bytes count for the bits per item. The locks \
         are those of the greatest size, and up to 48 KiB.\n\n{}",
        table(&head, &rows)
    );
    vec![Section {
        topic: Topic::Growth,
        title: "Growth: load, false positives and space",
        paper: "Not in the paper: its filter has one size.".into(),
        ours,
        targets: layouts.iter().flat_map(|points| targets(points)).collect(),
        plots: vec![
            Plot {
                file: "growth-load".into(),
                title: "Mean load of each doubling".into(),
                x: Axis::new("items at its end", Scale::Log),
                y: Axis::new("load factor", Scale::Linear),
                series: layouts
                    .iter()
                    .map(line(|at| Some(at.filter.mean())))
                    .chain(layouts.iter().map(simulated))
                    .collect(),
            },
            Plot {
                file: "growth-rate".into(),
                title: "False positives over the items".into(),
                x: Axis::new("items", Scale::Log),
                y: Axis::new("false-positive rate", Scale::Log),
                series: layouts
                    .iter()
                    .map(line(|at| at.rate))
                    .chain(layouts.iter().map(formula))
                    .filter(|series| !series.is_empty())
                    .collect(),
            },
            Plot {
                file: "growth-bits".into(),
                title: "Bits per item over the items".into(),
                x: Axis::new("items", Scale::Log),
                y: Axis::new("bits per item", Scale::FromZero),
                series: layouts.iter().map(line(|at| Some(at.bits_per_item))).collect(),
            },
        ],
        csv: csv(&layouts),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal::Fp16x4;

    /// Splits and kicks lose nothing, and each fingerprint lies where its address says.
    #[test]
    fn what_was_inserted_is_found() {
        let keys = Keys::new(1);
        let mut simulation = Simulation::new::<Fp16x4>(32, 32 << 8);
        for index in 0..25_000 {
            simulation.insert(keys.key(index));
        }
        assert!((0..25_000).all(|index| simulation.contains(keys.key(index))));
        assert_eq!(simulation.buckets.iter().map(Vec::len).sum::<usize>(), 25_000);
        for (number, bucket) in simulation.buckets.iter().enumerate() {
            assert!(bucket.len() <= 4);
            let lies_here = |&f: &u32| simulation.address(f, number % 32) == number;
            assert!(bucket.iter().all(lies_here));
        }
    }
}
