//! A canvas, and a chart with two axes on it.

use super::super::page::escape;
use super::ink::{Ink, Series, with_classes};
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{Cartesian2d, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, TextStyle};
use std::ops::Range;

/// Why nothing could be drawn.
pub(in super::super) type Error = DrawingAreaErrorKind<std::io::Error>;

/// Units of a drawing for one pixel of the page: the library rounds to whole units.
const SCALE: i32 = 2;
/// Size of text, in pixels of the page.
const TEXT: f64 = 13.0;
/// What the library divides sizes of text by.
const LIBRARY_TEXT_FACTOR: f64 = 1.24;
/// Labels of powers of ten that an axis has room for.
const MAX_DECADE_LABELS: f64 = 8.0;
const MARKER_RADIUS: i32 = 5 * SCALE;

/// A place on a canvas, in units.
pub(super) type Place = (i32, i32);

/// Where text stands beside its place.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Center,
    Right,
}

/// Something to draw on, without axes.
pub(super) struct Canvas<'a> {
    root: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws what `paint` paints on a canvas of `size` pixels of the page. `label` says what it shows; empty for ornaments.
pub(super) fn draw(
    size: (u32, u32),
    label: &str,
    paint: impl FnOnce(&Canvas<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    let units = (size.0 * SCALE as u32, size.1 * SCALE as u32);
    let mut svg = String::new();
    let canvas = Canvas { root: SVGBackend::with_string(&mut svg, units).into_drawing_area() };
    paint(&canvas)?;
    canvas.root.present()?;
    drop(canvas);
    // The page decides on the size; the shape is in the view box.
    let role = match label {
        "" => "aria-hidden=\"true\"".to_owned(),
        _ => format!("role=\"img\" aria-label=\"{}\"", escape(label)),
    };
    let svg = svg.replacen(&format!("width=\"{}\" height=\"{}\"", units.0, units.1), &role, 1);
    Ok(with_classes(&svg).replace(" opacity=\"1\"", ""))
}

impl Canvas<'_> {
    /// The place so many pixels of the page to the right and down.
    pub(super) fn at(&self, x: u32, y: u32) -> Place {
        (x as i32 * SCALE, y as i32 * SCALE)
    }

    pub(super) fn line(&self, ink: Ink, points: Vec<Place>) -> Result<(), Error> {
        let width = match ink {
            Ink::Line(_) | Ink::Whisker(_) | Ink::Reference => 2 * SCALE as u32,
            _ => SCALE as u32,
        };
        self.root.draw(&PathElement::new(points, ink.color().stroke_width(width)))
    }

    pub(super) fn rectangle(&self, ink: Ink, corners: [Place; 2]) -> Result<(), Error> {
        self.root.draw(&Rectangle::new(corners, ink.color().filled()))
    }

    pub(super) fn marker(&self, series: Series, (x, y): Place) -> Result<(), Error> {
        let (style, r) = (Ink::Mark(series).color().filled(), MARKER_RADIUS);
        let polygon = |corners: &[Place]| {
            let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            self.root.draw(&Polygon::new(corners, style))
        };
        match series.index() {
            0 => polygon(&cross(r)),
            1 => self.root.draw(&Circle::new((x, y), r, style)),
            2 => polygon(&[(-r, -r), (r, -r), (r, r), (-r, r)]),
            3 => polygon(&[(0, -r - 2), (r + 2, r), (-r - 2, r)]),
            4 => polygon(&[(0, -r - 2), (r + 2, 0), (0, r + 2), (-r - 2, 0)]),
            _ => polygon(&[(0, r + 2), (r + 2, -r), (-r - 2, -r)]),
        }
    }

    /// `text` in one line, its middle at the height of `place`.
    pub(super) fn text(&self, ink: Ink, align: Align, text: &str, place: Place) -> Result<(), Error> {
        self.styled_text(ink, align, text, place, FontStyle::Normal)
    }

    pub(super) fn bold(&self, align: Align, text: &str, place: Place) -> Result<(), Error> {
        self.styled_text(Ink::Text, align, text, place, FontStyle::Bold)
    }

    fn styled_text(&self, ink: Ink, align: Align, text: &str, place: Place, font: FontStyle) -> Result<(), Error> {
        let horizontally = match align {
            Align::Left => HPos::Left,
            Align::Center => HPos::Center,
            Align::Right => HPos::Right,
        };
        let size = TEXT * f64::from(SCALE) * LIBRARY_TEXT_FACTOR;
        let style = TextStyle::from(("sans-serif", size).into_font().style(font));
        let color = ink.color();
        let style = style.color(&color).pos(Pos::new(horizontally, VPos::Center));
        self.root.draw_text(text, &style, place)
    }
}

