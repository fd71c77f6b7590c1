//! The report of a repair: its findings, its actions, and its losses.

use core::fmt;
use core::ops::RangeInclusive;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Serializes `first_row` and `last_row` as text, or as hexadecimal digits under these names with `_hex` after them.
pub(in super::super) fn rows_from_to<'a, S: Serializer>(
    rows: impl IntoIterator<Item = &'a RangeInclusive<Vec<u8>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (name, row) in rows.into_iter().flat_map(|rows| [("first_row", rows.start()), ("last_row", rows.end())]) {
        match core::str::from_utf8(row) {
            Ok(text) => map.serialize_entry(name, text)?,
            Err(_) => {
                let digits: String = row.iter().map(|byte| format!("{byte:02x}")).collect();
                map.serialize_entry(&format!("{name}_hex"), &digits)?;
            }
        }
    }
    map.end()
}

/// The result of [`Store::repair`](super::super::Store::repair). Its text names everything that is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether the repair was made. Otherwise nothing was changed.
    #[serde(rename = "applied")]
    pub is_applied: bool,
    /// Tables that are damaged or missing.
    pub tables: Vec<RepairedTable>,
    /// Logs that are damaged or missing.
    pub logs: Vec<RepairedLog>,
    /// Whole tables whose filters cannot be used, and are built anew.
    pub filters: Vec<RepairedFilters>,
    /// The files moved aside, by their paths within the store's directory.
    pub moved_aside: Vec<String>,
}

/// A damaged or missing table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairedTable {
    /// Its file.
    pub file: String,
    /// Its level, from 0.
    pub level: usize,
    /// The first error that was found.
    pub reason: String,
    /// The number of intact cells, tombstones included. They become a table of the same level.
    pub cells_kept: u64,
    /// The number of lost cells; `None` if it is unknown how many there were.
    pub cells_lost: Option<u64>,
    /// The rows that may have lost cells.
    pub lost: Vec<LostRows>,
    /// The file with the intact cells, once the repair is made.
    pub kept_in: Option<String>,
}

/// The rows whose cells may be lost, deletions among them. A lost cell has the value of an older table, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostRows {
    /// The first and the last of the rows. `None` if they are unknown, so that any row may be one.
    #[serde(flatten, serialize_with = "rows_from_to")]
    pub rows: Option<RangeInclusive<Vec<u8>>>,
    /// Why they cannot be read.
    pub reason: String,
    /// Whether an older table, or an intact batch, may have cells of these rows: then overwritten values and deleted
    /// cells may be visible again. Otherwise a lost cell is absent.
    #[serde(rename = "has_older_values")]
    pub has_older: bool,
}

/// A damaged or missing log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairedLog {
    /// Its file.
    pub file: String,
    /// The first error that was found.
    pub reason: String,
    /// The number of intact batches. They are newer than all tables, and become one table with the batches of the other
    /// logs.
    pub batches_kept: u64,
    /// The lost bytes of batches; `None` if it is unknown how many there were.
    pub bytes_lost: Option<u64>,
    /// The rows that may have lost cells: any row may be one.
    pub lost: LostRows,
}

/// A table whose filters are built anew. A lost filter loses no data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairedFilters {
    /// The table's file.
    pub file: String,
    /// Why they cannot be used.
    pub reason: String,
}

impl RepairReport {
    /// Returns whether there is nothing to repair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.logs.is_empty() && self.filters.is_empty()
    }

    /// All rows that may have lost cells.
    pub fn lost(&self) -> impl Iterator<Item = &LostRows> {
        self.tables.iter().flat_map(|table| &table.lost).chain(self.logs.iter().map(|log| &log.lost))
    }

    /// Returns whether this row may have a lost cell, which is absent or has an older value.
    #[must_use]
    pub fn may_have_lost(&self, row: &[u8]) -> bool {
        self.lost().any(|lost| lost.has(row))
    }

    /// Returns whether an overwritten value or a deleted cell of this row may be visible again.
    #[must_use]
    pub fn may_show_older(&self, row: &[u8]) -> bool {
        self.lost().any(|lost| lost.has_older && lost.has(row))
    }
}

impl LostRows {
    fn has(&self, row: &[u8]) -> bool {
        self.rows.as_ref().is_none_or(|rows| **rows.start() <= *row && *row <= **rows.end())
    }
}

impl fmt::Display for LostRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = match &self.rows {
            None => "any row".to_owned(),
            Some(rows) if rows.start() == rows.end() => format!("row \"{}\"", rows.start().escape_ascii()),
            Some(rows) => {
                format!("rows from \"{}\" to \"{}\"", rows.start().escape_ascii(), rows.end().escape_ascii())
            }
        };
        writeln!(f, "  lost: cells in {rows}: {}", self.reason)?;
        f.write_str(match self.has_older {
            true => "    older values may be visible again there, and cells that had been deleted\n",
            false => "    no older table has cells there: a lost cell is absent\n",
        })
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept_in = |file: &Option<String>| file.as_ref().map_or_else(String::new, |file| format!(" in {file}"));
        for RepairedTable { file, level, reason, cells_kept, cells_lost, lost, kept_in: into } in &self.tables {
            let num_lost = cells_lost.map_or_else(|| "an unknown number".to_owned(), |cells| cells.to_string());
            writeln!(f, "{file}, level {level}: {reason}")?;
            writeln!(f, "  cells kept: {cells_kept}{}; cells lost: {num_lost}", kept_in(into))?;
            lost.iter().try_for_each(|lost| lost.fmt(f))?;
        }
        for RepairedLog { file, reason, batches_kept, bytes_lost, lost } in &self.logs {
            let num_lost = bytes_lost.map_or_else(|| "an unknown number".to_owned(), |bytes| bytes.to_string());
            writeln!(f, "{file}: {reason}")?;
            writeln!(f, "  batches kept: {batches_kept}; bytes of batches lost: {num_lost}")?;
            lost.fmt(f)?;
        }
        for RepairedFilters { file, reason } in &self.filters {
            writeln!(f, "{file}: filters built anew, nothing is lost with them: {reason}")?;
        }
        for path in &self.moved_aside {
            writeln!(f, "moved aside: {path}")?;
        }
        Ok(())
    }
}
