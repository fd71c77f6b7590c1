//! Sets of the filters of many files.

use crate::keys::{Keys, Odd, is_container, is_part};
use crate::scalar::{self, Scalar};
use crate::{error, mask, memory, policy};
use filterblock_set::{FetchError, FileMask, Opening, Query, Selection, SetLookup, ValueClass};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyString};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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
            Some(Scalar::Int(number)) => number.to_string().into_bytes(),
            // Integers beyond 64 bits have digits, too.
            _ if object.is_instance_of::<PyInt>() && !is_bool => {
                object.py().get_type::<PyInt>().call_method1("__repr__", (object,))?.extract::<String>()?.into()
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
fn fetch(fetch: &Bound<'_, PyAny>, range: Range<u64>) -> PyResult<Vec<u8>> {
    copy_of(&fetch.call1((range.start, range.end))?)
}

/// Returns a copy of bytes that the caller may change while they are checked.
fn copy_of(bytes: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let (py, bytes) = (bytes.py(), crate::buffer::Bytes::of(bytes)?);
    memory::ask(bytes.as_slice().len())?;
    Ok(py.detach(|| bytes.as_slice().to_vec()))
}

/// The bytes that a key takes while it is looked up: its hash, twice, and its numbers.
const BYTES_PER_KEY: usize = 64;

/// An opened filter set. Threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct FilterSet {
    pub set: filterblock_set::FilterSet,
    /// The set's bytes, if they are in memory as a whole.
    whole: Vec<u8>,
    /// Columns, and what is wrong with a unit of theirs.
    bad: Mutex<BTreeSet<(String, String)>>,
}

type FileList = Vec<(String, u64)>;

/// How a lookup reads: bytes of the set and where they begin, a function that reads what is missing, and the gap up to
/// which ranges are joined.
type Reads<'a, 'py> = (Vec<(u64, Bound<'py, PyAny>)>, Option<&'a Bound<'py, PyAny>>, u64);

impl FilterSet {
    /// Returns the query of the keys, and the selection of the files.
    fn prepare(&self, column: &str, keys: &Bound<'_, PyAny>, files: &FileList) -> PyResult<(Query, Selection)> {
        let values = values_of(keys)?;
        memory::ask(values.len().saturating_mul(BYTES_PER_KEY))?;
        let query = self.set.query(column.as_bytes(), values.iter().map(Scalar::value));
        Ok((query, self.set.select(files.iter().map(|(name, identity)| (name, *identity)))))
    }

    /// Begins a lookup that has what is in memory.
    fn begin<'a>(&'a self, query: &Query, selection: &'a Selection) -> SetLookup<'a> {
        let mut lookup = self.set.lookup(query, selection);
        lookup.give(0, &self.whole);
        lookup
    }

    /// Keeps what is wrong with units of the lookup.
    fn note(&self, lookup: &SetLookup<'_>) {
        let mut bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        for (column, error) in lookup.bad_units() {
            let name = self.set.columns().nth(usize::from(*column)).map_or(&b""[..], |(name, _)| name);
            bad.insert((String::from_utf8_lossy(name).into_owned(), error.to_string()));
        }
    }

    /// Returns a mask for each key, or one for any of them. After an exception of the function that reads, the other
    /// ranges are still read.
    fn look_up<'py>(
        &self,
        (column, keys, files): (&str, &Bound<'py, PyAny>, FileList),
        (given, fetch, max_gap): Reads<'_, 'py>,
        is_each: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, (query, selection)) = (keys.py(), self.prepare(column, keys, &files)?);
        let mut lookup = py.detach(|| self.begin(&query, &selection));
        for (offset, bytes) in &given {
            let bytes = copy_of(bytes)?;
            py.detach(|| lookup.give(*offset, &bytes));
        }
        let read = |range: Range<u64>| fetch.map_or(Ok(Vec::new()), |fetch| self::fetch(fetch, range));
        lookup.load(max_gap, read)?;
        // There is an answer for each key and file, both of the selection's files and of the set's.
        let num_files = selection.num_files().saturating_add(self.set.files().count());
        memory::ask(num_files.saturating_mul(if is_each { query.num_keys() } else { 1 }))?;
        py.detach(|| self.note(&lookup));
        if !is_each {
            return Ok(vec![mask(py, &py.detach(|| lookup.any()))?]);
        }
        py.detach(|| lookup.each()).iter().map(|files| mask(py, files)).collect()
    }
}

/// Returns the values of one key, or of many. An iterator that yields none, or fewer than its length, may have been
/// used before: its keys are *maybe*.
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
    if is_part(keys, values.len())? || values.is_empty() && !is_container(keys)? {
        values.push(Scalar::NotIndexable);
    }
    Ok(values)
}

/// Returns the mask of some files.
fn mask<'py>(py: Python<'py>, files: &FileMask) -> PyResult<Bound<'py, PyAny>> {
    mask::of(py, files.num_files(), |bytes| files.iter().for_each(|file| bytes[file] = 1))
}

