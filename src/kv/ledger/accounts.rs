//! An account for each opened table, and the sums of those that are gone.

use super::super::purpose::Purpose;
use super::counters::{FilterAccount, TableCounters};
use super::tally::Tally;
use super::{Imbalance, Ledger};
use crate::FilterKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The account of one opened table with one set of filters. A table whose filters are replaced has one for each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Account {
    /// The table's number.
    pub table: u64,
    /// The level it stands in, from 0.
    pub level: u32,
    /// The kinds of its usable filters, in the order of [`Purpose::ALL`].
    #[serde(serialize_with = "super::json::kinds")]
    pub kinds: [Option<FilterKind>; Purpose::ALL.len()],
    /// What its lookups came to.
    pub ledger: Ledger,
}

impl Account {
    fn new(counters: &TableCounters) -> Self {
        let (table, level, kinds) = (counters.table, counters.level, counters.kinds());
        Self { table, level, kinds, ledger: counters.ledger() }
    }
}

/// The sums of one purpose in one level, of the tables that have or had one kind of filter for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelTally {
    /// The level, from 0.
    pub level: u32,
    /// The purpose.
    pub purpose: Purpose,
    /// The kind of filter; `None` for tables without a usable one.
    #[serde(serialize_with = "super::json::kind")]
    pub kind: Option<FilterKind>,
    /// The sums.
    pub tally: Tally,
}

/// Where the lookups of a store went, from its opening on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LedgerReport {
    /// The sums over all tables, those that are gone included.
    pub total: Ledger,
    /// The same by level, purpose and kind, in this order. What was never looked up and has no filter is left out.
    pub by_level: Vec<LevelTally>,
    /// The tables there are, in ascending order of level and number.
    pub tables: Vec<Account>,
}

impl LedgerReport {
    /// Checks the identities of the total and of each table, and that the levels add up to the total. They hold while
    /// no lookup is under way.
    ///
    /// # Errors
    /// The first identity that does not hold: a defect of the store.
    pub fn check(&self) -> Result<(), Imbalance> {
        self.total.check()?;
        self.tables.iter().try_for_each(|account| account.ledger.check())?;
        for purpose in Purpose::ALL {
            let of_levels = self.by_level.iter().filter(|of_level| of_level.purpose == purpose);
            let sum = of_levels.fold(Tally::default(), |sum, of_level| sum + of_level.tally);
            let total = self.total.of(purpose);
            // Rates are sums of floating-point numbers in another order: they need not agree to the last bit.
            let sum = Tally { expected_false_positives: total.expected_false_positives, ..sum };
            if sum != *total {
                let rule = "the levels' sums = the total's";
                return Err(Imbalance { purpose, rule, left: sum.lookups, right: total.lookups });
            }
        }
        Ok(())
    }
}

/// What the sums by level are kept by.
type Key = (u32, Purpose, Option<FilterKind>);

/// A list as short as this is not looked through.
const SWEEP_MIN: usize = 64;

#[derive(Debug, Default)]
struct Books {
    open: Vec<Arc<TableCounters>>,
    /// How long the list is when it is next looked through for accounts to close.
    next_sweep: usize,
    closed: Ledger,
    closed_by_level: BTreeMap<Key, Tally>,
}

impl Books {
    /// Moves the accounts that nobody else holds into the sums. Nobody can count on them any more, so nothing is lost.
    fn close_abandoned(&mut self) {
        for counters in std::mem::take(&mut self.open) {
            match Arc::try_unwrap(counters) {
                Ok(counters) => {
                    let account = Account::new(&counters);
                    self.closed = self.closed + account.ledger;
                    add_by_level(&mut self.closed_by_level, &account);
                }
                Err(counters) => self.open.push(counters),
            }
        }
    }
}

fn add_by_level(by_level: &mut BTreeMap<Key, Tally>, account: &Account) {
    for purpose in Purpose::ALL {
        let (kind, tally) = (account.kinds[purpose.index()], account.ledger.of(purpose));
        if kind.is_some() || *tally != Tally::default() {
            let sum = by_level.entry((account.level, purpose, kind)).or_default();
            *sum = *sum + *tally;
        }
    }
}

/// All accounts of a store. Locked when a table is opened and when a report is made, never by a lookup.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    books: Mutex<Books>,
}

impl Accounts {
    /// An account for a table in `level` with these filters, in the order of [`Purpose::ALL`]; `None` where it has no
    /// usable one. Counts are kept when the last holder is gone.
    pub(crate) fn open(
        &self,
        table: u64,
        level: u32,
        filters: [Option<FilterAccount>; Purpose::ALL.len()],
    ) -> Arc<TableCounters> {
        let counters = Arc::new(TableCounters::new(table, level, filters));
        let mut books = self.lock();
        // Looked through whenever it has doubled, the list stays about as long as there are tables, and each table costs the
        // same however many there are.
        if books.open.len() >= books.next_sweep {
            books.close_abandoned();
            books.next_sweep = (2 * books.open.len()).max(SWEEP_MIN);
        }
        books.open.push(Arc::clone(&counters));
        counters
    }

    /// A snapshot of all accounts.
    pub(crate) fn report(&self) -> LedgerReport {
        let mut books = self.lock();
        books.close_abandoned();
        let mut tables: Vec<Account> = books.open.iter().map(|counters| Account::new(counters)).collect();
        let (mut total, mut by_level) = (books.closed, books.closed_by_level.clone());
        drop(books);
        tables.sort_by_key(|account| (account.level, account.table));
        for account in &tables {
            total = total + account.ledger;
            add_by_level(&mut by_level, account);
        }
        let level_tally = |((level, purpose, kind), tally)| LevelTally { level, purpose, kind, tally };
        LedgerReport { total, by_level: by_level.into_iter().map(level_tally).collect(), tables }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        // Sums and list are consistent wherever a panic may strike, which is nowhere inside.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
