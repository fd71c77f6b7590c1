//! Repair: a store is brought back to what can be proved of it.
//!
//! A damaged table is replaced by one of its intact blocks in the same level: the order of levels, and of sequence
//! numbers in level 0, is the truth about which write is newer. The contents of logs are newer than all tables, and
//! becomes the newest. One record of the manifest switches from the old state to the repaired one; before it, every
//! file that the switch drops has a second name in `lost`, so that a crash or a failure at any moment leaves a store
//! that is as it was or repaired, and a repair to be made again finishes.
//!
//! A log with a damaged record keeps the writes after it: of each cell the newest write that is proved is the answer,
//! as with a table that is lost among others. A manifest is not repaired. Tables do not record their levels, and
//! without it an obsolete table cannot be distinguished from a live one, so cells that were deleted could come back
//! everywhere.

mod apply;
mod assess;
mod report;

pub(super) use report::rows_from_to;
pub use report::{LostRows, RepairReport, RepairedFilters, RepairedLog, RepairedTable};

use super::open::{hasher, is_there, list, load, lock_error, read_logs};
use super::{
    Error, FileName, FilterProblem, IoErrors, LOCK_NAME, LockMode, LostKeys, Purpose, Salvage, State, Storage,
    StoreOptions, Table, TableState, Warning, manifest,
};
use std::sync::Arc;

/// The permissions of a repair: none, unless set here.
#[must_use]
#[derive(Clone, Copy, Debug, Default)]
pub struct RepairOptions {
    apply: bool,
    gives_up_unreadable: bool,
}

impl RepairOptions {
    /// Reports what a repair would do, and changes nothing.
    pub const fn new() -> Self {
        Self { apply: false, gives_up_unreadable: false }
    }

    /// Makes the repair.
    pub const fn with_apply(mut self, apply: bool) -> Self {
        self.apply = apply;
        self
    }

    /// Takes what the device fails to read (`EIO`) for damaged. Otherwise such a failure ends the repair with nothing
    /// changed, as the bytes may be right and readable later, or from a copy of the device.
    pub const fn with_give_up_unreadable(mut self, give_up: bool) -> Self {
        self.gives_up_unreadable = give_up;
        self
    }
}

pub(super) fn repair(
    storage: Arc<dyn Storage>,
    options: StoreOptions,
    how: RepairOptions,
) -> Result<RepairReport, Error> {
    let options = options.with_create(false).with_read_only(true);
    options.check()?;
    let given = options.given_hasher()?;
    let io_errors = if how.gives_up_unreadable { IoErrors::Damage } else { IoErrors::Fatal };
    // This comes before the lock, whose file must not be created in a directory that is not for a store.
    is_there(&list(&*storage)?, &options)?;
    let mode = if how.apply { LockMode::Exclusive } else { LockMode::Shared };
    let lock = storage.lock(LOCK_NAME, mode).map_err(lock_error)?;
    let names = list(&*storage)?;
    is_there(&names, &options)?;
    let state = manifest::read(&*storage)?;
    let hasher = hasher(state.hasher, given, &options)?;
    let (memtable, damaged_logs) = read_logs(&*storage, &state.logs, &names)?;
    // The store is opened for reading, so that tables that do not open are not an error.
    let mut store = load(storage, options, hasher, Some(lock), &names, &state, memtable)?;
    let findings = assess::assess(&store, &state, damaged_logs, io_errors)?;
    let mut report = assess::report(&store, &state, &findings);
    if how.apply && !report.is_empty() {
        store.options.read_only = false;
        apply::apply(&store, &names, &state, &findings, &mut report)?;
    }
    Ok(report)
}
