//! A table opened outside a store, for tools.

use super::{
    BLOCK_MAGIC, Bound, Cell, CellKey, Error, FOOTER_LEN, FOOTER_MAGIC, FilterProblem, KeyHasher, PAGE_LEN, Purpose,
    RowRange, TableFilter, TableReader, Warning, check_cells, claimed_format, filter_context, open_file, prefix_range,
    read_filter,
};
use core::ops::RangeInclusive;
use filterblock::DecodeError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The counts of [`TableFile::check`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableCheck {
    /// Cells read.
    pub num_cells: u64,
    /// Tombstones among them.
    pub num_tombstones: u64,
    /// Cells that the row filter denies: each hides data. Always 0 without a usable filter.
    pub missing_in_row_filter: u64,
    /// Cells that the row+column filter denies: each hides data. Always 0 without a usable filter.
    pub missing_in_row_column_filter: u64,
    /// Cells whose row's prefix the prefix filter denies: each hides data. Always 0 without a usable filter.
    pub missing_in_prefix_filter: u64,
    /// Cells whose row the range filter denies: each hides data from scans. Always 0 without a usable filter.
    pub missing_in_range_filter: u64,
}

/// A cell as one table has it: other tables and the log may have a newer value, or have deleted it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableCell {
    /// The row.
    pub row: Vec<u8>,
    /// The column.
    pub column: Vec<u8>,
    /// The value; `None` for a tombstone, which deletes the cell in older tables.
    pub value: Option<Vec<u8>>,
}

impl From<Cell> for TableCell {
    fn from(Cell { row, column, value }: Cell) -> Self {
        Self { row, column, value: Some(value) }
    }
}

/// A table's file, opened on its own.
///
/// Footer and index are checked when it is opened; filters are returned unchecked.
#[derive(Debug)]
pub struct TableFile {
    reader: TableReader,
    filters: Vec<TableFilter>,
    num_unknown_filters: usize,
}

