//! An open table: index and filters in memory, data blocks read one at a time.

use super::super::cell::{CellKey, OwnedCell, Version};
use super::super::error::{Damage, Error};
use super::super::ledger::{BlockCounters, Ledger, Outcome, TableCounters};
use super::super::options::Purpose;
use super::super::storage::{PageBuf, ReadableFile, Storage, read_exact_at};
use super::block::BlockReader;
use super::filters::{TableFilters, Verdict, Warning};
use super::format::{FOOTER_LEN, Footer, padded, table_name};
use super::index::Index;
use crate::{KeyHash, KeyHasher, KeyTransform};
use core::cell::{OnceCell, RefCell};
use core::ops::Bound;
use std::sync::Arc;

/// The hashes of one lookup, each computed when the first filter asks for it and then probed in every table.
#[derive(Debug)]
pub(crate) struct EntryHashes<'a> {
    hasher: KeyHasher,
    row: &'a [u8],
    column: &'a [u8],
    hashes: [OnceCell<KeyHash>; Purpose::ALL.len()],
}

impl<'a> EntryHashes<'a> {
    pub(crate) fn new(hasher: KeyHasher, key: CellKey<'a>) -> Self {
        Self { hasher, row: key.row, column: key.column, hashes: Default::default() }
    }

    fn get(&self, purpose: Purpose) -> KeyHash {
        // A joined entry needs its bytes in one piece; the buffer is kept, so that lookups do not allocate.
        thread_local!(static ENTRY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        *self.hashes[purpose.index()].get_or_init(|| match purpose {
            Purpose::Row => self.hasher.hash(self.row),
            Purpose::RowColumn => ENTRY.with_borrow_mut(|entry| {
                KeyTransform::row_column_entry(self.row, self.column, entry);
                self.hasher.hash(entry)
            }),
        })
    }
}

/// Footer and index, with every check, of a file of `source`.
pub(super) fn open_structure(file: &str, source: &dyn ReadableFile) -> Result<(Footer, Index), Error> {
    let len_bytes = source.len().map_err(|error| Error::io(file, "get the length", error))?;
    let footer_at = len_bytes.checked_sub(FOOTER_LEN as u64).filter(|&at| padded(at) == Some(at));
    let Some(footer_at) = footer_at else {
        return Err(Error::damaged(file, 0, Damage::FileLength { len_bytes }));
    };
    let page = read_pages(file, source, footer_at, FOOTER_LEN)?;
    let footer = Footer::decode(file, page.as_slice(), footer_at)?;
    // The footer's lengths add up to the file's, so none of them asks for more memory than the file has bytes.
    let index_len = footer.index_len as usize;
    let page = read_pages(file, source, footer.data_len, index_len.next_multiple_of(FOOTER_LEN))?;
    let index = page.as_slice()[..index_len].to_vec();
    let index = Index::decode(file, footer.number, footer.data_len, index, footer.data_len)?;
    Ok((footer, index))
}

fn read_pages(file: &str, source: &dyn ReadableFile, offset: u64, len: usize) -> Result<PageBuf, Error> {
    let mut pages = PageBuf::new(len);
    read_exact_at(source, pages.as_mut_slice(), offset).map_err(|error| Error::io(file, "read", error))?;
    Ok(pages)
}

/// What a table holds under the key of a cell lookup.
enum Found {
    Value(Version),
    Tombstone(Version),
    /// Other columns of the row.
    RowOnly,
    Nothing,
}

/// An open table.
#[derive(Debug)]
pub(crate) struct Table {
    file: String,
    source: Arc<dyn ReadableFile>,
    footer: Footer,
    index: Index,
    filters: TableFilters,
    counters: TableCounters,
}

impl Table {
    /// Opens table `number`. `seed` is the store's; `None` takes the table's own.
    pub(crate) fn open(
        storage: &dyn Storage,
        number: u64,
        seed: Option<u64>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let file = table_name(number);
        let source = storage.open(&file).map_err(|error| Error::io(&file, "open", error))?;
        let (footer, index) = open_structure(&file, &*source)?;
        if footer.number != number {
            return Err(Error::Misplaced { file, named: number, stored: footer.number });
        }
        let filters = TableFilters::open(&file, &*source, &footer, seed.unwrap_or(footer.seed), warnings);
        Ok(Self { file, source, footer, index, filters, counters: TableCounters::default() })
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.footer
    }

