//! An open table: index and filters in memory, data blocks read one at a time.

use super::{
    Arc, BlockCounters, Bound, CellKey, CellValue, EntryHashes, Error, Footer, Loaded, Outcome, Probe, Purpose,
    TableContext, TableData, TableFilters, TableReader, TableState, Verdict, Walk, check_is_named,
};
use filterblock_engine::ledger::TableCounters;

/// The result of a cell lookup in a table.
enum Found {
    Cell(CellValue),
    /// Other columns of the row.
    RowOnly,
    Nothing,
}

/// A row's columns in a table.
pub(crate) type Columns = Vec<(Vec<u8>, CellValue)>;

/// An open table in a level, with its filters and its account.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) level: usize,
    pub(super) data: Arc<TableData>,
    pub(crate) filters: TableFilters,
    pub(crate) counters: Arc<TableCounters>,
}

impl Table {
    /// Opens table `number`. `filter_file` is the number of the file of its filters, unless they are in its own.
    pub(crate) fn open(
        context: &Arc<TableContext>,
        number: u64,
        level: usize,
        filter_file: Option<u64>,
    ) -> Result<Self, Error> {
        let data = Arc::new(TableData::open(context, number)?);
        let reader = &data.reader;
        let filters = match filter_file {
            Some(filter_file) => TableFilters::open_file(context, filter_file, &reader.footer),
            None => TableFilters::open(&data.file, &reader.source, &reader.footer, &reader.footer),
        };
        Ok(Self::new(level, data, filters))
    }

    fn new(level: usize, data: Arc<TableData>, filters: TableFilters) -> Self {
        let counters = data.file.context.accounts.open(data.reader.footer.number, level as u32, filters.facts());
        Self { level, data, filters, counters }
    }

    /// Returns the same table in another level.
    pub(crate) fn at_level(&self, level: usize) -> Self {
        Self::new(level, Arc::clone(&self.data), self.filters.clone())
    }

    /// Returns the same table with the filters of another file.
    pub(crate) fn with_filter_file(&self, number: u64) -> Self {
        let filters = TableFilters::open_file(&self.data.file.context, number, self.footer());
        Self::new(self.level, Arc::clone(&self.data), filters)
    }

    /// Returns the same table with these columns of its filters in memory, by purpose.
    pub(crate) fn holding(&self, columns: [u32; Purpose::OF_KEYS.len()]) -> Self {
        Self::new(self.level, Arc::clone(&self.data), self.filters.holding(columns))
    }

    /// Marks the table's files for removal when the last reader is done.
    pub(crate) fn mark_obsolete(&self) {
        self.data.file.mark_obsolete();
        self.filters.mark_obsolete();
    }

    /// Marks the file of its filters, if they have one of their own, for removal when the last reader is done.
    pub(crate) fn mark_filters_obsolete(&self) {
        self.filters.mark_obsolete();
    }

    /// The table in the manifest.
    pub(crate) fn state(&self) -> TableState {
        TableState {
            number: self.number(),
            level: self.level,
            len: self.reader().file_len,
            data_len: self.footer().data_len,
            index_len: self.footer().index_len,
            max_seq: self.footer().max_seq,
            footer_crc: self.data.reader.footer_crc,
            filter_file: self.filters.file_number(),
            rows: Arc::new(self.first_key().row.to_vec()..=self.last_key().row.to_vec()),
        }
    }

    /// Fails if this is not the table that the manifest describes.
    pub(crate) fn check_is_named(&self, known: &TableState) -> Result<(), Error> {
        let reader = &self.data.reader;
        check_is_named(&reader.file, known, &reader.footer, reader.footer_crc, reader.file_len)
    }

    pub(crate) fn number(&self) -> u64 {
        self.footer().number
    }

    pub(crate) fn file(&self) -> &str {
        &self.data.reader.file
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.data.reader.footer
    }

    pub(crate) fn num_blocks(&self) -> u64 {
        self.data.reader.index.len() as u64
    }

