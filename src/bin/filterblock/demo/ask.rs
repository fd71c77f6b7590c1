//! Queries, and how they are run, timed and checked.

use super::data::{Dataset, random};
use super::os;
use filterblock::KeyHasher;
use filterblock::kv::{CacheBypass, Error, Store};
use filterblock::ledger::{Ledger, Outcome};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A class of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::AbsentRow => "absent rows",
            Self::AbsentColumn => "absent columns of present rows",
            Self::PresentCell => "present cells",
        }
    }

    /// Query `i` of the class, drawn uniformly and with replacement.
    pub(super) fn query(self, data: &Dataset, i: u64) -> Query<'_> {
        self.query_of(data, random(b"question", i))
    }

    /// The query that a random number `r` decides.
    pub(super) fn query_of(self, data: &Dataset, r: u64) -> Query<'_> {
        let row = &data.rows[(r % data.rows.len() as u64) as usize];
        match self {
            Self::AbsentRow => Query::absent_row(&data.absent_rows[(r % data.absent_rows.len() as u64) as usize]),
            Self::AbsentColumn => Query { row: &row.row, column: Some(&row.absent_column), expected: None },
            Self::PresentCell => {
                let (column, value) = &row.columns[((r >> 32) % row.columns.len() as u64) as usize];
                Query { row: &row.row, column: Some(column), expected: Some(value) }
            }
        }
    }
}

/// A lookup whose answer is known.
pub(super) trait Lookup {
    /// Passes the answer to `chain`. How long the store took, and whether it is right.
    fn look_up(&self, store: &Store, chain: &mut dyn FnMut(&[u8])) -> Result<(Duration, bool), Error>;
}

/// A query and its expected answer.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) row: &'a [u8],
    /// `None` reads the whole row, which is expected to be absent.
    pub(super) column: Option<&'a [u8]>,
    pub(super) expected: Option<&'a [u8]>,
}

impl<'a> Query<'a> {
    pub(super) fn absent_row(row: &'a [u8]) -> Self {
        Self { row, column: None, expected: None }
    }
}

impl Lookup for Query<'_> {
    fn look_up(&self, store: &Store, chain: &mut dyn FnMut(&[u8])) -> Result<(Duration, bool), Error> {
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
#[derive(Clone, Default)]
pub(super) struct Observed {
    pub(super) ledger: Ledger,
    /// Duration of each query, in ascending order.
    pub(super) nanos: Vec<u64>,
    /// Data blocks read by each query, in the order of the queries. An attacker sees them as time.
    pub(super) reads: Vec<u64>,
    pub(super) num_wrong: u64,
    /// A hash of all answers in order.
    pub(super) answers: u64,
    /// The operating system's count, where it keeps one.
    pub(super) os: Option<os::Count>,
}

/// Runs one query after the other.
pub(super) fn ask(store: &Store, queries: impl Iterator<Item = impl Lookup>) -> Result<Observed, Error> {
    let direct = store.storage().cache_bypass() == CacheBypass::Active;
    let (observed, os) = os::count(direct, || {
        let (before, mut observed) = (store.ledger(), Observed::default());
        for query in queries {
            observed.ask(store, &query)?;
        }
        observed.ledger = store.ledger().since(&before);
        Ok(observed)
    });
    let mut observed = observed?;
    observed.nanos.sort_unstable();
    Ok(Observed { os, ..observed })
}

impl Observed {
    fn ask(&mut self, store: &Store, query: &impl Lookup) -> Result<(), Error> {
        let mut chain = |answer: &[u8]| self.answers = KeyHasher::new(self.answers).hash(answer).get();
        let reads_before = store.storage().read_counts().reads;
        let (duration, is_right) = query.look_up(store, &mut chain)?;
        self.nanos.push(duration.as_nanos() as u64);
        self.num_wrong += u64::from(!is_right);
        self.reads.push(store.storage().read_counts().reads - reads_before);
        Ok(())
    }

    /// Several series as one.
    pub(super) fn sum<'a>(series: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self { os: Some(os::Count::default()), ..Self::default() };
        for Self { ledger, nanos, reads, num_wrong, answers, os } in series {
            sum.ledger = sum.ledger + ledger;
            sum.nanos.extend(nanos);
            sum.reads.extend(reads);
            sum.num_wrong += num_wrong;
            sum.answers = sum.answers.rotate_left(1) ^ answers;
            sum.os = sum.os.zip(*os).map(|(sum, os)| sum + os);
        }
        sum.nanos.sort_unstable();
        sum
    }

    /// The nearest-rank percentile of the durations, in microseconds; 0 without queries.
    pub(super) fn percentile_us(&self, share: f64) -> f64 {
        nearest_rank(&self.nanos, share).map_or(0.0, |nanos| nanos as f64 / 1e3)
    }

    /// The fields that describe these queries in the JSON document.
    pub(super) fn json(&self) -> Value {
        let total = self.ledger.total();
        json!({
            "lookups": self.nanos.len(),
            "table_lookups": total.lookups,
            "out_of_key_range": total.count(Outcome::OutOfKeyRange),
            "avoided": total.count(Outcome::Avoided),
            "true_positives": total.count(Outcome::TruePositive),
            "false_positives": total.count(Outcome::FalsePositive),
            "tombstones": total.count(Outcome::Tombstone),
            "no_filter": total.count(Outcome::NoFilter),
            "filter_unusable": total.count(Outcome::FilterUnusable),
            "data_block_reads": self.ledger.data_block_reads(),
            "data_block_cache_hits": self.ledger.data_block_cache_hits(),
            "filter_block_reads": self.ledger.filter_block_reads,
            "filter_block_bytes": self.ledger.filter_block_bytes,
            "expected_false_positives": total.expected_false_positives,
            "observed_fpr": total.observed_fpr(),
            "predicted_fpr": total.predicted_fpr(),
            "p50_us": self.percentile_us(0.5),
            "p99_us": self.percentile_us(0.99),
            "p999_us": self.percentile_us(0.999),
            "answers_wrong": self.num_wrong,
        })
    }
}

