//! Sets of the filters of many files.

use crate::error;
use crate::filter::{as_mask, write};
use crate::keys::Keys;
use crate::scalar::Scalar;
use filterblock_set::{FetchError, Opening, Query, Selection, SetColumn, Value, ValueClass};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::Range;

/// Names of classes, in the order of their numbers in the format.
const CLASSES: [(&str, ValueClass); 7] = [
    ("number", ValueClass::Number),
    ("text", ValueClass::Text),
    ("binary", ValueClass::Binary),
    ("local_timestamp", ValueClass::LocalTimestamp),
    ("instant", ValueClass::Instant),
    ("date", ValueClass::Date),
    ("time_of_day", ValueClass::TimeOfDay),
];

/// file_identity(*parts)
/// --
///
/// Return a number that tells a file's state from all others.
#[pyfunction]
#[pyo3(signature = (*parts))]
pub fn file_identity(parts: Vec<Bound<'_, PyAny>>) -> PyResult<u64> {
    let parts: Vec<Vec<u8>> = parts.iter().map(text_or_bytes).collect::<PyResult<_>>()?;
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(filterblock_set::file_identity(&parts))
}

/// A name, or another part of an identity: text, bytes, or a number's digits.
fn text_or_bytes(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match object.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes().into()),
        Err(_) => Ok(object.str()?.to_str()?.as_bytes().into()),
    }
}

fn fetch(py: Python<'_>, fetch: &Bound<'_, PyAny>, range: Range<u64>) -> PyResult<Vec<u8>> {
    let bytes = fetch.call1((range.start, range.end))?;
    let bytes = crate::buffer::Bytes::of(&bytes)?;
    Ok(py.detach(|| bytes.as_slice().to_vec()))
}

/// An opened filter set.
#[pyclass(module = "filterblock")]
pub struct FilterSet {
    set: filterblock_set::FilterSet,
}

type FileList = Vec<(String, u64)>;

impl FilterSet {
    fn query_of(&self, column: &str, keys: &Bound<'_, PyAny>) -> PyResult<Query> {
        let keys = keys_of(keys)?;
        let mut values = Vec::with_capacity(keys.len());
        keys.for_each(|value| values.push(owned(value)));
        Ok(self.set.query(column.as_bytes(), values.iter().map(Scalar::value)))
    }

    fn selection(&self, files: &FileList) -> Selection {
        self.set.select(files.iter().map(|(name, identity)| (name.as_str(), *identity)))
    }
}

/// One key, or many.
fn keys_of(keys: &Bound<'_, PyAny>) -> PyResult<Keys> {
    let is_one = match Scalar::of(keys)? {
        Some(Scalar::NotIndexable) => keys.try_iter().is_err(),
        _ => true,
    };
    if is_one { Ok(Keys::of_scalars(vec![Scalar::of(keys)?])) } else { Keys::of(keys) }
}

fn mask<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    as_mask(py, answers.len(), |bytes| write(answers, bytes))
}

fn owned(value: Option<Value<'_>>) -> Scalar {
    match value {
        Some(Value::Int(value)) => Scalar::Int(value),
        Some(Value::Wide(value)) => Scalar::Wide(value),
        Some(Value::Decimal { unscaled, scale }) => Scalar::Decimal(unscaled, scale),
        Some(Value::Text(text)) => Scalar::Text(text.into()),
        Some(Value::Binary(bytes)) => Scalar::Binary(bytes.into()),
        Some(Value::LocalTimestamp(count, unit)) => Scalar::LocalTimestamp(count, unit),
        Some(Value::Instant(count, unit)) => Scalar::Instant(count, unit),
        Some(Value::Date(days)) => Scalar::Date(days),
        Some(Value::TimeOfDay(count, unit)) => Scalar::TimeOfDay(count, unit),
        _ => Scalar::NotIndexable,
    }
}

