//! The cost of semi-sorting for lookups: the two layouts with four slots, out of cache, in turn.

use std::time::Instant;

use coucal::{CuckooFilter, Fp16x4, Layout, SemiSorted17x4};
use coucal_measure::hash::KeyHash;
use coucal_measure::keys::{Keys, mix};
use coucal_measure::peers::{Coucal, coucal_with_bytes};
use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::subject::Subject;
use coucal_measure::text::table;

use crate::report::{Csv, Section, Target, median, ratio};
use crate::{Plan, Topic};

/// Percentages of positive queries.
const SHARES: [u64; 3] = [0, 50, 100];
/// The target: at most this many times the time of the plain layout.
const GOAL: f64 = 2.5;
const LOAD: f64 = 0.95;

fn rounds(plan: &Plan) -> usize {
    plan.pick(7, 21)
}

pub fn steps(plan: &Plan) -> usize {
    2 + rounds(plan)
}

fn filled<L: Layout>(plan: &Plan, keys: Keys) -> CuckooFilter<L, KeyHash> {
    plan.step(&format!("semi-sorting: fill {}", L::NAME));
    let filter = coucal_with_bytes::<L>(mebibytes(plan) << 20);
    let items = items(&filter);
    for from in (0..items).step_by(1 << 16) {
        let chunk: Vec<_> =
            (from..items.min(from + (1 << 16))).map(|index| keys.key(index)).collect();
        filter.insert_many(&chunk).expect("the load is below what fits");
    }
    filter
}

fn mebibytes(plan: &Plan) -> usize {
    plan.pick(32, 192)
}

fn items<L: Layout>(filter: &CuckooFilter<L, KeyHash>) -> u64 {
    (filter.slots() as f64 * LOAD) as u64
}

pub fn run(plan: &Plan) -> Vec<Section> {
    let keys = Keys::new(1);
    let (plain, sorted) = (filled::<Fp16x4>(plan, keys), filled::<SemiSorted17x4>(plan, keys));
    let present = items(&plain).min(items(&sorted));
    let (plain, sorted) = (Coucal(plain), Coucal(sorted));
    let subjects: [&dyn Subject; 2] = [&plain, &sorted];
    let lookups = plan.pick(1 << 19, 1 << 21);
    let mut runs = [const { [const { Vec::new() }; 2] }; SHARES.len()];
    for round in 0..rounds(plan) as u64 {
        plan.step("semi-sorting: lookups");
        for (share, runs) in SHARES.iter().zip(&mut runs) {
            let query = |index: u64| {
                let random = mix(!index);
                if random % 100 < *share {
                    keys.key(mix(random) % present)
                } else {
                    keys.absent(index)
                }
            };
            let queries: Vec<_> = (round * lookups..(round + 1) * lookups).map(query).collect();
            for (subject, runs) in subjects.iter().zip(runs) {
                let begun = Instant::now();
                std::hint::black_box(subject.look(&queries));
                runs.push(begun.elapsed().as_nanos() as f64 / lookups as f64);
            }
        }
    }
    vec![section(plan, &runs)]
}

fn section(plan: &Plan, runs: &[[Vec<f64>; 2]; SHARES.len()]) -> Section {
    let mut csv = Csv::new(&["positive queries", "filter", "ns per lookup", "runs"]);
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for (share, [plain, sorted]) in SHARES.iter().zip(runs) {
        for (name, runs) in [(Fp16x4::NAME, plain), (SemiSorted17x4::NAME, sorted)] {
            let all: Vec<_> = runs.iter().map(|run| format!("{run:.2}")).collect();
            let median = format!("{:.2}", median(runs));
            csv.push(vec![share.to_string(), name.into(), median, all.join(" ")]);
        }
        let times = ratio(sorted, plain);
        rows.push(vec![
            format!("{share} %"),
            format!("{:.1}", median(plain)),
            format!("{:.1}", median(sorted)),
            format!("{times:.2}"),
        ]);
        targets.push(Target {
            what: format!(
                "{} against {}: time of a lookup, {share} % positive",
                SemiSorted17x4::NAME,
                Fp16x4::NAME
            ),
            goal: format!("ratio at most {GOAL}"),
            measured: format!("{times:.2}"),
            met: Some(times <= GOAL),
        });
    }
    let line = |name: &str, place: usize| {
        let point = |(share, runs): (&u64, &[Vec<f64>; 2])| (*share as f64, median(&runs[place]));
        Series::new(name, SHARES.iter().zip(runs).map(point).collect())
    };
    let head = ["positive queries", "Fp16x4, ns", "SemiSorted17x4, ns", "ratio"];
    Section {
        topic: Topic::Semi,
        title: "The cost of semi-sorting for lookups",
        paper: "No such figure. The authors' program `conext-figure5` states 26 million lookups/s \
                for the plain filter with 12 bits, and 10 to 11 million for the semi-sorted one \
                with 13 bits: 2.4 times the time."
            .into(),
        ours: format!(
            "{} MiB each, at a load of {LOAD}, one thread; the layouts take turns with the same \
             queries. The ratio is the median of the ratios of {} rounds.\n\n{}",
            mebibytes(plan),
            runs[0][0].len(),
            table(&head, &rows)
        ),
        targets,
        plots: vec![Plot {
            file: "semi".into(),
            title: "Time of a lookup, out of cache".into(),
            x: Axis::new("positive queries, %", Scale::Linear),
            y: Axis::new("ns per lookup", Scale::FromZero),
            series: vec![line(Fp16x4::NAME, 0), line(SemiSorted17x4::NAME, 1)],
        }],
        csv,
    }
}
