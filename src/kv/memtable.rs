//! The newest versions of cells, in memory and in order.

use super::cell::{CellKey, CellRef, OwnedCell, Version};
use core::ops::Bound;
use std::collections::BTreeMap;

type Columns = BTreeMap<Vec<u8>, Version>;

/// Rows, their columns, and each cell's last version. Rows nest columns so that both can be looked up by slices.
#[derive(Debug, Default)]
pub(crate) struct Memtable {
    rows: BTreeMap<Vec<u8>, Columns>,
    num_cells: u64,
    bytes: usize,
}

/// What an entry costs beside its bytes, roughly: three vectors, a tree node's share.
const CELL_OVERHEAD_BYTES: usize = 64;

impl Memtable {
    pub(crate) fn insert(&mut self, key: CellKey<'_>, version: Version) {
        let value_len = version.value.as_ref().map_or(0, Vec::len);
        if !self.rows.contains_key(key.row) {
            self.rows.insert(key.row.to_vec(), Columns::new());
            self.bytes += key.row.len();
        }
        if let Some(columns) = self.rows.get_mut(key.row) {
            match columns.insert(key.column.to_vec(), version) {
                Some(old) => self.bytes -= old.value.map_or(0, |value| value.len()),
                None => {
                    self.num_cells += 1;
                    self.bytes += key.column.len() + CELL_OVERHEAD_BYTES;
                }
            }
            self.bytes += value_len;
        }
    }

    pub(crate) fn get(&self, key: CellKey<'_>) -> Option<&Version> {
        self.rows.get(key.row)?.get(key.column)
    }

    pub(crate) fn row(&self, row: &[u8]) -> impl Iterator<Item = (&Vec<u8>, &Version)> {
        self.rows.get(row).into_iter().flatten()
    }

    /// All cells in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = CellRef<'_>> {
        self.rows.iter().flat_map(|(row, columns)| cells_of(row, columns))
    }

    /// The cells of a range of rows in order. The range must not be inverted.
    pub(crate) fn range(&self, rows: (Bound<&[u8]>, Bound<&[u8]>)) -> impl Iterator<Item = OwnedCell> {
        self.rows.range::<[u8], _>(rows).flat_map(|(row, columns)| cells_of(row, columns)).map(CellRef::to_owned)
    }

    pub(crate) fn num_cells(&self) -> u64 {
        self.num_cells
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn cells_of<'a>(row: &'a [u8], columns: &'a Columns) -> impl Iterator<Item = CellRef<'a>> {
    columns.iter().map(move |(column, version)| CellRef {
        key: CellKey { row, column },
        seq: version.seq,
        value: version.value.as_deref(),
    })
}