#[pymethods]
impl FilterSet {
    /// Open the index of a set of ``length`` bytes by one or two calls of ``fetch(start, end)``.
    ///
    /// Lookups keep at most ``max_held_bytes`` of the set in memory. Any exception means *maybe* for all files.
    #[staticmethod]
    #[pyo3(signature = (length, fetch, *, seed = None, secret_key = None, max_held_bytes = 67_108_864))]
    fn fetch_index(
        length: u64,
        fetch: &Bound<'_, PyAny>,
        seed: Option<u64>,
        secret_key: Option<&Bound<'_, PyAny>>,
        max_held_bytes: usize,
    ) -> PyResult<Self> {
        let hasher = policy::hasher_of(seed, secret_key)?;
        let fetch = |range| self::fetch(fetch, range);
        let set =
            filterblock_set::FilterSet::fetch_index(length, hasher.as_ref(), fetch).map_err(|error| match error {
                FetchError::Fetch(error) => error,
                FetchError::Decode(error) => error::of_decode(error),
            })?;
        Ok(Self { set: set.with_max_held_bytes(max_held_bytes), whole: Vec::new(), bad: Mutex::default() })
    }

    /// Open a set that is in memory as a whole.
    #[staticmethod]
    #[pyo3(signature = (data, *, seed = None, secret_key = None))]
    fn open(data: &Bound<'_, PyAny>, seed: Option<u64>, secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let hasher = policy::hasher_of(seed, secret_key)?;
        let bytes = crate::buffer::Bytes::of(data)?;
        let bytes = bytes.as_slice();
        let set = of_bytes(bytes, hasher.as_ref())?;
        memory::ask(bytes.len())?;
        // Units are checked by the lookups that need them.
        Ok(Self { set: set.with_max_held_bytes(0), whole: bytes.to_vec(), bad: Mutex::default() })
    }

    /// Return the ranges of the object that a lookup misses, of which near ones are one. An asynchronous engine reads them,
    /// all at once, and gives them to ``may_contain``.
    #[pyo3(signature = (column, keys, files, max_gap = 65_536))]
    fn plan(&self, column: &str, keys: &Bound<'_, PyAny>, files: FileList, max_gap: u64) -> PyResult<Vec<(u64, u64)>> {
        let (query, selection) = self.prepare(column, keys, &files)?;
        let ranges = keys.py().detach(|| self.begin(&query, &selection).plan(max_gap));
        Ok(ranges.into_iter().map(|range| (range.start, range.end)).collect())
    }

    /// Return a mask of the files that may have any of the keys: one key, or an array or iterable of them.
    ///
    /// ``files`` are names and identities of the files as the table has them now. ``given`` are bytes of the object, each
    /// after the offset at which they begin. With ``fetch(start, end)`` what is still missing is read first; otherwise it is
    /// *maybe*. Threads that miss the same ranges at the same time each fetch them.
    #[pyo3(signature = (column, keys, files, fetch = None, max_gap = 65_536, *, given = Vec::new()))]
    fn may_contain<'py>(
        &self,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
        fetch: Option<&Bound<'py, PyAny>>,
        max_gap: u64,
        given: Vec<(u64, Bound<'py, PyAny>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.look_up((column, keys, files), (given, fetch, max_gap), false).map(|mut masks| masks.remove(0))
    }

    /// Return a mask of the files for each key, as ``may_contain`` does for all.
    #[pyo3(signature = (column, keys, files, fetch = None, max_gap = 65_536, *, given = Vec::new()))]
    fn may_contain_each<'py>(
        &self,
        column: &str,
        keys: &Bound<'py, PyAny>,
        files: FileList,
        fetch: Option<&Bound<'py, PyAny>>,
        max_gap: u64,
        given: Vec<(u64, Bound<'py, PyAny>)>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.look_up((column, keys, files), (given, fetch, max_gap), true)
    }

    /// Return the numbers of files that the set knows as they are, knows in another state, and does not know: the last two
    /// are *maybe* for every key. If all are unknown, their names may have another form than in the set.
    fn count<'py>(&self, py: Python<'py>, files: FileList) -> PyResult<Bound<'py, PyDict>> {
        let selection = self.set.select(files);
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
        self.set.held_bytes() + self.whole.len()
    }

    /// Return the parts that lookups found damaged since the last call: column and what is wrong. They are *maybe*.
    fn take_bad_units(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.bad.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    fn __repr__(&self) -> String {
        format!("<filterblock.FilterSet of {} files>", self.set.files().count())
    }
}

/// Opens a set that is in memory as a whole.
pub fn of_bytes(bytes: &[u8], hasher: Option<&filterblock::KeyHasher>) -> PyResult<filterblock_set::FilterSet> {
    match filterblock_set::FilterSet::open(bytes.len() as u64, bytes, hasher).map_err(error::of_decode)? {
        Opening::Ready(set) => Ok(*set),
        Opening::Needs(_) => Err(error::DamagedError::new_err("the set is shorter than its index")),
    }
}
