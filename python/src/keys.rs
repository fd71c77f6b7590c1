//! The keys of a call: an array whose bytes are read where they are, or a sequence of Python's values.

use crate::batch::Batch;
use crate::buffer::Bytes;
use crate::column::{Column, Data, Fixed};
use crate::scalar::{self, Scalar};
use crate::{arrow, error, numpy};
use filterblock::KeyHasher;
use filterblock_set::Value;
use pyo3::exceptions::{PyMemoryError, PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyMemoryView};
use std::ops::Range;

/// Values whose bytes and hashes stay in a cache, while the filter's lines are fetched.
pub const BATCH_LEN: usize = 4096;

/// The treatment of values that are not indexable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// They are *maybe*: queries.
    Maybe,
    /// The file has no filter of the column: sets.
    LeftOut,
    /// They are an error: filters, which would deny them.
    Refused,
    /// They are an error, and so are those that order in their own way: filters of ranges.
    Unordered,
}

/// Keys in the order of the call.
pub struct Keys {
    pub columns: Vec<Column>,
}

impl Keys {
    /// Returns the keys of an array of NumPy or Arrow, or of any iterable of Python's values.
    pub fn of(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Self> {
        refuse_single(object)?;
        refuse_table(object)?;
        if is_of(object, "pyarrow")? {
            return arrow::keys(object, odd);
        }
        if is_of(object, "pandas")? && object.hasattr("dtype")? {
            return Self::of_pandas(object, odd);
        }
        if object.hasattr("__array_interface__")? {
            return numpy::keys(object, odd);
        }
        if object.hasattr("__arrow_c_stream__")? || object.hasattr("__arrow_c_array__")? {
            return Self::of_arrow_producer(object, odd);
        }
        if let Ok(view) = object.cast::<PyMemoryView>() {
            return Self::of_buffer(view.as_any());
        }
        Self::of_iterable(object, odd)
    }

    /// Returns the keys of an iterable of Python's values.
    pub fn of_iterable(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Self> {
        let mut scalars = Vec::new();
        for (position, item) in object.try_iter()?.enumerate() {
            let item = item?;
            let scalar = Scalar::of(&item, odd)?;
            if matches!((odd, &scalar), (Odd::Refused | Odd::Unordered, Some(Scalar::NotIndexable))) {
                return Err(error::of_key(position, &item));
            }
            scalars.try_reserve(1).map_err(|_| PyMemoryError::new_err(format!("no memory for {position} keys")))?;
            scalars.push(scalar);
        }
        match odd {
            _ if !is_part(object, scalars.len())? => {}
            // Which ones came is not known, so that answers would be taken for those of other keys.
            Odd::Maybe => scalars.fill(Some(Scalar::NotIndexable)),
            Odd::LeftOut => scalars.push(Some(Scalar::NotIndexable)),
            Odd::Refused | Odd::Unordered => return Err(error::of_part(scalars.len())),
        }
        Ok(Self::of_scalars(scalars))
    }

    /// Returns keys that own their bytes.
    pub fn of_scalars(scalars: Vec<Option<Scalar>>) -> Self {
        Self::one(scalars.len(), Data::Scalars(scalars), None)
    }

    /// Returns keys of one column.
    pub fn one(len: usize, data: Data, validity: Option<Bytes>) -> Self {
        Self { columns: vec![Column { data, offset: 0, len, validity }] }
    }

    /// Returns keys of a type that has no entries, or the error if `odd` refuses them.
    pub fn not_indexable(len: usize, type_name: &str, odd: Odd) -> PyResult<Self> {
        match odd {
            Odd::Refused | Odd::Unordered if len > 0 => Err(error::of_type(type_name)),
            _ => Ok(Self::one(len, Data::NotIndexable, None)),
        }
    }

    /// Returns the keys of a series, an index or an array of pandas. Whatever pandas calls missing is null.
    fn of_pandas(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Self> {
        let py = object.py();
        let series = py.import("pandas")?.call_method1("Series", (object,));
        let has_levels = matches!(&series, Err(error) if error.is_instance_of::<PyNotImplementedError>(py));
        // The values of an index of several levels are tuples.
        if has_levels || numpy::has_own_equality(object)? {
            return Self::not_indexable(object.len()?, object.get_type().name()?.to_str()?, odd);
        }
        let series = series?;
        let dtype = series.getattr("dtype")?;
        // Arrow would infer one type for values of several.
        if !matches!(dtype.str()?.to_str()?, "object" | "category") {
            if let Ok(pyarrow) = py.import("pyarrow") {
                let options = pyo3::types::PyDict::new(py);
                options.set_item("from_pandas", true)?;
                return match pyarrow.call_method("array", (&series,), Some(&options)) {
                    Ok(array) => arrow::keys(&array, odd),
                    Err(error) if !error::is_of_keys(py, &error) => Err(error),
                    Err(_) => Self::not_indexable(object.len()?, dtype.str()?.to_str()?, odd),
                };
            }
        }
        let is_there = series.call_method0("notna")?;
        let values = series.call_method1("astype", ("object",))?;
        Self::of_iterable(&values.call_method1("where", (is_there, py.None()))?.call_method0("tolist")?, odd)
    }

    /// Returns the keys of an object that gives its values to Arrow, such as a series of Polars.
    fn of_arrow_producer(object: &Bound<'_, PyAny>, odd: Odd) -> PyResult<Self> {
        let dtype = object.getattr_opt("dtype")?.map(|dtype| dtype.str()).transpose()?;
        let dtype = dtype.map_or_else(|| "?".into(), |dtype| dtype.to_string_lossy().into_owned());
        // Its values are pointers.
        if dtype == "Object" {
            return Self::not_indexable(object.len()?, &dtype, odd);
        }
        let py = object.py();
        let name = if object.hasattr("__arrow_c_stream__")? { "chunked_array" } else { "array" };
        match py.import("pyarrow")?.call_method1(name, (object,)) {
            Ok(array) => arrow::keys(&array, odd),
            // The type is the producer's own, such as integers of 128 bits.
            Err(error) if error::is_of_keys(py, &error) => Self::not_indexable(object.len()?, &dtype, odd),
            Err(error) => Err(error),
        }
    }

    /// Returns the keys of a `memoryview` of integers.
    fn of_buffer(view: &Bound<'_, PyAny>) -> PyResult<Self> {
        let format: String = view.getattr("format")?.extract()?;
        let num_dimensions: usize = view.getattr("ndim")?.extract()?;
        let what = match format.strip_prefix('@').unwrap_or(&format) {
            "b" | "h" | "i" | "l" | "q" | "n" => Some(Fixed::Signed),
            "H" | "I" | "L" | "Q" | "N" => Some(Fixed::Unsigned),
            _ => None,
        };
        match what.filter(|_| num_dimensions == 1) {
            Some(what) if view.getattr("c_contiguous")?.is_truthy()? => {
                let (width, len) = (view.getattr("itemsize")?.extract()?, view.len()?);
                Ok(Self::one(len, Data::Fixed { values: Bytes::of(view)?, width, what }, None))
            }
            _ => Err(PyTypeError::new_err(format!(
                "a memoryview of format {format:?} and {num_dimensions} dimensions: keys are integers of this machine's \
                 byte order, contiguous and of one dimension; numpy.asarray takes others"
            ))),
        }
    }

    /// Returns the number of values, nulls included.
    pub fn len(&self) -> usize {
        self.columns.iter().map(|column| column.len).sum()
    }

    /// Calls `take` for each value, with `None` for nulls, in the order of the call. Needs no interpreter.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(Option<Value<'_>>)) {
        self.batches().for_each(|(column, range)| column.for_each(range, &mut take));
    }

    /// Calls `take` for the hashes of the values, some at a time, in the order of the call, with the position of the
    /// first of them.
    ///
    /// # Errors
    /// The first error of `take`, which is not called again.
    pub fn try_for_each_batch<E>(
        &self,
        hasher: &KeyHasher,
        mut take: impl FnMut(usize, &Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut batch, mut position) = (Batch::default(), 0);
        self.batches().try_for_each(|(column, range)| {
            batch.clear();
            position += range.len();
            let first = position - range.len();
            column.hash(range, hasher, &mut batch);
            take(first, &batch)
        })
    }

    /// Returns at most [`BATCH_LEN`] values at a time, in the order of the call: ranges of columns.
    fn batches(&self) -> impl Iterator<Item = (&Column, Range<usize>)> {
        self.columns.iter().flat_map(|column| {
            (0..column.len).step_by(BATCH_LEN).map(move |first| (column, first..column.len.min(first + BATCH_LEN)))
        })
    }
}

/// Returns whether an object that has given this number of keys states more: of NumPy's `flat` some were taken before.
pub fn is_part(object: &Bound<'_, PyAny>, num_given: usize) -> PyResult<bool> {
    match object.len() {
        Err(error) if !error::is_of_keys(object.py(), &error) => Err(error),
        len => Ok(len.is_ok_and(|len| len > num_given)),
    }
}

/// Returns whether an object without keys is a container that has none, and not an iterator that may have given them
/// before, or a view of bytes.
pub fn is_container(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let package = package_of(&object.get_type())?;
    let is_known = matches!(&*package, "array" | "builtins" | "numpy" | "pandas" | "polars" | "pyarrow");
    Ok(is_known && !object.is_instance_of::<PyMemoryView>() && !object.hasattr("__next__")?)
}

/// Returns the package of a type; empty if it states none.
pub fn package_of(kind: &Bound<'_, PyAny>) -> PyResult<String> {
    let module = kind.getattr_opt("__module__")?.map_or_else(String::new, |module| module.to_string());
    Ok(module.split('.').next().unwrap_or_default().into())
}

/// Returns whether the object's type, or one that it is derived from, is of the package.
fn is_of(object: &Bound<'_, PyAny>, package: &str) -> PyResult<bool> {
    for kind in object.get_type().mro() {
        if package_of(&kind)? == package {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses text and byte strings, which Python would iterate over.
fn refuse_single(object: &Bound<'_, PyAny>) -> PyResult<()> {
    if !scalar::is_text_or_bytes(object)? {
        return Ok(());
    }
    let name = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("keys are an array or an iterable of keys; {name} is one key: give [key]")))
}

/// Refuses mappings and tables, whose iteration gives names.
fn refuse_table(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let names = if object.cast::<PyMapping>().is_ok() {
        Some(object.call_method0("keys")?)
    } else {
        let names = |name| object.getattr_opt(name).map(|names| names.filter(|names| !names.is_callable()));
        match names("column_names")? {
            Some(names) => Some(names),
            None => names("columns")?,
        }
    };
    let Some(names) = names else { return Ok(()) };
    let kind = object.get_type().name()?;
    let names = names.try_iter().map(|names| names.flatten().take(8).map(|name| name.to_string()).collect::<Vec<_>>());
    let names = names.unwrap_or_default().join(", ");
    Err(PyTypeError::new_err(format!(
        "keys are one column, and {kind} has several or names them: give one of [{names}]"
    )))
}
