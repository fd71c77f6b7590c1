//! Cells as text: a line each, with escapes for bytes that a line cannot hold.

use crate::exit::Failure;
use crate::output;
use filterblock_kv::TableCell;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ffi::OsStr;

/// A value that deletes its cell.
const DELETION: &[u8] = b"\\N";

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) row: Cow<'a, [u8]>,
    pub(crate) column: Cow<'a, [u8]>,
    /// `None` deletes the cell.
    pub(crate) value: Option<Cow<'a, [u8]>>,
}

/// The cell of a line, or the reason why there is none.
pub(crate) fn parse(line: &[u8]) -> Result<Line<'_>, String> {
    // A value may hold tabs, because nothing follows it.
    let mut fields = line.splitn(3, |&byte| byte == b'\t');
    let (Some(row), Some(column), Some(value)) = (fields.next(), fields.next(), fields.next()) else {
        return Err("expected a row, a tab, a column, a tab and a value".to_owned());
    };
    let value = if value == DELETION { None } else { Some(unescape(value)?) };
    Ok(Line { row: unescape(row)?, column: unescape(column)?, value })
}

/// A row or column of the command line.
pub(crate) fn argument(subcommand: &str, text: &OsStr) -> Result<Vec<u8>, Failure> {
    let refused = |reason| Failure::usage(subcommand, format_args!("{}: {reason}", text.to_string_lossy()));
    unescape(text.as_encoded_bytes()).map(Cow::into_owned).map_err(refused)
}

/// A cell or a deletion as the line that `fill` reads back, without the newline.
pub(crate) fn line(cell: &TableCell) -> String {
    [output::field(&cell.row), column_line(&cell.column, cell.value.as_deref())].join("\t")
}

/// The end of such a line.
pub(crate) fn column_line(column: &[u8], value: Option<&[u8]>) -> String {
    let value = value.map_or_else(|| String::from_utf8_lossy(DELETION).into_owned(), output::field);
    [output::field(column), value].join("\t")
}

pub(crate) fn json(cell: &TableCell) -> Value {
    let mut object = Map::new();
    output::put_bytes(&mut object, "row", &cell.row);
    object.extend(column_json(&cell.column, cell.value.as_deref()));
    object.into()
}

pub(crate) fn column_json(column: &[u8], value: Option<&[u8]>) -> Map<String, Value> {
    let mut object = Map::new();
    output::put_bytes(&mut object, "column", column);
    match value {
        Some(value) => output::put_bytes(&mut object, "value", value),
        None => drop(object.insert("deleted".to_owned(), true.into())),
    }
    object
}

/// The bytes of a text with escapes.
fn unescape(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        bytes.extend_from_slice(&rest[..at]);
        rest = unescape_one(&rest[at + 1..], &mut bytes)?;
    }
    if rest.len() == text.len() {
        return Ok(Cow::Borrowed(text));
    }
    bytes.extend_from_slice(rest);
    Ok(Cow::Owned(bytes))
}

/// Appends the byte or character after a backslash to `bytes`, and returns the rest of the text.
fn unescape_one<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], String> {
    let refused = || {
        let shown: String = String::from_utf8_lossy(text).chars().take(4).collect();
        format!("'\\{shown}' is not an escape; a backslash is written '\\\\'")
    };
    let (&first, rest) = text.split_first().ok_or_else(refused)?;
    let byte = match first {
        b'\\' | b'"' | b'\'' => first,
        b't' => b'\t',
        b'n' => b'\n',
        b'r' => b'\r',
        b'0' => 0,
        b'x' => {
            let (digits, rest) = rest.split_at_checked(2).ok_or_else(refused)?;
            bytes.push(number(digits).and_then(|number| number.try_into().ok()).ok_or_else(refused)?);
            return Ok(rest);
        }
        b'u' => {
            let digits = rest.strip_prefix(b"{").ok_or_else(refused)?;
            let end = digits.iter().take(7).position(|&byte| byte == b'}').ok_or_else(refused)?;
            let c = number(&digits[..end]).and_then(char::from_u32).ok_or_else(refused)?;
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(&digits[end + 1..]);
        }
        _ => return Err(refused()),
    };
    bytes.push(byte);
    Ok(rest)
}

/// A value of up to eight hexadecimal digits.
fn number(digits: &[u8]) -> Option<u32> {
    let digit = |&byte: &u8| char::from(byte).to_digit(16);
    digits.iter().try_fold(None, |number, byte| Some(Some(number.unwrap_or(0) << 4 | digit(byte)?))).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Line, line, parse, unescape};
    use filterblock_kv::Cell;

    #[test]
    fn what_is_printed_reads_back() {
        let every_byte: Vec<u8> = (0..=255).collect();
        let texts = ["", "\\N", "\\", "a\tb\nc\rd", "\"quoted\" 'so'", "\u{85}\u{200b}ü", "C:\\users\\x41"];
        for value in texts.iter().map(|text| text.as_bytes()).chain([&every_byte[..], b"\xff\xfe"]) {
            let text = line(&Cell::new(value, b"column", value).into());
            assert!(!text.contains(['\n', '\r']) && text.matches('\t').count() == 2, "{text:?}");
            let parsed = parse(text.as_bytes()).unwrap();
            assert_eq!((&*parsed.row, parsed.value.as_deref()), (value, Some(value)), "{text}");
        }
    }

    #[test]
    fn bytes_stand_for_themselves() {
        let expected = |row: &'static [u8], value: Option<&'static [u8]>| Line {
            row: row.into(),
            column: b"c"[..].into(),
            value: value.map(Into::into),
        };
        assert_eq!(parse(b"\xff r\tc\tv\tw"), Ok(expected(b"\xff r", Some(b"v\tw"))));
        assert_eq!(parse(b"\tc\t"), Ok(expected(b"", Some(b""))));
        assert_eq!(parse(b"r\tc\t\\N"), Ok(expected(b"r", None)));
        assert_eq!(parse(b"r\tc\t\\\\N"), Ok(expected(b"r", Some(b"\\N"))));
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for text in ["\\", "\\q", "\\N", "\\x", "\\x1", "\\xg1", "\\x+1", "\\u", "\\u{}", "\\u{d800}", "\\u{1234567}"] {
            assert!(unescape(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(&*unescape(b"\\x00\\0\\u{e9}\\u{10ffff}").unwrap(), "\0\0é\u{10ffff}".as_bytes());
        for line in ["", "row", "row\tcolumn", "row\\\tcolumn\tvalue"] {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
