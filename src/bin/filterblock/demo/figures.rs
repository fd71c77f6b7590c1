//! Tables of figures: the same cells on the terminal and on the page, taken from the JSON document.

use crate::output::{Output, rate, table};
use serde_json::Value;
use std::io;

/// How a value of the document is written. A filter is compared with none, so the run without filters has a dash for
/// [`Self::Bits`], [`Self::FilterCount`], [`Self::Share`] and [`Self::Times`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Count,
    FilterCount,
    Bits,
    Share,
    Rate,
    Micros,
    Seconds,
    Times(usize),
}

impl Format {
    fn text(self, value: &Value, run: &Value) -> String {
        let of_filter = matches!(self, Self::Bits | Self::FilterCount | Self::Share | Self::Times(_));
        let (true, Some(number)) = (!(of_filter && run["filter"] == "none"), value.as_f64()) else {
            return value.as_str().unwrap_or("-").to_owned();
        };
        match self {
            Self::Text => value.to_string(),
            Self::Count | Self::FilterCount => grouped(number),
            Self::Bits => format!("{number:.2}"),
            Self::Share => share(number),
            Self::Rate => rate(number),
            Self::Micros => format!("{number:.1} µs"),
            Self::Seconds => format!("{number:.2} s"),
            Self::Times(decimals) => format!("{number:.decimals$} x"),
        }
    }
}

/// Digits in groups of three.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

pub(super) fn share(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A figure for people and its place in the document.
pub(super) struct Cell {
    pub(super) text: String,
    /// An RFC 6901 pointer; empty for what is not in the document.
    pub(super) pointer: String,
}

impl Cell {
    pub(super) fn new(document: &Value, pointer: String, format: Format) -> Self {
        let run = pointer.rsplit_once('/').and_then(|(run, _)| document.pointer(run));
        let value = document.pointer(&pointer).unwrap_or(&Value::Null);
        Self { text: format.text(value, run.unwrap_or(&Value::Null)), pointer }
    }
}

/// A row of a table: a name, indented by two spaces where it details the row above, and a figure of each column.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
}

/// A name, the figure's pointer within an element, and its format.
pub(super) type Figure<'a> = (&'a str, &'a str, Format);

/// A table of `figures`, a row each, with a column for each element of the array at `pointer` in the document.
pub(super) fn rows(document: &Value, pointer: &str, figures: &[Figure<'_>]) -> Vec<Row> {
    let num_columns = document.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len);
    let row = |&(name, field, format): &Figure<'_>| Row {
        name: name.to_owned(),
        cells: (0..num_columns).map(|i| Cell::new(document, format!("{pointer}/{i}/{field}"), format)).collect(),
    };
    figures.iter().map(row).collect()
}

/// Prints the first row as the head and the others below.
pub(super) fn print(out: &mut Output, rows: &[Row]) -> io::Result<()> {
    let row = |row: &Row| core::iter::once(&row.name).chain(row.cells.iter().map(|cell| &cell.text)).cloned().collect();
    table(out, &rows.iter().map(row).collect::<Vec<_>>())
}
