//! Arrays of Arrow, by pyarrow.

use crate::buffer::Bytes;
use crate::column::{Column, Data, Fixed};
use crate::keys::{Keys, Odd};
use crate::{error, numpy::unit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Returns the keys of an array, or of all chunks of a chunked one.
pub fn keys(array: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Keys> {
    let mut columns = Vec::new();
    if array.hasattr("chunks")? {
        for chunk in array.getattr("chunks")?.try_iter()? {
            columns.extend(keys(&chunk?, odd)?.columns);
        }
        return Ok(Keys { columns });
    }
    let Some(kind) = array.getattr_opt("type")?.filter(|_| array.hasattr("buffers").unwrap_or(false)) else {
        let name = array.get_type().name()?;
        return Err(PyTypeError::new_err(format!("keys are an array, not {name}")));
    };
    if let Some(extension) = kind.getattr_opt("extension_name")? {
        // Values of other extension types may be equal where the values that store them are not.
        return match extension.extract::<String>()?.as_str() {
            "arrow.uuid" => keys(&array.getattr("storage")?, odd),
            _ => Keys::not_indexable(array.len()?, kind.str()?.to_str()?, odd),
        };
    }
    plain(array, kind.str()?.to_str()?, odd)
}

/// Returns the keys of an array whose type is Arrow's own.
fn plain(array: &Bound<'_, PyAny>, type_name: &str, odd: Odd) -> PyResult<Keys> {
    let (kind, rest) = type_name.split_once(['[', '(', '<']).unwrap_or((type_name, ""));
    let len = array.len()?;
    let cast = |name: &str| keys(&array.call_method1("cast", (name,))?, odd);
    match kind {
        "null" => return Ok(Keys::one(len, Data::Nulls, None)),
        "dictionary" | "run_end_encoded" => {
            let decoded = if kind == "dictionary" { dictionary(array) } else { runs(array) };
            return match decoded {
                Ok(decoded) => keys(&decoded, odd),
                Err(error) if !error::is_of_keys(array.py(), &error) => Err(error),
                // Arrow does not decode such values, or the indices lie.
                Err(_) => Keys::not_indexable(len, type_name, odd),
            };
        }
        "string_view" => return cast("large_string"),
        "binary_view" => return cast("large_binary"),
        _ => {}
    }
    let fixed = fixed(kind, rest.trim_end_matches([']', ')', '>']));
    let variable = match kind {
        "string" => Some((4, true)),
        "large_string" => Some((8, true)),
        "binary" => Some((4, false)),
        "large_binary" => Some((8, false)),
        _ => None,
    };
    if fixed.is_none() && variable.is_none() {
        return Keys::not_indexable(len, type_name, odd);
    }
    if len == 0 {
        return Ok(Keys::of_scalars(Vec::new()));
    }
    let offset = array.getattr("offset")?.extract()?;
    let buffers: Vec<Option<Bound<'_, PyAny>>> = array.call_method0("buffers")?.extract()?;
    let bytes = |at: usize| buffers.get(at).and_then(Option::as_ref).map(Bytes::of).transpose();
    let has_nulls = array.getattr("null_count")?.extract::<usize>()? > 0;
    let validity = if has_nulls { bytes(0)? } else { None };
    let data = match (fixed, variable, bytes(1)?) {
        (Some((width, what)), _, Some(values)) => Data::Fixed { values, width, what },
        (_, Some((width, is_text)), Some(offsets)) => Data::Variable { offsets, width, data: bytes(2)?, is_text },
        _ => {
            return Err(PyValueError::new_err(format!("an array of {len} values of {type_name} without their buffer")));
        }
    };
    let column = Column { data, offset, len, validity };
    match column.is_whole() {
        true => Ok(Keys { columns: vec![column] }),
        false => Err(PyValueError::new_err(format!("an array of {len} values from {offset} on ends before them"))),
    }
}

/// Returns the width of a value in bytes, and its kind.
fn fixed(kind: &str, parameters: &str) -> Option<(usize, Fixed)> {
    let time = || unit(parameters.split(',').next().unwrap_or("").trim());
    let decimal = |width| {
        let scale = parameters.split_once(',').and_then(|(_, scale)| scale.trim().parse().ok());
        scale.map(|scale| (width, Fixed::Decimal(scale)))
    };
    match kind {
        "int8" => Some((1, Fixed::Signed)),
        "int16" => Some((2, Fixed::Signed)),
        "int32" => Some((4, Fixed::Signed)),
        "int64" => Some((8, Fixed::Signed)),
        "uint8" => Some((1, Fixed::Unsigned)),
        "uint16" => Some((2, Fixed::Unsigned)),
        "uint32" => Some((4, Fixed::Unsigned)),
        "uint64" => Some((8, Fixed::Unsigned)),
        "date32" => Some((4, Fixed::Date)),
        "date64" => Some((8, Fixed::DateMillis)),
        "timestamp" if parameters.contains("tz=") => time().map(|unit| (8, Fixed::Instant(unit))),
        "timestamp" => time().map(|unit| (8, Fixed::LocalTimestamp(unit))),
        "time32" => time().map(|unit| (4, Fixed::TimeOfDay(unit))),
        "time64" => time().map(|unit| (8, Fixed::TimeOfDay(unit))),
        "fixed_size_binary" => parameters.parse().ok().filter(|width| *width > 0).map(|width| (width, Fixed::Binary)),
        "decimal32" => decimal(4),
        "decimal64" => decimal(8),
        "decimal128" => decimal(16),
        _ => None,
    }
}

/// Returns the values of a dictionary's array.
fn dictionary<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    widened(&array.getattr("dictionary")?)?.call_method1("take", (array.getattr("indices")?,))
}

/// Returns the values of an array of runs.
fn runs<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let values = widened(&array.getattr("values")?)?;
    let whole = array.get_type().call_method1("from_arrays", (array.getattr("run_ends")?, values))?;
    let part = whole.call_method1("slice", (array.getattr("offset")?, array.len()?))?;
    array.py().import("pyarrow.compute")?.call_method1("run_end_decode", (part,))
}

/// Returns texts and bytes as those of large arrays: Arrow does not decode views, and offsets of 32 bits may not suffice.
fn widened<'py>(values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match values.getattr("type")?.str()?.to_str()? {
        "string_view" | "string" => values.call_method1("cast", ("large_string",)),
        "binary_view" | "binary" => values.call_method1("cast", ("large_binary",)),
        _ => Ok(values.clone()),
    }
}
