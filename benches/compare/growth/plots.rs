//! The plots of growth.

use coucal_measure::plot::{Axis, Plot, Scale, Series};
use coucal_measure::text::power;

use super::course::PEERS;
use super::large::{CURSORS, LOOKUPS, extent_figure};
use super::{FIXED, GROWING};
use crate::results::Results;

pub fn all(results: &Results) -> Vec<Plot> {
    let everything: Vec<_> = [GROWING].into_iter().chain(PEERS).collect();
    let mut plots = vec![
        over_items(
            results,
            ("bits-per-item", "Memory", "bits per item", "bits per item"),
            &everything,
            1.0,
        ),
        over_items(
            results,
            ("false-positives", "False positives", "false positives, %", "false positives"),
            &everything,
            100.0,
        ),
        over_items(
            results,
            ("inserts", "Time of an insert while growing", "ns per insert", "growing insert"),
            &everything,
            1.0,
        ),
        over_items(
            results,
            ("lookups", "Time of a lookup of an absent key", "ns per lookup", "miss"),
            &everything,
            1.0,
        ),
        longest(results),
    ];
    plots.extend(over_the_cursor(results));
    plots
}

fn points(results: &Results, name: &str, figure: &str, unit: f64) -> Vec<(f64, f64)> {
    let point = |items: u64| {
        let value = results.at(items, 1).median(name, figure)?;
        // Nothing below zero, nor zero itself, has a place on these axes.
        (value > 0.0).then_some((items as f64, unit * value))
    };
    results.slots_with(figure).into_iter().filter_map(point).collect()
}

fn items() -> Axis {
    Axis::new("items", Scale::Log)
}

fn over_items(
    results: &Results,
    (file, what, unit, figure): (&str, &str, &str, &str),
    names: &[&str],
    factor: f64,
) -> Plot {
    let series = |name: &&str| Series::new(*name, points(results, name, figure, factor));
    let series = names.iter().map(series).filter(|series| !series.is_empty()).collect();
    Plot {
        file: format!("growth-{file}"),
        title: format!("{what} over the items, growing"),
        x: items(),
        y: Axis::new(unit, Scale::Log),
        series,
    }
}

/// One line for the mean and one for the longest, and the mean of a table that does not grow.
fn longest(results: &Results) -> Plot {
    let of = |name, figure| Series::new(name, points(results, name, figure, 0.001));
    let steps = results.slots_with("growing insert");
    let mut longest = points(results, GROWING, "longest insert", 0.001);
    // The larger table is measured in one step.
    longest.retain(|point| steps.contains(&(point.0 as u64)));
    let series = [
        of(GROWING, "growing insert").label("coucal, mean"),
        Series::new("coucal (default hasher)", longest).label("coucal, longest"),
        of(FIXED, "growing insert").label("coucal, fixed, mean").dashed(),
    ];
    Plot {
        file: "growth-longest-insert".into(),
        title: "Mean and longest insert of each step over the items".into(),
        x: items(),
        y: Axis::new("µs", Scale::Log),
        series: series.into_iter().filter(|series| !series.is_empty()).collect(),
    }
}

/// Lookups in a growing table divided by those in one of fixed size, over the place of the cursor.
fn over_the_cursor(results: &Results) -> Vec<Plot> {
    let colours = ["b = 2", "b = 4", "b = 8"];
    let plot = |base: u64| {
        let series = LOOKUPS.iter().zip(colours).map(|(operation, colour)| {
            let figure = extent_figure(operation);
            let point = |cursor: u64| {
                let view = results.at(base + base * cursor / CURSORS, 1);
                let ratio = view.ratio((GROWING, &figure), (FIXED, &figure))?;
                Some((cursor as f64 / CURSORS as f64, ratio))
            };
            Series::new(colour, (0..CURSORS).filter_map(point).collect()).label(*operation)
        });
        Plot {
            file: format!("growth-lookups-over-cursor-{}", power(base).replace('^', "-")),
            title: format!(
                "Lookups over the place of the cursor, from {} slots on: growing ÷ fixed",
                power(base)
            ),
            x: Axis::new("share of the level that is split", Scale::Linear),
            y: Axis::new("ratio of the times", Scale::FromZero),
            series: series.filter(|series| !series.is_empty()).collect(),
        }
    };
    bases(results).into_iter().map(plot).collect()
}

/// The sizes from which lookups are measured at each place of the cursor.
pub fn bases(results: &Results) -> Vec<u64> {
    let sizes = results.slots_with(&extent_figure(LOOKUPS[0]));
    let is_base = |base: &u64| (1..CURSORS).all(|at| sizes.contains(&(base + base * at / CURSORS)));
    sizes.iter().copied().filter(is_base).collect()
}
