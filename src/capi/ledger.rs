//! The account of every lookup in every table.

use super::border::{caught_or, put_text};
use super::reader::Reader;
use super::status::Status;
use crate::ledger::{Accounts, FilterFacts, LedgerReport, LookupClass, Outcome, TableCounters};
use core::ffi::c_char;
use core::ptr;
use std::boxed::Box;
use std::string::{String, ToString};
use std::sync::Arc;

/// The lookups of keys: the one class of this interface.
static CLASSES: [LookupClass; 1] = [LookupClass::point("key")];
const KEYS: usize = 0;

/// What filters saved, let pass and cost: the sums over all tables of an engine. Counting takes no lock.
pub struct Ledger(Accounts);

/// The lookups in one table.
pub struct Account(Arc<TableCounters>);

/// How a lookup in a table ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum LookupOutcome {
    /// The key is outside the table's key range: decided without the filter.
    OutOfKeyRange = 0,
    /// The filter denied the key: a data-block read saved.
    Avoided = 1,
    /// The filter passed the key, and the table has it.
    TruePositive = 2,
    /// The filter passed the key, and the table does not have it.
    FalsePositive = 3,
    /// The filter passed the key, and the table has a tombstone of it.
    Tombstone = 4,
    /// The table was written without a filter that could answer.
    NoFilter = 5,
    /// The table has a filter, but it could not be opened.
    FilterUnusable = 6,
    /// The lookup ended in an error.
    Failed = 7,
}

/// An empty ledger, to be freed by `filterblock_ledger_free`.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_ledger_new() -> *mut Ledger {
    Box::into_raw(Box::new(Ledger(Accounts::new(&CLASSES))))
}

/// Frees a ledger. Accounts that are still open remain usable, and are closed by themselves. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_ledger_free(ledger: *mut Ledger) {
    if !ledger.is_null() {
        // SAFETY: from `Box::into_raw`, and not freed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(ledger) });
    }
}

/// Counts a filter that could not be built, so that its table has none.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_ledger_note_unfinished(ledger: Option<&Ledger>) -> Status {
    let Some(ledger) = ledger else { return Status::Argument };
    ledger.0.note_filter_not_built();
    Status::Ok
}

/// Opens the account of a table, under a number of the engine's, in `level`; `reader` is null for a table without a
/// usable filter. Reads the whole filter, to predict its rate, and keeps nothing of it. To be closed by
/// `filterblock_account_close`. Null of a null ledger.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_ledger_open_account(
    ledger: Option<&Ledger>,
    table: u64,
    level: u32,
    reader: Option<&Reader>,
) -> *mut Account {
    caught_or(ptr::null_mut(), || {
        let Some(ledger) = ledger else { return ptr::null_mut() };
        let facts = reader.map(|reader| FilterFacts::of(&reader.filter));
        Box::into_raw(Box::new(Account(ledger.0.open(table, level, [facts]))))
    })
}

/// Closes an account, when the table is closed; its counts stay in the ledger's sums. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_account_close(account: *mut Account) {
    if !account.is_null() {
        // SAFETY: from `Box::into_raw`, and not closed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(account) });
    }
}

/// Counts a lookup: one of `FILTERBLOCK_LOOKUP_OUTCOME_*`, and, where no filter could answer, whether the key was
/// found.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_account_count(account: Option<&Account>, outcome: u32, found: bool) -> Status {
    let outcome = usize::try_from(outcome).ok().and_then(|outcome| Outcome::ALL.get(outcome));
    let (Some(account), Some(&outcome)) = (account, outcome) else { return Status::Argument };
    let lookup = account.0.of(KEYS).begin();
    match outcome {
        Outcome::NoFilter | Outcome::FilterUnusable => lookup.end_unfiltered(outcome, found),
        _ => lookup.end(outcome),
    }
    Status::Ok
}

/// Counts a data block of `len` bytes that a lookup has read from storage.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_account_note_read(account: Option<&Account>, len: usize) -> Status {
    let Some(account) = account else { return Status::Argument };
    account.0.of(KEYS).blocks().note_read(len);
    Status::Ok
}

/// Counts a data block that a lookup has found in a cache.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_account_note_cache_hit(account: Option<&Account>) -> Status {
    let Some(account) = account else { return Status::Argument };
    account.0.of(KEYS).blocks().note_cache_hit();
    Status::Ok
}

/// Writes a report, as `filterblock_policy_text` writes a text.
///
/// # Safety
/// `out` is null or valid for writes of `out_len` bytes.
unsafe fn report(
    ledger: Option<&Ledger>,
    out: *mut c_char,
    out_len: usize,
    write: impl FnOnce(&LedgerReport) -> String,
) -> usize {
    let text = caught_or(String::new(), || ledger.map_or_else(String::new, |ledger| write(&ledger.0.report())));
    // SAFETY: the caller's promise.
    unsafe { put_text(&text, out, out_len) }
}

/// The sums as text for people, written as `filterblock_policy_text` writes its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_ledger_text(ledger: Option<&Ledger>, out: *mut c_char, out_len: usize) -> usize {
    // SAFETY: rule 1 of the interface.
    unsafe { report(ledger, out, out_len, LedgerReport::to_string) }
}

/// The sums as JSON, on one line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_ledger_json(ledger: Option<&Ledger>, out: *mut c_char, out_len: usize) -> usize {
    // SAFETY: rule 1 of the interface.
    unsafe { report(ledger, out, out_len, |report| report.to_json()) }
}

/// The sums in Prometheus' text format.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_ledger_prometheus(
    ledger: Option<&Ledger>,
    out: *mut c_char,
    out_len: usize,
) -> usize {
    // SAFETY: rule 1 of the interface.
    unsafe { report(ledger, out, out_len, LedgerReport::to_prometheus) }
}

#[cfg(test)]
mod tests {
    use super::LookupOutcome as L;
    use crate::ledger::Outcome;

    #[test]
    fn outcomes_have_the_numbers_of_the_list() {
        let named = [
            (L::OutOfKeyRange, Outcome::OutOfKeyRange),
            (L::Avoided, Outcome::Avoided),
            (L::TruePositive, Outcome::TruePositive),
            (L::FalsePositive, Outcome::FalsePositive),
            (L::Tombstone, Outcome::Tombstone),
            (L::NoFilter, Outcome::NoFilter),
            (L::FilterUnusable, Outcome::FilterUnusable),
            (L::Failed, Outcome::Failed),
        ];
        assert_eq!(named.map(|(_, outcome)| outcome)[..], *Outcome::ALL);
        assert!(named.iter().enumerate().all(|(i, (named, _))| *named as usize == i));
    }
}
