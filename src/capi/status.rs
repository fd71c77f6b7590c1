//! How a call ends.

use crate::{BuildError, DecodeError, DecodeErrorClass, ParsePolicyError, ThinError};
use core::ffi::{CStr, c_char};
use std::borrow::Cow;
use std::collections::TryReserveError;
use std::string::ToString;

/// How a call ended. Later versions may have more: a number that is not listed here is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// It did what it is for.
    Ok = 0,
    /// The bytes are not what a writer wrote: rebuild the filter. Until then every key is *maybe*.
    Damaged = 1,
    /// The bytes are intact but use something that this version does not know: upgrade the library. Every key is
    /// *maybe*.
    Newer = 2,
    /// The bytes are an intact block, but not the one that is expected: the context, hash, seed or key transform is a
    /// different one. Every key is *maybe*.
    Mismatch = 3,
    /// An argument is null, misaligned, no UTF-8 or of an impossible length; the message names it.
    Argument = 4,
    /// A setting or a text of a policy is outside its legal range.
    Setting = 5,
    /// The policy has no block for these entries: they exceed its cap in bytes, or what the format can describe. The
    /// table has no filter.
    NotBuilt = 6,
    /// The memory is too short for the block.
    TooShort = 7,
    /// A finished block did not contain every entry that it was built from, and was discarded: the memory or the
    /// processor is faulty, or the library has a defect. The table has no filter.
    SelfCheck = 8,
    /// The builder may lack a key, as an earlier call failed: it refuses to finish until it is cleared.
    Incomplete = 9,
    /// The filter has no columns, or not as many as were named.
    Columns = 10,
    /// There is no memory for the result.
    NoMemory = 11,
    /// The library has panicked: a defect of the library.
    Panic = 12,
}

/// Bytes of a message, its NUL included.
pub const FILTERBLOCK_MESSAGE_SIZE: usize = 252;

/// Why a call failed. Owned by the caller; every call that takes one fills it in. Takes no part in what the call does,
/// and may be null.
#[repr(C)]
pub struct Error {
    /// What the call returns, too.
    pub status: Status,
    /// In English, in UTF-8, truncated to its length, and always terminated; empty after a success.
    pub message: [c_char; FILTERBLOCK_MESSAGE_SIZE],
}

const NAMES: [&CStr; 13] = [
    c"ok",
    c"damaged",
    c"newer",
    c"mismatch",
    c"argument",
    c"setting",
    c"not built",
    c"too short",
    c"self-check",
    c"incomplete",
    c"columns",
    c"no memory",
    c"panic",
];

impl Status {
    pub(super) fn name(self) -> &'static str {
        NAMES[self as usize].to_str().unwrap_or_default()
    }
}

/// The name of a status, such as "damaged". Of a number that is no status, "unknown". Static.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_status_name(status: u32) -> *const c_char {
    usize::try_from(status).ok().and_then(|status| NAMES.get(status)).copied().unwrap_or(c"unknown").as_ptr()
}

/// A status with its message.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: Status,
    pub(super) message: Cow<'static, str>,
}

impl Failure {
    pub(super) fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }

    pub(super) fn argument(name: &'static str) -> Self {
        Self::new(Status::Argument, std::format!("the argument '{name}' is null or cannot be right"))
    }

    pub(super) fn panic() -> Self {
        Self::new(Status::Panic, "the library has panicked: a defect")
    }

    pub(super) fn no_memory() -> Self {
        Self::new(Status::NoMemory, "there is no memory for the result")
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        let status = match error.class() {
            DecodeErrorClass::Damaged => Status::Damaged,
            DecodeErrorClass::Newer => Status::Newer,
            DecodeErrorClass::Mismatch => Status::Mismatch,
        };
        Self::new(status, error.to_string())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let status = match error {
            BuildError::BitsPerKey { .. }
            | BuildError::FalsePositiveRate { .. }
            | BuildError::Setting { .. }
            | BuildError::CappedPartitions { .. } => Status::Setting,
            BuildError::ByteCap { .. }
            | BuildError::TooLarge { .. }
            | BuildError::Unsolved { .. }
            | BuildError::NoCode { .. } => Status::NotBuilt,
            BuildError::OutputTooShort { .. } => Status::TooShort,
            BuildError::SelfCheck { .. } => Status::SelfCheck,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ParsePolicyError> for Failure {
    fn from(error: ParsePolicyError) -> Self {
        Self::new(Status::Setting, error.to_string())
    }
}

impl From<ThinError> for Failure {
    fn from(error: ThinError) -> Self {
        Self::new(Status::Columns, error.to_string())
    }
}

impl From<TryReserveError> for Failure {
    fn from(_: TryReserveError) -> Self {
        Self::no_memory()
    }
}
