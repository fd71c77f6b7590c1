//! Sets of the filters of many files.

use crate::keys::{Keys, Odd};
use crate::scalar::{self, Scalar};
use crate::{error, mask, memory, policy};
use filterblock_set::{Answers, FetchError, Opening, Query, Selection, ValueClass};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyString};
use std::ops::Range;

/// Names of classes, in the order of their numbers in the format.
pub const CLASSES: [(&str, ValueClass); 7] = [
    ("number", ValueClass::Number),
    ("text", ValueClass::Text),
    ("binary", ValueClass::Binary),
    ("local_timestamp", ValueClass::LocalTimestamp),
    ("instant", ValueClass::Instant),
    ("date", ValueClass::Date),
    ("time_of_day", ValueClass::TimeOfDay),
];

/// Return a number that distinguishes a file's state from all others.
///
/// Parts are text, bytes and integers. A part that is missing, such as the entity tag of a store that has none, would give
/// every state the same identity: None is a TypeError, an empty part a ValueError.
#[pyfunction]
#[pyo3(signature = (*parts))]
pub fn file_identity(parts: Vec<Bound<'_, PyAny>>) -> PyResult<u64> {
    if parts.is_empty() {
        return Err(PyValueError::new_err("an identity of no parts is that of every file"));
    }
    let parts: Vec<Vec<u8>> = parts.iter().enumerate().map(|(at, part)| part_of(at, part)).collect::<PyResult<_>>()?;
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(filterblock_set::file_identity(&parts))
}

/// Returns the bytes of part number `at` of an identity: those of text, byte strings, or a number's digits.
fn part_of(at: usize, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let bytes = if let Ok(text) = object.cast::<PyString>() {
        text.to_str()?.as_bytes().to_vec()
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        bytes.as_bytes().to_vec()
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        bytes.to_vec()
    } else {
        let is_bool = object.is_instance_of::<PyBool>();
        match Scalar::of(object, Odd::Maybe)? {
            Some(Scalar::Int(number)) if !is_bool => number.to_string().into_bytes(),
            // Integers beyond 64 bits have digits, too.
            _ if object.is_instance_of::<PyInt>() && !is_bool => {
                object.call_method0("__repr__")?.extract::<String>()?.into()
            }
            _ => {
                let (text, name) = (object.repr()?, object.get_type().name()?);
                let text = format!("part {at} of an identity, {text}, is {name}: parts are text, bytes and integers");
                return Err(PyTypeError::new_err(text));
            }
        }
    };
    match bytes.is_empty() {
        true => {
            Err(PyValueError::new_err(format!("part {at} of an identity is empty, so tells no state from another")))
        }
        false => Ok(bytes),
    }
}

/// Reads a range of the object by the caller's code, so it must be called without any lock.
fn fetch(py: Python<'_>, fetch: &Bound<'_, PyAny>, range: Range<u64>) -> PyResult<Vec<u8>> {
    let bytes = fetch.call1((range.start, range.end))?;
    let bytes = crate::buffer::Bytes::of(&bytes)?;
    memory::ask(bytes.as_slice().len())?;
    Ok(py.detach(|| bytes.as_slice().to_vec()))
}

/// An opened filter set. Threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct FilterSet {
    pub set: filterblock_set::FilterSet,
}

pub type FileList = Vec<(String, u64)>;

impl FilterSet {
    /// Returns the query of the keys, and the selection of the files.
    fn prepare(&self, column: &str, keys: &Bound<'_, PyAny>, files: &FileList) -> PyResult<(Query, Selection)> {
        let values = values_of(keys)?;
        let query = self.set.query(column.as_bytes(), values.iter().map(Scalar::value));
        Ok((query, self.select(files)))
    }

    /// Returns the selection of the files.
    fn select(&self, files: &FileList) -> Selection {
        self.set.select(files.iter().map(|(name, identity)| (name.as_str(), *identity)))
    }

    /// Returns the answers for each key and file, if there is memory for them.
    fn answer(&self, py: Python<'_>, query: &Query, selection: &Selection) -> PyResult<Answers> {
        // There is an answer for each key and file, both of the selection's files and of the set's.
        let num_files = selection.num_files().saturating_add(self.set.files().count());
        memory::ask(query.num_keys().saturating_mul(num_files))?;
        Ok(py.detach(|| self.set.answer(query, selection)))
    }
}

/// Returns the values of one key, or of many. An iterator that yields none may have been used before: its keys are
/// *maybe*.
fn values_of(keys: &Bound<'_, PyAny>) -> PyResult<Vec<Scalar>> {
    let value = Scalar::of(keys, Odd::Maybe)?;
    let is_many =
        matches!(value, Some(Scalar::NotIndexable)) && !scalar::is_text_or_bytes(keys)? && keys.try_iter().is_ok();
    if !is_many {
        return Ok(vec![value.unwrap_or(Scalar::NotIndexable)]);
    }
    let keys_of = Keys::of(keys, Odd::Maybe)?;
    let mut values = Vec::with_capacity(keys_of.len());
    keys_of.for_each(|value| values.push(value.map_or(Scalar::NotIndexable, Scalar::owned)));
    if values.is_empty() && keys.len().is_err() {
        values.push(Scalar::NotIndexable);
    }
    Ok(values)
}

/// Returns the mask of some answers.
fn mask<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    mask::of(py, answers.len(), |bytes| mask::write(answers, bytes))
}

