//! Standard output that survives being closed, and how figures are written.

use crate::exit::Failure;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::Path;

/// Standard output, buffered. A reader that goes away early, as `head` does, is no error: what follows is dropped,
/// and [`Output::is_closed`] says that more work would be in vain.
pub(crate) struct Output {
    inner: BufWriter<StdoutLock<'static>>,
    closed: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { inner: BufWriter::with_capacity(1 << 16, io::stdout().lock()), closed: false }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// One JSON document on a line of its own.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self, "{value}")
    }

    /// Hands the rest over.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush().map_err(failure)
    }

    fn forgive<T>(&mut self, result: io::Result<T>, dropped: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(dropped)
            }
            other => other,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.forgive(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.forgive(result, ())
    }
}

/// Standard output that failed for another reason than being closed.
pub(crate) fn failure(error: io::Error) -> Failure {
    Failure::io(
        Path::new("standard output"),
        "cannot write",
        &error,
        "The output is incomplete. Run the command again with its output sent elsewhere.",
    )
}

/// A rate for people: per cent where that reads well, a power of ten below.
pub(crate) fn rate(rate: f64) -> String {
    if rate == 0.0 {
        return "0 %".to_owned();
    }
    if rate < 1e-5 {
        return format!("{rate:.2e}");
    }
    let percent = rate * 100.0;
    // Three significant digits.
    let decimals = (2 - percent.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{percent:.decimals$} %")
}

/// 64 bits as both people and JSON get them: a string, because many JSON readers keep only 53 bits of a number.
pub(crate) fn hex(value: u64) -> String {
    format!("{value:#018x}")
}

/// A key as people can read it on a terminal: control bytes and what is not UTF-8 escaped.
pub(crate) fn printable(key: &[u8]) -> String {
    let mut text = String::new();
    for chunk in key.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' | '"' => text.extend(['\\', c]),
                c if c.is_control() => text.extend(c.escape_default()),
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Rows of cells in columns: the first to the left, the others to the right.
pub(crate) fn table(out: &mut Output, rows: &[Vec<String>]) -> io::Result<()> {
    let num_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..num_columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => write!(out, "{cell:<width$}")?,
                _ => write!(out, "  {cell:>width$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
