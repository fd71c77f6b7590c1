//! Standard output that survives being closed, and how figures are written.

use crate::exit::{self, Code, Failure};
use serde_json::{Map, Value, json};
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::Path;

/// Standard output, buffered. A reader that closes it early, as `head` does, is no error: the rest is dropped, and
/// [`Output::is_closed`] shows that more work would be wasted.
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
    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self, "{value}")
    }

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

/// Prints to standard output, all of it.
pub(crate) fn print(write: impl FnOnce(&mut Output) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = Output::new();
    write(&mut out).map_err(failure)?;
    out.finish()
}

/// What `verify` reports on a file: its failures on standard error, and as JSON with the `figures`, or as text.
pub(crate) fn verdict(
    out: &mut Output,
    path: &Path,
    failures: &[Failure],
    figures: Option<Value>,
    text: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<Code, Failure> {
    // Both streams may be the same terminal: keep the files in order.
    out.flush().map_err(failure)?;
    failures.iter().for_each(exit::message);
    let worst = failures.iter().map(Failure::code).max().unwrap_or(Code::Ok);
    let written = match figures {
        None => text(out),
        Some(figures) => {
            let mut fields = json!({ "file": path.to_string_lossy(), "ok": failures.is_empty() });
            if !failures.is_empty() {
                fields["errors"] = failures.iter().map(Failure::to_string).collect();
                fields["exit_code"] = (worst as u8).into();
            }
            if let (Value::Object(fields), Value::Object(figures)) = (&mut fields, figures) {
                fields.extend(figures);
            }
            out.json(&fields)
        }
    };
    written.map_err(failure)?;
    Ok(worst)
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

/// As `1 table` or `2 tables`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// 64 bits as both people and JSON get them: a string, because many JSON readers keep only 53 bits of a number.
pub(crate) fn hex(value: u64) -> String {
    format!("{value:#018x}")
}

/// A key as people can read it on a terminal, between double quotes: control bytes and what is not UTF-8 escaped.
pub(crate) fn printable(key: &[u8]) -> String {
    escaped(key, &['\\', '"'])
}

/// `path` as one word of a shell's command line.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // Only a NUL cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), |word| word.into_owned())
}

/// Bytes as a field of a line: escaped as in [`printable`], but for double quotes.
pub(crate) fn field(bytes: &[u8]) -> String {
    escaped(bytes, &['\\'])
}

fn escaped(bytes: &[u8], special: &[char]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || special.contains(&c) { text.extend(c.escape_default()) } else { text.push(c) }
        }
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

/// Fields of bytes as a JSON object.
pub(crate) fn bytes_object<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Vec<u8>)>) -> Value {
    let mut object = Map::new();
    fields.into_iter().for_each(|(name, bytes)| put_bytes(&mut object, name, bytes));
    object.into()
}

/// Bytes in JSON: `name` if they are UTF-8, otherwise `name_hex`.
pub(crate) fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.to_owned(), text.into()),
        Err(_) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            object.insert(format!("{name}_hex"), digits.into())
        }
    };
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
