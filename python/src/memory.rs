//! Memory that is requested before it is needed: Rust ends the process where an allocation fails, Python raises
//! `MemoryError`.

use crate::error;
use filterblock::FilterPolicy;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes an entry that the kind that takes most needs to finish, beside the hashes and the block.
const BYTES_PER_ENTRY: usize = 22;
/// What a kind needs beside them.
const FIXED_BYTES: usize = 8 << 20;

/// Returns an error unless so much memory can be had in one piece.
pub fn ask(num_bytes: usize) -> PyResult<()> {
    can_have(num_bytes).map_err(error::memory)
}

/// As `ask`, without the interpreter.
pub fn can_have(num_bytes: usize) -> Result<(), usize> {
    Vec::<u8>::new().try_reserve_exact(num_bytes).map_err(|_| num_bytes)
}

/// Returns the memory that a block of `num_entries` needs to be finished and returned.
pub fn of_finish(policy: &FilterPolicy, num_entries: u64) -> usize {
    let block = policy.expected_block_len(num_entries).unwrap_or(0);
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let working = bytes(num_entries).saturating_mul(BYTES_PER_ENTRY);
    bytes(block).saturating_mul(2).saturating_add(working).saturating_add(FIXED_BYTES)
}

/// Returns the bytes as an object of Python.
pub fn to_python<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })
}
