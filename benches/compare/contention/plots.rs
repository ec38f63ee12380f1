//! The plots of contention.

use coucal_measure::plot::{Axis, Plot, Scale, Series};

use super::locks::{NAMES, NONE, ONE, SCENES, Scene};
use super::{LONGEST, RATE, percentile_figure, scene_figure};
use crate::results::Results;

pub fn all(results: &Results) -> Vec<Plot> {
    let stopped = SCENES[3];
    vec![
        plot(results, ONE, ("contention-throughput", "Throughput", "million ops/s"), RATE, 1.0),
        plot(
            results,
            ONE,
            ("contention-percentile", "99.9th percentile of an operation", "µs"),
            &percentile_figure(99.9),
            1e-3,
        ),
        plot(results, ONE, ("contention-longest", "The longest operation", "ms"), LONGEST, 1e-6),
        plot(results, stopped, ("contention-stopped", "Throughput", "million ops/s"), RATE, 1.0),
    ]
}

fn plot(
    results: &Results,
    scene: Scene,
    (file, what, unit): (&str, &str, &str),
    figure: &str,
    factor: f64,
) -> Plot {
    let is_rate = figure == RATE;
    let figure = scene_figure(scene.name, figure);
    let counts = results.threads_with(scene.stripes, &figure);
    let line = |name: &'static str| {
        let point = |threads: &usize| {
            let value = results.at(scene.stripes, *threads).median(name, &figure)?;
            Some((*threads as f64, factor * value))
        };
        let line = Series::new(name, counts.iter().filter_map(point).collect());
        if name == NONE { line.dashed() } else { line }
    };
    Plot {
        file: file.into(),
        title: format!("{what} by number of threads: {}", scene.name),
        x: Axis::new("threads", Scale::Doublings),
        y: Axis::new(unit, if is_rate { Scale::FromZero } else { Scale::Log }),
        series: NAMES.into_iter().map(line).filter(|line| !line.is_empty()).collect(),
    }
}
