//! Repair: a store is brought back to what can be proved of it.
//!
//! What is kept is at the place where it was, because the order of levels, and of files in level 0, is the truth about
//! which write is newer. A table of a deeper level is replaced by one of its intact blocks in that level. In level 0
//! the order is that of the files' numbers, so all tables from the oldest to be replaced on are written anew, oldest
//! first. What logs hold is newer than all tables, and becomes the newest. One record of the manifest switches from the
//! old state to the repaired one; before it, every file that the switch drops has a second name in `lost`, so that a
//! crash or a failure at any moment leaves a store that is as it was or repaired, and a repair to be made again
//! finishes.
//!
//! A log with a damaged record keeps the writes after it: of each cell the newest write that is proved is the answer,
//! as with a table that is lost among others. A manifest is not repaired. Tables do not record their levels, and
//! without it an obsolete table cannot be told from a live one, so cells that were deleted could come back everywhere.

mod apply;
mod assess;
mod report;

pub use report::{LostRows, RenumberedTable, RepairReport, RepairedFilters, RepairedLog, RepairedTable, RowsFromTo};

use super::super::error::Error;
use super::super::manifest;
use super::super::names::LOCK_NAME;
use super::super::options::StoreOptions;
use super::super::sstable::IoErrors;
use super::super::storage::{LockMode, Storage};
use super::open::{hasher, is_there, list, load, lock_error};
use std::sync::Arc;

/// What a repair may do: nothing, unless set here.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepairOptions {
    apply: bool,
    gives_up_unreadable: bool,
}

impl RepairOptions {
    /// Reports what a repair would do, and changes nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { apply: false, gives_up_unreadable: false }
    }

    /// Makes the repair.
    #[must_use]
    pub const fn apply(mut self, apply: bool) -> Self {
        self.apply = apply;
        self
    }

    /// Takes what the device fails to read (`EIO`) for damaged. Otherwise such a failure ends the repair with nothing
    /// changed, as the bytes may be right and readable later, or from a copy of the device.
    #[must_use]
    pub const fn give_up_unreadable(mut self, give_up: bool) -> Self {
        self.gives_up_unreadable = give_up;
        self
    }
}

pub(super) fn repair(
    storage: Arc<dyn Storage>,
    options: StoreOptions,
    how: RepairOptions,
) -> Result<RepairReport, Error> {
    let options = options.create(false).read_only(true);
    options.check()?;
    let given = options.given_hasher()?;
    let io_errors = if how.gives_up_unreadable { IoErrors::Damage } else { IoErrors::Fatal };
    // Before the lock, whose file must not be created where no store belongs.
    is_there(&list(&*storage)?, &options)?;
    let mode = if how.apply { LockMode::Exclusive } else { LockMode::Shared };
    let lock = storage.lock(LOCK_NAME, mode).map_err(lock_error)?;
    let names = list(&*storage)?;
    is_there(&names, &options)?;
    let state = manifest::read(&*storage)?;
    let hasher = hasher(state.hasher, given, &options)?;
    let logs = assess::read_logs(&*storage, &state.logs, &names)?;
    let memtable = logs.memtable;
    // For reading, so that tables that do not open are no error.
    let mut core = load(storage, options, hasher, Some(lock), &names, &state, memtable)?;
    let findings = assess::assess(&core, &state, io_errors)?;
    let mut report = assess::report(&core, &findings, logs.damaged);
    if how.apply && !report.is_empty() {
        core.options.read_only = false;
        apply::apply(&core, &names, state, &findings, &mut report)?;
    }
    Ok(report)
}
