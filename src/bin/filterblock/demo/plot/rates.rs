//! False-positive rates of tables: the ratio of the observed to the predicted one.

use super::chart::{Axis, Chart};
use super::{class_of, marker, text};
use maud::{Markup, html};

const HEIGHT: f64 = 380.0;
/// Between the tables of two kinds, in tables.
const GAP: f64 = 1.5;
/// The least end of the axis, so that agreement looks like agreement.
const MIN_RATIO: f64 = 1.6;

/// One table in one run.
pub(in super::super) struct Point<'a> {
    pub(in super::super) filter: &'a str,
    pub(in super::super) series: usize,
    /// Observed rate by predicted rate.
    pub(in super::super) ratio: f64,
    /// Two standard errors of the ratio.
    pub(in super::super) two_sigma: f64,
}

impl Point<'_> {
    fn range(&self) -> [f64; 2] {
        [(self.ratio - self.two_sigma).max(0.0), self.ratio + self.two_sigma]
    }

    /// Whether the prediction is within the error.
    pub(in super::super) fn agrees(&self) -> bool {
        (self.ratio - 1.0).abs() <= self.two_sigma
    }
}

/// The points of a filter follow each other in `points`.
pub(in super::super) fn rates(label: &str, points: &[Point<'_>]) -> Markup {
    let groups: Vec<_> = points.chunk_by(|a, b| a.series == b.series).collect();
    let greatest = points.iter().map(|point| point.range()[1]).fold(MIN_RATIO, f64::max);
    let end = points.len() as f64 + GAP * groups.len() as f64;
    let chart = Chart {
        height: HEIGHT,
        x: Axis { title: "tables of each kind of filter".to_owned(), range: 0.0..end, mesh: Vec::new() },
        y: Axis::linear("observed rate / predicted rate, with two standard errors", greatest, 5, |ratio, step| {
            let decimals = usize::from(step < 1.0);
            format!("{ratio:.decimals$}")
        }),
    };
    let mut next = 0.0;
    let content = html! {
        (chart.line("reference", [(0.0, 1.0), (end, 1.0)]))
        @for group in groups {
            @let first = next + GAP / 2.0;
            @let (middle, bottom) = chart.place((first + group.len() as f64 / 2.0, 0.0));
            (text("t muted mid", group[0].filter, (middle, bottom + 14.0)))
            @for (point, i) in group.iter().zip(0..) { (draw_point(&chart, point, first + f64::from(i) + 0.5)) }
            ({ next = first + group.len() as f64 + GAP / 2.0; "" })
        }
    };
    chart.draw(label, &content)
}

fn draw_point(chart: &Chart, point: &Point<'_>, column: f64) -> Markup {
    html! {
        (chart.line(&class_of("whisker", point.series), point.range().map(|ratio| (column, ratio))))
        (marker(point.series, chart.place((column, point.ratio))))
    }
}
