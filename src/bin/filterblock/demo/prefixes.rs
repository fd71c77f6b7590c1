//! Rows by their first bytes: a length of prefixes for which the data has absent ones, and scans of them.

use super::ask::Lookup;
use super::data::{DataRow, Dataset};
use filterblock::kv::{Cell, Error, Store};
use std::time::{Duration, Instant};

/// Prefixes of one length.
pub(super) struct Prefixes<'a> {
    /// In bytes, at least 1.
    pub(super) len: usize,
    rows: &'a [DataRow],
    /// Rows that are long enough: their prefixes are present.
    present: Vec<&'a [u8]>,
    /// Absent rows whose prefix no row has.
    absent: Vec<&'a [u8]>,
}

fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The least length of a prefix of `absent` that none of the sorted `rows` has. Longer than the row itself if it is the
/// beginning of another.
fn least_absent_len(rows: &[DataRow], absent: &[u8]) -> usize {
    let place = rows.partition_point(|row| row.row.as_slice() < absent);
    let neighbours = rows[..place].last().into_iter().chain(rows.get(place));
    1 + neighbours.map(|row| common_len(&row.row, absent)).max().unwrap_or(0)
}

impl<'a> Prefixes<'a> {
    /// The least length for which the prefixes of absent rows are absent half as often as for the best. `None` if all
    /// absent rows are beginnings of other rows.
    pub(super) fn of(data: &'a Dataset) -> Option<Self> {
        let least_lens: Vec<usize> = data.absent_rows.iter().map(|row| least_absent_len(&data.rows, row)).collect();
        let absent = || data.absent_rows.iter().zip(&least_lens);
        // How many more there are at a length than at the one before.
        let mut steps = vec![0i64; data.absent_rows.iter().map(Vec::len).max()? + 2];
        for (row, &least) in absent().filter(|(row, least)| **least <= row.len()) {
            steps[least] += 1;
            steps[row.len() + 1] -= 1;
        }
        let sum = |sum: &mut i64, step: &i64| {
            *sum += step;
            Some(*sum)
        };
        let counts: Vec<i64> = steps.iter().scan(0, sum).collect();
        let most = counts.iter().copied().max().filter(|&most| most > 0)?;
        let len = counts.iter().position(|&count| 2 * count >= most)?;
        let prefix = |row: &'a Vec<u8>| row.get(..len);
        let absent = absent().filter(|(_, least)| **least <= len).filter_map(|(row, _)| prefix(row)).collect();
        let present: Vec<_> = data.rows.iter().filter_map(|row| prefix(&row.row)).collect();
        (!present.is_empty()).then_some(Self { len, rows: &data.rows, present, absent })
    }

    /// The scan that a random number `r` decides.
    pub(super) fn scan(&self, is_present: bool, r: u64) -> PrefixScan<'a> {
        let prefixes = if is_present { &self.present } else { &self.absent };
        let prefix = prefixes[(r % prefixes.len() as u64) as usize];
        let first = self.rows.partition_point(|row| row.row.as_slice() < prefix);
        let num = self.rows[first..].partition_point(|row| row.row.starts_with(prefix));
        PrefixScan { prefix, expected: &self.rows[first..first + num] }
    }
}

/// A scan of the rows that start with a prefix.
pub(super) struct PrefixScan<'a> {
    prefix: &'a [u8],
    expected: &'a [DataRow],
}

impl Lookup for PrefixScan<'_> {
    fn look_up(&self, store: &Store, chain: &mut dyn FnMut(&[u8])) -> Result<(Duration, bool), Error> {
        let started = Instant::now();
        let cells: Vec<Cell> = store.scan_prefix(self.prefix).collect::<Result<_, _>>()?;
        let duration = started.elapsed();
        chain(b"scan");
        cells.iter().flat_map(|cell| [&cell.row, &cell.column, &cell.value]).for_each(|bytes| chain(bytes));
        let expected = self.expected.iter().flat_map(|row| row.columns.iter().map(move |cell| (&row.row, cell)));
        let is_right = cells
            .iter()
            .map(|cell| (&cell.row, &cell.column, &cell.value))
            .eq(expected.map(|(row, (column, value))| (row, column, value)));
        Ok((duration, is_right))
    }
}

#[cfg(test)]
mod tests {
    use super::super::webtable;
    use super::{DataRow, Dataset, Prefixes};

    fn data(rows: &[&str], absent: &[&str]) -> Dataset {
        let row = |row: &&str| {
            let columns = vec![(b"column".to_vec(), b"value".to_vec())];
            DataRow { row: row.as_bytes().to_vec(), columns, absent_column: b"other".to_vec() }
        };
        let absent = absent.iter().map(|row| row.as_bytes().to_vec()).collect();
        Dataset::new("test".to_owned(), rows.iter().map(row).collect(), absent)
    }

    #[test]
    fn the_length_is_the_least_at_which_half_are_absent() {
        let data_of = data(&["aaaa", "abcd", "abce", "zz"], &["abaa", "abcc", "b", "abc"]);
        let prefixes = Prefixes::of(&data_of).unwrap();
        // "b" from 1, "aba" from 3, "abcc" from 4; "abc" is the beginning of a row. Two are absent at most.
        assert_eq!((prefixes.len, prefixes.absent.as_slice()), (1, &[&b"b"[..]][..]));
        assert_eq!(prefixes.scan(false, 7).expected.len(), 0);
        assert_eq!((0..4).map(|r| prefixes.scan(true, r).expected.len()).collect::<Vec<_>>(), [3, 3, 3, 1]);
        assert!(Prefixes::of(&data(&["aaaa", "abcd", "b"], &["ab"])).is_none());
    }

    #[test]
    fn absent_prefixes_are_absent_and_present_ones_are_not() {
        let data = webtable::generate(2000);
        let prefixes = Prefixes::of(&data).unwrap();
        assert!(prefixes.absent.len() > 500, "{} of {}", prefixes.absent.len(), data.absent_rows.len());
        let has = |prefix: &[u8]| data.rows.iter().any(|row| row.row.starts_with(prefix));
        assert!(prefixes.absent.iter().all(|prefix| prefix.len() == prefixes.len && !has(prefix)));
        for r in 0..prefixes.present.len() as u64 {
            let scan = prefixes.scan(true, r);
            assert!(!scan.expected.is_empty() && scan.expected.iter().all(|row| row.row.starts_with(scan.prefix)));
        }
    }
}
