//! Faults: which operations go wrong.

use super::operation::{FaultKind, OperationKind};

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

/// The active faults, and the number of injected ones.
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

    /// The fault of an operation: the first added one that applies. `len` is the number of bytes to be transferred.
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
