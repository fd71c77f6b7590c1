//! What was asked of a simulated storage.

use super::fault::FaultKind;
use core::fmt;

/// What an [`Operation`] does.
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
    pub const ALL: [Self; 11] = [
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Rename,
        Self::Remove,
        Self::SyncDir,
        Self::Lock,
        Self::Open,
        Self::Read,
        Self::Length,
        Self::List,
    ];

    /// Whether the operation can change what a crash leaves behind.
    pub const fn changes(self) -> bool {
        match self {
            Self::Create | Self::Write | Self::Sync | Self::Rename | Self::Remove | Self::SyncDir | Self::Lock => true,
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

/// One call to a simulated storage. Displayed as `write 000001.wal`, `rename 000001.sst.tmp 000001.sst`, `sync dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number: the storage's first operation is 1.
    pub number: u64,
    /// What it does.
    pub kind: OperationKind,
    /// The file; empty for operations on the directory.
    pub file: String,
    /// A rename's new name; empty for all others.
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
