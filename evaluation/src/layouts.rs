//! Figure 4: bits per item over the measured false-positive rate, for every layout, beside Bloom
//! filters and the lower bound of information theory.

use coucal::{
    CuckooFilter, Fp8x8, Fp9x7, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, SemiSorted14x5,
    SemiSorted17x4,
};
use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{CHUNK, Keys};
use coucal_measure::machine;
use coucal_measure::peers::{Bloom, coucal_with_bytes};
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::subject::{Subject as _, fill};
use coucal_measure::text::{figures, percent, table};
use coucal_measure::timing::together;

use crate::report::{Csv, Section, Target, median};
use crate::{Plan, Topic, paper};

/// Tables that are filled of each layout: their loads differ a little.
const FILLS: u64 = 3;
/// Fewer false positives than this do not determine a rate to within 10 %.
const ENOUGH: usize = 400;
/// Bytes of the table for a rate that takes very many lookups: it fits in the first-level cache. The
/// rate depends on the load and not on the size.
const SMALL: usize = 16 << 10;
/// Rates that Bloom filters are built for.
const BLOOM_RATES: [f64; 6] = [0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5];

/// The measurements of one layout.
struct Measured {
    name: &'static str,
    slots: usize,
    loads: Vec<f64>,
    /// The same in every table.
    bytes: usize,
    bits_per_item: f64,
    /// At the loads reached.
    predicted: f64,
    false_positives: usize,
    lookups: usize,
    /// The false positives were counted in tables of [`SMALL`] bytes.
    small: bool,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.false_positives as f64 / self.lookups as f64
    }

    /// The measured rate, or the predicted one where there were too few false positives.
    fn certain_rate(&self) -> f64 {
        if self.false_positives >= ENOUGH { self.rate() } else { self.predicted }
    }

    fn lowest_load(&self) -> f64 {
        self.loads.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn rate_target(&self) -> Target {
        let off = self.rate() / self.predicted - 1.0;
        let enough = self.false_positives >= ENOUGH;
        let due = self.predicted * self.lookups as f64;
        Target {
            what: format!("{}: false positives against the prediction", self.name),
            goal: "within 10 %".into(),
            measured: if enough {
                format!("{:+.1} %", 100.0 * off)
            } else {
                format!("{} counted, {} predicted", self.false_positives, figures(due))
            },
            met: enough.then_some(off.abs() <= 0.1),
        }
    }

    fn load_target(&self) -> Target {
        let load = expected_load(self.slots);
        Target {
            what: format!("{}: load of the first failure", self.name),
            goal: format!("at least {}", percent(load)),
            measured: format!("{:.2} %", 100.0 * self.lowest_load()),
            met: Some(self.lowest_load() >= load),
        }
    }
}

/// From the paper for 2, 4 and 8 slots, and in between for the others.
fn expected_load(slots: usize) -> f64 {
    let between = match slots {
        3 => 0.91,
        5 => 0.96,
        6 => 0.97,
        _ => 0.98,
    };
    paper::load_of_slots(slots).unwrap_or(between)
}

/// 1.44 log2(1/rate).
fn ideal_bloom(rate: f64) -> f64 {
    -rate.log2() / std::f64::consts::LN_2
}

fn bound(rate: f64) -> f64 {
    -rate.log2()
}

pub fn steps(_plan: &Plan) -> usize {
    macro_rules! count {
        ($($layout:ident)*) => { [$(stringify!($layout)),*].len() };
    }
    coucal::__for_each_layout!(count) + BLOOM_RATES.len()
}

/// The number of absent keys that a filter finds, with all cores.
fn absent_found(lookups: usize, keys: Keys, found: impl Fn(&[u64]) -> usize + Sync) -> usize {
    let threads = machine::cores();
    let (_, found) = together((0..threads).collect(), |thread| {
        let chunks = (0..lookups.div_ceil(CHUNK)).skip(thread).step_by(threads);
        let mut absent = Vec::with_capacity(CHUNK);
        let count = |chunk: usize| {
            let range = chunk * CHUNK..lookups.min((chunk + 1) * CHUNK);
            absent.clear();
            absent.extend(range.map(|index| keys.absent(index as u64)));
            found(&absent)
        };
        chunks.map(count).sum::<usize>()
    });
    found.into_iter().sum()
}

