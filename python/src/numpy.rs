//! Arrays of NumPy.

use crate::buffer::Bytes;
use crate::column::{Data, Fixed};
use crate::keys::{Keys, Odd, package_of};
use crate::scalar::Scalar;
use filterblock_set::TimeUnit;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the unit of this name, if its counts have entries.
pub fn unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// Returns the kind of the values of a dtype of times; `None` for units without entries.
pub fn time_of(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Fixed>> {
    let numpy = dtype.py().import("numpy")?;
    let (name, count): (String, i64) = numpy.call_method1("datetime_data", (dtype,))?.extract()?;
    Ok(match (name.as_str(), unit(&name), count) {
        ("D", _, 1) => Some(Fixed::Date),
        (_, Some(unit), 1) => Some(Fixed::LocalTimestamp(unit)),
        _ => None,
    })
}

/// Returns the value of a `datetime64`; `None` for `NaT`, which is not a time.
pub fn time(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let count = object.call_method1("astype", ("int64",))?.extract::<i64>()?;
    if count == i64::MIN {
        return Ok(None); // `NaT`
    }
    let date = |days| i32::try_from(days).map_or(Scalar::NotIndexable, Scalar::Date);
    Ok(Some(match time_of(&object.getattr("dtype")?)? {
        Some(Fixed::Date) => date(count),
        Some(Fixed::LocalTimestamp(unit)) => Scalar::LocalTimestamp(count, unit),
        _ => Scalar::NotIndexable,
    }))
}

/// Returns the keys of an array of one dimension. Masked values and `NaT` are null.
pub fn keys(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Keys> {
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asanyarray", (object,))?;
    let masked = numpy.getattr("ma")?;
    let is_masked = array.is_instance(&masked.getattr("MaskedArray")?)?;
    // The same values as an array of NumPy's own class: a subclass may report another length.
    let data = masked.call_method1("getdata", (&array, false))?;
    let num_dimensions: usize = data.getattr("ndim")?.extract()?;
    if num_dimensions != 1 {
        let text =
            format!("an array of keys has one dimension, not {num_dimensions}: array.reshape(-1) has all of them");
        return Err(PyTypeError::new_err(text));
    }
    let (dtype, len) = (data.getattr("dtype")?, data.len()?);
    if has_own_equality(object)? {
        return Keys::not_indexable(len, &object.get_type().name()?.to_string(), odd);
    }
    let kind: String = dtype.getattr("kind")?.extract()?;
    if matches!(kind.as_str(), "U" | "S" | "O" | "T") {
        // Text and bytes of fixed size, and objects, are copied. Masked values are `None` in the list. A subclass may
        // show other values than it has, as `chararray` leaves out spaces at the end.
        let is_shown = is_masked || array.get_type().is(data.get_type());
        let values = if is_shown { array.call_method0("tolist")? } else { array };
        return Keys::of_iterable(&values, odd);
    }
    let Some(what) = fixed(&dtype, &kind)? else { return Keys::not_indexable(len, dtype.str()?.to_str()?, odd) };
    if len == 0 {
        return Ok(Keys::of_scalars(Vec::new()));
    }
    let mask = if is_masked { Some(masked.call_method1("getmaskarray", (&array,))?) } else { None };
    of_fixed(&data, &kind, what, mask)
}

/// Returns whether a class that is not of NumPy or pandas says which values are equal, as that of numbers with units.
pub fn has_own_equality(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    for kind in array.get_type().mro() {
        let own = kind.getattr("__dict__")?;
        if own.contains("__eq__")? || own.contains("__array_ufunc__")? {
            return Ok(!matches!(&*package_of(&kind)?, "numpy" | "pandas" | "builtins"));
        }
    }
    Ok(false)
}

/// Returns the kind of the values of a dtype of this `kind`; `None` if they have no entries.
fn fixed(dtype: &Bound<'_, PyAny>, kind: &str) -> PyResult<Option<Fixed>> {
    Ok(match kind {
        "i" => Some(Fixed::Signed),
        "u" => Some(Fixed::Unsigned),
        "M" => time_of(dtype)?,
        "V" if is_plain_bytes(dtype)? => Some(Fixed::Binary),
        _ => None,
    })
}

/// Returns whether the values of a dtype of kind `V` are plain bytes, whose zeros at the end count. Records and some
/// dtypes of other packages, such as bfloat16, are of this kind, too.
fn is_plain_bytes(dtype: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(dtype.getattr("char")?.extract::<String>()? == "V"
        && dtype.getattr("names")?.is_none()
        && dtype.getattr("itemsize")?.extract::<usize>()? > 0)
}

/// Returns the keys of an array of values of a fixed size, of one dimension and at least one. Those of `mask` are null.
fn of_fixed(data: &Bound<'_, PyAny>, kind: &str, what: Fixed, mask: Option<Bound<'_, PyAny>>) -> PyResult<Keys> {
    let (numpy, len) = (data.py().import("numpy")?, data.len()?);
    let data = native(&numpy.call_method1("ascontiguousarray", (data,))?)?;
    let is_null = nulls(mask, if kind == "M" { Some(&data) } else { None })?;
    let validity = is_null.map(|is_null| bits(&numpy.call_method1("logical_not", (is_null,))?)).transpose()?;
    let width: usize = data.getattr("itemsize")?.extract()?;
    // Arrays of times do not export buffers.
    let data = if kind == "M" { data.call_method1("view", ("int64",))? } else { data };
    Ok(Keys::one(len, Data::Fixed { values: Bytes::of(&data)?, width, what }, validity))
}

/// Returns whether each value is masked or not a time; `None` if none is.
fn nulls<'py>(
    mask: Option<Bound<'py, PyAny>>,
    times: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_null = match times {
        None => mask,
        Some(times) => {
            let numpy = times.py().import("numpy")?;
            let is_none = numpy.call_method1("isnat", (times,))?;
            Some(match mask {
                None => is_none,
                Some(mask) => numpy.call_method1("logical_or", (mask, is_none))?,
            })
        }
    };
    match is_null {
        Some(is_null) if is_null.call_method0("any")?.is_truthy()? => Ok(Some(is_null)),
        _ => Ok(None),
    }
}

/// Returns the bits of an array of bool, the first one the least significant of a byte, as Arrow has them.
fn bits(is_valid: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let py = is_valid.py();
    let options = PyDict::new(py);
    options.set_item("bitorder", "little")?;
    Bytes::of(&py.import("numpy")?.call_method("packbits", (is_valid,), Some(&options))?)
}

/// Returns the array in this machine's byte order.
fn native<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let dtype = array.getattr("dtype")?;
    match dtype.getattr("isnative")?.is_truthy()? {
        true => Ok(array.clone()),
        false => array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,)),
    }
}
