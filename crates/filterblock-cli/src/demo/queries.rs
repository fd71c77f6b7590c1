//! Queries, and how they are run, timed and checked.

use super::data::{DataRow, Dataset, directory, random, with_prefix};
use super::system_reads;
use filterblock::KeyHasher;
use filterblock_engine::ledger::Ledger;
use filterblock_kv::{CacheBypass, Cell, Error, Store};
use std::time::{Duration, Instant};

/// A class of queries.
#[derive(Clone, Copy)]
pub(super) enum Class {
    AbsentRow,
    AbsentColumn,
    PresentCell,
    AbsentHost,
    AbsentDirectory,
    PresentDirectory,
}

impl Class {
    /// Absent keys first.
    pub(super) const ALL: [Self; 6] = [
        Self::AbsentRow,
        Self::AbsentColumn,
        Self::PresentCell,
        Self::AbsentHost,
        Self::AbsentDirectory,
        Self::PresentDirectory,
    ];
    pub(super) const NUM_ABSENT: usize = 2;

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AbsentRow => "absent_row",
            Self::AbsentColumn => "absent_column",
            Self::PresentCell => "present_cell",
            Self::AbsentHost => "absent_host",
            Self::AbsentDirectory => "absent_directory",
            Self::PresentDirectory => "present_directory",
        }
    }

    /// Query `i` of the class, drawn uniformly and with replacement.
    fn query(self, data: &Dataset, i: u64) -> Query<'_> {
        let r = random(b"question", i);
        let row = drawn(&data.rows, r);
        match self {
            Self::AbsentRow => Query::Row(drawn::<Vec<u8>>(&data.absent_rows, r)),
            Self::AbsentColumn => Query::Cell { row: &row.row, column: &row.absent_column, expected: None },
            Self::PresentCell => {
                let (column, value) = drawn(&row.columns, r >> 32);
                Query::Cell { row: &row.row, column, expected: Some(value) }
            }
            Self::AbsentHost => Query::Scan { prefix: drawn::<Vec<u8>>(&data.absent_hosts, r), expected: &[] },
            Self::AbsentDirectory => {
                Query::Scan { prefix: drawn::<Vec<u8>>(&data.absent_directories, r), expected: &[] }
            }
            Self::PresentDirectory => {
                let prefix = directory(&row.row);
                Query::Scan { prefix, expected: with_prefix(&data.rows, prefix) }
            }
        }
    }
}

fn drawn<T>(from: &[T], r: u64) -> &T {
    &from[(r % from.len() as u64) as usize]
}

/// A query and its expected answer.
enum Query<'a> {
    /// The whole row, which is expected to be absent.
    Row(&'a [u8]),
    Cell {
        row: &'a [u8],
        column: &'a [u8],
        expected: Option<&'a [u8]>,
    },
    Scan {
        prefix: &'a [u8],
        expected: &'a [DataRow],
    },
}

impl<'a> Query<'a> {
    /// Passes the answer to `chain`. How long the store took, and whether it is right.
    fn look_up(&self, store: &Store, mut chain: impl FnMut(&[u8])) -> Result<(Duration, bool), Error> {
        let started = Instant::now();
        match *self {
            Self::Row(row) => {
                let columns = store.get_row(row)?;
                let duration = started.elapsed();
                chain(b"row");
                columns.iter().flat_map(|(column, value)| [column, value]).for_each(|bytes| chain(bytes));
                Ok((duration, columns.is_empty()))
            }
            Self::Cell { row, column, expected } => {
                let value = store.get(row, column)?;
                let duration = started.elapsed();
                chain(if value.is_some() { b"value" } else { b"none" });
                chain(value.as_deref().unwrap_or_default());
                Ok((duration, value.as_deref() == expected))
            }
            Self::Scan { prefix, expected } => {
                let cells: Vec<Cell> = store.scan_prefix(prefix).collect::<Result<_, _>>()?;
                let duration = started.elapsed();
                chain(b"scan");
                cells.iter().flat_map(|cell| [&cell.row, &cell.column, &cell.value]).for_each(|bytes| chain(bytes));
                let of_row = |row: &'a DataRow| row.columns.iter().map(|(column, value)| (&row.row, column, value));
                let is_right = cells
                    .iter()
                    .map(|cell| (&cell.row, &cell.column, &cell.value))
                    .eq(expected.iter().flat_map(of_row));
                Ok((duration, is_right))
            }
        }
    }
}

/// The results of a series of queries on one store.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) ledger: Ledger,
    /// Duration of each query, in ascending order.
    nanos: Vec<u64>,
    pub(super) num_wrong: u64,
    /// A hash of all answers in order.
    pub(super) answers: u64,
    /// The operating system's count, where it keeps one.
    pub(super) system: Option<system_reads::Count>,
}

impl Observed {
    /// Runs queries of `class`, one after the other; none if the data has nothing to ask for.
    pub(super) fn of(store: &Store, data: &Dataset, class: Class, num_queries: u64) -> Result<Self, Error> {
        let num_queries = match class {
            Class::AbsentHost if data.absent_hosts.is_empty() => 0,
            Class::AbsentDirectory if data.absent_directories.is_empty() => 0,
            _ => num_queries,
        };
        let direct = store.storage().cache_bypass() == CacheBypass::Active;
        let (observed, system) = system_reads::count(direct, || {
            let (before, mut observed) = (store.ledger(), Self::default());
            for query in (0..num_queries).map(|i| class.query(data, i)) {
                let answers = &mut observed.answers;
                let chain = |answer: &[u8]| *answers = KeyHasher::new(*answers).hash(answer).get();
                let (duration, is_right) = query.look_up(store, chain)?;
                observed.nanos.push(duration.as_nanos() as u64);
                observed.num_wrong += u64::from(!is_right);
            }
            observed.ledger = store.ledger().since(&before);
            Ok(observed)
        });
        let mut observed = observed?;
        observed.nanos.sort_unstable();
        Ok(Self { system, ..observed })
    }

    /// Several series as one.
    pub(super) fn sum<'a>(series: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self { system: Some(system_reads::Count::default()), ..Self::default() };
        for Self { ledger, nanos, num_wrong, answers, system } in series {
            sum.ledger = sum.ledger + ledger;
            sum.nanos.extend(nanos);
            sum.num_wrong += num_wrong;
            sum.answers = sum.answers.rotate_left(1) ^ answers;
            sum.system = sum.system.zip(*system).map(|(sum, of_series)| sum + of_series);
        }
        sum.nanos.sort_unstable();
        sum
    }

    pub(super) fn num_queries(&self) -> usize {
        self.nanos.len()
    }

    /// The duration that a share of the queries does not exceed, in microseconds (nearest rank); 0 without queries.
    pub(super) fn percentile_us(&self, share: f64) -> f64 {
        // A product may exceed a whole rank by a rounding error.
        let rank = (self.nanos.len() as f64 * share - 1e-6).ceil().max(1.0) as usize;
        self.nanos.get(rank - 1).map_or(0.0, |&nanos| nanos as f64 / 1e3)
    }
}
