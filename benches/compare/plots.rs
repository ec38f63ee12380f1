//! The plots, as SVG.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::crowd::{PERCENTILES, SCENES, TRAFFICS, latency_figure};
use crate::race::{self, step_figure};
use crate::results::Results;
use crate::targets::power;

type Points = Vec<(f64, f64)>;

/// One plot: what it says, and its lines.
struct Plot {
    file: String,
    title: String,
    across: &'static str,
    up: &'static str,
    lines: Vec<(String, Points)>,
}

/// Draws what there are figures for. The names of the files, without their ending.
pub fn draw(folder: &Path, results: &Results) -> Result<Vec<String>, Box<dyn Error>> {
    let plain = |plots: Vec<Plot>, name_x: &dyn Fn(&f64) -> String| {
        let plots = plots.into_iter().filter(|plot| !plot.lines.is_empty());
        let draw = |plot: Plot| {
            let (x, y) = (bounds(&plot, |point| point.0), bounds(&plot, |point| point.1));
            // Room for the names of the lines.
            plot.draw(folder, x, 0.0..y.end * 1.4, name_x, &|y| format!("{y}"))
        };
        plots.map(draw).collect::<Result<Vec<_>, _>>()
    };
    let mut names = plain(over_load(results), &|x| format!("{x}"))?;
    // Across: doublings.
    names.extend(plain(over_threads(results), &|x| whole(*x, format!("{:.0}", x.exp2())))?);
    for plot in percentiles(results) {
        let (x, y) = (bounds(&plot, |point| point.0), bounds(&plot, |point| point.1));
        // Across: nines. 0.3 is the median, 3 the 99.9th percentile.
        let percent = |nines: &f64| {
            let decimals = (*nines as usize).saturating_sub(2);
            whole(*nines, format!("{:.decimals$} %", 100.0 - 100.0 * 10_f64.powf(-nines)))
        };
        let up = (y.start.max(1.0)..y.end * 10.0).log_scale();
        names.push(plot.draw(folder, x, up, &percent, &|y| format!("{y}"))?);
    }
    Ok(names)
}

/// The name of a place on an axis that only has names for whole numbers.
fn whole(place: f64, name: String) -> String {
    if (place - place.round()).abs() < 1e-6 { name } else { String::new() }
}

fn bounds(plot: &Plot, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
    let values = || plot.lines.iter().flat_map(|line| &line.1).map(&of);
    values().fold(f64::INFINITY, f64::min)..values().fold(0.0, f64::max)
}

impl Plot {
    fn draw<X, Y>(
        self,
        folder: &Path,
        x: X,
        y: Y,
        name_x: &dyn Fn(&f64) -> String,
        name_y: &dyn Fn(&f64) -> String,
    ) -> Result<String, Box<dyn Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let path = folder.join(format!("{}.svg", self.file));
        let area: DrawingArea<_, Shift> = SVGBackend::new(&path, (860, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.across)
            .y_desc(self.up)
            .x_label_formatter(name_x)
            .y_label_formatter(name_y)
            .light_line_style(WHITE)
            .draw()?;
        for (index, (name, points)) in self.lines.iter().enumerate() {
            let style = Palette99::pick(index).stroke_width(if index == 0 { 3 } else { 2 });
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style).point_size(2))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
        Ok(self.file)
    }
}

/// Million a second, out of nanoseconds each.
fn throughput(results: &Results, slots: u64, kind: &str) -> Vec<(String, Points)> {
    let view = results.at(slots, 1);
    let line = |name: &str| {
        let point = |step: u64| {
            let nanos = view.median(name, &step_figure(kind, step))?;
            Some(((step + 1) as f64 * 5.0, 1000.0 / nanos))
        };
        let points: Points = (0..19).filter_map(point).collect();
        (name.to_owned(), points)
    };
    let lines = race::filter_names().into_iter().map(line);
    lines.filter(|line| !line.1.is_empty()).collect()
}

fn over_load(results: &Results) -> Vec<Plot> {
    let plots = |slots: u64| {
        [("insert", "Inserts"), ("half", "Lookups, half and half,")].map(|(kind, what)| Plot {
            file: format!("{kind}-over-load-{}", power(slots).replace('^', "-")),
            title: format!("{what} over the load factor, {} slots, one thread", power(slots)),
            across: "slots in use, %",
            up: "million a second",
            lines: throughput(results, slots, kind),
        })
    };
    results.slots_with("fill").into_iter().flat_map(plots).collect()
}

fn over_threads(results: &Results) -> Vec<Plot> {
    let mut plots = Vec::new();
    for traffic in TRAFFICS {
        for slots in results.slots_with(traffic) {
            let counts = results.threads_with(slots, traffic);
            let name = traffic.trim_end_matches(" M/s");
            let line = |peer: &str| {
                let point = |threads: &usize| {
                    let rate = results.at(slots, *threads).median(peer, traffic)?;
                    Some(((*threads as f64).log2(), rate))
                };
                (peer.to_owned(), counts.iter().filter_map(point).collect::<Points>())
            };
            let lines = race::filter_names().into_iter().map(line);
            plots.push(Plot {
                file: format!("{}-over-threads", name.replace(' ', "-")),
                title: format!("Throughput over threads: {name}, {} slots", power(slots)),
                across: "threads",
                up: "million a second",
                lines: lines.filter(|line| line.1.len() > 1).collect(),
            });
        }
    }
    plots
}

fn percentiles(results: &Results) -> Vec<Plot> {
    let plot = |slots: u64| {
        let view = results.at(slots, 2);
        let mut lines = Vec::new();
        for peer in race::filter_names() {
            for scene in SCENES.into_iter().filter(|scene| *scene != SCENES[1]) {
                let point = |percentile: &f64| {
                    let value = view.median(peer, &latency_figure(scene, *percentile))?;
                    Some((-(1.0 - percentile / 100.0).log10(), value.max(1.0)))
                };
                // The most of all has no place on this scale.
                let points: Points = PERCENTILES[..5].iter().filter_map(point).collect();
                if !points.is_empty() {
                    lines.push((format!("{peer}, {scene}"), points));
                }
            }
        }
        Plot {
            file: "latency-percentiles".into(),
            title: format!("Latency of a lookup beside a kicking writer, {} slots", power(slots)),
            across: "percentile",
            up: "nanoseconds",
            lines,
        }
    };
    let quiet = latency_figure(SCENES[0], 99.9);
    results.slots_with(&quiet).into_iter().map(plot).collect()
}
