//! What callers may do with the public types: send them to other threads, keep them across a caught panic, print, copy
//! and compare them.

use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::error::Error;

fn shared<T: Send + Sync + Unpin + Debug>() {}
fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}
fn value<T: Copy + Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static>() {}
fn equal<T: Copy + PartialEq>() {}
fn eq<T: Eq + Hash>() {}
fn error<
    T: Error + Debug + Display + Clone + PartialEq + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + 'static,
>() {
}

/// `each!(bound: Type, Type)`
macro_rules! each {
    ($bound:ident: $($Type:ty),+ $(,)?) => { $($bound::<$Type>();)+ };
}

#[test]
fn of_ledger_and_budget() {
    use filterblock_engine::ledger::{
        Account, Accounts, BlockCounters, ClassKind, FilterFacts, Finding, Imbalance, Ledger, LedgerReport, LevelTally,
        Lookup, LookupClass, LookupCounters, Outcome, Savings, TableCounters, Tally, Verdict,
    };

    use filterblock_engine::budget::{ColumnPoint, ElasticFilter, Run, Share};
    each!(shared: ElasticFilter);
    each!(unwinds: ElasticFilter);
    each!(value: ColumnPoint, Run, Share);
    each!(equal: ColumnPoint, Run, Share);
    each!(shared: Account, Accounts, BlockCounters, Ledger, LedgerReport, Lookup<'_>, LookupCounters);
    each!(shared: TableCounters, Verdict);
    each!(unwinds: Account, Accounts, BlockCounters, Ledger, LedgerReport, Lookup<'_>, LookupCounters);
    each!(unwinds: TableCounters, Verdict);
    each!(value: ClassKind, FilterFacts, Finding, LevelTally, LookupClass, Outcome, Savings, Tally);
    each!(equal: FilterFacts, Finding, LevelTally, LookupClass, Savings, Tally);
    each!(eq: Outcome);
    each!(error: Imbalance);
}
