//! State that all tables of a store share.

use super::super::cache::{BlockCache, FilterResidence};
use super::super::ledger::Accounts;
use super::super::storage::Storage;
use super::super::sync::Mutex;
use super::warning::Warning;
use std::sync::Arc;

/// State that all tables of a store share.
#[derive(Debug)]
pub(crate) struct TableContext {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) accounts: Accounts,
    /// Warnings of filters that are not used, one for each.
    pub(crate) warnings: Mutex<Vec<Warning>>,
    /// The length of the prefixes whose filters are being written; 0 for none.
    pub(crate) prefix_len: u16,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) filter_residence: FilterResidence,
}

impl TableContext {
    pub(crate) fn warn(&self, warning: Warning) {
        self.warnings.lock().push(warning);
    }
}
