//! Plots as SVG text that takes its colours, dashes and fonts from the style sheet of the page around it.

pub(super) mod bars;
mod chart;
mod ink;
pub(super) mod latency;
pub(super) mod rates;
pub(super) mod sizes;

pub(super) use chart::Error;
pub(super) use ink::{Ink, Series};

use chart::{Canvas, draw};

/// Room for the line and the marker of a series in a legend.
const SWATCH: (u32, u32) = (36, 14);

/// What a series looks like, for a legend.
pub(super) fn swatch(series: Series) -> Result<String, Error> {
    draw(SWATCH, "", |canvas| {
        line_across(canvas, Ink::Line(series))?;
        canvas.marker(series, canvas.at(SWATCH.0 / 2, SWATCH.1 / 2))
    })
}

/// What the line looks like that the series are held against, for a legend.
pub(super) fn reference_swatch() -> Result<String, Error> {
    draw(SWATCH, "", |canvas| line_across(canvas, Ink::Reference))
}

fn line_across(canvas: &Canvas<'_>, ink: Ink) -> Result<(), Error> {
    canvas.line(ink, vec![canvas.at(0, SWATCH.1 / 2), canvas.at(SWATCH.0, SWATCH.1 / 2)])
}
