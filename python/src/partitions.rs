//! Filters in partitions, for large tables: a lookup reads one block, of ranges two at most.

use crate::{error, memory, ordered, policy};
use filterblock::partition::{
    BuildFamily, Family, Keys, OpenedPartition, PartitionBuildError, PartitionError, PartitionHandle, PartitionLimit,
    Partitioned, PartitionedBuilder, Ranges,
};
use filterblock::{AlignedBytes, OpenOptions, Query};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

/// The result of a build: the partitions, end to end, and their index.
type Parts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Build a filter in partitions of the keys, which are text or bytes and ascend.
///
/// Return the partitions, end to end, to be stored at ``offset`` of a file, and the index. Raise ``BuildError`` for keys
/// that do not ascend.
#[pyfunction]
#[pyo3(signature = (
    keys, policy = "ribbon:fpr=1%", *, partition_bytes = 32_768, offset = 0, context = 0, allow_empty = false,
    secret_key = None
))]
#[expect(clippy::too_many_arguments, reason = "arguments of Python, all but two by name")]
pub fn build_partitions<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    policy: &str,
    partition_bytes: u64,
    offset: u64,
    context: u64,
    allow_empty: bool,
    secret_key: Option<&Bound<'py, PyAny>>,
) -> PyResult<Parts<'py>> {
    let policy = policy::parse(policy, secret_key)?;
    let keys = ordered::keys(keys)?;
    let memory = memory::of_finish(&policy, keys.len() as u64);
    build::<Keys>(py, &keys, &policy, memory, Place { partition_bytes, offset, context, allow_empty })
}

/// Build a range filter in partitions of the keys, which are text or bytes and ascend.
///
/// Return the partitions, end to end, to be stored at ``offset`` of a file, and the index. Raise ``BuildError`` for keys
/// that do not ascend.
#[pyfunction]
#[pyo3(signature = (
    keys, policy = "range:14", *, partition_bytes = 32_768, offset = 0, context = 0, allow_empty = false
))]
pub fn build_range_partitions<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    policy: &str,
    partition_bytes: u64,
    offset: u64,
    context: u64,
    allow_empty: bool,
) -> PyResult<Parts<'py>> {
    let policy = policy::parse_ranges(policy)?;
    let keys = ordered::keys(keys)?;
    let expected = usize::try_from(policy.expected_block_len(keys.len() as u64)).unwrap_or(usize::MAX);
    // The partitions are in a vector that grows by doubling, and Python gets a copy.
    let memory = expected.saturating_mul(3);
    build::<Ranges>(py, &keys, &policy, memory, Place { partition_bytes, offset, context, allow_empty })
}

/// How the partitions of a table are stored.
struct Place {
    partition_bytes: u64,
    offset: u64,
    context: u64,
    allow_empty: bool,
}

/// Builds a filter of `keys`, for which `memory` bytes must be free.
fn build<'py, F: BuildFamily<Policy: Sync>>(
    py: Python<'py>,
    keys: &crate::keys::Keys,
    policy: &F::Policy,
    memory: usize,
    place: Place,
) -> PyResult<Parts<'py>> {
    let built = py.detach(|| {
        let limit = PartitionLimit::Bytes(place.partition_bytes);
        let mut builder = PartitionedBuilder::<F>::new(policy, limit).map_err(error::of_build)?;
        builder.set_context(place.context);
        if place.allow_empty {
            builder.allow_empty();
        }
        memory::ask(memory)?;
        let mut blocks: Vec<u8> = Vec::new();
        let mut store = |block: &[u8]| {
            let at = place.offset.saturating_add(blocks.len() as u64);
            blocks.extend_from_slice(block);
            Ok::<_, Infallible>(at)
        };
        let mut added = Ok(());
        keys.for_each(|value| {
            if let Some(key) = value.as_ref().and_then(ordered::bytes).filter(|_| added.is_ok()) {
                added = builder.add_key(key, &mut store);
            }
        });
        added.map_err(of_build)?;
        let index = builder.finish(&mut store).map_err(of_build)?;
        Ok::<_, PyErr>((blocks, index))
    });
    let (blocks, index) = built?;
    Ok((memory::to_python(py, &blocks)?, memory::to_python(py, &index)?))
}

/// Returns the exception for partitions that could not be built.
fn of_build(error: PartitionBuildError<Infallible>) -> PyErr {
    match error {
        PartitionBuildError::Empty => error::empty(),
        error => error::BuildError::new_err(error.to_string()),
    }
}

/// Open the index of a filter in partitions. ``load(start, end)`` returns these bytes of the file.
#[pyfunction]
#[pyo3(signature = (index, load, policy = None, *, context = 0, secret_key = None))]
pub fn open_partitions(
    index: &Bound<'_, PyAny>,
    load: Py<PyAny>,
    policy: Option<&str>,
    context: u64,
    secret_key: Option<&Bound<'_, PyAny>>,
) -> PyResult<PartitionedFilter> {
    Kept::open(index, load, policy::options(policy, secret_key, context)?).map(PartitionedFilter)
}

