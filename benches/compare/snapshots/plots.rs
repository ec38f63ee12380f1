//! The plots of snapshots.

use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::power;

use super::beside::{PAUSE, PERCENTILES, SCENES, SNAPSHOT, percentile_figure, scene_figure};
use super::bytes::{COPY, READ, READ_TO_NEW, RESTORE, RESTORE_FILE, WRITE, limit_figure};
use super::{FIXED, TABLES};
use crate::results::Results;

pub fn all(results: &Results) -> Vec<Plot> {
    vec![percentiles(results), pauses(results), speeds(results)]
}

/// Bytes of the words of a table, which its snapshot has besides a header.
pub fn bytes(slots: u64) -> f64 {
    slots as f64 * 2.0
}

fn percentiles(results: &Results) -> Plot {
    let sizes = results.slots_with(&scene_figure(SCENES[2], PAUSE));
    let slots = sizes.last().copied().unwrap_or(1);
    let nines = |percentile: f64| -(1.0 - percentile / 100.0).log10();
    let series = SCENES.into_iter().zip([FIXED, "b = 2", "b = 8"].into_iter().rev());
    let series = series.map(|(scene, colour)| {
        let point = |percentile: &f64| {
            let figure = scene_figure(scene, &percentile_figure(*percentile));
            let value = results.at(slots, 2).median(FIXED, &figure)?;
            Some((nines(*percentile), value.max(1.0)))
        };
        Series::new(colour, PERCENTILES.iter().filter_map(point).collect()).label(scene)
    });
    let labels = PERCENTILES.map(|percentile| (nines(percentile), format!("{percentile} %")));
    Plot {
        file: "snapshots-insert-percentiles".into(),
        title: format!("Inserts beside snapshots, {} slots", power(slots)),
        x: Axis::new("percentile", Scale::Labels(labels.into())),
        y: Axis::new("ns", Scale::Log),
        series: series.filter(|series| !series.is_empty()).collect(),
    }
}

/// The points of a figure over the slots, where there are some.
fn over_slots(
    results: &Results,
    (name, figure, threads): (&str, &str, usize),
    value: impl Fn(u64, f64) -> f64,
) -> Vec<(f64, f64)> {
    let point = |slots: u64| {
        let median = results.at(slots, threads).median(name, figure)?;
        Some((slots as f64, value(slots, median)))
    };
    results.slots_with(figure).into_iter().filter_map(point).collect()
}

fn pauses(results: &Results) -> Plot {
    let line = |name: &'static str, scene: &str| {
        let figure = scene_figure(scene, PAUSE);
        let points = over_slots(results, (name, &figure, 2), |_, nanos| nanos / 1e3);
        let colour = if name == FIXED { FIXED } else { "b = 8" };
        let line = Series::new(colour, points).label(format!("{name}, {scene}"));
        if scene == SCENES[1] { line.dashed() } else { line }
    };
    let lines = TABLES.into_iter().flat_map(|name| [line(name, SCENES[2]), line(name, SCENES[1])]);
    Plot {
        file: "snapshots-pause".into(),
        title: "The longest insert of a snapshot over the table size".into(),
        x: Axis::new("slots", Scale::Powers),
        y: Axis::new("µs", Scale::Log),
        series: lines.filter(|series| !series.is_empty()).collect(),
    }
}

fn speeds(results: &Results) -> Plot {
    let line = |figure: &str, label: &str, colour: &str| {
        let gigabytes = |slots, millis| bytes(slots) / millis / 1e6;
        let points = over_slots(results, (FIXED, figure, 1), gigabytes);
        Series::new(colour, points).label(label)
    };
    let [copy, read, read_to_new] = [COPY, READ, READ_TO_NEW].map(limit_figure);
    let lines = [
        line(SNAPSHOT, SNAPSHOT, FIXED),
        line(WRITE, WRITE, "b = 8"),
        line(RESTORE, RESTORE, "b = 2"),
        line(RESTORE_FILE, RESTORE_FILE, "b = 2").dashed(),
        line(&copy, COPY, "Bloom"),
        line(&read, READ, "Bloom").dashed(),
        line(&read_to_new, READ_TO_NEW, "b = 4").dashed(),
    ];
    Plot {
        file: "snapshots-speed".into(),
        title: "Bytes over the table size, one thread".into(),
        x: Axis::new("slots", Scale::Powers),
        y: Axis::new("GB/s", Scale::Log),
        series: lines.into_iter().filter(|series| !series.is_empty()).collect(),
    }
}
