//! Cursors over the cells of tables in order.

use super::{
    Arc, Block, CellLocation, CellRef, CountedScans, Error, Outcome, Purpose, Range, RowRange, Run, ScanLookup, Table,
    cell_cut_off, is_after, is_before,
};

/// The purpose of a cursor, which decides how it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A scan: one block at a time, counted under scans; filters of prefixes and of ranges may exclude tables.
    Scan(CountedScans),
    /// Compaction and rebuilding: many blocks at a time, not counted.
    Maintenance,
}

/// The cells of a range in tables that are disjoint and in order, one table at a time.
#[derive(Debug)]
pub(crate) struct LevelCursor {
    tables: std::vec::IntoIter<Arc<Table>>,
    range: Arc<RowRange>,
    reading: Reading,
    current: Option<TableCursor>,
}

impl LevelCursor {
    pub(crate) fn new(tables: Vec<Arc<Table>>, range: Arc<RowRange>, reading: Reading) -> Result<Self, Error> {
        let mut cursor = Self { tables: tables.into_iter(), range, reading, current: None };
        cursor.next_table()?;
        Ok(cursor)
    }

    pub(crate) fn current(&self) -> Option<CellRef<'_>> {
        self.current.as_ref()?.current()
    }

    pub(crate) fn advance(&mut self) -> Result<(), Error> {
        if let Some(cursor) = &mut self.current {
            cursor.advance(&self.range)?;
            if cursor.current().is_none() {
                self.next_table()?;
            }
        }
        Ok(())
    }

    fn next_table(&mut self) -> Result<(), Error> {
        self.current = None;
        while self.current.is_none() {
            let Some(table) = self.tables.next() else {
                break;
            };
            self.current = TableCursor::open(table, &self.range, self.reading)?;
        }
        Ok(())
    }
}

/// Bytes of one or more blocks.
#[derive(Debug)]
enum Held {
    Block(Block),
    Run(Run),
}

/// The cells of a range in one table.
#[derive(Debug)]
struct TableCursor {
    table: Arc<Table>,
    reading: Reading,
    /// The class of the lookup that is running, under which reads are counted.
    lookup: Option<Purpose>,
    /// The blocks after the current one, or after the run.
    blocks: Range<usize>,
    held: Held,
    /// The blocks of the run in `held` that are still to come.
    run: Range<usize>,
    block: usize,
    /// The current block's cells, in `held`.
    cells: Range<usize>,
    /// Cells after the current one in its block.
    cells_left: u32,
    current: Option<CellLocation>,
}

impl TableCursor {
    /// A cursor at the first cell of the range; `None` if the table has none there.
    fn open(table: Arc<Table>, range: &RowRange, reading: Reading) -> Result<Option<Self>, Error> {
        let blocks = table.reader().index.find_rows(range.start(), range.end());
        let lookup = match reading {
            Reading::Maintenance => None,
            Reading::Scan(counted) => ScanLookup::begin(&table.filters, &table.counters, range, counted),
        };
        if blocks.is_empty() {
            lookup.into_iter().for_each(|scan| scan.lookup.end(Outcome::OutOfKeyRange));
            return Ok(None);
        }
        let Some(lookup) = lookup else {
            let mut cursor = Self::at_block(Arc::clone(&table), blocks, reading, None)?;
            cursor.skip_to(range)?;
            return Ok(cursor.is_within(range).then_some(cursor));
        };
        let Some(lookup) = lookup.probe(range) else {
            return Ok(None);
        };
        let (cursor, has_prefix) = Self::for_lookup(Arc::clone(&table), blocks, range, reading, &lookup)?;
        lookup.end(cursor.is_some(), has_prefix);
        Ok(cursor)
    }

