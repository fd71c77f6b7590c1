//! Standard output that survives being closed, and how figures are written.

use crate::exit::Failure;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::Path;

/// Standard output, buffered. A reader that closes it early, as `head` does, is not an error: the rest is dropped, and
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
    pub(crate) fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, document)?;
        writeln!(self)
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

/// Standard output that failed for another reason than being closed.
pub(crate) fn failure(error: io::Error) -> Failure {
    Failure::io(
        Path::new("standard output"),
        "cannot write",
        &error,
        "The output is incomplete. Run the command again with its output sent elsewhere.",
    )
}

/// A filter with this rate or a greater one passes as many absent keys as it denies, or more.
pub(crate) const USELESS_RATE: f64 = 0.5;

/// A rate for people: per cent where that reads well, a power of ten below.
pub(crate) fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0 %".to_owned(),
        rate if rate < 1e-5 => format!("{rate:.2e}"),
        rate => format!("{} %", three_digits(rate * 100.0)),
    }
}

/// Formats a number that is at least 1e-4 by its whole part, or by three digits.
pub(crate) fn three_digits(number: f64) -> String {
    let decimals = (2 - number.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{number:.decimals$}")
}

/// Returns a count with its noun, as in `1 table` or `2 tables`.
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

/// `path` as one word of a shell's command line, which no command takes for a flag or for standard input.
pub(crate) fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.starts_with(b"-") { quoted(&[b"./", bytes].concat()) } else { quoted(bytes) }
}

/// Bytes as one word of a shell's command line.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    // Only a NUL cannot be quoted, and no argument contains one.
    let quoted = std::str::from_utf8(bytes).ok().and_then(|text| shlex::try_quote(text).ok());
    // As bash, zsh, ksh and POSIX since 2024 have it: what is no text cannot be printed as it is.
    quoted.map_or_else(|| format!("$'{}'", bytes.escape_ascii()), |word| word.into_owned())
}

/// Returns bytes as a field of a line, escaped as in [`printable`], except double quotes.
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

/// A JSON object of the fields that have a value.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
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

/// A path in JSON, as [`put_bytes`] has it: programs get a name that they can open.
pub(crate) fn put_path(object: &mut Map<String, Value>, name: &str, path: &Path) {
    put_bytes(object, name, path.as_os_str().as_encoded_bytes());
}

/// Returns rows of cells in columns: the first to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let num_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..num_columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, (cell, &width)): (usize, (&String, &usize))| match column {
        0 => format!("{cell:<width$}"),
        _ => format!("  {cell:>width$}"),
    };
    let row = |row: &Vec<String>| row.iter().zip(&widths).enumerate().map(cell).collect::<String>() + "\n";
    rows.iter().map(row).collect()
}
