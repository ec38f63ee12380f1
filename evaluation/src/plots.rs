//! The plots, as SVG: one chart, its legend beside it.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// The chart and the legend together.
const SIZE: (u32, u32) = (1020, 500);
const CHART_WIDTH: u32 = 740;

#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// Points joined by a line.
    Joined,
    /// Points alone, each with its name beside it.
    Points,
    /// A line without points, black or so much lighter, from 0 to 1: theory.
    Theory { lightness: f64 },
}

pub struct Line {
    pub name: String,
    pub style: Style,
    pub points: Vec<(f64, f64)>,
}

impl Line {
    pub fn new(name: impl Into<String>, style: Style, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), style, points }
    }
}

pub struct Plot {
    /// The name of the file, without its ending.
    pub file: String,
    pub title: String,
    pub across: String,
    pub up: String,
    /// Powers of ten across.
    pub rates: bool,
    /// From zero upwards, or from the lowest point.
    pub from_zero: bool,
    pub lines: Vec<Line>,
}

impl Plot {
    pub fn draw(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let (x, y) = (self.bounds(|point| point.0), self.bounds(|point| point.1));
        let bottom = if self.from_zero { 0.0 } else { y.start - 0.05 * (y.end - y.start) };
        let y = bottom..y.end + 0.05 * (y.end - bottom);
        if self.rates {
            let x = (x.start / 1.5..x.end * 1.5).log_scale();
            self.chart(folder, x, y, &|x| format!("{x:.0e}"))
        } else {
            let margin = 0.02 * (x.end - x.start).max(1.0);
            self.chart(folder, x.start - margin..x.end + margin, y, &|x| format!("{x}"))
        }
    }

    fn bounds(&self, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.lines.iter().flat_map(|line| &line.points).map(&of);
        values().fold(f64::INFINITY, f64::min)..values().fold(f64::NEG_INFINITY, f64::max)
    }

    fn chart<X>(
        &self,
        folder: &Path,
        x: X,
        y: Range<f64>,
        name_x: &dyn Fn(&f64) -> String,
    ) -> Result<(), Box<dyn Error>>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let path = folder.join(format!("{}.svg", self.file));
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(CHART_WIDTH);
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(60)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.across)
            .y_desc(&self.up)
            .x_label_formatter(name_x)
            .light_line_style(WHITE)
            .draw()?;
        let places = (56..).step_by(20);
        for ((index, line), y) in self.lines.iter().enumerate().zip(places) {
            let style = line.style(index);
            if line.style != Style::Points {
                chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
            }
            if !line.is_theory() {
                let dot = |point: &(f64, f64)| Circle::new(*point, 3, style.filled());
                chart.draw_series(line.points.iter().map(dot))?;
            }
            if line.style == Style::Points {
                // Above and below in turns: neighbours come close.
                let up = if index % 2 == 0 { 5 } else { -14 };
                let name = |point: &(f64, f64)| {
                    let text = Text::new(line.name.clone(), (5, up), ("sans-serif", 11));
                    EmptyElement::at(*point) + text
                };
                chart.draw_series(line.points.iter().map(name))?;
            }
            if line.style != Style::Points {
                right.draw(&PathElement::new([(4, y), (26, y)], style))?;
            }
            if !line.is_theory() {
                right.draw(&Circle::new((15, y), 3, style.filled()))?;
            }
            right.draw(&Text::new(line.name.clone(), (32, y - 7), ("sans-serif", 14)))?;
        }
        area.present()?;
        Ok(())
    }
}

impl Line {
    fn is_theory(&self) -> bool {
        matches!(self.style, Style::Theory { .. })
    }

    fn style(&self, index: usize) -> ShapeStyle {
        match self.style {
            Style::Theory { lightness } => BLACK.mix(1.0 - lightness).stroke_width(1),
            _ => Palette99::pick(index).stroke_width(2),
        }
    }
}
