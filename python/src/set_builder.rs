//! Makes filter sets.

use crate::keys::{Keys, Odd};
use crate::set::{CLASSES, FilterSet};
use crate::{error, memory, policy};
use filterblock::FilterPolicy;
use filterblock_set::{SetBuildError, SetBuilder, SetColumn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Makes filter sets. Threads may share it.
// The lock is taken without the interpreter's, and Python's code is never called under it.
#[pyclass(frozen, module = "filterblock")]
pub struct FilterSetBuilder {
    builder: Mutex<SetBuilder>,
    policy: FilterPolicy,
    columns: Vec<String>,
}

/// The reason why a file was not added.
enum Failure {
    Memory(usize),
    Build(SetBuildError),
}

impl From<SetBuildError> for Failure {
    fn from(error: SetBuildError) -> Self {
        Self::Build(error)
    }
}

impl FilterSetBuilder {
    /// Calls `work` on the builder, without the interpreter.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut SetBuilder) -> T + Send) -> T {
        py.detach(|| work(&mut self.builder.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns an error unless there is memory for the filter of the column with most values.
    fn check_memory(&self, values: &[(usize, Keys)]) -> Result<(), Failure> {
        let most = values.iter().map(|(_, keys)| keys.len()).max().unwrap_or(0);
        // The hashes are in a vector that grows by doubling.
        let hashes = most.saturating_mul(2 * size_of::<u64>());
        let needed = memory::of_finish(&self.policy, most as u64).saturating_add(hashes);
        memory::can_have(needed).map_err(Failure::Memory)
    }

    /// Adds a file with `values`, the numbers of columns and all keys of each. Returns the numbers of those columns for
    /// which it has a filter.
    fn add(
        &self,
        builder: &mut SetBuilder,
        name: &str,
        identity: u64,
        values: &[(usize, Keys)],
        allow_empty: bool,
    ) -> Result<Vec<usize>, Failure> {
        self.check_memory(values)?;
        let mut file = builder.file(name, identity)?;
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
        let without = file.finish()?;
        Ok(values.iter().map(|(column, _)| *column).filter(|column| !without.contains(column)).collect())
    }
}

#[pymethods]
impl FilterSetBuilder {
    #[new]
    #[pyo3(signature = (columns, policy = "ribbon:fpr=1%", *, slices = 1, secret_key = None))]
    fn new(
        columns: &Bound<'_, PyDict>,
        policy: &str,
        slices: u16,
        secret_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
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
        let policy = policy::parse(policy, secret_key)?;
        let builder = SetBuilder::new(&policy, &specs).map_err(error::of_set_build)?;
        Ok(Self { builder: Mutex::new(builder), policy, columns: names })
    }

    /// Add a file with all values of its columns. Return the columns for which it has a filter.
    ///
    /// A column that is left out is *maybe*: some value of it has no entry of the column's class, or there was neither a
    /// value nor a null, as from an iterator that was used before. With ``allow_empty`` the file has no rows, and every
    /// key is denied.
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
        let indexed = self.with(py, |builder| self.add(builder, name, identity, &values, allow_empty));
        let indexed = indexed.map_err(|failure| match failure {
            Failure::Memory(num_bytes) => error::memory(num_bytes),
            Failure::Build(error) => error::of_set_build(error),
        })?;
        Ok(indexed.into_iter().map(|column| self.columns[column].clone()).collect())
    }

    /// Take over the files of a set for whose names ``keep`` is true. Return the number of damaged blocks left out.
    #[pyo3(signature = (data, keep = None))]
    fn absorb(&self, py: Python<'_>, data: &Bound<'_, PyAny>, keep: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let bytes = crate::buffer::Bytes::of(data)?;
        let bytes = bytes.as_slice();
        memory::ask(bytes.len())?;
        // `keep` is called before the lock is taken.
        let kept = match keep {
            None => None,
            Some(keep) => {
                let mut kept = HashSet::new();
                for name in self.names_of(bytes)? {
                    if keep.call1((String::from_utf8_lossy(&name),))?.is_truthy()? {
                        kept.insert(name);
                    }
                }
                Some(kept)
            }
        };
        let keeps = |name: &[u8]| kept.as_ref().is_none_or(|kept| kept.contains(name));
        self.with(py, |builder| builder.absorb(bytes, keeps)).map_err(error::of_set_build)
    }

    /// Return the set, and leave the builder empty.
    ///
    /// Raise ``BuildError`` if no file was added since the last call, unless ``allow_empty``: the set that would replace the
    /// first has none of its files.
    #[pyo3(signature = (*, allow_empty = false))]
    fn finish<'py>(&self, py: Python<'py>, allow_empty: bool) -> PyResult<Bound<'py, PyBytes>> {
        let set = self.with(py, |builder| {
            if allow_empty {
                builder.allow_empty();
            }
            builder.finish()
        });
        memory::to_python(py, &set.map_err(error::of_set_build)?)
    }

    /// Return the bytes to append to the set ``old``, in which the files ``drop`` are dropped.
    #[pyo3(signature = (old, drop = Vec::new()))]
    fn finish_append<'py>(&self, py: Python<'py>, old: &FilterSet, drop: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let dropped = |name: &[u8]| drop.iter().any(|drop| drop.as_bytes() == name);
        let more = self.with(py, |builder| builder.finish_append(&old.set, dropped));
        memory::to_python(py, &more.map_err(error::of_set_build)?)
    }

    /// The number of files.
    #[getter]
    fn num_files(&self, py: Python<'_>) -> usize {
        self.with(py, |builder| builder.num_files())
    }
}

impl FilterSetBuilder {
    /// Returns the names of a set's files.
    fn names_of(&self, set: &[u8]) -> PyResult<Vec<Vec<u8>>> {
        let opened = filterblock_set::FilterSet::open(set.len() as u64, set, Some(self.policy.hasher()));
        match opened.map_err(error::of_decode)? {
            filterblock_set::Opening::Ready(opened) => Ok(opened.files().map(|(name, _)| name.to_vec()).collect()),
            filterblock_set::Opening::Needs(_) => {
                Err(error::DamagedError::new_err("the set is shorter than its index"))
            }
        }
    }
}
