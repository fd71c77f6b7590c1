//! Filters of fewer columns, without the keys.

use super::border::{caught_or, put, required, run};
use super::memory::Bytes;
use super::reader::Reader;
use super::status::{Error, Failure, Status};
use core::ffi::c_void;
use std::vec::Vec;

/// The block of the first `columns` columns.
fn thin(reader: Option<&Reader>, columns: u32, context: u64) -> Result<Vec<u8>, Failure> {
    Ok(required(reader, "reader")?.filter.thin(columns, context)?)
}

/// The length in bytes of the block that `filterblock_reader_thin` makes; 0 where it makes none.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_reader_thinned_len(reader: Option<&Reader>, columns: u32) -> usize {
    let len = caught_or(None, || reader.and_then(|reader| reader.filter.thinned_len(columns)));
    len.and_then(|len| usize::try_from(len).ok()).unwrap_or(0)
}

/// A block, bound to `context`, of the first `columns` columns and the same entries, in memory of the library: it takes
/// less memory, and passes twice as many absent keys for each column left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_thin(
    reader: Option<&Reader>,
    columns: u32,
    context: u64,
    bytes: *mut Bytes,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe {
        put(bytes, Bytes::NONE);
        run(error, || {
            if bytes.is_null() {
                return Err(Failure::argument("bytes"));
            }
            put(bytes, Bytes::new(thin(reader, columns, context)?));
            Ok(())
        })
    }
}

/// As `filterblock_reader_thin`, to the `capacity` bytes at `out`; its length to `*len`, which is 0 after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_thin_into(
    reader: Option<&Reader>,
    columns: u32,
    context: u64,
    out: *mut c_void,
    capacity: usize,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe {
        put(len, 0);
        run(error, || {
            if out.is_null() || len.is_null() {
                return Err(Failure::argument("out"));
            }
            let block = thin(reader, columns, context)?;
            if block.len() > capacity {
                let message = std::format!("a block of {} bytes does not fit memory of {capacity} bytes", block.len());
                return Err(Failure::new(Status::TooShort, message));
            }
            core::ptr::copy_nonoverlapping(block.as_ptr(), out.cast(), block.len());
            put(len, block.len());
            Ok(())
        })
    }
}
