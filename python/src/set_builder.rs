//! Makes filter sets.

use crate::keys::{Keys, Odd};
use crate::set::{self, CLASSES, FilterSet};
use crate::{error, memory, policy};
use filterblock::KeyHasher;
use filterblock_set::{SetBuildError, SetBuilder, SetColumn, Sizing};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Makes filter sets. Threads may share it.
// The lock is taken without the interpreter's, and Python's code is never called under it.
#[pyclass(frozen, module = "filterblock")]
pub struct FilterSetBuilder {
    /// `None`: a call failed in the middle, and the builder is of no further use.
    builder: Mutex<Option<SetBuilder<File>>>,
    hasher: KeyHasher,
    sizing: Sizing,
    specs: Vec<SetColumn>,
    columns: Vec<String>,
    /// Where temporary files are; `None`: where the system has them.
    scratch: Option<PathBuf>,
    /// The memory that strips of rows take, unless those of eight files are more.
    max_strip_bytes: usize,
}

/// Returns the exception for a builder that an earlier call has left in the middle.
fn earlier() -> PyErr {
    error::BuildError::new_err("an earlier call failed, and the builder is of no further use: begin anew")
}

/// The memory that writing takes however large a set is, beside strips of rows.
const FIXED_BYTES: usize = 8 << 20;

impl FilterSetBuilder {
    /// Calls `work` on the builder, if there still is one, without the interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<SetBuilder<File>>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&mut self.builder.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns an empty file without a name.
    fn file(&self) -> io::Result<File> {
        self.scratch.as_ref().map_or_else(tempfile::tempfile, tempfile::tempfile_in)
    }

    /// Returns an empty builder.
    fn renewed(&self) -> PyResult<SetBuilder<File>> {
        let (hasher, max_strip_bytes) = (&self.hasher, self.max_strip_bytes);
        SetBuilder::with_scratch(hasher, &self.specs, max_strip_bytes, || self.file()).map_err(error::of_set_build)
    }

    /// Returns what `write` writes with the builder, and leaves an empty one, or none after an error: the files are lost.
    fn written<'py>(
        &self,
        py: Python<'py>,
        write: impl FnOnce(SetBuilder<File>, &mut File) -> Result<u64, SetBuildError> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (len, mut file) = self.with(py, |place| {
            let (empty, mut file) = (self.renewed()?, self.file()?);
            let written = write(place.take().ok_or_else(earlier)?, &mut file);
            if matches!(written, Ok(_) | Err(SetBuildError::Empty)) {
                *place = Some(empty);
            }
            Ok((written.map_err(error::of_set_build)?, file))
        })?;
        file.rewind()?;
        PyBytes::new_with(py, usize::try_from(len)?, |bytes| Ok(file.read_exact(bytes)?))
    }

    /// Returns the memory that a file with these keys needs: hashes, as their list grows, and a strip for each column.
    fn needed(&self, values: &[(usize, Keys)]) -> usize {
        let of_column = |(_, keys): &(usize, Keys)| {
            let rows = self.sizing.table(keys.len() as u64).map_or(0, |table| table.num_rows());
            let hashes = keys.len().saturating_mul(2 * size_of::<u64>());
            hashes.saturating_add(usize::try_from(rows).unwrap_or(usize::MAX))
        };
        values.iter().map(of_column).fold(self.max_strip_bytes.saturating_add(FIXED_BYTES), usize::saturating_add)
    }

    /// Adds a file with `values`, the numbers of columns and all keys of each. Returns the numbers of those columns for
    /// which it has a filter.
    fn add(
        &self,
        place: &mut Option<SetBuilder<File>>,
        name: &str,
        identity: u64,
        values: &[(usize, Keys)],
        allow_empty: bool,
    ) -> PyResult<Vec<usize>> {
        memory::ask(self.needed(values))?;
        let builder = place.as_mut().ok_or_else(earlier)?;
        let mut file = builder.file(name, identity).map_err(error::of_set_build)?;
        for (column, keys) in values {
            // A value that cannot be looked up leaves the column without a filter: later ones need not be hashed.
            let mut is_whole = true;
            keys.for_each(|value| match value {
                Some(value) if is_whole => is_whole = file.add(*column, value),
                Some(_) => {}
                None => file.add_null(*column),
            });
            if allow_empty {
                file.allow_empty(*column);
            }
        }
        let without = file.finish().inspect_err(|_| *place = None).map_err(error::of_set_build)?;
        Ok(values.iter().map(|(column, _)| *column).filter(|column| !without.contains(column)).collect())
    }
}

/// Returns the sizes of filters of columns whose files have this number of keys.
fn sizing_of(keys_per_file: u64, fpr: f64) -> PyResult<Sizing> {
    if !(1e-9..=0.5).contains(&fpr) {
        return Err(error::PolicyError::new_err(format!("fpr={fpr}: a rate is between 1e-9 and 0.5")));
    }
    let too_many =
        || error::PolicyError::new_err(format!("keys_per_file={keys_per_file}: too many for a rate of {fpr}"));
    Sizing::new(keys_per_file, fpr).ok_or_else(too_many)
}