    pub(crate) fn num_blocks(&self) -> u64 {
        self.index.len() as u64
    }

    /// Bytes and entries of the usable filters.
    pub(crate) fn filter_size(&self) -> (u64, u64) {
        (self.filters.bytes(), self.filters.num_entries())
    }

    pub(crate) fn ledger(&self) -> Ledger {
        self.counters.ledger(|purpose| self.filters.predicted_fpr(purpose))
    }

    /// The cell's version in this table, if it has one.
    pub(crate) fn get(&self, key: CellKey<'_>, hashes: &EntryHashes<'_>) -> Result<Option<Version>, Error> {
        let purpose = self.filters.purpose_for_cells();
        self.counters.of(purpose).begin();
        let Some(block) = self.index.find(key) else {
            return Ok(self.settle(purpose, Outcome::OutOfKeyRange));
        };
        let verdict = self.filters.ask(purpose, || hashes.get(purpose));
        if verdict == Verdict::No {
            return Ok(self.settle(purpose, Outcome::Avoided));
        }
        match self.find_in_block(block, key, self.counters.of(purpose).blocks()) {
            Ok(found) => Ok(self.settle_cell(purpose, verdict, found)),
            Err(error) => {
                self.counters.of(purpose).end(Outcome::Failed);
                Err(error)
            }
        }
    }

    /// The row's columns in this table, in order.
    pub(crate) fn get_row(&self, row: &[u8], hashes: &EntryHashes<'_>) -> Result<Vec<(Vec<u8>, Version)>, Error> {
        let purpose = Purpose::Row;
        let counters = self.counters.of(purpose);
        counters.begin();
        let blocks = self.index.find_row(row);
        if blocks.is_empty() {
            return Ok(self.settle(purpose, Outcome::OutOfKeyRange));
        }
        let verdict = self.filters.ask(purpose, || hashes.get(purpose));
        if verdict == Verdict::No {
            return Ok(self.settle(purpose, Outcome::Avoided));
        }
        let mut columns = Vec::new();
        for block in blocks {
            if let Err(error) = self.collect_row(block, row, &mut columns) {
                counters.end(Outcome::Failed);
                return Err(error);
            }
        }
        let has_value = columns.iter().any(|(_, version)| version.value.is_some());
        counters.end(self.outcome(purpose, verdict, !columns.is_empty(), has_value));
        Ok(columns)
    }

    fn settle<T: Default>(&self, purpose: Purpose, outcome: Outcome) -> T {
        self.counters.of(purpose).end(outcome);
        T::default()
    }

    /// Books a cell lookup that has read its block.
    fn settle_cell(&self, purpose: Purpose, verdict: Verdict, found: Found) -> Option<Version> {
        let counters = self.counters.of(purpose);
        let row_filter_is_right = purpose == Purpose::Row && verdict == Verdict::Maybe;
        let (outcome, version) = match found {
            Found::Value(version) => (self.outcome(purpose, verdict, true, true), Some(version)),
            Found::Tombstone(version) => (self.outcome(purpose, verdict, true, false), Some(version)),
            Found::RowOnly if row_filter_is_right => {
                counters.note_column_absent();
                (Outcome::TruePositive, None)
            }
            Found::RowOnly | Found::Nothing => (self.outcome(purpose, verdict, false, false), None),
        };
        counters.end(outcome);
        version
    }

    /// The outcome of a lookup that has read, given whether it found anything and whether that was a value.
    fn outcome(&self, purpose: Purpose, verdict: Verdict, found: bool, has_value: bool) -> Outcome {
        match verdict {
            Verdict::NoFilter | Verdict::Unusable => {
                if found {
                    self.counters.of(purpose).note_unfiltered_found();
                }
                if verdict == Verdict::NoFilter { Outcome::NoFilter } else { Outcome::FilterUnusable }
            }
            Verdict::No | Verdict::Maybe if has_value => Outcome::TruePositive,
            Verdict::No | Verdict::Maybe if found => Outcome::Tombstone,
            Verdict::No | Verdict::Maybe => Outcome::FalsePositive,
        }
    }

