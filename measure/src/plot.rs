//! SVG plots: one chart, its legend beside it, and a fixed colour for each subject.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;

use crate::palette;
use crate::text::power;

/// The chart and the legend together.
const SIZE: (u32, u32) = (1040, 500);
const CHART_WIDTH: u32 = 740;
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// How the values of an axis are placed and labelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From zero to the greatest value.
    FromZero,
    /// Logarithmic.
    Log,
    /// Logarithmic, labelled at each value: `2^18` and so on, or small numbers.
    Powers,
}

impl Scale {
    /// Where a value is drawn.
    fn place(self, value: f64) -> f64 {
        if self == Self::FromZero { value } else { value.log10() }
    }
}

#[derive(Clone, Debug)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
}

impl Axis {
    #[must_use]
    pub fn new(title: impl Into<String>, scale: Scale) -> Self {
        Self { title: title.into(), scale }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Line,
    Dashed,
    /// Points alone, each with the name of the series beside it.
    Points,
    /// A thin line without points, from black (0) to white (1): a formula.
    Formula {
        lightness: f64,
    },
}

/// The points of one subject.
#[derive(Clone, Debug)]
pub struct Series {
    /// Decides the colour.
    subject: String,
    label: String,
    style: Style,
    opacity: f64,
    points: Vec<(f64, f64)>,
}

impl Series {
    /// Points joined by a line, in the colour of the subject and with its name.
    #[must_use]
    pub fn new(subject: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let subject = subject.into();
        Self { label: subject.clone(), subject, style: Style::Line, opacity: 1.0, points }
    }

    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    #[must_use]
    pub fn dashed(self) -> Self {
        Self { style: Style::Dashed, ..self }
    }

    #[must_use]
    pub fn points_only(self) -> Self {
        Self { style: Style::Points, ..self }
    }

    #[must_use]
    pub fn formula(self, lightness: f64) -> Self {
        Self { style: Style::Formula { lightness }, ..self }
    }

    /// A lighter shade of the colour: several series of one subject.
    #[must_use]
    pub fn opacity(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    fn is_formula(&self) -> bool {
        matches!(self.style, Style::Formula { .. })
    }

    fn stroke(&self) -> ShapeStyle {
        if let Style::Formula { lightness } = self.style {
            return BLACK.mix(1.0 - lightness).stroke_width(1);
        }
        // The subject of it all stands out.
        let width = if self.subject == "coucal" { 3 } else { 2 };
        palette::colour(&self.subject).mix(self.opacity).stroke_width(width)
    }
}

#[derive(Clone, Debug)]
pub struct Plot {
    /// The name of the file, without its extension.
    pub file: String,
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// An axis as it is drawn: its ends, and the places and labels of its marks.
#[derive(Clone, Debug)]
struct Ticks {
    from: f64,
    to: f64,
    marks: Vec<(f64, String)>,
}

impl Ticks {
    fn label(&self, place: f64) -> String {
        let mark = self.marks.iter().find(|mark| (mark.0 - place).abs() < 1e-9);
        mark.map_or_else(String::new, |mark| mark.1.clone())
    }
}

impl Ranged for Ticks {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, limit: (i32, i32)) -> i32 {
        let share = (place - self.from) / (self.to - self.from);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.iter().map(|mark| mark.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// Without trailing zeros.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// 1, 2 or 5 times a power of ten: a step that gives about six marks.
fn round_step(span: f64) -> f64 {
    let rough = (span / 6.0).max(f64::MIN_POSITIVE);
    let unit = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * unit >= 0.99 * rough);
    factor.unwrap_or(10.0) * unit
}

/// From zero.
fn linear_ticks(high: f64) -> Ticks {
    let to = (high * 1.05).max(f64::MIN_POSITIVE);
    let step = round_step(to);
    let last = (to / step + 1e-9).floor() as i64;
    let marks = (0..=last).map(|index| index as f64 * step);
    Ticks { from: 0.0, to, marks: marks.map(|place| (place, number(place))).collect() }
}

fn log_ticks(low: f64, high: f64) -> Ticks {
    let (from, to) = (low.log10(), high.log10());
    let margin = (0.04 * (to - from)).max(0.05);
    let (from, to) = (from - margin, to + margin);
    let decades = to - from;
    // The more decades, the fewer marks in each; beyond eight not even one in each.
    let factors: &[f64] = match decades {
        ..1.3 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        ..3.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let skip = (decades / 8.0).ceil().max(1.0) as i32;
    let powers = (from.floor() as i32..=to.ceil() as i32).filter(|power| power % skip == 0);
    let values = powers.flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
    let marks = values.map(|value| (value.log10(), number(value)));
    Ticks { from, to, marks: marks.filter(|mark| (from..=to).contains(&mark.0)).collect() }
}

impl Plot {
    /// Whether there is anything to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(Series::is_empty)
    }

    /// Writes the plot to the folder. A plot without points is not written.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn draw(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        if self.is_empty() {
            return Ok(());
        }
        let path = folder.join(format!("{}.svg", self.file));
        let area = SVGBackend::new(&path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(CHART_WIDTH);
        self.lines(&left)?;
        self.legend(&right)?;
        area.present()?;
        Ok(())
    }

