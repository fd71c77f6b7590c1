//! Verifying tables, and filters against the keys of their tables.

use super::repair::rows_from_to;
use super::{Arc, Error, FilterKind, KeyHasher, Probes, Purpose, Shared, Table, Unreadable, kind_name};
use core::ops::RangeInclusive;
use serde::{Serialize, Serializer};

/// The least number of probes for absent keys, so that rates of a percent are measured to a tenth of themselves.
const MIN_ABSENT: u64 = 10_000;

/// The result of [`Store::verify`](super::Store::verify).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The tables that could be opened, in the order in which lookups search them.
    pub tables: Vec<TableVerification>,
    /// The rows that cannot be read, and why: of tables that could not be opened, and of single data blocks.
    pub unreadable: Vec<UnreadableRows>,
    /// Cells that are in logs only, which were checked when the store was opened.
    pub log_cells: u64,
}

/// Rows some of whose cells cannot be read: lookups of them fail, unless a newer cell is the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnreadableRows {
    /// The table's file.
    pub file: String,
    /// The table's level, from 0.
    pub level: usize,
    /// The first and the last of the rows.
    #[serde(flatten, serialize_with = "rows_json")]
    pub rows: RangeInclusive<Vec<u8>>,
    /// The error that a lookup of them gives.
    pub reason: String,
}

fn rows_json<S: Serializer>(rows: &RangeInclusive<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    rows_from_to([rows], serializer)
}

impl UnreadableRows {
    pub(super) fn of_table(table: &Unreadable) -> Self {
        let (file, level) = (table.file.clone(), table.state.level);
        Self { file, level, rows: (*table.state.rows).clone(), reason: table.error.to_string() }
    }

    fn new(table: &Table, (first, last): (&[u8], &[u8]), error: &Error) -> Self {
        let rows = first.to_vec()..=last.to_vec();
        Self { file: table.file().to_owned(), level: table.level, rows, reason: error.to_string() }
    }
}

impl VerifyReport {
    /// Keys that a filter denies although its table has them: each hides data. Always 0, unless the library has a
    /// defect.
    #[must_use]
    pub fn false_negatives(&self) -> u64 {
        let of_ranges = self.tables.iter().filter_map(|table| table.range_filter);
        let of_ranges: u64 = of_ranges.map(|filter| filter.false_negatives).sum();
        self.filters().map(|filter| filter.false_negatives).sum::<u64>() + of_ranges
    }

    /// All filters of hashed keys that could be probed.
    pub fn filters(&self) -> impl Iterator<Item = &FilterVerification> {
        self.tables.iter().flat_map(|table| &table.filters)
    }
}

/// A table whose data blocks were read and checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TableVerification {
    /// Its file.
    pub file: String,
    /// Its level, from 0.
    pub level: usize,
    /// Cells that could be read, tombstones included.
    pub num_cells: u64,
    /// The filters of hashed keys that could be probed.
    pub filters: Vec<FilterVerification>,
    /// The range filter, if it could be probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_filter: Option<RangeFilterVerification>,
    /// The purposes whose filters could not.
    #[serde(rename = "unusable_filters")]
    pub unusable: Vec<Purpose>,
}

/// A range filter that was probed for all rows of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RangeFilterVerification {
    /// Cells for whose row it was probed.
    #[serde(rename = "keys_asked")]
    pub present_asked: u64,
    /// The number of these that it denies.
    pub false_negatives: u64,
}

/// A filter that was probed for all keys of its table, and for absent keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterVerification {
    /// The filter's purpose.
    pub purpose: Purpose,
    /// Its kind.
    #[serde(serialize_with = "kind_name")]
    pub kind: FilterKind,
    /// Cells for whose entry it was probed.
    #[serde(rename = "keys_asked")]
    pub present_asked: u64,
    /// The number of these that it denies.
    pub false_negatives: u64,
    /// Random hashes for which it was probed.
    pub absent_asked: u64,
    /// The number of these that it does not deny.
    pub false_positives: u64,
    /// The rate predicted from its bits.
    pub predicted_fpr: f64,
}

impl FilterVerification {
    /// False positives per probe for an absent key.
    #[must_use]
    pub fn observed_fpr(&self) -> f64 {
        self.false_positives as f64 / self.absent_asked.max(1) as f64
    }
}

pub(super) fn verify(shared: &Shared) -> VerifyReport {
    let view = shared.view();
    let mut report = VerifyReport {
        log_cells: view.memtables.iter().map(|memtable| memtable.num_entries()).sum(),
        unreadable: view.version.unreadable.iter().map(|table| UnreadableRows::of_table(table)).collect(),
        ..VerifyReport::default()
    };
    for table in view.version.tables() {
        match verify_table(table, &mut report.unreadable) {
            Ok(verified) => report.tables.push(verified),
            Err(error) => {
                let rows = (table.first_key().row, table.last_key().row);
                report.unreadable.push(UnreadableRows::new(table, rows, &error));
            }
        }
    }
    report
}

fn verify_table(table: &Arc<Table>, unreadable: &mut Vec<UnreadableRows>) -> Result<TableVerification, Error> {
    let (loaded, walk) = table.verify()?;
    let damaged = |(block, error): &(usize, Error)| UnreadableRows::new(table, table.block_rows(*block), error);
    unreadable.extend(walk.damaged.iter().map(damaged));
    let absent_asked = walk.num_cells.max(MIN_ABSENT);
    let mut filters = Vec::new();
    for (filter, Probes { asked, denied }) in loaded.iter().zip(walk.probes) {
        let stats = filter.filter.stored_stats;
        let false_positives = filter.num_absent_passing(absent_asked, random_hash);
        filters.push(FilterVerification {
            purpose: stats.purpose,
            kind: stats.kind,
            present_asked: asked,
            false_negatives: denied,
            absent_asked,
            false_positives,
            predicted_fpr: stats.predicted_fpr,
        });
    }
    let of_range = |Probes { asked, denied }| RangeFilterVerification { present_asked: asked, false_negatives: denied };
    let range_filter = walk.of_range.map(of_range);
    let is_probed = |purpose| match purpose {
        Purpose::Range => range_filter.is_some(),
        _ => filters.iter().any(|filter| filter.purpose == purpose),
    };
    let is_unusable = |&purpose: &Purpose| table.filters.has(purpose) && !is_probed(purpose);
    let unusable = Purpose::ALL.into_iter().filter(is_unusable).collect();
    let (file, level) = (table.file().to_owned(), table.level);
    Ok(TableVerification { file, level, num_cells: walk.num_cells, filters, range_filter, unusable })
}

/// A hash that no key of a table has, barring a 64-bit collision.
fn random_hash(i: u64) -> filterblock::KeyHash {
    filterblock::KeyHash::from_raw(KeyHasher::new(i).hash(b"absent").get())
}
