//! Faults: which operation goes wrong, and how.

use super::operation::OperationKind;
use core::fmt;
use rustix::io::Errno;
use std::io;

/// How an operation goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// Any operation fails with `EIO` and does nothing. What was not synced may still be synced later.
    Io,
    /// A creation or a write fails with `ENOSPC` and does nothing.
    NoSpace,
    /// A read or a write fails with `EINTR` and does nothing. From an operation on, every second one: callers try
    /// again until it works.
    Interrupted,
    /// A read or a write of more bytes moves only the first so many; 0 counts as 1.
    Short {
        /// The bytes moved.
        bytes_max: usize,
    },
    /// A sync fails with `EIO`, what it should have made durable never becomes durable, and later syncs claim success:
    /// what Linux does when it cannot write a page back. A file's lost bytes can still be read until the crash. Names
    /// that a directory's sync failed on remain in doubt for ever.
    FailedSync,
}

impl FaultKind {
    /// Whether the fault can be injected into an operation of this kind.
    pub const fn applies_to(self, operation: OperationKind) -> bool {
        use OperationKind::{Create, Read, Sync, SyncDir, Write};
        match self {
            Self::Io => true,
            Self::NoSpace => matches!(operation, Create | Write),
            Self::Interrupted | Self::Short { .. } => matches!(operation, Read | Write),
            Self::FailedSync => matches!(operation, Sync | SyncDir),
        }
    }

    /// The error that the caller sees, if it is one.
    pub(super) fn error(self) -> Option<io::Error> {
        match self {
            Self::Io | Self::FailedSync => Some(Errno::IO.into()),
            Self::NoSpace => Some(Errno::NOSPC.into()),
            Self::Interrupted => Some(Errno::INTR.into()),
            Self::Short { .. } => None,
        }
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

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    from: u64,
    once: bool,
}

impl Fault {
    /// At the first operation from number `from` on that the fault applies to.
    pub const fn once(kind: FaultKind, from: u64) -> Self {
        Self { kind, from, once: true }
    }

    /// At every operation from number `from` on that the fault applies to.
    pub const fn persistent(kind: FaultKind, from: u64) -> Self {
        Self { kind, from, once: false }
    }
}

/// The faults that are set, and how many were injected.
#[derive(Debug, Default)]
pub(super) struct Faults {
    set: Vec<Fault>,
    injected: u64,
    /// Whether the last read or write was interrupted, so that the next one is not.
    interrupted: bool,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.set.push(fault);
    }

    pub(super) fn lift(&mut self) {
        self.set.clear();
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected
    }

    /// The fault of an operation: the first one set that applies. `len` is the number of bytes to be moved.
    pub(super) fn draw(&mut self, number: u64, operation: OperationKind, len: usize) -> Option<FaultKind> {
        let interrupted = core::mem::take(&mut self.interrupted);
        let at = self.set.iter().position(|fault| {
            let strikes = match fault.kind {
                FaultKind::Interrupted => !interrupted,
                FaultKind::Short { bytes_max } => len > bytes_max.max(1),
                _ => true,
            };
            strikes && number >= fault.from && fault.kind.applies_to(operation)
        })?;
        let Fault { kind, once, .. } = self.set[at];
        if once {
            self.set.remove(at);
        }
        self.interrupted = kind == FaultKind::Interrupted;
        self.injected += 1;
        Some(kind)
    }
}
