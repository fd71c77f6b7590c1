//! Partitioned filters: of a large table, of which a lookup reads one block.

use crate::{error, memory, ordered, policy};
use filterblock::partition::{
    self, OpenedPartition, PartitionBuildError, PartitionError, PartitionHandle, PartitionLimit,
    PartitionedFilterBuilder,
};
use filterblock::{AlignedBytes, FilterBlock};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

/// What a build returns: the partitions, end to end, and their index.
pub type Parts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

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
    let built = py.detach(|| {
        let limit = PartitionLimit::Bytes(partition_bytes);
        let mut builder = PartitionedFilterBuilder::new(&policy, limit).map_err(error::of_build)?;
        builder.set_context(context);
        if allow_empty {
            builder.allow_empty();
        }
        memory::ask(memory::of_finish(&policy, keys.len() as u64))?;
        let mut blocks: Vec<u8> = Vec::new();
        let mut store = |block: &[u8]| {
            let at = offset.saturating_add(blocks.len() as u64);
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

pub fn of_build(error: PartitionBuildError<Infallible>) -> PyErr {
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
    let options = policy::options(policy, secret_key, context)?;
    let bytes = crate::buffer::Bytes::of(index)?;
    memory::ask(bytes.as_slice().len())?;
    let filter = partition::PartitionedFilter::open(bytes.as_slice().to_vec(), options).map_err(error::of_decode)?;
    let opened = filter.partitions().map(|_| OnceLock::new()).collect();
    Ok(PartitionedFilter { filter, opened, load })
}

/// Reads the bytes of a partition.
pub fn load(load: &Bound<'_, PyAny>, partition: PartitionHandle) -> PyResult<AlignedBytes> {
    let end = partition.offset.saturating_add(partition.len.into());
    let bytes = load.call1((partition.offset, end))?;
    let bytes = crate::buffer::Bytes::of(&bytes)?;
    memory::ask(bytes.as_slice().len())?;
    Ok(AlignedBytes::copy_of(bytes.as_slice()))
}

pub fn of_lookup(error: PartitionError<PyErr>) -> PyErr {
    match error {
        PartitionError::Load { error, .. } => error,
        PartitionError::Decode { error, .. } => error::of_decode(error),
        error => error::DecodeError::new_err(error.to_string()),
    }
}

type Opened = Arc<OpenedPartition<FilterBlock<AlignedBytes>>>;

/// The opened index of a filter in partitions. It keeps those that were loaded; threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct PartitionedFilter {
    filter: partition::PartitionedFilter<Vec<u8>>,
    opened: Vec<OnceLock<Opened>>,
    load: Py<PyAny>,
}

impl PartitionedFilter {
    /// Returns a partition, which is loaded and verified once. Nothing is locked while Python's code runs.
    fn partition(&self, py: Python<'_>, partition: PartitionHandle) -> PyResult<Opened> {
        let place = &self.opened[partition.number as usize];
        if let Some(opened) = place.get() {
            return Ok(Arc::clone(opened));
        }
        let bytes = load(self.load.bind(py), partition)?;
        let opened = self.filter.open_partition_owned(partition, bytes);
        let opened = Arc::new(opened.map_err(|error| error::of_decode(error.error()))?);
        Ok(Arc::clone(place.get_or_init(|| opened)))
    }
}

#[pymethods]
impl PartitionedFilter {
    /// Whether the table may have the key; also ``key in filter``. Any exception means *maybe*.
    #[pyo3(signature = (key, /))]
    fn may_contain(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(key) = ordered::key(key)? else { return Ok(true) };
        self.filter.may_contain(&key, |partition| self.partition(py, partition)).map_err(of_lookup)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.may_contain(py, key)
    }

    /// The number of distinct keys.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.filter.num_entries()
    }

    /// The number of partitions.
    #[getter]
    fn num_partitions(&self) -> usize {
        self.opened.len()
    }

    fn __repr__(&self) -> String {
        format!("<filterblock.PartitionedFilter of {} keys, {} partitions>", self.num_entries(), self.num_partitions())
    }
}
