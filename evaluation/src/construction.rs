//! Table 3: items, bits per item, false positives and the speed of construction, in a fixed number of
//! bytes.

use std::collections::BTreeMap;
use std::time::Duration;

use coucal_measure::keys::Keys;
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::subject::{Operation, Subject};
use coucal_measure::text::{figures, percent, table};
use coucal_measure::timing::{million_ops, together};

use crate::filters::{CONTENDERS, Contender};
use crate::paper::{self, Construction};
use crate::report::{Csv, Section, median};
use crate::{Plan, Topic};

/// Keys are generated in chunks of this many, which is not timed.
const CHUNK: u64 = 1 << 18;

#[derive(Default)]
struct Runs {
    items: Vec<f64>,
    bits: Vec<f64>,
    rates: Vec<f64>,
    /// By the number of threads: only one where a filter is for one writer.
    speeds: BTreeMap<usize, Vec<f64>>,
}

pub fn steps(plan: &Plan) -> usize {
    plan.rounds * CONTENDERS.len()
}

/// Inserts until one fails, or as many items as the filter was built for. The items and the time.
fn construct(
    subject: &mut crate::filters::Filter,
    keys: Keys,
    threads: usize,
) -> (usize, Duration) {
    let (mut items, mut elapsed) = (0, Duration::ZERO);
    let most = subject.slots();
    let chunk = |from| (from..most.min(from + CHUNK)).map(|index| keys.key(index)).collect();
    let chunks: Vec<_> = (0..most).step_by(CHUNK as usize).collect();
    for turn in chunks.chunks(threads) {
        let shares: Vec<Vec<u64>> = turn.iter().map(|from| chunk(*from)).collect();
        let due = shares.iter().map(Vec::len).sum();
        let (time, stored) = if threads == 1 {
            together(vec![&mut *subject], |subject| subject.run(Operation::Insert, &shares[0]))
        } else {
            let shared = subject.as_shared().expect("it is for several writers");
            together(shares, |keys| shared.insert(&keys))
        };
        elapsed += time;
        let stored = stored.into_iter().sum::<u64>() as usize;
        items += stored;
        if stored < due {
            break;
        }
    }
    (items, elapsed)
}

impl Runs {
    fn construct(&mut self, plan: &Plan, contender: &Contender, keys: Keys) {
        for &threads in plan.threads.iter().filter(|threads| **threads == 1 || contender.shared) {
            let mut subject = (contender.build)(plan.bytes);
            let (items, elapsed) = construct(&mut *subject, keys, threads);
            self.speeds.entry(threads).or_default().push(million_ops(items, elapsed));
            if threads == 1 {
                self.describe(plan, &*subject, items, keys);
            }
        }
    }

    fn describe(&mut self, plan: &Plan, subject: &dyn Subject, items: usize, keys: Keys) {
        let lookups = plan.pick(2_000_000, 20_000_000_u64);
        let chunks = (0..lookups).step_by(CHUNK as usize);
        let found = chunks.map(|from| {
            let range = from..lookups.min(from + CHUNK);
            subject.look(&range.map(|index| keys.absent(index)).collect::<Vec<_>>())
        });
        self.rates.push(found.sum::<u64>() as f64 / lookups as f64);
        self.items.push(items as f64 / 1e6);
        self.bits.push(8.0 * subject.bytes().unwrap_or(0) as f64 / items as f64);
    }

    fn speed(&self, threads: usize) -> Option<f64> {
        self.speeds.get(&threads).map(|speeds| median(speeds))
    }
}

