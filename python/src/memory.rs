//! Memory that is requested before it is needed: Rust ends the process where an allocation fails, Python raises
//! `MemoryError`.

use crate::error;
use filterblock::FilterPolicy;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The bytes an entry that building takes beside the hashes and the block, with the kind that takes most.
const BYTES_PER_ENTRY: usize = 22;
/// The bytes that building takes however many entries there are.
const FIXED_BYTES: usize = 8 << 20;

/// Returns an error unless `num_bytes` can be allocated in one piece. It does not need the interpreter.
pub fn ask(num_bytes: usize) -> PyResult<()> {
    Vec::<u8>::new().try_reserve_exact(num_bytes).map_err(|_| error::memory(num_bytes))
}

/// Returns the memory that a block of `num_entries` needs to be finished and returned.
pub fn of_finish(policy: &FilterPolicy, num_entries: u64) -> usize {
    // Where the policy permits no such block, finishing reports the error.
    let block = policy.expected_block_len(num_entries).unwrap_or(0);
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let working = bytes(num_entries).saturating_mul(BYTES_PER_ENTRY);
    // The block, and the copy that Python gets.
    bytes(block).saturating_mul(2).saturating_add(working).saturating_add(FIXED_BYTES)
}

/// Returns the bytes as an object of Python.
pub fn to_python<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })
}
