//! One filter block.

use crate::error;
use crate::keys::Keys;
use crate::scalar::Scalar;
use filterblock::{AlignedBytes, FilterBlock, FilterBlockBuilder, KeyHash, KeyTransform, OpenOptions};
use filterblock_set::{EntryBuffer, TimeUnit, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Hashes of one batch: they stay in a cache, while the filter's lines are fetched.
const BATCH_LEN: usize = 4096;

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
        let (mut is_whole, mut num_keys) = (true, 0);
        keys.for_each_hash(policy.hasher(), |hash| match hash {
            Some(Some(hash)) => {
                builder.add_hash(hash);
                num_keys += 1;
            }
            Some(None) => is_whole = false,
            None => {}
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

/// Returns the value of another class, so of another entry, that equals a date, or a timestamp at midnight: NumPy compares
/// them.
#[inline]
fn twin(value: Value<'_>) -> Option<Value<'_>> {
    const SECONDS: i64 = 86_400;
    match value {
        Value::Date(days) => Some(Value::LocalTimestamp(i64::from(days) * SECONDS, TimeUnit::Second)),
        Value::LocalTimestamp(count, unit) => {
            let of_day = SECONDS * 1000i64.pow(unit as u32);
            let days = i32::try_from(count / of_day).ok()?;
            (count % of_day == 0).then_some(Value::Date(days))
        }
        _ => None,
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
        let answers = py.detach(|| self.mask(&keys));
        as_mask(py, &answers)
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
    fn mask(&self, keys: &Keys) -> Vec<bool> {
        let mut answers = vec![true; keys.len()];
        if self.filter.transform() != KeyTransform::WholeKey {
            return answers;
        }
        let hasher = self.filter.hasher();
        let mut hashes: Vec<KeyHash> = Vec::with_capacity(BATCH_LEN);
        // A batch has the answers from `first` on, unless a key of it is maybe whatever the filter has.
        let (mut at, mut first, mut maybe) = (0, 0, Vec::new());
        let mut answer = |hashes: &mut Vec<KeyHash>, first: usize, maybe: &mut Vec<usize>| {
            let batch = &mut answers[first..][..hashes.len()];
            self.filter.may_contain_hashes(hashes, batch);
            maybe.drain(..).for_each(|at: usize| batch[at - first] = true);
            hashes.clear();
        };
        let mut buffer = EntryBuffer::default();
        keys.for_each(|value| {
            let hash = value.and_then(|value| value.entry(&mut buffer).map(|entry| hasher.hash(entry)));
            let has_twin = || value.and_then(twin).is_some_and(|twin| self.has_entry(twin));
            if hash.is_none() || has_twin() {
                maybe.push(at);
            }
            hashes.push(hash.unwrap_or(KeyHash::from_raw(0)));
            at += 1;
            if hashes.len() == BATCH_LEN {
                answer(&mut hashes, first, &mut maybe);
                first = at;
            }
        });
        answer(&mut hashes, first, &mut maybe);
        answers
    }
}

/// A NumPy array of bool, or a `memoryview` of bool where NumPy is not there.
pub fn as_mask<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, answers.len(), |bytes| {
        bytes.iter_mut().zip(answers).for_each(|(byte, answer)| *byte = u8::from(*answer));
        Ok(())
    })?;
    match py.import("numpy") {
        Ok(numpy) if !answers.is_empty() => numpy.call_method1("frombuffer", (bytes, "bool")),
        Ok(numpy) => numpy.call_method1("zeros", (0, "bool")),
        Err(_) => py.import("builtins")?.getattr("memoryview")?.call1((bytes,))?.call_method1("cast", ("?",)),
    }
}
