//! The library for C, and for languages that call C. The header `include/filterblock.h` is made from this crate, and
//! `run` builds, installs and tests both. In Rust there is no reason to use it: what is kept stable is the header, by
//! [`FILTERBLOCK_ABI_VERSION`].
//!
//! # The rules of every call
//!
//! 1. A pointer to bytes, keys or answers is valid for the length that is given with it; a null pointer with the length
//!    0 is an empty slice. A pointer to a result is null or valid for writes. Handles are null, or come from the call
//!    that makes them and have not been freed. A structure that begins with `size` is valid for that many bytes.
//! 2. A reader borrows its block, unless it is opened with `FILTERBLOCK_OPEN_COPY`: the bytes outlive it and do not
//!    change.
//! 3. Readers, counters and policies may be used by several threads at once, until one changes or frees them. A builder
//!    belongs to one thread.
//! 4. Functions that the caller passes neither throw nor jump out, and call nothing with the builder or reader that they
//!    serve: one that is given up is cleared or freed after the call.
//! 5. Places for different results are different.
//!
//! What is broken and can be noticed is a status, or *maybe*. A panic does not leave a call. The system's allocator
//! ends the process where it has no memory for copies, partitions, handles, and what a build needs besides keys and block.

#![expect(
    unsafe_code,
    reason = "pointers from C; each block names the argument and the rule or check that pays for it"
)]

mod border;
mod status;
mod versioned;

mod policy;

mod counters;
mod memory;

mod builder;
mod reader;

mod compact;
mod partition;
mod partition_builder;
mod query;
mod range;
mod verdict;

use core::ffi::{CStr, c_char};

/// Version of this interface. It grows by one when a program compiled against the older header cannot use a newer
/// library; functions and fields that are added leave it as it is.
pub const FILTERBLOCK_ABI_VERSION: u32 = 1;

/// `FILTERBLOCK_ABI_VERSION` of the library in use: compare it with the header's.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_abi_version() -> u32 {
    FILTERBLOCK_ABI_VERSION
}

/// The library's version, such as "0.1.0", as a static text.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
