//! Plots as SVG that takes its colours, dashes and fonts from the style sheet of the page around it.

pub(super) mod bars;
mod chart;
pub(super) mod latency;
pub(super) mod rates;
pub(super) mod sizes;

use filterblock::FilterKind;
use maud::{Markup, html};

/// Series that the style sheet tells apart.
const NUM_SERIES: usize = 6;

/// A place on a drawing in pixels, from its upper left corner.
type Place = (f64, f64);

/// The series of the runs with a kind of filter; 0 without filters.
pub(super) fn series_of(filter: &str) -> usize {
    const { assert!(FilterKind::ALL.len() < NUM_SERIES, "the style sheet has too few series") };
    FilterKind::ALL.iter().position(|kind| kind.name() == filter).map_or(0, |place| place + 1)
}

/// `content` as a drawing. `label` describes it; empty for ornaments.
fn drawing(width: f64, height: f64, label: &str, content: &Markup) -> Markup {
    let view_box = format!("0 0 {width} {height}");
    let label = Some(label).filter(|label| !label.is_empty());
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(view_box) role=[label.map(|_| "img")] aria-label=[label]
            aria-hidden=[label.is_none().then_some("true")] { (content) }
    }
}

/// A line of straight pieces.
fn line(class: &str, places: impl IntoIterator<Item = Place>) -> Markup {
    let mut points: Vec<_> = places.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.dedup();
    html! { polyline class=(class) points=(points.join(" ")) {} }
}

/// `text` in one line, its middle at the height of `place`. The class says on which side of it.
fn text(class: &str, text: &str, (x, y): Place) -> Markup {
    html! { text class=(class) x=(format_args!("{x:.1}")) y=(format_args!("{y:.1}")) { (text) } }
}

/// The class of a line, a mark, a bar or a whisker of a series.
fn class_of(what: &str, series: usize) -> String {
    format!("{what} s{series}")
}

/// The marker of a series: a cross, a circle, a square, a triangle, a diamond, a triangle upside down.
fn marker(series: usize, (x, y): Place) -> Markup {
    let outline = match series {
        0 => "m-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
        1 => "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
        2 => "m-5-5h10v10h-10z",
        3 => "m0-6l6 11h-12z",
        4 => "m0-6l6 6l-6 6l-6-6z",
        _ => "m0 6l6-11h-12z",
    };
    html! { path class=(class_of("mark", series)) d=(format_args!("M{x:.1} {y:.1}{outline}")) {} }
}

/// Samples of the lines of runs, with their names.
pub(super) fn legend<'a>(filters: impl Iterator<Item = &'a str>) -> Vec<(Markup, String)> {
    let sample = |filter: &str| {
        let series = series_of(filter);
        swatch(&html! { (swatch_line(&class_of("line", series))) (marker(series, (18.0, 7.0))) })
    };
    filters.map(|filter| (sample(filter), filter.to_owned())).collect()
}

/// A sample of the line that the series are compared with.
pub(super) fn reference_swatch() -> Markup {
    swatch(&swatch_line("reference"))
}

fn swatch(content: &Markup) -> Markup {
    drawing(36.0, 14.0, "", content)
}

fn swatch_line(class: &str) -> Markup {
    line(class, [(0.0, 7.0), (36.0, 7.0)])
}

#[cfg(test)]
mod tests {
    use super::NUM_SERIES;

    #[test]
    fn the_style_sheet_knows_every_series() {
        let css = include_str!("../style.css");
        for i in 0..NUM_SERIES {
            // Its colour by day and by night, and its use.
            assert_eq!(css.matches(&format!("--s{i}:")).count(), 2, "series {i}");
            assert!(css.contains(&format!("var(--s{i})")), "series {i}");
        }
    }
}
