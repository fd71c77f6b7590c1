//! The keys of a call: an array whose bytes are read where they are, or a sequence of Python's values.

use crate::batch::Batch;
use crate::buffer::Bytes;
use crate::column::{Column, Data, Fixed};
use crate::scalar::Scalar;
use filterblock::KeyHasher;
use filterblock_set::{TimeUnit, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ops::Range;

/// Values whose bytes and hashes stay in a cache, while the filter's lines are fetched.
pub const BATCH_LEN: usize = 4096;

/// Keys in the order of the call.
pub struct Keys {
    columns: Vec<Column>,
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
        Self { columns: vec![Column { data, offset: 0, len, validity: None }] }
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
            let mut columns = Vec::new();
            for chunk in array.getattr("chunks")?.try_iter()? {
                columns.append(&mut Self::of_arrow(&chunk?)?.columns);
            }
            return Ok(Self { columns });
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
        let column = Column { data, offset, len, validity };
        match column.is_whole() {
            true => Ok(Self { columns: vec![column] }),
            false => Err(PyValueError::new_err(format!("an array of {len} values from {offset} on ends before them"))),
        }
    }

    pub fn len(&self) -> usize {
        self.columns.iter().map(|column| column.len).sum()
    }

    /// Calls `take` for each value, with `None` for nulls, in the order of the call. Needs no interpreter.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(Option<Value<'_>>)) {
        self.batches().for_each(|(column, range)| column.for_each(range, &mut take));
    }

    /// Calls `take` for the hashes of the values, some at a time, in the order of the call.
    pub fn for_each_batch(&self, hasher: &KeyHasher, mut take: impl FnMut(&Batch)) {
        let mut batch = Batch::default();
        self.batches().for_each(|(column, range)| {
            batch.clear();
            column.hash(range, hasher, &mut batch);
            take(&batch);
        });
    }

    fn batches(&self) -> impl Iterator<Item = (&Column, Range<usize>)> {
        self.columns.iter().flat_map(|column| {
            let firsts = (0..column.len).step_by(BATCH_LEN);
            firsts.map(move |first| (column, first..column.len.min(first + BATCH_LEN)))
        })
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