#[pymethods]
impl FilterSetBuilder {
    /// Make a builder of sets with these columns: names, and what their values are.
    ///
    /// ``keys_per_file`` is the number of distinct keys that a file usually has; filters of larger files are larger, and
    /// no file has a rate above ``fpr``. Rows are kept in temporary files, in the folder ``scratch`` if it is given: in memory
    /// are the keys of one file, and rows of ``max_strip_bytes``, or of eight files if that is more.
    #[new]
    #[pyo3(signature = (columns, keys_per_file, *, fpr = 0.01, seed = None, secret_key = None, scratch = None,
        max_strip_bytes = 16_777_216))]
    fn new(
        columns: &Bound<'_, PyDict>,
        keys_per_file: u64,
        fpr: f64,
        seed: Option<u64>,
        secret_key: Option<&Bound<'_, PyAny>>,
        scratch: Option<PathBuf>,
        max_strip_bytes: usize,
    ) -> PyResult<Self> {
        let sizing = sizing_of(keys_per_file, fpr)?;
        let (mut names, mut specs) = (Vec::new(), Vec::new());
        for (name, class) in columns {
            let (name, class): (String, String) = (name.extract()?, class.extract()?);
            let Some((_, class)) = CLASSES.iter().find(|(known, _)| *known == class) else {
                let known = CLASSES.map(|(name, _)| name).join(", ");
                return Err(PyValueError::new_err(format!("no class {class:?}; the classes are {known}")));
            };
            specs.push(SetColumn::new(&name, *class, sizing));
            names.push(name);
        }
        let hasher = policy::hasher_of(seed, secret_key)?.unwrap_or_default();
        let made = Self { builder: Mutex::default(), hasher, sizing, specs, columns: names, scratch, max_strip_bytes };
        let builder = made.renewed()?;
        Ok(Self { builder: Mutex::new(Some(builder)), ..made })
    }

    /// Add a file with all values of its columns. Return the columns for which it has a filter.
    ///
    /// A column that is left out is *maybe*: some value of it has no entry of the column's class, or there was neither a
    /// value nor a null, as from an iterator that was used before. With ``allow_empty`` the file has no rows, and every
    /// key is denied. After a ``BuildError`` of the name the builder is as before; after any other, begin anew.
    #[pyo3(signature = (name, identity, columns, *, allow_empty = false))]
    fn add_file(
        &self,
        py: Python<'_>,
        name: &str,
        identity: u64,
        columns: &Bound<'_, PyDict>,
        allow_empty: bool,
    ) -> PyResult<Vec<String>> {
        let mut values = Vec::new();
        // A copy, since the keys' own code might change the dictionary.
        for (column, keys) in columns.iter().collect::<Vec<_>>() {
            let column: String = column.extract()?;
            let Some(number) = self.columns.iter().position(|known| *known == column) else {
                return Err(PyValueError::new_err(format!("the set has no column {column:?}")));
            };
            values.push((number, Keys::of(&keys, Odd::LeftOut)?));
        }
        let indexed = self.with(py, |place| self.add(place, name, identity, &values, allow_empty))?;
        Ok(indexed.into_iter().map(|column| self.columns[column].clone()).collect())
    }

    /// Take over the files of a set for whose names ``keep`` is true, without their keys: how sets are compacted. Return the
    /// number of damaged parts, which are *maybe*. After an exception other than of ``keep`` or of ``data``, begin anew.
    #[pyo3(signature = (data, keep = None))]
    fn absorb(&self, py: Python<'_>, data: &Bound<'_, PyAny>, keep: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let bytes = crate::buffer::Bytes::of(data)?;
        let bytes = bytes.as_slice();
        memory::ask(self.max_strip_bytes.saturating_add(FIXED_BYTES))?;
        let set = set::of_bytes(bytes, Some(&self.hasher))?;
        // `keep` is called before the lock is taken.
        let kept = match keep {
            None => None,
            Some(keep) => {
                let mut kept = HashSet::new();
                for (name, _) in set.files() {
                    if keep.call1((String::from_utf8_lossy(name),))?.is_truthy()? {
                        kept.insert(name);
                    }
                }
                Some(kept)
            }
        };
        let keeps = |name: &[u8]| kept.as_ref().is_none_or(|kept| kept.contains(name));
        self.with(py, |place| {
            // Left out after an error.
            let mut builder = place.take().ok_or_else(earlier)?;
            // The index has checked that all groups are in the set.
            let part = |range: Range<u64>| Ok(&bytes[range.start as usize..range.end as usize]);
            let num_bad = builder.absorb(&set, keeps, part).map_err(error::of_set_build)?;
            *place = Some(builder);
            Ok(num_bad)
        })
    }

    /// Return the set, and leave the builder empty.
    ///
    /// Raise ``BuildError`` if no file was added since the last call, unless ``allow_empty``: the set that would replace the
    /// first has none of its files.
    #[pyo3(signature = (*, allow_empty = false))]
    fn finish<'py>(&self, py: Python<'py>, allow_empty: bool) -> PyResult<Bound<'py, PyBytes>> {
        self.written(py, |mut builder, file| {
            if allow_empty {
                builder.allow_empty();
            }
            builder.finish(file)
        })
    }

    /// Return the bytes to append to the set ``old``, in which the files ``drop`` are dropped. Leave the builder empty.
    #[pyo3(signature = (old, drop = Vec::new()))]
    fn finish_append<'py>(&self, py: Python<'py>, old: &FilterSet, drop: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let dropped = |name: &[u8]| drop.iter().any(|drop| drop.as_bytes() == name);
        self.written(py, |builder, file| builder.finish_append(&old.set, dropped, file))
    }

    /// The number of files.
    #[getter]
    fn num_files(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |place| Ok(place.as_ref().ok_or_else(earlier)?.num_files()))
    }
}
