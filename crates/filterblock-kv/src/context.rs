//! State that all tables of a store share.

use super::cache::{BlockCache, FileId, FilterResidence};
use super::storage::Storage;
use super::sync::{Mutex, RwLock};
use super::warning::Warning;
use filterblock::{KeyHasher, KeyTransform};
use filterblock_engine::ledger::Accounts;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// State that all tables of a store share.
#[derive(Debug)]
pub(crate) struct TableContext {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) accounts: Accounts,
    /// Warnings of filters that are not used, one for each.
    pub(crate) warnings: Mutex<Vec<Warning>>,
    /// The transform of the prefixes whose filters are being written; of length 0 for none.
    pub(crate) prefixes: KeyTransform,
    /// The hasher of filters to be written, and of those to be read that have its secret key.
    pub(crate) hasher: RwLock<KeyHasher>,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) filter_residence: FilterResidence,
    /// Whether tables hold only the columns of their filters that are chosen for them, at first none.
    pub(crate) limits_columns: bool,
}

impl TableContext {
    pub(crate) fn warn(&self, warning: Warning) {
        if warning.problem.is_missing() {
            self.accounts.note_filter_not_built();
        }
        self.warnings.lock().push(warning);
    }
}

/// An open file of a store. Once marked obsolete, it is removed by its last holder.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) context: Arc<TableContext>,
    pub(crate) name: String,
    /// Identifies its blocks in the cache.
    pub(crate) id: FileId,
    is_obsolete: AtomicBool,
}

impl OpenFile {
    pub(crate) fn new(context: &Arc<TableContext>, name: String) -> Self {
        let (context, id) = (Arc::clone(context), context.cache.open_file());
        Self { context, name, id, is_obsolete: AtomicBool::new(false) }
    }

    pub(crate) fn mark_obsolete(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.is_obsolete.load(Ordering::Acquire) {
            self.context.cache.remove_file(self.id);
            // If this fails, the next opening of the store removes it.
            let _ = self.context.storage.remove(&self.name);
        }
    }
}
