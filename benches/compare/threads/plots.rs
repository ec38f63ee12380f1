//! The plots of throughput by number of threads.

use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::power;

use super::work::{LOOKUPS, MANY_WRITES, REMOVALS, TO_HALF, Workload};
use super::{GROWING, LIMIT, SUBJECTS};
use crate::results::Results;

/// A plot for each.
const PLOTTED: [Workload; 4] = [TO_HALF, LOOKUPS, REMOVALS, MANY_WRITES];

pub fn all(results: &Results) -> Vec<Plot> {
    let plots = |workload: Workload| {
        let sizes = results.slots_with(&workload.figure()).into_iter();
        sizes.map(move |slots| plot(results, workload, slots))
    };
    PLOTTED.into_iter().flat_map(plots).collect()
}

fn plot(results: &Results, workload: Workload, slots: u64) -> Plot {
    let figure = workload.figure();
    let counts = results.threads_with(slots, &figure);
    let line = |name: &'static str| {
        let point = |threads: &usize| {
            Some((*threads as f64, results.at(slots, *threads).median(name, &figure)?))
        };
        let line = Series::new(name, counts.iter().filter_map(point).collect());
        if [GROWING, LIMIT].contains(&name) { line.dashed() } else { line }
    };
    let size = power(slots);
    let file = workload.name.replace(", ", "-").replace(' ', "-");
    Plot {
        file: format!("threads-{file}-{}", size.replace('^', "-")),
        title: format!("{} by number of threads, {size} slots", workload.title()),
        x: Axis::new("threads", Scale::Doublings),
        y: Axis::new("million ops/s", Scale::Log),
        series: SUBJECTS.into_iter().map(line).filter(|line| !line.is_empty()).collect(),
    }
}