#[pymethods]
impl FilterSet {
    /// Open the index of a set of ``length`` bytes by one or two calls of ``fetch(start, end)``.
    ///
    /// Any exception means *maybe* for all files.
    #[staticmethod]
    #[pyo3(signature = (length, fetch, policy = None))]
    fn fetch_index(py: Python<'_>, length: u64, fetch: &Bound<'_, PyAny>, policy: Option<&str>) -> PyResult<Self> {
        let policy = policy.map(error::policy).transpose()?;
        let hasher = policy.as_ref().map(filterblock::FilterPolicy::hasher);
        let set = filterblock_set::FilterSet::fetch_index(length, hasher, |range| self::fetch(py, fetch, range));
        set.map(|set| Self { set }).map_err(|error| match error {
            FetchError::Fetch(error) => error,
            FetchError::Decode(error) => error::of_decode(error),
        })
    }

    /// Open a set that is in memory as a whole.
    #[staticmethod]
    #[pyo3(signature = (data, policy = None))]
    fn open(data: &Bound<'_, PyAny>, policy: Option<&str>) -> PyResult<Self> {
        let policy = policy.map(error::policy).transpose()?;
        let hasher = policy.as_ref().map(filterblock::FilterPolicy::hasher);
        let bytes = crate::buffer::Bytes::of(data)?;
        let bytes = bytes.as_slice();
        match filterblock_set::FilterSet::open(bytes.len() as u64, bytes, hasher).map_err(error::of_decode)? {
            Opening::Ready(set) => {
                set.give(0, bytes);
                Ok(Self { set: *set })
            }
            Opening::Needs(_) => Err(error::DamagedError::new_err("the set is shorter than its index")),
        }
    }

    /// Return the ranges of the object that must be given before the keys can be answered.
    #[pyo3(signature = (column, keys, files, max_gap = 65_536))]
    fn plan(&self, column: &str, keys: &Bound<'_, PyAny>, files: FileList, max_gap: u64) -> PyResult<Vec<(u64, u64)>> {
        let query = self.query_of(column, keys)?;
        let ranges = self.set.plan(&query, &self.selection(&files), max_gap);
        Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// Take bytes of the object that begin at ``offset``.
    fn give(&mut self, py: Python<'_>, offset: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = crate::buffer::Bytes::of(data)?;
        py.detach(|| self.set.give(offset, bytes.as_slice()));
        Ok(())
    }

    /// Return a mask of the files that may have any of the keys: one key, or an array or iterable of them.
    ///
    /// ``files`` are names and identities of the files as the table has them now. With ``fetch(start, end)`` what is missing
    /// is read first; otherwise it is *maybe*.
    #[pyo3(signature = (column, keys, files, fetch = None, max_gap = 65_536))]
    fn may_contain<'py>(
        &mut self,
        py: Python<'py>,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
        fetch: Option<&Bound<'py, PyAny>>,
        max_gap: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (query, selection) = (self.query_of(column, keys)?, self.selection(&files));
        if let Some(fetch) = fetch {
            self.set.load(&query, &selection, max_gap, |range| self::fetch(py, fetch, range))?;
        }
        let set = &self.set;
        let answers = py.detach(|| set.answer(&query, &selection).of_any_key());
        mask(py, &answers)
    }

    /// Return a mask of the files for each key, of what was read before.
    fn may_contain_each<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (query, selection) = (self.query_of(column, keys)?, self.selection(&files));
        let set = &self.set;
        let answers = py.detach(|| set.answer(&query, &selection));
        (0..query.num_keys()).map(|key| mask(py, answers.of_key(key))).collect()
    }

    /// Names and identities of the files that the set knows.
    #[getter]
    fn files(&self) -> FileList {
        self.set.files().map(|(name, identity)| (String::from_utf8_lossy(name).into_owned(), identity)).collect()
    }

    /// Names of the columns, and what their values are; None for what this version does not know.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, class) in self.set.columns() {
            let class = CLASSES.iter().find(|(_, known)| Some(*known) == class).map(|(name, _)| *name);
            columns.set_item(String::from_utf8_lossy(name), class)?;
        }
        Ok(columns)
    }

    /// The number of bytes of filters in memory.
    #[getter]
    fn held_bytes(&self) -> usize {
        self.set.held_bytes()
    }

    /// Return the blocks that did not open since the last call: file, column and what is wrong.
    fn take_bad_blocks(&mut self) -> Vec<(String, String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bad = self.set.take_bad_blocks();
        bad.iter().map(|bad| (text(&bad.file), text(&bad.column), bad.error.to_string())).collect()
    }

    fn __repr__(&self) -> String {
        format!("<filterblock.FilterSet of {} files>", self.set.files().count())
    }
}