    pub(crate) fn first_key(&self) -> CellKey<'_> {
        self.data.reader.key_range().0
    }

    pub(crate) fn last_key(&self) -> CellKey<'_> {
        self.data.reader.key_range().1
    }

    /// Returns the first and the last row whose cells a data block may have.
    pub(crate) fn block_rows(&self, block: usize) -> (&[u8], &[u8]) {
        let index = &self.data.reader.index;
        let first = block.checked_sub(1).map_or(self.first_key(), |before| index.last(before));
        (first.row, index.last(block).row)
    }

    pub(crate) fn reader(&self) -> &TableReader {
        &self.data.reader
    }

    /// Reads every data block, and probes every filter for every cell; see [`TableReader::walk`].
    pub(crate) fn verify(&self) -> Result<(Vec<Loaded<'_>>, Walk), Error> {
        let loaded: Vec<Loaded<'_>> =
            self.filters.usable().filter_map(|filter| filter.load(self.counters.filter_blocks())).collect();
        let of_range = self.filters.range().and_then(|range| range.load(self.counters.filter_blocks()));
        let has_range = of_range.is_some();
        let probes: Vec<Probe<'_>> = loaded.iter().map(Loaded::probe).chain(of_range).collect();
        let mut walk = self.reader().walk(&probes)?;
        drop(probes);
        walk.of_range = if has_range { walk.probes.pop() } else { None };
        Ok((loaded, walk))
    }

    /// Distinct entries that a filter of this purpose has, or would have at most.
    pub(crate) fn num_entries(&self, purpose: Purpose) -> u64 {
        self.filters
            .get(purpose)
            .map_or_else(|| self.footer().max_entries(purpose), |filter| filter.stored_stats.num_entries)
    }

    /// The last write to the cell in this table, if any. `is_within` states whether the key is within the table's
    /// range.
    pub(crate) fn get(
        &self,
        key: CellKey<'_>,
        is_within: bool,
        hashes: &EntryHashes<'_>,
    ) -> Result<Option<CellValue>, Error> {
        let purpose = self.filters.purpose_for_cells();
        // An error ends it as failed.
        let lookup = self.counters.of(purpose).begin();
        if !is_within {
            lookup.end(Outcome::OutOfKeyRange);
            return Ok(None);
        }
        let verdict = self.filters.probe(purpose, hashes, &self.counters);
        if verdict == Verdict::No {
            lookup.end(Outcome::Avoided);
            return Ok(None);
        }
        match self.find_in_block(self.data.reader.index.find(key), key, lookup.blocks())? {
            Found::Cell(value) => {
                verdict.end(lookup, true, value.is_some());
                return Ok(Some(value));
            }
            // The row filter is right.
            Found::RowOnly if purpose == Purpose::Row && verdict == Verdict::Maybe => lookup.end_entry_only(),
            Found::RowOnly | Found::Nothing => verdict.end(lookup, false, false),
        }
        Ok(None)
    }

    /// The row's columns in this table, in order.
    pub(crate) fn get_row(&self, row: &[u8], hashes: &EntryHashes<'_>) -> Result<Columns, Error> {
        let lookup = self.counters.of(Purpose::Row).begin();
        if row < self.first_key().row || self.last_key().row < row {
            lookup.end(Outcome::OutOfKeyRange);
            return Ok(Columns::new());
        }
        let verdict = self.filters.probe(Purpose::Row, hashes, &self.counters);
        if verdict == Verdict::No {
            lookup.end(Outcome::Avoided);
            return Ok(Columns::new());
        }
        let mut columns = Vec::new();
        for block in self.data.reader.index.find_rows(Bound::Included(row), Bound::Included(row)) {
            self.collect_row(block, row, &mut columns)?;
        }
        let has_value = columns.iter().any(|(_, value)| value.is_some());
        verdict.end(lookup, !columns.is_empty(), has_value);
        Ok(columns)
    }

    fn find_in_block(&self, block: usize, key: CellKey<'_>, account: &BlockCounters) -> Result<Found, Error> {
        let loaded = self.data.read_block(block, account)?;
        // The block covers the key, so if the table has the row at all, it ends the block before or is in this one.
        let mut row_seen = block > 0 && self.data.reader.index.last(block - 1).row == key.row;
        for cell in self.data.cells(block, &loaded) {
            let cell = cell?;
            if cell.key == key {
                return Ok(Found::Cell(cell.to_value()));
            }
            row_seen |= cell.key.row == key.row;
            if cell.key > key {
                break;
            }
        }
        Ok(if row_seen { Found::RowOnly } else { Found::Nothing })
    }

    fn collect_row(&self, block: usize, row: &[u8], columns: &mut Columns) -> Result<(), Error> {
        let loaded = self.data.read_block(block, self.counters.of(Purpose::Row).blocks())?;
        for cell in self.data.cells(block, &loaded) {
            let cell = cell?;
            if cell.key.row == row {
                columns.push((cell.key.column.to_vec(), cell.to_value()));
            }
        }
        Ok(())
    }
}
