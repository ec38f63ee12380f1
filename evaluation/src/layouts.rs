//! Figure 4: bits an item over the achieved rate of false positives, for every layout, beside Bloom
//! filters and the bound of information theory.

use coucal::{
    CuckooFilter, DefaultHashBuilder, Fp8x8, Fp9x7, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout,
    SemiSorted14x5, SemiSorted17x4,
};
use coucal_benches::keys::{CHUNK, Keys};

use crate::filters::coucal_of;
use crate::plots::{Line, Plot, Style};
use crate::report::{Csv, Section, Target, figures, percent, table};
use crate::timing::{median, together};
use crate::{Plan, Topic, machine, paper};

/// Tables of each layout that are filled: loads differ a little from one to the next.
const FILLS: u64 = 3;
/// Fewer false positives than this do not tell a rate to 10 %.
const ENOUGH: usize = 400;
/// The table in which a rate is measured that needs too many lookups for a large one: its words and
/// versions stay in a first-level cache. The rate depends on the load and not on the size.
const SMALL: usize = 16 << 10;
/// Rates that Bloom filters are built for.
const BLOOM_RATES: [f64; 6] = [0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5];

/// What the tables of one layout hold and report.
struct Measured {
    name: &'static str,
    slots: usize,
    loads: Vec<f64>,
    /// The same in every table.
    bytes: usize,
    bits_an_item: f64,
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