/// The smallest of the ascending `values` that at least `share` of them do not exceed; `None` without values.
pub(super) fn nearest_rank(values: &[u64], share: f64) -> Option<u64> {
    // A product or a sum of logarithms may exceed a whole rank by a rounding error.
    let rank = (values.len() as f64 * share - 1e-6).ceil().max(1.0) as usize;
    values.get(rank - 1).copied()
}

/// The factor by which the variance of the number of false positives exceeds that of distinct queries: Σm²/Σm over the
/// multiplicities m, because a filter gives one key the same answer each time.
pub(super) fn repetition<'a>(queries: impl Iterator<Item = Query<'a>>) -> f64 {
    let mut multiplicities: HashMap<_, u64> = HashMap::new();
    for query in queries {
        *multiplicities.entry((query.row, query.column)).or_default() += 1;
    }
    let (sum, squares) = multiplicities.values().fold((0, 0), |(sum, squares), m| (sum + m, squares + m * m));
    if sum == 0 { 1.0 } else { squares as f64 / sum as f64 }
}

#[cfg(test)]
mod tests {
    use super::{Query, nearest_rank, repetition};

    #[test]
    fn percentiles_are_nearest_ranks() {
        let nanos: Vec<u64> = (1..=2000).collect();
        for (share, expected) in [(0.0, 1), (0.5, 1000), (0.99, 1980), (0.999, 1998), (0.9999, 2000), (1.0, 2000)] {
            assert_eq!(nearest_rank(&nanos, share), Some(expected));
        }
        assert_eq!(nearest_rank(&nanos[..3], 0.5), Some(2));
        assert_eq!(nearest_rank(&[], 0.5), None);
        for rank in 1..=2000u32 {
            assert_eq!(nearest_rank(&nanos, f64::from(rank) / 2000.0), Some(rank.into()));
        }
    }

    #[test]
    fn repetition_weights_each_query_by_its_multiplicity() {
        let of = |rows: &[&'static [u8]]| repetition(rows.iter().map(|row| Query::absent_row(row)));
        assert_eq!(of(&[]), 1.0);
        assert_eq!(of(&[b"a", b"b", b"c"]), 1.0);
        assert_eq!(of(&[b"a", b"a", b"a"]), 3.0);
        assert_eq!(of(&[b"a", b"b", b"a", b"c"]), 1.5);
    }
}
