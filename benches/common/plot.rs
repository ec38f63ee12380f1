//! SVG plots: one chart, its legend beside it, and one colour for each subject in all plots.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::text::power;

/// The size of the chart and the legend together.
const SIZE: (u32, u32) = (1040, 500);
const CHART_WIDTH: u32 = 740;
const FONT: &str = "sans-serif";

/// Colours, and the beginnings of the names of their subjects. The default layout has the colour of coucal; `b` is the
/// number of slots per bucket of simulated tables.
const COLOURS: [(RGBColor, &[&str]); 13] = [
    (RGBColor(214, 39, 40), &["coucal", "maplet", "Fp16x4", "b = 4"]),
    (RGBColor(31, 119, 180), &["atomic-cuckoo-filter", "b = 8"]),
    (RGBColor(44, 160, 44), &["cuckoofilter", "sharded RwLock<cuckoofilter>", "Fp9x7", "b = 2"]),
    (RGBColor(140, 86, 75), &["RwLock<HashSet>", "Fp32x2"]),
    (RGBColor(148, 103, 189), &["qfilter"]),
    (RGBColor(127, 127, 127), &["fastbloom"]),
    (RGBColor(60, 60, 60), &["two loads"]),
    (RGBColor(0, 90, 40), &["Fp8x8"]),
    (RGBColor(23, 190, 207), &["Fp10x6"]),
    (RGBColor(31, 119, 250), &["Fp12x5"]),
    (RGBColor(120, 180, 255), &["SemiSorted14x5"]),
    (RGBColor(255, 152, 150), &["SemiSorted17x4"]),
    (RGBColor(230, 160, 0), &["Fp21x3"]),
];
const OTHER_COLOUR: RGBColor = RGBColor(20, 40, 120);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// How the values of an axis are placed and labelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From zero to the maximum value.
    FromZero,
    /// Logarithmic.
    Log,
    /// Logarithmic, labelled at each value: `2^18` and so on, or small numbers.
    Powers,
}

impl Scale {
    /// Returns the position at which a value is drawn.
    fn place(self, value: f64) -> f64 {
        if self == Self::FromZero { value } else { value.log10() }
    }

    fn label(self, place: f64) -> String {
        match self {
            Self::FromZero => number(place),
            Self::Powers if place >= 3.0 => power(10_f64.powf(place).round() as u64),
            Self::Log | Self::Powers => number(10_f64.powf(place)),
        }
    }

    /// Makes an axis for these positions.
    fn axis(self, places: &[f64]) -> Axis {
        let [low, high] = [f64::min, f64::max].map(|end| places.iter().copied().reduce(end));
        let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(1.0));
        if self == Self::FromZero {
            let range = 0.0..1.05 * high;
            return Axis { marks: RangedCoordf64::from(range.clone()).key_points(8), range };
        }
        let margin = (0.04 * (high - low)).max(0.05);
        let range = low - margin..high + margin;
        // The more decades, the fewer marks in each.
        let factors: &[f64] = match range.end - range.start {
            _ if self == Self::Powers => {
                let mut marks = places.to_vec();
                marks.sort_by(f64::total_cmp);
                marks.dedup();
                return Axis { range, marks };
            }
            ..1.3 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            ..3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = range.start.floor() as i32..=range.end.ceil() as i32;
        let marks =
            powers.flat_map(|power| factors.iter().map(move |f| f.log10() + f64::from(power)));
        Axis { marks: marks.filter(|mark| range.contains(mark)).collect(), range }
    }
}

