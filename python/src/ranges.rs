//! Range filters.

use crate::filter::opened_later;
use crate::{error, memory, ordered, policy};
use filterblock::range::{self, RangeFilterBuilder};
use filterblock::{AlignedBytes, OpenOptions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Bytes that a finish takes for a key, beside the keys and the block.
const BYTES_PER_KEY: usize = 24;

/// Build a range filter of all keys, which are text or bytes, in any order.
///
/// Raise ``TypeError`` for other keys, and ``BuildError`` without keys unless ``allow_empty``.
#[pyfunction]
#[pyo3(signature = (keys, policy = "range:14", *, context = 0, allow_empty = false))]
pub fn build_ranges<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    policy: &str,
    context: u64,
    allow_empty: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let policy = policy::parse_ranges(policy)?;
    let keys = ordered::keys(keys)?;
    let block = py.detach(|| {
        let mut builder = RangeFilterBuilder::new(policy);
        let (mut missing, mut num_bytes) = (None, 0);
        keys.for_each(|value| {
            let value = value.filter(|_| missing.is_none());
            let Some(key) = value.as_ref().and_then(ordered::bytes) else { return };
            num_bytes += key.len();
            match builder.try_reserve_key(key.len()) {
                Ok(()) => builder.add_key(key),
                Err(_) => missing = Some(num_bytes),
            }
        });
        missing.map_or(Ok(()), |num_bytes| Err(error::memory(num_bytes)))?;
        memory::ask(num_bytes.saturating_add(keys.len().saturating_mul(BYTES_PER_KEY)))?;
        builder.set_context(context);
        if allow_empty {
            builder.allow_empty();
        }
        builder.finish().map_err(error::of_build)
    });
    memory::to_python(py, &block?)
}

/// Open a range filter.
#[pyfunction]
#[pyo3(signature = (block, *, context = 0))]
pub fn open_ranges(block: &Bound<'_, PyAny>, context: u64) -> PyResult<RangeFilter> {
    let bytes = crate::buffer::Bytes::of(block)?;
    memory::ask(bytes.as_slice().len())?;
    let bytes = AlignedBytes::copy_of(bytes.as_slice());
    let filter = OpenOptions::new().with_context(context).open_ranges(bytes);
    Ok(RangeFilter { filter: filter.map_err(error::of_decode)?, context })
}

/// An opened range filter.
#[pyclass(frozen, module = "filterblock")]
pub struct RangeFilter {
    filter: range::RangeFilter<AlignedBytes>,
    context: u64,
}

#[pymethods]
impl RangeFilter {
    /// Whether the table may have a key from ``lower`` on and below ``upper``; None is no bound.
    ///
    /// Bounds that are not in order are *maybe*.
    #[pyo3(signature = (lower, upper, *, lower_included = true, upper_included = false))]
    fn may_contain_range(
        &self,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
        lower_included: bool,
        upper_included: bool,
    ) -> PyResult<bool> {
        let (lower, upper) = (ordered::bound(lower, lower_included)?, ordered::bound(upper, upper_included)?);
        Ok(self.filter.may_contain_range(ordered::as_slices(&lower), ordered::as_slices(&upper)))
    }

    /// Whether the table may have a key that begins with the prefix.
    fn may_contain_prefix(&self, prefix: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.filter.may_contain_prefix(&ordered::prefix(prefix)?))
    }

    /// Whether the table may have the key; also ``key in filter``.
    #[pyo3(signature = (key, /))]
    fn may_contain(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(ordered::key(key)?.is_none_or(|key| self.filter.may_contain(&key)))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.may_contain(key)
    }

    /// The rate at which empty ranges of ``length`` integers pass: 0 if all keys are kept whole; None if there is none for all
    /// ranges, as of most filters of the form ``cut``.
    fn false_positive_rate(&self, length: u64) -> Option<f64> {
        self.filter.false_positive_rate(length)
    }

    /// The form in which the filter has its keys: ``integers``, ``cut``, or None without keys.
    #[getter]
    fn form(&self) -> Option<&'static str> {
        self.filter.form().map(range::RangeForm::name)
    }

    /// The number of distinct keys.
    #[getter]
    fn num_keys(&self) -> u64 {
        self.filter.num_entries()
    }

    /// The length of the block in bytes.
    #[getter]
    fn num_bytes(&self) -> usize {
        self.filter.as_bytes().len()
    }

    /// The bits a key, header included; None without keys.
    #[getter]
    fn bits_per_key(&self) -> Option<f64> {
        self.filter.bits_per_key()
    }

    /// Return the block.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        memory::to_python(py, self.filter.as_bytes())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        opened_later(py, "open_ranges", self.context, self.to_bytes(py)?)
    }

    fn __repr__(&self) -> String {
        format!("<filterblock.RangeFilter of {} keys, {} bytes>", self.num_keys(), self.num_bytes())
    }
}
