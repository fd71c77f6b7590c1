//! The live tables, level by level. A version is never changed, only replaced.
//!
//! Level 0 holds what flushes wrote: tables that may overlap, newest first. In each deeper level tables are disjoint
//! and in key order, and everything in it is older than the same cell in a level above.

use super::cell::CellKey;
use super::error::{Damage, Error};
use super::fences::{Fences, partition_point};
use super::manifest::{NUM_LEVELS, TableState, search_order};
use super::range::{is_after, is_before};
use super::sstable::Table;
use core::cmp::{Ordering, Reverse};
use core::ops::{Bound, Range};
use std::sync::Arc;

/// A live table that could not be opened.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) file: String,
    pub(crate) state: TableState,
    pub(crate) error: Error,
}

impl Unreadable {
    fn overlaps(&self, rows: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
        !is_after(self.state.rows.start(), rows.1) && !is_before(self.state.rows.end(), rows.0)
    }

    /// Returns whether lookups search it before `table`. One of the same deeper level has other cells.
    fn is_before(&self, table: &Table) -> bool {
        self.state.search_order() < order_of(table)
    }
}

fn order_of(table: &Table) -> (usize, Option<Reverse<u64>>) {
    search_order(table.level, table.footer().max_seq)
}

/// The live tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    /// The tables that could not be opened, in a store that is open for reading only.
    pub(crate) unreadable: Vec<Arc<Unreadable>>,
    levels: [Vec<Arc<Table>>; NUM_LEVELS],
    /// Fences of the tables' first and last rows, for each deeper level.
    firsts: [Fences; NUM_LEVELS],
    lasts: [Fences; NUM_LEVELS],
}

impl Version {
    /// Sorts tables into their levels. Tables of a deeper level that overlap are damage: which of them is newer is
    /// unknown.
    pub(crate) fn new(tables: impl IntoIterator<Item = Arc<Table>>) -> Result<Self, Error> {
        let mut version = Self::default();
        for table in tables {
            version.levels[table.level].push(table);
        }
        version.levels[0].sort_by_key(|table| order_of(table));
        for level in &mut version.levels[1..] {
            level.sort_by(|a, b| a.first_key().cmp(&b.first_key()));
            let overlap = level.windows(2).find(|pair| pair[0].last_key() >= pair[1].first_key());
            if let Some([table, next]) = overlap {
                let damage = Damage::Contradiction { name: "number of the overlapping table", found: next.number() };
                return Err(Error::damaged(table.file(), 0, damage));
            }
        }
        for (number, level) in version.levels.iter().enumerate().skip(1) {
            if let (Some(first), Some(last)) = (level.first(), level.last()) {
                let (first, last) = (first.first_key().row, last.last_key().row);
                version.firsts[number] = Fences::new(first, last, level.iter().map(|table| table.first_key().row));
                version.lasts[number] = Fences::new(first, last, level.iter().map(|table| table.last_key().row));
            }
        }
        Ok(version)
    }

    /// Returns the same version with tables that could not be opened.
    pub(crate) fn with_unreadable(self, unreadable: Vec<Arc<Unreadable>>) -> Self {
        Self { unreadable, ..self }
    }

    /// Fails if a table that could not be opened may have cells of `rows` that are newer than those of `table`, or any
    /// if that is `None`.
    #[inline]
    pub(crate) fn check_readable(
        &self,
        rows: (Bound<&[u8]>, Bound<&[u8]>),
        table: Option<&Table>,
    ) -> Result<(), Error> {
        let hides = |other: &&Arc<Unreadable>| table.is_none_or(|table| other.is_before(table)) && other.overlaps(rows);
        self.unreadable.iter().find(hides).map_or(Ok(()), |other| Err(other.error.clone()))
    }

    pub(crate) fn level(&self, level: usize) -> &[Arc<Table>] {
        &self.levels[level]
    }

    pub(crate) fn levels(&self) -> impl Iterator<Item = &[Arc<Table>]> {
        self.levels.iter().map(Vec::as_slice)
    }

    /// All tables, in the order in which lookups search them.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> + Clone {
        self.levels.iter().flatten()
    }

    /// The deepest level that has a table; 0 for a store of none.
    pub(crate) fn deepest(&self) -> usize {
        self.levels.iter().rposition(|level| !level.is_empty()).unwrap_or(0)
    }

    /// The tables that may hold a cell, newest first: all of level 0, and one of each deeper level; and whether the
    /// cell is within their key range.
    pub(crate) fn tables_for_cell<'a>(&'a self, key: CellKey<'a>) -> impl Iterator<Item = (&'a Table, bool)> {
        let level0 = self.levels[0].iter().map(move |table| {
            let is_within = table.first_key() <= key && key <= table.last_key();
            (&**table, is_within)
        });
        let deeper = (1..NUM_LEVELS).filter(|&level| !self.levels[level].is_empty()).filter_map(move |number| {
            let (level, around) = (&self.levels[number], self.lasts[number].around(key.row));
            let place = partition_point(level, around, |table| table.last_key() < key);
            let table = level.get(place)?;
            let is_within = match self.firsts[number].compare(place, key.row) {
                Some(order) => order == Ordering::Less,
                None => table.first_key() <= key,
            };
            Some((&**table, is_within))
        });
        level0.chain(deeper)
    }

    /// The tables that may hold cells of a row, newest first: all of level 0, and of each deeper level those whose key
    /// range includes it, in key order; but at least one, so that its ledger counts the row as out of range.
    pub(crate) fn tables_for_row<'a>(&'a self, row: &'a [u8]) -> impl Iterator<Item = &'a Arc<Table>> {
        let deeper = self.levels.iter().zip(&self.lasts).skip(1).flat_map(move |(level, lasts)| {
            let start = partition_point(level, lasts.around(row), |table| table.last_key().row < row);
            let more = level[start..].iter().take_while(|table| table.first_key().row <= row).count();
            level.iter().skip(start).take(more.max(1))
        });
        self.levels[0].iter().chain(deeper)
    }

    /// The tables of a deeper level that overlap a range of cells.
    pub(crate) fn overlapping(&self, level: usize, first: CellKey<'_>, last: CellKey<'_>) -> Range<usize> {
        let level = &self.levels[level];
        let start = level.partition_point(|table| table.last_key() < first);
        start..start + level[start..].iter().take_while(|table| table.first_key() <= last).count()
    }

    /// The tables of a deeper level that overlap a range of rows.
    pub(crate) fn overlapping_rows(&self, level: usize, rows: (Bound<&[u8]>, Bound<&[u8]>)) -> Range<usize> {
        let level = &self.levels[level];
        let start = level.partition_point(|table| is_before(table.last_key().row, rows.0));
        let more = level[start..].iter().take_while(|table| !is_after(table.first_key().row, rows.1)).count();
        start..start + more
    }

    /// Returns whether a level below `level` may hold the cell.
    pub(crate) fn is_below(&self, level: usize, key: CellKey<'_>) -> bool {
        (level + 1..NUM_LEVELS).any(|deeper| !self.overlapping(deeper, key, key).is_empty())
    }

    /// Returns the version without the tables numbered `gone` and with the tables `come`.
    pub(crate) fn changed(&self, gone: &[u64], come: &[Arc<Table>]) -> Result<Self, Error> {
        let stays = self.tables().filter(|table| !gone.contains(&table.number()));
        Ok(Self::new(stays.chain(come).map(Arc::clone))?.with_unreadable(self.unreadable.clone()))
    }
}
