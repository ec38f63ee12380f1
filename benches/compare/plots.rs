//! The plots, as SVG.

use std::error::Error;
use std::path::Path;

use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::power;

use crate::concurrent::{PERCENTILES, SCENES, latency_figure};
use crate::contenders::{DEFAULT_HASHER, names};
use crate::results::Results;
use crate::single::{load_figure, loads};

const MILLION: &str = "million ops/s";

/// A plot, and the text that stands for it where it cannot be shown.
pub struct Drawn {
    pub file: String,
    pub title: String,
}

/// The plots of the comparison.
pub fn all(results: &Results) -> Vec<Plot> {
    let mut plots = over_slots(results);
    plots.extend(over_load(results));
    plots.extend(percentiles(results));
    plots
}

/// Draws the plots for which there are figures.
pub fn draw(folder: &Path, mut plots: Vec<Plot>) -> Result<Vec<Drawn>, Box<dyn Error>> {
    plots.retain(|plot| !plot.is_empty());
    let draw = |plot: Plot| {
        plot.draw(folder)?;
        Ok(Drawn { file: plot.file, title: plot.title })
    };
    plots.into_iter().map(draw).collect()
}

/// A series for every subject that has a point. The default hasher would only hide the line beside
/// it.
fn series(points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Series> {
    let names = names().into_iter().filter(|name| *name != DEFAULT_HASHER);
    let series = names.map(|name| Series::new(name, points(name)));
    series.filter(|series| !series.is_empty()).collect()
}

fn over_slots(results: &Results) -> Vec<Plot> {
    let plot = |(figure, file, what): (&str, &str, &str)| {
        let slots = results.slots_with(figure);
        let points = |name: &str| {
            let point =
                |slots: &u64| Some((*slots as f64, results.at(*slots, 1).median(name, figure)?));
            slots.iter().filter_map(point).collect()
        };
        Plot {
            file: format!("{file}-over-slots"),
            title: format!("Time of {what} over the table size, one thread"),
            x: Axis::new("slots", Scale::Powers),
            y: Axis::new("ns per operation", Scale::Log),
            series: series(points),
        }
    };
    let plots = [
        ("half", "lookups", "a lookup, half of the keys present,"),
        ("fill", "inserts", "an insert, from empty to 95 % load,"),
    ];
    plots.map(plot).into()
}

fn over_load(results: &Results) -> Vec<Plot> {
    let plots = |slots: u64| {
        let view = results.at(slots, 1);
        [("insert", "Inserts"), ("half", "Lookups, half of the keys present,")].map(
            |(kind, what)| {
                let points = |name: &str| {
                    let point = |load: u64| {
                        Some((load as f64, 1000.0 / view.median(name, &load_figure(kind, load))?))
                    };
                    loads().filter_map(point).collect()
                };
                Plot {
                    file: format!("{kind}-over-load-{}", power(slots).replace('^', "-")),
                    title: format!("{what} over the load, {} slots, one thread", power(slots)),
                    x: Axis::new("load, % of the slots", Scale::FromZero),
                    // Exact sets and the inserts of the fastest filters are two decades apart.
                    y: Axis::new(MILLION, Scale::Log),
                    series: series(points),
                }
            },
        )
    };
    results.slots_with("fill").into_iter().flat_map(plots).collect()
}

fn percentiles(results: &Results) -> Vec<Plot> {
    // Distances on the x axis are numbers of nines: 99.9 % is at 3. The maximum would be at infinity.
    let shown = &PERCENTILES[..PERCENTILES.len() - 1];
    let nines = |percentile: f64| -(1.0 - percentile / 100.0).log10();
    let plot = |slots: u64| {
        let view = results.at(slots, 2);
        let mut series = Vec::new();
        for peer in names() {
            for scene in [SCENES[0], SCENES[2]] {
                let point = |percentile: &f64| {
                    let value = view.median(peer, &latency_figure(scene, *percentile))?;
                    Some((nines(*percentile), value.max(1.0)))
                };
                let points: Vec<_> = shown.iter().filter_map(point).collect();
                let line = Series::new(peer, points).label(format!("{peer}, {scene}"));
                series.push(if scene == SCENES[0] { line.dashed() } else { line });
            }
        }
        series.retain(|series| !series.is_empty());
        let labels = shown.iter().map(|percentile| (nines(*percentile), format!("{percentile} %")));
        Plot {
            file: "latency-percentiles".into(),
            title: format!(
                "Latency of a lookup beside a writer that kicks, {} slots",
                power(slots)
            ),
            x: Axis::new("percentile", Scale::Labels(labels.collect())),
            y: Axis::new("ns", Scale::Log),
            series,
        }
    };
    let quiet = latency_figure(SCENES[0], 99.9);
    results.slots_with(&quiet).into_iter().map(plot).collect()
}
