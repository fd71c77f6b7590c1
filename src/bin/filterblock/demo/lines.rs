//! Tables of figures: the same cells on the terminal and on the page.

use crate::output::{Output, rate, table};
use std::io;

/// A figure of a run for people, and where the JSON document has it.
pub(super) struct Cell {
    pub(super) text: String,
    /// An RFC 6901 pointer.
    pub(super) pointer: String,
}

/// One figure of all runs.
pub(super) struct Line {
    /// Indented by two spaces where it belongs to the line above.
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
}

/// Lines of figures of `runs`, which the JSON document has below `pointer`.
pub(super) struct Lines<'a, R> {
    runs: &'a [R],
    pointer: String,
    lines: Vec<Line>,
}

impl<'a, R> Lines<'a, R> {
    pub(super) fn new(runs: &'a [R], pointer: &str) -> Self {
        Self { runs, pointer: pointer.to_owned(), lines: Vec::new() }
    }

    /// `field` is the figure's place in a run's JSON object, `cell` its text.
    pub(super) fn add(&mut self, name: &str, field: &str, cell: impl Fn(&R) -> String) {
        let cells = (0..).zip(self.runs);
        let cells = cells.map(|(i, run)| Cell { text: cell(run), pointer: format!("{}/{i}/{field}", self.pointer) });
        self.lines.push(Line { name: name.to_owned(), cells: cells.collect() });
    }

    pub(super) fn finish(self) -> Vec<Line> {
        self.lines
    }
}

/// Prints the first line as the head and the others below.
pub(super) fn print(out: &mut Output, lines: &[Line]) -> io::Result<()> {
    let row =
        |line: &Line| core::iter::once(&line.name).chain(line.cells.iter().map(|cell| &cell.text)).cloned().collect();
    table(out, &lines.iter().map(row).collect::<Vec<_>>())
}

/// Digits in groups of three.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
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

pub(super) fn micros(micros: f64) -> String {
    format!("{micros:.1} µs")
}

pub(super) fn rate_or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), rate)
}
