//! From cells in order to a table.

use super::super::cell::{CellKey, CellRef};
use super::super::error::Error;
use super::super::options::Purpose;
use super::super::storage::{PAGE_LEN, WritableFile, write_all};
use super::block::BlockBuilder;
use super::filters::{FilterProblem, Warning};
use super::format::{FilterHandle, Footer, filter_context};
use super::index::IndexBuilder;
use crate::{FilterBlockBuilder, FilterPolicy, KeyTransform};

/// Written in pieces of about this many bytes.
const WRITE_LEN: usize = 1 << 20;

/// A filter being collected.
#[derive(Debug)]
struct FilterInProgress {
    purpose: Purpose,
    builder: FilterBlockBuilder,
}

/// Writes a table: `new add* finish`, cells in strictly ascending order. The file is complete when `finish`
/// returns; syncing it and giving it its final name are the caller's.
#[derive(Debug)]
pub(crate) struct TableWriter {
    file: String,
    out: Box<dyn WritableFile>,
    pending: Vec<u8>,
    written: u64,
    block: BlockBuilder,
    first_key: Option<(Vec<u8>, Vec<u8>)>,
    last_key: (Vec<u8>, Vec<u8>),
    index: IndexBuilder,
    filters: Vec<FilterInProgress>,
    entry: Vec<u8>,
    footer: Footer,
}

impl TableWriter {
    pub(crate) fn new(
        file: String,
        out: Box<dyn WritableFile>,
        number: u64,
        seed: u64,
        policy: impl Fn(Purpose) -> Option<FilterPolicy>,
    ) -> Self {
        let filter = |purpose: Purpose| {
            let policy = policy(purpose)?.seed(seed).transform(purpose.transform());
            let builder = FilterBlockBuilder::new(policy).context(filter_context(number, purpose));
            Some(FilterInProgress { purpose, builder })
        };
        Self {
            file,
            out,
            pending: Vec::new(),
            written: 0,
            block: BlockBuilder::new(),
            first_key: None,
            last_key: Default::default(),
            index: IndexBuilder::new(),
            filters: Purpose::ALL.into_iter().filter_map(filter).collect(),
            entry: Vec::new(),
            footer: Footer {
                number,
                seed,
                num_cells: 0,
                num_tombstones: 0,
                min_seq: u64::MAX,
                max_seq: 0,
                data_len: 0,
                index_len: 0,
                filters: Vec::new(),
            },
        }
    }

    pub(crate) fn add(&mut self, cell: &CellRef<'_>) -> Result<(), Error> {
        if !self.block.is_empty() && !self.block.fits(cell) {
            self.finish_block()?;
        }
        self.add_to_filters(cell.key);
        self.block.push(cell);
        let footer = &mut self.footer;
        footer.num_cells += 1;
        footer.num_tombstones += u64::from(cell.value.is_none());
        footer.min_seq = footer.min_seq.min(cell.seq);
        footer.max_seq = footer.max_seq.max(cell.seq);
        if self.first_key.is_none() {
            self.first_key = Some((cell.key.row.to_vec(), cell.key.column.to_vec()));
        }
        let (row, column) = &mut self.last_key;
        replace(row, cell.key.row);
        replace(column, cell.key.column);
        Ok(())
    }

    fn add_to_filters(&mut self, key: CellKey<'_>) {
        // Cells of a row follow each other: its entry is added with the first. Across a block's end it may be added
        // twice, which costs nothing, as the builder drops duplicates.
        let new_row = self.block.is_empty() || self.last_key.0 != key.row;
        for filter in &mut self.filters {
            match filter.purpose {
                Purpose::Row if new_row => filter.builder.add_key(key.row),
                Purpose::Row => {}
                Purpose::RowColumn => {
                    KeyTransform::row_column_entry(key.row, key.column, &mut self.entry);
                    filter.builder.add_key(&self.entry);
                }
            }
        }
    }

    fn finish_block(&mut self) -> Result<(), Error> {
        let Some((row, column)) = self.first_key.take() else {
            return Ok(());
        };
        let pages = self.block.finish_into(self.footer.number, self.offset(), &mut self.pending);
        let (last_row, last_column) = &self.last_key;
        let first = CellKey { row: &row, column: &column };
        self.index.push(pages, first, CellKey { row: last_row, column: last_column });
        self.write_out(WRITE_LEN)
    }

    /// Where the next byte will stand.
    fn offset(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn pad(&mut self) {
        self.pending.resize(self.pending.len().next_multiple_of(PAGE_LEN), 0);
    }

    /// Hands over what is pending once that is at least `len` bytes.
    fn write_out(&mut self, len: usize) -> Result<(), Error> {
        if self.pending.len() >= len {
            write_all(&mut *self.out, &self.pending).map_err(|error| Error::io(&self.file, "write", error))?;
            self.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// Completes the file up to its last byte, but does not sync it. A filter that cannot be built is left out with a
    /// warning: the table does not need it.
    pub(crate) fn finish(mut self, warnings: &mut Vec<Warning>) -> Result<Box<dyn WritableFile>, Error> {
        self.finish_block()?;
        self.footer.data_len = self.offset();
        let index = core::mem::replace(&mut self.index, IndexBuilder::new());
        let index = index.finish(self.footer.number, self.footer.data_len);
        self.footer.index_len = index.len() as u64;
        self.pending.extend_from_slice(&index);
        self.pad();
        for mut filter in core::mem::take(&mut self.filters) {
            let offset = self.offset();
            match filter.builder.finish_into(&mut self.pending) {
                Ok(len) => {
                    let purpose_id = filter.purpose.id();
                    self.footer.filters.push(FilterHandle { purpose_id, len: len as u64 });
                    self.pad();
                }
                Err(error) => warnings.push(Warning {
                    file: self.file.clone(),
                    offset,
                    len_bytes: 0,
                    claimed_format: filter.builder.policy().kind().to_string(),
                    problem: FilterProblem::NotBuilt(error),
                }),
            }
        }
        let footer = self.footer.encode(self.offset());
        self.pending.extend_from_slice(&footer);
        self.write_out(0)?;
        Ok(self.out)
    }
}

fn replace(bytes: &mut Vec<u8>, with: &[u8]) {
    bytes.clear();
    bytes.extend_from_slice(with);
}
