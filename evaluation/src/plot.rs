//! SVG plots: one chart with its legend beside it.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 480);
const CHART_WIDTH: u32 = 700;
/// For nine layouts, and greys for four formulas.
const COLOURS: [RGBColor; 13] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(188, 189, 34),
    RGBColor(23, 190, 207),
    RGBColor(90, 90, 90),
    RGBColor(150, 150, 150),
    RGBColor(0, 0, 0),
    RGBColor(180, 180, 180),
];
const FONT: &str = "sans-serif";

#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// From zero.
    Linear,
    Log2,
    Log10,
}

impl Scale {
    /// Where a value lies on the axis.
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log2 => value.log2(),
            Self::Log10 => value.log10(),
        }
    }

    fn label(self, place: f64) -> String {
        match self {
            Self::Linear => ((place * 1e6).round() / 1e6).to_string(),
            Self::Log2 => format!("2^{place}"),
            Self::Log10 if place >= -2.0 => 10_f64.powf(place).to_string(),
            Self::Log10 => format!("1e{place}"),
        }
    }

    fn range(self, places: impl Iterator<Item = f64>) -> Range<f64> {
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
            (low.min(place), high.max(place))
        });
        match self {
            Self::Linear => 0.0..1.05 * high,
            Self::Log2 | Self::Log10 => low.floor()..high.ceil(),
        }
    }
}

pub struct Axis {
    pub title: &'static str,
    pub scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// Points joined by a line.
    Measured,
    /// Points alone.
    Points,
    /// A line without points.
    Formula,
    Dashed,
}

pub struct Series {
    /// Not in the legend if empty.
    pub label: String,
    pub style: Style,
    /// The place in [`COLOURS`].
    pub colour: usize,
    pub points: Vec<(f64, f64)>,
}

pub struct Plot {
    /// The name of the file, without its extension.
    pub file: &'static str,
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

impl Plot {
    /// Writes the plot to the folder.
    pub fn draw(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let path = folder.join(format!("{}.svg", self.file));
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, legend) = area.split_horizontally(CHART_WIDTH);
        let place = |point: &(f64, f64)| (self.x.scale.place(point.0), self.y.scale.place(point.1));
        let all = || self.series.iter().flat_map(|series| &series.points).map(place);
        let x = self.x.scale.range(all().map(|place| place.0));
        let y = self.y.scale.range(all().map(|place| place.1));
        let mut chart = ChartBuilder::on(&left)
            .caption(self.title, (FONT, 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(68)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x.title)
            .y_desc(self.y.title)
            .x_label_formatter(&|place| self.x.scale.label(*place))
            .y_label_formatter(&|place| self.y.scale.label(*place))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 15))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .draw()?;
        let mut line = 50;
        for series in &self.series {
            let (style, colour) = (series.style, COLOURS[series.colour].to_rgba());
            let places: Vec<_> = series.points.iter().map(place).collect();
            if matches!(style, Style::Measured | Style::Points) {
                let dot = |place: &(f64, f64)| Circle::new(*place, 3, colour.filled());
                chart.draw_series(places.iter().map(dot))?;
            }
            match style {
                Style::Points => {}
                Style::Dashed => {
                    let line = DashedLineSeries::new(places, 6, 5, colour.stroke_width(1));
                    chart.draw_series(line)?;
                }
                _ => drop(chart.draw_series(LineSeries::new(places, colour.stroke_width(2)))?),
            }
            if series.label.is_empty() {
                continue;
            }
            match style {
                Style::Points => legend.draw(&Circle::new((14, line), 4, colour.filled()))?,
                Style::Dashed => {
                    for x in [4, 12, 20] {
                        let ends = [(x, line), (x + 5, line)];
                        legend.draw(&PathElement::new(ends, colour.stroke_width(1)))?;
                    }
                }
                _ => legend
                    .draw(&PathElement::new([(4, line), (25, line)], colour.stroke_width(2)))?,
            }
            legend.draw(&Text::new(series.label.clone(), (34, line - 7), (FONT, 14)))?;
            line += 21;
        }
        area.present()?;
        Ok(())
    }
}