fn quoted(row: &Construction) -> Vec<String> {
    vec![
        row.name.to_owned(),
        format!("{:.2}", row.million_items),
        format!("{:.2}", row.bits_per_item),
        percent(row.rate),
        format!("{:.2}", row.million_per_second),
    ]
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let mut all: Vec<Runs> = CONTENDERS.iter().map(|_| Runs::default()).collect();
    for round in 0..plan.rounds {
        for (contender, runs) in CONTENDERS.iter().zip(&mut all) {
            plan.step(&format!("table 3: round {}, {}", round + 1, contender.name));
            runs.construct(plan, contender, Keys::new(1 + round as u64));
        }
    }
    let head = ["", "million items", "bits per item", "false positives", "million inserts/s"];
    let mut csv = Csv::new(&[
        "filter",
        "what",
        "million items",
        "bits per item",
        "false positives",
        "threads",
        "million inserts/s",
        "runs of the speed",
    ]);
    let mut rows = Vec::new();
    for (contender, runs) in CONTENDERS.iter().zip(&all) {
        let (items, bits, rate) = (median(&runs.items), median(&runs.bits), median(&runs.rates));
        for (threads, speeds) in &runs.speeds {
            let each: Vec<_> = speeds.iter().map(|speed| format!("{speed:.3}")).collect();
            csv.push(vec![
                contender.name.into(),
                contender.what.replace(',', ";"),
                format!("{items:.4}"),
                format!("{bits:.3}"),
                format!("{rate:e}"),
                threads.to_string(),
                format!("{:.3}", median(speeds)),
                each.join(" "),
            ]);
        }
        let speed = |threads: &usize| {
            runs.speed(*threads).map_or_else(|| "–".to_owned(), |speed| format!("{speed:.2}"))
        };
        let mut row = vec![
            format!("{} ({})", contender.name, contender.what),
            format!("{items:.2}"),
            format!("{bits:.2}"),
            percent(rate),
        ];
        row.extend(plan.threads.iter().map(speed));
        rows.push(row);
    }
    let speed = |name| {
        let index = CONTENDERS.iter().position(|contender| contender.name == name);
        index.and_then(|index| all[index].speed(1)).unwrap_or(f64::NAN)
    };
    let [plain, sorted] = paper::TABLE_3.each_ref().map(|row| row.million_per_second);
    let more = plan.threads.iter().skip(1).map(|threads| format!("with {threads} threads"));
    let more: Vec<_> = more.collect();
    let our_head: Vec<_> = head.into_iter().chain(more.iter().map(String::as_str)).collect();
    let ours = format!(
        "{} MiB for each filter; a filter that needs a power of two of slots gets the largest that \
         fits. A cuckoo filter is filled until its first insert fails, the quotient filter to its \
         limit of 95 %, a Bloom filter with the number of items that it was built for.\n\n{}\n\
         Semi-sorting reduces the insert throughput by {} here (Fp12x5 against SemiSorted14x5), and \
         by {} in the paper: each insert decodes, sorts and encodes a bucket. Fp12x5 has five slots \
         per bucket, the paper's filter four: fingerprints of the same length, a higher load, a \
         quarter more false positives, and four unused bits in each word.",
        plan.bytes >> 20,
        table(&our_head, &rows),
        percent(1.0 - speed("SemiSorted14x5") / speed("Fp12x5")),
        percent(1.0 - sorted / plain),
    );
    let quotes: Vec<_> = paper::TABLE_3.iter().chain(&paper::TABLE_3_PROGRAM).map(quoted).collect();
    vec![Section {
        topic: Topic::Table3,
        title: "Table 3: space and speed of construction",
        paper: format!(
            "At 192 MiB:\n\n{}\nThe columns for Bloom, blocked Bloom, quotient and counting Bloom \
             filters are not quoted here. {}",
            table(&head, &quotes),
            paper::D_LEFT
        ),
        ours,
        targets: Vec::new(),
        plots: vec![plot(&all)],
        csv,
    }]
}

/// Speed over space.
fn plot(all: &[Runs]) -> Plot {
    let point = |(contender, runs): (&Contender, &Runs)| {
        let point = (median(&runs.bits), runs.speed(1).unwrap_or(f64::NAN));
        let rate = figures(100.0 * median(&runs.rates));
        Series::new(contender.name, vec![point]).label(format!("{}, {rate} %", contender.name))
    };
    Plot {
        file: "table3".into(),
        title: "Construction: speed over space; false-positive rates in the legend".into(),
        x: Axis::new("bits per item", Scale::Log),
        y: Axis::new("million inserts/s", Scale::Log),
        series: CONTENDERS.iter().zip(all).map(point).collect(),
    }
}
