//! False-positive rates of tables: observed against predicted.

use super::chart::{Axis, Chart};
use super::{class_of, line, marker};
use maud::{Markup, html};

const HEIGHT: f64 = 480.0;
/// Tables of one kind have nearly one prediction. They are drawn side by side, this many pixels apart.
const MIN_SPACING: f64 = 2.0;
const MAX_SPACING: f64 = 20.0;
const TICK_HALF_WIDTH: f64 = 8.0;

/// One table in one run.
pub(in super::super) struct Point {
    pub(in super::super) series: usize,
    pub(in super::super) predicted: f64,
    pub(in super::super) observed: f64,
    /// Four standard errors of the observed rate.
    pub(in super::super) four_sigma: f64,
}

impl Point {
    fn range(&self) -> [f64; 2] {
        [(self.observed - self.four_sigma).max(0.0), (self.observed + self.four_sigma).min(1.0)]
    }
}

/// The points of a series follow each other in `points`.
pub(in super::super) fn rates(label: &str, points: &[Point]) -> Markup {
    let greatest = points.iter().map(|point| point.predicted.max(point.range()[1])).fold(0.0, f64::max);
    let predicted = points.iter().map(|point| point.predicted).fold(0.0, f64::max);
    let chart = Chart {
        height: HEIGHT,
        // Room for the tables of the largest prediction side by side.
        x: axis("predicted from the filter's bits", predicted * 1.15),
        y: axis("observed false-positive rate, with four standard errors", greatest),
    };
    let end = chart.x.range.end.min(chart.y.range.end);
    let content = html! {
        (chart.line("reference", [(0.0, 0.0), (end, end)]))
        @for group in points.chunk_by(|a, b| a.series == b.series) {
            @for (point, x) in group.iter().zip(side_by_side(&chart, group, points)) { (draw_point(&chart, point, x)) }
        }
    };
    chart.draw(label, &content)
}

fn axis(title: &str, max: f64) -> Axis {
    let label = |rate: f64, step: f64| {
        if step < 1e-6 {
            return if rate == 0.0 { "0".to_owned() } else { format!("{rate:.1e}") };
        }
        // As many decimals as tell one line from the next.
        let decimals = (-(step * 100.0 + 1e-12).log10().floor()).clamp(0.0, 9.0) as usize;
        format!("{:.decimals$} %", rate * 100.0)
    };
    Axis::linear(title, max, 6, label)
}

/// The columns of a group's points: around their predictions, clear of other groups' and within the axes.
fn side_by_side(chart: &Chart, group: &[Point], points: &[Point]) -> Vec<f64> {
    let column = |point: &Point| chart.place((point.predicted, 0.0)).0;
    let others = points.iter().filter(|other| group.iter().all(|point| point.series != other.series));
    let distances = others.flat_map(|other| group.iter().map(|point| (column(point) - column(other)).abs()));
    let fitting = distances.fold(f64::INFINITY, f64::min) * 0.8 / group.len() as f64;
    let spacing = fitting.clamp(MIN_SPACING, MAX_SPACING);
    let offset = |i: usize| (i as f64 - (group.len() as f64 - 1.0) / 2.0) * spacing;
    let places: Vec<_> = group.iter().enumerate().map(|(i, point)| column(point) + offset(i)).collect();
    let first = places.iter().copied().fold(f64::INFINITY, f64::min) - TICK_HALF_WIDTH;
    let last = places.iter().copied().fold(0.0, f64::max) + TICK_HALF_WIDTH;
    let shift = (Chart::COLUMNS.start - first).max(0.0) - (last - Chart::COLUMNS.end).max(0.0);
    places.into_iter().map(|place| place + shift).collect()
}

/// Drawn at the column `x`, where a short stroke repeats the prediction that the diagonal has at its place.
fn draw_point(chart: &Chart, point: &Point, x: f64) -> Markup {
    let place = |rate: f64| (x, chart.place((0.0, rate)).1);
    let (_, y) = place(point.predicted);
    html! {
        (line(&class_of("whisker", point.series), point.range().map(place)))
        (marker(point.series, place(point.observed)))
        (line("tick", [(x - TICK_HALF_WIDTH, y), (x + TICK_HALF_WIDTH, y)]))
    }
}
