//! The operations of a simulated storage, and how each may go wrong.

use core::fmt;
use std::io;

/// Error numbers, the same on every Linux.
const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// The kind of an [`Operation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationKind {
    /// Creates a file.
    Create,
    /// Appends to a file.
    Write,
    /// Syncs a file.
    Sync,
    /// Renames a file.
    Rename,
    /// Removes a file.
    Remove,
    /// Gives a file a second name, of those kept aside.
    KeepAside,
    /// Syncs the directory.
    SyncDir,
    /// Locks the directory; creates the lock's file if there is none.
    Lock,
    /// Opens a file for reading.
    Open,
    /// Reads from a file.
    Read,
    /// Asks for a file's length.
    Length,
    /// Lists the directory.
    List,
}

impl OperationKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Rename,
        Self::Remove,
        Self::KeepAside,
        Self::SyncDir,
        Self::Lock,
        Self::Open,
        Self::Read,
        Self::Length,
        Self::List,
    ];

    /// Returns whether the operation can change what a crash leaves behind.
    pub const fn changes(self) -> bool {
        match self {
            Self::Create | Self::Write | Self::Sync | Self::Rename | Self::Remove => true,
            Self::KeepAside | Self::SyncDir | Self::Lock => true,
            Self::Open | Self::Read | Self::Length | Self::List => false,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::KeepAside => "keep aside",
            Self::SyncDir => "sync dir",
            Self::Lock => "lock",
            Self::Open => "open",
            Self::Read => "read",
            Self::Length => "length",
            Self::List => "list",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How an operation goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// Any operation fails with `EIO` and does nothing. Unsynced data may still be synced later.
    Io,
    /// A creation or a write fails with `ENOSPC` and does nothing.
    NoSpace,
    /// A read or a write fails with `EINTR` and does nothing. A persistent fault strikes every second one, as callers
    /// retry until one succeeds.
    Interrupted,
    /// A read or a write of more than `bytes_max` bytes transfers only the first `bytes_max`; 0 counts as 1.
    Short {
        /// The bytes transferred.
        bytes_max: usize,
    },
    /// A sync fails with `EIO`, what it should have made durable never becomes durable, and later syncs report success,
    /// as on Linux when a page cannot be written back. A file's lost bytes can still be read until the crash. Names
    /// that a directory's sync failed on stay in doubt.
    FailedSync,
}

impl FaultKind {
    /// Returns whether the fault can be injected into an operation of this kind.
    pub const fn applies_to(self, operation: OperationKind) -> bool {
        use OperationKind::{Create, Read, Sync, SyncDir, Write};
        match self {
            Self::Io => true,
            Self::NoSpace => matches!(operation, Create | Write),
            Self::Interrupted | Self::Short { .. } => matches!(operation, Read | Write),
            Self::FailedSync => matches!(operation, Sync | SyncDir),
        }
    }

    /// The error that the caller sees, if any.
    pub(super) fn error(self) -> Option<io::Error> {
        let errno = match self {
            Self::Io | Self::FailedSync => EIO,
            Self::NoSpace => ENOSPC,
            Self::Interrupted => EINTR,
            Self::Short { .. } => return None,
        };
        Some(io::Error::from_raw_os_error(errno))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Io => "EIO",
            Self::NoSpace => "ENOSPC",
            Self::Interrupted => "EINTR",
            Self::Short { .. } => "short",
            Self::FailedSync => "failed sync",
        })
    }
}

/// One call to a simulated storage. Displayed as `write 000001.wal`, `rename 000001.sst.tmp 000001.sst`, `sync dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number: the storage's first operation is 1.
    pub number: u64,
    /// Its kind.
    pub kind: OperationKind,
    /// The file; empty for operations on the directory.
    pub file: String,
    /// A rename's new name, or empty.
    pub to: String,
    /// The fault that was injected into it.
    pub fault: Option<FaultKind>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        for name in [&self.file, &self.to].into_iter().filter(|name| !name.is_empty()) {
            write!(f, " {name}")?;
        }
        match self.fault {
            Some(fault) => write!(f, " ({fault})"),
            None => Ok(()),
        }
    }
}