    /// The rate measured, or the predicted one where too few false positives were seen.
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
                format!("{} seen, {} due", self.false_positives, figures(due))
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

/// The paper's for 2, 4 and 8 slots; for those in between what lies between them.
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

/// How many absent keys a filter reports, over all cores.
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

/// The keys of the set until one fails, in so many bytes.
fn full<L: Layout>(bytes: usize, keys: Keys) -> CuckooFilter<L> {
    let filter = coucal_of(bytes);
    let _refused = (0..u64::MAX).find(|index| filter.insert_hash(keys.key(*index)).is_err());
    filter
}

fn measure<L: Layout>(plan: &Plan) -> Measured {
    plan.step(&format!("figure 4: {}", L::NAME));
    let bytes = plan.pick(4, 32) << 20;
    let (least, most) = plan.pick((1e7, 4e8), (1e8, 1e10));
    let mut measured = Measured {
        name: L::NAME,
        slots: L::SLOTS,
        loads: Vec::new(),
        bytes: 0,
        bits_an_item: 0.0,
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
        // One in ten more than are enough, so that chance seldom leaves fewer.
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
    measured.bits_an_item = median(&bits);
    measured.predicted = predicted.iter().sum::<f64>() / predicted.len() as f64;
    measured
}

/// The rate and the bits an item of a Bloom filter made for a rate.
fn measure_bloom(plan: &Plan, rate: f64) -> (f64, f64) {
    plan.step(&format!("figure 4: a Bloom filter for {}", percent(rate)));
    let (keys, items) = (Keys::new(1), plan.pick(500_000, 5_000_000));
    let filter = fastbloom::AtomicBloomFilter::with_false_pos(rate)
        .hasher(DefaultHashBuilder::default())
        .expected_items(items as usize);
    for index in 0..items {
        filter.insert(&keys.key(index));
    }
    let lookups = (plan.pick(1000.0, 5000.0) / rate) as usize;
    let found =
        absent_found(lookups, keys, |keys| keys.iter().filter(|key| filter.contains(*key)).count());
    (found as f64 / lookups as f64, filter.num_bits() as f64 / items as f64)
}

/// The requested rates, from 0.1 % down to the smallest that a layout has, for which no layout
/// takes fewer bits than an ideal Bloom filter: upper and lower ends.
fn gaps(layouts: &[Measured]) -> Vec<(f64, f64)> {
    let mut reached: Vec<_> = layouts
        .iter()
        .map(|layout| {
            // An ideal Bloom filter of as many bits has this rate; for lower ones it takes more.
            let breaks_even = (-layout.bits_an_item * std::f64::consts::LN_2).exp2();
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
        what: format!("{}: bits an item, at its own rate of {}", layout.name, percent(rate)),
        goal: format!("below {:.2} of an ideal Bloom filter", ideal_bloom(rate)),
        measured: format!("{:.2}", layout.bits_an_item),
        met: Some(layout.bits_an_item < ideal_bloom(rate)),
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
        measured: format!("{share:.3} times"),
        met: Some((share / 0.5 - 1.0).abs() <= 0.1 && sorted.bytes == plain.bytes),
    })
}

fn lines(layouts: &[Measured], blooms: &[(f64, f64)]) -> Vec<Line> {
    let point = |layout: &Measured| {
        let point = (layout.certain_rate(), layout.bits_an_item);
        Line::new(layout.name, Style::Points, vec![point])
    };
    let mut lines: Vec<_> = layouts.iter().map(point).collect();
    lines.push(Line::new("Bloom, fastbloom, measured", Style::Joined, blooms.to_vec()));
    let theory = |name: &str, lightness: f64, bits: fn(f64) -> f64| {
        let points = (1..=18).map(|half| 10_f64.powf(-f64::from(half) / 2.0));
        Line::new(
            name,
            Style::Theory { lightness },
            points.map(|rate| (rate, bits(rate))).collect(),
        )
    };
    lines.push(theory("ideal Bloom, 1.44 log2(1/rate)", 0.0, ideal_bloom));
    lines.push(theory("paper: cuckoo, b = 4", 0.5, |rate| paper::cuckoo_bits(rate, false)));
    lines.push(theory("paper: semi-sorted, b = 4", 0.7, |rate| paper::cuckoo_bits(rate, true)));
    lines.push(theory("bound, log2(1/rate)", 0.2, bound));
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
            format!("{:.2}", layout.bits_an_item),
            format!("{:.2}", bound(rate)),
            format!("{:.2}", ideal_bloom(rate)),
            format!("{:+.2}", layout.bits_an_item - ideal_bloom(rate)),
        ]
    };
    let rows: Vec<_> = layouts.iter().map(row).collect();
    let head = [
        "layout",
        "load reached",
        "false positives",
        "bits an item",
        "bound",
        "ideal Bloom",
        "less ideal Bloom",
    ];
    let gap = |(from, to): &(f64, f64)| format!("from {} to {}", percent(*from), percent(*to));
    let gaps: Vec<_> = gaps.iter().map(gap).collect();
    let gaps = if gaps.is_empty() {
        "For every rate of 0.1 % and below, down to that of the longest fingerprint, some layout \
         takes fewer bits than an ideal Bloom filter for that rate."
            .to_owned()
    } else {
        format!(
            "A 64-bit word has no layout between those of the table, so there are rates of 0.1 % \
             and below for which the layout that reaches them takes more bits than an ideal Bloom \
             filter made for exactly that rate: {}. For all others down to the rate of the longest \
             fingerprint, some layout takes fewer.",
            gaps.join(", ")
        )
    };
    let reserve = "The bits count everything: words, locks, counters. They are those of a table \
                   that is as full as it gets; one made `with_capacity` keeps some slots in \
                   reserve. A slot takes a share of a 64-bit word, so the points lie above the \
                   paper's lines, which give a fingerprint any number of bits, where the word has \
                   bits to spare.";
    let small = if layouts.iter().any(|layout| layout.small) {
        format!(
            "\\* The false positives are so rare that they were counted in full tables of {} KiB, \
             where lookups take the least time: the rate depends on the load and not on the size.\n\n",
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
        "bits an item",
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
            format!("{:.4}", layout.bits_an_item),
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
        goal: "no gaps".into(),
        measured: match gaps.len() {
            0 => "none".into(),
            gaps => format!("{gaps}, see above"),
        },
        met: Some(gaps.is_empty()),
    });
    vec![Section {
        topic: Topic::Fig4,
        title: "Figure 4: bits an item over false positives, against Bloom filters",
        paper: format!(
            "Below 3 % a semi-sorted cuckoo filter takes fewer bits than a space-optimized Bloom \
             filter. At 0.1 % the formulas of the paper give {} bits for a cuckoo filter, {} \
             semi-sorted, {} for an ideal Bloom filter.",
            figures(paper::cuckoo_bits(0.001, false)),
            figures(paper::cuckoo_bits(0.001, true)),
            figures(ideal_bloom(0.001))
        ),
        ours: ours(&layouts, &gaps),
        targets,
        plots: vec![Plot {
            file: "fig4".into(),
            title: "Bits an item over false positives".into(),
            across: "share of false positives".into(),
            up: "bits an item".into(),
            rates: true,
            from_zero: true,
            lines: lines(&layouts, &blooms),
        }],
        csv,
    }]
}
