//! Merging sources of cells, for scans and compactions.

use super::cell::{CellKey, CellRef, OwnedCell};
use super::error::Error;
use super::memtable::Memtable;
use super::range::is_after;
use super::sstable::LevelCursor;
use core::cmp::Ordering;
use core::ops::Bound;
use std::sync::Arc;

/// A source of cells in order, each cell once.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(MemoryCursor),
    Tables(LevelCursor),
}

impl Source {
    fn current(&self) -> Option<CellRef<'_>> {
        match self {
            Self::Memory(cursor) => cursor.current(),
            Self::Tables(cursor) => cursor.current(),
        }
    }

    fn advance(&mut self) -> Result<(), Error> {
        match self {
            Self::Memory(cursor) => {
                cursor.advance();
                Ok(())
            }
            Self::Tables(cursor) => cursor.advance(),
        }
    }
}

/// The newest write to each cell among several sources, in order.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// The source whose current cell comes next.
    next: Option<usize>,
    /// The sources whose current cell is an older write to the same one.
    older: Vec<usize>,
}

impl Merge {
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        let mut merge = Self { sources, next: None, older: Vec::new() };
        merge.choose();
        merge
    }

    pub(crate) fn current(&self) -> Option<CellRef<'_>> {
        self.sources[self.next?].current()
    }

    /// Moves to the next cell. After an error the current cell is unspecified.
    pub(crate) fn advance(&mut self) -> Result<(), Error> {
        let Some(next) = self.next else {
            return Ok(());
        };
        self.sources[next].advance()?;
        for &older in &self.older {
            self.sources[older].advance()?;
        }
        self.choose();
        Ok(())
    }

    fn choose(&mut self) {
        (self.next, self.older) = (None, core::mem::take(&mut self.older));
        self.older.clear();
        let mut best: Option<(usize, CellRef<'_>)> = None;
        for (i, source) in self.sources.iter().enumerate() {
            let Some(cell) = source.current() else {
                continue;
            };
            best = match best {
                None => Some((i, cell)),
                Some((j, other)) => match cell.key.cmp(&other.key) {
                    Ordering::Greater => Some((j, other)),
                    Ordering::Less => {
                        self.older.clear();
                        Some((i, cell))
                    }
                    Ordering::Equal if cell.seq > other.seq => {
                        self.older.push(j);
                        Some((i, cell))
                    }
                    Ordering::Equal => {
                        self.older.push(i);
                        Some((j, other))
                    }
                },
            };
        }
        self.next = best.map(|(i, _)| i);
    }
}

/// A memtable's cells in a range of rows, as a reader at one sequence number sees them.
#[derive(Debug)]
pub(crate) struct MemoryCursor {
    memtable: Arc<Memtable>,
    seq: u64,
    end: Bound<Vec<u8>>,
    /// A chunk of cells, the current one in front.
    cells: std::collections::VecDeque<OwnedCell>,
    chunk_len: usize,
    at_end: bool,
}

impl MemoryCursor {
    pub(crate) fn new(memtable: Arc<Memtable>, seq: u64, start: Bound<&[u8]>, end: Bound<Vec<u8>>) -> Self {
        let cells = std::collections::VecDeque::new();
        let mut cursor = Self { memtable, seq, end, cells, chunk_len: 8, at_end: false };
        match start {
            Bound::Included(row) => cursor.fill(Bound::Included(CellKey { row, column: b"" })),
            // The first row that can follow `row`.
            Bound::Excluded(row) => {
                let next = [row, b"\0"].concat();
                cursor.fill(Bound::Included(CellKey { row: &next, column: b"" }));
            }
            Bound::Unbounded => cursor.fill(Bound::Unbounded),
        }
        cursor
    }

    fn fill(&mut self, start: Bound<CellKey<'_>>) {
        let end = self.end.as_ref().map(Vec::as_slice);
        let cells = self.memtable.cells_from(start, |key| is_after(key.row, end), self.seq, self.chunk_len);
        self.at_end = cells.len() < self.chunk_len;
        self.cells = cells.into();
        // Short scans copy little, long ones lock rarely.
        self.chunk_len = (self.chunk_len * 4).min(512);
    }

    fn current(&self) -> Option<CellRef<'_>> {
        self.cells.front().map(OwnedCell::as_ref)
    }

    fn advance(&mut self) {
        let Some(last) = self.cells.pop_front() else {
            return;
        };
        if self.cells.is_empty() && !self.at_end {
            self.fill(Bound::Excluded(last.key.as_key()));
        }
    }
}
