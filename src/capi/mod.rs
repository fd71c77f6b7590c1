//! The library for C, and for languages that call C. The header `include/filterblock.h` is made from this module, and
//! `integrations/c` shows how to build and link it. In Rust there is no reason to use it: what is kept stable is the
//! header, by [`FILTERBLOCK_ABI_VERSION`], and not the Rust types of this module.
//!
//! # The rules of every call
//!
//! 1. A pointer to bytes, keys or answers is valid for the length that is given with it; a null pointer with the length
//!    0 is an empty slice. A pointer to a result is null or valid for writes. Handles are null, or come from the call
//!    that makes them and have not been freed.
//! 2. A reader borrows its block, unless it is opened with `FILTERBLOCK_OPEN_COPY`: the bytes outlive it and do not
//!    change.
//! 3. Readers, counters, ledgers and accounts may be used by several threads at once. Policies may be read by several
//!    threads at once, and builders belong to one.
//! 4. Functions that the caller passes neither throw nor jump out.
//!
//! What is broken and can be noticed is a [`Status`], or *maybe*. A panic does not leave a call. The system's allocator
//! ends the process where it has no memory for what a build needs besides the block and the hashes.

#![expect(clippy::missing_safety_doc, reason = "the rules of every call are those of the module")]

mod border;
mod memory;
mod status;

mod policy;
mod sizes;

mod counters;

mod builder;
mod finish;

mod open;
mod reader;

mod info;
mod probe;

mod batch;
mod thin;

mod compact;
mod ledger;

pub use batch::*;
pub use builder::*;
pub use compact::*;
pub use counters::*;
pub use finish::*;
pub use info::*;
pub use ledger::*;
pub use memory::*;
pub use open::*;
pub use policy::*;
pub use probe::*;
pub use reader::*;
pub use sizes::*;
pub use status::*;
pub use thin::*;

use core::ffi::c_char;

/// Version of this interface. It grows by one when a program compiled against the older header cannot use a newer
/// library; functions and fields that are added leave it as it is.
pub const FILTERBLOCK_ABI_VERSION: u32 = 1;

/// `FILTERBLOCK_ABI_VERSION` of the library in use: compare it with that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_abi_version() -> u32 {
    FILTERBLOCK_ABI_VERSION
}

/// The library's version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
