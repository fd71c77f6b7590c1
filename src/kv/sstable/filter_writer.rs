//! Building a table's filters while its cells are written, and the file of rebuilt filters.

use super::super::cell::CellKey;
use super::super::error::Error;
use super::super::purpose::Purpose;
use super::super::storage::{PAGE_LEN, WritableFile};
use super::format::{FilterHandle, Footer, filter_context};
use super::warning::{FilterProblem, Warning};
use crate::{FilterBlockBuilder, FilterPolicy, KeyHasher};

/// The policy of each purpose's filter, in the order of [`Purpose::ALL`], its hasher and transform set.
pub(crate) type FilterPolicies = [Option<FilterPolicy>; Purpose::ALL.len()];

#[derive(Debug)]
struct FilterInProgress {
    purpose: Purpose,
    builder: FilterBlockBuilder,
}

/// The filters of a table that is being written.
#[derive(Debug)]
pub(super) struct FilterWriter {
    filters: Vec<FilterInProgress>,
}

impl FilterWriter {
    /// Filters for the file with this number.
    pub(super) fn new(file_number: u64, policies: &FilterPolicies) -> Self {
        let filters = Purpose::ALL.into_iter().zip(policies).filter_map(|(purpose, policy)| {
            let mut builder = FilterBlockBuilder::new((*policy)?);
            builder.context(filter_context(file_number, purpose));
            Some(FilterInProgress { purpose, builder })
        });
        Self { filters: filters.collect() }
    }

    /// Adds a cell, in order. `last` is the one before it.
    pub(super) fn add(&mut self, key: CellKey<'_>, last: Option<CellKey<'_>>) {
        // Cells of a row are neighbours: its entry is added with the first of them.
        for filter in &mut self.filters {
            let is_repeated = last.is_some_and(|last| last.row == key.row);
            match filter.purpose {
                Purpose::RowColumn => filter.builder.add_row_column(key.row, key.column),
                _ if is_repeated => {}
                Purpose::Row => filter.builder.add_row(key.row),
                Purpose::Prefix => filter.builder.add_key(key.row),
            }
        }
    }

    /// Appends the filter blocks, each in whole pages, to `out`, whose end will be stored at `offset` of `file`, and
    /// adds them to `footer`. A filter that cannot be built is left out with a warning: the table does not need it.
    pub(super) fn finish_into(
        self,
        file: &str,
        mut offset: u64,
        out: &mut Vec<u8>,
        footer: &mut Footer,
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for mut filter in self.filters {
            let start = out.len();
            match filter.builder.finish_into(out) {
                Ok(len) => {
                    let (purpose_id, transform) = (filter.purpose.id(), filter.builder.policy().key_transform());
                    footer.filters.push(FilterHandle { purpose_id, param: transform.to_wire().1, len: len as u64 });
                    out.resize(start + len.next_multiple_of(PAGE_LEN), 0);
                    offset += (out.len() - start) as u64;
                }
                Err(error) => warnings.push(Warning {
                    file: file.to_owned(),
                    offset,
                    len_bytes: 0,
                    claimed_format: filter.builder.policy().kind().to_string(),
                    problem: FilterProblem::NotBuilt(error),
                }),
            }
        }
        warnings
    }
}

/// Writes a file of filters for an existing table: `new add* finish`, its cells in order.
#[derive(Debug)]
pub(crate) struct FilterFileWriter {
    file: String,
    number: u64,
    hasher: KeyHasher,
    filters: FilterWriter,
}

impl FilterFileWriter {
    pub(crate) fn new(file: String, number: u64, hasher: KeyHasher, policies: &FilterPolicies) -> Self {
        Self { file, number, hasher, filters: FilterWriter::new(number, policies) }
    }

    pub(crate) fn add(&mut self, key: CellKey<'_>, last: Option<CellKey<'_>>) {
        self.filters.add(key, last);
    }

    /// Writes the file for the table of `footer`. The caller syncs and renames it.
    pub(crate) fn finish(self, footer: &Footer, out: &mut dyn WritableFile) -> Result<Vec<Warning>, Error> {
        let (number, seed, filters) = (self.number, self.hasher.seed(), Vec::new());
        let mut footer = Footer { number, seed, data_len: 0, index_len: 0, filters, ..footer.clone() };
        let mut bytes = Vec::new();
        let warnings = self.filters.finish_into(&self.file, 0, &mut bytes, &mut footer);
        let page = footer.encode(bytes.len() as u64);
        bytes.extend_from_slice(&page);
        out.write_all(&bytes).map_err(|error| Error::io(&self.file, "write", error))?;
        Ok(warnings)
    }
}
