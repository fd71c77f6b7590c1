//! Range filters in partitions, of which a query reads two at most.

use crate::partitions::{Parts, of_build, of_lookup};
use crate::{error, memory, ordered, policy};
use filterblock::partition::{self, OpenedPartition, PartitionHandle, PartitionLimit, PartitionedRangeFilterBuilder};
use filterblock::range::RangeFilter;
use filterblock::{AlignedBytes, OpenOptions};
use pyo3::prelude::*;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

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
    let built = py.detach(|| {
        let limit = PartitionLimit::Bytes(partition_bytes);
        let mut builder = PartitionedRangeFilterBuilder::new(policy, limit).map_err(error::of_build)?;
        builder.set_context(context);
        if allow_empty {
            builder.allow_empty();
        }
        let expected = usize::try_from(policy.expected_block_len(keys.len() as u64)).unwrap_or(usize::MAX);
        memory::ask(expected.saturating_mul(3))?;
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

/// Open the index of a range filter in partitions. ``load(start, end)`` returns these bytes of the file.
#[pyfunction]
#[pyo3(signature = (index, load, *, context = 0))]
pub fn open_range_partitions(
    index: &Bound<'_, PyAny>,
    load: Py<PyAny>,
    context: u64,
) -> PyResult<PartitionedRangeFilter> {
    let bytes = crate::buffer::Bytes::of(index)?;
    memory::ask(bytes.as_slice().len())?;
    let options = OpenOptions::new().with_context(context);
    let filter = partition::PartitionedRangeFilter::open(bytes.as_slice().to_vec(), options);
    let filter = filter.map_err(error::of_decode)?;
    let opened = filter.partitions().map(|_| OnceLock::new()).collect();
    Ok(PartitionedRangeFilter { filter, opened, load })
}

type Opened = Arc<OpenedPartition<RangeFilter<AlignedBytes>>>;

/// The opened index of a range filter in partitions. It keeps those that were loaded; threads may share it.
#[pyclass(frozen, module = "filterblock")]
pub struct PartitionedRangeFilter {
    filter: partition::PartitionedRangeFilter<Vec<u8>>,
    opened: Vec<OnceLock<Opened>>,
    load: Py<PyAny>,
}

impl PartitionedRangeFilter {
    /// Returns a partition, which is loaded and verified once. Nothing is locked while Python's code runs.
    fn partition(&self, py: Python<'_>, partition: PartitionHandle) -> PyResult<Opened> {
        let place = &self.opened[partition.number as usize];
        if let Some(opened) = place.get() {
            return Ok(Arc::clone(opened));
        }
        let bytes = crate::partitions::load(self.load.bind(py), partition)?;
        let opened = self.filter.open_partition_owned(partition, bytes).map_err(error::of_decode)?;
        Ok(Arc::clone(place.get_or_init(|| Arc::new(opened))))
    }
}

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
        let (lower, upper) = (ordered::as_slices(&lower), ordered::as_slices(&upper));
        self.filter.may_contain_range(lower, upper, |at| self.partition(py, at)).map_err(of_lookup)
    }

    /// Whether the table may have a key that begins with the prefix. Any exception means *maybe*.
    fn may_contain_prefix(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> PyResult<bool> {
        let prefix = ordered::prefix(prefix)?;
        self.filter.may_contain_prefix(&prefix, |at| self.partition(py, at)).map_err(of_lookup)
    }

    /// The number of distinct keys.
    #[getter]
    fn num_keys(&self) -> u64 {
        self.filter.num_keys()
    }

    /// The number of partitions.
    #[getter]
    fn num_partitions(&self) -> usize {
        self.opened.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<filterblock.PartitionedRangeFilter of {} keys, {} partitions>",
            self.num_keys(),
            self.num_partitions()
        )
    }
}
