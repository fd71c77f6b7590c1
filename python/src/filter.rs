//! One filter block.

use crate::batch::twin;
use crate::keys::{BATCH_LEN, Keys, Odd};
use crate::scalar::Scalar;
use crate::{error, mask, memory, policy};
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder};
use filterblock_set::{EntryBuffer, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple};

/// The reason why a filter was not built, without the interpreter.
enum Failure {
    Known(PyErr),
    /// The position of a value of an array.
    NotIndexable(usize),
}

impl Failure {
    /// Returns the exception for a build from `keys`.
    fn of(self, keys: &Bound<'_, PyAny>) -> PyErr {
        match self {
            Self::Known(error) => error,
            // An array of Arrow is not indexed: it may lie about its buffers, and pyarrow then ends the process.
            Self::NotIndexable(position) => match keys.getattr("dtype").and_then(|_| keys.get_item(position)) {
                Ok(key) if keys.hasattr("__array_interface__").unwrap_or(false) => error::of_key(position, &key),
                _ => error::of_array_key(position, keys),
            },
        }
    }
}

/// Build a filter block of all keys.
///
/// Raise ``TypeError`` for keys that have no entry, and ``BuildError`` without keys unless ``allow_empty``.
#[pyfunction]
#[pyo3(signature = (keys, policy = "ribbon:fpr=1%", *, context = 0, allow_empty = false, secret_key = None))]
pub fn build<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    policy: &str,
    context: u64,
    allow_empty: bool,
    secret_key: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let policy = policy::parse(policy, secret_key)?;
    let values = Keys::of(keys, Odd::Refused)?;
    let block = py.detach(|| {
        let mut builder = FilterBlockBuilder::new(&policy);
        let needed = values.len().saturating_mul(size_of::<u64>());
        builder.try_reserve(values.len()).map_err(|_| Failure::Known(error::memory(needed)))?;
        values.try_for_each_batch(policy.hasher(), |first, batch| {
            batch.for_each(|hash| builder.add_hash(hash));
            batch.not_indexable.map_or(Ok(()), |at| Err(Failure::NotIndexable(first + at)))
        })?;
        let needed = memory::of_finish(&policy, builder.num_added());
        memory::ask(needed).map_err(Failure::Known)?;
        builder.set_context(context);
        if allow_empty {
            builder.allow_empty();
        }
        builder.finish().map_err(|error| Failure::Known(error::of_build(error)))
    });
    memory::to_python(py, &block.map_err(|failure| failure.of(keys))?)
}

/// Open a filter block.
#[pyfunction]
#[pyo3(signature = (block, policy = None, *, context = 0, secret_key = None))]
pub fn open(
    block: &Bound<'_, PyAny>,
    policy: Option<&str>,
    context: u64,
    secret_key: Option<&Bound<'_, PyAny>>,
) -> PyResult<Filter> {
    let options = policy::options(policy, secret_key, context)?;
    let bytes = crate::buffer::Bytes::of(block)?;
    memory::ask(bytes.as_slice().len())?;
    let bytes = AlignedBytes::copy_of(bytes.as_slice());
    let filter = options.open_owned(bytes).map_err(error::of_decode)?;
    Ok(Filter { filter: Box::new(filter), context, has_secret: secret_key.is_some() })
}

/// An opened filter block.
#[pyclass(frozen, module = "filterblock")]
pub struct Filter {
    // Of a line of its own: Python does not align its objects to one.
    filter: Box<FilterBlock<AlignedBytes>>,
    context: u64,
    has_secret: bool,
}

impl Filter {
    /// Returns whether the filter may have the entry of a value, or that of its [`twin`], which equals it in Python; it
    /// is true for a null, which has no entry.
    fn may_have(&self, value: Option<Scalar>) -> bool {
        let value = value.unwrap_or(Scalar::NotIndexable);
        self.has_entry(value.value()) || twin(value.value()).is_some_and(|twin| self.has_entry(twin))
    }

    /// Returns whether the filter may have the value's entry; true if it has none.
    #[inline]
    fn has_entry(&self, value: Value<'_>) -> bool {
        let mut buffer = EntryBuffer::default();
        value.entry(&mut buffer).is_none_or(|entry| self.filter.may_contain(entry))
    }
}

#[pymethods]
impl Filter {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        // The commonest keys, without a copy.
        if let Ok(text) = key.cast_exact::<PyString>() {
            return Ok(text.to_str().map_or(true, |text| self.filter.may_contain(text.as_bytes())));
        }
        if let Ok(Ok(number)) = key.cast_exact::<PyInt>().map(|number| number.extract::<i64>()) {
            return Ok(self.has_entry(Value::Int(number)));
        }
        if let Ok(bytes) = key.cast_exact::<PyBytes>() {
            return Ok(self.filter.may_contain(bytes.as_bytes()));
        }
        Ok(self.may_have(Scalar::of(key, Odd::Maybe)?))
    }

    /// Whether the filter's table may have the key; also ``key in filter``.
    #[pyo3(signature = (key, /))]
    fn may_contain(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(key)
    }

    /// Return a mask of the keys that the table may have, in their order.
    fn may_contain_many<'py>(&self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let keys = Keys::of(keys, Odd::Maybe)?;
        mask::of(py, keys.len(), |mask| py.detach(|| self.answer_all(&keys, mask)))
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

    /// Pickles hold the block and its context, and are opened with all checks.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        if self.has_secret {
            let text = "a filter with a secret key is not pickled: store to_bytes(), and open it with the key";
            return Err(PyTypeError::new_err(text));
        }
        opened_later(py, "open", self.context, self.to_bytes(py)?)
    }

    fn __repr__(&self) -> String {
        let (kind, entries, len) = (self.filter.kind(), self.filter.num_entries(), self.filter.as_bytes().len());
        format!("<filterblock.Filter {kind}, {entries} entries, {len} bytes>")
    }
}

/// Returns the function of this package, with its arguments, by which pickle opens a block again, under its context.
pub fn opened_later<'py>(
    py: Python<'py>,
    name: &str,
    context: u64,
    block: Bound<'py, PyBytes>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let options = PyDict::new(py);
    options.set_item("context", context)?;
    let open = py.import("filterblock")?.getattr(name)?;
    let open = py.import("functools")?.call_method("partial", (open,), Some(&options))?;
    Ok((open, PyTuple::new(py, [block])?))
}

impl Filter {
    /// Writes 1 for each *maybe*, and 0 for each *no*.
    fn answer_all(&self, keys: &Keys, mut mask: &mut [u8]) {
        mask.fill(1);
        let mut answers = [true; BATCH_LEN];
        let Ok(()) = keys.try_for_each_batch(self.filter.entry_hasher().hasher(), |_, batch| {
            let answers = &mut answers[..batch.hashes.len()];
            self.filter.may_contain_hashes(&batch.hashes, answers);
            batch.twins.iter().for_each(|&(at, twin)| answers[at] |= self.filter.may_contain_hash(twin));
            batch.without.iter().for_each(|&at| answers[at] = true);
            let (these, others) = std::mem::take(&mut mask).split_at_mut(answers.len());
            these.iter_mut().zip(answers).for_each(|(byte, answer)| *byte = u8::from(*answer));
            mask = others;
            Ok::<_, std::convert::Infallible>(())
        });
    }
}
