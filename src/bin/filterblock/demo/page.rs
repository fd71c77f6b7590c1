//! The report as one HTML page that needs nothing beside itself: no script, no file, no network.
//!
//! The page is also well-formed XML, so that programs can read the figures back: each carries the pointer of its value
//! in the JSON document.

use super::figures::{Cell, Row};
use super::report::Report;
use crate::output::shell_word;
use filterblock::FORMAT_VERSION;
use maud::{Markup, PreEscaped, Render, html};
use std::path::Path;

const STYLE: &str = include_str!("style.css");

/// What precedes the title. [`html!`] writes void elements as HTML does, which is not XML.
const HEAD: &str = "<meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>";

/// What a page shows besides the report's facts, checks and tables.
pub(super) struct Page {
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    pub(super) headline: Markup,
    pub(super) plots: Vec<Plot>,
    /// Tables that only the page has, with captions.
    pub(super) tables: Vec<(&'static str, Vec<Row>)>,
}

pub(super) struct Plot {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Samples of the lines, with their names.
    pub(super) legend: Vec<(Markup, String)>,
    pub(super) drawing: Markup,
    pub(super) caption: String,
}

/// What a drawing takes from the page around it.
const PICTURE_STYLE: &str = "svg{background:var(--ground);font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\
                             \"Noto Sans\",\"Liberation Sans\",Arial,sans-serif}";

impl Page {
    /// The first plot alone, as an SVG file.
    pub(super) fn picture(&self) -> String {
        let drawing = self.plots.first().map(|plot| plot.drawing.0.as_str()).unwrap_or_default();
        let (svg, content) = drawing.split_once('>').unwrap_or_default();
        let style = html! { style { (PreEscaped(STYLE)) (PreEscaped(PICTURE_STYLE)) } };
        format!("{svg}>{}{content}\n", style.0)
    }

    pub(super) fn render(&self, report: &Report) -> String {
        let page = html! {
            (PreEscaped("<!DOCTYPE html>\n"))
            html lang="en" {
                head { (PreEscaped(HEAD)) title { (self.title) } style { (PreEscaped(STYLE)) } }
                body { main {
                    header { h1 { (self.title) } p { (self.intro) } }
                    (self.headline)
                    (setting(report))
                    @for plot in &self.plots { (plot) }
                    h2 { "Figures" }
                    @for (caption, rows) in report.tables.iter().chain(&self.tables) { (table(caption, rows)) }
                    footer { "filterblock " (env!("CARGO_PKG_VERSION")) " · format version " (FORMAT_VERSION) }
                } }
            }
        };
        // Names of files may hold control characters, which XML does not allow.
        let forbidden = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
        page.into_string().replace(forbidden, "\u{fffd}")
    }
}

/// What was run, the outcome of the checks, and failures.
fn setting(report: &Report) -> Markup {
    let words = std::env::args_os().skip(1).map(|word| shell_word(Path::new(&word)));
    let command = core::iter::once("filterblock".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    let class_and_sign = |passed| match passed {
        Some(true) => ("passed", "✓"),
        Some(false) => ("failed", "✗"),
        None => ("open", "–"),
    };
    html! {
        section.setting {
            dl {
                @for (name, lines) in report.facts.iter().chain(&report.machine) {
                    dt { (name) } @for line in lines { dd { (line) } }
                }
                dt { "Command" } dd { code { (command) } }
            }
            ul.checks {
                @for (check, outcome, passed) in &report.checks {
                    @let (class, sign) = class_and_sign(*passed);
                    li class=(class) { span { (sign) } " " (check) ": " (outcome) }
                }
                @for warning in report.failures.iter().chain(&report.warnings) {
                    li.failed { span { "!" } " " (warning) }
                }
            }
        }
    }
}

impl Render for Plot {
    fn render(&self) -> Markup {
        html! {
            figure id=(self.id) {
                h3 { (self.title) }
                @if !self.legend.is_empty() {
                    ul.legend { @for (sample, name) in &self.legend { li { span.swatch { (sample) } (name) } } }
                }
                div.plot { (self.drawing) }
                figcaption { (self.caption) }
            }
        }
    }
}

/// The first row is the head.
fn table(caption: &str, rows: &[Row]) -> Markup {
    let Some((head, rows)) = rows.split_first() else {
        return html! {};
    };
    html! {
        div.table { table {
            @if !caption.is_empty() { caption { (caption) } }
            thead { tr {
                @if head.name.is_empty() { td {} } @else { th scope="col" { (head.name) } }
                @for cell in &head.cells { th scope="col" { (cell) } }
            } }
            tbody { @for row in rows { tr {
                th.sub[row.name.starts_with("  ")] scope="row" { (row.name.trim()) }
                @for cell in &row.cells { td { (cell) } }
            } } }
        } }
    }
}

/// With the pointer of its value in the JSON document.
impl Render for Cell {
    fn render(&self) -> Markup {
        match self.pointer.as_str() {
            "" => html! { (self.text) },
            pointer => html! { span data-json=(pointer) { (self.text) } },
        }
    }
}