    /// The different values of an axis, in order.
    fn values(&self, of: impl Fn(&(f64, f64)) -> f64) -> Vec<f64> {
        let mut values: Vec<_> =
            self.series.iter().flat_map(|series| &series.points).map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    fn ticks(scale: Scale, values: &[f64]) -> Ticks {
        let (low, high) = (values[0], values[values.len() - 1]);
        match scale {
            Scale::FromZero => linear_ticks(high),
            Scale::Log => log_ticks(low, high),
            Scale::Powers => {
                let label =
                    |value: f64| if value < 1e3 { number(value) } else { power(value as u64) };
                let marks = values.iter().map(|value| (value.log10(), label(*value))).collect();
                let margin = 0.05 * (high.log10() - low.log10()).max(0.3);
                Ticks { from: low.log10() - margin, to: high.log10() + margin, marks }
            }
        }
    }

    fn lines(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let (xs, ys) = (self.values(|point| point.0), self.values(|point| point.1));
        let x = Self::ticks(self.x.scale, &xs);
        let y = Self::ticks(self.y.scale, &ys);
        let scale = if self.y.scale == Scale::Log { " (logarithmic scale)" } else { "" };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(68)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .x_desc(&self.x.title)
            .y_desc(format!("{}{scale}", self.y.title))
            .x_labels(x.marks.len().max(1))
            .y_labels(y.marks.len().max(1))
            .x_label_formatter(&|place| x.label(*place))
            .y_label_formatter(&|place| y.label(*place))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 15))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .draw()?;
        let place = |point: &(f64, f64)| (self.x.scale.place(point.0), self.y.scale.place(point.1));
        // The first series is drawn last, on top of the others.
        for (index, series) in self.series.iter().enumerate().rev() {
            let stroke = series.stroke();
            let places: Vec<_> = series.points.iter().map(place).collect();
            match series.style {
                Style::Line | Style::Formula { .. } => {
                    chart.draw_series(LineSeries::new(places.iter().copied(), stroke))?;
                }
                Style::Dashed => {
                    let line = DashedLineSeries::new(places.iter().copied(), 6, 5, stroke);
                    chart.draw_series(line)?;
                }
                Style::Points => {
                    // Above and below in turn: neighbours may be close.
                    let up = if index % 2 == 0 { 6 } else { -16 };
                    let name = |place: &(f64, f64)| {
                        let text = Text::new(series.label.clone(), (6, up), (FONT, 12));
                        EmptyElement::at(*place) + text
                    };
                    chart.draw_series(places.iter().map(name))?;
                }
            }
            if !series.is_formula() {
                let dot = |place: &(f64, f64)| Circle::new(*place, 3, stroke.filled());
                chart.draw_series(places.iter().map(dot))?;
            }
        }
        Ok(())
    }

    fn legend(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let drawn = self.series.iter().filter(|series| !series.is_empty());
        for (series, y) in drawn.zip((56..).step_by(21)) {
            let stroke = series.stroke();
            match series.style {
                Style::Points => {}
                Style::Dashed => {
                    for x in [4, 13, 22] {
                        area.draw(&PathElement::new([(x, y), (x + 5, y)], stroke))?;
                    }
                }
                _ => area.draw(&PathElement::new([(4, y), (27, y)], stroke))?,
            }
            if !series.is_formula() {
                area.draw(&Circle::new((15, y), 3, stroke.filled()))?;
            }
            area.draw(&Text::new(series.label.clone(), (34, y - 7), (FONT, 14)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.marks.iter().map(|mark| mark.1.as_str()).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(labels(&linear_ticks(95.0)), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&linear_ticks(0.99)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&log_ticks(1.0, 50.0)), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(&log_ticks(3.0, 6.0)), ["3", "5"]);
        assert_eq!(labels(&log_ticks(1.0, 1e4)), ["1", "10", "100", "1000", "10000"]);
        let powers = Plot::ticks(Scale::Powers, &[262_144.0, 16_777_216.0]);
        assert_eq!(labels(&powers), ["2^18", "2^24"]);
    }

    #[test]
    fn numbers_are_readable() {
        let texts = [0.0, 1e6, 1234.5, 0.25, 1e-6].map(number);
        assert_eq!(texts, ["0", "1e6", "1234.5", "0.25", "1e-6"]);
    }
}
