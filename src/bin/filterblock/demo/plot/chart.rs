//! A chart: a plane with two axes.

use super::{Place, drawing, line, text};
use maud::{Markup, html};
use std::ops::Range;

/// Labels of powers of ten that an axis has room for.
const MAX_DECADE_LABELS: f64 = 6.0;
/// Narrow enough for phones, where the style sheet enlarges the text.
const WIDTH: f64 = 640.0;
/// Room for the titles and labels of the axes around the plane.
const TOP: f64 = 34.0;
const RIGHT: f64 = 36.0;
const BOTTOM: f64 = 52.0;
const LEFT: f64 = 76.0;

/// An axis, in the coordinates of the drawing: other scales map values and labels before.
pub(super) struct Axis {
    /// The measured quantity and its unit.
    pub(super) title: String,
    pub(super) range: Range<f64>,
    /// Lines through the chart, and their labels.
    pub(super) mesh: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to at least `max`, with a line at each of about `num_steps` round values; `label` gets a value and the
    /// distance to the next.
    pub(super) fn linear(title: &str, max: f64, num_steps: u32, label: impl Fn(f64, f64) -> String) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_step(max / f64::from(num_steps));
        let num_lines = (max / step).ceil() as u32;
        let mesh = (0..=num_lines).map(|i| f64::from(i) * step).map(|at| (at, label(at, step)));
        Self { title: title.to_owned(), mesh: mesh.collect(), range: 0.0..f64::from(num_lines) * step }
    }

    /// The decimal logarithms of values from `min` to `max`, both above 0: a line at each whole multiple of each power
    /// of ten. Powers have labels; over a short range also 2 and 5 times each, over a long one every few only.
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
            (value.log10(), if labelled(digit, decade) { label(value) } else { String::new() })
        });
        // Rounding must not lose the line at an end of the range.
        let within = |(at, _): &(f64, String)| (range.start - 1e-9..=range.end + 1e-9).contains(at);
        Self { title: title.to_owned(), mesh: mesh.filter(within).collect(), range: range.clone() }
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= least).unwrap_or(least)
}

pub(super) struct Chart {
    pub(super) height: f64,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Chart {
    /// The place of a point on the drawing.
    pub(super) fn place(&self, (x, y): (f64, f64)) -> Place {
        let share = |axis: &Axis, value: f64| (value - axis.range.start) / (axis.range.end - axis.range.start);
        let bottom = self.height - BOTTOM;
        (LEFT + share(&self.x, x) * (WIDTH - RIGHT - LEFT), bottom - share(&self.y, y) * (bottom - TOP))
    }

    pub(super) fn line(&self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Markup {
        line(class, points.into_iter().map(|point| self.place(point)))
    }

    /// `content` on the axes, with the quantity along `y` written above them and along `x` below.
    pub(super) fn draw(&self, label: &str, content: &Markup) -> Markup {
        let (left, right, bottom) = (LEFT, WIDTH - RIGHT, self.height - BOTTOM);
        let content = html! {
            @for (value, label) in &self.x.mesh {
                @let (at, _) = self.place((*value, self.y.range.start));
                (line(if label.is_empty() { "grid faint" } else { "grid" }, [(at, TOP), (at, bottom)]))
                @if !label.is_empty() { (text("t muted mid", label, (at, bottom + 14.0))) }
            }
            @for (value, label) in &self.y.mesh {
                @let (_, at) = self.place((self.x.range.start, *value));
                (line("grid", [(left, at), (right, at)]))
                @if !label.is_empty() { (text("t muted end", label, (left - 8.0, at))) }
            }
            (line("frame", [(left, TOP), (left, bottom), (right, bottom)]))
            (text("t", &self.y.title, (0.0, TOP - 22.0)))
            (text("t end", &self.x.title, (right, bottom + 38.0)))
            (content)
        };
        drawing(WIDTH, self.height, label, &content)
    }
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
    fn axes_span_their_values() {
        let linear = Axis::linear("", 29_132.0, 6, |value, _| value.to_string());
        assert_eq!((linear.range.clone(), linear.mesh.len()), (0.0..30_000.0, 7));
        assert_eq!(Axis::linear("", 0.0, 5, |value, _| value.to_string()).range, 0.0..1.0);

        let labels = |min, max| -> Vec<String> {
            let axis = Axis::logarithmic("", min, max, |value| value.round().to_string());
            axis.mesh.into_iter().map(|(_, label)| label).filter(|label| !label.is_empty()).collect()
        };
        assert_eq!(labels(1.0, 1000.0), ["1", "10", "100", "1000"]);
        assert_eq!(labels(3.0, 30.0), ["5", "10", "20"]);
        assert_eq!(labels(1.0, 1e12), ["1", "100", "10000", "1000000", "100000000", "10000000000", "1000000000000"]);
    }
}
