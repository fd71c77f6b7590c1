//! The keys of a call: an array whose bytes are read where they are, or a sequence of Python's values.

use crate::buffer::Bytes;
use crate::scalar::Scalar;
use filterblock::{KeyHash, KeyHasher};
use filterblock_set::{EntryBuffer, TimeUnit, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What the fixed-size values of an array are.
#[derive(Clone, Copy)]
enum Fixed {
    Signed,
    Unsigned,
    Decimal(i8),
    Binary,
    Date,
    LocalTimestamp(TimeUnit),
    Instant(TimeUnit),
    TimeOfDay(TimeUnit),
}

enum Data {
    Fixed {
        values: Bytes,
        width: usize,
        what: Fixed,
    },
    /// Offsets of 4 or 8 bytes into the data.
    Variable {
        offsets: Bytes,
        width: usize,
        data: Option<Bytes>,
        is_text: bool,
    },
    Scalars(Vec<Option<Scalar>>),
    NotIndexable,
}

/// One array, or one part of a chunked one: `len` values from number `offset` on.
struct Part {
    data: Data,
    offset: usize,
    len: usize,
    validity: Option<Bytes>,
}

/// Keys in the order of the call.
pub struct Keys {
    parts: Vec<Part>,
}

/// The integer in up to 16 bytes of this machine's order.
#[inline]
fn integer(bytes: &[u8], is_signed: bool) -> i128 {
    match *bytes {
        [a] if is_signed => (a as i8).into(),
        [a] => a.into(),
        [a, b] if is_signed => i16::from_ne_bytes([a, b]).into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] if is_signed => i32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => match (bytes.try_into(), <[u8; 16]>::try_from(bytes)) {
            (Ok(eight), _) if is_signed => i64::from_ne_bytes(eight).into(),
            (Ok(eight), _) => u64::from_ne_bytes(eight).into(),
            (_, Ok(sixteen)) => i128::from_ne_bytes(sixteen),
            _ => 0, // no other width is made
        },
    }
}

impl Part {
    fn is_null(&self, at: usize) -> bool {
        let bit = self.offset + at;
        self.validity.as_ref().is_some_and(|bits| bits.as_slice()[bit / 8] >> (bit % 8) & 1 == 0)
    }

    /// Calls `take` for each value, with `None` for nulls.
    #[inline]
    fn for_each(&self, mut take: impl FnMut(Option<Value<'_>>)) {
        match &self.data {
            Data::NotIndexable => (0..self.len).for_each(|_| take(Some(Value::NotIndexable))),
            Data::Scalars(values) => values.iter().for_each(|value| take(value.as_ref().map(Scalar::value))),
            Data::Fixed { values, width, what } => {
                let values = values.as_slice()[self.offset * width..][..self.len * width].chunks_exact(*width);
                if let (Fixed::Signed, 8, None) = (what, width, &self.validity) {
                    // The commonest column, without a branch for each value.
                    return values.for_each(|bytes| {
                        take(Some(Value::Int(i64::from_ne_bytes(bytes.try_into().unwrap_or_default()))));
                    });
                }
                for (at, bytes) in values.enumerate() {
                    take((!self.is_null(at)).then(|| fixed(bytes, *what)));
                }
            }
            Data::Variable { offsets, width, data, is_text } => {
                let offsets = offsets.as_slice()[self.offset * width..][..(self.len + 1) * width].chunks_exact(*width);
                let data = data.as_ref().map_or(&[][..], Bytes::as_slice);
                let mut start = None;
                for (at, offset) in offsets.enumerate() {
                    let end = integer(offset, true) as usize;
                    if let Some(start) = start.replace(end) {
                        // Offsets that do not ascend are of no array.
                        let bytes = data.get(start..end);
                        let value = match bytes {
                            Some(bytes) if *is_text => {
                                std::str::from_utf8(bytes).map_or(Value::NotIndexable, Value::Text)
                            }
                            Some(bytes) => Value::Binary(bytes),
                            None => Value::NotIndexable,
                        };
                        take((!self.is_null(at - 1)).then_some(value));
                    }
                }
            }
        }
    }
}

#[inline]
fn fixed(bytes: &[u8], what: Fixed) -> Value<'_> {
    let count = |bytes| integer(bytes, true) as i64;
    match what {
        Fixed::Signed => Value::Int(count(bytes)),
        Fixed::Unsigned => Value::Wide(integer(bytes, false)),
        Fixed::Decimal(scale) => Value::Decimal { unscaled: integer(bytes, true), scale },
        Fixed::Binary => Value::Binary(bytes),
        Fixed::Date => Value::Date(count(bytes) as i32),
        Fixed::LocalTimestamp(unit) => Value::LocalTimestamp(count(bytes), unit),
        Fixed::Instant(unit) => Value::Instant(count(bytes), unit),
        Fixed::TimeOfDay(unit) => Value::TimeOfDay(count(bytes), unit),
    }
}