/// Makes filter sets.
#[pyclass(module = "filterblock")]
pub struct FilterSetBuilder {
    builder: filterblock_set::SetBuilder,
    columns: Vec<String>,
}

#[pymethods]
impl FilterSetBuilder {
    #[new]
    #[pyo3(signature = (columns, policy = "ribbon:fpr=1%", *, slices = 1))]
    fn new(columns: &Bound<'_, PyDict>, policy: &str, slices: u16) -> PyResult<Self> {
        let (mut names, mut specs) = (Vec::new(), Vec::new());
        for (name, class) in columns {
            let (name, class): (String, String) = (name.extract()?, class.extract()?);
            let Some((_, class)) = CLASSES.iter().find(|(known, _)| *known == class) else {
                let known = CLASSES.map(|(name, _)| name).join(", ");
                return Err(PyValueError::new_err(format!("no class {class:?}; the classes are {known}")));
            };
            specs.push(SetColumn::new(&name, *class).with_slices(slices));
            names.push(name);
        }
        let builder = filterblock_set::SetBuilder::new(&error::policy(policy)?, &specs);
        Ok(Self { builder: builder.map_err(error::of_set_build)?, columns: names })
    }

    /// Add a file with all values of its columns. Return the columns for which it has a filter: those of which every value
    /// is indexable, and at least one value or null was given.
    fn add_file(
        &mut self,
        py: Python<'_>,
        name: &str,
        identity: u64,
        columns: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<String>> {
        let mut values = Vec::new();
        for (column, keys) in columns {
            let column: String = column.extract()?;
            let Some(number) = self.columns.iter().position(|known| *known == column) else {
                return Err(PyValueError::new_err(format!("the set has no column {column:?}")));
            };
            values.push((number, Keys::of(&keys)?));
        }
        let builder = &mut self.builder;
        let indexed = py.detach(|| {
            let mut file = builder.file(name, identity)?;
            for (column, keys) in &values {
                let mut is_whole = true;
                keys.for_each(|value| match value {
                    Some(value) if is_whole => is_whole = file.add(*column, value),
                    Some(_) => {}
                    None => file.add_null(*column),
                });
            }
            let without = file.finish()?;
            let with = values.iter().map(|(column, _)| *column).filter(|column| !without.contains(column));
            Ok(with.collect::<Vec<_>>())
        });
        let indexed = indexed.map_err(error::of_set_build)?;
        Ok(indexed.into_iter().map(|column| self.columns[column].clone()).collect())
    }

    /// Take over the files of a set for whose names ``keep`` is true. Return the number of damaged blocks left out.
    #[pyo3(signature = (data, keep = None))]
    fn absorb(&mut self, data: &Bound<'_, PyAny>, keep: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let bytes = crate::buffer::Bytes::of(data)?;
        let mut failed = None;
        let mut keeps = |name: &[u8]| match keep {
            None => true,
            Some(keep) => match keep.call1((String::from_utf8_lossy(name),)).and_then(|kept| kept.is_truthy()) {
                Ok(kept) => kept,
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            },
        };
        let result = self.builder.absorb(bytes.as_slice(), &mut keeps).map_err(error::of_set_build);
        failed.map_or(result, Err)
    }

    /// Return the set, and leave the builder empty. BuildError if no file was added since the last call.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let builder = &mut self.builder;
        let set = py.detach(|| builder.finish()).map_err(error::of_set_build)?;
        Ok(PyBytes::new(py, &set))
    }

    /// Return the bytes to append to the set ``old``, in which the files ``drop`` are dropped.
    #[pyo3(signature = (old, drop = Vec::new()))]
    fn finish_append<'py>(
        &mut self,
        py: Python<'py>,
        old: &FilterSet,
        drop: Vec<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let dropped = |name: &[u8]| drop.iter().any(|drop| drop.as_bytes() == name);
        let more = self.builder.finish_append(&old.set, dropped).map_err(error::of_set_build)?;
        Ok(PyBytes::new(py, &more))
    }

    /// The number of files.
    #[getter]
    fn num_files(&self) -> usize {
        self.builder.num_files()
    }
}