/// A filter in this number of bytes, filled with the keys of the set until an insert fails.
fn full<L: Layout>(bytes: usize, keys: Keys) -> CuckooFilter<L, KeyHash> {
    let filter = coucal_with_bytes(bytes);
    let _refused = (0..u64::MAX).find(|index| filter.insert_hash(keys.key(*index)).is_err());
    filter
}

fn measure<L: Layout>(plan: &Plan) -> Measured {
    plan.step(&format!("figure 4: {}", L::NAME));
    let bytes = plan.pick(4, 32) << 20;
    let (least, most) = plan.pick((1e7, 1e8), (1e8, 1e10));
    let mut measured = Measured {
        name: L::NAME,
        slots: L::SLOTS,
        loads: Vec::new(),
        bytes: 0,
        bits_per_item: 0.0,
        predicted: 0.0,
        false_positives: 0,
        lookups: 0,
        small: false,
    };
    let (mut bits, mut predicted) = (Vec::new(), Vec::new());
    for fill in 1..=FILLS {
        let keys = Keys::new(fill);
        let mut filter = full::<L>(bytes, keys);
        measured.loads.push(filter.load_factor());
        measured.bytes = filter.memory_bytes();
        bits.push(8.0 * filter.memory_bytes() as f64 / filter.len() as f64);
        // A tenth more than are enough, so that chance seldom gives fewer.
        let due = 1.1 * ENOUGH as f64;
        measured.small = due / filter.false_positive_rate() > most;
        if measured.small {
            filter = full(SMALL, keys);
        }
        let rate = filter.false_positive_rate();
        let lookups = if measured.small {
            plan.pick(most, due / rate)
        } else {
            (plan.pick(5000.0, 10_000.0) / rate).clamp(least, most)
        };
        let lookups = (lookups / FILLS as f64) as usize;
        measured.lookups += lookups;
        measured.false_positives += absent_found(lookups, keys, |hashes| {
            hashes.iter().filter(|hash| filter.contains_hash(**hash)).count()
        });
        predicted.push(rate);
    }
    measured.bits_per_item = median(&bits);
    measured.predicted = predicted.iter().sum::<f64>() / predicted.len() as f64;
    measured
}

/// The measured rate and the bits per item of a Bloom filter that was built for a rate.
fn measure_bloom(plan: &Plan, rate: f64) -> (f64, f64) {
    plan.step(&format!("figure 4: a Bloom filter for {}", percent(rate)));
    let (keys, items) = (Keys::new(1), plan.pick(500_000, 5_000_000));
    let mut filter = Bloom::with_rate(items, rate);
    fill(&mut filter, keys, items as u64);
    let lookups = (plan.pick(1000.0, 5000.0) / rate) as usize;
    let found = absent_found(lookups, keys, |keys| filter.look(keys) as usize);
    let bits = 8.0 * filter.bytes().unwrap_or(0) as f64;
    (found as f64 / lookups as f64, bits / items as f64)
}

/// The ranges of requested rates, from 0.1 % down to the lowest rate of a layout, in which no layout
/// takes fewer bits than an ideal Bloom filter.
fn gaps(layouts: &[Measured]) -> Vec<(f64, f64)> {
    let mut reached: Vec<_> = layouts
        .iter()
        .map(|layout| {
            // The rate of an ideal Bloom filter with the same number of bits.
            let breaks_even = (-layout.bits_per_item * std::f64::consts::LN_2).exp2();
            (breaks_even, layout.certain_rate())
        })
        .filter(|range| range.0 > range.1)
        .collect();
    reached.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut gaps, mut to) = (Vec::new(), 0.001);
    for (from, down_to) in reached {
        if from < to {
            gaps.push((to, from));
        }
        to = to.min(down_to);
    }
    gaps
}

