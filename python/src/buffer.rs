//! The bytes of arrays, read without the interpreter's lock. The one file with `unsafe`.
#![expect(unsafe_code, reason = "bytes of a buffer outlive the lock, which PyO3's safe slices do not express")]

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// The bytes of an object with the buffer protocol, which keeps them at their place as long as this lives.
///
/// As for every library that reads arrays without the lock, another thread must not write to the array meanwhile; if it
/// does, the keys are those before or after.
pub struct Bytes(PyBuffer<u8>);

impl Bytes {
    /// Returns the bytes of an object's contiguous buffer of any format.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,))?;
        Ok(Self(PyBuffer::get(&view.call_method1("cast", ("B",))?)?))
    }

    /// Returns the bytes as they are now.
    pub fn as_slice(&self) -> &[u8] {
        if self.0.item_count() == 0 {
            return &[];
        }
        // SAFETY: a buffer of `B` that `cast` returns is contiguous, has one dimension and `item_count` bytes at
        // `buf_ptr`, and stays exported, neither moved nor freed, until `self.0` is dropped.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.item_count()) }
    }
}