/// A cross with arms of length `r`.
fn cross(r: i32) -> [Place; 12] {
    let half = r / 3;
    let quarter = [(half, -half), (r, -half), (r, half)];
    let turned = |(x, y): Place, turns: usize| (0..turns).fold((x, y), |(x, y), _| (-y, x));
    core::array::from_fn(|i| turned(quarter[i % 3], i / 3))
}

/// A place on an axis: a line through the chart, and what is written at its end.
pub(super) struct Mesh {
    pub(super) at: f64,
    pub(super) label: String,
}

/// An axis, in the coordinates of the drawing: whoever wants another scale maps values and labels.
pub(super) struct Axis {
    /// What is measured, and in which unit.
    pub(super) title: String,
    pub(super) range: Range<f64>,
    pub(super) mesh: Vec<Mesh>,
}

impl Axis {
    /// From 0 to at least `max`, with a line at each of about `num_steps` round values; `label` gets a value and the
    /// distance to the next.
    pub(super) fn linear(title: &str, max: f64, num_steps: u32, label: impl Fn(f64, f64) -> String) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_step(max / f64::from(num_steps));
        let num_lines = (max / step).ceil() as u32;
        let mesh = (0..=num_lines).map(|i| f64::from(i) * step).map(|at| Mesh { at, label: label(at, step) });
        Self { title: title.to_owned(), mesh: mesh.collect(), range: 0.0..f64::from(num_lines) * step }
    }

    /// The decimal logarithms of values from `min` to `max`, both above 0: a line at each whole multiple of each power
    /// of ten; a label at the powers, where these are few at 2 and 5 times each, too, and where they are many not at all
    /// of them.
    pub(super) fn logarithmic(title: &str, min: f64, max: f64, label: impl Fn(f64) -> String) -> Self {
        let range = min.log10()..max.log10();
        let num_decades = range.end - range.start;
        let decades_per_label = (num_decades / MAX_DECADE_LABELS).ceil().max(1.0) as i32;
        let labelled = |digit: u32, decade: i32| match digit {
            1 => decade % decades_per_label == 0,
            2 | 5 => num_decades < 2.0,
            _ => false,
        };
        let decades = range.start.floor() as i32..=range.end.ceil() as i32;
        let values = decades.flat_map(|decade| (1..10u32).map(move |digit| (digit, decade)));
        let mesh = values.map(|(digit, decade)| {
            let value = f64::from(digit) * 10f64.powi(decade);
            Mesh { at: value.log10(), label: if labelled(digit, decade) { label(value) } else { String::new() } }
        });
        // Rounding must not lose the line at an end of the range.
        let within = |line: &Mesh| (range.start - 1e-9..=range.end + 1e-9).contains(&line.at);
        Self { title: title.to_owned(), mesh: mesh.filter(within).collect(), range: range.clone() }
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= least).unwrap_or(least)
}

/// A canvas with axes.
pub(super) struct Chart<'c, 'a> {
    canvas: &'c Canvas<'a>,
    plane: DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
}