fn bloom_target(layout: &Measured) -> Option<Target> {
    let rate = layout.certain_rate();
    (rate <= 0.001).then(|| Target {
        what: format!("{}: bits per item, at its own rate of {}", layout.name, percent(rate)),
        goal: format!("below {:.2}, an ideal Bloom filter", ideal_bloom(rate)),
        measured: format!("{:.2}", layout.bits_per_item),
        met: Some(layout.bits_per_item < ideal_bloom(rate)),
    })
}

fn half_target(layouts: &[Measured]) -> Option<Target> {
    let find = |name| layouts.iter().find(|layout| layout.name == name);
    let (plain, sorted) = (find(Fp16x4::NAME)?, find(SemiSorted17x4::NAME)?);
    let share = sorted.rate() / plain.rate();
    Some(Target {
        what: format!(
            "{} against {}: false positives, in {} and {} bytes",
            sorted.name, plain.name, sorted.bytes, plain.bytes
        ),
        goal: "half (within 10 %)".into(),
        measured: format!("ratio {share:.3}"),
        met: Some((share / 0.5 - 1.0).abs() <= 0.1 && sorted.bytes == plain.bytes),
    })
}

fn series(layouts: &[Measured], blooms: &[(f64, f64)]) -> Vec<Series> {
    let point = |layout: &Measured| {
        let point = (layout.certain_rate(), layout.bits_per_item);
        Series::new(layout.name, vec![point]).points_only()
    };
    let mut lines: Vec<_> = layouts.iter().map(point).collect();
    lines.push(Series::new("fastbloom", blooms.to_vec()).label("Bloom (fastbloom), measured"));
    let formula = |name: &str, lightness: f64, bits: fn(f64) -> f64| {
        let points = (1..=18).map(|half| 10_f64.powf(-f64::from(half) / 2.0));
        Series::new(name, points.map(|rate| (rate, bits(rate))).collect()).formula(lightness)
    };
    lines.push(formula("ideal Bloom, 1.44 log2(1/rate)", 0.0, ideal_bloom));
    lines.push(formula("paper: cuckoo, b = 4", 0.5, |rate| paper::cuckoo_bits(rate, false)));
    lines.push(formula("paper: semi-sorted, b = 4", 0.7, |rate| paper::cuckoo_bits(rate, true)));
    lines.push(formula("lower bound, log2(1/rate)", 0.2, bound));
    lines
}

fn ours(layouts: &[Measured], gaps: &[(f64, f64)]) -> String {
    let row = |layout: &Measured| {
        let rate = layout.certain_rate();
        vec![
            layout.name.to_owned(),
            format!("{:.2} %", 100.0 * median(&layout.loads)),
            if layout.false_positives >= ENOUGH {
                percent(rate)
            } else {
                format!("{} (predicted)", percent(rate))
            } + if layout.small { "*" } else { "" },
            format!("{:.2}", layout.bits_per_item),
            format!("{:.2}", bound(rate)),
            format!("{:.2}", ideal_bloom(rate)),
            format!("{:+.2}", layout.bits_per_item - ideal_bloom(rate)),
        ]
    };
    let rows: Vec<_> = layouts.iter().map(row).collect();
    let head = [
        "layout",
        "load reached",
        "false positives",
        "bits per item",
        "lower bound",
        "ideal Bloom",
        "minus ideal Bloom",
    ];
    let gap = |(from, to): &(f64, f64)| format!("from {} to {}", percent(*from), percent(*to));
    let gaps: Vec<_> = gaps.iter().map(gap).collect();
    let gaps = if gaps.is_empty() {
        "For every rate from 0.1 % down to the rate of the longest fingerprint, some layout takes \
         fewer bits than an ideal Bloom filter for that rate."
            .to_owned()
    } else {
        format!(
            "There is no layout between those of the table, because a bucket is one 64-bit word. So \
             there are rates of 0.1 % and below for which the smallest layout takes more bits than \
             an ideal Bloom filter that is built for exactly that rate: {}. For all other rates, \
             down to the rate of the longest fingerprint, some layout takes fewer bits.",
            gaps.join(", ")
        )
    };
    let reserve = "The bits include everything: words, locks and counters. The tables are filled until \
                   the first insert fails; a filter that is built `with_capacity` keeps some slots \
                   in reserve. Where a layout leaves bits of the 64-bit word unused, its point lies \
                   above the line of the paper, which gives a fingerprint any number of bits.";
    let small = if layouts.iter().any(|layout| layout.small) {
        format!(
            "\\* These false positives are so rare that they were counted in full tables of {} KiB, \
             where lookups are fastest: the rate depends on the load and not on the size.\n\n",
            SMALL >> 10
        )
    } else {
        String::new()
    };
    format!("{reserve}\n\n{}\n{small}{gaps}", table(&head, &rows))
}