/// The range of an axis, and the positions of its marks.
struct Axis {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(place, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Style {
    Line,
    Dashed,
    /// Points alone, each with the name of the series beside it.
    Points,
    /// A thin line without points, from black (0) to white (1): a formula.
    Formula(f64),
}

/// The points of one subject.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name that decides the colour.
    pub subject: String,
    pub label: String,
    pub style: Style,
    /// Below 1: a lighter shade of the colour, for several series of one subject.
    pub opacity: f64,
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Makes a series of points that are joined by a line, in the colour of the subject and with its name.
    #[must_use]
    pub fn new(subject: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let subject = subject.into();
        Self { label: subject.clone(), subject, style: Style::Line, opacity: 1.0, points }
    }

    #[must_use]
    pub fn style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    fn stroke(&self) -> ShapeStyle {
        if let Style::Formula(lightness) = self.style {
            return BLACK.mix(1.0 - lightness).stroke_width(1);
        }
        let begins = |name: &&str| self.subject.starts_with(name);
        let colour = COLOURS.iter().find(|(_, names)| names.iter().any(begins));
        let colour = colour.map_or(OTHER_COLOUR, |colour| colour.0);
        // Coucal, which the plots are about, stands out.
        let width = if self.subject == "coucal" { 3 } else { 2 };
        colour.mix(self.opacity).stroke_width(width)
    }
}

#[derive(Clone, Debug)]
pub struct Plot {
    /// The name of the file, without its extension.
    pub file: String,
    pub title: String,
    /// The titles of the axes, and their scales.
    pub x: (&'static str, Scale),
    pub y: (&'static str, Scale),
    pub series: Vec<Series>,
}

/// Formats a number without trailing zeros.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Plot {
    /// Returns whether there is anything to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
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
        Ok(area.present()?)
    }

    fn lines(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let ((x_title, x), (y_title, y)) = (self.x, self.y);
        let place = |point: &(f64, f64)| (x.place(point.0), y.place(point.1));
        let places: Vec<_> = self.series.iter().flat_map(|one| &one.points).map(place).collect();
        let (x_places, y_places): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        let (x_axis, y_axis) = (x.axis(&x_places), y.axis(&y_places));
        let scale = if y == Scale::Log { " (logarithmic scale)" } else { "" };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 17))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(68)
            .build_cartesian_2d(x_axis, y_axis)?;
        chart
            .configure_mesh()
            .x_desc(x_title)
            .y_desc(format!("{y_title}{scale}"))
            .x_label_formatter(&|place| x.label(*place))
            .y_label_formatter(&|place| y.label(*place))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 15))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(TRANSPARENT)
            .draw()?;
        // The first series is drawn last, on top of the others.
        for (index, series) in self.series.iter().enumerate().rev() {
            let stroke = series.stroke();
            let places: Vec<_> = series.points.iter().map(place).collect();
            let line = places.iter().copied();
            match series.style {
                Style::Line | Style::Formula(_) => {
                    chart.draw_series(LineSeries::new(line, stroke))?;
                }
                Style::Dashed => {
                    chart.draw_series(DashedLineSeries::new(line, 6, 5, stroke))?;
                }
                Style::Points => {
                    // Above and below in turn, since neighbours may be close.
                    let up = if index % 2 == 0 { 6 } else { -16 };
                    let name = || Text::new(series.label.clone(), (6, up), (FONT, 12));
                    chart.draw_series(line.map(|place| EmptyElement::at(place) + name()))?;
                }
            }
            if !matches!(series.style, Style::Formula(_)) {
                let dot = |place: &(f64, f64)| Circle::new(*place, 3, stroke.filled());
                chart.draw_series(places.iter().map(dot))?;
            }
        }
        Ok(())
    }

    fn legend(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let drawn = self.series.iter().filter(|series| !series.points.is_empty());
        for (series, y) in drawn.zip((56..).step_by(21)) {
            let stroke = series.stroke();
            let lines: &[(i32, i32)] = match series.style {
                Style::Points => &[],
                Style::Dashed => &[(4, 9), (13, 18), (22, 27)],
                Style::Line | Style::Formula(_) => &[(4, 27)],
            };
            for (from, to) in lines {
                area.draw(&PathElement::new([(*from, y), (*to, y)], stroke))?;
            }
            if !matches!(series.style, Style::Formula(_)) {
                area.draw(&Circle::new((15, y), 3, stroke.filled()))?;
            }
            area.draw(&Text::new(series.label.clone(), (34, y - 7), (FONT, 14)))?;
        }
        Ok(())
    }
}