impl<'c, 'a> Chart<'c, 'a> {
    /// The axes, with what is measured along `y` written above them and along `x` below.
    pub(super) fn new(canvas: &'c Canvas<'a>, x: &Axis, y: &Axis) -> Result<Self, Error> {
        let chart = ChartBuilder::on(&canvas.root)
            .margin_top(34 * SCALE)
            .margin_right(36 * SCALE)
            .x_label_area_size(52 * SCALE)
            .y_label_area_size(64 * SCALE)
            .build_cartesian_2d(x.range.clone(), y.range.clone())?;
        let chart = Self { canvas, plane: chart.plotting_area().clone() };
        chart.draw_axes(x, y)?;
        Ok(chart)
    }

    fn draw_axes(&self, x: &Axis, y: &Axis) -> Result<(), Error> {
        let (columns, rows) = self.plane.get_pixel_range();
        let (left, right, top, bottom) = (columns.start, columns.end, rows.start, rows.end);
        let canvas = self.canvas;
        for line in &x.mesh {
            let at = self.place((line.at, y.range.start)).0;
            let ink = if line.label.is_empty() { Ink::Faint } else { Ink::Grid };
            canvas.line(ink, vec![(at, top), (at, bottom)])?;
            if !line.label.is_empty() {
                canvas.text(Ink::Muted, Align::Center, &line.label, (at, bottom + 14 * SCALE))?;
            }
        }
        for line in &y.mesh {
            let at = self.place((x.range.start, line.at)).1;
            canvas.line(Ink::Grid, vec![(left, at), (right, at)])?;
            if !line.label.is_empty() {
                canvas.text(Ink::Muted, Align::Right, &line.label, (left - 8 * SCALE, at))?;
            }
        }
        canvas.line(Ink::Frame, vec![(left, top), (left, bottom), (right, bottom)])?;
        canvas.text(Ink::Text, Align::Left, &y.title, (0, top - 22 * SCALE))?;
        canvas.text(Ink::Text, Align::Right, &x.title, (right, bottom + 38 * SCALE))
    }

    pub(super) fn canvas(&self) -> &Canvas<'a> {
        self.canvas
    }

    /// From the left end of the axes to the right.
    pub(super) fn columns(&self) -> Range<i32> {
        self.plane.get_pixel_range().0
    }

    /// Where a point lies on the canvas.
    pub(super) fn place(&self, point: (f64, f64)) -> Place {
        self.plane.map_coordinate(&point)
    }

    pub(super) fn line(&self, ink: Ink, points: impl IntoIterator<Item = (f64, f64)>) -> Result<(), Error> {
        let mut places: Vec<Place> = points.into_iter().map(|point| self.place(point)).collect();
        places.dedup();
        self.canvas.line(ink, places)
    }

    pub(super) fn marker(&self, series: Series, point: (f64, f64)) -> Result<(), Error> {
        self.canvas.marker(series, self.place(point))
    }
}

/// So many pixels of the page, in units.
pub(super) const fn units(pixels: i32) -> i32 {
    pixels * SCALE
}

#[cfg(test)]
mod tests {
    use super::{Axis, round_step};

    #[test]
    fn steps_are_round_and_large_enough() {
        for (least, step) in [(1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (7.0, 10.0), (0.0013, 0.002)] {
            assert!((round_step(least) - step).abs() < step * 1e-9, "{least}");
        }
    }

    #[test]
    fn axes_span_what_is_shown() {
        let linear = Axis::linear("", 29_132.0, 6, |value, _| value.to_string());
        assert_eq!((linear.range.clone(), linear.mesh.len()), (0.0..30_000.0, 7));
        assert_eq!(Axis::linear("", 0.0, 5, |value, _| value.to_string()).range, 0.0..1.0);

        let labels = |min, max| -> Vec<String> {
            let axis = Axis::logarithmic("", min, max, |value| value.round().to_string());
            axis.mesh.into_iter().map(|line| line.label).filter(|label| !label.is_empty()).collect()
        };
        assert_eq!(labels(1.0, 1000.0), ["1", "10", "100", "1000"]);
        assert_eq!(labels(3.0, 30.0), ["5", "10", "20"]);
        assert_eq!(labels(1.0, 1e12), ["1", "100", "10000", "1000000", "100000000", "10000000000", "1000000000000"]);
    }
}
