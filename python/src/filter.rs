//! One filter block.

use crate::batch::twin;
use crate::error;
use crate::keys::{BATCH_LEN, Keys};
use crate::scalar::Scalar;
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, KeyTransform, OpenOptions};
use filterblock_set::{EntryBuffer, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// build(keys, policy="ribbon:fpr=1%", *, context=0)
/// --
///
/// Build a filter block of all keys.
#[pyfunction]
#[pyo3(signature = (keys, policy = "ribbon:fpr=1%", *, context = 0))]
pub fn build<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    policy: &str,
    context: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let policy = error::policy(policy)?;
    let keys = Keys::of(keys)?;
    let block = py.detach(|| {
        let mut builder = FilterBlockBuilder::new(&policy);
        let reserved = builder.try_reserve(keys.len());
        let mut is_whole = true;
        keys.for_each_batch(policy.hasher(), |batch| {
            is_whole &= !batch.is_partial;
            batch.for_each(|hash| builder.add_hash(hash));
        });
        drop(reserved);
        (is_whole, builder.set_context(context).allow_empty().finish())
    });
    match block {
        (false, _) => Err(PyTypeError::new_err(
            "some keys are not indexable, and a filter without them would deny them: see the types in the README",
        )),
        (true, block) => Ok(PyBytes::new(py, &block.map_err(error::of_build)?)),
    }
}

/// open(block, policy=None, *, context=0)
/// --
///
/// Open a filter block.
#[pyfunction]
#[pyo3(signature = (block, policy = None, *, context = 0))]
pub fn open(block: &Bound<'_, PyAny>, policy: Option<&str>, context: u64) -> PyResult<Filter> {
    let bytes = crate::buffer::Bytes::of(block)?;
    let bytes = AlignedBytes::copy_of(bytes.as_slice());
    let options = OpenOptions::new().with_context(context);
    let options = match policy {
        Some(policy) => options.expect(&error::policy(policy)?),
        None => options.expect_transform(KeyTransform::WholeKey),
    };
    let filter = options.open_owned(bytes).map_err(|error| error::of_decode(error.error()))?;
    Ok(Filter { filter })
}

/// An opened filter block.
#[pyclass(frozen, module = "filterblock")]
pub struct Filter {
    filter: FilterBlock<AlignedBytes>,
}

impl Filter {
    fn answer(&self, value: Option<Scalar>) -> bool {
        let value = value.unwrap_or(Scalar::NotIndexable);
        self.filter.transform() != KeyTransform::WholeKey
            || self.has_entry(value.value())
            || twin(value.value()).is_some_and(|twin| self.has_entry(twin))
    }

    /// Whether the filter may have the value's entry; true if it has none.
    fn has_entry(&self, value: Value<'_>) -> bool {
        let mut buffer = EntryBuffer::default();
        value.entry(&mut buffer).is_none_or(|entry| self.filter.may_contain_hash(self.filter.hasher().hash(entry)))
    }
}

#[pymethods]
impl Filter {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.answer(Scalar::of(key)?))
    }

    /// Whether the filter's table may have the key; also ``key in filter``.
    fn may_contain(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(key)
    }

    /// Return a mask of the keys that the table may have, in their order.
    fn may_contain_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let keys = Keys::of(keys)?;
        as_mask(py, keys.len(), |mask| py.detach(|| self.answer_all(&keys, mask)))
    }

    /// The structure of the filter, such as ``ribbon``.
    #[getter]
    fn kind(&self) -> String {
        self.filter.kind().to_string()
    }

    /// The number of distinct keys.
    #[getter]
    fn num_entries(&self) -> u64 {
        self.filter.num_entries()
    }

    /// The length of the block in bytes.
    #[getter]
    fn num_bytes(&self) -> usize {
        self.filter.block_len()
    }

    /// The bits a key, header included; None without keys.
    #[getter]
    fn bits_per_key(&self) -> Option<f64> {
        self.filter.bits_per_key()
    }

    /// Return the block.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.filter.as_bytes())
    }

    fn __repr__(&self) -> String {
        let (kind, entries, len) = (self.filter.kind(), self.filter.num_entries(), self.filter.block_len());
        format!("<filterblock.Filter {kind}, {entries} entries, {len} bytes>")
    }
}

impl Filter {
    /// Writes 1 for each *maybe*, and 0 for each *no*.
    fn answer_all(&self, keys: &Keys, mut mask: &mut [u8]) {
        mask.fill(1);
        if self.filter.transform() != KeyTransform::WholeKey {
            return;
        }
        let mut answers = [true; BATCH_LEN];
        keys.for_each_batch(self.filter.hasher(), |batch| {
            let answers = &mut answers[..batch.hashes.len()];
            self.filter.may_contain_hashes(&batch.hashes, answers);
            batch.twins.iter().for_each(|&(at, twin)| answers[at] |= self.filter.may_contain_hash(twin));
            batch.without.iter().for_each(|&at| answers[at] = true);
            let (these, others) = std::mem::take(&mut mask).split_at_mut(answers.len());
            write(answers, these);
            mask = others;
        });
    }
}

/// Writes 1 for true, and 0 for false.
pub fn write(answers: &[bool], mask: &mut [u8]) {
    mask.iter_mut().zip(answers).for_each(|(byte, answer)| *byte = u8::from(*answer));
}

/// A NumPy array of `len` bool, or a `memoryview` of bool where NumPy is not there, whose bytes `fill` writes.
pub fn as_mask<'py>(py: Python<'py>, len: usize, fill: impl FnOnce(&mut [u8])) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, len, |bytes| {
        fill(bytes);
        Ok(())
    })?;
    match py.import("numpy") {
        Ok(numpy) if len > 0 => numpy.call_method1("frombuffer", (bytes, "bool")),
        Ok(numpy) => numpy.call_method1("zeros", (0, "bool")),
        Err(_) => py.import("builtins")?.getattr("memoryview")?.call1((bytes,))?.call_method1("cast", ("?",)),
    }
}
