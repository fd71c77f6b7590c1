//! Answers of many keys or files.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// Returns a NumPy array of `len` bool, or a `memoryview` of bool where NumPy is not installed. `fill` writes its
/// bytes.
pub fn of<'py>(py: Python<'py>, len: usize, fill: impl FnOnce(&mut [u8])) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, len, |bytes| {
        fill(bytes);
        Ok(())
    })?;
    match py.import("numpy") {
        Ok(numpy) => numpy.call_method1("frombuffer", (bytes, "bool")),
        Err(_) => py.import("builtins")?.getattr("memoryview")?.call1((bytes,))?.call_method1("cast", ("?",)),
    }
}
