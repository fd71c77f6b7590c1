//! Keys in an order: text and bytes, which Python and the library compare alike. Numbers are refused, as their order is
//! not that of their entries: the caller encodes them.

use crate::keys::{Keys, Odd};
use crate::scalar::Scalar;
use filterblock_set::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::types::PyAnyMethods;
use pyo3::{PyAny, PyResult};
use std::ops::Bound;

type Object<'py> = pyo3::Bound<'py, PyAny>;

const ENCODE: &str = "is neither text nor bytes, in their own order; of integers give number.to_bytes(8, \"big\"), plus \
                      2**63 if some are negative";

/// Returns the keys of an array or an iterable of text or bytes.
pub fn keys(object: &Object<'_>) -> PyResult<Keys> {
    // NumPy takes the zeros off the end of such bytes, which changes their order.
    if object.getattr_opt("dtype")?.and_then(|dtype| dtype.getattr("kind").ok()?.extract::<String>().ok()).as_deref()
        == Some("S")
    {
        let text =
            "an array of dtype S has lost the zeros at the end of its keys: give a list, Arrow's binary, or dtype V";
        return Err(PyTypeError::new_err(text));
    }
    let keys = Keys::of(object, Odd::Unordered)?;
    let (mut position, mut odd) = (0, None);
    keys.for_each(|value| {
        if !matches!(value, None | Some(Value::Text(_) | Value::Binary(_))) {
            odd.get_or_insert(position);
        }
        position += 1;
    });
    match odd {
        Some(position) => Err(PyTypeError::new_err(format!("key {position} {ENCODE}"))),
        None => Ok(keys),
    }
}

/// Returns the bytes of a value of [`keys`].
pub fn bytes<'a>(value: &'a Value<'_>) -> Option<&'a [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the bytes of a key to look up; `None`, which means *maybe*, if it is neither text nor bytes, or has an
/// order of its own.
pub fn key(object: &Object<'_>) -> PyResult<Option<Vec<u8>>> {
    Ok(match Scalar::of(object, Odd::Unordered)? {
        Some(Scalar::Text(text)) => Some(text.into_bytes()),
        Some(Scalar::Binary(bytes)) => Some(bytes),
        _ => None,
    })
}

/// Returns the bytes of a prefix.
pub fn prefix(object: &Object<'_>) -> PyResult<Vec<u8>> {
    match key(object)? {
        Some(bytes) => Ok(bytes),
        None => Err(PyTypeError::new_err(format!("{} {ENCODE}", object.repr()?))),
    }
}

/// Returns a bound of a range; unbounded for `None`.
pub fn bound(object: Option<&Object<'_>>, is_included: bool) -> PyResult<Bound<Vec<u8>>> {
    let Some(object) = object else { return Ok(Bound::Unbounded) };
    let bytes = prefix(object)?;
    Ok(if is_included { Bound::Included(bytes) } else { Bound::Excluded(bytes) })
}

/// Returns the bound over borrowed bytes.
pub fn as_slices(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