pub fn run(plan: &Plan) -> Vec<Section> {
    macro_rules! measure_each {
        ($($layout:ident)*) => { vec![$(measure::<$layout>(plan)),*] };
    }
    let layouts = coucal::__for_each_layout!(measure_each);
    let blooms: Vec<_> = BLOOM_RATES.iter().map(|rate| measure_bloom(plan, *rate)).collect();
    let mut csv = Csv::new(&[
        "filter",
        "load factors",
        "bytes",
        "bits per item",
        "false positives",
        "lookups",
        "rate",
        "predicted rate",
    ]);
    for layout in &layouts {
        let loads: Vec<_> = layout.loads.iter().map(|load| format!("{load:.5}")).collect();
        csv.push(vec![
            layout.name.to_owned(),
            loads.join(" "),
            layout.bytes.to_string(),
            format!("{:.4}", layout.bits_per_item),
            layout.false_positives.to_string(),
            layout.lookups.to_string(),
            format!("{:e}", layout.rate()),
            format!("{:e}", layout.predicted),
        ]);
    }
    for (rate, bits) in &blooms {
        let blank = String::new;
        let (bits, rate) = (format!("{bits:.4}"), format!("{rate:e}"));
        csv.push(vec!["fastbloom".into(), blank(), blank(), bits, blank(), blank(), rate, blank()]);
    }
    let mut targets: Vec<_> = layouts.iter().map(Measured::load_target).collect();
    targets.extend(layouts.iter().map(Measured::rate_target));
    targets.extend(half_target(&layouts));
    targets.extend(layouts.iter().filter_map(bloom_target));
    let gaps = gaps(&layouts);
    targets.push(Target {
        what: "fewer bits than an ideal Bloom filter for every rate of 0.1 % and below".into(),
        goal: "no exceptions".into(),
        measured: match gaps.len() {
            0 => "none".into(),
            gaps => format!("{gaps} ranges, see above"),
        },
        met: Some(gaps.is_empty()),
    });
    vec![Section {
        topic: Topic::Fig4,
        title: "Figure 4: bits per item over false-positive rate, against Bloom filters",
        paper: format!(
            "For rates below 3 % a semi-sorted cuckoo filter takes fewer bits than a \
             space-optimized Bloom filter. At 0.1 % the formulas of the paper give {} bits per \
             item for a cuckoo filter, {} for a semi-sorted one, and {} for an ideal Bloom filter.",
            figures(paper::cuckoo_bits(0.001, false)),
            figures(paper::cuckoo_bits(0.001, true)),
            figures(ideal_bloom(0.001))
        ),
        ours: ours(&layouts, &gaps),
        targets,
        plots: vec![Plot {
            file: "fig4".into(),
            title: "Bits per item over false-positive rate".into(),
            x: Axis::new("false-positive rate", Scale::Log),
            y: Axis::new("bits per item", Scale::FromZero),
            series: series(&layouts, &blooms),
        }],
        csv,
    }]
}