#[pymethods]
impl FilterSet {
    /// Open the index of a set of ``length`` bytes by one or two calls of ``fetch(start, end)``.
    ///
    /// Any exception means *maybe* for all files.
    #[staticmethod]
    #[pyo3(signature = (length, fetch, policy = None, *, secret_key = None))]
    fn fetch_index(
        py: Python<'_>,
        length: u64,
        fetch: &Bound<'_, PyAny>,
        policy: Option<&str>,
        secret_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let hasher = policy::expected_hasher(policy, secret_key)?;
        let fetch = |range| self::fetch(py, fetch, range);
        let set = filterblock_set::FilterSet::fetch_index(length, hasher.as_ref(), fetch);
        set.map(|set| Self { set }).map_err(|error| match error {
            FetchError::Fetch(error) => error,
            FetchError::Decode(error) => error::of_decode(error),
        })
    }

    /// Open a set that is in memory as a whole.
    #[staticmethod]
    #[pyo3(signature = (data, policy = None, *, secret_key = None))]
    fn open(data: &Bound<'_, PyAny>, policy: Option<&str>, secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let hasher = policy::expected_hasher(policy, secret_key)?;
        let bytes = crate::buffer::Bytes::of(data)?;
        let bytes = bytes.as_slice();
        match filterblock_set::FilterSet::open(bytes.len() as u64, bytes, hasher.as_ref()).map_err(error::of_decode)? {
            Opening::Ready(set) => {
                memory::ask(bytes.len())?;
                set.give(0, bytes);
                Ok(Self { set: *set })
            }
            Opening::Needs(_) => Err(error::DamagedError::new_err("the set is shorter than its index")),
        }
    }

    /// Return the ranges of the object that must be given before the keys can be answered.
    #[pyo3(signature = (column, keys, files, max_gap = 65_536))]
    fn plan(
        &self,
        py: Python<'_>,
        column: &str,
        keys: &Bound<'_, PyAny>,
        files: FileList,
        max_gap: u64,
    ) -> PyResult<Vec<(u64, u64)>> {
        let (query, selection) = self.prepare(column, keys, &files)?;
        let ranges = py.detach(|| self.set.plan(&query, &selection, max_gap));
        Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// Take bytes of the object that begin at ``offset``.
    fn give(&self, py: Python<'_>, offset: u64, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = crate::buffer::Bytes::of(data)?;
        memory::ask(bytes.as_slice().len())?;
        py.detach(|| self.set.give(offset, bytes.as_slice()));
        Ok(())
    }

    /// Return a mask of the files that may have any of the keys: one key, or an array or iterable of them.
    ///
    /// ``files`` are names and identities of the files as the table has them now. With ``fetch(start, end)`` what is missing
    /// is read first; otherwise it is *maybe*. Threads that miss the same ranges at the same time each fetch them.
    #[pyo3(signature = (column, keys, files, fetch = None, max_gap = 65_536))]
    fn may_contain<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
        fetch: Option<&Bound<'py, PyAny>>,
        max_gap: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (query, selection) = self.prepare(column, keys, &files)?;
        if let Some(fetch) = fetch {
            let mut failed = None;
            for range in py.detach(|| self.set.plan(&query, &selection, max_gap)) {
                match self::fetch(py, fetch, range.clone()) {
                    Ok(bytes) => py.detach(|| self.set.give(range.start, &bytes)),
                    Err(error) => drop(failed.get_or_insert(error)),
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
        mask(py, &self.answer(py, &query, &selection)?.of_any_key())
    }

    /// Return a mask of the files for each key, of what was read before.
    fn may_contain_each<'py>(
        &self,
        py: Python<'py>,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (query, selection) = self.prepare(column, keys, &files)?;
        let answers = self.answer(py, &query, &selection)?;
        (0..query.num_keys()).map(|key| mask(py, answers.of_key(key))).collect()
    }

    /// Return the numbers of files that the set knows as they are, knows in another state, and does not know: the last two
    /// are *maybe* for every key. If all are unknown, their names may have another form than in the set.
    fn count<'py>(&self, py: Python<'py>, files: FileList) -> PyResult<Bound<'py, PyDict>> {
        let selection = self.select(&files);
        let counts = PyDict::new(py);
        counts.set_item("known", selection.num_known())?;
        counts.set_item("changed", selection.num_changed())?;
        counts.set_item("unknown", selection.num_unknown())?;
        Ok(counts)
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

    /// Where the bytes are that another writer has appended to the set that this one continues; None if there are none.
    ///
    /// Files that only they have are *maybe*: ``absorb`` the object up to their end to take them over.
    #[getter]
    fn foreign_append(&self) -> Option<(u64, u64)> {
        self.set.foreign_append().map(|range| (range.start, range.end))
    }

    /// The number of bytes of filters in memory.
    #[getter]
    fn held_bytes(&self) -> usize {
        self.set.held_bytes()
    }

    /// Return the blocks that did not open since the last call: file, column and what is wrong.
    fn take_bad_blocks(&self) -> Vec<(String, String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bad = self.set.take_bad_blocks();
        bad.iter().map(|bad| (text(&bad.file), text(&bad.column), bad.error.to_string())).collect()
    }

    fn __repr__(&self) -> String {
        format!("<filterblock.FilterSet of {} files>", self.set.files().count())
    }
}
