//! An account for each open table, and the sums of closed ones.

use super::class::LookupClass;
use super::counters::{FilterFacts, TableCounters, count, load};
use super::sums::{Imbalance, Ledger};
use super::tally::Tally;
use core::sync::atomic::AtomicU64;
use filterblock::FilterKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The account of one open table with one set of filters. A table whose filters are replaced gets another account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Account {
    /// The table's number.
    pub table: u64,
    /// Its level, from 0.
    pub level: u32,
    /// The kind of each class's filter.
    #[serde(serialize_with = "super::serialize::kinds")]
    pub kinds: Vec<ClassKind>,
    /// Its sums.
    pub ledger: Ledger,
}

/// The kind of the filter that a table has for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassKind {
    /// The name of the class.
    pub purpose: &'static str,
    /// The kind; `None` for a table without a usable filter.
    pub kind: Option<FilterKind>,
}

impl Account {
    fn new(counters: &TableCounters) -> Self {
        let (table, level, kinds) = (counters.table, counters.level, counters.kinds());
        Self { table, level, kinds, ledger: counters.ledger() }
    }
}

/// The sums of one class in one level, of the tables that have or had one kind of filter for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelTally {
    /// The level, from 0.
    pub level: u32,
    /// The name of the class.
    pub purpose: &'static str,
    /// The kind of filter; `None` for tables without a usable one.
    #[serde(serialize_with = "super::serialize::kind")]
    pub kind: Option<FilterKind>,
    /// The sums.
    pub tally: Tally,
}

/// The lookups in all tables since [`Accounts::new`]. Serialized with its [verdict](Self::verdict).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct LedgerReport {
    /// The sums over all tables, closed ones included.
    pub total: Ledger,
    /// The same by level, class and kind, in this order, without those that have neither a lookup nor a filter.
    pub by_level: Vec<LevelTally>,
    /// The open tables, in ascending order of level and number.
    pub tables: Vec<Account>,
    /// Filters that could not be built, whose tables have none.
    pub filters_not_built: u64,
}

impl LedgerReport {
    /// Checks the identities of the total and of each table, and that the levels add up to the total. They hold while
    /// no lookup is running.
    ///
    /// # Errors
    /// The first identity that does not hold: a defect of the engine.
    pub fn check(&self) -> Result<(), Imbalance> {
        self.total.check()?;
        self.tables.iter().try_for_each(|account| account.ledger.check())?;
        for (class, total) in self.total.classes() {
            let purpose = class.purpose();
            let of_levels = self.by_level.iter().filter(|of_level| of_level.purpose == purpose);
            let sum = of_levels.fold(Tally::default(), |sum, of_level| sum + of_level.tally);
            // Sums of floating-point numbers in another order need not agree to the last bit.
            let sum = Tally { expected_false_positives: total.expected_false_positives, ..sum };
            if sum != *total {
                let rule = "the levels' sums = the total's";
                return Err(Imbalance { purpose, rule, left: sum.lookups, right: total.lookups });
            }
        }
        Ok(())
    }
}

/// The key of the sums by level: level, place of the class, kind.
type Key = (u32, usize, Option<FilterKind>);

/// A shorter list is not searched for abandoned accounts.
const SWEEP_MIN: usize = 64;

#[derive(Debug, Default)]
struct Books {
    open: Vec<Arc<TableCounters>>,
    /// The length at which the list is next searched for abandoned accounts.
    next_sweep: usize,
    closed: Ledger,
    closed_by_level: BTreeMap<Key, Tally>,
}

impl Books {
    /// Adds the accounts that nothing else holds to the sums. Nothing can count on them any more, so no count is lost.
    fn close_abandoned(&mut self) {
        for counters in std::mem::take(&mut self.open) {
            match Arc::try_unwrap(counters) {
                Ok(counters) => {
                    let account = Account::new(&counters);
                    self.closed = std::mem::take(&mut self.closed) + &account.ledger;
                    add_by_level(&mut self.closed_by_level, &account);
                }
                Err(counters) => self.open.push(counters),
            }
        }
    }
}

fn add_by_level(by_level: &mut BTreeMap<Key, Tally>, account: &Account) {
    for (class, (&ClassKind { kind, .. }, (_, tally))) in account.kinds.iter().zip(account.ledger.classes()).enumerate()
    {
        if kind.is_some() || *tally != Tally::default() {
            let sum = by_level.entry((account.level, class, kind)).or_default();
            *sum = *sum + *tally;
        }
    }
}

/// All accounts of an engine. Locked when a table is opened and for a report, never by a lookup.
#[derive(Debug)]
pub struct Accounts {
    classes: &'static [LookupClass],
    books: Mutex<Books>,
    filters_not_built: AtomicU64,
}

impl Accounts {
    /// No accounts yet. Lookups count under `classes`, whose names differ.
    pub fn new(classes: &'static [LookupClass]) -> Self {
        let zero = TableCounters::new(0, 0, classes, []).ledger();
        let books = Mutex::new(Books { closed: zero, ..Books::default() });
        Self { classes, books, filters_not_built: AtomicU64::new(0) }
    }

    /// Opens an account for a table, under a number of the engine's, in `level` with these filters, in the order of the
    /// classes; `None` where it has no usable one. Its counts are kept when the last holder drops it. A table that gets
    /// other filters or another level gets another account.
    pub fn open(
        &self,
        table: u64,
        level: u32,
        filters: impl IntoIterator<Item = Option<FilterFacts>>,
    ) -> Arc<TableCounters> {
        let counters = Arc::new(TableCounters::new(table, level, self.classes, filters));
        let mut books = self.lock();
        // Swept whenever it has doubled, the list stays about as long as the number of tables, at an amortised constant
        // cost for each.
        if books.open.len() >= books.next_sweep {
            books.close_abandoned();
            books.next_sweep = (2 * books.open.len()).max(SWEEP_MIN);
        }
        books.open.push(Arc::clone(&counters));
        counters
    }

    /// Counts a filter that could not be built, so that its table has none.
    pub fn note_filter_not_built(&self) {
        count(&self.filters_not_built, 1);
    }

    /// A snapshot of all accounts.
    pub fn report(&self) -> LedgerReport {
        let mut books = self.lock();
        books.close_abandoned();
        let mut tables: Vec<Account> = books.open.iter().map(|counters| Account::new(counters)).collect();
        let (mut total, mut by_level) = (books.closed.clone(), books.closed_by_level.clone());
        drop(books);
        tables.sort_by_key(|account| (account.level, account.table));
        for account in &tables {
            total = total + &account.ledger;
            add_by_level(&mut by_level, account);
        }
        let level_tally = |((level, class, kind), tally): (Key, Tally)| {
            let purpose = self.classes[class].purpose();
            LevelTally { level, purpose, kind, tally }
        };
        let by_level = by_level.into_iter().map(level_tally).collect();
        LedgerReport { total, by_level, tables, filters_not_built: load(&self.filters_not_built) }
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        // Nothing under the lock panics.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
