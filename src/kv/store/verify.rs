//! Asking filters for all that their tables hold.

use super::super::cell::OwnedKey;
use super::super::error::{Damage, Error};
use super::super::purpose::Purpose;
use super::super::range::RowRange;
use super::super::sstable::{LevelCursor, Reading, Table};
use super::core::Core;
use crate::{FilterBlockReader, FilterKind, KeyHasher, KeyTransform};
use std::sync::Arc;

/// At least so many absent keys are asked, so that rates of a per cent are seen within a tenth of themselves.
const MIN_ABSENT: u64 = 10_000;

/// What [`Store::verify`](super::Store::verify) has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// The tables, in the order of lookups.
    pub tables: Vec<TableVerification>,
}

impl VerifyReport {
    /// Keys that a filter denies although its table has them: each hides data. 0 in every store.
    #[must_use]
    pub fn false_negatives(&self) -> u64 {
        self.filters().map(|filter| filter.false_negatives).sum()
    }

    /// All filters that could be asked.
    pub fn filters(&self) -> impl Iterator<Item = &FilterVerification> {
        self.tables.iter().flat_map(|table| &table.filters)
    }
}

/// A table whose every data block was read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct TableVerification {
    /// Its file.
    pub file: String,
    /// Its level, from 0.
    pub level: usize,
    /// Cells, tombstones included.
    pub num_cells: u64,
    /// The filters that could be asked.
    pub filters: Vec<FilterVerification>,
    /// The filters that could not.
    pub unusable: Vec<Purpose>,
}

/// A filter that was asked for all keys of its table, and for keys that are not there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterVerification {
    /// What the filter is asked.
    pub purpose: Purpose,
    /// Its kind.
    pub kind: FilterKind,
    /// Cells whose entry it was asked for.
    pub present_asked: u64,
    /// Of them, those that it denies.
    pub false_negatives: u64,
    /// Random hashes that it was asked for.
    pub absent_asked: u64,
    /// Of them, those that it does not deny.
    pub false_positives: u64,
    /// The rate to be expected, from its bits as they stand.
    pub predicted_fpr: f64,
}

impl FilterVerification {
    /// False positives per absent key asked.
    #[must_use]
    pub fn observed_fpr(&self) -> f64 {
        self.false_positives as f64 / self.absent_asked.max(1) as f64
    }
}

impl Core {
    pub(super) fn verify(&self) -> Result<VerifyReport, Error> {
        let view = self.view();
        let tables = view.version.tables().map(verify_table).collect::<Result<_, _>>()?;
        Ok(VerifyReport { tables })
    }
}

fn verify_table(table: &Arc<Table>) -> Result<TableVerification, Error> {
    let usable = |purpose| Some((purpose, table.filters().load(purpose, table.counters())?));
    let loaded: Vec<_> = Purpose::ALL.into_iter().filter_map(usable).collect();
    let readers: Vec<(Purpose, FilterBlockReader<'_>)> =
        loaded.iter().map(|(purpose, loaded)| (*purpose, loaded.reader())).collect();
    let mut seen: Vec<(u64, u64)> = vec![(0, 0); readers.len()];
    let (mut num_cells, mut entry) = (0, Vec::new());
    let mut cells = LevelCursor::new(vec![Arc::clone(table)], Arc::new(RowRange::ALL), Reading::Maintenance)?;
    let mut last = OwnedKey::default();
    while let Some(cell) = cells.current() {
        if num_cells > 0 && last.as_key() >= cell.key {
            return Err(Error::damaged(table.file(), 0, Damage::Order { position: num_cells }));
        }
        last.assign(cell.key);
        num_cells += 1;
        for ((purpose, reader), (asked, denied)) in readers.iter().zip(&mut seen) {
            let key = match purpose {
                Purpose::RowColumn => {
                    KeyTransform::row_column_entry(cell.key.row, cell.key.column, &mut entry);
                    Some(&entry[..])
                }
                Purpose::Row | Purpose::Prefix => reader.transform().entry_of(cell.key.row),
            };
            if let Some(key) = key {
                *asked += 1;
                *denied += u64::from(!reader.may_contain(key));
            }
        }
        cells.advance()?;
    }
    let footer = table.footer();
    if num_cells != footer.num_cells {
        let (name, found, expected) = ("number of cells", num_cells, footer.num_cells);
        return Err(Error::damaged(table.file(), 0, Damage::Field { name, found, expected }));
    }
    let absent_asked = num_cells.max(MIN_ABSENT);
    let filter = |((purpose, reader), (present_asked, false_negatives)): (&(Purpose, FilterBlockReader<'_>), _)| {
        let false_positives = (0..absent_asked).filter(|&i| reader.may_contain_hash(random_hash(i))).count() as u64;
        Some(FilterVerification {
            purpose: *purpose,
            kind: reader.kind(),
            present_asked,
            false_negatives,
            absent_asked,
            false_positives,
            predicted_fpr: reader.false_positive_rate(),
        })
    };
    let is_unusable = |purpose| {
        let is_loaded = loaded.iter().any(|(other, _)| *other == purpose);
        !is_loaded && table.filters().has(purpose)
    };
    let filters = readers.iter().zip(seen).filter_map(filter).collect();
    let unusable = Purpose::ALL.into_iter().filter(|&purpose| is_unusable(purpose)).collect();
    Ok(TableVerification { file: table.file().to_owned(), level: table.level(), num_cells, filters, unusable })
}

/// A hash that no key of a table has, but with the odds of all hashes to collide.
fn random_hash(i: u64) -> crate::KeyHash {
    KeyHasher::new(i).hash(b"absent")
}
