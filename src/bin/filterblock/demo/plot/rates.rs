//! False-positive rates of tables: observed against predicted.

use super::chart::{Axis, Chart, Error, draw, units};
use super::ink::{Ink, Series};

const SIZE: (u32, u32) = (880, 480);
/// Tables of one kind have all but one prediction. They are drawn side by side, so many pixels apart at the most.
const MAX_SPACING: i32 = 20;
const TICK_HALF_WIDTH: i32 = 8;

/// One table in one run.
pub(in super::super) struct Point {
    pub(in super::super) series: Series,
    pub(in super::super) predicted: f64,
    pub(in super::super) observed: f64,
    /// Four standard errors of the observed rate.
    pub(in super::super) four_sigma: f64,
}

impl Point {
    fn low(&self) -> f64 {
        (self.observed - self.four_sigma).max(0.0)
    }

    fn high(&self) -> f64 {
        (self.observed + self.four_sigma).min(1.0)
    }
}

/// Points of a series stand together in `points`.
pub(in super::super) fn rates(label: &str, points: &[Point]) -> Result<String, Error> {
    let greatest = points.iter().map(|point| point.predicted.max(point.high()));
    let greatest = greatest.fold(0.0, f64::max);
    let predicted = points.iter().map(|point| point.predicted).fold(0.0, f64::max);
    // Room for the tables of the largest prediction side by side.
    let x = axis("predicted from the filter's bits", predicted * 1.15);
    let y = axis("observed false-positive rate, with four standard errors", greatest);
    let end = x.range.end.min(y.range.end);
    draw(SIZE, label, |canvas| {
        let chart = Chart::new(canvas, &x, &y)?;
        chart.line(Ink::Reference, [(0.0, 0.0), (end, end)])?;
        for group in points.chunk_by(|a, b| a.series == b.series) {
            for (point, x) in group.iter().zip(side_by_side(&chart, group, points)) {
                draw_point(&chart, point, x)?;
            }
        }
        Ok(())
    })
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

/// Where the points of a group stand: around their predictions, clear of other groups' and within the axes.
fn side_by_side(chart: &Chart<'_, '_>, group: &[Point], points: &[Point]) -> Vec<i32> {
    let column = |point: &Point| chart.place((point.predicted, 0.0)).0;
    let others = points.iter().filter(|other| group.iter().all(|point| point.series != other.series));
    let distance = others.flat_map(|other| group.iter().map(|point| (column(point) - column(other)).abs())).min();
    let fitting = distance.map_or(i32::MAX, |distance| distance * 4 / 5 / group.len() as i32);
    let spacing = fitting.clamp(units(2), units(MAX_SPACING));
    let offset = |i: i32| (2 * i + 1 - group.len() as i32) * spacing / 2;
    let places: Vec<i32> = (0..).zip(group).map(|(i, point)| column(point) + offset(i)).collect();
    let (first, last) = (places.iter().min().copied().unwrap_or(0), places.iter().max().copied().unwrap_or(0));
    let (margin, columns) = (units(TICK_HALF_WIDTH), chart.columns());
    let shift = (columns.start + margin - first).max(0) - (last + margin - columns.end).max(0);
    places.into_iter().map(|place| place + shift).collect()
}

/// Drawn at the column `x`, where a short stroke repeats the prediction that the diagonal has at its place.
fn draw_point(chart: &Chart<'_, '_>, point: &Point, x: i32) -> Result<(), Error> {
    let place = |rate: f64| (x, chart.place((0.0, rate)).1);
    let canvas = chart.canvas();
    canvas.line(Ink::Whisker(point.series), vec![place(point.low()), place(point.high())])?;
    canvas.marker(point.series, place(point.observed))?;
    let (_, y) = place(point.predicted);
    canvas.line(Ink::Tick, vec![(x - units(TICK_HALF_WIDTH), y), (x + units(TICK_HALF_WIDTH), y)])
}