/// Open the index of a range filter in partitions. ``load(start, end)`` returns these bytes of the file.
#[pyfunction]
#[pyo3(signature = (index, load, *, context = 0))]
pub fn open_range_partitions(
    index: &Bound<'_, PyAny>,
    load: Py<PyAny>,
    context: u64,
) -> PyResult<PartitionedRangeFilter> {
    Kept::open(index, load, OpenOptions::new().with_context(context)).map(PartitionedRangeFilter)
}

type Opened<F> = Arc<OpenedPartition<<F as Family>::Filter<AlignedBytes>>>;

/// An opened index, and the partitions that were loaded.
struct Kept<F: Family> {
    filter: Partitioned<F, Vec<u8>>,
    opened: Vec<OnceLock<Opened<F>>>,
    load: Py<PyAny>,
}

impl<F: Family> Kept<F> {
    /// Opens an index, of which no partition is loaded yet.
    fn open(index: &Bound<'_, PyAny>, load: Py<PyAny>, options: OpenOptions) -> PyResult<Self> {
        let bytes = crate::buffer::Bytes::of(index)?;
        memory::ask(bytes.as_slice().len())?;
        let filter = Partitioned::open(bytes.as_slice().to_vec(), options).map_err(error::of_decode)?;
        let opened = filter.partitions().map(|_| OnceLock::new()).collect();
        Ok(Self { filter, opened, load })
    }

    /// Returns a partition, which is loaded and verified once. Nothing is locked while Python's code runs.
    fn partition(&self, py: Python<'_>, partition: PartitionHandle) -> PyResult<Opened<F>> {
        let place = &self.opened[partition.number as usize];
        if let Some(opened) = place.get() {
            return Ok(Arc::clone(opened));
        }
        let end = partition.offset.saturating_add(partition.len.into());
        let bytes = self.load.bind(py).call1((partition.offset, end))?;
        let bytes = crate::buffer::Bytes::of(&bytes)?;
        memory::ask(bytes.as_slice().len())?;
        let opened = self.filter.open_partition_owned(partition, AlignedBytes::copy_of(bytes.as_slice()));
        let opened = Arc::new(opened.map_err(error::of_decode)?);
        Ok(Arc::clone(place.get_or_init(|| opened)))
    }

    /// Returns whether the table may have what `query` names, and loads the partitions that this takes.
    fn may_match(&self, py: Python<'_>, query: Query<'_>) -> PyResult<bool> {
        self.filter.may_match(query, |partition| self.partition(py, partition)).map_err(|error| match error {
            PartitionError::Load { error, .. } => error,
            PartitionError::Decode { error, .. } => error::of_decode(error),
            error => error::DecodeError::new_err(error.to_string()),
        })
    }

    /// Returns the representation of a filter of the class `name`.
    fn repr(&self, name: &str) -> String {
        let (num_keys, num_partitions) = (self.filter.num_entries(), self.opened.len());
        format!("<filterblock.{name} of {num_keys} keys, {num_partitions} partitions>")
    }
}

/// The opened index of a filter in partitions. It keeps those that were loaded; threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct PartitionedFilter(Kept<Keys>);

#[pymethods]
impl PartitionedFilter {
    /// Whether the table may have the key; also ``key in filter``. Any exception means *maybe*.
    #[pyo3(signature = (key, /))]
    fn may_contain(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(key) = ordered::key(key)? else { return Ok(true) };
        self.0.may_match(py, Query::Key(&key))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.may_contain(py, key)
    }

    /// The number of distinct keys.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.0.filter.num_entries()
    }

    /// The number of partitions.
    #[getter]
    fn num_partitions(&self) -> usize {
        self.0.opened.len()
    }

    fn __repr__(&self) -> String {
        self.0.repr("PartitionedFilter")
    }
}

/// The opened index of a range filter in partitions. It keeps those that were loaded; threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct PartitionedRangeFilter(Kept<Ranges>);

#[pymethods]
impl PartitionedRangeFilter {
    /// Whether the table may have a key from ``lower`` on and below ``upper``; None is no bound.
    ///
    /// Bounds that are not in order are *maybe*, and so is any exception.
    #[pyo3(signature = (lower, upper, *, lower_included = true, upper_included = false))]
    fn may_contain_range(
        &self,
        py: Python<'_>,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
        lower_included: bool,
        upper_included: bool,
    ) -> PyResult<bool> {
        let (lower, upper) = (ordered::bound(lower, lower_included)?, ordered::bound(upper, upper_included)?);
        self.0.may_match(py, Query::Range(ordered::as_slices(&lower), ordered::as_slices(&upper)))
    }

    /// Whether the table may have a key that begins with the prefix. Any exception means *maybe*.
    fn may_contain_prefix(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> PyResult<bool> {
        let prefix = ordered::prefix(prefix)?;
        self.0.may_match(py, Query::Prefix(&prefix))
    }

    /// The number of distinct keys.
    #[getter]
    fn num_keys(&self) -> u64 {
        self.0.filter.num_entries()
    }

    /// The number of partitions.
    #[getter]
    fn num_partitions(&self) -> usize {
        self.0.opened.len()
    }

    fn __repr__(&self) -> String {
        self.0.repr("PartitionedRangeFilter")
    }
}
