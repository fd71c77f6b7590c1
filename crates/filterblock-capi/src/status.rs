//! The status of a call, and its message.

use core::ffi::{CStr, c_char};
use filterblock::{BuildError, DecodeError, DecodeErrorClass, ParsePolicyError};
use std::borrow::Cow;
use std::collections::TryReserveError;

/// The way in which a call ended. Later versions may have more: a number that is not listed here is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The call did what it is for.
    Ok = 0,
    /// The bytes are not what a writer wrote: rebuild the filter. Until then every key is *maybe*.
    Damaged = 1,
    /// The bytes are intact but use something that this version does not know: upgrade the library. Every key is
    /// *maybe*.
    Newer = 2,
    /// The bytes are an intact block, but not the one that is expected: the context, hash, seed or key transform is a
    /// different one. Every key is *maybe*.
    Mismatch = 3,
    /// An argument is null, no UTF-8, of an impossible length, or a misaligned array; the message names it.
    Argument = 4,
    /// A setting or a text of a policy is outside its legal range.
    Setting = 5,
    /// The policy has no block for what was added: the entries exceed its cap in bytes or what the format can describe,
    /// or no seed solves them; a key is of a form of which the transform makes no entries; keys are not integers where
    /// a range filter's policy asks for them, or not in order where partitions need it; or nothing was added. The table
    /// has no filter.
    NotBuilt = 6,
    /// The memory is too short for the block.
    TooShort = 7,
    /// A finished block did not contain every entry that it was built from, and was discarded: the memory or the
    /// processor is faulty, or the library has a defect. The table has no filter.
    SelfCheck = 8,
    /// The builder may lack a key, as an earlier call failed: it refuses to finish until it is cleared.
    Incomplete = 9,
    /// There is no memory for the result.
    NoMemory = 10,
    /// The library has panicked: a defect of the library.
    Panic = 11,
}

/// The length of a message in bytes, its NUL included.
pub const FILTERBLOCK_MESSAGE_SIZE: usize = 480;

/// The reason why a call failed. It is owned by the caller; every call that takes one fills it in. It takes no part in
/// the work of the call, and may be null.
#[repr(C)]
pub struct Error {
    /// The status that the call returns, too.
    pub(crate) status: Status,
    /// Zeros, until a later version has more to report.
    pub(crate) reserved: [u32; 7],
    /// A message in English, in UTF-8, truncated to its length, and always terminated; empty after a success.
    pub(crate) message: [c_char; FILTERBLOCK_MESSAGE_SIZE],
}

const NAMES: [&CStr; 12] = [
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
    c"no memory",
    c"panic",
];

impl Status {
    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize].to_str().unwrap_or_default()
    }
}

/// The name of a status, such as "damaged", or "unknown" for a number that is not a status, as a static text.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_status_name(status: u32) -> *const c_char {
    usize::try_from(status).ok().and_then(|status| NAMES.get(status)).copied().unwrap_or(c"unknown").as_ptr()
}

/// A status with its message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: Cow<'static, str>,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn argument(name: &'static str) -> Self {
        Self::new(Status::Argument, std::format!("the argument '{name}' is null or cannot be right"))
    }

    pub(crate) fn panic() -> Self {
        Self::new(Status::Panic, "the library has panicked: a defect")
    }

    pub(crate) fn no_memory() -> Self {
        Self::new(Status::NoMemory, "there is no memory for the result")
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        let status = match error.class() {
            DecodeErrorClass::Damaged => Status::Damaged,
            DecodeErrorClass::Mismatch => Status::Mismatch,
            // Of this class, or of one that a newer library knows.
            _ => Status::Newer,
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
            | BuildError::RangeSetting { .. }
            | BuildError::NoFixedShape { .. }
            | BuildError::CappedPartitions { .. } => Status::Setting,
            BuildError::OutputTooShort { .. } => Status::TooShort,
            BuildError::SelfCheck { .. } => Status::SelfCheck,
            _ => Status::NotBuilt,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ParsePolicyError> for Failure {
    fn from(error: ParsePolicyError) -> Self {
        Self::new(Status::Setting, error.to_string())
    }
}

impl From<TryReserveError> for Failure {
    fn from(_: TryReserveError) -> Self {
        Self::no_memory()
    }
}