    /// Reads a data block on the given account.
    fn read_block(&self, block: usize, account: &BlockCounters) -> Result<PageBuf, Error> {
        let place = self.index.place(block);
        let pages = read_pages(&self.file, &*self.source, place.offset, place.len)?;
        account.add(place.len);
        Ok(pages)
    }

    fn open_block<'a>(&'a self, block: usize, pages: &'a PageBuf) -> Result<BlockReader<'a>, Error> {
        BlockReader::open(&self.file, self.footer.number, self.index.place(block).offset, pages.as_slice())
    }

    fn find_in_block(&self, block: usize, key: CellKey<'_>, account: &BlockCounters) -> Result<Found, Error> {
        let pages = self.read_block(block, account)?;
        let mut row_seen = false;
        for cell in self.open_block(block, &pages)?.cells() {
            let cell = cell?;
            if cell.key == key {
                let version = cell.version();
                return Ok(match version.value {
                    Some(_) => Found::Value(version),
                    None => Found::Tombstone(version),
                });
            }
            row_seen |= cell.key.row == key.row;
            if cell.key > key {
                break;
            }
        }
        // The key lies within the block's range, so if the table has the row at all, a neighbour in this block does.
        Ok(if row_seen { Found::RowOnly } else { Found::Nothing })
    }

    fn collect_row(&self, block: usize, row: &[u8], columns: &mut Vec<(Vec<u8>, Version)>) -> Result<(), Error> {
        let pages = self.read_block(block, self.counters.of(Purpose::Row).blocks())?;
        for cell in self.open_block(block, &pages)?.cells() {
            let cell = cell?;
            if cell.key.row == row {
                columns.push((cell.key.column.to_vec(), cell.version()));
            }
        }
        Ok(())
    }

    /// All cells of a block, in order, on the account of scans.
    pub(super) fn block_cells(&self, block: usize) -> Result<Vec<OwnedCell>, Error> {
        let pages = self.read_block(block, &self.counters.scans)?;
        self.open_block(block, &pages)?.cells().map(|cell| cell.map(|cell| cell.to_owned())).collect()
    }

    /// The cells of a range of rows, in order.
    pub(crate) fn scan<'a>(&'a self, start: Bound<&[u8]>, end: Bound<&'a [u8]>) -> TableScan<'a> {
        let next_block = self.index.first_block_ending_at_or_after(|last| before(last.row, start));
        let start = start.map(<[u8]>::to_vec);
        TableScan { table: self, start, end, next_block, cells: Vec::new().into_iter() }
    }
}

/// Whether `row` lies before a range that starts so.
fn before(row: &[u8], start: Bound<&[u8]>) -> bool {
    match start {
        Bound::Included(start) => row < start,
        Bound::Excluded(start) => row <= start,
        Bound::Unbounded => false,
    }
}

/// Whether `row` lies behind a range that ends so.
fn behind(row: &[u8], end: Bound<&[u8]>) -> bool {
    match end {
        Bound::Included(end) => row > end,
        Bound::Excluded(end) => row >= end,
        Bound::Unbounded => false,
    }
}

/// The cells of a range of a table's rows, a block in memory at a time.
#[derive(Debug)]
pub(crate) struct TableScan<'a> {
    table: &'a Table,
    start: Bound<Vec<u8>>,
    end: Bound<&'a [u8]>,
    next_block: usize,
    cells: std::vec::IntoIter<OwnedCell>,
}

impl TableScan<'_> {
    /// Whether the next block exists and begins within the range.
    fn has_next_block(&self) -> bool {
        self.next_block < self.table.index.len() && !behind(self.table.index.keys(self.next_block).0.row, self.end)
    }
}

impl Iterator for TableScan<'_> {
    type Item = Result<OwnedCell, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(cell) = self.cells.next() {
                if before(&cell.row, self.start.as_ref().map(Vec::as_slice)) {
                    continue;
                }
                return if behind(&cell.row, self.end) { None } else { Some(Ok(cell)) };
            }
            if !self.has_next_block() {
                return None;
            }
            let block = self.next_block;
            self.next_block += 1;
            match self.table.block_cells(block) {
                Ok(cells) => self.cells = cells.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
