//! Values of Python as values of the format. Values that are equal in Python have equal entries, or none.

use filterblock_set::{TimeUnit, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyString};

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
    /// Nothing that a filter can be asked for.
    NotIndexable,
}

impl Scalar {
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

    /// Returns the value of an object; `None` for `None`. An object of a type that is not known here might equal a
    /// value of another type, as 5.0 and `True` do: it is not indexable.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if object.is_none() {
            return Ok(None);
        }
        if let Ok(text) = object.cast::<PyString>() {
            // A string with lone surrogates has no UTF-8.
            return Ok(Some(text.to_str().map_or(Self::NotIndexable, |text| Self::Text(text.into()))));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Some(Self::Binary(bytes.as_bytes().into())));
        }
        if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyFloat>() {
            return Ok(Some(Self::NotIndexable));
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Some(Self::Binary(bytes.to_vec())));
        }
        if object.is_instance_of::<PyInt>() {
            return Ok(Some(int(object)));
        }
        Self::of_other(object)
    }

    /// Types that are told by name, so that no module is imported for them.
    fn of_other(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let kind = object.get_type();
        let name = kind.fully_qualified_name()?.to_string();
        Ok(Some(match name.as_str() {
            "decimal.Decimal" => decimal(object)?,
            "datetime.datetime" => {
                let is_aware = !object.call_method0("utcoffset")?.is_none();
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
            "memoryview" => Self::Binary(object.call_method0("tobytes")?.extract()?),
            _ if name.starts_with("numpy.int") || name.starts_with("numpy.uint") => {
                int(&object.call_method0("__index__")?)
            }
            _ => Self::NotIndexable,
        }))
    }
}

fn int(object: &Bound<'_, PyAny>) -> Scalar {
    match (object.extract::<i64>(), object.extract::<i128>()) {
        (Ok(value), _) => Scalar::Int(value),
        (_, Ok(value)) => Scalar::Wide(value),
        _ => Scalar::NotIndexable,
    }
}

fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let parts = object.call_method0("as_tuple")?;
    let (sign, digits, exponent) = (parts.getattr("sign")?, parts.getattr("digits")?, parts.getattr("exponent")?);
    let digits: Vec<u8> = digits.extract::<Vec<u32>>()?.into_iter().map(|digit| digit as u8).collect();
    // NaN and infinities have letters for exponents. The trailing zeros are left out before they overflow.
    let Ok(exponent) = exponent.extract::<i64>() else { return Ok(Scalar::NotIndexable) };
    let len = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    let exponent = if len == 0 { 0 } else { exponent + (digits.len() - len) as i64 };
    let add = |sum: i128, digit: &u8| sum.checked_mul(10)?.checked_add(i128::from(*digit));
    let unscaled = digits[..len].iter().try_fold(0, add);
    let negative = sign.extract::<u8>()? == 1;
    Ok(match (unscaled, i8::try_from(-exponent)) {
        (Some(unscaled), Ok(scale)) => Scalar::Decimal(if negative { -unscaled } else { unscaled }, scale),
        _ => Scalar::NotIndexable,
    })
}

/// Microseconds since 1970-01-01, of UTC or of the calendar.
fn microseconds(object: &Bound<'_, PyAny>, is_aware: bool) -> PyResult<i64> {
    let py = object.py();
    let datetime = py.import("datetime")?;
    let epoch = datetime.getattr("datetime")?;
    let zone = if is_aware { datetime.getattr("timezone")?.getattr("utc")? } else { py.None().into_bound(py) };
    let since = object.call_method1("__sub__", (epoch.call1((1970, 1, 1, 0, 0, 0, 0, zone))?,))?;
    let field = |name: &str| since.getattr(name)?.extract::<i64>();
    Ok((field("days")? * 86_400 + field("seconds")?) * 1_000_000 + field("microseconds")?)
}