impl TableFile {
    /// Returns whether the file begins or ends like a table, so that a damaged table is recognised too. Reads 12 bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn is_table(path: &Path) -> io::Result<bool> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let mut first = [0; BLOCK_MAGIC.len()];
        if len >= PAGE_LEN as u64 {
            file.read_exact(&mut first)?;
        }
        let mut last = [0; FOOTER_MAGIC.len()];
        if len >= FOOTER_LEN as u64 {
            file.seek(SeekFrom::End(-(FOOTER_LEN as i64)))?;
            file.read_exact(&mut last)?;
        }
        Ok(first == BLOCK_MAGIC || last == FOOTER_MAGIC)
    }

    /// Opens the table at `path`, under any name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::NewerVersion`], or [`Error::Damaged`] for anything but the filters and data blocks.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        let source = open_file(path).map_err(|error| Error::io(&file, "open", error))?;
        let reader = TableReader::open(file, source)?;
        let footer = &reader.footer;
        let mut filters = Vec::new();
        for (handle, offset) in footer.filter_locations() {
            let read = || match read_filter(&*reader.source, handle.len, offset) {
                Ok(block) => Ok(block.as_ref().to_vec()),
                Err(reason) => Err(Error::io(&reader.file, "read a filter", io::Error::other(reason))),
            };
            let Some((purpose, transform)) = handle.purpose() else {
                continue;
            };
            let context = filter_context(footer.number, purpose);
            let (len, index_len, bytes) = (handle.len, handle.index_len, read()?);
            let hasher = KeyHasher::new(footer.seed);
            filters.push(TableFilter { purpose, transform, offset, len, index_len, context, hasher, bytes });
        }
        let num_unknown_filters = footer.filters.len() - filters.len();
        Ok(Self { reader, filters, num_unknown_filters })
    }

    /// Opens the filters with a secret key, if it is the table's.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        let hasher = self.reader.footer.hasher(&hasher);
        self.filters.iter_mut().for_each(|filter| filter.hasher = hasher.clone());
        self
    }

    /// The filters, in the order of the file.
    pub fn filters(&self) -> &[TableFilter] {
        &self.filters
    }

    /// Filters that are neither among [`TableFile::filters`] nor the range filter, because this version does not know
    /// their purpose or parameter.
    pub fn num_unknown_filters(&self) -> usize {
        self.num_unknown_filters
    }

    /// The table's number in its store.
    pub fn number(&self) -> u64 {
        self.reader.footer.number
    }

    /// The seed of the filters' hashes, or the id of the secret key that they are made under.
    pub fn seed(&self) -> u64 {
        self.reader.footer.seed
    }

    /// Cells, tombstones included.
    pub fn num_cells(&self) -> u64 {
        self.reader.footer.num_cells
    }

    /// Tombstones.
    pub fn num_tombstones(&self) -> u64 {
        self.reader.footer.num_tombstones
    }

    /// Data blocks.
    pub fn num_blocks(&self) -> u64 {
        self.reader.index.len() as u64
    }

    /// Length of the data blocks in bytes.
    pub fn data_len(&self) -> u64 {
        self.reader.footer.data_len
    }

    /// The first and the last cell's key; `None` for a table of no cells.
    pub fn key_range(&self) -> Option<RangeInclusive<CellKey<'_>>> {
        let (first, last) = self.reader.index.key_range()?;
        Some(first..=last)
    }

    /// The cells of a range of rows, in order, tombstones included. In place of the cells of a block that is not what
    /// was written comes its [`Error::Io`] or [`Error::Damaged`], and then the cells of the next block.
    pub fn cells(
        &self,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> impl Iterator<Item = Result<TableCell, Error>> + use<'_> {
        let [start, end] = [start, end].map(|bound| bound.map(<[u8]>::to_vec));
        self.cells_in(RowRange { start, end })
    }

    /// The cells of all rows that start with `prefix`, as [`TableFile::cells`] returns them.
    pub fn cells_with_prefix(&self, prefix: &[u8]) -> impl Iterator<Item = Result<TableCell, Error>> + use<'_> {
        let (start, end) = prefix_range(prefix);
        self.cells_in(RowRange { start, end })
    }

    fn cells_in(&self, range: RowRange) -> impl Iterator<Item = Result<TableCell, Error>> + use<'_> {
        let (reader, mut last) = (&self.reader, None);
        let blocks = if range.is_empty() { 0..0 } else { reader.index.find_rows(range.start(), range.end()) };
        blocks.flat_map(move |block| {
            let mut cells = Vec::new();
            let read = reader.read_blocks(block..block + 1).and_then(|run| {
                let (opened, bounds) = (reader.open_block(block, &run)?.0, reader.index.bounds(block));
                check_cells(&opened, &reader.footer, Some(bounds), &mut last, |cell| {
                    let (row, column) = (cell.key.row.to_vec(), cell.key.column.to_vec());
                    if range.contains(&row) {
                        cells.push(Ok(TableCell { row, column, value: cell.to_value() }));
                    }
                })
            });
            read.map_or_else(|error| vec![Err(error)], |()| cells)
        })
    }

    /// The warning for a filter of this table that does not open.
    pub fn warning(&self, filter: &TableFilter, error: DecodeError) -> Warning {
        Warning {
            file: self.reader.file.to_owned(),
            offset: filter.offset,
            len: filter.len,
            claimed_format: claimed_format(&filter.bytes),
            problem: FilterProblem::Decode(error),
        }
    }

    /// Reads every data block, checks checksums, order, key ranges, sequence numbers and counts, and probes every
    /// filter that opens for every cell.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] at the first block that is not what was written.
    pub fn check(&self) -> Result<TableCheck, Error> {
        let open = |purpose| {
            // A lookup queries the last of two filters of a purpose, which no store writes.
            let filter = self.filters.iter().rfind(|filter| filter.purpose == purpose)?;
            Some((purpose, filter.probe()?))
        };
        let opened = Purpose::ALL.into_iter().filter_map(open);
        let (purposes, filters): (Vec<Purpose>, Vec<_>) = opened.unzip();
        let mut walk = self.reader.walk(&filters)?;
        if !walk.damaged.is_empty() {
            return Err(walk.damaged.remove(0).1);
        }
        let missing = |purpose| {
            let position = purposes.iter().position(|&other| other == purpose);
            position.map_or(0, |position| walk.probes[position].denied)
        };
        Ok(TableCheck {
            num_cells: walk.num_cells,
            num_tombstones: walk.num_tombstones,
            missing_in_row_filter: missing(Purpose::Row),
            missing_in_row_column_filter: missing(Purpose::RowColumn),
            missing_in_prefix_filter: missing(Purpose::Prefix),
            missing_in_range_filter: missing(Purpose::Range),
        })
    }
}
