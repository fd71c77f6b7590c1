//! [`TableFilterBuilder`]: collects the keys of one table.

use crate::filter::TableFilter;
use crate::outcomes::Tally;
use filterblock::{AlignedBytes, FilterBlockBuilder, OpenOptions};
use slatedb::{Filter, RowEntry};
use std::sync::Arc;

pub(crate) struct TableFilterBuilder {
    builder: FilterBlockBuilder,
    options: OpenOptions,
    tally: Arc<Tally>,
}

impl TableFilterBuilder {
    pub(crate) fn new(builder: FilterBlockBuilder, options: OpenOptions, tally: Arc<Tally>) -> Self {
        Self { builder, options, tally }
    }

    /// The filter, or none if it could not be built: the table is then written with an empty string in its place, which
    /// no reader takes for an empty filter.
    fn finish(&mut self) -> Option<TableFilter> {
        let block = match self.builder.finish() {
            Ok(block) => AlignedBytes::copy_of(&block),
            Err(error) => {
                self.builder.clear();
                self.tally.failed(error);
                return None;
            }
        };
        match self.options.open_owned(block) {
            Ok(block) => {
                self.tally.built();
                Some(TableFilter::of_keys(block, &self.tally))
            }
            Err(refused) => {
                self.tally.failed(refused);
                None
            }
        }
    }
}

impl slatedb::FilterBuilder for TableFilterBuilder {
    /// Adds each version of a key, deletions included: a table that is skipped hides those, too.
    fn add_entry(&mut self, entry: &RowEntry) {
        self.builder.add_key(&entry.key);
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let filter = self.finish();
        Arc::new(filter.unwrap_or_else(|| TableFilter::unusable(&[], &self.tally)))
    }
}
