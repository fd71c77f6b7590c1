//! Values of Python as values of the format. Values that are equal in Python have equal entries, or none.

use crate::keys::Odd;
use filterblock_set::{TimeUnit, Value};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString};

/// A value that owns its bytes.
#[derive(Clone, Debug)]
pub enum Scalar {
    Int(i64),
    Wide(i128),
    Decimal(i128, i8),
    Text(String),
    Binary(Vec<u8>),
    LocalTimestamp(i64, TimeUnit),
    Instant(i64, TimeUnit),
    Date(i32),
    TimeOfDay(i64, TimeUnit),
    /// Nothing that a filter can be queried for.
    NotIndexable,
}

impl Scalar {
    /// Returns the value, which borrows the bytes.
    pub fn value(&self) -> Value<'_> {
        match *self {
            Self::Int(value) => Value::Int(value),
            Self::Wide(value) => Value::Wide(value),
            Self::Decimal(unscaled, scale) => Value::Decimal { unscaled, scale },
            Self::Text(ref text) => Value::Text(text),
            Self::Binary(ref bytes) => Value::Binary(bytes),
            Self::LocalTimestamp(count, unit) => Value::LocalTimestamp(count, unit),
            Self::Instant(count, unit) => Value::Instant(count, unit),
            Self::Date(days) => Value::Date(days),
            Self::TimeOfDay(count, unit) => Value::TimeOfDay(count, unit),
            Self::NotIndexable => Value::NotIndexable,
        }
    }

    /// Returns a value that owns its bytes.
    pub fn owned(value: Value<'_>) -> Self {
        match value {
            Value::Int(value) => Self::Int(value),
            Value::Wide(value) => Self::Wide(value),
            Value::Decimal { unscaled, scale } => Self::Decimal(unscaled, scale),
            Value::Text(text) => Self::Text(text.into()),
            Value::Binary(bytes) => Self::Binary(bytes.into()),
            Value::LocalTimestamp(count, unit) => Self::LocalTimestamp(count, unit),
            Value::Instant(count, unit) => Self::Instant(count, unit),
            Value::Date(days) => Self::Date(days),
            Value::TimeOfDay(count, unit) => Self::TimeOfDay(count, unit),
            _ => Self::NotIndexable,
        }
    }

    /// Returns the value of an object; `None` for `None`. An object of a type that is not known here might equal a
    /// value of another type, as 5.0 and `True` do: it is not indexable. So is one of a subclass that compares in its own
    /// way.
    pub fn of(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Option<Self>> {
        if object.is_none() {
            return Ok(None);
        }
        if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyFloat>() {
            return Ok(Some(Self::NotIndexable));
        }
        if let Ok(text) = object.cast::<PyString>() {
            let is_plain = compares_as::<PyString>(object, odd)?;
            // A string with lone surrogates has no UTF-8.
            let text = text.to_str().ok().filter(|text| is_plain && has_own_end(object, text.as_bytes()));
            return Ok(Some(text.map_or(Self::NotIndexable, |text| Self::Text(text.into()))));
        }
        let bytes = if let Ok(bytes) = object.cast::<PyBytes>() {
            Some(bytes.as_bytes().to_vec()).filter(|bytes| has_own_end(object, bytes))
        } else if let Ok(bytes) = object.cast::<PyByteArray>() {
            Some(bytes.to_vec())
        } else if object.is_instance_of::<PyInt>() {
            return Ok(Some(if compares_as::<PyInt>(object, odd)? { int(object) } else { Self::NotIndexable }));
        } else {
            return Self::of_other(object, odd);
        };
        let is_plain = compares_as::<PyBytes>(object, odd)? || compares_as::<PyByteArray>(object, odd)?;
        Ok(Some(bytes.filter(|_| is_plain).map_or(Self::NotIndexable, Self::Binary)))
    }

    /// Returns the value of an object whose type is recognised by its name, so that no module is imported for it.
    fn of_other(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Option<Self>> {
        let kind = object.get_type();
        let name = kind.fully_qualified_name()?.to_string();
        Ok(Some(match name.as_str() {
            "decimal.Decimal" => decimal(object)?,
            "datetime.datetime" => {
                let is_aware = !object.call_method0("utcoffset")?.is_none();
                if is_aware && odd == Odd::Maybe && has_two_offsets(object)? {
                    return Ok(Some(Self::NotIndexable));
                }
                let count = microseconds(object, is_aware)?;
                if is_aware {
                    Self::Instant(count, TimeUnit::Microsecond)
                } else {
                    Self::LocalTimestamp(count, TimeUnit::Microsecond)
                }
            }
            "datetime.date" => Self::Date(object.call_method0("toordinal")?.extract::<i32>()? - 719_163),
            "datetime.time" if object.getattr("tzinfo")?.is_none() => {
                let field = |name: &str| object.getattr(name)?.extract::<i64>();
                let seconds = (field("hour")? * 60 + field("minute")?) * 60 + field("second")?;
                Self::TimeOfDay(seconds * 1_000_000 + field("microsecond")?, TimeUnit::Microsecond)
            }
            "uuid.UUID" => Self::Binary(object.getattr("bytes")?.extract()?),
            "memoryview" if is_of_bytes(object)? => Self::Binary(object.call_method0("tobytes")?.extract()?),
            "numpy.datetime64" => return crate::numpy::time(object),
            "numpy.longlong" | "numpy.ulonglong" => int(&object.call_method0("__index__")?),
            _ if name.starts_with("numpy.int") || name.starts_with("numpy.uint") => {
                int(&object.call_method0("__index__")?)
            }
            _ if name.starts_with("pandas.") => return of_pandas(object, &name, odd),
            _ if name.starts_with("pyarrow.lib.") && name.ends_with("Scalar") => return of_arrow(object),
            _ => Self::NotIndexable,
        }))
    }
}

/// Returns whether the object compares as those of the type itself, and has their order where `odd` asks for it.
fn compares_as<T: PyTypeInfo>(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<bool> {
    let (kind, base) = (object.get_type(), T::type_object(object.py()));
    if kind.is(&base) || is_of_numpy(object) {
        return Ok(true);
    }
    let mut is_plain = true;
    for name in &["__eq__", "__lt__", "__le__", "__gt__", "__ge__"][..if odd == Odd::Unordered { 5 } else { 1 }] {
        is_plain &= kind.getattr(*name)?.is(&base.getattr(*name)?);
    }
    Ok(is_plain)
}

/// Returns whether the object is a `numpy.str_` or `numpy.bytes_`. They compare as `str` and `bytes` do, except
/// for zeros at the end.
fn is_of_numpy(object: &Bound<'_, PyAny>) -> bool {
    let name = object.get_type().fully_qualified_name();
    name.is_ok_and(|name| matches!(&*name.to_string_lossy(), "numpy.str_" | "numpy.bytes_"))
}

/// Returns whether the object's equality counts all of its bytes: NumPy's own leaves out zeros at the end.
fn has_own_end(object: &Bound<'_, PyAny>, bytes: &[u8]) -> bool {
    bytes.last() != Some(&0) || !is_of_numpy(object)
}

/// Returns whether a `memoryview` equals the byte string that it shows.
fn is_of_bytes(view: &Bound<'_, PyAny>) -> PyResult<bool> {
    let format: String = view.getattr("format")?.extract()?;
    let num_dimensions: usize = view.getattr("ndim")?.extract()?;
    Ok(num_dimensions == 1 && matches!(format.trim_start_matches('@'), "B" | "c"))
}

/// Returns whether the object is one key, though Python iterates over it.
pub fn is_text_or_bytes(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, kind) = (object.py(), object.get_type());
    if object.is_exact_instance_of::<PyList>() {
        return Ok(false);
    }
    if let Ok(view) = object.cast::<PyMemoryView>() {
        return is_of_bytes(view.as_any());
    }
    // A proxy states the class of what it stands for.
    for base in [PyString::type_object(py), PyBytes::type_object(py), PyByteArray::type_object(py)] {
        if object.is_instance(&base)? {
            return Ok(true);
        }
    }
    if kind.hasattr("__array_interface__")? || kind.fully_qualified_name()?.to_string_lossy() == "array.array" {
        return Ok(false);
    }
    let has_bytes = || PyMemoryView::from(object)?.getattr("itemsize")?.eq(1);
    Ok(kind.hasattr("encode")? || kind.hasattr("decode")? || has_bytes().unwrap_or(false))
}

/// Returns the value of an object of pandas: a timestamp, or `None` for what pandas calls missing.
fn of_pandas(object: &Bound<'_, PyAny>, name: &str, odd: Odd) -> PyResult<Option<Scalar>> {
    match name.rsplit('.').next() {
        Some("NaTType" | "NAType") => Ok(None),
        // `value` raises an error for times that 64 bits of nanoseconds cannot hold.
        Some("Timestamp") => Ok(Some(match object.getattr("value").and_then(|value| value.extract::<i64>()) {
            Ok(count) if object.getattr("tzinfo")?.is_none() => Scalar::LocalTimestamp(count, TimeUnit::Nanosecond),
            Ok(_) if odd == Odd::Maybe && has_two_offsets(object).unwrap_or(true) => Scalar::NotIndexable,
            Ok(count) => Scalar::Instant(count, TimeUnit::Nanosecond),
            Err(_) => Scalar::NotIndexable,
        })),
        _ => Ok(Some(Scalar::NotIndexable)),
    }
}

/// Returns the value of a scalar of Arrow, by way of an array that has it alone.
fn of_arrow(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let options = PyDict::new(object.py());
    options.set_item("type", object.getattr("type")?)?;
    let pyarrow = object.py().import("pyarrow")?;
    let Ok(array) = pyarrow.call_method("array", (vec![object],), Some(&options)) else {
        return Ok(Some(Scalar::NotIndexable));
    };
    let mut scalar = Some(Scalar::NotIndexable);
    crate::arrow::keys(&array, Odd::Maybe)?.for_each(|value| scalar = value.map(Scalar::owned));
    Ok(scalar)
}

/// Returns the value of an integer; not indexable beyond 128 bits.
fn int(object: &Bound<'_, PyAny>) -> Scalar {
    match (object.extract::<i64>(), object.extract::<i128>()) {
        (Ok(value), _) => Scalar::Int(value),
        (_, Ok(value)) => Scalar::Wide(value),
        _ => Scalar::NotIndexable,
    }
}

/// Returns the value of a `decimal.Decimal`; not indexable if it is not finite, or its digits or its scale do not fit.
fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let parts = object.call_method0("as_tuple")?;
    let (sign, digits, exponent) = (parts.getattr("sign")?, parts.getattr("digits")?, parts.getattr("exponent")?);
    let digits: Vec<u8> = digits.extract::<Vec<u32>>()?.into_iter().map(|digit| digit as u8).collect();
    // NaN and infinities have letters for exponents. The trailing zeros are left out before they overflow.
    let Ok(exponent) = exponent.extract::<i64>() else { return Ok(Scalar::NotIndexable) };
    let len = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    let exponent = if len == 0 { Some(0) } else { exponent.checked_add((digits.len() - len) as i64) };
    let scale = exponent.and_then(i64::checked_neg).and_then(|scale| i8::try_from(scale).ok());
    let add = |sum: i128, digit: &u8| sum.checked_mul(10)?.checked_add(i128::from(*digit));
    let unscaled = digits[..len].iter().try_fold(0, add);
    let negative = sign.extract::<u8>()? == 1;
    Ok(match (unscaled, scale) {
        (Some(unscaled), Some(scale)) => Scalar::Decimal(if negative { -unscaled } else { unscaled }, scale),
        _ => Scalar::NotIndexable,
    })
}

/// Returns whether the time is in an hour that the clocks of its zone repeat or skip. Python holds it to be equal to the
/// time of the other fold, which is another instant.
fn has_two_offsets(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let options = PyDict::new(object.py());
    options.set_item("fold", 1 - object.getattr("fold")?.extract::<u8>()?)?;
    let other = object.call_method("replace", (), Some(&options))?;
    Ok(!other.call_method0("utcoffset")?.eq(object.call_method0("utcoffset")?)?)
}

/// Returns the number of microseconds from the start of 1970 to a `datetime`: in UTC if it has a zone, otherwise in its
/// own calendar.
fn microseconds(object: &Bound<'_, PyAny>, is_aware: bool) -> PyResult<i64> {
    let py = object.py();
    let datetime = py.import("datetime")?;
    let zone = if is_aware { datetime.getattr("timezone")?.getattr("utc")? } else { py.None().into_bound(py) };
    let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, zone))?;
    let since = object.call_method1("__sub__", (epoch,))?;
    let field = |name: &str| since.getattr(name)?.extract::<i64>();
    Ok((field("days")? * 86_400 + field("seconds")?) * 1_000_000 + field("microseconds")?)
}
