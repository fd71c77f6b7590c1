//! The data of a demo: rows to load, and absent rows.

use super::webtable;
use crate::exit::Failure;
use crate::keys::Keys;
use filterblock::KeyHasher;
use std::path::Path;

/// The consequence if the lists cannot be read, or take too much memory.
const NOT_RUN: &str = "Nothing was run. Name files that can be read, and that fit into memory.";

/// A column and its value.
pub(super) type Column = (Vec<u8>, Vec<u8>);

/// A row that is loaded, and a column that it does not have.
pub(super) struct DataRow {
    pub(super) row: Vec<u8>,
    pub(super) columns: Vec<Column>,
    pub(super) absent_column: Vec<u8>,
}

pub(super) struct Dataset {
    pub(super) name: String,
    /// In order, each row once.
    pub(super) rows: Vec<DataRow>,
    /// In order, between the first and the last row, none of them loaded.
    pub(super) absent_rows: Vec<Vec<u8>>,
    /// Hosts between the first and the last row that none begins with, and directories of absent rows, likewise.
    pub(super) absent_hosts: Vec<Vec<u8>>,
    pub(super) absent_directories: Vec<Vec<u8>>,
    /// Number of rows given as absent, but repeated, loaded or outside the key range, and so dropped.
    pub(super) num_absent_dropped: u64,
}

/// A 64-bit number that depends only on `stream` and `i`, so that the data is the same on every machine.
pub(super) fn random(stream: &[u8], i: u64) -> u64 {
    KeyHasher::new(i).hash(stream).get()
}

impl Dataset {
    /// Sorts, and drops what is not absent or not within the key range.
    fn new(name: String, mut rows: Vec<DataRow>, mut absent_rows: Vec<Vec<u8>>, hosts: Vec<Vec<u8>>) -> Self {
        rows.sort_unstable_by(|a, b| a.row.cmp(&b.row));
        rows.dedup_by(|a, b| a.row == b.row);
        let num_given = absent_rows.len();
        absent_rows.sort_unstable();
        absent_rows.dedup();
        absent_rows.retain(|absent| is_absent_among(&rows, absent));
        let num_absent_dropped = (num_given - absent_rows.len()) as u64;
        let absent = |mut prefixes: Vec<Vec<u8>>| {
            prefixes.sort_unstable();
            prefixes.dedup();
            prefixes.retain(|prefix| with_prefix(&rows, prefix).is_empty() && is_absent_among(&rows, prefix));
            prefixes
        };
        let (absent_hosts, directories) = (absent(hosts), absent_rows.iter().map(|row| directory(row).to_vec()));
        let absent_directories = absent(directories.collect());
        Self { name, rows, absent_rows, absent_hosts, absent_directories, num_absent_dropped }
    }

    /// The built-in web table.
    pub(super) fn web_table(num_rows: u64) -> Self {
        let (rows, absent_rows, hosts) = webtable::generate(num_rows);
        Self::new("built-in web table".to_owned(), rows, absent_rows, hosts)
    }

    /// Rows from files, one per line, each with one column.
    pub(super) fn from_files(keys: &Path, absent: &Path) -> Result<Self, Failure> {
        let data_row = |row: Vec<u8>| {
            let value = format!("{:016x}", KeyHasher::new(0).hash(&row).get()).into_bytes();
            let columns = vec![(b"contents:".to_vec(), value)];
            DataRow { row, columns, absent_column: b"anchor:".to_vec() }
        };
        let (rows, absent_rows) = (read(keys)?, read(absent)?);
        let rows = rows.into_iter().map(data_row).collect();
        let name = format!("{}, absent rows from {}", keys.display(), absent.display());
        let host = |row: &Vec<u8>| row.split_inclusive(|&byte| byte == b'/').next().unwrap_or_default().to_vec();
        let hosts = absent_rows.iter().map(host).collect();
        Ok(Self::new(name, rows, absent_rows, hosts))
    }

    /// Returns whether the data allows a demo.
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.rows.len(), self.absent_rows.len()) {
            (rows, _) if rows < 100 => Err(format!("the demo needs at least 100 distinct rows, not {rows}")),
            (_, 0) => Err("none of the absent rows is absent and between the first and the last row".to_owned()),
            _ => Ok(()),
        }
    }

    pub(super) fn num_cells(&self) -> u64 {
        self.rows.iter().map(|row| row.columns.len() as u64).sum()
    }
}

/// The row up to its last slash; all of it without one.
pub(super) fn directory(row: &[u8]) -> &[u8] {
    row.iter().rposition(|&byte| byte == b'/').map_or(row, |slash| &row[..=slash])
}

/// The rows that begin with `prefix`.
pub(super) fn with_prefix<'a>(rows: &'a [DataRow], prefix: &[u8]) -> &'a [DataRow] {
    let from = rows.partition_point(|row| row.row.as_slice() < prefix);
    let len = rows[from..].partition_point(|row| row.row.starts_with(prefix));
    &rows[from..from + len]
}

fn is_absent_among(rows: &[DataRow], row: &[u8]) -> bool {
    let place = rows.binary_search_by(|loaded| loaded.row.as_slice().cmp(row));
    place.is_err_and(|place| place > 0 && place < rows.len())
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    // Given back when there is no more memory, so that there is some for the message.
    let spare = Vec::<u8>::with_capacity(1 << 20);
    let mut keys = Vec::new();
    let mut source = Keys::open(path, false, NOT_RUN)?;
    while let Some(key) = source.next_key()? {
        let mut row = Vec::new();
        if let Err(error) = row.try_reserve_exact(key.len()).and_then(|()| keys.try_reserve(1)) {
            drop(spare);
            return Err(source.out_of_memory(error));
        }
        row.extend_from_slice(key);
        keys.push(row);
    }
    Ok(keys)
}