fn unit(name: &str) -> Option<TimeUnit> {
    Some(match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

impl Keys {
    /// Takes an array of NumPy or Arrow, or any iterable of Python's values.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let module = object.get_type().module()?.to_string();
        if module.starts_with("pyarrow") {
            return Self::of_arrow(object);
        }
        if object.hasattr("__array_interface__")? {
            return Self::of_numpy(object);
        }
        if object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")? {
            let pyarrow = object.py().import("pyarrow")?;
            let name = if object.hasattr("__arrow_c_stream__")? { "chunked_array" } else { "array" };
            return Self::of_arrow(&pyarrow.call_method1(name, (object,))?);
        }
        let is_text = object.is_instance_of::<pyo3::types::PyString>();
        if is_text || object.is_instance_of::<pyo3::types::PyBytes>() {
            return Err(PyTypeError::new_err("keys are an array or an iterable of keys, not one key"));
        }
        if let Ok(view) = object.cast::<pyo3::types::PyMemoryView>() {
            return Self::of_buffer(view.as_any());
        }
        let scalars: Vec<_> = object.try_iter()?.map(|item| Scalar::of(&item?)).collect::<PyResult<_>>()?;
        Ok(Self::one(scalars.len(), Data::Scalars(scalars)))
    }

    /// Keys that are values of Python.
    pub fn of_scalars(scalars: Vec<Option<Scalar>>) -> Self {
        Self::one(scalars.len(), Data::Scalars(scalars))
    }

    fn one(len: usize, data: Data) -> Self {
        Self { parts: vec![Part { data, offset: 0, len, validity: None }] }
    }

    fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let numpy = array.py().import("numpy")?;
        if array.getattr("ndim")?.extract::<usize>()? != 1 {
            return Err(PyTypeError::new_err("an array of keys has one dimension"));
        }
        let array = numpy.call_method1("ascontiguousarray", (array,))?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let len = array.len()?;
        let what = match kind.as_str() {
            "i" => Fixed::Signed,
            "u" => Fixed::Unsigned,
            "M" => {
                let (name, count): (String, i64) = numpy.call_method1("datetime_data", (&dtype,))?.extract()?;
                let not_a_time = numpy.call_method1("isnat", (&array,))?.call_method0("any")?.is_truthy()?;
                let what = match (name.as_str(), unit(&name), count) {
                    ("D", _, 1) => Fixed::Date,
                    (_, Some(unit), 1) => Fixed::LocalTimestamp(unit),
                    _ => return Ok(Self::one(len, Data::NotIndexable)),
                };
                if not_a_time {
                    // Not a time is no value: the slower way knows it.
                    let numbers = array.call_method1("astype", ("int64",))?;
                    return Self::of_times(&numbers, &numpy.call_method1("isnat", (&array,))?, what);
                }
                let numbers = native(&array.call_method1("view", ("int64",))?)?;
                return Ok(Self::one(len, Data::Fixed { values: Bytes::of(&numbers)?, width: 8, what }));
            }
            // Fixed-size text and bytes of NumPy, and objects: copied.
            "U" | "S" | "O" | "T" => return Self::of(&array.call_method0("tolist")?),
            _ => return Ok(Self::one(len, Data::NotIndexable)),
        };
        let array = native(&array)?;
        let width = array.getattr("itemsize")?.extract()?;
        Ok(Self::one(len, Data::Fixed { values: Bytes::of(&array)?, width, what }))
    }

    /// Times among which some are none.
    fn of_times(numbers: &Bound<'_, PyAny>, is_none: &Bound<'_, PyAny>, what: Fixed) -> PyResult<Self> {
        let numbers: Vec<i64> = numbers.call_method0("tolist")?.extract()?;
        let is_none: Vec<bool> = is_none.call_method0("tolist")?.extract()?;
        let part = |(number, is_none): (i64, bool)| {
            let scalar = match what {
                Fixed::Date => Scalar::Date(number as i32),
                Fixed::LocalTimestamp(unit) => Scalar::LocalTimestamp(number, unit),
                _ => Scalar::NotIndexable,
            };
            (!is_none).then_some(scalar)
        };
        let scalars: Vec<_> = numbers.into_iter().zip(is_none).map(part).collect();
        Ok(Self::of_scalars(scalars))
    }

    /// A `memoryview` of integers.
    fn of_buffer(view: &Bound<'_, PyAny>) -> PyResult<Self> {
        let format: String = view.getattr("format")?.extract()?;
        let (width, len) = (view.getattr("itemsize")?.extract()?, view.len()?);
        let what = match format.as_str() {
            "b" | "h" | "i" | "l" | "q" | "n" => Fixed::Signed,
            "B" | "H" | "I" | "L" | "Q" | "N" => Fixed::Unsigned,
            _ => return Err(PyTypeError::new_err(format!("a buffer of format {format:?} has no keys"))),
        };
        Ok(Self::one(len, Data::Fixed { values: Bytes::of(view)?, width, what }))
    }

    fn of_arrow(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        if array.hasattr("chunks")? {
            let mut parts = Vec::new();
            for chunk in array.getattr("chunks")?.try_iter()? {
                parts.append(&mut Self::of_arrow(&chunk?)?.parts);
            }
            return Ok(Self { parts });
        }
        let name = array.getattr("type")?.str()?.to_string();
        let (kind, rest) = name.split_once(['[', '(', '<']).unwrap_or((&name, ""));
        let rest = rest.trim_end_matches([']', ')', '>']);
        let fixed = |width, what| Some((width, what));
        let time = |unit_name: &str| unit(unit_name.split(',').next().unwrap_or("").trim());
        let layout = match kind {
            "int8" => fixed(1, Fixed::Signed),
            "int16" => fixed(2, Fixed::Signed),
            "int32" => fixed(4, Fixed::Signed),
            "int64" => fixed(8, Fixed::Signed),
            "uint8" => fixed(1, Fixed::Unsigned),
            "uint16" => fixed(2, Fixed::Unsigned),
            "uint32" => fixed(4, Fixed::Unsigned),
            "uint64" => fixed(8, Fixed::Unsigned),
            "date32" => fixed(4, Fixed::Date),
            "timestamp" => time(rest).map(|unit| match rest.contains("tz=") {
                true => (8, Fixed::Instant(unit)),
                false => (8, Fixed::LocalTimestamp(unit)),
            }),
            "time32" => time(rest).map(|unit| (4, Fixed::TimeOfDay(unit))),
            "time64" => time(rest).map(|unit| (8, Fixed::TimeOfDay(unit))),
            "fixed_size_binary" => rest.parse().ok().map(|width| (width, Fixed::Binary)),
            "decimal128" => {
                let scale = rest.split_once(',').and_then(|(_, scale)| scale.trim().parse().ok());
                scale.map(|scale| (16, Fixed::Decimal(scale)))
            }
            "dictionary" => return Self::of_arrow(&array.call_method0("dictionary_decode")?),
            "string_view" => return Self::of_arrow(&array.call_method1("cast", ("large_string",))?),
            "binary_view" => return Self::of_arrow(&array.call_method1("cast", ("large_binary",))?),
            "date64" => return Self::of_arrow(&array.call_method1("cast", ("date32",))?),
            _ => None,
        };
        let variable = match kind {
            "string" => Some((4, true)),
            "large_string" => Some((8, true)),
            "binary" => Some((4, false)),
            "large_binary" => Some((8, false)),
            _ => None,
        };
        let (len, offset) = (array.len()?, array.getattr("offset")?.extract()?);
        let buffers: Vec<Option<Bound<'_, PyAny>>> = array.call_method0("buffers")?.extract()?;
        let bytes = |at: usize| buffers.get(at).and_then(Option::as_ref).map(Bytes::of).transpose();
        let has_nulls = array.getattr("null_count")?.extract::<usize>()? > 0;
        let validity = if has_nulls { bytes(0)? } else { None };
        let data = match (layout, variable, bytes(1)) {
            _ if len == 0 => Data::Scalars(Vec::new()),
            (Some((width, what)), _, Ok(Some(values))) if width > 0 => Data::Fixed { values, width, what },
            (_, Some((width, is_text)), Ok(Some(offsets))) => {
                Data::Variable { offsets, width, data: bytes(2)?, is_text }
            }
            _ => Data::NotIndexable,
        };
        Ok(Self { parts: vec![Part { data, offset, len, validity }] })
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    /// Calls `take` for each value, with `None` for nulls, in the order of the call. Needs no interpreter.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(Option<Value<'_>>)) {
        self.parts.iter().for_each(|part| part.for_each(&mut take));
    }

    /// Calls `take` for the hash of each value: `Some(None)` where it is not indexable, `None` for nulls.
    #[inline]
    pub fn for_each_hash(&self, hasher: &KeyHasher, mut take: impl FnMut(Option<Option<KeyHash>>)) {
        let mut buffer = EntryBuffer::default();
        self.for_each(|value| take(value.map(|value| value.entry(&mut buffer).map(|entry| hasher.hash(entry)))));
    }
}

/// The array in this machine's byte order.
fn native<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let dtype = array.getattr("dtype")?;
    match dtype.getattr("isnative")?.is_truthy()? {
        true => Ok(array.clone()),
        false => array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,)),
    }
}