    /// Opens a cursor like [`TableCursor::open`], and returns whether the table has a row that starts with the lookup's
    /// prefix, in the range or outside: such rows are contiguous, so the first block and the index show it.
    fn for_lookup(
        table: Arc<Table>,
        blocks: Range<usize>,
        range: &RowRange,
        reading: Reading,
        lookup: &ScanLookup<'_>,
    ) -> Result<(Option<Self>, bool), Error> {
        let is_prefixed = |row: &[u8]| lookup.prefix.as_ref().is_some_and(|prefix| row.starts_with(prefix));
        let before = blocks.start.checked_sub(1);
        let mut has_prefix = before.is_some_and(|block| is_prefixed(table.reader().index.last(block).row));
        let mut cursor = Self::at_block(table, blocks, reading, Some(lookup.purpose))?;
        while let Some(cell) = cursor.current() {
            has_prefix |= is_prefixed(cell.key.row);
            if !is_before(cell.key.row, range.start()) {
                break;
            }
            cursor.step()?;
        }
        cursor.lookup = None;
        let is_within = cursor.is_within(range);
        Ok((is_within.then_some(cursor), has_prefix))
    }

    /// A cursor at the first cell of the first of `blocks`.
    fn at_block(
        table: Arc<Table>,
        blocks: Range<usize>,
        reading: Reading,
        lookup: Option<Purpose>,
    ) -> Result<Self, Error> {
        let (held, run) = (Held::Run(Run::EMPTY), 0..0);
        let (block, cells) = (blocks.start, 0..0);
        let (cells_left, current) = (0, None);
        let mut cursor = Self { table, reading, lookup, blocks, held, run, block, cells, cells_left, current };
        cursor.step()?;
        Ok(cursor)
    }

    fn current(&self) -> Option<CellRef<'_>> {
        Some(self.current.as_ref()?.cell(self.cells()))
    }

    fn advance(&mut self, range: &RowRange) -> Result<(), Error> {
        self.step()?;
        if !self.is_within(range) {
            self.current = None;
        }
        Ok(())
    }

    fn skip_to(&mut self, range: &RowRange) -> Result<(), Error> {
        while self.current().is_some_and(|cell| is_before(cell.key.row, range.start())) {
            self.step()?;
        }
        Ok(())
    }

    fn is_within(&self, range: &RowRange) -> bool {
        self.current().is_some_and(|cell| !is_after(cell.key.row, range.end()))
    }

    fn cells(&self) -> &[u8] {
        match &self.held {
            Held::Block(block) => block.cells(),
            Held::Run(run) => &run.pages.as_slice()[self.cells.clone()],
        }
    }

    /// Moves to the next cell, in this block or the next.
    fn step(&mut self) -> Result<(), Error> {
        while self.cells_left == 0 {
            if !self.next_block()? {
                self.current = None;
                return Ok(());
            }
        }
        self.cells_left -= 1;
        let at = self.current.as_ref().map_or(0, CellLocation::end);
        let reader = self.table.reader();
        let location = CellLocation::read(self.cells(), at);
        let location = location.ok_or_else(|| reader.damaged(self.block, cell_cut_off(self.cells())))?;
        reader.check_seq(self.block, location.seq)?;
        self.current = Some(location);
        Ok(())
    }

    /// Moves to the next block; false if there is none.
    fn next_block(&mut self) -> Result<bool, Error> {
        self.current = None;
        match self.reading {
            Reading::Maintenance => self.next_block_of_run(),
            Reading::Scan(_) => {
                let Some(block) = self.blocks.next() else {
                    return Ok(false);
                };
                let counters = &self.table.counters;
                let account = self.lookup.map_or(counters.scans(), |class| counters.of(class).blocks());
                let loaded = self.table.data.read_block(block, account)?;
                (self.block, self.cells_left) = (block, loaded.num_cells);
                self.held = Held::Block(loaded);
                Ok(true)
            }
        }
    }

    fn next_block_of_run(&mut self) -> Result<bool, Error> {
        let reader = self.table.reader();
        if self.run.is_empty() && !self.blocks.is_empty() {
            self.run = reader.next_run(self.blocks.clone());
            self.blocks.start = self.run.end;
            self.held = Held::Run(reader.read_blocks(self.run.clone())?);
        }
        let (Some(block), Held::Run(run)) = (self.run.next(), &self.held) else {
            return Ok(false);
        };
        let (opened, start) = reader.open_block(block, run)?;
        let (cells, num_cells) = opened.extent();
        (self.block, self.cells_left) = (block, num_cells);
        self.cells = start + cells.start..start + cells.end;
        Ok(true)
    }
}
