//! Exit codes, and the message and code of an error.

use crate::progress;
use filterblock::{BuildError, DecodeError};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The exit code of the process. The greatest of several is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Code {
    /// Done; a single key may be present, a cell or row exists.
    Ok = 0,
    /// A single key is certainly absent; a cell or row does not exist.
    Absent = 1,
    /// The command line cannot be executed.
    Usage = 2,
    /// A filter block or a store is damaged, newer than this tool, or does not match the keys.
    Damaged = 3,
    /// Reading or writing failed; a store does not exist, or is open in another process.
    Io = 4,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A failure with a message for people.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn usage(subcommand: &str, message: impl fmt::Display) -> Self {
        let message = format!("error: {message}\n\nFor more information, try `filterblock {subcommand} --help`.");
        Self::new(Code::Usage, message)
    }

    pub(crate) fn damaged(message: String) -> Self {
        Self::new(Code::Damaged, message)
    }

    /// `failed` is the failed operation, as in "cannot read"; `consequence` one or more sentences, the last of which
    /// names the next command.
    pub(crate) fn io(path: &Path, failed: &str, error: &std::io::Error, consequence: &str) -> Self {
        Self { code: Code::Io, message: format!("{}: {failed}: {error}. {consequence}", path.display()) }
    }

    pub(crate) fn new(code: Code, message: String) -> Self {
        Self { code, message }
    }

    /// Returns the failure of a table of the store; `consequence` is that of [`Failure::io`].
    pub(crate) fn table(error: &filterblock_kv::Error, consequence: &str) -> Self {
        Self { code: code_of_store(error), message: format!("{error}. {consequence}") }
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The code of the first cause in the chain that has one.
fn code_of(error: &anyhow::Error) -> Code {
    let code = |cause: &(dyn std::error::Error + 'static)| {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return Some(failure.code());
        }
        if cause.is::<DecodeError>() {
            return Some(Code::Damaged);
        }
        if let Some(error) = cause.downcast_ref::<filterblock_kv::Error>() {
            return Some(code_of_store(error));
        }
        cause.downcast_ref::<BuildError>().map(code_of_build)
    };
    error.chain().find_map(code).unwrap_or(Code::Io)
}

/// A policy or size that cannot be met is wrong usage; a block that fails its self-check is damaged.
pub(crate) fn code_of_build(error: &BuildError) -> Code {
    match error {
        BuildError::SelfCheck { .. } => Code::Damaged,
        _ => Code::Usage,
    }
}

pub(crate) fn code_of_store(error: &filterblock_kv::Error) -> Code {
    use filterblock_kv::Error;
    match error {
        Error::Damaged { .. } | Error::NewerVersion { .. } | Error::Misplaced { .. } => Code::Damaged,
        Error::Missing { .. } | Error::NoManifest { .. } | Error::HashKey { .. } => Code::Damaged,
        Error::TooLong { .. } | Error::OutOfRange { .. } | Error::ConflictingHashKeys { .. } => Code::Usage,
        _ => Code::Io,
    }
}

/// Writes a message to standard error, where that is still open.
pub(crate) fn message(text: impl fmt::Display) {
    // A closed standard error is not a failure.
    let _ = progress::beside(|| writeln!(std::io::stderr(), "{text}"));
}

/// Reports `error` on standard error; returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Failure>() {
        Some(failure) => message(failure),
        None => message(format_args!("error: {error:#}")),
    }
    code_of(error).into()
}
