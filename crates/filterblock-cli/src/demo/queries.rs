//! Queries, and how they are run, timed and checked.

use super::data::{Dataset, random};
use super::system_reads;
use filterblock::KeyHasher;
use filterblock_engine::ledger::Ledger;
use filterblock_kv::{CacheBypass, Error, Store};
use std::time::{Duration, Instant};

/// A class of queries.
#[derive(Clone, Copy)]
pub(super) enum Class {
    AbsentRow,
    AbsentColumn,
    PresentCell,
}

impl Class {
    /// Absent keys first.
    pub(super) const ALL: [Self; 3] = [Self::AbsentRow, Self::AbsentColumn, Self::PresentCell];
    pub(super) const NUM_ABSENT: usize = 2;

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AbsentRow => "absent_row",
            Self::AbsentColumn => "absent_column",
            Self::PresentCell => "present_cell",
        }
    }

    /// Query `i` of the class, drawn uniformly and with replacement.
    fn query(self, data: &Dataset, i: u64) -> Query<'_> {
        let r = random(b"question", i);
        let row = &data.rows[(r % data.rows.len() as u64) as usize];
        match self {
            Self::AbsentRow => {
                let row = &data.absent_rows[(r % data.absent_rows.len() as u64) as usize];
                Query { row, column: None, expected: None }
            }
            Self::AbsentColumn => Query { row: &row.row, column: Some(&row.absent_column), expected: None },
            Self::PresentCell => {
                let (column, value) = &row.columns[((r >> 32) % row.columns.len() as u64) as usize];
                Query { row: &row.row, column: Some(column), expected: Some(value) }
            }
        }
    }
}

/// A query and its expected answer.
struct Query<'a> {
    row: &'a [u8],
    /// `None` reads the whole row, which is expected to be absent.
    column: Option<&'a [u8]>,
    expected: Option<&'a [u8]>,
}

impl Query<'_> {
    /// Passes the answer to `chain`. How long the store took, and whether it is right.
    fn look_up(&self, store: &Store, mut chain: impl FnMut(&[u8])) -> Result<(Duration, bool), Error> {
        let started = Instant::now();
        if let Some(column) = self.column {
            let value = store.get(self.row, column)?;
            let duration = started.elapsed();
            chain(if value.is_some() { b"value" } else { b"none" });
            chain(value.as_deref().unwrap_or_default());
            Ok((duration, value.as_deref() == self.expected))
        } else {
            let columns = store.get_row(self.row)?;
            let duration = started.elapsed();
            chain(b"row");
            columns.iter().flat_map(|(column, value)| [column, value]).for_each(|bytes| chain(bytes));
            Ok((duration, columns.is_empty()))
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
    /// Runs queries of `class`, one after the other.
    pub(super) fn of(store: &Store, data: &Dataset, class: Class, num_queries: u64) -> Result<Self, Error> {
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
