//! [`TableFilterBuilder`]: collects the keys of one table.

use crate::filter::TableFilter;
use crate::outcomes::Tally;
use filterblock::range::RangeFilterBuilder;
use filterblock::{AlignedBytes, FilterBlockBuilder, OpenOptions};
use slatedb::{Filter, RowEntry};
use std::error::Error;
use std::sync::Arc;

pub(crate) struct TableFilterBuilder {
    pub(crate) keys: Keys,
    pub(crate) tally: Arc<Tally>,
}

/// The keys of a filter that is not built yet.
pub(crate) enum Keys {
    /// Of a filter of keys, with the options that open it.
    Points(Box<FilterBlockBuilder>, OpenOptions),
    /// Of a range filter.
    Ranges(RangeFilterBuilder),
}

impl TableFilterBuilder {
    fn finish(&mut self) -> Result<TableFilter, Box<dyn Error>> {
        Ok(match &mut self.keys {
            Keys::Points(builder, options) => {
                let block = AlignedBytes::copy_of(&builder.finish()?);
                TableFilter::of_keys(options.open_owned(block)?, &self.tally)
            }
            Keys::Ranges(builder) => {
                let block = AlignedBytes::copy_of(&builder.finish()?);
                TableFilter::of_ranges(OpenOptions::new().open_ranges(block)?, &self.tally)
            }
        })
    }
}

impl slatedb::FilterBuilder for TableFilterBuilder {
    /// Adds each version of a key, deletions included: a table that is skipped hides those, too.
    fn add_entry(&mut self, entry: &RowEntry) {
        match &mut self.keys {
            Keys::Points(builder, _) => builder.add_key(&entry.key),
            Keys::Ranges(builder) => builder.add_key(&entry.key),
        };
    }

    /// The filter. If none could be built, the table is written with an empty string in its place, which no reader takes
    /// for an empty filter.
    fn build(&mut self) -> Arc<dyn Filter> {
        let filter = self.finish().inspect(|_| self.tally.built()).unwrap_or_else(|error| {
            match &mut self.keys {
                Keys::Points(builder, _) => builder.clear(),
                Keys::Ranges(builder) => builder.clear(),
            }
            self.tally.failed(error);
            TableFilter::unusable(&[], &self.tally)
        });
        Arc::new(filter)
    }
}
